/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Scalars that are computed later in objects that hosts see: how wide waves are, what reads them,
 * and what they take. tests/programs/batching_owed.hia has results. */
#include "tests/unit/helpers/program.h"
#include <stdlib.h>
#include <string.h>

static const char text[] =
    "param W: f32[64, 64] = glorot_uniform()\n"
    "param E: f32[50, 64] = uniform(-1.0, 1.0)\n"
    "type List = Nil | Cons(head: f32, n: i32, tail: List)\n"
    "type Tree = Leaf(k: i64) | Node(l: Tree, r: Tree, k: i64, x: f32)\n"
    /* Elements that do not depend on each other, in a recursion whose calls do not wait. */
    "fn list(n: i32) -> List = if n <= 0 then Nil\n"
    "  else Cons(sum(tanh(W @ E[n % 50])), i32(argmax(W @ E[n % 50])), list(n - 1))\n"
    "fn label(n: i32, w: i32) -> (f32[64], Tree) =\n"
    "  if n == 0 then { let h = W @ E[abs(w) % 50]; (h, Leaf(argmax(h))) }\n"
    "  else { let (x, l) = label(n - 1, w * 2); let (y, r) = label(n - 1, w * 2 + 1);\n"
    "    let h = tanh(W @ (x + y)); (h, Node(l, r, argmax(h), sum(h))) }\n"
    "fn tree(n: i32) -> Tree = label(n, 1).1\n"
    "fn plain(n: i32) -> f32 = { let (h, _) = label(n, 1); sum(h) }\n"
    /* The first read waits for all. */
    "fn total(t: Tree) -> i64 = match t { Leaf(k) => k, Node(l, r, k, x) => total(l) + total(r) + "
    "k }\n"
    "fn totals(n: i32) -> (i64, Tree) = { let t = label(n, 1).1; (total(t), t) }\n"
    /* Read by calls that other workers take before anything else has read it. */
    "fn key(t: Tree) -> i64 = match t { Leaf(k) => k, Node(_, _, k, _) => k }\n"
    "fn late(t: Tree, w: i64, n: i32) -> i64 = if n > 0 then late(t, w * 2, n - 1) + late(t, w * 2 "
    "+ 1, n - 1)\n"
    "  else { let (s, _) = loop (s = w, i: i64 = 0) while i < 50000 { (bxor(s * 31, i), i + 1) }; "
    "s "
    "+ key(t) }\n"
    "fn apart(n: i32) -> (i64, Tree) = { let t = label(n, 1).1; (late(t, 1, 7), t) }\n"
    /* Each is read before the next is made. */
    "fn looks(n: i32) -> (i64, List) = { let (s, l, _) = loop (s: i64 = 0, l: List = Nil, i = 0) "
    "while i < n {\n"
    "  let l = Cons(sum(W @ E[i % 50]), i, l);\n"
    "  (s + (match l { Nil => 0, Cons(x, _, _) => if x > 0.0 then 1 else 0 }), l, i + 1) }; (s, l) "
    "}\n"
    /* Objects that are given up before they are filled. */
    "fn drops(n: i32) -> (i32, List) = { let (s, l, _) = loop (s: i32 = 0, l: List = Nil, i = 0) "
    "while i < n\n"
    "  { (s + (match list(3) { Nil => 0, Cons(_, k, _) => 1 }), Cons(sum(W @ E[0]), i, Nil), i + "
    "1) }; (s, l) }\n"
    /* Arrays and tensors of what is late, which functions return. */
    "fn pairs(n: i32) -> [(i64, f32)] = [{ let h = tanh(W @ E[(n + i32(i)) % 50]); (argmax(h), "
    "sum(h)) } for i in 0..3]\n"
    "fn numbers(n: i32) -> f32[?] = [sum(tanh(W @ E[(n + i32(i)) % 50])) for i in 0..n % 5]\n"
    "fn returned(n: i32) -> [(i64, f32)] = { let (s, _) = loop (s = pairs(0), i = 0) while i < n\n"
    "  { (concat(s, pairs(i)), i + 1) }; s }\n"
    "type Vector = Vector(x: f32[?])\n"
    "fn vectors(n: i32) -> [Vector] = { let (s, _) = loop (s = [Vector(numbers(3))], i = 0) while "
    "i < n\n"
    "  { (concat(s, [Vector(numbers(i))]), i + 1) }; s }\n"
    "fn firsts(n: i32) -> (f32, [Vector]) = { let s = vectors(n);\n"
    "  (match s[0] { Vector(x) => x[0] }, s) }\n"
    /* Iterations that read what they are owed, and go on with it. */
    "fn keys(n: i32) -> [(i64, Tree)] = [{ let (_, t) = label(i32(i) % 3, i32(i));\n"
    "  let (_, u) = label(1, i32(key(t))); let (_, v) = label(1, i32(key(u))); (key(v), t) } for i "
    "in 0..n]\n"
    /* Iterations that wait for one wave at a time, the last of which is all that is pending. */
    "fn until(h: f32[64], n: i32) -> f32[64] = { let y = tanh(W @ h);\n"
    "  if n == 0 or sum(y * y) < 0.9 then y else until(y, n - 1) }\n"
    "fn waits(n: i32) -> [(Tree, f32)] =\n"
    "  [{ let (h, t) = label(i32(i) % 4, i32(i)); (t, sum(until(h, 7))) } for i in 0..n]\n";

