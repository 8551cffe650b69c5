/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Noting a row. */
#include "runtime/native/batch/rows.h"

/* A pending tensor of the shape that `w` says, with two references: the program's, and the row's.
 * 0: no memory. */
static hia_word pending_new(hia_context *context, const hia_segment_word *w, hia_row *r) {
  size_t size = sizeof(hia_tensor) + ((size_t)w->rank + 1) * sizeof(hia_word);
  hia_tensor *t = hiaR_heap_take(&context->local, (unsigned)(size / 8), size);
  if (!t) return 0;
  hiaR_object_begin(&t->counted, HIA_TENSOR_PENDING);
  atomic_store_explicit(&t->counted.count, 2, memory_order_relaxed);
  t->counted.spare = hiaR_tensor_spare((hia_dtype)w->dtype, w->rank);
  t->data = NULL;
  for (uint32_t k = 0; k < w->rank; k++) t->dims[k] = w->dims[k];
  *hiaR_tensor_owner(t) = (hia_word)(uintptr_t)r;
  return (hia_word)(uintptr_t)t;
}

bool hiaR_batch_note(hia_context *context, const hia_segment *s, hia_word *words) {
  hia_batch *b = context->batching.batch;
  hia_row_queue *q = hiaR_batch_queue(context, b, s);
  size_t size = sizeof(hia_row) + ((size_t)s->n_ins + s->n_outs) * sizeof(hia_word);
  hia_row *r = q ? hiaR_batch_take(context, b, size) : NULL;
  if (!r) return false;
  r->segment = s;
  r->queue = (uint32_t)(q - b->queues);
  r->depth = r->height = 0;
  r->pending = 0;
  r->level = context->batching.level;
  r->is_wanted = r->is_aside = false;
  for (uint32_t i = 0; i < s->n_ins; i++) {
    const hia_row *from = s->words[i].rank ? hiaR_pending_row(words[i]) : NULL;
    if (from) r->pending |= UINT64_C(1) << (i < 63 ? i : 63);
    if (from && from->depth >= r->depth) r->depth = from->depth + 1;
    if (from && from->level >= r->level) r->level = from->level + 1;
    r->words[i] = words[i];
  }
  for (uint32_t i = 0; i < s->n_outs; i++) {
    words[i] = r->words[s->n_ins + i] = pending_new(context, &s->words[s->n_ins + i], r);
    if (!words[i]) return false;
  }
  r->older = b->rows.newest;
  if (!r->older) b->rows.oldest = r;
  b->rows.newest = r;
  b->rows.n++;
  b->rows.bytes += hiaR_row_cost(s);
  if (r->depth >= b->rows.n_levels) b->rows.n_levels = r->depth + 1;
  return true;
}
