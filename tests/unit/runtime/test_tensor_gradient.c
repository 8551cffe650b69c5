/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations that gradients need: tensor/fit and collect, and products of transposed matrices,
 * against naive code. Sums are made at random, of all constructors; some are millions deep. */
#include "graph/ir/sums.h"
#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static tensor_world w;

static void begin(void) { world_begin(&w, &hiaR_malloc, false); }
static void end(void) { cr_assert(world_end(&w)); }

/* ---- arithmetic on words ---- */

static hia_word apply(unsigned op, hia_dtype dtype, hia_word a, hia_word b, hia_word c) {
  hia_word slots[4] = {a, b, c};
  const uint16_t in[3] = {0, 1, 2};
  hiaR_kernel(op, dtype)(slots, in, 3, 0);
  return slots[3];
}
static hia_word plus(hia_dtype dtype, hia_word a, hia_word b) {
  return apply(HIA_OP_ADD, dtype, a, b, 0);
}
/* a * b + c, as products add. */
static hia_word plus_product(hia_dtype dtype, hia_word a, hia_word b, hia_word c) {
  if (dtype >= HIA_F32) return apply(HIA_OP_FMA, dtype, a, b, c);
  return plus(dtype, apply(HIA_OP_MUL, dtype, a, b, 0), c);
}

static const int64_t sizes[] = {0, 1, 2, 3, 5, 17, 1, 2, 3, 1};
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

/* ---- sums ---- */

static hia_comp comp;
static hia_types types;
static hia_shapes *shapes;
static size_t shapes_size;

static void begin_sums(void) {
  begin();
  hiaR_comp_init(&comp, &hiaR_malloc);
  hiaG_types_init(&types, &comp);
  for (hia_dtype dtype = HIA_F32; dtype <= HIA_F64; dtype++) hiaG_sum_type(&types, dtype, 4);
  hia_type_table table = hiaG_type_table(&types);
  cr_assert_eq(hiaR_shapes_new(&table, &hiaR_malloc, &shapes, &shapes_size), HIA_OK);
  w.env.shapes = shapes;
}
static void end_sums(void) {
  end();
  hiaR_free(&hiaR_malloc, shapes, shapes_size);
  hiaR_comp_free(&comp);
}

static uint32_t base_of(hia_dtype dtype, uint32_t rank) {
  return hiaR_shape_base(shapes, hiaG_sum_type(&types, dtype, rank));
}

/* An object of a sum: the words of its fields, which it keeps. 0: no memory. */
static hia_word make(hia_dtype dtype, uint32_t rank, hia_sum_ctor number, hia_word a, hia_word b) {
  const hia_type_entry *entry =
      &types.entries.data[hiaG_sum_type(&types, dtype, rank) - HIA_FIRST_TYPE];
  const hia_ctor *ctor = &types.ctors.data[entry->first + number];
  const hia_layout_word *layout_words = types.layout_words.data + ctor->layout.first;
  const hia_word words[] = {a, b};
  hia_counted *object = hiaR_heap_alloc(&w.local, ctor->layout.size);
  if (!object) return 0;
  hiaR_object_begin(object, (uint16_t)number);
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    hiaR_store((hia_repr)layout_words[i].repr, (char *)object + layout_words[i].at, words[i]);
  return (uintptr_t)object;
}
static void drop_sum(hia_dtype dtype, uint32_t rank, hia_word sum) {
  hiaR_drop(&w.local, shapes, sum, base_of(dtype, rank), false);
}

static hia_word tensor_of(const model *m) { return make_tensor(&w, m); }

/* What a sum is added to: a model, and the part of it that begins at an element. */
typedef struct target {
  model *to;
  uint64_t at;
  hia_dims dims;
} target;

/* Values whose sums do not overflow: NaNs would hide mistakes. */
static model small(uint32_t *state, hia_dtype dtype, hia_dims dims) {
  model m = model_new(dtype, dims);
  for (uint64_t i = 0; i < m.n; i++) {
    double x = ((double)random_to(state, 1 << 16) - 32768) / 1000;
    m.words[i] = dtype == HIA_F32 ? hiaR_from_f32((float)x) : hiaR_from_f64(x);
  }
  return m;
}

