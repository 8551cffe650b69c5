/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The hints of type errors: applying each one (hia_diag.fix) results in a program
 * that compiles in the end, and keeps the value of every literal. */
#include "tests/unit/helpers/sources.h"

#define MAX_ROUNDS 8

/* The text with the fix of a diagnostic; malloc. */
static char *fixed(const char *text, const hia_diag *d) {
  size_t len = strlen(text), more = strlen(d->fix);
  cr_assert(d->fix_start <= d->fix_end && d->fix_end <= len, "%s", text);
  char *out = malloc(len + more + 1);
  memcpy(out, text, d->fix_start);
  memcpy(out + d->fix_start, d->fix, more);
  strcpy(out + d->fix_start + more, text + d->fix_end);
  return out;
}

/* Applies the first hint repeatedly until there is no error. Returns the program; malloc. */
static char *mend(const char *text) {
  char *now = strdup(text);
  bool has_errors = true;
  for (int round = 0; has_errors; round++) {
    cr_assert_lt(round, MAX_ROUNDS, "%s\nhas become\n%s", text, now);
    compiled c;
    compile(&c, now);
    has_errors = c.diags.list.len > 0;
    if (has_errors) {
      const hia_diag *d = &c.diags.list.data[0];
      cr_assert(d->hint != NULL && d->fix != NULL, "no advice: %s", all_errors(&c));
      char *next = fixed(now, d);
      free(now);
      now = next;
    }
    discard(&c);
  }
  return now;
}

static void expect_mended(const char *text, const char *mended) {
  char *now = mend(text);
  cr_expect_str_eq(now, mended, "%s\nbecomes\n%s\nnot\n%s", text, now, mended);
  free(now);
}

Test(advice, names_that_settled) {
  expect_mended("fn f(x: f64) = { let t = 0.1; t * x }",
                "fn f(x: f64) = { let t: f64 = 0.1; t * x }");
  expect_mended("fn f(x: f64) = { let t = 0.1; let u = t * 2; -u + x }",
                "fn f(x: f64) = { let t: f64 = 0.1; let u = t * 2; -u + x }");
  expect_mended("fn f(x: f64) = { let t = sqrt(2); x + (t + t) * t }",
                "fn f(x: f64) = { let t: f64 = sqrt(2); x + (t + t) * t }");
  expect_mended("const C = 0.1 fn f(x: f64) = { let t = C; t * x }",
                "const C = 0.1 fn f(x: f64) = { let t: f64 = C; t * x }");
  expect_mended("fn f(c: bool, x: f64) = { let t = if c then 0xff else fail(1); t * x }",
                "fn f(c: bool, x: f64) = { let t: f64 = if c then 0xff else fail(1); t * x }");
  expect_mended("fn f(n: i64) = { let i = 0; n + i }", "fn f(n: i64) = { let i: i64 = 0; n + i }");
  expect_mended("fn f(n: i64) = { let i = 0; n == i and i < 3 }",
                "fn f(n: i64) = { let i: i64 = 0; n == i and i < 3 }");
  /* a variable with a declared type is converted */
  expect_mended("fn f(t: f32, x: f64) = t * x", "fn f(t: f32, x: f64) = f64(t) * x");
  expect_mended("fn f(n: i32, m: i64) = (n + 1) * 2 + m",
                "fn f(n: i32, m: i64) = i64((n + 1) * 2) + m");
  expect_mended("fn f(n: i32, m: i64) = { let k = n; k + m }",
                "fn f(n: i32, m: i64) = { let k = n; i64(k) + m }");
}

