/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tensor/reduce, product, softmax: against the definitions of docs/tensors.md, element by element;
 * the order of sums; empty ones; failures; the end of runs. */
#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* ---- arithmetic on words ---- */

static hia_word of_f64(hia_dtype dtype, double x) {
  return dtype == HIA_F32   ? hiaR_from_f32((float)x)
         : dtype == HIA_F64 ? hiaR_from_f64(x)
         : dtype == HIA_I32 ? hiaR_from_i32((int32_t)x)
                            : hiaR_from_i64((int64_t)x);
}
static hia_word apply(unsigned op, hia_dtype dtype, hia_word a, hia_word b, hia_word c) {
  hia_word slots[4] = {a, b, c};
  const uint16_t in[3] = {0, 1, 2};
  hiaR_kernel(op, dtype)(slots, in, 3, 0);
  return slots[3];
}
static bool is_true(unsigned op, hia_dtype dtype, hia_word a, hia_word b) {
  return apply(op, dtype, a, b, 0) != 0;
}

/* ---- definitions ---- */

/* The sum, or the product, as docs/tensors.md says. */
static hia_word sum_of(unsigned op, hia_dtype dtype, const hia_word *x, uint64_t n) {
  if (n > 4096) {
    uint64_t n_blocks = (n + 4095) / 4096;
    hia_word *blocks = malloc(n_blocks * sizeof *blocks);
    for (uint64_t i = 0; i < n_blocks; i++)
      blocks[i] = sum_of(op, dtype, x + i * 4096, n - i * 4096 < 4096 ? n - i * 4096 : 4096);
    hia_word sum = sum_of(op, dtype, blocks, n_blocks);
    free(blocks);
    return sum;
  }
  hia_word s[16];
  for (int l = 0; l < 16; l++) s[l] = of_f64(dtype, op == HIA_OP_MUL);
  for (uint64_t i = 0; i < n; i++) s[i % 16] = apply(op, dtype, s[i % 16], x[i], 0);
  for (int half = 8; half; half /= 2)
    for (int l = 0; l < half; l++) s[l] = apply(op, dtype, s[l], s[l + half], 0);
  return s[0];
}

/* The index of the first of the largest (GT) or smallest (LT), or of a NaN. */
static uint64_t best_of(unsigned op, hia_dtype dtype, const hia_word *x, uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    if (is_true(HIA_OP_NE, dtype, x[i], x[i])) return i;
  for (uint64_t i = 0; i < n; i++) {
    bool is_best = true;
    for (uint64_t k = 0; k < n; k++) is_best &= !is_true(op, dtype, x[k], x[i]);
    if (is_best) return i;
  }
  return n;
}

typedef enum {
  SUM,
  PROD,
  MEAN,
  MAX_OF,
  MIN_OF,
  ARG_MAX,
  ARG_MIN,
  ANY,
  ALL,
  N_REDUCTIONS
} reduction;
static const struct {
  const char *name;
  hia_operate f;
  bool is_of_any;
} reductions[N_REDUCTIONS] = {
    {"sum", hiaR_e_SUM, true},         {"prod", hiaR_e_PROD, true},
    {"mean", hiaR_e_MEAN, false},      {"max", hiaR_e_MAX_OF, false},
    {"min", hiaR_e_MIN_OF, false},     {"argmax", hiaR_e_ARG_MAX, false},
    {"argmin", hiaR_e_ARG_MIN, false}, {"any", hiaR_e_ANY, true},
    {"all", hiaR_e_ALL, true},
};

static hia_dtype result_of(reduction r, hia_dtype dtype) {
  return r == ARG_MAX || r == ARG_MIN ? HIA_I64 : r == ANY || r == ALL ? HIA_BOOL : dtype;
}
static bool is_at(reduction r, hia_dtype dtype) {
  if (r == ANY || r == ALL) return dtype == HIA_BOOL;
  return r == MEAN ? dtype >= HIA_F32 : dtype != HIA_BOOL;
}

