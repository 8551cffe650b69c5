/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Codegen units: how a graph is divided. */
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"
#include "graph/passes/passes.h"
#include "tests/unit/helpers/graphs.h"

/* Runs of a function that has no objects, and calls none that has, need no heap
 * (hia_code_root.flags). */
Test(units, functions_with_objects) {
  static const char text[] =
      "graph functions \"data\"\n\ntype Box = Box(x: i32)\n\n"
      "fn make (i32) -> (Box) {\n  %0:i32 = arg 0\n  %1:Box = data Box %0\n  yield %1\n}\n\n"
      "fn inner (i32) -> (i32) {\n  %0:i32 = arg 0\n  %1:Box = call make %0\n"
      "  %2:i32 = field Box.0 %1\n  yield %2\n}\n\n"
      "fn outer (i32) -> (i32) root (i32) -> i32 {\n  %0:i32 = arg 0\n"
      "  %1:i32 = call inner %0\n  yield %1\n}\n\n"
      "fn plain (i32) -> (i32) root (i32) -> i32 {\n  %0:i32 = arg 0\n"
      "  %1:i32 = add %0, %0\n  yield %1\n}\n";
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, text);
    hiaG_effects(g);
    hiaG_tag(g);
    hia_facts facts = hiaG_facts(&e.comp.arena, g);
    static const bool has[] = {true, true, true, false};
    for (hia_fn_id f = 0; f < 4; f++) cr_expect_eq(facts.has_objects[f], has[f], "function %u", f);
  });
  hiaR_comp_free(&e.comp);
}

/* In stress builds units are so small that the sizes here say nothing. */
#ifndef HIA_STRESS

typedef struct program {
  env e;
  hia_text text;
  unsigned n;
  hia_graph *g;
  hia_facts facts;
  hia_codegen_units units;
} program;

static void begin(program *p) {
  env_init(&p->e);
  hiaR_text_init(&p->text, &p->e.comp.arena);
  hiaR_text_addf(&p->text, "graph functions \"units\"\n");
  p->n = 0;
}

/* Adds a function of about `size` nodes that calls the functions numbered `a` and `b`, if there are
 * such. Some of the nodes are divisions, so it is no straight line. */
static void add(program *p, unsigned size, unsigned a, unsigned b) {
  hiaR_text_addf(&p->text, "fn f%u (i32) -> (i32) %s{\n%%0:i32 = arg 0\n", p->n,
                 p->n == 0 ? "root (i32) -> i32 " : "");
  unsigned v = 0;
  for (unsigned i = 0; i < size; i++, v++)
    hiaR_text_addf(&p->text, "%%%u:i32 = %s %%%u, %%0\n", v + 1, i % 50 ? "add" : "div", v);
  if (a != HIA_NONE) hiaR_text_addf(&p->text, "%%%u:i32 = call f%u %%%u\n", v + 1, a, v), v++;
  if (b != HIA_NONE) hiaR_text_addf(&p->text, "%%%u:i32 = call f%u %%%u\n", v + 1, b, v), v++;
  hiaR_text_addf(&p->text, "yield %%%u\n}\n", v);
  p->n++;
}

static void divide(program *p) {
  p->g = read_text(&p->e, p->text.data);
  hiaG_effects(p->g);
  hiaG_tag(p->g);
  p->facts = hiaG_facts(&p->e.comp.arena, p->g);
  p->units = hiaG_codegen_units(&p->e.comp.arena, p->g, &p->facts);
}

static void end(program *p) { hiaR_comp_free(&p->e.comp); }

/* What holds of every division: each function has a unit, none is empty, callees come first, and
 * what is called from another unit is marked. */
static void check(const program *p) {
  bool *is_used = calloc(p->units.n, 1), *is_imported = calloc(p->n, 1);
  for (hia_fn_id f = 0; f < p->n; f++) {
    cr_assert_lt(p->units.of[f], p->units.n);
    is_used[p->units.of[f]] = true;
  }
  for (uint32_t u = 0; u < p->units.n; u++) cr_assert(is_used[u], "unit %u is empty", u);
  for (uint32_t s = 0; s < p->g->sites.len; s++) {
    const hia_site *site = &p->g->sites.data[s];
    uint32_t from = p->units.of[site->caller], to = p->units.of[site->callee];
    bool is_own = p->facts.group[site->caller] == p->facts.group[site->callee];
    if (!is_own) cr_assert_geq(from, to);
    is_imported[site->callee] |= from != to;
  }
  for (hia_fn_id f = 0; f < p->n; f++) cr_assert_eq(p->units.is_imported[f], is_imported[f]);
  free(is_used);
  free(is_imported);
}

