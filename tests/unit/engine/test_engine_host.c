/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Host functions through the public API: the order of effects, types, errors of registering,
 * failures. Nested runs: test_engine_host_nested.c. tests/stress/hosts.c tests the order of effects
 * on many threads. */
#include "tests/unit/helpers/engine_host.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"

#include <time.h>

/* ---- the order of calls ---- */

static void check_way(size_t way) {
  for (size_t i = 0; i < N_HOSTS_CASES; i++) {
    char why[8192];
    cr_expect(hosts_check(&hosts_cases[i], hosts_ways[way], why, sizeof why), "%s", why);
  }
}

Test(engine_host, order_interp) { check_way(0); }
Test(engine_host, order_interp_3) { check_way(1); }
Test(engine_host, order_interp_plain) { check_way(2); }
Test(engine_host, order_expand) { check_way(3); }
Test(engine_host, order_jit) { check_way(4); }
Test(engine_host, order_jit_3) { check_way(5); }
Test(engine_host, order_jit_plain) { check_way(6); }
Test(engine_host, order_jit_2) { check_way(7); }

/* The same calls, from typed entries. */

Test(engine_host, through_typed_entries) {
  for (unsigned threads = 1; threads < 4; threads += 2) {
    world w = {.engine = hosts_engine((hosts_way){HIA_ENGINE_JIT, threads, 2, NULL}, 0)};
    if (!w.engine) return;
    record r = {.lock = PTHREAD_MUTEX_INITIALIZER};
    cr_assert_eq(hosts_register(w.engine, &r), HIA_OK);
    hia_context *context;
    cr_assert_eq(hia_engine_context_new(w.engine, &context, NULL), HIA_OK);
    for (size_t i = 0; i < N_HOSTS_CASES; i++) {
      char text[4096];
      const hosts_case *c = &hosts_cases[i];
      snprintf(text, sizeof text, "%s%s\n", HOSTS_TEXT, c->text);
      load(&w, text);
      fn_i32 entry = entry_i32(w.module, "main");
      for (int again = 0; again < 2; again++) {
        r.n = 0;
        int32_t x = 0;
        hia_status status = entry(context, 0, &x);
        size_t n = strlen(c->calls) ? 1 : 0;
        for (const char *at = c->calls; *at; at++) n += *at == ' ';
        cr_expect(status == c->status && (status || x == c->result) && r.n == n,
                  "%s\nstatus %s, result %d, %zu calls", c->text, hia_status_word(status), x, r.n);
      }
      hia_module_free(w.module);
      w.module = NULL;
    }
    hia_context_free(context);
    end(&w);
  }
}

/* ---- types ---- */

static bool is_all(bool a, int32_t b, int64_t c, float d, double e) {
  return a && b == -2 && c == -3000000000000 && d == 0.25f && e == -1e300;
}
static int32_t i32_of(int32_t x) { return -x; }
static int64_t i64_of(int64_t x) { return -x; }
static float f32_of(float x) { return x * 2; }
static double f64_of(double x) { return x / 3; }
static bool bool_of(bool x) { return !x; }
static int64_t many(int32_t a, double b, int32_t c, float d, int64_t e, bool f, int32_t g,
                    int64_t h, double i, double j, float k, double l, double m, double n, double o,
                    double p, int32_t q, int64_t r, bool s, float t) {
  return (int64_t)(a + 2 * b + 3 * c + 4 * (double)d + 5 * (double)e + 6 * f + 7 * g +
                   8 * (double)h + 9 * i + 10 * j + 11 * (double)k + 12 * l + 13 * m + 14 * n +
                   15 * o + 16 * p + 17 * q + 18 * (double)r + 19 * s + 20 * (double)t);
}
static void swap(int32_t a, double b, bool c, double *x, bool *y, int32_t *z) {
  *x = b + 1;
  *y = !c;
  *z = a + 1;
}
static int32_t divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest) {
  if (b == 0) return HIA_DIV_ZERO;
  *quotient = a / b;
  *rest = a % b;
  return HIA_OK;
}
static int32_t none(void) { return 42; }
static int32_t three_status(void *user, bool a, float *x, bool *y, int64_t *z) {
  *x = 0.5f;
  *y = !a;
  *z = *(int64_t *)user;
  return 0;
}

