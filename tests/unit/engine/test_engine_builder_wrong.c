/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: mistakes. */
#include "tests/unit/helpers/builder.h"

/* ---- mistakes ---- */

/* The arguments of mistakes: f has begun, x is its parameter; g is declared; `other` belongs to
 * another builder. */
typedef struct made {
  hia_builder *b, *other;
  hia_build_fn f, g, h;
  value x, y, c, foreign, inner, outer;
  hia_build_fn foreign_fn;
  hia_build_type foreign_type;
} made;

#define MISTAKES(_)                                                                                \
  _("in 'f': add: operands 1 and 2 are of types f64 and i32; they must be of one type",            \
    hia_build_add(m.b, m.y, m.x))                                                                  \
  _("in 'f': add: operand 1 is of type bool, not i32, i64, f32 or f64",                            \
    hia_build_add(m.b, m.c, m.c))                                                                  \
  _("in 'f': sqrt: operand 1 is of type i32, not f32 or f64", hia_build_sqrt(m.b, m.x))            \
  _("in 'f': shl: operand 1 is of type f64, not i32 or i64", hia_build_shl(m.b, m.y, m.y))         \
  _("in 'f': shru: operand 2 is of type f64, not i32 or i64", hia_build_shru(m.b, m.x, m.y))       \
  _("in 'f': isnan: operand 1 is of type i32, not f32 or f64", hia_build_isnan(m.b, m.x))          \
  _("in 'f': fma: operands 1 and 3 are of types f64 and i32", hia_build_fma(m.b, m.y, m.y, m.x))   \
  _("in 'f': band: operand 1 is of type f64, not bool, i32 or i64", hia_build_band(m.b, m.y, m.y)) \
  _("in 'f': eq: operand 1 is of type (i32, f64), not a scalar",                                   \
    hia_build_eq(m.b, hia_build_tuple(m.b, (value[]){m.x, m.y}, 2), m.x))                          \
  _("in 'f': select: operand 1 is of type i32, not bool", hia_build_select(m.b, m.x, m.x, m.x))    \
  _("in 'f': select: operands 2 and 3 are of types i32 and f64",                                   \
    hia_build_select(m.b, m.c, m.x, m.y))                                                          \
  _("in 'f': neg: 2 operands instead of 1",                                                        \
    hia_build_op(m.b, HIA_OPCODE_NEG, (value[]){m.x, m.x}, 2))                                     \
  _("in 'f': neg: no operands", hia_build_op(m.b, HIA_OPCODE_NEG, NULL, 1))                        \
  _("in 'f': op: there is no op 38", hia_build_op(m.b, (hia_opcode)38, &m.x, 1))                   \
  _("in 'f': op: there is no op 66", hia_build_op(m.b, (hia_opcode)66, &m.x, 1))                   \
  _("in 'f': op: there is no op 5000", hia_build_op(m.b, (hia_opcode)5000, &m.x, 1))               \
  _("in 'f': abs: operand 1 is no value", hia_build_abs(m.b, (value){0}))                          \
  _("in 'f': abs: operand 1 is no value", hia_build_abs(m.b, (value){m.x.id + 1000}))              \
  _("in 'f': abs: operand 1 is a value of another builder", hia_build_abs(m.b, m.foreign))         \
  _("in 'f': abs: operand 1 is a value of the function 'h'", hia_build_abs(m.b, m.outer))          \
  _("in 'f': abs: operand 1 is out of scope", hia_build_abs(m.b, m.inner))                         \
  _("in 'f': convert: there is no dtype 7", hia_build_convert(m.b, (hia_dtype)7, m.x))             \
  _("in 'f': convert: the value is of type (i32, i32), not a scalar",                              \
    hia_build_convert(m.b, HIA_I32, hia_build_tuple(m.b, (value[]){m.x, m.x}, 2)))                 \
  _("in 'f': call of 'g': 1 argument instead of 2", hia_build_call(m.b, m.g, &m.x, 1))             \
  _("in 'f': call of 'g': no arguments", hia_build_call(m.b, m.g, NULL, 2))                        \
  _("in 'f': call of 'g': argument 2 is of type i32, not f64",                                     \
    hia_build_call(m.b, m.g, (value[]){m.x, m.x}, 2))                                              \
  _("in 'f': call: this is no function", hia_build_call(m.b, (hia_build_fn){0}, NULL, 0))          \
  _("in 'f': call: this is no function",                                                           \
    hia_build_call(m.b, (hia_build_fn){m.f.id + 100}, NULL, 0))                                    \
  _("in 'f': call: the function is another builder's", hia_build_call(m.b, m.foreign_fn, NULL, 0)) \
  _("in 'f': fail: the code is of type f64, not i32 or i64", hia_build_fail(m.b, m.y, HIA_I32))    \
  _("in 'f': fail: the type that it stands for is no type", hia_build_fail(m.b, m.x, 5))           \
  _("in 'f': fail: the type that it stands for is no type",                                        \
    hia_build_fail(m.b, m.x, HIA_BUILD_NO_TYPE))                                                   \
  _("in 'f': fail: the type that it stands for is another builder's",                              \
    hia_build_fail(m.b, m.x, m.foreign_type))                                                      \
  _("in 'f': tuple: a tuple has two parts or more, not 1", hia_build_tuple(m.b, &m.x, 1))          \
  _("in 'f': tuple: a tuple has two parts or more, not 0", hia_build_tuple(m.b, NULL, 0))          \
  _("in 'f': tuple: no parts", hia_build_tuple(m.b, NULL, 2))                                      \
  _("in 'f': part: the value is of type i32, no tuple", hia_build_part(m.b, m.x, 0))               \
  _("in 'f': part: there is no part 2 in (i32, f64)",                                              \
    hia_build_part(m.b, hia_build_tuple(m.b, (value[]){m.x, m.y}, 2), 2))                          \
  _("in 'f': if: the condition is of type i32, not bool", hia_build_if(m.b, m.x))                  \
  _("in 'f': else: there is no 'if' without 'else' here", hia_build_else(m.b, m.x))                \
  _("in 'f': end of if: there is no 'if' with its 'else' here", hia_build_end_if(m.b, m.x))        \
  _("an 'if' before its 'else' must end first",                                                    \
    (hia_build_if(m.b, m.c), hia_build_end_if(m.b, m.x)))                                          \
  _("in 'f': end of if: the value of the second branch is of type f64, not i32",                   \
    (hia_build_if(m.b, m.c), hia_build_else(m.b, m.x), hia_build_end_if(m.b, m.y)))                \
  _("in 'f': while: there is no loop without 'while' here", hia_build_while(m.b, m.c))             \
  _("in 'f': end of loop: there is no loop at its round here", hia_build_end_loop(m.b, &m.x, 1))   \
  _("in 'f': loop: 0 variables", hia_build_loop(m.b, &m.x, 0, &m.y))                               \
  _("in 'f': loop: no initial values", hia_build_loop(m.b, NULL, 1, &m.y))                         \
  _("in 'f': loop: no place for the variables", hia_build_loop(m.b, &m.x, 1, NULL))                \
  _("a loop before its 'while' must end first",                                                    \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_end_loop(m.b, &m.y, 1)))                        \
  _("in 'f': end of loop: 2 next values for 1 variables",                                          \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_while(m.b, m.c),                                \
     hia_build_end_loop(m.b, (value[]){m.x, m.x}, 2)))                                             \
  _("in 'f': end of loop: next value 1 is of type bool, not i32",                                  \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_while(m.b, m.c),                                \
     hia_build_end_loop(m.b, &m.c, 1)))                                                            \
  _("in 'f': while: there is no loop without 'while' here: an 'if' at its 'else' must end first",  \
    (hia_build_loop(m.b, &m.x, 1, &m.y), hia_build_if(m.b, m.c), hia_build_else(m.b, m.x),         \
     hia_build_while(m.b, m.c)))                                                                   \
  _("in 'f': return: the result is of type f64, not i32", hia_build_return(m.b, m.y))              \
  _("in 'f': return: an 'if' is open still", (hia_build_if(m.b, m.c), hia_build_return(m.b, m.x))) \
  _("in 'f': begin of 'f': its body has begun already", hia_build_begin(m.b, m.f))                 \
  _("in 'h': add: operand 1 is a value of another builder",                                        \
    (hia_build_return(m.b, m.x), hia_build_add(m.b, (value){1}, m.x)))                             \
  _("begin of 'f': its body is there already",                                                     \
    (hia_build_return(m.b, m.x), hia_build_begin(m.b, m.f)))                                       \
  _("in 'f': parameter of 'g': there is no parameter 2", hia_build_param(m.b, m.g, 2))             \
  _("declare of 'g': 'g' is declared already", hia_build_declare(m.b, "g() -> i32"))               \
  _("declare of 'sqrt': 'sqrt' is the name of a built-in function",                                \
    hia_build_declare(m.b, "sqrt(x: f64) -> f64"))                                                 \
  _("declare: 'loop' is a keyword", hia_build_declare(m.b, "loop(x: f64) -> f64"))                 \
  _("declare: 'if' is a keyword", hia_build_declare_types(m.b, "if", NULL, 0, HIA_I32))            \
  _("declare: 'a b' is no name", hia_build_declare_types(m.b, "a b", NULL, 0, HIA_I32))            \
  _("declare: '' is no name", hia_build_declare_types(m.b, "", NULL, 0, HIA_I32))                  \
  _("declare: '_' is no name", hia_build_declare_types(m.b, "_", NULL, 0, HIA_I32))                \
  _("declare: no name", hia_build_declare_types(m.b, NULL, NULL, 0, HIA_I32))                      \
  _("declare of 'k': no types of parameters", hia_build_declare_types(m.b, "k", NULL, 1, HIA_I32)) \
  _("declare of 'k': the type of the result is no type",                                           \
    hia_build_declare_types(m.b, "k", NULL, 0, 77))                                                \
  _("declare of 'k': the type of parameter 1 is another builder's",                                \
    hia_build_declare_types(m.b, "k", &m.foreign_type, 1, 0))                                      \
  _("begin of 'k': it is the host's and has no body",                                              \
    hia_build_begin(m.b, hia_build_declare(m.b, "extern impure fn k() -> i32")))                   \
  _("declare: 'fn' expected at 'k() -> i32'", hia_build_declare(m.b, "extern k() -> i32"))         \
  _("declare of 'g': 'g' is declared already",                                                     \
    hia_build_declare_extern(m.b, "g", NULL, 0, HIA_I32, false))                                   \
  _("declare of 'exp': 'exp' is the name of a built-in function",                                  \
    hia_build_declare_extern(m.b, "exp", NULL, 0, HIA_I32, false))                                 \
  _("declare of 'k': no types of parameters",                                                      \
    hia_build_declare_extern(m.b, "k", NULL, 2, HIA_I32, true))                                    \
  _("declare of 'k': the type of the result is another builder's",                                 \
    hia_build_declare_extern(m.b, "k", NULL, 0, m.foreign_type, true))                             \
  _("begin of 'k': it is the host's and has no body",                                              \
    hia_build_begin(m.b, hia_build_declare_extern(m.b, "k", NULL, 0, HIA_I32, true)))              \
  _("in 'f': call of 'k': 1 argument instead of 0",                                                \
    hia_build_call(m.b, hia_build_declare_extern(m.b, "k", NULL, 0, HIA_I32, true), &m.x, 1))      \
  _("in 'f': declare of 'k': a type expected at '\\x01\\xff\\x0a) -> i32'",                        \
    hia_build_declare(m.b, "k(n: \x01\xff\n) -> i32"))                                             \
  _("in 'f': declare: 'a\\x07\303\244' is no name",                                                \
    hia_build_declare_types(m.b, "a\a\303\244", NULL, 0, HIA_I32))                                 \
  _("declare: no signature", hia_build_declare(m.b, NULL))                                         \
  _("declare: a name expected at the end", hia_build_declare(m.b, " "))                            \
  _("declare of 'k': '(' expected at the end", hia_build_declare(m.b, "k"))                        \
  _("declare of 'k': ':' expected at ') -> i32'", hia_build_declare(m.b, "k(n) -> i32"))           \
  _("declare of 'k': a type expected at 'i33) -> i32'",                                            \
    hia_build_declare(m.b, "k(n: i33) -> i32"))                                                    \
  _("declare of 'k': '->' expected at the end", hia_build_declare(m.b, "k(n: i32)"))               \
  _("declare of 'k': nothing more expected at '= n'",                                              \
    hia_build_declare(m.b, "k(n: i32) -> i32 = n"))                                                \
  _("declare of 'k': two parameters are called 'n'",                                               \
    hia_build_declare(m.b, "k(n: i32, n: i32) -> i32"))                                            \
  _("declare of 'k': a tuple has two parts or more, not 1",                                        \
    hia_build_declare(m.b, "k(n: (i32)) -> i32"))                                                  \
  _("declare of 'k': ',' or ')' expected at '; i32)) -> i32'",                                     \
    hia_build_declare(m.b, "k(n: (i32; i32)) -> i32"))                                             \
  _("tuple type: part 2 is no type", hia_build_tuple_type(m.b, (hia_build_type[]){HIA_I32, 9}, 2)) \
  _("tuple type: no parts", hia_build_tuple_type(m.b, NULL, 2))                                    \
  _("name: no name", hia_build_name(m.b, m.x, NULL))                                               \
  _("name: the value is a value of another builder", hia_build_name(m.b, m.foreign, "x"))          \
  _("type of: the value is no value", hia_build_type_of(m.b, (value){0}))

