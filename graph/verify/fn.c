/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Verifier, function state: the tree of regions, the visibility of values, and the types on which
 * regions, their owners and calls must agree.
 *
 * One walk in order of definition. A value may be used if the walk has passed its node and its
 * region is still open. Regions are opened and closed by the walk; the HEAD of a loop is closed
 * only after its ROUND, and the results of an `if` or `loop` are defined after its regions. */
#include "graph/verify/verifier.h"

enum { UNSEEN, INSIDE, PASSED }; /* node states: INSIDE an `if` or `loop` that the walk is in */

typedef struct {
  hia_verifier *v;
  const hia_fn *fn;
  uint8_t *nodes;   /* by node: UNSEEN, ... */
  uint8_t *is_open; /* by region */
  bool has_forks;
  hia_fork_check forks;
  uint32_t n_args; /* of the current region, so far */
  bool is_past_args;
} walk;

/* Checks that the operands (or results) of n, without the first `skip`, have these types. */
static void expect_types(walk *w, hia_node_id n, bool is_in, const hia_type *types,
                         uint32_t n_types, uint32_t skip) {
  const char *what = is_in ? "operand" : "result";
  uint32_t n_values = is_in ? w->fn->nodes.data[n].n_ins : w->fn->nodes.data[n].n_outs;
  if (n_values < skip || n_values - skip != n_types)
    hiaG_defect(w->v, n, "it has %u %ss, but must have %u", n_values, what, n_types + skip);
  for (uint32_t i = 0; i < n_types; i++) {
    hia_value_id v = is_in ? hiaG_in(w->fn, n, i + skip) : hiaG_out(w->fn, n, i);
    hiaG_expect_type(w->v, n, what, i + skip, hiaG_type(w->fn, v), types[i]);
  }
}

/* The types of `count` values: operands, or results of another node. */
static const hia_type *types_of(walk *w, const hia_value_id *values, hia_value_id first,
                                uint32_t count) {
  hia_type *types = HIA_NEW_ARRAY(w->v->scratch, hia_type, count);
  for (uint32_t i = 0; i < count; i++) types[i] = hiaG_type(w->fn, values ? values[i] : first + i);
  return types;
}

static const hia_type *element_types(walk *w, hia_type array, uint32_t *n) {
  const hia_types *all = w->v->g->types;
  const hia_layout *layout = &all->entries.data[array - HIA_FIRST_TYPE].layout;
  hia_type *types = HIA_NEW_ARRAY(w->v->scratch, hia_type, layout->n);
  for (uint32_t i = 0; i < layout->n; i++)
    types[i] = all->layout_words.data[layout->first + i].type;
  *n = layout->n;
  return types;
}

static void check_yield(walk *w, hia_node_id n) {
  const hia_fn *fn = w->fn;
  const hia_node *node = &fn->nodes.data[n];
  const hia_region *region = &fn->regions.data[node->region];
  if (region->kind == HIA_REGION_BODY) {
    expect_types(w, n, true, fn->results, fn->n_results, 0);
    return;
  }
  const hia_node *owner = &fn->nodes.data[region->owner];
  if (region->kind == HIA_REGION_ROUND) {
    const hia_value_id *inits = fn->edges.data + owner->ins;
    expect_types(w, n, true, types_of(w, inits, 0, owner->n_ins), owner->n_ins, 0);
    return;
  }
  if (region->kind == HIA_REGION_EACH) {
    uint32_t n_words;
    const hia_type *words = element_types(w, hiaG_type(fn, owner->outs), &n_words);
    expect_types(w, n, true, words, n_words, 0);
    return;
  }
  uint32_t skip = region->kind == HIA_REGION_HEAD ? 1 : 0;
  expect_types(w, n, true, types_of(w, NULL, owner->outs, owner->n_outs), owner->n_outs, skip);
  if (skip) hiaG_expect_type(w->v, n, "operand", 0, hiaG_type(fn, hiaG_in(fn, n, 0)), HIA_BOOL);
}

