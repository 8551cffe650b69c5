/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A run whose time goes into a profile. */
#ifndef HIA_ENGINE_PROFILE_H
#define HIA_ENGINE_PROFILE_H

#include "jit/engine/engine.h"
#include "runtime/run/sampler.h"

/* What is counted while a version runs. */
typedef struct hia_sampling {
  struct hia_sampling *prev, *next; /* in the profile's list */
  hia_profile *profile;             /* NULL: nothing is counted */
  const hia_places *places;
  hia_comp comp;
  hia_sampler sampler;
  uint32_t *loc_of; /* by row: one of its locations */
  uint32_t n_rows;
} hia_sampling;

/* Begins to count where a run is, whose positions these are; the limits get the sampler. Does
 * nothing if `profile` is NULL. HIA_MEMORY; HIA_THREADS: there is no thread for the clock. */
hia_status hiaJ_sampling_begin(hia_sampling *sampling, hia_profile *profile, hia_engine *engine,
                               const hia_places *places, hia_limits *limits);
/* The run has ended: adds what was counted to the profile. */
void hiaJ_sampling_end(hia_sampling *sampling);

#endif