static hia_word reduce_by_hand(reduction r, hia_dtype dtype, const hia_word *x, uint64_t n) {
  bool any = false, all = true;
  for (uint64_t i = 0; i < n; i++) {
    any |= x[i] != 0;
    all &= x[i] != 0;
  }
  switch (r) {
  case SUM: return sum_of(HIA_OP_ADD, dtype, x, n);
  case PROD: return sum_of(HIA_OP_MUL, dtype, x, n);
  case MEAN: {
    hia_word sum = sum_of(HIA_OP_ADD, dtype, x, n);
    return apply(HIA_OP_DIV, dtype, sum, of_f64(dtype, (double)n), 0);
  }
  case MAX_OF: return x[best_of(HIA_OP_GT, dtype, x, n)];
  case MIN_OF: return x[best_of(HIA_OP_LT, dtype, x, n)];
  case ARG_MAX: return best_of(HIA_OP_GT, dtype, x, n);
  case ARG_MIN: return best_of(HIA_OP_LT, dtype, x, n);
  case ANY: return any;
  default: return all;
  }
}

/* x with axis `axis`, or all: the elements that make element `i` of the result, in their order. */
static uint64_t gather(const model *x, uint32_t axis, uint64_t i, hia_word *to) {
  if (axis == HIA_ALL_AXES) {
    memcpy(to, x->words, x->n * sizeof *to);
    return x->n;
  }
  uint64_t behind = 1, n = (uint64_t)x->dims.dims[axis];
  for (uint32_t k = axis + 1; k < x->dims.rank; k++) behind *= (uint64_t)x->dims.dims[k];
  for (uint64_t k = 0; k < n; k++)
    to[k] = x->words[i / behind * n * behind + k * behind + i % behind];
  return n;
}

static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 16, 17, 33, 1, 2, 3, 70};
static hia_dims some_shape(uint32_t *state, uint32_t rank, uint64_t most) {
  hia_dims dims = {.rank = rank};
  uint64_t n = 1;
  for (uint32_t i = 0; i < rank; i++) {
    dims.dims[i] = sizes[random_to(state, HIA_LEN(sizes))];
    if (n * (uint64_t)dims.dims[i] > most) dims.dims[i] = 1;
    n *= (uint64_t)dims.dims[i];
  }
  return dims;
}

static void check_reduction(tensor_world *w, const model *x, reduction r, uint32_t axis, how h) {
  hia_dims shape;
  cr_assert_eq(hiaR_shape_reduce(&x->dims, axis, &shape, NULL), HIA_FIT_ALWAYS);
  model expected = model_new(result_of(r, x->dtype), shape);
  hia_word *elements = calloc(x->n + 1, sizeof *elements);
  hia_status status = HIA_OK;
  for (uint64_t i = 0; i < expected.n; i++) {
    uint64_t n = gather(x, axis, i, elements);
    if (n == 0 && !reductions[r].is_of_any)
      status = HIA_EMPTY;
    else
      expected.words[i] = reduce_by_hand(r, x->dtype, elements, n);
  }
  hia_operation o = {.dtype = (uint8_t)x->dtype, .imm = axis == HIA_ALL_AXES ? HIA_OVER_ALL : axis};
  outcome is = run_operation(w, reductions[r].f, o, x, &h, 1, expected.dtype, shape.rank);
  cr_assert(is.is_sane);
  cr_assert_eq(is.status, status, "%s: status %d", reductions[r].name, (int)is.status);
  if (!status)
    cr_assert(model_equals(&is.result, &expected), "%s of dtype %d, rank %u, axis %u",
              reductions[r].name, (int)x->dtype, x->dims.rank, axis);
  free(elements);
  model_free(&expected);
  model_free(&is.result);
}

Test(tensor_reduce, as_defined) {
  tensor_world w;
  uint32_t state = 11;
  world_begin(&w, &hiaR_malloc, false);
  for (hia_dtype dtype = HIA_BOOL; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 120 / HIA_TEST_SHARE; round++) {
      hia_dims dims = some_shape(&state, 1 + random_to(&state, 4), 1500);
      model x = model_random(&state, dtype, dims);
      if (round % 3 && dtype >= HIA_F32) /* without NaNs and infinities, with equal ones */
        for (uint64_t i = 0; i < x.n; i++)
          x.words[i] = of_f64(dtype, ((double)random_to(&state, 40) - 20) / 8 * (round % 3 == 1));
      for (reduction r = 0; r < N_REDUCTIONS; r++)
        for (uint32_t axis = 0; axis <= dims.rank; axis++)
          if (is_at(r, dtype))
            check_reduction(&w, &x, r, axis < dims.rank ? axis : HIA_ALL_AXES,
                            (how)random_to(&state, N_HOWS));
      model_free(&x);
    }
  cr_assert(world_end(&w));
}

