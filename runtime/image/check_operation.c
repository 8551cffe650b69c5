/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks nodes that compute operations: their operands are tensors, or else scalars, of which the
 * image does not say the dtype. */
#include "runtime/base/shape.h"
#include "runtime/base/sums.h"
#include "runtime/heap/tensor.h"
#include "runtime/image/check.h"

/* The type of operands and results of operations. NULL: a scalar's. */
static const hia_type_entry *tensor_type(const hia_image_checker *c, hia_type type) {
  return type == HIA_NONE ? NULL : &c->types[type - HIA_FIRST_TYPE];
}

static bool check_param_read(hia_image_checker *c, const hia_image_node *n) {
  if (n->imm >= c->h->params.n) return hiaR_check_bad(c, "no such param");
  const hia_image_param *param = &c->params[n->imm];
  const hia_type_entry *t = tensor_type(c, hiaR_check_ref_type(c, c->s, c->words[n->outs]));
  bool is_right = param->rank == 0 ? t == NULL
                                   : t && t->kind == HIA_KIND_TENSOR && t->n == param->rank &&
                                         t->element == param->dtype;
  return (is_right && c->kernels[n->what].dtype == param->dtype) ||
         hiaR_check_bad(c, "a param has another type");
}

/* Any elements will do, but bools, of which 0 and 1 are canonical. */
static bool check_literal(hia_image_checker *c, const hia_image_node *n) {
  const hia_type_entry *t = tensor_type(c, hiaR_check_ref_type(c, c->s, c->words[n->outs]));
  hia_tensor head = {.counted = {.ctor = HIA_TENSOR_LITERAL}};
  uint64_t left = c->h->literals.n, len, n_words;
  hia_dims shape = {0};
  if (!t || t->kind != HIA_KIND_TENSOR || c->kernels[n->what].dtype != t->element)
    return hiaR_check_bad(c, "a literal has another type");
  const uint32_t n_head = sizeof head / sizeof(hia_word);
  if (n->imm >= left || (left -= n->imm) < n_head + t->n)
    return hiaR_check_bad(c, "no such literal");
  const hia_word *at = c->literals + n->imm;
  atomic_init(&head.counted.count, HIA_STICKY);
  head.counted.spare = hiaR_tensor_spare((hia_dtype)t->element, t->n);
  if (memcmp(at, &head, sizeof head) != 0) return hiaR_check_bad(c, "a literal has another type");
  shape.rank = t->n;
  memcpy(shape.dims, at + n_head, t->n * sizeof *at);
  uint64_t size = hiaR_dtype_size((hia_dtype)t->element);
  if (!hiaR_shape_elements(&shape, size, &len)) return hiaR_check_bad(c, "a literal is malformed");
  n_words = (len * size + sizeof(hia_word) - 1) / sizeof(hia_word);
  if (n_words > left - n_head - t->n) return hiaR_check_bad(c, "a literal is out of bounds");
  const uint8_t *elements = (const uint8_t *)(at + n_head + t->n);
  for (uint64_t i = 0; t->element == HIA_BOOL && i < len; i++)
    if (elements[i] > 1) return hiaR_check_bad(c, "a literal is malformed");
  return true;
}

/* The fuel is a scalar; the cost can be computed from any scalars and tensors. */
static bool check_work(hia_image_checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  if (c->kernels[n->what].dtype != HIA_I64 || n->n_ins < 2 ||
      !hiaR_work_takes(n->imm, n->n_ins - 1))
    return hiaR_check_bad(c, "no such work");
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN;
    hia_type type = slot < s->n_slots - s->n_consts ? hiaR_check_ref_type(c, s, slot) : HIA_NONE;
    const hia_type_entry *t = tensor_type(c, type);
    if (in != slot) return hiaR_check_bad(c, "operand %u cannot be taken", i);
    if (t && (i == 0 || t->kind != HIA_KIND_TENSOR))
      return hiaR_check_bad(c, "slot %u is used as of another type", slot);
  }
  return hiaR_check_ref_type(c, s, c->words[n->outs]) == HIA_NONE ||
         hiaR_check_bad(c, "an operation gives no such result");
}

/* Slots that an ALIKE reads: a scalar, a tensor, and an array of such, or of tuples that begin with
 * one: references come first in memory. */
