/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Parts of tensors, and tensors with the same elements in another shape. */
#include "runtime/tensor/operands.h"

static hia_status dim(HIA_COMPUTE) {
  (void)env, (void)why;
  r->word = hiaR_from_i64(hiaR_tensor(in[0])->dims[o->imm]);
  return HIA_OK;
}
HIA_DEFINE_OPERATION(DIM, dim)

static hia_status view(const hia_env *env, hia_word x, uint64_t first, const hia_dims *shape,
                       hia_result *r) {
  r->is_tensor = true;
  return hiaR_tensor_view(env->local, x, first, shape, env->is_shared, &r->word) ? HIA_OK
                                                                                 : HIA_MEMORY;
}

/* Elements of a row: x[i]. */
static uint64_t row_len(const hia_tensor *x) {
  uint64_t n = 1;
  for (uint32_t i = 1; i < hiaR_tensor_rank(x); i++) n *= (uint64_t)x->dims[i];
  return n;
}

static hia_status row(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  int64_t i = hiaR_to_i64(in[1]);
  (void)o;
  if (i < 0 || i >= x->dims[0]) return hiaR_out_of_range(why, hiaR_range_of(x), i, x->dims[0]);
  if (hiaR_tensor_rank(x) == 1) {
    r->word = hiaR_tensor_get(x, (uint64_t)i);
    return HIA_OK;
  }
  hia_dims shape = hiaR_tensor_dims(x), index = {0};
  hiaR_shape_index(&shape, &index, &shape, NULL);
  return view(env, in[0], (uint64_t)i * row_len(x), &shape, r);
}
HIA_DEFINE_OPERATION(ROW, row)

/* (Only a graph that was read asks for an element that x[i] does not have.) */
static hia_status item(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  int64_t i = hiaR_to_i64(in[1]);
  uint64_t row = row_len(x);
  (void)env;
  if (i < 0 || i >= x->dims[0]) return hiaR_out_of_range(why, hiaR_range_of(x), i, x->dims[0]);
  if (o->imm >= row) return HIA_INTERNAL;
  r->word = hiaR_tensor_get(x, (uint64_t)i * row + o->imm);
  return HIA_OK;
}
HIA_DEFINE_OPERATION(ITEM, item)

/* Rows of some bytes are taken in pieces, between which the run may end: a row takes less time than
 * a call. Returns how many were taken before an index that is out of range; or n. */
typedef uint64_t taker(char *to, const char *x, const void *index, uint64_t n, uint64_t n_rows);

#define TAKE(type, bytes)                                                                          \
  static uint64_t take_##type##_##bytes(char *to, const char *x, const void *index, uint64_t n,    \
                                        uint64_t n_rows) {                                         \
    for (uint64_t k = 0; k < n; k++) {                                                             \
      uint64_t i = (uint64_t)(int64_t)((const type *)index)[k];                                    \
      if (i >= n_rows) return k;                                                                   \
      memcpy(to + k * (bytes), x + i * (bytes), (bytes));                                          \
    }                                                                                              \
    return n;                                                                                      \
  }
#define TAKERS(type)                                                                               \
  TAKE(type, 4)                                                                                    \
  TAKE(type, 8)                                                                                    \
  TAKE(type, 16)                                                                                   \
  TAKE(type, 32)                                                                                   \
  TAKE(type, 64)                                                                                   \
  static taker *const takers_##type[] = {take_##type##_4, take_##type##_8, take_##type##_16,       \
                                         take_##type##_32, take_##type##_64};
TAKERS(int32_t)
TAKERS(int64_t)

/* NULL: rows of so many bytes are not taken that way. */
static taker *taker_of(hia_dtype index, uint64_t bytes) {
  if (bytes < 4 || bytes > 64 || (bytes & (bytes - 1)) != 0) return NULL;
  return (index == HIA_I32 ? takers_int32_t : takers_int64_t)[__builtin_ctzll(bytes) - 2];
}

/* Copies the rows of the result. Returns how many were copied before an index that is out of
 * range; or UINT64_MAX: the run must end. */
static uint64_t copy_rows(hia_work *work, char *to, const hia_tensor *x, const hia_tensor *index,
                          uint64_t bytes) {
  uint64_t n = hiaR_tensor_len(index), n_rows = (uint64_t)x->dims[0];
  taker *take = taker_of(hiaR_tensor_dtype(index), bytes);
  uint32_t size = hiaR_dtype_size(hiaR_tensor_dtype(index));
  for (uint64_t k = 0, end; k < n; k = end) {
    end = take ? hiaR_piece_end(k, n) : k + 1;
    if (!hiaR_work_on(work, take ? 2 * (end - k) : 5)) return UINT64_MAX;
    if (take) {
      uint64_t taken = take(to + k * bytes, x->data, index->data + k * size, end - k, n_rows);
      if (taken < end - k) return k + taken;
      continue;
    }
    uint64_t i = (uint64_t)hiaR_to_i64(hiaR_tensor_get(index, k));
    if (i >= n_rows) return k;
    if (!hiaR_work_copy(work, to + k * bytes, x->data + i * bytes, bytes)) return UINT64_MAX;
  }
  return n;
}

