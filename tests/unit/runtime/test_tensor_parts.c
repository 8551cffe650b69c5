/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tensor/make, part: against naive code; views and reuse; every failure with what it says; runs
 * that end in the middle; memory that is not there, in all kernels. */
#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static tensor_world w;
static uint32_t state = 21;

static const int64_t sizes[] = {0, 1, 2, 3, 5, 17, 33, 1, 2, 3};
static hia_dims some_shape(uint32_t rank, uint64_t most) {
  hia_dims dims = {.rank = rank};
  uint64_t n = 1;
  for (uint32_t i = 0; i < rank; i++) {
    dims.dims[i] = sizes[random_to(&state, HIA_LEN(sizes))];
    if (n * (uint64_t)dims.dims[i] > most) dims.dims[i] = 1;
    n *= (uint64_t)dims.dims[i];
  }
  return dims;
}
static how some_how(void) { return (how)random_to(&state, N_HOWS); }

/* Runs it, compares, and frees everything. */
static void check(const char *name, hia_operate f, hia_operation o, model *ins, const how *hows,
                  uint32_t n, model *expected) {
  outcome is = run_operation(&w, f, o, ins, hows, n, expected->dtype, expected->dims.rank);
  cr_assert_eq(is.status, HIA_OK, "%s: status %d", name, (int)is.status);
  cr_assert(is.is_sane, "%s", name);
  cr_assert(model_equals(&is.result, expected), "%s", name);
  for (uint32_t i = 0; i < n; i++) model_free(&ins[i]);
  model_free(expected);
  model_free(&is.result);
}
/* Runs what fails. */
static hia_misfortune fail(const char *name, hia_operate f, hia_operation o, model *ins,
                           const how *hows, uint32_t n, hia_status status) {
  outcome is = run_operation(&w, f, o, ins, hows, n, HIA_BOOL, 0);
  cr_assert_eq(is.status, status, "%s: status %d", name, (int)is.status);
  cr_assert(is.is_sane, "%s", name);
  for (uint32_t i = 0; i < n; i++) model_free(&ins[i]);
  model_free(&is.result);
  return is.why;
}
static void begin(void) { world_begin(&w, &hiaR_malloc, random_to(&state, 2)); }
static void end(void) { cr_assert(world_end(&w)); }
#define EACH_DTYPE for (hia_dtype dtype = HIA_BOOL; dtype < HIA_N_DTYPES; dtype++)

/* ---- make ---- */

Test(tensor_parts, full, .init = begin, .fini = end) {
  EACH_DTYPE
  for (int round = 0; round < 60; round++) {
    hia_dims dims = some_shape(random_to(&state, 5), 100000);
    model ins[5] = {model_scalar(dtype, round ? random_element(&state, dtype) : 0)};
    model expected = model_new(dtype, dims);
    for (uint64_t i = 0; i < expected.n; i++) expected.words[i] = ins[0].words[0];
    for (uint32_t i = 0; i < dims.rank; i++) ins[1 + i] = model_i64(dims.dims[i]);
    hia_operation o = {.dtype = (uint8_t)dtype};
    check("full", hiaR_e_FULL, o, ins, (how[5]){LENT}, 1 + dims.rank, &expected);
  }
  hia_operation o = {.dtype = HIA_F64};
  model ins[] = {model_scalar(HIA_F64, 0), model_i64(3), model_i64(-2)};
  hia_misfortune why = fail("full", hiaR_e_FULL, o, ins, (how[3]){LENT}, 3, HIA_SHAPE);
  cr_assert(why.misfit.kind == HIA_MISFIT_NEGATIVE && why.misfit.axis_a == 1);
  cr_assert_eq(why.misfit.from, -2);
  model large[] = {model_scalar(HIA_F64, 0), model_i64((int64_t)1 << 32),
                   model_i64((int64_t)1 << 32)};
  why = fail("full", hiaR_e_FULL, o, large, (how[3]){LENT}, 3, HIA_SHAPE);
  cr_assert_eq(why.misfit.kind, HIA_MISFIT_LARGE);
  model none[] = {model_scalar(HIA_F64, 0), model_i64((int64_t)1 << 50)};
  w.heap.limit = 1 << 20;
  fail("full", hiaR_e_FULL, o, none, (how[3]){LENT}, 2, HIA_MEMORY);
}

