/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries with data and arrays in their signatures: const hia_value * in, hia_value * out. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"

#include <pthread.h>
#include <time.h>

static const char text[] =
    "type T = L(x: i64) | N(l: T, r: T)\n"
    "type U = U(all: [T], at: (i64, f64))\n"
    "extern impure fn inner(n: i64) -> i64\n"
    "fn mirror(t: T) -> T = match t { L(_) => t, N(l, r) => N(mirror(r), mirror(l)) }\n"
    "fn total(t: T) -> i64 = match t { L(x) => x, N(l, r) => total(l) + total(r) }\n"
    "fn build(n: i64, x: i64) -> T = if n == 0 then L(x) else N(build(n - 1, x), build(n - 1, x + "
    "1))\n"
    "fn mixed(n: i32, p: (T, bool), a: [T], x: f32) -> ((i64, [T]), T, bool, f32) =\n"
    "  ((i64(n), concat(a, [p.0])), N(p.0, a[n]), not p.1, x + 1)\n"
    "fn both(t: T) -> (T, T) = (t, t)\n"
    "fn none() -> [T] = [L(i) for i in 0i64..0]\n"
    "fn wrap(a: [T], n: i64) -> U = U(a, (n, 0.5))\n"
    "fn at(a: [T], i: i64) -> T = a[i]\n"
    "fn endless(t: T) -> T = loop (t = t) while total(t) >= 0 { mirror(t) }\n"
    "fn outer(t: T, n: i64) -> T = N(t, L(inner(n)))\n";

typedef hia_status (*fn_t_t)(hia_context *, const hia_value *, hia_value **);
typedef hia_status (*fn_t_i64)(hia_context *, const hia_value *, int64_t *);
typedef hia_status (*fn_build)(hia_context *, int64_t, int64_t, hia_value **);
typedef hia_status (*fn_mixed)(hia_context *, int32_t, const hia_value *, bool, const hia_value *,
                               float, int64_t *, hia_value **, hia_value **, bool *, float *);
typedef hia_status (*fn_both)(hia_context *, const hia_value *, hia_value **, hia_value **);
typedef hia_status (*fn_none)(hia_context *, hia_value **);
typedef hia_status (*fn_a_i64_t)(hia_context *, const hia_value *, int64_t, hia_value **);

typedef struct world {
  test_heap heap;
  hia_engine *engine;
  hia_module *module;
  hia_context *context, *inner;
} world;

/* extern impure fn inner(n: i64) -> i64: a call with data inside of one. */
static hia_status inner(void *user, int64_t n, int64_t *result) {
  world *w = user;
  hia_value *t = NULL;
  *result = 0;
  hia_status status = ((fn_build)typed_entry(w->module, "build"))(w->inner, n, 1, &t);
  if (status == HIA_OK) status = ((fn_t_i64)typed_entry(w->module, "total"))(w->inner, t, result);
  hia_value_free(t);
  return status;
}

