/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures training: a step for each sentence, on one thread, next to programs by hand and to
 * PyTorch; a gradient next to the function that it is of (gradients.h); what a step of 64 sentences
 * costs besides its operations (step.h); two threads next to one; the gradient of a deep recursion.
 *
 *   bench_train [--quick | --check] [--runs N] [--only NAME]
 *
 * NAME is that of a model (inputs.h), step, threads or depth. bench/peers.h describes the programs
 * next to hiaton. Their summed losses must be hiaton's, before and after an epoch. A round has a
 * measurement of each; figures are medians of wall-clock rates. */
#include "bench/gradients.h"
#include "bench/harness.h"
#include "bench/networks.h"
#include "bench/peers.h"
#include "bench/step.h"
#include "bench/treebank.h"
#include "bench/work.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99, MAX_PATH = BENCH_MAX_PATH, BATCH = 25, MAX_BATCHES = 16 };
enum { LEVELS = 10000000, QUICK_LEVELS = 1000000 };
#define MIN_SPEED_UP 1.8

enum { HAND, TORCH, N_PEERS };
static const char *const peer_names[N_PEERS] = {"by hand", "PyTorch"};

/* The networks that are compared, and their targets: how many times as fast; 0: none. */
enum { N_TRAINED = 3 };
static const struct {
  size_t network;
  double min_of[N_PEERS];
} trained[N_TRAINED] = {
    {BENCH_TREE_LSTM, {[HAND] = 0.8, [TORCH] = 8}},
    {BENCH_TREE_RNN, {[HAND] = 0.75}},
    {BENCH_RNTN, {[HAND] = 0.9}},
};

static bench_treebank treebank;
static const char *only; /* NULL: all */

static bool is_chosen(const char *name) { return !only || strcmp(only, name) == 0; }

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

/* ---- a step for each sentence ---- */

static void measure_steps(size_t row, int runs) {
  const bench_network *network = &bench_networks[trained[row].network];
  double own[MAX_RUNS], theirs[N_PEERS][MAX_RUNS], median[N_PEERS];
  bench_peer peers[N_PEERS] = {
      [HAND] = bench_peer_by_hand(network, BENCH_TRAIN),
      [TORCH] = bench_peer_torch(network, BENCH_TRAIN, false),
  };
  bench_runner r = bench_runner_open(network, &treebank);
  hia_trainer *trainer = bench_work_trainer(r.program.function);
  bench_work call = bench_work_of(&r, BENCH_CALL, NULL),
             step = bench_work_of(&r, BENCH_STEP, trainer);
  double before = bench_work_pass(&call);
  bench_work_pass(&step);
  double after = bench_work_pass(&call);
  if (!(after < before))
    bench_wrong("%s: %.9g after an epoch, %.9g before", network->title, after, before);
  for (int k = 0; k < N_PEERS; k++)
    if (bench_peer_exists(&peers[k]))
      bench_peer_compare(&peers[k], peer_names[k], network, before, after);
  for (int i = 0; i < runs; i++) {
    own[i] = bench_work_rate(&step, 0.3);
    for (int k = 0; k < N_PEERS; k++)
      if (bench_peer_exists(&peers[k])) theirs[k][i] = bench_peer_rate(&peers[k], network);
  }
  double per_second = bench_median(own, (size_t)runs);
  printf("%-22s %9.1f", network->title, per_second);
  for (int k = 0; k < N_PEERS; k++)
    median[k] = bench_peer_exists(&peers[k]) ? bench_median(theirs[k], (size_t)runs) : NAN;
  char row_name[64];
  snprintf(row_name, sizeof row_name, "%s, training", network->title);
  bench_peers_print_row(row_name, peer_names, N_PEERS, per_second, median, trained[row].min_of);
  hia_trainer_free(trainer);
  bench_runner_close(&r);
}