static bool check_alike(hia_image_checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  hia_type types[3] = {HIA_NONE, HIA_NONE, HIA_NONE};
  if (c->kernels[n->what].dtype != HIA_I64 || n->n_ins < 2 || n->n_ins > HIA_LEN(types))
    return hiaR_check_bad(c, "an operation on operands that it does not take");
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN;
    if (in != slot) return hiaR_check_bad(c, "operand %u cannot be taken", i);
    if (slot < s->n_slots - s->n_consts) types[i] = hiaR_check_ref_type(c, s, slot);
  }
  const hia_type_entry *x = tensor_type(c, types[1]), *array = tensor_type(c, types[2]);
  bool is_right = types[0] == HIA_NONE && x && x->kind == HIA_KIND_TENSOR;
  if (n->n_ins == 3) {
    hia_type first = array && array->kind == HIA_KIND_ARRAY ? array->element : HIA_NONE;
    const hia_type_entry *t =
        first == HIA_NONE || hiaR_is_scalar(first) ? NULL : tensor_type(c, first);
    if (t && t->kind == HIA_KIND_TUPLE) first = c->table.parts[t->first];
    is_right = is_right && first == types[1];
  }
  if (!is_right) return hiaR_check_bad(c, "an operation on operands that it does not take");
  return hiaR_check_ref_type(c, s, c->words[n->outs]) == HIA_NONE ||
         hiaR_check_bad(c, "an operation gives no such result");
}

/* Operand i of a TRAP: a scalar, or a tensor, or a sum of what operand 0 is. */
static bool check_trapped(hia_image_checker *c, const hia_image_node *n, uint32_t i) {
  const hia_image_section *s = c->s;
  hia_dtype dtype = (hia_dtype)c->kernels[n->what].dtype, its = dtype;
  uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN, rank = 0;
  if (in != slot) return hiaR_check_bad(c, "operand %u cannot be taken", i);
  hia_type type = slot < s->n_slots - s->n_consts ? hiaR_check_ref_type(c, s, slot) : HIA_NONE;
  const hia_type_entry *t = tensor_type(c, type);
  if (i == 1 && hiaR_takes_sum((unsigned)(n->imm % HIA_TRAP_GRADIENT))) {
    const hia_type_entry *x =
        tensor_type(c, hiaR_check_ref_type(c, s, c->words[n->ins] & ~HIA_IMAGE_TAKEN));
    if (!x) return hiaR_check_bad(c, "an operation on operands that it does not take");
    if (!t)
      return hiaR_check_read(c, s, slot,
                             hiaR_check_ref_type(c, s, c->words[n->ins])); /* a constant */
    if (hiaR_sum_of(&c->table, type, &its, &rank) && rank == x->n && its == dtype) return true;
    return hiaR_check_bad(c, "slot %u is used as of another type", slot);
  }
  return !t || (t->kind == HIA_KIND_TENSOR && t->element == (hia_type)dtype) ||
         hiaR_check_bad(c, "slot %u is used as of another type", slot);
}

static bool check_trap(hia_image_checker *c, const hia_image_node *n) {
  hia_dtype dtype = (hia_dtype)c->kernels[n->what].dtype;
  if ((dtype != HIA_F32 && dtype != HIA_F64) || !hiaR_trap_takes(n->imm, n->n_ins))
    return hiaR_check_bad(c, "an operation at another dtype");
  for (uint32_t i = 0; i < n->n_ins; i++)
    if (!check_trapped(c, n, i)) return false;
  return hiaR_check_ref_type(c, c->s, c->words[n->outs]) == HIA_NONE ||
         hiaR_check_bad(c, "an operation gives no such result");
}

static bool is_vector(const hia_type_entry *t, bool may_be_i32) {
  return t && t->kind == HIA_KIND_TENSOR && t->n == 1 &&
         (t->element == HIA_I64 || (may_be_i32 && t->element == HIA_I32));
}

/* Slots that a COLLECT and its kin read: a sum, perhaps rows, and a tensor such as it becomes, too.
 */
static bool check_collect(hia_image_checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  unsigned op = c->kernels[n->what].op;
  uint32_t last = op == HIA_OP_COLLECT_ROWS ? 2 : 1;
  if (n->n_ins != last + 1)
    return hiaR_check_bad(c, "an operation on operands that it does not take");
  hia_type types[3] = {HIA_NONE, HIA_NONE, HIA_NONE};
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN;
    if (in != slot) return hiaR_check_bad(c, "operand %u cannot be taken", i);
    if (slot < s->n_slots - s->n_consts) types[i] = hiaR_check_ref_type(c, s, slot);
  }
  const hia_type_entry *x = tensor_type(c, types[last]);
  hia_dtype dtype = HIA_BOOL;
  uint32_t rank = 0;
  bool is_right = x && x->kind == HIA_KIND_TENSOR && x->element == c->kernels[n->what].dtype;
  if (is_right && types[0] == HIA_NONE) /* a constant */
    is_right = hiaR_check_read(c, s, c->words[n->ins], types[last]);
  else if (is_right)
    is_right = hiaR_sum_of(&c->table, types[0], &dtype, &rank) && rank == x->n &&
               x->element == (hia_type)dtype;
  if (last == 2) is_right = is_right && is_vector(tensor_type(c, types[1]), true);
  if (!is_right) return hiaR_check_bad(c, "an operation on operands that it does not take");
  uint32_t out = c->words[n->outs];
  if (op != HIA_OP_TOUCHED) return hiaR_check_write(c, s, out, types[last]);
  return is_vector(tensor_type(c, hiaR_check_ref_type(c, s, out)), false) ||
         hiaR_check_bad(c, "slot %u is written as of another type", out);
}