static made make(world *w) {
  made m = {.b = w->b};
  cr_assert_eq(hia_builder_new(w->engine, NULL, &m.other, NULL), HIA_OK);
  m.foreign_fn = hia_build_declare(m.other, "f(x: i32) -> i32");
  m.foreign = hia_build_param(m.other, m.foreign_fn, 0);
  m.foreign_type = hia_build_tuple_type(m.other, (hia_build_type[]){HIA_I32, HIA_F64}, 2);
  m.g = hia_build_declare(m.b, "g(a: i32, b: f64) -> i32");
  m.h = hia_build_declare(m.b, "h(a: i32) -> i32");
  m.f = hia_build_declare(m.b, "f(x: i32, y: f64) -> i32");
  hia_build_begin(m.b, m.h);
  m.outer = hia_build_param(m.b, m.h, 0);
  hia_build_begin(m.b, m.f);
  m.x = hia_build_param(m.b, m.f, 0);
  m.y = hia_build_param(m.b, m.f, 1);
  m.c = hia_build_lt(m.b, m.x, m.x);
  hia_build_if(m.b, m.c);
  m.inner = hia_build_abs(m.b, m.x);
  hia_build_else(m.b, m.x);
  hia_build_end_if(m.b, m.x);
  cr_assert_eq(hia_builder_status(m.b), HIA_OK);
  return m;
}

