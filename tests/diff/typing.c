/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules of docs/language.md, "Typing of literals", for a generated program.
 *
 * The generator has chosen the type that every expression is meant to have. This file computes the
 * type that the rules give it, with its literals as they are, and adds a suffix, an annotation or a
 * result type where the two differ. So programs have no more suffixes than necessary, and a
 * compiler that types a literal otherwise rejects them or computes something else.
 *
 * A generic function is typed once, with X as one more dtype. That is slightly stricter than typing
 * its instances, so every program that is valid here is valid in the language. */
#include "tests/diff/program.h"
#include <stdio.h>
#include <string.h>

typedef struct typing {
  gen_program *p;
  gen_fn *fn;       /* NULL: in a const */
  bool is_final;    /* results are settled: report types that do not fit */
  bool has_changed; /* a suffix or a declaration was added */
  char error[160];
} typing;

static gen_type infer(typing *t, gen_expr *e);
static void check(typing *t, gen_expr *e);

static gen_type map_parts(gen_program *p, gen_type t, gen_type (*map)(gen_program *, gen_type)) {
  if (gen_is_array(t)) return gen_array_type(p, map_parts(p, gen_element_of(p, t), map));
  if (!gen_is_tuple(t)) return map(p, t);
  gen_type parts[GEN_MAX_PARTS];
  uint32_t n = gen_tuple_of(p, t)->n;
  for (uint32_t i = 0; i < n; i++) parts[i] = map_parts(p, gen_tuple_of(p, t)->parts[i], map);
  return gen_tuple_type(p, parts, n);
}

static gen_type settle_part(gen_program *p, gen_type t) {
  (void)p;
  return t == GEN_INT_LITERAL ? GEN_I32 : t == GEN_FLOAT_LITERAL ? GEN_F32 : t;
}
static gen_type hide_part(gen_program *p, gen_type t) {
  (void)p;
  return t == GEN_INT_LITERAL || t == GEN_FLOAT_LITERAL ? GEN_UNKNOWN : t;
}
static gen_type settle(gen_program *p, gen_type t) { return map_parts(p, t, settle_part); }

static bool has_unknown(const gen_program *p, gen_type t) {
  if (gen_is_array(t)) return has_unknown(p, gen_element_of(p, t));
  if (!gen_is_tuple(t)) return t == GEN_UNKNOWN;
  for (uint32_t i = 0; i < gen_tuple_of(p, t)->n; i++)
    if (has_unknown(p, gen_tuple_of(p, t)->parts[i])) return true;
  return false;
}

static bool int_adapts(gen_type t) { return (t >= GEN_I32 && t <= GEN_X) || t == GEN_INT_LITERAL; }
static bool float_adapts(const typing *ty, gen_type t) {
  return t == GEN_F32 || t == GEN_F64 || t == GEN_INT_LITERAL || t == GEN_FLOAT_LITERAL ||
         (t == GEN_X && ty->fn && ty->fn->x == GEN_ANY_FLOAT);
}

static gen_type join(typing *ty, gen_type a, gen_type b) {
  if (a == b || b == GEN_UNKNOWN) return a;
  if (a == GEN_UNKNOWN) return b;
  if (a == GEN_ERROR || b == GEN_ERROR) return GEN_ERROR;
  if (gen_is_array(a) && gen_is_array(b))
    return gen_array_type(ty->p, join(ty, gen_element_of(ty->p, a), gen_element_of(ty->p, b)));
  if (gen_is_tuple(a) && gen_is_tuple(b)) {
    gen_type parts[GEN_MAX_PARTS];
    uint32_t n = gen_tuple_of(ty->p, a)->n;
    if (gen_tuple_of(ty->p, b)->n != n) return GEN_ERROR;
    for (uint32_t i = 0; i < n; i++) {
      parts[i] = join(ty, gen_tuple_of(ty->p, a)->parts[i], gen_tuple_of(ty->p, b)->parts[i]);
      if (parts[i] == GEN_ERROR) return GEN_ERROR;
    }
    return gen_tuple_type(ty->p, parts, n);
  }
  if (a == GEN_INT_LITERAL && int_adapts(b)) return b;
  if (b == GEN_INT_LITERAL && int_adapts(a)) return a;
  if (a == GEN_FLOAT_LITERAL && float_adapts(ty, b)) return b == GEN_INT_LITERAL ? a : b;
  if (b == GEN_FLOAT_LITERAL && float_adapts(ty, a)) return a == GEN_INT_LITERAL ? b : a;
  return GEN_ERROR;
}

