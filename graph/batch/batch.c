/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* batch: tensor operations that are the same under different tags become segments, which are
 * computed for many activations at a time (batch.h).
 *
 * First each function gets a form in which segments are large. Small functions that compute with
 * tensors are copied into their callers: a call would end a segment. What sizes say is made use of,
 * so that nothing remains that could fail. An index that is known only in a run is checked where
 * the operation stands, by a `within`, which fails as the operation would. A root that is called in
 * the program gets a function for these calls, since what a root takes and gives is never late.
 *
 * Without products with a large param there is nothing to do. Requires nothing. Runs hiaG_effects
 * again. */
#include "graph/batch/batch.h"
#include "graph/analysis/effects.h"
#include "graph/batch/batcher.h"
#include "graph/ir/walk.h"

/* ---- whether there is something to do ---- */

static bool is_large(const hia_graph *g, const hia_param_spec *p) {
  uint64_t n = 1;
  for (uint32_t k = 0; k < p->shape.rank; k++) n *= (uint64_t)p->shape.dims[k];
  return p->shape.rank > 1 && n >= (g->batches_all ? 1 : HIA_BATCH_HEAVY);
}

static bool is_wanted(const hia_graph *g) {
  bool has_product = false, has_param = false;
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op == HIA_OP_DEFER)
        return false; /* a text is of a graph that has segments already */
      has_product |= node->op == HIA_OP_PRODUCT || node->op == HIA_OP_PRODUCT_BT;
      has_param |= node->op == HIA_OP_PARAM && is_large(g, &g->params.data[node->imm]);
    }
  }
  return has_product && has_param;
}

/* ---- the pass ---- */

static void find(hia_batcher *b, hia_graph *g) {
  hiaG_batch_begin(b, g);
  HIA_EACH_FN_BELOW(g, b->n, f) hiaG_batch_find_liftable(b, f);
  hiaG_batch_find_late(b);
}

static void forget_flags(hia_graph *g) {
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n) {
      hia_node *node = &fn->nodes.data[n];
      node->flags = hiaR_u8(node->flags & ~(unsigned)(HIA_NODE_WAITS | HIA_NODE_SIZED));
    }
  }
}

/* True if something has changed: products, rows and sums that no run has to wait for. */
static bool read_rows(hia_batcher *b) {
  return hiaG_batch_choose(b) || hiaG_batch_unset(b) || hiaG_batch_unstack(b) ||
         hiaG_batch_stack_rows(b) || hiaG_batch_collect(b);
}

static void find_again(hia_batcher *b, hia_graph *g) {
  hiaG_batch_clean(g);
  if (hiaG_batch_simplify(g)) hiaG_batch_clean(g);
  hiaG_effects(g);
  find(b, g);
}

void hiaG_batch(hia_graph *g) { hiaG_batch_chosen(g, NULL); }

void hiaG_batch_chosen(hia_graph *g, void (*choose)(hia_batcher *b)) {
  enum { TIMES = 3, MOST_READ = 12, MOST_SPLIT = 8 };
  if (!is_wanted(g)) {
    if (g->batches)
      hiaR_text_addf(
          g->batches,
          "nothing is batched: there are no products, or no param of %u elements and more\n",
          (unsigned)HIA_BATCH_HEAVY);
    return;
  }
  hiaG_batch_separate_roots(g, &g->comp->scratch);
  hiaG_effects(g);
  hiaG_batch_inline_helpers(g);
  hiaG_batch_clean(g);
  if (hiaG_batch_params(g)) hiaG_batch_clean(g);
  for (unsigned time = 0; time < TIMES && hiaG_batch_simplify(g); time++) hiaG_batch_clean(g);
  hiaG_effects(g);
  hia_batcher b = {.owes = !choose};
  find(&b, g);
  if (!choose) /* else operations wait for no segments */
    for (unsigned time = 0; time < MOST_READ && read_rows(&b); time++) find_again(&b, g);
  for (unsigned time = 0; time < MOST_SPLIT && hiaG_batch_split(&b); time++) {
    hiaG_batch_clean(g);
    hiaG_effects(g);
    find(&b, g);
  }
  if (!choose) hiaG_batch_light(&b);
  if (g->batches) hiaG_batch_report(&b, g->batches);
  if (choose) choose(&b);
  HIA_EACH_FN_BELOW(g, b.n, f) hiaG_batch_find_segments(&b, f);
  hiaG_batch_types(&b);
  HIA_EACH_FN_BELOW(g, b.n, f) hiaG_batch_insert_segments(&b, f);
  forget_flags(g);
  hiaG_effects(g);
}
