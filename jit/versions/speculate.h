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
 * Other assumptions on arguments are tested before a run begins. So they cannot fail within one,
 * and a version computes what the general one does. Some runs are observed, too, and versions
 * assume what was always so inside of them; guards test that (observe.h).
 *
 *   special.c     the versions of a function: memory, which of them a run uses, which leave
 *   speculate.c   looks at arguments, and has versions made
 *   assumed.c     makes the graph of a version; the params that its runs read
 *   inside.c, observing.c, observed.c, guards.c   what happens inside of runs (observe.h)
 *   explain.c, explain_*.c   says which versions there are, and why (explain.h)
 *   entries.c     calls of typed entries: looks at them, and versions for them
 *   entered.c     the code of a version for typed entries
 *   cached_versions.c   versions in the cache
 *
 * The folder is part of the engine: jit/engine makes versions when they are needed (ready.c), and
 * runs them (running.c). */
#ifndef HIA_SPECULATE_H
#define HIA_SPECULATE_H

#include "graph/assume/assume.h"
#include "jit/versions/observe.h"

enum {
  HIA_MAX_SPECIALS = 15,
  HIA_SEEN_OBJECTS = 16,
  HIA_STEADY = 3, /* looks, unless the engine is eager; the number is Janus's (Jeong et al., NSDI
                     2019, section 3.1) */
  HIA_MAX_OBJECTS = 256, /* of an argument whose objects are assumed: code grows with them */
};

/* What the looks have shown of a word; each has a number of looks, of changes or of objects. The
 * first two are steady. */
typedef enum hia_why {
  HIA_WHY_SAME,      /* it was so in the last looks */
  HIA_WHY_SEEN,      /* the object was there in so many looks */
  HIA_WHY_FEW,       /* it was so in too few looks, the last ones */
  HIA_WHY_FEW_SEEN,  /* the object was there in too few looks */
  HIA_WHY_DIFFERS,   /* it was another one in every look */
  HIA_WHY_VARIES,    /* it has changed too often */
  HIA_WHY_MANY,      /* its objects were more than can be remembered */
  HIA_WHY_NO_OBJECT, /* it is a constructor without fields */
  HIA_WHY_LARGE,     /* it has too many objects */
  HIA_WHY_LEFT_OUT,  /* by a test */
  HIA_WHY_RECALLED,  /* another process has found it, says the cache */
} hia_why;

/* Why what was asked is not assumed. */
typedef enum hia_taken_back {
  HIA_BACK_NOT,
  HIA_BACK_NO_USE,    /* nothing of the graph lasts that could use it */
  HIA_BACK_GRADIENTS, /* gradients are computed */
} hia_taken_back;

typedef struct hia_evidence {
  hia_why why;
  uint32_t n;
  hia_taken_back taken_back;
} hia_evidence;

/* Why there is no further version. */
typedef enum hia_hindrance {
  HIA_HINDRANCE_NO_LOOK, /* at a run, since the last version was made */
  HIA_HINDRANCE_FEW_LOOKS,
  HIA_HINDRANCE_TIME,    /* runs have not taken as long as compiling does */
  HIA_HINDRANCE_OBSERVE, /* runs are to be observed first */
  HIA_HINDRANCE_NOT_STEADY,
  HIA_HINDRANCE_KNOWN, /* such a version was made, or could not be */
  HIA_HINDRANCE_MAKING,
  HIA_HINDRANCE_FULL,
  HIA_HINDRANCE_MEMORY,
  /* There will never be one: */
  HIA_HINDRANCE_ENGINE, /* it does not choose for itself */
  HIA_HINDRANCE_OFF,
  HIA_HINDRANCE_GRAPH, /* the module was read as one */
  HIA_HINDRANCE_LOSS,  /* the function computes gradients for the host */
  HIA_HINDRANCE_NO_ARGUMENTS,
  HIA_HINDRANCE_NO_NATIVE,
  HIA_HINDRANCE_NONE,
} hia_hindrance;

/* One word of a function's arguments, as far as the looks have shown it. */
typedef struct hia_seen {
  hia_word word;
  hia_dims dims;                     /* of a tensor */
  uint32_t n_same_word, n_same_dims; /* looks, the last ones, that were like this */
  uint32_t n_words, n_dims;          /* looks that were not like the one before */
  hia_observed range;                /* of a number or a tensor: the least and the most */
  /* Data and arrays that runs get in turn, and how often each of them was seen. */
  hia_word objects[HIA_SEEN_OBJECTS];
  uint32_t n_seen[HIA_SEEN_OBJECTS], n_evicted;
  bool is_large; /* the last object that was steady has too many objects */
} hia_seen;

