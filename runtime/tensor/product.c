/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products, as they are defined: one accumulator for each element of the result, which begins at +0
 * and takes a * b + acc, rounded once, for k in increasing order. Whatever is faster must give the
 * same bits. */
#include "runtime/tensor/operands.h"
#include <math.h>

/* z[n, m] = x[n, l] @ y[l, m]. The accumulators of a row of z lie in z. False: the run must end. */
#define PRODUCT(T, type, add_product)                                                              \
  static bool product_##T(const void *xs, const void *ys, void *zs, uint64_t n, uint64_t l,        \
                          uint64_t m, hia_work *work) {                                            \
    enum { PIECE = 1 << 12 };                                                                      \
    const type *x = xs, *y = ys;                                                                   \
    type *z = zs;                                                                                  \
    for (uint64_t i = 0; i < n; i++)                                                               \
      for (uint64_t j = 0; j < m; j += PIECE) {                                                    \
        uint64_t end = m - j < PIECE ? m : j + PIECE;                                              \
        for (uint64_t c = j; c < end; c++) z[i * m + c] = 0;                                       \
        for (uint64_t k = 0; k < l; k++) {                                                         \
          if (!hiaR_work_on(work, 1 + 2 * (end - j))) return false;                                \
          for (uint64_t c = j; c < end; c++) {                                                     \
            type a = x[i * l + k], b = y[k * m + c], acc = z[i * m + c];                           \
            z[i * m + c] = add_product;                                                            \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    return true;                                                                                   \
  }
PRODUCT(i32, uint32_t, a *b + acc)
PRODUCT(i64, uint64_t, a *b + acc)
PRODUCT(f32, float, fmaf(a, b, acc))
PRODUCT(f64, double, fma(a, b, acc))

typedef bool (*multiply)(const void *x, const void *y, void *z, uint64_t n, uint64_t l, uint64_t m,
                         hia_work *work);
static const multiply products[HIA_N_DTYPES] = {[HIA_I32] = product_i32,
                                                [HIA_I64] = product_i64,
                                                [HIA_F32] = product_f32,
                                                [HIA_F64] = product_f64};

/* The number of the matrix of an operand that belongs to matrix `i` of the result, of which the
 * leading axes are `lead`. */
static uint64_t find_matrix(const hia_dims *x, const hia_dims *lead, uint64_t i) {
  uint64_t number = 0, step = 1;
  uint32_t n = x->rank > 2 ? x->rank - 2 : 0;
  for (uint32_t k = 1; k <= n; k++) {
    uint64_t dim = (uint64_t)lead->dims[lead->rank - k], own = (uint64_t)x->dims[n - k];
    if (own > 1) number += i % dim * step;
    step *= own;
    i /= dim;
  }
  return number;
}

static hia_status product(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]), *y = hiaR_tensor(in[1]);
  hia_dims of_x = hiaR_tensor_dims(x), of_y = hiaR_tensor_dims(y), shape;
  hia_dtype dtype = (hia_dtype)o->dtype;
  hia_status status = hiaR_fit_status(hiaR_shape_product(&of_x, &of_y, &shape, &why->misfit));
  if (status) return status;
  if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
  bool has_rows = of_x.rank > 1, has_columns = of_y.rank > 1;
  uint64_t n = has_rows ? (uint64_t)of_x.dims[of_x.rank - 2] : 1;
  uint64_t l = (uint64_t)of_x.dims[of_x.rank - 1];
  uint64_t m = has_columns ? (uint64_t)of_y.dims[of_y.rank - 1] : 1;
  hia_dims lead = shape;
  lead.rank -= (uint32_t)has_rows + (uint32_t)has_columns;
  uint64_t count = 1, size = hiaR_dtype_size(dtype);
  for (uint32_t i = 0; i < lead.rank; i++) count *= (uint64_t)lead.dims[i];
  hia_work work = hiaR_work(env);
  for (uint64_t i = 0; i < count; i++) {
    const char *a = x->data + find_matrix(&of_x, &lead, i) * n * l * size;
    const char *b = y->data + find_matrix(&of_y, &lead, i) * l * m * size;
    if (!hiaR_work_on(&work, 10) ||
        !products[dtype](a, b, r->data + i * n * m * size, n, l, m, &work))
      return HIA_CANCELLED;
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(PRODUCT, product)

#define OUTER(T, type)                                                                             \
  static void outer_##T(const void *x, const void *ys, void *zs, uint64_t i, uint64_t m) {         \
    const type a = ((const type *)x)[i], *y = ys;                                                  \
    type *z = (type *)zs + i * m;                                                                  \
    for (uint64_t j = 0; j < m; j++) z[j] = a * y[j];                                              \
  }
OUTER(i32, uint32_t)
OUTER(i64, uint64_t)
OUTER(f32, float)
OUTER(f64, double)

static hia_status outer(HIA_COMPUTE) {
  static void (*const rows[HIA_N_DTYPES])(const void *, const void *, void *, uint64_t,
                                          uint64_t) = {
      [HIA_I32] = outer_i32, [HIA_I64] = outer_i64, [HIA_F32] = outer_f32, [HIA_F64] = outer_f64};
  const hia_tensor *x = hiaR_tensor(in[0]), *y = hiaR_tensor(in[1]);
  hia_dims of_x = hiaR_tensor_dims(x), of_y = hiaR_tensor_dims(y), shape;
  hia_status status = hiaR_fit_status(hiaR_shape_outer(&of_x, &of_y, &shape, &why->misfit));
  if (status) return status;
  if (!hiaR_result_new(env, (hia_dtype)o->dtype, &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint64_t n = (uint64_t)of_x.dims[0], m = (uint64_t)of_y.dims[0];
  for (uint64_t i = 0; i < n; i++) {
    if (!hiaR_work_on(&work, 5 + m)) return HIA_CANCELLED;
    rows[o->dtype](x->data, y->data, r->data, i, m);
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(OUTER, outer)
