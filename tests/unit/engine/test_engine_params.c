/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The params of a module, through the C API (hiaton/params.h). */
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char text[] = "param W: f32[3, 4] = uniform(-1, 1)\n"
                           "param s: f64 = 2\n"
                           "param E: f64[2] = normal(0, 1)\n"
                           "fn total() = sum(W)\n"
                           "fn both() = (sum(E), s)\n"
                           "fn at(x: f32[3]) = x @ W\n";

static hia_engine *engine;
static hia_module *module;

static void open_with(hia_engine_kind kind) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(engine, "p.hia", text, strlen(text), &module, NULL), HIA_OK);
}

static void close_all(void) {
  hia_module_free(module);
  hia_engine_free(engine);
}

static hia_value *call(const char *name) {
  hia_function *f;
  hia_value *result;
  cr_assert_eq(hia_module_function(module, name, &f, NULL), HIA_OK);
  cr_assert_eq(hia_run(f, NULL, 0, NULL, &result, NULL), HIA_OK);
  return result;
}

static float total(void) {
  float x;
  hia_value *value = call("total");
  cr_assert_eq(hia_value_get_f32(value, &x), HIA_OK);
  hia_value_free(value);
  return x;
}

static double get_s(void) {
  double s;
  hia_value *value = call("both"), *part = hia_value_part(value, 1);
  cr_assert_eq(hia_value_get_f64(part, &s), HIA_OK);
  hia_value_free(part);
  hia_value_free(value);
  return s;
}

static hia_value *w_of(float first) {
  float elements[12];
  for (int i = 0; i < 12; i++) elements[i] = first;
  hia_value *value;
  cr_assert_eq(hia_data_tensor(NULL, hia_module_param_type(module, 0),
                               hia_params_dims(hia_module_params(module), 0), elements, &value,
                               NULL),
               HIA_OK);
  return value;
}

static void fails(hia_status status, hia_error *error, hia_status wanted, const char *message) {
  cr_assert_eq(status, wanted);
  cr_assert(strstr(hia_error_message(error, 0), message), "%s", hia_error_message(error, 0));
  hia_error_free(error);
}

Test(engine_params, looked_at) {
  open_with(HIA_ENGINE_INTERP);
  cr_assert_eq(hia_params_count(hia_module_params(module)), 3);
  cr_assert_str_eq(hia_params_name(hia_module_params(module), 1), "s");
  cr_assert_eq(hia_params_find(hia_module_params(module), "E"), 2);
  cr_assert_eq(hia_params_find(hia_module_params(module), "e"), 3);
  cr_assert_eq(hia_type_info_rank(hia_module_param_type(module, 0)), 2);
  cr_assert_eq(hia_params_dims(hia_module_params(module), 0)[1], 4);
  cr_assert_null(hia_params_dims(hia_module_params(module), 1));
  hia_value *w, *s;
  cr_assert_eq(hia_module_param(module, 0, &w, NULL), HIA_OK);
  float sum = 0;
  for (int i = 0; i < 12; i++) sum += ((const float *)hia_value_elements(w))[i];
  cr_assert_float_eq(sum, total(), 1e-5);
  cr_assert_eq(hia_module_param(module, 1, &s, NULL), HIA_OK);
  double x;
  cr_assert(hia_value_get_f64(s, &x) == HIA_OK && x == 2);
  hia_value_free(s);
  close_all();
  cr_assert_eq(hia_value_dims(w)[0], 3); /* the value outlives the module */
  hia_value_free(w);
}

