/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/base.h"
#include <time.h>

static uint64_t read_clock(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t hiaR_now(void) { return read_clock(CLOCK_MONOTONIC); }
uint64_t hiaR_thread_now(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
