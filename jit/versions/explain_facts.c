/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is known of a function's versions, copied. */
#include "jit/versions/explain.h"
#include "runtime/value/value.h"
#include <stdio.h>

enum { MOST_BYTES = 60 }; /* of a value that is shown */

/* ---- names and types of words ---- */

static void name_words(hia_told *t, const hia_type_info *type, const char *name, uint32_t *at) {
  size_t n = hia_type_info_len(type);
  if (n == 0) {
    t->types[*at] = type;
    t->names[(*at)++] = name;
  }
  for (size_t i = 0; i < n; i++)
    name_words(t, hia_type_info_part(type, i), hiaR_arena_printf(&t->comp.arena, "%s.%zu", name, i),
               at);
}

static void name_all(hia_told *t) {
  const hia_function *f = t->function;
  hia_arena *arena = &t->comp.arena;
  uint32_t at = 0;
  t->types = HIA_NEW_ARRAY(arena, const hia_type_info *, f->n_param_words + 1);
  t->names = HIA_NEW_ARRAY(arena, const char *, f->n_param_words + 1);
  for (uint32_t i = 0; i < f->arity; i++) {
    const char *name = f->params[i].name;
    if (!name) name = hiaR_arena_printf(arena, "argument %u", i + 1);
    name_words(t, f->params[i].info, name, &at);
  }
}

/* ---- values ---- */

typedef struct short_text {
  char bytes[MOST_BYTES + 8];
  size_t len;
} short_text;

/* Throws nothing, since what prints could not free its memory. */
static bool take(void *user, const char *bytes, size_t n) {
  short_text *text = user;
  if (n > sizeof text->bytes - text->len) n = sizeof text->bytes - text->len;
  memcpy(text->bytes + text->len, bytes, n);
  text->len += n;
  return true;
}

static const char *value_text(hia_told *t, const hia_type_info *type, hia_word word) {
  short_text text = {.len = 0};
  const hia_sink sink = {take, &text};
  if (hiaR_value_print(&type->types->table, type->type, &word, t->comp.arena.allocator, MOST_BYTES,
                       &sink, NULL) == HIA_MEMORY)
    hiaR_throw(&t->comp, HIA_MEMORY, "out of memory: printing a value");
  return hiaR_arena_strndup(&t->comp.arena, text.bytes, text.len);
}

static const char *sizes_text(hia_told *t, const hia_type_info *type, const hia_dims *dims) {
  char text[32 + 21 * HIA_MAX_RANK];
  hia_dtype dtype;
  hia_type_info_dtype(hia_type_info_element(type), &dtype);
  hiaR_shape_describe(dtype, dims, text, sizeof text);
  return hiaR_arena_printf(&t->comp.arena, "%s", text);
}

/* ---- words ---- */

/* An object is shown only if a version holds it: others may have been freed. */
static void show(hia_told *t, hia_told_word *w, uint32_t i, hia_word word, const hia_dims *dims) {
  hia_assumption_kind kind = w->kind == HIA_ASSUME_NOTHING ? w->asked : w->kind;
  if (kind == HIA_ASSUME_WORD || kind == HIA_ASSUME_THIS)
    w->what = value_text(t, t->types[i], word);
  else if (kind != HIA_ASSUME_NOTHING)
    w->what = sizes_text(t, t->types[i], dims);
}

/* While it is being made, kinds may change, and evidence is added. */
static void fill_words(hia_told *t, hia_told_version *v, const hia_special *x) {
  uint32_t n = t->function->n_param_words;
  v->words = HIA_NEW_ARRAY(&t->comp.arena, hia_told_word, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    hia_told_word *w = &v->words[i];
    bool is_making = x->outcome == HIA_SPECIAL_MAKING;
    w->asked = x->of[i].asked;
    w->kind = is_making ? w->asked : x->of[i].kind;
    w->evidence.why = x->evidence[i].why;
    w->evidence.n = x->evidence[i].n;
    if (!is_making) w->evidence.taken_back = x->evidence[i].taken_back;
    show(t, w, i, x->of[i].word, &x->of[i].dims);
  }
}

