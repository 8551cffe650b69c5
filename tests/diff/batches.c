/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs with tensors that batch (a diff_sort): functions that walk over trees, and call each
 * other, multiply with params, and pass on what they compute, and scalars that depend on it,
 * through calls, branches, loops, comprehensions, tuples and data. Control depends on such scalars
 * now and then. Loops keep their states, and attend to them: how many there are is known only in a
 * run. Some indices are out of range, some divisors are zero. All other sizes are constant; they
 * are small, and each is used for several things. */
#include "tests/diff/run.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum kind {
  NUM, /* of the program's dtype */
  VEC,
  INT,
  TREE, /* data from outside */
  OUT,  /* data that the program makes */
} kind;

typedef struct type {
  kind k;
  uint32_t n; /* VEC: how many elements */
} type;

enum { MAX_VARS = 64, N_SIZES = 3, MAX_FNS = 4, MAX_PARTS = 3, N_WORDS = 5 };

typedef struct var {
  type t;
  uint32_t number; /* "v7" */
} var;

/* A function of a tree, and of other things. */
typedef struct function {
  type params[MAX_PARTS], results[MAX_PARTS];
  uint32_t n_params, n_results;
} function;

typedef struct gen {
  gen_random r;
  gen_text *out;
  const char *dtype;
  uint32_t sizes[N_SIZES];
  function fns[MAX_FNS];
  uint32_t n_fns, at; /* the function that is being written, or n_fns */
  var scope[MAX_VARS];
  uint32_t n_vars, n_names;
  uint32_t depth;          /* of expressions */
  uint32_t calls;          /* that may still be made here */
  bool has_taps, has_kids; /* host functions; nodes with any number of children */
  bool is_smooth;          /* nothing fails, nor reads an element to decide */
} gen;

static uint32_t below(gen *g, uint32_t n) { return gen_below(&g->r, n); }
static bool chance(gen *g, uint32_t percent) { return gen_chance(&g->r, percent); }

#define put(g, ...) gen_text_add((g)->out, __VA_ARGS__)

static uint32_t size(gen *g) { return g->sizes[below(g, N_SIZES)]; }
static type vec(uint32_t n) { return (type){VEC, n}; }
static const type num = {NUM, 0}, integer = {INT, 0}, tree = {TREE, 0}, object = {OUT, 0};

static void write_type(gen *g, type t) {
  static const char *const names[] = {"", "", "i32", "Tree", "Out"};
  if (t.k == NUM)
    put(g, "%s", g->dtype);
  else if (t.k == VEC)
    put(g, "%s[%u]", g->dtype, t.n);
  else
    put(g, "%s", names[t.k]);
}

static void expr(gen *g, type t, uint32_t depth);

/* ---- parts of expressions ---- */

/* "text $ text $ text", with an expression for each $, of the types that follow. */
static void form(gen *g, uint32_t depth, const char *text, ...) {
  va_list args;
  va_start(args, text);
  for (const char *s = text; *s; s++) {
    if (*s != '$') {
      gen_text_add(g->out, "%c", *s);
      continue;
    }
    type t = va_arg(args, type);
    expr(g, t, depth);
  }
  va_end(args);
}

static void literal(gen *g, kind k) {
  static const char *const numbers[] = {"0.5", "-0.25", "1.0", "0.0", "2.0", "0.125", "-1.5"};
  static const char *const integers[] = {"0", "1", "2", "3", "-1", "7"};
  if (k == INT)
    put(g, "%s", integers[below(g, 6)]);
  else
    put(g, "%s(%s)", g->dtype, numbers[below(g, 7)]);
}

static bool is_same(type a, type b) { return a.k == b.k && (a.k != VEC || a.n == b.n); }

