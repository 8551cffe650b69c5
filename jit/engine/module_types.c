/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of a module, as values and hosts have them: of a copy of the module's table, which is
 * made anew when a function has a type that the last copy lacks. */
#include "jit/engine/engine.h"

const hia_type_info *hiaJ_type_info(hia_module *module, hia_type type) {
  if (hiaR_is_scalar(type)) return &hiaR_scalar_infos[type];
  hia_value_types *newest = module->value_types;
  if (!newest || type - HIA_FIRST_TYPE >= newest->table.n_types) {
    hia_type_table table = hiaG_type_table(&module->types);
    newest = hiaR_value_types_new(&module->engine->allocator, &table, module->value_types);
    if (!newest) hiaR_throw(&module->comp, HIA_MEMORY, "out of memory: types of values");
    hiaR_value_types_release(module->value_types); /* it is held by the newest */
    module->value_types = newest;
  }
  return hiaR_type_info(newest, type);
}

hia_type hiaJ_data_type(const hia_module *module, const char *name, size_t len) {
  const hia_types *types = &module->types;
  for (uint32_t i = 0; i < types->entries.len; i++) {
    const hia_type_entry *entry = &types->entries.data[i];
    if (entry->kind != HIA_KIND_DATA) continue;
    const char *type_name = types->names.data + entry->name;
    if (strlen(type_name) == len && memcmp(type_name, name, len) == 0) return HIA_FIRST_TYPE + i;
  }
  return HIA_NONE;
}

/* The type that looks the same, data types taken by their names. Types nest at most as deep as they
 * have parts. */
static hia_type own_type(hia_module *module, const hia_type_table *table, hia_type type) {
  if (hiaR_is_scalar(type)) return type;
  const hia_type_entry *entry = hiaR_type_entry(table, type);
  if (entry->kind == HIA_KIND_DATA) {
    const char *name = table->names + entry->name;
    return hiaJ_data_type(module, name, strlen(name));
  }
  if (entry->kind == HIA_KIND_ARRAY) {
    hia_type element = own_type(module, table, entry->element);
    return element == HIA_NONE ? HIA_NONE : hiaG_array(&module->types, element);
  }
  if (entry->kind == HIA_KIND_TENSOR)
    return hiaG_tensor(&module->types, (hia_dtype)entry->element, entry->n);
  hia_type *parts = HIA_NEW_ARRAY(&module->comp.scratch, hia_type, entry->n);
  for (uint32_t i = 0; i < entry->n; i++) {
    parts[i] = own_type(module, table, table->parts[entry->first + i]);
    if (parts[i] == HIA_NONE) return HIA_NONE;
  }
  return hiaG_tuple(&module->types, parts, entry->n);
}

hia_type hiaJ_own_type(hia_module *module, const hia_type_info *type) {
  const hia_value_types *newest = module->value_types;
  if (newest && newest->first == type->types->first) return type->type;
  hia_mark mark = hiaR_arena_mark(&module->comp.scratch);
  hia_type same = own_type(module, &type->types->table, type->type);
  hiaR_arena_release(&module->comp.scratch, mark);
  if (same == HIA_NONE || !type->has_references) return same;
  hia_type_table table = hiaG_type_table(&module->types);
  bool is_same;
  if (hiaR_types_compare(&type->types->table, type->type, &table, same, &module->engine->allocator,
                         &is_same))
    hiaR_throw(&module->comp, HIA_MEMORY, "out of memory: comparing types");
  return is_same ? same : HIA_NONE;
}

/* Data types are in every copy of the module's table. */
const hia_type_info *hia_module_type(const hia_module *module, const char *name) {
  if (!module || !name) return NULL;
  pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&module->lock;
  pthread_mutex_lock(lock);
  const hia_value_types *types = module->value_types;
  pthread_mutex_unlock(lock);
  for (uint32_t i = 0; types && i < types->table.n_types; i++)
    if (types->table.types[i].kind == HIA_KIND_DATA &&
        strcmp(hia_type_info_name(&types->infos[i]), name) == 0)
      return &types->infos[i];
  return NULL;
}

/* Types nest at most as deep as they have parts. */
const hia_type_info **hiaJ_type_words(const hia_type_info *type, const hia_type_info **out) {
  size_t n = hia_type_info_len(type);
  if (n == 0) *out++ = type;
  for (size_t i = 0; i < n; i++) out = hiaJ_type_words(hia_type_info_part(type, i), out);
  return out;
}

const hia_dtype *hiaJ_entry_words(hia_arena *arena, const hia_function *f) {
  hia_mark mark = hiaR_arena_mark(&f->module->comp.scratch);
  uint32_t n = f->n_param_words + f->result.info->n_words;
  const hia_type_info **types = HIA_NEW_ARRAY(&f->module->comp.scratch, const hia_type_info *, n),
                      **at = types;
  hia_dtype *all = HIA_NEW_ARRAY(arena, hia_dtype, n);
  for (uint32_t i = 0; i < f->arity; i++) at = hiaJ_type_words(f->params[i].info, at);
  hiaJ_type_words(f->result.info, at);
  for (uint32_t i = 0; i < n; i++)
    if (hia_type_info_dtype(types[i], &all[i]) != HIA_OK)
      all[i] = i < f->n_param_words && hia_type_info_kind(types[i]) == HIA_KIND_TENSOR
                   ? HIA_ENTRY_TENSOR
                   : HIA_ENTRY_VALUE;
  hiaR_arena_release(&f->module->comp.scratch, mark);
  return all;
}
