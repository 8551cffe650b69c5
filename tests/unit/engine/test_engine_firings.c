/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the interpreter computes for many calls at a time (runtime/interp/later/later.h): as many
 * firings as there must be, and whatever ends a run, what it gives without. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/outcome.h"
#include <hiaton/params.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "param W: f32[24, 48] = uniform(-0.3, 0.3)\n"
    "param U: f32[24, 48] = uniform(-0.3, 0.3)\n"
    "param V: f32[5, 24] = uniform(-0.3, 0.3)\n"
    "param T: f32[6, 8, 24] = uniform(-0.3, 0.3)\n"
    "param E: f32[30, 24] = uniform(-1.0, 1.0)\n"
    "param b: f32[24] = uniform(-0.5, 0.5)\n"
    "fn encode(n: i32, k: i32) -> f32[24] = if n == 0 then E[k % 30]\n"
    "  else tanh(W @ concat(encode(n - 1, 2 * k), encode(n - 1, 2 * k + 1)))\n"
    "fn tree(n: i32) -> f32 = encode(n, 1)[3]\n"
    "fn total(n: i32) -> f32 = sum([encode(i % 3, i)[1] for i in 0..n])\n"
    /* Sentences of different lengths, each with a loss. */
    "fn chain(n: i32, k: i32) -> f32[24] =\n"
    "  if n == 0 then E[k % 30] else tanh(W @ concat(E[(n + k) % 30], chain(n - 1, k)) + b)\n"
    "fn losses(n: i32) -> f32 = sum([cross_entropy(V @ chain(i, i), i % 5) for i in 0..n])\n"
    /* Operations of all kinds, of sizes that are not known before. */
    "fn kinds(x: f32[?], m: f32[?, ?], s: f32) -> f32[?] = {\n"
    "  let h = sigmoid(m @ x) * s + max(x, 0.25);\n"
    "  let p = softmax(stack(h, -h, x));\n"
    "  let t = transpose(p)[1..len(x)];\n"
    "  let q = sum(t, axis = 1) + concat(h, h)[0..len(x) - 1] + mean(p @ m, axis = 0)[1..len(x)];\n"
    "  if s > 0.5 then exp(-abs(q)) else select(q > 0.125, q, q * s) }\n"
    "fn rest(n: i32) -> f32 = {\n"
    "  let all = [{ let x = E[i % 30][0..i64(4 + n % 3)];\n"
    "    kinds(x, outer(x, x) * 2.0, f32(i % 7) * 0.25) } for i in 0..n];\n"
    "  sum([sum(v) for v in all]) }\n"
    "fn deep(n: i32) -> f32 = sum([sum(reshape(T @ chain(i % 4, i), 48)[3..30]) for i in 0..n])\n"
    /* An element that is looked at before each next step. */
    "fn narrow(n: i32) -> f32 = { let (_, h) = loop (i = 0, h: f32[24] = b) while i < n and h[0] < "
    "2.0\n"
    "  { (i + 1, tanh(W @ concat(h, b))) }; h[1] }\n"
    "fn two(n: i32) -> f32 = sum([{ let x = concat(E[i % 30], b);\n"
    "  sum(max(W @ x, U @ x) - min(W @ x, f32(i % 3))) } for i in 0..n])\n"
    "fn sheets(n: i32) -> f32 = {\n"
    "  let all = [tanh(stack(E[i % 30], b, E[(i + 1) % 30], E[3], E[4]) @ transpose(V)) for i in "
    "0..n];\n"
    "  sum([sum(x) for x in all]) }\n"
    /* Failures: of an index, and behind it of a division. */
    "fn label(n: i32, bad: i32, k: i32) -> f32 = cross_entropy(V @ encode(n, k), if k == bad then "
    "5 else k % 5)\n"
    "fn wrong(n: i32) -> f32 = sum([label(2, 13, i) + f32(9 / (17 - i)) for i in 0..n])\n"
    "fn labels(n: i32) -> f32 = sum([sum(cross_entropy(\n"
    "  stack(V @ encode(1, i), V @ encode(1, i + 1)), stack(i % 5, if i == 13 then 5 else 2)))\n"
    "  for i in 0..n])\n"
    "fn picks(n: i32) -> f32 = sum([encode(1, i)[24 * (i / 11)] for i in 0..n])\n"
    "fn row_of(n: i32) -> f32 = sum([sum(stack(encode(1, i), b)[i / 5]) for i in 0..n])\n"
    "fn slope(n: i32) -> f32 = { let (x, (w, e)) = value_and_grad(total, wrt = (W, E))(n);\n"
    "  x + sum(w) + sum(e) }\n"
    "fn steep(n: i32) -> f32 = { let (x, (w, v, a)) = value_and_grad(losses, wrt = (W, V, b))(n);\n"
    "  x + sum(w) + sum(v) + sum(a) }\n"
    "fn endless(n: i32) -> f32 = { let (_, x) = loop (i = n, x: f32 = 0.0) while i > 0\n"
    "  { (i, x + sum(encode(2, i % 100))) }; x }\n";

