/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of trees as arguments (hia_stream): the same results and errors as with the array. */
#include "runtime/format/file.h"
#include "runtime/format/stream.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char text[] =
    "type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32)\n"
    "type Box = Box(trees: [Tree])\n"
    "fn sum(t: Tree) -> i32 = match t {\n"
    "  Leaf(w, l) => w * 5 + l,\n"
    "  Node(l, r, x) => sum(l) * 3 + sum(r) + x,\n"
    "}\n"
    "fn total(ts: [Tree]) -> i32 = {\n"
    "  let (_, s) = loop (i = 0i64, s = 0) while i < len(ts) { (i + 1, s * 31 + sum(ts[i])) };\n"
    "  s\n"
    "}\n"
    "fn sums(ts: [Tree]) -> [(i32, i32)] = [(sum(t), 1) for t in ts]\n"
    "fn twice(ts: [Tree]) -> i32 = total(ts) + total(ts)\n"
    "fn backwards(ts: [Tree]) -> i32 = {\n"
    "  let (_, s) = loop (i = len(ts), s = 0) while i > 0 { (i - 1, s * 31 + sum(ts[i - 1])) };\n"
    "  s\n"
    "}\n"
    "fn get(ts: [Tree], i: i64) -> Tree = ts[i]\n"
    "fn from(ts: [Tree], i: i64, s: i32) -> i32 =\n"
    "  if i == len(ts) then s else from(ts, i + 1, s * 31 + sum(get(ts, i)) - sum(ts[i]))\n"
    "fn recursive(ts: [Tree]) -> i32 = from(ts, 0, 7)\n"
    "fn middle(ts: [Tree]) -> [Tree] = ts[1..len(ts) - 1]\n"
    "fn last(ts: [Tree]) -> (i64, [Tree], Tree) =\n"
    "  (len(ts), concat(ts[0..1], [ts[len(ts) - 1]]), ts[len(ts) / 2])\n"
    "fn pairs(ts: [Tree]) -> [Tree] =\n"
    "  [Node(ts[i], ts[len(ts) - 1 - i], 9) for i in 0i64..len(ts)]\n"
    "fn longest(ts: [Tree]) -> Tree = {\n"
    "  let (_, best) = loop (i = 1i64, best = ts[0]) while i < len(ts) {\n"
    "    (i + 1, if sum(ts[i]) > sum(best) then ts[i] else best)\n"
    "  };\n"
    "  best\n"
    "}\n"
    "fn both(ts: [Tree], us: [Tree]) -> i32 = total(ts) * 7 - total(us)\n"
    "fn at(ts: [Tree], i: i64) -> i32 = sum(ts[i])\n"
    "fn cut(ts: [Tree], i: i64) -> [Tree] = ts[i..2]\n"
    "fn same(ts: [Tree]) -> [Tree] = ts\n"
    "fn changed(ts: [Tree]) -> [Tree] = set(ts, 0, Leaf(0, 0))\n"
    "fn joined(ts: [Tree]) -> [Tree] = concat(ts, ts)\n"
    "fn boxed(ts: [Tree]) -> Box = Box(ts)\n"
    "fn chosen(ts: [Tree], b: bool) -> i32 = total(if b then ts else ts)\n"
    "fn generic(ts) = (len(ts), sum(ts[len(ts) / 2]))\n"
    "fn generic_at(ts: [Tree], i) = sum(ts[i64(i)])\n"
    "fn generic_same(ts) = ts\n"
    "type Bare = One | Two\n"
    "fn bare(ts: [Bare]) -> [(Bare, i64)] = [(ts[i], i) for i in 0i64..len(ts)]\n"
    "fn bare_slice(ts: [Bare]) -> [Bare] = ts[1..len(ts)]\n"
    "fn none(x: i32) -> i32 = x\n";

static const char *const readers[] = {"total",  "sums", "twice", "backwards", "recursive",
                                      "middle", "last", "pairs", "longest"};
enum { N_READERS = sizeof readers / sizeof *readers };

/* ---- a file ---- */

