/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The generator: a random program from a seed, typed by construction.
 *
 * Functions come in groups. A group calls earlier groups freely, but itself only where a counter,
 * its fuel, is above zero and decreases, or for parts of its subject (gen_data.c). Loops count to
 * small bounds. That bounds most programs. For the others gen_eval stops a program that takes too
 * long, and gen_make then tries other arguments or another program.
 *
 * Rules for changing it: random numbers come only from g->random and in a fixed order, so that a
 * seed has the same meaning on every machine; every expression has its type; names that must stay
 * visible (fuel, loop counters, the parameter of type X) come from separate name spaces, all others
 * from one small pool so that they hide each other. */
#include "tests/diff/gen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EVALUATED 150000
#define TREE_PERCENT  70 /* of functions that call their group otherwise than in tail position */

/* ---- functions ---- */

/* `special`: the type of the fuel, or of the subject. */
static void make_signature(gen *g, gen_fn *fn, gen_type special) {
  g->fn = fn;
  fn->n_params = below(g, 5);
  if (chance(g, 30)) fn->x = (gen_class)(GEN_ANY_NUMBER + below(g, 3));
  bool has_subject = fn->group == GEN_PARTS, has_fuel = fn->group != GEN_PLAIN && !has_subject;
  uint32_t n_special = (fn->x != GEN_NO_X ? 1u : 0u) + (fn->group != GEN_PLAIN ? 1u : 0u);
  if (fn->n_params < n_special) fn->n_params = n_special;
  uint32_t fuel_at = 0, x_at = 0;
  if (fn->n_params) fuel_at = below(g, fn->n_params), x_at = below(g, fn->n_params);
  if (fn->group != GEN_PLAIN && x_at == fuel_at) x_at = (fuel_at + 1) % fn->n_params;
  for (uint32_t i = 0; i < fn->n_params; i++) {
    bool is_fuel = has_fuel && i == fuel_at, is_x = fn->x != GEN_NO_X && i == x_at;
    bool is_subject = has_subject && i == fuel_at;
    gen_type t = is_fuel || is_subject ? special : is_x ? GEN_X : gen_any_type(g, 20);
    gen_var *v = fn->params[i] = gen_new_var(g, t);
    v->annotated = !gen_has_x(g->p, t) && chance(g, 70);
    v->inferred = t;
    snprintf(v->name, sizeof v->name, is_fuel ? "n" : is_x ? "x" : "p%u", i);
    if (is_fuel) fn->fuel = v;
    if (is_subject) fn->subject = v;
    if (is_x) fn->x_param = v;
  }
  fn->result = fn->x != GEN_NO_X && chance(g, 50) ? GEN_X : gen_any_type(g, 25);
  if (has_subject) gen_parts_result(g, fn);
  fn->declared = !gen_has_x(g->p, fn->result) && chance(g, 50);
}

static gen_expr *tail_part(gen *g, gen_type type, uint32_t depth) {
  if (depth > 1 && chance(g, 25)) {
    gen_expr *e = gen_node(g, GEN_IF, type, 3);
    e->kids[0] = gen_condition(g, depth - 1);
    e->kids[1] = tail_part(g, type, depth - 1);
    e->kids[2] = tail_part(g, type, depth - 1);
    return e;
  }
  if (depth > 1 && chance(g, 25))
    return gen_block_of(g, type, depth - 1, 1 + below(g, 2), tail_part);
  gen_expr *e = gen_call_of(g, type, depth > 2 ? 2 : depth, true);
  return e ? e : gen_expr_of(g, type, depth);
}

/* Two or three calls of the group whose values are all used: a tree of calls. */
static gen_expr *tree_of(gen *g, gen_type type) {
  g->rec = 0;
  gen_expr *calls[3], *e;
  uint32_t n = 2 + below(g, 2), n_calls = 0, mark = g->n_scope;
  for (uint32_t i = 0; i < n; i++)
    if ((e = gen_call_of(g, type, 1, true))) calls[n_calls++] = e;
  if (n_calls < 2) return gen_expr_of(g, type, 3);
  if (g->fn->tree < n_calls) g->fn->tree = n_calls;
  if (type >= GEN_I32 && type <= GEN_X && chance(g, 60)) {
    e = calls[0];
    for (uint32_t i = 1; i < n_calls; i++) {
      gen_expr *sum = gen_node(g, GEN_OP, type, 2);
      sum->op = (uint8_t)(GEN_ADD + below(g, 3));
      sum->kids[0] = e;
      sum->kids[1] = calls[i];
      e = sum;
    }
    return e;
  }
  e = gen_node(g, GEN_BLOCK, type, n_calls + 1);
  e->as.lets = GEN_NEW_ARRAY(&g->p->pool, gen_let, n_calls);
  for (uint32_t i = 0; i < n_calls; i++) {
    gen_var *v = gen_new_var(g, type);
    snprintf(v->name, sizeof v->name, "t%u", g->n_names++);
    e->kids[i] = calls[i];
    e->as.lets[i].binder = (gen_binder){.type = type, .var = v};
    gen_push(g, v);
  }
  e->kids[n_calls] = gen_expr_of(g, type, 3);
  g->n_scope = mark;
  return e;
}

