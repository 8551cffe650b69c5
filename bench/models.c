/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures the models of examples/models: inference, one sentence at a time, on one thread, next to
 * programs by hand and to PyTorch; the likelihood of a tree (likelihood.c); two threads next to
 * one; compile time; memory; the default next to no batching (defaults.h).
 *
 *   bench_models [--quick | --check] [--runs N] [--only MODEL|likelihood|threads|compile|defaults]
 *
 * bench/peers.h describes the programs next to hiaton. Their summed losses must be hiaton's. A
 * round has a measurement of each; figures are medians of wall-clock rates. */
#include "bench/defaults.h"
#include "bench/harness.h"
#include "bench/likelihood.h"
#include "bench/networks.h"
#include "bench/peers.h"
#include "bench/treebank.h"
#include "bench/work.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99, MAX_PATH = BENCH_MAX_PATH };
enum { BALANCED_DEPTH = 11 }; /* 4,095 nodes */
#define MIN_SPEED_UP             1.8
#define MAX_COMPILE_MS           150
#define MAX_COMPILE_MS_OF_OTHERS 400
#define MAX_MEMORY               60 /* MiB */

/* The programs that a model is compared with. FUSED: PyTorch has the network as a whole, nn.LSTM.
 */
enum { HAND, TORCH, FUSED, LIBTORCH, N_PEERS };
static const char *const peer_names[N_PEERS] = {"by hand", "PyTorch", "nn.LSTM", "libtorch"};

/* All networks but the one that says the same as another. */
#define N_MODELS BENCH_TREE_RNN_LOOP
/* The targets: how many times as fast; 0: none. */
static const double min_of[N_MODELS][N_PEERS] = {
    [BENCH_TREE_LSTM] = {[HAND] = 0.9, [TORCH] = 5, [LIBTORCH] = 3},
    [BENCH_TREE_RNN] = {[HAND] = 0.85},
    [BENCH_RNTN] = {[HAND] = 1.2},
    [BENCH_BILSTM] = {[TORCH] = 1.1},
    [BENCH_TOP_DOWN] = {[TORCH] = 10},
};

static bench_treebank treebank;

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

/* ---- hiaton ---- */

static hia_value *call(const bench_program *p, hia_value *const *args, size_t n) {
  hia_value *result;
  hia_error *error;
  bench_check(hia_call(p->function, args, n, &result, &error), &error);
  return result;
}

/* ---- one sentence at a time ---- */

static void measure(size_t model, int runs) {
  const bench_network *m = &bench_networks[model];
  double own[MAX_RUNS], theirs[N_PEERS][MAX_RUNS], median[N_PEERS];
  bench_peer peers[N_PEERS] = {
      [HAND] = bench_peer_by_hand(m, BENCH_INFER),
      [TORCH] = bench_peer_torch(m, BENCH_INFER, false),
      [LIBTORCH] = bench_peer_libtorch(m),
  };
  if (m->input == BENCH_TAGGED) peers[FUSED] = bench_peer_torch(m, BENCH_INFER, true);
  bench_runner r = bench_runner_open(m, &treebank);
  bench_work work = bench_work_of(&r, BENCH_CALL, NULL);
  double expected = bench_work_pass(&work);
  for (int k = 0; k < N_PEERS; k++)
    if (bench_peer_exists(&peers[k]))
      bench_peer_compare(&peers[k], peer_names[k], m, expected, NAN);
  for (int i = 0; i < runs; i++) {
    own[i] = bench_work_rate(&work, 0.3);
    for (int k = 0; k < N_PEERS; k++)
      if (bench_peer_exists(&peers[k])) theirs[k][i] = bench_peer_rate(&peers[k], m);
  }
  double per_second = bench_median(own, (size_t)runs);
  printf("%-14s %9.1f", m->title, per_second);
  for (int k = 0; k < N_PEERS; k++)
    median[k] = bench_peer_exists(&peers[k]) ? bench_median(theirs[k], (size_t)runs) : NAN;
  bench_peers_print_row(m->title, peer_names, N_PEERS, per_second, median, min_of[model]);
  bench_runner_close(&r);
}

static void print_rates(const char *only, int runs) {
  printf("%-14s %9s", "sentences/s", "hiaton");
  bench_peers_print_heading(peer_names, N_PEERS);
  for (size_t i = 0; i < N_MODELS; i++)
    if (!only || strcmp(only, bench_networks[i].name) == 0) measure(i, runs);
  printf("\n");
}

/* ---- two threads ---- */