Test(advice, shifts) {
  expect_mended("fn f(n: i64) = { let k = shl(1, 3); k + n }",
                "fn f(n: i64) = { let k: i64 = shl(1, 3); k + n }");
  expect_mended("fn f(n: i64, c: i32) = { let k = shr(100, c) + 1; n * k }",
                "fn f(n: i64, c: i32) = { let k: i64 = shr(100, c) + 1; n * k }");
  expect_mended("fn f(n: i64) = loop (s = shl(1, 3)) while s < 100 { s + n }",
                "fn f(n: i64) = loop (s: i64 = shl(1, 3)) while s < 100 { s + n }");
  expect_mended("fn f(n: i64, m: i32) = { let k = shl(m, 3); k + n }",
                "fn f(n: i64, m: i32) = { let k = shl(m, 3); i64(k) + n }");
  expect_mended("fn f(x: f64) = { let k = shl(1, 3); k * x }",
                "fn f(x: f64) = { let k = shl(1, 3); f64(k) * x }");
  /* 31 as an i32, and 63 as an i64 */
  expect_mended("fn f(n: i64) = { let k = clz(1); n + k }",
                "fn f(n: i64) = { let k = clz(1); n + i64(k) }");
  expect_mended("fn f(n: i64) = { let k = shru(-1, 31); n + k }",
                "fn f(n: i64) = { let k = shru(-1, 31); n + i64(k) }");
}

/* Every built-in function of literals, in every place where its type matters: after
 * the hints it compiles. */
Test(advice, of_every_operation) {
  static const char *const contexts[] = {
      "fn f(v: %1$s) = { let k = %2$s; k + v }",
      "fn f(v: %1$s) = { let k = %2$s; let l = -k; v * l - k }",
      "fn f(v: %1$s) = { let p = (1, %2$s); v - p.1 }",
      "fn f(v: %1$s) = loop (s = %2$s) while s < 10 { s + v }",
      "fn f(v: %1$s) = loop (i = 0, s = %2$s) while i < 10 { (i + 1, v) }",
      "fn f(v: %1$s) = if v > 1 then v else %2$s",
      "fn f() -> %1$s = { let k = %2$s; k }",
      "fn g() = %2$s\nfn f(v: %1$s) = v / g()",
      "fn add(a, b) = a + b\nfn f(v: %1$s) = add(%2$s, v)",
      "fn f(v: %1$s, n: i32) = { let k = %2$s; (k + v, k) }",
  };
  static const char *const types[] = {"i32", "i64", "f32", "f64"};
  static const char *const literals[][3] = {{"1", "3", "2"}, {"0.5", "0.1", "0.25"}};
  unsigned n_mended = 0, n_calls = 0;
  for (unsigned op = 0; HIA_OP_PUBLIC(op); op++)
    for (size_t l = 0; hiaR_ops[op].name != NULL && l < HIA_LEN(literals); l++) {
      char call[128], program[512];
      size_t len = (size_t)snprintf(call, sizeof call, "%s(", hiaR_ops[op].name);
      for (unsigned i = 0; i < (unsigned)hiaR_ops[op].n_ins && i < 3; i++)
        len +=
            (size_t)snprintf(call + len, sizeof call - len, "%s%s", i ? ", " : "", literals[l][i]);
      snprintf(call + len, sizeof call - len, ")");
      snprintf(program, sizeof program, "fn f() = %s + %s", call, call);
      compiled c;
      compile(&c, program);
      bool is_call = c.diags.list.len == 0; /* the language has it, for such literals */
      discard(&c);
      n_calls += is_call;
      for (size_t p = 0; is_call && p < HIA_LEN(contexts); p++)
        for (size_t t = 0; t < HIA_LEN(types); t++) {
          snprintf(program, sizeof program, contexts[p], types[t], call);
          char *mended = mend(program);
          n_mended += strcmp(mended, program) != 0;
          free(mended);
        }
    }
  cr_assert_gt(n_calls, 40, "%u", n_calls);
  cr_assert_gt(n_mended, 500, "%u", n_mended);
}

