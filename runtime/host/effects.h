/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What impure host functions have returned to a run.
 *
 * A run that the interpreter has begun may begin again in native code, with the same arguments; and
 * one with batches may begin again without them. An impure function of the host must then not be
 * called a second time for what it has done already. So the run records what each call returned.
 * When it begins again it takes the first calls from the record, in the same order, and calls the
 * host from there on.
 *
 * Runs that may call impure functions call them one after the other, on one thread, so the record
 * needs no lock. */
#ifndef HIA_HOST_EFFECTS_H
#define HIA_HOST_EFFECTS_H

#include "runtime/base/base.h"
#include <stdatomic.h>

/* Bytes of a record, at most: with more the run stays in the interpreter, or with batches. */
#define HIA_MAX_EFFECTS         ((size_t)16 << 20)
#define HIA_MAX_BATCHED_EFFECTS ((size_t)64 << 20)

typedef struct hia_effects {
  const hia_allocator *allocator;
  hia_word *words; /* of each call its status, the fuel that it left, and, if the status is HIA_OK,
                      its results */
  size_t n, room, most;
  size_t at, n_known;    /* the next call that is taken from the record, and where these end */
  bool is_recorded;      /* the run may begin again: calls are added */
  _Atomic bool is_stuck; /* the record lacks a call: the run cannot begin again */
} hia_effects;

void hiaR_effects_init(hia_effects *effects, const hia_allocator *allocator);
void hiaR_effects_free(hia_effects *effects);
/* Adds a call with `n` results, in canonical form: slots[at[i]], or slots[i] if `at` is NULL.
 * `fuel`: what is left of that which the run has lent to the call; NULL: it has none. If there is
 * no room for the call, the run is stuck. */
void hiaR_effects_add(hia_effects *effects, hia_status status, const uint64_t *fuel,
                      const hia_word *slots, const uint32_t *at, uint32_t n);
/* The run begins again, and takes what is recorded. */
void hiaR_effects_again(hia_effects *effects);
/* Takes the next call out of the record. False: there are no more, and the host has to be called.
 */
bool hiaR_effects_take(hia_effects *effects, uint32_t *status, uint64_t *fuel, hia_word *slots,
                       const uint32_t *at, uint32_t n);

#endif
