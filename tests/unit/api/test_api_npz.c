/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Archives of NumPy for hosts: hia_npz, hia_data_load_npz, params. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char program[] = "param W: f64[2, 3] = uniform(-1, 1)\n"
                              "param s: f32 = 0.5\n"
                              "fn f(x: f64[?, ?], n: i32, t: (f64[?, ?], i32)) = x * f64(n)\n"
                              "fn all() = (W, s)\n"
                              "fn list(a: [(i32, f64)]) = len(a)\n"
                              "fn loss(x: f64[2, 3]) = sum(W * x) * f64(s)\n"
                              "fn gradients(x: f64[2, 3]) = (x, value_and_grad(loss)(x))\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  const hia_type_info *matrix, *i32, *tuple, *list;
  hia_value *values[2]; /* a matrix and -7 */
  test_text saved;      /* of both: x and y */
  hia_error *error;
} world;

static const double six[] = {1, 2.5, -0.0, 4, 5, 6};
static const char *const names[] = {"x", "y"};

static hia_function *function(const world *w, const char *name) {
  hia_function *f;
  cr_assert_eq(hia_module_function(w->module, name, &f, NULL), HIA_OK);
  return f;
}

static const hia_value *const *constant(hia_value *const *values) {
  return (const hia_value *const *)values;
}

static void open_world(world *w) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  *w = (world){.error = NULL};
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "t", program, strlen(program), &w->module, NULL),
               HIA_OK);
  w->matrix = hia_function_param_type(function(w, "f"), 0);
  w->i32 = hia_function_param_type(function(w, "f"), 1);
  w->tuple = hia_function_param_type(function(w, "f"), 2);
  w->list = hia_function_param_type(function(w, "list"), 0);
  cr_assert_eq(hia_data_tensor(NULL, w->matrix, (int64_t[]){2, 3}, six, &w->values[0], NULL),
               HIA_OK);
  w->values[1] = hia_value_i32(w->engine, -7);
  cr_assert_eq(hia_npz_save(NULL, names, constant(w->values), 2, test_text_take, &w->saved, NULL),
               HIA_OK);
}

static void close_world(world *w) {
  for (int i = 0; i < 2; i++) hia_value_free(w->values[i]);
  test_text_free(&w->saved);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static void expect_text(hia_value *value, const char *text) {
  char buf[256];
  hia_value_format(value, buf, sizeof buf);
  cr_expect_str_eq(buf, text);
  hia_value_free(value);
}
#define MATRIX "[[1.0, 2.5, -0.0], [4.0, 5.0, 6.0]]"

Test(api_npz, arrays_by_name) {
  world w;
  open_world(&w);
  hia_npz *npz;
  hia_value *value;
  cr_assert_eq(hia_npz_open(NULL, "a.npz", w.saved.data, w.saved.len, &npz, NULL), HIA_OK);
  cr_assert_eq(hia_npz_len(npz), 2);
  for (size_t i = 0; i < 2; i++) {
    cr_expect_str_eq(hia_npz_name(npz, i), names[i]);
    cr_expect_eq(hia_npz_find(npz, names[i]), i);
  }
  cr_expect_str_eq(hia_npz_name(npz, 2), "");
  cr_expect_eq(hia_npz_find(npz, "z"), 2);
  const hia_type_info *const types[] = {w.matrix, NULL};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(hia_npz_load(npz, 0, types[i], UINT64_MAX, &value, NULL), HIA_OK);
    cr_expect(hia_type_info_is_same(hia_value_type(value), w.matrix));
    expect_text(value, MATRIX);
    cr_assert_eq(hia_npz_load(npz, 1, i ? NULL : w.i32, 4, &value, NULL), HIA_OK);
    expect_text(value, "-7");
  }
  cr_assert_eq(hia_npz_load(npz, 0, NULL, 48, &value, NULL), HIA_OK);
  hia_npz_free(npz);
  expect_text(value, MATRIX); /* it does not need the archive */
  /* As an argument: by name, and the only one. */
  cr_assert_eq(hia_data_load_npz(NULL, w.i32, "a", w.saved.data, w.saved.len, "y", 4, &value, NULL),
               HIA_OK);
  expect_text(value, "-7");
  test_text one = {0};
  cr_assert_eq(hia_npz_save(NULL, names, constant(w.values), 1, test_text_take, &one, NULL),
               HIA_OK);
  cr_assert_eq(hia_data_load_npz(NULL, NULL, "a", one.data, one.len, NULL, 48, &value, NULL),
               HIA_OK);
  expect_text(value, MATRIX);
  test_text_free(&one);
  close_world(&w);
}

