/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/assume/suppose.c: what facts make of a graph, and that it computes the same unless a fact
 * is wrong. test_points.c tests the points themselves. */
#include "graph/assume/points.h"
#include "graph/ir/build.h"
#include "graph/ir/walk.h"
#include "tests/unit/helpers/assumed_graphs.h"
#include <stdio.h>

/* ---- facts ---- */

/* The reference evaluator knows no guards: they become failures with numbers that show the fact. */
enum { GUARDED = 1000 };
static void fail_at_guards(hia_graph *g) {
  hia_type i64 = HIA_I64;
  HIA_EACH_FN(g, f) {
    hia_fn *fn = hiaG_fn(g, f);
    HIA_EACH_NODE(fn, n) {
      const hia_node guard = fn->nodes.data[n];
      if (guard.op != HIA_OP_GUARD) continue;
      hia_node_id code =
          hiaG_insert(g, fn, n, HIA_OP_CONST, NULL, 0, &i64, 1, GUARDED + guard.imm, guard.loc);
      hia_value_id v = hiaG_out(fn, code, 0);
      hiaG_set_ins(g, fn, n, &v, 1);
      fn->nodes.data[n].op = HIA_OP_FAIL;
      fn->nodes.data[n].imm = 0;
    }
  }
}

/* Assumes facts of a graph, and verifies what becomes of it. `used`: for each of them, as text,
 * whether it is of use; NULL: that is not known. */
static void suppose(world *w, const hia_fact *facts, uint32_t n, bool all, const char *used) {
  hia_point *points;
  uint32_t n_points = hiaG_points(w->after, &points), n_used = 0;
  bool is_used[64];
  char is[65] = "";
  for (uint32_t i = 0; i < n; i++) cr_assert_lt(facts[i].point, n_points);
  uint32_t n_said = hiaG_suppose(w->after, points, facts, n, all, is_used);
  for (uint32_t i = 0; i < n; i++) {
    n_used += is_used[i];
    is[i] = is_used[i] ? '1' : '0';
  }
  cr_assert_eq(n_said, n_used);
  if (used) cr_assert_str_eq(is, used);
  w->text = changed_text(&w->e, w->after);
  fail_at_guards(w->after);
  expect_sound(&w->e, w->after);
}

static void begin(world *w, const char *text, const hia_fact *facts, uint32_t n, bool all,
                  const char *used) {
  read_twice(w, text);
  NO_THROW(&w->e, { suppose(w, facts, n, all, used); });
}
#define FACTS(...)                                                                                 \
  (const hia_fact[]){__VA_ARGS__}, (uint32_t)HIA_LEN(((const hia_fact[]){__VA_ARGS__}))

/* The run would find that this fact is wrong. */
static void run_to_guard(world *w, uint32_t number, int64_t a, int64_t b) {
  eval_outcome after;
  const hia_word args[] = {hiaR_from_i64(a), hiaR_from_i64(b)};
  eval_graph(w->after, w->root, args, 1, &after);
  cr_expect(after.status == HIA_FAILED && after.code == GUARDED + number,
            "(%lld, %lld): status %d, code %llu\n%s", (long long)a, (long long)b, (int)after.status,
            (unsigned long long)after.code, w->text);
}

/* ---- branches ---- */

/* Points: 0: parameter of dear; 1, 2: parameters of main; 3: its outer branch; 4: the branch in the
 * arm where that is true, 5: the loop there; 6: the branch in the other arm. */
