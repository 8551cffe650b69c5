/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows that are computed at once.
 *
 * A row that is noted and waited for takes several times as long as it would without batches. That
 * is what happens to a program that looks at each result before it goes on. So once waves had few
 * rows again and again, the next rows are computed where they stand. Then rows are noted again, to
 * see whether waves are wide now; if not, more of them are computed at once than the last time.
 *
 * A row of a segment without a product gains nothing in a wave. Where iterations wait for each
 * other (freeze/) it is computed at once if it can be, since all would have to wait for one more
 * wave. It is no part of a batch, and is not counted. */
#include "runtime/native/batch/rows.h"

#ifdef HIA_STRESS
enum { NARROW = 4, FIRST = 3, MOST = 12 };
#else
enum {
  NARROW = 32, /* waves, one after the other, whose settlings had few rows */
  FIRST = 64,  /* rows that are computed at once then; */
  MOST = 1024, /* after further ones twice as many, up to so many */
};
#endif

void hiaR_batch_note_waves(hia_batch *b, uint64_t rows, uint64_t waves) {
  if (4 * rows >= 5 * waves) { /* two rows share the elements of a matrix that they read */
    b->n_narrow = b->n_once = 0;
    return;
  }
  b->n_narrow += waves < NARROW ? (uint32_t)waves : NARROW;
  if (b->n_narrow < NARROW) return;
  b->n_once = b->n_once ? 2 * b->n_once : FIRST;
  if (b->n_once > MOST) b->n_once = MOST;
  b->once_left = b->n_once;
  b->n_narrow = 0;
}

bool hiaR_batch_is_once(hia_batch *b, const hia_segment *s, const hia_word *words) {
  if (!b->once_left) return false;
  b->once_left--;
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (s->words[i].rank && hiaR_pending_row(words[i])) return false;
  return true;
}

/* Operand i as a tensor of one row. 0: no memory. */
static hia_word as_rows(hia_context *context, const hia_segment_word *w, hia_word word) {
  hia_dims shape = {.rank = w->rank + 1u, .dims = {1}};
  hia_word ref;
  for (uint32_t k = 0; k < w->rank; k++) shape.dims[k + 1] = w->dims[k];
  bool is_shared = context->is_shared != 0;
  if (w->rank) return hiaR_tensor_view(&context->local, word, 0, &shape, is_shared, &ref) ? ref : 0;
  if (!hiaR_tensor_new(&context->local, (hia_dtype)w->dtype, &shape, &ref)) return 0;
  hiaR_store((hia_repr)w->dtype, hiaR_tensor(ref)->data, word);
  return ref;
}

/* The only row of a result, which is given up. 0: no memory, or the code is of a graph that a user
 * wrote, and it has other sizes. */
static hia_word as_row(hia_context *context, const hia_segment_word *w, hia_word all) {
  hia_dims shape = {.rank = w->rank};
  hia_word ref = 0;
  bool is_shared = context->is_shared != 0;
  for (uint32_t k = 0; k < w->rank; k++) shape.dims[k] = w->dims[k];
  if (hiaR_tensor_len(hiaR_tensor(all)) != w->n ||
      !hiaR_tensor_view(&context->local, all, 0, &shape, is_shared, &ref))
    return 0;
  hiaR_tensor_drop(&context->local, all, is_shared);
  return ref;
}

static hia_status compute(hia_context *context, const hia_segment *s, hia_word *words) {
  hia_word block[s->n_ins + s->n_outs];
  bool is_shared = context->is_shared != 0;
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (!(block[i] = as_rows(context, &s->words[i], words[i]))) return HIA_MEMORY;
  hiaR_arch_call(context, (void (*)(void *))s->entry, block);
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (!(s->owns >> i & 1)) hiaR_tensor_drop(&context->local, block[i], is_shared);
  hiaR_batch_drop_operands(context, s, words);
  for (uint32_t i = 0; i < s->n_outs; i++)
    if (!(words[i] = as_row(context, &s->words[s->n_ins + i], block[s->n_ins + i])))
      return HIA_MEMORY;
  context->batching.usage.rows += !s->is_light;
  context->batching.usage.waves += !s->is_light;
  return HIA_OK;
}

/* As in hiaR_batch_settle: the frames of the runtime lie between the code and that of the segment.
 */
static hia_status compute_from(hia_context *context, const hia_segment *s, hia_word *words,
                               const char *sp, uintptr_t pc) {
  hia_invocation *invocation = context->invocation;
  hia_bridge bridge = {invocation->bridges, sp, pc};
  invocation->bridges = &bridge;
  hia_status status = compute(context, s, words);
  invocation->bridges = bridge.outer;
  return status;
}

HIA_UNINSTRUMENTED void hiaR_batch_once(hia_context *context, const hia_segment *s, hia_word *words,
                                        uint32_t loc, const char *sp, uintptr_t pc) {
  hia_status status = compute_from(context, s, words, sp, pc);
  if (HIA_UNLIKELY(status)) hiaR_native_fail(loc, status, 0, context, sp, pc);
}
