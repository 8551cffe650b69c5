/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* expand: its own features. test_interp.c tests that it agrees with the interpreter. */
#include "runtime/interp/run.h"
#include "tests/unit/helpers/image.h"
#include <criterion/criterion.h>
#include <string.h>

#define FIB  "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
#define DOWN "fn down(n: i64) -> i64 = if n == 0 then 0 else 1 + down(n - 1)\n"

static image_outcome expand(const image_program *p, hia_word arg, const hia_limits *limits,
                            const hia_allocator *allocator) {
  return image_run(p, IMAGE_EXPAND, &arg, 1, limits, allocator);
}

Test(expand, a_copy_for_every_call) {
  image_program p = image_of(FIB "fn main(n: i32) -> i32 = fib(n)", true, NULL);
  image_outcome o = expand(&p, 15, NULL, NULL);
  cr_assert_eq(o.status, HIA_OK);
  cr_assert_eq(o.results[0], 987);
  cr_assert_eq(o.usage.calls, 1973);
  cr_assert_eq(o.usage.frames, 1974);
  cr_assert_leq(o.usage.peak_frames, 17); /* copies are released */
  image_outcome other = image_run(&p, IMAGE_INTERP, (hia_word[]){15}, 1, NULL, NULL);
  cr_assert(image_agree(&p, &o, &other));
  cr_assert_lt(other.usage.peak_bytes, o.usage.peak_bytes);
  image_discard(&p);
}

Test(expand, threads_make_no_difference) {
  image_program p = image_of(FIB "fn main(n: i32) -> i32 = fib(n)", false, NULL);
  image_outcome a = image_run(&p, IMAGE_EXPAND, (hia_word[]){15}, 8, NULL, NULL);
  cr_assert_eq(a.status, HIA_OK);
  cr_assert_eq(a.usage.steals, 0);
  cr_assert_leq(a.usage.peak_frames, 17);
  image_discard(&p);
}

Test(expand, limits) {
  image_program p = image_of(DOWN "fn main(n: i64) -> i64 = down(n)", false, NULL);
  image_outcome o = expand(&p, 100000, NULL, NULL);
  cr_assert_eq(o.status, HIA_OK);
  cr_assert_eq(o.results[0], 100000);
  o = expand(&p, 100000, &(hia_limits){.memory = 1 << 20}, NULL);
  cr_assert_eq(o.status, HIA_MEMORY);
  cr_assert_leq(o.usage.peak_bytes, 1 << 20);
  cr_assert_geq(o.failure.backtrace.length, o.usage.peak_frames - 1);
  o = expand(&p, 100000, &(hia_limits){.depth = 1 << 20}, NULL);
  cr_assert_eq(o.status, HIA_DEPTH);
  o = expand(&p, 100, &(hia_limits){.depth = 1 << 20, .memory = 1 << 20}, NULL);
  cr_assert_eq(o.status, HIA_OK);
  image_discard(&p);
}

/* Where a limit ends a run at a tail call, the chain leaves that call out, as everywhere. */
Test(expand, limits_at_tail_calls) {
  image_program p = image_of("fn down(n: i64) -> i64 =\n if n == 0 then 0 else 1 +\n  step(n)\n"
                             "fn step(n: i64) -> i64 =\n  down(n - 1)\n"
                             "fn main(n: i64) -> i64 =\n  down(n)\n",
                             false, "inline");
  for (uint64_t depth = 4000; depth < 8000; depth += 16) {
    image_outcome o = expand(&p, 100000, &(hia_limits){.depth = depth}, NULL);
    cr_assert_eq(o.status, HIA_DEPTH);
    char chain[4096];
    image_chain(&p, &o, chain, sizeof chain);
    cr_assert_null(strstr(chain, "step 5:"), "%s", chain);
  }
  image_discard(&p);
}

Test(expand, out_of_memory) {
  image_program p =
      image_of(FIB DOWN "fn main(n: i64) -> i64 = down(n) + i64(fib(9))", false, NULL);
  for (long left = 0;; left++) {
    test_heap heap;
    test_heap_init(&heap, left);
    image_outcome o = expand(&p, 3000, NULL, &heap.allocator);
    cr_assert_eq(heap.blocks, 0);
    if (!o.status) break;
    cr_assert_eq(o.status, HIA_MEMORY);
    cr_assert_lt(left, 1000);
  }
  image_discard(&p);
}

Test(expand, no_such_entry) {
  image_program p = image_of(FIB "fn main(n: i32) -> i32 = fib(n)", false, NULL);
  hia_word n = 1, results[1];
  hia_failure failure;
  hia_usage usage;
  cr_assert_eq(
      hiaR_expand_run(p.image, 7, &n, results, &(hia_limits){0}, &hiaR_malloc, &failure, &usage),
      HIA_ARGUMENT);
  image_discard(&p);
}
