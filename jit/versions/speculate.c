/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is steady among the arguments of a function, and versions that assume it, requested. */
#include "jit/versions/speculate.h"
#include "runtime/heap/tensor.h"
#include "runtime/value/walk.h"

enum {
  ALL_LOOKS = 8, /* the first runs of a function, which are all looked at */
  LOOK_EVERY = 16,
  LOOK_SELDOM = 64, /* of the others, on average: first and after so many runs */
  MANY_RUNS = 4096,
  NARROW = 8,     /* runs whose waves are narrow, before there is a version without batches */
  CHANGES = 3,    /* of a size or a number, behind which it counts as varying; */
  FORGET = 16,    /* looks that were the same, behind which earlier changes do not count; */
  EVICTIONS = 64, /* and of objects, among more than can be remembered */
};
/* Runs of a function must have taken so long before a version is made, if it is not known how long
 * compiling takes. */
#define COMPILE_NS 50000000u
/* The mean time of a run. */
#define LONG_NS 1000000000u

hia_hindrance hiaJ_cannot_speculate(const hia_function *f) {
  const hia_engine_options *o = &f->module->engine->options;
  if (o->kind != HIA_ENGINE_AUTO) return HIA_HINDRANCE_ENGINE;
  if (o->speculate == HIA_SPECULATE_OFF) return HIA_HINDRANCE_OFF;
  if (!f->module->program) return HIA_HINDRANCE_GRAPH;
  if (f->loss) return HIA_HINDRANCE_LOSS;
  if (hiaJ_lacks_native(f, HIA_VERSION_GENERAL)) return HIA_HINDRANCE_NO_NATIVE;
  return f->n_param_words ? HIA_HINDRANCE_NONE : HIA_HINDRANCE_NO_ARGUMENTS;
}

/* Versions without batches need no arguments, and assume nothing that a gradient would have to
 * know: steps of training have them, too. */
static bool may_have_versions(const hia_function *f, const hia_fn_version *version) {
  hia_hindrance hindrance = hiaJ_cannot_speculate(f);
  return !hiaJ_exact_traits(version->traits) &&
         (hindrance == HIA_HINDRANCE_NONE || hindrance == HIA_HINDRANCE_NO_ARGUMENTS ||
          hindrance == HIA_HINDRANCE_LOSS);
}

/* One would look at every 16th run, and later at every 64th. But arguments that take turns would
 * then be seen only if their number had no factor in common with 16: so the distance varies. */
static uint64_t distance(uint64_t n) {
  uint64_t mean = n < MANY_RUNS ? LOOK_EVERY : LOOK_SELDOM;
  return mean - 3 + n * 5 % 8;
}

bool hiaJ_is_looked_at(hia_function *f, const hia_fn_version *version, uint32_t n_runs) {
  if (atomic_load_explicit(&f->has_no_use, memory_order_relaxed)) return false;
  if (version->special || hiaJ_exact_traits(version->traits) ||
      hiaJ_cannot_speculate(f) != HIA_HINDRANCE_NONE)
    return false;
  hia_speculation *s = hiaJ_speculation_of(f);
  if (!s) return false;
  uint64_t n = atomic_fetch_add_explicit(&s->n_general, n_runs, memory_order_relaxed);
  n += n_runs - 1;
  if (n < ALL_LOOKS || hiaJ_is_eager(f)) return true;
  uint64_t next = atomic_load_explicit(&s->next_look, memory_order_relaxed);
  if (n < next) return false;
  atomic_store_explicit(&s->next_look, n + distance(n), memory_order_relaxed);
  return true;
}

/* ---- looking ---- */

static void see_object(hia_seen *seen, hia_word word) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < HIA_SEEN_OBJECTS; i++) {
    if (seen->objects[i] == word) {
      seen->n_seen[i]++;
      return;
    }
    if (seen->n_seen[i] < seen->n_seen[at]) at = i;
  }
  seen->n_evicted += seen->n_seen[at] != 0;
  seen->objects[at] = word;
  seen->n_seen[at] = 1;
}

static uint32_t n_seen(const hia_seen *seen, hia_word word) {
  for (uint32_t i = 0; i < HIA_SEEN_OBJECTS; i++)
    if (seen->objects[i] == word) return seen->n_seen[i];
  return 0;
}

