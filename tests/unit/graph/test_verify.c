/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* graph/verify/: every rule, with a graph that breaks it. Most of them are written as text;
 * others, which the text cannot express, are made by hand and at random. */
#include "graph/analysis/effects.h"
#include "graph/ir/change.h"
#include "graph/passes/passes.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/random.h"

typedef struct {
  const char *text;    /* of the functions */
  const char *message; /* a part of the verifier's message */
} row;

static void expect_all(const char *header, const row *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      const char *text = hiaR_arena_printf(&e.comp.arena, "%s%s", header, rows[i].text);
      hia_read_error error;
      hia_graph *g = hiaG_read(&e.comp, &e.types, text, strlen(text), &error);
      cr_expect(!g, "accepted: %s", rows[i].text);
      if (!g)
        cr_expect(strstr(error.message, rows[i].message), "%s\nsays: %s\nnot: %s", rows[i].text,
                  error.message, rows[i].message);
    });
    hiaR_comp_free(&e.comp);
  }
}

/* ---- function state ---- */

#define BODY(nodes)                                                                                \
  "fn f (i32, f64, bool) -> (i32) {\n%0:i32 = arg 0\n%1:f64 = arg 1\n%2:bool = arg 2\n" nodes "\n" \
  "}"
#define DONE "\nyield %0"

static const row function_rows[] = {
    /* types by rule */
    {BODY("%3:i32 = add %0, %1" DONE), "operand 1 is f64, but must be i32"},
    {BODY("%3:f64 = add %0, %0" DONE), "result 0 is f64, but must be i32"},
    {BODY("%3:bool = add %2, %2" DONE), "add does not take bool"},
    {BODY("%3:f64 = shl %1, %1" DONE), "shl does not take f64"},
    {BODY("%3:bool = shl %2, %2" DONE), "shl does not take bool"},
    {BODY("%3:i32 = shru %0, %1" DONE), "operand 1, the count, is f64, but must be i32 or i64"},
    {BODY("%3:i32 = shr %0, %2" DONE), "operand 1, the count, is bool, but must be i32 or i64"},
    {BODY("%3:i64 = shl %0, %0" DONE), "result 0 is i64, but must be i32"},
    {BODY("%3:f64 = popcount %1" DONE), "popcount does not take f64"},
    {BODY("%3:bool = isnan %0" DONE), "isnan does not take i32"},
    {BODY("%3:f64 = isinf %1" DONE), "result 0 is f64, but must be bool"},
    {BODY("%3:f64 = fma %1, %1, %0" DONE), "operand 2 is i32, but must be f64"},
    {BODY("%3:f64 = band %1, %1" DONE), "band does not take f64"},
    {BODY("%3:i32 = sqrt %0" DONE), "sqrt does not take i32"},
    {BODY("%3:i32 = lt %0, %0" DONE), "result 0 is i32, but must be bool"},
    {BODY("%3:i32 = select %0, %0, %0" DONE), "operand 0 is i32, but must be bool"},
    {BODY("%3:i32 = select %2, %0, %1" DONE), "operand 2 is f64, but must be i32"},
    {BODY("fail %1" DONE), "operand 0 is f64, but must be i32 or i64"},
    /* numbers of operands and results */
    {BODY("%3:i32 = add %0" DONE), "add takes 2 operands, not 1"},
    {BODY("%3:i32,\n%4:i32 = add %0, %0" DONE), "add has 1 results, not 2"},
    {BODY("%3:i32 = const 1 %0" DONE), "const takes 0 operands, not 1"},
    {BODY("%3:i32 = yield %0"), "yield has 0 results, not 1"},
    /* yields */
    {BODY("%3:i32 = neg %0"), "region 0 does not end with a yield"},
    {BODY("yield %0\nyield %0"), "a yield, and nothing else, is the last"},
    {BODY("yield"), "it has 0 operands, but must have 1"},
    {BODY("yield %0, %0"), "it has 2 operands, but must have 1"},
    {BODY("yield %1"), "operand 0 is f64, but must be i32"},
    {BODY("%3:i32 = if %2 { yield %1 } else { yield %0 }" DONE), "operand 0 is f64"},
    {BODY("%3:i32 = if %2 { yield %0 } else { yield }" DONE), "it has 0 operands"},
    {BODY("if %0 { yield } else { yield }" DONE), "operand 0 is i32, but must be bool"},
    {BODY("%3:i32 = loop %0 {\n%4:i32 = arg 0 yield %2 } round { yield %4 }" DONE),
     "it has 1 operands, but must have 2"},
    {BODY("%3:i32 = loop %0 {\n%4:i32 = arg 0 yield } round { yield %4 }" DONE),
     "it has 0 operands, but must have 2"},
    {BODY("%3:i32 = loop %0 {\n%4:i32 = arg 0 yield %4, %4 } round { yield %4 }" DONE),
     "operand 0 is i32, but must be bool"},
    {BODY("%3:i32 = loop %0 {\n%4:i32 = arg 0 yield %2, %4 } round { yield %2 }" DONE),
     "operand 0 is bool, but must be i32"},
    /* args */
    {"fn f (i32) -> () { yield }", "begins with 0 args, but must with 1"},
    {"fn f () -> () {\n%0:i32 = arg 0 yield }", "more args than there are parameters"},
    {"fn f (i32) -> () {\n%0:i64 = arg 0 yield }", "result 0 is i64, but must be i32"},
    {"fn f (i32, i32) -> () {\n%0:i32 = arg 1\n%1:i32 = arg 0 yield }", "args come first"},
    {"fn f (i32) -> () {\n%1:i32 = const 1\n%0:i32 = arg 0 yield }", "begins with 0 args"},
    {"fn f (i32, i32) -> () {\n%0:i32 = arg 0\n%1:i32 = const 1\n%2:i32 = arg 1 yield }",
     "begins with 1 args"},
    {BODY("%3:i32 = loop %0 { yield %2, %0 } round { yield %0 }" DONE), "begins with 0 args"},
    {BODY("if %2 {\n%3:i32 = arg 0 yield } else { yield }" DONE), "arg stands in the body"},
    /* visibility */
    {BODY("if %2 {\n%3:i32 = neg %0 yield } else {\n%4:i32 = neg %3 yield }" DONE),
     "%3 is not visible here"},
    {BODY("if %2 {\n%3:i32 = neg %0 yield } else { yield } yield %3"), "%3 is not visible here"},
    {BODY("%3:i32 = if %2 { yield %3 } else { yield %0 }" DONE),
     "%3 is not defined before its use"},
    {BODY("%3:i32 = loop %0 {\n%4:i32 = arg 0 yield %2, %4 } round { yield %3 }" DONE),
     "%3 is not defined before its use"},
    {BODY("%3:i32 = loop %0 {\n%4:i32 = arg 0 yield %2, %4 } round { yield %4 } yield %4"),
     "%4 is not visible here"},
    /* calls */
    {BODY("%3:i32 = call f %0" DONE), "it has 1 operands, but must have 3"},
    {BODY("%3:i32 = call f %0, %0, %2" DONE), "operand 1 is i32, but must be f64"},
    {BODY("%3:i64 = call f %0, %1, %2" DONE), "result 0 is i64, but must be i32"},
    {BODY("call f %0, %1, %2" DONE), "it has 0 results, but must have 1"},
    /* the rest */
    {BODY("count 0" DONE), "not marked as counted"},
    {BODY("%3:i64 = const 9\n%4:i64 = charge 0 %3" DONE), "a charge is at least 1"},
    {BODY("%3:i64 = charge 1 %0" DONE), "operand 0 is i32, but must be i64"},
    {BODY("%3:i64 = const 9\n%4:i32 = charge 1 %3" DONE), "result 0 is i32, but must be i64"},
    {BODY("%3:i64 = const 9\n%4:i64 = charge 1 %3, %3" DONE), "charge takes 1 operands, not 2"},
    {"fn f (i32) -> () slow_path g { %0:i32 = arg 0 yield }", "there is no function g"},
    {"fn f (i32) -> () slow_path f { %0:i32 = arg 0 yield }", "not one of the same type"},
    {"fn f (i32) -> () slow_path g { %0:i32 = arg 0 yield } fn g () -> () { yield }",
     "not one of the same type"},
    {"fn f (i32) -> () slow_path g { %0:i32 = arg 0 yield } fn g (i64) -> () { %0:i64 = arg 0 "
     "yield }",
     "not one of the same type"},
    {"fn f () -> (i32) slow_path g { %0:i32 = const 1 yield %0 }"
     "fn g () -> (bool) { %0:bool = const true yield %0 }",
     "not one of the same type"},
    {"fn f (f32) -> (f32) gradient g { %0:f32 = arg 0 yield %0 }", "there is no function g"},
    {"fn f (f32) -> (f32) gradient f { %0:f32 = arg 0 yield %0 }", "gradient is not of its type"},
    {"fn f () -> (f32) gradient g { %0:f32 = const 0x1p+0 yield %0 }"
     "fn g (f32) -> () { %0:f32 = arg 0 yield }",
     "gradient is not of its type"},
    {"fn f (f32) -> (f32) gradient g { %0:f32 = arg 0 yield %0 }"
     "fn g (f32, f32, f64) -> (f32) { %0:f32 = arg 0\n%1:f32 = arg 1\n%2:f64 = arg 2 yield %0 }",
     "gradient is not of its type"},
    {"fn f (f32) -> (f32) gradient g { %0:f32 = arg 0 yield %0 }"
     "fn g (f32, f32, f32, f32) -> (f32) { %0:f32 = arg 0\n%1:f32 = arg 1\n%2:f32 = arg 2\n"
     "%3:f32 = arg 3 yield %0 }",
     "gradient is not of its type"},
    {"extern e (f32) -> f32 gradient g fn g (f32) -> (f32) { %0:f32 = arg 0 yield %0 }",
     "gradient is not of its type"},
    {"extern e (f32) -> f32 gradient g", "there is no function g"},
    {"fn f () -> () slow_path g { yield } fn g () -> () slow_path h { yield } fn h () -> () { "
     "yield }",
     "not one of the same type"},
    {"fn f (i32) -> (i32) root (i64) -> i32 {\n%0:i32 = arg 0" DONE "}", "disagree"},
    {"fn f (i32) -> (i32) root (i32, i32) -> i32 {\n%0:i32 = arg 0" DONE "}", "disagree"},
    {"fn f (i32) -> (i32) root (i32) -> (i32, i32) {\n%0:i32 = arg 0" DONE "}", "disagree"},
};

