/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls and forks: which arguments are handed over, and which calls are of owning versions. */
#include "graph/ir/build.h"
#include "graph/ir/walk.h"
#include "graph/refs/counting.h"

static bool is_within_value(const hia_counting *c, uint32_t part, uint32_t r) {
  for (; part != HIA_NONE; part = c->parent[part])
    if (part == r) return true;
  return false;
}

/* True if argument i of a call or fork dies with it: nothing that is live behind it, and no other
 * argument, is the value, a part of it, or has it as a part. */
static bool dies(const hia_counting *c, const hia_ref_set live, hia_node_id n, uint32_t i) {
  uint32_t r = c->ref[hiaG_in(c->fn, n, i)];
  if (r == HIA_NONE || hiaG_refs_is_alive(c, live, r) || hiaG_refs_has_live_part(c, live, r))
    return false;
  for (uint32_t k = 0; k < c->fn->nodes.data[n].n_ins; k++) {
    uint32_t other = k == i ? HIA_NONE : c->ref[hiaG_in(c->fn, n, k)];
    if (other != HIA_NONE && (is_within_value(c, other, r) || is_within_value(c, r, other)))
      return false;
  }
  return true;
}

/* True if all arguments that the callee would borrow die at node n, which calls or forks it:
 * some are objects, and `can_go` allows it for each. */
static bool suits_owning(const hia_counting *c, const hia_ref_set live, hia_node_id n,
                         bool (*can_go)(const hia_counting *c, hia_node_id fork, uint32_t r)) {
  const hia_node *node = &c->fn->nodes.data[n];
  const hia_ref_version *callee = &c->versions[hiaG_callee(node)];
  bool has_object = false;
  if (!callee->can_own || c->versions[c->id].base_call == n) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, n, i);
    if (callee->owns[i] || hiaG_is_scalar(hiaG_type(c->fn, v)) || c->ref[v] == HIA_NONE) continue;
    if (!dies(c, live, n, i) || (can_go && !can_go(c, n, c->ref[v]))) return false;
    has_object = true;
  }
  return has_object;
}

/* From now on node n calls the owning version. */
static void use_owning(const hia_counting *c, hia_node_id n) {
  hia_node *node = &c->fn->nodes.data[n];
  hia_ref_version *callee = &c->versions[hiaG_callee(node)];
  if (c->is_trial)
    callee->is_wanted = true;
  else
    node->imm = HIA_IMM(callee->owning, HIA_IMM_B(node->imm));
}

static bool owns_argument(const hia_counting *c, hia_node_id n, uint32_t i, bool is_owning) {
  const hia_node *node = &c->fn->nodes.data[n];
  if (hiaG_is_scalar(hiaG_type(c->fn, hiaG_in(c->fn, n, i)))) return false;
  return is_owning || c->versions[hiaG_callee(node)].owns[i];
}

void hiaG_refs_call(hia_counting *c, hia_ref_set live, hia_node_id n) {
  bool is_owning = suits_owning(c, live, n, NULL);
  if (is_owning) use_owning(c, n);
  uint32_t n_ins = c->fn->nodes.data[n].n_ins;
  for (uint32_t i = 0; i < n_ins; i++)
    if (!owns_argument(c, n, i, is_owning))
      hiaG_refs_borrow(c, live, n, hiaG_in(c->fn, n, i), HIA_NONE);
  for (uint32_t i = 0; i < n_ins; i++)
    if (owns_argument(c, n, i, is_owning)) hiaG_refs_consume(c, live, n, hiaG_in(c->fn, n, i));
}

/* ---- forks ----
 *
 * A fork is latent up to the end of it, where a thief may have taken it. Until then its arguments
 * stay alive. But a thief may free them as it goes if it gets the only reference: the fork *gives*
 * an argument that dies with the call, and that nothing looks at while the fork is latent. */

static hia_node_id fork_of(const hia_counting *c, uint32_t number) {
  for (hia_node_id n = 0; n < c->fn->nodes.len; n++) {
    const hia_node *node = &c->fn->nodes.data[n];
    if (node->op == HIA_OP_FORK && !(node->flags & HIA_NODE_DEAD) && HIA_IMM_B(node->imm) == number)
      return n;
  }
  HIA_BUG(c->g->comp, "%s: a join of no fork", c->fn->name);
}

/* True if the node ends this fork. */
static bool ends_fork(const hia_counting *c, hia_node_id n, hia_node_id fork) {
  const hia_node *nodes = c->fn->nodes.data;
  return nodes[n].op == HIA_OP_STOLEN && HIA_IMM_B(nodes[n].imm) == HIA_IMM_B(nodes[fork].imm);
}

/* True if nothing looks at the value, at what it is a part of, or at its parts while the fork is
 * latent. */
static bool is_untouched(const hia_counting *c, hia_node_id fork, uint32_t r) {
  for (hia_node_id n = hiaG_walk_next(c->fn, fork); !ends_fork(c, n, fork);
       n = hiaG_walk_next(c->fn, n))
    for (uint32_t i = 0; i < c->fn->nodes.data[n].n_ins; i++) {
      uint32_t other = c->ref[hiaG_in(c->fn, n, i)];
      if (other != HIA_NONE && (is_within_value(c, other, r) || is_within_value(c, r, other)))
        return false;
    }
  return true;
}

void hiaG_refs_join(hia_counting *c, hia_ref_set live, hia_node_id n) {
  uint32_t number = HIA_IMM_B(c->fn->nodes.data[n].imm);
  hia_node_id fork = fork_of(c, number);
  bool is_owning = suits_owning(c, live, fork, is_untouched);
  uint32_t n_ins = c->fn->nodes.data[fork].n_ins;
  bool *is_given = HIA_NEW_ARRAY(c->scratch, bool, n_ins + 1);
  for (uint32_t i = 0; i < n_ins; i++)
    is_given[i] = owns_argument(c, fork, i, is_owning) && dies(c, live, fork, i) &&
                  is_untouched(c, fork, c->ref[hiaG_in(c->fn, fork, i)]);
  for (uint32_t i = 0; i < n_ins; i++)
    if (!is_given[i]) hiaG_refs_borrow(c, live, n, hiaG_in(c->fn, fork, i), HIA_NONE);
  for (uint32_t i = 0; i < n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, fork, i);
    if (!is_given[i]) continue;
    add(live, c->ref[v]);
    if (!c->is_trial) hiaG_insert(c->g, c->fn, fork, HIA_OP_GIVE, &v, 1, NULL, 0, number, HIA_NONE);
  }
  if (is_owning) {
    use_owning(c, fork);
    if (!c->is_trial)
      c->fn->nodes.data[n].imm = HIA_IMM(hiaG_callee(&c->fn->nodes.data[fork]), number);
  }
}