static const char branches[] = FILE_OF "fn dear (i64) -> (i64) {\n"
                                       "  %0:i64 = arg 0\n"
                                       "  %1:i64 = mul %0, %0\n"
                                       "  yield %1\n"
                                       "}\n\n"
                                       "fn main (i64, i64) -> (i64, i64) root "
                                       "(i64, i64) -> (i64, i64) raises diverges {\n"
                                       "  %0:i64 = arg 0\n"
                                       "  %1:i64 = arg 1\n"
                                       "  %2:bool = lt %0, %1\n"
                                       "  %3:i64, %4:i64 = if %2 {\n"
                                       "    %5:bool = eq %0, %0\n"
                                       "    %6:i64 = if %5 {\n"
                                       "      %7:i64 = call dear %0\n"
                                       "      yield %7\n"
                                       "    } else {\n"
                                       "      %8:i64 = call dear %1\n"
                                       "      yield %8\n"
                                       "    }\n"
                                       "    %9:i64 = loop %0 {\n"
                                       "      %10:i64 = arg 0\n"
                                       "      %11:bool = lt %10, %1\n"
                                       "      yield %11, %10\n"
                                       "    } round {\n"
                                       "      %12:i64 = const 1\n"
                                       "      %13:i64 = add %10, %12\n"
                                       "      yield %13\n"
                                       "    }\n"
                                       "    yield %6, %9\n"
                                       "  } else {\n"
                                       "    %14:i64 = div %0, %1\n"
                                       "    %15:bool = eq %14, %1\n"
                                       "    %16:i64 = if %15 {\n"
                                       "      %17:i64 = call dear %14\n"
                                       "      yield %17\n"
                                       "    } else {\n"
                                       "      yield %1\n"
                                       "    }\n"
                                       "    %18:i64 = call dear %16\n"
                                       "    yield %16, %18\n"
                                       "  }\n"
                                       "  yield %3, %4\n"
                                       "}\n";

/* The guard comes first, and then what the arm does. */
Test(suppose, a_condition_that_is_true) {
  world w;
  begin(&w, branches, FACTS({3, 1}), false, "1");
  cr_assert(strstr(w.text, "  %2:bool = lt %0, %1\n"
                           "  if %2 {\n"
                           "    yield\n"
                           "  } else {\n"
                           "    guard 0\n"
                           "    yield\n"
                           "  }\n"
                           "  %3:bool = eq %0, %0\n"),
            "%s", w.text);
  cr_assert(strstr(w.text, "  yield %4, %7\n}\n"), "%s", w.text);
  cr_assert_not(strstr(w.text, " div "));
  run_as_before(&w, 2, 5);
  run_as_before(&w, -2, -1);
  run_to_guard(&w, 0, 5, 2);
  run_to_guard(&w, 0, 5, 0); /* before the division fails */
  end(&w);
}

Test(suppose, a_condition_that_is_false) {
  world w;
  begin(&w, branches, FACTS({3, 0}), false, "1");
  cr_assert(strstr(w.text, "  %2:bool = lt %0, %1\n"
                           "  if %2 {\n"
                           "    guard 0\n"
                           "    yield\n"
                           "  } else {\n"
                           "    yield\n"
                           "  }\n"
                           "  %3:i64 = div %0, %1\n"),
            "%s", w.text);
  cr_assert_not(strstr(w.text, "loop"));
  run_as_before(&w, 5, 2);
  run_as_before(&w, 4, 2);
  run_as_before(&w, 5, 0); /* a division by zero */
  run_to_guard(&w, 0, 2, 5);
  end(&w);
}

/* Facts of what is in an arm that is gone are of no use, whatever their kind; those of the other
 * arm are. Guards have the numbers of their facts, of which some are left out. */
Test(suppose, facts_inside_of_arms) {
  world w;
  begin(&w, branches, FACTS({3, 0}, {4, 1}, {5, 2}, {6, 0}), true, "1001");
  cr_assert(strstr(w.text, "guard 0\n") && strstr(w.text, "guard 3\n"));
  cr_assert(!strstr(w.text, "guard 1") && !strstr(w.text, "guard 2"));
  run_as_before(&w, 7, 2);
  run_to_guard(&w, 0, 2, 5);
  run_to_guard(&w, 3, 4, 2);
  end(&w);
  begin(&w, branches, FACTS({3, 1}, {4, 1}, {5, 2}, {6, 0}), true, "1110");
  cr_assert(strstr(w.text, "guard 1\n") && strstr(w.text, "guard 2\n"));
  cr_assert_not(strstr(w.text, "guard 3"));
  run_as_before(&w, 3, 5);
  run_to_guard(&w, 0, 5, 2);
  run_to_guard(&w, 2, 2, 5);
  run_to_guard(&w, 2, 4, 5);
  end(&w);
}

