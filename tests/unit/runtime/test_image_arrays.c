/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arrays in images: both engines, with counts, limits and threads; SET in place, wherever its array
 * is not used afterwards; and images whose operands are taken that should not be. */
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/text.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static const image_engine engines[] = {IMAGE_INTERP, IMAGE_EXPAND};

/* ---- constant time a round ---- */

/* An allocator that counts requests. Arrays of more than 64 KiB are requests of their own. */
static unsigned n_requests;
static void *count_alloc(void *user, size_t size) {
  (void)user;
  __atomic_fetch_add(&n_requests, 1, __ATOMIC_RELAXED);
  return malloc(size);
}
static void *count_resize(void *user, void *block, size_t old_size, size_t size) {
  (void)user, (void)old_size;
  return realloc(block, size);
}
static void count_free(void *user, void *block, size_t size) {
  (void)user, (void)size;
  free(block);
}

/* Each has main(n) -> i64, which changes an array of n elements n times at least, and makes few. */
static const struct {
  const char *text;
  int64_t expected; /* for N */
} in_place[] = {
    {"fn main(n: i64) -> i64 = {\n"
     "  let (a, i) = loop (a = [(k, 0i64) for k in 0..n], i = 0i64) while i < n {\n"
     "    (set(a, i, (i, i)), i + 1) };\n"
     "  a[n - 1].1 }",
     9999},
    {/* in an arm, and read before */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, i) = loop (a = [(k, 0i64) for k in 0..n], i = 0i64) while i < len(a) {\n"
     "    (if i % 2 == 0 then set(a, i, (a[i].0, a[len(a) - 1 - i].0)) else a, i + 1) };\n"
     "  a[2].1 + a[3].1 }",
     9997},
    {/* in the other arm, nested, and in a match */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, i) = loop (a = [(k, 0i64) for k in 0..n], i = 0i64) while i < n {\n"
     "    (if i % 2 == 0 then (if i % 4 == 0 then a else set(a, i, (i, 1))) else\n"
     "       match i % 3 { 0 => set(a, i, (i, 2)), 1 => a, _ => set(a, 0, (i, 3)) }, i + 1) };\n"
     "  a[0].0 * 100 + a[2].1 * 10 + a[3].1 }",
     999512},
    {/* read in a branch before, on which the SET does not depend */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, s, i) = loop (a = [(k, 0i64) for k in 0..n], s = 0i64, i = 0i64) while i < n {\n"
     "    let x = if i % 2 == 0 then (if i % 4 == 0 then a[i].0 else a[0].0) else 0;\n"
     "    let y = if i % 2 == 0 then 0 else a[i].0;\n"
     "    (set(a, n - 1 - i, (7, 7)), s + x + y, i + 1) };\n"
     "  s + a[0].1 }",
     9398757},
    {/* after a branch that makes and reads it */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, s, i) = loop (a = [(k, 0i64) for k in 0..n], s = 0i64, i = 0i64) while i < n {\n"
     "    let (b, x) = if i % 2 == 0 then { let c = set(a, i, (1, 1)); (c, c[i].0) } else (a, 0);\n"
     "    (set(b, i, (x, x)), s + x, i + 1) };\n"
     "  s + a[0].0 + a[1].0 }",
     5001},
    {/* two of them, which change their places */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, b, i) = loop (a = [(k, 0i64) for k in 0..n], b = [(k, 1i64) for k in 0..n],\n"
     "                        i = 0i64) while i < n { (set(b, i, (i, i)), a, i + 1) };\n"
     "  a[2].1 + b[3].1 }",
     1},
    {/* a loop in a loop */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, i) = loop (a = [(k, 0i64) for k in 0..n], i = 0i64) while i < n {\n"
     "    let x = a[i].0;\n"
     "    let (b, j) = loop (b = a, j = 0i64) while j < 3 { (set(b, i, (x, j)), j + 1) };\n"
     "    (b, i + 1) };\n"
     "  a[n - 1].1 }",
     2},
    {/* a function changes it */
     "fn put(a: [(i64, i64)], i: i64) -> [(i64, i64)] =\n"
     "  if a[i].0 == i then set(a, i, (i, 2 * i)) else fail(1)\n"
     "fn swap(a: [(i64, i64)], i: i64, j: i64) -> [(i64, i64)] = {\n"
     "  let x = a[i]; set(set(a, i, a[j]), j, x) }\n"
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, i) = loop (a = [(k, 0i64) for k in 0..n], i = 0i64) while i < n {\n"
     "    (swap(swap(put(a, i), i, 0), 0, i), i + 1) };\n"
     "  a[n - 1].1 }",
     19998},
    {/* passed along by tail calls, and by others */
     "fn fill(a: [(i64, i64)], i: i64) -> [(i64, i64)] =\n"
     "  if i == len(a) then a else fill(set(a, i, (i, 2)), i + 1)\n"
     "fn back(a: [(i64, i64)], i: i64) -> [(i64, i64)] =\n"
     "  if i == len(a) then a else { let b = back(a, i + 1); set(b, i, (i, b[i].1 + 1)) }\n"
     "fn main(n: i64) -> i64 = { let a = back(fill([(k, 0i64) for k in 0..n], 0), 0); a[5].1 }",
     3},
    {/* mutual recursion, and a call that reads it before */
     "fn even(a: [(i64, i64)], i: i64) -> [(i64, i64)] =\n"
     "  if i >= len(a) then a else { let b = odd(set(a, i, (i, 0)), i + 1); b }\n"
     "fn odd(a: [(i64, i64)], i: i64) -> [(i64, i64)] = {\n"
     "  let c = first(a, 3); if i >= len(a) then a else even(set(a, i, (c, 1)), i + 1) }\n"
     "fn first(a: [(i64, i64)], n: i64) -> i64 = if n == 0 then a[0].0 else first(a, n - 1) + 1\n"
     "fn main(n: i64) -> i64 = { let a = even([(k, 7i64) for k in 0..n], 0); a[9].0 + a[9].1 }",
     4},
    {/* quicksort */
     "fn swap(a: [(i64, i64)], i: i64, j: i64) -> [(i64, i64)] = {\n"
     "  let x = a[i]; set(set(a, i, a[j]), j, x) }\n"
     "fn sort(a: [(i64, i64)], low: i64, high: i64) -> [(i64, i64)] =\n"
     "  if low >= high then a else {\n"
     "    let p = a[high].0;\n"
     "    let (b, i, j) = loop (b = a, i = low, j = low) while j < high {\n"
     "      if b[j].0 < p then (swap(b, i, j), i + 1, j + 1) else (b, i, j + 1) };\n"
     "    sort(sort(swap(b, i, high), low, i - 1), i + 1, high) }\n"
     "fn main(n: i64) -> i64 = {\n"
     "  let a = sort([(k * 7919 % n, k) for k in 0..n], 0, n - 1); a[4].0 + a[n - 2].0 }",
     10002},
    {/* a swap that reads an element behind the SET that replaces it */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, i) = loop (a = [(k, 0i64) for k in 0..n], i = 0i64) while i < n / 2 {\n"
     "    let j = n - 1 - i; (set(set(a, i, a[j]), j, a[i]), i + 1) };\n"
     "  a[0].0 + 10 * a[n - 1].0 }",
     9999},
    {/* its elements are data and arrays */
     "type Cell = Empty | Full(n: i64, of: [Cell])\n"
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, i) = loop (a = [Full(k, [Empty]) for k in 0..n], i = 0i64) while i < n {\n"
     "    (match a[i] { Empty => a, Full(k, of) => set(a, i, Full(k + len(of), of)) }, i + 1) };\n"
     "  match a[7] { Empty => 0, Full(k, of) => k } }",
     8},
    {/* a comprehension over an array */
     "fn main(n: i64) -> i64 = {\n"
     "  let a = [(x.0 + 1, i64(k)) for x in [(k, 0) for k in 0..n]];\n"
     "  a[n - 1].0 }\n"
     "const k = 5",
     10000},
};
enum { N = 10000 };

