/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/assume/prefer.c: which functions get a form for what was observed, and which call it; loops
 * that begin with some of their rounds; and that a graph computes the same for all arguments,
 * whether preferences are right or wrong. test_points.c tests the points themselves,
 * test_suppose.c what versions assume. */
#include "tests/unit/helpers/preferred.h"

/* ---- numbers ---- */

/* The function becomes a choice between two forms, and those that call it stay as they were. */
Test(prefer, a_number) {
  world w;
  begin(&w, less_text, ALWAYS({.point = 1, .word = 3}));
  cr_assert_str_eq(w.text, FILE_OF "fn less (i64, i64) -> (bool) {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 3\n"
                                   "  %3:bool = eq %1, %2\n"
                                   "  %4:bool = if %3 {\n"
                                   "    %5:bool = call \"less observed\" %0, %1 tail\n"
                                   "    yield %5\n"
                                   "  } else {\n"
                                   "    %6:bool = call \"less general\" %0, %1 tail\n"
                                   "    yield %6\n"
                                   "  }\n"
                                   "  yield %4\n"
                                   "}\n\n"
                                   "fn main (i64, i64) -> (bool) root (i64, i64) -> bool {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:bool = call less %0, %1\n"
                                   "  yield %2\n"
                                   "}\n\n"
                                   "fn \"less observed\" (i64, i64) -> (bool) of less {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:i64 = const 3\n"
                                   "  %3:bool = lt %0, %2\n"
                                   "  yield %3\n"
                                   "}\n\n"
                                   "fn \"less general\" (i64, i64) -> (bool) of less {\n"
                                   "  %0:i64 = arg 0\n"
                                   "  %1:i64 = arg 1\n"
                                   "  %2:bool = lt %0, %1\n"
                                   "  yield %2\n"
                                   "}\n");
  run_all_as_before(&w, 0, 5);
  end(&w);
}

/* All that is known of the parameters is tested, and the form knows all of it. */
Test(prefer, several_parameters) {
  world w;
  begin(&w, less_text, ALWAYS({.point = 0, .word = hiaR_from_i64(-2)}, {.point = 1, .word = 3}));
  cr_assert_str_eq(fn_text(&w, "fn less "), "fn less (i64, i64) -> (bool) {\n"
                                            "  %0:i64 = arg 0\n"
                                            "  %1:i64 = arg 1\n"
                                            "  %2:i64 = const -2\n"
                                            "  %3:bool = eq %0, %2\n"
                                            "  %4:i64 = const 3\n"
                                            "  %5:bool = eq %1, %4\n"
                                            "  %6:bool = band %3, %5\n"
                                            "  %7:bool = if %6 {\n"
                                            "    %8:bool = call \"less observed\" %0, %1 tail\n"
                                            "    yield %8\n"
                                            "  } else {\n"
                                            "    %9:bool = call \"less general\" %0, %1 tail\n"
                                            "    yield %9\n"
                                            "  }\n"
                                            "  yield %7\n"
                                            "}\n");
  cr_assert_str_eq(fn_text(&w, "fn \"less observed\" "),
                   "fn \"less observed\" (i64, i64) -> (bool) of less {\n"
                   "  %0:i64 = arg 0\n"
                   "  %1:i64 = arg 1\n"
                   "  %2:i64 = const -2\n"
                   "  %3:i64 = const 3\n"
                   "  %4:bool = lt %2, %3\n"
                   "  yield %4\n"
                   "}\n");
  run_all_as_before(&w, -4, 4);
  end(&w);
}

/* Points: 0 to 2: the parameters of choose; 3: its branch. */
static const char choose[] = FILE_OF "fn choose (bool, i32, i64) -> (i64) {\n"
                                     "  %0:bool = arg 0\n"
                                     "  %1:i32 = arg 1\n"
                                     "  %2:i64 = arg 2\n"
                                     "  %3:i64 = if %0 {\n"
                                     "    yield %2\n"
                                     "  } else {\n"
                                     "    %4:i32 = const 10\n"
                                     "    %5:i32 = div %4, %1\n"
                                     "    %6:i64 = cast %5\n"
                                     "    yield %6\n"
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
                                     "}\n";