static const char types_text[] =
    "extern fn is_all(a: bool, b: i32, c: i64, d: f32, e: f64) -> bool\n"
    "extern fn i32_of(x: i32) -> i32\n"
    "extern fn i64_of(x: i64) -> i64\n"
    "extern fn f32_of(x: f32) -> f32\n"
    "extern fn f64_of(x: f64) -> f64\n"
    "extern fn bool_of(x: bool) -> bool\n"
    "extern fn many(a: i32, b: f64, c: i32, d: f32, e: i64, f: bool, g: i32, h: i64, i: f64, j: "
    "f64,\n"
    "  k: f32, l: f64, m: f64, n: f64, o: f64, p: f64, q: i32, r: i64, s: bool, t: f32) -> i64\n"
    "extern fn swap(t: (i32, (f64, bool))) -> ((f64, bool), i32)\n"
    "extern fn divide(a: i64, b: i64) -> (i64, i64)\n"
    "extern impure fn none() -> i32\n"
    "extern impure fn three(a: bool) -> (f32, (bool, i64))\n"
    "fn main() = ((is_all(true, -2, -3000000000000, 0.25, -1e300), i32_of(5), i64_of(1), "
    "f32_of(0.5),\n"
    "  f64_of(1.0), bool_of(false), bool_of(true)),\n"
    "  many(1, 1, 1, 1, 1, true, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, true, 1),\n"
    "  swap((1, (2.5, true))), divide(-17, 5), none(), three(false))\n";

static void add_types(world *w, bool is_safe) {
  static int64_t user = 1234567890123;
  hia_host_function all[] = {
      HOST("extern fn is_all(a: bool, b: i32, c: i64, d: f32, e: f64) -> bool", is_all),
      HOST("extern fn i32_of(x: i32) -> i32", i32_of),
      HOST("extern fn i64_of(x: i64) -> i64", i64_of),
      HOST("extern fn f32_of(y: f32) -> f32 # names of parameters do not count", f32_of),
      HOST("extern fn f64_of(x: f64) -> f64", f64_of),
      HOST("extern fn bool_of(x: bool) -> bool", bool_of),
      HOST(
          "extern fn many(a: i32, b: f64, c: i32, d: f32, e: i64, f: bool, g: i32, h: i64, i: f64,"
          "j: f64, k: f32, l: f64, m: f64, n: f64, o: f64, p: f64, q: i32, r: i64, s: bool, t: f32)"
          "-> i64",
          many),
      HOST("extern fn swap(t: (i32, (f64, bool))) -> ((f64, bool), i32)", swap),
      HOST("extern fn divide(a: i64, b: i64) -> (i64, i64)", divide),
      HOST("extern impure fn none() -> i32", none),
      HOST("extern impure fn three(a: bool) -> (f32, (bool, i64))", three_status),
  };
  size_t n = sizeof all / sizeof *all;
  all[n - 3].returns_status = all[n - 1].returns_status = all[n - 1].takes_user = true;
  all[n - 1].user = &user;
  for (size_t i = 0; i < n; i++) {
    all[i].is_safe = is_safe;
    add(w, all[i]);
  }
}

Test(engine_host, types) {
  world w;
  for (int is_safe = 0; is_safe < 2; is_safe++) EACH_WAY(w, 0) {
      add_types(&w, is_safe);
      load(&w, types_text);
      cr_expect_str_eq(result_of(&w),
                       "((true, -5, -1, 1.0, 0.3333333333333333, true, false), 210, "
                       "((3.5, false), 2), (-3, -2), 42, (0.5, (true, 1234567890123)))",
                       "way %zu: %s", way, result_of(&w));
      end(&w);
    }
}

typedef struct output {
  char bytes[1 << 16];
  size_t len;
} output;

static bool keep(void *user, const char *bytes, size_t len) {
  output *out = user;
  if (len > sizeof out->bytes - 1 - out->len) return false;
  memcpy(out->bytes + out->len, bytes, len);
  out->len += len;
  out->bytes[out->len] = 0;
  return true;
}

