/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/assume/points.c and suppose.c: which points a graph has, what an observed run shows of
 * them, what facts make of a graph, and that it computes the same unless a fact is wrong. */
#include "graph/assume/points.h"
#include "graph/flatten/flatten.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "runtime/run/observer.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/random.h"
#include <stdio.h>
#include <stdlib.h>

#define FILE_OF "graph functions \"p.hia\"\n\n"

static void expect_sound(env *e, hia_graph *g) {
  const char *defect = hiaG_verify(g);
  if (defect) cr_assert_fail("%s\n%s", defect, text_of(e, g));
}

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

/* The same program has the same points each time. */
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

static const char sums[] = FILE_OF "fn sum (i64, i64) -> (i64) {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 0\n"
                                   "  %3:i64, %4:i64 = loop %2, %2 {\n"
                                   "    %5:i64 = arg 0\n"
                                   "    %6:i64 = arg 1\n"
                                   "    %7:bool = lt %5, %0\n"
                                   "    yield %7, %6, %5\n"
                                   "  } round {\n"
                                   "    %8:i64 = const 1\n"
                                   "    %9:i64 = add %5, %8\n"
                                   "    %10:i64 = add %6, %1\n"
                                   "    yield %9, %10\n"
                                   "  }\n"
                                   "  %11:i64 = mul %3, %4\n"
                                   "  yield %11\n"
                                   "}\n\n"
                                   "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:bool = lt %0, %1\n"
                                   "  %3:i64 = if %2 {\n"
                                   "    %4:i64 = call sum %0, %1\n"
                                   "    yield %4\n"
                                   "  } else {\n"
                                   "    %5:i64 = call sum %1, %0\n"
                                   "    yield %5\n"
                                   "  }\n"
                                   "  yield %3\n"
                                   "}\n";

/* The loop counts its rounds in a variable of its own. */
Test(points, observe_each_point) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, sums);
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

/* A graph that observes, as an image. Its points are those of the graph before. */
typedef struct observing {
  image_program p;
  hia_point *points;
  uint32_t n;
  hia_observed *seen; /* of the last run */
} observing;

static hia_sight sight_of(hia_type type) {
  switch (type) {
  case HIA_BOOL: return HIA_SIGHT_BOOL;
  case HIA_I32: return HIA_SIGHT_I32;
  case HIA_I64: return HIA_SIGHT_I64;
  case HIA_F32: return HIA_SIGHT_F32;
  case HIA_F64: return HIA_SIGHT_F64;
  default: return HIA_SIGHT_NOTHING;
  }
}

/* `text`: NULL: the random graph of the seed. */
static void observing_begin(observing *o, const char *text, uint64_t seed) {
  memset(o, 0, sizeof *o);
  image_program *p = &o->p;
  hiaR_comp_init(&p->comp, &hiaR_malloc);
  hiaG_types_init(&p->types, &p->comp);
  hia_read_error error;
  p->graph = text ? hiaG_read(&p->comp, &p->types, text, strlen(text), &error)
                  : random_graph(&p->comp, &p->types, seed);
  cr_assert(p->graph, "seed %llu", (unsigned long long)seed);
  o->n = hiaG_points(p->graph, &o->points);
  hiaG_observe(p->graph, o->points, o->n);
  const char *defect = hiaG_verify(p->graph);
  cr_assert(!defect, "seed %llu: %s", (unsigned long long)seed, defect);
  hiaG_run_passes(p->graph, &(hia_pass_options){.disabled = text ? NULL : "all", .verify = true});
  hiaG_flatten(p->graph, &p->bytes, &p->size);
  cr_assert_eq(hiaR_image_load(p->bytes, p->size, hiaR_any_kernel, &hiaR_malloc, &p->image,
                               p->error, sizeof p->error),
               HIA_OK, "seed %llu: %s", (unsigned long long)seed, p->error);
  o->seen = calloc(o->n + 1u, sizeof *o->seen);
}

static void observing_end(observing *o) {
  free(o->seen);
  image_discard(&o->p);
}

static image_outcome observed_run(observing *o, const hia_word *args) {
  for (uint32_t i = 0; i < o->n; i++)
    o->seen[i] = (hia_observed){.sight = sight_of(o->points[i].type)};
  hia_observer observer = {.points = o->seen, .n = o->n, .left = UINT64_MAX, .end_at = UINT64_MAX};
  hia_limits limits = {.observer = &observer};
  return image_run(&o->p, IMAGE_INTERP, args, 1, &limits, NULL);
}

static void expect_seen(const hia_observed *p, uint64_t n, uint64_t n_changes, int64_t last) {
  cr_expect_eq(p->n, n);
  cr_expect_eq(p->n_changes, n_changes);
  cr_expect_eq(p->last, hiaR_from_i64(last), "%lld", (long long)p->last);
}