Test(verify, function_state) {
  expect_all("graph functions \"\"\n", function_rows, HIA_LEN(function_rows));
}

Test(verify, counters) {
  row rows[] = {{"fn f () -> () { count 2 yield }", "there is no such counter"}};
  expect_all("graph functions \"\" counted\n", rows, 1);
}

/* ---- forks, in both states ---- */

/* A function that forks a call of itself, with gaps for nodes: before the fork, while it is open,
 * between its stolen and its branch, before and behind the join, in the ELSE, and at the end. */
#define FORK(open, between, join, other, after)                                                    \
  "fn f (i32, bool) -> (i32) {\n%0:i32 = arg 0\n%1:bool = arg 1\nfork 3 f %0, %1\n" open           \
  "\n%2:bool = stolen 3\n" between "\n%3:i32 = if %2 {\n" join "\nyield %4\n} else {\n" other      \
  "\n%5:i32 = call f %0, %1\nyield %5\n}\n" after "\nyield %3\n}"
#define JOIN         "%4:i32 = join 3 f"
#define FORKED(open) FORK(open, "", JOIN, "", "")
#define PLAIN        "fn f (i32, bool) -> (i32) {\n%0:i32 = arg 0\n%1:bool = arg 1\n"

static const row fork_rows[] = {
    /* types */
    {PLAIN "fork 0 f %0\nyield %0 }", "it has 1 operands, but must have 2"},
    {PLAIN "fork 0 f %1, %1\nyield %0 }", "operand 0 is bool, but must be i32"},
    {PLAIN "%2:i32 = fork 0 f %0, %1\nyield %0 }", "fork has 0 results, not 1"},
    {PLAIN "%2:i32 = stolen 0\nyield %0 }", "is not the newest that is open"},
    {PLAIN "fork 0 f %0, %1\n%2:i32 = stolen 0\nyield %0 }", "result 0 is i32, but must be bool"},
    {PLAIN "stolen 0\nyield %0 }", "stolen has 1 results, not 0"},
    {FORK("", "", "%4:bool = join 3 f", "", ""), "result 0 is bool, but must be i32"},
    {FORK("", "", "%4:i32, %6:i32 = join 3 f", "", ""), "it has 2 results, but must have 1"},
    {FORK("", "", "%4:i32 = join 3 f %0", "", ""), "join takes 0 operands, not 1"},
    {FORK("", "", "%4:i32 = join 3 g", "", "") "fn g () -> (i32) {\n%0:i32 = const 1\nyield %0 }",
     "its fork's stolen decides"},
    /* numbers, and nesting */
    {FORKED("fork 3 f %0, %1"), "there is another fork 3"},
    {FORKED("fork 4 f %0, %1"), "fork 3 is not the newest that is open"},
    {PLAIN "fork 3 f %0, %1\nyield %0 }", "it is open at the end of its region"},
    {PLAIN "if %1 { fork 3 f %0, %1\nyield } else { yield }\n%2:bool = stolen 3\nyield %0 }",
     "it is open at the end of its region"},
    {FORKED("if %1 {\n%6:bool = stolen 3\nyield } else { yield }"), "or of another region"},
    {FORK("", "", JOIN, "", "%6:bool = stolen 3"), "fork 3 is not the newest that is open"},
    {FORK("", "", JOIN, "", "fork 3 f %0, %1"), "there is another fork 3"},
    {PLAIN "loop {\nfork 3 f %0, %1\nyield %1 } round { yield }\nyield %0 }", "it is open at"},
    {PLAIN "loop {\nyield %1 } round {\nfork 3 f %0, %1\nyield }\nyield %0 }", "it is open at"},
    {PLAIN "loop {\nfork 3 f %0, %1\nyield %1 } round {\n%2:bool = stolen 3\nif %2 {\n"
           "%3:i32 = join 3 f\nyield } else { yield }\nyield }\nyield %0 }",
     "it is open at the end of its region"},
    {PLAIN "fork 3 f %0, %1\nloop {\n%2:bool = stolen 3\nyield %2 } round {\n%3:i32 = join 3 f\n"
           "yield }\nyield %0 }",
     "or of another region"},
    {PLAIN "fork 3 f %0, %1\nloop {\nyield %1 } round {\n%2:bool = stolen 3\nif %2 {\n"
           "%3:i32 = join 3 f\nyield } else { yield }\nyield }\nyield %0 }",
     "or of another region"},
    {PLAIN "fork 3 f %0, %1\n%2:bool = stolen 3\nloop {\nyield %2 } round {\n%3:i32 = join 3 f\n"
           "yield }\nyield %0 }",
     "between a stolen and its join"},
    {FORKED("loop {\n%6:i32 = join 3 f\nyield %1 } round { yield }"), "its fork's stolen decides"},
    {PLAIN "fork 0 nobody %0, %1\nyield %0 }", "nobody"},
    {PLAIN "fork -1 f %0, %1\nyield %0 }", "expected"},
    {PLAIN "fork 4294967296 f %0, %1\nyield %0 }", "number too large"},
    {PLAIN "fork f %0, %1\nyield %0 }", "expected"},
    {PLAIN "%2:bool = stolen\nyield %0 }", "expected"},
    {PLAIN "%2:bool = stolen 3 f\nyield %0 }", "expected"},
    /* joins */
    {FORKED("%6:i32 = join 3 f"), "its fork's stolen decides"},
    {FORK("", "", JOIN "\n%6:i32 = join 3 f", "", ""), "its fork's stolen decides"},
    {FORK("", "", JOIN, "%6:i32 = join 3 f", ""), "its fork's stolen decides"},
    {FORK("", "", JOIN, "", "%6:i32 = join 3 f"), "its fork's stolen decides"},
    {FORK("", "%6:i32 = join 3 f", "%4:i32 = const 1", "", ""), "its fork's stolen decides"},
    {FORK("", "", "%4:i32 = const 1", "", ""), "between a stolen and its join"},
    {FORK("", "", "%6:i32 = join 2 f\n" JOIN, "", ""), "its fork's stolen decides"},
    {FORK("", "", "%4:i32 = call f %0, %1\n%6:i32 = join 3 f", "", ""), "between a stolen"},
    {FORK("", "", "fork 4 f %0, %1\n" JOIN, "", ""), "between a stolen and its join"},
    {FORK("", "", "count 0\n" JOIN, "", ""), "not marked as counted"},
    {FORK("", "if %1 { yield } else { yield }", JOIN, "", ""), "a branch that it decides"},
    {FORK("", "", "if %1 { yield } else { yield }\n" JOIN, "", ""), "a branch that it decides"},
    {FORK("", "loop {\n%6:bool = const false yield %6 } round { yield }", JOIN, "", ""),
     "between a stolen and its join"},
    {FORK("", "%6:i32 = call f %0, %1", JOIN, "", ""), "between a stolen and its join"},
    {FORK("", "fork 4 f %0, %1", JOIN, "", ""), "between a stolen and its join"},
    {PLAIN "fork 3 f %0, %1\n%2:bool = stolen 3\nyield %0 }", "between a stolen and its join"},
    {PLAIN
     "fork 3 f %0, %1\n%2:bool = stolen 3\nif %1 {\n%3:i32 = join 3 f\nyield } else { yield }\n"
     "yield %0 }",
     "a branch that it decides"},
    {PLAIN
     "fork 3 f %0, %1\n%2:bool = stolen 3\nif %2 { yield } else {\n%3:i32 = join 3 f\nyield }\n"
     "yield %0 }",
     "between a stolen and its join"},
    {PLAIN
     "fork 3 f %0, %1\n%2:bool = stolen 3\n%3:bool = bnot %2\nif %3 {\n%4:i32 = join 3 f\nyield } "
     "else { yield }\nyield %0 }",
     "a branch that it decides"},
    /* the branch in another region than the stolen: it might not be reached, or several times */
    {PLAIN
     "fork 3 f %0, %1\n%2:bool = stolen 3\nif %1 {\nif %2 {\n%3:i32 = join 3 f\nyield } else { "
     "yield }\nyield } else { yield }\nyield %0 }",
     "a branch that it decides"},
};

