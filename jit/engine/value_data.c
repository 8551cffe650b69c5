/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types and arrays, made one by one of values; and what the runtime makes, with an
 * engine's memory. */
#include "jit/engine/engine.h"

static const hia_type_entry *entry_of(const hia_type_info *type) {
  return hiaR_type_entry(&type->types->table, type->type);
}

typedef struct making {
  const hia_allocator *allocator;
  const char *what; /* that the parts are of: "field", "element" */
  hia_objects *objects;
  hia_error **error;
} making;

/* Writes the words of part i, a value that must be of a type, into an object. */
static hia_status put_part(making *m, size_t i, const hia_value *part, const hia_type_info *type,
                           const hia_layout_word *layout_words, char *base) {
  if (!part)
    return hiaJ_fail(m->allocator, m->error, HIA_ARGUMENT, NULL, "%s %zu is no value", m->what, i);
  bool is_same;
  if (hiaR_type_infos_compare(type, part->type, m->allocator, &is_same))
    return hiaR_fail_memory(m->allocator, m->error);
  if (!is_same) {
    char wanted[256], found[256];
    hia_type_info_format(type, wanted, sizeof wanted);
    hia_type_info_format(part->type, found, sizeof found);
    return hiaJ_fail(m->allocator, m->error, HIA_ARGUMENT, NULL,
                     "%s %zu must be of type %s, and is of type %s", m->what, i, wanted, found);
  }
  for (uint32_t k = 0; k < type->n_words; k++)
    hiaR_store((hia_repr)layout_words[k].repr, base + layout_words[k].at, part->words[k]);
  return hiaR_objects_depend(m->objects, part->objects) ? HIA_OK
                                                        : hiaR_fail_memory(m->allocator, m->error);
}

/* Ends the making of a value: takes the objects. */
static hia_status end(making *m, hia_status status, const hia_type_info *type, hia_word word,
                      hia_value **value) {
  if (status == HIA_OK) {
    *value = hiaR_value_new(m->allocator, type, m->objects, &word);
    if (!*value) status = hiaR_fail_memory(m->allocator, m->error);
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
  if (!object) status = hiaR_fail_memory(m.allocator, m.error);
  const hia_layout_word *layout_words = table->layout_words + ctor->layout.first;
  for (uint32_t i = 0; status == HIA_OK && i < n; i++) {
    const hia_type_info *field = hiaR_type_info(type->types, table->fields[ctor->first + i].type);
    status = put_part(&m, i, fields[i], field, layout_words, (char *)object);
    layout_words += field->n_words;
  }
  hia_size_misfit misfit;
  if (status == HIA_OK && !hiaR_sizes_fit(table, ctor, object, &misfit)) {
    char text[512];
    hiaR_size_misfit_print(table, ctor, &misfit, text, sizeof text);
    status = hiaJ_fail(m.allocator, error, HIA_SHAPE, NULL, "%s", text);
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
  if (!array) status = hiaR_fail_memory(m.allocator, m.error);
  for (size_t i = 0; status == HIA_OK && i < n; i++)
    status = put_part(&m, i, elements[i], element, type->types->table.layout_words + layout->first,
                      array->data + i * layout->size);
  return end(&m, status, type, (uintptr_t)array, value);
}
