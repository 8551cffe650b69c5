/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The images of observed runs, and the facts that these runs show. */
#include "jit/versions/observe.h"
#include "jit/versions/speculate.h"

enum {
  MOST_FACTS = 64,  /* of a version */
  EAGER_LEAST = 16, /* of HIA_OBSERVED_ENOUGH, in an eager engine */
};

static hia_inside *inside_of(const hia_function *f) {
  return &atomic_load_explicit(&f->speculation, memory_order_acquire)->inside;
}

/* ---- the image ---- */

hia_sight hiaJ_sight(hia_type type) {
  static const hia_sight scalars[] = {[HIA_BOOL] = HIA_SIGHT_BOOL,
                                      [HIA_I32] = HIA_SIGHT_I32,
                                      [HIA_I64] = HIA_SIGHT_I64,
                                      [HIA_F32] = HIA_SIGHT_F32,
                                      [HIA_F64] = HIA_SIGHT_F64};
  return scalars[type];
}

static hia_sight sight_of(const hia_types *types, hia_type type) {
  if (hiaG_is_scalar(type)) return hiaJ_sight(type);
  switch (hiaG_type_kind(types, type)) {
  case HIA_KIND_TENSOR: return HIA_SIGHT_DIMS;
  case HIA_KIND_ARRAY: return HIA_SIGHT_LEN;
  case HIA_KIND_DATA: return HIA_SIGHT_CTOR;
  default: return HIA_SIGHT_NOTHING;
  }
}

/* A parameter that is a tuple has no name for each of its words. */
static const char *name_of(const hia_module *module, const hia_graph *g, const hia_fn *fn,
                           uint32_t param) {
  const char *source = fn->source < g->names.len ? g->names.data[fn->source] : "";
  hia_decl_id decl = hiaF_find(module->program, source, strlen(source));
  if (decl == HIA_NONE || hiaF_arity(module->program, decl) != fn->n_params) return "";
  const char *name = hiaF_param_name(module->program, decl, param);
  return name ? name : "";
}

/* The constructor that a branch asks for, if its condition is `ctor x == k`; else "". */
static const char *ctor_of(const hia_graph *g, const hia_fn *fn, hia_node_id branch) {
  const hia_node *eq = hiaG_def(fn, hiaG_in(fn, branch, 0));
  if (eq->op != HIA_OP_EQ) return "";
  hia_node_id n = fn->values.data[hiaG_in(fn, branch, 0)].node;
  const hia_node *ctor = hiaG_def(fn, hiaG_in(fn, n, 0));
  hia_word word;
  if (ctor->op != HIA_OP_CTOR || !hiaG_is_const(fn, hiaG_in(fn, n, 1), &word)) return "";
  hia_node_id c = fn->values.data[hiaG_in(fn, n, 0)].node;
  hia_type data = hiaG_type(fn, hiaG_in(fn, c, 0));
  const hia_type_table table = hiaG_type_table(g->types);
  if (word >= hiaR_type_entry(&table, data)->n) return "";
  const char *name = table.names + hiaR_ctor(&table, data, (uint32_t)word)->name;
  return hiaR_arena_strndup(&g->comp->arena, name, strlen(name));
}

static const char *type_text(const hia_graph *g, hia_type type) {
  hia_text text;
  hiaR_text_init(&text, &g->comp->arena);
  hiaG_type_print(g->types, type, &text);
  return text.data;
}

hia_point_place hiaJ_point_place(const hia_module *module, const hia_graph *g, const hia_point *p) {
  const hia_fn *fn = hiaG_fn(g, p->fn);
  const hia_node *node = &fn->nodes.data[p->node];
  bool is_param = p->kind == HIA_POINT_PARAM;
  hia_loc_id at = is_param ? fn->loc : node->loc;
  hia_loc loc = at == HIA_NONE ? (hia_loc){0} : g->locs.data[at];
  hia_point_place place = {.kind = p->kind,
                           .sight = sight_of(g->types, p->type),
                           .type = p->type,
                           .param = is_param ? HIA_IMM_A(node->imm) : 0,
                           .line = loc.line,
                           .col = loc.col,
                           .type_text = type_text(g, p->type),
                           .fn = fn->source < g->names.len ? g->names.data[fn->source] : "",
                           .name = ""};
  if (is_param) place.name = name_of(module, g, fn, place.param);
  if (p->kind == HIA_POINT_BRANCH) place.name = ctor_of(g, fn, p->node);
  return place;
}

