/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What gradients of tensors need (docs/tensors.md, "Gradients"): zeros, sums along the axes of a
 * broadcast, rows that are added to others, parts along any axis. */
#include "runtime/tensor/operands.h"

static hia_status does_not_fit(hia_misfortune *why, const hia_dims *a, uint32_t operand_a,
                               uint32_t axis_a, const hia_dims *b, uint32_t operand_b,
                               uint32_t axis_b) {
  why->misfit = (hia_misfit){.kind = HIA_MISFIT_DIM,
                             .operand_a = operand_a,
                             .operand_b = operand_b,
                             .axis_a = axis_a,
                             .axis_b = axis_b,
                             .a = *a,
                             .b = *b};
  return HIA_SHAPE;
}

/* ---- zeros ---- */

static hia_status zeros(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  hia_dims shape = hiaR_tensor_dims(x);
  (void)o, (void)why;
  if (!hiaR_result_new(env, hiaR_tensor_dtype(x), &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  return hiaR_work_clear(&work, r->data, hiaR_tensor_bytes(x)) ? HIA_OK : HIA_CANCELLED;
}
HIA_DEFINE_OPERATION(ZEROS, zeros)

/* ---- adding ---- */

#define ADD(T, type)                                                                               \
  static void add_##T(char *to, const char *from, uint64_t n) {                                    \
    type *z = (type *)(void *)to;                                                                  \
    const type *x = (const type *)(const void *)from;                                              \
    for (uint64_t i = 0; i < n; i++) z[i] += x[i];                                                 \
  }
ADD(i32, uint32_t)
ADD(i64, uint64_t)
ADD(f32, float)
ADD(f64, double)

bool hiaR_work_add(hia_work *work, hia_dtype dtype, char *to, const char *from, uint64_t n) {
  static void (*const adders[HIA_N_DTYPES])(char *, const char *, uint64_t) = {
      [HIA_I32] = add_i32, [HIA_I64] = add_i64, [HIA_F32] = add_f32, [HIA_F64] = add_f64};
  uint64_t size = hiaR_dtype_size(dtype);
  for (uint64_t i = 0, end; i < n; i = end) {
    end = hiaR_piece_end(i, n);
    if (!hiaR_work_on(work, 2 + (end - i) / 2)) return false;
    adders[dtype](to + i * size, from + i * size, end - i);
  }
  return true;
}

/* ---- rows that are added ---- */

/* Rows of 4 and 8 elements, which take less time than a call, are added in pieces, between which
 * the run may end. Returns how many were added before an index that is out of range; or n. */
typedef uint64_t adder(char *to, const char *from, const hia_tensor *index, uint64_t first,
                       uint64_t n, uint64_t n_rows);

#define ADD_ROWS(T, type, row)                                                                     \
  static uint64_t add_rows_##T##_##row(char *to, const char *from, const hia_tensor *index,        \
                                       uint64_t first, uint64_t n, uint64_t n_rows) {              \
    for (uint64_t k = 0; k < n; k++) {                                                             \
      uint64_t i = (uint64_t)hiaR_to_i64(hiaR_tensor_get(index, first + k));                       \
      if (i >= n_rows) return k;                                                                   \
      type *z = (type *)(void *)to + i * (row);                                                    \
      const type *x = (const type *)(const void *)from + (first + k) * (row);                      \
      for (uint32_t j = 0; j < (row); j++) z[j] += x[j];                                           \
    }                                                                                              \
    return n;                                                                                      \
  }
ADD_ROWS(f32, float, 4)
ADD_ROWS(f32, float, 8)
ADD_ROWS(f64, double, 4)
ADD_ROWS(f64, double, 8)

/* NULL: such rows are not added that way. */
static adder *adder_of(hia_dtype dtype, uint64_t row) {
  if (row != 4 && row != 8) return NULL;
  if (dtype == HIA_F32) return row == 4 ? add_rows_f32_4 : add_rows_f32_8;
  return dtype == HIA_F64 ? row == 4 ? add_rows_f64_4 : add_rows_f64_8 : NULL;
}

/* Adds the rows of v to those of `to`, in the shape of x. Returns how many were added before an
 * index that is out of range; or UINT64_MAX: the run must end. */
