/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The generator: data types, arrays, and functions over them. See gen.c for the rules.
 *
 * Functions of a PARTS group take their subject apart by `match` and call the group for parts of
 * it, so they end. They come in the forms for which hiaton has passes: calls under a constructor
 * (`append`, insertion), calls whose results are collected in a tuple (`partition`), several
 * independent calls (trees), tail calls. */
#include "tests/diff/gen.h"
#include <stdio.h>
#include <string.h>

#define MAX_ARMS 400

/* ---- types ---- */

/* The type of a field: scalars, and data types with numbers below `end`, which may be among those
 * that come later. */
static gen_type field_type(gen *g, uint32_t end) {
  uint32_t k = below(g, 100);
  if (end == 0 || k < 50) return gen_scalar_type(g);
  gen_type t = GEN_FIRST_DATA + below(g, end);
  if (k < 75) return t;
  if (k < 90) return gen_array_type(g->p, t);
  gen_type parts[2] = {gen_scalar_type(g), chance(g, 50) ? t : gen_scalar_type(g)};
  gen_type tuple = gen_tuple_type(g->p, parts, 2);
  return chance(g, 50) ? tuple : gen_array_type(g->p, tuple);
}

static void make_con(gen *g, uint32_t number, gen_con *con, uint32_t n_fields) {
  con->n = n_fields;
  con->fields = GEN_NEW_ARRAY(&g->p->pool, gen_type, n_fields + 1);
  snprintf(con->name, sizeof con->name, "%c", (int)('A' + number));
}

static void make_data(gen *g, uint32_t number, uint32_t n_datas) {
  gen_data *data = &g->p->datas[number];
  gen_type self = GEN_FIRST_DATA + number;
  uint32_t form = below(g, 100);
  bool is_enumeration = form < 15, is_record = !is_enumeration && form < 28;
  snprintf(data->name, sizeof data->name, "T%u", number);
  data->n_cons = is_record         ? 1
                 : !is_enumeration ? 2 + below(g, 3)
                 : chance(g, 15)   ? 250 + below(g, 50) /* around the limit of a byte */
                                   : 1 + below(g, 6);
  data->cons = GEN_NEW_ARRAY(&g->p->pool, gen_con, data->n_cons);
  data->base = below(g, data->n_cons);
  for (uint32_t c = 0; c < data->n_cons; c++) {
    gen_con *con = &data->cons[c];
    bool is_base = c == data->base;
    make_con(g, number, con, is_enumeration ? 0 : is_base ? below(g, 3) : 1 + below(g, 4));
    if (is_record && !con->n) make_con(g, number, con, 2);
    snprintf(con->name + 1, sizeof con->name - 1, "%u", c);
    for (uint32_t i = 0; i < con->n; i++)
      con->fields[i] = is_base         ? field_type(g, number)
                       : chance(g, 45) ? self
                                       : field_type(g, n_datas);
  }
}

void gen_make_types(gen *g) {
  gen_program *p = g->p;
  uint32_t n = 1 + below(g, 4);
  for (uint32_t i = 0; i < n; i++) make_data(g, i, n);
  for (uint32_t i = 0; i < 3; i++) {
    gen_type element = GEN_FIRST_DATA + below(g, n);
    if (chance(g, 50)) {
      gen_type parts[2] = {gen_scalar_type(g), chance(g, 40) ? element : gen_scalar_type(g)};
      element = gen_tuple_type(p, parts, 2);
    }
    gen_type array = gen_array_type(p, element);
    if (chance(g, 15)) gen_array_type(p, array);
  }
  p->n_datas = n;
}

static gen_type data_type(gen *g) { return GEN_FIRST_DATA + below(g, g->p->n_datas); }

gen_type gen_reference_type(gen *g) {
  return chance(g, 60) ? data_type(g) : GEN_FIRST_ARRAY + below(g, g->p->n_arrays);
}