static void see(hia_seen *seen, const hia_type_table *types, hia_type type, hia_word word) {
  hia_dims dims = {0};
  bool is_scalar = hiaR_is_scalar(type);
  bool is_tensor = !is_scalar && hiaR_type_kind(types, type) == HIA_KIND_TENSOR;
  if (is_tensor) dims = hiaR_tensor_dims(hiaR_tensor(word));
  seen->range.sight = is_tensor ? HIA_SIGHT_DIMS : is_scalar ? hiaJ_sight(type) : HIA_SIGHT_NOTHING;
  hiaR_observe(&(hia_observer){.points = &seen->range, .n = 1}, 0, word);
  bool is_same = seen->word == word, has_same = memcmp(&seen->dims, &dims, sizeof dims) == 0;
  seen->n_words += !is_same && seen->n_same_word;
  seen->n_dims += !has_same && seen->n_same_dims;
  seen->n_same_word = is_same ? seen->n_same_word + 1 : 1;
  seen->n_same_dims = has_same ? seen->n_same_dims + 1 : 1;
  if (seen->n_same_word >= FORGET) seen->n_words = 0;
  if (seen->n_same_dims >= FORGET) seen->n_dims = 0;
  seen->word = word;
  seen->dims = dims;
  if (!is_scalar && !is_tensor && word >= HIA_FIRST_ADDRESS) see_object(seen, word);
}

/* True if the value has so few objects that code can be made for each of them. */
static bool is_small(const hia_engine *engine, const hia_type_table *types, hia_type type,
                     hia_word word) {
  hia_walk walk = {.types = types, .allocator = &engine->allocator};
  hiaR_walk_from(&walk, type, word);
  while (walk.n_objects <= HIA_MAX_OBJECTS && hiaR_walk_next(&walk)) hiaR_walk_done(&walk);
  bool is_small = walk.n_objects <= HIA_MAX_OBJECTS && !walk.is_out;
  hiaR_walk_free(&walk);
  return is_small;
}

static hia_evidence of_values(uint32_t n_same, uint32_t n_changes, uint32_t n_looks,
                              uint32_t steady) {
  if (n_changes + 1 == n_looks && n_changes >= CHANGES)
    return (hia_evidence){.why = HIA_WHY_DIFFERS, .n = n_looks};
  if (n_changes >= CHANGES) return (hia_evidence){.why = HIA_WHY_VARIES, .n = n_changes};
  return (hia_evidence){.why = n_same >= steady ? HIA_WHY_SAME : HIA_WHY_FEW, .n = n_same};
}

static hia_evidence of_objects(const hia_seen *seen, uint32_t steady) {
  if (seen->word < HIA_FIRST_ADDRESS) return (hia_evidence){.why = HIA_WHY_NO_OBJECT};
  if (seen->n_evicted >= EVICTIONS)
    return (hia_evidence){.why = HIA_WHY_MANY, .n = seen->n_evicted};
  uint32_t n = n_seen(seen, seen->word);
  if (n < steady) return (hia_evidence){.why = HIA_WHY_FEW_SEEN, .n = n};
  if (seen->is_large) return (hia_evidence){.why = HIA_WHY_LARGE, .n = n};
  return (hia_evidence){.why = HIA_WHY_SEEN, .n = n};
}

uint32_t hiaJ_steady(const hia_function *f) { return hiaJ_is_eager(f) ? 1 : HIA_STEADY; }

hia_evidence hiaJ_evidence(const hia_speculation *s, const hia_function *f, uint32_t word,
                           hia_type_kind kind) {
  const hia_seen *seen = &s->seen[word];
  uint32_t steady = hiaJ_steady(f);
  if (kind == HIA_KIND_SCALAR)
    return of_values(seen->n_same_word, seen->n_words, s->n_looks, steady);
  if (kind == HIA_KIND_TENSOR)
    return of_values(seen->n_same_dims, seen->n_dims, s->n_looks, steady);
  return of_objects(seen, steady);
}