Test(tensor_parts, iota_and_one_hot, .init = begin, .fini = end) {
  for (size_t k = 0; k <= HIA_LEN(sizes); k++) {
    int64_t n = k < HIA_LEN(sizes) ? sizes[k] : 100001;
    model expected = model_new(HIA_I64, dims_of(1, n)), in = model_i64(n);
    for (uint64_t i = 0; i < expected.n; i++) expected.words[i] = i;
    check("iota", hiaR_e_IOTA, (hia_operation){.dtype = HIA_I64}, &in, (how[]){LENT}, 1, &expected);
    EACH_DTYPE
    for (int64_t i = 0; i < n && i < 40; i++) {
      model hot = model_new(dtype, dims_of(1, n)), ins[] = {model_i64(i), model_i64(n)};
      hot.words[i] = dtype == HIA_F32 ? hiaR_from_f32(1) : dtype == HIA_F64 ? hiaR_from_f64(1) : 1;
      hia_operation o = {.dtype = (uint8_t)dtype};
      check("one_hot", hiaR_e_ONE_HOT, o, ins, (how[]){LENT, LENT}, 2, &hot);
    }
  }
  hia_operation o = {.dtype = HIA_F32};
  model in = model_i64(-1);
  hia_misfortune why = fail("iota", hiaR_e_IOTA, o, &in, (how[]){LENT}, 1, HIA_SHAPE);
  cr_assert(why.misfit.kind == HIA_MISFIT_NEGATIVE && why.misfit.from == -1);
  static const int64_t bad[][2] = {{-1, 5}, {5, 5}, {0, 0}};
  for (size_t i = 0; i < HIA_LEN(bad); i++) {
    model ins[] = {model_i64(bad[i][0]), model_i64(bad[i][1])};
    why = fail("one_hot", hiaR_e_ONE_HOT, o, ins, (how[]){LENT, LENT}, 2, HIA_RANGE);
    cr_assert(why.range.first == bad[i][0] && why.range.length == bad[i][1] && !why.is_slice);
  }
  model ins[] = {model_i64(0), model_i64(-1)};
  why = fail("one_hot", hiaR_e_ONE_HOT, o, ins, (how[]){LENT, LENT}, 2, HIA_SHAPE);
  cr_assert_eq(why.misfit.kind, HIA_MISFIT_NEGATIVE);
}

/* Where element i of the result of JOIN (has_axis) or STACK comes from: operand and element. */
static hia_word joined(const model *ins, uint32_t n, uint32_t axis, bool has_axis, uint64_t i) {
  uint64_t behind = 1, of_axis = 0;
  for (uint32_t k = axis + has_axis; k < ins[0].dims.rank; k++)
    behind *= (uint64_t)ins[0].dims.dims[k];
  for (uint32_t m = 0; m < n; m++) of_axis += has_axis ? (uint64_t)ins[m].dims.dims[axis] : 1;
  uint64_t before = i / behind / of_axis, at = i / behind % of_axis, c = i % behind;
  for (uint32_t m = 0; m < n; m++) {
    uint64_t own = has_axis ? (uint64_t)ins[m].dims.dims[axis] : 1;
    if (at < own) return ins[m].words[(before * own + at) * behind + c];
    at -= own;
  }
  return 0;
}