Test(points, observed_runs_show_values) {
  observing o;
  observing_begin(&o, sums, 0);
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
  observing_begin(&o, sums, 0);
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

/* ---- facts ---- */

/* A graph before facts are assumed, and after. */
typedef struct world {
  env e;
  hia_graph *before, *after;
  hia_fn_id root;
  const char *text; /* of the latter */
} world;

/* The reference evaluator knows no guards: they become failures with numbers that show the fact. */
enum { GUARDED = 1000 };
static void fail_at_guards(hia_graph *g) {
  hia_type i64 = HIA_I64;
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n) {
      const hia_node guard = fn->nodes.data[n];
      if (guard.op != HIA_OP_GUARD) continue;
      hia_node_id code =
          hiaG_insert(g, fn, n, HIA_OP_CONST, NULL, 0, &i64, 1, GUARDED + guard.imm, guard.loc);
      hia_value_id v = hiaG_out(fn, code, 0);
      hiaG_set_ins(g, fn, n, &v, 1);
      fn->nodes.data[n].op = HIA_OP_FAIL;
      fn->nodes.data[n].imm = 0;
    }
  }
}

/* Assumes facts of a graph, and verifies what becomes of it. `used`: for each of them, as text,
 * whether it is of use; NULL: that is not known. */
static void suppose(world *w, const hia_fact *facts, uint32_t n, bool all, const char *used) {
  hia_point *points;
  uint32_t n_points = hiaG_points(w->after, &points), n_used = 0;
  bool is_used[64];
  char is[65] = "";
  for (uint32_t i = 0; i < n; i++) cr_assert_lt(facts[i].point, n_points);
  uint32_t n_said = hiaG_suppose(w->after, points, facts, n, all, is_used);
  for (uint32_t i = 0; i < n; i++) {
    n_used += is_used[i];
    is[i] = is_used[i] ? '1' : '0';
  }
  cr_assert_eq(n_said, n_used);
  if (used) cr_assert_str_eq(is, used);
  expect_sound(&w->e, w->after);
  w->text = text_of(&w->e, w->after);
  HIA_EACH_FN(w->after, f) hiaG_compact(w->after, hiaG_fn(w->after, f));
  cr_assert_str_eq(text_of(&w->e, w->after), w->text);
  fail_at_guards(w->after);
  expect_sound(&w->e, w->after);
}

static hia_fn_id root_of(const hia_graph *g) {
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->is_root) return f;
  cr_assert_fail("no root");
  return HIA_NONE;
}

static void begin(world *w, const char *text, const hia_fact *facts, uint32_t n, bool all,
                  const char *used) {
  env_init(&w->e);
  NO_THROW(&w->e, {
    w->before = read_text(&w->e, text);
    w->after = read_text(&w->e, text);
    w->root = root_of(w->before);
    suppose(w, facts, n, all, used);
  });
}
#define FACTS(...)                                                                                 \
  (const hia_fact[]){__VA_ARGS__}, (uint32_t)HIA_LEN(((const hia_fact[]){__VA_ARGS__}))

static void end(world *w) { hiaR_comp_free(&w->e.comp); }

/* The root has two parameters, i64. */
static void run_as_before(world *w, int64_t a, int64_t b) {
  eval_outcome before, after;
  const hia_word args[] = {hiaR_from_i64(a), hiaR_from_i64(b)};
  eval_graph(w->before, w->root, args, 1, &before);
  eval_graph(w->after, w->root, args, 1, &after);
  cr_assert_neq(before.status, HIA_DEADLINE);
  cr_expect(eval_agree(hiaG_fn(w->before, w->root), &before, &after), "(%lld, %lld)\n%s",
            (long long)a, (long long)b, w->text);
}

/* The run would find that this fact is wrong. */
static void run_to_guard(world *w, uint32_t number, int64_t a, int64_t b) {
  eval_outcome after;
  const hia_word args[] = {hiaR_from_i64(a), hiaR_from_i64(b)};
  eval_graph(w->after, w->root, args, 1, &after);
  cr_expect(after.status == HIA_FAILED && after.code == GUARDED + number,
            "(%lld, %lld): status %d, code %llu\n%s", (long long)a, (long long)b, (int)after.status,
            (unsigned long long)after.code, w->text);
}

/* ---- branches ---- */

/* Points: 0: parameter of dear; 1, 2: parameters of main; 3: its outer branch; 4: the branch in the
 * arm where that is true, 5: the loop there; 6: the branch in the other arm. */
