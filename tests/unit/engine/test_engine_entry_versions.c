/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of typed entries that use versions: of scalars, objects, sizes and of what was seen inside;
 * their results and failures are those of an engine that makes no versions. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/versions.h"
#include <hiaton/data.h>
#include <hiaton/params.h>
#include <hiaton/tensors.h>

#include <pthread.h>

static const char inside_text[] =
    "type T = A(v: i64) | B(v: i64) | C(v: i64)\n"
    "extern fn probe(n: i64) -> i64\n"
    "fn slow(v: i64) -> i64 = {\n"
    "  let (s, _) = loop (s = 1i64, i = 3i64) while i > 0 { (s * v + 100 / v, i - 1) }; s % 1000 "
    "}\n"
    "fn ev(t: T, x: i64) -> i64 = match t {\n"
    "  A(v) => x + v,\n"
    "  B(v) => x - 100 / v,\n"
    "  C(v) => slow(v) - x }\n"
    "fn total(ts: [T], x: i64) -> i64 = {\n"
    "  let (s, _) = loop (s = x, i = 0i64) while i < len(ts) { (ev(ts[i], s), i + 1) }; s }\n"
    "fn endless(x: i64) -> i64 = loop (s = x) while s != 0 { s * 3 + 1 }\n"
    "fn spin(ts: [T], x: i64) -> i64 = { let y = total(ts, x); if x < 0 then endless(y * 2 + 1) "
    "else y }\n"
    "fn sum_to(n: i64, k: i64) -> i64 = {\n"
    "  let (s, _) = loop (s = 0i64, i = 0i64) while i < n { (s + i / k, i + 1) }; s }\n"
    "fn both(p: (T, [T]), x: i64) -> (i64, [T]) = (ev(p.0, total(p.1, x)), [p.0])\n"
    "fn norm(v: f64[?], n: i64) -> f64 = {\n"
    "  let (s, _) = loop (s: f64 = 0, i = 0i64) while i < n { (s + sum(v * f64(i)), i + 1) }; s "
    "}\n";

/* A function in an engine that makes versions at once, and in one that makes none, with a context
 * each. */
typedef struct side {
  program program;
  hia_context *context;
  hia_native_fn entry;
} side;

static hia_status probe(int64_t n, int64_t *result) {
  *result = n;
  return HIA_OK;
}

static side open_side(hia_engine_options options, const char *text, const char *name,
                      hia_speculate speculate) {
  side s;
  hia_error *error = NULL;
  options.speculate = speculate;
  cr_assert_eq(hia_engine_new(&options, &s.program.engine, NULL), HIA_OK);
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern fn probe(n: i64) -> i64";
  host.function = (void (*)(void))probe;
  host.returns_status = true;
  cr_assert_eq(hia_engine_register(s.program.engine, &host, NULL), HIA_OK);
  s.program.module = load_module(s.program.engine, "t.hia", text);
  s.program.function = find_function(s.program.module, name);
  s.entry = typed_entry(s.program.module, name);
  cr_assert_eq(hia_engine_context_new(s.program.engine, &s.context, &error), HIA_OK);
  return s;
}

static void close_side(side *s) {
  hia_context_free(s->context);
  close_program(&s->program);
}

typedef struct pair {
  side eager, off;
} pair;

static pair open_pair(const char *text, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  return (pair){open_side(options, text, name, HIA_SPECULATE_EAGER),
                open_side(options, text, name, HIA_SPECULATE_OFF)};
}

static void close_pair(pair *p) {
  close_side(&p->eager);
  close_side(&p->off);
}

/* What a call gave: `n` bytes of results, or an error. */
static void expect_alike(const pair *p, hia_status eager, hia_status off, const void *result,
                         const void *expected, size_t n) {
  cr_assert_eq(eager, off, "%s, expected %s", hia_status_word(eager), hia_status_word(off));
  if (off == HIA_OK) {
    cr_assert_eq(memcmp(result, expected, n), 0);
    return;
  }
  cr_assert_str_eq(hia_error_text(hia_context_error(p->eager.context)),
                   hia_error_text(hia_context_error(p->off.context)));
}

typedef hia_status (*fn_array)(hia_context *, const hia_value *, int64_t, int64_t *);
/* Calls both, which must end alike, with the same value each time it is the same text. */
static hia_status call_array(const pair *p, const char *text, int64_t x) {
  hia_value *a = parse(&p->eager.program, 0, text), *b = parse(&p->off.program, 0, text);
  int64_t got = -1, expected = -1;
  hia_status eager = ((fn_array)p->eager.entry)(p->eager.context, a, x, &got);
  hia_status off = ((fn_array)p->off.entry)(p->off.context, b, x, &expected);
  hia_value_free(a);
  hia_value_free(b);
  expect_alike(p, eager, off, &got, &expected, sizeof got);
  return off;
}

