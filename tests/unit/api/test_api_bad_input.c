/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Bad input at the public API: handles that do not belong together, and wrong arguments; and that
 * the tests try every function. Null handles and pointers: test_api_bad_input_null.c; options of
 * other versions: test_api_bad_input_options.c. */
#include "tests/unit/helpers/api_bad_input.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/text.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what a host gives to an engine ---- */

static hia_status failing(int32_t x, int32_t *result) {
  *result = x;
  return HIA_HOST;
}

Test(api_bad_input, host_functions) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_host_function function = HIA_HOST_FUNCTION_INIT;
  function.declaration = "extern fn failing(x: i32) -> i32";
  function.function = (void (*)(void))failing;
  function.returns_status = true;
  REFUSED(HIA_ARGUMENT, "engine", hia_engine_register, NULL, &function);
  REFUSED(HIA_ARGUMENT, "", hia_engine_register, w.engine, NULL);
  LATER(hia_host_function) later = {.now = function};
  later.now.size = sizeof later;
  later.more[3] = 1;
  REFUSED(HIA_ARGUMENT, "version", hia_engine_register, w.engine, &later.now);
  later.now.size = SIZE_MAX;
  REFUSED(HIA_ARGUMENT, "version", hia_engine_register, w.engine, &later.now);
  hia_host_function bad = function;
  bad.function = NULL;
  REFUSED(HIA_ARGUMENT, "", hia_engine_register, w.engine, &bad);
  bad = function;
  static const char *const declarations[] = {NULL,
                                             "",
                                             "failing",
                                             "fn f(x: i32) -> i32 = x",
                                             "extern fn f(x: i33) -> i32",
                                             "extern fn f(x) -> i32"};
  for (size_t i = 0; i < sizeof declarations / sizeof declarations[0]; i++) {
    bad.declaration = declarations[i];
    cr_assert_eq(hia_engine_register(w.engine, &bad, &error), HIA_ARGUMENT, "declaration %zu", i);
    cr_assert_neq(hia_error_text(error)[0], 0);
    hia_error_free(error);
    error = NULL;
  }
  cr_assert_eq(hia_engine_register(w.engine, &function, &error), HIA_OK);
  REFUSED(HIA_ARGUMENT, "failing", hia_engine_register, w.engine, &function); /* twice */
  hia_module *module;
  static const char undeclared[] = "extern fn nosuch(x: i32) -> i32\nfn f(x: i32) = nosuch(x)\n";
  cr_assert_neq(
      hia_module_load_text(w.engine, "t", undeclared, strlen(undeclared), &module, &error), HIA_OK);
  cr_assert_not_null(strstr(hia_error_text(error), "nosuch"));
  hia_error_free(error);
  error = NULL;
  close_world(&w);
}

/* An allocator lacks one of its functions. */
Test(api_bad_input, incomplete_allocators) {
  for (int missing = 0; missing < 3; missing++) {
    test_heap heap;
    test_heap_init(&heap, -1);
    if (missing == 0) heap.allocator.alloc = NULL;
    if (missing == 1) heap.allocator.resize = NULL;
    if (missing == 2) heap.allocator.free = NULL;
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    options.kind = HIA_ENGINE_JIT;
    options.allocator = &heap.allocator;
    hia_engine *engine;
    REFUSED(HIA_ARGUMENT, "allocator", hia_engine_new, &options, &engine);
    cr_assert_null(hia_cancel_new(&heap.allocator));
    cr_assert_null(hia_timeline_new(&heap.allocator, 1));
  }
}

/* ---- handles that do not belong together ---- */

/* Values are data, whose engine only provides their memory. Functions and modules are not. */
Test(api_bad_input, handles_of_another_engine) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_EXPAND, HIA_ENGINE_JIT};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    world one, other;
    open_world(&one, kinds[k]);
    open_world(&other, HIA_ENGINE_INTERP);
    if (kinds[k] == HIA_ENGINE_JIT && hia_engine_native(one.engine, NULL) != HIA_OK) {
      close_world(&one);
      close_world(&other);
      continue;
    }
    hia_value *result, *parts[2] = {other.n, one.n}, *pair;
    hia_function *instance;
    int32_t x;
    cr_assert_eq(hia_call(one.fib, &other.n, 1, &result, NULL), HIA_OK);
    cr_assert_eq(hia_value_get_i32(result, &x), HIA_OK);
    cr_assert_eq(x, 21);
    hia_value_free(result);
    cr_assert_eq(hia_function_instance(one.fact, &other.n, 1, &instance, NULL), HIA_OK);
    cr_assert_str_eq(hia_function_name(instance), "fact(i32)");
    cr_assert_not_null(pair = hia_value_tuple(one.engine, parts, 2));
    /* What it is made of may be gone. */
    REFUSED(HIA_ARGUMENT, "function 1 is not of this module", hia_module_dump, one.module,
            &other.fib, 1, NULL, test_text_take, NULL);
    close_world(&other);
    char buf[16];
    hia_value_format(pair, buf, sizeof buf);
    cr_assert_str_eq(buf, "(7, 7)");
    hia_value_free(pair);
    close_world(&one);
  }
}

