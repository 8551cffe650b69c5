/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Flattening: the shape of images, and graphs of extreme shapes. */
#include "graph/analysis/effects.h"
#include "graph/flatten/flatten.h"
#include "graph/passes/passes.h"
#include "graph/pipeline/pass.h"
#include "graph/read/read.h"
#include "tests/unit/helpers/graph_files.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/random.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct view {
  const hia_image_header *h;
  const hia_image_section *sections;
  const hia_image_region *regions;
  const hia_image_node *nodes;
  const uint32_t *words;
  const char *strings;
} view;

static view look(const image_program *p) {
  const char *base = p->bytes;
  const hia_image_header *h = p->bytes;
  return (view){h,
                (const void *)(base + h->sections.at),
                (const void *)(base + h->regions.at),
                (const void *)(base + h->nodes.at),
                (const void *)(base + h->words.at),
                base + h->strings.at};
}

static uint32_t count_kind(const view *v, uint32_t section, hia_image_kind kind) {
  uint32_t n = 0;
  const hia_image_section *s = &v->sections[section];
  for (uint32_t i = 0; i < s->n_nodes; i++) n += v->nodes[s->nodes + i].kind == kind;
  return n;
}

/* Both engines return this result, on one thread and on four. */
static void gives(const image_program *p, const hia_word *args, hia_word result) {
  for (unsigned threads = 1; threads <= 4; threads += 3) {
    image_outcome o = image_run(p, IMAGE_INTERP, args, threads, NULL, NULL);
    cr_assert_eq(o.status, HIA_OK);
    cr_assert_eq(o.results[0], result, "interp: %lld, not %lld", (long long)o.results[0],
                 (long long)result);
  }
  image_outcome o = image_run(p, IMAGE_EXPAND, args, 1, NULL, NULL);
  cr_assert_eq(o.status, HIA_OK);
  cr_assert_eq(o.results[0], result, "expand: %lld, not %lld", (long long)o.results[0],
               (long long)result);
}

Test(flatten, fib) {
  image_program p =
      image_of("fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
               "fn main(n: i32) -> i32 = fib(n)",
               false, NULL);
  view v = look(&p);
  const hia_image_section *s = v.sections;
  while (strcmp(v.strings + s->name, "fib(i32)") != 0) s++;
  uint32_t i = (uint32_t)(s - v.sections);
  cr_assert_eq(s->n_nodes, 7); /* le, switch, sub, call, sub, call, add */
  cr_assert_eq(count_kind(&v, i, HIA_KIND_CALL), 2);
  cr_assert_eq(count_kind(&v, i, HIA_KIND_SWITCH), 1);
  cr_assert_eq(s->n_regions, 3);
  cr_assert_eq(s->n_consts, 2);
  /* All nodes wait for one token, except the sum: a node that waits for a value computed from n
   * need not wait for n. */
  for (uint32_t k = 0; k < s->n_nodes; k++)
    cr_assert_eq(v.nodes[s->nodes + k].tokens, k == 6 ? 2 : 1);
  gives(&p, (hia_word[]){15}, 987);
  image_discard(&p);
}

/* Firings: of the entry Merge, le, Switch of n and Merge in each call; and sub, Call_i, Return_i
 * twice and add in one that recurs. */
Test(flatten, weights_are_the_static_graphs_nodes) {
  image_program p =
      image_of("fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
               "fn main(n: i32) -> i32 = fib(n)",
               false, "inline");
  for (hia_word n = 0; n < 10; n++) {
    uint64_t leaves = 1, inner = 0, a = 1, b = 1;
    for (hia_word i = 2; i <= n; i++) {
      uint64_t c = a + b;
      a = b, b = c;
    }
    leaves = b, inner = leaves - 1;
    uint64_t expected = leaves * 4 + inner * 11 + 3; /* main: entry Merge, Call_i, Return_i */
    image_outcome o = image_run(&p, IMAGE_INTERP, &n, 1, NULL, NULL);
    cr_assert_eq(o.usage.firings, expected, "fib(%llu): %llu firings, not %llu",
                 (unsigned long long)n, (unsigned long long)o.usage.firings,
                 (unsigned long long)expected);
    o = image_run(&p, IMAGE_EXPAND, &n, 1, NULL, NULL);
    cr_assert_eq(o.usage.firings, expected);
  }
  image_discard(&p);
}