/* A name that is used with two types. */
Test(advice, names_with_other_uses) {
  expect_mended("fn f(m: i32, n: i64) = { let i = 3; (m + i, n + i) }",
                "fn f(m: i32, n: i64) = { let i = 3; (m + i, n + i64(i)) }");
  expect_mended("fn f(x: f64, y: f32) = { let t = 0.1; (t * y, t * x) }",
                "fn f(x: f64, y: f32) = { let t = 0.1; (t * y, 0.1f64 * x) }");
  expect_mended("fn f(x: f64, y: f32) = { let t = sqrt(2); (t * y, t * x) }",
                "fn f(x: f64, y: f32) = { let t = sqrt(2); (t * y, f64(sqrt(2)) * x) }");
}

Test(advice, tuples) {
  expect_mended("fn f(x: f64) = { let (p, (q, r)) = (1, (0.1, 2.5)); q * x }",
                "fn f(x: f64) = { let (p, (q, r)): (i32, (f64, f32)) = (1, (0.1, 2.5)); q * x }");
  expect_mended("fn f(x: f64) = { let p = (1, 0.1); let q = p.1; q * x }",
                "fn f(x: f64) = { let p: (i32, f64) = (1, 0.1); let q = p.1; q * x }");
  expect_mended("fn f(x: f64) = (1, 0.1).1 * x", "fn f(x: f64) = (1, 0.1f64).1 * x");
  expect_mended("fn f(x: f64) = if x > 1 then x else (1, 2 * 0.1).1",
                "fn f(x: f64) = if x > 1 then x else (1, f64(2 * 0.1)).1");
}

Test(advice, loops) {
  expect_mended("fn f(n: i64) = loop (i = 0, s = 0) while i < 10 { (i + 1, s + n) }",
                "fn f(n: i64) = loop (i = 0, s: i64 = 0) while i < 10 { (i + 1, s + n) }");
  expect_mended("fn f(n: i64) = loop (i = 0, s = 0) while i < n { (i + 1, s + i * n) }",
                "fn f(n: i64) = loop (i: i64 = 0, s: i64 = 0) while i < n { (i + 1, s + i * n) }");
  expect_mended(
      "fn f(m: i32, n: i64) = loop (i = 0, s = 0) while i < m { (i + 1, s + i * n) }",
      "fn f(m: i32, n: i64) = loop (i = 0, s: i64 = 0) while i < m { (i + 1, s + i64(i) * n) }");
  expect_mended("fn f(n: i64) = loop (s = 0) while s < 10 { s + n }",
                "fn f(n: i64) = loop (s: i64 = 0) while s < 10 { s + n }");
  expect_mended("fn f(n: i64) = loop (s = 0) while s < 10 { n }",
                "fn f(n: i64) = loop (s: i64 = 0) while s < 10 { n }");
  expect_mended("fn f(x: f64) = loop (i = 0, s = 0.1) while i < 10 { (i + 1, x) }",
                "fn f(x: f64) = loop (i = 0, s: f64 = 0.1) while i < 10 { (i + 1, x) }");
  expect_mended("fn f(x: f64) = loop (i = 0, s = x) while i < 10 { (i + 1, 1f32) }",
                "fn f(x: f64) = loop (i = 0, s = x) while i < 10 { (i + 1, f64(1f32)) }");
  expect_mended(
      "fn f(x: f64) = loop (i = 0, s = 0.1) while i < 10 { let t = x; (i + 1, s + t) }",
      "fn f(x: f64) = loop (i = 0, s: f64 = 0.1) while i < 10 { let t = x; (i + 1, s + t) }");
  expect_mended("fn f(x: f64) = (loop (s = 0.1) while s < 3 { s * 2 }) + x",
                "fn f(x: f64) = (loop (s: f64 = 0.1) while s < 3 { s * 2 }) + x");
  expect_mended(
      "fn f(x: f64) = { let (i, s) = loop (i = 0, s = 0.1) while i < 3 { (i + 1, s * 2) }; s + x }",
      "fn f(x: f64) = { let (i, s) = loop (i = 0, s: f64 = 0.1) while i < 3 { (i + 1, s * 2) }; s "
      "+ x }");
}

