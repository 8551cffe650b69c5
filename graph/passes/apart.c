/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* apart: sums that other workers may collect. A gradient with respect to several params ends with
 * as many sums, each of which may take as long as a third of the backward pass. They do not depend
 * on each other. So each that becomes a matrix, or more, is collected by a function of its own, of
 * which pass fork forks all calls but the first:
 *
 *     %a = force %x                     %a = force %x
 *     %g = collect %a, %w               %b = force %y
 *     %b = force %y             ->      %g = call "f apart 1" %a, %w
 *     %h = collect %b, %v               %h = call "f apart 2" %b, %v
 *
 * What waits for pending tensors comes first, since thieves cannot wait for those of another
 * worker. The calls are none of the source: they are in no backtrace, and are not counted.
 *
 * Requires hiaG_effects, and runs it again; comes before fork. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct parting {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn;
  hia_subst subst;
  uint32_t n_made;   /* functions */
  hia_u32vec sums;   /* the nodes of a region that collect */
  hia_u32vec forces; /* the nodes before them that wait */
} parting;

/* What a FORCE waits for. */
static hia_value_id behind(const hia_fn *fn, hia_value_id v) {
  const hia_node *def = hiaG_def(fn, v);
  return def->op == HIA_OP_FORCE ? fn->edges.data[def->ins] : v;
}

/* The node that finds the rows that a COLLECT_ROWS collects, if it is of the same sum and tensor.
 */
static hia_node_id rows_of(const hia_fn *fn, hia_node_id n) {
  hia_node_id def = fn->values.data[hiaG_in(fn, n, 1)].node;
  bool is_same = fn->nodes.data[def].op == HIA_OP_TOUCHED &&
                 fn->nodes.data[def].region == fn->nodes.data[n].region &&
                 behind(fn, hiaG_in(fn, def, 0)) == behind(fn, hiaG_in(fn, n, 0)) &&
                 behind(fn, hiaG_in(fn, def, 1)) == behind(fn, hiaG_in(fn, n, 2));
  return is_same ? def : HIA_NONE;
}

static bool is_large(const parting *p, hia_node_id n) {
  unsigned op = p->fn->nodes.data[n].op;
  if (op != HIA_OP_COLLECT && op != HIA_OP_COLLECT_ROWS) return false;
  if (hiaG_rank(p->g->types, hiaG_type(p->fn, hiaG_out(p->fn, n, 0))) < 2) return false;
  return op == HIA_OP_COLLECT || rows_of(p->fn, n) != HIA_NONE;
}

/* ---- the function of a sum ---- */

static hia_fn_id make(parting *p, hia_node_id n, hia_node_id rows, hia_loc_id loc) {
  hia_graph *g = p->g;
  hia_fn *from = p->fn;
  hia_value_id first = hiaG_in(from, n, 0);
  hia_value_id last = hiaG_in(from, n, from->nodes.data[n].n_ins - 1);
  hia_type params[2] = {hiaG_type(from, first), hiaG_type(from, last)}, results[2];
  uint32_t n_results = 0;
  if (rows != HIA_NONE) results[n_results++] = hiaG_type(from, hiaG_out(from, rows, 0));
  results[n_results++] = hiaG_type(from, hiaG_out(from, n, 0));
  const char *suffix = hiaR_arena_printf(p->scratch, " apart %u", ++p->n_made);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, from->name, suffix), from->source, from->loc,
                             params, 2, results, n_results);
  hia_fn *fn = hiaG_fn(g, id);
  fn->is_apart = true;
  hia_value_id ins[3] = {0, 1}, outs[2];
  uint32_t n_ins = 2, n_outs = 0;
  if (rows != HIA_NONE) {
    hia_node_id touched = hiaG_add(g, fn, 0, HIA_OP_TOUCHED, ins, 2, results, 1,
                                   from->nodes.data[rows].imm, from->nodes.data[rows].loc);
    ins[1] = outs[n_outs++] = hiaG_out(fn, touched, 0);
    ins[n_ins++] = 1;
  }
  hia_node_id copy = hiaG_add(g, fn, 0, from->nodes.data[n].op, ins, n_ins, &results[n_outs], 1,
                              from->nodes.data[n].imm, loc);
  outs[n_outs++] = hiaG_out(fn, copy, 0);
  hiaG_yield(g, fn, 0, outs, n_outs);
  return id;
}