typedef struct outcome {
  hia_status status;
  char *value; /* as text, or NULL; the caller frees it */
  hia_run_stats stats;
} outcome;

static char *format(const hia_value *value) {
  size_t size = hia_value_format(value, NULL, 0) + 1;
  char *out = malloc(size);
  cr_assert(out != NULL);
  hia_value_format(value, out, size);
  return out;
}

static outcome run_limited(program *p, const char *name, int32_t n, size_t memory) {
  hia_value *arg = hia_value_i32(p->engine, n), *result = NULL;
  hia_error *error = NULL;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  outcome o = {.stats = HIA_RUN_STATS_INIT};
  options.stats = &o.stats;
  options.max_memory = memory;
  o.status = hia_run(find_function(p->module, name), &arg, 1, &options, &result, &error);
  if (o.status == HIA_OK) o.value = format(result);
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
  return o;
}

/* Runs a function with and without batches: the results must be equal. */
static hia_run_stats compare(program *p, program *none, const char *name, int32_t n) {
  outcome o = run_limited(p, name, n, 0), alone = run_limited(none, name, n, 0);
  cr_assert_eq(o.status, HIA_OK);
  cr_assert_eq(alone.status, HIA_OK);
  cr_expect(strcmp(o.value, alone.value) == 0, "%s %d", name, n);
  free(o.value);
  free(alone.value);
  return o.stats;
}

static program open_with(hia_batching batch, unsigned threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.batching = batch;
  options.flags = HIA_FLAG_NO_REUSE;
  options.threads = threads;
  return open_program(&options, text, "plain");
}

/* Nothing waits before the run ends, or before something reads what is owed. */
Test(engine_owed, runs_wait_once) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 1), none = open_with(HIA_BATCH_NONE, 1);
  hia_run_stats list = compare(&p, &none, "list", 90);
  cr_expect_geq(list.batch_rows, 90);
#ifndef HIA_STRESS /* which settles when there are few rows */
  cr_expect_leq(list.batch_waves, 2, "%llu waves", (unsigned long long)list.batch_waves);
  uint64_t waves = compare(&p, &none, "plain", 6).batch_waves;
  cr_expect_leq(compare(&p, &none, "tree", 6).batch_waves, waves);
  cr_expect_leq(compare(&p, &none, "totals", 6).batch_waves, waves);
#endif
  compare(&p, &none, "looks", 40);
  close_program(&none);
  close_program(&p);
}

/* Nor does it for arrays and tensors. */
Test(engine_owed, arrays_and_tensors_are_filled_at_the_end) {
  NEEDS_NATIVE;
  static const char *const names[] = {"returned", "vectors", "firsts"};
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    program p = open_with(HIA_BATCH_SEGMENTS, threads), none = open_with(HIA_BATCH_NONE, threads);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      hia_run_stats stats = compare(&p, &none, names[i], 60);
      cr_expect_geq(stats.batch_rows, 60);
#ifndef HIA_STRESS
      cr_expect_leq(stats.batch_waves, 4, "%s: %llu waves", names[i],
                    (unsigned long long)stats.batch_waves);
#endif
      compare(&p, &none, names[i], 0);
    }
    close_program(&none);
    close_program(&p);
  }
}

