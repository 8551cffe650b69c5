/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs and typed entries that host functions call: limits, deadlines and cancels are inherited.
 * test_engine_nested.c tests nested runs with typed entries. */
#include "tests/unit/helpers/engine_host.h"
#include "tests/unit/helpers/program.h"

#include <time.h>

/* ---- within runs ---- */

typedef struct inner {
  world *w;
  const char *function;
  hia_run_options options;
  hia_status status;   /* of the last run */
  hia_cancel *request; /* when it is inside */
  int deepest, level;
} inner;

/* extern impure fn again(n: i32) -> i32 */
static int32_t again(void *user, int32_t n, int32_t *result) {
  inner *i = user;
  if (++i->level > i->deepest) i->deepest = i->level;
  if (i->request) hia_cancel_request(i->request);
  hia_error *error = NULL;
  i->status = hosts_call(i->w->module, i->w->engine, i->function, n, &i->options, result, &error);
  hia_error_free(error);
  i->level--;
  return (int32_t)i->status;
}

static void load_inner(world *w, inner *i, const char *text) {
  *i = (inner){.w = w, .function = "inner", .options = HIA_RUN_OPTIONS_INIT};
  hia_host_function f = HOST("extern impure fn again(n: i32) -> i32", again);
  f.user = i;
  f.takes_user = f.returns_status = true;
  add(w, f);
  char all[2048];
  snprintf(all, sizeof all, "extern impure fn again(n: i32) -> i32\n%s", text);
  load(w, all);
}

Test(engine_host, runs_within_runs) {
  world w;
  inner i;
  EACH_WAY(w, 0) {
    load_inner(&w, &i,
               "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
               "fn inner(n: i32) -> i32 = if n == 0 then fib(15) else again(n - 1) + fib(n)\n"
               "fn main() -> i32 = fib(10) + inner(20)\n");
    cr_expect_str_eq(result_of(&w), "29731", "way %zu: %s", way, result_of(&w));
    cr_expect_eq(i.deepest, 20);
    end(&w);
  }
}

Test(engine_host, a_chain_through_both_ends) {
  world w;
  inner i;
  EACH_WAY(w, 0) {
    load_inner(&w, &i, "fn inner(n: i32) -> i32 = again(n + 1)\nfn main() -> i32 = inner(0)\n");
    cr_expect_str_eq(result_of(&w), "depth", "way %zu: %s", way, result_of(&w));
    cr_expect_eq(i.deepest, 100); /* the run that it begins is refused */
    end(&w);
  }
}

Test(engine_host, depth_is_inherited) {
  world w;
  inner i;
  EACH_WAY(w, hosts_ways[way].kind == HIA_ENGINE_JIT      ? (size_t)3 << 20
              : hosts_ways[way].kind == HIA_ENGINE_EXPAND ? (size_t)64 << 20
                                                          : (size_t)8 << 20) {
    /* Each level takes some of the depth: all of them together must not take more. */
    load_inner(&w, &i,
               "fn down(n: i32, m: i32) -> i32 = if n == 0 then again(m) else 1 + down(n - 1, m)\n"
               "fn inner(m: i32) -> i32 = 1 + down(m, m)\n"
               "fn main() -> i32 = inner(20000)\n");
    cr_expect_str_eq(result_of(&w), "depth", "way %zu: %s", way, result_of(&w));
    cr_expect_gt(i.deepest, 1, "way %zu", way);
    cr_expect_lt(i.deepest, 90, "way %zu: %d runs", way, i.deepest);
    end(&w);
  }
}

static hia_status call_main(world *w, const hia_run_options *options) {
  hia_function *f;
  hia_value *result = NULL;
  hia_error_free(w->error);
  cr_assert_eq(hia_module_function(w->module, "main", &f, NULL), HIA_OK);
  hia_status status = hia_run(f, NULL, 0, options, &result, &w->error);
  hia_value_free(result);
  return status;
}

static void prepare(world *w, const char *name) {
  hia_function *f;
  cr_assert_eq(hia_module_function(w->module, name, &f, NULL), HIA_OK);
  cr_assert_eq(hia_function_prepare(f, NULL), HIA_OK);
}

