/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures versions of functions that assume what their arguments are
 * (hia_engine_options.speculate): how near they come to programs that say the same themselves, what
 * they bring, and what choosing among them costs. The programs are in bench/speculate.hia.
 *
 *   bench_speculate [--quick | --check] [--runs N] [--only NAME]
 *
 * NAME is lstm, tagger, expressions, sizes, constants, inside, varying, choice, narrow or
 * contributions. What is compared takes turns, on one thread, after its versions are there. Figures
 * are medians of the processor time of that thread; ratios are medians of those of the pairs. */
#include "bench/harness.h"
#include "bench/networks.h"
#include "bench/treebank.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNS = 99, MAX_ARGS = 10, MAX_CALLS = 32, FEW_POINTS = 1000 };

#define MIN_MS               30.0 /* of one figure */
#define SPEED_OF_LSTM        0.95 /* of the program that has params and sizes */
#define SPEED_OF_GRADIENT    0.9  /* of its gradient */
#define SPEED_OF_EXPRESSION  0.8  /* of the same written out */
#define SPEED_OF_EXPRESSIONS 0.7
#define MIN_OF_CONSTANTS     1.2
#define MIN_OF_TAGGER        1.1
#define MAX_VERSIONS         4    /* of sizes that vary */
#define MAX_COMPILING        0.05 /* ms, in the second half of the runs */
#define MAX_CHOICE           1.1
#define MAX_NARROW           1.05
#define MAX_FAILING          1.1

static const char *only; /* NULL: all */
static int runs;

static bool is_chosen(const char *name) { return !only || strcmp(only, name) == 0; }

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

/* ---- calls ---- */

typedef struct call {
  hia_function *function;
  hia_value *args[MAX_ARGS];
  size_t n_args, n_lent; /* the first ones are another's */
} call;

/* One of two things that are compared: calls that are made in turn. */
typedef struct side {
  bench_program program;
  hia_speculate speculate;
  call calls[MAX_CALLS];
  size_t n_calls;
} side;

static bench_options options_of(hia_speculate speculate) {
  return (bench_options){.kind = HIA_ENGINE_AUTO,
                         .threads = 1,
                         .merge_calls = true,
                         .batch = HIA_BATCH_SEGMENTS,
                         .reuse = true,
                         .speculate = speculate};
}

static side side_open(const char *function, hia_speculate speculate) {
  bench_options options = options_of(speculate);
  return (side){.program = bench_open(HIA_BENCH "/speculate.hia", function, &options),
                .speculate = speculate};
}

static void call_free(const call *c) {
  for (size_t i = c->n_lent; i < c->n_args; i++) hia_value_free(c->args[i]);
}

static void side_close(side *s) {
  for (size_t i = 0; i < s->n_calls; i++) call_free(&s->calls[i]);
  bench_close(&s->program);
}

/* Adds a call of the side's function, which has no arguments so far. */
static call *add_call(side *s) {
  call *c = &s->calls[s->n_calls++];
  c->function = s->program.function;
  return c;
}

static void add(call *c, hia_value *arg) {
  if (!arg) bench_check(HIA_MEMORY, NULL);
  c->args[c->n_args++] = arg;
}

static void add_text(call *c, const char *text) {
  hia_value *value;
  hia_error *error;
  bench_check(hia_value_parse(c->function, c->n_args, text, &value, &error), &error);
  add(c, value);
}

static void add_number(call *c, long long n) {
  char text[32];
  snprintf(text, sizeof text, "%lld", n);
  add_text(c, text);
}

/* A tensor of f32 of these sizes, with elements that are always the same. */
static hia_value *tensor(const call *c, size_t param, int64_t n, int64_t m) {
  const int64_t dims[2] = {n, m};
  size_t len = (size_t)(n * (m ? m : 1));
  float *x = malloc(len * sizeof *x);
  hia_value *value;
  hia_error *error;
  uint64_t state = 88172645463325252u;
  if (!x) fail("memory");
  for (size_t i = 0; i < len; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    x[i] = (float)((double)(state >> 40) / (double)(1 << 24) - 0.5) * 0.25f;
  }
  bench_check(
      hia_data_tensor(NULL, hia_function_param_type(c->function, param), dims, x, &value, &error),
      &error);
  free(x);
  return value;
}

static void add_tensor(call *c, int64_t n, int64_t m) { add(c, tensor(c, c->n_args, n, m)); }

static hia_value *run(const call *c, hia_run_stats *stats) {
  hia_value *result;
  hia_error *error;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = stats;
  bench_check(hia_run(c->function, c->args, c->n_args, &options, &result, &error), &error);
  return result;
}

