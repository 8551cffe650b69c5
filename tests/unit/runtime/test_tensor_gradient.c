/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations that gradients need: tensor/fit, cut and scatter, and products of transposed
 * matrices, against naive code. Sums: test_tensor_gradient_sums.c. */
#include "tests/unit/helpers/tensor_gradient.h"
#include <stdlib.h>

static outcome operate(uint32_t *state, hia_operate f, uint64_t imm, const model *ins, uint32_t n,
                       uint32_t rank) {
  how hows[3];
  for (uint32_t i = 0; i < n; i++) hows[i] = (how)random_to(state, N_HOWS);
  hia_operation o = {.dtype = (uint8_t)ins[0].dtype, .imm = imm};
  outcome is = run_operation(&w, f, o, ins, hows, n, ins[0].dtype, rank);
  cr_assert(is.is_sane);
  return is;
}

static void expect(outcome *is, const model *expected, const char *what) {
  cr_assert_eq(is->status, HIA_OK, "%s: %s", what, hiaR_status_word(is->status));
  cr_assert(model_equals(&is->result, expected), "%s of dtype %d, rank %u", what,
            (int)expected->dtype, expected->dims.rank);
  model_free(&is->result);
}

/* ---- zeros, cut ---- */

Test(tensor_gradient, zeros, .init = begin, .fini = end) {
  uint32_t state = 1;
  for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 60; round++) {
      model x = model_random(&state, dtype, some_shape(&state, 1 + random_to(&state, 4), 500));
      model expected = model_new(dtype, x.dims);
      outcome is = operate(&state, hiaR_e_ZEROS, 0, &x, 1, x.dims.rank);
      expect(&is, &expected, "zeros");
      model_free(&x);
      model_free(&expected);
    }
}

Test(tensor_gradient, cut, .init = begin, .fini = end) {
  uint32_t state = 2;
  for (hia_dtype dtype = HIA_BOOL; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 200 / HIA_TEST_SHARE; round++) {
      model x = model_random(&state, dtype, some_shape(&state, 1 + random_to(&state, 4), 800));
      uint32_t axis = random_to(&state, x.dims.rank);
      int64_t size = x.dims.dims[axis], from = random_to(&state, (uint32_t)size + 1);
      int64_t to = from + random_to(&state, (uint32_t)(size - from) + 1);
      if (round % 16 == 0) from -= size + 1;
      if (round % 16 == 1) to += size + 1;
      if (round % 16 == 2) from = to + 1;
      bool is_right = from >= 0 && from <= to && to <= size;
      model ins[] = {x, model_i64(from), model_i64(to)};
      outcome is = operate(&state, hiaR_e_CUT, axis, ins, 3, x.dims.rank);
      if (is_right) {
        hia_dims shape = x.dims;
        shape.dims[axis] = to - from;
        model expected = model_new(dtype, shape);
        uint64_t behind = 1;
        for (uint32_t i = axis + 1; i < shape.rank; i++) behind *= (uint64_t)shape.dims[i];
        for (uint64_t i = 0; i < expected.n; i++) {
          uint64_t part = (uint64_t)(to - from) * behind, all = (uint64_t)size * behind;
          expected.words[i] = x.words[i / part * all + (uint64_t)from * behind + i % part];
        }
        expect(&is, &expected, "cut");
        model_free(&expected);
      } else {
        cr_assert_eq(is.status, HIA_RANGE);
        cr_assert(is.why.is_slice && is.why.range.first == from && is.why.range.end == to &&
                  is.why.range.length == size);
        model_free(&is.result);
      }
      for (int i = 0; i < 3; i++) model_free(&ins[i]);
    }
}

/* ---- fit ---- */

/* The sum in its order, of up to 4096 elements. */
static hia_word sum_of(hia_dtype dtype, const hia_word *x, uint64_t n) {
  hia_word s[16] = {0};
  for (uint64_t i = 0; i < n; i++) s[i % 16] = plus(dtype, s[i % 16], x[i]);
  for (int half = 8; half; half /= 2)
    for (int l = 0; l < half; l++) s[l] = plus(dtype, s[l], s[l + half]);
  return s[0];
}

/* v without `n` axes from `first` on. */
static model sum_axes(const model *v, uint32_t first, uint32_t n) {
  hia_dims shape = v->dims;
  uint64_t together = 1, behind = 1;
  for (uint32_t i = first; i < first + n; i++) together *= (uint64_t)v->dims.dims[i];
  for (uint32_t i = first + n; i < v->dims.rank; i++) behind *= (uint64_t)v->dims.dims[i];
  shape.rank -= n;
  memmove(shape.dims + first, shape.dims + first + n, (shape.rank - first) * sizeof *shape.dims);
  model out = model_new(v->dtype, shape);
  hia_word *x = calloc(together + 1, sizeof *x);
  for (uint64_t i = 0; i < out.n; i++) {
    for (uint64_t k = 0; k < together; k++)
      x[k] = v->words[(i / behind * together + k) * behind + i % behind];
    out.words[i] = sum_of(v->dtype, x, together);
  }
  free(x);
  return out;
}

