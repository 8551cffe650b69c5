/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions of functions that assume something of their arguments (docs/speculation.md).
 *
 * An engine that chooses for itself looks at the arguments of runs: at the first ones, and then now
 * and then. What was the same in the last looks is *steady*. When a function has run for as long as
 * compiling it takes, the engine makes a version that takes for granted what is steady and of use
 * (graph/assume), on the thread that compiles. A run whose arguments are as a version assumes uses
 * it; each other run uses the general version.
 *
 * A function whose waves (docs/batching.md) were one row wide gets a version without batches. That
 * it fits is no matter of results: every now and then a run has batches all the same, and once its
 * waves are wide there is no such version any more.
 *
 * All other assumptions are tested before a run begins. So none can fail within one, and a version
 * computes what the general one does.
 *
 *   special.c     the versions of a function: memory, and which of them a run uses
 *   speculate.c   looks at arguments, and has versions made
 *   assumed.c     makes the graph of a version; the params that its runs read */
#ifndef HIA_SPECULATE_H
#define HIA_SPECULATE_H

#include "graph/assume/assume.h"
#include "jit/engine/engine.h"

enum { HIA_MAX_SPECIALS = 15, HIA_SEEN_OBJECTS = 16 };

/* One word of a function's arguments, as far as the looks have shown it. */
typedef struct hia_seen {
  hia_word word;
  hia_dims dims;                     /* of a tensor */
  uint32_t n_same_word, n_same_dims; /* looks, the last ones, that were like this */
  uint32_t n_words, n_dims;          /* looks that were not like the one before */
  /* Data and arrays that runs get in turn, and how often each of them was seen. */
  hia_word objects[HIA_SEEN_OBJECTS];
  uint32_t n_seen[HIA_SEEN_OBJECTS], n_evicted;
} hia_seen;

/* What a version assumes. Constant once the version can be found, except under the lock. */
struct hia_special {
  hia_function *function;
  bool is_narrow;   /* nothing is batched: waves were narrow */
  uint32_t weight;  /* how much it assumes: of several that fit, a run uses the one with the most */
  bool assumes_all; /* tests: what is of no use, too */
  hia_assumption *of;          /* by word of the arguments */
  hia_objects **objects;       /* by argument: held, since an object of it is assumed; or NULL */
  const hia_param_spec *specs; /* of the graph: of the program, then of arguments */
  uint32_t n_specs, n_bound;   /* n_bound of them are of arguments */

  pthread_mutex_t lock;             /* of what follows: the params of the last run */
  hia_param_state *program, *state; /* held; NULL: there are none */
  hia_word *words;                  /* of the arguments that they were made for */
  hia_objects **lent;               /* by argument: held as long as `state` is kept */
};

/* What an engine knows of a function's arguments. */
struct hia_speculation {
  pthread_mutex_t lock; /* of what follows */
  hia_seen *seen;       /* by word */
  /* By word, once a version was asked for: what is known of it is of use. NULL: not known yet. */
  bool *lasts;
  bool has_gradients;
  uint32_t n_looks;
  uint64_t ns; /* of the runs that were looked at */
  /* Runs of the general version, and the number of that which is looked at next. */
  _Atomic uint64_t n_general, next_look;
  bool is_making;
  /* Runs with narrow waves, and none with others so far; of those without batches, how many. */
  atomic_uint n_narrow;
  atomic_bool is_wide;
  _Atomic uint64_t n_unbatched;
  /* Numbers 1 to n_made are taken, by versions that are there, or that could not be made. */
  atomic_uint n_made;
  hia_special specials[HIA_MAX_SPECIALS];
};

/* ---- special.c ---- */

/* Made at the first request. NULL: no memory. */
hia_speculation *hiaJ_speculation_of(hia_function *f);
void hiaJ_speculation_free(hia_function *f);
/* Gives assumptions their memory. False: there is none. It is freed with the function. */
bool hiaJ_special_init(hia_special *special, hia_function *f);
/* The assumptions of the version with these traits. */
hia_special *hiaJ_special_of(const hia_function *f, hia_traits traits);
/* The version that was being made is there, or could not be made. */
void hiaJ_special_made(hia_function *f);
/* True if the elements lie as those of a param do. */
bool hiaJ_lies_as_param(const struct hia_tensor *t);
/* Of the versions whose assumptions hold of these words, that which assumes most; NULL: there is
 * none. */
const hia_fn_version *hiaJ_special_version(hia_function *f, const hia_word *words);

/* ---- speculate.c ---- */

/* Counts a run that begins in this version. True if the engine should look at its arguments. */
bool hiaJ_is_looked_at(hia_function *f, const hia_fn_version *version);
/* Looks: a run of a version with these arguments took so long. May have a version made. */
void hiaJ_look(hia_function *f, const hia_fn_version *version, hia_value *const *args,
               const hia_word *words, uint64_t ns);
/* A run of a version with batches has had these. May have a version without them made. */
void hiaJ_look_at_waves(hia_function *f, const hia_fn_version *version, const hia_usage *usage);

/* ---- assumed.c ---- */

/* Puts what the version assumes into the graph of its unit, which has just been built. Assumptions
 * that are of no use are taken back; HIA_UNSUPPORTED if none is left. In a try of the module. */
hia_status hiaJ_assume(hia_unit *unit, hia_special *special, hia_error **error);
/* Takes back what is of no use, given whether its argument lasts, and whether the function computes
 * gradients. */
void hiaJ_take_back(const hia_special *special, hia_assumption *a, bool lasts, bool has_gradients);
/* Notes what runs of the version need, once all passes have run. */
void hiaJ_assumed(hia_unit *unit);
/* The params of a run of the version, held for the caller: those of the program (NULL: it has
 * none), and arguments. HIA_MEMORY. */
hia_status hiaJ_assumed_params(hia_special *special, hia_value *const *args, const hia_word *words,
                               hia_param_state *program, hia_param_state **out);

#endif
