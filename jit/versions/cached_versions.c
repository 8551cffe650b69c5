/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The cache of native code: versions that assume something of arguments.
 *
 * The key of such a version says, besides what all keys say, what it assumes. Objects are of a
 * process: a version that assumes one is not kept. Next to the versions there is a list of them,
 * under the first key of the general version and the word "versions". So a process that starts
 * knows which versions others have had made, and what of the arguments is of use:
 *
 *   lasts 0 1 1 gradients 0
 *   version 0
 *   0 0 0
 *   3 0 2 450 300        the kind of the assumption, the word, the rank, the sizes
 *   4 0 1 450
 *   facts 1
 *   10 1 1 1 1 0 2 30    the point, the word, whether it is used; where the point is
 *
 * It is text of numbers alone. What is not of that form is as if it were not there. */
#include "jit/engine/cached.h"
#include "jit/versions/speculate.h"
#include <inttypes.h>

/* ---- writing ---- */

static bool describe(hia_text *out, const hia_special *x, uint32_t n) {
  hiaR_text_addf(out, "version %d\n", (int)x->is_narrow);
  for (uint32_t i = 0; i < n; i++) {
    const hia_assumption *a = &x->of[i];
    bool has_dims = a->kind == HIA_ASSUME_SIZES || a->kind == HIA_ASSUME_PARAM;
    if (a->kind == HIA_ASSUME_THIS) return false;
    hiaR_text_addf(out, "%u %" PRIu64 " %u", (unsigned)a->kind,
                   a->kind == HIA_ASSUME_WORD ? a->word : 0, has_dims ? a->dims.rank : 0);
    for (uint32_t k = 0; has_dims && k < a->dims.rank; k++)
      hiaR_text_addf(out, " %" PRId64, a->dims.dims[k]);
    hiaR_text_addf(out, "\n");
  }
  hiaR_text_addf(out, "facts %u\n", x->n_facts);
  for (uint32_t i = 0; i < x->n_facts; i++) {
    const hia_inside_fact *f = &x->facts[i];
    hiaR_text_addf(out, "%u %" PRIu64 " %d %u %u %u %u %u\n", f->fact.point, f->fact.word,
                   (int)f->is_used, (unsigned)f->place.kind, (unsigned)f->place.sight,
                   f->place.param, f->place.line, f->place.col);
  }
  return true;
}

bool hiaJ_special_describe(hia_text *key, const hia_function *f, hia_traits traits) {
  if (!(traits & HIA_VERSION_NUMBER)) return true;
  return describe(key, hiaJ_special_of(f, traits), f->n_param_words);
}

/* The key of the list, without the versions' numbers. */
static bool key_of(hia_text *key, const hia_function *f) {
  if (!hiaJ_first_key(key, f, HIA_VERSION_NATIVE)) return false;
  hiaR_text_addf(key, "\nversions\n");
  return true;
}

/* The caller holds the speculation's lock. */
static bool write_list(const hia_function *f, const hia_speculation *s, hia_text *list) {
  uint32_t n_made = atomic_load_explicit(&s->n_made, memory_order_relaxed), n = f->n_param_words;
  hia_text one;
  bool is_some = false;
  if (!s->lasts) return false;
  hiaR_text_addf(list, "lasts");
  for (uint32_t i = 0; i < n; i++) hiaR_text_addf(list, " %d", (int)s->lasts[i]);
  hiaR_text_addf(list, " gradients %d\n", (int)s->has_gradients);
  for (uint32_t k = 0; k < n_made; k++) {
    hiaR_text_init(&one, list->arena);
    bool is_retired = atomic_load_explicit(&s->specials[k].is_retired, memory_order_relaxed);
    is_some |= is_retired; /* a list that has it is there */
    if (is_retired || s->specials[k].outcome != HIA_SPECIAL_MADE ||
        !describe(&one, &s->specials[k], n))
      continue;
    hiaR_text_add(list, one.data, one.len);
    is_some = true;
  }
  return is_some;
}

static void store_list(const hia_function *f, hia_speculation *s, hia_arena *arena) {
  char name[HIA_STORE_NAME + 1];
  hia_text key;
  hiaR_text_init(&key, arena);
  if (!key_of(&key, f)) return;
  hiaJ_digest(key.data, key.len, name);
  pthread_mutex_lock(&s->lock);
  bool is_some = write_list(f, s, &key);
  pthread_mutex_unlock(&s->lock);
  if (is_some) hiaJ_store_write(f->module->engine->store, name, key.data, key.len);
}

void hiaJ_cached_store_versions(const hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  if (!s || !hiaJ_may_cache(f, HIA_VERSION_NATIVE)) return;
  hia_comp comp;
  hiaR_comp_init(&comp, &f->module->engine->allocator);
  if (HIA_TRY(&comp)) store_list(f, s, &comp.arena);
  hiaR_comp_free(&comp);
}

/* ---- reading ---- */

typedef struct reader {
  const char *at, *end;
  bool is_wrong;
} reader;

/* False: the word does not stand here. */
static bool take_word(reader *r, const char *word) {
  size_t len = strlen(word);
  if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0) return false;
  r->at += len;
  return true;
}

static uint64_t take_number(reader *r, uint64_t most) {
  uint64_t n = 0;
  if (r->at < r->end && *r->at == ' ') r->at++;
  const char *first = r->at;
  for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
    uint64_t digit = (uint64_t)(*r->at - '0');
    r->is_wrong |= __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, digit, &n);
  }
  r->is_wrong |= r->at == first || n > most;
  return r->is_wrong ? 0 : n;
}

static void take_end(reader *r) { r->is_wrong |= !take_word(r, "\n"); }

