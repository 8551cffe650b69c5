/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of host functions: engines of every kind, host functions that record their
 * calls, and programs with the calls that they must make. Without Criterion, so that it
 * runs under ThreadSanitizer too. */
#ifndef HELPER_HOSTS_H
#define HELPER_HOSTS_H

#include "jit/engine/engine.h"
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- recorded calls ---- */

typedef struct record {
  pthread_mutex_t lock;
  size_t n;
  int32_t calls[4096];
  pthread_t thread; /* of the last call */
} record;

static inline void note(record *r, int32_t n) {
  pthread_mutex_lock(&r->lock);
  if (r->n < sizeof r->calls / sizeof *r->calls) r->calls[r->n] = n;
  r->n++;
  r->thread = pthread_self();
  pthread_mutex_unlock(&r->lock);
}

/* extern impure fn note(n: i32) -> i32: returns n */
static inline int32_t host_note(void *user, int32_t n) {
  note(user, n);
  return n;
}
/* extern impure fn stop(n: i32) -> i32: fails, with a number that is no status */
static inline int32_t host_stop(void *user, int32_t n, int32_t *result) {
  note(user, n);
  *result = 7;
  return 1000;
}
/* extern impure fn check(n: i32) -> i32: fails for 13 only */
static inline int32_t host_check(void *user, int32_t n, int32_t *result) {
  note(user, n);
  *result = n;
  return n == 13 ? HIA_IO : HIA_OK;
}
/* extern fn twice(n: i32) -> i32, extern fn positive(n: i32) -> i32 */
static inline int32_t host_twice(int32_t n) { return (int32_t)(2u * (uint32_t)n); }
static inline hia_status host_positive(int32_t n, int32_t *result) {
  if (n <= 0) return HIA_HOST;
  *result = n;
  return HIA_OK;
}

#define HOSTS_TEXT                                                                                 \
  "extern impure fn note(n: i32) -> i32\n"                                                         \
  "extern impure fn stop(n: i32) -> i32\n"                                                         \
  "extern impure fn check(n: i32) -> i32\n"                                                        \
  "extern fn twice(n: i32) -> i32\n"                                                               \
  "extern fn positive(n: i32) -> i32\n"                                                            \
  "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"                        \
  "fn bad(n: i32) -> i32 = if n <= 0 then 1 / n else bad(n - 1) + fib(n) * 0\n"

static inline hia_status hosts_register(hia_engine *engine, record *r) {
  const struct {
    const char *declaration;
    void (*function)(void);
    bool takes_user, returns_status;
  } hosts[] = {
      {"extern impure fn note(n: i32) -> i32", (void (*)(void))host_note, true, false},
      {"extern impure fn stop(n: i32) -> i32", (void (*)(void))host_stop, true, true},
      {"extern impure fn check(n: i32) -> i32", (void (*)(void))host_check, true, true},
      {"extern fn twice(n: i32) -> i32", (void (*)(void))host_twice, false, false},
      {"extern fn positive(n: i32) -> i32", (void (*)(void))host_positive, false, true},
  };
  hia_status status = HIA_OK;
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts && status == HIA_OK; i++) {
    hia_host_function f = HIA_HOST_FUNCTION_INIT;
    f.declaration = hosts[i].declaration;
    f.function = hosts[i].function;
    f.user = r;
    f.takes_user = hosts[i].takes_user;
    f.returns_status = hosts[i].returns_status;
    f.is_safe = i == 3; /* twice: native code calls it without leaving its stack */
    status = hia_engine_register(engine, &f, NULL);
  }
  return status;
}

/* ---- programs, and their calls ---- */

/* main(z) is called with 0. */
typedef struct hosts_case {
  const char *text, *calls; /* the arguments of all calls, in order: "1 2 -3" */
  hia_status status;
  int32_t result;
} hosts_case;