/* The number of operands of an operator or built-in, from the first on, that are joined. */
static uint32_t n_joined(const gen_expr *e) { return gen_ops[e->op].on == GEN_SHIFT ? 1 : e->n; }

/* ---- corrections ---- */

/* Adds a suffix to one literal that decides e's type (or a companion, for a literal of type X and
 * for `fail`). False if there is no such literal left. */
static bool pin(gen_expr *e) {
  switch ((gen_kind)e->kind) {
  case GEN_LIT:
    if (!e->bare) return false;
    e->bare = false;
    e->anchored = e->type == GEN_X;
    return true;
  case GEN_FAIL:
    if (e->anchored) return false;
    e->anchored = true;
    return true;
  case GEN_CONST: { /* a const has no suffix: its name is replaced by its expression */
    if (e->as.constant->type < GEN_X) return false;
    gen_expr *inside = e->kids[0];
    *e = *inside;
    pin(e);
    return true;
  }
  case GEN_OP:
    if (gen_ops[e->op].on == GEN_COMPARISON || gen_ops[e->op].on == GEN_CLASS) return false;
    for (uint32_t i = 0; i < n_joined(e); i++)
      if (pin(e->kids[i])) return true;
    return false;
  case GEN_SELECT:
  case GEN_IF: return pin(e->kids[1]) || pin(e->kids[2]);
  case GEN_MATCH:
    for (uint32_t i = 1; i < e->n; i++)
      if (pin(e->kids[i])) return true;
    return false;
  case GEN_TUPLE:
    for (uint32_t i = 0; i < e->n; i++)
      if (pin(e->kids[i])) return true;
    return false;
  case GEN_ARRAY:
  case GEN_CONCAT:
    for (uint32_t i = 0; i < e->n; i++)
      if (pin(e->kids[i])) return true;
    return false;
  case GEN_SET: return pin(e->kids[0]) || pin(e->kids[2]);
  case GEN_BLOCK:
  case GEN_COMP: return pin(e->kids[e->n - 1]);
  default: return false;
  }
}

static void complain(typing *t, const gen_expr *e, gen_type got) {
  if (t->error[0]) return;
  gen_text a = {0}, b = {0};
  gen_print_type(t->p, e->type, &a);
  gen_print_type(t->p, got, &b);
  snprintf(t->error, sizeof t->error, "%s: an expression of kind %u is %s, not %s",
           t->fn ? t->fn->name : "const", e->kind, b.data, a.data);
  gen_text_free(&a);
  gen_text_free(&b);
}

/* Corrects the type of e. If that is not possible now, it may be after other corrections: the error
 * counts only when nothing changes any more. */
static void put_right(typing *t, gen_expr *e, gen_type got) {
  if (pin(e))
    t->has_changed = true;
  else
    complain(t, e, got);
}

/* Checks e in a place where its type settles, or where a type is declared. */
static void settled(typing *t, gen_expr *e, bool is_declared) {
  check(t, e);
  gen_type got = infer(t, e);
  gen_type gives = is_declared ? join(t, got, e->type) : settle(t->p, got);
  if (gives != e->type) put_right(t, e, got);
}

/* ---- the rules ---- */

static void set_binder(typing *t, gen_binder *b, gen_type type) {
  if (b->var) b->var->inferred = type;
  for (uint32_t i = 0; i < b->n; i++)
    set_binder(t, &b->parts[i],
               gen_is_tuple(type) && i < gen_tuple_of(t->p, type)->n
                   ? gen_tuple_of(t->p, type)->parts[i]
                   : type);
}

