/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions that assume something of arguments: their memory, and which of them a run uses. */
#include "jit/versions/speculate.h"
#include "runtime/heap/tensor.h"
#include <stdio.h>

enum {
  PROBE_EVERY = 128, /* one of so many runs has batches although a version without them is there */
  TRIAL = 8,  /* runs of a version after which it is judged, so often before it is given up: */
  TRIALS = 3, /* the machine may have been busy with something else in one of them */
};
/* Without batches a run must take at most this part of the time with them. */
#define ENOUGH 0.95
/* A version that assumes what happens inside may take this part of the time without, at most. It
 * may have other arguments, so that much is certain only. */
#define SLOWER 1.25

/* ---- memory ---- */

/* One more than there are: a function without arguments has versions, too. */
static size_t words_of(const hia_function *f) { return (size_t)f->n_param_words + 1; }

static size_t objects_of(const hia_function *f) { return words_of(f) * sizeof(hia_objects *); }

static size_t lent_of(const hia_function *f) {
  return ((size_t)f->arity + 1) * sizeof(hia_objects *);
}

static size_t root_types_of(const hia_function *f) {
  return (words_of(f) + f->result.info->n_words) * sizeof(hia_type);
}

static void free_speculation(hia_speculation *s, const hia_function *f) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  hiaJ_inside_free(&s->inside, allocator);
  hiaR_free(allocator, s->lasts, words_of(f));
  hiaR_free(allocator, s->seen, words_of(f) * sizeof *s->seen);
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) pthread_mutex_destroy(&s->specials[k].lock);
  pthread_mutex_destroy(&s->lock);
  hiaR_free(allocator, s, sizeof *s);
}

/* Locks are initialised before another thread can find them. */
hia_speculation *hiaJ_speculation_of(hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire), *new;
  const hia_allocator *allocator = &f->module->engine->allocator;
  if (s) return s;
  new = hiaR_alloc(allocator, sizeof *new);
  if (!new) return NULL;
  pthread_mutex_init(&new->lock, NULL);
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) pthread_mutex_init(&new->specials[k].lock, NULL);
  new->seen = hiaR_alloc(allocator, words_of(f) * sizeof *new->seen);
  if (new->seen && atomic_compare_exchange_strong(&f->speculation, &s, new)) return new;
  free_speculation(new, f);
  return s;
}

/* The index of the next version; MAX_SPECIALS: there is no room. */
static uint32_t next_place(const hia_speculation *s) {
  uint32_t n_made = atomic_load_explicit(&s->n_made, memory_order_relaxed), k = 0;
  if (n_made < HIA_MAX_SPECIALS) return n_made;
  while (k < HIA_MAX_SPECIALS && s->specials[k].outcome != HIA_SPECIAL_GONE) k++;
  return k;
}

bool hiaJ_special_has_room(const hia_speculation *s) { return next_place(s) < HIA_MAX_SPECIALS; }

/* What an earlier version, or a decision against one, has left there goes. */
static void clear(hia_special *x, hia_function *f) {
  x->function = f;
  x->is_narrow = x->has_wide = x->has_facts = x->assumes_all = false;
  x->like = NULL;
  x->made_after = x->unfit_before = x->compile_ns = x->used_then = 0;
  x->judged_ns = 0;
  x->n_idle = x->n_slow = 0;
  x->misfit = (hia_misfit_run){0};
  x->reason[0] = 0;
  atomic_store_explicit(&x->is_retired, false, memory_order_relaxed);
  atomic_store_explicit(&x->n_timed, 0, memory_order_relaxed);
  atomic_store_explicit(&x->timed_ns, 0, memory_order_relaxed);
  hiaJ_inside_room(x, 0);
}

