/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shapes, and freeing.
 *
 * Freeing a structure must not recurse, and there may be no memory for a stack. So objects that
 * wait to be freed form a list, and the links are in their headers, whose counts are not needed any
 * more. (Schorr and Waite's marking reverses pointers in the same way; here the header has room for
 * them, so no field is overwritten.) */
#include "runtime/heap/tensor.h"

/* ---- shapes ---- */

typedef struct shaping {
  const hia_type_table *types;
  hia_shape *list;
  uint32_t *bases, *of_type;
  uint32_t n_bases;
} shaping;

static hia_shape shape_of(shaping *s, const hia_layout *layout, uint32_t ctor) {
  hia_shape shape = {layout->size, hiaR_u16(layout->n_refs), hiaR_u16(ctor), s->n_bases};
  for (uint32_t i = 0; i < layout->n; i++) {
    const hia_layout_word *layout_word = &s->types->layout_words[layout->first + i];
    hia_type type = layout_word->type;
    if (layout_word->repr == HIA_REPR_REF)
      s->bases[s->n_bases++] = s->of_type[type - HIA_FIRST_TYPE];
  }
  return shape;
}

static bool has_own_shape(const hia_type_entry *type) {
  return type->kind == HIA_KIND_ARRAY || type->kind == HIA_KIND_TENSOR;
}

hia_status hiaR_shapes_new(const hia_type_table *types, const hia_allocator *allocator,
                           hia_shapes **out, size_t *out_size) {
  uint32_t n_others = 0, n_refs = 0;
  for (uint32_t i = 0; i < types->n_types; i++) n_others += has_own_shape(&types->types[i]);
  for (uint32_t i = 0; i < types->n_layout_words; i++)
    n_refs += types->layout_words[i].repr == HIA_REPR_REF;
  *out = NULL;
  if (n_others > HIA_MAX_SHAPES || types->n_ctors > HIA_MAX_SHAPES - n_others)
    return HIA_UNSUPPORTED;
  uint32_t n = types->n_ctors + n_others;
  size_t size = sizeof(hia_shapes) + n * sizeof(hia_shape) +
                ((size_t)n_refs + types->n_types) * sizeof(uint32_t);
  hia_shapes *shapes = hiaR_alloc(allocator, size);
  if (!shapes) return HIA_MEMORY;
  shaping s = {.types = types, .list = (hia_shape *)(shapes + 1)};
  s.bases = (uint32_t *)(s.list + n);
  s.of_type = s.bases + n_refs;
  uint32_t next = types->n_ctors;
  for (uint32_t i = 0; i < types->n_types; i++) {
    const hia_type_entry *t = &types->types[i];
    s.of_type[i] = t->kind == HIA_KIND_DATA ? t->first : has_own_shape(t) ? next++ : HIA_NONE;
    if (t->kind == HIA_KIND_TENSOR) s.list[s.of_type[i]] = (hia_shape){.ctor = HIA_SHAPE_TENSOR};
  }
  for (uint32_t i = 0; i < types->n_types; i++) {
    const hia_type_entry *t = &types->types[i];
    if (t->kind == HIA_KIND_ARRAY) s.list[s.of_type[i]] = shape_of(&s, &t->layout, HIA_SHAPE_ARRAY);
    for (uint32_t c = 0; t->kind == HIA_KIND_DATA && c < t->n; c++)
      s.list[t->first + c] = shape_of(&s, &types->ctors[t->first + c].layout, c);
  }
  *shapes = (hia_shapes){s.list, s.bases, s.of_type, n};
  *out = shapes;
  *out_size = size;
  return HIA_OK;
}

/* ---- freeing ---- */

/* Objects freed between two questions whether to end. A large tensor goes back to the system, which
 * takes as long for PAGES bytes as an object does. */
enum { LOOK = 2048, PAGES = 8 << 10 };

typedef struct freeing {
  hia_local_heap *local;
  const hia_shapes *shapes;
  hia_counted *next; /* the first of those that wait, or NULL */
  uint64_t n;        /* objects since the last question */
  bool is_shared;
} freeing;