/* While an iteration waits for what it is owed, others go on. */
Test(engine_owed, iterations_wait_together) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 1), none = open_with(HIA_BATCH_NONE, 1);
  hia_run_stats stats = compare(&p, &none, "keys", 60);
  cr_expect_gt(stats.batch_rows, 500);
#ifndef HIA_STRESS
  cr_expect_leq(stats.batch_waves, 10, "%llu waves", (unsigned long long)stats.batch_waves);
#endif
  close_program(&none);
  close_program(&p);
}

/* What is owed is paid when no row is left, also if the last ones were a part. */
Test(engine_owed, iterations_wait_for_parts) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 1), none = open_with(HIA_BATCH_NONE, 1);
  for (int32_t n = 1; n <= 40; n += 13) compare(&p, &none, "waits", n);
  close_program(&none);
  close_program(&p);
}

static bool append(void *user, const char *bytes, size_t len) {
  strncat(user, bytes, len);
  return true;
}

Test(engine_owed, report) {
  static const char said[] =
      "total(Tree)\n  waits   for an argument, in a field at 13:28: the object "
      "gets it when it is computed\n";
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 1);
  hia_function *function = find_function(p.module, "totals");
  hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
  char out[4096] = "";
  dump.stage = HIA_STAGE_BATCHES;
  cr_assert_eq(hia_module_dump(p.module, &function, 1, &dump, append, out, NULL), HIA_OK);
  cr_expect(strstr(out, said) != NULL, "%s", out);
  close_program(&p);
}

Test(engine_owed, threads) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 3), none = open_with(HIA_BATCH_NONE, 1);
  static const char *const names[] = {"list", "tree", "totals", "drops"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (int32_t n = 2; n <= 11; n += 3) compare(&p, &none, names[i], n);
  for (int32_t n = 1; n <= 8; n++) compare(&p, &none, "apart", n);
  close_program(&none);
  close_program(&p);
}

/* Objects that nothing refers to any more go when they have been filled. */
Test(engine_owed, objects_are_freed) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 1), none = open_with(HIA_BATCH_NONE, 1);
  compare(&p, &none, "drops", 100);
  uint64_t some = compare(&p, &none, "looks", 300).peak_bytes,
           more = compare(&p, &none, "drops", 30000).peak_bytes;
  cr_expect_lt(more, (uint64_t)64 << 20, "%llu bytes", (unsigned long long)more);
  cr_expect_lt(some, (uint64_t)4 << 20, "%llu bytes", (unsigned long long)some);
  close_program(&none);
  close_program(&p);
}

/* Where there is little memory, what is owed is paid at once. */
Test(engine_owed, little_memory) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_SEGMENTS, 1), none = open_with(HIA_BATCH_NONE, 1);
  static const char *const names[] = {"list", "totals"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    int32_t n = i ? 8 : 600;
    size_t least = 1 << 12;
    outcome alone = run_limited(&none, names[i], n, least);
    while (alone.status == HIA_MEMORY) alone = run_limited(&none, names[i], n, least *= 2);
    cr_assert_eq(alone.status, HIA_OK);
    outcome o = run_limited(&p, names[i], n, 2 * least + (64 << 10));
    cr_assert_eq(o.status, HIA_OK, "%s with %zu bytes", names[i], 2 * least + (64 << 10));
    cr_expect(strcmp(o.value, alone.value) == 0);
    free(o.value);
    for (size_t most = 1 << 12; most < 2 * least; most += 1 << 11) {
      o = run_limited(&p, names[i], n, most);
      cr_expect(o.status == HIA_MEMORY || (o.status == HIA_OK && !strcmp(o.value, alone.value)));
      free(o.value);
    }
    free(alone.value);
  }
  close_program(&none);
  close_program(&p);
}
