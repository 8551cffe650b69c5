/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* gradient, of tensors: what the rule of each op builds is what differences of the op say, over
 * shapes with broadcasts, sizes of 1 and 0; by tensors and by sums; at f32 what it is at f64; in
 * both interpreters. And where the derivative is a matter of convention, it is what
 * graph/grad/rules/rules.h says. */
#include "graph/grad/rules/rules.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "tests/unit/helpers/gradient_tensor.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/image.h"
#include <math.h>
#include <stdio.h>

/* ---- running one ---- */

static void make_image(image_program *p, const tensor_case *c, hia_dtype at) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = tensor_case_graph(&e.comp, &e.types, c, at);
    cr_assert(g, "%s", hiaR_ops[c->op].name);
    const char *defect = hiaG_verify(g);
    cr_assert(!defect, "%s", defect);
    const char *text = text_of(&e, g);
    cr_assert(image_from_ir(p, text), "%s\n%s", p->error, text);
  });
  hiaR_comp_free(&e.comp);
}

static const char *name_of(const tensor_case *c) {
  static char text[200];
  int n = snprintf(text, sizeof text, "%s %d", hiaR_ops[c->op].name, (int)c->imm);
  for (uint32_t i = 0; i < c->n_ins; i++) {
    char shape[40];
    hiaR_shape_describe(c->ins[i].dtype, &c->ins[i].dims, shape, sizeof shape);
    n += snprintf(text + n, sizeof text - (size_t)n, " %s", shape);
  }
  return text;
}

static double to_double(hia_dtype at, hia_word word) {
  return at == HIA_F32 ? (double)hiaR_to_f32(word) : hiaR_to_f64(word);
}

/* All results; both interpreters give the same bits. */
static void evaluate(const image_program *p, const tensor_case *c, const tensor_point *x,
                     hia_dtype at, double results[TENSOR_CASE_RESULTS]) {
  hia_word words[TENSOR_CASE_ARGS];
  uint32_t n = 1 + 2 * tensor_case_floats(c);
  tensor_point_words(x, at, words);
  image_outcome a = image_run(p, IMAGE_INTERP, words, 1, NULL, NULL);
  image_outcome b = image_run(p, IMAGE_EXPAND, words, 1, NULL, NULL);
  tensor_point_discard(x, words);
  cr_assert_eq(a.status, HIA_OK, "%s: %s", name_of(c), hiaR_status_word(a.status));
  cr_assert_eq(a.live, 0, "%s", name_of(c));
  cr_assert_eq(b.status, HIA_OK, "%s", name_of(c));
  for (uint32_t i = 0; i < n; i++) {
    cr_assert_eq(a.results[i], b.results[i], "%s", name_of(c));
    results[i] = to_double(at, a.results[i]);
  }
}

/* ---- differences ---- */

enum { POINTS = 6 };

static void check_case(const tensor_case *c, uint32_t *state) {
  image_program p, narrow;
  uint32_t n = tensor_case_floats(c);
  make_image(&p, c, HIA_F64);
  make_image(&narrow, c, HIA_F32);
  for (int k = 0; k < POINTS; k++) {
    const double h = 0x1p-13;
    tensor_point x;
    double is[TENSOR_CASE_RESULTS], at_f32[TENSOR_CASE_RESULTS], f[5][TENSOR_CASE_RESULTS];
    tensor_point_init(&x, c, state);
    evaluate(&p, c, &x, HIA_F64, is);
    evaluate(&narrow, c, &x, HIA_F32, at_f32);
    for (uint32_t i = 0; i < n; i++) {
      double slope = is[1 + i], by_sum = is[1 + n + i];
      cr_assert_leq(fabs(slope - by_sum), 1e-13 * (1 + fabs(slope)),
                    "%s, operand %u: %.17g, by a sum %.17g", name_of(c), i, slope, by_sum);
      cr_assert_leq(fabs(slope - at_f32[1 + i]), 3e-4 * (1 + fabs(slope)),
                    "%s, operand %u: %.17g, at f32 %.9g", name_of(c), i, slope, at_f32[1 + i]);
      cr_assert_leq(fabs(at_f32[1 + n + i] - at_f32[1 + i]), 1e-5 * (1 + fabs(slope)),
                    "%s, operand %u, by a sum at f32", name_of(c), i);
      for (int j = -2; j <= 2; j++) {
        tensor_point_move(&x, c, i, j * h);
        evaluate(&p, c, &x, HIA_F64, f[j + 2]);
        tensor_point_move(&x, c, i, -j * h);
      }
      /* A kink between two points: the differences of the one and of the other differ. */
      double near = (f[3][0] - f[1][0]) / (2 * h), wide = (f[4][0] - f[0][0]) / (4 * h);
      if (fabs(near - wide) > 1e-4 * (1 + fabs(near))) continue;
      double difference = (8 * (f[3][0] - f[1][0]) - (f[4][0] - f[0][0])) / (12 * h);
      cr_assert_leq(fabs(slope - difference), 1e-7 * (1 + fabs(slope)),
                    "%s, operand %u: %.17g, differences say %.17g", name_of(c), i, slope,
                    difference);
    }
    tensor_point_free(&x);
  }
  image_discard(&p);
  image_discard(&narrow);
}

