/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Data and arrays of the reference: objects that never change, in a pool that is freed whole. */
#include "tests/diff/program.h"
#include <string.h>

#define MAX_SIZE (UINT64_MAX / 4) /* sizes grow with every use of a part: they saturate */

static uint64_t add_sizes(uint64_t a, uint64_t b) { return a + b > MAX_SIZE ? MAX_SIZE : a + b; }

uint64_t gen_value_size(const gen_program *p, gen_type t, const uint64_t *words) {
  if (gen_is_array(t) || gen_is_data(t)) return gen_object_at(*words)->size;
  if (!gen_is_tuple(t)) return 1;
  uint64_t size = 0;
  for (uint32_t i = 0; i < gen_tuple_of(p, t)->n; i++) {
    gen_type part = gen_tuple_of(p, t)->parts[i];
    size = add_sizes(size, gen_value_size(p, part, words));
    words += gen_words(p, part);
  }
  return size;
}

static gen_object *new_object(gen_pool *pool, const uint64_t *words, uint64_t n_words) {
  gen_object *o = gen_alloc(pool, sizeof *o + n_words * sizeof *words);
  if (n_words) memcpy(o->words, words, n_words * sizeof *words);
  o->size = 1;
  return o;
}

uint64_t gen_new_data(const gen_program *p, gen_pool *pool, gen_type t, uint32_t con,
                      const uint64_t *fields) {
  const gen_con *c = &gen_data_of(p, t)->cons[con];
  uint64_t n_words = 0, size = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    size = add_sizes(size, gen_value_size(p, c->fields[i], fields + n_words));
    n_words += gen_words(p, c->fields[i]);
  }
  gen_object *o = new_object(pool, fields, n_words);
  o->con = con;
  o->size += size;
  return (uint64_t)(uintptr_t)o;
}

uint64_t gen_new_array(const gen_program *p, gen_pool *pool, gen_type t, uint64_t n,
                       const uint64_t *elements) {
  gen_type element = gen_element_of(p, t);
  uint32_t words = gen_words(p, element);
  gen_object *o = new_object(pool, elements, n * words);
  o->n = n;
  for (uint64_t i = 0; i < n; i++)
    o->size = add_sizes(o->size, gen_value_size(p, element, elements + i * words));
  return (uint64_t)(uintptr_t)o;
}

/* Copies the words of `n` values of the same type, and what they refer to. */
static uint64_t *copy_values(const gen_program *p, gen_pool *pool, gen_type t, uint64_t n,
                             const uint64_t *words) {
  uint32_t w = gen_words(p, t);
  uint64_t *copy = GEN_NEW_ARRAY(pool, uint64_t, n *w);
  if (n) memcpy(copy, words, n * w * sizeof *copy);
  for (uint64_t i = 0; i < n; i++) gen_copy_value(p, pool, t, copy + i * w);
  return copy;
}

void gen_copy_value(const gen_program *p, gen_pool *pool, gen_type t, uint64_t *words) {
  if (gen_is_tuple(t)) {
    for (uint32_t i = 0; i < gen_tuple_of(p, t)->n; i++) {
      gen_copy_value(p, pool, gen_tuple_of(p, t)->parts[i], words);
      words += gen_words(p, gen_tuple_of(p, t)->parts[i]);
    }
  } else if (gen_is_data(t)) {
    const gen_object *o = gen_object_at(*words);
    const gen_con *c = &gen_data_of(p, t)->cons[o->con];
    uint64_t fields[64], *field = fields;
    for (uint32_t i = 0, at = 0; i < c->n; i++) {
      uint32_t w = gen_words(p, c->fields[i]);
      memcpy(field, o->words + at, w * sizeof *field);
      gen_copy_value(p, pool, c->fields[i], field);
      field += w;
      at += w;
    }
    *words = gen_new_data(p, pool, t, o->con, fields);
  } else if (gen_is_array(t)) {
    const gen_object *o = gen_object_at(*words);
    *words =
        gen_new_array(p, pool, t, o->n, copy_values(p, pool, gen_element_of(p, t), o->n, o->words));
  }
}

bool gen_matches(const gen_program *p, const gen_pattern *pattern, const uint64_t *words,
                 uint64_t *frame) {
  if (pattern->var)
    memcpy(frame + pattern->var->slot, words, gen_words(p, pattern->type) * sizeof *words);
  if (pattern->var || pattern->any) return true;
  if (!gen_is_data(pattern->type)) return (uint64_t)pattern->value == *words;
  const gen_object *o = gen_object_at(*words);
  if (o->con != (uint64_t)pattern->value) return false;
  const uint64_t *field = o->words;
  for (uint32_t i = 0; i < pattern->n; i++) {
    if (!gen_matches(p, &pattern->parts[i], field, frame)) return false;
    field += gen_words(p, pattern->parts[i].type);
  }
  return true;
}
