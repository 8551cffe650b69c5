/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries with tensors in their signatures: views in, values out (hiaton/tensors.h). */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

static const char text[] =
    "type Box = Box(t: f32[?], n: i64)\n"
    "fn scale(x: f32[n, m], k: f32) -> f32[n, m] = x * k\n"
    "fn same(x: f32[?, ?]) -> f32[?, ?] = x\n"
    "fn both(x: f32[?, ?]) -> (f32[?, ?], f32[?, ?]) = (x, x)\n"
    "fn row(x: f32[?, ?], i: i64) -> f32[?] = x[i]\n"
    "fn boxed(x: f32[?, ?]) -> [Box] = [Box(x[i], i64(len(x[i]))) for i in 0i64..len(x)]\n"
    "fn unbox(b: Box, x: f32[?]) -> f32[?] = match b { Box(t, _) => t + x }\n"
    "fn parts(p: (f64[?], bool), q: i64[?, ?]) -> (i64, f64[?], f64) =\n"
    "  (sum(q), if p.1 then p.0 * p.0 else p.0, sum(p.0))\n"
    "fn count(b: bool[?]) -> i64 = sum([if x then 1i64 else 0i64 for x in b])\n"
    "fn flip(b: bool[?], i: i32[?]) -> (bool[?], i32[?]) = (b[1..len(b)], i + i)\n"
    "fn walk(x: f32[?], n: i64) -> f32 =\n"
    "  if n < 2 then sum(x) else walk(x, n - 1) + walk(x, n - 2)\n";

typedef hia_status (*fn_scale)(hia_context *, const hia_f32_2 *, float, hia_value **);
typedef hia_status (*fn_one)(hia_context *, const hia_f32_2 *, hia_value **);
typedef hia_status (*fn_both)(hia_context *, const hia_f32_2 *, hia_value **, hia_value **);
typedef hia_status (*fn_row)(hia_context *, const hia_f32_2 *, int64_t, hia_value **);
typedef hia_status (*fn_unbox)(hia_context *, const hia_value *, const hia_f32_1 *, hia_value **);
typedef hia_status (*fn_parts)(hia_context *, const hia_f64_1 *, bool, const hia_i64_2 *, int64_t *,
                               hia_value **, double *);
typedef hia_status (*fn_count)(hia_context *, const hia_bool_1 *, int64_t *);
typedef hia_status (*fn_flip)(hia_context *, const hia_bool_1 *, const hia_i32_1 *, hia_value **,
                              hia_value **);
typedef hia_status (*fn_walk)(hia_context *, const hia_f32_1 *, int64_t, float *);

typedef struct world {
  test_heap heap;
  hia_engine *engine;
  hia_module *module;
  hia_context *context;
} world;

