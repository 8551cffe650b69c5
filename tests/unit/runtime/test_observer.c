/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* run/observer: what a point notes of the values of each sight, when a run has seen enough, and
 * what is known of a point after several runs. */
#include "runtime/heap/array.h"
#include "runtime/run/observer.h"
#include "runtime/run/runtime.h"
#include "tests/unit/helpers/random.h"
#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>
#include <math.h>

/* Shows the values to a new point, one after the other. */
static hia_observed seen(hia_sight sight, const hia_word *words, uint32_t n) {
  hia_observed point = {.sight = sight};
  hia_observer o = {.points = &point, .n = 1, .left = UINT64_MAX, .end_at = UINT64_MAX};
  for (uint32_t i = 0; i < n; i++) cr_assert(hiaR_observe(&o, 0, words[i]));
  cr_assert_eq(point.sight, sight);
  cr_assert_eq(point.n, n);
  return point;
}
#define SEEN(sight, ...)                                                                           \
  seen(sight, (const hia_word[]){__VA_ARGS__}, HIA_LEN(((const hia_word[]){__VA_ARGS__})))

static void expect(const hia_observed *p, uint64_t n_changes, hia_word last, hia_word least,
                   hia_word most) {
  cr_expect_eq(p->n_changes, n_changes, "%llu changes", (unsigned long long)p->n_changes);
  cr_expect_eq(p->last, last, "the last is %llx", (unsigned long long)p->last);
  cr_expect_eq(p->least, least, "the least is %llx", (unsigned long long)p->least);
  cr_expect_eq(p->most, most, "the most is %llx", (unsigned long long)p->most);
}

/* ---- sights ---- */

Test(observer, sees_numbers) {
  hia_observed p = SEEN(HIA_SIGHT_BOOL, 1, 1, 0, 1);
  expect(&p, 2, 1, 0, 1);
  cr_assert_eq(p.ctors, 3); /* how often it was true */
  p = SEEN(HIA_SIGHT_I32, hiaR_from_i32(-5), hiaR_from_i32(3), hiaR_from_i32(3),
           hiaR_from_i32(INT32_MIN), hiaR_from_i32(-1));
  expect(&p, 3, hiaR_from_i32(-1), hiaR_from_i32(INT32_MIN), hiaR_from_i32(3));
  p = SEEN(HIA_SIGHT_I32, hiaR_from_i32(-7), hiaR_from_i32(-7));
  expect(&p, 0, hiaR_from_i32(-7), hiaR_from_i32(-7), hiaR_from_i32(-7));
  p = SEEN(HIA_SIGHT_I64, hiaR_from_i64(INT64_MAX), hiaR_from_i64(INT64_MIN), hiaR_from_i64(0));
  expect(&p, 2, 0, hiaR_from_i64(INT64_MIN), hiaR_from_i64(INT64_MAX));
}

/* A float is compared with others by its value, and is the same as another one if it has the same
 * bits: so -0 is another value than 0, and neither less nor more. */
Test(observer, sees_floats) {
  hia_word zero = hiaR_from_f32(0), minus_zero = hiaR_from_f32(-0.0f);
  hia_observed p = SEEN(HIA_SIGHT_F32, hiaR_from_f32(1.5f), hiaR_from_f32(-2.5f),
                        hiaR_from_f32(INFINITY), hiaR_from_f32(0));
  expect(&p, 3, zero, hiaR_from_f32(-2.5f), hiaR_from_f32(INFINITY));
  p = SEEN(HIA_SIGHT_F32, zero, minus_zero, zero);
  expect(&p, 2, zero, zero, zero);
  p = SEEN(HIA_SIGHT_F32, minus_zero, zero);
  expect(&p, 1, zero, minus_zero, minus_zero);
  zero = hiaR_from_f64(0), minus_zero = hiaR_from_f64(-0.0);
  p = SEEN(HIA_SIGHT_F64, hiaR_from_f64(-1e300), hiaR_from_f64(-INFINITY), hiaR_from_f64(5e-324));
  expect(&p, 2, hiaR_from_f64(5e-324), hiaR_from_f64(-INFINITY), hiaR_from_f64(5e-324));
  p = SEEN(HIA_SIGHT_F64, minus_zero, minus_zero, zero);
  expect(&p, 1, zero, minus_zero, minus_zero);
}

