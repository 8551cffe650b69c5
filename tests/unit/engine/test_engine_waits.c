/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Iterations of comprehensions that wait for tensors while others go on: how wide waves are, which
 * failure is the first, what a hundred thousand of them take, and that runs may end amid them.
 * tests/programs/batching_waits.hia has results. */
#include "tests/unit/helpers/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "param W: f32[64, 64] = glorot_uniform()\n"
    "param V: f32[64, 64] = glorot_uniform()\n"
    "param E: f32[50, 64] = uniform(-1.0, 1.0)\n"
    /* Each instance goes on until its own value is small. */
    "fn steps(x: f32[64], n: i32) -> (f32[64], i32) = { let y = tanh(W @ x);\n"
    "  if n == 0 or sum(y * y) < 0.5 then (y, n) else steps(y, n - 1) }\n"
    "fn exits(n: i32) = [steps(E[i % 50] * f32(i % 7 + 1), i % 30).1 for i in 0..n]\n"
    "fn total(n: i32) -> i32 = sum(exits(n))\n"
    "fn longest(n: i32) -> i32 = { let left = exits(n); max([i % 30 - left[i] for i in 0..n]) }\n"
    /* Comprehensions in iterations. */
    "fn inner(x: f32[64], m: i32) -> i32 =\n"
    "  sum([if sum(tanh(W @ (x * f32(j + 1)))) > 0.0 then 1 else 2 for j in 0..m])\n"
    "fn nested(n: i32) -> i32 = sum([inner(E[i % 50], 1 + inner(E[i % 50] * f32(i), 3)) for i in "
    "0..n])\n"
    /* In the first two of these the iteration `bad` fails by depth, and the iteration `worse` by
     * a division. */
    "fn deep(k: i32) -> i32 = if k == 0 then 0 else 1 + deep(k - 1)\n"
    "fn ends(n: i32, bad: i32, worse: i32) -> i32 = sum([{ let y = tanh(W @ E[i % 50]);\n"
    "  if sum(y) > 900.0 then 0 else if i == bad then deep(2000000000)\n"
    "  else if i == worse then 1 / (i - worse) else i } for i in 0..n])\n"
    /* Iteration a fails after seven steps, b after the first. */
    "fn fails(x: f32[64], n: i32, at: i32) -> i32 = { let y = tanh(W @ x); if n == at then 1 / (n "
    "- at)\n"
    "  else if n == 0 or sum(y) > 900.0 then 1 else fails(y, n - 1, at) }\n"
    "fn race(n: i32, a: i32, b: i32) -> i32 = sum([fails(E[i % 50], 9,\n"
    "  if i == a then 2 else if i == b then 8 else -1) for i in 0..n])\n"
    "fn races(n: i32, a: i32, b: i32) -> i32 =\n"
    "  sum([race(3, a - 3 * i, b - 3 * i) + fails(E[i], 4, if 3 * i > a + 20 then 3 else -1) for i "
    "in 0..n])\n"
    /* In each from a on, the second iteration fails at once while the first waits. */
    "fn at_once(n: i32, a: i32) -> i32 =\n"
    "  sum([sum([fails(E[j], 9, if i >= a and j == 1 then 9 else -1) for j in 0..3]) for i in "
    "0..n])\n"
    /* The last iterations of inner comprehensions do not wait. */
    "fn quick(x: f32[64], m: i32) -> i32 = sum([if j == m - 1 then 1\n"
    "  else steps(x * f32(j + 1), 1).1 + 1 for j in 0..m])\n"
    "fn quicks(n: i32) -> i32 = sum([quick(E[i % 50], 1 + quick(E[i % 50] * f32(i), 3)) for i in "
    "0..n])\n"
    /* A complete tree, of which the values of a node decide that it has children. */
    "fn tree(x: f32[64], n: i32) -> i32 = { let y = tanh(W @ x);\n"
    "  let l = if n > 0 and y[0] > -2.0 then tree(y, n - 1) else 0;\n"
    "  let r = if n > 0 and y[1] > -2.0 then tree(y * 0.5, n - 1) else 0; l + r + 1 }\n"
    "fn trees(n: i32) -> i32 = tree(E[n], n)\n"
    /* What waits for the values of one child alone goes with that. */
    "fn norm(x: f32[64]) -> f32[64] = { let y = tanh(W @ x); if y[0] > 2.0 then y * 0.5 else y }\n"
    "fn normed(k: i32, n: i32) -> f32[64] = if n == 0 then norm(E[k % 50] * f32(k)) else\n"
    "  norm(norm(normed(2 * k, n - 1)) + norm(normed(2 * k + 1, n - 1)))\n"
    "fn norms(n: i32) -> i32 = i32(argmax(normed(1, n)))\n"
    /* What a step computes decides whether a second product comes before the next one. */
    "fn turns(x: f32[64], n: i32) -> i32 = if n == 0 then 0 else { let y = tanh(W @ x);\n"
    "  if y[0] > 0.0 then 1 + turns(tanh(V @ y), n - 1) else turns(y, n - 1) }\n"
    "fn phases(n: i32) -> i32 = sum([turns(E[i % 50] * f32(i % 7 + 1), 20) for i in 0..n])\n"
    /* A tree waits likewise, of which the right children come later. */
    "fn uneven(x: f32[64], n: i32) -> i32 = { let y = tanh(W @ x);\n"
    "  let l = if n > 0 and y[0] > -2.0 then uneven(y, n - 1) else 0;\n"
    "  let r = if n > 0 and y[1] > -2.0 then uneven(tanh(V @ y), n - 1) else 0; l + r + 1 }\n"
    "fn unevens(n: i32) -> i32 = uneven(E[n], n)\n"
    /* Several products of one matrix before something is decided. */
    "fn stride(x: f32[64], k: i32, n: i32) -> i32 = if n == 0 then 0 else {\n"
    "  let (y, _) = loop (y = x, j = 0) while j <= k { (tanh(W @ y), j + 1) };\n"
    "  if y[0] > 0.0 then 1 + stride(y, k, n - 1) else stride(y, k, n - 1) }\n"
    "fn strides(n: i32) -> i32 = sum([stride(E[i % 50] * f32(i % 7 + 1), i % 5, 6) for i in "
    "0..n])\n"
    /* Iterations wait for all that is pending, of which some depends on other rows. */
    "fn stacked(n: i32) -> i32 = sum([{ let rows = [{\n"
    "  let (y, _) = loop (y = E[(i + j) % 50], k = 0) while k < 4 { (tanh(W @ y), k + 1) }; y } "
    "for "
    "j in 0..i % 3 + 1];\n"
    "  if max(rows @ E[i % 50]) > 0.1 then 1 else 2 } for i in 0..n])\n"
    /* What is shared with iterations, and what they hold. */
    "fn held(n: i32) -> i32 = sum([{ let a = [k * i for k in 0..500]; let (y, m) = steps(E[i % "
    "50], 9);\n"
    "  a[m] + sum(a) } for i in 0..n])\n"
    "fn heavy(n: i32) -> i32 = sum([{ let a = [k * i for k in 0..20000]; let (y, m) = steps(E[i % "
    "50], "
    "9);\n  a[m] + sum(a) } for i in 0..n])\n"
    "fn loss(n: i32) -> f32 = sum([{ let (y, k) = steps(E[i % 50], 3 + i % 9); y[i % 64] * f32(k) "
    "} for i in 0..n])\n"
    "fn slope(n: i32) -> i32 = { let (x, (w, e)) = value_and_grad(loss, wrt = (W, E))(n);\n"
    "  i32((x + sum(w) + sum(e)) * 1.0e4) }\n";

