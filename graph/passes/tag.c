/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tag: the tagging transformation, from function graphs to the one static graph.
 *
 * Each function becomes a section: a flat list of nodes in which every value that crosses into a
 * branch passes a Switch, into a loop an Enter, out of them a Merge or an Exit, and a call is a
 * site with a Call_i for each argument and a Return_i for each result (docs/design.md). Nodes keep
 * their order, so sequential order is order of index:
 *
 *   if    Switches (parent region) | nodes of THEN | nodes of ELSE | Merges (parent region)
 *   loop  Enters (parent region)   | loop Merges, nodes of HEAD, Switches on its condition
 *                                  | nodes of ROUND, NextIterations | Exits (parent region)
 *
 * A value used several levels further in takes a Switch (or Enter) per level; a Switch serves both
 * arms. Constants cross no borders: each region that uses a constant has its own copy, before the
 * first use in it. So an arm that yields a constant holds it, and a constant exit of a loop is in
 * the HEAD and leaves through a Switch. A loop without variables gets one that is never read,
 * because a token must go round.
 *
 * The first part finds the borders that each value crosses. From the regions of its uses it climbs
 * outwards up to the region of the definition, or to a region that it has already climbed through.
 * That takes one move per crossing. A crossing is a node of the result, so this is linear. Then one
 * walk emits the nodes. `now` has the replacement of each value in the current region; changes made
 * on entering a region are undone on leaving it. Nothing recurses: an else-if chain nests as deep
 * as its author likes. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

/* Value `value` is used inside `region`, but defined outside. */
typedef struct crossing {
  hia_region_id region;
  hia_value_id value;
} crossing;

typedef struct undo {
  hia_value_id value, now;
  hia_region_id home;
} undo;

/* An IF or LOOP around the node that the walk is at. */
typedef struct nest {
  hia_node_id node;
  hia_region_id region; /* the first of its two, in the new section */
  uint32_t undone;      /* these are the ends, before it was entered, of the stacks below */
  uint32_t switched;
  uint32_t yields;
  hia_node_id merges; /* LOOP: its first Merge; the others follow */
} nest;

typedef struct tagging {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn_id f;
  const hia_fn *from;
  hia_fn to;            /* its nodes, values, regions and edges are new */
  hia_region_id region; /* the region of `to` that nodes are being added to */

  /* Crossings of region r: crossings[first[r]] .. crossings[first[r + 1] - 1], by value. */
  hia_value_id *crossings;
  uint32_t *first;

  hia_value_id *now;   /* by old value: its replacement */
  hia_region_id *home; /* by old value, of constants: the new region `now` is for */
  HIA_VEC(undo) undone;
  HIA_VEC(nest) nests;
  hia_u32vec switched, outputs; /* old values, and the first output of their Switch */
  hia_u32vec yields;            /* what THEN and ELSE yield; of a loop: the exits */
  uint32_t *at;                 /* by old value: where it is in `switched`; see index_switches */
} tagging;

/* ---- crossings ---- */

static bool is_constant(const hia_fn *fn, hia_value_id v) {
  return hiaG_is_constant(hiaG_def(fn, v)->op);
}

static void find_crossings(tagging *t) {
  const hia_fn *fn = t->from;
  uint32_t n_values = fn->values.len, n_regions = fn->regions.len;

  /* The regions of the uses of value v: uses[start[v]] .. uses[start[v + 1] - 1]. */
  uint32_t *start = HIA_NEW_ARRAY(t->scratch, uint32_t, n_values + 2);
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) start[hiaG_in(fn, n, i) + 2]++;
  for (uint32_t v = 2; v < n_values + 2; v++) start[v] += start[v - 1];
  hia_region_id *uses = HIA_NEW_ARRAY(t->scratch, hia_region_id, start[n_values + 1]);
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++)
      uses[start[hiaG_in(fn, n, i) + 1]++] = fn->nodes.data[n].region;

  HIA_VEC(crossing) found = {0};
  hia_value_id *last = HIA_NEW_ARRAY(t->scratch, hia_value_id, n_regions); /* climbed through for */
  memset(last, 0xff, n_regions * sizeof *last);
  t->first = HIA_NEW_ARRAY(t->scratch, uint32_t, n_regions + 2);
  for (hia_value_id v = 0; v < n_values; v++) {
    if (start[v] == start[v + 1] || is_constant(fn, v)) continue;
    hia_region_id defined = hiaG_def(fn, v)->region;
    for (uint32_t i = start[v]; i < start[v + 1]; i++) {
      for (hia_region_id r = uses[i]; r != defined && last[r] != v;
           r = fn->regions.data[r].parent) {
        last[r] = v;
        hiaR_push(t->scratch, &found, (crossing){r, v});
        t->first[r + 2]++;
      }
    }
  }
  for (uint32_t r = 2; r < n_regions + 2; r++) t->first[r] += t->first[r - 1];
  t->crossings = HIA_NEW_ARRAY(t->scratch, hia_value_id, found.len);
  for (uint32_t i = 0; i < found.len; i++)
    t->crossings[t->first[found.data[i].region + 1]++] = found.data[i].value;
}