/* NaN is neither the least nor the most, unless there was nothing else. */
Test(observer, sees_nan) {
  hia_word nan32 = hiaR_from_f32(NAN), nan64 = hiaR_from_f64(NAN);
  hia_observed p = SEEN(HIA_SIGHT_F32, nan32, nan32);
  expect(&p, 0, nan32, nan32, nan32);
  p = SEEN(HIA_SIGHT_F32, nan32, hiaR_from_f32(2), hiaR_from_f32(1));
  expect(&p, 2, hiaR_from_f32(1), hiaR_from_f32(1), hiaR_from_f32(2));
  p = SEEN(HIA_SIGHT_F32, hiaR_from_f32(-1), nan32, hiaR_from_f32(-1));
  expect(&p, 2, hiaR_from_f32(-1), hiaR_from_f32(-1), hiaR_from_f32(-1));
  p = SEEN(HIA_SIGHT_F64, nan64, nan64, hiaR_from_f64(-INFINITY), nan64);
  expect(&p, 2, nan64, hiaR_from_f64(-INFINITY), hiaR_from_f64(-INFINITY));
  p = SEEN(HIA_SIGHT_F64, hiaR_from_f64(4), hiaR_from_f64(3), nan64);
  expect(&p, 2, nan64, hiaR_from_f64(3), hiaR_from_f64(4));
}

static hia_word object(hia_counted *of, uint32_t ctor) {
  *of = (hia_counted){.ctor = (uint16_t)ctor};
  return (hia_word)(uintptr_t)of;
}

/* Constructors without fields are words, others are objects. From 63 on they share a bit, and still
 * have their numbers. */
Test(observer, sees_constructors) {
  hia_counted a, b, c;
  hia_observed p = SEEN(HIA_SIGHT_CTOR, 0, object(&a, 2), object(&b, 2), 5);
  expect(&p, 2, 5, 0, 5);
  cr_assert_eq(p.ctors, 1 | 1 << 2 | 1 << 5);
  p = SEEN(HIA_SIGHT_CTOR, object(&a, 62));
  cr_assert_eq(p.ctors, UINT64_C(1) << 62);
  p = SEEN(HIA_SIGHT_CTOR, object(&a, 63), object(&b, 64), object(&c, 299), 300 - 1);
  expect(&p, 2, 299, 63, 299);
  cr_assert_eq(p.ctors, UINT64_C(1) << 63);
}

static hia_word array(hia_array *of, uint64_t n) {
  *of = (hia_array){.n = n};
  return (hia_word)(uintptr_t)of;
}

Test(observer, sees_lengths) {
  hia_array a, b, c;
  hia_observed p = SEEN(HIA_SIGHT_LEN, array(&a, 7), array(&b, 7));
  expect(&p, 0, 7, 7, 7);
  p = SEEN(HIA_SIGHT_LEN, array(&a, 7), 0, array(&b, UINT32_MAX), array(&c, 3));
  expect(&p, 3, 3, 0, UINT32_MAX);
}

Test(observer, sees_sizes) {
  static const int64_t sizes[][2] = {{2, 3}, {2, 3}, {5, 1}, {5, 0}, {4, 7}};
  tensor_world w;
  hia_word words[HIA_LEN(sizes)];
  world_begin(&w, &hiaR_malloc, false);
  for (uint32_t i = 0; i < HIA_LEN(sizes); i++) {
    model m = model_new(HIA_F32, dims_of(2, sizes[i][0], sizes[i][1]));
    words[i] = make_tensor(&w, &m);
    model_free(&m);
  }
  hia_observed p = seen(HIA_SIGHT_DIMS, words, 2);
  cr_assert_eq(p.n_changes, 0);
  for (int axis = 0; axis < 2; axis++)
    cr_assert(p.dims.dims[axis] == sizes[0][axis] && p.least_dims.dims[axis] == sizes[0][axis] &&
              p.most_dims.dims[axis] == sizes[0][axis]);
  p = seen(HIA_SIGHT_DIMS, words, HIA_LEN(sizes));
  cr_assert_eq(p.n_changes, 3);
  cr_assert(p.dims.rank == 2 && p.least_dims.rank == 2 && p.most_dims.rank == 2);
  cr_assert(p.dims.dims[0] == 4 && p.dims.dims[1] == 7);
  cr_assert(p.least_dims.dims[0] == 2 && p.least_dims.dims[1] == 0);
  cr_assert(p.most_dims.dims[0] == 5 && p.most_dims.dims[1] == 7);
  for (uint32_t i = 0; i < HIA_LEN(sizes); i++) hiaR_tensor_drop(&w.local, words[i], false);
  cr_assert(world_end(&w));
}

Test(observer, sees_that_something_comes) {
  hia_observed p = SEEN(HIA_SIGHT_NOTHING, 1, 2, 3);
  expect(&p, 0, 0, 0, 0);
}

/* ---- enough ---- */

enum { N_POINTS = 3 };

static hia_observer observer_of(hia_observed *points, uint64_t left, uint64_t end_at) {
  for (int i = 0; i < N_POINTS; i++) points[i] = (hia_observed){.sight = HIA_SIGHT_I64};
  return (hia_observer){.points = points, .n = N_POINTS, .left = left, .end_at = end_at};
}

