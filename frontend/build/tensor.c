/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors of drafts: their operations, and the sizes that follow from these (dims.c). */
#include "frontend/build/build.h"

/* Values of a `stack`, as many as the language takes. */
#define MAX_STACK 255u

static hia_draft_item *item_at(hia_draft *d, uint32_t item) { return &d->items.data[item]; }

static uint32_t rank_of(hia_draft *d, uint32_t item) {
  return hiaF_draft_rank(d, hiaF_draft_type_at(d, item));
}

static hia_dtype dtype_of(hia_draft *d, uint32_t item) {
  return hiaF_draft_dtype(d, hiaF_draft_type_at(d, item));
}

static const char *type_text(hia_draft *d, uint32_t item) {
  return hiaF_draft_type_text(d, hiaF_draft_type_at(d, item));
}

/* ---- operations ---- */

void hiaF_draft_lift(hia_draft *d, unsigned op, uint32_t item) {
  hia_dims ins[3], out;
  hia_misfit m;
  const uint32_t *list = d->extra.data + item_at(d, item)->ins;
  for (uint32_t i = 0; i < item_at(d, item)->n_ins; i++) ins[i] = hiaF_draft_shape_of(d, list[i]);
  hia_fit fit = hiaR_shape_of_op(op, ins, &out, &m);
  hiaF_draft_follow(d, item, fit, &out, &m);
}

bool hiaF_draft_is_tensor_op(unsigned op) {
  if (op >= HIA_OP_LIMIT || HIA_OP_PUBLIC(op)) return false;
  switch ((hia_shape_rule)hiaR_ops[op].shape) {
  case HIA_SHAPE_DIM:
  case HIA_SHAPE_CAT:
  case HIA_SHAPE_STACK:
  case HIA_SHAPE_REDUCE:
  case HIA_SHAPE_PRODUCT:
  case HIA_SHAPE_OUTER:
  case HIA_SHAPE_LAST:
  case HIA_SHAPE_LABELS:
  case HIA_SHAPE_TRANSPOSE: return true;
  default: return false;
  }
}

const char *hiaF_draft_op_name(unsigned op) {
  switch (op) {
  case HIA_OP_DIM: return "shape";
  case HIA_OP_CAT: return "concat";
  case HIA_OP_MAX_OF: return "max";
  case HIA_OP_MIN_OF: return "min";
  default: return hiaR_ops[op].name;
  }
}

/* The axis of an op that is given none; HIA_NONE: all, or the op has no axis. */
static uint32_t usual_axis(unsigned op, uint32_t rank) {
  if (op == HIA_OP_CAT) return rank ? rank - 1 : 0;
  return op == HIA_OP_STACK || op == HIA_OP_DIM ? 0 : HIA_NONE;
}

static void check_axis(hia_draft *d, unsigned op, uint32_t axis, uint32_t x) {
  uint32_t most = rank_of(d, x) + (op == HIA_OP_STACK);
  if (axis != HIA_NONE && axis >= most)
    hiaF_draft_wrong(d, "there is no axis %u: this is %s", axis, type_text(d, x));
}

static _Noreturn void not_taken(hia_draft *d, const uint32_t *ins, uint32_t n) {
  hia_text text;
  hiaR_text_init(&text, &d->comp->arena);
  for (uint32_t i = 0; i < n && i < 3; i++)
    hiaR_text_addf(&text, i ? " and %s" : "%s", type_text(d, ins[i]));
  hiaF_draft_wrong(d, "it does not take %s", text.data);
}

