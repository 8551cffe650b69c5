/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the interpreter does in fewer actions than there are nodes: calls without a frame, and
 * rounds whose words are computed in place. `expand`, which runs the nodes themselves, must agree.
 */
#include "tests/unit/helpers/image.h"
#include <criterion/criterion.h>
#include <stdio.h>

/* main(n) is `expected` on both engines and any number of threads, and leaves no objects. Returns
 * what the interpreter used on one thread. */
static hia_usage gives(const char *source, hia_word n, int64_t expected) {
  image_program p = image_of(source, false, NULL);
  image_outcome expand = image_run(&p, IMAGE_EXPAND, &n, 1, NULL, NULL), one = {0};
  for (unsigned threads = 3; threads >= 1; threads--) {
    one = image_run(&p, IMAGE_INTERP, &n, threads, NULL, NULL);
    cr_assert_eq(one.status, HIA_OK, "%s", source);
    cr_assert_eq((int64_t)one.results[0], expected, "%lld instead of %lld: %s",
                 (long long)one.results[0], (long long)expected, source);
    cr_assert_eq(one.live, 0, "%lld objects are left: %s", (long long)one.live, source);
    cr_assert(image_agree(&p, &one, &expand), "%s", source);
  }
  cr_assert_eq(one.usage.firings, expand.usage.firings, "%s", source);
  image_discard(&p);
  return one.usage;
}

/* ---- calls without a frame ---- */

Test(interp_actions, leaves_need_no_frames) {
  hia_usage used = gives("fn fib(n: i64) -> i64 = if n <= 1 then n else fib(n - 1) + fib(n - 2)\n"
                         "fn main(n: i64) -> i64 = fib(n)",
                         20, 6765);
  cr_assert_leq(used.peak_frames, 20); /* main, fib(20) .. fib(2) */
  cr_assert_eq(used.frames, 21892);    /* all calls are counted */
}

Test(interp_actions, leaves_of_all_comparisons) {
  static const struct {
    const char *test;
    int64_t at_0, at_5; /* main(n) */
  } rows[] = {{"n < 0", 101, 106},        {"n <= 0", 100, 105},       {"0 > n", 101, 106},
              {"0 >= n", 100, 105},       {"n == 0", 100, 105},       {"not (n > 0)", 100, 105},
              {"not (n >= 0)", 101, 106}, {"not (n != 0)", 100, 105}, {"not (0 < n)", 100, 105}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int is_i32 = 0; is_i32 < 2; is_i32++) {
      char source[300];
      snprintf(source, sizeof source,
               "fn f(n: %s, k: i64) -> i64 = if %s then k else 1 + f(n - 1, k)\n"
               "fn main(n: i64) -> i64 = f(%s(n), 100)",
               is_i32 ? "i32" : "i64", rows[i].test, is_i32 ? "i32" : "i64");
      gives(source, 0, rows[i].at_0);
      gives(source, 5, rows[i].at_5);
    }
}

#define LIST                                                                                       \
  "type List = Nil | Cons(head: i64, tail: List)\n"                                                \
  "fn build(n: i64) -> List = if n == 0 then Nil else Cons(n, build(n - 1))\n"                     \
  "fn append(xs: List, ys: List) -> List =\n"                                                      \
  "  match xs { Nil => ys, Cons(h, t) => Cons(h, append(t, ys)) }\n"                               \
  "fn total(xs: List) -> i64 = match xs { Nil => 0, Cons(h, t) => h + total(t) }\n"

/* The result of a leaf is an argument: taken, or of the caller's, too; or there are others. */
Test(interp_actions, leaves_with_references) {
  gives(LIST "fn main(n: i64) -> i64 = total(append(build(n), build(n)))", 10, 110);
  gives(LIST "fn main(n: i64) -> i64 = { let a = build(n); total(append(a, a)) * 1000 + total(a) }",
        10, 110055);
  gives(LIST "fn main(n: i64) -> i64 = { let a = build(n);\n"
             "  total(append(Nil, a)) * 1000 + total(append(a, Nil)) }",
        10, 55055);
  gives(LIST "fn pick(n: i64, xs: List, ys: List) -> List =\n"
             "  if n == 0 then xs else Cons(n, pick(n - 1, ys, xs))\n"
             "fn main(n: i64) -> i64 = { let a = build(2);\n"
             "  total(pick(n, a, build(3))) * 1000 + total(pick(n + 1, build(3), a)) }",
        4, 13018);
  gives(LIST "fn last(xs: List, n: i64) -> List = match xs {\n"
             "  Nil => xs, Cons(h, t) => if h == n then t else append(last(t, n), Nil) }\n"
             "fn main(n: i64) -> i64 = total(last(build(n), 4)) * 100 + total(last(build(n), 99))",
        9, 600);
}

/* ---- rounds ---- */

