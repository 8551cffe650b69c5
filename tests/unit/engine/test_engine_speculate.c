/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions that assume something of arguments: which runs use them, what they assume, and that
 * nothing else depends on them. */
#include "jit/engine/speculate.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include <hiaton/dlpack.h>

#include <pthread.h>
#include <stdio.h>

static const char text[] =
    "type E = X | C(v: f64) | Add(a: E, b: E) | Div(a: E, b: E)\n"
    "fn ev(e: E, x: f64) -> f64 = match e { X => x, C(v) => v, Add(a, b) => ev(a, x) + ev(b, x),\n"
    "  Div(a, b) => f64(i64(ev(a, x)) / i64(ev(b, x))) }\n"
    "fn total(e: E, n: i64) = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < n { (s + ev(e, f64(i)), i + 1) }; s }\n"
    "type T = L(x: f32) | N(a: T, b: T)\n"
    "fn fold(t: T, W: f32[?, ?], b: f32[?]) -> f32[?] = match t {\n"
    "  L(x) => relu(W @ (x * ones(len(b))) + b),\n"
    "  N(l, r) => relu(W @ (fold(l, W, b) + fold(r, W, b)) + b) }\n"
    "fn full(d: i32) -> T = if d == 0 then L(1) else N(full(d - 1), full(d - 1))\n"
    "fn net(d: i32, W: f32[?, ?], b: f32[?]) -> f32 = sum(fold(full(d), W, b))\n";

static program open(hia_speculate mode, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = mode;
  return open_program(&options, text, name);
}

static hia_value *parse(const program *p, size_t i, const char *arg) {
  hia_value *value = NULL;
  hia_error *error = NULL;
  cr_assert_eq(hia_value_parse(p->function, i, arg, &value, &error), HIA_OK, "%s",
               hia_error_text(error));
  return value;
}

/* Returns the number of the version that the run used, and prints its result, or its error. */
static uint32_t run(const program *p, hia_value *const *args, size_t n, char *out, size_t size) {
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_value *result = NULL;
  hia_error *error = NULL;
  options.stats = &stats;
  hia_status status = hia_run(p->function, args, n, &options, &result, &error);
  if (status == HIA_OK)
    hia_value_format(result, out, size);
  else
    snprintf(out, size, "%s", hia_error_text(error));
  hia_error_free(error);
  hia_value_free(result);
  return stats.version;
}

Test(engine_speculate, an_object_that_is_the_same) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "10")}, *other[2];
  char first[64], second[64];
  cr_assert_eq(run(&p, args, 2, first, sizeof first), 0);
  cr_assert_eq(run(&p, args, 2, second, sizeof second), 1);
  cr_assert_str_eq(first, "65.0");
  cr_assert_str_eq(second, "65.0");
  /* The number of rounds may be another one, the object not. */
  other[0] = args[0];
  other[1] = parse(&p, 1, "3");
  cr_assert_eq(run(&p, other, 2, second, sizeof second), 1);
  cr_assert_str_eq(second, "9.0");
  other[0] = parse(&p, 0, "Add(X, C(2.0))"); /* equal, and another one */
  cr_assert_eq(run(&p, other, 2, second, sizeof second), 0);
  cr_assert_str_eq(second, "9.0");
  hia_value_free(other[0]);
  hia_value_free(other[1]);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
}

/* An object that a version assumes is not freed, so none with its address is another one. */
Test(engine_speculate, objects_that_die) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_value *n = parse(&p, 1, "10");
  unsigned n_special = 0;
  for (int i = 0; i < 60; i++) {
    char source[64], out[64], expected[64];
    snprintf(source, sizeof source, "Add(X, C(%d.0))", i);
    snprintf(expected, sizeof expected, "%d.0", 45 + 10 * i);
    hia_value *args[2] = {parse(&p, 0, source), n};
    for (int k = 0; k < 2; k++) {
      n_special += run(&p, args, 2, out, sizeof out) != 0;
      cr_assert_str_eq(out, expected);
    }
    hia_value_free(args[0]);
  }
  cr_assert_eq(n_special, HIA_MAX_SPECIALS);
  hia_value_free(n);
  close_program(&p);
}

