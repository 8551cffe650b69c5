/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that runs out, at every request: a host uses the whole public API repeatedly, each time
 * with one more request that is granted. Every call must return what it returns with memory, or
 * HIA_MEMORY; nothing may leak; and the host must be able to continue. LLVM's own memory does not
 * come from the allocator. */
#include "jit/engine/engine.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/dlpack.h>
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char whole_text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn fact(n) = if n <= 1 then 1 else n * fact(n - 1)\n"
    "fn swap(p: (i32, f64)) = (p.1, p.0)\n"
    "fn div(a: i32, b: i32) = a / b\n"
    "fn deep(n: i32) -> i32 = if n == 0 then div(1, n) else 1 + deep(n - 1)\n"
    "fn endless(n: i64) -> i64 = loop (i = n) while true { i + 1 }\n"
    "fn main(n: i32) = (fib(n), fact(n))\n";

/* The parts of such a host. */
typedef enum part {
  LOADING = 1,  /* of text, files, programs with mistakes, graphs */
  VALUES = 2,   /* made, read, printed, taken apart; wide ones */
  RUNS = 4,     /* that succeed, with statistics */
  FAILURES = 8, /* runs that fail, are cancelled, hit a limit, are past their deadline */
  TIMELINES = 16,
  DUMPS = 32,     /* that need no compiler */
  CODE = 64,      /* dumps that do */
  ENTRIES = 128,  /* typed entries, with contexts of the engine and others */
  BUILDING = 256, /* a module made by a builder */
  HOST = 512,     /* functions of the host, one of which runs another program */
  FUEL = 1024,    /* runs with fuel, that is enough or not */
  TENSORS = 2048, /* in archives of NumPy, and from other libraries by DLPack */
  CHECKS = 4096,  /* of gradients */
  TIERS = 8192,   /* runs that begin in the interpreter, and may go over to native code */
} part;

/* The cache of the engines. */
typedef enum cache_use {
  WITHOUT_CACHE,
  STORING, /* it is empty, and all that is compiled is stored in it */
  LOADING_FROM_IT,
} cache_use;
static cache_use cache; /* of the test; each has a process of its own */
static char folder[] = "/tmp/hiaton-memory-XXXXXX";

typedef struct life {
  test_heap *heap;
  hia_engine_kind kind;
  unsigned threads, parts;
  bool ran_out; /* a call returned MEMORY */
  hia_error *error;
} life;

/* Checks one call. True if it did the same as with memory. */
static bool did(life *l, hia_status status, hia_status expected, bool has_error, int line) {
  if (status == HIA_OK) cr_assert_null(l->error, "line %d: %s", line, hia_error_text(l->error));
  if (l->error) cr_assert_eq(hia_error_status(l->error), status, "line %d", line);
  bool is_fine = status == expected;
  if (!is_fine) {
    cr_assert_eq(status, HIA_MEMORY, "line %d: %s, not %s: %s", line, hia_status_word(status),
                 hia_status_word(expected), hia_error_text(l->error));
    l->ran_out = true;
    /* There is memory for the error, which was missing for the call, if fails_once. */
    if (l->heap->fails_once && has_error)
      cr_assert(l->error && hia_error_message(l->error, 0)[0], "line %d: no message", line);
  }
  hia_error_free(l->error);
  l->error = NULL;
  return is_fine;
}
#define DID(status, expected) did(l, status, expected, true, __LINE__)
#define DID_SILENT(status, expected)                                                               \
  did(l, status, expected, false, __LINE__) /* takes no error                                      \
                                             */

/* Checks a pointer, which may only be NULL for lack of memory. */
static bool made(life *l, const void *object) {
  if (!object) l->ran_out = true;
  return object != NULL;
}

/* ---- the parts ---- */

