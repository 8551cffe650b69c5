/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs of functions (i32) -> f32 in tests of batches, and how they end; with little memory, too. */
#ifndef HIA_HELPER_OUTCOME_H
#define HIA_HELPER_OUTCOME_H

#include "tests/unit/helpers/program.h"
#include <stdio.h>
#include <string.h>

typedef struct outcome {
  hia_status status;
  float value;
  hia_run_stats stats;
  char error[1000]; /* the first lines */
} outcome;

static inline outcome run_with(program *p, const char *name, int32_t n, hia_run_options options) {
  hia_value *arg = hia_value_i32(p->engine, n), *result = NULL;
  hia_error *error = NULL;
  outcome o = {.stats = HIA_RUN_STATS_INIT};
  options.stats = &o.stats;
  cr_assert_eq(hia_module_function(p->module, name, &p->function, &error), HIA_OK);
  o.status = hia_run(p->function, &arg, 1, &options, &result, &error);
  if (o.status == HIA_OK) hia_value_get_f32(result, &o.value);
  snprintf(o.error, sizeof o.error, "%s", error ? hia_error_text(error) : "");
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
  return o;
}

static inline outcome run(program *p, const char *name, int32_t n, size_t max_memory) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.max_memory = max_memory;
  return run_with(p, name, n, options);
}

/* Runs the function with limits from 4 KiB to 64 MiB: some are too small, some are not, and where
 * there is a result it is the one without a limit. */
static inline void run_with_little_memory(program *p, const char *name, int32_t n) {
  outcome right = run(p, name, n, 0);
  unsigned n_failed = 0, n_done = 0;
  for (size_t most = 1 << 12; most < 64 << 20; most += most / 3) {
    outcome o = run(p, name, n, most);
    n_failed += o.status == HIA_MEMORY;
    n_done += o.status == HIA_OK;
    cr_expect(o.status == HIA_OK || o.status == HIA_MEMORY, "%zu bytes: %d", most, o.status);
    if (o.status == HIA_OK) cr_expect_eq(memcmp(&o.value, &right.value, sizeof o.value), 0);
  }
  cr_expect_gt(n_failed, 0);
  cr_expect_gt(n_done, 0);
}

/* The least limit of memory, of 4 KiB and multiples by 2, with which the function can be run. */
static inline size_t least_memory(program *p, const char *name, int32_t n) {
  size_t most = 1 << 12;
  while (run(p, name, n, most).status != HIA_OK) {
    cr_assert_lt(most, (size_t)64 << 20);
    most *= 2;
  }
  return most;
}

#endif
