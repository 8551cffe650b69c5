/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/weights.h"
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PATH = 512, MAX_TEMPORARY = MAX_PATH + 8, MAX_HEADER = 4096 };

static void fail(const char *path) {
  fflush(stdout);
  perror(path);
  exit(1);
}

static size_t rank_of(const bench_weight *w) {
  size_t rank = 0;
  while (rank < 3 && w->dims[rank]) rank++;
  return rank;
}

static size_t count_of(const bench_weight *w) {
  size_t n = 1;
  for (size_t i = 0; i < rank_of(w); i++) n *= (size_t)w->dims[i];
  return n;
}

static const char *peers_name(const bench_weight *w) { return w->peers ? w->peers : w->name; }

/* "3SEP5" */
static void dims_text(const bench_weight *w, const char *separator, char *text, size_t size) {
  size_t at = 0;
  for (size_t i = 0; i < rank_of(w); i++)
    at += (size_t)snprintf(text + at, size - at, "%s%" PRId64, i == 0 ? "" : separator, w->dims[i]);
}

/* Numbers that depend on both names: xorshift, from a hash of the names (FNV-1a). */
static float *make(const char *model, const bench_weight *w) {
  uint64_t state = 14695981039346656037u;
  for (const char *p = model; *p; p++) state = (state ^ (unsigned char)*p) * 1099511628211u;
  for (const char *p = w->name; *p; p++) state = (state ^ (unsigned char)*p) * 1099511628211u;
  size_t n = count_of(w);
  float *x = malloc(n * sizeof *x);
  if (!x) fail(w->name);
  double scale = w->scale;
  if (scale == 0) scale = sqrt(6.0 / (double)(w->dims[0] + w->dims[rank_of(w) - 1]));
  for (size_t i = 0; i < n; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x[i] = (float)(((double)(state >> 40) / (double)(1 << 24) * 2 - 1) * scale);
  }
  return x;
}

static bool is_there(const char *path) {
  struct stat s;
  return stat(path, &s) == 0;
}

/* A file gets its name when it is whole. */
static FILE *begin(const char *path, char temporary[MAX_TEMPORARY]) {
  snprintf(temporary, MAX_TEMPORARY, "%s.part", path);
  FILE *to = fopen(temporary, "w");
  if (!to) fail(temporary);
  return to;
}

static void end(FILE *to, const char *temporary, const char *path) {
  if (ferror(to) || fclose(to) != 0 || rename(temporary, path) != 0) fail(path);
}

static void write_elements(const char *path, const bench_weight *w, const float *x, bool is_npy) {
  char temporary[MAX_TEMPORARY], header[256], dims[80];
  if (is_there(path)) return;
  FILE *to = begin(path, temporary);
  if (is_npy) { /* NumPy's format 1.0: the header ends at a multiple of 64 */
    dims_text(w, ", ", dims, sizeof dims);
    size_t len = (size_t)snprintf(header, sizeof header,
                                  "{'descr': '<f4', 'fortran_order': False, 'shape': (%s%s), }",
                                  dims, rank_of(w) == 1 ? "," : "");
    size_t padded = (10 + len + 1 + 63) / 64 * 64 - 10;
    fwrite("\x93NUMPY\x01\x00", 1, 8, to);
    fputc((int)(padded & 255), to);
    fputc((int)(padded >> 8), to);
    fprintf(to, "%-*s\n", (int)padded - 1, header);
  }
  fwrite(x, sizeof *x, count_of(w), to);
  end(to, temporary, path);
}

static void write_safetensors(const char *path, const char *model, const bench_weight *weights) {
  char temporary[MAX_TEMPORARY], header[MAX_HEADER], dims[80];
  if (is_there(path)) return;
  size_t at = 0, bytes = 0;
  for (const bench_weight *w = weights; w->name; w++) {
    size_t size = count_of(w) * sizeof(float);
    dims_text(w, ",", dims, sizeof dims);
    at += (size_t)snprintf(header + at, sizeof header - at,
                           "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
                           w == weights ? "{" : ",", w->name, dims, bytes, bytes + size);
    bytes += size;
  }
  at += (size_t)snprintf(header + at, sizeof header - at, "}");
  uint64_t len = (at + 7) / 8 * 8;
  FILE *to = begin(path, temporary);
  fwrite(&len, sizeof len, 1, to);
  fprintf(to, "%-*s", (int)len, header);
  for (const bench_weight *w = weights; w->name; w++) {
    float *x = make(model, w);
    fwrite(x, sizeof *x, count_of(w), to);
    free(x);
  }
  end(to, temporary, path);
}

void bench_weights_write(const char *folder, const char *model, const bench_weight *weights) {
  char stem[MAX_PATH - 16], path[MAX_PATH], dims[80];
  for (const bench_weight *w = weights; w->name; w++) {
    dims_text(w, "x", dims, sizeof dims);
    snprintf(stem, sizeof stem, "%s/w_%s_%s_%s", folder, model, peers_name(w), dims);
    float *x = NULL;
    for (int is_npy = 0; is_npy < 2; is_npy++) {
      snprintf(path, sizeof path, "%s%s", stem, is_npy ? ".npy" : ".f32");
      if (is_there(path)) continue;
      if (!x) x = make(model, w);
      write_elements(path, w, x, is_npy);
    }
    free(x);
  }
  snprintf(path, sizeof path, "%s/%s.safetensors", folder, model);
  write_safetensors(path, model, weights);
}
