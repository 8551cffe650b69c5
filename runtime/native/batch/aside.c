/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows that are set aside while parts are computed (part.c).
 *
 * An iteration that is ready leaves rows that nothing waits for, such as those of the backward pass
 * over the words of a short sentence. If all were computed as soon as there are many of them, they
 * would be alone: the iterations that still wait come there later. So they are left out when parts
 * are chosen, and need not be looked at each time. They are computed with all others, or when an
 * iteration waits for one after all.
 *
 * A row that is set aside depends on no other pending ones than those that are aside, too, or are
 * computed next. So they stay older than the rest. */
#include "runtime/native/batch/rows.h"

/* ---- lists ---- */

void hiaR_rows_append(hia_rows *to, hia_row *r) {
  r->older = to->newest;
  if (!to->newest) to->oldest = r;
  to->newest = r;
  to->n++;
  to->bytes += hiaR_row_cost(r->segment);
  if (r->depth >= to->n_levels) to->n_levels = r->depth + 1;
}

hia_row *hiaR_rows_from_oldest(const hia_rows *rows) {
  hia_row *next = NULL;
  for (hia_row *r = rows->newest; r; r = r->older) {
    r->next = next;
    next = r;
  }
  return next;
}

hia_row *hiaR_row_copied(hia_context *context, hia_batch *b, const hia_row *r) {
  const hia_segment *s = r->segment;
  size_t size = sizeof *r + ((size_t)s->n_ins + s->n_outs) * sizeof(hia_word);
  hia_row *copy = hiaR_batch_take(context, b, size);
  if (!copy) return NULL;
  memcpy(copy, r, size);
  for (uint32_t i = 0; i < s->n_outs; i++)
    *hiaR_tensor_owner(hiaR_tensor(copy->words[s->n_ins + i])) = (hia_word)(uintptr_t)copy;
  return copy;
}

void hiaR_row_find_depth(hia_row *r) {
  r->depth = 0;
  for (uint32_t i = 0; r->pending && i < r->segment->n_ins; i++) {
    const hia_row *from = hiaR_operand_row(r, i);
    if (from && from->depth >= r->depth) r->depth = from->depth + 1;
  }
}

/* ---- setting aside ---- */

bool hiaR_row_is_chosen(const hia_row *r, uint32_t queue) {
  return r->queue == queue && !r->is_blocked;
}

static bool depends_on_others(const hia_row *r, uint32_t queue) {
  for (uint32_t i = 0; r->pending && i < r->segment->n_ins; i++) {
    const hia_row *from = hiaR_operand_row(r, i);
    if (from && !from->is_aside && !hiaR_row_is_chosen(from, queue)) return true;
  }
  return false;
}

/* Takes memory of that of the rows that are aside, and back. */
static void swap_memory(hia_batch *b) {
  hia_row_chunk *chunks = b->rows.chunks;
  char *at = b->at, *end = b->end;
  b->rows.chunks = b->aside.chunks;
  b->at = b->aside_at;
  b->end = b->aside_end;
  b->aside.chunks = chunks;
  b->aside_at = at;
  b->aside_end = end;
}

bool hiaR_batch_set_aside(hia_context *context, hia_batch *b, uint32_t queue) {
  const hia_rows all = b->rows;
  if (!b->aside.newest) b->aside_at = b->aside_end = NULL;
  b->rows = (hia_rows){.chunks = all.chunks, .owed = all.owed};
  swap_memory(b);
  for (hia_row *r = hiaR_rows_from_oldest(&all), *next; r; r = next) {
    next = r->next;
    if (r->is_wanted || hiaR_row_is_chosen(r, queue) || depends_on_others(r, queue)) {
      hiaR_rows_append(&b->rows, r);
      continue;
    }
    hia_row *copy = hiaR_row_copied(context, b, r);
    if (!copy) return false;
    copy->is_aside = true;
    copy->height = 0; /* its depth is found when it joins the others */
    hiaR_rows_append(&b->aside, copy);
  }
  swap_memory(b);
  return true;
}

/* Finds the depths of rows, and appends them. */
static void append_all(hia_rows *to, const hia_rows *rows) {
  for (hia_row *r = hiaR_rows_from_oldest(rows), *next; r; r = next) {
    next = r->next;
    r->is_aside = false;
    hiaR_row_find_depth(r);
    hiaR_rows_append(to, r);
  }
}

void hiaR_batch_join_aside(hia_batch *b) {
  const hia_rows rest = b->rows, aside = b->aside;
  if (!aside.newest) return;
  hia_row_chunk **last = &b->rows.chunks; /* the one that is being filled stays first */
  while (*last) last = &(*last)->next;
  *last = aside.chunks;
  b->rows = (hia_rows){.chunks = b->rows.chunks, .owed = rest.owed};
  b->aside = (hia_rows){0};
  append_all(&b->rows, &aside);
  append_all(&b->rows, &rest);
}