/* The runs that have used versions of the function. */
static int n_used(const program *p) {
  test_text told = explained(p, WORDS(NULL));
  int n = 0;
  static const char words[] = " used it\n";
  for (char *at = told.data; (at = strstr(at, words)); at++) {
    char *line = at;
    while (line > told.data && line[-1] != '\n') line--;
    n += atoi(line);
  }
  test_text_free(&told);
  return n;
}

static void expect_told(const program *p, const char *words) {
  test_text told = explained(p, WORDS(NULL));
  cr_assert(strstr(told.data, words), "no '%s' in\n%s", words, told.data);
  test_text_free(&told);
}

static const char *terms(const char *end) {
  static char text[1024];
  char *at = text;
  *at++ = '[';
  for (int i = 0; i < 20; i++) at += sprintf(at, "A(7), B(3), ");
  sprintf(at, "%s]", end);
  return text;
}

/* ---- arguments ---- */

typedef hia_status (*fn_power)(hia_context *, double, int64_t, double *);

static hia_status call_power(const pair *p, double x, int64_t n) {
  double got = 0, expected = 0;
  hia_status eager = ((fn_power)p->eager.entry)(p->eager.context, x, n, &got);
  hia_status off = ((fn_power)p->off.entry)(p->off.context, x, n, &expected);
  expect_alike(p, eager, off, &got, &expected, sizeof got);
  return off;
}

Test(engine_entry_versions, of_scalars) {
  NEEDS_NATIVE;
  pair p = open_pair(versions_text, "power");
  for (int i = 0; i < 5; i++) call_power(&p, 1.5, 6);
  cr_assert_geq(n_used(&p.eager.program), 3);
  int n = n_used(&p.eager.program);
  for (int i = 0; i < 5; i++) call_power(&p, 1.25 + i, 7);
  for (int i = 0; i < 5; i++) call_power(&p, 1.5, 6);
  cr_assert_geq(n_used(&p.eager.program), n + 5);
  expect_told(&p.eager.program, "x is 1.5: so in the last look");
  close_pair(&p);
}

typedef hia_status (*fn_total)(hia_context *, const hia_value *, int64_t, double *);

static hia_status call_total(const pair *p, hia_value *const *values, int64_t n) {
  double got = 0, expected = 0;
  hia_status eager = ((fn_total)p->eager.entry)(p->eager.context, values[0], n, &got);
  hia_status off = ((fn_total)p->off.entry)(p->off.context, values[1], n, &expected);
  expect_alike(p, eager, off, &got, &expected, sizeof got);
  return off;
}

/* The version holds the object, whose memory no other value gets. */
Test(engine_entry_versions, of_an_object) {
  NEEDS_NATIVE;
  pair p = open_pair(versions_text, "total");
  for (int round = 0; round < 20; round++) {
    char text[64];
    snprintf(text, sizeof text, "Add(X, Div(C(%d), C(%d)))", 100 + round, round % 7);
    hia_value *values[2] = {parse(&p.eager.program, 0, text), parse(&p.off.program, 0, text)};
    for (int i = 0; i < 4; i++) call_total(&p, values, 10 + i % 2);
    if (round % 7 == 0)
      cr_assert_eq(call_total(&p, values, 5), HIA_DIV_ZERO);
    else
      cr_assert_eq(call_total(&p, values, 5), HIA_OK);
    hia_value_free(values[0]);
    hia_value_free(values[1]);
  }
  cr_assert_gt(n_used(&p.eager.program), 20);
  expect_told(&p.eager.program, "is this object, ");
  close_pair(&p);
}

typedef hia_status (*fn_record)(hia_context *, int32_t, const hia_value *, float *);

static void call_record(const pair *p, const hia_value *a, const hia_value *b) {
  float got = 0, expected = 0;
  hia_status eager = ((fn_record)p->eager.entry)(p->eager.context, 3, a, &got);
  hia_status off = ((fn_record)p->off.entry)(p->off.context, 3, b, &expected);
  expect_alike(p, eager, off, &got, &expected, sizeof got);
}

