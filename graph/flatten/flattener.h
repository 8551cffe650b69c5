/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Private to this folder: the walk over a function of the static graph, which flatten.c makes; the
 * other files have its parts.
 *
 *   flatten.c   the walk
 *   ahead.c     what the walk must know before it begins
 *   op.c, branch.c, loop.c   nodes of the graph, by kind
 *   reads.c     what a SET waits for
 *   add.c       nodes of the section, added
 *   slot.c      slots, and empty sections */
#ifndef HIA_FLATTENER_H
#define HIA_FLATTENER_H

#include "graph/flatten/section.h"

#define HIA_FLAT_NO_SOURCE HIA_NONE /* of values that are there when the frame is made */

/* A node that reads a slot which a SET changes later. */
typedef struct hia_flat_reading {
  uint32_t slot, node;
} hia_flat_reading;

typedef HIA_VEC(hia_flat_reading) hia_flat_readings;

/* An open region: where its nodes go. */
typedef struct hia_flat_context {
  hia_region_id region; /* of the graph */
  hia_flat_section *section;
  uint32_t local;          /* the region, in the section */
  uint32_t child;          /* the next of its inner regions: index into `order` */
  hia_flat_readings reads; /* by its nodes, and by branches in it */
  hia_flat_readings then;  /* by the side THEN of the branch of which ELSE comes next: join_reads */
} hia_flat_context;

typedef struct hia_flattener {
  hia_flat_image *image;
  hia_arena *scratch;
  hia_fn_id id;
  const hia_fn *fn;
  hia_region_id only_loop; /* HEAD, if the function is nothing but this loop; else NONE */
  HIA_VEC(hia_flat_context) open;

  uint32_t *slot, *source; /* by value, in its section */
  uint32_t *uses;          /* by value: how many operands refer to it */
  bool *is_set;            /* by value: a SET changes it, or a value that it becomes */
  bool has_sets;
  hia_node_id
      *next_field; /* by node: of a FIELD, the next one of the same value and region; or NONE */

  hia_region_id *order; /* inner regions of r: order[order_at[r]] up to order_at[r + 1] */
  uint32_t *order_at;
  hia_node_id *owned; /* in the same way: MERGEs of a THEN, EXITs of a HEAD */
  uint32_t *owned_at;
  uint32_t *owned_index;   /* by node, for these: index in `owned` */
  uint32_t *port;          /* of the MERGE at index i of `owned`: sources 2 i and 2 i + 1 */
  hia_flat_section **loop; /* by region: of a HEAD, its section */
  hia_u32vec *enters;      /* by region: of a HEAD, operands of its ENTERs */
  uint32_t *branch;        /* by region: of a THEN or ROUND, the SWITCH, once there is one */
  hia_u32vec *variables;   /* by region: of a HEAD, its MERGE_LOOPs */
  uint32_t *switches; /* by region: Switches and Merges of the graph that its node stands for */
} hia_flattener;

/* ---- slot.c ---- */

uint32_t hiaG_flat_new_slot(hia_flattener *f, hia_flat_section *s, uint32_t region, hia_type type);
uint32_t hiaG_flat_const_slot(hia_flattener *f, hia_flat_section *s, hia_word word);
hia_flat_section *hiaG_flat_new_section(hia_flattener *f, const char *name);

/* ---- add.c ---- */

/* Returns the innermost open region. */
hia_flat_context *hiaG_flat_here(hia_flattener *f);
hia_flat_node *hiaG_flat_add_node(hia_flattener *f, hia_image_kind kind, hia_loc_id loc);
uint32_t hiaG_flat_last_node(hia_flattener *f);
/* Notes that a node reads a slot. */
void hiaG_flat_add_read(hia_flattener *f, uint32_t slot, uint32_t node);
/* Adds a node. Its operands are given by slots and sources. Its results get slots when they are
 * known: hiaG_flat_put_result. */
uint32_t hiaG_flat_add(hia_flattener *f, hia_image_kind kind, const uint32_t *slots, uint32_t n_ins,
                       const uint32_t *sources, uint32_t n_sources, hia_loc_id loc);
