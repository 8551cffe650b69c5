/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/treebank.h"
#include "bench/harness.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void fail(const char *path) {
  fflush(stdout);
  perror(path);
  exit(1);
}

/* ---- one that is made ----
 *
 * Like the Stanford Sentiment Treebank: 9,645 sentences of 19 words on average, binary trees,
 * labels from 0 to 4, most of them 2, and about 19,000 different words, of which the k-th occurs
 * about 1/k times as often as the first. */

enum { SENTENCES = 9645, QUICK_SENTENCES = 100, MAX_SENTENCE = 37, MAX_WORDS = 30000 };

static uint64_t seed;

static uint32_t draw(uint32_t n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return (uint32_t)((seed >> 32) * n >> 32);
}

/* A word of few letters if its number is small. */
static void write_word(FILE *to) {
  static const char consonants[] = "tnshrdlcmwfgypbvk", vowels[] = "eaoiu";
  unsigned k = (unsigned)pow(MAX_WORDS, draw(1 << 24) / (double)(1 << 24));
  for (; k; k /= 17 * 5) {
    fputc(consonants[k % 17], to);
    fputc(vowels[k / 17 % 5], to);
    if (k % 3 == 0) fputc(consonants[k % 7], to);
  }
}

static void write_tree(FILE *to, unsigned n_words) {
  static const char labels[] = "2222222201134";
  fprintf(to, "(%c ", labels[draw(sizeof labels - 1)]);
  if (n_words == 1) {
    write_word(to);
  } else {
    unsigned left = 1 + draw(n_words - 1);
    write_tree(to, left);
    fputc(' ', to);
    write_tree(to, n_words - left);
  }
  fputc(')', to);
}

static void generate(FILE *to) {
  seed = 88172645463325252u;
  for (int i = bench_is_quick() ? QUICK_SENTENCES : SENTENCES; i > 0; i--) {
    write_tree(to, 1 + draw(MAX_SENTENCE));
    fputc('\n', to);
  }
}

/* ---- one from outside ---- */

static void copy(FILE *from, FILE *to) {
  char *line = NULL;
  size_t size = 0;
  for (int i = 0; getline(&line, &size, from) > 0; i++) {
    if (bench_is_quick() && i == QUICK_SENTENCES) break;
    fputs(line, to);
  }
  free(line);
}

static void collect(const char *folder, FILE *to) {
  static const char *const names[] = {"train", "dev", "test"}, *const ends[] = {"txt", "ptb"};
  int n = 0;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) {
      char path[4096];
      snprintf(path, sizeof path, "%s/%s.%s", folder, names[i], ends[k]);
      FILE *from = fopen(path, "r");
      if (!from) continue;
      copy(from, to);
      fclose(from);
      n++;
    }
  if (n) return;
  fprintf(stderr, "HIATON_SST_DIR: %s has no train, dev or test (.txt or .ptb)\n", folder);
  exit(1);
}

bench_treebank bench_treebank_write(const char *folder) {
  bench_treebank t;
  const char *from = getenv("HIATON_SST_DIR");
  t.is_generated = !from;
  snprintf(t.path, sizeof t.path, "%s/treebank.ptb", folder);
  FILE *to = fopen(t.path, "w");
  if (!to) fail(t.path);
  if (from)
    collect(from, to);
  else
    generate(to);
  t.bytes = (size_t)ftell(to);
  if (fclose(to) != 0) fail(t.path);
  return t;
}

void bench_treebank_remove(const bench_treebank *t) { unlink(t->path); }

/* ---- reading ---- */

hia_value *bench_treebank_read(const bench_treebank *t, hia_engine *engine,
                               const hia_type_info *type, double *ms, size_t *n_words) {
  hia_error *error;
  hia_value *trees;
  double start = bench_now();
  FILE *file = fopen(t->path, "r");
  char *text = malloc(t->bytes);
  if (!file || !text || fread(text, 1, t->bytes, file) != t->bytes) fail(t->path);
  fclose(file);
  hia_vocab *words = hia_vocab_new(NULL);
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = words;
  options.add_words = true;
  if (!words || hia_data_read_brackets(hia_engine_allocator(engine), type, t->path, text, t->bytes, &options, &trees,
                                        &error) != HIA_OK) {
    fputs(words ? hia_error_text(error) : "out of memory", stderr);
    exit(1);
  }
  *ms = bench_now() - start;
  *n_words = hia_vocab_len(words);
  hia_vocab_free(words);
  free(text);
  return trees;
}

/* The second of two readings in one process. */
static double peer_ms(const char *peer, const bench_treebank *t, const bench_program *digest,
                      hia_value *trees, size_t n_words) {
  if (!peer) return NAN;
  const char *argv[] = {peer, t->path, "2", NULL};
  char text[256];
  double ms;
  size_t n, words;
  int result;
  bench_process_text(argv, text, sizeof text);
  const char *second = strchr(text, '\n');
  if (!second || sscanf(second + 1, "%zu %*u %zu %d %lf", &n, &words, &result, &ms) != 4) {
    fprintf(stderr, "%s printed: %s\n", peer, text);
    exit(1);
  }
  long long own = bench_call_on(digest, trees);
  if (result != own || words != n_words || n != hia_value_len(trees))
    bench_wrong("brackets: %zu trees, %zu words, digest %lld; in C %zu, %zu, %d",
                hia_value_len(trees), n_words, own, n, words, result);
  return ms;
}

enum { MAX_RUNS = 99 };

void bench_treebank_measure(const bench_treebank *t, const char *peer, int runs) {
  double own[MAX_RUNS], c[MAX_RUNS];
  size_t n_trees = 0, n_words = 0;
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = 1};
  bench_program digest = bench_open(HIA_BENCH "/treebank.hia", "digest_all", &options);
  const hia_type_info *type = hia_function_param_type(digest.function, 0);
  if (runs > MAX_RUNS) runs = MAX_RUNS;
  for (int i = -1; i < runs; i++) { /* the first time is not counted, as of the peer */
    int k = i < 0 ? 0 : i;
    hia_value *trees = bench_treebank_read(t, digest.engine, type, &own[k], &n_words);
    c[k] = peer_ms(peer, t, &digest, trees, n_words);
    n_trees = hia_value_len(trees);
    hia_value_free(trees);
  }
  double a = bench_median(own, (size_t)runs), b = bench_median(c, (size_t)runs);
  double mb = (double)t->bytes / 1e6;
  char row[64];
  snprintf(row, sizeof row, "%.1f MB, %s", mb, t->is_generated ? "generated" : "treebank");
  printf("%-22s %9s %9s", "trees in brackets", "MB/s", "C, MB/s");
  bench_print_target_heading("time, hiaton/C");
  printf("\n%-22s %9.1f", row, mb / (a / 1e3));
  if (peer)
    printf(" %9.1f", mb / (b / 1e3));
  else
    printf(" %9s", "-");
  bench_print_target("brackets", "time, hiaton/C", a / b, 2, BENCH_AT_MOST(1.0));
  printf("  %zu trees, %zu words\n\n", n_trees, n_words);
  fflush(stdout);
  bench_close(&digest);
}