/* The number counts the values of all points. The run may go on while there are some left. */
Test(observer, ends_after_so_many_values) {
  hia_observed points[N_POINTS];
  static const uint64_t numbers[] = {0, 1, 2, 63, 64, 65, 1000};
  for (size_t k = 0; k < HIA_LEN(numbers); k++) {
    hia_observer o = observer_of(points, numbers[k], UINT64_MAX);
    for (uint64_t i = 0; i < numbers[k]; i++)
      cr_assert(hiaR_observe(&o, i % N_POINTS, i), "value %llu", (unsigned long long)i);
    for (int i = 0; i < 3; i++) cr_assert_not(hiaR_observe(&o, 0, 1));
    cr_assert_geq(points[0].n + points[1].n + points[2].n, numbers[k]);
  }
}

/* The clock is read now and then, not at each value. */
Test(observer, ends_at_a_time) {
  hia_observed points[N_POINTS];
  hia_observer o = observer_of(points, 1 << 17, 1);
  uint32_t n = 0;
  while (hiaR_observe(&o, n % N_POINTS, n)) n++;
  cr_assert_lt(n, 1000);
  cr_assert_eq(points[0].n + points[1].n + points[2].n, n + 1);
  o = observer_of(points, 1 << 17, hiaR_now() + UINT64_C(3600000000000));
  for (n = 0; n < 10000; n++) cr_assert(hiaR_observe(&o, 2, n));
  cr_assert_eq(points[2].n, 10000);
}

/* Rounds of loops have a point that is none: they look at the clock alone. */
Test(observer, has_no_such_point) {
  hia_observed points[N_POINTS];
  hia_observer o = observer_of(points, 5, UINT64_MAX);
  cr_assert(hiaR_observe(&o, N_POINTS, 1));
  cr_assert(hiaR_observe(&o, UINT64_MAX, 0)); /* nor is the word looked at */
  cr_assert(hiaR_observe(&o, UINT64_C(1) << 32, 0));
  for (int i = 0; i < N_POINTS; i++) cr_assert_eq(points[i].n, 0);
  cr_assert_eq(o.left, 2);
  o.end_at = 0;
  while (o.left % 64 && hiaR_observe(&o, UINT64_MAX, 0)) {
  }
  cr_assert_not(hiaR_observe(&o, UINT64_MAX, 0));
}

/* ---- several runs ---- */

Test(observer, adds_nothing) {
  hia_observed to = {.sight = HIA_SIGHT_I32}, none = {.sight = HIA_SIGHT_I32};
  hiaR_observed_add(&to, &none);
  cr_assert_eq(to.n, 0);
  hia_observed from = SEEN(HIA_SIGHT_I32, hiaR_from_i32(-4), hiaR_from_i32(6));
  hiaR_observed_add(&to, &from);
  cr_assert_eq(memcmp(&to, &from, sizeof to), 0);
  hiaR_observed_add(&to, &none);
  cr_assert_eq(memcmp(&to, &from, sizeof to), 0);
}

Test(observer, adds_equal_and_different) {
  hia_observed to = SEEN(HIA_SIGHT_I32, hiaR_from_i32(-4), hiaR_from_i32(-4));
  hia_observed same = SEEN(HIA_SIGHT_I32, hiaR_from_i32(-4)),
               other = SEEN(HIA_SIGHT_I32, hiaR_from_i32(2)),
               back = SEEN(HIA_SIGHT_I32, hiaR_from_i32(2), hiaR_from_i32(2));
  hiaR_observed_add(&to, &same);
  cr_assert_eq(to.n, 3);
  expect(&to, 0, hiaR_from_i32(-4), hiaR_from_i32(-4), hiaR_from_i32(-4));
  hiaR_observed_add(&to, &other);
  cr_assert_eq(to.n, 4);
  expect(&to, 1, hiaR_from_i32(2), hiaR_from_i32(-4), hiaR_from_i32(2));
  hiaR_observed_add(&to, &back);
  cr_assert_eq(to.n, 6);
  expect(&to, 1, hiaR_from_i32(2), hiaR_from_i32(-4), hiaR_from_i32(2));
  /* Both runs ended with the same value, and one of them had others. */
  hia_observed mixed = SEEN(HIA_SIGHT_I32, hiaR_from_i32(9), hiaR_from_i32(2));
  hiaR_observed_add(&to, &mixed);
  cr_assert_geq(to.n_changes, 2);
  cr_assert_eq(to.most, hiaR_from_i32(9));
}