/* A tree of calls, or a branch with two of them. */
static gen_expr *tree_body(gen *g, gen_type type) {
  if (chance(g, 80)) return tree_of(g, type);
  gen_expr *e = gen_node(g, GEN_IF, type, 3);
  e->kids[0] = gen_condition(g, 1);
  e->kids[1] = tree_of(g, type);
  e->kids[2] = tree_of(g, type);
  return e;
}

static gen_expr *guard(gen *g, gen_type type, gen_expr *base, gen_expr *rest) {
  gen_fn *fn = g->fn;
  gen_expr *n = gen_node(g, GEN_VAR, fn->fuel->type, 0);
  n->as.var = fn->fuel;
  gen_expr *e = gen_node(g, GEN_IF, type, 3), *test = gen_node(g, GEN_OP, GEN_BOOL, 2);
  static const gen_op ops[] = {GEN_LE, GEN_LT, GEN_GT, GEN_GE};
  static const int64_t limits[] = {0, 1, 0, 1};
  uint32_t which = below(g, 4);
  test->op = (uint8_t)ops[which];
  test->kids[0] = n;
  test->kids[1] = gen_small_int(g, fn->fuel->type, limits[which]);
  e->kids[0] = test;
  e->kids[which < 2 ? 1 : 2] = base;
  e->kids[which < 2 ? 2 : 1] = rest;
  return e;
}

static void make_body(gen *g, gen_fn *fn) {
  g->fn = fn;
  g->n_scope = 0;
  g->rec = 0;
  g->nodes = (int)(12 + g->size * 12);
  g->calls = 1 + (int)below(g, 3);
  for (uint32_t i = 0; i < fn->n_params; i++) gen_push(g, fn->params[i]);
  uint32_t depth = 3 + g->size / 3;
  if (fn->group == GEN_PLAIN) {
    fn->body = chance(g, 40) ? gen_block_of(g, fn->result, depth, 1 + below(g, 4), gen_expr_of)
                             : gen_expr_of(g, fn->result, depth);
    return;
  }
  if (fn->group == GEN_PARTS) {
    fn->body = gen_parts_body(g, fn->result, 3);
    return;
  }
  if (fn->group == GEN_TAIL) {
    g->calls = 0;
    gen_expr *base = gen_expr_of(g, fn->result, 2);
    fn->body = guard(g, fn->result, base, tail_part(g, fn->result, 3));
    return;
  }
  bool is_tree = chance(g, TREE_PERCENT);
  /* Leaves that fail in some places: the first failure has to be reported. */
  gen_expr *base =
      is_tree && chance(g, 20) ? gen_guarded_fail(g, fn->result, 2) : gen_expr_of(g, fn->result, 2);
  g->rec = 1 + (int)below(g, 3);
  gen_expr *rest = is_tree ? tree_body(g, fn->result)
                   : chance(g, 50)
                       ? gen_block_of(g, fn->result, depth, 1 + below(g, 2), gen_expr_of)
                       : gen_expr_of(g, fn->result, depth);
  g->rec = 0;
  fn->body = guard(g, fn->result, base, rest);
}

static void make_group(gen *g, uint32_t id) {
  gen_group kind = chance(g, 35) ? GEN_PLAIN : chance(g, 60) ? GEN_FUEL : GEN_TAIL;
  if (g->p->n_datas && chance(g, 50)) kind = GEN_PARTS;
  uint32_t n = kind == GEN_PLAIN ? 1 : 1 + below(g, 3);
  gen_type fuel_type = chance(g, 50) ? GEN_I32 : GEN_I64;
  g->first_of_group = g->p->n_fns;
  g->end_of_group = g->p->n_fns + n;
  for (uint32_t i = 0; i < n; i++) {
    gen_fn *fn = GEN_NEW(&g->p->pool, gen_fn);
    snprintf(fn->name, sizeof fn->name, "f%u", g->p->n_fns);
    fn->group = kind;
    fn->group_id = id;
    make_signature(g, fn, kind == GEN_PARTS ? gen_subject_type(g) : fuel_type);
    if (i && chance(g, 70)) { /* members can call each other when their results agree */
      const gen_fn *first = g->p->fns[g->first_of_group];
      if (!gen_has_x(g->p, first->result) || fn->x == first->x) {
        fn->result = first->result;
        fn->declared = !gen_has_x(g->p, fn->result) && chance(g, 50);
      }
    }
    g->p->fns[g->p->n_fns++] = fn;
  }
  for (uint32_t i = 0; i < n; i++) make_body(g, g->p->fns[g->first_of_group + i]);
}