/* Bools and i32, too. The third parameter is only yielded: a number there is of no use. Where the
 * second one is 0 the division fails, in both forms. */
Test(prefer, other_types) {
  for (int is_true = 0; is_true < 2; is_true++)
    for (int32_t n = -1; n < 2; n++) {
      world w;
      char known[60];
      begin(&w, choose,
            ALWAYS({.point = 0, .word = (hia_word)is_true}, {.point = 1, .word = hiaR_from_i32(n)},
                   {.point = 2, .word = 4}));
      expect_text(&w, is_true ? ":bool = const true\n" : ":bool = const false\n");
      snprintf(known, sizeof known, "  %%5:i32 = const %d\n  %%6:bool = eq %%1, %%5\n", n);
      expect_text(&w, known);
      expect_no_text(&w, "const 4");
      cr_assert_eq(count_of(w.text, " = band "), 1);
      run_all_as_before(&w, -2, 2);
      end(&w);
    }
}

/* What is observed of branches is for versions alone (suppose.c). */
Test(prefer, no_branches) {
  world w;
  begin(&w, choose, ALWAYS({.point = 3, .word = 1}));
  expect_unchanged(&w);
  end(&w);
}

/* Nothing becomes faster if a number that is added is known. */
Test(prefer, numbers_of_no_use) {
  world w;
  begin(&w,
        FILE_OF "fn sum (i64, i64) -> (i64) {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:i64 = add %0, %1\n"
                "  yield %2\n"
                "}\n\n"
                "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:i64 = call sum %1, %0\n"
                "  yield %2\n"
                "}\n",
        ALWAYS({.point = 0, .word = 1}, {.point = 1, .word = 2}));
  expect_unchanged(&w);
  end(&w);
  begin(&w, less_text, NULL, 0);
  expect_unchanged(&w);
  end(&w);
}

/* One that is handed on is of use, since the function that gets it need not be told. */
Test(prefer, a_number_that_is_handed_on) {
  world w;
  begin(&w,
        FILE_OF "fn less (i64, i64) -> (bool) {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = lt %0, %1\n"
                "  yield %2\n"
                "}\n\n"
                "fn more (i64, i64) -> (bool) {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = call less %1, %0\n"
                "  yield %2\n"
                "}\n\n"
                "fn main (i64, i64) -> (bool) root (i64, i64) -> bool {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = call more %0, %1\n"
                "  yield %2\n"
                "}\n",
        ALWAYS({.point = 1, .word = 2}, {.point = 2, .word = 2}));
  expect_text(&w, "  %2:i64 = const 2\n"
                  "  %3:bool = call less %1, %2\n");
  cr_assert_eq(count_of(w.text, "observed\" ("), 2);
  run_all_as_before(&w, 0, 4);
  end(&w);
}

/* ---- recursion ---- */

/* Points: 0: how far to go; 1: the step, which is handed on; 2: the sum; 3: the branch; 4, 5: the
 * parameters of main. It fails if the step is 0. */
static const char steps[] = FILE_OF "fn steps (i64, i64, i64) -> (i64) raises diverges {\n"
                                    "  %0:i64 = arg 0\n"
                                    "  %1:i64 = arg 1\n"
                                    "  %2:i64 = arg 2\n"
                                    "  %3:i64 = const 0\n"
                                    "  %4:bool = le %0, %3\n"
                                    "  %5:i64 = if %4 {\n"
                                    "    yield %2\n"
                                    "  } else {\n"
                                    "    %6:i64 = sub %0, %1\n"
                                    "    %7:i64 = div %0, %1\n"
                                    "    %8:i64 = add %2, %7\n"
                                    "    %9:i64 = call steps %6, %1, %8\n"
                                    "    %10:i64 = add %9, %9\n"
                                    "    yield %10\n"
                                    "  }\n"
                                    "  yield %5\n"
                                    "}\n\n"
                                    "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 raises "
                                    "diverges {\n"
                                    "  %0:i64 = arg 0\n"
                                    "  %1:i64 = arg 1\n"
                                    "  %2:i64 = call steps %0, %1, %0\n"
                                    "  yield %2\n"
                                    "}\n";

