/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The objects that have been found are a list, which is also the queue of those whose references
 * are still to be followed, and a hash table of addresses leads into it. */
#include "runtime/heap/audit.h"
#include "runtime/heap/array.h"
#include "runtime/heap/tensor.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FOUND = 1 << 20, FIRST_SLOTS = 1 << 8 };

typedef struct found {
  const hia_counted *object;
  uint32_t shape;
  uint32_t n; /* references to it */
} found;

struct hia_audit {
  const hia_shapes *shapes;
  const hia_type_table *types;
  found *list;
  uint32_t *slots; /* index in the list + 1; 0: empty */
  uint32_t n, n_slots;
  bool is_partial; /* there were too many, or no memory */
  char message[256];
};

hia_audit *hiaR_audit_new(const hia_shapes *shapes, const hia_type_table *types) {
  hia_audit *a = hiaR_alloc(&hiaR_malloc, sizeof *a);
  if (a) a->shapes = shapes, a->types = types;
  return a;
}

static void free_tables(hia_audit *a) {
  hiaR_free(&hiaR_malloc, a->list, a->n_slots / 2 * sizeof *a->list);
  hiaR_free(&hiaR_malloc, a->slots, a->n_slots * sizeof *a->slots);
}

void hiaR_audit_free(hia_audit *a) {
  if (!a) return;
  free_tables(a);
  hiaR_free(&hiaR_malloc, a, sizeof *a);
}

uint64_t hiaR_audit_objects(const hia_audit *a) { return a->n; }

/* The slot of the object, or the empty one where it belongs. */
static uint32_t *slot_of(const hia_audit *a, const hia_counted *object) {
  uint64_t hash = (uint64_t)(uintptr_t)object * HIA_MIX;
  for (uint32_t i = (uint32_t)(hash >> 32);; i++) {
    uint32_t *slot = &a->slots[i & (a->n_slots - 1)];
    if (!*slot || a->list[*slot - 1].object == object) return slot;
  }
}

/* Half of the slots stay empty. */
static bool grow(hia_audit *a) {
  if (a->n >= MAX_FOUND) return false;
  hia_audit old = *a;
  a->n_slots = a->n_slots ? 2 * a->n_slots : FIRST_SLOTS;
  a->list = hiaR_alloc(&hiaR_malloc, a->n_slots / 2 * sizeof *a->list);
  a->slots = hiaR_alloc(&hiaR_malloc, a->n_slots * sizeof *a->slots);
  if (!a->list || !a->slots) {
    free_tables(a);
    a->list = old.list, a->slots = old.slots, a->n_slots = old.n_slots;
    return false;
  }
  if (old.n) memcpy(a->list, old.list, old.n * sizeof *a->list);
  for (uint32_t i = 0; i < a->n; i++) *slot_of(a, a->list[i].object) = i + 1;
  free_tables(&old);
  return true;
}

/* The shape of an object of the type with this base; HIA_NONE: the object is of no such type. */
static uint32_t shape_of(const hia_audit *a, const hia_counted *object, uint32_t base) {
  const hia_shape *list = a->shapes->list;
  if (list[base].ctor == HIA_SHAPE_ARRAY) return base;
  if (list[base].ctor == HIA_SHAPE_TENSOR)
    return object->ctor <= HIA_TENSOR_LITERAL ? base : HIA_NONE;
  uint32_t shape = base + object->ctor;
  return shape < a->shapes->n && list[shape].ctor == object->ctor && list[shape].size ? shape
                                                                                      : HIA_NONE;
}

/* What the object should be: "Node", or an array. */
static void name_shape(const hia_audit *a, uint32_t number, char *out, size_t size) {
  const hia_type_table *t = a->types;
  uint32_t ctor = a->shapes->list[number].ctor;
  if (ctor == HIA_SHAPE_TENSOR)
    snprintf(out, size, "a tensor (shape %u)", number);
  else if (ctor == HIA_SHAPE_ARRAY)
    snprintf(out, size, "an array (shape %u)", number);
  else if (t && number < t->n_ctors)
    snprintf(out, size, "%s", t->names + t->ctors[number].name);
  else
    snprintf(out, size, "constructor %u (shape %u)", a->shapes->list[number].ctor, number);
}

