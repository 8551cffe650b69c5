/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Compilations: their memory, two arenas. */
#include "runtime/base/base.h"

void hiaR_comp_init(hia_comp *comp, const hia_allocator *allocator) {
  comp->armed = false;
  comp->look = NULL;
  comp->status = HIA_OK;
  comp->message[0] = 0;
  hiaR_arena_init(&comp->arena, allocator, comp);
  hiaR_arena_init(&comp->scratch, allocator, comp);
}

void hiaR_comp_free(hia_comp *comp) {
  hiaR_arena_free(&comp->scratch);
  hiaR_arena_free(&comp->arena);
}
