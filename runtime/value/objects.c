/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The memory of values outside of runs. Chunks double in size, from a few hundred bytes (most
 * values are small) to a megabyte. */
#include "runtime/value/objects.h"
#include "runtime/base/left.h"
#include "runtime/heap/tensor.h"

enum { HEAD = (sizeof(hia_object_chunk) + 15) & ~(size_t)15, MAX_CHUNK = 1 << 20 };
#ifdef HIA_STRESS
enum { FIRST_CHUNK = HEAD + 16 };
#else
enum { FIRST_CHUNK = 512 };
#endif

/* Other objects that are held, or what else is, in the memory of those that hold it. */
typedef struct hia_held {
  struct hia_held *next;
  hia_objects *objects; /* NULL: `release` releases it */
  void (*release)(void *user);
  void *user;
} hia_held;

hia_objects *hiaR_objects_new(const hia_allocator *allocator, size_t max_bytes) {
  hia_objects *objects = hiaR_alloc(allocator, sizeof *objects);
  if (!objects) return NULL;
  atomic_init(&objects->holders, 1);
  objects->allocator = *allocator;
  objects->next_size = FIRST_CHUNK;
  objects->max_bytes = max_bytes ? max_bytes : SIZE_MAX;
  objects->granted = max_bytes ? SIZE_MAX : HIA_FREE_GRANT;
  return objects;
}

hia_objects *hiaR_objects_new_for(const hia_allocator *allocator, size_t bytes) {
  hia_objects *objects = hiaR_objects_new(allocator, 0);
  if (objects && bytes < MAX_CHUNK / 2) objects->next_size = HEAD + bytes;
  return objects;
}

hia_objects *hiaR_objects_hold(hia_objects *objects) {
  atomic_fetch_add_explicit(&objects->holders, 1, memory_order_relaxed);
  return objects;
}

/* Objects may hold others that hold others, in chains of any length: those without holders wait in
 * a list. */
static void let_go(hia_objects *objects, hia_objects **dead) {
  if (atomic_fetch_sub_explicit(&objects->holders, 1, memory_order_acq_rel) > 1) return;
  objects->next_dead = *dead;
  *dead = objects;
}

void hiaR_objects_release(hia_objects *objects) {
  hia_objects *dead = NULL;
  if (objects) let_go(objects, &dead);
  while (dead) {
    objects = dead;
    dead = objects->next_dead;
    for (hia_held *h = objects->held; h; h = h->next)
      if (h->objects)
        let_go(h->objects, &dead);
      else
        h->release(h->user);
    for (hia_object_chunk *chunk = objects->chunks, *next; chunk; chunk = next) {
      next = chunk->next;
      hia_allocator allocator = chunk->allocator;
      hiaR_free(&allocator, chunk, chunk->size);
    }
    hia_allocator allocator = objects->allocator;
    hiaR_free(&allocator, objects, sizeof *objects);
  }
}

bool hiaR_objects_depend(hia_objects *objects, hia_objects *on) {
  if (!on || on == objects || (objects->held && objects->held->objects == on)) return true;
  hia_held *h = hiaR_objects_alloc(objects, sizeof *h);
  if (!h) return false;
  *h = (hia_held){.next = objects->held, .objects = hiaR_objects_hold(on)};
  objects->held = h;
  return true;
}

bool hiaR_objects_own(hia_objects *objects, void (*release)(void *user), void *user) {
  hia_held *h = hiaR_objects_alloc(objects, sizeof *h);
  if (!h) return false;
  *h = (hia_held){.next = objects->held, .release = release, .user = user};
  objects->held = h;
  return true;
}

size_t hiaR_objects_bytes(const hia_objects *objects) { return objects->bytes; }

size_t hiaR_objects_left(const hia_objects *objects) {
  return objects->bytes < objects->max_bytes ? objects->max_bytes - objects->bytes : 0;
}

/* True if the machine has memory left for `size` bytes more. It is asked for as much again as there
 * is, so that it is asked seldom. */
static bool may_have(hia_objects *objects, size_t size) {
  size_t bytes, had = objects->bytes;
  if (!hiaR_add(had, size, &bytes)) return false;
  if (bytes <= objects->granted) return true;
  size_t ample = size > had ? size : had;
  if (!hiaR_may_take(ample) && !hiaR_may_take(ample = size)) return false;
  objects->granted = had + ample;
  return true;
}

