/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures how programs start: whole processes of `hiaton run`, with the engine that chooses (auto)
 * next to the interpreter and to native code that is compiled first; with a cache of native code
 * and without one; and next to other languages.
 *
 *   bench_start [--quick | --check] [--runs N] [--only curve | core | process | steady]
 *
 * Times are of the clock, since compiling has a core of its own where there is one. Processes that
 * are compared take turns. */
#include "bench/harness.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99, MAX_WORDS = 16, MAX_SIZES = 12 };

#define MAX_OF_INTERP 1.5 /* of a process that is over at once */
#define MAX_MEMORY    12  /* its MiB */
#define MAX_WARM_MS   10  /* the warm start of a model, beyond checking its program */
/* The curve: the time of auto, without CURVE_MS, over that of the better of interp and jit. */
#define CURVE_MS      2
#define MAX_CURVE     1.1
#define MAX_CURVE_ONE 2.1 /* on one core */
#define MAX_STEADY    1.03

typedef struct command {
  const char *words[MAX_WORDS];
} command;

/* Medians of the times of processes that take turns. */
static void measure(const command *commands, size_t n, int runs, double *ms) {
  static double each[8][MAX_RUNS];
  for (int r = -1; r < runs; r++)
    for (size_t i = 0; i < n; i++) {
      double time = bench_process(commands[i].words);
      if (r >= 0) each[i][r] = time;
    }
  for (size_t i = 0; i < n; i++) ms[i] = bench_median(each[i], (size_t)runs);
}

static char cache_folder[] = "/tmp/hiaton-bench-XXXXXX";

/* ---- processes ---- */

#define FIB  HIA_EXAMPLES "/fib.hia"
#define LSTM HIA_EXAMPLES "/models/tree_lstm.hia"
/* The gradient of the loss of a sentence. */
#define LSTM_GRADIENT                                                                              \
  "sum(grad(loss, wrt = Wc)([Node(Node(Leaf(1, 2), Leaf(3, 1), 2), Leaf(4, 0), 3)]))"

static char *model_text;

static void read_model(void) {
  FILE *file = fopen(LSTM, "r");
  enum { MOST = 1 << 16 };
  model_text = calloc(1, MOST);
  if (!file || !model_text || !fread(model_text, 1, MOST - 1, file)) exit(1);
  fclose(file);
}

static void print_process(const char *name, double ms, double mib) {
  printf("%-44s %9.2f %9.1f", name, ms, mib);
}

static void measure_processes(int runs) {
  const command tiny[] = {
      {{HIA_PROGRAM, "run", FIB, "5", "--engine", "interp", "--cache", "off", NULL}},
      {{HIA_PROGRAM, "run", FIB, "5", "--cache", "off", NULL}},
      {{HIA_PROGRAM, "run", FIB, "5", "--engine", "jit", "--cache", cache_folder, NULL}},
      {{HIA_PROGRAM, "run", FIB, "5", "--engine", "jit", "--cache", "off", NULL}}};
  static const char *const names[] = {"fib(5), interp", "fib(5), auto, nothing cached",
                                      "fib(5), native code from the cache",
                                      "fib(5), native code, compiled"};
  double mib[4], ms[4];
  bench_process(tiny[2].words); /* stores it */
  for (int i = 0; i < 4; i++) mib[i] = bench_process_peak(tiny[i].words);
  measure(tiny, 4, runs, ms);
  printf("%-44s %9s %9s", "processes", "ms", "MiB");
  bench_print_target_heading("of interp");
  bench_print_target_heading("MiB");
  puts("");
  for (int i = 0; i < 4; i++) {
    bool has_target = i == 1 || i == 2;
    print_process(names[i], ms[i], mib[i]);
    bench_print_target(names[i], "of interp", ms[i] / ms[0], 2,
                       has_target ? BENCH_AT_MOST(MAX_OF_INTERP) : BENCH_NO_TARGET);
    bench_print_target(names[i], "MiB", mib[i], 1,
                       has_target ? BENCH_AT_MOST(MAX_MEMORY) : BENCH_NO_TARGET);
    puts("");
  }
}

/* ---- a model, in this process ---- */

typedef enum model_act { CHECK, COMPILE, LOAD } model_act;

/* From an engine to the end of it, with the model's gradient ready to run. */
static double model_ms(model_act act) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_module *module;
  hia_function *gradient;
  hia_error *error;
  options.kind = HIA_ENGINE_JIT;
  options.cache = act == LOAD ? cache_folder : NULL;
  double start = bench_now();
  bench_check(hia_engine_new(&options, &engine, &error), &error);
  bench_check(hia_module_load_expression(engine, "tree_lstm.hia", model_text, strlen(model_text),
                                         LSTM_GRADIENT, &module, &error),
              &error);
  bench_check(hia_module_function(module, HIA_EXPRESSION, &gradient, &error), &error);
  if (act != CHECK) bench_check(hia_function_prepare(gradient, &error), &error);
  hia_module_free(module);
  hia_engine_free(engine);
  return bench_now() - start;
}