static void run_steps(world *w) {
  for (int64_t a = -1; a < 9; a++)
    for (int64_t b = 0; b < 4; b++) run_as_before(w, a, b);
}

/* The form calls itself where it hands on what it knows; the general one makes the choice. */
Test(prefer, recursion_that_hands_on) {
  world w;
  begin(&w, steps, ALWAYS({.point = 1, .word = 2}));
  cr_assert(strstr(fn_text(&w, "fn \"steps observed\" "), " = call \"steps observed\" "), "%s",
            w.text);
  cr_assert(strstr(fn_text(&w, "fn \"steps general\" "), " = call steps "), "%s", w.text);
  cr_assert_eq(count_of(w.text, "call \"steps observed\" "), 2);
  cr_assert_eq(count_of(w.text, "call \"steps general\" "), 1);
  cr_assert_eq(count_of(w.text, " tail\n"), 2); /* of the choice, and no other */
  run_steps(&w);
  end(&w);
}

/* What is handed on must be all that is known. */
Test(prefer, recursion_that_hands_on_some) {
  world w;
  begin(&w, steps, ALWAYS({.point = 0, .word = 4}, {.point = 1, .word = 2}));
  cr_assert(strstr(fn_text(&w, "fn \"steps observed\" "), " = call steps "), "%s", w.text);
  cr_assert_eq(count_of(w.text, "call \"steps observed\" "), 1);
  run_steps(&w);
  end(&w);
}

/* A constant of the program may be what is known, and a call stays a tail call. One with another
 * number makes the choice. */
Test(prefer, recursion_with_constants) {
  static const char text[] = FILE_OF "fn down (i64, i64) -> (i64) diverges {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = const 5\n"
                                     "  %3:i64 = const 1\n"
                                     "  %4:bool = lt %0, %1\n"
                                     "  %5:i64 = if %4 {\n"
                                     "    yield %0\n"
                                     "  } else {\n"
                                     "    %6:i64 = sub %0, %3\n"
                                     "    %7:bool = lt %6, %2\n"
                                     "    %8:i64 = if %7 {\n"
                                     "      %9:i64 = call down %6, %3 tail\n"
                                     "      yield %9\n"
                                     "    } else {\n"
                                     "      %10:i64 = call down %6, %2 tail\n"
                                     "      yield %10\n"
                                     "    }\n"
                                     "    yield %8\n"
                                     "  }\n"
                                     "  yield %5\n"
                                     "}\n\n"
                                     "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 diverges "
                                     "{\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = call down %0, %1\n"
                                     "  yield %2\n"
                                     "}\n";
  world w;
  begin(&w, text, ALWAYS({.point = 1, .word = 5}));
  const char *form = fn_text(&w, "fn \"down observed\" ");
  cr_assert_eq(count_of(form, " = call \"down observed\" "), 1, "%s", form);
  cr_assert_eq(count_of(form, " = call down "), 1, "%s", form);
  cr_assert_eq(count_of(form, " tail\n"), 2, "%s", form);
  cr_assert_eq(count_of(fn_text(&w, "fn \"down general\" "), " = call down "), 2, "%s", w.text);
  run_all_as_before(&w, 0, 8);
  end(&w);
}

/* Functions that call each other make the choice each time. */
Test(prefer, recursion_of_two) {
  static const char text[] = FILE_OF "fn even (i64, i64) -> (i64) raises diverges {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:bool = lt %0, %1\n"
                                     "  %3:i64 = if %2 {\n"
                                     "    yield %0\n"
                                     "  } else {\n"
                                     "    %4:i64 = call odd %0, %1 tail\n"
                                     "    yield %4\n"
                                     "  }\n"
                                     "  yield %3\n"
                                     "}\n\n"
                                     "fn odd (i64, i64) -> (i64) raises diverges {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = sub %0, %1\n"
                                     "  %3:i64 = rem %2, %1\n"
                                     "  %4:i64 = call even %2, %1\n"
                                     "  %5:i64 = add %3, %4\n"
                                     "  yield %5\n"
                                     "}\n\n"
                                     "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 raises "
                                     "diverges {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = call even %0, %1\n"
                                     "  yield %2\n"
                                     "}\n";
  world w;
  begin(&w, text, ALWAYS({.point = 1, .word = 3}, {.point = 4, .word = 3}));
  cr_assert_eq(count_of(w.text, " = call even "), 3, "%s", w.text);
  cr_assert_eq(count_of(w.text, " = call odd "), 2, "%s", w.text);
  for (int64_t a = -1; a < 12; a++)
    for (int64_t b = 0; b < 5; b++) run_as_before(&w, a, b);
  end(&w);
}

