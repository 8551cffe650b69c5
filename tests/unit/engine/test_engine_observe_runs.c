/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs that are observed or not: what calls functions of the host or computes gradients, options of
 * runs, runs inside runs, engines that wait until a version pays, the cache. test_engine_observe.c
 * tests what versions do that assume what was seen. */
#include "tests/unit/helpers/engine_host.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/observed_pairs.h"
#include "tests/unit/helpers/trace.h"
#include <hiaton/cache.h>

#include <stdatomic.h>
#include <unistd.h>

/* ---- what is not observed ---- */

static int32_t note_of(void *user, int32_t n) {
  atomic_fetch_add((atomic_uint *)user, 1);
  return n;
}

#define NOTING(impure)                                                                             \
  "extern " impure "fn note(n: i32) -> i32\n"                                                      \
  "fn slow(v: i64) -> i64 = loop (s = v) while s > 10 { s / 2 }\n"                                 \
  "fn at(v: i64) -> i64 = if v < 0 then slow(0 - v) / (v + 1) else v\n"                            \
  "fn main(xs: [(i64, i32)]) -> i64 = {\n"                                                         \
  "  let (s, _) = loop (s = 0i64, i = 0i64) while i < len(xs) {\n"                                 \
  "    (s + at(xs[i].0) + i64(note(xs[i].1)), i + 1) }; s }\n"

static program open_noting(hia_speculate mode, const char *text, const char *declaration,
                           atomic_uint *n_calls) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = mode;
  program p;
  cr_assert_eq(hia_engine_new(&options, &p.engine, NULL), HIA_OK);
  hia_host_function f = HOST(declaration, note_of);
  f.takes_user = true;
  f.user = n_calls;
  cr_assert_eq(hia_engine_register(p.engine, &f, NULL), HIA_OK);
  p.module = load_module(p.engine, "t.hia", text);
  p.function = find_function(p.module, "main");
  return p;
}

/* A run with effects is made once: such functions are not observed, and nothing is assumed inside.
 */
static void expect_once(const char *text) {
  atomic_uint n_calls = 0;
  program p =
      open_noting(HIA_SPECULATE_EAGER, text, "extern impure fn note(n: i32) -> i32", &n_calls);
  test_text out = {0};
  const char *const many = array_of("(3, 1)", 30, "(4, 1)");
  for (int i = 0; i < 5; i++) {
    expect(run_told(&p, WORDS(many), &out), 0, 0);
    expect(run_told(&p, WORDS("[(-5, 2), (-1, 3)]"), &out), 0, 0);
  }
  cr_assert_eq(atomic_load(&n_calls), 5 * (31 + 1));
  expect_not_told(&p, "observed");
  expect_not_told(&p, "is always");
  test_text_free(&out);
  close_program(&p);
}

Test(engine_observe_runs, impure_functions) {
  NEEDS_NATIVE;
  expect_once(NOTING("impure "));
  /* The effect is in a generic function that another one calls. */
  expect_once("extern impure fn note(n: i32) -> i32\n"
              "fn told(x, n) = if n == 77 then x else x + i64(note(n))\n"
              "fn at(v, n) = told(if v < 0 then v / (v + 1) else v, n)\n"
              "fn main(xs: [(i64, i32)]) -> i64 = {\n"
              "  let (s, _) = loop (s = 0i64, i = 0i64) while i < len(xs) {\n"
              "    (s + at(xs[i].0, xs[i].1), i + 1) }; s }\n");
}

/* Functions of hosts that are pure may be called again. */
Test(engine_observe_runs, pure_host_functions) {
  NEEDS_NATIVE;
  atomic_uint n_calls = 0;
  program p[2];
  for (int i = 0; i < 2; i++)
    p[i] = open_noting(i ? HIA_SPECULATE_OFF : HIA_SPECULATE_EAGER, NOTING(""),
                       "extern fn note(n: i32) -> i32", &n_calls);
  pair both = {p[0], p[1]};
  learn(&both, WORDS(array_of("(3, 1)", 30, "(4, 1)")));
  expect(run_pair(&both, WORDS("[(5, 2), (6, 3)]")), 1, 0);
  expect(run_pair(&both, WORDS("[(5, 2), (-6, 3), (2, 3)]")), 0, 1);
  expect(run_pair(&both, WORDS("[(5, 2), (-1, 3)]")), 0, 1); /* and divides by zero */
  close_pair(&both);
}

