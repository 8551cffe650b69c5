/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions that have a form for usual sizes of their tensors, and random graphs with forms of all
 * kinds. test_prefer.c has numbers and loops. */
#include "tests/unit/helpers/preferred.h"

/* ---- sizes ---- */

/* Both graphs as images: the reference evaluator knows no tensors. */
typedef struct images {
  world w;
  image_program before, after;
} images;

static void begin_images(images *m, const char *text, const hia_preference *of, uint32_t n) {
  begin(&m->w, text, of, n);
  cr_assert(image_from_ir(&m->before, text), "%s\n%s", m->before.error, text);
  cr_assert(image_from_ir(&m->after, m->w.text), "%s\n%s", m->after.error, m->w.text);
}

static void end_images(images *m) {
  end(&m->w);
  image_discard(&m->before);
  image_discard(&m->after);
}

static void run_images(images *m, int64_t a, int64_t b) {
  const hia_word args[] = {hiaR_from_i64(a), hiaR_from_i64(b)};
  image_outcome before = image_run(&m->before, IMAGE_INTERP, args, 1, NULL, NULL);
  for (int k = 0; k < 3; k++) {
    image_outcome after =
        image_run(&m->after, k < 2 ? IMAGE_INTERP : IMAGE_EXPAND, args, 1 + (k & 1), NULL, NULL);
    after.usage.firings = before.usage.firings;
    cr_assert(image_agree(&m->before, &before, &after), "(%lld, %lld): %s, and before %s\n%s",
              (long long)a, (long long)b, hiaR_status_word(after.status),
              hiaR_status_word(before.status), m->w.text);
    if (after.status == HIA_OK) cr_assert_eq(after.live, 0); /* what fails leaves some */
  }
}

static void run_all_images(images *m, int64_t most) {
  for (int64_t a = 0; a <= most; a++)
    for (int64_t b = 0; b <= most; b++) run_images(m, a, b);
}

/* Points: 0, 1: the parameters of walk; 2: its branch; 3, 4: the parameters of main. It calls
 * itself with its tensor, and with another one of the same sizes. */
static const char walk[] = FILE_OF "fn walk (f32[?, ?], i64) -> (f32) raises diverges {\n"
                                   "  %0:f32[?, ?] = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 0\n"
                                   "  %3:bool = le %1, %2\n"
                                   "  %4:f32 = if %3 {\n"
                                   "    %5:f32 = sum all %0\n"
                                   "    yield %5\n"
                                   "  } else {\n"
                                   "    %6:i64 = const 1\n"
                                   "    %7:i64 = sub %1, %6\n"
                                   "    %8:f32 = call walk %0, %7\n"
                                   "    %9:f32[?, ?] = mul %0, %0\n"
                                   "    %10:f32 = call walk %9, %2\n"
                                   "    %11:f32 = add %8, %10\n"
                                   "    yield %11\n"
                                   "  }\n"
                                   "  yield %4\n"
                                   "}\n\n"
                                   "fn main (i64, i64) -> (f32) root (i64, i64) -> f32 raises "
                                   "diverges {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:f32 = const 0x1.8p+0\n"
                                   "  %3:f32[?, ?] = full %2, %0, %1\n"
                                   "  %4:f32 = call walk %3, %0\n"
                                   "  yield %4\n"
                                   "}\n";

/* All sizes are tested. The form knows them, and hands on the tensor that it knows. */
Test(prefer_sizes, sizes) {
  images m;
  begin_images(&m, walk, ALWAYS({.point = 0, .dims = SIZES(3, 2)}));
  cr_assert_str_eq(fn_text(&m.w, "fn walk "),
                   "fn walk (f32[?, ?], i64) -> (f32) raises diverges {\n"
                   "  %0:f32[?, ?] = arg 0\n"
                   "  %1:i64 = arg 1\n"
                   "  %2:i64 = dim 0 %0\n"
                   "  %3:i64 = const 3\n"
                   "  %4:bool = eq %2, %3\n"
                   "  %5:i64 = dim 1 %0\n"
                   "  %6:i64 = const 2\n"
                   "  %7:bool = eq %5, %6\n"
                   "  %8:bool = band %4, %7\n"
                   "  %9:f32 = if %8 {\n"
                   "    %10:f32 = call \"walk observed\" %0, %1 tail\n"
                   "    yield %10\n"
                   "  } else {\n"
                   "    %11:f32 = call \"walk general\" %0, %1 tail\n"
                   "    yield %11\n"
                   "  }\n"
                   "  yield %9\n"
                   "}\n");
  cr_assert_str_eq(fn_text(&m.w, "fn \"walk observed\" "),
                   "fn \"walk observed\" (f32[?, ?], i64) -> (f32) of walk {\n"
                   "  %0:f32[?, ?] = arg 0\n"
                   "  %1:i64 = arg 1\n"
                   "  %2:i64 = const 3\n"
                   "  %3:i64 = const 2\n"
                   "  %4:f32[?, ?] = expect 3 %0, %2, %3\n"
                   "  %5:i64 = const 0\n"
                   "  %6:bool = le %1, %5\n"
                   "  %7:f32 = if %6 {\n"
                   "    %8:f32 = sum all %4\n"
                   "    yield %8\n"
                   "  } else {\n"
                   "    %9:i64 = const 1\n"
                   "    %10:i64 = sub %1, %9\n"
                   "    %11:f32 = call \"walk observed\" %4, %10\n"
                   "    %12:f32[?, ?] = mul %4, %4\n"
                   "    %13:f32 = call walk %12, %5\n"
                   "    %14:f32 = add %11, %13\n"
                   "    yield %14\n"
                   "  }\n"
                   "  yield %7\n"
                   "}\n");
  run_all_images(&m, 4);
  end_images(&m);
}