static uint64_t row_of(const hia_dims *dims) {
  uint64_t n = 1;
  for (uint32_t i = 1; i < dims->rank; i++) n *= (uint64_t)dims->dims[i];
  return n;
}

/* Makes a sum at random, of some depth, and adds it to the target as it is defined. */
static hia_word random_sum(uint32_t *state, target t, int depth, bool is_part) {
  hia_dtype dtype = t.to->dtype;
  uint32_t rank = t.dims.rank, kind = random_to(state, rank > 1 ? HIA_SUM_ALL : HIA_SUM_FEW);
  uint64_t row = row_of(&t.dims);
  hia_dims dims = t.dims;
  if (is_part && random_to(state, 2)) /* fewer rows */
    dims.dims[0] = random_to(state, (uint32_t)dims.dims[0] + 1);
  if (depth == 0 && (kind == HIA_SUM_BOTH || kind == HIA_SUM_PART)) kind = HIA_SUM_DENSE;
  if (depth > 0 && random_to(state, 2)) kind = HIA_SUM_BOTH;
  switch ((hia_sum_ctor)kind) {
  case HIA_SUM_BOTH: {
    hia_word a = random_sum(state, t, depth - 1, is_part);
    hia_word b = random_sum(state, t, depth - 1, is_part);
    return make(dtype, rank, HIA_SUM_BOTH, a, b);
  }
  case HIA_SUM_DENSE: {
    model x = small(state, dtype, dims);
    for (uint64_t i = 0; i < x.n; i++)
      t.to->words[t.at + i] = plus(dtype, t.to->words[t.at + i], x.words[i]);
    hia_word sum = make(dtype, rank, HIA_SUM_DENSE, tensor_of(&x), 0);
    model_free(&x);
    return sum;
  }
  case HIA_SUM_ROW: {
    if (t.dims.dims[0] == 0) return HIA_SUM_NOTHING;
    uint64_t i = random_to(state, (uint32_t)t.dims.dims[0]);
    t.at += i * row;
    if (rank == 1) {
      model x = small(state, dtype, dims_of(1, (int64_t)1));
      t.to->words[t.at] = plus(dtype, t.to->words[t.at], x.words[0]);
      hia_word sum = make(dtype, rank, HIA_SUM_ROW, i, x.words[0]);
      model_free(&x);
      return sum;
    }
    t.dims.rank--;
    memmove(t.dims.dims, t.dims.dims + 1, t.dims.rank * sizeof *t.dims.dims);
    return make(dtype, rank, HIA_SUM_ROW, i,
                random_sum(state, t, depth > 0 ? depth - 1 : 0, false));
  }
  case HIA_SUM_ROWS: {
    hia_dims of_index = dims_of(1, (int64_t)(t.dims.dims[0] ? random_to(state, 5) : 0));
    model index = model_new(HIA_I64, of_index);
    for (uint64_t i = 0; i < index.n; i++)
      index.words[i] = random_to(state, (uint32_t)t.dims.dims[0]);
    dims.dims[0] = of_index.dims[0];
    model x = small(state, dtype, dims);
    for (uint64_t i = 0; i < x.n; i++) {
      hia_word *to = &t.to->words[t.at + index.words[i / row] * row + i % row];
      *to = plus(dtype, *to, x.words[i]);
    }
    hia_word sum = make(dtype, rank, HIA_SUM_ROWS, tensor_of(&index), tensor_of(&x));
    model_free(&index);
    model_free(&x);
    return sum;
  }
  case HIA_SUM_PART: {
    uint64_t i = random_to(state, (uint32_t)t.dims.dims[0] + 1);
    t.at += i * row;
    t.dims.dims[0] -= (int64_t)i;
    return make(dtype, rank, HIA_SUM_PART, i, random_sum(state, t, depth - 1, true));
  }
  case HIA_SUM_OUTER:
  case HIA_SUM_PRODUCTS: {
    bool is_outer = kind == HIA_SUM_OUTER;
    int64_t k = is_outer ? 1 : random_to(state, 3) ? random_to(state, 4) : random_to(state, 40);
    int64_t m = 1, n = dims.dims[rank - 1];
    for (uint32_t i = 0; i + 1 < rank; i++) m *= dims.dims[i];
    model a = small(state, dtype, dims_of(2, k, m));
    model b = small(state, dtype, dims_of(2, k, n));
    for (int64_t p = 0; p < k; p++)
      for (uint64_t i = 0; i < (uint64_t)(m * n); i++) {
        hia_word *to = &t.to->words[t.at + i];
        *to = plus_product(dtype, a.words[p * m + (int64_t)i / n], b.words[p * n + (int64_t)i % n],
                           *to);
      }
    if (is_outer) a.dims = dims_of(1, m), b.dims = dims_of(1, n);
    hia_word sum = make(dtype, rank, (hia_sum_ctor)kind, tensor_of(&a), tensor_of(&b));
    model_free(&a);
    model_free(&b);
    return sum;
  }
  default: return HIA_SUM_NOTHING;
  }
}

