/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* States of state: values, initialisers, and the next state of training. */
#include "runtime/base/left.h"
#include "runtime/param/param.h"
#include "runtime/param/random.h"
#include "runtime/tensor/packed.h"
#include <math.h>

/* The value of a tensor, which follows it. */
typedef struct value {
  _Atomic uint32_t holders; /* states */
  size_t size;              /* of the block, which holds the tensor, too */
  bool is_lasting;          /* the elements are not in the block, and only read */
  hia_packed_forms forms;   /* right before the tensor */
} value;
_Static_assert(offsetof(value, forms) + sizeof(hia_packed_forms) == sizeof(value),
               "the packed forms lie right before the tensor");

struct hia_param_state {
  _Atomic uint32_t holders;
  uint32_t n;
  hia_allocator allocator;
  const hia_param_spec *specs;
  value **values; /* of a scalar NULL */
  _Atomic(hia_memo *) memo;
  bool is_trained;            /* hiaR_state_next has made it, */
  _Atomic uint64_t first_run; /* and this run wanted to keep something first; 0: none */
  hia_word words[];
};

static hia_tensor *tensor_of(value *v) { return (hia_tensor *)(void *)(v + 1); }

/* ---- values ---- */

static void release_value(value *v) {
  if (!v || atomic_fetch_sub_explicit(&v->holders, 1, memory_order_acq_rel) != 1) return;
  const hia_allocator allocator = v->forms.allocator;
  hiaR_packed_free(&v->forms);
  hiaR_free(&allocator, v, v->size);
}

/* Makes a value whose elements are `lasting`, or if that is NULL, in memory of its own. */
static value *new_value(const hia_param_spec *spec, const void *lasting,
                        const hia_allocator *allocator) {
  uint64_t n;
  uint32_t size = hiaR_dtype_size(spec->dtype);
  if (!hiaR_shape_elements(&spec->shape, size, &n) || n > PTRDIFF_MAX / 2 / size) return NULL;
  size_t bytes = (size_t)n * size,
         whole = sizeof(value) + hiaR_tensor_size(spec->shape.rank, lasting ? 0 : bytes);
  value *v = hiaR_take_large(allocator, whole);
  if (!v) return NULL;
  memset(v, 0, sizeof *v);
  atomic_init(&v->holders, 1);
  v->forms.allocator = *allocator;
  v->size = whole;
  v->is_lasting = lasting != NULL;
  hia_tensor *t = tensor_of(v);
  atomic_init(&t->counted.count, HIA_STICKY);
  t->counted.ctor = HIA_TENSOR_PARAM;
  t->counted.spare = hiaR_tensor_spare(spec->dtype, spec->shape.rank);
  memcpy(t->dims, spec->shape.dims, spec->shape.rank * sizeof *t->dims);
  t->data =
      lasting ? (char *)(uintptr_t)lasting : hiaR_tensor_first_element(t, bytes); /* only read */
  return v;
}

static double glorot(const hia_dims *shape) {
  double in = 1, out = 1;
  if (shape->rank > 0) in = (double)shape->dims[shape->rank - 1];
  if (shape->rank > 1) out = (double)shape->dims[shape->rank - 2];
  return in + out > 0 ? sqrt(6 / (in + out)) : 0;
}

static void fill(const hia_param_spec *spec, uint64_t n, void *to) {
  for (uint64_t i = 0; i < n; i++)
    if (spec->dtype == HIA_F32)
      ((float *)to)[i] = (float)spec->a;
    else
      ((double *)to)[i] = spec->a;
}

/* n elements from element `first` on. */
static void initialise_piece(const hia_param_spec *spec, uint64_t seed, uint64_t first, uint64_t n,
                             void *to) {
  double r = 0;
  switch (spec->init) {
  case HIA_INIT_FULL: fill(spec, n, to); break;
  case HIA_INIT_UNIFORM:
    hiaR_random_uniform(seed, spec->name, spec->dtype, spec->a, spec->b, first, n, to);
    break;
  case HIA_INIT_NORMAL:
    hiaR_random_normal(seed, spec->name, spec->dtype, spec->a, spec->b, first, n, to);
    break;
  case HIA_INIT_GLOROT_UNIFORM:
    r = glorot(&spec->shape);
    hiaR_random_uniform(seed, spec->name, spec->dtype, -r, r, first, n, to);
    break;
  }
}