/* The type of the result, whose operands are checked. */
static hia_type result_of(hia_draft *d, unsigned op, uint32_t axis, const uint32_t *ins,
                          uint32_t n) {
  hia_rule rule = (hia_rule)hiaR_ops[op].rule;
  hia_dtype dtype = dtype_of(d, ins[0]);
  uint32_t ranks[3] = {0}, rest = HIA_NONE;
  if (!hiaR_rule_takes(rule, dtype)) not_taken(d, ins, n);
  for (uint32_t i = 0; i < n; i++) {
    if (!hiaR_rule_takes_operand(rule, dtype, i, dtype_of(d, ins[i]))) not_taken(d, ins, n);
    uint32_t rank = rank_of(d, ins[i]);
    if (i < HIA_LEN(ranks))
      ranks[i] = rank;
    else
      rest = i == HIA_LEN(ranks) || rank == rest ? rank : HIA_NONE;
  }
  bool is_all = hiaR_ops[op].shape == HIA_SHAPE_REDUCE && axis == HIA_NONE; /* of a scalar, too */
  uint32_t rank = is_all ? 0 : hiaR_op_rank(op, axis, n, ranks, rest);
  if (rank == HIA_NONE) not_taken(d, ins, n);
  return hiaF_draft_make_ranked(d, hiaR_rule_result(rule, dtype), rank);
}

static hia_fit rule_of(unsigned op, uint32_t axis, const hia_dims *ins, uint32_t n, hia_dims *out,
                       hia_misfit *m) {
  switch ((hia_shape_rule)hiaR_ops[op].shape) {
  case HIA_SHAPE_CAT: return hiaR_shape_concat(ins, n, axis, out, m);
  case HIA_SHAPE_STACK: return hiaR_shape_stack(ins, n, axis, out, m);
  case HIA_SHAPE_PRODUCT: return hiaR_shape_product(&ins[0], &ins[1], out, m);
  case HIA_SHAPE_OUTER: return hiaR_shape_outer(&ins[0], &ins[1], out, m);
  case HIA_SHAPE_LABELS: return hiaR_shape_labels(&ins[0], &ins[1], out, m);
  case HIA_SHAPE_TRANSPOSE: return hiaR_shape_transpose(&ins[0], out, m);
  case HIA_SHAPE_LAST: return hiaR_shape_broadcast(ins, 1, out, m);
  case HIA_SHAPE_REDUCE:
    return hiaR_shape_reduce(&ins[0], axis == HIA_NONE ? HIA_ALL_AXES : axis, out, m);
  default: /* the size of an axis */ out->rank = 0; return HIA_FIT_ALWAYS;
  }
}

static void set_shape(hia_draft *d, unsigned op, uint32_t axis, uint32_t item) {
  hia_arena *scratch = &d->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t n = item_at(d, item)->n_ins;
  const uint32_t *list = d->extra.data + item_at(d, item)->ins;
  hia_dims *ins = HIA_NEW_ARRAY(scratch, hia_dims, n), out;
  hia_misfit m;
  for (uint32_t i = 0; i < n; i++) ins[i] = hiaF_draft_shape_of(d, list[i]);
  hia_fit fit = rule_of(op, axis, ins, n, &out, &m);
  hiaR_arena_release(scratch, mark);
  hiaF_draft_follow(d, item, fit, &out, &m);
}

uint64_t hiaF_draft_tensor_op(hia_draft *d, unsigned op, const uint64_t *ids, size_t n,
                              uint32_t axis) {
  hiaF_draft_doing(d, hiaF_draft_op_name(op));
  hiaF_draft_need_block(d);
  int want = hiaR_ops[op].n_ins;
  size_t least = want < 0 ? op == HIA_OP_CAT ? 2 : 1 : (size_t)want;
  size_t most = want >= 0 ? least : op == HIA_OP_STACK ? MAX_STACK : HIA_NONE / 8;
  const char *s = n == 1 ? "" : "s";
  if (want >= 0 && n != least) hiaF_draft_wrong(d, "%zu operand%s instead of %zu", n, s, least);
  if (n < least) hiaF_draft_wrong(d, "%zu operand%s instead of %zu or more", n, s, least);
  if (n > most) hiaF_draft_wrong(d, "%zu operands; at most %zu", n, most);
  if (!ids) hiaF_draft_wrong(d, "no operands");
  uint32_t *ins = HIA_NEW_ARRAY(&d->comp->arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++)
    ins[i] = hiaF_draft_value(d, (hia_draft_role){"operand", i + 1}, ids[i]);
  uint32_t usual = usual_axis(op, rank_of(d, ins[0])), at = axis == HIA_NONE ? usual : axis;
  if (dtype_of(d, ins[0]) == HIA_N_DTYPES) not_taken(d, ins, (uint32_t)n);
  if (axis != HIA_NONE) check_axis(d, op, axis, ins[0]);
  hia_type type = result_of(d, op, at, ins, (uint32_t)n);
  uint32_t item = hiaF_draft_append(d, op == HIA_OP_CAT ? HIA_DRAFT_CONCAT : HIA_DRAFT_TENSOR, type,
                                    ins, (uint32_t)n, false);
  item_at(d, item)->op = (uint16_t)op;
  item_at(d, item)->index = at == usual ? HIA_NONE : at;
  set_shape(d, op, at, item);
  return hiaF_draft_id(d, item);
}

