/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions that assume something of arguments: their memory, and which of them a run uses. */
#include "jit/engine/speculate.h"
#include "runtime/heap/tensor.h"

/* One of so many runs has batches although a version without them is there. */
enum { PROBE_EVERY = 128 };

/* ---- memory ---- */

hia_speculation *hiaJ_speculation_of(hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire), *new;
  const hia_allocator *allocator = &f->module->engine->allocator;
  if (s) return s;
  new = hiaR_alloc(allocator, sizeof *new);
  if (!new) return NULL;
  new->seen = hiaR_alloc(allocator, f->n_param_words * sizeof *new->seen);
  if (new->seen && atomic_compare_exchange_strong(&f->speculation, &s, new)) {
    pthread_mutex_init(&new->lock, NULL);
    for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++)
      pthread_mutex_init(&new->specials[k].lock, NULL);
    return new;
  }
  hiaR_free(allocator, new->seen, f->n_param_words * sizeof *new->seen);
  hiaR_free(allocator, new, sizeof *new);
  return s;
}

bool hiaJ_special_init(hia_special *x, hia_function *f) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  x->function = f;
  if (!x->of) x->of = hiaR_alloc(allocator, f->n_param_words * sizeof *x->of);
  if (!x->words) x->words = hiaR_alloc(allocator, f->n_param_words * sizeof *x->words);
  if (!x->objects) x->objects = hiaR_alloc(allocator, f->arity * sizeof(hia_objects *));
  if (!x->lent) x->lent = hiaR_alloc(allocator, f->arity * sizeof(hia_objects *));
  return x->of && x->words && x->objects && x->lent;
}

void hiaJ_speculation_free(hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  const hia_allocator *allocator = &f->module->engine->allocator;
  if (!s) return;
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    hia_special *x = &s->specials[k];
    hiaR_state_release(x->state);
    hiaR_state_release(x->program);
    for (uint32_t i = 0; i < f->arity; i++) {
      if (x->objects) hiaR_objects_release(x->objects[i]);
      if (x->lent) hiaR_objects_release(x->lent[i]);
    }
    hiaR_free(allocator, x->of, f->n_param_words * sizeof *x->of);
    hiaR_free(allocator, x->words, f->n_param_words * sizeof *x->words);
    hiaR_free(allocator, x->objects, f->arity * sizeof(hia_objects *));
    hiaR_free(allocator, x->lent, f->arity * sizeof(hia_objects *));
    pthread_mutex_destroy(&x->lock);
  }
  hiaR_free(allocator, s->lasts, f->n_param_words);
  hiaR_free(allocator, s->seen, f->n_param_words * sizeof *s->seen);
  pthread_mutex_destroy(&s->lock);
  hiaR_free(allocator, s, sizeof *s);
  atomic_store_explicit(&f->speculation, NULL, memory_order_relaxed);
}

hia_special *hiaJ_special_of(const hia_function *f, hia_traits traits) {
  return &atomic_load_explicit(&f->speculation, memory_order_acquire)
              ->specials[((traits & HIA_VERSION_NUMBER) >> 8) - 1];
}

void hiaJ_special_made(hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  pthread_mutex_lock(&s->lock);
  s->is_making = false;
  pthread_mutex_unlock(&s->lock);
}

/* ---- choosing ---- */

bool hiaJ_lies_as_param(const hia_tensor *t) {
  return (uintptr_t)t->data % HIA_TENSOR_ALIGN == 0 || hiaR_tensor_bytes(t) < HIA_TENSOR_ALIGNED;
}

static bool has_dims(const hia_tensor *t, const hia_dims *dims) {
  for (uint32_t i = 0; i < dims->rank; i++)
    if (t->dims[i] != dims->dims[i]) return false;
  return true;
}

static bool holds(const hia_assumption *a, hia_word word) {
  switch (a->kind) {
  case HIA_ASSUME_NOTHING: return true;
  case HIA_ASSUME_WORD:
  case HIA_ASSUME_THIS: return word == a->word;
  case HIA_ASSUME_SIZES: return has_dims(hiaR_tensor(word), &a->dims);
  case HIA_ASSUME_PARAM:
    return has_dims(hiaR_tensor(word), &a->dims) && hiaJ_lies_as_param(hiaR_tensor(word));
  }
  return false;
}

/* Waves may have become wide: then only a run with batches shows that. */
static bool has_batches(hia_speculation *s) {
  if (atomic_load_explicit(&s->is_wide, memory_order_relaxed)) return true;
  if (!atomic_load_explicit(&s->n_narrow, memory_order_relaxed)) return false;
  return atomic_fetch_add_explicit(&s->n_unbatched, 1, memory_order_relaxed) % PROBE_EVERY ==
         PROBE_EVERY - 1;
}

const hia_fn_version *hiaJ_special_version(hia_function *f, const hia_word *words) {
  const hia_fn_version *v = atomic_load_explicit(&f->versions, memory_order_acquire), *best = NULL;
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  bool is_batched = has_batches(s);
  for (; v; v = v->next) {
    const hia_special *x = v->special;
    bool all = x && !(x->is_narrow && is_batched) && (!best || x->weight > best->special->weight);
    for (uint32_t i = 0; all && i < f->n_param_words; i++) all = holds(&x->of[i], words[i]);
    if (all) best = v;
  }
  return best;
}