Test(gradient_tensor, is_what_differences_say) {
  const tensor_case *cases;
  uint32_t n = tensor_cases(&cases), state = 30;
  cr_assert_gt(n, 300);
  for (uint32_t i = 0; i < n; i++)
    if (i % HIA_TEST_SHARE == 0) check_case(&cases[i], &state);
}

/* Each row that has a rule has a case, and each that takes tensors has a rule or says why not. */
Test(gradient_tensor, all_rows) {
  const tensor_case *cases;
  uint32_t n = tensor_cases(&cases);
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const hia_op_info *row = &hiaR_ops[op];
    bool is_there = op == HIA_OP_COLLECT; /* below */
    if (!row->name || row->shape == HIA_SHAPE_NONE) continue;
    for (uint32_t i = 0; i < n; i++) is_there |= cases[i].op == op;
    cr_assert_eq(is_there, row->gradient == HIA_GRADIENT_OWN, "%s", row->name);
    bool is_callers = op == HIA_OP_PACK || op == HIA_OP_PARAM || op == HIA_OP_WORK ||
                      op == HIA_OP_ITEM ||           /* made behind gradients (graph/scalars) */
                      op == HIA_OP_LABEL_GRADIENT || /* likewise (graph/batch/labels.c) */
                      op == HIA_OP_COLLECT_ROWS;     /* roots alone have it (graph/grad/step.c) */
    cr_assert_eq(row->gradient == HIA_GRADIENT_NONE, is_callers, "%s", row->name);
  }
}

/* ---- what is built ---- */

/* The names of the ops that the rule builds, in their order; those of sums as they are written. */
static void expect_built(const char *params, const char *node, const char *built,
                         const bool *wants) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    char text[500];
    snprintf(text, sizeof text, "graph functions \"\"\nfn \"f\" (%s) -> () {\n%s\nyield\n}\n",
             params, node);
    hia_graph *g = read_text(&e, text);
    hia_fn *fn = hiaG_fn(g, 0);
    hia_node_id last = fn->regions.data[0].last, of = fn->nodes.data[last].prev;
    hia_value_id gradients[8], dy = 0;
    hiaG_remove(fn, last);
    uint32_t n_nodes = fn->nodes.len, n_ins = fn->nodes.data[of].n_ins;
    hia_value_id ins[8];
    for (uint32_t i = 0; i < n_ins; i++) ins[i] = hiaG_in(fn, of, i);
    hia_value_id out = hiaG_out(fn, of, 0);
    hia_gradient d = {.g = g,
                      .fn = fn,
                      .loc = HIA_NONE,
                      .imm = fn->nodes.data[of].imm,
                      .n_ins = n_ins,
                      .wants_sum = wants,
                      .ins = ins,
                      .outs = &out,
                      .out_gradients = &dy,
                      .in_gradients = gradients};
    cr_assert(hiaG_gradient(&d, fn->nodes.data[of].op));
    hia_text is;
    hiaR_text_init(&is, &e.comp.arena);
    for (hia_node_id n = n_nodes; n < fn->nodes.len; n++) {
      const hia_node *made = &fn->nodes.data[n];
      hiaR_text_addf(&is, "%s%s", is.len ? " " : "", hiaR_ops[made->op].name);
      if (made->op == HIA_OP_DATA) hiaR_text_addf(&is, ".%d", (int)made->imm);
    }
    cr_assert_str_eq(is.data ? is.data : "", built, "of %s", node);
  });
  hiaR_comp_free(&e.comp);
}

