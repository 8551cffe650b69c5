/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tail: properties that golden files do not show: constant space, names, calls that remain. */
#include "graphs.h"
#include "helper_eval.h"

static const char even_odd[] =
    "graph functions \"even\"\n"
    "fn even (i32) -> (bool) root (i32) -> bool {\n"
    "%0:i32 = arg 0\n%1:i32 = const 0\n%2:bool = eq %0, %1\n"
    "%3:bool = if %2 {\n%4:bool = const true\nyield %4\n} else {\n"
    "%5:i32 = const 1\n%6:i32 = sub %0, %5\n%7:bool = call odd %6 tail\nyield %7\n}\n"
    "yield %3\n}\n"
    "fn odd (i32) -> (bool) {\n"
    "%0:i32 = arg 0\n%1:i32 = const 0\n%2:bool = eq %0, %1\n"
    "%3:bool = if %2 {\n%4:bool = const false\nyield %4\n} else {\n"
    "%5:i32 = const 1\n%6:i32 = sub %0, %5\n%7:bool = call even %6 tail\nyield %7\n}\n"
    "yield %3\n}\n";

static hia_graph *tailed(env *e, const char *text) {
  hia_graph *g = read_text(e, text);
  hiaG_effects(g);
  hiaG_tail(g);
  hiaG_effects(g);
  const char *defect = hiaG_verify(g);
  cr_assert(!defect, "%s", defect);
  return g;
}

/* The evaluator gives up beyond a depth of a few hundred calls. */
Test(tail, depth_does_not_grow) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, even_odd);
    hia_word n = 2001;
    eval_outcome o;
    eval_graph(g, 0, &n, 0, &o);
    cr_assert_eq(o.status, HIA_DEADLINE);
    g = tailed(&e, even_odd);
    eval_graph(g, 0, &n, 0, &o);
    cr_assert(o.status == HIA_OK && o.results[0] == 0);
  });
  hiaR_comp_free(&e.comp);
}

Test(tail, member_that_is_no_root_goes_and_names_do_not_clash) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_text t;
    hiaR_text_init(&t, &e.comp.arena);
    hiaR_text_addf(&t, "%sfn \"even.loop\" () -> (bool) {\n%%0:bool = const true\nyield %%0\n}\n",
                   even_odd);
    hia_graph *g = tailed(&e, t.data);
    cr_assert_eq(g->fns.len, 4);
    cr_assert(hiaG_fn(g, 1)->is_removed && !hiaG_fn(g, 0)->is_removed);
    cr_assert_str_eq(hiaG_fn(g, 3)->name, "even.loop.2");
    cr_assert(!(hiaG_fn(g, 3)->traits & HIA_FN_RECURSIVE));
    cr_assert(hiaG_fn(g, 3)->traits & HIA_FN_DIVERGES);
  });
  hiaR_comp_free(&e.comp);
}

static uint32_t count_ops(const hia_fn *fn, unsigned op) {
  uint32_t n = 0;
  for (hia_node_id i = 0; i < fn->nodes.len; i++)
    n += fn->nodes.data[i].op == op && !(fn->nodes.data[i].flags & HIA_NODE_DEAD);
  return n;
}

/* Calls that remain: flagged, but an addition follows; in tail position, but not flagged; of a
 * function outside the group. */
Test(tail, other_calls_stay) {
  static const char text[] =
      "graph functions \"stay\"\n"
      "fn f (i32) -> (i32) root (i32) -> i32 {\n"
      "%0:i32 = arg 0\n%1:i32 = const 1\n%2:bool = lt %0, %1\n"
      "%3:i32 = if %2 {\n%4:i32 = call f %0 tail\n%5:i32 = add %4, %1\nyield %5\n"
      "} else {\n%6:bool = eq %0, %1\n"
      "%7:i32 = if %6 {\n%8:i32 = call f %0\nyield %8\n"
      "} else {\n%9:i32 = call g %0 tail\nyield %9\n}\nyield %7\n}\nyield %3\n}\n"
      "fn g (i32) -> (i32) {\n%0:i32 = arg 0\nyield %0\n}\n";
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = tailed(&e, text);
    cr_assert_eq(count_ops(hiaG_fn(g, 0), HIA_OP_CALL), 3);
    cr_assert_eq(count_ops(hiaG_fn(g, 0), HIA_OP_LOOP), 0);
  });
  hiaR_comp_free(&e.comp);
}
