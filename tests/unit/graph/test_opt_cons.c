/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tail recursion modulo constructors: which functions get a version that is told where to put its
 * results, and that they give what they gave before. */
#include "tests/unit/helpers/counts.h"

#define LISTS                                                                                      \
  "type L = N | C(i: i32, l: L)\n"                                                                 \
  "type T = E | K(i: i32, l: L) | Q(a: T, b: T)\n"                                                 \
  "fn list(n: i32, to: L) -> L = if n <= 0 then to else list(n - 1, C(n, to))\n"                   \
  "fn sum(l: L) -> i32 = match l { N => 1, C(i, t) => 3 * sum(t) + i }\n"                          \
  "fn size(t: T) -> i32 =\n"                                                                       \
  "  match t { E => 2, K(i, l) => i + 5 * sum(l), Q(a, b) => 7 * size(a) + 11 * size(b) }\n"

/* True if the graph of main has a function of this name behind pass cons. */
static bool has_function(const char *text, hia_pass_use use, const char *name) {
  compiled c;
  compile_good(&c, text);
  hia_inst_id inst = instance(&c, "main", HIA_NONE);
  cr_assert_neq(inst, HIA_NONE, "%s\n%s", text, all_errors(&c));
  counts_built b;
  counts_build(&b, &c, inst, use, NULL, "cons");
  bool found = false;
  for (hia_fn_id f = 0; f < b.g->fns.len; f++)
    found |= !hiaG_fn(b.g, f)->is_removed && strcmp(hiaG_fn(b.g, f)->name, name) == 0;
  hiaR_comp_free(&b.comp);
  discard(&c);
  return found;
}

static void becomes_loop(const char *text, const char *name) {
  cr_assert(has_function(text, HIA_USE_NATIVE, name), "%s\n%s", name, text);
  for (int32_t n = 0; n < 9; n++) cr_assert(counts_check(text, n));
}

static void is_left_alone(const char *text, const char *name) {
  cr_assert_not(has_function(text, HIA_USE_NATIVE, name), "%s\n%s", name, text);
  for (int32_t n = 0; n < 5; n++) cr_assert(counts_check(text, n));
}

Test(opt_cons, the_call_is_the_last_field) {
  becomes_loop(LISTS
               "fn append(a: L, b: L) -> L = match a { N => b, C(x, r) => C(x, append(r, b)) }\n"
               "fn main(n: i32) -> i32 = {\n"
               "  let a = list(n, N); sum(append(a, append(list(3, N), a))) }\n",
               "append(L, L) into");
}

Test(opt_cons, the_call_is_another_field) {
  becomes_loop("type R = N | C(l: R, i: i32, m: i64, r: R)\n"
               "fn make(n: i32) -> R = if n <= 0 then N else C(make(n - 1), n, 5i64, N)\n"
               "fn turn(l: R) -> R = match l { N => N, C(l, i, m, r) => C(r, 7, m + 1, turn(l)) }\n"
               "fn sum(l: R) -> i32 = match l { N => 1, C(l, i, m, r) => 3 * sum(l) + i + i32(m) + "
               "5 * sum(r) }\n"
               "fn main(n: i32) -> i32 = { let l = make(n); sum(turn(l)) + sum(l) }\n",
               "turn(R) into");
}

Test(opt_cons, some_paths_end_in_tail_calls) {
  becomes_loop(
      LISTS
      "fn below(p: i32, l: L) -> L = match l {\n"
      "  N => N, C(x, r) => if x % 3 < p then C(x, below(p, r)) else below(p, r) }\n"
      "fn main(n: i32) -> i32 = { let l = list(n, N); sum(below(1, l)) + sum(below(2, l)) }\n",
      "below(i32, L) into");
}

Test(opt_cons, two_lists_are_taken_apart) {
  becomes_loop(LISTS "fn merge(a: L, b: L) -> L = match a { N => b, C(x, ar) => match b { N => a,\n"
                     "  C(y, br) => if x <= y then C(x, merge(ar, b)) else C(y, merge(a, br)) } }\n"
                     "fn main(n: i32) -> i32 = sum(merge(list(n, N), list(6, N)))\n",
               "merge(L, L) into");
}

Test(opt_cons, functions_lead_to_each_other) {
  static const char text[] =
      LISTS "fn odd(l: L, n: i32) -> L = match l { N => N, C(x, r) => C(x + n, even(r, n + 1)) }\n"
            "fn even(l: L, n: i32) -> L = match l { N => N, C(x, r) => if x > 5 then odd(r, n) "
            "else third(r) }\n"
            "fn third(l: L) -> L = match l { N => C(100, N), C(x, r) => C(7, C(x, odd(r, 0))) }\n"
            "fn main(n: i32) -> i32 = { let l = list(n, N); sum(odd(l, 0)) + sum(even(l, 1)) }\n";
  becomes_loop(text, "odd(L, i32) into");
  becomes_loop(text, "even(L, i32) into");
  becomes_loop(text, "third(L) into");
}