static void dump(world *w, hia_stage stage, output *out) {
  hia_function *f;
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = stage;
  out->len = 0;
  cr_assert_eq(hia_module_function(w->module, "main", &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_dump(w->module, &f, 1, &options, keep, out, &w->error), HIA_OK, "%s",
               hia_error_text(w->error));
}

Test(engine_host, graphs_say_the_same) {
  static const hia_stage stages[2] = {HIA_STAGE_GRAPH, HIA_STAGE_STATIC};
  world w;
  output *first = malloc(sizeof *first), *second = malloc(sizeof *second);
  EACH_WAY(w, 0) {
    add_types(&w, false);
    load(&w, types_text);
    char result[1024];
    snprintf(result, sizeof result, "%s", result_of(&w));
    for (int i = 0; i < 2; i++) {
      dump(&w, stages[i], first);
      cr_expect(strstr(first->bytes, "\nextern swap ((i32, (f64, bool))) -> ((f64, bool), i32)\n"));
      cr_expect(
          strstr(first->bytes, "\nextern three (bool) -> (f32, (bool, i64)) impure raises\n"));
      world copy = {.engine = w.engine};
      cr_assert_eq(
          hia_module_load_ir(w.engine, "t.ir", first->bytes, first->len, &copy.module, &w.error),
          HIA_OK, "%s", hia_error_text(w.error));
      hia_function *f;
      hia_value *value;
      cr_assert_eq(hia_module_function(copy.module, "main()", &f, &w.error), HIA_OK, "%s",
                   hia_error_text(w.error));
      cr_assert_eq(hia_call(f, NULL, 0, &value, &w.error), HIA_OK, "%s", hia_error_text(w.error));
      cr_expect_str_eq(text_of(value), result);
      hia_value_free(value);
      hia_module_free(copy.module);
    }
    end(&w);
  }
  free(first);
  free(second);
}

/* ---- registering ---- */

static void expect_refused(hia_engine *engine, const hia_host_function *f, hia_status status,
                           const char *message) {
  hia_error *error;
  cr_expect_eq(hia_engine_register(engine, f, &error), status);
  cr_expect(strstr(hia_error_text(error), message), "%s\nlacks %s", hia_error_text(error), message);
  hia_error_free(error);
}

Test(engine_host, registering) {
  world w = {.engine = hosts_engine(hosts_ways[0], 0)};
  hia_host_function f = HOST("extern fn none() -> i32", none);
  expect_refused(NULL, &f, HIA_ARGUMENT, "no engine");
  expect_refused(w.engine, NULL, HIA_ARGUMENT, "no host function");
  cr_expect_eq(hia_engine_register(NULL, NULL, NULL), HIA_ARGUMENT);
  f.function = NULL;
  expect_refused(w.engine, &f, HIA_ARGUMENT, "without a pointer");
  f = HOST(NULL, none);
  expect_refused(w.engine, &f, HIA_ARGUMENT, "without its declaration");
  static const char *const wrong[][2] = {
      {"", "empty"},
      {"fn none() = 3", "not the declaration of one extern function"},
      {"extern fn none() -> i32\nextern fn other() -> i32", "not the declaration of one"},
      {"extern fn none() -> i32\nfn other() = 3", "not the declaration of one"},
      {"extern fn none(", "error[E0101]"},
      {"extern fn none(x) -> i32", "expected ':' and a type"},
      {"extern fn none() -> f32[?]", "an extern function has scalars and tuples only"},
      {"extern fn none() -> Tree", "unknown type 'Tree'"},
      {"extern fn none(x: i32, x: i32) -> i32", "'x' stands twice"},
      {"extern fn none()", "expected '->'"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    f = HOST(wrong[i][0], none);
    expect_refused(w.engine, &f, HIA_ARGUMENT, wrong[i][1]);
  }
  f = HOST("extern fn none() -> i32", none);
  f.size = 3;
  expect_refused(w.engine, &f, HIA_ARGUMENT, "made for another version");
  struct {
    hia_host_function f;
    uint64_t more; /* without padding behind it */
  } longer = {f, 1};
  longer.f.size = sizeof longer;
  expect_refused(w.engine, &longer.f, HIA_ARGUMENT, "made for another version");
  longer.more = 0;
  cr_expect_eq(hia_engine_register(w.engine, &longer.f, NULL), HIA_OK);
  f.size = sizeof f;
  expect_refused(w.engine, &f, HIA_ARGUMENT, "'none' is registered already");
  end(&w);
}

static void expect_rejected(world *w, bool is_ir, const char *text, const char *message) {
  hia_status status =
      is_ir ? hia_module_load_ir(w->engine, "t.ir", text, strlen(text), &w->module, &w->error)
            : hia_module_load_text(w->engine, "t.hia", text, strlen(text), &w->module, &w->error);
  cr_expect_eq(status, HIA_REJECTED);
  cr_expect_null(w->module);
  cr_expect(strstr(hia_error_text(w->error), message), "%s\nlacks %s", hia_error_text(w->error),
            message);
  hia_error_free(w->error);
  w->error = NULL;
}

Test(engine_host, modules_that_do_not_load) {
  world w = {.engine = hosts_engine(hosts_ways[0], 0)};
  add(&w, HOST("extern fn halve(x: f64) -> f64", f64_of));
  add(&w, HOST("extern impure fn roll() -> i32", none));
  hia_host_function fails = HOST("extern fn divide(a: i64, b: i64) -> (i64, i64)", divide);
  fails.returns_status = true;
  add(&w, fails);
  expect_rejected(&w, false, "fn main() = 1\n  extern fn halv(x: f64) -> f64\n",
                  "t.hia:2:13: error[E0601]: the host has no function 'halv' for this\n"
                  "    2 |   extern fn halv(x: f64) -> f64\n"
                  "      |             ^~~~\n"
                  "      = hint: did you mean 'halve'?");
  expect_rejected(&w, false, "extern fn halve(x: f32) -> f64\nfn main() = 1",
                  "t.hia:1:11: error[E0602]: this is extern fn halve(f32) -> f64, but the host has "
                  "registered extern fn halve(f64) -> f64");
  expect_rejected(&w, false, "extern fn roll() -> i32\nfn main() = 1", "error[E0602]");
  expect_rejected(&w, false, "extern impure fn halve(x: f64) -> f64\nfn main() = 1",
                  "error[E0602]");
  /* erf exists, but the host has not allowed to look for it */
  expect_rejected(&w, false, "extern fn erf(x: f64) -> f64\nfn main() = erf(1.0)", "error[E0601]");
  expect_rejected(&w, false, "extern fn halve(x: f64) -> f64\nfn main() = halve(1)+halve()",
                  "'halve' takes 1 argument (x), not 0");
  expect_rejected(&w, false, "extern fn halve(x: f64) -> f64\nfn main() = halve", "is a function");
  expect_rejected(&w, false, "extern fn halve(x: f64) -> f64\nconst C = halve(1)\nfn main() = C",
                  "a const cannot call 'halve'");
  expect_rejected(&w, true,
                  "graph functions \"\"\nextern halv (f64) -> f64\nfn f () -> () root () -> i32 {}",
                  "");
  expect_rejected(&w, true,
                  "graph functions \"\"\nextern halv (f64) -> f64\n"
                  "fn f (f64) -> (f64) root (f64) -> f64 { %0:f64 = arg 0\n%1:f64 = host halv %0\n"
                  "yield %1 }",
                  "error[E0601]: the host has no function 'halv' for this; did you mean 'halve'?");
  expect_rejected(&w, true,
                  "graph functions \"\"\nextern roll () -> i32\n"
                  "fn f (f64) -> (f64) root (f64) -> f64 { %0:f64 = arg 0\nyield %0 }",
                  "but the host has registered extern impure fn roll() -> i32");
  expect_rejected(&w, true,
                  "graph functions \"\"\nextern divide (i64, i64) -> (i64, i64)\n"
                  "fn f (f64) -> (f64) root (f64) -> f64 { %0:f64 = arg 0\nyield %0 }",
                  "says that it cannot fail");
  expect_rejected(&w, true,
                  "graph functions \"\"\nextern halve (f64) -> f64\nextern halve (f64) -> f64\n",
                  "extern halve is declared twice");
  expect_rejected(&w, true,
                  "graph functions \"\"\nextern halve (f64) -> f64\n"
                  "fn f (f64) -> (f64) root (f64) -> f64 { %0:f64 = arg 0\n%1:f64 = host hal %0\n"
                  "yield %1 }",
                  "there is no extern hal");
  expect_rejected(&w, true,
                  "graph functions \"\"\nextern halve (f64) -> f64\n"
                  "fn f (i32) -> (f64) root (i32) -> f64 { %0:i32 = arg 0\n%1:f64 = host halve %0\n"
                  "yield %1 }",
                  "must be f64");
  end(&w);
}

Test(engine_host, functions_of_the_process) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.flags |= HIA_FLAG_PROCESS_SYMBOLS;
  options.kind = HIA_ENGINE_INTERP;
  world w = {0};
  cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
  load(&w, "extern fn labs(x: i64) -> i64\nfn main() = labs(-5)");
  cr_expect_str_eq(result_of(&w), "5");
  hia_module_free(w.module);
  w.module = NULL;
  expect_rejected(&w, false, "extern fn no_such_function_here(x: i64) -> i64\nfn main() = 1",
                  "error[E0601]");
  expect_rejected(&w, false, "extern fn environ(x: i64) -> i64\nfn main() = 1", "error[E0601]");
  /* registered functions come first */
  add(&w, HOST("extern fn labs(x: i32) -> i32", i32_of));
  load(&w, "extern fn labs(x: i32) -> i32\nfn main() = labs(5)");
  cr_expect_str_eq(result_of(&w), "-5");
  end(&w);
}

/* ---- failures ---- */

Test(engine_host, what_a_failure_says) {
  world w;
  EACH_WAY(w, 0) {
    record r = {.lock = PTHREAD_MUTEX_INITIALIZER};
    cr_assert_eq(hosts_register(w.engine, &r), HIA_OK);
    load(&w, "extern impure fn check(n: i32) -> i32\n"
             "fn f(n: i32) -> i32 =\n"
             "  1 + check(n) + (if n > 99 then 0 else f(n + 1))\n"
             "fn main() -> i32 = if check(0) == 0 then f(11) else 1\n");
    cr_expect_str_eq(result_of(&w), "io");
    cr_expect_str_eq(hia_error_text(w.error),
                     "t.hia:3:7: error[io]: the host's function 'check' failed: input or output "
                     "failed\n"
                     "    3 |   1 + check(n) + (if n > 99 then 0 else f(n + 1))\n"
                     "      |       ^\n"
                     "  in f at t.hia:3:7\n"
                     "  called from f at t.hia:3:41\n"
                     "  called from f at t.hia:3:41\n",
                     "way %zu", way);
    end(&w);
  }
}

/* extern impure fn odd(n: i32) -> i32: returns a number that is no status, or a status */
static int32_t odd(int32_t n, int32_t *result) {
  *result = 1;
  return n;
}

Test(engine_host, what_is_no_status) {
  static const struct {
    const char *argument, *status;
  } cases[] = {{"0", "1"},
               {"29", "host"},
               {"-1", "host"},
               {"2147483647", "host"},
               {"-2147483647 - 1", "host"},
               {"-2147483647", "host"},
               {"-2147483643", "host"},
               {"5", NULL}};
  world w;
  for (int is_safe = 0; is_safe < 2; is_safe++) EACH_WAY(w, 0) {
      hia_host_function f = HOST("extern impure fn odd(n: i32) -> i32", odd);
      f.returns_status = true;
      f.is_safe = is_safe;
      add(&w, f);
      for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "extern impure fn odd(n: i32) -> i32\nfn main() -> i32 = odd(%s)\n",
                 cases[i].argument);
        load(&w, text);
        const char *expected = cases[i].status
                                   ? cases[i].status
                                   : hia_status_word((hia_status)atoi(cases[i].argument));
        cr_expect_str_eq(result_of(&w), expected, "way %zu: %s", way, cases[i].argument);
        hia_error_free(w.error);
        hia_module_free(w.module);
        w.module = NULL;
        w.error = NULL;
      }
      end(&w);
    }
}

