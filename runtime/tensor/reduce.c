/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reductions. The axes before and behind the one that is reduced are taken together: x[a, i, c] is
 * reduced over i. Columns that lie side by side are reduced together. */
#include "runtime/tensor/sum.h"

/* Some columns of x. */
typedef struct columns {
  const void *x; /* element 0 of the first of them */
  uint64_t n;
  uint64_t stride; /* from element to element, in elements; 1 only if there is one column */
  hia_work *work;
} columns;

/* Elements that are so far from each other lie in pages of their own, of which the processor knows
 * the places of some hundreds only. */
enum { FAR = 256 };

enum { FEW = 1024 }; /* elements of a column before the first question, at most */

/* Reduces `cols` columns, at most HIA_SUM_COLUMNS, to out[0 .. cols). */
typedef void (*reducer)(columns *s, uint32_t cols, void *out);

/* Reduces `rows` rows of n elements each, at most HIA_LANES, one behind the other, to out[0 ..
 * rows). */
typedef void (*short_reducer)(const void *x, uint64_t rows, uint64_t n, void *out);

enum { SHORT = 1024 }; /* short rows before the next question */

/* How an operation reduces elements of a dtype. `rows` may be NULL. */
typedef struct way {
  reducer columns;
  short_reducer rows;
} way;

/* ---- sums and products ---- */

/* Integers are added as unsigned, which wrap. */
#define ADDING(NAME, T, type, op, zero)                                                            \
  HIA_DEFINE_BLOCK_SUM(NAME##_row_##T, type, op, zero)                                             \
  static void NAME##_block_##T(columns *s, uint64_t first, uint64_t n, uint32_t cols,              \
                               type *sums) {                                                       \
    const type *x = (const type *)s->x + first * s->stride;                                        \
    if (!hiaR_work_on(s->work, 10 + n * cols / 4 + (s->stride > FAR ? n * 16 : 0))) return;        \
    if (s->stride == 1) {                                                                          \
      sums[0] = NAME##_row_##T(x, n);                                                              \
      return;                                                                                      \
    }                                                                                              \
    type lanes[HIA_LANES][HIA_SUM_COLUMNS];                                                        \
    for (uint32_t l = 0; l < HIA_LANES; l++)                                                       \
      for (uint32_t c = 0; c < cols; c++) lanes[l][c] = (zero);                                    \
    for (uint64_t i = 0; i < n; i++) {                                                             \
      const type *row = x + i * s->stride;                                                         \
      type *lane = lanes[i % HIA_LANES];                                                           \
      for (uint32_t c = 0; c < cols; c++) lane[c] = lane[c] op row[c];                             \
    }                                                                                              \
    HIA_FOLD_LANES(type, op, lanes, cols)                                                          \
    for (uint32_t c = 0; c < cols; c++) sums[c] = lanes[0][c];                                     \
  }                                                                                                \
  HIA_DEFINE_SUM(NAME##_all_##T, columns, type, op, zero, NAME##_block_##T)                        \
  static void NAME##_##T(columns *s, uint32_t cols, void *out) {                                   \
    type sums[HIA_SUM_COLUMNS] = {0};                                                              \
    NAME##_all_##T(s, 0, s->n, hiaR_sum_span(s->n), cols, sums);                                   \
    memcpy(out, sums, cols * sizeof *sums);                                                        \
  }                                                                                                \
  /* Each partial sum has one element at most. Those that have none change nothing. */             \
  static void NAME##_rows_##T(const void *from, uint64_t rows, uint64_t n, void *out) {            \
    const type *x = from;                                                                          \
    type *sums = out;                                                                              \
    uint32_t width = 1;                                                                            \
    while (width < n) width *= 2;                                                                  \
    if (n == 4)                                                                                    \
      for (uint64_t r = 0; r < rows; r++, x += 4)                                                  \
        sums[r] = (((zero)op x[0])op((zero)op x[2]))op(((zero)op x[1])op((zero)op x[3]));          \
    else                                                                                           \
      for (uint64_t r = 0; r < rows; r++, x += n) {                                                \
        type lanes[HIA_LANES];                                                                     \
        for (uint32_t l = 0; l < width; l++) lanes[l] = (zero);                                    \
        for (uint32_t l = 0; l < n; l++) lanes[l] = lanes[l] op x[l];                              \
        for (uint32_t half = width / 2; half; half /= 2)                                           \
          for (uint32_t l = 0; l < half; l++) lanes[l] = lanes[l] op lanes[l + half];              \
        sums[r] = lanes[0];                                                                        \
      }                                                                                            \
  }
