/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hia_function_observe: what it tells of the points of a program, when it ends, and how it fails.
 * test_api_bad_input_null.c has what it refuses. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const hia_engine_kind observing[] = {HIA_ENGINE_INTERP, HIA_ENGINE_AUTO};
enum { N_KINDS = sizeof observing / sizeof *observing };

static program open_observed(hia_engine_kind kind, const char *text, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  return open_program(&options, text, name);
}

/* What was told of the points, one a line; and when no further ones are wanted. */
typedef struct seeing {
  char text[4000];
  size_t n, most;     /* 0: all */
  hia_function *call; /* for each point, with this value; or NULL */
  hia_value *with;
} seeing;

static const char *or_none(const char *text) { return text ? text : "-"; }

static bool see(void *user, const hia_observed_point *p) {
  static const char *const kinds[] = {"parameter", "branch", "loop"};
  seeing *s = user;
  size_t len = strlen(s->text);
  cr_assert_eq(p->size, sizeof *p);
  cr_assert_leq(p->of, HIA_POINT_OF_LOOP);
  snprintf(s->text + len, sizeof s->text - len,
           "%s %s.%s %u:%u %s: %llu, %llu changes, %llu true, %s to %s of %s\n", kinds[p->of],
           p->function, or_none(p->parameter), p->line, p->column, p->type,
           (unsigned long long)p->times, (unsigned long long)p->changes,
           (unsigned long long)p->times_true, or_none(p->least), or_none(p->most),
           or_none(p->constructors));
  cr_assert_str_eq(p->file, "t.hia");
  if (s->call) {
    hia_value *result = NULL;
    cr_assert_eq(hia_call(s->call, &s->with, 1, &result, NULL), HIA_OK);
    hia_value_free(result);
  }
  return ++s->n != s->most;
}