static void open_world(world *w, unsigned threads, size_t max_memory) {
  test_heap_init(&w->heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &w->heap.allocator;
  options.threads = threads;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern impure fn inner(n: i64) -> i64";
  host.function = (void (*)(void))inner;
  host.takes_user = true;
  host.returns_status = true;
  host.user = w;
  cr_assert_eq(hia_engine_register(w->engine, &host, NULL), HIA_OK);
  w->module = load_module(w->engine, "t.hia", text);
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  o.allocator = &w->heap.allocator;
  o.threads = threads;
  o.max_memory = max_memory;
  cr_assert_eq(hia_context_new(&o, &w->context), HIA_OK);
  cr_assert_eq(hia_context_new(&o, &w->inner), HIA_OK);
}

static void close_world(world *w) {
  hia_context_free(w->inner);
  hia_context_free(w->context);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
  cr_assert_eq(w->heap.blocks, 0);
}

/* The value of a parameter of a function. */
static hia_value *parse(const world *w, const char *function, size_t i, const char *value) {
  hia_value *v = NULL;
  hia_error *error;
  cr_assert_eq(hia_value_parse(find_function(w->module, function), i, value, &v, &error), HIA_OK,
               "%s", hia_error_text(error));
  return v;
}

/* Compares a value with its text, and frees it. */
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

Test(entry_values, arguments_and_results) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads++) {
    world w;
    open_world(&w, threads, 0);
    fn_t_t mirror = (fn_t_t)typed_entry(w.module, "mirror");
    fn_mixed mixed = (fn_mixed)typed_entry(w.module, "mixed");
    hia_value *t = parse(&w, "mirror", 0, "N(L(1), N(L(2), L(3)))"),
              *a = parse(&w, "at", 0, "[L(7), L(8)]");
    for (int i = 0; i < 3; i++) {
      hia_value *r = NULL, *array = NULL;
      int64_t n = 0;
      bool is_not = false;
      float x = 0;
      cr_expect_eq(mirror(w.context, t, &r), HIA_OK);
      expect_value(r, "N(N(L(3), L(2)), L(1))");
      cr_expect_eq(mixed(w.context, 1, t, false, a, 2.5f, &n, &array, &r, &is_not, &x), HIA_OK);
      expect_value(array, "[L(7), L(8), N(L(1), N(L(2), L(3)))]");
      expect_value(r, "N(N(L(1), N(L(2), L(3))), L(8))");
      cr_expect(n == 1 && is_not && x == 3.5f);
      /* Results that are not wanted are dropped, one by one. */
      cr_expect_eq(mixed(w.context, 0, t, true, a, 0, NULL, NULL, &r, NULL, NULL), HIA_OK);
      expect_value(r, "N(N(L(1), N(L(2), L(3))), L(7))");
      cr_expect_eq(mixed(w.context, 0, t, true, a, 0, NULL, &array, NULL, &is_not, NULL), HIA_OK);
      expect_value(array, "[L(7), L(8), N(L(1), N(L(2), L(3)))]");
      cr_expect_not(is_not);
      cr_expect_eq(mirror(w.context, t, NULL), HIA_OK);
      cr_expect_eq(((fn_both)typed_entry(w.module, "both"))(w.context, t, &r, &array), HIA_OK);
      hia_value_free(array); /* the two share memory, and are freed one by one */
      expect_value(r, "N(L(1), N(L(2), L(3)))");
      cr_expect_eq(((fn_none)typed_entry(w.module, "none"))(w.context, &r), HIA_OK);
      expect_value(r, "[]");
      cr_expect_eq(((fn_a_i64_t)typed_entry(w.module, "wrap"))(w.context, a, 3, &r), HIA_OK);
      expect_value(r, "U([L(7), L(8)], (3, 0.5))");
    }
    expect_value(t, "N(L(1), N(L(2), L(3)))"); /* borrowed: as they were */
    expect_value(a, "[L(7), L(8)]");
    close_world(&w);
  }
}

/* The result of a call is the argument of the next one, without another table of types; a value
 * outlives what it came from. */
Test(entry_values, values_go_from_call_to_call) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 2, 0);
  fn_t_t mirror = (fn_t_t)typed_entry(w.module, "mirror");
  hia_value *t = NULL, *next = NULL, *called = NULL;
  int64_t n = 0;
  cr_assert_eq(((fn_build)typed_entry(w.module, "build"))(w.context, 12, 3, &t), HIA_OK);
  cr_assert(hia_value_type(t) == hia_module_type(w.module, "T"), "the type of the module itself");
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(mirror(w.context, t, &next), HIA_OK);
    hia_value_free(t);
    t = next;
  }
  cr_assert_eq(((fn_t_i64)typed_entry(w.module, "total"))(w.context, t, &n), HIA_OK);
  cr_assert_eq(n, 4096 * 3 + 4096 * 6);
  cr_assert_eq(hia_call(find_function(w.module, "mirror"), &t, 1, &called, NULL), HIA_OK);
  hia_module_free(w.module);
  w.module = load_module(w.engine, "t.hia", text);
  /* Values of one module are arguments of another one with equal types. */
  cr_assert_eq(((fn_t_i64)typed_entry(w.module, "total"))(w.context, t, &n), HIA_OK);
  cr_assert_eq(n, 4096 * 3 + 4096 * 6);
  hia_value_free(t);
  cr_assert_eq(hia_value_ctor(called), 1);
  hia_value_free(called);
  close_world(&w);
}

