/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Open addressing with linear probing. The hash is kept beside the index, so growing needs no
 * access to the elements, and most comparisons are decided without them. Elements are never
 * removed. */
#include "runtime/base/base.h"

typedef struct hia_index_slot {
  uint32_t hash, i; /* i: HIA_NONE in an empty slot */
} hia_index_slot;

/* FNV-1a, and a final mix: the table uses the low bits. */
uint32_t hiaR_hash(const void *bytes, size_t len) {
  const unsigned char *at = bytes;
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++) h = (h ^ at[i]) * 0x100000001b3u;
  return (uint32_t)(h ^ h >> 32);
}

uint32_t hiaR_index_next(const hia_index *index, uint32_t hash, uint32_t *at) {
  if (index->cap == 0) return HIA_NONE;
  for (;;) {
    const hia_index_slot *slot = &index->slots[*at & (index->cap - 1)];
    if (slot->i == HIA_NONE) return HIA_NONE;
    ++*at;
    if (slot->hash == hash) return slot->i;
  }
}

static void put(hia_index *index, uint32_t hash, uint32_t i) {
  uint32_t at = hash;
  while (index->slots[at & (index->cap - 1)].i != HIA_NONE) at++;
  index->slots[at & (index->cap - 1)] = (hia_index_slot){hash, i};
}

void hiaR_index_add(hia_arena *arena, hia_index *index, uint32_t hash, uint32_t i) {
  if (index->len >= index->cap / 4 * 3) {
    hia_index larger = {NULL, index->len, index->cap ? index->cap * 2 : 16};
    if (index->cap > UINT32_MAX / 2) hiaR_throw(arena->comp, HIA_MEMORY, "out of memory: index");
    larger.slots = HIA_NEW_ARRAY(arena, hia_index_slot, larger.cap);
    for (uint32_t k = 0; k < larger.cap; k++) larger.slots[k].i = HIA_NONE;
    for (uint32_t k = 0; k < index->cap; k++)
      if (index->slots[k].i != HIA_NONE) put(&larger, index->slots[k].hash, index->slots[k].i);
    *index = larger;
  }
  put(index, hash, i);
  index->len++;
}
