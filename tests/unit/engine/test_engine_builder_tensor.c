/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: operations on tensors, sizes and params; their text, what it computes, mistakes, and
 * no memory. tests/diff/rebuild.c makes the programs of tests/programs again. */
#include "tests/unit/helpers/builder.h"
#include "tests/unit/helpers/memory.h"

#define VALUES(...)                                                                                \
  (const value[]) { __VA_ARGS__ }

/* ---- the text ---- */

/* Each op once, in the order of the header. */
static void build_all(hia_builder *b, hia_build_fn f) {
  value two = hia_build_i32(b, 2), three = hia_build_i64(b, 3), half = hia_build_f32(b, 0.5f);
  hia_build_begin(b, f);
  value x = hia_build_param(b, f, 0), i = hia_build_param(b, f, 1);
#define LET(name, ...) value name = hia_build_name(b, __VA_ARGS__, #name)
  LET(lifted, hia_build_add(b, hia_build_tanh(b, x), half));
  LET(wide, hia_build_convert(b, HIA_F64, x));
  LET(row, hia_build_at(b, x, two));
  LET(rows, hia_build_at(b, x, hia_build_array(b, VALUES(two, two), 2)));
  LET(part, hia_build_slice(b, x, two, i));
  LET(with, hia_build_set(b, x, i, row));
  LET(cat, hia_build_concat(b, VALUES(x, with), 2));
  LET(cat0, hia_build_concat_along(b, VALUES(x, with), 2, 0));
  LET(stacked, hia_build_stack(b, VALUES(row, row), 2, 0));
  LET(stacked1, hia_build_stack(b, VALUES(row, row), 2, 1));
  LET(shaped, hia_build_reshape(b, x, VALUES(three, hia_build_dim(b, x, 1)), 2));
  LET(halves, hia_build_full(b, half, VALUES(two, i), 2));
  LET(count, hia_build_iota(b, i));
  LET(hot, hia_build_one_hot(b, HIA_F64, two, three));
  LET(sure, hia_build_expect(b, x, VALUES({0}, three), 2));
  LET(total, hia_build_sum(b, x));
  LET(total0, hia_build_sum_along(b, x, 0));
  LET(most, hia_build_max_of_along(b, x, 1));
  LET(where, hia_build_argmin(b, x));
  LET(some, hia_build_any(b, hia_build_gt(b, x, half)));
  LET(product, hia_build_product(b, x, hia_build_transpose(b, x)));
  LET(weak, hia_build_product(b, row, hia_build_add(b, row, row)));
  LET(strong, hia_build_mul(b, hia_build_product(b, row, row), half));
  LET(pairs, hia_build_outer(b, row, row));
  LET(soft, hia_build_softmax(b, x));
  LET(cost, hia_build_cross_entropy(b, row, two));
#undef LET
  hia_build_return(
      b, hia_build_tuple(b,
                         VALUES(lifted, wide, row, rows, part, with, cat, cat0, stacked, stacked1,
                                shaped, halves, count, hot, sure, total, total0, most, where, some,
                                product, pairs, soft, cost, weak, strong),
                         26));
}

#define EVERY_RESULT                                                                               \
  "(f32[?, ?], f64[?, ?], f32[?], f32[?, ?], f32[?, ?], f32[?, ?], f32[?, ?], f32[?, ?], "         \
  "f32[?, ?], f32[?, ?], f32[?, ?], f32[?, ?], i64[?], f64[?], f32[?, ?], f32, f32[?], f32[?], "   \
  "i64, bool, f32[?, ?], f32[?, ?], f32[?, ?], f32, f32, f32)"

static void build_every(hia_builder *b) {
  build_all(b, hia_build_declare(b, "every(x: f32[?, ?], i: i64) -> " EVERY_RESULT));
}