/* An arm that is not taken adds a zero to a gradient, whose sign would be lost. */
Test(engine_observe_runs, functions_with_gradients) {
  NEEDS_NATIVE;
  static const char text[] =
      "fn slow(v: f64) -> f64 = loop (s = v) while s > 10 { s / 2 }\n"
      "fn loss(x: f64, y: f64) -> f64 = if x < 0 then slow(x * y) else y * y\n"
      "fn main(xs: [(f64, i64)], y: f64) -> f64 = {\n"
      "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < len(xs) {\n"
      "    (s + grad(loss, wrt = y)(xs[i].0, y), i + 1) }; s }\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p = open_pair(&options, text, "main");
  for (int i = 0; i < 3; i++) {
    hia_run_stats stats = run_pair(&p, WORDS(array_of("(3, 1)", 30, "(4, 1)"), "2.5"));
    cr_assert_eq(stats.n_restarts, 0);
    stats = run_pair(&p, WORDS("[(-3, 1), (1, 1)]", "2.5"));
    cr_assert_eq(stats.n_restarts, 0);
  }
  expect_not_told(&p.eager, "observed");
  expect_not_told(&p.eager, "is always");
  close_pair(&p);
}

/* ---- with options ---- */

/* Runs the function, whose result, or status, goes to `out`. */
static hia_run_stats run_with(const program *p, hia_run_options options, const char *const *texts,
                              char *out, size_t size) {
  hia_value *args[4], *result = NULL;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  size_t n = 0;
  for (; texts[n]; n++) args[n] = parse(p, n, texts[n]);
  options.stats = &stats;
  hia_status status = hia_run(p->function, args, n, &options, &result, NULL);
  if (status == HIA_OK)
    hia_value_format(result, out, size);
  else
    snprintf(out, size, "%s", hia_status_word(status));
  hia_value_free(result);
  for (size_t i = 0; i < n; i++) hia_value_free(args[i]);
  return stats;
}

/* Runs with fuel use the general version, as ever. Limits hold for a run that begins again. */
Test(engine_observe_runs, fuel_and_limits) {
  NEEDS_NATIVE;
  pair p = open_inside_learnt("total", WORDS(terms("A(1)"), "5"));
  char out[64];
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = true;
  options.fuel = 100000;
  expect(run_with(&p.eager, options, WORDS("[A(2), C(3)]", "5"), out, sizeof out), 0, 0);
  cr_assert_str_eq(out, "449");
  options = (hia_run_options)HIA_RUN_OPTIONS_INIT;
  options.cancel = hia_cancel_new(NULL);
  options.timeout_ns = UINT64_C(3600000000000);
  options.max_depth = 1 << 20;
  options.max_memory = 1 << 20;
  expect(run_with(&p.eager, options, WORDS("[A(2), C(3)]", "5"), out, sizeof out), 0, 1);
  cr_assert_str_eq(out, "449");
  hia_cancel_request(options.cancel);
  run_with(&p.eager, options, WORDS("[A(2), C(3)]", "5"), out, sizeof out);
  hia_cancel_free(options.cancel);
  close_pair(&p);
}

/* An observed run that needs more of a resource than native code does begins again. */
Test(engine_observe_runs, limits_that_native_code_keeps) {
  NEEDS_NATIVE;
  static const char text[] = "fn sum(n: i64) -> i64 = if n == 0 then 0 else n % 7 + sum(n - 1)\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p = open_pair(&options, text, "sum");
  hia_run_options limits = HIA_RUN_OPTIONS_INIT;
  limits.max_depth = 1 << 20;
  char eager[64], off[64];
  cr_assert_eq(hia_function_prepare(p.eager.function, NULL), HIA_OK);
  cr_assert_eq(hia_function_prepare(p.off.function, NULL), HIA_OK);
  for (int i = 0; i < 3; i++) {
    run_with(&p.eager, limits, WORDS("9000"), eager, sizeof eager);
    run_with(&p.off, limits, WORDS("9000"), off, sizeof off);
    cr_assert_str_eq(eager, off, "run %d", i);
  }
  close_pair(&p);
}