/* ---- arguments that do not fit ---- */

Test(api_bad_input, arguments_that_do_not_fit) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *result;
  hia_function *function;
  hia_value *two[2] = {w.n, w.n};
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not 0", hia_call, w.fib, NULL, 0, &result);
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not 2", hia_call, w.fib, two, 2, &result);
  REFUSED(HIA_ARGUMENT, "takes 0 arguments, not 1", hia_call, w.zero, two, 1, &result);
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not", hia_call, w.fib, two, SIZE_MAX, &result);
  REFUSED(HIA_ARGUMENT, "takes 1 argument, not 2", hia_function_instance, w.fact, two, 2,
          &function);
  hia_value *others[] = {hia_value_bool(w.engine, true), hia_value_i64(w.engine, 7),
                         hia_value_f32(w.engine, 7), hia_value_f64(w.engine, 7),
                         hia_value_tuple(w.engine, two, 2)};
  static const char *const types[] = {"type bool", "type i64", "type f32", "type f64",
                                      "type (i32, i32)"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    cr_assert_not_null(others[i]);
    REFUSED(HIA_ARGUMENT, types[i], hia_call, w.fib, &others[i], 1, &result);
    REFUSED(HIA_ARGUMENT, types[i], hia_run, w.swap, &others[i], 1, NULL, &result);
    hia_status status = hia_value_get_i32(others[i], &(int32_t){0});
    cr_assert_eq(status, HIA_ARGUMENT);
    hia_value_free(others[i]);
  }
  REFUSED(HIA_ARGUMENT, "type i32", hia_call, w.swap, &w.n, 1, &result);
  /* The types fit, the body does not. */
  hia_value *yes = hia_value_bool(w.engine, true);
  hia_status status = hia_call(w.fact, &yes, 1, &result, &error);
  cr_assert_eq(status, HIA_REJECTED);
  cr_assert_geq(hia_error_count(error), 1);
  hia_error_free(error);
  hia_value_free(yes);
  REFUSED(HIA_ARGUMENT, "generic", hia_function_prepare, w.fact);
  /* Everything still works. */
  cr_assert_eq(hia_call(w.fib, &w.n, 1, &result, NULL), HIA_OK);
  hia_value_free(result);
  close_world(&w);
}

/* ---- every function is tried ---- */

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  cr_assert_not_null(file, "%s", path);
  size_t len = 0, size = 1 << 20;
  char *bytes = malloc(size);
  cr_assert_not_null(bytes);
  len = fread(bytes, 1, size - 1, file);
  cr_assert_lt(len, size - 1, "%s is longer than was thought", path);
  bytes[len] = 0;
  fclose(file);
  return bytes;
}

static bool has_suffix(const char *name, const char *suffix) {
  size_t n = strlen(name), k = strlen(suffix);
  return n > k && strcmp(name + n - k, suffix) == 0;
}

/* The files of a folder with this ending, all in one text. */
static char *read_folder(const char *folder, const char *suffix) {
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir, "%s", folder);
  char *all = calloc(1, 1), path[4096];
  size_t len = 0;
  for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
    if (!has_suffix(e->d_name, suffix)) continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    char *bytes = read_file(path);
    size_t n = strlen(bytes);
    all = realloc(all, len + n + 1);
    cr_assert_not_null(all);
    memcpy(all + len, bytes, n + 1);
    len += n;
    free(bytes);
  }
  closedir(dir);
  return all;
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* True if it is called, or passed to REFUSED, with a NULL among the arguments. */
static bool is_tried(const char *tests, const char *name) {
  size_t len = strlen(name);
  for (const char *at = tests; (at = strstr(at, name)) != NULL; at += len) {
    if (is_word(at[len]) || (at > tests && is_word(at[-1]))) continue;
    if (at[len] != '(' && at[len] != ',') continue;
    const char *end = strchr(at, ';'), *null = strstr(at, "NULL");
    if (end && null && null < end) return true;
  }
  return false;
}

/* For every function of the public headers that takes a pointer some unit test passes NULL. */
Test(api_bad_input, every_function_is_tried) {
  char *headers = read_folder(HIA_SOURCE_DIR "/include/hiaton", ".h");
  char *tests[] = {read_folder(HIA_TEST_DIR "/unit/api", ".c"),
                   read_folder(HIA_TEST_DIR "/unit/engine", ".c"),
                   read_folder(HIA_TEST_DIR "/unit/frontend", ".c"),
                   read_folder(HIA_TEST_DIR "/unit/runtime", ".c")};
  unsigned n = 0;
  for (const char *at = headers; (at = strstr(at, "\nHIA_API ")) != NULL;) {
    at += strlen("\nHIA_API ");
    const char *open = strchr(at, '('), *end = strchr(at, ';');
    cr_assert(open && end && open < end);
    const char *start = open;
    while (start > at && is_word(start[-1])) start--;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(open - start), start);
    n++;
    const char *star = strchr(open, '*');
    bool tried = !star || star > end;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
      tried = tried || is_tried(tests[i], name);
    cr_assert(tried, "no unit test gives NULL to %s", name);
  }
  cr_assert_gt(n, 50);
  free(headers);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) free(tests[i]);
}