static void check_arg(walk *w, hia_node_id n) {
  const hia_fn *fn = w->fn;
  const hia_node *node = &fn->nodes.data[n];
  const hia_region *region = &fn->regions.data[node->region];
  bool is_body = region->kind == HIA_REGION_BODY, is_each = region->kind == HIA_REGION_EACH;
  if (!is_body && !is_each && region->kind != HIA_REGION_HEAD)
    hiaG_defect(w->v, n, "arg stands in the body of a function, the head of a loop, or a map");
  if (node->imm != w->n_args || w->is_past_args)
    hiaG_defect(w->v, n, "args come first in their region, in order");
  const hia_node *owner = is_body ? NULL : &fn->nodes.data[region->owner];
  if (w->n_args >= (is_body ? fn->n_params : owner->n_ins))
    hiaG_defect(w->v, n, "more args than there are %s", is_body ? "parameters" : "variables");
  hia_type wanted = is_each   ? HIA_I64 /* the index; the operand is the length */
                    : is_body ? fn->params[w->n_args]
                              : hiaG_type(fn, fn->edges.data[owner->ins + w->n_args]);
  hiaG_expect_type(w->v, n, "result", 0, hiaG_type(fn, node->outs), wanted);
  w->n_args++;
}

static void check_call(walk *w, hia_node_id n) {
  const hia_graph *g = w->v->g;
  const hia_node *node = &w->fn->nodes.data[n];
  if (node->imm >= g->fns.len || g->fns.data[node->imm]->is_removed)
    hiaG_defect(w->v, n, "its callee does not exist");
  const hia_fn *callee = g->fns.data[node->imm];
  expect_types(w, n, true, callee->params, callee->n_params, 0);
  expect_types(w, n, false, callee->results, callee->n_results, 0);
}

static void check_region(walk *w, hia_region_id r, unsigned kind, hia_region_id parent,
                         hia_node_id owner) {
  const hia_region *region = &w->fn->regions.data[r];
  if (region->kind != kind || region->parent != parent || region->owner != owner)
    hiaG_defect(w->v, owner, "region %u is of another kind, parent or owner than it should be", r);
  if (region->pred != HIA_NONE)
    hiaG_defect(w->v, owner, "region %u has a predicate before tagging", r);
  if (region->first == HIA_NONE || region->last == HIA_NONE || region->last >= w->fn->nodes.len ||
      w->fn->nodes.data[region->last].op != HIA_OP_YIELD)
    hiaG_defect(w->v, owner, "region %u does not end with a yield", r);
}

/* Checks that the node is in the walk's region, linked to its neighbours, and seen for the first
 * time. */
static void check_link(walk *w, hia_node_id n, hia_region_id r, hia_node_id prev) {
  if (n >= w->fn->nodes.len) hiaG_defect(w->v, HIA_NONE, "the list of region %u leads outside", r);
  const hia_node *node = &w->fn->nodes.data[n];
  const hia_region *region = &w->fn->regions.data[r];
  if (node->flags & HIA_NODE_DEAD)
    hiaG_defect(w->v, HIA_NONE, "removed node %u is still in the list of region %u", n, r);
  if (w->nodes[n] != UNSEEN) hiaG_defect(w->v, n, "it is in two places");
  if (node->region != r || node->prev != prev)
    hiaG_defect(w->v, n, "it is in the list of region %u with wrong links", r);
  if ((node->op == HIA_OP_YIELD) != (node->next == HIA_NONE) ||
      (node->next == HIA_NONE && region->last != n))
    hiaG_defect(w->v, n, "a yield, and nothing else, is the last node of its region");
}

static void check_operands(walk *w, hia_node_id n) {
  const hia_node *node = &w->fn->nodes.data[n];
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(w->fn, n, i);
    hia_node_id def = w->fn->values.data[v].node;
    if (w->nodes[def] != PASSED) hiaG_defect(w->v, n, "%%%u is not defined before its use", v);
    if (!w->is_open[w->fn->nodes.data[def].region])
      hiaG_defect(w->v, n, "%%%u is not visible here", v);
  }
}

