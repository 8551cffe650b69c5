/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs on several threads where there is one processor: a helper would take turns with the thread
 * that it helps, so there is none. Stress builds and those with sanitizers have helpers all the
 * same, and the same results. */
#include "runtime/threads/processor.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/trace.h"

#include <sched.h>

static const char text[] =
    "type T = L | N(a: T, b: T)\n"
    "fn make(d: i32) -> T = if d == 0 then L else N(make(d - 1), make(d - 1))\n"
    "fn count(t: T) -> i32 = match t { L => 1, N(a, b) => count(a) + count(b) }\n"
    "fn main(d: i32) -> i32 = count(make(d))\n";

/* Counts 524,288 leaves. The timeline has events of all threads that took part. */
static void count_leaves(const program *p, hia_timeline *timeline) {
  hia_value *arg, *result = NULL;
  hia_error *error = NULL;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeline = timeline;
  cr_assert_eq(hia_value_parse(p->function, 0, "19", &arg, NULL), HIA_OK);
  cr_assert_eq(hia_run(p->function, &arg, 1, &options, &result, &error), HIA_OK, "%s",
               hia_error_text(error));
  int32_t n = 0;
  cr_assert(hia_value_get_i32(result, &n) == HIA_OK && n == 524288);
  hia_value_free(arg);
  hia_value_free(result);
}

static unsigned n_threads(hia_timeline *timeline) {
  test_text json = {0};
  trace_picture picture;
  cr_assert_eq(hia_timeline_write(timeline, test_text_take, &json, NULL), HIA_OK);
  cr_assert(trace_read(json.data, json.len, &picture), "%s", picture.wrong);
  test_text_free(&json);
  return picture.n_threads;
}

/* The affinity is that of the test's process, and of the threads that it starts from here on. */
Test(engine_processors, one) {
  NEEDS_NATIVE;
  cpu_set_t all, one;
  cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
  cr_assert_eq(hiaR_processors(), 1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 3;
  program p = open_program(&options, text, "main");
  hia_timeline *timeline = hia_timeline_new(NULL, 0);
  for (int i = 0; i < 12; i++) count_leaves(&p, timeline);
  cr_assert(HIA_HELPS_ON_ONE || n_threads(timeline) == 1);
  hia_timeline_free(timeline);
  close_program(&p);
  cr_assert_eq(sched_setaffinity(0, sizeof all, &all), 0);
}
