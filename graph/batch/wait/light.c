/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations that are computed where they stand, in activations that wait anyway.
 *
 *     %8:f32[64] = ..                       %8 = ..
 *     %9:bool[1] = defer "f segment 2" %8   %8' = force %8
 *     %9' = force %9                   ->   %9 = lt (row %8', 0), 0.5
 *     if %9' { .. }                         if %9 { .. }
 *
 * Rows of a segment share the elements of a matrix. Those of a segment without a product share no
 * more than a call, and to note a row costs as much. If control waits for the result, or has waited
 * for an operand, such a segment is one more wave to wait for, of few rows, since other activations
 * wait somewhere else. So there is none: control waits for the operands, and computes.
 *
 * An operation stays in its segment if a product is in it, too. */
#include "graph/batch/batcher.h"
#include "graph/batch/put.h"
#include "graph/ir/walk.h"

typedef struct lightening {
  hia_batcher *b;
  hia_fn_id f;
  const hia_fn *fn;
  const hia_batch_fn *of;
  bool *waits;           /* by edge: control waits for this operand, or for what it becomes */
  bool *is_awaited;      /* by value: control waits for it in the region that it is of */
  bool *is_heavy;        /* by node: a product is in its segment */
  bool *is_light;        /* by node: it is to be computed at once */
  hia_region_id *waited; /* by value: where control has waited for it; NONE: nowhere */
  bool is_changed;
} lightening;

static const hia_node *node_of(const lightening *l, hia_node_id n) { return &l->fn->nodes.data[n]; }

static bool is_deferred(const lightening *l, hia_node_id n) {
  return hiaG_is_deferred(l->b, l->f, n);
}

static void set(lightening *l, bool *flag) {
  if (!*flag) l->is_changed = *flag = true;
}

static bool is_inside(const lightening *l, hia_region_id r, hia_region_id of) {
  while (r && r != of) r = node_of(l, l->fn->regions.data[r].owner)->region;
  return r == of;
}

/* True if the value has its elements where node n stands. */
static bool is_there(const lightening *l, hia_node_id n, hia_value_id v) {
  hia_region_id r = l->waited[v];
  return l->is_light[l->fn->values.data[v].node] ||
         (r != HIA_NONE && is_inside(l, node_of(l, n)->region, r));
}

/* Returns the node that operand i is the result of, if it may be in a segment with node n; NONE: it
 * cannot be. */
static hia_node_id neighbour(const lightening *l, hia_node_id n, uint32_t i) {
  hia_value_id v = hiaG_in(l->fn, n, i);
  hia_node_id def = l->fn->values.data[v].node;
  bool is_here = node_of(l, def)->region == node_of(l, n)->region;
  return is_here && is_deferred(l, def) && !is_there(l, n, v) ? def : HIA_NONE;
}

static void note_waits(lightening *l, hia_node_id n) {
  for (uint32_t i = 0; i < node_of(l, n)->n_ins; i++) {
    hia_value_id v = hiaG_in(l->fn, n, i);
    bool waits = l->is_light[n] ? l->of->is_late[v] : l->waits[node_of(l, n)->ins + i];
    if (waits && !is_there(l, n, v)) l->waited[v] = node_of(l, n)->region;
  }
}

static void find_heavy(lightening *l, hia_node_id n) {
  if (!is_deferred(l, n)) return;
  if (l->of->is_heavy[n]) set(l, &l->is_heavy[n]);
  for (uint32_t i = 0; i < node_of(l, n)->n_ins; i++) {
    hia_node_id def = neighbour(l, n, i);
    if (def == HIA_NONE) continue;
    if (l->is_heavy[def]) set(l, &l->is_heavy[n]);
    if (l->is_heavy[n]) set(l, &l->is_heavy[def]);
  }
}

static void find_light(lightening *l, hia_node_id n) {
  for (uint32_t i = 0; i < node_of(l, n)->n_ins; i++) {
    hia_value_id v = hiaG_in(l->fn, n, i);
    hia_node_id def = neighbour(l, n, i);
    if (is_deferred(l, n) && !l->is_heavy[n] && l->of->is_late[v] && is_there(l, n, v))
      set(l, &l->is_light[n]);
    if (def != HIA_NONE && !l->is_heavy[def] &&
        (l->is_light[n] || l->waits[node_of(l, n)->ins + i]))
      set(l, &l->is_light[def]);
  }
}

/* Looks at all nodes again and again, until nothing changes. */
static void repeat(lightening *l, void (*look)(lightening *l, hia_node_id n)) {
  do {
    l->is_changed = false;
    memset(l->waited, 0xff, l->fn->values.len * sizeof *l->waited);
    for (hia_node_id n = l->fn->regions.data[0].first; n != HIA_NONE;
         n = hiaG_walk_next(l->fn, n)) {
      look(l, n);
      note_waits(l, n);
    }
  } while (l->is_changed);
}

/* True if control waits for operand i, or, of the end of an arm, for the result of the branch. */
static bool does_wait(const lightening *l, hia_node_id n, uint32_t i) {
  const hia_node *node = node_of(l, n);
  hia_node_id owner = l->fn->regions.data[node->region].owner;
  if (l->waits[node->ins + i] || hiaG_batch_waits(l->b, l->f, n, i)) return true;
  return node->op == HIA_OP_YIELD && owner != HIA_NONE && node_of(l, owner)->op == HIA_OP_IF &&
         l->is_awaited[node_of(l, owner)->outs + i];
}

static void look_for_waits(lightening *l, hia_node_id n) {
  const hia_node *node = node_of(l, n);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(l->fn, n, i);
    if (!does_wait(l, n, i)) continue;
    set(l, &l->waits[node->ins + i]);
    if (node_of(l, l->fn->values.data[v].node)->region == node->region) l->is_awaited[v] = true;
  }
}

/* Returns true if the function waits for something that it computes later. */
static bool find_waits(lightening *l) {
  bool has_waits = false, has_deferred = false;
  do {
    l->is_changed = false;
    HIA_EACH_NODE(l->fn, n) {
      has_deferred |= is_deferred(l, n);
      look_for_waits(l, n);
    }
    has_waits |= l->is_changed;
  } while (l->is_changed);
  return has_waits && has_deferred;
}

static bool change_function(hia_batcher *b, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  lightening l = {.b = b, .f = f, .fn = fn, .of = &b->fns[f]};
  bool is_changed = false;
  l.waits = HIA_NEW_ARRAY(b->arena, bool, fn->edges.len + 1);
  l.is_awaited = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  if (!find_waits(&l)) return false;
  l.is_heavy = HIA_NEW_ARRAY(b->arena, bool, fn->nodes.len + 1);
  l.is_light = HIA_NEW_ARRAY(b->arena, bool, fn->nodes.len + 1);
  l.waited = HIA_NEW_ARRAY(b->arena, hia_region_id, fn->values.len + 1);
  repeat(&l, find_heavy);
  repeat(&l, find_light);
  HIA_EACH_NODE(fn, n) {
    if (!l.is_light[n] || !hiaG_is_repeated(fn, n)) continue;
    l.of->can_lift[n] = false;
    is_changed = true;
  }
  return is_changed;
}

void hiaG_batch_light(hia_batcher *b) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= change_function(b, f);
  if (is_changed) hiaG_batch_find_late(b);
}