/* What varies again and again is not assumed any more. */
static void assume(hia_speculation *s, hia_special *x, const hia_type_table *types, hia_type type,
                   uint32_t at) {
  const hia_function *f = x->function;
  hia_seen *seen = &s->seen[at];
  hia_type_kind kind = hiaR_type_kind(types, type);
  seen->is_large = false;
  hia_evidence e = hiaJ_evidence(s, f, at, kind);
  if (e.why == HIA_WHY_SEEN && !is_small(f->module->engine, types, type, seen->word)) {
    seen->is_large = true;
    e.why = HIA_WHY_LARGE;
  }
  hia_assumption *a = &x->of[at];
  *a = (hia_assumption){.kind = HIA_ASSUME_NOTHING, .word = seen->word, .dims = seen->dims};
  if (e.why == HIA_WHY_SEEN) a->kind = HIA_ASSUME_THIS;
  if (e.why == HIA_WHY_SAME)
    a->kind = kind == HIA_KIND_SCALAR                              ? HIA_ASSUME_WORD
              : hiaR_tensor_lies_as_param(hiaR_tensor(seen->word)) ? HIA_ASSUME_PARAM
                                                                   : HIA_ASSUME_SIZES;
  x->evidence[at] = e;
}

static bool is_same(const hia_assumption *a, const hia_assumption *b) {
  bool has_word = b->kind == HIA_ASSUME_THIS || b->kind == HIA_ASSUME_WORD;
  bool has_dims = b->kind == HIA_ASSUME_SIZES || b->kind == HIA_ASSUME_PARAM;
  return a->kind == b->kind && (!has_word || a->word == b->word) &&
         (!has_dims || memcmp(&a->dims, &b->dims, sizeof a->dims) == 0);
}

/* True if it would be a version like one that was made, or could not be. `of`: NULL: nothing is
 * assumed. */
static bool is_known(const hia_speculation *s, const hia_special *x, bool is_narrow,
                     uint32_t n_words, uint32_t n_made) {
  static const hia_assumption nothing;
  const hia_assumption *of = x ? x->of : NULL;
  for (uint32_t k = 0; k < n_made; k++) {
    bool has_left = s->specials[k].outcome >= HIA_SPECIAL_LEFT;
    bool is_it = !has_left && s->specials[k].is_narrow == is_narrow &&
                 hiaJ_inside_is_same(x, &s->specials[k]);
    for (uint32_t i = 0; i < n_words && is_it; i++)
      is_it = is_same(&s->specials[k].of[i], of ? &of[i] : &nothing);
    if (is_it) return true;
  }
  return false;
}

/* Tests: every second assumption, and those of no use, too. */
static void choose_at_random(const hia_engine *engine, hia_special *x, uint32_t i) {
  x->assumes_all = engine->assume_seed != 0;
  if (!x->assumes_all) return;
  uint64_t random = hiaR_mix(engine->assume_seed, i);
  if (random & 1) {
    x->of[i].kind = HIA_ASSUME_NOTHING;
    x->evidence[i].why = HIA_WHY_LEFT_OUT;
  }
  if (random & 2 && x->of[i].kind == HIA_ASSUME_PARAM) x->of[i].kind = HIA_ASSUME_SIZES;
}

/* A guard that fails near its end would cost so much that nothing is assumed inside such runs. */
static bool is_long(const hia_speculation *s, const hia_function *f) {
  return !hiaJ_is_eager(f) && s->n_timed && s->ns / s->n_timed > LONG_NS;
}

/* What holds the object of a word; NULL: there is none. */
static hia_objects *objects_at(const hia_looked_at *run, uint32_t arg, uint32_t word,
                               hia_type_kind kind) {
  if (run->args) return run->args[arg]->objects;
  bool is_value = kind != HIA_KIND_SCALAR && kind != HIA_KIND_TENSOR;
  return is_value ? ((const hia_value *)(uintptr_t)run->given[word])->objects : NULL;
}

