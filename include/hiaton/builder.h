/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: programs made by calls instead of by text.
 *
 *   hia_builder *b;
 *   hia_builder_new(engine, "fact", &b, &error);
 *   hia_build_fn fact = hia_build_declare(b, "fact(n: i64) -> i64");
 *
 *   hia_build_begin(b, fact);
 *   hia_build_value n = hia_build_param(b, fact, 0), one = hia_build_i64(b, 1);
 *   hia_build_if(b, hia_build_le(b, n, one));
 *   hia_build_else(b, one);
 *   hia_build_value less = hia_build_sub(b, n, one);
 *   hia_build_value rest = hia_build_call(b, fact, &less, 1);
 *   hia_build_return(b, hia_build_end_if(b, hia_build_mul(b, n, rest)));
 *
 *   hia_builder_finish(b, &module, &error);
 *   hia_builder_free(b);
 *
 * makes the module that hia_module_load_text makes of
 *
 *   fn fact(n: i64) -> i64 =
 *     if n <= 1 then 1 else n * fact(n - 1)
 *
 * The builder writes hiaton's notation. hia_builder_print prints it, and it is the source of the
 * module: an error at run time shows the line of this text. Everything that can be built can be
 * written; docs/language.md explains the parts.
 *
 * Order. Between begin and return, the calls follow the order of the program: what is made after
 * hia_build_if is inside its first branch, and so on. A value is visible in the block that it was
 * made in (a body, a branch, an arm, a loop, a comprehension) and in the blocks inside that block,
 * without being passed in. It is not visible after its block has ended, nor in other functions.
 * Constants belong to no function and are visible everywhere. C leaves open in which order it
 * evaluates the arguments of a call and the parts of an initialiser in braces, and so which of two
 * builder calls in one expression comes first in the program. Write two statements where the order
 * matters, because both can fail or call something impure, or where every compiler is to produce
 * the same text.
 *
 * Mistakes. Every call checks its types. After the first mistake, or when memory runs out, the
 * builder is out of service: this call and all that follow do nothing and return the same status,
 * or a value, function, constructor or pattern whose id is 0, or HIA_BUILD_NO_TYPE. A host may
 * therefore build without checking and leave it to hia_builder_finish, which returns that status
 * with its message; or it may check at any time with hia_builder_status and hia_builder_error. The
 * status of every mistake is HIA_ARGUMENT; the message names the function being built, the call and
 * the types.
 *
 * Values, functions, types, constructors and patterns are numbers, and need not be freed. They are
 * valid for their builder only; to pass them to another builder is a mistake, which that builder
 * detects.
 *
 * Threads. A builder is used by one thread at a time. The engine outlives the builder; a module
 * does not need the builder that it was made by. */
#ifndef HIATON_BUILDER_H
#define HIATON_BUILDER_H

#include <hiaton/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hia_builder hia_builder; /* a program that is being made */

typedef struct hia_build_fn {
  uint64_t id;
} hia_build_fn; /* a function of it; 0: none */
typedef struct hia_build_value {
  uint64_t id;
} hia_build_value; /* a constant, a parameter, or the result of a call below; 0: none */
typedef struct hia_build_ctor {
  uint64_t id;
} hia_build_ctor; /* a constructor of a data type; 0: none */
typedef struct hia_build_pattern {
  uint64_t id;
} hia_build_pattern; /* what an arm of a `match` takes; 0: none */

/* A type: a hia_dtype as it is (HIA_I32), or that of a tuple, an array or data, from the functions
 * below. */
typedef uint64_t hia_build_type;
#define HIA_BUILD_NO_TYPE UINT64_MAX /* after a mistake */

/* The maximum depth of nesting of `if`s, loops, `match`es and comprehensions, and of patterns. */
#define HIA_BUILD_MAX_NESTING       900
#define HIA_BUILD_MAX_PATTERN_DEPTH 100

/* ---- life ---- */

/* Makes a builder with an empty program. `name` stands for its file in messages and may be NULL. */
HIA_API hia_status hia_builder_new(hia_engine *engine, const char *name, hia_builder **builder,
                                   hia_error **error);