static void take_assumption(reader *r, hia_assumption *a) {
  a->kind = a->asked = (hia_assumption_kind)take_number(r, HIA_ASSUME_PARAM);
  a->word = take_number(r, UINT64_MAX);
  a->dims.rank = (uint32_t)take_number(r, HIA_MAX_RANK);
  for (uint32_t k = 0; k < a->dims.rank && !r->is_wrong; k++)
    a->dims.dims[k] = (int64_t)take_number(r, INT64_MAX);
  take_end(r);
}

static bool is_of_type(const hia_assumption *a, const hia_type_table *types, hia_type type) {
  bool is_scalar = hiaR_is_scalar(type);
  bool is_tensor = !is_scalar && hiaR_type_kind(types, type) == HIA_KIND_TENSOR;
  switch (a->kind) {
  case HIA_ASSUME_NOTHING: return true;
  case HIA_ASSUME_WORD: return is_scalar;
  case HIA_ASSUME_PARAM: {
    hia_dtype dtype = is_tensor ? (hia_dtype)hiaR_type_entry(types, type)->element : HIA_BOOL;
    if (dtype != HIA_F32 && dtype != HIA_F64) return false;
  } /* fall through */
  case HIA_ASSUME_SIZES: return is_tensor && a->dims.rank == hiaR_type_entry(types, type)->n;
  default: return false;
  }
}

static void take_facts(reader *r, hia_special *x) {
  enum { MOST = 1000 };
  r->is_wrong |= !take_word(r, "facts");
  uint32_t n = (uint32_t)take_number(r, MOST);
  take_end(r);
  r->is_wrong |= r->is_wrong || !hiaJ_inside_room(x, n);
  x->has_facts = false;
  for (uint32_t i = 0; i < x->n_facts && !r->is_wrong; i++) {
    hia_inside_fact *f = &x->facts[i];
    f->fact.point = (uint32_t)take_number(r, UINT32_MAX);
    f->fact.word = take_number(r, UINT64_MAX);
    f->is_used = take_number(r, 1) != 0;
    f->place.kind = (hia_point_kind)take_number(r, HIA_POINT_ROUNDS);
    f->place.sight = (hia_sight)take_number(r, HIA_SIGHT_I64);
    f->place.param = (uint32_t)take_number(r, UINT32_MAX);
    f->place.line = (uint32_t)take_number(r, UINT32_MAX);
    f->place.col = (uint32_t)take_number(r, UINT32_MAX);
    f->place.fn = f->place.name = f->place.type_text = "";
    x->has_facts |= f->is_used;
    take_end(r);
  }
}

static bool take_version(reader *r, const hia_fn_version *general, hia_special *x) {
  if (!take_word(r, "version")) return false;
  x->is_narrow = take_number(r, 1) != 0;
  take_end(r);
  for (uint32_t i = 0; i < general->facts.n_params && !r->is_wrong; i++) {
    x->of[i] = (hia_assumption){.kind = HIA_ASSUME_NOTHING};
    x->evidence[i] = (hia_evidence){.why = HIA_WHY_RECALLED};
    take_assumption(r, &x->of[i]);
    r->is_wrong |= !is_of_type(&x->of[i], &general->unit->facts.types, general->facts.params[i]);
  }
  if (!r->is_wrong) take_facts(r, x);
  return !r->is_wrong;
}

static bool know_lasting(hia_speculation *s, bool *lasts, bool has_gradients) {
  pthread_mutex_lock(&s->lock);
  bool is_new = !s->lasts;
  if (is_new) s->lasts = lasts, s->has_gradients = has_gradients;
  pthread_mutex_unlock(&s->lock);
  return is_new;
}

static void take_list(reader *r, hia_speculation *s, const hia_fn_version *general,
                      hia_recall *recall, void *user) {
  const hia_function *f = general->function;
  bool *lasts = hiaR_alloc(&f->module->engine->allocator, (size_t)f->n_param_words + 1);
  if (!lasts) return;
  r->is_wrong |= !take_word(r, "lasts");
  for (uint32_t i = 0; i < f->n_param_words && !r->is_wrong; i++) lasts[i] = take_number(r, 1) != 0;
  r->is_wrong |= !take_word(r, " gradients");
  bool has_gradients = take_number(r, 1) != 0;
  take_end(r);
  if (r->is_wrong || !know_lasting(s, lasts, has_gradients)) {
    hiaR_free(&f->module->engine->allocator, lasts, (size_t)f->n_param_words + 1);
    return;
  }
  hia_special *x;
  while ((x = hiaJ_special_next(s, general->function)) && take_version(r, general, x))
    recall(user, x);
}

static void read_list(const hia_fn_version *general, hia_speculation *s, hia_arena *arena,
                      hia_recall *recall, void *user) {
  hia_store *store = general->function->module->engine->store;
  char name[HIA_STORE_NAME + 1];
  size_t size;
  hia_text key;
  hiaR_text_init(&key, arena);
  if (!key_of(&key, general->function)) return;
  hiaJ_digest(key.data, key.len, name);
  char *bytes = hiaJ_store_read(store, name, &size);
  if (!bytes) return;
  if (size > key.len && memcmp(bytes, key.data, key.len) == 0) {
    reader r = {.at = bytes + key.len, .end = bytes + size};
    take_list(&r, s, general, recall, user);
  }
  hiaJ_store_free(store, bytes, size);
}

void hiaJ_cached_versions(const hia_fn_version *general, hia_speculation *s, hia_recall *recall,
                          void *user) {
  hia_comp comp;
  hiaR_comp_init(&comp, &general->function->module->engine->allocator);
  if (HIA_TRY(&comp)) read_list(general, s, &comp.arena, recall, user);
  hiaR_comp_free(&comp);
}