static void show_range(hia_told *t, hia_told_word *w, uint32_t i, const hia_observed *range) {
  hia_type_kind kind = hia_type_info_kind(t->types[i]);
  if (kind == HIA_KIND_SCALAR && range->sight != HIA_SIGHT_BOOL) {
    w->least = value_text(t, t->types[i], range->least);
    w->most = value_text(t, t->types[i], range->most);
  } else if (kind == HIA_KIND_TENSOR) {
    w->least = sizes_text(t, t->types[i], &range->least_dims);
    w->most = sizes_text(t, t->types[i], &range->most_dims);
  }
}

static void fill_looks(hia_told *t, const hia_speculation *s) {
  uint32_t n = t->function->n_param_words;
  t->words = HIA_NEW_ARRAY(&t->comp.arena, hia_told_word, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    hia_told_word *w = &t->words[i];
    hia_type_kind kind = hia_type_info_kind(t->types[i]);
    w->evidence = hiaJ_evidence(s, t->function, i, kind);
    w->kind = w->evidence.why == HIA_WHY_SEEN   ? HIA_ASSUME_THIS
              : w->evidence.why != HIA_WHY_SAME ? HIA_ASSUME_NOTHING
              : kind == HIA_KIND_SCALAR         ? HIA_ASSUME_WORD
                                                : HIA_ASSUME_SIZES;
    w->asked = w->kind;
    show_range(t, w, i, &s->seen[i].range);
    if (w->kind != HIA_ASSUME_THIS) show(t, w, i, s->seen[i].word, &s->seen[i].dims);
  }
}

/* ---- what is assumed inside ---- */

static const char *place_text(hia_told *t, const hia_point_place *p) {
  hia_arena *arena = &t->comp.arena;
  const char *in = p->fn[0] ? hiaR_arena_printf(arena, " in `%s`", p->fn) : "";
  if (p->kind == HIA_POINT_PARAM) {
    const char *of = p->fn[0]
                         ? hiaR_arena_printf(arena, " of `%s`", p->fn)
                         : hiaR_arena_printf(arena, " of the function at %u:%u", p->line, p->col);
    return p->name[0] ? hiaR_arena_printf(arena, "`%s`%s", p->name, of)
                      : hiaR_arena_printf(arena, "parameter %u%s", p->param + 1, of);
  }
  if (p->kind == HIA_POINT_BRANCH && p->name[0])
    return hiaR_arena_printf(arena, "that it is %s at %u:%u%s", p->name, p->line, p->col, in);
  return hiaR_arena_printf(arena, "the %s at %u:%u%s",
                           p->kind == HIA_POINT_BRANCH ? "condition" : "loop", p->line, p->col, in);
}

static const char *number_text(hia_told *t, const hia_point_place *p, hia_word word) {
  if (p->sight == HIA_SIGHT_BOOL) return word ? "true" : "false";
  return hiaR_arena_printf(&t->comp.arena, "%lld", (long long)hiaR_to_i64(word));
}

static const char *fact_text(hia_told *t, const hia_told_fact *f) {
  switch (f->place.kind) {
  case HIA_POINT_BRANCH: return hiaR_arena_printf(&t->comp.arena, "is always %s", f->is);
  case HIA_POINT_PARAM: return hiaR_arena_printf(&t->comp.arena, "is %s", f->is);
  default:
    return hiaR_arena_printf(&t->comp.arena, "has %s round%s", f->is,
                             strcmp(f->is, "1") == 0 ? "" : "s");
  }
}

static void fill_inside(hia_told *t, hia_told_version *v, const hia_special *x) {
  v->facts = HIA_NEW_ARRAY(&t->comp.arena, hia_told_fact, x->n_facts + 1);
  for (uint32_t i = 0; i < x->n_facts; i++) {
    const hia_inside_fact *of = &x->facts[i];
    if (!of->is_used) continue;
    hia_told_fact *f = &v->facts[v->n_facts++];
    f->place = of->place;
    f->n = of->n;
    f->n_failed = atomic_load_explicit(&of->n_failed, memory_order_relaxed);
    f->where = place_text(t, &of->place);
    f->is = number_text(t, &of->place, of->fact.word);
    f->what = fact_text(t, f);
  }
}

