/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* inline: its limits. tests/golden/inline.ir has its results. */
#include "tests/unit/helpers/graphs.h"

/* f0 is a few ops, each f calls the one before it twice: without limits 2^n nodes. */
Test(inline, doubling_is_bounded) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_text t;
    hiaR_text_init(&t, &e.comp.arena);
    hiaR_text_addf(&t, "graph functions \"twice\"\nfn f0 (i32) -> (i32) {\n%%0:i32 = arg 0\n"
                       "%%1:i32 = mul %%0, %%0\nyield %%1\n}\n");
    for (int i = 1; i < 200; i++)
      hiaR_text_addf(&t,
                     "fn f%d (i32) -> (i32) %s{\n%%0:i32 = arg 0\n%%1:i32 = call f%d %%0\n"
                     "%%2:i32 = call f%d %%1\nyield %%2\n}\n",
                     i, i == 199 ? "root (i32) -> i32 " : "", i - 1, i - 1);
    hia_graph *g = graph_after(&e, t.data, "effects inline effects");
    uint32_t n = 0;
    for (hia_fn_id f = 0; f < g->fns.len; f++)
      if (!hiaG_fn(g, f)->is_removed) n += hiaG_fn(g, f)->nodes.len;
    cr_assert_lt(n, 200 * 60);
  });
  hiaR_comp_free(&e.comp);
}

/* One function with thousands of calls of a small one stops growing. */
Test(inline, growth_is_bounded) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_text t;
    hiaR_text_init(&t, &e.comp.arena);
    hiaR_text_addf(&t, "graph functions \"many\"\nfn f (i32) -> (i32) {\n%%0:i32 = arg 0\n");
    for (int i = 0; i < 10; i++) hiaR_text_addf(&t, "%%%d:i32 = mul %%%d, %%0\n", i + 1, i);
    hiaR_text_addf(&t,
                   "yield %%10\n}\nfn main (i32) -> (i32) root (i32) -> i32 {\n%%0:i32 = arg 0\n");
    for (int i = 0; i < 5000; i++) hiaR_text_addf(&t, "%%%d:i32 = call f %%%d\n", i + 1, i);
    hiaR_text_addf(&t, "yield %%5000\n}\n");
    hia_graph *g = graph_after(&e, t.data, "effects inline effects");
    cr_assert_lt(hiaG_fn(g, 1)->nodes.len, 5000 + 4000);
    cr_assert(!hiaG_fn(g, 0)->is_removed);
  });
  hiaR_comp_free(&e.comp);
}