/* ---- sizes and indices that the program computes ---- */

static uint32_t integer(hia_draft *d, hia_draft_role r, uint64_t id) {
  uint32_t item = hiaF_draft_value(d, r, id);
  hia_type type = hiaF_draft_type_at(d, item);
  if (type == HIA_I32 || type == HIA_I64) return item;
  hiaF_draft_wrong_value(
      d, r,
      hiaR_arena_printf(&d->comp->arena, "is of type %s, not i32 or i64", type_text(d, item)));
}

/* The number that a constant is. Unknown: the item is no constant, or is below 0. */
static hia_dim number(hia_draft *d, uint32_t item) {
  const hia_draft_item *i = item_at(d, item);
  if (i->kind != HIA_DRAFT_CONST) return HIA_DIM_UNKNOWN;
  int64_t value = i->type == HIA_I32 ? hiaR_to_i32(i->word) : hiaR_to_i64(i->word);
  return value < 0 ? HIA_DIM_UNKNOWN : value;
}

/* Appends an op on a value and n sizes, which are those of the result. Without a value (HIA_NONE)
 * it has only sizes. */
static uint64_t append_sized(hia_draft *d, unsigned op, hia_dtype dtype, uint32_t value,
                             const uint64_t *sizes, size_t n) {
  uint32_t ins[HIA_MAX_RANK + 1], n_ins = 0;
  hia_dim dims[HIA_MAX_RANK];
  if (n < 1 || n > HIA_MAX_RANK)
    hiaF_draft_wrong(d, "%zu sizes: a tensor has from 1 to %d", n, HIA_MAX_RANK);
  if (!sizes) hiaF_draft_wrong(d, "no sizes");
  if (value != HIA_NONE) ins[n_ins++] = value;
  for (uint32_t i = 0; i < n; i++) {
    ins[n_ins] = integer(d, (hia_draft_role){"size", i + 1}, sizes[i]);
    dims[i] = number(d, ins[n_ins++]);
  }
  hia_type type = hiaF_draft_make_tensor(d, dtype, (uint32_t)n);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_TENSOR, type, ins, n_ins, false);
  item_at(d, item)->op = (uint16_t)op;
  item_at(d, item)->index = HIA_NONE;
  hiaF_draft_set_dims(d, item, dims);
  return hiaF_draft_id(d, item);
}

uint64_t hiaF_draft_reshape(hia_draft *d, uint64_t id, const uint64_t *sizes, size_t n) {
  hiaF_draft_doing(d, "reshape");
  hiaF_draft_need_block(d);
  uint32_t x = hiaF_draft_value(d, (hia_draft_role){"the tensor", 0}, id);
  if (dtype_of(d, x) == HIA_N_DTYPES) not_taken(d, &x, 1);
  return append_sized(d, HIA_OP_RESHAPE, dtype_of(d, x), x, sizes, n);
}