Test(entry_values, wrong_arguments) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 0);
  fn_t_t mirror = (fn_t_t)typed_entry(w.module, "mirror");
  hia_value *t = parse(&w, "mirror", 0, "L(1)"), *a = parse(&w, "at", 0, "[L(7)]"),
            *r = (hia_value *)1, *n = hia_value_i64(w.engine, 1);
  expect_error(&w, mirror(w.context, NULL, &r), HIA_ARGUMENT, "parameter 1 is no value");
  expect_error(&w, mirror(w.context, a, &r), HIA_ARGUMENT,
               "parameter 1 must be of type T, and is of type [T]");
  expect_error(&w, mirror(w.context, n, &r), HIA_ARGUMENT,
               "parameter 1 must be of type T, and is of type i64");
  cr_expect_eq(r, (hia_value *)1, "nothing is written");
  cr_expect_eq(mirror(NULL, t, &r), HIA_ARGUMENT);

  hia_module *other = NULL;
  hia_function *f;
  hia_value *foreign = NULL;
  const char *like = "type T = L(x: i64) | N(l: T, r: T) | M fn f() -> T = M";
  cr_assert_eq(hia_module_load_text(w.engine, "o", like, strlen(like), &other, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(other, "f", &f, NULL), HIA_OK);
  cr_assert_eq(hia_call(f, NULL, 0, &foreign, NULL), HIA_OK);
  expect_error(&w, mirror(w.context, foreign, &r), HIA_ARGUMENT,
               "parameter 1 is of a type T of another program, which differs");
  hia_value_free(foreign);
  hia_module_free(other);

  fn_a_i64_t at = (fn_a_i64_t)typed_entry(w.module, "at");
  hia_status status = at(w.context, a, 5, &r);
  expect_error(&w, status, HIA_RANGE, "index 5 is out of range: the array has 1 element");
  cr_expect_eq(hia_error_line(hia_context_error(w.context), 0), 12);
  cr_expect_eq(at(w.context, a, 0, &r), HIA_OK);
  expect_value(r, "L(7)");

  hia_native_fn none = (hia_native_fn)1;
  hia_error *error;
  cr_expect_eq(hia_function_plain(find_function(w.module, "both"), &none, &error), HIA_UNSUPPORTED);
  cr_expect(strstr(hia_error_text(error), "it works on values in memory"), "%s",
            hia_error_text(error));
  hia_error_free(error);
  hia_value_free(n);
  hia_value_free(a);
  hia_value_free(t);
  close_world(&w);
}

typedef hia_status (*map_both)(hia_context *, size_t, const hia_value *const *, hia_value **,
                               hia_value **);
typedef hia_status (*map_build)(hia_context *, size_t, const int64_t *, const int64_t *,
                                hia_value **);

static hia_native_fn map_of(const world *w, const char *name) {
  hia_native_fn map;
  hia_error *error;
  cr_assert_eq(hia_function_map(find_function(w->module, name), &map, &error), HIA_OK, "%s",
               hia_error_text(error));
  return map;
}

/* Each request of a map for memory fails once: the rows before have their values. */
Test(entry_values, maps) {
  enum { N = 3 };
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 0);
  const hia_value *trees[N];
  hia_value *owned[N], *as[N], *bs[N];
  static const char *const texts[N] = {"L(1)", "N(L(2), L(3))", "L(4)"};
  for (int i = 0; i < N; i++) trees[i] = owned[i] = parse(&w, "both", 0, texts[i]);
  map_both both = (map_both)map_of(&w, "both");
  bool was_between = false;
  for (long left = 0, is_done = 0; !is_done; left++) {
    w.heap.left = left;
    hia_status status = both(w.context, N, trees, as, bs);
    w.heap.left = -1;
    uint64_t rows = hia_context_rows(w.context);
    cr_assert(status == HIA_OK ? rows == N : status == HIA_MEMORY && rows < N);
    was_between |= rows > 0 && rows < N;
    for (uint64_t i = 0; i < rows; i++) {
      expect_value(as[i], texts[i]);
      expect_value(bs[i], texts[i]);
    }
    is_done = status == HIA_OK;
  }
  cr_expect(was_between);
  const int64_t heights[N] = {1, 0, 2}, xs[N] = {5, 6, 7};
  map_build build = (map_build)map_of(&w, "build");
  cr_expect_eq(build(w.context, N, heights, xs, as), HIA_OK);
  expect_value(as[0], "N(L(5), L(6))");
  expect_value(as[1], "L(6)");
  expect_value(as[2], "N(N(L(7), L(8)), N(L(8), L(9)))");
  hia_context_cancel(w.context);
  cr_expect_eq(build(w.context, N, heights, xs, as), HIA_CANCELLED);
  cr_expect_eq(hia_context_rows(w.context), 0);
  cr_expect_eq(build(NULL, N, heights, xs, as), HIA_ARGUMENT);
  for (int i = 0; i < N; i++) hia_value_free(owned[i]);
  close_world(&w);
}