/* False: there is no variable of the type. */
static bool variable(gen *g, type t) {
  uint32_t n = 0, k;
  for (uint32_t i = 0; i < g->n_vars; i++) n += is_same(g->scope[i].t, t);
  if (!n) return false;
  k = chance(g, 50) ? n - 1 : below(g, n); /* the newest are used most */
  for (uint32_t i = 0; i < g->n_vars; i++)
    if (is_same(g->scope[i].t, t) && k-- == 0) put(g, "v%u", g->scope[i].number);
  return true;
}

static uint32_t add(gen *g, type t) {
  if (g->n_vars < MAX_VARS) g->scope[g->n_vars++] = (var){t, g->n_names};
  return g->n_names++;
}

/* An index of something with n elements. */
static void index_of(gen *g, uint32_t n, uint32_t depth) {
  if (!g->is_smooth && chance(g, 2))
    expr(g, integer, depth);
  else if (chance(g, 40))
    put(g, "%u", below(g, n));
  else
    form(g, depth, "(abs($ % 1000) % ", integer), put(g, "%u)", n);
}

static void condition(gen *g, uint32_t depth) {
  if (chance(g, g->is_smooth ? 15 : 40))
    form(g, depth, chance(g, 50) ? "$ > $" : "$ <= $", num, num);
  else if (chance(g, 20))
    form(g, depth, "$ % 3 == 1 and $ > 0", integer, integer);
  else
    form(g, depth, "$ % 2 == 0", integer);
}

/* A call of a function of trees; `of`: the tree. */
static void call(gen *g, uint32_t f, const char *of, uint32_t depth) {
  put(g, "f%u(%s", f, of);
  for (uint32_t i = 0; i < g->fns[f].n_params; i++) {
    put(g, ", ");
    expr(g, g->fns[f].params[i], depth);
  }
  put(g, ")");
}

/* Part i of a function's result, or the whole if there is one. */
static void part(gen *g, uint32_t f, uint32_t i) {
  if (g->fns[f].n_results > 1) put(g, ".%u", i);
}

/* A call whose result has a part of this type: there may be one. */
static bool taken(gen *g, type t, uint32_t depth) {
  const char *name = NULL;
  char text[16];
  if (!g->calls) return false;
  uint32_t f = below(g, g->at < g->n_fns ? g->at + 1 : g->n_fns);
  if (f == g->at || chance(g, 70)) { /* of a subtree, and so of any function */
    f = below(g, g->n_fns);
    for (uint32_t i = g->n_vars; i-- > 0 && !name;)
      if (g->scope[i].t.k == TREE && chance(g, 70)) {
        snprintf(text, sizeof text, "v%u", g->scope[i].number);
        name = text;
      }
  } else if (g->at < g->n_fns) {
    name = "t";
  }
  if (!name) return false;
  for (uint32_t i = 0; i < g->fns[f].n_results; i++)
    if (is_same(g->fns[f].results[i], t)) {
      g->calls--;
      call(g, f, name, depth);
      part(g, f, i);
      return true;
    }
  return false;
}

/* { let v1 = ..; let v2 = ..; .. } */
static void block(gen *g, type t, uint32_t n, uint32_t depth) {
  uint32_t vars = g->n_vars;
  put(g, "{ ");
  for (uint32_t i = 0; i < n; i++) {
    type of = chance(g, 60) ? vec(size(g)) : chance(g, 70) ? num : chance(g, 50) ? integer : object;
    gen_text *out = g->out, value = {0};
    g->out = &value; /* the variable is not there yet */
    expr(g, of, depth);
    g->out = out;
    put(g, "let v%u: ", add(g, of));
    write_type(g, of);
    gen_text_add(g->out, " = %s; ", value.data);
    gen_text_free(&value);
  }
  expr(g, t, depth);
  put(g, " }");
  g->n_vars = vars;
}

static void branch(gen *g, type t, uint32_t depth) {
  put(g, "(if ");
  condition(g, depth);
  put(g, " then ");
  expr(g, t, depth);
  put(g, " else ");
  expr(g, t, depth);
  put(g, ")");
}

