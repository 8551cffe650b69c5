/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs on data in all engines: random ones give the same results, at every level and number of
 * threads; builds with AddressSanitizer check every count. */
#include "tests/unit/helpers/data_programs.h"
#include "tests/unit/helpers/program.h"
#include <stdio.h>

enum { SIZE = 1 << 16 };

typedef struct outcome {
  hia_status status;
  int32_t result;
} outcome;

static outcome run(const char *text, hia_engine_kind kind, int level, unsigned threads,
                   bool always_forks, const char *disabled, int32_t n) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.opt_level = level;
  options.threads = threads;
  if (always_forks) options.flags |= HIA_FLAG_ALWAYS_FORK;
  options.disabled_passes = disabled;
  program p = open_program(&options, text, "main");
  hia_value *arg = hia_value_i32(p.engine, n), *result = NULL;
  hia_error *error = NULL;
  hia_run_options limits = HIA_RUN_OPTIONS_INIT;
  limits.max_depth = 64 << 20;
  outcome o = {.status = hia_run(p.function, &arg, 1, &limits, &result, &error)};
  if (o.status == HIA_OK)
    hia_value_get_i32(result, &o.result);
  else
    cr_assert_neq(o.status, HIA_REJECTED, "%s\n%s", text, hia_error_text(error));
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
  close_program(&p);
  return o;
}

static void compare(const char *text, const outcome *a, const outcome *b, const char *what) {
  if (a->status == HIA_DEPTH || b->status == HIA_DEPTH) return;
  cr_assert_eq(a->status, b->status, "%s: %d and %d\n%s", what, a->status, b->status, text);
  cr_assert_eq(a->result, b->result, "%s: %d and %d\n%s", what, a->result, b->result, text);
}

/* main(3) is the same in all engines. */
static outcome check_engines(const char *text, uint64_t seed) {
  outcome interp = run(text, HIA_ENGINE_INTERP, 0, 1, false, NULL, 3);
  outcome other = run(text, HIA_ENGINE_INTERP, 0, 1, false, "all", 3);
  compare(text, &interp, &other, "without passes");
  other = run(text, HIA_ENGINE_EXPAND, 0, 1, false, NULL, 3);
  compare(text, &interp, &other, "expand");
  other = run(text, HIA_ENGINE_INTERP, 0, 3, false, NULL, 3);
  compare(text, &interp, &other, "three workers");
  if (!has_native()) return interp;
  other = run(text, HIA_ENGINE_JIT, (int)(seed % 4), 1, false, NULL, 3);
  compare(text, &interp, &other, "native code");
  other = run(text, HIA_ENGINE_JIT, 3, 1, true, "unroll", 3);
  compare(text, &interp, &other, "native code with forks");
  other = run(text, HIA_ENGINE_JIT, 2, 3, false, NULL, 3);
  compare(text, &interp, &other, "native code, three workers");
  return interp;
}

Test(engine_data, random_programs) {
  static char text[SIZE];
  unsigned n_programs = 0;
  enum { N = HIA_TEST_SHARE > 1 ? 6 : 24 }; /* hia_diff has many more */
  for (uint64_t seed = 1000; n_programs < N; seed++) {
    if (!random_data_program(seed, seed % 2, text, SIZE)) continue;
    n_programs++;
    check_engines(text, seed);
  }
}

/* Types of which no constructor has fields: their values take a byte in memory, or two; here as
 * fields among references and other words, as elements, and as parts of elements. */
