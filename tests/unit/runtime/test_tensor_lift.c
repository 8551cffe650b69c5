/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tensor/elementwise: every op that is lifted, at every dtype, on shapes that broadcast: each
 * element is what the scalar kernel gives. Reuse in place; failures; large tensors; cancelling. */
#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

/* The index of an operand's element that belongs to element i of the result. */
static uint64_t source(const hia_dims *in, const hia_dims *out, uint64_t i) {
  uint64_t at = 0, stride = 1;
  for (uint32_t k = 1; k <= in->rank; k++) {
    uint64_t dim = (uint64_t)in->dims[in->rank - k], of_out = (uint64_t)out->dims[out->rank - k];
    uint64_t index = i % of_out;
    i /= of_out;
    if (dim != 1) at += index * stride;
    stride *= dim;
  }
  return at;
}

/* By definition: the kernel of each element. */
static hia_status lift_by_hand(const hia_operation *o, const model *ins, uint32_t n, model *out) {
  for (uint64_t i = 0; i < out->n; i++) {
    hia_word slots[4];
    const uint16_t in[3] = {0, 1, 2};
    for (uint32_t k = 0; k < n; k++) slots[k] = ins[k].words[source(&ins[k].dims, &out->dims, i)];
    hia_status status = o->kernels[o->at](slots, in, 3, o->imm);
    if (status) return status;
    out->words[i] = slots[3];
  }
  return HIA_OK;
}

/* Shapes that broadcast to `out`. */
static hia_dims shape_within(uint32_t *state, const hia_dims *out) {
  hia_dims is = *out;
  switch (random_to(state, 4)) {
  case 0:
  case 1: return is;
  case 2: break;
  default:
    is.rank = random_to(state, out->rank + 1);
    memmove(is.dims, out->dims + (out->rank - is.rank), is.rank * sizeof *is.dims);
  }
  for (uint32_t i = 0; i < is.rank; i++)
    if (random_to(state, 3) == 0) is.dims[i] = 1;
  return is;
}

static hia_dims some_shape(uint32_t *state) {
  static const int64_t sizes[] = {1, 2, 3, 5, 17, 33, 1, 2, 3, 0, 300};
  hia_dims dims = {.rank = 1 + random_to(state, 4)};
  uint64_t n = 1;
  for (uint32_t i = 0; i < dims.rank; i++) {
    dims.dims[i] = sizes[random_to(state, HIA_LEN(sizes))];
    if (n * (uint64_t)dims.dims[i] > 3000) dims.dims[i] = 1;
    n *= (uint64_t)dims.dims[i];
  }
  return dims;
}

