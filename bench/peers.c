/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/peers.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HIA_GXX_PROGRAM
#define HIA_GXX_PROGRAM "g++"
#endif
enum { MAX_PATH = BENCH_MAX_PATH };
#define TOLERANCE 1e-5

/* ---- which there are ---- */

static const char *outside; /* HIATON_PEERS_DIR, or NULL */
static char python[64];     /* that has PyTorch, or empty */

static void find_python(void) {
  static const char *const pythons[] = {"python3", "/usr/bin/python3"};
  if (bench_is_quick()) {
    puts("PyTorch is left out: it takes seconds to start");
    return;
  }
  for (size_t i = 0; i < 2 && !python[0]; i++) {
    const char *argv[] = {pythons[i], "-c", "import numpy, torch", NULL};
    if (bench_process_works(argv)) snprintf(python, sizeof python, "%s", pythons[i]);
  }
  if (!python[0]) puts("no PyTorch: Debian's python3-torch is not installed");
}

void bench_peers_find(void) {
  outside = bench_is_quick() ? NULL : getenv("HIATON_PEERS_DIR");
  bench_free_blas();
  find_python();
  printf("the other programs: those of %s; BLAS: %s\n",
         outside ? "HIATON_PEERS_DIR" : "bench/peers", bench_blas_text());
}

static bool is_newer(const char *a, const char *b) {
  struct stat x, y;
  if (stat(a, &x) != 0) return false;
  return stat(b, &y) != 0 || x.st_mtime > y.st_mtime;
}

/* Compiles a program of the folder from outside, if that has changed. `flags` is what its head
 * says. */
static bool compile(const char *name, const char *const *flags, char program[MAX_PATH]) {
  char source[MAX_PATH];
  const char *argv[32] = {HIA_GXX_PROGRAM, "-O3", "-march=native", "-I" HIA_BENCH "/peers", source};
  size_t n = 5;
  snprintf(source, sizeof source, "%s/tree/%s.cc", outside, name);
  snprintf(program, MAX_PATH, "%s/%s", BENCH_NETWORKS_FOLDER, name);
  while (*flags) argv[n++] = *flags++;
  argv[n++] = "-o";
  argv[n++] = program;
  if (!is_newer(source, program) && access(program, X_OK) == 0) return true;
  if (access(source, R_OK) == 0 && bench_process_works(argv)) return true;
  program[0] = 0;
  return false;
}

bool bench_peer_exists(const bench_peer *p) { return p->program[0] != 0; }

static bench_peer own_by_hand(const bench_network *network) {
  bench_peer p = {.name = network->name};
  snprintf(p.program, sizeof p.program, "%s/peer_models", HIA_PEERS);
  if (access(p.program, X_OK) != 0) p.program[0] = 0;
  return p;
}

bench_peer bench_peer_by_hand(const bench_network *network, bench_mode mode) {
  static const char *const tree_lstm[] = {"-mprefer-vector-width=512", "-ffast-math", "-fopenmp",
                                          "-l:libopenblas.so.0", NULL};
  static const char *const rnn[] = {"-mprefer-vector-width=512", "-ffast-math",
                                    "-l:libopenblas.so.0", NULL};
  bench_peer p = {.mode = mode};
  if (outside && network->input == BENCH_TREES) {
    if (strcmp(network->name, "treelstm") == 0) {
      compile("hand_treelstm", tree_lstm, p.program);
    } else {
      p.name = network->name;
      compile("hand_rnn", rnn, p.program);
    }
  } else if (mode == BENCH_INFER) {
    p = own_by_hand(network);
  }
  return p;
}

bench_peer bench_peer_torch(const bench_network *network, bench_mode mode, bool is_fused) {
  bench_peer p = {.name = is_fused ? network->name : network->torch, .mode = mode};
  bool is_outside = outside && network->input != BENCH_ROOTS;
  if (!python[0] || (mode == BENCH_TRAIN && !is_outside)) return p;
  snprintf(p.program, sizeof p.program, "%s", python);
  if (is_outside)
    snprintf(p.script, sizeof p.script, "%s/tree/bench_torch.py", outside);
  else
    snprintf(p.script, sizeof p.script, "%s/peers/models.py", HIA_BENCH);
  return p;
}