Test(tensor_parts, join_and_stack, .init = begin, .fini = end) {
  static const uint32_t counts[] = {1, 2, 3, 9, 66};
  EACH_DTYPE
  for (int round = 0; round < 60 / HIA_TEST_SHARE; round++)
    for (int has_axis = 0; has_axis < 2; has_axis++) {
      uint32_t n = counts[random_to(&state, HIA_LEN(counts))];
      uint32_t rank = has_axis ? 1 + random_to(&state, 4) : random_to(&state, 5);
      hia_dims first = some_shape(rank, 200), all[MOST_OPERANDS], shape;
      uint32_t axis = rank ? random_to(&state, rank + !has_axis) : 0;
      model ins[MOST_OPERANDS];
      how hows[MOST_OPERANDS];
      for (uint32_t i = 0; i < n; i++) {
        all[i] = first;
        if (has_axis) all[i].dims[axis] = sizes[random_to(&state, 5)];
        ins[i] = model_random(&state, dtype, all[i]);
        hows[i] = i < 62 ? some_how() : TAKEN; /* from operand 63 on they are alike */
      }
      hia_fit fit = (has_axis ? hiaR_shape_concat : hiaR_shape_stack)(all, n, axis, &shape, NULL);
      cr_assert_eq(fit, HIA_FIT_ALWAYS);
      model expected = model_new(dtype, shape);
      for (uint64_t i = 0; i < expected.n; i++)
        expected.words[i] = joined(ins, n, axis, has_axis, i);
      hia_operation o = {.dtype = (uint8_t)dtype, .imm = axis};
      check(has_axis ? "cat" : "stack", has_axis ? hiaR_e_CAT : hiaR_e_STACK, o, ins, hows, n,
            &expected);
    }
  for (uint32_t n = 2; n < 20; n += 17)
    for (int has_axis = 0; has_axis < 2; has_axis++) {
      model ins[20];
      how hows[20];
      for (uint32_t i = 0; i < n; i++) {
        ins[i] =
            model_random(&state, HIA_F32, dims_of(2, (int64_t)2, (int64_t)(i + 1 == n ? 4 : 3)));
        hows[i] = some_how();
      }
      hia_misfortune why = fail("cat", has_axis ? hiaR_e_CAT : hiaR_e_STACK,
                                (hia_operation){.dtype = HIA_F32}, ins, hows, n, HIA_SHAPE);
      cr_assert(why.misfit.kind == HIA_MISFIT_DIM && why.misfit.operand_b == n - 1);
    }
}

/* ---- part ---- */

Test(tensor_parts, dims, .init = begin, .fini = end) {
  model expected = model_i64(5),
        x = model_random(&state, HIA_F32, dims_of(2, (int64_t)3, (int64_t)5));
  check("dim", hiaR_e_DIM, (hia_operation){.imm = 1}, &x, (how[]){TAKEN}, 1, &expected);
}

Test(tensor_parts, rows, .init = begin, .fini = end) {
  EACH_DTYPE
  for (int round = 0; round < 100 / HIA_TEST_SHARE; round++) {
    hia_dims dims = some_shape(1 + random_to(&state, 4), 600), row = dims, whole;
    model x = model_random(&state, dtype, dims);
    uint64_t n = (uint64_t)dims.dims[0], size = n ? x.n / n : 1;
    row.rank--;
    memmove(row.dims, dims.dims + 1, row.rank * sizeof *row.dims);
    if (n) { /* x[i] */
      uint64_t i = random_to(&state, (uint32_t)n);
      model expected = model_new(dtype, row);
      memcpy(expected.words, x.words + i * size, expected.n * sizeof *x.words);
      model ins[] = {model_new(dtype, dims), model_i64((int64_t)i)};
      memcpy(ins[0].words, x.words, x.n * sizeof *x.words);
      check("row", hiaR_e_ROW, (hia_operation){0}, ins, (how[]){some_how(), LENT}, 2, &expected);
    }
    /* x[indices] */
    hia_dims of_index = some_shape(1 + random_to(&state, 2), 60);
    if (n == 0) of_index.dims[0] = 0;
    model index = model_new(round % 2 ? HIA_I32 : HIA_I64, of_index);
    for (uint64_t i = 0; i < index.n; i++) index.words[i] = random_to(&state, (uint32_t)n);
    cr_assert_eq(hiaR_shape_index(&dims, &of_index, &whole, NULL), HIA_FIT_ALWAYS);
    model expected = model_new(dtype, whole);
    for (uint64_t i = 0; i < expected.n; i++)
      expected.words[i] = x.words[index.words[i / size] * size + i % size];
    model ins[] = {x, index};
    check("rows", hiaR_e_ROWS, (hia_operation){0}, ins, (how[]){some_how(), some_how()}, 2,
          &expected);
  }
  for (how h = 0; h < N_HOWS; h++) {
    static const int64_t bad[] = {-1, 3, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < HIA_LEN(bad); i++) {
      hia_dims dims = dims_of(2, (int64_t)3, (int64_t)0);
      model ins[] = {model_new(HIA_F32, dims), model_i64(bad[i])};
      hia_misfortune why =
          fail("row", hiaR_e_ROW, (hia_operation){0}, ins, (how[]){h, LENT}, 2, HIA_RANGE);
      cr_assert(why.range.first == bad[i] && why.range.length == 3 && !why.is_slice);
      model more[] = {model_new(HIA_F32, dims), model_new(HIA_I64, dims_of(1, (int64_t)2))};
      more[1].words[1] = (hia_word)bad[i];
      why = fail("rows", hiaR_e_ROWS, (hia_operation){0}, more, (how[]){h, h}, 2, HIA_RANGE);
      cr_assert(why.range.first == bad[i] && why.range.length == 3 && !why.is_slice);
    }
  }
}