static const hosts_case hosts_cases[] = {
    {"fn main(z: i32) -> i32 = note(1) + note(2) * note(3)", "1 2 3", HIA_OK, 7},
    {"fn main(z: i32) -> i32 = note(1) + note(1)", "1 1", HIA_OK, 2},
    {"fn main(z: i32) -> i32 = { let _ = note(1); 2 }", "1", HIA_OK, 2},
    {"fn main(z: i32) -> i32 = if note(1) == 1 then note(2) else note(3)", "1 2", HIA_OK, 2},
    {"fn main(z: i32) -> i32 = if note(1) == 2 and note(2) == 2 or note(3) == 3 then 4 else 5",
     "1 3", HIA_OK, 4},
    {"fn main(z: i32) -> i32 = select(note(1) == 1, note(2), note(3))", "1 2 3", HIA_OK, 2},
    {"fn three(a: i32, b: i32, c: i32) -> i32 = a + note(10 * b) + c\n"
     "fn main(z: i32) -> i32 = three(note(1), note(2), note(3))",
     "1 2 3 20", HIA_OK, 24},
    {"fn twice_(n: i32) -> i32 = note(n) + note(n)\n"
     "fn main(z: i32) -> i32 = twice_(4) + twice_(4) + twice_(5)",
     "4 4 4 4 5 5", HIA_OK, 26},
    /* loops: the condition is evaluated once more than there are rounds */
    {"fn main(z: i32) -> i32 = loop (i = z) while i < 4 { note(i) + 1 }", "0 1 2 3", HIA_OK, 4},
    {"fn main(z: i32) -> i32 = loop (i = z) while note(i) < 2 { i + note(10 + i) - 9 - i }",
     "0 10 1 11 2", HIA_OK, 2},
    {"fn main(z: i32) -> i32 = loop (i = z) while i < 2 {\n"
     "  let j = loop (k = z) while k < 2 { note(10 * i + k) - 10 * i + 1 };\n"
     "  note(100) - 100 + i + j - 1 }",
     "0 1 100 10 11 100", HIA_OK, 2},
    /* recursion */
    {"fn f(n: i32) -> i32 = if n == 0 then note(0) else { let a = note(n); let b = f(n - 1);\n"
     "  note(0 - n) + a + b }\n"
     "fn main(z: i32) -> i32 = f(3 + z)",
     "3 2 1 0 -1 -2 -3", HIA_OK, 0},
    {"fn f(n: i32) -> i32 = if n == 0 then note(0) else { let _ = note(n); f(n - 1) }\n"
     "fn main(z: i32) -> i32 = f(4 + z)",
     "4 3 2 1 0", HIA_OK, 0},
    {"fn even(n: i32) -> bool = if n == 0 then true else { let _ = note(n); odd(n - 1) }\n"
     "fn odd(n: i32) -> bool = if n == 0 then false else { let _ = note(0 - n); even(n - 1) }\n"
     "fn main(z: i32) -> i32 = if even(5 + z) then 1 else 2",
     "5 -4 3 -2 1", HIA_OK, 2},
    {"fn tree(n: i32) -> i32 = if n <= 1 then note(n) else tree(n - 1) + tree(n - 2)\n"
     "fn main(z: i32) -> i32 = tree(5 + z)",
     "1 0 1 1 0 1 0 1", HIA_OK, 5},
    /* with work between them that other workers may do */
    {"fn main(z: i32) -> i32 = { let a = fib(18); let b = note(1); let c = fib(19); let d = "
     "note(2);\n"
     "  let e = fib(17); b + d + (a + c + e) * 0 }",
     "1 2", HIA_OK, 3},
    {"fn f(n: i32) -> i32 = if n == 0 then 0 else { let a = f(n - 1); let b = fib(12 + n % 3);\n"
     "  let c = fib(12); note(n) * 0 + a + (b + c) * 0 }\n"
     "fn main(z: i32) -> i32 = f(6 + z)",
     "1 2 3 4 5 6", HIA_OK, 0},
    /* failures before and after */
    {"fn main(z: i32) -> i32 = { let a = 1 / z; note(1) + a }", "", HIA_DIV_ZERO, 0},
    {"fn main(z: i32) -> i32 = { let a = note(1); a / z }", "1", HIA_DIV_ZERO, 0},
    {"fn main(z: i32) -> i32 = { let a = note(1); let b = 1 / z; note(2) + a + b }", "1",
     HIA_DIV_ZERO, 0},
    {"fn main(z: i32) -> i32 = note(1) + (if z == 0 then fail(3) else note(2)) + note(3)", "1",
     HIA_FAILED, 0},
    {"fn main(z: i32) -> i32 = { let a = bad(12); note(1) + a }", "", HIA_DIV_ZERO, 0},
    {"fn main(z: i32) -> i32 = { let a = note(1); let b = fib(18); let c = bad(12);\n"
     "  let d = note(2); let e = fib(20); a + b + c + d + e }",
     "1", HIA_DIV_ZERO, 0},
    {"fn main(z: i32) -> i32 = { let a = fib(20); let b = note(1); let c = bad(1); a + b + c }",
     "1", HIA_DIV_ZERO, 0},
    {"fn f(n: i32) -> i32 = if n == 0 then 5 / n else note(n) + f(n - 1)\n"
     "fn main(z: i32) -> i32 = f(3 + z) + note(9)",
     "3 2 1", HIA_DIV_ZERO, 0},
    {"fn main(z: i32) -> i32 = loop (i = 3 + z) while true { note(12 / i) * 0 + i - 1 }", "4 6 12",
     HIA_DIV_ZERO, 0},
    /* failures of host functions */
    {"fn main(z: i32) -> i32 = note(1) + stop(2) + note(3)", "1 2", HIA_HOST, 0},
    {"fn main(z: i32) -> i32 = { let a = stop(2); let b = 1 / z; a + b }", "2", HIA_HOST, 0},
    {"fn main(z: i32) -> i32 = { let b = 1 / z; let a = stop(2); a + b }", "", HIA_DIV_ZERO, 0},
    {"fn f(n: i32) -> i32 = if n > 99 then 0 else check(n) + f(n + 1)\n"
     "fn main(z: i32) -> i32 = f(10 + z)",
     "10 11 12 13", HIA_IO, 0},
    {"fn f(n: i32) -> i32 = if n > 99 then 0 else { let a = check(n); f(a + 1) }\n"
     "fn main(z: i32) -> i32 = f(11 + z)",
     "11 12 13", HIA_IO, 0},
    {"fn main(z: i32) -> i32 = { let _ = check(1); let _ = check(13); note(2) }", "1 13", HIA_IO,
     0},
    /* pure ones */
    {"fn main(z: i32) -> i32 = twice(z + 4) + twice(z + 4) + twice(twice(z + 1))", "", HIA_OK, 20},
    {"fn main(z: i32) -> i32 = { let _ = positive(z); note(1) }", "", HIA_HOST, 0},
    {"fn main(z: i32) -> i32 = { let a = note(1); let _ = positive(z); note(2) + a }", "1",
     HIA_HOST, 0},
    {"fn f(n: i32) -> i32 = if n == 0 then 0 else twice(n) + positive(n) + f(n - 1)\n"
     "fn main(z: i32) -> i32 = f(1000 + z)",
     "", HIA_OK, 1501500},
    {"fn g(n: i32) -> i32 = if n <= 1 then positive(n + 1) else g(n - 1) + g(n - 2)\n"
     "fn main(z: i32) -> i32 = g(16 + z)",
     "", HIA_OK, 2584},
    {"fn g(n: i32) -> i32 = if n <= 1 then positive(n) else g(n - 1) + g(n - 2)\n"
     "fn main(z: i32) -> i32 = { let a = note(1); let b = g(14 + z); a + b + note(2) }",
     "1", HIA_HOST, 0},
};
enum { N_HOSTS_CASES = sizeof hosts_cases / sizeof *hosts_cases };

