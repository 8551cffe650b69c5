/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts of references: what the files of pass refs share. refs.c is the pass, and what counting.h
 * lists the walk that adds the counts; own.c decides which parameters and variables are owned,
 * version.c makes owning versions, exits.c gives each way out of a loop a region, and reuse.c hands
 * the memory of dead objects to new ones. forget.c removes counts from a graph that was read. */
#ifndef HIA_REFS_SHARED_H
#define HIA_REFS_SHARED_H

#include "graph/ir/graph.h"

enum {
  HIA_REFS_REACH = 1000,      /* nodes that are looked at for one object whose memory is free */
  HIA_REFS_MAX_LOOKED = 1000, /* values that are looked at for one variable */
  HIA_REFS_MAX_WALKING = 64   /* variables of a loop */
};

/* What is known of a function. */
typedef struct hia_ref_version {
  bool *owns;            /* by parameter */
  bool can_own;          /* it borrows a parameter, and is no owning version */
  bool is_wanted;        /* a call would call its owning version */
  hia_fn_id owning;      /* its owning version; or NONE */
  hia_node_id base_call; /* of an owning version: where it calls the function that borrows */
} hia_ref_version;

/* True if the node reads a field of a value, or an element of an array. */
static inline bool hiaG_is_part(const hia_node *node) {
  return node->op == HIA_OP_FIELD || node->op == HIA_OP_AT;
}

/* ---- own.c ---- */

/* True if the value may refer to an object: constructors without fields are none. */
bool hiaG_may_be_object(const hia_graph *g, const hia_fn *fn, hia_value_id v);
/* Marks parameters that the function consumes. Returns true if there are new ones. */
bool hiaG_find_owned(const hia_graph *g, const hia_fn *fn, const hia_ref_version *versions,
                     bool *own);

/* A loop that walks through a value. */
typedef struct hia_walking {
  const hia_fn *fn;
  hia_region_id head;
  const bool *is_kept; /* by variable */
  uint32_t left;       /* values that may still be looked at */
} hia_walking;
/* True if the value is no object, or a part of what is kept: of a variable, or of a value from
 * outside of the loop. */
bool hiaG_is_part_of_kept(hia_walking *w, hia_value_id v);
/* Leaves, of the variables whose first value is kept, as is_kept says, those whose next values are
 * parts of what is kept, too. */
void hiaG_find_walking(const hia_fn *fn, hia_node_id loop, bool *is_kept);

/* ---- version.c ---- */

/* fn f.owning(...) = if nothing else refers to what f borrows then f's body else f(...) */
hia_fn_id hiaG_make_owning(hia_graph *g, hia_fn_id f, hia_ref_version *made,
                           const hia_ref_version *borrowing);

/* ---- exits.c ---- */

/* Where a branch at the end of a loop's head says whether the loop goes on, each of its arms either
 * goes on or does not, or ends in such a branch, which gives what the arm yields. Leaves the
 * function not compact. */
void hiaG_split_exits(hia_graph *g, hia_fn *fn);
/* The branch that a region ends in, if operand i of the region's YIELD is a result of it; or NONE.
 */
hia_node_id hiaG_split_of(const hia_fn *fn, hia_region_id region, uint32_t i);

/* ---- reuse.c ---- */

/* Returns the size of an object of a constructor. */
static inline uint32_t hiaG_object_size(const hia_graph *g, hia_type type, uint32_t ctor) {
  const hia_type_entry *entry = &g->types->entries.data[type - HIA_FIRST_TYPE];
  return g->types->ctors.data[entry->first + ctor].layout.size;
}
/* The memory that UNPACKs give is used by constructions of the same size. */
void hiaG_give_tokens(hia_graph *g, hia_fn *fn);

/* Returns the first node of a region behind its ARGs and the join of a fork. */
static inline hia_node_id hiaG_start_of(const hia_fn *fn, hia_region_id region) {
  hia_node_id n = fn->regions.data[region].first;
  while (fn->nodes.data[n].op == HIA_OP_ARG || fn->nodes.data[n].op == HIA_OP_JOIN)
    n = fn->nodes.data[n].next;
  return n;
}

#endif