/* Failures, and their chains of calls, are those of the general version. */
Test(engine_speculate, failures) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_value *args[2] = {parse(&p, 0, "Add(Div(C(1.0), Add(X, C(-3.0))), X)"), parse(&p, 1, "3")};
  char general[1024], special[1024];
  run(&p, args, 2, general, sizeof general);
  hia_value *more[2] = {args[0], parse(&p, 1, "5")};
  cr_assert_eq(run(&p, more, 2, special, sizeof special), 1);
  program q = open(HIA_SPECULATE_OFF, "total");
  hia_value *same[2] = {parse(&q, 0, "Add(Div(C(1.0), Add(X, C(-3.0))), X)"), more[1]};
  cr_assert_eq(run(&q, same, 2, general, sizeof general), 0);
  cr_assert(strstr(general, "division by zero"), "%s", general);
  cr_assert_str_eq(general, special);
  hia_value_free(same[0]);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  hia_value_free(more[1]);
  close_program(&p);
  close_program(&q);
}

static const char *const W[] = {"[[1, 2], [3, 4]]", "[[0.5, 0], [0, 0.25]]"};

/* Weights that are arguments are params of the run: others of the same sizes, too. */
Test(engine_speculate, tensors_as_params) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net"), q = open(HIA_SPECULATE_OFF, "net");
  hia_value *d = parse(&p, 0, "3"), *b = parse(&p, 2, "[1, 2]");
  for (int i = 0; i < 6; i++) {
    hia_value *args[3] = {d, parse(&p, 1, W[i / 2 % 2]), b};
    char general[64], special[64];
    cr_assert_eq(run(&p, args, 3, special, sizeof special), i != 0);
    cr_assert_eq(run(&q, args, 3, general, sizeof general), 0);
    cr_assert_str_eq(general, special);
    hia_value_free(args[1]);
  }
  hia_value *large[3] = {d, parse(&p, 1, "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]"),
                         parse(&p, 2, "[1, 2, 3]")};
  char general[64], special[64];
  cr_assert_eq(run(&p, large, 3, special, sizeof special), 0);
  cr_assert_eq(run(&q, large, 3, general, sizeof general), 0);
  cr_assert_str_eq(general, special);
  cr_assert_eq(run(&p, large, 3, special, sizeof special), 2);
  cr_assert_str_eq(general, special);
  for (int i = 1; i < 3; i++) hia_value_free(large[i]);
  hia_value_free(b);
  hia_value_free(d);
  close_program(&p);
  close_program(&q);
}

static void release_nothing(DLManagedTensorVersioned *t) { (void)t; }

/* Memory that the host lends may change between calls. */
Test(engine_speculate, memory_that_is_lent) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net");
  _Alignas(64) static float elements[64 * 64];
  int64_t shape[2] = {64, 64};
  hia_value *d = parse(&p, 0, "2"), *b = parse(&p, 2, "[0]");
  hia_value_free(b);
  char zeros[64 * 4 + 2] = "[0";
  for (int i = 1; i < 64; i++) strcat(zeros, ", 0");
  b = parse(&p, 2, strcat(zeros, "]"));
  DLManagedTensorVersioned lent = {
      .version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
      .deleter = release_nothing,
      .dl_tensor = {
          .data = elements, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = shape}};
  hia_value *lent_W = NULL;
  hia_error *error = NULL;
  cr_assert_eq(hia_data_from_dlpack(NULL, NULL, &lent, &lent_W, &error), HIA_OK, "%s",
               hia_error_text(error));
  for (int k = 1; k < 5; k++) {
    for (int i = 0; i < 64 * 64; i++) elements[i] = i / 64 == i % 64 ? (float)k : 0;
    hia_value *args[3] = {d, lent_W, b};
    char out[64], expected[64];
    cr_assert_eq(run(&p, args, 3, out, sizeof out), k > 1);
    snprintf(expected, sizeof expected, "%.1f", 4.0 * 64 * k * k * k);
    cr_assert_str_eq(out, expected);
  }
  hia_value_free(lent_W);
  hia_value_free(b);
  hia_value_free(d);
  close_program(&p);
}

