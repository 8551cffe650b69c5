/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The passes that are one file each, and what they lend to others. The head of each file says what
 * the pass requires, and what it keeps valid; pipeline/pass.c has them in their order. */
#ifndef HIA_PASSES_H
#define HIA_PASSES_H

#include "graph/ir/change.h"
#include "graph/ir/graph.h"

/* ---- scalar optimisation: of one function ---- */

void hiaG_copy(hia_graph *g, hia_fn *fn);  /* copy.c: copy propagation */
void hiaG_fold(hia_graph *g, hia_fn *fn);  /* fold.c: constants, identities, known branches */
void hiaG_cse(hia_graph *g, hia_fn *fn);   /* cse.c: value numbering */
void hiaG_dce(hia_graph *g, hia_fn *fn);   /* dce.c: dead nodes */
void hiaG_flat(hia_graph *g, hia_fn *fn);  /* flat.c: what is added to a sum, as one object */
void hiaG_sink(hia_graph *g, hia_fn *fn);  /* sink.c: what follows a branch, into its arms */
void hiaG_reads(hia_graph *g, hia_fn *fn); /* reads.c: elements are read before they are set */

/* ---- kinds of runs ---- */

void hiaG_elements(hia_graph *g); /* elements.c: failures say of which element they are */
/* True if an ELEMENT node is of use: what follows it in its region may fail. */
bool hiaG_element_matters(const hia_graph *g, const hia_fn *fn, hia_node_id n);
void hiaG_trap(hia_graph *g); /* trap.c: operations that make NaN fail */
/* Returns why operations that make NaN cannot fail in this graph ("it is ..."), or NULL. */
const char *hiaG_cannot_trap(const hia_graph *g);
void hiaG_fuel(hia_graph *g); /* fuel.c: calls, rounds and tensors use up fuel */
/* Returns why a graph cannot be run with fuel ("it is ..."), or NULL. */
const char *hiaG_cannot_fuel(const hia_graph *g);
void hiaG_streams(hia_graph *g); /* streams.c: arrays in the roots' arguments may be streams */
/* Returns why the arrays that are arguments of its roots cannot be streams ("it ..."), or NULL.
 * Uses the scratch arena. */
const char *hiaG_cannot_stream(const hia_graph *g);
/* Adds a root that takes streams where `root` takes arrays of data, and else computes the same.
 * Returns HIA_NONE if its arrays cannot be streams. Uses the scratch arena. */
hia_fn_id hiaG_stream_version(hia_graph *g, hia_fn_id root);

/* ---- functions ---- */

void hiaG_sweep(hia_graph *g); /* sweep.c: removes functions that no root reaches */
/* Replaces a call by a copy of the body of `callee`, which is not `fn` (inline.c). */
void hiaG_inline_call(hia_graph *g, hia_fn *fn, hia_node_id call, const hia_fn *callee,
                      hia_subst *subst);
void hiaG_inline(hia_graph *g);       /* inline.c: small functions that are not recursive */
void hiaG_inline_loops(hia_graph *g); /* inline.c: functions that have become loops */
void hiaG_cons(hia_graph *g);         /* cons.c: tail recursion modulo constructors */
void hiaG_unroll(hia_graph *g);       /* unroll.c: recursive inlining */
void hiaG_tail(hia_graph *g);         /* tail.c: tail calls of a group become loops */
void hiaG_merge(hia_graph *g);        /* merge.c: equal calls are made once */
/* Merges equal calls of one function, and leaves it not compact; calls it adds are new nodes.
 * Returns false if no calls were equal. */
bool hiaG_merge_in(hia_graph *g, hia_fn *fn);

/* ---- several workers ---- */

void hiaG_halve(hia_graph *g); /* halve.c: maps that other workers may share */
void hiaG_apart(hia_graph *g); /* apart.c: sums that other workers may collect */
void hiaG_pair(hia_graph *g);  /* pair.c: two rounds of a loop in one */
void hiaG_fork(hia_graph *g);  /* fork.c: calls that another worker may make */
/* How many of the calls of a region that could be forked are. */
typedef enum hia_fork_density {
  HIA_FORK_ALL,
  HIA_FORK_ONE_A_REGION, /* in unrolled recursion, where each inner level pays for its forks */
} hia_fork_density;
/* Forks calls of one function that has no forks, and leaves it not compact; the calls for forks
 * that no thief took are new nodes. Returns false if there was nothing to fork. */
bool hiaG_fork_in(hia_graph *g, hia_fn *fn, hia_fork_density density);
/* Numbers the forks of a function anew, after bodies with forks were copied into it. Forks nest,
 * and a join comes right behind the end of its fork (tail.c). */
void hiaG_number_forks(hia_graph *g, hia_fn *fn);

/* ---- comprehensions and tensors ---- */

void hiaG_fill(hia_graph *g); /* map.c: maps become loops that fill arrays */
void hiaG_map(hia_graph *g);  /* map.c: maps become loops that set elements */
/* Lets what compares the elements of a map, directly in its region, look at this array (map.c). */
void hiaG_compare_shapes(hia_graph *g, hia_fn *fn, hia_region_id each, hia_value_id array);
void hiaG_fuse(hia_graph *g); /* fuse.c: elementwise operations in one loop */

/* ---- the static graph ---- */

void hiaG_tag(hia_graph *g);   /* tag.c: the tagging transformation */
void hiaG_untag(hia_graph *g); /* untag.c: its inverse */

#endif
