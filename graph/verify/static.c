/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Verifier, static state: sections, their control contexts, the tag discipline, and call sites.
 *
 * The tag discipline restricts where the token of a value may go. A value has a context: the region
 * in which it may be used, and nowhere further in or out. For most nodes that is the region of the
 * node; the outputs of a Switch belong to the two sides that it decides between, the output of an
 * Enter to the loop's HEAD. The false output of a Switch in a HEAD, which leaves the loop, goes
 * only to Exits; a NextIteration, and an Enter of a variable, go only to a loop Merge. */
#include "graph/analysis/effects.h"
#include "graph/ir/region_order.h"
#include "graph/verify/verifier.h"

/* Contexts that are no regions: LEAVING | h, for a Switch in HEAD h; and that of loop Merges. */
#define LEAVING     0x80000000u
#define TO_MERGE    0xfffffffeu
#define MAX_REGIONS LEAVING

static const char *const kind_names[] = {"body", "then", "else", "head", "round"};

/* ---- contexts ---- */

static void check_region(hia_verifier *v, hia_region_id r) {
  const hia_fn *fn = v->fn;
  const hia_region *regions = fn->regions.data, *region = &regions[r];
  if (region->kind > HIA_REGION_ROUND || region->owner != HIA_NONE ||
      region->first > region->last || region->last > fn->nodes.len)
    hiaG_defect(v, HIA_NONE, "region %u has no kind, or an owner, or lies outside", r);
  const char *kind = kind_names[region->kind];
  if (r == 0) {
    if (region->kind != HIA_REGION_BODY || region->parent != HIA_NONE || region->first != 0 ||
        region->last != fn->nodes.len || region->pred != HIA_NONE)
      hiaG_defect(v, HIA_NONE, "region 0 is not the whole body");
    return;
  }
  if (region->kind == HIA_REGION_BODY || region->parent >= r)
    hiaG_defect(v, HIA_NONE, "region %u, %s, comes before its parent, or has none", r, kind);
  if ((region->pred != HIA_NONE) == (region->kind == HIA_REGION_HEAD) ||
      (region->pred != HIA_NONE && region->pred >= fn->values.len))
    hiaG_defect(v, HIA_NONE, "region %u, %s, lacks its predicate, or has one", r, kind);
  /* Pairs: at the first region the second is checked, at the second that there is a first. */
  const hia_region *before = &regions[r - 1];
  const hia_region *behind = r + 1 < fn->regions.len ? &regions[r + 1] : NULL;
  bool is_right = true;
  switch ((hia_region_kind)region->kind) {
  case HIA_REGION_THEN:
    is_right = behind && behind->kind == HIA_REGION_ELSE && behind->parent == region->parent &&
               behind->pred == region->pred && behind->first == region->last;
    break;
  case HIA_REGION_ELSE: is_right = before->kind == HIA_REGION_THEN; break;
  case HIA_REGION_HEAD:
    is_right = behind && behind->kind == HIA_REGION_ROUND && behind->parent == r &&
               behind->last == region->last;
    break;
  case HIA_REGION_ROUND: is_right = before->kind == HIA_REGION_HEAD; break;
  case HIA_REGION_EACH: is_right = false; break;
  case HIA_REGION_BODY: break;
  }
  if (!is_right) hiaG_defect(v, HIA_NONE, "region %u, %s, and its partner do not fit", r, kind);
}

/* Checks that regions nest as their parents say, and that every node is in the innermost region
 * around it. */
static void check_contexts(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  if (fn->regions.len >= MAX_REGIONS) hiaG_defect(v, HIA_NONE, "too many regions");
  for (hia_region_id r = 0; r < fn->regions.len; r++) check_region(v, r);
  hia_context_edge *edges;
  uint32_t n_edges = hiaG_contexts(v->scratch, fn, &edges);
  if (n_edges != 2 * (fn->regions.len - 1))
    hiaG_defect(v, HIA_NONE, "the regions do not form a tree");
  for (uint32_t i = 0; i < n_edges; i++)
    if (i && edges[i].at < edges[i - 1].at)
      hiaG_defect(v, HIA_NONE, "region %u overlaps another", edges[i].region);
  hia_region_id r = 0;
  uint32_t at = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    for (; at < n_edges && edges[at].at <= n; at++)
      r = edges[at].is_end ? fn->regions.data[edges[at].region].parent : edges[at].region;
    if (fn->nodes.data[n].region != r)
      hiaG_defect(v, n, "it stands in region %u, but says %u", r, fn->nodes.data[n].region);
  }
}