void hiaR_audit_root(hia_audit *a, hia_word ref, uint32_t base) {
  if (ref < HIA_FIRST_ADDRESS || a->is_partial || a->message[0]) return;
  const hia_counted *object = hiaR_object(ref);
  if (hiaR_count(object) >= HIA_STICKY) return; /* of no run: it refers to no object of this one */
  if (a->n == a->n_slots / 2 && !grow(a)) {
    a->is_partial = true;
    return;
  }
  uint32_t *slot = slot_of(a, object);
  if (*slot) {
    a->list[*slot - 1].n++;
    return;
  }
  uint32_t shape = shape_of(a, object, base);
  if (shape == HIA_NONE) {
    char type[96];
    name_shape(a, base, type, sizeof type);
    snprintf(
        a->message, sizeof a->message,
        "object %p has the constructor number %u, which the type of %s has not, or it was freed",
        (const void *)object, object->ctor, type);
    return;
  }
  a->list[a->n++] = (found){object, shape, 1};
  *slot = a->n;
}

static void follow_words(hia_audit *a, const void *at, const hia_shape *shape) {
  const hia_word *refs = at;
  for (uint32_t i = 0; i < shape->n_refs; i++)
    hiaR_audit_root(a, refs[i], a->shapes->bases[shape->refs + i]);
}

/* By value: the list may move. */
static void follow(hia_audit *a, found f) {
  const hia_shape *shape = &a->shapes->list[f.shape];
  if (shape->ctor == HIA_SHAPE_TENSOR) {
    hia_tensor *tensor = hiaR_tensor((uintptr_t)f.object);
    if (tensor->counted.ctor == HIA_TENSOR_VIEW)
      hiaR_audit_root(a, *hiaR_tensor_owner(tensor), f.shape);
    return;
  }
  if (shape->ctor != HIA_SHAPE_ARRAY) {
    follow_words(a, f.object + 1, shape);
    return;
  }
  const hia_array *array = (const hia_array *)f.object;
  if (hiaR_is_view(array)) {
    hiaR_audit_root(a, (uintptr_t)((const hia_array_view *)array)->owner, f.shape);
    return;
  }
  for (uint64_t i = 0; shape->n_refs && i < array->n && !a->is_partial; i++)
    follow_words(a, array->data + i * shape->size, shape);
}

const char *hiaR_audit_wrong(hia_audit *a, bool is_exact, const hia_heap *heap) {
  for (uint32_t i = 0; i < a->n && !a->is_partial && !a->message[0]; i++) follow(a, a->list[i]);
  if (a->is_partial) return NULL;
  for (uint32_t i = 0; i < a->n && !a->message[0]; i++) {
    const found *f = &a->list[i];
    uint32_t count = hiaR_count(f->object);
    if (count == f->n || (!is_exact && count > f->n)) continue;
    char type[96];
    name_shape(a, f->shape, type, sizeof type);
    snprintf(a->message, sizeof a->message,
             "object %p, %s, has a count of %u, and there %s %u reference%s to it",
             (const void *)f->object, type, count, f->n == 1 ? "is" : "are", f->n,
             f->n == 1 ? "" : "s");
  }
  int64_t live;
  if (!a->message[0] && heap && hiaR_heap_census(heap, &live) && live != (int64_t)a->n)
    snprintf(a->message, sizeof a->message,
             "%lld objects are in use, and there are references to %u of them", (long long)live,
             a->n);
  return a->message[0] ? a->message : NULL;
}

void hiaR_audit_results(const hia_heap *heap, const hia_shapes *shapes, const hia_type_table *types,
                        const hia_type *result_types, const hia_word *results, uint32_t n,
                        bool is_exact) {
  hia_audit *a = hiaR_audit_new(shapes, types);
  if (!a) return;
  for (uint32_t i = 0; i < n; i++)
    if (!hiaR_is_scalar(result_types[i]))
      hiaR_audit_root(a, results[i], hiaR_shape_base(shapes, result_types[i]));
  const char *wrong = hiaR_audit_wrong(a, is_exact, is_exact ? heap : NULL);
  if (wrong) {
    fprintf(stderr, "hiaton: at the end of a run: %s\n", wrong);
    abort();
  }
  hiaR_audit_free(a);
}