/* Weights in a record are params of the version. */
Test(engine_entry_versions, of_weights_in_an_object) {
  NEEDS_NATIVE;
  pair p = open_pair(versions_text, "net_in_record");
  const char *weights[] = {"M([[1, 2], [3, 4]], [1, -1])", "M([[0.5, 0], [0, 0.25]], [0, 1])"};
  for (int k = 0; k < 2; k++) {
    hia_value *a = parse(&p.eager.program, 1, weights[k]),
              *b = parse(&p.off.program, 1, weights[k]);
    for (int i = 0; i < 6; i++) call_record(&p, a, b);
    hia_value_free(a);
    hia_value_free(b);
  }
  cr_assert_geq(n_used(&p.eager.program), 6);
  close_pair(&p);
}

/* They stand next to those of the program, of which each call sees the state of now. */
Test(engine_entry_versions, next_to_params) {
  NEEDS_NATIVE;
  static const char text[] =
      "param S: f32[2] = uniform(-1, 1)\n"
      "type T = L(x: f32) | N(a: T, b: T)\n"
      "type M = M(w: f32[?, ?], b: f32[?])\n"
      "fn full(d: i32) -> T = if d == 0 then L(1) else N(full(d - 1), full(d - 1))\n"
      "fn in_record(t: T, m: M) -> f32[?] = match m { M(w, b) => match t {\n"
      "  L(x) => tanh(w @ (x * S) + b),\n"
      "  N(l, r) => tanh(w @ (in_record(l, m) + in_record(r, m)) + b + S) } }\n"
      "fn main(d: i32, m: M) -> f32 = sum(in_record(full(d), m))\n";
  pair p = open_pair(text, "main");
  hia_value *a = parse(&p.eager.program, 1, "M([[1, 2], [3, 4]], [1, -1])"),
            *b = parse(&p.off.program, 1, "M([[1, 2], [3, 4]], [1, -1])");
  for (uint64_t seed = 1; seed <= 4; seed++) {
    for (int i = 0; i < 4; i++) call_record(&p, a, b);
    cr_assert_eq(hia_params_seed(hia_module_params(p.eager.program.module), seed, NULL), HIA_OK);
    cr_assert_eq(hia_params_seed(hia_module_params(p.off.program.module), seed, NULL), HIA_OK);
  }
  hia_value_free(a);
  hia_value_free(b);
  cr_assert_geq(n_used(&p.eager.program), 8);
  close_pair(&p);
}

typedef hia_status (*fn_net)(hia_context *, int32_t, const hia_f32_2 *, const hia_f32_1 *, float *);

/* Calls both with views of the same elements. */
static hia_status call_net(const pair *p, const hia_f32_2 *w, const hia_f32_1 *b) {
  float got = 0, expected = 0;
  hia_status eager = ((fn_net)p->eager.entry)(p->eager.context, 3, w, b, &got);
  hia_status off = ((fn_net)p->off.entry)(p->off.context, 3, w, b, &expected);
  expect_alike(p, eager, off, &got, &expected, sizeof got);
  return off;
}

