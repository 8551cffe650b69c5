/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs and typed entries with fuel, their outcomes, and dumps of the graphs that charge it. */
#ifndef HELPER_ENGINE_FUEL_H
#define HELPER_ENGINE_FUEL_H

#include "tests/unit/helpers/program.h"
#include <stdio.h>

static const char fuel_text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn tak(n: i32) -> i32 = tak3(n + 2, n, 0)\n"
    "fn tak3(x: i32, y: i32, z: i32) -> i32 = if y >= x then z else\n"
    "  tak3(tak3(x - 1, y, z), tak3(y - 1, z, x), tak3(z - 1, x, y))\n"
    "fn even(n: i32) -> bool = if n == 0 then true else odd(n - 1)\n"
    "fn odd(n: i32) -> bool = if n == 0 then false else even(n - 1)\n"
    "fn pairs(n: i32) -> i32 = loop (s = 0, i = 0) while i < n and even(i * 2)\n"
    "  { (s + (if odd(i) then fib(i) else 1), i + 1) }.0\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else 1 + deep(n - 1)\n"
    "fn spin(n: i32) -> i64 = loop (x = i64(n)) while x != 7 "
    "{ x * 6364136223846793005 + 1442695040888963407 }\n"
    "fn inverse(n: i32) -> i32 = fib(100 / n)\n"
    "fn twice(x) = x + x\n"
    "fn double(n) = twice(twice(n))\n";

static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
static inline size_t n_kinds(void) { return has_native() ? 3 : 2; }

static inline program open(hia_engine_kind kind, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  return open_program(&options, fuel_text, name);
}

typedef struct outcome {
  hia_status status;
  char text[4000]; /* the result, or the error */
  hia_run_stats stats;
} outcome;

static inline void run_with(const program *p, int32_t n, const hia_run_options *given, outcome *o) {
  hia_value *arg = hia_value_i32(p->engine, n), *result;
  hia_error *error;
  hia_run_options options = *given;
  o->stats = (hia_run_stats)HIA_RUN_STATS_INIT;
  options.stats = &o->stats;
  o->status = hia_run(p->function, &arg, 1, &options, &result, &error);
  if (o->status == HIA_OK)
    hia_value_format(result, o->text, sizeof o->text);
  else
    snprintf(o->text, sizeof o->text, "%s", hia_error_text(error));
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
}

static inline void run(const program *p, int32_t n, uint64_t fuel, outcome *o) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = true;
  options.fuel = fuel;
  run_with(p, n, &options, o);
}

/* The same with the typed entry of a function i32 -> i32, whose context has the fuel; where a run
 * does not know the remaining fuel, it is 0 there. */
static inline void run_typed(const program *p, int32_t n, uint64_t fuel, outcome *o) {
  static const hia_dtype i32[] = {HIA_I32};
  hia_native_fn entry;
  hia_context *context;
  hia_error *error;
  int32_t x = 0;
  cr_assert_eq(hia_function_check_entry(p->function, i32, 1, i32, 1, NULL), HIA_OK);
  cr_assert_eq(hia_function_entry_with_fuel(p->function, &entry, &error), HIA_OK, "%s",
               hia_error_text(error));
  cr_assert_eq(hia_engine_context_new(p->engine, &context, NULL), HIA_OK);
  hia_context_set_fuel(context, fuel);
  o->stats = (hia_run_stats)HIA_RUN_STATS_INIT;
  o->status = ((hia_status(*)(hia_context *, int32_t, int32_t *))entry)(context, n, &x);
  o->stats.is_fuelled = hia_context_fuel_left(context, &o->stats.fuel_left);
  if (o->status == HIA_OK)
    snprintf(o->text, sizeof o->text, "%d", x);
  else
    snprintf(o->text, sizeof o->text, "%s", hia_error_text(hia_context_error(context)));
  hia_context_free(context);
}

/* ---- graphs ---- */

static inline bool collect(void *user, const char *bytes, size_t len) {
  char *all = user;
  size_t used = strlen(all);
  memcpy(all + used, bytes, len);
  all[used + len] = 0;
  return true;
}

static inline void dump(const program *p, hia_stage stage, const char *after, bool fuel,
                        char *all) {
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  hia_error *error;
  options.stage = stage;
  options.after = after;
  options.fuel = fuel;
  all[0] = 0;
  hia_status status = hia_module_dump(p->module, &p->function, 1, &options, collect, all, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
}

static inline program open_graph(const char *graph, hia_engine_kind kind) {
  program p;
  hia_error *error;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &p.engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_ir(p.engine, "g.ir", graph, strlen(graph), &p.module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(p.module, "fib", &p.function, &error), HIA_OK);
  return p;
}

#endif