/* ---- the tag discipline ---- */

static bool is_region(const hia_fn *fn, uint32_t r, unsigned kind, hia_region_id parent) {
  return r < fn->regions.len && fn->regions.data[r].kind == kind &&
         fn->regions.data[r].parent == parent;
}

/* Returns the context of a value. Its node must have been checked. */
static uint32_t context_of(const hia_fn *fn, hia_value_id value) {
  const hia_node *def = hiaG_def(fn, value);
  uint32_t r = HIA_IMM_A(def->imm);
  switch (def->op) {
  case HIA_OP_SWITCH:
    if (value == def->outs) return r;
    return fn->regions.data[r].kind == HIA_REGION_THEN ? r + 1 : LEAVING | def->region;
  case HIA_OP_ENTER: return HIA_IMM_B(def->imm) ? r : TO_MERGE;
  case HIA_OP_NEXT: return TO_MERGE;
  default: return def->region;
  }
}

static void expect_context(hia_verifier *v, hia_node_id n, hia_value_id value, uint32_t wanted) {
  const hia_fn *fn = v->fn;
  if (fn->values.data[value].node >= n)
    hiaG_defect(v, n, "%%%u is not defined before its use", value);
  uint32_t context = context_of(fn, value);
  if (context == wanted) return;
  if (context == TO_MERGE) hiaG_defect(v, n, "%%%u goes to a merge.loop only", value);
  if (context & LEAVING) hiaG_defect(v, n, "%%%u goes to an exit only", value);
  hiaG_defect(v, n, "%%%u belongs in region %u, not %u", value, context, wanted & ~LEAVING);
}

static void expect_type_of(hia_verifier *v, hia_node_id n, uint32_t i, hia_value_id like) {
  hiaG_expect_type(v, n, "operand", i, hiaG_type(v->fn, hiaG_in(v->fn, n, i)),
                   hiaG_type(v->fn, like));
}

static void check_switch(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  uint64_t r = node->imm;
  bool is_loop = r < fn->regions.len && is_region(fn, (uint32_t)r, HIA_REGION_ROUND, node->region);
  if (r >= fn->regions.len ||
      (!is_loop && !is_region(fn, (uint32_t)r, HIA_REGION_THEN, node->region)))
    hiaG_defect(v, n, "it must name a then or round of the region it stands in");
  if (n >= fn->regions.data[r].first) hiaG_defect(v, n, "a switch stands before what it decides");
  expect_context(v, n, hiaG_in(fn, n, 0), node->region);
  expect_context(v, n, hiaG_in(fn, n, 1), node->region);
  if (hiaG_in(fn, n, 1) != fn->regions.data[r].pred)
    hiaG_defect(v, n, "its predicate is not that of its region");
  expect_type_of(v, n, 0, node->outs);
  expect_type_of(v, n, 0, node->outs + 1);
}

static void check_merge(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (node->imm >= fn->regions.len ||
      !is_region(fn, (uint32_t)node->imm, HIA_REGION_THEN, node->region))
    hiaG_defect(v, n, "it must name a then of the region it stands in");
  hia_region_id then = (hia_region_id)node->imm;
  if (n < fn->regions.data[then + 1].last) hiaG_defect(v, n, "a merge stands behind its branches");
  for (uint32_t i = 0; i < 2; i++) {
    expect_context(v, n, hiaG_in(fn, n, i), then + i);
    expect_type_of(v, n, i, node->outs);
  }
}

