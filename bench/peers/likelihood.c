/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The log likelihood of a phylogenetic tree (examples/models/felsenstein.hia) in C, with loops that
 * compilers vectorise: the four states of a site lie together, as do the sites of a class of rates;
 * a leaf takes a row of the matrix for its state instead of multiplying; children come first in the
 * table of nodes, so nothing recurses.
 *
 *   peer_likelihood MIN_SECONDS FILE
 *
 * bench/likelihood.c describes the file. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct node {
  int left, right, taxon;
  double length;
} node;

static int n_taxa, n_patterns, n_rates, n_nodes;
static double *rates, *counts;
static int *states; /* of taxon t at pattern i: [t * n_patterns + i] */
static node *nodes;
static double **partials; /* of each node: [rate][pattern][state] */

static void *alloc(size_t n, size_t size) {
  void *p = aligned_alloc(64, (n * size + 63) / 64 * 64);
  if (!p) exit(1);
  return p;
}

static void need(int n, int wanted) {
  if (n != wanted) fputs("peer_likelihood: the file is not as it should be\n", stderr), exit(1);
}

static void read_file(const char *path) {
  FILE *from = fopen(path, "r");
  if (!from) perror(path), exit(1);
  need(fscanf(from, "%d %d %d", &n_taxa, &n_patterns, &n_rates), 3);
  n_nodes = 2 * n_taxa - 1;
  rates = alloc((size_t)n_rates, sizeof *rates);
  counts = alloc((size_t)n_patterns, sizeof *counts);
  states = alloc((size_t)n_taxa * (size_t)n_patterns, sizeof *states);
  nodes = alloc((size_t)n_nodes, sizeof *nodes);
  partials = alloc((size_t)n_nodes, sizeof *partials);
  for (int i = 0; i < n_rates; i++) need(fscanf(from, "%lf", &rates[i]), 1);
  for (int i = 0; i < n_patterns; i++) need(fscanf(from, "%lf", &counts[i]), 1);
  for (int i = 0; i < n_taxa * n_patterns; i++) need(fscanf(from, "%d", &states[i]), 1);
  for (int i = 0; i < n_nodes; i++) {
    node *n = &nodes[i];
    need(fscanf(from, "%d %d %d %lf", &n->left, &n->right, &n->taxon, &n->length), 4);
    partials[i] = alloc((size_t)n_rates * (size_t)n_patterns * 4, sizeof **partials);
  }
  fclose(from);
}

static void transitions(double P[4][4], double rate, double t) {
  double stays = exp(-4 * t / 3 * rate);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) P[i][j] = (i == j ? stays : 0) + (1 - stays) / 4;
}

static void leaf(const node *n, double (*P)[4], double (*restrict out)[4]) {
  const int *s = states + (size_t)n->taxon * (size_t)n_patterns;
  for (int i = 0; i < n_patterns; i++)
    for (int j = 0; j < 4; j++) out[i][j] = P[s[i]][j];
}

static void inner(double (*P)[4], double (*restrict a)[4], double (*restrict b)[4],
                  double (*restrict out)[4]) {
  for (int i = 0; i < n_patterns; i++) {
    double x[4], y[4] = {0, 0, 0, 0};
    for (int j = 0; j < 4; j++) x[j] = a[i][j] * b[i][j];
    for (int k = 0; k < 4; k++)
      for (int j = 0; j < 4; j++) y[j] += x[k] * P[k][j]; /* P is symmetric */
    for (int j = 0; j < 4; j++) out[i][j] = y[j];
  }
}

static double log_likelihood(void) {
  for (int i = 0; i < n_nodes; i++) {
    for (int r = 0; r < n_rates; r++) {
      double P[4][4];
      size_t at = (size_t)r * (size_t)n_patterns;
      double(*out)[4] = (double(*)[4])partials[i] + at;
      transitions(P, rates[r], nodes[i].length);
      if (nodes[i].left < 0)
        leaf(&nodes[i], P, out);
      else
        inner(P, (double(*)[4])partials[nodes[i].left] + at,
              (double(*)[4])partials[nodes[i].right] + at, out);
    }
  }
  double(*root)[4] = (double(*)[4])partials[n_nodes - 1], sum = 0;
  for (int i = 0; i < n_patterns; i++) {
    double site = 0;
    for (int r = 0; r < n_rates; r++) {
      const double *x = root[(size_t)r * (size_t)n_patterns + (size_t)i];
      site += (x[0] + x[1] + x[2] + x[3]) / 4;
    }
    sum += counts[i] * log(site / n_rates);
  }
  return sum;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  read_file(argv[2]);
  if (getenv("CHECK")) return printf("%.17g\n", log_likelihood()) < 0;
  double start = now(), seconds, sum = 0;
  int n = 0;
  do {
    sum += log_likelihood();
    n++;
    seconds = now() - start;
  } while (seconds < atof(argv[1]));
  printf("%g evaluations a second, the sum of which is %g\n", n / seconds, sum);
  return 0;
}