/* A loop with a variable of type t, and another one. */
static void rounds(gen *g, type t, uint32_t depth) {
  type second = chance(g, 50) ? num : vec(size(g));
  uint32_t calls = g->calls, vars = g->n_vars;
  put(g, "{ let (r, q, _) = loop (");
  gen_text *out = g->out, first = {0};
  g->out = &first;
  expr(g, t, depth);
  gen_text_add(g->out, ", ");
  uint32_t cut = (uint32_t)first.len;
  expr(g, second, depth);
  g->out = out;
  uint32_t a = add(g, t), b = add(g, second), k = add(g, integer);
  put(g, "v%u: ", a);
  write_type(g, t);
  gen_text_add(g->out, " = %.*s, v%u: ", (int)cut - 2, first.data, b);
  write_type(g, second);
  gen_text_add(g->out, " = %s, v%u = 0) while v%u < ", first.data + cut, k, k);
  gen_text_free(&first);
  if (chance(g, 70))
    put(g, "%u", below(g, 4));
  else
    form(g, depth, "abs($) % 4", integer);
  g->calls = 0;
  if (chance(g, 20)) put(g, " and "), condition(g, depth);
  put(g, " { (");
  expr(g, t, depth);
  put(g, ", ");
  expr(g, second, depth);
  put(g, ", v%u + 1) }; ", k);
  g->n_vars = vars;
  if (second.k == NUM && chance(g, 60)) {
    put(g, "r * q }"); /* of a vector or a number */
  } else {
    put(g, "r }");
  }
  g->calls = calls;
}

static void match(gen *g, type t, uint32_t depth) {
  uint32_t vars = g->n_vars;
  put(g, "(match ");
  if (!variable(g, object)) expr(g, object, depth);
  uint32_t x = add(g, num), k = add(g, integer);
  put(g, " { End(v%u, v%u) => ", x, k);
  expr(g, t, depth);
  g->n_vars = vars;
  uint32_t o = add(g, object), h = add(g, vec(g->sizes[0])), y = add(g, num);
  put(g, ", Inner(v%u, v%u, v%u) => ", o, h, y);
  expr(g, t, depth);
  put(g, " })");
  g->n_vars = vars;
}

/* ---- expressions ---- */

static void number(gen *g, uint32_t d) {
  type v = vec(size(g));
  switch (below(g, 24)) {
  case 0: form(g, d, "tanh($)", num); return;
  case 1: form(g, d, "sigmoid($ * $)", num, num); return;
  case 2:
  case 3: form(g, d, "($ + $)", num, num); return;
  case 4: form(g, d, "($ - $)", num, num); return;
  case 5:
  case 6: form(g, d, "($ * $)", num, num); return;
  case 7: form(g, d, "max($, $)", num, num); return;
  case 8: form(g, d, "sum($)", v); return;
  case 9: form(g, d, "mean($)", v); return;
  case 10: form(g, d, "max($)", v); return;
  case 11: form(g, d, "($ @ $)", v, v); return;
  case 12:
  case 13:
  case 14:
    form(g, d, "$[", v);
    index_of(g, v.n, d);
    put(g, "]");
    return;
  case 15:
    form(g, d, "cross_entropy($, ", v);
    index_of(g, v.n, d);
    put(g, ")");
    return;
  case 16: put(g, "%s", g->dtype), form(g, d, "($ % 5)", integer); return;
  case 17: put(g, "s"); return;
  case 18: branch(g, num, d); return;
  case 19: rounds(g, num, d); return;
  case 20: block(g, num, 1 + below(g, 2), d); return;
  case 21: match(g, num, d); return;
  case 22:
    if (g->is_smooth) break;
    if (g->has_taps)
      put(g, "tap_%s", g->dtype), form(g, d, "($)", num);
    else
      put(g, "%s", g->dtype), form(g, d, "(100 / ($ + 8))", integer);
    return;
  default: form(g, d, "abs($)", num); return;
  }
  literal(g, NUM);
}