hia_special *hiaJ_special_next(hia_speculation *s, hia_function *f) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  uint32_t place = next_place(s);
  if (place == HIA_MAX_SPECIALS) return NULL;
  hia_special *x = &s->specials[place];
  clear(x, f);
  if (!x->of) x->of = hiaR_alloc(allocator, words_of(f) * sizeof *x->of);
  if (!x->evidence) x->evidence = hiaR_alloc(allocator, words_of(f) * sizeof *x->evidence);
  if (x->evidence) memset(x->evidence, 0, words_of(f) * sizeof *x->evidence);
  if (!x->words) x->words = hiaR_alloc(allocator, words_of(f) * sizeof *x->words);
  if (!x->objects) x->objects = hiaR_alloc(allocator, objects_of(f));
  if (!x->lent) x->lent = hiaR_alloc(allocator, lent_of(f));
  if (!x->root_types) x->root_types = hiaR_alloc(allocator, root_types_of(f));
  for (uint32_t i = 0; x->objects && i < f->n_param_words; i++) {
    hiaR_objects_release(x->objects[i]);
    x->objects[i] = NULL;
  }
  bool has_all = x->of && x->evidence && x->words && x->objects && x->lent && x->root_types;
  return has_all ? x : NULL;
}

uint32_t hiaJ_special_begin(hia_speculation *s, hia_special_outcome outcome) {
  uint32_t place = next_place(s);
  s->specials[place].outcome = outcome;
  s->specials[place].serial = ++s->n_serial;
  s->is_making |= outcome == HIA_SPECIAL_MAKING;
  if (place == atomic_load_explicit(&s->n_made, memory_order_relaxed))
    atomic_store_explicit(&s->n_made, place + 1, memory_order_release);
  return place + 1;
}

bool hiaJ_is_decided(const hia_function *f, hia_traits traits) {
  if (!hiaJ_number_of(traits)) return true;
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  pthread_mutex_lock(&s->lock);
  const hia_special *x = hiaJ_special_of(f, traits);
  bool is_decided = s->lasts && !x->assumes_all && (!x->n_facts || x->has_facts);
  pthread_mutex_unlock(&s->lock);
  return is_decided;
}

void hiaJ_speculation_free(hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  const hia_allocator *allocator = &f->module->engine->allocator;
  if (!s) return;
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    hia_special *x = &s->specials[k];
    hiaR_state_release(x->state);
    hiaR_state_release(x->program);
    if (x->function) hiaJ_inside_room(x, 0);
    for (uint32_t i = 0; x->objects && i < f->n_param_words; i++)
      hiaR_objects_release(x->objects[i]);
    for (uint32_t i = 0; x->lent && i < f->arity; i++) hiaR_objects_release(x->lent[i]);
    hiaR_free(allocator, x->of, words_of(f) * sizeof *x->of);
    hiaR_free(allocator, x->evidence, words_of(f) * sizeof *x->evidence);
    hiaR_free(allocator, x->words, words_of(f) * sizeof *x->words);
    hiaR_free(allocator, x->objects, objects_of(f));
    hiaR_free(allocator, x->lent, lent_of(f));
    hiaR_free(allocator, x->root_types, root_types_of(f));
  }
  free_speculation(s, f);
  atomic_store_explicit(&f->speculation, NULL, memory_order_relaxed);
}

hia_special *hiaJ_special_of(const hia_function *f, hia_traits traits) {
  return &atomic_load_explicit(&f->speculation, memory_order_acquire)
              ->specials[hiaJ_number_of(traits) - 1];
}

/* ---- made, or not ---- */

static uint64_t used(const hia_speculation *s, uint32_t number) {
  return atomic_load_explicit(&s->n_used[number], memory_order_relaxed);
}

/* A run that uses one version would use another one that assumes more, or as much and is newer, if
 * that did fit; except that some runs have batches although there is a version without them. */
static bool is_before(const hia_special *x, const hia_special *other) {
  return x->weight > other->weight + x->is_narrow ||
         (x->weight == other->weight && x->serial > other->serial);
}

uint64_t hiaJ_special_unfit(const hia_speculation *s, uint32_t i) {
  bool is_unbatched = s->specials[i].is_narrow && s->specials[i].weight == 1;
  uint64_t n = is_unbatched ? 0 : used(s, 0);
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    bool is_made = s->specials[k].outcome == HIA_SPECIAL_MADE; /* else a thread may be at it */
    if (k != i && is_made && is_before(&s->specials[i], &s->specials[k])) n += used(s, k + 1);
  }
  return n;
}