static const char branches[] = FILE_OF "fn dear (i64) -> (i64) {\n"
                                       "  %0:i64 = arg 0\n"
                                       "  %1:i64 = mul %0, %0\n"
                                       "  yield %1\n"
                                       "}\n\n"
                                       "fn main (i64, i64) -> (i64, i64) root "
                                       "(i64, i64) -> (i64, i64) raises diverges {\n"
                                       "  %0:i64 = arg 0\n"
                                       "  %1:i64 = arg 1\n"
                                       "  %2:bool = lt %0, %1\n"
                                       "  %3:i64, %4:i64 = if %2 {\n"
                                       "    %5:bool = eq %0, %0\n"
                                       "    %6:i64 = if %5 {\n"
                                       "      %7:i64 = call dear %0\n"
                                       "      yield %7\n"
                                       "    } else {\n"
                                       "      %8:i64 = call dear %1\n"
                                       "      yield %8\n"
                                       "    }\n"
                                       "    %9:i64 = loop %0 {\n"
                                       "      %10:i64 = arg 0\n"
                                       "      %11:bool = lt %10, %1\n"
                                       "      yield %11, %10\n"
                                       "    } round {\n"
                                       "      %12:i64 = const 1\n"
                                       "      %13:i64 = add %10, %12\n"
                                       "      yield %13\n"
                                       "    }\n"
                                       "    yield %6, %9\n"
                                       "  } else {\n"
                                       "    %14:i64 = div %0, %1\n"
                                       "    %15:bool = eq %14, %1\n"
                                       "    %16:i64 = if %15 {\n"
                                       "      %17:i64 = call dear %14\n"
                                       "      yield %17\n"
                                       "    } else {\n"
                                       "      yield %1\n"
                                       "    }\n"
                                       "    %18:i64 = call dear %16\n"
                                       "    yield %16, %18\n"
                                       "  }\n"
                                       "  yield %3, %4\n"
                                       "}\n";

/* The guard comes first, and then what the arm does. */
Test(points, a_condition_that_is_true) {
  world w;
  begin(&w, branches, FACTS({3, 1}), false, "1");
  cr_assert(strstr(w.text, "  %2:bool = lt %0, %1\n"
                           "  if %2 {\n"
                           "    yield\n"
                           "  } else {\n"
                           "    guard 0\n"
                           "    yield\n"
                           "  }\n"
                           "  %3:bool = eq %0, %0\n"),
            "%s", w.text);
  cr_assert(strstr(w.text, "  yield %4, %7\n}\n"), "%s", w.text);
  cr_assert_not(strstr(w.text, " div "));
  run_as_before(&w, 2, 5);
  run_as_before(&w, -2, -1);
  run_to_guard(&w, 0, 5, 2);
  run_to_guard(&w, 0, 5, 0); /* before the division fails */
  end(&w);
}

Test(points, a_condition_that_is_false) {
  world w;
  begin(&w, branches, FACTS({3, 0}), false, "1");
  cr_assert(strstr(w.text, "  %2:bool = lt %0, %1\n"
                           "  if %2 {\n"
                           "    guard 0\n"
                           "    yield\n"
                           "  } else {\n"
                           "    yield\n"
                           "  }\n"
                           "  %3:i64 = div %0, %1\n"),
            "%s", w.text);
  cr_assert_not(strstr(w.text, "loop"));
  run_as_before(&w, 5, 2);
  run_as_before(&w, 4, 2);
  run_as_before(&w, 5, 0); /* a division by zero */
  run_to_guard(&w, 0, 2, 5);
  end(&w);
}

/* Facts of what is in an arm that is gone are of no use, whatever their kind; those of the other
 * arm are. Guards have the numbers of their facts, of which some are left out. */
Test(points, facts_inside_of_arms) {
  world w;
  begin(&w, branches, FACTS({3, 0}, {4, 1}, {5, 2}, {6, 0}), true, "1001");
  cr_assert(strstr(w.text, "guard 0\n") && strstr(w.text, "guard 3\n"));
  cr_assert(!strstr(w.text, "guard 1") && !strstr(w.text, "guard 2"));
  run_as_before(&w, 7, 2);
  run_to_guard(&w, 0, 2, 5);
  run_to_guard(&w, 3, 4, 2);
  end(&w);
  begin(&w, branches, FACTS({3, 1}, {4, 1}, {5, 2}, {6, 0}), true, "1110");
  cr_assert(strstr(w.text, "guard 1\n") && strstr(w.text, "guard 2\n"));
  cr_assert_not(strstr(w.text, "guard 3"));
  run_as_before(&w, 3, 5);
  run_to_guard(&w, 0, 5, 2);
  run_to_guard(&w, 2, 2, 5);
  run_to_guard(&w, 2, 4, 5);
  end(&w);
}

/* A field makes sense where a branch has found the constructor, so that branch stays. (The
 * evaluator ends the process where a field of another constructor is read.) */
