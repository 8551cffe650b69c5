/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs on tensors of a few elements (a diff_sort), which native code takes apart: in loops,
 * branches, parameters and results of functions, and fields of data. All sizes are constant. Some
 * indices are out of range, some divisors are zero, some elements NaN or infinite. */
#include "tests/diff/run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind {
  NUM,  /* of the program's dtype */
  VEC,  /* n of them */
  MAT,  /* m times m */
  BOOL, /* n bools */
  TEST, /* a bool */
  WHOLE /* n i64s */
} kind;

enum { MAX_VARS = 24 };

typedef struct gen {
  gen_random r;
  gen_text *out;
  const char *dtype;
  uint32_t n, m;
  kind scope[MAX_VARS]; /* "v3" */
  uint32_t n_vars;
  bool has_index;   /* i, an i64 from 0 on */
  bool has_helpers; /* functions may be called */
} gen;

static uint32_t below(gen *g, uint32_t n) { return gen_below(&g->r, n); }
static bool chance(gen *g, uint32_t percent) { return gen_chance(&g->r, percent); }

#define put(g, ...) gen_text_add((g)->out, __VA_ARGS__)

static void expr(gen *g, kind k, uint32_t depth);

/* Writes a text with an expression for each of S V M B T W, which are of the kinds NUM, VEC and so
 * on in their order. N and K become the sizes, D the dtype, I and J an index of a vector and of a
 * matrix. */
static void form(gen *g, uint32_t depth, const char *text) {
  static const char letters[] = "SVMBTW";
  for (const char *s = text; *s; s++) {
    const char *letter = strchr(letters, *s);
    if (letter)
      expr(g, (kind)(letter - letters), depth);
    else if (*s == 'N')
      put(g, "%u", g->n);
    else if (*s == 'K')
      put(g, "%u", g->m);
    else if (*s == 'D')
      put(g, "%s", g->dtype);
    else if (*s == 'I') /* an index of a vector */
      put(g, "%u", below(g, g->n));
    else if (*s == 'J') /* of a matrix */
      put(g, "%u", below(g, g->m));
    else
      put(g, "%c", *s);
  }
}

static void write_type(gen *g, kind k) {
  static const char *const types[] = {"D", "D[N]", "D[K, K]", "bool[N]", "bool", "i64[N]"};
  form(g, 0, types[k]);
}

static void literal(gen *g) {
  static const char *const numbers[] = {"0.5", "-0.25", "1.0",  "0.0", "-0.0",
                                        "2.0", "0.125", "-1.5", "3.0", "0.7"};
  if (chance(g, 3))
    form(g, 0, chance(g, 50) ? "(D(1.0) / D(0.0))" : "(D(0.0) / D(0.0))");
  else
    put(g, "%s(%s)", g->dtype, numbers[below(g, 10)]);
}

/* False: there is no variable of the kind. */
static bool variable(gen *g, kind k) {
  uint32_t n = 0, which;
  for (uint32_t i = 0; i < g->n_vars; i++) n += g->scope[i] == k;
  if (!n) return false;
  which = below(g, n);
  for (uint32_t i = 0; i < g->n_vars; i++)
    if (g->scope[i] == k && which-- == 0) put(g, "v%u", i);
  return true;
}

/* n expressions, with brackets around them. */
static void list(gen *g, kind k, uint32_t n, uint32_t depth) {
  put(g, "[");
  for (uint32_t i = 0; i < n; i++) {
    if (i) put(g, ", ");
    expr(g, k, depth);
  }
  put(g, "]");
}

static void leaf(gen *g, kind k) {
  if (chance(g, 85) && variable(g, k)) return;
  switch (k) {
  case NUM: literal(g); return;
  case VEC: list(g, NUM, g->n, 0); return;
  case MAT:
    put(g, "[");
    for (uint32_t i = 0; i < g->m; i++) {
      if (i) put(g, ", ");
      list(g, NUM, g->m, 0);
    }
    put(g, "]");
    return;
  case BOOL: form(g, 0, chance(g, 50) ? "(V < V)" : "(V == V)"); return;
  case TEST: form(g, 0, "(S <= S)"); return;
  case WHOLE: put(g, "iota(%u)", g->n); return;
  }
}

static const char *const of_num[] = {
    "(S + S)", "(S - S)",      "(S * S)",    "min(S, S)", "max(S, S)",
    "(S / S)", "(V @ V)",      "sum(V)",     "prod(V)",   "max(V)",
    "min(M)",  "mean(V)",      "V[I]",       "M[J][J]",   "(if T then S else S)",
    "sqrt(S)", "tanh(S)",      "sum(V * S)", "sum(M)",    "fma(S, S, S)",
    "abs(S)",  "D(argmax(V))", "D(sum(W))",  "D(max(W))"};