static hia_status collect(hia_word sum, hia_word like, hia_word *out, hia_misfortune *why) {
  const hia_word in[] = {sum, like};
  hia_operation o = {
      .n_in = 2, .tensors = 2, .dtype = (uint8_t)hiaR_tensor_dtype(hiaR_tensor(like))};
  *out = 0;
  return hiaR_e_COLLECT(&w.env, &o, in, out, why);
}

static hia_status touched(hia_word sum, hia_word like, hia_word *out) {
  const hia_word in[] = {sum, like};
  hia_operation o = {
      .n_in = 2, .tensors = 2, .dtype = (uint8_t)hiaR_tensor_dtype(hiaR_tensor(like))};
  hia_misfortune why;
  *out = 0;
  return hiaR_e_TOUCHED(&w.env, &o, in, out, &why);
}
static hia_status collect_rows(hia_word sum, hia_word rows, hia_word like, hia_word *out) {
  const hia_word in[] = {sum, rows, like};
  hia_operation o = {
      .n_in = 3, .tensors = 6, .dtype = (uint8_t)hiaR_tensor_dtype(hiaR_tensor(like))};
  hia_misfortune why;
  *out = 0;
  return hiaR_e_COLLECT_ROWS(&w.env, &o, in, out, &why);
}

static uint32_t n_sparse; /* sums that touch some rows but not all */

/* The rows that it touches are what is expected, and all others are zeros. */
static void check_rows(hia_word sum, hia_word like, const model *expected) {
  hia_word rows, out, fewer;
  cr_assert_eq(touched(sum, like, &rows), HIA_OK);
  cr_assert_eq(collect_rows(sum, rows, like, &out), HIA_OK);
  model numbers = read_tensor(rows), is = read_tensor(out);
  uint64_t n_rows = (uint64_t)expected->dims.dims[0], row = n_rows ? expected->n / n_rows : 0;
  cr_assert_eq(is.n, numbers.n * row);
  uint64_t k = 0;
  for (uint64_t i = 0; i < n_rows; i++) {
    bool is_there = k < numbers.n && numbers.words[k] == i;
    for (uint64_t c = 0; c < row; c++)
      cr_assert_eq(is_there ? is.words[k * row + c] : 0, expected->words[i * row + c]);
    k += is_there;
  }
  cr_assert_eq(k, numbers.n, "a row is out of order, or there is none such");
  n_sparse += k && k < n_rows;
  if (k) { /* one that it touches is missing */
    numbers.dims.dims[0]--;
    numbers.n--;
    fewer = tensor_of(&numbers);
    hia_word none;
    cr_assert_eq(collect_rows(sum, fewer, like, &none), HIA_SHAPE);
    hiaR_tensor_drop(&w.local, fewer, false);
  }
  model_free(&numbers);
  model_free(&is);
  hiaR_tensor_drop(&w.local, rows, false);
  hiaR_tensor_drop(&w.local, out, false);
}

