/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of drafts: constants, operations on scalars and tensors, calls, tuples, names; `if`s and
 * loops. */
#include "frontend/build/build.h"

/* ---- values ---- */

uint64_t hiaF_draft_const(hia_draft *d, hia_dtype dtype, hia_word word) {
  hiaF_draft_doing(d, "constant");
  uint32_t index = hiaF_draft_new_item(d, HIA_DRAFT_CONST, dtype, HIA_NONE);
  d->items.data[index].word = word;
  return hiaF_draft_id(d, index);
}

static const char *rule_text(hia_rule rule) {
  switch (rule) {
  case HIA_RULE_NUM: return "i32, i64, f32 or f64";
  case HIA_RULE_INT:
  case HIA_RULE_SHIFT: return "i32 or i64";
  case HIA_RULE_BITS: return "bool, i32 or i64";
  case HIA_RULE_FLOAT:
  case HIA_RULE_CLASSIFY: return "f32 or f64";
  default: return "a scalar";
  }
}

static void need_taken(hia_draft *d, hia_rule rule, uint32_t i, hia_type type) {
  if (!hiaR_rule_takes(rule, hiaF_draft_dtype(d, type)))
    hiaF_draft_wrong(d, "operand %u is of type %s, not %s", i + 1, hiaF_draft_type_text(d, type),
                     rule_text(rule));
}

/* Checks the dtypes of operands; returns that of the operand that decides, which is `first`. */
static hia_dtype need_operands(hia_draft *d, hia_rule rule, const uint32_t *ins, uint32_t n,
                               uint32_t first) {
  hia_type type = hiaF_draft_type_at(d, ins[first]);
  hia_dtype dtype = hiaF_draft_dtype(d, type);
  if (first && hiaF_draft_dtype(d, hiaF_draft_type_at(d, ins[0])) != HIA_BOOL)
    hiaF_draft_wrong(d, "operand 1 is of type %s, not bool",
                     hiaF_draft_type_text(d, hiaF_draft_type_at(d, ins[0])));
  need_taken(d, rule, first, type);
  for (uint32_t i = first + 1; i < n; i++) {
    hia_type operand_type = hiaF_draft_type_at(d, ins[i]);
    if (rule == HIA_RULE_SHIFT)
      need_taken(d, rule, i, operand_type); /* a count has a type of its own */
    else if (hiaF_draft_dtype(d, operand_type) != dtype)
      hiaF_draft_wrong(
          d, "operands %u and %u are of types %s and %s; they must be of one %s", first + 1, i + 1,
          hiaF_draft_type_text(d, type), hiaF_draft_type_text(d, operand_type),
          hiaF_draft_is_tensor(d, type) || hiaF_draft_is_tensor(d, operand_type) ? "dtype"
                                                                                 : "type");
  }
  return dtype;
}

uint64_t hiaF_draft_op(hia_draft *d, unsigned op, const uint64_t *ids, size_t n) {
  hiaF_draft_doing(d, "op");
  if (hiaF_draft_is_tensor_op(op)) return hiaF_draft_tensor_op(d, op, ids, n, HIA_NONE);
  bool is_public = HIA_OP_PUBLIC(op) && hiaR_ops[op].name;
  hia_rule rule = is_public ? (hia_rule)hiaR_ops[op].rule : HIA_RULE_CONTROL;
  if (rule == HIA_RULE_CONTROL || rule == HIA_RULE_CAST)
    hiaF_draft_wrong(d, "there is no op %u", op);
  hiaF_draft_doing(d, hiaR_ops[op].name);
  hiaF_draft_need_block(d);
  uint32_t ins[3], want = (uint32_t)hiaR_ops[op].n_ins, rank = 0;
  if (n != want) hiaF_draft_wrong(d, "%zu operand%s instead of %u", n, n == 1 ? "" : "s", want);
  if (!ids) hiaF_draft_wrong(d, "no operands");
  for (uint32_t i = 0; i < want; i++)
    ins[i] = hiaF_draft_value(d, (hia_draft_role){"operand", i + 1}, ids[i]);
  hia_dtype dtype = need_operands(d, rule, ins, want, rule == HIA_RULE_SELECT ? 1 : 0);
  for (uint32_t i = 0; i < want; i++) {
    uint32_t its_rank = hiaF_draft_rank(d, hiaF_draft_type_at(d, ins[i]));
    if (its_rank > rank) rank = its_rank;
  }
  hia_type type = hiaF_draft_make_ranked(d, hiaR_rule_result(rule, dtype), rank);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_OP, type, ins, want, false);
  d->items.data[index].op = (uint8_t)op;
  if (rank) hiaF_draft_lift(d, op, index);
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_op_along(hia_draft *d, unsigned op, const uint64_t *ids, size_t n,
                             uint32_t axis) {
  hiaF_draft_doing(d, "op along an axis");
  bool has_axis = hiaF_draft_is_tensor_op(op) && hiaR_ops[op].imm == HIA_IMM_AXIS;
  if (!has_axis) hiaF_draft_wrong(d, "there is no op %u along an axis", op);
  return hiaF_draft_tensor_op(d, op, ids, n, axis);
}