static const char *const of_vec[] = {"(V + V)",
                                     "(V - V)",
                                     "(V * V)",
                                     "(V * S)",
                                     "(S - V)",
                                     "(V / V)",
                                     "min(V, V)",
                                     "max(V, S)",
                                     "(-V)",
                                     "(if T then V else V)",
                                     "select(B, V, V)",
                                     "select(B, V, S)",
                                     "set(V, I, S)",
                                     "tanh(V)",
                                     "softmax(V)",
                                     "log_softmax(V)",
                                     "exp(-abs(V))",
                                     "relu(V)",
                                     "D(W)",
                                     "fma(V, S, V)",
                                     "floor(V)",
                                     "{ let w: D[N] = V; w + w }"};
static const char *const of_mat[] = {"(M + M)",         "(M * M)",           "(M * S)",
                                     "(M @ M)",         "transpose(M)",      "(if T then M else M)",
                                     "set(M, J, M[J])", "max(M, M)",         "(M - S)",
                                     "softmax(M)",      "(transpose(M) @ M)"};
static const char *const of_bool[] = {"(V < V)",   "(V <= S)", "bnot(B)", "band(B, B)",
                                      "bor(B, B)", "(V != V)", "(W > 1)", "isnan(V)"};
static const char *const of_test[] = {"any(B)", "all(B)", "(S < S)", "(S >= S)"};
static const char *const of_whole[] = {"(W + W)",
                                       "(W * 2)",
                                       "(W - iota(N))",
                                       "select(B, W, W)",
                                       "(W / (iota(N) + 1))",
                                       "min(W, W)",
                                       "(if T then W else W)"};
/* Where vectors and rows of matrices have one size. */
static const char *const of_square[] = {
    "(M @ V)", "(V @ M)", "M[J]", "sum(M, axis = 0)", "max(M, axis = 1)", "mean(M, axis = 1)"};

typedef struct forms {
  const char *const *texts;
  uint32_t n;
} forms;
static const forms all_forms[] = {
    {of_num, sizeof of_num / sizeof *of_num},    {of_vec, sizeof of_vec / sizeof *of_vec},
    {of_mat, sizeof of_mat / sizeof *of_mat},    {of_bool, sizeof of_bool / sizeof *of_bool},
    {of_test, sizeof of_test / sizeof *of_test}, {of_whole, sizeof of_whole / sizeof *of_whole},
};

/* Parts in another order, from place `at` on. */
static void turned(gen *g, uint32_t depth) {
  uint32_t at = below(g, g->n);
  put(g, "(concat(");
  expr(g, VEC, depth);
  put(g, "[%u..%u], ", at, g->n);
  expr(g, VEC, depth);
  put(g, "[0..%u]))", at);
}

static bool special(gen *g, kind k, uint32_t depth) {
  if (g->has_index && k == NUM && chance(g, 8)) {
    form(g, depth, "V[i % ");
    put(g, "%u]", g->n + chance(g, 10));
    return true;
  }
  if (g->has_index && k == VEC && chance(g, 8)) {
    form(g, depth, "set(V, i % N, S)");
    return true;
  }
  if (g->has_index && k == VEC && g->n == g->m && chance(g, 25)) {
    form(g, depth, "M[i % ");
    put(g, "%u]", g->m + chance(g, 10));
    return true;
  }
  if (g->has_index && k == WHOLE && chance(g, 10)) {
    form(g, depth, "(W / (i - ");
    put(g, "%u))", chance(g, 30) ? below(g, 4) : 100);
    return true;
  }
  if (g->has_helpers && k == VEC && chance(g, 12)) {
    form(g, depth, chance(g, 50) ? "step(V, S)" : "many(V, 3)");
    return true;
  }
  if (g->has_helpers && k == VEC && chance(g, 5)) {
    form(g, depth, "(match moved(Pair(V, S)) { Pair(x, y) => x * y })");
    return true;
  }
  if (k == VEC && chance(g, 6)) {
    turned(g, depth);
    return true;
  }
  if (k == VEC && g->n == g->m && chance(g, 20)) {
    form(g, depth, of_square[below(g, sizeof of_square / sizeof *of_square)]);
    return true;
  }
  if (k == VEC && g->n == g->m * g->m && chance(g, 10)) {
    form(g, depth, "reshape(M, N)");
    return true;
  }
  if (k == MAT && g->n == g->m && chance(g, 10)) {
    form(g, depth, chance(g, 50) ? "outer(V, V)" : "(M + V)");
    return true;
  }
  return false;
}

