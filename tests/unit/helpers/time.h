/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Clocks and sleeping. No Criterion. */
#ifndef HELPER_TIME_H
#define HELPER_TIME_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

/* Seconds of the monotonic clock. */
static inline double test_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* How many times slower this machine is than the one that limits are written for: HIA_TEST_SLOWNESS
 * of the environment, which `./dev test` measures at its start; at least 1. */
static inline double test_slowness(void) {
  const char *text = getenv("HIA_TEST_SLOWNESS");
  double slowness = text ? strtod(text, NULL) : 1;
  return slowness >= 1 && slowness <= 1000 ? slowness : 1;
}

/* Nanoseconds of so many seconds on a slow machine: for a limit that only a hanging test reaches.
 */
static inline uint64_t test_limit_ns(double seconds) {
  return (uint64_t)(seconds * 1e9 * test_slowness());
}

/* Sleeps so many nanoseconds, or less if a signal comes. */
static inline void test_sleep(uint64_t ns) {
  nanosleep(&(struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}, NULL);
}

#endif
