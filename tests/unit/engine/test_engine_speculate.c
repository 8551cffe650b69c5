/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions that assume something of arguments: which runs use them, what they assume, and that
 * nothing else depends on them. */
#include "jit/cache/store.h"
#include "jit/engine/speculate.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/cache.h>
#include <hiaton/dlpack.h>

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

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
    "type M = M(w: f32[?, ?], b: f32[?])\n"
    "fn in_record(t: T, m: M) -> f32[?] = match m { M(w, b) => match t {\n"
    "  L(x) => relu(w @ (x * ones(len(b))) + b),\n"
    "  N(l, r) => relu(w @ (in_record(l, m) + in_record(r, m)) + b) } }\n"
    "fn net_in_record(d: i32, m: M) -> f32 = sum(in_record(full(d), m))\n"
    "fn net(d: i32, W: f32[?, ?], b: f32[?]) -> f32 = sum(fold(full(d), W, b))\n"
    "fn pairs(p: (i64, (E, i64))) = total(p.1.0, p.1.1) + f64(p.0)\n"
    "fn power(x: f64, n: i64) -> f64 = if n == 0 then 1 else x * power(x, n - 1)\n"
    "type P = Y | Times(a: P, b: P)\n"
    "fn poly(p: P, y: f64) -> f64 = match p { Y => y, Times(a, b) => poly(a, y) * poly(b, y) }\n"
    "fn slopes(p: P, n: i64) = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < n {\n"
    "    (s + grad(poly, wrt = y)(p, f64(i)), i + 1) }; s }\n"
    "fn sized(x: f32[?]) -> f32 = sum(x)\n"
    "fn generic(x) = x\n";

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

/* What a decision against a version has left goes before the next one. */
Test(engine_speculate, what_was_not_used) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_ON, "total");
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 0);
  hia_speculation *s = hiaJ_speculation_of(p.function);
  hia_special *x = hiaJ_special_next(s, p.function);
  cr_assert(x && !x->objects[0]);
  x->objects[0] = hiaR_objects_hold(objects);
  x->is_narrow = true;
  cr_assert_eq(hiaJ_special_next(s, p.function), x);
  cr_assert(!x->is_narrow && !x->objects[0]);
  hiaR_objects_release(objects); /* else memory is lost */
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

/* So are weights that are fields of an object, if it is the same. */
Test(engine_speculate, tensors_of_an_object) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net_in_record"), q = open(HIA_SPECULATE_OFF, "net");
  for (int k = 0; k < 2; k++) {
    char record[128], general[64], special[64];
    snprintf(record, sizeof record, "M(%s, [1, 2])", W[k]);
    hia_value *args[2] = {parse(&p, 0, "3"), parse(&p, 1, record)};
    hia_value *same[3] = {args[0], parse(&q, 1, W[k]), parse(&q, 2, "[1, 2]")};
    run(&q, same, 3, general, sizeof general);
    for (int i = 0; i < 3; i++) {
      cr_assert_eq(run(&p, args, 2, special, sizeof special), i ? (uint32_t)k + 1 : 0);
      cr_assert_str_eq(special, general);
    }
    for (int i = 0; i < 2; i++) hia_value_free(args[i]);
    for (int i = 1; i < 3; i++) hia_value_free(same[i]);
  }
  close_program(&p);
  close_program(&q);
}

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
    cr_assert_eq(run(&p, args, 3, out, sizeof out) != 0, k > 1);
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
  program p = open(HIA_SPECULATE_EAGER, "net"), q = open(HIA_SPECULATE_OFF, "net");
  hia_value *d = parse(&p, 0, "1");
  unsigned n_versions = 0;
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
    char out[64], expected[64];
    run(&p, args, 3, out, sizeof out);
    run(&q, args, 3, expected, sizeof expected);
    cr_assert_str_eq(out, expected);
    hia_value_free(args[1]);
    hia_value_free(args[2]);
    unsigned n_made = atomic_load(&p.function->speculation->n_made);
    cr_assert(i < 20 || n_made == n_versions, "run %d", i);
    n_versions = n_made;
  }
  cr_assert_leq(n_versions, 4);
  hia_value_free(d);
  close_program(&p);
  close_program(&q);
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
  for (int i = 0; i < 10000 && !version; i++) version = run(&p, args, 2, out, sizeof out);
  cr_assert_eq(version, 1);
  cr_assert_str_eq(out, "500001500000.0");
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = (hia_speculate)7;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_ARGUMENT);
  options = (hia_engine_options)HIA_ENGINE_OPTIONS_INIT;
  options.reserved = 1;
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