/* A timeline shows both versions. */
Test(engine_observe_runs, timelines) {
  NEEDS_NATIVE;
  pair p = open_inside_learnt("total", WORDS(terms("A(1)"), "5"));
  char out[64];
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeline = hia_timeline_new(NULL, 0);
  expect(run_with(&p.eager, options, WORDS("[A(2), C(3)]", "5"), out, sizeof out), 0, 1);
  test_text text = {0};
  trace_picture picture;
  cr_assert_eq(hia_timeline_write(options.timeline, test_text_take, &text, NULL), HIA_OK);
  cr_assert(trace_read(text.data, text.len, &picture), "%s in\n%s", picture.wrong, text.data);
  cr_assert_eq(picture.n_runs, 2);
  cr_assert_str_eq(picture.results, "abandoned ok ");
  cr_assert(strstr(text.data, "total([T], i64), version 1"), "%s", text.data);
  test_text_free(&text);
  hia_timeline_free(options.timeline);
  close_pair(&p);
}

/* ---- runs in a run ---- */

static hia_status inner_total(void *user, int64_t v, int64_t *result) {
  const program *p = *(const program *const *)user;
  hia_function *f = find_function(p->module, "inner");
  char text[64];
  snprintf(text, sizeof text, "[(%lld, 1), (2, 3), (3, 1)]", (long long)v);
  hia_value *arg, *value = NULL;
  if (hia_value_parse(f, 0, text, &arg, NULL) != HIA_OK) return HIA_HOST;
  hia_status status = hia_call(f, &arg, 1, &value, NULL);
  if (status == HIA_OK) hia_value_get_i64(value, result);
  hia_value_free(value);
  hia_value_free(arg);
  return status;
}

/* A guard of a run that a host function has begun ends that run alone; and one of the run around
 * it, which then calls the host function again. */
Test(engine_observe_runs, nested_runs) {
  NEEDS_NATIVE;
  static const char text[] =
      "extern fn inner_total(v: i64) -> i64\n"
      "fn slow(v: i64) -> i64 = loop (s = v) while s > 10 { s / 2 }\n"
      "fn at(v: i64) -> i64 = if v < 0 then slow(0 - v) / (v + 1) else v\n"
      "fn inner(xs: [(i64, i64)]) -> i64 = {\n"
      "  let (s, _) = loop (s = 0i64, i = 0i64) while i < 6 * len(xs) {\n"
      "    (s + at(xs[i % len(xs)].0), i + 1) }; s }\n"
      "fn of(v: i64) -> i64 = if v % 2 == 1 then slow(v) * 3 + slow(v + 1) else v\n"
      "fn main(xs: [(i64, i64)]) -> i64 = {\n"
      "  let (s, _) = loop (s = 0i64, i = 0i64) while i < len(xs) {\n"
      "    (s + inner_total(xs[i].0) + of(xs[i].1), i + 1) }; s }\n";
  program p[2];
  const program *at[2] = {&p[0], &p[1]};
  for (int i = 0; i < 2; i++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.speculate = i ? HIA_SPECULATE_OFF : HIA_SPECULATE_EAGER;
    cr_assert_eq(hia_engine_new(&options, &p[i].engine, NULL), HIA_OK);
    hia_host_function f = HOST("extern fn inner_total(v: i64) -> i64", inner_total);
    f.takes_user = f.returns_status = true;
    f.user = (void *)&at[i];
    cr_assert_eq(hia_engine_register(p[i].engine, &f, NULL), HIA_OK);
    p[i].module = load_module(p[i].engine, "t.hia", text);
    p[i].function = find_function(p[i].module, "main");
  }
  pair both = {p[0], p[1]};
  learn(&both, WORDS(array_of("(3, 2)", 30, "(4, 8)")));
  expect(run_pair(&both, WORDS("[(5, 2), (6, 4)]")), 1, 0);
  expect(run_pair(&both, WORDS("[(5, 2), (-6, 4)]")), 1, 0);
  expect(run_pair(&both, WORDS("[(5, 2), (-6, 3)]")), 0, 1);
  expect(run_pair(&both, WORDS("[(5, 2), (-1, 4)]")), 1, 0); /* and divides by zero */
  run_pair(&both, WORDS("[(5, 3), (-1, 3)]"));
  program inner = {p[0].engine, p[0].module, find_function(p[0].module, "inner")};
  expect_told(&inner, "not so in 2 runs, which began again");
  close_pair(&both);
}