static void check_loop_merge(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (fn->regions.data[node->region].kind != HIA_REGION_HEAD)
    hiaG_defect(v, n, "merge.loop stands in the head of a loop");
  const hia_node *enter = hiaG_def(fn, hiaG_in(fn, n, 0));
  const hia_node *next = hiaG_def(fn, hiaG_in(fn, n, 1));
  if (enter->op != HIA_OP_ENTER || enter->imm != HIA_IMM(node->region, 0))
    hiaG_defect(v, n, "its first operand must be an enter of this loop, of a variable");
  if (next->op != HIA_OP_NEXT || next->imm != node->region)
    hiaG_defect(v, n, "its second operand must be a next of this loop");
  expect_type_of(v, n, 0, node->outs);
  expect_type_of(v, n, 1, node->outs);
}

static void check_loop_border(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  uint32_t head = HIA_IMM_A(node->imm);
  if (!is_region(fn, head, HIA_REGION_HEAD, node->region))
    hiaG_defect(v, n, "it must name the head of a loop of the region it stands in");
  if (HIA_IMM_B(node->imm) > (node->op == HIA_OP_ENTER ? 1u : 0u))
    hiaG_defect(v, n, "its immediate has bits that mean nothing");
  bool is_enter = node->op == HIA_OP_ENTER;
  if (is_enter ? n >= fn->regions.data[head].first : n < fn->regions.data[head].last)
    hiaG_defect(v, n, "an enter stands before its loop, an exit behind it");
  expect_context(v, n, hiaG_in(fn, n, 0), is_enter ? node->region : LEAVING | head);
  expect_type_of(v, n, 0, node->outs);
}

static void check_next(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (fn->regions.data[node->region].kind != HIA_REGION_ROUND || node->imm != node->region - 1)
    hiaG_defect(v, n, "next stands in the round of the loop it names");
  expect_context(v, n, hiaG_in(fn, n, 0), node->region);
  expect_type_of(v, n, 0, node->outs);
}

static void check_entry(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (n >= fn->n_params || node->imm != n)
    hiaG_defect(v, n, "the entry merges are the first nodes, one per parameter, in order");
  hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), fn->params[n]);
}

static void check_result(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (n + 1 != fn->nodes.len || node->region != 0)
    hiaG_defect(v, n, "the yield is the last node of a section, in its body");
  if (node->n_ins != fn->n_results)
    hiaG_defect(v, n, "it has %u operands, but must have %u", node->n_ins, fn->n_results);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    expect_context(v, n, hiaG_in(fn, n, i), 0);
    hiaG_expect_type(v, n, "operand", i, hiaG_type(fn, hiaG_in(fn, n, i)), fn->results[i]);
  }
}

/* Compares a node with its site; check_site compares the site with its nodes. */
static void check_call_node(hia_verifier *v, hia_node_id n) {
  const hia_node *node = &v->fn->nodes.data[n];
  uint32_t s = HIA_IMM_A(node->imm), i = HIA_IMM_B(node->imm);
  const hia_site *site = s < v->g->sites.len ? &v->g->sites.data[s] : NULL;
  bool is_call = node->op == HIA_OP_CALL_I;
  if (!site || site->caller != v->fn_id || i >= (is_call ? site->n_calls : site->n_returns) ||
      n != (is_call ? site->calls : site->returns) + i)
    hiaG_defect(v, n, "it is not part of the site it names");
  if (node->n_ins) expect_context(v, n, hiaG_in(v->fn, n, 0), node->region);
}

static void check_static_node(hia_verifier *v, hia_node_id n) {
  const hia_node *node = &v->fn->nodes.data[n];
  if (node->flags & HIA_NODE_DEAD) hiaG_defect(v, n, "removed nodes have no place in a section");
  if (n < v->fn->n_params && node->op != HIA_OP_MERGE_ENTRY)
    hiaG_defect(v, n, "parameter %u lacks its entry merge", n);
  switch (node->op) {
  case HIA_OP_MERGE_ENTRY: check_entry(v, n); break;
  case HIA_OP_CALL_I:
  case HIA_OP_RETURN_I: check_call_node(v, n); break;
  case HIA_OP_SWITCH: check_switch(v, n); break;
  case HIA_OP_MERGE: check_merge(v, n); break;
  case HIA_OP_ENTER:
  case HIA_OP_EXIT: check_loop_border(v, n); break;
  case HIA_OP_MERGE_LOOP: check_loop_merge(v, n); break;
  case HIA_OP_NEXT: check_next(v, n); break;
  case HIA_OP_YIELD: check_result(v, n); break;
  default:
    for (uint32_t i = 0; i < node->n_ins; i++)
      expect_context(v, n, hiaG_in(v->fn, n, i), node->region);
  }
}