static bool same(bool x) { return x; }

/* A safepoint at the end of a loop's round had a position in another function: debug builds, in
 * which LLVM verifies the code, refused it. */
Test(engine_host, loops_in_several_functions) {
  world w = {0};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.opt_level = 0;
  cr_assert_eq(hia_engine_new(&options, &w.engine, &w.error), HIA_OK);
  add(&w, HOST("extern impure fn same(x: bool) -> bool", same));
  load(&w, "extern impure fn same(x: bool) -> bool\n"
           "fn again(p: f32, q: i64, n: i32) -> i64 =\n"
           "  if n > 0 then {\n"
           "    let (i, a, (_, v)): (bool, i32, (i64, bool)) = (false, 0, (0, false));\n"
           "    again({\n"
           "      let (_, r, _) = loop (c = 0i64, x = 0f32, y = 0f64) while true { (0, 0, 0) };\n"
           "      0\n"
           "    }, if same(v) then 0 else 0, 0)\n"
           "  } else 0\n"
           "fn main() -> (i64, f32) = {\n"
           "  let s = again(0, 0, 0);\n"
           "  let t: f32 = {\n"
           "    let (_, r) = loop (c = 0i64, x: f32 = 0) while c < 11 { (c + 1, 0) };\n"
           "    0\n"
           "  };\n"
           "  (0, 0)\n"
           "}\n");
  cr_assert_str_eq(result_of(&w), "(0, 0.0)", "%s", hia_error_text(w.error));
  end(&w);
}