/* Sizes and a number; both are known where both are handed on. */
Test(prefer_sizes, sizes_and_numbers) {
  images m;
  begin_images(&m, walk, ALWAYS({.point = 0, .dims = SIZES(2, 3)}, {.point = 1, .word = 1}));
  cr_assert_eq(count_of(fn_text(&m.w, "fn walk "), " = band "), 2);
  cr_assert_eq(count_of(fn_text(&m.w, "fn \"walk observed\" "), " = call walk "), 2);
  run_all_images(&m, 4);
  end_images(&m);
  begin_images(&m, walk, ALWAYS({.point = 1, .word = 0}, {.point = 3, .word = 2}));
  run_all_images(&m, 3);
  end_images(&m);
}

/* Sizes that are 0, and such that no tensor has. */
Test(prefer_sizes, sizes_of_all_kinds) {
  static const int64_t of[] = {0, 1, -1, INT32_MAX, INT64_MAX, INT64_MIN};
  for (size_t i = 0; i < HIA_LEN(of); i++)
    for (size_t k = 0; k < HIA_LEN(of); k++) {
      images m;
      begin_images(&m, walk, ALWAYS({.point = 0, .dims = SIZES(of[i], of[k])}));
      run_all_images(&m, 2);
      end_images(&m);
    }
}

/* Points: 0 to 2: the parameters of pair. Tensors of other ranks and elements, of which only some
 * are read; a failure where sizes do not fit. */
static const char pair[] = FILE_OF "fn pair (i64[?], bool[?, ?, ?], i64[?]) -> (i64[?], i64) "
                                   "raises {\n"
                                   "  %0:i64[?] = arg 0\n"
                                   "  %1:bool[?, ?, ?] = arg 1\n"
                                   "  %2:i64[?] = arg 2\n"
                                   "  %3:i64[?] = add %0, %2\n"
                                   "  %4:i64 = dim 1 %1\n"
                                   "  yield %3, %4\n"
                                   "}\n\n"
                                   "fn keep (i64[?]) -> (i64[?]) {\n"
                                   "  %0:i64[?] = arg 0\n"
                                   "  yield %0\n"
                                   "}\n\n"
                                   "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 raises {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:bool = lt %0, %1\n"
                                   "  %3:bool[?, ?, ?] = full %2, %0, %1, %0\n"
                                   "  %4:i64[?] = iota %0\n"
                                   "  %5:i64[?] = iota %1\n"
                                   "  %6:i64[?] = call keep %5\n"
                                   "  %7:i64[?], %8:i64 = call pair %4, %3, %6\n"
                                   "  %9:i64 = sum all %7\n"
                                   "  %10:i64 = add %8, %9\n"
                                   "  yield %10\n"
                                   "}\n";

Test(prefer_sizes, sizes_of_several_tensors) {
  images m;
  begin_images(&m, pair,
               ALWAYS({.point = 0, .dims = SIZES(3)}, {.point = 1, .dims = SIZES(3, 2, 3)},
                      {.point = 2, .dims = SIZES(2)}, {.point = 3, .dims = SIZES(2)}));
  cr_assert_eq(count_of(fn_text(&m.w, "fn pair "), " = band "), 4);
  expect_no_text(&m.w, "keep observed"); /* it reads nothing */
  run_all_images(&m, 4);
  end_images(&m);
  begin_images(&m, pair, ALWAYS({.point = 1, .dims = SIZES(2, 3, 2)}));
  run_all_images(&m, 4);
  end_images(&m);
}

/* ---- random graphs ---- */

