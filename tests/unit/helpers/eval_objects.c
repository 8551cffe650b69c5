/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/eval_objects.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- data ---- */

static eval_object *objects;

static eval_object hole;
hia_word eval_hole(void) { return (hia_word)(uintptr_t)&hole; }

void eval_must(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "%s\n", what);
  abort();
}

hia_word eval_data(uint32_t ctor, const hia_word *words, uint32_t n) {
  if (n == 0) return ctor;
  eval_object *o = malloc(sizeof *o + n * sizeof *words);
  *o = (eval_object){.older = objects, .ctor = ctor, .n = n, .count = EVAL_OUTSIDE};
  memcpy(o->words, words, n * sizeof *words);
  objects = o;
  return (hia_word)(uintptr_t)o;
}

void eval_free(void) {
  while (objects) {
    eval_object *older = objects->older;
    free(objects);
    objects = older;
  }
}

eval_object *eval_object_of(hia_word word) {
  eval_object *o = word < HIA_FIRST_ADDRESS ? NULL : (eval_object *)(uintptr_t)word;
  eval_must(o != &hole, "a hole is used");
  eval_must(!o || o->count != EVAL_FREED, "an object is used that was freed");
  return o;
}

uint32_t eval_ctor_of(hia_word word) {
  return eval_object_of(word) ? eval_object_of(word)->ctor : (uint32_t)word;
}

hia_word eval_field_of(hia_word word, uint64_t imm) {
  const eval_object *o = eval_object_of(word);
  eval_must(o && o->ctor == HIA_IMM_A(imm) && HIA_IMM_B(imm) < o->n,
            "a field of another constructor");
  return o->words[HIA_IMM_B(imm)];
}

/* The words of an object of this type. */
static hia_layout layout_of(const hia_types *types, hia_type type, const eval_object *o) {
  hia_type_table table = hiaG_type_table(types);
  return hiaR_type_kind(&table, type) == HIA_KIND_ARRAY ? hiaR_type_entry(&table, type)->layout
                                                        : hiaR_ctor(&table, type, o->ctor)->layout;
}

/* That of word i; of an array all elements have the same. */
static hia_type word_type(const hia_types *types, hia_type type, const eval_object *o, uint32_t i) {
  hia_layout layout = layout_of(types, type, o);
  return hiaG_type_table(types).layout_words[layout.first + i % layout.n].type;
}

/* Of a value of this type: equal values have equal hashes. */
uint64_t eval_hash_of(const hia_types *types, hia_type type, hia_word word) {
  if (hiaG_is_scalar(type)) return word * 0x9e3779b97f4a7c15u;
  uint64_t hash = eval_ctor_of(word) + 1;
  const eval_object *o = eval_object_of(word);
  if (!o) return hash;
  if (hiaG_type_kind(types, type) == HIA_KIND_ARRAY) hash += o->n;
  for (uint32_t i = 0; i < o->n; i++)
    hash = ((hash >> 29) ^ hash ^ eval_hash_of(types, word_type(types, type, o, i), o->words[i])) *
           0x9e3779b97f4a7c15u;
  return hash;
}

/* ---- counts of references ---- */

void eval_dup(hia_word word) {
  eval_object *o = eval_object_of(word);
  eval_must(!o || o->count != EVAL_TOKEN, "a token is shared");
  if (o && o->count != EVAL_OUTSIDE) o->count++;
}

void eval_drop(const hia_types *types, hia_type type, hia_word word) {
  eval_object *o = eval_object_of(word);
  eval_must(!o || o->count != EVAL_TOKEN, "a token is dropped");
  if (!o || o->count == EVAL_OUTSIDE || --o->count) return;
  for (uint32_t i = 0; i < o->n; i++) {
    hia_type part = word_type(types, type, o, i);
    if (!hiaG_is_scalar(part)) eval_drop(types, part, o->words[i]);
  }
}

static bool is_used(const hia_fn *fn, hia_value_id v) {
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++)
      if (!(fn->nodes.data[n].flags & HIA_NODE_DEAD) && hiaG_in(fn, n, i) == v) return true;
  return false;
}

hia_word eval_unpack(const hia_types *types, const hia_fn *fn, hia_node_id n, hia_word word) {
  const hia_node *node = &fn->nodes.data[n];
  eval_object *o = eval_object_of(word);
  eval_must(o && o->ctor == HIA_IMM_A(node->imm), "another constructor is unpacked");
  hia_type type = hiaG_type(fn, node->outs);
  bool is_last = o->count == 1;
  for (uint32_t i = 0, bit = 0; i < o->n; i++) {
    hia_type part = word_type(types, type, o, i);
    if (hiaG_is_scalar(part)) continue;
    bool is_kept = bit < 32 && HIA_IMM_B(node->imm) >> bit & 1;
    bit++;
    if (is_last && !is_kept) eval_drop(types, part, o->words[i]);
    if (!is_last && is_kept) eval_dup(o->words[i]);
  }
  if (!is_last) {
    if (o->count != EVAL_OUTSIDE) o->count--;
    return 0;
  }
  o->count = is_used(fn, node->outs) ? EVAL_TOKEN : EVAL_FREED;
  return o->count == EVAL_TOKEN ? word : 0;
}

void eval_forget(hia_word token) {
  if (token < HIA_FIRST_ADDRESS) return;
  eval_object *o = eval_object_of(token);
  eval_must(o->count == EVAL_TOKEN, "what is given back is no token");
  o->count = EVAL_FREED;
}