/* A comprehension over numbers of which one is v<k>. */
static void comprehension(gen *g, uint32_t n, uint32_t d) {
  uint32_t vars = g->n_vars, calls = g->calls;
  g->calls = 0;
  uint32_t k = g->n_names;
  add(g, integer);
  put(g, "[");
  expr(g, num, d);
  put(g, " for v%u in 0..%u]", k, n);
  g->n_vars = vars;
  g->calls = calls;
}

/* What attends to the rows `p` by a variable; of the first v<k> + 1 rows, or of all of them. */
static void attention(gen *g, uint32_t query, uint32_t k, bool is_whole) {
  char rows[40] = "p";
  if (!is_whole) snprintf(rows, sizeof rows, "p[0..i64(v%u) + 1]", k);
  if (chance(g, 80))
    put(g, "softmax(%s @ v%u) @ %s", rows, query, rows);
  else
    put(g, "(tanh(%s @ v%u) @ %s)", rows, query, rows);
}

/* A loop over up to four rounds, which keeps a state of each, and attends to those that there are:
 * a matrix of which the number of rows is known only in a run. */
static void history(gen *g, uint32_t n, uint32_t own, uint32_t d) {
  uint32_t vars = g->n_vars, calls = g->calls;
  bool grows = chance(g, 30), is_at_once = chance(g, 40);
  gen_text *out = g->out, first = {0};
  form(g, d, "{ let m = abs($ % 1000) % 5; ", integer);
  g->out = &first;
  expr(g, vec(n), d);
  g->out = out;
  uint32_t query = add(g, vec(n)), k = add(g, integer), seen = g->n_names++, state = g->n_names++;
  put(g, "let (p, v%u, _) = loop (p = full(%s(0.0), %s, %u), ", query, g->dtype,
      grows ? "1" : "i64(m) + 1", n);
  put(g, "v%u: %s[%u] = %s, v%u = 0) while v%u < m { ", query, g->dtype, n, first.data, k, k);
  gen_text_free(&first);
  g->calls = 0;
  if (!is_at_once) {
    put(g, "let v%u = ", seen);
    attention(g, query, k, grows);
    put(g, "; ");
    g->scope[g->n_vars < MAX_VARS ? g->n_vars++ : MAX_VARS - 1] = (var){vec(n), seen};
  }
  put(g, "let v%u: %s[%u] = ", state, g->dtype, n);
  if (chance(g, 60))
    put(g, "tanh(W%u%u @ ", own, own), form(g, d, "$); ", vec(n));
  else
    form(g, d, "$; ", vec(n));
  if (grows)
    put(g, "(concat(p, [v%u], axis = 0), v%u, v%u + 1) }; ", state, state, k);
  else
    put(g, "(set(p, v%u + 1, v%u), v%u, v%u + 1) }; ", k, state, state, k);
  g->calls = calls;
  g->n_vars = vars;
  if (is_at_once)
    attention(g, query, k, true);
  else if (chance(g, 40))
    put(g, "%s(p @ W%u%u, axis = 0)", chance(g, 50) ? "sum" : "mean", own, own);
  else
    put(g, "v%u", query);
  put(g, " }");
}

