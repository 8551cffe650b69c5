/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs that were printed and are read back: they give the same results as their source, with
 * batches. And graphs that somebody has changed: what passes guarantee is refused, or tested when
 * the code runs, and counts of references are not believed. Under AddressSanitizer each of these
 * runs shows a use of memory that was freed. */
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct printed {
  char *data;
  size_t len;
} printed;

static bool take(void *user, const char *data, size_t len) {
  printed *p = user;
  p->data = realloc(p->data, p->len + len + 1);
  memcpy(p->data + p->len, data, len);
  p->data[p->len += len] = 0;
  return true;
}

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  char result[4000];
} world;

static bool begin(world *w) {
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error = NULL;
  o.kind = HIA_ENGINE_JIT;
  o.opt_level = 0;
  o.batching = HIA_BATCH_ALL;
  *w = (world){0};
  hia_status status = hia_engine_new(&o, &w->engine, &error);
  if (status == HIA_OK) return true;
  cr_assert_eq(status, HIA_UNSUPPORTED, "%s", hia_error_text(error));
  hia_error_free(error);
  return false;
}

/* Calls main. The result is w->result, or what the error says. */
static hia_status call(world *w, const char *const *args, size_t n) {
  hia_function *main;
  hia_value *values[4] = {0}, *out = NULL;
  hia_error *error = NULL;
  cr_assert_eq(hia_module_function(w->module, "main", &main, &error), HIA_OK, "%s",
               hia_error_text(error));
  for (size_t i = 0; i < n; i++)
    cr_assert_eq(hia_value_parse(main, i, args[i], &values[i], &error), HIA_OK, "%s",
                 hia_error_text(error));
  hia_status status = hia_run(main, values, n, NULL, &out, &error);
  if (status == HIA_OK)
    hia_value_format(out, w->result, sizeof w->result);
  else
    snprintf(w->result, sizeof w->result, "%s", hia_error_text(error));
  hia_error_free(error);
  hia_value_free(out);
  for (size_t i = 0; i < n; i++) hia_value_free(values[i]);
  hia_module_free(w->module);
  w->module = NULL;
  return status;
}

static hia_status load(world *w, const char *graph, hia_error **error) {
  return hia_module_load_ir(w->engine, "read.ir", graph, strlen(graph), &w->module, error);
}

static hia_status run_graph(world *w, const char *graph, const char *const *args, size_t n) {
  hia_error *error = NULL;
  cr_assert_eq(load(w, graph, &error), HIA_OK, "%s", hia_error_text(error));
  return call(w, args, n);
}

/* A tensor that a `defer` takes, and an array too; a list, which counts; a comprehension. */
static const char source[] =
    "param W: f32[8, 8] = glorot_uniform()\n"
    "type List = Nil | Cons(head: f32, tail: List)\n"
    "fn list(n: i64) -> List = { let r = loop (l = Nil, i: i64 = 0) while i < n {"
    " (Cons(f32(i), l), i + 1) }; r.0 }\n"
    "fn sum_of(l: List) -> f32 = match l { Nil => 0, Cons(h, t) => h + sum_of(t) }\n"
    "fn main(a: f32) = {\n"
    "  let x = full(a, 8);\n"
    "  let y = W @ tanh(W @ x);\n"
    "  let l = list(20);\n"
    "  [(sum(y), x, sum_of(l) + f32(i)) for i in 0..3]\n"
    "}\n";

static char *print(world *w, hia_stage stage, const char *after) {
  printed p = {0};
  hia_function *main;
  hia_error *error = NULL;
  hia_dump_options o = HIA_DUMP_OPTIONS_INIT;
  o.stage = stage;
  o.after = after;
  cr_assert_eq(
      hia_module_load_text(w->engine, "source.hia", source, strlen(source), &w->module, &error),
      HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(w->module, "main", &main, &error), HIA_OK);
  cr_assert_eq(hia_module_dump(w->module, &main, 1, &o, take, &p, &error), HIA_OK, "%s",
               hia_error_text(error));
  hia_module_free(w->module);
  w->module = NULL;
  return p.data;
}

static const char *const one[] = {"1.5"};

