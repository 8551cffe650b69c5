/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Equal calls: native code makes them once by default, and as often as written with an option,
 * whatever LLVM finds out about functions. */
#include "tests/unit/helpers/program.h"

static const char text[] =
    "fn twice(n: i32) -> i64 = if n <= 0 then 1 else twice(n - 1) + twice(n - 1)\n"
    "fn fib(n: i32) -> i64 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n";

static program open(hia_engine_options options, const char *name) {
  program p = open_program(&options, text, name);
  hia_error *error;
  cr_assert_eq(hia_function_prepare(p.function, &error), HIA_OK, "%s", hia_error_text(error));
  return p;
}

static int64_t run(const program *p, int32_t n, hia_run_stats *stats) {
  hia_value *arg = hia_value_i32(p->engine, n), *result;
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = stats;
  options.timeout_ns = 60u * 1000000000ull;
  int64_t x = 0;
  hia_status status = hia_run(p->function, &arg, 1, &options, &result, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  hia_value_get_i64(result, &x);
  hia_value_free(result);
  hia_value_free(arg);
  return x;
}

/* A million million million calls, had they to be made: it ends because they are merged. */
Test(merge, equal_calls_are_made_once) {
  NEEDS_NATIVE;
  for (int level = 0; level <= 3; level++) {
    for (unsigned threads = 1; threads <= 2; threads++) {
      hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
      options.kind = HIA_ENGINE_JIT;
      options.opt_level = level;
      options.threads = threads;
      program p = open(options, "twice");
      hia_run_stats stats = HIA_RUN_STATS_INIT;
      cr_assert_eq(run(&p, 60, &stats), (int64_t)1 << 60);
      close_program(&p);
      p = open(options, "fib");
      /* If every call were forked, equal calls would not be merged, and this would take an hour. */
      cr_assert_eq(run(&p, 130, &stats), -2533095440007118711L); /* modulo 2^64 */
      close_program(&p);
    }
  }
}

/* No processor makes 2^25 calls, or rounds of a loop, in less than a quarter of a nanosecond each:
 * a lower bound, which holds on a busy machine too. After unrolling about one call in a hundred
 * remains, and equal expressions of the copies are computed once. With merging there are 24 calls.
 */
Test(merge, equal_calls_are_made_as_often_as_written) {
  NEEDS_NATIVE;
  for (int level = 0; level <= 3; level++) {
    for (int kind = 0; kind < 4; kind++) {
      hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
      options.kind = HIA_ENGINE_JIT;
      options.opt_level = level;
      options.flags |= HIA_FLAG_NO_MERGING;
      if (kind & 1) options.flags |= HIA_FLAG_UNCHECKED;
      options.disabled_passes = kind & 2 ? "unroll" : NULL;
      program p = open(options, "twice");
      hia_run_stats stats = HIA_RUN_STATS_INIT;
      cr_assert_eq(run(&p, 24, &stats), (int64_t)1 << 24);
      uint64_t least = ((uint64_t)1 << 25) / (kind & 2 ? 4 : 512);
      cr_assert_geq(stats.run_ns, least, "level %d, kind %d: %llu ns", level, kind,
                    (unsigned long long)stats.run_ns);
      close_program(&p);
    }
  }
}

/* The counts are those of the language, with and without merging. */
Test(merge, counted_calls_are_all_there) {
  NEEDS_NATIVE;
  for (int merges = 0; merges < 2; merges++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = HIA_ENGINE_JIT;
    options.flags |= HIA_FLAG_COUNT;
    if (!merges) options.flags |= HIA_FLAG_NO_MERGING;
    program p = open(options, "twice");
    hia_run_stats stats = HIA_RUN_STATS_INIT;
    cr_assert_eq(run(&p, 12, &stats), 1 << 12);
    cr_assert_eq(stats.calls, (1 << 13) - 2);
    close_program(&p);
  }
}
