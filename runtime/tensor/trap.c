/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* TRAP: whether an operation has made a NaN (graph/passes/trap.c). Of most results no element is
 * NaN; so operands are looked at only if there is one. */
#include "runtime/base/nan.h"
#include "runtime/tensor/operands.h"

#define NO_ELEMENT UINT64_MAX

/* *at becomes the first element of operand i, from *at on, that is NaN; NO_ELEMENT: there is none.
 * Of a scalar element 0 is the scalar. False: the run must end. */
static bool look(hia_work *work, const hia_operation *o, const hia_word *in, uint32_t i,
                 uint64_t *at) {
  if (!hiaR_operand_is_tensor(o, i)) {
    *at = *at == 0 && hiaR_is_nan((hia_dtype)o->dtype, in[i]) ? 0 : NO_ELEMENT;
    return true;
  }
  const hia_tensor *t = hiaR_tensor(in[i]);
  if (!hiaR_work_find_nan(work, t, at)) return false;
  if (*at == hiaR_tensor_len(t)) *at = NO_ELEMENT;
  return true;
}

/* The index of an element. */
static hia_dims index_of(const hia_dims *shape, uint64_t at) {
  hia_dims index = {.rank = shape->rank};
  for (uint32_t i = shape->rank; i-- > 0;) {
    index.dims[i] = (int64_t)(at % (uint64_t)shape->dims[i]);
    at /= (uint64_t)shape->dims[i];
  }
  return index;
}

/* The element of an operand, which was broadcast, that element `index` of the result is made of. */
static hia_word element_of(const hia_operation *o, const hia_word *in, uint32_t i,
                           const hia_dims *index) {
  if (!hiaR_operand_is_tensor(o, i)) return in[i];
  const hia_tensor *t = hiaR_tensor(in[i]);
  uint32_t rank = hiaR_tensor_rank(t), lead = index->rank - rank;
  uint64_t at = 0;
  for (uint32_t k = 0; k < rank; k++) {
    uint64_t index_on_axis = t->dims[k] == 1 ? 0 : (uint64_t)index->dims[lead + k];
    at = at * (uint64_t)t->dims[k] + index_on_axis;
  }
  return hiaR_tensor_get(t, at);
}

static unsigned op_of(const hia_operation *o) { return (unsigned)(o->imm % HIA_TRAP_GRADIENT); }

/* Looks at the elements of an op on elements one by one: *at becomes the first that the op has made
 * NaN. */
static bool look_by_element(hia_work *work, const hia_operation *o, const hia_word *in,
                            uint64_t *at) {
  hia_dims shape = hiaR_operand_dims(o, in, 0);
  for (;; (*at)++) {
    if (!look(work, o, in, 0, at)) return false;
    if (*at == NO_ELEMENT) return true;
    hia_dims index = index_of(&shape, *at);
    bool had = false;
    for (uint32_t i = 1; i < o->n_in; i++)
      had |= hiaR_is_nan((hia_dtype)o->dtype, element_of(o, in, i, &index));
    if (!had) return true;
  }
}

/* Any other op has made the NaN at *at if no operand has one. */
static hia_status look_at_operands(const hia_env *env, hia_work *work, const hia_operation *o,
                                   const hia_word *in, uint64_t *at) {
  hia_dims shape = hiaR_operand_dims(o, in, 0);
  bool had = false;
  for (uint32_t i = 1; i < o->n_in && !had; i++) {
    uint64_t its = 0;
    hia_status status = HIA_OK;
    if (hiaR_takes_sum(op_of(o))) {
      status = hiaR_sum_has_nan(env, (hia_dtype)o->dtype, shape.rank, in[i], &had);
    } else {
      if (!look(work, o, in, i, &its)) status = HIA_CANCELLED;
      had = its != NO_ELEMENT;
    }
    if (status) return status;
  }
  if (had) *at = NO_ELEMENT;
  return HIA_OK;
}

static hia_nan_origin origin(const hia_operation *o, const hia_word *in, uint64_t at) {
  hia_nan_origin nan = {.op = (uint16_t)op_of(o),
                        .is_in_gradient = o->imm >= HIA_TRAP_GRADIENT,
                        .dtype = o->dtype,
                        .shape = hiaR_operand_dims(o, in, 0)};
  bool is_by_element = hiaR_ops[nan.op].shape == HIA_SHAPE_ELEMENTWISE;
  nan.at = index_of(&nan.shape, at);
  if (hiaR_takes_sum(nan.op) || nan.op == HIA_OP_HOST) return nan;
  for (uint32_t i = 1; i < o->n_in && i <= HIA_NAN_OPERANDS; i++) {
    if (!is_by_element) nan.shapes[i - 1] = hiaR_operand_dims(o, in, i);
    if (is_by_element || !nan.shapes[i - 1].rank) nan.words[i - 1] = element_of(o, in, i, &nan.at);
    nan.n_operands++;
  }
  return nan;
}

/* Takes no reference, and makes none. A program of scalars may have no heap. */
HIA_OPERATION(TRAP) {
  hia_work work = {.heap = env->local->heap, .left = HIA_WORK};
  hia_status status = HIA_OK;
  uint64_t at = 0;
  if (hiaR_ops[op_of(o)].shape == HIA_SHAPE_ELEMENTWISE) {
    if (!look_by_element(&work, o, in, &at)) return HIA_CANCELLED;
  } else {
    if (!look(&work, o, in, 0, &at)) return HIA_CANCELLED;
    if (at != NO_ELEMENT) status = look_at_operands(env, &work, o, in, &at);
  }
  if (status) return status;
  if (at != NO_ELEMENT) {
    why->nan = origin(o, in, at);
    return HIA_NAN_MADE;
  }
  *out = 0;
  return HIA_OK;
}