/* A name is found as a whole, whatever stands before it. */
Test(api_npz, names_that_begin_alike) {
  static const char *const alike[] = {"wide.bias", "wide", "w", "wi"};
  world w;
  open_world(&w);
  const hia_value *values[] = {w.values[0], w.values[1], w.values[0], w.values[1]};
  char path[] = "/tmp/hia_npz_XXXXXX";
  close(mkstemp(path));
  hia_npz *npz;
  cr_assert_eq(hia_npz_save_file(NULL, alike, values, 4, path, NULL), HIA_OK);
  cr_assert_eq(hia_npz_open_file(NULL, path, &npz, NULL), HIA_OK);
  for (size_t i = 0; i < 4; i++) cr_expect_eq(hia_npz_find(npz, alike[i]), i, "%s", alike[i]);
  cr_expect_eq(hia_npz_find(npz, "wide.bia"), 4);
  cr_expect_eq(hia_npz_find(npz, ""), 4);
  hia_npz_free(npz);
  unlink(path);
  close_world(&w);
}

Test(api_npz, files) {
  world w;
  open_world(&w);
  char path[] = "/tmp/hia_npz_XXXXXX";
  close(mkstemp(path));
  hia_npz *npz;
  hia_value *tuple, *back;
  cr_assert_eq(hia_npz_save_file(NULL, names, constant(w.values), 2, path, NULL), HIA_OK);
  cr_assert_eq(hia_npz_open_file(NULL, path, &npz, NULL), HIA_OK);
  cr_assert_eq(hia_npz_load(npz, hia_npz_find(npz, "x"), w.matrix, 48, &back, NULL), HIA_OK);
  expect_text(back, MATRIX);
  hia_npz_free(npz);
  /* A tuple, as np.savez names what has no name, and back; and one value. */
  test_text bytes = {0};
  tuple = hia_value_tuple(w.engine, w.values, 2);
  cr_assert_eq(hia_value_save_npz_file(tuple, path, NULL), HIA_OK);
  cr_assert(test_text_read(&bytes, path));
  cr_assert_eq(hia_data_load_npz(NULL, w.tuple, path, bytes.data, bytes.len, NULL, 52, &back, NULL),
               HIA_OK);
  expect_text(back, "(" MATRIX ", -7)");
  cr_assert_eq(hia_data_load_npz(NULL, w.tuple, path, bytes.data, bytes.len, NULL, 51, &back, NULL),
               HIA_MEMORY);
  test_text_free(&bytes);
  cr_assert_eq(hia_value_save_npz_file(w.values[1], path, NULL), HIA_OK);
  cr_assert_eq(hia_npz_open_file(NULL, path, &npz, NULL), HIA_OK);
  cr_expect_str_eq(hia_npz_name(npz, 0), "arr_0");
  hia_npz_free(npz);
  hia_value_free(tuple);
  unlink(path);
  close_world(&w);
}