Test(engine_data, numbers_in_memory) {
  enum { N = 300 };
  static char text[SIZE];
  size_t len = 0;
  len +=
      (size_t)sprintf(text, "type T = A | B | C(m: Few, n: i32, t: T, w: Many, b: bool, k: Few)\n"
                            "type Few = One | Two\ntype Many = M0");
  for (int i = 1; i < N; i++) len += (size_t)sprintf(text + len, " | M%d", i);
  len += (size_t)sprintf(text + len, "\nfn many(m: Many) -> i32 = match m { M0 => 0");
  for (int i = 1; i < N; i++) len += (size_t)sprintf(text + len, ", M%d => %d", i, i);
  sprintf(
      text + len,
      " }\n"
      "fn few(f: Few) = match f { One => 1, Two => 2 }\n"
      "fn sum(t: T) -> i32 = match t { A => 3, B => 5, C(Two, n, t, w, true, k) =>\n"
      "  n + 7 * sum(t) + many(w) + 11 * few(k), C(m, n, t, w, _, One) =>\n"
      "  n - 13 * sum(t) - many(w) - few(m), C(_, _, t, _, _, _) => sum(t) }\n"
      "fn turn(t: T) -> T = match t { C(m, n, t, w, b, k) => C(k, n + 1, turn(t), w, not b, m), _ "
      "=> t }\n"
      "fn tree(n: i32) -> T = if n == 0 then B\n"
      "  else C(if n %% 2 == 0 then One else Two, n, tree(n - 1), if n %% 3 == 0 then M299 else "
      "M256, n > 1, Two)\n"
      "fn main(n: i32) -> i32 = {\n"
      "  let a = [if i %% 3 == 0 then M257 else M1 for i in 0..n];\n"
      "  let b = [(Two, tree(i), if i > 0 then One else Two, M255) for i in 0..n];\n"
      "  let c = set(concat(a, [M298]), 1, M42)[1..n + 1];\n"
      "  let d = set(b, 0, (One, tree(2), Two, M3));\n"
      "  let (_, s) = loop (i = 0i64, s = 0) while i < len(c) { (i + 1, 3 * s + many(c[i])) };\n"
      "  let (_, r) = loop (i = 0i64, r = s) while i < len(d) {\n"
      "    (i + 1, 5 * r + few(d[i].0) + sum(turn(d[i].1)) + 7 * few(d[i].2) + many(d[i].3)) };\n"
      "  r + few([One, Two][1]) + sum(b[0].1)\n"
      "}\n");
  for (uint64_t level = 0; level < 4; level++) {
    outcome o = check_engines(text, level);
    cr_assert_eq(o.status, HIA_OK);
  }
}

static hia_run_stats stats_of(const program *p, int32_t n) {
  hia_value *arg = hia_value_i32(p->engine, n), *result;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  options.stats = &stats;
  hia_error *error;
  hia_status status = hia_run(p->function, &arg, 1, &options, &result, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  hia_value_free(result);
  hia_value_free(arg);
  return stats;
}

/* What a run takes for its objects. The second run uses what the first one has left, but for blocks
 * above 4 MiB. Every build keeps the blocks of a list this short. */
Test(data, bytes_of_a_run) {
  static const char text[] =
      "type List = Nil | Cons(head: i32, tail: List)\n"
      "fn list(n) -> List = if n == 0 then Nil else Cons(n, list(n - 1))\n"
      "fn total(l: List) -> i32 = match l { Nil => 0, Cons(x, rest) => x + total(rest) }\n"
      "fn main(n: i32) -> i32 = total(list(n))\n"
      "fn large(n: i32) -> f32 = sum(tanh(full(0.5, 100, n)))\n"
      "fn none(n: i32) -> i32 = n + 1\n";
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
  for (size_t i = 0; i < (has_native() ? 3 : 2); i++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = kinds[i];
    program p = open_program(&options, text, "main");
    hia_run_stats first = stats_of(&p, 300), second = stats_of(&p, 300);
    cr_expect_gt(first.heap_bytes, 300 * 16);
    cr_expect_eq(first.system_bytes, first.heap_bytes);
    cr_expect_eq(second.heap_bytes, first.heap_bytes);
    cr_expect_eq(second.system_bytes, 0);
    cr_expect_geq(second.peak_bytes, 300 * 16);
    hia_error *error;
    cr_assert_eq(hia_module_function(p.module, "large", &p.function, &error), HIA_OK);
    first = stats_of(&p, 1000), second = stats_of(&p, 1000);
    cr_expect_geq(first.system_bytes, 100 * 1000 * 4);
    cr_expect_geq(second.heap_bytes, 100 * 1000 * 4);
#ifndef HIA_STRESS /* which keeps no block that large */
    cr_expect_eq(second.system_bytes, 0);
#endif
    first = stats_of(&p, 30000), second = stats_of(&p, 30000);
    cr_expect_geq(first.system_bytes, 100 * 30000 * 4);
    cr_expect_geq(second.system_bytes, 100 * 30000 * 4);
    cr_assert_eq(hia_module_function(p.module, "none", &p.function, &error), HIA_OK);
    first = stats_of(&p, 1000);
    cr_expect_eq(first.heap_bytes, 0);
    cr_expect_eq(first.system_bytes, 0);
    close_program(&p);
  }
}