/* The number of the version that a run uses; 0: the general one. */
static uint32_t version_of(const call *c) {
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_value_free(run(c, &stats));
  return stats.version;
}

static double calls_ms(const side *s, int times) {
  double start = bench_cpu();
  for (int i = 0; i < times; i++)
    for (size_t k = 0; k < s->n_calls; k++) hia_value_free(run(&s->calls[k], NULL));
  return bench_cpu() - start;
}

/* ---- versions ---- */

static size_t n_without_version(const side *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->n_calls; i++) n += version_of(&s->calls[i]) == 0;
  return n;
}

/* Makes the calls in turn until each of them uses a version, or time is up. */
static void await_versions(const side *s) {
  double end = bench_now() + (bench_is_quick() ? 2e3 : 10e3);
  bool waits = s->speculate == HIA_SPECULATE_ON;
  while (waits) waits = n_without_version(s) && bench_now() < end;
}

/* Says what has none. */
static void print_lacking(size_t n, size_t of) {
  if (n && of == 1)
    printf("no version");
  else if (n)
    printf("no version for %zu of %zu", n, of);
}

/* ---- comparing ---- */

static bool write_to(void *user, const char *bytes, size_t len) {
  return fwrite(bytes, 1, len, user) == len;
}

/* The whole result of a call; the caller frees it. */
static char *result_of(const call *c) {
  char *text = NULL;
  size_t len;
  FILE *to = open_memstream(&text, &len);
  hia_error *error;
  if (!to) fail("memory");
  hia_value *result = run(c, NULL);
  bench_check(hia_value_write(result, UINT64_MAX, write_to, to, NULL, &error), &error);
  hia_value_free(result);
  if (fclose(to) != 0) fail("memory");
  return text;
}

static void compare_results(const char *row, const side sides[2]) {
  for (size_t i = 0; i < sides[0].n_calls; i++) {
    char *text[2] = {result_of(&sides[0].calls[i]), result_of(&sides[1].calls[i])};
    if (strcmp(text[0], text[1]) != 0)
      bench_wrong("%s: %.60s instead of %.60s", row, text[0], text[1]);
    free(text[0]);
    free(text[1]);
  }
}

/* How often all calls are made for one figure, which then takes some hundredths of a second. */
static int times_of(const side *s) {
  int times = 1;
  while (!bench_is_quick() && calls_ms(s, times) < MIN_MS) times *= 2;
  return times;
}

/* The time of one call of each side, on average, and the ratio of the first one to the second. */
typedef struct figures {
  double ms[2], ratio;
} figures;

static figures take_turns(const char *row, const side sides[2]) {
  double each[2][MAX_RUNS], ratios[MAX_RUNS];
  compare_results(row, sides);
  int times = times_of(&sides[0]);
  for (int i = 0; i < runs; i++) {
    for (int k = 0; k < 2; k++)
      each[k][i] = calls_ms(&sides[k], times) / times / (double)sides[k].n_calls;
    ratios[i] = each[0][i] / each[1][i];
  }
  return (figures){{bench_median(each[0], (size_t)runs), bench_median(each[1], (size_t)runs)},
                   bench_median(ratios, (size_t)runs)};
}

static void print_heading(const char *title, const char *first, const char *second,
                          const char *ratio) {
  printf("%-36s %11s %11s", title, first, second);
  bench_print_target_heading(ratio);
  printf("\n");
}

static void print_row(const char *row, double a, double b, const char *column, double ratio,
                      bench_target target) {
  printf("%-36s %11.4g %11.4g", row, a, b);
  bench_print_target(row, column, ratio, 3, target);
}

/* How many times as fast the first side is as the second one. */
static void measure_speed(const char *row, const side sides[2], const char *column,
                          bench_target target) {
  figures f = take_turns(row, sides);
  print_row(row, f.ms[0], f.ms[1], column, 1 / f.ratio, target);
  if (sides[0].speculate == HIA_SPECULATE_ON)
    print_lacking(n_without_version(&sides[0]), sides[0].n_calls);
  printf("\n");
  fflush(stdout);
}

/* ---- a network whose weights are arguments ---- */

static bench_treebank treebank;

/* The TreeLSTM with params. */
static bench_program open_with_params(bool has_gradient, bool reuse) {
  static const char gradient[] =
      "fn slopes(trees: [Tree]) = value_and_grad(loss, wrt = (Wx, bx, U, bu, Wc, bc))(trees)\n";
  bench_network network = bench_networks[BENCH_TREE_LSTM];
  network.more = has_gradient ? gradient : NULL;
  network.function = has_gradient ? "slopes" : "loss";
  return bench_network_open_batched(&network, 1, HIA_BATCH_SEGMENTS, reuse);
}

