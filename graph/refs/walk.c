/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The walk over a function, against sequential order: each node by its op, branches, and the
 * function as a whole. */
#include "graph/ir/walk.h"
#include "graph/refs/counting.h"

uint32_t hiaG_refs_asked(const hia_counting *c, hia_value_id cond, uint32_t side[2]) {
  const hia_node *n = hiaG_def(c->fn, cond);
  hia_word word;
  if (n->op != HIA_OP_EQ && n->op != HIA_OP_NE) return HIA_NONE;
  hia_value_id left = c->fn->edges.data[n->ins], right = c->fn->edges.data[n->ins + 1];
  if (hiaG_is_const(c->fn, left, &word)) {
    hia_value_id swapped = left;
    left = right;
    right = swapped;
  }
  const hia_node *ctor = hiaG_def(c->fn, left);
  if (ctor->op != HIA_OP_CTOR || !hiaG_is_const(c->fn, right, &word)) return HIA_NONE;
  hia_value_id v = c->fn->edges.data[ctor->ins];
  uint32_t r = c->ref[v];
  if (r == HIA_NONE) return r;
  const hia_type_entry *type = &c->g->types->entries.data[hiaG_type(c->fn, v) - HIA_FIRST_TYPE];
  uint32_t number = (uint32_t)hiaR_to_i32(word), equal = n->op == HIA_OP_NE;
  if (number >= type->n) return HIA_NONE;
  side[equal] = number;
  side[!equal] = type->n == 2 ? 1 - number : HIA_NONE;
  return r;
}

/* The results of the branch that the set has are now those of another one, or of the operands that
 * its arm yields: these are consumed. */
static void rename_results(const hia_counting *c, hia_ref_set set, hia_node_id n, hia_node_id to) {
  for (uint32_t i = 0; i < c->fn->nodes.data[n].n_outs; i++) {
    uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
    if (r == HIA_NONE || !has(set, r)) continue;
    take_out(set, r);
    add(set, c->ref[hiaG_out(c->fn, to, i)]);
  }
}

static void yield_results(hia_counting *c, hia_ref_set set, hia_node_id n, hia_node_id yield) {
  hia_ref_set before = hiaG_refs_copy_set(c, set);
  uint32_t n_outs = c->fn->nodes.data[n].n_outs;
  for (uint32_t i = 0; i < n_outs; i++) {
    uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
    if (r != HIA_NONE) take_out(set, r);
  }
  for (uint32_t i = 0; i < n_outs; i++) {
    uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
    if (r != HIA_NONE && has(before, r)) hiaG_refs_consume(c, set, yield, hiaG_in(c->fn, yield, i));
  }
}

/* Walks through an arm of branch n. Writes what is live at its start. */
static void walk_arm(hia_counting *c, hia_ref_set live, hia_node_id n, hia_region_id arm,
                     const hia_ref_ways *w) {
  hia_node_id yield = hiaG_yield_of(c->fn, arm);
  hia_word goes_on;
  if (!w) {
    hiaG_refs_walk(c, live, yield);
  } else if (hiaG_is_const(c->fn, hiaG_in(c->fn, yield, w->cond), &goes_on)) {
    memcpy(live, goes_on ? w->on : w->exit, c->n_words * sizeof *live);
    yield_results(c, live, n, yield);
    hiaG_refs_walk(c, live, c->fn->nodes.data[yield].prev);
  } else {
    hia_node_id inner = hiaG_split_of(c->fn, arm, w->cond);
    hia_ref_ways inside = {w->cond, hiaG_refs_copy_set(c, w->on), hiaG_refs_copy_set(c, w->exit)};
    rename_results(c, inside.on, n, inner);
    rename_results(c, inside.exit, n, inner);
    hiaG_refs_branch(c, live, inner, &inside);
    hiaG_refs_walk(c, live, c->fn->nodes.data[inner].prev);
  }
}

void hiaG_refs_branch(hia_counting *c, hia_ref_set live, hia_node_id n, const hia_ref_ways *w) {
  hia_region_id then = c->fn->nodes.data[n].regions;
  uint32_t side[2], r = hiaG_refs_asked(c, hiaG_in(c->fn, n, 0), side);
  uint32_t before = r == HIA_NONE ? HIA_NONE : c->known[r];
  hia_ref_set live_in_else = hiaG_refs_copy_set(c, live);
  for (uint32_t k = 0; k < 2; k++) {
    if (r != HIA_NONE && side[k] != HIA_NONE) c->known[r] = side[k];
    walk_arm(c, k ? live_in_else : live, n, then + k, w);
    if (r != HIA_NONE) c->known[r] = before;
  }
  /* What a region does not need dies at its start, where the constructor is known. */
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (unsigned k = 0; k < 2; k++) {
      hia_ref_set more = k ? live : live_in_else, fewer = k ? live_in_else : live;
      if (r != HIA_NONE && side[k] != HIA_NONE) c->known[r] = side[k];
      for (uint32_t m = 0; (m = hiaG_refs_missing(c, more, fewer, m)) != HIA_NONE; m++)
        if (!hiaG_refs_has_ancestor(c, fewer, m)) {
          hiaG_refs_die_at_start(c, fewer, m, then + k);
          is_changed = true;
        }
      if (r != HIA_NONE) c->known[r] = before;
    }
  }
}

