/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Analyses of static graphs: what lowering must know of a graph before it emits anything. */
#ifndef HIA_ANALYSIS_H
#define HIA_ANALYSIS_H

#include "graph/graph.h"

/* ---- facts.c: what functions do, themselves or below ---- */

enum {
  HIA_DOES_RAISE = 1, /* may fail */
  HIA_DOES_COUNT = 2, /* counts calls or rounds */
  HIA_HAS_FORKS = 4,  /* forks, itself */
  HIA_IS_LEAF = 8,    /* is lowered without its calls: leaf.c */
};

/* Each by function. */
typedef struct hia_facts {
  uint8_t *traits;  /* HIA_DOES_ bits */
  uint32_t *group;  /* functions that call each other have one number; callees have lower ones */
  hia_fn_id *order; /* all functions, callees first */
  bool *is_version; /* a leaf function, or the slow path of one */
  bool *is_forked;  /* some fork may have another worker call it */
} hia_facts;
/* In the arena. */
hia_facts hiaG_facts(hia_arena *arena, const hia_graph *g);
bool hiaG_calls_host(const hia_fn *fn);

/* ---- leaf.c ---- */

/* True if a function that has a slow path can be lowered without its calls, as far as its shape is
 * concerned. */
bool hiaG_can_be_leaf(hia_arena *arena, const hia_fn *fn);
/* By parameter: the value that stands for it where the function begins anew, which in a function
 * that is one loop is the loop's variable. NULL: it cannot begin anew. */
hia_value_id *hiaG_restart_values(hia_arena *arena, const hia_fn *fn);

/* ---- cost.c: how long code takes, and how large it is ---- */

/* How long code may run without a poll. In the op table's cycles, on the path where it is longest;
 * what the table does not know, such as a cache that is cold, has ten times the room. */
#define HIA_MAX_UNPOLLED      20000 /* within a function: about 10 us */
#define HIA_MAX_UNPOLLED_FN   1000  /* of a whole function that need not compare at all */
#define HIA_MAX_UNPOLLED_BACK 100   /* behind a recursive call, in each of the frames that return */

/* The longest ways since a comparison, or since the function was entered. */
typedef struct hia_way {
  uint64_t since; /* of all ways */
  uint64_t bare;  /* of those that have met no comparison at all */
  uint64_t back;  /* of those since a call of the function's own group */
  bool is_bare;   /* is there such a way? */
  bool is_back;
} hia_way;

hia_way hiaG_longer_way(hia_way a, hia_way b); /* of two ways that meet */

/* Nodes that may follow one another in one block. Some of LLVM's algorithms are quadratic in its
 * length: the scheduler, for one, compares every write of the flags with all before it. */
#define HIA_MAX_STRAIGHT_LINE 400

uint64_t hiaG_cost(const hia_fn *fn, hia_node_id n); /* of a node that is no call */
/* True if a run of the function may come to a poll. */
bool hiaG_polls(const hia_fn *fn);
bool hiaG_is_large(const hia_fn *fn);
/* How large a graph is, for the choice of algorithms: some are quadratic in it. */
typedef enum hia_size_class {
  HIA_SIZE_USUAL,
  HIA_SIZE_UNROLLED, /* unrolled recursion: a function of many alike conditions on few values */
  HIA_SIZE_MANY,     /* functions, or results of one */
  HIA_SIZE_LARGE     /* a function of very many nodes or regions */
} hia_size_class;
hia_size_class hiaG_size_class(const hia_graph *g);

#endif