Test(verify, forks) { expect_all("graph functions \"\"\n", fork_rows, HIA_LEN(fork_rows)); }

Test(verify, the_frame_of_forks_is_right) {
  const char *good[] = {
      FORKED(""), FORKED("if %1 { yield } else { yield }"),
      FORK("%6:i32 = call f %0, %1", "%7:i32 = neg %6", "%8:i32 = div %0, %0\n" JOIN,
           "fork 5 f %0, %1\n%9:bool = stolen 5\nif %9 {\n%10:i32 = join 5 "
           "f\nyield } else { yield }",
           "fork 6 f %0, %1\n%11:bool = stolen 6\nif %11 {\n%12:i32 = join 6 "
           "f\n%13:i32 = call f %12, %1"
           "\nyield } else { yield }"),
      /* open over a loop; in its head, and in its round */
      FORKED("loop {\nfork 8 f %0, %1\n%6:i32 = call f %0, %1\n"
             "%7:bool = stolen 8\nif %7 {\n%8:i32 = join 8 f\nyield } else { yield "
             "}\nyield %1 } round {\nfork 9 f %0, %1\n%9:bool = stolen 9\nif %9 {\n"
             "%10:i32 = join 9 f\nyield } else { yield }\nyield }")};
  for (size_t i = 0; i < HIA_LEN(good); i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_graph *g =
          read_text(&e, hiaR_arena_printf(&e.comp.arena, "graph functions \"\"\n%s", good[i]));
      hiaG_effects(g);
      hiaG_tag(g);
      cr_assert_null(hiaG_verify(g), "%s", hiaG_verify(g));
      const char *printed = text_of(&e, g);
      cr_assert_str_eq(text_of(&e, read_text(&e, printed)), printed);
    });
    hiaR_comp_free(&e.comp);
  }
}