/* The unit holds the places. False: no memory. */
static bool know_points(hia_function *f, const hia_point_place *places, uint32_t n) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  const hia_allocator *allocator = &f->module->engine->allocator;
  hia_inside *inside = &s->inside;
  hia_observed *seen = hiaR_alloc(allocator, n * sizeof *seen);
  pthread_mutex_lock(&s->lock);
  inside->is_empty |= !n || !seen;
  if (!n || !seen || inside->places) { /* two threads have made it */
    hiaR_free(allocator, seen, n * sizeof *seen);
  } else {
    inside->places = places;
    inside->n_points = n;
    inside->seen = seen;
    for (uint32_t i = 0; i < n; i++) seen[i].sight = places[i].sight;
  }
  bool is_known = !n || inside->places;
  pthread_mutex_unlock(&s->lock);
  return is_known;
}

hia_status hiaJ_observe(hia_unit *unit, hia_function *f, hia_error **error) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  hia_graph *g = unit->graph;
  hia_point *points;
  uint32_t n = hiaG_points(g, &points);
  hia_point_place *places = HIA_NEW_ARRAY(&unit->comp.arena, hia_point_place, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) places[i] = hiaJ_point_place(f->module, g, &points[i]);
  hiaG_observe(g, points, n);
  if (!know_points(f, places, n)) return hiaR_fail_memory(allocator, error);
  if (n) return HIA_OK;
  return hiaJ_fail(
      allocator, error, HIA_UNSUPPORTED, NULL, "runs of `%s` cannot be observed: %s", f->signature,
      hiaG_has_gradients(g) ? "it computes gradients" : "it has no parameters, branches and loops");
}

void hiaJ_inside_free(hia_inside *inside, const hia_allocator *allocator) {
  hiaR_free(allocator, inside->seen, inside->n_points * sizeof *inside->seen);
}

/* ---- facts ---- */

uint32_t hiaJ_inside_wants(const hia_inside *inside) {
  bool is_enough = inside->n_runs >= HIA_OBSERVED_RUNS;
  for (uint32_t i = 0; i < inside->n_points && !is_enough; i++)
    is_enough = inside->seen[i].n >= HIA_OBSERVED_ENOUGH;
  return inside->n_wanted + (is_enough ? 0 : HIA_OBSERVED_RUNS - inside->n_runs);
}

bool hiaJ_inside_is_decided(hia_function *f, bool *is_wanted) {
  hia_inside *inside = inside_of(f);
  *is_wanted = false;
  if (f->is_impure || inside->is_empty) return true;
  *is_wanted = !inside->is_asked;
  inside->is_asked = true;
  return inside->places && !hiaJ_inside_wants(inside);
}

void hiaJ_inside_give_up(hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  pthread_mutex_lock(&s->lock);
  s->inside.is_empty = true;
  pthread_mutex_unlock(&s->lock);
}

void hiaJ_inside_lost(hia_function *f) {
  hia_speculation *s = atomic_load_explicit(&f->speculation, memory_order_acquire);
  pthread_mutex_lock(&s->lock);
  hiaJ_inside_free(&s->inside, &f->module->engine->allocator);
  s->inside.seen = NULL;
  s->inside.places = NULL;
  s->inside.n_points = 0;
  s->inside.is_empty = true;
  pthread_mutex_unlock(&s->lock);
}

