/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures versions of functions that assume what their arguments are
 * (hia_engine_options.speculate): how near they come to programs that say the same themselves, and
 * what they bring. What they cost is in bench/choosing.c, the programs in bench/speculate.hia.
 *
 *   bench_speculate [--quick | --check] [--runs N] [--only NAME]
 *
 * NAME is lstm, tagger, expressions, sizes, constants, inside, varying, choice, entries, narrow or
 * contributions. What is compared takes turns, on one thread, after its versions are there. Figures
 * are medians of the processor time of that thread; ratios are medians of those of the pairs. */
#include "bench/choosing.h"
#include "bench/networks.h"
#include "bench/sides.h"
#include "bench/treebank.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPEED_OF_LSTM        0.95 /* of the program that has params and sizes */
#define SPEED_OF_GRADIENT    0.9  /* of its gradient */
#define SPEED_OF_EXPRESSION  0.8  /* of the same written out */
#define SPEED_OF_EXPRESSIONS 0.7
#define MIN_OF_CONSTANTS     1.2
#define MIN_OF_TAGGER        1.1
#define MAX_NARROW           1.05
#define MAX_FAILING          1.1

static const char *only; /* NULL: all */

static bool is_chosen(const char *name) { return !only || strcmp(only, name) == 0; }

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
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
static bench_side_call *add_sentences(bench_side *s) {
  bench_side_call *c = bench_add_call(s);
  size_t n = bench_network_sentences(&bench_networks[BENCH_TREE_LSTM]);
  bench_add(c, bench_network_trees(&s->program, &treebank, 0, n));
  return c;
}

/* Opens the TreeLSTM with arguments: the params of this program. */
static bench_side open_with_arguments(const char *function, const bench_options *options,
                                      const bench_program *params) {
  const bench_weight *weights = bench_networks[BENCH_TREE_LSTM].weights;
  bench_side s = {.program = bench_open(HIA_BENCH "/speculate.hia", function, options),
                  .speculate = options->speculate};
  bench_side_call *c = add_sentences(&s);
  for (size_t i = 0; weights[i].name; i++) {
    hia_value *weight;
    hia_error *error;
    bench_check(hia_module_param(params->module, i, &weight, &error), &error);
    bench_add(c, weight);
  }
  return s;
}