HIA_API void hia_builder_free(hia_builder *builder);

/* HIA_OK, or the status of the first mistake; HIA_ARGUMENT for NULL. */
HIA_API hia_status hia_builder_status(const hia_builder *builder);
/* The first mistake; NULL if there was none, or no memory for the error. It belongs to the
 * builder. */
HIA_API const hia_error *hia_builder_error(const hia_builder *builder);

/* Writes the program in hiaton's notation, at any time, after a mistake too, to show what has been
 * built so far. Functions without a body, or whose body has not ended, and data types without
 * constructors are written as comments.
 * HIA_IO if `write` returned false. `write` must not use the builder. */
HIA_API hia_status hia_builder_print(hia_builder *builder, hia_write write, void *user,
                                     hia_error **error);

/* Makes a module of the program as it is now. Building may go on afterwards, and the builder may
 * be finished again. Returns the status of the first mistake if there was one. Returns
 * HIA_REJECTED if nothing is declared; if a function is declared but has no body, or its body has
 * not ended; if a data type has no constructors; if the program has errors that show only as a
 * whole (a function that can only call itself for ever, a data type whose values could never end);
 * or if the host has not registered a host function that the program declares, or has registered
 * it with other types. */
HIA_API hia_status hia_builder_finish(hia_builder *builder, hia_module **module, hia_error **error);

/* ---- types ---- */

/* The type of tuples of n >= 2 parts, of at most 1000 scalars, data and arrays in all. */
HIA_API hia_build_type hia_build_tuple_type(hia_builder *builder, const hia_build_type *parts,
                                            size_t n);
/* The type of arrays of this element, which is a tuple, data or an array. */
HIA_API hia_build_type hia_build_array_type(hia_builder *builder, hia_build_type element);
/* The type of tensors of a dtype, of a rank from 1 to 16. */
HIA_API hia_build_type hia_build_tensor_type(hia_builder *builder, hia_dtype dtype, size_t rank);
/* A tensor type with sizes: numbers from 0, or HIA_BUILD_ANY_SIZE. Parameters, results and fields
 * of this type have these sizes, which is checked when the value is there. Elsewhere only dtype and
 * rank count; within arrays there are no sizes. */
#define HIA_BUILD_ANY_SIZE ((int64_t)-1)
HIA_API hia_build_type hia_build_sized_type(hia_builder *builder, hia_dtype dtype,
                                            const int64_t *sizes, size_t rank);
/* A type as the language writes it, "[(i64, Tree)]", "f32[?, 3]" or "Tree". The data types in it
 * have been declared. A size is a number, "?" or, in the type of a parameter or result, a name: all
 * parameters in which a name stands, and the result, have one size there. */
HIA_API hia_build_type hia_build_read_type(hia_builder *builder, const char *text);
/* The type of a value, without sizes. */
HIA_API hia_build_type hia_build_type_of(hia_builder *builder, hia_build_value value);

/* ---- data types ----
 *
 *   hia_build_declare_type(b, "Tree = Leaf(x: i64) | Node(left: Tree, right: Tree)");
 *
 * or from the parts of the definition:
 *
 *   const hia_build_type tree = hia_build_declare_type(b, "Tree");
 *   const hia_build_field x[] = {{"x", HIA_I64}}, both[] = {{"left", tree}, {"right", tree}};
 *   hia_build_ctor leaf = hia_build_add_ctor(b, tree, "Leaf", x, 1);
 *   hia_build_ctor node = hia_build_add_ctor(b, tree, "Node", both, 2);
 *
 * A name alone declares a type whose constructors come later, by a definition or one by one. So
 * types can contain each other in any order: declare their names first. All constructors of a type
 * are there before the first pattern for it is made, or the first `match` on one of its values.
 * Names of types and constructors begin with a capital letter. Types have a name space of their
 * own; constructors share that of functions. */

/* Declares a data type, "Tree" or "Tree = Leaf(x: i64) | ...", or defines one that has been
 * declared by its name. */
