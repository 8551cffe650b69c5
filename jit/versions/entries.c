/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of typed entries: the engine looks at some of them as at runs, and has others run in
 * versions (runtime/native/chooser.h).
 *
 * Such calls differ from runs in this. Tensors are views of the host's memory, whose elements may
 * be others in the next call: no version reads them as params. What is observed inside is observed
 * in a run of its own, next to the call, whose results nobody sees. And a call may be so short that
 * it would take longer to choose: then nothing is. */
#include "jit/versions/speculate.h"
#include "runtime/heap/tensor.h"
#include "runtime/native/chooser.h"
#include "runtime/value/value.h"

/* Choosing, and what a guarded way in costs, take some 40 ns. */
#define WORTH_NS 400u
/* Offering a call, and looking at it, takes up to a microsecond. */
#define LONG_NS 20000u
enum { TRIED = 8 }; /* calls that are looked at before it is known how long they take */

typedef struct chooser {
  hia_chooser base;
  const hia_fn_version *general;
} chooser;

static const hia_fn_version *general_of(const hia_offer *offer) {
  return ((const chooser *)(const void *)offer->module->chooser)->general;
}

/* ---- observed runs ---- */

/* A view becomes a tensor with elements of its own. False: no memory. */
static bool copy_word(const hia_offer *offer, hia_objects *objects, hia_type_kind kind,
                      uint32_t word, hia_word *to) {
  const hia_fn_version *general = general_of(offer);
  uint32_t behind = general->facts.n_params + general->facts.n_results;
  *to = offer->block[word];
  if (kind == HIA_KIND_SCALAR) return true;
  if (kind == HIA_KIND_TENSOR) {
    *to = (uintptr_t)hiaR_copy_tensor(objects, hiaR_tensor(*to));
    return *to != 0;
  }
  const hia_value *value = (const hia_value *)(uintptr_t)offer->block[behind + word];
  return !value->objects || hiaR_objects_depend(objects, value->objects);
}

/* The argument as a value; NULL: no memory. */
static hia_value *copy_argument(const hia_offer *offer, uint32_t arg, uint32_t first) {
  const hia_fn_version *general = general_of(offer);
  const hia_allocator *allocator = &general->function->module->engine->allocator;
  const hia_type_info *info = general->function->params[arg].info;
  size_t size = ((size_t)info->n_words + 1) * sizeof(hia_word);
  hia_word *words = hiaR_alloc(allocator, size);
  hia_objects *objects = hiaR_objects_new(allocator, 0);
  bool is_there = words && objects;
  for (uint32_t k = 0; is_there && k < info->n_words; k++) {
    hia_type type = general->facts.params[first + k];
    hia_type_kind kind = hiaR_type_kind(&general->unit->facts.types, type);
    is_there = copy_word(offer, objects, kind, first + k, &words[k]);
  }
  hia_value *value = is_there ? hiaR_value_new(allocator, info, objects, words) : NULL;
  hiaR_objects_release(objects);
  hiaR_free(allocator, words, size);
  return value;
}

static void run_observed(const hia_offer *offer, hia_observing *o) {
  const hia_fn_version *general = general_of(offer);
  hia_function *f = general->function;
  const hia_allocator *allocator = &f->module->engine->allocator;
  size_t size = ((size_t)f->arity + 1) * sizeof(hia_value *);
  hia_value **args = hiaR_alloc(allocator, size);
  uint32_t n = 0, at = 0;
  if (!args) return;
  for (; n < f->arity && (args[n] = copy_argument(offer, n, at)); n++)
    at += f->params[n].info->n_words;
  o->is_all = true;
  if (n == f->arity) {
    hiaJ_run_observed(o, f, args, NULL);
    atomic_fetch_sub_explicit(&f->n_runs, 1, memory_order_relaxed); /* nobody has asked for it */
  }
  for (uint32_t i = 0; i < n; i++) hia_value_free(args[i]);
  hiaR_free(allocator, args, size);
}

