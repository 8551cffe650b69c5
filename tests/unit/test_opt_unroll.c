/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/opt_unroll.c: which functions are tried without calls first. The golden files have the
 * results, tests/programs/slow_paths.hia tests that their meaning is the same. */
#include "graphs.h"
#include <stdio.h>

/* f(n, x): x if %2, else the sum of two calls of f with the operands `a` and `b`. */
#define FUNCTION(dtype, zero, a, first, b, second)                                                 \
  "graph functions \"f.hia\"\nfn f (" dtype ", i32) -> (i32) {\n"                                  \
  "%0:" dtype " = arg 0\n%1:i32 = arg 1\n%2:" dtype " = const " zero "\n%3:bool = le %0, %2\n"     \
  "%4:i32 = if %3 {\nyield %1\n} else {\n" a "%7:i32 = call f " first "\n" b                       \
  "%10:i32 = call f " second "\n%11:i32 = sub %7, %10\nyield %11\n}\nyield %4\n}\n"
#define STEP(value, op, by)                                                                        \
  "%5" value ":i32 = const " by "\n%6" value ":i32 = " op " %0, %5" value "\n"
#define STEPS(op, by, op2, by2)                                                                    \
  FUNCTION("i32", "0", STEP("1", op, by), "%61, %1", STEP("2", op2, by2), "%62, %1")

typedef struct {
  const char *text;
  bool is_tried;
} row;

static const row rows[] = {
    {STEPS("sub", "1", "sub", "2"), true},
    {STEPS("sub", "2", "add", "-1"), true},
    {STEPS("sub", "5", "sub", "9"), true},
    /* unevenly, the other way, not at all */
    {STEPS("sub", "1", "sub", "3"), false},
    {STEPS("sub", "3", "sub", "1"), false},
    {STEPS("sub", "1", "add", "1"), false},
    {STEPS("sub", "1", "div", "2"), false},
    {FUNCTION("i32", "0", STEP("1", "sub", "1"), "%61, %1", "", "%1, %1"), false},
    {FUNCTION("i32", "0", STEP("1", "sub", "1"), "%61, %1", "", "%2, %1"), false},
    {FUNCTION("i32", "0", STEP("1", "sub", "1"), "%61, %1", "", "%7, %1"), false},
    {FUNCTION("i32", "0", "%5:i32 = const 1\n%6:i32 = sub %5, %0\n", "%6, %1", "", "%0, %1"),
     false},
    /* a constant first; parameters that are not tested may be anything; other types */
    {FUNCTION("i32", "0", "%5:i32 = const -1\n%6:i32 = add %5, %0\n", "%6, %1", "", "%6, %7"),
     true},
    {FUNCTION("f64", "0x0p+0", "%5:f64 = const 0x1p-1\n%6:f64 = sub %0, %5\n", "%6, %1", "",
              "%6, %1"),
     true},
    {FUNCTION("i64", "0", "%5:i64 = const 1\n%6:i64 = sub %0, %5\n", "%6, %1",
              "%8:i64 = const 3000000000\n%9:i64 = sub %0, %8\n", "%9, %1"),
     false},
    /* a loop, a library function */
    {FUNCTION("i32", "0",
              STEP("1", "sub", "1") "%8:i32 = loop %0 {\n%9:i32 = arg 0\nyield %3, %9\n} round {\n"
                                    "yield %9\n}\n",
              "%61, %8", "", "%61, %1"),
     false},
    {FUNCTION("i32", "0",
              STEP("1", "sub", "1") "%8:f64 = cast %1\n%9:f64 = tan %8\n%12:i32 = cast %9\n",
              "%61, %12", "", "%61, %1"),
     false},
    /* one call on a path; no base case; so large that two levels are too many; counted */
    {"graph functions \"f.hia\"\nfn f (i32) -> (i32) {\n"
     "%0:i32 = arg 0\n%1:i32 = const 0\n%2:bool = le %0, %1\n%3:i32 = const 1\n%4:i32 = sub %0, "
     "%3\n"
     "%5:i32 = if %2 {\nyield %0\n} else {\n%6:bool = eq %0, %3\n"
     "%7:i32 = if %6 {\n%8:i32 = call f %4\n%9:i32 = neg %8\nyield %9\n} else {\n"
     "%10:i32 = call f %4\n%11:i32 = add %10, %3\nyield %11\n}\nyield %7\n}\nyield %5\n}\n",
     false},
    {"graph functions \"f.hia\"\nfn f (i32) -> (i32) {\n%0:i32 = arg 0\n%1:i32 = const 1\n"
     "%2:i32 = sub %0, %1\n%3:i32 = call f %2\n%4:i32 = call f %2\n%5:i32 = add %3, %4\nyield "
     "%5\n}\n",
     false},
#define DIV(from, to) "%" to ":i32 = div %" from ", %1\n"
    {FUNCTION("i32", "0",
              STEP("1", "sub", "1") DIV("1", "21") DIV("21", "22") DIV("22", "23") DIV("23", "24")
                  DIV("24", "25") DIV("25", "26") DIV("26", "27") DIV("27", "28") DIV("28", "29")
                      DIV("29", "30") DIV("30", "31") DIV("31", "32") DIV("32", "33"),
              "%61, %33", "", "%61, %1"),
     false},
    {"graph functions \"f.hia\" counted\nfn f (i32) -> (i32) {\n"
     "%0:i32 = arg 0\n%1:i32 = const 0\n%2:bool = le %0, %1\n%3:i32 = const 1\n%4:i32 = sub %0, "
     "%3\n"
     "%5:i32 = if %2 {\nyield %0\n} else {\ncount 0\n%6:i32 = call f %4\ncount 0\n"
     "%7:i32 = call f %4\n%8:i32 = mul %6, %7\nyield %8\n}\nyield %5\n}\n",
     false},
};

