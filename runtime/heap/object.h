/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The objects of a run: counts of references, and freeing (docs/memory.md).
 *
 * An object does not say of which type it is, so whoever drops a reference names its type: by the
 * *base* of the type, from which the object's constructor leads to its *shape*. All shapes of a
 * program are one table. */
#ifndef HIA_OBJECT_H
#define HIA_OBJECT_H

#include "runtime/base/type.h"
#include "runtime/heap/heap.h"

/* What freeing and copying must know of an object: that of a constructor with fields, or an array.
 */
typedef struct hia_shape {
  uint32_t size;   /* in bytes: of the object; of an array, of an element */
  uint16_t n_refs; /* the references that come first: behind the header, or in each element */
  uint16_t ctor;   /* its number in the type; or HIA_SHAPE_ARRAY, HIA_SHAPE_TENSOR */
  uint32_t refs;   /* bases[refs + i]: of its i-th reference */
} hia_shape;
#define HIA_SHAPE_ARRAY  UINT16_MAX
#define HIA_SHAPE_TENSOR (UINT16_MAX - 1)
_Static_assert(HIA_SHAPE_TENSOR >= HIA_MAX_CTORS, "no constructor has the number");

/* Those of all constructors, in the order of the table of types, and those of all array and tensor
 * types. The base of a data type is the shape of its constructor 0, the base of others their shape.
 * That of a tensor says no more than that it is one: it has all that is needed in its header. */
typedef struct hia_shapes {
  const hia_shape *list;
  const uint32_t *bases;   /* of references in objects */
  const uint32_t *of_type; /* by type - HIA_FIRST_TYPE: its base; of a tuple HIA_NONE */
  uint32_t n;
} hia_shapes;
/* Shapes are numbered in 16 bits: a program has at most so many constructors, array and tensor
 * types. */
#define HIA_MAX_SHAPES 65536u

/* Makes the shapes of all types of a table in one block, which hiaR_free returns to the allocator:
 * *size bytes. HIA_MEMORY; HIA_UNSUPPORTED: there are more than HIA_MAX_SHAPES. */
hia_status hiaR_shapes_new(const hia_type_table *types, const hia_allocator *allocator,
                           hia_shapes **shapes, size_t *size);
static inline uint32_t hiaR_shape_base(const hia_shapes *shapes, hia_type reference) {
  return shapes->of_type[reference - HIA_FIRST_TYPE];
}

/* ---- counting ----
 *
 * `is_shared`: the run has several workers. Then counts change by atomic operations; but a count of
 * 1 belongs to the only holder, which needs none to drop it. A word below HIA_FIRST_ADDRESS is no
 * object, and is ignored. */

static inline hia_counted *hiaR_object(hia_word ref) { return (hia_counted *)(uintptr_t)ref; }
static inline uint32_t hiaR_count(const hia_counted *object) {
  return atomic_load_explicit(&object->count, memory_order_relaxed);
}

/* There are n references more, n < HIA_STICKY. */
static inline void hiaR_dup_more(hia_word ref, uint32_t n, bool is_shared) {
  if (ref < HIA_FIRST_ADDRESS) return;
  hia_counted *object = hiaR_object(ref);
  uint32_t count = hiaR_count(object);
  if (count >= HIA_STICKY) return;
  if (is_shared)
    atomic_fetch_add_explicit(&object->count, n, memory_order_relaxed);
  else
    atomic_store_explicit(&object->count, count + n, memory_order_relaxed);
}
static inline void hiaR_dup(hia_word ref, bool is_shared) { hiaR_dup_more(ref, 1, is_shared); }

/* Gives up a reference. True if it was the last one: the caller frees the object. */
static inline bool hiaR_let_go(hia_word ref, bool is_shared) {
  if (ref < HIA_FIRST_ADDRESS) return false;
  hia_counted *object = hiaR_object(ref);
  /* Acquire, since who holds the last reference must have seen what others have done with theirs.
   * (A fence would do, but ThreadSanitizer does not see fences.) */
  uint32_t count = atomic_load_explicit(&object->count, memory_order_acquire);
  if (count >= HIA_STICKY) return false;
  if (count == 1) return true;
  if (is_shared) return atomic_fetch_sub_explicit(&object->count, 1, memory_order_acq_rel) == 1;
  atomic_store_explicit(&object->count, count - 1, memory_order_relaxed);
  return false;
}

/* Frees an object that nothing refers to, and whatever it was the last to refer to. Does not
 * recurse. Every now and then it asks heap->must_end; if that returns true it stops, and what is
 * left goes when the run ends. */
void hiaR_object_free(hia_local_heap *local, const hia_shapes *shapes, hia_word ref, uint32_t base,
                      bool is_shared);

static inline void hiaR_drop(hia_local_heap *local, const hia_shapes *shapes, hia_word ref,
                             uint32_t base, bool is_shared) {
  if (hiaR_let_go(ref, is_shared)) hiaR_object_free(local, shapes, ref, base, is_shared);
}

/* ---- making ---- */

/* The beginning of a new object, to which there is one reference. */
static inline void hiaR_object_begin(hia_counted *object, uint16_t ctor) {
  atomic_init(&object->count, 1);
  object->ctor = ctor;
  object->spare = 0;
}

/* ---- lists through headers ----
 *
 * An object whose count is not needed, because nothing refers to it yet or any more, can be on a
 * list: its header is then the address of the next one, in the upper 48 bits, and its shape. */

static inline void hiaR_object_link(hia_counted *object, const hia_counted *next, uint32_t shape) {
  uint64_t link = (uint64_t)(uintptr_t)next << 16 | shape;
  memcpy(object, &link, sizeof link);
}
/* Returns the next one (or NULL), and the shape of this one. */
static inline hia_counted *hiaR_object_next(const hia_counted *object, uint32_t *shape) {
  uint64_t link;
  memcpy(&link, object, sizeof link);
  *shape = (uint32_t)link & 0xffff;
  return (hia_counted *)(uintptr_t)(link >> 16);
}

/* The number of the constructor of a value. */
static inline uint32_t hiaR_ctor_of(hia_word ref) {
  return ref < HIA_FIRST_ADDRESS ? (uint32_t)ref : hiaR_object(ref)->ctor;
}

/* A word in memory, as hia_repr_info says, in canonical form. */
static inline hia_word hiaR_get_word(const hia_counted *object,
                                     const hia_layout_word *layout_word) {
  return hiaR_load((hia_repr)layout_word->repr, (const char *)object + layout_word->at);
}

#endif
