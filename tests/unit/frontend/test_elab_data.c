/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs of matches on data: random ones are evaluated, before and after the passes, and compared
 * with the arms tried one after the other; large ones have graphs of bounded size. */
#include "frontend/syntax/ast.h"
#include "frontend/syntax/program.h"
#include "graph/pipeline/pass.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/matches.h"
#include "tests/unit/helpers/sources.h"

#include <string.h>

enum { MAX_ARMS = 8 };

/* ---- a number for each value, in the language and in C ---- */

static const char hashes_text[] =
    "fn h_T(t: T) -> i32 = match t { A => 1, B(x, u) => h_bool(x) + 5 * h_T(u),\n"
    "                                C(u, v) => 7 * h_T(u) + 11 * h_U(v) + 4 }\n"
    "fn h_U(u: U) -> i32 = match u { D => 1, E(n) => h_i32(n) + 2, F(t) => 13 * h_T(t) + 6 }\n"
    "fn h_Q(q: Q) -> i32 = match q { Q(a, b, c, u) => h_bool(a) + 3 * h_bool(b) + 9 * h_bool(c) +\n"
    "                                                 17 * h_U(u) }\n"
    "fn h_bool(b: bool) = if b then 2 else 3\n"
    "fn h_i32(n: i32) = 3 * n\n";

static uint32_t hash_of(int type, const sample *v) {
  const sample *const *p = (const sample *const *)v->parts;
  switch (type) {
  case SAMPLE_T:
    if (v->con == 0) return 1;
    if (v->con == 1) return hash_of(SAMPLE_BOOL, p[0]) + 5 * hash_of(SAMPLE_T, p[1]);
    return 7 * hash_of(SAMPLE_T, p[0]) + 11 * hash_of(SAMPLE_U, p[1]) + 4;
  case SAMPLE_U:
    if (v->con == 0) return 1;
    return v->con == 1 ? hash_of(SAMPLE_INT, p[0]) + 2 : 13 * hash_of(SAMPLE_T, p[0]) + 6;
  case SAMPLE_Q:
    return hash_of(SAMPLE_BOOL, p[0]) + 3 * hash_of(SAMPLE_BOOL, p[1]) +
           9 * hash_of(SAMPLE_BOOL, p[2]) + 17 * hash_of(SAMPLE_U, p[3]);
  case SAMPLE_BOOL: return v->con ? 2 : 3;
  default: return 3 * (uint32_t)sample_integers[v->con];
  }
}

static hia_word word_of(int type, const sample *v) {
  if (type == SAMPLE_BOOL) return hiaR_from_bool(v->con != 0);
  if (type == SAMPLE_INT) return hiaR_from_i32(sample_integers[v->con]);
  const sample_con *con = &sample_types[type].cons[v->con];
  hia_word words[SAMPLE_MAX_PARTS];
  for (int i = 0; i < con->n; i++) words[i] = word_of(con->parts[i], v->parts[i]);
  return eval_data((uint32_t)v->con, words, (uint32_t)con->n);
}

/* ---- random matches ---- */

typedef struct arm {
  sample *pattern;
  sample *inner; /* of a match on the same value in the arm; or NULL */
  bool is_large;
} arm;

/* Appends the hashes of about half of the pattern's variables; forgets the others' names. */
static void use_variables(sample *p, int type, char *out) {
  if (p->con < 0) {
    if (p->name && sample_below(2)) p->name = 0;
    if (p->name)
      sprintf(out + strlen(out), " + %zu * h_%s(x%zu)", p->name, sample_types[type].name, p->name);
    return;
  }
  const sample_con *con = &sample_types[type].cons[p->con];
  for (int i = 0; i < con->n; i++) use_variables(p->parts[i], con->parts[i], out);
}

static uint32_t hash_of_variables(const sample *p, int type, const sample *v) {
  uint32_t sum = 0;
  if (p->con < 0) return p->name ? (uint32_t)p->name * hash_of(type, v) : 0;
  const sample_con *con = &sample_types[type].cons[p->con];
  for (int i = 0; i < con->n; i++)
    sum += hash_of_variables(p->parts[i], con->parts[i], v->parts[i]);
  return sum;
}

