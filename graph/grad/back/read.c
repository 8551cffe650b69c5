/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What f.back reads of f: records of nodes, and values. Each is stood for by an UNDEF node in the
 * region where it would be kept. */
#include "graph/grad/back/back.h"
#include "graph/ir/walk.h"

uint32_t hiaG_back_add_region(hia_reverse *r, hia_grad_region_kind kind, hia_region_id forward,
                              hia_region_id region, uint32_t outer, uint32_t record) {
  hia_grad_region p = {
      .kind = kind, .forward = forward, .region = region, .outer = outer, .record = record};
  hia_type type = HIA_BOOL;
  p.tape = p.type = HIA_NONE;
  p.anchor = hiaG_add(r->g, r->back, region, HIA_OP_UNDEF, NULL, 0, &type, 1, 0, HIA_NONE);
  hiaR_push(r->d->arena, &r->b->grad_regions, p);
  return r->b->grad_regions.len - 1;
}

/* Adds something that is kept, in a region, and returns its index in b->kept. */
static uint32_t keep(hia_reverse *r, uint32_t grad_region, hia_grad_kept kept, hia_type type) {
  hia_grad_region *p = &r->b->grad_regions.data[grad_region];
  hia_node_id node =
      hiaG_insert(r->g, r->back, p->anchor, HIA_OP_UNDEF, NULL, 0, &type, 1, 0, r->loc);
  kept.grad_region = grad_region;
  kept.stands_for = hiaG_out(r->back, node, 0);
  hiaR_push(r->d->arena, &r->b->kept, kept);
  hiaR_push(r->d->arena, &p->kept, r->b->kept.len - 1);
  return r->b->kept.len - 1;
}

/* True if what a node of f computes belongs to the region. */
static bool is_home(const hia_reverse *r, uint32_t grad_region, hia_node_id n) {
  const hia_grad_region *p = &r->b->grad_regions.data[grad_region];
  if (p->forward != r->fn->nodes.data[n].region) return false;
  return p->kind != HIA_GRAD_AGAIN || hiaG_grad_is_in_rerun(r->b, n, p->rerun);
}

hia_value_id hiaG_back_record(hia_reverse *r, hia_node_id n, hia_type type) {
  hia_grad_kept kept = {
      .kind = HIA_KEPT_RECORD, .node = n, .value = HIA_NONE, .next = HIA_NONE, .is_used = true};
  uint32_t i = keep(r, r->grad_region, kept, type);
  r->b->records[n].kept = i;
  return r->b->kept.data[i].stands_for;
}

hia_value_id hiaG_back_read(hia_reverse *r, hia_value_id v) {
  const hia_node *def = hiaG_def(r->fn, v);
  hia_node_id n = r->fn->values.data[v].node;
  hia_type type = hiaG_type(r->fn, v);
  if (hiaG_is_constant(def->op)) return value_of(r, def->op, NULL, 0, type, def->imm);
  /* Where to read v: in the innermost arm, as only that arm keeps it; but outside of loops, once
   * for all rounds. */
  uint32_t grad_region = r->grad_region;
  for (uint32_t p = grad_region; !is_home(r, p, n); p = r->b->grad_regions.data[p].outer)
    if (r->b->grad_regions.data[p].kind != HIA_GRAD_ARM)
      grad_region = r->b->grad_regions.data[p].outer;
  for (uint32_t p = grad_region; def->op == HIA_OP_ARG; p = r->b->grad_regions.data[p].outer) {
    const hia_grad_region *around = &r->b->grad_regions.data[p];
    if (!is_home(r, p, n)) continue;
    if (around->kind == HIA_GRAD_EACH) return around->tape; /* the index of an element */
    break;
  }
  /* What was kept outside of a rerun is not computed again. */
  for (uint32_t i = r->b->first_kept[v]; i != HIA_NONE; i = r->b->kept.data[i].next)
    for (uint32_t p = grad_region;; p = r->b->grad_regions.data[p].outer) {
      if (r->b->kept.data[i].grad_region == p) return r->b->kept.data[i].stands_for;
      if (is_home(r, p, n) && r->b->grad_regions.data[p].kind != HIA_GRAD_AGAIN) break;
    }
  hia_grad_kept kept = {
      .kind = HIA_KEPT_VALUE, .value = v, .node = HIA_NONE, .next = r->b->first_kept[v]};
  uint32_t i = keep(r, grad_region, kept, type);
  r->b->first_kept[v] = i;
  return r->b->kept.data[i].stands_for;
}

void hiaG_back_same_shape(hia_reverse *r, hia_value_id x, hia_value_id v) {
  hiaR_push(r->d->arena, &r->b->shapes, (hia_same_shape){x, v});
}

void hiaG_back_forget(hia_reverse *r, hia_node_id n) {
  hia_node_id end = hiaG_walk_over(r->fn, n);
  for (; n != end; n = hiaG_walk_next(r->fn, n)) {
    r->b->records[n].kept = HIA_NONE;
    r->b->records[n].is_recomputed = false;
  }
}
