/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The order of the rows in a wave: such that what an earlier block has computed is read as it lies
 * there, without a copy.
 *
 * One would expect the rows of a wave in a backward pass to be those of a wave of the forward pass.
 * But a worker settles whenever its rows take much memory, so both passes are cut in different
 * places, and a wave has some rows of one block and the rows of many blocks. Those of each are a
 * *run*, if they lie side by side. A block of rows that is part of one run is read as it lies; what
 * it has of several runs is copied, in long pieces. (Blocks that end where a run ends were tried:
 * a product of fewer rows loses more than copies take.) */
#include "runtime/native/batch/rows.h"

enum {
  MOST = 64,  /* tensors of which a wave may read rows in order */
  LONG = 4,   /* rows of a run, on average, for which an order is worth it */
  SMALL = 16, /* operands of fewer bytes are not worth it */
  AHEAD = 8,  /* headers lie anywhere in memory: the cache gets them so many rows before */
};

/* A tensor in which operands of the rows lie. */
typedef struct origin {
  const hia_tensor *owner;
  uint64_t least, last; /* where the first operand lies in the tensor, and the last: in bytes */
  uint32_t n, first;    /* rows whose operands lie there; the position of the first in the order */
} origin;

typedef struct origins {
  origin of[MOST];
  uint32_t n;
  uint64_t bytes; /* of an operand */
} origins;

static uint64_t place_of(const hia_row *r, uint32_t i, const hia_tensor *owner) {
  return (uint64_t)(hiaR_tensor(r->words[i])->data - owner->data);
}

/* Notes that operand i of a row lies in a tensor; HIA_NONE: in none, or there are too many. */
static uint32_t add(origins *all, const hia_row *r, uint32_t i, uint32_t guess) {
  const hia_tensor *owner = hiaR_row_origin(r, i);
  if (!owner) return HIA_NONE;
  uint64_t place = place_of(r, i, owner);
  if (guess >= all->n || all->of[guess].owner != owner) {
    for (guess = 0; guess < all->n && all->of[guess].owner != owner;) guess++;
    if (guess == MOST) return HIA_NONE;
    if (guess == all->n) all->of[all->n++] = (origin){owner, place, place, 0, 0};
  }
  origin *o = &all->of[guess];
  if (place < o->least) o->least = place;
  if (place > o->last) o->last = place;
  o->n++;
  return guess;
}

static bool is_run(const origins *all, const origin *o) {
  return o->last - o->least == (o->n - 1) * all->bytes;
}

bool hiaR_batch_order(const hia_segment *s, hia_row *const *wave, hia_row **ordered, uint32_t n,
                      uint32_t i) {
  origins all = {.bytes = s->words[i].n * hiaR_dtype_size((hia_dtype)s->words[i].dtype)};
  uint32_t in_runs = 0, n_runs = 0, rest, guess = HIA_NONE;
  if (all.bytes < SMALL || n < LONG) return false;
  for (uint32_t k = 0; k < n; k++) {
    if (k + AHEAD < n) __builtin_prefetch(hiaR_tensor(wave[k + AHEAD]->words[i]));
    wave[k]->origin = guess = add(&all, wave[k], i, guess);
    if (all.n > LONG + n / LONG) return false;
  }
  for (uint32_t k = 0; k < all.n; k++) {
    all.of[k].first = in_runs;
    if (!is_run(&all, &all.of[k])) continue;
    in_runs += all.of[k].n;
    n_runs++;
  }
  if (in_runs < n / 2 || in_runs < LONG * n_runs || !n_runs) return false;
  for (uint32_t k = 0; k < in_runs; k++) ordered[k] = NULL;
  rest = in_runs;
  for (uint32_t k = 0; k < n; k++) {
    hia_row *r = wave[k];
    const origin *o = r->origin == HIA_NONE ? NULL : &all.of[r->origin];
    if (!o || !is_run(&all, o)) {
      ordered[rest++] = r;
      continue;
    }
    hia_row **to = &ordered[o->first + (place_of(r, i, o->owner) - o->least) / all.bytes];
    if (*to) return false; /* two rows have one operand */
    *to = r;
  }
  return true;
}