/* Of zeros, which are equal, the first one is the result, wherever it is. */
Test(tensor_reduce, the_first_of_equal_ones) {
  tensor_world w;
  uint32_t state = 17;
  world_begin(&w, &hiaR_malloc, false);
  for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 200 / HIA_TEST_SHARE; round++) {
      reduction r = (reduction)(MAX_OF + round % 4);
      double other = r == MAX_OF || r == ARG_MAX ? -1 : 1;
      model x = model_new(dtype, dims_of(1, (int64_t)(1 + random_to(&state, 70))));
      for (uint64_t i = 0; i < x.n; i++)
        x.words[i] = of_f64(dtype, random_to(&state, 12)  ? other
                                   : random_to(&state, 2) ? 0.0
                                                          : -0.0);
      check_reduction(&w, &x, r, 0, LENT);
      model_free(&x);
    }
  cr_assert(world_end(&w));
}

/* Blocks, and blocks of blocks, along rows and along columns: the same bits. */
Test(tensor_reduce, long_sums) {
  tensor_world w;
  uint32_t state = 12;
  world_begin(&w, &hiaR_malloc, false);
  static const int64_t lens[] = {15, 16, 17, 4095, 4096, 4097, 8192, 12345, 4096 * 17 + 3};
  for (size_t i = 0; i < HIA_LEN(lens); i++)
    for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++) {
      model row = model_new(dtype, dims_of(1, lens[i]));
      model columns = model_new(dtype, dims_of(2, lens[i], (int64_t)3));
      for (uint64_t k = 0; k < row.n; k++) {
        row.words[k] = of_f64(dtype, ((double)random_to(&state, 1 << 20) - 500000) / 7);
        for (uint64_t c = 0; c < 3; c++) columns.words[3 * k + c] = row.words[k];
      }
      hia_word sum = sum_of(HIA_OP_ADD, dtype, row.words, row.n);
      for (reduction r = SUM; r <= PROD; r++) {
        check_reduction(&w, &row, r, 0, LENT);
        check_reduction(&w, &columns, r, 0, LENT);
      }
      check_reduction(&w, &columns, SUM, HIA_ALL_AXES, LENT);
      hia_operation o = {.dtype = (uint8_t)dtype, .imm = 0};
      how lent = LENT;
      outcome is = run_operation(&w, hiaR_e_SUM, o, &columns, &lent, 1, dtype, 1);
      for (int c = 0; c < 3; c++) cr_assert_eq(is.result.words[c], sum);
      model_free(&is.result);
      model_free(&row);
      model_free(&columns);
    }
  cr_assert(world_end(&w));
}

/* The third level, of more than 4096 * 4096 elements: in bytes less than 70 MB. 16 partial sums
 * alone would be off by some thousands here. */
Test(tensor_reduce, very_long_sum) {
  tensor_world w;
  world_begin(&w, &hiaR_malloc, false);
  hia_dims dims = dims_of(1, (int64_t)(4096 * 4096 + 5000));
  hia_word x, out;
  cr_assert(hiaR_tensor_new(&w.local, HIA_F32, &dims, &x));
  float *data = (float *)(void *)hiaR_tensor(x)->data;
  for (int64_t i = 0; i < dims.dims[0]; i++) data[i] = 0.1f;
  hia_operation o = {.dtype = HIA_F32, .n_in = 1, .tensors = 1, .takes = 1, .imm = HIA_OVER_ALL};
  hia_misfortune why;
  cr_assert_eq(hiaR_e_SUM(&w.env, &o, &x, &out, &why), HIA_OK);
  double exact = (double)0.1f * (double)dims.dims[0];
  cr_assert_leq(fabs((double)hiaR_to_f32(out) - exact), exact * 1e-5);
  cr_assert(world_end(&w));
}

/* ---- products ---- */