/* As docs/tensors.md says: neighbouring axes together, the last first; without those of size 1. */
static model fit_by_hand(const model *v, const hia_dims *to) {
  model m = model_new(v->dtype, (hia_dims){.rank = 0});
  bool is_summed[HIA_MAX_RANK];
  free(m.words);
  m = model_new(v->dtype, v->dims);
  memcpy(m.words, v->words, m.n * sizeof *m.words);
  m.dims.rank = 0;
  for (uint32_t i = 0; i < v->dims.rank; i++) {
    uint32_t missing = v->dims.rank - to->rank;
    if (v->dims.dims[i] == 1) continue;
    is_summed[m.dims.rank] = i < missing || to->dims[i - missing] != v->dims.dims[i];
    m.dims.dims[m.dims.rank++] = v->dims.dims[i];
  }
  for (uint32_t end_of = m.dims.rank; end_of;) {
    uint32_t first = end_of;
    while (first && is_summed[first - 1]) first--;
    if (first < end_of) {
      model less = sum_axes(&m, first, end_of - first);
      model_free(&m);
      m = less;
    }
    end_of = first ? first - 1 : 0;
  }
  m.dims = *to;
  return m;
}

Test(tensor_gradient, fit, .init = begin, .fini = end) {
  uint32_t state = 3;
  for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 400 / HIA_TEST_SHARE; round++) {
      model v = model_random(&state, dtype, some_shape(&state, 1 + random_to(&state, 5), 900));
      hia_dims to = v.dims;
      to.rank -= random_to(&state, to.rank + 1);
      memmove(to.dims, v.dims.dims + v.dims.rank - to.rank, to.rank * sizeof *to.dims);
      for (uint32_t i = 0; i < to.rank; i++)
        if (random_to(&state, 2) && round % 4) to.dims[i] = 1;
      uint32_t wrong = HIA_NONE;
      if (to.rank && round % 16 == 0) {
        wrong = random_to(&state, to.rank);
        to.dims[wrong] += to.dims[wrong] ? 1 : 2;
      }
      model ins[] = {v, to.rank ? model_new(dtype, to) : model_scalar(dtype, 0)};
      outcome is = operate(&state, hiaR_e_FIT, 0, ins, 2, to.rank);
      if (wrong != HIA_NONE) {
        cr_assert_eq(is.status, HIA_SHAPE);
        cr_assert(is.why.misfit.kind == HIA_MISFIT_DIM && is.why.misfit.axis_b == wrong &&
                  is.why.misfit.axis_a == wrong + v.dims.rank - to.rank);
        model_free(&is.result);
      } else {
        bool is_same =
            to.rank == v.dims.rank && memcmp(to.dims, v.dims.dims, to.rank * sizeof *to.dims) == 0;
        model expected = is_same ? model_new(dtype, to) : fit_by_hand(&v, &to);
        if (is_same) memcpy(expected.words, v.words, v.n * sizeof *v.words);
        expect(&is, &expected, "fit");
        model_free(&expected);
      }
      for (int i = 0; i < 2; i++) model_free(&ins[i]);
    }
}

/* Of equal shapes it is the operand, whether it is lent or taken. */
Test(tensor_gradient, fit_of_equal_shapes, .init = begin, .fini = end) {
  uint32_t state = 10;
  model x = model_random(&state, HIA_F64, dims_of(2, (int64_t)3, (int64_t)1)), ins[] = {x, x};
  for (how h = LENT; h < OUTSIDE; h++) {
    outcome is = run_operation(&w, hiaR_e_FIT, (hia_operation){.dtype = HIA_F64}, ins,
                               (how[]){h, h}, 2, HIA_F64, 2);
    cr_assert(is.is_sane && is.kept == 0);
    expect(&is, &x, "fit");
  }
  model_free(&x);
}

/* ---- scatter ---- */

