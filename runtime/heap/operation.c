/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations on arrays. */
#include "runtime/heap/operation.h"

static void drop(const hia_env *env, hia_word ref, uint32_t base) {
  hiaR_drop(env->local, env->shapes, ref, base, env->is_shared);
}

/* Stores the words of an element. */
static void put_element(const hia_operation *o, char *to, const hia_word *words) {
  for (uint32_t i = 0; i < o->n_words; i++)
    hiaR_store((hia_repr)o->layout_words[i].repr, to + o->layout_words[i].at, words[i]);
}

/* Gives up the references of an element that is not stored. */
static void drop_element(const hia_env *env, const hia_operation *o, const hia_word *words) {
  for (uint32_t i = 0; i < o->n_words; i++)
    if (o->layout_words[i].repr == HIA_REPR_REF)
      drop(env, words[i], hiaR_shape_base(env->shapes, o->layout_words[i].type));
}

/* Keeps the words of the elements. */
HIA_OPERATION(ARRAY) {
  (void)why;
  uint32_t n = o->n_in / o->n_words;
  hia_word array;
  hia_status status = hiaR_array_new(env->local, o->shape, n, &array);
  for (uint32_t i = 0; i < n; i++) {
    const hia_word *words = in + i * o->n_words;
    if (status == HIA_OK)
      put_element(o, hiaR_array_at(array, o->shape->size, i), words);
    else
      drop_element(env, o, words);
  }
  if (status == HIA_OK) *out = array;
  return status;
}

HIA_OPERATION(NEW) {
  (void)why;
  return hiaR_array_new(env->local, o->shape, hiaR_to_i64(in[0]), out);
}

HIA_OPERATION(SLICE) {
  int64_t first = hiaR_to_i64(in[1]), end = hiaR_to_i64(in[2]);
  if (!hiaR_array_has_slice(in[0], first, end)) {
    why->range = (hia_range){first, end, (int64_t)hiaR_array_len(in[0])};
    why->is_slice = true;
    why->of = HIA_RANGE_OF_ARRAY;
    return HIA_RANGE;
  }
  bool has_memory = hiaR_array_slice(env->local, o->shape, in[0], first, end, env->is_shared, out);
  if (has_memory) return HIA_OK;
  return hiaR_heap_must_end(env->local->heap) ? HIA_CANCELLED : HIA_MEMORY;
}

/* Keeps the array and the words of the element. If nothing else refers to the array, it is changed
 * in place. */
HIA_OPERATION(SET) {
  hia_word array = in[0];
  int64_t index = hiaR_to_i64(in[1]);
  hia_status status = HIA_OK;
  if (!hiaR_array_has(array, index)) {
    why->range = (hia_range){index, 0, (int64_t)hiaR_array_len(array)};
    why->is_slice = false;
    why->of = HIA_RANGE_OF_ARRAY;
    status = HIA_RANGE;
  } else {
    status = hiaR_array_own(env->local, env->shapes, o->base, &array, env->is_shared);
  }
  if (status) {
    drop(env, array, o->base);
    drop_element(env, o, in + 2);
    return status;
  }
  char *element = hiaR_array_at(array, o->shape->size, (uint64_t)index);
  for (uint32_t i = 0; i < o->shape->n_refs; i++)
    drop(env, hiaR_load(HIA_REPR_REF, element + i * sizeof(hia_word)),
         env->shapes->bases[o->shape->refs + i]);
  put_element(o, element, in + 2);
  *out = array;
  return HIA_OK;
}

HIA_OPERATION(CONCAT) {
  (void)why;
  return hiaR_array_concat(env->local, env->shapes, o->base, in, o->n_in, env->is_shared, out);
}