Test(flatten, a_loop_and_nothing_else_is_one_section) {
  image_program p = image_of("fn main(a: i64, b: i64) -> i64 = { let (x, _) = loop (x = a, y = b) "
                             "while y != 0 { (y, x % y) }; x }",
                             false, NULL);
  view v = look(&p);
  cr_assert_eq(v.h->sections.n, 1);
  cr_assert_eq(v.sections[0].flags, HIA_SECTION_ITERATES);
  gives(&p, (hia_word[]){1071, 462}, 21);
  gives(&p, (hia_word[]){5, 0}, 5);
  image_discard(&p);
}

Test(flatten, other_loops_are_sections_of_their_own) {
  image_program p = image_of(
      "fn main(a: i64, b: i64) -> i64 = { let (_, s) = loop (i = 0i64, s = 0i64) while i < a "
      "{ (i + 1, { let (_, t) = loop (k = 0i64, t = s) while k < b { (k + 1, t + i * k) }; "
      "t }) }; s + a }",
      false, NULL);
  view v = look(&p);
  cr_assert_eq(v.h->sections.n, 3);
  cr_assert_eq(v.sections[0].flags, 0);
  gives(&p, (hia_word[]){4, 5}, (0 + 1 + 2 + 3) * (0 + 1 + 2 + 3 + 4) + 4);
  image_discard(&p);
}

/* An inner loop in a function that consists of a loop. */
Test(flatten, nested_loops) {
  image_program p =
      image_of("fn main(a: i64, b: i64) -> i64 = { let (_, s) = loop (i = 0i64, s = 0i64)"
               " while i < a { (i + 1, { let (_, t) = loop (k = 0i64, t = s) while k < b "
               "{ (k + 1, t + i * k) }; t }) }; s }",
               false, NULL);
  view v = look(&p);
  cr_assert_eq(v.h->sections.n, 2);
  gives(&p, (hia_word[]){4, 5}, (0 + 1 + 2 + 3) * (0 + 1 + 2 + 3 + 4));
  gives(&p, (hia_word[]){0, 5}, 0);
  image_discard(&p);
}

/* Variables that exchange values: cycles of two and three, a chain, and both at once. */
Test(flatten, moves_between_rounds) {
  image_program p = image_of(
      "fn main(n: i32, x: i32) -> i32 = { let (_, a, b, c, d, e, f, g) = loop (i = 0, a = 1, b = "
      "2, c = 3, d = 4, e = 5, f = x, g = x) while i < n { (i + 1, b, c, a, e, d, a, f) };"
      " a + 10 * b + 100 * c + 1000 * d + 10000 * e + 100000 * f + 1000000 * g }",
      false, NULL);
  int32_t now[7] = {1, 2, 3, 4, 5, 9, 9};
  for (hia_word n = 0; n < 9; n++) {
    int32_t sum = 0, weight = 1;
    for (int i = 0; i < 7; i++, weight *= 10) sum += now[i] * weight;
    gives(&p, (hia_word[]){n, 9}, hiaR_from_i32(sum));
    int32_t next[7] = {now[1], now[2], now[0], now[4], now[3], now[0], now[5]};
    memcpy(now, next, sizeof now);
  }
  image_discard(&p);
}

Test(flatten, a_value_in_several_merges) {
  image_program p = image_of(
      "fn two(n: i32) -> (i32, i32, i32) = if n > 0 then { let a = n / 2; (a, a, 5) } else "
      "(n, 3, n)\n"
      "fn main(n: i32) -> i32 = { let t = two(n); let u = two(t.0 - 1); t.0 + 10 * t.1 + 100 * "
      "t.2 + 1000 * u.0 + 10000 * u.1 + 100000 * u.2 }",
      false, NULL);
  gives(&p, (hia_word[]){6}, 3 + 30 + 500 + 1000 + 10000 + 500000);
  gives(&p, (hia_word[]){0}, hiaR_from_i32(0 + 30 + 0 - 1000 + 30000 - 100000));
  image_discard(&p);
}

Test(flatten, twice_the_same_bytes) {
  for (uint64_t seed = 0; seed < 50; seed++) {
    hia_comp comp;
    hia_types types;
    hiaR_comp_init(&comp, &hiaR_malloc);
    if (HIA_TRY(&comp)) {
      hiaG_types_init(&types, &comp);
      hia_graph *g = random_graph(&comp, &types, seed);
      hiaG_run_passes(g, &(hia_pass_options){0});
      void *a, *b;
      size_t n, m;
      hiaG_flatten(g, &a, &n);
      hiaG_flatten(g, &b, &m);
      cr_assert(n == m && memcmp(a, b, n) == 0);
    }
    cr_assert_eq(comp.status, HIA_OK, "%s", comp.message);
    hiaR_comp_free(&comp);
  }
}

/* ---- extreme shapes, made as text ---- */

typedef struct builder {
  FILE *file;
  char *text;
  size_t len;
} builder;

