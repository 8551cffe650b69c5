/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of what is late: a scalar becomes a tensor of one element, and a type that has such
 * scalars in its objects a type of its own, as has every type that contains that. */
#include "graph/batch/batcher.h"

typedef struct changing {
  hia_batcher *b;
  hia_types *types;
  uint32_t n;    /* types that there were */
  bool *changes; /* by type - HIA_FIRST_TYPE */
  hia_type *to;  /* likewise; NONE: not made yet */
} changing;

static hia_type late_scalar(hia_types *types, hia_type scalar) {
  return hiaG_tensor(types, (hia_dtype)scalar, 1);
}

static bool is_changed(const changing *c, hia_type type) {
  return !hiaG_is_scalar(type) && c->changes[type - HIA_FIRST_TYPE];
}

/* ---- which types change ---- */

static bool has_late(const changing *c, const hia_layout *layout) {
  for (uint32_t i = 0; i < layout->n; i++)
    if (c->b->late_words[layout->first + i] &&
        hiaR_is_scalar(c->types->layout_words.data[layout->first + i].type))
      return true;
  return false;
}

static bool must_change(const changing *c, uint32_t t) {
  const hia_type_entry *entry = &c->types->entries.data[t];
  switch ((hia_type_kind)entry->kind) {
  case HIA_KIND_TUPLE: /* as part of an element; then that says which of its words are late */
    for (uint32_t i = 0; i < entry->n; i++)
      if (is_changed(c, c->types->parts.data[entry->first + i])) return true;
    return false;
  case HIA_KIND_ARRAY: return has_late(c, &entry->layout) || is_changed(c, entry->element);
  case HIA_KIND_DATA:
    for (uint32_t k = 0; k < entry->n; k++) {
      const hia_ctor *ctor = &c->types->ctors.data[entry->first + k];
      if (has_late(c, &ctor->layout)) return true;
      for (uint32_t i = 0; i < ctor->n; i++)
        if (is_changed(c, c->types->fields.data[ctor->first + i].type)) return true;
    }
    return false;
  default: return false;
  }
}

/* ---- the changed types ---- */

static hia_type changed(changing *c, hia_type type);

/* A type of layout words from *word on, in a field or an element. */
static hia_type changed_words(changing *c, hia_type type, uint32_t *word) {
  if (hiaG_type_kind(c->types, type) != HIA_KIND_TUPLE) {
    uint32_t at = (*word)++;
    if (hiaG_is_scalar(type)) return c->b->late_words[at] ? late_scalar(c->types, type) : type;
    return changed(c, type);
  }
  uint32_t n = hiaG_tuple_len(c->types, type);
  hia_type *parts = HIA_NEW_ARRAY(c->b->arena, hia_type, n);
  for (uint32_t i = 0; i < n; i++)
    parts[i] = changed_words(c, hiaG_tuple_part(c->types, type, i), word);
  return hiaG_tuple(c->types, parts, n);
}

static hia_type new_data(changing *c, hia_type type) {
  hia_types *types = c->types;
  const hia_type_entry entry = types->entries.data[type - HIA_FIRST_TYPE];
  const char *name = types->names.data + entry.name;
  hia_type to = hiaG_new_data(types, hiaR_arena_printf(c->b->arena, "%s_late", name), c->b->arena);
  c->to[type - HIA_FIRST_TYPE] = to;
  hia_ctor_def *defs = HIA_NEW_ARRAY(c->b->arena, hia_ctor_def, entry.n);
  for (uint32_t k = 0; k < entry.n; k++) {
    const hia_ctor ctor = types->ctors.data[entry.first + k];
    const char **names = HIA_NEW_ARRAY(c->b->arena, const char *, ctor.n);
    hia_type *fields = HIA_NEW_ARRAY(c->b->arena, hia_type, ctor.n);
    uint32_t word = ctor.layout.first;
    for (uint32_t i = 0; i < ctor.n; i++) {
      const hia_ctor_field field = types->fields.data[ctor.first + i];
      const char *name_in_table = types->names.data + field.name;
      names[i] = hiaR_arena_strndup(c->b->arena, name_in_table, strlen(name_in_table));
      fields[i] = changed_words(c, field.type, &word);
    }
    const char *name_in_table = types->names.data + ctor.name;
    defs[k] = (hia_ctor_def){hiaR_arena_strndup(c->b->arena, name_in_table, strlen(name_in_table)),
                             names, fields, ctor.n};
  }
  hiaG_data_define(types, to, defs, entry.n);
  return to;
}

static hia_type changed(changing *c, hia_type type) {
  if (!is_changed(c, type)) return type;
  hia_type *to = &c->to[type - HIA_FIRST_TYPE];
  if (*to != HIA_NONE) return *to;
  const hia_type_entry entry = c->types->entries.data[type - HIA_FIRST_TYPE];
  if (entry.kind == HIA_KIND_DATA) return new_data(c, type);
  uint32_t word = entry.layout.first; /* an array */
  return *to = hiaG_array(c->types, changed_words(c, entry.element, &word));
}

/* ---- values ---- */

static void change_function(changing *c, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(c->b->g, f);
  const hia_batch_fn *facts = &c->b->fns[f];
  for (hia_value_id v = 0; v < fn->values.len; v++) {
    hia_type *type = &fn->values.data[v].type;
    *type = !hiaG_is_scalar(*type) ? changed(c, *type)
            : facts->is_late[v]    ? late_scalar(c->types, *type)
                                   : *type;
  }
  for (uint32_t i = 0; i < fn->n_params; i++)
    fn->params[i] = !hiaG_is_scalar(fn->params[i]) ? changed(c, fn->params[i])
                    : facts->late_params[i]        ? late_scalar(c->types, fn->params[i])
                                                   : fn->params[i];
  /* A root's stay: it makes what hosts see (returned.c). */
  for (uint32_t i = 0; i < fn->n_results && !fn->is_root; i++)
    fn->results[i] = !hiaG_is_scalar(fn->results[i]) ? changed(c, fn->results[i])
                     : facts->late_results[i]        ? late_scalar(c->types, fn->results[i])
                                                     : fn->results[i];
}

/* A list by words that has the new ones, too, for which it is false. */
static bool *with_new_words(const hia_batcher *b, const bool *old, uint32_t n_words) {
  bool *all = HIA_NEW_ARRAY(b->arena, bool, b->g->types->layout_words.len + 1);
  memcpy(all, old, n_words);
  return all;
}

void hiaG_batch_types(hia_batcher *b) {
  changing c = {.b = b, .types = b->g->types, .n = b->g->types->entries.len};
  c.changes = HIA_NEW_ARRAY(b->arena, bool, c.n + 1);
  c.to = HIA_NEW_ARRAY(b->arena, hia_type, c.n + 1);
  for (uint32_t t = 0; t < c.n; t++) c.to[t] = HIA_NONE;
  for (bool again = true; again;) {
    again = false;
    for (uint32_t t = 0; t < c.n; t++)
      if (!c.changes[t] && must_change(&c, t)) again = c.changes[t] = true;
  }
  uint32_t n_words = b->g->types->layout_words.len;
  HIA_EACH_FN_BELOW(b->g, b->n, f) change_function(&c, f);
  b->late_words = with_new_words(b, b->late_words, n_words);
  b->owed_words = with_new_words(b, b->owed_words, n_words);
}