/* A constructor of the type that has a field of this type; NULL if there is none. */
static const gen_con *con_around(gen *g, gen_type t, gen_type field) {
  if (!gen_is_data(t)) return NULL;
  const gen_data *data = gen_data_of(g->p, t);
  uint32_t start = below(g, data->n_cons);
  for (uint32_t k = 0; k < data->n_cons; k++) {
    const gen_con *con = &data->cons[(start + k) % data->n_cons];
    for (uint32_t i = 0; i < con->n; i++)
      if (con->fields[i] == field) return con;
  }
  return NULL;
}

/* ---- arguments ---- */

static void argument(gen *g, gen_type t, int *budget, uint64_t *words) {
  if (gen_is_tuple(t)) {
    gen_tuple tuple = *gen_tuple_of(g->p, t);
    for (uint32_t i = 0; i < tuple.n; i++) {
      argument(g, tuple.parts[i], budget, words);
      words += gen_words(g->p, tuple.parts[i]);
    }
  } else if (gen_is_data(t)) {
    const gen_data *data = gen_data_of(g->p, t);
    uint32_t c = --*budget > 0 ? below(g, data->n_cons) : data->base;
    if (*budget > 0 && c == data->base) c = below(g, data->n_cons);
    uint64_t fields[64], *at = fields;
    for (uint32_t i = 0; i < data->cons[c].n; i++) {
      argument(g, data->cons[c].fields[i], budget, at);
      at += gen_words(g->p, data->cons[c].fields[i]);
    }
    *words = gen_new_data(g->p, &g->p->pool, t, c, fields);
  } else if (gen_is_array(t)) {
    gen_type element = gen_element_of(g->p, t);
    uint32_t w = gen_words(g->p, element);
    uint64_t n = --*budget > 0 ? below(g, 6) : 0, elements[6 * 16];
    for (uint64_t i = 0; i < n; i++) argument(g, element, budget, elements + i * w);
    *words = gen_new_array(g->p, &g->p->pool, t, n, elements);
  } else if (t == GEN_BOOL) {
    *words = chance(g, 50);
  } else {
    *words = gen_literal_word(gen_literal(g, t), t);
  }
}

void gen_argument(gen *g, gen_type t, uint64_t *words) {
  int budget = g->p->n_datas ? 4 + (int)below(g, 12) : 0;
  argument(g, t, &budget, words);
}

/* ---- pieces ---- */

static gen_expr *var_node(gen *g, gen_var *v) {
  gen_expr *e = gen_node(g, GEN_VAR, v->type, 0);
  e->as.var = v;
  return e;
}

static gen_expr *data_node(gen *g, gen_type t, const gen_con *con) {
  gen_expr *e = gen_node(g, GEN_DATA, t, con->n);
  e->con = (uint32_t)(con - gen_data_of(g->p, t)->cons);
  return e;
}

/* A visible variable that is accepted; NULL if there is none. */
static gen_var *visible(gen *g, bool (*accepts)(const gen *, const gen_var *, gen_type),
                        gen_type t) {
  uint32_t start = g->n_scope ? below(g, g->n_scope) : 0;
  for (uint32_t k = 0; k < g->n_scope; k++) {
    uint32_t at = (start + k) % g->n_scope;
    if (accepts(g, g->scope[at], t) && !gen_is_hidden(g, at)) return g->scope[at];
  }
  return NULL;
}
static bool has_type(const gen *g, const gen_var *v, gen_type t) {
  (void)g;
  return v->type == t;
}
static bool is_part(const gen *g, const gen_var *v, gen_type t) {
  (void)g;
  return v->is_part && v->type == t;
}
static bool is_any_data(const gen *g, const gen_var *v, gen_type t) {
  (void)g;
  (void)t;
  return gen_is_data(v->type);
}
static bool is_any_array(const gen *g, const gen_var *v, gen_type t) {
  (void)g;
  (void)t;
  return gen_is_array(v->type);
}
/* An array of which an element, or a part of one, has the type. */
static bool is_array_of(const gen *g, const gen_var *v, gen_type t) {
  if (!gen_is_array(v->type)) return false;
  gen_type element = gen_element_of(g->p, v->type);
  if (element == t) return true;
  for (uint32_t i = 0; gen_is_tuple(element) && i < gen_tuple_of(g->p, element)->n; i++)
    if (gen_tuple_of(g->p, element)->parts[i] == t) return true;
  return false;
}