static void make_consts(gen *g) {
  uint32_t n = below(g, 5);
  g->is_const = true;
  for (uint32_t i = 0; i < n; i++) {
    gen_const *c = &g->p->consts[i];
    snprintf(c->name, sizeof c->name, "K%u", i);
    g->nodes = 20;
    if (chance(g, 40)) {
      c->type = gen_scalar_type(g);
      c->value = gen_expr_of(g, c->type, 2);
    } else { /* a value of every dtype at which it may be used */
      c->type = chance(g, 50) ? GEN_INT_LITERAL : GEN_FLOAT_LITERAL;
      c->value = gen_small_int(g, GEN_I32, (int64_t)below(g, 100) - 20);
      if (c->type == GEN_FLOAT_LITERAL) {
        c->value->is_float = true;
        strcat(c->value->as.digits, chance(g, 50) ? ".5" : "e0");
      }
      if (chance(g, 30)) {
        gen_expr *sum = gen_node(g, GEN_OP, GEN_I32, 2);
        sum->op = (uint8_t)(GEN_ADD + below(g, 3));
        sum->kids[0] = c->value;
        sum->kids[1] = gen_small_int(g, GEN_I32, (int64_t)below(g, 10));
        c->value = sum;
      }
    }
  }
  g->is_const = false;
  g->p->n_consts = n;
}

/* A const that fails would reject the program, so it becomes a literal. */
static void mend_consts(gen *g) {
  gen_outcome *out = GEN_NEW(&g->p->pool, gen_outcome);
  for (uint32_t i = 0; i < g->p->n_consts; i++) {
    gen_const *c = &g->p->consts[i];
    if (c->type >= GEN_X) continue;
    gen_fn fn = {.name = "const", .body = c->value, .result = c->type};
    gen_program q = {.n_fns = 1, .fns = {&fn}};
    gen_eval(&q, 1000, NULL, out);
    if (out->end == GEN_VALUE) continue;
    if (c->type == GEN_BOOL) {
      c->value = gen_node(g, GEN_TRUTH, c->type, 0);
    } else {
      c->value = gen_small_int(g, c->type, (int64_t)below(g, 10));
    }
  }
}

static void make_args(gen *g) {
  gen_fn *fn = gen_main(g->p);
  gen_text_free(&g->p->arg_text);
  uint32_t at = 0;
  for (uint32_t i = 0; i < fn->n_params; i++) {
    gen_type t = fn->params[i]->type;
    uint32_t first = at;
    gen_argument(g, t, g->p->args + at);
    at += gen_words(g->p, t);
    gen_text_add(&g->p->arg_text, "%s'", i ? " " : "");
    gen_print_value(g->p, t, g->p->args + first, !fn->params[i]->annotated, &g->p->arg_text);
    gen_text_add(&g->p->arg_text, "'");
  }
}

static bool has_array(const gen_program *p, gen_type t) {
  if (gen_is_array(t)) return true;
  for (uint32_t i = 0; gen_is_tuple(t) && i < gen_tuple_of(p, t)->n; i++)
    if (has_array(p, gen_tuple_of(p, t)->parts[i])) return true;
  return false;
}

