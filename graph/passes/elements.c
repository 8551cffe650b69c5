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
 * says no element, as with all resources.
 *
 * A graph that was read may have been here before: what has an `element` gets no second one, and a
 * location with a row of its comprehension keeps it. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"
#include "runtime/base/loc.h"

/* A comprehension that the walk is in. */
typedef struct comprehension {
  hia_node_id map, end; /* `end`: the node behind it */
  hia_loc_id row;       /* of its element; NONE: nothing that may fail was found in it so far */
  bool has_element;     /* its body has an `element` already */
} comprehension;

typedef struct elements {
  hia_graph *g;
  hia_fn *fn;
  HIA_VEC(comprehension) open; /* the outermost first */
  hia_u32vec rows;             /* of the location that is being copied, innermost first */
} elements;

static hia_loc_id element_row(elements *e, uint32_t i, hia_loc_id parent) {
  hia_loc map = e->g->locs.data[e->fn->nodes.data[e->open.data[i].map].loc];
  return hiaG_loc(e->g, map.line, map.col, HIA_LOC_ELEMENT, parent);
}

/* The location with a row for each of the first n open comprehensions, which have theirs already.
 * The row of one stands before the call that it was inlined for, if it was, else at the end. */
static hia_loc_id in_elements(elements *e, hia_loc_id loc, uint32_t n) {
  hia_graph *g = e->g;
  if (n == 0) return loc;
  const comprehension *inner = &e->open.data[n - 1];
  hia_loc_id outside = g->locs.data[e->fn->nodes.data[inner->map].loc].parent, at = inner->row;
  e->rows.len = 0;
  for (; loc != outside && loc != HIA_NONE; loc = g->locs.data[loc].parent)
    hiaR_push(&g->comp->scratch, &e->rows, loc);
  if (loc != outside) { /* it was not inlined for that call */
    at = HIA_NONE;
    for (uint32_t i = 0; i < n; i++) at = element_row(e, i, at);
  }
  while (e->rows.len) {
    hia_loc row = g->locs.data[e->rows.data[--e->rows.len]];
    at = hiaG_loc(g, row.line, row.col, row.fn, at);
  }
  return at;
}

/* Something in the open comprehensions may fail: marks those that were not marked yet. */
static void mark_open(elements *e) {
  hia_fn *fn = e->fn;
  for (uint32_t i = 0; i < e->open.len; i++) {
    comprehension *c = &e->open.data[i];
    if (c->row != HIA_NONE) continue;
    hia_loc_id of_map = fn->nodes.data[c->map].loc;
    hia_loc_id parent = in_elements(e, e->g->locs.data[of_map].parent, i);
    c->row = element_row(e, i, parent);
    if (c->has_element) continue;
    hia_node_id arg = fn->regions.data[fn->nodes.data[c->map].regions].first;
    hia_value_id k = hiaG_out(fn, arg, 0);
    hiaG_insert(e->g, fn, fn->nodes.data[arg].next, HIA_OP_ELEMENT, &k, 1, NULL, 0, 0, of_map);
  }
}

/* True if the body of the map was marked before the graph was written and read. */
static bool has_element(const hia_fn *fn, hia_node_id map) {
  hia_node_id arg = fn->regions.data[fn->nodes.data[map].regions].first;
  return fn->nodes.data[fn->nodes.data[arg].next].op == HIA_OP_ELEMENT;
}

/* True if the location has a row of the innermost open comprehension. */
static bool has_row(const elements *e, hia_loc_id at) {
  const hia_loc *locs = e->g->locs.data, *row;
  const comprehension *inner = &e->open.data[e->open.len - 1];
  hia_loc map = locs[e->fn->nodes.data[inner->map].loc];
  for (; inner->has_element && at != HIA_NONE && at != map.parent; at = row->parent) {
    row = &locs[at];
    if (row->fn == HIA_LOC_ELEMENT && row->line == map.line && row->col == map.col) return true;
  }
  return false;
}

static void mark_function(hia_graph *g, hia_fn *fn) {
  elements e = {.g = g, .fn = fn};
  HIA_EACH_NODE(fn, n) {
    while (e.open.len && e.open.data[e.open.len - 1].end == n) e.open.len--;
    hia_loc_id loc = fn->nodes.data[n].loc;
    bool may_fail = loc != HIA_NONE && hiaG_own_effects(g, fn, n) & HIA_E_RAISES;
    if (e.open.len && may_fail && !has_row(&e, loc)) {
      mark_open(&e);
      fn->nodes.data[n].loc = in_elements(&e, loc, e.open.len);
    }
    if (fn->nodes.data[n].op == HIA_OP_MAP && loc != HIA_NONE)
      hiaR_push(&g->comp->scratch, &e.open,
                (comprehension){n, hiaG_walk_over(fn, n), HIA_NONE, has_element(fn, n)});
  }
}

void hiaG_elements(hia_graph *g) {
  hiaG_effects(g);
  HIA_EACH_FN(g, f) {
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