static hia_status rows(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]), *index = hiaR_tensor(in[1]);
  hia_dims shape = hiaR_tensor_dims(x), of_index = hiaR_tensor_dims(index);
  hia_status status = hiaR_fit_status(hiaR_shape_index(&shape, &of_index, &shape, &why->misfit));
  (void)o;
  if (status) return status;
  if (!hiaR_result_new(env, hiaR_tensor_dtype(x), &shape, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  uint64_t bytes = row_len(x) * hiaR_dtype_size(hiaR_tensor_dtype(x));
  uint64_t n = copy_rows(&work, r->data, x, index, bytes);
  if (n == UINT64_MAX) return HIA_CANCELLED;
  if (n == hiaR_tensor_len(index)) return HIA_OK;
  return hiaR_out_of_range(why, hiaR_range_of(x), hiaR_to_i64(hiaR_tensor_get(index, n)),
                           x->dims[0]);
}
HIA_DEFINE_OPERATION(ROWS, rows)

static hia_status part(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  int64_t from = hiaR_to_i64(in[1]), to = hiaR_to_i64(in[2]);
  if (from < 0 || from > to || to > x->dims[0]) {
    why->range = (hia_range){from, to, x->dims[0]};
    why->is_slice = true;
    why->of = hiaR_range_of(x);
    return HIA_RANGE;
  }
  if (to - from == x->dims[0]) {
    hiaR_result_keep(env, o, in, 0, r);
    return HIA_OK;
  }
  hia_dims shape = hiaR_tensor_dims(x);
  hiaR_shape_slice(&shape, from, to, &shape, NULL);
  return view(env, in[0], (uint64_t)from * row_len(x), &shape, r);
}
HIA_DEFINE_OPERATION(PART, part)

static hia_status with(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  int64_t i = hiaR_to_i64(in[1]);
  if (i < 0 || i >= x->dims[0]) return hiaR_out_of_range(why, hiaR_range_of(x), i, x->dims[0]);
  hia_dims shape = hiaR_tensor_dims(x), of_v = hiaR_operand_dims(o, in, 2);
  hia_status status = hiaR_fit_status(hiaR_shape_set(&shape, &of_v, &shape, &why->misfit));
  if (status) return status;
  hia_dtype dtype = hiaR_tensor_dtype(x);
  hia_work work = hiaR_work(env);
  if (hiaR_operand_is_taken(o, 0) && hiaR_tensor_is_last(in[0])) {
    hiaR_result_keep(env, o, in, 0, r);
  } else {
    if (!hiaR_result_new(env, dtype, &shape, r)) return HIA_MEMORY;
    if (!hiaR_work_copy(&work, r->data, x->data, hiaR_tensor_bytes(x))) return HIA_CANCELLED;
  }
  if (!hiaR_operand_is_tensor(o, 2)) {
    hiaR_tensor_put(hiaR_tensor(r->word), (uint64_t)i, in[2]);
    return HIA_OK;
  }
  uint64_t bytes = row_len(x) * hiaR_dtype_size(dtype);
  char *to = r->data + (uint64_t)i * bytes;
  return hiaR_work_copy(&work, to, hiaR_tensor(in[2])->data, bytes) ? HIA_OK : HIA_CANCELLED;
}
HIA_DEFINE_OPERATION(WITH, with)

/* True if the sizes are those of a shape, *to, of as many elements as there are: mostly they are.
 */
static bool are_as_many(const hia_operation *o, const hia_word *in, hia_dims *to) {
  uint64_t len = hiaR_tensor_len(hiaR_tensor(in[0])), left = len;
  to->rank = o->n_in - 1;
  for (uint32_t i = 0; i < to->rank; i++) {
    to->dims[i] = hiaR_to_i64(in[1 + i]);
    if (to->dims[i] <= 0 || left % (uint64_t)to->dims[i]) return false;
    left /= (uint64_t)to->dims[i];
  }
  return len && left == 1;
}

/* The reference to x becomes one to a tensor of the same elements. If only this operation refers to
 * x, and the rank is the same, it is x, with other dims: they have their room, and as many elements
 * are freed. It may be a view, whatever its owner. */
static hia_status reshape(HIA_COMPUTE) {
  hia_tensor *x = hiaR_tensor(in[0]);
  hia_dims to;
  uint32_t rank = o->n_in - 1;
  if (HIA_UNLIKELY(!are_as_many(o, in, &to))) {
    hia_dims shape = hiaR_tensor_dims(x);
    int64_t sizes[HIA_MAX_RANK] = {0};
    for (uint32_t i = 0; i < rank; i++) sizes[i] = hiaR_to_i64(in[1 + i]);
    hia_fit fit = hiaR_shape_of_sizes(sizes, rank, &to, &why->misfit);
    if (fit == HIA_FIT_ALWAYS) fit = hiaR_shape_reshape(&shape, &to, &to, &why->misfit);
    if (fit != HIA_FIT_ALWAYS) return HIA_SHAPE;
  }
  if (rank == 0) {
    r->word = hiaR_tensor_get(x, 0);
    return HIA_OK;
  }
  bool has_rank = hiaR_tensor_rank(x) == rank;
  if (!has_rank || memcmp(x->dims, to.dims, rank * sizeof *x->dims) != 0) {
    bool is_only = atomic_load_explicit(&x->counted.count, memory_order_acquire) == 1;
    if (!is_only || !hiaR_operand_is_taken(o, 0) || !has_rank) return view(env, in[0], 0, &to, r);
    memcpy(x->dims, to.dims, rank * sizeof *x->dims);
  }
  hiaR_result_keep(env, o, in, 0, r);
  return HIA_OK;
}
HIA_DEFINE_OPERATION(RESHAPE, reshape)

/* True if all sizes are there: mostly they are. */
static bool are_as_expected(const hia_operation *o, const hia_word *in) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  uint32_t n = 1;
  for (uint64_t axes = o->imm; axes; axes &= axes - 1)
    if (x->dims[__builtin_ctzll(axes)] != hiaR_to_i64(in[n++])) return false;
  return true;
}