static void log_full(const hia_function *f, const hia_special *x) {
  if (x->serial != HIA_MAX_SPECIALS) return;
  hiaJ_log(f->module->engine,
           "%s has %u versions for its arguments, made or tried, which is the most: a further one "
           "takes the place of one that no run uses",
           f->name, (unsigned)HIA_MAX_SPECIALS);
}

/* The version, which was being made, with the lock held, which the caller releases; NULL: it was
 * not, and the lock is not held. */
static hia_special *end_making(hia_speculation *s, hia_special *x, hia_special_outcome outcome) {
  pthread_mutex_lock(&s->lock);
  if (x->outcome == HIA_SPECIAL_MAKING) {
    x->outcome = outcome;
    s->is_making = false;
    s->hindrance = HIA_HINDRANCE_NO_LOOK;
    return x;
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

void hiaJ_special_made(hia_function *f, hia_traits traits, uint64_t compile_ns) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  hia_special *x = end_making(s, hiaJ_special_of(f, traits), HIA_SPECIAL_MADE);
  if (!x) return;
  x->compile_ns = compile_ns;
  x->made_after = atomic_load_explicit(&f->n_runs, memory_order_relaxed);
  x->unfit_before = hiaJ_special_unfit(s, hiaJ_number_of(traits) - 1);
  pthread_mutex_unlock(&s->lock);
  log_full(f, x);
}

void hiaJ_special_failed(hia_function *f, hia_traits traits, const char *reason) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  hia_special *x = end_making(s, hiaJ_special_of(f, traits), HIA_SPECIAL_FAILED);
  if (!x) return; /* this is the second one who says it */
  snprintf(x->reason, sizeof x->reason, "%s", reason);
  pthread_mutex_unlock(&s->lock);
  log_full(f, x);
}

/* ---- choosing ---- */

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
    return has_dims(hiaR_tensor(word), &a->dims) && hiaR_tensor_lies_as_param(hiaR_tensor(word));
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

uint32_t hiaJ_special_misfit(const hia_special *x, const hia_word *words) {
  for (uint32_t i = 0; i < x->function->n_param_words; i++)
    if (!holds(&x->of[i], words[i])) return i;
  return HIA_NONE;
}

/* A key is the index of an argument's word in its low bits, and above them the rank of the tensor
 * if the sizes of that are assumed; else 0. */
enum { KEY_BITS = 24 };

static hia_word mix(const int64_t *dims, uint32_t rank) {
  hia_word mixed = 0;
  for (uint32_t i = 0; i < rank; i++) mixed = mixed * 1000003 + (hia_word)dims[i];
  return mixed;
}

/* A word is told from others more often than sizes are. */
static uint32_t choose_key(const hia_special *x, hia_word *word) {
  uint32_t n = x->function->n_param_words;
  if (n >> KEY_BITS) return HIA_NONE;
  for (uint32_t i = 0; i < n; i++) {
    *word = x->of[i].word;
    if (x->of[i].kind == HIA_ASSUME_WORD || x->of[i].kind == HIA_ASSUME_THIS) return i;
  }
  for (uint32_t i = 0; i < n; i++) {
    const hia_assumption *a = &x->of[i];
    if ((a->kind != HIA_ASSUME_SIZES && a->kind != HIA_ASSUME_PARAM) || !a->dims.rank) continue;
    *word = mix(a->dims.dims, a->dims.rank);
    return i | a->dims.rank << KEY_BITS;
  }
  return HIA_NONE;
}

void hiaJ_special_add(const hia_fn_version *v) {
  hia_special *x = v->special;
  hia_word word = 0;
  atomic_store_explicit(&x->rank, x->weight, memory_order_relaxed);
  atomic_store_explicit(&x->key, choose_key(x, &word), memory_order_relaxed);
  atomic_store_explicit(&x->key_word, word, memory_order_relaxed);
  hiaJ_special_for_entries(x, v);
  atomic_fetch_add_explicit(&x->n_held, 1, memory_order_relaxed);
  atomic_store_explicit(&x->version, v, memory_order_release);
}