HIA_API hia_build_type hia_build_declare_type(hia_builder *builder, const char *definition);

typedef struct hia_build_field {
  const char *name; /* it documents. NULL: f0, f1 and so on, by the place of the field */
  hia_build_type type;
} hia_build_field;
/* Adds a constructor to a data type, with n fields (n may be 0). It has the next number: 0, 1, ...
 * The fields hold at most 1000 scalars, data and arrays, and a type has at most 65534
 * constructors. */
HIA_API hia_build_ctor hia_build_add_ctor(hia_builder *builder, hia_build_type type,
                                          const char *name, const hia_build_field *fields,
                                          size_t n);
/* The constructor of this name. It is a mistake if there is none. */
HIA_API hia_build_ctor hia_build_find_ctor(hia_builder *builder, const char *name);

/* ---- functions ---- */

/* Declares a function by its signature as the language writes it, "gcd(a: i64, b: i64) -> i64" or
 * "sums(trees: [Tree]) -> (f64, i32)", with all types and at most 1000 parameters. Data types have
 * been declared. The function can be called from here on; its body comes later.
 * "extern fn erf(x: f64) -> f64" and "extern impure fn" declare host functions, which have no body
 * and are called like others. They must have been registered (hia_engine_register), with these
 * types, when the program is finished; they take and return no data, arrays and tensors. A name is
 * declared once, and is neither a keyword nor the name of a built-in function. */
HIA_API hia_build_fn hia_build_declare(hia_builder *builder, const char *signature);
/* Declares a function by the parts of its signature. hia_build_name can name the parameters. */
HIA_API hia_build_fn hia_build_declare_types(hia_builder *builder, const char *name,
                                             const hia_build_type *params, size_t n,
                                             hia_build_type result);
/* Declares a host function by its parts: "extern fn", or with `is_impure` "extern impure fn". */
HIA_API hia_build_fn hia_build_declare_extern(hia_builder *builder, const char *name,
                                              const hia_build_type *params, size_t n,
                                              hia_build_type result, bool is_impure);
/* Begins the body of a function: what is built next belongs to it. It is called once for each
 * function. The body of another function may be begun inside; what is built then belongs to that
 * function until hia_build_return ends it. */
HIA_API hia_status hia_build_begin(hia_builder *builder, hia_build_fn function);
/* Parameter i of a function, from 0; visible in its body. */
HIA_API hia_build_value hia_build_param(hia_builder *builder, hia_build_fn function, size_t i);
/* Ends the body; `result` is the function's result. It is called once, at the end: a function
 * cannot return from inside a branch. A call whose value is the result, directly or through `if`s
 * and `match`es whose value is the result, is a tail call: it takes no frame. */
HIA_API hia_status hia_build_return(hia_builder *builder, hia_build_value result);

/* ---- constants ----
 *
 * Each is exactly the value given, INT64_MIN, -0.0, infinities and subnormal floats included. The
 * sign and payload of a NaN are not kept. */

HIA_API hia_build_value hia_build_bool(hia_builder *builder, bool x);
HIA_API hia_build_value hia_build_i32(hia_builder *builder, int32_t x);
HIA_API hia_build_value hia_build_i64(hia_builder *builder, int64_t x);
HIA_API hia_build_value hia_build_f32(hia_builder *builder, float x);
HIA_API hia_build_value hia_build_f64(hia_builder *builder, double x);

/* A `param` of the program: a scalar or tensor of floats that runs read, and the host sets
 * (hiaton/params.h). "W: f32[3, 4] = glorot_uniform()": its sizes are numbers; it begins as
 * uniform(lo, hi), normal(mean, std), glorot_uniform(), zeros(), ones(), or a number. It belongs to
 * no function and is visible everywhere, like a constant. Its name is declared once. */
HIA_API hia_build_value hia_build_declare_param(hia_builder *builder, const char *definition);

/* ---- computing ---- */