Test(engine_host, calls_are_counted) {
  world w;
  EACH_WAY(w, 0) {
    hia_engine_free(w.engine);
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = hosts_ways[way].kind;
    options.flags |= HIA_FLAG_COUNT;
    cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
    record r = {.lock = PTHREAD_MUTEX_INITIALIZER};
    cr_assert_eq(hosts_register(w.engine, &r), HIA_OK);
    load(&w, "extern impure fn note(n: i32) -> i32\nextern fn twice(n: i32) -> i32\n"
             "fn main(n: i32) -> i32 = loop (i = 0, s = 0) while i < n "
             "{ (i + 1, s + twice(note(i)) + twice(3) + twice(3)) }.1");
    hia_run_stats stats = HIA_RUN_STATS_INIT;
    hia_run_options run = HIA_RUN_OPTIONS_INIT;
    run.stats = &stats;
    int32_t x;
    cr_assert_eq(hosts_call(w.module, w.engine, "main", 10, &run, &x, NULL), HIA_OK);
    cr_expect_eq(x, 210);
    cr_expect_eq(stats.calls, 40, "way %zu: %lu", way, (unsigned long)stats.calls);
    cr_expect_eq(stats.rounds, 10);
    end(&w);
  }
}

/* ---- stacks ---- */

static int32_t greedy(int32_t n) {
  volatile char stack[512 << 10];
  for (size_t i = 0; i < sizeof stack; i += 512) stack[i] = (char)n;
  return stack[n * 512] - (char)n;
}