static void expected(world *w, char *out, size_t size) {
  hia_error *error = NULL;
  cr_assert_eq(
      hia_module_load_text(w->engine, "source.hia", source, strlen(source), &w->module, &error),
      HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(call(w, one, 1), HIA_OK, "%s", w->result);
  snprintf(out, size, "%s", w->result);
}

Test(read, what_is_printed_after_each_pass_runs, .timeout = 120) {
  static const char *const stages[] = {NULL, "batch", "fill", "cons", "unroll", "tail", "refs"};
  world w;
  char wanted[4000];
  if (!begin(&w)) cr_skip_test("no native code");
  expected(&w, wanted, sizeof wanted);
  for (size_t i = 0; i <= sizeof stages / sizeof *stages; i++) {
    bool is_static = i == sizeof stages / sizeof *stages;
    char *graph =
        print(&w, is_static ? HIA_STAGE_STATIC : HIA_STAGE_GRAPH, is_static ? NULL : stages[i]);
    cr_expect_eq(run_graph(&w, graph, one, 1), HIA_OK, "stage %zu: %s", i, w.result);
    cr_expect_str_eq(w.result, wanted, "stage %zu", i);
    free(graph);
  }
  hia_engine_free(w.engine);
}

/* Changes each line that contains ` WORD `: leaves it out, or writes it twice. */
static char *change_lines(const char *graph, const char *word, bool is_twice, unsigned *n) {
  char *out = malloc(2 * strlen(graph) + 1), *to = out;
  *n = 0;
  for (const char *line = graph; *line;) {
    size_t len = strcspn(line, "\n") + 1;
    bool is_one = memmem(line, len, word, strlen(word)) != NULL;
    for (unsigned k = 0; k < (is_one ? is_twice ? 2u : 0u : 1u); k++, to += len)
      memcpy(to, line, len);
    *n += is_one;
    line += len;
  }
  *to = 0;
  return out;
}

Test(read, counts_are_not_believed, .timeout = 120) {
  static const struct {
    const char *word;
    bool is_twice;
  } changes[] = {{"  dup ", false}, {"  dup ", true}, {"  drop ", false}, {"  drop ", true}};
  world w;
  char wanted[4000];
  unsigned n, n_changed = 0;
  if (!begin(&w)) cr_skip_test("no native code");
  expected(&w, wanted, sizeof wanted);
  char *graph = print(&w, HIA_STAGE_STATIC, NULL);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    char *changed = change_lines(graph, changes[i].word, changes[i].is_twice, &n);
    n_changed += n;
    cr_expect_eq(run_graph(&w, changed, one, 1), HIA_OK, "%s", w.result);
    cr_expect_str_eq(w.result, wanted);
    free(changed);
  }
  cr_expect_gt(n_changed, 0);
  free(graph);
  hia_engine_free(w.engine);
}

static const char filled[] =
    "graph functions \"filled\"\n"
    "fn main (i64, i64) -> ([(i64, i64)]) root (i64, i64) -> [(i64, i64)] {\n"
    "  %0:i64 = arg 0\n"
    "  %1:i64 = arg 1\n"
    "  %2:[(i64, i64)] = new %0\n"
    "  fill %2, %1, %1, %1\n"
    "  %3:[(i64, i64)] = filled %2, %1\n"
    "  yield %3\n"
    "}\n";

/* An element of the array is a tensor, which nobody sets. */
static const char unset[] = "graph functions \"unset\"\n"
                            "fn main (i64, i64) -> (f32) root (i64, i64) -> f32 {\n"
                            "  %0:i64 = arg 0\n"
                            "  %1:i64 = arg 1\n"
                            "  %2:[(f32[?], i64)] = new %0\n"
                            "  %3:[(f32[?], i64)] = filled %2, %1\n"
                            "  %4:f32[?] = at 0 %3, %1\n"
                            "  %5:f32[?] = undef\n"
                            "  %6:f32[?] = cat 0 %4, %5\n"
                            "  %7:f32 = sum all %6\n"
                            "  yield %7\n"
                            "}\n";

static const char destination[] = "graph functions \"destination\"\n"
                                  "type L = N | C(x: i64)\n"
                                  "fn place () -> (i64) {\n"
                                  "  %0:i64 = dest\n"
                                  "  yield %0\n"
                                  "}\n"
                                  "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                  "  %0:i64 = arg 0\n"
                                  "  %1:i64 = arg 1\n"
                                  "  %2:i64 = call place\n"
                                  "  %3:L = take %2\n"
                                  "  %4:L = data C %1\n"
                                  "  put %2, %4\n"
                                  "  %5:L = take %2\n"
                                  "  %6:i64 = field C.0 %5\n"
                                  "  %7:i64 = add %6, %0\n"
                                  "  yield %7\n"
                                  "}\n";

/* One `undef` stands for addresses of words of two types, as pass tail makes it. If the first
 * argument is not greater, something is put at it. */
static const char no_address[] = "graph static \"no_address\"\n"
                                 "type L = N | C(x: i64)\n"
                                 "fn main (i64, i64) -> (i64) root (i64, i64) -> i64 {\n"
                                 "  %0:i64 = merge.entry 0\n"
                                 "  %1:i64 = merge.entry 1\n"
                                 "  %2:i64 = dest\n"
                                 "  %3:i64 = dest\n"
                                 "  %4:L = data C %0\n"
                                 "  put %3, %4\n"
                                 "  %5:bool = gt %0, %1\n"
                                 "  %6:i64, %7:i64 = switch .1 %2, %5\n"
                                 "  %8:i64, %9:i64 = switch .1 %3, %5\n"
                                 "  then .1 %5 {\n"
                                 "  } else .2 {\n"
                                 "    %10:i64 = undef\n"
                                 "  }\n"
                                 "  %11:i64 = merge .1 %6, %10\n"
                                 "  %12:i64 = merge .1 %8, %10\n"
                                 "  put %11, %1\n"
                                 "  %13:L = take %12\n"
                                 "  %14:i64 = field C.0 %13\n"
                                 "  yield %14\n"
                                 "}\n";