static void add_arm(arm *a, int i, int type, char *text) {
  char inner[1000] = "";
  strcat(text, "  ");
  sample_print(a->pattern, type, text);
  sprintf(text + strlen(text), " => %d", i);
  use_variables(a->pattern, type, text);
  for (int k = 0; k < 60 && a->is_large; k++) strcat(text, " + 1 - 1");
  if (a->inner) sample_print(a->inner, type, inner);
  if (a->inner) sprintf(text + strlen(text), " + match v { %s => 1000, _ => 2000 }", inner);
  strcat(text, ",\n");
}

static uint32_t expected(const arm *arms, int type, const sample *v) {
  int i = 0;
  while (!sample_fits(arms[i].pattern, v)) i++;
  uint32_t sum = (uint32_t)i + hash_of_variables(arms[i].pattern, type, v);
  if (arms[i].inner) sum += sample_fits(arms[i].inner, v) ? 1000 : 2000;
  return sum;
}

static size_t how_many_fit(const sample *pattern, const samples *values) {
  size_t n = 0;
  for (size_t k = 0; k < values->len; k++) n += sample_fits(pattern, values->data[k]);
  return n;
}

/* Random arms that can be reached and cover every case. Returns their number. */
static int random_arms(hia_arena *arena, int type, const samples *values, arm *arms) {
  int n = 0, wanted = 1 + (int)sample_below(MAX_ARMS);
  bool *is_taken = HIA_NEW_ARRAY(arena, bool, values->len);
  size_t n_taken = 0;
  for (int i = 0; n_taken < values->len; i++) {
    arm a = {.pattern = sample_pattern(arena, type, 1 + (int)sample_below(3)),
             .is_large = sample_below(3) == 0};
    if (i >= wanted) *a.pattern = (sample){.con = -1};
    size_t before = n_taken;
    for (size_t k = 0; k < values->len; k++) {
      if (is_taken[k] || !sample_fits(a.pattern, values->data[k])) continue;
      is_taken[k] = true;
      n_taken++;
    }
    if (before == n_taken) continue;
    if (sample_below(2)) a.inner = sample_pattern(arena, type, 1 + (int)sample_below(2));
    if (a.inner && how_many_fit(a.inner, values) == values->len) a.inner = NULL;
    arms[n++] = a;
  }
  return n;
}

static void check_values(const hia_graph *g, hia_fn_id f, const arm *arms, int type,
                         const samples *values, eval_steal steal, const char *text) {
  for (int k = 0; k < 30; k++) {
    const sample *v = values->data[sample_below(values->len)];
    hia_word word = word_of(type, v);
    eval_outcome out;
    eval_stealing(g, f, &word, (uint64_t)k, steal, &out);
    cr_assert_eq(out.status, HIA_OK);
    cr_assert_eq((uint32_t)out.results[0], expected(arms, type, v), "%s", text);
    eval_free();
  }
}