static void count_requests(const char *text, int64_t expected, unsigned max_requests) {
  const hia_allocator counting = {count_alloc, count_resize, count_free, NULL};
  static const char *const disabled[] = {NULL, "all"};
  for (size_t d = 0; d < HIA_LEN(disabled); d++) {
    image_program p = image_of(text, false, disabled[d]);
    for (size_t e = 0; e < HIA_LEN(engines); e++) {
      hia_word arg = hiaR_from_i64(N);
      n_requests = 0;
      image_outcome o = image_run(&p, engines[e], &arg, 1, NULL, &counting);
      cr_assert_eq(o.status, HIA_OK, "%s\n%s", text, hiaR_status_word(o.status));
      cr_assert_eq(hiaR_to_i64(o.results[0]), expected, "%s\n%lld", text,
                   (long long)hiaR_to_i64(o.results[0]));
      cr_assert_eq(o.live, 0, "%s\n%lld objects are left", text, (long long)o.live);
      cr_assert_leq(n_requests, max_requests, "%s\n%u requests of engine %zu, %s passes", text,
                    n_requests, e, disabled[d] ? "without" : "with");
    }
    image_discard(&p);
  }
}

Test(image_arrays, set_takes_constant_time) {
  for (size_t i = 0; i < HIA_LEN(in_place); i++)
    count_requests(in_place[i].text, in_place[i].expected, 400);
}

