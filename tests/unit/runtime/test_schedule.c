/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Stretches: which tokens are left out, and what happens without them when a node fails. */
#include "runtime/image/loaded.h"
#include "tests/unit/helpers/image.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {
#define HIA_ACTION(NAME) #NAME,
#include "runtime/image/action.def"
};

/* Prints a stretch: its actions, and in brackets the stretches with which it goes on. */
static char *print_segment(const hia_action *action, char *at) {
  for (const char *space = ""; action->op != HIA_ACTION_END; action++, space = " ") {
    const char *name = names[action->op], *part = strstr(name, "SWITCH");
    at += sprintf(at, "%s%s", space, name);
    if (part || action->op == HIA_ACTION_MATCH) {
      for (int side = 0; side < 2; side++) {
        at = stpcpy(at, " (");
        at = stpcpy(print_segment(action->of.branch->go[side].actions, at), ")");
      }
    } else if (action->op == HIA_ACTION_COUNT || action->op == HIA_ACTION_COUNT_LAST ||
               action->op == HIA_ACTION_LATER || action->op == HIA_ACTION_GO) {
      if (action->op != HIA_ACTION_LATER && action->op != HIA_ACTION_GO)
        at += sprintf(at, " %u of %u", action->to, (unsigned)action->u.imm);
      at = stpcpy(at, " (");
      at = stpcpy(print_segment(action->of.stretch, at), ")");
    }
  }
  *at = 0;
  return at;
}

static void expect_actions(const char *text, const char *expected) {
  image_program p = image_of(text, false, "all");
  const hia_section *s = &p.image->sections[p.image->exports[0].section];
  char actions[1000], *at = print_segment(s->actions, actions);
  for (uint32_t i = 0; i < s->n_children; i++)
    at = print_segment(s->children[i].actions, stpcpy(at, " | "));
  cr_assert_str_eq(actions, expected, "%s\n%s", text, actions);
  image_discard(&p);
}

Test(schedule, nodes_that_follow_each_other_send_no_tokens) {
  expect_actions("fn main(a: i64, b: i64) -> i64 = (a + b) * (a - b)", "ADD_i64 SUB_i64 MUL_i64");
}

Test(schedule, calls_can_return_in_any_order) {
  expect_actions("fn main(n: i64) -> i64 = if n < 2 then n else main(n - 1) + main(n - 2)",
                 "LT_i64_SWITCH (MOVE) (SUB_i64 SUB_i64 ARM_LAST) | "
                 "COUNT_LAST 1 of 2 (ADD_i64) | COUNT_LAST 1 of 2 (ADD_i64)");
}

Test(schedule, a_branch_is_decided_after_what_stands_before_it) {
  expect_actions(
      "fn main(a: i64, b: i64) -> i64 = { let d = a - b; (if a < b then a * 3 else b * 5) + d }",
      "SUB_i64 LT_i64_SWITCH (MUL_i64 GO (ADD_i64)) (MUL_i64 GO (ADD_i64))");
}

Test(schedule, one_comparison_of_two_branches_comes_before_both) {
  expect_actions("fn main(a: i64, b: i64) -> i64 = {\n"
                 "  let c = a < b; (if c then a / b else 1) + (if c then 2 else b / a) }",
                 "LT_i64 SWITCH_LATER (KERNEL COUNT_LAST 1 of 2 (ADD_i64)) "
                 "(MOVE COUNT_LAST 1 of 2 (ADD_i64)) SWITCH (MOVE COUNT_LAST 1 of 2 (ADD_i64)) "
                 "(KERNEL COUNT_LAST 1 of 2 (ADD_i64))");
}

Test(schedule, a_match_is_one_action) {
  expect_actions("type List = Nil | Cons(head: i64, tail: List)\n"
                 "fn main(n: i64) -> i64 = first(Cons(n, Nil))\n"
                 "fn first(xs: List) -> i64 = match xs { Nil => 0, Cons(x, _) => x }",
                 "MAKE ARM_LAST | ");
  expect_actions("type List = Nil | Cons(head: i64, tail: List)\n"
                 "fn main(xs: List) -> i64 = match xs { Nil => 0, Cons(x, _) => x }",
                 "MATCH (MOVE) (UNPACK)");
}

/* ---- failures ---- */

static void *fill_alloc(void *user, size_t size) {
  (void)user;
  void *p = malloc(size);
  return p ? memset(p, 0x7f, size) : NULL;
}
static void *fill_resize(void *user, void *p, size_t old_size, size_t size) {
  void *to = fill_alloc(user, size);
  if (to) memcpy(to, p, old_size < size ? old_size : size), free(p);
  return to;
}
static void fill_free(void *user, void *p, size_t size) {
  (void)user, (void)size;
  free(p);
}

/* When the call returns, the division has failed. The sum, and so the array's length, would be
 * computed with a slot that was never written. */
Test(schedule, what_waits_for_a_failed_node_is_left_out) {
  const hia_allocator filling = {fill_alloc, fill_resize, fill_free, NULL};
  image_program p = image_of("fn main(n: i64) -> i64 = {\n"
                             "  let c = down(n + 5); let d = 10 / n;\n"
                             "  let a = [(i, i) for i in 0..c + d]; a[0].0 + len(a) }\n"
                             "fn down(n: i64) -> i64 = if n == 0 then 1 else 1 + down(n - 1)",
                             false, "all");
  for (unsigned threads = 1; threads <= 2; threads++) {
    hia_word arg = hiaR_from_i64(0);
    image_outcome o = image_run(&p, IMAGE_INTERP, &arg, threads, NULL, &filling);
    cr_assert_eq(o.status, HIA_DIV_ZERO, "%s", hiaR_status_word(o.status));
  }
  image_discard(&p);
}