/* Instances wait, each as often as its number says, and leave rows that nothing waits for; number
 * `bad` fails then. */
static const char leaving[] =
    "param W: f32[64, 64] = glorot_uniform()\n"
    "param V: f32[64, 64] = glorot_uniform()\n"
    "param E: f32[50, 64] = uniform(-1.0, 1.0)\n"
    "fn waits(x: f32[64], n: i32) -> f32[64] = { let y = tanh(W @ x);\n"
    "  if n == 0 or sum(y) > 900.0 then y else waits(y, n - 1) }\n"
    "fn chain(x: f32[64], n: i32) -> f32[64] = {\n"
    "  let (y, _) = loop (y = x, k = 0) while k < n { (tanh(V @ y), k + 1) }; y }\n"
    "fn leaves(n: i32, bad: i32) -> i32 = i32(1000.0 * sum([{ let y = chain(waits(E[i % 50], i % "
    "20), 40);\n"
    "  sum(y) + f32(if i == bad then 1 / (i - bad) else 0) } for i in 0..n]))\n"
    /* They leave rows, wait for others, and then for these. */
    "fn returns(n: i32) -> i32 = sum([{ let y = chain(E[i % 50], 40); let z = waits(E[i % 50], i % "
    "20);\n"
    "  let k = if sum(y) + sum(z) > 900.0 then 2 else 1;\n"
    "  k + i32(100.0 * sum(waits(y * 0.5, i % 3))) } for i in 0..n])\n";