static void measure_lstm(const char *row, const char *function, hia_speculate speculate, bool reuse,
                         bench_target target) {
  bench_options options = bench_options_of(speculate);
  options.reuse = reuse;
  bench_side params = {.program = open_with_params(strcmp(function, "slopes") == 0, reuse)};
  add_sentences(&params);
  bench_side sides[2] = {open_with_arguments(function, &options, &params.program), params};
  bench_await_versions(&sides[0]);
  bench_measure_speed(row, sides, "speed", target);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
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
  bench_print_sides_heading("weights of a TreeLSTM, ms", "arguments", "params", "speed");
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
static void add_tokens(bench_side_call *c, int i) {
  char text[16 * TOKENS] = "[";
  for (int k = 0; k < TOKENS; k++) {
    size_t len = strlen(text);
    snprintf(text + len, sizeof text - len, "%s%d", k ? "," : "", (i * 389 + k * 37) % WORDS);
  }
  strcat(text, "]");
  bench_add_text(c, text);
}

static void add_tagger(bench_side_call *c) {
  bench_add_tensor(c, WORDS, EMBEDDING);
  for (int direction = 0; direction < 2; direction++) {
    bench_add_tensor(c, 4 * HIDDEN, EMBEDDING);
    bench_add_tensor(c, 4 * HIDDEN, HIDDEN);
    bench_add_tensor(c, 4 * HIDDEN, 0);
  }
  bench_add_tensor(c, TAGS, 2 * HIDDEN);
  bench_add_tensor(c, TAGS, 0);
}

/* All calls have the weights of the first one. */
static void measure_tagger_of(const char *row, const char *function, bench_target target) {
  bench_side sides[2] = {bench_side_open(function, HIA_SPECULATE_ON),
                         bench_side_open(function, HIA_SPECULATE_OFF)};
  for (int k = 0; k < 2; k++) {
    bench_side_call *first = bench_add_call(&sides[k]);
    add_tagger(first);
    for (int i = 1; i < (bench_is_quick() ? 2 : TAGGED); i++) {
      bench_side_call *c = bench_add_call(&sides[k]);
      *c = *first;
      c->n_lent = c->n_args;
    }
    for (size_t i = 0; i < sides[k].n_calls; i++) add_tokens(&sides[k].calls[i], (int)i);
  }
  bench_await_versions(&sides[0]);
  bench_measure_speed(row, sides, "off/on", target);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
}

static void measure_tagger(void) {
  bench_print_sides_heading("weights of a BiLSTM, ms", "on", "off", "off/on");
  measure_tagger_of("sentences of 40 tokens", "tag", BENCH_AT_LEAST(MIN_OF_TAGGER));
  measure_tagger_of("the same, its sizes named", "named_tag", BENCH_AT_LEAST(MIN_OF_TAGGER));
  printf("\n");
}

/* ---- an interpreter of expressions ---- */

/* Versions are made at few points: they do not depend on the number. */
static void measure_expressions(const char *row, hia_speculate speculate, size_t n,
                                bench_target target) {
  long long n_points = bench_is_quick() ? 1000 : 1000000;
  bench_side sides[2] = {bench_side_open("interpret", speculate),
                         bench_side_open("direct_0", HIA_SPECULATE_OFF)};
  for (size_t i = 0; i < n; i++) {
    bench_add_interpreted(&sides[0], i, BENCH_FEW_POINTS);
    bench_side_call *c = bench_add_call(&sides[1]);
    c->function = bench_function_of(&sides[1], "direct", i);
    bench_add_number(c, n_points);
  }
  bench_await_versions(&sides[0]);
  for (size_t i = 0; i < n; i++) bench_change_points(&sides[0].calls[i], n_points);
  bench_measure_speed(row, sides, "speed", target);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
}

static void measure_interpreter(void) {
  bench_print_sides_heading("expressions, ms", "interpreted", "written out", "speed");
  measure_expressions("one expression", HIA_SPECULATE_ON, 1, BENCH_AT_LEAST(SPEED_OF_EXPRESSION));
  measure_expressions("ten expressions in turn", HIA_SPECULATE_ON, 10,
                      BENCH_AT_LEAST(SPEED_OF_EXPRESSIONS));
  measure_expressions("one, without versions", HIA_SPECULATE_OFF, 1, BENCH_NO_TARGET);
  printf("\n");
}

/* ---- what versions bring ---- */

/* The function with versions and without, on the arguments that `add_args` adds. */
static void measure_gain(const char *row, const char *function, void (*add_args)(bench_side_call *),
                         bench_target target) {
  bench_side sides[2] = {bench_side_open(function, HIA_SPECULATE_ON),
                         bench_side_open(function, HIA_SPECULATE_OFF)};
  for (int k = 0; k < 2; k++) add_args(bench_add_call(&sides[k]));
  bench_await_versions(&sides[0]);
  bench_measure_speed(row, sides, "off/on", target);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
}

static void add_matrices(bench_side_call *c) {
  bench_add_tensor(c, 64, 64);
  bench_add_tensor(c, 64, 64);
}
static void add_products(bench_side_call *c) {
  add_matrices(c);
  bench_add_number(c, bench_is_quick() ? 2 : 100);
}
static void add_products_of_a_row(bench_side_call *c) {
  bench_add_tensor(c, 1, 64);
  bench_add_tensor(c, 64, 64);
  bench_add_number(c, bench_is_quick() ? 2 : 1000);
}
static void add_vector(bench_side_call *c) {
  bench_add_tensor(c, 64, 0);
  bench_add_number(c, bench_is_quick() ? 20 : 10000);
}

static void measure_sizes(void) {
  bench_print_sides_heading("sizes that are the same, ms", "on", "off", "off/on");
  measure_gain("a product of 64 rows", "product", add_matrices, BENCH_NO_TARGET);
  measure_gain("products of 64 rows in a loop", "products", add_products, BENCH_NO_TARGET);
  measure_gain("products of a row in a loop", "products", add_products_of_a_row, BENCH_NO_TARGET);
  measure_gain("a vector of 64 in a loop", "halve", add_vector, BENCH_NO_TARGET);
  printf("\n");
}

static void add_points(bench_side_call *c) {
  bench_add_number(c, bench_is_quick() ? 1000 : 1000000);
}
static void add_exponent(bench_side_call *c) { bench_add_text(c, "5"), add_points(c); }
static void add_mode(bench_side_call *c) { bench_add_text(c, "3"), add_points(c); }
static void add_four_rounds(bench_side_call *c) { bench_add_text(c, "4"), add_points(c); }
static void add_no_training(bench_side_call *c) {
  bench_add_text(c, "false");
  bench_add_tensor(c, 64, 0);
  bench_add_number(c, bench_is_quick() ? 100 : 100000);
}
static void add_array(bench_side_call *c) {
  bench_add_text(c, "[(2.0,0),(-1.5,1),(0.5,2),(3.0,3)]"), add_points(c);
}
static void add_coefficients(bench_side_call *c) {
  bench_add_text(c, "[2.0,-1.5,0.5,3.0]"), add_points(c);
}

static void measure_constants(void) {
  bench_target target = BENCH_AT_LEAST(MIN_OF_CONSTANTS);
  bench_print_sides_heading("values that are the same, ms", "on", "off", "off/on");
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
static void add_kinds(bench_side_call *c, int leaf) {
  char text[4 * N_KINDS + 3] = "[";
  size_t at = 1;
  for (int k = 0; k < N_KINDS; k++) {
    int level = 31 - __builtin_clz((unsigned)k + 1), kind = level < 6 ? 1 + level % 2 : 0;
    if (level == 6) kind = leaf;
    at += (size_t)snprintf(text + at, sizeof text - at, "%d,", kind);
  }
  snprintf(text + at - 1, sizeof text - at + 1, "]");
  bench_add_text(c, text);
}

static void add_usual_kinds(bench_side_call *c) {
  add_kinds(c, 0);
  bench_add_number(c, bench_is_quick() ? 20 : 2000);
}
static void add_cells(bench_side_call *c) {
  bench_add_text(c, "1000000");
  bench_add_tensor(c, 64, 0);
  bench_add_number(c, bench_is_quick() ? 100 : 100000);
}
static void add_filter(bench_side_call *c) {
  bench_add_text(c, "[2.0,-1.5,0.5,3.0]");
  bench_add_text(c, "4");
  add_points(c);
}

/* Each run has a guard that fails, from some time on. */
static void measure_failures(void) {
  const char *row = "guards that fail, after ten calls";
  bench_side sides[2] = {bench_side_open("formula", HIA_SPECULATE_ON),
                         bench_side_open("formula", HIA_SPECULATE_OFF)};
  for (int k = 0; k < 2; k++) add_usual_kinds(bench_add_call(&sides[k]));
  bench_await_versions(&sides[0]);
  if (bench_n_without_version(&sides[0])) printf("no version\n");
  for (int k = 0; k < 2; k++) {
    bench_side_call *c = &sides[k].calls[0];
    hia_value_free(c->args[0]);
    hia_value *n = c->args[1];
    c->n_args = 0;
    add_kinds(c, 3);
    c->args[c->n_args++] = n;
    for (int i = 0; i < FEW_RUNS; i++) hia_value_free(bench_run(c, NULL));
  }
  bench_figures f = bench_take_turns(row, sides);
  bench_print_sides(row, f.ms[0], f.ms[1], "off/on", 1 / f.ratio, BENCH_AT_LEAST(1 / MAX_FAILING));
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
}

static void measure_inside(void) {
  bench_target target = BENCH_AT_LEAST(MIN_OF_CONSTANTS);
  bench_print_sides_heading("what is seen inside of runs, ms", "on", "off", "off/on");
  measure_gain("arms of a recursion, never taken", "formula", add_usual_kinds, BENCH_NO_TARGET);
  measure_gain("an arm in a loop, never taken", "rare_cells", add_cells, target);
  measure_gain("a loop of four rounds, in data", "filter", add_filter, target);
  measure_gain("an exponent, in data", "raise_all", add_filter, target);
  measure_failures();
  printf("\n");
}

/* ---- programs that gain nothing from batches ---- */

/* Versions that the engine wants are there afterwards. */
static void warm_up(const bench_side *s) {
  double end = bench_now() + (bench_is_quick() ? 0 : 1e3);
  do {
    bench_calls_ms(s, 10);
  } while (bench_now() < end);
}

static void measure_narrow_of(const char *row, const char *function, hia_speculate speculate,
                              void (*add_args)(bench_side_call *), bench_target target) {
  bench_options options = bench_options_of(HIA_SPECULATE_ON);
  options.batch = HIA_BATCH_NONE;
  bench_side sides[2] = {bench_side_open(function, speculate),
                         {.program = bench_open(HIA_BENCH "/speculate.hia", function, &options)}};
  for (int k = 0; k < 2; k++) {
    add_args(bench_add_call(&sides[k]));
    warm_up(&sides[k]);
  }
  bench_figures f = bench_take_turns(row, sides);
  bench_print_sides(row, f.ms[0], f.ms[1], "default/none", f.ratio, target);
  printf("\n");
  fflush(stdout);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
}

static void add_length(bench_side_call *c) { bench_add_number(c, bench_is_quick() ? 10 : 1000); }
static void add_depth(bench_side_call *c) { bench_add_number(c, bench_is_quick() ? 4 : 10); }
static void add_elements(bench_side_call *c) { bench_add_number(c, bench_is_quick() ? 4 : 64); }
static void add_sentence(bench_side_call *c) {
  char text[256] = "[1";
  for (int i = 1; i < (bench_is_quick() ? 4 : 40); i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), ",%d", i * 37 % 100);
  strcat(text, "]");
  bench_add_text(c, text);
}

static void measure_narrow(void) {
  bench_print_sides_heading("narrow programs, ms", "default", "no batches", "default/none");
  static const struct {
    const char *row, *alone, *function;
    void (*add_args)(bench_side_call *);
  } rows[] = {{"a chain", "a chain, without versions", "chain", add_length},
              {"early exits", "early exits, without versions", "early_exit", add_elements},
              {"nodes", "nodes, without versions", "looked_at_tree", add_depth},
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
  bench_side sides[2] = {{.speculate = HIA_SPECULATE_ON}, {.speculate = HIA_SPECULATE_OFF}};
  for (int k = 0; k < 2; k++) {
    bench_options options = bench_options_of(sides[k].speculate);
    options.merge_calls = options.reuse = false; /* as `bench models` has them */
    runners[k] = bench_runner_open_with(network, &treebank, &options);
    sides[k].program = runners[k].program;
    for (size_t i = 0; i < runners[k].n && i < BENCH_MAX_CALLS; i++) {
      bench_side_call *c = bench_add_call(&sides[k]);
      c->n_lent = c->n_args = runners[k].n_args;
      memcpy(c->args, runners[k].args[i], c->n_args * sizeof *c->args);
    }
    warm_up(&sides[k]);
  }
  bench_measure_speed(network->title, sides, "off/on", BENCH_NO_TARGET);
  for (int k = 0; k < 2; k++) bench_runner_close(&runners[k]);
}

/* The TreeLSTM with versions of these options, over the default without versions. */
static void measure_part(const char *row, bench_options options, const bench_program *params) {
  bench_options general = bench_options_of(HIA_SPECULATE_OFF);
  general.reuse = options.reuse;
  bench_side sides[2] = {open_with_arguments("loss", &options, params),
                         open_with_arguments("loss", &general, params)};
  bench_await_versions(&sides[0]);
  bench_measure_speed(row, sides, "off/on", BENCH_NO_TARGET);
  for (int k = 0; k < 2; k++) bench_side_close(&sides[k]);
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
    bench_options options = bench_options_of(HIA_SPECULATE_ON);
    options.disabled_passes = parts[i].disabled;
    options.batch = parts[i].batch;
    options.reuse = parts[i].reuse;
    measure_part(parts[i].row, options, &params);
  }
  bench_close(&params);
}

static void measure_all_contributions(void) {
  bench_networks_write_weights(NULL);
  bench_print_sides_heading("params, a sentence at a time, ms", "on", "off", "off/on");
  for (size_t i = 0; i < BENCH_TREE_RNN_LOOP; i++) measure_network(&bench_networks[i]);
  printf("\n");
  bench_print_sides_heading("weights of a TreeLSTM, ms", "on", "off", "off/on");
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
      {"varying", bench_measure_varying},
      {"choice", bench_measure_choice},
      {"entries", bench_measure_entries},
      {"narrow", measure_narrow},
      {"contributions", measure_contributions},
  };
  enum { N_GROUPS = sizeof groups / sizeof *groups };
  bool is_known = true;
  bench_runs = 21;
  for (int i = 1; i < argc; i++) {
    if (bench_take_option(argv[i]))
      continue;
    else if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      bench_runs = atoi(argv[++i]);
    else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
      only = argv[++i];
    else
      is_known = false;
  }
  bool is_group = !only;
  for (size_t i = 0; i < N_GROUPS && !is_group; i++) is_group = is_chosen(groups[i].name);
  if (!is_known || !is_group || bench_runs < 1 || bench_runs > BENCH_MAX_RUNS) {
    fprintf(stderr,
            "usage: %s [--quick | --check] [--runs N]\n"
            "       [--only lstm|tagger|expressions|sizes|constants|inside|varying|choice|entries|"
            "narrow|contributions]\n",
            argv[0]);
    return 2;
  }
  if (bench_is_quick()) bench_runs = 3;
  bench_print_machine();
  for (size_t i = 0; i < N_GROUPS; i++)
    if (is_chosen(groups[i].name)) groups[i].measure();
  return bench_end();
}