uint64_t hiaF_draft_full(hia_draft *d, uint64_t id, const uint64_t *sizes, size_t n) {
  hiaF_draft_doing(d, "full");
  hiaF_draft_need_block(d);
  uint32_t value = hiaF_draft_value(d, (hia_draft_role){"the value", 0}, id);
  if (!hiaG_is_scalar(hiaF_draft_type_at(d, value)))
    hiaF_draft_wrong(d, "the value is of type %s, not a scalar", type_text(d, value));
  return append_sized(d, HIA_OP_FULL, dtype_of(d, value), value, sizes, n);
}

uint64_t hiaF_draft_iota(hia_draft *d, uint64_t size) {
  hiaF_draft_doing(d, "iota");
  hiaF_draft_need_block(d);
  return append_sized(d, HIA_OP_IOTA, HIA_I64, HIA_NONE, &size, 1);
}

uint64_t hiaF_draft_one_hot(hia_draft *d, unsigned dtype, uint64_t index, uint64_t size) {
  hiaF_draft_doing(d, "one_hot");
  hiaF_draft_need_block(d);
  if (dtype != HIA_F32 && dtype != HIA_F64)
    hiaF_draft_wrong(d, "the dtype is %s, not f32 or f64",
                     dtype < HIA_N_DTYPES ? hiaG_dtype_name((hia_dtype)dtype) : "no dtype");
  uint32_t ins[2] = {integer(d, (hia_draft_role){"the index", 0}, index), 0};
  ins[1] = integer(d, (hia_draft_role){"the size", 0}, size);
  hia_dim dim = number(d, ins[1]);
  hia_type type = hiaF_draft_make_tensor(d, (hia_dtype)dtype, 1);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_ONE_HOT, type, ins, 2, false);
  hiaF_draft_set_dims(d, item, &dim);
  return hiaF_draft_id(d, item);
}

/* A size in a type is a number or a name, so it is no part of the expression. */
uint64_t hiaF_draft_expect(hia_draft *d, uint64_t id, const uint64_t *sizes, size_t n) {
  hiaF_draft_doing(d, "expect");
  hiaF_draft_need_block(d);
  uint32_t ins[HIA_MAX_RANK + 1] = {hiaF_draft_value(d, (hia_draft_role){"the tensor", 0}, id)};
  uint32_t n_ins = 1, rank = rank_of(d, ins[0]), axes = 0;
  hia_dim dims[HIA_MAX_RANK];
  if (rank == 0) not_taken(d, ins, 1);
  if (n != rank) hiaF_draft_wrong(d, "%zu sizes for %s", n, type_text(d, ins[0]));
  if (!sizes) hiaF_draft_wrong(d, "no sizes");
  for (uint32_t i = 0; i < rank; i++) {
    dims[i] = HIA_DIM_UNKNOWN;
    if (sizes[i] == 0) continue;
    ins[n_ins] = integer(d, (hia_draft_role){"size", i + 1}, sizes[i]);
    dims[i] = number(d, ins[n_ins++]);
    axes |= 1u << i;
  }
  hiaF_draft_expect_dims(d, (hia_draft_role){"the tensor", 0}, ins[0], dims);
  hia_type type = hiaF_draft_type_at(d, ins[0]);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_EXPECT, type, ins, n_ins, false);
  for (uint32_t i = 1; i < n_ins; i++) item_at(d, ins[i])->is_inner = false;
  item_at(d, item)->word = axes;
  hiaF_draft_set_dims(d, item, dims);
  return hiaF_draft_id(d, item);
}

/* ---- parts of tensors ---- */