typedef struct outcome {
  hia_status status;
  int32_t value;
  hia_run_stats stats;
  char error[400];
} outcome;

typedef struct limits {
  size_t depth, memory;
  uint64_t timeout_ns;
} limits;

static outcome run_with(program *p, const char *name, const int32_t *numbers, size_t n, limits l) {
  hia_value *args[3], *result = NULL;
  hia_error *error = NULL;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  outcome o = {.stats = HIA_RUN_STATS_INIT};
  options.stats = &o.stats;
  options.max_depth = l.depth;
  options.max_memory = l.memory;
  options.timeout_ns = l.timeout_ns;
  for (size_t i = 0; i < n; i++) args[i] = hia_value_i32(p->engine, numbers[i]);
  o.status = hia_run(find_function(p->module, name), args, n, &options, &result, &error);
  if (o.status == HIA_OK) hia_value_get_i32(result, &o.value);
  snprintf(o.error, sizeof o.error, "%s", o.status ? hia_error_text(error) : "");
  hia_error_free(error);
  hia_value_free(result);
  for (size_t i = 0; i < n; i++) hia_value_free(args[i]);
  return o;
}

static outcome run(program *p, const char *name, int32_t n) {
  return run_with(p, name, &n, 1, (limits){0});
}

static program open_of(const char *program_text, const char *name, hia_batching batch,
                       uint32_t flags, unsigned threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.batching = batch;
  options.flags = flags;
  options.threads = threads;
  return open_program(&options, program_text, name);
}

static program open_with(hia_batching batch, uint32_t flags, unsigned threads) {
  return open_of(text, "total", batch, flags, threads);
}

/* An oracle that knew all decisions would compute step k of all instances in one wave. */
Test(engine_waits, waves_are_as_wide_as_an_oracles) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
#ifdef HIA_STRESS
  enum { WIDEST = 64 }; /* more rows are settled before all wait */
#else
  enum { WIDEST = 1024 };