/* In pieces, so that it can end. False: it must. */
static bool initialise(const hia_param_spec *spec, const hia_param_values *values, uint64_t n,
                       char *to) {
  enum { PIECE = 4096 }; /* a multiple of what one random number is enough for */
  uint32_t size = hiaR_dtype_size(spec->dtype);
  for (uint64_t i = 0; i < n; i += PIECE) {
    if (i && values->must_end && values->must_end(values->asked)) return false;
    initialise_piece(spec, values->seed, i, n - i < PIECE ? n - i : PIECE, to + i * size);
  }
  return true;
}

/* ---- states ---- */

static size_t size_of(uint32_t n) {
  return sizeof(hia_param_state) + (size_t)n * (sizeof(hia_word) + sizeof(value *));
}

static hia_param_state *new_params(const hia_param_spec *specs, uint32_t n,
                                   const hia_allocator *allocator) {
  hia_param_state *p = hiaR_alloc(allocator, size_of(n));
  if (!p) return NULL;
  atomic_init(&p->holders, 1);
  p->n = n;
  p->allocator = *allocator;
  p->specs = specs;
  p->values = (value **)(void *)&p->words[n];
  return p;
}

static hia_param_state *of_words(const hia_word *words) {
  return (hia_param_state *)(void *)((char *)(uintptr_t)words - offsetof(hia_param_state, words));
}

hia_memo *hiaR_state_kept(const hia_word *words) {
  return atomic_load_explicit(&of_words(words)->memo, memory_order_acquire);
}

hia_memo *hiaR_state_keep(const hia_word *words, uint64_t run) {
  hia_param_state *p = of_words(words);
  hia_memo *memo = atomic_load_explicit(&p->memo, memory_order_acquire);
  if (memo) return memo;
  uint64_t first = 0;
  if (p->is_trained && (atomic_compare_exchange_strong(&p->first_run, &first, run) || first == run))
    return NULL;
  hia_memo *new = hiaR_memo_new(&p->allocator);
  if (!new || atomic_compare_exchange_strong(&p->memo, &memo, new)) return new;
  hiaR_memo_free(new);
  return memo;
}

/* The state goes, or becomes another one. */
static void forget_results(hia_param_state *p) {
  hiaR_memo_free(atomic_load_explicit(&p->memo, memory_order_relaxed));
  atomic_store_explicit(&p->memo, NULL, memory_order_relaxed);
  atomic_store_explicit(&p->first_run, 0, memory_order_relaxed);
}

static void share(hia_param_state *p, uint32_t i, const hia_param_state *from) {
  p->words[i] = from->words[i];
  p->values[i] = from->values[i];
  if (p->values[i]) atomic_fetch_add_explicit(&p->values[i]->holders, 1, memory_order_relaxed);
}

static hia_status set(hia_param_state *p, uint32_t i, const hia_param_values *values) {
  const hia_param_spec *spec = &p->specs[i];
  const void *elements = values->elements ? values->elements[i] : NULL;
  const hia_param_state *from = values->from;
  bool is_scalar = spec->shape.rank == 0, is_made = elements || values->fill;
  if (from && i >= from->n) from = NULL;
  const void *lasting = values->lasting && !is_made && !from ? values->lasting[i] : NULL;
  if (!is_made && from) {
    share(p, i, from);
    return HIA_OK;
  }
  uint64_t word = 0, n = 1;
  void *to = &word;
  if (!is_scalar) {
    p->values[i] = new_value(spec, lasting, &p->allocator);
    if (!p->values[i]) return HIA_MEMORY;
    hia_tensor *t = tensor_of(p->values[i]);
    p->words[i] = (uintptr_t)t;
    n = hiaR_tensor_len(t);
    to = t->data;
  }
  hia_status status = HIA_OK;
  if (is_scalar && lasting) elements = lasting;
  if (elements)
    memcpy(to, elements, (size_t)n * hiaR_dtype_size(spec->dtype));
  else if (lasting)
    return HIA_OK;
  else if (values->fill)
    status = values->fill(values->user, i, to);
  else if (!initialise(spec, values, n, to))
    return HIA_CANCELLED;
  if (is_scalar) p->words[i] = hiaR_load((hia_repr)spec->dtype, &word);
  return status;
}