static void open_world(world *w, unsigned threads) {
  test_heap_init(&w->heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &w->heap.allocator;
  options.threads = threads;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  w->module = load_module(w->engine, "t.hia", text);
  cr_assert_eq(hia_engine_context_new(w->engine, &w->context, NULL), HIA_OK);
}

static void close_world(world *w) {
  hia_context_free(w->context);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
  cr_assert_eq(w->heap.blocks, 0);
}

static void expect_value(hia_value *value, const char *expected) {
  char got[300] = "no value";
  if (value) hia_value_format(value, got, sizeof got);
  cr_expect_str_eq(got, expected);
  hia_value_free(value);
}

static void expect_error(const world *w, hia_status status, hia_status expected,
                         const char *words) {
  const char *message = hia_error_message(hia_context_error(w->context), 0);
  cr_expect_eq(status, expected, "%s", hia_status_word(status));
  cr_expect_not_null(strstr(message, words), "%s", message);
}

static const float six[6] = {1, 2, 3, 4, 5, 6};

Test(entry_tensors, arguments_and_results) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    world w;
    open_world(&w, threads);
    fn_scale scale = (fn_scale)typed_entry(w.module, "scale");
    hia_value *r = NULL, *s = NULL;
    hia_f32_2 x = {six, {2, 3}}, y;
    /* The result of a call is the argument of the next. */
    cr_assert_eq(scale(w.context, &x, 0.5f, &r), HIA_OK);
    cr_assert_eq(hia_f32_2_of(r, &y), HIA_OK);
    cr_assert_eq(scale(w.context, &y, 4, &s), HIA_OK);
    hia_value_free(r);
    expect_value(s, "[[2.0, 4.0, 6.0], [8.0, 10.0, 12.0]]");
    cr_assert_eq(scale(w.context, &x, 1, NULL), HIA_OK);

    /* Tuples with tensors, all dtypes; a result that is not wanted is dropped. */
    const double doubles[2] = {1.5, -2};
    const int64_t longs[4] = {1, 2, 3, INT64_MAX};
    hia_f64_1 p = {doubles, {2}};
    hia_i64_2 q = {longs, {4, 1}};
    int64_t sum = 0;
    double total = 0;
    fn_parts parts = (fn_parts)typed_entry(w.module, "parts");
    cr_assert_eq(parts(w.context, &p, true, &q, &sum, &r, &total), HIA_OK);
    cr_expect(sum == INT64_MIN + 5 && total == -0.5);
    expect_value(r, "[2.25, 4.0]");
    cr_assert_eq(parts(w.context, &p, false, &q, &sum, NULL, &total), HIA_OK);
    const bool bools[3] = {true, false, true};
    const int32_t ints[2] = {INT32_MAX, 3};
    hia_bool_1 b = {bools, {3}};
    hia_i32_1 i = {ints, {2}};
    cr_assert_eq(((fn_count)typed_entry(w.module, "count"))(w.context, &b, &sum), HIA_OK);
    cr_expect_eq(sum, 2);
    cr_assert_eq(((fn_flip)typed_entry(w.module, "flip"))(w.context, &b, &i, &r, &s), HIA_OK);
    expect_value(r, "[false, true]");
    expect_value(s, "[-2, 6]");

    /* With threads, workers read the tensor too. */
    float f;
    hia_f32_1 v = {six, {6}};
    cr_assert_eq(((fn_walk)typed_entry(w.module, "walk"))(w.context, &v, 18, &f), HIA_OK);
    cr_expect_eq(f, 4181 * 21);

    /* Tensors without elements need no address. */
    hia_f32_2 none = {NULL, {0, 7}};
    cr_assert_eq(scale(w.context, &none, 2, &r), HIA_OK);
    cr_expect(hia_value_dims(r)[0] == 0 && hia_value_dims(r)[1] == 7);
    hia_value_free(r);
    close_world(&w);
  }
}

/* The host may do with its elements what it wants once the call has returned: results that are the
 * argument, or a view of it, or contain one, have copies. */