/* dy is %0. */
Test(gradient_tensor, is_small) {
  static const bool first[] = {true, false}, second[] = {false, true};
#define ARGS2(a, b, c)      "%0:" a " = arg 0\n%1:" b " = arg 1\n%2:" c " = arg 2\n"
#define OF2(a, b, c, y, op) a ", " b ", " c, ARGS2(a, b, c) "%3:" y " = " op " %1, %2"
  expect_built(OF2("f32[?]", "f32[?, ?]", "f32[?]", "f32[?]", "product"), "data.7 product", first);
  expect_built(OF2("f32[?]", "f32[?]", "f32[?, ?]", "f32[?]", "product"), "product data.7", second);
  expect_built(OF2("f32[?, ?]", "f32[?, ?]", "f32[?, ?]", "f32[?, ?]", "product"),
               "product_bt data.8", second);
  expect_built(OF2("f32[?, ?]", "f32[?, ?]", "f32[?, ?]", "f32[?, ?]", "product"),
               "product_bt product_at", NULL);
  expect_built(OF2("f32[?, ?]", "f32[?, ?]", "i64[?]", "f32[?, ?]", "rows"), "data.4", first);
  expect_built(OF2("sum(f32[?])", "f32[?, ?]", "i64", "f32[?]", "row"), "data.3", first);
  expect_built(OF2("f32", "f32[?]", "i64", "f32", "row"), "data.3", first);
  expect_built(OF2("f32[?]", "f32[?]", "f32[?]", "f32[?]", "add"), "fit fit", NULL);
  expect_built(OF2("f32[?]", "f32[?]", "f32", "f32[?]", "add"), "sum", NULL);
  expect_built(OF2("f32", "f32[?]", "i64", "f32", "cross_entropy"), "softmax mul row sub with",
               NULL);
  expect_built("f32[?], f32[?]", "%0:f32[?] = arg 0\n%1:f32[?] = arg 1\n%2:f32[?] = softmax %1",
               "product sub mul", NULL);
  expect_built("f32[?], f32[?]", "%0:f32[?] = arg 0\n%1:f32[?] = arg 1\n%2:f32[?] = tanh %1",
               "const sub const add mul mul", NULL);
  expect_built("f32[?], f32[?]", "%0:f32[?] = arg 0\n%1:f32[?] = arg 1\n%2:i64 = argmax all %1", "",
               NULL);
  expect_built("sum(f32[?, ?]), f32[?, ?], i64",
               ARGS2("sum(f32[?, ?])", "f32[?, ?]", "i64") "%3:f32[?, ?] = expect 1 %1, %2", "",
               first);
  expect_built("f32[?], sum(f32[?]), f32[?]",
               ARGS2("f32[?]", "sum(f32[?])", "f32[?]") "%3:f32[?] = collect %1, %2", "", NULL);
}

/* ---- conventions ---- */

/* Of a vector at these elements: the gradient times the directions 1, 10, 100, ... */
static double slope_at(unsigned op, uint64_t imm, hia_dims dims, const double *elements) {
  tensor_case c = {.op = op, .imm = imm, .n_ins = 1, .ins = {{HIA_F64, 0, dims}}};
  image_program p;
  tensor_point x;
  uint32_t state = 1;
  double is[TENSOR_CASE_RESULTS];
  make_image(&p, &c, HIA_F64);
  tensor_point_init(&x, &c, &state);
  for (uint64_t i = 0; i < x.lens[0]; i++) {
    x.elements[0][i] = elements[i];
    x.elements[1][i] = pow(10, (double)i);
  }
  evaluate(&p, &c, &x, HIA_F64, is);
  cr_assert(is[1] == is[2] || (is[1] != is[1] && is[2] != is[2]));
  tensor_point_free(&x);
  image_discard(&p);
  return is[1];
}

Test(gradient_tensor, conventions) {
  const hia_dims four = {1, {4}}, square = {2, {2, 2}};
  const double equal[] = {1, 3, 3, 2}, nans[] = {1, NAN, 3, NAN}, zeros[] = {-0.0, 0.0, -1, 0.0};
  /* The number of a scalar result is 0.7; of vectors they are sin(0.6), sin(2.3). */
  cr_assert_float_eq(slope_at(HIA_OP_MAX_OF, HIA_NONE, four, equal), 7, 1e-12);
  cr_assert_float_eq(slope_at(HIA_OP_MAX_OF, 0, four, nans), 7, 1e-12);
  cr_assert_float_eq(slope_at(HIA_OP_MIN_OF, 0, four, nans), 7, 1e-12);
  cr_assert_float_eq(slope_at(HIA_OP_MAX_OF, 0, four, zeros), 0.7, 1e-12);
  cr_assert_float_eq(slope_at(HIA_OP_MAX_OF, HIA_NONE, square, equal), 7, 1e-12);
  cr_assert_float_eq(slope_at(HIA_OP_MAX_OF, 0, square, equal), sin(0.6) * 100 + sin(2.3) * 10,
                     1e-12);
  /* One 0; of two the gradient is 0; an infinity times a 0 is a NaN, as elsewhere. */
  const double one[] = {2, 0, 3, 5}, two[] = {2, 0, 0, 5}, infinite[] = {2, 0, INFINITY, 5};
  cr_assert_float_eq(slope_at(HIA_OP_PROD, 0, four, one), 0.7 * 300, 1e-9);
  cr_assert_eq(slope_at(HIA_OP_PROD, 0, four, two), 0);
  cr_assert(isnan(slope_at(HIA_OP_PROD, 0, four, infinite)));
}