/* Checks the number of ARGs of a region; n is its first node that is none. */
static void end_args(walk *w, hia_node_id n) {
  const hia_region *region = &w->fn->regions.data[w->fn->nodes.data[n].region];
  uint32_t wanted = 0;
  if (region->kind == HIA_REGION_BODY) wanted = w->fn->n_params;
  if (region->kind == HIA_REGION_HEAD || region->kind == HIA_REGION_EACH)
    wanted = w->fn->nodes.data[region->owner].n_ins;
  if (w->n_args != wanted)
    hiaG_defect(w->v, n, "its region begins with %u args, but must with %u", w->n_args, wanted);
  w->is_past_args = true;
}

static hia_node_id enter(walk *w, hia_region_id r) {
  const hia_region *region = &w->fn->regions.data[r];
  bool is_branch = region->kind == HIA_REGION_THEN || region->kind == HIA_REGION_ELSE;
  if (w->has_forks)
    hiaG_fork_region(&w->forks, r, is_branch ? hiaG_in(w->fn, region->owner, 0) : HIA_NONE);
  w->is_open[r] = 1;
  w->n_args = 0;
  w->is_past_args = false;
  return w->fn->regions.data[r].first;
}

void hiaG_verify_function(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  walk w = {.v = v,
            .fn = fn,
            .nodes = HIA_NEW_ARRAY(v->scratch, uint8_t, fn->nodes.len),
            .is_open = HIA_NEW_ARRAY(v->scratch, uint8_t, fn->regions.len),
            .has_forks = hiaG_has_forks(fn),
            .forks = hiaG_check_forks(v)};
  hia_region_id r = 0;
  check_region(&w, 0, HIA_REGION_BODY, HIA_NONE, HIA_NONE);
  hia_node_id n = enter(&w, 0), prev = HIA_NONE;
  for (;;) {
    check_link(&w, n, r, prev);
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_ARG)
      check_arg(&w, n);
    else if (!w.is_past_args)
      end_args(&w, n);
    check_operands(&w, n);
    if (node->op == HIA_OP_CALL) check_call(&w, n);
    if (node->op == HIA_OP_YIELD) check_yield(&w, n);
    if (w.has_forks) {
      hiaG_fork_node(&w.forks, n);
      if (node->op == HIA_OP_YIELD) hiaG_fork_region_end(&w.forks, r);
    }
    w.nodes[n] = PASSED;

    if (node->regions != HIA_NONE) {
      bool is_if = node->op == HIA_OP_IF;
      hia_region_id first = node->regions;
      if (is_if) hiaG_expect_type(v, n, "operand", 0, hiaG_type(fn, hiaG_in(fn, n, 0)), HIA_BOOL);
      if (node->op == HIA_OP_MAP) {
        check_region(&w, first, HIA_REGION_EACH, r, n);
      } else {
        check_region(&w, first, is_if ? HIA_REGION_THEN : HIA_REGION_HEAD, r, n);
        check_region(&w, first + 1, is_if ? HIA_REGION_ELSE : HIA_REGION_ROUND, is_if ? r : first,
                     n);
      }
      w.nodes[n] = INSIDE;
      r = first;
      n = enter(&w, r);
      prev = HIA_NONE;
      continue;
    }
    /* Leave the regions that end here. */
    while (node->next == HIA_NONE && r != 0) {
      hia_node_id owner = fn->regions.data[r].owner;
      hia_region_id first = fn->nodes.data[owner].regions;
      hia_region_id last = first + hiaG_n_regions(fn->nodes.data[owner].op) - 1;
      if (r != last) break;
      w.is_open[first] = w.is_open[last] = 0;
      w.nodes[owner] = PASSED;
      n = owner;
      node = &fn->nodes.data[n];
      r = node->region;
      w.is_past_args = true;
    }
    if (node->next != HIA_NONE) {
      prev = n;
      n = node->next;
    } else if (r == 0) {
      break;
    } else {
      if (fn->regions.data[r].kind == HIA_REGION_THEN) w.is_open[r] = 0;
      r++;
      n = enter(&w, r);
      prev = HIA_NONE;
    }
  }
  for (n = 0; n < fn->nodes.len; n++)
    if (w.nodes[n] == UNSEEN && !(fn->nodes.data[n].flags & HIA_NODE_DEAD))
      hiaG_defect(v, n, "it is in no list, and not marked as removed");
}