bench_peer bench_peer_torch_batch(const char *model, bench_mode mode, unsigned size) {
  bench_peer p = {.name = model, .mode = mode, .batch = size};
  if (!python[0]) return p;
  snprintf(p.program, sizeof p.program, "%s", python);
  snprintf(p.script, sizeof p.script, "%s/peers/batches.py", HIA_BENCH);
  return p;
}

bench_peer bench_peer_libtorch(const bench_network *network) {
  static const char *const flags[] = {"-I/usr/include/torch/csrc/api/include", "-ltorch",
                                      "-ltorch_cpu", "-lc10", NULL};
  bench_peer p = {.mode = BENCH_INFER};
  if (!bench_is_quick() && outside && strcmp(network->name, "treelstm") == 0)
    compile("bench_libtorch", flags, p.program);
  return p;
}

/* ---- what they print ---- */

/* The words of a command: NULL at the end. */
static void words_of(const bench_peer *p, const bench_network *network, const char *seconds,
                     const char *batch, const char *n, const char *argv[16]) {
  size_t at = 0;
  argv[at++] = p->program;
  if (p->script[0]) argv[at++] = p->script;
  if (p->name) argv[at++] = p->name;
  argv[at++] = network->size;
  argv[at++] = p->mode == BENCH_TRAIN ? "train" : "infer";
  argv[at++] = batch;
  argv[at++] = n;
  argv[at++] = seconds;
  argv[at++] = "1";
  argv[at++] = BENCH_NETWORKS_FOLDER;
  argv[at] = NULL;
}

static void output_of(const bench_peer *p, const bench_network *network, char *text, size_t size) {
  char n[32], batch[32];
  const char *argv[16];
  snprintf(batch, sizeof batch, "%u", p->batch ? p->batch : 1);
  snprintf(n, sizeof n, "%zu", bench_network_sentences(network));
  words_of(p, network, bench_is_quick() ? "0" : "0.3", batch, n, argv);
  bench_process_text(argv, text, size);
}

static double figure_in(const char *text, const bench_peer *p, const char *figure) {
  const char *at = strstr(text, figure);
  double x;
  if (at && sscanf(at + strlen(figure), "%lf", &x) == 1) return x;
  fprintf(stderr, "%s printed: %s\n", p->program, text);
  exit(1);
}

double bench_peer_rate(const bench_peer *p, const bench_network *network) {
  char text[512];
  output_of(p, network, text, sizeof text);
  return figure_in(text, p, "med=");
}

static void compare(const char *row, const char *peer, const char *what, double x,
                    double expected) {
  if (!(fabs(x - expected) <= TOLERANCE * fabs(expected)))
    bench_wrong("%s, %s: a loss of %.9g%s instead of %.9g", row, peer, x, what, expected);
}

void bench_peer_compare(const bench_peer *p, const char *name, const bench_network *network,
                        double loss, double after) {
  char text[512];
  setenv("CHECK", "1", 1);
  output_of(p, network, text, sizeof text);
  unsetenv("CHECK");
  compare(network->title, name, "", figure_in(text, p, "loss0="), loss);
  char figure[40];
  snprintf(figure, sizeof figure, "after1epoch(B=%u)=", p->batch ? p->batch : 1);
  if (!isnan(after))
    compare(network->title, name, " after an epoch", figure_in(text, p, figure), after);
}

/* ---- tables ---- */

void bench_peers_print_heading(const char *const *names, size_t n) {
  for (size_t k = 0; k < n; k++) {
    char column[64];
    snprintf(column, sizeof column, "hiaton/%s", names[k]);
    bench_print_target_heading(column);
  }
  for (size_t k = 0; k < n; k++) printf(" %10s", names[k]);
  printf("\n");
}

void bench_peers_print_row(const char *row, const char *const *names, size_t n, double own,
                           const double *rates, const double *least) {
  for (size_t k = 0; k < n; k++) {
    char column[64];
    snprintf(column, sizeof column, "hiaton/%s", names[k]);
    bench_print_target(row, column, own / rates[k], 2,
                       least[k] > 0 ? BENCH_AT_LEAST(least[k]) : BENCH_NO_TARGET);
  }
  for (size_t k = 0; k < n; k++)
    if (isnan(rates[k]))
      printf(" %10s", "-");
    else
      printf(" %10.1f", rates[k]);
  printf("\n");
  fflush(stdout);
}