/* ---- types of sums ---- */

Test(gradient_tensor, types_of_sums) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    for (hia_dtype t = HIA_F32; t <= HIA_F64; t++)
      for (uint32_t rank = 1; rank <= HIA_MAX_RANK; rank++) {
        hia_type sum = hiaG_sum_type(&e.types, t, rank);
        hia_dtype dtype;
        uint32_t is;
        cr_assert_eq(hiaG_sum_type(&e.types, t, rank), sum, "made twice");
        cr_assert(hiaG_sum_of(&e.types, sum, &dtype, &is) && dtype == t && is == rank);
      }
    cr_assert_str_eq(hiaG_type_text(&e.types, hiaG_sum_type(&e.types, HIA_F32, 2)),
                     "sum(f32[?, ?])");
    /* Others are none, however similar. */
    hia_type other = hiaG_data(&e.types, "List");
    cr_assert_not(hiaG_is_sum(&e.types, other));
    cr_assert_not(hiaG_is_sum(&e.types, HIA_F32));
    cr_assert_not(hiaG_is_sum(&e.types, hiaG_tensor(&e.types, HIA_F32, 1)));
  });
  hiaR_comp_free(&e.comp);
}

/* In text they can be named, and defined only as they are. */
Test(gradient_tensor, sums_in_text) {
  static const char *const wrong[] = {
      "type \"sum(f32[?])\" = Nothing | Some(x: f32)\n",
      "type \"sum(f32[?])\" = Nothing\n",
      "type \"sum(x)\" = Nothing\n",
      "type A = B(x: sum(f32))\n",
      "type A = B(x: sum(i32[?]))\n",
      "type A = B(x: \"sum(f32[?])\")\n",
  };
  for (size_t i = 0; i < HIA_LEN(wrong); i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      const char *text = hiaR_arena_printf(&e.comp.arena, "graph functions \"\"\n%s", wrong[i]);
      hia_read_error error;
      cr_assert(!hiaG_read(&e.comp, &e.types, text, strlen(text), &error), "%s", wrong[i]);
    });
    hiaR_comp_free(&e.comp);
  }
  env e, f;
  env_init(&e);
  env_init(&f);
  NO_THROW(&e, {
    f.comp.armed = false;
    hia_graph *g = read_text(&e, "graph functions \"\"\n\nfn f (sum(f32[?, ?])) -> (f32[?, ?]) {\n"
                                 "%0:sum(f32[?, ?]) = arg 0\n%1:sum(f32[?, ?]) = data Both %0, "
                                 "%0\n%2:i64 = const 0\n%3:f32 = const 0x0p+0\n%4:f32[?, ?] = full "
                                 "%3, %2, %2\n%5:f32[?, ?] = collect %1, %4\nyield %5\n}\n");
    const char *once = text_of(&e, g);
    cr_assert(strstr(once, "type \"sum(f32[?, ?])\" = Nothing | Both("));
    cr_assert_str_eq(text_of(&f, read_text(&f, once)), once);
  });
  hiaR_comp_free(&f.comp);
  hiaR_comp_free(&e.comp);
}

/* ---- fuel ---- */

/* What a sum consists of is paid for where it is made, and what it is collected in by its size. */
Test(gradient_tensor, fuel) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = graph_after(
        &e,
        "graph functions \"\"\nfn f (f32[?], f32[?, ?], i64[?]) -> (f32[?, ?]) {\n"
        "%0:f32[?] = arg 0\n%1:f32[?, ?] = arg 1\n%2:i64[?] = arg 2\n"
        "%3:sum(f32[?, ?]) = data Outer %0, %0\n%4:sum(f32[?, ?]) = data Products %1, %1\n"
        "%5:sum(f32[?, ?]) = data Both %3, %4\n%6:sum(f32[?, ?]) = data Rows %2, %1\n"
        "%7:sum(f32[?, ?]) = data Both %5, %6\n%8:f32[?, ?] = collect %7, %1\n"
        "%9:i64 = const 0\n%10:f32[?, ?] = cut 1 %8, %9, %9\nyield %10\n}\n",
        "fuel");
    const char *text = text_of(&e, g), *at = text;
    static const char *const works[] = {"= work 150 ", "data Outer", "= work 166 ", "data Products",
                                        "= work 162 ", "data Rows",  "= work 161 ", "= collect",
                                        "= cut",       "= work 165 "};
    for (size_t i = 0; i < HIA_LEN(works); i++) {
      at = strstr(at, works[i]);
      cr_assert(at, "%s is not there, or not in its place:\n%s", works[i], text);
    }
  });
  hiaR_comp_free(&e.comp);
}