gen_var *gen_part_var(gen *g, gen_type t) { return visible(g, is_part, t); }

/* A value that needs no variables. */
gen_expr *gen_reference_leaf(gen *g, gen_type t) {
  if (gen_is_array(t)) {
    gen_expr *e = gen_node(g, GEN_ARRAY, t, 1 + below(g, 2));
    for (uint32_t i = 0; i < e->n; i++) e->kids[i] = gen_leaf(g, gen_element_of(g->p, t));
    return e;
  }
  const gen_data *data = gen_data_of(g->p, t);
  const gen_con *con = &data->cons[below(g, data->n_cons)];
  if (con->n) con = &data->cons[data->base];
  gen_expr *e = data_node(g, t, con);
  for (uint32_t i = 0; i < e->n; i++) e->kids[i] = gen_leaf(g, con->fields[i]);
  return e;
}

static gen_expr *reference_var_or(gen *g, gen_type t, uint32_t depth) {
  gen_var *v = chance(g, 75) ? visible(g, has_type, t) : NULL;
  return v ? var_node(g, v) : gen_expr_of(g, t, depth);
}

static gen_expr *length_of(gen *g, gen_var *array) {
  gen_expr *e = gen_node(g, GEN_LEN, GEN_I64, 1);
  e->kids[0] = var_node(g, array);
  return e;
}

/* An index of an array, mostly in range if it is not empty; or one more, for the end of a slice. */
static gen_expr *index_of(gen *g, const gen_expr *array, uint32_t depth) {
  uint32_t k = below(g, 100);
  if (array->kind == GEN_VAR && k < 35) {
    gen_expr *e = gen_node(g, GEN_OP, GEN_I64, 2);
    e->op = k < 15 ? GEN_SUB : GEN_REM;
    gen_expr *length = length_of(g, array->as.var);
    gen_expr *number =
        k < 15 ? gen_small_int(g, GEN_I64, 1 + (int64_t)(k == 0)) : gen_expr_of(g, GEN_I64, 0);
    e->kids[k < 15 ? 0 : 1] = length;
    e->kids[k < 15 ? 1 : 0] = number;
    return e;
  }
  gen_type t = chance(g, 50) ? GEN_I32 : GEN_I64;
  if (k < 85) return gen_small_int(g, t, k < 72 ? 0 : (int64_t)below(g, 4));
  if (k < 97) {
    gen_expr *e = gen_node(g, GEN_OP, t, 2);
    e->op = GEN_BAND;
    e->kids[0] = gen_expr_of(g, t, depth ? 1 : 0);
    e->kids[1] = gen_small_int(g, t, 1);
    return e;
  }
  return gen_expr_of(g, t, depth ? 1 : 0);
}

static gen_expr *index_node(gen *g, gen_var *array, uint32_t depth) {
  gen_expr *e = gen_node(g, GEN_INDEX, gen_element_of(g->p, array->type), 2);
  e->kids[0] = var_node(g, array);
  e->kids[1] = index_of(g, e->kids[0], depth);
  return e;
}

/* ---- comprehensions ---- */

static gen_expr *comprehension_of(gen *g, gen_type t, uint32_t depth) {
  gen_type element = gen_element_of(g->p, t), x;
  gen_var *over = chance(g, 60) ? visible(g, is_any_array, 0) : NULL;
  gen_expr *e = gen_node(g, GEN_COMP, t, over || chance(g, 15) ? 2 : 3);
  if (over) {
    e->kids[0] = var_node(g, over);
    x = gen_element_of(g->p, over->type);
  } else if (e->n == 2) {
    gen_type array = GEN_FIRST_ARRAY + below(g, g->p->n_arrays);
    e->kids[0] = gen_expr_of(g, array, depth);
    x = gen_element_of(g->p, array);
  } else {
    gen_var *array = chance(g, 30) ? visible(g, is_any_array, 0) : NULL;
    x = array || chance(g, 50) ? GEN_I64 : GEN_I32;
    e->kids[0] = gen_small_int(g, x, (int64_t)below(g, 3) - 1);
    e->kids[1] = array ? length_of(g, array)
                       : gen_small_int(g, x, (int64_t)below(g, chance(g, 10) ? 40 : 6) - 1);
  }
  e->as.vars = GEN_NEW_ARRAY(&g->p->pool, gen_var *, 1);
  uint32_t mark = g->n_scope;
  if (chance(g, 90)) {
    gen_var *v = e->as.vars[0] = gen_new_var(g, x);
    v->is_part = over && over->is_part;
    gen_push(g, v);
  }
  g->loop_depth++;
  gen_expr *call =
      chance(g, 60) && g->fn->group == GEN_PARTS && e->as.vars[0] && e->as.vars[0]->is_part
          ? gen_call_of(g, element, 1, true)
          : NULL;
  e->kids[e->n - 1] = call ? call : gen_expr_of(g, element, depth);
  g->loop_depth--;
  g->n_scope = mark;
  return e;
}