static void HIA_PRINTF(2, 3) add(test_text *text, const char *fmt, ...) {
  char line[256];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  test_text_take(text, line, (size_t)n);
}

/* A section that is too large for sets of nodes. */
Test(image_arrays, set_takes_constant_time_in_a_large_function) {
  test_text text = {0};
  add(&text, "fn main(n: i64) -> i64 = {\n  let (a, i) = loop (a = [(k, 0i64) for k in 0..n],"
             " i = 0i64) while i < 4 {\n");
  for (unsigned i = 0; i < 1500; i++)
    add(&text, "    let x = a[i + %u].0; let a = %s;\n", i,
        i % 3 ? "set(a, i, (x, i))" : "if x % 2 == 0 then set(a, x, (x, a[x].1 + 1)) else a");
  add(&text, "    (a, i + 1) };\n  a[0].0 + a[3].1 * 10000 + a[6].1 * 100000 }\n");
  count_requests(text.data, 231499, 400);
  test_text_free(&text);
}

/* What is used afterwards is not changed. */
static const struct {
  const char *text;
  int64_t expected; /* for 5 */
} copied[] = {
    {"fn main(n: i64) -> i64 = {\n"
     "  let a = [(k, 0i64) for k in 0..n]; let b = set(a, 1, (7, 7)); a[1].0 * 10 + b[1].0 }",
     17},
    {"fn put(a: [(i64, i64)]) -> [(i64, i64)] = set(a, 1, (7, 7))\n"
     "fn main(n: i64) -> i64 = {\n"
     "  let a = [(k, 0i64) for k in 0..n]; let b = put(a); a[1].0 * 10 + b[1].0 }",
     17},
    {/* an array in an array, a part of it, and a pair of the same */
     "fn main(n: i64) -> i64 = {\n"
     "  let a = [(k, 0i64) for k in 0..n]; let c = [a, a]; let d = a[1..3]; let e = (a, a);\n"
     "  let b = set(a, 1, (7, 7)); let f = set(d, 0, (8, 8)); let g = set(c[0], 1, (9, 9));\n"
     "  let h = set(e.0, 1, (6, 6));\n"
     "  b[1].0 * 100000 + c[1][1].0 * 10000 + d[0].0 * 1000 + f[0].0 * 100 + e.1[1].0 * 10 +\n"
     "    g[1].0 + h[1].0 }",
     711825},
    {/* a loop that needs the array in every round */
     "fn main(n: i64) -> i64 = {\n"
     "  let a = [(k, 0i64) for k in 0..n];\n"
     "  let (s, i) = loop (s = 0i64, i = 0i64) while i < n {\n"
     "    (s + set(a, i, (9, 9))[i].0 + a[i].0, i + 1) };\n"
     "  s }",
     55},
    {/* the value before, in the next round */
     "fn main(n: i64) -> i64 = {\n"
     "  let (a, b, i) = loop (a = [(k, 0i64) for k in 0..n], b = [(0i64, 0i64)], i = 0i64)\n"
     "    while i < n { (set(a, i, (7, i)), a, i + 1) };\n"
     "  a[4].0 * 10 + b[4].0 }",
     74},
    {/* in both arms, and afterwards */
     "fn main(n: i64) -> i64 = {\n"
     "  let a = [(k, 0i64) for k in 0..n];\n"
     "  let b = if n > 3 then set(a, 1, (7, 7)) else set(a, 1, (8, 8)); a[1].0 * 10 + b[1].0 }",
     17},
};

