/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions as C functions: typed entries, plain functions, and the contexts for their calls. Wrong
 * requests and lack of memory: test_engine_entry_wrong.c. */
#include "tests/unit/helpers/engine_entry.h"
#include "tests/unit/helpers/time.h"
#include "tests/unit/helpers/typed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static hia_status call(const fixture *f, const char *name, int32_t n, int32_t *result) {
  return entry_i32(f->module, name)(f->context, n, result);
}

/* ---- values in and out ---- */

Test(entry, every_dtype) {
  fixture f;
  begin(&f, NULL);
  int32_t x = 0;
  cr_assert_eq(call(&f, "fib", 20, &x), HIA_OK);
  cr_assert_eq(x, 10946);
  int64_t seven = 0;
  cr_assert_eq(
      ((hia_status(*)(hia_context *, int64_t *))typed_entry(f.module, "none"))(f.context, &seven),
      HIA_OK);
  cr_assert_eq(seven, 7);

  typedef hia_status (*fn_all)(hia_context *, bool, int32_t, int64_t, float, double, bool *,
                               int32_t *, int64_t *, float *, double *);
  fn_all all = (fn_all)typed_entry(f.module, "all");
  bool a = false;
  int32_t b = 0;
  int64_t c = 0;
  float d = 0;
  double e = 0;
  cr_assert_eq(all(f.context, false, INT32_MAX, INT64_C(1) << 40, 3.0f, -0.25, &a, &b, &c, &d, &e),
               HIA_OK);
  cr_assert(a);
  cr_assert_eq(b, INT32_MIN);
  cr_assert_eq(c, INT64_C(1) << 41);
  cr_assert(d == 1.5f);
  cr_assert(e == -1.25);
  /* A result whose pointer is NULL is not written. */
  cr_assert_eq(all(f.context, true, -2, 3, 1.0f, 1.0, NULL, &b, NULL, NULL, &e), HIA_OK);
  cr_assert_eq(b, -1);
  cr_assert(e == 0.0);

  typedef hia_status (*fn_nest)(hia_context *, int32_t, double, bool, bool *, double *, int32_t *);
  fn_nest nest = (fn_nest)typed_entry(f.module, "nest");
  cr_assert_eq(nest(f.context, 5, 2.5, true, &a, &e, &b), HIA_OK);
  cr_assert(a && e == 2.5 && b == 5);
  end(&f);
}

/* The bits above a bool in its register are ignored. */
Test(entry, bools_are_bytes) {
  fixture f;
  begin(&f, NULL);
  typedef hia_status (*fn_words)(hia_context *, uint64_t, int32_t, int64_t, float, double,
                                 uint8_t *, int32_t *, int64_t *, float *, double *);
  fn_words all = (fn_words)typed_entry(f.module, "all");
  uint8_t a[2] = {9, 9};
  int32_t b;
  int64_t c;
  float d;
  double e;
  cr_assert_eq(all(f.context, 0xffffff00u, 0, 0, 0, 0, a, &b, &c, &d, &e), HIA_OK);
  cr_assert_eq(a[0], 1, "not false");
  cr_assert_eq(a[1], 9, "one byte is written");
  cr_assert_eq(all(f.context, 0x7f01u, 0, 0, 0, 0, a, &b, &c, &d, &e), HIA_OK);
  cr_assert_eq(a[0], 0, "not true");
  end(&f);
}

/* More parameters, of both kinds, than there are registers. */
Test(entry, many_parameters) {
  NEEDS_NATIVE;
  NEEDS_TYPED;
  enum { N = 24 };
  static const char *const types[] = {"i32", "f64", "bool", "i64", "f32"};
  char source[4096];
  size_t len = (size_t)snprintf(source, sizeof source, "fn wide(");
  for (int i = 0; i < N; i++)
    len += (size_t)snprintf(source + len, sizeof source - len, "%sp%d: %s", i ? ", " : "", i,
                            types[i % 5]);
  len += (size_t)snprintf(source + len, sizeof source - len, ") = (");
  for (int i = N; i-- > 0;)
    len += (size_t)snprintf(source + len, sizeof source - len, "(p%d, p%d)%s", i, (i * 7) % N,
                            i ? ", " : ")\n");
  program p = open_program(NULL, source, "wide");
  hia_value *args[N], *expected, *got;
  for (int i = 0; i < N; i++) {
    switch (i % 5) {
    case 0: args[i] = hia_value_i32(p.engine, -i * 1000003); break;
    case 1: args[i] = hia_value_f64(p.engine, i / 7.0); break;
    case 2: args[i] = hia_value_bool(p.engine, i & 1); break;
    case 3: args[i] = hia_value_i64(p.engine, (int64_t)i << 40); break;
    default: args[i] = hia_value_f32(p.engine, (float)i / 3); break;
    }
  }
  hia_native_fn e;
  hia_context *context;
  cr_assert_eq(hia_function_entry(p.function, &e, NULL), HIA_OK);
  cr_assert_eq(hia_context_new(NULL, &context), HIA_OK);
  cr_assert_eq(hia_call(p.function, args, N, &expected, NULL), HIA_OK);
  cr_assert_eq(call_typed(p.engine, p.function, e, context, args, N, &got), HIA_OK);
  char a[4096], b[4096];
  hia_value_format(expected, a, sizeof a);
  hia_value_format(got, b, sizeof b);
  cr_assert_str_eq(a, b);
  hia_value_free(expected);
  hia_value_free(got);
  for (int i = 0; i < N; i++) hia_value_free(args[i]);
  hia_context_free(context);
  close_program(&p);
}