static bool run_case(tensor_world *w, uint32_t *state, unsigned op, hia_dtype dtype,
                     hia_dtype source_dtype, uint32_t n, int round) {
  hia_rule rule = (hia_rule)hiaR_ops[op].rule;
  hia_operation o = lifted(op, dtype);
  if (rule == HIA_RULE_CAST) o.imm = source_dtype;
  hia_dims shape = some_shape(state), ins_dims[3], out_dims;
  model ins[3];
  how hows[3];
  bool has_tensor = false;
  for (uint32_t k = 0; k < n; k++) {
    hia_dtype its = rule == HIA_RULE_CAST               ? source_dtype
                    : rule == HIA_RULE_SELECT && k == 0 ? HIA_BOOL
                    : rule == HIA_RULE_SHIFT && k == 1  ? (round % 2 ? HIA_I32 : HIA_I64)
                                                        : dtype;
    ins_dims[k] = shape_within(state, &shape);
    if (k + 1 == n && !has_tensor && ins_dims[k].rank == 0) ins_dims[k] = shape;
    has_tensor |= ins_dims[k].rank > 0;
    ins[k] = model_random(state, its, ins_dims[k]);
    if (random_to(state, 2) && (op == HIA_OP_DIV || op == HIA_OP_REM) && k == 1)
      for (uint64_t i = 0; i < ins[k].n; i++) /* without failures */
        if (ins[k].words[i] + 1 < 2) ins[k].words[i] = 3;
    hows[k] = (how)random_to(state, N_HOWS);
  }
  cr_assert_eq(hiaR_shape_broadcast(ins_dims, n, &out_dims, NULL), HIA_FIT_ALWAYS);
  model expected = model_new((hia_dtype)o.dtype, out_dims);
  hia_status status = lift_by_hand(&o, ins, n, &expected);
  outcome is = run_operation(w, hiaR_e_LIFT, o, ins, hows, n, (hia_dtype)o.dtype, out_dims.rank);
  bool is_right =
      is.is_sane && is.status == status && (status || model_equals(&is.result, &expected));
  /* In place exactly where it can be: of the first operand that has the result's shape and size. */
  uint32_t kept = HIA_NONE;
  for (uint32_t k = n; k-- > 0;)
    if (ins_dims[k].rank && how_is_last(hows[k]) &&
        hiaR_dtype_size(ins[k].dtype) == hiaR_dtype_size(expected.dtype) &&
        ins_dims[k].rank == out_dims.rank &&
        memcmp(ins_dims[k].dims, out_dims.dims, out_dims.rank * sizeof(int64_t)) == 0)
      kept = k;
  /* (Without elements a view of a part may be one of all elements.) */
  if (!status && expected.n) is_right &= is.kept == kept;
  for (uint32_t k = 0; k < n; k++) model_free(&ins[k]);
  model_free(&expected);
  model_free(&is.result);
  return is_right;
}

static void run_all(bool is_shared) {
  tensor_world w;
  uint32_t state = 5;
  world_begin(&w, &hiaR_malloc, is_shared);
  uint32_t n_cases = 0;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    if (!hiaR_ops[op].name || hiaR_ops[op].shape != HIA_SHAPE_ELEMENTWISE) continue;
    for (hia_dtype dtype = HIA_BOOL; dtype < HIA_N_DTYPES; dtype++) {
      if (!hiaR_kernel(op, dtype)) continue;
      for (int round = 0; round < 80 / HIA_TEST_SHARE; round++, n_cases++) {
        hia_dtype from = (hia_dtype)(round % HIA_N_DTYPES);
        cr_assert(run_case(&w, &state, op, dtype, from, (uint32_t)hiaR_ops[op].n_ins, round),
                  "%s of dtype %d, round %d", hiaR_ops[op].name, (int)dtype, round);
      }
    }
  }
  cr_assert_gt(n_cases, 8000 / HIA_TEST_SHARE);
  cr_assert(world_end(&w));
}
Test(tensor_lift, as_the_kernel) { run_all(false); }
Test(tensor_lift, as_the_kernel_with_several_workers) { run_all(true); }

/* All pairs of special floats, in both orders, at every position of a vector. */
Test(tensor_lift, special_floats) {
  tensor_world w;
  world_begin(&w, &hiaR_malloc, false);
  static const double special[] = {0.0, -0.0, 1.0, -1.0, 2.5, 1e-45, -1e-45, 3e38, -3e38};
  enum { N = HIA_LEN(special) + 3 };
  static const unsigned ops[] = {HIA_OP_ADD, HIA_OP_SUB, HIA_OP_MUL,  HIA_OP_DIV, HIA_OP_MIN,
                                 HIA_OP_MAX, HIA_OP_EQ,  HIA_OP_NE,   HIA_OP_LT,  HIA_OP_LE,
                                 HIA_OP_GT,  HIA_OP_GE,  HIA_OP_RELU, HIA_OP_ABS, HIA_OP_NEG};
  for (hia_dtype dtype = HIA_F32; dtype <= HIA_F64; dtype++) {
    model ins[2];
    for (int k = 0; k < 2; k++) ins[k] = model_new(dtype, dims_of(1, (int64_t)(N * N)));
    for (uint64_t i = 0; i < N * N; i++)
      for (int k = 0; k < 2; k++) {
        uint64_t which = k ? i / N : i % N;
        double x = which < HIA_LEN(special) ? special[which]
                   : which % 3 == 0         ? (double)NAN
                   : which % 3 == 1         ? (double)INFINITY
                                            : -(double)INFINITY;
        ins[k].words[i] = dtype == HIA_F32 ? hiaR_from_f32((float)x) : hiaR_from_f64(x);
      }
    for (size_t i = 0; i < HIA_LEN(ops); i++) {
      uint32_t n = (uint32_t)hiaR_ops[ops[i]].n_ins;
      hia_dtype of_result = hiaR_rule_result((hia_rule)hiaR_ops[ops[i]].rule, dtype);
      hia_operation o = lifted(ops[i], dtype);
      model expected = model_new(of_result, ins[0].dims);
      lift_by_hand(&o, ins, n, &expected);
      outcome is = run_operation(&w, hiaR_e_LIFT, o, ins, (how[]){LENT, LENT}, n, of_result, 1);
      cr_assert(model_equals(&is.result, &expected), "%s", hiaR_ops[ops[i]].name);
      model_free(&expected);
      model_free(&is.result);
    }
    for (int k = 0; k < 2; k++) model_free(&ins[k]);
  }
  cr_assert(world_end(&w));
}

