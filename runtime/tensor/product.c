/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Products: what matrices are multiplied, by the kernels of kernel/product.h, which says what the
 * product of two matrices is. */
#include "runtime/kernel/blas.h"
#include "runtime/tensor/operands.h"
#include "runtime/tensor/packed.h"

/* ---- one product of matrices ---- */

static bool go_on(void *work, uint64_t ns) { return hiaR_work_on(work, ns); }

/* Memory of the run, aligned for kernels; size 0: none. */
typedef struct room {
  void *block, *at;
  size_t size;
} room;

static bool take_room(const hia_env *env, size_t size, room *r) {
  enum { ALIGN = 64 };
  *r = (room){0};
  if (!size) return true;
  if (size > PTRDIFF_MAX / 2) return false;
  r->size = size + ALIGN;
  r->block = hiaR_heap_alloc(env->local, r->size);
  if (!r->block) return false;
  r->at = (char *)r->block + (-(uintptr_t)r->block & (ALIGN - 1));
  return true;
}

static void give_room(const hia_env *env, const room *r) {
  if (r->block) hiaR_heap_release(env->local, r->block, r->size);
}

/* B packed for this product alone: if there is no memory it is not. False: the run must end. */
static bool pack(const hia_env *env, hia_product *p, room *r, hia_work *work) {
  size_t size = hiaR_packed_size(p->dtype, p->k, p->n);
  if (size == SIZE_MAX || !take_room(env, size, r)) return true;
  size_t parts = hiaR_pack_parts(p->dtype, p->k, p->n);
  for (size_t i = 0; i < parts; i++) {
    if (!hiaR_work_on(work, HIA_WORK / 2)) return false;
    hiaR_pack_part(p->dtype, p->k, p->n, p->b, r->at, i);
  }
  p->packed = r->at;
  return true;
}

/* ---- products that several workers compute ---- */

typedef struct divided {
  const hia_product *p;
  const hia_product_plan *plan;
  bool is_fast;
} divided;

static hia_status compute_part(hia_local_heap *local, void *arg, uint32_t i) {
  const divided *d = arg;
  const hia_env env = {.local = local};
  hia_work work = hiaR_work(&env);
  room scratch;
  if (!take_room(&env, d->plan->scratch, &scratch)) return HIA_MEMORY;
  bool goes_on = true;
  for (size_t slab = 0; goes_on && slab < d->plan->slabs; slab++) {
    if (d->is_fast)
      hiaR_blas_slab(d->p, d->plan, i, slab);
    else
      hiaR_product_slab(d->p, d->plan, i, slab, scratch.at);
    goes_on = hiaR_work_on(&work, HIA_WORK);
  }
  give_room(&env, &scratch);
  return goes_on ? HIA_OK : HIA_CANCELLED;
}

static bool is_worth_a_crew(const hia_env *env, const hia_product *p) {
  return env->crew && (double)p->m * (double)p->n * (double)p->k >= (double)env->crew->least;
}

static hia_status compute_with_crew(const hia_env *env, const hia_product *p,
                                    const hia_product_plan *plan, bool is_fast) {
  divided d = {p, plan, is_fast};
  return env->crew->compute(env->crew, (uint32_t)plan->parts, compute_part, &d);
}

/* True if each worker of the crew surely has the memory for its slabs. */
static bool have_room(const hia_env *env, const hia_product_plan *plan) {
  return !plan->scratch || hiaR_heap_left(env->local->heap) / 2 / plan->scratch >= env->crew->n;
}

/* All parts, by this worker. */
static hia_status multiply_alone(const hia_product *p, const hia_product_plan *plan, void *scratch,
                                 hia_work *work) {
  size_t slabs = plan->parts * plan->slabs;
  uint64_t each = 20 + (slabs > 1 ? HIA_WORK : (uint64_t)p->m * p->n * p->k / 16);
  for (size_t i = 0; i < plan->parts; i++)
    for (size_t slab = 0; slab < plan->slabs; slab++) {
      if (!hiaR_work_on(work, each)) return HIA_CANCELLED;
      hiaR_product_slab(p, plan, i, slab, scratch);
    }
  return HIA_OK;
}

