/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the other files: memory, text, random numbers, types. */
#include "tests/diff/program.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

struct gen_chunk {
  struct gen_chunk *next;
  size_t used, size;
};
#define CHUNK_HEAD 32u /* keeps what follows 16-aligned */

static void *need(void *block) {
  if (!block) {
    fputs("hia_diff: out of memory\n", stderr);
    exit(2);
  }
  return block;
}

void *gen_alloc(gen_pool *pool, size_t size) {
  size = (size + 15) & ~(size_t)15;
  struct gen_chunk *c = pool->chunks;
  if (!c || c->size - c->used < size) {
    size_t room = size > 65536 - CHUNK_HEAD ? size : 65536 - CHUNK_HEAD;
    c = need(calloc(1, CHUNK_HEAD + room));
    c->size = room;
    c->next = pool->chunks;
    pool->chunks = c;
  }
  void *block = (char *)c + CHUNK_HEAD + c->used;
  c->used += size;
  return block;
}

void gen_pool_free(gen_pool *pool) {
  while (pool->chunks) {
    struct gen_chunk *next = pool->chunks->next;
    free(pool->chunks);
    pool->chunks = next;
  }
}

void gen_text_add(gen_text *text, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (n < 0) return;
  size_t len = (size_t)n;
  if (text->len + len + 1 > text->cap) {
    text->cap = (text->len + len + 1) * 2;
    text->data = need(realloc(text->data, text->cap));
  }
  va_start(args, fmt);
  vsnprintf(text->data + text->len, len + 1, fmt, args);
  va_end(args);
  text->len += len;
}

bool gen_text_take(void *text, const char *bytes, size_t len) {
  gen_text_add(text, "%.*s", (int)len, bytes);
  return true;
}

void gen_text_free(gen_text *text) {
  free(text->data);
  *text = (gen_text){0};
}

/* ---- random numbers ---- */

uint64_t gen_next(gen_random *r) {
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
uint32_t gen_below(gen_random *r, uint32_t n) {
  return (uint32_t)(((gen_next(r) >> 32) * (uint64_t)n) >> 32);
}
bool gen_chance(gen_random *r, uint32_t percent) { return gen_below(r, 100) < percent; }

/* ---- types ---- */

gen_type gen_tuple_type(gen_program *p, const gen_type *parts, uint32_t n) {
  for (uint32_t i = 0; i < p->n_tuples; i++) {
    gen_tuple *t = &p->tuples[i];
    if (t->n == n && !memcmp(t->parts, parts, n * sizeof *parts)) return GEN_FIRST_TUPLE + i;
  }
  if (p->n_tuples == GEN_MAX_TUPLES) return GEN_ERROR;
  for (uint32_t i = 0; i < n; i++)
    if (parts[i] == GEN_ERROR) return GEN_ERROR;
  gen_tuple *t = &p->tuples[p->n_tuples];
  *t = (gen_tuple){.n = n};
  for (uint32_t i = 0; i < n; i++) {
    t->parts[i] = parts[i];
    t->words += gen_words(p, parts[i]);
    t->has_x |= gen_has_x(p, parts[i]);
  }
  return GEN_FIRST_TUPLE + p->n_tuples++;
}

gen_type gen_array_type(gen_program *p, gen_type element) {
  for (uint32_t i = 0; i < p->n_arrays; i++)
    if (p->arrays[i] == element) return GEN_FIRST_ARRAY + i;
  if (p->n_arrays == GEN_MAX_ARRAYS || element == GEN_ERROR) return GEN_ERROR;
  p->arrays[p->n_arrays] = element;
  return GEN_FIRST_ARRAY + p->n_arrays++;
}

uint32_t gen_words(const gen_program *p, gen_type t) {
  return gen_is_tuple(t) ? gen_tuple_of(p, t)->words : 1;
}

bool gen_has_x(const gen_program *p, gen_type t) {
  if (gen_is_array(t)) return gen_has_x(p, gen_element_of(p, t));
  return t == GEN_X || (gen_is_tuple(t) && gen_tuple_of(p, t)->has_x);
}

gen_type gen_substitute(gen_program *p, gen_type t, gen_type binding) {
  if (t == GEN_X) return binding;
  if (gen_is_array(t)) return gen_array_type(p, gen_substitute(p, gen_element_of(p, t), binding));
  if (!gen_is_tuple(t) || !gen_tuple_of(p, t)->has_x) return t;
  gen_type parts[GEN_MAX_PARTS];
  uint32_t n = gen_tuple_of(p, t)->n;
  for (uint32_t i = 0; i < n; i++)
    parts[i] = gen_substitute(p, gen_tuple_of(p, t)->parts[i], binding);
  return gen_tuple_type(p, parts, n);
}

const gen_op_info gen_ops[GEN_N_OPS] = {
#define GEN_ROW(name, text, arity, works_on) {text, arity, GEN_##works_on},
    GEN_OPS(GEN_ROW)
#undef GEN_ROW
};