Test(tensor_parts, parts, .init = begin, .fini = end) {
  EACH_DTYPE
  for (int round = 0; round < 100 / HIA_TEST_SHARE; round++) {
    hia_dims dims = some_shape(1 + random_to(&state, 4), 600), shape;
    model x = model_random(&state, dtype, dims);
    uint32_t n = (uint32_t)dims.dims[0], from = random_to(&state, n + 1);
    uint32_t to = from + random_to(&state, n - from + 1);
    if (round % 4 == 0) from = 0, to = n;
    cr_assert_eq(hiaR_shape_slice(&dims, from, to, &shape, NULL), HIA_FIT_ALWAYS);
    model expected = model_new(dtype, shape), ins[] = {x, model_i64(from), model_i64(to)};
    if (expected.n)
      memcpy(expected.words, x.words + from * (x.n / n), expected.n * sizeof *x.words);
    check("part", hiaR_e_PART, (hia_operation){0}, ins, (how[]){some_how(), LENT, LENT}, 3,
          &expected);
  }
  static const int64_t bad[][2] = {{-1, 2}, {2, 1}, {0, 4}, {INT64_MIN, INT64_MAX}, {4, 4}};
  for (size_t i = 0; i < HIA_LEN(bad); i++)
    for (how h = 0; h < N_HOWS; h++) {
      model ins[] = {model_new(HIA_I64, dims_of(1, (int64_t)3)), model_i64(bad[i][0]),
                     model_i64(bad[i][1])};
      hia_misfortune why =
          fail("part", hiaR_e_PART, (hia_operation){0}, ins, (how[]){h, LENT, LENT}, 3, HIA_RANGE);
      cr_assert(why.is_slice && why.range.first == bad[i][0] && why.range.end == bad[i][1]);
      cr_assert_eq(why.range.length, 3);
    }
}

Test(tensor_parts, with, .init = begin, .fini = end) {
  EACH_DTYPE
  for (int round = 0; round < 200 / HIA_TEST_SHARE; round++) {
    hia_dims dims = some_shape(1 + random_to(&state, 4), 600), row = dims;
    if (dims.dims[0] == 0) continue;
    row.rank--;
    memmove(row.dims, dims.dims + 1, row.rank * sizeof *row.dims);
    model x = model_random(&state, dtype, dims), v = model_random(&state, dtype, row);
    model expected = model_new(dtype, dims);
    uint64_t i = random_to(&state, (uint32_t)dims.dims[0]);
    memcpy(expected.words, x.words, x.n * sizeof *x.words);
    memcpy(expected.words + i * v.n, v.words, v.n * sizeof *v.words);
    model ins[] = {x, model_i64((int64_t)i), v};
    how hows[] = {some_how(), LENT, some_how()};
    hia_operation o = {.dtype = (uint8_t)dtype};
    outcome is = run_operation(&w, hiaR_e_WITH, o, ins, hows, 3, dtype, dims.rank);
    if (x.n) cr_assert_eq(is.kept, how_is_last(hows[0]) ? 0 : HIA_NONE);
    model_free(&is.result);
    check("with", hiaR_e_WITH, o, ins, hows, 3, &expected);
  }
  for (how h = 0; h < N_HOWS; h++)
    for (int64_t i = -1; i <= 3; i++) {
      /* Both wrong: the index counts. */
      model ins[] = {model_new(HIA_F32, dims_of(2, (int64_t)3, (int64_t)4)), model_i64(i),
                     model_new(HIA_F32, dims_of(1, (int64_t)5))};
      bool is_index = i < 0 || i > 2;
      hia_misfortune why = fail("with", hiaR_e_WITH, (hia_operation){0}, ins, (how[]){h, LENT, h},
                                3, is_index ? HIA_RANGE : HIA_SHAPE);
      if (is_index)
        cr_assert(why.range.first == i && why.range.length == 3);
      else
        cr_assert(why.misfit.kind == HIA_MISFIT_DIM && why.misfit.operand_b == 1 &&
                  why.misfit.axis_a == 1);
    }
}