#define SECTION(traits, nodes)                                                                     \
  "fn f (i32, bool) -> (i32) " traits                                                              \
  " {\n%0:i32 = merge.entry 0\n%1:bool = merge.entry 1\n" nodes "\nyield %0 }"
#define RECURS   "diverges recursive"
#define LEAF     "\nfn g () -> () { yield }"
#define BEGIN    "fork 0 f %0, %1\n%2:bool = stolen 0\n"
#define JOIN_F   "%3:i32 = join 0 f\n"
#define BOTH(in) "then .1 %2 { " in " } else .2 { }"

static const row static_fork_rows[] = {
    {SECTION("", BEGIN BOTH(JOIN_F)), "not marked as one that diverges"},
    {SECTION("diverges", BEGIN BOTH(JOIN_F)), "not marked as one that is recursive"},
    {SECTION(RECURS, BEGIN BOTH("")), "its join is missing"},
    {SECTION(RECURS, BEGIN), "between a stolen and its join"},
    {SECTION(RECURS, "fork 0 f %0, %1"), "it is open at the end of its region"},
    {SECTION(RECURS, BEGIN "then .1 %1 { " JOIN_F "} else .2 { }"), "a branch that it decides"},
    {SECTION(RECURS, BEGIN "then .1 %2 { } else .2 { " JOIN_F "}"), "its join is missing"},
    {SECTION(RECURS, BEGIN "then .3 %1 { } else .4 { }" BOTH(JOIN_F)), "a branch that it decides"},
    {SECTION(RECURS, BEGIN "head .3 { round .4 %1 { } }" BOTH(JOIN_F)), "is no bool of its parent"},
    {SECTION(RECURS, BEGIN "head .3 {\n%4:bool = const true round .4 %4 { } }" BOTH(JOIN_F)),
     "a branch that it decides"},
    {SECTION(RECURS,
             BEGIN "site 0 f call_i 0.0 %0 call_i 0.1 %1\n%4:i32 = return_i 0.0\n" BOTH(JOIN_F)),
     "between a stolen and its join"},
    {SECTION(RECURS,
             BEGIN "then .1 %2 {\nthen .3 %2 {\n%3:i32 = join 0 f } else .4 { } } else .2 { }"),
     "is no bool of its parent"},
    {SECTION(RECURS, "then .1 %1 { fork 0 f %0, %1 } else .2 { }"),
     "%0 belongs in region 0, not 1"},
    {SECTION(RECURS, BEGIN BOTH(JOIN_F) "\n%5:i32 = add %3, %3"), "belongs in region 1, not 0"},
    /* loops: a round is left with a fork of its own, or of its head; one is ended in the round */
    {SECTION(RECURS, "head .1 {\n%2:bool = const true round .2 %2 { fork 0 g } }") LEAF,
     "it is open at the end of its region"},
    {SECTION(RECURS, "head .1 {\n%2:bool = const true fork 0 g round .2 %2 { } }") LEAF,
     "it is open at the end of its region"},
    {SECTION(RECURS, "head .1 {\n%2:bool = const true fork 0 g round .2 %2 {\n%3:bool = stolen 0\n"
                     "then .3 %3 { join 0 g } else .4 { } } }") LEAF,
     "or of another region"},
    {SECTION(RECURS, "fork 0 g head .1 {\n%2:bool = const true\n%3:bool = stolen 0\n"
                     "then .2 %3 { join 0 g } else .3 { } round .4 %2 { } }") LEAF,
     "or of another region"},
    {SECTION(RECURS, "head .1 { fork 0 g\n%2:bool = stolen 0 round .2 %2 { join 0 g } }") LEAF,
     "a branch that it decides"},
    {SECTION(RECURS, "fork 0 g\nthen .1 %1 { } else .2 { fork 0 g }") LEAF,
     "there is another fork 0"},
    {SECTION(RECURS, "fork 0 g\nthen .1 %1 { fork 1 g } else .2 { }") LEAF,
     "it is open at the end of its region"},
    {SECTION(RECURS, "fork 0 g\nfork 1 g\n%2:bool = stolen 0") LEAF,
     "fork 0 is not the newest that is open"},
    {SECTION(RECURS, "%2:bool = stolen 0\nthen .1 %2 { join 0 g } else .2 { }") LEAF,
     "fork 0 is not the newest that is open"},
    {SECTION(RECURS, "fork 0 g %0") LEAF, "it has 1 operands, but must have 0"},
    {SECTION(RECURS, "fork 0 g\n%2:bool = stolen 0\nthen .1 %2 {\n%3:i32 = join 0 g } else .2 { }")
         LEAF,
     "it has 1 results, but must have 0"},
};

Test(verify, forks_of_sections) {
  expect_all("graph static \"\"\n", static_fork_rows, HIA_LEN(static_fork_rows));
}

/* ---- static state ---- */

