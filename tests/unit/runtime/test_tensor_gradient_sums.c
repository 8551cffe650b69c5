/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums of gradients, which tensor/collect adds up, against naive code. They are made at random, of
 * all constructors; some are millions deep. */
#include "graph/ir/sums.h"
#include "tests/unit/helpers/tensor_gradient.h"

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
static hia_word make_of(hia_dtype dtype, uint32_t rank, hia_sum_ctor number,
                        const hia_word *words) {
  const hia_type_entry *entry =
      &types.entries.data[hiaG_sum_type(&types, dtype, rank) - HIA_FIRST_TYPE];
  const hia_ctor *ctor = &types.ctors.data[entry->first + number];
  const hia_layout_word *places = types.layout_words.data + ctor->layout.first;
  hia_counted *object = hiaR_heap_alloc(&w.local, ctor->layout.size);
  if (!object) return 0;
  hiaR_object_begin(object, (uint16_t)number);
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    hiaR_store((hia_repr)places[i].repr, (char *)object + places[i].at, words[i]);
  return (uintptr_t)object;
}
static hia_word make(hia_dtype dtype, uint32_t rank, hia_sum_ctor number, hia_word a, hia_word b) {
  return make_of(dtype, rank, number, (const hia_word[]){a, b});
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

/* The tensors of an OUTER of a and b; or, if `first` is not below 0, of a PAIR, with so many
 * elements of b first. Returns how many. */
static uint32_t tensors_of(const model *a, const model *b, int64_t first, hia_word tensors[3]) {
  tensors[0] = tensor_of(a);
  if (first < 0) {
    tensors[1] = tensor_of(b);
    return 2;
  }
  model ends[2] = {*b, *b};
  ends[0].n = (uint64_t)first, ends[0].dims.dims[0] = first;
  ends[1].n -= (uint64_t)first, ends[1].dims.dims[0] -= first, ends[1].words += first;
  for (int i = 0; i < 2; i++) tensors[i + 1] = tensor_of(&ends[i]);
  return 3;
}

static hia_word outer_of(uint32_t rank, const model *a, const model *b, int64_t first) {
  hia_word tensors[3];
  tensors_of(a, b, first, tensors);
  return make_of(a->dtype, rank, first < 0 ? HIA_SUM_OUTER : HIA_SUM_PAIR, tensors);
}

/* Adds a tensor of these dims to the target. */
static hia_word add_dense(uint32_t *state, target t, hia_dims dims) {
  hia_dtype dtype = t.to->dtype;
  model x = small(state, dtype, dims);
  for (uint64_t i = 0; i < x.n; i++)
    t.to->words[t.at + i] = plus(dtype, t.to->words[t.at + i], x.words[i]);
  hia_word tensor = tensor_of(&x);
  model_free(&x);
  return tensor;
}

/* Adds the outer products of the rows of two matrices, or, if it is no PRODUCTS, of two vectors, of
 * which a PAIR has the second one in two parts. Returns the number of tensors. */
static uint32_t add_outers(uint32_t *state, target t, hia_dims dims, hia_sum_ctor ctor,
                           hia_word tensors[3]) {
  bool is_outer = ctor != HIA_SUM_PRODUCTS,
       is_pair = ctor == HIA_SUM_PAIR || ctor == HIA_SUM_PAIR_THEN;
  hia_dtype dtype = t.to->dtype;
  uint32_t rank = dims.rank;
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
  int64_t first = random_to(state, 3) ? n / 2 : random_to(state, (uint32_t)n + 1);
  uint32_t n_tensors = tensors_of(&a, &b, is_pair ? first : -1, tensors);
  model_free(&a);
  model_free(&b);
  return n_tensors;
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
  case HIA_SUM_DENSE: return make(dtype, rank, HIA_SUM_DENSE, add_dense(state, t, dims), 0);
  case HIA_SUM_DENSE_THEN:
  case HIA_SUM_OUTER_THEN:
  case HIA_SUM_PAIR_THEN: {
    hia_word words[5];
    uint32_t n = 1;
    if (kind != HIA_SUM_DENSE_THEN)
      n = add_outers(state, t, dims, (hia_sum_ctor)kind, words);
    else
      words[0] = add_dense(state, t, dims);
    for (uint32_t i = 0; i < 2; i++)
      words[n++] = depth ? random_sum(state, t, depth - 1, is_part) : HIA_SUM_NOTHING;
    return make_of(dtype, rank, (hia_sum_ctor)kind, words);
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
  case HIA_SUM_PAIR:
  case HIA_SUM_PRODUCTS: {
    hia_word tensors[3];
    add_outers(state, t, dims, (hia_sum_ctor)kind, tensors);
    return make_of(dtype, rank, (hia_sum_ctor)kind, tensors);
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

/* Hundreds of outer products, with lengths at which the kernels have rests, and others between;
 * with second vectors that are one, in two parts of equal lengths, and now and then of others. */
Test(tensor_gradient, many_outer_products, .init = begin_sums, .fini = end_sums) {
  uint32_t state = 7;
  static const int64_t lens[][2] = {{1, 1}, {3, 70}, {65, 33}, {16, 256}, {256, 5}, {100, 130}};
  for (hia_dtype dtype = HIA_F32; dtype <= HIA_F64; dtype++)
    for (size_t i = 0; i < 3 * HIA_LEN(lens); i++) {
      int64_t m = lens[i / 3][0], n = lens[i / 3][1];
      hia_dims dims = dims_of(2, m, n);
      model expected = model_new(dtype, dims);
      hia_word sum = HIA_SUM_NOTHING;
      for (int k = 0; k < 200 / HIA_TEST_SHARE + 70; k++) {
        model a = small(&state, dtype, dims_of(1, m)), b = small(&state, dtype, dims_of(1, n));
        for (uint64_t j = 0; j < expected.n; j++)
          expected.words[j] =
              plus_product(dtype, a.words[j / b.n], b.words[j % b.n], expected.words[j]);
        int64_t first = i % 3 == 0 ? -1 : i % 3 == 1 ? n / 2 : k % 50 / 10 * n / 4;
        sum = make(dtype, 2, HIA_SUM_BOTH, sum, outer_of(2, &a, &b, first));
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

static hia_word add_outer_products(uint32_t *state, hia_word sum, model *expected, int n,
                                   int64_t first) {
  hia_dtype dtype = expected->dtype;
  while (n--) {
    model a = small(state, dtype, dims_of(1, expected->dims.dims[0])),
          b = small(state, dtype, dims_of(1, expected->dims.dims[1]));
    for (uint64_t j = 0; j < expected->n; j++)
      expected->words[j] =
          plus_product(dtype, a.words[j / b.n], b.words[j % b.n], expected->words[j]);
    sum = make(dtype, 2, HIA_SUM_BOTH, sum, outer_of(2, &a, &b, first));
    model_free(&a);
    model_free(&b);
  }
  return sum;
}

/* The sum for a matrix whose columns fill vectors badly is transposed, until something else is
 * added to it. With too little memory it is not. */
Test(tensor_gradient, many_outer_products_of_few_columns, .init = begin_sums, .fini = end_sums) {
  uint32_t state = 11;
  for (hia_dtype dtype = HIA_F32; dtype <= HIA_F64; dtype++)
    for (int which = 0; which < 8; which++) {
      int kind = which % 4;
      int64_t first = which < 4 ? -1 : 8;
      hia_dims dims = dims_of(2, (int64_t)400, (int64_t)17);
      model expected = model_new(dtype, dims);
      target t = {&expected, 0, dims};
      hia_word sum = HIA_SUM_NOTHING;
      if (kind == 3) sum = random_sum(&state, t, 0, false);
      sum = add_outer_products(&state, sum, &expected, kind == 2 ? 241 : 500, first);
      if (kind == 1) {
        sum = make(dtype, 2, HIA_SUM_BOTH, sum, random_sum(&state, t, 0, false));
        sum = add_outer_products(&state, sum, &expected, 20, first);
      }
      check_sum(sum, &expected);
      hia_word like = tensor_of(&expected), out;
      hia_misfortune why;
      size_t each = 400 * 17 * (dtype == HIA_F32 ? 4 : 8), used = w.heap.bytes, n_ok = 0;
      for (size_t more = each / 2; more < 4 * each; more += each / 4) {
        w.heap.limit = used + more;
        hia_status status = collect(sum, like, &out, &why);
        cr_assert(status == HIA_OK || status == HIA_MEMORY);
        n_ok += status == HIA_OK;
        if (!status) hiaR_tensor_drop(&w.local, out, false);
      }
      w.heap.limit = SIZE_MAX;
      cr_assert_gt(n_ok, 4);
      hiaR_tensor_drop(&w.local, like, false);
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

/* Parts of a sum wait to be added; what is found to be wrong without waiting must not come first.
 */
Test(tensor_gradient, first_misfit_is_reported, .init = begin_sums, .fini = end_sums) {
  model like = model_new(HIA_F32, dims_of(2, (int64_t)3, (int64_t)2));
  model wide = model_new(HIA_F32, dims_of(2, (int64_t)3, (int64_t)3));
  hia_word tensor = tensor_of(&like), out;
  for (int before = 0; before < 12; before++) {
    hia_misfortune why = {0};
    hia_word sum = HIA_SUM_NOTHING;
    for (int k = 0; k < before; k++) sum = SUM(BOTH, sum, SUM(DENSE, T(like), 0));
    sum = SUM(BOTH, sum, SUM(DENSE, T(wide), 0));
    for (int k = 0; k < 3; k++) sum = SUM(BOTH, sum, SUM(ROW, hiaR_from_i64(7), HIA_SUM_NOTHING));
    cr_assert_eq(collect(sum, tensor, &out, &why), HIA_SHAPE);
    cr_assert_eq(why.misfit.kind, HIA_MISFIT_DIM, "behind %d", before);
    drop_sum(HIA_F32, 2, sum);
  }
  hiaR_tensor_drop(&w.local, tensor, false);
  model_free(&like);
  model_free(&wide);
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
  hia_word sum = of_all(&state, 380, &expected), like = tensor_of(&expected), out;
  for (int i = 0; i < 100; i++) sum = make(HIA_F32, 2, HIA_SUM_BOTH, sum, HIA_SUM_NOTHING);
  hia_misfortune why;
  size_t used = w.heap.bytes;
  int n_ok = 0, n_not = 0;
  for (size_t more = 0; more < 1 << 20; more += 16384) {
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