hia_status hiaR_state_new(const hia_param_spec *specs, uint32_t n, const hia_param_values *values,
                          const hia_allocator *allocator, hia_param_state **out) {
  hia_param_state *p = new_params(specs, n, allocator);
  if (!p) return HIA_MEMORY;
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < n && status == HIA_OK; i++) status = set(p, i, values);
  if (status == HIA_OK)
    *out = p;
  else
    hiaR_state_release(p);
  return status;
}

hia_param_state *hiaR_state_hold(hia_param_state *state) {
  atomic_fetch_add_explicit(&state->holders, 1, memory_order_relaxed);
  return state;
}

void hiaR_state_release(hia_param_state *state) {
  if (!state || atomic_fetch_sub_explicit(&state->holders, 1, memory_order_acq_rel) != 1) return;
  for (uint32_t i = 0; i < state->n; i++) release_value(state->values[i]);
  forget_results(state);
  const hia_allocator allocator = state->allocator;
  hiaR_free(&allocator, state, size_of(state->n));
}

uint32_t hiaR_state_n(const hia_param_state *state) { return state->n; }
const hia_param_spec *hiaR_state_spec(const hia_param_state *state, uint32_t i) {
  return &state->specs[i];
}
const hia_word *hiaR_state_words(const hia_param_state *state) { return state->words; }

/* A scalar's word holds its element in its lower half, or is it. */
const void *hiaR_state_elements(const hia_param_state *state, uint32_t i) {
  value *v = state->values[i];
  return v ? (const void *)tensor_of(v)->data : &state->words[i];
}

size_t hiaR_state_bytes(const hia_param_state *state) {
  const hia_memo *memo = atomic_load_explicit(&state->memo, memory_order_acquire);
  size_t bytes = size_of(state->n) + (memo ? hiaR_memo_bytes(memo) : 0);
  for (uint32_t i = 0; i < state->n; i++) {
    const value *v = state->values[i];
    if (!v) continue;
    bytes += v->size + hiaR_packed_bytes(&v->forms);
  }
  return bytes;
}

/* ---- the next state ---- */

/* True if the value is held by one state, and its elements may be written once that state is not
 * read. What other states' holders have read of it was read before they released it: hence
 * acquire. */
static bool is_recyclable(const value *v) {
  return v && !v->is_lasting && atomic_load_explicit(&v->holders, memory_order_acquire) == 1;
}

/* Gives param i of a state that is being made a value of its own, or that of `now`. */
static bool prepare(hia_param_state *p, uint32_t i, const hia_param_state *now, bool is_changed,
                    bool *is_recycled) {
  *is_recycled = is_changed && is_recyclable(p->values[i]);
  if (*is_recycled) {
    hiaR_packed_forget(&p->values[i]->forms);
    return true;
  }
  release_value(p->values[i]);
  p->values[i] = NULL;
  p->words[i] = 0;
  if (!is_changed) {
    share(p, i, now);
  } else if (p->specs[i].shape.rank) {
    p->values[i] = new_value(&p->specs[i], NULL, &p->allocator);
    if (!p->values[i]) return false;
    p->words[i] = (uintptr_t)tensor_of(p->values[i]);
  }
  return true;
}

hia_status hiaR_state_next(const hia_param_state *now, hia_param_state *recycled,
                           const bool *is_changed, bool *is_recycled, hia_param_state **out) {
  hia_param_state *p = recycled;
  if (p && atomic_load_explicit(&p->holders, memory_order_acquire) != 1) {
    hiaR_state_release(p);
    p = NULL;
  }
  if (!p) p = new_params(now->specs, now->n, &now->allocator);
  if (!p) return HIA_MEMORY;
  p->is_trained = true;
  forget_results(p);
  for (uint32_t i = 0; i < p->n; i++)
    if (!prepare(p, i, now, is_changed[i], &is_recycled[i])) {
      hiaR_state_release(p);
      return HIA_MEMORY;
    }
  *out = p;
  return HIA_OK;
}

void *hiaR_state_writable(hia_param_state *next, uint32_t i) {
  value *v = next->values[i];
  return v ? (void *)tensor_of(v)->data : &next->words[i];
}
