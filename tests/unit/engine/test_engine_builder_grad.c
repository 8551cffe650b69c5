/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The builder: gradients; their text, and mistakes. */
#include "tests/unit/helpers/builder.h"

#define VALUES(...)                                                                                \
  (const value[]) { __VA_ARGS__ }

/* ---- the text ---- */

/* g(y) = loss(y, v) and its gradients, before the body of `loss` is there. The names of the
 * parameters of `loss` are chosen later, or are not valid, or those of others. */
static hia_build_fn build_gradients(hia_builder *b, hia_build_value W) {
  const hia_build_type types[3] = {HIA_F64, hia_build_tensor_type(b, HIA_F32, 1), HIA_I32};
  hia_build_fn g = hia_build_declare(b, "g(y: f64, x: f32[?]) -> f64"),
               loss = hia_build_declare_types(b, "loss", types, 3, HIA_F64);
  value y = hia_build_param(b, g, 0), x = hia_build_param(b, g, 1), one = hia_build_i32(b, 1);
  value of_y = hia_build_param(b, loss, 0), of_x = hia_build_param(b, loss, 1);
  hia_build_begin(b, g);
  const value args[3] = {y, x, one};
  value first = hia_build_name(b, hia_build_grad(b, loss, &of_y, 1, args, 3), "first");
  value both = hia_build_value_and_grad(b, loss, VALUES(of_x, W, of_y), 3, args, 3);
  value all = hia_build_part(b, both, 1);
  cr_expect_eq(hia_build_type_of(b, first), HIA_F64);
  cr_expect_eq(hia_build_type_of(b, both),
               hia_build_read_type(b, "(f64, (f32[?], f32[?, ?], f64))"));
  value third = hia_build_part(b, all, 2), is = hia_build_part(b, both, 0);
  value sum = hia_build_add(b, is, third);
  hia_build_return(b, hia_build_add(b, sum, first));
  hia_build_name(b, of_y, "W");
  hia_build_name(b, of_x, "a size");
  return loss;
}

Test(builder_gradients, text) {
  world w = open_world();
  value W = hia_build_declare_param(w.b, "W: f32[2, 3] = zeros()");
  hia_build_fn loss = build_gradients(w.b, W);
  hia_build_begin(w.b, loss);
  value total = hia_build_sum(w.b, hia_build_param(w.b, loss, 1));
  value wide = hia_build_convert(w.b, HIA_F64, total);
  hia_build_return(w.b, hia_build_mul(w.b, wide, hia_build_param(w.b, loss, 0)));
  cr_assert_eq(hia_builder_status(w.b), HIA_OK, "%s", hia_error_text(hia_builder_error(w.b)));
  for (int i = 0; i < 2; i++) /* the same text again */
    expect_text(&w, "param W: f32[2, 3] = 0.0\n"
                    "\n"
                    "fn g(y: f64, x: f32[?]) -> f64 = {\n"
                    "  let first = grad(loss, wrt = W_2)(y, x, 1);\n"
                    "  let v1 = value_and_grad(loss, wrt = (a_size, W, W_2))(y, x, 1);\n"
                    "  let v2 = v1.1.2;\n"
                    "  v1.0 + v2 + first\n"
                    "}\n"
                    "\n"
                    "fn loss(W_2: f64, a_size: f32[?], v1: i32) -> f64 = f64(sum(a_size)) * W_2\n");
  close_world(&w);
}

/* A gradient inside the value that uses it, and as the value of a branch; parameters without
 * names. */
Test(builder_gradients, places) {
  world w = open_world();
  const hia_build_type types[2] = {HIA_F32, HIA_F32};
  hia_build_fn f = hia_build_declare_types(w.b, "f", types, 2, HIA_F32),
               g = hia_build_declare_types(w.b, "g", types, 1, HIA_F32);
  hia_build_begin(w.b, f);
  hia_build_return(w.b, hia_build_mul(w.b, hia_build_param(w.b, f, 0), hia_build_param(w.b, f, 1)));
  hia_build_begin(w.b, g);
  value x = hia_build_param(w.b, g, 0), half = hia_build_f32(w.b, 0.5f),
        wrt = hia_build_param(w.b, f, 1);
  value inner = hia_build_grad(w.b, f, &wrt, 1, VALUES(x, half), 2);
  value c = hia_build_lt(w.b, inner, half);
  hia_build_if(w.b, c);
  hia_build_else(w.b, hia_build_grad(w.b, f, &wrt, 1, VALUES(half, x), 2));
  hia_build_return(w.b, hia_build_end_if(w.b, x));
  expect_text(&w,
              "fn f(v1: f32, v2: f32) -> f32 = v1 * v2\n"
              "\n"
              "fn g(v1: f32) -> f32 =\n"
              "  if grad(f, wrt = v2)(v1, 0.5) < 0.5 then grad(f, wrt = v2)(0.5, v1) else v1\n");
  close_world(&w);
}

