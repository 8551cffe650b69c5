/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Without limits runs end before the machine's memory does: in all engines, at any number of
 * threads; and what is set holds instead. */
#include "runtime/base/left.h"
#include "tests/unit/helpers/left.h"
#include "tests/unit/helpers/program.h"
#include <stdio.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

/* `g` fails on no path that is taken, so that no engine makes a loop of it. */
static const char text[] =
    "type L = N | C(h: i64, t: L)\n"
    "fn down(n: i64) -> i64 = if n < 0 then 0 else 1 + down(n + 1) * 3 % 7\n"
    "fn list(n: i64) -> L = if n == -1 then N else if n < -1 then fail(3) else C(n, list(n + 1))\n"
    "fn upto(n: i64, m: i64) -> L =\n"
    "  if n == m then N else if n > m then fail(3) else C(n, upto(n + 1, m))\n"
    "fn grow(n: i64, l: L) -> L = if n < 0 then l else grow(n + 1, C(n, l))\n"
    "fn first(l: L) -> i64 = match l { N => 0, C(h, _) => h }\n"
    "fn deep(n: i64) -> i64 = first(list(n))\n"
    "fn data(n: i64) -> i64 = first(grow(n, N))\n"
    "fn arrays(n: i64) -> i64 = len([[i + i64(j) for j in 0..1000] for i in 0..n * 1000000])\n"
    "fn joined(n: i64) -> i64 = loop (a = [n]) while len(a) > 0 { concat(a, a) }[0]\n"
    "fn product(n: i64) -> i64 = {\n"
    "  let x = full(1.0, n * 8000, n * 8000); i64((x @ x)[0][0]) }\n"
    "fn tower(n: i64, x: f64[4]) -> f64[4] = if n < 0 then x else tanh(x * tower(n + 1, x))\n"
    "fn height(n: i64, x: f64[4]) -> f64 = sum(tower(n, x))\n"
    "fn tape(n: i64) -> i64 = i64(sum(grad(height, wrt = x)(n, full(0.5, 4))))\n"
    "fn list_of(n: i64) -> i64 = first(upto(0, 300000 * n))\n"
    "fn small(n: i64) -> i64 = len([i for i in 0..n * 600000])\n";

enum { MEMORY = 1, DEPTH = 2 }; /* bits of check's `expected`; none: HIA_OK */

static void check(program *p, const char *name, const hia_run_options *options, const char *what,
                  unsigned expected) {
  hia_value *arg = hia_value_i64(p->engine, 1), *result = NULL;
  hia_error *error = NULL;
  hia_function *f = find_function(p->module, name);
  hia_status status = hia_run(f, &arg, 1, options, &result, &error);
  bool is_expected = status == HIA_OK ? !expected : (expected >> (status - HIA_MEMORY)) & 1;
  cr_assert(is_expected, "%s, %s: %s", what, name, status ? hia_error_text(error) : "it returned");
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
}

static const char *const names[] = {"deep", "down", "data", "arrays", "joined", "product", "tape"};

static program open_way(hia_engine_kind kind, unsigned threads, size_t max_depth,
                        size_t max_memory) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  options.max_depth = max_depth;
  options.max_memory = max_memory;
  return open_program(&options, text, "down");
}

static void end_all(hia_engine_kind kind, unsigned threads) {
  char what[64];
  snprintf(what, sizeof what, "engine %d, %u threads", kind, threads);
  if (kind == HIA_ENGINE_JIT && !has_native()) return;
  if (HIA_TEST_SHARE > 4 && (threads == 1) == (kind == HIA_ENGINE_INTERP)) return; /* one of both */
  left_begin();
  left_available(16 * MIB);
  program p = open_way(kind, threads, 0, 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    check(&p, names[i], NULL, what, strcmp(names[i], "down") ? MEMORY | DEPTH : DEPTH);
    check(&p, "small", NULL, what, 0); /* everything was given back */
  }
  close_program(&p);
  left_end();
}

Test(engine_left, native_runs_end_in_time) { end_all(HIA_ENGINE_JIT, 1); }
Test(engine_left, and_on_several_threads) { end_all(HIA_ENGINE_JIT, 3); }
Test(engine_left, interpreted_ones_too) { end_all(HIA_ENGINE_INTERP, 1); }
Test(engine_left, interpreted_on_several_threads) { end_all(HIA_ENGINE_INTERP, 3); }
Test(engine_left, those_of_expand_too) { end_all(HIA_ENGINE_EXPAND, 1); }

/* What is set holds whatever is left, and none allows what there is. */
static void set_limits(hia_engine_kind kind) {
  if (kind == HIA_ENGINE_JIT && !has_native()) return;
  left_begin();
  left_available(2 * MIB);
  program p = open_way(kind, 1, 0, 0);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  check(&p, "list_of", NULL, "the default", MEMORY | DEPTH);
  options.max_depth = options.max_memory = 1024 * MIB;
  check(&p, "list_of", &options, "set", 0);
  options.max_memory = MIB;
  check(&p, "list_of", &options, "a megabyte", MEMORY);
  options.max_depth = options.max_memory = HIA_NO_LIMIT;
  check(&p, "list_of", &options, "none", 0);
  close_program(&p);
  p = open_way(kind, 1, HIA_NO_LIMIT, HIA_NO_LIMIT);
  check(&p, "list_of", NULL, "none, of the engine", 0);
  close_program(&p);
  left_end();
}

Test(engine_left, what_is_set_holds_in_native_code) { set_limits(HIA_ENGINE_JIT); }
Test(engine_left, and_in_the_interpreter) { set_limits(HIA_ENGINE_INTERP); }
Test(engine_left, and_in_expand) { set_limits(HIA_ENGINE_EXPAND); }

/* Results that leave a run, and params. */
Test(engine_left, values_outside_of_runs) {
  left_begin();
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  program p = open_program(&options, "fn half(n: i64) = [f64(i) for i in 0..n]\n", "half");
  hia_value *arg = hia_value_i64(p.engine, 5 << 20), *result = NULL;
  hia_error *error = NULL;
  left_available(48 * MIB); /* 40 MiB fit into the run, but not once more into the result */
  cr_assert_eq(hia_run(p.function, &arg, 1, NULL, &result, &error), HIA_MEMORY);
  hia_error_free(error);
  left_available(200 * MIB);
  cr_assert_eq(hia_run(p.function, &arg, 1, NULL, &result, &error), HIA_OK);
  hia_value_free(result);
  hia_value_free(arg);
  close_program(&p);
  p = open_program(&options,
                   "param W: f64[10000000] = uniform(0.0, 1.0)\n"
                   "fn weight(n: i64) = W[n]\n",
                   "weight");
  arg = hia_value_i64(p.engine, 3);
  left_available(64 * MIB);
  cr_assert_eq(hia_run(p.function, &arg, 1, NULL, &result, &error), HIA_MEMORY);
  hia_error_free(error);
  left_available(200 * MIB);
  cr_assert_eq(hia_run(p.function, &arg, 1, NULL, &result, &error), HIA_OK);
  hia_value_free(result);
  hia_value_free(arg);
  close_program(&p);
  left_end();
}