Test(read, code_tests_what_passes_guarantee) {
  static const char *const inside[] = {"3", "1"}, *const outside[] = {"3", "3"},
                           *const below[] = {"3", "-1"}, *const large[] = {"3", "7000000"};
  world w;
  if (!begin(&w)) cr_skip_test("no native code");
  cr_expect_eq(run_graph(&w, filled, inside, 2), HIA_OK, "%s", w.result);
  cr_expect_str_eq(w.result, "[(0, 0), (1, 1), (0, 0)]");
  cr_expect_eq(run_graph(&w, filled, outside, 2), HIA_RANGE, "%s", w.result);
  cr_expect_eq(run_graph(&w, filled, below, 2), HIA_RANGE, "%s", w.result);
  cr_expect_eq(run_graph(&w, unset, inside, 2), HIA_OK, "%s", w.result);
  cr_expect_str_eq(w.result, "0.0");
  cr_expect_eq(run_graph(&w, destination, inside, 2), HIA_OK, "%s", w.result);
  cr_expect_str_eq(w.result, "4");
  cr_expect_eq(run_graph(&w, no_address, inside, 2), HIA_OK, "%s", w.result);
  cr_expect_str_eq(w.result, "3");
  cr_expect_eq(run_graph(&w, no_address, large, 2), HIA_INTERNAL, "%s", w.result);
  hia_engine_free(w.engine);
}

/* A row of another shape than its segment states, and one whose operand is pending where it is
 * read. */
static const char segment[] = "graph functions \"segment\"\n"
                              "fn add (f32[?, ?]) -> (f32[?, ?]) rows ([4]) -> ([4]) {\n"
                              "  %0:f32[?, ?] = arg 0\n"
                              "  %1:f32[?, ?] = add %0, %0\n"
                              "  yield %1\n"
                              "}\n"
                              "fn main (i64, i64) -> (f32) root (i64, i64) -> f32 {\n"
                              "  %0:i64 = arg 0\n"
                              "  %1:i64 = arg 1\n"
                              "  %2:f32 = const 0x1p+0\n"
                              "  %3:f32[?] = full %2, %0\n"
                              "  %4:f32[?] = defer add %3\n"
                              "  %5:f32[?] = tanh %4\n"
                              "  %6:f32 = sum all %4\n"
                              "  %7:f32 = row %4, %1\n"
                              "  %8:f32 = add %6, %7\n"
                              "  yield %8\n"
                              "}\n";

Test(read, segments_are_tested) {
  static const char *const right[] = {"4", "1"}, *const wrong[] = {"5", "1"};
  world w;
  if (!begin(&w)) cr_skip_test("no native code");
  cr_expect_eq(run_graph(&w, segment, right, 2), HIA_OK, "%s", w.result);
  cr_expect_str_eq(w.result, "10.0");
  cr_expect_eq(run_graph(&w, segment, wrong, 2), HIA_INTERNAL, "%s", w.result);
  hia_engine_free(w.engine);
}

/* Changes of graphs that are read above, and what is said of them. */
Test(read, what_is_wrong_is_refused) {
  static const struct {
    const char *graph, *from, *to, *message;
  } wrong[] = {
      {destination, "  %3:L = take %2", "  %3:L = take %1", "an address is from dest"},
      {destination, "  %7:i64 = add %6, %0", "  %7:i64 = add %2, %0", "an address is from dest"},
      {destination, "  put %2, %4", "  %9:i32 = const 1\n  put %2, %9", "two types"},
      {destination, "fn place () -> (i64) {", "fn place () -> (i64) owning main {",
       "no owning version"},
      {destination, "fn place () -> (i64) {", "fn place () -> (i64) freezing {",
       "a range of two i64"},
      {segment, "rows ([4]) -> ([4])", "rows ([4, 4]) -> ([4])", "an axis more"},
      {segment, "rows ([4]) -> ([4])", "rows ([-4]) -> ([4])", "an axis more"},
      {segment, "rows ([4]) -> ([4])", "", "no segment"},
  };
  world w;
  if (!begin(&w)) cr_skip_test("no native code");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char text[2000];
    hia_error *error = NULL;
    const char *graph = wrong[i].graph, *at = strstr(graph, wrong[i].from);
    cr_assert_not_null(at, "%zu", i);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - graph), graph, wrong[i].to,
             at + strlen(wrong[i].from));
    cr_expect_neq(load(&w, text, &error), HIA_OK, "%zu", i);
    cr_expect(error && strstr(hia_error_text(error), wrong[i].message), "%zu: %s", i,
              hia_error_text(error));
    hia_error_free(error);
    hia_module_free(w.module);
    w.module = NULL;
  }
  hia_engine_free(w.engine);
}
