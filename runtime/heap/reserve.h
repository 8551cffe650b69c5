/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The reserve of a heap: one piece of memory from which a run takes its chunks and large blocks,
 * one behind the other, if earlier runs of the heap had much memory. So the steps of a training
 * find the memory of the last step, and none of their pages is asked of the system. The system
 * gives large pages to what is one piece: a step reads what lies anywhere in it, and with small
 * pages addresses of most of them have to be looked up. */
#ifndef HIA_RESERVE_H
#define HIA_RESERVE_H

#include "runtime/base/base.h"

typedef struct hia_reserve {
  char *block; /* or NULL */
  size_t size, taken;
  uint32_t n_small; /* runs that had little of it, one after the other */
} hia_reserve;

/* What a run has needed. */
typedef struct hia_reserve_need {
  size_t peak;  /* the most bytes that it had */
  size_t fresh; /* bytes that came from the allocator, instead of from the reserve */
  bool repeats; /* steps of a training: others follow that need as much */
} hia_reserve_need;

/* Memory of the reserve, which is the caller's until the run ends; NULL: too little is left. */
void *hiaR_reserve_take(hia_reserve *reserve, size_t size, bool repeats);
static inline bool hiaR_reserve_has(const hia_reserve *reserve, const void *block) {
  return (uintptr_t)block - (uintptr_t)reserve->block < reserve->size;
}
/* After a run: all of it is free again. Frees the reserve if it is too small for such runs, or was
 * too large for some time, and returns the size of the one that they should have; 0: it is there,
 * or they need none. */
size_t hiaR_reserve_end_run(hia_reserve *reserve, const hia_allocator *allocator,
                            const hia_reserve_need *need);
/* Makes the reserve, if there is so much memory. If runs repeat it has its pages already. */
void hiaR_reserve_make(hia_reserve *reserve, const hia_allocator *allocator, size_t size,
                       bool repeats);
void hiaR_reserve_free(hia_reserve *reserve, const hia_allocator *allocator);

#endif
