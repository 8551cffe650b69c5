/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Makes a failing program smaller.
 *
 * Every attempt is a copy of the program with one change in one place: an expression becomes a
 * literal or one of its parts; a let, an arm, a parameter, a function or a data type is removed; an
 * argument becomes smaller. Changes after which the program is ill-scoped or ill-typed are dropped;
 * the others are kept if the program still fails. Nothing is undone, so the smallest program so far
 * is always a complete one. */
#include "tests/diff/program.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- copies ---- */

static gen_var *copy_var(gen_pool *pool, gen_var *v) {
  if (!v) return NULL;
  v->copy = GEN_NEW(pool, gen_var);
  *v->copy = *v;
  return v->copy;
}

static gen_pattern copy_pattern(gen_pool *pool, const gen_pattern *pattern) {
  gen_pattern c = *pattern;
  c.var = copy_var(pool, pattern->var);
  if (pattern->n) c.parts = GEN_NEW_ARRAY(pool, gen_pattern, pattern->n);
  for (uint32_t i = 0; i < pattern->n; i++) c.parts[i] = copy_pattern(pool, &pattern->parts[i]);
  return c;
}

static gen_binder copy_binder(gen_pool *pool, const gen_binder *b) {
  gen_binder c = *b;
  c.var = copy_var(pool, b->var);
  if (b->n) c.parts = GEN_NEW_ARRAY(pool, gen_binder, b->n);
  for (uint32_t i = 0; i < b->n; i++) c.parts[i] = copy_binder(pool, &b->parts[i]);
  return c;
}

/* Binders come before the uses of their variables, so v->copy is set when a use is copied. */
static gen_expr *copy_expr(gen_program *to, gen_program *from, const gen_expr *e) {
  gen_expr *c = GEN_NEW(&to->pool, gen_expr);
  *c = *e;
  c->kids = e->n ? GEN_NEW_ARRAY(&to->pool, gen_expr *, e->n) : NULL;
  switch ((gen_kind)e->kind) {
  case GEN_VAR: c->as.var = e->as.var->copy; break;
  case GEN_CONST: c->as.constant = &to->consts[e->as.constant - from->consts]; break;
  case GEN_CALL: c->as.fn = e->as.fn->copy; break;
  case GEN_BLOCK:
    c->as.lets = GEN_NEW_ARRAY(&to->pool, gen_let, e->n);
    for (uint32_t i = 0; i + 1 < e->n; i++) {
      c->kids[i] = copy_expr(to, from, e->kids[i]);
      c->as.lets[i] = e->as.lets[i];
      c->as.lets[i].binder = copy_binder(&to->pool, &e->as.lets[i].binder);
    }
    c->kids[e->n - 1] = copy_expr(to, from, e->kids[e->n - 1]);
    return c;
  case GEN_LOOP:
    c->as.vars = GEN_NEW_ARRAY(&to->pool, gen_var *, e->n);
    for (uint32_t i = 0; i + 2 < e->n; i++) c->as.vars[i] = copy_var(&to->pool, e->as.vars[i]);
    break;
  case GEN_MATCH:
    c->as.arms = GEN_NEW_ARRAY(&to->pool, gen_pattern, e->n);
    for (uint32_t i = 0; i + 1 < e->n; i++) c->as.arms[i] = copy_pattern(&to->pool, &e->as.arms[i]);
    break;
  case GEN_COMP:
    c->as.vars = GEN_NEW_ARRAY(&to->pool, gen_var *, 1);
    c->as.vars[0] = copy_var(&to->pool, e->as.vars[0]);
    break;
  default: break;
  }
  for (uint32_t i = 0; i < e->n; i++) c->kids[i] = copy_expr(to, from, e->kids[i]);
  return c;
}

