/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Levels: which rows can be computed together, since none of them depends on another. The rows of a
 * segment on one level are a *wave*. */
#include "runtime/native/batch/rows.h"

/* Makes one array of levels for all queues, zeroed. */
static bool make_levels(hia_context *context, hia_batch *b) {
  size_t size = (size_t)b->n_queues * b->rows.n_levels * sizeof *b->levels;
  if (size > b->levels_size) {
    if (b->levels) hiaR_free(context->allocator, b->levels, b->levels_size);
    b->levels_size = 2 * size;
    b->levels = hiaR_alloc(context->allocator, b->levels_size);
    if (!b->levels) return b->levels_size = 0, false;
  }
  memset(b->levels, 0, size);
  for (uint32_t i = 0; i < b->n_queues; i++)
    b->queues[i].levels = b->levels + (size_t)i * b->rows.n_levels;
  return true;
}

/* Goes from the newest row to the oldest: so what depends on a row comes before it. The headers of
 * operands that were not pending when the row was noted are not read. */
static void find_heights(const hia_batch *b) {
  for (hia_row *r = b->rows.newest; r; r = r->older) {
    const hia_segment *s = r->segment;
    for (uint32_t i = 0; i < s->n_ins; i++) {
      if (!(r->pending >> (i < 63 ? i : 63) & 1) || !s->words[i].rank) continue;
      hia_row *from = hiaR_pending_row(r->words[i]);
      if (from && from->height <= r->height) from->height = r->height + 1;
    }
  }
}

static uint32_t level_of(const hia_batch *b, const hia_row *r, bool is_late) {
  return is_late ? b->rows.n_levels - 1 - r->height : r->depth;
}

/* How many blocks there are if rows are computed as early as they can be, or as late. */
static uint32_t count_blocks(const hia_batch *b, bool is_late) {
  uint32_t n = 0;
  for (const hia_row *r = b->rows.newest; r; r = r->older)
    n += b->queues[r->queue].levels[level_of(b, r, is_late)].n++ % HIA_BLOCK_ROWS == 0;
  memset(b->levels, 0, (size_t)b->n_queues * b->rows.n_levels * sizeof *b->levels);
  return n;
}

/* Fewer blocks are larger ones. Leaves of trees come all at once if rows are computed as early as
 * they can be; in a backward pass, if as late. */
bool hiaR_batch_find_levels(hia_context *context, hia_batch *b) {
  if (!make_levels(context, b)) return false;
  find_heights(b);
  bool is_late = count_blocks(b, true) < count_blocks(b, false);
  for (hia_row *r = b->rows.newest; r; r = r->older) {
    hia_row_level *l = &b->queues[r->queue].levels[level_of(b, r, is_late)];
    r->next = l->first;
    l->first = r;
    l->n++;
  }
  return true;
}