Test(tensor_parts, reshape, .init = begin, .fini = end) {
  static const struct {
    uint32_t from_rank;
    int64_t from[4];
    uint32_t to_rank;
    int64_t to[4];
  } cases[] = {{1, {12}, 2, {3, 4}},         {2, {3, 4}, 1, {12}},
               {2, {3, 4}, 2, {6, 2}},       {2, {3, 4}, 2, {3, 4}},
               {2, {1, 1}, 0, {0}},          {1, {0}, 3, {2, 0, 5}},
               {3, {2, 0, 5}, 3, {0, 0, 1}}, {4, {2, 3, 1, 2}, 3, {3, 2, 2}}};
  EACH_DTYPE
  for (size_t i = 0; i < HIA_LEN(cases); i++)
    for (how h = 0; h < N_HOWS; h++) {
      hia_dims from = {.rank = cases[i].from_rank}, to = {.rank = cases[i].to_rank};
      memcpy(from.dims, cases[i].from, sizeof cases[i].from);
      memcpy(to.dims, cases[i].to, sizeof cases[i].to);
      model ins[5] = {model_random(&state, dtype, from)}, expected = model_new(dtype, to);
      memcpy(expected.words, ins[0].words, ins[0].n * sizeof *ins[0].words);
      for (uint32_t k = 0; k < to.rank; k++) ins[1 + k] = model_i64(to.dims[k]);
      how hows[5] = {h};
      hia_operation o = {.dtype = (uint8_t)dtype};
      outcome is = run_operation(&w, hiaR_e_RESHAPE, o, ins, hows, 1 + to.rank, dtype, to.rank);
      if (to.rank == from.rank && (how_is_last(h) || h == VIEW_TAKEN)) cr_assert_eq(is.kept, 0);
      model_free(&is.result);
      check("reshape", hiaR_e_RESHAPE, o, ins, hows, 1 + to.rank, &expected);
    }
  for (how h = 0; h < N_HOWS; h++) {
    model ins[] = {model_new(HIA_F32, dims_of(1, (int64_t)12)), model_i64(5), model_i64(2)};
    hia_misfortune why = fail("reshape", hiaR_e_RESHAPE, (hia_operation){0}, ins,
                              (how[]){h, LENT, LENT}, 3, HIA_SHAPE);
    cr_assert(why.misfit.kind == HIA_MISFIT_COUNT && why.misfit.b.dims[0] == 5);
    model negative[] = {model_new(HIA_F32, dims_of(1, (int64_t)12)), model_i64(-3), model_i64(-4)};
    why = fail("reshape", hiaR_e_RESHAPE, (hia_operation){0}, negative, (how[]){h, LENT, LENT}, 3,
               HIA_SHAPE);
    cr_assert(why.misfit.kind == HIA_MISFIT_NEGATIVE && why.misfit.from == -3);
  }
}

Test(tensor_parts, transpose, .init = begin, .fini = end) {
  EACH_DTYPE
  for (size_t i = 0; i < HIA_LEN(sizes); i++)
    for (size_t k = 0; k < HIA_LEN(sizes); k++) {
      int64_t n = sizes[i], m = sizes[k];
      model x = model_random(&state, dtype, dims_of(2, n, m)),
            expected = model_new(dtype, dims_of(2, m, n));
      for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < m; b++) expected.words[b * n + a] = x.words[a * m + b];
      check("transpose", hiaR_e_TRANSPOSE, (hia_operation){0}, &x, (how[]){some_how()}, 1,
            &expected);
    }
}

