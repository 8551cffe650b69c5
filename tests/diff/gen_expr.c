/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The generator: expressions of a required type. See gen.c for the rules. */
#include "tests/diff/gen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces ---- */

gen_expr *gen_node(gen *g, gen_kind kind, gen_type type, uint32_t n) {
  gen_expr *e = GEN_NEW(&g->p->pool, gen_expr);
  e->kind = (uint8_t)kind;
  e->type = type;
  e->n = n;
  e->kids = n ? GEN_NEW_ARRAY(&g->p->pool, gen_expr *, n) : NULL;
  e->parens = chance(g, 4);
  g->nodes--;
  return e;
}

gen_var *gen_new_var(gen *g, gen_type type) {
  gen_var *v = GEN_NEW(&g->p->pool, gen_var);
  v->type = type;
  v->slot = g->fn->n_words;
  g->fn->n_words += gen_words(g->p, type);
  snprintf(v->name, sizeof v->name, "%c", (int)('a' + below(g, 10)));
  return v;
}

void gen_push(gen *g, gen_var *v) {
  if (v && g->n_scope < MAX_SCOPE) g->scope[g->n_scope++] = v;
}

bool gen_is_hidden(const gen *g, uint32_t at) {
  for (uint32_t i = at + 1; i < g->n_scope; i++)
    if (!strcmp(g->scope[i]->name, g->scope[at]->name)) return true;
  return false;
}

static gen_class class_of(const gen *g, gen_type t) {
  switch (t) {
  case GEN_I32:
  case GEN_I64: return GEN_ANY_INT;
  case GEN_F32:
  case GEN_F64: return GEN_ANY_FLOAT;
  case GEN_X: return g->fn ? g->fn->x : GEN_NO_X;
  default: return GEN_NO_X;
  }
}
static bool is_int(const gen *g, gen_type t) { return class_of(g, t) == GEN_ANY_INT; }
static bool is_floating(const gen *g, gen_type t) { return class_of(g, t) == GEN_ANY_FLOAT; }

gen_type gen_number_type(gen *g) {
  if (g->fn && g->fn->x != GEN_NO_X && chance(g, 40)) return GEN_X;
  return GEN_I32 + below(g, 4);
}
gen_type gen_scalar_type(gen *g) { return chance(g, 18) ? GEN_BOOL : gen_number_type(g); }
static gen_type int_type(gen *g) {
  if (g->fn && g->fn->x == GEN_ANY_INT && chance(g, 40)) return GEN_X;
  return chance(g, 50) ? GEN_I32 : GEN_I64;
}

gen_type gen_any_type(gen *g, uint32_t tuple_percent) {
  if (g->p->n_datas && chance(g, 40)) return gen_reference_type(g);
  if (!chance(g, tuple_percent)) return gen_scalar_type(g);
  gen_type parts[GEN_MAX_PARTS];
  uint32_t n = 2 + below(g, GEN_MAX_PARTS - 1);
  for (uint32_t i = 0; i < n; i++) parts[i] = gen_any_type(g, tuple_percent / 4);
  gen_type t = gen_tuple_type(g->p, parts, n);
  return t == GEN_ERROR || gen_words(g->p, t) > 6 ? gen_scalar_type(g) : t;
}

/* ---- leaves ---- */

gen_expr *gen_small_int(gen *g, gen_type type, int64_t value) {
  gen_expr *e = gen_node(g, GEN_LIT, type, 0);
  e->bare = true;
  e->negative = value < 0;
  snprintf(e->as.digits, sizeof e->as.digits, "%lld", (long long)llabs(value));
  return e;
}