/* What varies again and again is not assumed: there are few versions, and then no more of them. */
Test(engine_speculate, sizes_that_vary) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net");
  hia_value *d = parse(&p, 0, "1");
  uint64_t n_versions = 0;
  for (int i = 0; i < 200; i++) {
    int n = 1 + (i * 37 + i * i) % 64;
    char b[64 * 3 + 8] = "[0", w[64 * 64 * 3 + 64 * 4 + 8] = "[";
    for (int k = 1; k < n; k++) strcat(b, ",0");
    for (int k = 0; k < n; k++) {
      strcat(w, k ? ",[1" : "[1");
      for (int j = 1; j < n; j++) strcat(w, ",1");
      strcat(w, "]");
    }
    hia_value *args[3] = {d, parse(&p, 1, strcat(w, "]")), parse(&p, 2, strcat(b, "]"))};
    char out[64];
    run(&p, args, 3, out, sizeof out);
    hia_value_free(args[1]);
    hia_value_free(args[2]);
    hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
    hia_function_get_stats(p.function, &stats);
    cr_assert(i < 20 || stats.versions == n_versions, "run %d", i);
    n_versions = stats.versions;
  }
  cr_assert_leq(n_versions, 5);
  hia_value_free(d);
  close_program(&p);
}

Test(engine_speculate, off_and_by_itself) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_OFF, "total");
  hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "1000000")};
  char out[64];
  for (int i = 0; i < 8; i++) cr_assert_eq(run(&p, args, 2, out, sizeof out), 0);
  hia_value_free(args[0]);
  close_program(&p);
  p = open(HIA_SPECULATE_ON, "total");
  args[0] = parse(&p, 0, "Add(X, C(2.0))");
  uint32_t version = 0;
  for (int i = 0; i < 100000 && !version; i++) version = run(&p, args, 2, out, sizeof out);
  cr_assert_eq(version, 1);
  cr_assert_str_eq(out, "500001500000.0");
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = (hia_speculate)7;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_ARGUMENT);
}

static const program *shared;
static void *run_many(void *arg) {
  char w[64], out[64], expected[64];
  int k = *(int *)arg;
  for (int i = 0; i < 40; i++) {
    snprintf(w, sizeof w, "[[%d, 0], [0, %d]]", k, k);
    hia_value *args[3] = {parse(shared, 0, "1"), parse(shared, 1, w), parse(shared, 2, "[0, 0]")};
    run(shared, args, 3, out, sizeof out);
    snprintf(expected, sizeof expected, "%.1f", 4.0 * k * k);
    cr_expect_str_eq(out, expected);
    for (int a = 0; a < 3; a++) hia_value_free(args[a]);
  }
  return NULL;
}

Test(engine_speculate, several_threads) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net");
  shared = &p;
  pthread_t threads[4];
  int numbers[4] = {1, 2, 3, 4};
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, run_many, &numbers[i]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  close_program(&p);
}

/* The engine is freed while a version is being made, or just asked for. */
Test(engine_speculate, freed_meanwhile) {
  NEEDS_NATIVE;
  for (int n = 3; n < 12; n++) {
    program p = open(HIA_SPECULATE_ON, "total");
    hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "3000000")};
    char out[64];
    for (int i = 0; i < n; i++) run(&p, args, 2, out, sizeof out);
    hia_value_free(args[0]);
    hia_value_free(args[1]);
    close_program(&p);
  }
}

/* Without memory for what versions need there are none, and runs go on as ever. */
Test(engine_speculate, without_memory) {
  NEEDS_NATIVE;
  for (int k = 0; k < 400; k += 1 + k / 4) {
    test_heap heap;
    test_heap_init(&heap, -1);
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.speculate = HIA_SPECULATE_EAGER;
    options.allocator = &heap.allocator;
    program p = open_program(&options, text, "net");
    hia_value *args[3] = {parse(&p, 0, "2"), parse(&p, 1, W[0]), parse(&p, 2, "[0, 1]")};
    char out[256];
    heap.left = k;
    run(&p, args, 3, out, sizeof out);
    run(&p, args, 3, out, sizeof out);
    heap.left = -1;
    run(&p, args, 3, out, sizeof out);
    cr_assert_str_eq(out, "1301.0");
    for (int i = 0; i < 3; i++) hia_value_free(args[i]);
    close_program(&p);
    cr_assert_eq(heap.blocks, 0);
  }
}