Test(builder_tensors, every_op_has_its_text) {
  world w = open_world();
  build_every(w.b);
  finish(&w);
  expect_text(&w, "fn every(x: f32[?, ?], i: i64) -> " EVERY_RESULT " = {\n"
                  "  let lifted = tanh(x) + 0.5;\n"
                  "  let wide = f64(x);\n"
                  "  let row = x[2];\n"
                  "  let v1 = [2i32, 2i32];\n"
                  "  let rows = x[v1];\n"
                  "  let part = x[2..i];\n"
                  "  let with = set(x, i, row);\n"
                  "  let cat = concat(x, with);\n"
                  "  let cat0 = concat(x, with, axis = 0);\n"
                  "  let stacked = stack(row, row);\n"
                  "  let stacked1 = stack(row, row, axis = 1);\n"
                  "  let shaped = reshape(x, 3i64, shape(x, 1));\n"
                  "  let halves = full(0.5f32, 2, i);\n"
                  "  let count = iota(i);\n"
                  "  let hot: f64[?] = one_hot(2, 3i64);\n"
                  "  let sure: f32[?, 3] = x;\n"
                  "  let total = sum(x);\n"
                  "  let total0 = sum(x, axis = 0);\n"
                  "  let most = max(x, axis = 1);\n"
                  "  let where = argmin(x);\n"
                  "  let some = any(x > 0.5);\n"
                  "  let product = x @ transpose(x);\n"
                  "  let weak = row @ (row + row);\n"
                  "  let strong = row @ row * 0.5;\n"
                  "  let pairs = outer(row, row);\n"
                  "  let soft = softmax(x);\n"
                  "  let cost = cross_entropy(row, 2);\n"
                  "  (lifted, wide, row, rows, part, with, cat, cat0, stacked, stacked1, shaped, "
                  "halves, count, hot, sure, total, total0, most, where, some, product, pairs, "
                  "soft, cost, weak, strong)\n"
                  "}\n");
  close_world(&w);
}

/* ---- sizes ---- */

static void build_sizes(hia_builder *b) {
  const int64_t sizes[] = {3, HIA_BUILD_ANY_SIZE};
  hia_build_declare_type(b, "T = Leaf(v: f32[3]) | Pair(a: (f64[?, 2], T))");
  hia_build_type part = hia_build_sized_type(b, HIA_BOOL, sizes, 2);
  const hia_build_field field = {"mask", hia_build_tuple_type(b, (hia_build_type[]){part, 0}, 2)};
  hia_build_add_ctor(b, hia_build_declare_type(b, "U"), "U", &field, 1);
  value scale = hia_build_declare_param(b, "param scale: f64 = -0.5e1");
  hia_build_declare_param(b, "W: f32[2, 3] = glorot_uniform()");
  hia_build_declare_param(b, "z: f32[0] = ones()");
  hia_build_declare_param(b, "u: f64[1] = uniform( -1 , 1.5 )");
  hia_build_fn f = hia_build_declare(b, "f(x: f64[n], y: (f64[n, m], i64), n: f64[m]) -> f64[n]");
  hia_build_begin(b, f);
  value x = hia_build_param(b, f, 0);
  value m = hia_build_dim(b, hia_build_param(b, f, 2), 0);
  hia_build_expect(b, x, &m, 1);
  hia_build_return(b, hia_build_mul(b, x, scale));
}

Test(builder_tensors, sizes_and_params_have_their_text) {
  world w = open_world();
  build_sizes(w.b);
  finish(&w);
  expect_text(&w, "type T = Leaf(v: f32[3]) | Pair(a: (f64[?, 2], T))\n"
                  "type U = U(mask: (bool[3, ?], bool))\n"
                  "\n"
                  "param scale: f64 = -5.0\n"
                  "param W: f32[2, 3] = glorot_uniform()\n"
                  "param z: f32[0] = 1.0\n"
                  "param u: f64[1] = uniform(-1.0, 1.5)\n"
                  "\n"
                  "fn f(x: f64[n], y: (f64[n, m], i64), n_2: f64[m]) -> f64[n] = {\n"
                  "  let v1 = shape(n_2, 0);\n"
                  "  let _: f64[v1] = x;\n"
                  "  x * scale\n"
                  "}\n");
  close_world(&w);
}

