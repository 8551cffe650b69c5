/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hia_diff: all engines, thread counts, optimisation levels and sets of passes must agree, with
 * each other and with the expected outcomes, on hand-written programs (corpus.c) and on generated
 * ones (random.c). Garbled programs must be rejected or compile (mutate.c). See docs/testing.md. */
#include "tests/diff/run.h"
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "hia_diff [OPTION...] PATH...        programs with their expected results; a folder: all in "
    "it\n"
    "hia_diff --random [OPTION...]       generated programs\n"
    "hia_diff --grad [OPTION...]         gradients of generated programs\n"
    "hia_diff --batch [OPTION...]        generated programs with tensors that batch\n"
    "hia_diff --small [OPTION...]        generated programs with tensors of a few elements\n"
    "hia_diff --slow [OPTION...]         generated programs that the default runs slower than\n"
    "                                    another way; with --random, --data, --grad or --batch\n"
    "                                    only these\n"
    "hia_diff --build [OPTION...]        generated programs, made by the builder\n"
    "hia_diff --rebuild PATH...          programs in files, made again by the builder\n"
    "hia_diff --mutate [OPTION...] [DIR] garbled programs, of those in DIR and of generated ones\n"
    "hia_diff --aot DIR PATH...          writes the programs' objects and what is expected to DIR\n"
    "hia_diff --emit --seed N [--size N] prints a generated program and how to run it, also "
    "--grad, --batch, --small, --slow\n"
    "hia_diff --write DIR [OPTION...]    writes generated programs with their expected results\n"
    "  --seed N       the first seed (1)\n"
    "  --count N      programs (1000, or no bound with --seconds)\n"
    "  --seconds N    ends after this time\n"
    "  --size N       of generated programs, 1 to 10 (0: all in turn)\n"
    "  --data         generated programs have data types, arrays and comprehensions\n"
    "  --thorough     every program in every way, instead of an eighth of them in turn\n"
    "  --engines LIST of jit, interp, expand (all)\n"
    "  --runs N       with --slow: the time of a way is the least of N (5)\n"
    "  --large        the large runs in every engine too\n"
    "  --shrink N     tries to make a failing program smaller (3000); 0: none\n"
    "  --save DIR     where shrunk programs go (.)\n"
    "  --threads N    with --aot: of the runs (1)\n"
    "  --in-turn N    of programs in files: each goes through one of N ways, another one each "
    "time;\n"
    "                 --seed says which one the first goes through; with --aot one in N is built\n"
    "  --parallel     only the ways with several threads\n"
    "  --way NAME     only this way, of those that --list prints\n"
    "  --list         prints the ways in which programs are run\n";

static int emit(uint64_t seed, uint32_t size, bool has_data) {
  gen_program *p = gen_make(seed, size ? size : 1 + (uint32_t)(seed % 10), has_data);
  gen_text text = {0};
  gen_print(p, &text);
  printf("%s# hiaton run FILE", text.data);
  if (p->arg_text.len) printf(" %s", p->arg_text.data);
  printf("\n");
  gen_text_free(&text);
  gen_free(p);
  return 0;
}

