/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/heap/reserve.h"
#include "runtime/heap/poison.h"

#ifdef HIA_STRESS
enum { LEAST = 32 << 10, MOST = 128 << 10, UNIT = 1 << 10 }; /* chunks fit into a PART of it */
#else
enum {
  LEAST = 8 << 20,  /* bytes of a run that needs a reserve */
  MOST = 128 << 20, /* bytes of a reserve */
  UNIT = 2 << 20,   /* a large page */
};
#endif
enum {
  SMALL = 4, /* a run has little of a reserve if that is as many times as large */
  PATIENCE = 16,
  PART = 4 /* no block has more than 1/PART of a reserve */
};

void *hiaR_reserve_take(hia_reserve *reserve, size_t size) {
  if (size > reserve->size / PART || size > reserve->size - reserve->taken) return NULL;
  char *block = reserve->block + reserve->taken;
  reserve->taken += size;
  HIA_UNPOISON(block, size);
  return block;
}

void hiaR_reserve_free(hia_reserve *reserve, const hia_allocator *allocator) {
  if (!reserve->block) return;
  HIA_UNPOISON(reserve->block, reserve->size);
  hiaR_free(allocator, reserve->block, reserve->size);
  *reserve = (hia_reserve){0};
}

/* What is freed in a run does not always fit what is asked for later: so an eighth more. */
static size_t size_for(size_t peak) {
  size_t size = peak < MOST ? peak + peak / 8 : MOST;
  size = (size + UNIT - 1) / UNIT * UNIT;
  return size < MOST ? size : MOST;
}

bool hiaR_reserve_end_run(hia_reserve *reserve, const hia_allocator *allocator, size_t peak) {
  size_t size = peak < LEAST ? 0 : size_for(peak);
  reserve->taken = 0;
  if (reserve->block) HIA_POISON(reserve->block, reserve->size);
  reserve->n_small = peak < reserve->size / SMALL ? reserve->n_small + 1 : 0;
  if (size > reserve->size || reserve->n_small > PATIENCE) hiaR_reserve_free(reserve, allocator);
  return !reserve->block && size;
}

void hiaR_reserve_make(hia_reserve *reserve, const hia_allocator *allocator, size_t peak) {
  size_t size = size_for(peak);
  reserve->block = hiaR_alloc_large(allocator, size);
  if (!reserve->block) return;
  reserve->size = size;
  HIA_POISON(reserve->block, size);
}