/* A mistake has been made: it is reported, further calls do nothing, and the error remains. */
static void expect_mistake(world *w, made m, const char *expected) {
  cr_assert_eq(hia_builder_status(m.b), HIA_ARGUMENT, "nothing wrong: %s", expected);
  const char *told = hia_error_message(hia_builder_error(m.b), 0);
  cr_assert(strstr(told, expected), "%s\ninstead of\n%s", told, expected);
  cr_assert_eq(hia_build_abs(m.b, m.x).id, 0u);
  cr_assert_eq(hia_build_declare(m.b, "late() -> i32").id, 0u);
  cr_assert_eq(hia_build_tuple_type(m.b, (hia_build_type[]){0, 1}, 2), HIA_BUILD_NO_TYPE);
  cr_assert_eq(hia_build_if(m.b, m.c), HIA_ARGUMENT);
  value vars[1] = {m.x};
  cr_assert_eq(hia_build_loop(m.b, &m.x, 1, vars), HIA_ARGUMENT);
  cr_assert_eq(vars[0].id, 0u);
  cr_assert(strstr(hia_error_message(hia_builder_error(m.b), 0), expected));
  hia_error *error;
  cr_assert_eq(hia_builder_finish(m.b, &w->module, &error), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_message(error, 0), expected), "%s", hia_error_message(error, 0));
  hia_error_free(error);
  cr_assert(strstr(print(w), "fn f(x: i32, y: f64) -> i32 = {"), "%s", w->text.data);
  hia_builder_free(m.other);
}

