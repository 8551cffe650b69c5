/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The log likelihood of a phylogenetic tree (examples/models/felsenstein.hia), next to C with loops
 * and to NumPy: bench/peers/likelihood.c and likelihood.py. All read one file:
 *
 *   TAXA PATTERNS RATES
 *   the rates; the counts of the patterns; for each taxon its states
 *   for each node, children first: LEFT RIGHT TAXON LENGTH, with -1 for what it has not
 *
 * They take MIN_SECONDS FILE, and print evaluations a second; with CHECK in the environment the log
 * likelihood, which must be hiaton's. */
#include "bench/likelihood.h"
#include "bench/harness.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TAXA = 64, PATTERNS = 1000, RATES = 4, MAX_NODES = 2 * TAXA, MAX_RUNS = 99, MAX_PATH = 512 };
#define TOLERANCE 1e-10
static const double rates[RATES] = {0.1, 0.4, 1.0, 2.5};

enum { C, NUMPY, N_PEERS };
static const char *const peer_names[N_PEERS] = {"C", "NumPy"};

typedef struct node {
  int left, right, taxon;
  double length;
} node;

/* Sequences that descend from one: each branch changes a state with some probability. */
typedef struct data {
  int n_taxa, n_patterns, n_nodes;
  node nodes[MAX_NODES]; /* the root is the last */
  int states[TAXA][PATTERNS];
  double counts[PATTERNS];
} data;

static uint32_t draw(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % n);
}

/* Makes the tree over taxa from `first` on, before `end`, whose parts differ in size; returns the
 * number of its root. `states` are those of its root. */
static int make_tree(data *d, uint64_t *random, int first, int end, const int *states) {
  int own[PATTERNS], left = -1, right = -1;
  double length = 0.01 * (1 + draw(random, 20));
  for (int i = 0; i < d->n_patterns; i++)
    own[i] = draw(random, 1000) < 750 * length ? (int)draw(random, 4) : states[i];
  if (end - first == 1) {
    memcpy(d->states[first], own, sizeof own);
  } else {
    int middle = first + 1 + (int)draw(random, (uint32_t)(end - first - 1));
    left = make_tree(d, random, first, middle, own);
    right = make_tree(d, random, middle, end, own);
  }
  d->nodes[d->n_nodes] = (node){left, right, left < 0 ? first : -1, length};
  return d->n_nodes++;
}

static data *make_data(void) {
  data *d = calloc(1, sizeof *d);
  int states[PATTERNS];
  uint64_t random = 1;
  if (!d) bench_check(HIA_MEMORY, NULL);
  d->n_taxa = bench_is_quick() ? 5 : TAXA;
  d->n_patterns = bench_is_quick() ? 20 : PATTERNS;
  for (int i = 0; i < d->n_patterns; i++) {
    states[i] = (int)draw(&random, 4);
    d->counts[i] = 1 + draw(&random, 5);
  }
  make_tree(d, &random, 0, d->n_taxa, states);
  return d;
}

static void write_data(const data *d, const char *path) {
  FILE *to = fopen(path, "w");
  if (!to) perror(path), exit(1);
  fprintf(to, "%d %d %d\n", d->n_taxa, d->n_patterns, RATES);
  for (int i = 0; i < RATES; i++) fprintf(to, "%g ", rates[i]);
  fprintf(to, "\n");
  for (int i = 0; i < d->n_patterns; i++) fprintf(to, "%g ", d->counts[i]);
  fprintf(to, "\n");
  for (int t = 0; t < d->n_taxa; t++)
    for (int i = 0; i < d->n_patterns; i++)
      fprintf(to, "%d%s", d->states[t][i], i + 1 < d->n_patterns ? " " : "\n");
  for (int i = 0; i < d->n_nodes; i++)
    fprintf(to, "%d %d %d %g\n", d->nodes[i].left, d->nodes[i].right, d->nodes[i].taxon,
            d->nodes[i].length);
  if (ferror(to) || fclose(to) != 0) perror(path), exit(1);
}

/* ---- hiaton ---- */

static void put_tree(FILE *to, const data *d, int i) {
  const node *n = &d->nodes[i];
  if (n->left < 0) {
    fprintf(to, "Leaf(%d, %g)", n->taxon, n->length);
    return;
  }
  fprintf(to, "Node(");
  put_tree(to, d, n->left);
  fprintf(to, ", ");
  put_tree(to, d, n->right);
  fprintf(to, ", %g)", n->length);
}

static void put_argument(FILE *to, const data *d, size_t i) {
  if (i == 0) put_tree(to, d, d->n_nodes - 1);
  if (i > 0) fputs("[", to);
  for (int t = 0; i == 1 && t < d->n_taxa; t++) {
    fputs(t ? ",[" : "[", to);
    for (int k = 0; k < d->n_patterns; k++) fprintf(to, k ? ",%d" : "%d", d->states[t][k]);
    fputs("]", to);
  }
  for (int k = 0; i == 2 && k < d->n_patterns; k++) fprintf(to, k ? ",%g" : "%g", d->counts[k]);
  for (int k = 0; i == 3 && k < RATES; k++) fprintf(to, k ? ",%g" : "%g", rates[k]);
  if (i > 0) fputs("]", to);
}

