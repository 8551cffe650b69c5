/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Finds the calls that need no frame: those that end a recursion, mostly.
 *
 * The body of `fn sum(t) = match t { Nil => 0, Cons(h, rest) => h + sum(rest) }` begins with a test
 * of its parameters. In one side of the branch the result is a constant, or a parameter. So when
 * the call is about to be entered, the caller makes the test. In that side it has the result; in
 * the other it makes the frame, whose first stretch is then that of the side.
 *
 * The references among the arguments must have been dealt with in that side: one can be the result;
 * the other is the value that is matched, if it is of a constructor without fields. */
#include "runtime/image/loaded.h"

/* A test, a < b or a == b of signed words; with `is_swapped` of b and a. All comparisons of
 * integers are one of these or its opposite, since an i32 is held as the i64 of the same value. */
typedef struct test {
  bool is_known, is_less, is_swapped, is_opposite, is_match;
} test;

static test test_of(hia_action_op op) {
  switch (op) {
  case HIA_ACTION_MATCH: return (test){.is_known = true, .is_match = true};
  case HIA_ACTION_EQ_i32_SWITCH:
  case HIA_ACTION_EQ_i64_SWITCH: return (test){.is_known = true};
  case HIA_ACTION_NE_i32_SWITCH:
  case HIA_ACTION_NE_i64_SWITCH: return (test){.is_known = true, .is_opposite = true};
  case HIA_ACTION_LT_i32_SWITCH:
  case HIA_ACTION_LT_i64_SWITCH: return (test){.is_known = true, .is_less = true};
  case HIA_ACTION_GE_i32_SWITCH:
  case HIA_ACTION_GE_i64_SWITCH:
    return (test){.is_known = true, .is_less = true, .is_opposite = true};
  case HIA_ACTION_GT_i32_SWITCH:
  case HIA_ACTION_GT_i64_SWITCH:
    return (test){.is_known = true, .is_less = true, .is_swapped = true};
  case HIA_ACTION_LE_i32_SWITCH:
  case HIA_ACTION_LE_i64_SWITCH:
    return (test){.is_known = true, .is_less = true, .is_swapped = true, .is_opposite = true};
  default: return (test){0};
  }
}

/* A value of the callee: a parameter, which is a slot of the caller, or a constant. False: it is
 * neither. */
static bool find_value(const hia_child *child, uint32_t slot, hia_leaf_value *value) {
  const hia_section *s = child->callee;
  *value = (hia_leaf_value){.slot = HIA_NONE};
  if (slot < s->n_params) {
    value->slot = child->args[slot];
    return true;
  }
  const hia_word *word = hiaR_preloaded(s, slot);
  if (word) value->word = *word;
  return word;
}

/* The slot with the result in the side that begins with these actions; NONE: there is more to do.
 */
static uint32_t result_of(const hia_section *s, const hia_action *actions) {
  if (actions->op == HIA_ACTION_END) return s->first_result;
  bool is_move = actions->op == HIA_ACTION_MOVE || actions->op == HIA_ACTION_SHARE ||
                 actions->op == HIA_ACTION_TAKE;
  return is_move && actions->to == s->first_result && actions[1].op == HIA_ACTION_END
             ? actions->slot
             : HIA_NONE;
}

/* True if no reference among the arguments needs more than `leaf` does. */
static bool handles_references(const hia_child *child, hia_leaf *leaf, uint32_t result) {
  const hia_section *s = child->callee;
  for (uint32_t i = 0; i < s->n_ref_params; i++) {
    uint32_t param = s->refs[i].slot;
    if (param != result && (!leaf->is_match || param != s->actions->slot)) return false;
  }
  for (uint32_t i = 0; i < child->n_shares; i++) leaf->shares |= child->shares[i] == result;
  return true;
}

static bool plan_side(const hia_child *child, test t, bool side, hia_leaf *leaf) {
  const hia_section *s = child->callee;
  const hia_switch *branch = s->actions->of.branch;
  uint32_t result = result_of(s, branch->go[side].actions);
  if (result == HIA_NONE || !find_value(child, result, &leaf->result)) return false;
  leaf->is_less = t.is_less;
  leaf->is_match = t.is_match;
  leaf->is_if = side == t.is_opposite;
  leaf->weight = s->weight_first + branch->go[side].weight;
  leaf->other = branch->go[!side].actions;
  leaf->other_weight = branch->go[!side].weight;
  return handles_references(child, leaf, result);
}

bool hiaR_plan_leaf(const hia_child *child, hia_leaf *leaf) {
  const hia_section *s = child->callee;
  const hia_action *action = s->actions;
  test t = test_of((hia_action_op)action->op);
  if (!t.is_known || !s->begins_with_test || s->iterates || s->n_results != 1) return false;
  hia_leaf_value a, b;
  *leaf = (hia_leaf){0};
  if (t.is_match) {
    if (!find_value(child, action->slot, &a)) return false;
    b = (hia_leaf_value){HIA_NONE, action->u.imm};
  } else if (!find_value(child, action->in[t.is_swapped], &a) ||
             !find_value(child, action->in[!t.is_swapped], &b))
    return false;
  leaf->a = a;
  leaf->b = b;
  return plan_side(child, t, false, leaf) || plan_side(child, t, true, leaf);
}
