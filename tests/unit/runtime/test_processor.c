/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* processor: a thread leaves the processors that it is asked to leave, and may be moved back. */
#include "runtime/threads/processor.h"
#include <criterion/criterion.h>
#include <sched.h>

static cpu_set_t may_use(void) {
  cpu_set_t set;
  cr_assert_eq(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

Test(processor, is_one_that_the_thread_may_use) {
  cpu_set_t set = may_use();
  uint32_t at = hiaR_processor();
  cr_assert_neq(at, HIA_NONE);
  cr_assert(CPU_ISSET(at, &set));
}

/* The kernel may move the thread at any time, so it is confined to two processors, and asked to
 * leave one of them: for a moment it is on the other. */
Test(processor, is_left) {
  cpu_set_t all = may_use(), two;
  uint32_t ids[2], n = 0;
  CPU_ZERO(&two);
  for (uint32_t i = 0; i < CPU_SETSIZE && n < 2; i++)
    if (CPU_ISSET(i, &all)) ids[n++] = i, CPU_SET(i, &two);
  if (n < 2) {
    cr_assert_not(hiaR_processor_leave(ids, 1));
    return;
  }
  cr_assert_eq(sched_setaffinity(0, sizeof two, &two), 0);
  for (int tries = 0; tries < 100; tries++) {
    uint32_t from = ids[tries % 2];
    uint32_t busy[2] = {HIA_NONE, from};
    cr_assert(hiaR_processor_leave(busy, 2));
    cpu_set_t now = may_use();
    cr_assert(CPU_EQUAL(&now, &two), "what the thread may use is as before");
    if (hiaR_processor() != from) return;
  }
  cr_assert_fail("a hundred times on the processor that it was asked to leave");
}

Test(processor, none_is_left) {
  cpu_set_t all = may_use();
  uint32_t busy[CPU_SETSIZE], n = 0;
  for (uint32_t i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &all)) busy[n++] = i;
  cr_assert_not(hiaR_processor_leave(busy, n));
  cpu_set_t now = may_use();
  cr_assert(CPU_EQUAL(&now, &all));
}