/* ---- engines ---- */

typedef struct hosts_way {
  hia_engine_kind kind;
  unsigned threads;
  int level;
  const char *disabled;
} hosts_way;
static const hosts_way hosts_ways[] = {
    {HIA_ENGINE_INTERP, 1, 0, NULL},  {HIA_ENGINE_INTERP, 3, 0, NULL},
    {HIA_ENGINE_INTERP, 2, 0, "all"}, {HIA_ENGINE_EXPAND, 1, 0, NULL},
    {HIA_ENGINE_JIT, 1, 3, NULL},     {HIA_ENGINE_JIT, 3, 3, NULL},
    {HIA_ENGINE_JIT, 1, 0, "all"},    {HIA_ENGINE_JIT, 2, 1, NULL},
    {HIA_ENGINE_AUTO, 1, 1, NULL},    {HIA_ENGINE_AUTO, 3, 1, NULL},
};
enum { N_HOSTS_WAYS = sizeof hosts_ways / sizeof *hosts_ways };

/* NULL if this build lacks the engine. */
static inline hia_engine *hosts_engine(hosts_way w, size_t max_depth) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = w.kind;
  options.threads = w.threads;
  options.opt_level = w.level;
  options.disabled_passes = w.disabled;
  options.max_depth = max_depth;
  options.flags |= HIA_FLAG_VERIFY;
  hia_engine *engine = NULL;
  if (hia_engine_new(&options, &engine, NULL) != HIA_OK) abort();
  bool is_native = w.kind == HIA_ENGINE_JIT || w.kind == HIA_ENGINE_AUTO;
  if (is_native && hia_engine_native(engine, NULL) != HIA_OK) {
    hia_engine_free(engine);
    return NULL;
  }
  if (w.kind == HIA_ENGINE_AUTO) engine->again_at = 7; /* its runs begin again there */
  return engine;
}