int main(int argc, char **argv) {
  bool random = false, mutate = false, build = false, rebuild = false, emits = false;
  bool large = false, list = false, parallel = false, slow = false;
  const diff_sort *sort = NULL;
  const char *engines = NULL, *only = NULL, *aot = NULL, *write = NULL;
  unsigned threads = 1;
  diff_random_options o = {.seed = 1, .shrink_tries = 3000, .save = "."};
  const char *paths[256];
  uint32_t n_paths = 0, in_turn = 1, runs = 5;
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
    unsigned long long number = value ? strtoull(value, NULL, 0) : 0;
    bool takes_value = true;
    if (!strcmp(a, "--seed") && value)
      o.seed = number;
    else if (!strcmp(a, "--count") && value)
      o.count = (uint32_t)number;
    else if (!strcmp(a, "--seconds") && value)
      o.seconds = (uint32_t)number;
    else if (!strcmp(a, "--size") && value)
      o.size = (uint32_t)number;
    else if (!strcmp(a, "--shrink") && value)
      o.shrink_tries = (uint32_t)number;
    else if (!strcmp(a, "--save") && value)
      o.save = value;
    else if (!strcmp(a, "--aot") && value)
      aot = value;
    else if (!strcmp(a, "--write") && value)
      write = value;
    else if (!strcmp(a, "--threads") && value)
      threads = (unsigned)number;
    else if (!strcmp(a, "--in-turn") && value && number)
      in_turn = (uint32_t)number;
    else if (!strcmp(a, "--runs") && value && number)
      runs = (uint32_t)number;
    else if (!strcmp(a, "--way") && value)
      only = value;
    else if (!strcmp(a, "--engines") && value)
      engines = value;
    else {
      takes_value = false;
      if (!strcmp(a, "--random"))
        random = true;
      else if (!strcmp(a, "--grad"))
        sort = &diff_gradients;
      else if (!strcmp(a, "--batch"))
        sort = &diff_batches;
      else if (!strcmp(a, "--small"))
        sort = &diff_small;
      else if (!strcmp(a, "--slow"))
        slow = true;
      else if (!strcmp(a, "--mutate"))
        mutate = true;
      else if (!strcmp(a, "--build"))
        build = true;
      else if (!strcmp(a, "--rebuild"))
        rebuild = true;
      else if (!strcmp(a, "--emit"))
        emits = true;
      else if (!strcmp(a, "--large"))
        large = true;
      else if (!strcmp(a, "--parallel"))
        parallel = true;
      else if (!strcmp(a, "--list"))
        list = true;
      else if (!strcmp(a, "--data"))
        o.has_data = true;
      else if (!strcmp(a, "--thorough"))
        o.thorough = true;
      else if (a[0] != '-' && n_paths < 256)
        paths[n_paths++] = a;
      else {
        fputs(usage, strcmp(a, "--help") ? stderr : stdout);
        return strcmp(a, "--help") ? 2 : 0;
      }
    }
    if (takes_value) i++;
  }
  if (!o.count && !o.seconds) o.count = 1000;
  const char *sort_name = sort ? sort->name : o.has_data ? "data" : random ? "random" : NULL;
  if (emits && slow) {
    diff_slow_emit(&o, sort_name);
    return 0;
  }
  if (emits && sort) {
    diff_emit(sort, o.seed);
    return 0;
  }
  if (emits) return emit(o.seed, o.size, o.has_data);
  diff_watch_init();
  diff_counts counts = {0, 0};
  if (slow) {
    diff_slow(&o, sort_name, runs);
    return 0;
  }
  if (build) {
    diff_build(&o, &counts);
    printf("%u passed, %u failed\n", counts.passed, counts.failed);
    return counts.failed ? 1 : 0;
  }
  if (write) {
    diff_write(&o, write, &counts);
    printf("%u programs\n", counts.passed);
    return counts.failed ? 1 : 0;
  }
  if (aot) {
    diff_aot(aot, paths, n_paths, threads, in_turn, (uint32_t)o.seed, &counts);
    return counts.failed ? 1 : 0;
  }
  static diff_way ways[DIFF_MAX_WAYS];
  uint32_t n_ways = diff_ways(ways, engines);
  for (uint32_t i = sort != NULL; i < n_ways;) { /* samples are compared with the first way */
    if ((!only || !strcmp(ways[i].name, only)) && (!parallel || ways[i].threads > 1))
      i++;
    else
      ways[i] = ways[--n_ways];
  }
  for (uint32_t i = 0; list && i < n_ways; i++) puts(ways[i].name);
  if (n_ways == 0 || (!random && !mutate && !sort && n_paths == 0)) {
    if (!list) fputs(usage, stderr);
    return list ? 0 : 2;
  }
  if (random) {
    diff_random(&o, ways, n_ways, &counts);
  } else if (sort) {
    diff_compare(sort, &o, ways, n_ways, &counts);
  } else if (rebuild) {
    diff_rebuild(paths, n_paths, ways, n_ways, in_turn, (uint32_t)o.seed, &counts);
  } else if (mutate) {
    diff_mutate(o.seed, o.count, o.seconds, n_paths ? paths[0] : NULL, ways, n_ways, &counts);
  } else {
    for (uint32_t i = 0; i < n_paths; i++)
      diff_corpus(paths[i], ways, n_ways, in_turn, (uint32_t)o.seed, large, &counts);
  }
  diff_watch(NULL);
  diff_ways_free(ways, n_ways);
  printf("%u passed, %u failed\n", counts.passed, counts.failed);
  return counts.failed ? 1 : 0;
}