/* ---- roots ---- */

/* A root that hosts call stays the root with its signature, and its forms are none. */
Test(prefer, roots) {
  world w;
  begin(&w, less_text, ALWAYS({.point = 1, .word = 3}, {.point = 2, .word = 2}));
  expect_text(&w, "\nfn main (i64, i64) -> (bool) root (i64, i64) -> bool {\n");
  expect_text(&w, "\nfn \"main observed\" (i64, i64) -> (bool) of main {\n");
  expect_text(&w, "\nfn \"main general\" (i64, i64) -> (bool) of main {\n");
  cr_assert_eq(count_of(w.text, " root "), 1);
  run_all_as_before(&w, 0, 4);
  end(&w);
}

/* A root that calls itself stays one, too. The form that knows the number calls itself. */
Test(prefer, roots_that_recur) {
  static const char text[] = FILE_OF "fn \"up(i64, i64)\" (i64, i64) -> (i64) of up "
                                     "root (i64, i64) -> i64 diverges {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:bool = ge %0, %1\n"
                                     "  %3:i64 = if %2 {\n"
                                     "    yield %0\n"
                                     "  } else {\n"
                                     "    %4:i64 = const 1\n"
                                     "    %5:i64 = add %0, %4\n"
                                     "    %6:i64 = call \"up(i64, i64)\" %5, %1\n"
                                     "    %7:i64 = add %6, %6\n"
                                     "    yield %7\n"
                                     "  }\n"
                                     "  yield %3\n"
                                     "}\n";
  world w;
  begin(&w, text, ALWAYS({.point = 1, .word = 4}));
  cr_assert_eq(count_of(w.text, " root (i64, i64) -> i64 "), 1);
  cr_assert(
      strstr(fn_text(&w, "fn \"up(i64, i64) observed\" "), " = call \"up(i64, i64) observed\" "),
      "%s", w.text);
  run_all_as_before(&w, 0, 6);
  end(&w);
}

/* ---- several functions ---- */

/* The forms of a function whose names others have get other names. (Reading the text again would
 * find two of one name.) */
Test(prefer, names_that_others_have) {
  static const char text[] = FILE_OF "fn f (i64) -> (bool) {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:bool = call \"f observed\" %0\n"
                                     "  yield %1\n"
                                     "}\n\n"
                                     "fn \"f observed\" (i64) -> (bool) {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = const 2\n"
                                     "  %2:bool = le %0, %1\n"
                                     "  yield %2\n"
                                     "}\n\n"
                                     "fn main (i64, i64) -> (bool) root (i64, i64) -> bool {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = mul %0, %1\n"
                                     "  %3:bool = call f %2\n"
                                     "  yield %3\n"
                                     "}\n";
  world w;
  begin(&w, text, ALWAYS({.point = 0, .word = 2}, {.point = 1, .word = 2}));
  cr_assert_eq(count_of(w.text, "\nfn "), 7);
  run_all_as_before(&w, -1, 3);
  end(&w);
}

