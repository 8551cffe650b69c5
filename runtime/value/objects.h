/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The memory of values from inside, for readers that make millions of objects. */
#ifndef HIA_RT_VALUE_OBJECTS_H
#define HIA_RT_VALUE_OBJECTS_H

#include "runtime/value/value.h"

struct hia_objects {
  _Atomic uint32_t holders;
  hia_allocator allocator;
  struct hia_held *held;
  hia_objects *next_dead;   /* while they are freed */
  hia_object_chunk *chunks; /* newest first; adopted ones among them */
  char *at, *end;           /* what is free of the chunk that objects are taken from */
  size_t next_size;         /* of the next chunk */
  size_t bytes, max_bytes;
  size_t granted;        /* bytes that it may have before it asks for what the machine has left */
  struct hia_heap *from; /* hiaR_objects_take_from; or NULL */
};

/* hiaR_new_data of a constructor with fields. */
static inline hia_counted *hiaR_take_data(hia_objects *objects, uint32_t size, uint32_t number) {
  void *at = objects->at;
  if (size <= (size_t)(objects->end - objects->at))
    objects->at += size;
  else
    at = hiaR_objects_alloc(objects, size);
  hia_counted *object = at;
  if (!object) return NULL;
  atomic_init(&object->count, HIA_OUTSIDE);
  object->ctor = hiaR_u16(number);
  object->spare = 0;
  return object;
}

#endif
