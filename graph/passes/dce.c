/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* dce: removes nodes whose results are not used. An op on tensors may fail by their shapes: it
 * stays although nothing uses it, since what is known of sizes (analysis/sizes.h) is not asked
 * here.
 *
 * Counting uses would keep a loop variable that only feeds itself. So this marks, beginning with
 * what must stay: the function's results, and nodes that can fail, may not end, or are counted. A
 * marked value marks its operands. A result of a branch marks what the arms yield for it; a result
 * of a loop marks its exit; a variable of a loop marks its first and next values. A node also marks
 * the branches and loops that it stands in, and with them their conditions. Then unmarked nodes are
 * removed, and unmarked results and variables are removed from their branches and loops. An element
 * of a map is whole: a marked map marks all that its region yields.
 *
 * Requires hiaG_effects (of callees); keeps everything. Loops always stay, because a loop that ends
 * cannot be distinguished from one that does not. */
#include "graph/analysis/effects.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct marking {
  hia_graph *g;
  hia_fn *fn;
  hia_arena *scratch;
  bool *node_used, *value_used;
  hia_u32vec todo; /* values whose definitions must still be marked */
} marking;

static void use_value(marking *m, hia_value_id v) {
  if (m->value_used[v]) return;
  m->value_used[v] = true;
  hiaR_push(m->scratch, &m->todo, v);
}

static void use_node(marking *m, hia_node_id n) {
  const hia_fn *fn = m->fn;
  while (!m->node_used[n]) {
    m->node_used[n] = true;
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_LOOP) {
      use_value(m, hiaG_in(fn, hiaG_yield_of(fn, node->regions), 0));
    } else { /* all operands; for an IF that is its condition */
      for (uint32_t i = 0; i < node->n_ins; i++) use_value(m, hiaG_in(fn, n, i));
    }
    if (node->op == HIA_OP_MAP) {
      hia_node_id yield = hiaG_yield_of(fn, node->regions);
      for (uint32_t i = 0; i < fn->nodes.data[yield].n_ins; i++)
        use_value(m, hiaG_in(fn, yield, i));
    }
    if (node->region == 0) break;
    n = fn->regions.data[node->region].owner;
  }
}

static void use_definition(marking *m, hia_value_id v) {
  const hia_fn *fn = m->fn;
  hia_node_id n = fn->values.data[v].node;
  const hia_node *node = &fn->nodes.data[n];
  use_node(m, n);
  if (node->op == HIA_OP_IF) {
    use_value(m, hiaG_in(fn, hiaG_yield_of(fn, node->regions), v - node->outs));
    use_value(m, hiaG_in(fn, hiaG_yield_of(fn, node->regions + 1), v - node->outs));
  } else if (node->op == HIA_OP_LOOP) {
    use_value(m, hiaG_in(fn, hiaG_yield_of(fn, node->regions), 1 + v - node->outs));
  } else if (node->op == HIA_OP_ARG && fn->regions.data[node->region].kind == HIA_REGION_HEAD) {
    uint32_t i = HIA_IMM_A(node->imm);
    use_value(m, hiaG_in(fn, fn->regions.data[node->region].owner, i));
    use_value(m, hiaG_in(fn, hiaG_yield_of(fn, node->region + 1), i));
  }
}

static bool must_stay(const marking *m, hia_node_id n) {
  const hia_fn *fn = m->fn;
  const hia_node *node = &fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_ARG:
    return node->region == 0 || fn->regions.data[node->region].kind == HIA_REGION_EACH;
  case HIA_OP_IF: return false; /* nodes inside are looked at by themselves */
  case HIA_OP_LOOP:
  case HIA_OP_MAP: return true;
  case HIA_OP_YIELD: return node->region == 0;
  case HIA_OP_ELEMENT: return hiaG_element_matters(m->g, fn, n);
  default: return !hiaG_node_removable(m->g, fn, n);
  }
}