Test(entry_tensors, results_own_their_elements) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1);
  float *elements = malloc(sizeof six);
  memcpy(elements, six, sizeof six);
  hia_f32_2 x = {elements, {2, 3}};
  hia_value *same, *a, *b, *row, *boxes, *first, *unboxed;
  cr_assert_eq(((fn_one)typed_entry(w.module, "same"))(w.context, &x, &same), HIA_OK);
  cr_assert_eq(((fn_both)typed_entry(w.module, "both"))(w.context, &x, &a, &b), HIA_OK);
  cr_assert_eq(((fn_row)typed_entry(w.module, "row"))(w.context, &x, 1, &row), HIA_OK);
  cr_assert_eq(((fn_one)typed_entry(w.module, "boxed"))(w.context, &x, &boxes), HIA_OK);
  cr_expect_eq(memcmp(elements, six, sizeof six), 0, "borrowed: as they were");
  cr_expect_eq(hia_value_elements(a), hia_value_elements(b), "one copy");
  hia_context_free(w.context);
  memset(elements, 0xff, sizeof six);
  free(elements);
  cr_assert_eq(hia_engine_context_new(w.engine, &w.context, NULL), HIA_OK);

  /* A tensor beside a value of data, which the result contains. */
  first = hia_value_part(boxes, 0);
  hia_f32_1 v = {six, {3}};
  cr_assert_eq(((fn_unbox)typed_entry(w.module, "unbox"))(w.context, first, &v, &unboxed), HIA_OK);
  hia_value_free(first);
  expect_value(same, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  expect_value(a, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  expect_value(b, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  expect_value(row, "[4.0, 5.0, 6.0]");
  expect_value(boxes, "[Box([1.0, 2.0, 3.0], 3), Box([4.0, 5.0, 6.0], 3)]");
  expect_value(unboxed, "[2.0, 4.0, 6.0]");
  close_world(&w);
}

Test(entry_tensors, wrong_arguments) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1);
  fn_scale scale = (fn_scale)typed_entry(w.module, "scale");
  hia_value *r = (hia_value *)1;
  hia_f32_2 x = {six, {2, 3}}, y = x;
#define REFUSED(words) expect_error(&w, scale(w.context, &y, 1, &r), HIA_ARGUMENT, words)
  expect_error(&w, scale(w.context, NULL, 1, &r), HIA_ARGUMENT, "parameter 1 is no tensor");
  y.dims[1] = -3;
  REFUSED("parameter 1 has a size of -3");
  y.dims[1] = INT64_MIN;
  REFUSED("parameter 1 has a size of -9223372036854775808");
  y = (hia_f32_2){NULL, {2, 3}};
  REFUSED("parameter 1 has 6 elements, but no address");
  y = (hia_f32_2){(const float *)(const void *)((const char *)six + 2), {1, 1}};
  REFUSED("parameter 1 is not aligned: the address of its elements is no multiple of 4");
  y = (hia_f32_2){six, {INT64_MAX, 2}};
  REFUSED("parameter 1 is larger than memory can be");
  y = (hia_f32_2){six, {(int64_t)1 << 61, 1}};
  REFUSED("parameter 1 is larger than memory can be");
  static const uint8_t bytes[3] = {1, 0, 2};
  hia_bool_1 b;
  const void *at = bytes;
  memcpy(&b.elements, &at, sizeof at);
  b.dims[0] = 3;
  int64_t n = 7;
  fn_count count = (fn_count)typed_entry(w.module, "count");
  expect_error(&w, count(w.context, &b, &n), HIA_ARGUMENT,
               "parameter 1 has a bool that is neither 0 nor 1: element 2");
  b.dims[0] = 2;
  cr_expect(count(w.context, &b, &n) == HIA_OK && n == 1);
  cr_expect_eq(scale(NULL, &x, 1, &r), HIA_ARGUMENT);
  cr_expect_eq(r, (hia_value *)1, "nothing is written");
  /* A parameter that is not the first; sizes that differ are found by the program. */
  hia_f64_1 p = {(const double[]){1}, {1}};
  hia_i64_2 q = {NULL, {1, 1}};
  double d;
  fn_parts parts = (fn_parts)typed_entry(w.module, "parts");
  expect_error(&w, parts(w.context, &p, true, &q, &n, &r, &d), HIA_ARGUMENT,
               "parameter 3 has 1 elements, but no address");
  fn_unbox unbox = (fn_unbox)typed_entry(w.module, "unbox");
  hia_value *box;
  hia_function *f = find_function(w.module, "unbox");
  cr_assert_eq(hia_value_parse(f, 0, "Box([1, 2], 0)", &box, NULL), HIA_OK);
  hia_f32_1 v = {six, {3}};
  expect_error(&w, unbox(w.context, box, &v, &r), HIA_SHAPE, "2");
  expect_error(&w, unbox(w.context, NULL, &v, &r), HIA_ARGUMENT, "parameter 1 is no value");
  hia_value_free(box);

  cr_expect_eq(scale(w.context, &x, 2, &r), HIA_OK);
  hia_f64_2 other = {(const double *)1, {7, 7}};
  cr_expect_eq(hia_f64_2_of(r, &other), HIA_ARGUMENT);
  cr_expect(!other.elements && !other.dims[0] && !other.dims[1]);
  hia_f32_3 deeper;
  cr_expect_eq(hia_f32_3_of(r, &deeper), HIA_ARGUMENT);
  cr_expect_eq(hia_f32_2_of(r, NULL), HIA_ARGUMENT);
  cr_expect_eq(hia_f32_2_of(NULL, &y), HIA_ARGUMENT);
  const void *none = six;
  int64_t dims[2] = {7, 7};
  cr_expect_eq(hia_value_tensor(NULL, HIA_F32, 2, &none, dims), HIA_ARGUMENT);
  cr_expect(!none && !dims[0]);
  cr_expect_eq(hia_value_tensor(r, HIA_F32, 2, NULL, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_value_tensor(r, HIA_F32, 2, &none, NULL), HIA_ARGUMENT);
  hia_value_free(r);
  close_world(&w);
}

typedef hia_status (*map_scale)(hia_context *, size_t, const hia_f32_2 *const *, const float *,
                                hia_value **);

/* A column of tensors has a view in each row. Each request for memory fails once. */
Test(entry_tensors, maps) {
  enum { N = 3 };
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1);
  hia_native_fn map;
  cr_assert_eq(hia_function_map(find_function(w.module, "scale"), &map, NULL), HIA_OK);
  map_scale scale = (map_scale)map;
  hia_f32_2 views[N] = {{six, {1, 2}}, {six + 2, {2, 2}}, {NULL, {0, 1}}}, wrong = {six, {1, -1}};
  const hia_f32_2 *column[N] = {&views[0], &views[1], &views[2]};
  const float k[N] = {1, 2, 3};
  hia_value *results[N];
  static const char *const texts[N] = {"[[1.0, 2.0]]", "[[6.0, 8.0], [10.0, 12.0]]", "[]"};
  hia_status status = HIA_MEMORY;
  for (long left = 0; status == HIA_MEMORY; left++) {
    w.heap.left = left;
    status = scale(w.context, N, column, k, results);
    w.heap.left = -1;
    uint64_t rows = hia_context_rows(w.context);
    for (uint64_t i = 0; i < rows; i++)
      if (i < 2)
        expect_value(results[i], texts[i]);
      else
        hia_value_free(results[i]);
  }
  cr_assert_eq(status, HIA_OK);
  column[1] = &wrong;
  expect_error(&w, scale(w.context, N, column, k, results), HIA_ARGUMENT,
               "parameter 1 has a size of -1, in row 1");
  cr_expect_eq(hia_context_rows(w.context), 1);
  hia_value_free(results[0]);
  close_world(&w);
}