gen_expr *gen_literal(gen *g, gen_type type) {
  static const char *const edges_i32[] = {"2147483647", "2147483646", "65536", "46341",
                                          "0x7fffffff", "1_000_000",  "255",   "31",
                                          "32",         "0xff"};
  static const char *const edges_i64[] = {
      "9223372036854775807", "4294967296", "3037000500", "2147483648",        "0x7fffffffffffffff",
      "0xffff_ffff",         "63",         "64",         "1_000_000_000_000", "9007199254740993"};
  static const char *const floats[] = {"0.0",
                                       "1.0",
                                       "0.5",
                                       "2.0",
                                       "0.1",
                                       "1.5",
                                       "3.25",
                                       "1e10",
                                       "2.5",
                                       "1.5e-7",
                                       "16777217.0",
                                       "1e38",
                                       "0.3333333333333333",
                                       "1e-45",
                                       "123456.789",
                                       "1E+2",
                                       "3.0e0"};
  static const char *const floats_f64[] = {"1e300", "4.9e-324", "9007199254740993.0",
                                           "1.7976931348623157e308"};
  gen_expr *e = gen_node(g, GEN_LIT, type, 0);
  char *d = e->as.digits;
  e->bare = chance(g, 65) || type == GEN_X;
  e->negative = chance(g, 18);
  if (is_floating(g, type) && !chance(g, 25)) {
    e->is_float = true;
    if (type == GEN_F64 && chance(g, 10))
      strcpy(d, floats_f64[below(g, sizeof floats_f64 / sizeof *floats_f64)]);
    else if (type == GEN_X || chance(g, 50))
      strcpy(d, floats[below(g, type == GEN_X ? 8 : sizeof floats / sizeof *floats)]);
    else {
      uint32_t whole = below(g, 20);
      snprintf(d, sizeof e->as.digits, "%u.%u", whole, below(g, 1000));
    }
    return e;
  }
  if (type == GEN_I32 && chance(g, 18)) {
    e->negative |= chance(g, 25);
    if (e->negative && chance(g, 50))
      strcpy(d, "2147483648");
    else
      strcpy(d, edges_i32[below(g, sizeof edges_i32 / sizeof *edges_i32)]);
  } else if (type == GEN_I64 && chance(g, 18)) {
    e->negative |= chance(g, 25);
    if (e->negative && chance(g, 50))
      strcpy(d, "9223372036854775808");
    else
      strcpy(d, edges_i64[below(g, sizeof edges_i64 / sizeof *edges_i64)]);
  } else if (type != GEN_X && chance(g, 15)) {
    snprintf(d, sizeof e->as.digits, "%u", below(g, 100000));
  } else {
    snprintf(d, sizeof e->as.digits, "%u", below(g, 10));
  }
  return e;
}

/* A copy of the expression of an untyped const for another type: literals and operators only. */
static gen_expr *copy_at(gen *g, const gen_expr *e, gen_type type) {
  gen_expr *c = GEN_NEW(&g->p->pool, gen_expr);
  *c = *e;
  c->type = type;
  if (e->n) c->kids = GEN_NEW_ARRAY(&g->p->pool, gen_expr *, e->n);
  for (uint32_t i = 0; i < e->n; i++) c->kids[i] = copy_at(g, e->kids[i], type);
  return c;
}

static gen_expr *const_of(gen *g, gen_type type) {
  if (g->is_const || !g->p->n_consts) return NULL;
  gen_const *c = &g->p->consts[below(g, g->p->n_consts)];
  if (c->type == GEN_INT_LITERAL     ? class_of(g, type) == GEN_NO_X
      : c->type == GEN_FLOAT_LITERAL ? !is_floating(g, type)
                                     : c->type != type)
    return NULL;
  gen_expr *e = gen_node(g, GEN_CONST, type, 1);
  e->as.constant = c;
  e->kids[0] = c->type < GEN_X ? c->value : copy_at(g, c->value, type);
  return e;
}

/* A visible variable of the type, or a field of one; NULL if there is none. */
static gen_expr *var_of(gen *g, gen_type type) {
  uint32_t start = g->n_scope ? below(g, g->n_scope) : 0;
  for (uint32_t k = 0; k < g->n_scope; k++) {
    uint32_t at = (start + k) % g->n_scope;
    gen_var *v = g->scope[at];
    if (gen_is_hidden(g, at)) continue;
    if (v->type == type) {
      gen_expr *e = gen_node(g, GEN_VAR, type, 0);
      e->as.var = v;
      return e;
    }
    if (!gen_is_tuple(v->type)) continue;
    for (uint32_t i = 0; i < gen_tuple_of(g->p, v->type)->n; i++) {
      if (gen_tuple_of(g->p, v->type)->parts[i] != type) continue;
      gen_expr *e = gen_node(g, GEN_FIELD, type, 1);
      e->field = i;
      e->kids[0] = gen_node(g, GEN_VAR, v->type, 0);
      e->kids[0]->as.var = v;
      return e;
    }
  }
  return NULL;
}

