/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions as C functions: bad requests, and too little memory or address space. */
#include "tests/unit/helpers/engine_entry.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/time.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- bad requests ---- */

Test(entry, bad_requests) {
  hia_native_fn e = (hia_native_fn)begin;
  hia_error *error;
  cr_assert_eq(hia_function_entry(NULL, &e, &error), HIA_ARGUMENT);
  cr_assert(e == NULL);
  hia_error_free(error);
  cr_assert_eq(hia_function_plain(NULL, NULL, NULL), HIA_ARGUMENT);
  hia_context *context = (hia_context *)&error;
  cr_assert_eq(hia_engine_context_new(NULL, &context, &error), HIA_ARGUMENT);
  cr_assert_null(context);
  hia_error_free(error);
  cr_assert_eq(hia_context_new(NULL, NULL), HIA_ARGUMENT);
  hia_context_free(NULL);
  hia_context_cancel(NULL);
  hia_context_reset(NULL);
  hia_context_set_timeout(NULL, 1);
  cr_assert_null(hia_context_error(NULL));

  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.threads = 5000;
  cr_assert_eq(hia_context_new(&options, &context), HIA_ARGUMENT);
  options = (hia_context_options)HIA_CONTEXT_OPTIONS_INIT;
  options.size = 3;
  cr_assert_eq(hia_context_new(&options, &context), HIA_ARGUMENT);
  options = (hia_context_options)HIA_CONTEXT_OPTIONS_INIT;
  options.flags = HIA_CONTEXT_FAST_PRODUCTS << 1;
  cr_assert_eq(hia_context_new(&options, &context), HIA_ARGUMENT);
  options = (hia_context_options)HIA_CONTEXT_OPTIONS_INIT;
  hia_allocator broken = {0};
  options.allocator = &broken;
  cr_assert_eq(hia_context_new(&options, &context), HIA_ARGUMENT);
  cr_assert_null(context);
  struct {
    hia_context_options known;
    uint64_t unknown;
  } later = {HIA_CONTEXT_OPTIONS_INIT, 0};
  later.known.size = sizeof later;
  cr_assert_eq(hia_context_new(&later.known, &context), HIA_OK);
  hia_context_free(context);
  later.unknown = 1;
  cr_assert_eq(hia_context_new(&later.known, &context), HIA_ARGUMENT);

  /* An engine that makes no native code. */
  hia_engine_options interp = HIA_ENGINE_OPTIONS_INIT;
  interp.kind = HIA_ENGINE_INTERP;
  program p = open_program(&interp, entry_text, "fib");
  cr_assert_eq(hia_function_entry(p.function, &e, &error), HIA_UNSUPPORTED);
  cr_assert_not_null(strstr(hia_error_text(error), "this engine makes no native code"));
  hia_error_free(error);
  cr_assert_eq(hia_engine_context_new(p.engine, &context, NULL), HIA_OK);
  hia_context_free(context);
  close_program(&p);

  fixture f;
  begin(&f, NULL);
  cr_assert_eq(hia_function_entry(find_function(f.module, "twice"), &e, &error), HIA_ARGUMENT);
  cr_assert_not_null(strstr(hia_error_text(error), "generic"));
  hia_error_free(error);
  cr_assert_eq(hia_function_entry(find_function(f.module, "fib"), NULL, &error), HIA_ARGUMENT);
  hia_error_free(error);
  int32_t x = 1;
  cr_assert_eq(entry_i32(f.module, "fib")(NULL, 1, &x), HIA_ARGUMENT);
  cr_assert_eq(entry_i32(f.module, "fib")(f.context, 1, NULL), HIA_OK);

  /* Modules of the JIT have no image. */
  options = (hia_context_options)HIA_CONTEXT_OPTIONS_INIT;
  options.flags |= HIA_CONTEXT_INTERPRET;
  cr_assert_eq(hia_context_new(&options, &context), HIA_OK);
  cr_assert_eq(entry_i32(f.module, "fib")(context, 1, &x), HIA_UNSUPPORTED);
  cr_assert_str_eq(hia_error_text(hia_context_error(context)),
                   "error[unsupported]: this module holds no image to interpret\n");
  hia_context_free(context);
  end(&f);
}

/* ---- memory ---- */

/* There may be no address space for a stack. */
Test(entry, no_room_for_the_stack) {
  fixture f;
  begin(&f, NULL);
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.max_depth = SIZE_MAX / 2;
  hia_context *context;
  int32_t x;
  cr_assert_eq(hia_context_new(&options, &context), HIA_OK);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(entry_i32(f.module, "fib")(context, 5, &x), HIA_MEMORY);
    cr_assert_str_eq(hia_error_text(hia_context_error(context)),
                     "error[memory]: no address space for the stack\n");
  }
  hia_context_free(context);
  end(&f);
}

static size_t address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  cr_assert(file && fscanf(file, "%lu", &pages) == 1);
  fclose(file);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* A module whose frames are too large for the stack does not affect others. */