/* A field makes sense where a branch has found the constructor, so that branch stays. (The
 * evaluator ends the process where a field of another constructor is read.) */
Test(suppose, arms_that_read_fields) {
  static const char text[] = FILE_OF "type T = A(v: i64) | B(v: i64, w: i64)\n\n"
                                     "fn get (T) -> (i64) {\n"
                                     "  %0:T = arg 0\n"
                                     "  %1:i32 = ctor %0\n"
                                     "  %2:i32 = const 0\n"
                                     "  %3:bool = eq %1, %2\n"
                                     "  %4:i64 = if %3 {\n"
                                     "    %5:i64 = field A.0 %0\n"
                                     "    yield %5\n"
                                     "  } else {\n"
                                     "    %6:i64 = field B.0 %0\n"
                                     "    %7:i64 = field B.1 %0\n"
                                     "    %8:i64 = mul %6, %7\n"
                                     "    yield %8\n"
                                     "  }\n"
                                     "  yield %4\n"
                                     "}\n\n"
                                     "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:bool = lt %0, %1\n"
                                     "  %3:T = if %2 {\n"
                                     "    %4:T = data A %0\n"
                                     "    yield %4\n"
                                     "  } else {\n"
                                     "    %5:T = data B %0, %1\n"
                                     "    yield %5\n"
                                     "  }\n"
                                     "  %6:i64 = call get %3\n"
                                     "  yield %6\n"
                                     "}\n";
  for (int is_a = 0; is_a < 2; is_a++) {
    world w;
    begin(&w, text, FACTS({1, (hia_word)is_a}), true, "1");
    cr_assert(strstr(w.text, " = guard 0\n"), "%s", w.text);
    run_as_before(&w, is_a ? 2 : 5, 3);
    run_to_guard(&w, 0, is_a ? 5 : 2, 3);
    end(&w);
    eval_free();
  }
}

/* The fact of a branch is of use if the other arm takes time: it calls, loops, or makes something,
 * or has many operations. An arm that fails is as short as a guard. */
static bool is_of_use(const char *arm, const char *result, bool all) {
  char text[3000];
  world w;
  hia_fact fact = {2, 1};
  snprintf(text, sizeof text,
           FILE_OF "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                   "  %%0:i64 = arg 0\n"
                   "  %%1:i64 = arg 1\n"
                   "  %%2:bool = lt %%0, %%1\n"
                   "  %%3:i64 = if %%2 {\n"
                   "    yield %%0\n"
                   "  } else {\n"
                   "%s"
                   "    yield %s\n"
                   "  }\n"
                   "  yield %%3\n"
                   "}\n",
           arm, result);
  begin(&w, text, &fact, 1, all, NULL);
  bool is = strstr(w.text, "guard 0");
  if (!strstr(arm, " map ")) { /* which the evaluator does not know */
    run_as_before(&w, 2, 5);
    if (is)
      run_to_guard(&w, 0, 5, 2);
    else
      run_as_before(&w, 5, 2);
  }
  end(&w);
  return is;
}

Test(suppose, branches_of_no_use) {
  char many[800] = "";
  for (int i = 0; i < 10; i++)
    snprintf(many + strlen(many), sizeof many - strlen(many), "    %%%d:i64 = add %%0, %%1\n",
             4 + i);
  const struct {
    const char *arm, *result;
    bool is_of_use;
  } arms[] = {
      {"", "%1", false},
      {"    %4:i64 = mul %1, %1\n", "%4", false},
      {many, "%5", true},
      {"    %4:i64 = fail %0\n", "%4", false},
      {"    %4:[i64] = array %0, %1\n    %5:i64 = len %4\n", "%5", true},
      {"    %4:[i64] = map %0 {\n      %5:i64 = arg 0\n      yield %5\n    }\n"
       "    %6:i64 = len %4\n",
       "%6", true},
      {"    %4:i64 = loop %0 {\n      %5:i64 = arg 0\n      %6:bool = lt %5, %0\n"
       "      yield %6, %5\n    } round {\n      yield %5\n    }\n",
       "%4", true},
  };
  for (size_t i = 0; i < HIA_LEN(arms); i++) {
    cr_expect_eq(is_of_use(arms[i].arm, arms[i].result, false), arms[i].is_of_use, "%s",
                 arms[i].arm);
    cr_expect(is_of_use(arms[i].arm, arms[i].result, true), "%s", arms[i].arm);
  }
}