/* A section with a branch on %1, and gaps for nodes. */
#define BRANCH(before, then_side, else_side, after)                                                \
  "fn f (i32, bool) -> (i32) {\n%0:i32 = merge.entry 0\n%1:bool = merge.entry 1\n"                 \
  "%2:i32,\n%3:i32 = switch .1 %0, %1\n" before "\nthen .1 %1 {\n%4:i32 = neg %2\n" then_side      \
  "\n} else .2 {\n" else_side "\n}\n%5:i32 = merge .1 %4, %3\n" after "\nyield %5\n}"
/* A loop with variable %0 and invariant %1, which is its condition. */
#define LOOP(before, head, round, after)                                                           \
  "fn f (i32, bool) -> (i32) diverges {\n%0:i32 = merge.entry 0\n%1:bool = merge.entry 1\n"        \
  "%2:i32 = enter .1 %0\n%3:bool = enter .1 %1 invariant\n" before                                 \
  "\nhead .1 {\n%4:i32 = merge.loop %2, %7\n%5:i32,\n%6:i32 = switch .2 %4, %3\n" head             \
  "\nround .2 %3 {\n" round "\n%7:i32 = next .1 %5\n}\n}\n%8:i32 = exit .1 %6\n" after             \
  "\nyield %8\n}"
#define CALLER(traits, nodes)                                                                      \
  "fn g (i32, i64) -> (i32) {\n%0:i32 = merge.entry 0\n%1:i64 = merge.entry 1\nyield %0\n}\n"      \
  "fn h () -> () { yield }\n"                                                                      \
  "fn f (i32, i64) -> (i32) group 1 " traits                                                       \
  " {\n%0:i32 = merge.entry 0\n%1:i64 = merge.entry 1\n" nodes "\nyield %0\n}"

static const row static_rows[] = {
    /* entry and result */
    {"fn f (i32) -> () { yield }", "parameter 0 lacks its entry merge"},
    {"fn f (i32) -> () {\n%0:i32 = const 1 yield }", "parameter 0 lacks its entry merge"},
    {"fn f () -> () {\n%0:i32 = merge.entry 0 yield }", "the entry merges are the first nodes"},
    {"fn f (i32) -> () {\n%0:i64 = merge.entry 0 yield }", "result 0 is i64, but must be i32"},
    {"fn f () -> () { }", "a section ends with a yield"},
    {"fn f () -> () {\n%0:i32 = const 1 }", "a section ends with a yield"},
    {"fn f () -> (i32) { yield }", "it has 0 operands, but must have 1"},
    {"fn f () -> (i32) {\n%0:i64 = const 1 yield %0 }", "operand 0 is i64, but must be i32"},
    {BRANCH("", "yield", "", ""), "the yield is the last node"},
    /* values stay in their context */
    {BRANCH("", "%6:i32 = neg %0", "", ""), "%0 belongs in region 0, not 1"},
    {BRANCH("", "%6:i32 = neg %3", "", ""), "%3 belongs in region 2, not 1"},
    {BRANCH("", "", "%6:i32 = neg %2", ""), "%2 belongs in region 1, not 2"},
    {BRANCH("", "", "%6:i32 = neg %4", ""), "%4 belongs in region 1, not 2"},
    {BRANCH("", "", "", "%6:i32 = neg %3"), "%3 belongs in region 2, not 0"},
    {BRANCH("", "%6:i32 = const 1", "", "%7:i32 = neg %6"), "%5 belongs in region 1, not 0"},
    {BRANCH("%6:i32 = const 1", "%7:i32 = neg %6", "", ""), "%4 belongs in region 0, not 1"},
    /* switches and merges */
    {BRANCH("%6:i64,\n%7:i32 = switch .1 %0, %1", "", "", ""), "operand 0 is i32, but must be i64"},
    {BRANCH("%6:i32,\n%7:i32 = switch .2 %0, %1", "", "", ""), "it must name a then or round"},
    {BRANCH("%6:bool = const true\n%7:i32, %8:i32 = switch .1 %0, %6", "", "", ""),
     "its predicate is not that of its region"},
    {BRANCH("", "", "", "%6:i32,\n%7:i32 = switch .1 %0, %1"), "a switch stands before"},
    {BRANCH("", "%6:i32,\n%7:i32 = switch .1 %2, %1", "", ""), "it must name a then or round"},
    {BRANCH("", "", "", "%6:i32 = merge .1 %3, %3"), "%3 belongs in region 2, not 1"},
    {BRANCH("", "", "", "%6:i32 = merge .1 %4, %4"), "%4 belongs in region 1, not 2"},
    {BRANCH("", "", "", "%6:i32 = merge .2 %4, %3"), "it must name a then"},
    {BRANCH("", "", "", "%6:i64 = merge .1 %4, %3"), "operand 0 is i32, but must be i64"},
    {"fn f (i32) -> () {\n%0:i32 = merge.entry 0 then .1 %0 { } else .2 { } yield }",
     "is no bool of its parent"},
    {"fn f (bool) -> () {\n%0:bool = merge.entry 0\n%1:bool, %2:bool = switch .1 %0, %0 "
     "then .1 %0 { } else .2 { } then .3 %1 { } else .4 { } yield }",
     "is no bool of its parent"},
    /* loops */
    {LOOP("", "", "%9:i32 = neg %4", ""), "%4 belongs in region 1, not 2"},
    {LOOP("", "", "%9:i32 = neg %6", ""), "%6 goes to an exit only"},
    {LOOP("", "%9:i32 = neg %2", "", ""), "%2 goes to a merge.loop only"},
    {LOOP("%9:i32 = neg %3", "", "", ""), "but must be"},
    {LOOP("%9:bool = bnot %3", "", "", ""), "%3 belongs in region 1, not 0"},
    {LOOP("", "", "", "%9:i32 = neg %6"), "%6 goes to an exit only"},
    {LOOP("", "", "", "%9:i32 = exit .1 %4"), "%4 belongs in region 1, not 1"},
    {LOOP("", "", "", "%9:i32 = exit .1 %0"), "%0 belongs in region 0, not 1"},
    {LOOP("", "", "", "%9:i32 = exit .2 %6"), "it must name the head"},
    {LOOP("", "", "", "%9:i32 = enter .1 %0"), "an enter stands before its loop"},
    {LOOP("", "%9:i32 = next .1 %4", "", ""), "next stands in the round"},
    {LOOP("", "", "%9:i32 = next .2 %5", ""), "next stands in the round"},
    {LOOP("", "", "%9:i32 = next .1 %5\n%10:i32 = neg %9", ""), "%7 goes to a merge.loop only"},
    {LOOP("", "%9:bool = merge.loop %3, %7", "", ""), "its first operand must be an enter"},
    {LOOP("", "%9:i32 = merge.loop %2, %4", "", ""), "its second operand must be a next"},
    {LOOP("%9:i32 = merge.loop %0, %7", "", "", ""), "merge.loop stands in the head"},
    {"fn f (bool) -> () {\n%0:bool = merge.entry 0\n%1:bool = enter .1 %0 head .1 { "
     "%2:bool = merge.loop %1, %3 round .2 %2 {\n%4:bool, %5:bool = switch .2 %2, %2 "
     "%3:bool = next .1 %4 } } yield }",
     "it must name a then or round"},
    /* calls */
    {CALLER("", "call_i 0.0 %0"), "it is not part of the site it names"},
    {CALLER("", "site 0 g call_i 0.0 %0"), "does not have the nodes of a call of g"},
    {CALLER("", "site 0 g call_i 0.0 %0 call_i 0.1 %1\n%2:i32 = neg %0"),
     "it must be result 0 of site 0"},
    {CALLER("", "site 0 g call_i 0.0 %0 call_i 0.1 %0\n%2:i32 = return_i 0.0"),
     "operand 0 is i32, but must be i64"},
    {CALLER("", "site 0 g call_i 0.0 %0 call_i 0.1 %1\n%2:i64 = return_i 0.0"),
     "result 0 is i64, but must be i32"},
    {CALLER("", "site 0 g call_i 0.1 %0 call_i 0.0 %1\n%2:i32 = return_i 0.0"),
     "it must be argument 0 of site 0"},
    {CALLER("", "site 0 g call_i 0.0 call_i 0.1 %1\n%2:i32 = return_i 0.0"),
     "it must be argument 0 of site 0"},
    {CALLER("", "site 0 h call_i 0.0 %0"), "it must be argument 0 of site 0"},
    {CALLER("", "site 0 h call_i 0.0\n%2:i32 = return_i 0.0"), "it is not part of the site"},
    {CALLER("", "site 0 h partner 3 call_i 0.0\n"), "the partner of site 0 does not exist"},
    {CALLER("", "site 0 h site 1 h call_i 0.0\n"), "site 1 is out of order"},
    /* traits */
    {CALLER("", "%2:i32 = div %0, %0"), "not marked as one that raises"},
    {CALLER("recursive", "site 0 f call_i 0.0 %0 call_i 0.1 %1\n%2:i32 = return_i 0.0"),
     "not marked as one that diverges"},
    {CALLER("diverges", "site 0 f call_i 0.0 %0 call_i 0.1 %1\n%2:i32 = return_i 0.0"),
     "not marked as one that is recursive"},
    {"fn a () -> () group 1 { yield }", "there are no 1 groups"},
    {"fn a () -> () { site 0 b call_i 0.0\nyield } fn b () -> () group 1 { yield }",
     "the group of the callee comes after"},
    {"fn a () -> () group 1 { site 0 b call_i 0.0\nyield } fn b () -> () raises { yield }",
     "not marked as one that raises"},
};

