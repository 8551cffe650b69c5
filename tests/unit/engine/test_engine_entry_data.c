/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Typed entries of programs that make objects: the heap belongs to the context's call. Whatever way
 * a call ends in, it leaves nothing, and the next call has all of the memory again. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"

#include <pthread.h>
#include <time.h>

static const char text[] =
    "type T = L | N(x: i32, rest: T)\n"
    "extern impure fn again(n: i32) -> i32\n"
    "fn make(n: i32, t: T) -> T = if n == 0 then t else make(n - 1, N(n, t))\n"
    "fn count(t: T, n: i32) -> i32 = match t { L => n, N(_, rest) => count(rest, n + 1) }\n"
    "fn cells(n: i32) -> i32 = count(make(n, L), 0)\n"
    "fn wrong(n: i32) -> i32 = { let t = make(n, L); 1 / (count(t, 0) - count(make(n, L), 0)) }\n"
    "fn endless(n: i32) -> i32 = loop (x = n) while x != 0 { x + count(make(4096, L), 0) }\n"
    "fn nested(n: i32) -> i32 = { let t = make(n, L); let m = again(n); m + count(t, 0) }\n"
    "fn half(n: i32) -> i32 = if n == 0 then cells(100) else half(n - 1) + half(n - 1)\n"
    "fn both(n: i32) -> (i32, bool) = (cells(n) + half(5), cells(n) > 3)\n";

typedef struct world {
  test_heap heap; /* of the engine and of its context */
  hia_engine *engine;
  hia_module *module;
  hia_context *context, *inner;
  fn_i32 cells;
  hia_status last; /* of the nested call */
} world;

/* extern impure fn again(n: i32) -> i32 */
static hia_status again(void *user, int32_t n, int32_t *result) {
  world *w = user;
  *result = 0;
  return w->last = w->cells(w->inner, n, result);
}

static void open_world(world *w, unsigned threads, size_t max_memory) {
  test_heap_init(&w->heap, -1);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = &w->heap.allocator;
  options.threads = threads;
  hia_error *error;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern impure fn again(n: i32) -> i32";
  host.function = (void (*)(void))again;
  host.takes_user = true;
  host.returns_status = true;
  host.user = w;
  cr_assert_eq(hia_engine_register(w->engine, &host, &error), HIA_OK, "%s", hia_error_text(error));
  w->module = load_module(w->engine, "t.hia", text);
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  o.allocator = &w->heap.allocator;
  o.threads = threads;
  o.max_memory = max_memory;
  cr_assert_eq(hia_context_new(&o, &w->context), HIA_OK);
  o.max_memory = 0;
  cr_assert_eq(hia_context_new(&o, &w->inner), HIA_OK);
  w->cells = entry_i32(w->module, "cells");
}

static void close_world(world *w) {
  hia_context_free(w->inner);
  hia_context_free(w->context);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
  cr_assert_eq(w->heap.blocks, 0);
}

static hia_status call(world *w, const char *name, int32_t n, int32_t *result) {
  return entry_i32(w->module, name)(w->context, n, result);
}

Test(entry_data, results_failures_and_memory) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads++) {
    world w;
    open_world(&w, threads, 0);
    int32_t x = 0;
    long bytes = 0;
    for (int i = 0; i < 40; i++) {
      cr_assert_eq(call(&w, "cells", 4096, &x), HIA_OK);
      cr_assert_eq(x, 4096);
      cr_assert_eq(call(&w, "wrong", 3000, &x), HIA_DIV_ZERO);
      const hia_error *error = hia_context_error(w.context);
      cr_assert_eq(hia_error_line(error, 0), 6);
      if (i == 20) bytes = w.heap.bytes;
      if (i > 20 && threads == 1) cr_assert_eq(w.heap.bytes, bytes, "call %d", i);
    }
    typedef hia_status (*fn_both)(hia_context *, int32_t, int32_t *, bool *);
    bool is_more = false;
    fn_both both = (fn_both)typed_entry(w.module, "both");
    cr_assert_eq(both(w.context, 5, &x, &is_more), HIA_OK);
    cr_assert(x == 3205 && is_more);
    close_world(&w);
  }
}

/* The limit holds for native code, and for each call anew. */
Test(entry_data, the_limit_of_memory) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 2; threads++) {
    world w;
    open_world(&w, threads, 2 << 20);
    int32_t x = 0;
    for (int i = 0; i < 5; i++) {
      cr_assert_eq(call(&w, "cells", 131072, &x), HIA_MEMORY); /* of 24 bytes */
      const char *why = hia_error_text(hia_context_error(w.context));
      cr_assert_not_null(strstr(why, "more than 2.0 MiB"), "%s", why);
      cr_assert_eq(hia_error_line(hia_context_error(w.context), 0), 3);
      cr_assert_eq(call(&w, "cells", 80000, &x), HIA_OK);
      cr_assert_eq(x, 80000);
    }
    close_world(&w);
  }
}

