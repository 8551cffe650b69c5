/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The option fast_products: which products it is for, that all engines then return the same, that
 * results are within the stated error, and that nothing changes without it or without a library. */
#include "runtime/kernel/blas.h"
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <hiaton/hiaton.h>
#include <hiaton/tensors.h>
#include <math.h>
#include <stdlib.h>

static const char text[] =
    "param W: f32[400, 300] = uniform(-1, 1)\n"
    "fn matrix(n: i64, m: i64, a: f32) -> f32[?, ?] ="
    " reshape(sin(f32(iota(n * m) % 8191i64) * a), n, m)\n"
    "fn left() -> f32[300, 530] = matrix(300, 530, 0.37)\n"
    "fn right() -> f32[530, 270] = matrix(530, 270, 1.3)\n"
    "fn plain() = left() @ right()\n"
    "fn doubled() = f64(left()) @ f64(right())\n"
    "fn turned() = transpose(right()) @ transpose(left())\n"
    "fn batch() = reshape(matrix(600, 300, 0.7), 2, 300, 300) @ matrix(300, 256, 1.3)\n"
    "fn layers() = { let x = matrix(300, 400, 0.7); x @ W + tanh(x) @ W + sin(x) @ W }\n"
    "fn several() = [matrix(300, 300, f32(i) + 0.7) @ matrix(300, 300, 1.3) for i in 0..4]\n"
    "fn small() = matrix(255, 300, 0.37) @ matrix(300, 300, 1.3)\n"
    "fn whole() = matrix(300, 300, 0.37) @ matrix(300, 1, 1.3)\n"
    "fn integers() = i32(matrix(300, 300, 99.0) * 9.0) @ i32(matrix(300, 300, 1.3) * 9.0)\n";

static const char *const fast[] = {"plain", "doubled", "turned", "batch", "layers", "several"};
static const char *const never_fast[] = {"small", "whole", "integers"};
enum { N_FAST = sizeof fast / sizeof fast[0], N_NEVER = sizeof never_fast / sizeof never_fast[0] };

typedef struct way {
  hia_engine_kind kind;
  unsigned threads;
} way;
static const way ways[] = {{HIA_ENGINE_INTERP, 1},
                           {HIA_ENGINE_INTERP, 3},
                           {HIA_ENGINE_EXPAND, 1},
                           {HIA_ENGINE_JIT, 1},
                           {HIA_ENGINE_JIT, 3}};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

static int (*calls)(void); /* of the fake */

static void use_fake(void) {
  cr_assert(hiaR_blas_use(HIA_FAKE_BLAS), "%s", dlerror());
  void *library = dlopen(HIA_FAKE_BLAS, RTLD_NOW);
  cr_assert_not_null(library);
  *(void **)&calls = dlsym(library, "fake_calls");
  cr_assert_not_null(calls);
  calls();
}

typedef struct world {
  hia_engine *engine;
  hia_module *module;
} world;

/* False if this build lacks the engine. */
static bool begin(world *w, way how, bool is_fast) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = how.kind;
  options.threads = how.threads;
  if (is_fast) options.flags |= HIA_FLAG_FAST_PRODUCTS;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  if (how.kind == HIA_ENGINE_JIT && hia_engine_native(w->engine, NULL) != HIA_OK) {
    hia_engine_free(w->engine);
    return false;
  }
  cr_assert_eq(hia_module_load_text(w->engine, "fast.hia", text, strlen(text), &w->module, NULL),
               HIA_OK);
  return true;
}