static char path[64];

static void write_file(const char *bytes, size_t n) {
  snprintf(path, sizeof path, "/tmp/hiaton-stream-XXXXXX");
  int file = mkstemp(path);
  cr_assert(file >= 0 && write(file, bytes, n) == (ssize_t)n && close(file) == 0);
}

static void write_tree(FILE *to, unsigned *seed, unsigned n) {
  *seed = *seed * 1103515245u + 12345u;
  unsigned left = n > 1 ? 1 + (*seed >> 16) % (n - 1) : 0, label = *seed >> 20;
  if (n == 1) {
    fprintf(to, "(%u w%u%s)", label % 5, (*seed >> 8) % 3000, label % 7 ? "" : "-longer-word");
    return;
  }
  fprintf(to, "(%u%s", label % 5, label % 3 ? " " : "\n ");
  write_tree(to, seed, left);
  if (label % 2) fputc(' ', to);
  write_tree(to, seed, n - left);
  fputc(')', to);
}

/* The text of n trees, with comments between them; the caller frees it. */
static char *make_trees(unsigned n, unsigned max_leaves, size_t *size) {
  char *bytes;
  FILE *to = open_memstream(&bytes, size);
  unsigned seed = 42;
  for (unsigned i = 0; i < n; i++) {
    write_tree(to, &seed, 1 + i % max_leaves);
    fputs(i % 3 ? "\n" : i % 2 ? "" : " \n\t", to);
    if (i % 5 == 4) fputs("# one) (2 w1) ((\n#\n", to);
  }
  fclose(to);
  return bytes;
}

/* ---- runs ---- */

typedef struct fixture {
  program p;
  const hia_type_info *type;
  hia_vocab *words;
  hia_value *array;
  hia_stream *stream;
} fixture;

static hia_bracket_options options_with(hia_vocab *words, bool adds) {
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = words;
  options.add_words = adds;
  return options;
}

/* The trees as an array and as a stream, with one vocabulary. */
static void open_trees_of(fixture *x, hia_engine_kind kind, unsigned threads, const char *function,
                          const char *bytes, size_t n) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error = NULL;
  options.kind = kind;
  options.threads = threads;
  options.flags |= HIA_FLAG_COUNT;
  if (HIA_TEST_SHARE > 1) options.opt_level = 0; /* LLVM takes most of the time */
  x->p = open_program(&options, text, function);
  x->type = hia_function_param_type(x->p.function, 0);
  x->words = hia_vocab_new(NULL);
  hia_bracket_options adding = options_with(x->words, true);
  write_file(bytes, n);
  cr_assert_eq(hia_stream_open_brackets(NULL, x->type, path, &adding, &x->stream, &error), HIA_OK,
               "%s", hia_error_text(error));
  size_t n_words = hia_vocab_len(x->words);
  cr_assert_eq(hia_data_read_brackets(hia_engine_allocator(x->p.engine), x->type, path, bytes, n,
                                      &adding, &x->array, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_vocab_len(x->words), n_words, "all words are known to the stream");
  cr_assert_eq(hia_stream_len(x->stream), hia_value_len(x->array));
  cr_assert_eq(hia_stream_type(x->stream), x->type);
}

static void open_trees(fixture *x, hia_engine_kind kind, unsigned threads, const char *bytes,
                       size_t n) {
  open_trees_of(x, kind, threads, "total", bytes, n);
}

static void close_trees(fixture *x) {
  hia_value_free(x->array);
  hia_stream_free(x->stream);
  hia_vocab_free(x->words);
  close_program(&x->p);
  unlink(path);
}

/* ---- saved arrays ---- */

enum { MAX_NODES = 4000 };

/* An array of n trees, whose parts are mostly of the last element and now and then of any before
 * it: with `shares` in 100 cases. Some elements are the same, some are parts of others. */