/* ---- by itself, without memory, in the cache ---- */

/* Terms are made one after the other: n of them, of which number `from`, if it is there, is a C. */
static const char many_text[] =
    "type T = A(v: i64) | B(v: i64) | C(v: i64)\n"
    "fn slow(v: i64) -> i64 = loop (s = v) while s > 10 { s / 2 }\n"
    "fn ev(t: T, x: i64) -> i64 = match t { A(v) => x + v, B(v) => x - v / 3, C(v) => slow(v) / x "
    "}\n"
    "fn term(i: i64, k: i64) -> T =\n"
    "  if i == k then C(i) else if i % 16 == 0 then A(i % 5) else B(i % 7)\n"
    "fn main(n: i64, from: i64) -> i64 = {\n"
    "  let (s, _, _) = loop (s = 0i64, i = 0i64, k = from) while i < n {\n"
    "    (ev(term(i, k), s), i + 1, k) }; s }\n";

/* A run of very many values is observed for some time. Then it begins again, and ends as any other;
 * what was seen until then is known. */
Test(engine_observe_runs, observed_runs_that_are_cut) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  for (unsigned is_prepared = 0; is_prepared < 2; is_prepared++) {
    pair p = open_pair(&options, many_text, "main");
    if (is_prepared) cr_assert_eq(hia_function_prepare(p.eager.function, NULL), HIA_OK);
    cr_assert_eq(run_pair(&p, WORDS("300000", "299999")).version, 0);
    expect_told(&p.eager, "in `ev` is always true");
    hia_run_stats stats = run_pair(&p, WORDS("250000", "299999"));
    cr_assert_gt(stats.version, 0);
    close_pair(&p);
  }
}

/* An engine that is not eager observes some runs once all of them have taken long enough. */
Test(engine_observe_runs, by_itself) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  bool has_learnt = false;
  for (int round = 0; round < 8 && !has_learnt; round++) { /* it may be kept waiting, as above */
    pair p = open_pair(&options, many_text, "main");
    close_program(&p.eager);
    options.speculate = HIA_SPECULATE_ON;
    p.eager = open_program(&options, many_text, "main");
    test_text out = {0};
    for (int i = 0; i < 1000 && !has_learnt; i++) {
      out.len = 0;
      char n[16];
      snprintf(n, sizeof n, "%d", 100000 + i);
      has_learnt = run_told(&p.eager, WORDS(n, "-1"), &out).version != 0;
    }
    test_text_free(&out);
    if (has_learnt) {
      test_text told = explained(&p.eager, WORDS(NULL));
      cr_assert(strstr(told.data, " observed, for "), "%s", told.data);
      has_learnt = strstr(told.data, " in `ev` is always true");
      test_text_free(&told);
    }
    if (has_learnt) expect(run_pair(&p, WORDS("5000", "4000")), 0, 1);
    close_pair(&p);
  }
  cr_assert(has_learnt);
}

/* The engine is freed while an image that observes is being made, or a version, or just asked for.
 */
