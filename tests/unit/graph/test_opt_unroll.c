/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/passes/unroll.c: how far it goes. Which functions are tried without calls first, and what
 * they become, is in tests/golden/unroll*.ir; that they mean the same, in
 * tests/programs/slow_paths.hia.
 */
#include "graph/ir/walk.h"
#include "tests/unit/helpers/graphs.h"

/* Bodies are copied with their forks along first calls and last calls, also where equal calls would
 * be merged; without forks if a level would have more than two. */
static uint32_t forks_of(const char *graph, bool merges) {
  env e;
  env_init(&e);
  uint32_t forks = 0;
  NO_THROW(&e, {
    const char *passes = merges ? "effects merge effects fork unroll" : "effects fork unroll";
    hia_graph *g = graph_after(&e, graph_file(graph), passes);
    const hia_fn *fn = hiaG_fn(g, 0);
    HIA_EACH_NODE(fn, n) forks += fn->nodes.data[n].op == HIA_OP_FORK;
  });
  hiaR_comp_free(&e.comp);
  return forks;
}

Test(unroll, forks_of_inner_levels) {
  uint32_t forks = forks_of("uneven", false);
  cr_assert(forks > 3 && forks % 2 == 1, "one, and two a level: %u", forks);
  cr_assert_eq(forks_of("uneven", true), forks);
  cr_assert_eq(forks_of("three_calls", false), 2, "with the next level there would be four more");
}

/* The number of times that this op is in the unrolled body. */
static uint32_t levels_of(const char *graph, unsigned op) {
  env e;
  env_init(&e);
  hia_graph *g = graph_after(&e, graph_file(graph), "effects unroll");
  uint32_t n = 0;
  const hia_fn *fn = g->fns.data[0];
  HIA_EACH_NODE(fn, i) n += fn->nodes.data[i].op == op;
  hiaR_comp_free(&e.comp);
  return n;
}

/* As many as are needed until the remaining call does not matter, or 16 in the body. */
Test(unroll, linear_recursion) {
  uint32_t cheap = levels_of("linear_bxor", HIA_OP_BXOR),
           dear = levels_of("linear_div", HIA_OP_DIV);
  cr_assert_eq(cheap, 17, "%u", cheap);
  cr_assert(dear >= 8 && dear <= 13, "%u", dear);
}

/* Both have no base case: their tests cost more than a guard may. A call is much of the one body,
 * and little of the other. */
Test(unroll, no_base_case) {
  uint32_t cheap = levels_of("unguarded", HIA_OP_BXOR),
           dear = levels_of("unguarded_dear", HIA_OP_CALL);
  cr_assert(cheap > 6, "%u", cheap);
  cr_assert_eq(dear, 2, "%u", dear);
}