static void await_freeing(freeing *f, hia_word ref, uint32_t base) {
  hia_counted *object = hiaR_object(ref);
  uint32_t ctor = f->shapes->list[base].ctor;
  f->n++;
  if (ctor == HIA_SHAPE_TENSOR) { /* it refers to no more than an owner, which refers to nothing */
    if (hiaR_tensor(ref)->counted.ctor == HIA_TENSOR_OWN)
      f->n += hiaR_tensor_bytes(hiaR_tensor(ref)) / PAGES;
    hiaR_tensor_free(f->local, ref, f->is_shared);
    return;
  }
  bool is_array = ctor == HIA_SHAPE_ARRAY;
  hiaR_object_link(object, f->next, is_array ? base : base + object->ctor);
  f->next = object;
}

static inline void let_go(freeing *f, hia_word ref, uint32_t base) {
  if (hiaR_let_go(ref, f->is_shared)) await_freeing(f, ref, base);
}

static bool must_end(freeing *f) {
  if (f->n < LOOK) return false;
  f->n = 0;
  return hiaR_heap_must_end(f->local->heap);
}

/* False: it has stopped, since the run must end. */
static bool free_array(freeing *f, hia_array *array, uint32_t number, const hia_shape *shape) {
  if (hiaR_is_view(array)) {
    let_go(f, (uintptr_t)((hia_array_view *)array)->owner, number);
    hiaR_heap_release(f->local, array, sizeof(hia_array_view));
    return true;
  }
  if (shape->n_refs)
    for (uint64_t i = 0; i < array->n; i++) {
      const hia_word *refs = (const hia_word *)(const void *)(array->data + i * shape->size);
      for (uint32_t k = 0; k < shape->n_refs; k++)
        let_go(f, refs[k], f->shapes->bases[shape->refs + k]);
      f->n++;
      if (must_end(f)) return false; /* tensors are freed at once */
    }
  hiaR_heap_release(f->local, array, hiaR_array_size(shape->size, array->n));
  return true;
}

/* An object that is freed next. */
typedef struct freed {
  hia_counted *object;
  uint32_t number; /* of its shape */
} freed;

/* Takes an object from those that wait. What it refers to lies anywhere in memory, and is touched
 * when its turn has come: until then the cache gets it. */
static freed take_next(freeing *f) {
  freed x = {.object = f->next};
  f->next = hiaR_object_next(x.object, &x.number);
  const hia_shape *shape = &f->shapes->list[x.number];
  const hia_word *refs = (const hia_word *)(const void *)(x.object + 1);
  for (uint32_t i = 0; shape->ctor != HIA_SHAPE_ARRAY && i < shape->n_refs; i++)
    __builtin_prefetch(hiaR_object(refs[i]));
  return x;
}

/* False: it has stopped. */
static bool free_one(freeing *f, freed x) {
  const hia_shape *shape = &f->shapes->list[x.number];
  if (shape->ctor == HIA_SHAPE_ARRAY) return free_array(f, (hia_array *)x.object, x.number, shape);
  const hia_word *refs = (const hia_word *)(const void *)(x.object + 1);
  for (uint32_t i = 0; i < shape->n_refs; i++)
    let_go(f, refs[i], f->shapes->bases[shape->refs + i]);
  hiaR_heap_release(f->local, x.object, shape->size);
  return true;
}

void hiaR_object_free(hia_local_heap *local, const hia_shapes *shapes, hia_word ref, uint32_t base,
                      bool is_shared) {
  enum { AHEAD = 8 };
  freeing f = {.local = local, .shapes = shapes, .is_shared = is_shared};
  freed line[AHEAD];
  uint32_t begin = 0, end = 0;
  await_freeing(&f, ref, base);
  while (f.next || begin != end) {
    while (f.next && end - begin < AHEAD) line[end++ % AHEAD] = take_next(&f);
    if (!free_one(&f, line[begin++ % AHEAD]) || must_end(&f)) return;
  }
}