/* HIA_OPCODE_ADD and so on: the rows of hiaton/ops.def. */
typedef enum hia_opcode {
#define HIA_OPCODE(number, NAME, name, n, on, doc)          HIA_OPCODE_##NAME = number,
#define HIA_TENSOR_OPCODE(number, NAME, name, n, axis, doc) HIA_OPCODE_##NAME = number,
#include <hiaton/ops.def>
} hia_opcode;

/* An op with its operands, of the types that its row of ops.def requires. Ops on scalars take
 * tensors, too, elementwise: operands broadcast, a scalar and a tensor of its dtype as well. Each
 * op also has a function of its own, such as hia_build_add(builder, a, b), at the end of this
 * header. */
HIA_API hia_build_value hia_build_op(hia_builder *builder, hia_opcode op,
                                     const hia_build_value *operands, size_t n);
/* Converts a scalar to another dtype (integers wrap, floats become integers saturating), or all
 * elements of a tensor. */
HIA_API hia_build_value hia_build_convert(hia_builder *builder, hia_dtype dtype,
                                          hia_build_value value);
/* Calls a function of the builder. */
HIA_API hia_build_value hia_build_call(hia_builder *builder, hia_build_fn function,
                                       const hia_build_value *args, size_t n);
/* The gradient of a function of the builder at these arguments, with respect to n_wrt >= 1 of its
 * parameters (values of hia_build_param) and of the program's params (values of
 * hia_build_declare_param), all of them of floats, and none of them twice. The result of the
 * function is f32 or f64. A gradient has the type of what it is with respect to; several are a
 * tuple, in their order. The body of the function may come later; whether it has a gradient (it
 * calls no function of the host that has none, and does not use its own gradient)
 * hia_builder_finish finds out. */
HIA_API hia_build_value hia_build_grad(hia_builder *builder, hia_build_fn function,
                                       const hia_build_value *wrt, size_t n_wrt,
                                       const hia_build_value *args, size_t n);
/* The tuple of the function's result, and of its gradient. */
HIA_API hia_build_value hia_build_value_and_grad(hia_builder *builder, hia_build_fn function,
                                                 const hia_build_value *wrt, size_t n_wrt,
                                                 const hia_build_value *args, size_t n);
/* Ends the run with HIA_FAILED and this code, an i32 or i64. Its value, which the program never
 * reaches, may be of any type: `type`. */
HIA_API hia_build_value hia_build_fail(hia_builder *builder, hia_build_value code,
                                       hia_build_type type);
/* A tuple of n >= 2 values, and part i of one, from 0. */
HIA_API hia_build_value hia_build_tuple(hia_builder *builder, const hia_build_value *parts,
                                        size_t n);
HIA_API hia_build_value hia_build_part(hia_builder *builder, hia_build_value tuple, size_t i);
/* A value of a data type: a constructor with all its fields, in order. A constructor without fields
 * is a constant, which belongs to no function. hia_build_match takes data apart. */
HIA_API hia_build_value hia_build_data(hia_builder *builder, hia_build_ctor ctor,
                                       const hia_build_value *fields, size_t n);

/* ---- arrays and tensors ----
 *
 * Indices are i32 or i64 and count from 0. An index out of range ends the run with HIA_RANGE. What
 * follows takes tensors, too: their elements along the first axis are scalars, or tensors of one
 * axis less. */

/* An array of n >= 1 elements of one type, which is a tuple, data or an array. Of scalars or
 * tensors it is a tensor; these have one shape. */
HIA_API hia_build_value hia_build_array(hia_builder *builder, const hia_build_value *elements,
                                        size_t n);
/* An array of this type without elements; `type` is that of the array. */
HIA_API hia_build_value hia_build_empty_array(hia_builder *builder, hia_build_type type);
/* The number of elements, an i64. */
HIA_API hia_build_value hia_build_len(hia_builder *builder, hia_build_value array);
/* The element at an index. Of a tensor the index may be a tensor of i32 or i64: the result has the
 * elements with these indices. */
HIA_API hia_build_value hia_build_at(hia_builder *builder, hia_build_value array,
                                     hia_build_value index);