Test(api_npz, params) {
  world w;
  open_world(&w);
  char folder[] = "/tmp/hia_npz_XXXXXX", path[64];
  cr_assert_not_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/p.npz", folder);
  hia_value *before, *after;
  cr_assert_eq(hia_params_seed(hia_module_params(w.module), 3, NULL), HIA_OK);
  cr_assert_eq(hia_run(function(&w, "all"), NULL, 0, NULL, &before, NULL), HIA_OK);
  cr_assert_eq(hia_params_save(hia_module_params(w.module), path, NULL), HIA_OK);
  cr_assert_eq(hia_params_seed(hia_module_params(w.module), 4, NULL), HIA_OK);
  cr_assert_eq(hia_params_load(hia_module_params(w.module), path, NULL), HIA_OK);
  cr_assert_eq(hia_run(function(&w, "all"), NULL, 0, NULL, &after, NULL), HIA_OK);
  char text[256];
  hia_value_format(before, text, sizeof text);
  expect_text(after, text);
  /* What fails changes nothing. */
  const char *const wrong[] = {"there is no tensor `W`",
                               "expected f64[2, 3], the tensor 'W' is i32",
                               "this is a .npy file, one array without a name"};
  for (int i = 0; i < 3; i++) {
    const char *other[] = {i == 1 ? "W" : "V"};
    cr_assert_eq(hia_npz_save_file(NULL, other, constant(&w.values[1]), 1, path, NULL), HIA_OK);
    if (i == 2) cr_assert_eq(hia_value_save_npy_file(w.values[1], path, NULL), HIA_OK);
    cr_expect_eq(hia_params_load(hia_module_params(w.module), path, &w.error), HIA_ARGUMENT);
    cr_expect(strstr(hia_error_text(w.error), wrong[i]), "%s", hia_error_text(w.error));
    hia_error_free(w.error);
    cr_assert_eq(hia_run(function(&w, "all"), NULL, 0, NULL, &after, NULL), HIA_OK);
    expect_text(after, text);
  }
  hia_value_free(before);
  unlink(path);
  rmdir(folder);
  close_world(&w);
}

#define REFUSED(status, part, ...)                                                                 \
  do {                                                                                             \
    w.error = NULL;                                                                                \
    cr_expect_eq(__VA_ARGS__, status);                                                             \
    cr_expect(w.error &&strstr(hia_error_text(w.error), part) != NULL, "%s",                       \
              w.error ? hia_error_text(w.error) : "no error");                                     \
    hia_error_free(w.error);                                                                       \
  } while (0)