static void check_sum(hia_word sum, const model *expected) {
  hia_misfortune why;
  hia_word like = tensor_of(expected), out;
  cr_assert_eq(collect(sum, like, &out, &why), HIA_OK);
  model is = read_tensor(out);
  cr_assert(model_equals(&is, expected), "rank %u", expected->dims.rank);
  model_free(&is);
  check_rows(sum, like, expected);
  hiaR_tensor_drop(&w.local, out, false);
  hiaR_tensor_drop(&w.local, like, false);
}

Test(tensor_gradient, collect, .init = begin_sums, .fini = end_sums) {
  uint32_t state = 6;
  for (hia_dtype dtype = HIA_F32; dtype <= HIA_F64; dtype++)
    for (int round = 0; round < 1500 / HIA_TEST_SHARE; round++) {
      hia_dims dims = some_shape(&state, 1 + random_to(&state, 4), 700);
      model expected = model_new(dtype, dims);
      target t = {&expected, 0, dims};
      hia_word sum = random_sum(&state, t, (int)random_to(&state, 7), false);
      check_sum(sum, &expected);
      drop_sum(dtype, dims.rank, sum);
      model_free(&expected);
    }
  cr_assert_gt(n_sparse, 80 / HIA_TEST_SHARE);
}

/* Hundreds of outer products, with lengths at which the kernels have rests, and others between. */
Test(tensor_gradient, many_outer_products, .init = begin_sums, .fini = end_sums) {
  uint32_t state = 7;
  static const int64_t lens[][2] = {{1, 1}, {3, 70}, {65, 33}, {16, 256}, {256, 5}, {100, 130}};
  for (hia_dtype dtype = HIA_F32; dtype <= HIA_F64; dtype++)
    for (size_t i = 0; i < HIA_LEN(lens); i++) {
      hia_dims dims = dims_of(2, lens[i][0], lens[i][1]);
      model expected = model_new(dtype, dims);
      hia_word sum = HIA_SUM_NOTHING;
      for (int k = 0; k < 200 / HIA_TEST_SHARE + 70; k++) {
        model a = small(&state, dtype, dims_of(1, lens[i][0]));
        model b = small(&state, dtype, dims_of(1, lens[i][1]));
        for (uint64_t j = 0; j < expected.n; j++)
          expected.words[j] =
              plus_product(dtype, a.words[j / b.n], b.words[j % b.n], expected.words[j]);
        sum = make(dtype, 2, HIA_SUM_BOTH, sum,
                   make(dtype, 2, HIA_SUM_OUTER, tensor_of(&a), tensor_of(&b)));
        model_free(&a);
        model_free(&b);
        if (k % 83 == 82) {
          target t = {&expected, 0, dims};
          sum = make(dtype, 2, HIA_SUM_BOTH, sum, random_sum(&state, t, 0, false));
        }
      }
      check_sum(sum, &expected);
      drop_sum(dtype, 2, sum);
      model_free(&expected);
    }
}

/* Millions deep on either side, and parts of parts. No stack of C would do. */
Test(tensor_gradient, deep_sums, .init = begin_sums, .fini = end_sums) {
  enum { N = 2000000 / HIA_TEST_SHARE };
  for (int side = 0; side < 4; side++) {
    model expected = model_new(HIA_F32, dims_of(1, side == 3 ? (int64_t)N : (int64_t)3));
    hia_word sum = HIA_SUM_NOTHING, one = hiaR_from_f32(1);
    for (uint64_t i = 0; i < N; i++) {
      hia_word leaf = make(HIA_F32, 1, HIA_SUM_ROW, side == 3 ? 0 : i % 3, one);
      if (side == 3) sum = make(HIA_F32, 1, HIA_SUM_PART, i ? 1 : 0, sum); /* of all that follows */
      sum = side % 2 ? make(HIA_F32, 1, HIA_SUM_BOTH, leaf, sum)
                     : make(HIA_F32, 1, HIA_SUM_BOTH, sum, leaf);
      if (side == 2) sum = make(HIA_F32, 1, HIA_SUM_PART, 0, sum);
    }
    for (uint64_t i = 0; i < expected.n; i++)
      expected.words[i] = hiaR_from_f32(side == 3 ? 1.0f : (float)(N / 3 + (i < (uint64_t)N % 3)));
    check_sum(sum, &expected);
    drop_sum(HIA_F32, 1, sum);
    model_free(&expected);
  }
}

