/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A program in an engine of its own, for tests of the public API. */
#ifndef HIA_HELPER_PROGRAM_H
#define HIA_HELPER_PROGRAM_H

#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <time.h>

typedef struct program {
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
} program;

static inline bool has_native(void) {
  hia_engine *engine = NULL;
  bool has =
      hia_engine_new(NULL, &engine, NULL) == HIA_OK && hia_engine_native(engine, NULL) == HIA_OK;
  hia_engine_free(engine);
  return has;
}

/* Skips a test of native code in a build that makes none. A skipped test fails `./dev test` where
 * LLVM is installed. */
#define NEEDS_NATIVE                                                                               \
  do {                                                                                             \
    if (!has_native()) cr_skip_test("this build makes no native code");                            \
  } while (0)

/* What follows must not fail. */
static inline hia_module *load_module(hia_engine *engine, const char *name, const char *text) {
  hia_module *module;
  hia_error *error;
  cr_assert_eq(hia_module_load_text(engine, name, text, strlen(text), &module, &error), HIA_OK,
               "%s", hia_error_text(error));
  return module;
}

static inline hia_function *find_function(hia_module *module, const char *name) {
  hia_function *function;
  hia_error *error;
  cr_assert_eq(hia_module_function(module, name, &function, &error), HIA_OK, "%s",
               hia_error_text(error));
  return function;
}

/* The typed entry of a function, compiled if it was not. */
static inline hia_native_fn typed_entry(hia_module *module, const char *name) {
  hia_native_fn entry;
  hia_error *error;
  cr_assert_eq(hia_function_entry(find_function(module, name), &entry, &error), HIA_OK, "%s",
               hia_error_text(error));
  cr_assert(entry != NULL);
  return entry;
}

/* That of a function (i32) -> i32. */
typedef hia_status (*fn_i32)(hia_context *, int32_t, int32_t *);
static inline fn_i32 entry_i32(hia_module *module, const char *name) {
  return (fn_i32)typed_entry(module, name);
}

/* The body of a thread: cancels the calls of a context after 2 ms. */
static inline void *cancel_context(void *context) {
  nanosleep(&(struct timespec){0, 2000000}, NULL);
  hia_context_cancel(context);
  return NULL;
}

/* The function `name` of a text. */
static inline program open_program(const hia_engine_options *options, const char *text,
                                   const char *name) {
  program p;
  cr_assert_eq(hia_engine_new(options, &p.engine, NULL), HIA_OK);
  p.module = load_module(p.engine, "t.hia", text);
  p.function = find_function(p.module, name);
  return p;
}

static inline void close_program(program *p) {
  hia_module_free(p->module);
  hia_engine_free(p->engine);
}

#endif