Test(verify, static_state) { expect_all("graph static \"\"\n", static_rows, HIA_LEN(static_rows)); }

Test(verify, the_frames_of_those_rows_are_right) {
  const char *good[] = {BRANCH("", "", "", ""), LOOP("", "", "", ""),
                        CALLER("", "site 0 g call_i 0.0 %0 call_i 0.1 %1\n%2:i32 = return_i 0.0"),
                        CALLER("", "site 0 h call_i 0.0\n")};
  for (size_t i = 0; i < HIA_LEN(good); i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      char *text = hiaR_arena_printf(&e.comp.arena, "graph static \"\"\n%s", good[i]);
      const char *printed = text_of(&e, read_text(&e, text));
      cr_assert_str_eq(text_of(&e, read_text(&e, printed)), printed);
    });
    hiaR_comp_free(&e.comp);
  }
}

/* ---- gradients ---- */

#define GRADIENT(of, types, operands)                                                              \
  "extern h (f64) -> f64\nextern n (i32) -> f64\nextern i (i32) -> i32 impure\n"                   \
  "param W: f32[2] = full(0x0p+0)\n"                                                               \
  "fn f (f64, i32, f32[?]) -> (f64) {\n%0:f64 = arg 0\n%1:i32 = arg 1\n%2:f32[?] = arg 2\n"        \
  "%3:f64 = host n %1\nyield %0\n}\n"                                                              \
  "fn i () -> (i32) {\n%0:i32 = const 1\nyield %0\n}\n"                                            \
  "fn two () -> (f64, f64) {\n%0:f64 = const 0x1p+0\nyield %0, %0\n}\n"                            \
  "fn host (f64) -> (f64) {\n%0:f64 = arg 0\n%1:f64 = host h %0\nyield %1\n}\n"                    \
  "fn impure (f64) -> (f64) {\n%0:f64 = arg 0\n%1:i32 = const 1\n%2:i32 = host i %1\n"             \
  "yield %0\n}\n"                                                                                  \
  "fn far (f64) -> (f64) {\n%0:f64 = arg 0\n%1:f64 = call impure %0 yield %1 }\n"                  \
  "fn around (f64) -> (f64) {\n%0:f64 = arg 0\n%1:f64 = call back %0\nyield %1\n}\n"               \
  "fn back (f64) -> (f64) {\n%0:f64 = arg 0\n%1:f64 = call main %0\nyield %1\n}\n"                 \
  "fn main (f64) -> (f64) {\n%0:f64 = arg 0\n%1:i32 = const 3\n%2:f32[?] = param W\n"              \
  "%3:" types " = grad " of " " operands "\nyield %0\n}"