/* True if the version may fit: most of those that do not are found out here, by one word or the
 * sizes of one tensor. If the memory has become another version's meanwhile, the key may be the one
 * of both and the word the other's; either fits the types of the arguments. */
static bool may_fit(const hia_special *x, const hia_word *words) {
  uint32_t key = atomic_load_explicit(&x->key, memory_order_relaxed);
  if (key == HIA_NONE) return true;
  hia_word word = words[key & ((1u << KEY_BITS) - 1)];
  if (key >> KEY_BITS) word = mix(hiaR_tensor(word)->dims, key >> KEY_BITS);
  return word == atomic_load_explicit(&x->key_word, memory_order_relaxed);
}

/* Holds the version if it is still there, and fits. A version that leaves is first not there any
 * more, and then it is looked whether anybody holds it; so one of the two sees the other. */
static bool hold(hia_special *x, const hia_fn_version *v, const hia_word *words, bool is_batched) {
  atomic_fetch_add(&x->n_held, 1);
  if (atomic_load(&x->version) == v && !(x->is_narrow && is_batched) &&
      !atomic_load_explicit(&x->is_retired, memory_order_relaxed) &&
      hiaJ_special_misfit(x, words) == HIA_NONE)
    return true;
  hiaJ_special_release(x);
  return false;
}

/* Both are held. */
static bool is_better(const hia_special *x, const hia_special *than) {
  return !than || x->weight > than->weight ||
         (x->weight == than->weight && x->serial > than->serial);
}

const hia_fn_version *hiaJ_special_numbered(const hia_function *f, hia_traits traits) {
  return atomic_load_explicit(&hiaJ_special_of(f, traits)->version, memory_order_acquire);
}

const hia_fn_version *hiaJ_special_version(hia_function *f, const hia_word *words, uint64_t *use) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  uint32_t n = atomic_load_explicit(&s->n_made, memory_order_acquire), number = 0;
  const hia_fn_version *best = NULL;
  bool is_batched = has_batches(s);
  for (uint32_t k = 0; k < n; k++) {
    hia_special *x = &s->specials[k], *old = best ? best->special : NULL;
    const hia_fn_version *v = atomic_load_explicit(&x->version, memory_order_acquire);
    if (!v || (best && atomic_load_explicit(&x->rank, memory_order_relaxed) < old->weight) ||
        !may_fit(x, words) || !hold(x, v, words, is_batched))
      continue;
    bool is_new = is_better(x, old);
    if (!is_new) hiaJ_special_release(x);
    if (is_new && old) hiaJ_special_release(old);
    if (is_new) best = v, number = k + 1;
  }
  *use = atomic_fetch_add_explicit(&s->n_used[number], 1, memory_order_relaxed);
  return best;
}

/* ---- leaving ---- */

enum { IDLE = 64 }; /* looks in which no run has used a version, before it may leave */

/* The version without batches that is like another one is judged by that. */
static bool is_needed(const hia_speculation *s, const hia_special *x) {
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++)
    if (s->specials[k].outcome == HIA_SPECIAL_MADE && s->specials[k].like == x) return true;
  return false;
}

static void note_use(hia_speculation *s) {
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    hia_special *x = &s->specials[k];
    uint64_t n = used(s, k + 1);
    x->n_idle = n == x->used_then ? x->n_idle + 1 : 0;
    x->used_then = n;
  }
}

/* The one that was not used for longest, for long. */
static hia_special *find_idle(hia_speculation *s) {
  hia_special *found = NULL;
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    hia_special *x = &s->specials[k];
    bool is_there = x->outcome == HIA_SPECIAL_MADE || x->outcome == HIA_SPECIAL_FAILED;
    bool may_leave = is_there && x->n_idle >= IDLE && !is_needed(s, x);
    if (may_leave && (!found || x->n_idle > found->n_idle)) found = x;
  }
  return found;
}

static hia_special *find_retired(hia_speculation *s) {
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    hia_special *x = &s->specials[k];
    if (x->outcome == HIA_SPECIAL_MADE && !is_needed(s, x) &&
        atomic_load_explicit(&x->is_retired, memory_order_relaxed))
      return x;
  }
  return NULL;
}