/* ---- what it tells of itself ---- */

/* A document of JSON: returns what follows a value, or NULL. */
static const char *after_value(const char *at);

static const char *skip(const char *at) {
  while (at && isspace((unsigned char)*at)) at++;
  return at;
}

static const char *after_text(const char *at) {
  if (*at++ != '"') return NULL;
  for (; *at != '"'; at++)
    if ((unsigned char)*at < ' ' || (*at == '\\' && !*++at)) return NULL;
  return at + 1;
}

static const char *after_items(const char *at, char close, bool are_named) {
  at = skip(at + 1);
  if (*at == close) return at + 1;
  for (;; at = skip(at + 1)) {
    if (are_named) {
      at = skip(after_text(at));
      if (!at || *at != ':') return NULL;
      at = skip(at + 1);
    }
    at = skip(after_value(at));
    if (!at || *at == close) return at ? at + 1 : NULL;
    if (*at != ',') return NULL;
  }
}

static const char *after_value(const char *at) {
  if (*at == '{') return after_items(at, '}', true);
  if (*at == '[') return after_items(at, ']', false);
  if (*at == '"') return after_text(at);
  if (strncmp(at, "null", 4) == 0 || strncmp(at, "true", 4) == 0) return at + 4;
  if (strncmp(at, "false", 5) == 0) return at + 5;
  const char *end = at;
  while (isdigit((unsigned char)*end) || *end == '.') end++;
  return end > at ? end : NULL;
}

/* Both forms; the caller frees the text. The other one is JSON, and has each of the words, too. */
static test_text explained(const program *p, const char *const *words) {
  test_text told = {0}, json = {0};
  hia_error *error = NULL;
  cr_assert_eq(hia_function_explain(p->function, false, test_text_take, &told, &error), HIA_OK);
  cr_assert_eq(hia_function_explain(p->function, true, test_text_take, &json, &error), HIA_OK);
  const char *end = skip(after_value(json.data));
  cr_assert(end && !*end, "%s", json.data);
  for (; *words; words++) {
    cr_assert(strstr(told.data, *words), "no '%s' in\n%s", *words, told.data);
    cr_assert(strstr(json.data, *words), "no '%s' in\n%s", *words, json.data);
  }
  test_text_free(&json);
  return told;
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
static void explains(const program *p, const char *const *words) {
  test_text told = explained(p, words);
  test_text_free(&told);
}

static void run_parsed(const program *p, const char *const *texts, size_t n, uint32_t version) {
  hia_value *args[4];
  char out[256];
  for (size_t i = 0; i < n; i++) args[i] = parse(p, i, texts[i]);
  cr_assert_eq(run(p, args, n, out, sizeof out), version);
  for (size_t i = 0; i < n; i++) hia_value_free(args[i]);
}

Test(engine_speculate, explains_objects) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  explains(&p, WORDS("total(e: E, n: i64) -> f64", "no run was looked at so far"));
  hia_value *args[2] = {parse(&p, 0, "Add(X, C(2.0))"), parse(&p, 1, "10")};
  char out[64];
  for (int i = 0; i < 4; i++) run(&p, args, 2, out, sizeof out);
  test_text told = explained(
      &p, WORDS("is this object, Add(X, C(2.0)): seen once",
                "is not assumed: it would be of no use, as no loop computes with it and no "
                "recursive function hands it on"));
  cr_assert(
      strstr(told.data, "4 runs\ngeneral version: 1 run, of which 1 was looked at\n  the inter"),
      "%s", told.data);
  cr_assert(strstr(told.data, "version 1 was made after run 1\n  e is"), "%s", told.data);
  cr_assert(strstr(told.data, "\n  n is not"), "%s", told.data);
  cr_assert(strstr(told.data, "\n  3 runs used it\n  it took "), "%s", told.data);
  cr_assert(strstr(told.data, " ms, the mean of 3 runs: "), "%s", told.data);
  cr_assert(strstr(told.data, "1 of at most 15 versions"), "%s", told.data);
  cr_assert_not(strstr(told.data, "did not fit"), "%s", told.data);
  test_text_free(&told);
  hia_value_free(args[0]);
  args[0] = parse(&p, 0, "Add(X, C(3.0))");
  run(&p, args, 2, out, sizeof out);
  told = explained(&p, WORDS("is this object, Add(X, C(3.0)): seen once", "another object"));
  cr_assert(strstr(told.data, "1 run did not fit it; in run 5 e was another object"), "%s",
            told.data);
  test_text_free(&told);
  hia_value_free(args[0]);
  args[0] = parse(&p, 0, "X");
  run(&p, args, 2, out, sizeof out);
  told = explained(&p, WORDS("is a constructor without fields"));
  cr_assert(strstr(told.data, "2 runs did not fit it; in run 6 e was X"), "%s", told.data);
  test_text_free(&told);
  hia_value_free(args[0]);
  hia_value_free(args[1]);
  close_program(&p);
}

