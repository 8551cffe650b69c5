/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of trees: how much memory they need, how often they read their files, and what happens if
 * memory runs out. */
#include "tests/unit/helpers/api_streams.h"
#include "tests/unit/helpers/memory.h"

#include <sys/stat.h>

/* Counts the most bytes that are allocated at once. */
typedef struct counting {
  size_t now, most;
} counting;
static void *count_alloc(void *user, size_t size) {
  counting *c = user;
  c->now += size;
  if (c->now > c->most) c->most = c->now;
  return malloc(size);
}
static void *count_resize(void *user, void *block, size_t old, size_t size) {
  counting *c = user;
  c->now += size - old;
  if (c->now > c->most) c->most = c->now;
  return realloc(block, size);
}
static void count_free(void *user, void *block, size_t size) {
  counting *c = user;
  c->now -= size;
  free(block);
}

#ifndef HIA_STRESS /* whose windows are smaller than a tree */
/* Bytes that this process has read from files so far; 0: the system does not count them. */
static uint64_t bytes_read(void) {
  unsigned long long n = 0;
  FILE *io = fopen("/proc/self/io", "r");
  if (!io) return 0;
  if (fscanf(io, "rchar: %llu", &n) != 1) n = 0;
  fclose(io);
  return n;
}

/* In order, backwards, and at two places in turn: each place reads the file once. */
Test(streams, the_file_is_read_once) {
  static const struct {
    const char *function;
    unsigned times;
  } runs[] = {{"total", 1}, {"backwards", 1}, {"twice", 2}, {"pairs", 2}, {"recursive", 1}};
  fixture x;
  size_t size;
  char *bytes = make_trees(60000, 12, &size);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, size);
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    uint64_t before = bytes_read();
    if (!before) break;
    outcome o = run(&x, runs[i].function, true, NULL, NULL);
    uint64_t n = bytes_read() - before;
    cr_expect_eq(o.status, HIA_OK, "%s: %s", runs[i].function, o.text);
    cr_expect(n > size / 2 && n < runs[i].times * size + size / 4,
              "%s has read %llu bytes of a file of %zu", runs[i].function, (unsigned long long)n,
              size);
    free(o.text);
  }
  close_trees(&x);
  free(bytes);
}
#endif

Test(streams, need_not_fit_in_memory) {
  counting c = {0, 0};
  hia_allocator allocator = {count_alloc, count_resize, count_free, &c};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_INTERP;
  options.allocator = &allocator;
  program p =
      open_program(&options,
                   "type Tree = Leaf(word: i32, label: i32) | "
                   "Node(left: Tree, right: Tree, label: i32)\n"
                   "fn label(t: Tree) -> i32 = match t { Leaf(_, l) => l, Node(_, _, l) => l }\n"
                   "fn labels(ts: [Tree]) -> [(i32, i32)] = [(label(t), 0) for t in ts]\n"
                   "fn sum(ts: [Tree]) -> i32 = {\n"
                   "  let ls = labels(ts);\n"
                   "  let (_, s) = loop (i = 0i64, s = 0) while i < len(ts) {\n"
                   "    (i + 1, s + label(ts[i]) - ls[i].0 + 1)\n"
                   "  };\n"
                   "  s\n"
                   "}\n",
                   "sum");
  size_t n;
  char *bytes = make_trees(2000, 2000, &n);
  write_file(bytes, n);
  free(bytes);
  hia_vocab *words = hia_vocab_new(NULL);
  hia_bracket_options brackets = options_with(words, true);
  hia_stream *stream;
  hia_value *arg = NULL, *result;
  hia_error *error;
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  run_options.streams = &stream;
  const hia_type_info *type = hia_function_param_type(p.function, 0);
  cr_assert_eq(hia_stream_open_brackets(&allocator, type, path, &brackets, &stream, &error), HIA_OK,
               "%s", hia_error_text(error));
  cr_assert_eq(hia_run(p.function, &arg, 1, &run_options, &result, &error), HIA_OK, "%s",
               hia_error_text(error));
  int32_t sum = 0;
  hia_value_get_i32(result, &sum);
  cr_assert_eq(sum, 2000);
  cr_assert_gt(n, 16000000);
  cr_assert_lt(c.most, n / 2, "%zu bytes at once for a file of %zu", c.most, n);
  hia_value_free(result);
  hia_stream_free(stream);
  hia_vocab_free(words);
  close_program(&p);
  cr_assert_eq(c.now, 0);
  unlink(path);
}

/* The same with saved trees: what is kept is 16 bytes an element. */
Test(streams, a_saved_array_need_not_fit_in_memory) {
  fixture x;
  size_t n;
  char *bytes = make_trees(3000, 2000, &n);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, n);
  free(bytes);
  cr_assert_eq(hia_value_save_file(x.array, path, NULL), HIA_OK);
  struct stat info;
  cr_assert_eq(stat(path, &info), 0);
  outcome array = run(&x, "sums", false, NULL, NULL);
  counting c = {0, 0};
  hia_allocator allocator = {count_alloc, count_resize, count_free, &c};
  hia_stream_free(x.stream);
  cr_assert_eq(hia_stream_open_saved(&allocator, x.type, path, &x.stream, NULL), HIA_OK);
  cr_assert_gt(info.st_size, 25000000);
  cr_assert_lt(c.most, 4500000, "%zu bytes to open a file of %zu", c.most, (size_t)info.st_size);
  cr_assert_lt(c.now, 200000);
  c.most = 0;
  outcome stream = run(&x, "sums", true, NULL, NULL);
  cr_assert_str_eq(stream.text, array.text);
  cr_assert_lt(c.most, 1000000);
  cr_assert_lt(stream.stats.peak_bytes, 2000000);
  free(stream.text);
  free(array.text);
  close_trees(&x);
  cr_assert_eq(c.now, 0);
}

static fixture *shared;

static bool is_saved;

static hia_status use_once(const hia_allocator *allocator) {
  hia_vocab *words = hia_vocab_new(allocator);
  hia_bracket_options options = options_with(words, true);
  hia_stream *stream = NULL;
  hia_value *arg = NULL, *result = NULL;
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  run_options.streams = &stream;
  hia_status status = HIA_MEMORY;
  if (words)
    status = is_saved
                 ? hia_stream_open_saved(allocator, shared->type, path, &stream, NULL)
                 : hia_stream_open_brackets(allocator, shared->type, path, &options, &stream, NULL);
  if (status == HIA_OK)
    status =
        hia_run(find_function(shared->p.module, "total"), &arg, 1, &run_options, &result, NULL);
  hia_value_free(result);
  hia_stream_free(stream);
  hia_vocab_free(words);
  return status;
}

Test(streams, out_of_memory) {
  fixture x;
  size_t n;
  char *bytes = make_trees(4, 300, &n);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, n);
  shared = &x;
  cr_assert_geq(fail_each_allocation(use_once), 10);
  close_trees(&x);
  free(bytes);
}

Test(streams, out_of_memory_for_saved_arrays) {
  fixture x;
  open_array(&x, HIA_ENGINE_INTERP, 1, 60, 30);
  shared = &x;
  is_saved = true;
  cr_assert_geq(fail_each_allocation(use_once), 10);
  close_trees(&x);
}