static hia_value *make_array(const fixture *x, unsigned n, unsigned shares) {
  static hia_value_node nodes[MAX_NODES];
  static int64_t words[3 * MAX_NODES], elements[MAX_NODES];
  static unsigned sizes[MAX_NODES];
  const hia_type_info *types[] = {hia_type_info_element(x->type), x->type};
  unsigned seed = n * 31 + shares, n_nodes = 0, n_words = 0, begin = 0;
  for (unsigned i = 0; i < n; i++) {
    unsigned more = 1 + (seed >> 18) % 6;
    for (unsigned first = n_nodes; more--;) {
      seed = seed * 1103515245u + 12345u;
      bool far = begin && (seed >> 16) % 100 < shares;
      unsigned a = n_nodes > first ? n_nodes - 1 : 0, b = far ? (seed >> 9) % begin : a;
      bool is_leaf = n_nodes == first || sizes[a] + sizes[b] > 60;
      sizes[n_nodes] = is_leaf ? 1 : 1 + sizes[a] + sizes[b];
      nodes[n_nodes++] = (hia_value_node){0, is_leaf ? 0 : 1, 0};
      words[n_words++] = is_leaf ? seed % 1000 : b;
      words[n_words++] = is_leaf ? 7 : a;
      if (!is_leaf) words[n_words++] = i;
    }
    bool is_old = begin && (seed >> 20) % 100 < shares;
    elements[i] = is_old ? (int64_t)((seed >> 8) % begin) : (int64_t)n_nodes - 1;
    begin = n_nodes;
  }
  nodes[n_nodes++] = (hia_value_node){1, 0, n};
  for (unsigned i = 0; i < n; i++) words[n_words++] = elements[i];
  hia_value_nodes table = HIA_VALUE_NODES_INIT;
  table.types = types, table.n_types = 2;
  table.nodes = nodes, table.n_nodes = n_nodes;
  table.words = words, table.n_words = n_words;
  hia_value *value;
  hia_error *error;
  cr_assert_eq(hia_data_from_nodes(hia_engine_allocator(x->p.engine), &table, &value, &error),
               HIA_OK, "%s", hia_error_text(error));
  return value;
}

static void open_array(fixture *x, hia_engine_kind kind, unsigned threads, unsigned n,
                       unsigned shares) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error = NULL;
  options.kind = kind;
  options.threads = threads;
  options.flags |= HIA_FLAG_COUNT;
  if (HIA_TEST_SHARE > 1) options.opt_level = 0; /* LLVM takes most of the time */
  x->p = open_program(&options, text, "total");
  x->type = hia_function_param_type(x->p.function, 0);
  x->words = NULL;
  x->array = make_array(x, n, shares);
  write_file("", 0);
  cr_assert_eq(hia_value_save_file(x->array, path, &error), HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_stream_open_saved(NULL, x->type, path, &x->stream, &error), HIA_OK, "%s",
               hia_error_text(error));
  cr_assert_eq(hia_stream_len(x->stream), n);
}

typedef struct outcome {
  hia_status status;
  char *text; /* of the result, or of the error */
  hia_run_stats stats;
} outcome;

static bool take(void *user, const char *bytes, size_t n) { return fwrite(bytes, 1, n, user) == n; }

/* Runs a function whose first argument is the array, or the stream. */
static outcome run(const fixture *x, const char *name, bool is_stream, hia_value *second,
                   const uint64_t *fuel) {
  hia_value *args[] = {is_stream ? NULL : x->array, second}, *result;
  hia_stream *streams[] = {is_stream ? x->stream : NULL, NULL};
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  outcome o = {.stats = HIA_RUN_STATS_INIT};
  options.stats = &o.stats;
  options.streams = is_stream ? streams : NULL;
  options.has_fuel = fuel != NULL;
  options.fuel = fuel ? *fuel : 0;
  o.status =
      hia_run(find_function(x->p.module, name), args, second ? 2 : 1, &options, &result, &error);
  size_t size;
  FILE *to = open_memstream(&o.text, &size);
  if (o.status == HIA_OK)
    cr_assert_eq(hia_value_write(result, 1 << 24, take, to, NULL, NULL), HIA_OK);
  else
    fputs(hia_error_text(error), to);
  fclose(to);
  hia_value_free(result);
  hia_error_free(error);
  return o;
}