/* ---- what it computes ---- */

Test(builder_tensors, literals_keep_their_dtypes) {
  world w = open_world();
  hia_builder *b = w.b;
  hia_build_fn f = hia_build_declare(b, "f() -> (i32[?], i64[?], f32[?], f64[?], bool[?])");
  value one[] = {hia_build_i32(b, 1), hia_build_i64(b, 1), hia_build_f32(b, 1), hia_build_f64(b, 1),
                 hia_build_bool(b, true)},
        tensor[5], two = hia_build_i64(b, 2);
  hia_build_begin(b, f);
  for (int i = 0; i < 5; i++)
    tensor[i] = i % 2 ? hia_build_full(b, one[i], &two, 1) : hia_build_array(b, &one[i], 1);
  hia_build_return(b, hia_build_tuple(b, tensor, 5));
  finish(&w);
  const char *result = run(&w, "f", NULL);
  cr_assert_str_eq(result, "([1], [1, 1], [1.0], [1.0, 1.0], [true])");
  close_world(&w);
}

Test(builder_tensors, comprehensions_make_tensors) {
  world w = open_world();
  hia_builder *b = w.b;
  hia_build_fn f = hia_build_declare(b, "f(n: i64) -> f64[?, ?]");
  hia_build_begin(b, f);
  value n = hia_build_param(b, f, 0), zero = hia_build_i64(b, 0);
  value i = hia_build_for_range(b, zero, n);
  value j = hia_build_for_each(b, hia_build_iota(b, n));
  value both = hia_build_add(b, i, j);
  value row = hia_build_end_for(b, hia_build_convert(b, HIA_F64, both));
  hia_build_return(b, hia_build_end_for(b, row));
  finish(&w);
  const char *result = run(&w, "f", hia_value_i64(w.engine, 2));
  cr_assert_str_eq(result, "[[0.0, 1.0], [1.0, 2.0]]");
  close_world(&w);
}

/* A size that the program computes is checked when it runs. */
Test(builder_tensors, what_is_not_known_fails_in_the_run) {
  world w = open_world();
  hia_builder *b = w.b;
  hia_build_fn f = hia_build_declare(b, "f(n: i64) -> f64[?]");
  hia_build_begin(b, f);
  value n = hia_build_param(b, f, 0), one = hia_build_f64(b, 1), three = hia_build_i64(b, 3);
  value x = hia_build_full(b, one, &n, 1);
  hia_build_return(b, hia_build_expect(b, x, &three, 1));
  finish(&w);
  cr_assert_str_eq(run(&w, "f", hia_value_i64(w.engine, 3)), "[1.0, 1.0, 1.0]");
  const char *failed = run(&w, "f", hia_value_i64(w.engine, 2));
  cr_assert_not_null(strstr(failed, "error[shape]"), "%s", failed);
  close_world(&w);
}

/* A loop's variables have no known sizes: what a round adds is checked in the run. */
Test(builder_tensors, loops_change_sizes) {
  world w = open_world();
  hia_builder *b = w.b;
  hia_build_fn f = hia_build_declare(b, "f(n: i64) -> i64[?]");
  hia_build_begin(b, f);
  value n = hia_build_param(b, f, 0), one = hia_build_i64(b, 1), var[1];
  value first = hia_build_array(b, &one, 1);
  hia_build_loop(b, &first, 1, var);
  hia_build_while(b, hia_build_lt(b, hia_build_len(b, var[0]), n));
  value longer = hia_build_concat(b, VALUES(var[0], first), 2);
  hia_build_return(b, hia_build_end_loop(b, &longer, 1));
  finish(&w);
  cr_assert_str_eq(run(&w, "f", hia_value_i64(w.engine, 4)), "[1, 1, 1, 1]");
  close_world(&w);
}