Test(elab_data, random_matches) {
  hia_comp memory;
  hiaR_comp_init(&memory, &hiaR_malloc);
  samples values[N_SAMPLE_TYPES];
  sample_values(&memory.arena, 4, values);
  static char text[20000];
  unsigned n_cuts = 0;
  enum { ROUNDS = 500 / (HIA_TEST_SHARE > 1 ? 4 : 1) };
  for (int round = 0; round < ROUNDS; round++) {
    int type = (int)sample_below(3);
    hia_mark mark = hiaR_arena_mark(&memory.arena);
    arm arms[MAX_ARMS + 1];
    int n = random_arms(&memory.arena, type, &values[type], arms);
    sprintf(text, "%s%sfn f(v: %s) -> i32 = match v {\n", sample_text, hashes_text,
            sample_types[type].name);
    for (int i = 0; i < n; i++) add_arm(&arms[i], i, type, text);
    strcat(text, "}\n");
    compiled c;
    compile_good(&c, text);
    hia_inst_id inst = instance(&c, "f", HIA_NONE);
    hia_comp comp; /* of the graph: with types of its own */
    hia_types types;
    hiaR_comp_init(&comp, &hiaR_malloc);
    if (HIA_TRY(&comp)) {
      hiaG_types_init(&types, &comp);
      hia_fn_id f;
      hia_graph *g = hiaF_build(c.program, &comp, &types, &inst, 1, false, &f);
      const char *defect = hiaG_verify(g);
      cr_assert_null(defect, "%s\n%s", text, defect);
      check_values(g, f, arms, type, &values[type], EVAL_STEAL_NONE, text);
      hia_text out;
      hiaR_text_init(&out, &comp.arena);
      hiaG_print(g, &out);
      n_cuts += strstr(out.data, ":i32 = if") != NULL && strstr(out.data, " = lt %") != NULL;
      hia_pass_use uses[] = {HIA_USE_ALL, HIA_USE_NATIVE, HIA_USE_PARALLEL};
      hia_pass_options options = {.verify = true, .use = uses[round % 3]};
      hiaG_run_passes(g, &options);
      check_values(g, f, arms, type, &values[type], EVAL_STEAL_SOME, text);
    }
    cr_assert_eq(comp.status, HIA_OK, "%s\n%s", text, comp.message);
    hiaR_comp_free(&comp);
    discard(&c);
    hiaR_arena_release(&memory.arena, mark);
  }
  hiaR_comp_free(&memory);
  cr_expect_gt(n_cuts, ROUNDS / 17, "%u", n_cuts);
}

/* ---- arrays ---- */

typedef struct pair {
  int32_t a, b;
} pair;

/* What `f` of the test below gives; false: an index is out of range. */
static bool arrays_in_c(int32_t n, int32_t i, int64_t j, int64_t results[2]) {
  pair made[3] = {{n, 2 * n}, {n + 1, 7}, {n + 2, 8}}, a[3], b[9];
  if (i < 0 || i > 2) return false;
  memcpy(a, made, sizeof a);
  a[i] = (pair){n * n, made[i].a};
  if (j < 0 || j > 3) return false;
  size_t len = 0;
  for (int64_t k = j; k < 3; k++) b[len++] = a[k];
  memcpy(b + len, made, sizeof made);
  memcpy(b + len + 3, a, sizeof a);
  len += 6;
  results[0] = b[i].a * 100 + b[len - 1].b;
  results[1] = (int64_t)len;
  return true;
}

Test(elab_data, arrays) {
  compiled c;
  compile_good(&c, "fn make(n: i32) = [(n, n * 2), (n + 1, 7), (n + 2, 8)]\n"
                   "fn f(n: i32, i: i32, j: i64) -> (i32, i64) = {\n"
                   "  let m = make(n);\n"
                   "  let a = set(m, i, (n * n, m[i].0));\n"
                   "  let b = concat(a[j..3], m, a);\n"
                   "  (b[i].0 * 100 + b[len(b) - 1].1, len(b))\n"
                   "}\n");
  hia_inst_id inst = instance(&c, "f", HIA_NONE);
  hia_fn_id f;
  hia_graph *g = hiaF_build(c.program, &c.comp, &c.types, &inst, 1, false, &f);
  for (int is_passed = 0; is_passed < 2; is_passed++) {
    const char *defect = hiaG_verify(g);
    cr_assert_null(defect, "%s", defect);
    for (int64_t k = 0; k < 6 * 6; k++) {
      int32_t i = (int32_t)(k % 6) - 1;
      int64_t j = k / 6 - 1, results[2];
      hia_word args[3] = {hiaR_from_i32(11), hiaR_from_i32(i), hiaR_from_i64(j)};
      eval_outcome out;
      eval_graph(g, f, args, 1, &out);
      bool is_good = arrays_in_c(11, i, j, results);
      cr_assert_eq(out.status, is_good ? HIA_OK : HIA_RANGE, "%d %d", i, (int)j);
      if (!is_good) continue;
      cr_expect_eq(hiaR_to_i32(out.results[0]), results[0]);
      cr_expect_eq(hiaR_to_i64(out.results[1]), results[1]);
    }
    eval_free();
    hia_pass_options options = {.verify = true, .use = HIA_USE_PARALLEL};
    if (!is_passed) hiaG_run_passes(g, &options);
  }
  discard(&c);
}

