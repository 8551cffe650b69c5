/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* elements: a failure says for which element of a comprehension it happened.
 *
 *     %a = map %n {            %a = map %n {
 *       %k = arg 0               %k = arg 0
 *       %x = call f %k !1:9      element %k
 *       yield %x                 %x = call f %k !1        !0 = [] 1:8
 *     }                          yield %x                 !1 = main 1:9 in !0
 *                              }
 *
 * The location of an operation that may fail gets a row for each comprehension that it is in, as
 * its parent (base/loc.h), so inlining takes it along. An `element` node says which element is
 * computed from there to the end of its region. One would put the index into the operations that
 * fail. But a call that fails further down is no such operation, and every pass would have to know
 * the operand. So an engine keeps the indices apart: where a run has failed, the `element`s that
 * are in force, innermost first, are those of the rows in its backtrace, in their order.
 *
 * That holds as long as whatever has such a row stays behind an `element`, in the same region or
 * in one inside it. Passes keep it without knowing, since what may fail is not moved out of loops.
 *
 * Runs hiaG_effects; keeps everything. Comes behind what makes operations that may fail, and before
 * what inlines and before maps become loops. What uses up fuel is none of them: out of fuel, a run
 * says no element, as with all resources. What has an `element` already, in a graph that was read,
 * is left as it is. */
#include "graph/graph.h"
#include "runtime/base/loc.h"

typedef struct elements {
  hia_graph *g;
  hia_fn *fn;
  hia_loc_id *rows; /* those of a location, innermost first, while it is copied */
  uint32_t n_rows, most_rows;
} elements;

/* The location `loc` with an element of the comprehension at `of` around it: before the call that
 * the comprehension was inlined for, if it was, else at the end. */
static hia_loc_id in_element(elements *e, hia_loc_id loc, hia_loc_id of) {
  hia_graph *g = e->g;
  hia_loc_id outside = g->locs.data[of].parent;
  e->n_rows = 0;
  for (; loc != outside && loc != HIA_NONE; loc = g->locs.data[loc].parent) {
    if (e->n_rows == e->most_rows) {
      uint32_t most = 2 * e->most_rows + 8;
      hia_loc_id *rows = HIA_NEW_ARRAY(&g->comp->scratch, hia_loc_id, most);
      if (e->n_rows) memcpy(rows, e->rows, e->n_rows * sizeof *rows);
      e->rows = rows;
      e->most_rows = most;
    }
    e->rows[e->n_rows++] = loc;
  }
  hia_loc map = g->locs.data[of];
  hia_loc_id at = hiaG_loc(g, map.line, map.col, HIA_LOC_ELEMENT, loc);
  while (e->n_rows) {
    hia_loc row = g->locs.data[e->rows[--e->n_rows]];
    at = hiaG_loc(g, row.line, row.col, row.fn, at);
  }
  return at;
}

/* Marks one map, if computing an element may fail. */
static void mark(elements *e, hia_node_id map) {
  hia_fn *fn = e->fn;
  hia_loc_id of = fn->nodes.data[map].loc;
  hia_node_id arg = fn->regions.data[fn->nodes.data[map].regions].first;
  hia_node_id first = fn->nodes.data[arg].next, end = hiaG_walk_over(fn, map);
  if (of == HIA_NONE || fn->nodes.data[first].op == HIA_OP_ELEMENT) return;
  bool may_fail = false;
  for (hia_node_id n = first; n != end; n = hiaG_walk_next(fn, n)) {
    hia_loc_id loc = fn->nodes.data[n].loc;
    if (loc == HIA_NONE || !(hiaG_own_effects(e->g, fn, n) & HIA_E_RAISES)) continue;
    fn->nodes.data[n].loc = in_element(e, loc, of);
    may_fail = true;
  }
  if (!may_fail) return;
  hia_value_id k = hiaG_out(fn, arg, 0);
  hiaG_insert(e->g, fn, first, HIA_OP_ELEMENT, &k, 1, NULL, 0, 0, of);
}

static void mark_function(hia_graph *g, hia_fn *fn) {
  elements e = {.g = g, .fn = fn};
  hia_u32vec maps = {0};
  HIA_EACH_NODE(fn, n) {
    if (fn->nodes.data[n].op == HIA_OP_MAP) hiaR_push(&g->comp->scratch, &maps, n);
  }
  /* Inner ones first: their rows are further in. */
  while (maps.len) mark(&e, maps.data[--maps.len]);
}

void hiaG_elements(hia_graph *g) {
  hiaG_effects(g);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    if (hiaG_fn(g, f)->is_removed) continue;
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    mark_function(g, hiaG_fn(g, f));
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}

bool hiaG_element_matters(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  for (n = fn->nodes.data[n].next; n != HIA_NONE; n = fn->nodes.data[n].next)
    if (hiaG_node_does(g, fn, n, HIA_E_RAISES)) return true;
  return false;
}