/* ---- versions ---- */

static const char *misfit_text(hia_told *t, const hia_special *x) {
  const hia_misfit_run *m = &x->misfit;
  const hia_type_info *type = t->types[m->at];
  hia_type_kind kind = hia_type_info_kind(type);
  if (kind == HIA_KIND_TENSOR) {
    const char *sizes = sizes_text(t, type, &m->dims);
    bool has_sizes = memcmp(&m->dims, &x->of[m->at].dims, sizeof m->dims) == 0;
    return !has_sizes
               ? sizes
               : hiaR_arena_printf(&t->comp.arena,
                                   "%s with elements that do not lie as those of a param", sizes);
  }
  if (kind != HIA_KIND_SCALAR && m->word >= HIA_FIRST_ADDRESS) return "another object";
  return value_text(t, type, m->word);
}

static void fill_version(hia_told *t, const hia_speculation *s, uint32_t k) {
  const hia_special *x = &s->specials[k];
  hia_told_version *v = &t->versions[k];
  v->number = k + 1;
  v->outcome = x->outcome;
  v->is_narrow = x->is_narrow;
  v->is_retired = atomic_load_explicit(&x->is_retired, memory_order_relaxed);
  v->n_used = atomic_load_explicit(&s->n_used[k + 1], memory_order_relaxed);
  v->timed.ns = atomic_load_explicit(&x->timed_ns, memory_order_relaxed);
  v->timed.n = atomic_load_explicit(&x->n_timed, memory_order_relaxed);
  if (x->outcome != HIA_SPECIAL_MAKING) fill_inside(t, v, x);
  if (x->outcome >= HIA_SPECIAL_LEFT) return; /* what it held may be gone */
  fill_words(t, v, x);
  if (x->outcome == HIA_SPECIAL_FAILED)
    v->reason = hiaR_arena_printf(&t->comp.arena, "%s", x->reason);
  if (x->outcome != HIA_SPECIAL_MADE) return;
  v->made_after = x->made_after;
  v->compile_ns = x->compile_ns;
  uint64_t n_unfit = hiaJ_special_unfit(s, k); /* runs of versions that have left are not in it */
  if (!v->is_retired && n_unfit > x->unfit_before) v->n_unfit = n_unfit - x->unfit_before;
  v->misfit = x->misfit;
  if (x->misfit.n) v->misfit_what = misfit_text(t, x);
}

static hia_hindrance hindrance(const hia_told *t, const hia_speculation *s) {
  hia_hindrance never = hiaJ_cannot_speculate(t->function);
  if (never != HIA_HINDRANCE_NONE) return never;
  if (!s) return HIA_HINDRANCE_NO_LOOK;
  if (s->is_making) return HIA_HINDRANCE_MAKING;
  return hiaJ_special_has_room(s) ? s->hindrance : HIA_HINDRANCE_FULL;
}

void hiaJ_told_fill(hia_told *t, const hia_speculation *s) {
  const hia_function *f = t->function;
  name_all(t);
  t->n_runs = t->n_general = atomic_load_explicit(&f->n_runs, memory_order_relaxed);
  t->steady = hiaJ_steady(f);
  if (s) {
    t->n_looks = s->n_looks;
    t->native = s->native;
    t->interpreted = s->interpreted;
    t->observed = (hia_timed){s->inside.n_runs, s->inside.ns};
    t->runs_ns = s->runs_ns;
    t->compile_ns = s->compile_ns;
    t->n_versions = atomic_load_explicit(&s->n_made, memory_order_relaxed);
    t->versions = HIA_NEW_ARRAY(&t->comp.arena, hia_told_version, t->n_versions + 1);
    for (uint32_t k = 0; k < t->n_versions; k++) fill_version(t, s, k);
    for (uint32_t k = 0; k < t->n_versions; k++)
      t->n_general -= t->versions[k].n_used < t->n_general ? t->versions[k].n_used : t->n_general;
    t->n_general -= s->n_used_gone < t->n_general ? s->n_used_gone : t->n_general;
    if (s->n_looks) fill_looks(t, s);
  }
  t->hindrance = hindrance(t, s);
}
