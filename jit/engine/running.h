/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How a run is made, once its arguments are words: in which versions, one after the other, and how
 * its results leave it. run.c makes calls of that; running.c does it. */
#ifndef HIA_RUNNING_H
#define HIA_RUNNING_H

#include "jit/versions/speculate.h"
#include "runtime/value/value.h"

/* Objects that results refer to, once they have left a run. */
typedef struct hia_leaving {
  hia_objects *objects; /* NULL: the results refer to none, or the run has failed */
  bool has_outside;     /* to objects of arguments, too */
} hia_leaving;

/* A run, or what the interpreter does of it. */
typedef struct hia_running {
  hia_engine *engine;
  const hia_run_options *options;
  hia_value *const *args;
  hia_word *words, *results; /* of args; results stand behind them */
  hia_leaving *left;
  hia_failure *failure;
  hia_usage *usage;
  uint64_t interpreted_ns;       /* before it began again; 0: it has not */
  const hia_fn_version *general; /* that it would have without assumptions */
  hia_observing *observing;
  uint32_t n_restarts;
  hia_effects effects;

  hia_idle_context *context; /* or NULL */
  hia_watch watch;
  hia_limits limits;
} hia_running;

/* Makes a run that begins in the version *f, which becomes the one that it has ended in. Returns
 * the status of the failure, too. The run sees the params as they are now. */
hia_status hiaJ_run_words(hia_running *r, const hia_fn_version **f);

#endif
