/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/param/param.h"
#include <sched.h>

const hia_param_kit hiaR_param_kit = {hiaR_params_hold, hiaR_state_release, hiaR_state_words};

/* Without the lock a state could be freed between being found and being held. */
static void lock(hia_params *params) {
  while (atomic_exchange_explicit(&params->lock, 1, memory_order_acquire)) sched_yield();
}
static void unlock(hia_params *params) {
  atomic_store_explicit(&params->lock, 0, memory_order_release);
}

static hia_param_state *held(hia_params *params) {
  lock(params);
  hia_param_state *now = params->now ? hiaR_state_hold(params->now) : NULL;
  unlock(params);
  return now;
}

const hia_allocator *hiaR_params_allocator(const hia_params *params) {
  return params->allocator ? params->allocator : &hiaR_malloc;
}

/* The first state may take long to make: threads that need it at the same time may make several, of
 * which one stays. */
hia_status hiaR_params_hold(hia_params *params, bool (*must_end)(void *asked), void *asked,
                            hia_param_state **out) {
  while (!(*out = held(params))) {
    hia_param_state *first;
    const hia_param_values values = {
        .lasting = params->embedded, .seed = params->seed, .must_end = must_end, .asked = asked};
    hia_status status =
        hiaR_state_new(params->specs, params->n, &values, hiaR_params_allocator(params), &first);
    if (status) return status;
    if (!hiaR_params_exchange(params, NULL, first)) hiaR_state_release(first);
  }
  return HIA_OK;
}

bool hiaR_params_exchange(hia_params *params, hia_param_state *from, hia_param_state *to) {
  lock(params);
  hia_param_state *now = params->now;
  bool is_same = now == from;
  if (is_same) params->now = to;
  unlock(params);
  if (is_same) hiaR_state_release(now);
  return is_same;
}

void hiaR_params_set(hia_params *params, hia_param_state *to) {
  lock(params);
  hia_param_state *old = params->now;
  params->now = to;
  unlock(params);
  hiaR_state_release(old);
}