/* ---- nodes of the section ---- */

static hia_node_id emit(tagging *t, unsigned op, const hia_value_id *ins, uint32_t n_ins,
                        const hia_type *types, uint32_t n_outs, uint64_t imm, hia_loc_id loc) {
  return hiaG_add(t->g, &t->to, t->region, op, ins, n_ins, types, n_outs, imm, loc);
}

static hia_value_id emit_value(tagging *t, unsigned op, hia_value_id in, uint64_t imm,
                               hia_loc_id loc) {
  hia_type type = hiaG_type(&t->to, in);
  return hiaG_out(&t->to, emit(t, op, &in, 1, &type, 1, imm, loc), 0);
}

static void set_now(tagging *t, hia_value_id v, hia_value_id now) {
  hiaR_push(t->scratch, &t->undone, (undo){v, t->now[v], t->home[v]});
  t->now[v] = now;
  t->home[v] = t->region;
}

static void undo_to(tagging *t, uint32_t len) {
  while (t->undone.len > len) {
    undo u = t->undone.data[--t->undone.len];
    t->now[u.value] = u.now;
    t->home[u.value] = u.home;
  }
}

/* Returns the replacement of a value in the current region; a constant is copied if it has none
 * there. */
static hia_value_id here(tagging *t, hia_value_id v) {
  if (!is_constant(t->from, v) || t->home[v] == t->region) return t->now[v];
  const hia_node *def = hiaG_def(t->from, v);
  hia_type type = hiaG_type(t->from, v);
  set_now(t, v, hiaG_out(&t->to, emit(t, def->op, NULL, 0, &type, 1, def->imm, def->loc), 0));
  return t->now[v];
}

/* New regions begin at the end of the section, and are empty until they are closed. */
static hia_region_id open_regions(tagging *t, hia_region_kind kind) {
  hia_region_id r = t->to.regions.len;
  hia_region region = {.kind = (uint8_t)kind,
                       .parent = t->region,
                       .owner = HIA_NONE,
                       .first = t->to.nodes.len,
                       .last = t->to.nodes.len,
                       .pred = HIA_NONE};
  hiaR_push(&t->g->comp->arena, &t->to.regions, region);
  region.kind++; /* ELSE after THEN, ROUND after HEAD */
  if (kind == HIA_REGION_HEAD) region.parent = r;
  hiaR_push(&t->g->comp->arena, &t->to.regions, region);
  return r;
}

static void enter_region(tagging *t, hia_region_id r) {
  t->region = r;
  t->to.regions.data[r].first = t->to.nodes.len;
}

static void leave_region(tagging *t) {
  t->to.regions.data[t->region].last = t->to.nodes.len;
  t->region = t->to.regions.data[t->region].parent;
}

/* ---- branches and loops ---- */

static void switch_value(tagging *t, hia_value_id v, hia_value_id pred, hia_region_id region,
                         const nest *in, hia_loc_id loc) {
  uint32_t k = t->at[v];
  if (k >= in->switched && k < t->switched.len && t->switched.data[k] == v) return;
  hia_type type = hiaG_type(t->from, v);
  hia_value_id ins[2] = {t->now[v], pred};
  hia_type types[2] = {type, type};
  hia_node_id s = emit(t, HIA_OP_SWITCH, ins, 2, types, 2, region, loc);
  t->at[v] = t->switched.len;
  hiaR_push(t->scratch, &t->switched, v);
  hiaR_push(t->scratch, &t->outputs, hiaG_out(&t->to, s, 0));
}

static void switch_crossings(tagging *t, hia_region_id old, hia_value_id pred, hia_region_id region,
                             const nest *in, hia_loc_id loc) {
  for (uint32_t i = t->first[old]; i < t->first[old + 1]; i++)
    switch_value(t, t->crossings[i], pred, region, in, loc);
}

