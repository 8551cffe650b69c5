/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* untag: the inverse of the tagging transformation (tag.c), from the static graph back to function
 * graphs. It is for graphs that were read from text: passes work on function graphs alone, and the
 * counts of references in a text must be made again before it is native code (refs/forget.c).
 *
 * One would have to find branches and loops in a flat list of nodes. But the verifier has checked
 * that regions are nested contexts whose borders only certain nodes cross, so every construct is
 * marked:
 *
 *   merge.entry   an ARG of the body
 *   then .. else  an IF, whose results are the MERGEs that name it
 *   head .. round a LOOP, whose variables are the MERGE_LOOPs in its head, and whose results are
 * the EXITs that name it site          a CALL, whose results are the RETURN_Is switch, enter what
 * goes in is a value of the outer region, which the inner one uses directly
 *
 * One walk over the nodes of a section, in their order, builds the tree; `now` has what stands for
 * each old value. Tagging the result gives the same section again, since constants already stand in
 * the regions that use them.
 *
 * Requires a graph that the verifier has accepted. Nothing recurses. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/region_order.h"
#include "graph/ir/scc.h"
#include "graph/passes/passes.h"

typedef struct untagging {
  hia_graph *g;
  hia_arena *scratch;
  const hia_fn *from;
  hia_fn to;
  hia_value_id *now;     /* by old value */
  hia_region_id *region; /* by old region: the new one */
  hia_loc_id *loc;       /* by old region: a location of its branch or loop */
  hia_buckets results;   /* by old THEN: its MERGEs; by old HEAD: its EXITs */
  hia_buckets variables; /* by old HEAD: its MERGE_LOOPs */
} untagging;

static uint32_t count_of(const hia_buckets *b, hia_region_id r) {
  return b->start[r + 1] - b->start[r];
}

static const hia_node *item(const untagging *u, const hia_buckets *b, hia_region_id r, uint32_t i) {
  return &u->from->nodes.data[b->items[b->start[r] + i]];
}

static hia_value_id now(const untagging *u, hia_value_id old) { return u->now[old]; }

static hia_value_id operand(const untagging *u, const hia_node *node, uint32_t i) {
  return now(u, u->from->edges.data[node->ins + i]);
}

/* The operand of the node that defines operand i: what an ENTER, a NEXT or a SWITCH passes on. */
static hia_value_id passed_on(const untagging *u, const hia_node *node, uint32_t i) {
  return operand(u, hiaG_def(u->from, u->from->edges.data[node->ins + i]), 0);
}

/* ---- what belongs to which region ---- */

static void note_border(untagging *u, hia_node_id n, uint32_t *result_of, uint32_t *variable_of) {
  const hia_node *node = &u->from->nodes.data[n];
  hia_region_id named = HIA_IMM_A(node->imm);
  result_of[n] = variable_of[n] = HIA_NONE;
  switch (node->op) {
  case HIA_OP_MERGE:
  case HIA_OP_EXIT: result_of[n] = named; break;
  case HIA_OP_MERGE_LOOP: variable_of[n] = named = node->region; break;
  case HIA_OP_SWITCH:
  case HIA_OP_ENTER: break;
  default: return;
  }
  if (u->loc[named] == HIA_NONE) u->loc[named] = node->loc;
}

static void find_borders(untagging *u) {
  uint32_t n = u->from->nodes.len, n_regions = u->from->regions.len;
  uint32_t *result_of = HIA_NEW_ARRAY(u->scratch, uint32_t, n),
           *variable_of = HIA_NEW_ARRAY(u->scratch, uint32_t, n);
  for (hia_node_id i = 0; i < n; i++) note_border(u, i, result_of, variable_of);
  u->results = hiaG_buckets(u->scratch, n_regions, n, result_of, NULL);
  u->variables = hiaG_buckets(u->scratch, n_regions, n, variable_of, NULL);
}

/* ---- the tree ---- */

static hia_node_id add(untagging *u, hia_region_id region, unsigned op, const hia_u32vec *ins,
                       const hia_u32vec *types, uint64_t imm, hia_loc_id loc) {
  return hiaG_add(u->g, &u->to, region, op, ins ? ins->data : NULL, ins ? ins->len : 0,
                  types ? types->data : NULL, types ? types->len : 0, imm, loc);
}