static void check_product(tensor_world *w, const model *x, const model *y, how a, how b) {
  model ins[] = {*x, *y}, out;
  hia_dims shape;
  hia_fit fit = hiaR_shape_product(&x->dims, &y->dims, &shape, NULL);
  hia_operation o = {.dtype = (uint8_t)x->dtype};
  outcome is = run_operation(w, hiaR_e_PRODUCT, o, ins, (how[]){a, b}, 2, x->dtype, shape.rank);
  cr_assert(is.is_sane);
  cr_assert_eq(is.status, fit == HIA_FIT_ALWAYS ? HIA_OK : HIA_SHAPE);
  if (fit == HIA_FIT_ALWAYS) {
    out = model_new(x->dtype, shape);
    int64_t l = x->dims.dims[x->dims.rank - 1];
    bool has_rows = x->dims.rank > 1, has_columns = y->dims.rank > 1;
    for (uint64_t at = 0; at < out.n; at++) {
      uint64_t rest = at, i = 0, j = 0;
      uint64_t columns = has_columns ? (uint64_t)y->dims.dims[y->dims.rank - 1] : 1;
      uint64_t rows = has_rows ? (uint64_t)x->dims.dims[x->dims.rank - 2] : 1;
      if (has_columns) j = rest % columns, rest /= columns;
      if (has_rows) i = rest % rows, rest /= rows;
      /* Along the leading axes from the last one on. */
      uint64_t of_x = 0, of_y = 0, stride_x = 1, stride_y = 1;
      uint32_t n_lead = shape.rank - has_rows - has_columns;
      for (uint32_t k = 1; k <= n_lead; k++) {
        uint64_t dim = (uint64_t)shape.dims[n_lead - k], index = rest % dim;
        rest /= dim;
        if (x->dims.rank >= 2 + k) {
          uint64_t own = (uint64_t)x->dims.dims[x->dims.rank - 2 - k];
          of_x += (own == 1 ? 0 : index) * stride_x;
          stride_x *= own;
        }
        if (y->dims.rank >= 2 + k) {
          uint64_t own = (uint64_t)y->dims.dims[y->dims.rank - 2 - k];
          of_y += (own == 1 ? 0 : index) * stride_y;
          stride_y *= own;
        }
      }
      hia_word acc = of_f64(x->dtype, 0);
      for (uint64_t k = 0; k < (uint64_t)l; k++) {
        hia_word p = x->words[(of_x * rows + i) * (uint64_t)l + k];
        hia_word q = y->words[(of_y * (uint64_t)l + k) * columns + j];
        acc = x->dtype >= HIA_F32
                  ? apply(HIA_OP_FMA, x->dtype, p, q, acc)
                  : apply(HIA_OP_ADD, x->dtype, apply(HIA_OP_MUL, x->dtype, p, q, 0), acc, 0);
      }
      out.words[at] = acc;
    }
    cr_assert(model_equals(&is.result, &out));
    model_free(&out);
  }
  model_free(&is.result);
}

Test(tensor_reduce, products) {
  tensor_world w;
  uint32_t state = 13;
  world_begin(&w, &hiaR_malloc, true);
  for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 300 / HIA_TEST_SHARE; round++) {
      hia_dims a = some_shape(&state, 1 + random_to(&state, 4), 600);
      hia_dims b = some_shape(&state, 1 + random_to(&state, 4), 600);
      /* Mostly such that they fit. */
      if (round % 8) {
        b.dims[b.rank > 1 ? b.rank - 2 : 0] = a.dims[a.rank - 1];
        for (uint32_t k = 3; k <= a.rank && k <= b.rank; k++) {
          int64_t dim = a.dims[a.rank - k];
          b.dims[b.rank - k] = random_to(&state, 3) ? dim : 1;
          if (random_to(&state, 4) == 0) a.dims[a.rank - k] = 1;
        }
      }
      model x = model_random(&state, dtype, a), y = model_random(&state, dtype, b);
      check_product(&w, &x, &y, (how)random_to(&state, N_HOWS), (how)random_to(&state, N_HOWS));
      model_free(&x);
      model_free(&y);
    }
  cr_assert(world_end(&w));
}

