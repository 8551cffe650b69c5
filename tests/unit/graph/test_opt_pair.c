/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/passes/pair.c: a function of many loops. What becomes of one is in tests/golden/pair.ir;
 * that it means the same, in tests/programs/forks_loops.hia. */
#include "graph/ir/walk.h"
#include "tests/unit/helpers/graphs.h"

/* A function of n loops one after the other; each of their rounds calls. */
static const char *loops(env *e, unsigned n) {
  hia_text t;
  hiaR_text_init(&t, &e->comp.arena);
  hiaR_text_addf(&t, "graph functions \"loops\"\nfn f (i32) -> (i32) {\n%%0:i32 = arg 0\n"
                     "%%1:i32 = call f %%0\nyield %%1\n}\n"
                     "fn main (i32) -> (i32) root (i32) -> i32 {\n%%0:i32 = arg 0\n");
  unsigned last = 0, v = 1;
  for (unsigned i = 0; i < n; i++, v += 7) {
    hiaR_text_addf(&t,
                   "%%%u:i32 = loop %%0, %%%u {\n%%%u:i32 = arg 0\n%%%u:i32 = arg 1\n"
                   "%%%u:bool = lt %%%u, %%0\nyield %%%u, %%%u\n} round {\n"
                   "%%%u:i32 = call f %%%u\n%%%u:i32 = add %%%u, %%%u\n"
                   "%%%u:i32 = add %%%u, %%0\nyield %%%u, %%%u\n}\n",
                   v, last, v + 1, v + 2, v + 3, v + 1, v + 3, v + 2, v + 4, v + 1, v + 5, v + 2,
                   v + 4, v + 6, v + 1, v + 6, v + 5);
    last = v;
  }
  hiaR_text_addf(&t, "yield %%%u\n}\n", last);
  return t.data;
}

/* The first loops are paired, so that time and memory stay in proportion to the function's size. */
Test(pair, many_loops) {
  enum { MOST = 16 };
  for (unsigned n = MOST - 1; n <= MOST + 2; n++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_graph *g = graph_after(&e, loops(&e, n), "effects pair");
      uint32_t branches = 0, n_loops = 0;
      const hia_fn *fn = hiaG_fn(g, 1);
      HIA_EACH_NODE(fn, i) {
        branches += fn->nodes.data[i].op == HIA_OP_IF;
        n_loops += fn->nodes.data[i].op == HIA_OP_LOOP;
      }
      cr_assert_eq(n_loops, n);
      cr_assert_eq(branches, n < MOST ? n : MOST);
    });
    hiaR_comp_free(&e.comp);
  }
}