/* A comprehension counts a round for each element, runs in order, and stops at the first failure.
 * Ends too far apart: there is no memory. */
Test(elab_data, comprehensions) {
  compiled c;
  compile_good(&c, "type L = Nil | Cons(n: i32, l: L)\n"
                   "fn list(n: i32) -> L = if n <= 0 then Nil else Cons(n, list(n - 1))\n"
                   "fn sum(l: L) -> i32 = match l { Nil => 0, Cons(n, t) => n + sum(t) }\n"
                   "fn rows(m: i32, n: i32) = [[(i * j, list(j)) for j in i..n] for i in m..n]\n"
                   "fn f(m: i32, n: i32) -> (i64, i32) = {\n"
                   "  let r = rows(m, n);\n"
                   "  let sizes = [(len(x), if len(x) == 2 then fail(m) else 0) for x in r];\n"
                   "  let (sum, _) = loop (s = 0, i = 0i64) while i < len(r) {\n"
                   "    (s + r[i][0].0 + sum(r[i][0].1) + i32(sizes[i].0), i + 1)\n"
                   "  };\n"
                   "  (len([(_x, 0) for _x in r]), sum)\n"
                   "}\n"
                   "fn far(a: i64, b: i64) = len([(i, i) for i in a..b])\n");
  hia_inst_id insts[2] = {instance(&c, "f", HIA_NONE), instance(&c, "far", HIA_NONE)};
  hia_fn_id fns[2];
  hia_graph *g = hiaF_build(c.program, &c.comp, &c.types, insts, 2, true, fns);
  for (int is_passed = 0; is_passed < 2; is_passed++) {
    const char *defect = hiaG_verify(g);
    cr_assert_null(defect, "%s", defect);
    for (int32_t m = -2; m < 6; m++) {
      hia_word args[2] = {hiaR_from_i32(m), hiaR_from_i32(4)};
      eval_outcome out;
      eval_graph(g, fns[0], args, 1, &out);
      if (m <= 2) {
        cr_assert(out.status == HIA_FAILED && hiaR_to_i32(out.code) == m, "%d: %u", m, out.status);
        continue;
      }
      int32_t sum = m == 3 ? 9 + 6 + 1 : 0, n = m == 3;
      cr_assert_eq(out.status, HIA_OK);
      cr_expect_eq(hiaR_to_i64(out.results[0]), n);
      cr_expect_eq(hiaR_to_i32(out.results[1]), sum, "%d: %d", m, hiaR_to_i32(out.results[1]));
      /* the row and its element, its size, the loop, the last comprehension */
      cr_expect_eq(out.counts[1], (uint64_t)(5 * n), "%d rounds", (int)out.counts[1]);
    }
    const struct {
      int64_t from, to;
      hia_status status;
    } far[] = {{5, 8, HIA_OK},
               {8, 5, HIA_OK},
               {INT64_MAX, INT64_MIN, HIA_OK},
               {INT64_MIN, INT64_MAX, HIA_MEMORY},
               {-2, INT64_MAX, HIA_MEMORY}};
    for (size_t k = 0; k < HIA_LEN(far); k++) {
      hia_word args[2] = {hiaR_from_i64(far[k].from), hiaR_from_i64(far[k].to)};
      eval_outcome out;
      eval_graph(g, fns[1], args, 1, &out);
      cr_expect_eq(out.status, far[k].status, "%zu: %u", k, out.status);
      if (out.status == HIA_OK) cr_expect_eq(hiaR_to_i64(out.results[0]), k == 0 ? 3 : 0);
    }
    eval_free();
    hia_pass_options options = {.verify = true, .use = HIA_USE_PARALLEL};
    if (!is_passed) hiaG_run_passes(g, &options);
  }
  discard(&c);
}

/* ---- what stands in a graph ---- */

static size_t count(const char *text, const char *what) {
  size_t n = 0;
  for (; (text = strstr(text, what)) != NULL; text++) n++;
  return n;
}

