/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The graphs of versions that assume something, and the params of their runs. */
#include "jit/versions/speculate.h"
#include "runtime/heap/tensor.h"

/* ---- the graph ---- */

/* Where gradients are computed no branch may be decided before: else nothing would be added for the
 * arm that is not taken, in place of a zero, and the sign of a zero could differ. */
void hiaJ_take_back(hia_special *s, uint32_t i, bool lasts, bool has_gradients) {
  hia_assumption *a = &s->of[i];
  bool is_word = a->kind == HIA_ASSUME_WORD || a->kind == HIA_ASSUME_THIS;
  bool is_of_use = lasts || s->assumes_all;
  if (is_word && (has_gradients || !is_of_use)) {
    a->kind = HIA_ASSUME_NOTHING;
    s->evidence[i].taken_back = is_of_use ? HIA_BACK_GRADIENTS : HIA_BACK_NO_USE;
  } else if (a->kind == HIA_ASSUME_PARAM && !is_of_use) {
    a->kind = HIA_ASSUME_SIZES;
    s->evidence[i].taken_back = HIA_BACK_NO_USE;
  }
}

/* Later decisions take back at once what is of no use. */
static void note_lasting(hia_function *f, const bool *lasts, bool has_gradients, bool has_facts) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  pthread_mutex_lock(&s->lock);
  if (!s->lasts) s->lasts = hiaR_alloc(&f->module->engine->allocator, (size_t)f->n_param_words + 1);
  if (s->lasts) memcpy(s->lasts, lasts, f->n_param_words);
  s->has_gradients = has_gradients;
  bool may_see = !f->is_impure && !s->inside.is_empty && hiaJ_inside_wants(&s->inside);
  pthread_mutex_unlock(&s->lock);
  bool is_some = f->module->engine->assume_seed != 0 || has_facts || may_see;
  for (uint32_t i = 0; i < f->n_param_words; i++) is_some |= lasts[i];
  atomic_store_explicit(&f->has_no_use, !is_some, memory_order_relaxed);
}

/* Puts the facts into the graph. Those that are of no use are not assumed, by later versions
 * neither if none is. */
static void suppose(hia_unit *unit, hia_special *x) {
  hia_arena *arena = &unit->comp.arena;
  hia_point *points;
  uint32_t n_points = hiaG_points(unit->graph, &points), n_used = 0;
  hia_fact *facts = HIA_NEW_ARRAY(arena, hia_fact, (size_t)x->n_facts + 1);
  bool *used = HIA_NEW_ARRAY(arena, bool, (size_t)x->n_facts + 1), is_wrong = false;
  for (uint32_t i = 0; i < x->n_facts; i++) {
    facts[i] = x->facts[i].fact;
    is_wrong |= facts[i].point >= n_points;
  }
  if (!is_wrong)
    n_used = hiaG_suppose(unit->graph, points, facts, x->n_facts, x->assumes_all, used);
  for (uint32_t i = 0; i < x->n_facts; i++) x->facts[i].is_used = used[i];
  x->has_facts = n_used != 0;
}

hia_status hiaJ_assume(hia_unit *unit, hia_special *special, hia_error **error) {
  hia_graph *g = unit->graph;
  hia_fn_id root = unit->versions[0].root;
  uint32_t n = hiaG_fn(g, root)->n_params;
  bool *lasts = HIA_NEW_ARRAY(&unit->comp.arena, bool, n + 1), is_some = false;
  bool has_gradients = hiaG_has_gradients(g);
  hiaG_find_lasting(g, root, lasts); /* a loop that is unrolled counts as one */
  if (special->n_facts) suppose(unit, special);
  note_lasting(special->function, lasts, has_gradients, special->has_facts);
  special->weight = special->is_narrow + 2u * special->has_facts;
  for (uint32_t i = 0; i < n; i++) {
    hia_assumption *a = &special->of[i];
    hiaJ_take_back(special, i, lasts[i], has_gradients);
    is_some |=
        a->kind != HIA_ASSUME_NOTHING && (special->assumes_all || a->kind != HIA_ASSUME_SIZES);
    special->weight += a->kind != HIA_ASSUME_NOTHING ? 2 : 0;
  }
  unit->versions[0].special = special;
  if (!is_some && (special->is_narrow || special->has_facts)) return HIA_OK;
  if (!is_some)
    return hiaJ_fail(&special->function->module->engine->allocator, error, HIA_UNSUPPORTED, NULL,
                     "no assumption would be of use");
  unit->versions[0].root = hiaG_assume(g, root, special->of);
  return HIA_OK;
}

void hiaJ_assumed(hia_unit *unit) {
  hia_special *special = unit->versions[0].special;
  if (!special) return;
  special->specs = unit->graph->params.data;
  special->n_specs = unit->graph->params.len;
  special->bound = unit->graph->arguments.data;
  special->n_bound = unit->graph->arguments.len;
}

