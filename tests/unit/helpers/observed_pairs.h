/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs in an engine that makes versions at once, next to one that makes none: shared by
 * test_engine_observe.c and test_engine_observe_runs.c. */
#ifndef HELPER_OBSERVED_PAIRS_H
#define HELPER_OBSERVED_PAIRS_H

#include "jit/versions/speculate.h"
#include "tests/unit/helpers/versions.h"

/* Nothing of the arguments of these functions is worth an assumption: elements of arrays are read
 * in loops, and numbers begin sums. `slow` takes time, so arms that call it are of interest. */
static const char inside_text[] =
    "type T = A(v: i64) | B(v: i64) | C(v: i64) | D(v: i64)\n"
    "fn slow(v: i64) -> i64 = {\n"
    "  let (s, _) = loop (s = 1i64, i = 3i64) while i > 0 { (s * v + 100 / v, i - 1) }; s % 1000 "
    "}\n"
    "fn ev(t: T, x: i64) -> i64 = match t {\n"
    "  A(v) => x + v,\n"
    "  B(v) => x - 100 / v,\n"
    "  C(v) => slow(v) - x,\n"
    "  D(v) => if v < 0 then fail(v) else slow(v) + slow(x) }\n"
    "fn total(ts: [T], x: i64) -> i64 = {\n"
    "  let (s, _) = loop (s = x, i = 0i64) while i < len(ts) { (ev(ts[i], s), i + 1) }; s }\n"
    "fn power(x: f64, n: i64) -> f64 = {\n"
    "  let (p, _) = loop (p: f64 = 1, i = 0i64) while i < n { (p * x, i + 1) }; p }\n"
    "fn powers(xs: [(f64, i64)]) -> f64 = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < len(xs) {\n"
    "    (s + power(xs[i].0, xs[i].1), i + 1) }; s }\n"
    "type Row = Row(v: f64[?])\n"
    "fn norm(v: f64[?]) -> f64 = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < len(v) { (s + v[i] * v[i], i + 1) }; s "
    "}\n"
    "fn norms(rows: [Row]) -> f64 = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < len(rows) {\n"
    "    (s + (match rows[i] { Row(v) => norm(v) }), i + 1) }; s }\n";

/* Each of the last four constructors has an arm of interest. */
static const char arms_text[] =
    "type T = A(v: i64) | B(v: i64) | C(v: i64) | D(v: i64) | E(v: i64) | F(v: i64)\n"
    "fn slow(v: i64) -> i64 = loop (s = v) while s > 10 { s / 2 }\n"
    "fn c(t: T) -> i64 = match t { C(v) => slow(v), _ => 1 }\n"
    "fn d(t: T) -> i64 = match t { D(v) => slow(v), _ => 2 }\n"
    "fn e(t: T) -> i64 = match t { E(v) => slow(v), _ => 3 }\n"
    "fn f(t: T) -> i64 = match t { F(v) => slow(v), _ => 4 }\n"
    "fn main(ts: [T]) -> i64 = {\n"
    "  let (s, _) = loop (s = 0i64, i = 0i64) while i < len(ts) {\n"
    "    (s + c(ts[i]) + 10 * d(ts[i]) + 100 * e(ts[i]) + 1000 * f(ts[i]), i + 1) }; s }\n";

/* A function in an engine that makes versions at once, and in one that makes none. */
typedef struct pair {
  program eager, off;
} pair;

static inline pair open_pair(const hia_engine_options *options, const char *text,
                             const char *name) {
  hia_engine_options eager = *options, off = *options;
  eager.speculate = HIA_SPECULATE_EAGER;
  off.speculate = HIA_SPECULATE_OFF;
  return (pair){open_program(&eager, text, name), open_program(&off, text, name)};
}

static inline pair open_inside_pair(const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  return open_pair(&options, inside_text, name);
}

static inline void close_pair(pair *p) {
  close_program(&p->eager);
  close_program(&p->off);
}

/* Runs the function; its result, or its error with the chain of calls, goes to `out`. */
static inline hia_run_stats run_told(const program *p, const char *const *texts, test_text *out) {
  hia_value *args[4], *result = NULL;
  hia_error *error = NULL;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  size_t n = 0;
  for (; texts[n]; n++) args[n] = parse(p, n, texts[n]);
  options.stats = &stats;
  hia_status status = hia_run(p->function, args, n, &options, &result, &error);
  char text[4096];
  if (status == HIA_OK)
    hia_value_format(result, text, sizeof text);
  else
    snprintf(text, sizeof text, "%s: %s", hia_status_word(status), hia_error_text(error));
  test_text_take(out, text, strlen(text));
  hia_error_free(error);
  hia_value_free(result);
  for (size_t i = 0; i < n; i++) hia_value_free(args[i]);
  return stats;
}

/* Runs both, which must end alike. Returns the figures of the former. */
static inline hia_run_stats run_pair(const pair *p, const char *const *texts) {
  test_text eager = {0}, off = {0};
  hia_run_stats stats = run_told(&p->eager, texts, &eager);
  cr_assert_eq(run_told(&p->off, texts, &off).version, 0);
  cr_assert_str_eq(eager.data, off.data);
  test_text_free(&eager);
  test_text_free(&off);
  return stats;
}

static inline void expect(hia_run_stats stats, uint32_t version, uint32_t n_restarts) {
  cr_assert(stats.version == version && stats.n_restarts == n_restarts,
            "version %u, %u restarts; expected %u and %u", stats.version, stats.n_restarts, version,
            n_restarts);
}

/* Runs both twice: the first run is observed, the second one uses a version. */
static inline void learn(const pair *p, const char *const *texts) {
  cr_assert_eq(run_pair(p, texts).version, 0);
  cr_assert_eq(run_pair(p, texts).version, 1);
}

/* Opens engines that have learnt that. If the process is kept waiting, the observed run may be cut
 * before it has seen enough; so this is tried a few times. */
static inline pair open_learnt(const hia_engine_options *options, const char *text,
                               const char *name, const char *const *texts) {
  for (int i = 0; i < 4; i++) {
    pair p = open_pair(options, text, name);
    run_pair(&p, texts);
    if (run_pair(&p, texts).version == 1) return p;
    close_pair(&p);
  }
  pair p = open_pair(options, text, name);
  learn(&p, texts);
  return p;
}

static inline pair open_inside_learnt(const char *name, const char *const *texts) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  return open_learnt(&options, inside_text, name, texts);
}

/* An array of `n` elements, which are `most` one after the other but for some at the end. */
static const char *array_of(const char *most, int n, const char *end) {
  static char text[4096];
  size_t len = strlen(most);
  char *at = text;
  *at++ = '[';
  for (int i = 0; i < n; i++) {
    memcpy(at, most, len);
    at += len;
    memcpy(at, ", ", 2);
    at += 2;
  }
  snprintf(at, (size_t)(text + sizeof text - at), "%s]", end);
  return text;
}
/* Two terms, as often as is needed for a fact of what comes to both. */
static const char *terms(const char *end) { return array_of("A(7), B(3)", 20, end); }

static inline void expect_told(const program *p, const char *words) {
  test_text told = explained(p, WORDS(NULL));
  cr_assert(strstr(told.data, words), "no '%s' in\n%s", words, told.data);
  test_text_free(&told);
}
static inline void expect_not_told(const program *p, const char *words) {
  test_text told = explained(p, WORDS(NULL));
  cr_assert_not(strstr(told.data, words), "'%s' in\n%s", words, told.data);
  test_text_free(&told);
}

#endif