Test(units, a_small_program_is_one) {
  program p;
  begin(&p);
  NO_THROW(&p.e, {
    for (unsigned i = 0; i < 64; i++) add(&p, 10, i < 63 ? i + 1 : HIA_NONE, HIA_NONE);
    divide(&p);
    cr_assert_eq(p.units.n, 1);
    check(&p);
  });
  end(&p);
}

Test(units, many_functions_are_several) {
  program p;
  begin(&p);
  NO_THROW(&p.e, {
    for (unsigned i = 0; i < 200; i++) add(&p, 10, i < 199 ? i + 1 : HIA_NONE, HIA_NONE);
    divide(&p);
    cr_assert_eq(p.units.n, 4);
    check(&p);
  });
  end(&p);
}

Test(units, large_functions_are_several) {
  program p;
  begin(&p);
  NO_THROW(&p.e, {
    for (unsigned i = 0; i < 6; i++) add(&p, 2500, i < 5 ? i + 1 : HIA_NONE, HIA_NONE);
    divide(&p);
    cr_assert_eq(p.units.n, 3);
    check(&p);
  });
  end(&p);
}

/* Two groups of 40: each is whole, although 64 functions would fit into a unit. */
Test(units, groups_stay_whole) {
  program p;
  begin(&p);
  NO_THROW(&p.e, {
    for (unsigned i = 0; i < 40; i++) add(&p, 5, i < 39 ? i + 1 : 0, i == 20 ? 40 : HIA_NONE);
    for (unsigned i = 40; i < 80; i++) add(&p, 5, i < 79 ? i + 1 : 40, HIA_NONE);
    divide(&p);
    cr_assert_eq(p.units.n, 2);
    for (unsigned i = 1; i < 40; i++) cr_assert_eq(p.units.of[i], p.units.of[0]);
    for (unsigned i = 41; i < 80; i++) cr_assert_eq(p.units.of[i], p.units.of[40]);
    check(&p);
  });
  end(&p);
}

Test(units, an_oversized_group_is_divided) {
  program p;
  begin(&p);
  NO_THROW(&p.e, {
    for (unsigned i = 0; i < 150; i++) add(&p, 5, i < 149 ? i + 1 : 0, HIA_NONE);
    divide(&p);
    cr_assert_eq(p.units.n, 3);
    check(&p);
  });
  end(&p);
}

/* A straight line is a unit of its own. */
Test(units, straight_lines_are_alone) {
  program p;
  begin(&p);
  NO_THROW(&p.e, {
    add(&p, 10, 1, HIA_NONE);
    add(&p, 10, 2, HIA_NONE);
    hiaR_text_addf(&p.text, "fn f%u (i32) -> (i32) {\n%%0:i32 = arg 0\n", p.n++);
    for (unsigned i = 0; i < 500; i++)
      hiaR_text_addf(&p.text, "%%%u:i32 = add %%%u, %%0\n", i + 1, i);
    hiaR_text_addf(&p.text, "yield %%500\n}\n");
    divide(&p);
    check(&p);
    cr_assert_eq(p.units.n, 2);
    cr_assert_eq(p.units.of[0], p.units.of[1]);
    cr_assert_eq(hiaG_unit_size_class(p.g, &p.units, p.units.of[0]), HIA_SIZE_USUAL);
    cr_assert_eq(hiaG_unit_size_class(p.g, &p.units, p.units.of[2]), HIA_SIZE_LARGE);
  });
  end(&p);
}

/* A unit's class is that of its own functions. */
Test(units, size_classes) {
  program p;
  begin(&p);
  NO_THROW(&p.e, {
    add(&p, 10, 1, HIA_NONE);
    add(&p, 13000, HIA_NONE, HIA_NONE);
    divide(&p);
    check(&p);
    cr_assert_eq(p.units.n, 2);
    cr_assert_eq(hiaG_size_class(p.g), HIA_SIZE_HUGE);
    cr_assert_eq(hiaG_unit_size_class(p.g, &p.units, p.units.of[0]), HIA_SIZE_USUAL);
    cr_assert_eq(hiaG_unit_size_class(p.g, &p.units, p.units.of[1]), HIA_SIZE_HUGE);
  });
  end(&p);
}

#endif