/* In the order of hiaG_assume. */
void hiaJ_assumed_from_cache(hia_unit *unit, hia_special *x) {
  const hia_fn_version *v = &unit->versions[0];
  const hia_params *own = &x->function->module->params;
  hia_param_spec *specs =
      HIA_NEW_ARRAY(&unit->comp.arena, hia_param_spec, (size_t)own->n + v->facts.n_params + 1);
  if (own->n) memcpy(specs, own->specs, own->n * sizeof *specs);
  hia_argument *bound = HIA_NEW_ARRAY(&unit->comp.arena, hia_argument, v->facts.n_params + 1);
  x->bound = bound;
  x->n_bound = 0;
  x->weight = x->is_narrow + 2u * x->has_facts;
  for (uint32_t i = 0; i < v->facts.n_params; i++) {
    x->weight += x->of[i].kind != HIA_ASSUME_NOTHING ? 2 : 0;
    if (x->of[i].kind != HIA_ASSUME_PARAM) continue;
    hia_dtype dtype = (hia_dtype)hiaR_type_entry(&unit->facts.types, v->facts.params[i])->element;
    bound[x->n_bound] = (hia_argument){.word = i, .shape = x->of[i].dims};
    specs[own->n + x->n_bound++] =
        (hia_param_spec){.name = "", .dtype = dtype, .init = HIA_INIT_FULL, .shape = x->of[i].dims};
  }
  x->specs = specs;
  x->n_specs = own->n + x->n_bound;
}

/* ---- params ---- */

/* True if nobody can change the elements: they lie behind the tensor's dims, and not in memory that
 * the host lends. */
static bool is_own(hia_word word) {
  const hia_tensor *t = hiaR_tensor(word);
  char *first = hiaR_tensor_first_element((hia_tensor *)(uintptr_t)t, hiaR_tensor_bytes(t));
  return t->data == first;
}

static bool is_for(const hia_special *s, const hia_word *words, uint32_t n,
                   const hia_param_state *program) {
  bool fits = s->state && s->program == program;
  for (uint32_t i = 0; i < n && fits; i++)
    fits = s->of[i].kind != HIA_ASSUME_PARAM || (words[i] == s->words[i] && is_own(words[i]));
  return fits;
}

static hia_status new_state(const hia_special *s, const hia_word *words, hia_param_state *program,
                            hia_param_state **out) {
  const hia_allocator *allocator = &s->function->module->engine->allocator;
  size_t size = s->n_specs * sizeof(void *);
  const void **elements = hiaR_alloc(allocator, size);
  if (!elements) return HIA_MEMORY;
  const void **at = elements + (s->n_specs - s->n_bound);
  for (uint32_t i = 0; i < s->n_bound; i++) {
    const hia_argument *b = &s->bound[i];
    at[i] = hiaR_tensor(b->word == HIA_NONE ? b->tensor : words[b->word])->data;
  }
  const hia_param_values values = {.from = program, .lasting = elements};
  hia_status status = hiaR_state_new(s->specs, s->n_specs, &values, allocator, out);
  hiaR_free(allocator, (void *)(uintptr_t)elements, size);
  return status;
}

/* The state is kept for the next run, and the arguments' objects as long as it is. */
static void keep(hia_special *s, hia_value *const *args, const hia_word *words, uint32_t n,
                 hia_param_state *program, hia_param_state *state) {
  hiaR_state_release(s->state);
  hiaR_state_release(s->program);
  s->state = hiaR_state_hold(state);
  s->program = program ? hiaR_state_hold(program) : NULL;
  memcpy(s->words, words, n * sizeof *words);
  for (uint32_t i = 0; i < s->function->arity; i++) {
    hiaR_objects_release(s->lent[i]);
    s->lent[i] = args && args[i]->objects ? hiaR_objects_hold(args[i]->objects) : NULL;
  }
}

static bool reads_arguments(const hia_special *s) {
  for (uint32_t i = 0; i < s->n_bound; i++)
    if (s->bound[i].word != HIA_NONE) return true;
  return false;
}

hia_status hiaJ_assumed_params(hia_special *s, hia_value *const *args, const hia_word *words,
                               hia_param_state *program, hia_param_state **out) {
  uint32_t n = s->function->n_param_words;
  pthread_mutex_lock(&s->lock);
  bool is_kept = is_for(s, words, n, program);
  if (is_kept) *out = hiaR_state_hold(s->state);
  pthread_mutex_unlock(&s->lock);
  if (is_kept) return HIA_OK;
  hia_status status = new_state(s, words, program, out);
  if (status != HIA_OK) return status;
  if (!args && reads_arguments(s)) return HIA_OK;
  pthread_mutex_lock(&s->lock);
  keep(s, args, words, n, program, *out);
  pthread_mutex_unlock(&s->lock);
  return HIA_OK;
}