Test(advice, generic_arguments) {
  expect_mended("fn scale(c, x) = c * x fn f(x: f64) = scale(0.1, x)",
                "fn scale(c, x) = c * x fn f(x: f64) = scale(0.1f64, x)");
  expect_mended("fn scale(c, x) = c * x fn twice(c, x) = scale(c, scale(c, x))\n"
                "fn f(x: f64) = twice(-0.1, x)",
                "fn scale(c, x) = c * x fn twice(c, x) = scale(c, scale(c, x))\n"
                "fn f(x: f64) = twice(f64(-0.1), x)");
  expect_mended("fn scale(c, x) = c * x fn f(x: f64) = { let t = 0.1; scale(t, x) }",
                "fn scale(c, x) = c * x fn f(x: f64) = { let t: f64 = 0.1; scale(t, x) }");
  expect_mended(
      "fn sum(acc, n) = if n == 0 then acc else sum(acc + n, n - 1)\nfn f(n: i64) = sum(0, n)",
      "fn sum(acc, n) = if n == 0 then acc else sum(acc + n, n - 1)\nfn f(n: i64) = sum(0i64, n)");
  expect_mended("fn pick(p, x) = p.1 * x fn f(x: f64) = pick((1, 0x10), x)",
                "fn pick(p, x) = p.1 * x fn f(x: f64) = pick((1, f64(0x10)), x)");
  expect_mended("fn id(x) = x fn f(x: f64) = id(0.1) * x",
                "fn id(x) = x fn f(x: f64) = id(0.1f64) * x");
  expect_mended("fn add(a, b) = a + b fn f(n: i32, m: i64) = add(n, m)",
                "fn add(a, b) = i64(a) + b fn f(n: i32, m: i64) = add(n, m)");
}

Test(advice, results) {
  expect_mended("fn g() = 0.1 fn f(x: f64) = g() * x",
                "fn g() -> f64 = 0.1 fn f(x: f64) = g() * x");
  expect_mended("fn h() = g() fn g() = (1, 0.1) fn f(x: f64) = h().1 * x",
                "fn h() = g() fn g() -> (i32, f64) = (1, 0.1) fn f(x: f64) = h().1 * x");
  expect_mended(
      "fn g(n: i32) = if n < 2 then 0.1 else g(n - 1) + g(n - 2)\nfn f(x: f64) = g(9) * x",
      "fn g(n: i32) -> f64 = if n < 2 then 0.1 else g(n - 1) + g(n - 2)\nfn f(x: f64) = g(9) * x");
  expect_mended(
      "fn fib(n: i32) = if n < 2 then 1 else fib(n - 1) + fib(n - 2)\nfn f(n: i64) = fib(9) + n",
      "fn fib(n: i32) = if n < 2 then 1 else fib(n - 1) + fib(n - 2)\nfn f(n: i64) = i64(fib(9)) + "
      "n");
  expect_mended("fn g() = { let t = 0.1; t } fn f(x: f64) = g() * x",
                "fn g() = { let t: f64 = 0.1; t } fn f(x: f64) = g() * x");
}

Test(advice, declared_places) {
  expect_mended("fn f() -> f64 = { let t = 0.1; t }", "fn f() -> f64 = { let t: f64 = 0.1; t }");
  expect_mended("fn g(x: f64) = x fn f() = { let t = 0.1; g(t) }",
                "fn g(x: f64) = x fn f() = { let t: f64 = 0.1; g(t) }");
  expect_mended("fn f() = { let t = 0.1; let u: f64 = t; u }",
                "fn f() = { let t: f64 = 0.1; let u: f64 = t; u }");
  expect_mended("fn f() -> i64 = { let t = 2.5; t }", "fn f() -> i64 = { let t = 2.5; i64(t) }");
  expect_mended("fn f(n: i64) = { let t = 2; sqrt(t) * sqrt(n) }",
                "fn f(n: i64) = { let t: f64 = 2; sqrt(t) * sqrt(f64(n)) }");
  expect_mended("fn f(c: bool) = c + 1", "fn f(c: bool) = i32(c) + 1");
}