static void try_loading(life *l, hia_engine *engine) {
  static const char mistakes[] =
      "fn f(x: i32) = y\nfn g(x: i32) = f(x) + true\nfn h() = nosuch(1)\n";
  static const char graph[] = "fn \"f(i32)\" root ((i32) -> i32) {\n";
  hia_module *module;
  hia_function *function;
  DID(hia_module_load_text(engine, "m", mistakes, strlen(mistakes), &module, &l->error),
      HIA_REJECTED);
  DID(hia_module_load_ir(engine, "g", graph, strlen(graph), &module, &l->error), HIA_REJECTED);
  DID(hia_module_load_file(engine, "/nonexistent", &module, &l->error), HIA_IO);
  if (DID(hia_module_load_file(engine, HIA_SOURCE_DIR "/examples/gcd.hia", &module, &l->error),
          HIA_OK)) {
    DID(hia_module_function(module, "gcd(i64, i64)", &function, &l->error), HIA_OK);
    DID(hia_module_function(module, "nosuch", &function, &l->error), HIA_NOT_FOUND);
    DID(hia_module_function(module, "gcd(f64, f64)", &function, &l->error), HIA_OK);
    DID(hia_module_function(module, "gcd(bool, bool)", &function, &l->error), HIA_REJECTED);
    DID(hia_module_function(module, "gcd(", &function, &l->error), HIA_ARGUMENT);
    DID(hia_module_function_at(module, 1, &function, &l->error), HIA_OK);
    DID(hia_module_function_at(module, 9, &function, &l->error), HIA_NOT_FOUND);
    hia_module_free(module);
  }
  DID(hia_module_load_expression(engine, "e", mistakes, strlen(mistakes), "f(", &module, &l->error),
      HIA_REJECTED);
  if (DID(hia_module_load_expression(engine, NULL, NULL, 0, "1 / (2 - 2)", &module, &l->error),
          HIA_OK)) {
    hia_value *result;
    if (DID(hia_module_function(module, HIA_EXPRESSION, &function, &l->error), HIA_OK))
      DID(hia_call(function, NULL, 0, &result, &l->error), HIA_DIV_ZERO);
    hia_module_free(module);
  }
}

static void try_values(life *l, hia_engine *engine, hia_module *module) {
  char buf[64];
  hia_value *parts[2] = {hia_value_i32(engine, 7), hia_value_f64(engine, 0.5)};
  bool has_first = made(l, parts[0]), has_parts = made(l, parts[1]) && has_first;
  hia_value *pair = hia_value_tuple(engine, parts, 2), *result = NULL;
  if (has_parts && made(l, pair)) {
    size_t len = hia_value_format(pair, buf, sizeof buf);
    cr_assert(len == 0 || strcmp(buf, "(7, 0.5)") == 0, "%s", buf);
    if (len == 0) l->ran_out = true;
    len = hia_value_format_type(pair, buf, sizeof buf);
    cr_assert(len == 0 || strcmp(buf, "(i32, f64)") == 0, "%s", buf);
    if (len == 0) l->ran_out = true;
    hia_value *half = hia_value_part(pair, 1);
    if (made(l, half)) cr_assert_eq(hia_value_get_f64(half, &(double){0}), HIA_OK);
    hia_value_free(half);
  }
  hia_value_free(pair);
  for (int i = 0; i < 2; i++) hia_value_free(parts[i]);
  hia_function *swap;
  if (!DID(hia_module_function(module, "swap", &swap, &l->error), HIA_OK)) return;
  DID(hia_value_parse(swap, 0, "(1, true)", &result, &l->error), HIA_ARGUMENT);
  if (DID(hia_value_parse(swap, 0, "(1, 2.5)", &pair, &l->error), HIA_OK)) {
    DID(hia_call(swap, &pair, 1, &result, &l->error), HIA_OK);
    hia_value_free(result);
    hia_value_free(pair);
  }
}

/* Calls name(n); the result's text must be `wanted`, or NULL if it fails. */
static void try_call(life *l, hia_engine *engine, hia_module *module, const char *name, int32_t n,
                     const hia_run_options *options, hia_status expected, const char *wanted) {
  hia_function *function;
  if (!DID(hia_module_function(module, name, &function, &l->error), HIA_OK)) return;
  hia_value *arg =
      strcmp(name, "endless") == 0 ? hia_value_i64(engine, n) : hia_value_i32(engine, n);
  hia_value *result = NULL;
  if (!made(l, arg)) return;
  hia_status status = hia_run(function, &arg, 1, options, &result, &l->error);
  cr_assert_eq(result != NULL, status == HIA_OK);
  if (DID(status, expected) && result) {
    char buf[64];
    size_t len = hia_value_format(result, buf, sizeof buf);
    cr_assert(len == 0 || strcmp(buf, wanted) == 0, "%s(%d): %s", name, n, buf);
    if (len == 0) l->ran_out = true;
  }
  hia_value_free(result);
  hia_value_free(arg);
}

static void try_runs(life *l, hia_engine *engine, hia_module *module) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = &used;
  try_call(l, engine, module, "main", 10, &options, HIA_OK, "(89, 3628800)");
  try_call(l, engine, module, "fact", 5, &options, HIA_OK, "120");
  hia_function *function;
  hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
  if (DID(hia_module_function(module, "main", &function, &l->error), HIA_OK)) {
    DID(hia_function_prepare(function, &l->error), HIA_OK);
    cr_assert_eq(hia_function_get_stats(function, &cost), HIA_OK);
  }
}