Test(entry_values, the_entry_as_data) {
  world w;
  open_world(&w, 1, 0);
  hia_function *mixed = find_function(w.module, "mixed");
  static const hia_dtype params[] = {HIA_I32, HIA_ENTRY_VALUE, HIA_BOOL, HIA_ENTRY_VALUE, HIA_F32},
                         results[] = {HIA_I64, HIA_ENTRY_VALUE, HIA_ENTRY_VALUE, HIA_BOOL, HIA_F32};
  const hia_dtype *found;
  cr_assert_eq(hia_function_entry_params(mixed, &found), 5);
  cr_assert_eq(memcmp(found, params, sizeof params), 0);
  cr_assert_eq(hia_function_entry_results(mixed, &found), 5);
  cr_assert_eq(memcmp(found, results, sizeof results), 0);
  hia_error *error;
  cr_assert_eq(hia_function_check_entry(mixed, params, 5, results, 5, &error), HIA_OK);
  cr_assert_eq(hia_function_check_entry(mixed, params, 4, results, 5, &error), HIA_ARGUMENT);
  cr_assert(strstr(hia_error_message(error, 0),
                   "is (i32, value, bool, value, f32) -> (i64, value, value, bool, f32), not (i32, "
                   "value, bool, value) -> (i64, value, value, bool, f32), behind the context"),
            "%s", hia_error_message(error, 0));
  hia_error_free(error);
  close_world(&w);
}

/* A module that was read as a graph has several functions in one unit. */
Test(entry_values, functions_of_a_graph) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 0);
  test_text graph = {0};
  hia_function *fns[2] = {find_function(w.module, "mirror"), find_function(w.module, "wrap")};
  hia_dump_options o = HIA_DUMP_OPTIONS_INIT;
  o.stage = HIA_STAGE_GRAPH;
  cr_assert_eq(hia_module_dump(w.module, fns, 2, &o, test_text_take, &graph, NULL), HIA_OK);
  hia_module *module;
  hia_error *error;
  cr_assert_eq(hia_module_load_ir(w.engine, "g", graph.data, graph.len, &module, &error), HIA_OK,
               "%s", hia_error_text(error));
  hia_value *t = parse(&w, "mirror", 0, "N(L(1), L(2))"), *a = parse(&w, "at", 0, "[L(7)]"), *r;
  cr_assert_eq(((fn_a_i64_t)typed_entry(module, "wrap"))(w.context, a, 3, &r), HIA_OK);
  expect_value(r, "U([L(7)], (3, 0.5))");
  cr_assert_eq(((fn_t_t)typed_entry(module, "mirror"))(w.context, t, &r), HIA_OK);
  hia_module_free(module);
  expect_value(r, "N(L(2), L(1))");
  hia_value_free(t);
  hia_value_free(a);
  test_text_free(&graph);
  close_world(&w);
}

Test(entry_values, limits_cancels_and_fuel) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 2; threads++) {
    world w;
    open_world(&w, threads, 2 << 20);
    fn_t_t endless = (fn_t_t)typed_entry(w.module, "endless");
    fn_build build = (fn_build)typed_entry(w.module, "build");
    hia_value *t = parse(&w, "mirror", 0, "N(L(1), N(L(2), L(3)))"), *r = NULL;
    for (int i = 0; i < 5; i++) {
      pthread_t thread;
      pthread_create(&thread, NULL, cancel_context, w.context);
      cr_assert_eq(endless(w.context, t, &r), HIA_CANCELLED);
      pthread_join(thread, NULL);
      hia_context_reset(w.context);
      hia_context_set_timeout(w.context, 1000000);
      cr_assert_eq(endless(w.context, t, &r), HIA_DEADLINE);
      hia_context_set_timeout(w.context, 0);
      cr_assert_eq(build(w.context, 20, 0, &r), HIA_MEMORY);
      cr_assert_null(r);
      cr_assert_eq(build(w.context, 10, 0, &r), HIA_OK);
      hia_value_free(r);
      r = NULL;
    }
    hia_native_fn fuelled;
    uint64_t left;
    cr_assert_eq(hia_function_entry_with_fuel(find_function(w.module, "mirror"), &fuelled, NULL),
                 HIA_OK);
    hia_context_set_fuel(w.context, 6);
    cr_assert_eq(((fn_t_t)fuelled)(w.context, t, &r), HIA_OK);
    expect_value(r, "N(N(L(3), L(2)), L(1))");
    cr_assert(hia_context_fuel_left(w.context, &left) && left == 2);
    cr_assert_eq(((fn_t_t)fuelled)(w.context, t, &r), HIA_FUEL);
    cr_assert_eq(((fn_t_t)typed_entry(w.module, "mirror"))(w.context, t, &r), HIA_UNSUPPORTED);
    hia_value_free(t);
    close_world(&w);
  }
}