static void measure_model(int runs) {
  static double each[3][MAX_RUNS];
  static const char *const names[] = {"TreeLSTM with gradients, checked", "compiled",
                                      "loaded from the cache"};
  double ms[3];
  read_model();
  model_ms(LOAD); /* stores it */
  for (int r = 0; r < runs; r++)
    for (int act = CHECK; act <= LOAD; act++)
      each[act][r] = act == COMPILE && r >= 3 ? each[act][r - 1] : model_ms((model_act)act);
  printf("\n%-44s %9s", "a model, until it can run", "ms");
  bench_print_target_heading("ms beyond check");
  puts("");
  for (int act = CHECK; act <= LOAD; act++) {
    ms[act] = bench_median(each[act], (size_t)runs);
    printf("%-44s %9.2f", names[act], ms[act]);
    bench_print_target(names[act], "ms beyond check", act ? ms[act] - ms[CHECK] : (double)NAN, 2,
                       act == LOAD ? BENCH_AT_MOST(MAX_WARM_MS) : BENCH_NO_TARGET);
    puts("");
  }
}

/* ---- the same function in other languages ---- */

static void measure_others(int runs) {
  static const int32_t sizes[] = {5, 20, 27, 32};
  static const char *const names[] = {"hiaton", "luajit", "node", "CPython"};
  printf("\n%-12s", "fib(n), ms");
  for (size_t i = 0; i < 4; i++) printf(" %10s", names[i]);
  puts("");
  for (size_t s = 0; s < (bench_is_quick() ? 1 : 4); s++) {
    char n[16], lua[200], js[200], python[200];
    snprintf(n, sizeof n, "%d", sizes[s]);
    snprintf(lua, sizeof lua,
             "local function f(n) if n <= 1 then return 1 end return f(n-1) + f(n-2) end "
             "print(f(%d))",
             sizes[s]);
    snprintf(js, sizeof js,
             "function f(n) { return n <= 1 ? 1 : f(n-1) + f(n-2) } console.log(f(%d))", sizes[s]);
    snprintf(python, sizeof python, "f = lambda n: 1 if n <= 1 else f(n-1) + f(n-2)\nprint(f(%d))",
             sizes[s]);
    const command all[] = {{{HIA_PROGRAM, "run", FIB, n, "--cache", "off", NULL}},
                           {{"luajit", "-e", lua, NULL}},
                           {{"node", "-e", js, NULL}},
                           {{"/usr/bin/python3", "-S", "-c", python, NULL}}};
    printf("%-12d", sizes[s]);
    for (size_t i = 0; i < 4; i++) {
      double ms = (double)NAN;
      if (bench_process_works(all[i].words)) measure(&all[i], 1, runs, &ms);
      if (isnan(ms))
        printf(" %10s", "-");
      else
        printf(" %10.1f", ms);
    }
    puts("");
  }
}

/* ---- the curve ---- */

typedef struct curve {
  const char *name, *file, *function;
  int32_t args[2]; /* behind the size */
  size_t n_args;
  int32_t sizes[MAX_SIZES]; /* ends with 0 */
} curve;

#define DATA HIA_BENCH "/data.hia"
static const curve curves[] = {
    {"fib", FIB, "fib", {0}, 0, {5, 15, 20, 23, 26, 28, 30, 32, 34, 37}},
    {"tak", HIA_EXAMPLES "/tak.hia", "tak", {8, 4}, 2, {9, 12, 14, 16, 18, 20}},
    {"primes",
     HIA_EXAMPLES "/primes.hia",
     "primes",
     {0},
     0,
     {10, 1000, 10000, 30000, 100000, 300000}},
    {"binary_trees", DATA, "binary_trees", {0}, 0, {4, 8, 10, 12, 14}},
    {"rbtree", DATA, "rbtree", {0}, 0, {10, 1000, 10000, 30000, 100000}},
    {"deriv", DATA, "deriv", {0}, 0, {2, 4, 5, 6, 7}},
    {"nqueens", DATA, "nqueens", {0}, 0, {3, 5, 6, 7, 8, 9}},
    {"sieve", DATA, "sieve", {0}, 0, {100, 10000, 100000, 300000, 1000000}},
};

static bool is_pinned; /* processes have one core */

/* A core is left for the compiler, where there are several. */
static const char *curve_threads(void) {
  static char threads[16];
  snprintf(threads, sizeof threads, "%u", is_pinned || bench_cores() < 2 ? 1 : bench_cores() - 1);
  return threads;
}

