/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* pool: runs of the interpreter are helped by threads, with as many as there are, and give them
 * back. */
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/pool.h"
#include <hiaton/hiaton.h>

static const char text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then n else fib(n - 1) + fib(n - 2)\n"
    "fn alone(n: i32) -> i32 = { let (_, s) = loop (i = n, s = 0) while i != 0 { (i - 1, s + i) }; "
    "s }\n"
    "fn spin(n: i32) -> i32 = loop (i = fib(n)) while i != -1 { if i == 7 then 8 else 7 }\n";

typedef struct loaded {
  hia_engine *engine;
  hia_module *module;
} loaded;

static loaded load(hia_engine_kind kind, unsigned threads) {
  loaded l;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  cr_assert_eq(hia_engine_new(&options, &l.engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(l.engine, "t", text, sizeof text - 1, &l.module, NULL), HIA_OK);
  return l;
}

static void unload(loaded l) {
  hia_module_free(l.module);
  hia_engine_free(l.engine);
}

static hia_status call(loaded l, const char *name, int32_t n, hia_cancel *cancel, int32_t *result,
                       uint64_t *steals) {
  hia_function *f;
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options how = HIA_RUN_OPTIONS_INIT;
  how.stats = &used;
  how.cancel = cancel;
  cr_assert_eq(hia_module_function(l.module, name, &f, NULL), HIA_OK);
  hia_value *arg = hia_value_i32(l.engine, n), *value;
  hia_status status = hia_run(f, &arg, 1, &how, &value, NULL);
  if (status == HIA_OK) hia_value_get_i32(value, result);
  hia_value_free(value);
  hia_value_free(arg);
  if (steals) *steals = used.steals;
  return status;
}

static uint64_t interpret_fib(loaded l, int32_t n) {
  int32_t result;
  uint64_t steals;
  cr_assert_eq(call(l, "fib", n, NULL, &result, &steals), HIA_OK);
  cr_assert_eq((hia_word)result, plain_fib((hia_word)n));
  return steals;
}

Test(pool, helps_the_interpreter) {
  size_t before = count_tasks();
  loaded l = load(HIA_ENGINE_INTERP, 4);
  int32_t result;
  cr_assert_eq(call(l, "alone", 10000, NULL, &result, NULL), HIA_OK);
  cr_assert_eq(count_tasks(), before, "what is one chain needs no thread");
  SOON(interpret_fib(l, 20) > 0);
  cr_assert_gt(count_tasks(), before);
  tasks all = {.n = 0};
  for (int i = 0; i < 1000; i++) {
    interpret_fib(l, 14);
    if (i % 16 == 0) cr_assert_leq(list_tasks(&all), before + 3);
  }
  cr_assert_leq(all.n, before + 3, "not the same threads each time");
  unload(l);
  expect_tasks(before);
}

Test(pool, expand_needs_none) {
  size_t before = count_tasks();
  loaded l = load(HIA_ENGINE_EXPAND, 4);
  int32_t result;
  cr_assert_eq(call(l, "fib", 15, NULL, &result, NULL), HIA_OK);
  cr_assert_eq(count_tasks(), before);
  unload(l);
}

Test(pool, the_interpreter_with_fewer_threads) {
  image_program p;
  cr_assert(image_from_source(&p,
                              "fn fib(n: i32) -> i32 = if n <= 1 then n else fib(n - 1) + fib(n - "
                              "2) fn main(n: i32) -> i32 = fib(n)",
                              false, NULL),
            "%s", p.error);
  for (long created = 0; created <= 3; created++) {
    size_t before = count_tasks();
    hia_pool *pool = new_pool(3);
    hiaR_pool_set_create(pool, fail_later);
    atomic_store(&creations_left, created);
    for (int i = 0; i < 10; i++) {
      hia_word arg = 20;
      image_outcome o =
          image_run(&p, IMAGE_INTERP, &arg, 4, &(hia_limits){.pool = pool}, &hiaR_malloc);
      cr_assert_eq(o.status, HIA_OK);
      cr_assert_eq(o.results[0], plain_fib(20));
      if (!created) cr_assert_eq(o.usage.steals, 0);
    }
    cr_assert_leq(count_tasks(), before + (size_t)created);
    hiaR_pool_free(pool);
    expect_tasks(before);
  }
  image_discard(&p);
}

typedef struct spinner {
  loaded l;
  hia_cancel *cancel;
} spinner;

static void *spin(void *user) {
  spinner *s = user;
  int32_t result;
  cr_assert_eq(call(s->l, "spin", 24, s->cancel, &result, NULL), HIA_CANCELLED);
  return NULL;
}

/* A run that has had work for a thread does not keep the thread for ever. */
Test(pool, the_interpreter_gives_threads_back) {
  size_t before = count_tasks();
  loaded l = load(HIA_ENGINE_INTERP, 2);
  spinner s = {l, hia_cancel_new(NULL)};
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, spin, &s), 0);
  SOON(count_tasks() == before + 2); /* the host's and the pool's, which is in that run */
  SOON(interpret_fib(l, 22) > 0);
  hia_cancel_request(s.cancel);
  pthread_join(thread, NULL);
  unload(l);
  hia_cancel_free(s.cancel);
  expect_tasks(before);
}
