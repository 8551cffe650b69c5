/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: functions that have a slow path. Here the slow path returns another result, unlike any
 * that a pass makes, which shows which of the two has run and with which arguments. */
#include "tests/unit/helpers/world.h"

Test(leaf, calls_and_failures_are_left_to_the_slow_path) {
  static const int32_t rows[][3] = {{1, 1, 0},      {2, 2000, 1},   {5, 5000, 1},
                                    {20, 20000, 1}, {30, 30000, 1}, {27, 1, 0},
                                    {19, -7, 0},    {13, -1, 0},    {1000000, 0, 0}};
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("leaf_branches"), level);
      for (size_t i = 0; i < HIA_LEN(rows); i++) {
        hia_word block[3] = {hiaR_from_i32(rows[i][0])};
        cr_assert_eq(run(w, "f", block, 1 << 20), HIA_OK, "%d", rows[i][0]);
        cr_assert_eq(hiaR_to_i32(block[1]), rows[i][1], "%d", rows[i][0]);
        cr_assert_eq(block[2], (hia_word)rows[i][2], "%d", rows[i][0]);
      }
    });
  });
}

/* A loop that counts n down and x up, and calls `callee` when x is 3. `head`: the nodes before the
 * loop and its initial values; `used`: the arguments of the call. */
static const char *loop_text(world *w, const char *header, const char *before, const char *first,
                             const char *used) {
  return hiaR_arena_printf(
      &w->e.comp.arena,
      "graph functions \"f.hia\"\n"
      "fn f %s slow_path g {\n"
      "%%0:i32 = arg 0\n%%1:i32 = arg 1\n%s"
      "%%2:i32 = loop %s {\n%%3:i32 = arg 0\n%%4:i32 = arg 1\n"
      "%%5:i32 = const 0\n%%6:bool = lt %%5, %%3\nyield %%6, %%4\n} round {\n"
      "%%7:i32 = const 3\n%%8:bool = eq %%4, %%7\n"
      "%%9:i32 = if %%8 {\n%%10:i32 = call h %s\nyield %%10\n} else {\n"
      "%%11:i32 = const 1\n%%12:i32 = add %%4, %%11\nyield %%12\n}\n"
      "%%13:i32 = const 1\n%%14:i32 = sub %%3, %%13\nyield %%14, %%9\n}\n"
      "yield %%2\n}\n"
      "fn g (i32, i32) -> (i32) {\n%%0:i32 = arg 0\n%%1:i32 = arg 1\n%%2:i32 = const 1000\n"
      "%%3:i32 = mul %%0, %%2\n%%4:i32 = add %%3, %%1\nyield %%4\n}\n"
      "fn h (i32) -> (i32) {\n%%0:i32 = arg 0\n%%1:i32 = const 100\n%%2:i32 = add %%0, %%1\n"
      "yield %%2\n}\n",
      header, before, first, used);
}

#define LOOP_HEADER "(i32, i32) -> (i32) root (i32, i32) -> i32"

static int32_t run_loop(world *w, const char *text, int level, int32_t n, int32_t x) {
  int32_t result = 0;
  NO_THROW(&w->e, {
    compile_text(w, text, level);
    hia_word block[3] = {hiaR_from_i32(n), hiaR_from_i32(x)};
    cr_assert_eq(run(w, "f", block, 1 << 20), HIA_OK);
    result = hiaR_to_i32(block[2]);
  });
  return result;
}

Test(leaf, a_loop_is_left_in_its_current_round) {
  LEVELS(w, {
    const char *text = loop_text(w, LOOP_HEADER, "", "%0, %1", "%4");
    cr_assert_eq(run_loop(w, text, level, 3, 0), 3);
    cr_assert_eq(run_loop(w, text, level, 4, 0), 1003);
    cr_assert_eq(run_loop(w, text, level, 9, 0), 6003);
    cr_assert_eq(run_loop(w, text, level, 9, 4), 13);
  });
}

Test(leaf, a_loop_that_is_not_the_function_from_here_on_makes_its_calls) {
  LEVELS(w, {
    /* The loop uses another value from before it; an initial value is a constant; two of them are
     * the same parameter; there is work before the loop. */
    const char *used = loop_text(w, LOOP_HEADER, "", "%0, %1", "%0");
    cr_assert_eq(run_loop(w, used, level, 4, 0), 104);
    const char *constant = loop_text(w, LOOP_HEADER, "%20:i32 = const 0\n", "%0, %20", "%4");
    cr_assert_eq(run_loop(w, constant, level, 4, 1), 103);
    const char *twice = loop_text(w, LOOP_HEADER, "", "%0, %0", "%4");
    cr_assert_eq(run_loop(w, twice, level, 3, 0), 105);
    const char *work = loop_text(w, LOOP_HEADER, "%20:i32 = neg %1\n", "%0, %20", "%4");
    cr_assert_eq(run_loop(w, work, level, 4, 0), 103);
  });
}

/* Values in memory cannot be passed on by a jump. And a graph need not come from a file. */
Test(leaf, many_parameters_make_their_calls) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("leaf_many_params"), level);
      hia_word block[6] = {1, 2, 3, 4, 5};
      cr_assert_eq(run(w, "f", block, 1 << 20), HIA_OK);
      cr_assert_eq(block[5], 77);
    });
  });
}

/* A leaf function has no frame and no safepoint, only a jump to the slow path. */
Test(leaf, what_the_code_looks_like) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *g = graph_of(&w, graph_file("leaf_recursion"));
    hia_text t;
    hiaR_text_init(&t, &w.e.comp.arena);
    hia_compile_options options = {.level = 2};
    hia_status status = hiaJ_backend.dump(w.session, g, &options, HIA_DUMP_LLVM, &t, &w.error);
    cr_assert_eq(status, HIA_OK, "%s", said(w.error));
    const char *f = strstr(t.data, "i32 @f_0("),
               *g_at = strstr(t.data, "i32 @g_1(ptr swiftself %0, i32 %1)");
    const char *jump = strstr(t.data, "musttail call");
    const char *check = strstr(t.data, "cmpq");
    cr_assert(f && g_at && jump && check, "%s", t.data);
    cr_assert(!strstr(jump + 1, "musttail call"));
    const char *end = strstr(f, "\n}");
    cr_assert(jump > f && jump < end, "%s", t.data);
    cr_assert(check < f || check > end, "%s", t.data);
  });
  world_free(&w);
}