/* ---- failures ---- */

Test(entry, a_failure_and_its_chain) {
  fixture f;
  begin(&f, NULL);
  cr_assert_null(hia_context_error(f.context));
  int32_t x = 5;
  cr_assert_eq(call(&f, "outer", 0, &x), HIA_DIV_ZERO);
  cr_assert_eq(x, 5, "nothing is written");
  const hia_error *error = hia_context_error(f.context);
  cr_assert_not_null(error);
  cr_assert_eq(error, hia_context_error(f.context), "it is made once");
  cr_assert_eq(hia_error_status(error), HIA_DIV_ZERO);
  cr_assert_str_eq(hia_error_text(error), "t.hia:6:36: error[div-zero]: division by zero\n"
                                          "    6 | fn half(a: i32, b: i32) -> i32 = a / b\n"
                                          "      |                                    ^\n"
                                          "  in half at t.hia:6:36\n"
                                          "  called from inner at t.hia:7:27\n"
                                          "  called from outer at t.hia:8:31\n");
  cr_assert_eq(hia_error_chain_length(error), 3);

  cr_assert_eq(call(&f, "quit", 0, &x), HIA_FAILED);
  cr_assert_eq(hia_error_fail_code(hia_context_error(f.context)), 42);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(call(&f, "quit", 3, &x), HIA_OK);
    cr_assert_eq(x, 3);
    cr_assert_null(hia_context_error(f.context), "it is of the last call");
  }
  cr_assert_eq(call(&f, "quit", 0, &x), HIA_FAILED, "nor has it been asked for");
  cr_assert_eq(call(&f, "quit", 3, &x), HIA_OK);
  cr_assert_null(hia_context_error(f.context));
  end(&f);
}

/* The same text as for a call with values. */
Test(entry, a_long_chain) {
  fixture f;
  begin(&f, NULL);
  enum { N = 200000 };
  int32_t x;
  hia_function *down = find_function(f.module, "down");
  hia_value *n = hia_value_i32(f.engine, N), *result;
  hia_error *expected;
  cr_assert_eq(hia_call(down, &n, 1, &result, &expected), HIA_DIV_ZERO);
  cr_assert_eq(call(&f, "down", N, &x), HIA_DIV_ZERO);
  const hia_error *error = hia_context_error(f.context);
  cr_assert_eq(hia_error_chain_length(error), N + 1);
  cr_assert_str_eq(hia_error_text(error), hia_error_text(expected));
  hia_error_free(expected);
  hia_value_free(n);
  cr_assert_eq(call(&f, "fib", 10, &x), HIA_OK);
  cr_assert_eq(x, 89);
  end(&f);
}

Test(entry, depth) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.max_depth = 1 << 20;
  fixture f;
  begin(&f, &options);
  int32_t x;
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(call(&f, "deep", 1000, &x), HIA_OK);
    cr_assert_eq(call(&f, "deep", 10000000, &x), HIA_DEPTH);
    const hia_error *error = hia_context_error(f.context);
    cr_assert_not_null(strstr(hia_error_text(error), "more than 1.0 MiB of stack"), "%s",
                       hia_error_text(error));
    cr_assert_gt(hia_error_chain_length(error), 1000);
  }
  end(&f);
}

