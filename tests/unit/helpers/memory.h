/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* An allocator over malloc that runs out of memory when a test requires it, and counts live blocks.
 * Threads may share it. No Criterion, since the programs of tests/stress use it too. */
#ifndef HELPER_MEMORY_H
#define HELPER_MEMORY_H

#include <hiaton/hiaton.h>
#include <stdatomic.h>

typedef struct test_heap {
  hia_allocator allocator;
  _Atomic long left;          /* requests that are granted; negative: all */
  _Atomic long blocks, bytes; /* live */
  bool fails_once;            /* after a request that was refused all others are granted */
} test_heap;

void test_heap_init(test_heap *heap, long left);

/* Calls `attempt` repeatedly, each time with the next of its allocations failing (with HIA_STRESS:
 * every fourth), until none is left to fail. It must return MEMORY, or OK without that allocation,
 * and leak nothing. Returns the approximate number of allocations, or 0 if it does not behave so.
 */
size_t fail_each_allocation(hia_status (*attempt)(const hia_allocator *allocator));

#endif