/* ---- values of data and array types ---- */

static gen_expr *array_of(gen *g, gen_type t, uint32_t depth) {
  gen_type element = gen_element_of(g->p, t);
  uint32_t k = below(g, 100);
  gen_expr *e;
  if (k < 20) {
    e = gen_node(g, GEN_ARRAY, t, 1 + below(g, 4));
    for (uint32_t i = 0; i < e->n; i++) e->kids[i] = gen_expr_of(g, element, depth);
  } else if (k < 45 && g->loop_depth < 2) {
    e = comprehension_of(g, t, depth);
  } else if (k < 75) {
    e = gen_node(g, GEN_SET, t, 3);
    e->kids[0] = reference_var_or(g, t, depth);
    e->kids[1] = index_of(g, e->kids[0], depth);
    e->kids[2] = gen_expr_of(g, element, depth);
  } else if (k < 87) {
    e = gen_node(g, GEN_CONCAT, t, 2 + (chance(g, 20) ? 1 : 0));
    for (uint32_t i = 0; i < e->n; i++) e->kids[i] = reference_var_or(g, t, depth);
  } else {
    e = gen_node(g, GEN_SLICE, t, 3);
    e->kids[0] = reference_var_or(g, t, depth);
    e->kids[1] = gen_small_int(g, GEN_I64, (int64_t)(chance(g, 25) ? below(g, 3) : 0));
    e->kids[2] = e->kids[0]->kind == GEN_VAR && chance(g, 60) ? length_of(g, e->kids[0]->as.var)
                                                              : index_of(g, e->kids[0], depth);
  }
  return e;
}

gen_expr *gen_reference_of(gen *g, gen_type t, uint32_t depth) {
  if (gen_is_array(t)) return array_of(g, t, depth);
  const gen_data *data = gen_data_of(g->p, t);
  const gen_con *con = &data->cons[below(g, data->n_cons)];
  if (!con->n && chance(g, 50)) con = &data->cons[below(g, data->n_cons)];
  gen_expr *e = data_node(g, t, con);
  for (uint32_t i = 0; i < e->n; i++) e->kids[i] = gen_expr_of(g, con->fields[i], depth);
  return e;
}

/* ---- match ---- */

static gen_pattern *copy_parts(gen *g, const gen_pattern *from) {
  gen_pattern *parts = GEN_NEW_ARRAY(&g->p->pool, gen_pattern, from->n + 1);
  for (uint32_t i = 0; i < from->n; i++) {
    parts[i] = from->parts[i];
    parts[i].parts = copy_parts(g, &from->parts[i]);
  }
  return parts;
}

static bool can_split(const gen_pattern *pattern) {
  return pattern->any && !pattern->is_rest &&
         (gen_is_data(pattern->type) || pattern->type == GEN_BOOL || pattern->type == GEN_I32 ||
          pattern->type == GEN_I64);
}

/* Leaf number *left, of those that can be split; or NULL, and *left less by their number. */
static gen_pattern *leaf_at(gen_pattern *pattern, uint32_t *left) {
  if (can_split(pattern) && (*left)-- == 0) return pattern;
  for (uint32_t i = 0; i < pattern->n; i++) {
    gen_pattern *leaf = leaf_at(&pattern->parts[i], left);
    if (leaf) return leaf;
  }
  return NULL;
}

