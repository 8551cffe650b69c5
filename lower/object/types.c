/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types of an object, as values have them (hia_value_types), and their shapes (hia_shapes):
 * constants of the same layout as what the runtime makes for other programs. Their tables are
 * copied as they are, since they refer to each other by index; only the structures around them have
 * addresses. */
#include "lower/object/object.h"
#include "runtime/heap/object.h"
#include "runtime/value/value.h"

/* ---- tables ---- */

static LLVMValueRef table_of(hia_emit *e, const char *name, const void *rows, size_t n,
                             size_t size) {
  if (!n) return LLVMConstNull(e->ptr);
  return hiaL_bytes(e, name, rows, n * size, size < 4 ? 1 : 4);
}

#define TABLE(name, table, rows)                                                                   \
  table_of(e, name, (table)->rows, (table)->n_##rows, sizeof *(table)->rows)

static LLVMValueRef type_table(hia_emit *e, const hia_type_table *t) {
  _Static_assert(sizeof(hia_type_table) == 72 && offsetof(hia_type_table, names) == 40 &&
                     offsetof(hia_type_table, n_types) == 48 &&
                     offsetof(hia_type_table, n_names) == 68,
                 "what is written here is not what the runtime reads");
  LLVMValueRef fields[12] = {TABLE("hia_types", t, types),
                             TABLE("hia_type_parts", t, parts),
                             TABLE("hia_ctors", t, ctors),
                             TABLE("hia_ctor_fields", t, fields),
                             TABLE("hia_layout_words", t, layout_words),
                             TABLE("hia_type_names", t, names),
                             hiaL_number(e, 32, t->n_types),
                             hiaL_number(e, 32, t->n_parts),
                             hiaL_number(e, 32, t->n_ctors),
                             hiaL_number(e, 32, t->n_fields),
                             hiaL_number(e, 32, t->n_layout_words),
                             hiaL_number(e, 32, t->n_names)};
  return hiaL_structure(e, fields, 12);
}

/* ---- types as values have them ---- */

static LLVMValueRef type_infos(hia_emit *e, const hia_value_types *types, LLVMValueRef of) {
  _Static_assert(sizeof(hia_type_info) == 40 && offsetof(hia_type_info, type) == 8 &&
                     offsetof(hia_type_info, scalars) == 24 &&
                     offsetof(hia_type_info, has_references) == 32,
                 "what is written here is not what the runtime reads");
  uint32_t n = types->table.n_types;
  LLVMValueRef *rows = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, n);
  for (uint32_t i = 0; i < n; i++) {
    const hia_type_info *info = &types->infos[i];
    LLVMValueRef fields[6] = {
        of,
        hiaL_number(e, 32, info->type),
        hiaL_number(e, 32, info->n_words),
        hiaL_number(e, 32, info->n_scalars),
        table_of(e, "hia_scalars", info->scalars, info->n_scalars, sizeof *info->scalars),
        hiaL_number(e, 8, info->has_references)};
    rows[i] = hiaL_structure(e, fields, 6);
  }
  return hiaL_variable(e, "hia_type_infos", LLVMConstArray2(LLVMTypeOf(rows[0]), rows, n));
}

/* The hia_value_types. Their size is 0, so the runtime neither counts its holders nor frees it. The
 * variable refers to itself: it is added before its contents are. */
static LLVMValueRef value_types(hia_emit *e, const hia_value_types *types) {
  _Static_assert(
      sizeof(hia_value_types) == 144 && offsetof(hia_value_types, allocator) == 8 &&
          sizeof(hia_allocator) == 32 && offsetof(hia_value_types, size) == 40 &&
          offsetof(hia_value_types, older) == 48 && offsetof(hia_value_types, first) == 56 &&
          offsetof(hia_value_types, table) == 64 && offsetof(hia_value_types, infos) == 136,
      "what is written here is not what the runtime reads");
  LLVMValueRef none = LLVMConstNull(e->ptr), zero = hiaL_number(e, 64, 0);
  LLVMValueRef fields[10] = {hiaL_number(e, 32, 0),        none, none, none, none, zero, none, none,
                             type_table(e, &types->table), none};
  LLVMValueRef v = hiaL_variable(e, "hia_value_types", hiaL_structure(e, fields, 10));
  fields[7] = v;
  fields[9] = type_infos(e, types, v);
  LLVMSetInitializer(v, hiaL_structure(e, fields, 10));
  return v;
}

/* ---- shapes ---- */

static LLVMValueRef shapes_of(hia_emit *e, const hia_shapes *shapes, uint32_t n_types) {
  _Static_assert(sizeof(hia_shapes) == 32 && offsetof(hia_shapes, bases) == 8 &&
                     offsetof(hia_shapes, of_type) == 16 && offsetof(hia_shapes, n) == 24,
                 "what is written here is not what the runtime reads");
  uint32_t n_bases = 0;
  for (uint32_t i = 0; i < shapes->n; i++) n_bases += shapes->list[i].n_refs;
  LLVMValueRef fields[4] = {
      table_of(e, "hia_shape_list", shapes->list, shapes->n, sizeof *shapes->list),
      table_of(e, "hia_shape_bases", shapes->bases, n_bases, sizeof *shapes->bases),
      table_of(e, "hia_shape_of_type", shapes->of_type, n_types, sizeof *shapes->of_type),
      hiaL_number(e, 32, shapes->n)};
  return hiaL_variable(e, "hia_shapes", hiaL_structure(e, fields, 4));
}

void hiaL_object_types(hia_emit *e, LLVMValueRef *types, LLVMValueRef *shapes) {
  const hia_object_plan *plan = e->options->object;
  *types = *shapes = LLVMConstNull(e->ptr);
  if (!plan->types) return;
  *types = value_types(e, plan->types);
  *shapes = shapes_of(e, plan->shapes, plan->types->table.n_types);
}