uint64_t hiaF_draft_convert(hia_draft *d, unsigned dtype, uint64_t id) {
  hiaF_draft_doing(d, "convert");
  hiaF_draft_need_block(d);
  if (dtype >= HIA_N_DTYPES) hiaF_draft_wrong(d, "there is no dtype %u", dtype);
  uint32_t value = hiaF_draft_value(d, (hia_draft_role){"the value", 0}, id);
  hia_type have = hiaF_draft_type_at(d, value);
  if (hiaF_draft_dtype(d, have) == HIA_N_DTYPES)
    hiaF_draft_wrong(d, "the value is of type %s, not a scalar", hiaF_draft_type_text(d, have));
  hia_type type = hiaF_draft_make_ranked(d, (hia_dtype)dtype, hiaF_draft_rank(d, have));
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_CONVERT, type, &value, 1, false);
  d->items.data[index].dims = d->items.data[value].dims;
  return hiaF_draft_id(d, index);
}

uint32_t *hiaF_draft_args(hia_draft *d, uint32_t fn, const uint64_t *args, size_t n) {
  const hia_draft_function *f = &d->fns.data[fn];
  if (n != f->n_params)
    hiaF_draft_wrong(d, "%zu argument%s instead of %u", n, n == 1 ? "" : "s", f->n_params);
  if (n && !args) hiaF_draft_wrong(d, "no arguments");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++)
    ins[i] = hiaF_draft_typed_value(d, (hia_draft_role){"argument", i + 1}, args[i],
                                    hiaF_draft_type_at(d, f->params + i));
  hiaF_draft_expect_args(d, f, ins);
  return ins;
}

uint64_t hiaF_draft_call(hia_draft *d, uint64_t id, const uint64_t *args, size_t n) {
  hiaF_draft_doing(d, "call");
  hiaF_draft_need_block(d);
  uint32_t fn = hiaF_draft_fn(d, id);
  const hia_draft_function *f = &d->fns.data[fn];
  d->about = f->symbol;
  const uint32_t *ins = hiaF_draft_args(d, fn, args, n);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_CALL, f->result, ins, (uint32_t)n, false);
  d->items.data[index].index = fn;
  hiaF_draft_set_dims(d, index, f->sizes[n]);
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_fail(hia_draft *d, uint64_t id, uint64_t type) {
  hiaF_draft_doing(d, "fail");
  hiaF_draft_need_block(d);
  uint32_t code = hiaF_draft_value(d, (hia_draft_role){"the code", 0}, id);
  hia_type have = hiaF_draft_type_at(d, code);
  if (have != HIA_I32 && have != HIA_I64)
    hiaF_draft_wrong(d, "the code is of type %s, not i32 or i64", hiaF_draft_type_text(d, have));
  hia_type as = hiaF_draft_own_type(d, type, (hia_draft_role){"the type that it stands for", 0});
  return hiaF_draft_id(d, hiaF_draft_append(d, HIA_DRAFT_FAIL, as, &code, 1, false));
}

uint64_t hiaF_draft_tuple(hia_draft *d, const uint64_t *parts, size_t n) {
  hiaF_draft_doing(d, "tuple");
  hiaF_draft_need_block(d);
  hiaF_draft_check_parts(d, parts, n);
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n + 1);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    ins[i] = hiaF_draft_value(d, (hia_draft_role){"part", i + 1}, parts[i]);
    types[i] = hiaF_draft_type_at(d, ins[i]);
  }
  hia_type type = hiaF_draft_make_tuple(d, types, n);
  uint32_t index = hiaF_draft_append(d, HIA_DRAFT_TUPLE, type, ins, (uint32_t)n, false);
  hiaF_draft_set_dims(d, index, hiaF_draft_dims_of_parts(d, ins, (uint32_t)n));
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_part(hia_draft *d, uint64_t id, size_t i) {
  hiaF_draft_doing(d, "part");
  hiaF_draft_need_block(d);
  uint32_t tuple = hiaF_draft_value(d, (hia_draft_role){"the tuple", 0}, id);
  hia_type type = hiaF_draft_type_at(d, tuple);
  if (hiaG_type_kind(&d->types, type) != HIA_KIND_TUPLE)
    hiaF_draft_wrong(d, "the value is of type %s, no tuple", hiaF_draft_type_text(d, type));
  if (i >= hiaG_tuple_len(&d->types, type))
    hiaF_draft_wrong(d, "there is no part %zu in %s: parts are counted from 0", i,
                     hiaF_draft_type_text(d, type));
  uint32_t index = hiaF_draft_append(
      d, HIA_DRAFT_PART, hiaG_tuple_part(&d->types, type, (uint32_t)i), &tuple, 1, false);
  d->items.data[index].index = (uint32_t)i;
  const hia_dim *dims = d->items.data[tuple].dims;
  for (uint32_t k = 0; dims && k < i; k++)
    dims += hiaF_draft_n_dims(d, hiaG_tuple_part(&d->types, type, k));
  hiaF_draft_set_dims(d, index, dims);
  return hiaF_draft_id(d, index);
}

