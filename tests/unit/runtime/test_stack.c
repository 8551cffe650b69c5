/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* stack: reserved stacks, their memory, and returning it. */
#include "runtime/native/native.h"
#include <criterion/criterion.h>
#include <unistd.h>

Test(stack, reserve_and_touch) {
  hia_stack s;
  cr_assert_eq(hiaR_stack_reserve(&s, (size_t)1 << 20), HIA_OK);
  cr_assert_geq((size_t)(s.top - s.low), (size_t)1 << 20);
  cr_assert_eq((uintptr_t)s.top % 16, 0);
  s.low[0] = 1;
  s.top[-1] = 2;
  hiaR_stack_release(&s);
  cr_assert_null(s.map);
  hiaR_stack_release(&s); /* again: nothing to do */
}

Test(stack, a_large_one_costs_nothing_until_touched) {
  hia_stack s;
  cr_assert_eq(hiaR_stack_reserve(&s, (size_t)8 << 30), HIA_OK);
  hiaR_stack_release(&s);
}

Test(stack, one_that_is_too_large_is_refused) {
  hia_stack s;
  cr_assert_eq(hiaR_stack_reserve(&s, SIZE_MAX), HIA_MEMORY);
  cr_assert_null(s.map);
  cr_assert_eq(hiaR_stack_reserve(&s, SIZE_MAX / 2), HIA_MEMORY);
  cr_assert_null(s.map);
}

Test(stack, trim_gives_back_and_tells_how_much_was_used) {
  hia_stack s;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), used = (size_t)40 << 20;
  cr_assert_eq(hiaR_stack_reserve(&s, (size_t)256 << 20), HIA_OK);
  for (size_t i = 1; i <= used; i += page) s.top[-(ptrdiff_t)i] = 7;
  size_t keep = 16 * page;
  size_t was = hiaR_stack_trim(&s, keep);
  cr_assert(was >= used && was <= used + page, "%zu", was);
  cr_assert_eq(s.top[-1], 7);                   /* kept */
  cr_assert_eq(s.top[-(ptrdiff_t)keep - 1], 0); /* given back: reads as zero */
  s.top[-(ptrdiff_t)keep - 1] = 0;              /* and can be used again */
  cr_assert_eq(hiaR_stack_trim(&s, (size_t)512 << 20), (size_t)(s.top - s.low));
  hiaR_stack_release(&s);
}

Test(stack, the_default_depth_is_sane) {
  size_t depth = hiaR_default_depth();
  cr_assert(depth >= (size_t)1 << 20 && depth <= (size_t)1 << 40, "%zu", depth);
}