/* Gives value v a slot of its own. */
void hiaG_flat_own_slot(hia_flattener *f, hia_value_id v, uint32_t region);
/* Makes value v the next result of the node that was added last. */
void hiaG_flat_put_result(hia_flattener *f, hia_value_id v);
void hiaG_flat_put_results(hia_flattener *f, const hia_node *n);
hia_flat_node *hiaG_flat_node_at(hia_flattener *f, uint32_t i);
/* Puts value v where another value is. */
void hiaG_flat_alias(hia_flattener *f, hia_value_id v, hia_value_id of);
/* Adds to the sources of a SET all that reads its array before, so that it can change the array in
 * place. A MOVE of the array waits for these, too, since it takes the array to where another SET
 * may change it. */
void hiaG_flat_wait_for_reads(hia_flattener *f, uint32_t slot, hia_u32vec *sources);

/* ---- op.c ---- */

void hiaG_flat_add_op(hia_flattener *f, const hia_node *n, hia_node_id id);
/* Adds one node for all reads of fields of one value in one region, at the first of them. */
void hiaG_flat_add_fields(hia_flattener *f, const hia_node *n, hia_node_id id);
/* A call of a function of the host is a call of a section. So it has the order of calls: within a
 * frame, all nodes that do not call fire first. */
void hiaG_flat_add_host(hia_flattener *f, const hia_node *n, hia_node_id id);
/* Adds the CALL for all Call_i and Return_i of a site, when the walk meets the first Call_i. */
void hiaG_flat_add_call(hia_flattener *f, const hia_node *n, hia_node_id id);
/* Notes an ELEMENT, which takes no part in firing. An index that is computed in the section may not
 * be there yet when a node fails; that of a loop is a variable. */
void hiaG_flat_add_element(hia_flattener *f, hia_node_id id);

/* ---- branch.c ---- */

/* Returns the node that decides the branch to which region r (THEN, ELSE, ROUND) belongs. */
uint32_t hiaG_flat_branch(hia_flattener *f, hia_region_id r);
/* Ends a side of a branch: its operands of the Merges are put into their slots. */
void hiaG_flat_end_side(hia_flattener *f, hia_region_id r);
/* Adds a JOIN that waits for the node of one side of a branch, whichever comes. */
uint32_t hiaG_flat_either(hia_flattener *f, uint32_t if_true, uint32_t if_false);
void hiaG_flat_add_merge(hia_flattener *f, const hia_node *n, hia_node_id id);

/* ---- reads.c ---- */

/* Adds a JOIN for each slot that the innermost open region reads and that SETs outside may change;
 * the last one waits for control alone. */
hia_flat_readings hiaG_flat_join_reads(hia_flattener *f);
/* Notes, behind a branch, that what its sides have read counts as read here. */
void hiaG_flat_join_sides(hia_flattener *f, const hia_flat_readings *then,
                          const hia_flat_readings *otherwise);

/* ---- loop.c ---- */

void hiaG_flat_add_enter(hia_flattener *f, const hia_node *n, hia_node_id id);
void hiaG_flat_add_loop_merge(hia_flattener *f, const hia_node *n, hia_node_id id);
void hiaG_flat_add_next(hia_flattener *f, const hia_node *n, hia_node_id id);
/* Adds the moves between rounds, which put the next value of each variable into its slot. */
void hiaG_flat_end_loop(hia_flattener *f, hia_region_id head);
void hiaG_flat_add_exit(hia_flattener *f, const hia_node *n, hia_node_id id);
/* Adds the loop as a CALL to the section that it stands in, when the walk reaches its HEAD. */
void hiaG_flat_begin_loop(hia_flattener *f, hia_region_id head);

/* ---- ahead.c ---- */

/* Orders the regions inside each region as the walk meets them; an empty one comes before others
 * that begin at the same node. */
void hiaG_flat_order_regions(hia_flattener *f);
/* Collects, by region, what the walk must know before it gets there. */
void hiaG_flat_look_ahead(hia_flattener *f);
/* Returns n numbers that are NONE. */
uint32_t *hiaG_flat_new_none(hia_flattener *f, uint32_t n);
/* Finds the values that a SET changes, in place perhaps, and those that become such values. */
void hiaG_flat_find_sets(hia_flattener *f);
/* Finds next_field. */
void hiaG_flat_find_fields(hia_flattener *f);
/* Returns the HEAD of the only loop of a function that passes its arguments to the loop and returns
 * the loop's exits; else NONE. */
hia_region_id hiaG_flat_only_loop(const hia_fn *fn);

#endif
