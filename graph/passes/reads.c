/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* reads: elements are read before a `set` replaces them.
 *
 * A `set` cannot change its array in place if that is read behind it, as in
 * set(set(a, i, a[j]), j, a[i]), which swaps two elements. But a read of the very element that the
 * `set` replaces can come first: it fails if and as the `set` does. All engines need that, since a
 * copy of an array for each `set` makes a program quadratic. So the pass cannot be switched off.
 * Requires and keeps everything. */
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum { REACH = 1000 }; /* nodes behind a `set` that are looked at */

void hiaG_reads(hia_graph *g, hia_fn *fn) {
  (void)g;
  HIA_EACH_NODE(fn, n) {
    unsigned op = fn->nodes.data[n].op, read = op == HIA_OP_SET ? HIA_OP_AT : HIA_OP_ROW;
    if (op != HIA_OP_SET && op != HIA_OP_WITH) continue;
    hia_value_id array = hiaG_in(fn, n, 0), index = hiaG_in(fn, n, 1);
    uint32_t left = REACH;
    for (hia_node_id m = fn->nodes.data[n].next, next; m != HIA_NONE && left; m = next, left--) {
      next = fn->nodes.data[m].next;
      if (fn->nodes.data[m].op != read || hiaG_in(fn, m, 0) != array || hiaG_in(fn, m, 1) != index)
        continue;
      hiaG_move(fn, m, n);
      fn->nodes.data[m].loc = fn->nodes.data[n].loc;
    }
  }
}
