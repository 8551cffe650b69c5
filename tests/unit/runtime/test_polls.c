/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on large tensors ask whether the run must end: how often, by the work that they have,
 * and that they end at any question. How long that takes measures `./dev bench limits`. */
#include "runtime/kernel/blas.h"
#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>

static tensor_world w;
static int left; /* questions until the run must end */

static bool ends_at_last(void *user) {
  (void)user;
  return --left <= 0;
}

static void begin(void) {
  world_begin(&w, &hiaR_malloc, false);
  w.heap.must_end = ends_at_last;
}
static void end(void) { cr_assert(world_end(&w)); }

/* A vector or matrix of f64s 1, 2, 3, ... */
static model counted(hia_dims dims) {
  model m = model_new(HIA_F64, dims);
  for (uint64_t i = 0; i < m.n; i++) m.words[i] = hiaR_from_f64((double)i + 1);
  return m;
}

typedef struct call {
  const char *name;
  hia_operate f;
  hia_operation o;
  model *ins[2];
  uint32_t n_in;
  hia_dtype dtype; /* of a scalar result */
  uint32_t rank;
} call;

static hia_status run(const call *c) {
  hia_operation o = c->o;
  o.dtype = o.dtype ? o.dtype : HIA_F64;
  const model ins[2] = {*c->ins[0], c->n_in > 1 ? *c->ins[1] : *c->ins[0]};
  outcome is = run_operation(&w, c->f, o, ins, (how[]){LENT, LENT}, c->n_in, c->dtype, c->rank);
  model_free(&is.result);
  cr_assert(is.is_sane, "%s", c->name);
  return is.status;
}

/* It asks at least so often; and it ends at the first question, at the last, and in between. */
static void check(const call *c, int least) {
  left = INT_MAX;
  cr_assert_eq(run(c), HIA_OK, "%s", c->name);
  int asked = INT_MAX - left;
  cr_assert_geq(asked, least, "%s asks %d times", c->name, asked);
  for (int at = 1; at <= asked; at += (asked - at) / 4 + 1) {
    left = at;
    cr_assert_eq(run(c), HIA_CANCELLED, "%s, at %d of %d", c->name, at, asked);
    cr_assert_eq(left, 0, "%s goes on after it was told to end", c->name);
  }
}

/* A million elements, or an eighth with AddressSanitizer. The numbers follow from what an element
 * takes at least: 1 ns to be looked at, compared, divided or copied, 10 ns for exp, and a question
 * each 100 us. */
Test(polls, of_large_tensors, .init = begin, .fini = end) {
  enum { N = 1 << (HIA_TEST_SHARE > 4 ? 17 : 20), US = 1000, ASKS = N / (100 * US) };
  model x = counted(dims_of(1, (int64_t)N)), two = counted(dims_of(1, (int64_t)2));
  model pairs = counted(dims_of(2, (int64_t)N / 2, (int64_t)2));
  model column = counted(dims_of(2, (int64_t)N / 2, (int64_t)1));
  model wide = counted(dims_of(2, (int64_t)64, (int64_t)(N / 64)));
  model label = model_i64(7);
  const struct {
    call call;
    int least;
  } calls[] = {
      {{"softmax", hiaR_e_SOFTMAX, {0}, {&x}, 1, HIA_F64, 1}, 10 * ASKS},
      {{"log_softmax", hiaR_e_LOG_SOFTMAX, {0}, {&x}, 1, HIA_F64, 1}, 10 * ASKS},
      {{"cross_entropy", hiaR_e_CROSS_ENTROPY, {0}, {&x, &label}, 2, HIA_F64, 0}, 9 * ASKS},
      {{"argmax", hiaR_e_ARG_MAX, {.imm = HIA_OVER_ALL}, {&x}, 1, HIA_I64, 0}, 2 * ASKS - 1},
      {{"max", hiaR_e_MAX_OF, {.imm = HIA_OVER_ALL}, {&x}, 1, HIA_F64, 0}, ASKS - 1},
      {{"argmin, axis 0", hiaR_e_ARG_MIN, {.imm = 0}, {&wide}, 1, HIA_I64, 1}, ASKS / 4},
      {{"sum", hiaR_e_SUM, {.imm = HIA_OVER_ALL}, {&x}, 1, HIA_F64, 0}, ASKS / 4},
      {{"sum, axis 0", hiaR_e_SUM, {.imm = 0}, {&wide}, 1, HIA_F64, 1}, ASKS / 4},
      {{"outer", hiaR_e_OUTER, {0}, {&two, &x}, 2, HIA_F64, 2}, 2 * ASKS - 2},
      {{"short strips", hiaR_e_LIFT, lifted(HIA_OP_ADD, HIA_F64), {&pairs, &column}, 2, HIA_F64, 2},
       5 * ASKS},
      {{"sin", hiaR_e_LIFT, lifted(HIA_OP_SIN, HIA_F64), {&x}, 1, HIA_F64, 1}, 20 * ASKS},
      {{"exp", hiaR_e_LIFT, lifted(HIA_OP_EXP, HIA_F64), {&x}, 1, HIA_F64, 1}, 4 * ASKS},
      {{"transpose", hiaR_e_TRANSPOSE, {0}, {&wide}, 1, HIA_F64, 2}, ASKS},
      {{"concat", hiaR_e_CAT, {.imm = 0}, {&x, &x}, 2, HIA_F64, 1}, ASKS},
  };
  for (size_t i = 0; i < HIA_LEN(calls); i++) check(&calls[i].call, calls[i].least);
  model *all[] = {&x, &two, &pairs, &column, &wide, &label};
  for (size_t i = 0; i < HIA_LEN(all); i++) model_free(all[i]);
}

/* The remainder of f64 takes up to some microseconds an element. */
Test(polls, of_remainders, .init = begin, .fini = end) {
  model x = counted(dims_of(1, (int64_t)1000));
  check(&(call){"%", hiaR_e_LIFT, lifted(HIA_OP_REM, HIA_F64), {&x, &x}, 2, HIA_F64, 1}, 50);
  model_free(&x);
}

/* With fast products one question before each call of the library. */
Test(polls, of_fast_products, .init = begin, .fini = end) {
  cr_assert(hiaR_blas_use(HIA_FAKE_BLAS));
  model a = counted(dims_of(2, (int64_t)300, (int64_t)520)),
        b = counted(dims_of(2, (int64_t)520, (int64_t)260));
  w.heap.fast_products = true;
  check(&(call){"@", hiaR_e_PRODUCT, {0}, {&a, &b}, 2, HIA_F64, 2}, 2 * 2 * 5);
  model_free(&a);
  model_free(&b);
}
