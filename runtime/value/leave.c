/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Results that leave a run: their objects are copied, with what they share, and the run's are
 * overwritten. The memory of large tensors is taken over instead, such as gradients of params, of
 * which each step of a training makes new ones.
 *
 * It is Cheney's copying collector (1970), except that the copies whose fields have not been looked
 * at form a list: their headers are the links (hiaR_object_link). An object of the run
 * that has been copied has the count 0, which no live object has, and behind it the address of the
 * copy. */
#include "runtime/heap/tensor.h"
#include "runtime/value/objects.h"

typedef struct leaving {
  const hia_shapes *shapes;
  hia_objects *to;
  hia_counted *next; /* the first copy on the list, or NULL */
  bool has_outside;
} leaving;

_Static_assert(HIA_LARGE_HEAD >= sizeof(hia_object_chunk) && HIA_LARGE_HEAD % 16 == 0,
               "a large block of a run has room for the head of a chunk");

void hiaR_objects_take_from(hia_objects *to, hia_heap *heap) { to->from = heap; }

/* True if the tensor's memory was taken over. */
static bool take_tensor(hia_objects *to, hia_tensor *t) {
  bool is_alone = t->counted.ctor == HIA_TENSOR_OWN && hiaR_count(&t->counted) == 1;
  if (!to->from || !is_alone) return false;
  size_t size = hiaR_tensor_size(hiaR_tensor_rank(t), (size_t)hiaR_tensor_bytes(t)), whole;
  if (size > hiaR_objects_left(to)) return false;
  hia_object_chunk *chunk = hiaR_heap_part_with(to->from, t, size, &whole);
  if (!chunk) return false;
  *chunk = (hia_object_chunk){.allocator = *to->from->allocator, .size = whole};
  hiaR_objects_adopt(to, chunk);
  atomic_store_explicit(&t->counted.count, HIA_OUTSIDE, memory_order_relaxed);
  t->counted.ctor = HIA_TENSOR_OUTSIDE;
  return true;
}

/* A tensor's copy has its elements, of which the tensor may only be a view. A param is no object of
 * the run, and other runs read it; nor is a literal. */
static bool leave_tensor(leaving *l, hia_word *ref) {
  hia_tensor *tensor = hiaR_tensor(*ref);
  if (take_tensor(l->to, tensor)) return true;
  hia_tensor *copy = hiaR_copy_tensor(l->to, tensor);
  if (!copy) return false;
  if (tensor->counted.ctor >= HIA_TENSOR_PARAM) {
    *ref = (uintptr_t)copy;
    return true;
  }
  atomic_store_explicit(&tensor->counted.count, 0, memory_order_relaxed);
  *ref = (uintptr_t)copy;
  memcpy(&tensor->counted + 1, ref, sizeof *ref);
  return true;
}

/* Replaces a reference by one to the copy. False: no memory. */
static bool leave(leaving *l, hia_word *ref, uint32_t base) {
  if (*ref < HIA_FIRST_ADDRESS) return true;
  hia_counted *object = hiaR_object(*ref), *copy;
  uint32_t count = hiaR_count(object);
  if (count >= HIA_OUTSIDE) return l->has_outside = true;
  if (count == 0) {
    memcpy(ref, object + 1, sizeof *ref);
    return true;
  }
  const hia_shape *shape = &l->shapes->list[base];
  uint32_t number = base;
  if (shape->ctor == HIA_SHAPE_TENSOR) return leave_tensor(l, ref);
  if (shape->ctor == HIA_SHAPE_ARRAY) {
    const hia_array *from = (const hia_array *)object;
    size_t size = hiaR_array_size(shape->size, from->n);
    hia_array *array = hiaR_objects_alloc(l->to, size);
    if (!array) return false;
    array->n = from->n;
    array->data = (char *)(array + 1);
    memcpy(array->data, from->data, (size_t)from->n * shape->size);
    copy = &array->counted;
  } else {
    number = base + object->ctor;
    shape = &l->shapes->list[number];
    copy = hiaR_objects_alloc(l->to, shape->size);
    if (!copy) return false;
    memcpy(copy + 1, object + 1, shape->size - sizeof *object);
  }
  hiaR_object_link(copy, l->next, number);
  l->next = copy;
  atomic_store_explicit(&object->count, 0, memory_order_relaxed);
  *ref = (uintptr_t)copy;
  memcpy(object + 1, ref, sizeof *ref);
  return true;
}

static bool leave_all(leaving *l, void *at, const hia_shape *shape) {
  hia_word *refs = at;
  for (uint32_t i = 0; i < shape->n_refs; i++)
    if (!leave(l, &refs[i], l->shapes->bases[shape->refs + i])) return false;
  return true;
}

static void finish(hia_counted *copy, uint32_t ctor) {
  atomic_init(&copy->count, HIA_OUTSIDE);
  copy->ctor = hiaR_u16(ctor);
  copy->spare = 0;
}

hia_status hiaR_objects_leave(hia_objects *to, const hia_shapes *shapes, const hia_type *types,
                              hia_word *words, uint32_t n, bool *has_outside) {
  leaving l = {.shapes = shapes, .to = to};
  *has_outside = false;
  for (uint32_t i = 0; i < n; i++)
    if (!hiaR_is_scalar(types[i]) && !leave(&l, &words[i], hiaR_shape_base(shapes, types[i])))
      return HIA_MEMORY;
  while (l.next) {
    uint32_t number;
    hia_counted *copy = l.next;
    l.next = hiaR_object_next(copy, &number);
    const hia_shape *shape = &shapes->list[number];
    if (shape->ctor != HIA_SHAPE_ARRAY) {
      if (!leave_all(&l, copy + 1, shape)) return HIA_MEMORY;
      finish(copy, shape->ctor);
      continue;
    }
    const hia_array *array = (const hia_array *)copy;
    for (uint64_t i = 0; shape->n_refs && i < array->n; i++)
      if (!leave_all(&l, array->data + i * shape->size, shape)) return HIA_MEMORY;
    finish(copy, 0);
  }
  *has_outside = l.has_outside;
  return HIA_OK;
}
