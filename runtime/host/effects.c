/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/host/effects.h"
#include <string.h>

void hiaR_effects_init(hia_effects *e, const hia_allocator *allocator) {
  *e = (hia_effects){.allocator = allocator, .most = HIA_MAX_EFFECTS};
}

void hiaR_effects_free(hia_effects *e) {
  hiaR_free(e->allocator, e->words, e->room * sizeof *e->words);
  e->words = NULL;
  e->n = e->room = e->at = e->n_known = 0;
}

static bool make_room(hia_effects *e, size_t n) {
  if (n <= e->room - e->n) return true;
  size_t room = e->room ? 2 * e->room : 64, most = e->most / sizeof(hia_word);
  while (room - e->n < n && room <= most) room *= 2;
  if (room > most) return false;
  hia_word *words = hiaR_alloc(e->allocator, room * sizeof *words);
  if (!words) return false;
  if (e->n) memcpy(words, e->words, e->n * sizeof *words);
  hiaR_free(e->allocator, e->words, e->room * sizeof *words);
  e->words = words;
  e->room = room;
  return true;
}

void hiaR_effects_add(hia_effects *e, hia_status status, const uint64_t *fuel,
                      const hia_word *slots, const uint32_t *at, uint32_t n) {
  if (atomic_load_explicit(&e->is_stuck, memory_order_relaxed)) return;
  if (!make_room(e, (size_t)n + 2)) {
    atomic_store_explicit(&e->is_stuck, true, memory_order_relaxed);
    hiaR_effects_free(e);
    return;
  }
  e->words[e->n++] = status;
  e->words[e->n++] = fuel ? *fuel : 0;
  for (uint32_t i = 0; status == HIA_OK && i < n; i++) e->words[e->n++] = slots[at ? at[i] : i];
}

void hiaR_effects_again(hia_effects *e) {
  e->at = 0;
  e->n_known = e->n;
}

bool hiaR_effects_take(hia_effects *e, uint32_t *status, uint64_t *fuel, hia_word *slots,
                       const uint32_t *at, uint32_t n) {
  if (e->at == e->n_known) return false;
  *status = (uint32_t)e->words[e->at++];
  if (fuel) *fuel = e->words[e->at];
  e->at++;
  if (*status != HIA_OK) return true;
  for (uint32_t i = 0; i < n; i++) slots[at ? at[i] : i] = e->words[e->at++];
  return true;
}
