/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/control/oracle.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { KINDS = 8, NONE = -1 };

/* A row. Lists are linked by `next`. */
typedef struct row {
  int32_t kind, depth, height; /* the longest way to a row on which none depends */
  int32_t first, next;         /* of the rows that depend on it; and of those that do on the same */
} row;

typedef struct agenda {
  row *rows;
  int32_t ready[KINDS];               /* lists of rows that can be computed */
  size_t n_ready[KINDS], left[KINDS]; /* and of all that are not computed */
  int64_t depths[KINDS];              /* the sums of the latter's */
} agenda;

typedef bool better(const agenda *a, int32_t kind, int32_t than);

static bool has_lower_average(const agenda *a, int32_t kind, int32_t than) {
  return a->depths[kind] * (int64_t)a->left[than] < a->depths[than] * (int64_t)a->left[kind];
}

static int32_t height_of(const agenda *a, int32_t kind) {
  int32_t most = 0;
  for (int32_t i = a->ready[kind]; i != NONE; i = a->rows[i].next)
    if (a->rows[i].height > most) most = a->rows[i].height;
  return most;
}

static bool is_longer(const agenda *a, int32_t kind, int32_t than) {
  return height_of(a, kind) > height_of(a, than);
}

static bool has_more(const agenda *a, int32_t kind, int32_t than) {
  return a->n_ready[kind] > a->n_ready[than];
}

static void fail(void) {
  perror("memory");
  exit(1);
}

static void add_ready(agenda *a, int32_t i) {
  row *r = &a->rows[i];
  r->next = a->ready[r->kind];
  a->ready[r->kind] = i;
  a->n_ready[r->kind]++;
}

static agenda begin(const int32_t *rows, size_t n) {
  agenda a = {.rows = calloc(n + 1, sizeof *a.rows)};
  int32_t *last = calloc(n + 1, sizeof *last), *before = calloc(n + 1, sizeof *before);
  if (!a.rows || !last || !before) fail();
  for (int32_t k = 0; k < KINDS; k++) a.ready[k] = NONE;
  for (size_t i = 0; i < n; i++) {
    row *r = &a.rows[i];
    *r = (row){.kind = rows[i] % KINDS, .depth = rows[i] / KINDS, .first = NONE};
    before[i] = r->depth ? last[r->depth - 1] : NONE;
    last[r->depth] = (int32_t)i;
    a.left[r->kind]++;
    a.depths[r->kind] += r->depth;
  }
  for (size_t i = n; i-- > 0;) {
    if (before[i] == NONE) {
      add_ready(&a, (int32_t)i);
      continue;
    }
    row *r = &a.rows[before[i]];
    a.rows[i].next = r->first;
    r->first = (int32_t)i;
    if (a.rows[i].height >= r->height) r->height = a.rows[i].height + 1;
  }
  free(last);
  free(before);
  return a;
}

static void compute(agenda *a, int32_t kind) {
  int32_t i = a->ready[kind];
  a->ready[kind] = NONE;
  a->n_ready[kind] = 0;
  while (i != NONE) {
    row *r = &a->rows[i];
    i = r->next;
    a->left[kind]--;
    a->depths[kind] -= r->depth;
    for (int32_t k = r->first, next; k != NONE; k = next) {
      next = a->rows[k].next;
      add_ready(a, k);
    }
  }
}

static size_t waves_by(const int32_t *rows, size_t n, better *is_better) {
  agenda a = begin(rows, n);
  size_t waves = 0;
  for (;; waves++) {
    int32_t best = NONE;
    for (int32_t k = 0; k < KINDS; k++)
      if (a.n_ready[k] && (best == NONE || is_better(&a, k, best))) best = k;
    if (best == NONE) break;
    compute(&a, best);
  }
  free(a.rows);
  return waves;
}

size_t bench_oracle_waves(const int32_t *rows, size_t n) {
  better *const ways[] = {has_lower_average, is_longer, has_more};
  size_t least = SIZE_MAX;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    size_t waves = waves_by(rows, n, ways[i]);
    if (waves < least) least = waves;
  }
  return least;
}
