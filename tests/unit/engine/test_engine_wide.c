/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions with many results, up to the thousand that the language allows: native code returns the
 * same as the interpreter, in all sorts of calls, and is compiled in reasonable time. */
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/typed.h"
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 1 << 18 };
typedef struct source {
  char *text;
  size_t len;
} source;

static void add(source *s, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  s->len += (size_t)vsnprintf(s->text + s->len, SIZE - s->len, fmt, args);
  va_end(args);
  cr_assert_lt(s->len, SIZE);
}

static void add_type(source *s, unsigned n) {
  static const char *const types[] = {"bool", "i32", "i64", "f32", "f64"};
  for (unsigned i = 0; i < n; i++) add(s, "%s%s", i ? ", " : "(", types[i % 5]);
  add(s, ")");
}

/* Tuples of n parts: from two calls that can be forked, and from a chain of calls. */
static char *wide(unsigned n) {
  source s = {calloc(1, SIZE), 0};
  add(&s, "fn first(n: i32) -> ");
  add_type(&s, n);
  for (unsigned i = 0; i < n; i++)
    add(&s, i % 5 ? "%s%u" : "%sn > %u", i ? ", " : " = (", i % 5 ? i : i % 7);
  add(&s, ")\nfn tree(n: i32) -> ");
  add_type(&s, n);
  add(&s, " = if n < 2 then first(n) else {\n  let a = tree(n - 1);\n  let b = tree(n - 2);\n  ");
  for (unsigned i = 0; i < n; i++)
    add(&s, i % 5 ? "%sa.%u + b.%u" : "%sa.%u == b.%u", i ? ", " : "(", i, i);
  add(&s, ")\n}\nfn down(n: i32) -> ");
  add_type(&s, n);
  add(&s, " = if n < 1 then first(n) else {\n  let a = down(n - 1);\n  ");
  for (unsigned i = 0; i < n; i++) add(&s, i % 5 ? "%sa.%u + 1" : "%snot a.%u", i ? ", " : "(", i);
  add(&s, ")\n}\nfn parts(n: i32) = (tree(n).%u, down(n).%u, n)\n", n - 1, n / 2);
  return s.text;
}

static void call(const hia_engine_options *options, const char *text, const char *name,
                 char *result, size_t size) {
  program p = open_program(options, text, name);
  hia_value *arg = hia_value_i32(p.engine, 7), *value = NULL;
  hia_error *error = NULL;
  cr_assert_eq(hia_call(p.function, &arg, 1, &value, &error), HIA_OK, "%s", hia_error_text(error));
  cr_assert_lt(hia_value_format(value, result, size), size);
  hia_value_free(value);
  hia_value_free(arg);
  close_program(&p);
}

static void agree(unsigned n, unsigned threads, int level, const char *name) {
  static char wanted[SIZE], got[SIZE];
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  char *text = wide(n);
  options.kind = HIA_ENGINE_INTERP;
  call(&options, text, name, wanted, sizeof wanted);
  options.kind = HIA_ENGINE_JIT;
  options.threads = threads;
  options.opt_level = level;
  call(&options, text, name, got, sizeof got);
  cr_assert_str_eq(got, wanted, "%u results of %s, level %d, %u threads", n, name, level, threads);
  free(text);
}

Test(wide, results_come_as_they_are_given) {
  NEEDS_NATIVE;
  static const unsigned widths[] = {2, 5, 15, 16, 17, 31, 32, 33, 48, 100};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    agree(widths[i], 1, i % 4, "tree");
    agree(widths[i], 1, 3, "down");
    agree(widths[i], 1, 3, "parts");
    agree(widths[i], 2, 2, "tree");
  }
}

/* Typed entries of these are not optimised, and return the same. */
Test(wide, typed_entries) {
  NEEDS_NATIVE;
  NEEDS_TYPED;
  static char wanted[SIZE], got[SIZE];
  static const unsigned widths[] = {33, 48, 49, 56};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    char *text = wide(widths[i]);
    options.kind = HIA_ENGINE_INTERP;
    call(&options, text, "tree", wanted, sizeof wanted);
    options.kind = HIA_ENGINE_JIT;
    program p = open_program(&options, text, "tree");
    hia_native_fn entry;
    hia_context *context;
    hia_value *arg = hia_value_i32(p.engine, 7), *result;
    cr_assert_eq(hia_function_entry(p.function, &entry, NULL), HIA_OK);
    cr_assert_eq(hia_engine_context_new(p.engine, &context, NULL), HIA_OK);
    cr_assert_eq(call_typed(p.engine, p.function, entry, context, &arg, 1, &result), HIA_OK);
    hia_value_format(result, got, sizeof got);
    cr_assert_str_eq(got, wanted);
    hia_value_free(result);
    hia_value_free(arg);
    hia_context_free(context);
    close_program(&p);
    free(text);
  }
}

Test(wide, a_thousand_results) {
  NEEDS_NATIVE;
  agree(1000, 1, 3, "down");
}

/* Small functions, on which all of LLVM's passes are run: they took a minute and a half. */
Test(wide, a_thousand_results_of_small_functions) {
  NEEDS_NATIVE;
  enum { N = 1000 };
  source s = {calloc(1, SIZE), 0};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  hia_value *parts[N], *args[2], *result = NULL, *last;
  add(&s, "fn same(t: ");
  add_type(&s, N);
  add(&s, ") -> ");
  add_type(&s, N);
  add(&s, " = t\nfn down(t: ");
  add_type(&s, N);
  add(&s, ", n: i32) -> ");
  add_type(&s, N);
  add(&s, " = if n == 0 then same(t) else down(t, n - 1)\n");
  program p = open_program(&options, s.text, "down");
  for (int i = 0; i < N; i++)
    parts[i] = i % 5 == 0   ? hia_value_bool(p.engine, i % 3 == 0)
               : i % 5 == 1 ? hia_value_i32(p.engine, i)
               : i % 5 == 2 ? hia_value_i64(p.engine, i)
               : i % 5 == 3 ? hia_value_f32(p.engine, (float)i)
                            : hia_value_f64(p.engine, i);
  args[0] = hia_value_tuple(p.engine, parts, N);
  args[1] = hia_value_i32(p.engine, 3);
  cr_assert_eq(hia_call(p.function, args, 2, &result, NULL), HIA_OK);
  double x = 0;
  last = hia_value_part(result, N - 1);
  cr_assert_eq(hia_value_get_f64(last, &x), HIA_OK);
  cr_assert_eq(x, N - 1);
  hia_value_free(last);
  hia_value_free(result);
  for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  for (int i = 0; i < N; i++) hia_value_free(parts[i]);
  close_program(&p);
  free(s.text);
}