/* The last run that was looked at and was not as a version assumes. */
typedef struct hia_misfit_run {
  uint32_t n;    /* such runs among those that were looked at */
  uint64_t run;  /* its number, from 1 */
  uint32_t at;   /* the first word that did not fit */
  hia_word word; /* what it was */
  hia_dims dims;
} hia_misfit_run;

typedef enum hia_special_outcome {
  HIA_SPECIAL_MAKING,
  HIA_SPECIAL_MADE,
  HIA_SPECIAL_FAILED, /* it could not be made */
  HIA_SPECIAL_LEFT,   /* no run chooses it any more; runs may hold it */
  HIA_SPECIAL_GONE,   /* its memory is free, for another version */
} hia_special_outcome;

/* What a version assumes. Constant while the version can be found, except under a lock. A run holds
 * the version before it reads anything but what is atomic. */
struct hia_special {
  hia_function *function;
  _Atomic(const hia_fn_version *) version; /* NULL: there is none */
  atomic_uint n_held;                      /* by runs */
  /* For a look before that: how much it assumes, and which word of the arguments is this one, or of
   * which tensor the sizes make this one; NONE: it assumes neither. */
  _Atomic uint32_t rank, key;
  _Atomic hia_word key_word;
  uint32_t serial;         /* of versions that assume as much, runs use the newest */
  bool is_narrow;          /* nothing is batched: waves were narrow, */
  bool has_wide;           /* or wide, and took little of the time: it is given up sooner */
  const hia_special *like; /* is_narrow: the version with batches that assumes the same; or NULL */
  uint32_t weight;  /* how much it assumes: of several that fit, a run uses the one with the most */
  bool assumes_all; /* tests: what is of no use, too */
  hia_assumption *of;     /* by word of the arguments */
  hia_evidence *evidence; /* likewise */
  hia_objects **objects;  /* by word: held, since an object of it is assumed; or NULL */
  hia_inside_fact *facts; /* what is assumed inside; guards have their indices as numbers */
  uint32_t n_facts;
  bool has_facts;              /* some are used */
  atomic_bool is_retired;      /* guards have failed: no run uses it any more */
  const hia_param_spec *specs; /* of the graph: of the program, then of arguments */
  uint32_t n_specs, n_bound;   /* n_bound of them are of arguments: */
  const hia_argument *bound;

  pthread_mutex_t lock;             /* of what follows: the params of the last run */
  hia_param_state *program, *state; /* held; NULL: there are none */
  hia_word *words;                  /* of the arguments that they were made for */
  hia_objects **lent;               /* by argument: held as long as `state` is kept */

  /* What typed entries run of it (entered.c): constant while it can be found. */
  hia_code_module code;
  hia_code_root root;
  hia_type *root_types; /* by word of the arguments, then of the result */
  hia_params joined;    /* of `code`, if the version has params of its own */

  /* The time of some of its runs. */
  atomic_uint_fast64_t n_timed, timed_ns;
  /* The speculation's lock protects what follows. */
  hia_special_outcome outcome;
  char reason[128];    /* FAILED: why */
  uint64_t made_after; /* runs of the function; and how many of them could not use it */
  uint64_t unfit_before;
  uint64_t compile_ns;
  uint64_t judged_ns; /* of its trials so far, */
  uint32_t n_slow;    /* of which so many were slow */
  hia_misfit_run misfit;
  const hia_fn_version *left; /* LEFT: what `version` was */
  uint64_t used_then;         /* runs that had used it at the last look, and */
  uint32_t n_idle;            /* looks since it was used */
};

/* Runs, and the time that they took together. */
typedef struct hia_timed {
  uint64_t n, ns;
} hia_timed;