Test(entry_values, a_call_inside_of_a_call) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 0);
  hia_value *t = parse(&w, "mirror", 0, "L(5)"), *r;
  fn_a_i64_t outer = (fn_a_i64_t)typed_entry(w.module, "outer");
  cr_assert_eq(outer(w.context, t, 3, &r), HIA_OK);
  expect_value(r, "N(L(5), L(20))");
  hia_value_free(t);
  close_world(&w);
}

/* Several threads, each with a context of its own, share an entry and its arguments. */
typedef struct sharing {
  world *w;
  const hia_value *t;
  fn_t_t mirror;
  int n_wrong;
} sharing;

static void *call_often(void *user) {
  sharing *s = user;
  hia_context *context;
  if (hia_context_new(NULL, &context) != HIA_OK) return NULL;
  for (int i = 0; i < 300; i++) {
    hia_value *r = NULL, *back = NULL;
    if (s->mirror(context, s->t, &r) != HIA_OK || s->mirror(context, r, &back) != HIA_OK ||
        hia_value_ctor(back) != 1)
      s->n_wrong++;
    hia_value_free(r);
    hia_value_free(back);
  }
  hia_context_free(context);
  return NULL;
}

Test(entry_values, threads_share_entries_and_values) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 0);
  hia_value *t = NULL;
  cr_assert_eq(((fn_build)typed_entry(w.module, "build"))(w.context, 6, 0, &t), HIA_OK);
  sharing s[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    s[i] = (sharing){&w, t, (fn_t_t)typed_entry(w.module, "mirror"), 0};
    pthread_create(&threads[i], NULL, call_often, &s[i]);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; i++) cr_expect_eq(s[i].n_wrong, 0);
  hia_value_free(t);
  close_world(&w);
}

static fn_both both;
static const hia_value *argument;

static hia_status use_context(const hia_allocator *allocator) {
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *context;
  o.allocator = allocator;
  hia_status status = hia_context_new(&o, &context);
  if (status != HIA_OK) return status;
  hia_value *one = NULL, *two = NULL;
  status = both(context, argument, &one, &two);
  cr_assert(status == HIA_OK || status == HIA_MEMORY);
  cr_assert((status == HIA_OK) == (one != NULL) && !one == !two);
  hia_value_free(one);
  hia_value_free(two);
  hia_context_free(context);
  return status;
}

/* First of the calls, then of the engine that makes the entry. */
static hia_status use_engine(const hia_allocator *allocator) {
  static const char small[] =
      "type T = L | N(t: T, x: (i64, f64)) fn f(t: T) -> (T, [T]) = (t, [t])";
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = allocator;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *f = NULL;
  hia_native_fn entry = NULL;
  hia_status status = hia_engine_new(&options, &engine, NULL);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "t", small, strlen(small), &module, NULL);
  if (status == HIA_OK) status = hia_module_function(module, "f", &f, NULL);
  if (status == HIA_OK) status = hia_function_entry(f, &entry, NULL);
  cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s", hia_status_word(status));
  hia_module_free(module);
  hia_engine_free(engine);
  return status;
}

Test(entry_values, every_request_for_memory_may_fail) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 0);
  hia_value *t = parse(&w, "mirror", 0, "N(L(1), L(2))");
  both = (fn_both)typed_entry(w.module, "both");
  argument = t;
  cr_assert_gt(fail_each_allocation(use_context), 3);
  hia_value_free(t);
  close_world(&w);
  cr_assert_gt(fail_each_allocation(use_engine), 20);
}