/* Fills in `at` for a nest. Its entries are valid for the innermost nest only, because branches and
 * loops nested in an arm have overwritten them. */
static void index_switches(tagging *t, const nest *in) {
  for (uint32_t k = in->switched; k < t->switched.len; k++) t->at[t->switched.data[k]] = k;
}

/* In the current region, each value that crosses into it is output `side` of its Switch. */
static void use_switches(tagging *t, hia_region_id old, uint32_t side) {
  for (uint32_t i = t->first[old]; i < t->first[old + 1]; i++) {
    hia_value_id v = t->crossings[i];
    set_now(t, v, t->outputs.data[t->at[v]] + side);
  }
}

static nest *push_nest(tagging *t, hia_node_id n, hia_region_id region) {
  hiaR_push(t->scratch, &t->nests,
            (nest){n, region, t->undone.len, t->switched.len, t->yields.len, HIA_NONE});
  return &t->nests.data[t->nests.len - 1];
}

static void pop_nest(tagging *t) {
  const nest *in = &t->nests.data[--t->nests.len];
  undo_to(t, in->undone);
  t->switched.len = t->outputs.len = in->switched;
  t->yields.len = in->yields;
}

static void begin_if(tagging *t, hia_node_id n) {
  const hia_node *node = &t->from->nodes.data[n];
  hia_value_id pred = here(t, hiaG_in(t->from, n, 0));
  hia_region_id r = open_regions(t, HIA_REGION_THEN);
  t->to.regions.data[r].pred = t->to.regions.data[r + 1].pred = pred;
  nest *in = push_nest(t, n, r);
  switch_crossings(t, node->regions, pred, r, in, node->loc);
  switch_crossings(t, node->regions + 1, pred, r, in, node->loc);
  enter_region(t, r);
  use_switches(t, node->regions, 0);
}

static void push_yields(tagging *t, hia_node_id yield) {
  for (uint32_t i = 0; i < t->from->nodes.data[yield].n_ins; i++) {
    hia_value_id v = here(t, hiaG_in(t->from, yield, i));
    hiaR_push(t->scratch, &t->yields, v);
  }
}

static void end_then(tagging *t, hia_node_id yield) {
  const nest *in = &t->nests.data[t->nests.len - 1];
  push_yields(t, yield);
  leave_region(t);
  undo_to(t, in->undone);
  index_switches(t, in);
  enter_region(t, in->region + 1);
  use_switches(t, t->from->nodes.data[in->node].regions + 1, 1);
}

static void end_if(tagging *t, hia_node_id yield) {
  nest in = t->nests.data[t->nests.len - 1];
  push_yields(t, yield);
  leave_region(t);
  const hia_node *node = &t->from->nodes.data[in.node];
  for (uint32_t i = 0; i < node->n_outs; i++) {
    hia_value_id ins[2] = {t->yields.data[in.yields + i],
                           t->yields.data[in.yields + node->n_outs + i]};
    hia_type type = hiaG_type(t->from, node->outs + i);
    hia_node_id merge = emit(t, HIA_OP_MERGE, ins, 2, &type, 1, in.region, node->loc);
    t->now[node->outs + i] = hiaG_out(&t->to, merge, 0);
  }
  pop_nest(t);
}

static void begin_loop(tagging *t, hia_node_id n) {
  const hia_node *node = &t->from->nodes.data[n];
  hia_region_id old = node->regions;
  uint32_t n_vars = node->n_ins;
  uint32_t start = t->yields.len; /* the Enters, for a moment */
  for (uint32_t i = 0; i < n_vars; i++) {
    hia_value_id init = here(t, hiaG_in(t->from, n, i));
    hiaR_push(t->scratch, &t->yields, init);
  }
  if (n_vars == 0) {
    hia_type type = HIA_BOOL;
    hia_node_id token = emit(t, HIA_OP_CONST, NULL, 0, &type, 1, 0, node->loc);
    hiaR_push(t->scratch, &t->yields, hiaG_out(&t->to, token, 0));
  }
  hia_region_id head = open_regions(t, HIA_REGION_HEAD);
  for (uint32_t i = start; i < t->yields.len; i++)
    t->yields.data[i] = emit_value(t, HIA_OP_ENTER, t->yields.data[i], HIA_IMM(head, 0), node->loc);
  uint32_t first = t->first[old], n_invariant = t->first[old + 1] - first;
  hia_node_id invariant = t->to.nodes.len;
  for (uint32_t i = 0; i < n_invariant; i++)
    emit_value(t, HIA_OP_ENTER, t->now[t->crossings[first + i]], HIA_IMM(head, 1), node->loc);

  uint32_t n_merges = t->yields.len - start;
  t->yields.len = start;
  nest *in = push_nest(t, n, head);
  in->merges = t->to.nodes.len;
  enter_region(t, head);
  for (uint32_t i = 0; i < n_merges; i++) {
    hia_value_id ins[2] = {t->yields.data[start + i], HIA_NONE}; /* its Next, by end_loop */
    hia_type type = hiaG_type(&t->to, ins[0]);
    emit(t, HIA_OP_MERGE_LOOP, ins, 2, &type, 1, 0, node->loc);
  }
  for (uint32_t i = 0; i < n_invariant; i++)
    set_now(t, t->crossings[first + i], hiaG_out(&t->to, invariant + i, 0));
}