Test(builder, mistakes_are_told) {
#define TRY(message, ...)                                                                          \
  {                                                                                                \
    world w = open_world();                                                                        \
    made m = make(&w);                                                                             \
    (void)(__VA_ARGS__);                                                                           \
    expect_mistake(&w, m, message);                                                                \
    close_world(&w);                                                                               \
  }
  MISTAKES(TRY)
#undef TRY
}

/* ---- the operands of each op ---- */

enum { NUMBERS, INTEGERS, BITS, FLOATS, SHIFT, CLASSIFY, COMPARE, SELECT };
static const struct {
  const char *name;
  hia_opcode op;
  uint32_t n;
  int on;
} rows[] = {
#define HIA_OPCODE(number, NAME, name, n, ON, doc) {#name, HIA_OPCODE_##NAME, n, ON},
#include <hiaton/ops.def>
};
enum { TUPLE = HIA_F64 + 1, N_TYPES };

/* The type of the result; TUPLE: the row does not allow the operands. */
static int result_of(int on, const int *types, uint32_t n) {
  static const bool takes[][N_TYPES] = {
      [NUMBERS] = {false, true, true, true, true}, [INTEGERS] = {false, true, true, false, false},
      [BITS] = {true, true, true, false, false},   [FLOATS] = {false, false, false, true, true},
      [COMPARE] = {true, true, true, true, true},  [SELECT] = {true, true, true, true, true},
      [SHIFT] = {false, true, true, false, false}, [CLASSIFY] = {false, false, false, true, true},
  };
  uint32_t first = on == SELECT;
  if (on == SELECT && types[0] != HIA_BOOL) return TUPLE;
  for (uint32_t i = first; i < n; i++)
    if ((types[i] != types[first] && on != SHIFT) || !takes[on][types[i]]) return TUPLE;
  return on == COMPARE || on == CLASSIFY ? HIA_BOOL : types[first];
}

