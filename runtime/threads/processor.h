/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* On which processor a thread runs.
 *
 * One would leave that to the kernel. But a thread that is woken may be put on the processor of the
 * thread that woke it although others are idle: to the kernel of a virtual machine, a virtual
 * processor that has halted looks as if the host had taken it away. The two threads then take
 * turns, until the kernel moves one of them, which may take it 20 ms. So a thread of a pool looks
 * where it is when it begins to help, and moves off (docs/parallel.md, "Threads"). */
#ifndef HIA_PROCESSOR_H
#define HIA_PROCESSOR_H

#include "runtime/base/base.h"

/* True if threads help each other even where they take turns on one processor: tests want helpers
 * on any machine. */
#if defined(HIA_STRESS) || defined(HIA_ASAN) || defined(HIA_TSAN)
enum { HIA_HELPS_ON_ONE = true };
#else
enum { HIA_HELPS_ON_ONE = false };
#endif

/* The number of the processor that the calling thread runs on, at this moment; HIA_NONE: it is not
 * known. */
uint32_t hiaR_processor(void);
/* The processors that this thread may run on, at least 1. */
unsigned hiaR_processors(void);
/* Moves the calling thread to a processor that it may run on and that is none of `busy` (n of
 * them; HIA_NONE is none). The thread may be moved on from there as before. Returns false, and
 * does nothing, if there is no such processor, or if the system does not allow it. */
bool hiaR_processor_leave(const uint32_t *busy, size_t n);

#endif