/* The elements of a view may be others in each call, at the same address. */
Test(engine_entry_versions, of_views) {
  NEEDS_NATIVE;
  pair p = open_pair(versions_text, "net");
  _Alignas(64) float elements[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bias[3] = {0.5f, -0.25f, 1};
  for (int i = 0; i < 24; i++) {
    int64_t n = i % 6 == 5 ? 3 : 2; /* once in a while others */
    hia_f32_2 w = {elements, {n, n}};
    hia_f32_1 b = {bias, {n}};
    call_net(&p, &w, &b);
    for (int k = 0; k < 9; k++) elements[k] = (float)(elements[k] * 0.75 + k - i);
  }
  hia_f32_2 wrong = {elements, {3, 2}};
  hia_f32_1 b = {bias, {2}};
  cr_assert_eq(call_net(&p, &wrong, &b), HIA_SHAPE);
  cr_assert_geq(n_used(&p.eager.program), 10);
  expect_told(&p.eager.program, "W is read as a param of the run, f32[2, 2]: ");
  close_pair(&p);
}

/* Runs of values and calls with views take turns: what the former keep of their weights the latter
 * do not use. */
Test(engine_entry_versions, next_to_runs) {
  NEEDS_NATIVE;
  pair p = open_pair(versions_text, "net");
  _Alignas(64) float elements[4] = {1, 2, 3, 4}, bias[2] = {1, 1};
  for (int i = 0; i < 12; i++) {
    char out[64], first[64];
    hia_value *args[3] = {parse(&p.eager.program, 0, "3"), parse(&p.eager.program, 1, W[i % 2]),
                          parse(&p.eager.program, 2, "[1, 1]")};
    run(&p.eager.program, args, 3, first, sizeof first);
    elements[3] = (float)i;
    hia_f32_2 w = {elements, {2, 2}};
    hia_f32_1 b = {bias, {2}};
    call_net(&p, &w, &b);
    run(&p.eager.program, args, 3, out, sizeof out);
    cr_assert_str_eq(out, first);
    for (int k = 0; k < 3; k++) hia_value_free(args[k]);
  }
  cr_assert_geq(n_used(&p.eager.program), 30);
  close_pair(&p);
}

/* ---- inside ---- */

/* Observes, uses the version, begins again, and gives the version up. */
Test(engine_entry_versions, guards) {
  NEEDS_NATIVE;
  pair p = open_pair(inside_text, "total");
  for (int i = 0; i < 4; i++) call_array(&p, terms("A(1)"), 5);
  cr_assert_gt(n_used(&p.eager.program), 0);
  expect_told(&p.eager.program, "that it is B at 5:30 in `ev` is always true: so 20 times");
  call_array(&p, "[C(4)]", 8);
  expect_told(&p.eager.program, "; not so in 1 run, which began again\n");
  call_array(&p, terms("A(1)"), 5);
  cr_assert_eq(call_array(&p, "[A(1), C(0)]", 8), HIA_DIV_ZERO); /* fails where it begins again */
  expect_told(&p.eager.program, "no run uses it any more");
  for (int i = 0; i < 4; i++) call_array(&p, terms("C(2)"), i);
  close_pair(&p);
}

/* The error is that of the general version, and there after other calls of other contexts. */
Test(engine_entry_versions, failures) {
  NEEDS_NATIVE;
  pair p = open_pair(inside_text, "total");
  for (int i = 0; i < 4; i++) call_array(&p, terms("A(1)"), 5);
  int n = n_used(&p.eager.program);
  cr_assert_eq(call_array(&p, terms("B(0)"), 5), HIA_DIV_ZERO);
  cr_assert_eq(n_used(&p.eager.program), n + 1);
  cr_assert(strstr(hia_error_text(hia_context_error(p.eager.context)), "t.hia:7:"));
  cr_assert_eq(call_array(&p, terms("B(1)"), 5), HIA_OK);
  cr_assert_null(hia_context_error(p.eager.context));
  close_pair(&p);
}

/* Values in tuples, and results that share objects with arguments. */
Test(engine_entry_versions, parts_of_tuples) {
  NEEDS_NATIVE;
  typedef hia_status (*fn_both)(hia_context *, const hia_value *, const hia_value *, int64_t,
                                int64_t *, hia_value **);
  pair p = open_pair(inside_text, "both");
  for (int i = 0; i < 12; i++) {
    hia_value *parts[2][2];
    for (int k = 0; k < 2; k++) {
      const program *of = k ? &p.off.program : &p.eager.program;
      char text[2048];
      snprintf(text, sizeof text, "(A(%d), %s)", i % 3, terms(i % 4 == 3 ? "C(2)" : "A(1)"));
      hia_value *whole = parse(of, 0, text);
      for (int part = 0; part < 2; part++)
        cr_assert(parts[k][part] = hia_value_part(whole, (size_t)part));
      hia_value_free(whole);
    }
    int64_t got = 0, expected = 0;
    hia_value *array = NULL, *expected_array = NULL;
    hia_status eager =
        ((fn_both)p.eager.entry)(p.eager.context, parts[0][0], parts[0][1], i % 2, &got, &array);
    hia_status off = ((fn_both)p.off.entry)(p.off.context, parts[1][0], parts[1][1], i % 2,
                                            &expected, &expected_array);
    expect_alike(&p, eager, off, &got, &expected, sizeof got);
    for (int k = 0; k < 4; k++) hia_value_free(parts[k / 2][k % 2]);
    char a[64], b[64];
    hia_value_format(array, a, sizeof a);
    hia_value_format(expected_array, b, sizeof b);
    cr_assert_str_eq(a, b);
    hia_value_free(array);
    hia_value_free(expected_array);
  }
  expect_told(&p.eager.program, "; not so in 2 runs, which began again");
  close_pair(&p);
}

/* A deadline is that of the call, whether it begins again or not, and a cancel ends versions. */
Test(engine_entry_versions, deadlines_and_cancels) {
  NEEDS_NATIVE;
  pair p = open_pair(inside_text, "spin");
  for (int i = 0; i < 4; i++) call_array(&p, terms("A(1)"), 5);
  int n = n_used(&p.eager.program);
  hia_context_set_timeout(p.eager.context, 20000000);
  hia_context_set_timeout(p.off.context, 20000000);
  cr_assert_eq(call_array(&p, terms("A(3)"), -5), HIA_DEADLINE);
  cr_assert_eq(call_array(&p, "[C(4)]", -8), HIA_DEADLINE);
  cr_assert_eq(call_array(&p, "[C(4)]", 8), HIA_OK);
  hia_context_set_timeout(p.eager.context, 0);
  hia_context_set_timeout(p.off.context, 0);
  cr_assert_gt(n_used(&p.eager.program), n);
  close_pair(&p);

  pair q = open_pair(inside_text, "spin");
  for (int i = 0; i < 4; i++) call_array(&q, terms("A(1)"), 5);
  n = n_used(&q.eager.program);
  hia_value *ts = parse(&q.eager.program, 0, "[A(1)]");
  pthread_t thread;
  int64_t x;
  cr_assert_eq(pthread_create(&thread, NULL, cancel_context, q.eager.context), 0);
  cr_assert_eq(((fn_array)q.eager.entry)(q.eager.context, ts, -1, &x), HIA_CANCELLED);
  pthread_join(thread, NULL);
  hia_context_reset(q.eager.context);
  cr_assert_eq(((fn_array)q.eager.entry)(q.eager.context, ts, 1, &x), HIA_OK);
  hia_value_free(ts);
  close_pair(&q);
}

/* ---- an engine that waits until a version pays ---- */

typedef hia_status (*fn_sum)(hia_context *, int64_t, int64_t, int64_t *);

static bool is_out_of_time(const struct timespec *since) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec - since->tv_sec > 120;
}

