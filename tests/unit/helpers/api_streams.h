/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Streams of trees, and the same trees as an array: in brackets or saved in a file, as arguments of
 * a program's functions. */
#ifndef HELPER_API_STREAMS_H
#define HELPER_API_STREAMS_H

#include "tests/unit/helpers/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char streams_text[] =
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

static inline void write_file(const char *bytes, size_t n) {
  snprintf(path, sizeof path, "/tmp/hiaton-stream-XXXXXX");
  int file = mkstemp(path);
  cr_assert(file >= 0 && write(file, bytes, n) == (ssize_t)n && close(file) == 0);
}

static inline void write_tree(FILE *to, unsigned *seed, unsigned n) {
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
static inline char *make_trees(unsigned n, unsigned max_leaves, size_t *size) {
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

static inline hia_bracket_options options_with(hia_vocab *words, bool adds) {
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = words;
  options.add_words = adds;
  return options;
}

/* The trees as an array and as a stream, with one vocabulary. */
static inline void open_trees_of(fixture *x, hia_engine_kind kind, unsigned threads,
                                 const char *function, const char *bytes, size_t n) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error = NULL;
  options.kind = kind;
  options.threads = threads;
  options.flags |= HIA_FLAG_COUNT;
  if (HIA_TEST_SHARE > 1) options.opt_level = 0; /* LLVM takes most of the time */
  x->p = open_program(&options, streams_text, function);
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

static inline void open_trees(fixture *x, hia_engine_kind kind, unsigned threads, const char *bytes,
                              size_t n) {
  open_trees_of(x, kind, threads, "total", bytes, n);
}

static inline void close_trees(fixture *x) {
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
static inline hia_value *make_array(const fixture *x, unsigned n, unsigned shares) {
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

static inline void open_array(fixture *x, hia_engine_kind kind, unsigned threads, unsigned n,
                              unsigned shares) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error = NULL;
  options.kind = kind;
  options.threads = threads;
  options.flags |= HIA_FLAG_COUNT;
  if (HIA_TEST_SHARE > 1) options.opt_level = 0; /* LLVM takes most of the time */
  x->p = open_program(&options, streams_text, "total");
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

static inline bool take(void *user, const char *bytes, size_t n) {
  return fwrite(bytes, 1, n, user) == n;
}

/* Runs a function whose first argument is the array, or the stream. */
static inline outcome run(const fixture *x, const char *name, bool is_stream, hia_value *second,
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

static inline void expect_same(const fixture *x, const char *name, hia_value *second,
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

#endif