static void print_steps(int runs) {
  printf("%-22s %9s", "sentences/s, training", "hiaton");
  bench_peers_print_heading(peer_names, N_PEERS);
  for (size_t i = 0; i < N_TRAINED; i++)
    if (is_chosen(bench_networks[trained[i].network].name)) measure_steps(i, runs);
  printf("\n");
}

/* ---- two threads ---- */

/* A network on so many threads, with batches. */
typedef struct batches {
  bench_program program;
  hia_trainer *trainer;
  hia_value *of[MAX_BATCHES];
  size_t n;
} batches;

static batches open_batches(const bench_network *network, unsigned threads) {
  batches b = {.program = bench_network_open(network, threads)};
  b.trainer = bench_work_trainer(b.program.function);
  b.n = bench_network_sentences(network) / BATCH;
  if (b.n == 0) b.n = 1;
  for (size_t i = 0; i < b.n; i++)
    b.of[i] = bench_network_trees(&b.program, &treebank, i * BATCH, BATCH);
  return b;
}

static void close_batches(batches *b) {
  for (size_t i = 0; i < b->n; i++) hia_value_free(b->of[i]);
  hia_trainer_free(b->trainer);
  bench_close(&b->program);
}

/* Both make the same steps, so the losses stay the same. */
static void measure_threads(const char *row, bench_act what, const batches both[2],
                            bench_target target, int runs) {
  double ms[2][MAX_RUNS];
  int passes = bench_is_quick() ? 1 : 3; /* in a measurement */
  for (int i = -1; i < runs; i++) {      /* the first time is not counted */
    double losses[2] = {0, 0};
    for (int k = 0; k < 2; k++) {
      const batches *b = &both[k];
      bench_work w = {what,      .trainer = b->trainer, .args = b->of,
                      .n = b->n, .stride = 1,           .n_args = 1};
      double start = bench_now();
      for (int p = 0; p < passes; p++) losses[k] += bench_work_pass(&w);
      ms[k][i < 0 ? 0 : i] = (bench_now() - start) / passes;
    }
    if (losses[0] != losses[1])
      bench_wrong("%s: %.17g on two threads, %.17g on one", row, losses[1], losses[0]);
  }
  double one = bench_median(ms[0], (size_t)runs), two = bench_median(ms[1], (size_t)runs);
  printf("%-22s %10.2f %10.2f", row, one, two);
  bench_print_target(row, "one/two threads", one / two, 2, target);
  printf("\n");
  fflush(stdout);
}

static void print_threads(int runs) {
  const bench_network *network = &bench_networks[BENCH_TREE_LSTM];
  bench_pin(false);
  batches both[2] = {open_batches(network, 1), open_batches(network, 2)};
  size_t n = 0;
  for (size_t i = 0; i < both[0].n; i++) n += hia_value_len(both[0].of[i]);
  char heading[64];
  snprintf(heading, sizeof heading, "%zu in batches of %d", n, BATCH);
  printf("%-22s %10s %10s", heading, "one, ms", "two, ms");
  bench_print_target_heading("one/two threads");
  printf("\n");
  measure_threads("gradients", BENCH_GRADIENT, both, BENCH_NO_TARGET, runs);
  measure_threads("gradients and steps", BENCH_STEP, both, BENCH_AT_LEAST(MIN_SPEED_UP), runs);
  for (int k = 0; k < 2; k++) close_batches(&both[k]);
  bench_pin(true);
  printf("\n");
}

/* ---- deep recursion ---- */

static const char deep[] = "fn f(n: i32, x: f64) -> f64 = if n == 0 then x else sin(f(n - 1, x))\n"
                           "fn main(n: i32, x: f64) -> f64 = grad(f, wrt = x)(n, x)\n";

static int levels(void) { return bench_is_quick() ? QUICK_LEVELS : LEVELS; }