/* Rounded once: the product is exact, and -0 is no beginning. */
Test(tensor_reduce, products_round_once) {
  tensor_world w;
  world_begin(&w, &hiaR_malloc, false);
  model x = model_new(HIA_F32, dims_of(1, (int64_t)2)),
        y = model_new(HIA_F32, dims_of(1, (int64_t)2));
  float a = 1.0f + 0x1p-12f;
  x.words[0] = hiaR_from_f32(-1), x.words[1] = hiaR_from_f32(a);
  y.words[0] = hiaR_from_f32(1.0f + 0x1p-11f), y.words[1] = hiaR_from_f32(a);
  model ins[] = {x, y};
  hia_operation o = {.dtype = HIA_F32};
  outcome is = run_operation(&w, hiaR_e_PRODUCT, o, ins, (how[]){LENT, LENT}, 2, HIA_F32, 0);
  cr_assert_eq(is.result.words[0], hiaR_from_f32(0x1p-24f));
  model_free(&is.result);
  x.words[0] = x.words[1] = hiaR_from_f32(-0.0f);
  is = run_operation(&w, hiaR_e_PRODUCT, o, ins, (how[]){LENT, LENT}, 2, HIA_F32, 0);
  cr_assert_eq(is.result.words[0], hiaR_from_f32(0));
  model_free(&is.result);
  model_free(&x);
  model_free(&y);
  cr_assert(world_end(&w));
}

Test(tensor_reduce, outer) {
  tensor_world w;
  uint32_t state = 14;
  world_begin(&w, &hiaR_malloc, false);
  for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++)
    for (size_t i = 0; i < HIA_LEN(sizes); i++)
      for (size_t j = 0; j < HIA_LEN(sizes); j++) {
        model ins[] = {model_random(&state, dtype, dims_of(1, sizes[i])),
                       model_random(&state, dtype, dims_of(1, sizes[j]))};
        model expected = model_new(dtype, dims_of(2, sizes[i], sizes[j]));
        for (uint64_t k = 0; k < expected.n; k++)
          expected.words[k] = apply(HIA_OP_MUL, dtype, ins[0].words[k / (uint64_t)sizes[j]],
                                    ins[1].words[k % (uint64_t)sizes[j]], 0);
        hia_operation o = {.dtype = (uint8_t)dtype};
        how hows[] = {(how)random_to(&state, N_HOWS), (how)random_to(&state, N_HOWS)};
        outcome is = run_operation(&w, hiaR_e_OUTER, o, ins, hows, 2, dtype, 2);
        cr_assert(is.is_sane && is.status == HIA_OK && model_equals(&is.result, &expected));
        model_free(&is.result);
        model_free(&expected);
        model_free(&ins[0]);
        model_free(&ins[1]);
      }
  cr_assert(world_end(&w));
}

/* ---- softmax ---- */

static void softmax_by_hand(hia_dtype dtype, const hia_word *x, uint64_t n, hia_word *soft,
                            hia_word *logs) {
  hia_word max = x[best_of(HIA_OP_GT, dtype, x, n)];
  for (uint64_t i = 0; i < n; i++) {
    logs[i] = apply(HIA_OP_SUB, dtype, x[i], max, 0);
    soft[i] = apply(HIA_OP_EXP, dtype, logs[i], 0, 0);
  }
  hia_word sum = sum_of(HIA_OP_ADD, dtype, soft, n), log = apply(HIA_OP_LOG, dtype, sum, 0, 0);
  for (uint64_t i = 0; i < n; i++) {
    soft[i] = apply(HIA_OP_DIV, dtype, soft[i], sum, 0);
    logs[i] = apply(HIA_OP_SUB, dtype, logs[i], log, 0);
  }
}

