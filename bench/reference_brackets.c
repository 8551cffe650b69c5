/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads trees in Penn brackets as a C programmer would: the file in one piece, a parser that
 * recurses, nodes of malloc, and a hash table of words, which stay where they are in the text.
 *
 *   peer_brackets FILE RUNS
 *
 * Prints for each run the numbers of trees, nodes and different words, a digest of all labels and
 * words, and the milliseconds from opening the file to the last tree. The trees are freed
 * afterwards, one by one. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct node {
  struct node *left, *right; /* NULL: a leaf */
  int label, word;
} node;

static void *must(void *block) {
  if (block) return block;
  fputs("out of memory\n", stderr);
  exit(1);
}

/* ---- words: open addressing, at most half full ---- */

typedef struct slot {
  const char *s;
  uint32_t len, hash;
  int index;
} slot;
typedef struct vocabulary {
  slot *slots;
  uint32_t mask;
  int n;
} vocabulary;

static void grow(vocabulary *v) {
  slot *old = v->slots;
  uint32_t n = old ? v->mask + 1 : 0;
  v->mask = old ? 2 * n - 1 : 1023;
  v->slots = must(calloc((size_t)v->mask + 1, sizeof *v->slots));
  for (uint32_t i = 0; i < n; i++) {
    if (!old[i].s) continue;
    uint32_t at = old[i].hash & v->mask;
    while (v->slots[at].s) at = (at + 1) & v->mask;
    v->slots[at] = old[i];
  }
  free(old);
}

static int number(vocabulary *v, const char *s, uint32_t len, uint32_t hash) {
  uint32_t at = hash & v->mask;
  for (; v->slots[at].s; at = (at + 1) & v->mask) {
    const slot *e = &v->slots[at];
    if (e->hash == hash && e->len == len && memcmp(e->s, s, len) == 0) return e->index;
  }
  int index = v->n++;
  v->slots[at] = (slot){s, len, hash, index};
  if ((uint32_t)v->n > v->mask / 2) grow(v);
  return index;
}

/* ---- trees ---- */

typedef struct parser {
  const char *text, *s; /* the text ends in a NUL */
  vocabulary words;
} parser;

static void fail(const parser *p, const char *message) {
  int line = 1;
  for (const char *s = p->text; s < p->s; s++) line += *s == '\n';
  fprintf(stderr, "line %d: %s\n", line, message);
  exit(1);
}

static inline bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static inline void skip_blanks(parser *p) {
  while (is_blank(*p->s)) p->s++;
}

static int parse_label(parser *p) {
  bool is_negative = *p->s == '-';
  p->s += is_negative;
  if (*p->s < '0' || *p->s > '9') fail(p, "expected a label");
  long label = 0;
  for (; *p->s >= '0' && *p->s <= '9'; p->s++) {
    label = label * 10 + (*p->s - '0');
    if (label > INT32_MAX) fail(p, "the label is too large");
  }
  return (int)(is_negative ? -label : label);
}

static int parse_word(parser *p) {
  const char *start = p->s;
  uint32_t hash = 2166136261u;
  for (; *p->s && *p->s != '(' && *p->s != ')' && !is_blank(*p->s); p->s++)
    hash = (hash ^ (unsigned char)*p->s) * 16777619u;
  if (p->s == start) fail(p, "expected a word or '('");
  return number(&p->words, start, (uint32_t)(p->s - start), hash);
}

static node *parse_tree(parser *p) {
  if (*p->s != '(') fail(p, "expected '('");
  p->s++;
  node *t = must(malloc(sizeof *t));
  skip_blanks(p);
  t->label = parse_label(p);
  skip_blanks(p);
  if (*p->s == '(') {
    t->word = -1;
    t->left = parse_tree(p);
    skip_blanks(p);
    t->right = parse_tree(p);
  } else {
    t->left = t->right = NULL;
    t->word = parse_word(p);
  }
  skip_blanks(p);
  if (*p->s != ')') fail(p, "expected ')'");
  p->s++;
  return t;
}

typedef struct forest {
  node **trees;
  size_t n, size;
} forest;

static forest parse_trees(parser *p) {
  forest f = {0};
  for (skip_blanks(p); *p->s; skip_blanks(p)) {
    if (f.n == f.size) {
      f.size = f.size ? 2 * f.size : 1024;
      f.trees = must(realloc(f.trees, f.size * sizeof *f.trees));
    }
    f.trees[f.n++] = parse_tree(p);
  }
  return f;
}

/* ---- the file, and what is printed ---- */

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  long size = 0;
  if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
    perror(path);
    exit(1);
  }
  rewind(file);
  char *text = must(malloc((size_t)size + 1));
  text[fread(text, 1, (size_t)size, file)] = 0;
  fclose(file);
  return text;
}

static size_t count(const node *t) { return t->left ? 1 + count(t->left) + count(t->right) : 1; }
static uint32_t digest(const node *t, uint32_t sum) {
  sum = sum * 31 + (uint32_t)t->label;
  return t->left ? digest(t->right, digest(t->left, sum)) : sum * 31 + (uint32_t)t->word;
}
static void destroy(node *t) {
  if (t->left) destroy(t->left);
  if (t->right) destroy(t->right);
  free(t);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  for (int i = 0; i < atoi(argv[2]); i++) {
    double start = now();
    parser p = {.text = read_file(argv[1])};
    p.s = p.text;
    grow(&p.words);
    forest f = parse_trees(&p);
    double ms = now() - start;
    size_t nodes = 0;
    uint32_t sum = 0;
    for (size_t k = 0; k < f.n; k++) {
      nodes += count(f.trees[k]);
      sum = digest(f.trees[k], sum);
      destroy(f.trees[k]);
    }
    printf("%zu %zu %d %d %.6f\n", f.n, nodes, p.words.n, (int)sum, ms);
    free(f.trees);
    free(p.words.slots);
    free((char *)p.text);
  }
  return 0;
}