/* A call stands where the sum was collected. */
static void replace(parting *p, hia_node_id n) {
  hia_graph *g = p->g;
  hia_fn *fn = p->fn;
  hia_node_id rows = fn->nodes.data[n].op == HIA_OP_COLLECT_ROWS ? rows_of(fn, n) : HIA_NONE;
  hia_loc_id loc = fn->nodes.data[n].loc;
  const hia_loc at = loc == HIA_NONE ? (hia_loc){0} : g->locs.data[loc];
  hia_node_id first = rows != HIA_NONE ? rows : n;
  hia_value_id ins[2] = {hiaG_in(fn, first, 0), hiaG_in(fn, first, 1)};
  hia_fn_id id = make(p, n, rows, loc);
  const hia_fn *callee = hiaG_fn(g, id);
  hia_node_id call = hiaG_insert(g, fn, first, HIA_OP_CALL, ins, 2, callee->results,
                                 callee->n_results, id, HIA_NONE);
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  fn->nodes.data[call].loc =
      loc == HIA_NONE ? HIA_NONE : hiaG_loc(g, at.line, at.col, at.fn, HIA_NONE);
  uint32_t out = 0;
  if (rows != HIA_NONE) {
    hiaG_replace(&p->subst, hiaG_out(fn, rows, 0), hiaG_out(fn, call, out++));
    hiaG_remove(fn, rows);
  }
  hiaG_replace(&p->subst, hiaG_out(fn, n, 0), hiaG_out(fn, call, out));
  hiaG_remove(fn, n);
}

/* ---- which sums ---- */

/* Moves a FORCE before a node, if what it waits for is there already. */
static void move(parting *p, hia_node_id n, hia_node_id before) {
  hia_fn *fn = p->fn;
  hia_value_id x = hiaG_in(fn, n, 0);
  hia_type type = hiaG_type(fn, x);
  hia_node_id copy = hiaG_insert(p->g, fn, before, HIA_OP_FORCE, &x, 1, &type, 1,
                                 fn->nodes.data[n].imm, fn->nodes.data[n].loc);
  hiaG_replace(&p->subst, hiaG_out(fn, n, 0), hiaG_out(fn, copy, 0));
  hiaG_remove(fn, n);
}

/* Lists what follows the first sum of a region in a row, but for nodes that can be moved. */
static void list(parting *p, hia_region_id r, bool *is_met) {
  const hia_fn *fn = p->fn;
  p->sums.len = p->forces.len = 0;
  HIA_EACH_IN(fn, r, n) {
    unsigned op = fn->nodes.data[n].op;
    if (is_large(p, n)) {
      hiaR_push(p->scratch, &p->sums, n);
    } else if (op == HIA_OP_FORCE && p->sums.len) {
      /* of what was there before the first */
      if (!is_met[fn->values.data[hiaG_in(fn, n, 0)].node]) hiaR_push(p->scratch, &p->forces, n);
    }
    if (p->sums.len) is_met[n] = true;
  }
}

static bool part(hia_graph *g, hia_fn *fn) {
  parting p = {.g = g, .scratch = &g->comp->scratch, .fn = fn, .subst = hiaG_subst(g, fn)};
  uint32_t n_regions = fn->regions.len;
  bool is_changed = false, *is_met = HIA_NEW_ARRAY(p.scratch, bool, fn->nodes.len);
  for (hia_region_id r = 0; r < n_regions; r++) {
    list(&p, r, is_met);
    if (p.sums.len < 2) continue;
    hia_node_id first = p.sums.data[0];
    if (fn->nodes.data[first].op == HIA_OP_COLLECT_ROWS) first = rows_of(fn, first);
    for (uint32_t i = 0; i < p.forces.len; i++) move(&p, p.forces.data[i], first);
    for (uint32_t i = 0; i < p.sums.len; i++) {
      hiaG_rewrite_ins(&p.subst, fn, p.sums.data[i]);
      if (fn->nodes.data[p.sums.data[i]].op == HIA_OP_COLLECT_ROWS)
        hiaG_rewrite_ins(&p.subst, fn, rows_of(fn, p.sums.data[i]));
      replace(&p, p.sums.data[i]);
    }
    is_changed = true;
  }
  if (!is_changed) return false;
  HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&p.subst, fn, n);
  hiaG_compact(g, fn);
  return true;
}

void hiaG_apart(hia_graph *g) {
  bool is_changed = false;
  uint32_t n = g->fns.len;
  HIA_EACH_FN_BELOW(g, n, f) {
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    is_changed |= part(g, hiaG_fn(g, f));
    hiaR_arena_release(&g->comp->scratch, mark);
  }
  if (is_changed) hiaG_effects(g);
}