Test(engine_observe_runs, freed_meanwhile) {
  NEEDS_NATIVE;
  static const char text[] =
      "fn slow(v: i64) -> i64 = loop (s = v) while s > 10 { s / 2 }\n"
      "fn at(v: i64) -> i64 = if v < 0 then slow(0 - v) / (v + 1) else v % 3\n"
      "fn main(n: i64) -> i64 = {\n"
      "  let (s, _) = loop (s = 0i64, i = 0i64) while i < n { (s + at(i), i + 1) }; s }\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_ON;
  for (int n = 1; n < 30; n += 1 + n / 6) {
    program p = open_program(&options, text, "main");
    test_text out = {0};
    for (int i = 0; i < n; i++) run_told(&p, WORDS("3000000"), &out);
    test_text_free(&out);
    close_program(&p);
  }
}

static bool count_point(void *user, const hia_observed_point *point) {
  *(int *)user += point->times != 0;
  return true;
}

/* Without memory for what is observed and assumed runs go on as ever, and nothing is lost. Later
 * runs are observed as if it had been there. */
Test(engine_observe_runs, without_memory) {
  NEEDS_NATIVE;
  for (int k = 0; k < 600; k += 1 + k / 4) {
    test_heap heap;
    test_heap_init(&heap, -1);
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.speculate = HIA_SPECULATE_EAGER;
    options.allocator = &heap.allocator;
    program p = open_program(&options, inside_text, "total");
    hia_value *args[2] = {parse(&p, 0, terms("A(1)")), parse(&p, 1, "5")},
              *other[2] = {parse(&p, 0, "[A(2), C(3)]"), args[1]};
    char out[256];
    heap.left = k;
    for (int i = 0; i < 2; i++) run(&p, args, 2, out, sizeof out);
    run(&p, other, 2, out, sizeof out);
    heap.left = -1;
    for (int i = 0; i < 2; i++) run(&p, other, 2, out, sizeof out);
    cr_assert_str_eq(out, "449");
    int n_points = 0;
    cr_assert_eq(hia_function_observe(p.function, other, 2, 0, count_point, &n_points, NULL),
                 HIA_OK);
    cr_assert_gt(n_points, 0, "%d", k);
    hia_value_free(other[0]);
    for (int i = 0; i < 2; i++) hia_value_free(args[i]);
    close_program(&p);
    cr_assert_eq(heap.blocks, 0, "%d: %ld blocks", k, (long)heap.blocks);
  }
}

/* What is instrumented is not cached: with sanitizers there is nothing to test. */
#if !defined(HIA_ASAN) && !defined(HIA_TSAN)

static program open_cached(hia_speculate mode, const char *folder, const char *text,
                           const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = mode;
  options.cache = folder;
  program p = open_program(&options, text, name);
  if (mode == HIA_SPECULATE_EAGER) cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
  return p;
}

static void begin_cache(char *folder) {
  strcpy(folder, "/tmp/hia_observe-XXXXXX");
  cr_assert_not_null(mkdtemp(folder));
}

static void end_cache(const char *folder) {
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
}

/* Another process begins in the version, whose guards fail as they did in the first one. */
Test(engine_observe_runs, versions_in_the_cache) {
  NEEDS_NATIVE;
  char folder[32];
  begin_cache(folder);
  pair p = open_inside_pair("total");
  close_program(&p.eager);
  p.eager = open_cached(HIA_SPECULATE_EAGER, folder, inside_text, "total");
  learn(&p, WORDS(terms("A(1)"), "5"));
  close_program(&p.eager);
  p.eager = open_cached(HIA_SPECULATE_ON, folder, inside_text, "total");
  expect(run_pair(&p, WORDS("[A(2), B(3)]", "5")), 1, 0);
  expect_told(&p.eager, "the condition at 4:30 is always true: so in another process, says the "
                        "cache\n");
  expect(run_pair(&p, WORDS("[A(2), C(3)]", "5")), 0, 1);
  expect(run_pair(&p, WORDS("[A(2), B(3)]", "6")), 1, 0);
  expect(run_pair(&p, WORDS("[D(-3)]", "5")), 0, 1);
  cr_assert_neq(run_pair(&p, WORDS("[A(2), B(3)]", "6")).version, 1);
  expect_told(&p.eager, "not so in 2 runs, which began again\n");
  close_program(&p.eager);
  /* It is not found again. */
  p.eager = open_cached(HIA_SPECULATE_ON, folder, inside_text, "total");
  expect(run_pair(&p, WORDS("[A(2), B(3)]", "5")), 0, 0);
  close_program(&p.eager);
  close_program(&p.off);
  end_cache(folder);
}