/* MiB, of a process of the gradient built ahead of time, which has no LLVM. */
static double deep_peak(const char *folder) {
  char path[MAX_PATH], program[MAX_PATH], n[32];
  snprintf(path, sizeof path, "%s/deep.hia", folder);
  snprintf(program, sizeof program, "%s/deep", folder);
  snprintf(n, sizeof n, "%d", levels());
  FILE *to = fopen(path, "w");
  if (!to || fputs(deep, to) < 0 || fclose(to) != 0) fail(path);
  const char *build[] = {HIA_PROGRAM, "build", path, "--exe", "-o", program, NULL};
  const char *run[] = {program, n, "0.5", NULL};
  bench_process(build);
  double peak = bench_process_peak(run);
  unlink(program);
  unlink(path);
  return peak;
}

static void print_depth(double peak, int runs) {
  static const char *const names[2] = {"f", "main"};
  const bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1};
  bench_program programs[2];
  hia_value *args[2][2];
  double ns[2][MAX_RUNS];
  bench_work works[2];
  for (int k = 0; k < 2; k++) {
    char n[32];
    hia_error *error;
    programs[k] = bench_open_text("deep.hia", deep, names[k], &options);
    hia_function *f = programs[k].function;
    snprintf(n, sizeof n, "%d", levels());
    bench_check(hia_value_parse_text(f, 0, NULL, n, strlen(n), &args[k][0], &error), &error);
    bench_check(hia_value_parse_text(f, 1, NULL, "0.5", 3, &args[k][1], &error), &error);
    works[k] = (bench_work){BENCH_CALL, .function = f, .args = args[k], .n = 1, .n_args = 2};
    bench_work_pass(&works[k]);
  }
  for (int i = 0; i < runs; i++)
    for (int k = 0; k < 2; k++) ns[k][i] = 1e9 / bench_work_rate(&works[k], 0) / levels();
  double one = bench_median(ns[0], (size_t)runs), both = bench_median(ns[1], (size_t)runs);
  printf("%-22s %10s %10s", "ns a level", "function", "gradient");
  bench_print_target_heading("gradient/function");
  printf(" %s\n", "gradient: peak bytes a level");
  printf("sin, %-17d %10.1f %10.1f", levels(), one, both);
  bench_print_target("sin", "gradient/function", both / one, 2, BENCH_NO_TARGET);
  printf(" %.1f\n\n", peak * 1024 * 1024 / levels());
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 2; i++) hia_value_free(args[k][i]);
    bench_close(&programs[k]);
  }
}

static bool is_name(const char *name) {
  return bench_gradients_have(name) || strcmp(name, "step") == 0 || strcmp(name, "threads") == 0 ||
         strcmp(name, "depth") == 0;
}

int main(int argc, char **argv) {
  int runs = 5;
  bool is_known = true;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      is_known &= is_name(only = argv[++i]);
    else
      is_known = false;
  }
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N] "
            "[--only MODEL|step|threads|depth]\n",
            argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  bool has_steps = !only, has_model = !only || bench_gradients_have(only);
  for (size_t i = 0; i < N_TRAINED; i++)
    has_steps |= is_chosen(bench_networks[trained[i].network].name);
  char folder[] = "/tmp/hiaton-bench-XXXXXX";
  if (!mkdtemp(folder)) fail(folder);
  bench_print_machine();
  double peak = is_chosen("depth") ? deep_peak(folder) : 0; /* first: see bench_process_peak */
  treebank = bench_treebank_write(folder);
  bench_peers_find();
  if (treebank.is_generated) puts("the treebank is generated: HIATON_SST_DIR is not set");
  puts("");
  bench_pin(true);
  bench_networks_write_weights(has_model ? only : NULL);
  if (has_steps && !bench_is_quick()) bench_networks_write_sentences(&treebank);
  if (has_steps) print_steps(runs);
  if (has_model) bench_gradients(only, &treebank, runs);
  if (is_chosen("step")) bench_step(&treebank, runs);
  if (is_chosen("threads")) print_threads(runs);
  if (is_chosen("depth")) print_depth(peak, runs);
  bench_treebank_remove(&treebank);
  rmdir(folder);
  return bench_end();
}