Test(points, arms_that_read_fields) {
  static const char text[] = FILE_OF "type T = A(v: i64) | B(v: i64, w: i64)\n\n"
                                     "fn get (T) -> (i64) {\n"
                                     "  %0:T = arg 0\n"
                                     "  %1:i32 = ctor %0\n"
                                     "  %2:i32 = const 0\n"
                                     "  %3:bool = eq %1, %2\n"
                                     "  %4:i64 = if %3 {\n"
                                     "    %5:i64 = field A.0 %0\n"
                                     "    yield %5\n"
                                     "  } else {\n"
                                     "    %6:i64 = field B.0 %0\n"
                                     "    %7:i64 = field B.1 %0\n"
                                     "    %8:i64 = mul %6, %7\n"
                                     "    yield %8\n"
                                     "  }\n"
                                     "  yield %4\n"
                                     "}\n\n"
                                     "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:bool = lt %0, %1\n"
                                     "  %3:T = if %2 {\n"
                                     "    %4:T = data A %0\n"
                                     "    yield %4\n"
                                     "  } else {\n"
                                     "    %5:T = data B %0, %1\n"
                                     "    yield %5\n"
                                     "  }\n"
                                     "  %6:i64 = call get %3\n"
                                     "  yield %6\n"
                                     "}\n";
  for (int is_a = 0; is_a < 2; is_a++) {
    world w;
    begin(&w, text, FACTS({1, (hia_word)is_a}), true, "1");
    cr_assert(strstr(w.text, " = guard 0\n"), "%s", w.text);
    run_as_before(&w, is_a ? 2 : 5, 3);
    run_to_guard(&w, 0, is_a ? 5 : 2, 3);
    end(&w);
    eval_free();
  }
}

/* The fact of a branch is of use if the other arm takes time: it calls, loops, or makes something,
 * or has many operations. An arm that fails is as short as a guard. */
static bool is_of_use(const char *arm, const char *result, bool all) {
  char text[3000];
  world w;
  hia_fact fact = {2, 1};
  snprintf(text, sizeof text,
           FILE_OF "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                   "  %%0:i64 = arg 0\n"
                   "  %%1:i64 = arg 1\n"
                   "  %%2:bool = lt %%0, %%1\n"
                   "  %%3:i64 = if %%2 {\n"
                   "    yield %%0\n"
                   "  } else {\n"
                   "%s"
                   "    yield %s\n"
                   "  }\n"
                   "  yield %%3\n"
                   "}\n",
           arm, result);
  begin(&w, text, &fact, 1, all, NULL);
  bool is = strstr(w.text, "guard 0");
  if (!strstr(arm, " map ")) { /* which the evaluator does not know */
    run_as_before(&w, 2, 5);
    if (is)
      run_to_guard(&w, 0, 5, 2);
    else
      run_as_before(&w, 5, 2);
  }
  end(&w);
  return is;
}

Test(points, branches_of_no_use) {
  char many[800] = "";
  for (int i = 0; i < 10; i++)
    snprintf(many + strlen(many), sizeof many - strlen(many), "    %%%d:i64 = add %%0, %%1\n",
             4 + i);
  const struct {
    const char *arm, *result;
    bool is_of_use;
  } arms[] = {
      {"", "%1", false},
      {"    %4:i64 = mul %1, %1\n", "%4", false},
      {many, "%5", true},
      {"    %4:i64 = fail %0\n", "%4", false},
      {"    %4:[i64] = array %0, %1\n    %5:i64 = len %4\n", "%5", true},
      {"    %4:[i64] = map %0 {\n      %5:i64 = arg 0\n      yield %5\n    }\n"
       "    %6:i64 = len %4\n",
       "%6", true},
      {"    %4:i64 = loop %0 {\n      %5:i64 = arg 0\n      %6:bool = lt %5, %0\n"
       "      yield %6, %5\n    } round {\n      yield %5\n    }\n",
       "%4", true},
  };
  for (size_t i = 0; i < HIA_LEN(arms); i++) {
    cr_expect_eq(is_of_use(arms[i].arm, arms[i].result, false), arms[i].is_of_use, "%s",
                 arms[i].arm);
    cr_expect(is_of_use(arms[i].arm, arms[i].result, true), "%s", arms[i].arm);
  }
}

/* ---- parameters ---- */

static const char power[] = FILE_OF "fn power (i64, i64) -> (i64) {\n"
                                    "  %0:i64 = arg 0\n"
                                    "  %1:i64 = arg 1\n"
                                    "  %2:i64 = const 1\n"
                                    "  %3:i64 = loop %2, %1 {\n"
                                    "    %4:i64 = arg 0\n"
                                    "    %5:i64 = arg 1\n"
                                    "    %6:bool = le %2, %5\n"
                                    "    yield %6, %4\n"
                                    "  } round {\n"
                                    "    %7:i64 = mul %4, %0\n"
                                    "    %8:i64 = sub %5, %2\n"
                                    "    yield %7, %8\n"
                                    "  }\n"
                                    "  %9:bool = lt %1, %2\n"
                                    "  %10:i64 = select %9, %2, %3\n"
                                    "  yield %10\n"
                                    "}\n\n"
                                    "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                    "  %0:i64 = arg 0\n"
                                    "  %1:i64 = arg 1\n"
                                    "  %2:i64 = call power %0, %1\n"
                                    "  yield %2\n"
                                    "}\n";