Test(image_arrays, what_is_used_later_is_not_changed) {
  for (size_t i = 0; i < HIA_LEN(copied); i++)
    for (int passes = 0; passes < 2; passes++) {
      image_program p = image_of(copied[i].text, false, passes ? NULL : "all");
      hia_word arg = hiaR_from_i64(5);
      for (size_t e = 0; e < HIA_LEN(engines); e++)
        for (unsigned threads = 1; threads <= (engines[e] == IMAGE_INTERP ? 3 : 1); threads++) {
          image_outcome o = image_run(&p, engines[e], &arg, threads, NULL, NULL);
          cr_assert_eq(o.status, HIA_OK);
          cr_assert_eq(hiaR_to_i64(o.results[0]), copied[i].expected, "%s\n%lld", copied[i].text,
                       (long long)hiaR_to_i64(o.results[0]));
          cr_assert_eq(o.live, 0, "%s\n%lld objects are left", copied[i].text, (long long)o.live);
        }
      image_discard(&p);
    }
}

/* ---- failures ---- */

static image_program program_of(const char *text) { return image_of(text, false, NULL); }

Test(image_arrays, a_failure_says_what_was_asked) {
  image_program p =
      program_of("fn main(i: i64, j: i64) -> i64 = {\n"
                 "  let a = [(k, 0i64) for k in 0i64..7];\n"
                 "  if j == -1 then a[i].0 else if j == -2 then set(a, i, (1, 1))[0].0 else\n"
                 "    a[i..j][0].0 }");
  static const struct {
    int64_t i, j;
    bool is_slice;
    hia_range range;
  } rows[] = {
      {7, -1, false, {7, 0, 7}},
      {-1, -1, false, {-1, 0, 7}},
      {INT64_MIN, -2, false, {INT64_MIN, 0, 7}},
      {9, -2, false, {9, 0, 7}},
      {3, 8, true, {3, 8, 7}},
      {4, 3, true, {4, 3, 7}},
      {-5, 3, true, {-5, 3, 7}},
      {7, 7, false, {0, 0, 0}},
      {2, INT64_MAX, true, {2, INT64_MAX, 7}},
  };
  for (size_t i = 0; i < HIA_LEN(rows); i++)
    for (size_t e = 0; e < HIA_LEN(engines); e++) {
      const hia_word args[2] = {hiaR_from_i64(rows[i].i), hiaR_from_i64(rows[i].j)};
      image_outcome o = image_run(&p, engines[e], args, 1, NULL, NULL);
      cr_assert_eq(o.status, HIA_RANGE);
      cr_assert_eq(o.failure.code, rows[i].is_slice);
      cr_assert_eq(o.failure.range.first, rows[i].range.first);
      cr_assert_eq(o.failure.range.end, rows[i].range.end);
      cr_assert_eq(o.failure.range.length, rows[i].range.length);
    }
  image_discard(&p);
}