/* Calls NAME(n) -> i32. */
static inline hia_status hosts_call(hia_module *module, hia_engine *engine, const char *name,
                                    int32_t n, const hia_run_options *options, int32_t *x,
                                    hia_error **error) {
  hia_function *f;
  *x = 0;
  hia_status status = hia_module_function(module, name, &f, error);
  if (status != HIA_OK) return status;
  hia_value *arg = hia_value_i32(engine, n), *result = NULL;
  if (!arg) return HIA_MEMORY;
  if (engine->again_at) status = hia_function_prepare_for(f, options, error);
  if (status == HIA_OK) status = hia_run(f, &arg, 1, options, &result, error);
  if (status == HIA_OK) hia_value_get_i32(result, x);
  hia_value_free(result);
  hia_value_free(arg);
  return status;
}

/* Runs a case. False if it went wrong; `why` is then the reason. */
static inline bool hosts_check(const hosts_case *c, hosts_way w, char *why, size_t why_size) {
  hia_engine *engine = hosts_engine(w, 0);
  if (!engine) return true;
  record r = {.lock = PTHREAD_MUTEX_INITIALIZER};
  hia_module *module = NULL;
  hia_error *error = NULL;
  char text[4096];
  snprintf(text, sizeof text, "%s%s\n", HOSTS_TEXT, c->text);
  bool ok = hosts_register(engine, &r) == HIA_OK &&
            hia_module_load_text(engine, "case.hia", text, strlen(text), &module, &error) == HIA_OK;
  int32_t x = 0;
  hia_status status = HIA_INTERNAL;
  char calls[1024] = "";
  if (ok) {
    status = hosts_call(module, engine, "main", 0, NULL, &x, &error);
    size_t at = 0;
    for (size_t i = 0; i < r.n && i < 100 && at < sizeof calls; i++)
      at += (size_t)snprintf(calls + at, sizeof calls - at, "%s%d", i ? " " : "", r.calls[i]);
    ok = status == c->status && x == c->result && strcmp(calls, c->calls) == 0 &&
         (r.n == 0 || pthread_equal(r.thread, pthread_self()));
  }
  if (!ok)
    snprintf(why, why_size,
             "engine %d, %u threads, level %d, passes off: %s\n%s\ncalled \"%s\", must be \"%s\"; "
             "status %s, must be %s; result %d, must be %d\n%s",
             (int)w.kind, w.threads, w.level, w.disabled ? w.disabled : "none", c->text, calls,
             c->calls, hia_status_word(status), hia_status_word(c->status), x, c->result,
             hia_error_text(error));
  hia_error_free(error);
  hia_module_free(module);
  hia_engine_free(engine);
  return ok;
}

#endif