static void try_failures(life *l, hia_engine *engine, hia_module *module) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  try_call(l, engine, module, "deep", 300, NULL, HIA_DIV_ZERO, NULL);
  hia_cancel *cancel = hia_cancel_new(&l->heap->allocator);
  if (made(l, cancel)) {
    hia_cancel_request(cancel);
    options.cancel = cancel;
    try_call(l, engine, module, "endless", 1, &options, HIA_CANCELLED, NULL);
    hia_cancel_free(cancel);
  }
  options.cancel = NULL;
  options.timeout_ns = 1000;
  try_call(l, engine, module, "endless", 1, &options, HIA_DEADLINE, NULL);
}

static void try_timelines(life *l, hia_engine *engine, hia_module *module) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeline = hia_timeline_new(&l->heap->allocator, 64);
  if (!made(l, options.timeline)) return;
  try_call(l, engine, module, "fib", 12, &options, HIA_OK, "233");
  test_text t = {0};
  DID(hia_timeline_write(options.timeline, test_text_take, &t, &l->error), HIA_OK);
  test_text_free(&t);
  hia_timeline_free(options.timeline);
}

static void try_dump(life *l, hia_engine *engine, hia_module *module, hia_stage stage,
                     hia_format format, const char *after) {
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  options.stage = stage;
  options.format = format;
  options.after = after;
  test_text t = {0};
  /* For all functions, or, if LLVM is needed, for one. */
  hia_function *one = NULL;
  bool is_code = stage >= HIA_STAGE_LLVM;
  if (is_code && !DID(hia_module_function(module, "fib", &one, &l->error), HIA_OK)) return;
  bool has_text =
      DID(hia_module_dump(module, &one, is_code, &options, test_text_take, &t, &l->error), HIA_OK);
  cr_assert_eq(t.len > 0, has_text, "a dump is whole or not there");
  bool is_graph = stage == HIA_STAGE_GRAPH || stage == HIA_STAGE_STATIC;
  hia_module *again;
  if (has_text && is_graph && format == HIA_FORMAT_TEXT &&
      DID(hia_module_load_ir(engine, "again", t.data, t.len, &again, &l->error), HIA_OK)) {
    try_call(l, engine, again, "fib", 10, NULL, HIA_OK, "89");
    hia_module_free(again);
  }
  test_text_free(&t);
}

/* ---- what is built, what the host does, fuel ---- */

static bool is_out_of_memory(life *l, hia_builder *b) {
  if (hia_builder_status(b) != HIA_MEMORY) return false;
  return l->ran_out = true;
}

static void try_building(life *l, hia_engine *engine) {
  hia_builder *b;
  hia_module *module;
  if (!DID(hia_builder_new(engine, "built", &b, &l->error), HIA_OK)) return;
  hia_build_fn odd = hia_build_declare(b, "odd(n: i32) -> bool");
  hia_build_type types[2] = {HIA_I32, HIA_F64};
  hia_build_type pair = hia_build_tuple_type(b, types, 2);
  hia_build_fn total = hia_build_declare_types(b, "total", types, 1, pair);
  hia_build_begin(b, odd);
  hia_build_value n = hia_build_param(b, odd, 0), zero = hia_build_i32(b, 0);
  hia_build_if(b, hia_build_eq(b, n, zero));
  hia_build_else(b, hia_build_bool(b, false));
  hia_build_value less = hia_build_name(b, hia_build_sub(b, n, hia_build_i32(b, 1)), "less");
  hia_build_value rest = hia_build_call(b, odd, &less, 1);
  hia_build_return(b, hia_build_end_if(b, hia_build_bnot(b, rest)));
  hia_build_begin(b, total);
  hia_build_value m = hia_build_param(b, total, 0), init[2] = {zero, m}, at[2] = {{0}, {0}},
                  next[2];
  hia_build_loop(b, init, 2, at);
  hia_build_while(b, hia_build_gt(b, at[1], zero));
  next[0] = hia_build_add(b, at[0], at[1]);
  next[1] = hia_build_sub(b, at[1], hia_build_i32(b, 1));
  hia_build_value sum = hia_build_part(b, hia_build_end_loop(b, next, 2), 0);
  hia_build_value parts[2] = {sum, hia_build_convert(b, HIA_F64, sum)};
  hia_build_return(b, hia_build_tuple(b, parts, 2));
  if (!is_out_of_memory(l, b))
    cr_assert_eq(hia_builder_status(b), HIA_OK, "%s", hia_error_text(hia_builder_error(b)));
  test_text t = {0};
  DID(hia_builder_print(b, test_text_take, &t, &l->error), HIA_OK);
  test_text_free(&t);
  if (DID(hia_builder_finish(b, &module, &l->error), HIA_OK)) {
    try_call(l, engine, module, "odd", 7, NULL, HIA_OK, "true");
    try_call(l, engine, module, "total", 10, NULL, HIA_OK, "(55, 55.0)");
    hia_module_free(module);
  }
  hia_builder_free(b);
}