/* One context for modules with small and with large frames, and after deep runs. */
Test(entry, one_context_for_many_modules) {
  NEEDS_NATIVE;
  hia_context *context;
  cr_assert_eq(hia_context_new(NULL, &context), HIA_OK);
  enum { ROUNDS = HIA_TEST_SHARE > 4 ? 5 : 20 };
  for (int round = 0; round < ROUNDS; round++) {
    char source[8192];
    size_t len = (size_t)snprintf(source, sizeof source,
                                  "fn f(n: i32) -> i32 =\n  if n == 0 then 0 else bxor(f(n - 1), "
                                  "n)\nfn g(a: i32) -> i32 = {\n");
    int vars = 1 + (round % 5) * 40;
    for (int i = 0; i < vars; i++)
      len += (size_t)snprintf(source + len, sizeof source - len, "  let v%d = f(a + %d);\n", i, i);
    len += (size_t)snprintf(source + len, sizeof source - len, "  v0");
    for (int i = 1; i < vars; i++)
      len += (size_t)snprintf(source + len, sizeof source - len, " + v%d", i);
    snprintf(source + len, sizeof source - len, "\n}\n");
    program p = open_program(NULL, source, "g");
    hia_native_fn e;
    hia_error *error;
    cr_assert_eq(hia_function_entry(p.function, &e, &error), HIA_OK, "%s", hia_error_text(error));
    hia_value *n = hia_value_i32(p.engine, 5000), *result;
    int32_t x, expected;
    cr_assert_eq(hia_call(p.function, &n, 1, &result, NULL), HIA_OK);
    hia_value_get_i32(result, &expected);
    cr_assert_eq(((fn_i32)e)(context, 5000, &x), HIA_OK);
    cr_assert_eq(x, expected);
    cr_assert_eq(((fn_i32)e)(context, 1000000, &x), HIA_OK);
    hia_value_free(result);
    hia_value_free(n);
    close_program(&p);
  }
  hia_context_free(context);
}

/* ---- ending calls ---- */

typedef struct canceller {
  hia_context *context;
  unsigned after_us;
} canceller;

static void *cancel_later(void *user) {
  const canceller *c = user;
  nanosleep(&(struct timespec){0, (long)c->after_us * 1000}, NULL);
  hia_context_cancel(c->context);
  return NULL;
}

Test(entry, cancel) {
  fixture f;
  begin(&f, NULL);
  fn_i32 spin = entry_i32(f.module, "spin"), fib = entry_i32(f.module, "fib");
  int32_t x;
  for (unsigned us = 0; us < 2000; us += 400) {
    canceller c = {f.context, us};
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, &c);
    cr_assert_eq(spin(f.context, 1, &x), HIA_CANCELLED);
    pthread_join(thread, NULL);
    cr_assert_eq(hia_error_status(hia_context_error(f.context)), HIA_CANCELLED);
    /* Until it is reset. */
    cr_assert_eq(fib(f.context, 5, &x), HIA_CANCELLED);
    cr_assert_eq(fib(f.context, 5, &x), HIA_CANCELLED);
    const char *why = hia_error_text(hia_context_error(f.context));
    cr_assert_not_null(strstr(why, "t.hia:1:4: error[cancelled]: cancelled\n"), "%s", why);
    hia_context_reset(f.context);
    cr_assert_eq(fib(f.context, 5, &x), HIA_OK);
    cr_assert_eq(x, 8);
  }
  end(&f);
}

Test(entry, timeout) {
  fixture f;
  begin(&f, NULL);
  fn_i32 spin = entry_i32(f.module, "spin"), fib = entry_i32(f.module, "fib");
  hia_context *own, *contexts[2];
  cr_assert_eq(hia_context_new(NULL, &own), HIA_OK);
  contexts[0] = f.context;
  contexts[1] = own;
  int32_t x;
  for (int i = 0; i < 6; i++) {
    hia_context *context = contexts[i % 2];
    hia_context_set_timeout(context, 2000000);
    cr_assert_eq(spin(context, 1, &x), HIA_DEADLINE);
    hia_context_set_timeout(context,
                            test_limit_ns(60)); /* another one, when its error is requested */
    const char *why = hia_error_text(hia_context_error(context));
    cr_assert_not_null(strstr(why, "past the deadline: more than 2 ms"), "%s", why);
    cr_assert_not_null(strstr(why, "in spin at"), "%s", why);
    hia_context_set_timeout(context, UINT64_MAX);
    cr_assert_eq(fib(context, 10, &x), HIA_OK);
    hia_context_set_timeout(context, 0);
    cr_assert_eq(fib(context, 10, &x), HIA_OK);
    /* Cancelled and past a deadline: the status of the one that comes first. */
    hia_context_set_timeout(context, test_limit_ns(60));
    canceller c = {context, 100};
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_later, &c);
    cr_assert_eq(spin(context, 1, &x), HIA_CANCELLED);
    pthread_join(thread, NULL);
    hia_context_reset(context);
    hia_context_set_timeout(context, 1); /* it may expire before the call has begun */
    cr_assert_eq(spin(context, 1, &x), HIA_DEADLINE);
    hia_status status = fib(context, 25, &x);
    cr_assert(status == HIA_DEADLINE || status == HIA_OK);
  }
  hia_context_free(own);
  end(&f);
}