/* ---- parameters ---- */

static const char power[] = FILE_OF "fn power (i64, i64) -> (i64) {\n"
                                    "  %0:i64 = arg 0\n"
                                    "  %1:i64 = arg 1\n"
                                    "  %2:i64 = const 1\n"
                                    "  %3:i64 = loop %2, %1 {\n"
                                    "    %4:i64 = arg 0\n"
                                    "    %5:i64 = arg 1\n"
                                    "    %6:bool = le %2, %5\n"
                                    "    yield %6, %4\n"
                                    "  } round {\n"
                                    "    %7:i64 = mul %4, %0\n"
                                    "    %8:i64 = sub %5, %2\n"
                                    "    yield %7, %8\n"
                                    "  }\n"
                                    "  %9:bool = lt %1, %2\n"
                                    "  %10:i64 = select %9, %2, %3\n"
                                    "  yield %10\n"
                                    "}\n\n"
                                    "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                    "  %0:i64 = arg 0\n"
                                    "  %1:i64 = arg 1\n"
                                    "  %2:i64 = call power %0, %1\n"
                                    "  yield %2\n"
                                    "}\n";

/* The function tests at its begin that the parameter has the value, which is a constant then. */
Test(suppose, a_parameter_that_is_known) {
  world w;
  begin(&w, less_text, FACTS({1, 3}), false, "1");
  cr_assert_str_eq(w.text, FILE_OF "fn less (i64, i64) -> (bool) {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 3\n"
                                   "  %3:bool = eq %1, %2\n"
                                   "  if %3 {\n"
                                   "    yield\n"
                                   "  } else {\n"
                                   "    guard 0\n"
                                   "    yield\n"
                                   "  }\n"
                                   "  %4:bool = lt %0, %2\n"
                                   "  yield %4\n"
                                   "}\n\n"
                                   "fn main (i64, i64) -> (bool) root (i64, i64) -> bool {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:bool = call less %0, %1\n"
                                   "  yield %2\n"
                                   "}\n");
  run_as_before(&w, 2, 3);
  run_as_before(&w, 4, 3);
  run_to_guard(&w, 0, 4, 4);
  end(&w);
}

/* Both parameters, a negative one too: the guards are where the function begins. */
Test(suppose, parameters_that_are_known) {
  world w;
  begin(&w, power, FACTS({0, hiaR_from_i64(-2)}, {1, 3}), true, "11");
  run_as_before(&w, -2, 3);
  run_to_guard(&w, 0, 2, 3);
  run_to_guard(&w, 1, -2, 4);
  end(&w);
  /* An operand of a product alone decides nothing; one that is compared does. */
  begin(&w, power, FACTS({0, hiaR_from_i64(-2)}, {1, 3}), false, "01");
  run_as_before(&w, 5, 3);
  run_to_guard(&w, 1, 5, 2);
  end(&w);
}

/* The parameters of a root are those of hosts: what is assumed of them is tested before a run. */
Test(suppose, parameters_of_a_root) {
  world w;
  begin(&w, sums_text, FACTS({3, 2}, {4, 7}), true, "00");
  run_as_before(&w, 3, 5);
  end(&w);
}