int64_t eval_count_live(void) {
  int64_t n = 0;
  for (const eval_object *o = objects; o; o = o->older)
    n += o->count != EVAL_FREED && o->count != EVAL_OUTSIDE;
  return n;
}

/* ---- arrays: objects of constructor 0, also without elements ----
 *
 * In a graph that counts, the ops that make arrays of others consume these. */

static hia_word in_word(const eval_array_op *a, uint32_t i) {
  return a->values[a->fn->edges.data[a->node->ins + i]];
}
static eval_object *in_array(const eval_array_op *a, uint32_t i) {
  eval_object *o = eval_object_of(in_word(a, i));
  eval_must(o, "an array is unset");
  return o;
}

eval_object *eval_new_array(size_t n) {
  eval_object *o = calloc(1, sizeof *o + n * sizeof *o->words);
  *o = (eval_object){.older = objects, .n = (uint32_t)n, .count = 1};
  return objects = o;
}

static void dup_word(const eval_array_op *a, const eval_object *o, uint32_t i) {
  if (a->counts && !hiaG_is_scalar(word_type(a->g->types, a->type, o, i))) eval_dup(o->words[i]);
}
static void drop_word(const eval_array_op *a, const eval_object *o, uint32_t i) {
  hia_type type = word_type(a->g->types, a->type, o, i);
  if (a->counts && !hiaG_is_scalar(type)) eval_drop(a->g->types, type, o->words[i]);
}
static void drop_in(const eval_array_op *a, uint32_t i) {
  if (a->counts) eval_drop(a->g->types, a->type, in_word(a, i));
}

static void append(const eval_array_op *a, eval_object *array, uint32_t *at,
                   const eval_object *from, uint32_t first, uint32_t n) {
  for (uint32_t i = first; i < first + n; i++) {
    dup_word(a, from, i);
    array->words[(*at)++] = from->words[i];
  }
}

static hia_word set(const eval_array_op *a, uint32_t first) {
  eval_object *o = in_array(a, 0);
  if (!a->counts || o->count != 1) {
    uint32_t at = 0;
    eval_object *copy = eval_new_array(o->n);
    append(a, copy, &at, o, 0, o->n);
    drop_in(a, 0);
    ++*a->copies;
    o = copy;
  }
  for (uint32_t i = 0; i < a->size; i++) {
    drop_word(a, o, first + i);
    o->words[first + i] = in_word(a, 2 + i);
  }
  return (hia_word)(uintptr_t)o;
}

static hia_word slice(const eval_array_op *a, uint32_t first, uint32_t n) {
  uint32_t at = 0;
  eval_object *o = eval_new_array(n);
  append(a, o, &at, in_array(a, 0), first, n);
  drop_in(a, 0);
  return (hia_word)(uintptr_t)o;
}

/* If one array has all elements the result is this array, as in the runtime. */
static hia_word concat(const eval_array_op *a) {
  uint32_t total = 0, whole = 0, at = 0;
  for (uint32_t i = 0; i < a->node->n_ins; i++) {
    total += in_array(a, i)->n;
    if (in_array(a, i)->n) whole = i;
  }
  eval_object *o;
  if (a->counts && total && in_array(a, whole)->n == total) {
    o = in_array(a, whole);
    eval_dup(in_word(a, whole));
  } else {
    o = eval_new_array(total);
    for (uint32_t i = 0; i < a->node->n_ins; i++)
      append(a, o, &at, in_array(a, i), 0, in_array(a, i)->n);
  }
  for (uint32_t i = 0; i < a->node->n_ins; i++) drop_in(a, i);
  return (hia_word)(uintptr_t)o;
}

static hia_word array(const eval_array_op *a) {
  eval_object *o = eval_new_array(a->node->n_ins);
  for (uint32_t i = 0; i < a->node->n_ins; i++) o->words[i] = in_word(a, i);
  return (hia_word)(uintptr_t)o;
}

hia_status eval_array(const eval_array_op *a, hia_word *out) {
  const hia_node *node = a->node;
  bool has_array = node->op != HIA_OP_ARRAY && node->op != HIA_OP_NEW;
  const eval_object *first = has_array && node->n_ins ? in_array(a, 0) : NULL;
  int64_t from = 0, to = 0, n = first ? first->n / a->size : 0;
  if (node->op == HIA_OP_AT || node->op == HIA_OP_SET || node->op == HIA_OP_SLICE) {
    from = hiaR_to_i64(in_word(a, 1));
    to = node->op == HIA_OP_SLICE ? hiaR_to_i64(in_word(a, 2)) : from + 1;
    if (from < 0 || from > to || to > n) return HIA_RANGE;
  }
  uint32_t at = (uint32_t)from * a->size;
  switch (node->op) {
  case HIA_OP_LEN: *out = hiaR_from_i64(n); break;
  case HIA_OP_AT:
    *out = first->words[at + node->imm];
    if (!hiaG_is_scalar(hiaG_type(a->fn, node->outs))) eval_object_of(*out);
    break;
  case HIA_OP_SLICE: *out = slice(a, at, (uint32_t)(to - from) * a->size); break;
  case HIA_OP_SET: *out = set(a, at); break;
  case HIA_OP_NEW: {
    int64_t wanted = hiaR_to_i64(in_word(a, 0));
    if (wanted < 0 || wanted > INT32_MAX) return HIA_MEMORY;
    *out = (hia_word)(uintptr_t)eval_new_array((size_t)wanted * a->size);
    break;
  }
  case HIA_OP_ARRAY: *out = array(a); break;
  default: *out = concat(a);
  }
  return HIA_OK;
}