static void expect_same(const fixture *x, const char *name, hia_value *second,
                        const uint64_t *fuel) {
  outcome a = run(x, name, false, second, fuel), s = run(x, name, true, second, fuel);
  cr_expect(a.status == s.status && strcmp(a.text, s.text) == 0, "%s: %d %.500s, not %d %.500s",
            name, s.status, s.text, a.status, a.text);
  /* The interpreter may have counted calls behind a failure. */
  bool is_counted = a.status == HIA_OK;
  cr_expect((!is_counted || (a.stats.calls == s.stats.calls && a.stats.rounds == s.stats.rounds)) &&
                a.stats.fuel_left == s.stats.fuel_left,
            "%s: counts", name);
  free(a.text);
  free(s.text);
}

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

Test(streams, interpreted) { compare_all(HIA_ENGINE_INTERP, 1); }
Test(streams, interpreted_threads) { compare_all(HIA_ENGINE_INTERP, 2); }
Test(streams, expanded) { compare_all(HIA_ENGINE_EXPAND, 1); }
/* With AddressSanitizer native code runs on several threads alone: compiling takes long there. */
Test(streams, native) {
  if (HIA_TEST_SHARE <= 4) compare_all(HIA_ENGINE_JIT, 1);
}
Test(streams, native_threads) { compare_all(HIA_ENGINE_JIT, 3); }

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

/* ---- opening ---- */

static void expect_error(const hia_type_info *type, const char *at, hia_status expected,
                         const char *why) {
  hia_stream *stream;
  hia_error *error;
  cr_expect_eq(hia_stream_open_brackets(NULL, type, at, NULL, &stream, &error), expected);
  cr_expect(stream == NULL && strstr(hia_error_text(error), why), "%s", hia_error_text(error));
  hia_error_free(error);
}

Test(streams, cannot_be_opened) {
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)", 5);
  expect_error(x.type, "/none/such", HIA_IO, "cannot read /none/such: No such file");
  expect_error(x.type, "/tmp", HIA_UNSUPPORTED, "/tmp is no regular file");
  expect_error(x.type, "/dev/null", HIA_UNSUPPORTED, "/dev/null is no regular file");
  expect_error(hia_type_info_element(x.type), path, HIA_ARGUMENT, "is of an array [T]");
  expect_error(x.type, path, HIA_ARGUMENT, "no vocabulary has 'a'");
  expect_error(x.type, NULL, HIA_ARGUMENT, "no path");
  expect_error(NULL, path, HIA_ARGUMENT, "no type");
  cr_expect_eq(hia_stream_open_brackets(NULL, x.type, path, NULL, NULL, NULL), HIA_ARGUMENT);
  cr_expect(hia_stream_position(NULL) == 0 && hia_stream_position(x.stream) == 0);
  cr_expect(hia_stream_len(NULL) == 0 && hia_stream_type(NULL) == NULL);
  hia_stream_free(NULL);
  close_trees(&x);
}

/* The first line of the error, which has the position. */
static void first_line(hia_error *error, char *line, size_t size) {
  snprintf(line, size, "%s", error ? hia_error_text(error) : "no error");
  line[strcspn(line, "\n")] = 0;
  hia_error_free(error);
}

/* A mistake has the same position and words as in the array. */
static void same_mistake(const fixture *x, const char *bytes, size_t n) {
  hia_vocab *words = hia_vocab_new(NULL);
  hia_vocab_read(words, "v", "a\nw1\n", 5, NULL);
  hia_bracket_options options = options_with(words, false);
  char array[512], stream[512];
  hia_value *value;
  hia_stream *opened;
  hia_error *error;
  unlink(path);
  write_file(bytes, n);
  hia_status a = hia_data_read_brackets(hia_engine_allocator(x->p.engine), x->type, path, bytes, n,
                                        &options, &value, &error);
  first_line(error, array, sizeof array);
  hia_status s = hia_stream_open_brackets(NULL, x->type, path, &options, &opened, &error);
  first_line(error, stream, sizeof stream);
  cr_expect(a == s && strcmp(array, stream) == 0, "%d %s, not %d %s", s, stream, a, array);
  hia_value_free(value);
  hia_stream_free(opened);
  hia_vocab_free(words);
}