/* The function tests at its begin that the parameter has the value, which is a constant then. */
Test(points, a_parameter_that_is_known) {
  world w;
  begin(&w,
        FILE_OF "fn less (i64, i64) -> (bool) {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = lt %0, %1\n"
                "  yield %2\n"
                "}\n\n"
                "fn main (i64, i64) -> (bool) root (i64, i64) -> bool {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = call less %0, %1\n"
                "  yield %2\n"
                "}\n",
        FACTS({1, 3}), false, "1");
  cr_assert_str_eq(w.text, FILE_OF "fn less (i64, i64) -> (bool) {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 3\n"
                                   "  %3:bool = eq %1, %2\n"
                                   "  if %3 {\n"
                                   "    yield\n"
                                   "  } else {\n"
                                   "    guard 0\n"
                                   "    yield\n"
                                   "  }\n"
                                   "  %4:bool = lt %0, %2\n"
                                   "  yield %4\n"
                                   "}\n\n"
                                   "fn main (i64, i64) -> (bool) root (i64, i64) -> bool {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:bool = call less %0, %1\n"
                                   "  yield %2\n"
                                   "}\n");
  run_as_before(&w, 2, 3);
  run_as_before(&w, 4, 3);
  run_to_guard(&w, 0, 4, 4);
  end(&w);
}

/* Both parameters, a negative one too: the guards are where the function begins. */
Test(points, parameters_that_are_known) {
  world w;
  begin(&w, power, FACTS({0, hiaR_from_i64(-2)}, {1, 3}), true, "11");
  run_as_before(&w, -2, 3);
  run_to_guard(&w, 0, 2, 3);
  run_to_guard(&w, 1, -2, 4);
  end(&w);
  /* An operand of a product alone decides nothing; one that is compared does. */
  begin(&w, power, FACTS({0, hiaR_from_i64(-2)}, {1, 3}), false, "01");
  run_as_before(&w, 5, 3);
  run_to_guard(&w, 1, 5, 2);
  end(&w);
}

/* The parameters of a root are those of hosts: what is assumed of them is tested before a run. */
Test(points, parameters_of_a_root) {
  world w;
  begin(&w, sums, FACTS({3, 2}, {4, 7}), true, "00");
  run_as_before(&w, 3, 5);
  end(&w);
}

/* The types of parameters whose values can be facts. */
Test(points, parameters_of_other_types) {
  world w;
  begin(&w,
        FILE_OF "fn choose (bool, i32, i64) -> (i64) {\n"
                "  %0:bool = arg 0\n"
                "  %1:i32 = arg 1\n"
                "  %2:i64 = arg 2\n"
                "  %3:i64 = if %0 {\n"
                "    %4:i64 = const 0\n"
                "    yield %4\n"
                "  } else {\n"
                "    %5:i32 = const 10\n"
                "    %6:i32 = div %5, %1\n"
                "    %7:i64 = cast %6\n"
                "    yield %7\n"
                "  }\n"
                "  yield %3\n"
                "}\n\n"
                "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = lt %0, %1\n"
                "  %3:i32 = cast %0\n"
                "  %4:i64 = call choose %2, %3, %1\n"
                "  yield %4\n"
                "}\n",
        FACTS({0, 0}, {1, hiaR_from_i32(-4)}, {2, 3}), false, "110");
  cr_assert(strstr(w.text, ":bool = const false\n") && strstr(w.text, ":i32 = const -4\n"), "%s",
            w.text);
  run_as_before(&w, -4, -4);
  run_as_before(&w, -4, -9);
  run_to_guard(&w, 1, -3, -9);
  run_to_guard(&w, 0, -4, 9);
  end(&w);
}

/* ---- loops ---- */

/* Points: 0, 1: parameters; 2: the loop. It has max(b - a, 0) rounds and three results, reads a
 * value of the outside, and fails if that is 0. */
static const char rounds[] = FILE_OF "fn main (i64, i64) -> (i64, i64, bool) root "
                                     "(i64, i64) -> (i64, i64, bool) raises diverges {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = const 1\n"
                                     "  %3:i64, %4:i64, %5:bool = loop %0, %2 {\n"
                                     "    %6:i64 = arg 0\n"
                                     "    %7:i64 = arg 1\n"
                                     "    %8:bool = lt %6, %1\n"
                                     "    %9:i64 = mul %7, %6\n"
                                     "    yield %8, %9, %1, %8\n"
                                     "  } round {\n"
                                     "    %10:i64 = add %6, %2\n"
                                     "    %11:i64 = div %9, %1\n"
                                     "    %12:i64 = add %11, %7\n"
                                     "    yield %10, %12\n"
                                     "  }\n"
                                     "  yield %3, %4, %5\n"
                                     "}\n";