/* The elements from index `from` on and before index `end`. */
HIA_API hia_build_value hia_build_slice(hia_builder *builder, hia_build_value array,
                                        hia_build_value from, hia_build_value end);
/* The array with `element` in place of the one at `index`. This changes the array in place if
 * nothing uses it any more, otherwise it copies the array. */
HIA_API hia_build_value hia_build_set(hia_builder *builder, hia_build_value array,
                                      hia_build_value index, hia_build_value element);
/* The elements of n >= 2 arrays of one type, one after the other. Tensors are joined along their
 * last axis; hia_build_op_along joins them along another one. */
HIA_API hia_build_value hia_build_concat(hia_builder *builder, const hia_build_value *arrays,
                                         size_t n);

/* ---- tensors ----
 *
 * Ops that only tensors have, with the types and shapes of docs/language.md. Where two sizes must
 * be equal and are known to be different numbers, the call is a mistake; all else is checked when
 * the program runs, which ends with HIA_SHAPE if it does not fit. Known are sizes of declared
 * types, constants, and what follows from these; those of a loop's variables are not.
 *
 * hia_build_op takes them with their usual axis: reductions reduce all axes, concat
 * (HIA_OPCODE_CAT) joins along the last one, stack along a new first one, and dim is the size of
 * the first. */

/* Reduces along an axis, which is counted from 0: HIA_OPCODE_SUM and the other reductions, one
 * tensor; HIA_OPCODE_CAT, n >= 2 tensors of one rank; HIA_OPCODE_STACK, 1 to 255 scalars or tensors
 * of one shape; HIA_OPCODE_DIM, the size of that axis of a tensor, an i64. HIA_BUILD_ALL_AXES is
 * the usual axis. */
#define HIA_BUILD_ALL_AXES UINT32_MAX
HIA_API hia_build_value hia_build_op_along(hia_builder *builder, hia_opcode op,
                                           const hia_build_value *operands, size_t n,
                                           uint32_t axis);
/* Sizes, from here on, are i32 or i64; n is from 1 to 16. */

/* The elements of a tensor in another shape. */
HIA_API hia_build_value hia_build_reshape(hia_builder *builder, hia_build_value tensor,
                                          const hia_build_value *sizes, size_t n);
/* A tensor of copies of a scalar. */
HIA_API hia_build_value hia_build_full(hia_builder *builder, hia_build_value value,
                                       const hia_build_value *sizes, size_t n);
/* 0 to size - 1, of i64. */
HIA_API hia_build_value hia_build_iota(hia_builder *builder, hia_build_value size);
/* `size` elements of f32 or f64, which are 1 at the index, an i32 or i64, and 0 elsewhere. */
HIA_API hia_build_value hia_build_one_hot(hia_builder *builder, hia_dtype dtype,
                                          hia_build_value index, hia_build_value size);
/* The tensor, of rank n, if it has these sizes; a size whose id is 0 may be any. Otherwise the run
 * ends with HIA_SHAPE. */
HIA_API hia_build_value hia_build_expect(hia_builder *builder, hia_build_value tensor,
                                         const hia_build_value *sizes, size_t n);

/* Suggests a name for a value in the text, and returns the value. The builder changes the name
 * where it is not valid or not distinct from others. Values without a name are v1, v2 and so on,
 * or are written inside the expression that uses them. Constants have no names. */
HIA_API hia_build_value hia_build_name(hia_builder *builder, hia_build_value value,
                                       const char *name);

/* ---- if ----
 *
 *   hia_build_if(b, condition);       what follows happens if the condition is true
 *   ...
 *   hia_build_else(b, x);             the value then; what follows happens if it is false
 *   ...
 *   r = hia_build_end_if(b, y);       the value then, of the same type; r is the value of the `if`
 */
HIA_API hia_status hia_build_if(hia_builder *builder, hia_build_value condition);
HIA_API hia_status hia_build_else(hia_builder *builder, hia_build_value then_value);
HIA_API hia_build_value hia_build_end_if(hia_builder *builder, hia_build_value else_value);