/* So many functions, each of which calls the next one. */
static char *chain(uint32_t n, uint32_t n_nodes) {
  size_t size = 300 * (n + 2) + 40 * (size_t)n * n_nodes;
  char *text = malloc(size);
  size_t len = (size_t)snprintf(text, size, "%s", FILE_OF);
  for (uint32_t i = 0; i < n; i++) {
    len += (size_t)snprintf(text + len, size - len,
                            "fn f%u (i64, i64) -> (i64) {\n"
                            "  %%0:i64 = arg 0\n"
                            "  %%1:i64 = arg 1\n"
                            "  %%2:bool = lt %%0, %%1\n"
                            "  %%3:i64 = select %%2, %%0, %%1\n",
                            i);
    for (uint32_t k = 0; k < n_nodes; k++)
      len += (size_t)snprintf(text + len, size - len, "  %%%u:i64 = add %%%u, %%1\n", 4 + k, 3 + k);
    if (i + 1 < n)
      len += (size_t)snprintf(text + len, size - len, "  %%%u:i64 = call f%u %%%u, %%1\n",
                              4 + n_nodes, i + 1, 3 + n_nodes);
    len += (size_t)snprintf(text + len, size - len, "  yield %%%u\n}\n\n",
                            (i + 1 < n ? 4 : 3) + n_nodes);
  }
  snprintf(text + len, size - len,
           "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
           "  %%0:i64 = arg 0\n"
           "  %%1:i64 = arg 1\n"
           "  %%2:i64 = call f0 %%0, %%1\n"
           "  yield %%2\n"
           "}\n");
  return text;
}

/* Code would grow, so that only so many functions get forms. */
Test(prefer, many_functions) {
  enum { N = 70, MOST = 64 };
  hia_preference of[N];
  char *text = chain(N, 1);
  for (uint32_t i = 0; i < N; i++) of[i] = (hia_preference){.point = 2 * i + 1, .word = 3};
  world w;
  begin(&w, text, of, N);
  cr_assert_eq(count_of(w.text, " observed\" ("), MOST);
  cr_assert_eq(count_of(w.text, " general\" ("), MOST);
  run_all_as_before(&w, 2, 4);
  end(&w);
  free(text);
}

/* Nor do large ones. */
Test(prefer, large_functions) {
  for (int is_large = 0; is_large < 2; is_large++) {
    char *text = chain(1, is_large ? 2100 : 1900);
    world w;
    begin(&w, text, ALWAYS({.point = 1, .word = 3}));
    if (is_large)
      expect_unchanged(&w);
    else
      cr_assert_eq(count_of(w.text, " observed\" ("), 1);
    run_all_as_before(&w, 2, 4);
    end(&w);
    free(text);
  }
}

/* A function without results. */
Test(prefer, functions_without_results) {
  world w;
  begin(&w,
        FILE_OF "fn check (i64, i64) -> () raises {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  %2:bool = lt %0, %1\n"
                "  if %2 {\n"
                "    fail %1\n"
                "    yield\n"
                "  } else {\n"
                "    yield\n"
                "  }\n"
                "  yield\n"
                "}\n\n"
                "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 raises {\n"
                "  %0:i64 = arg 0\n"
                "  %1:i64 = arg 1\n"
                "  call check %0, %1\n"
                "  yield %0\n"
                "}\n",
        ALWAYS({.point = 1, .word = 3}));
  expect_text(&w, "    call \"check observed\" %0, %1 tail\n");
  run_all_as_before(&w, 1, 5);
  end(&w);
}

/* ---- loops ---- */

static void run_rounds(world *w) {
  for (int64_t n = -1; n < 19; n++) {
    run_as_before(w, 3, 3 + n);
    run_as_before(w, -n, 0); /* a division by zero in the first round, if there is one */
  }
}

Test(prefer, a_loop_of_one_round) {
  world w;
  begin(&w, rounds_text, ALWAYS({.point = 2, .word = 1}));
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
                                   "    %11:i64, %12:i64, %13:bool = loop %8, %10 {\n"
                                   "      %14:i64 = arg 0\n"
                                   "      %15:i64 = arg 1\n"
                                   "      %16:bool = lt %14, %1\n"
                                   "      %17:i64 = mul %15, %14\n"
                                   "      yield %16, %17, %1, %16\n"
                                   "    } round {\n"
                                   "      %18:i64 = add %14, %2\n"
                                   "      %19:i64 = div %17, %1\n"
                                   "      %20:i64 = add %19, %15\n"
                                   "      yield %18, %20\n"
                                   "    }\n"
                                   "    yield %11, %12, %13\n"
                                   "  } else {\n"
                                   "    yield %4, %1, %3\n"
                                   "  }\n"
                                   "  yield %5, %6, %7\n"
                                   "}\n");
  run_rounds(&w);
  end(&w);
}

