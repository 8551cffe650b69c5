/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tail: what golden files (tests/golden/tail_*.ir) do not show: constant space. */
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/graphs.h"

/* The evaluator gives up beyond a depth of a few hundred calls. */
Test(tail, depth_does_not_grow) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, graph_file("even_odd"));
    hia_word n = 2001;
    eval_outcome o;
    eval_graph(g, 0, &n, 0, &o);
    cr_assert_eq(o.status, HIA_DEADLINE);
    g = graph_after(&e, graph_file("even_odd"), "effects tail effects");
    eval_graph(g, 0, &n, 0, &o);
    cr_assert(o.status == HIA_OK && o.results[0] == 0);
  });
  hiaR_comp_free(&e.comp);
}
