/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs before and after something that runs were observed to do was made part of them, and runs
 * of both: shared by test_points.c, test_suppose.c and test_prefer.c. */
#ifndef HELPER_ASSUMED_GRAPHS_H
#define HELPER_ASSUMED_GRAPHS_H

#include "graph/assume/points.h"
#include "graph/flatten/flatten.h"
#include "graph/ir/change.h"
#include "runtime/run/observer.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/random.h"
#include <stdlib.h>

#define FILE_OF "graph functions \"p.hia\"\n\n"

/* ---- programs ---- */

/* Points: 0, 1: the parameters of sum; 2: its loop; 3, 4: the parameters of main; 5: its branch. */
static const char sums_text[] = FILE_OF "fn sum (i64, i64) -> (i64) {\n"
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

/* Points: 0, 1: the parameters of less; 2, 3: those of main. */
static const char less_text[] = FILE_OF "fn less (i64, i64) -> (bool) {\n"
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
                                        "}\n";

/* Points: 0, 1: parameters; 2: the loop. It has max(b - a, 0) rounds and three results of two
 * types, reads a value of the outside, and fails if that is 0. */
static const char rounds_text[] = FILE_OF "fn main (i64, i64) -> (i64, i64, bool) root "
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

/* Points: 0, 1: parameters; 2: the loop, which has max(b, 0) rounds. Each round swaps variables,
 * of which one is two results. */
static const char swaps_text[] =
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
            "}\n";

/* Points: 2: the outer loop, which has max(a, 0) rounds; 3: the inner one, which has as many as
 * its outer round says, max(b, 0) or one less; 4: the branch in it. */
static const char nested_text[] = FILE_OF "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
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

/* ---- before and after ---- */

static inline void expect_sound(env *e, hia_graph *g) {
  const char *defect = hiaG_verify(g);
  if (defect) cr_assert_fail("%s\n%s", defect, text_of(e, g));
}

/* Returns the text of a graph that was changed. The test fails if the graph is not sound, or if
 * compacting its functions changes what it prints. */
static inline const char *changed_text(env *e, hia_graph *g) {
  expect_sound(e, g);
  const char *text = text_of(e, g);
  HIA_EACH_FN(g, f) hiaG_compact(g, hiaG_fn(g, f));
  cr_assert_str_eq(text_of(e, g), text);
  return text;
}

static inline hia_fn_id root_of(const hia_graph *g) {
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->is_root) return f;
  cr_assert_fail("no root");
  return HIA_NONE;
}

/* A graph as it was read, and a second one of the same text, which the test changes. */
typedef struct world {
  env e;
  hia_graph *before, *after;
  hia_fn_id root;
  const char *text; /* of the latter, once it is changed */
} world;

/* Reads the text twice; `w->text` is left to the test. */
static inline void read_twice(world *w, const char *text) {
  env_init(&w->e);
  NO_THROW(&w->e, {
    w->before = read_text(&w->e, text);
    w->after = read_text(&w->e, text);
    w->root = root_of(w->before);
  });
}

static inline void end(world *w) { hiaR_comp_free(&w->e.comp); }

/* Runs both graphs, which must end alike. The root has two parameters, i64. */
static inline void run_as_before(world *w, int64_t a, int64_t b) {
  eval_outcome before, after;
  const hia_word args[] = {hiaR_from_i64(a), hiaR_from_i64(b)};
  eval_graph(w->before, w->root, args, 1, &before);
  eval_graph(w->after, w->root, args, 1, &after);
  cr_assert(before.status != HIA_DEADLINE && after.status != HIA_DEADLINE);
  cr_expect(eval_agree(hiaG_fn(w->before, w->root), &before, &after), "(%lld, %lld)\n%s",
            (long long)a, (long long)b, w->text);
}

static inline uint32_t count_of(const char *text, const char *what) {
  uint32_t n = 0;
  for (; (text = strstr(text, what)); text++) n++;
  return n;
}

/* ---- observed runs ---- */

/* A graph that observes, as an image. It has the points of the graph before. */
typedef struct observing {
  image_program p;
  hia_point *points;
  uint32_t n;
  hia_observed *seen; /* of the last run */
} observing;

static inline hia_sight sight_of(hia_type type) {
  switch (type) {
  case HIA_BOOL: return HIA_SIGHT_BOOL;
  case HIA_I32: return HIA_SIGHT_I32;
  case HIA_I64: return HIA_SIGHT_I64;
  case HIA_F32: return HIA_SIGHT_F32;
  case HIA_F64: return HIA_SIGHT_F64;
  default: return HIA_SIGHT_NOTHING;
  }
}

/* Makes an image of this text that observes all points; NULL: of the random graph of the seed. */
static inline void observing_begin(observing *o, const char *text, uint64_t seed) {
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

static inline void observing_end(observing *o) {
  free(o->seen);
  image_discard(&o->p);
}

/* Runs the image, and notes in `seen` what comes to its points. */
static inline image_outcome observed_run(observing *o, const hia_word *args) {
  for (uint32_t i = 0; i < o->n; i++)
    o->seen[i] = (hia_observed){.sight = sight_of(o->points[i].type)};
  hia_observer observer = {.points = o->seen, .n = o->n, .left = UINT64_MAX, .end_at = UINT64_MAX};
  hia_limits limits = {.observer = &observer};
  return image_run(&o->p, IMAGE_INTERP, args, 1, &limits, NULL);
}

/* ---- random graphs ---- */

/* The types whose values at points can be assumed. */
static inline bool is_exact(hia_type type) {
  return type == HIA_BOOL || type == HIA_I32 || type == HIA_I64;
}

/* A random graph whose first root the evaluator runs, and that an observed run shows. */
typedef struct random_run {
  uint64_t seed;
  random_source source; /* gives the arguments, and then what the test chooses */
  hia_fn_id root;
  hia_word args[32];
  eval_outcome before; /* of the evaluator */
  observing observed;
} random_run;

/* Runs the random graph of the seed in both ways, which must end alike. Returns false if nothing
 * can be compared, since the run takes too long or has too many results. */
static inline bool random_run_begin(random_run *run, uint64_t seed) {
  env e;
  bool is_short = false;
  memset(run, 0, sizeof *run);
  run->seed = seed;
  run->source = (random_source){seed};
  observing_begin(&run->observed, NULL, seed);
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = random_graph(&e.comp, &e.types, seed);
    run->root = root_of(g);
    const hia_fn *fn = hiaG_fn(g, run->root);
    run->args[0] = random_below(&run->source, 7);
    for (uint32_t i = 1; i < fn->n_params; i++)
      run->args[i] = random_word(&run->source, fn->params[i]);
    eval_graph(g, run->root, run->args, seed, &run->before);
    is_short = run->before.status != HIA_DEADLINE && fn->n_results <= IMAGE_MAX_RESULTS;
    if (is_short) {
      image_outcome seen = observed_run(&run->observed, run->args);
      cr_assert_eq(seen.status, run->before.status, "seed %llu", (unsigned long long)seed);
      if (seen.status == HIA_OK)
        cr_assert_eq(memcmp(seen.results, run->before.results, fn->n_results * sizeof(hia_word)), 0,
                     "seed %llu", (unsigned long long)seed);
    }
  });
  hiaR_comp_free(&e.comp);
  return is_short;
}

static inline void random_run_end(random_run *run) { observing_end(&run->observed); }

#endif
