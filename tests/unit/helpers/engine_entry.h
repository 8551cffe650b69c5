/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A module whose functions are called as C functions. */
#ifndef HELPER_ENGINE_ENTRY_H
#define HELPER_ENGINE_ENTRY_H

#include "tests/unit/helpers/program.h"

static const char entry_text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn none() -> i64 = 7\n"
    "fn all(a: bool, b: i32, c: i64, d: f32, e: f64) -> (bool, i32, i64, f32, f64) =\n"
    "  (not a, b + 1, c * 2, d / 2.0, e - 1.0)\n"
    "fn nest(p: ((i32, f64), bool)) -> (bool, (f64, i32)) = (p.1, (p.0.1, p.0.0))\n"
    "fn half(a: i32, b: i32) -> i32 = a / b\n"
    "fn inner(n: i32) -> i32 = half(1, n) + 1\n"
    "fn outer(n: i32) -> i32 = 2 * inner(n)\n"
    "fn down(n: i32) -> i32 = if n == 0 then half(1, n) else bxor(down(n - 1), n)\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n)\n"
    "fn spin(n: i32) -> i32 = loop (x = n) while x != 0 { x * 3 + 1 }\n"
    "fn quit(n: i32) -> i32 = if n > 0 then n else fail(42)\n"
    "fn twice(x) = x + x\n"
    "fn horner(x: f64) -> f64 = sin(x) * x + 0.5\n"
    "fn plane(x: i32, y: i32) -> (i32, bool) = (x * y, x < y)\n"
    "fn both(x: i32) -> bool = x > 3 and plane(x, 9).1\n";

typedef struct fixture {
  hia_engine *engine;
  hia_module *module;
  hia_context *context;
} fixture;

static inline void begin(fixture *f, const hia_engine_options *options) {
  NEEDS_NATIVE;
  hia_error *error;
  cr_assert_eq(hia_engine_new(options, &f->engine, &error), HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(
      hia_module_load_text(f->engine, "t.hia", entry_text, strlen(entry_text), &f->module, &error),
      HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_engine_context_new(f->engine, &f->context, &error), HIA_OK, "%s",
               hia_error_text(error));
}

static inline void end(fixture *f) {
  hia_context_free(f->context);
  hia_module_free(f->module);
  hia_engine_free(f->engine);
}

#endif
