/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Several threads that run functions of one module while versions are made for their arguments:
 * objects and weights that they share, others of their own, sizes that change; one thread asks all
 * the time which versions there are.
 *
 *   versions [ROUNDS]
 *
 * Every second run is a call of a typed entry. Each must return what it returns in the interpreter.
 * ThreadSanitizer runs this too. */
#include "tests/stress/program.h"
#include <hiaton/tensors.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static const char text[] =
    "type E = X | C(v: i64) | Add(a: E, b: E) | Mul(a: E, b: E)\n"
    "fn ev(e: E, x: i64) -> i64 = match e { X => x, C(v) => v, Add(a, b) => ev(a, x) + ev(b, x),\n"
    "  Mul(a, b) => ev(a, x) * ev(b, x) }\n"
    "fn total(e: E, n: i64) -> i64 = {\n"
    "  let (s, _) = loop (s = 0i64, i = 0i64) while i < n { (s + ev(e, i), i + 1) }; s }\n"
    "fn deep(d: i32, w: f32[?, ?], x: f32[?]) -> f32[?] =\n"
    "  if d == 0 then x else w @ (deep(d - 1, w, x) + deep(d - 1, w, x))\n"
    "fn net(d: i32, w: f32[?, ?], x: f32[?]) -> f32 = sum(deep(d, w, x))\n";

enum { N_THREADS = 4, N_OBJECTS = 6 };

typedef struct shared {
  hia_engine *engine;
  hia_function *total, *net;
  hia_native_fn total_entry, net_entry;
  hia_value *objects[N_OBJECTS], *counts[N_OBJECTS];
  hia_value *depth, *weights[2], *inputs[2];
  char expected[N_OBJECTS][64], expected_net[2][64];
  unsigned rounds;
  atomic_uint n_wrong, next, n_versions;
} shared;

static hia_value *parse(hia_function *f, size_t i, const char *text_of_it) {
  hia_value *value;
  hia_error *error;
  if (hia_value_parse(f, i, text_of_it, &value, &error) != HIA_OK) stop_with(error);
  return value;
}

static uint32_t run(hia_function *f, hia_value *const *args, size_t n, char out[64]) {
  hia_value *result;
  hia_error *error;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = &stats;
  if (hia_run(f, args, n, &options, &result, &error) != HIA_OK) stop_with(error);
  hia_value_format(result, out, 64);
  hia_value_free(result);
  return stats.version;
}

static void compare(shared *s, const char *is, const char *expected, uint32_t version) {
  if (strcmp(is, expected) != 0) atomic_fetch_add(&s->n_wrong, 1);
  if (version) atomic_fetch_add(&s->n_versions, 1);
}

static bool drop(void *user, const char *bytes, size_t len) {
  (void)user;
  (void)bytes;
  (void)len;
  return true;
}

/* Typed entries give what runs give. */
static void call_entries(shared *s, hia_context *context, unsigned k, unsigned m) {
  typedef hia_status (*total_fn)(hia_context *, const hia_value *, int64_t, int64_t *);
  typedef hia_status (*net_fn)(hia_context *, int32_t, const hia_f32_2 *, const hia_f32_1 *,
                               float *);
  static _Alignas(64) const float weights[2][4] = {{1, 2, 0, 1}, {2}},
                                  inputs[2][2] = {{1, -1}, {3}};
  int64_t sum = 0, n = m ? 1 : 2;
  float x = 0;
  hia_f32_2 w = {weights[m], {n, n}};
  hia_f32_1 v = {inputs[m], {n}};
  if (((total_fn)s->total_entry)(context, s->objects[k], 20, &sum) != HIA_OK ||
      sum != strtoll(s->expected[k], NULL, 10))
    atomic_fetch_add(&s->n_wrong, 1);
  if (((net_fn)s->net_entry)(context, 4, &w, &v, &x) != HIA_OK ||
      x != strtof(s->expected_net[m], NULL))
    atomic_fetch_add(&s->n_wrong, 1);
}

