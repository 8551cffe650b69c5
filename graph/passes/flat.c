/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* flat: what a call adds to a sum, and what is added behind it, become one object.
 *
 *     o = data Outer x, y
 *     b = data Both o, first          c = data OuterThen x, y, first, second
 *     c = data Both b, second
 *
 * A backward pass makes such sums in each call, of each weight (runtime/base/sums.h): in a tree,
 * first and second are what the children add. Each object is made, met when the sum is collected,
 * and freed, at an address that nothing could know before. In a small network that took an eighth
 * of a step. What is added, and its order, stay.
 *
 * Functions that fork calls stay as they are. With one object the step of a training on one large
 * tree took twice as long on two threads: thieves found hundreds of times as many calls, each of a
 * few nodes, and each made the worker compute what was pending (`bench batch --only threads`).
 *
 * Requires that a sum which nothing uses was removed (dce); keeps everything but the numbering. It
 * comes behind all passes that look at sums. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct flattening {
  hia_graph *g;
  hia_fn *fn;
  uint32_t *uses; /* by value */
} flattening;

/* The node that makes a sum with this constructor, for a node of the same region alone; NONE: it
 * does not. */
static hia_node_id made_for(const flattening *x, hia_node_id n, hia_value_id v, uint32_t ctor) {
  hia_node_id def = x->fn->values.data[v].node;
  const hia_node *node = &x->fn->nodes.data[def];
  bool is_it = node->op == HIA_OP_DATA && node->imm == ctor && x->uses[v] == 1 &&
               node->region == x->fn->nodes.data[n].region;
  return is_it ? def : HIA_NONE;
}

/* The node that makes what is added itself; NONE: it is no tensor and no outer product, or needed
 * elsewhere. */
static hia_node_id own_part(const flattening *x, hia_node_id n, hia_value_id v) {
  static const hia_sum_ctor own[] = {HIA_SUM_DENSE, HIA_SUM_OUTER, HIA_SUM_PAIR};
  uint32_t n_own = hiaG_rank_of_sum(x->g->types, hiaG_type(x->fn, v)) > 1 ? HIA_LEN(own) : 1;
  hia_node_id made = HIA_NONE;
  for (uint32_t i = 0; i < n_own && made == HIA_NONE; i++) made = made_for(x, n, v, own[i]);
  return made;
}

/* The constructor that also has what comes behind. */
static hia_sum_ctor with_then(uint64_t ctor) {
  return ctor == HIA_SUM_DENSE   ? HIA_SUM_DENSE_THEN
         : ctor == HIA_SUM_OUTER ? HIA_SUM_OUTER_THEN
                                 : HIA_SUM_PAIR_THEN;
}

/* What a BOTH adds: its own part, and what comes behind that, up to two sums. */
typedef struct parts {
  hia_node_id own, between; /* `between`: another BOTH; NONE: there is none */
  hia_value_id then[2];
  uint32_t n_then;
} parts;

static bool find_parts(const flattening *x, hia_node_id n, parts *p) {
  hia_value_id a = hiaG_in(x->fn, n, 0), b = hiaG_in(x->fn, n, 1);
  *p = (parts){.between = HIA_NONE};
  if ((p->own = own_part(x, n, a)) != HIA_NONE) {
    p->then[p->n_then++] = b;
    return true;
  }
  p->between = made_for(x, n, a, HIA_SUM_BOTH);
  if (p->between == HIA_NONE) return false;
  p->own = own_part(x, n, hiaG_in(x->fn, p->between, 0));
  p->then[p->n_then++] = hiaG_in(x->fn, p->between, 1);
  p->then[p->n_then++] = b;
  return p->own != HIA_NONE;
}

static void flatten(flattening *x, hia_node_id n) {
  parts p;
  hia_value_id ins[5];
  uint32_t n_ins = 0;
  const hia_type type = hiaG_type(x->fn, x->fn->nodes.data[n].outs);
  if (!find_parts(x, n, &p)) return;
  hia_sum_ctor ctor = with_then(x->fn->nodes.data[p.own].imm);
  for (uint32_t i = 0; i < x->fn->nodes.data[p.own].n_ins; i++)
    ins[n_ins++] = hiaG_in(x->fn, p.own, i);
  for (uint32_t i = 0; i < p.n_then; i++) ins[n_ins++] = p.then[i];
  if (p.n_then == 1) {
    hia_node_id nothing = hiaG_insert(x->g, x->fn, n, HIA_OP_CONST, NULL, 0, &type, 1,
                                      HIA_SUM_NOTHING, x->fn->nodes.data[n].loc);
    ins[n_ins++] = hiaG_out(x->fn, nothing, 0);
  }
  hiaG_set_ins(x->g, x->fn, n, ins, n_ins);
  x->fn->nodes.data[n].imm = ctor;
  hiaG_remove(x->fn, p.own);
  if (p.between != HIA_NONE) hiaG_remove(x->fn, p.between);
}

static bool is_both(const flattening *x, hia_node_id n) {
  const hia_node *node = &x->fn->nodes.data[n];
  return node->op == HIA_OP_DATA && node->imm == HIA_SUM_BOTH &&
         hiaG_is_sum(x->g->types, hiaG_type(x->fn, node->outs));
}

void hiaG_flat(hia_graph *g, hia_fn *fn) {
  flattening x = {g, fn, HIA_NEW_ARRAY(&g->comp->scratch, uint32_t, fn->values.len + 1)};
  hia_u32vec all = {0};
  HIA_EACH_NODE(fn, n) {
    if (fn->nodes.data[n].op == HIA_OP_FORK) return;
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) x.uses[hiaG_in(fn, n, i)]++;
    if (is_both(&x, n)) hiaR_push(&g->comp->scratch, &all, n);
  }
  if (!all.len) return;
  /* From the last one on: a BOTH of a BOTH has its part, too. */
  for (uint32_t i = all.len; i-- > 0;)
    if (!(fn->nodes.data[all.data[i]].flags & HIA_NODE_DEAD)) flatten(&x, all.data[i]);
  hiaG_compact(g, fn);
}