static command curve_command(const curve *c, const char *size, char args[2][16],
                             const char *engine) {
  command all = {{HIA_PROGRAM, "run", c->file, "--fn", c->function, "--engine", engine, "--cache",
                  "off", "--threads", curve_threads(), size, NULL}};
  for (size_t k = 0; k < c->n_args; k++) all.words[12 + k] = args[k];
  return all;
}

static void measure_curve(const curve *c, int runs) {
  double most = bench_cores() > 1 && !is_pinned ? MAX_CURVE : MAX_CURVE_ONE;
  for (size_t i = 0; i < MAX_SIZES && c->sizes[i] && !(bench_is_quick() && i); i++) {
    char size[16], args[2][16], row[64];
    snprintf(size, sizeof size, "%d", c->sizes[i]);
    for (size_t k = 0; k < c->n_args; k++) snprintf(args[k], sizeof args[k], "%d", c->args[k]);
    snprintf(row, sizeof row, "%s(%s)%s", c->name, size, is_pinned ? ", one core" : "");
    const command all[] = {curve_command(c, size, args, "interp"),
                           curve_command(c, size, args, "jit"),
                           curve_command(c, size, args, "auto")};
    double ms[3];
    measure(all, 3, runs, ms);
    double better = ms[0] < ms[1] ? ms[0] : ms[1];
    printf("%-24s %10.2f %10.2f %10.2f", row, ms[0], ms[1], ms[2]);
    bench_print_target(row, "auto/better", (ms[2] - CURVE_MS) / better, 2, BENCH_AT_MOST(most));
    puts("");
    fflush(stdout);
  }
}

static void measure_curves(int runs, bool on_one_core) {
  printf("\n%-24s %10s %10s %10s", on_one_core ? "on one core, ms" : "whole processes, ms",
         "interp", "jit", "auto");
  bench_print_target_heading("auto/better");
  puts("");
  is_pinned = on_one_core;
  bench_pin(on_one_core);
  for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) measure_curve(&curves[i], runs);
  bench_pin(false);
}

/* ---- steady state ---- */

static double run_once(const bench_program *p, int32_t n) {
  double start = bench_cpu();
  bench_call(p, &n, 1, NULL);
  return bench_cpu() - start;
}

static void measure_steady(const char *file, const char *function, int32_t n, int runs) {
  bench_program p[2];
  double each[2][MAX_RUNS], ms[2];
  for (int k = 0; k < 2; k++)
    p[k] = bench_open(file, function,
                      &(bench_options){.kind = k ? HIA_ENGINE_AUTO : HIA_ENGINE_JIT,
                                       .threads = 1,
                                       .merge_calls = true,
                                       .batch = HIA_BATCH_SEGMENTS,
                                       .reuse = true});
  for (int i = -1; i < runs; i++)
    for (int k = 0; k < 2; k++) {
      double time = run_once(&p[k], n);
      if (i >= 0) each[k][i] = time;
    }
  for (int k = 0; k < 2; k++) ms[k] = bench_median(each[k], (size_t)runs);
  printf("%-24s %10.3f %10.3f", function, ms[0], ms[1]);
  bench_print_target(function, "auto/jit", ms[1] / ms[0], 3, BENCH_AT_MOST(MAX_STEADY));
  puts("");
  for (int k = 0; k < 2; k++) bench_close(&p[k]);
}

static void measure_steady_state(int runs) {
  bool quick = bench_is_quick();
  printf("\n%-24s %10s %10s", "steady state, ms", "jit", "auto");
  bench_print_target_heading("auto/jit");
  puts("");
  measure_steady(HIA_EXAMPLES "/fib.hia", "fib", quick ? 10 : 36, runs);
  measure_steady(DATA, "deriv", quick ? 3 : 7, runs);
  measure_steady(DATA, "nqueens", quick ? 4 : 9, runs);
}

int main(int argc, char **argv) {
  int runs = 11;
  bool is_known = true;
  const char *only = NULL;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      is_known = false;
  }
  if (only && strcmp(only, "curve") != 0 && strcmp(only, "process") != 0 &&
      strcmp(only, "steady") != 0 && strcmp(only, "core") != 0)
    is_known = false;
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N] [--only curve | core | process | steady]\n",
            argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  if (!mkdtemp(cache_folder)) return 1;
  bench_print_machine();
  if (!only || strcmp(only, "process") == 0) {
    measure_processes(runs);
    measure_model(runs);
    measure_others(runs);
  }
  if (!only || strcmp(only, "curve") == 0) measure_curves(runs, false);
  if (!only || strcmp(only, "core") == 0) measure_curves(runs, true);
  if (!only || strcmp(only, "steady") == 0) measure_steady_state(runs);
  bench_process(
      (const char *const[]){HIA_PROGRAM, "cache", "clear", "--cache", cache_folder, NULL});
  rmdir(cache_folder);
  return bench_end();
}