static hia_status expect(HIA_COMPUTE) {
  if (HIA_LIKELY(are_as_expected(o, in))) {
    hiaR_result_keep(env, o, in, 0, r);
    return HIA_OK;
  }
  hia_dims shape = hiaR_tensor_dims(hiaR_tensor(in[0])), wanted = {.rank = shape.rank};
  uint32_t n = 1;
  for (uint32_t i = 0; i < wanted.rank; i++) {
    wanted.dims[i] = HIA_DIM_UNKNOWN;
    if (!(o->imm >> i & 1)) continue;
    wanted.dims[i] = hiaR_to_i64(in[n++]);
    if (wanted.dims[i] < 0) {
      why->misfit = (hia_misfit){
          .kind = HIA_MISFIT_NEGATIVE, .axis_a = i, .from = wanted.dims[i], .a = shape};
      return HIA_SHAPE;
    }
  }
  hia_status status = hiaR_fit_status(hiaR_shape_expect(&shape, &wanted, &shape, &why->misfit));
  if (!status) hiaR_result_keep(env, o, in, 0, r);
  return status;
}
HIA_DEFINE_OPERATION(EXPECT, expect)

/* ---- transpose ---- */

/* By squares, whose lines stay in the cache. False: the run must end. */
#define TRANSPOSE(type)                                                                            \
  static bool transpose_##type(const void *from, void *to, uint64_t n, uint64_t m,                 \
                               hia_work *work) {                                                   \
    enum { SIDE = 16 };                                                                            \
    const type *x = from;                                                                          \
    type *z = to;                                                                                  \
    for (uint64_t i = 0; i < n; i += SIDE)                                                         \
      for (uint64_t j = 0; j < m; j += SIDE) {                                                     \
        uint64_t i_end = n - i < SIDE ? n : i + SIDE, j_end = m - j < SIDE ? m : j + SIDE;         \
        if (!hiaR_work_on(work, 16 * (i_end - i) * (j_end - j))) return false;                     \
        for (uint64_t k = j; k < j_end; k++)                                                       \
          for (uint64_t l = i; l < i_end; l++) z[k * n + l] = x[l * m + k];                        \
      }                                                                                            \
    return true;                                                                                   \
  }
TRANSPOSE(uint8_t)
TRANSPOSE(uint32_t)
TRANSPOSE(uint64_t)

bool hiaR_work_transpose(hia_work *work, uint32_t size, const void *from, void *to, uint64_t n,
                         uint64_t m) {
  switch (size) {
  case 1: return transpose_uint8_t(from, to, n, m, work);
  case 4: return transpose_uint32_t(from, to, n, m, work);
  default: return transpose_uint64_t(from, to, n, m, work);
  }
}

static hia_status transpose(HIA_COMPUTE) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  hia_dims shape = hiaR_tensor_dims(x), result;
  hia_dtype dtype = hiaR_tensor_dtype(x);
  (void)o;
  hia_status status = hiaR_fit_status(hiaR_shape_transpose(&shape, &result, &why->misfit));
  if (status) return status;
  if (!hiaR_result_new(env, dtype, &result, r)) return HIA_MEMORY;
  uint32_t size = hiaR_dtype_size(dtype);
  hia_work work = hiaR_work(env);
  uint64_t n = (uint64_t)x->dims[0], m = (uint64_t)x->dims[1];
  /* n may be large if m is 0 */
  bool is_done = m == 0 || hiaR_work_transpose(&work, size, x->data, r->data, n, m);
  return is_done ? HIA_OK : HIA_CANCELLED;
}
HIA_DEFINE_OPERATION(TRANSPOSE, transpose)