/* The types of the MERGEs, EXITs or MERGE_LOOPs of a region. */
static hia_u32vec types_of(const untagging *u, const hia_buckets *b, hia_region_id r) {
  hia_u32vec types = {0};
  for (uint32_t i = 0; i < count_of(b, r); i++)
    hiaR_push(u->scratch, &types, hiaG_type(u->from, item(u, b, r, i)->outs));
  return types;
}

/* A branch or a loop, at old region r, becomes node n, whose results are defined from here on. */
static void open_node(untagging *u, hia_region_id r, hia_node_id n) {
  hia_region_id regions = u->to.nodes.data[n].regions;
  u->region[r] = regions;
  u->region[r + 1] = regions + 1;
  for (uint32_t i = 0; i < count_of(&u->results, r); i++)
    u->now[item(u, &u->results, r, i)->outs] = hiaG_out(&u->to, n, i);
}

static void open_then(untagging *u, hia_region_id r) {
  const hia_region *region = &u->from->regions.data[r];
  hia_u32vec cond = {0}, types = types_of(u, &u->results, r);
  hiaR_push(u->scratch, &cond, now(u, region->pred));
  open_node(u, r, add(u, u->region[region->parent], HIA_OP_IF, &cond, &types, 0, u->loc[r]));
}

static void open_head(untagging *u, hia_region_id r) {
  hia_region_id outside = u->region[u->from->regions.data[r].parent];
  hia_u32vec ins = {0}, types = types_of(u, &u->results, r);
  for (uint32_t i = 0; i < count_of(&u->variables, r); i++)
    hiaR_push(u->scratch, &ins, passed_on(u, item(u, &u->variables, r, i), 0));
  open_node(u, r, add(u, outside, HIA_OP_LOOP, &ins, &types, 0, u->loc[r]));
  for (uint32_t i = 0; i < count_of(&u->variables, r); i++) {
    const hia_node *merge = item(u, &u->variables, r, i);
    hia_u32vec type = {0};
    hiaR_push(u->scratch, &type, hiaG_type(u->from, merge->outs));
    hia_node_id arg = add(u, u->region[r], HIA_OP_ARG, NULL, &type, i, merge->loc);
    u->now[merge->outs] = hiaG_out(&u->to, arg, 0);
  }
}

static void yield(untagging *u, hia_region_id region, const hia_u32vec *ins) {
  hiaG_yield(u->g, &u->to, region, ins->data, ins->len);
}

/* The head ends where the round begins: with the condition, and what leaves the loop. */
static void open_round(untagging *u, hia_region_id r) {
  hia_region_id head = r - 1;
  hia_u32vec ins = {0};
  hiaR_push(u->scratch, &ins, now(u, u->from->regions.data[r].pred));
  for (uint32_t i = 0; i < count_of(&u->results, head); i++)
    hiaR_push(u->scratch, &ins, operand(u, item(u, &u->results, head, i), 0));
  yield(u, u->region[head], &ins);
}

static void close_round(untagging *u, hia_region_id r) {
  hia_u32vec ins = {0};
  for (uint32_t i = 0; i < count_of(&u->variables, r - 1); i++)
    hiaR_push(u->scratch, &ins, passed_on(u, item(u, &u->variables, r - 1, i), 1));
  yield(u, u->region[r], &ins);
}

static void close_arm(untagging *u, hia_region_id r, hia_region_id then) {
  hia_u32vec ins = {0};
  for (uint32_t i = 0; i < count_of(&u->results, then); i++)
    hiaR_push(u->scratch, &ins, operand(u, item(u, &u->results, then, i), r - then));
  yield(u, u->region[r], &ins);
}

static void cross(untagging *u, const hia_context_edge *edge) {
  hia_region_id r = edge->region;
  switch ((hia_region_kind)u->from->regions.data[r].kind) {
  case HIA_REGION_THEN: edge->is_end ? close_arm(u, r, r) : open_then(u, r); break;
  case HIA_REGION_ELSE:
    if (edge->is_end) close_arm(u, r, r - 1);
    break;
  case HIA_REGION_HEAD:
    if (!edge->is_end) open_head(u, r);
    break;
  case HIA_REGION_ROUND: edge->is_end ? close_round(u, r) : open_round(u, r); break;
  case HIA_REGION_BODY:
  case HIA_REGION_EACH: break;
  }
}

/* ---- nodes ---- */

