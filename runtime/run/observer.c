/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Points of a program, and what has come there. */
#include "runtime/run/observer.h"
#include "runtime/heap/array.h"
#include "runtime/heap/tensor.h"
#include "runtime/run/runtime.h"

/* The clock is read once for so many values. */
enum { LOOK_EVERY = 64 };

static bool is_less(hia_sight sight, hia_word a, hia_word b) {
  switch (sight) {
  case HIA_SIGHT_F32: return hiaR_to_f32(a) < hiaR_to_f32(b);
  case HIA_SIGHT_F64: return hiaR_to_f64(a) < hiaR_to_f64(b);
  case HIA_SIGHT_I32: return hiaR_to_i32(a) < hiaR_to_i32(b);
  default: return hiaR_to_i64(a) < hiaR_to_i64(b);
  }
}

/* The least and the most of one value are itself, unless it is NaN, which is less than nothing. */
static bool is_number(hia_sight sight, hia_word word) {
  return (sight != HIA_SIGHT_F32 || hiaR_to_f32(word) == hiaR_to_f32(word)) &&
         (sight != HIA_SIGHT_F64 || hiaR_to_f64(word) == hiaR_to_f64(word));
}

static void widen(hia_observed *p, hia_word least, hia_word most) {
  if (!is_number(p->sight, p->least) || is_less(p->sight, least, p->least)) p->least = least;
  if (!is_number(p->sight, p->most) || is_less(p->sight, p->most, most)) p->most = most;
}

static void widen_dims(hia_observed *p, const hia_dims *least, const hia_dims *most) {
  for (uint32_t i = 0; i < p->dims.rank; i++) {
    if (least->dims[i] < p->least_dims.dims[i]) p->least_dims.dims[i] = least->dims[i];
    if (most->dims[i] > p->most_dims.dims[i]) p->most_dims.dims[i] = most->dims[i];
  }
}

static void observe_dims(hia_observed *p, hia_word word) {
  hia_dims dims = hiaR_tensor_dims(hiaR_tensor(word));
  p->n_changes += p->n && memcmp(&dims, &p->dims, sizeof dims) != 0;
  p->dims = dims;
  if (p->n++ == 0)
    p->least_dims = p->most_dims = dims;
  else
    widen_dims(p, &dims, &dims);
}

static void observe_word(hia_observed *p, hia_word word) {
  p->n_changes += p->n && word != p->last;
  p->last = word;
  if (p->n++ == 0)
    p->least = p->most = word;
  else if (is_number(p->sight, word))
    widen(p, word, word);
}

static void observe_at(hia_observed *p, hia_word word) {
  switch (p->sight) {
  case HIA_SIGHT_DIMS: observe_dims(p, word); break;
  case HIA_SIGHT_LEN: observe_word(p, hiaR_array_len(word)); break;
  case HIA_SIGHT_CTOR: {
    uint64_t ctor = hiaR_ctor_of(word);
    p->ctors |= UINT64_C(1) << (ctor < HIA_MANY_CTORS ? ctor : HIA_MANY_CTORS);
    observe_word(p, ctor);
    break;
  }
  case HIA_SIGHT_BOOL:
    p->ctors += word;
    observe_word(p, word);
    break;
  case HIA_SIGHT_NOTHING: p->n++; break;
  default: observe_word(p, word);
  }
}

bool hiaR_observe(hia_observer *o, uint64_t point, hia_word word) {
  if (point < o->n) observe_at(&o->points[point], word);
  if (o->left == 0) return false;
  return --o->left % LOOK_EVERY != 0 || hiaR_now() < o->end_at;
}

void hiaR_observed_add(hia_observed *to, const hia_observed *from) {
  if (!from->n) return;
  if (!to->n) {
    *to = *from;
    return;
  }
  bool is_dims = to->sight == HIA_SIGHT_DIMS;
  bool is_same =
      is_dims ? memcmp(&to->dims, &from->dims, sizeof to->dims) == 0 : to->last == from->last;
  to->n += from->n;
  to->n_changes += from->n_changes + !(is_same || from->n_changes);
  to->last = from->last;
  to->ctors = to->sight == HIA_SIGHT_BOOL ? to->ctors + from->ctors : to->ctors | from->ctors;
  to->dims = from->dims;
  if (is_dims)
    widen_dims(to, &from->least_dims, &from->most_dims);
  else
    widen(to, from->least, from->most);
}
