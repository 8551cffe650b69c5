/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of hosts from .npy files and to them. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char program[] = "fn f(x: f64[?, ?], n: i32, t: (i32, f64)) = x * f64(n)\n"
                              "fn same(x) = (x, 1)\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  const hia_type_info *matrix, *i32, *tuple;
  hia_error *error;
} world;

static void open_world(world *w) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  hia_function *f;
  w->error = NULL;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "t", program, strlen(program), &w->module, NULL),
               HIA_OK);
  cr_assert_eq(hia_module_function(w->module, "f", &f, NULL), HIA_OK);
  w->matrix = hia_function_param_type(f, 0);
  w->i32 = hia_function_param_type(f, 1);
  w->tuple = hia_function_param_type(f, 2);
}

static void close_world(world *w) {
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static void expect_text(const hia_value *value, const char *text, const char *type) {
  char buf[256];
  hia_value_format(value, buf, sizeof buf);
  cr_assert_str_eq(buf, text);
  hia_value_format_type(value, buf, sizeof buf);
  cr_assert_str_eq(buf, type);
}

static const double six[] = {1, 2.5, -0.0, 4, 5, 6};

static hia_value *make_matrix(const world *w) {
  hia_value *value;
  cr_assert_eq(hia_data_tensor(NULL, w->matrix, (int64_t[]){2, 3}, six, &value, NULL), HIA_OK);
  return value;
}

static test_text save(const hia_value *value) {
  test_text saved = {0};
  cr_assert_eq(hia_value_save_npy(value, test_text_take, &saved, NULL), HIA_OK);
  return saved;
}

Test(api_npy, there_and_back) {
  world w;
  open_world(&w);
  hia_value *matrix = make_matrix(&w), *scalar = hia_value_i32(w.engine, -7), *back;
  test_text saved = save(matrix), small = save(scalar);
  cr_assert_eq(saved.len, 128 + sizeof six);
  cr_assert_eq(memcmp(saved.data + 128, six, sizeof six), 0);
  /* Of a type, and of that in the file, without an engine too. */
  const hia_type_info *const types[] = {w.matrix, NULL};
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(hia_data_load_npy(hia_engine_allocator(w.engine), types[i], "a", saved.data,
                                   saved.len, &back, NULL),
                 HIA_OK);
    expect_text(back, "[[1.0, 2.5, -0.0], [4.0, 5.0, 6.0]]", "f64[?, ?]");
    cr_assert(hia_type_info_is_same(hia_value_type(back), w.matrix));
    hia_value_free(back);
    cr_assert_eq(hia_data_load_npy(NULL, i ? NULL : w.i32, "a", small.data, small.len, &back, NULL),
                 HIA_OK);
    expect_text(back, "-7", "i32");
    hia_value_free(back);
  }
  /* A value with a type of its own is an argument. */
  hia_function *generic, *instance;
  const hia_type_info *type;
  cr_assert_eq(hia_data_load_npy(NULL, NULL, "a", saved.data, saved.len, &back, NULL), HIA_OK);
  type = hia_value_type(back);
  cr_assert_eq(hia_module_function(w.module, "same", &generic, NULL), HIA_OK);
  cr_assert_eq(hia_function_instance_of(generic, &type, 1, &instance, NULL), HIA_OK);
  hia_value *result;
  cr_assert_eq(hia_run(instance, &back, 1, NULL, &result, NULL), HIA_OK);
  hia_value_free(back);
  expect_text(result, "([[1.0, 2.5, -0.0], [4.0, 5.0, 6.0]], 1)", "(f64[?, ?], i32)");
  hia_value_free(result);
  hia_value_free(matrix);
  hia_value_free(scalar);
  test_text_free(&saved);
  test_text_free(&small);
  close_world(&w);
}

