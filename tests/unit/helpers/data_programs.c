/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/data_programs.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* L: lists; T: trees whose leaves are lists; A: arrays of numbers and lists; R: arrays of such
 * arrays; I: i32; B: conditions. */
typedef enum data_kind { I, L, T, A, R, B } data_kind;
static const char *const kind_names[] = {"i32", "L", "T", "[(i32, L)]", "[[(i32, L)]]", "bool"};

enum { MAX_VARS = 40, N_FNS = 5, MAX_PARAMS = 4 };

typedef struct variable {
  data_kind kind;
  unsigned name;
} variable;

typedef struct function {
  data_kind result, params[MAX_PARAMS];
  unsigned n_params;
} function;

typedef struct writer {
  uint64_t state;
  char *text;
  size_t len, size;
  variable vars[MAX_VARS];
  unsigned n_vars, next_name;
  function fns[N_FNS];
  unsigned n_fns;  /* that may be called */
  bool is_inside;  /* of a function that may call itself, number n_fns - 1 */
  unsigned budget; /* of calls in the body */
  bool has_arrays;
} writer;

static unsigned below(writer *w, unsigned n) {
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)((w->state >> 33) % n);
}

static void __attribute__((format(printf, 2, 3))) put(writer *w, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  size_t room = w->len < w->size ? w->size - w->len : 0;
  int n = vsnprintf(w->text + (room ? w->len : 0), room, fmt, args);
  va_end(args);
  w->len += (size_t)n;
}

/* A kind of which there are variables. */
static data_kind some_kind(writer *w) { return (data_kind)below(w, w->has_arrays ? 5 : 3); }

static void expr(writer *w, data_kind kind, unsigned depth);

static unsigned bind(writer *w, data_kind kind) {
  unsigned name = w->next_name++;
  if (w->n_vars < MAX_VARS) w->vars[w->n_vars++] = (variable){kind, name};
  return name;
}

static bool variable_of(writer *w, data_kind kind) {
  unsigned n = 0, found = 0;
  for (unsigned i = 0; i < w->n_vars; i++)
    if (w->vars[i].kind == kind && below(w, ++n) == 0) found = w->vars[i].name;
  if (n) put(w, "x%u", found);
  return n != 0;
}

static void atom(writer *w, data_kind kind) {
  if (below(w, 6) && variable_of(w, kind)) return;
  switch (kind) {
  case I: put(w, "%u", below(w, 9)); break;
  case L: put(w, "N"); break;
  case T: put(w, "E"); break;
  case A: put(w, "[(%u, N)]", below(w, 9)); break;
  case R: put(w, "[none()]"); break;
  case B: put(w, below(w, 2) ? "true" : "false"); break;
  }
}

static void match(writer *w, data_kind kind, unsigned depth) {
  unsigned outer = w->n_vars;
  bool is_list = below(w, 2);
  put(w, "(match ");
  expr(w, is_list ? L : T, below(w, 2) ? 0 : depth - 1);
  put(w, " { ");
  if (is_list) {
    put(w, "N => ");
    expr(w, kind, depth - 1);
    if (below(w, 3) == 0) {
      put(w, ", C(_, N) => ");
      expr(w, kind, depth - 1);
    }
    put(w, ", C(x%u, ", bind(w, I));
    put(w, "x%u) => ", bind(w, L));
    expr(w, kind, depth - 1);
  } else {
    put(w, "E => ");
    expr(w, kind, depth - 1);
    w->n_vars = outer;
    put(w, ", K(x%u, ", bind(w, I));
    put(w, "x%u) => ", bind(w, L));
    expr(w, kind, depth - 1);
    w->n_vars = outer;
    if (below(w, 3) == 0) {
      put(w, ", Q(K(_, x%u), ", bind(w, L));
      put(w, "x%u) => ", bind(w, T));
      expr(w, kind, depth - 1);
      w->n_vars = outer;
    }
    put(w, ", Q(x%u, ", bind(w, T));
    put(w, "x%u) => ", bind(w, T));
    expr(w, kind, depth - 1);
  }
  put(w, " })");
  w->n_vars = outer;
}

static void element(writer *w, data_kind array, unsigned depth);

/* A second version of an array in a variable, next to the first one. */
static void change_variable(writer *w, data_kind array, unsigned name, unsigned depth) {
  unsigned k = below(w, 2), other = w->next_name++;
  put(w, "let x%u: %s = if len(x%u) > %u then set(x%u, %u, ", other, kind_names[array], name, k,
      name, k);
  element(w, array, depth - 1);
  put(w, ") else x%u; ", name);
  if (w->n_vars < MAX_VARS) w->vars[w->n_vars++] = (variable){array, other};
}