static void vector(gen *g, uint32_t n, uint32_t d) {
  type v = vec(n);
  uint32_t other = below(g, N_SIZES), own = 0;
  while (g->sizes[own] != n) own++;
  uint32_t m = g->sizes[other];
  switch (below(g, 29)) {
  case 0:
  case 1:
  case 2:
  case 3:
  case 4: put(g, "tanh(W%u%u @ ", own, other), form(g, d, "$)", vec(m)); return;
  case 5: put(g, "(W%u%u @ ", own, other), form(g, d, "$ + $)", vec(m), v); return;
  case 6: form(g, d, "($ @ ", vec(m)), put(g, "W%u%u)", other, own); return;
  case 7: put(g, "(R%u @ ", own), form(g, d, "$ @ $)", v, v); return;
  case 8:
  case 9: form(g, d, "($ + $)", v, v); return;
  case 10: form(g, d, "($ * $)", v, v); return;
  case 11: form(g, d, "sigmoid($)", v); return;
  case 12: form(g, d, "($ * $)", v, num); return;
  case 13: form(g, d, "max($, $)", v, num); return;
  case 14: form(g, d, "softmax($)", v); return;
  case 15:
    put(g, "E%u[", own);
    index_of(g, N_WORDS, d);
    put(g, "]");
    return;
  case 16: form(g, d, "concat($, $)", v, vec(m)), put(g, "[%u..%u]", m / 2, m / 2 + n); return;
  case 17:
    form(g, d, "set($, ", v);
    index_of(g, n, d);
    form(g, d, ", $)", num);
    return;
  case 18: branch(g, v, d); return;
  case 19: rounds(g, v, d); return;
  case 20: block(g, v, 1 + below(g, 3), d); return;
  case 21: match(g, v, d); return;
  case 22: comprehension(g, n, d); return;
  case 23: form(g, d, "(outer($, $) @ $)", v, vec(m), vec(m)); return;
  case 24: form(g, d, "select($ > $, $, $)", v, v, v, v); return;
  case 25: form(g, d, "sum(stack($, $, $), axis = 0)", v, v, v); return;
  case 26:
  case 27: history(g, n, own, d); return;
  default: put(g, "b%u", own); return;
  }
}

static void whole(gen *g, uint32_t d) {
  type v = vec(size(g));
  switch (below(g, 8)) {
  case 0: form(g, d, "i32(argmax($))", v); return;
  case 1: form(g, d, "($ + $)", integer, integer); return;
  case 2: form(g, d, "bxor($, $)", integer, integer); return;
  case 3: branch(g, integer, d); return;
  case 4: form(g, d, "i32($ * 10.0)", num); return;
  case 5: match(g, integer, d); return;
  default: literal(g, INT); return;
  }
}

static void made(gen *g, uint32_t d) {
  if (chance(g, 20))
    branch(g, object, d);
  else if (chance(g, 50))
    form(g, d, "End($, $)", num, integer);
  else
    form(g, d, "Inner($, $, $)", object, vec(g->sizes[0]), num);
}

static void leaf(gen *g, type t) {
  if (variable(g, t)) return;
  uint32_t own = 0;
  while (t.k == VEC && g->sizes[own] != t.n) own++;
  if (t.k == VEC && chance(g, 50))
    put(g, "E%u[%u]", own, below(g, N_WORDS));
  else if (t.k == VEC)
    put(g, "b%u", own);
  else if (t.k == OUT)
    put(g, "End(s, 0)");
  else
    literal(g, t.k);
}

static void expr(gen *g, type t, uint32_t depth) {
  if (depth == 0 || (chance(g, 25) && variable(g, t))) {
    if (depth == 0) leaf(g, t);
    return;
  }
  if (t.k != TREE && chance(g, 20) && taken(g, t, depth - 1)) return;
  switch (t.k) {
  case NUM: number(g, depth - 1); return;
  case VEC: vector(g, t.n, depth - 1); return;
  case INT: whole(g, depth - 1); return;
  case OUT: made(g, depth - 1); return;
  case TREE: leaf(g, tree); return;
  }
}

/* ---- functions ---- */

static void results(gen *g, const function *f, uint32_t depth) {
  put(g, f->n_results > 1 ? "(" : "");
  for (uint32_t i = 0; i < f->n_results; i++) {
    if (i) put(g, ", ");
    expr(g, f->results[i], depth);
  }
  put(g, f->n_results > 1 ? ")" : "");
}

