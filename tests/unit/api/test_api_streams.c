/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of trees as arguments (hia_stream): the same results and errors as with the array. Saved
 * arrays: test_api_streams_saved.c; files that are wrong: test_api_streams_open.c; memory:
 * test_api_streams_memory.c. */
#include "runtime/format/stream.h"
#include "tests/unit/helpers/api_streams.h"

/* ---- all readers, in every engine ---- */

static void compare_all(hia_engine_kind kind, unsigned threads) {
  if (kind == HIA_ENGINE_JIT) NEEDS_NATIVE;
  static const unsigned sizes[][2] = {{300, 20}, {3, 1}, {2, 400}};
  int n_sizes = kind == HIA_ENGINE_JIT ? 1 : 3; /* compiling takes long */
  for (int i = 0; i < n_sizes; i++) {
    fixture x;
    size_t n;
    char *bytes = make_trees(sizes[i][0], sizes[i][1], &n);
    open_trees(&x, kind, threads, bytes, n);
    for (int k = 0; k < N_READERS; k++) expect_same(&x, readers[k], NULL, NULL);
    expect_same(&x, "both", x.array, NULL);
    expect_same(&x, "generic", NULL, NULL);
    static const int64_t indices[] = {0, 1, 2, -1, 300, INT64_MIN, INT64_MAX};
    for (size_t k = 0; k < sizeof indices / sizeof *indices; k++) {
      hia_value *index = hia_value_i64(x.p.engine, indices[k]);
      expect_same(&x, "at", index, NULL);
      expect_same(&x, "cut", index, NULL);
      expect_same(&x, "generic_at", index, NULL);
      hia_value_free(index);
    }
    for (uint64_t fuel = 0; fuel < 5000; fuel = fuel * 3 + 1) expect_same(&x, "total", NULL, &fuel);
    close_trees(&x);
    free(bytes);
  }
}

Test(streams, interpreted) { compare_all(HIA_ENGINE_INTERP, 1); }
Test(streams, interpreted_threads) { compare_all(HIA_ENGINE_INTERP, 2); }
Test(streams, expanded) { compare_all(HIA_ENGINE_EXPAND, 1); }
/* With AddressSanitizer native code runs on several threads alone: compiling takes long there. */
Test(streams, native) {
  if (HIA_TEST_SHARE <= 4) compare_all(HIA_ENGINE_JIT, 1);
}
Test(streams, native_threads) { compare_all(HIA_ENGINE_JIT, 3); }

Test(streams, no_trees) {
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, " \n", 2);
  cr_assert_eq(hia_stream_len(x.stream), 0);
  static const char *const names[] = {"total", "sums", "twice", "backwards", "pairs", "longest"};
  for (int k = 0; k < 6; k++) expect_same(&x, names[k], NULL, NULL);
  close_trees(&x);
}

/* Elements without fields take a byte in an array. */
Test(streams, bare_trees) {
  fixture x;
  open_trees_of(&x, HIA_ENGINE_INTERP, 1, "bare", "(1)(2) (3)", 10);
  expect_same(&x, "bare", NULL, NULL);
  expect_same(&x, "bare_slice", NULL, NULL);
  close_trees(&x);
}

Test(streams, two_at_once) {
  fixture x;
  size_t n;
  char *bytes = make_trees(50, 9, &n);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, n);
  hia_value *args[] = {NULL, NULL}, *result;
  hia_stream *streams[] = {x.stream, x.stream};
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.streams = streams;
  cr_assert_eq(hia_run(find_function(x.p.module, "both"), args, 2, &options, &result, &error),
               HIA_OK, "%s", hia_error_text(error));
  outcome one = run(&x, "total", true, NULL, NULL);
  int32_t both = 0;
  hia_value_get_i32(result, &both);
  cr_assert_eq(both, (int32_t)((uint32_t)atoi(one.text) * 6));
  hia_value_free(result);
  free(one.text);
  close_trees(&x);
  free(bytes);
}

/* ---- a slice of many elements ---- */

static bool count_down(void *left) { return --*(int *)left <= 0; }