/* The types of parameters whose values can be facts. */
Test(suppose, parameters_of_other_types) {
  world w;
  begin(&w,
        FILE_OF "fn choose (bool, i32, i64) -> (i64) {\n"
                "  %0:bool = arg 0\n"
                "  %1:i32 = arg 1\n"
                "  %2:i64 = arg 2\n"
                "  %3:i64 = if %0 {\n"
                "    %4:i64 = const 0\n"
                "    yield %4\n"
                "  } else {\n"
                "    %5:i32 = const 10\n"
                "    %6:i32 = div %5, %1\n"
                "    %7:i64 = cast %6\n"
                "    yield %7\n"
                "  }\n"
                "  yield %3\n"
                "}\n\n"
                "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = lt %0, %1\n"
                "  %3:i32 = cast %0\n"
                "  %4:i64 = call choose %2, %3, %1\n"
                "  yield %4\n"
                "}\n",
        FACTS({0, 0}, {1, hiaR_from_i32(-4)}, {2, 3}), false, "110");
  cr_assert(strstr(w.text, ":bool = const false\n") && strstr(w.text, ":i32 = const -4\n"), "%s",
            w.text);
  run_as_before(&w, -4, -4);
  run_as_before(&w, -4, -9);
  run_to_guard(&w, 1, -3, -9);
  run_to_guard(&w, 0, -4, 9);
  end(&w);
}

/* ---- loops ---- */

Test(suppose, a_loop_without_rounds) {
  world w;
  begin(&w, rounds_text, FACTS({2, 0}), false, "1");
  cr_assert_str_eq(w.text, FILE_OF "fn main (i64, i64) -> (i64, i64, bool) root "
                                   "(i64, i64) -> (i64, i64, bool) raises diverges {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 1\n"
                                   "  %3:bool = lt %0, %1\n"
                                   "  %4:i64 = mul %2, %0\n"
                                   "  %5:i64, %6:i64, %7:bool = if %3 {\n"
                                   "    %8:i64, %9:i64, %10:bool = guard 0\n"
                                   "    yield %8, %9, %10\n"
                                   "  } else {\n"
                                   "    yield %4, %1, %3\n"
                                   "  }\n"
                                   "  yield %5, %6, %7\n"
                                   "}\n");
  run_as_before(&w, 7, 3);
  run_as_before(&w, 7, 7);
  run_to_guard(&w, 0, 6, 7);
  run_to_guard(&w, 0, 1, 7);
  end(&w);
}

Test(suppose, a_loop_of_one_round) {
  world w;
  begin(&w, rounds_text, FACTS({2, 1}), false, "1");
  cr_assert_str_eq(w.text, FILE_OF "fn main (i64, i64) -> (i64, i64, bool) root "
                                   "(i64, i64) -> (i64, i64, bool) raises diverges {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 1\n"
                                   "  %3:bool = lt %0, %1\n"
                                   "  %4:i64 = mul %2, %0\n"
                                   "  %5:i64, %6:i64, %7:bool = if %3 {\n"
                                   "    %8:i64 = add %0, %2\n"
                                   "    %9:i64 = div %4, %1\n"
                                   "    %10:i64 = add %9, %2\n"
                                   "    %11:bool = lt %8, %1\n"
                                   "    %12:i64 = mul %10, %8\n"
                                   "    %13:i64, %14:i64, %15:bool = if %11 {\n"
                                   "      %16:i64, %17:i64, %18:bool = guard 0\n"
                                   "      yield %16, %17, %18\n"
                                   "    } else {\n"
                                   "      yield %12, %1, %11\n"
                                   "    }\n"
                                   "    yield %13, %14, %15\n"
                                   "  } else {\n"
                                   "    %19:i64, %20:i64, %21:bool = guard 0\n"
                                   "    yield %19, %20, %21\n"
                                   "  }\n"
                                   "  yield %5, %6, %7\n"
                                   "}\n");
  run_as_before(&w, 6, 7);
  run_as_before(&w, -1, 0); /* a division by zero */
  run_to_guard(&w, 0, 7, 7);
  run_to_guard(&w, 0, 5, 7);
  end(&w);
}