Test(api_npz, wrong_archives) {
  world w;
  open_world(&w);
  const char *bytes = w.saved.data;
  size_t n = w.saved.len;
  hia_npz *npz = (hia_npz *)&w;
  hia_value *v = w.values[0];
  REFUSED(HIA_ARGUMENT, "no bytes", hia_npz_open(NULL, "a", NULL, 1, &npz, &w.error));
  cr_assert_null(npz);
  REFUSED(HIA_ARGUMENT, "no place", hia_npz_open(NULL, "a", bytes, n, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "this is no .npz file, at byte 0",
          hia_npz_open(NULL, NULL, NULL, 0, &npz, &w.error));
  REFUSED(HIA_ARGUMENT, "a.npz: error[argument]: the .npz file is damaged: it has no end record",
          hia_npz_open(NULL, "a.npz", bytes, n - 1, &npz, &w.error));
  REFUSED(HIA_ARGUMENT, "no path", hia_npz_open_file(NULL, NULL, &npz, &w.error));
  REFUSED(HIA_ARGUMENT, "no place", hia_npz_open_file(NULL, "a", NULL, &w.error));
  REFUSED(HIA_IO, "cannot read /nonexistent",
          hia_npz_open_file(NULL, "/nonexistent", &npz, &w.error));
  cr_assert_null(npz);
  cr_assert_eq(hia_npz_len(NULL), 0);
  cr_assert_eq(hia_npz_find(NULL, "x"), 0);
  cr_assert_str_eq(hia_npz_name(NULL, 0), "");
  hia_npz_free(NULL);
  REFUSED(HIA_ARGUMENT, "no archive", hia_npz_load(NULL, 0, NULL, 9, &v, &w.error));
  cr_assert_null(v);
  cr_assert_eq(hia_npz_open(NULL, "a.npz", bytes, n, &npz, NULL), HIA_OK);
  cr_assert_eq(hia_npz_find(npz, NULL), 2);
  REFUSED(HIA_ARGUMENT, "no place", hia_npz_load(npz, 0, NULL, 48, NULL, &w.error));
  REFUSED(HIA_NOT_FOUND, "there is no array 2: the archive has 2",
          hia_npz_load(npz, 2, NULL, 48, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "a.npz: error[argument]: expected i32, the tensor 'x' is f64[2, 3]",
          hia_npz_load(npz, 0, w.i32, 48, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "a tensor or a scalar, and (f64[?, ?], i32) is none",
          hia_npz_load(npz, 0, w.tuple, 48, &v, &w.error));
  for (int i = 0; i < 2; i++)
    REFUSED(HIA_MEMORY, "array 'x' has 48 bytes, and 47 may be used",
            hia_npz_load(npz, 0, i ? NULL : w.matrix, 47, &v, &w.error));
  hia_npz_free(npz);
  REFUSED(HIA_ARGUMENT, "no bytes",
          hia_data_load_npz(NULL, w.i32, "a", NULL, 1, "y", 9, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "no place",
          hia_data_load_npz(NULL, w.i32, "a", bytes, n, "y", 9, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "one array is wanted, and the file has 2: 'x', 'y'",
          hia_data_load_npz(NULL, w.i32, "a", bytes, n, NULL, 9, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "there is no array 'z'; there are 'x', 'y'",
          hia_data_load_npz(NULL, w.i32, "a", bytes, n, "z", 9, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "there is no array 'arr_0'; there are 'x', 'y'",
          hia_data_load_npz(NULL, w.tuple, "a", bytes, n, NULL, 9, &v, &w.error));
  REFUSED(HIA_ARGUMENT,
          ".npz has tensors and scalars, one or those of a tuple, and [(i32, f64)] is none",
          hia_data_load_npz(NULL, w.list, "a", bytes, n, NULL, 9, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "a tensor or a scalar, and (f64[?, ?], i32) is none",
          hia_data_load_npz(NULL, w.tuple, "a", bytes, n, "x", 9, &v, &w.error));
  cr_assert_null(v);
  close_world(&w);
}

Test(api_npz, wrong_values) {
  world w;
  open_world(&w);
  test_text out = {0};
  hia_value *list, *pair[2];
  cr_assert_eq(hia_data_read(NULL, w.list, NULL, "[(1, 2)]", 8, &list, NULL), HIA_OK);
  pair[0] = w.values[0];
  pair[1] = list;
  const hia_value *const *values = constant(w.values), *const *others = constant(pair);
  const hia_value *const none[] = {NULL, NULL};
  const char *const twice[] = {"x", "x"}, *const unnamed[] = {"x", NULL};
  REFUSED(HIA_ARGUMENT, "nothing to write with",
          hia_npz_save(NULL, names, values, 2, NULL, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "no names",
          hia_npz_save(NULL, NULL, values, 2, test_text_take, &out, &w.error));
  REFUSED(HIA_ARGUMENT, "no values",
          hia_npz_save(NULL, names, NULL, 2, test_text_take, &out, &w.error));
  REFUSED(HIA_ARGUMENT, "array 0 has no value",
          hia_npz_save(NULL, names, none, 2, test_text_take, &out, &w.error));
  REFUSED(HIA_ARGUMENT, "array 1 has no name",
          hia_npz_save(NULL, unnamed, values, 2, test_text_take, &out, &w.error));
  REFUSED(HIA_ARGUMENT, "the array 'x' is there twice",
          hia_npz_save(NULL, twice, values, 2, test_text_take, &out, &w.error));
  REFUSED(HIA_ARGUMENT, "a tensor or a scalar, and [(i32, f64)] is none",
          hia_npz_save(NULL, names, others, 2, test_text_take, &out, &w.error));
  cr_assert_eq(out.len, 0);
  REFUSED(HIA_IO, "", hia_npz_save(NULL, names, values, 2, test_text_refuse, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "no path", hia_npz_save_file(NULL, names, values, 2, NULL, &w.error));
  REFUSED(HIA_IO, "cannot write /nonexistent/a.npz: No such file",
          hia_npz_save_file(NULL, names, values, 2, "/nonexistent/a.npz", &w.error));
  REFUSED(HIA_IO, "cannot write /dev/full: No space left on device",
          hia_npz_save_file(NULL, names, values, 2, "/dev/full", &w.error));
  REFUSED(HIA_ARGUMENT, "no value", hia_value_save_npz_file(NULL, "/tmp/a.npz", &w.error));
  REFUSED(HIA_ARGUMENT, "no path", hia_value_save_npz_file(w.values[0], NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "one or those of a tuple, and [(i32, f64)] is none",
          hia_value_save_npz_file(list, "/tmp/a.npz", &w.error));
  REFUSED(HIA_IO, "cannot write /dev/full: No space left on device",
          hia_value_save_npz_file(w.values[0], "/dev/full", &w.error));
  /* An archive that fails takes nothing's place. */
  char path[] = "/tmp/hia_npz_XXXXXX";
  int file = mkstemp(path);
  cr_assert_eq(write(file, "before", 6), 6);
  close(file);
  REFUSED(HIA_ARGUMENT, "is there twice",
          hia_npz_save_file(NULL, twice, values, 2, path, &w.error));
  cr_assert(test_text_read(&out, path));
  cr_assert_str_eq(out.data, "before");
  test_text_free(&out);
  unlink(path);
  hia_value_free(list);
  close_world(&w);
}

/* ---- conversion, and names ---- */

Test(api_npz, conversion) {
  world w;
  open_world(&w);
  const hia_type_info *f64 = hia_type_info_part(hia_type_info_element(w.list), 1);
  const char *bytes = w.saved.data;
  size_t n = w.saved.len;
  hia_npz *npz;
  hia_value *v = NULL;
  cr_assert_eq(hia_npz_open(NULL, "a.npz", bytes, n, &npz, NULL), HIA_OK);
  REFUSED(HIA_ARGUMENT, "expected f64, the tensor 'y' is i32\n      = hint: elements are converted",
          hia_npz_load(npz, 1, f64, 8, &v, &w.error));
  cr_assert_eq(hia_npz_convert(npz, 1, f64, 8, &v, NULL), HIA_OK);
  expect_text(v, "-7.0");
  REFUSED(HIA_MEMORY, "array 'y' has 8 bytes, and 7 may be used",
          hia_npz_convert(npz, 1, f64, 7, &v, &w.error));
  cr_assert_eq(hia_npz_convert(npz, 0, NULL, 48, &v, NULL), HIA_OK); /* as it is */
  expect_text(v, MATRIX);
  REFUSED(HIA_ARGUMENT, "expected f64, the tensor 'x' is f64[2, 3]",
          hia_npz_convert(npz, 0, f64, 48, &v, &w.error));
  hia_npz_free(npz);
  cr_assert_eq(hia_data_convert_npz(NULL, f64, "a", bytes, n, "y", 8, &v, NULL), HIA_OK);
  expect_text(v, "-7.0");
  REFUSED(HIA_ARGUMENT, "no place",
          hia_data_convert_npz(NULL, f64, "a", bytes, n, "y", 8, NULL, &w.error));
  test_text npy = {0};
  cr_assert_eq(hia_value_save_npy(w.values[1], test_text_take, &npy, NULL), HIA_OK);
  cr_assert_eq(hia_data_convert_npy(NULL, f64, "a", npy.data, npy.len, &v, NULL), HIA_OK);
  expect_text(v, "-7.0");
  REFUSED(HIA_ARGUMENT, "expected f64, the file's tensor is i32",
          hia_data_load_npy(NULL, f64, "a", npy.data, npy.len, &v, &w.error));
  test_text_free(&npy);
  REFUSED(HIA_ARGUMENT, "no path", hia_data_convert_npy_file(NULL, f64, NULL, &v, &w.error));
  close_world(&w);
}

/* Saves a value with names, and compares those that the archive has. */
static void expect_names(const hia_value *value, const char *const *given, size_t n,
                         const char *const *wanted) {
  char path[] = "/tmp/hia_npz_XXXXXX";
  close(mkstemp(path));
  hia_npz *npz;
  cr_assert_eq(hia_value_save_npz_parts(value, given, n, path, NULL), HIA_OK);
  cr_assert_eq(hia_npz_open_file(NULL, path, &npz, NULL), HIA_OK);
  for (size_t i = 0; wanted[i]; i++) cr_expect_str_eq(hia_npz_name(npz, i), wanted[i]);
  hia_npz_free(npz);
  unlink(path);
}

Test(api_npz, names_of_parts) {
  world w;
  open_world(&w);
  hia_value *pair = hia_value_tuple(w.engine, w.values, 2);
  hia_value *parts[] = {pair, w.values[1]}, *all = hia_value_tuple(w.engine, parts, 2);
  cr_assert(all);
  expect_names(all, NULL, 0, (const char *const[]){"arr_0.0", "arr_0.1", "arr_1", NULL});
  expect_names(all, (const char *const[]){"a", NULL, "b"}, 3,
               (const char *const[]){"a", "arr_0.1", "b", NULL});
  expect_names(all, (const char *const[]){"a", NULL, "a"}, 3,
               (const char *const[]){"arr_0.0.a", "arr_0.1", "arr_1.a", NULL});
  expect_names(all, (const char *const[]){"arr_1", "x", "arr_0.0"}, 3,
               (const char *const[]){"arr_0.0.arr_1", "x", "arr_1.arr_0.0", NULL});
  expect_names(w.values[0], (const char *const[]){"W"}, 1, (const char *const[]){"W", NULL});
  const char *const two[] = {"a", "b"};
  REFUSED(HIA_ARGUMENT, "2 names for 3 parts",
          hia_value_save_npz_parts(all, two, 2, "/tmp/a.npz", &w.error));
  hia_value_free(all);
  hia_value_free(pair);
  /* Those of a result are known once the function has been made ready. */
  hia_function *f = function(&w, "gradients");
  const char *const *given = two;
  cr_assert_eq(hia_function_result_names(f, &given), 0);
  cr_assert_null(given);
  cr_assert_eq(hia_function_result_names(NULL, NULL), 0);
  hia_value *result;
  cr_assert_eq(hia_run(f, &w.values[0], 1, NULL, &result, NULL), HIA_OK);
  cr_assert_eq(hia_function_result_names(f, &given), 4);
  expect_names(result, given, 4, (const char *const[]){"arr_0", "value", "W", "s", NULL});
  hia_value_free(result);
  close_world(&w);
}

/* ---- memory ---- */

static world the_world;
static hia_status use(const hia_allocator *allocator) {
  hia_npz *npz;
  hia_value *v;
  test_text saved = {0};
  hia_status status =
      hia_npz_save(allocator, names, constant(the_world.values), 2, test_text_take, &saved, NULL);
  if (status == HIA_OK) {
    status = hia_npz_open(allocator, "a", saved.data, saved.len, &npz, NULL);
    if (status == HIA_OK) {
      status = hia_npz_load(npz, 0, NULL, 48, &v, NULL);
      hia_value_free(v);
      hia_npz_free(npz);
    }
  }
  if (status == HIA_OK) {
    status =
        hia_data_load_npz(allocator, the_world.i32, "a", saved.data, saved.len, "y", 4, &v, NULL);
    hia_value_free(v);
  }
  test_text_free(&saved);
  return status;
}

static char the_path[] = "/tmp/hia_npz_XXXXXX";
static hia_status use_file(const hia_allocator *allocator) {
  hia_npz *npz;
  hia_status status =
      hia_npz_save_file(allocator, names, constant(the_world.values), 2, the_path, NULL);
  if (status == HIA_OK) status = hia_npz_open_file(allocator, the_path, &npz, NULL);
  if (status == HIA_OK) hia_npz_free(npz);
  return status;
}

Test(api_npz, each_allocation_fails_once) {
  open_world(&the_world);
  cr_assert_geq(fail_each_allocation(use), 10);
  close(mkstemp(the_path));
  cr_assert_geq(fail_each_allocation(use_file), 5);
  unlink(the_path);
  close_world(&the_world);
}
