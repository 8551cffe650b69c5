/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Points of a program where something can be seen of its runs, and assumed of them.
 *
 * What a root is given is seen where it is called (jit/versions/speculate.h). What happens inside a
 * run is seen at *points*: the parameters of functions, the conditions of branches, the rounds of
 * loops. They are numbered in the graph as it was built, before any pass, where they are those of
 * the source; the same program has the same points each time that its graph is built.
 *
 * An image in which each point has an OBSERVE shows what comes there (runtime/run/observer.h). A
 * version takes it for granted that this stays so: a condition is always true, so that one arm is
 * not there; a parameter is a number; a loop has so many rounds, which then stand one behind the
 * other. In the place of what is left out there is a GUARD, which ends the run: it begins again in
 * the general version. */
#ifndef HIA_POINTS_H
#define HIA_POINTS_H

#include "graph/ir/graph.h"

typedef enum hia_point_kind {
  HIA_POINT_PARAM,  /* a parameter: its value, the constructor, the sizes, the length */
  HIA_POINT_BRANCH, /* the condition of an `if`, or of an arm of a `match` */
  HIA_POINT_ROUNDS, /* of a loop, one number each time that it ends */
} hia_point_kind;

typedef struct hia_point {
  hia_point_kind kind;
  hia_fn_id fn;
  hia_node_id node; /* the ARG, IF or LOOP */
  hia_type type;    /* of what is seen there */
} hia_point;

/* What is assumed at a point: the value is always this one. */
typedef struct hia_fact {
  uint32_t point;
  hia_word word; /* of an integer or a bool */
} hia_fact;

/* The points of a graph that has just been built, which lie in its arena; none of them where it has
 * gradients. Returns how many there are. */
uint32_t hiaG_points(hia_graph *g, hia_point **points);

/* Puts an OBSERVE at each of these, and one of no point, NONE, into the rounds of loops. */
void hiaG_observe(hia_graph *g, const hia_point *points, uint32_t n);

/* Assumes facts, in the order of their points, which are those of the graph. used[i]: fact i is of
 * use, and has GUARDs with the number i; the others are left out. `all`: those of no use are
 * assumed, too. Returns how many are. */
uint32_t hiaG_suppose(hia_graph *g, const hia_point *points, const hia_fact *facts, uint32_t n,
                      bool all, bool *used);

#endif
