/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of the public API that must be refused, and a module for them. */
#ifndef HELPER_API_BAD_INPUT_H
#define HELPER_API_BAD_INPUT_H

#include <hiaton/hiaton.h>

#include <criterion/criterion.h>

static const char module_text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
    "fn swap(p: (i32, f64)) = (p.1, p.0)\n"
    "fn zero() -> i64 = 0\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  hia_function *fib, *fact, *swap, *zero;
  hia_value *n; /* an i32 */
} world;

static inline void open_world(world *w, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(
      hia_module_load_text(w->engine, "t", module_text, strlen(module_text), &w->module, NULL),
      HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "fib", &w->fib, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "fact", &w->fact, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "swap", &w->swap, NULL), HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "zero", &w->zero, NULL), HIA_OK);
  cr_assert_not_null(w->n = hia_value_i32(w->engine, 7));
}

static inline void close_world(world *w) {
  hia_value_free(w->n);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

/* The call with &error as its last argument must return this status and an error with these words;
 * with NULL there it must return the same. */
static hia_error *error;
static inline void expect(hia_status status, hia_status without, hia_status expected,
                          const char *words, int line) {
  cr_assert_eq(status, expected, "line %d: %s: %s", line, hia_status_word(status),
               hia_error_text(error));
  cr_assert_eq(without, expected, "line %d: without an error: %s", line, hia_status_word(without));
  cr_assert_not_null(error, "line %d: no error", line);
  cr_assert_eq(hia_error_status(error), expected, "line %d", line);
  cr_assert_eq(hia_error_count(error), 1, "line %d", line);
  cr_assert_neq(hia_error_message(error, 0)[0], 0, "line %d: no message", line);
  cr_assert_not_null(strstr(hia_error_text(error), words), "line %d: no '%s' in: %s", line, words,
                     hia_error_text(error));
  hia_error_free(error);
  error = NULL;
}
#define REFUSED(status, words, function, ...)                                                      \
  expect((function)(__VA_ARGS__, &error), (function)(__VA_ARGS__, NULL), status, words, __LINE__)

/* A structure with room behind it, as in a later header. */
#define LATER(type)                                                                                \
  struct {                                                                                         \
    type now;                                                                                      \
    unsigned char more[24];                                                                        \
  }

#endif
