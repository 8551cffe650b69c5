/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/ir_values.h"
#include "runtime/heap/object.h"
#include "runtime/heap/tensor.h"

enum { MAX_DEPTH = 5, MAX_COMPARED = 100000 };

static bool make(ir_values *v, hia_type type, uint32_t depth, hia_word *word);

/* Zeroed memory for an object; NULL: too much is used. */
static void *take(ir_values *v, size_t size) {
  size = (size + 15) & ~(size_t)15;
  if (size > sizeof v->memory - v->used) return NULL;
  void *at = v->memory + v->used;
  v->used += size;
  memset(at, 0, size);
  return at;
}

static bool make_words(ir_values *v, const hia_layout *layout, char *to, uint32_t depth) {
  for (uint32_t i = 0; i < layout->n; i++) {
    const hia_layout_word *layout_word = &v->types->layout_words[layout->first + i];
    hia_word word;
    if (!make(v, layout_word->type, depth, &word)) return false;
    hiaR_store((hia_repr)layout_word->repr, to + layout_word->at, word);
  }
  return true;
}

static void begin(hia_counted *object, uint32_t ctor) {
  hiaR_object_begin(object, (uint16_t)ctor);
  atomic_store(&object->count, HIA_OUTSIDE);
}

static bool make_array(ir_values *v, const hia_type_entry *type, uint32_t depth, hia_word *word) {
  uint32_t n = depth ? v->turn++ % 4 : 0;
  *word = 0;
  if (!n) return true;
  hia_array *array = take(v, sizeof *array + n * (size_t)type->layout.size + 8);
  if (!array) return false;
  begin(&array->counted, 0);
  array->n = n;
  array->data = (char *)(array + 1);
  for (uint32_t i = 0; i < n; i++)
    if (!make_words(v, &type->layout, array->data + (size_t)i * type->layout.size, depth - 1))
      return false;
  *word = (uintptr_t)array;
  return true;
}

/* Tries some constructors, in turn. */
static bool make_data(ir_values *v, const hia_type_entry *type, uint32_t depth, hia_word *word) {
  uint32_t start = v->turn++;
  for (uint32_t k = 0; k < type->n && k < 8; k++) {
    uint32_t number = (start + k) % type->n;
    const hia_ctor *ctor = &v->types->ctors[type->first + number];
    *word = number;
    if (!ctor->n) return true;
    hia_counted *object = depth ? take(v, ctor->layout.size) : NULL;
    if (!object) continue;
    begin(object, number);
    *word = (uintptr_t)object;
    if (make_words(v, &ctor->layout, (char *)object, depth - 1)) return true;
  }
  return false;
}

/* A tensor of this shape, with elements as `make` makes them. */
static bool make_tensor(ir_values *v, hia_dtype dtype, const hia_dims *shape, hia_word *word) {
  enum { MOST = 1 << 12 };
  uint64_t n = 1;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] < 0 || shape->dims[i] > MOST) return false;
    n *= (uint64_t)shape->dims[i];
    if (n > MOST) return false;
  }
  hia_tensor *tensor = take(v, hiaR_tensor_size(shape->rank, n * hiaR_dtype_size(dtype)));
  if (!tensor) return false;
  begin(&tensor->counted, HIA_TENSOR_OUTSIDE);
  tensor->counted.spare = hiaR_tensor_spare(dtype, shape->rank);
  memcpy(tensor->dims, shape->dims, shape->rank * sizeof *tensor->dims);
  tensor->data = hiaR_tensor_first_element(tensor, n * hiaR_dtype_size(dtype));
  *word = (uintptr_t)tensor;
  for (uint64_t i = 0; i < n; i++) {
    hia_word element;
    if (!make(v, (hia_type)dtype, 0, &element)) return false;
    hiaR_tensor_put(tensor, i, element);
  }
  return true;
}

static bool make_some_tensor(ir_values *v, const hia_type_entry *type, hia_word *word) {
  hia_dims shape = {.rank = type->n};
  for (uint32_t i = 0; i < shape.rank; i++) shape.dims[i] = v->turn++ % 3 + (v->turn % 7 != 0);
  return make_tensor(v, (hia_dtype)type->element, &shape, word);
}