Test(entry, no_room_for_a_larger_stack) {
  fixture f;
  begin(&f, NULL);
  enum { N = 2000 };
  char *source = malloc(64 * N);
  size_t len = (size_t)sprintf(source, "fn f(n: i64) -> i64 =\n  if n < 0 then 0 else "
                                       "bxor(f(n - 1), n)\nfn wide(n: i64) -> i64 = {\n");
  for (int i = 0; i < N; i++)
    len += (size_t)sprintf(source + len, "  let v%d = f(n - %d);\n", i, i);
  len += (size_t)sprintf(source + len, "  v0");
  for (int i = 1; i < N; i++) len += (size_t)sprintf(source + len, " + v%d", i);
  sprintf(source + len, "\n}\n");
  hia_engine_options plainly = HIA_ENGINE_OPTIONS_INIT;
  plainly.kind = HIA_ENGINE_JIT;
  plainly.opt_level = 0;
  plainly.disabled_passes = "all";
  program p = open_program(&plainly, source, "wide");
  free(source);
  hia_native_fn wide;
  hia_context *context;
  cr_assert_eq(hia_function_entry(p.function, &wide, NULL), HIA_OK);
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.max_depth = (size_t)16 << 20;
  cr_assert_eq(hia_context_new(&options, &context), HIA_OK);
  fn_i32 fib = entry_i32(f.module, "fib");
  int32_t x = 0;
  int64_t y;
  cr_assert_eq(fib(context, 10, &x), HIA_OK);
  struct rlimit before, tight;
  getrlimit(RLIMIT_AS, &before);
  tight = before;
  tight.rlim_cur = address_space();
  setrlimit(RLIMIT_AS, &tight);
  hia_status status = ((hia_status(*)(hia_context *, int64_t, int64_t *))wide)(context, 3, &y);
  setrlimit(RLIMIT_AS, &before);
  cr_assert_eq(status, HIA_MEMORY);
  cr_assert_eq(fib(context, 10, &x), HIA_OK);
  cr_assert_eq(x, 89);
  cr_assert_eq(((hia_status(*)(hia_context *, int64_t, int64_t *))wide)(context, 3, &y), HIA_OK);
  hia_context_free(context);
  close_program(&p);
  end(&f);
}

static hia_function *failing_function;
static hia_status use_context(const hia_allocator *allocator) {
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.allocator = allocator;
  options.threads = 2;
  hia_native_fn e;
  cr_assert_eq(hia_function_entry(failing_function, &e, NULL), HIA_OK);
  hia_context *context;
  hia_status status = hia_context_new(&options, &context);
  if (status != HIA_OK) return status;
  int32_t x;
  hia_context_set_timeout(context, test_limit_ns(60));
  status = ((fn_i32)e)(context, 100, &x);
  cr_assert(status == HIA_DIV_ZERO || status == HIA_MEMORY, "%s", hia_status_word(status));
  const hia_error *error = hia_context_error(context); /* it may be NULL */
  cr_assert(!error || hia_error_status(error) == status);
  bool is_whole = status == HIA_DIV_ZERO && error;
  hia_context_free(context);
  return is_whole ? HIA_OK : HIA_MEMORY;
}

Test(entry, without_memory) {
  fixture f;
  begin(&f, NULL);
  failing_function = find_function(f.module, "down");
  cr_assert_gt(fail_each_allocation(use_context), 3);
  end(&f);
}

/* All calls from a new engine to a call of a plain function and of a typed entry. */
static hia_status live(const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.allocator = allocator;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *both, *down;
  hia_context *context = NULL;
  hia_native_fn plain, e;
  hia_status status = hia_engine_new(&options, &engine, NULL);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "t", entry_text, strlen(entry_text), &module, NULL);
  if (status == HIA_OK) status = hia_module_function(module, "both", &both, NULL);
  if (status == HIA_OK) status = hia_module_function(module, "down", &down, NULL);
  if (status == HIA_OK) status = hia_function_entry(down, &e, NULL);
  if (status == HIA_OK) status = hia_function_plain(both, &plain, NULL);
  if (status == HIA_OK) status = hia_engine_context_new(engine, &context, NULL);
  int32_t x;
  if (status == HIA_OK) {
    cr_assert_not(((bool (*)(int32_t))plain)(10));
    status = ((fn_i32)e)(context, 0, &x);
    cr_assert(status == HIA_DIV_ZERO || status == HIA_MEMORY, "%s", hia_status_word(status));
    /* Without memory for all of the chain it is shorter. */
    status = hia_error_chain_length(hia_context_error(context)) == 1 ? HIA_OK : HIA_MEMORY;
  }
  hia_context_free(context);
  hia_module_free(module);
  hia_engine_free(engine);
  return status;
}

Test(entry, every_request_for_memory_may_fail) {
  if (has_native()) cr_assert_gt(fail_each_allocation(live), 20);
}
