/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Maps whose elements a function of its own computes, from one index up to another (ranges.c): what
 * `halve` and `each` share. */
#ifndef HIA_RANGES_H
#define HIA_RANGES_H

#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"

enum { HIA_RANGE_WORDS = 64 }; /* parameters, at most: those of a fork */

/* The maps of a function; all lists are in the scratch arena. */
typedef struct hia_ranges {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn;
  hia_subst subst;
  uint32_t n_maps;    /* of fn that were looked at */
  uint32_t *inside;   /* by region: the last of these maps that it was inside */
  hia_u32vec listed;  /* by value: the last of these maps that it was listed for */
  hia_u32vec outside; /* values from outside that the body of this map uses, but constants */
  hia_u32vec constants;
  hia_loc_id loc; /* of the calls: the map's, but without the calls that the map was inlined for.
                     The locations in the body have those */
  /* Returns the function for a map; NONE: it stays a map. */
  hia_fn_id (*make)(struct hia_ranges *h, hia_node_id map);
  void *user; /* of `make` */
} hia_ranges;

/* Calls make for each map of each function, also of those that were made, outer ones first, and
 * puts calls of the function in the places of maps. Runs hiaG_effects if there are some. */
void hiaG_ranges(hia_graph *g, hia_fn_id (*make)(hia_ranges *h, hia_node_id map), void *user);

/* ---- for make ---- */

/* Lists what the body of a map uses, and calls `visit` for each node of it. False: the map stays a
 * loop: it has effects, or uses too much. */
bool hiaG_range_look(hia_ranges *h, hia_node_id map, void (*visit)(hia_ranges *h, hia_node_id n));
/* Makes the function without its body. `kind`: a part of its name. Requires hiaG_range_look. */
hia_fn_id hiaG_range_function(hia_ranges *h, hia_node_id map, const char *kind);
/* Adds what fills one element, k, to the end of a region of it. */
void hiaG_range_element(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_node_id map,
                        hia_value_id k);
/* Adds a loop that fills the elements in order. Returns how many there are. */
hia_value_id hiaG_range_loop(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_node_id map);
/* Adds a call of the function for other elements. */
hia_value_id hiaG_range_call(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_fn_id each,
                             hia_value_id from, hia_value_id to);
static inline hia_value_id hiaG_range_op(hia_ranges *h, hia_fn *fn, hia_region_id region,
                                         unsigned op, hia_value_id a, hia_value_id b) {
  return hiaG_op(h->g, fn, region, op, (hia_value_id[]){a, b}, 2, HIA_NONE);
}
static inline hia_value_id hiaG_range_number(hia_ranges *h, hia_fn *fn, hia_region_id region,
                                             uint64_t value) {
  return hiaG_const(h->g, fn, region, HIA_I64, value, HIA_NONE);
}

#endif