/* What the version held goes with it. */
static void take_apart(hia_speculation *s, hia_special *x) {
  hia_function *f = x->function;
  uint32_t number = (uint32_t)(x - s->specials) + 1;
  hiaR_state_release(x->state);
  hiaR_state_release(x->program);
  x->state = x->program = NULL;
  for (uint32_t i = 0; i < f->n_param_words; i++) {
    hiaR_objects_release(x->objects[i]);
    x->objects[i] = NULL;
  }
  for (uint32_t i = 0; i < f->arity; i++) {
    hiaR_objects_release(x->lent[i]);
    x->lent[i] = NULL;
  }
  x->outcome = HIA_SPECIAL_GONE;
  s->n_used_gone += used(s, number);
  atomic_store_explicit(&s->n_used[number], 0, memory_order_relaxed);
}

hia_unit *hiaJ_special_leave(hia_speculation *s) {
  note_use(s);
  hia_special *x = find_retired(s);
  if (!x && !hiaJ_special_has_room(s)) x = find_idle(s);
  if (x && x->outcome == HIA_SPECIAL_FAILED) {
    take_apart(s, x);
  } else if (x) {
    x->left = atomic_load_explicit(&x->version, memory_order_relaxed);
    x->outcome = HIA_SPECIAL_LEFT;
    atomic_store(&x->version, NULL);
  }
  for (uint32_t k = 0; k < HIA_MAX_SPECIALS; k++) {
    x = &s->specials[k];
    if (x->outcome != HIA_SPECIAL_LEFT || atomic_load(&x->n_held)) continue;
    hia_unit *unit = x->left->unit;
    take_apart(s, x);
    return unit;
  }
  return NULL;
}

/* The mean time of runs that assume the same, and have batches; 0: it is not known. */
static double batched_ns(const hia_speculation *s, const hia_special *x) {
  uint64_t n = s->native.n, ns = s->native.ns;
  if (x->like) n = atomic_load_explicit(&x->like->n_timed, memory_order_relaxed);
  if (x->like) ns = atomic_load_explicit(&x->like->timed_ns, memory_order_relaxed);
  return n ? (double)ns / (double)n : 0;
}

/* A version without batches must be faster than one with them. What happens inside is not worth an
 * assumption if the version is slower than the general one: its guards may keep LLVM from what it
 * would do otherwise. */
static bool is_slow(const hia_speculation *s, const hia_special *x, double ns) {
  if (x->is_narrow) return batched_ns(s, x) > 0 && ns > ENOUGH * batched_ns(s, x);
  return s->native.n && ns > SLOWER * (double)s->native.ns / (double)s->native.n;
}

/* Ends a trial. */
static void judge(hia_special *x) {
  hia_speculation *s = atomic_load_explicit(&x->function->speculation, memory_order_acquire);
  pthread_mutex_lock(&s->lock);
  uint64_t ns = atomic_load_explicit(&x->timed_ns, memory_order_relaxed);
  if (is_slow(s, x, (double)((ns - x->judged_ns) / TRIAL))) x->n_slow++;
  x->judged_ns = ns;
  bool is_given_up = x->n_slow == (x->has_wide ? TRIALS - 1 : TRIALS);
  if (is_given_up && x->is_narrow) {
    atomic_store_explicit(&s->is_wide, true, memory_order_relaxed);
  } else if (is_given_up) {
    s->inside.is_empty = true;
    atomic_store_explicit(&x->is_retired, true, memory_order_relaxed);
  }
  pthread_mutex_unlock(&s->lock);
}

void hiaJ_special_timed(hia_special *x, uint64_t ns) {
  atomic_fetch_add_explicit(&x->timed_ns, ns, memory_order_relaxed);
  uint64_t n = atomic_fetch_add_explicit(&x->n_timed, 1, memory_order_relaxed) + 1;
  bool is_tried = (x->is_narrow || x->has_facts) && n <= TRIAL * TRIALS && n % TRIAL == 0;
  if (is_tried && x->function->module->engine->options.speculate == HIA_SPECULATE_ON) judge(x);
}