/* Keeps operands first .. first + n of a node whose `keep` is set. */
static void keep_ins(hia_fn *fn, hia_node_id n, uint32_t first, const bool *keep, uint32_t count) {
  hia_node *node = &fn->nodes.data[n];
  hia_value_id *ins = fn->edges.data + node->ins;
  uint32_t kept = first;
  for (uint32_t i = 0; i < count; i++)
    if (keep[i]) ins[kept++] = ins[first + i];
  node->n_ins = kept;
}

/* Removes the unused results of an IF or LOOP. */
static bool prune_results(marking *m, hia_subst *subst, hia_node_id n) {
  hia_fn *fn = m->fn;
  hia_node node = fn->nodes.data[n];
  HIA_VEC(hia_type) types = {0};
  const bool *keep = m->value_used + node.outs;
  for (uint32_t i = 0; i < node.n_outs; i++)
    if (keep[i]) hiaR_push(m->scratch, &types, hiaG_type(fn, node.outs + i));
  if (types.len == node.n_outs) return false;
  uint32_t first = node.op == HIA_OP_LOOP ? 1 : 0;
  keep_ins(fn, hiaG_yield_of(fn, node.regions), first, keep, node.n_outs);
  if (node.op == HIA_OP_IF) keep_ins(fn, hiaG_yield_of(fn, node.regions + 1), 0, keep, node.n_outs);
  hiaG_set_outs(m->g, fn, n, types.data, types.len);
  for (uint32_t i = 0, kept = 0; i < node.n_outs; i++)
    if (keep[i]) hiaG_replace(subst, node.outs + i, hiaG_out(fn, n, kept++));
  return true;
}

/* Removes the unused variables of a LOOP. */
static bool prune_variables(marking *m, hia_node_id n) {
  hia_fn *fn = m->fn;
  uint32_t n_vars = fn->nodes.data[n].n_ins, kept = 0;
  hia_region_id head = fn->nodes.data[n].regions;
  bool *keep = HIA_NEW_ARRAY(m->scratch, bool, n_vars);
  for (hia_node_id arg = fn->regions.data[head].first, next; fn->nodes.data[arg].op == HIA_OP_ARG;
       arg = next) {
    next = fn->nodes.data[arg].next;
    uint32_t i = HIA_IMM_A(fn->nodes.data[arg].imm);
    keep[i] = m->node_used[arg];
    if (keep[i])
      fn->nodes.data[arg].imm = kept++;
    else
      hiaG_remove(fn, arg);
  }
  if (kept == n_vars) return false;
  keep_ins(fn, n, 0, keep, n_vars);
  keep_ins(fn, hiaG_yield_of(fn, head + 1), 0, keep, n_vars);
  return true;
}

void hiaG_dce(hia_graph *g, hia_fn *fn) {
  hia_arena *scratch = &g->comp->scratch;
  marking m = {.g = g, .fn = fn, .scratch = scratch};
  m.node_used = HIA_NEW_ARRAY(scratch, bool, fn->nodes.len);
  m.value_used = HIA_NEW_ARRAY(scratch, bool, fn->values.len);
  HIA_EACH_NODE(fn, n)
    if (must_stay(&m, n)) use_node(&m, n);
  while (m.todo.len) use_definition(&m, m.todo.data[--m.todo.len]);

  hia_subst subst = hiaG_subst(g, fn);
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    const hia_node *node = &fn->nodes.data[n];
    hiaG_rewrite_ins(&subst, fn, n);
    bool is_used = node->op == HIA_OP_YIELD || m.node_used[n];
    if (!is_used) {
      next = hiaG_walk_over(fn, n);
      hiaG_remove(fn, n);
      is_changed = true;
      continue;
    }
    if (node->op == HIA_OP_LOOP) is_changed |= prune_variables(&m, n);
    if (node->op == HIA_OP_IF || node->op == HIA_OP_LOOP)
      is_changed |= prune_results(&m, &subst, n);
    next = hiaG_walk_next(fn, n);
  }
  if (is_changed) hiaG_compact(g, fn);
}