static const char endless[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn inner(n: i32) -> i32 = if n > 0 then again(n - 1) else loop (x = n) while true { x + "
    "fib(5) }\n"
    "fn main() -> i32 = inner(3)\n";

Test(engine_host, a_deadline_is_inherited) {
  world w;
  inner i;
  EACH_WAY(w, 0) {
    load_inner(&w, &i, endless);
    prepare(&w, "main");
    prepare(&w, "inner");
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.timeout_ns = 100000000;
    cr_expect_eq(call_main(&w, &options), HIA_DEADLINE, "way %zu", way);
    if (i.deepest) cr_expect_eq(i.status, HIA_DEADLINE); /* a slow machine may not get there */
    /* its own, while the outer run has none */
    i.options.timeout_ns = 10000000;
    cr_expect_eq(call_main(&w, NULL), HIA_DEADLINE, "way %zu", way);
    cr_expect(
        strstr(hia_error_text(w.error), "the host's function 'again' failed: past the deadline"),
        "%s", hia_error_text(w.error));
    end(&w);
  }
}

static void *request_soon(void *cancel) {
  struct timespec t = {.tv_nsec = 20000000};
  nanosleep(&t, NULL);
  hia_cancel_request(cancel);
  return NULL;
}

Test(engine_host, cancelling_is_inherited) {
  world w;
  inner i;
  EACH_WAY(w, 0) {
    load_inner(&w, &i, endless);
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.cancel = hia_cancel_new(NULL);
    prepare(&w, "main");
    prepare(&w, "inner");
    pthread_t thread;
    pthread_create(&thread, NULL, request_soon, options.cancel);
    cr_expect_eq(call_main(&w, &options), HIA_CANCELLED, "way %zu", way);
    if (i.deepest) cr_expect_eq(i.status, HIA_CANCELLED);
    pthread_join(thread, NULL);
    /* requested before the nested run has begun */
    hia_cancel_reset(options.cancel);
    i.request = options.cancel;
    cr_expect_eq(call_main(&w, &options), HIA_CANCELLED, "way %zu", way);
    /* the nested run's own */
    i.request = NULL;
    i.options.cancel = options.cancel;
    cr_expect_eq(call_main(&w, NULL), HIA_CANCELLED, "way %zu", way);
    hia_cancel_free(options.cancel);
    end(&w);
  }
}

/* ---- within typed entries ---- */

typedef struct nested_entry {
  fn_i32 entry;
  hia_context *context, *other;
  hia_status same, another;
} nested_entry;

/* extern impure fn enter(n: i32) -> i32 */
static int32_t enter(void *user, int32_t n, int32_t *result) {
  nested_entry *nest = user;
  nest->same = nest->entry(nest->context, 0, result);
  nest->another = nest->entry(nest->other, n - 1, result);
  return (int32_t)nest->another;
}

Test(engine_host, entries_within_entries) {
  world w = {.engine = hosts_engine((hosts_way){HIA_ENGINE_JIT, 1, 2, NULL}, 0)};
  if (!w.engine) return;
  nested_entry nest = {0};
  hia_host_function f = HOST("extern impure fn enter(n: i32) -> i32", enter);
  f.user = &nest;
  f.takes_user = f.returns_status = true;
  add(&w, f);
  load(&w, "extern impure fn enter(n: i32) -> i32\n"
           "fn down(n: i32) -> i32 = if n == 0 then 5 else 1 + down(n - 1)\n"
           "fn main(n: i32) -> i32 = if n <= 0 then down(100000) else enter(n) + 1\n"
           "fn bare(n: i32) -> i32 = enter(n)\n");
  cr_assert_eq(hia_engine_context_new(w.engine, &nest.context, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(w.engine, &nest.other, NULL), HIA_OK);
  nest.entry = entry_i32(w.module, "main");
  int32_t x;
  cr_expect_eq(nest.entry(nest.context, 1, &x), HIA_OK);
  cr_expect_eq(x, 100006);
  cr_expect_eq(nest.same, HIA_BUSY);
  cr_expect_eq(nest.another, HIA_OK);
  /* there is no context for the third level */
  cr_expect_eq(nest.entry(nest.context, 2, &x), HIA_BUSY);
  cr_expect(strstr(hia_error_text(hia_context_error(nest.context)),
                   "the host's function 'enter' failed: "),
            "%s", hia_error_text(hia_context_error(nest.context)));
  hia_function *bare;
  hia_native_fn plain;
  cr_assert_eq(hia_module_function(w.module, "bare", &bare, NULL), HIA_OK);
  cr_expect_eq(hia_function_plain(bare, &plain, NULL), HIA_UNSUPPORTED);
  hia_context_free(nest.context);
  hia_context_free(nest.other);
  end(&w);
}

Test(engine_host, runs_within_entries) {
  world w = {.engine = hosts_engine((hosts_way){HIA_ENGINE_JIT, 1, 2, NULL}, (size_t)3 << 20)};
  if (!w.engine) return;
  inner i;
  load_inner(&w, &i, endless);
  prepare(&w, "inner");
  hia_context *context;
  cr_assert_eq(hia_engine_context_new(w.engine, &context, NULL), HIA_OK);
  hia_context_set_timeout(context, 100000000);
  int32_t x;
  cr_expect_eq(entry_i32(w.module, "inner")(context, 2, &x), HIA_DEADLINE);
  if (i.deepest) cr_expect_eq(i.status, HIA_DEADLINE);
  hia_context_free(context);
  end(&w);
}