/* let (v1, v2) = f1(l, ..); */
static void let_call(gen *g, const char *of) {
  uint32_t f = below(g, g->n_fns), first = g->n_names;
  const function *fn = &g->fns[f];
  g->n_names += fn->n_results;
  put(g, "\n      let ");
  put(g, fn->n_results > 1 ? "(" : "");
  for (uint32_t i = 0; i < fn->n_results; i++) put(g, "%sv%u", i ? ", " : "", first + i);
  put(g, fn->n_results > 1 ? ") = " : " = ");
  uint32_t calls = g->calls;
  g->calls = 0;
  call(g, f, of, 1);
  g->calls = calls;
  put(g, ";");
  for (uint32_t i = 0; i < fn->n_results && g->n_vars < MAX_VARS; i++)
    g->scope[g->n_vars++] = (var){fn->results[i], first + i};
}

static void arm(gen *g, const function *f, const char *const *trees, uint32_t n_trees) {
  put(g, "{");
  g->calls = n_trees ? 2 : 1;
  for (uint32_t i = 0; i < n_trees; i++)
    if (chance(g, 85)) let_call(g, trees[i]);
  put(g, "\n      ");
  for (uint32_t i = below(g, 3); i > 0; i--) {
    type t = chance(g, 60) ? vec(size(g)) : num;
    gen_text *out = g->out, value = {0};
    g->out = &value;
    expr(g, t, g->depth);
    g->out = out;
    put(g, "let v%u = ", add(g, t));
    gen_text_add(g->out, "%s;\n      ", value.data);
    gen_text_free(&value);
  }
  results(g, f, g->depth);
  put(g, " }");
}

static void write_function(gen *g, uint32_t number) {
  const function *f = &g->fns[number];
  g->at = number;
  g->n_vars = 0;
  put(g, "fn f%u(t: Tree", number);
  for (uint32_t i = 0; i < f->n_params; i++) {
    put(g, ", v%u: ", add(g, f->params[i]));
    write_type(g, f->params[i]);
  }
  put(g, ") -> %s", f->n_results > 1 ? "(" : "");
  for (uint32_t i = 0; i < f->n_results; i++) {
    put(g, i ? ", " : "");
    write_type(g, f->results[i]);
  }
  put(g, "%s =\n  match t {\n", f->n_results > 1 ? ")" : "");
  uint32_t vars = g->n_vars, word = add(g, integer), label = add(g, integer);
  put(g, "    Leaf(v%u, v%u) => ", word, label);
  arm(g, f, NULL, 0);
  g->n_vars = vars;
  uint32_t of = add(g, vec(g->sizes[1]));
  put(g, ",\n    Cell(v%u) => ", of);
  arm(g, f, NULL, 0);
  g->n_vars = vars;
  uint32_t l = add(g, tree), r = add(g, tree);
  label = add(g, integer);
  char left[16], right[16];
  snprintf(left, sizeof left, "v%u", l);
  snprintf(right, sizeof right, "v%u", r);
  put(g, ",\n    Node(v%u, v%u, v%u) => ", l, r, label);
  arm(g, f, (const char *const[]){left, right}, 2);
  g->n_vars = vars;
  if (g->has_kids) { /* the sum of a part of each child's result */
    uint32_t kids = g->n_names++, k = below(g, g->n_fns), each = g->n_names++;
    label = add(g, integer);
    put(g, ",\n    Many(v%u, v%u) => { let xs = [", kids, label);
    char kid[16];
    snprintf(kid, sizeof kid, "v%u", each);
    g->calls = 0;
    uint32_t i = below(g, g->fns[k].n_results);
    type t = g->fns[k].results[i];
    call(g, k, kid, 2);
    part(g, k, i);
    put(g, " for v%u in v%u];\n      ", each, kids);
    if (t.k == NUM)
      put(g, "let v%u = sum(xs); ", add(g, num));
    else if (t.k == VEC)
      put(g, "let v%u = if len(xs) == 0 then b%u else sum(xs, axis = 0); ", g->n_names,
          t.n == g->sizes[0]   ? 0
          : t.n == g->sizes[1] ? 1
                               : 2),
          add(g, t);
    else
      put(g, "let v%u = i32(len(xs)); ", add(g, integer));
    arm(g, f, NULL, 0);
    put(g, " }");
    g->n_vars = vars;
  }
  put(g, "\n  }\n");
}