/* Of several workers' failures the sequentially first is reported, with what it asked. */
Test(image_arrays, the_first_failure_counts) {
  image_program p =
      program_of("fn wait(n: i64) -> i64 = if n == 0 then 0 else wait(n - 1) + 1\n"
                 "fn get(a: [(i64, bool)], n: i64) -> i64 = { let m = wait(n); a[m].0 }\n"
                 "fn main(n: i64, m: i64) -> i64 = {\n"
                 "  let a = [(k, true) for k in 0i64..8]; get(a, n) + get(a, m) * 10 }");
  for (unsigned threads = 1; threads <= 3; threads++)
    for (int64_t n = 4; n < 40000; n = 9 * n + 1) {
      const hia_word args[2] = {hiaR_from_i64(n), hiaR_from_i64(20)};
      image_outcome o = image_run(&p, IMAGE_INTERP, args, threads, NULL, NULL);
      cr_assert_eq(o.status, HIA_RANGE);
      cr_assert_eq(o.failure.range.first, n < 8 ? 20 : n);
      cr_assert_eq(o.failure.range.length, 8);
    }
  image_discard(&p);
}

static const char all_forms[] =
    "type Item = Stop | Item(n: i64, more: [Item])\n"
    "fn size(x: Item) -> i64 = match x { Stop => 1, Item(n, more) => n + sizes(more, 0) }\n"
    "fn sizes(xs: [Item], i: i64) -> i64 = if i == len(xs) then 0 else size(xs[i]) + sizes(xs, i + "
    "1)\n"
    "fn grow(d: i64) -> Item = if d == 0 then Stop else\n"
    "  Item(d, concat([grow(d - 1), Stop], [grow(d - 1) for k in 0..2], [grow(0)][0..1]))\n"
    "fn main(n: i64) -> i64 = {\n"
    "  let a = [(grow(k % 3), [(j, k) for j in 0..k]) for k in 0..n];\n"
    "  let (b, i) = loop (b = a, i = 0i64) while i < n {\n"
    "    (set(b, i, (a[n - 1 - i].0, set(concat(a[i].1, [(i, i)]), 0, (2, 2)))), i + 1) };\n"
    "  let (s, j) = loop (s = 0i64, j = 0i64) while j < n {\n"
    "    (s + size(b[j].0) * 100 + len(b[j].1) + b[j].1[j].0, j + 1) };\n"
    "  s + len(a[n - 1].1) }";

static int64_t size_of_item(int64_t d) { return d == 0 ? 1 : d + 3 * size_of_item(d - 1) + 1 + 1; }

Test(image_arrays, all_forms_on_several_workers) {
  image_program p = program_of(all_forms);
  for (int64_t n = 1; n < 300; n += 37) {
    int64_t expected = n - 1;
    for (int64_t j = 0; j < n; j++)
      expected += size_of_item((n - 1 - j) % 3) * 100 + j + 1 + (j == 0 ? 2 : j);
    hia_word arg = hiaR_from_i64(n);
    for (unsigned way = 0; way <= 3; way++) {
      image_outcome o =
          image_run(&p, way ? IMAGE_INTERP : IMAGE_EXPAND, &arg, way ? way : 1, NULL, NULL);
      cr_assert_eq(o.status, HIA_OK);
      cr_assert_eq(hiaR_to_i64(o.results[0]), expected, "%lld, expected %lld",
                   (long long)hiaR_to_i64(o.results[0]), (long long)expected);
      cr_assert_eq(o.live, 0, "%lld objects are left", (long long)o.live);
    }
  }
  image_discard(&p);
}