#endif
  for (int32_t n = 16; n <= WIDEST; n *= 4) {
    outcome o = run(&p, "total", n), alone = run(&none, "total", n);
    uint64_t n_steps = (uint64_t)run(&none, "longest", n).value + 1, oracle = n_steps;
    cr_expect_eq(o.value, alone.value);
    cr_expect_leq(o.stats.batch_waves, oracle + oracle / 4, "%d: %llu rows in %llu waves, not %llu",
                  n, (unsigned long long)o.stats.batch_rows,
                  (unsigned long long)o.stats.batch_waves, (unsigned long long)oracle);
  }
  /* Two comprehensions one after the other in each iteration. */
  static const char *const names[] = {"nested", "quicks"};
  for (size_t i = 0; i < 2; i++) {
    outcome o = run(&p, names[i], 200), alone = run(&none, names[i], 200);
    cr_expect_eq(o.value, alone.value);
    cr_expect_geq(o.stats.batch_rows, 100 * o.stats.batch_waves, "%llu rows in %llu waves",
                  (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
  }
  close_program(&none);
  close_program(&p);
}

/* The children of all nodes of a level come together. What they decide, and what the right one
 * gets, is no product, and so no row. */
Test(engine_waits, siblings_wait_together) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, HIA_FLAG_NO_REUSE, 1);
  for (int32_t n = 0; n <= 8; n++) {
    outcome o = run(&p, "trees", n);
    cr_expect_eq(o.value, (2 << n) - 1);
    cr_expect_leq(o.stats.batch_waves, (uint64_t)n + 1, "%d: %llu rows in %llu waves", n,
                  (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
  }
  close_program(&p);
}

/* Those that have waited less leave rows that nothing waits for. If these were computed as soon as
 * there are many, they would be in waves of their own. */
Test(engine_waits, what_nothing_waits_for_stays) {
  NEEDS_NATIVE;
#ifdef HIA_STRESS
  enum { MORE = 1 << 20 }; /* rows are settled before there are many: only results count */
#else
  enum { MORE = 4 };
#endif
  for (uint32_t threads = 1; threads <= 3; threads += 2) {
    program p = open_of(leaving, "returns", HIA_BATCH_SEGMENTS, HIA_FLAG_NO_REUSE, threads),
            none = open_of(leaving, "returns", HIA_BATCH_NONE, 0, 1);
    for (int32_t n = 4; n <= 100; n *= 5) {
      int32_t all[] = {n, -1};
      outcome o = run_with(&p, "leaves", all, 2, (limits){0});
      cr_expect_eq(o.value, run_with(&none, "leaves", all, 2, (limits){0}).value);
      cr_expect(threads > 1 || o.stats.batch_waves <= 20 + 40 + MORE, "%d: %llu rows in %llu waves",
                n, (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
      cr_expect_eq(run(&p, "returns", n).value, run(&none, "returns", n).value);
      for (int32_t bad = 0; bad < n; bad += 7) {
        int32_t numbers[] = {n, bad};
        o = run_with(&p, "leaves", numbers, 2, (limits){0});
        outcome alone = run_with(&none, "leaves", numbers, 2, (limits){0});
        cr_expect_eq(o.status, HIA_DIV_ZERO);
        cr_expect_str_eq(o.error, alone.error);
      }
    }
    close_program(&none);
    close_program(&p);
  }
}

/* A leaf has a row, each node above three: for each child, and for their sum; and `argmax` has one.
 */
Test(engine_waits, what_waits_for_one_sibling_goes_with_it) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t n = 0; n <= 8; n++) {
    outcome o = run(&p, "norms", n);
    cr_expect_eq(o.value, run(&none, "norms", n).value);
    cr_expect_eq(o.stats.batch_rows, (4u << n) - 2);
    cr_expect_leq(o.stats.batch_waves, 3 * (uint64_t)n + 2, "%d: %llu rows in %llu waves", n,
                  (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
  }
  close_program(&none);
  close_program(&p);
}

/* Some instances wait for a product, others for two, one after the other. If all that is pending
 * were computed whenever all wait, the first products would come in two waves. */
Test(engine_waits, what_is_behind_catches_up) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t n = 8; n <= 200; n *= 5) {
    outcome o = run(&p, "phases", n), alone = run(&none, "phases", n);
    cr_expect_eq(o.value, alone.value);
    cr_expect_gt(o.value, 0);
    cr_expect_leq(o.stats.batch_waves, 40, "%d: %llu rows in %llu waves", n,
                  (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
  }
  for (int32_t n = 2; n <= 8; n++) {
    outcome o = run(&p, "unevens", n);
    cr_expect_eq(o.value, (2 << n) - 1);
    cr_expect_leq(o.stats.batch_waves, 2 * (uint64_t)n + 2, "%d: %llu rows in %llu waves", n,
                  (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
  }
  outcome o = run(&p, "strides", 60);
  cr_expect_leq(o.stats.batch_waves, 6 * 5, "%llu rows in %llu waves",
                (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
  close_program(&none);
  close_program(&p);
}

Test(engine_waits, every_way_has_the_same_results) {
  static const char *const names[] = {"total",  "nested", "held",    "slope",
                                      "quicks", "phases", "strides", "stacked"};
  static const int32_t sizes[] = {0, 1, 2, 3, 17, 64, 200, 600}; /* the last in several parts */
  NEEDS_NATIVE;
  program none = open_with(HIA_BATCH_NONE, 0, 1);
  for (unsigned threads = 1; threads <= 3; threads++)
    for (uint32_t flags = 0; flags <= HIA_FLAG_NO_REUSE; flags += HIA_FLAG_NO_REUSE) {
      program p = open_with(HIA_BATCH_SEGMENTS, flags, threads);
      for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
          outcome o = run(&p, names[i], sizes[k]), alone = run(&none, names[i], sizes[k]);
          cr_expect_eq(o.status, HIA_OK);
          cr_expect_eq(o.value, alone.value, "%s(%d) on %u threads: %d, not %d", names[i], sizes[k],
                       threads, o.value, alone.value);
        }
      close_program(&p);
    }
  close_program(&none);
}

Test(engine_waits, the_first_failure_counts) {
  static const int32_t cases[][3] = {{40, 20, 30},  {40, 30, 20},   {40, 0, 39},    {40, 39, 0},
                                     {3, 1, -1},    {600, 20, 30},  {600, 400, 20}, {600, 20, 400},
                                     {600, 599, 0}, {600, 300, 299}};
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    program p = open_with(HIA_BATCH_SEGMENTS, 0, threads), none = open_with(HIA_BATCH_NONE, 0, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      limits l = {.depth = 1 << 20};
      outcome o = run_with(&p, "ends", cases[i], 3, l),
              alone = run_with(&none, "ends", cases[i], 3, l);
      bool is_deep = cases[i][2] < 0 || cases[i][1] < cases[i][2];
      cr_expect_eq(o.status, is_deep ? HIA_DEPTH : HIA_DIV_ZERO, "%zu: %s", i, o.error);
      if (!is_deep) cr_expect_str_eq(o.error, alone.error);
    }
    close_program(&none);
    close_program(&p);
  }
}

/* What fails early on waits for what is before it. */
Test(engine_waits, an_earlier_iteration_fails_later) {
  static const int32_t cases[][3] = {
      {20, 3, 11}, {20, 11, 3},  {20, 19, 0},    {20, 0, 1},     {20, 5, 5},      {20, 4, -1},
      {20, -1, 4}, {20, -1, -1}, {600, 30, 400}, {600, 400, 30}, {600, 301, 300}, {600, 599, 0}};
  NEEDS_NATIVE;
  program none = open_with(HIA_BATCH_NONE, 0, 1);
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    program p = open_with(HIA_BATCH_SEGMENTS, 0, threads);
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
      const char *name = i % 2 ? "races" : "race";
      outcome o = run_with(&p, name, cases[i / 2], 3, (limits){0}),
              alone = run_with(&none, name, cases[i / 2], 3, (limits){0});
      cr_expect_eq(o.status, alone.status, "%s, %zu: %s", name, i / 2, o.error);
      cr_expect_eq(o.value, alone.value);
      cr_expect_str_eq(o.error, alone.error);
    }
    close_program(&p);
  }
  close_program(&none);
}

Test(engine_waits, none_begins_behind_a_failure) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 0, 1), none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t a = 0; a < 6; a++) {
    const int32_t numbers[2] = {5, a};
    outcome o = run_with(&p, "at_once", numbers, 2, (limits){0}),
            alone = run_with(&none, "at_once", numbers, 2, (limits){0});
    cr_expect_eq(o.status, alone.status);
    cr_expect_str_eq(o.error, alone.error);
  }
  close_program(&none);
  close_program(&p);
}