static void call(untagging *u, hia_node_id n) {
  const hia_node *node = &u->from->nodes.data[n];
  const hia_site *site = &u->g->sites.data[HIA_IMM_A(node->imm)];
  hia_u32vec ins = {0}, types = {0};
  if (site->calls != n) return; /* one node for all arguments */
  for (uint32_t i = 0; node->n_ins && i < site->n_calls; i++)
    hiaR_push(u->scratch, &ins, operand(u, node + i, 0));
  const hia_node *returns = &u->from->nodes.data[site->returns];
  for (uint32_t i = 0; i < site->n_returns; i++)
    hiaR_push(u->scratch, &types, hiaG_type(u->from, returns[i].outs));
  hia_node_id made =
      add(u, u->region[node->region], HIA_OP_CALL, &ins, &types, site->callee, site->loc);
  if (site->is_tail) u->to.nodes.data[made].flags |= HIA_NODE_TAIL;
  for (uint32_t i = 0; i < site->n_returns; i++)
    u->now[returns[i].outs] = hiaG_out(&u->to, made, i);
}

static void copy(untagging *u, hia_node_id n) {
  const hia_node *node = &u->from->nodes.data[n];
  unsigned op = node->op == HIA_OP_MERGE_ENTRY ? HIA_OP_ARG : node->op;
  hia_u32vec ins = {0}, types = {0};
  for (uint32_t i = 0; i < node->n_ins; i++) hiaR_push(u->scratch, &ins, operand(u, node, i));
  for (uint32_t i = 0; i < node->n_outs; i++)
    hiaR_push(u->scratch, &types, hiaG_type(u->from, node->outs + i));
  hia_node_id made = add(u, u->region[node->region], op, &ins, &types, node->imm, node->loc);
  u->to.nodes.data[made].flags = node->flags;
  for (uint32_t i = 0; i < node->n_outs; i++) u->now[node->outs + i] = hiaG_out(&u->to, made, i);
}

static void untag_node(untagging *u, hia_node_id n) {
  const hia_node *node = &u->from->nodes.data[n];
  switch (node->op) {
  case HIA_OP_SWITCH: u->now[node->outs + 1] = operand(u, node, 0); /* fall through */
  case HIA_OP_ENTER: u->now[node->outs] = operand(u, node, 0); break;
  case HIA_OP_CALL_I: call(u, n); break;
  case HIA_OP_MERGE:
  case HIA_OP_MERGE_LOOP:
  case HIA_OP_EXIT:
  case HIA_OP_NEXT:
  case HIA_OP_RETURN_I: break; /* see what they belong to */
  default: copy(u, n); break;
  }
}

static void untag_fn(hia_graph *g, hia_fn *fn) {
  untagging u = {.g = g, .scratch = &g->comp->scratch, .from = fn, .to = *fn};
  hia_mark mark = hiaR_arena_mark(u.scratch);
  uint32_t n_regions = fn->regions.len;
  memset(&u.to.nodes, 0, sizeof u.to.nodes);
  memset(&u.to.values, 0, sizeof u.to.values);
  memset(&u.to.regions, 0, sizeof u.to.regions);
  memset(&u.to.edges, 0, sizeof u.to.edges);
  u.now = HIA_NEW_ARRAY(u.scratch, hia_value_id, fn->values.len + 1);
  u.region = HIA_NEW_ARRAY(u.scratch, hia_region_id, n_regions);
  u.loc = HIA_NEW_ARRAY(u.scratch, hia_loc_id, n_regions);
  memset(u.loc, 0xff, n_regions * sizeof *u.loc);
  find_borders(&u);
  hia_region body = fn->regions.data[0];
  body.first = body.last = HIA_NONE;
  hiaR_push(&g->comp->arena, &u.to.regions, body);
  hia_context_edge *edges;
  uint32_t n_edges = hiaG_contexts(u.scratch, fn, &edges), at = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    for (; at < n_edges && edges[at].at <= n; at++) cross(&u, &edges[at]);
    untag_node(&u, n);
  }
  *fn = u.to;
  hiaG_compact(g, fn);
  hiaR_arena_release(u.scratch, mark);
}

void hiaG_untag(hia_graph *g) {
  g->state = HIA_FUNCTIONS;
  HIA_EACH_FN(g, f) {
    untag_fn(g, hiaG_fn(g, f));
    hiaR_look(g->comp);
  }
  g->sites.len = 0;
}