Test(suppose, a_loop_of_several_rounds) {
  for (int64_t n = 2; n <= 16; n++) {
    world w;
    begin(&w, rounds_text, FACTS({2, hiaR_from_i64(n)}), false, "1");
    cr_assert_eq(count_of(w.text, " = if "), n + 1);
    cr_assert_eq(count_of(w.text, "guard 0\n"), n + 1);
    cr_assert_not(strstr(w.text, "loop"));
    run_as_before(&w, 3, 3 + n);
    run_as_before(&w, -n, 0); /* a division by zero, in the first round */
    for (int64_t other = 0; other < 20; other++)
      if (other != n) run_to_guard(&w, 0, 3, 3 + other);
    end(&w);
  }
}

/* Code would grow with the number. */
Test(suppose, loops_of_many_rounds) {
  static const hia_word many[] = {17, 1000, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};
  for (size_t i = 0; i < HIA_LEN(many); i++) {
    world w;
    begin(&w, rounds_text, FACTS({2, many[i]}), true, "0");
    cr_assert(strstr(w.text, "loop") && !strstr(w.text, "guard"));
    run_as_before(&w, 1, 19);
    end(&w);
  }
}

/* What a loop computes is used as often, in its results and variables too. */
Test(suppose, a_loop_that_swaps) {
  world w;
  begin(&w, swaps_text, FACTS({2, 3}), false, "1");
  run_as_before(&w, 10, 3);
  run_to_guard(&w, 0, 10, 4);
  end(&w);
}

/* The inner loop is unrolled in each round of the outer one. */
Test(suppose, a_loop_in_a_loop) {
  world w;
  begin(&w, nested_text, FACTS({3, 4}), false, "1");
  cr_assert_eq(count_of(w.text, " = loop "), 1);
  cr_assert_eq(count_of(w.text, "guard 0\n"), 5);
  for (int64_t a = 0; a < 7; a++) {
    run_as_before(&w, a, 4);
    if (a) run_to_guard(&w, 0, a, 3);
    if (a) run_to_guard(&w, 0, a, 5);
  }
  run_as_before(&w, 0, 5); /* it is never reached */
  end(&w);
}

/* The inner loops come first: each round of the outer one has theirs. */
Test(suppose, a_loop_in_a_loop_that_is_unrolled) {
  world w;
  begin(&w, nested_text, FACTS({2, 3}, {3, 4}), true, "11");
  cr_assert_not(strstr(w.text, " = loop "));
  cr_assert_eq(count_of(w.text, "guard 0\n"), 4);
  run_as_before(&w, 3, 4);
  run_to_guard(&w, 0, 2, 4);
  run_to_guard(&w, 0, 4, 4);
  run_to_guard(&w, 1, 3, 5);
  end(&w);
  /* If the outer one is too long, the inner one may still be unrolled. */
  begin(&w, nested_text, FACTS({2, 20}, {3, 2}), true, "01");
  run_as_before(&w, 20, 2);
  run_to_guard(&w, 1, 20, 3);
  end(&w);
}

/* In one function a parameter, a loop, and a branch behind it. */
Test(suppose, facts_of_all_kinds) {
  world w;
  begin(&w, sums_text, FACTS({0, 3}, {1, 5}, {2, 3}, {5, 1}), true, "1111");
  cr_assert_not(strstr(w.text, "loop"));
  run_as_before(&w, 3, 5);
  run_to_guard(&w, 1, 3, 6);
  run_to_guard(&w, 0, 4, 5);
  run_to_guard(&w, 3, 5, 3);
  end(&w);
  begin(&w, sums_text, FACTS({0, 4}, {2, 3}), true, "11"); /* that cannot both be so */
  run_to_guard(&w, 0, 3, 5);
  run_to_guard(&w, 1, 4, 5);
  end(&w);
}

/* ---- random graphs ---- */

/* A fact of a point that a run has shown, or another one: then the run would come to its guard. */
static hia_fact fact_of(random_source *r, const hia_point *point, const hia_observed *p, uint32_t i,
                        bool is_right) {
  hia_word word = p->last;
  if (!p->n) word = random_below(r, 2);
  if (!is_right && point->type == HIA_BOOL) word = !word;
  if (!is_right && point->type == HIA_I32) word = hiaR_from_i32(hiaR_to_i32(word) / 2 + 1);
  if (!is_right && point->type == HIA_I64) word = word ? word - 1 : 1;
  return (hia_fact){i, word};
}

