/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays, made one by one and taken apart. */
#include "jit/engine/engine.h"

const hia_type_info *hia_value_type(const hia_value *value) { return value ? value->type : NULL; }

static const hia_type_entry *entry_of(const hia_type_info *type) {
  return hiaR_type_entry(&type->types->table, type->type);
}

/* ---- making ---- */

typedef struct making {
  const hia_allocator *allocator;
  const char *what; /* that the parts are of: "field", "element" */
  hia_objects *objects;
  hia_error **error;
} making;

static hia_status no_memory(const making *m) {
  return hiaJ_fail(m->allocator, m->error, HIA_MEMORY, NULL, "out of memory");
}

/* Writes the words of part i, a value that must be of a type, into an object. */
static hia_status put_part(making *m, size_t i, const hia_value *part, const hia_type_info *type,
                           const hia_word_place *places, char *base) {
  if (!part)
    return hiaJ_fail(m->allocator, m->error, HIA_ARGUMENT, NULL, "%s %zu is no value", m->what, i);
  bool is_same;
  if (hiaR_type_infos_compare(type, part->type, m->allocator, &is_same)) return no_memory(m);
  if (!is_same) {
    char wanted[256], found[256];
    hia_type_info_format(type, wanted, sizeof wanted);
    hia_type_info_format(part->type, found, sizeof found);
    return hiaJ_fail(m->allocator, m->error, HIA_ARGUMENT, NULL,
                     "%s %zu must be of type %s, and is of type %s", m->what, i, wanted, found);
  }
  for (uint32_t k = 0; k < type->n_words; k++)
    hiaR_store(hiaR_repr(places[k].type), base + places[k].at, part->words[k]);
  return hiaR_objects_depend(m->objects, part->objects) ? HIA_OK : no_memory(m);
}

/* Ends the making of a value: takes the objects. */
static hia_status end(making *m, hia_status status, const hia_type_info *type, hia_word word,
                      hia_value **value) {
  if (status == HIA_OK) {
    *value = hiaJ_value_new(m->allocator, type, m->objects, &word);
    if (!*value) status = no_memory(m);
  }
  hiaR_objects_release(m->objects);
  return status;
}

/* Bytes that holding the parts takes: what hiaR_objects_depend needs for each. */
static size_t room_for(size_t n) { return n > SIZE_MAX / 64 ? 0 : n * 16; }

static hia_status check_call(making *m, const hia_engine *engine, const hia_type_info *type,
                             hia_type_kind kind, hia_value *const *parts, size_t n,
                             hia_value **value) {
  if (m->error) *m->error = NULL;
  if (value) *value = NULL;
  m->allocator = engine ? &engine->allocator : &hiaR_malloc;
  const char *missing = !engine ? "engine" : !type ? "type" : NULL;
  if (!missing && !parts && n) missing = kind == HIA_KIND_DATA ? "fields" : "elements";
  if (!missing && !value) missing = "place for the value";
  if (missing) return hiaJ_fail(m->allocator, m->error, HIA_ARGUMENT, NULL, "no %s", missing);
  if (hia_type_info_kind(type) == kind) return HIA_OK;
  char text[256];
  hia_type_info_format(type, text, sizeof text);
  return hiaJ_fail(m->allocator, m->error, HIA_ARGUMENT, NULL, "%s is no %s", text,
                   kind == HIA_KIND_DATA ? "data type" : "array type");
}

hia_status hia_value_data(hia_engine *engine, const hia_type_info *type, size_t number,
                          hia_value *const *fields, size_t n, hia_value **value,
                          hia_error **error) {
  making m = {.what = "field", .error = error};
  hia_status status = check_call(&m, engine, type, HIA_KIND_DATA, fields, n, value);
  if (status != HIA_OK) return status;
  const hia_type_table *table = &type->types->table;
  const hia_type_entry *entry = entry_of(type);
  if (number >= entry->n)
    return hiaJ_fail(m.allocator, error, HIA_ARGUMENT, NULL,
                     "%s has no constructor number %zu: it has %u", hia_type_info_name(type),
                     number, entry->n);
  const hia_ctor *ctor = &table->ctors[entry->first + number];
  if (n != ctor->n)
    return hiaJ_fail(m.allocator, error, HIA_ARGUMENT, NULL, "`%s` has %u field%s, not %zu",
                     table->names + ctor->name, ctor->n, ctor->n == 1 ? "" : "s", n);
  if (!n) return end(&m, HIA_OK, type, number, value);
  m.objects = hiaR_objects_new_for(m.allocator, ctor->layout.size + room_for(n));
  hia_counted *object = m.objects ? hiaR_new_data(m.objects, ctor, (uint32_t)number) : NULL;
  if (!object) status = no_memory(&m);
  const hia_word_place *places = table->places + ctor->layout.first;
  for (uint32_t i = 0; status == HIA_OK && i < n; i++) {
    const hia_type_info *field = hiaR_type_info(type->types, table->fields[ctor->first + i].type);
    status = put_part(&m, i, fields[i], field, places, (char *)object);
    places += field->n_words;
  }
  return end(&m, status, type, (uintptr_t)object, value);
}