bool hiaR_check_operation(hia_image_checker *c, const hia_image_node *n) {
  const hia_image_section *s = c->s;
  const hia_image_kernel *k = &c->kernels[n->what];
  hia_rule rule = (hia_rule)hiaR_ops[k->op].rule;
  hia_dtype dtype = (hia_dtype)k->dtype;
  uint32_t ranks[3] = {0}, rest = HIA_NONE;
  if (k->op == HIA_OP_PARAM) return check_param_read(c, n);
  if (k->op == HIA_OP_LITERAL) return check_literal(c, n);
  if (k->op == HIA_OP_WORK) return check_work(c, n);
  if (k->op == HIA_OP_ALIKE) return check_alike(c, n);
  if (k->op == HIA_OP_TRAP) return check_trap(c, n);
  if (hiaR_takes_sum(k->op)) return check_collect(c, n);
  if (!hiaR_rule_takes(rule, dtype)) return hiaR_check_bad(c, "an operation at another dtype");
  for (uint32_t i = 0; i < n->n_ins; i++) {
    uint32_t in = c->words[n->ins + i], slot = in & ~HIA_IMAGE_TAKEN, rank = 0;
    hia_type type = slot < s->n_slots - s->n_consts ? hiaR_check_ref_type(c, s, slot) : HIA_NONE;
    if (in != slot && i >= HIA_MAX_TAKING)
      return hiaR_check_bad(c, "operand %u cannot be taken", i);
    if (type != HIA_NONE) {
      bool is_array = k->op == HIA_OP_PACK && i == 0;
      const hia_type_entry *t = &c->types[type - HIA_FIRST_TYPE];
      if (is_array && (t->kind != HIA_KIND_ARRAY || t->layout.n != 1 || in != slot))
        return hiaR_check_bad(c, "slot %u is used as of another type", slot);
      hia_type of_dtype = is_array ? c->layout_words[t->layout.first].type : type;
      if (!hiaR_is_scalar(of_dtype)) {
        t = &c->types[of_dtype - HIA_FIRST_TYPE];
        if (t->kind != HIA_KIND_TENSOR)
          return hiaR_check_bad(c, "slot %u is used as of another type", slot);
        of_dtype = t->element;
        rank = t->n;
      }
      if (!hiaR_rule_takes_operand(rule, dtype, i, (hia_dtype)of_dtype))
        return hiaR_check_bad(c, "slot %u is used as of another type", slot);
    } else if (k->op == HIA_OP_PACK && i == 0) {
      return hiaR_check_bad(c, "slot %u is used as of another type", slot);
    }
    if (i < HIA_LEN(ranks))
      ranks[i] = rank;
    else if (i == HIA_LEN(ranks) || rank == rest)
      rest = rank;
    else
      rest = HIA_NONE;
  }
  uint32_t rank = hiaR_op_rank(k->op, n->imm, n->n_ins, ranks, rest);
  bool is_lifted = hiaR_ops[k->op].shape == HIA_SHAPE_ELEMENTWISE;
  if (rank == HIA_NONE || (rank == 0 && is_lifted) ||
      (k->op == HIA_OP_CAST && n->imm >= HIA_N_DTYPES))
    return hiaR_check_bad(c, "an operation on operands that it does not take");
  hia_type out = hiaR_check_ref_type(c, s, c->words[n->outs]);
  if (rank == 0) return out == HIA_NONE || hiaR_check_bad(c, "an operation gives no such result");
  const hia_type_entry *t = tensor_type(c, out);
  return (t && t->kind == HIA_KIND_TENSOR && t->n == rank &&
          t->element == (hia_type)hiaR_rule_result(rule, dtype)) ||
         hiaR_check_bad(c, "an operation gives no such result");
}