/* It begins with as many rounds as there always were, one behind the other, and may have more or
 * fewer. */
Test(prefer, a_loop_of_several_rounds) {
  for (uint32_t n = 2; n <= 16; n++) {
    world w;
    begin(&w, rounds_text, ALWAYS({.point = 2, .word = n}));
    cr_assert_eq(count_of(w.text, " = if "), n);
    cr_assert_eq(count_of(w.text, " = div "), n + 1);
    cr_assert_eq(count_of(w.text, " = loop "), 1);
    expect_no_text(&w, "guard");
    run_rounds(&w);
    end(&w);
  }
}

/* A loop that never had a round stays. So does one that had many, or a number that none can be. */
Test(prefer, loops_that_stay) {
  static const hia_word others[] = {0, 17, 1000, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX};
  for (size_t i = 0; i < HIA_LEN(others); i++) {
    world w;
    begin(&w, rounds_text, ALWAYS({.point = 2, .word = others[i]}));
    expect_unchanged(&w);
    run_as_before(&w, 3, 3);
    run_as_before(&w, 3, 5);
    end(&w);
  }
}

/* What a round computes is used as often, in its results and variables too. */
Test(prefer, a_loop_that_swaps) {
  world w;
  begin(&w, swaps_text, ALWAYS({.point = 2, .word = 3}));
  for (int64_t b = -1; b < 8; b++) run_as_before(&w, 10, b);
  end(&w);
}

/* Floats and bools as variables and results; a loop in an arm; another one that needs its result;
 * one without results, that may fail. */
Test(prefer, loops_of_other_types) {
  static const char text[] = FILE_OF
      "fn main (i64, i64) -> (f64, bool, f32) root (i64, i64) -> (f64, bool, f32) raises diverges "
      "{\n"
      "  %0:i64 = arg 0\n"
      "  %1:i64 = arg 1\n"
      "  %2:i64 = const 0\n"
      "  %3:i64 = const 1\n"
      "  %4:f64 = cast %1\n"
      "  %5:f32 = cast %0\n"
      "  %6:bool = lt %0, %1\n"
      "  %7:f64, %8:bool = if %6 {\n"
      "    %9:f64, %10:bool = loop %4, %6, %2 {\n"
      "      %11:f64 = arg 0\n"
      "      %12:bool = arg 1\n"
      "      %13:i64 = arg 2\n"
      "      %14:bool = lt %13, %0\n"
      "      yield %14, %11, %12\n"
      "    } round {\n"
      "      %15:f64 = mul %11, %4\n"
      "      %16:bool = bnot %12\n"
      "      %17:i64 = add %13, %3\n"
      "      yield %15, %16, %17\n"
      "    }\n"
      "    yield %9, %10\n"
      "  } else {\n"
      "    yield %4, %6\n"
      "  }\n"
      "  %18:f32 = loop %5, %7 {\n"
      "    %19:f32 = arg 0\n"
      "    %20:f64 = arg 1\n"
      "    %21:bool = lt %4, %20\n"
      "    yield %21, %19\n"
      "  } round {\n"
      "    %22:f32 = add %19, %19\n"
      "    %23:f64 = sub %20, %4\n"
      "    yield %22, %23\n"
      "  }\n"
      "  loop %1 {\n"
      "    %24:i64 = arg 0\n"
      "    %25:bool = lt %24, %0\n"
      "    yield %25\n"
      "  } round {\n"
      "    %26:i64 = div %0, %24\n"
      "    %27:i64 = add %24, %26\n"
      "    yield %27\n"
      "  }\n"
      "  yield %7, %8, %18\n"
      "}\n";
  for (hia_word n = 0; n < 4; n++) {
    world w;
    begin(&w, text,
          ALWAYS({.point = 3, .word = n}, {.point = 4, .word = 2},
                 {.point = 5, .word = (n + 1) % 4}));
    cr_assert_eq(count_of(w.text, "loop "), 3);
    for (int64_t a = 0; a < 5; a++)
      for (int64_t b = a ? 0 : 1; b < 6; b++)
        if (b > 1 || a <= b) run_as_before(&w, a, b);
    end(&w);
  }
}