Test(entry_tensors, the_entry_as_data) {
  world w;
  open_world(&w, 1);
  hia_function *parts = find_function(w.module, "parts");
  static const hia_dtype params[] = {HIA_ENTRY_TENSOR, HIA_BOOL, HIA_ENTRY_TENSOR},
                         results[] = {HIA_I64, HIA_ENTRY_VALUE, HIA_F64};
  hia_error *error;
  cr_assert_eq(hia_function_check_entry(parts, params, 3, results, 3, &error), HIA_OK);
  cr_assert_eq(hia_function_check_entry(parts, results, 3, results, 3, &error), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_message(error, 0),
                   "is (tensor, bool, tensor) -> (i64, value, f64), not (i64, value, f64) -> "),
            "%s", hia_error_message(error, 0));
  hia_error_free(error);
  close_world(&w);
}

/* ---- each allocation fails once ---- */

static hia_status attempt(const hia_allocator *allocator) {
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  o.allocator = allocator;
  static world w; /* the engine's memory is its own */
  if (!w.engine) open_world(&w, 1);
  fn_both both = (fn_both)typed_entry(w.module, "both");
  hia_context *context;
  hia_value *a = NULL, *b = NULL;
  hia_f32_2 x = {six, {2, 3}};
  hia_status status = hia_context_new(&o, &context);
  if (status != HIA_OK) return status;
  status = both(context, &x, &a, &b);
  if (status == HIA_OK) expect_value(a, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
  if (status == HIA_OK) hia_value_free(b);
  hia_context_free(context);
  return status;
}

Test(entry_tensors, each_allocation_fails_once) {
  NEEDS_NATIVE;
  cr_assert_gt(fail_each_allocation(attempt), 5);
}

/* ---- rooms: memory of the host's for results ---- */

static void set_room(const world *w, size_t result, float *elements, size_t n, int64_t *dims) {
  cr_assert_eq(hia_context_set_room(w->context, result, HIA_F32, 2, elements, n, dims), HIA_OK);
}

Test(entry_tensors, results_into_rooms) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    world w;
    open_world(&w, threads);
    float to[7] = {0, 0, 0, 0, 0, 0, 77}, other[6] = {0};
    int64_t dims[2] = {-1, -1}, sizes[2] = {0}, length = 0;
    hia_value *r = NULL, *s = NULL;
    hia_f32_2 x = {six, {2, 3}}, in = {to, {3, 2}};
    fn_scale scale = (fn_scale)typed_entry(w.module, "scale");
    fn_both both = (fn_both)typed_entry(w.module, "both");
    set_room(&w, 0, to, 6, dims);
    cr_assert_eq(scale(w.context, &x, 2, &r), HIA_OK);
    cr_assert_null(r);
    cr_assert(to[0] == 2 && to[5] == 12 && to[6] == 77 && dims[0] == 2 && dims[1] == 3);
    cr_assert_eq(scale(w.context, &x, 3, NULL), HIA_OK);
    cr_assert(to[0] == 3);
    long blocks = w.heap.blocks;
    cr_assert_eq(scale(w.context, &in, 2, &r), HIA_OK); /* where the argument is */
    cr_assert(to[0] == 6 && dims[0] == 3 && dims[1] == 2);
    cr_assert_eq(w.heap.blocks, blocks);

    /* The same tensor in a room and as a value; and in two rooms. */
    cr_assert_eq(both(w.context, &x, &r, &s), HIA_OK);
    cr_assert(!r && to[5] == 6 && dims[0] == 2);
    expect_value(s, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
    set_room(&w, 1, other, 6, sizes);
    cr_assert_eq(both(w.context, &x, &r, &s), HIA_OK);
    cr_assert(!r && !s && other[5] == 6 && sizes[1] == 3);
    set_room(&w, 0, NULL, 0, NULL);
    cr_assert_eq(both(w.context, &x, &r, &s), HIA_OK);
    cr_assert_null(s);
    expect_value(r, "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]");
    set_room(&w, 1, NULL, 0, NULL);

    /* A part of a tuple with scalars; a result without elements. */
    const double doubles[2] = {1.5, -2};
    const int64_t longs[1] = {4};
    hia_f64_1 p = {doubles, {2}};
    hia_i64_2 q = {longs, {1, 1}};
    double into[2] = {0}, total = 0;
    int64_t sum = 0;
    fn_parts parts = (fn_parts)typed_entry(w.module, "parts");
    cr_assert_eq(hia_context_set_room(w.context, 1, HIA_F64, 1, into, 2, &length), HIA_OK);
    cr_assert_eq(parts(w.context, &p, true, &q, &sum, &r, &total), HIA_OK);
    cr_assert(!r && sum == 4 && total == -0.5 && into[0] == 2.25 && into[1] == 4 && length == 2);
    p.dims[0] = 0;
    cr_assert_eq(hia_context_set_room(w.context, 1, HIA_F64, 1, NULL, 0, &length), HIA_OK);
    cr_assert_eq(parts(w.context, &p, true, &q, &sum, &r, &total), HIA_OK);
    cr_assert(!r && length == 0);
    close_world(&w);
  }
}

