/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The counts of a graph that was read from text. They come from a user, and a single one that is
 * wrong lets a run use memory that was freed. One would verify them. But which references are owned
 * where is not written in the text, and what pass refs finds out about it is most of the pass. So
 * they are taken away, and the pass makes them again, which gives those that were printed.
 *
 *   dup, drop, give, forget   are removed
 *   unpack                    is removed; its memory is then that of no `reuse`
 *   reuse                     is the `data` that it was
 *   last                      is false: an owning version calls the function that borrows
 *
 * A call of an owning version is one of the function that it is a version of, and the version goes.
 * So do the results that loops got only to be dropped.
 *
 * Requires hiaG_effects; it must run again. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"
#include "graph/refs/refs.h"
#include "graph/refs/shared.h"

static void forget_node(hia_graph *g, hia_fn *fn, hia_node_id n, hia_subst *subst) {
  hia_node *node = &fn->nodes.data[n];
  hia_value_id no;
  switch (node->op) {
  case HIA_OP_DUP:
  case HIA_OP_DROP:
  case HIA_OP_GIVE:
  case HIA_OP_FORGET: hiaG_remove(fn, n); break;
  case HIA_OP_REUSE: {
    hia_value_id *ins = HIA_NEW_ARRAY(&g->comp->scratch, hia_value_id, node->n_ins);
    for (uint32_t i = 1; i < node->n_ins; i++) ins[i - 1] = hiaG_in(fn, n, i);
    node->op = HIA_OP_DATA;
    node->imm = HIA_IMM_A(node->imm);
    hiaG_set_ins(g, fn, n, ins, node->n_ins - 1);
    break;
  }
  case HIA_OP_LAST: {
    hia_type boolean = HIA_BOOL;
    no = hiaG_out(fn, hiaG_insert(g, fn, n, HIA_OP_CONST, NULL, 0, &boolean, 1, 0, node->loc), 0);
    hiaG_replace(subst, hiaG_out(fn, n, 0), no);
    hiaG_remove(fn, n);
    break;
  }
  default: break;
  }
}

/* What an UNPACK gives is a reference that is not set, wherever it still goes. */
static void forget_memory(hia_graph *g, hia_fn *fn, hia_node_id n, hia_subst *subst) {
  hia_value_id memory = hiaG_out(fn, n, 0);
  hia_type type = hiaG_type(fn, memory);
  hia_node_id unset = hiaG_insert(g, fn, n, HIA_OP_UNDEF, NULL, 0, &type, 1, 0, HIA_NONE);
  hiaG_replace(subst, memory, hiaG_out(fn, unset, 0));
  hiaG_remove(fn, n);
}

static void call_borrowing(const hia_graph *g, hia_node *node) {
  if (node->op != HIA_OP_CALL && node->op != HIA_OP_FORK && node->op != HIA_OP_JOIN) return;
  hia_fn_id base = hiaG_fn(g, hiaG_callee(node))->owning_of;
  if (base != HIA_NONE) node->imm = HIA_IMM(base, HIA_IMM_B(node->imm));
}

static bool forget_in(hia_graph *g, hia_fn *fn) {
  hia_subst subst = hiaG_subst(g, fn);
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    hia_node *node = &fn->nodes.data[n];
    call_borrowing(g, node);
    if (node->op < HIA_OP_DUP || node->op > HIA_OP_GIVE) continue;
    is_changed = true;
    if (node->op == HIA_OP_UNPACK)
      forget_memory(g, fn, n, &subst);
    else
      forget_node(g, fn, n, &subst);
  }
  return is_changed;
}

bool hiaG_has_counts(const hia_graph *g) { return hiaG_has_op(g, HIA_OP_DUP, HIA_OP_GIVE); }

void hiaG_forget_counts(hia_graph *g) {
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    if (fn->owning_of != HIA_NONE)
      fn->is_removed = true;
    else if (forget_in(g, fn)) {
      hiaG_dce(g, fn);
      hiaG_compact(g, fn);
    }
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}