static bool make(ir_values *v, hia_type type, uint32_t depth, hia_word *word) {
  uint32_t turn = v->turn;
  switch (type) {
  case HIA_BOOL: *word = hiaR_from_bool(v->turn++ % 2 == 0); return true;
  case HIA_I32:
  case HIA_I64: *word = v->turn++ % 5; return true;
  case HIA_F32: *word = hiaR_from_f32((float)turn + 0.5f); return true;
  case HIA_F64: *word = hiaR_from_f64(-(double)turn); return true;
  default: break;
  }
  const hia_type_entry *entry = hiaR_type_entry(v->types, type);
  switch (entry->kind) {
  case HIA_KIND_ARRAY: return make_array(v, entry, depth, word);
  case HIA_KIND_DATA: return make_data(v, entry, depth, word);
  case HIA_KIND_TENSOR: return make_some_tensor(v, entry, word);
  default: return false;
  }
}

bool ir_values_make(ir_values *v, const hia_type *types, uint32_t n, hia_word *words) {
  v->turn = 1;
  v->used = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!make(v, types[i], MAX_DEPTH, &words[i])) return false;
  return true;
}

bool ir_values_make_params(ir_values *v, const hia_param_spec *specs, uint32_t n, hia_word *words) {
  for (uint32_t i = 0; i < n; i++) {
    const hia_param_spec *spec = &specs[i];
    if (spec->shape.rank ? !make_tensor(v, spec->dtype, &spec->shape, &words[i])
                         : !make(v, (hia_type)spec->dtype, 0, &words[i]))
      return false;
  }
  return true;
}

/* ---- comparing ---- */

typedef struct comparison {
  const hia_type_table *types;
  uint32_t left; /* pairs of words that may still be compared */
} comparison;

static bool is_same(comparison *c, hia_type type, hia_word a, hia_word b, uint32_t depth);

static bool are_same(comparison *c, const hia_layout *layout, const char *a, const char *b,
                     uint32_t depth) {
  for (uint32_t i = 0; i < layout->n; i++) {
    const hia_layout_word *layout_word = &c->types->layout_words[layout->first + i];
    hia_repr repr = (hia_repr)layout_word->repr;
    if (!is_same(c, layout_word->type, hiaR_load(repr, a + layout_word->at),
                 hiaR_load(repr, b + layout_word->at), depth))
      return false;
  }
  return true;
}

static uint64_t length(hia_word ref) {
  return ref < HIA_FIRST_ADDRESS ? 0 : ((const hia_array *)(uintptr_t)ref)->n;
}

static bool is_same(comparison *c, hia_type type, hia_word a, hia_word b, uint32_t depth) {
  if (!c->left || depth > 1000) return true;
  c->left--;
  if (hiaR_is_scalar(type)) return a == b;
  const hia_type_entry *entry = hiaR_type_entry(c->types, type);
  if (entry->kind == HIA_KIND_ARRAY) {
    if (length(a) != length(b)) return false;
    for (uint64_t i = 0; i < length(a); i++) {
      size_t at = i * entry->layout.size;
      if (!are_same(c, &entry->layout, ((const hia_array *)(uintptr_t)a)->data + at,
                    ((const hia_array *)(uintptr_t)b)->data + at, depth + 1))
        return false;
    }
    return true;
  }
  if (entry->kind == HIA_KIND_TENSOR) {
    const hia_tensor *x = hiaR_tensor(a), *y = hiaR_tensor(b);
    hia_dims dims[2] = {hiaR_tensor_dims(x), hiaR_tensor_dims(y)};
    return memcmp(dims[0].dims, dims[1].dims, dims[0].rank * sizeof *dims[0].dims) == 0 &&
           memcmp(x->data, y->data, hiaR_tensor_bytes(x)) == 0;
  }
  if (entry->kind != HIA_KIND_DATA) return true;
  uint32_t ctor = hiaR_ctor_of(a);
  if (ctor != hiaR_ctor_of(b)) return false;
  if (a < HIA_FIRST_ADDRESS || b < HIA_FIRST_ADDRESS) return a == b;
  const hia_layout *layout = &c->types->ctors[entry->first + ctor].layout;
  return are_same(c, layout, (const char *)(uintptr_t)a, (const char *)(uintptr_t)b, depth + 1);
}

bool ir_values_same(const hia_type_table *types, const hia_type *of, uint32_t n, const hia_word *a,
                    const hia_word *b) {
  comparison c = {types, MAX_COMPARED};
  for (uint32_t i = 0; i < n; i++)
    if (!is_same(&c, of[i], a[i], b[i], 0)) return false;
  return true;
}
