/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/sums.h"

/* True if all fields of a constructor, `n` of them, have this type. */
static bool are_fields(const hia_type_table *t, hia_type data, uint32_t number, hia_type type,
                       uint32_t n) {
  const hia_ctor *ctor = hiaR_ctor(t, data, number);
  for (uint32_t i = 0; i < ctor->n; i++)
    if (t->fields[ctor->first + i].type != type) return false;
  return ctor->n == n;
}

/* True if the fields of a constructor have these types. */
static bool has_fields(const hia_type_table *t, hia_type data, uint32_t number, hia_type a,
                       hia_type b) {
  const hia_ctor *ctor = hiaR_ctor(t, data, number);
  const hia_ctor_field *fields = t->fields + ctor->first;
  return ctor->n == 2 && fields[0].type == a && fields[1].type == b;
}

/* The type of field `i`; a scalar if there is none. */
static hia_type field(const hia_type_table *t, hia_type data, uint32_t number, uint32_t i) {
  const hia_ctor *ctor = hiaR_ctor(t, data, number);
  return i < ctor->n ? t->fields[ctor->first + i].type : HIA_BOOL;
}

/* True if the fields of a constructor are n of these types, and two sums. */
static bool is_then(const hia_type_table *t, hia_type sum, uint32_t number, const hia_type *own,
                    uint32_t n) {
  bool is_right = hiaR_ctor(t, sum, number)->n == n + 2;
  for (uint32_t i = 0; is_right && i < n + 2; i++)
    is_right = field(t, sum, number, i) == (i < n ? own[i] : sum);
  return is_right;
}

static bool is_tensor(const hia_type_table *t, hia_type type, hia_dtype dtype, uint32_t rank) {
  if (hiaR_type_kind(t, type) != HIA_KIND_TENSOR) return false;
  const hia_type_entry *entry = hiaR_type_entry(t, type);
  return entry->element == (hia_type)dtype && entry->n == rank;
}

/* True if the type is a sum of such tensors, but for the x of its ROW. */
static bool is_sum(const hia_type_table *t, hia_type type, hia_dtype dtype, uint32_t rank) {
  if (hiaR_type_kind(t, type) != HIA_KIND_DATA) return false;
  uint32_t n = hiaR_type_entry(t, type)->n;
  if (n != (rank > 1 ? HIA_SUM_ALL : HIA_SUM_FEW)) return false;
  hia_type dense = field(t, type, HIA_SUM_DENSE, 0), index = field(t, type, HIA_SUM_ROWS, 0);
  bool is_right = hiaR_ctor(t, type, HIA_SUM_NOTHING)->n == 0 &&
                  has_fields(t, type, HIA_SUM_BOTH, type, type) &&
                  hiaR_ctor(t, type, HIA_SUM_DENSE)->n == 1 && is_tensor(t, dense, dtype, rank) &&
                  hiaR_ctor(t, type, HIA_SUM_ROW)->n == 2 &&
                  field(t, type, HIA_SUM_ROW, 0) == HIA_I64 && is_tensor(t, index, HIA_I64, 1) &&
                  has_fields(t, type, HIA_SUM_ROWS, index, dense) &&
                  has_fields(t, type, HIA_SUM_PART, HIA_I64, type) &&
                  is_then(t, type, HIA_SUM_DENSE_THEN, (const hia_type[]){dense}, 1);
  if (!is_right || rank == 1) return is_right;
  hia_type vector = field(t, type, HIA_SUM_OUTER, 0), matrix = field(t, type, HIA_SUM_PRODUCTS, 0);
  return is_tensor(t, vector, dtype, 1) && is_tensor(t, matrix, dtype, 2) &&
         has_fields(t, type, HIA_SUM_OUTER, vector, vector) &&
         has_fields(t, type, HIA_SUM_PRODUCTS, matrix, matrix) &&
         are_fields(t, type, HIA_SUM_PAIR, vector, 3) &&
         is_then(t, type, HIA_SUM_OUTER_THEN, (const hia_type[]){vector, vector}, 2) &&
         is_then(t, type, HIA_SUM_PAIR_THEN, (const hia_type[]){vector, vector, vector}, 3);
}

bool hiaR_sum_of(const hia_type_table *t, hia_type type, hia_dtype *dtype, uint32_t *rank) {
  if (hiaR_type_kind(t, type) != HIA_KIND_DATA || hiaR_type_entry(t, type)->n < HIA_SUM_FEW)
    return false;
  hia_type dense = field(t, type, HIA_SUM_DENSE, 0);
  if (hiaR_type_kind(t, dense) != HIA_KIND_TENSOR) return false;
  *dtype = (hia_dtype)hiaR_type_entry(t, dense)->element;
  *rank = hiaR_type_entry(t, dense)->n;
  if (*dtype != HIA_F32 && *dtype != HIA_F64) return false;
  for (uint32_t r = *rank; is_sum(t, type, *dtype, r); r--) {
    type = field(t, type, HIA_SUM_ROW, 1);
    if (r == 1) return type == (hia_type)*dtype;
  }
  return false;
}