/* A tensor that is all that a sum has is the result itself; but nothing else is. */
Test(tensor_gradient, one_tensor, .init = begin_sums, .fini = end_sums) {
  model x = model_new(HIA_F64, dims_of(2, (int64_t)2, (int64_t)2));
  x.words[0] = hiaR_from_f64(-0.0);
  hia_misfortune why;
  hia_word tensor = tensor_of(&x), sum = make(HIA_F64, 2, HIA_SUM_DENSE, tensor, 0), out;
  sum = make(HIA_F64, 2, HIA_SUM_BOTH, sum, HIA_SUM_NOTHING);
  cr_assert_eq(collect(sum, tensor, &out, &why), HIA_OK);
  cr_assert_eq(out, tensor);
  hiaR_tensor_drop(&w.local, out, false);
  hiaR_dup(sum, false);
  sum = make(HIA_F64, 2, HIA_SUM_BOTH, sum, sum);
  cr_assert_eq(collect(sum, tensor, &out, &why), HIA_OK);
  cr_assert_neq(out, tensor);
  hiaR_tensor_drop(&w.local, out, false);
  cr_assert_eq(collect(HIA_SUM_NOTHING, tensor, &out, &why), HIA_OK);
  cr_assert_eq(hiaR_tensor_get(hiaR_tensor(out), 0), 0);
  hiaR_tensor_drop(&w.local, out, false);
  drop_sum(HIA_F64, 2, sum);
  model_free(&x);
}

/* ---- what does not fit ---- */

Test(tensor_gradient, sums_that_do_not_fit, .init = begin_sums, .fini = end_sums) {
  model like = model_new(HIA_F32, dims_of(2, (int64_t)3, (int64_t)2));
  model three = model_new(HIA_F32, dims_of(1, (int64_t)3)),
        two = model_new(HIA_F32, dims_of(1, (int64_t)2));
  model less = model_new(HIA_F32, dims_of(2, (int64_t)2, (int64_t)2));
  model wide = model_new(HIA_F32, dims_of(2, (int64_t)3, (int64_t)3));
  model index = model_new(HIA_I64, dims_of(1, (int64_t)2)),
        one = model_new(HIA_I64, dims_of(1, (int64_t)1));
  index.words[1] = 3;
#define T(m)            tensor_of(&(m))
#define SUM(ctor, a, b) make(HIA_F32, 2, HIA_SUM_##ctor, a, b)
  const hia_word sums[] = {
      SUM(DENSE, T(less), 0),
      SUM(DENSE, T(wide), 0),
      SUM(OUTER, T(two), T(two)),
      SUM(OUTER, T(three), T(three)),
      SUM(PRODUCTS, T(less), T(less)),
      SUM(PRODUCTS, T(wide), T(wide)),
      SUM(PRODUCTS, T(wide), T(less)),
      SUM(ROW, hiaR_from_i64(-1), make(HIA_F32, 1, HIA_SUM_DENSE, T(two), 0)),
      SUM(ROW, 3, make(HIA_F32, 1, HIA_SUM_DENSE, T(two), 0)),
      SUM(ROW, INT64_MAX, HIA_SUM_NOTHING),
      SUM(ROW, 1, make(HIA_F32, 1, HIA_SUM_DENSE, T(three), 0)),
      SUM(ROW, 1, make(HIA_F32, 1, HIA_SUM_ROW, 2, 0)),
      SUM(PART, hiaR_from_i64(-1), SUM(DENSE, T(less), 0)),
      SUM(PART, 2, SUM(DENSE, T(less), 0)),
      SUM(PART, 4, HIA_SUM_NOTHING),
      SUM(PART, 1, SUM(OUTER, T(three), T(two))),
      SUM(ROWS, T(index), T(less)),
      SUM(ROWS, T(one), T(less)),
      SUM(ROWS, T(index), T(wide)),
  };
  hia_word tensor = tensor_of(&like), out;
  for (size_t i = 0; i < HIA_LEN(sums); i++)
    for (int k = 0; k < 3; k++) { /* alone; behind a tensor that fits; behind outer products */
      hia_misfortune why = {0};
      hia_word sum = sums[i];
      hiaR_dup(sum, false);
      if (k == 1) sum = SUM(BOTH, SUM(DENSE, T(like), 0), sum);
      if (k == 2) sum = SUM(BOTH, SUM(OUTER, T(three), T(two)), sum);
      cr_assert_eq(collect(sum, tensor, &out, &why), HIA_SHAPE, "%zu", i);
      cr_assert_eq(out, 0);
      hia_text text;
      hiaR_text_init(&text, &comp.arena);
      hiaR_misfit_print(&why.misfit, NULL, &text);
      cr_assert_gt(text.len, 10);
      drop_sum(HIA_F32, 2, sum);
    }
  for (size_t i = 0; i < HIA_LEN(sums); i++) drop_sum(HIA_F32, 2, sums[i]);
  hiaR_tensor_drop(&w.local, tensor, false);
  model *all[] = {&like, &three, &two, &less, &wide, &index, &one};
  for (size_t i = 0; i < HIA_LEN(all); i++) model_free(all[i]);
}

