/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: its table, its options, and that no pass changes the meaning of a program.
 *
 * The last is checked on random graphs, which are evaluated before and after each pass: the same
 * results, failures, chains of calls and counts. Every configuration of the tests has other graphs.
 * For hours: HIA_SEEDS=1-1000000 build/tests/test_pass
 */
#include "graph/analysis/effects.h"
#include "graph/passes/passes.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/graphs.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/random.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- meaning ---- */

enum { N_RUNS = 6, N_GRAPHS = 1500 / HIA_TEST_SHARE };

typedef struct run {
  hia_fn_id f;
  hia_word args[8];
  eval_outcome before;
} run;

/* The graph of a seed is made again for every change of it; so are its arguments. */
static void make_runs(const hia_graph *g, uint64_t seed, run *runs, bool is_before) {
  random_source r = {seed ^ 0x5eed};
  for (uint32_t i = 0; i < N_RUNS; i++) {
    do runs[i].f = random_below(&r, g->fns.len);
    while (!hiaG_fn(g, runs[i].f)->is_root);
    const hia_fn *fn = hiaG_fn(g, runs[i].f);
    runs[i].args[0] = random_below(&r, 7);
    for (uint32_t k = 1; k < fn->n_params; k++) runs[i].args[k] = random_word(&r, fn->params[k]);
    if (is_before) eval_graph(g, runs[i].f, runs[i].args, seed, &runs[i].before);
  }
}

static uint32_t count_ops(const hia_graph *g, unsigned op) {
  uint32_t count = 0;
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; n < fn->nodes.len && !fn->is_removed; n++)
      count += fn->nodes.data[n].op == op && !(fn->nodes.data[n].flags & HIA_NODE_DEAD);
  }
  return count;
}

/* The outcome is the same whichever of its forks are stolen, if it has any. */
static void expect_same(env *e, const hia_graph *g, uint64_t seed, const run *runs,
                        const char *what) {
  bool has_forks = count_ops(g, HIA_OP_FORK);
  for (uint32_t i = 0; i < 3 * N_RUNS; i++) {
    const run *r = &runs[i / 3];
    eval_outcome after;
    const hia_fn *fn = hiaG_fn(g, r->f);
    if (i % 3 && !has_forks) continue;
    eval_stealing(g, r->f, r->args, ~seed, (eval_steal)(i % 3), &after);
    if (eval_agree(fn, &r->before, &after)) continue;
    char a[2500], b[2500];
    eval_print(fn, &r->before, a, sizeof a);
    eval_print(fn, &after, b, sizeof b);
    fprintf(stderr, "%s\n", text_of(e, g));
    static const char *const steal[] = {"", ", all forks stolen", ", some forks stolen"};
    cr_assert_fail("seed %llu, %s%s: %s(%lld, ...) was\n%s\nand is\n%s", (unsigned long long)seed,
                   what, steal[i % 3], fn->name, (long long)r->args[0], a, b);
  }
}

/* Printing and reading back does not change a byte. */
static void expect_round_trip(env *e, const hia_graph *g) {
  const char *text = text_of(e, g);
  cr_assert_str_eq(text_of(e, read_text(e, text)), text);
}

typedef struct stage {
  env *e;
  uint64_t seed;
  const run *runs;
  bool has_fuel; /* the outcomes are those with fuel */
} stage;

static void after_pass(void *user, const char *pass, const hia_graph *g, uint64_t ns) {
  (void)ns;
  const stage *s = user;
  /* These come before the fuel. */
  if (s->has_fuel && (strcmp(pass, "grad") == 0 || strcmp(pass, "elements") == 0)) return;
  expect_same(s->e, g, s->seed, s->runs, pass);
}

/* The pipeline, with a check after each pass. */
static hia_graph *check_pipeline(env *e, uint64_t seed, const run *runs, hia_pass_options options) {
  hia_graph *g = random_graph(&e->comp, &e->types, seed);
  stage s = {e, seed, runs, options.fuel};
  options.verify = true;
  options.after = after_pass;
  options.user = &s;
  hiaG_run_passes(g, &options);
  expect_round_trip(e, g);
  return g;
}

static void check_fuelled(env *e, uint64_t seed, const run *runs, hia_pass_options options) {
  options.fuel = true;
  check_pipeline(e, seed, runs, options);
}