Test(api_npy, files) {
  world w;
  open_world(&w);
  hia_value *matrix = make_matrix(&w), *back;
  char path[] = "/tmp/hia_npy_XXXXXX";
  close(mkstemp(path));
  cr_assert_eq(hia_value_save_npy_file(matrix, path, NULL), HIA_OK);
  cr_assert_eq(hia_data_load_npy_file(NULL, NULL, path, &back, NULL), HIA_OK);
  expect_text(back, "[[1.0, 2.5, -0.0], [4.0, 5.0, 6.0]]", "f64[?, ?]");
  hia_value_free(back);
  cr_assert_eq(hia_data_load_npy_file(hia_engine_allocator(w.engine), w.matrix, path, &back, NULL),
               HIA_OK);
  hia_value_free(back);
  unlink(path);
  hia_value_free(matrix);
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

static bool refuse(void *user, const char *bytes, size_t n) {
  (void)user, (void)bytes, (void)n;
  return false;
}

Test(api_npy, wrong_input) {
  world w;
  open_world(&w);
  hia_value *matrix = make_matrix(&w), *tuple, *v = matrix;
  test_text saved = save(matrix);
  const char *bytes = saved.data;
  size_t n = saved.len;
  REFUSED(HIA_ARGUMENT, "no bytes", hia_data_load_npy(NULL, NULL, "a", NULL, 1, &v, &w.error));
  cr_assert_null(v);
  REFUSED(HIA_ARGUMENT, "no place", hia_data_load_npy(NULL, NULL, "a", bytes, n, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "this is no .npy file, at byte 0",
          hia_data_load_npy(NULL, NULL, NULL, NULL, 0, &v, &w.error));
  REFUSED(HIA_ARGUMENT,
          "a.npy: error[argument]: the .npy file is damaged: its shape needs 48 bytes",
          hia_data_load_npy(NULL, NULL, "a.npy", bytes, n - 1, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "expected i32, the file's tensor is f64[2, 3]",
          hia_data_load_npy(NULL, w.i32, "a", bytes, n, &v, &w.error));
  REFUSED(HIA_ARGUMENT, ".npy has a tensor or a scalar, and (i32, f64) is neither",
          hia_data_load_npy(NULL, w.tuple, "a", bytes, n, &v, &w.error));
  REFUSED(HIA_ARGUMENT, "no path", hia_data_load_npy_file(NULL, NULL, NULL, &v, &w.error));
  REFUSED(HIA_IO, "cannot read /nonexistent",
          hia_data_load_npy_file(NULL, NULL, "/nonexistent", &v, &w.error));
  cr_assert_null(v);
  REFUSED(HIA_ARGUMENT, "no value", hia_value_save_npy(NULL, test_text_take, &saved, &w.error));
  REFUSED(HIA_ARGUMENT, "nothing to write with", hia_value_save_npy(matrix, NULL, NULL, &w.error));
  REFUSED(HIA_IO, "", hia_value_save_npy(matrix, refuse, NULL, &w.error));
  REFUSED(HIA_ARGUMENT, "no value", hia_value_save_npy_file(NULL, "/tmp/a", &w.error));
  REFUSED(HIA_ARGUMENT, "no path", hia_value_save_npy_file(matrix, NULL, &w.error));
  REFUSED(HIA_IO, "cannot write /nonexistent/a.npy: No such file",
          hia_value_save_npy_file(matrix, "/nonexistent/a.npy", &w.error));
  REFUSED(HIA_IO, "cannot write /dev/full: No space left on device",
          hia_value_save_npy_file(matrix, "/dev/full", &w.error));
  cr_assert_eq(hia_data_read(NULL, w.tuple, NULL, "(1, 2.5)", 8, &tuple, NULL), HIA_OK);
  REFUSED(HIA_ARGUMENT, "(i32, f64) is neither",
          hia_value_save_npy(tuple, test_text_take, &saved, &w.error));
  REFUSED(HIA_ARGUMENT, "(i32, f64) is neither",
          hia_value_save_npy_file(tuple, "/tmp/a", &w.error));
  hia_value_free(tuple);
  hia_value_free(matrix);
  test_text_free(&saved);
  close_world(&w);
}

/* ---- memory ---- */

static test_text the_bytes;
static hia_status use(const hia_allocator *allocator) {
  hia_value *v;
  hia_status status =
      hia_data_load_npy(allocator, NULL, "a", the_bytes.data, the_bytes.len, &v, NULL);
  hia_value_free(v);
  return status;
}

Test(api_npy, each_allocation_fails_once) {
  world w;
  open_world(&w);
  hia_value *matrix = make_matrix(&w);
  the_bytes = save(matrix);
  cr_assert_geq(fail_each_allocation(use), 3);
  test_text_free(&the_bytes);
  hia_value_free(matrix);
  close_world(&w);
}
