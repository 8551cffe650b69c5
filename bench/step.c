/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/step.h"
#include "bench/batches.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { SIZE = 64, WARM_UP = 3, STEPS = 8 };
#define MAX_OVERHEAD  3.0 /* per cent */
#define MAX_PLAN_NS   60.0
#define MAX_FAULTS    0.0
#define MAX_OVER_READ 1.1
#define MAX_OVER_KEPT 1.2

/* The floats of a leaf and of an inner node that the backward pass reads: results of operations,
 * each once however many read it. The scores' softmax has 5 at each node.
 *
 *   TreeLSTM   i, o, u, tanh(c), h and c; of an inner node also both f. No c of a root
 *   TreeRNN    h of an inner node; that of a leaf is a row of a param
 *   RNTN       h and V x of an inner node */
static const struct {
  size_t network;
  int leaf, inner, root;
} reads[] = {
    {BENCH_TREE_LSTM, 6 * 150 + 5, 8 * 150 + 5, -150},
    {BENCH_TREE_RNN, 5, 300 + 5, 0},
    {BENCH_RNTN, 5, 25 + 25 * 50 + 5, 0},
};

/* ---- time ---- */

typedef struct costs {
  double overhead; /* per cent of a step that planning and gathering take */
  double plan_ns;  /* a row */
  double faults;   /* of a step */
} costs;

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

static void step(const bench_batches *b, size_t i, hia_run_stats *used) {
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = used;
  bench_check(hia_trainer_step(b->trainer, &b->of[i % b->n], 1, &options, NULL, &error), &error);
}

/* Steps after the third. Times are of the processor, but for those that the run has measured. */
static costs costs_of(const bench_batches *b) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  double rows = 0, plan = 0, gather = 0;
  for (size_t i = 0; i < WARM_UP; i++) step(b, i, &used);
  long faults = page_faults();
  double start = bench_cpu();
  for (size_t i = 0; i < STEPS; i++) {
    step(b, WARM_UP + i, &used);
    rows += (double)used.batch_rows;
    plan += (double)used.batch_plan_ns;
    gather += (double)used.batch_gather_ns;
  }
  double ns = (bench_cpu() - start) * 1e6;
  return (costs){.overhead = 100 * (plan + gather) / ns,
                 .plan_ns = plan / rows,
                 .faults = (double)(page_faults() - faults) / STEPS};
}

/* ---- memory ---- */

/* What the allocator has given, and what that was when the backward pass began. Each block has its
 * size before it. */
typedef struct account {
  size_t bytes, peak, at_turn;
} account;

static void *take(void *user, size_t size) {
  account *a = user;
  void *block = malloc(size);
  if (!block) return NULL;
  a->bytes += size;
  if (a->bytes > a->peak) a->peak = a->bytes;
  return block;
}

static void *resize(void *user, void *block, size_t old_size, size_t size) {
  account *a = user;
  void *other = realloc(block, size);
  if (!other) return NULL;
  a->bytes += size - old_size;
  if (a->bytes > a->peak) a->peak = a->bytes;
  return other;
}

static void give(void *user, void *block, size_t size) {
  account *a = user;
  a->bytes -= size;
  free(block);
}

/* The backward pass calls it first, with the loss: all of the forward pass has been computed. */
static const char turning[] = "\nextern fn turn(x: f32) -> f32\n"
                              "fn turning(x: f32) -> f32 = 1 * x gradient(g, y) = g * turn(y)\n"
                              "fn measured(trees: [Tree]) -> f32 = turning(loss(trees))\n";

static float turn(void *user, float x) {
  account *a = user;
  a->at_turn = a->bytes;
  return x == x ? 1 : x;
}

static bench_program open_counted(const bench_network *network, account *a) {
  const hia_allocator allocator = {take, resize, give, a};
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  host.declaration = "extern fn turn(x: f32) -> f32";
  host.takes_user = true;
  host.function = (void (*)(void))turn;
  host.user = a;
  const bench_options options = {
      .kind = HIA_ENGINE_JIT, .threads = 1, .allocator = &allocator, .host = &host};
  bench_network counted = *network;
  counted.function = "measured";
  counted.more = turning;
  return bench_network_open_with(&counted, &options);
}

static void count_nodes(const hia_value *trees, size_t *n_leaves, size_t *n_inner) {
  hia_value_nodes *table;
  hia_error *error;
  bench_check(hia_value_to_nodes(trees, &table, &error), &error);
  for (size_t i = 0; i < table->n_nodes; i++) ++*(table->nodes[i].ctor == 0 ? n_leaves : n_inner);
  hia_value_nodes_free(table);
}