/* ---- the program ---- */

static void write_head(gen *g) {
  const uint32_t *n = g->sizes;
  if (g->has_taps) put(g, "extern impure fn tap_%s(x: %s) -> %s\n", g->dtype, g->dtype, g->dtype);
  for (uint32_t i = 0; i < N_SIZES; i++) {
    for (uint32_t k = 0; k < N_SIZES; k++)
      put(g, "param W%u%u: %s[%u, %u] = uniform(-0.9, 0.9)\n", i, k, g->dtype, n[i], n[k]);
    put(g, "param R%u: %s[%u, %u, %u] = uniform(-0.7, 0.7)\n", i, g->dtype, n[i], n[i], n[i]);
    put(g, "param E%u: %s[%u, %u] = uniform(-1.0, 1.0)\n", i, g->dtype, N_WORDS, n[i]);
    put(g, "param b%u: %s[%u] = uniform(-0.5, 0.5)\n", i, g->dtype, n[i]);
  }
  put(g, "param s: %s = uniform(0.5, 1.5)\n", g->dtype);
  put(g, "type Tree = Leaf(word: i32, label: i32) | Cell(h: %s[%u]) | ", g->dtype, n[1]);
  put(g, "Node(left: Tree, right: Tree, label: i32)%s\n",
      g->has_kids ? " | Many(kids: [Tree], label: i32)" : "");
  put(g, "type Out = End(x: %s, k: i32) | Inner(rest: Out, h: %s[%u], y: %s)\n", g->dtype, g->dtype,
      n[0], g->dtype);
  put(g, "fn make(depth: i32, seed: i32) -> Tree =\n  if depth <= 0 then if seed %% 4 == 1 then ");
  put(g, "Cell(full(%s(seed %% 7) * 0.25, %u)) else Leaf(seed %% 11, seed)\n", g->dtype, n[1]);
  if (g->has_kids)
    put(g,
        "  else if seed %% 5 == 2 then Many([make(depth - 2, seed * 3 + k) for k in 0..abs(seed) "
        "%% 3], seed)\n");
  put(g, "  else Node(make(depth - 1 - abs(seed) %% 3 / 2, seed * 3 + 1), make(depth - 1, seed * 5 "
         "- 2), seed)\n");
}

/* A number that depends on all of a function's results. */
static void write_total(gen *g, uint32_t f) {
  const function *fn = &g->fns[f];
  g->at = g->n_fns;
  g->n_vars = g->calls = 0;
  put(g, "fn total(t: Tree) -> %s = { let r = f%u(t", g->dtype, f);
  for (uint32_t i = 0; i < fn->n_params; i++) {
    put(g, ", ");
    leaf(g, fn->params[i]);
  }
  put(g, "); %s(0.5)", g->dtype);
  for (uint32_t i = 0; i < fn->n_results; i++) {
    type t = fn->results[i];
    char of[16];
    snprintf(of, sizeof of, fn->n_results > 1 ? "r.%u" : "r", i);
    if (t.k == NUM) put(g, " + %s", of);
    if (t.k == VEC) put(g, " + sum(%s)", of);
    if (t.k == INT) put(g, " + %s(%s %% 7)", g->dtype, of);
    if (t.k == OUT) put(g, " + (match %s { End(x, _) => x, Inner(_, h, y) => sum(h) * y })", of);
  }
  put(g, " }\n");
}

