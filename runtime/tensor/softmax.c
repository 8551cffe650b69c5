/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* softmax and its logarithm, row by row. All subtract the largest element first, so exp does not
 * overflow. */
#include "runtime/tensor/sum.h"

/* A row of n > 0 elements. */
typedef struct row {
  const void *x;
  void *exps; /* of softmax: where the exponentials go; else NULL */
  hia_word max;
  hia_work *work;
} row;

/* For each dtype: the sum of the exponentials, which go to row.exps; softmax of a row; its
 * logarithm; and minus that at one element. The result may lie where x lies. */
#define SOFTMAX(T, type)                                                                           \
  HIA_DEFINE_BLOCK_SUM(block_sum_##T, type, +, 0)                                                  \
  static void exp_block_##T(row *s, uint64_t first, uint64_t n, uint32_t cols, type *sums) {       \
    (void)cols;                                                                                    \
    if (!hiaR_work_on(s->work, n * 10)) return;                                                    \
    type block[HIA_SUM_BLOCK], *exps = s->exps ? (type *)s->exps + first : block;                  \
    const type *x = (const type *)s->x + first;                                                    \
    type max = hiaR_to_##T(s->max);                                                                \
    for (uint64_t i = 0; i < n; i++) exps[i] = hiaR_exp_##T(x[i] - max);                           \
    sums[0] = block_sum_##T(exps, n);                                                              \
  }                                                                                                \
  HIA_DEFINE_SUM(exp_all_##T, row, type, +, 0, exp_block_##T)                                      \
  static type max_##T(row *s, uint64_t n) {                                                        \
    const type *x = s->x;                                                                          \
    type max = x[0];                                                                               \
    for (uint64_t i = 0, end; i < n; i = end) {                                                    \
      end = hiaR_piece_end(i, n);                                                                  \
      if (!hiaR_work_on(s->work, end - i)) break;                                                  \
      for (uint64_t k = i; k < end; k++)                                                           \
        if (x[k] > max || x[k] != x[k]) max = x[k];                                                \
    }                                                                                              \
    return max;                                                                                    \
  }                                                                                                \
  static type exp_sum_##T(row *s, uint64_t n) {                                                    \
    type sum[1] = {0};                                                                             \
    s->max = hiaR_from_##T(max_##T(s, n));                                                         \
    exp_all_##T(s, 0, n, hiaR_sum_span(n), 1, sum);                                                \
    return sum[0];                                                                                 \
  }                                                                                                \
  static void softmax_##T(row *s, void *out, uint64_t n) {                                         \
    type *z = out;                                                                                 \
    s->exps = out;                                                                                 \
    type sum = exp_sum_##T(s, n);                                                                  \
    for (uint64_t i = 0, end; i < n; i = end) {                                                    \
      end = hiaR_piece_end(i, n);                                                                  \
      if (!hiaR_work_on(s->work, end - i)) return;                                                 \
      for (uint64_t k = i; k < end; k++) z[k] /= sum;                                              \
    }                                                                                              \
  }                                                                                                \
  static void log_softmax_##T(row *s, void *out, uint64_t n) {                                     \
    type log_sum = hiaR_log_##T(exp_sum_##T(s, n)), max = hiaR_to_##T(s->max);                     \
    const type *x = s->x;                                                                          \
    type *z = out;                                                                                 \
    for (uint64_t i = 0, end; i < n; i = end) {                                                    \
      end = hiaR_piece_end(i, n);                                                                  \
      if (!hiaR_work_on(s->work, end - i)) return;                                                 \
      for (uint64_t k = i; k < end; k++) z[k] = (x[k] - max) - log_sum;                            \
    }                                                                                              \
  }                                                                                                \
  static void cross_entropy_##T(row *s, void *out, uint64_t n, uint64_t label) {                   \
    type log_sum = hiaR_log_##T(exp_sum_##T(s, n)), max = hiaR_to_##T(s->max);                     \
    *(type *)out = log_sum - (((const type *)s->x)[label] - max);                                  \
  }
SOFTMAX(f32, float)
SOFTMAX(f64, double)

/* What flows back to a row of logits, of which `out` has softmax: that, times what flows to its
 * cross entropy, less that at the label. Each element is rounded as often as these operations
 * would, one after the other. */
#define LABEL_GRADIENT(T, type)                                                                    \
  static void label_gradient_##T(row *s, void *out, uint64_t n, uint64_t label, hia_word dy) {     \
    type *z = out, v = hiaR_to_##T(dy);                                                            \
    for (uint64_t i = 0, end; i < n; i = end) {                                                    \
      end = hiaR_piece_end(i, n);                                                                  \
      if (!hiaR_work_on(s->work, end - i)) return;                                                 \
      for (uint64_t k = i; k < end; k++) z[k] *= v;                                                \
    }                                                                                              \
    z[label] -= v;                                                                                 \
  }
LABEL_GRADIENT(f32, float)
LABEL_GRADIENT(f64, double)

static uint64_t count_rows(const hia_dims *shape) {
  uint64_t n = 1;
  for (uint32_t i = 0; i + 1 < shape->rank; i++) n *= (uint64_t)shape->dims[i];
  return n;
}

typedef void (*of_row)(row *s, void *out, uint64_t n);

/* The memory of operand 0, if it is taken and nothing else refers to it, or a new tensor of its
 * shape. False: no memory. */
