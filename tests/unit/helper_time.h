/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Clocks and sleeping. No Criterion. */
#ifndef HELPER_TIME_H
#define HELPER_TIME_H

#include <stdint.h>
#include <time.h>

/* Seconds of the monotonic clock. */
static inline double test_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Sleeps so many nanoseconds, or less if a signal comes. */
static inline void test_sleep(uint64_t ns) {
  nanosleep(&(struct timespec){(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)}, NULL);
}

#endif