static void set_pattern(gen_pattern *pattern, gen_type type) {
  if (pattern->var) pattern->var->inferred = type;
  for (uint32_t i = 0; i < pattern->n; i++)
    set_pattern(&pattern->parts[i], pattern->parts[i].type); /* declared */
}

/* The type of a comprehension's variable. */
static gen_type infer_domain(typing *t, gen_expr *e) {
  gen_type r = infer(t, e->kids[0]);
  if (e->n == 3) return settle(t->p, join(t, r, infer(t, e->kids[1])));
  r = settle(t->p, r);
  return gen_is_array(r) ? gen_element_of(t->p, r) : r;
}

static void infer_lets(typing *t, gen_expr *e) {
  for (uint32_t i = 0; i + 1 < e->n; i++) {
    gen_let *let = &e->as.lets[i];
    set_binder(t, &let->binder,
               let->annotated ? let->binder.type : settle(t->p, infer(t, e->kids[i])));
  }
}

static gen_type infer_call(typing *t, gen_expr *e) {
  gen_fn *callee = e->as.fn;
  bool is_unknown = false, is_other = false;
  for (uint32_t i = 0; i < e->n; i++) {
    if (callee->params[i]->dropped) continue;
    gen_type arg = infer(t, e->kids[i]); /* also types the variables that are bound in it */
    if (callee->params[i]->annotated) continue;
    gen_type meant = gen_substitute(t->p, callee->params[i]->type, e->binding);
    if (has_unknown(t->p, arg))
      is_unknown = true;
    else if (settle(t->p, arg) != meant)
      is_other = true; /* another instance than the intended one */
  }
  if (is_other) return GEN_ERROR;
  if (is_unknown) return GEN_UNKNOWN;
  gen_type r = callee->declared ? callee->result : map_parts(t->p, callee->inferred, hide_part);
  return gen_substitute(t->p, r, e->binding);
}