/* A product of one row reads B as it lies. */
static hia_status multiply_rows(const hia_product *p, hia_work *work) {
  ptrdiff_t element = (ptrdiff_t)hiaR_dtype_size(p->dtype);
  hia_product row = *p;
  hia_product_plan plan;
  row.m = 1;
  hia_status status = HIA_OK;
  for (size_t i = 0; i < p->m && !status; i++) {
    row.a.data = (const char *)p->a.data + (ptrdiff_t)i * p->a.row * element;
    row.c = (char *)p->c + (ptrdiff_t)i * p->c_row * element;
    hiaR_product_plan(&row, &plan);
    status = multiply_alone(&row, &plan, NULL, work);
  }
  return status;
}

static hia_status multiply(const hia_env *env, hia_product *p, hia_work *work) {
  room packed = {0}, scratch = {0};
  bool goes_on = p->packed || !hiaR_product_packs(p) || pack(env, p, &packed, work);
  hia_product_plan plan;
  hiaR_product_plan(p, &plan);
  hia_status status = goes_on ? HIA_OK : HIA_CANCELLED;
  bool has_crew = goes_on && is_worth_a_crew(env, p) && have_room(env, &plan);
  if (has_crew) hiaR_product_divide(p, &plan, env->crew->n);
  if (has_crew && plan.parts > 1) {
    status = compute_with_crew(env, p, &plan, false);
  } else if (goes_on) {
    bool has_room = take_room(env, plan.scratch, &scratch);
    while (!has_room && hiaR_product_shrink(p, &plan))
      has_room = take_room(env, plan.scratch, &scratch);
    status = has_room ? multiply_alone(p, &plan, scratch.at, work) : multiply_rows(p, work);
  }
  give_room(env, &scratch);
  give_room(env, &packed);
  return status;
}

/* True if OpenBLAS computes the product. What decides is the option of the run, and the sizes: not
 * whether B is packed, which depends on what has run before, nor who computes it. */
static bool is_fast(const hia_env *env, const hia_product *p) {
  return env->local->heap->fast_products && hiaR_blas_takes(p);
}

static hia_status multiply_fast(const hia_env *env, const hia_product *p, hia_work *work) {
  hia_product_plan plan;
  hiaR_blas_plan(p, &plan);
  if (plan.parts > 1 && is_worth_a_crew(env, p)) return compute_with_crew(env, p, &plan, true);
  for (size_t i = 0; i < plan.parts; i++)
    for (size_t slab = 0; slab < plan.slabs; slab++) {
      if (!hiaR_work_on(work, HIA_WORK)) return HIA_CANCELLED;
      hiaR_blas_slab(p, &plan, i, slab);
    }
  return HIA_OK;
}

hia_status hiaR_work_multiply(const hia_env *env, hia_product *p, hia_work *work) {
  return is_fast(env, p) ? multiply_fast(env, p, work) : multiply(env, p, work);
}

/* ---- the matrices of two tensors ---- */

/* The number of the matrix of an operand that belongs to matrix `i` of the result, of which the
 * leading axes are `lead`. */
static uint64_t find_matrix(const hia_dims *x, const hia_dims *lead, uint64_t i) {
  uint64_t number = 0, stride = 1;
  uint32_t n = x->rank > 2 ? x->rank - 2 : 0;
  for (uint32_t k = 1; k <= n; k++) {
    uint64_t dim = (uint64_t)lead->dims[lead->rank - k], own_dim = (uint64_t)x->dims[n - k];
    if (own_dim > 1) number += i % dim * stride;
    stride *= own_dim;
    i /= dim;
  }
  return number;
}

/* x[..., n, l] @ y[l]: the rows of all matrices of x, times y. The packed form of a param is that
 * of its transpose, so y is then the left operand: the same products are added in the same order.
 */