static uint64_t add_rows(hia_work *work, char *to, const hia_tensor *x, const hia_tensor *index,
                         const hia_tensor *v) {
  hia_dtype dtype = hiaR_tensor_dtype(x);
  uint64_t row = 1, n = hiaR_tensor_len(index), n_rows = (uint64_t)x->dims[0];
  uint64_t size = hiaR_dtype_size(dtype);
  for (uint32_t i = 1; i < hiaR_tensor_rank(x); i++) row *= (uint64_t)x->dims[i];
  adder *few = adder_of(dtype, row);
  for (uint64_t k = 0, end; k < n; k = end) {
    end = few ? hiaR_piece_end(k, n) : k + 1;
    if (!hiaR_work_on(work, few ? 4 * (end - k) : 5)) return UINT64_MAX;
    if (few) {
      uint64_t added = few(to, v->data, index, k, end - k, n_rows);
      if (added < end - k) return k + added;
      continue;
    }
    uint64_t i = (uint64_t)hiaR_to_i64(hiaR_tensor_get(index, k));
    if (i >= n_rows) return k;
    if (!hiaR_work_add(work, dtype, to + i * row * size, v->data + k * row * size, row))
      return UINT64_MAX;
  }
  return n;
}

static hia_status scatter(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]), *index = hiaR_tensor(in[1]), *v = hiaR_tensor(in[2]);
  hia_dims shape = hiaR_tensor_dims(x), of_index = hiaR_tensor_dims(index),
           of_v = hiaR_tensor_dims(v), rows;
  hia_dtype dtype = hiaR_tensor_dtype(x);
  (void)o;
  hia_status status = hiaR_fit_status(hiaR_shape_index(&shape, &of_index, &rows, &why->misfit));
  if (status) return status;
  for (uint32_t i = 0; i < rows.rank; i++)
    if (rows.dims[i] != of_v.dims[i]) {
      bool is_index = i < of_index.rank;
      return does_not_fit(why, is_index ? &of_index : &shape, is_index,
                          is_index ? i : i - of_index.rank + 1, &of_v, 2, i);
    }
  if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  if (!hiaR_work_clear(&work, r->data, hiaR_tensor_bytes(x))) return HIA_CANCELLED;
  uint64_t n = add_rows(&work, r->data, x, index, v);
  if (n == UINT64_MAX) return HIA_CANCELLED;
  if (n == hiaR_tensor_len(index)) return HIA_OK;
  return hiaR_out_of_range(why, hiaR_range_of(x), hiaR_to_i64(hiaR_tensor_get(index, n)),
                           shape.dims[0]);
}
HIA_DEFINE_OPERATION(SCATTER, scatter)

/* ---- sums along the axes of a broadcast ---- */

/* Neighbouring axes that are all summed, or all kept, taken together. */
typedef struct group {
  bool is_summed;
  uint64_t n;
} group;

/* The axes of `v`, to whose shape `x` can be broadcast, as groups that alternate; returns their
 * number. Axes of size 1 are left out: a sum along one is the element. */
static uint32_t group_axes(const hia_dims *v, const hia_dims *x, group groups[HIA_MAX_RANK]) {
  uint32_t n = 0, missing = v->rank - x->rank;
  for (uint32_t i = 0; i < v->rank; i++) {
    bool is_summed = i < missing || x->dims[i - missing] != v->dims[i];
    if (v->dims[i] == 1) continue;
    if (!n || groups[n - 1].is_summed != is_summed) groups[n++] = (group){is_summed, 1};
    groups[n - 1].n *= (uint64_t)v->dims[i];
  }
  return n;
}

static uint64_t elements_before(const group *groups, uint32_t n) {
  uint64_t product = 1;
  for (uint32_t i = 0; i < n; i++) product *= groups[i].n;
  return product;
}

/* A block of the run's memory. */
typedef struct block {
  char *at;
  uint64_t size;
} block;

static bool block_new(const hia_env *env, uint64_t size, block *b) {
  *b = (block){.size = size + 8};
  if (size > PTRDIFF_MAX / 2) return false;
  b->at = hiaR_heap_alloc(env->local, b->size);
  return b->at;
}
static void block_free(const hia_env *env, block *b) {
  if (b->at) hiaR_heap_release(env->local, b->at, b->size);
  b->at = NULL;
}

