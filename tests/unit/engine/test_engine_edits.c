/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The edits that hints propose (hia_diag.fix), of each kind: applied, they make a program that
 * compiles and computes what the program that was meant computes, bit for bit. */
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/sources.h"

enum { MAX_EDITS = 8, SHOWN = 400 };

typedef struct row {
  hia_edit edit;     /* that of the first error */
  const char *wrong; /* the program */
  const char *meant; /* the program that was meant */
  const char *call;  /* an expression that calls it */
} row;

static const row rows[] = {
    {HIA_EDIT_DIGIT_BEHIND, "fn f(x: f64) = 2. * x", "fn f(x: f64) = 2.0 * x", "f(1.25)"},
    {HIA_EDIT_DIGIT_BEFORE, "fn f(x: f64) = .1 * x", "fn f(x: f64) = 0.1 * x", "f(1.25)"},
    {HIA_EDIT_DIGIT_BEFORE, "fn f(x: f32) = x-.5e-3", "fn f(x: f32) = x - 0.5e-3", "f(1.25)"},
    {HIA_EDIT_PARAMETER, "fn f(f64 x, int n) = x / f64(n)", "fn f(x: f64, n: i32) = x / f64(n)",
     "f(1, 3)"},
    {HIA_EDIT_EQUAL, "fn f(n: i32) = if n = 3 then 1 else 2",
     "fn f(n: i32) = if n == 3 then 1 else 2", "(f(3), f(4))"},
    {HIA_EDIT_EQUAL, "fn f(n: i32) = loop (i = n) while i % 7 = 1 { i * 2 }",
     "fn f(n: i32) = loop (i = n) while i % 7 == 1 { i * 2 }", "(f(8), f(9))"},
    {HIA_EDIT_ELSE_IF, "fn f(n: i32) = if n < 0 then -1 elif n > 0 then 1 else 0",
     "fn f(n: i32) = if n < 0 then -1 else if n > 0 then 1 else 0", "(f(-5), f(0), f(5))"},
    {HIA_EDIT_ARROW, "fn f(n: i32) = match n { 0 -> 5, 1: 6, _ => 7 }",
     "fn f(n: i32) = match n { 0 => 5, 1 => 6, _ => 7 }", "(f(0), f(1), f(2))"},
    {HIA_EDIT_SEMICOLON, "fn f(n: i32) = { let m = n * n\n  m + 1 }",
     "fn f(n: i32) = { let m = n * n; m + 1 }", "f(5)"},
    {HIA_EDIT_IN, "fn f(n: i32) = { let m = n * n in m + 1 }",
     "fn f(n: i32) = { let m = n * n; m + 1 }", "f(5)"},
    {HIA_EDIT_LET, "fn f(x: f64) = { let t = 0.1; t * x }", "fn f(x: f64) = 0.1f64 * x", "f(3)"},
    {HIA_EDIT_LET, "fn f(x: f64) = { let (n, t) = (1, 0.1); f64(n) + t * x }",
     "fn f(x: f64) = 1 + 0.1f64 * x", "f(3)"},
    {HIA_EDIT_LET, "fn f(x: f64[2]) = { let d = [0.1, 0.2]; x + d }",
     "fn f(x: f64[2]) = x + [0.1f64, 0.2f64]", "f([0, 0])"},
    {HIA_EDIT_LET, "fn f(x: f64) = { let d = [(0.1, 1), (0.7, 2)]; d[1].0 + x }",
     "fn f(x: f64) = 0.7f64 + x", "f(0)"},
    {HIA_EDIT_LET, "fn f(n: i64) = { let k = 2000000000; n + k + k }",
     "fn f(n: i64) = n + 4000000000", "f(1)"},
    {HIA_EDIT_LVAR, "fn f(x: f64) = loop (s = 0.1) while s < 10 { s + x }",
     "fn f(x: f64) = loop (s = 0.1f64) while s < 10 { s + x }", "f(3)"},
    {HIA_EDIT_LVAR, "fn f(n: i64) = loop (s = 3) while s < 1000 { s * n }",
     "fn f(n: i64) = loop (s = 3i64) while s < 1000 { s * n }", "f(3000000000)"},
    {HIA_EDIT_LVAR, "fn f(x: f64[2]) = loop (y = [0.1, 0.2], i = 0) while i < 3 { (y + x, i + 1) }",
     "fn f(x: f64[2]) = loop (y = [0.1f64, 0.2f64], i = 0) while i < 3 { (y + x, i + 1) }",
     "f([0.3, 0.4])"},
    {HIA_EDIT_LVAR, "fn f(x: f64[2]) = loop (y = [0.1, 0.2], i = 0) while i < 0 { (x, i + 1) }",
     "fn f(x: f64[2]) = ([0.1f64, 0.2f64] + 0 * x, 0)", "f([0.3, 0.4])"},
    {HIA_EDIT_RESULT, "fn g() = 0.1 fn f(x: f64) = g() * x", "fn f(x: f64) = 0.1f64 * x", "f(3)"},
    {HIA_EDIT_RESULT,
     "fn g(n: i32) = if n < 2 then 0.1 else g(n - 1) + g(n - 2) fn f(x: f64) = g(9) * x",
     "fn g(n: i32) -> f64 = if n < 2 then 0.1 else g(n - 1) + g(n - 2) fn f(x: f64) = g(9) * x",
     "f(3)"},
    {HIA_EDIT_RESULT, "fn g() = set(zeros(3), 1, 0.1) fn f(x: f64[3]) = g() + x",
     "fn f(x: f64[3]) = [0f64, 0.1, 0] + x", "f([1, 2, 3])"},
    {HIA_EDIT_LITERAL, "fn scale(c, x) = c * x fn f(x: f64) = scale(0.1, x)",
     "fn f(x: f64) = 0.1f64 * x", "f(3)"},
    {HIA_EDIT_LITERAL, "fn scale(c, x) = c * x fn f(x: f64) = scale(-0.1 / 3, x)",
     "fn f(x: f64) = -0.1f64 / 3f64 * x", "f(3)"},
    {HIA_EDIT_LITERAL, "fn f(x: f64) = [0.1, 0.2][1] * x", "fn f(x: f64) = 0.2f64 * x", "f(3)"},
    {HIA_EDIT_LITERAL, "fn f(x: f64) = [y * x for y in [0.1, 0.7]]",
     "fn f(x: f64) = [0.1f64 * x, 0.7f64 * x]", "f(3)"},
    {HIA_EDIT_LITERAL, "fn f(x: f64) = (1, 2 * 0.1).1 * x", "fn f(x: f64) = 2 * 0.1f64 * x",
     "f(3)"},
    {HIA_EDIT_LITERAL, "fn f(x: f64) = scale(zeros(2) + 0.3, x) fn scale(c, x) = sum(c * x)",
     "fn f(x: f64) = 0.3f64 * x + 0.3f64 * x", "f(3)"},
    {HIA_EDIT_NAME, "fn f(x: f64, y: f32) = { let t = 0.1; (t * y, t * x) }",
     "fn f(x: f64, y: f32) = (0.1f32 * y, 0.1f64 * x)", "f(3, 3)"},
    {HIA_EDIT_NAME, "fn f(x: f64, y: f32) = { let t = sqrt(2); (t * y, t * x) }",
     "fn f(x: f64, y: f32) = (sqrt(2f32) * y, sqrt(2f64) * x)", "f(3, 3)"},
    {HIA_EDIT_NAME, "fn f(x: f64, y: f32) = { let d = [0.1, 0.2]; (d * y, d * x) }",
     "fn f(x: f64, y: f32) = ([0.1f32, 0.2f32] * y, [0.1f64, 0.2f64] * x)", "f(3, 3)"},
    {HIA_EDIT_CONVERSION, "fn f(x: f64, n: i32) = x * n", "fn f(x: f64, n: i32) = x * f64(n)",
     "f(0.3, 3)"},
    {HIA_EDIT_CONVERSION, "fn f(x: f64, t: f32) = x * (t + 0.1)",
     "fn f(x: f64, t: f32) = { let u: f32 = t + 0.1f32; x * f64(u) }", "f(0.3, 0.7)"},
    {HIA_EDIT_CONVERSION, "fn f(x: f64[2], t: f32[2]) = x * t",
     "fn f(x: f64[2], t: f32[2]) = [x[0] * f64(t[0]), x[1] * f64(t[1])]",
     "f([0.3, 0.4], [0.7, 0.1])"},
    {HIA_EDIT_CONVERSION, "fn f(x: f64) -> i32 = 3 * x", "fn f(x: f64) -> i32 = i32(3 * x)",
     "f(1.9)"},
    {HIA_EDIT_CONVERSION, "fn f(a: [(i32, f64)], x: f64) = a[x].1",
     "fn f(a: [(i32, f64)], x: f64) = a[i64(x)].1", "f([(1, 0.1), (2, 0.2)], 1.5)"},
    {HIA_EDIT_CONVERSION, "fn f(c: bool, n: i32) = c + n", "fn f(c: bool, n: i32) = i32(c) + n",
     "(f(true, 3), f(false, 3))"},
    {HIA_EDIT_OPERATOR, "fn f(a: bool, b: bool) = a&&b || a",
     "fn f(a: bool, b: bool) = a and b or a", "(f(true, false), f(false, true), f(true, true))"},
    {HIA_EDIT_OPERATOR, "fn f(a: i32, b: i32) = (a <> b, a === b, a !== b)",
     "fn f(a: i32, b: i32) = (a != b, a == b, a != b)", "(f(1, 2), f(2, 2))"},
    {HIA_EDIT_OPERATOR, "fn f(a: i32) = { let b := a * 2; b }",
     "fn f(a: i32) = { let b = a * 2; b }", "f(4)"},
    {HIA_EDIT_CHARACTER, "fn f(c: i32) = if c >= 'a' then c - 'a' else 0",
     "fn f(c: i32) = if c >= 97 then c - 97 else 0", "(f(99), f(4))"},
    {HIA_EDIT_TENSOR, "fn f(x: [f64]) -> [i64] = i64(x * 2)",
     "fn f(x: f64[?]) -> i64[?] = i64(x * 2)", "f([1.5, 2.75])"},
    {HIA_EDIT_TENSOR, "type T = A(x: ([i32], bool)) fn f(t: T) = match t { A(p) => p.0 }",
     "type T = A(x: (i32[?], bool)) fn f(t: T) = match t { A(p) => p.0 }", "f(A(([1, 2], true)))"},
};

