/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/param/param.h"
#include <sched.h>

const hia_param_kit hiaR_param_kit = {hiaR_cell_hold, hiaR_params_release, hiaR_params_words};

/* Without the lock a state could be freed between being found and being held. */
static void lock(hia_param_cell *cell) {
  while (atomic_exchange_explicit(&cell->lock, 1, memory_order_acquire)) sched_yield();
}
static void unlock(hia_param_cell *cell) {
  atomic_store_explicit(&cell->lock, 0, memory_order_release);
}

static hia_params *held(hia_param_cell *cell) {
  lock(cell);
  hia_params *now = cell->now ? hiaR_params_hold(cell->now) : NULL;
  unlock(cell);
  return now;
}

const hia_allocator *hiaR_cell_allocator(const hia_param_cell *cell) {
  return cell->allocator ? cell->allocator : &hiaR_malloc;
}

/* The first state may take long to make: threads that need it at the same time may make several, of
 * which one stays. */
hia_status hiaR_cell_hold(hia_param_cell *cell, bool (*must_end)(void *asked), void *asked,
                          hia_params **out) {
  while (!(*out = held(cell))) {
    hia_params *first;
    const hia_param_values values = {
        .lasting = cell->embedded, .seed = cell->seed, .must_end = must_end, .asked = asked};
    hia_status status =
        hiaR_params_new(cell->specs, cell->n, &values, hiaR_cell_allocator(cell), &first);
    if (status) return status;
    if (!hiaR_cell_exchange(cell, NULL, first)) hiaR_params_release(first);
  }
  return HIA_OK;
}

bool hiaR_cell_exchange(hia_param_cell *cell, hia_params *from, hia_params *to) {
  lock(cell);
  hia_params *now = cell->now;
  bool is_same = now == from;
  if (is_same) cell->now = to;
  unlock(cell);
  if (is_same) hiaR_params_release(now);
  return is_same;
}

void hiaR_cell_set(hia_param_cell *cell, hia_params *to) {
  lock(cell);
  hia_params *old = cell->now;
  cell->now = to;
  unlock(cell);
  hiaR_params_release(old);
}