gen_expr *gen_leaf(gen *g, gen_type type) {
  gen_expr *e = chance(g, 70) ? var_of(g, type) : NULL;
  if (!e && chance(g, 25)) e = const_of(g, type);
  if (e) return e;
  if (gen_is_tuple(type)) {
    e = gen_node(g, GEN_TUPLE, type, gen_tuple_of(g->p, type)->n);
    for (uint32_t i = 0; i < e->n; i++)
      e->kids[i] = gen_leaf(g, gen_tuple_of(g->p, type)->parts[i]);
    return e;
  }
  if (gen_is_reference(type)) return gen_reference_leaf(g, type);
  if (type != GEN_BOOL) return gen_literal(g, type);
  e = gen_node(g, GEN_TRUTH, type, 0);
  e->truth = chance(g, 50);
  return e;
}

/* ---- inner nodes ---- */

/* A copy of an expression, to be its sibling: equal expressions, which the compiler may merge. Both
 * bind the same variables, which is correct since neither copy is inside the other. */
static gen_expr *again(gen *g, const gen_expr *e) {
  gen_expr *c = GEN_NEW(&g->p->pool, gen_expr);
  *c = *e;
  g->nodes--;
  if (e->n) c->kids = GEN_NEW_ARRAY(&g->p->pool, gen_expr *, e->n);
  for (uint32_t i = 0; i < e->n; i++) c->kids[i] = again(g, e->kids[i]);
  return c;
}

/* Rare operands for which an operator has a special case. */
static gen_expr *special_operand(gen *g, gen_op op, uint32_t i, gen_type type) {
  static const int divisors[] = {1, 2, 3, 7, 10, -1, -1, -3},
                   counts[] = {31, 32, 33, 63, 64, 65, -1, 5};
  gen_expr *e = NULL;
  if (i == 1 &&
      (op == GEN_DIV || op == GEN_REM)) { /* not 0, or too many programs would end early */
    if (chance(g, 80)) e = gen_small_int(g, type, divisors[below(g, 8)]);
  } else if (i == 1 && gen_ops[op].on == GEN_SHIFT) {
    if (chance(g, 60)) e = gen_small_int(g, type, counts[below(g, 8)]);
  } else if (i == 0 && (op == GEN_DIV || op == GEN_REM) && (type == GEN_I32 || type == GEN_I64)) {
    if (!chance(g, 6)) return NULL;
    e = gen_literal(g, type); /* the smallest number, which overflows */
    e->negative = true;
    strcpy(e->as.digits, type == GEN_I32 ? "2147483648" : "9223372036854775808");
  }
  if (e) e->bare = type == GEN_X || chance(g, 80);
  return e;
}

static gen_expr *op_of(gen *g, gen_op op, gen_type type, gen_type operands, uint32_t depth) {
  gen_expr *e = gen_node(g, GEN_OP, type, gen_ops[op].arity);
  e->op = (uint8_t)op;
  for (uint32_t i = 0; i < e->n; i++) {
    gen_type t = operands;
    if (i && gen_ops[op].on == GEN_SHIFT && chance(g, 50)) t = int_type(g);
    gen_expr *special = special_operand(g, op, i, t);
    if (special)
      e->kids[i] = special;
    else if (i && t == operands && chance(g, 7))
      e->kids[i] = again(g, e->kids[0]);
    else
      e->kids[i] = gen_expr_of(g, t, depth);
  }
  return e;
}

gen_expr *gen_condition(gen *g, uint32_t depth) { return gen_expr_of(g, GEN_BOOL, depth); }