static gen_type infer(typing *t, gen_expr *e) {
  gen_type r;
  switch ((gen_kind)e->kind) {
  case GEN_LIT: return e->bare ? (e->is_float ? GEN_FLOAT_LITERAL : GEN_INT_LITERAL) : e->type;
  case GEN_VAR: return e->as.var->inferred;
  case GEN_CONST: return e->as.constant->type < GEN_X ? e->as.constant->type : infer(t, e->kids[0]);
  case GEN_OP:
    r = infer(t, e->kids[0]);
    for (uint32_t i = 1; i < e->n; i++) {
      gen_type other = infer(t, e->kids[i]);
      if (i < n_joined(e)) r = join(t, r, other);
    }
    if (gen_ops[e->op].on == GEN_COMPARISON || gen_ops[e->op].on == GEN_CLASS) return GEN_BOOL;
    if (gen_ops[e->op].on == GEN_FLOATING) r = join(t, r, GEN_FLOAT_LITERAL);
    return r;
  case GEN_TRUTH: return GEN_BOOL;
  case GEN_NOT:
  case GEN_CAST: infer(t, e->kids[0]); return e->type;
  case GEN_AND:
  case GEN_OR:
    infer(t, e->kids[0]);
    infer(t, e->kids[1]);
    return GEN_BOOL;
  case GEN_SELECT:
  case GEN_IF:
    infer(t, e->kids[0]);
    r = infer(t, e->kids[1]);
    return join(t, r, infer(t, e->kids[2]));
  case GEN_CALL: return infer_call(t, e);
  case GEN_FAIL: infer(t, e->kids[0]); return e->anchored ? e->type : GEN_UNKNOWN;
  case GEN_MATCH:
    r = settle(t->p, infer(t, e->kids[0]));
    for (uint32_t i = 0; i + 1 < e->n; i++) set_pattern(&e->as.arms[i], r);
    r = GEN_UNKNOWN;
    for (uint32_t i = 1; i < e->n; i++) r = join(t, r, infer(t, e->kids[i]));
    return r;
  case GEN_BLOCK: infer_lets(t, e); return infer(t, e->kids[e->n - 1]);
  case GEN_LOOP: {
    uint32_t n = e->n - 2;
    gen_type parts[GEN_MAX_PARTS];
    for (uint32_t i = 0; i < n; i++) {
      gen_var *v = e->as.vars[i];
      gen_type start = settle(t->p, infer(t, e->kids[i]));
      parts[i] = v->inferred = v->annotated ? v->type : start;
    }
    infer(t, e->kids[n]);
    infer(t, e->kids[n + 1]);
    return n == 1 ? parts[0] : gen_tuple_type(t->p, parts, n);
  }
  case GEN_TUPLE: {
    gen_type parts[GEN_MAX_PARTS];
    for (uint32_t i = 0; i < e->n; i++)
      if ((parts[i] = infer(t, e->kids[i])) == GEN_ERROR) return GEN_ERROR;
    return gen_tuple_type(t->p, parts, e->n);
  }
  case GEN_FIELD:
    r = settle(t->p, infer(t, e->kids[0]));
    return gen_is_tuple(r) ? gen_tuple_of(t->p, r)->parts[e->field] : r;
  case GEN_DATA:
    for (uint32_t i = 0; i < e->n; i++) infer(t, e->kids[i]);
    return e->type;
  case GEN_ARRAY:
    r = infer(t, e->kids[0]);
    for (uint32_t i = 1; i < e->n; i++) r = join(t, r, infer(t, e->kids[i]));
    return gen_array_type(t->p, r);
  case GEN_LEN: infer(t, e->kids[0]); return GEN_I64;
  case GEN_INDEX:
    r = settle(t->p, infer(t, e->kids[0]));
    infer(t, e->kids[1]);
    return gen_is_array(r) ? gen_element_of(t->p, r) : r;
  case GEN_SLICE:
    infer(t, e->kids[1]);
    infer(t, e->kids[2]);
    return settle(t->p, infer(t, e->kids[0]));
  case GEN_SET: {
    r = infer(t, e->kids[0]);
    infer(t, e->kids[1]);
    gen_type value = infer(t, e->kids[2]);
    return join(t, r, gen_array_type(t->p, value));
  }
  case GEN_CONCAT:
    r = infer(t, e->kids[0]);
    for (uint32_t i = 1; i < e->n; i++) r = join(t, r, infer(t, e->kids[i]));
    return r;
  case GEN_COMP: {
    gen_type x = infer_domain(t, e);
    if (e->as.vars[0]) e->as.vars[0]->inferred = x;
    return gen_array_type(t->p, infer(t, e->kids[e->n - 1]));
  }
  }
  return GEN_ERROR;
}