Test(tensor_gradient, scatter, .init = begin, .fini = end) {
  uint32_t state = 4;
  for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 300 / HIA_TEST_SHARE; round++) {
      model x = model_random(&state, dtype, some_shape(&state, 1 + random_to(&state, 3), 300));
      hia_dims of_index = some_shape(&state, 1 + random_to(&state, 2), 12), rows;
      if (x.dims.dims[0] == 0) of_index.dims[0] = 0;
      model index = model_new(random_to(&state, 2) ? HIA_I32 : HIA_I64, of_index);
      for (uint64_t i = 0; i < index.n; i++)
        index.words[i] = random_to(&state, (uint32_t)x.dims.dims[0]);
      cr_assert_eq(hiaR_shape_index(&x.dims, &of_index, &rows, NULL), HIA_FIT_ALWAYS);
      bool is_wrong = index.n && round % 8 == 0, is_misfit = !is_wrong && round % 8 == 1;
      if (is_wrong)
        index.words[random_to(&state, (uint32_t)index.n)] =
            round % 16 ? (hia_word)x.dims.dims[0] : hiaR_from_i64(-1);
      if (is_misfit) rows.dims[random_to(&state, rows.rank)]++;
      model ins[] = {x, index, model_random(&state, dtype, rows)};
      outcome is = operate(&state, hiaR_e_SCATTER, 0, ins, 3, x.dims.rank);
      if (is_wrong || is_misfit) {
        cr_assert_eq(is.status, is_wrong ? HIA_RANGE : HIA_SHAPE);
        model_free(&is.result);
      } else {
        model expected = model_new(dtype, x.dims);
        uint64_t row = index.n ? ins[2].n / index.n : 0;
        for (uint64_t i = 0; i < ins[2].n; i++) {
          hia_word *to = &expected.words[index.words[i / row] * row + i % row];
          *to = plus(dtype, *to, ins[2].words[i]);
        }
        expect(&is, &expected, "scatter");
        model_free(&expected);
      }
      for (int i = 0; i < 3; i++) model_free(&ins[i]);
    }
}

/* ---- products ---- */

static hia_dims transposed(hia_dims dims) {
  int64_t rows = dims.dims[dims.rank - 2];
  dims.dims[dims.rank - 2] = dims.dims[dims.rank - 1];
  dims.dims[dims.rank - 1] = rows;
  return dims;
}
static model transpose(const model *x) {
  model t = model_new(x->dtype, transposed(x->dims));
  uint64_t n = (uint64_t)x->dims.dims[x->dims.rank - 2],
           m = (uint64_t)t.dims.dims[x->dims.rank - 2];
  for (uint64_t i = 0; i < x->n; i++) {
    uint64_t of = i / (n * m), in = i % (n * m);
    t.words[of * n * m + in % m * n + in / m] = x->words[i];
  }
  return t;
}

/* They are what `product` gives, which test_tensor_reduce.c tests, of the transposed operand. */
Test(tensor_gradient, products, .init = begin, .fini = end) {
  uint32_t state = 5;
  for (hia_dtype dtype = HIA_I32; dtype < HIA_N_DTYPES; dtype++)
    for (int round = 0; round < 300 / HIA_TEST_SHARE; round++) {
      hia_dims a = some_shape(&state, 2 + random_to(&state, 3), 600);
      hia_dims b = some_shape(&state, 2 + random_to(&state, 3), 600);
      if (round == 0)
        a = dims_of(2, (int64_t)90, (int64_t)300), b = dims_of(2, (int64_t)1, (int64_t)80);
      if (round % 8) {
        b.dims[b.rank - 2] = a.dims[a.rank - 1];
        for (uint32_t k = 3; k <= a.rank && k <= b.rank; k++) {
          b.dims[b.rank - k] = random_to(&state, 3) ? a.dims[a.rank - k] : 1;
          if (random_to(&state, 4) == 0) a.dims[a.rank - k] = 1;
        }
      }
      hia_dims shape;
      bool is_right = hiaR_shape_product(&a, &b, &shape, NULL) == HIA_FIT_ALWAYS;
      model plain[] = {model_random(&state, dtype, a), model_random(&state, dtype, b)};
      uint32_t rank = a.rank > b.rank ? a.rank : b.rank;
      outcome expected = operate(&state, hiaR_e_PRODUCT, 0, plain, 2, rank);
      cr_assert_eq(expected.status, is_right ? HIA_OK : HIA_SHAPE);
      for (int k = 0; k < 2; k++) {
        model ins[] = {plain[0], plain[1]};
        ins[k] = transpose(&plain[k]);
        outcome is = operate(&state, k ? hiaR_e_PRODUCT_BT : hiaR_e_PRODUCT_AT, 0, ins, 2, rank);
        cr_assert_eq(is.status, expected.status);
        if (is_right)
          expect(&is, &expected.result, k ? "product_bt" : "product_at");
        else
          model_free(&is.result);
        model_free(&ins[k]);
      }
      model_free(&expected.result);
      for (int i = 0; i < 2; i++) model_free(&plain[i]);
    }
}
