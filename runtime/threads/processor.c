/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/threads/processor.h"
#include <sched.h>
#include <unistd.h>

uint32_t hiaR_processor(void) {
  int cpu = sched_getcpu();
  return cpu < 0 ? HIA_NONE : (uint32_t)cpu;
}

/* The kernel moves a thread that is confined to other processors, and leaves it there when it is
 * released. */
bool hiaR_processor_leave(const uint32_t *busy, size_t n) {
  cpu_set_t all, free;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return false;
  free = all;
  for (size_t i = 0; i < n; i++)
    if (busy[i] < CPU_SETSIZE) CPU_CLR(busy[i], &free);
  if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free) != 0) return false;
  (void)sched_setaffinity(0, sizeof all, &all);
  return true;
}

unsigned hiaR_processors(void) {
  cpu_set_t set; /* for 1024 processors; on machines with more the call fails */
  long n =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (unsigned)n;
}