/* ---- loop ----
 *
 *   hia_build_value var[2];
 *   hia_build_loop(b, init, 2, var);      n >= 1 variables with initial values, into `var`; what
 *   ...                                   follows happens before each round
 *   hia_build_while(b, condition);        what follows is the round
 *   ...
 *   r = hia_build_end_loop(b, next, 2);   the variables' next values, all at once
 *
 * The value of a loop is that of its variables when the condition is false: a tuple of them, or
 * the variable itself if there is only one. What is made before hia_build_while is not visible in
 * the round. */
HIA_API hia_status hia_build_loop(hia_builder *builder, const hia_build_value *init, size_t n,
                                  hia_build_value *variables);
HIA_API hia_status hia_build_while(hia_builder *builder, hia_build_value condition);
HIA_API hia_build_value hia_build_end_loop(hia_builder *builder, const hia_build_value *next,
                                           size_t n);

/* ---- match ----
 *
 *   hia_build_value part[2];
 *   hia_build_match(b, tree);                        data, an integer or a bool
 *   hia_build_arm(b, "Leaf(x)", part, 1);            x is part[0]; what follows belongs to this arm
 *   hia_build_end_arm(b, part[0]);                   the value in this case
 *   hia_build_arm(b, "Node(left, _)", part, 1);
 *   ...
 *   hia_build_end_arm(b, y);                         of the same type
 *   r = hia_build_end_match(b);                      the value of the `match`
 *
 * The arms are tried in their order. Together they cover every case, and each can be reached:
 * hia_build_end_match checks that, with the messages of errors E0310 and E0311.
 *
 * An arm *binds* the parts of the subject that its pattern names. Each becomes a value, which is
 * visible in the arm; they are written to `bound`, from left to right. `n` is their number, which
 * is checked. Between two arms no value can be made. */
HIA_API hia_status hia_build_match(hia_builder *builder, hia_build_value subject);
/* Begins an arm by its pattern as the language writes it, such as "Node(Leaf(x), _)", "-1", "true",
 * or "_". */
HIA_API hia_status hia_build_arm(hia_builder *builder, const char *pattern, hia_build_value *bound,
                                 size_t n);
/* Begins an arm for one constructor, which binds its n fields. */
HIA_API hia_status hia_build_arm_ctor(hia_builder *builder, hia_build_ctor ctor,
                                      hia_build_value *bound, size_t n);
/* Begins an arm by a pattern from the functions below. */
HIA_API hia_status hia_build_arm_pattern(hia_builder *builder, hia_build_pattern pattern,
                                         hia_build_value *bound, size_t n);
HIA_API hia_status hia_build_end_arm(hia_builder *builder, hia_build_value value);
HIA_API hia_build_value hia_build_end_match(hia_builder *builder);

/* Patterns belong to no function. One pattern may be used in any number of arms and patterns; each
 * arm binds values of its own. A pattern contains at most 100000 patterns. */

/* Takes every value, and binds none. */
HIA_API hia_build_pattern hia_build_pattern_any(hia_builder *builder);
/* Takes every value, and binds it. `name` suggests a name, as hia_build_name does, or is NULL. */
HIA_API hia_build_pattern hia_build_pattern_bind(hia_builder *builder, const char *name);
/* Takes a constant of type bool, i32 or i64. */
HIA_API hia_build_pattern hia_build_pattern_const(hia_builder *builder, hia_build_value constant);
/* Takes this constructor if its n fields take the parts. Parts that are floats, tuples or arrays
 * are _any or _bind. */
HIA_API hia_build_pattern hia_build_pattern_ctor(hia_builder *builder, hia_build_ctor ctor,
                                                 const hia_build_pattern *fields, size_t n);

/* ---- comprehensions ----
 *
 *   x = hia_build_for_each(b, array);                what follows happens for each element x
 *   ...
 *   r = hia_build_end_for(b, y);                     an array of the values of y
 *
 * y is a tuple, data or an array; or a scalar or tensor: then the result is a tensor with one more
 * axis. The iterations are independent of each other, and may run on several threads. */