ADDING(sum, i32, uint32_t, +, 0)
ADDING(sum, i64, uint64_t, +, 0)
ADDING(sum, f32, float, +, 0.0f)
ADDING(sum, f64, double, +, 0.0)
ADDING(prod, i32, uint32_t, *, 1)
ADDING(prod, i64, uint64_t, *, 1)
ADDING(prod, f32, float, *, 1.0f)
ADDING(prod, f64, double, *, 1.0)

#define MEAN(T, type)                                                                              \
  static void mean_##T(columns *s, uint32_t cols, void *out) {                                     \
    sum_##T(s, cols, out);                                                                         \
    type *means = out, n = (type)s->n;                                                             \
    for (uint32_t c = 0; c < cols; c++) means[c] /= n;                                             \
  }                                                                                                \
  static void mean_rows_##T(const void *x, uint64_t rows, uint64_t n, void *out) {                 \
    sum_rows_##T(x, rows, n, out);                                                                 \
    type *means = out;                                                                             \
    for (uint64_t r = 0; r < rows; r++) means[r] /= (type)n;                                       \
  }
MEAN(f32, float)
MEAN(f64, double)

/* ---- the first of the largest and smallest ---- */

/* True if v, which comes later, is to be taken instead of m. */
#define BETTER(v, m, op) (((v)op(m)) | (((v) != (v)) & ((m) == (m))))

/* gcc would unroll the loop first, and then not make vectors of it. */
#if defined(__GNUC__) && !defined(__clang__)
#define EACH_LANE _Pragma("GCC unroll 1") for (uint32_t l = 0; l < HIA_LANES; l++)
#else
#define EACH_LANE for (uint32_t l = 0; l < HIA_LANES; l++)
#endif

/* The best of a row is looked for in HIA_LANES parts. What they give may be an equal element
 * instead of the first: that makes no difference but for zeros, of which the sign may differ. */
#define EXTREME(NAME, T, type, op)                                                                 \
  static bool NAME##_columns_##T(columns *s, uint32_t cols, type *best) {                          \
    const type *x = s->x;                                                                          \
    for (uint32_t c = 0; c < cols; c++) best[c] = x[c];                                            \
    for (uint64_t i = 1; i < s->n; i++) {                                                          \
      if (i % FEW == 0 && !hiaR_work_on(s->work, FEW * (cols + 16))) return false;                 \
      const type *row = x + i * s->stride;                                                         \
      for (uint32_t c = 0; c < cols; c++)                                                          \
        best[c] = BETTER(row[c], best[c], op) ? row[c] : best[c];                                  \
    }                                                                                              \
    return true;                                                                                   \
  }                                                                                                \
  static uint64_t NAME##_find_##T(columns *s, type best) {                                         \
    const type *x = s->x;                                                                          \
    uint64_t i = 0;                                                                                \
    while (best == best ? x[i] != best : x[i] == x[i])                                             \
      if (++i % 4096 == 0 && !hiaR_work_on(s->work, 4096)) break; /* it is further on */           \
    return i;                                                                                      \
  }                                                                                                \
  static bool NAME##_row_##T(columns *s, type *out) {                                              \
    const type *x = s->x;                                                                          \
    type best[HIA_LANES];                                                                          \
    for (uint32_t l = 0; l < HIA_LANES; l++) best[l] = x[l < s->n ? l : 0];                        \
    uint64_t i = 0;                                                                                \
    for (; i + HIA_LANES <= s->n; i += HIA_LANES) {                                                \
      if (i % 4096 == 0 && !hiaR_work_on(s->work, 4096)) return false;                             \
      EACH_LANE                                                                                    \
      best[l] = BETTER(x[i + l], best[l], op) ? x[i + l] : best[l];                                \
    }                                                                                              \
    for (uint32_t l = 0; i < s->n; i++, l++) best[l] = BETTER(x[i], best[l], op) ? x[i] : best[l]; \
    for (uint32_t l = 1; l < HIA_LANES; l++)                                                       \
      if (BETTER(best[l], best[0], op)) best[0] = best[l];                                         \
    *out = best[0] == 0 ? x[NAME##_find_##T(s, 0)] : best[0];                                      \
    return true;                                                                                   \
  }                                                                                                \
  static void NAME##_##T(columns *s, uint32_t cols, void *out) {                                   \
    type best[HIA_SUM_COLUMNS];                                                                    \
    bool is_done = s->stride == 1 ? NAME##_row_##T(s, best) : NAME##_columns_##T(s, cols, best);   \
    if (is_done) memcpy(out, best, cols * sizeof *best);                                           \
  }                                                                                                \
  static void arg_##NAME##_##T(columns *s, uint32_t cols, void *out) {                             \
    const type *x = s->x;                                                                          \
    type row_best;                                                                                 \
    if (s->stride == 1) {                                                                          \
      if (NAME##_row_##T(s, &row_best)) *(int64_t *)out = (int64_t)NAME##_find_##T(s, row_best);   \
      return;                                                                                      \
    }                                                                                              \
    type best[HIA_SUM_COLUMNS];                                                                    \
    int64_t *index = out;                                                                          \
    for (uint32_t c = 0; c < cols; c++) best[c] = x[c], index[c] = 0;                              \
    for (uint64_t i = 1; i < s->n; i++) {                                                          \
      if (i % FEW == 0 && !hiaR_work_on(s->work, FEW * (cols + 16))) return;                       \
      const type *row = x + i * s->stride;                                                         \
      for (uint32_t c = 0; c < cols; c++)                                                          \
        if (BETTER(row[c], best[c], op)) best[c] = row[c], index[c] = (int64_t)i;                  \
    }                                                                                              \
  }
