/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Nested runs with typed entries: they end together, and share limits. test_engine_host_nested.c
 * tests runs of hia_run alone. */
#include "tests/unit/helpers/program.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How the host function that `outer` calls begins the inner run. */
enum { BY_RUN, BY_ENTRY, N_WAYS };

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  hia_context *outer, *inner; /* contexts */
  fn_i32 outer_entry, inner_entry, deep_entry;
  int way;
  hia_run_options inner_options;
  atomic_uint n_inside; /* host functions that have begun one */
  _Atomic hia_status last;
  hia_context *seen;   /* by the host function */
  bool makes_contexts; /* one for each call */
  unsigned level, deepest;
  const char *inner_name;
} world;

static const char text[] =
    "extern impure fn begin(n: i32) -> i32\n"
    "extern fn pure_begin(n: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn outer(n: i32) -> i32 = fib(n) + begin(n)\n"
    "fn pure_outer(n: i32) -> i32 = if n <= 1 then pure_begin(fib(n + 22)) else\n"
    "  pure_outer(n - 1) + pure_outer(n - 2)\n"
    "fn inner(n: i32) -> i32 = loop (x = n) while true { x + fib(5) }\n"
    "fn short(n: i32) -> i32 = n + 1\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n)\n"
    "fn again(n: i32) -> i32 = 1 + begin(n)\n"
    "fn sink(n: i32) -> i32 = if n == 0 then begin(3000000) else bxor(sink(n - 1), n)\n";

static hia_status run(world *w, const char *name, int32_t n, const hia_run_options *options,
                      int32_t *result) {
  hia_function *f;
  hia_value *arg = hia_value_i32(w->engine, n), *value = NULL;
  hia_status status = hia_module_function(w->module, name, &f, NULL);
  if (status == HIA_OK) status = hia_run(f, &arg, 1, options, &value, NULL);
  if (status == HIA_OK && result) hia_value_get_i32(value, result);
  hia_value_free(value);
  hia_value_free(arg);
  return status;
}

/* extern impure fn begin(n: i32) -> i32 */
static hia_status begin_inner(void *user, int32_t n, int32_t *result) {
  world *w = user;
  *result = 0;
  w->seen = hia_context_current();
  if (++w->level > w->deepest) w->deepest = w->level;
  hia_context *context = w->inner;
  if (w->makes_contexts && hia_context_new(NULL, &context) != HIA_OK) return HIA_MEMORY;
  atomic_fetch_add(&w->n_inside, 1);
  hia_status status = w->way == BY_RUN ? run(w, w->inner_name, n, &w->inner_options, result)
                                       : w->inner_entry(context, n, result);
  w->last = status;
  if (w->makes_contexts) hia_context_free(context);
  w->level--;
  return status;
}

/* extern fn pure_begin(n: i32) -> i32: with a context of its own, on several threads at once */
static hia_status pure_begin(void *user, int32_t n, int32_t *result) {
  world *w = user;
  *result = 0;
  hia_context *context = NULL;
  if (w->way == BY_ENTRY && hia_context_new(NULL, &context) != HIA_OK) return HIA_MEMORY;
  atomic_fetch_add(&w->n_inside, 1);
  hia_status status = w->way == BY_RUN ? run(w, w->inner_name, n, &w->inner_options, result)
                                       : w->inner_entry(context, n, result);
  w->last = status;
  hia_context_free(context);
  return status;
}