Test(engine_speculate, explains_tensors) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "net");
  for (uint32_t i = 0; i < 3; i++)
    run_parsed(&p, WORDS("2", "[[1, 2], [3, 4]]", "[1, 2]"), 3, i != 0);
  run_parsed(&p, WORDS("2", "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "[1, 2, 3]"), 3, 0);
  test_text told =
      explained(&p, WORDS("is read as a param of the run, f32[2, 2]: so in the last look",
                          "is read as a param of the run, f32[3]", "f32[3, 3]"));
  cr_assert(strstr(told.data, "1 run did not fit it; in run 4 W was f32[3, 3]"), "%s", told.data);
  test_text_free(&told);
  close_program(&p);
  p = open(HIA_SPECULATE_EAGER, "sized");
  run_parsed(&p, WORDS("[1, 2]"), 1, 0);
  run_parsed(&p, WORDS("[1, 2]"), 1, 0);
  explains(&p, WORDS("no assumption would be of use",
                     "has the sizes f32[2]: so in the last look; that alone is of no use"));
  close_program(&p);
}

Test(engine_speculate, explains_parts_of_tuples) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "pairs");
  run_parsed(&p, WORDS("(7, (Add(X, X), 3))"), 1, 0);
  test_text told = explained(&p, WORDS("p.0", "p.1.0", "p.1.1"));
  cr_assert(strstr(told.data, "\n  p.1.0 is this object, Add(X, X): seen once"), "%s", told.data);
  test_text_free(&told);
  close_program(&p);
}

Test(engine_speculate, explains_what_varies) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "power");
  for (int i = 0; i < 5; i++) {
    char x[16];
    snprintf(x, sizeof x, "%d.5", i);
    run_parsed(&p, WORDS(x, i == 2 ? "3" : "4"), 2, 0);
  }
  test_text told = explained(&p, WORDS("is 0.5: so in the last look", "differs in every look",
                                       "was 4 in the last 2 looks"));
  cr_assert(strstr(told.data, "; in run 5 x was 4.5\n"), "%s", told.data);
  test_text_free(&told);
  for (int i = 0; i < 2; i++)
    for (int n = 1; n < 4; n++) run_parsed(&p, WORDS("0.25", n == 1 ? "1" : "2"), 2, 0);
  explains(&p, WORDS("varied "));
  close_program(&p);
}

Test(engine_speculate, explains_what_is_not_assumed) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "slopes");
  run_parsed(&p, WORDS("Times(Y, Y)", "3"), 2, 0);
  run_parsed(&p, WORDS("Times(Y, Y)", "3"), 2, 0);
  explains(&p, WORDS("is not assumed: gradients are computed, and no branch may be decided before",
                     "no assumption would be of use"));
  close_program(&p);
  p = open(HIA_SPECULATE_EAGER, "total");
  char large[300 * 8 + 600] = "";
  for (int i = 0; i < 300; i++) strcat(large, "Add(X,");
  strcat(large, "X");
  for (int i = 0; i < 300; i++) strcat(large, ")");
  run_parsed(&p, WORDS(large, "2"), 2, 0);
  explains(&p, WORDS("is not assumed: it has more than 256 objects"));
  close_program(&p);
}