static void begin(builder *b) {
  b->file = open_memstream(&b->text, &b->len);
  cr_assert_not_null(b->file);
  fprintf(b->file, "graph functions \"t\"\n");
}

/* Without the passes, which would change the graph. */
static image_program finish(builder *b) {
  image_program p;
  memset(&p, 0, sizeof p);
  fclose(b->file);
  hiaR_comp_init(&p.comp, &hiaR_malloc);
  if (HIA_TRY(&p.comp)) {
    hia_read_error error = {0};
    hiaG_types_init(&p.types, &p.comp);
    p.graph = hiaG_read(&p.comp, &p.types, b->text, b->len, &error);
    cr_assert_not_null(p.graph, "%u:%u %s", error.line, error.col, error.message);
    hiaG_effects(p.graph);
    hiaG_tag(p.graph);
    hiaG_flatten(p.graph, &p.bytes, &p.size);
    cr_assert_eq(hiaR_image_load(p.bytes, p.size, hiaR_any_kernel, &hiaR_malloc, &p.image, p.error,
                                 sizeof p.error),
                 HIA_OK, "%s", p.error);
  }
  cr_assert_eq(p.comp.status, HIA_OK, "%s", p.comp.message);
  free(b->text);
  return p;
}

/* More slots than kernels can number. */
Test(flatten, wide_section) {
  enum { N = 70000 };
  builder b;
  begin(&b);
  fprintf(b.file, "fn main (i64) -> (i64) root (i64) -> i64 {\n%%0:i64 = arg 0\n");
  for (int i = 1; i < N; i++) fprintf(b.file, "%%%d:i64 = add %%%d, %%%d\n", i, i - 1, i / 3);
  fprintf(b.file, "yield %%%d\n}\n", N - 1);
  image_program p = finish(&b);
  uint64_t *v = malloc(N * sizeof *v);
  v[0] = 7;
  for (int i = 1; i < N; i++) v[i] = v[i - 1] + v[i / 3];
  gives(&p, (hia_word[]){7}, v[N - 1]);
  free(v);
  image_discard(&p);
}

/* A failing operation in a wide section; its operands and results are copied. */
Test(flatten, wide_section_fails) {
  enum { N = 70000 };
  builder b;
  begin(&b);
  fprintf(b.file, "fn main (i64) -> (i64) root (i64) -> i64 {\n%%0:i64 = arg 0\n");
  for (int i = 1; i < N; i++)
    fprintf(b.file, "%%%d:i64 = %s %%%d, %%0 !%d:1\n", i, i == N - 5 ? "div" : "add", i - 1, i);
  fprintf(b.file, "yield %%%d\n}\n", N - 1);
  image_program p = finish(&b);
  for (image_engine e = IMAGE_INTERP; e <= IMAGE_EXPAND; e++) {
    image_outcome o = image_run(&p, e, (hia_word[]){0}, 1, NULL, NULL);
    cr_assert_eq(o.status, HIA_DIV_ZERO);
    cr_assert_eq(hiaR_image_locs(p.image, NULL)[hiaR_backtrace_entry(&o.failure.backtrace, 0)].line,
                 N - 5);
  }
  image_discard(&p);
}

/* %3 is twice %0 if that is below n, found by n branches, each in the last one's ELSE; else %0.
 * Uses %1 to %4n. */
static void nest(FILE *file, int n) {
  for (int i = 0, v = 1; i < n; i++, v += 4)
    fprintf(file,
            "%%%d:i32 = const %d\n%%%d:bool = eq %%0, %%%d\n%%%d:i32 = if %%%d {\n"
            "%%%d:i32 = add %%0, %%%d\nyield %%%d\n} else {\n",
            v, i, v + 1, v, v + 2, v + 1, v + 3, v, v + 3);
  fprintf(file, "yield %%0\n");
  for (int i = n, v = 4 * n - 3; i-- > 1; v -= 4) fprintf(file, "}\nyield %%%d\n", v + 2);
  fprintf(file, "}\n");
}

Test(flatten, nest_of_branches) {
  enum { N = 10000 };
  builder b;
  begin(&b);
  fprintf(b.file, "fn main (i32) -> (i32) root (i32) -> i32 {\n%%0:i32 = arg 0\n");
  nest(b.file, N);
  fprintf(b.file, "%%%d:i32 = mul %%3, %%3\nyield %%%d\n}\n", 4 * N + 1, 4 * N + 1);
  image_program p = finish(&b);
  gives(&p, (hia_word[]){1}, 2 * 2);
  gives(&p, (hia_word[]){5000}, 10000 * 10000);
  gives(&p, (hia_word[]){12345}, 12345 * 12345);
  image_discard(&p);
}