Test(engine_entry_versions, come_by_themselves) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  side s = open_side(options, inside_text, "sum_to", HIA_SPECULATE_ON);
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (!n_used(&s.program) && !is_out_of_time(&start)) {
    for (int i = 0; i < 500; i++) {
      int64_t x = 0;
      cr_assert_eq(((fn_sum)s.entry)(s.context, 5000, 7, &x), HIA_OK);
      cr_assert_eq(x, 1783215);
    }
  }
  cr_assert_gt(n_used(&s.program), 0);
  expect_told(&s.program, "k is 7: so in the last ");
  close_side(&s);
}

/* ---- threads ---- */

enum { N_THREADS = 3, N_CALLS = 300 };

typedef struct caller {
  const side *side;
  int number;
} caller;

/* What the threads call with takes turns, so that versions come, fail and leave. */
static void *call_often(void *arg) {
  const caller *c = arg;
  hia_context *context = NULL;
  cr_expect_eq(hia_engine_context_new(c->side->program.engine, &context, NULL), HIA_OK);
  for (int i = 0; context && i < N_CALLS; i++) {
    int64_t k = (i / 20 + c->number) % 9, got = -1, expected = 0;
    for (int64_t j = 0; k && j < 400; j++) expected += j / k;
    hia_status status = ((fn_sum)c->side->entry)(context, 400, k, &got);
    cr_expect_eq(status, k ? HIA_OK : HIA_DIV_ZERO);
    if (!k) cr_expect(strstr(hia_error_text(hia_context_error(context)), "sum_to"));
    if (k) cr_expect_eq(got, expected);
  }
  hia_context_free(context);
  return NULL;
}

Test(engine_entry_versions, threads) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  for (int eager = 0; eager < 2; eager++) {
    side s =
        open_side(options, inside_text, "sum_to", eager ? HIA_SPECULATE_EAGER : HIA_SPECULATE_ON);
    caller callers[N_THREADS];
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
      callers[i] = (caller){&s, i};
      cr_assert_eq(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    if (eager) cr_assert_gt(n_used(&s.program), 0);
    close_side(&s);
  }
}

/* ---- memory ---- */

/* Whatever allocation fails, calls end as without versions, or with HIA_MEMORY. */
Test(engine_entry_versions, without_memory) {
  NEEDS_NATIVE;
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.allocator = &heap.allocator;
  for (int round = 0; round < 40; round++) {
    heap.left = -1;
    side s = open_side(options, inside_text, "total", HIA_SPECULATE_EAGER);
    hia_value *ts = parse(&s.program, 0, terms("A(1)"));
    heap.left = round * 7;
    for (int i = 0; i < 6; i++) {
      int64_t x = 0;
      hia_status status = ((fn_array)s.entry)(s.context, ts, 5, &x);
      cr_assert(status == HIA_MEMORY || (status == HIA_OK && x == -514), "%s, %lld",
                hia_status_word(status), (long long)x);
    }
    heap.left = -1;
    hia_value_free(ts);
    close_side(&s);
    cr_assert_eq(heap.blocks, 0);
  }
}