static void let(writer *w, data_kind kind, unsigned depth) {
  unsigned outer = w->n_vars;
  data_kind of = some_kind(w);
  unsigned name = w->next_name++;
  put(w, "{ let x%u: %s = ", name, kind_names[of]);
  expr(w, of, depth - 1);
  put(w, "; ");
  if (w->n_vars < MAX_VARS) w->vars[w->n_vars++] = (variable){of, name};
  for (unsigned n = of == A || of == R ? below(w, 3) : 0; n; n--)
    change_variable(w, of, name, depth);
  expr(w, kind, depth - 1);
  put(w, " }");
  w->n_vars = outer;
}

/* Calls a function that was written before, or the function itself with a smaller number. */
static bool call(writer *w, data_kind kind, unsigned depth) {
  if (!w->budget) return false;
  unsigned n = 0, found = 0;
  for (unsigned i = 0; i < w->n_fns; i++)
    if (w->fns[i].result == kind && below(w, ++n) == 0) found = i;
  if (!n) return false;
  w->budget--;
  const function *f = &w->fns[found];
  bool is_own = w->is_inside && found == w->n_fns - 1;
  put(w, is_own ? "f%u(n - 1" : "f%u(n", found);
  for (unsigned i = 0; i < f->n_params; i++) {
    put(w, ", ");
    expr(w, f->params[i], depth ? depth - 1 : 0);
  }
  put(w, ")");
  return true;
}

static data_kind data_of(writer *w) {
  data_kind kind = some_kind(w);
  return kind == I ? L : kind;
}

/* Two variables of data that change in each round, possibly their places. */
static void loop(writer *w, data_kind kind, unsigned depth) {
  unsigned outer = w->n_vars, budget = w->budget;
  data_kind a = data_of(w), b = data_of(w);
  unsigned x = w->next_name++, y = w->next_name++, i = w->next_name++;
  put(w, "{ let (x%u, x%u, x%u) = loop (x%u: %s = ", x, y, i, x, kind_names[a]);
  expr(w, a, depth - 1);
  put(w, ", x%u: %s = ", y, kind_names[b]);
  expr(w, b, depth - 1);
  put(w, ", x%u = 0) while x%u < %u { (", i, i, below(w, 4));
  if (w->n_vars + 3 <= MAX_VARS) {
    w->vars[w->n_vars++] = (variable){a, x};
    w->vars[w->n_vars++] = (variable){b, y};
    w->vars[w->n_vars++] = (variable){I, i};
  }
  w->budget = 0; /* calls in loops would multiply */
  expr(w, a, depth - 1);
  put(w, ", ");
  expr(w, b, depth - 1);
  put(w, ", x%u + 1) }; ", i);
  w->budget = budget;
  expr(w, kind, depth - 1);
  put(w, " }");
  w->n_vars = outer;
}

/* ---- arrays ---- */

static void element(writer *w, data_kind array, unsigned depth) {
  if (array == R) {
    expr(w, A, depth);
    return;
  }
  put(w, "(");
  expr(w, I, depth / 2);
  put(w, ", ");
  expr(w, L, depth);
  put(w, ")");
}

/* An array in a variable, if it has an element number k; else something else. A few times in a
 * hundred it is not asked whether it has. */
static unsigned bind_long_array(writer *w, data_kind array, unsigned depth, unsigned k,
                                unsigned outer[1]) {
  *outer = w->n_vars;
  unsigned name = w->next_name++;
  put(w, "{ let x%u: %s = ", name, kind_names[array]);
  expr(w, array, depth - 1);
  put(w, "; if len(x%u) > %u then ", name, below(w, 50) ? k : 0);
  if (w->n_vars < MAX_VARS) w->vars[w->n_vars++] = (variable){array, name};
  return name;
}

/* An element, or a part of it, of an array. */
static void read_element(writer *w, data_kind kind, unsigned depth) {
  unsigned k = below(w, 3), outer;
  data_kind array = kind == A ? R : A;
  unsigned name = bind_long_array(w, array, depth, k, &outer);
  put(w, "x%u[%u]%s else ", name, k, kind == A ? "" : kind == I ? ".0" : ".1");
  expr(w, kind, depth - 1);
  put(w, " }");
  w->n_vars = outer;
}

static void change(writer *w, data_kind array, unsigned depth) {
  unsigned k = below(w, 3), outer;
  unsigned name = bind_long_array(w, array, depth, k, &outer);
  put(w, "set(x%u, %u, ", name, k);
  element(w, array, depth - 1);
  put(w, ") else ");
  expr(w, array, depth - 1);
  put(w, " }");
  w->n_vars = outer;
}