static void try_gradients(life *l, hia_engine *engine) {
  hia_builder *b;
  if (!DID(hia_builder_new(engine, "built", &b, &l->error), HIA_OK)) return;
  hia_build_value wrt[2] = {{0}, hia_build_declare_param(b, "W: f64[2] = ones()")};
  hia_build_fn f = hia_build_declare(b, "f(x: f64) -> f64"),
               g = hia_build_declare(b, "g(x: f64) -> (f64, (f64, f64[2]))");
  wrt[0] = hia_build_param(b, f, 0);
  hia_build_begin(b, g);
  hia_build_value x = hia_build_param(b, g, 0), d = hia_build_grad(b, f, wrt, 1, &x, 1);
  hia_build_return(b, hia_build_value_and_grad(b, f, wrt, 2, &d, 1));
  hia_build_begin(b, f);
  hia_build_value w = hia_build_sum(b, wrt[1]);
  hia_build_return(b, hia_build_mul(b, wrt[0], w));
  if (!is_out_of_memory(l, b))
    cr_assert_eq(hia_builder_status(b), HIA_OK, "%s", hia_error_text(hia_builder_error(b)));
  test_text t = {0};
  DID(hia_builder_print(b, test_text_take, &t, &l->error), HIA_OK);
  test_text_free(&t);
  hia_builder_free(b);
}

static void try_a_check(life *l, hia_engine *engine) {
  static const char source[] = "param w: f64 = 2\nfn f(v: f64[1]) = exp(v[0]) * w\n";
  static const double elements[] = {0.5};
  hia_module *module;
  hia_function *f;
  hia_gradient_check *check;
  hia_value *v = NULL;
  if (!DID(hia_module_load_text(engine, "c", source, strlen(source), &module, &l->error), HIA_OK))
    return;
  if (DID(hia_module_function(module, "f", &f, &l->error), HIA_OK) &&
      DID(hia_data_tensor(&l->heap->allocator, hia_function_param_type(f, 0), (int64_t[]){1},
                          elements, &v, &l->error),
          HIA_OK) &&
      DID(hia_gradient_check_new(f, NULL, &check, &l->error), HIA_OK)) {
    if (DID(hia_gradient_check_run(check, &v, 1, NULL, &l->error), HIA_OK)) {
      hia_gradient_input in = HIA_GRADIENT_INPUT_INIT;
      for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(hia_gradient_check_input(check, i, &in), HIA_OK);
        cr_assert_eq(in.n_agree, 1);
      }
    }
    hia_gradient_check_free(check);
  }
  hia_value_free(v);
  hia_module_free(module);
}

/* A mistake needs memory, too. */
static void try_a_mistake(life *l, hia_engine *engine) {
  hia_builder *b;
  if (!DID(hia_builder_new(engine, "built", &b, &l->error), HIA_OK)) return;
  hia_build_value bad = hia_build_add(b, hia_build_i32(b, 1), hia_build_f64(b, 1));
  cr_assert_eq(bad.id, 0);
  hia_module *module;
  DID(hia_builder_finish(b, &module, &l->error), HIA_ARGUMENT);
  hia_builder_free(b);
}

typedef struct nested {
  life *l;
  hia_engine *engine;
  hia_module *inner;
} nested;

/* Runs fib(5), inside the run that calls it. */
static hia_status call_back(void *user, int32_t x, int32_t *result) {
  nested *own = user;
  hia_function *fib;
  hia_value *n = hia_value_i32(own->engine, 5), *value = NULL;
  hia_status status = n ? hia_module_function(own->inner, "fib", &fib, NULL) : HIA_MEMORY;
  if (status == HIA_OK) status = hia_call(fib, &n, 1, &value, NULL);
  if (status == HIA_OK) status = hia_value_get_i32(value, result);
  *result += x;
  hia_value_free(value);
  hia_value_free(n);
  return status;
}