Test(points, a_loop_without_rounds) {
  world w;
  begin(&w, rounds, FACTS({2, 0}), false, "1");
  cr_assert_str_eq(w.text, FILE_OF "fn main (i64, i64) -> (i64, i64, bool) root "
                                   "(i64, i64) -> (i64, i64, bool) raises diverges {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 1\n"
                                   "  %3:bool = lt %0, %1\n"
                                   "  %4:i64 = mul %2, %0\n"
                                   "  %5:i64, %6:i64, %7:bool = if %3 {\n"
                                   "    %8:i64, %9:i64, %10:bool = guard 0\n"
                                   "    yield %8, %9, %10\n"
                                   "  } else {\n"
                                   "    yield %4, %1, %3\n"
                                   "  }\n"
                                   "  yield %5, %6, %7\n"
                                   "}\n");
  run_as_before(&w, 7, 3);
  run_as_before(&w, 7, 7);
  run_to_guard(&w, 0, 6, 7);
  run_to_guard(&w, 0, 1, 7);
  end(&w);
}

Test(points, a_loop_of_one_round) {
  world w;
  begin(&w, rounds, FACTS({2, 1}), false, "1");
  cr_assert_str_eq(w.text, FILE_OF "fn main (i64, i64) -> (i64, i64, bool) root "
                                   "(i64, i64) -> (i64, i64, bool) raises diverges {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 1\n"
                                   "  %3:bool = lt %0, %1\n"
                                   "  %4:i64 = mul %2, %0\n"
                                   "  %5:i64, %6:i64, %7:bool = if %3 {\n"
                                   "    %8:i64 = add %0, %2\n"
                                   "    %9:i64 = div %4, %1\n"
                                   "    %10:i64 = add %9, %2\n"
                                   "    %11:bool = lt %8, %1\n"
                                   "    %12:i64 = mul %10, %8\n"
                                   "    %13:i64, %14:i64, %15:bool = if %11 {\n"
                                   "      %16:i64, %17:i64, %18:bool = guard 0\n"
                                   "      yield %16, %17, %18\n"
                                   "    } else {\n"
                                   "      yield %12, %1, %11\n"
                                   "    }\n"
                                   "    yield %13, %14, %15\n"
                                   "  } else {\n"
                                   "    %19:i64, %20:i64, %21:bool = guard 0\n"
                                   "    yield %19, %20, %21\n"
                                   "  }\n"
                                   "  yield %5, %6, %7\n"
                                   "}\n");
  run_as_before(&w, 6, 7);
  run_as_before(&w, -1, 0); /* a division by zero */
  run_to_guard(&w, 0, 7, 7);
  run_to_guard(&w, 0, 5, 7);
  end(&w);
}

static uint32_t count_of(const char *text, const char *what) {
  uint32_t n = 0;
  for (; (text = strstr(text, what)); text++) n++;
  return n;
}

Test(points, a_loop_of_several_rounds) {
  for (int64_t n = 2; n <= 16; n++) {
    world w;
    begin(&w, rounds, FACTS({2, hiaR_from_i64(n)}), false, "1");
    cr_assert_eq(count_of(w.text, " = if "), n + 1);
    cr_assert_eq(count_of(w.text, "guard 0\n"), n + 1);
    cr_assert_not(strstr(w.text, "loop"));
    run_as_before(&w, 3, 3 + n);
    run_as_before(&w, -n, 0); /* a division by zero, in the first round */
    for (int64_t other = 0; other < 20; other++)
      if (other != n) run_to_guard(&w, 0, 3, 3 + other);
    end(&w);
  }
}

/* Code would grow with the number. */
Test(points, loops_of_many_rounds) {
  static const hia_word many[] = {17, 1000, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};
  for (size_t i = 0; i < HIA_LEN(many); i++) {
    world w;
    begin(&w, rounds, FACTS({2, many[i]}), true, "0");
    cr_assert(strstr(w.text, "loop") && !strstr(w.text, "guard"));
    run_as_before(&w, 1, 19);
    end(&w);
  }
}

/* What a loop computes is used as often, in its results and variables too. */
Test(points, a_loop_that_swaps) {
  world w;
  begin(&w,
        FILE_OF "fn main (i64, i64) -> (i64, i64, i64) root (i64, i64) -> (i64, i64, i64) {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:i64 = const 0\n"
                "  %3:i64 = const 1\n"
                "  %4:i64, %5:i64, %6:i64 = loop %0, %1, %2 {\n"
                "    %7:i64 = arg 0\n"
                "    %8:i64 = arg 1\n"
                "    %9:i64 = arg 2\n"
                "    %10:bool = lt %9, %1\n"
                "    yield %10, %8, %8, %7\n"
                "  } round {\n"
                "    %11:i64 = add %9, %3\n"
                "    yield %8, %7, %11\n"
                "  }\n"
                "  %12:i64 = sub %4, %6\n"
                "  yield %12, %5, %6\n"
                "}\n",
        FACTS({2, 3}), false, "1");
  run_as_before(&w, 10, 3);
  run_to_guard(&w, 0, 10, 4);
  end(&w);
}

