/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/threads.h"
#include "bench/batches.h"
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_RUNS = 99, N_SIZES = 4, DEPTH = 11 };
static const unsigned sizes[N_SIZES] = {10, 25, 64, 256};
#define MIN_OF_COPIES 0.93 /* of what two copies of the program do side by side */
#define MAX_BESIDE    1.1  /* times as long as on one thread, beside a neighbour */

/* The program on one thread, another copy of it, and the program on two. */
enum { ONE, COPY, TWO, N_PROGRAMS };

/* ---- two copies side by side ---- */

typedef struct copy {
  const bench_batches *batches;
  bench_mode mode;
  size_t n_sentences;
  double rate;
} copy;

static void *measure_copy(void *user) {
  copy *c = user;
  c->rate = bench_batches_rate(c->batches, c->mode, c->n_sentences);
  return NULL;
}

/* What both do in a second. */
static double rate_of_copies(const bench_batches all[N_PROGRAMS], bench_mode mode, size_t n) {
  copy copies[2] = {{&all[ONE], mode, n, 0}, {&all[COPY], mode, n, 0}};
  pthread_t other;
  if (pthread_create(&other, NULL, measure_copy, &copies[1]) != 0) {
    perror("pthread_create");
    exit(1);
  }
  measure_copy(&copies[0]);
  pthread_join(other, NULL);
  return copies[0].rate + copies[1].rate;
}

static void compare_losses(const char *row, const bench_batches all[N_PROGRAMS]) {
  bench_work one = bench_batches_work(&all[ONE], BENCH_CALL),
             two = bench_batches_work(&all[TWO], BENCH_CALL);
  double losses[2] = {bench_work_pass(&one), bench_work_pass(&two)};
  if (losses[0] != losses[1])
    bench_wrong("%s: %.17g, but %.17g on two threads", row, losses[0], losses[1]);
}

/* The ratios are medians of those of rounds: others may use the machine, too. */
static void measure_copies(const char *row, const bench_batches all[N_PROGRAMS], bench_mode mode,
                           size_t n, int runs) {
  double one[MAX_RUNS], two[MAX_RUNS], copies[MAX_RUNS], speed_up[MAX_RUNS], share[MAX_RUNS];
  if (mode == BENCH_INFER) compare_losses(row, all);
  for (int r = 0; r < runs; r++) {
    one[r] = bench_batches_rate(&all[ONE], mode, n);
    two[r] = bench_batches_rate(&all[TWO], mode, n);
    copies[r] = rate_of_copies(all, mode, n);
    speed_up[r] = two[r] / one[r];
    share[r] = two[r] / copies[r];
  }
  size_t n_runs = (size_t)runs;
  printf("%-34s %9.1f %9.1f %9.1f", row, bench_median(one, n_runs), bench_median(two, n_runs),
         bench_median(copies, n_runs));
  bench_print_target(row, "two/one threads", bench_median(speed_up, n_runs), 2, BENCH_NO_TARGET);
  bench_print_target(row, "two/copies", bench_median(share, n_runs), 2,
                     BENCH_AT_LEAST(MIN_OF_COPIES));
  printf("\n");
  fflush(stdout);
}

/* ---- beside a neighbour ---- */

typedef enum neighbour { COMPUTES, FILLS_MEMORY } neighbour;
static const char *const neighbour_names[2] = {"computes", "fills memory"};

static _Noreturn void be_neighbour(neighbour what) {
  enum { SIZE = 256 << 20 };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setsid(); /* the system shares the cores among sessions */
  bench_pin_to(0);
  char *to = what == FILLS_MEMORY
                 ? mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                 : MAP_FAILED;
  for (volatile int i = 0;; i++)
    if (to != MAP_FAILED) memset(to, i, SIZE);
}

static pid_t start_neighbour(neighbour what) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) be_neighbour(what);
  return pid;
}

static void end_neighbour(pid_t pid) {
  if (pid <= 0) return;
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
}

static void measure_beside(const char *row, const bench_batches all[N_PROGRAMS], bench_mode mode,
                           size_t n, int runs) {
  double one[MAX_RUNS], two[MAX_RUNS], ratio[MAX_RUNS];
  for (int r = 0; r < runs; r++) {
    one[r] = bench_batches_rate(&all[ONE], mode, n);
    two[r] = bench_batches_rate(&all[TWO], mode, n);
    ratio[r] = one[r] / two[r];
  }
  size_t n_runs = (size_t)runs;
  printf("%-44s %9.1f %9.1f", row, bench_median(one, n_runs), bench_median(two, n_runs));
  bench_print_target(row, "time of two/one", bench_median(ratio, n_runs), 2,
                     BENCH_AT_MOST(MAX_BESIDE));
  printf("\n");
  fflush(stdout);
}

/* ---- large products beside a neighbour ---- */

/* Products that a crew shares, none of which is in a wave. */
static const char products_text[] =
    "param W: f32[768, 768] = uniform(-0.06, 0.06)\n"
    "fn main(n: i32) -> i32 = {\n"
    "  let (x, _) = loop (x = ones(256, 768), i = 0) while i < n { (x @ transpose(W), i + 1) };\n"
    "  i32(sum(x) > 1e30)\n"
    "}\n";