static void try_host(life *l, hia_engine *engine, hia_module *inner) {
  static const char text[] = "extern impure fn back(x: i32) -> i32\n"
                             "fn twice(n: i32) -> i32 = back(n) + back(n + 1)\n";
  nested own = {l, engine, inner};
  hia_host_function function = HIA_HOST_FUNCTION_INIT;
  function.declaration = "extern impure fn back(x: i32) -> i32";
  function.function = (void (*)(void))call_back;
  function.user = &own;
  function.takes_user = function.returns_status = true;
  hia_module *module;
  if (!DID(hia_engine_register(engine, &function, &l->error), HIA_OK)) return;
  if (DID(hia_module_load_text(engine, "h", text, strlen(text), &module, &l->error), HIA_OK)) {
    try_call(l, engine, module, "twice", 1, NULL, HIA_OK, "19");
    hia_module_free(module);
  }
}

static void try_fuel(life *l, hia_engine *engine, hia_module *module) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.has_fuel = true;
  options.fuel = 1000;
  try_call(l, engine, module, "fib", 10, &options, HIA_OK, "89");
  options.fuel = 10;
  try_call(l, engine, module, "fib", 10, &options, HIA_FUEL, NULL);
}

/* ---- tensors ---- */

static void count_call(DLManagedTensor *self) { (*(unsigned *)self->manager_ctx)++; }

/* A tensor of the host becomes a value, which is an argument, goes into an archive and comes back.
 */
static void try_tensors(life *l, hia_engine *engine) {
  static const char text[] = "fn double(x: f64[?]) = x + x\n", *const names[] = {"x"};
  double elements[] = {1, 2.5};
  int64_t shape[] = {2};
  unsigned calls = 0;
  DLManagedTensor theirs = {.dl_tensor = {.data = elements,
                                          .device = {kDLCPU, 0},
                                          .ndim = 1,
                                          .dtype = {kDLFloat, 64, 1},
                                          .shape = shape},
                            .manager_ctx = &calls,
                            .deleter = count_call};
  const hia_allocator *allocator = &l->heap->allocator;
  hia_value *x, *y;
  hia_module *module;
  hia_function *function;
  test_text saved = {0};
  if (!DID(hia_data_from_dlpack_unversioned(allocator, NULL, &theirs, &x, &l->error), HIA_OK)) {
    cr_assert_eq(calls, 0);
    return;
  }
  cr_assert_eq(calls, 0);
  if (DID(hia_module_load_text(engine, "d", text, strlen(text), &module, &l->error), HIA_OK)) {
    if (DID(hia_module_function(module, "double", &function, &l->error), HIA_OK) &&
        DID(hia_call(function, &x, 1, &y, &l->error), HIA_OK)) {
      const hia_value *const values[] = {y};
      if (DID(hia_npz_save(allocator, names, values, 1, test_text_take, &saved, &l->error),
              HIA_OK)) {
        hia_value *back = NULL;
        hia_npz *npz = NULL;
        if (DID(hia_npz_open(allocator, "n", saved.data, saved.len, &npz, &l->error), HIA_OK))
          DID(hia_npz_load(npz, 0, NULL, 16, &back, &l->error), HIA_OK);
        char buf[32];
        size_t len = back ? hia_value_format(back, buf, sizeof buf) : 0;
        cr_assert(len == 0 || strcmp(buf, "[2.0, 5.0]") == 0, "%s", buf);
        if (len == 0) l->ran_out = true;
        hia_value_free(back);
        hia_npz_free(npz);
        const char *const own[] = {"x"};
        DID(hia_value_save_npz_parts(y, own, 1, "/dev/null", &l->error), HIA_OK);
        DID(hia_data_load_npz(allocator, NULL, "n", saved.data, saved.len, "x", 15, &back,
                              &l->error),
            HIA_MEMORY);
      }
      DLManagedTensorVersioned *ours;
      if (DID(hia_value_to_dlpack(y, &ours, &l->error), HIA_OK)) ours->deleter(ours);
      hia_value_free(y);
    }
    hia_module_free(module);
  }
  test_text_free(&saved);
  hia_value_free(x);
  cr_assert_eq(calls, 1);
}

/* ---- typed entries ---- */

typedef hia_status (*i32_to_i32)(hia_context *context, int32_t n, int32_t *result);

/* A call through a typed entry; its error belongs to the context, and may not be there. */
static void try_entry(life *l, hia_context *context, i32_to_i32 entry, int32_t n,
                      hia_status expected, int32_t wanted) {
  int32_t x = -1;
  hia_status status = entry(context, n, &x);
  const hia_error *e = status ? hia_context_error(context) : NULL;
  if (status && !e) l->ran_out = true;
  if (e) cr_assert_eq(hia_error_status(e), status, "%s", hia_error_text(e));
  if (DID_SILENT(status, expected)) cr_assert_eq(x, status ? -1 : wanted);
}