typedef struct tally {
  uint32_t n_runs, n_right, n_wrong;
} tally;

static void supposed_run(const random_run *run, const hia_fact *facts, uint32_t n, bool is_right,
                         tally *t) {
  world w;
  env_init(&w.e);
  NO_THROW(&w.e, {
    eval_outcome after;
    w.after = random_graph(&w.e.comp, &w.e.types, run->seed);
    w.root = run->root;
    suppose(&w, facts, n, true, NULL);
    bool is_used = strstr(w.text, "guard ");
    eval_graph(w.after, run->root, run->args, run->seed, &after);
    if (is_right || !is_used)
      cr_assert(eval_agree(hiaG_fn(w.after, run->root), &run->before, &after), "seed %llu\n%s",
                (unsigned long long)run->seed, w.text);
    else
      cr_assert(after.status == HIA_FAILED && after.code == GUARDED,
                "seed %llu: status %d, code %lld\n%s", (unsigned long long)run->seed,
                (int)after.status, (long long)after.code, w.text);
    t->n_right += is_right && is_used;
    t->n_wrong += !is_right && is_used;
  });
  end(&w);
}

/* The passes keep the graph's meaning while its guards are not reached. */
static void optimised_run(const random_run *run, const hia_fact *facts, uint32_t n) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    bool is_used[64];
    eval_outcome after;
    hia_point *points;
    hia_graph *g = random_graph(&e.comp, &e.types, run->seed);
    hiaG_points(g, &points);
    hiaG_suppose(g, points, facts, n, true, is_used);
    const char *text = text_of(&e, g);
    cr_assert_str_eq(text_of(&e, read_text(&e, text)), text);
    hiaG_run_passes(g, &(hia_pass_options){.use = HIA_USE_ALL, .verify = true});
    eval_graph(g, run->root, run->args, run->seed, &after);
    cr_assert(eval_agree(hiaG_fn(g, run->root), &run->before, &after), "seed %llu\n%s",
              (unsigned long long)run->seed, text);
  });
  hiaR_comp_free(&e.comp);
}

/* All facts that a run has shown can be assumed, and if one of them were another one, its guard
 * would fail. */
static void check_seed(uint64_t seed, tally *t) {
  enum { MOST = 64 };
  random_run run;
  bool is_short = random_run_begin(&run, seed);
  t->n_runs += is_short;
  if (is_short && run.before.status == HIA_OK) {
    const observing *o = &run.observed;
    random_source *r = &run.source;
    hia_fact facts[MOST];
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->n && n < MOST; i++)
      if (is_exact(o->points[i].type) && o->seen[i].n_changes == 0)
        facts[n++] = fact_of(r, &o->points[i], &o->seen[i], i, true);
    supposed_run(&run, facts, n, true, t);
    optimised_run(&run, facts, n);
    for (int k = 0; k < 6 && n; k++) {
      uint32_t i = facts[random_below(r, n)].point;
      if (!o->seen[i].n) continue;
      hia_fact wrong = fact_of(r, &o->points[i], &o->seen[i], i, false);
      if (wrong.word != o->seen[i].last) supposed_run(&run, &wrong, 1, false, t);
    }
  }
  random_run_end(&run);
}

Test(suppose, random_graphs) {
  enum { N_GRAPHS = 1600 / HIA_TEST_SHARE };
  tally t = {0};
  for (uint64_t seed = 0; seed < N_GRAPHS; seed++) check_seed(seed, &t);
  cr_assert(t.n_runs > N_GRAPHS / 2 && t.n_right > N_GRAPHS / 4 && t.n_wrong > N_GRAPHS / 4,
            "%u runs, %u with facts, %u with wrong ones", t.n_runs, t.n_right, t.n_wrong);
}