/* Every op with operands of all types, a tuple among them: operands that its row allows make a
 * program, all others a mistake that names the op. */
Test(builder, ops_take_what_their_rows_say) {
  world w = open_world();
  hia_builder_free(w.b);
  uint32_t n_taken = 0;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    uint32_t n = rows[r].n, all = n == 1 ? N_TYPES : n == 2 ? N_TYPES * N_TYPES : 216;
    for (uint32_t k = 0; k < all; k++) {
      int types[3] = {(int)(k % N_TYPES), (int)(k / N_TYPES % N_TYPES), (int)(k / 36)};
      cr_assert_eq(hia_builder_new(w.engine, NULL, &w.b, NULL), HIA_OK);
      hia_build_type params[3], pair[2] = {HIA_I32, HIA_I32};
      for (uint32_t i = 0; i < n; i++)
        params[i] =
            types[i] == TUPLE ? hia_build_tuple_type(w.b, pair, 2) : (hia_build_type)types[i];
      int result = result_of(rows[r].on, types, n);
      hia_build_fn f = hia_build_declare_types(w.b, "f", params, n,
                                               result == TUPLE ? HIA_I32 : (hia_build_type)result);
      hia_build_begin(w.b, f);
      value in[3];
      for (uint32_t i = 0; i < n; i++) in[i] = hia_build_param(w.b, f, i);
      value out = hia_build_op(w.b, rows[r].op, in, n);
      const char *name = rows[r].name;
      if (result == TUPLE) {
        char start[40];
        snprintf(start, sizeof start, "in 'f': %s: operand", name);
        cr_assert_eq(out.id, 0u, "%s of %d %d %d", name, types[0], types[1], types[2]);
        cr_assert_eq(hia_builder_status(w.b), HIA_ARGUMENT);
        const char *message = hia_error_message(hia_builder_error(w.b), 0);
        cr_assert(strncmp(message, start, strlen(start)) == 0, "%s", message);
      } else {
        hia_error *error;
        hia_module *module;
        n_taken++;
        cr_assert_eq(hia_build_type_of(w.b, out), (hia_build_type)result, "%s", name);
        hia_build_return(w.b, out);
        cr_assert_eq(hia_builder_finish(w.b, &module, &error), HIA_OK, "%s: %s", name,
                     hia_error_text(error));
        hia_module_free(module);
      }
      hia_builder_free(w.b);
    }
  }
  cr_assert_eq(n_taken, 159u, "%u", n_taken);
  w.b = NULL;
  close_world(&w);
}

