/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Vectors that are put together, such as those of two children, `W @ concat(l, r)`. f.back reads
 * `concat(l, r)` for the gradient of W, which is an outer product a step. It reads l and r instead:
 * these are kept anyway, or take no more memory.
 *
 *     %s = data Outer %dy, %x    ->    %s = data Pair %dy, %l, %r
 *
 * if %x stands for the concatenation of two vectors, and f.back uses it in such nodes alone. Sums
 * of PAIRs have the bits of sums of OUTERs. */
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"

typedef struct parting {
  hia_back *b;
  uint32_t *kept_by; /* by value of f.back: the hia_grad_kept that it stands for, and 1; or 0 */
} parting;

static bool is_outer_with(const parting *p, hia_node_id n, uint32_t i) {
  const hia_node *node = &p->b->back->nodes.data[n];
  return node->op == HIA_OP_DATA && node->imm == HIA_SUM_OUTER && i == 1 &&
         hiaG_is_sum(p->b->g->types, hiaG_type(p->b->back, node->outs));
}

/* The concatenation of two vectors that is kept; NULL: it is none. */
static const hia_node *pair_of(const parting *p, const hia_grad_kept *kept) {
  const hia_fn *fn = p->b->fn;
  if (kept->kind != HIA_KEPT_VALUE) return NULL;
  const hia_node *def = hiaG_def(fn, kept->value);
  bool is_pair = def->op == HIA_OP_CAT && def->n_ins == 2 && def->imm == 0 &&
                 hiaG_rank(p->b->g->types, hiaG_type(fn, kept->value)) == 1;
  /* What f.back computes again is not kept. */
  return is_pair && p->b->rerun_of[fn->values.data[kept->value].node] == HIA_NONE ? def : NULL;
}

/* Returns what stands for a value of f that is read where something is kept. It may be kept there,
 * or around it; else it is from now on. */
static hia_value_id read_with(parting *p, uint32_t kept, hia_value_id v) {
  hia_back *b = p->b;
  uint32_t here = b->kept.data[kept].grad_region;
  for (uint32_t r = here; r != HIA_NONE; r = b->grad_regions.data[r].outer)
    for (uint32_t i = b->first_kept[v]; i != HIA_NONE; i = b->kept.data[i].next)
      if (b->kept.data[i].grad_region == r) return b->kept.data[i].stands_for;
  hia_type type = hiaG_type(b->fn, v);
  hia_node_id node =
      hiaG_insert(b->g, b->back, b->grad_regions.data[here].anchor, HIA_OP_UNDEF, NULL, 0, &type, 1,
                  0, hiaG_def(b->back, b->kept.data[kept].stands_for)->loc);
  hia_grad_kept entry = {.kind = HIA_KEPT_VALUE,
                         .grad_region = here,
                         .value = v,
                         .node = HIA_NONE,
                         .stands_for = hiaG_out(b->back, node, 0),
                         .next = b->first_kept[v]};
  hiaR_push(b->d->arena, &b->kept, entry);
  hiaR_push(b->d->arena, &b->grad_regions.data[here].kept, b->kept.len - 1);
  b->first_kept[v] = b->kept.len - 1;
  return entry.stands_for;
}

void hiaG_grad_parts(hia_back *b) {
  parting p = {.b = b};
  hia_arena *arena = b->d->arena;
  uint32_t n_kept = b->kept.len;
  bool *stays = HIA_NEW_ARRAY(arena, bool, (size_t)n_kept + 1);
  p.kept_by = HIA_NEW_ARRAY(arena, uint32_t, (size_t)b->back->values.len + 1);
  for (uint32_t i = 0; i < n_kept; i++) {
    p.kept_by[b->kept.data[i].stands_for] = i + 1;
    stays[i] = !pair_of(&p, &b->kept.data[i]);
  }
  HIA_EACH_NODE(b->back, n)
    for (uint32_t i = 0; i < b->back->nodes.data[n].n_ins; i++) {
      uint32_t number = p.kept_by[hiaG_in(b->back, n, i)];
      if (number && !is_outer_with(&p, n, i)) stays[number - 1] = true;
    }
  HIA_EACH_NODE(b->back, n) {
    if (!is_outer_with(&p, n, 1)) continue;
    uint32_t number = p.kept_by[hiaG_in(b->back, n, 1)];
    if (!number || stays[number - 1]) continue;
    const hia_node *pair = pair_of(&p, &b->kept.data[number - 1]);
    hia_value_id ins[3] = {hiaG_in(b->back, n, 0)};
    for (uint32_t i = 0; i < 2; i++)
      ins[i + 1] = read_with(&p, number - 1, b->fn->edges.data[pair->ins + i]);
    hiaG_set_ins(b->g, b->back, n, ins, 3);
    b->back->nodes.data[n].imm = HIA_SUM_PAIR;
  }
}