/* ---- applying edits ---- */

/* Applies the edit of the first error until there is none. Returns the program; malloc. NULL: an
 * error without an edit is left. `first`: the kind of the first edit. */
static char *mend(const char *text, hia_edit *first) {
  char *now = strdup(text);
  for (int n = 0; now != NULL; n++) {
    cr_assert_lt(n, MAX_EDITS, "%s\nhas become\n%s", text, now);
    compiled c;
    compile(&c, now);
    if (c.diags.list.len == 0) {
      discard(&c);
      return now;
    }
    const hia_diag *d = &c.diags.list.data[0];
    char *next = NULL;
    if (d->fix != NULL) {
      if (n == 0) *first = d->edit;
      next = malloc(strlen(now) + strlen(d->fix) + 1);
      sprintf(next, "%.*s%s%s", (int)d->fix_start, now, d->fix, now + d->fix_end);
    } else {
      *first = HIA_N_EDITS;
    }
    discard(&c);
    free(now);
    now = next;
  }
  return NULL;
}

/* ---- comparing programs ---- */

/* What the expression gives behind the program, as text: numbers have all their digits. malloc. */
static char *value_of(hia_engine *engine, const char *text, const char *call) {
  hia_module *module;
  hia_error *error = NULL;
  cr_assert_eq(
      hia_module_load_expression(engine, "t.hia", text, strlen(text), call, &module, &error),
      HIA_OK, "%s\n%s", text, hia_error_text(error));
  hia_value *result = NULL;
  cr_assert_eq(hia_run(find_function(module, HIA_EXPRESSION), NULL, 0, NULL, &result, &error),
               HIA_OK, "%s\n%s", text, hia_error_text(error));
  char *shown = malloc(SHOWN);
  cr_assert_lt(hia_value_format(result, shown, SHOWN), SHOWN);
  hia_value_free(result);
  hia_module_free(module);
  return shown;
}