static uint32_t n_leaves(const gen_pattern *pattern) {
  uint32_t n = can_split(pattern);
  for (uint32_t i = 0; i < pattern->n; i++) n += n_leaves(&pattern->parts[i]);
  return n;
}

static gen_pattern of_con(gen *g, gen_type t, uint32_t c) {
  const gen_con *con = &gen_data_of(g->p, t)->cons[c];
  gen_pattern pattern = {.type = t, .value = c, .n = con->n};
  pattern.parts = GEN_NEW_ARRAY(&g->p->pool, gen_pattern, con->n + 1);
  for (uint32_t i = 0; i < con->n; i++)
    pattern.parts[i] = (gen_pattern){.type = con->fields[i], .any = true};
  return pattern;
}

static bool has_value(const gen_pattern *list, uint32_t n, int64_t value) {
  for (uint32_t i = 0; i < n; i++)
    if (list[i].value == value) return true;
  return false;
}

/* Disjoint patterns that cover the type: constructors or literals, and the rest if not all are
 * there. Returns their number. */
static uint32_t split(gen *g, gen_type t, gen_pattern *out) {
  uint64_t n_all = gen_is_data(t) ? gen_data_of(g->p, t)->n_cons : t == GEN_BOOL ? 2 : UINT64_MAX;
  uint32_t most = n_all < 5 ? (uint32_t)n_all : 5;
  uint32_t n = n_all < 7 && chance(g, 75)    ? (uint32_t)n_all
               : n_all < 400 && chance(g, 5) ? (uint32_t)n_all
                                             : 1 + below(g, most);
  bool is_whole = n == n_all;
  uint32_t start = is_whole ? below(g, n) : 0;
  for (uint32_t i = 0; i < n; i++) {
    int64_t value;
    do { /* all constructors in turn, or some of all */
      value = is_whole             ? (i + start) % n
              : n_all < UINT64_MAX ? below(g, (uint32_t)n_all)
                                   : (int64_t)below(g, 9) - 3;
    } while (has_value(out, i, value));
    out[i] =
        gen_is_data(t) ? of_con(g, t, (uint32_t)value) : (gen_pattern){.type = t, .value = value};
  }
  if (!is_whole) out[n++] = (gen_pattern){.type = t, .any = true, .is_rest = true};
  return n;
}

/* Rows that cover the type, each of which matches something that the rows before it do not. */
static uint32_t make_rows(gen *g, gen_type t, gen_pattern *rows) {
  gen_pattern *into = GEN_NEW_ARRAY(&g->p->pool, gen_pattern, MAX_ARMS);
  uint32_t n = split(g, t, rows), n_splits = below(g, 4);
  for (uint32_t s = 0; s < n_splits; s++) {
    uint32_t row = below(g, n), leaves = n_leaves(&rows[row]);
    if (!leaves || n > 12) continue;
    uint32_t which = below(g, leaves), at = which;
    uint32_t m = split(g, leaf_at(&rows[row], &at)->type, into);
    if (n + m > MAX_ARMS) continue;
    gen_pattern old = rows[row];
    memmove(rows + row + m, rows + row + 1, (n - row - 1) * sizeof *rows);
    for (uint32_t i = 0; i < m; i++) {
      rows[row + i] = old;
      rows[row + i].parts = copy_parts(g, &old);
      at = which;
      *leaf_at(&rows[row + i], &at) = into[i];
    }
    n += m - 1;
  }
  if (n > 2 && chance(g, 20)) { /* one arm for the last ones */
    n -= 1 + below(g, n - 2);
    rows[n - 1] = (gen_pattern){.type = t, .any = true};
  }
  return n;
}

/* Gives names to some of the values. */
static void name_pattern(gen *g, gen_pattern *pattern, bool is_of_subject, uint32_t mark) {
  for (uint32_t i = 0; i < pattern->n; i++)
    name_pattern(g, &pattern->parts[i], is_of_subject, mark);
  if (!pattern->any || chance(g, 20)) return;
  gen_var *v = gen_new_var(g, pattern->type);
  for (bool is_new = false; !is_new;) { /* the names in a pattern are distinct */
    is_new = true;
    for (uint32_t i = mark; i < g->n_scope; i++) is_new &= strcmp(g->scope[i]->name, v->name) != 0;
    if (!is_new) snprintf(v->name, sizeof v->name, "v%u", g->n_names++);
  }
  v->is_part = is_of_subject;
  uint32_t n_scope = g->n_scope;
  gen_push(g, v);
  if (g->n_scope == n_scope) return; /* the scope is full: the name could be used twice */
  pattern->var = v;
  pattern->any = false;
}

