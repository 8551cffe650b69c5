/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs with fuel, through the public API: every amount in every engine, the errors of wrong
 * requests, statistics, and runs without fuel at the same time. Functions of the host and typed
 * entries: test_engine_fuel_host.c. */
#include "tests/unit/helpers/engine_fuel.h"
#include <pthread.h>

/* ---- meaning ---- */

static uint64_t count(const char *name, int32_t n) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_run_options unlimited = HIA_RUN_OPTIONS_INIT;
  static outcome o;
  options.kind = HIA_ENGINE_INTERP;
  options.flags |= HIA_FLAG_COUNT;
  program p = open_program(&options, fuel_text, name);
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
    program p = open_program(&options, fuel_text, "pairs");
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
    p = open_program(&options, fuel_text, "deep");
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
  options.kind = HIA_ENGINE_JIT;
  options.threads = 2;
  program p = open_program(&options, fuel_text, "fib");
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
    program p = open_program(&options, fuel_text, "fib");
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