static image_program tested;

static hia_status attempt(const hia_allocator *allocator) {
  hia_word arg = hiaR_from_i64(40);
  for (size_t e = 0; e < HIA_LEN(engines); e++) {
    image_outcome o = image_run(&tested, engines[e], &arg, 1, NULL, allocator);
    if (o.status) return o.status;
  }
  return HIA_OK;
}

Test(image_arrays, lack_of_memory_at_each_request) {
  tested = program_of(all_forms);
  cr_assert_gt(fail_each_allocation(attempt), 3);
  image_discard(&tested);
}

Test(image_arrays, memory_limits) {
  image_program p = program_of(all_forms);
  hia_word arg = hiaR_from_i64(200000);
  for (size_t e = 0; e < HIA_LEN(engines); e++)
    for (size_t limit = 1; limit < (size_t)8 << 20; limit = 3 * limit + 1000) {
      const hia_limits limits = {.memory = limit};
      image_outcome o = image_run(&p, engines[e], &arg, 1, &limits, NULL);
      cr_assert_eq(o.status, HIA_MEMORY);
      cr_assert_leq(o.heap_peak, limit);
    }
  image_discard(&p);
}

/* Only a graph that was read can ask for an array of a negative length. */
Test(image_arrays, a_negative_length) {
  image_program p;
  cr_assert(image_from_ir(&p, "graph functions \"new.hia\"\n"
                              "type Unit = Unit\n"
                              "fn main (i64) -> (i64) root (i64) -> i64 {\n"
                              "  %0:i64 = arg 0\n"
                              "  %1:[Unit] = new %0\n"
                              "  %2:[Unit] = concat %1, %1\n"
                              "  %3:i64 = len %2\n"
                              "  yield %3\n"
                              "}\n"),
            "%s", p.error);
  static const int64_t lengths[] = {-1, INT64_MIN, INT64_MAX, INT64_MAX / 8, 0, 3};
  for (size_t i = 0; i < HIA_LEN(lengths); i++)
    for (size_t e = 0; e < HIA_LEN(engines); e++) {
      hia_word arg = hiaR_from_i64(lengths[i]);
      const hia_limits limits = {.memory = 1 << 20};
      image_outcome o = image_run(&p, engines[e], &arg, 1, &limits, NULL);
      bool is_good = lengths[i] >= 0 && lengths[i] < 10;
      cr_assert_eq(o.status, is_good ? HIA_OK : HIA_MEMORY);
      if (is_good) cr_assert_eq(hiaR_to_i64(o.results[0]), 2 * lengths[i]);
    }
  image_discard(&p);
}

/* ---- the check ---- */

static bool loads(hia_image_header *h, hia_loaded **image) {
  size_t from = offsetof(hia_image_header, file);
  h->hash = hiaR_image_hash((const char *)h + from, (size_t)h->size - from);
  char error[256];
  return hiaR_image_load(h, (size_t)h->size, hiaR_any_kernel, &hiaR_malloc, image, error,
                         sizeof error) == HIA_OK;
}

/* Any operand taken that was not, or the reverse: the image is refused, or each run of it ends,
 * with whatever result, and leaves the objects alone that it does not own. */