/* ---- mistakes ---- */

/* f has begun: v is [3], m is [2, 3], u is of unknown size, n an i64, x an f32. */
typedef struct made {
  hia_builder *b;
  hia_build_fn f, g;
  hia_build_ctor leaf;
  value v, m, u, n, x, four[4], c;
} made;

#define MISTAKES(_)                                                                                \
  _("in 'f': add: shapes do not fit: axis 0 of [4] is 4, axis 0 of [3] is 3",                      \
    hia_build_add(m.b, four(&m), m.v))                                                             \
  _("in 'f': add: operands 1 and 2 are of types f32[?] and i64; they must be of one dtype",        \
    hia_build_add(m.b, m.v, m.n))                                                                  \
  _("in 'f': sqrt: operand 1 is of type i64[?], not f32 or f64",                                   \
    hia_build_sqrt(m.b, hia_build_iota(m.b, m.n)))                                                 \
  _("in 'f': select: operand 1 is of type f32[?], not bool", hia_build_select(m.b, m.v, m.v, m.v)) \
  _("in 'f': if: the condition is of type bool[?], not bool",                                      \
    hia_build_if(m.b, hia_build_gt(m.b, m.v, m.v)))                                                \
  _("in 'f': product: shapes do not fit: axis 1 of [2, 3] is 3, axis 0 of [4] is 4",               \
    hia_build_product(m.b, m.m, four(&m)))                                                         \
  _("in 'f': product: it does not take f32[?] and f32", hia_build_product(m.b, m.v, m.x))          \
  _("in 'f': product: 1 operand instead of 2", hia_build_op(m.b, HIA_OPCODE_PRODUCT, &m.v, 1))     \
  _("in 'f': product: no operands", hia_build_op(m.b, HIA_OPCODE_PRODUCT, NULL, 2))                \
  _("in 'f': product: operand 2 is no value", hia_build_product(m.b, m.v, (value){0}))             \
  _("in 'f': outer: it does not take f32[?, ?] and f32[?]", hia_build_outer(m.b, m.m, m.v))        \
  _("in 'f': transpose: it does not take f32[?]", hia_build_transpose(m.b, m.v))                   \
  _("in 'f': softmax: it does not take f32", hia_build_softmax(m.b, m.x))                          \
  _("in 'f': cross_entropy: it does not take f32[?] and f32[?]",                                   \
    hia_build_cross_entropy(m.b, m.v, m.v))                                                        \
  _("in 'f': sum: there is no axis 1: this is f32[?]", hia_build_sum_along(m.b, m.v, 1))           \
  _("in 'f': sum: it does not take (f32[?], f32)",                                                 \
    hia_build_sum(m.b, hia_build_tuple(m.b, VALUES(m.v, m.x), 2)))                                 \
  _("in 'f': mean: it does not take i64[?]", hia_build_mean(m.b, hia_build_iota(m.b, m.n)))        \
  _("in 'f': all: it does not take f32[?]", hia_build_all(m.b, m.v))                               \
  _("in 'f': max: there is no axis 9", hia_build_max_of_along(m.b, m.v, 9))                        \
  _("in 'f': shape: there is no axis 2: this is f32[?, ?]", hia_build_dim(m.b, m.m, 2))            \
  _("in 'f': op along an axis: there is no op 149 along an axis",                                  \
    hia_build_op_along(m.b, HIA_OPCODE_PRODUCT, VALUES(m.v, m.v), 2, 0))                           \
  _("in 'f': op along an axis: there is no op 1 along an axis",                                    \
    hia_build_op_along(m.b, HIA_OPCODE_ADD, VALUES(m.v, m.v), 2, 0))                               \
  _("in 'f': op: there is no op 129", hia_build_op(m.b, (hia_opcode)129, VALUES(m.v, m.n), 2))     \
  _("in 'f': op: there is no op 157", hia_build_op(m.b, (hia_opcode)157, VALUES(m.v, m.n), 2))     \
  _("in 'f': stack: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                    \
    hia_build_stack(m.b, VALUES(m.v, four(&m)), 2, 0))                                             \
  _("in 'f': stack: there is no axis 2: this is f32[?]",                                           \
    hia_build_stack(m.b, VALUES(m.v, m.v), 2, 2))                                                  \
  _("in 'f': stack: it does not take f32[?] and f32",                                              \
    hia_build_stack(m.b, VALUES(m.v, m.x), 2, 0))                                                  \
  _("in 'f': stack: 0 operands instead of 1 or more", hia_build_stack(m.b, NULL, 0, 0))            \
  _("in 'f': stack: 256 operands; at most 255", hia_build_stack(m.b, &m.v, 256, 0))                \
  _("in 'f': concat: shapes do not fit: axis 1 of [2, 3] is 3, axis 1 of [2, 4] is 4",             \
    hia_build_concat_along(                                                                        \
        m.b,                                                                                       \
        VALUES(m.m,                                                                                \
               hia_build_full(m.b, m.x, VALUES(hia_build_i32(m.b, 2), hia_build_i32(m.b, 4)), 2)), \
        2, 0))                                                                                     \
  _("in 'f': concat: array 2 is of type f32[?], not f32[?, ?]",                                    \
    hia_build_concat(m.b, VALUES(m.m, m.v), 2))                                                    \
  _("in 'f': concat: 1 operand instead of 2 or more", hia_build_concat_along(m.b, &m.v, 1, 0))     \
  _("in 'f': array: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                    \
    hia_build_array(m.b, VALUES(m.v, four(&m)), 2))                                                \
  _("in 'f': array: element 2 is of type f32, not f32[?]",                                         \
    hia_build_array(m.b, VALUES(m.v, m.x), 2))                                                     \
  _("in 'f': at: the index is of type f32, not i32 or i64, or a tensor of these",                  \
    hia_build_at(m.b, m.v, m.x))                                                                   \
  _("in 'f': at: the array is of type f32, no array or tensor", hia_build_at(m.b, m.x, m.n))       \
  _("in 'f': slice: the end is of type f32", hia_build_slice(m.b, m.v, m.n, m.x))                  \
  _("in 'f': set: the element is of type f32, not f32[?]", hia_build_set(m.b, m.m, m.n, m.x))      \
  _("in 'f': set: shapes do not fit: axis 1 of [2, 3] is 3, axis 0 of [4] is 4",                   \
    hia_build_set(m.b, m.m, m.n, four(&m)))                                                        \
  _("in 'f': reshape: size 2 is of type f32, not i32 or i64",                                      \
    hia_build_reshape(m.b, m.v, VALUES(m.n, m.x), 2))                                              \
  _("in 'f': reshape: 0 sizes: a tensor has from 1 to 16", hia_build_reshape(m.b, m.v, NULL, 0))   \
  _("in 'f': reshape: 17 sizes", hia_build_reshape(m.b, m.v, &m.n, 17))                            \
  _("in 'f': reshape: no sizes", hia_build_reshape(m.b, m.v, NULL, 1))                             \
  _("in 'f': full: the value is of type f32[?], not a scalar", hia_build_full(m.b, m.v, &m.n, 1))  \
  _("in 'f': iota: size 1 is of type f32", hia_build_iota(m.b, m.x))                               \
  _("in 'f': one_hot: the dtype is i64, not f32 or f64",                                           \
    hia_build_one_hot(m.b, HIA_I64, m.n, m.n))                                                     \
  _("in 'f': one_hot: the dtype is no dtype", hia_build_one_hot(m.b, (hia_dtype)9, m.n, m.n))      \
  _("in 'f': one_hot: the index is of type f32", hia_build_one_hot(m.b, HIA_F32, m.x, m.n))        \
  _("in 'f': expect: the tensor does not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",             \
    hia_build_expect(m.b, m.v, &m.c, 1))                                                           \
  _("in 'f': expect: 1 sizes for f32[?, ?]", hia_build_expect(m.b, m.m, &m.n, 1))                  \
  _("in 'f': expect: it does not take f32", hia_build_expect(m.b, m.x, &m.n, 1))                   \
  _("in 'f': expect: no sizes", hia_build_expect(m.b, m.v, NULL, 1))                               \
  _("in 'f': call of 'g': argument 1 does not fit: axis 0 of [4] is 4, axis 0 of [3] is 3",        \
    hia_build_call(m.b, m.g, VALUES(four(&m), m.v, m.v), 3))                                       \
  _("in 'f': call of 'g': argument 3 does not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",        \
    hia_build_call(m.b, m.g, VALUES(m.v, m.v, four(&m)), 3))                                       \
  _("in 'f': data of 'Leaf': field 1 does not fit: axis 0 of [4] is 4, axis 0 of [3] is 3",        \
    hia_build_data(m.b, m.leaf, VALUES(four(&m)), 1))                                              \
  _("in 'f': return: the result does not fit: axis 0 of [4] is 4, axis 0 of [3] is 3",             \
    hia_build_return(m.b, four(&m)))                                                               \
  _("in 'f': add: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                      \
    (hia_build_match(m.b, hia_build_data(m.b, m.leaf, &m.v, 1)),                                   \
     hia_build_arm(m.b, "Leaf(v)", &m.u, 1), hia_build_add(m.b, m.u, four(&m))))                   \
  _("in 'f': add: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                      \
    hia_build_add(m.b, hia_build_part(m.b, hia_build_tuple(m.b, VALUES(m.m, m.x, m.v), 3), 2),     \
                  four(&m)))                                                                       \
  _("in 'f': add: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                      \
    (hia_build_if(m.b, hia_build_bool(m.b, true)), hia_build_else(m.b, m.v),                       \
     m.u = hia_build_end_if(m.b, hia_build_neg(m.b, m.v)), hia_build_add(m.b, m.u, four(&m))))     \
  _("in 'f': add: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                      \
    (m.u = hia_build_for_each(m.b, m.m), hia_build_add(m.b, m.u, four(&m))))                       \
  _("end of for: a tensor has from 1 to 16 axes, not 17",                                          \
    (m.u = hia_build_reshape(                                                                      \
         m.b, m.v,                                                                                 \
         VALUES(m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n, m.n),   \
         16),                                                                                      \
     hia_build_for_range(m.b, m.n, m.n), hia_build_end_for(m.b, m.u)))                             \
  _("sized type: size 2 is -2", hia_build_sized_type(m.b, HIA_F32, (const int64_t[]){-1, -2}, 2))  \
  _("sized type: no sizes", hia_build_sized_type(m.b, HIA_F32, NULL, 2))                           \
  _("sized type: a tensor has from 1 to 16 axes, not 17",                                          \
    hia_build_sized_type(m.b, HIA_F32, NULL, 17))                                                  \
  _("sized type: 77 is no dtype", hia_build_sized_type(m.b, (hia_dtype)77, NULL, 1))               \
  _("array type: the element has sizes",                                                           \
    hia_build_array_type(m.b, hia_build_read_type(m.b, "(f32[3], i32)")))                          \
  _("read type: sizes within arrays are not known", hia_build_read_type(m.b, "[(f32[3], i32)]"))   \
  _("read type: a size expected at '-1]'", hia_build_read_type(m.b, "f32[-1]"))                    \
  _("read type: ',' or ']' expected at '* n]'", hia_build_read_type(m.b, "f32[2 * n]"))            \
  _("read type: '99999999999999999999' does not fit i64",                                          \
    hia_build_read_type(m.b, "f32[99999999999999999999]"))                                         \
  _("read type: 'loop' is a keyword", hia_build_read_type(m.b, "f32[loop]"))                       \
  _("declare of 'h': the size 'k' of the result is that of no parameter",                          \
    hia_build_declare(m.b, "h(x: f32[n]) -> f32[k]"))                                              \
  _("declare type of 'V': a size of a field is a number or '?', not 'n'",                          \
    hia_build_declare_type(m.b, "V = V(x: f32[n])"))                                               \
  _("declare param of 'p': the sizes of a param are numbers",                                      \
    hia_build_declare_param(m.b, "p: f32[?] = zeros()"))                                           \
  _("declare param of 'p': a param is a scalar or tensor of f32 or f64, not i32[?]",               \
    hia_build_declare_param(m.b, "p: i32[3] = zeros()"))                                           \
  _("declare param of 'p': a tensor of more elements than fit in memory",                          \
    hia_build_declare_param(m.b, "p: f32[4000000000, 4000000000] = zeros()"))                      \
  _("declare param of 'p': an initialiser expected at 'gauss()'",                                  \
    hia_build_declare_param(m.b, "p: f32 = gauss()"))                                              \
  _("declare param of 'p': normal(mean, std): std is at least 0",                                  \
    hia_build_declare_param(m.b, "p: f32 = normal(0, -1)"))                                        \
  _("declare param of 'p': uniform(lo, hi): lo is at most hi",                                     \
    hia_build_declare_param(m.b, "p: f32 = uniform(1, 0)"))                                        \
  _("declare param of 'p': '1e50' does not fit f32",                                               \
    hia_build_declare_param(m.b, "p: f32 = uniform(0, 1e50)"))                                     \
  _("declare param of 'p': a number expected at 'x)'",                                             \
    hia_build_declare_param(m.b, "p: f32 = uniform(0, x)"))                                        \
  _("declare param of 'p': ',' expected at ')'",                                                   \
    hia_build_declare_param(m.b, "p: f32 = uniform(0)"))                                           \
  _("declare param of 'p': nothing more expected at '+ 1'",                                        \
    hia_build_declare_param(m.b, "p: f32 = 1 + 1"))                                                \
  _("declare param of 'f': 'f' is declared already", hia_build_declare_param(m.b, "f: f32 = 1"))   \
  _("declare param of 'sum': 'sum' is the name of a built-in function",                            \
    hia_build_declare_param(m.b, "sum: f32 = 1"))                                                  \
  _("declare of 'W': 'W' is declared already",                                                     \
    (hia_build_declare_param(m.b, "W: f32 = 1"), hia_build_declare(m.b, "W() -> f32")))            \
  _("declare param: '_' is no name", hia_build_declare_param(m.b, "_: f32 = 1"))                   \
  _("declare param: no definition", hia_build_declare_param(m.b, NULL))