/* ---- several threads ---- */

typedef struct worker {
  const fixture *f;
  hia_context *context;
  int32_t wrong;
} worker;

static void *work(void *user) {
  worker *w = user;
  fn_i32 fib = entry_i32(w->f->module, "fib"), outer = entry_i32(w->f->module, "outer");
  for (int i = 0; i < 2000; i++) {
    int32_t x = 0;
    w->wrong += fib(w->context, i % 12, &x) != HIA_OK;
    w->wrong += outer(w->context, i % 2, &x) != (i % 2 ? HIA_OK : HIA_DIV_ZERO);
    if (i % 100 == 0) w->wrong += hia_error_chain_length(hia_context_error(w->context)) != 3;
  }
  return NULL;
}

Test(entry, a_context_for_each_thread) {
  fixture f;
  begin(&f, NULL);
  enum { N = 3 };
  worker workers[N];
  pthread_t threads[N];
  for (int i = 0; i < N; i++) {
    workers[i] = (worker){&f, NULL, 0};
    cr_assert_eq(hia_engine_context_new(f.engine, &workers[i].context, NULL), HIA_OK);
    pthread_create(&threads[i], NULL, work, &workers[i]);
  }
  for (int i = 0; i < N; i++) {
    pthread_join(threads[i], NULL);
    cr_assert_eq(workers[i].wrong, 0);
    hia_context_free(workers[i].context);
  }
  end(&f);
}

typedef struct spinner {
  fn_i32 spin;
  hia_context *context;
  hia_status status;
  atomic_bool has_begun;
} spinner;

static void *spin_on(void *user) {
  spinner *s = user;
  int32_t x;
  atomic_store(&s->has_begun, true);
  s->status = s->spin(s->context, 1, &x);
  return NULL;
}

/* A call returns HIA_BUSY if its context is in another call, of any sort. */
Test(entry, a_context_in_use) {
  fixture f;
  begin(&f, NULL);
  fn_i32 fib = entry_i32(f.module, "fib");
  spinner s = {.spin = entry_i32(f.module, "spin"), .context = f.context};
  for (int i = 0; i < 3; i++) {
    hia_context_set_timeout(f.context, i == 1 ? test_limit_ns(60) : 0);
    pthread_t thread;
    atomic_store(&s.has_begun, false);
    pthread_create(&thread, NULL, spin_on, &s);
    while (!atomic_load(&s.has_begun)) {
    }
    nanosleep(&(struct timespec){0, 5000000}, NULL);
    int32_t x = 3;
    for (int k = 0; k < 1000; k++) cr_assert_eq(fib(f.context, 5, &x), HIA_BUSY);
    cr_assert_eq(x, 3);
    cr_assert_null(hia_context_error(f.context));
    hia_context_cancel(f.context);
    pthread_join(thread, NULL);
    cr_assert_eq(s.status, HIA_CANCELLED);
    hia_context_reset(f.context);
    cr_assert_eq(fib(f.context, 5, &x), HIA_OK);
  }
  end(&f);
}

/* Several workers: those of the engine, and those of a context. */
Test(entry, workers) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 3;
  fixture f;
  begin(&f, &options);
  hia_context_options own = HIA_CONTEXT_OPTIONS_INIT;
  own.threads = 2;
  hia_context *contexts[3] = {f.context, NULL, NULL};
  cr_assert_eq(hia_context_new(&own, &contexts[1]), HIA_OK);
  cr_assert_eq(hia_context_new(NULL, &contexts[2]), HIA_OK);
  fn_i32 fib = entry_i32(f.module, "fib"), down = entry_i32(f.module, "down"),
         spin = entry_i32(f.module, "spin");
  for (int i = 0; i < 9; i++) {
    hia_context *context = contexts[i % 3];
    int32_t x;
    cr_assert_eq(fib(context, 25, &x), HIA_OK);
    cr_assert_eq(x, 121393);
    cr_assert_eq(down(context, 1000, &x), HIA_DIV_ZERO);
    cr_assert_eq(hia_error_chain_length(hia_context_error(context)), 1001);
    hia_context_set_timeout(context, 1000000);
    cr_assert_eq(spin(context, 1, &x), HIA_DEADLINE, "call %d", i);
    hia_context_set_timeout(context, 0);
  }
  hia_context_free(contexts[1]);
  hia_context_free(contexts[2]);
  end(&f);
}