/* Each round of the outer loop has the rounds of the inner one, and the loop behind them. */
Test(prefer, nested_loops) {
  world w;
  begin(&w, nested_text, ALWAYS({.point = 3, .word = 2}));
  cr_assert_eq(count_of(w.text, " = loop "), 2);
  cr_assert_eq(count_of(w.text, " = mul "), 3);
  run_all_as_before(&w, 0, 5);
  end(&w);
  begin(&w, nested_text, ALWAYS({.point = 2, .word = 3}));
  cr_assert_eq(count_of(w.text, " = loop "), 3 + 2);
  run_all_as_before(&w, 0, 5);
  end(&w);
  begin(&w, nested_text, ALWAYS({.point = 2, .word = 3}, {.point = 3, .word = 1}));
  cr_assert_eq(count_of(w.text, " = loop "), 3 + 2);
  cr_assert_eq(count_of(w.text, " = mul "), 2 * 4);
  run_all_as_before(&w, 0, 5);
  end(&w);
  /* The outer one would become too large, or has too many rounds. */
  for (uint32_t n = 0; n < 2; n++) {
    begin(&w, nested_text, ALWAYS({.point = 2, .word = n ? 20 : 6}, {.point = 3, .word = 4}));
    cr_assert_eq(count_of(w.text, " = loop "), 2);
    cr_assert_eq(count_of(w.text, " = mul "), 5);
    run_all_as_before(&w, 0, 7);
    end(&w);
  }
}

/* All rounds together become a few hundred nodes at most. */
Test(prefer, loops_with_many_nodes) {
  for (int is_large = 0; is_large < 2; is_large++) {
    char text[6000];
    uint32_t n = is_large ? 60 : 40;
    size_t len = (size_t)snprintf(text, sizeof text,
                                  FILE_OF "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                          "  %%0:i64 = arg 0\n"
                                          "  %%1:i64 = arg 1\n"
                                          "  %%2:i64 = loop %%0 {\n"
                                          "    %%3:i64 = arg 0\n"
                                          "    %%4:bool = lt %%3, %%1\n"
                                          "    yield %%4, %%3\n"
                                          "  } round {\n"
                                          "    %%5:i64 = const 1\n");
    for (uint32_t i = 0; i < n; i++)
      len += (size_t)snprintf(text + len, sizeof text - len, "    %%%u:i64 = %s %%%u, %%5\n", 6 + i,
                              i % 2 ? "sub" : "add", i ? 5 + i : 3);
    snprintf(text + len, sizeof text - len,
             "    %%%u:i64 = add %%%u, %%5\n"
             "    yield %%%u\n"
             "  }\n"
             "  yield %%2\n"
             "}\n",
             6 + n, 5 + n, 6 + n);
    world w;
    begin(&w, text, ALWAYS({.point = 2, .word = 4}));
    cr_assert_eq(count_of(w.text, " = if "), is_large ? 0 : 4);
    run_all_as_before(&w, 0, 6);
    end(&w);
  }
}

/* Both forms of a function have the rounds of its loops. */
Test(prefer, loops_and_numbers) {
  static const char text[] = FILE_OF "fn power (i64, i64) -> (i64) {\n"
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
                                     "  yield %3\n"
                                     "}\n\n"
                                     "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                     "  %0:i64 = arg 0\n"
                                     "  %1:i64 = arg 1\n"
                                     "  %2:i64 = call power %0, %1\n"
                                     "  yield %2\n"
                                     "}\n";
  world w;
  begin(&w, text, ALWAYS({.point = 1, .word = 3}, {.point = 2, .word = 3}));
  const char *const forms[] = {"fn \"power observed\" ", "fn \"power general\" "};
  for (size_t i = 0; i < HIA_LEN(forms); i++) {
    const char *form = fn_text(&w, forms[i]);
    cr_assert_eq(count_of(form, " = if "), 3, "%s", form);
    cr_assert_eq(count_of(form, " = loop "), 1, "%s", form);
    cr_assert_eq(count_of(form, " = mul "), 4, "%s", form);
  }
  run_all_as_before(&w, -1, 5);
  end(&w);
}