static gen_expr *if_of(gen *g, gen_type type, uint32_t depth) {
  gen_expr *e = gen_node(g, GEN_IF, type, 3);
  e->kids[0] = gen_condition(g, depth);
  int calls = g->calls;
  e->kids[1] = gen_expr_of(g, type, depth);
  if (g->calls < calls) g->calls++; /* only one of the branches runs */
  e->kids[2] = chance(g, 6) ? again(g, e->kids[1]) : gen_expr_of(g, type, depth);
  return e;
}

static gen_expr *match_of(gen *g, gen_type type, uint32_t depth) {
  gen_type on = chance(g, 30) ? GEN_BOOL : int_type(g);
  gen_expr *scrutinee = gen_expr_of(g, on, depth);
  uint32_t n_arms = on == GEN_BOOL ? 1 + below(g, 2) : 1 + below(g, 5);
  gen_expr *e = gen_node(g, GEN_MATCH, type, 1 + n_arms);
  e->as.arms = GEN_NEW_ARRAY(&g->p->pool, gen_pattern, n_arms);
  e->kids[0] = scrutinee;
  bool first = chance(g, 50);
  for (uint32_t i = 0; i < n_arms; i++) {
    gen_pattern *arm = &e->as.arms[i];
    uint32_t mark = g->n_scope;
    bool is_last = i + 1 == n_arms;
    arm->type = on;
    if (is_last && (on != GEN_BOOL || n_arms == 1 || chance(g, 30))) {
      arm->any = chance(g, 50);
      if (!arm->any) gen_push(g, arm->var = gen_new_var(g, on));
    } else if (on == GEN_BOOL) {
      arm->value = (i == 0) == first;
    } else {
      for (bool is_new = false; !is_new;) {
        arm->value = (int64_t)below(g, 9) - 3;
        if (on != GEN_X && chance(g, 8)) arm->value = chance(g, 50) ? INT32_MAX : INT32_MIN;
        if (on == GEN_I64 && chance(g, 8)) arm->value = chance(g, 50) ? INT64_MAX : INT64_MIN;
        is_new = true;
        for (uint32_t k = 0; k < i; k++) is_new &= e->as.arms[k].value != arm->value;
      }
    }
    e->kids[i + 1] = gen_expr_of(g, type, depth);
    g->n_scope = mark;
  }
  return e;
}

static gen_binder binder_of(gen *g, gen_type type, gen_var **vars, uint32_t *n_vars) {
  gen_binder b = {.type = type};
  if (gen_is_tuple(type) && chance(g, 60)) {
    b.n = gen_tuple_of(g->p, type)->n;
    b.parts = GEN_NEW_ARRAY(&g->p->pool, gen_binder, b.n);
    for (uint32_t i = 0; i < b.n; i++)
      b.parts[i] = binder_of(g, gen_tuple_of(g->p, type)->parts[i], vars, n_vars);
  } else if (chance(g, 88)) {
    b.var = gen_new_var(g, type);
    for (bool is_new = false; !is_new;) { /* the names in a binder are distinct */
      is_new = true;
      for (uint32_t i = 0; i < *n_vars; i++) is_new &= strcmp(vars[i]->name, b.var->name) != 0;
      if (!is_new) snprintf(b.var->name, sizeof b.var->name, "v%u", g->n_names++);
    }
    vars[(*n_vars)++] = b.var;
  }
  return b;
}

gen_expr *gen_block_of(gen *g, gen_type type, uint32_t depth, uint32_t n_lets,
                       gen_expr *(*result)(gen *, gen_type, uint32_t)) {
  gen_expr *e = gen_node(g, GEN_BLOCK, type, n_lets + 1);
  e->as.lets = GEN_NEW_ARRAY(&g->p->pool, gen_let, n_lets);
  uint32_t mark = g->n_scope;
  for (uint32_t i = 0; i < n_lets; i++) {
    gen_type t = gen_any_type(g, 25);
    gen_var *vars[16];
    uint32_t n_vars = 0;
    e->kids[i] = gen_expr_of(g, t, depth);
    e->as.lets[i].binder = binder_of(g, t, vars, &n_vars);
    e->as.lets[i].annotated = !gen_has_x(g->p, t) && chance(g, 30);
    for (uint32_t k = 0; k < n_vars; k++) gen_push(g, vars[k]);
  }
  e->kids[n_lets] = result(g, type, depth);
  g->n_scope = mark;
  return e;
}