HIA_API hia_build_value hia_build_for_each(hia_builder *builder, hia_build_value array);
/* Begins a comprehension over each integer from `from` on and before `end`, which are both i32 or
 * both i64. */
HIA_API hia_build_value hia_build_for_range(hia_builder *builder, hia_build_value from,
                                            hia_build_value end);
HIA_API hia_build_value hia_build_end_for(hia_builder *builder, hia_build_value element);

/* ---- hia_build_add(b, x, y), hia_build_sqrt(b, x), hia_build_select(b, c, x, y), ... ---- */

/* The names are pasted before a macro of the host can replace them. */
#define HIA_BUILD_1(OPCODE, name)                                                                  \
  static inline hia_build_value name(hia_builder *builder, hia_build_value a) {                    \
    return hia_build_op(builder, OPCODE, &a, 1);                                                   \
  }
#define HIA_BUILD_2(OPCODE, name)                                                                  \
  static inline hia_build_value name(hia_builder *builder, hia_build_value a, hia_build_value b) { \
    const hia_build_value operands[2] = {a, b};                                                    \
    return hia_build_op(builder, OPCODE, operands, 2);                                             \
  }
#define HIA_BUILD_3(OPCODE, name)                                                                  \
  static inline hia_build_value name(hia_builder *builder, hia_build_value a, hia_build_value b,   \
                                     hia_build_value c) {                                          \
    const hia_build_value operands[3] = {a, b, c};                                                 \
    return hia_build_op(builder, OPCODE, operands, 3);                                             \
  }
/* hia_build_sum(b, x) and hia_build_sum_along(b, x, axis), of each reduction. */
#define HIA_BUILD_ALL(OPCODE, name, n)                                                             \
  HIA_BUILD_1(OPCODE, name)                                                                        \
  static inline hia_build_value name##_along(hia_builder *builder, hia_build_value a,              \
                                             uint32_t axis) {                                      \
    return hia_build_op_along(builder, OPCODE, &a, 1, axis);                                       \
  }
#define HIA_BUILD_NONE(OPCODE, name, n)  HIA_BUILD_##n(OPCODE, name)
#define HIA_BUILD_FIRST(OPCODE, name, n) /* dim and stack: below */
#define HIA_BUILD_LAST(OPCODE, name, n)  /* hia_build_concat */
#define HIA_OPCODE(number, NAME, name, n, on, doc)                                                 \
  HIA_BUILD_##n(HIA_OPCODE_##NAME, hia_build_##name)
#define HIA_TENSOR_OPCODE(number, NAME, name, n, axis, doc)                                        \
  HIA_BUILD_##axis(HIA_OPCODE_##NAME, hia_build_##name, n)
#include <hiaton/ops.def>
/* The size of an axis of a tensor, an i64. */
static inline hia_build_value hia_build_dim(hia_builder *builder, hia_build_value tensor,
                                            uint32_t axis) {
  return hia_build_op_along(builder, HIA_OPCODE_DIM, &tensor, 1, axis);
}
/* n scalars or tensors of one shape along a new axis, from 0 to their rank. */
static inline hia_build_value hia_build_stack(hia_builder *builder, const hia_build_value *values,
                                              size_t n, uint32_t axis) {
  return hia_build_op_along(builder, HIA_OPCODE_STACK, values, n, axis);
}
/* n >= 2 tensors, one after the other along an axis. */
static inline hia_build_value hia_build_concat_along(hia_builder *builder,
                                                     const hia_build_value *tensors, size_t n,
                                                     uint32_t axis) {
  return hia_build_op_along(builder, HIA_OPCODE_CAT, tensors, n, axis);
}
#undef HIA_BUILD_ALL
#undef HIA_BUILD_NONE
#undef HIA_BUILD_FIRST
#undef HIA_BUILD_LAST
#undef HIA_BUILD_1
#undef HIA_BUILD_2
#undef HIA_BUILD_3

#ifdef __cplusplus
}
#endif
#endif