Test(tensor_parts, expect, .init = begin, .fini = end) {
  for (how h = 0; h < N_HOWS; h++)
    for (uint64_t axes = 0; axes < 8; axes++) {
      hia_dims dims = dims_of(3, (int64_t)2, (int64_t)3, (int64_t)5);
      model ins[4] = {model_random(&state, HIA_F64, dims)}, expected = model_new(HIA_F64, dims);
      memcpy(expected.words, ins[0].words, ins[0].n * sizeof *ins[0].words);
      uint32_t n = 1;
      for (uint32_t i = 0; i < 3; i++)
        if (axes >> i & 1) ins[n++] = model_i64(dims.dims[i]);
      hia_operation o = {.imm = axes};
      how hows[4] = {h};
      outcome is = run_operation(&w, hiaR_e_EXPECT, o, ins, hows, n, HIA_F64, 3);
      cr_assert(h == OUTSIDE || h == OUTSIDE_TAKEN || is.kept == 0);
      model_free(&is.result);
      check("expect", hiaR_e_EXPECT, o, ins, hows, n, &expected);
      for (int64_t bad = -1; bad < 8 && axes >> 2; bad += 8) { /* a size below 0 is no size */
        model wrong[4] = {model_random(&state, HIA_F64, dims)};
        for (uint32_t i = 0, k = 1; i < 3; i++)
          if (axes >> i & 1) wrong[k++] = model_i64(i == 2 ? bad : dims.dims[i]);
        hia_misfortune why = fail("expect", hiaR_e_EXPECT, o, wrong, hows, n, HIA_SHAPE);
        cr_assert_eq(why.misfit.kind, bad < 0 ? HIA_MISFIT_NEGATIVE : HIA_MISFIT_DIM);
        cr_assert_eq(why.misfit.axis_a, 2);
      }
    }
}

/* ---- all kernels: ends of runs, and memory ---- */

enum { N_CALLS = 36, ALL_CALLS = N_CALLS };

/* Calls kernel `which`, or each, on tensors of n * n elements. Returns the first status but OK, or
 * CANCELLED if each has returned that. */