/* The same by a map entry, for rows up to the one that fails with `expected`. */
static void try_map(life *l, hia_context *context, hia_native_fn map, int32_t last,
                    hia_status expected) {
  typedef hia_status (*i32_map)(hia_context *, size_t, const int32_t *, int32_t *);
  int32_t n[4] = {0, 1, 2, last}, results[4];
  hia_status status = ((i32_map)map)(context, 4, n, results);
  const hia_error *e = status ? hia_context_error(context) : NULL;
  if (status && !e) l->ran_out = true;
  if (e) cr_assert_eq(hia_error_status(e), status, "%s", hia_error_text(e));
  if (DID_SILENT(status, expected)) cr_assert_eq(hia_context_rows(context), status ? 3 : 4);
}

static void try_maps(life *l, hia_context *context, hia_function *fib) {
  hia_native_fn map, fuelled;
  if (DID(hia_function_map(fib, &map, &l->error), HIA_OK)) try_map(l, context, map, 9, HIA_OK);
  if (DID(hia_function_map_with_fuel(fib, &fuelled, &l->error), HIA_OK)) {
    hia_context_set_fuel(context, 50);
    try_map(l, context, fuelled, 20, HIA_FUEL);
    hia_context_clear_fuel(context);
  }
}

static void try_entries(life *l, hia_engine *engine, hia_module *module) {
  hia_function *fib, *deep, *div;
  hia_native_fn native, failing, plain;
  hia_context *of_engine = NULL, *own = NULL;
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.allocator = &l->heap->allocator;
  options.threads = l->threads;
  DID(hia_engine_context_new(engine, &of_engine, &l->error), HIA_OK);
  DID_SILENT(hia_context_new(&options, &own), HIA_OK);
  if (DID(hia_module_function(module, "fib", &fib, &l->error), HIA_OK) &&
      DID(hia_module_function(module, "deep", &deep, &l->error), HIA_OK) &&
      DID(hia_module_function(module, "div", &div, &l->error), HIA_OK) &&
      DID(hia_function_entry(fib, &native, &l->error), HIA_OK) &&
      DID(hia_function_entry(deep, &failing, &l->error), HIA_OK)) {
    DID(hia_function_plain(div, &plain, &l->error), HIA_UNSUPPORTED);
    hia_context *contexts[2] = {of_engine, own};
    for (size_t i = 0; i < 2; i++) {
      if (!contexts[i]) continue;
      try_entry(l, contexts[i], (i32_to_i32)native, 10, HIA_OK, 89);
      try_entry(l, contexts[i], (i32_to_i32)failing, 300, HIA_DIV_ZERO, 0);
      hia_context_set_timeout(contexts[i], 1000000000);
      try_entry(l, contexts[i], (i32_to_i32)native, 12, HIA_OK, 233);
      hia_context_set_timeout(contexts[i], 0);
      hia_context_cancel(contexts[i]);
      try_entry(l, contexts[i], (i32_to_i32)native, 12, HIA_CANCELLED, 0);
      hia_context_reset(contexts[i]);
      try_entry(l, contexts[i], (i32_to_i32)native, 13, HIA_OK, 377);
    }
    hia_native_fn fuelled;
    if (of_engine && DID(hia_function_entry_with_fuel(fib, &fuelled, &l->error), HIA_OK)) {
      hia_context_set_fuel(of_engine, 100);
      try_entry(l, of_engine, (i32_to_i32)fuelled, 5, HIA_OK, 8);
      hia_context_clear_fuel(of_engine);
    }
    if (of_engine) try_maps(l, of_engine, fib);
  }
  hia_context_free(own);
  hia_context_free(of_engine);
}

/* ---- tiers ---- */

/* A run that goes over at a poll of its own, and one that may while a thread compiles; then the
 * engine is freed, whatever that thread does. */
static void try_tiers(life *l, hia_engine *engine, hia_module *module) {
  hia_function *fib;
  if (!DID(hia_module_function(module, "fib", &fib, &l->error), HIA_OK)) return;
  DID(hia_function_prepare(fib, &l->error), HIA_OK);
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = &used;
  engine->again_at = 3;
  try_call(l, engine, module, "fib", 12, &options, HIA_OK, "233");
  if (l->heap->left > 0) cr_assert_eq(used.n_restarts, 1); /* nothing has been refused so far */
  engine->again_at = 0;
  try_call(l, engine, module, "fact", 6, NULL, HIA_OK, "720");
  try_call(l, engine, module, "deep", 300, NULL, HIA_DIV_ZERO, NULL);
  hia_module *other;
  if (!DID(hia_module_load_text(engine, "o", whole_text, strlen(whole_text), &other, &l->error),
           HIA_OK))
    return;
  try_call(l, engine, other, "fib", 23, NULL, HIA_OK, "46368");
  hia_module_free(other);
}