static void write_roots(gen *g, uint32_t f) {
  write_total(g, f);
  put(g,
      "fn value(n: i32, seed: i32, x: %s) -> %s = x * sum([total(make(k %% 4, seed + k)) for k in "
      "0..n])\n",
      g->dtype, g->dtype);
  put(g,
      "fn slope(n: i32, seed: i32, x: %s) = value_and_grad(value, wrt = (x, W00, W12, W21, E0, E1, "
      "b0, b2, R1, s))(n, seed, x)\n",
      g->dtype);
  put(g, "fn all(n: i32, seed: i32, x: %s) = grad(value)(n, seed, x)\n", g->dtype);
  g->n_vars = g->calls = 0;
  gen_text args = {0}, *out = g->out;
  g->out = &args;
  for (uint32_t i = 0; i < g->fns[f].n_params; i++) {
    put(g, ", ");
    leaf(g, g->fns[f].params[i]);
  }
  g->out = out;
  const char *rest = args.data ? args.data : "";
  gen_text_add(out, "fn one(n: i32, seed: i32, x: %s) = f%u(make(n, seed)%s)\n", g->dtype, f, rest);
  gen_text_add(
      out, "fn each(n: i32, seed: i32, x: %s) = [f%u(make(k %% 3, seed - k)%s) for k in 0..n]\n",
      g->dtype, f, rest);
  gen_text_add(out,
               "fn seen(n: i32, seed: i32, x: %s) = [{ let y = total(make(2, seed * k)); if y > x "
               "then (k, y) else (-k, y * x) } for k in 0..n]\n",
               g->dtype);
  gen_text_free(&args);
}

static type any_type(gen *g, uint32_t i) {
  if (i == 0 && chance(g, 70)) return vec(size(g));
  return chance(g, 40) ? vec(size(g)) : chance(g, 60) ? num : chance(g, 50) ? integer : object;
}

static gen_program *make(uint64_t seed, diff_sample *s) {
  static const uint32_t small[] = {1, 2, 3, 4, 5, 8, 17}, large[] = {8, 16, 20, 24, 32, 48, 64};
  const uint32_t *sizes = s->is_large ? large : small;
  gen g = {.r = {seed * 977 + 5}, .out = &s->source};
  g.dtype = chance(&g, 50) ? "f64" : "f32";
  for (uint32_t i = 0; i < N_SIZES; i++) do
      g.sizes[i] = sizes[below(&g, chance(&g, 80) ? 5 : 7)];
    while ((i > 0 && g.sizes[i] == g.sizes[0]) || (i > 1 && g.sizes[i] == g.sizes[1]));
  g.has_taps = chance(&g, 10);
  g.has_kids = chance(&g, 40);
  g.is_smooth = !g.has_taps && chance(&g, 60);
  g.n_fns = 1 + below(&g, chance(&g, 50) ? 2 : MAX_FNS);
  g.depth = 1 + below(&g, g.n_fns > 2 ? 2 : 3);
  for (uint32_t i = 0; i < g.n_fns; i++) {
    function *f = &g.fns[i];
    f->n_params = below(&g, MAX_PARTS);
    f->n_results = 1 + below(&g, MAX_PARTS);
    for (uint32_t k = 0; k < f->n_params; k++) f->params[k] = any_type(&g, 1);
    for (uint32_t k = 0; k < f->n_results; k++) f->results[k] = any_type(&g, k);
    if (chance(&g, 30)) f->results[f->n_results - 1] = object; /* hosts see it */
  }
  write_head(&g);
  for (uint32_t i = 0; i < g.n_fns; i++) write_function(&g, i);
  write_roots(&g, below(&g, g.n_fns));
  static const char *const counts[] = {"0", "1", "3", "4", "7"};
  char text[16];
  snprintf(text, sizeof text, "%u", below(&g, 1000));
  s->args[0] = strdup(counts[below(&g, 5)]);
  s->args[1] = strdup(text);
  s->args[2] = strdup("0.75");
  s->n_args = 3;
  return NULL;
}

static const char *const roots[] = {"value", "slope", "one", "each", "seen", "all"};

const diff_sort diff_batches = {.name = "batch",
                                .roots = roots,
                                .n_roots = sizeof roots / sizeof *roots,
                                .make = make,
                                .batches = true};
