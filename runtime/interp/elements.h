/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The elements of comprehensions that a node is in, for backtraces. */
#ifndef HIA_INTERP_ELEMENTS_H
#define HIA_INTERP_ELEMENTS_H

#include "runtime/image/loaded.h"
#include "runtime/run/runtime.h"

/* Pushes the elements of comprehensions that a node of a frame with these slots is in. */
static inline void hiaR_backtrace_elements(const hia_section *s, const hia_word *slots,
                                           uint32_t node, hia_backtrace *trace) {
  for (uint32_t i = s->n_elements; i > 0; i -= 3) {
    const uint32_t *e = &s->elements[i - 3];
    if (e[0] <= node && node < e[1]) hiaR_backtrace_push_element(trace, hiaR_to_i64(slots[e[2]]));
  }
}

#endif