Test(entry_tensors, results_that_do_not_fit) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1);
  float to[6] = {7}, other[6] = {8};
  int64_t dims[2] = {-1, -1}, sizes[2] = {-1, -1};
  hia_value *r = NULL, *s = NULL;
  hia_f32_2 x = {six, {2, 3}};
  fn_scale scale = (fn_scale)typed_entry(w.module, "scale");
  fn_both both = (fn_both)typed_entry(w.module, "both");
  set_room(&w, 0, to, 5, dims);
  expect_error(&w, scale(w.context, &x, 1, &r), HIA_ARGUMENT,
               "result 1 is f32[2, 3], and there is room for 5 elements");
  set_room(&w, 0, to, 6, dims);
  set_room(&w, 1, other, 1, sizes);
  expect_error(&w, both(w.context, &x, &r, &s), HIA_ARGUMENT,
               "result 2 is f32[2, 3], and there is room for 1 element");
  cr_assert(!r && !s && to[0] == 7 && other[0] == 8 && dims[0] == -1 && sizes[0] == -1);
  set_room(&w, 1, NULL, 0, NULL);
  expect_error(&w, ((fn_row)typed_entry(w.module, "row"))(w.context, &x, 1, &r), HIA_ARGUMENT,
               "result 1 is no tensor of f32 of rank 2, for which there is room");
  expect_error(&w, ((fn_one)typed_entry(w.module, "boxed"))(w.context, &x, &r), HIA_ARGUMENT,
               "result 1 is no tensor of f32 of rank 2");
  /* A call that fails writes nothing. */
  expect_error(&w, ((fn_row)typed_entry(w.module, "row"))(w.context, &x, 2, &r), HIA_RANGE,
               "index 2 is out of range");
  cr_assert(to[0] == 7 && dims[0] == -1);
  hia_f32_1 v = {six, {2}};
  float total = 0;
  cr_assert_eq(((fn_walk)typed_entry(w.module, "walk"))(w.context, &v, 3, &total), HIA_ARGUMENT);
  cr_assert_eq(scale(w.context, &x, 1, &r), HIA_OK);
  cr_assert(to[0] == 1 && dims[1] == 3);
  close_world(&w);
}

