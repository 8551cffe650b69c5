/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* scalars: tensors of a few elements become scalars.
 *
 *     loop (p: f64[3] = ..) { .. p * 0.9 + q .. p @ q .. }
 *     loop (p0, p1, p2) { .. p0 * 0.9 + q0, .. fma(p2, q2, fma(p1, q1, fma(p0, q0, 0))) .. }
 *
 * One would leave that to the code generator, as scalar replacement of aggregates. But an operation
 * on tensors is a call of the runtime, or a loop that tests the sizes and takes memory for its
 * result: LLVM sees no aggregate that it could replace. Here sizes and operations are known.
 *
 * Each operation that is split makes the same operations on elements in the same order as its
 * kernel does (docs/tensors.md, "Rounding"), so results are the same bit for bit. What could fail
 * because of shapes or indices is split only where these are known to fit; what divides integers
 * fails at the first element that does, as the operation would.
 *
 * Which values are split, choose.c decides by their costs. Parameters and results of functions that
 * no host calls are split, too; those of roots, of segments (graph/batch) and of functions that
 * something else than calls refers to are not. A value in data or in an array is a tensor.
 *
 * A graph in which operations are deferred is left as it is: elements of a tensor that is pending
 * cannot be read, and what a batch collects must stay whole.
 *
 * Comes behind `batch`, which collects operations on whole tensors, behind the gradients, whose
 * sums must not depend on it, and behind inlining and `tail`, which bring values and uses together.
 * Before the second round of scalar optimisation, which removes what is left over. For native code
 * alone: for the interpreter an operation is a node, whatever its size. Requires hiaG_effects;
 * keeps effects valid, but as bounds. */
#include "graph/scalars/scalars.h"

static bool has_tensors(const hia_graph *g) {
  for (uint32_t t = 0; t < g->types->entries.len; t++)
    if (g->types->entries.data[t].kind == HIA_KIND_TENSOR) return true;
  return false;
}

void hiaG_scalars(hia_graph *g) {
  hia_scalars s;
  if (!has_tensors(g) || hiaG_has_op(g, HIA_OP_DEFER, HIA_OP_FORCE)) return;
  hiaG_scalars_begin(&s, g);
  if (!hiaG_scalars_choose(&s)) return;
  HIA_EACH_FN_BELOW(g, s.n, f) {
    if (!s.fns[f].is_left) hiaG_scalars_rewrite(&s, f);
  }
}