/* Each call computes the loss of all of them. */
static void measure_threads(const char *row, bench_program programs[2], hia_value *trees,
                            int runs) {
  double ms[2][MAX_RUNS];
  float first = 0;
  for (int i = -1; i < runs; i++) /* the first time is not counted */
    for (int k = 0; k < 2; k++) {
      double start = bench_now();
      hia_value *result = call(&programs[k], &trees, 1);
      ms[k][i < 0 ? 0 : i] = bench_now() - start;
      float x = 0;
      bench_check(hia_value_get_f32(result, &x), NULL);
      hia_value_free(result);
      if (i < 0 && k == 0) first = x;
      if (memcmp(&x, &first, sizeof x) != 0)
        bench_wrong("%s: %.9g on %d threads, %.9g on one", row, (double)x, k + 1, (double)first);
    }
  double one = bench_median(ms[0], (size_t)runs), two = bench_median(ms[1], (size_t)runs);
  printf("%-28s %10.2f %10.2f", row, one, two);
  bench_print_target(row, "one/two threads", one / two, 2, BENCH_AT_LEAST(MIN_SPEED_UP));
  printf("\n");
  fflush(stdout);
}

static void print_threads(int runs) {
  bench_pin(false);
  printf("%-28s %10s %10s", "TreeLSTM 150", "one, ms", "two, ms");
  bench_print_target_heading("one/two threads");
  printf("\n");
  const bench_network *network = &bench_networks[BENCH_TREE_LSTM];
  bench_program programs[2] = {bench_network_open(network, 1), bench_network_open(network, 2)};
  hia_value *trees =
      bench_network_trees(&programs[0], &treebank, 0, bench_network_sentences(network));
  measure_threads("a stream of sentences", programs, trees, runs);
  hia_value_free(trees);
  trees = bench_network_balanced(&programs[0], bench_is_quick() ? 4 : BALANCED_DEPTH);
  measure_threads("a balanced tree, 4,095 nodes", programs, trees, runs);
  hia_value_free(trees);
  for (int k = 0; k < 2; k++) bench_close(&programs[k]);
  bench_pin(true);
  printf("\n");
}

/* ---- compile time and memory ---- */

/* What is compiled of the models: `main`, and the steps of a training of `loss`, or a function. */
static const struct {
  const char *title, *file, *loss, *gradient;
} compiled[] = {
    {"TreeLSTM 150", "tree_lstm", "loss", NULL},
    {"TreeRNN 300", "tree_rnn", "loss", NULL},
    {"TreeRNN, a loop", "tree_rnn_iterative", NULL, NULL},
    {"RNTN 25", "rntn", "loss", NULL},
    {"BiLSTM 256", "bilstm_tagger", "loss", NULL},
    {"top-down 150", "top_down_tree_lstm", "loss", NULL},
    {"BiLSTM, characters", "character_tagger", "loss", NULL},
    {"arc-hybrid", "arc_hybrid_parser", "loss", NULL},
    {"SPINN 150", "spinn", "loss", NULL},
    {"translator", "attention", "loss", NULL},
    {"NUTS 250", "nuts", NULL, NULL},
    {"Felsenstein", "felsenstein", NULL, "gradient"},
};

/* The steps of a training: made by the first of them, which has no examples. */
static void make_gradient(hia_function *loss) {
  hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
  hia_trainer *trainer;
  hia_value *none;
  hia_error *error;
  bench_check(hia_trainer_new(loss, &options, &trainer, &error), &error);
  bench_check(hia_value_parse_text(loss, 0, NULL, "[]", 2, &none, &error), &error);
  bench_check(hia_trainer_gradient(trainer, &none, 1, NULL, NULL, &error), &error);
  hia_value_free(none);
  hia_trainer_free(trainer);
}

/* The params get their first elements, which are millions of random numbers. */
static void draw_params(hia_module *module) {
  hia_params *params = hia_module_params(module);
  hia_error *error;
  size_t size = hia_params_count(params) ? hia_params_size(params, 0) : 0;
  if (!size) return;
  void *elements = malloc(size);
  if (!elements) fail("malloc");
  bench_check(hia_params_get(params, 0, elements, size, &error), &error);
  free(elements);
}

/* Processor time from text to native code of a function, or of the steps of its training; the
 * compiler is open. Without that of the params' first elements. */
static double compile_ms(const char *path, const char *name, bool is_training) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  hia_error *error;
  options.kind = HIA_ENGINE_JIT;
  bench_check(hia_engine_new(&options, &engine, &error), &error);
  bench_check(hia_engine_native(engine, &error), &error);
  double start = bench_cpu();
  bench_check(hia_module_load_file(engine, path, &module, &error), &error);
  double loaded = bench_cpu();
  draw_params(module);
  start += bench_cpu() - loaded;
  bench_check(hia_module_function(module, name, &function, &error), &error);
  if (is_training)
    make_gradient(function);
  else
    bench_check(hia_function_prepare(function, &error), &error);
  double ms = bench_cpu() - start;
  hia_module_free(module);
  hia_engine_free(engine);
  return ms;
}