/* Points: 2: the outer loop, which has max(a, 0) rounds; 3: the inner one, which has as many as
 * its outer round says, max(b, 0) or one less; 4: the branch in it. */
static const char nested[] = FILE_OF "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = const 0\n"
                                     "  %3:i64 = const 1\n"
                                     "  %4:i64 = loop %2, %2 {\n"
                                     "    %5:i64 = arg 0\n"
                                     "    %6:i64 = arg 1\n"
                                     "    %7:bool = lt %5, %0\n"
                                     "    yield %7, %6\n"
                                     "  } round {\n"
                                     "    %8:i64, %9:i64 = loop %6, %2 {\n"
                                     "      %10:i64 = arg 0\n"
                                     "      %11:i64 = arg 1\n"
                                     "      %12:bool = lt %11, %1\n"
                                     "      yield %12, %10, %11\n"
                                     "    } round {\n"
                                     "      %13:bool = lt %5, %11\n"
                                     "      %14:i64 = if %13 {\n"
                                     "        yield %5\n"
                                     "      } else {\n"
                                     "        %15:i64 = mul %10, %11\n"
                                     "        yield %15\n"
                                     "      }\n"
                                     "      %16:i64 = add %14, %10\n"
                                     "      %17:i64 = add %11, %3\n"
                                     "      yield %16, %17\n"
                                     "    }\n"
                                     "    %18:i64 = add %8, %9\n"
                                     "    %19:i64 = add %5, %3\n"
                                     "    yield %19, %18\n"
                                     "  }\n"
                                     "  yield %4\n"
                                     "}\n";

/* The inner loop is unrolled in each round of the outer one. */
Test(points, a_loop_in_a_loop) {
  world w;
  begin(&w, nested, FACTS({3, 4}), false, "1");
  cr_assert_eq(count_of(w.text, " = loop "), 1);
  cr_assert_eq(count_of(w.text, "guard 0\n"), 5);
  for (int64_t a = 0; a < 7; a++) {
    run_as_before(&w, a, 4);
    if (a) run_to_guard(&w, 0, a, 3);
    if (a) run_to_guard(&w, 0, a, 5);
  }
  run_as_before(&w, 0, 5); /* it is never reached */
  end(&w);
}

/* The inner loops come first: each round of the outer one has theirs. */
Test(points, a_loop_in_a_loop_that_is_unrolled) {
  world w;
  begin(&w, nested, FACTS({2, 3}, {3, 4}), true, "11");
  cr_assert_not(strstr(w.text, " = loop "));
  cr_assert_eq(count_of(w.text, "guard 0\n"), 4);
  run_as_before(&w, 3, 4);
  run_to_guard(&w, 0, 2, 4);
  run_to_guard(&w, 0, 4, 4);
  run_to_guard(&w, 1, 3, 5);
  end(&w);
  /* If the outer one is too long, the inner one may still be unrolled. */
  begin(&w, nested, FACTS({2, 20}, {3, 2}), true, "01");
  run_as_before(&w, 20, 2);
  run_to_guard(&w, 1, 20, 3);
  end(&w);
}

/* In one function a parameter, a loop, and a branch behind it. */
Test(points, facts_of_all_kinds) {
  world w;
  begin(&w, sums, FACTS({0, 3}, {1, 5}, {2, 3}, {5, 1}), true, "1111");
  cr_assert_not(strstr(w.text, "loop"));
  run_as_before(&w, 3, 5);
  run_to_guard(&w, 1, 3, 6);
  run_to_guard(&w, 0, 4, 5);
  run_to_guard(&w, 3, 5, 3);
  end(&w);
  begin(&w, sums, FACTS({0, 4}, {2, 3}), true, "11"); /* that cannot both be so */
  run_to_guard(&w, 0, 3, 5);
  run_to_guard(&w, 1, 4, 5);
  end(&w);
}

/* ---- random graphs ---- */

static bool is_exact(hia_type type) {
  return type == HIA_BOOL || type == HIA_I32 || type == HIA_I64;
}

/* A fact of a point that a run has shown, or another one: then the run would come to its guard. */
static hia_fact fact_of(random_source *r, const hia_point *point, const hia_observed *p, uint32_t i,
                        bool is_right) {
  hia_word word = p->last;
  if (!p->n) word = random_below(r, 2);
  if (!is_right && point->type == HIA_BOOL) word = !word;
  if (!is_right && point->type == HIA_I32) word = hiaR_from_i32(hiaR_to_i32(word) / 2 + 1);
  if (!is_right && point->type == HIA_I64) word = word ? word - 1 : 1;
  return (hia_fact){i, word};
}