static void expr(gen *g, kind k, uint32_t depth) {
  const forms *f = &all_forms[k];
  if (!depth || chance(g, 10)) {
    leaf(g, k);
    return;
  }
  if (special(g, k, depth - 1)) return;
  if (k == VEC && chance(g, 15)) {
    list(g, NUM, g->n, g->n > 4 ? 0 : depth - 1);
    return;
  }
  form(g, depth - 1, f->texts[below(g, f->n)]);
}

/* ---- programs ---- */

static void add(gen *g, kind k) { g->scope[g->n_vars++] = k; }

static void let(gen *g, kind k, uint32_t depth) {
  put(g, "    let v%u: ", g->n_vars);
  write_type(g, k);
  put(g, " = ");
  expr(g, k, depth);
  put(g, ";\n");
  add(g, k);
}

static void write_helpers(gen *g) {
  form(g, 0, "type Pair = Pair(x: D[N], y: D)\n");
  form(g, 0, "fn step(v0: D[N], v1: D) -> D[N] = ");
  g->n_vars = 0;
  add(g, VEC);
  add(g, NUM);
  expr(g, VEC, 2);
  form(g, 0, "\nfn many(v0: D[N], n: i64) -> D[N] = if n <= 0 then ");
  g->n_vars = 1;
  expr(g, VEC, 1);
  form(g, 0, " else { let v1: D[N] = many(");
  expr(g, VEC, 1);
  form(g, 0, ", n - 1); ");
  add(g, VEC);
  expr(g, VEC, 2);
  form(g, 0, " }\nfn moved(p: Pair) -> Pair = match p { Pair(v0, v1) => Pair(");
  g->scope[1] = NUM;
  expr(g, VEC, 2);
  put(g, ", ");
  expr(g, NUM, 1);
  put(g, ") }\n");
}

/* A loop with a scalar, a vector and a matrix. */
static void write_run(gen *g) {
  g->n_vars = 0;
  g->has_helpers = true;
  form(g, 0, "fn run(n: i64, v0: D, v1: D[N]) -> (D, D[N], D[K, K]) = {\n");
  add(g, NUM);
  add(g, VEC);
  let(g, VEC, 1);
  let(g, MAT, 1);
  form(g, 0,
       "    let (a, b, c, _) = loop (v4 = v0, v5: D[N] = v2, v6: D[K, K] = v3, i = 0i64) while i "
       "< n {\n");
  add(g, NUM);
  add(g, VEC);
  add(g, MAT);
  g->has_index = true;
  let(g, chance(g, 60) ? VEC : WHOLE, 2);
  let(g, chance(g, 50) ? VEC : chance(g, 50) ? MAT : NUM, 2);
  put(g, "      (");
  expr(g, NUM, 2);
  put(g, ", ");
  expr(g, VEC, 2);
  put(g, ", ");
  expr(g, MAT, 1);
  put(g, ", i + 1) };\n");
  g->has_index = false;
  form(g, 0, chance(g, 50) ? "    (a + sum(b), b * a, c)\n  }\n" : "    (a, b, c)\n  }\n");
}

static gen_program *make(uint64_t seed, diff_sample *s) {
  static const uint32_t sizes[] = {1, 2, 3, 3, 4, 5, 8, 9, 16, 17};
  gen g = {.r = {seed * 613 + 11}, .out = &s->source};
  g.dtype = chance(&g, 60) ? "f64" : "f32";
  g.n = sizes[below(&g, 10)];
  g.m = 1 + below(&g, 4);
  write_helpers(&g);
  write_run(&g);
  form(&g, 0,
       "fn one(n: i64, x: D) = run(n, x, D(iota(N)) * 0.25 - x)\n"
       "fn value(n: i64, x: D) -> D = { let (a, b, c) = one(n, x); a + sum(b) - sum(c) }\n"
       "fn slope(n: i64, x: D) = value_and_grad(value, wrt = x)(n, x)\n");
  static const char *const counts[] = {"0", "1", "2", "5"};
  s->args[0] = strdup(counts[below(&g, 4)]);
  s->args[1] = strdup(chance(&g, 50) ? "0.75" : "-1.25");
  s->n_args = 2;
  return NULL;
}

static const char *const roots[] = {"value", "slope", "one"};

const diff_sort diff_small = {
    .name = "small", .roots = roots, .n_roots = sizeof roots / sizeof *roots, .make = make};
