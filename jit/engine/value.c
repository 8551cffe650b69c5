/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values: words, with a type and the objects that the words refer to. A value belongs to no module,
 * so the same value can be passed to functions of several modules. */
#include "jit/engine/engine.h"

/* ---- making ---- */

static hia_value *scalar(hia_engine *engine, hia_dtype dtype, hia_word word) {
  return engine ? hiaR_value_new(&engine->allocator, &hiaR_scalar_infos[dtype], NULL, &word) : NULL;
}

hia_value *hia_value_bool(hia_engine *engine, bool x) {
  return scalar(engine, HIA_BOOL, hiaR_from_bool(x));
}
hia_value *hia_value_i32(hia_engine *engine, int32_t x) {
  return scalar(engine, HIA_I32, hiaR_from_i32(x));
}
hia_value *hia_value_i64(hia_engine *engine, int64_t x) {
  return scalar(engine, HIA_I64, hiaR_from_i64(x));
}
hia_value *hia_value_f32(hia_engine *engine, float x) {
  return scalar(engine, HIA_F32, hiaR_from_f32(x));
}
hia_value *hia_value_f64(hia_engine *engine, double x) {
  return scalar(engine, HIA_F64, hiaR_from_f64(x));
}

/* ---- tuples ---- */

/* The type of a tuple, in a table made for it: its parts may be of different programs. */
typedef struct joining {
  hia_comp comp;
  hia_types types;
  hia_value *const *parts;
  size_t n;
  hia_type type;
  hia_status status;
  hia_value_types *made;
} joining;

/* Data types are found by name, so a part whose data type has the name of another one is not of
 * the type that its copy is of. */
static hia_status join_types(joining *j) {
  hia_comp *comp = &j->comp;
  hiaG_types_init(&j->types, comp);
  hia_type *parts = HIA_NEW_ARRAY(&comp->arena, hia_type, j->n);
  for (size_t i = 0; i < j->n; i++) {
    const hia_type_info *type = j->parts[i]->type;
    hia_types from = hiaG_types_view(&type->types->table, comp);
    parts[i] = hiaG_type_copy(&j->types, &from, type->type);
    if (!type->has_references) continue;
    hia_type_table table = hiaG_type_table(&j->types);
    bool is_same;
    hia_status status = hiaR_types_compare(&type->types->table, type->type, &table, parts[i],
                                           comp->arena.allocator, &is_same);
    if (status || !is_same) return status ? status : HIA_ARGUMENT;
  }
  j->type = hiaG_tuple(&j->types, parts, (uint32_t)j->n);
  return HIA_OK;
}

static void try_join(void *arg) {
  joining *j = arg;
  j->status = HIA_MEMORY;
  if (HIA_TRY(&j->comp)) j->status = join_types(j);
  j->comp.armed = false;
  hia_type_table table = hiaG_type_table(&j->types);
  if (j->status == HIA_OK) j->made = hiaR_value_types_new(j->comp.arena.allocator, &table, NULL);
}

/* The type of a tuple of scalars needs no compilation, and is mostly one that was made before. */
static hia_value_types *scalar_tuple(hia_engine *engine, hia_value *const *parts, size_t n) {
  hia_type types[HIA_MAX_WORDS];
  for (size_t i = 0; i < n; i++) types[i] = parts[i]->type->type;
  hia_value_types **slot = &engine->tuples[hiaR_hash(types, n * sizeof *types) % HIA_ENGINE_TUPLES];
  pthread_mutex_lock(&engine->lock);
  hia_value_types *found = *slot;
  bool is_it = found && found->table.n_parts == n &&
               memcmp(found->table.parts, types, n * sizeof *types) == 0;
  if (is_it) hiaR_value_types_hold(found);
  pthread_mutex_unlock(&engine->lock);
  if (is_it) return found;
  const hia_type_entry entry = {.kind = HIA_KIND_TUPLE, .n = (uint32_t)n, .n_words = (uint32_t)n};
  const hia_type_table table = {
      .types = &entry, .parts = types, .n_types = 1, .n_parts = (uint32_t)n};
  hia_value_types *made = hiaR_value_types_new(&engine->allocator, &table, NULL);
  if (!made) return NULL;
  pthread_mutex_lock(&engine->lock);
  found = *slot;
  *slot = hiaR_value_types_hold(made);
  pthread_mutex_unlock(&engine->lock);
  hiaR_value_types_release(found);
  return made;
}

/* The objects of all parts. False: no memory. */
static bool join_objects(const hia_allocator *allocator, hia_value *const *parts, size_t n,
                         hia_objects **objects) {
  size_t first = 0;
  while (first < n && !parts[first]->objects) first++;
  *objects = first < n ? hiaR_objects_hold(parts[first]->objects) : NULL;
  for (size_t i = first; i < n; i++) {
    if (!parts[i]->objects || parts[i]->objects == *objects) continue;
    hia_objects *joined = hiaR_objects_new(allocator, 0);
    bool has_all = joined != NULL;
    for (size_t k = first; has_all && k < n; k++)
      has_all = hiaR_objects_depend(joined, parts[k]->objects);
    hiaR_objects_release(*objects);
    *objects = joined;
    if (!has_all) hiaR_objects_release(joined);
    return has_all;
  }
  return true;
}

hia_value *hia_value_tuple(hia_engine *engine, hia_value *const *parts, size_t n) {
  if (!engine || !parts || n < 2 || n > HIA_MAX_WORDS) return NULL;
  size_t n_words = 0;
  bool are_scalars = true;
  for (size_t i = 0; i < n; i++) {
    if (!parts[i]) return NULL;
    n_words += parts[i]->type->n_words;
    are_scalars &= hiaR_is_scalar(parts[i]->type->type);
  }
  if (n_words > HIA_MAX_WORDS) return NULL;
  const hia_allocator *allocator = &engine->allocator;
  joining j = {.parts = parts, .n = n, .type = HIA_FIRST_TYPE};
  if (are_scalars) {
    j.made = scalar_tuple(engine, parts, n);
  } else {
    hiaR_comp_init(&j.comp, allocator);
    hiaJ_on_stack(engine, try_join, &j); /* without a stack nothing is made */
    hiaR_comp_free(&j.comp);
  }
  hia_objects *objects;
  hia_value *value = NULL;
  if (j.made && join_objects(allocator, parts, n, &objects)) {
    hia_word words[HIA_MAX_WORDS], *at = words;
    for (size_t i = 0; i < n; i++) {
      memcpy(at, parts[i]->words, parts[i]->type->n_words * sizeof *at);
      at += parts[i]->type->n_words;
    }
    value = hiaR_value_new(allocator, hiaR_type_info(j.made, j.type), objects, words);
    hiaR_objects_release(objects);
  }
  hiaR_value_types_release(j.made);
  return value;
}
