/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The memory of rows, which is that of the run's heap, and the tables, which are kept from run to
 * run. */
#include "runtime/native/batch/batch.h"
#include "runtime/native/batch/rows.h"

/* Bytes of rows that are allocated at a time, or 1/PART of what is left up to the run's limit. */
enum { CHUNK = 32 << 10, PART = 32 };

void *hiaR_batch_grow(hia_context *context, void *old, size_t old_size, size_t size) {
  char *new = hiaR_alloc(context->allocator, size);
  if (!new) return NULL;
  if (old_size) memcpy(new, old, old_size);
  memset(new + old_size, 0, size - old_size);
  if (old_size) hiaR_free(context->allocator, old, old_size);
  return new;
}

hia_batch *hiaR_batch_new(const hia_context *context) {
  return hiaR_alloc(context->allocator, sizeof(hia_batch));
}

void hiaR_batch_forget(hia_batch *b) {
  if (b->n_equal) memset(b->equal, 0, b->n_slots * sizeof *b->equal);
  b->n_equal = 0;
  b->rows = b->aside = (hia_rows){0};
  b->at = b->end = NULL;
}

/* The segments are those of the code that is run, and the rows went, or will go, with the heap. */
void hiaR_batch_begin(hia_context *context) {
  hia_batch *b = context->batching.batch;
  context->batching.settle = NULL;
  context->batching.level = 0;
  if (!b) return;
  for (uint32_t i = 0; i < b->n_queues; i++) b->queue_of[b->queues[i].number] = 0;
  b->n_queues = 0;
  b->n_narrow = b->once_left = b->n_once = 0;
  hiaR_batch_drop_phases(b);
  hiaR_batch_forget(b);
}

void hiaR_batch_free_phases(const hia_context *context, hia_row_phase *newest) {
  while (newest) {
    hia_row_phase *older = newest->older;
    hiaR_free(context->allocator, newest, newest->size);
    newest = older;
  }
}

void hiaR_batch_free(hia_context *context) {
  hia_batch *b = context->batching.batch;
  if (!b) return;
  const hia_allocator *a = context->allocator;
  if (b->queues) hiaR_free(a, b->queues, b->most_queues * sizeof *b->queues);
  if (b->queue_of) hiaR_free(a, b->queue_of, b->n_queue_of * sizeof *b->queue_of);
  if (b->levels) hiaR_free(a, b->levels, b->levels_size);
  if (b->equal) hiaR_free(a, b->equal, b->n_slots * sizeof *b->equal);
  hiaR_batch_free_phases(context, b->phases);
  hiaR_batch_free_phases(context, b->spare);
  hiaR_free(a, b, sizeof *b);
  context->batching.batch = NULL;
}

void *hiaR_batch_take(hia_context *context, hia_batch *b, size_t size) {
  if ((size_t)(b->end - b->at) < size) {
    size_t least = size + sizeof(hia_row_chunk), most = hiaR_heap_left(context->local.heap) / PART;
    size_t whole = most < CHUNK ? most & ~(size_t)15 : CHUNK;
    if (whole < least) whole = least;
    hia_row_chunk *c = hiaR_heap_alloc(&context->local, whole);
    if (!c) return NULL;
    *c = (hia_row_chunk){b->rows.chunks, whole};
    b->rows.chunks = c;
    b->at = (char *)(c + 1);
    b->end = (char *)c + whole;
  }
  void *taken = b->at;
  b->at += size;
  return taken;
}

void hiaR_batch_free_rows(hia_context *context, hia_row_chunk **chunks) {
  while (*chunks) {
    hia_row_chunk *c = *chunks;
    *chunks = c->next;
    hiaR_heap_release(&context->local, c, c->size);
  }
}

/* ---- phases ---- */

hia_row_phase *hiaR_batch_phase(const hia_context *context, hia_batch *b, uint32_t n_rows) {
  hia_row_phase **at = &b->spare, *s;
  while (*at && (*at)->most_rows < n_rows) at = &(*at)->older;
  if ((s = *at)) {
    *at = s->older;
  } else {
    enum { LEAST = 256 };
    uint32_t most = n_rows < LEAST ? LEAST : 2 * n_rows;
    size_t each = 2 * sizeof(hia_row *) + sizeof(hia_row_block) + sizeof(hia_phase_piece);
    size_t size = sizeof *s + most * each;
    if (!(s = hiaR_alloc(context->allocator, size))) return NULL;
    s->size = size;
    s->most_rows = most;
    s->wave = (hia_row **)(void *)(s + 1);
    s->ordered = s->wave + most;
    s->blocks = (hia_row_block *)(void *)(s->ordered + most);
    s->pieces = (hia_phase_piece *)(void *)(s->blocks + most);
  }
  s->older = b->phases;
  return b->phases = s;
}

void hiaR_batch_drop_phases(hia_batch *b) {
  while (b->phases) {
    hia_row_phase *s = b->phases;
    b->phases = s->older;
    s->older = b->spare;
    b->spare = s;
  }
}

hia_row_queue *hiaR_batch_queue(hia_context *context, hia_batch *b, const hia_segment *s) {
  if (s->number >= b->n_queue_of) {
    uint32_t n = 2 * s->number + 16;
    uint32_t *queue_of = hiaR_batch_grow(context, b->queue_of, b->n_queue_of * sizeof *queue_of,
                                         n * sizeof *queue_of);
    if (!queue_of) return NULL;
    b->queue_of = queue_of;
    b->n_queue_of = n;
  }
  if (!b->queue_of[s->number]) {
    if (b->n_queues == b->most_queues) {
      uint32_t n = 2 * b->n_queues + 8;
      hia_row_queue *all =
          hiaR_batch_grow(context, b->queues, b->n_queues * sizeof *all, n * sizeof *all);
      if (!all) return NULL;
      b->queues = all;
      b->most_queues = n;
    }
    b->queues[b->n_queues++] = (hia_row_queue){.segment = s, .number = s->number};
    b->queue_of[s->number] = b->n_queues;
  }
  return &b->queues[b->queue_of[s->number] - 1];
}