static void check_predicate(hia_verifier *v, hia_region_id r) {
  const hia_fn *fn = v->fn;
  const hia_region *region = &fn->regions.data[r];
  hia_value_id pred = region->pred;
  if (pred == HIA_NONE) return;
  hia_node_id def = fn->values.data[pred].node;
  bool is_there = def < region->first && pred >= fn->nodes.data[def].outs &&
                  pred - fn->nodes.data[def].outs < fn->nodes.data[def].n_outs;
  if (!is_there || context_of(fn, pred) != region->parent || hiaG_type(fn, pred) != HIA_BOOL)
    hiaG_defect(v, HIA_NONE, "the predicate %%%u of region %u is no bool of its parent region",
                pred, r);
}

static void check_forks(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  if (!hiaG_has_forks(fn)) return;
  hia_fork_check c = hiaG_check_forks(v);
  hia_context_edge *edges;
  uint32_t n_edges = hiaG_contexts(v->scratch, fn, &edges), at = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    for (; at < n_edges && edges[at].at <= n; at++) {
      if (edges[at].is_end)
        hiaG_fork_region_end(&c, edges[at].region);
      else
        hiaG_fork_region(&c, edges[at].region, fn->regions.data[edges[at].region].pred);
    }
    hiaG_fork_node(&c, n);
  }
  hiaG_fork_region_end(&c, 0);
}

/* ---- calls ---- */

/* The effects of a function must include those of its nodes and callees; engines rely on it. */
static void expect_effects(hia_verifier *v, hia_node_id n, unsigned effects) {
  unsigned missing = effects & ~(unsigned)v->fn->effects;
  if (missing)
    hiaG_defect(v, n, "the function is not marked as one that %s because of",
                missing & HIA_E_RAISES      ? "raises"
                : missing & HIA_E_DIVERGES  ? "diverges"
                : missing & HIA_E_RECURSIVE ? "is recursive"
                : missing & HIA_E_IMPURE    ? "is impure"
                                            : "has an effect");
}

static void check_effects(hia_verifier *v, hia_node_id n) {
  const hia_node *node = &v->fn->nodes.data[n];
  unsigned effects = hiaG_node_effects(v->g, v->fn, n);
  if (effects & HIA_E_HOST && v->fn->slow_path != HIA_NONE)
    hiaG_defect(v, n, "what may be left to a slow path calls no host");
  if (node->op == HIA_OP_FORK && hiaG_fn(v->g, hiaG_callee(node))->effects & HIA_E_IMPURE)
    hiaG_defect(v, n, "what is impure is not forked");
  bool is_fork = node->op == HIA_OP_FORK || node->op == HIA_OP_JOIN;
  if (node->op == HIA_OP_CALL_I || is_fork) {
    uint32_t a = HIA_IMM_A(node->imm);
    const hia_fn *callee = hiaG_fn(v->g, is_fork ? a : v->g->sites.data[a].callee);
    if (callee->group > v->fn->group)
      hiaG_defect(v, n, "the group of the callee comes after the caller's");
    effects |= callee->effects;
    if (callee->group == v->fn->group)
      effects |= HIA_E_RECURSIVE | HIA_E_DIVERGES;
    else
      effects &= ~(unsigned)HIA_E_RECURSIVE;
  }
  expect_effects(v, n, effects & (HIA_E_OF_CALLS | HIA_E_RECURSIVE));
}