static gen_program *copy_program(gen_program *p) {
  gen_program *q = calloc(1, sizeof *q);
  if (!q) exit(2);
  *q = *p;
  q->pool = q->values = (gen_pool){0};
  for (uint32_t i = 0; i < p->n_datas; i++) {
    gen_data *data = &q->datas[i];
    data->cons = GEN_NEW_ARRAY(&q->pool, gen_con, data->n_cons);
    for (uint32_t c = 0; c < data->n_cons; c++) {
      data->cons[c] = p->datas[i].cons[c];
      data->cons[c].fields = GEN_NEW_ARRAY(&q->pool, gen_type, data->cons[c].n + 1);
      memcpy(data->cons[c].fields, p->datas[i].cons[c].fields, data->cons[c].n * sizeof(gen_type));
    }
  }
  uint64_t *words = q->args;
  for (uint32_t i = 0; i < gen_main(p)->n_params; i++) {
    gen_copy_value(q, &q->pool, gen_main(p)->params[i]->type, words);
    words += gen_words(p, gen_main(p)->params[i]->type);
  }
  q->arg_text = (gen_text){0};
  gen_text_add(&q->arg_text, "%s", p->arg_text.data ? p->arg_text.data : "");
  for (uint32_t i = 0; i < p->n_consts; i++)
    q->consts[i].value = copy_expr(q, p, p->consts[i].value);
  for (uint32_t i = 0; i < p->n_fns; i++) {
    q->fns[i] = p->fns[i]->copy = GEN_NEW(&q->pool, gen_fn);
    *q->fns[i] = *p->fns[i];
    for (uint32_t k = 0; k < p->fns[i]->n_params; k++)
      q->fns[i]->params[k] = copy_var(&q->pool, p->fns[i]->params[k]);
    if (p->fns[i]->fuel) q->fns[i]->fuel = p->fns[i]->fuel->copy;
    if (p->fns[i]->subject) q->fns[i]->subject = p->fns[i]->subject->copy;
    if (p->fns[i]->x_param) q->fns[i]->x_param = p->fns[i]->x_param->copy;
  }
  for (uint32_t i = 0; i < p->n_fns; i++) q->fns[i]->body = copy_expr(q, p, p->fns[i]->body);
  return q;
}

/* ---- scopes ---- */

#define MAX_VISIBLE 256
typedef struct scope {
  const gen_var *vars[MAX_VISIBLE];
  uint32_t n;
} scope;

static bool is_visible(const scope *s, const gen_var *v) {
  for (uint32_t i = s->n; i-- > 0;) {
    if (s->vars[i] == v) return true;
    if (!strcmp(s->vars[i]->name, v->name)) return false;
  }
  return false;
}

static bool enter(scope *s, const gen_var *v) {
  if (!v || v->dropped) return true;
  if (s->n == MAX_VISIBLE) return false;
  s->vars[s->n++] = v;
  return true;
}

static bool enter_binder(scope *s, const gen_binder *b) {
  if (!enter(s, b->var)) return false;
  for (uint32_t i = 0; i < b->n; i++)
    if (!enter_binder(s, &b->parts[i])) return false;
  return true;
}

static bool enter_pattern(scope *s, const gen_pattern *pattern) {
  if (!enter(s, pattern->var)) return false;
  for (uint32_t i = 0; i < pattern->n; i++)
    if (!enter_pattern(s, &pattern->parts[i])) return false;
  return true;
}

static bool in_scope(scope *s, const gen_expr *e) {
  uint32_t mark = s->n;
  switch ((gen_kind)e->kind) {
  case GEN_VAR: return is_visible(s, e->as.var);
  case GEN_CONST: return !e->as.constant->removed;
  case GEN_CALL:
    for (uint32_t i = 0; i < e->n; i++)
      if (!e->as.fn->params[i]->dropped && !in_scope(s, e->kids[i])) return false;
    return !e->as.fn->removed;
  case GEN_BLOCK:
    for (uint32_t i = 0; i < e->n; i++)
      if (!in_scope(s, e->kids[i]) || (i + 1 < e->n && !enter_binder(s, &e->as.lets[i].binder)))
        return false;
    break;
  case GEN_LOOP:
    for (uint32_t i = 0; i + 2 < e->n; i++)
      if (!in_scope(s, e->kids[i])) return false;
    for (uint32_t i = 0; i + 2 < e->n; i++)
      if (!enter(s, e->as.vars[i])) return false;
    if (!in_scope(s, e->kids[e->n - 2]) || !in_scope(s, e->kids[e->n - 1])) return false;
    break;
  case GEN_MATCH:
    if (!in_scope(s, e->kids[0])) return false;
    for (uint32_t i = 1; i < e->n; i++) {
      s->n = mark;
      if (!enter_pattern(s, &e->as.arms[i - 1]) || !in_scope(s, e->kids[i])) return false;
    }
    break;
  case GEN_COMP:
    for (uint32_t i = 0; i + 1 < e->n; i++)
      if (!in_scope(s, e->kids[i])) return false;
    if (!enter(s, e->as.vars[0]) || !in_scope(s, e->kids[e->n - 1])) return false;
    break;
  default:
    for (uint32_t i = 0; i < e->n; i++)
      if (!in_scope(s, e->kids[i])) return false;
  }
  s->n = mark;
  return true;
}

