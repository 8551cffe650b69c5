/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Slots, and empty sections. */
#include "graph/flatten/flattener.h"

uint32_t hiaG_flat_slot(hia_flat_section *s, uint32_t slot) {
  hia_flat_slot *slots = s->slots.data;
  while (slots[slot].part_of != slot)
    slot = slots[slot].part_of = slots[slots[slot].part_of].part_of;
  return slot;
}

bool hiaG_flat_is_ref(const hia_flat_slot *slot) {
  return slot->type != HIA_NONE && !hiaR_is_scalar(slot->type);
}

uint32_t hiaG_flat_new_slot(hia_flattener *f, hia_flat_section *s, uint32_t region, hia_type type) {
  uint32_t i = s->slots.len;
  hiaR_push(f->scratch, &s->slots,
            (hia_flat_slot){.part_of = i, .region = region, .number = HIA_NONE, .type = type});
  return i;
}

uint32_t hiaG_flat_const_slot(hia_flattener *f, hia_flat_section *s, hia_word word) {
  uint32_t hash = hiaR_hash(&word, sizeof word), at = hash, i;
  while ((i = hiaR_index_next(&s->consts, hash, &at)) != HIA_NONE)
    if (s->slots.data[i].word == word) return i;
  uint32_t slot = hiaG_flat_new_slot(f, s, HIA_NONE, HIA_NONE);
  hiaR_index_add(f->scratch, &s->consts, hash, slot);
  s->slots.data[slot].is_const = true;
  s->slots.data[slot].word = word;
  return slot;
}

hia_flat_section *hiaG_flat_new_section(hia_flattener *f, const char *name) {
  hia_flat_section *s = HIA_NEW(f->scratch, hia_flat_section);
  s->name = name;
  s->cond = s->round = HIA_NONE;
  hiaR_push(f->scratch, &s->regions, (hia_flat_region){.parent = HIA_NONE, .node = HIA_NONE});
  return s;
}