/* Observes a run with these arguments, of the function's parameters. */
static hia_status observe(hia_function *function, const char *const *texts, uint64_t max_ns,
                          seeing *s, hia_error **error) {
  hia_value *args[12] = {NULL};
  size_t n = 0;
  for (; texts[n]; n++)
    cr_assert_eq(hia_value_parse(function, n, texts[n], &args[n], NULL), HIA_OK, "%s", texts[n]);
  hia_status status = hia_function_observe(function, args, n, max_ns, see, s, error);
  for (size_t i = 0; i < n; i++) hia_value_free(args[i]);
  return status;
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define AN_HOUR    UINT64_C(3600000000000)

static void expect_told(const char *text, const char *name, const char *const *args,
                        const char *expected) {
  for (size_t k = 0; k < N_KINDS; k++) {
    program p = open_observed(observing[k], text, name);
    seeing s = {.n = 0};
    hia_error *error = NULL;
    cr_assert_eq(observe(p.function, args, AN_HOUR, &s, &error), HIA_OK, "%s",
                 hia_error_text(error));
    cr_assert_null(error);
    cr_assert_str_eq(s.text, expected);
    close_program(&p);
  }
}

/* ---- points ---- */

/* The callback gets the least and the most of numbers; bools are counted. */
Test(api_observe, scalars) {
  static const char text[] =
      "fn main(n: i32, k: i64, x: f32, y: f64, b: bool) -> f64 = turn(n, k, x, y, b)\n"
      "fn turn(n: i32, k: i64, x: f32, y: f64, b: bool) -> f64 =\n"
      "  if n == 0 then y + f64(x) else turn(n - 1, k * -10i64, x + 0.25, y, not b)\n";
  expect_told(text, "main", WORDS("3", "7", "-1.0", "2.5", "true"),
              "parameter main.n 1:4 i32: 1, 0 changes, 0 true, 3 to 3 of -\n"
              "parameter main.k 1:4 i64: 1, 0 changes, 0 true, 7 to 7 of -\n"
              "parameter main.x 1:4 f32: 1, 0 changes, 0 true, -1.0 to -1.0 of -\n"
              "parameter main.y 1:4 f64: 1, 0 changes, 0 true, 2.5 to 2.5 of -\n"
              "parameter main.b 1:4 bool: 1, 0 changes, 1 true, - to - of -\n"
              "parameter turn.n 2:4 i32: 4, 3 changes, 0 true, 0 to 3 of -\n"
              "parameter turn.k 2:4 i64: 4, 3 changes, 0 true, -7000 to 700 of -\n"
              "parameter turn.x 2:4 f32: 4, 3 changes, 0 true, -1.0 to -0.25 of -\n"
              "parameter turn.y 2:4 f64: 4, 0 changes, 0 true, 2.5 to 2.5 of -\n"
              "parameter turn.b 2:4 bool: 4, 3 changes, 2 true, - to - of -\n"
              "branch turn.- 3:3 bool: 4, 1 changes, 1 true, - to - of -\n");
}

/* The callback gets the constructors of data, the lengths of arrays, and the sizes of tensors, axis
 * by axis. */
Test(api_observe, objects) {
  static const char text[] =
      "type Color = Red | Green | Blue\n"
      "type Tree = None | Leaf(v: i32) | Node(l: Tree, r: Tree)\n"
      "fn main(t: Tree, cs: [Color], m: f32[?, ?]) -> i64 = i64(size(t)) + less(cs, m, Blue)\n"
      "fn size(t: Tree) -> i32 = match t { None => 0, Leaf(v) => v, Node(l, r) => size(l) + "
      "size(r) "
      "}\n"
      "fn less(cs: [Color], m: f32[?, ?], c: Color) -> i64 =\n"
      "  if len(cs) == 0 then len(m) else less(cs[1..len(cs)], transpose(m), c)\n";
  expect_told(text, "main",
              WORDS("Node(Leaf(1), Node(None, None))", "[Red, Green]", "[[1.0, 2.0, 3.0]]"),
              "parameter main.t 3:4 Tree: 1, 0 changes, 0 true, - to - of Node\n"
              "parameter main.cs 3:4 [Color]: 1, 0 changes, 0 true, 2 to 2 of -\n"
              "parameter main.m 3:4 f32[?, ?]: 1, 0 changes, 0 true, f32[1, 3] to f32[1, 3] of -\n"
              "parameter size.t 4:4 Tree: 5, 3 changes, 0 true, - to - of None, Leaf, Node\n"
              "branch size.- 4:27 bool: 5, 1 changes, 2 true, - to - of None\n"
              "branch size.- 4:27 bool: 3, 2 changes, 1 true, - to - of Leaf\n"
              "parameter less.cs 5:4 [Color]: 3, 2 changes, 0 true, 0 to 2 of -\n"
              "parameter less.m 5:4 f32[?, ?]: 3, 2 changes, 0 true, f32[1, 1] to f32[3, 3] of -\n"
              "parameter less.c 5:4 Color: 3, 0 changes, 0 true, - to - of Blue\n"
              "branch less.- 6:3 bool: 3, 1 changes, 1 true, - to - of -\n");
}

/* The callback gets how often conditions were true, and the rounds of loops, each time that one
 * ends. What the run does not come to is told of, too. */
Test(api_observe, conditions_and_rounds) {
  static const char text[] =
      "fn main(n: i64) -> i64 = {\n"
      "  let (s, _) = loop (s = 0i64, i = 0i64) while i < n {\n"
      "    (s + loop (k = i) while k > 1 { if k % 2 == 0 then k / 2 else k - "
      "1 }, i + 1) };\n"
      "  if s > 1000 then loop (k = s) while k > 0 { k - 1 } else s }\n";
  expect_told(text, "main", WORDS("4"),
              "parameter main.n 1:4 i64: 1, 0 changes, 0 true, 4 to 4 of -\n"
              "loop main.- 2:16 i64: 1, 0 changes, 0 true, 4 to 4 of -\n"
              "loop main.- 3:10 i64: 4, 2 changes, 0 true, 0 to 2 of -\n"
              "branch main.- 3:37 bool: 3, 2 changes, 2 true, - to - of -\n"
              "branch main.- 4:3 bool: 1, 0 changes, 0 true, - to - of -\n"
              "loop main.- 4:20 i64: 0, 0 changes, 0 true, - to - of -\n");
}

/* The words of a tuple are parameters without names. */
Test(api_observe, tuples) {
  static const char text[] = "fn main(p: (i32, (f64, bool)), n: i64) = n\n";
  expect_told(text, "main", WORDS("(1, (2.0, true))", "5"),
              "parameter main.- 1:4 i32: 1, 0 changes, 0 true, 1 to 1 of -\n"
              "parameter main.- 1:4 f64: 1, 0 changes, 0 true, 2.0 to 2.0 of -\n"
              "parameter main.- 1:4 bool: 1, 0 changes, 1 true, - to - of -\n"
              "parameter main.- 1:4 i64: 1, 0 changes, 0 true, 5 to 5 of -\n");
}

/* Points have the types of the instance that these arguments need. */
Test(api_observe, generic_functions) {
  static const char text[] = "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n";
  static const struct {
    const char *args, *told;
  } cases[] = {{"i32", "parameter fact.n 1:4 i32: 5, 4 changes, 0 true, 1 to 5 of -\n"},
               {"i64", "parameter fact.n 1:4 i64: 5, 4 changes, 0 true, 1 to 5 of -\n"},
               {"f64", "parameter fact.n 1:4 f64: 5, 4 changes, 0 true, 1.0 to 5.0 of -\n"}};
  for (size_t k = 0; k < N_KINDS; k++) {
    program p = open_observed(observing[k], text, "fact");
    cr_assert(hia_function_is_generic(p.function));
    hia_value *args[] = {hia_value_i32(p.engine, 5), hia_value_i64(p.engine, 5),
                         hia_value_f64(p.engine, 5)};
    for (int i = 0; i < 3; i++) {
      seeing s = {.n = 0};
      cr_assert_eq(hia_function_observe(p.function, &args[i], 1, AN_HOUR, see, &s, NULL), HIA_OK);
      cr_assert_eq(strncmp(s.text, cases[i].told, strlen(cases[i].told)), 0, "%s", s.text);
      cr_assert_eq(s.n, 2);
      hia_value_free(args[i]);
    }
    close_program(&p);
  }
}

/* ---- see ---- */

static const char steps_text[] =
    "fn step(n: i64, k: i64) -> i64 = if n == 0 then k else step(n - 1, k + n)\n"
    "fn main(n: i64, k: i64) -> i64 = step(n, k)\n";

/* It gets as many points as it wants. */
Test(api_observe, see_may_stop) {
  program p = open_observed(HIA_ENGINE_INTERP, steps_text, "main");
  seeing all = {.n = 0};
  cr_assert_eq(observe(p.function, WORDS("3", "4"), AN_HOUR, &all, NULL), HIA_OK);
  cr_assert_eq(all.n, 5);
  for (size_t most = 1; most <= all.n; most++) {
    seeing s = {.most = most};
    cr_assert_eq(observe(p.function, WORDS("3", "4"), AN_HOUR, &s, NULL), HIA_OK);
    cr_assert_eq(s.n, most);
    cr_assert_eq(strncmp(all.text, s.text, strlen(s.text)), 0);
  }
  close_program(&p);
}

/* It may call functions of the engine, also the one that was observed. */
Test(api_observe, see_may_call) {
  static const char text[] = "fn main(n: i64) -> i64 = if n == 0 then 0 else n + main(n - 1)\n";
  for (size_t k = 0; k < N_KINDS; k++) {
    program p = open_observed(observing[k], text, "main");
    seeing alone = {.n = 0};
    seeing s = {.call = p.function, .with = hia_value_i64(p.engine, 20)};
    cr_assert_eq(observe(p.function, WORDS("6"), AN_HOUR, &alone, NULL), HIA_OK);
    cr_assert_eq(observe(p.function, WORDS("6"), AN_HOUR, &s, NULL), HIA_OK);
    cr_assert_str_eq(s.text, alone.text);
    hia_value_free(s.with);
    close_program(&p);
  }
}

/* What is told is what this run did, whatever runs there were before, and it changes none. */
Test(api_observe, each_run_alone) {
  for (size_t k = 0; k < N_KINDS; k++) {
    program p = open_observed(observing[k], steps_text, "main");
    seeing first = {.n = 0};
    cr_assert_eq(observe(p.function, WORDS("3", "4"), AN_HOUR, &first, NULL), HIA_OK);
    for (int i = 0; i < 5; i++) {
      seeing other = {.n = 0}, s = {.n = 0};
      hia_value *args[] = {hia_value_i64(p.engine, 10), hia_value_i64(p.engine, i)}, *result;
      int64_t n;
      cr_assert_eq(hia_call(p.function, args, 2, &result, NULL), HIA_OK);
      cr_assert_eq(hia_value_get_i64(result, &n), HIA_OK);
      cr_assert_eq(n, 55 + i);
      hia_value_free(result);
      cr_assert_eq(hia_function_observe(p.function, args, 2, AN_HOUR, see, &other, NULL), HIA_OK);
      cr_assert_str_neq(other.text, first.text);
      cr_assert_eq(observe(p.function, WORDS("3", "4"), AN_HOUR, &s, NULL), HIA_OK);
      cr_assert_str_eq(s.text, first.text);
      for (int j = 0; j < 2; j++) hia_value_free(args[j]);
    }
    close_program(&p);
  }
}

/* ---- the end of a run ---- */

/* A run that fails returns its error, with the chain of calls, and nothing is told. */
Test(api_observe, failures) {
  static const char text[] =
      "type T = End | More(t: T)\n"
      "fn divide(a: i64, b: i64) -> i64 = a / b\n"
      "fn down(n: i64) -> i64 = if n == 0 then divide(1, n) + 1 else down(n - 1) + 1\n"
      "fn stop(n: i64) -> i64 = if n > 2 then stop(n - 1) else fail(n + 40)\n"
      "fn pick(x: f64[?], i: i64) -> f64 = x[i] + 1.0\n";
  static const struct {
    const char *name, *arg;
    hia_status status;
    const char *words;
  } cases[] = {
      {"down", "2", HIA_DIV_ZERO, "in divide at t.hia:2:38\n  called from down at t.hia:3:41"},
      {"stop", "5", HIA_FAILED, "42"},
  };
  for (size_t k = 0; k < N_KINDS; k++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      program p = open_observed(observing[k], text, cases[i].name);
      seeing s = {.n = 0};
      hia_error *error = NULL;
      cr_assert_eq(observe(p.function, WORDS(cases[i].arg), AN_HOUR, &s, &error), cases[i].status);
      cr_assert_eq(hia_error_status(error), cases[i].status);
      cr_assert(strstr(hia_error_text(error), cases[i].words), "%s", hia_error_text(error));
      cr_assert_eq(s.n, 0);
      hia_error_free(error);
      cr_assert_eq(observe(p.function, WORDS(cases[i].arg), AN_HOUR, &s, NULL), cases[i].status);
      close_program(&p);
    }
  program p = open_observed(HIA_ENGINE_INTERP, text, "pick");
  seeing s = {.n = 0};
  cr_assert_eq(observe(p.function, WORDS("[1.0, 2.0]", "2"), AN_HOUR, &s, NULL), HIA_RANGE);
  cr_assert_eq(observe(p.function, WORDS("[1.0, 2.0]", "1"), AN_HOUR, &s, NULL), HIA_OK);
  cr_assert_eq(s.n, 2);
  close_program(&p);
}

/* An endless run ends after the time, or after some hundred thousand values; or when it needs too
 * much. What it came to until then is told. */
Test(api_observe, endless_runs) {
  static const char text[] =
      "fn round(n: i64) -> i64 = loop (i = n) while i != n + 1 { if i < 0 then i + 4 else i + 2 }\n"
      "fn tail(n: i64) -> i64 = if n == 1 then 0 else tail(n + 2)\n"
      "fn deep(n: i64) -> i64 = if n == 1 then 0 else 1 + deep(n + 2)\n"
      "fn wide(n: i64) -> i64 = if n == 1 then 0 else wide(n + 2) + wide(n + 4)\n";
  static const struct {
    const char *name, *arg;
  } cases[] = {{"round", "0"}, {"tail", "2"}, {"deep", "2"}, {"wide", "2"}};
  static const uint64_t times[] = {1, 1000000, 0, AN_HOUR};
  for (size_t k = 0; k < N_KINDS; k++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      for (size_t t = 0; t < sizeof times / sizeof *times; t++) {
        program p = open_observed(observing[k], text, cases[i].name);
        seeing s = {.n = 0};
        hia_error *error = NULL;
        cr_assert_eq(observe(p.function, WORDS(cases[i].arg), times[t], &s, &error), HIA_OK,
                     "%s: %s", cases[i].name, hia_error_text(error));
        cr_assert_null(error);
        cr_assert_geq(s.n, 2);
        close_program(&p);
      }
}

/* ---- hosts ---- */

static bool free_module(void *user, const hia_observed_point *p) {
  hia_module **module = user;
  hia_module_free(*module);
  *module = NULL;
  return p->line != 0;
}

/* A module that is freed meanwhile lives until the call returns. */
Test(api_observe, a_module_that_is_freed) {
  for (size_t k = 0; k < N_KINDS; k++) {
    program p = open_observed(observing[k], steps_text, "main");
    hia_value *args[] = {hia_value_i64(p.engine, 10), hia_value_i64(p.engine, 1)};
    cr_assert_eq(hia_function_observe(p.function, args, 2, AN_HOUR, free_module, &p.module, NULL),
                 HIA_OK);
    cr_assert_null(p.module);
    for (int i = 0; i < 2; i++) hia_value_free(args[i]);
    close_program(&p);
  }
}

/* ---- what observed runs lead to ---- */

/* A version that reads an argument as a param begins again with the params of the program, though
 * it reads none of those itself: the arm that does is not there. */
Test(api_observe, params_of_a_run_that_begins_again) {
  NEEDS_NATIVE;
  static const char text[] =
      "type T = A(v: f64) | B(v: f64)\n"
      "param W: f64[8, 8] = uniform(-1.0, 1.0)\n"
      "fn at(t: T, m: f64[?, ?]) -> f64 = match t {\n"
      "  A(v) => sum(tanh(m @ (v * m))), B(v) => sum(tanh(W @ (v * W))) + sum(m) }\n"
      "fn main(ts: [T], m: f64[?, ?]) -> f64 = {\n"
      "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < len(ts) {\n"
      "    (s + at(ts[i], m), i + 1) }; s }\n";
  static const char often[] = "[A(1), A(2), A(3), A(4), A(5), A(6), A(7), A(8), A(9), A(10), A(11),"
                              " A(12), A(13), A(14), A(15), A(16), A(17), A(18), A(19), A(20)]";
  static const char *const all[] = {often, often, often, often, "[A(3), B(0.5), A(1)]", often};
  static const hia_speculate modes[] = {HIA_SPECULATE_OFF, HIA_SPECULATE_EAGER};
  double results[2][sizeof all / sizeof *all];
  uint32_t n_restarts = 0;
  for (int k = 0; k < 2; k++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.speculate = modes[k];
    program p = open_program(&options, text, "main");
    hia_value *args[2];
    cr_assert_eq(hia_value_parse(p.function, 1, "[[1.0, 2.0], [3.0, 4.0]]", &args[1], NULL),
                 HIA_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      hia_value *result;
      hia_run_stats stats = HIA_RUN_STATS_INIT;
      hia_run_options run = HIA_RUN_OPTIONS_INIT;
      run.stats = &stats;
      cr_assert_eq(hia_value_parse(p.function, 0, all[i], &args[0], NULL), HIA_OK);
      cr_assert_eq(hia_run(p.function, args, 2, &run, &result, NULL), HIA_OK);
      cr_assert_eq(hia_value_get_f64(result, &results[k][i]), HIA_OK);
      if (k) cr_assert_eq(results[1][i], results[0][i], "run %zu", i);
      if (k) n_restarts += stats.n_restarts;
      hia_value_free(result);
      hia_value_free(args[0]);
    }
    hia_value_free(args[1]);
    close_program(&p);
  }
  cr_assert_eq(n_restarts, 1);
}

static void *observe_often(void *user) {
  const program *p = user;
  const char *told = "parameter main.n 2:4 i64: 1, 0 changes, 0 true, 50 to 50 of -\n";
  for (int i = 0; i < 20; i++) {
    seeing s = {.n = 0};
    cr_assert_eq(observe(p->function, WORDS("50", "1"), AN_HOUR, &s, NULL), HIA_OK);
    cr_assert_eq(strncmp(s.text, told, strlen(told)), 0, "%s", s.text);
  }
  return NULL;
}

/* Any number of threads may observe runs of one function at a time, also the first ones. */
Test(api_observe, several_threads) {
  enum { N = 4 };
  for (size_t k = 0; k < N_KINDS; k++) {
    program p = open_observed(observing[k], steps_text, "main");
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
      cr_assert_eq(pthread_create(&threads[i], NULL, observe_often, &p), 0);
    for (int i = 0; i < N; i++) cr_assert_eq(pthread_join(threads[i], NULL), 0);
    close_program(&p);
  }
}

/* One request for memory after the other is refused. */
Test(api_observe, without_memory) {
  bool is_over = false;
  for (long at = 0; !is_over; at++) {
    cr_assert_lt(at, 100000);
    test_heap heap;
    test_heap_init(&heap, -1);
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = HIA_ENGINE_INTERP;
    options.allocator = &heap.allocator;
    program p = open_program(&options, steps_text, "main");
    hia_value *args[] = {hia_value_i64(p.engine, 10), hia_value_i64(p.engine, 1)};
    seeing s = {.n = 0};
    hia_error *error = NULL;
    heap.left = at;
    hia_status status = hia_function_observe(p.function, args, 2, AN_HOUR, see, &s, &error);
    is_over = status == HIA_OK && heap.left >= 0;
    heap.left = -1;
    cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s: %s", hia_status_word(status),
              hia_error_text(error));
    hia_error_free(error);
    for (int i = 0; i < 2; i++) hia_value_free(args[i]);
    close_program(&p);
    cr_assert_eq(heap.blocks, 0, "%ld: %ld blocks", at, (long)heap.blocks);
  }
}
