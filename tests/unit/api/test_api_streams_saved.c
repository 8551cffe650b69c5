/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of saved arrays (hia_stream_open_saved): the same results as with the array, and files
 * that are wrong. */
#include "runtime/format/file.h"
#include "tests/unit/helpers/api_streams.h"

/* As runtime/format/file.h says: the hash is that of all before it. */
static void fix_hash(char *bytes, size_t n) {
  hia_file_hash hash = {0};
  hiaR_file_hash_add(&hash, bytes, n - 8);
  uint64_t end = hiaR_file_hash_end(&hash);
  memcpy(bytes + n - 8, &end, 8);
}

static void expect_no_array(const hia_type_info *type, const char *at, hia_status expected,
                            const char *why) {
  hia_stream *stream;
  hia_error *error;
  cr_expect_eq(hia_stream_open_saved(NULL, type, at, &stream, &error), expected);
  cr_expect(stream == NULL && strstr(hia_error_text(error), why), "%s", hia_error_text(error));
  hia_error_free(error);
}

static void compare_saved(hia_engine_kind kind, unsigned threads) {
  if (kind == HIA_ENGINE_JIT) NEEDS_NATIVE;
  static const unsigned sizes[][2] = {{400, 0}, {400, 3}, {300, 50}, {100, 95}, {1, 0}, {3, 30}};
  int n_sizes = kind == HIA_ENGINE_JIT ? 2 : 6;
  for (int i = 0; i < n_sizes; i++) {
    fixture x;
    open_array(&x, kind, threads, sizes[i][0], sizes[i][1]);
    for (int k = 0; k < N_READERS; k++) expect_same(&x, readers[k], NULL, NULL);
    expect_same(&x, "generic", NULL, NULL);
    expect_same(&x, "both", x.array, NULL);
    close_trees(&x);
  }
}

Test(streams, saved_interpreted) { compare_saved(HIA_ENGINE_INTERP, 1); }
Test(streams, saved_interpreted_threads) { compare_saved(HIA_ENGINE_INTERP, 3); }
Test(streams, saved_expanded) { compare_saved(HIA_ENGINE_EXPAND, 1); }
Test(streams, saved_native) {
  if (HIA_TEST_SHARE <= 4) compare_saved(HIA_ENGINE_JIT, 1);
}
Test(streams, saved_native_threads) { compare_saved(HIA_ENGINE_JIT, 3); }

Test(streams, no_trees_are_saved) {
  fixture x;
  open_array(&x, HIA_ENGINE_INTERP, 1, 0, 0);
  for (int k = 0; k < N_READERS; k++) expect_same(&x, readers[k], NULL, NULL);
  close_trees(&x);
}

/* What elements share is part of results, too, which live longer than the stream. */
Test(streams, results_hold_what_is_shared) {
  fixture x;
  open_array(&x, HIA_ENGINE_INTERP, 1, 200, 40);
  hia_value *arg = NULL, *result;
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.streams = &x.stream;
  cr_assert_eq(hia_run(find_function(x.p.module, "middle"), &arg, 1, &options, &result, &error),
               HIA_OK, "%s", hia_error_text(error));
  outcome array = run(&x, "middle", false, NULL, NULL);
  hia_stream_free(x.stream);
  x.stream = NULL;
  size_t size;
  char *after;
  FILE *to = open_memstream(&after, &size);
  cr_assert_eq(hia_value_write(result, 1 << 24, take, to, NULL, NULL), HIA_OK);
  fclose(to);
  cr_assert_str_eq(after, array.text);
  free(after);
  free(array.text);
  hia_value_free(result);
  close_trees(&x);
}

