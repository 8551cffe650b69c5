/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The options of runs, checked, and what versions of functions they require. */
#include "jit/engine/engine.h"

hia_traits hiaJ_traits_for(const hia_run_options *options) {
  return (options->has_fuel ? HIA_VERSION_FUELLED : HIA_VERSION_GENERAL) |
         (options->streams ? HIA_VERSION_STREAMS : 0u);
}

HIA_SIZED(hia_run_options, profile);
HIA_SIZED(hia_run_stats, reserved);

/* Returns the smaller of two limits; 0: none. */
static size_t stricter(size_t a, size_t b) { return a && (!b || a < b) ? a : b; }

hia_status hiaJ_run_options(const hia_function *f, const hia_run_options *theirs,
                            hia_run_options *complete, hia_error **error) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  *complete = (hia_run_options)HIA_RUN_OPTIONS_INIT;
  if (hiaR_copy_options(allocator, "run options", complete, sizeof *complete, theirs, error))
    return HIA_ARGUMENT;
  if (complete->fuel && !complete->has_fuel)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "set has_fuel too",
                     "fuel for a run that has no limit of fuel");
  if (complete->stats && complete->stats->size < sizeof complete->stats->size)
    return hiaJ_fail(allocator, error, HIA_ARGUMENT, "initialise them with HIA_RUN_STATS_INIT",
                     "statistics of %zu bytes", complete->stats->size);
  const hia_engine_options *all = &f->module->engine->options;
  complete->max_depth = stricter(complete->max_depth, all->max_depth);
  complete->max_memory = stricter(complete->max_memory, all->max_memory);
  return HIA_OK;
}