/* Calls are counted up to the failure, so no iteration behind it may have begun. */
Test(engine_waits, counts_are_those_of_one_after_the_other) {
  static const int32_t cases[][3] = {{20, 3, 11}, {20, 19, 0}, {20, 5, 5}, {20, -1, -1}};
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, HIA_FLAG_COUNT, 1),
          none = open_with(HIA_BATCH_NONE, HIA_FLAG_COUNT, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    outcome o = run_with(&p, "race", cases[i], 3, (limits){0}),
            alone = run_with(&none, "race", cases[i], 3, (limits){0});
    cr_expect_eq(o.stats.calls, alone.stats.calls);
    cr_expect_eq(o.stats.rounds, alone.stats.rounds);
  }
  close_program(&none);
  close_program(&p);
}

/* A hundred thousand iterations wait for the same fifty rows. */
Test(engine_waits, what_waits_costs_its_frames) {
  NEEDS_NATIVE;
  enum { MANY = 100000, MOST = 1000 };
  program p = open_with(HIA_BATCH_SEGMENTS, 0, 1), none = open_with(HIA_BATCH_NONE, 0, 1);
  outcome o = run(&p, "total", MANY), alone = run(&none, "total", MANY);
  cr_expect_eq(o.value, alone.value);
  cr_expect_lt(o.stats.peak_bytes, (uint64_t)MANY * MOST, "%llu bytes",
               (unsigned long long)o.stats.peak_bytes);
  close_program(&none);
  close_program(&p);
}