Test(unroll, what_is_tried_first) {
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_graph *g = read_text(&e, rows[i].text);
      hiaG_effects(g);
      hiaG_unroll(g);
      const char *defect = hiaG_verify(g);
      cr_assert(!defect, "%s", defect);
      cr_assert_eq(hiaG_fn(g, 0)->slow_path != HIA_NONE, rows[i].is_tried, "%s", rows[i].text);
      cr_assert_eq(g->fns.len, 1u + rows[i].is_tried);
    });
    hiaR_comp_free(&e.comp);
  }
}

/* If equal calls were merged, few remain. */
Test(unroll, merged_calls_are_not_tried) {
  for (int merges = 0; merges < 2; merges++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_graph *g = read_text(&e, rows[0].text);
      hiaG_effects(g);
      if (merges) hiaG_merge(g);
      hiaG_unroll(g);
      cr_assert_eq(hiaG_fn(g, 0)->slow_path == HIA_NONE, merges);
    });
    hiaR_comp_free(&e.comp);
  }
}

/* Bodies are copied with their forks along first calls and last calls, also where equal calls would
 * be merged; without forks if a level would have more than two. */
static uint32_t forks_of(const char *text, bool merges) {
  env e;
  env_init(&e);
  uint32_t forks = 0;
  NO_THROW(&e, {
    hia_graph *g = read_text(&e, text);
    hiaG_effects(g);
    if (merges) hiaG_merge(g);
    hiaG_effects(g);
    hiaG_fork(g);
    hiaG_unroll(g);
    const char *defect = hiaG_verify(g);
    cr_assert(!defect, "%s", defect);
    const hia_fn *fn = hiaG_fn(g, 0);
    HIA_EACH_NODE(fn, n) forks += fn->nodes.data[n].op == HIA_OP_FORK;
  });
  hiaR_comp_free(&e.comp);
  return forks;
}

Test(unroll, forks_of_inner_levels) {
  const char *uneven =
      FUNCTION("i32", "0", STEP("1", "div", "3"), "%61, %1", STEP("2", "sub", "1"), "%62, %1");
  uint32_t forks = forks_of(uneven, false);
  cr_assert(forks > 3 && forks % 2 == 1, "one, and two a level: %u", forks);
  cr_assert_eq(forks_of(uneven, true), forks);
  const char *three = "graph functions \"f.hia\"\nfn f (i32) -> (i32) {\n"
                      "%0:i32 = arg 0\n%1:i32 = const 0\n%2:bool = le %0, %1\n"
                      "%3:i32 = if %2 {\nyield %0\n} else {\n"
                      "%4:i32 = const 3\n%5:i32 = div %0, %4\n%6:i32 = const 4\n"
                      "%7:i32 = div %0, %6\n%8:i32 = const 1\n%9:i32 = sub %0, %8\n"
                      "%10:i32 = call f %5\n%11:i32 = call f %7\n%12:i32 = call f %9\n"
                      "%13:i32 = bxor %10, %11\n%14:i32 = bxor %13, %12\nyield %14\n}\n"
                      "yield %3\n}\n";
  cr_assert_eq(forks_of(three, false), 2, "with the next level there would be four more");
}

/* A graph that was read may have the name already. */
Test(unroll, the_slow_path_has_a_name_of_its_own) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    const char *text = hiaR_arena_printf(
        &e.comp.arena,
        "%sfn \"f.slow\" (i32, i32) -> (i32) {\n%%0:i32 = arg 0\n%%1:i32 = arg 1\n"
        "%%2:i32 = call f %%0, %%1\nyield %%2\n}\n",
        rows[0].text);
    hia_graph *g = read_text(&e, text);
    hiaG_effects(g);
    hiaG_unroll(g);
    const char *defect = hiaG_verify(g);
    cr_assert(!defect, "%s", defect);
    cr_assert_eq(hiaG_fn(g, 0)->slow_path, 2);
    cr_assert_str_eq(hiaG_fn(g, 2)->name, "f.slow.slow");
  });
  hiaR_comp_free(&e.comp);
}

/* Linear recursion, with this op in its body: the number of times that it is in the unrolled body.
 */
static uint32_t levels_of(const char *op, unsigned code) {
  char text[512];
  snprintf(text, sizeof text,
           "graph functions \"f.hia\"\nfn f (i32) -> (i32) {\n%%0:i32 = arg 0\n%%1:i32 = const 0\n"
           "%%2:bool = le %%0, %%1\n%%3:i32 = if %%2 {\nyield %%1\n} else {\n%%4:i32 = const 1\n"
           "%%5:i32 = sub %%0, %%4\n%%6:i32 = call f %%5\n%%7:i32 = %s %%0, %%6\nyield %%7\n}\n"
           "yield %%3\n}\n",
           op);
  env e;
  env_init(&e);
  hia_graph *g = read_text(&e, text);
  hiaG_effects(g);
  hiaG_unroll(g);
  const char *defect = hiaG_verify(g);
  cr_assert(!defect, "%s", defect);
  uint32_t n = 0;
  const hia_fn *fn = g->fns.data[0];
  HIA_EACH_NODE(fn, i) n += fn->nodes.data[i].op == code;
  hiaR_comp_free(&e.comp);
  return n;
}

/* As many as are needed until the remaining call does not matter, or 16 in the body. */
Test(unroll, linear_recursion) {
  uint32_t cheap = levels_of("bxor", HIA_OP_BXOR), dear = levels_of("div", HIA_OP_DIV);
  cr_assert_eq(cheap, 17, "%u", cheap);
  cr_assert(dear >= 8 && dear <= 13, "%u", dear);
}