static void count_uses(hia_counting *c, hia_ref_set live, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  uint32_t n_ins = node->n_ins;
  if (hiaG_is_part(node)) { /* its result is a part of what it borrows */
    uint32_t ctor = node->op == HIA_OP_FIELD ? HIA_IMM_A(node->imm) : HIA_NONE;
    hiaG_refs_borrow(c, live, n, hiaG_in(c->fn, n, 0), ctor);
    return;
  }
  hiaG_refs_define_results(c, live, n);
  if (hiaG_consumes(c->fn, n)) {
    for (uint32_t i = 0; i < n_ins; i++) hiaG_refs_consume(c, live, n, hiaG_in(c->fn, n, i));
    return;
  }
  switch (node->op) {
  case HIA_OP_FILL: /* the array gets the words */
    for (uint32_t i = 1; i < n_ins; i++) hiaG_refs_consume(c, live, n, hiaG_in(c->fn, n, i));
    hiaG_refs_borrow(c, live, n, hiaG_in(c->fn, n, 0), HIA_NONE);
    break;
  case HIA_OP_YIELD:
    for (uint32_t i = 0; i < n_ins; i++)
      if (!hiaG_refs_hands_on_borrowed(c, n, i))
        hiaG_refs_consume(c, live, n, hiaG_in(c->fn, n, i));
    break;
  case HIA_OP_IF: hiaG_refs_branch(c, live, n, NULL); break;
  case HIA_OP_LOOP: hiaG_refs_count_loop(c, live, n); break;
  case HIA_OP_CALL: hiaG_refs_call(c, live, n); break;
  case HIA_OP_JOIN: hiaG_refs_join(c, live, n); break;
  case HIA_OP_GIVE: break;
  default: /* it looks at its operands */
    for (uint32_t i = 0; i < n_ins; i++)
      hiaG_refs_borrow(c, live, n, hiaG_in(c->fn, n, i), HIA_NONE);
  }
}

void hiaG_refs_walk(hia_counting *c, hia_ref_set live, hia_node_id last) {
  for (hia_node_id n = last, prev; n != HIA_NONE; n = prev) {
    prev = c->fn->nodes.data[n].prev; /* nodes that are added stand behind it */
    if (c->fn->nodes.data[n].op != HIA_OP_ARG) count_uses(c, live, n);
  }
}

static void number_references(hia_counting *c) {
  hia_fn *fn = c->fn;
  c->ref = HIA_NEW_ARRAY(c->scratch, uint32_t, fn->values.len);
  c->inside = HIA_NEW_ARRAY(c->scratch, uint32_t, fn->values.len);
  c->value = HIA_NEW_ARRAY(c->scratch, hia_value_id, fn->values.len);
  for (hia_value_id v = 0; v < fn->values.len; v++) c->ref[v] = HIA_NONE;
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (hiaG_is_constant(node->op) || node->op == HIA_OP_HOLE) continue;
    for (uint32_t i = 0; i < node->n_outs; i++) {
      hia_value_id v = hiaG_out(fn, n, i);
      if (!hiaG_may_be_object(c->g, fn, v)) continue;
      if (hiaG_is_part(node) && c->ref[hiaG_in(fn, n, 0)] == HIA_NONE) continue;
      c->ref[v] = c->n;
      c->value[c->n++] = v;
    }
  }
  c->n_words = c->n / 64 + 1;
  uint32_t *all[] = {c->parent, c->child, c->next, c->known};
  for (unsigned k = 0; k < HIA_LEN(all); k++) {
    all[k] = HIA_NEW_ARRAY(c->scratch, uint32_t, c->n + 1);
    memset(all[k], 0xff, (c->n + 1) * sizeof *all[k]);
  }
  c->parent = all[0], c->child = all[1], c->next = all[2], c->known = all[3];
  c->is_borrowed = HIA_NEW_ARRAY(c->scratch, bool, c->n + 1);
  for (uint32_t r = c->n; r-- > 0;) {
    const hia_node *node = hiaG_refs_definition(c, r);
    if (!hiaG_is_part(node)) continue;
    uint32_t parent = c->ref[fn->edges.data[node->ins]];
    c->parent[r] = parent;
    c->next[r] = c->child[parent];
    c->child[parent] = r;
  }
}

bool hiaG_refs_walk_function(hia_counting *c) {
  hia_fn *fn = c->fn;
  number_references(c);
  if (!c->n) return false;
  hia_ref_set live = HIA_NEW_ARRAY(c->scratch, uint64_t, c->n_words);
  HIA_EACH_ARG(fn, 0, arg) {
    uint32_t r = c->ref[hiaG_out(fn, arg, 0)];
    if (r != HIA_NONE) c->is_borrowed[r] = !c->versions[c->id].owns[fn->nodes.data[arg].imm];
  }
  hiaG_refs_walk(c, live, hiaG_yield_of(c->fn, 0));
  HIA_EACH_ARG(fn, 0, arg) {
    uint32_t r = c->ref[hiaG_out(fn, arg, 0)];
    if (r == HIA_NONE || c->is_borrowed[r]) continue;
    if (!has(live, r)) hiaG_refs_die_at_start(c, live, r, 0);
    take_out(live, r);
  }
  for (uint32_t r = 0; r < c->n; r++)
    if (has(live, r)) HIA_BUG(c->g->comp, "%s: a reference without an owner", fn->name);
  return true;
}