static void begin_round(tagging *t, hia_node_id yield) {
  const nest *in = &t->nests.data[t->nests.len - 1];
  const hia_node *node = &t->from->nodes.data[in->node];
  uint32_t n_exits = t->from->nodes.data[yield].n_ins - 1;
  hia_value_id pred = here(t, hiaG_in(t->from, yield, 0));
  for (uint32_t i = 0; i < n_exits; i++) here(t, hiaG_in(t->from, yield, 1 + i));
  hia_region_id round = in->region + 1;
  t->to.regions.data[round].pred = pred;
  switch_crossings(t, node->regions + 1, pred, round, in, node->loc);
  for (uint32_t i = 0; i < n_exits; i++) {
    hia_value_id v = hiaG_in(t->from, yield, 1 + i);
    switch_value(t, v, pred, round, in, node->loc);
    hiaR_push(t->scratch, &t->yields, t->outputs.data[t->at[v]] + 1);
  }
  enter_region(t, round);
  use_switches(t, node->regions + 1, 0);
}

static void end_loop(tagging *t, hia_node_id yield) {
  nest in = t->nests.data[t->nests.len - 1];
  const hia_node *node = &t->from->nodes.data[in.node];
  uint32_t n_vars = node->n_ins;
  uint32_t start = t->yields.len;
  push_yields(t, yield);
  if (n_vars == 0) {
    hia_type type = HIA_BOOL;
    hia_node_id token = emit(t, HIA_OP_CONST, NULL, 0, &type, 1, 0, node->loc);
    hiaR_push(t->scratch, &t->yields, hiaG_out(&t->to, token, 0));
  }
  for (uint32_t i = start; i < t->yields.len; i++) {
    hia_value_id next = emit_value(t, HIA_OP_NEXT, t->yields.data[i], in.region, node->loc);
    t->to.edges.data[t->to.nodes.data[in.merges + (i - start)].ins + 1] = next;
  }
  leave_region(t);
  leave_region(t);
  for (uint32_t i = 0; i < node->n_outs; i++)
    t->now[node->outs + i] =
        emit_value(t, HIA_OP_EXIT, t->yields.data[in.yields + i], in.region, node->loc);
  pop_nest(t);
}

/* ---- other nodes ---- */

/* Returns the operands of a node in the section; they are valid until the next call. */
static const hia_value_id *operands(tagging *t, hia_node_id n) {
  uint32_t start = t->yields.len, n_ins = t->from->nodes.data[n].n_ins;
  push_yields(t, n);
  t->yields.len = start;
  return n_ins ? t->yields.data + start : NULL;
}

static void tag_call(tagging *t, hia_node_id n) {
  const hia_node *node = &t->from->nodes.data[n];
  const hia_value_id *ins = operands(t, n);
  uint32_t index = t->g->sites.len;
  hia_site site = {.caller = t->f,
                   .callee = hiaG_callee(node),
                   .calls = t->to.nodes.len,
                   .n_calls = node->n_ins ? node->n_ins : 1,
                   .n_returns = node->n_outs,
                   .is_tail = node->flags & HIA_NODE_TAIL,
                   .loc = node->loc,
                   .partner = HIA_NONE};
  if (!ins) emit(t, HIA_OP_CALL_I, NULL, 0, NULL, 0, HIA_IMM(index, 0), node->loc);
  for (uint32_t i = 0; i < node->n_ins; i++)
    emit(t, HIA_OP_CALL_I, ins + i, 1, NULL, 0, HIA_IMM(index, i), node->loc);
  site.returns = t->to.nodes.len;
  for (uint32_t i = 0; i < node->n_outs; i++) {
    hia_type type = hiaG_type(t->from, node->outs + i);
    hia_node_id out = emit(t, HIA_OP_RETURN_I, NULL, 0, &type, 1, HIA_IMM(index, i), node->loc);
    t->now[node->outs + i] = hiaG_out(&t->to, out, 0);
  }
  hiaR_push(&t->g->comp->arena, &t->g->sites, site);
}