/* A loop over a counter and up to two more variables. */
static gen_expr *loop_with(gen *g, const gen_type *types, uint32_t n, uint32_t depth) {
  gen_type whole = n == 1 ? types[0] : gen_tuple_type(g->p, types, n);
  gen_expr *e = gen_node(g, GEN_LOOP, whole, n + 2);
  e->as.vars = GEN_NEW_ARRAY(&g->p->pool, gen_var *, n);
  uint32_t mark = g->n_scope, rounds = 1 + below(g, g->loop_depth ? 4 : 12);
  for (uint32_t i = 0; i < n; i++)
    e->kids[i] =
        i ? gen_expr_of(g, types[i], depth) : gen_small_int(g, types[0], (int64_t)below(g, 3) - 1);
  for (uint32_t i = 0; i < n; i++) {
    gen_var *v = e->as.vars[i] = gen_new_var(g, types[i]);
    snprintf(v->name, sizeof v->name, i ? "w%u" : "c%u", g->n_names++);
    v->annotated = !gen_has_x(g->p, types[i]) && chance(g, 35);
    gen_push(g, v);
  }
  gen_expr *counter = gen_node(g, GEN_VAR, types[0], 0), *limit;
  counter->as.var = e->as.vars[0];
  if (chance(g, 75)) {
    limit = gen_small_int(g, types[0], (int64_t)rounds);
  } else {
    limit = gen_node(g, GEN_OP, types[0], 2);
    limit->op = GEN_MIN;
    limit->kids[0] = gen_expr_of(g, types[0], depth ? depth - 1 : 0);
    limit->kids[1] = gen_small_int(g, types[0], (int64_t)rounds);
  }
  gen_expr *test = gen_node(g, GEN_OP, GEN_BOOL, 2);
  test->op = GEN_LT;
  test->kids[0] = counter;
  test->kids[1] = limit;
  if (chance(g, 15)) {
    gen_expr *both = gen_node(g, GEN_AND, GEN_BOOL, 2);
    both->kids[0] = test;
    both->kids[1] = gen_condition(g, depth ? depth - 1 : 0);
    test = both;
  }
  e->kids[n] = test;
  g->loop_depth++;
  gen_expr *next = gen_node(g, GEN_OP, types[0], 2);
  next->op = GEN_ADD;
  next->kids[0] = gen_node(g, GEN_VAR, types[0], 0);
  next->kids[0]->as.var = e->as.vars[0];
  next->kids[1] = gen_small_int(g, types[0], 1 + (int64_t)below(g, 2));
  gen_expr *body = next;
  if (n > 1) {
    body = gen_node(g, GEN_TUPLE, whole, n);
    body->kids[0] = next;
    for (uint32_t i = 1; i < n; i++) body->kids[i] = gen_expr_of(g, types[i], depth);
  }
  body->parens = false;
  e->kids[n + 1] = body;
  g->loop_depth--;
  g->n_scope = mark;
  return e;
}

/* A loop for a value of any type: `{ let (_, r) = loop ...; r }`, or the loop itself if the type
 * allows. */
static gen_expr *loop_of(gen *g, gen_type type, uint32_t depth) {
  if (is_int(g, type) && chance(g, 40)) return loop_with(g, &type, 1, depth);
  if (gen_is_tuple(type) && is_int(g, gen_tuple_of(g->p, type)->parts[0])) {
    gen_tuple t = *gen_tuple_of(g->p, type); /* the table may grow */
    return loop_with(g, t.parts, t.n, depth);
  }
  gen_type types[GEN_MAX_PARTS] = {int_type(g), type, gen_scalar_type(g)};
  uint32_t n = 2 + below(g, 2);
  gen_type whole = gen_tuple_type(g->p, types, n);
  if (whole == GEN_ERROR) return gen_leaf(g, type);
  gen_expr *loop = loop_with(g, types, n, depth);
  gen_expr *e = gen_node(g, GEN_BLOCK, type, 2);
  e->as.lets = GEN_NEW_ARRAY(&g->p->pool, gen_let, 1);
  e->as.lets[0].binder = (gen_binder){.type = whole, .n = n};
  e->as.lets[0].binder.parts = GEN_NEW_ARRAY(&g->p->pool, gen_binder, n);
  for (uint32_t i = 0; i < n; i++) e->as.lets[0].binder.parts[i].type = types[i];
  gen_var *r = e->as.lets[0].binder.parts[1].var = gen_new_var(g, type);
  snprintf(r->name, sizeof r->name, "r%u", g->n_names++);
  e->kids[0] = loop;
  e->kids[1] = gen_node(g, GEN_VAR, type, 0);
  e->kids[1]->as.var = r;
  return e;
}