static bool is_well_scoped(const gen_program *p) {
  for (uint32_t i = 0; i < p->n_fns; i++) {
    scope s = {.n = 0};
    if (p->fns[i]->removed) continue;
    for (uint32_t k = 0; k < p->fns[i]->n_params; k++) enter(&s, p->fns[i]->params[k]);
    if (!in_scope(&s, p->fns[i]->body)) return false;
  }
  return true;
}

/* ---- data types ---- */

static bool type_has(const gen_program *p, gen_type t, gen_type data) {
  if (gen_is_array(t)) return type_has(p, gen_element_of(p, t), data);
  for (uint32_t i = 0; gen_is_tuple(t) && i < gen_tuple_of(p, t)->n; i++)
    if (type_has(p, gen_tuple_of(p, t)->parts[i], data)) return true;
  return t == data;
}

static bool pattern_has(const gen_program *p, const gen_pattern *pattern, gen_type data) {
  if (type_has(p, pattern->type, data)) return true;
  for (uint32_t i = 0; i < pattern->n; i++)
    if (pattern_has(p, &pattern->parts[i], data)) return true;
  return false;
}

static bool expr_has(const gen_program *p, const gen_expr *e, gen_type data) {
  if (type_has(p, e->type, data)) return true;
  for (uint32_t i = 0; e->kind == GEN_MATCH && i + 1 < e->n; i++)
    if (pattern_has(p, &e->as.arms[i], data)) return true;
  for (uint32_t i = 0; i < e->n; i++)
    if ((e->kind != GEN_CALL || !e->as.fn->params[i]->dropped) && expr_has(p, e->kids[i], data))
      return true;
  return false;
}

/* True if nothing refers to the data type, except perhaps itself. */
static bool is_unused(const gen_program *p, gen_type data) {
  for (uint32_t i = 0; i < p->n_datas; i++)
    for (uint32_t c = 0; !p->datas[i].removed && c < p->datas[i].n_cons; c++)
      for (uint32_t k = 0; k < p->datas[i].cons[c].n; k++)
        if (GEN_FIRST_DATA + i != data && type_has(p, p->datas[i].cons[c].fields[k], data))
          return false;
  for (uint32_t i = 0; i < p->n_fns; i++) {
    const gen_fn *fn = p->fns[i];
    if (fn->removed) continue;
    for (uint32_t k = 0; k < fn->n_params; k++)
      if (!fn->params[k]->dropped && type_has(p, fn->params[k]->type, data)) return false;
    if (expr_has(p, fn->body, data)) return false;
  }
  return true;
}

/* ---- arguments ---- */

/* Makes reference number *left inside a value smaller: one change of two. False if there is no such
 * reference, or change. */