Test(engine_speculate, explains_many_objects) {
  NEEDS_NATIVE;
  enum { N = 1400 }; /* one in 16 is looked at */
  program p = open(HIA_SPECULATE_ON, "total");
  static hia_value *args[N][2];
  hia_value *n = parse(&p, 1, "2");
  char out[64];
  for (int i = 0; i < N; i++) {
    args[i][0] = parse(&p, 0, "Add(X, X)");
    args[i][1] = n;
    run(&p, args[i], 2, out, sizeof out);
  }
  explains(&p, WORDS("has more than 16 objects in turn"));
  for (int i = 0; i < N; i++) hia_value_free(args[i][0]);
  hia_value_free(n);
  close_program(&p);
}

Test(engine_speculate, explains_when_it_waits) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_ON, "total");
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  explains(&p, WORDS("1 run was looked at, and 3 are needed",
                     "was an object that was seen once, and 3 times are needed",
                     "was the same in the last look only, and 3 are needed"));
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  explains(&p, WORDS("all runs together have taken about ", "was 3 in the last 3 looks"));
  close_program(&p);
  p = open(HIA_SPECULATE_OFF, "total");
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  explains(&p, WORDS("the engine's option `speculate` is off"));
  close_program(&p);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  p = open_program(&options, text, "total");
  explains(&p, WORDS("engines of this kind make none"));
  close_program(&p);
}

typedef struct log_lines {
  int n;
  char last[256];
} log_lines;
static void log_last(void *user, const char *message) {
  log_lines *log = user;
  if (!strstr(message, "no further versions")) return;
  log->n++;
  snprintf(log->last, sizeof log->last, "%s", message);
}

Test(engine_speculate, explains_that_there_are_no_more) {
  NEEDS_NATIVE;
  log_lines log = {0};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_EAGER;
  options.log = log_last;
  options.log_user = &log;
  program p = open_program(&options, text, "total");
  hia_value *args[20][2], *n = parse(&p, 1, "2");
  char out[64];
  for (int i = 0; i < 20; i++) {
    args[i][0] = parse(&p, 0, "Add(X, X)");
    args[i][1] = n;
    run(&p, args[i], 2, out, sizeof out);
  }
  cr_assert_eq(log.n, 1);
  cr_assert_str_eq(log.last, "total(E, i64) gets no further versions for its arguments: 15 were "
                             "made or tried, which is the most");
  explains(&p, WORDS("these are the most"));
  for (int i = 0; i < 20; i++) hia_value_free(args[i][0]);
  hia_value_free(n);
  close_program(&p);
}

Test(engine_speculate, explaining_fails) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  run_parsed(&p, WORDS("Add(X, X)", "3"), 2, 0);
  hia_error *error = NULL;
  for (int json = 0; json < 2; json++) {
    cr_assert_eq(hia_function_explain(p.function, json, test_text_refuse, NULL, &error), HIA_IO);
    cr_assert(strstr(hia_error_text(error), "could not be written"));
    hia_error_free(error);
  }
  hia_function *generic = find_function(p.module, "generic");
  cr_assert_eq(hia_function_explain(generic, false, test_text_refuse, NULL, NULL), HIA_ARGUMENT);
  close_program(&p);
}

/* Without memory nothing is written, and the lock is free again. */
Test(engine_speculate, explaining_without_memory) {
  NEEDS_NATIVE;
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_EAGER;
  options.allocator = &heap.allocator;
  program p = open_program(&options, text, "net");
  run_parsed(&p, WORDS("2", W[0], "[0, 1]"), 3, 0);
  hia_status status = HIA_MEMORY;
  int k = 0;
  for (; status == HIA_MEMORY; k++) {
    test_text t = {0};
    heap.left = k;
    status = hia_function_explain(p.function, k % 2, test_text_take, &t, NULL);
    heap.left = -1;
    cr_assert_eq(t.len != 0, status == HIA_OK);
    test_text_free(&t);
    run_parsed(&p, WORDS("2", W[0], "[0, 1]"), 3, 1);
  }
  cr_assert_eq(status, HIA_OK);
  cr_assert_gt(k, 1);
  close_program(&p);
  cr_assert_eq(heap.blocks, 0);
}

static atomic_bool is_over;
static void *explain_many(void *arg) {
  (void)arg;
  for (int i = 0; !atomic_load(&is_over) || i < 20; i++) {
    test_text told = {0};
    cr_expect_eq(hia_function_explain(shared->function, i % 2, test_text_take, &told, NULL),
                 HIA_OK);
    cr_expect(told.len > 0);
    test_text_free(&told);
  }
  return NULL;
}

