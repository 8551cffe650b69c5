/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Equal rows. Functions are pure: of the rows of a segment that have equal operands one is
 * computed, and its results are those of all. Tensors are equal here if their elements are at the
 * same address in memory, or they are the same pending tensor. So of equal trees the leaves are
 * found to be equal, then what depends on these, and so on. */
#include "runtime/native/batch/rows.h"

static bool is_equal(const hia_row *r, const hia_segment *s, const hia_word *ids) {
  bool are_equal = r->segment->number == s->number;
  for (uint32_t i = 0; are_equal && i < s->n_ins; i++)
    are_equal = hiaR_operand_identity(s, i, r->words[i]) == ids[i];
  return are_equal;
}

/* The slot where an equal row is, or would be. */
static hia_row **slot_of(const hia_batch *b, const hia_segment *s, const hia_word *ids) {
  uint64_t hash = s->number;
  for (uint32_t i = 0; i < s->n_ins; i++) hash = hiaR_mix(hash, ids[i]);
  uint32_t last = b->n_slots - 1, at = (uint32_t)hash & last;
  while (b->equal[at] && !is_equal(b->equal[at], s, ids)) at = (at + 1) & last;
  return &b->equal[at];
}

/* Makes room for one more row. False: no memory. */
static bool make_room(hia_context *context, hia_batch *b) {
  if (2 * (b->n_equal + 1) <= b->n_slots) return true;
  uint32_t n_old = b->n_slots, n = n_old ? 2 * n_old : 512;
  hia_row **old = b->equal, **new = hiaR_batch_grow(context, NULL, 0, n * sizeof *new);
  if (!new) return false;
  b->equal = new;
  b->n_slots = n;
  for (uint32_t i = 0; i < n_old; i++) {
    hia_word ids[HIA_SEGMENT_MOST];
    if (!old[i]) continue;
    hiaR_row_identify(old[i]->segment, old[i]->words, ids);
    *slot_of(b, old[i]->segment, ids) = old[i];
  }
  if (old) hiaR_free(context->allocator, old, n_old * sizeof *old);
  return true;
}

void hiaR_batch_drop_operands(hia_context *context, const hia_segment *s, const hia_word *words) {
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (s->words[i].rank) hiaR_tensor_drop(&context->local, words[i], context->is_shared != 0);
}

bool hiaR_batch_find_equal(hia_context *context, const hia_segment *s, hia_word *words,
                           const hia_word *ids) {
  const hia_batch *b = context->batching.batch;
  const hia_row *r = b->n_equal ? *slot_of(b, s, ids) : NULL;
  if (!r) return false;
  hiaR_batch_drop_operands(context, s, words); /* the row has others */
  for (uint32_t i = 0; i < s->n_outs; i++) {
    words[i] = r->words[s->n_ins + i];
    hiaR_dup(words[i], context->is_shared != 0);
  }
  return true;
}

void hiaR_batch_add_equal(hia_context *context, const hia_word *ids) {
  hia_batch *b = context->batching.batch;
  hia_row *r = b->rows.newest;
  if (!make_room(context, b)) return;
  *slot_of(b, r->segment, ids) = r;
  b->n_equal++;
}
