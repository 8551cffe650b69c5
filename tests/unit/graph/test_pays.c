/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/analysis/pays.c: what of a callee's arguments decides whether a fork pays. The code that
 * tests it is in test_lower_fork.c. */
#include "graph/analysis/analysis.h"
#include "tests/unit/helpers/graphs.h"

/* Appends a rule as text: `OP` for a loop, `OP ? THEN : ELSE` for a branch, where OP computes the
 * predicate. */
static void add_rule(hia_text *out, const hia_fn *fn, const hia_pays *pays, hia_region_id r) {
  const hia_pays_region *region = &pays->regions[r];
  switch (region->rule) {
  case HIA_PAYS_NEVER: hiaR_text_addf(out, "never"); return;
  case HIA_PAYS_ALWAYS: hiaR_text_addf(out, "always"); return;
  default: break;
  }
  unsigned op = fn->nodes.data[fn->values.data[fn->regions.data[region->decider].pred].node].op;
  hiaR_text_addf(out, "%s", hiaR_ops[op].name);
  if (region->rule == HIA_PAYS_IF) return;
  hiaR_text_addf(out, " ? ");
  add_rule(out, fn, pays, region->decider);
  hiaR_text_addf(out, " : ");
  add_rule(out, fn, pays, region->decider + 1);
}

/* Of the body of a function f of two numbers, of which %2 is 1. A semicolon ends a line. */
static void expect_rule(const char *body, const char *wanted) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    char *text = hiaR_arena_printf(&e.comp.arena,
                                   "graph functions \"\"\nfn f (i32, i32) -> (i32) {\n"
                                   "%%0:i32 = arg 0;%%1:i32 = arg 1;%%2:i32 = const 1;%s }\n"
                                   "fn small (i32) -> (i32) { %%0:i32 = arg 0 yield %%0 }\n",
                                   body);
    for (char *at = text; (at = strchr(at, ';'));) *at = '\n';
    hia_graph *g = graph_after(&e, text, "effects tag");
    hia_pays pays = hiaG_pays(&e.comp.arena, g, hiaG_fn(g, 0));
    hia_text out;
    hiaR_text_init(&out, &e.comp.arena);
    add_rule(&out, hiaG_fn(g, 0), &pays, 0);
    cr_assert_str_eq(out.data, wanted, "%s\n%s", body, out.data);
  });
  hiaR_comp_free(&e.comp);
}

/* A branch whose ELSE calls. */
#define IF(condition)                                                                              \
  condition "; %4:i32 = if %3 { yield %0 } else { %5:i32 = call f %0, %1; yield %5 } yield %4"

Test(pays, regions) {
  expect_rule("%3:i32 = add %0, %1; yield %3", "never");
  expect_rule("%3:i32 = call f %0, %1; yield %3", "always");
  expect_rule("%3:i32 = call small %0; yield %3", "never");
  expect_rule(IF("%3:bool = le %0, %2"), "le ? never : always");
}

Test(pays, several_branches) {
  expect_rule("%3:bool = le %0, %2; %4:i32 = if %3 { yield %0 } else { %5:bool = lt %1, %0;"
              "%6:i32 = if %5 { yield %1 } else { %7:i32 = call f %0, %1; yield %7 } yield %6 }"
              "yield %4",
              "le ? never : lt ? never : always");
  /* two that call: both, one or none may be taken */
  expect_rule("%3:bool = le %0, %2;"
              "%4:i32 = if %3 { yield %0 } else { %5:i32 = call f %0, %1; yield %5 };"
              "%6:i32 = if %3 { yield %0 } else { %7:i32 = call f %1, %1; yield %7 } yield %6",
              "always");
}

Test(pays, loops) {
  expect_rule("%3:i32 = loop %0 { %4:i32 = arg 0; %5:bool = gt %4, %2; yield %5, %4 } "
              "round { %6:i32 = sub %4, %2; yield %6 } yield %3",
              "gt");
  expect_rule("%3:i32 = loop %0 { %4:i32 = arg 0; %7:i32 = call f %4, %1; "
              "%5:bool = gt %4, %2; yield %5, %7 } round { yield %4 } yield %3",
              "always");
}

/* What must not be computed early, and what costs too much. */
Test(pays, conditions) {
  expect_rule(IF("%6:i32 = add %0, %1; %3:bool = le %6, %2"), "le ? never : always");
  expect_rule(IF("%6:i32 = div %0, %2; %3:bool = le %6, %2"), "le ? never : always");
  expect_rule(IF("%6:i32 = div %0, %1; %3:bool = le %6, %2"), "always");
  expect_rule(IF("%6:i32 = call small %1; %3:bool = le %6, %2"), "always");
  expect_rule(IF("%6:f64 = cast %0; %7:f64 = tan %6; %3:bool = le %7, %6"), "always");
  expect_rule(IF("%7:bool = lt %0, %1; %6:i32 = if %7 { yield %0 } else { yield %1 };"
                 "%3:bool = le %6, %2"),
              "always");
}

/* Nodes are listed behind their operands, and each is cheap and does not fail. */
Test(pays, nodes_are_listed_in_order) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = graph_after(&e, graph_file("fib"), "effects tag");
    const hia_fn *fn = hiaG_fn(g, 0);
    hia_pays pays = hiaG_pays(&e.comp.arena, g, fn);
    cr_assert_eq(pays.regions[0].rule, HIA_PAYS_BY_ARM);
    cr_assert_eq(pays.regions[0].end - pays.regions[0].first, 3); /* const, le, switch */
    for (uint32_t i = pays.regions[0].first; i < pays.regions[0].end; i++)
      cr_assert(i == 0 || pays.nodes[i - 1] < pays.nodes[i]);
    cr_assert_eq(pays.regions[1].rule, HIA_PAYS_NEVER);
    cr_assert_eq(pays.regions[2].rule, HIA_PAYS_ALWAYS);
  });
  hiaR_comp_free(&e.comp);
}
