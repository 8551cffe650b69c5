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
  PART = 4, /* no block has more than 1/PART of a reserve */
  PAGE = 4096
};
/* Runs that repeat have one from here on, up to so many bytes. */
enum { LEAST_REPEATED = 64 << 10 };
#define MOST_REPEATED ((size_t)2 << 30)

void *hiaR_reserve_take(hia_reserve *reserve, size_t size, bool repeats) {
  size_t most = repeats ? reserve->size : reserve->size / PART;
  if (size > most || size > reserve->size - reserve->taken) return NULL;
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
static size_t size_for(size_t bytes, size_t most) {
  size_t size = bytes < most ? bytes + bytes / 8 : most;
  size = (size + UNIT - 1) / UNIT * UNIT;
  return size < most ? size : most;
}

/* The first run of those that repeat has no reserve, so what it had fresh is what it needs. */
static size_t size_needed(const hia_reserve *reserve, const hia_reserve_need *need) {
  if (!need->repeats) return need->peak < LEAST ? 0 : size_for(need->peak, MOST);
  size_t used = reserve->taken + need->fresh, bytes = used > need->peak ? used : need->peak;
  if (reserve->block && !need->fresh) return reserve->size;
  return bytes < LEAST_REPEATED ? 0 : size_for(bytes, MOST_REPEATED);
}

size_t hiaR_reserve_end_run(hia_reserve *reserve, const hia_allocator *allocator,
                            const hia_reserve_need *need) {
  size_t size = size_needed(reserve, need);
  reserve->taken = 0;
  if (reserve->block) HIA_POISON(reserve->block, reserve->size);
  bool is_small = need->peak < reserve->size / SMALL && !need->repeats;
  reserve->n_small = is_small ? reserve->n_small + 1 : 0;
  if (size > reserve->size || reserve->n_small > PATIENCE) hiaR_reserve_free(reserve, allocator);
  return reserve->block ? 0 : size;
}

void hiaR_reserve_make(hia_reserve *reserve, const hia_allocator *allocator, size_t size,
                       bool repeats) {
  reserve->block = hiaR_alloc_large(allocator, size);
  if (!reserve->block) return;
  reserve->size = size;
  for (size_t at = 0; repeats && at < size; at += PAGE) ((volatile char *)reserve->block)[at] = 0;
  HIA_POISON(reserve->block, size);
}