/* main calls several functions, and returns all their results and a value of its own. */
static void make_main(gen *g, uint32_t id) {
  gen_fn *fn = GEN_NEW(&g->p->pool, gen_fn);
  strcpy(fn->name, "main");
  fn->group_id = id;
  g->first_of_group = g->end_of_group = g->p->n_fns;
  do { /* the host calls it, so it has no X */
    *fn = (gen_fn){.name = "main", .group_id = id};
    make_signature(g, fn, GEN_I32);
  } while (fn->x != GEN_NO_X);
  for (uint32_t i = 0; i < fn->n_params; i++) /* [] alone has no type */
    fn->params[i]->annotated |= has_array(g->p, fn->params[i]->type);
  g->n_scope = 0;
  g->rec = g->calls = 0;
  g->nodes = (int)(12 + g->size * 12);
  for (uint32_t i = 0; i < fn->n_params; i++) gen_push(g, fn->params[i]);
  if (chance(g, 12)) { /* or returns the result of one call */
    gen_fn *callee = g->p->fns[g->p->n_fns - 1];
    gen_type binding = callee->x != GEN_NO_X ? gen_binding_for(g, callee->x) : GEN_UNKNOWN;
    fn->result = gen_substitute(g->p, callee->result, binding);
    fn->declared = chance(g, 50);
    fn->body = gen_call_fn(g, callee, fn->result, binding, 3, false);
    if (fn->body) {
      g->p->fns[g->p->n_fns++] = fn;
      return;
    }
  }
  uint32_t n = 2 + below(g, 2), words = 0;
  gen_type parts[GEN_MAX_PARTS];
  gen_expr *body = gen_node(g, GEN_BLOCK, 0, n + 1);
  body->as.lets = GEN_NEW_ARRAY(&g->p->pool, gen_let, n);
  for (uint32_t i = 0; i < n; i++) {
    gen_fn *callee = g->p->fns[i ? below(g, g->p->n_fns) : g->p->n_fns - 1];
    gen_type binding = callee->x != GEN_NO_X ? gen_binding_for(g, callee->x) : GEN_UNKNOWN;
    gen_type t = gen_substitute(g->p, callee->result, binding);
    bool is_call = i + 1 < n || chance(g, 50);
    if (!is_call) t = gen_any_type(g, 30);
    if (words + gen_words(g->p, t) > 14) t = GEN_I64, is_call = false;
    words += gen_words(g->p, t);
    gen_expr *e = is_call ? gen_call_fn(g, callee, t, binding, 2, false) : NULL;
    body->kids[i] = e ? e : gen_expr_of(g, t, 3 + g->size / 3);
    gen_var *v = gen_new_var(g, parts[i] = t);
    snprintf(v->name, sizeof v->name, "s%u", i);
    body->as.lets[i].binder = (gen_binder){.type = t, .var = v};
    body->as.lets[i].annotated = chance(g, 30);
    gen_push(g, v);
  }
  fn->result = body->type = gen_tuple_type(g->p, parts, n);
  fn->declared = chance(g, 50);
  gen_expr *result = body->kids[n] = gen_node(g, GEN_TUPLE, fn->result, n);
  for (uint32_t i = 0; i < n; i++) {
    result->kids[i] = gen_node(g, GEN_VAR, parts[i], 0);
    result->kids[i]->as.var = body->as.lets[i].binder.var;
  }
  fn->body = body;
  g->p->fns[g->p->n_fns++] = fn;
}

static gen_program *try_make(uint64_t seed, uint32_t size, bool has_data) {
  gen_program *p = calloc(1, sizeof *p);
  if (!p) exit(2);
  gen g = {.p = p, .random = {seed}, .size = size};
  p->seed = seed;
  if (has_data) gen_make_types(&g);
  make_consts(&g);
  mend_consts(&g);
  uint32_t n_groups = 1 + below(&g, 1 + size / 2);
  for (uint32_t i = 0; i < n_groups; i++) make_group(&g, i);
  make_main(&g, n_groups);
  /* A few cannot be typed as meant: the type of a recursive call settles before it is known. */
  if (gen_settle(p)) {
    gen_free(p);
    return NULL;
  }
  gen_outcome *out = GEN_NEW(&p->pool, gen_outcome);
  for (uint32_t i = 0; i < 3; i++) {
    make_args(&g);
    gen_eval(p, MAX_EVALUATED, NULL, out);
    if (out->end != GEN_TOO_LONG) return p;
  }
  gen_free(p);
  return NULL;
}

/* ---- effects ---- */

/* In a quarter of the programs some uses of variables are passed through the host, which hashes
 * them. This is chosen when the program is complete, so that other programs do not depend on it. */
static void tap(gen_random *r, gen_expr *e) {
  if (e->kind == GEN_CONST) return; /* it has no variables, and all its uses share it */
  if (e->kind == GEN_VAR && e->type < GEN_X) e->tapped = gen_chance(r, 12);
  for (uint32_t i = 0; i < e->n; i++) tap(r, e->kids[i]);
}

static void add_taps(gen_program *p, uint64_t seed) {
  gen_random r = {seed};
  p->has_taps = true;
  for (uint32_t i = 0; i < p->n_fns; i++)
    if (!p->fns[i]->removed) tap(&r, p->fns[i]->body);
}

gen_program *gen_make(uint64_t seed, uint32_t size, bool has_data) {
  gen_random r = {seed * 2 + 1};
  for (uint32_t i = 0; i < 1000; i++) {
    gen_program *p = try_make(gen_next(&r), size, has_data);
    if (!p) continue;
    p->seed = seed;
    if (seed % 4 == 3) add_taps(p, seed);
    return p;
  }
  fprintf(stderr, "hia_diff: the generator makes nothing of seed %llu, size %u\n",
          (unsigned long long)seed, size);
  exit(2);
}

void gen_free(gen_program *p) {
  if (!p) return;
  gen_text_free(&p->arg_text);
  gen_pool_free(&p->values);
  gen_pool_free(&p->pool);
  free(p);
}
