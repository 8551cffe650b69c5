/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs whose functions get versions for their arguments, and what an engine tells of these
 * versions: shared by test_engine_speculate.c, test_engine_explain.c, test_engine_versions.c and
 * test_engine_observe.c, test_engine_observe_runs.c and test_engine_entry_versions.c. */
#ifndef HELPER_VERSIONS_H
#define HELPER_VERSIONS_H

#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

#include <ctype.h>
#include <stdio.h>

static const char versions_text[] =
    "type E = X | C(v: f64) | Add(a: E, b: E) | Div(a: E, b: E)\n"
    "fn ev(e: E, x: f64) -> f64 = match e { X => x, C(v) => v, Add(a, b) => ev(a, x) + ev(b, x),\n"
    "  Div(a, b) => f64(i64(ev(a, x)) / i64(ev(b, x))) }\n"
    "fn total(e: E, n: i64) = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < n { (s + ev(e, f64(i)), i + 1) }; s }\n"
    "type T = L(x: f32) | N(a: T, b: T)\n"
    "fn fold(t: T, W: f32[?, ?], b: f32[?]) -> f32[?] = match t {\n"
    "  L(x) => relu(W @ (x * ones(len(b))) + b),\n"
    "  N(l, r) => relu(W @ (fold(l, W, b) + fold(r, W, b)) + b) }\n"
    "fn full(d: i32) -> T = if d == 0 then L(1) else N(full(d - 1), full(d - 1))\n"
    "type M = M(w: f32[?, ?], b: f32[?])\n"
    "fn in_record(t: T, m: M) -> f32[?] = match m { M(w, b) => match t {\n"
    "  L(x) => relu(w @ (x * ones(len(b))) + b),\n"
    "  N(l, r) => relu(w @ (in_record(l, m) + in_record(r, m)) + b) } }\n"
    "fn net_in_record(d: i32, m: M) -> f32 = sum(in_record(full(d), m))\n"
    "fn net(d: i32, W: f32[?, ?], b: f32[?]) -> f32 = sum(fold(full(d), W, b))\n"
    "fn pairs(p: (i64, (E, i64))) = total(p.1.0, p.1.1) + f64(p.0)\n"
    "fn power(x: f64, n: i64) -> f64 = if n == 0 then 1 else x * power(x, n - 1)\n"
    "type P = Y | Times(a: P, b: P)\n"
    "fn poly(p: P, y: f64) -> f64 = match p { Y => y, Times(a, b) => poly(a, y) * poly(b, y) }\n"
    "fn slopes(p: P, n: i64) = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < n {\n"
    "    (s + grad(poly, wrt = y)(p, f64(i)), i + 1) }; s }\n"
    "fn sized(x: f32[?]) -> f32 = sum(x)\n"
    "fn generic(x) = x\n"
    "fn two(n: i64, a: f32[?], b: f32[?]) -> f32 = {\n"
    "  let (s, _) = loop (s: f32 = 0, i = 0i64) while i < n {\n"
    "    (s + sum(a * f32(i)) - sum(b * f32(i)), i + 1) }; s }\n";

static inline program open(hia_speculate mode, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = mode;
  return open_program(&options, versions_text, name);
}

/* What an engine logged: how many messages had these words, and the last one that did. */
typedef struct log_lines {
  const char *words;
  int n;
  char last[256];
} log_lines;

static inline void log_last(void *user, const char *message) {
  log_lines *log = user;
  if (!strstr(message, log->words)) return;
  log->n++;
  snprintf(log->last, sizeof log->last, "%s", message);
}

/* Opens a program in an engine that makes versions at once, and logs there. */
static inline program open_logged(log_lines *log, const char *text, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_EAGER;
  options.log = log_last;
  options.log_user = log;
  return open_program(&options, text, name);
}

static inline hia_value *parse(const program *p, size_t i, const char *arg) {
  hia_value *value = NULL;
  hia_error *error = NULL;
  cr_assert_eq(hia_value_parse(p->function, i, arg, &value, &error), HIA_OK, "%s",
               hia_error_text(error));
  return value;
}