static char *new_text(size_t size) {
  char *text = malloc(size);
  cr_assert_not_null(text);
  text[0] = '\0';
  return text;
}

/* Fields are read where they are needed, once on each way; those that nothing needs are not. */
Test(elab_data, fields) {
  compiled c;
  compile_good(&c, "type L = Nil | Cons(at: (f64, (i32, bool)), n: i32, tail: L)\n"
                   "fn f(l: L) = match l {\n"
                   "  Nil                       => 0,\n"
                   "  Cons(at, n, Cons(_, 1, x)) => n + n,\n"
                   "  Cons(at, n, t)            => { let (_, (k, _)) = at; k },\n"
                   "}\n");
  const char *text = graph_text(&c, "f", HIA_NONE, false);
  cr_expect_eq(count(text, "field Cons.3 %0"), 1, "%s", text); /* n, in the second arm */
  cr_expect_eq(count(text, "field Cons.4 %0"), 1, "%s", text); /* the tail, for the test */
  cr_expect_eq(count(text, "field Cons.3"), 2, "%s", text);
  cr_expect_eq(count(text, "field Cons.4"), 1, "%s", text);
  /* All words of a tuple; the third arm is small and stands there twice. */
  cr_expect_eq(count(text, "field Cons.0 %0"), 2, "%s", text);
  cr_expect_eq(count(text, " = ctor "), 2, "%s", text);
  discard(&c);
}

/* One test of two constructors, and it is the same in whatever order the arms stand. */
Test(elab_data, two_constructors) {
  compiled c;
  compile_good(&c, "type L = Nil | Cons(n: i32, tail: L)\n"
                   "fn f(l: L) = match l { Cons(n, _) => n, Nil => 0 }\n"
                   "fn g(l: L) = match l { Nil => 0, Cons(n, _) => n }\n"
                   "fn h(l: L) = match l { Cons(n, _) => n, _ => 0 }\n");
  char *texts[3];
  const char *names[] = {"f", "g", "h"};
  for (int i = 0; i < 3; i++) {
    const char *body = strchr(graph_text(&c, names[i], HIA_NONE, false), '{');
    texts[i] = new_text(strlen(body) + 1);
    for (const char *at = body; *at; at++) { /* without locations */
      if (*at == '!') at += strspn(at, "!:0123456789");
      strncat(texts[i], at, 1);
    }
  }
  cr_expect_str_eq(texts[0], texts[1]);
  cr_expect_str_eq(texts[1], texts[2]);
  cr_expect_eq(count(texts[0], " = if "), 1);
  for (int i = 0; i < 3; i++) free(texts[i]);
  discard(&c);
}

/* ---- large matches ---- */

/* Arms for pairs of fields: the ways to the last arm are 2^29. Each decision is made once. */
Test(elab_data, many_ways) {
  enum { N = 60 };
  char *text = new_text(N * N * 4 + 2000), *at = text;
  at += sprintf(at, "type B = A | C\ntype P = P(");
  for (int i = 0; i < N; i++) at += sprintf(at, "%sx%d: B", i == 0 ? "" : ", ", i);
  at += sprintf(at, ")\nfn f(p: P) -> i32 = match p {\n");
  for (int k = 0; k < N / 2; k++) {
    at += sprintf(at, "P(");
    for (int i = 0; i < N; i++)
      at += sprintf(at, "%s%s", i == 0 ? "" : ", ", i / 2 == k ? "A" : "_");
    at += sprintf(at, ") => %d,\n", k);
  }
  sprintf(at, "_ => %d }\n", N / 2);
  compiled c;
  compile_good(&c, text);
  hia_inst_id inst = instance(&c, "f", HIA_NONE);
  hia_fn_id f;
  hia_graph *g = hiaF_build(c.program, &c.comp, &c.types, &inst, 1, false, &f);
  const char *defect = hiaG_verify(g);
  cr_assert_null(defect, "%s", defect);
  cr_expect_lt(hiaG_fn(g, f)->nodes.len, 40 * N, "%u nodes", hiaG_fn(g, f)->nodes.len);
  for (int round = 0; round < 200; round++) {
    hia_word words[N], value;
    int wanted = N / 2;
    for (int i = 0; i < N; i++) words[i] = sample_below(8) != 0;
    for (int k = N / 2; k-- > 0;)
      if (words[2 * k] == 0 && words[2 * k + 1] == 0) wanted = k;
    value = eval_data(0, words, N);
    eval_outcome out;
    eval_graph(g, f, &value, 1, &out);
    cr_assert(out.status == HIA_OK && hiaR_to_i32(out.results[0]) == wanted);
    eval_free();
  }
  discard(&c);
  free(text);
}

