/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: what the files of the verifier share. verify.h has its interface.
 *
 *   verify.c    the order of the checks; the graph as a whole, the signatures of functions
 *   node.c      single nodes
 *   fn.c        the relations of nodes in a function that is a tree of regions
 *   static.c    the relations of nodes in a section of a static graph
 *   fork.c      forks, in both states
 *   gradient.c  nodes that differentiate
 *   address.c   where results are put
 *   defect.c    what all of them call when something is wrong */
#ifndef HIA_VERIFIER_H
#define HIA_VERIFIER_H

#include "graph/ir/graph.h"
#include "graph/verify/verify.h"
#include <setjmp.h>

/* One run of the verifier. The first defect found is recorded, and ends the run. */
typedef struct hia_verifier {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn; /* being verified; NULL: the graph itself */
  hia_fn_id fn_id;
  hia_defect *defect;
  jmp_buf stop;
} hia_verifier;

/* ---- defect.c ---- */

_Noreturn void hiaG_defect(hia_verifier *v, hia_node_id node, const char *fmt, ...)
    HIA_PRINTF(3, 4);
/* Reports a defect unless operand or result i (`what`) of the node has the dtype `wanted`. */
void hiaG_expect_type(hia_verifier *v, hia_node_id node, const char *what, uint32_t i,
                      hia_type type, hia_type wanted);

/* ---- node.c ---- */

/* True if a value of a graph can have the type. */
bool hiaG_is_word(const hia_types *types, hia_type t);
/* Checks that indices are in range. Its defects come without the node's text, because the printer
 * could not look the indices up. */
void hiaG_verify_indices(hia_verifier *v, hia_node_id n);
/* Checks all else that a node says of itself. */
void hiaG_verify_node(hia_verifier *v, hia_node_id n);

/* ---- fn.c, static.c ----
 * These verify one function in its state. The indices of nodes, values and edges have been checked;
 * regions and their lists or ranges are checked here. */

void hiaG_verify_function(hia_verifier *v);
void hiaG_verify_section(hia_verifier *v);
void hiaG_verify_sites(hia_verifier *v); /* before the sections */

/* gradient.c: checks the GRAD nodes of a function graph, and the functions that they differentiate.
 * All nodes have been checked by themselves. */
void hiaG_verify_gradients(hia_verifier *v);

/* address.c: checks what PUT and TAKE get. All nodes and regions have been checked. */
void hiaG_verify_addresses(hia_verifier *v);

/* ---- fork.c ----
 * The callers notify it of every node and region of a function with forks, in
 * sequential order. `pred` is the value that decides a region; NONE: none does. */
typedef struct hia_open_fork {
  uint32_t number;
  hia_node_id node;     /* the FORK */
  hia_region_id region; /* the region it stands in */
} hia_open_fork;
typedef struct hia_fork_check {
  hia_verifier *v;
  hia_index numbers; /* of forks, to their nodes */
  HIA_VEC(hia_open_fork) open;
  hia_node_id stolen;   /* a STOLEN that was passed, and its join was not; or NONE */
  hia_node_id fork;     /* its FORK */
  hia_region_id branch; /* the THEN that it decides, once entered; or NONE */
} hia_fork_check;
bool hiaG_has_forks(const hia_fn *fn);
hia_fork_check hiaG_check_forks(hia_verifier *v);
void hiaG_fork_node(hia_fork_check *c, hia_node_id n);
void hiaG_fork_region(hia_fork_check *c, hia_region_id r, hia_value_id pred);
void hiaG_fork_region_end(hia_fork_check *c, hia_region_id r);

#endif