/* ---- names ---- */

Test(builder, names_of_any_kind) {
  world w = open_world();
  char *longest = malloc(1000001);
  memset(longest, 'q', 1000000);
  longest[1000000] = 0;
  hia_build_type i32 = HIA_I32;
  hia_build_fn capital = hia_build_declare(w.b, "Node(Leaf: i32) -> i32"),
               long_one = hia_build_declare_types(w.b, longest, &i32, 1, HIA_I32),
               underscores = hia_build_declare(w.b, "__(___: i32) -> i32");
  hia_build_fn fns[3] = {capital, long_one, underscores};
  char bytes[257], most[202];
  for (int i = 0; i < 256; i++) bytes[i] = (char)(i + 1);
  bytes[255] = 0;
  memset(most, '_', sizeof most);
  most[201] = 0;
  for (int i = 0; i < 3; i++) {
    hia_build_begin(w.b, fns[i]);
    value x = hia_build_param(w.b, fns[i], 0), sum = x;
    const char *names[] = {"Leaf", "Node", "__", "_0", longest, bytes, most, "_x", "i32", "e5"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      sum = hia_build_name(w.b, hia_build_add(w.b, sum, x), names[k]);
      hia_build_abs(w.b, sum);
    }
    if (i) sum = hia_build_call(w.b, fns[i - 1], &sum, 1);
    hia_build_return(w.b, sum);
  }
  free(longest);
  finish(&w);
  cr_assert_str_eq(run(&w, "__", hia_value_i32(w.engine, 1)), "1331"); /* 11 each */
  close_world(&w);
}

/* ---- ids ---- */

/* An allocator that always starts at the same address. */
typedef struct again {
  hia_allocator allocator;
  size_t used;
  _Alignas(16) char bytes[8 << 20];
} again;
static void *again_alloc(void *user, size_t size) {
  again *a = user;
  size_t at = (a->used + 15) & ~(size_t)15;
  if (size > sizeof a->bytes - at) return NULL;
  a->used = at + size;
  return memset(a->bytes + at, 0, size);
}
static void *again_resize(void *user, void *block, size_t old_size, size_t size) {
  void *moved = again_alloc(user, size);
  if (moved && block) memcpy(moved, block, old_size < size ? old_size : size);
  return moved;
}
static void again_free(void *user, void *block, size_t size) {
  (void)user, (void)block, (void)size;
}

/* Values of a freed builder do not belong to a new one, even at the same address. */
Test(builder, values_of_one_that_is_gone) {
  again *a = calloc(1, sizeof *a);
  a->allocator =
      (hia_allocator){.user = a, .alloc = again_alloc, .resize = again_resize, .free = again_free};
  value old = {0};
  hia_engine *first = NULL;
  for (int round = 0; round < 2; round++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = HIA_ENGINE_INTERP;
    options.allocator = &a->allocator;
    a->used = 0;
    world w = {0};
    cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
    cr_assert_eq(hia_builder_new(w.engine, NULL, &w.b, NULL), HIA_OK);
    hia_build_fn f = hia_build_declare(w.b, "f(x: i32) -> i32");
    hia_build_begin(w.b, f);
    if (round == 0) {
      old = hia_build_param(w.b, f, 0);
      first = w.engine;
    } else {
      cr_assert_eq(w.engine, first);
      hia_build_abs(w.b, old);
      const char *message = hia_error_message(hia_builder_error(w.b), 0);
      cr_assert_not_null(message);
      cr_assert(strstr(message, "operand 1 is a value of another builder"), "%s", message);
    }
    close_world(&w);
  }
  free(a);
}