/* What an engine knows of a function's arguments. */
struct hia_speculation {
  pthread_mutex_t lock; /* of what follows */
  hia_seen *seen;       /* by word */
  /* By word, once a version was asked for: what is known of it is of use. NULL: not known yet. */
  bool *lasts;
  bool has_gradients;
  uint32_t n_looks, n_timed; /* n_timed: but for observed ones */
  _Atomic uint64_t mean_ns;  /* ns / n_timed; 0: there is none */
  uint64_t ns; /* of the runs that were looked at and timed; of them, those that were native
                  throughout, and those of the interpreter alone: */
  hia_timed native, interpreted;
  hia_hindrance hindrance;      /* at the last look; with TIME the time of all runs, about, and */
  uint64_t runs_ns, compile_ns; /* that of compiling */
  /* Runs of the general version, and the number of that which is looked at next. */
  _Atomic uint64_t n_general, next_look;
  bool is_making;
  hia_inside inside;
  /* Runs whose batches may have cost more than they saved, and others. is_wide: no run is without
   * batches any more; else so many were. */
  atomic_uint n_narrow, n_wide;
  atomic_bool is_wide;
  atomic_bool has_recalled; /* versions that are in the cache were looked for */
  _Atomic uint64_t n_unbatched;
  /* Numbers 1 to n_made are taken, by versions that are there, could not be made, or have left. */
  atomic_uint n_made;
  uint32_t n_serial;    /* versions that were made */
  uint64_t n_used_gone; /* runs of versions that have left */
  hia_special specials[HIA_MAX_SPECIALS];

  /* Runs by the number of the version that they have used, 0 being the general one; since there is
   * a speculation. A run writes nothing else here that other runs read. */
  atomic_uint_fast64_t n_used[HIA_MAX_SPECIALS + 1];
};

/* ---- special.c ---- */

/* Made at the first request. NULL: no memory. */
hia_speculation *hiaJ_speculation_of(hia_function *f);
void hiaJ_speculation_free(hia_function *f);
/* The version is there: runs choose it from now on, and the caller holds it. */
void hiaJ_special_add(const hia_fn_version *version);
/* A run, or who has made it, does not need the version any more. */
static inline void hiaJ_special_release(hia_special *x) {
  atomic_fetch_sub_explicit(&x->n_held, 1, memory_order_release);
}
/* Makes room for another version, if there is none: a version that no run has used for long
 * leaves, as do those whose guards have failed. Returns the unit of one that has left and that no
 * run holds, for the caller to free without the lock; NULL: there is none. The caller holds the
 * lock. */
hia_unit *hiaJ_special_leave(hia_speculation *s);
/* The next version, which has been filled in, is being made now, or is there. Returns its number.
 */
uint32_t hiaJ_special_begin(hia_speculation *s, hia_special_outcome outcome);
/* True if there is room for another version. */
bool hiaJ_special_has_room(const hia_speculation *s);
/* The assumptions of the version with these traits. */
hia_special *hiaJ_special_of(const hia_function *f, hia_traits traits);
/* The version with these traits, which was being made, is there, after so much time of compiling;
 * or it could not be made, which may be said twice. The caller holds no lock. */
void hiaJ_special_made(hia_function *f, hia_traits traits, uint64_t compile_ns);
/* True if nothing of what the version with these traits assumes can still be taken back. */
bool hiaJ_is_decided(const hia_function *f, hia_traits traits);
void hiaJ_special_failed(hia_function *f, hia_traits traits, const char *reason);
/* Runs whose arguments were not as version number i + 1 assumes, or that had another version
 * before it could be found. The caller holds the lock. */
uint64_t hiaJ_special_unfit(const hia_speculation *s, uint32_t i);
/* The first of these words that is not as the version assumes; HIA_NONE: all are. */
uint32_t hiaJ_special_misfit(const hia_special *special, const hia_word *words);
/* Returns that version whose assumptions hold of these words and which assumes most, held for the
 * caller; NULL: there is none. Counts the run: it is number *use of those that use this version, or
 * none, from 0. */
const hia_fn_version *hiaJ_special_version(hia_function *f, const hia_word *words, uint64_t *use);
/* True if the time of a run is to be taken, which is number `use` of those of a version: reading
 * the clock takes a tenth of a short run. */
static inline bool hiaJ_is_timed(uint64_t use) {
  enum { FIRST = 24, EVERY = 16, MANY = 1024, SELDOM = 256 };
  return use < FIRST || use % (use < MANY ? EVERY : SELDOM) == 0;
}
void hiaJ_special_timed(hia_special *special, uint64_t ns);

/* The assumptions that the next version gets, which are to be filled in; NULL: there is no room or
 * no memory. The caller holds the lock, or nobody else makes versions meanwhile. */
hia_special *hiaJ_special_next(hia_speculation *s, hia_function *f);

/* ---- cached_versions.c: versions in the cache ---- */