/* Returns the number of the version that the run used, and prints its result, or its error. */
static inline uint32_t run(const program *p, hia_value *const *args, size_t n, char *out,
                           size_t size) {
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_value *result = NULL;
  hia_error *error = NULL;
  options.stats = &stats;
  hia_status status = hia_run(p->function, args, n, &options, &result, &error);
  if (status == HIA_OK)
    hia_value_format(result, out, size);
  else
    snprintf(out, size, "%s", hia_error_text(error));
  hia_error_free(error);
  hia_value_free(result);
  return stats.version;
}

/* Weights of `net`, the matrices. */
static const char *const W[] = {"[[1, 2], [3, 4]]", "[[0.5, 0], [0, 0.25]]"};

/* What a thread runs: `net` of a program that threads share, with weights of its own, which its
 * number gives. */
typedef struct net_thread {
  const program *program;
  int number;
} net_thread;

/* The body of such a thread: checks the results. */
static inline void *run_net(void *arg) {
  const net_thread *t = arg;
  char w[64], out[64], expected[64];
  for (int i = 0; i < 40; i++) {
    snprintf(w, sizeof w, "[[%d, 0], [0, %d]]", t->number, t->number);
    hia_value *args[3] = {parse(t->program, 0, "1"), parse(t->program, 1, w),
                          parse(t->program, 2, "[0, 0]")};
    run(t->program, args, 3, out, sizeof out);
    snprintf(expected, sizeof expected, "%.1f", 4.0 * t->number * t->number);
    cr_expect_str_eq(out, expected);
    for (int a = 0; a < 3; a++) hia_value_free(args[a]);
  }
  return NULL;
}

/* ---- what an engine tells of versions ---- */

/* A document of JSON: returns what follows a value, or NULL. */
static inline const char *after_value(const char *at);

static inline const char *skip(const char *at) {
  while (at && isspace((unsigned char)*at)) at++;
  return at;
}

static inline const char *after_text(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; at++)
    if ((unsigned char)*at < ' ' || (*at == '\\' && !*++at)) return NULL;
  return at + 1;
}

static inline const char *after_items(const char *at, char close, bool are_named) {
  at = skip(at + 1);
  if (*at == close) return at + 1;
  for (;; at = skip(at + 1)) {
    if (are_named) {
      at = skip(after_text(at));
      if (!at || *at != ':') return NULL;
      at = skip(at + 1);
    }
    at = skip(after_value(at));
    if (!at || *at == close) return at ? at + 1 : NULL;
    if (*at != ',') return NULL;
  }
}

static inline const char *after_value(const char *at) {
  if (*at == '{') return after_items(at, '}', true);
  if (*at == '[') return after_items(at, ']', false);
  if (*at == '"') return after_text(at);
  if (strncmp(at, "null", 4) == 0 || strncmp(at, "true", 4) == 0) return at + 4;
  if (strncmp(at, "false", 5) == 0) return at + 5;
  const char *end = at;
  while (isdigit((unsigned char)*end) || *end == '.') end++;
  return end > at ? end : NULL;
}

/* Returns what the engine tells of the function as text, which the caller frees. The test fails if
 * one of the words is not in the text, or not in the other form, or if that form is not JSON. */
static inline test_text explained(const program *p, const char *const *words) {
  test_text told = {0}, json = {0};
  hia_error *error = NULL;
  cr_assert_eq(hia_function_explain(p->function, false, test_text_take, &told, &error), HIA_OK);
  cr_assert_eq(hia_function_explain(p->function, true, test_text_take, &json, &error), HIA_OK);
  const char *end = skip(after_value(json.data));
  cr_assert(end && !*end, "%s", json.data);
  for (; *words; words++) {
    cr_assert(strstr(told.data, *words), "no '%s' in\n%s", *words, told.data);
    cr_assert(strstr(json.data, *words), "no '%s' in\n%s", *words, json.data);
  }
  test_text_free(&json);
  return told;
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