static void *work(void *arg) {
  shared *s = arg;
  unsigned self = atomic_fetch_add(&s->next, 1);
  hia_context *context;
  hia_error *error;
  if (hia_engine_context_new(s->engine, &context, &error) != HIA_OK) stop_with(error);
  for (unsigned i = 0; i < s->rounds; i++) {
    unsigned k = (i * (self + 1)) % N_OBJECTS, m = (i / 7 + self) % 2;
    char out[64];
    hia_value *args[3] = {s->objects[k], s->counts[k]};
    compare(s, out, s->expected[k], run(s->total, args, 2, out));
    hia_value *of_net[3] = {s->depth, s->weights[m], s->inputs[m]};
    bool is_own = i % 5 == 0; /* equal weights, which die with this run */
    if (is_own) of_net[1] = parse(s->net, 1, m ? "[[2]]" : "[[1, 2], [0, 1]]");
    compare(s, out, s->expected_net[m], run(s->net, of_net, 3, out));
    if (is_own) hia_value_free(of_net[1]);
    call_entries(s, context, k, m);
    if (self == 0) hia_function_explain(i % 2 ? s->net : s->total, i % 4 < 2, drop, NULL, NULL);
  }
  hia_context_free(context);
  return NULL;
}

static void expect(shared *s, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  loaded l = load_text(&options, "versions.hia", text, sizeof text - 1);
  hia_function *total = find(l, "total"), *net = find(l, "net");
  for (unsigned k = 0; k < N_OBJECTS; k++) {
    char object[64];
    snprintf(object, sizeof object, "Add(Mul(X, C(%u)), Add(X, C(%u)))", k + 1, k);
    hia_value *args[2] = {parse(total, 0, object), parse(total, 1, "20")};
    run(total, args, 2, s->expected[k]);
    for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  }
  for (unsigned m = 0; m < 2; m++) {
    hia_value *args[3] = {parse(net, 0, "4"), parse(net, 1, m ? "[[2]]" : "[[1, 2], [0, 1]]"),
                          parse(net, 2, m ? "[3]" : "[1, -1]")};
    run(net, args, 3, s->expected_net[m]);
    for (int i = 0; i < 3; i++) hia_value_free(args[i]);
  }
  unload(l);
}

static void run_all(shared *s, hia_speculate mode) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = mode;
  loaded l = load_text(&options, "versions.hia", text, sizeof text - 1);
  s->total = find(l, "total");
  s->net = find(l, "net");
  s->engine = l.engine;
  hia_error *error;
  if (hia_function_entry(s->total, &s->total_entry, &error) != HIA_OK ||
      hia_function_entry(s->net, &s->net_entry, &error) != HIA_OK)
    stop_with(error);
  for (unsigned k = 0; k < N_OBJECTS; k++) {
    char object[64];
    snprintf(object, sizeof object, "Add(Mul(X, C(%u)), Add(X, C(%u)))", k + 1, k);
    s->objects[k] = parse(s->total, 0, object);
    s->counts[k] = parse(s->total, 1, "20");
  }
  s->depth = parse(s->net, 0, "4");
  for (unsigned m = 0; m < 2; m++) {
    s->weights[m] = parse(s->net, 1, m ? "[[2]]" : "[[1, 2], [0, 1]]");
    s->inputs[m] = parse(s->net, 2, m ? "[3]" : "[1, -1]");
  }
  pthread_t threads[N_THREADS];
  for (int i = 0; i < N_THREADS; i++)
    if (pthread_create(&threads[i], NULL, work, s)) exit(1);
  for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
  for (unsigned k = 0; k < N_OBJECTS; k++) {
    hia_value_free(s->objects[k]);
    hia_value_free(s->counts[k]);
  }
  for (unsigned m = 0; m < 2; m++) {
    hia_value_free(s->weights[m]);
    hia_value_free(s->inputs[m]);
  }
  hia_value_free(s->depth);
  unload(l);
}

int main(int argc, char **argv) {
  static shared s;
  s.rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 2000;
  expect(&s, HIA_ENGINE_INTERP);
  run_all(&s, HIA_SPECULATE_EAGER);
  unsigned n = atomic_load(&s.n_versions);
  if (!n) FAIL("no run used a version");
  run_all(&s, HIA_SPECULATE_ON);
  if (atomic_load(&s.n_wrong)) FAIL("%u wrong results", atomic_load(&s.n_wrong));
  printf("%u runs used a version\n", atomic_load(&s.n_versions));
  return n_failed ? 1 : 0;
}