static void live(life *l) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = l->kind;
  if (cache) options.cache = folder;
  options.threads = l->threads;
  options.allocator = &l->heap->allocator;
  options.opt_level = 0; /* LLVM's part of the time */
  options.disabled_passes = "unroll,inline";
  options.flags |= HIA_FLAG_NO_MERGING; /* it adds to that list */
  options.flags |= HIA_FLAG_COUNT;
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  if (DID(hia_engine_new(&options, &engine, &l->error), HIA_OK)) {
    if (l->kind == HIA_ENGINE_JIT) DID(hia_engine_native(engine, &l->error), HIA_OK);
    if (l->parts & LOADING) try_loading(l, engine);
    if (DID(hia_module_load_text(engine, "t", whole_text, strlen(whole_text), &module, &l->error),
            HIA_OK)) {
      if (l->parts & VALUES) try_values(l, engine, module);
      if (l->parts & RUNS) try_runs(l, engine, module);
      if (l->parts & FAILURES) try_failures(l, engine, module);
      if (l->parts & TIMELINES) try_timelines(l, engine, module);
      if (l->parts & ENTRIES) try_entries(l, engine, module);
      if (l->parts & BUILDING) try_building(l, engine);
      if (l->parts & BUILDING) try_gradients(l, engine);
      if (l->parts & BUILDING) try_a_mistake(l, engine);
      if (l->parts & HOST) try_host(l, engine, module);
      if (l->parts & FUEL) try_fuel(l, engine, module);
      if (l->parts & TIERS) try_tiers(l, engine, module);
      if (l->parts & TENSORS) try_tensors(l, engine);
      if (l->parts & CHECKS) try_a_check(l, engine);
      if (l->parts & DUMPS) {
        try_dump(l, engine, module, HIA_STAGE_AST, HIA_FORMAT_TEXT, NULL);
        try_dump(l, engine, module, HIA_STAGE_AST, HIA_FORMAT_DOT, NULL);
        try_dump(l, engine, module, HIA_STAGE_GRAPH, HIA_FORMAT_TEXT, "tail");
        try_dump(l, engine, module, HIA_STAGE_STATIC, HIA_FORMAT_TEXT, NULL);
        try_dump(l, engine, module, HIA_STAGE_STATIC, HIA_FORMAT_DOT, NULL);
      }
      if (l->parts & CODE) {
        try_dump(l, engine, module, HIA_STAGE_LLVM, HIA_FORMAT_TEXT, NULL);
        try_dump(l, engine, module, HIA_STAGE_LLVM_OPTIMIZED, HIA_FORMAT_TEXT, NULL);
        try_dump(l, engine, module, HIA_STAGE_ASM, HIA_FORMAT_TEXT, NULL);
      }
      /* There is memory again: the module is as if nothing had happened ... */
      if (l->heap->fails_once && l->heap->left < 0) {
        l->ran_out = false;
        try_call(l, engine, module, "main", 10, NULL, HIA_OK, "(89, 3628800)");
        if (l->parts & FUEL) try_fuel(l, engine, module);
        cr_assert_not(l->ran_out, "the module does not recover");
      }
      hia_module_free(module);
    }
    /* ... and so is another one. */
    if (l->heap->fails_once && l->heap->left < 0) {
      l->ran_out = false;
      if (DID(hia_module_load_text(engine, "t", whole_text, strlen(whole_text), &module, &l->error),
              HIA_OK)) {
        try_call(l, engine, module, "fib", 11, NULL, HIA_OK, "144");
        hia_module_free(module);
      }
      cr_assert_not(l->ran_out, "the engine does not recover");
    }
  }
  hia_engine_free(engine);
}

/* ---- the sweep ---- */

/* Every second request is tried in each manner, and so each in one: one is the only one that is
 * refused, the next is the first of all that are refused. By day it is every eighth.
 * HIA_STRESS has ten times as many requests, most of them for the next small block of an arena. */
#ifdef HIA_STRESS
enum { APART = HIA_TEST_SHARE > 4 ? 96 : 16 };
#else
enum { APART = HIA_TEST_SHARE > 1 ? 8 : 2 };
#endif

/* Repeats until the host makes fewer than n requests. With threads the number of requests varies,
 * so this must happen three times in a row; a compiling thread is one, too. */