/* How often something must have been so: what is seldom is of no use, and not certain. */
static uint64_t least_of(const hia_function *f) {
  const hia_engine *engine = f->module->engine;
  return engine->assume_seed ? 1 : hiaJ_is_eager(f) ? EAGER_LEAST : HIA_OBSERVED_ENOUGH;
}

static bool is_dead(const hia_inside *inside, uint32_t point) {
  for (uint32_t i = 0; i < inside->n_retired && i < HIA_MOST_RETIRED; i++)
    if (inside->dead[i] == point) return true;
  return false;
}

static bool is_fact(const hia_inside *inside, uint32_t i, uint64_t least) {
  const hia_observed *p = &inside->seen[i];
  bool is_exact =
      p->sight == HIA_SIGHT_BOOL || p->sight == HIA_SIGHT_I32 || p->sight == HIA_SIGHT_I64;
  return is_exact && !is_dead(inside, i) && p->n >= least && p->n_changes == 0;
}

bool hiaJ_inside_room(hia_special *x, uint32_t n) {
  const hia_allocator *allocator = &x->function->module->engine->allocator;
  hiaR_free(allocator, x->facts, x->n_facts * sizeof *x->facts);
  x->n_facts = 0;
  x->facts = n ? hiaR_alloc(allocator, n * sizeof *x->facts) : NULL;
  if (x->facts) x->n_facts = n;
  return x->facts || !n;
}

/* Tests: some facts are left out, and some are wrong, so that their guards fail. */
static bool is_left_out(const hia_special *x, uint32_t i, hia_fact *fact) {
  uint32_t seed = x->function->module->engine->assume_seed;
  if (!seed) return false;
  uint64_t random = hiaR_mix(seed, i + 1000);
  if (random >> 1 & 1 && (random >> 2 & 7) == 0) fact->word ^= 1;
  return random & 1;
}

bool hiaJ_inside_assume(hia_special *x) {
  const hia_inside *inside = inside_of(x->function);
  uint64_t least = least_of(x->function);
  uint32_t n = 0;
  hia_inside_fact *all = NULL;
  if (inside->n_retired >= HIA_MOST_RETIRED || inside->is_empty) return hiaJ_inside_room(x, 0);
  for (uint32_t i = 0; i < inside->n_points && n < MOST_FACTS; i++) n += is_fact(inside, i, least);
  if (!hiaJ_inside_room(x, n)) return false;
  all = x->facts;
  n = 0;
  for (uint32_t i = 0; i < inside->n_points && n < x->n_facts; i++) {
    if (!is_fact(inside, i, least)) continue;
    hia_fact fact = {i, inside->seen[i].last};
    if (is_left_out(x, i, &fact)) continue;
    all[n].fact = fact;
    all[n].place = inside->places[i];
    all[n++].n = inside->seen[i].n;
  }
  if (n == x->n_facts) return true;
  /* Some were left out: the others move to a block of their own. */
  hia_special shorter = {.function = x->function};
  if (!hiaJ_inside_room(&shorter, n)) return false;
  if (n) memcpy(shorter.facts, all, n * sizeof *all);
  hiaJ_inside_room(x, 0);
  x->facts = shorter.facts;
  x->n_facts = n;
  return true;
}

bool hiaJ_inside_copy(hia_special *to, const hia_special *from) {
  if (!hiaJ_inside_room(to, from->n_facts)) return false;
  for (uint32_t i = 0; i < from->n_facts; i++) {
    to->facts[i].fact = from->facts[i].fact;
    to->facts[i].place = from->facts[i].place;
    to->facts[i].n = from->facts[i].n;
  }
  return true;
}

bool hiaJ_inside_is_same(const hia_special *a, const hia_special *b) {
  uint32_t n = a ? a->n_facts : 0;
  if (n != b->n_facts) return false;
  for (uint32_t i = 0; i < n; i++)
    if (a->facts[i].fact.point != b->facts[i].fact.point ||
        a->facts[i].fact.word != b->facts[i].fact.word)
      return false;
  return true;
}