static hia_status times_vector(const hia_env *env, hia_tensor *x, const hia_tensor *y,
                               uint64_t rows, uint64_t l, hia_result *r, hia_work *work) {
  hia_product p = {.dtype = hiaR_tensor_dtype(x), .k = l, .c = r->data};
  p.packed = hiaR_tensor_packed(x, x->data, HIA_PACK_LEFT, go_on, work);
  if (p.packed) {
    p.m = 1, p.n = rows;
    p.a = (hia_matrix){y->data, (ptrdiff_t)l, 1};
    p.c_row = (ptrdiff_t)rows;
  } else {
    p.m = rows, p.n = 1;
    p.a = (hia_matrix){x->data, (ptrdiff_t)l, 1};
    p.b = (hia_matrix){y->data, 1, 1};
    p.c_row = 1;
  }
  return multiply(env, &p, work);
}

/* Matrices times a vector that fits: small ones are common, so no shape is copied. */
static hia_status usual(const hia_env *env, hia_tensor *x, const hia_tensor *y, hia_result *r) {
  hia_dims shape;
  uint64_t rows = 1;
  shape.rank = hiaR_tensor_rank(x) - 1;
  for (uint32_t i = 0; i < shape.rank; i++) {
    shape.dims[i] = x->dims[i];
    rows *= (uint64_t)x->dims[i];
  }
  if (!hiaR_result_new(env, hiaR_tensor_dtype(x), &shape, r)) return HIA_MEMORY;
  if (rows == 0) return HIA_OK;
  hia_work work = hiaR_work(env);
  return times_vector(env, x, y, rows, (uint64_t)y->dims[0], r, &work);
}

static hia_status product(HIA_COMPUTE) {
  hia_tensor *x = hiaR_tensor(in[0]), *y = hiaR_tensor(in[1]);
  uint32_t rank = hiaR_tensor_rank(x);
  if (rank > 1 && hiaR_tensor_rank(y) == 1 && x->dims[rank - 1] == y->dims[0])
    return usual(env, x, y, r);
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
  if (count * n * m == 0) return HIA_OK;
  if (of_y.rank <= 2) n *= count, count = 1; /* one matrix for all rows */
  for (uint64_t i = 0; i < count; i++) {
    const char *a = x->data + find_matrix(&of_x, &lead, i) * n * l * size;
    const char *b = y->data + find_matrix(&of_y, &lead, i) * l * m * size;
    hia_product p = {.dtype = dtype,
                     .m = n,
                     .n = m,
                     .k = l,
                     .a = {a, (ptrdiff_t)l, 1},
                     .b = {b, (ptrdiff_t)m, 1},
                     .c = r->data + i * n * m * size,
                     .c_row = (ptrdiff_t)m};
    bool is_left = is_fast(env, &p);
    if (has_columns && !is_left) p.packed = hiaR_tensor_packed(y, b, HIA_PACK_RIGHT, go_on, &work);
    status = work.is_over ? HIA_CANCELLED
             : is_left    ? multiply_fast(env, &p, &work)
                          : multiply(env, &p, &work);
    if (status) return status;
  }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(PRODUCT, product)

/* The product of matrices, of which operand `transposed` is transposed. If that is the right one,
 * and a param of rank 2, its packed form is that of HIA_PACK_LEFT. */
static hia_status product_transposed(const hia_env *env, const hia_operation *o, const hia_word *in,
                                     hia_result *r, hia_misfortune *why, uint32_t transposed) {
  hia_tensor *x = hiaR_tensor(in[0]), *y = hiaR_tensor(in[1]);
  hia_dims given[2] = {hiaR_tensor_dims(x), hiaR_tensor_dims(y)}, turned[2] = {given[0], given[1]},
           shape;
  hia_dims *t = &turned[transposed];
  hia_dtype dtype = (hia_dtype)o->dtype;
  t->dims[t->rank - 2] = given[transposed].dims[t->rank - 1];
  t->dims[t->rank - 1] = given[transposed].dims[t->rank - 2];
  hia_status status =
      hiaR_fit_status(hiaR_shape_product(&turned[0], &turned[1], &shape, &why->misfit));
  if (status) return status;
  if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
  uint64_t n = (uint64_t)turned[0].dims[turned[0].rank - 2],
           l = (uint64_t)turned[0].dims[turned[0].rank - 1];
  uint64_t m = (uint64_t)turned[1].dims[turned[1].rank - 1];
  hia_dims lead = shape;
  lead.rank -= 2;
  uint64_t count = 1, size = hiaR_dtype_size(dtype);
  for (uint32_t i = 0; i < lead.rank; i++) count *= (uint64_t)lead.dims[i];
  hia_work work = hiaR_work(env);
  if (count * n * m == 0) return HIA_OK;
  if (transposed && turned[1].rank == 2) n *= count, count = 1; /* one matrix for all rows */
  ptrdiff_t rows = (ptrdiff_t)n, columns = (ptrdiff_t)m, depth = (ptrdiff_t)l;
  for (uint64_t i = 0; i < count; i++) {
    const char *a = x->data + find_matrix(&turned[0], &lead, i) * n * l * size;
    const char *b = y->data + find_matrix(&turned[1], &lead, i) * l * m * size;
    hia_product p = {.dtype = dtype,
                     .m = n,
                     .n = m,
                     .k = l,
                     .a = {a, transposed ? depth : 1, transposed ? 1 : rows},
                     .b = {b, transposed ? 1 : columns, transposed ? depth : 1},
                     .c = r->data + i * n * m * size,
                     .c_row = columns};
    bool may_be_packed = (!transposed || given[1].rank == 2) && !is_fast(env, &p);
    if (may_be_packed)
      p.packed =
          hiaR_tensor_packed(y, b, transposed ? HIA_PACK_LEFT : HIA_PACK_RIGHT, go_on, &work);
    status = work.is_over ? HIA_CANCELLED : hiaR_work_multiply(env, &p, &work);
    if (status) return status;
  }
  return HIA_OK;
}

static hia_status product_at(HIA_COMPUTE) { return product_transposed(env, o, in, r, why, 0); }
HIA_DEFINE_OPERATION(PRODUCT_AT, product_at)

static hia_status product_bt(HIA_COMPUTE) { return product_transposed(env, o, in, r, why, 1); }
HIA_DEFINE_OPERATION(PRODUCT_BT, product_bt)

#define OUTER(T, type)                                                                             \
  static void outer_##T(const void *x, const void *ys, void *zs, uint64_t i, uint64_t j,           \
                        uint64_t end) {                                                            \
    const type a = *(const type *)x, *y = ys;                                                      \
    type *z = (type *)zs + i;                                                                      \
    for (; j < end; j++) z[j] = a * y[j];                                                          \
  }