/* Checks every place inside e where a type settles or is declared. */
static void check(typing *t, gen_expr *e) {
  switch ((gen_kind)e->kind) {
  case GEN_LIT:
  case GEN_TRUTH:
  case GEN_VAR:
  case GEN_CONST: return;
  case GEN_OP:
    for (uint32_t i = 0; i < n_joined(e); i++) check(t, e->kids[i]);
    for (uint32_t i = n_joined(e); i < e->n; i++) settled(t, e->kids[i], false);
    if (gen_ops[e->op].on == GEN_CLASS) {
      gen_type got = join(t, infer(t, e->kids[0]), GEN_FLOAT_LITERAL);
      if (settle(t->p, got) != e->kids[0]->type) put_right(t, e->kids[0], got);
    }
    if (gen_ops[e->op].on == GEN_COMPARISON) {
      gen_type got = join(t, infer(t, e->kids[0]), infer(t, e->kids[1]));
      if (settle(t->p, got) == e->kids[0]->type) return;
      if (pin(e->kids[0]) || pin(e->kids[1]))
        t->has_changed = true;
      else
        complain(t, e->kids[0], got);
    }
    return;
  case GEN_CALL:
    for (uint32_t i = 0; i < e->n; i++)
      if (!e->as.fn->params[i]->dropped) settled(t, e->kids[i], e->as.fn->params[i]->annotated);
    return;
  case GEN_CAST: {
    gen_expr *arg = e->kids[0];
    check(t, arg);
    /* The argument takes the dtype if it can; only a literal can in more than one way. */
    gen_type got = infer(t, arg);
    bool adapts = (got == GEN_INT_LITERAL && e->type != GEN_BOOL) ||
                  (got == GEN_FLOAT_LITERAL && (e->type == GEN_F32 || e->type == GEN_F64));
    if ((adapts ? e->type : settle(t->p, got)) != arg->type) put_right(t, arg, got);
    return;
  }
  case GEN_NOT:
  case GEN_FAIL: settled(t, e->kids[0], false); return;
  case GEN_AND:
  case GEN_OR:
    settled(t, e->kids[0], true);
    settled(t, e->kids[1], true);
    return;
  case GEN_SELECT:
  case GEN_IF:
    settled(t, e->kids[0], true);
    check(t, e->kids[1]);
    check(t, e->kids[2]);
    return;
  case GEN_MATCH:
    settled(t, e->kids[0], false);
    infer(t, e);
    for (uint32_t i = 1; i < e->n; i++) check(t, e->kids[i]);
    return;
  case GEN_BLOCK:
    for (uint32_t i = 0; i + 1 < e->n; i++) {
      gen_let *let = &e->as.lets[i];
      check(t, e->kids[i]);
      gen_type got = infer(t, e->kids[i]);
      if ((let->annotated ? join(t, got, let->binder.type) : settle(t->p, got)) !=
          let->binder.type) {
        /* An annotation, if it is possible and makes the types join. */
        bool annotate = !let->annotated && !gen_has_x(t->p, let->binder.type) &&
                        join(t, got, let->binder.type) == let->binder.type;
        if (annotate) {
          let->annotated = true;
          t->has_changed = true;
        } else {
          put_right(t, e->kids[i], got);
        }
      }
      set_binder(t, &let->binder, let->binder.type);
    }
    check(t, e->kids[e->n - 1]);
    return;
  case GEN_LOOP: {
    uint32_t n = e->n - 2;
    for (uint32_t i = 0; i < n; i++) settled(t, e->kids[i], e->as.vars[i]->annotated);
    for (uint32_t i = 0; i < n; i++) e->as.vars[i]->inferred = e->as.vars[i]->type;
    settled(t, e->kids[n], true);
    settled(t, e->kids[n + 1], true);
    return;
  }
  case GEN_TUPLE:
  case GEN_ARRAY:
  case GEN_CONCAT:
    for (uint32_t i = 0; i < e->n; i++) check(t, e->kids[i]);
    return;
  case GEN_FIELD: settled(t, e->kids[0], false); return;
  case GEN_DATA:
    for (uint32_t i = 0; i < e->n; i++) settled(t, e->kids[i], true);
    return;
  case GEN_LEN:
  case GEN_INDEX:
  case GEN_SLICE:
    for (uint32_t i = 0; i < e->n; i++) settled(t, e->kids[i], false);
    return;
  case GEN_SET:
    check(t, e->kids[0]);
    settled(t, e->kids[1], false);
    check(t, e->kids[2]);
    return;
  case GEN_COMP:
    if (e->n == 2) {
      settled(t, e->kids[0], false);
    } else {
      check(t, e->kids[0]);
      check(t, e->kids[1]);
      gen_type got = infer_domain(t, e);
      if (got != e->kids[0]->type) {
        if (pin(e->kids[0]) || pin(e->kids[1]))
          t->has_changed = true;
        else
          complain(t, e->kids[0], got);
      }
    }
    infer(t, e);
    check(t, e->kids[e->n - 1]);
    return;
  }
}

/* Rule 6: infers the results that are not declared, by fixpoint; all bodies are typed before any
 * result changes, so the order of the functions has no meaning. Returns a function whose result
 * does not simply grow from unknown, or differs after literals have settled; NULL if there is none.
 * For such a function the rule may be read in different ways, so the program is changed. */