static const row gradient_rows[] = {
    {GRADIENT("f (0, 3)", "f64, %4:f64", "%0, %1, %2"), "there is no parameter 3"},
    {GRADIENT("f (1)", "i32", "%0, %1, %2"), "parameter 1 is i32, but must be of floats"},
    {GRADIENT("f (0, 0)", "f64, %4:f64", "%0, %1, %2"), "the gradient of one parameter twice"},
    {GRADIENT("f (param W, param W)", "f32[?], %4:f32[?]", "%0, %1, %2"),
     "the gradient of one param twice"},
    {GRADIENT("f (0)", "f64", "%0, %1"), "it has 2 operands, but must have 3"},
    {GRADIENT("f (0)", "f64", "%0, %0, %2"), "operand 1 is f64, but must be i32"},
    {GRADIENT("f (0)", "f64, %4:f64", "%0, %1, %2"), "it has 2 results, but must have 1"},
    {GRADIENT("f value (0)", "f64", "%0, %1, %2"), "it has 1 results, but must have 2"},
    {GRADIENT("f value (2)", "f64, %4:f64", "%0, %1, %2"), "result 1 is f64, but must be f32[?]"},
    {GRADIENT("f value (2)", "f32, %4:f32[?]", "%0, %1, %2"), "result 0 is f32, but must be f64"},
    {GRADIENT("i (param W)", "f32[?]", ""), "the result of its function must be f32 or f64"},
    {GRADIENT("two (param W)", "f32[?]", ""), "the result of its function must be f32 or f64"},
    {GRADIENT("host (0)", "f64", "%0"), "calls a function of the host that has no gradient"},
    {GRADIENT("impure (0)", "f64", "%0"), "calls a function of the host that has no gradient"},
    {GRADIENT("far (0)", "f64", "%0"), "calls a function of the host that has no gradient"},
    {GRADIENT("main (0)", "f64", "%0"), "the derivative is of infinite order"},
    {GRADIENT("around (0)", "f64", "%0"), "the derivative is of infinite order"},
    {GRADIENT("f (0)", "f64", "%0, %1, %2 tail"), "expected an op"},
};

Test(verify, gradients) {
  expect_all("graph functions \"\"\n", gradient_rows, HIA_LEN(gradient_rows));
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = read_text(
        &e, "graph functions \"\"\n" GRADIENT("f value (2, param W, 0)",
                                              "f64, %4:f32[?], %5:f32[?], %6:f64", "%0, %1, %2"));
    hia_fn *fn = hiaG_fn(g, g->fns.len - 1);
    cr_assert_eq(hiaG_node_effects(g, fn, 3) & HIA_E_ALLOCATES, HIA_E_ALLOCATES);
    g->gradients.data[0].fn = 1000;
    cr_assert(strstr(hiaG_verify(g), "its function does not exist"), "%s", hiaG_verify(g));
    g->gradients.data[0].fn = 0;
    g->gradients.data[0].n = 0;
    cr_assert(strstr(hiaG_verify(g), "with respect to nothing"), "%s", hiaG_verify(g));
    fn->nodes.data[3].imm = 1;
    cr_assert(strstr(hiaG_verify(g), "a gradient that does not exist"), "%s", hiaG_verify(g));
  });
  hiaR_comp_free(&e.comp);
}

Test(verify, positions) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    const char *text = "graph functions \"\"\nfn f (i32) -> (i32) {\n  %0:i32 = arg 0\n"
                       "  %1:f64 = sqrt %0\n  yield %0\n}\n";
    hia_read_error error;
    cr_assert_null(hiaG_read(&e.comp, &e.types, text, strlen(text), &error));
    cr_assert(error.line == 4 && error.col == 12, "%u:%u", error.line, error.col);
    cr_assert_str_eq(error.message, "result 0 is f64, but must be i32, in function f, node 1: "
                                    "%1:f64 = sqrt %0");
  });
  hiaR_comp_free(&e.comp);
}

/* ---- errors that no text can have ---- */

static hia_node_id op_at(const hia_fn *fn, unsigned op) {
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == op) return n;
  return HIA_NONE;
}