Test(engine_speculate, explains_while_it_runs) {
  NEEDS_NATIVE;
  for (int mode = 0; mode < 2; mode++) {
    program p = open(mode ? HIA_SPECULATE_EAGER : HIA_SPECULATE_ON, "net");
    shared = &p;
    pthread_t threads[4];
    int numbers[2] = {1, 2};
    atomic_store(&is_over, false);
    for (int i = 0; i < 2; i++) {
      pthread_create(&threads[i], NULL, run_many, &numbers[i]);
      pthread_create(&threads[2 + i], NULL, explain_many, NULL);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    atomic_store(&is_over, true);
    for (int i = 2; i < 4; i++) pthread_join(threads[i], NULL);
    close_program(&p);
  }
}

/* A run in a version, and compiling it, have its number in a timeline. */
Test(engine_speculate, timelines) {
  NEEDS_NATIVE;
  program p = open(HIA_SPECULATE_EAGER, "total");
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeline = hia_timeline_new(NULL, 0);
  hia_value *args[2] = {parse(&p, 0, "Add(X, X)"), parse(&p, 1, "2")};
  for (int i = 0; i < 2; i++) {
    hia_value *result;
    cr_assert_eq(hia_run(p.function, args, 2, &options, &result, NULL), HIA_OK);
    hia_value_free(result);
  }
  test_text t = {0};
  cr_assert_eq(hia_timeline_write(options.timeline, test_text_take, &t, NULL), HIA_OK);
  cr_assert(strstr(t.data, "\"function\":\"total(E, i64)\""), "%s", t.data);
  cr_assert(strstr(t.data, "\"function\":\"total(E, i64), version 1\""), "%s", t.data);
  cr_assert(strstr(t.data, "\"of\":\"total(E, i64), version 1\""), "%s", t.data);
  test_text_free(&t);
  hia_timeline_free(options.timeline);
  for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  close_program(&p);
}

/* ---- versions without batches ---- */

static const char narrow_text[] =
    "param A: f32[64, 64] = glorot_uniform()\n"
    "fn chain(n: i64) -> f32[64] = if n == 0 then full(0.1, 64) else tanh(A @ chain(n - 1))\n"
    "fn wide(n: i64, m: i64) -> f32 = sum([sum(chain(n)) for i in 0..m])\n"
    "fn narrow(n: i64, m: i64) -> f32 = sum(chain(n)) + f32(m)\n";

static uint32_t run_numbers(const program *p, int64_t n, int64_t m, uint64_t *rows) {
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_value *args[2] = {hia_value_i64(p->engine, n), hia_value_i64(p->engine, m)}, *result = NULL;
  options.stats = &stats;
  cr_assert_eq(hia_run(p->function, args, 2, &options, &result, NULL), HIA_OK);
  hia_value_free(result);
  for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  *rows = stats.batch_rows;
  return stats.version;
}

/* Once waves are wide, runs have batches again, for good. */
Test(engine_speculate, waves_of_one_row) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_EAGER;
  options.flags = HIA_FLAG_NO_REUSE;
  program p = open_program(&options, narrow_text, "narrow");
  uint64_t rows;
  cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
  cr_assert_eq(run_numbers(&p, 20, 1, &rows), 0);
  cr_assert_gt(rows, 0);
  unsigned n_batched = 0;
  for (int i = 0; i < 300; i++) {
    uint32_t version = run_numbers(&p, 20, 1 + i % 2, &rows);
    cr_assert(version != 0 || rows > 0);
    n_batched += rows > 0;
  }
  cr_assert(n_batched >= 2 && n_batched < 10, "%u", n_batched);
  test_text told = explained(&p, WORDS("is not assumed here"));
  cr_assert(strstr(told.data, "nothing is batched"), "%s", told.data);
  test_text_free(&told);
  close_program(&p);
  p = open_program(&options, narrow_text, "wide");
  cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
  run_numbers(&p, 20, 1, &rows); /* as narrow as the chain */
  cr_assert_gt(rows, 0);
  for (int i = 0; i < 4; i++) run_numbers(&p, 20, 1, &rows);
  cr_assert_eq(rows, 0);
  unsigned n_wide = 0;
  for (int i = 0; i < 300; i++) {
    run_numbers(&p, 5, 40, &rows);
    n_wide += rows > 0;
  }
  cr_assert_gt(n_wide, 150);
  close_program(&p);
}