/* The groups are summed one by one, the last first, which reads memory in its order. */
static hia_status sum_groups(const hia_env *env, const hia_tensor *v, const group *groups,
                             uint32_t n, char *out) {
  hia_work work = hiaR_work(env);
  hia_dtype dtype = hiaR_tensor_dtype(v);
  const char *from = v->data;
  block last = {0}, next = {0};
  uint64_t behind = 1;
  uint32_t left = 0;
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < n; i++) left += groups[i].is_summed;
  for (uint32_t i = n; i-- && !status;) {
    if (!groups[i].is_summed) {
      behind *= groups[i].n;
      continue;
    }
    uint64_t before = elements_before(groups, i);
    bool is_last = --left == 0;
    if (!is_last && !block_new(env, before * behind * hiaR_dtype_size(dtype), &next))
      status = HIA_MEMORY;
    else if (!hiaR_work_sum(&work, dtype, from, before, groups[i].n, behind,
                            is_last ? out : next.at))
      status = HIA_CANCELLED;
    block_free(env, &last);
    last = next;
    next = (block){0};
    from = last.at;
  }
  block_free(env, &last);
  return status;
}

static hia_status fit(HIA_COMPUTE) {
  const hia_tensor *v = hiaR_tensor(in[0]);
  hia_dims from = hiaR_tensor_dims(v), to = hiaR_operand_dims(o, in, 1);
  if (hiaR_dims_equal(&from, &to)) {
    hiaR_result_keep(env, o, in, 0, r);
    return HIA_OK;
  }
  uint32_t missing = from.rank - to.rank;
  for (uint32_t i = 0; i < to.rank; i++)
    if (to.dims[i] != 1 && to.dims[i] != from.dims[missing + i])
      return does_not_fit(why, &from, 0, missing + i, &to, 1, i);
  if (!hiaR_result_new(env, hiaR_tensor_dtype(v), &to, r)) return HIA_MEMORY;
  group groups[HIA_MAX_RANK];
  uint32_t n = group_axes(&from, &to, groups);
  if (n == 0 || (n == 1 && !groups[0].is_summed)) {
    hia_work work = hiaR_work(env);
    return hiaR_work_copy(&work, r->data, v->data, hiaR_tensor_bytes(v)) ? HIA_OK : HIA_CANCELLED;
  }
  return sum_groups(env, v, groups, n, r->data);
}
HIA_DEFINE_OPERATION(FIT, fit)

/* ---- parts along an axis ---- */

static hia_status cut(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  uint32_t axis = (uint32_t)o->imm;
  int64_t from = hiaR_to_i64(in[1]), to = hiaR_to_i64(in[2]);
  hia_dims shape = hiaR_tensor_dims(x);
  if (from < 0 || from > to || to > shape.dims[axis]) {
    why->range = (hia_range){from, to, shape.dims[axis]};
    why->is_slice = true;
    why->of = hiaR_range_of(x);
    return HIA_RANGE;
  }
  if (to - from == shape.dims[axis]) {
    hiaR_result_keep(env, o, in, 0, r);
    return HIA_OK;
  }
  uint64_t before = 1, behind = hiaR_dtype_size(hiaR_tensor_dtype(x));
  uint64_t size = (uint64_t)shape.dims[axis], part = (uint64_t)(to - from);
  for (uint32_t i = 0; i < shape.rank; i++)
    if (i != axis) *(i < axis ? &before : &behind) *= (uint64_t)shape.dims[i];
  shape.dims[axis] = to - from;
  if (!hiaR_result_new(env, hiaR_tensor_dtype(x), &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  if (part * behind == 0) return HIA_OK; /* other axes may be long */
  for (uint64_t a = 0; a < before; a++) {
    const char *at = x->data + (a * size + (uint64_t)from) * behind;
    bool goes_on = hiaR_work_on(&work, 10) &&
                   hiaR_work_copy(&work, r->data + a * part * behind, at, part * behind);
    if (!goes_on) return HIA_CANCELLED;
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(CUT, cut)