OUTER(i32, uint32_t)
OUTER(i64, uint64_t)
OUTER(f32, float)
OUTER(f64, double)

static hia_status outer(HIA_COMPUTE) {
  static void (*const rows[HIA_N_DTYPES])(const void *, const void *, void *, uint64_t, uint64_t,
                                          uint64_t) = {
      [HIA_I32] = outer_i32, [HIA_I64] = outer_i64, [HIA_F32] = outer_f32, [HIA_F64] = outer_f64};
  const hia_tensor *x = hiaR_tensor(in[0]), *y = hiaR_tensor(in[1]);
  hia_dims of_x = hiaR_tensor_dims(x), of_y = hiaR_tensor_dims(y), shape;
  hia_status status = hiaR_fit_status(hiaR_shape_outer(&of_x, &of_y, &shape, &why->misfit));
  if (status) return status;
  if (!hiaR_result_new(env, (hia_dtype)o->dtype, &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint64_t n = (uint64_t)of_x.dims[0], m = (uint64_t)of_y.dims[0];
  uint32_t size = hiaR_dtype_size((hia_dtype)o->dtype);
  for (uint64_t i = 0; m && i < n; i++)
    for (uint64_t j = 0, end; j < m; j = end) {
      end = hiaR_piece_end(j, m);
      if (!hiaR_work_on(&work, 5 + end - j)) return HIA_CANCELLED;
      rows[o->dtype](x->data + i * size, y->data, r->data, i * m, j, end);
    }
  return HIA_OK;
}
HIA_DEFINE_OPERATION(OUTER, outer)