uint64_t hiaF_draft_name(hia_draft *d, uint64_t value, const char *name) {
  hiaF_draft_doing(d, "name");
  uint32_t index = hiaF_draft_any_value(d, (hia_draft_role){"the value", 0}, value);
  if (!name) hiaF_draft_wrong(d, "no name");
  hia_symbol_id symbol = hiaF_draft_suggested(d, name);
  if (symbol == HIA_NONE) return value;
  d->items.data[index].symbol = symbol;
  d->items.data[index].is_inner = false;
  return value;
}

/* ---- if ---- */

void hiaF_draft_if(hia_draft *d, uint64_t condition) {
  hiaF_draft_doing(d, "if");
  hiaF_draft_need_block(d);
  hiaF_draft_check_depth(d);
  uint32_t value =
      hiaF_draft_typed_value(d, (hia_draft_role){"the condition", 0}, condition, HIA_BOOL);
  hiaF_draft_open_block(d, hiaF_draft_append(d, HIA_DRAFT_IF, HIA_BOOL, &value, 1, false),
                        HIA_NONE);
}

void hiaF_draft_else(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "else");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_IF, false, "'if' without 'else'")->item;
  uint32_t value = hiaF_draft_value(d, (hia_draft_role){"the value of the first branch", 0}, id);
  hiaF_draft_append_part(d, HIA_DRAFT_ELSE, &value, 1, item);
  d->items.data[item].type = hiaF_draft_type_at(d, value);
  d->items.data[item].dims = d->items.data[value].dims;
  hiaF_draft_next_block(d);
}

uint64_t hiaF_draft_end_if(hia_draft *d, uint64_t id) {
  hiaF_draft_doing(d, "end of if");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_IF, true, "'if' with its 'else'")->item;
  uint32_t value = hiaF_draft_typed_value(d, (hia_draft_role){"the value of the second branch", 0},
                                          id, hiaF_draft_type_at(d, item));
  hiaF_draft_join_dims(d, item, value);
  hiaF_draft_append_part(d, HIA_DRAFT_END_IF, &value, 1, item);
  return hiaF_draft_close(d);
}

/* ---- loop ---- */

void hiaF_draft_loop(hia_draft *d, const uint64_t *init, size_t n, uint64_t *variables) {
  hiaF_draft_doing(d, "loop");
  hiaF_draft_need_block(d);
  hiaF_draft_check_depth(d);
  if (n == 0 || n > HIA_MAX_TYPE_PARTS)
    hiaF_draft_wrong(d, "%zu variables: a loop has 1 to %u", n, HIA_MAX_TYPE_PARTS);
  if (!init || !variables)
    hiaF_draft_wrong(d, init ? "no place for the variables" : "no initial values");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  hia_type *types = HIA_NEW_ARRAY(&d->comp->arena, hia_type, n);
  for (uint32_t i = 0; i < n; i++) {
    ins[i] = hiaF_draft_value(d, (hia_draft_role){"initial value", i + 1}, init[i]);
    types[i] = hiaF_draft_type_at(d, ins[i]);
  }
  hia_type type = n == 1 ? types[0] : hiaF_draft_make_tuple(d, types, n);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_LOOP, type, ins, (uint32_t)n, false);
  uint32_t outer = hiaF_draft_new_block(d, d->fn, true);
  d->items.data[item].index = d->items.len;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t var = hiaF_draft_new_item(d, HIA_DRAFT_VAR, types[i], outer);
    d->items.data[var].index = i;
    variables[i] = hiaF_draft_id(d, var);
  }
  hiaF_draft_open_block(d, item, outer);
}

void hiaF_draft_while(hia_draft *d, uint64_t condition) {
  hiaF_draft_doing(d, "while");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_LOOP, false, "loop without 'while'")->item;
  uint32_t value =
      hiaF_draft_typed_value(d, (hia_draft_role){"the condition", 0}, condition, HIA_BOOL);
  hiaF_draft_append_part(d, HIA_DRAFT_WHILE, &value, 1, item);
  hiaF_draft_next_block(d);
}

uint64_t hiaF_draft_end_loop(hia_draft *d, const uint64_t *next, size_t n) {
  hiaF_draft_doing(d, "end of loop");
  uint32_t item = hiaF_draft_innermost(d, HIA_DRAFT_LOOP, true, "loop at its round")->item;
  uint32_t n_vars = d->items.data[item].n_ins, first = d->items.data[item].index;
  if (n != n_vars)
    hiaF_draft_wrong(d, "%zu next value%s for %u variables", n, n == 1 ? "" : "s", n_vars);
  if (!next) hiaF_draft_wrong(d, "no next values");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++)
    ins[i] = hiaF_draft_typed_value(d, (hia_draft_role){"next value", i + 1}, next[i],
                                    hiaF_draft_type_at(d, first + i));
  hiaF_draft_append_part(d, HIA_DRAFT_END_LOOP, ins, n_vars, item);
  return hiaF_draft_close(d);
}
