/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hia_function_observe: one run that is observed, and what came to the points of the program. */
#include "jit/versions/speculate.h"
#include <stdio.h>

enum { MOST_VALUES = 1 << 19, MOST_CTORS = 8 };
#define USUAL_NS UINT64_C(20000000)

/* ---- the run ---- */

static const char *cannot(const hia_function *f) {
  if (f->module->engine->options.kind == HIA_ENGINE_JIT) return "the engine has no interpreter";
  if (f->module->engine->options.kind == HIA_ENGINE_EXPAND) return "the engine observes nothing";
  if (!f->module->program) return "the module was read as a graph";
  if (f->loss) return "it computes gradients";
  return f->is_impure ? "it calls impure functions of the host" : NULL;
}

static hia_status ready(hia_function *f, const hia_fn_version **version, hia_error **error) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  const char *why = cannot(f);
  if (why)
    return hiaJ_fail(allocator, error, HIA_UNSUPPORTED, NULL, "runs of `%s` cannot be observed: %s",
                     f->signature, why);
  if (!hiaJ_speculation_of(f)) return hiaR_fail_memory(allocator, error);
  return hiaJ_ready(f, HIA_VERSION_IMAGE | HIA_VERSION_OBSERVED, version, error);
}

/* ---- texts ---- */

typedef struct seeing {
  hia_comp comp; /* of texts */
  const hia_function *function;
  const hia_fn_version *image;
} seeing;

/* NULL: it is NaN. */
static const char *number_text(seeing *s, hia_dtype dtype, hia_word word) {
  char text[64];
  if (dtype == HIA_F32 && hiaR_to_f32(word) != hiaR_to_f32(word)) return NULL;
  if (dtype == HIA_F64 && hiaR_to_f64(word) != hiaR_to_f64(word)) return NULL;
  hiaR_print_word(text, sizeof text, dtype, word);
  return hiaR_arena_printf(&s->comp.arena, "%s", text);
}

static const char *sizes_text(seeing *s, hia_type tensor, const hia_dims *dims) {
  char text[32 + 21 * HIA_MAX_RANK];
  hiaR_shape_describe(hiaG_dtype(&s->image->unit->types, tensor), dims, text, sizeof text);
  return hiaR_arena_printf(&s->comp.arena, "%s", text);
}

static const char *ctors_text(seeing *s, hia_type data, uint64_t ctors) {
  const hia_types *types = &s->image->unit->types;
  const hia_type_table table = hiaG_type_table(types);
  hia_text text;
  uint32_t n = 0;
  hiaR_text_init(&text, &s->comp.arena);
  for (uint32_t i = 0; i < hiaR_type_entry(&table, data)->n && i < HIA_MANY_CTORS; i++) {
    if (!(ctors >> i & 1)) continue;
    if (n == MOST_CTORS) hiaR_text_addf(&text, ", ...");
    if (n++ >= MOST_CTORS) continue;
    hiaR_text_addf(&text, "%s%s", n > 1 ? ", " : "",
                   table.names + hiaR_ctor(&table, data, i)->name);
  }
  return text.len ? text.data : "...";
}

hia_point_of hiaJ_point_of(hia_point_kind kind) {
  static const hia_point_of kinds[] = {[HIA_POINT_PARAM] = HIA_POINT_OF_PARAMETER,
                                       [HIA_POINT_BRANCH] = HIA_POINT_OF_BRANCH,
                                       [HIA_POINT_ROUNDS] = HIA_POINT_OF_LOOP};
  return kinds[kind];
}