static gen_expr *fail_of(gen *g, gen_type type, uint32_t depth) {
  gen_expr *e = gen_node(g, GEN_FAIL, type, 1);
  e->kids[0] = gen_expr_of(g, chance(g, 50) ? GEN_I32 : GEN_I64, depth ? depth - 1 : 0);
  return e;
}

/* `if <rarely> then fail(..) else value` */
gen_expr *gen_guarded_fail(gen *g, gen_type type, uint32_t depth) {
  gen_expr *e = gen_node(g, GEN_IF, type, 3);
  bool first = chance(g, 50);
  if (chance(g, 30)) {
    e->kids[0] = gen_condition(g, depth);
  } else { /* true for one value of many */
    gen_type t = gen_number_type(g);
    gen_expr *test = e->kids[0] = gen_node(g, GEN_OP, GEN_BOOL, 2);
    test->op = first ? GEN_EQ : GEN_NE;
    test->kids[0] = gen_leaf(g, t);
    test->kids[1] = gen_small_int(g, t, (int64_t)below(g, 20) - 5);
  }
  e->kids[first ? 1 : 2] = fail_of(g, type, depth);
  e->kids[first ? 2 : 1] = gen_expr_of(g, type, depth);
  return e;
}

/* ---- calls ---- */

static bool class_allows(gen_class callee, gen_class of) {
  return callee == GEN_ANY_NUMBER ? of != GEN_NO_X : callee == of;
}

/* The binding of the callee's X with which a value of type `pattern` has type `want`. */
static bool unify(const gen_program *p, gen_type pattern, gen_type want, gen_type *binding) {
  if (pattern == GEN_X) {
    if (want > GEN_X || want == GEN_BOOL || (*binding != GEN_UNKNOWN && *binding != want))
      return false;
    *binding = want;
    return true;
  }
  if (!gen_is_tuple(pattern)) return pattern == want;
  if (!gen_is_tuple(want) || gen_tuple_of(p, pattern)->n != gen_tuple_of(p, want)->n) return false;
  for (uint32_t i = 0; i < gen_tuple_of(p, want)->n; i++)
    if (!unify(p, gen_tuple_of(p, pattern)->parts[i], gen_tuple_of(p, want)->parts[i], binding))
      return false;
  return true;
}

gen_type gen_binding_for(gen *g, gen_class callee) {
  if (g->fn->x != GEN_NO_X && class_allows(callee, g->fn->x) && chance(g, 60)) return GEN_X;
  switch (callee) {
  case GEN_ANY_INT: return chance(g, 50) ? GEN_I32 : GEN_I64;
  case GEN_ANY_FLOAT: return chance(g, 50) ? GEN_F32 : GEN_F64;
  default: return GEN_I32 + below(g, 4);
  }
}