EXTREME(max, i32, int32_t, >)
EXTREME(max, i64, int64_t, >)
EXTREME(max, f32, float, >)
EXTREME(max, f64, double, >)
EXTREME(min, i32, int32_t, <)
EXTREME(min, i64, int64_t, <)
EXTREME(min, f32, float, <)
EXTREME(min, f64, double, <)

/* ---- bool ---- */

/* `is_any`: whether one is true; else whether none is false. */
static void find_bool(columns *s, uint32_t cols, uint8_t *out, bool is_any) {
  const uint8_t *x = s->x;
  for (uint32_t c = 0; c < cols; c++) {
    bool is_found = false;
    for (uint64_t i = 0; i < s->n && !is_found; i++) {
      if (i % FEW == FEW - 1 && !hiaR_work_on(s->work, FEW)) return;
      is_found = (x[i * s->stride + c] != 0) == is_any;
    }
    out[c] = is_found == is_any;
  }
}
static void any_bool(columns *s, uint32_t cols, void *out) { find_bool(s, cols, out, true); }
static void all_bool(columns *s, uint32_t cols, void *out) { find_bool(s, cols, out, false); }

/* ---- operations ---- */

/* Reduces rows of n elements, at most HIA_LANES. False: the run must end. */
static bool reduce_rows(hia_work *work, short_reducer f, const char *x, uint64_t size,
                        uint64_t rows, uint64_t n, char *out, uint64_t out_size) {
  for (uint64_t r = 0; r < rows; r += SHORT) {
    uint64_t some = rows - r < SHORT ? rows - r : SHORT;
    if (!hiaR_work_on(work, 20 + some * (n + 4))) return false;
    f(x + r * n * size, some, n, out + r * out_size);
  }
  return true;
}

/* Reduces x[a, i, c] over i, n of them; a goes to `before`, c to `behind`. False: the run must end.
 */
static bool reduce_all(hia_work *work, const way *how, const char *x, uint64_t size,
                       uint64_t before, uint64_t n, uint64_t behind, char *out, uint64_t out_size) {
  if (how->rows && behind == 1 && n <= HIA_LANES)
    return reduce_rows(work, how->rows, x, size, before, n, out, out_size);
  for (uint64_t a = 0; a < before && behind; a++)
    for (uint64_t c = 0; c < behind; c += HIA_SUM_COLUMNS) {
      columns s = {x + (a * n * behind + c) * size, n, behind, work};
      uint64_t cols = behind - c < HIA_SUM_COLUMNS ? behind - c : HIA_SUM_COLUMNS;
      if (!hiaR_work_on(work, 20 + cols * (n < FEW ? n : FEW))) return false;
      how->columns(&s, (uint32_t)cols, out + (a * behind + c) * out_size);
      if (work->is_over) return false;
    }
  return true;
}