static bool reduce(gen_program *p, gen_type t, uint64_t *words, uint32_t *left, uint32_t which) {
  if (gen_is_tuple(t)) {
    for (uint32_t i = 0; i < gen_tuple_of(p, t)->n; i++) {
      if (reduce(p, gen_tuple_of(p, t)->parts[i], words, left, which)) return true;
      words += gen_words(p, gen_tuple_of(p, t)->parts[i]);
    }
    return false;
  }
  if (!gen_is_array(t) && !gen_is_data(t)) return false;
  gen_object *o = (gen_object *)(uintptr_t)*words;
  bool is_here = (*left)-- == 0;
  if (gen_is_array(t)) {
    gen_type element = gen_element_of(p, t);
    uint32_t w = gen_words(p, element);
    if (is_here && o->n) { /* without the first or the last elements */
      uint64_t n = o->n / 2;
      *words = gen_new_array(p, &p->pool, t, n, o->words + (which ? (o->n - n) * w : 0));
    }
    for (uint64_t i = 0; !is_here && i < o->n; i++)
      if (reduce(p, element, o->words + i * w, left, which)) return true;
    return is_here && o->n;
  }
  const gen_con *con = &gen_data_of(p, t)->cons[o->con];
  uint64_t *field = o->words;
  for (uint32_t i = 0; i < con->n; field += gen_words(p, con->fields[i++])) {
    if (is_here && con->fields[i] == t && which-- == 0) {
      *words = *field;
      return true;
    }
    if (!is_here && reduce(p, con->fields[i], field, left, which)) return true;
  }
  return false;
}

static uint64_t size_of_args(const gen_program *p) {
  const gen_fn *fn = gen_main(p);
  const uint64_t *words = p->args;
  uint64_t size = 0;
  for (uint32_t i = 0; i < fn->n_params; i++) {
    size += gen_value_size(p, fn->params[i]->type, words);
    words += gen_words(p, fn->params[i]->type);
  }
  return size;
}

/* ---- changes ---- */

typedef struct walk {
  gen_program *p;
  gen_fn *fn;
  uint32_t left;  /* expressions before the one that is changed */
  uint32_t which; /* the number of the change */
  bool is_done;
} walk;

static gen_expr *plain(walk *w, gen_type type, uint32_t value) {
  gen_expr *e = GEN_NEW(&w->p->pool, gen_expr);
  e->type = type;
  if (gen_is_tuple(type)) {
    e->kind = GEN_TUPLE;
    e->n = gen_tuple_of(w->p, type)->n;
    e->kids = GEN_NEW_ARRAY(&w->p->pool, gen_expr *, e->n);
    for (uint32_t i = 0; i < e->n; i++)
      e->kids[i] = plain(w, gen_tuple_of(w->p, type)->parts[i], value);
  } else if (gen_is_array(type)) {
    e->kind = GEN_ARRAY;
    e->n = 1;
    e->kids = GEN_NEW_ARRAY(&w->p->pool, gen_expr *, 1);
    e->kids[0] = plain(w, gen_element_of(w->p, type), value);
  } else if (gen_is_data(type)) {
    const gen_data *data = gen_data_of(w->p, type);
    e->kind = GEN_DATA;
    e->con = data->base;
    e->n = data->cons[data->base].n;
    e->kids = GEN_NEW_ARRAY(&w->p->pool, gen_expr *, e->n + 1);
    for (uint32_t i = 0; i < e->n; i++)
      e->kids[i] = plain(w, data->cons[data->base].fields[i], value);
  } else if (type == GEN_X) {
    e->kind = GEN_VAR;
    e->as.var = w->fn->x_param;
  } else if (type == GEN_BOOL) {
    e->kind = GEN_TRUTH;
    e->truth = value != 0;
  } else {
    e->kind = GEN_LIT;
    e->bare = true;
    snprintf(e->as.digits, sizeof e->as.digits, "%u", value);
  }
  return e;
}

static bool is_plain(const gen_expr *e) {
  return e->kind == GEN_LIT || e->kind == GEN_TRUTH || e->kind == GEN_VAR;
}

/* Removes a kid, with its let or arm. */
static void without(walk *w, gen_expr *e, uint32_t kid, uint32_t entry) {
  gen_expr **kids = GEN_NEW_ARRAY(&w->p->pool, gen_expr *, e->n);
  for (uint32_t i = 0, k = 0; i < e->n; i++)
    if (i != kid) kids[k++] = e->kids[i];
  if (e->kind == GEN_BLOCK)
    memmove(e->as.lets + entry, e->as.lets + entry + 1, (e->n - 2 - entry) * sizeof *e->as.lets);
  else
    memmove(e->as.arms + entry, e->as.arms + entry + 1, (e->n - 2 - entry) * sizeof *e->as.arms);
  e->kids = kids;
  e->n--;
}