/* Tensors and arrays are made of literals, too. */
Test(advice, tensors) {
  static const char *const rows[][2] = {
      {"fn f(x: f64[2]) = { let d = [0.1, 0.2]; x + d }",
       "fn f(x: f64[2]) = { let d: f64[?] = [0.1, 0.2]; x + d }"},
      {"fn f(x: f64[2]) = loop (y = zeros(2), i = 0) while i < 3 { (y + x, i + 1) }",
       "fn f(x: f64[2]) = loop (y: f64[?] = zeros(2), i = 0) while i < 3 { (y + x, i + 1) }"},
      {"fn f(x: f64[2]) = loop (y = [0.1, 0.2]) while y[0] < 3 { x }",
       "fn f(x: f64[2]) = loop (y: f64[?] = [0.1, 0.2]) while y[0] < 3 { x }"},
      {"fn f(x: f64[2]) = loop (y = ones(2), i = 0) while i < 3 { (x, i + 1) }",
       "fn f(x: f64[2]) = loop (y: f64[?] = ones(2), i = 0) while i < 3 { (x, i + 1) }"},
      {"fn f(x: f64[2]) -> f64[2] = { let d = full(0.1, 2); d }",
       "fn f(x: f64[2]) -> f64[2] = { let d: f64[?] = full(0.1, 2); d }"},
      {"fn f(x: f64[2, 2]) = { let d = [[0.1, 0.2], [0.3, 0.4]]; x @ d }",
       "fn f(x: f64[2, 2]) = { let d: f64[?, ?] = [[0.1, 0.2], [0.3, 0.4]]; x @ d }"},
      {"fn f(x: f64) = [0.1, 0.2][1] * x", "fn f(x: f64) = f64([0.1, 0.2])[1] * x"},
      {"fn f(x: f64) = { let d = [0.1, 0.2]; d[1] * x }",
       "fn f(x: f64) = { let d: f64[?] = [0.1, 0.2]; d[1] * x }"},
      {"fn f(x: f64) = { let d = [(0.1, 1), (0.2, 2)]; d[1].0 * x }",
       "fn f(x: f64) = { let d: [(f64, i32)] = [(0.1, 1), (0.2, 2)]; d[1].0 * x }"},
      {"fn f(x: f64) = { let d = [0.1 * 3 for i in 0..2]; sum(d[0..1]) * x }",
       "fn f(x: f64) = { let d: f64[?] = [0.1 * 3 for i in 0..2]; sum(d[0..1]) * x }"},
      {"fn f(x: f64) = [y * x for y in [0.1, 0.2]]",
       "fn f(x: f64) = [y * x for y in f64([0.1, 0.2])]"},
      {"fn f(x: f64) = { let d = [0.1, 0.2]; [y * x for y in d] }",
       "fn f(x: f64) = { let d: f64[?] = [0.1, 0.2]; [y * x for y in d] }"},
      {"fn f(x: f64) = { let m = mean([1, 2, 4]); m * x }",
       "fn f(x: f64) = { let m: f64 = mean([1, 2, 4]); m * x }"},
      {"fn f(x: f64) = { let m = softmax(stack(0.1, 0.3)); m * x }",
       "fn f(x: f64) = { let m: f64[?] = softmax(stack(0.1, 0.3)); m * x }"},
      {"fn scale(c, x) = c * x fn f(x: f64) = scale([0.1, 0.2], x)",
       "fn scale(c, x) = c * x fn f(x: f64) = scale(f64([0.1, 0.2]), x)"},
      {"fn g() = set(zeros(3), 1, 0.1) fn f(x: f64[3]) = g() + x",
       "fn g() -> f64[?] = set(zeros(3), 1, 0.1) fn f(x: f64[3]) = g() + x"},
      {"fn f(x: f64[2], y: f32) = { let d = [0.1, 0.2]; (d * y, d * x) }",
       "fn f(x: f64[2], y: f32) = { let d = [0.1, 0.2]; (d * y, f64([0.1, 0.2]) * x) }"},
      {"fn f(a: f32[2], x: f64[2]) = (a + 0.1) * x",
       "fn f(a: f32[2], x: f64[2]) = (f64(a + 0.1)) * x"},
      {"fn f(a: f32[2]) -> f64[2] = a", "fn f(a: f32[2]) -> f64[2] = f64(a)"},
  };
  for (size_t i = 0; i < HIA_LEN(rows); i++) expect_mended(rows[i][0], rows[i][1]);
}