static hia_engine *interpreter(void) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  options.kind = HIA_ENGINE_INTERP;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  return engine;
}

static void compare(hia_engine *engine, const char *wrong, const char *mended, const char *meant,
                    const char *call) {
  char *a = value_of(engine, mended, call), *b = value_of(engine, meant, call);
  cr_expect_str_eq(a, b, "%s\nbecomes\n%s\nwhere %s is %s, not %s", wrong, mended, call, a, b);
  free(a);
  free(b);
}

Test(engine_edits, give_the_program_that_was_meant) {
  hia_engine *engine = interpreter();
  bool seen[HIA_N_EDITS] = {false};
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    hia_edit first = HIA_N_EDITS;
    char *mended = mend(rows[i].wrong, &first);
    cr_expect(mended != NULL, "no edit: %s", rows[i].wrong);
    if (mended == NULL) continue;
    cr_expect_eq(first, rows[i].edit, "%s becomes %s: an edit of kind %d", rows[i].wrong, mended,
                 (int)first);
    seen[first] = true;
    compare(engine, rows[i].wrong, mended, rows[i].meant, rows[i].call);
    free(mended);
  }
  for (unsigned k = 0; k < HIA_N_EDITS; k++) cr_expect(seen[k], "no program has edit %u", k);
  hia_engine_free(engine);
}

