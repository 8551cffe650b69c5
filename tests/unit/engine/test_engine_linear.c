/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that grows as the program's data do, whichever pass is left out: `set` of an array that
 * nothing else refers to copies nothing, and what is not needed any more is used again. That is
 * part of the language's meaning, in every engine, so no option may change it. Counted are the
 * bytes that runs have taken: blocks of more than 64 KiB count each time. */
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "type List = Nil | Cons(head: i64, tail: List)\n"
    "type Tree = Leaf(at: i64) | Node(left: Tree, right: Tree)\n"
    /* comprehensions, of one within the other too */
    "fn pairs(n: i64) = [(i, i * i) for i in 0..n]\n"
    "fn rows(n: i64) = [[(k, i) for k in 0..i % 7] for i in 0..n]\n"
    "fn vectors(n: i64) = [full(f32(i), 4) for i in 0..n]\n"
    "fn of_lists(n: i64) = [(Cons(i, Nil), i) for i in 0..n]\n"
    /* loops with `set` */
    "fn marked(n: i64) = loop (a = pairs(n), i: i64 = 0) while i < n {"
    " (set(a, (i * 7) % n, (i, a[i].0 + 1)), i + 1) }\n"
    "fn swapped(n: i64) = loop (a = pairs(n), i: i64 = 0) while i + 1 < n {"
    " (set(set(a, i, a[i + 1]), i + 1, a[i]), i + 1) }\n"
    "fn tensor(n: i64) = loop (x = zeros(n), i: i64 = 0) while i < n { (set(x, i, f32(i)), i + 1) "
    "}\n"
    "fn of_rows(n: i64) = loop (a = rows(n), i: i64 = 0) while i < n { (set(a, i, [(i, i)]), i + "
    "1) }\n"
    "fn by_calls(a: [(i64, i64)], i: i64) -> [(i64, i64)] ="
    " if i == len(a) then a else by_calls(set(a, i, (i, 0)), i + 1)\n"
    /* data */
    "fn list(n: i64) -> List = { let r = loop (l = Nil, i: i64 = 0) while i < n {"
    " (Cons(i, l), i + 1) }; r.0 }\n"
    "fn sum_of(l: List) -> i64 = match l { Nil => 0, Cons(h, t) => h + sum_of(t) }\n"
    "fn more(l: List) -> List = match l { Nil => Nil, Cons(h, t) => Cons(h + 1, more(t)) }\n"
    "fn often(n: i64) -> List = { let r = loop (l = list(n), i: i64 = 0) while i < 20 {"
    " (more(l), i + 1) }; r.0 }\n"
    "fn tree(from: i64, to: i64) -> Tree = if to - from < 2 then Leaf(from) else {"
    " let mid = (from + to) / 2; Node(tree(from, mid), tree(mid, to)) }\n"
    "fn leaves(t: Tree) -> i64 = match t { Leaf(i) => i, Node(l, r) => leaves(l) + leaves(r) }\n"
    "fn main(n: i64) -> i64 = {\n"
    "  let a = marked(n).0; let b = swapped(n).0; let c = tensor(n).0; let d = of_rows(n).0;\n"
    "  let e = by_calls(pairs(n), 0); let f = concat(pairs(n), pairs(n))[1..n];\n"
    "  let g = of_lists(n); let h = vectors(n);\n"
    "  a[n / 2].0 + b[n / 2].0 + i64(c[n / 2]) + d[n / 2][0].0 + e[n / 2].1 + f[3].1 + g[5].1"
    " + i64(h[n / 2][1])\n"
    "  + sum_of(often(n)) + leaves(tree(0, n))\n"
    "}\n";

static uint64_t bytes_of(hia_function *main, int64_t n, char *result, size_t size) {
  hia_error *error = NULL;
  hia_value *arg = NULL, *out = NULL;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  char number[24];
  options.stats = &stats;
  snprintf(number, sizeof number, "%lld", (long long)n);
  cr_assert_eq(hia_value_parse(main, 0, number, &arg, &error), HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_run(main, &arg, 1, &options, &out, &error), HIA_OK, "%s", hia_error_text(error));
  hia_value_format(out, result, size);
  hia_value_free(out);
  hia_value_free(arg);
  return stats.heap_bytes;
}

/* False: this build lacks the engine. */
static bool grows_linearly(hia_engine_kind kind, unsigned threads, const char *disabled) {
  enum { N = 10000 };
  static char first[64]; /* the result for N, which is the same everywhere */
  char small[64], large[64];
  hia_error *error = NULL;
  hia_engine *engine;
  hia_module *module;
  hia_function *main;
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  o.kind = kind;
  o.threads = threads;
  o.opt_level = 0;
  o.disabled_passes = disabled;
  hia_status status = hia_engine_new(&o, &engine, &error);
  if (status == HIA_UNSUPPORTED) return hia_error_free(error), false;
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_load_text(engine, "linear.hia", text, strlen(text), &module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(module, "main", &main, &error), HIA_OK, "%s",
               hia_error_text(error));
  uint64_t of_small = bytes_of(main, N, small, sizeof small),
           of_large = bytes_of(main, 2 * N, large, sizeof large);
  cr_expect_leq(of_large, 3 * of_small, "without %s: %llu bytes, then %llu",
                disabled ? disabled : "nothing", (unsigned long long)of_small,
                (unsigned long long)of_large);
  cr_expect_leq(of_small, (uint64_t)64 << 20, "without %s: %llu bytes",
                disabled ? disabled : "nothing", (unsigned long long)of_small);
  if (!first[0]) snprintf(first, sizeof first, "%s", small);
  cr_expect_str_eq(small, first);
  hia_module_free(module);
  hia_engine_free(engine);
  return true;
}

enum { EVERY = HIA_TEST_SHARE > 1 ? 6 : 1 };

Test(linear, native_without_each_pass, .timeout = 300) {
  if (!grows_linearly(HIA_ENGINE_JIT, 1, NULL)) cr_skip_test("no native code");
  const char *pass;
  for (size_t i = HIA_TEST_SEED % EVERY; (pass = hia_pass_name(i)); i += EVERY)
    if (!strchr(pass, '.')) grows_linearly(HIA_ENGINE_JIT, 1, pass);
  grows_linearly(HIA_ENGINE_JIT, 1, "fill,refs");
  grows_linearly(HIA_ENGINE_JIT, 1, "all");
  grows_linearly(HIA_ENGINE_JIT, 2, "halve");
  grows_linearly(HIA_ENGINE_JIT, 2, "all");
}

Test(linear, interpreted_without_each_pass, .timeout = 300) {
  if (!grows_linearly(HIA_ENGINE_INTERP, 1, NULL)) cr_skip_test("no interpreter");
  const char *pass;
  for (size_t i = HIA_TEST_SEED % EVERY; (pass = hia_pass_name(i)); i += EVERY)
    if (!strchr(pass, '.')) grows_linearly(HIA_ENGINE_INTERP, 1, pass);
  grows_linearly(HIA_ENGINE_INTERP, 1, "all");
}