/* Half of 3000 constructors have an arm: the depth is logarithmic, and the large arm for all others
 * stands in the graph once. */
Test(elab_data, many_constructors) {
  enum { N = 3000 };
  char *text = new_text(N * 60), *at = text;
  at += sprintf(at, "type T = Z");
  for (int i = 1; i < N; i++) at += sprintf(at, " | C%d(n: i32)", i);
  at += sprintf(at, "\nfn f(t: T, k: i32) -> i32 = match t {");
  for (int i = 1; i < N; i += 2) at += sprintf(at, " C%d(n) => n + %d,", i, i);
  at += sprintf(at, " _ => k %% 7");
  for (int i = 0; i < 20; i++) at += sprintf(at, " + k");
  sprintf(at, "}\n");
  compiled c;
  compile_good(&c, text);
  const char *graph = graph_text(&c, "f", HIA_NONE, false);
  size_t deepest = 0;
  for (const char *line = graph, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    size_t indent = strspn(line, " ") / 2;
    if (indent > deepest) deepest = indent;
  }
  cr_expect_leq(deepest, 15, "%zu levels", deepest);
  cr_expect_eq(count(graph, " = rem "), 1);
  cr_expect_eq(count(graph, " = field "), N / 2);
  discard(&c);
  free(text);
}

/* Copies within copies stay few. */
Test(elab_data, matches_in_arms) {
  enum { N = 40 };
  char *text = new_text(N * 100 + 500), *at = text;
  at += sprintf(at, "type B = A | C\ntype P = P(x: B, y: B)\nfn f(p: P, n: i32) -> i32 =");
  for (int i = 0; i < N; i++)
    at += sprintf(at, " match p { P(A, A) => %d, _ => g(p, n + %d) +", i, i);
  at += sprintf(at, " 1");
  for (int i = 0; i < N; i++) at += sprintf(at, "}");
  sprintf(at, "\nfn g(p: P, n: i32) = n\n");
  compiled c;
  compile_good(&c, text);
  const char *graph = graph_text(&c, "f", HIA_NONE, false);
  cr_expect_lt(count(graph, "\n"), 60 * N, "%zu lines", count(graph, "\n"));
  discard(&c);
  free(text);
}

/* Patterns nest as deep as they may be written; matches in arms, each that deep, do not. */
Test(elab_data, depth) {
  enum { N = 900 };
  char *text = new_text(5 * (N * 5 + 100)), *at = text;
  at += sprintf(at, "type N = Z | S(n: N)\nfn f(n: N) -> i32 = ");
  for (int k = 1; k <= 4; k++) {
    at += sprintf(at, "match n { ");
    for (int i = 0; i < N; i++) at += sprintf(at, "S(");
    at += sprintf(at, "x");
    for (int i = 0; i < N; i++) at += sprintf(at, ")");
    at += sprintf(at, " => f(x), _ => ");
    char *inner = at;
    at += sprintf(at, "%d", k);
    for (int i = 0; i < k; i++) at += sprintf(at, " }");
    if (k < 4) {
      compiled c;
      compile_good(&c, text);
      const char *graph = graph_text(&c, "f", HIA_NONE, false);
      cr_expect_lt(count(graph, "\n"), (size_t)(k * 12 * N), "%zu", count(graph, "\n"));
      discard(&c);
    } else {
      expect_error(text, "E0006");
    }
    at = inner;
  }
  free(text);
}