/* Every element changes, one after the other. */
static void change_all(writer *w, data_kind array, unsigned depth) {
  unsigned outer = w->n_vars, budget = w->budget, a = w->next_name++, i = w->next_name++;
  put(w, "{ let (x%u, x%u) = loop (x%u: %s = ", a, i, a, kind_names[array]);
  expr(w, array, depth - 1);
  put(w, ", x%u = 0) while x%u < i32(len(x%u)) { (set(x%u, x%u, ", i, i, a, a, i);
  if (w->n_vars + 2 <= MAX_VARS) {
    w->vars[w->n_vars++] = (variable){array, a};
    w->vars[w->n_vars++] = (variable){I, i};
  }
  w->budget = 0;
  element(w, array, depth - 1);
  put(w, "), x%u + 1) }; ", i);
  w->budget = budget;
  if (w->n_vars == outer + 2) w->n_vars--;
  if (below(w, 2))
    put(w, "x%u", a);
  else
    expr(w, array, depth - 1);
  put(w, " }");
  w->n_vars = outer;
}

static void comprehension(writer *w, data_kind array, unsigned depth) {
  unsigned outer = w->n_vars, budget = w->budget, name = w->next_name++;
  data_kind from = below(w, 2) ? R : A;
  bool is_range = below(w, 2), has_row = !is_range && from == R;
  put(w, "[");
  w->budget = 0;
  /* The source is written behind the element, but is outside of its variable. */
  if ((is_range || has_row) && w->n_vars < MAX_VARS)
    w->vars[w->n_vars++] = (variable){is_range ? I : A, name};
  element(w, array, depth - 1);
  w->n_vars = outer;
  put(w, " for %sx%u in ", is_range || has_row ? "" : "_", name);
  if (is_range)
    put(w, "%u..%u", below(w, 2), below(w, 4));
  else
    expr(w, from, depth - 1);
  put(w, "]");
  w->budget = budget;
}

static void array_expr(writer *w, data_kind array, unsigned depth) {
  unsigned k = below(w, 2), outer, n = 1 + below(w, 3), name;
  switch (below(w, 7)) {
  case 0:
  case 1:
    put(w, "[");
    for (unsigned i = 0; i < n; i++) {
      if (i) put(w, ", ");
      element(w, array, depth - 1);
    }
    put(w, "]");
    break;
  case 2: change(w, array, depth); break;
  case 3: change_all(w, array, depth); break;
  case 4: comprehension(w, array, depth); break;
  case 5:
    name = bind_long_array(w, array, depth, k, &outer);
    put(w, "x%u[%u..len(x%u)] else ", name, k, name);
    expr(w, array, depth - 1);
    put(w, " }");
    w->n_vars = outer;
    break;
  default:
    put(w, "concat(");
    expr(w, array, depth - 1);
    put(w, ", ");
    expr(w, array, depth - 1);
    put(w, ")");
  }
}

static void condition(writer *w, unsigned depth) {
  expr(w, I, depth);
  put(w, " < ");
  expr(w, I, depth);
}

static void expr(writer *w, data_kind kind, unsigned depth) {
  if (depth == 0 || w->len > w->size / 2) {
    atom(w, kind);
    return;
  }
  switch (below(w, 9)) {
  case 0:
  case 1: match(w, kind, depth); return;
  case 2: let(w, kind, depth); return;
  case 3:
    put(w, "(if ");
    condition(w, depth / 2);
    put(w, " then ");
    expr(w, kind, depth - 1);
    put(w, " else ");
    expr(w, kind, depth - 1);
    put(w, ")");
    return;
  case 4:
    if (below(w, 2)) {
      loop(w, kind, depth);
      return;
    }
    break;
  case 5:
  case 6:
    if (call(w, kind, depth)) return;
    break;
  default: break;
  }
  if (w->has_arrays && (kind == I || kind == L || kind == A) && below(w, 3) == 0) {
    read_element(w, kind, depth);
    return;
  }
  switch (kind) {
  case A:
  case R: array_expr(w, kind, depth); break;
  case I:
    put(w, "(");
    expr(w, I, depth - 1);
    put(w, " + ");
    expr(w, I, depth - 1);
    put(w, ")");
    break;
  case L:
    put(w, "C(");
    expr(w, I, depth / 2);
    put(w, ", ");
    expr(w, L, depth - 1);
    put(w, ")");
    break;
  case T:
    if (below(w, 3) == 0) {
      put(w, "K(");
      expr(w, I, depth / 2);
      put(w, ", ");
      expr(w, L, depth - 1);
    } else {
      put(w, "Q(");
      expr(w, T, depth - 1);
      put(w, ", ");
      expr(w, T, depth - 1);
    }
    put(w, ")");
    break;
  case B: condition(w, depth - 1); break;
  }
}