static const hia_batching strategies[] = {HIA_BATCH_DEPTH, HIA_BATCH_AGENDA};
enum { N = sizeof strategies / sizeof *strategies };

static program open_with(hia_batching batch, uint32_t flags, unsigned threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.batching = batch;
  options.flags = flags;
  options.threads = threads;
  return open_program(&options, text, "tree");
}

static void expect_same(const outcome *a, const outcome *b, const char *name, int32_t n) {
  cr_expect_eq(a->status, b->status, "%s(%d)", name, n);
  cr_expect_eq(memcmp(&a->value, &b->value, sizeof a->value), 0, "%s(%d): %a and %a", name, n,
               (double)a->value, (double)b->value);
  cr_expect_str_eq(a->error, b->error);
}

#ifndef HIA_STRESS /* then little may be pending */
/* A complete tree of depth n has 2^n - 1 inner nodes in n levels, and three operations at each. */
Test(engine_firings, are_as_many_as_levels_and_operations) {
  for (unsigned i = 0; i < N; i++) {
    program p = open_with(strategies[i], 0, 1), none = open_with(HIA_BATCH_SEGMENTS, 0, 1);
    for (int32_t n = 1; n < 9; n++) {
      outcome o = run(&p, "tree", n, 0), alone = run(&none, "tree", n, 0);
      cr_expect_eq(o.stats.batch_rows, 3 * ((1u << n) - 1), "%d: %llu rows", n,
                   (unsigned long long)o.stats.batch_rows);
      cr_expect_eq(o.stats.batch_waves, 3 * (uint64_t)n, "%d: %llu firings", n,
                   (unsigned long long)o.stats.batch_waves);
      cr_expect_eq(alone.stats.batch_rows + alone.stats.batch_waves, 0);
      expect_same(&o, &alone, "tree", n);
    }
    outcome o = run(&p, "tree", 9, 0);
    cr_expect_gt(o.stats.batch_plan_ns, 0);
    cr_expect_gt(o.stats.batch_gather_ns, 0);
    cr_expect_gt(o.stats.batch_compute_ns, 0);
    close_program(&none);
    close_program(&p);
  }
}

/* By depth the losses of n sentences, whose lengths differ, are n firings; by agenda they are one.
 */
Test(engine_firings, the_agenda_waits_for_losses) {
  enum { LENGTHS = 20 };
  uint64_t rows[N], waves[N];
  for (unsigned i = 0; i < N; i++) {
    program p = open_with(strategies[i], 0, 1);
    outcome o = run(&p, "losses", LENGTHS, 0);
    cr_assert_eq(o.status, HIA_OK);
    rows[i] = o.stats.batch_rows;
    waves[i] = o.stats.batch_waves;
    close_program(&p);
  }
  cr_expect_eq(rows[0], rows[1]);
  cr_expect_leq(waves[1] + 2 * (LENGTHS - 1), waves[0], "%llu and %llu firings",
                (unsigned long long)waves[0], (unsigned long long)waves[1]);
}