typedef struct tally {
  uint32_t n_runs, n_right, n_wrong;
} tally;

static void supposed_run(uint64_t seed, const hia_fact *facts, uint32_t n, const hia_word *args,
                         hia_fn_id f, const eval_outcome *before, bool is_right, tally *t) {
  world w;
  env_init(&w.e);
  NO_THROW(&w.e, {
    eval_outcome after;
    w.after = random_graph(&w.e.comp, &w.e.types, seed);
    w.root = f;
    suppose(&w, facts, n, true, NULL);
    bool is_used = strstr(w.text, "guard ");
    eval_graph(w.after, f, args, seed, &after);
    if (is_right || !is_used)
      cr_assert(eval_agree(hiaG_fn(w.after, f), before, &after), "seed %llu\n%s",
                (unsigned long long)seed, w.text);
    else
      cr_assert(after.status == HIA_FAILED && after.code == GUARDED,
                "seed %llu: status %d, code %lld\n%s", (unsigned long long)seed, (int)after.status,
                (long long)after.code, w.text);
    t->n_right += is_right && is_used;
    t->n_wrong += !is_right && is_used;
  });
  end(&w);
}

/* The passes keep the graph's meaning while its guards are not reached. */
static void optimised_run(uint64_t seed, const hia_fact *facts, uint32_t n, const hia_word *args,
                          hia_fn_id f, const eval_outcome *before) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    bool is_used[64];
    eval_outcome after;
    hia_point *points;
    hia_graph *g = random_graph(&e.comp, &e.types, seed);
    hiaG_points(g, &points);
    hiaG_suppose(g, points, facts, n, true, is_used);
    const char *text = text_of(&e, g);
    cr_assert_str_eq(text_of(&e, read_text(&e, text)), text);
    hiaG_run_passes(g, &(hia_pass_options){.use = HIA_USE_ALL, .verify = true});
    eval_graph(g, f, args, seed, &after);
    cr_assert(eval_agree(hiaG_fn(g, f), before, &after), "seed %llu\n%s", (unsigned long long)seed,
              text);
  });
  hiaR_comp_free(&e.comp);
}

/* A run of the observed graph has the same outcome. All facts that it has shown can be assumed, and
 * if one of them were another one, its guard would fail. */
static void check_seed(uint64_t seed, tally *t) {
  enum { MOST = 64 };
  env e;
  observing o;
  eval_outcome before;
  observing_begin(&o, NULL, seed);
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = random_graph(&e.comp, &e.types, seed);
    const hia_export *x = hiaR_image_export(o.p.image, 0);
    random_source r = {seed};
    hia_word args[32] = {random_below(&r, 7)};
    for (uint32_t i = 1; i < x->n_params; i++) args[i] = random_word(&r, x->params[i]);
    eval_graph(g, x->fn, args, seed, &before);
    if (before.status != HIA_DEADLINE && x->n_results <= IMAGE_MAX_RESULTS) {
      image_outcome run = observed_run(&o, args);
      cr_assert_eq(run.status, before.status, "seed %llu", (unsigned long long)seed);
      t->n_runs++;
      if (run.status == HIA_OK) {
        cr_assert_eq(memcmp(run.results, before.results, x->n_results * sizeof(hia_word)), 0,
                     "seed %llu", (unsigned long long)seed);
        hia_fact facts[MOST];
        uint32_t n = 0;
        for (uint32_t i = 0; i < o.n && n < MOST; i++)
          if (is_exact(o.points[i].type) && o.seen[i].n_changes == 0)
            facts[n++] = fact_of(&r, &o.points[i], &o.seen[i], i, true);
        supposed_run(seed, facts, n, args, x->fn, &before, true, t);
        optimised_run(seed, facts, n, args, x->fn, &before);
        for (int k = 0; k < 6 && n; k++) {
          uint32_t i = facts[random_below(&r, n)].point;
          if (!o.seen[i].n) continue;
          hia_fact wrong = fact_of(&r, &o.points[i], &o.seen[i], i, false);
          if (wrong.word != o.seen[i].last)
            supposed_run(seed, &wrong, 1, args, x->fn, &before, false, t);
        }
      }
    }
  });
  hiaR_comp_free(&e.comp);
  observing_end(&o);
}

Test(points, random_graphs) {
  enum { N_GRAPHS = 1600 / HIA_TEST_SHARE };
  tally t = {0};
  for (uint64_t seed = 0; seed < N_GRAPHS; seed++) check_seed(seed, &t);
  cr_assert(t.n_runs > N_GRAPHS / 2 && t.n_right > N_GRAPHS / 4 && t.n_wrong > N_GRAPHS / 4,
            "%u runs, %u with facts, %u with wrong ones", t.n_runs, t.n_right, t.n_wrong);
}
