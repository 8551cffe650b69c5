/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rows that a stolen job leaves to its owner. */
#include "runtime/native/batch/rows.h"

/* The hia_job.adopt of such a job: none of its rows depends on one of the owner's. */
static bool adopt(hia_context *context, hia_job *job) {
  hia_batch *b = context->batching.batch =
      context->batching.batch ? context->batching.batch : hiaR_batch_new(context);
  hia_rows *new = &job->rows, *all = &b->rows;
  if (!b) return false;
  for (hia_row *r = new->newest; r; r = r->older) {
    const hia_row_queue *q = hiaR_batch_queue(context, b, r->segment);
    if (!q) return false;
    r->queue = (uint32_t)(q - b->queues);
  }
  new->oldest->older = all->newest;
  if (!all->newest) all->oldest = new->oldest;
  all->newest = new->newest;
  all->n += new->n;
  all->bytes += new->bytes;
  if (new->n_levels > all->n_levels) all->n_levels = new->n_levels;
  hia_owed **last = &new->owed;
  while (*last) last = &(*last)->older;
  *last = all->owed;
  all->owed = new->owed;
  hia_row_chunk **end = &new->chunks; /* the one that is being filled stays first */
  while (*end) end = &(*end)->next;
  if (all->chunks) {
    *end = all->chunks->next;
    all->chunks->next = new->chunks;
  } else {
    all->chunks = new->chunks;
  }
  context->batching.settle = hiaR_batch_settle;
  return true;
}

void hiaR_batch_hand_over(hia_context *context, hia_job *job) {
  hia_batch *b = context->batching.batch;
  hiaR_batch_join_aside(b);
  job->rows = b->rows;
  job->adopt = adopt;
  hiaR_batch_forget(b);
  context->batching.settle = NULL;
}