/* The least limit of memory with which the function can be run. */
static size_t least_memory(program *p, const char *name, int32_t n) {
  size_t most = 1 << 12;
  while (run_with(p, name, &n, 1, (limits){.memory = most}).status != HIA_OK) {
    cr_assert_lt(most, (size_t)64 << 20);
    most *= 2;
  }
  return most;
}

/* Where there is little memory, few iterations wait. */
Test(engine_waits, takes_little_memory_if_there_is_little) {
  static const char *const names[] = {"total", "nested", "held", "slope"};
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 0, 1), none = open_with(HIA_BATCH_NONE, 0, 1);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int32_t n = 300;
    outcome right = run(&none, names[i], n);
    size_t most = 2 * least_memory(&none, names[i], n) + (64 << 10);
    outcome o = run_with(&p, names[i], &n, 1, (limits){.memory = most});
    cr_expect_eq(o.status, HIA_OK, "%s with %zu bytes: %s", names[i], most, o.error);
    cr_expect_eq(o.value, right.value);
  }
  /* All of these together would hold 5 MB. */
  int32_t n = 60, right = run(&none, "heavy", n).value;
  for (size_t most = 1 << 18; most <= 1 << 22; most += most / 4) {
    outcome o = run_with(&p, "heavy", &n, 1, (limits){.memory = most});
    cr_expect_eq(o.status, HIA_OK, "%zu bytes: %s", most, o.error);
    cr_expect(o.status || o.value == right);
  }
  close_program(&none);
  close_program(&p);
}

/* Runs that end amid waiting iterations leave nothing that later ones meet. */
Test(engine_waits, runs_end_at_any_time) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    program p = open_with(HIA_BATCH_SEGMENTS, 0, threads);
    int32_t n = 300, right = run(&p, "nested", n).value;
    unsigned n_ended = 0;
    for (unsigned i = 1; i < 60; i++) {
      outcome o = run_with(&p, "nested", &n, 1, (limits){.timeout_ns = (uint64_t)i * i * 1000});
      n_ended += o.status == HIA_DEADLINE;
      cr_expect(o.status == HIA_DEADLINE || (o.status == HIA_OK && o.value == right), "%s",
                o.error);
      o = run_with(&p, "held", &n, 1, (limits){.memory = (size_t)i << 14});
      cr_expect(o.status == HIA_OK || o.status == HIA_MEMORY, "%s", o.error);
      if (i % 10 == 0) cr_expect_eq(run(&p, "nested", n).value, right);
    }
    cr_expect_gt(n_ended, 0);
    close_program(&p);
  }
}

/* ---- effects ---- */

static int32_t order[64];
static size_t n_calls;

static int32_t note(int32_t i) {
  if (n_calls < 64) order[n_calls++] = i;
  return i;
}

/* Impure functions are called in sequential order, so these iterations wait one after the other. */
Test(engine_waits, impure_functions_are_called_in_order) {
  NEEDS_NATIVE;
  static const char with_effects[] = "extern impure fn note(i: i32) -> i32\n"
                                     "param W: f32[64, 64] = glorot_uniform()\n"
                                     "param E: f32[50, 64] = uniform(-1.0, 1.0)\n"
                                     "fn main(n: i32) -> i32 = sum([{ let a = note(2 * i);\n"
                                     "  if sum(tanh(W @ E[i])) > 0.0 then a + note(2 * i + 1) else "
                                     "note(2 * i + 1) } for i in 0..n])\n";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 1;
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern impure fn note(i: i32) -> i32";
  host.function = (void (*)(void))note;
  program p;
  cr_assert_eq(hia_engine_new(&options, &p.engine, NULL), HIA_OK);
  cr_assert_eq(hia_engine_register(p.engine, &host, NULL), HIA_OK);
  p.module = load_module(p.engine, "t.hia", with_effects);
  n_calls = 0;
  cr_expect_eq(run(&p, "main", 20).status, HIA_OK);
  cr_expect_eq(n_calls, 40);
  for (size_t i = 0; i < n_calls; i++) cr_expect_eq(order[i], (int32_t)i);
  close_program(&p);
}