/* A program that looks at each result gets them at once, most of the time. */
Test(engine_firings, what_is_looked_at_is_computed_at_once) {
  enum { STEPS = 2000 };
  program p = open_with(HIA_BATCH_AGENDA, 0, 1);
  outcome o = run(&p, "narrow", STEPS, 0);
  cr_expect_gt(o.stats.batch_rows, 0);
  cr_expect_lt(o.stats.batch_rows, STEPS, "%llu rows", (unsigned long long)o.stats.batch_rows);
  close_program(&p);
}
#endif

static const char *const names[] = {"total",  "losses", "rest",  "two",    "sheets",
                                    "deep",   "narrow", "wrong", "labels", "picks",
                                    "row_of", "slope",  "steep", "tree"};
enum { N_NAMES = sizeof names / sizeof *names };

/* One more than a call of an operation has rows, and hundreds: values, or failures. */
Test(engine_firings, every_width_gives_the_same) {
  static const int32_t widths[] = {0, 1, 2, 3, 4, 5, 8, 9, 12, 14, 17, 18, 33, 63, 64, 65, 300};
  for (unsigned i = 0; i < N; i++) {
    program p = open_with(strategies[i], 0, 3), none = open_with(HIA_BATCH_SEGMENTS, 0, 1);
    for (size_t k = 0; k < N_NAMES; k++)
      for (size_t m = 0; m < sizeof widths / sizeof *widths; m++) {
        if (strcmp(names[k], "tree") == 0 && widths[m] > 9) continue;
        outcome alone = run(&none, names[k], widths[m], 0);
        outcome o = run(&p, names[k], widths[m], 0);
        expect_same(&o, &alone, names[k], widths[m]);
        cr_expect_eq(o.stats.steals, 0); /* one worker has all that is pending */
      }
    cr_expect_eq(run(&none, "wrong", 14, 0).status, HIA_RANGE);
    cr_expect_eq(run(&none, "labels", 14, 0).status, HIA_RANGE);
    cr_expect_eq(run(&none, "picks", 14, 0).status, HIA_RANGE);
    close_program(&none);
    close_program(&p);
  }
}

/* A param that has changed is another weight, though the program is the same. */
Test(engine_firings, params_may_change) {
  program p = open_with(HIA_BATCH_AGENDA, 0, 1), none = open_with(HIA_BATCH_SEGMENTS, 0, 1);
  float last = 0;
  for (uint64_t round = 0; round < 3; round++) {
    cr_assert_eq(hia_params_seed(hia_module_params(p.module), 7 + round, NULL), HIA_OK);
    cr_assert_eq(hia_params_seed(hia_module_params(none.module), 7 + round, NULL), HIA_OK);
    outcome o = run(&p, "tree", 5, 0), alone = run(&none, "tree", 5, 0);
    expect_same(&o, &alone, "tree", 5);
    cr_expect(o.value < last || o.value > last);
    last = o.value;
  }
  close_program(&none);
  close_program(&p);
}

/* Runs with fuel, and with traps of NaN, are as without. */
Test(engine_firings, not_with_fuel_or_traps) {
  program p = open_with(HIA_BATCH_DEPTH, 0, 1),
          traps = open_with(HIA_BATCH_DEPTH, HIA_FLAG_TRAP_NAN, 1),
          none = open_with(HIA_BATCH_SEGMENTS, 0, 1);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = true;
  for (options.fuel = 1; options.fuel < 1000; options.fuel *= 3) {
    outcome o = run_with(&p, "losses", 9, options), alone = run_with(&none, "losses", 9, options);
    expect_same(&o, &alone, "losses", 9);
    cr_expect_eq(o.stats.batch_rows, 0);
    cr_expect_eq(o.stats.fuel_left, alone.stats.fuel_left);
  }
  outcome o = run(&traps, "losses", 9, 0), alone = run(&none, "losses", 9, 0);
  expect_same(&o, &alone, "losses", 9);
  cr_expect_eq(o.stats.batch_rows, 0);
  close_program(&none);
  close_program(&traps);
  close_program(&p);
}

