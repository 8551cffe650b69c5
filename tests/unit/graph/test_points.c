/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/assume/points.c: which points a graph has, and what an observed run shows of them.
 * test_suppose.c tests what is assumed there. */
#include "graph/assume/points.h"
#include "tests/unit/helpers/assumed_graphs.h"

/* ---- points ---- */

/* "param f i32, branch f, rounds f" */
static const char *points_text(env *e, const hia_graph *g, const hia_point *points, uint32_t n) {
  static const char *const kinds[] = {"param", "branch", "rounds"};
  static const unsigned ops[] = {HIA_OP_ARG, HIA_OP_IF, HIA_OP_LOOP};
  hia_text out;
  hiaR_text_init(&out, &e->comp.arena);
  hiaR_text_addf(&out, "%s", "");
  for (uint32_t i = 0; i < n; i++) {
    const hia_fn *fn = hiaG_fn(g, points[i].fn);
    cr_assert_eq(fn->nodes.data[points[i].node].op, ops[points[i].kind]);
    cr_assert_eq(points[i].type == HIA_BOOL || points[i].kind != HIA_POINT_BRANCH, true);
    cr_assert_eq(points[i].type == HIA_I64 || points[i].kind != HIA_POINT_ROUNDS, true);
    hiaR_text_addf(&out, "%s%s %s", i ? ", " : "", kinds[points[i].kind], fn->name);
    if (points[i].kind != HIA_POINT_PARAM) continue;
    hiaR_text_addf(&out, " ");
    hiaG_type_print(g->types, points[i].type, &out);
  }
  return out.data;
}

static void expect_points(const char *text, const char *expected) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, text);
    hia_point *points;
    uint32_t n = hiaG_points(g, &points);
    cr_assert_str_eq(points_text(&e, g, points, n), expected);
  });
  hiaR_comp_free(&e.comp);
}

/* Points are in the order of functions, and in these in that of a walk: what contains others comes
 * before them. Variables of loops and indices of maps are none. */
Test(points, kinds_and_order) {
  expect_points(FILE_OF "type T = A | B(v: i32)\n\n"
                        "fn g (T, [T], f32[?, ?]) -> (i64) {\n"
                        "  %0:T = arg 0\n"
                        "  %1:[T] = arg 1\n"
                        "  %2:f32[?, ?] = arg 2\n"
                        "  %3:i64 = len %1\n"
                        "  %4:[i64] = map %3 {\n"
                        "    %5:i64 = arg 0\n"
                        "    %6:bool = lt %5, %3\n"
                        "    %7:i64 = if %6 {\n"
                        "      yield %5\n"
                        "    } else {\n"
                        "      yield %3\n"
                        "    }\n"
                        "    yield %7\n"
                        "  }\n"
                        "  yield %3\n"
                        "}\n\n"
                        "fn f (i64, bool) -> (i64) root (i64, bool) -> i64 {\n"
                        "  %0:i64 = arg 0\n"
                        "  %1:bool = arg 1\n"
                        "  %2:i64 = loop %0 {\n"
                        "    %3:i64 = arg 0\n"
                        "    %4:bool = lt %3, %0\n"
                        "    %5:bool = if %4 {\n"
                        "      yield %1\n"
                        "    } else {\n"
                        "      yield %4\n"
                        "    }\n"
                        "    yield %5, %3\n"
                        "  } round {\n"
                        "    %6:i64 = loop %3 {\n"
                        "      %7:i64 = arg 0\n"
                        "      %8:bool = lt %7, %0\n"
                        "      yield %8, %7\n"
                        "    } round {\n"
                        "      %9:i64 = add %7, %7\n"
                        "      yield %9\n"
                        "    }\n"
                        "    yield %6\n"
                        "  }\n"
                        "  if %1 {\n"
                        "    yield\n"
                        "  } else {\n"
                        "    yield\n"
                        "  }\n"
                        "  yield %2\n"
                        "}\n",
                "param g T, param g [T], param g f32[?, ?], branch g, param f i64, param f bool, "
                "rounds f, branch f, rounds f, branch f");
  expect_points(FILE_OF "fn f () -> (i32) root () -> i32 {\n  %0:i32 = const 1\n  yield %0\n}\n",
                "");
}

/* What is not of the source is no point. */
Test(points, loops_that_are_free) {
#define LOOP_THAT(is)                                                                              \
  FILE_OF "fn f (i64) -> (i64) root (i64) -> i64 {\n"                                              \
          "  %0:i64 = arg 0\n"                                                                     \
          "  %1:i64 = loop %0" is " {\n"                                                           \
          "    %2:i64 = arg 0\n"                                                                   \
          "    %3:bool = lt %2, %0\n"                                                              \
          "    yield %3, %2\n"                                                                     \
          "  } round {\n"                                                                          \
          "    yield %2\n"                                                                         \
          "  }\n"                                                                                  \
          "  yield %1\n"                                                                           \
          "}\n"
  expect_points(LOOP_THAT(" free"), "param f i64");
  expect_points(LOOP_THAT(""), "param f i64, rounds f");
}

Test(points, none_where_gradients_are_computed) { expect_points(graph_file("grad"), ""); }

