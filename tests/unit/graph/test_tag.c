/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tag: the numbering and order of the static graph, and its size. */
#include "tests/unit/helpers/graphs.h"

static uint32_t count_ops(const hia_fn *fn, unsigned op) {
  uint32_t n = 0;
  for (hia_node_id i = 0; i < fn->nodes.len; i++) n += fn->nodes.data[i].op == op;
  return n;
}

static hia_graph *tagged(env *e, const char *text) { return graph_after(e, text, "effects tag"); }

/* A value used at the bottom of a nest of `depth` branches, in both arms of each. */
static uint32_t switches_of_nest(int depth) {
  env e;
  env_init(&e);
  uint32_t n = 0;
  NO_THROW(&e, {
    hia_text t;
    hiaR_text_init(&t, &e.comp.arena);
    hiaR_text_addf(&t,
                   "graph functions \"nest\"\nfn f (i32, bool) -> (i32) root (i32, bool) -> i32 {\n"
                   "%%0:i32 = arg 0\n%%1:bool = arg 1\n");
    for (int i = 0; i < depth; i++)
      hiaR_text_addf(&t, "%%%d:i32 = if %%1 {\n%%%d:i32 = neg %%0\nyield %%%d\n} else {\n",
                     2 * i + 2, 2 * i + 3, 2 * i + 3);
    hiaR_text_addf(&t, "yield %%0\n");
    for (int i = depth; i-- > 1;) hiaR_text_addf(&t, "}\nyield %%%d\n", 2 * i + 2);
    hiaR_text_addf(&t, "}\nyield %%2\n}\n");
    n = count_ops(hiaG_fn(tagged(&e, t.data), 0), HIA_OP_SWITCH);
  });
  hiaR_comp_free(&e.comp);
  return n;
}

Test(tag, one_switch_for_a_value_and_level) {
  cr_assert_eq(switches_of_nest(1), 1);   /* the number; the bool is not used further in */
  cr_assert_eq(switches_of_nest(10), 19); /* both */
  cr_assert_eq(switches_of_nest(5000), 9999);
}

Test(tag, sites_by_caller_then_position) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = tagged(&e, graph_file("sites"));
    cr_assert_eq(g->sites.len, 3);
    for (uint32_t i = 0; i < g->sites.len; i++) {
      const hia_site *s = &g->sites.data[i];
      const hia_fn *fn = hiaG_fn(g, s->caller);
      cr_assert_eq(s->caller, i / 2);
      cr_assert_eq(s->n_calls, 1); /* of g too: the control token */
      cr_assert_eq(fn->nodes.data[s->calls].op, HIA_OP_CALL_I);
      cr_assert_eq(fn->nodes.data[s->calls].n_ins, s->callee == 1 ? 0 : 1);
      cr_assert_eq(s->returns, s->calls + s->n_calls);
      cr_assert_eq(fn->nodes.data[s->returns].imm, HIA_IMM(i, 0));
      if (i)
        cr_assert(g->sites.data[i - 1].caller < s->caller || g->sites.data[i - 1].calls < s->calls);
    }
  });
  hiaR_comp_free(&e.comp);
}

/* Regions: the second of a pair follows the first, they are numbered by position, and their ranges
 * are inside their parents'. */
Test(tag, regions) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = tagged(&e, graph_file("mixed"));
    const hia_fn *fn = hiaG_fn(g, 1);
    cr_assert_eq(fn->regions.len, 7);
    for (hia_region_id r = 1; r < fn->regions.len; r++) {
      const hia_region *region = &fn->regions.data[r], *parent = &fn->regions.data[region->parent];
      cr_assert_lt(region->parent, r);
      cr_assert(parent->first <= region->first && region->first <= region->last &&
                region->last <= parent->last);
      cr_assert_eq(region->pred == HIA_NONE, region->kind == HIA_REGION_HEAD);
      if (region->kind == HIA_REGION_ELSE || region->kind == HIA_REGION_ROUND)
        cr_assert_eq(fn->regions.data[r - 1].kind, region->kind - 1);
      if (region->kind == HIA_REGION_ELSE)
        cr_assert_eq(fn->regions.data[r - 1].last, region->first);
      if (region->kind == HIA_REGION_ROUND) cr_assert_eq(parent->last, region->last);
    }
  });
  hiaR_comp_free(&e.comp);
}