Test(opt_cons, several_constructors_deep) {
  becomes_loop(LISTS
               "fn twice(l: L) -> L = match l { N => N, C(x, r) => C(x, C(x, C(5, twice(r)))) }\n"
               "fn tree(n: i32) -> T = if n <= 0 then E else Q(K(n, N), Q(tree(n - 1), E))\n"
               "fn main(n: i32) -> i32 = sum(twice(list(n, N))) + size(tree(n))\n",
               "twice(L) into");
}

/* The branch is below the constructor, and the calls in its arms. */
Test(opt_cons, a_branch_below_a_constructor) {
  becomes_loop(LISTS
               "fn f(l: L, n: i32) -> L = match l { N => N, C(x, r) =>\n"
               "  C(x, if n > 2 then C(9, f(r, 0)) else if n > 1 then N else f(r, n + 1)) }\n"
               "fn main(n: i32) -> i32 = { let l = list(n, N); sum(f(l, 0)) + sum(f(l, 2)) }\n",
               "f(L, i32) into");
}

Test(opt_cons, several_results) {
  static const char text[] =
      LISTS "fn split(l: L) -> (L, L) = match l { N => (N, N),\n"
            "  C(x, r) => { let (a, b) = split(r); (C(x, b), a) } }\n"
            "fn part(p: i32, l: L) -> (L, L, i32) = match l { N => (N, C(p, N), p),\n"
            "  C(x, r) => if x % 3 < p then { let (a, b, n) = part(p, r); (C(x, a), b, n) }\n"
            "             else { let (a, b, n) = part(p, r); (a, C(x, C(p, b)), n) } }\n"
            "fn main(n: i32) -> i32 = {\n"
            "  let l = list(n, N);\n"
            "  let (a, b) = split(l);\n"
            "  let (c, d, k) = part(1, l);\n"
            "  sum(a) + 13 * sum(b) + 17 * sum(c) + 19 * sum(d) + sum(l) + k }\n";
  becomes_loop(text, "split(L) into");
  becomes_loop(text, "part(i32, L) into");
}

/* Other calls of the function, whose results are looked at, take places of their own. */
Test(opt_cons, calls_that_are_not_last) {
  becomes_loop(LISTS
               "fn f(l: L, n: i32) -> L = match l { N => C(n, N),\n"
               "  C(x, r) => if n > 1 then C(sum(f(r, n - 1)), N)\n"
               "             else C(x, f(r, n + 1)) }\n"
               "fn main(n: i32) -> i32 = { let l = list(n, N); sum(f(l, 0)) + sum(f(l, 3)) }\n",
               "f(L, i32) into");
}

/* The same values in two rounds: each round makes its own object. */
Test(opt_cons, equal_objects_stay_apart) {
  becomes_loop(
      LISTS "fn repeat(n: i32, x: i32) -> L = if n <= 0 then N else C(x, C(x, repeat(n - 1, x)))\n"
            "fn main(n: i32) -> i32 = sum(repeat(n, 7))\n",
      "repeat(i32, i32) into");
}

Test(opt_cons, functions_that_fail_keep_their_frames) {
  is_left_alone(LISTS "fn f(l: L) -> L = match l { N => N, C(x, r) => C(100 / (x - 3), f(r)) }\n"
                      "fn main(n: i32) -> i32 = sum(f(list(n / 2, N)))\n",
                "f(L) into");
}

Test(opt_cons, trees_are_unrolled) {
  is_left_alone(LISTS "fn f(n: i32) -> T = if n <= 0 then E else Q(f(n - 1), f(n - 2))\n"
                      "fn main(n: i32) -> i32 = size(f(n))\n",
                "f(i32) into");
}

/* What comes behind the call may not be moved before it. */
Test(opt_cons, the_call_is_not_last) {
  is_left_alone(LISTS "fn g(n: i32) -> i32 = if n <= 0 then 0 else g(n - 1) + g(n / 2) + 1\n"
                      "fn f(n: i32) -> T = if n <= 0 then E else Q(f(n - 1), K(g(n), N))\n"
                      "fn main(n: i32) -> i32 = size(f(n))\n",
                "f(i32) into");
}

/* The result is used twice, or looked at. */
Test(opt_cons, the_result_is_shared) {
  is_left_alone(LISTS "fn f(n: i32) -> T = if n <= 0 then E else { let t = f(n - 1); Q(t, t) }\n"
                      "fn main(n: i32) -> i32 = size(f(n))\n",
                "f(i32) into");
  is_left_alone(LISTS
                "fn f(n: i32) -> L = if n <= 0 then N else { let t = f(n - 1); C(sum(t), t) }\n"
                "fn main(n: i32) -> i32 = sum(f(n))\n",
                "f(i32) into");
}

/* With several workers a call that may be stolen is not the last thing that a function does. */
Test(opt_cons, forks_go_first) {
  static const char text[] =
      LISTS "fn g(n: i32) -> i32 = if n <= 0 then 0 else g(n - 1) + g(n - 2) + 1\n"
            "fn f(n: i32) -> L = if n <= 0 then N else C(g(n), f(n - 1))\n"
            "fn main(n: i32) -> i32 = sum(f(n))\n";
  cr_assert(has_function(text, HIA_USE_NATIVE, "f(i32) into"));
  cr_assert_not(has_function(text, HIA_USE_PARALLEL, "f(i32) into"));
  for (int32_t n = 0; n < 9; n++) cr_assert(counts_check(text, n));
}