/* A set of pending calls with three levels; each call waits for an earlier one. */
Test(flatten, many_calls) {
  enum { N = 9000, BACK = 70 };
  builder b;
  begin(&b);
  fprintf(b.file,
          "fn f (i64, i64) -> (i64) {\n%%0:i64 = arg 0\n%%1:i64 = arg 1\n%%2:i64 = add %%0, %%1\n"
          "yield %%2\n}\nfn main (i64) -> (i64) root (i64) -> i64 {\n%%0:i64 = arg 0\n");
  uint64_t *v = malloc((2 * N + 1) * sizeof *v);
  v[0] = 3;
  for (int i = 1; i <= N; i++) {
    int from = i <= BACK ? 0 : i - BACK;
    fprintf(b.file, "%%%d:i64 = call f %%%d, %%0\n", i, from);
    v[i] = v[from] + v[0];
  }
  for (int i = 1; i <= N; i++) {
    fprintf(b.file, "%%%d:i64 = add %%%d, %%%d\n", N + i, i == 1 ? 0 : N + i - 1, i);
    v[N + i] = (i == 1 ? v[0] : v[N + i - 1]) + v[i];
  }
  fprintf(b.file, "yield %%%d\n}\n", 2 * N);
  image_program p = finish(&b);
  gives(&p, (hia_word[]){3}, v[2 * N]);
  free(v);
  image_discard(&p);
}

/* More arguments, all computed at different times, than a count can hold. */
Test(flatten, many_arguments) {
  enum { N = 700 };
  builder b;
  begin(&b);
  fprintf(b.file, "fn one (i64) -> (i64) {\n%%0:i64 = arg 0\n%%1:i64 = neg %%0\nyield %%1\n}\n"
                  "fn f (");
  for (int i = 0; i < N; i++) fprintf(b.file, i ? ", i64" : "i64");
  fprintf(b.file, ") -> (i64) {\n");
  for (int i = 0; i < N; i++) fprintf(b.file, "%%%d:i64 = arg %d\n", i, i);
  for (int i = 1; i < N; i++)
    fprintf(b.file, "%%%d:i64 = sub %%%d, %%%d\n", N - 1 + i, i == 1 ? 0 : N - 2 + i, i);
  fprintf(b.file, "yield %%%d\n}\nfn main (i64) -> (i64) root (i64) -> i64 {\n%%0:i64 = arg 0\n",
          2 * N - 2);
  for (int i = 0; i < N; i++) fprintf(b.file, "%%%d:i64 = call one %%0\n", i + 1);
  fprintf(b.file, "%%%d:i64 = call f ", N + 1);
  for (int i = 0; i < N; i++) fprintf(b.file, i ? ", %%%d" : "%%%d", i + 1);
  fprintf(b.file, "\nyield %%%d\n}\n", N + 1);
  image_program p = finish(&b);
  gives(&p, (hia_word[]){5}, hiaR_from_i64(-5 + 5 * (N - 1)));
  image_discard(&p);
}

/* Merges with many users remain nodes, so that the number of edges does not multiply. */
Test(flatten, edges_do_not_multiply) {
  enum { N = 300 };
  builder b;
  begin(&b);
  fprintf(b.file, "fn main (i32) -> (i32) root (i32) -> i32 {\n%%0:i32 = arg 0\n");
  nest(b.file, N);
  int v = 4 * N + 1;
  for (int i = 0; i < N; i++, v++) fprintf(b.file, "%%%d:i32 = add %%3, %%%d\n", v, i ? v - 1 : 0);
  fprintf(b.file, "yield %%%d\n}\n", v - 1);
  image_program p = finish(&b);
  view image = look(&p);
  uint32_t n_edges = 0;
  for (uint32_t i = 0; i < image.h->nodes.n; i++) n_edges += image.nodes[i].n_edges;
  cr_assert_lt(n_edges, 10 * N);
  gives(&p, (hia_word[]){7}, 7 + 14 * N);
  gives(&p, (hia_word[]){N}, N + N * N);
  image_discard(&p);
}

/* Well-formed graphs that tagging does not make: variables that share an Enter or a Next. */
Test(flatten, loops_by_hand) {
  image_program p;
  cr_assert(image_from_ir(&p, graph_file("shared_enter")), "%s", p.error);
  for (int n = 0; n < 6; n++) {
    int a = n, b = 7, c = 7, sum;
    for (;; a--, b = a, c = sum) {
      sum = b + c;
      if (a <= 0) break;
    }
    gives(&p, (hia_word[]){(hia_word)n, 7}, hiaR_from_i32(sum));
  }
  image_discard(&p);
}