static hia_value *argument(const bench_program *p, const data *d, size_t i) {
  char *text;
  size_t len;
  hia_value *value;
  hia_error *error;
  FILE *to = open_memstream(&text, &len);
  if (!to) bench_check(HIA_MEMORY, NULL);
  put_argument(to, d, i);
  fclose(to);
  bench_check(hia_value_parse_text(p->function, i, NULL, text, len, &value, &error), &error);
  free(text);
  return value;
}

static double evaluate(const bench_program *p, hia_value *const args[4]) {
  hia_value *result;
  hia_error *error;
  double x;
  bench_check(hia_call(p->function, args, 4, &result, &error), &error);
  bench_check(hia_value_get_f64(result, &x), NULL);
  hia_value_free(result);
  return x;
}

/* Evaluations a second. */
static double rate(const bench_program *p, hia_value *const args[4], double seconds) {
  double start = bench_now(), ms;
  size_t n = 0;
  do {
    evaluate(p, args);
    n++;
    ms = bench_now() - start;
  } while (ms < seconds * 1e3);
  return (double)n / (ms / 1e3);
}

/* ---- the other programs ---- */

/* The words of a command; false if it is not there. */
static bool find_peer(int which, const char *file, const char *argv[8]) {
  static char python[MAX_PATH];
  static const char *const pythons[] = {"python3", "/usr/bin/python3"};
  size_t n = 0;
  if (which == C) {
    argv[n++] = HIA_PEERS "/peer_likelihood";
    if (access(argv[0], X_OK) != 0) return false;
  } else {
    if (bench_is_quick()) return false;
    for (size_t i = 0; i < 2 && !python[0]; i++) {
      const char *probe[] = {pythons[i], "-c", "import numpy", NULL};
      if (bench_process_works(probe)) snprintf(python, sizeof python, "%s", pythons[i]);
    }
    if (!python[0]) return false;
    argv[n++] = python;
    argv[n++] = HIA_BENCH "/peers/likelihood.py";
  }
  argv[n++] = bench_is_quick() ? "0" : "0.5";
  argv[n++] = file;
  argv[n] = NULL;
  return true;
}

static double peer_figure(const char *const argv[8]) {
  char text[256];
  double x = NAN;
  bench_process_text(argv, text, sizeof text);
  if (sscanf(text, "%lf", &x) != 1) bench_wrong("%s printed %s", argv[0], text);
  return x;
}

static void compare(const char *const argv[8], double expected) {
  setenv("CHECK", "1", 1);
  double x = peer_figure(argv);
  unsetenv("CHECK");
  if (!(fabs(x - expected) <= TOLERANCE * fabs(expected)))
    bench_wrong("likelihood: %.15g by %s, %.15g by hiaton", x, argv[0], expected);
}

static void print_rates(const bench_program *p, hia_value *const args[4], const char *file,
                        int runs) {
  const char *argv[N_PEERS][8];
  bool has_peer[N_PEERS];
  double own[MAX_RUNS], of[N_PEERS][MAX_RUNS], expected = evaluate(p, args);
  for (int k = 0; k < N_PEERS; k++) {
    has_peer[k] = find_peer(k, file, argv[k]);
    if (has_peer[k]) compare(argv[k], expected);
  }
  for (int i = 0; i < runs; i++) {
    own[i] = rate(p, args, bench_is_quick() ? 0 : 0.5);
    for (int k = 0; k < N_PEERS; k++)
      if (has_peer[k]) of[k][i] = peer_figure(argv[k]);
  }
  double median = bench_median(own, (size_t)runs);
  printf("%-17s %7s   ", "likelihoods/s", "hiaton");
  for (int k = 0; k < N_PEERS; k++) {
    char column[32];
    snprintf(column, sizeof column, "hiaton/%s", peer_names[k]);
    bench_print_target_heading(column);
  }
  printf("\n%-17s %7.1f   ", "Felsenstein", median);
  for (int k = 0; k < N_PEERS; k++)
    bench_print_target("Felsenstein", peer_names[k],
                       has_peer[k] ? median / bench_median(of[k], (size_t)runs) : NAN, 2,
                       BENCH_NO_TARGET);
  printf("\n\n");
}

static bench_program open_with(const data *d, const bench_options *options, hia_value *args[4]) {
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%s/models/felsenstein.hia", HIA_EXAMPLES);
  bench_program p = bench_open(path, "main", options);
  for (size_t i = 0; i < 4; i++) args[i] = argument(&p, d, i);
  return p;
}

bench_program bench_likelihood_open(const bench_options *options, hia_value *args[4]) {
  data *d = make_data();
  bench_program p = open_with(d, options, args);
  free(d);
  return p;
}

void bench_likelihood(const char *folder, int runs) {
  char file[MAX_PATH];
  hia_value *args[4];
  data *d = make_data();
  snprintf(file, sizeof file, "%s/likelihood.txt", folder);
  write_data(d, file);
  const bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1};
  bench_program p = open_with(d, &options, args);
  print_rates(&p, args, file, runs);
  for (size_t i = 0; i < 4; i++) hia_value_free(args[i]);
  bench_close(&p);
  free(d);
}