static void observe(const hia_offer *offer) {
  const hia_fn_version *general = general_of(offer);
  hia_observing observing = {0};
  hiaJ_observing_begin(&observing, general->function, general);
  if (observing.version) run_observed(offer, &observing);
  hiaJ_observing_end(&observing, general->function);
}

/* ---- calls ---- */

/* The mean time of the function's calls and runs; 0: it is not known yet. */
static uint64_t mean_ns(const hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  return s ? atomic_load_explicit(&s->mean_ns, memory_order_relaxed) : 0;
}

static bool is_worth_it(const hia_function *f, uint64_t mean) {
  return hiaJ_is_eager(f) || mean >= WORTH_NS;
}

static void choose(hia_offer *offer, hia_function *f) {
  uint32_t *flags = &((hia_code_root *)(uintptr_t)offer->module->roots)[offer->root].flags;
  uint64_t use;
  if (!(__atomic_load_n(flags, __ATOMIC_RELAXED) & HIA_CODE_VERSIONS))
    __atomic_fetch_or(flags, (uint32_t)HIA_CODE_VERSIONS, __ATOMIC_RELAXED);
  const hia_fn_version *v = hiaJ_special_version(f, offer->block, &use);
  if (!v) return;
  offer->chosen = &v->special->code;
  offer->held = v->special;
  offer->is_timed = hiaJ_is_timed(use);
}

static void begin(hia_offer *offer) {
  const hia_fn_version *general = general_of(offer);
  hia_function *f = general->function;
  offer->number = atomic_fetch_add_explicit(&f->n_runs, offer->n, memory_order_relaxed);
  if (general->unit->units) hiaJ_recall_versions_for(general, offer->block);
  uint64_t mean = mean_ns(f), n_runs = offer->number + offer->n;
  bool is_known = mean != 0 && n_runs >= TRIED,
       has_use = !atomic_load_explicit(&f->has_no_use, memory_order_relaxed);
  if (atomic_load_explicit(&f->n_specials, memory_order_acquire) && is_worth_it(f, mean))
    choose(offer, f);
  if (!offer->held && (!is_known || is_worth_it(f, mean)))
    offer->is_looked_at = hiaJ_is_looked_at(f, general, offer->n);
  offer->is_timed |= offer->is_looked_at;
  offer->is_seldom = !hiaJ_is_eager(f) && (!has_use || (is_known && mean < LONG_NS));
}

static void again(hia_offer *offer, uint64_t code) { hiaJ_guard_failed(offer->held, code); }

static void look(const hia_offer *offer, uint64_t ns) {
  const hia_fn_version *general = general_of(offer);
  const hia_word *behind = offer->block + general->facts.n_params + general->facts.n_results;
  hia_module *module = general->function->module;
  hiaJ_module_keep(module);
  observe(offer);
  hiaJ_look(general->function,
            &(hia_looked_at){.version = general,
                             .given = general->function->has_references ? behind : NULL,
                             .words = offer->block,
                             .number = offer->number,
                             .ns = ns,
                             .is_native = true});
  hiaJ_module_release(module);
}

static void end(hia_offer *offer, hia_status status, uint64_t ns) {
  hia_special *x = offer->held;
  if (x && offer->is_timed && status == HIA_OK) hiaJ_special_timed(x, ns);
  if (x) hiaJ_special_release(x);
  if (offer->is_looked_at && status == HIA_OK) look(offer, ns);
}

const hia_chooser *hiaJ_chooser(const hia_fn_version *v) {
  hia_hindrance hindrance = hiaJ_cannot_speculate(v->function);
  if (v->unit->n_versions != 1 || hiaJ_exact_traits(v->traits) || hindrance != HIA_HINDRANCE_NONE)
    return NULL;
  chooser *c = HIA_NEW(&v->unit->comp.arena, chooser);
  *c = (chooser){{begin, again, end}, v};
  return &c->base;
}