hia_status hia_value_array(hia_engine *engine, const hia_type_info *type,
                           hia_value *const *elements, size_t n, hia_value **value,
                           hia_error **error) {
  making m = {.what = "element", .error = error};
  hia_status status = check_call(&m, engine, type, HIA_KIND_ARRAY, elements, n, value);
  if (status != HIA_OK) return status;
  const hia_type_entry *entry = entry_of(type);
  const hia_layout *layout = &entry->layout;
  const hia_type_info *element = hiaR_type_info(type->types, entry->element);
  m.objects = hiaR_objects_new(m.allocator, 0);
  hia_array *array = m.objects ? hiaR_new_array(m.objects, layout, n) : NULL;
  if (!array) status = no_memory(&m);
  for (size_t i = 0; status == HIA_OK && i < n; i++)
    status = put_part(&m, i, elements[i], element, type->types->table.places + layout->first,
                      array->data + i * layout->size);
  return end(&m, status, type, (uintptr_t)array, value);
}

/* ---- taking apart ---- */

size_t hia_value_ctor(const hia_value *value) {
  if (hia_type_info_kind(hia_value_type(value)) != HIA_KIND_DATA) return HIA_NO_CTOR;
  return hiaR_ctor_of(value->words[0]);
}

/* The constructor of a data value. */
static const hia_ctor *ctor_of(const hia_value *value) {
  return hiaR_ctor(&value->type->types->table, value->type->type, hiaR_ctor_of(value->words[0]));
}

/* An array without elements may be any word below the first address: no object. */
static const hia_array *array_of(const hia_value *value) {
  return value->words[0] < HIA_FIRST_ADDRESS ? NULL : (const hia_array *)(uintptr_t)value->words[0];
}

size_t hia_value_len(const hia_value *value) {
  switch (hia_type_info_kind(hia_value_type(value))) {
  case HIA_KIND_TUPLE: return entry_of(value->type)->n;
  case HIA_KIND_DATA: return ctor_of(value)->n;
  case HIA_KIND_ARRAY: return array_of(value) ? (size_t)array_of(value)->n : 0;
  case HIA_KIND_SCALAR:
  case HIA_KIND_NONE: break;
  }
  return 0;
}

/* A part whose words lie in an object, or an element of an array. */
static hia_value *part_in(const hia_value *value, const hia_type_info *type,
                          const hia_word_place *places, const char *base) {
  hia_word words[HIA_MAX_WORDS];
  for (uint32_t i = 0; i < type->n_words; i++)
    words[i] = hiaR_load(hiaR_repr(places[i].type), base + places[i].at);
  return hiaJ_value_new(&value->allocator, type, type->has_references ? value->objects : NULL,
                        words);
}

static hia_value *field(const hia_value *value, size_t i) {
  hia_value_types *types = value->type->types;
  const hia_ctor *ctor = ctor_of(value);
  const hia_ctor_field *fields = types->table.fields + ctor->first;
  const hia_word_place *places = types->table.places + ctor->layout.first;
  for (size_t k = 0; k < i; k++) places += hiaR_type_words(&types->table, fields[k].type);
  return part_in(value, hiaR_type_info(types, fields[i].type), places,
                 (const char *)hiaR_object(value->words[0]));
}

static hia_value *tuple_part(const hia_value *value, size_t i) {
  hia_value_types *types = value->type->types;
  const hia_type *parts = types->table.parts + entry_of(value->type)->first;
  const hia_word *word = value->words;
  for (size_t k = 0; k < i; k++) word += hiaR_type_words(&types->table, parts[k]);
  const hia_type_info *type = hiaR_type_info(types, parts[i]);
  return hiaJ_value_new(&value->allocator, type, type->has_references ? value->objects : NULL,
                        word);
}

hia_value *hia_value_part(const hia_value *value, size_t i) {
  if (i >= hia_value_len(value)) return NULL;
  const hia_type_info *type = value->type;
  switch (hia_type_info_kind(type)) {
  case HIA_KIND_TUPLE: return tuple_part(value, i);
  case HIA_KIND_DATA: return field(value, i);
  default: break;
  }
  const hia_type_entry *entry = entry_of(type);
  return part_in(value, hiaR_type_info(type->types, entry->element),
                 type->types->table.places + entry->layout.first,
                 array_of(value)->data + i * entry->layout.size);
}

/* ---- copying ---- */

hia_value *hia_value_copy(const hia_value *value) {
  if (!value) return NULL;
  const hia_type_info *type = value->type;
  if (!value->objects) return hiaJ_value_new(&value->allocator, type, NULL, value->words);
  hia_word words[HIA_MAX_WORDS];
  memcpy(words, value->words, type->n_words * sizeof *words);
  hia_objects *objects = hiaR_objects_new(&value->allocator, 0);
  hia_value *copy = NULL;
  if (objects &&
      hiaR_value_copy(&type->types->table, type->type, &value->allocator, objects, words) == HIA_OK)
    copy = hiaJ_value_new(&value->allocator, type, objects, words);
  hiaR_objects_release(objects);
  return copy;
}