/* ---- runs that end ---- */

static int left; /* questions until the run must end */
static bool ends_at_last(void *user) {
  (void)user;
  return --left <= 0;
}

/* A sum of some of all. */
static hia_word of_all(uint32_t *state, int64_t n, model *expected) {
  *expected = model_new(HIA_F32, dims_of(2, n, n));
  target t = {expected, 0, expected->dims};
  hia_word sum = HIA_SUM_NOTHING;
  for (int i = 0; i < 200; i++)
    sum = make(HIA_F32, 2, HIA_SUM_BOTH, sum, random_sum(state, t, 2, false));
  return sum;
}

Test(tensor_gradient, runs_end_in_the_middle, .init = begin_sums, .fini = end_sums) {
  uint32_t state = 8;
  model expected;
  hia_word sum = of_all(&state, 150, &expected), like = tensor_of(&expected), out;
  hia_misfortune why;
  w.heap.must_end = ends_at_last;
  left = INT32_MAX;
  cr_assert_eq(collect(sum, like, &out, &why), HIA_OK);
  hiaR_tensor_drop(&w.local, out, false);
  int asked = INT32_MAX - left;
  cr_assert_geq(asked, 10);
  for (int at = 1; at <= asked; at += asked / 20 + 1) {
    left = at;
    cr_assert_eq(collect(sum, like, &out, &why), HIA_CANCELLED);
    cr_assert_eq(left, 0, "it goes on after it was told to end");
  }
  w.heap.must_end = NULL;
  hiaR_tensor_drop(&w.local, like, false);
  drop_sum(HIA_F32, 2, sum);
  model_free(&expected);
}

/* Whatever memory a run has left: it is enough, or the status says so and nothing is lost. */
Test(tensor_gradient, runs_with_little_memory, .init = begin_sums, .fini = end_sums) {
  uint32_t state = 9;
  model expected;
  hia_word sum = of_all(&state, 250, &expected), like = tensor_of(&expected), out;
  for (int i = 0; i < 100; i++) sum = make(HIA_F32, 2, HIA_SUM_BOTH, sum, HIA_SUM_NOTHING);
  hia_misfortune why;
  size_t used = w.heap.bytes;
  int n_ok = 0, n_not = 0;
  for (size_t more = 0; more < 1 << 20; more += 4096) {
    hiaR_local_hand_over(&w.local);
    w.heap.limit = used + more;
    hia_status status = collect(sum, like, &out, &why);
    cr_assert(status == HIA_OK || status == HIA_MEMORY);
    *(status ? &n_not : &n_ok) += 1;
    if (!status) hiaR_tensor_drop(&w.local, out, false);
  }
  cr_assert(n_ok && n_not, "%d %d", n_ok, n_not);
  w.heap.limit = SIZE_MAX;
  hiaR_tensor_drop(&w.local, like, false);
  drop_sum(HIA_F32, 2, sum);
  model_free(&expected);
}
