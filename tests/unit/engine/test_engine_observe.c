/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions that assume what runs do inside: that they are made of what observed runs have shown,
 * that a run which is different begins again and ends as any other, and when no run uses them any
 * more. test_suppose.c tests what facts make of a graph, test_engine_speculate.c versions that
 * assume something of arguments alone. */
#include "tests/unit/helpers/observed_pairs.h"

#include <pthread.h>

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
