/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What runs of a function do inside, and what versions assume of it (graph/assume/points.h).
 *
 * Some runs are *observed*: the interpreter makes them in an image that notes what comes to each
 * point. It is slower than other code, so an observed run is cut after a time that is small next to
 * that of all runs, and begins again in the version that it would have had. What was always so in
 * the observed runs is a fact, which versions assume. They test it where it is used: a guard that
 * fails ends the run, which begins again in the general version. A fact whose guards fail again and
 * again is not assumed any more.
 *
 *   inside.c      images that observe; facts
 *   guards.c      guards that fail
 *   observing.c   which runs are observed
 *   observed.c    hia_function_observe
 *
 * Functions that call impure functions of the host are not observed: a run of theirs is made
 * once. */
#ifndef HIA_OBSERVE_H
#define HIA_OBSERVE_H

#include "graph/assume/points.h"
#include "jit/engine/engine.h"
#include "runtime/run/observer.h"

enum {
  HIA_OBSERVED_RUNS = 3,      /* after which facts are decided, or when one point has been seen */
  HIA_OBSERVED_ENOUGH = 1000, /* so often */
  HIA_MOST_RETIRED = 3, /* versions with guards that failed, behind which there are no further */
};

/* Where a point is, for those who explain. */
typedef struct hia_point_place {
  hia_point_kind kind;
  hia_sight sight;
  hia_type type;
  uint32_t param;        /* PARAM: its number, by words */
  uint32_t line, col;    /* of the branch, the loop, the function; 0: nowhere */
  const char *type_text; /* as the language writes it; "": not known */
  const char *fn;        /* the function's name in the source; "": not known */
  const char *name; /* of the parameter; of a branch the constructor that it asks for; "": none */
} hia_point_place;

/* A fact that a version assumes. */
typedef struct hia_inside_fact {
  hia_fact fact;
  hia_point_place place;
  uint64_t n; /* how often it was so; 0: another process has found it */
  bool is_used;
  atomic_uint n_failed;
} hia_inside_fact;

/* What is known of a function's inside; the speculation's lock protects it. */
typedef struct hia_inside {
  bool is_asked;                 /* the image was requested */
  bool is_empty;                 /* there is nothing to be seen, or nothing to be gained by it */
  bool is_under_way;             /* a run is being observed */
  const hia_point_place *places; /* of the image, by point; NULL: there is none so far */
  uint32_t n_points;
  hia_observed *seen;              /* by point, all observed runs together */
  uint32_t dead[HIA_MOST_RETIRED]; /* points that are not assumed any more, n_retired of them */
  uint32_t n_runs;                 /* that were observed, */
  uint64_t ns;                     /* and how long; */
  uint32_t n_wanted;               /* and how many more are, besides the usual ones */
  uint32_t n_retired;              /* guards that failed, and versions with them */
} hia_inside;

/* A run that is observed, or not: then `version` is NULL. */
typedef struct hia_observing {
  const hia_fn_version *version; /* the image */
  hia_observer observer;
  uint64_t most_ns, ns; /* how long it may be observed; how long it was */
  bool is_all;          /* what was observed is all that is wanted of the run, which may be cut */
} hia_observing;

/* What is seen of a scalar. */
hia_sight hiaJ_sight(hia_type type);
/* What hosts call points of this kind. */
hia_point_of hiaJ_point_of(hia_point_kind kind);
/* `p` is a point of the graph as it was built. The module's lock is held. */
hia_point_place hiaJ_point_place(const hia_module *module, const hia_graph *g, const hia_point *p);

/* Makes the graph of a unit, which has just been built, one that observes. In a try of the module.
 * HIA_UNSUPPORTED: there is nothing to be seen. */
hia_status hiaJ_observe(hia_unit *unit, hia_function *f, hia_error **error);

/* A run of this version, which assumes nothing, is looked at: it may be observed, too. */
void hiaJ_observing_begin(hia_observing *o, hia_function *f, const hia_fn_version *version);
/* It has ended, or was cut. */
void hiaJ_observing_end(hia_observing *o, hia_function *f);

/* Makes a run that is observed, and nothing else, of a function that is no generic one; run.c. */
hia_status hiaJ_run_observed(hia_observing *o, hia_function *f, hia_value *const *args,
                             hia_error **error);

/* How many runs are to be observed yet. */
uint32_t hiaJ_inside_wants(const hia_inside *inside);
void hiaJ_inside_free(hia_inside *inside, const hia_allocator *allocator);
/* The caller holds the speculation's lock in what follows. */

/* True if facts are known that can be assumed, or will never be. Requests the image when it is
 * needed: *is_wanted, then the caller has it made, without the lock. */
bool hiaJ_inside_is_decided(hia_function *f, bool *is_wanted);
/* The image cannot be made. The caller holds no lock. */
void hiaJ_inside_give_up(hia_function *f);
/* The image is gone with its unit: what was noted of it goes, too. The caller holds no lock. */
void hiaJ_inside_lost(hia_function *f);
/* Gives the version the facts of now. False: no memory. */
bool hiaJ_inside_assume(hia_special *special);
bool hiaJ_inside_copy(hia_special *to, const hia_special *from);
/* Makes room for n facts, all zeros. */
bool hiaJ_inside_room(hia_special *special, uint32_t n);
bool hiaJ_inside_is_same(const hia_special *a, const hia_special *b);

/* A guard of the version has failed. The caller holds no lock. */
void hiaJ_guard_failed(hia_special *special, uint64_t number);

#endif