/* Adds a call with the sentences. */
static call *add_sentences(side *s) {
  call *c = add_call(s);
  size_t n = bench_network_sentences(&bench_networks[BENCH_TREE_LSTM]);
  add(c, bench_network_trees(&s->program, &treebank, 0, n));
  return c;
}

/* Opens the TreeLSTM with arguments: the params of this program. */
static side open_with_arguments(const char *function, const bench_options *options,
                                const bench_program *params) {
  const bench_weight *weights = bench_networks[BENCH_TREE_LSTM].weights;
  side s = {.program = bench_open(HIA_BENCH "/speculate.hia", function, options),
            .speculate = options->speculate};
  call *c = add_sentences(&s);
  for (size_t i = 0; weights[i].name; i++) {
    hia_value *weight;
    hia_error *error;
    bench_check(hia_module_param(params->module, i, &weight, &error), &error);
    add(c, weight);
  }
  return s;
}

static void measure_lstm(const char *row, const char *function, hia_speculate speculate, bool reuse,
                         bench_target target) {
  bench_options options = options_of(speculate);
  options.reuse = reuse;
  side params = {.program = open_with_params(strcmp(function, "slopes") == 0, reuse)};
  add_sentences(&params);
  side sides[2] = {open_with_arguments(function, &options, &params.program), params};
  await_versions(&sides[0]);
  measure_speed(row, sides, "speed", target);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

/* The sentences, in a folder that is removed at the end. */
static void with_treebank(void (*measure)(void)) {
  char folder[] = "/tmp/hiaton-bench-XXXXXX";
  if (!mkdtemp(folder)) fail(folder);
  treebank = bench_treebank_write(folder);
  if (treebank.is_generated) puts("the treebank is generated: HIATON_SST_DIR is not set");
  measure();
  printf("\n");
  bench_treebank_remove(&treebank);
  rmdir(folder);
}

static void measure_all_lstms(void) {
  bench_target target = BENCH_AT_LEAST(SPEED_OF_LSTM);
  bench_networks_write_weights("treelstm");
  print_heading("weights of a TreeLSTM, ms", "arguments", "params", "speed");
  measure_lstm("with versions", "loss", HIA_SPECULATE_ON, false, target);
  measure_lstm("with versions, equal nodes shared", "loss", HIA_SPECULATE_ON, true, target);
  measure_lstm("without versions", "loss", HIA_SPECULATE_OFF, false, BENCH_NO_TARGET);
  measure_lstm("its gradient, with versions", "slopes", HIA_SPECULATE_ON, false,
               BENCH_AT_LEAST(SPEED_OF_GRADIENT));
  if (bench_is_quick()) return; /* what follows is compiled above, and takes seconds to compile */
  measure_lstm("its gradient, without versions", "slopes", HIA_SPECULATE_OFF, false,
               BENCH_NO_TARGET);
}

static void measure_lstms(void) { with_treebank(measure_all_lstms); }

/* ---- a tagger whose weights are arguments ---- */

enum { WORDS = 1000, EMBEDDING = 100, HIDDEN = 128, TAGS = 30, TAGGED = 8, TOKENS = 40 };

/* The tokens of sentence i. */
static void add_tokens(call *c, int i) {
  char text[16 * TOKENS] = "[";
  for (int k = 0; k < TOKENS; k++) {
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "%s%d", k ? "," : "", (i * 389 + k * 37) % WORDS);
  }
  strcat(text, "]");
  add_text(c, text);
}

static void add_tagger(call *c) {
  add_tensor(c, WORDS, EMBEDDING);
  for (int direction = 0; direction < 2; direction++) {
    add_tensor(c, 4 * HIDDEN, EMBEDDING);
    add_tensor(c, 4 * HIDDEN, HIDDEN);
    add_tensor(c, 4 * HIDDEN, 0);
  }
  add_tensor(c, TAGS, 2 * HIDDEN);
  add_tensor(c, TAGS, 0);
}