/* Pieces of strips, and axes that are taken together or not. */
Test(tensor_lift, large) {
  tensor_world w;
  uint32_t state = 9;
  world_begin(&w, &hiaR_malloc, false);
  const int64_t n = 60001 / HIA_TEST_SHARE;
  hia_dims shapes[][2] = {{dims_of(1, n), dims_of(1, n)},
                          {dims_of(1, n), dims_of(0)},
                          {dims_of(2, n, (int64_t)2), dims_of(1, (int64_t)2)},
                          {dims_of(2, (int64_t)2, n), dims_of(2, (int64_t)2, (int64_t)1)},
                          {dims_of(2, (int64_t)2, n), dims_of(1, n)},
                          {dims_of(2, n, (int64_t)1), dims_of(1, (int64_t)3)}};
  for (size_t i = 0; i < HIA_LEN(shapes); i++)
    for (int k = 0; k < 4; k++) {
      unsigned op = k % 2 ? HIA_OP_ATAN2 : HIA_OP_SUB;
      hia_operation o = lifted(op, HIA_F32);
      hia_dims is, in[2] = {shapes[i][k / 2], shapes[i][1 - k / 2]};
      model ins[2] = {model_random(&state, HIA_F32, in[0]), model_random(&state, HIA_F32, in[1])};
      hiaR_shape_broadcast(in, 2, &is, NULL);
      model expected = model_new(HIA_F32, is);
      lift_by_hand(&o, ins, 2, &expected);
      how hows[] = {TAKEN, VIEW_LENT};
      outcome got = run_operation(&w, hiaR_e_LIFT, o, ins, hows, 2, HIA_F32, is.rank);
      cr_assert(got.is_sane && model_equals(&got.result, &expected), "%zu %d", i, k);
      model_free(&ins[0]);
      model_free(&ins[1]);
      model_free(&expected);
      model_free(&got.result);
    }
  cr_assert(world_end(&w));
}

/* Both operands are one tensor, which the operation takes twice, or once. */
Test(tensor_lift, one_tensor_twice) {
  tensor_world w;
  uint32_t state = 4;
  world_begin(&w, &hiaR_malloc, false);
  for (uint64_t takes = 0; takes < 4; takes++) {
    model m = model_random(&state, HIA_F32, dims_of(1, (int64_t)100));
    hia_word ref = make_tensor(&w, &m), in[2] = {ref, ref}, out = 0;
    hia_misfortune why;
    hiaR_dup(ref, false);
    hia_operation o = lifted(HIA_OP_ADD, HIA_F32);
    o.n_in = 2, o.tensors = 3, o.takes = takes;
    cr_assert_eq(hiaR_e_LIFT(&w.env, &o, in, &out, &why), HIA_OK);
    for (uint64_t i = 0; i < m.n; i++) {
      float x = hiaR_to_f32(m.words[i]);
      cr_assert(word_equals(HIA_F32, hiaR_tensor_get(hiaR_tensor(out), i), hiaR_from_f32(x + x)));
    }
    hiaR_tensor_drop(&w.local, out, false);
    for (uint64_t i = 0; i < 2; i++)
      if (!(takes >> i & 1)) hiaR_tensor_drop(&w.local, ref, false);
    model_free(&m);
  }
  cr_assert(world_end(&w));
}