static void check_softmax(tensor_world *w, uint32_t *state, const model *x) {
  uint64_t n = (uint64_t)x->dims.dims[x->dims.rank - 1], n_rows = 1;
  hia_dims of_labels = x->dims;
  of_labels.rank--;
  for (uint32_t i = 0; i < of_labels.rank; i++) n_rows *= (uint64_t)of_labels.dims[i];
  model soft = model_new(x->dtype, x->dims), logs = model_new(x->dtype, x->dims);
  model labels = model_new(random_to(state, 2) ? HIA_I32 : HIA_I64, of_labels);
  model cross = model_new(x->dtype, of_labels);
  for (uint64_t i = 0; n && i < n_rows; i++) {
    softmax_by_hand(x->dtype, x->words + i * n, n, soft.words + i * n, logs.words + i * n);
    labels.words[i] = random_to(state, (uint32_t)n);
    hia_word minus = logs.words[i * n + labels.words[i]];
    cross.words[i] = apply(HIA_OP_SUB, x->dtype, of_f64(x->dtype, 0), minus, 0);
  }
  const hia_operate fs[] = {hiaR_e_SOFTMAX, hiaR_e_LOG_SOFTMAX, hiaR_e_CROSS_ENTROPY};
  model ins[] = {*x, labels}, *expected[] = {&soft, &logs, &cross};
  for (int k = 0; k < 3; k++) {
    hia_status status = k == 2 && n == 0 && n_rows ? HIA_EMPTY : HIA_OK;
    how hows[] = {(how)random_to(state, N_HOWS), (how)random_to(state, N_HOWS)};
    hia_operation o = {.dtype = (uint8_t)x->dtype};
    outcome is =
        run_operation(w, fs[k], o, ins, hows, k == 2 ? 2 : 1, x->dtype, expected[k]->dims.rank);
    cr_assert(is.is_sane);
    cr_assert_eq(is.status, status);
    if (!status) cr_assert(model_equals(&is.result, expected[k]), "%d of %d", k, (int)x->dtype);
    if (!status && k < 2 && soft.n) cr_assert_eq(is.kept, how_is_last(hows[0]) ? 0 : HIA_NONE);
    model_free(&is.result);
  }
  model_free(&soft);
  model_free(&logs);
  model_free(&labels);
  model_free(&cross);
}

Test(tensor_reduce, softmax) {
  tensor_world w;
  uint32_t state = 15;
  world_begin(&w, &hiaR_malloc, false);
  for (hia_dtype dtype = HIA_F32; dtype <= HIA_F64; dtype++)
    for (int round = 0; round < 200 / HIA_TEST_SHARE; round++) {
      hia_dims dims = some_shape(&state, 1 + random_to(&state, 4), 600);
      if (round < 2) dims = dims_of(2, (int64_t)2, (int64_t)(4096 * 2 + round * 50));
      model x = model_random(&state, dtype, dims);
      for (uint64_t i = 0; i < x.n && round % 4; i++)
        x.words[i] = of_f64(dtype, ((double)random_to(&state, 4000) - 2000) / 100);
      check_softmax(&w, &state, &x);
      model_free(&x);
    }
  cr_assert(world_end(&w));
}

Test(tensor_reduce, labels_that_are_wrong) {
  tensor_world w;
  uint32_t state = 16;
  world_begin(&w, &hiaR_malloc, false);
  model x = model_random(&state, HIA_F32, dims_of(2, (int64_t)3, (int64_t)4));
  model ins[] = {x, model_new(HIA_I64, dims_of(1, (int64_t)3))};
  hia_operation o = {.dtype = HIA_F32};
  for (int64_t bad = -1; bad <= 4; bad += 5)
    for (how h = 0; h < N_HOWS; h++) {
      ins[1].words[2] = hiaR_from_i64(bad);
      outcome is = run_operation(&w, hiaR_e_CROSS_ENTROPY, o, ins, (how[]){h, h}, 2, HIA_F32, 1);
      cr_assert(is.status == HIA_RANGE && is.is_sane && !is.why.is_slice);
      cr_assert(is.why.range.first == bad && is.why.range.length == 4);
      model_free(&is.result);
    }
  model_free(&ins[1]);
  ins[1] = model_new(HIA_I64, dims_of(1, (int64_t)4));
  outcome is = run_operation(&w, hiaR_e_CROSS_ENTROPY, o, ins, (how[]){LENT, TAKEN}, 2, HIA_F32, 1);
  cr_assert(is.status == HIA_SHAPE && is.is_sane && is.why.misfit.kind == HIA_MISFIT_DIM);
  cr_assert(is.why.misfit.operand_b == 1 && is.why.misfit.axis_b == 0);
  model_free(&is.result);
  model_free(&ins[1]);
  model_free(&x);
  cr_assert(world_end(&w));
}