/* Functions whose names end so fail: they are not to be called. */
static uint32_t fail_in(hia_graph *g, const char *suffix) {
  uint32_t n = 0;
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    size_t len = strlen(fn->name), end = strlen(suffix);
    if (len < end || strcmp(fn->name + len - end, suffix) != 0) continue;
    hiaG_clear_body(g, fn);
    hia_value_id code = hiaG_const(g, fn, 0, HIA_I32, 4711, fn->loc);
    hia_node_id fail =
        hiaG_add(g, fn, 0, HIA_OP_FAIL, &code, 1, fn->results, fn->n_results, 0, fn->loc);
    hia_value_id outs[8];
    for (uint32_t i = 0; i < fn->n_results; i++) outs[i] = hiaG_out(fn, fail, i);
    hiaG_yield(g, fn, 0, outs, fn->n_results);
    n++;
  }
  return n;
}

/* Counts of all graphs: forms for what is preferred; loops; forms that must not be called. */
typedef struct tally {
  uint32_t n_forms, n_loops, n_right, n_wrong;
} tally;

/* With these preferences the graph has the same outcome. `not_called`: ends the names of functions
 * that are not; or NULL. Returns how many of those there are. */
static uint32_t compare(const random_run *run, const hia_preference *of, uint32_t n,
                        const char *not_called, tally *t) {
  static const hia_pass_use uses[] = {HIA_USE_ALL, HIA_USE_NATIVE};
  uint32_t n_failing = 0;
  for (size_t k = 0; k < 1 + (not_called ? 0 : HIA_LEN(uses)); k++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      eval_outcome after;
      hia_graph *g = random_graph(&e.comp, &e.types, run->seed);
      uint32_t n_before = g->fns.len;
      const char *text = prefer(&e, g, of, n);
      if (k == 0) t->n_forms += (g->fns.len - n_before) / 2;
      if (not_called) n_failing = fail_in(g, not_called);
      if (k) hiaG_run_passes(g, &(hia_pass_options){.use = uses[k - 1], .verify = true});
      eval_graph(g, run->root, run->args, run->seed, &after);
      cr_assert(eval_agree(hiaG_fn(g, run->root), &run->before, &after), "seed %llu, way %zu\n%s",
                (unsigned long long)run->seed, k, text);
    });
    hiaR_comp_free(&e.comp);
  }
  return n_failing;
}

static hia_word other_than(random_source *r, hia_type type, hia_word word) {
  switch (type) {
  case HIA_BOOL: return !word;
  case HIA_I32: return hiaR_from_i32(hiaR_to_i32(word) == 1 ? 2 : 1);
  default: return word ? word - 1 : 1 + random_below(r, 4);
  }
}

/* A run of the graph shows what comes to its points. If this is preferred, the form for all else is
 * never called; if other numbers are, the form for these is not. Any mixture of right and wrong
 * preferences, of loops too, keeps the outcome. */
static void check_seed(uint64_t seed, tally *t) {
  enum { MOST = 400 };
  hia_preference right[MOST], wrong[MOST], mixed[MOST];
  uint32_t n_right = 0, n_wrong = 0, n_mixed = 0;
  random_run run;
  bool is_short = random_run_begin(&run, seed);
  const observing *o = &run.observed;
  if (is_short && o->n <= MOST) {
    random_source *r = &run.source;
    for (uint32_t i = 0; i < o->n; i++) {
      const hia_observed *p = &o->seen[i];
      const hia_point *point = &o->points[i];
      if (!is_exact(point->type) || point->kind == HIA_POINT_BRANCH) continue;
      bool is_loop = point->kind == HIA_POINT_ROUNDS;
      hia_word other = other_than(r, point->type, p->n ? p->last : random_below(r, 4));
      if (p->n && !p->n_changes) {
        right[n_right++] = (hia_preference){.point = i, .word = p->last};
        wrong[n_wrong++] = (hia_preference){.point = i, .word = other};
      }
      if (is_loop || random_chance(r, 70))
        mixed[n_mixed++] =
            (hia_preference){.point = i, .word = random_chance(r, 60) ? p->last : other};
      t->n_loops += is_loop;
    }
    compare(&run, right, n_right, NULL, t);
    compare(&run, mixed, n_mixed, NULL, t);
    t->n_right += compare(&run, right, n_right, " general", t);
    t->n_wrong += compare(&run, wrong, n_wrong, " observed", t);
  }
  random_run_end(&run);
}

Test(prefer_sizes, random_graphs) {
  enum { N_GRAPHS = 1600 / HIA_TEST_SHARE };
  tally t = {0};
  for (uint64_t i = 0; i < N_GRAPHS; i++) check_seed(HIA_TEST_SEED * 7919 + i, &t);
  cr_assert(t.n_forms > N_GRAPHS && t.n_loops > N_GRAPHS / 4 && t.n_right > N_GRAPHS / 4 &&
                t.n_wrong > N_GRAPHS / 4,
            "%u forms, %u loops, %u forms for all else, %u for other numbers", t.n_forms, t.n_loops,
            t.n_right, t.n_wrong);
}