Test(observer, adds_nan) {
  hia_word nan = hiaR_from_f64(NAN);
  hia_observed to = SEEN(HIA_SIGHT_F64, nan), numbers = SEEN(HIA_SIGHT_F64, hiaR_from_f64(3)),
               more = SEEN(HIA_SIGHT_F64, nan, nan);
  hiaR_observed_add(&to, &numbers);
  expect(&to, 1, hiaR_from_f64(3), hiaR_from_f64(3), hiaR_from_f64(3));
  hiaR_observed_add(&to, &more);
  expect(&to, 2, nan, hiaR_from_f64(3), hiaR_from_f64(3));
  to = SEEN(HIA_SIGHT_F64, nan);
  hiaR_observed_add(&to, &more);
  expect(&to, 0, nan, nan, nan);
}

Test(observer, adds_constructors_and_lengths) {
  hia_counted a, b;
  hia_observed to = SEEN(HIA_SIGHT_CTOR, object(&a, 1)),
               from = SEEN(HIA_SIGHT_CTOR, object(&b, 70));
  hiaR_observed_add(&to, &from);
  expect(&to, 1, 70, 1, 70);
  cr_assert_eq(to.ctors, 1 << 1 | UINT64_C(1) << 63);
  hia_array x, y;
  to = SEEN(HIA_SIGHT_LEN, array(&x, 4), 0);
  from = SEEN(HIA_SIGHT_LEN, array(&x, 4), array(&y, 5));
  hiaR_observed_add(&to, &from);
  cr_assert_geq(to.n_changes, 2);
  cr_assert(to.last == 5 && to.least == 0 && to.most == 5);
}

static hia_word some_word(random_source *r, hia_sight sight, const hia_word *tensors,
                          bool is_steady) {
  static const hia_dtype dtypes[] = {[HIA_SIGHT_BOOL] = HIA_BOOL,
                                     [HIA_SIGHT_I32] = HIA_I32,
                                     [HIA_SIGHT_I64] = HIA_I64,
                                     [HIA_SIGHT_F32] = HIA_F32,
                                     [HIA_SIGHT_F64] = HIA_F64};
  random_source fixed = {7};
  if (is_steady && random_below(r, 20)) r = &fixed;
  switch (sight) {
  case HIA_SIGHT_CTOR: return random_below(r, 100); /* of these, which have no fields */
  case HIA_SIGHT_LEN: return 0;
  case HIA_SIGHT_DIMS: return tensors[random_below(r, 4)];
  case HIA_SIGHT_NOTHING: return random_next(r);
  default: return random_word(r, dtypes[sight]);
  }
}

/* However values are spread over runs, what is known of them together is the same, but for how
 * often they changed: of that it is known whether. */
static void check_parts(random_source *r, hia_sight sight, const hia_word *tensors) {
  enum { MOST = 12 };
  hia_word words[MOST];
  uint32_t n = 1 + random_below(r, MOST);
  bool is_steady = random_chance(r, 50);
  for (uint32_t i = 0; i < n; i++) words[i] = some_word(r, sight, tensors, is_steady);
  hia_observed whole = seen(sight, words, n), sum = {.sight = sight};
  for (uint32_t at = 0; at < n;) {
    uint32_t next = random_below(r, n - at + 1); /* may be none */
    hia_observed part = seen(sight, words + at, next);
    hiaR_observed_add(&sum, &part);
    at += next;
  }
  cr_assert(sum.n == whole.n && sum.last == whole.last && sum.ctors == whole.ctors);
  cr_assert(sum.least == whole.least && sum.most == whole.most, "sight %d", (int)sight);
  cr_assert_eq(sum.n_changes == 0, whole.n_changes == 0, "sight %d", (int)sight);
  cr_assert_leq(sum.n_changes, whole.n_changes);
  cr_assert_eq(memcmp(&sum.dims, &whole.dims, sizeof sum.dims), 0);
  cr_assert_eq(memcmp(&sum.least_dims, &whole.least_dims, sizeof sum.dims), 0);
  cr_assert_eq(memcmp(&sum.most_dims, &whole.most_dims, sizeof sum.dims), 0);
}

Test(observer, adds_parts_to_the_whole) {
  tensor_world w;
  hia_word tensors[4];
  world_begin(&w, &hiaR_malloc, false);
  for (int64_t i = 0; i < 4; i++) {
    model m = model_new(HIA_I32, dims_of(3, i, (int64_t)2, 5 - i));
    tensors[i] = make_tensor(&w, &m);
    model_free(&m);
  }
  random_source r = {3};
  for (int i = 0; i < 3000; i++)
    for (hia_sight sight = HIA_SIGHT_NOTHING; sight <= HIA_SIGHT_DIMS; sight++)
      check_parts(&r, sight, tensors);
  for (int i = 0; i < 4; i++) hiaR_tensor_drop(&w.local, tensors[i], false);
  cr_assert(world_end(&w));
}