#define BROKEN(graph, change, wanted)                                                              \
  do {                                                                                             \
    env e;                                                                                         \
    env_init(&e);                                                                                  \
    NO_THROW(&e, {                                                                                 \
      hia_graph *g = read_text(&e, graph_file(graph));                                             \
      hia_fn *fn = hiaG_fn(g, g->fns.len - 1);                                                     \
      hia_node *nodes = fn->nodes.data;                                                            \
      (void)nodes;                                                                                 \
      change;                                                                                      \
      const char *defect = hiaG_verify(g);                                                         \
      cr_assert(defect &&strstr(defect, wanted), "%s: %s", #change, defect ? defect : "fine");     \
    });                                                                                            \
    hiaR_comp_free(&e.comp);                                                                       \
  } while (0)

Test(verify, broken_structure) {
  BROKEN("fib", nodes[2].op = 111, "unknown op");
  BROKEN("fib", nodes[2].op = HIA_OP_SWITCH, "does not belong in a graph of this state");
  BROKEN("fib", nodes[2].n_ins = 1000, "operands of node 2 lie outside");
  BROKEN("fib", nodes[2].outs = 1000, "results of node 2 lie outside");
  BROKEN("fib", nodes[2].outs = 0, "belongs to another node");
  BROKEN("fib", fn->values.data[2].type = (hia_dtype)9, "has no type");
  BROKEN("fib", fn->edges.data[0] = 1000, "operand 0 does not exist");
  BROKEN("fib", nodes[2].region = 9, "its region does not exist");
  BROKEN("fib", nodes[2].region = 1, "wrong links");
  BROKEN("fib", nodes[2].loc = 999, "its location does not exist");
  BROKEN("fib", nodes[2].flags = HIA_NODE_TAIL, "flags that le cannot have");
  BROKEN("fib", nodes[2].imm = 1, "le has no immediate");
  BROKEN("fib", nodes[2].regions = 1, "le has no regions");
  BROKEN("fib", nodes[3].regions = HIA_NONE, "it lacks its regions");
  BROKEN("fib", nodes[3].regions = 2, "its regions do not exist");
  BROKEN("fib", fn->regions.data[1].owner = 2, "another kind, parent or owner");
  BROKEN("fib", fn->regions.data[2].kind = HIA_REGION_ROUND, "another kind, parent or owner");
  BROKEN("fib", fn->regions.data[1].pred = 2, "predicate before tagging");
  BROKEN("fib", fn->regions.data[1].first = HIA_NONE, "does not end with a yield");
  BROKEN("fib", fn->regions.data[1].last = fn->regions.data[2].last, "a yield, and nothing else");
  BROKEN("fib", nodes[1].next = 1, "it is in two places");
  BROKEN("fib", nodes[1].next = 1000, "leads outside");
  BROKEN("fib", nodes[2].prev = 0, "wrong links");
  BROKEN("fib", nodes[1].next = nodes[2].next, "wrong links");
  BROKEN("fib", nodes[1].flags |= HIA_NODE_DEAD, "was removed");
  BROKEN("fib", nodes[op_at(fn, HIA_OP_ADD)].flags |= HIA_NODE_DEAD, "was removed");
  BROKEN("fib", nodes[1].imm = 1ull << 40, "not in canonical form");
  BROKEN("fib", nodes[op_at(fn, HIA_OP_CALL)].imm = 7, "its callee does not exist");
  BROKEN("fib", fn->source = 99, "its name does not exist");
  BROKEN("fib", fn->params[0] = (hia_dtype)77, "parameter 0 has no type");
  BROKEN("fib", fn->sig_result = 5, "a root has a result type");
  BROKEN("fib", fn->regions.len = 0, "there is no body");
  BROKEN("fib", g->locs.data[0].parent = 0, "location 0");
  BROKEN("fib", hiaR_push(&e.comp.arena, &g->sites, (hia_site){0}), "call sites before tagging");
  BROKEN("mixed", hiaG_fn(g, 0)->is_removed = true, "its callee does not exist");
  BROKEN("mixed", hiaG_fn(g, 0)->name = fn->name, "two functions have one name");
  BROKEN("mixed", nodes[op_at(fn, HIA_OP_CAST)].imm = HIA_I64, "the immediate must be f32");
}

#define TAGGED hiaG_effects(g), hiaG_tag(g), fn = hiaG_fn(g, g->fns.len - 1), nodes = fn->nodes.data

Test(verify, broken_contexts) {
  BROKEN("mixed", (TAGGED, fn->regions.data[1].parent = 1), "comes before its parent");
  BROKEN("mixed", (TAGGED, fn->regions.data[1].kind = HIA_REGION_THEN), "region 1, then");
  BROKEN("mixed", (TAGGED, fn->regions.data[2].last--), "partner do not fit");
  BROKEN("mixed", (TAGGED, fn->regions.data[1].first++), "it stands in region");
  BROKEN("mixed", (TAGGED, fn->regions.data[0].last--), "region 0 is not the whole body");
  BROKEN("mixed", (TAGGED, fn->regions.data[2].pred = HIA_NONE), "lacks its predicate");
  BROKEN("mixed", (TAGGED, fn->regions.data[2].pred = 9999), "lacks its predicate");
  BROKEN("mixed", (TAGGED, fn->regions.data[3].owner = 1), "or an owner");
  BROKEN("mixed", (TAGGED, fn->regions.data[3].last = 9999), "lies outside");
  BROKEN("mixed", (TAGGED, fn->regions.data[5].first--, fn->regions.data[5].last--),
         "region 5, then, and its partner");
  BROKEN("mixed",
         (TAGGED, fn->regions.data[5].first = fn->regions.data[5].last = fn->regions.data[6].first =
                      fn->regions.data[6].last = fn->regions.data[4].first + 1),
         "overlaps another");
  BROKEN("mixed", (TAGGED, nodes[op_at(fn, HIA_OP_DIV)].region = 3), "it stands in region");
  BROKEN("mixed", (TAGGED, g->sites.data[0].n_returns = 2), "does not have the nodes");
  BROKEN("mixed", (TAGGED, g->sites.data[0].caller = 99), "has no caller");
  BROKEN("mixed", (TAGGED, g->sites.data[0].loc = 99), "location of site 0");
  BROKEN("mixed", (TAGGED, fn->effects = 0), "not marked as one that");
}

/* ---- random errors ---- */

/* One field somewhere gets another number, usually a small one, which may be valid. */
static void damage(hia_graph *g, random_source *r) {
  hia_fn *fn = hiaG_fn(g, random_below(r, g->fns.len));
  struct {
    void *data;
    size_t size;
  } tables[] = {{fn->nodes.data, fn->nodes.len * sizeof *fn->nodes.data},
                {fn->values.data, fn->values.len * sizeof *fn->values.data},
                {fn->edges.data, fn->edges.len * sizeof *fn->edges.data},
                {fn->regions.data, fn->regions.len * sizeof *fn->regions.data},
                {g->sites.data, g->sites.len * sizeof *g->sites.data},
                {g->locs.data, g->locs.len * sizeof *g->locs.data}};
  uint32_t table = random_below(r, HIA_LEN(tables));
  if (tables[table].size == 0) return;
  uint32_t at = 4 * random_below(r, (uint32_t)(tables[table].size / 4));
  uint32_t kind = random_below(r, 4), word = (uint32_t)random_next(r);
  char *target = (char *)tables[table].data + at;
  uint32_t value = kind == 0 ? word : kind == 1 ? HIA_NONE : word % (kind == 2 ? 8 : 64);
  if (table == 0 && at % sizeof(hia_node) == 0) /* op and flags are bytes */
    memcpy(target + word % 2, &value, 1);
  else if (table == 3 && at % sizeof(hia_region) == 0)
    memcpy(target, &value, 1);
  else if (table == 4 && at % sizeof(hia_site) == offsetof(hia_site, is_tail))
    *target = value & 1; /* a bool */
  else
    memcpy(target, &value, 4);
}

Test(verify, damaged_graphs_are_refused_or_harmless) {
  random_source r = {1};
  uint32_t n_refused = 0;
  const char *texts[] = {graph_file("fib"), graph_file("mixed"), graph_file("forks")};
  for (int i = 0; i < 30000; i++) {
    env e;
    env_init(&e);
    NO_THROW(&e, {
      hia_graph *g = read_text(&e, texts[i % 3]);
      bool is_static = i % 2;
      if (is_static) hiaG_effects(g), hiaG_tag(g);
      damage(g, &r);
      if (hiaG_verify(g)) {
        n_refused++;
      } else {
        const char *text = text_of(&e, g);
        hia_text dot;
        hiaR_text_init(&dot, &e.comp.arena);
        hiaG_dot(g, &dot);
        cr_assert_str_eq(text_of(&e, read_text(&e, text)), text);
        if (!is_static) {
          for (uint32_t f = 0; f < g->fns.len; f++) hiaG_compact(g, hiaG_fn(g, f));
          cr_assert_null(hiaG_verify(g));
          cr_assert_str_eq(text_of(&e, g), text);
        }
      }
    });
    hiaR_comp_free(&e.comp);
  }
  cr_assert(n_refused > 15000 && n_refused < 29900, "%u refused", n_refused);
}