static value four(made *m) { return hia_build_array(m->b, m->four, 4); }

static made make(world *w) {
  made m = {.b = w->b};
  hia_build_declare_type(m.b, "T = Leaf(v: f32[3])");
  m.leaf = hia_build_find_ctor(m.b, "Leaf");
  m.g = hia_build_declare(m.b, "g(a: f32[3], b: f32[k], c: f32[k]) -> f32[k]");
  m.f = hia_build_declare(m.b, "f(v: f32[3], m: f32[2, 3], u: f32[?], n: i64, x: f32) -> f32[3]");
  hia_build_begin(m.b, m.f);
  m.v = hia_build_param(m.b, m.f, 0);
  m.m = hia_build_param(m.b, m.f, 1);
  m.u = hia_build_param(m.b, m.f, 2);
  m.n = hia_build_param(m.b, m.f, 3);
  m.x = hia_build_param(m.b, m.f, 4);
  m.c = hia_build_i64(m.b, 4);
  for (int i = 0; i < 4; i++) m.four[i] = m.x;
  cr_assert_eq(hia_builder_status(m.b), HIA_OK);
  return m;
}

static void expect_mistake(hia_builder *b, const char *expected) {
  cr_expect_eq(hia_builder_status(b), HIA_ARGUMENT, "nothing wrong: %s", expected);
  const char *told = hia_error_message(hia_builder_error(b), 0);
  cr_expect_not_null(strstr(told, expected), "%s\ninstead of\n%s", told, expected);
  /* Further calls do nothing. */
  const value none = {0};
  cr_expect_eq(hia_build_sum(b, none).id, 0u);
  cr_expect_eq(hia_build_stack(b, &none, 1, 0).id, 0u);
  cr_expect_eq(hia_build_reshape(b, none, &none, 1).id, 0u);
  cr_expect_eq(hia_build_full(b, none, &none, 1).id, 0u);
  cr_expect_eq(hia_build_iota(b, none).id, 0u);
  cr_expect_eq(hia_build_one_hot(b, HIA_F32, none, none).id, 0u);
  cr_expect_eq(hia_build_expect(b, none, &none, 1).id, 0u);
  cr_expect_eq(hia_build_declare_param(b, "x: f32 = 1").id, 0u);
  cr_expect_eq(hia_build_sized_type(b, HIA_F32, &(int64_t){1}, 1), HIA_BUILD_NO_TYPE);
}