static gen_expr *match_on(gen *g, gen_expr *subject, gen_type type, uint32_t depth,
                          gen_expr *(*arm)(gen *, gen_type, uint32_t)) {
  gen_pattern *rows = GEN_NEW_ARRAY(&g->p->pool, gen_pattern, MAX_ARMS);
  uint32_t n = make_rows(g, subject->type, rows);
  gen_expr *e = gen_node(g, GEN_MATCH, type, 1 + n);
  e->as.arms = rows;
  e->kids[0] = subject;
  const gen_var *v = subject->kind == GEN_VAR ? subject->as.var : NULL;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t mark = g->n_scope;
    bool is_whole = rows[i].any; /* the subject itself is no part of it */
    name_pattern(g, &rows[i], v && (v->is_part || (v == g->fn->subject && !is_whole)), mark);
    e->kids[i + 1] = arm(g, type, n > 20 ? 0 : depth);
    g->n_scope = mark;
  }
  return e;
}

/* ---- what is taken out of data and arrays ---- */

gen_expr *gen_taken_of(gen *g, gen_type type, uint32_t depth) {
  uint32_t k = below(g, 100);
  gen_var *v;
  if (k < 50) {
    v = visible(g, is_any_data, 0);
    if (v) return match_on(g, var_node(g, v), type, depth, gen_expr_of);
    return k < 20 ? match_on(g, gen_expr_of(g, data_type(g), depth), type, depth, gen_expr_of)
                  : NULL;
  }
  if (type == GEN_I64 && k < 70) {
    v = visible(g, is_any_array, 0);
    return v ? length_of(g, v) : NULL;
  }
  if (!(v = visible(g, is_array_of, type))) return NULL;
  gen_expr *e = index_node(g, v, depth);
  if (e->type == type) return e;
  gen_expr *part = gen_node(g, GEN_FIELD, type, 1);
  part->kids[0] = e;
  while (gen_tuple_of(g->p, e->type)->parts[part->field] != type) part->field++;
  return part;
}

/* ---- functions of a PARTS group ---- */

static gen_expr *group_call(gen *g, gen_type type) {
  int rec = g->rec;
  g->rec = 0;
  gen_expr *e = gen_call_of(g, type, 1, true);
  g->rec = rec;
  return e;
}

/* A constructor around calls of the group: `Cons(h, append(t, ys))`, `Node(map(l), map(r))`. */
static gen_expr *under_constructor(gen *g, gen_type type) {
  const gen_con *con = con_around(g, type, type);
  if (!con) return NULL;
  gen_expr *call = group_call(g, type);
  if (!call) return NULL;
  gen_expr *e = data_node(g, type, con);
  for (uint32_t i = 0; i < con->n; i++) {
    if (con->fields[i] == type && (call || chance(g, 50))) {
      gen_expr *next = call ? call : group_call(g, type);
      call = NULL;
      if ((e->kids[i] = next)) continue;
    }
    e->kids[i] = gen_expr_of(g, con->fields[i], 1);
  }
  return e;
}