/* A program has the same points each time. */
Test(points, are_the_same_each_time) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    env e[2];
    const char *texts[2];
    for (int i = 0; i < 2; i++) {
      env_init(&e[i]);
      NO_THROW(&e[i], {
        hia_graph *g = random_graph(&e[i].comp, &e[i].types, seed);
        hia_point *points;
        uint32_t n = hiaG_points(g, &points);
        texts[i] = points_text(&e[i], g, points, n);
      });
    }
    cr_assert_str_eq(texts[0], texts[1]);
    for (int i = 0; i < 2; i++) hiaR_comp_free(&e[i].comp);
  }
}

/* ---- observing ---- */

/* The loop counts its rounds in a variable of its own. */
Test(points, observe_each_point) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, sums_text);
    hia_point *points;
    uint32_t n = hiaG_points(g, &points);
    hiaG_observe(g, points, n);
    expect_sound(&e, g);
    cr_assert_str_eq(text_of(&e, g),
                     FILE_OF "fn sum (i64, i64) -> (i64) {\n"
                             "  %0:i64 = arg 0\n"
                             "  %1:i64 = arg 1\n"
                             "  observe 1 %1\n"
                             "  observe 0 %0\n"
                             "  %2:i64 = const 0\n"
                             "  %3:i64 = const 0\n"
                             "  %4:i64, %5:i64, %6:i64 = loop %2, %2, %3 {\n"
                             "    %7:i64 = arg 0\n"
                             "    %8:i64 = arg 1\n"
                             "    %9:i64 = arg 2\n"
                             "    %10:bool = lt %7, %0\n"
                             "    yield %10, %8, %7, %9\n"
                             "  } round {\n"
                             "    %11:i64 = const 1\n"
                             "    %12:i64 = add %7, %11\n"
                             "    %13:i64 = add %8, %1\n"
                             "    %14:i64 = const 1\n"
                             "    %15:i64 = add %9, %14\n"
                             "    observe 4294967295 %9\n"
                             "    yield %12, %13, %15\n"
                             "  }\n"
                             "  observe 2 %6\n"
                             "  %16:i64 = mul %4, %5\n"
                             "  yield %16\n"
                             "}\n\n"
                             "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                             "  %0:i64 = arg 0\n"
                             "  %1:i64 = arg 1\n"
                             "  observe 4 %1\n"
                             "  observe 3 %0\n"
                             "  %2:bool = lt %0, %1\n"
                             "  observe 5 %2\n"
                             "  %3:i64 = if %2 {\n"
                             "    %4:i64 = call sum %0, %1\n"
                             "    yield %4\n"
                             "  } else {\n"
                             "    %5:i64 = call sum %1, %0\n"
                             "    yield %5\n"
                             "  }\n"
                             "  yield %3\n"
                             "}\n");
  });
  hiaR_comp_free(&e.comp);
}

static void expect_seen(const hia_observed *p, uint64_t n, uint64_t n_changes, int64_t last) {
  cr_expect_eq(p->n, n);
  cr_expect_eq(p->n_changes, n_changes);
  cr_expect_eq(p->last, hiaR_from_i64(last), "%lld", (long long)p->last);
}

Test(points, observed_runs_show_values) {
  observing o;
  observing_begin(&o, sums_text, 0);
  image_outcome r = observed_run(&o, (hia_word[]){3, 5});
  cr_assert_eq(r.status, HIA_OK);
  cr_assert_eq(r.results[0], 45);
  static const int64_t expected[] = {3, 5, 3, 3, 5, 1};
  cr_assert_eq(o.n, HIA_LEN(expected));
  for (uint32_t i = 0; i < o.n; i++) expect_seen(&o.seen[i], 1, 0, expected[i]);
  r = observed_run(&o, (hia_word[]){6, 0});
  cr_assert_eq(r.results[0], 0);
  expect_seen(&o.seen[0], 1, 0, 0);
  expect_seen(&o.seen[2], 1, 0, 0);
  expect_seen(&o.seen[5], 1, 0, 0);
  /* Without an observer the graph computes the same. */
  r = image_run(&o.p, IMAGE_INTERP, (hia_word[]){3, 5}, 2, NULL, NULL);
  cr_assert(r.status == HIA_OK && r.results[0] == 45);
  r = image_run(&o.p, IMAGE_EXPAND, (hia_word[]){3, 5}, 1, NULL, NULL);
  cr_assert(r.status == HIA_OK && r.results[0] == 45);
  observing_end(&o);
}

/* A run that has observed enough ends, at any of its points. */
Test(points, observed_runs_are_cut) {
  observing o;
  observing_begin(&o, sums_text, 0);
  hia_observer observer = {.points = o.seen, .n = o.n, .end_at = UINT64_MAX};
  hia_limits limits = {.observer = &observer};
  for (uint64_t left = 0; left < 15; left++) {
    observer.left = left;
    image_outcome r = image_run(&o.p, IMAGE_INTERP, (hia_word[]){3, 5}, 1, &limits, NULL);
    /* Six points, and each of five rounds looks at the clock. */
    cr_assert_eq(r.status, left < 9 ? HIA_AGAIN : HIA_OK, "%llu", (unsigned long long)left);
  }
  observing_end(&o);
}