static void check_seed(uint64_t seed, uint32_t *n_forks) {
  env e;
  run runs[N_RUNS];
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = random_graph(&e.comp, &e.types, seed);
    const char *defect = hiaG_verify(g);
    cr_assert(!defect, "seed %llu: %s", (unsigned long long)seed, defect);
    make_runs(g, seed, runs, true);
    if (seed % 8 == 0) expect_round_trip(&e, g);

    check_pipeline(&e, seed, runs, (hia_pass_options){.use = HIA_USE_ALL});
    check_pipeline(&e, seed, runs, (hia_pass_options){.use = HIA_USE_NATIVE});
    g = check_pipeline(&e, seed, runs, (hia_pass_options){.use = HIA_USE_PARALLEL});
    *n_forks += count_ops(g, HIA_OP_FORK);
    /* Forks of the source's calls, without any other pass before. */
    const char *others = "copy,fold,cse,dce,inline,unroll";
    g = check_pipeline(&e, seed, runs,
                       (hia_pass_options){.use = HIA_USE_PARALLEL, .disabled = others});
    *n_forks += count_ops(g, HIA_OP_FORK);

    /* Tagging without any pass before. */
    hia_pass_options none = {.disabled = "all", .verify = true};
    g = random_graph(&e.comp, &e.types, seed);
    hiaG_run_passes(g, &none);
    expect_same(&e, g, seed, runs, "only the required passes");

    /* Passes in another order, and again. */
    g = random_graph(&e.comp, &e.types, seed);
    hiaG_effects(g);
    random_source r = {seed};
    char order[400] = "";
    for (uint32_t i = 0; i < 10; i++) {
      static const char *const names[] = {"copy",   "fold", "cse",     "dce",
                                          "inline", "tail", "effects", "fork"};
      const char *name = names[random_below(&r, HIA_LEN(names))];
      const hia_pass *pass = hiaG_passes;
      while (strcmp(pass->name, name) != 0) pass++;
      snprintf(order + strlen(order), sizeof order - strlen(order), " %s", name);
      hiaG_run_pass(g, pass);
      if (i == 4 || strcmp(name, "tail") == 0) hiaG_effects(g);
      defect = hiaG_verify(g);
      cr_assert(!defect, "seed %llu:%s: %s", (unsigned long long)seed, order, defect);
      expect_same(&e, g, seed, runs, order);
    }
    hiaG_tag(g);
    defect = hiaG_verify(g);
    cr_assert(!defect, "seed %llu:%s tag: %s", (unsigned long long)seed, order, defect);
    expect_same(&e, g, seed, runs, order);
  });
  hiaR_comp_free(&e.comp);
}

/* With fuel every run that does not fail is charged for its calls and rounds: this amount is
 * enough, and less is not. Passes do not change the outcome with less. */
static void check_fuel(uint64_t seed, uint32_t *n_short) {
  env e;
  run runs[N_RUNS];
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = random_graph(&e.comp, &e.types, seed), *fuelled;
    cr_assert_null(hiaG_cannot_fuel(g));
    make_runs(g, seed, runs, true);
    fuelled = random_graph(&e.comp, &e.types, seed);
    hiaG_fuel(fuelled);
    const char *defect = hiaG_verify(fuelled);
    cr_assert(!defect, "seed %llu: %s", (unsigned long long)seed, defect);
    expect_round_trip(&e, fuelled);
    for (uint32_t i = 0; i < N_RUNS; i++) {
      run *r = &runs[i];
      const hia_fn *fn = hiaG_fn(g, r->f);
      eval_outcome before = r->before, with;
      uint64_t n = g->is_counted ? before.counts[0] + before.counts[1] : before.made;
      for (uint32_t k = 0; k < 3 && before.status != HIA_DEADLINE; k++) {
        const uint64_t fuel[] = {UINT64_MAX, n, n - 1};
        r->args[fn->n_params] = fuel[k];
        eval_graph(fuelled, r->f, r->args, seed, &with);
        if (with.status == HIA_DEADLINE) continue;
        if (k < 2 && before.status == HIA_OK) {
          cr_assert(eval_agree(fn, &before, &with), "seed %llu", (unsigned long long)seed);
          cr_assert_eq(with.results[fn->n_results], fuel[k] - n, "seed %llu",
                       (unsigned long long)seed);
        } else if (k == 2 && n && before.status == HIA_OK) {
          cr_assert_eq(with.status, HIA_FUEL, "seed %llu", (unsigned long long)seed);
          ++*n_short;
        }
      }
      /* For the passes that follow: enough fuel, or slightly less. */
      if (random_below(&(random_source){seed + i}, 2)) r->args[fn->n_params] = n / 2;
      eval_graph(fuelled, r->f, r->args, seed, &r->before);
    }
    check_fuelled(&e, seed, runs, (hia_pass_options){.use = HIA_USE_ALL});
    check_fuelled(&e, seed, runs, (hia_pass_options){.use = HIA_USE_NATIVE});
    check_fuelled(&e, seed, runs, (hia_pass_options){.disabled = "all"});
  });
  hiaR_comp_free(&e.comp);
}