static void end(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static hia_value *call(const world *w, const char *name) {
  hia_function *f;
  hia_value *result;
  hia_error *error;
  cr_assert_eq(hia_module_function(w->module, name, &f, NULL), HIA_OK);
  cr_assert_eq(hia_call(f, NULL, 0, &result, &error), HIA_OK, "%s", hia_error_text(error));
  return result;
}

/* The elements of a tensor. */
typedef struct elements {
  hia_value *value;
  const void *at;
  size_t n, size; /* of an element */
} elements;

static elements elements_of(hia_value *value) {
  const hia_type_info *type = hia_value_type(value);
  hia_dtype dtype;
  cr_assert_eq(hia_type_info_dtype(hia_type_info_element(type), &dtype), HIA_OK);
  size_t rank = hia_type_info_rank(type);
  int64_t dims[8];
  elements e = {.value = value, .n = 1, .size = dtype == HIA_F64 || dtype == HIA_I64 ? 8 : 4};
  cr_assert_eq(hia_value_tensor(value, dtype, rank, &e.at, dims), HIA_OK);
  for (size_t i = 0; i < rank; i++) e.n *= (size_t)dims[i];
  return e;
}

static elements compute(way how, bool is_fast, const char *name) {
  world w;
  if (!begin(&w, how, is_fast)) return (elements){0};
  hia_value *made = call(&w, name);
  elements e = elements_of(made), copy = e;
  void *bytes = malloc(e.n * e.size);
  cr_assert_not_null(bytes);
  memcpy(bytes, e.at, e.n * e.size);
  copy.value = NULL;
  copy.at = bytes;
  hia_value_free(made);
  end(&w);
  return copy;
}

static bool is_same(const elements *a, const elements *b) {
  return a->n == b->n && a->size == b->size && memcmp(a->at, b->at, a->n * a->size) == 0;
}

static void free_elements(elements *e) { free((void *)(uintptr_t)e->at); }

enum { EVERY = HIA_TEST_SHARE > 4 ? 3 : 1 }; /* with AddressSanitizer a third of the programs */

Test(engine_fast, all_engines_return_the_same) {
  use_fake();
  for (size_t i = 0; i < N_FAST; i += EVERY) {
    elements usual = compute(ways[0], false, fast[i]);
    cr_assert_eq(calls(), 0);
    elements first = compute(ways[0], true, fast[i]);
    int n = calls();
    cr_assert_gt(n, 0, "%s", fast[i]);
    cr_assert(!is_same(&usual, &first), "%s: the library was not used", fast[i]);
    for (size_t k = 1; k < N_WAYS; k++) {
      elements e = compute(ways[k], true, fast[i]);
      if (!e.at) continue;
      cr_assert(is_same(&first, &e), "%s, engine %d, %u threads", fast[i], (int)ways[k].kind,
                ways[k].threads);
      cr_assert_eq(calls(), n);
      free_elements(&e);
    }
    free_elements(&usual);
    free_elements(&first);
  }
}

Test(engine_fast, sizes_decide) {
  use_fake();
  for (size_t i = 0; i < N_NEVER; i += EVERY)
    for (size_t k = 0; k < N_WAYS; k++) {
      elements usual = compute(ways[k], false, never_fast[i]);
      elements e = compute(ways[k], true, never_fast[i]);
      if (!e.at) continue;
      cr_assert(is_same(&usual, &e), "%s", never_fast[i]);
      cr_assert_eq(calls(), 0, "%s", never_fast[i]);
      free_elements(&e);
      free_elements(&usual);
    }
}

Test(engine_fast, without_the_library_nothing_changes) {
  cr_assert_not(hiaR_blas_use("libthere-is-no-such-library.so.0"));
  cr_assert_not(hiaR_blas_open());
  for (size_t k = 0; k < N_WAYS; k++) {
    elements usual = compute(ways[k], false, "layers"), e = compute(ways[k], true, "layers");
    if (!e.at) continue;
    cr_assert(is_same(&usual, &e));
    free_elements(&e);
    free_elements(&usual);
  }
  /* libm is a library, but has no products. */
  cr_assert_not(hiaR_blas_use("libm.so.6"));
}

/* An element is off by at most k * eps * sum(|a| * |b|), computed here in long double. */
static void check_error(bool is_f64, const char *library) {
  enum { M = 300, N = 270, K = 530 };
  elements a = compute(ways[0], false, "left"), b = compute(ways[0], false, "right");
  elements z = compute(ways[0], true, is_f64 ? "doubled" : "plain");
  cr_assert(a.n == M * K && b.n == K * N && z.n == M * N && z.size == (is_f64 ? 8 : 4));
  const float *x = a.at, *y = b.at;
  long double eps = is_f64 ? 0x1p-52L : 0x1p-23L;
  for (size_t i = 0; i < M; i += HIA_TEST_SHARE)
    for (size_t j = 0; j < N; j++) {
      long double sum = 0, all = 0;
      for (size_t p = 0; p < K; p++) {
        long double product = (long double)x[i * K + p] * y[p * N + j];
        sum += product, all += fabsl(product);
      }
      double is = is_f64 ? ((const double *)z.at)[i * N + j] : ((const float *)z.at)[i * N + j];
      cr_assert(fabsl(is - sum) <= (long double)K * eps * all, "%s, %zu %zu: %.17g, not %.17g",
                library, i, j, is, (double)sum);
    }
  free_elements(&a);
  free_elements(&b);
  free_elements(&z);
}

Test(engine_fast, the_error_is_as_stated) {
  use_fake();
  for (int is_f64 = 0; is_f64 < 2; is_f64++) check_error(is_f64, "fake");
  if (!hiaR_blas_use(NULL)) cr_skip("OpenBLAS is not installed");
  for (int is_f64 = 0; is_f64 < 2; is_f64++) check_error(is_f64, "OpenBLAS");
}

/* OpenBLAS itself, too, does not depend on what the other workers of the run compute. */
Test(engine_fast, the_same_in_all_engines_with_openblas) {
  if (!hiaR_blas_use(NULL)) cr_skip("OpenBLAS is not installed");
  for (size_t i = 0; i < N_FAST; i += EVERY) {
    elements first = compute(ways[0], true, fast[i]);
    for (size_t k = 1; k < N_WAYS; k++) {
      elements e = compute(ways[k], true, fast[i]);
      if (!e.at) continue;
      cr_assert(is_same(&first, &e), "%s, engine %d, %u threads", fast[i], (int)ways[k].kind,
                ways[k].threads);
      free_elements(&e);
    }
    free_elements(&first);
  }
}

/* ---- contexts of hosts ---- */

typedef hia_status (*entry)(hia_context *, hia_value **);

static elements call_entry(const world *w, hia_context *context) {
  hia_function *f;
  hia_native_fn made;
  hia_value *result;
  cr_assert_eq(hia_module_function(w->module, "plain", &f, NULL), HIA_OK);
  cr_assert_eq(hia_function_entry(f, &made, NULL), HIA_OK);
  cr_assert_eq(((entry)made)(context, &result), HIA_OK);
  return elements_of(result);
}

/* The engine's option goes with its code, and a context's with its calls. */
Test(engine_fast, contexts) {
  use_fake();
  for (int of_engine = 0; of_engine < 2; of_engine++)
    for (int of_context = 0; of_context < 3; of_context++) {
      world w;
      if (!begin(&w, (way){HIA_ENGINE_JIT, 1}, of_engine)) return;
      hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
      if (of_context == 1) options.flags |= HIA_CONTEXT_FAST_PRODUCTS;
      hia_context *context;
      if (of_context == 2)
        cr_assert_eq(hia_engine_context_new(w.engine, &context, NULL), HIA_OK);
      else
        cr_assert_eq(hia_context_new(&options, &context), HIA_OK);
      for (int k = 0; k < 2; k++) {
        elements e = call_entry(&w, context);
        bool is_fast = of_engine || of_context == 1;
        cr_assert_eq(calls() > 0, is_fast, "%d %d", of_engine, of_context);
        hia_value_free(e.value);
      }
      hia_context_free(context);
      end(&w);
    }
}