/* The call inside has a heap of its own, and what the outer call has left of its memory. */
Test(entry_data, nested_calls) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 2 << 20);
  int32_t x = 0;
  cr_assert_eq(call(&w, "nested", 1000, &x), HIA_OK);
  cr_assert_eq(x, 2000);
  cr_assert_eq(call(&w, "nested", 30000, &x), HIA_OK); /* of 24 bytes, twice */
  cr_assert_eq(x, 60000);
  cr_assert_eq(w.cells(w.context, 60000, &x), HIA_OK);
  cr_assert_eq(call(&w, "nested", 60000, &x), HIA_MEMORY);
  cr_assert_eq(w.last, HIA_MEMORY);
  cr_assert_eq(w.cells(w.inner, 600000, &x), HIA_OK);
  close_world(&w);
}

Test(entry_data, calls_that_are_ended) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 2; threads++) {
    world w;
    open_world(&w, threads, 0);
    int32_t x = 0;
    for (int i = 0; i < 10; i++) {
      pthread_t thread;
      pthread_create(&thread, NULL, cancel_context, w.context);
      cr_assert_eq(call(&w, "endless", 1, &x), HIA_CANCELLED);
      pthread_join(thread, NULL);
      hia_context_reset(w.context);
      hia_context_set_timeout(w.context, 1000000);
      cr_assert_eq(call(&w, "endless", 1, &x), HIA_DEADLINE);
      hia_context_set_timeout(w.context, 0);
      cr_assert_eq(call(&w, "cells", 1024, &x), HIA_OK);
      cr_assert_eq(x, 1024);
    }
    close_world(&w);
  }
}

Test(entry_data, fuel) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 2, 0);
  hia_native_fn e;
  hia_error *error;
  int32_t x = 0;
  uint64_t left = 0;
  cr_assert_eq(hia_function_entry_with_fuel(find_function(w.module, "cells"), &e, &error), HIA_OK,
               "%s", hia_error_text(error));
  hia_context_set_fuel(w.context, 1000);
  cr_assert_eq(((fn_i32)e)(w.context, 50, &x), HIA_OK); /* 51 calls each: make, count */
  cr_assert_eq(x, 50);
  cr_assert(hia_context_fuel_left(w.context, &left));
  cr_assert_eq(left, 1000 - 102);
  cr_assert_eq(((fn_i32)e)(w.context, 1024, &x), HIA_FUEL);
  hia_context_clear_fuel(w.context);
  cr_assert_eq(((fn_i32)e)(w.context, 1024, &x), HIA_OK);
  cr_assert_eq(x, 1024);
  close_world(&w);
}

/* A map makes the objects of all its rows in one heap, so a row must free what it makes. */
Test(entry_data, maps) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 1 << 20);
  enum { N = 3000 };
  static int32_t in[N], out[N];
  hia_native_fn map;
  hia_error *error;
  cr_assert_eq(hia_function_map(find_function(w.module, "cells"), &map, &error), HIA_OK, "%s",
               hia_error_text(error));
  typedef hia_status (*fn_map)(hia_context *, size_t, const int32_t *, int32_t *);
  for (int i = 0; i < N; i++) in[i] = i % 900;
  cr_assert_eq(((fn_map)map)(w.context, N, in, out), HIA_OK);
  for (int i = 0; i < N; i++) cr_assert_eq(out[i], i % 900);
  in[2000] = 100000;
  cr_assert_eq(((fn_map)map)(w.context, N, in, out), HIA_MEMORY);
  cr_assert_eq(hia_context_rows(w.context), 2000);
  close_world(&w);
}

static fn_i32 cells_entry;

static hia_status use_context(const hia_allocator *allocator) {
  hia_context_options o = HIA_CONTEXT_OPTIONS_INIT;
  hia_context *context;
  o.allocator = allocator;
  hia_status status = hia_context_new(&o, &context);
  if (status != HIA_OK) return status;
  int32_t x = 0;
  status = cells_entry(context, 4096, &x);
  cr_assert(status == HIA_MEMORY || (status == HIA_OK && x == 4096));
  hia_context_free(context);
  return status;
}

Test(entry_data, every_request_for_memory_may_fail) {
  NEEDS_NATIVE;
  world w;
  open_world(&w, 1, 0);
  cells_entry = w.cells;
  cr_assert_gt(fail_each_allocation(use_context), 3);
  close_world(&w);
}