/* A word of the round before is needed behind the action in which the next one is computed. */
Test(interp_actions, rounds_keep_words_that_are_needed) {
  gives("fn main(n: i64) -> i64 = {\n"
        "  let (a, b, _) = loop (a = 0i64, b = 1i64, i = 0i64) while i < n { (b, a + b, i + 1) };\n"
        "  a * 1000 + b }",
        10, 55089);
  gives(
      "fn main(n: i64) -> i64 = {\n"
      "  let (_, s) = loop (i = 0i64, s = 0i64) while i < n { let j = i + 1; (j, s * 3 + i) }; s }",
      5, 58);
  gives("fn main(n: i64) -> i64 = {\n"
        "  let (i, last) = loop (i = 1i64, last = 0i64) while i < n { (2 * i + 1, i) };\n"
        "  i * 1000 + last }",
        20, 31015);
  gives("fn up(i: i64, n: i64, s: i64) -> i64 = {\n"
        "  let j = i + 2; if j > n then s * 100 + i else up(j, n, s + j) }\n"
        "fn main(n: i64) -> i64 = up(0, n, 0)",
        9, 2008);
  gives("fn main(n: i64) -> i64 = {\n"
        "  let (_, s, _) = loop (i = 0i64, s = 0i64, odd = false) while i < n {\n"
        "    (i + 1, if odd then s + i else s - 1, not odd) };\n"
        "  s }",
        7, 5);
}

/* Arrays and lists that a loop takes apart: shared ones, and those that the last round drops. */
Test(interp_actions, rounds_with_references) {
  gives("fn mark(a: [(i64, i64)], i: i64) -> [(i64, i64)] =\n"
        "  if i >= len(a) then a else mark(set(a, i, (i, 7)), i + 2)\n"
        "fn add(a: [(i64, i64)], i: i64, s: i64) -> i64 =\n"
        "  if i == len(a) then s else add(a, i + 1, s + a[i].0 + a[i].1)\n"
        "fn main(n: i64) -> i64 = { let a = [(100i64, 0i64) for _i in 0..n];\n"
        "  add(mark(a, 0), 0, 0) * 1000000 + add(mark(a, 1), 0, 0) * 1000 + add(a, 0, 0) }",
        4, 216218400);
  gives("fn g(a: [(i64, i32)], i: i64) -> i64 = {\n"
        "  let b = set(a, i % 3, (i, 1)); if i > 5 then i else g(b, i + 1) }\n"
        "fn main(n: i64) -> i64 = g([(0i64, 0), (0i64, 0), (0i64, 0)], n)",
        0, 6);
  gives(
      "type Mark = No | Yes\n"
      "fn g(a: [Mark], i: i64, n: i64) -> [Mark] =\n"
      "  if i >= n then a else g(set(a, i, Yes), i + 3, n)\n"
      "fn count(a: [Mark]) -> i64 = {\n"
      "  let (_, s) = loop (i = 0i64, s = 0i64) while i < len(a) {\n"
      "    (i + 1, match a[i] { Yes => s + 1, No => s }) };\n"
      "  s }\n"
      "fn main(n: i64) -> i64 = { let a = [No for _i in 0..n]; count(g(a, 0, n)) * 10 + count(a) }",
      10, 40);
  gives(LIST
        "fn sum(xs: List, s: i64) -> i64 = match xs { Nil => s, Cons(h, t) => sum(t, s + h) }\n"
        "fn main(n: i64) -> i64 = { let a = build(n);\n"
        "  sum(a, 0) * 1000 + sum(append(a, a), 0) + sum(build(n), 0) }",
        10, 55165);
  gives(LIST
        "fn drop(xs: List, n: i64) -> i64 = match xs {\n"
        "  Nil => n, Cons(h, t) => if h == 5 then 100 + n else drop(t, n + 1) }\n"
        "fn main(n: i64) -> i64 = { let a = build(n); drop(a, 0) * 1000 + drop(build(n), 0) +\n"
        "  drop(a, 1) + drop(build(3), 0) }",
        9, 104000 + 104 + 105 + 3);
}

/* A failure, a cancelled run and fuel end a round as before. */
Test(interp_actions, rounds_fail) {
  image_program p =
      image_of("fn main(n: i64) -> i64 = {\n"
               "  let a = [(k, 0) for k in 1i64..4];\n"
               "  let (_, s) = loop (i = 0i64, s = 0i64) while i < n { (i + 1, s + a[i].0) };\n"
               "  s }",
               false, NULL);
  hia_word n = 5;
  image_outcome expand = image_run(&p, IMAGE_EXPAND, &n, 1, NULL, NULL);
  for (unsigned threads = 1; threads <= 2; threads++) {
    image_outcome o = image_run(&p, IMAGE_INTERP, &n, threads, NULL, NULL);
    cr_assert_eq(o.status, HIA_RANGE);
    cr_assert_eq(o.failure.range.first, 3);
    cr_assert(image_agree(&p, &o, &expand));
  }
  image_discard(&p);
}