/* ---- every operation of literals, in every place where its type matters ---- */

/* `@` is the operation: in the program that was meant its literals have the type of v. */
static const char *const contexts[] = {
    "fn f(v: %s) = { let k = @; k + v }",
    "fn f(v: %s) = { let k = @; let l = -k; v * l - k }",
    "fn f(v: %s) = { let p = (1, @); v - p.1 }",
    "fn f(v: %s) = loop (i = 0, s = @) while i < 3 { (i + 1, s + v) }",
    "fn f(v: %s) = if v > 5 then v else @",
    "fn f(v: %s) = { let k = @; if v > 5 then v else k }",
    "fn g() = @ fn f(v: %s) = v / g()",
    "fn add(a, b) = a + b fn f(v: %s) = add(@, v)",
    "fn f(v: %s) = { let k = [@, 2]; k + v }",
    "fn f(v: %s) = { let k = [@ for i in 0..3]; sum(k) * v }",
    "fn f(v: %s) = [[y * v for y in [@, 3]]]",
    "fn f(v: %s) = loop (i = 0, s = full(@, 2)) while i < 3 { (i + 1, s * v) }",
    "fn f(v: %s) = { let a = [(1, @), (2, @)]; a[1].1 * v + a[0].1 }",
};

static char *in_context(const char *context, const char *type, const char *call) {
  char *typed = malloc(1000), *out = calloc(1, 1000);
  snprintf(typed, 1000, context, type);
  for (const char *c = typed; *c != '\0'; c++)
    strncat(out, *c == '@' ? call : c, *c == '@' ? 200 : 1);
  free(typed);
  return out;
}

static char *call_of(const char *name, unsigned n, const char *const *literals,
                     const char *suffix) {
  char *call = calloc(1, 200);
  snprintf(call, 200, "%s(", name);
  for (unsigned i = 0; i < n && i < 3; i++)
    snprintf(call + strlen(call), 200 - strlen(call), "%s%s%s", i > 0 ? ", " : "", literals[i],
             suffix);
  strcat(call, ")");
  return call;
}

static bool is_good(const char *text) {
  compiled c;
  compile(&c, text);
  bool is = c.diags.list.len == 0;
  discard(&c);
  return is;
}

Test(engine_edits, of_every_operation) {
  static const char *const literals[][3] = {{"1", "3", "2"}, {"0.5", "0.1", "0.7"}};
  hia_engine *engine = interpreter();
  unsigned n_compared = 0;
  for (unsigned op = 0; HIA_OP_PUBLIC(op); op++)
    for (size_t k = 0; hiaR_ops[op].name != NULL && k < 4; k++) {
      bool is_i64 = k >= 2; /* what the width of an integer decides may be meant with either */
      if (is_i64 && hiaR_ops[op].rule != HIA_RULE_NUM) continue;
      const char *type = is_i64 ? "i64" : "f64";
      char *call = call_of(hiaR_ops[op].name, (unsigned)hiaR_ops[op].n_ins, literals[k % 2], "");
      char *typed = call_of(hiaR_ops[op].name, (unsigned)hiaR_ops[op].n_ins, literals[k % 2], type);
      for (size_t i = 0; i < HIA_LEN(contexts); i++) {
        char *wrong = in_context(contexts[i], type, call),
             *meant = in_context(contexts[i], type, typed);
        if (is_good(meant)) {
          hia_edit first;
          char *mended = mend(wrong, &first);
          cr_assert(mended != NULL, "no edit: %s", wrong);
          compare(engine, wrong, mended, meant, is_i64 ? "f(3000000000)" : "f(3)");
          free(mended);
          n_compared++;
        }
        free(wrong);
        free(meant);
      }
      free(call);
      free(typed);
    }
  cr_expect_gt(n_compared, 500, "%u", n_compared);
  hia_engine_free(engine);
}