/* The cache knows no names, but where points are, and what is assumed of them. */
Test(engine_observe_runs, cached_facts_of_parameters) {
  NEEDS_NATIVE;
  char folder[32];
  begin_cache(folder);
  pair p = open_inside_pair("powers");
  close_program(&p.eager);
  for (int i = 0; i < 2; i++) {
    p.eager =
        open_cached(i ? HIA_SPECULATE_ON : HIA_SPECULATE_EAGER, folder, inside_text, "powers");
    if (i)
      expect(run_pair(&p, WORDS("[(4.0, -3)]")), 1, 0);
    else
      learn(&p, WORDS(array_of("(1.5, -3)", 20, "(-2.0, -3)")));
    expect_told(&p.eager, i ? "\n  parameter 2 of the function at 11:4 is -3: so in another pro"
                            : "\n  `n` of `power` is -3: so ");
    expect(run_pair(&p, WORDS("[(2.0, -3), (3.0, 4)]")), 0, 1);
    close_program(&p.eager);
  }
  close_program(&p.off);
  end_cache(folder);
}

/* A fact of a version from the cache that is wrong does not keep others from being assumed. */
Test(engine_observe_runs, facts_from_the_cache_that_are_wrong) {
  NEEDS_NATIVE;
  char folder[32];
  begin_cache(folder);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p = open_pair(&options, arms_text, "main");
  close_program(&p.eager);
  p.eager = open_cached(HIA_SPECULATE_EAGER, folder, arms_text, "main");
  learn(&p, WORDS(terms("A(1)")));
  close_program(&p.eager);
  p.eager = open_cached(HIA_SPECULATE_EAGER, folder, arms_text, "main");
  expect(run_pair(&p, WORDS(terms("A(1)"))), 1, 0);
  for (int i = 0; i < 2; i++) expect(run_pair(&p, WORDS("[D(100)]")), 0, 1);
  for (int i = 0; i < 3; i++) run_pair(&p, WORDS(terms("A(1)")));
  expect(run_pair(&p, WORDS(terms("D(100)"))), 2, 0);
  close_pair(&p);
  end_cache(folder);
}

/* A version that assumes something of arguments, and has facts that were of no use, is in the cache
 * as one without facts is. */
Test(engine_observe_runs, cached_versions_without_guards) {
  NEEDS_NATIVE;
  char folder[32];
  begin_cache(folder);
  static const char text[] = "fn scale(x: f64, c: f64, k: i64) -> f64 = x * c + f64(k)\n"
                             "fn grow(x: f64, c: f64, n: i64) -> f64 =\n"
                             "  if n == 0 then x else grow(scale(x, c, 2), c, n - 1)\n"
                             "fn main(x: f64, c: f64, n: i64) -> f64 = grow(x, c, n)\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_OFF;
  program off = open_program(&options, text, "main");
  pair p = {open_cached(HIA_SPECULATE_EAGER, folder, text, "main"), off};
  expect(run_pair(&p, WORDS("1.0", "0.5", "40")), 0, 0);
  expect(run_pair(&p, WORDS("2.0", "0.5", "41")), 1, 0);
  const hia_special *x = &atomic_load(&p.eager.function->speculation)->specials[0];
  cr_assert(x->n_facts == 1 && !x->has_facts);
  close_program(&p.eager);
  p.eager = open_cached(HIA_SPECULATE_ON, folder, text, "main");
  expect(run_pair(&p, WORDS("3.0", "0.5", "42")), 1, 0);
  close_pair(&p);
  end_cache(folder);
}

#endif