bool hiaR_work_sum(hia_work *work, hia_dtype dtype, const char *x, uint64_t before, uint64_t n,
                   uint64_t behind, char *out) {
  static const way sums[HIA_N_DTYPES] = {[HIA_I32] = {sum_i32, sum_rows_i32},
                                         [HIA_I64] = {sum_i64, sum_rows_i64},
                                         [HIA_F32] = {sum_f32, sum_rows_f32},
                                         [HIA_F64] = {sum_f64, sum_rows_f64}};
  uint64_t size = hiaR_dtype_size(dtype);
  return reduce_all(work, &sums[dtype], x, size, before, n, behind, out, size);
}

/* `dtype`: of the result. `is_of_any`: there is a result of no elements. */
static hia_status reduce(const hia_env *env, const hia_operation *o, const hia_word *in,
                         hia_result *r, hia_misfortune *why, const way *ways, hia_dtype dtype,
                         bool is_of_any) {
  const hia_tensor *x = hiaR_tensor(in[0]);
  hia_dims shape = hiaR_tensor_dims(x), result;
  uint32_t axis = o->imm == HIA_OVER_ALL ? HIA_ALL_AXES : (uint32_t)o->imm;
  hia_status status = hiaR_fit_status(hiaR_shape_reduce(&shape, axis, &result, &why->misfit));
  if (status) return status;
  uint64_t before = 1, n = 1, behind = 1;
  for (uint32_t i = 0; i < shape.rank; i++) {
    uint64_t *part = axis == HIA_ALL_AXES || i == axis ? &n : i < axis ? &before : &behind;
    *part *= (uint64_t)shape.dims[i];
  }
  if (n == 0 && before * behind > 0 && !is_of_any) return HIA_EMPTY;
  if (!hiaR_result_new(env, dtype, &result, r)) return HIA_MEMORY;
  hia_work work = hiaR_work(env);
  hia_dtype from = hiaR_tensor_dtype(x);
  bool is_done = reduce_all(&work, &ways[from], x->data, hiaR_dtype_size(from), before, n, behind,
                            r->data, hiaR_dtype_size(dtype));
  return is_done ? HIA_OK : HIA_CANCELLED;
}

#define REDUCTION(NAME, dtype, is_of_any, ...)                                                     \
  HIA_OPERATION(NAME) {                                                                            \
    static const way ways[HIA_N_DTYPES] = {__VA_ARGS__};                                           \
    hia_result r = HIA_EMPTY_RESULT;                                                               \
    hia_status status = reduce(env, o, in, &r, why, ways, dtype, is_of_any);                       \
    return hiaR_result_end(env, o, in, status, &r, out);                                           \
  }
#define OF_FLOATS(name) [HIA_F32] = {name##_f32, NULL}, [HIA_F64] = {name##_f64, NULL}
#define OF_NUMBERS(name)                                                                           \
  [HIA_I32] = {name##_i32, NULL}, [HIA_I64] = {name##_i64, NULL}, OF_FLOATS(name)
/* Those that have a way for short rows. */
#define ROWS_OF_FLOATS(name)                                                                       \
  [HIA_F32] = {name##_f32, name##_rows_f32}, [HIA_F64] = {name##_f64, name##_rows_f64}
#define ROWS_OF_NUMBERS(name)                                                                      \
  [HIA_I32] = {name##_i32, name##_rows_i32}, [HIA_I64] = {name##_i64, name##_rows_i64},            \
  ROWS_OF_FLOATS(name)
#define SAME hiaR_tensor_dtype(hiaR_tensor(in[0]))

REDUCTION(SUM, SAME, true, ROWS_OF_NUMBERS(sum))
REDUCTION(PROD, SAME, true, ROWS_OF_NUMBERS(prod))
REDUCTION(MEAN, SAME, false, ROWS_OF_FLOATS(mean))
REDUCTION(MAX_OF, SAME, false, OF_NUMBERS(max))
REDUCTION(MIN_OF, SAME, false, OF_NUMBERS(min))
REDUCTION(ARG_MAX, HIA_I64, false, OF_NUMBERS(arg_max))
REDUCTION(ARG_MIN, HIA_I64, false, OF_NUMBERS(arg_min))
REDUCTION(ANY, HIA_BOOL, true, [HIA_BOOL] = {any_bool, NULL})
REDUCTION(ALL, HIA_BOOL, true, [HIA_BOOL] = {all_bool, NULL})