static gen_fn *infer_results(typing *t) {
  gen_program *p = t->p;
  gen_type found[GEN_MAX_FNS];
  for (uint32_t i = 0; i < p->n_fns; i++)
    p->fns[i]->inferred = p->fns[i]->declared ? p->fns[i]->result : GEN_UNKNOWN;
  for (uint32_t phase = 0; phase < 2; phase++) {
    for (bool changed = true; changed;) {
      changed = false;
      for (uint32_t i = 0; i < p->n_fns; i++) {
        gen_fn *fn = p->fns[i];
        found[i] = fn->inferred;
        if (fn->removed || fn->declared) continue;
        t->fn = fn;
        gen_type r = infer(t, fn->body);
        if (phase == 1) r = settle(p, r);
        if (r == GEN_ERROR || join(t, fn->inferred, r) != r) return fn;
        if (r != fn->inferred) changed = true;
        found[i] = r;
      }
      for (uint32_t i = 0; i < p->n_fns; i++) p->fns[i]->inferred = found[i];
    }
    for (uint32_t i = 0; i < p->n_fns; i++) p->fns[i]->inferred = settle(p, p->fns[i]->inferred);
  }
  return NULL;
}

static void mark_tails(gen_expr *e, bool is_tail) {
  switch ((gen_kind)e->kind) {
  case GEN_CALL:
    e->tail = is_tail;
    for (uint32_t i = 0; i < e->n; i++) mark_tails(e->kids[i], false);
    return;
  case GEN_IF:
  case GEN_MATCH:
    mark_tails(e->kids[0], false);
    for (uint32_t i = 1; i < e->n; i++) mark_tails(e->kids[i], is_tail);
    return;
  case GEN_BLOCK:
    for (uint32_t i = 0; i < e->n; i++) mark_tails(e->kids[i], is_tail && i + 1 == e->n);
    return;
  case GEN_AND:
  case GEN_OR:
    mark_tails(e->kids[0], false);
    mark_tails(e->kids[1], is_tail);
    return;
  default:
    for (uint32_t i = 0; i < e->n; i++) mark_tails(e->kids[i], false);
  }
}

const char *gen_settle(gen_program *p) {
  static char error[160];
  typing t = {.p = p};
  for (uint32_t i = 0; i < p->n_consts; i++) {
    if (p->consts[i].removed || p->consts[i].type >= GEN_X) continue;
    t.has_changed = true;
    while (t.has_changed) {
      t.has_changed = false;
      t.error[0] = 0;
      settled(&t, p->consts[i].value, true);
    }
  }
  /* Each round makes at least one correction, and there are finitely many. */
  t.has_changed = !t.error[0];
  while (t.has_changed) {
    t.has_changed = false;
    t.error[0] = 0;
    gen_fn *odd = infer_results(&t);
    if (odd && !gen_has_x(p, odd->result)) {
      t.has_changed = odd->declared = true;
      continue;
    }
    if (odd) put_right(&t, odd->body, GEN_ERROR);
    if (odd) continue;
    for (uint32_t i = 0; i < p->n_fns; i++) {
      gen_fn *fn = p->fns[i];
      if (fn->removed) continue;
      t.fn = fn;
      infer(&t, fn->body);
      check(&t, fn->body);
      gen_type got = infer(&t, fn->body);
      if (fn->declared ? join(&t, got, fn->result) == fn->result : fn->inferred == fn->result)
        continue;
      if (!fn->declared && !gen_has_x(p, fn->result) && join(&t, got, fn->result) == fn->result) {
        fn->declared = true;
        t.has_changed = true;
      } else {
        put_right(&t, fn->body, got);
      }
    }
  }
  if (t.error[0]) {
    memcpy(error, t.error, sizeof error);
    return error;
  }
  for (uint32_t i = 0; i < p->n_fns; i++)
    if (!p->fns[i]->removed) mark_tails(p->fns[i]->body, true);
  return NULL;
}