Test(engine_params, set_and_seeded) {
  for (int kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_EXPAND; kind++) {
    open_with((hia_engine_kind)kind);
    float before = total();
    hia_value *w = w_of(0.5f), *s;
    cr_assert_eq(hia_module_set_param(module, 0, w, NULL), HIA_OK);
    hia_value_free(w);
    cr_assert_eq(total(), 6);
    cr_assert_eq(get_s(), 2);
    s = hia_value_f64(engine, 8);
    cr_assert_eq(hia_module_set_param(module, 1, s, NULL), HIA_OK);
    cr_assert_eq(get_s(), 8);
    hia_error *error;
    hia_status status = hia_module_set_param(module, 0, s, &error);
    fails(status, error, HIA_ARGUMENT, "the param `W` is f32[3, 4], the value f64");
    hia_value *e;
    cr_assert_eq(hia_module_param(module, 2, &e, NULL), HIA_OK);
    status = hia_module_set_param(module, 0, e, &error);
    fails(status, error, HIA_ARGUMENT, "the param `W` is f32[3, 4], the value f64[2]");
    status = hia_module_set_param(module, 0, NULL, &error);
    fails(status, error, HIA_ARGUMENT, "no value");
    status = hia_module_set_param(module, 3, e, &error);
    fails(status, error, HIA_NOT_FOUND, "has 3");
    status = hia_module_param(module, 0, NULL, &error);
    fails(status, error, HIA_ARGUMENT, "no place");
    hia_value_free(e);
    hia_value_free(s);
    cr_assert_eq(total(), 6);
    cr_assert_eq(hia_params_seed(hia_module_params(module), 0, NULL), HIA_OK);
    cr_assert(total() == before && get_s() == 2);
    cr_assert_eq(hia_params_seed(hia_module_params(module), 1, NULL), HIA_OK);
    cr_assert_neq(total(), before);
    close_all();
  }
}

/* The handle does for a module what it does for an object file: elements in and out, and the first
 * values again. */
Test(engine_params, through_their_handle) {
  for (int kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_EXPAND; kind++) {
    open_with((hia_engine_kind)kind);
    hia_params *params = hia_module_params(module);
    float before = total(), elements[12], back[12];
    for (int i = 0; i < 12; i++) elements[i] = (float)i;
    const int64_t dims[] = {3, 4}, turned[] = {4, 3};
    hia_dtype dtype;
    cr_assert(hia_params_dtype(params, 0, &dtype) == HIA_OK && dtype == HIA_F32);
    cr_assert(hia_params_rank(params, 0) == 2 && hia_params_size(params, 0) == sizeof elements);
    cr_assert_eq(hia_params_set(params, 0, HIA_F32, 2, dims, elements, NULL), HIA_OK);
    cr_assert_eq(total(), 66);
    cr_assert_eq(hia_params_get(params, 0, back, sizeof back, NULL), HIA_OK);
    cr_assert_eq(memcmp(back, elements, sizeof back), 0);
    hia_error *error;
    hia_status status = hia_params_set(params, 0, HIA_F32, 2, turned, elements, &error);
    fails(status, error, HIA_ARGUMENT, "the param `W` is f32[3, 4], the value f32[4, 3]");
    status = hia_params_get(params, 0, back, 4, &error);
    fails(status, error, HIA_ARGUMENT, "takes 48 bytes, not 4");
    status = hia_params_get(params, 3, back, sizeof back, &error);
    fails(status, error, HIA_NOT_FOUND, "has 3");
    cr_assert_eq(total(), 66);
    hia_params_reset(params);
    cr_assert_eq(total(), before);
    close_all();
  }
}

Test(engine_params, files) {
  char path[] = "/tmp/hiaton_params_XXXXXX";
  int fd = mkstemp(path);
  cr_assert_geq(fd, 0);
  close(fd);
  open_with(HIA_ENGINE_JIT);
  cr_assert_eq(hia_params_seed(hia_module_params(module), 3, NULL), HIA_OK);
  float seeded = total();
  cr_assert_eq(hia_params_save(hia_module_params(module), path, NULL), HIA_OK);
  cr_assert_eq(hia_params_seed(hia_module_params(module), 4, NULL), HIA_OK);
  cr_assert_neq(total(), seeded);
  cr_assert_eq(hia_params_load(hia_module_params(module), path, NULL), HIA_OK);
  cr_assert_eq(total(), seeded);
  hia_error *error;
  hia_status status = hia_params_load(hia_module_params(module), "/none/of/these", &error);
  fails(status, error, HIA_IO, "/none/of/these: No such file");
  status = hia_params_save(hia_module_params(module), "/none/of/these", &error);
  fails(status, error, HIA_IO, "/none/of/these");
  FILE *file = fopen(path, "r+");
  fputc(1, file);
  fclose(file);
  status = hia_params_load(hia_module_params(module), path, &error);
  fails(status, error, HIA_ARGUMENT, path);
  cr_assert_eq(total(), seeded); /* what fails has changed nothing */
  remove(path);
  close_all();
}