/* It asks whether the run must end, and ends; that is no failure of the file. */
static void read_all(hia_stream *stream) {
  hia_stream_array *head = (hia_stream_array *)(uintptr_t)hiaR_stream_word(stream);
  hia_heap heap;
  hiaR_heap_init(&heap, &hiaR_malloc);
  int asked = 0;
  for (int round = 0; round < 2; round++) {
    int left = round ? asked / 2 : 1 << 30;
    hia_local_heap local;
    hia_word slice;
    hiaR_heap_begin(&heap, 0);
    heap.must_end = count_down;
    heap.user = &left;
    hiaR_local_begin(&local, &heap);
    cr_assert_eq(head->read(head, &local, 0, hia_stream_len(stream), &slice), round == 0);
    asked = (1 << 30) - left;
    cr_assert(round == 1 || asked >= 5, "it asks %d times", asked);
    hiaR_heap_end(&heap);
  }
  struct hia_stream *const all[] = {stream};
  hia_error *error;
  cr_assert_eq(hiaR_streams_fail(&hiaR_malloc, all, 1, &error), HIA_OK);
  hiaR_heap_free(&heap);
}

Test(streams, long_slices_may_end) {
  fixture x;
  size_t n;
  char *bytes = make_trees(2000, 9, &n);
  open_trees_of(&x, HIA_ENGINE_INTERP, 1, "total", bytes, n);
  read_all(x.stream);
  close_trees(&x);
  free(bytes);
  open_array(&x, HIA_ENGINE_INTERP, 1, 1000, 3);
  read_all(x.stream);
  close_trees(&x);
}

/* How far runs have read, whatever they read again. */
Test(streams, position) {
  for (int is_saved = 0; is_saved < 2; is_saved++) {
    fixture x;
    size_t size;
    char *bytes = make_trees(30, 3, &size);
    if (is_saved)
      open_array(&x, HIA_ENGINE_INTERP, 1, 30, 3);
    else
      open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, size);
    free(bytes);
    uint64_t n = hia_stream_len(x.stream);
    cr_assert_eq(hia_stream_position(x.stream), 0);
    hia_value *index = hia_value_i64(x.p.engine, 4);
    free(run(&x, "at", true, index, NULL).text);
    cr_assert_eq(hia_stream_position(x.stream), 5);
    free(run(&x, "total", true, NULL, NULL).text);
    cr_assert_eq(hia_stream_position(x.stream), n);
    free(run(&x, "at", true, index, NULL).text);
    cr_assert_eq(hia_stream_position(x.stream), n);
    hia_value_free(index);
    close_trees(&x);
  }
}

/* ---- what cannot have streams ---- */

static void refuse(const fixture *x, const char *name, hia_value *second, const char *why) {
  outcome o = run(x, name, true, second, NULL);
  cr_expect(o.status == HIA_UNSUPPORTED && strstr(o.text, why), "%s: %d %s", name, o.status,
            o.text);
  free(o.text);
}

Test(streams, not_in_order) {
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)(2 b)", 10);
  hia_value *yes = hia_value_bool(x.p.engine, true);
  refuse(&x, "same", NULL, "the array is the result");
  refuse(&x, "changed", NULL, "it changes the array");
  refuse(&x, "joined", NULL, "it joins the array");
  refuse(&x, "boxed", NULL, "it stores the array");
  refuse(&x, "chosen", yes, "the array is the result");
  refuse(&x, "generic_same", NULL, "the array is the result");
  expect_same(&x, "total", NULL, NULL);
  hia_value_free(yes);
  close_trees(&x);
}

static void wrong_arguments(const fixture *x, const char *name, hia_value *arg, hia_stream *stream,
                            const char *why) {
  hia_value *result;
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.streams = &stream;
  cr_assert_eq(hia_run(find_function(x->p.module, name), &arg, 1, &options, &result, &error),
               HIA_ARGUMENT);
  cr_assert(strstr(hia_error_text(error), why), "%s", hia_error_text(error));
  hia_error_free(error);
}

Test(streams, wrong_arguments) {
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)(2 b)", 10);
  wrong_arguments(&x, "total", NULL, NULL, "argument 1 is no value");
  wrong_arguments(&x, "total", x.array, x.stream, "argument 1 is a value and a stream");
  wrong_arguments(&x, "none", NULL, x.stream, "argument 1 of `none(x: i32) -> i32` is of type");
  close_trees(&x);
}