/* Fills in the assumptions of the next version. */
static hia_hindrance decide(hia_speculation *s, hia_function *f, const hia_looked_at *run,
                            uint32_t n_made) {
  const hia_type_table *types = &run->version->unit->facts.types;
  hia_special *x = hiaJ_special_next(s, f);
  if (!x) return HIA_HINDRANCE_MEMORY;
  bool is_some = false;
  uint32_t at = 0;
  for (uint32_t i = 0; i < f->arity; i++) {
    for (uint32_t k = 0; k < f->params[i].info->n_words; k++, at++) {
      hia_assumption *a = &x->of[at];
      hia_type type = run->version->facts.params[at];
      assume(s, x, types, type, at);
      choose_at_random(f->module->engine, x, at);
      a->asked = a->kind;
      if (s->lasts) hiaJ_take_back(x, at, s->lasts[at], s->has_gradients);
      is_some |= a->kind != HIA_ASSUME_NOTHING && (!s->lasts || a->kind != HIA_ASSUME_SIZES);
      if (a->asked != HIA_ASSUME_THIS) continue;
      hia_objects *objects = objects_at(run, i, at, hiaR_type_kind(types, type));
      if (objects) x->objects[at] = hiaR_objects_hold(objects); /* explanations show the object */
    }
  }
  if (!is_long(s, f) && !hiaJ_inside_assume(x)) return HIA_HINDRANCE_MEMORY;
  if (!is_some && !x->n_facts) return HIA_HINDRANCE_NOT_STEADY;
  return is_known(s, x, false, f->n_param_words, n_made) ? HIA_HINDRANCE_KNOWN : HIA_HINDRANCE_NONE;
}

/* Compiling all versions, with the next one, may take as long as runs have taken; but further ones
 * than a function can have, which take the place of others, an eighth of that: as objects come and
 * go, none of them may be used for long. */
static uint64_t times_of_compiling(const hia_speculation *s) {
  enum { SELDOM = 8 };
  uint64_t n = s->n_serial + 1;
  return n <= HIA_MAX_SPECIALS ? n : HIA_MAX_SPECIALS + SELDOM * (n - HIA_MAX_SPECIALS);
}

/* True if all runs of the function have taken as long as that, about. */
static bool has_paid(hia_speculation *s, const hia_function *f, const hia_fn_version *version) {
  const hia_function_stats *stats = &version->unit->stats;
  uint64_t ns = stats->emit_ns + stats->optimize_ns + stats->codegen_ns;
  double runs = (double)atomic_load_explicit(&f->n_runs, memory_order_relaxed);
  double runs_ns = s->n_timed ? (double)s->ns / s->n_timed * runs : 0;
  s->runs_ns = (uint64_t)runs_ns;
  s->compile_ns = (ns ? ns : COMPILE_NS) * times_of_compiling(s);
  return runs_ns > (double)s->compile_ns;
}

/* HIA_HINDRANCE_NONE: the next version is to be made. */
static hia_hindrance hindrance(hia_speculation *s, hia_function *f, const hia_looked_at *run,
                               uint32_t n_made, bool *observes) {
  *observes = false;
  if (s->is_making) return HIA_HINDRANCE_MAKING;
  if (!hiaJ_special_has_room(s)) return HIA_HINDRANCE_FULL;
  if (!hiaJ_is_eager(f)) {
    if (s->n_looks < HIA_STEADY) return HIA_HINDRANCE_FEW_LOOKS;
    if (!has_paid(s, f, run->version)) return HIA_HINDRANCE_TIME;
    if (!hiaJ_inside_is_decided(f, observes)) {
      /* The next run may be observed. */
      atomic_store_explicit(&s->next_look, 0, memory_order_relaxed);
      return HIA_HINDRANCE_OBSERVE;
    }
  }
  return decide(s, f, run, n_made);
}

/* An eager engine has the version before the run's result is returned. */
static void make(hia_function *f, uint32_t number) {
  hia_traits traits = HIA_VERSION_NATIVE | hiaJ_number(number);
  const hia_fn_version *version;
  if (hiaJ_is_eager(f)) {
    hiaJ_ready(f, traits, &version, NULL);
    return;
  }
  hia_status status = hiaJ_make_later(f, traits, NULL);
  if (status != HIA_OK) hiaJ_special_failed(f, traits, hiaR_status_message(status));
}

static void see_time(hia_speculation *s, const hia_looked_at *run) {
  s->n_looks++;
  if (run->is_cut) return;
  s->n_timed++;
  s->ns += run->ns;
  atomic_store_explicit(&s->mean_ns, s->ns / s->n_timed, memory_order_relaxed);
  if (run->interpreted_ns) return; /* partly native */
  hia_timed *of = run->is_native ? &s->native : &s->interpreted;
  of->n++;
  of->ns += run->ns;
}

/* Which versions the run could not use. */
static void see_misfits(hia_speculation *s, const hia_looked_at *run, uint32_t n_made) {
  for (uint32_t k = 0; k < n_made; k++) {
    hia_special *x = &s->specials[k];
    uint32_t at = x->outcome == HIA_SPECIAL_MADE ? hiaJ_special_misfit(x, run->words) : HIA_NONE;
    if (at == HIA_NONE) continue;
    const hia_seen *seen = &s->seen[at];
    x->misfit = (hia_misfit_run){x->misfit.n + 1, run->number + 1, at, seen->word, seen->dims};
  }
}

