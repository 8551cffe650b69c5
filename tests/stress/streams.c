/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Several threads that run functions on one stream of trees at once, each run with workers of its
 * own, in order and in other orders; some runs are ended by a deadline.
 *
 *   streams [ROUNDS]
 *
 * Each run must return what it returns with the array. ThreadSanitizer runs this too. */
#include "tests/stress/program.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const char text[] =
    "type Tree = Leaf(word: i32, label: i32) | Node(left: Tree, right: Tree, label: i32)\n"
    "fn sum(t: Tree) -> i32 = match t { Leaf(w, l) => w + l, Node(l, r, x) => sum(l) * 3 + sum(r) "
    "+ x }\n"
    "fn forwards(ts: [Tree]) -> i32 = {\n"
    "  let (_, s) = loop (i = 0i64, s = 0) while i < len(ts) { (i + 1, s * 31 + sum(ts[i])) };\n"
    "  s\n"
    "}\n"
    "fn half(ts: [Tree], lo: i64, hi: i64) -> i32 =\n"
    "  if hi - lo == 1 then sum(ts[lo])\n"
    "  else half(ts, lo, (lo + hi) / 2) * 5 + half(ts, (lo + hi) / 2, hi)\n"
    "fn divided(ts: [Tree]) -> i32 = half(ts, 0, len(ts))\n";

enum { N_THREADS = 4, N_FUNCTIONS = 2, TREES = 400 };

typedef struct shared {
  hia_function *functions[N_FUNCTIONS];
  int32_t expected[N_FUNCTIONS];
  hia_stream *stream;
  unsigned rounds;
  atomic_uint n_wrong, n_ended;
} shared;

static hia_status run(hia_function *f, hia_value *array, hia_stream *stream, uint64_t timeout_ns,
                      int32_t *x) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_value *result;
  hia_error *error;
  options.streams = stream ? &stream : NULL;
  options.timeout_ns = timeout_ns;
  hia_status status = hia_run(f, &array, 1, &options, &result, &error);
  if (status == HIA_OK) hia_value_get_i32(result, x);
  if (status != HIA_OK && status != HIA_DEADLINE) stop_with(error);
  hia_value_free(result);
  hia_error_free(error);
  return status;
}

static void *work(void *arg) {
  shared *s = arg;
  for (unsigned i = 0; i < s->rounds; i++) {
    int32_t x = 0;
    unsigned k = i % N_FUNCTIONS;
    if (run(s->functions[k], NULL, s->stream, i % 3 == 2 ? 300000 : 0, &x) != HIA_OK)
      s->n_ended++;
    else if (x != s->expected[k])
      s->n_wrong++;
  }
  return NULL;
}

static char path[] = "/tmp/hiaton-streams-XXXXXX";

/* Trees of 1 to 40 words, in a file and in one piece. */
static char *write_trees(size_t *size) {
  char *bytes;
  FILE *to = open_memstream(&bytes, size);
  for (int i = 0; i < TREES; i++) {
    for (int k = 0; k < i % 40; k++) fprintf(to, "(%d (%d w%d) ", k % 5, i % 5, i * k % 97);
    fprintf(to, "(2 w%d)", i % 89);
    for (int k = 0; k < i % 40; k++) fputc(')', to);
    fputc('\n', to);
  }
  fclose(to);
  int file = mkstemp(path);
  if (file < 0 || write(file, bytes, *size) != (ssize_t)*size) exit(1);
  close(file);
  return bytes;
}

static void try_engine(hia_engine_kind kind, unsigned rounds, const char *bytes, size_t size) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = 2;
  loaded l = load_text(&options, "streams", text, sizeof text - 1);
  shared s = {.functions = {find(l, "forwards"), find(l, "divided")}, .rounds = rounds};
  hia_bracket_options brackets = HIA_BRACKET_OPTIONS_INIT;
  hia_error *error;
  hia_value *array;
  const hia_type_info *type = hia_function_param_type(s.functions[0], 0);
  brackets.words = hia_vocab_new(NULL);
  brackets.add_words = true;
  if (hia_stream_open_brackets(NULL, type, path, &brackets, &s.stream, &error) != HIA_OK ||
      hia_data_read_brackets(hia_engine_allocator(l.engine), type, path, bytes, size, &brackets,
                             &array, &error) != HIA_OK)
    stop_with(error);
  for (int k = 0; k < N_FUNCTIONS; k++) run(s.functions[k], array, NULL, 0, &s.expected[k]);
  pthread_t threads[N_THREADS];
  for (int i = 0; i < N_THREADS; i++) pthread_create(&threads[i], NULL, work, &s);
  for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
  if (s.n_wrong) FAIL("engine %d: %u wrong results", (int)kind, s.n_wrong);
  printf("engine %d: %u runs, %u ended\n", (int)kind, N_THREADS * rounds, s.n_ended);
  hia_value_free(array);
  hia_stream_free(s.stream);
  hia_vocab_free(brackets.words);
  unload(l);
}

static bool has_native(void) {
  hia_engine *engine = NULL;
  bool has =
      hia_engine_new(NULL, &engine, NULL) == HIA_OK && hia_engine_native(engine, NULL) == HIA_OK;
  hia_engine_free(engine);
  return has;
}

int main(int argc, char **argv) {
  unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
  size_t size;
  char *bytes = write_trees(&size);
  try_engine(HIA_ENGINE_INTERP, rounds, bytes, size);
  if (has_native()) try_engine(HIA_ENGINE_JIT, rounds, bytes, size);
  if (has_native()) try_engine(HIA_ENGINE_AUTO, rounds, bytes, size);
  unlink(path);
  free(bytes);
  printf("%s\n", n_failed ? "failed" : "1 passed, 0 failed, 0 skipped");
  return n_failed != 0;
}