/* Says in a key what the version with these traits assumes. False: it cannot be kept. */
bool hiaJ_special_describe(hia_text *key, const hia_function *f, hia_traits traits);
/* Stores the list of the function's versions. */
void hiaJ_cached_store_versions(const hia_function *f);
/* Hands over the versions of the list that is in the cache, each as the next one of the function.
 * Nobody else makes versions of it meanwhile. */
typedef void hia_recall(void *user, hia_special *special);
void hiaJ_cached_versions(const hia_fn_version *general, hia_speculation *s, hia_recall *recall,
                          void *user);

/* ---- speculate.c ---- */

/* The general version comes from the cache: versions for such arguments may be there, too. */
void hiaJ_recall_versions(const hia_fn_version *general, hia_value *const *args);
void hiaJ_recall_versions_for(const hia_fn_version *general, const hia_word *words);

/* A run of a version that assumes nothing, to be looked at. */
typedef struct hia_looked_at {
  const hia_fn_version *version; /* in which it has ended; of an observed run the usual one */
  hia_value *const *args;        /* NULL: it was a call of a typed entry, */
  const hia_word *given; /* which got values: by word, that of data or an array; NULL: none */
  const hia_word *words;
  uint64_t number;         /* of the function's runs, from 0 */
  uint64_t ns;             /* that it took */
  uint64_t interpreted_ns; /* of that, before native code took over; 0: it did not */
  bool is_native;
  bool is_cut; /* it was observed, and cut: the time says nothing */
} hia_looked_at;

/* True if a version is made after one run. */
static inline bool hiaJ_is_eager(const hia_function *f) {
  const hia_engine *engine = f->module->engine;
  return engine->options.speculate == HIA_SPECULATE_EAGER || engine->assume_seed;
}
/* Why there can be no versions of the function; HIA_HINDRANCE_NONE: there can. */
hia_hindrance hiaJ_cannot_speculate(const hia_function *f);
/* Counts n runs that begin in this version. True if the engine should look at the arguments of the
 * last one. */
bool hiaJ_is_looked_at(hia_function *f, const hia_fn_version *version, uint32_t n);
/* Looks at a run that has ended. May have a version made. */
void hiaJ_look(hia_function *f, const hia_looked_at *run);
/* In how many looks something must be the same. */
uint32_t hiaJ_steady(const hia_function *f);
/* What the looks have shown of a word of this kind. The caller holds the lock. */
hia_evidence hiaJ_evidence(const hia_speculation *s, const hia_function *f, uint32_t word,
                           hia_type_kind kind);
/* A run of a version with batches has had these. May have a version without them made. `ns`: what
 * it took, in native code alone; 0: that is not known. `is_looked_at`: hiaJ_look gets it, too. */
void hiaJ_look_at_waves(hia_function *f, const hia_fn_version *version, const hia_usage *usage,
                        uint64_t ns, bool is_looked_at);
/* True if the run is to be timed for that: it has batches, and may be better without them. */
bool hiaJ_has_waves(const hia_function *f, const hia_fn_version *version);

/* ---- entries.c ---- */

/* The chooser for the record of the version's unit (runtime/native/chooser.h), in whose memory it
 * lies: in a try. NULL: there can be no other versions. */
const struct hia_chooser *hiaJ_chooser(const hia_fn_version *version);
/* ---- entered.c ---- */

/* Fills in what typed entries run of a version that is there from now on. */
void hiaJ_special_for_entries(hia_special *special, const hia_fn_version *version);

/* ---- assumed.c ---- */

/* Puts what the version assumes into the graph of its unit, which has just been built. Assumptions
 * that are of no use are taken back; HIA_UNSUPPORTED if none is left. In a try of the module. */
hia_status hiaJ_assume(hia_unit *unit, hia_special *special, hia_error **error);
/* Takes back what is of no use of word i, given whether that lasts, and whether the function
 * computes gradients. */
void hiaJ_take_back(hia_special *special, uint32_t i, bool lasts, bool has_gradients);
/* Notes what runs of the version need, once all passes have run. */
void hiaJ_assumed(hia_unit *unit);
/* Does the same for a unit that comes from the cache. In a try. */
void hiaJ_assumed_from_cache(hia_unit *unit, hia_special *special);
/* The params of a run of the version, held for the caller: those of the program (NULL: it has
 * none), and arguments; `args` NULL: what the words refer to need not outlive the run. HIA_MEMORY.
 */
hia_status hiaJ_assumed_params(hia_special *special, hia_value *const *args, const hia_word *words,
                               hia_param_state *program, hia_param_state **out);

#endif
