/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions that are long rather than deep, which the compiler lowers in other ways: chains of
 * conditions, whose edges skip branches (lower/function/skips.c), and straight lines, which fill
 * the objects of tapes as they go (lower/ops/early.c). Native code gives what the interpreter
 * gives. */
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <stdarg.h>

static uint32_t below(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*state >> 33) % n;
}

__attribute__((format(printf, 2, 3))) static void put(test_text *t, const char *format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  cr_assert(n >= 0 && (size_t)n < sizeof line);
  test_text_take(t, line, (size_t)n);
}

/* The results, or the failure, as text. */
static void say(const program *p, hia_value *const *args, size_t n, char *said, size_t size) {
  hia_value *result = NULL;
  hia_error *error = NULL;
  hia_value *own[2] = {args[0], args[1]};
  if (hia_run(p->function, own, n, NULL, &result, &error) == HIA_OK)
    hia_value_format(result, said, size);
  else
    snprintf(said, size, "%s", hia_error_text(error));
  hia_value_free(result);
  hia_error_free(error);
}

/* Both engines say the same of these arguments. */
static void compare(const program *native, const program *interp, hia_value *const *args,
                    const char *text) {
  char said[2][512];
  say(native, args, 2, said[0], sizeof said[0]);
  say(interp, args, 2, said[1], sizeof said[1]);
  cr_assert_str_eq(said[0], said[1], "of\n%.3000s", text);
}

static program open(hia_engine_kind kind, const char *text) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = 1;
  return open_program(&options, text, "main");
}

/* ---- chains of conditions ---- */

/* A term: some fail, some are Boolean values that other terms use, too. */
static void put_term(test_text *t, uint64_t *random, unsigned i) {
  switch (below(random, 8)) {
  case 0: put(t, "7 / (x - %d) < 9", (int)below(random, 12) - 6); break;
  case 1: put(t, "is_odd"); break;
  case 2: put(t, "not (y == %u)", i % 11); break;
  case 3: put(t, "(x < %d and y > %d)", (int)below(random, 20), -(int)below(random, 20)); break;
  case 4: put(t, "(x > %d or is_odd)", (int)below(random, 9)); break;
  default: put(t, "x * y != %u", 50 + i); break;
  }
}

static void put_chain(test_text *t, uint64_t *random) {
  bool is_mixed = below(random, 2);
  const char *op = below(random, 2) ? "and" : "or";
  put(t, "fn main(x: i32, y: i32) -> (i32, bool) = {\n let is_odd = band(x, 1) == 1;\n let c = ");
  for (unsigned i = 0; i < 400; i++) {
    if (i)
      put(t, " %s\n", is_mixed && below(random, 6) == 0 ? (below(random, 2) ? "and" : "or") : op);
    put_term(t, random, i);
  }
  switch (below(random, 3)) {
  case 0: put(t, ";\n (if c then x + 1 else y / x, is_odd) }\n"); break;
  case 1: put(t, ";\n (if c then x + 1 else 5, c) }\n"); break;
  default: put(t, ";\n let d = c and x > 2;\n (if d or y > 3 then x else y, d) }\n"); break;
  }
}

Test(long, chains_of_conditions) {
  NEEDS_NATIVE;
  uint64_t random = 7;
  for (int i = 0; i < 12; i++) {
    test_text text = {0};
    put_chain(&text, &random);
    program native = open(HIA_ENGINE_JIT, text.data), interp = open(HIA_ENGINE_INTERP, text.data);
    for (int x = -8; x <= 8; x++)
      for (int y = -3; y <= 12; y += 3) {
        hia_value *args[2] = {hia_value_i32(native.engine, x), hia_value_i32(native.engine, y)};
        compare(&native, &interp, args, text.data);
        hia_value_free(args[0]);
        hia_value_free(args[1]);
      }
    close_program(&native);
    close_program(&interp);
    test_text_free(&text);
  }
}

/* ---- straight lines with gradients ---- */

/* Lines between which there are calls, branches that fail, and loops. */
static void put_lines(test_text *t, uint64_t *random, unsigned n) {
  put(t, "fn power(a: f64, n: i32) -> f64 = if n == 0 then 1.0 else a * power(a, n - 1)\n"
         "fn f(x: f64, y: f64) -> f64 = {\n let (a, b) = (x, y);\n");
  for (unsigned i = 0; i < n; i++) {
    unsigned kind = below(random, 60);
    if (kind == 0)
      put(t, " let a = power(b, %u) + a;\n", i % 3);
    else if (kind == 1)
      put(t, " let b = if a > %u.0 then fail(%u) else b + a * 0.1;\n", 5 + i % 7, i);
    else if (kind == 2)
      put(t, " let (_, b) = loop (i = 0, b = b) while i < 3 { (i + 1, b * a) };\n");
    else
      put(t, " let (a, b) = (a * b + %u.0 * x, a - b * 0.%u);\n", i % 7, 1 + i % 9);
    if (i % 5 == 0) put(t, " let (a, b) = (sin(a), 0.5 * b / (1.0 + b * b));\n");
  }
  put(t, " a + b }\nfn main(x: f64, y: f64) = value_and_grad(f, wrt = (x, y))(x, y)\n");
}

Test(long, gradients_of_straight_lines) {
  NEEDS_NATIVE;
  uint64_t random = 3;
  for (unsigned i = 0; i < 6; i++) {
    test_text text = {0};
    put_lines(&text, &random, 60u << i % 3);
    program native = open(HIA_ENGINE_JIT, text.data), interp = open(HIA_ENGINE_INTERP, text.data);
    for (int k = -6; k <= 6; k++) {
      hia_value *args[2] = {hia_value_f64(native.engine, 0.3 * k),
                            hia_value_f64(native.engine, 1 - 0.2 * k)};
      compare(&native, &interp, args, text.data);
      hia_value_free(args[0]);
      hia_value_free(args[1]);
    }
    close_program(&native);
    close_program(&interp);
    test_text_free(&text);
  }
}