void hiaJ_look(hia_function *f, const hia_looked_at *run) {
  hia_speculation *s = hiaJ_speculation_of(f);
  const hia_fn_version *version = run->version;
  if (!s || pthread_mutex_trylock(&s->lock)) return;
  uint32_t n_made = atomic_load_explicit(&s->n_made, memory_order_relaxed);
  for (uint32_t i = 0; i < f->n_param_words; i++)
    see(&s->seen[i], &version->unit->facts.types, version->facts.params[i], run->words[i]);
  see_time(s, run);
  see_misfits(s, run, n_made);
  bool observes;
  uint32_t number = 0;
  hia_unit *gone = hiaJ_special_leave(s);
  s->hindrance = hindrance(s, f, run, n_made, &observes);
  if (s->hindrance == HIA_HINDRANCE_NONE) {
    number = hiaJ_special_begin(s, HIA_SPECIAL_MAKING);
    s->hindrance = HIA_HINDRANCE_NO_LOOK;
  }
  pthread_mutex_unlock(&s->lock);
  if (gone) hiaJ_drop(f->module, gone);
  if (number) make(f, number);
  if (observes && hiaJ_make_later(f, HIA_VERSION_IMAGE | HIA_VERSION_OBSERVED, NULL) != HIA_OK)
    hiaJ_inside_give_up(f);
}

/* ---- waves ---- */

/* True if waves had few rows. */
static bool are_few(const hia_usage *usage) {
  enum { FEW = 4 };
  return usage->batch.rows <= FEW * usage->batch.waves;
}

/* True if batches may cost more than they save: there were none, although code was made for them;
 * waves had few rows; most rows were equal to others, which it takes time to find; or computing the
 * rows took less than half of the run's time, if that is known: noting them, and waiting for them,
 * may have taken the rest. In an eager engine no version depends on a time. On several threads the
 * times of runs say little: they depend on how many of the threads came to help. */
static bool may_cost(const hia_function *f, const hia_usage *usage, uint64_t ns) {
  bool is_timed = !hiaJ_is_eager(f) && !f->module->engine->pool;
  bool has_little = is_timed && 2 * usage->batch.compute_ns < ns;
  return are_few(usage) || usage->batch.reused > usage->batch.rows || has_little;
}

/* The next version assumes what this one does, and that nothing is gained by batches. */
static bool unbatch(hia_speculation *s, hia_function *f, const hia_special *like, bool has_wide) {
  hia_special *x = hiaJ_special_next(s, f);
  if (!x) return false;
  for (uint32_t i = 0; i < f->n_param_words; i++)
    x->of[i] = like ? like->of[i] : (hia_assumption){.kind = HIA_ASSUME_NOTHING};
  if (like) memcpy(x->evidence, like->evidence, f->n_param_words * sizeof *x->evidence);
  for (uint32_t i = 0; like && i < f->n_param_words; i++)
    if (like->objects[i]) x->objects[i] = hiaR_objects_hold(like->objects[i]);
  x->is_narrow = true;
  x->has_wide = has_wide;
  x->like = like;
  return !like || hiaJ_inside_copy(x, like);
}

bool hiaJ_has_waves(const hia_function *f, const hia_fn_version *version) {
  const hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  bool is_wide = s && atomic_load_explicit(&s->is_wide, memory_order_relaxed);
  return version->unit->has_segments && !is_wide && may_have_versions(f, version);
}

/* The system may have put the run aside while it computed rows: so one is not enough. */
static void note_wide(hia_speculation *s, const hia_function *f) {
  enum { LEAST = 2, PART = 4 };
  unsigned n_narrow = atomic_load_explicit(&s->n_narrow, memory_order_relaxed);
  unsigned n = atomic_fetch_add_explicit(&s->n_wide, 1, memory_order_relaxed) + 1;
  if (hiaJ_is_eager(f) || (n >= LEAST && n >= n_narrow / PART))
    atomic_store_explicit(&s->is_wide, true, memory_order_relaxed);
}