/* What a name stands for may replace it only if it means the same there. */
Test(advice, names_in_the_value) {
  /* t is not u */
  expect_mended("fn f(x: f64, y: f32) = { let u = 0.1; let t = u * 2; (t * y, t * x) }",
                "fn f(x: f64, y: f32) = { let u: f64 = 0.1; let t = u * 2; (t * f64(y), t * x) }");
  /* c is another one there */
  static const char text[] = "fn f(x: f64, y: f32, c: bool) = { let t = if c then 0.1 else 0.7; "
                             "let c = 3; (t * y, t * x, c) }";
  compiled c;
  compile(&c, text);
  cr_assert_eq(c.diags.list.len, 1);
  cr_expect(strstr(c.diags.list.data[0].hint, "declare the type: let t: f64") != NULL, "%s",
            all_errors(&c));
  discard(&c);
}

Test(advice, branches) {
  expect_mended("fn f(n: i32, m: i32, k: i64) = match n { 0 => m, 1 => 2, _ => k }",
                "fn f(n: i32, m: i32, k: i64) = match n { 0 => i64(m), 1 => 2, _ => k }");
  expect_mended("fn f(x: f64) = { let t = 0.1; if x > 1 then t else x }",
                "fn f(x: f64) = { let t: f64 = 0.1; if x > 1 then t else x }");
}

/* The hint says what a conversion loses. */
Test(advice, losses) {
  static const char *const rows[][2] = {
      {"fn f(x: f64) -> i32 = x", "write i32(x), which drops the fraction"},
      {"fn f(n: i64) -> i32 = n", "write i32(n), which wraps if it does not fit"},
      {"fn f(x: f64) -> f32 = x", "write f32(x), which rounds"},
      {"fn f(x: f32) -> f64 = x", "write f64(x)"},
      {"fn f(n: i32) -> f32 = n", "write f32(n), which rounds large numbers"},
      {"fn f(n: i64) -> f64 = n", "write f64(n), which rounds large numbers"},
      {"fn f(n: i32) -> f64 = n", "write f64(n)"},
  };
  for (size_t i = 0; i < HIA_LEN(rows); i++) {
    compiled c;
    compile(&c, rows[i][0]);
    cr_expect_str_eq(c.diags.list.data[0].hint, rows[i][1]);
    discard(&c);
  }
}

/* A search that would take long is ended, without a conversion that would keep the rounding. */
Test(advice, is_bounded) {
  static const char *const first[] = {"let a0 = 0.1;", "let a0 = grad(id, wrt = x)(0.1);"};
  static const char *const hints[] = {
      "declare the type: let a0: f64 = 0.1",
      "literals without a type are f32: give those that a60 is made of the type f64"};
  for (size_t k = 0; k < HIA_LEN(first); k++) {
    char *text = malloc(1 << 16), *at = text;
    at += sprintf(at, "fn id(x) = x fn f(x: f64) = { %s\n", first[k]);
    for (int i = 1; i <= 60; i++) at += sprintf(at, "let a%d = a%d + a%d;\n", i, i - 1, i - 1);
    sprintf(at, "a60 * x }\n");
    compiled c;
    compile(&c, text);
    cr_assert_eq(c.diags.list.len, 1, "%s", all_errors(&c));
    cr_expect_str_eq(c.diags.list.data[0].hint, hints[k]);
    if (k == 1) cr_expect_null(c.diags.list.data[0].fix);
    discard(&c);
    free(text);
  }
}
