/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* An allocator over malloc that runs out of memory when it is told to, and counts what is alive.
 * Threads may share it. No Criterion: plain drivers use it too. */
#ifndef HELPER_MEMORY_H
#define HELPER_MEMORY_H

#include <hiaton/hiaton.h>
#include <stdatomic.h>

typedef struct test_heap {
  hia_allocator allocator;
  _Atomic long left;          /* requests that are granted; negative: all */
  _Atomic long blocks, bytes; /* alive */
  bool fails_once;            /* after one that was not, all are granted again */
} test_heap;

void test_heap_init(test_heap *heap, long left);

/* Attempts something with each of its allocations failing once (with HIA_STRESS: every fourth),
 * until there is one less: it must answer MEMORY, or OK without the failing one, and leave nothing
 * behind. Answers how many there are, about, or 0 if it does not. */
size_t fail_each_allocation(hia_status (*attempt)(const hia_allocator *allocator));

#endif
