/* The pipeline: its table, its options, and that no pass changes what a program means.
 *
 * The last is checked on random graphs, which are evaluated before and after each pass: the same
 * results, failures, chains of calls and counts. For hours: HIA_SEEDS=1-1000000
 * build/tests/test_pass
 */
#include "graphs.h"
#include "helper_eval.h"
#include "helper_random.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- meaning ---- */

enum { N_RUNS = 6 };

typedef struct run {
  hia_fn_id f;
  hia_word args[8];
  eval_outcome before;
} run;

/* A graph of a seed is made anew for every way of changing it; so are its arguments. */
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

static void expect_same(env *e, const hia_graph *g, uint64_t seed, const run *runs,
                        const char *what) {
  for (uint32_t i = 0; i < N_RUNS; i++) {
    eval_outcome after;
    const hia_fn *fn = hiaG_fn(g, runs[i].f);
    eval_graph(g, runs[i].f, runs[i].args, ~seed, &after);
    if (eval_agree(fn, &runs[i].before, &after)) continue;
    char a[2500], b[2500];
    eval_print(fn, &runs[i].before, a, sizeof a);
    eval_print(fn, &after, b, sizeof b);
    fprintf(stderr, "%s\n", text_of(e, g));
    cr_assert_fail("seed %llu, %s: %s(%lld, ...) was\n%s\nand is\n%s", (unsigned long long)seed,
                   what, fn->name, (long long)runs[i].args[0], a, b);
  }
}

/* Printing and reading back changes nothing, not even a byte. */
static void expect_round_trip(env *e, const hia_graph *g) {
  const char *text = text_of(e, g);
  cr_assert_str_eq(text_of(e, read_text(e, text)), text);
}

typedef struct stage {
  env *e;
  uint64_t seed;
  const run *runs;
} stage;

static void after_pass(void *user, const char *pass, const hia_graph *g, uint64_t ns) {
  (void)ns;
  const stage *s = user;
  expect_same(s->e, g, s->seed, s->runs, pass);
}

static void check_seed(uint64_t seed) {
  env e;
  run runs[N_RUNS];
  env_init(&e);
  NO_THROW(&e, {
    hia_graph *g = random_graph(&e.comp, &e.types, seed);
    const char *defect = hiaG_verify(g);
    cr_assert(!defect, "seed %llu: %s", (unsigned long long)seed, defect);
    make_runs(g, seed, runs, true);
    if (seed % 8 == 0) expect_round_trip(&e, g);

    /* The pipeline, looked at after each pass. */
    stage s = {&e, seed, runs};
    hia_pass_options all = {.verify = true, .after = after_pass, .user = &s};
    hiaG_run_passes(g, &all);
    expect_round_trip(&e, g);

    /* Tagging what no pass has touched. */
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
      static const char *const names[] = {"copy",   "fold", "cse",    "dce",
                                          "inline", "tail", "effects"};
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

Test(meaning, random_graphs) {
  unsigned long long from = 1, to = 1500;
  const char *seeds = getenv("HIA_SEEDS");
  if (seeds) cr_assert_eq(sscanf(seeds, "%llu-%llu", &from, &to), 2, "HIA_SEEDS=FROM-TO");
  for (unsigned long long seed = from; seed <= to; seed++) check_seed(seed);
}