/* `{ let (a, b) = split(t); if c then (Cons(h, a), b) else (a, Cons(h, b)) }` */
static gen_expr *partition(gen *g, gen_type type) {
  if (!gen_is_tuple(type)) return NULL;
  gen_tuple tuple = *gen_tuple_of(g->p, type);
  gen_expr *call = group_call(g, type);
  if (!call) return NULL;
  uint32_t mark = g->n_scope;
  gen_expr *e = gen_node(g, GEN_BLOCK, type, 2);
  e->as.lets = GEN_NEW_ARRAY(&g->p->pool, gen_let, 1);
  gen_binder *binder = &e->as.lets[0].binder;
  *binder = (gen_binder){.type = type, .n = tuple.n};
  binder->parts = GEN_NEW_ARRAY(&g->p->pool, gen_binder, tuple.n);
  for (uint32_t i = 0; i < tuple.n; i++) {
    gen_var *v = gen_new_var(g, tuple.parts[i]);
    snprintf(v->name, sizeof v->name, "q%u", g->n_names++);
    binder->parts[i] = (gen_binder){.type = tuple.parts[i], .var = v};
    gen_push(g, v);
  }
  e->kids[0] = call;
  gen_expr *both = gen_node(g, GEN_IF, type, 3);
  both->kids[0] = gen_condition(g, 1);
  for (uint32_t side = 1; side < 3; side++) {
    gen_expr *result = both->kids[side] = gen_node(g, GEN_TUPLE, type, tuple.n);
    for (uint32_t i = 0; i < tuple.n; i++) {
      const gen_con *con = i % 2 + 1 == side ? con_around(g, tuple.parts[i], tuple.parts[i]) : NULL;
      gen_expr *rest = var_node(g, binder->parts[i].var);
      gen_expr *part = con ? data_node(g, tuple.parts[i], con) : rest;
      bool is_used = false;
      for (uint32_t k = 0; con && k < con->n; k++) {
        bool is_here = con->fields[k] == tuple.parts[i] && !is_used;
        part->kids[k] = is_here ? rest : gen_expr_of(g, con->fields[k], 1);
        is_used |= is_here;
      }
      result->kids[i] = part;
    }
  }
  e->kids[1] = both;
  g->n_scope = mark;
  return e;
}

/* Names the results of several calls of the group and computes with them. */
static gen_expr *several_calls(gen *g, gen_type type) {
  gen_expr *calls[3];
  uint32_t n = 0, mark = g->n_scope, most = 1 + below(g, 2);
  for (uint32_t i = 0; i <= most; i++) {
    gen_expr *call = group_call(g, i && chance(g, 20) ? gen_any_type(g, 20) : type);
    if (call) calls[n++] = call;
  }
  if (!n) return NULL;
  gen_expr *e = gen_node(g, GEN_BLOCK, type, n + 1);
  e->as.lets = GEN_NEW_ARRAY(&g->p->pool, gen_let, n);
  for (uint32_t i = 0; i < n; i++) {
    gen_var *v = gen_new_var(g, calls[i]->type);
    snprintf(v->name, sizeof v->name, "t%u", g->n_names++);
    e->kids[i] = calls[i];
    e->as.lets[i].binder = (gen_binder){.type = v->type, .var = v};
    gen_push(g, v);
  }
  g->rec = 0;
  e->kids[n] = gen_expr_of(g, type, 2);
  g->n_scope = mark;
  return e;
}

static gen_expr *parts_arm(gen *g, gen_type type, uint32_t depth) {
  uint32_t k = below(g, 100);
  gen_expr *e = NULL;
  if (depth == 0) return gen_expr_of(g, type, 0);
  if (k < 35) e = under_constructor(g, type);
  if (!e && k < 50) e = partition(g, type);
  if (!e && k < 60) e = group_call(g, type);
  if (!e && k < 80) e = several_calls(g, type);
  if (!e) {
    g->rec = 1 + (int)below(g, 2);
    e = gen_expr_of(g, type, 2);
    g->rec = 0;
  }
  return e;
}

/* A recursive data type, if there is one among some. */
gen_type gen_subject_type(gen *g) {
  gen_type t = data_type(g);
  for (uint32_t i = 0; i < 4 && !con_around(g, t, t); i++) t = data_type(g);
  return t;
}

void gen_parts_result(gen *g, gen_fn *fn) {
  if (!chance(g, 60)) return;
  fn->result = gen_subject_type(g);
  if (!chance(g, 25)) return;
  gen_type parts[2] = {fn->result, chance(g, 70) ? fn->result : gen_subject_type(g)};
  fn->result = gen_tuple_type(g->p, parts, 2);
}

gen_expr *gen_parts_body(gen *g, gen_type type, uint32_t depth) {
  g->rec = 0;
  return match_on(g, var_node(g, g->fn->subject), type, depth, parts_arm);
}