static long sweep(hia_engine_kind kind, unsigned threads, unsigned parts, bool fails_once) {
  test_heap heap;
  unsigned whole = 0, wanted = threads > 1 || parts & TIERS ? 3 : 1;
  for (long n = fails_once ? 0 : APART / 2;; n += APART) {
    cr_assert_lt(n, 20000, "does it ever end?");
    test_heap_init(&heap, n);
    heap.fails_once = fails_once;
    life l = {.heap = &heap, .kind = kind, .threads = threads, .parts = parts};
    if (cache == STORING) hia_cache_clear(folder, false, NULL);
    live(&l);
    cr_assert_eq(heap.blocks, 0, "request %ld: %ld blocks left over", n, (long)heap.blocks);
    cr_assert_eq(heap.bytes, 0, "request %ld: %ld bytes left over", n, (long)heap.bytes);
    bool was_refused = heap.left <= 0;
    if (!was_refused) cr_assert_not(l.ran_out, "MEMORY, and nothing was refused");
    whole = was_refused ? 0 : whole + 1;
    if (whole == wanted) return n;
  }
}

static void both_ways(hia_engine_kind kind, unsigned threads, unsigned parts) {
  if (kind == HIA_ENGINE_JIT || kind == HIA_ENGINE_AUTO) NEEDS_NATIVE;
  long once = sweep(kind, threads, parts, true), always = sweep(kind, threads, parts, false);
  cr_assert(once > 5 && always > 5, "%ld and %ld requests: the allocator is not used", once,
            always);
}

/* With a cache: whatever fails there is as if nothing were in it. */
static void both_ways_with(cache_use use, hia_engine_kind kind, unsigned parts) {
  NEEDS_NATIVE;
  cr_assert_not_null(mkdtemp(folder));
  cache = use;
  test_heap heap;
  test_heap_init(&heap, -1);
  life l = {.heap = &heap, .kind = kind, .threads = 1, .parts = parts};
  live(&l); /* fills it */
  both_ways(kind, 1, parts);
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
}

Test(api_memory, loading) { both_ways(HIA_ENGINE_INTERP, 1, LOADING); }
Test(api_memory, dumps) { both_ways(HIA_ENGINE_INTERP, 1, DUMPS); }
Test(api_memory, interp) { both_ways(HIA_ENGINE_INTERP, 1, VALUES | RUNS | FAILURES | TIMELINES); }
Test(api_memory, expand) { both_ways(HIA_ENGINE_EXPAND, 1, VALUES | RUNS | FAILURES | TIMELINES); }
Test(api_memory, interp_threads) { both_ways(HIA_ENGINE_INTERP, 2, RUNS | FAILURES | TIMELINES); }
Test(api_memory, native) { both_ways(HIA_ENGINE_JIT, 1, VALUES | RUNS); }
Test(api_memory, native_failures) { both_ways(HIA_ENGINE_JIT, 1, FAILURES); }
Test(api_memory, native_threads) { both_ways(HIA_ENGINE_JIT, 2, TIMELINES); }
Test(api_memory, entries) { both_ways(HIA_ENGINE_JIT, 1, ENTRIES); }
Test(api_memory, entries_threads) { both_ways(HIA_ENGINE_JIT, 2, ENTRIES); }
Test(api_memory, building) { both_ways(HIA_ENGINE_INTERP, 1, BUILDING); }
Test(api_memory, host) { both_ways(HIA_ENGINE_INTERP, 1, HOST); }
Test(api_memory, expand_host) { both_ways(HIA_ENGINE_EXPAND, 1, HOST | FUEL); }
Test(api_memory, tensors) { both_ways(HIA_ENGINE_INTERP, 1, TENSORS); }
Test(api_memory, checks) { both_ways(HIA_ENGINE_INTERP, 1, CHECKS); }
Test(api_memory, fuel) { both_ways(HIA_ENGINE_INTERP, 1, FUEL); }
Test(api_memory, native_host) { both_ways(HIA_ENGINE_JIT, 1, HOST); }
Test(api_memory, native_host_threads) { both_ways(HIA_ENGINE_JIT, 2, HOST); }
Test(api_memory, native_fuel) { both_ways(HIA_ENGINE_JIT, 1, FUEL); }
Test(api_memory, native_dumps) { both_ways(HIA_ENGINE_JIT, 1, CODE); }
Test(api_memory, tiers) { both_ways(HIA_ENGINE_AUTO, 1, TIERS); }
Test(api_memory, storing) { both_ways_with(STORING, HIA_ENGINE_JIT, RUNS | ENTRIES); }
Test(api_memory, loading_code) { both_ways_with(LOADING_FROM_IT, HIA_ENGINE_JIT, RUNS | ENTRIES); }
Test(api_memory, tiers_storing) { both_ways_with(STORING, HIA_ENGINE_AUTO, TIERS); }
Test(api_memory, tiers_loading) { both_ways_with(LOADING_FROM_IT, HIA_ENGINE_AUTO, TIERS); }
