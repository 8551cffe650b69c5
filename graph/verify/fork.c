/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Verifier, both states: forks.
 *
 * The frames of native code hold the open forks of a worker, and the runtime reads them
 * (runtime/native/fork.h). So a graph, which may come from text, must not be able to break that:
 *
 *  - A number belongs to one fork of the function. The fork ends at its one `stolen`, in the region
 *    it began in. Forks nest: a `stolen` ends the newest open fork, and at the end of a region no
 *    fork is open that began in it.
 *  - Between a `stolen` and its one `join` nothing is called, repeated or forked, and the join is
 *    reached whenever the fork was stolen: behind the `stolen`, in the same region, comes the
 *    branch that it decides, with the join in its THEN. Before and between these there may be
 *    operations that only compute.
 *
 * The walks of fn.c and static.c notify this file of what they pass, in sequential
 * order. */
#include "graph/verify/verifier.h"

static bool is_fork_op(unsigned op) {
  return op == HIA_OP_FORK || op == HIA_OP_STOLEN || op == HIA_OP_JOIN;
}

bool hiaG_has_forks(const hia_fn *fn) {
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (is_fork_op(fn->nodes.data[n].op) && !(fn->nodes.data[n].flags & HIA_NODE_DEAD)) return true;
  return false;
}

hia_fork_check hiaG_check_forks(hia_verifier *v) {
  return (hia_fork_check){.v = v, .stolen = HIA_NONE, .branch = HIA_NONE};
}

static void check_number(hia_fork_check *c, hia_node_id n, uint32_t number) {
  uint32_t hash = hiaR_hash(&number, sizeof number), at = hash, other;
  while ((other = hiaR_index_next(&c->numbers, hash, &at)) != HIA_NONE)
    if (HIA_IMM_B(c->v->fn->nodes.data[other].imm) == number)
      hiaG_defect(c->v, n, "there is another fork %u", number);
  hiaR_index_add(c->v->scratch, &c->numbers, hash, n);
}

static void check_fork(hia_fork_check *c, hia_node_id n) {
  const hia_node *node = &c->v->fn->nodes.data[n];
  hia_open_fork fork = {HIA_IMM_B(node->imm), n, node->region};
  check_number(c, n, fork.number);
  hiaR_push(c->v->scratch, &c->open, fork);
}

static void check_stolen(hia_fork_check *c, hia_node_id n) {
  const hia_node *node = &c->v->fn->nodes.data[n];
  uint32_t number = HIA_IMM_B(node->imm);
  const hia_open_fork *fork = c->open.len ? &c->open.data[c->open.len - 1] : NULL;
  if (HIA_IMM_A(node->imm) != HIA_NONE) hiaG_defect(c->v, n, "stolen has no callee");
  if (!fork || fork->number != number || fork->region != node->region)
    hiaG_defect(c->v, n, "fork %u is not the newest that is open, or of another region", number);
  hiaG_expect_type(c->v, n, "result", 0, hiaG_type(c->v->fn, node->outs), HIA_BOOL);
  c->fork = fork->node;
  c->open.len--;
  c->stolen = n;
}

static void check_join(hia_fork_check *c, hia_node_id n) {
  const hia_node *node = &c->v->fn->nodes.data[n];
  if (c->branch == HIA_NONE || node->region != c->branch ||
      node->imm != c->v->fn->nodes.data[c->fork].imm)
    hiaG_defect(c->v, n, "a join is the first in the branch that its fork's stolen decides");
  c->stolen = c->branch = HIA_NONE;
}

/* True if the node may stand between a `stolen` and its `join`: it never polls, and has no region
 * that may be skipped. */
static bool is_allowed(const hia_fn *fn, hia_node_id n) {
  switch (fn->nodes.data[n].op) {
  case HIA_OP_CONST:
  case HIA_OP_UNDEF:
  case HIA_OP_PARAM:
  case HIA_OP_LITERAL:
  case HIA_OP_SWITCH: return true;
  case HIA_OP_IF: return true; /* hiaG_fork_region checks that it is the right branch */
  default: return hiaG_is_scalar_op(fn, n);
  }
}

void hiaG_fork_node(hia_fork_check *c, hia_node_id n) {
  const hia_node *node = &c->v->fn->nodes.data[n];
  if (node->op == HIA_OP_JOIN) {
    check_join(c, n);
    return;
  }
  if (c->stolen != HIA_NONE && !is_allowed(c->v->fn, n))
    hiaG_defect(c->v, n, "it stands between a stolen and its join");
  if (node->op == HIA_OP_FORK) check_fork(c, n);
  if (node->op == HIA_OP_STOLEN) check_stolen(c, n);
}

void hiaG_fork_region(hia_fork_check *c, hia_region_id r, hia_value_id pred) {
  if (c->stolen == HIA_NONE) return;
  const hia_fn *fn = c->v->fn;
  const hia_node *stolen = &fn->nodes.data[c->stolen];
  const hia_region *region = &fn->regions.data[r];
  if (c->branch != HIA_NONE || region->kind != HIA_REGION_THEN || pred != stolen->outs ||
      region->parent != stolen->region)
    hiaG_defect(c->v, c->stolen, "a branch that it decides, with a join, must follow");
  c->branch = r;
}

void hiaG_fork_region_end(hia_fork_check *c, hia_region_id r) {
  if (c->stolen != HIA_NONE) hiaG_defect(c->v, c->stolen, "its join is missing");
  if (c->open.len && c->open.data[c->open.len - 1].region == r)
    hiaG_defect(c->v, c->open.data[c->open.len - 1].node, "it is open at the end of its region");
}