/* All calls have the weights of the first one. */
static void measure_tagger_of(const char *row, const char *function, bench_target target) {
  side sides[2] = {side_open(function, HIA_SPECULATE_ON), side_open(function, HIA_SPECULATE_OFF)};
  for (int k = 0; k < 2; k++) {
    call *first = add_call(&sides[k]);
    add_tagger(first);
    for (int i = 1; i < (bench_is_quick() ? 2 : TAGGED); i++) {
      call *c = add_call(&sides[k]);
      *c = *first;
      c->n_lent = c->n_args;
    }
    for (size_t i = 0; i < sides[k].n_calls; i++) add_tokens(&sides[k].calls[i], (int)i);
  }
  await_versions(&sides[0]);
  measure_speed(row, sides, "off/on", target);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

static void measure_tagger(void) {
  print_heading("weights of a BiLSTM, ms", "on", "off", "off/on");
  measure_tagger_of("sentences of 40 tokens", "tag", BENCH_AT_LEAST(MIN_OF_TAGGER));
  measure_tagger_of("the same, its sizes named", "named_tag", BENCH_AT_LEAST(MIN_OF_TAGGER));
  printf("\n");
}

/* ---- an interpreter of expressions ---- */

static hia_function *function_of(const side *s, const char *stem, size_t i) {
  char name[64];
  hia_function *f;
  hia_error *error;
  snprintf(name, sizeof name, "%s_%zu", stem, i);
  bench_check(hia_module_function(s->program.module, name, &f, &error), &error);
  bench_check(hia_function_prepare(f, &error), &error);
  return f;
}

/* Adds a call with expression i, at so many points. */
static void add_interpreted(side *s, size_t i, long long n_points) {
  const call expression = {.function = function_of(s, "expression", i)};
  call *c = add_call(s);
  add(c, run(&expression, NULL));
  add_number(c, n_points);
}

static void change_points(call *c, long long n_points) {
  hia_value_free(c->args[--c->n_args]);
  add_number(c, n_points);
}

/* Versions are made at few points: they do not depend on the number. */
static void measure_expressions(const char *row, hia_speculate speculate, size_t n,
                                bench_target target) {
  long long n_points = bench_is_quick() ? 1000 : 1000000;
  side sides[2] = {side_open("interpret", speculate), side_open("direct_0", HIA_SPECULATE_OFF)};
  for (size_t i = 0; i < n; i++) {
    add_interpreted(&sides[0], i, FEW_POINTS);
    call *c = add_call(&sides[1]);
    c->function = function_of(&sides[1], "direct", i);
    add_number(c, n_points);
  }
  await_versions(&sides[0]);
  for (size_t i = 0; i < n; i++) change_points(&sides[0].calls[i], n_points);
  measure_speed(row, sides, "speed", target);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

static void measure_interpreter(void) {
  print_heading("expressions, ms", "interpreted", "written out", "speed");
  measure_expressions("one expression", HIA_SPECULATE_ON, 1, BENCH_AT_LEAST(SPEED_OF_EXPRESSION));
  measure_expressions("ten expressions in turn", HIA_SPECULATE_ON, 10,
                      BENCH_AT_LEAST(SPEED_OF_EXPRESSIONS));
  measure_expressions("one, without versions", HIA_SPECULATE_OFF, 1, BENCH_NO_TARGET);
  printf("\n");
}

/* ---- what versions bring ---- */

/* The function with versions and without, on the arguments that `add_args` adds. */
static void measure_gain(const char *row, const char *function, void (*add_args)(call *),
                         bench_target target) {
  side sides[2] = {side_open(function, HIA_SPECULATE_ON), side_open(function, HIA_SPECULATE_OFF)};
  for (int k = 0; k < 2; k++) add_args(add_call(&sides[k]));
  await_versions(&sides[0]);
  measure_speed(row, sides, "off/on", target);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

static void add_matrices(call *c) {
  add_tensor(c, 64, 64);
  add_tensor(c, 64, 64);
}
static void add_products(call *c) {
  add_matrices(c);
  add_number(c, bench_is_quick() ? 2 : 100);
}
static void add_products_of_a_row(call *c) {
  add_tensor(c, 1, 64);
  add_tensor(c, 64, 64);
  add_number(c, bench_is_quick() ? 2 : 1000);
}
static void add_vector(call *c) {
  add_tensor(c, 64, 0);
  add_number(c, bench_is_quick() ? 20 : 10000);
}

static void measure_sizes(void) {
  print_heading("sizes that are the same, ms", "on", "off", "off/on");
  measure_gain("a product of 64 rows", "product", add_matrices, BENCH_NO_TARGET);
  measure_gain("products of 64 rows in a loop", "products", add_products, BENCH_NO_TARGET);
  measure_gain("products of a row in a loop", "products", add_products_of_a_row, BENCH_NO_TARGET);
  measure_gain("a vector of 64 in a loop", "halve", add_vector, BENCH_NO_TARGET);
  printf("\n");
}

static void add_points(call *c) { add_number(c, bench_is_quick() ? 1000 : 1000000); }
static void add_exponent(call *c) { add_text(c, "5"), add_points(c); }
static void add_mode(call *c) { add_text(c, "3"), add_points(c); }
static void add_four_rounds(call *c) { add_text(c, "4"), add_points(c); }
static void add_no_training(call *c) {
  add_text(c, "false");
  add_tensor(c, 64, 0);
  add_number(c, bench_is_quick() ? 100 : 100000);
}
static void add_array(call *c) { add_text(c, "[(2.0,0),(-1.5,1),(0.5,2),(3.0,3)]"), add_points(c); }
static void add_coefficients(call *c) { add_text(c, "[2.0,-1.5,0.5,3.0]"), add_points(c); }

static void measure_constants(void) {
  bench_target target = BENCH_AT_LEAST(MIN_OF_CONSTANTS);
  print_heading("values that are the same, ms", "on", "off", "off/on");
  measure_gain("an exponent", "powers", add_exponent, target);
  measure_gain("an array of four coefficients", "polynomial", add_array, target);
  measure_gain("a tensor of four coefficients", "polynomial_of_tensor", add_coefficients, target);
  measure_gain("a mode", "modes", add_mode, BENCH_NO_TARGET);
  measure_gain("a branch that is never taken", "cells", add_no_training, target);
  measure_gain("a loop of four rounds", "settle", add_four_rounds, target);
  printf("\n");
}

/* ---- what is seen inside of runs ---- */

enum { N_KINDS = 255, FEW_RUNS = 10 };

/* A tensor of numbers, as text. */
static void add_kinds(call *c, int leaf) {
  char text[4 * N_KINDS + 3] = "[";
  size_t at = 1;
  for (int k = 0; k < N_KINDS; k++) {
    int level = 31 - __builtin_clz((unsigned)k + 1), kind = level < 6 ? 1 + level % 2 : 0;
    if (level == 6) kind = leaf;
    at += (size_t)snprintf(text + at, sizeof text - at, "%d,", kind);
  }
  snprintf(text + at - 1, sizeof text - at + 1, "]");
  add_text(c, text);
}

static void add_usual_kinds(call *c) {
  add_kinds(c, 0);
  add_number(c, bench_is_quick() ? 20 : 2000);
}
static void add_cells(call *c) {
  add_text(c, "1000000");
  add_tensor(c, 64, 0);
  add_number(c, bench_is_quick() ? 100 : 100000);
}
static void add_filter(call *c) {
  add_text(c, "[2.0,-1.5,0.5,3.0]");
  add_text(c, "4");
  add_points(c);
}

/* Each run has a guard that fails, from some time on. */
static void measure_failures(void) {
  const char *row = "guards that fail, after ten calls";
  side sides[2] = {side_open("formula", HIA_SPECULATE_ON), side_open("formula", HIA_SPECULATE_OFF)};
  for (int k = 0; k < 2; k++) add_usual_kinds(add_call(&sides[k]));
  await_versions(&sides[0]);
  if (n_without_version(&sides[0])) printf("no version\n");
  for (int k = 0; k < 2; k++) {
    call *c = &sides[k].calls[0];
    hia_value_free(c->args[0]);
    hia_value *n = c->args[1];
    c->n_args = 0;
    add_kinds(c, 3);
    c->args[c->n_args++] = n;
    for (int i = 0; i < FEW_RUNS; i++) hia_value_free(run(c, NULL));
  }
  figures f = take_turns(row, sides);
  print_row(row, f.ms[0], f.ms[1], "off/on", 1 / f.ratio, BENCH_AT_LEAST(1 / MAX_FAILING));
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

static void measure_inside(void) {
  bench_target target = BENCH_AT_LEAST(MIN_OF_CONSTANTS);
  print_heading("what is seen inside of runs, ms", "on", "off", "off/on");
  measure_gain("arms of a recursion, never taken", "formula", add_usual_kinds, BENCH_NO_TARGET);
  measure_gain("an arm in a loop, never taken", "rare_cells", add_cells, target);
  measure_gain("a loop of four rounds, in data", "filter", add_filter, target);
  measure_gain("an exponent, in data", "raise_all", add_filter, target);
  measure_failures();
  printf("\n");
}

/* ---- sizes that vary ---- */

enum { MAX_SIZE = 64 };

static uint64_t n_versions(const side *s) {
  hia_function_stats stats = HIA_FUNCTION_STATS_INIT;
  bench_check(hia_function_get_stats(s->program.function, &stats), NULL);
  return stats.versions;
}

/* Runs with sizes at random; the first argument is a tensor of that many rows. */
static void run_varying(const call *like, hia_value *const *by_size, int n, uint64_t *state) {
  call c = *like;
  for (int i = 0; i < n; i++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    c.args[0] = by_size[(*state >> 33) % MAX_SIZE];
    hia_value_free(run(&c, NULL));
  }
}

/* What is being compiled now ends. */
static void await_compiler(void) { usleep(bench_is_quick() ? 100000 : 1000000); }

static void measure_varying_of(const char *row, const char *function, int64_t n_columns,
                               void (*add_rest)(call *)) {
  int half = bench_is_quick() ? 50 : 250;
  side s = side_open(function, HIA_SPECULATE_ON);
  hia_value *by_size[MAX_SIZE];
  uint64_t general = n_versions(&s), state = 1;
  call *c = add_call(&s);
  add_tensor(c, 1, n_columns);
  add_rest(c);
  for (int i = 0; i < MAX_SIZE; i++) by_size[i] = tensor(c, 0, i + 1, n_columns);
  run_varying(c, by_size, half, &state);
  await_compiler();
  uint64_t early = n_versions(&s) - general;
  double others = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - bench_cpu();
  run_varying(c, by_size, half, &state);
  await_compiler();
  others = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - bench_cpu() - others;
  uint64_t all = n_versions(&s) - general;
  printf("%-36s", row);
  bench_print_target(row, "versions", (double)all, 0, BENCH_AT_MOST(MAX_VERSIONS));
  bench_print_target(row, "made later", (double)(all - early), 0, BENCH_AT_MOST(0));
  bench_print_target(row, "compiling later, ms", others > 0 ? others : 0, 2,
                     BENCH_AT_MOST(MAX_COMPILING));
  printf("\n");
  fflush(stdout);
  for (int i = 0; i < MAX_SIZE; i++) hia_value_free(by_size[i]);
  side_close(&s);
}

static void add_square(call *c) { add_tensor(c, 64, 64); }
static void add_many_rounds(call *c) { add_number(c, 20000); }

/* Expressions one after the other, so many that versions for the first ones are not used any more.
 * The time of the compiler's thread is in it if the machine has one core. */
static double come_and_go_ms(hia_speculate speculate) {
  enum { N_OBJECTS = 40 };
  int n_objects = bench_is_quick() ? 2 : N_OBJECTS, n_calls = bench_is_quick() ? 4 : 1000;
  side s = side_open("interpret", speculate);
  double start = bench_now();
  for (int i = 0; i < n_objects; i++) {
    char text[96];
    call *c = add_call(&s);
    snprintf(text, sizeof text, "Add(Mul(X, Add(X, C(%d.5))), Mul(C(%d.0), X))", i, i % 7);
    add_text(c, text);
    add_number(c, FEW_POINTS);
    for (int k = 0; k < n_calls; k++) hia_value_free(run(c, NULL));
    call_free(c);
    *c = (call){0};
    s.n_calls = 0;
  }
  double ms = bench_now() - start;
  side_close(&s);
  return ms;
}

static void measure_objects(void) {
  enum { TIMES = 3 };
  double on[TIMES], off[TIMES], ratios[TIMES];
  for (int i = 0; i < TIMES; i++) {
    on[i] = come_and_go_ms(HIA_SPECULATE_ON);
    off[i] = come_and_go_ms(HIA_SPECULATE_OFF);
    ratios[i] = on[i] / off[i];
  }
  print_heading("objects that come and go, ms", "on", "off", "on/off");
  print_row("40 expressions, a thousand calls each", bench_median(on, TIMES),
            bench_median(off, TIMES), "on/off", bench_median(ratios, TIMES),
            BENCH_AT_MOST(MAX_CHOICE));
  printf("\n");
  fflush(stdout);
}

static void measure_varying(void) {
  printf("%-36s", "sizes at random");
  bench_print_target_heading("versions");
  bench_print_target_heading("made later");
  bench_print_target_heading("compiling later, ms");
  printf("\n");
  measure_varying_of("a vector", "halve", 0, add_many_rounds);
  measure_varying_of("rows, and a matrix that stays", "rows", 64, add_square);
  printf("\n");
  measure_objects();
  printf("\n");
}

/* ---- what choosing costs ---- */

/* Has versions made for sizes 4, 5 and 6. */
static void make_versions_of_sizes(const side *s) {
  for (int64_t size = 4; size < 7; size++) {
    side one = {.program = s->program, .speculate = HIA_SPECULATE_ON};
    call *c = add_call(&one);
    add_tensor(c, size, 0);
    add_number(c, 10000);
    await_versions(&one);
    if (!version_of(c)) printf("no version for size %lld\n", (long long)size);
    call_free(c);
  }
}

/* Other sizes, in turn: so none of them seems to be steady. */
static void add_other_sizes(side *s) {
  for (int64_t size = 7; size < 10; size++) {
    call *c = add_call(s);
    add_tensor(c, size, 0);
    add_number(c, 1);
  }
}

static void measure_misses(void) {
  const char *row = "three versions";
  side sides[2] = {side_open("halve", HIA_SPECULATE_ON), side_open("halve", HIA_SPECULATE_OFF)};
  make_versions_of_sizes(&sides[0]);
  for (int k = 0; k < 2; k++) add_other_sizes(&sides[k]);
  figures f = take_turns(row, sides);
  print_row(row, f.ms[0] * 1e6, f.ms[1] * 1e6, "on/off", f.ratio, BENCH_AT_MOST(MAX_CHOICE));
  if (n_without_version(&sides[0]) < sides[0].n_calls) printf("a version fits");
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

/* A call with the first of n expressions, each of which has a version. */
static side open_with_versions(size_t n) {
  side s = side_open("interpret", HIA_SPECULATE_ON);
  for (size_t i = 0; i < n; i++) {
    side one = {.program = s.program, .speculate = HIA_SPECULATE_ON};
    add_interpreted(&one, i, FEW_POINTS);
    await_versions(&one);
    if (!version_of(&one.calls[0])) printf("no version for expression %zu\n", i);
    if (i == 0)
      s.calls[s.n_calls++] = one.calls[0];
    else
      call_free(&one.calls[0]);
  }
  change_points(&s.calls[0], 1);
  return s;
}

/* The version that was made first is tried last. */
static void measure_hits(void) {
  const char *row = "the last of eight versions";
  side sides[2] = {open_with_versions(8), open_with_versions(1)};
  figures f = take_turns(row, sides);
  print_row(row, f.ms[0] * 1e6, f.ms[1] * 1e6, "eight/one", f.ratio, BENCH_NO_TARGET);
  if (version_of(&sides[0].calls[0]) != 1) printf("another version fits");
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

static void measure_choice(void) {
  print_heading("runs that no version fits, ns", "on", "off", "on/off");
  measure_misses();
  printf("\n");
  print_heading("runs that a version fits, ns", "eight", "one", "eight/one");
  measure_hits();
  printf("\n");
}

/* ---- programs that gain nothing from batches ---- */

/* Versions that the engine wants are there afterwards. */
static void warm_up(const side *s) {
  double end = bench_now() + (bench_is_quick() ? 0 : 1e3);
  do {
    calls_ms(s, 10);
  } while (bench_now() < end);
}

static void measure_narrow_of(const char *row, const char *function, hia_speculate speculate,
                              void (*add_args)(call *), bench_target target) {
  bench_options options = options_of(HIA_SPECULATE_ON);
  options.batch = HIA_BATCH_NONE;
  side sides[2] = {side_open(function, speculate),
                   {.program = bench_open(HIA_BENCH "/speculate.hia", function, &options)}};
  for (int k = 0; k < 2; k++) {
    add_args(add_call(&sides[k]));
    warm_up(&sides[k]);
  }
  figures f = take_turns(row, sides);
  print_row(row, f.ms[0], f.ms[1], "default/none", f.ratio, target);
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

static void add_length(call *c) { add_number(c, bench_is_quick() ? 10 : 1000); }
static void add_elements(call *c) { add_number(c, bench_is_quick() ? 4 : 64); }
static void add_sentence(call *c) {
  char text[256] = "[1";
  for (int i = 1; i < (bench_is_quick() ? 4 : 40); i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", i * 37 % 100);
  strcat(text, "]");
  add_text(c, text);
}

static void measure_narrow(void) {
  print_heading("narrow programs, ms", "default", "no batches", "default/none");
  static const struct {
    const char *row, *alone, *function;
    void (*add_args)(call *);
  } rows[] = {{"a chain", "a chain, without versions", "chain", add_length},
              {"early exits", "early exits, without versions", "early_exit", add_elements},
              {"a tagger", "a tagger, without versions", "tagger", add_sentence}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    measure_narrow_of(rows[i].row, rows[i].function, HIA_SPECULATE_ON, rows[i].add_args,
                      BENCH_AT_MOST(MAX_NARROW));
    measure_narrow_of(rows[i].alone, rows[i].function, HIA_SPECULATE_OFF, rows[i].add_args,
                      BENCH_NO_TARGET);
  }
}

/* ---- contributions, one by one ---- */

/* The network with versions and without, a sentence at a time. */
static void measure_network(const bench_network *network) {
  bench_runner runners[2];
  side sides[2] = {{.speculate = HIA_SPECULATE_ON}, {.speculate = HIA_SPECULATE_OFF}};
  for (int k = 0; k < 2; k++) {
    bench_options options = options_of(sides[k].speculate);
    options.merge_calls = options.reuse = false; /* as `bench models` has them */
    runners[k] = bench_runner_open_with(network, &treebank, &options);
    sides[k].program = runners[k].program;
    for (size_t i = 0; i < runners[k].n && i < MAX_CALLS; i++) {
      call *c = add_call(&sides[k]);
      c->n_lent = c->n_args = runners[k].n_args;
      memcpy(c->args, runners[k].args[i], c->n_args * sizeof *c->args);
    }
    warm_up(&sides[k]);
  }
  measure_speed(network->title, sides, "off/on", BENCH_NO_TARGET);
  for (int k = 0; k < 2; k++) bench_runner_close(&runners[k]);
}

/* The TreeLSTM with versions of these options, over the default without versions. */
static void measure_part(const char *row, bench_options options, const bench_program *params) {
  bench_options general = options_of(HIA_SPECULATE_OFF);
  general.reuse = options.reuse;
  side sides[2] = {open_with_arguments("loss", &options, params),
                   open_with_arguments("loss", &general, params)};
  await_versions(&sides[0]);
  measure_speed(row, sides, "off/on", BENCH_NO_TARGET);
  for (int k = 0; k < 2; k++) side_close(&sides[k]);
}

/* The pass `specialise` hands on what is assumed; batches need it. */
static void measure_parts(void) {
  static const struct {
    const char *row, *disabled;
    hia_batching batch;
    bool reuse;
  } parts[] = {
      {"no specialise, no batches", "specialise", HIA_BATCH_NONE, false},
      {"no specialise", "specialise", HIA_BATCH_SEGMENTS, false},
      {"no batches", NULL, HIA_BATCH_NONE, false},
      {"all", NULL, HIA_BATCH_SEGMENTS, false},
      {"all, equal nodes shared", NULL, HIA_BATCH_SEGMENTS, true},
  };
  enum { N_PARTS = sizeof parts / sizeof *parts };
  bench_program params = open_with_params(false, false);
  for (size_t i = 0; i < (bench_is_quick() ? 1 : N_PARTS); i++) {
    bench_options options = options_of(HIA_SPECULATE_ON);
    options.disabled_passes = parts[i].disabled;
    options.batch = parts[i].batch;
    options.reuse = parts[i].reuse;
    measure_part(parts[i].row, options, &params);
  }
  bench_close(&params);
}

static void measure_all_contributions(void) {
  bench_networks_write_weights(NULL);
  print_heading("params, a sentence at a time, ms", "on", "off", "off/on");
  for (size_t i = 0; i < BENCH_TREE_RNN_LOOP; i++) measure_network(&bench_networks[i]);
  printf("\n");
  print_heading("weights of a TreeLSTM, ms", "on", "off", "off/on");
  measure_parts();
}

static void measure_contributions(void) { with_treebank(measure_all_contributions); }

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*measure)(void);
  } groups[] = {
      {"lstm", measure_lstms},
      {"tagger", measure_tagger},
      {"expressions", measure_interpreter},
      {"sizes", measure_sizes},
      {"constants", measure_constants},
      {"inside", measure_inside},
      {"varying", measure_varying},
      {"choice", measure_choice},
      {"narrow", measure_narrow},
      {"contributions", measure_contributions},
  };
  enum { N_GROUPS = sizeof groups / sizeof *groups };
  bool is_known = true;
  runs = 21;
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
  bool is_group = !only;
  for (size_t i = 0; i < N_GROUPS && !is_group; i++) is_group = is_chosen(groups[i].name);
  if (!is_known || !is_group || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N]\n"
            "       [--only lstm|tagger|expressions|sizes|constants|inside|varying|choice|narrow|"
            "contributions]\n",
            argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 3;
  bench_print_machine();
  for (size_t i = 0; i < N_GROUPS; i++)
    if (is_chosen(groups[i].name)) groups[i].measure();
  return bench_end();
}