static void take_each(const char *text, unsigned *n_refused, unsigned *n_loaded) {
  image_program p = program_of(text);
  hia_image_header *h = malloc(p.size);
  memcpy(h, p.bytes, p.size);
  const hia_image_node *nodes = (const void *)((const char *)h + h->nodes.at);
  const hia_image_region *regions = (const void *)((const char *)h + h->regions.at);
  const hia_image_section *sections = (const void *)((const char *)h + h->sections.at);
  uint32_t *words = (uint32_t *)(void *)((char *)h + h->words.at);
  uint32_t n_lists = h->nodes.n + h->regions.n + 3 * h->sections.n;
  for (uint32_t i = 0; i < n_lists; i++) {
    uint32_t r = i - h->nodes.n, s = r - h->regions.n, first, n;
    if (i < h->nodes.n)
      first = nodes[i].ins, n = nodes[i].n_ins;
    else if (r < h->regions.n)
      first = regions[r].moves, n = regions[r].n_moves;
    else if (s % 3 == 0)
      first = sections[s / 3].enter, n = sections[s / 3].n_enter;
    else if (s % 3 == 1)
      first = sections[s / 3].next, n = sections[s / 3].n_next;
    else
      first = sections[s / 3].results, n = sections[s / 3].n_results;
    for (uint32_t k = first; k < first + n; k++) {
      words[k] ^= HIA_IMAGE_TAKEN;
      hia_loaded *image = NULL;
      bool is_loaded = loads(h, &image);
      *n_loaded += is_loaded;
      *n_refused += !is_loaded;
      image_program changed = p;
      changed.image = image;
      hia_word arg = hiaR_from_i64(6);
      const hia_limits limits = {.memory = 4 << 20};
      for (size_t e = 0; is_loaded && e < HIA_LEN(engines); e++)
        image_run(&changed, engines[e], &arg, 1, &limits, NULL);
      if (is_loaded) image_run(&changed, IMAGE_INTERP, &arg, 3, &limits, NULL);
      hiaR_image_free(image);
      words[k] ^= HIA_IMAGE_TAKEN;
    }
  }
  free(h);
  image_discard(&p);
}

Test(image_arrays, operands_that_are_taken_do_no_harm) {
  unsigned n_refused = 0, n_loaded = 0;
  take_each(all_forms, &n_refused, &n_loaded);
  for (size_t i = 0; i < HIA_LEN(in_place); i++) take_each(in_place[i].text, &n_refused, &n_loaded);
  for (size_t i = 0; i < HIA_LEN(copied); i++) take_each(copied[i].text, &n_refused, &n_loaded);
  cr_assert_gt(n_refused, 100);
  cr_assert_gt(n_loaded, 100);
}

/* Kinds of nodes on arrays and data, and what belongs to them: refused, or harmless. Other nodes
 * stay as they are, so that loops end. */
Test(image_arrays, damage_is_refused_or_harmless) {
  image_program p = program_of(in_place[11].text);
  hia_image_header *h = malloc(p.size);
  memcpy(h, p.bytes, p.size);
  hia_image_node *nodes = (void *)((char *)h + h->nodes.at);
  unsigned n_refused = 0, n_loaded = 0;
  for (uint32_t i = 0; i < h->nodes.n; i++) {
    hia_image_node saved = nodes[i];
    if (saved.kind < HIA_KIND_MAKE) continue;
    for (uint32_t k = 0; k < 80; k++) {
      if (k < 30) nodes[i].kind = (uint8_t)k;
      if (k >= 30 && k < 60) nodes[i].what = k == 59 ? HIA_NONE : k - 30;
      if (k >= 60 && k < 70) nodes[i].imm = k - 60;
      if (k >= 70 && saved.n_ins >= k - 70) nodes[i].n_ins = saved.n_ins - (k - 70);
      hia_loaded *image = NULL;
      bool is_loaded = loads(h, &image);
      n_loaded += is_loaded;
      n_refused += !is_loaded;
      image_program changed = p;
      changed.image = image;
      hia_word arg = hiaR_from_i64(6);
      const hia_limits limits = {.memory = 4 << 20};
      for (size_t e = 0; is_loaded && e < HIA_LEN(engines); e++)
        image_run(&changed, engines[e], &arg, 1, &limits, NULL);
      hiaR_image_free(image);
      nodes[i] = saved;
    }
  }
  cr_assert_gt(n_refused, 100);
  cr_assert_gt(n_loaded, 10);
  free(h);
  image_discard(&p);
}