static void tag_arg(tagging *t, hia_node_id n) {
  hia_value_id v = hiaG_out(t->from, n, 0);
  uint32_t index = HIA_IMM_A(t->from->nodes.data[n].imm);
  if (t->region != 0) {
    hia_node_id merge = t->nests.data[t->nests.len - 1].merges + index;
    t->now[v] = hiaG_out(&t->to, merge, 0);
    return;
  }
  hia_type type = hiaG_type(t->from, v);
  t->now[v] = hiaG_out(&t->to, emit(t, HIA_OP_MERGE_ENTRY, NULL, 0, &type, 1, index, HIA_NONE), 0);
}

static void tag_op(tagging *t, hia_node_id n) {
  const hia_node *node = &t->from->nodes.data[n];
  const hia_value_id *ins = operands(t, n);
  hia_node_id copy = emit(t, node->op, ins, node->n_ins, NULL, 0, node->imm, node->loc);
  t->to.nodes.data[copy].flags = node->flags; /* of a join */
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < node->n_outs; i++)
    hiaR_push(t->scratch, &types, hiaG_type(t->from, node->outs + i));
  hiaG_set_outs(t->g, &t->to, copy, types.data, node->n_outs);
  for (uint32_t i = 0; i < node->n_outs; i++) t->now[node->outs + i] = hiaG_out(&t->to, copy, i);
}

static void tag_yield(tagging *t, hia_node_id n) {
  switch ((hia_region_kind)t->from->regions.data[t->from->nodes.data[n].region].kind) {
  case HIA_REGION_BODY: tag_op(t, n); break;
  case HIA_REGION_THEN: end_then(t, n); break;
  case HIA_REGION_ELSE: end_if(t, n); break;
  case HIA_REGION_HEAD: begin_round(t, n); break;
  case HIA_REGION_ROUND: end_loop(t, n); break;
  case HIA_REGION_EACH: HIA_BUG(t->g->comp, "a map among the loops");
  }
}

static void tag_fn(hia_graph *g, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(g, f);
  tagging t = {.g = g, .scratch = &g->comp->scratch, .f = f, .from = fn, .to = *fn};
  hia_mark mark = hiaR_arena_mark(t.scratch);
  memset(&t.to.nodes, 0, sizeof t.to.nodes);
  memset(&t.to.values, 0, sizeof t.to.values);
  memset(&t.to.regions, 0, sizeof t.to.regions);
  memset(&t.to.edges, 0, sizeof t.to.edges);
  uint32_t n_values = fn->values.len;
  t.now = HIA_NEW_ARRAY(t.scratch, hia_value_id, n_values);
  t.home = HIA_NEW_ARRAY(t.scratch, hia_region_id, n_values);
  t.at = HIA_NEW_ARRAY(t.scratch, uint32_t, n_values);
  memset(t.home, 0xff, n_values * sizeof *t.home);
  find_crossings(&t);

  hia_region body = fn->regions.data[0];
  hiaR_push(&g->comp->arena, &t.to.regions, body);
  enter_region(&t, 0);
  HIA_EACH_NODE(fn, n) {
    switch (fn->nodes.data[n].op) {
    case HIA_OP_ARG: tag_arg(&t, n); break;
    case HIA_OP_CONST:
    case HIA_OP_UNDEF:
    case HIA_OP_PARAM:
    case HIA_OP_LITERAL: break; /* where they are used */
    case HIA_OP_IF: begin_if(&t, n); break;
    case HIA_OP_LOOP: begin_loop(&t, n); break;
    case HIA_OP_CALL: tag_call(&t, n); break;
    case HIA_OP_YIELD: tag_yield(&t, n); break;
    default: tag_op(&t, n); break;
    }
  }
  t.to.regions.data[0].last = t.to.nodes.len;
  *fn = t.to;
  hiaR_arena_release(t.scratch, mark);
}

/* Requires nothing; the graph is static afterwards. Functions that were removed have no section. */
void hiaG_tag(hia_graph *g) {
  g->state = HIA_STATIC;
  HIA_EACH_FN(g, f) tag_fn(g, f);
}