/* Applies change number w->which to e. False if there is no such change. */
static bool change(walk *w, gen_expr *e) {
  uint32_t v = w->which;
  if (v < 2) {
    if (e->kind == GEN_TRUTH || (e->kind == GEN_LIT && (v == 1 || !strcmp(e->as.digits, "0"))))
      return v == 0 && e->kind == GEN_LIT && (e->negative || e->parens)
                 ? (e->negative = e->parens = false, true)
                 : false;
    if (e->kind == GEN_VAR && e->type == GEN_X) return false;
    *e = *plain(w, e->type, v);
    return true;
  }
  v -= 2;
  if (v < e->n) { /* one of its parts */
    if (e->kind == GEN_CONST || e->kids[v]->type != e->type) return false;
    *e = *e->kids[v];
    return true;
  }
  v -= e->n;
  if (e->kind == GEN_BLOCK && v + 1 < e->n) {
    if (e->n == 2) return false; /* the last let can only be removed with the block */
    without(w, e, v, v);
    return true;
  }
  if (e->kind == GEN_MATCH && v + 2 < e->n) {
    const gen_pattern *last = &e->as.arms[e->n - 2];
    if (!last->any && !last->var) return false; /* it would not cover every case */
    without(w, e, v + 1, v);
    return true;
  }
  if (v == 0 && e->parens) {
    e->parens = false;
    return true;
  }
  return false;
}

static uint32_t n_changes(const gen_expr *e) { return is_plain(e) ? 3 : 2 + 2 * e->n; }

static void visit(walk *w, gen_expr *e) {
  if (w->is_done) return;
  if (w->left-- == 0) {
    w->is_done = true;
    if (w->which >= n_changes(e) || !change(w, e)) w->p = NULL;
    return;
  }
  if (e->kind == GEN_CONST) return; /* its expression is shared */
  for (uint32_t i = 0; i < e->n && !w->is_done; i++) visit(w, e->kids[i]);
}

static uint32_t count(const gen_expr *e) {
  uint32_t n = 1;
  if (e->kind == GEN_CONST) return n;
  for (uint32_t i = 0; i < e->n; i++) n += count(e->kids[i]);
  return n;
}

/* Every change that is kept makes this smaller, so their number is finite. */
static uint32_t weight_of(const gen_expr *e) {
  uint32_t n = e->parens ? 5 : 4;
  switch ((gen_kind)e->kind) {
  case GEN_TRUTH: return n - 1;
  case GEN_LIT:
    if (!strcmp(e->as.digits, "0")) return n - 3 + e->negative;
    return !strcmp(e->as.digits, "1") ? n - 2 + e->negative : n;
  case GEN_CONST: return n + 1;
  default: break;
  }
  for (uint32_t i = 0; i < e->n; i++)
    if (e->kind != GEN_CALL || !e->as.fn->params[i]->dropped) n += weight_of(e->kids[i]);
  return n;
}

static uint32_t weight(const gen_program *p) {
  uint32_t n = (uint32_t)size_of_args(p);
  for (uint32_t i = 0; i < p->n_datas; i++) n += !p->datas[i].removed;
  for (uint32_t i = 0; i < p->n_consts; i++) n += !p->consts[i].removed;
  for (uint32_t i = 0; i < p->n_fns; i++) {
    if (p->fns[i]->removed) continue;
    n += 10 + weight_of(p->fns[i]->body);
    for (uint32_t k = 0; k < p->fns[i]->n_params; k++) n += !p->fns[i]->params[k]->dropped;
  }
  return n;
}

typedef struct shrink {
  gen_program *p;
  bool (*fails)(void *user, gen_program *p);
  void *user;
  uint32_t tries;
  gen_outcome *outcome;
} shrink;

