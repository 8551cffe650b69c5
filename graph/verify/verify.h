/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the files of the verifier share. */
#ifndef HIA_VERIFY_H
#define HIA_VERIFY_H

#include "graph/ir/graph.h"

/* One run of the verifier. The first defect found is recorded, and ends the run. */
typedef struct hia_verifier {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn; /* being verified; NULL: the graph itself */
  hia_fn_id fn_id;
  hia_defect *defect;
  jmp_buf stop;
} hia_verifier;

_Noreturn void hiaG_defect(hia_verifier *v, hia_node_id node, const char *fmt, ...)
    HIA_PRINTF(3, 4);

/* fn.c, static.c: verify one function in its state. verify.c has already checked that
 * the indices of nodes, values and edges are in range; regions and their lists or ranges are
 * checked here. */
void hiaG_verify_function(hia_verifier *v);
void hiaG_verify_section(hia_verifier *v);
void hiaG_verify_sites(hia_verifier *v); /* before the sections */

/* gradient.c: the GRAD nodes of a function graph, and the functions that they differentiate.
 * All nodes have been checked by themselves. */
void hiaG_verify_gradients(hia_verifier *v);

/* address.c: what PUT and TAKE get. All nodes and regions have been checked. */
void hiaG_verify_addresses(hia_verifier *v);

/* fork.c: the callers notify it of every node and region of a function with forks, in
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

/* verify.c: reports a defect unless operand or result i (`what`) of the node has the dtype
 * `wanted`.
 */
void hiaG_expect_type(hia_verifier *v, hia_node_id node, const char *what, uint32_t i, hia_type is,
                      hia_type wanted);

#endif