/* NAN, if there is no such function. */
static double median_compile_ms(const char *path, const char *name, bool is_training, int runs) {
  double ms[MAX_RUNS];
  for (int k = 0; name && k < runs; k++) ms[k] = compile_ms(path, name, is_training);
  return name ? bench_median(ms, (size_t)runs) : NAN;
}

static void print_compile(int runs) {
  char path[MAX_PATH];
  printf("%-20s", "compile time");
  bench_print_target_heading("ms");
  bench_print_target_heading("gradient, ms");
  printf("\n");
  for (size_t i = 0; i < (bench_is_quick() ? 1 : sizeof compiled / sizeof *compiled); i++) {
    const char *title = compiled[i].title, *loss = compiled[i].loss;
    double most = i == 0 ? MAX_COMPILE_MS : MAX_COMPILE_MS_OF_OTHERS;
    snprintf(path, sizeof path, "%s/models/%s.hia", HIA_EXAMPLES, compiled[i].file);
    printf("%-20s", title);
    bench_print_target(title, "compile time", median_compile_ms(path, "main", false, runs), 1,
                       BENCH_AT_MOST(most));
    bench_print_target(title, "compile time of the gradient",
                       median_compile_ms(path, loss ? loss : compiled[i].gradient, loss, runs), 1,
                       BENCH_AT_MOST(most));
    printf("\n");
    fflush(stdout);
  }
  printf("\n");
}

/* A process of a program built ahead of time, which has no LLVM: it reads the sentences and prints
 * the classes. Its params, 26 MB, are part of that. */
static void print_memory(const char *folder) {
  char path[MAX_PATH], program[MAX_PATH], vocabulary[MAX_PATH], sentences[MAX_PATH],
      arg[MAX_PATH + 1];
  bench_network_file(&bench_networks[BENCH_TREE_LSTM], path);
  snprintf(program, sizeof program, "%s/tree_lstm", folder);
  snprintf(vocabulary, sizeof vocabulary, "%s/vocabulary", folder);
  snprintf(sentences, sizeof sentences, "%s/sentences.ptb", folder);
  snprintf(arg, sizeof arg, "@%s", sentences);
  FILE *from = fopen(treebank.path, "r"), *to = fopen(sentences, "w");
  char *line = NULL;
  size_t size = 0;
  if (!from || !to) fail(sentences);
  for (size_t i = bench_network_sentences(&bench_networks[BENCH_TREE_LSTM]);
       i > 0 && getline(&line, &size, from) > 0; i--)
    fputs(line, to);
  free(line);
  fclose(from);
  if (ferror(to) || fclose(to) != 0) fail(sentences);
  const char *build[] = {HIA_PROGRAM, "build", path, "--exe", "-o", program, NULL};
  const char *run[] = {program, arg, "--build-vocab", vocabulary, NULL};
  bench_process(build);
  double peak = bench_process_peak(run);
  printf("%-14s", "peak memory");
  bench_print_target_heading("MiB");
  printf("\n%-14s", bench_networks[BENCH_TREE_LSTM].title);
  bench_print_target(bench_networks[BENCH_TREE_LSTM].title, "peak memory", peak, 1,
                     BENCH_AT_MOST(MAX_MEMORY));
  printf("\n\n");
  unlink(program);
  unlink(vocabulary);
  unlink(sentences);
}

int main(int argc, char **argv) {
  int runs = 5;
  const char *only = NULL;
  bool is_known = true;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      is_known = false;
  }
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N] [--only "
            "MODEL|likelihood|threads|compile|defaults]\n",
            argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  char folder[] = "/tmp/hiaton-bench-XXXXXX";
  if (!mkdtemp(folder)) fail(folder);
  bench_print_machine();
  treebank = bench_treebank_write(folder);
  if (!only) print_memory(folder); /* first: see bench_process_peak */
  bench_peers_find();
  if (treebank.is_generated) puts("the treebank is generated: HIATON_SST_DIR is not set");
  puts("");
  bench_pin(true);
  bench_networks_write_sentences(&treebank);
  bench_networks_write_weights(only);
  bool is_likelihood = only && strcmp(only, "likelihood") == 0;
  bool is_threads = only && strcmp(only, "threads") == 0;
  bool is_compile = only && strcmp(only, "compile") == 0;
  bool is_default = only && strcmp(only, "defaults") == 0;
  if (!is_likelihood && !is_threads && !is_compile && !is_default) print_rates(only, runs);
  if (!only || is_likelihood) bench_likelihood(BENCH_NETWORKS_FOLDER, runs);
  if (!only || is_threads) print_threads(runs);
  if (!only || is_compile) print_compile(runs);
  if (!is_likelihood && !is_threads && !is_compile)
    bench_defaults(is_default ? NULL : only, &treebank, runs);
  bench_treebank_remove(&treebank);
  rmdir(folder);
  return bench_end();
}