static gen_expr *fuel_argument(gen *g, gen_fn *callee, bool in_group) {
  gen_type t = callee->fuel->type;
  if (!in_group) {
    if (chance(g, 20)) { /* computed from variables, but small */
      gen_expr *e = gen_node(g, GEN_OP, t, 2);
      e->op = GEN_BAND;
      e->kids[0] = gen_expr_of(g, t, 1);
      e->kids[1] = gen_small_int(g, t, callee->group == GEN_TAIL ? 31 : 3);
      return e;
    }
    /* Usually little; sometimes enough that starting threads pays: a tree of two or three calls
     * at each node then has some thousands. */
    static const uint32_t most_of_tree[] = {14, 14, 13, 9};
    uint32_t most = callee->group == GEN_TAIL           ? (chance(g, 20) ? 300 : 20)
                    : chance(g, callee->tree ? 50 : 35) ? most_of_tree[callee->tree]
                                                        : 3 + g->size / (callee->tree ? 4 : 2);
    return gen_small_int(g, t, (int64_t)below(g, most));
  }
  gen_expr *e = gen_node(g, GEN_OP, t, 2);
  e->op = callee->group == GEN_FUEL && chance(g, 12) ? GEN_DIV : GEN_SUB;
  e->kids[0] = gen_node(g, GEN_VAR, t, 0);
  e->kids[0]->as.var = g->fn->fuel;
  e->kids[1] = gen_small_int(g, t, e->op == GEN_DIV || chance(g, 25) ? 2 : 1);
  return e;
}

gen_expr *gen_call_fn(gen *g, gen_fn *callee, gen_type type, gen_type binding, uint32_t depth,
                      bool in_group) {
  gen_expr *e = gen_node(g, GEN_CALL, type, callee->n_params);
  e->as.fn = callee;
  e->binding = binding;
  for (uint32_t i = 0; i < callee->n_params; i++) {
    gen_type t = gen_substitute(g->p, callee->params[i]->type, binding);
    if (t == GEN_ERROR) return NULL;
    if (in_group && callee->params[i] == callee->subject) {
      e->kids[i] = gen_node(g, GEN_VAR, t, 0);
      e->kids[i]->as.var = gen_part_var(g, t);
      continue;
    }
    e->kids[i] = callee->params[i] == callee->fuel ? fuel_argument(g, callee, in_group)
                                                   : gen_expr_of(g, t, depth);
  }
  return e;
}

/* A call with a result of the type, or NULL. */
gen_expr *gen_call_of(gen *g, gen_type type, uint32_t depth, bool in_group) {
  uint32_t from = in_group ? g->first_of_group : 0,
           to = in_group ? g->end_of_group : g->first_of_group;
  if (from == to) return NULL;
  uint32_t start = below(g, to - from);
  for (uint32_t k = 0; k < to - from; k++) {
    gen_fn *callee = g->p->fns[from + (start + k) % (to - from)];
    gen_type binding = GEN_UNKNOWN;
    if (!unify(g->p, callee->result, type, &binding)) continue;
    if (callee->x != GEN_NO_X && binding == GEN_UNKNOWN) binding = gen_binding_for(g, callee->x);
    if (callee->x != GEN_NO_X && !class_allows(callee->x, class_of(g, binding))) continue;
    if (in_group && callee->subject && !gen_part_var(g, callee->subject->type)) continue;
    return gen_call_fn(g, callee, type, binding, depth, in_group);
  }
  return NULL;
}

/* ---- any expression ---- */

static gen_expr *number_of(gen *g, gen_type type, uint32_t depth) {
  static const gen_op arithmetic[] = {GEN_ADD, GEN_ADD, GEN_SUB, GEN_SUB,
                                      GEN_MUL, GEN_MUL, GEN_DIV, GEN_REM};
  static const gen_op numeric[] = {GEN_NEG, GEN_ABS, GEN_RELU, GEN_MIN, GEN_MAX};
  static const gen_op bits[] = {GEN_BAND, GEN_BOR,  GEN_BXOR,     GEN_BNOT, GEN_SHL, GEN_SHR,
                                GEN_SHL,  GEN_SHRU, GEN_POPCOUNT, GEN_CLZ,  GEN_CTZ, GEN_SHRU};
  uint32_t k = below(g, 100);
  if (k < 45) return op_of(g, arithmetic[below(g, 8)], type, type, depth);
  if (k < 60) return op_of(g, numeric[below(g, 5)], type, type, depth);
  if (k < 80 && is_int(g, type)) return op_of(g, bits[below(g, 12)], type, type, depth);
  if (k < 80 && is_floating(g, type))
    return op_of(g, GEN_FLOOR + below(g, GEN_N_OPS - GEN_FLOOR), type, type, depth);
  if (k < 92 && type != GEN_X) {
    gen_expr *e = gen_node(g, GEN_CAST, type, 1);
    e->kids[0] = gen_expr_of(g, gen_scalar_type(g), depth);
    return e;
  }
  return op_of(g, arithmetic[below(g, 8)], type, type, depth);
}