Test(meaning, random_graphs_with_fuel) {
  uint32_t n_short = 0;
  for (uint64_t i = 0; i < N_GRAPHS; i++) check_fuel(HIA_TEST_SEED + i, &n_short);
  cr_assert_gt(n_short, N_GRAPHS / 3 * 2, "only %u", n_short);
}

Test(meaning, random_graphs) {
  unsigned long long from = HIA_TEST_SEED, to = from + N_GRAPHS - 1;
  const char *seeds = getenv("HIA_SEEDS");
  if (seeds) cr_assert_eq(sscanf(seeds, "%llu-%llu", &from, &to), 2, "HIA_SEEDS=FROM-TO");
  uint32_t n_forks = 0;
  for (unsigned long long seed = from; seed <= to; seed++) check_seed(seed, &n_forks);
  if (!seeds) cr_assert_gt(n_forks, N_GRAPHS / 30, "only %u", n_forks);
}

/* ---- the table and its options ---- */

static char ran[400];
static void note(void *user, const char *pass, const hia_graph *g, uint64_t ns) {
  (void)user, (void)g, (void)ns;
  strcat(strcat(ran, pass), " ");
}

static const char *passes_run(hia_pass_options options) {
  env e;
  env_init(&e);
  ran[0] = 0;
  options.after = note;
  options.verify = true;
  NO_THROW(&e, hiaG_run_passes(read_text(&e, graph_file("fib")), &options););
  hiaR_comp_free(&e.comp);
  return ran;
}

Test(options, a_word_stands_for_its_repetitions) {
  const char *all = passes_run((hia_pass_options){0});
  cr_assert(strstr(all, "cse ") && strstr(all, "cse.2 ") && strstr(all, "tag "));
  const char *some = passes_run((hia_pass_options){.disabled = "cse,fold.2"});
  cr_assert(!strstr(some, "cse") && strstr(some, "fold ") && !strstr(some, "fold.2"), "%s", some);
}

Test(options, required_passes_stay) {
  const char *some = passes_run((hia_pass_options){.disabled = "all"});
  cr_assert_str_eq(some, "grad elements effects map tail effects.2 effects.3 reads tag ");
  some = passes_run((hia_pass_options){.disabled = "all", .fuel = true});
  cr_assert_str_eq(some, "grad elements fuel effects map tail effects.2 effects.3 reads tag ");
  some = passes_run((hia_pass_options){.disabled = "effects,tail,tag,copy"});
  cr_assert(strstr(some, "effects ") && strstr(some, "tail ") && strstr(some, "tag "));
  cr_assert(!strstr(some, "copy"));
}

Test(options, stop_after_a_pass) {
  cr_assert_str_eq(passes_run((hia_pass_options){.stop_after = "copy"}),
                   "grad elements sweep effects copy ");
  cr_assert_str_eq(passes_run((hia_pass_options){.stop_after = "copy", .disabled = "copy,sweep"}),
                   "grad elements effects ");
}

Test(options, names) {
  cr_assert(hiaG_pass_exists("cse", 3) && hiaG_pass_exists("cse.2", 5) &&
            hiaG_pass_exists("cse,fold", 3));
  cr_assert(!hiaG_pass_exists("cs", 2) && !hiaG_pass_exists("", 0) && !hiaG_pass_exists("cse3", 4));
}

/* ---- memory: every allocation fails once ---- */

/* The pipeline with n allocations. */
static __attribute__((noinline)) hia_status run_with(int n, bool has_fuel) {
  test_heap heap;
  test_heap_init(&heap, n);
  hia_comp comp;
  hia_types types;
  hiaR_comp_init(&comp, &heap.allocator);
  if (HIA_TRY(&comp)) {
    hiaG_types_init(&types, &comp);
    hia_graph *g = random_graph(&comp, &types, 23);
    hia_pass_options options = {.use = HIA_USE_PARALLEL, .fuel = has_fuel, .verify = true};
    hiaG_run_passes(g, &options);
  }
  hia_status status = comp.status;
  cr_assert(status == HIA_OK || status == HIA_MEMORY, "%s", comp.message);
  hiaR_comp_free(&comp);
  cr_assert_eq(heap.bytes, 0);
  return status;
}

Test(memory, running_out_at_every_allocation) {
  for (int fuel = 0; fuel < 2; fuel++) {
    int n = 0;
    while (run_with(n, fuel) != HIA_OK) n++;
    cr_assert_gt(n, 3);
  }
}

/* ---- size: long chains and deep nests, in linear time and without recursion ---- */