/* A new chunk of `size` bytes, or of `least`, which is less, where memory or the limit allow no
 * more. */
static hia_object_chunk *add_chunk(hia_objects *objects, size_t least, size_t size) {
  size_t left = hiaR_objects_left(objects);
  if (least > left) return NULL;
  if (size > left) size = least;
  if (!may_have(objects, size) && !may_have(objects, size = least)) return NULL;
  hia_object_chunk *chunk = objects->allocator.alloc(objects->allocator.user, size);
  if (!chunk) return NULL;
  *chunk = (hia_object_chunk){objects->chunks, objects->allocator, size};
  objects->chunks = chunk;
  objects->bytes += size;
  return chunk;
}

void *hiaR_objects_alloc(hia_objects *objects, size_t size) {
  if (size > (size_t)(objects->end - objects->at)) {
    size_t least;
    if (!hiaR_add(size, HEAD, &least)) return NULL;
    /* A large object has a chunk of its own, so that the rest of the present one is not lost. */
    bool is_alone = size >= MAX_CHUNK / 8;
    size_t wanted = is_alone || least > objects->next_size ? least : objects->next_size;
    hia_object_chunk *chunk = add_chunk(objects, least, wanted);
    if (!chunk) return NULL;
    if (is_alone) return (char *)chunk + HEAD;
    if (objects->next_size < MAX_CHUNK) objects->next_size *= 2;
    objects->at = (char *)chunk + HEAD;
    objects->end = (char *)chunk + chunk->size;
  }
  void *object = objects->at;
  objects->at += size;
  return object;
}

void hiaR_objects_adopt(hia_objects *objects, hia_object_chunk *chunks) {
  while (chunks) {
    hia_object_chunk *next = chunks->next;
    chunks->next = objects->chunks;
    objects->chunks = chunks;
    objects->bytes += chunks->size;
    chunks = next;
  }
}

/* ---- objects ---- */

hia_counted *hiaR_new_data(hia_objects *objects, const hia_ctor *ctor, uint32_t number) {
  return hiaR_take_data(objects, ctor->layout.size, number);
}

hia_array *hiaR_new_array(hia_objects *objects, const hia_layout *element, uint64_t n) {
  size_t size;
  if (n > SIZE_MAX / 2 || !hiaR_mul((size_t)n, element->size, &size) ||
      size > SIZE_MAX / 2 - sizeof(hia_array))
    return NULL;
  hia_array *array = hiaR_objects_alloc(objects, hiaR_array_size(element->size, n));
  if (!array) return NULL;
  atomic_init(&array->counted.count, HIA_OUTSIDE);
  array->counted.ctor = array->counted.spare = 0;
  array->n = n;
  array->data = (char *)(array + 1);
  return array;
}

hia_tensor *hiaR_new_tensor(hia_objects *objects, hia_dtype dtype, const hia_dims *shape) {
  uint64_t n;
  uint32_t size = hiaR_dtype_size(dtype);
  if (!hiaR_shape_elements(shape, size, &n) || n > PTRDIFF_MAX / 2 / size) return NULL;
  size_t bytes = (size_t)n * size;
  hia_tensor *tensor = hiaR_objects_alloc(objects, hiaR_tensor_size(shape->rank, bytes));
  if (!tensor) return NULL;
  atomic_init(&tensor->counted.count, HIA_OUTSIDE);
  tensor->counted.ctor = HIA_TENSOR_OUTSIDE;
  tensor->counted.spare = hiaR_tensor_spare(dtype, shape->rank);
  memcpy(tensor->dims, shape->dims, shape->rank * sizeof *tensor->dims);
  tensor->data = hiaR_tensor_first_element(tensor, bytes);
  return tensor;
}

hia_tensor *hiaR_copy_tensor(hia_objects *objects, const hia_tensor *tensor) {
  hia_dims shape = hiaR_tensor_dims(tensor);
  hia_dtype dtype = hiaR_tensor_dtype(tensor);
  hia_tensor *copy = hiaR_new_tensor(objects, dtype, &shape);
  size_t bytes = (size_t)hiaR_tensor_len(tensor) * hiaR_dtype_size(dtype);
  if (copy && bytes) memcpy(copy->data, tensor->data, bytes);
  return copy;
}
