/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Makers: objects that hosts write themselves. */
#include "runtime/heap/object.h"
#include "runtime/value/handle.h"

struct hia_maker {
  hia_allocator allocator;
  hia_objects *objects;
  bool is_out;        /* of memory: objects are made in `spare`, each in the place of the last */
  hia_counted *spare; /* SPARE bytes behind the maker */
};

/* An object of the most words, each of 8 bytes. */
enum { SPARE = sizeof(hia_counted) + HIA_MAX_CTOR_WORDS * sizeof(hia_word) };

hia_maker *hia_maker_new(const hia_allocator *allocator) {
  if (!allocator) allocator = &hiaR_malloc;
  hia_maker *maker = hiaR_alloc(allocator, sizeof *maker + SPARE);
  if (!maker) return NULL;
  maker->allocator = *allocator;
  maker->objects = hiaR_objects_new(allocator, 0);
  maker->spare = (hia_counted *)(maker + 1);
  if (maker->objects) return maker;
  hiaR_free(allocator, maker, sizeof *maker + SPARE);
  return NULL;
}

void hia_maker_free(hia_maker *maker) {
  if (!maker) return;
  hia_allocator allocator = maker->allocator;
  hiaR_objects_release(maker->objects);
  hiaR_free(&allocator, maker, sizeof *maker + SPARE);
}

void *hia_maker_object(hia_maker *maker, uint32_t ctor, size_t size) {
  if (!maker) return NULL;
  hia_counted *object = hiaR_objects_alloc(maker->objects, size);
  if (!object) {
    maker->is_out = true;
    return maker->spare;
  }
  atomic_init(&object->count, HIA_OUTSIDE);
  object->ctor = (uint16_t)ctor;
  object->spare = 0;
  return object;
}

void hia_maker_hold(hia_maker *maker, const hia_value *value) {
  if (maker && value && !hiaR_objects_depend(maker->objects, value->objects)) maker->is_out = true;
}

hia_status hia_maker_value(hia_maker *maker, const hia_type_info *type, uint64_t view,
                           hia_value **value, hia_error **error) {
  if (error) *error = NULL;
  if (value) *value = NULL;
  const char *missing = !maker ? "maker" : !type ? "type" : !value ? "place for the value" : NULL;
  if (missing) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no %s", missing);
  const hia_allocator *allocator = &maker->allocator;
  hia_type_kind kind = hia_type_info_kind(type);
  if (!hiaR_has_object(kind))
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "a scalar or a tuple has no view");
  if (view == HIA_NO_VIEW) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no view");
  if (!maker->is_out) *value = hiaR_value_new(allocator, type, maker->objects, &view);
  return *value ? HIA_OK : hiaR_fail_memory(allocator, error);
}

uint64_t hia_value_view(const hia_value *value, const hia_type_info *type) {
  bool is_same;
  hia_type_kind kind = hia_type_info_kind(type);
  if (!value || !hiaR_has_object(kind)) return HIA_NO_VIEW;
  if (hiaR_type_infos_compare(type, value->type, &value->allocator, &is_same) || !is_same)
    return HIA_NO_VIEW;
  return value->words[0];
}
