/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/base.h"
#include <time.h>

uint64_t hiaR_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