Test(engine_firings, are_for_the_interpreter) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_JIT, HIA_ENGINE_EXPAND, HIA_ENGINE_AUTO};
  for (unsigned i = 0; i < N; i++)
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
      hia_engine *engine;
      hia_error *error;
      options.kind = kinds[k];
      options.batching = strategies[i];
      cr_expect_eq(hia_engine_new(&options, &engine, &error), HIA_ARGUMENT);
      cr_expect_not_null(strstr(hia_error_text(error), i ? "agenda" : "depth"));
      hia_error_free(error);
    }
}

/* ---- ends ---- */

Test(engine_firings, memory_runs_out_or_does_not) {
  for (unsigned i = 0; i < N; i++) {
    program p = open_with(strategies[i], 0, 1);
    run_with_little_memory(&p, "slope", 100);
    close_program(&p);
  }
}

/* Where memory is limited, less is pending: at most twice as much is needed, and 64 KiB. */
Test(engine_firings, take_little_memory_if_there_is_little) {
  static const char *const programs[] = {"tree", "total", "losses", "slope", "rest"};
  static const int32_t sizes[] = {11, 300, 100, 300, 200};
  for (unsigned i = 0; i < N; i++) {
    program p = open_with(strategies[i], 0, 1), none = open_with(HIA_BATCH_SEGMENTS, 0, 1);
    for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
      size_t least = least_memory(&none, programs[k], sizes[k]), most = 2 * least + (64 << 10);
      outcome alone = run(&none, programs[k], sizes[k], least);
      outcome tight = run(&p, programs[k], sizes[k], most);
      expect_same(&tight, &alone, programs[k], sizes[k]);
    }
    close_program(&none);
    close_program(&p);
  }
}

/* Deadlines at different moments: in recursion, in noting, in settling. Afterwards runs are right.
 */
Test(engine_firings, deadlines_end_them_anywhere) {
  for (unsigned i = 0; i < N; i++) {
    program p = open_with(strategies[i], 0, 1);
    outcome right = run(&p, "slope", 200, 0);
    cr_assert_eq(run(&p, "steep", 3, 0).status, HIA_OK);
    cr_assert_eq(run(&p, "endless", 0, 0).status, HIA_OK); /* compiled */
    for (unsigned k = 0; k < 12; k++) {
      hia_run_options options = HIA_RUN_OPTIONS_INIT;
      options.timeout_ns = 30000 + 150000 * k;
      cr_expect_eq(run_with(&p, "endless", 1, options).status, HIA_DEADLINE);
      hia_status status = run_with(&p, k % 2 ? "steep" : "slope", 200, options).status;
      cr_expect(status == HIA_OK || status == HIA_DEADLINE);
    }
    outcome o = run(&p, "slope", 200, 0);
    expect_same(&o, &right, "slope", 200);
    close_program(&p);
  }
}

static hia_status attempt(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_module *module = NULL;
  hia_function *function;
  hia_error *error = NULL;
  options.allocator = allocator;
  options.kind = HIA_ENGINE_INTERP;
  options.batching = HIA_BATCH_AGENDA;
  hia_status status = hia_engine_new(&options, &engine, &error);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "t.hia", text, strlen(text), &module, &error);
  if (status == HIA_OK) status = hia_module_function(module, "losses", &function, &error);
  if (status == HIA_OK) {
    hia_value *arg = hia_value_i32(engine, 12), *result = NULL;
    status = arg ? hia_run(function, &arg, 1, NULL, &result, &error) : HIA_MEMORY;
    hia_value_free(result);
    hia_value_free(arg);
  }
  hia_error_free(error);
  hia_module_free(module);
  hia_engine_free(engine);
  return status;
}

Test(engine_firings, allocations_may_fail) { cr_expect_gt(fail_each_allocation(attempt), 100); }