void hiaG_verify_section(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  if (fn->nodes.len == 0 || fn->nodes.data[fn->nodes.len - 1].op != HIA_OP_YIELD)
    hiaG_defect(v, HIA_NONE, "a section ends with a yield");
  if (fn->nodes.len < fn->n_params) hiaG_defect(v, HIA_NONE, "a parameter lacks its entry merge");
  if (fn->group >= v->g->fns.len) hiaG_defect(v, HIA_NONE, "there are no %u groups", fn->group);
  check_contexts(v);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) check_static_node(v, n);
  for (hia_region_id r = 1; r < fn->regions.len; r++) check_predicate(v, r);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) check_effects(v, n);
  check_forks(v);
}

static bool is_live_fn(const hia_graph *g, hia_fn_id f) {
  return f < g->fns.len && !g->fns.data[f]->is_removed;
}

static bool is_site_node(const hia_fn *fn, hia_node_id n, unsigned op, uint32_t site, uint32_t i,
                         hia_region_id region) {
  const hia_node *node = &fn->nodes.data[n];
  return node->op == op && node->imm == HIA_IMM(site, i) && node->region == region;
}

static void check_site(hia_verifier *v, uint32_t s) {
  hia_graph *g = v->g;
  const hia_site *site = &g->sites.data[s], *before = s ? site - 1 : NULL;
  v->fn = NULL;
  if (!is_live_fn(g, site->caller) || !is_live_fn(g, site->callee))
    hiaG_defect(v, HIA_NONE, "site %u has no caller or no callee", s);
  const hia_fn *callee = hiaG_fn(g, site->callee);
  v->fn = hiaG_fn(g, v->fn_id = site->caller);
  if (before && (before->caller > site->caller ||
                 (before->caller == site->caller && before->calls >= site->calls)))
    hiaG_defect(v, HIA_NONE, "site %u is out of order", s);
  if (site->loc != HIA_NONE && site->loc >= g->locs.len)
    hiaG_defect(v, HIA_NONE, "the location of site %u does not exist", s);
  if (site->partner != HIA_NONE && site->partner >= g->sites.len)
    hiaG_defect(v, HIA_NONE, "the partner of site %u does not exist", s);
  uint32_t n_nodes = v->fn->nodes.len, n_calls = callee->n_params ? callee->n_params : 1;
  if (site->n_calls != n_calls || site->n_returns != callee->n_results || site->calls >= n_nodes ||
      n_calls > n_nodes - site->calls || site->returns != site->calls + n_calls ||
      site->n_returns > n_nodes - site->returns)
    hiaG_defect(v, HIA_NONE, "site %u does not have the nodes of a call of %s", s, callee->name);
  hia_region_id region = v->fn->nodes.data[site->calls].region;
  for (uint32_t i = 0; i < n_calls; i++) {
    hia_node_id n = site->calls + i;
    if (!is_site_node(v->fn, n, HIA_OP_CALL_I, s, i, region) ||
        v->fn->nodes.data[n].n_ins != (callee->n_params ? 1 : 0))
      hiaG_defect(v, n, "it must be argument %u of site %u", i, s);
    if (callee->n_params)
      hiaG_expect_type(v, n, "operand", 0, hiaG_type(v->fn, hiaG_in(v->fn, n, 0)),
                       callee->params[i]);
  }
  for (uint32_t i = 0; i < site->n_returns; i++) {
    hia_node_id n = site->returns + i;
    if (!is_site_node(v->fn, n, HIA_OP_RETURN_I, s, i, region))
      hiaG_defect(v, n, "it must be result %u of site %u", i, s);
    hiaG_expect_type(v, n, "result", 0, hiaG_type(v->fn, hiaG_out(v->fn, n, 0)),
                     callee->results[i]);
  }
}

void hiaG_verify_sites(hia_verifier *v) {
  if (v->g->state != HIA_STATIC && v->g->sites.len)
    hiaG_defect(v, HIA_NONE, "there are call sites before tagging");
  for (uint32_t s = 0; s < v->g->sites.len; s++) check_site(v, s);
  v->fn = NULL;
}
