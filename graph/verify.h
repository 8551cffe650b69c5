/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the files of the verifier share. */
#ifndef HIA_VERIFY_H
#define HIA_VERIFY_H

#include "graph/graph.h"

/* One run. The first defect that is found is noted and ends it. */
typedef struct hia_verifier {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn; /* that is looked at; NULL: the graph */
  hia_fn_id fn_id;
  hia_defect *defect;
  jmp_buf stop;
} hia_verifier;

_Noreturn void hiaG_defect(hia_verifier *v, hia_node_id node, const char *fmt, ...)
    HIA_PRINTF(3, 4);

/* verify_fn.c, verify_static.c: one function in its state. Whatever the indices of nodes, values
 * and edges refer to is there (verify.c has looked); regions and their lists or ranges are to be
 * checked. */
void hiaG_verify_function(hia_verifier *v);
void hiaG_verify_section(hia_verifier *v);
void hiaG_verify_sites(hia_verifier *v); /* before the sections */

/* verify_fork.c: to be told of every node and region of a function with forks, in sequential order;
 * a region with what decides it, NONE for those that nothing does. */
typedef struct hia_open_fork {
  uint32_t number;
  hia_node_id node;     /* the FORK */
  hia_region_id region; /* that it stands in */
} hia_open_fork;
typedef struct hia_fork_check {
  hia_verifier *v;
  hia_index numbers; /* of forks, to their nodes */
  HIA_VEC(hia_open_fork) open;
  hia_node_id stolen;   /* passed, and its join not yet; or NONE */
  hia_node_id fork;     /* of that one */
  hia_region_id branch; /* that it decides, once entered; or NONE */
} hia_fork_check;
bool hiaG_has_forks(const hia_fn *fn);
hia_fork_check hiaG_check_forks(hia_verifier *v);
void hiaG_fork_node(hia_fork_check *c, hia_node_id n);
void hiaG_fork_region(hia_fork_check *c, hia_region_id r, hia_value_id pred);
void hiaG_fork_region_end(hia_fork_check *c, hia_region_id r);

/* verify.c: dtypes of operands and results of a node whose rule is not CONTROL; and of one whose
 * results have the types of its operands one by one. */
void hiaG_expect_type(hia_verifier *v, hia_node_id node, const char *what, uint32_t i, hia_dtype is,
                      hia_dtype wanted);

#endif