uint64_t hiaF_draft_tensor_at(hia_draft *d, uint32_t x, uint64_t index) {
  uint32_t ins[2] = {x, hiaF_draft_value(d, (hia_draft_role){"the index", 0}, index)};
  hia_dtype dtype = dtype_of(d, ins[1]);
  if (dtype != HIA_I32 && dtype != HIA_I64)
    hiaF_draft_wrong(d, "the index is of type %s, not i32 or i64, or a tensor of these",
                     type_text(d, ins[1]));
  hia_type type = hiaF_draft_make_ranked(d, dtype_of(d, x), rank_of(d, x) - 1 + rank_of(d, ins[1]));
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_AT, type, ins, 2, false);
  hia_dims shape = hiaF_draft_shape_of(d, x), index_shape = hiaF_draft_shape_of(d, ins[1]), out;
  hia_misfit m;
  hia_fit fit = hiaR_shape_index(&shape, &index_shape, &out, &m);
  hiaF_draft_follow(d, item, fit, &out, &m);
  return hiaF_draft_id(d, item);
}

uint64_t hiaF_draft_tensor_slice(hia_draft *d, const uint32_t ins[3]) {
  uint32_t item =
      hiaF_draft_append(d, HIA_DRAFT_SLICE, hiaF_draft_type_at(d, ins[0]), ins, 3, false);
  hia_dims x = hiaF_draft_shape_of(d, ins[0]), out;
  hia_misfit m;
  x.dims[0] = HIA_DIM_UNKNOWN; /* what is out of range fails when the program runs */
  hia_fit fit = hiaR_shape_slice(&x, number(d, ins[1]), number(d, ins[2]), &out, &m);
  hiaF_draft_follow(d, item, fit, &out, &m);
  return hiaF_draft_id(d, item);
}

uint64_t hiaF_draft_tensor_set(hia_draft *d, const uint32_t ins[3]) {
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_SET, hiaF_draft_type_at(d, ins[0]), ins, 3, false);
  hia_dims x = hiaF_draft_shape_of(d, ins[0]), row = hiaF_draft_shape_of(d, ins[2]), out;
  hia_misfit m;
  hia_fit fit = hiaR_shape_set(&x, &row, &out, &m);
  hiaF_draft_follow(d, item, fit, &out, &m);
  return hiaF_draft_id(d, item);
}

uint64_t hiaF_draft_tensor_of(hia_draft *d, const uint32_t *ins, uint32_t n) {
  uint32_t rank = rank_of(d, ins[0]);
  hia_type type = hiaF_draft_make_tensor(d, dtype_of(d, ins[0]), rank + 1);
  uint32_t item = hiaF_draft_append(d, HIA_DRAFT_ARRAY, type, ins, n, false);
  hia_dim length = n;
  if (rank == 0)
    hiaF_draft_set_dims(d, item, &length);
  else
    set_shape(d, HIA_OP_STACK, 0, item);
  return hiaF_draft_id(d, item);
}

/* ---- comprehensions ---- */

void hiaF_draft_bind_row(hia_draft *d, uint32_t bound, uint32_t array) {
  const hia_dim *dims = item_at(d, array)->dims;
  bool is_tensor = hiaF_draft_is_tensor(d, hiaF_draft_type_at(d, array));
  hiaF_draft_set_dims(d, bound, dims && is_tensor ? dims + 1 : dims);
}

/* The number of elements that a comprehension makes. */
static hia_dim length_of(hia_draft *d, const hia_draft_item *item) {
  const uint32_t *ins = d->extra.data + item->ins;
  if (item->n_ins == 1) {
    const hia_dim *dims = item_at(d, ins[0])->dims;
    bool is_tensor = hiaF_draft_is_tensor(d, hiaF_draft_type_at(d, ins[0]));
    return dims && is_tensor ? dims[0] : HIA_DIM_UNKNOWN;
  }
  hia_dim from = number(d, ins[0]), to = number(d, ins[1]);
  if (from < 0 || to < 0) return HIA_DIM_UNKNOWN;
  return to > from ? to - from : 0;
}

void hiaF_draft_tensor_packed(hia_draft *d, uint32_t item, uint32_t element) {
  hia_dim dims[HIA_MAX_RANK];
  hia_dims shape = hiaF_draft_shape_of(d, element);
  dims[0] = length_of(d, item_at(d, item));
  memcpy(dims + 1, shape.dims, shape.rank * sizeof *dims);
  hiaF_draft_set_dims(d, item, dims);
}