static void add_line(hia_text *t, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  hiaR_text_vaddf(t, fmt, args);
  va_end(args);
}

static hia_graph *through_pipeline(env *e, const hia_text *text) {
  hia_read_error error;
  hia_graph *g = hiaG_read(&e->comp, &e->types, text->data, text->len, &error);
  cr_assert(g, "%u:%u: %s", error.line, error.col, error.message);
  hia_pass_options options = {.use = HIA_USE_PARALLEL, .verify = true};
  hiaG_run_passes(g, &options);
  return g;
}

Test(size, ten_thousand_functions_in_a_chain) {
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_text t;
    hiaR_text_init(&t, &e.comp.arena);
    add_line(&t, "graph functions \"chain\"\n");
    for (int i = 0; i < 10000; i++) {
      const char *root = i == 9999 ? "root (i32) -> i32 " : "";
      add_line(&t, "fn f%d (i32) -> (i32) %s{\n%%0:i32 = arg 0\n%%1:i32 = div %%0, %%0\n", i, root);
      if (i)
        add_line(&t, "%%2:i32 = call f%d %%1\nyield %%2\n}\n", i - 1);
      else
        add_line(&t, "yield %%1\n}\n");
    }
    hia_graph *g = through_pipeline(&e, &t);
    hia_word one = 1;
    eval_outcome o;
    eval_graph(g, 9999, &one, 0, &o);
    cr_assert(o.status == HIA_OK && o.results[0] == 1);
  });
  hiaR_comp_free(&e.comp);
}

/* A cycle of functions with tail calls through all of them becomes one loop. */
Test(size, three_thousand_functions_in_a_circle) {
  enum { N = 3000 };
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_text t;
    hiaR_text_init(&t, &e.comp.arena);
    add_line(&t, "graph functions \"circle\"\n");
    for (int i = 0; i < N; i++) {
      add_line(&t, "fn f%d (i32, i32) -> (i32) %s{\n", i, i == 0 ? "root (i32, i32) -> i32 " : "");
      add_line(&t, "%%0:i32 = arg 0\n%%1:i32 = arg 1\n%%2:i32 = const %d\n%%3:bool = lt %%0, %%2\n",
               i % 3);
      add_line(&t,
               "%%4:i32 = if %%3 {\nyield %%1\n} else {\n%%5:i32 = const 1\n%%6:i32 = sub %%0, "
               "%%5\n%%7:i32 = call f%d %%6, %%0 tail\nyield %%7\n}\nyield %%4\n}\n",
               (i + 1) % N);
    }
    hia_graph *g = through_pipeline(&e, &t);
    hia_word args[2] = {300, 0};
    eval_outcome o;
    eval_graph(g, 0, args, 0, &o);
    cr_assert(o.status == HIA_OK, "%s", hiaR_status_word(o.status));
    cr_assert_eq(o.results[0], 2);
  });
  hiaR_comp_free(&e.comp);
}

/* An else-if chain with a tail call at its end. What a pass asks of each branch must not take it
 * through all that are nested in that branch: of so many that would take minutes. */
Test(size, sixty_thousand_branches_in_a_chain) {
  enum { N = 60000 };
  env e;
  env_init(&e);
  NO_THROW(&e, {
    hia_text t;
    hiaR_text_init(&t, &e.comp.arena);
    add_line(&t, "graph functions \"chain\"\nfn f (i32, i64) -> (i32) root (i32, i64) -> i32 {\n"
                 "%%0:i32 = arg 0\n%%1:i64 = arg 1\n");
    for (int i = 0; i < N; i++) {
      add_line(&t, "%%%d:i32 = const %d\n%%%d:bool = eq %%0, %%%d\n", 4 * i + 2, i, 4 * i + 3,
               4 * i + 2);
      add_line(&t, "%%%d:i32 = if %%%d {\n%%%d:i32 = const %d\nyield %%%d\n} else {\n", 4 * i + 4,
               4 * i + 3, 4 * i + 5, i % 7, 4 * i + 5);
    }
    add_line(&t, "%%%d:i32 = div %%0, %%0\n%%%d:i32 = call f %%%d, %%1 tail\nyield %%%d\n",
             4 * N + 2, 4 * N + 3, 4 * N + 2, 4 * N + 3);
    for (int i = N; i-- > 0;) add_line(&t, "}\nyield %%%d\n", 4 * i + 4);
    add_line(&t, "}\n");
    hia_graph *g = through_pipeline(&e, &t);
    cr_assert_lt(hiaG_fn(g, 0)->nodes.len, 10 * N); /* a Switch and a Merge or two for each level */
  });
  hiaR_comp_free(&e.comp);
}
