/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The points of a graph, and graphs that observe what comes there. */
#include "graph/assume/points.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* ---- points ---- */

static bool is_seen(const hia_node *node) {
  if (node->op == HIA_OP_LOOP) return !(node->flags & HIA_NODE_FREE);
  return node->op == HIA_OP_IF || (node->op == HIA_OP_ARG && node->region == 0);
}

static hia_point point_at(const hia_fn *fn, hia_fn_id f, hia_node_id n) {
  switch (fn->nodes.data[n].op) {
  case HIA_OP_ARG: return (hia_point){HIA_POINT_PARAM, f, n, hiaG_type(fn, hiaG_out(fn, n, 0))};
  case HIA_OP_IF: return (hia_point){HIA_POINT_BRANCH, f, n, HIA_BOOL};
  default: return (hia_point){HIA_POINT_ROUNDS, f, n, HIA_I64};
  }
}

uint32_t hiaG_points(hia_graph *g, hia_point **points) {
  HIA_VEC(hia_point) all = {0};
  *points = NULL;
  if (hiaG_has_gradients(g)) return 0;
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n)
      if (is_seen(&fn->nodes.data[n])) hiaR_push(&g->comp->arena, &all, point_at(fn, f, n));
  }
  *points = all.data;
  return all.len;
}

/* ---- observing ---- */

static void observe(hia_graph *g, hia_fn *fn, hia_node_id at, hia_value_id v, uint32_t point) {
  hiaG_insert(g, fn, at, HIA_OP_OBSERVE, &v, 1, NULL, 0, point, fn->nodes.data[at].loc);
}

/* Adds an operand behind the others. */
static void add_in(hia_graph *g, hia_fn *fn, hia_node_id n, hia_value_id v) {
  hia_arena *scratch = &g->comp->scratch;
  hia_u32vec ins = {0};
  for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++)
    hiaR_push(scratch, &ins, hiaG_in(fn, n, i));
  hiaR_push(scratch, &ins, v);
  hiaG_set_ins(g, fn, n, ins.data, ins.len);
}

/* What took the place of values, in all functions' walks one after the other. */
typedef struct replaced {
  hia_value_id old, new;
  uint32_t n;
} replaced;

/* Gives the loop a last variable, which counts its rounds, and a last result. Returns the latter;
 * the others are new values, too. */
static hia_value_id count_rounds(hia_graph *g, hia_fn *fn, hia_node_id loop, replaced *by) {
  hia_arena *scratch = &g->comp->scratch;
  hia_type type = HIA_I64;
  const hia_node old = fn->nodes.data[loop];
  hia_region_id head = old.regions;
  hia_node_id zero = hiaG_insert(g, fn, loop, HIA_OP_CONST, NULL, 0, &type, 1, 0, old.loc);
  add_in(g, fn, loop, hiaG_out(fn, zero, 0));
  hia_node_id at = hiaG_behind_args(fn, head);
  hia_node_id arg = hiaG_insert(g, fn, at, HIA_OP_ARG, NULL, 0, &type, 1, old.n_ins, old.loc);
  hia_value_id count = hiaG_out(fn, arg, 0);
  add_in(g, fn, hiaG_yield_of(fn, head), count);
  hia_node_id end = hiaG_yield_of(fn, head + 1);
  hia_node_id one = hiaG_insert(g, fn, end, HIA_OP_CONST, NULL, 0, &type, 1, 1, old.loc);
  hia_value_id sum[2] = {count, hiaG_out(fn, one, 0)};
  hia_node_id next = hiaG_insert(g, fn, end, HIA_OP_ADD, sum, 2, &type, 1, 0, old.loc);
  add_in(g, fn, end, hiaG_out(fn, next, 0));
  observe(g, fn, end, count, HIA_NONE); /* a long loop has nothing else that looks at the clock */
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < old.n_outs; i++) hiaR_push(scratch, &types, hiaG_type(fn, old.outs + i));
  hiaR_push(scratch, &types, HIA_I64);
  hiaG_set_outs(g, fn, loop, types.data, types.len);
  *by = (replaced){old.outs, hiaG_out(fn, loop, 0), old.n_outs};
  return hiaG_out(fn, loop, old.n_outs);
}

static void observe_in(hia_graph *g, hia_fn *fn, const hia_point *points, uint32_t first,
                       uint32_t end) {
  hia_arena *scratch = &g->comp->scratch;
  HIA_VEC(replaced) all = {0};
  for (uint32_t i = first; i < end; i++) {
    hia_node_id n = points[i].node;
    replaced by = {0};
    switch (points[i].kind) {
    case HIA_POINT_PARAM: observe(g, fn, hiaG_behind_args(fn, 0), hiaG_out(fn, n, 0), i); break;
    case HIA_POINT_BRANCH: observe(g, fn, n, hiaG_in(fn, n, 0), i); break;
    case HIA_POINT_ROUNDS: {
      hia_value_id rounds = count_rounds(g, fn, n, &by);
      observe(g, fn, fn->nodes.data[n].next, rounds, i);
      hiaR_push(scratch, &all, by);
    }
    }
  }
  hia_value_id *map = HIA_NEW_ARRAY(scratch, hia_value_id, fn->values.len + 1);
  memset(map, 0xff, fn->values.len * sizeof *map);
  for (uint32_t i = 0; i < all.len; i++)
    for (uint32_t k = 0; k < all.data[i].n; k++) map[all.data[i].old + k] = all.data[i].new + k;
  hiaG_substitute(fn, map);
  hiaG_compact(g, fn);
}

void hiaG_observe(hia_graph *g, const hia_point *points, uint32_t n) {
  for (uint32_t i = 0, end; i < n; i = end) {
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    for (end = i; end < n && points[end].fn == points[i].fn; end++) {
    }
    observe_in(g, hiaG_fn(g, points[i].fn), points, i, end);
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}
