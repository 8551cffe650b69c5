/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs with fuel, through the public API: every amount in every engine, the errors of wrong
 * requests, statistics, and runs without fuel at the same time. */
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <pthread.h>
#include <stdio.h>

static const char text[] =
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
static size_t n_kinds(void) { return has_native() ? 3 : 2; }

static program open(hia_engine_kind kind, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  return open_program(&options, text, name);
}

typedef struct outcome {
  hia_status status;
  char text[4000]; /* the result, or the error */
  hia_run_stats stats;
} outcome;

static void run_with(const program *p, int32_t n, const hia_run_options *given, outcome *o) {
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

static void run(const program *p, int32_t n, uint64_t fuel, outcome *o) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = true;
  options.fuel = fuel;
  run_with(p, n, &options, o);
}

/* The same with the typed entry of a function i32 -> i32, whose context has the fuel; where a run
 * does not know the remaining fuel, it is 0 there. */
static void run_typed(const program *p, int32_t n, uint64_t fuel, outcome *o) {
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

/* ---- meaning ---- */

static uint64_t count(const char *name, int32_t n) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_run_options unlimited = HIA_RUN_OPTIONS_INIT;
  static outcome o;
  options.kind = HIA_ENGINE_INTERP;
  options.flags |= HIA_FLAG_COUNT;
  program p = open_program(&options, text, name);
  run_with(&p, n, &unlimited, &o);
  cr_assert(o.status == HIA_OK && o.stats.is_counted && !o.stats.is_fuelled);
  close_program(&p);
  return o.stats.calls + o.stats.rounds;
}

/* From no fuel to more than enough: the same result, or failure with its position and chain, and
 * the same remaining fuel, in all engines. The counted calls and rounds are the fuel that is
 * needed. In slow builds only some of the smaller amounts are tried. */
static void every_amount(const char *name, int32_t n) {
  program p[3];
  static outcome first, o;
  uint64_t needed = count(name, n);
  for (size_t k = 0; k < n_kinds(); k++) p[k] = open(kinds[k], name);
  for (uint64_t fuel = 0; fuel <= needed + 2; fuel += fuel + 10 < needed ? HIA_TEST_SHARE : 1) {
    run(&p[0], n, fuel, &first);
    cr_assert_eq(first.status, fuel < needed ? HIA_FUEL : HIA_OK, "%s with %llu: %s", name,
                 (unsigned long long)fuel, first.text);
    cr_assert(first.stats.is_fuelled);
    if (fuel >= needed) cr_assert_eq(first.stats.fuel_left, fuel - needed);
    for (size_t k = 1; k < n_kinds(); k++) {
      run(&p[k], n, fuel, &o);
      cr_assert_str_eq(o.text, first.text, "%s with %llu", name, (unsigned long long)fuel);
      cr_assert_eq(o.stats.fuel_left, first.stats.fuel_left);
    }
    if (n_kinds() < 3) continue;
    run_typed(&p[2], n, fuel, &o);
    cr_assert_eq(o.status, first.status);
    cr_assert_str_eq(o.text, first.text, "typed: %s with %llu", name, (unsigned long long)fuel);
    cr_assert_eq(o.stats.fuel_left, first.stats.fuel_left);
  }
  for (size_t k = 0; k < n_kinds(); k++) close_program(&p[k]);
}
Test(fuel, every_amount_for_fib) { every_amount("fib", 12); }
Test(fuel, every_amount_for_tak) { every_amount("tak", 5); }
Test(fuel, every_amount_for_loops_and_tail_calls) { every_amount("pairs", 6); }