static hia_status call_kernels(tensor_world *in, size_t which, int64_t n, hia_status expected) {
  const hia_dims square = dims_of(2, n, n), vector = dims_of(1, n * n);
  model x = model_random(&state, HIA_F64, square), b = model_new(HIA_BOOL, square);
  model i = model_new(HIA_I64, dims_of(1, n)), y = model_random(&state, HIA_F64, vector);
  for (uint64_t k = 0; k < b.n; k++) b.words[k] = 1;
  model of_n = model_i64(n), of_nn = model_i64(n * n), zero = model_scalar(HIA_F64, 0);
  model one = model_i64(1), v = model_random(&state, HIA_F64, dims_of(1, n));
  model column = model_random(&state, HIA_F64, dims_of(2, n, (int64_t)1));
  const struct {
    hia_operate f;
    uint32_t n_in;
    model ins[3];
    hia_operation o;
    uint32_t rank;
  } calls[N_CALLS] = {
      {hiaR_e_LIFT, 2, {x, x}, lifted(HIA_OP_SUB, HIA_F64), 2},
      {hiaR_e_LIFT, 1, {x}, lifted(HIA_OP_TANH, HIA_F64), 2},
      {hiaR_e_FULL, 3, {zero, of_n, of_n}, {0}, 2},
      {hiaR_e_IOTA, 1, {of_nn}, {0}, 1},
      {hiaR_e_ONE_HOT, 2, {of_n, of_nn}, {0}, 1},
      {hiaR_e_STACK, 2, {x, x}, {.imm = 2}, 3},
      {hiaR_e_CAT, 2, {x, x}, {.imm = 1}, 2},
      {hiaR_e_ROWS, 2, {x, i}, {0}, 2},
      {hiaR_e_WITH, 3, {y, of_n, zero}, {0}, 1},
      {hiaR_e_TRANSPOSE, 1, {x}, {0}, 2},
      {hiaR_e_SUM, 1, {x}, {.imm = HIA_OVER_ALL}, 0},
      {hiaR_e_SUM, 1, {x}, {.imm = 0}, 1},
      {hiaR_e_PROD, 1, {x}, {.imm = 1}, 1},
      {hiaR_e_MEAN, 1, {x}, {.imm = HIA_OVER_ALL}, 0},
      {hiaR_e_MAX_OF, 1, {x}, {.imm = 0}, 1},
      {hiaR_e_MIN_OF, 1, {x}, {.imm = HIA_OVER_ALL}, 0},
      {hiaR_e_ARG_MAX, 1, {x}, {.imm = 0}, 1},
      {hiaR_e_ARG_MIN, 1, {x}, {.imm = HIA_OVER_ALL}, 0},
      {hiaR_e_ALL, 1, {b}, {.imm = HIA_OVER_ALL}, 0},
      {hiaR_e_PRODUCT, 2, {x, x}, {0}, 2},
      {hiaR_e_OUTER, 2, {v, v}, {0}, 2},
      {hiaR_e_SOFTMAX, 1, {x}, {0}, 2},
      {hiaR_e_LOG_SOFTMAX, 1, {x}, {0}, 2},
      {hiaR_e_CROSS_ENTROPY, 2, {x, i}, {0}, 1},
      {hiaR_e_ZEROS, 1, {x}, {0}, 2},
      {hiaR_e_FIT, 2, {x, v}, {0}, 1},
      {hiaR_e_FIT, 2, {x, column}, {0}, 2},
      {hiaR_e_FIT, 2, {x, zero}, {0}, 0},
      {hiaR_e_SCATTER, 3, {x, i, x}, {0}, 2},
      {hiaR_e_CUT, 3, {x, one, of_n}, {.imm = 1}, 2},
      {hiaR_e_CUT, 3, {x, one, of_n}, {.imm = 0}, 2},
      {hiaR_e_PRODUCT_AT, 2, {x, x}, {0}, 2},
      {hiaR_e_PRODUCT_BT, 2, {x, x}, {0}, 2},
      {hiaR_e_ROW, 2, {x, zero}, {0}, 1},
      {hiaR_e_PART, 3, {x, zero, one}, {0}, 2},
      {hiaR_e_RESHAPE, 2, {x, of_nn}, {0}, 1},
  };
  hia_status status = HIA_OK;
  for (size_t k = 0; k < N_CALLS && status != HIA_MEMORY; k++) {
    if (which != ALL_CALLS && k != which) continue;
    hia_operation o = calls[k].o;
    o.dtype = HIA_F64;
    model ins[3];
    memcpy(ins, calls[k].ins, sizeof ins);
    bool makes_none =
        calls[k].f == hiaR_e_ROW || calls[k].f == hiaR_e_PART || calls[k].f == hiaR_e_RESHAPE;
    if (makes_none && expected == HIA_CANCELLED) continue;
    bool is_quick = calls[k].f == hiaR_e_WITH && expected; /* in place */
    for (int taken = 0; taken < 2 - is_quick && status != HIA_MEMORY; taken++) {
      how h = taken ? TAKEN : LENT;
      outcome is = run_operation(in, calls[k].f, o, ins, (how[]){h, h, h}, calls[k].n_in, HIA_F64,
                                 calls[k].rank);
      model_free(&is.result);
      if (!is.is_sane || (is.status != expected && is.status != HIA_MEMORY)) {
        fprintf(stderr, "call %zu, taken %d: %d\n", k, taken, (int)is.status);
        status = HIA_INTERNAL;
      }
      if (is.status == HIA_MEMORY && status != HIA_INTERNAL) status = HIA_MEMORY;
    }
  }
  model all[] = {x, b, i, y, of_n, of_nn, zero, one, v, column};
  for (size_t k = 0; k < HIA_LEN(all); k++) model_free(&all[k]);
  return status;
}

static bool end_at_once(void *user) {
  (void)user;
  return true;
}
static bool go_on(void *user) {
  ++*(int *)user;
  return false;
}

Test(tensor_parts, runs_end_in_the_middle) {
  begin();
  w.heap.must_end = end_at_once;
  cr_assert_eq(call_kernels(&w, ALL_CALLS, 1100, HIA_CANCELLED), HIA_OK);
  int n_asked = 0;
  w.heap.must_end = go_on;
  w.heap.user = &n_asked;
  cr_assert_eq(call_kernels(&w, ALL_CALLS, 200, HIA_OK), HIA_OK);
  cr_assert_geq(n_asked, 20);
  end();
}

/* Each kernel has a heap of its own, as one kernel's result would serve the next. */
static hia_status with_little_memory(const hia_allocator *allocator) {
  for (size_t k = 0; k < N_CALLS; k++) {
    tensor_world v;
    world_begin(&v, allocator, false);
    hia_status status = call_kernels(&v, k, 100, HIA_OK);
    if (!world_end(&v)) return HIA_INTERNAL;
    if (status) return status;
  }
  return HIA_OK;
}
Test(tensor_parts, without_memory) {
  cr_assert_geq(fail_each_allocation(with_little_memory), N_CALLS / HIA_TEST_SHARE);
}
