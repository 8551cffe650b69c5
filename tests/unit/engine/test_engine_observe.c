/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions that assume what runs do inside: that they are made of what observed runs have shown,
 * that a run which is different begins again and ends as any other, and when no run uses them any
 * more. test_suppose.c tests what facts make of a graph, test_engine_speculate.c versions that
 * assume something of arguments alone. */
#include "jit/versions/speculate.h"
#include "tests/unit/helpers/engine_host.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/trace.h"
#include "tests/unit/helpers/versions.h"
#include <hiaton/cache.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

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

/* A function in an engine that makes versions at once, and in one that makes none. */
typedef struct pair {
  program eager, off;
} pair;

static pair open_pair(const hia_engine_options *options, const char *text, const char *name) {
  hia_engine_options eager = *options, off = *options;
  eager.speculate = HIA_SPECULATE_EAGER;
  off.speculate = HIA_SPECULATE_OFF;
  return (pair){open_program(&eager, text, name), open_program(&off, text, name)};
}

static pair open_inside_pair(const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  return open_pair(&options, inside_text, name);
}

static void close_pair(pair *p) {
  close_program(&p->eager);
  close_program(&p->off);
}

/* Runs the function; its result, or its error with the chain of calls, goes to `out`. */
static hia_run_stats run_told(const program *p, const char *const *texts, test_text *out) {
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
static hia_run_stats run_pair(const pair *p, const char *const *texts) {
  test_text eager = {0}, off = {0};
  hia_run_stats stats = run_told(&p->eager, texts, &eager);
  cr_assert_eq(run_told(&p->off, texts, &off).version, 0);
  cr_assert_str_eq(eager.data, off.data);
  test_text_free(&eager);
  test_text_free(&off);
  return stats;
}

static void expect(hia_run_stats stats, uint32_t version, uint32_t n_restarts) {
  cr_assert(stats.version == version && stats.n_restarts == n_restarts,
            "version %u, %u restarts; expected %u and %u", stats.version, stats.n_restarts, version,
            n_restarts);
}

/* Runs both twice: the first run is observed, the second one uses a version. */
static void learn(const pair *p, const char *const *texts) {
  cr_assert_eq(run_pair(p, texts).version, 0);
  cr_assert_eq(run_pair(p, texts).version, 1);
}

/* Opens engines that have learnt that. If the process is kept waiting, the observed run may be cut
 * before it has seen enough; so this is tried a few times. */
static pair open_learnt(const hia_engine_options *options, const char *text, const char *name,
                        const char *const *texts) {
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

static pair open_inside_learnt(const char *name, const char *const *texts) {
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

static void expect_told(const program *p, const char *words) {
  test_text told = explained(p, WORDS(NULL));
  cr_assert(strstr(told.data, words), "no '%s' in\n%s", words, told.data);
  test_text_free(&told);
}
static void expect_not_told(const program *p, const char *words) {
  test_text told = explained(p, WORDS(NULL));
  cr_assert_not(strstr(told.data, words), "'%s' in\n%s", words, told.data);
  test_text_free(&told);
}

/* ---- branches ---- */

/* The version begins with the second run, and is used until its guard has failed twice. */
Test(engine_observe, an_arm_that_is_never_taken) {
  NEEDS_NATIVE;
  pair p = open_inside_learnt("total", WORDS(terms("A(1)"), "5"));
  expect_told(&p.eager, " observed, for ");
  expect_told(&p.eager, "\n  that it is B at 4:30 in `ev` is always true: so ");
  expect(run_pair(&p, WORDS(terms("A(2)"), "6")), 1, 0);
  expect(run_pair(&p, WORDS("[A(7)]", "7")), 1, 0);
  expect(run_pair(&p, WORDS("[C(4)]", "8")), 0, 1);
  expect_told(&p.eager, "; not so in 1 run, which began again\n");
  expect_not_told(&p.eager, "no run uses it any more");
  expect(run_pair(&p, WORDS(terms("B(1)"), "-5")), 1, 0);
  expect(run_pair(&p, WORDS(terms("B(2), C(-3), A(4)"), "5")), 0, 1);
  expect_told(&p.eager, "; not so in 2 runs, which began again\n  no run uses it any more, since");
  for (int i = 0; i < 4; i++) {
    hia_run_stats stats = run_pair(&p, WORDS(terms(i % 2 ? "C(3), D(2)" : "A(0)"), "9"));
    cr_assert(stats.version != 1 && stats.n_restarts == 0);
  }
  close_pair(&p);
}

Test(engine_observe, tells_of_facts_as_json) {
  NEEDS_NATIVE;
  pair p = open_inside_learnt("total", WORDS(terms("A(1)"), "5"));
  for (int i = 0; i < 2; i++) run_pair(&p, WORDS("[C(4)]", "8"));
  test_text json = {0};
  cr_assert_eq(hia_function_explain(p.eager.function, true, test_text_take, &json, NULL), HIA_OK);
  static const char *const words[] = {
      "\"is_retired\": true", "\"kind\": \"branch\"", "\"function\": \"ev\"",
      "\"line\": 4",          "\"column\": 30",       "\"is\": \"true\"",
      "\"times\": 20",        "\"failed\": 2",        "\"observed\": 1",
  };
  for (size_t i = 0; i < HIA_LEN(words); i++)
    cr_expect(strstr(json.data, words[i]), "no %s in\n%s", words[i], json.data);
  test_text_free(&json);
  close_pair(&p);
}

Test(engine_observe, logs_once) {
  NEEDS_NATIVE;
  log_lines log = {.words = "is not used any more"};
  program p = open_logged(&log, inside_text, "total");
  test_text out = {0};
  for (int i = 0; i < 4; i++) run_told(&p, WORDS(terms("A(1)"), "5"), &out);
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(log.n, i >= 2);
    run_told(&p, WORDS("[C(4)]", "8"), &out);
  }
  cr_assert_str_eq(log.last, "version 1 of total([T], i64) is not used any more: what it assumes "
                             "at 4:30 of the source did not hold");
  test_text_free(&out);
  close_program(&p);
}

/* What is seldom is not certain: an eager engine wants to see it 16 times. */
Test(engine_observe, needs_some_values) {
  NEEDS_NATIVE;
  pair p = open_inside_learnt("total", WORDS(array_of("A(7), B(3)", 16, "A(1)"), "5"));
  close_pair(&p);
  p = open_inside_pair("total");
  for (int i = 0; i < 2; i++)
    expect(run_pair(&p, WORDS(array_of("A(7), B(3)", 15, "A(1)"), "5")), 0, 0);
  close_pair(&p);
}

/* The version stays if its guards fail now and then only. */
Test(engine_observe, a_guard_that_seldom_fails) {
  NEEDS_NATIVE;
  pair p = open_inside_learnt("total", WORDS(terms("A(1)"), "5"));
  for (int i = 0; i < 200; i++) expect(run_pair(&p, WORDS("[A(3), B(2)]", "1")), 1, 0);
  for (int i = 0; i < 3; i++) expect(run_pair(&p, WORDS("[C(4)]", "8")), 0, 1);
  expect(run_pair(&p, WORDS("[A(3), B(2)]", "1")), 1, 0);
  for (int i = 0; i < 2; i++) run_pair(&p, WORDS("[C(4)]", "8"));
  cr_assert_neq(run_pair(&p, WORDS("[A(3), B(2)]", "1")).version, 1);
  close_pair(&p);
}

/* ---- parameters and loops ---- */

Test(engine_observe, a_parameter_that_is_the_same) {
  NEEDS_NATIVE;
  pair p = open_inside_learnt("powers", WORDS(array_of("(1.5, 3)", 20, "(-2.0, 3)")));
  expect_told(&p.eager, "\n  `n` of `power` is 3: so ");
  expect(run_pair(&p, WORDS(array_of("(0.5, 3)", 3, "(-7.0, 3)"))), 1, 0);
  expect(run_pair(&p, WORDS("[]")), 1, 0);
  expect(run_pair(&p, WORDS("[(2.0, 3), (3.0, 4)]")), 0, 1);
  expect(run_pair(&p, WORDS("[(2.0, 3), (3.0, 3)]")), 1, 0);
  expect(run_pair(&p, WORDS("[(2.0, -1)]")), 0, 1);
  cr_assert_neq(run_pair(&p, WORDS("[(2.0, 3), (3.0, 3)]")).version, 1);
  expect_told(&p.eager, "; not so in 2 runs, which began again\n");
  close_pair(&p);
}

Test(engine_observe, a_loop_of_as_many_rounds) {
  NEEDS_NATIVE;
  pair p =
      open_inside_learnt("norms", WORDS(array_of("Row([1, -2, 3, 0.5])", 20, "Row([0, 1, 0, 1])")));
  expect_told(&p.eager, "\n  the loop at 18:16 in `norm` has 4 rounds: so ");
  expect(run_pair(&p, WORDS("[Row([1, 2, 3, 4]), Row([5, 6, 7, 8])]")), 1, 0);
  expect(run_pair(&p, WORDS("[Row([1, 2, 3, 4]), Row([5, 6, 7, 8, 9])]")), 0, 1);
  expect(run_pair(&p, WORDS("[Row([1, 2, 3, 4])]")), 1, 0);
  expect(run_pair(&p, WORDS("[Row([1, 2, 3])]")), 0, 1);
  cr_assert_neq(run_pair(&p, WORDS("[Row([1, 2, 3, 4])]")).version, 1);
  close_pair(&p);
}

/* Parameters of all types whose values can be facts; some have no name of their own. */
Test(engine_observe, parameters_of_all_types) {
  NEEDS_NATIVE;
  static const char text[] =
      "fn pick(p: (i32, i64), b: bool) -> i64 =\n"
      "  if b then 100 / p.1 else if p.0 < 0 then i64(p.0) else p.1 % i64(p.0 + 1)\n"
      "fn more(n, k) = n / k\n"
      "fn main(xs: [(i32, i64, bool)]) -> i64 = {\n"
      "  let (s, _) = loop (s = 0i64, i = 0i64) while i < len(xs) {\n"
      "    (s + pick((xs[i].0, xs[i].1), xs[i].2) + more(s, xs[i].1), i + 1) }; s }\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p =
      open_learnt(&options, text, "main", WORDS(array_of("(-5, 7, false)", 20, "(-5, 7, false)")));
  expect_told(&p.eager, "\n  parameter 1 of `pick` is -5: so ");
  expect_told(&p.eager, "\n  parameter 3 of `pick` is false: so ");
  expect_told(&p.eager, "\n  `k` of `more` is 7: so ");
  expect(run_pair(&p, WORDS(array_of("(-5, 7, false)", 2, "(-5, 7, false)"))), 1, 0);
  expect(run_pair(&p, WORDS("[(-5, 7, false), (-5, 7, true)]")), 0, 1);
  expect(run_pair(&p, WORDS("[(-5, 7, false), (5, 7, false)]")), 0, 1);
  expect(run_pair(&p, WORDS("[(-5, 7, false), (-5, 0, false)]")), 0, 1); /* and divides by it */
  expect(run_pair(&p, WORDS("[(-5, 7, false)]")), 1, 0);
  close_pair(&p);
}

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

/* A fact that is wrong does not keep others from being assumed, and after three versions nothing
 * is assumed inside any more. */
Test(engine_observe, versions_one_after_the_other) {
  NEEDS_NATIVE;
  static const char *const others[] = {"[D(100)]", "[C(100), F(1)]", "[E(77)]", "[F(-3)]"};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p = open_pair(&options, arms_text, "main");
  uint32_t last = 0;
  for (uint32_t k = 0; k < HIA_LEN(others); k++) {
    uint32_t version = 0;
    for (int i = 0; i < 4; i++) version = run_pair(&p, WORDS(terms("A(1)"))).version;
    if (k < HIA_MOST_RETIRED)
      cr_assert_gt(version, last);
    else
      cr_assert_eq(version, 0);
    last = version;
    for (uint32_t i = 0; i < 2; i++)
      expect(run_pair(&p, WORDS(others[k])), 0, k < HIA_MOST_RETIRED);
  }
  close_pair(&p);
}

/* ---- failures ---- */

/* What fails in front of a guard fails in the version; what fails behind one in the general
 * version, also in the arm that the version has not. Errors have the same chains of calls. */
Test(engine_observe, failures) {
  NEEDS_NATIVE;
  static const struct {
    const char *terms;
    bool is_special;
  } cases[] = {
      {"[A(1), B(0), A(2)]", true},  {"[B(0), C(1)]", true},   {"[A(1), C(2), B(0)]", false},
      {"[A(1), C(0), A(1)]", false}, {"[D(-5)]", false},       {"[A(4), D(2), D(-6), B(0)]", false},
      {"[B(0), C(0), D(-1)]", true}, {"[C(0), D(-1)]", false},
  };
  for (size_t i = 0; i < HIA_LEN(cases); i++)
    for (unsigned is_prepared = 0; is_prepared < 2; is_prepared++) {
      pair p = open_inside_learnt("total", WORDS(terms("A(1)"), "5"));
      if (is_prepared) cr_assert_eq(hia_function_prepare(p.eager.function, NULL), HIA_OK);
      expect(run_pair(&p, WORDS(cases[i].terms, "3")), cases[i].is_special, !cases[i].is_special);
      test_text out = {0};
      run_told(&p.eager, WORDS(cases[i].terms, "3"), &out);
      cr_assert(strstr(out.data, "ev") && (strstr(out.data, "zero") || strstr(out.data, "fail")),
                "%s", out.data);
      test_text_free(&out);
      close_pair(&p);
    }
}

/* An observed run that fails shows its failure, and nothing is made of it. */
Test(engine_observe, observed_runs_that_fail) {
  NEEDS_NATIVE;
  pair p = open_inside_pair("total");
  for (int i = 0; i < 5; i++) {
    expect(run_pair(&p, WORDS(terms("B(0)"), "5")), 0, 0);
    expect(run_pair(&p, WORDS("[D(-7)]", "5")), 0, 0);
  }
  run_pair(&p, WORDS("[A(1), B(1)]", "5"));
  close_pair(&p);
}

/* Guards deep in a recursion, whose frames are left. */
Test(engine_observe, a_deep_recursion) {
  NEEDS_NATIVE;
  static const char text[] =
      "type List = Nil | Cons(head: i64, tail: List)\n"
      "fn slow(v: i64) -> i64 = loop (s = v) while s > 10 { s / 2 }\n"
      "fn sum(l: List) -> i64 = match l {\n"
      "  Nil => 0, Cons(h, t) => (if h < 0 then slow(0 - h) / (h + 3) else h) + sum(t) }\n"
      "fn build(n: i64, at: i64, what: i64) -> List = {\n"
      "  let (l, _) = loop (l = Nil, i = 0i64) while i < n {\n"
      "    (Cons(if i == at then what else i % 5, l), i + 1) }; l }\n"
      "fn main(n: i64, at: i64, what: i64) -> i64 = sum(build(n, at, what))\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p = open_learnt(&options, text, "main", WORDS("100", "-1", "1"));
  cr_assert_gt(run_pair(&p, WORDS("20000", "-1", "1")).version, 0);
  hia_run_stats stats = run_pair(&p, WORDS("20000", "0", "-1000"));
  cr_assert(stats.version == 0 && stats.n_restarts == 1);
  stats = run_pair(&p, WORDS("20000", "19", "-3")); /* and divides by zero */
  cr_assert(stats.version == 0 && stats.n_restarts == 1);
  close_pair(&p);
}

/* ---- what the general version needs, and the other one does not ---- */

/* The version reads no params, as the arm that reads some is gone. The general one reads them. */
Test(engine_observe, params_of_an_arm) {
  NEEDS_NATIVE;
  static const char text[] =
      "param W: f64[40, 40] = uniform(-1.0, 1.0)\n"
      "fn at(x: f64) -> f64 = if x < 0 then sum(tanh(W @ (x * W))) else x\n"
      "fn main(xs: f64[?]) -> f64 = {\n"
      "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < len(xs) { (s + at(xs[i]), i + 1) }; s "
      "}\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p = open_pair(&options, text, "main");
  const char *const most = array_of("0.5", 20, "1.5");
  for (int i = 0; i < 3; i++) run_pair(&p, WORDS(most));
  expect_told(&p.eager, "in `at` is always false");
  hia_run_stats stats = run_pair(&p, WORDS("[0.5, -1.5, 2.5]"));
  cr_assert_eq(stats.version, 0);
  close_pair(&p);
}

/* Objects that a run has made when its guard fails go with it, and results have theirs. */
Test(engine_observe, objects_of_a_run_that_begins_again) {
  NEEDS_NATIVE;
  static const char text[] = "type List = Nil | Cons(head: [(i64, i64)], tail: List)\n"
                             "fn slow(v: i64) -> [(i64, i64)] = [(v / (i + 1), i) for i in 0..v]\n"
                             "fn item(v: i64) -> [(i64, i64)] =\n"
                             "  if v > 9 then concat(slow(v), [(v, v)]) else [(v, v * v), (v, 1)]\n"
                             "fn main(t: (i64, i64), vs: [(i64, i64)]) -> List = {\n"
                             "  let (l, _) = loop (l = Nil, i = 0i64) while i < len(vs) {\n"
                             "    (Cons(item(vs[i].0), l), i + 1) }; Cons([t], l) }\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  pair p = open_learnt(&options, text, "main", WORDS("(1, 2)", array_of("(7, 0)", 30, "(5, 0)")));
  cr_assert_gt(run_pair(&p, WORDS("(1, 3)", "[(3, 1), (4, 1)]")).version, 0);
  for (int i = 0; i < 2; i++) {
    hia_run_stats stats = run_pair(&p, WORDS("(2, 3)", array_of("(2, 0)", 100, "(12, 0)")));
    cr_assert(stats.version == 0 && stats.n_restarts == 1);
  }
  close_pair(&p);
}

/* ---- threads ---- */

/* `grow` makes a tree of 2^d leaves. Leaf number `at` of it is an odd one; with 2^d more it is one
 * that fails; of -1 there is none. */
static const char tree_text[] =
    "type Tree = Leaf(v: i64) | Node(a: Tree, b: Tree) | Odd(v: i64)\n"
    "fn slow(v: i64) -> i64 = {\n"
    "  let (s, _) = loop (s = 1i64, i = 3i64) while i > 0 { (s * v + 100 / v, i - 1) }; s % 1000 "
    "}\n"
    "fn grow(d: i64, at: i64, v: i64) -> Tree =\n"
    "  if d == 0 then (if at < 0 then Leaf(v % 7) else Odd(if at == 0 then v else 0))\n"
    "  else Node(grow(d - 1, if at % 2 == 0 then at / 2 else -1, 2 * v),\n"
    "            grow(d - 1, if at % 2 == 1 then at / 2 else -1, 2 * v + 1))\n"
    "fn sum(t: Tree) -> i64 = match t {\n"
    "  Leaf(v) => v, Node(a, b) => sum(a) + 3 * sum(b) % 1000, Odd(v) => slow(v) }\n"
    "fn main(d: i64, at: i64) -> i64 = sum(grow(d, at, 1))\n";

/* A thief finds that the assumption does not hold, or the run's own thread, or a failure comes
 * first; the run ends as if one thread had made all of it. */
Test(engine_observe, forks) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.threads = 2;
  for (int round = 0; round < 3; round++) {
    pair p = open_learnt(&options, tree_text, "main", WORDS("6", "-1"));
    unsigned n_special = 0, n_again = 0;
    for (int i = 0; i < 40; i++) {
      char at[16], depth[16];
      int d = 10 + i % 3, leaf = (i * 2654) % (1 << d);
      snprintf(at, sizeof at, "%d", i % 4 == 3 ? leaf + (i % 8 == 3 ? 0 : 1 << d) : -1);
      snprintf(depth, sizeof depth, "%d", d);
      hia_run_stats stats = run_pair(&p, WORDS(depth, at));
      n_special += stats.version != 0;
      n_again += stats.n_restarts != 0;
    }
    cr_assert_gt(n_special, 0);
    cr_assert_gt(n_again, 0);
    close_pair(&p);
  }
}

/* Threads that call one function, which is different now and then in all of them. */
typedef struct caller {
  const program *program;
  char expected[3][64];
  int number;
} caller;

static const char *const called_with[] = {"[A(3), B(2)]", "[A(1), C(4), B(1)]", "[D(3), A(2)]"};

static void *call_many(void *arg) {
  const caller *c = arg;
  for (int i = 0; i < 60; i++) {
    int which = (i + c->number) % 7 < 5 ? 0 : 1 + i % 2;
    hia_value *args[2] = {parse(c->program, 0, called_with[which]), parse(c->program, 1, "11")};
    char out[256];
    run(c->program, args, 2, out, sizeof out);
    cr_expect_str_eq(out, c->expected[which]);
    for (int a = 0; a < 2; a++) hia_value_free(args[a]);
    if (i % 16 != 0) continue;
    test_text told = {0};
    cr_expect_eq(hia_function_explain(c->program->function, i % 32, test_text_take, &told, NULL),
                 HIA_OK);
    test_text_free(&told);
  }
  return NULL;
}

Test(engine_observe, several_threads) {
  NEEDS_NATIVE;
  for (int round = 0; round < 4; round++) {
    /* In half of the rounds facts come meanwhile. */
    pair p = round % 2 ? open_inside_learnt("total", WORDS(terms("A(1)"), "5"))
                       : open_inside_pair("total");
    pthread_t threads[4];
    caller callers[4];
    for (int i = 0; i < 3; i++) {
      test_text out = {0};
      run_told(&p.off, WORDS(called_with[i], "11"), &out);
      for (int k = 0; k < 4; k++)
        snprintf(callers[k].expected[i], sizeof callers[k].expected[i], "%s", out.data);
      test_text_free(&out);
    }
    for (int k = 0; k < 4; k++) {
      callers[k].program = &p.eager;
      callers[k].number = k;
      pthread_create(&threads[k], NULL, call_many, &callers[k]);
    }
    for (int k = 0; k < 4; k++) pthread_join(threads[k], NULL);
    close_pair(&p);
  }
}

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

Test(engine_observe, impure_functions) {
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
Test(engine_observe, pure_host_functions) {
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
Test(engine_observe, functions_with_gradients) {
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
Test(engine_observe, fuel_and_limits) {
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
Test(engine_observe, limits_that_native_code_keeps) {
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
Test(engine_observe, timelines) {
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
Test(engine_observe, nested_runs) {
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
Test(engine_observe, observed_runs_that_are_cut) {
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
Test(engine_observe, by_itself) {
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
Test(engine_observe, freed_meanwhile) {
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
Test(engine_observe, without_memory) {
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
Test(engine_observe, versions_in_the_cache) {
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
Test(engine_observe, cached_facts_of_parameters) {
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
Test(engine_observe, facts_from_the_cache_that_are_wrong) {
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
Test(engine_observe, cached_versions_without_guards) {
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