/* ---- mistakes ---- */

typedef struct made {
  hia_builder *b, *other;
  hia_build_fn f, g, free, whole, host, other_fn;
  value x, n, v, any, four, W, foreign, of_x, of_n, of_v, of_free;
} made;

#define MISTAKES(_)                                                                                \
  _("in 'f': gradient: this is no function",                                                       \
    hia_build_grad(m.b, (hia_build_fn){0}, &m.of_x, 1, VALUES(m.x, m.n, m.v), 3))                  \
  _("in 'f': gradient: the function is another builder's",                                         \
    hia_build_grad(m.b, m.other_fn, &m.of_x, 1, VALUES(m.x, m.n, m.v), 3))                         \
  _("in 'f': gradient of 'host': it is the host's and has no gradient",                            \
    hia_build_grad(m.b, m.host, &m.of_x, 1, &m.x, 1))                                              \
  _("in 'f': gradient of 'whole': its result is of type i32, not f32 or f64",                      \
    hia_build_grad(m.b, m.whole, &m.W, 1, &m.x, 1))                                                \
  _("in 'f': gradient of 'g': with respect to 0 values: to 1 to 1000",                             \
    hia_build_grad(m.b, m.g, &m.of_x, 0, VALUES(m.x, m.n, m.v), 3))                                \
  _("in 'f': gradient of 'g': no values that it is with respect to",                               \
    hia_build_grad(m.b, m.g, NULL, 1, VALUES(m.x, m.n, m.v), 3))                                   \
  _("in 'f': value and gradient of 'g': wrt 2 is of type i32, not of floats",                      \
    hia_build_value_and_grad(m.b, m.g, VALUES(m.of_x, m.of_n), 2, VALUES(m.x, m.n, m.v), 3))       \
  _("in 'f': gradient of 'g': wrt 1 is no parameter of the function, and no param",                \
    hia_build_grad(m.b, m.g, &m.x, 1, VALUES(m.x, m.n, m.v), 3))                                   \
  _("in 'f': gradient of 'g': wrt 1 is no value",                                                  \
    hia_build_grad(m.b, m.g, &(value){0}, 1, VALUES(m.x, m.n, m.v), 3))                            \
  _("in 'f': gradient of 'g': wrt 1 is a value of another builder",                                \
    hia_build_grad(m.b, m.g, &m.foreign, 1, VALUES(m.x, m.n, m.v), 3))                             \
  _("in 'f': gradient of 'g': wrt 3 is wrt 1",                                                     \
    hia_build_grad(m.b, m.g, VALUES(m.W, m.of_x, m.W), 3, VALUES(m.x, m.n, m.v), 3))               \
  _("in 'f': gradient of 'g': 2 arguments instead of 3",                                           \
    hia_build_grad(m.b, m.g, &m.of_x, 1, VALUES(m.x, m.n), 2))                                     \
  _("in 'f': gradient of 'g': no arguments", hia_build_grad(m.b, m.g, &m.of_x, 1, NULL, 3))        \
  _("in 'f': gradient of 'g': argument 2 is of type f64, not i32",                                 \
    hia_build_grad(m.b, m.g, &m.of_x, 1, VALUES(m.x, m.x, m.v), 3))                                \
  _("in 'f': gradient of 'g': argument 3 does not fit: axis 0 of [4] is 4, axis 0 of [3] is 3",    \
    hia_build_grad(m.b, m.g, &m.of_x, 1, VALUES(m.x, m.n, m.four), 3))                             \
  _("in 'f': add: shapes do not fit: axis 1 of [2, 3] is 3, axis 0 of [4] is 4",                   \
    hia_build_add(m.b, hia_build_grad(m.b, m.g, &m.W, 1, VALUES(m.x, m.n, m.v), 3), m.four))       \
  _("in 'f': add: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                      \
    hia_build_add(m.b, hia_build_grad(m.b, m.g, &m.of_v, 1, VALUES(m.x, m.n, m.any), 3), m.four))  \
  _("in 'f': add: shapes do not fit: axis 0 of [3] is 3, axis 0 of [4] is 4",                      \
    hia_build_add(m.b, hia_build_grad(m.b, m.free, &m.of_free, 1, &m.v, 1), m.four))               \
  _("in 'f': add: shapes do not fit: axis 1 of [2, 3] is 3, axis 0 of [4] is 4",                   \
    hia_build_add(                                                                                 \
        m.b,                                                                                       \
        hia_build_part(m.b,                                                                        \
                       hia_build_part(m.b,                                                         \
                                      hia_build_value_and_grad(m.b, m.g, VALUES(m.of_v, m.W), 2,   \
                                                               VALUES(m.x, m.n, m.v), 3),          \
                                      1),                                                          \
                       1),                                                                         \
        m.four))

static made make(world *w) {
  made m = {.b = w->b};
  cr_assert_eq(hia_builder_new(w->engine, NULL, &m.other, NULL), HIA_OK);
  m.other_fn = hia_build_declare(m.other, "f(x: f64) -> f64");
  m.foreign = hia_build_param(m.other, m.other_fn, 0);
  m.W = hia_build_declare_param(m.b, "W: f32[2, 3] = zeros()");
  m.g = hia_build_declare(m.b, "g(x: f64, n: i32, v: f32[3]) -> f64");
  m.free = hia_build_declare(m.b, "free(v: f32[?]) -> f32");
  m.whole = hia_build_declare(m.b, "whole(x: f64) -> i32");
  m.host = hia_build_declare(m.b, "extern fn host(x: f64) -> f64");
  m.of_x = hia_build_param(m.b, m.g, 0);
  m.of_n = hia_build_param(m.b, m.g, 1);
  m.of_v = hia_build_param(m.b, m.g, 2);
  m.of_free = hia_build_param(m.b, m.free, 0);
  m.f = hia_build_declare(m.b, "f(x: f64, n: i32, v: f32[3], any: f32[?], four: f32[4]) -> f64");
  hia_build_begin(m.b, m.f);
  m.x = hia_build_param(m.b, m.f, 0);
  m.n = hia_build_param(m.b, m.f, 1);
  m.v = hia_build_param(m.b, m.f, 2);
  m.any = hia_build_param(m.b, m.f, 3);
  m.four = hia_build_param(m.b, m.f, 4);
  cr_assert_eq(hia_builder_status(m.b), HIA_OK);
  return m;
}

static void expect_mistake(made m, const char *expected) {
  cr_expect_eq(hia_builder_status(m.b), HIA_ARGUMENT, "nothing wrong: %s", expected);
  const char *told = hia_error_message(hia_builder_error(m.b), 0);
  cr_expect_not_null(strstr(told, expected), "%s\ninstead of\n%s", told, expected);
  cr_expect_eq(hia_build_grad(m.b, m.g, &m.of_x, 1, VALUES(m.x, m.n, m.v), 3).id, 0u);
}

Test(builder_gradients, mistakes_are_told){
#define TRY(message, ...)                                                                          \
  {                                                                                                \
    world w = open_world();                                                                        \
    made m = make(&w);                                                                             \
    (void)(__VA_ARGS__);                                                                           \
    expect_mistake(m, message);                                                                    \
    hia_builder_free(m.other);                                                                     \
    close_world(&w);                                                                               \
  }
    MISTAKES(TRY)
#undef TRY
}

/* A mistake that shows only in the whole program. */
Test(builder_gradients, of_a_function_that_uses_them) {
  world w = open_world();
  hia_error *error;
  hia_build_fn f = hia_build_declare(w.b, "f(x: f64) -> f64");
  hia_build_begin(w.b, f);
  value x = hia_build_param(w.b, f, 0);
  hia_build_return(w.b, hia_build_grad(w.b, f, &x, 1, &x, 1));
  expect_text(&w, "fn f(x: f64) -> f64 = grad(f, wrt = x)(x)\n");
  cr_assert_eq(hia_builder_finish(w.b, &w.module, &error), HIA_REJECTED);
  cr_expect_str_eq(hia_error_code(error, 0), "E0355", "%s", hia_error_text(error));
  hia_error_free(error);
  close_world(&w);
}