/* The calls that docs/embedding.md allows in a forked child, whatever other threads the parent had.
 */
Test(entry, in_a_forked_child) {
  fixture f;
  begin(&f, NULL);
  fn_i32 fib = entry_i32(f.module, "fib"), down = entry_i32(f.module, "down"),
         spin_entry = entry_i32(f.module, "spin");
  hia_context *other;
  cr_assert_eq(hia_context_new(NULL, &other), HIA_OK);
  spinner s = {.spin = spin_entry, .context = other};
  pthread_t thread;
  pthread_create(&thread, NULL, spin_on, &s);
  while (!atomic_load(&s.has_begun)) {
  }
  int32_t x;
  cr_assert_eq(fib(f.context, 5, &x), HIA_OK);
  pid_t child = fork();
  if (child == 0) {
    bool is_right = fib(f.context, 15, &x) == HIA_OK && x == 987 &&
                    down(f.context, 100000, &x) == HIA_DIV_ZERO &&
                    hia_error_chain_length(hia_context_error(f.context)) == 100001;
    _exit(is_right ? 0 : 1);
  }
  int how;
  cr_assert_eq(waitpid(child, &how, 0), child);
  cr_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  hia_context_cancel(other);
  pthread_join(thread, NULL);
  hia_context_free(other);
  end(&f);
}

/* ---- plain functions ---- */

Test(entry, plain) {
  fixture f;
  begin(&f, NULL);
  hia_native_fn plain;
  hia_error *error;
  cr_assert_eq(hia_function_plain(find_function(f.module, "twice(i32)"), &plain, &error), HIA_OK,
               "%s", hia_error_text(error));
  cr_assert_eq(((int32_t (*)(int32_t))plain)(21), 42);
  cr_assert_eq(hia_function_plain(find_function(f.module, "twice(f32)"), &plain, &error), HIA_OK);
  cr_assert(((float (*)(float))plain)(1.25f) == 2.5f);
  cr_assert_eq(hia_function_plain(find_function(f.module, "horner"), &plain, &error), HIA_OK);
  cr_assert(((double (*)(double))plain)(0.0) == 0.5);
  cr_assert_eq(hia_function_plain(find_function(f.module, "both"), &plain, &error), HIA_OK);
  cr_assert(((bool (*)(int32_t))plain)(5) && !((bool (*)(int32_t))plain)(10));
  int32_t product = 0;
  bool less = true;
  cr_assert_eq(hia_function_plain(find_function(f.module, "plane"), &plain, &error), HIA_OK);
  ((void (*)(int32_t, int32_t, int32_t *, bool *))plain)(6, 5, &product, &less);
  cr_assert(product == 30 && !less);
  ((void (*)(int32_t, int32_t, int32_t *, bool *))plain)(4, 5, NULL, &less);
  cr_assert(product == 30 && less);
  end(&f);
}

Test(entry, not_plain) {
  fixture f;
  begin(&f, NULL);
  static const char *const names[][2] = {{"half", "it may fail"},     {"outer", "it may fail"},
                                         {"quit", "it may fail"},     {"fib", "it is recursive"},
                                         {"deep", "it is recursive"}, {"spin", "it has a loop"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    hia_native_fn plain = (hia_native_fn)begin;
    hia_error *error;
    cr_assert_eq(hia_function_plain(find_function(f.module, names[i][0]), &plain, &error),
                 HIA_UNSUPPORTED);
    cr_assert(plain == NULL);
    cr_assert_not_null(strstr(hia_error_text(error), names[i][1]), "%s", hia_error_text(error));
    hia_error_free(error);
  }
  end(&f);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.flags |= HIA_FLAG_COUNT;
  options.disabled_passes = "all";
  begin(&f, &options);
  hia_native_fn plain;
  hia_error *error;
  cr_assert_eq(hia_function_plain(find_function(f.module, "both"), &plain, &error),
               HIA_UNSUPPORTED);
  cr_assert_not_null(strstr(hia_error_text(error), "it counts calls"), "%s", hia_error_text(error));
  hia_error_free(error);
  end(&f);
}