Test(fuel, as_much_as_is_counted) {
  for (size_t k = 0; k < n_kinds(); k++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = kinds[k];
    options.flags |= HIA_FLAG_COUNT;
    program p = open_program(&options, text, "pairs");
    static outcome o;
    hia_run_options unlimited = HIA_RUN_OPTIONS_INIT;
    run_with(&p, 9, &unlimited, &o);
    cr_assert(o.stats.is_counted && !o.stats.is_fuelled && o.stats.fuel_left == 0);
    uint64_t n = o.stats.calls + o.stats.rounds;
    run(&p, 9, n, &o);
    cr_assert_eq(o.status, HIA_OK);
    cr_assert_eq(o.stats.calls + o.stats.rounds, n);
    cr_assert_eq(o.stats.fuel_left, 0);
    run(&p, 9, n - 1, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    close_program(&p);
  }
}

Test(fuel, all_of_it) {
  for (size_t k = 0; k < n_kinds(); k++) {
    program p = open(kinds[k], "fib");
    static outcome o;
    run(&p, 10, UINT64_MAX, &o);
    cr_assert_str_eq(o.text, "89");
    cr_assert_eq(o.stats.fuel_left, UINT64_MAX - 176);
    close_program(&p);
  }
}

/* Ten million rounds, or calls in tail position, take no space and end. */
Test(fuel, ends_what_does_not_end) {
  for (size_t k = 0; k < n_kinds(); k++) {
    uint64_t fuel = kinds[k] == HIA_ENGINE_JIT ? 10000000 : 100000;
    static outcome o;
    program p = open(kinds[k], "spin");
    run(&p, 1, fuel, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    cr_assert_eq(o.stats.fuel_left, 0);
    close_program(&p);
    p = open(kinds[k], "even");
    run(&p, INT32_MAX, fuel, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    cr_assert_lt(o.stats.peak_bytes, 2 << 20);
    close_program(&p);
  }
}

/* Other failures happen as without fuel; the remaining fuel is then not known. */
Test(fuel, other_ends) {
  for (size_t k = 0; k < n_kinds(); k++) {
    static outcome o;
    program p = open(kinds[k], "inverse");
    run(&p, 0, 1, &o);
    cr_assert_eq(o.status, HIA_DIV_ZERO);
    cr_assert(!o.stats.is_fuelled && o.stats.fuel_left == 0);
    run(&p, 0, 0, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    close_program(&p);

    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = kinds[k];
    options.max_depth = 1 << 20;
    p = open_program(&options, text, "deep");
    run(&p, 10000000, UINT64_MAX, &o);
    cr_assert_eq(o.status, HIA_DEPTH);
    run(&p, 100, 100, &o);
    cr_assert_str_eq(o.text, "100");
    close_program(&p);

    p = open(kinds[k], "spin");
    hia_cancel *cancel = hia_cancel_new(NULL);
    hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
    run_options.has_fuel = true;
    run_options.fuel = UINT64_MAX;
    run_options.timeout_ns = 20000000;
    run_with(&p, 1, &run_options, &o);
    cr_assert_eq(o.status, HIA_DEADLINE);
    run_options.cancel = cancel;
    hia_cancel_request(cancel);
    run_with(&p, 1, &run_options, &o);
    cr_assert_eq(o.status, HIA_CANCELLED);
    hia_cancel_free(cancel);
    close_program(&p);
  }
}

/* ---- requests ---- */

static void expect_argument(const program *p, const hia_run_options *options, const char *words) {
  static outcome o;
  hia_error *error;
  run_with(p, 1, options, &o);
  cr_assert_eq(o.status, HIA_ARGUMENT);
  cr_assert(strstr(o.text, words), "%s", o.text);
  cr_assert_eq(hia_function_prepare_for(p->function, options, &error), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_text(error), words));
  hia_error_free(error);
}

Test(fuel, bad_requests) {
  program p = open(HIA_ENGINE_INTERP, "fib");
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.fuel = 1000;
  expect_argument(&p, &options, "set has_fuel too");
  options = (hia_run_options)HIA_RUN_OPTIONS_INIT;
  options.size = sizeof options + 8;
  struct {
    hia_run_options options;
    uint64_t more;
  } newer = {.options = options, .more = 1};
  hia_error *error;
  cr_assert_eq(hia_function_prepare_for(p.function, &newer.options, &error), HIA_ARGUMENT);
  hia_error_free(error);
  cr_assert_eq(hia_function_prepare_for(NULL, NULL, NULL), HIA_ARGUMENT);
  hia_function *generic;
  cr_assert_eq(hia_module_function(p.module, "double", &generic, NULL), HIA_OK);
  cr_assert_eq(hia_function_prepare_for(generic, NULL, NULL), HIA_ARGUMENT);
  close_program(&p);
}

/* Options of a version without fuel. */
Test(fuel, older_options) {
  program p = open(HIA_ENGINE_INTERP, "fib");
  static outcome o;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.size = offsetof(hia_run_options, has_fuel);
  options.has_fuel = true;
  run_with(&p, 10, &options, &o);
  cr_assert_str_eq(o.text, "89");
  cr_assert(!o.stats.is_fuelled);
  close_program(&p);
}

Test(fuel, generic_functions) {
  program p = open(HIA_ENGINE_INTERP, "double");
  static outcome o;
  run(&p, 3, 2, &o);
  cr_assert_str_eq(o.text, "12");
  run(&p, 3, 1, &o);
  cr_assert_eq(o.status, HIA_FUEL);
  close_program(&p);
}

static bool collect(void *user, const char *bytes, size_t len) {
  char *all = user;
  size_t used = strlen(all);
  memcpy(all + used, bytes, len);
  all[used + len] = 0;
  return true;
}

static void dump(const program *p, hia_stage stage, const char *after, bool fuel, char *all) {
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  hia_error *error;
  options.stage = stage;
  options.after = after;
  options.fuel = fuel;
  all[0] = 0;
  hia_status status = hia_module_dump(p->module, &p->function, 1, &options, collect, all, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
}

static program open_graph(const char *graph, hia_engine_kind kind) {
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

/* A function graph can be run with fuel, any number of times; a graph that passes have changed
 * cannot, and still runs without fuel. */
Test(fuel, graphs_that_were_read) {
  static char graph[1 << 16];
  static outcome o;
  for (size_t k = 0; k < n_kinds(); k++) {
    program p = open(kinds[k], "fib");
    dump(&p, HIA_STAGE_GRAPH, NULL, false, graph);
    program q = open_graph(graph, kinds[k]);
    run(&q, 10, 176, &o);
    cr_assert_str_eq(o.text, "89");
    run(&q, 10, 175, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    hia_run_options unlimited = HIA_RUN_OPTIONS_INIT;
    run_with(&q, 10, &unlimited, &o);
    cr_assert_str_eq(o.text, "89");
    close_program(&q);

    dump(&p, HIA_STAGE_STATIC, NULL, false, graph);
    q = open_graph(graph, kinds[k]);
    run(&q, 10, 176, &o);
    cr_assert_eq(o.status, HIA_UNSUPPORTED);
    cr_assert(strstr(o.text, "static graph"), "%s", o.text);
    run_with(&q, 10, &unlimited, &o);
    cr_assert_str_eq(o.text, "89");
    hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
    options.fuel = true;
    hia_status status = hia_module_dump(q.module, NULL, 0, &options, collect, graph, NULL);
    cr_assert_eq(status, HIA_UNSUPPORTED);
    close_program(&q);
    close_program(&p);
  }
}

/* The graph for runs with fuel is an ordinary program: fuel is one more argument. */
Test(fuel, what_is_dumped_runs) {
  static char graph[1 << 16];
  for (int i = 0; i < 3; i++) {
    program p = open(HIA_ENGINE_INTERP, "fib");
    dump(&p, i < 2 ? HIA_STAGE_GRAPH : HIA_STAGE_STATIC,
         i == 0   ? "fuel"
         : i == 1 ? "tail"
                  : NULL,
         true, graph);
    cr_assert(strstr(graph, "charge 2 "));
    close_program(&p);
    p = open_graph(graph, HIA_ENGINE_INTERP);
    cr_assert_str_eq(hia_function_signature(p.function), "fib(i32, i64) -> (i32, i64)");
    hia_value *args[2] = {hia_value_i32(p.engine, 10), hia_value_i64(p.engine, 200)}, *result;
    cr_assert_eq(hia_call(p.function, args, 2, &result, NULL), HIA_OK);
    char buf[40];
    hia_value_format(result, buf, sizeof buf);
    cr_assert_str_eq(buf, "(89, 24)");
    hia_value_free(result);
    hia_value_free(args[0]);
    hia_value_free(args[1]);
    close_program(&p);
  }
}

/* The largest type that the language has, and one part more. */
Test(fuel, a_thousand_results) {
  static char source[1 << 14], graph[1 << 18];
  size_t at = (size_t)snprintf(source, sizeof source, "fn fib(n: i32) = (n");
  for (int i = 1; i < 1000; i++)
    at += (size_t)snprintf(source + at, sizeof source - at, ", n + %d", i % 10);
  snprintf(source + at, sizeof source - at, ")");
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  program p = open_program(&options, source, "fib");
  static outcome o;
  run(&p, 3, 7, &o);
  cr_assert_eq(o.status, HIA_OK);
  cr_assert_eq(o.stats.fuel_left, 7);
  dump(&p, HIA_STAGE_STATIC, NULL, true, graph);
  close_program(&p);
  p = open_graph(graph, HIA_ENGINE_INTERP);
  hia_value *args[2] = {hia_value_i32(p.engine, 3), hia_value_i64(p.engine, 7)}, *result, *part;
  cr_assert_eq(hia_call(p.function, args, 2, &result, NULL), HIA_OK);
  part = hia_value_part(result, 1);
  int64_t left = 0;
  cr_assert_eq(hia_value_get_i64(part, &left), HIA_OK);
  cr_assert_eq(left, 7);
  hia_value_free(part);
  hia_value_free(result);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
}

Test(fuel, a_graph_with_forks) {
  NEEDS_NATIVE;
  static char graph[1 << 16];
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.threads = 2;
  program p = open_program(&options, text, "fib");
  dump(&p, HIA_STAGE_GRAPH, "fork", false, graph);
  cr_assert(strstr(graph, " fork "));
  close_program(&p);
  p = open_graph(graph, HIA_ENGINE_JIT);
  static outcome o;
  run(&p, 10, 200, &o);
  cr_assert_eq(o.status, HIA_UNSUPPORTED);
  cr_assert(strstr(o.text, "forked"), "%s", o.text);
  close_program(&p);
}

/* ---- versions ---- */

Test(fuel, statistics_and_versions) {
  for (size_t k = 0; k < n_kinds(); k++) {
    program p = open(kinds[k], "fib");
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
    options.has_fuel = true;
    cr_assert_eq(hia_function_prepare_for(p.function, &options, NULL), HIA_OK);
    hia_function_get_stats(p.function, &stats);
    cr_assert_eq(stats.versions, 1);
    cr_assert_eq(stats.tier, kinds[k] == HIA_ENGINE_JIT ? HIA_TIER_NATIVE : HIA_TIER_IMAGE);
    uint64_t nodes = stats.nodes, passes = stats.passes_ns;
    static outcome o;
    run(&p, 10, 176, &o);
    cr_assert_eq(o.status, HIA_OK);
    hia_function_get_stats(p.function, &stats);
    cr_assert(stats.passes_ns == passes && stats.runs == 1);
    cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
    hia_function_get_stats(p.function, &stats);
    cr_assert_eq(stats.versions, 2);
    cr_assert(stats.nodes > nodes && stats.passes_ns > passes);
    close_program(&p);
  }
}

/* Several threads, some with fuel, run a function that is not ready yet. */
typedef struct racer {
  pthread_t thread;
  const program *p;
  bool has_fuel;
  unsigned wrong;
  uint64_t steals;
} racer;

static void *race(void *user) {
  racer *r = user;
  for (int i = 0; i < 30; i++) {
    outcome o;
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.has_fuel = r->has_fuel;
    options.fuel = r->has_fuel ? 3192 - (uint64_t)(i & 1) : 0; /* enough, and not */
    run_with(r->p, 16, &options, &o);
    hia_status wanted = r->has_fuel && i & 1 ? HIA_FUEL : HIA_OK;
    if (r->has_fuel) r->steals += o.stats.steals;
    r->wrong += o.status != wanted;
  }
  return NULL;
}

Test(fuel, beside_plain_runs) {
  for (size_t k = 0; k < n_kinds(); k++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = kinds[k];
    options.threads = 3;
    program p = open_program(&options, text, "fib");
    racer racers[4];
    for (int i = 0; i < 4; i++) {
      racers[i] = (racer){.p = &p, .has_fuel = i & 1};
      cr_assert_eq(pthread_create(&racers[i].thread, NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
      pthread_join(racers[i].thread, NULL);
      cr_assert_eq(racers[i].wrong, 0);
      cr_assert_eq(racers[i].steals, 0);
    }
    close_program(&p);
  }
}

/* A timeline has the phases of both versions. */
Test(fuel, timelines) {
  program p = open(HIA_ENGINE_INTERP, "fib");
  hia_timeline *timeline = hia_timeline_new(NULL, 0);
  static outcome o;
  for (int i = 0; i < 2; i++) {
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.timeline = timeline;
    options.has_fuel = i;
    options.fuel = i ? 176 : 0;
    run_with(&p, 10, &options, &o);
    cr_assert_str_eq(o.text, "89");
  }
  close_program(&p);
  hia_timeline_free(timeline);
}

/* ---- the host ---- */

static const char host_text[] =
    "extern impure fn again(n: i32) -> i32\n"
    "extern fn twice(n: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn inner(n: i32) -> i32 = if n > 20 then again(n - 10) + 1 else fib(n)\n"
    "fn main(n: i32) -> i32 = again(n) + again(n + 10) + (if n > 3 then again(n) else 0) + fib(5)\n"
    "fn pure(n: i32) -> i32 = { let _ = twice(n); twice(n) + twice(n) }\n";

typedef struct hosted {
  program p;
  hia_run_options options; /* of nested runs */
  int calls;
} hosted;

/* Runs `inner`, and fails as that does. */
static int32_t again(void *user, int32_t n, int32_t *result) {
  hosted *h = user;
  hia_function *inner;
  hia_value *arg = hia_value_i32(h->p.engine, n), *value = NULL;
  hia_status status = hia_module_function(h->p.module, "inner", &inner, NULL);
  if (status == HIA_OK) status = hia_run(inner, &arg, 1, &h->options, &value, NULL);
  if (status == HIA_OK) hia_value_get_i32(value, result);
  hia_value_free(value);
  hia_value_free(arg);
  h->calls++;
  return (int32_t)status;
}

static int32_t twice(void *user, int32_t n) {
  ((hosted *)user)->calls++;
  return n + n;
}

static void open_hosted(hosted *h, hia_engine_kind kind, const char *passes, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  hia_error *error;
  *h = (hosted){.options = HIA_RUN_OPTIONS_INIT};
  options.kind = kind;
  options.disabled_passes = passes;
  cr_assert_eq(hia_engine_new(&options, &h->p.engine, NULL), HIA_OK);
  f.declaration = "extern impure fn again(n: i32) -> i32";
  f.function = (void (*)(void))again;
  f.user = h;
  f.takes_user = f.returns_status = true;
  cr_assert_eq(hia_engine_register(h->p.engine, &f, NULL), HIA_OK);
  f.declaration = "extern fn twice(n: i32) -> i32";
  f.function = (void (*)(void))twice;
  f.returns_status = false;
  cr_assert_eq(hia_engine_register(h->p.engine, &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(h->p.engine, "t.hia", host_text, strlen(host_text),
                                    &h->p.module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(h->p.module, name, &h->p.function, NULL), HIA_OK);
}

/* Nested runs use up the fuel of the outer run. main(15) makes 4 calls, one more in its arm,
 * and fib(5) 14; each run of inner(15) makes 1 and 1972 below it; inner(25) makes one, and
 * starts another such run. */
Test(fuel, runs_within_runs) {
  const uint64_t each = 1973, needed = 3 + 1 + 14 + each + (1 + each) + each;
  static const char *const passes[] = {NULL, "all"};
  static outcome first, o;
  uint64_t fuels[] = {0,
                      3,
                      4,
                      5,
                      each + 3,
                      each + 4,
                      2 * each + 4,
                      2 * each + 5,
                      needed - 15,
                      needed - 14,
                      needed - 1,
                      needed,
                      needed + 1,
                      UINT64_MAX};
  hosted h;
  for (size_t i = 0; i < sizeof fuels / sizeof fuels[0]; i++)
    for (size_t k = 0; k < 2 * n_kinds(); k++) {
      open_hosted(&h, kinds[k / 2], passes[k % 2], "main");
      run(&h.p, 15, fuels[i], &o);
      cr_assert_eq(o.status, fuels[i] < needed ? HIA_FUEL : HIA_OK, "%zu: %s", i, o.text);
      if (o.status == HIA_OK) cr_assert_eq(o.stats.fuel_left, fuels[i] - needed);
      if (k == 0) first = o;
      cr_assert_str_eq(o.text, first.text);
      cr_assert(o.stats.is_fuelled == first.stats.is_fuelled &&
                o.stats.fuel_left == first.stats.fuel_left);
      close_program(&h.p);
      if (kinds[k / 2] != HIA_ENGINE_JIT) continue;
      open_hosted(&h, HIA_ENGINE_JIT, passes[k % 2], "main");
      run_typed(&h.p, 15, fuels[i], &o);
      cr_assert_str_eq(o.text, first.text, "typed");
      cr_assert_eq(o.stats.fuel_left, first.stats.fuel_left);
      close_program(&h.p);
    }
}

/* ---- typed entries ---- */

typedef hia_status (*typed_fn)(hia_context *, int32_t, int32_t *);

static typed_fn entry_of(const program *p, const char *name, bool has_fuel) {
  hia_function *f;
  hia_native_fn entry;
  hia_error *error;
  cr_assert_eq(hia_module_function(p->module, name, &f, &error), HIA_OK);
  hia_status status =
      (has_fuel ? hia_function_entry_with_fuel : hia_function_entry)(f, &entry, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  return (typed_fn)entry;
}

static uint64_t left(const hia_context *context) {
  uint64_t n = 1;
  cr_assert(hia_context_fuel_left(context, &n));
  return n;
}

/* All calls of a context use up its fuel together; entries without fuel are refused meanwhile. */
Test(fuel, typed_entries_share_what_a_context_has) {
  NEEDS_NATIVE;
  program p = open(HIA_ENGINE_JIT, "fib");
  typed_fn fib = entry_of(&p, "fib", true), deep = entry_of(&p, "deep", true);
  typed_fn inverse = entry_of(&p, "inverse", true), without = entry_of(&p, "fib", false);
  hia_context *context, *other;
  uint64_t fuel = 1;
  int32_t x = 0;
  cr_assert_eq(hia_engine_context_new(p.engine, &context, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(p.engine, &other, NULL), HIA_OK);
  cr_assert_not(hia_context_fuel_left(context, &fuel));
  cr_assert_eq(fuel, 0);
  /* Without fuel there is no such limit in any code. */
  cr_assert_eq(fib(context, 20, &x), HIA_OK);
  cr_assert_eq(x, 10946);
  cr_assert_eq(without(context, 20, &x), HIA_OK);

  hia_context_set_fuel(context, 100);
  for (int round = 0; round < 3; round++) { /* the first is a special one */
    cr_assert_eq(deep(context, 10, &x), HIA_OK);
    cr_assert_eq(x, 10);
    cr_assert_eq(left(context), 90u - 10u * (unsigned)round);
  }
  cr_assert_eq(without(context, 1, &x), HIA_UNSUPPORTED);
  cr_assert_not_null(strstr(hia_error_text(hia_context_error(context)), "not compiled for that"));
  cr_assert_eq(left(context), 70);
  cr_assert_eq(without(other, 20, &x), HIA_OK, "another context has no fuel to heed");
  cr_assert_eq(deep(context, 71, &x), HIA_FUEL);
  cr_assert_eq(left(context), 0);
  cr_assert_eq(deep(context, 0, &x), HIA_OK, "a call that makes none needs none");
  cr_assert_eq(deep(context, 1, &x), HIA_FUEL);

  /* A call that fails otherwise has used up everything, one that is refused nothing. */
  hia_context_set_fuel(context, 50);
  cr_assert_eq(inverse(context, 0, &x), HIA_DIV_ZERO);
  cr_assert_eq(left(context), 0);
  hia_context_set_fuel(context, 50);
  cr_assert_eq(fib(NULL, 0, &x), HIA_ARGUMENT);
  cr_assert_eq(fib(context, 3, &x), HIA_OK);
  cr_assert_eq(left(context), 46);

  hia_context_clear_fuel(context);
  cr_assert_not(hia_context_fuel_left(context, NULL));
  cr_assert_eq(without(context, 20, &x), HIA_OK);
  cr_assert_eq(fib(context, 20, &x), HIA_OK);
  /* Other limits apply in addition. */
  hia_context_set_fuel(context, UINT64_MAX);
  hia_context_set_timeout(context, 20000000);
  typed_fn pairs = entry_of(&p, "pairs", true);
  cr_assert_eq(pairs(context, INT32_MAX, &x), HIA_DEADLINE);
  hia_context_set_timeout(context, 0);
  hia_context_set_fuel(context, 1000);
  hia_context_cancel(context);
  cr_assert_eq(fib(context, 5, &x), HIA_CANCELLED);
  hia_context_reset(context);
  hia_context_set_fuel(context, 1000);
  cr_assert_eq(fib(context, 5, &x), HIA_OK);
  cr_assert_eq(left(context), 986);
  hia_context_free(other);
  hia_context_free(context);
  close_program(&p);
}

/* In a host function: calls a typed entry with a context of its own. */
typedef struct inner_call {
  typed_fn entry;
  hia_context *context, *outer; /* outer: the context of the call around this one; or NULL */
  hia_status busy;
} inner_call;

static hia_status call_inner(void *user, int32_t n, int32_t *result) {
  inner_call *c = user;
  if (c->outer) {
    c->busy = c->entry(c->outer, 1, result);
    hia_context_set_fuel(c->outer, 12345); /* it is in a call: nothing happens */
  }
  return c->entry(c->context, n, result);
}

/* A typed entry with fuel inside a run with fuel uses up the fuel of that run. */
Test(fuel, typed_entries_within_runs) {
  static const char nested[] = "extern impure fn inner(n: i32) -> i32\n"
                               "fn main(n: i32) -> i32 = inner(n) + inner(n)\n"
                               "fn deep(n: i32) -> i32 = if n == 0 then 0 else 1 + deep(n - 1)\n";
  NEEDS_NATIVE;
  program p;
  inner_call c = {.busy = HIA_OK};
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern impure fn inner(n: i32) -> i32";
  f.function = (void (*)(void))call_inner;
  f.user = &c;
  f.takes_user = f.returns_status = true;
  cr_assert_eq(hia_engine_new(NULL, &p.engine, NULL), HIA_OK);
  cr_assert_eq(hia_engine_register(p.engine, &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(p.engine, "t", nested, strlen(nested), &p.module, NULL),
               HIA_OK);
  cr_assert_eq(hia_module_function(p.module, "main", &p.function, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(p.engine, &c.context, NULL), HIA_OK);
  c.entry = entry_of(&p, "deep", true);
  typed_fn main_fn = entry_of(&p, "main", true);
  hia_context *context;
  cr_assert_eq(hia_engine_context_new(p.engine, &context, NULL), HIA_OK);
  int32_t x = 0;
  for (int by_entry = 0; by_entry < 2; by_entry++) {
    for (uint64_t fuel = 0; fuel < 25; fuel++) {
      static outcome o;
      bool is_enough = fuel >= 22; /* two calls of the host function, and ten below each */
      hia_context_set_fuel(c.context, 1000);
      if (by_entry) {
        hia_context_set_fuel(context, fuel);
        c.outer = context;
        o.status = main_fn(context, 10, &x);
        cr_assert(fuel < 2 || c.busy == HIA_BUSY);
        c.outer = NULL;
        if (is_enough) cr_assert_eq(left(context), fuel - 22);
      } else {
        run(&p, 10, fuel, &o);
        if (is_enough) cr_assert_eq(o.stats.fuel_left, fuel - 22);
      }
      cr_assert_eq(o.status, is_enough ? HIA_OK : HIA_FUEL, "%d %d", by_entry, (int)fuel);
      if (is_enough) cr_assert_eq(left(c.context), 980, "its own is used up too");
    }
  }
  hia_context_free(context);
  hia_context_free(c.context);
  close_program(&p);
}

/* A nested run may have a lower limit of its own; in a run without fuel there is none to inherit.
 */
Test(fuel, nested_runs_with_less) {
  static outcome o;
  hosted h;
  for (size_t k = 0; k < n_kinds(); k++) {
    open_hosted(&h, kinds[k], NULL, "main");
    h.options.has_fuel = true;
    h.options.fuel = 1972;
    run(&h.p, 15, 1000000, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    cr_assert_eq(h.calls, 1);
    h.options.fuel = 1974;
    run(&h.p, 15, 1000000, &o);
    cr_assert_eq(o.status, HIA_OK, "%s", o.text);
    h.options.has_fuel = false;
    h.options.fuel = 0;
    hia_run_options unlimited = HIA_RUN_OPTIONS_INIT;
    run_with(&h.p, 15, &unlimited, &o);
    cr_assert_eq(o.status, HIA_OK);
    close_program(&h.p);
  }
}

/* With fuel a pure host function is called as often as it is charged. */
Test(fuel, calls_of_the_host) {
  static outcome o;
  static char graph[1 << 16];
  hosted h;
  for (size_t k = 0; k < n_kinds(); k++) {
    open_hosted(&h, kinds[k], NULL, "pure");
    run(&h.p, 5, 3, &o);
    cr_assert_str_eq(o.text, "20");
    cr_assert_eq(o.stats.fuel_left, 0);
    cr_assert_eq(h.calls, 3);
    run(&h.p, 5, 2, &o);
    cr_assert_eq(o.status, HIA_FUEL);
    cr_assert_eq(h.calls, 3);
    /* The dump can be loaded. */
    dump(&h.p, HIA_STAGE_STATIC, NULL, true, graph);
    hia_module *module;
    hia_error *error;
    cr_assert_eq(hia_module_load_ir(h.p.engine, "g.ir", graph, strlen(graph), &module, &error),
                 HIA_OK, "%s", hia_error_text(error));
    hia_function *f;
    cr_assert_eq(hia_module_function(module, "pure", &f, NULL), HIA_OK);
    hia_value *args[2] = {hia_value_i32(h.p.engine, 5), hia_value_i64(h.p.engine, 9)}, *result;
    cr_assert_eq(hia_call(f, args, 2, &result, NULL), HIA_OK);
    char buf[40];
    hia_value_format(result, buf, sizeof buf);
    cr_assert_str_eq(buf, "(20, 6)");
    hia_value_free(result);
    hia_value_free(args[0]);
    hia_value_free(args[1]);
    hia_module_free(module);
    close_program(&h.p);
  }
}