/* A call of function i itself, below up to two constructors: such a recursion becomes a loop. */
static void own_call(writer *w, unsigned i) {
  const function *f = &w->fns[i];
  unsigned n_open = 0;
  for (; n_open < 2 && below(w, 3); n_open++) {
    put(w, f->result == T ? "Q(" : "C(");
    expr(w, f->result == T ? T : I, 2);
    put(w, ", ");
  }
  put(w, "f%u(n - 1", i);
  for (unsigned k = 0; k < f->n_params; k++) {
    put(w, ", ");
    expr(w, f->params[k], 2);
  }
  while (n_open-- > 0) put(w, ")");
  put(w, ")");
}

/* A function that makes one call of itself on each path, last but for constructions. */
static void linear(writer *w, unsigned i, unsigned depth) {
  if (!depth || below(w, 4) == 0) {
    own_call(w, i);
  } else if (below(w, 2)) {
    put(w, "(if ");
    condition(w, 2);
    put(w, " then ");
    linear(w, i, depth - 1);
    put(w, " else ");
    if (below(w, 3))
      linear(w, i, depth - 1);
    else
      expr(w, w->fns[i].result, 2);
    put(w, ")");
  } else {
    unsigned mark = w->n_vars;
    put(w, "(match ");
    expr(w, L, 1);
    put(w, " { N => ");
    linear(w, i, depth - 1);
    put(w, ", C(x%u, ", bind(w, I));
    put(w, "x%u) => ", bind(w, L));
    linear(w, i, depth - 1);
    w->n_vars = mark;
    put(w, " })");
  }
}

static void write_function(writer *w, unsigned i) {
  function *f = &w->fns[i];
  f->result = some_kind(w);
  f->n_params = 1 + below(w, MAX_PARAMS - 1);
  w->n_vars = 0;
  put(w, "fn f%u(n: i32", i);
  for (unsigned k = 0; k < f->n_params; k++) {
    f->params[k] = some_kind(w);
    put(w, ", x%u: %s", bind(w, f->params[k]), kind_names[f->params[k]]);
  }
  put(w, ") -> %s =\n  if n <= 0 then ", kind_names[f->result]);
  w->budget = 0;
  expr(w, f->result, 2);
  put(w, "\n  else ");
  if ((f->result == L || f->result == T) && below(w, 3) == 0) {
    linear(w, i, 3);
    put(w, "\n");
    w->n_fns = i + 1;
    return;
  }
  w->n_fns = i + 1;
  w->is_inside = true;
  w->budget = 2;
  expr(w, f->result, 4);
  w->is_inside = false;
  put(w, "\n");
}

bool random_data_program(uint64_t seed, bool has_arrays, char *text, size_t size) {
  writer w = {.state = seed * 0x9e3779b97f4a7c15u + 1,
              .text = text,
              .size = size,
              .has_arrays = has_arrays};
  put(&w, "type L = N | C(i: i32, l: L)\n"
          "type T = E | K(i: i32, l: L) | Q(a: T, b: T)\n"
          "fn sum_L(l: L) -> i32 = match l { N => 1, C(i, t) => 3 * sum_L(t) + i }\n"
          "fn sum_T(t: T) -> i32 = match t { E => 2, K(i, l) => i + 5 * sum_L(l),\n"
          "                                  Q(a, b) => 7 * sum_T(a) + 11 * sum_T(b) }\n");
  if (has_arrays)
    put(&w,
        "fn sum_A(a: [(i32, L)]) -> i32 = {\n"
        "  let (_, s) = loop (i = 0i64, s = 1) while i < len(a) {\n"
        "    (i + 1, 13 * s + a[i].0 + sum_L(a[i].1)) }; s }\n"
        "fn sum_R(r: [[(i32, L)]]) -> i32 = {\n"
        "  let (_, s) = loop (i = 0i64, s = 1) while i < len(r) { (i + 1, 17 * s + sum_A(r[i])) "
        "}; s }\n"
        "fn none() -> [(i32, L)] = [(i, N) for i in 0..0]\n");
  for (unsigned i = 0; i < N_FNS; i++) write_function(&w, i);
  w.n_vars = 0;
  w.budget = 6;
  put(&w, "fn main(n: i32) -> i32 = sum_L(");
  expr(&w, L, 3);
  put(&w, ") + sum_T(");
  expr(&w, T, 3);
  put(&w, ") + ");
  if (has_arrays) {
    put(&w, "sum_A(");
    expr(&w, A, 3);
    put(&w, ") + sum_R(");
    expr(&w, R, 3);
    put(&w, ") + ");
  }
  expr(&w, I, 3);
  put(&w, "\n");
  return w.len < size;
}