static bench_program open_products(unsigned threads) {
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = threads, .batch = HIA_BATCH_NONE};
  return bench_open_text("products", products_text, "main", &options);
}

/* Milliseconds of a product. */
static double product_ms(const bench_program *p) {
  int32_t n = bench_is_quick() ? 2 : 100;
  double start = bench_now();
  bench_call(p, &n, 1, NULL);
  return (bench_now() - start) / n;
}

static void measure_products(const bench_program both[2], neighbour what, int runs) {
  double one[MAX_RUNS], two[MAX_RUNS], ratio[MAX_RUNS];
  char row[96];
  for (int k = 0; k < 2; k++) product_ms(&both[k]); /* the matrix is packed */
  for (int r = 0; r < runs; r++) {
    one[r] = product_ms(&both[0]);
    two[r] = product_ms(&both[1]);
    ratio[r] = two[r] / one[r];
  }
  size_t n_runs = (size_t)runs;
  snprintf(row, sizeof row, "256 x 768 x 768; it %s", neighbour_names[what]);
  printf("%-44s %9.3f %9.3f", row, bench_median(one, n_runs), bench_median(two, n_runs));
  bench_print_target(row, "time of two/one", bench_median(ratio, n_runs), 2,
                     BENCH_AT_MOST(MAX_BESIDE));
  printf("\n");
  fflush(stdout);
}

static void print_products(int runs) {
  bench_program both[2] = {open_products(1), open_products(2)};
  printf("%-44s %9s %9s", "ms a product, one core has a neighbour", "one", "two");
  bench_print_target_heading("time of two/one");
  printf("\n");
  for (int what = 0; what < 2; what++) {
    pid_t pid = start_neighbour((neighbour)what);
    measure_products(both, (neighbour)what, runs);
    end_neighbour(pid);
  }
  for (int k = 0; k < 2; k++) bench_close(&both[k]);
  printf("\n");
}

/* ---- all tables ---- */

static void cut(bench_batches all[N_PROGRAMS], const bench_network *network,
                const bench_treebank *treebank, unsigned size) {
  for (int k = 0; k < N_PROGRAMS; k++) bench_batches_cut(&all[k], network, treebank, size);
}

static void print_copies(bench_batches all[N_PROGRAMS], const bench_network *network,
                         const bench_treebank *treebank, int runs) {
  size_t n = bench_network_sentences(network);
  char row[96];
  printf("%-34s %9s %9s %9s", "sentences/s", "one", "two", "copies");
  bench_print_target_heading("two/one threads");
  bench_print_target_heading("two/copies");
  printf("\n");
  for (int mode = 0; mode < 2; mode++) { /* training, which changes params, comes last */
    for (size_t i = 0; i < N_SIZES && sizes[i] <= n; i++) {
      cut(all, network, treebank, sizes[i]);
      snprintf(row, sizeof row, "%s, %u, %s", network->title, sizes[i], bench_mode_names[mode]);
      measure_copies(row, all, (bench_mode)mode, n, runs);
    }
    for (int k = 0; k < N_PROGRAMS; k++)
      bench_batches_set(&all[k],
                        bench_network_balanced(&all[k].program, bench_is_quick() ? 4 : DEPTH));
    snprintf(row, sizeof row, "a balanced tree, %s", bench_mode_names[mode]);
    measure_copies(row, all, (bench_mode)mode, 1, runs);
  }
  printf("\n");
}

static void print_beside(bench_batches all[N_PROGRAMS], const bench_network *network,
                         const bench_treebank *treebank, int runs) {
  static const unsigned some[] = {10, 64};
  size_t n = bench_network_sentences(network);
  char row[96];
  printf("%-44s %9s %9s", "sentences/s, one core has a neighbour", "one", "two");
  bench_print_target_heading("time of two/one");
  printf("\n");
  for (int what = 0; what < 2; what++) {
    pid_t pid = start_neighbour((neighbour)what);
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
      unsigned size = some[i] < n ? some[i] : (unsigned)n;
      cut(all, network, treebank, size);
      for (int mode = 0; mode < 2; mode++) {
        snprintf(row, sizeof row, "%s, %u, %s; it %s", network->title, size, bench_mode_names[mode],
                 neighbour_names[what]);
        measure_beside(row, all, (bench_mode)mode, n, runs);
      }
    }
    end_neighbour(pid);
  }
  printf("\n");
}

void bench_threads(const bench_treebank *treebank, int runs) {
  static const unsigned threads[N_PROGRAMS] = {1, 1, 2};
  const bench_network *network = &bench_networks[BENCH_TREE_LSTM];
  bench_batches all[N_PROGRAMS];
  bench_pin(false);
  for (int k = 0; k < N_PROGRAMS; k++)
    all[k] = bench_batches_open(network, threads[k], HIA_BATCH_SEGMENTS, false);
  print_copies(all, network, treebank, runs);
  print_beside(all, network, treebank, runs);
  for (int k = 0; k < N_PROGRAMS; k++) bench_batches_close(&all[k]);
  print_products(runs);
  bench_pin(true);
}