Test(engine_host, they_run_on_the_thread_s_stack) {
  world w;
  EACH_WAY(w, 0) {
    add(&w, HOST("extern impure fn greedy(n: i32) -> i32", greedy));
    load(&w, "extern impure fn greedy(n: i32) -> i32\n"
             "fn down(n: i32) -> i32 = if n == 0 then greedy(3) else "
             "1 + (if n % 1000 == 0 then greedy(n / 1000) else 0) + down(n - 1)\n"
             "fn main() -> i32 = down(200000)\n");
    cr_expect_str_eq(result_of(&w), "200000", "way %zu: %s", way, result_of(&w));
    end(&w);
  }
}

static int32_t slow(int32_t n) {
  struct timespec t = {.tv_nsec = 200000};
  volatile char stack[128 << 10];
  for (size_t i = 0; i < sizeof stack; i += 512) stack[i] = 1;
  nanosleep(&t, NULL);
  return n + stack[512] - 1;
}

Test(engine_host, pure_ones_run_on_every_thread) {
  world w;
  EACH_WAY(w, 0) {
    add(&w, HOST("extern fn slow(n: i32) -> i32", slow));
    load(&w, "extern fn slow(n: i32) -> i32\n"
             "fn sum(n: i32) -> i32 = if n < 2 then slow(n) else sum(n / 2) + sum(n - n / 2)\n"
             "fn main() -> i32 = sum(600)\n");
    cr_expect_str_eq(result_of(&w), "600", "way %zu: %s", way, result_of(&w));
    end(&w);
  }
}

/* ---- without memory ---- */

static hia_status attempt(const hia_allocator *allocator, hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.allocator = allocator;
  hia_engine *engine;
  hia_status status = hia_engine_new(&options, &engine, NULL);
  if (status != HIA_OK) return status;
  record r = {.lock = PTHREAD_MUTEX_INITIALIZER};
  hia_module *module = NULL;
  static const char text[] = "extern impure fn note(n: i32) -> i32\n"
                             "extern fn positive(n: i32) -> i32\n"
                             "fn main(n: i32) -> i32 = note(n) + positive(n)\n";
  int32_t x = 0;
  status = hosts_register(engine, &r);
  if (status == HIA_OK)
    status = hia_module_load_text(engine, "t", text, strlen(text), &module, NULL);
  if (status == HIA_OK) status = hosts_call(module, engine, "main", 4, NULL, &x, NULL);
  if (status == HIA_OK && (x != 8 || r.n != 1)) status = HIA_INTERNAL;
  hia_module_free(module);
  hia_engine_free(engine);
  return status;
}
static hia_status attempt_interp(const hia_allocator *a) { return attempt(a, HIA_ENGINE_INTERP); }
static hia_status attempt_expand(const hia_allocator *a) { return attempt(a, HIA_ENGINE_EXPAND); }

Test(engine_host, every_allocation_fails_once) {
  cr_expect_gt(fail_each_allocation(attempt_interp), 20);
  cr_expect_gt(fail_each_allocation(attempt_expand), 20);
}