static void fill(seeing *s, const hia_point_place *place, const hia_observed *seen,
                 hia_observed_point *out) {
  *out = (hia_observed_point){
      .size = sizeof *out,
      .of = hiaJ_point_of(place->kind),
      .line = place->line,
      .column = place->col,
      .function = place->fn,
      .file = s->function->module->source.name,
      .parameter = place->kind == HIA_POINT_PARAM && place->name[0] ? place->name : NULL,
      .type = place->type_text,
      .times = seen->n,
      .changes = seen->n_changes};
  if (seen->sight == HIA_SIGHT_BOOL) out->times_true = seen->ctors;
  if (place->kind == HIA_POINT_BRANCH && place->name[0]) out->constructors = place->name;
  if (!seen->n) return;
  switch (seen->sight) {
  case HIA_SIGHT_NOTHING:
  case HIA_SIGHT_BOOL: break;
  case HIA_SIGHT_CTOR: out->constructors = ctors_text(s, place->type, seen->ctors); break;
  case HIA_SIGHT_DIMS:
    out->least = sizes_text(s, place->type, &seen->least_dims);
    out->most = sizes_text(s, place->type, &seen->most_dims);
    break;
  default: {
    hia_dtype dtype = seen->sight == HIA_SIGHT_LEN ? HIA_I64 : (hia_dtype)place->type;
    out->least = number_text(s, dtype, seen->least);
    out->most = number_text(s, dtype, seen->most);
  }
  }
}

static hia_status fill_all(seeing *s, const hia_inside *inside, const hia_observer *observer,
                           hia_observed_point *all) {
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(&s->comp)) {
    for (uint32_t i = 0; i < observer->n; i++)
      fill(s, &inside->places[i], &observer->points[i], &all[i]);
  } else {
    status = s->comp.status;
  }
  s->comp.armed = false;
  return status;
}

/* ---- public ---- */

static hia_status show(seeing *s, const hia_inside *inside, const hia_observer *observer,
                       hia_see *see, void *user, hia_error **error) {
  const hia_allocator *allocator = &s->function->module->engine->allocator;
  size_t size = ((size_t)observer->n + 1) * sizeof(hia_observed_point);
  hia_observed_point *all = hiaR_alloc(allocator, size);
  hia_status status = all ? fill_all(s, inside, observer, all) : HIA_MEMORY;
  for (uint32_t i = 0; status == HIA_OK && i < observer->n; i++)
    if (!see(user, &all[i])) break;
  hiaR_free(allocator, all, size);
  return status == HIA_OK ? HIA_OK : hiaR_fail_memory(allocator, error);
}

static hia_status observe(hia_function *f, hia_value *const *args, uint64_t max_ns, hia_see *see,
                          void *user, hia_error **error) {
  const hia_allocator *allocator = &f->module->engine->allocator;
  hia_observing o = {.most_ns = max_ns ? max_ns : USUAL_NS, .is_all = true};
  hia_status status = ready(f, &o.version, error);
  if (status != HIA_OK) return status;
  /* Constant once there is an image. */
  const hia_inside *inside = &atomic_load_explicit(&f->speculation, memory_order_acquire)->inside;
  size_t size = ((size_t)inside->n_points + 1) * sizeof(hia_observed);
  o.observer = (hia_observer){
      .points = hiaR_alloc(allocator, size), .n = inside->n_points, .left = MOST_VALUES};
  if (!o.observer.points) return hiaR_fail_memory(allocator, error);
  for (uint32_t i = 0; i < o.observer.n; i++) o.observer.points[i].sight = inside->places[i].sight;
  status = hiaJ_run_observed(&o, f, args, error);
  if (status == HIA_OK) {
    seeing s = {.function = f, .image = o.version};
    hiaR_comp_init(&s.comp, allocator);
    status = show(&s, inside, &o.observer, see, user, error);
    hiaR_comp_free(&s.comp);
  }
  hiaR_free(allocator, o.observer.points, size);
  return status;
}

hia_status hia_function_observe(hia_function *f, hia_value *const *args, size_t n, uint64_t max_ns,
                                hia_see *see, void *user, hia_error **error) {
  hia_function *instance;
  hia_status status = hia_function_instance(f, args, n, &instance, error);
  if (status != HIA_OK) return status;
  if (!see)
    return hiaJ_fail(&f->module->engine->allocator, error, HIA_ARGUMENT, NULL, "no see function");
  hia_module *module = instance->module;
  hiaJ_module_keep(module);
  status = observe(instance, args, max_ns, see, user, error);
  hiaJ_module_release(module);
  return status;
}