/* ---- versions in the cache ---- */

/* What is instrumented is not cached: with sanitizers there is nothing to test. */
#if !defined(HIA_ASAN) && !defined(HIA_TSAN)

static program open_cached(hia_speculate mode, const char *folder, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = mode;
  options.cache = folder;
  return open_program(&options, text, name);
}

/* Runs `net` in an engine of its own, and returns the version that the first run used. */
static uint32_t start_with(const char *folder, hia_speculate mode, const char *w, const char *b,
                           const char *expected) {
  program p = open_cached(mode, folder, "net");
  hia_value *args[3] = {parse(&p, 0, "3"), parse(&p, 1, w), parse(&p, 2, b)};
  char out[64];
  if (mode == HIA_SPECULATE_EAGER) cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
  uint32_t version = run(&p, args, 3, out, sizeof out);
  cr_assert_str_eq(out, expected);
  for (int i = 0; i < 3; i++) hia_value_free(args[i]);
  close_program(&p);
  return version;
}

typedef struct list_file {
  hia_store *store;
  char name[HIA_STORE_NAME + 1];
  char bytes[20000];
  size_t size, body; /* where the list begins */
} list_file;

static void find_list(void *user, const hia_store_file *file) {
  list_file *l = user;
  size_t size;
  char *bytes = hiaJ_store_read(l->store, file->name, &size);
  static const char word[] = "\nversions\n";
  char *at = bytes ? memmem(bytes, size, word, sizeof word - 1) : NULL;
  if (at && size < sizeof l->bytes) {
    memcpy(l->name, file->name, sizeof l->name);
    memcpy(l->bytes, bytes, size);
    l->size = size;
    l->body = (size_t)(at - bytes) + sizeof word - 1;
  }
  if (bytes) hiaJ_store_free(l->store, bytes, size);
}

Test(engine_speculate, versions_in_the_cache) {
  NEEDS_NATIVE;
  char folder[] = "/tmp/hia_speculate-XXXXXX";
  cr_assert_not_null(mkdtemp(folder));
  static const char other[] = "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]";
  program q = open(HIA_SPECULATE_OFF, "net");
  hia_value *args[3] = {parse(&q, 0, "3"), parse(&q, 1, W[0]), parse(&q, 2, "[1, 2]")};
  char expected[64], expected_other[64];
  run(&q, args, 3, expected, sizeof expected);
  for (int i = 1; i < 3; i++) hia_value_free(args[i]);
  args[1] = parse(&q, 1, other);
  args[2] = parse(&q, 2, "[1, 2, 3]");
  run(&q, args, 3, expected_other, sizeof expected_other);
  for (int i = 0; i < 3; i++) hia_value_free(args[i]);
  close_program(&q);

  cr_assert_eq(start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected), 0);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_EAGER, W[0], "[1, 2]", expected), 0);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected), 1);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_OFF, W[0], "[1, 2]", expected), 0);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_ON, other, "[1, 2, 3]", expected_other), 0);

  /* The list cut short, and with other numbers: versions of other assumptions are not there. */
  static list_file l;
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, 1 << 30, &l.store, NULL), HIA_OK);
  cr_assert_eq(hiaJ_store_each(l.store, false, find_list, &l), HIA_OK);
  cr_assert_gt(l.body, 0);
  static char changed[sizeof l.bytes];
  unsigned n_special = 0;
  for (size_t i = l.body; i < l.size; i++) {
    cr_assert(hiaJ_store_write(l.store, l.name, l.bytes, i));
    n_special += start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected) != 0;
    for (const char *c = "9 -x"; *c; c++) {
      memcpy(changed, l.bytes, l.size);
      changed[i] = *c;
      cr_assert(hiaJ_store_write(l.store, l.name, changed, l.size));
      n_special += start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected) != 0;
    }
  }
  cr_assert_lt(n_special, 3 * (l.size - l.body)); /* a change of what is not assumed is none */
  hiaJ_store_close(l.store);
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
}

#endif