Test(entry_tensors, rooms_that_cannot_be) {
  world w;
  open_world(&w, 1);
  float to[6];
  int64_t dims[2];
  hia_context *c = w.context;
  cr_expect_eq(hia_context_set_room(NULL, 0, HIA_F32, 1, to, 6, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 1000, HIA_F32, 1, to, 6, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, SIZE_MAX, HIA_F32, 1, to, 6, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 0, (hia_dtype)9, 1, to, 6, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 0, HIA_F32, 0, to, 6, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 0, HIA_F32, 17, to, 6, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 0, HIA_F32, 1, NULL, 6, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 0, HIA_F32, 1, to, 6, NULL), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 0, HIA_F32, 1, (char *)to + 1, 1, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 0, HIA_F32, 1, to, SIZE_MAX, dims), HIA_ARGUMENT);
  cr_expect_eq(hia_context_set_room(c, 7, HIA_F32, 1, NULL, 0, NULL), HIA_OK);
  w.heap.left = 0;
  cr_expect_eq(hia_context_set_room(c, 3, HIA_F32, 1, to, 6, dims), HIA_MEMORY);
  w.heap.left = -1;
  cr_expect_eq(hia_context_set_room(c, 3, HIA_F32, 1, to, 6, dims), HIA_OK);
  cr_expect_eq(hia_context_set_room(c, 5, HIA_F32, 1, to, 6, dims), HIA_OK);
  close_world(&w);
}
