/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reruns: the bodies of small marked functions in the function that is differentiated. What
 * f.back reads of a rerun is not kept. f.back calls a function that computes it again,
 *
 *     again(what the rerun uses from outside) -> what f.back reads of the rerun...
 *
 * which has the nodes of the rerun, and makes the records of branches, loops and calls in it. So
 * f's activation keeps the operands of `again` only. graph/grad/back goes through the nodes of a
 * rerun as through any others: gradients are added in the same order, with or without the mark.
 *
 * `again` is never inlined: what it computes would be found equal to what f.kept has computed. */
#include "graph/grad/shared.h"
#include "graph/ir/walk.h"

static void open(hia_back *b, hia_node_id begin, uint32_t outer) {
  hia_grad_rerun s = {.outer = outer,
                      .begin = begin,
                      .callee = (hia_fn_id)b->fn->nodes.data[begin].imm,
                      .grad_region = HIA_NONE};
  hiaR_push(b->d->arena, &b->reruns, s);
}

bool hiaG_grad_is_in_rerun(const hia_back *b, hia_node_id n, uint32_t rerun) {
  uint32_t s = b->rerun_of[n];
  while (s != HIA_NONE && s != rerun) s = b->reruns.data[s].outer;
  return s == rerun;
}

/* Notes a value that is used in a rerun, if it comes from outside; each once. */
static void use(hia_back *b, uint32_t rerun, hia_value_id v, uint32_t *seen_in) {
  hia_node_id def = b->fn->values.data[v].node;
  if (seen_in[v] == rerun + 1 || hiaG_grad_is_in_rerun(b, def, rerun)) return;
  seen_in[v] = rerun + 1;
  hia_grad_rerun *s = &b->reruns.data[rerun];
  bool is_constant = hiaG_is_constant(b->fn->nodes.data[def].op);
  hiaR_push(b->d->arena, is_constant ? &s->constants : &s->inputs, v);
}

void hiaG_grad_find_reruns(hia_back *b) {
  const hia_fn *fn = b->fn;
  uint32_t at = HIA_NONE;
  b->rerun_of = HIA_NEW_ARRAY(b->d->arena, uint32_t, (size_t)fn->nodes.len + 1);
  memset(b->rerun_of, 0xff, fn->nodes.len * sizeof *b->rerun_of);
  HIA_EACH_NODE(fn, n) {
    if (fn->nodes.data[n].flags & HIA_NODE_BEGIN) {
      open(b, n, at);
      at = b->reruns.len - 1;
    }
    b->rerun_of[n] = at;
    if (!(fn->nodes.data[n].flags & HIA_NODE_END)) continue;
    b->reruns.data[at].end = n;
    at = b->reruns.data[at].outer;
  }
  uint32_t *seen_in = HIA_NEW_ARRAY(b->d->arena, uint32_t, (size_t)fn->values.len + 1);
  for (uint32_t s = 0; s < b->reruns.len; s++) {
    hia_node_id end = b->reruns.data[s].end;
    for (hia_node_id n = b->reruns.data[s].begin; n != end; n = hiaG_walk_next(fn, n))
      for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) use(b, s, hiaG_in(fn, n, i), seen_in);
  }
}