Test(streams, mistakes) {
  static const char *const ends[] = {"(1 a",
                                     "(1 a))",
                                     "(1 a) b",
                                     "(1 b)",
                                     "(x a)",
                                     "(1 (1 a))",
                                     ")",
                                     "a",
                                     "(",
                                     "(1 a b)",
                                     "(1 a (2 a))",
                                     "(1 \xff)",
                                     "(1 a)\xff",
                                     "\xef\xbb\xbf(1 a)",
                                     "(1\n (2 a)\n (2 c))",
                                     "\n\n(1 a)\n(3",
                                     "(1 a)\n)\n(1 a)",
                                     "#",
                                     "# (1 a\n(1 b)",
                                     "#(\n# )\n  (1 # a)",
                                     "(1 a)# (\n#\n)"};
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)", 5);
  /* In front of it nothing, some trees, and so many that they are read in several portions, in
   * lines and in one line. */
  for (int kind = 0; kind < 4; kind++) {
    size_t n = kind == 0 ? 0 : kind == 1 ? 7 : 170000;
    size_t size = n * 8 + 64;
    char *bytes = malloc(size);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
      size_t at = 0;
      for (size_t k = 0; k < n; k++)
        memcpy(bytes + at, kind == 3 ? "(1  w1)" : "(1 w1)\n", 7), at += 7;
      memcpy(bytes + at, ends[i], strlen(ends[i]));
      same_mistake(&x, bytes, at + strlen(ends[i]));
      if (kind < 2) continue;
      memcpy(bytes + 35, ends[i], strlen(ends[i])); /* an early one */
      same_mistake(&x, bytes, at);
    }
    free(bytes);
  }
  same_mistake(&x, "(1 a\0)", 6);
  close_trees(&x);
}

/* Comments are longer than what is read at once, and end with it, or at other places. */
Test(streams, long_comments) {
  enum { LONGEST = (1 << 20) + 8, TREES = 3 };
  static char bytes[TREES * (LONGEST + 16)];
  fixture x;
  open_trees(&x, HIA_ENGINE_INTERP, 1, "(1 a)", 5);
  for (int less = -1; less < 12; less++) {
    size_t at = 0;
    for (int i = 0; i < TREES; i++) {
      size_t n = less < 0 ? (size_t)i * 3 : (size_t)(LONGEST - less);
      memset(bytes + at, i % 2 ? '(' : ')', n);
      bytes[at] = '#';
      bytes[at + n] = '\n';
      memcpy(bytes + at + n + 1, i < 2 ? "(1 a)" : "(1 b)", 5);
      at += n + 6;
    }
    same_mistake(&x, bytes, at);     /* an unknown word at the end */
    same_mistake(&x, bytes, at - 6); /* none */
  }
  close_trees(&x);
}

Test(streams, the_file_changes) {
  fixture x;
  size_t n;
  char *bytes = make_trees(2000, 60, &n);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, n);
  cr_assert_eq(truncate(path, (off_t)n / 2), 0);
  outcome o = run(&x, "total", true, NULL, NULL);
  cr_assert(o.status == HIA_IO && strstr(o.text, "has changed since it was opened"), "%d %s",
            o.status, o.text);
  free(o.text);
  close_trees(&x);
  open_trees(&x, HIA_ENGINE_INTERP, 1, bytes, n);
  memset(bytes, ' ', n); /* of the same size, without trees */
  FILE *file = fopen(path, "r+");
  cr_assert(file && fwrite(bytes, 1, n, file) == n && fclose(file) == 0);
  o = run(&x, "total", true, NULL, NULL);
  cr_assert_eq(o.status, HIA_IO, "%d %s", o.status, o.text);
  free(o.text);
  close_trees(&x);
  free(bytes);
}

/* ---- memory ---- */

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
