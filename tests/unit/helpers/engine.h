/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Engines of every kind, and a program that they all run, for tests of the public API. */
#ifndef HELPER_ENGINE_H
#define HELPER_ENGINE_H

#include <hiaton/hiaton.h>

#include <criterion/criterion.h>

static const char fib_text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
    "fn swap(p: (i32, f64)) = (p.1, p.0)\n"
    "fn div(a: i32, b: i32) = a / b\n"
    "fn deep(n: i32) -> i32 = if n == 0 then div(1, n) else 1 + deep(n - 1)\n";

static const hia_engine_kind kinds[] = {HIA_ENGINE_JIT, HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND};

static inline hia_engine *new_engine(hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_error *error;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &engine, &error), HIA_OK);
  cr_assert_null(error);
  return engine;
}

/* The first of `kinds` that this build has: without LLVM there is no native code. */
static inline size_t first_kind(void) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP);
  size_t first = hia_engine_native(engine, NULL) == HIA_OK ? 0 : 1;
  hia_engine_free(engine);
  return first;
}

/* There must be an error with this status, whose text contains these words. */
static inline void expect_error(hia_status status, hia_error **at, hia_status expected,
                                const char *words) {
  hia_error *error = *at;
  cr_assert_eq(status, expected, "%s: %s", hia_status_word(status), hia_error_text(error));
  cr_assert_not_null(error);
  cr_assert_eq(hia_error_status(error), expected);
  cr_assert_not_null(strstr(hia_error_text(error), words), "no '%s' in: %s", words,
                     hia_error_text(error));
  hia_error_free(error);
}

static inline const char *format(const hia_value *value) {
  static char text[256];
  hia_value_format(value, text, sizeof text);
  return text;
}

#endif