void hiaJ_look_at_waves(hia_function *f, const hia_fn_version *version, const hia_usage *usage,
                        uint64_t ns, bool is_looked_at) {
  if (!version->unit->has_segments || !may_have_versions(f, version)) return;
  hia_speculation *s = hiaJ_speculation_of(f);
  const hia_special *like = version->special;
  if (!s || atomic_load_explicit(&s->is_wide, memory_order_relaxed)) return;
  if (!may_cost(f, usage, ns)) {
    if (ns || hiaJ_is_eager(f)) note_wide(s, f);
    return;
  }
  unsigned n = atomic_fetch_add_explicit(&s->n_narrow, 1, memory_order_relaxed) + 1;
  bool is_enough = n >= (hiaJ_is_eager(f) ? 1 : NARROW);
  if (!(is_enough || ns) || pthread_mutex_trylock(&s->lock)) return;
  uint32_t n_made = atomic_load_explicit(&s->n_made, memory_order_relaxed);
  uint32_t number = 0;
  bool is_timed = ns && !is_looked_at && !like; /* other code adds the time of other runs */
  s->native.n += is_timed;
  s->native.ns += is_timed ? ns : 0;
  if (is_enough && !s->is_making && hiaJ_special_has_room(s) &&
      !is_known(s, like, true, f->n_param_words, n_made) && unbatch(s, f, like, !are_few(usage)))
    number = hiaJ_special_begin(s, HIA_SPECIAL_MAKING);
  pthread_mutex_unlock(&s->lock);
  if (number) make(f, number);
}

/* ---- what other processes have found ---- */

typedef struct recalling {
  hia_function *function;
  hia_speculation *speculation;
  const hia_word *words;
} recalling;

/* Loads the version if the arguments are as it assumes. */
static void recall(void *user, hia_special *x) {
  const recalling *r = user;
  hia_speculation *s = r->speculation;
  uint32_t n_made = atomic_load_explicit(&s->n_made, memory_order_relaxed);
  if (hiaJ_special_misfit(x, r->words) != HIA_NONE) return;
  const hia_fn_version *v =
      hiaJ_cached_version(r->function, HIA_VERSION_NATIVE | hiaJ_number(n_made + 1));
  if (!v) return;
  pthread_mutex_lock(&s->lock);
  hiaJ_special_begin(s, HIA_SPECIAL_MADE);
  pthread_mutex_unlock(&s->lock);
  hiaJ_special_release(x);
}

/* No version is made meanwhile. False: one is being made. */
static bool reserve(hia_speculation *s) {
  pthread_mutex_lock(&s->lock);
  bool is_free = !s->is_making;
  s->is_making = true;
  pthread_mutex_unlock(&s->lock);
  return is_free;
}

/* True, once, if versions are to be looked for. */
static bool is_to_recall(const hia_fn_version *general) {
  hia_function *f = general->function;
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  if (s && atomic_load_explicit(&s->has_recalled, memory_order_relaxed))
    return false; /* most often */
  if (!may_have_versions(f, general) || !(s = hiaJ_speculation_of(f))) return false;
  return !atomic_exchange_explicit(&s->has_recalled, true, memory_order_relaxed);
}

static void recall_all(const hia_fn_version *general, const hia_word *words) {
  hia_speculation *s = hiaJ_speculation_of(general->function);
  recalling r = {general->function, s, words};
  if (!reserve(s)) return;
  hiaJ_cached_versions(general, s, recall, &r);
  pthread_mutex_lock(&s->lock);
  s->is_making = false;
  pthread_mutex_unlock(&s->lock);
}

void hiaJ_recall_versions_for(const hia_fn_version *general, const hia_word *words) {
  if (is_to_recall(general)) recall_all(general, words);
}

void hiaJ_recall_versions(const hia_fn_version *general, hia_value *const *args) {
  hia_function *f = general->function;
  if (!is_to_recall(general)) return;
  const hia_allocator *allocator = &f->module->engine->allocator;
  size_t size = ((size_t)f->n_param_words + 1) * sizeof(hia_word);
  hia_word *words = hiaR_alloc(allocator, size), *at = words;
  if (!words) return;
  for (uint32_t i = 0; i < f->arity; i++) {
    memcpy(at, args[i]->words, args[i]->type->n_words * sizeof *at);
    at += args[i]->type->n_words;
  }
  recall_all(general, words);
  hiaR_free(allocator, words, size);
}