static gen_expr *bool_of(gen *g, uint32_t depth) {
  uint32_t k = below(g, 100);
  if (k < 50) {
    gen_type t =
        gen_scalar_type(g); /* a separate statement: compilers differ in the order of arguments */
    return op_of(g, GEN_EQ + below(g, 6), GEN_BOOL, t, depth);
  }
  if (k < 55) {
    gen_type t = gen_number_type(g);
    if (is_floating(g, t)) return op_of(g, GEN_ISNAN + below(g, 2), GEN_BOOL, t, depth);
    return op_of(g, GEN_EQ + below(g, 6), GEN_BOOL, t, depth);
  }
  if (k < 80) {
    gen_expr *e = gen_node(g, chance(g, 50) ? GEN_AND : GEN_OR, GEN_BOOL, 2);
    e->kids[0] = gen_condition(g, depth);
    e->kids[1] = gen_condition(g, depth);
    return e;
  }
  if (k < 90) {
    gen_expr *e = gen_node(g, GEN_NOT, GEN_BOOL, 1);
    e->kids[0] = gen_condition(g, depth);
    return e;
  }
  if (k < 95) return op_of(g, GEN_BAND + below(g, 4), GEN_BOOL, GEN_BOOL, depth);
  gen_expr *e = gen_node(g, GEN_CAST, GEN_BOOL, 1);
  e->kids[0] = gen_expr_of(g, gen_scalar_type(g), depth);
  return e;
}

gen_expr *gen_expr_of(gen *g, gen_type type, uint32_t depth) {
  if (depth == 0 || g->nodes <= 0) return gen_leaf(g, type);
  depth--;
  if (g->is_const) { /* no variables, no control but `if` */
    if (chance(g, 20)) return if_of(g, type, depth);
    return type == GEN_BOOL ? bool_of(g, depth) : number_of(g, type, depth);
  }
  uint32_t k = below(g, 100);
  gen_expr *e = NULL;
  if (g->rec > 0 && !g->loop_depth && k < 40) {
    g->rec--;
    e = gen_call_of(g, type, depth, true);
    if (!e) g->rec++;
  }
  if (!e && g->calls > 0 && k < 16) {
    g->calls -= g->loop_depth ? 2 : 1;
    e = gen_call_of(g, type, depth, false);
  }
  if (e) return e;
  if (g->p->n_datas && chance(g, 25) && (e = gen_taken_of(g, type, depth))) return e;
  if (k < 20) return if_of(g, type, depth);
  if (k < 26) return match_of(g, type, depth);
  if (k < 34) return gen_block_of(g, type, depth, 1 + below(g, 3), gen_expr_of);
  if (k < 39 && g->loop_depth < 2) return loop_of(g, type, depth);
  if (k < 41) return gen_guarded_fail(g, type, depth);
  if (k < 42 && chance(g, 8)) return fail_of(g, type, depth);
  if (k < 50) return gen_leaf(g, type);
  if (gen_is_tuple(type)) {
    e = gen_node(g, GEN_TUPLE, type, gen_tuple_of(g->p, type)->n);
    for (uint32_t i = 0; i < e->n; i++)
      e->kids[i] = gen_expr_of(g, gen_tuple_of(g->p, type)->parts[i], depth);
    return e;
  }
  if (gen_is_reference(type)) return gen_reference_of(g, type, depth);
  if (k < 54) {
    e = gen_node(g, GEN_SELECT, type, 3);
    e->kids[0] = gen_condition(g, depth);
    e->kids[1] = gen_expr_of(g, type, depth);
    e->kids[2] = gen_expr_of(g, type, depth);
    return e;
  }
  return type == GEN_BOOL ? bool_of(g, depth) : number_of(g, type, depth);
}