Test(builder_tensors, mistakes_are_told){
#define TRY(expected, call)                                                                        \
  {                                                                                                \
    world w = open_world();                                                                        \
    made m = make(&w);                                                                             \
    (void)(call);                                                                                  \
    expect_mistake(w.b, expected);                                                                 \
    close_world(&w);                                                                               \
  }
    MISTAKES(TRY)
#undef TRY
}

/* What the frontend accepts although it always fails, the builder accepts, too. */
Test(builder_tensors, other_misfits_are_no_mistakes) {
  world w = open_world();
  made m = make(&w);
  value zero = hia_build_i64(m.b, 0);
  hia_build_reshape(m.b, m.v, &m.c, 1);
  hia_build_slice(m.b, m.v, m.c, zero);
  hia_build_at(m.b, m.v, m.c);
  hia_build_full(m.b, m.x, VALUES(hia_build_i64(m.b, -1)), 1);
  hia_build_add(m.b, m.v, m.u);
  hia_build_add(m.b, m.v, hia_build_array(m.b, m.four, 1));
  cr_assert_eq(hia_builder_status(m.b), HIA_OK);
  close_world(&w);
}

/* No builder, and values of other builders. */
Test(builder_tensors, nothing_is_no_builder) {
  const value none = {0};
  cr_expect_eq(hia_build_op_along(NULL, HIA_OPCODE_SUM, &none, 1, 0).id, 0u);
  cr_expect_eq(hia_build_reshape(NULL, none, &none, 1).id, 0u);
  cr_expect_eq(hia_build_declare_param(NULL, "x: f32 = 1").id, 0u);
  cr_expect_eq(hia_build_sized_type(NULL, HIA_F32, &(int64_t){1}, 1), HIA_BUILD_NO_TYPE);
}

/* ---- memory ---- */

static hia_status attempt(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = allocator;
  options.kind = HIA_ENGINE_INTERP;
  hia_engine *engine;
  hia_builder *b = NULL;
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_status status = hia_engine_new(&options, &engine, &error);
  if (status == HIA_OK) status = hia_builder_new(engine, "built.hia", &b, &error);
  if (status == HIA_OK) {
    build_sizes(b);
    build_every(b);
    status = hia_builder_status(b);
    cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s", hia_error_text(hia_builder_error(b)));
    hia_status finished = hia_builder_finish(b, &module, &error);
    cr_assert(finished == HIA_MEMORY || (finished == HIA_OK && status == HIA_OK), "%s",
              hia_error_text(error));
    status = finished;
  }
  hia_error_free(error);
  hia_module_free(module);
  hia_builder_free(b);
  hia_engine_free(engine);
  return status;
}

Test(builder_tensors, every_allocation_may_fail) {
  size_t n = fail_each_allocation(attempt);
  cr_assert(n > 20, "%zu allocations", n);
}