/* Elements without objects, and with one byte each. */
Test(streams, saved_bare) {
  fixture x;
  open_array(&x, HIA_ENGINE_INTERP, 1, 1, 0);
  hia_value *bare;
  hia_error *error;
  hia_function *f = find_function(x.p.module, "bare");
  cr_assert_eq(hia_value_parse(f, 0, "[Two, One, Two, Two]", &bare, &error), HIA_OK);
  cr_assert_eq(hia_value_save_file(bare, path, &error), HIA_OK);
  hia_stream_free(x.stream);
  hia_value_free(x.array);
  x.array = bare;
  cr_assert_eq(hia_stream_open_saved(NULL, hia_value_type(bare), path, &x.stream, &error), HIA_OK,
               "%s", hia_error_text(error));
  expect_same(&x, "bare", NULL, NULL);
  expect_same(&x, "bare_slice", NULL, NULL);
  close_trees(&x);
}

/* Any byte may be wrong, and the hash right: then the file is refused, or is another value. */
Test(streams, saved_and_altered) {
  fixture x;
  open_array(&x, HIA_ENGINE_INTERP, 1, 12, 30);
  FILE *file = fopen(path, "r");
  static char bytes[4096], altered[4096];
  size_t n = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  cr_assert(n > 100 && n < sizeof bytes);
  for (size_t i = 0; i < n - 16; i++)
    for (int k = 0; k < 6; k++) {
      static const char to[] = {0, 1, 2, 5, 0x7f, (char)0xff};
      memcpy(altered, bytes, n);
      altered[i] = to[k];
      fix_hash(altered, n);
      hia_value *value;
      hia_stream *stream;
      hia_error *error;
      unlink(path);
      write_file(altered, n);
      hia_status a =
          hia_data_load(hia_engine_allocator(x.p.engine), x.type, path, altered, n, &value, NULL);
      hia_status s = hia_stream_open_saved(NULL, x.type, path, &stream, &error);
      cr_expect(a == s || (s == HIA_UNSUPPORTED && strstr(hia_error_text(error), "in parts")),
                "byte %zu as %d: %d, not %d: %s", i, to[k], s, a, hia_error_text(error));
      hia_error_free(error);
      hia_value_free(x.array);
      hia_stream_free(x.stream);
      x.array = value, x.stream = stream;
      if (s == HIA_OK) expect_same(&x, "total", NULL, NULL);
    }
  close_trees(&x);
}

Test(streams, saved_cannot_be_opened) {
  fixture x;
  open_array(&x, HIA_ENGINE_INTERP, 1, 40, 10);
  FILE *file = fopen(path, "r");
  static char bytes[8192];
  size_t n = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  expect_no_array(x.type, "/none/such", HIA_IO, "cannot read /none/such: No such file");
  expect_no_array(x.type, "/tmp", HIA_UNSUPPORTED, "/tmp is no regular file");
  expect_no_array(hia_type_info_element(x.type), path, HIA_ARGUMENT, "is of an array [T]");
  hia_function *bare = find_function(x.p.module, "bare");
  expect_no_array(hia_function_param_type(bare, 0), path, HIA_ARGUMENT,
                  "expected a value of type [Bare], the file has one of type [Tree]");
  expect_no_array(x.type, NULL, HIA_ARGUMENT, "no path");
  expect_no_array(NULL, path, HIA_ARGUMENT, "no type");
  cr_expect_eq(hia_stream_open_saved(NULL, x.type, path, NULL, NULL), HIA_ARGUMENT);
  for (size_t k = 0; k < n; k += k < 60 ? 1 : 37) {
    cr_assert_eq(truncate(path, 0), 0);
    unlink(path);
    write_file(bytes, k);
    expect_no_array(x.type, path, HIA_ARGUMENT,
                    k < 44 ? "it has only" : "it is incomplete, or something was added");
  }
  bytes[n / 2] ^= 1;
  unlink(path);
  write_file(bytes, n);
  expect_no_array(x.type, path, HIA_ARGUMENT, "its hash is wrong");
  close_trees(&x);
}

Test(streams, a_saved_file_changes) {
  fixture x;
  open_array(&x, HIA_ENGINE_INTERP, 1, 400, 10);
  cr_assert_eq(truncate(path, 300), 0);
  outcome o = run(&x, "total", true, NULL, NULL);
  cr_assert(o.status == HIA_IO && strstr(o.text, "has changed since it was opened"), "%d %s",
            o.status, o.text);
  free(o.text);
  close_trees(&x);
}
