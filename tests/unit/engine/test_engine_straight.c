/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How long native code may run without a safepoint: the number of safepoints, and that a run that
 * is ended at any of them has its chain of calls. */
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <stdio.h>
#include <stdlib.h>

static program open(const char *text, const char *name, const char *disabled, int level) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.flags |= HIA_FLAG_NO_MERGING;
  options.disabled_passes = disabled;
  options.opt_level = level;
  return open_program(&options, text, name);
}

/* The number of safepoints in the code of a program. */
static size_t safepoints(const char *text, const char *name, const char *disabled) {
  program p = open(text, name, disabled, 2);
  test_text code = {0};
  hia_error *error;
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = HIA_STAGE_ASM;
  cr_assert_eq(hia_module_dump(p.module, &p.function, 1, &options, test_text_take, &code, &error),
               HIA_OK, "%s", hia_error_text(error));
  size_t n = 0;
  for (const char *at = code.data; (at = strstr(at, "callq\thia_poll")); at++) n++;
  test_text_free(&code);
  close_program(&p);
  return n;
}

/* `n` times a line with its number. */
static const char *repeated(const char *before, const char *line, int n, const char *after) {
  enum { SIZE = 1 << 20 };
  static char *text;
  if (!text) text = malloc(SIZE);
  size_t at = (size_t)snprintf(text, SIZE, "%s", before);
  for (int i = 0; i < n; i++) {
    for (const char *c = line; *c; c++)
      if (*c == '#')
        at += (size_t)snprintf(text + at, SIZE - at, "%d", i);
      else
        text[at++] = *c;
  }
  snprintf(text + at, SIZE - at, "%s", after);
  return text;
}

#define LEAF                                                                                       \
  "fn leaf(x: f64) -> f64 = { let a = pow(x, 0.3f64) + exp(-x); let b = sin(a) * tan(a);"          \
  " let c = pow(a, b) + tanh(b); let d = log1p(abs(c)) + expm1(-abs(b)); sqrt(abs(c * d)) }\n"

Test(straight, code_has_safepoints_by_its_cost) {
  NEEDS_NATIVE;
  /* Neither calls nor loops, and little work: none. */
  cr_assert_eq(safepoints("fn f(x: f64) -> f64 = x * x + 1.0f64\n", "f", NULL), 0);
  /* 2000 branches, each with a few nodes and 60 cycles or more on every path. */
  const char *text =
      repeated("fn f(x: f64) -> f64 = {\n",
               "let x = if x > #.0f64 then pow(x, 0.5f64) else tan(x + #.0f64);\n", 2000, "x }\n");
  cr_assert_geq(safepoints(text, "f", NULL), 2000 * 60 / 20000);
  /* A single remainder may take microseconds. */
  text = repeated("fn f(x: f64) -> f64 = {\n", "let x = #.5f64 % x;\n", 100, "x }\n");
  cr_assert_geq(safepoints(text, "f", NULL), 99);
}

Test(straight, calls_count_with_the_cost_of_the_callee) {
  NEEDS_NATIVE;
  /* A leaf of some 500 cycles has none; a function that calls it a thousand times has many. */
  const char *text =
      repeated(LEAF "fn f(x: f64) -> f64 = {\n", "let x = leaf(x + #.0f64);\n", 1000, "x }\n");
  cr_assert_geq(safepoints(text, "f", "inline"), 1000 * 400 / 20000);
  /* A leaf that takes long has one: LLVM may unroll the loop that calls it. */
  text = repeated("fn f(x: f64) -> f64 = {\n", "let x = pow(x, #.5f64);\n", 30, "x }\n");
  cr_assert_eq(safepoints(text, "f", NULL), 1);
  /* A chain of functions, each with a safepoint at its start and work after its call. */
  char chain[1 << 16];
  size_t at = (size_t)snprintf(chain, sizeof chain, "fn g0(x: f64) -> f64 = x\n");
  for (int i = 1; i < 60; i++) {
    at += (size_t)snprintf(chain + at, sizeof chain - at,
                           "fn g%d(x: f64) -> f64 = {\nlet x = g%d(x);\n", i, i - 1);
    for (int k = 0; k < 10; k++)
      at += (size_t)snprintf(chain + at, sizeof chain - at, "let x = pow(x, 0.5f64) + tan(x);\n");
    at += (size_t)snprintf(chain + at, sizeof chain - at, "x }\n");
  }
  cr_assert_geq(safepoints(chain, "g59", "inline"), 59 + 59 * 10 * 120 / 20000);
}

/* After a recursive call there is a safepoint if much follows, since all frames of the recursion
 * may return one after the other. */
Test(straight, much_after_a_recursive_call_has_a_safepoint) {
  NEEDS_NATIVE;
  const char *text = repeated("fn f(n: i32) -> f64 = if n == 0 then 2.0f64 else {\n"
                              "let x = f(n - 1);\n",
                              "let x = pow(x, #.5f64);\n", 100, "x }\n");
  cr_assert_eq(safepoints(text, "f", "unroll"), 2); /* one before the call, one after it */
  /* Little follows: none after the call. */
  text = "fn f(n: i32) -> f64 = if n == 0 then 2.0f64 else pow(f(n - 1), 0.5f64)\n";
  cr_assert_eq(safepoints(text, "f", "unroll"), 1);
}

/* A run may end anywhere, also where a function is about to return: the chain ends in the root. */
Test(straight, chains_are_whole) {
  NEEDS_NATIVE;
  static const char text[] =
      "fn down(n: i32) -> i32 = if n == 0 then 0 else 1 + down(n - 1)\n"
      "fn left(n: i32, k: i32) -> i32 = if n <= k then k else "
      "{ let a = left(n - 1, k); bxor(a, left(k, a)) + left(k - 1, k) }\n"
      "fn tak(x: i32, y: i32, z: i32) -> i32 = if y < x then tak(tak(x - 1, y, z), "
      "tak(y - 1, z, x), tak(z - 1, x, y)) else z\n"
      "fn main(n: i32) -> i32 = loop (s = n) while true "
      "{ bxor(s, down(20000 + s % 8)) + left(20000, 3) + tak(12, 6, 3) }\n";
  for (int level = 0; level <= 3; level++) {
    for (int kind = 0; kind < 2; kind++) {
      program p = open(text, "main", kind ? "unroll" : NULL, level);
      hia_value *arg = hia_value_i32(p.engine, 1);
      for (uint64_t i = 0; i < 60; i++) {
        hia_value *result = NULL;
        hia_error *error = NULL;
        hia_run_options options = HIA_RUN_OPTIONS_INIT;
        options.timeout_ns = 1 + i * 37123 % 3000000;
        cr_assert_eq(hia_run(p.function, &arg, 1, &options, &result, &error), HIA_DEADLINE);
        uint64_t length = hia_error_chain_length(error);
        if (length) {
          const char *fn = "";
          uint32_t line, col;
          cr_assert(hia_error_chain_entry(error, length - 1, &fn, NULL, &line, &col));
          cr_assert_str_eq(fn, "main", "level %d, kind %d, run %llu: %s", level, kind,
                           (unsigned long long)i, hia_error_text(error));
          cr_assert_leq(length, 20100);
        }
        hia_error_free(error);
      }
      hia_value_free(arg);
      close_program(&p);
    }
  }
}
