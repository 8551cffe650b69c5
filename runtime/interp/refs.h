/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The references of frames. A slot that holds references owns one: it is dropped when the frame
 * goes, or the round ends. The slots of a frame that is not in use hold none. */
#ifndef HIA_INTERP_REFS_H
#define HIA_INTERP_REFS_H

#include "runtime/heap/array.h"
#include "runtime/interp/interp.h"

static inline void hiaR_retain(hia_worker *w, hia_word ref) { hiaR_dup(ref, w->is_shared); }

/* Frees a value that nothing refers to. */
void hiaR_free_value(hia_worker *w, hia_word ref, uint32_t base);

static inline void hiaR_give_up(hia_worker *w, hia_word ref, uint32_t base) {
  if (hiaR_let_go(ref, w->is_shared)) hiaR_free_value(w, ref, base);
}

/* Returns a reference to what the operand refers to, which the caller owns. */
static inline hia_word hiaR_take(hia_worker *w, hia_word *slots, uint32_t operand) {
  uint32_t slot = operand & ~HIA_IMAGE_TAKEN;
  hia_word ref = slots[slot];
  if (operand & HIA_IMAGE_TAKEN)
    slots[slot] = 0;
  else
    hiaR_retain(w, ref);
  return ref;
}

#endif