Test(tensor_lift, shapes_that_do_not_fit) {
  tensor_world w;
  uint32_t state = 6;
  world_begin(&w, &hiaR_malloc, false);
  model ins[] = {model_random(&state, HIA_F32, dims_of(2, (int64_t)3, (int64_t)4)),
                 model_random(&state, HIA_F32, dims_of(1, (int64_t)3))};
  hia_operation o = lifted(HIA_OP_ADD, HIA_F32);
  for (how h = 0; h < N_HOWS; h++) {
    outcome is =
        run_operation(&w, hiaR_e_LIFT, o, ins, (how[]){h, (how)(N_HOWS - 1 - h)}, 2, HIA_F32, 2);
    cr_assert_eq(is.status, HIA_SHAPE);
    cr_assert(is.is_sane);
    const hia_misfit *m = &is.why.misfit;
    cr_assert(m->kind == HIA_MISFIT_DIM && m->operand_b == 1 && m->axis_a == 1 && m->axis_b == 0);
    model_free(&is.result);
  }
  model_free(&ins[0]);
  model_free(&ins[1]);
  /* 2^31 * 2^31 * 8 bytes or more. The operands have no room for their elements. */
  hia_tensor *x = calloc(1, sizeof *x + 16), *y = calloc(1, sizeof *y + 16);
  x->counted.spare = y->counted.spare = hiaR_tensor_spare(HIA_BOOL, 2);
  x->dims[0] = y->dims[1] = (int64_t)1 << 31;
  x->dims[1] = y->dims[0] = 1;
  hia_word in[] = {(uintptr_t)x, (uintptr_t)y}, out = 5;
  hia_misfortune why;
  hia_operation large = lifted(HIA_OP_EQ, HIA_BOOL);
  large.n_in = 2, large.tensors = 3;
  cr_assert_eq(hiaR_e_LIFT(&w.env, &large, in, &out, &why), HIA_SHAPE);
  cr_assert_eq(why.misfit.kind, HIA_MISFIT_LARGE);
  x->dims[0] = (int64_t)1 << 28; /* that can be, but there is no memory */
  w.heap.limit = 1 << 20;
  cr_assert_eq(hiaR_e_LIFT(&w.env, &large, in, &out, &why), HIA_MEMORY);
  cr_assert_eq(out, 5);
  free(x);
  free(y);
  cr_assert(world_end(&w));
}

/* Of elements that fail the first one counts. */
Test(tensor_lift, the_first_failure) {
  tensor_world w;
  world_begin(&w, &hiaR_malloc, false);
  model ins[] = {model_new(HIA_I32, dims_of(1, (int64_t)100)),
                 model_new(HIA_I32, dims_of(1, (int64_t)100))};
  hia_operation o = lifted(HIA_OP_DIV, HIA_I32);
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 100; i++) {
      ins[0].words[i] = hiaR_from_i32(INT32_MIN);
      ins[1].words[i] = hiaR_from_i32(7);
    }
    ins[1].words[60] = hiaR_from_i32(k ? 0 : -1);
    ins[1].words[61] = hiaR_from_i32(k ? -1 : 0);
    outcome is = run_operation(&w, hiaR_e_LIFT, o, ins, (how[]){TAKEN, LENT}, 2, HIA_I32, 1);
    cr_assert_eq(is.status, k ? HIA_DIV_ZERO : HIA_DIV_OVERFLOW);
    cr_assert(is.is_sane);
    model_free(&is.result);
  }
  model_free(&ins[0]);
  model_free(&ins[1]);
  cr_assert(world_end(&w));
}