/* Each run sees one state: all elements of W are equal in it. */
static void *set_often(void *arg) {
  const float *own = arg;
  hia_value *w = w_of(*own);
  for (int i = 0; i < 200; i++) hia_module_set_param(module, 0, w, NULL);
  hia_value_free(w);
  return NULL;
}

Test(engine_params, one_state_a_run) {
  open_with(HIA_ENGINE_JIT);
  pthread_t threads[2];
  float values[2] = {1, 2}, zero = 0;
  set_often(&zero);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, set_often, &values[i]);
  for (int i = 0; i < 300; i++) {
    float x = total();
    cr_assert(x == 0 || x == 12 || x == 24, "%g", (double)x);
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  close_all();
}

/* A typed entry reads them too. */
Test(engine_params, entries) {
  open_with(HIA_ENGINE_JIT);
  hia_function *f;
  hia_native_fn entry;
  hia_context *context;
  double e, s;
  cr_assert_eq(hia_module_function(module, "both", &f, NULL), HIA_OK);
  cr_assert_eq(hia_function_entry(f, &entry, NULL), HIA_OK);
  cr_assert_eq(hia_engine_context_new(engine, &context, NULL), HIA_OK);
  hia_status (*both)(hia_context *, double *, double *) =
      (hia_status(*)(hia_context *, double *, double *))entry;
  cr_assert_eq(both(context, &e, &s), HIA_OK);
  cr_assert_eq(s, 2);
  hia_value *value = hia_value_f64(engine, 5);
  cr_assert_eq(hia_module_set_param(module, 1, value, NULL), HIA_OK);
  hia_value_free(value);
  cr_assert_eq(both(context, &e, &s), HIA_OK);
  cr_assert_eq(s, 5);
  hia_context_free(context);
  close_all();
}

/* The values that the first call makes outlive the context of that call, and its allocator. */
Test(engine_params, belong_to_no_context) {
  open_with(HIA_ENGINE_JIT);
  hia_function *f;
  hia_native_fn entry;
  hia_context *context;
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.allocator = &heap.allocator;
  cr_assert_eq(hia_module_function(module, "total", &f, NULL), HIA_OK);
  cr_assert_eq(hia_function_entry(f, &entry, NULL), HIA_OK);
  cr_assert_eq(hia_context_new(&options, &context), HIA_OK);
  float x;
  cr_assert_eq(((hia_status(*)(hia_context *, float *))entry)(context, &x), HIA_OK);
  hia_context_free(context);
  cr_assert_eq(heap.blocks, 0);
  cr_assert_eq(x, total());
  close_all();
}

/* A module that was read as a graph has them, in the same order. */
static bool add(void *user, const char *bytes, size_t len) {
  return fwrite(bytes, 1, len, user) == len;
}

Test(engine_params, of_graphs) {
  open_with(HIA_ENGINE_INTERP);
  float before = total();
  hia_dump_options options = HIA_DUMP_OPTIONS_INIT;
  char *dumped;
  size_t len;
  FILE *file = open_memstream(&dumped, &len);
  options.stage = HIA_STAGE_STATIC;
  cr_assert_eq(hia_module_dump(module, NULL, 0, &options, add, file, NULL), HIA_OK);
  fclose(file);
  hia_module_free(module);
  cr_assert_eq(hia_module_load_ir(engine, "p.ir", dumped, len, &module, NULL), HIA_OK);
  free(dumped);
  cr_assert_eq(hia_params_find(hia_module_params(module), "s"), 1);
  hia_function *f;
  hia_value *value;
  float x;
  cr_assert_eq(hia_module_function(module, "total()", &f, NULL), HIA_OK);
  cr_assert_eq(hia_run(f, NULL, 0, NULL, &value, NULL), HIA_OK);
  cr_assert(hia_value_get_f32(value, &x) == HIA_OK && x == before);
  hia_value_free(value);
  close_all();
}