static void begin(world *w, unsigned threads, const char *outer, const char *inner) {
  NEEDS_NATIVE;
  *w = (world){.inner_options = HIA_RUN_OPTIONS_INIT, .inner_name = inner};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = threads;
  options.flags |= HIA_FLAG_NO_MERGING;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern impure fn begin(n: i32) -> i32";
  f.function = (void (*)(void))begin_inner;
  f.user = w;
  f.takes_user = f.returns_status = true;
  cr_assert_eq(hia_engine_register(w->engine, &f, NULL), HIA_OK);
  f.declaration = "extern fn pure_begin(n: i32) -> i32";
  f.function = (void (*)(void))pure_begin;
  cr_assert_eq(hia_engine_register(w->engine, &f, NULL), HIA_OK);
  hia_error *error;
  cr_assert_eq(hia_module_load_text(w->engine, "t.hia", text, strlen(text), &w->module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_engine_context_new(w->engine, &w->outer, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(w->engine, &w->inner, NULL), HIA_OK);
  w->outer_entry = entry_i32(w->module, outer);
  w->inner_entry = entry_i32(w->module, inner);
}

static void end(world *w) {
  hia_context_free(w->outer);
  hia_context_free(w->inner);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

/* Waits until this many host functions have begun a run (or one, if no others come), and some time
 * more. */
typedef struct ending {
  world *w;
  unsigned n;
  bool resets;
  hia_cancel *cancel;   /* or NULL */
  hia_context *context; /* or NULL */
} ending;

static void *end_soon(void *user) {
  const ending *e = user;
  for (int i = 0; atomic_load(&e->w->n_inside) < (i < 3000 ? e->n : 1); i++)
    nanosleep(&(struct timespec){0, 100000}, NULL);
  if (!e->resets) nanosleep(&(struct timespec){0, 2000000}, NULL);
  if (e->cancel) hia_cancel_request(e->cancel);
  if (e->context) hia_context_cancel(e->context);
  if (e->resets) hia_context_reset(e->context);
  return NULL;
}

/* A context that took part in a cancelled run works afterwards. */
static void expect_usable(world *w) {
  fn_i32 fib = entry_i32(w->module, "fib");
  int32_t x = 0;
  cr_expect_eq(fib(w->inner, 10, &x), HIA_OK);
  cr_expect_eq(x, 89);
  cr_expect_eq(fib(w->outer, 10, &x), HIA_OK);
  cr_expect_eq(x, 89);
}

Test(nested, a_context_s_cancel_ends_what_is_inside) {
  for (unsigned threads = 1; threads < 4; threads += 2)
    for (int way = 0; way < N_WAYS; way++) {
      world w;
      begin(&w, threads, "outer", "inner");
      w.way = way;
      for (int i = 0; i < 3; i++) {
        atomic_store(&w.n_inside, 0);
        ending e = {.w = &w, .n = 1, .context = w.outer};
        pthread_t thread;
        pthread_create(&thread, NULL, end_soon, &e);
        int32_t x;
        cr_expect_eq(w.outer_entry(w.outer, 3, &x), HIA_CANCELLED);
        cr_expect_eq(w.last, HIA_CANCELLED);
        pthread_join(thread, NULL);
        hia_context_reset(w.outer);
        expect_usable(&w);
      }
      end(&w);
    }
}

/* A cancelled call ends, even if its context is reset meanwhile. */
Test(nested, a_cancel_that_is_reset_at_once) {
  for (int way = 0; way < N_WAYS; way++) {
    world w;
    begin(&w, 1, "outer", "inner");
    w.way = way;
    for (int i = 0; i < 50; i++) {
      atomic_store(&w.n_inside, 0);
      ending e = {.w = &w, .n = 1, .resets = true, .context = w.outer};
      pthread_t thread;
      pthread_create(&thread, NULL, end_soon, &e);
      int32_t x;
      cr_expect_eq(w.outer_entry(w.outer, 3, &x), HIA_CANCELLED);
      pthread_join(thread, NULL);
      expect_usable(&w);
    }
    end(&w);
  }
}

/* On any thread: all three of them wait in endless runs. */
Test(nested, a_context_s_cancel_ends_what_is_inside_on_all_threads) {
  for (int way = 0; way < N_WAYS; way++) {
    world w;
    begin(&w, 3, "pure_outer", "inner");
    w.way = way;
    for (int i = 0; i < 3; i++) {
      atomic_store(&w.n_inside, 0);
      ending e = {.w = &w, .n = i == 2 ? 1 : 2, .context = w.outer};
      pthread_t thread;
      pthread_create(&thread, NULL, end_soon, &e);
      int32_t x;
      cr_expect_eq(w.outer_entry(w.outer, 20, &x), HIA_CANCELLED);
      pthread_join(thread, NULL);
      hia_context_reset(w.outer);
      expect_usable(&w);
    }
    end(&w);
  }
}

Test(nested, a_context_s_timeout_ends_what_is_inside) {
  for (int way = 0; way < N_WAYS; way++) {
    world w;
    begin(&w, 1, "outer", "inner");
    w.way = way;
    int32_t x;
    hia_context_set_timeout(w.outer, 20000000);
    cr_expect_eq(w.outer_entry(w.outer, 3, &x), HIA_DEADLINE);
    if (atomic_load(&w.n_inside)) cr_expect_eq(w.last, HIA_DEADLINE);
    hia_context_set_timeout(w.outer, 0);
    /* Its own deadline, after which the host function decides about the outer run. */
    if (way == BY_ENTRY)
      hia_context_set_timeout(w.inner, 5000000);
    else
      w.inner_options.timeout_ns = 5000000;
    cr_expect_eq(w.outer_entry(w.outer, 3, &x), HIA_DEADLINE);
    const char *why = hia_error_text(hia_context_error(w.outer));
    cr_expect(strstr(why, "the host's function 'begin' failed: past the deadline"), "%s", why);
    hia_context_set_timeout(w.inner, 0);
    expect_usable(&w);
    end(&w);
  }
}

Test(nested, what_ends_a_run_ends_entries_inside) {
  world w;
  begin(&w, 1, "outer", "inner");
  w.way = BY_ENTRY;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = 20000000;
  cr_expect_eq(run(&w, "outer", 3, &options, NULL), HIA_DEADLINE);
  if (atomic_load(&w.n_inside)) {
    cr_expect_eq(w.last, HIA_DEADLINE);
    const char *why = hia_error_text(hia_context_error(w.inner));
    cr_expect(strstr(why, "past the deadline\n"), "no time that the context knows of: %s", why);
  }
  expect_usable(&w);

  options.timeout_ns = 0;
  options.cancel = hia_cancel_new(NULL);
  for (int i = 0; i < 3; i++) {
    atomic_store(&w.n_inside, 0);
    ending e = {.w = &w, .n = 1, .cancel = options.cancel};
    pthread_t thread;
    pthread_create(&thread, NULL, end_soon, &e);
    cr_expect_eq(run(&w, "outer", 3, &options, NULL), HIA_CANCELLED);
    cr_expect_eq(w.last, HIA_CANCELLED);
    pthread_join(thread, NULL);
    hia_cancel_reset(options.cancel);
    expect_usable(&w);
  }
  hia_cancel_free(options.cancel);
  /* A cancel of the inner context does not end the outer call. */
  hia_context_cancel(w.inner);
  cr_expect_eq(run(&w, "outer", 3, NULL, NULL), HIA_CANCELLED);
  cr_expect_eq(run(&w, "fib", 3, NULL, NULL), HIA_OK);
  hia_context_reset(w.inner);
  expect_usable(&w);
  end(&w);
}

/* Each with a context of its own, which the host function makes. */
Test(nested, entries_inside_one_another_are_counted) {
  world w;
  begin(&w, 1, "again", "again");
  w.way = BY_ENTRY;
  w.makes_contexts = true;
  int32_t x;
  cr_expect_eq(w.outer_entry(w.outer, 0, &x), HIA_DEPTH);
  cr_expect_eq(w.deepest, 100);
  end(&w);
}

Test(nested, entries_inside_have_the_depth_that_is_left) {
  NEEDS_NATIVE;
  world w;
  begin(&w, 1, "sink", "deep");
  w.way = BY_ENTRY;
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *limited;
  int32_t x;
  options.max_depth = (size_t)8 << 20;
  cr_assert_eq(hia_context_new(&options, &limited), HIA_OK);
  cr_expect_eq(w.outer_entry(limited, 10, &x), HIA_DEPTH, "3000000 frames are more than 8 MB");
  cr_expect_eq(w.last, HIA_DEPTH);
  const char *why = hia_error_text(hia_context_error(w.inner));
  cr_expect(strstr(why, "more than 8.0 MiB of stack") || strstr(why, "more than 7."), "%s", why);
  cr_expect_eq(w.outer_entry(w.outer, 10, &x), HIA_OK, "a context without a limit");
  cr_expect_eq(w.inner_entry(w.inner, 3000000, &x), HIA_OK, "nor does it stay");
  hia_context_free(limited);
  end(&w);
}

/* ---- the context that a host function finds ---- */

Test(nested, the_context_of_the_call) {
  world w;
  begin(&w, 1, "outer", "short");
  int32_t x;
  cr_expect_null(hia_context_current());
  cr_expect_null(hia_context_user(w.outer));
  hia_context_set_user(w.outer, &w);
  w.way = BY_ENTRY;
  cr_expect_eq(w.outer_entry(w.outer, 3, &x), HIA_OK);
  cr_expect_eq(x, 7);
  cr_expect_eq(w.seen, w.outer);
  cr_expect_eq(hia_context_user(w.seen), &w);
  cr_expect_eq(run(&w, "outer", 3, NULL, &x), HIA_OK);
  cr_expect_null(w.seen);
  cr_expect_null(hia_context_current());
  hia_context_set_user(NULL, NULL);
  cr_expect_null(hia_context_user(NULL));
  end(&w);
}
