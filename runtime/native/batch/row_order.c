/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The order of the rows in a wave: such that what an earlier block has computed is read as it lies
 * there, without a copy. */
#include "runtime/native/batch/rows.h"

/* A tensor in which operands of the rows lie. */
typedef struct origin {
  const hia_tensor *owner;
  uint32_t first, n; /* the rows whose operands lie there: their positions in the order */
} origin;

bool hiaR_batch_order(const hia_segment *s, hia_row *const *wave, hia_row **ordered, uint32_t n,
                      uint32_t i) {
  enum { MOST = 64 };
  origin origins[MOST];
  uint32_t n_origins = 0, last = 0, most = n / HIA_BLOCK_ROWS + 4;
  size_t bytes = (size_t)s->words[i].n * hiaR_dtype_size((hia_dtype)s->words[i].dtype);
  if (!bytes) return false;
  for (uint32_t k = 0; k < n; k++) {
    const hia_tensor *owner = hiaR_row_origin(wave[k], i);
    if (!owner) return false;
    if (!n_origins || origins[last].owner != owner) {
      for (last = 0; last < n_origins && origins[last].owner != owner;) last++;
      if (last == n_origins) {
        if (n_origins == MOST || n_origins == most) return false;
        origins[n_origins++] = (origin){owner, 0, 0};
      }
    }
    origins[last].n++;
  }
  for (uint32_t k = 0, first = 0; k < n_origins; first += origins[k++].n) origins[k].first = first;
  for (uint32_t k = 0; k < n; k++) ordered[k] = NULL;
  for (uint32_t k = 0; k < n; k++) {
    const hia_tensor *owner = hiaR_row_origin(wave[k], i);
    if (origins[last].owner != owner)
      for (last = 0; origins[last].owner != owner;) last++;
    const origin *o = &origins[last];
    uint64_t index = (uint64_t)(hiaR_tensor(wave[k]->words[i])->data - owner->data) / bytes;
    if (index >= o->n || ordered[o->first + index])
      return false; /* not all of its rows, or twice */
    ordered[o->first + index] = wave[k];
  }
  return true;
}