/* Bytes that the allocator gave for a step with so many sentences, and what is read of them. */
typedef struct memory {
  double nodes, read, kept, peak;
} memory;

/* A step before it, with one sentence, has packed the params. */
static memory memory_with(size_t row, const bench_treebank *treebank, unsigned n) {
  account a = {0};
  bench_batches b = {.n = 0};
  hia_run_stats used = HIA_RUN_STATS_INIT;
  b.program = open_counted(&bench_networks[reads[row].network], &a);
  b.trainer = bench_work_trainer(b.program.function);
  hia_value *trees = bench_network_trees(&b.program, treebank, 0, n);
  bench_batches_cut_of(&b, trees, 1);
  step(&b, 0, &used);
  bench_batches_cut_of(&b, trees, n);
  size_t before = a.bytes, n_leaves = 0, n_inner = 0;
  a.peak = a.bytes;
  step(&b, 0, &used);
  for (size_t i = 0; i < hia_value_len(trees); i++) {
    hia_value *tree = hia_value_part(trees, i);
    count_nodes(tree, &n_leaves, &n_inner);
    hia_value_free(tree);
  }
  double floats = (double)reads[row].leaf * (double)n_leaves +
                  (double)reads[row].inner * (double)n_inner +
                  (double)reads[row].root * (double)hia_value_len(trees);
  memory m = {.nodes = (double)(n_leaves + n_inner),
              .read = floats * sizeof(float),
              .kept = (double)a.at_turn - (double)before,
              .peak = (double)a.peak - (double)before};
  hia_value_free(trees);
  bench_batches_close(&b);
  return m;
}

/* What a node takes, as the difference of two steps: what the first step has left of memory, which
 * the second one uses, is in both. */
static memory memory_of(size_t row, const bench_treebank *treebank) {
  memory half = memory_with(row, treebank, SIZE / 2), all = memory_with(row, treebank, SIZE);
  double n = all.nodes - half.nodes;
  return (memory){.nodes = 1,
                  .read = (all.read - half.read) / n,
                  .kept = (all.kept - half.kept) / n,
                  .peak = (all.peak - half.peak) / n};
}

/* ---- the table ---- */

static void measure(size_t row, const bench_treebank *treebank, int runs) {
  const bench_network *network = &bench_networks[reads[row].network];
  double overhead[BENCH_MAX_RUNS_OF_BATCHES], plan_ns[BENCH_MAX_RUNS_OF_BATCHES], most = 0;
  bench_batches b = bench_batches_open(network, 1, HIA_BATCH_SEGMENTS, false);
  bench_batches_cut(&b, network, treebank, SIZE);
  for (int i = 0; i < runs; i++) {
    costs c = costs_of(&b);
    overhead[i] = c.overhead;
    plan_ns[i] = c.plan_ns;
    most = fmax(most, c.faults);
  }
  bench_batches_close(&b);
  memory m = memory_of(row, treebank);
  const char *title = network->title;
  printf("%-16s", title);
  bench_print_target(title, "plan, gather, %", bench_median(overhead, (size_t)runs), 1,
                     BENCH_AT_MOST(MAX_OVERHEAD));
  bench_print_target(title, "plan, ns a row", bench_median(plan_ns, (size_t)runs), 0,
                     BENCH_AT_MOST(MAX_PLAN_NS));
  bench_print_target(title, "page faults", most, 0, BENCH_AT_MOST(MAX_FAULTS));
  bench_print_target(title, "kept/read", m.kept / m.read, 2, BENCH_AT_MOST(MAX_OVER_READ));
  bench_print_target(title, "peak/kept", m.peak / m.kept, 2, BENCH_AT_MOST(MAX_OVER_KEPT));
  printf(" %8.0f %8.0f\n", m.read, m.kept);
  fflush(stdout);
}

void bench_step(const bench_treebank *treebank, int runs) {
  printf("%-16s", "a step of 64");
  bench_print_target_heading("plan, gather, %");
  bench_print_target_heading("plan, ns a row");
  bench_print_target_heading("page faults");
  bench_print_target_heading("kept/read");
  bench_print_target_heading("peak/kept");
  printf(" %8s %8s\n", "read", "kept, bytes a node");
  for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) measure(i, treebank, runs);
  printf("\n");
}