Test(builder, nothing_begun_and_nothing_given) {
  world w = open_world();
  value x = hia_build_i32(w.b, 1), vars[1];
  cr_assert_eq(hia_build_abs(w.b, x).id, 0u);
  cr_assert(strstr(hia_error_message(hia_builder_error(w.b), 0), "abs: no function has begun"));
  hia_error *error;
  hia_builder *b = (hia_builder *)1;
  hia_module *module = (hia_module *)1;
  cr_assert_eq(hia_builder_new(NULL, NULL, &b, &error), HIA_ARGUMENT);
  cr_assert_null(b);
  cr_assert(strstr(hia_error_message(error, 0), "no engine"));
  hia_error_free(error);
  cr_assert_eq(hia_builder_new(w.engine, NULL, NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_finish(NULL, &module, &error), HIA_ARGUMENT);
  cr_assert_null(module);
  hia_error_free(error);
  cr_assert_eq(hia_builder_print(NULL, test_text_take, &w.text, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_print(w.b, NULL, NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_finish(w.b, NULL, NULL), HIA_ARGUMENT);
  cr_assert_eq(hia_builder_status(NULL), HIA_ARGUMENT);
  cr_assert_null(hia_builder_error(NULL));
  cr_assert_eq(hia_build_add(NULL, x, x).id, 0u);
  cr_assert_eq(hia_build_declare_extern(NULL, NULL, NULL, 0, HIA_I32, false).id, 0u);
  cr_assert_eq(hia_build_begin(NULL, (hia_build_fn){0}), HIA_ARGUMENT);
  cr_assert_eq(hia_build_loop(NULL, &x, 1, vars), HIA_ARGUMENT);
  cr_assert_eq(hia_build_type_of(NULL, x), HIA_BUILD_NO_TYPE);
  hia_builder_free(NULL);
  close_world(&w);
}

Test(builder, what_is_not_complete_does_not_finish) {
  world w = open_world();
  hia_error *error;
  cr_assert_str_eq(print(&w), "");
  hia_build_fn f = hia_build_declare(w.b, "f(n: i32) -> i32");
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert(strstr(hia_error_message(error, 0), "'f' is declared, and not defined"));
  hia_error_free(error);
  expect_text(&w, "# fn f(n: i32) -> i32 is not defined\n");
  hia_build_begin(w.b, f);
  value n = hia_build_param(w.b, f, 0);
  hia_build_if(w.b, hia_build_eq(w.b, n, n));
  hia_build_name(w.b, hia_build_abs(w.b, n), "a");
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_assert(strstr(hia_error_message(error, 0), "the body of 'f' is not at its end"));
  hia_error_free(error);
  expect_text(&w, "# fn f(n: i32) -> i32 = {\n"
                  "#   let _: bool = if n == n then {\n"
                  "#     let a = abs(n);\n"
                  "# is not at its end\n");
  hia_build_else(w.b, n);
  value rest = hia_build_call(w.b, f, &n, 1);
  hia_build_return(w.b, hia_build_end_if(w.b, rest));
  finish(&w);
  cr_assert_eq(hia_builder_print(w.b, test_text_refuse, NULL, &error), HIA_IO);
  hia_error_free(error);

  /* Building continues and finishes again, now with a function that can only call itself. */
  hia_build_fn g = hia_build_declare(w.b, "g() -> i32");
  hia_build_begin(w.b, g);
  hia_build_return(w.b, hia_build_call(w.b, g, NULL, 0));
  hia_module *second;
  cr_assert_eq(hia_builder_finish(w.b, &second, &error), HIA_REJECTED);
  cr_assert_str_eq(hia_error_code(error, 0), "E0314");
  cr_assert_null(second);
  hia_error_free(error);
  cr_assert_eq(hia_builder_status(w.b), HIA_OK);
  cr_assert_str_eq(run(&w, "f", hia_value_i32(w.engine, 4)), "4"); /* the first one is as it was */
  close_world(&w);
}