static bool make_result(const hia_env *env, const hia_operation *o, const hia_word *in,
                        hia_result *r) {
  hia_dims shape = hiaR_tensor_dims(hiaR_tensor(in[0]));
  if (!hiaR_operand_is_taken(o, 0) || !hiaR_tensor_is_last(in[0]))
    return hiaR_result_new(env, hiaR_tensor_dtype(hiaR_tensor(in[0])), &shape, r);
  hiaR_result_keep(env, o, in, 0, r);
  return true;
}

static hia_status each_row(const hia_env *env, const hia_operation *o, const hia_word *in,
                           hia_result *r, of_row f32, of_row f64) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  hia_dims shape = hiaR_tensor_dims(x);
  hia_dtype dtype = hiaR_tensor_dtype(x);
  uint64_t n_rows = count_rows(&shape), n = (uint64_t)shape.dims[shape.rank - 1];
  if (!make_result(env, o, in, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint64_t bytes = n * hiaR_dtype_size(dtype);
  for (uint64_t i = 0; n && i < n_rows; i++) { /* rows without elements have no largest one */
    row s = {.x = x->data + i * bytes, .work = &work};
    if (!hiaR_work_on(&work, 20)) return HIA_CANCELLED;
    (dtype == HIA_F32 ? f32 : f64)(&s, r->data + i * bytes, n);
    if (work.is_over) return HIA_CANCELLED;
  }
  return HIA_OK;
}

static hia_status softmax(HIA_COMPUTE) {
  (void)why;
  return each_row(env, o, in, r, softmax_f32, softmax_f64);
}
HIA_DEFINE_OPERATION(SOFTMAX, softmax)

static hia_status log_softmax(HIA_COMPUTE) {
  (void)why;
  return each_row(env, o, in, r, log_softmax_f32, log_softmax_f64);
}
HIA_DEFINE_OPERATION(LOG_SOFTMAX, log_softmax)

/* Element i of an operand that has a scalar for each row, or is one. */
static hia_word of_row_at(const hia_operation *o, const hia_word *in, uint32_t k, uint64_t i) {
  return hiaR_operand_is_tensor(o, k) ? hiaR_tensor_get(hiaR_tensor(in[k]), i) : in[k];
}

/* The label of row i, if it is an index of n elements. */
static hia_status find_label(const hia_operation *o, const hia_word *in, uint64_t i, uint64_t n,
                             uint64_t *found, hia_misfortune *why) {
  int64_t label = hiaR_to_i64(of_row_at(o, in, 1, i));
  if (label < 0 || (uint64_t)label >= n)
    return hiaR_out_of_range(why, HIA_RANGE_OF_LABELS, label, (int64_t)n);
  *found = (uint64_t)label;
  return HIA_OK;
}

static hia_status cross_entropy(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  hia_dims shape = hiaR_tensor_dims(x), of_labels = hiaR_operand_dims(o, in, 1), result;
  hia_dtype dtype = hiaR_tensor_dtype(x);
  hia_status status = hiaR_fit_status(hiaR_shape_labels(&shape, &of_labels, &result, &why->misfit));
  if (status) return status;
  uint64_t n_rows = count_rows(&shape), n = (uint64_t)shape.dims[shape.rank - 1];
  if (n == 0 && n_rows) return HIA_EMPTY;
  if (!hiaR_result_new(env, dtype, &result, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint64_t size = hiaR_dtype_size(dtype);
  for (uint64_t i = 0; i < n_rows; i++) {
    uint64_t label;
    if ((status = find_label(o, in, i, n, &label, why))) return status;
    row s = {.x = x->data + i * n * size, .work = &work};
    if (!hiaR_work_on(&work, 20)) return HIA_CANCELLED;
    (dtype == HIA_F32 ? cross_entropy_f32 : cross_entropy_f64)(&s, r->data + i * size, n, label);
    if (work.is_over) return HIA_CANCELLED;
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(CROSS_ENTROPY, cross_entropy)

static hia_status label_gradient(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  hia_dims shape = hiaR_tensor_dims(x), result;
  hia_dtype dtype = hiaR_tensor_dtype(x);
  hia_status status = HIA_OK;
  for (uint32_t k = 1; k < 3 && !status; k++) {
    hia_dims of_rows = hiaR_operand_dims(o, in, k);
    status = hiaR_fit_status(hiaR_shape_labels(&shape, &of_rows, &result, &why->misfit));
  }
  if (status) return status;
  uint64_t n_rows = count_rows(&shape), n = (uint64_t)shape.dims[shape.rank - 1];
  if (n == 0 && n_rows) return HIA_EMPTY;
  if (!make_result(env, o, in, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint64_t bytes = n * hiaR_dtype_size(dtype);
  for (uint64_t i = 0; i < n_rows; i++) {
    uint64_t label;
    if ((status = find_label(o, in, i, n, &label, why))) return status;
    row s = {.x = x->data + i * bytes, .work = &work};
    char *out = r->data + i * bytes;
    if (!hiaR_work_on(&work, 20)) return HIA_CANCELLED;
    if (!o->imm)
      (dtype == HIA_F32 ? softmax_f32 : softmax_f64)(&s, out, n);
    else if (out != s.x)
      memcpy(out, s.x, bytes);
    (dtype == HIA_F32 ? label_gradient_f32 : label_gradient_f64)(&s, out, n, label,
                                                                 of_row_at(o, in, 2, i));
    if (work.is_over) return HIA_CANCELLED;
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(LABEL_GRADIENT, label_gradient)