/* Keeps the changed copy if it is a program and still fails. */
static bool keep(shrink *s, gen_program *q) {
  if (s->tries > 0 && weight(q) < weight(s->p) && is_well_scoped(q) && !gen_settle(q)) {
    gen_text text = {0};
    gen_print(q, &text);
    gen_text_free(&text);
    gen_eval(q, 100000, NULL, s->outcome);
    if (s->outcome->end != GEN_TOO_LONG) {
      s->tries--;
      if (s->fails(s->user, q)) {
        gen_free(s->p);
        s->p = q;
        return true;
      }
    }
  }
  gen_free(q);
  return false;
}

static bool drop_functions(shrink *s) {
  bool any = false;
  for (uint32_t i = 0; i + 1 < s->p->n_fns; i++) {
    if (s->p->fns[i]->removed) continue;
    gen_program *q = copy_program(s->p);
    q->fns[i]->removed = true;
    any |= keep(s, q);
  }
  for (uint32_t i = 0; i < s->p->n_consts; i++) {
    if (s->p->consts[i].removed) continue;
    gen_program *q = copy_program(s->p);
    q->consts[i].removed = true;
    any |= keep(s, q);
  }
  for (uint32_t i = 0; i < s->p->n_datas; i++) {
    if (s->p->datas[i].removed || !is_unused(s->p, GEN_FIRST_DATA + i)) continue;
    gen_program *q = copy_program(s->p);
    q->datas[i].removed = true;
    any |= keep(s, q);
  }
  return any;
}

static bool shrink_args(shrink *s) {
  bool any = false;
  for (uint32_t at = 0; at < size_of_args(s->p) && s->tries; at++)
    for (uint32_t which = 0; which < 2; which++) {
      gen_program *q = copy_program(s->p);
      /* The copy of the changed value has the new size. */
      uint64_t *words = q->args;
      uint32_t left = at;
      bool is_change = false;
      for (uint32_t i = 0; i < gen_main(q)->n_params && !is_change; i++) {
        gen_type t = gen_main(q)->params[i]->type;
        is_change = reduce(q, t, words, &left, which);
        if (is_change) gen_copy_value(q, &q->pool, t, words);
        words += gen_words(q, t);
      }
      if (is_change)
        any |= keep(s, q);
      else
        gen_free(q);
    }
  return any;
}

static bool drop_params(shrink *s) {
  bool any = false;
  for (uint32_t i = 0; i + 1 < s->p->n_fns; i++)
    for (uint32_t k = 0; k < s->p->fns[i]->n_params; k++) {
      const gen_fn *fn = s->p->fns[i];
      if (fn->removed || fn->params[k]->dropped || fn->params[k] == fn->x_param) continue;
      gen_program *q = copy_program(s->p);
      q->fns[i]->params[k]->dropped = true;
      any |= keep(s, q);
    }
  return any;
}

static bool shrink_body(shrink *s, uint32_t f) {
  bool any = false;
  /* From the outside in: the outermost changes remove the most. */
  for (uint32_t at = 0; !s->p->fns[f]->removed && at < count(s->p->fns[f]->body); at++)
    for (uint32_t which = 0; which < 16 && s->tries;) {
      gen_program *q = copy_program(s->p);
      walk w = {.p = q, .fn = q->fns[f], .left = at, .which = which};
      visit(&w, q->fns[f]->body);
      bool is_change = w.is_done && w.p;
      if (!is_change) gen_free(q);
      if (is_change && keep(s, q)) {
        any = true;
        which = 0; /* there is another expression here now */
      } else {
        which++;
      }
    }
  return any;
}

gen_program *gen_shrink(gen_program *p, bool (*fails)(void *user, gen_program *p), void *user,
                        uint32_t tries) {
  shrink s = {.p = p, .fails = fails, .user = user, .tries = tries};
  s.outcome = malloc(sizeof *s.outcome);
  if (!s.outcome) exit(2);
  for (bool again = true; again && s.tries;) {
    again = drop_functions(&s);
    for (uint32_t f = s.p->n_fns; f-- > 0;) {
      if (!shrink_body(&s, f)) continue;
      again = true;
      drop_functions(&s); /* callees come before their callers, and many may be unused now */
    }
    again |= drop_params(&s);
    again |= shrink_args(&s);
  }
  free(s.outcome);
  return s.p;
}
