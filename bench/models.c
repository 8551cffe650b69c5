/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Measures the models of examples/models: inference, one sentence at a time, on one thread, next to
 * programs by hand and to PyTorch; the likelihood of a tree (likelihood.c); two threads next to
 * one; compile time; memory.
 *
 *   bench_models [--quick | --check] [--runs N] [--only MODEL | --only likelihood]
 *
 * The programs next to hiaton are those of bench/peers/. HIATON_PEERS_DIR may name a folder with
 * others, which then take their place, but for --quick: tree/hand_treelstm.cc, tree/hand_rnn.cc (by
 * hand), tree/bench_torch.py (PyTorch), tree/bench_libtorch.cc. Those in C++ are compiled here. All
 * read one folder of data (weights.h; the trees as nodes, children first), take the same command
 * line, and print sentences a second:
 *
 *   PROGRAM [MODEL] SIZE infer BATCH SENTENCES MIN_SECONDS REPEATS FOLDER
 *
 * With CHECK in the environment they print the summed loss instead, which must be hiaton's. A round
 * has a measurement of each; figures are medians of wall-clock rates. */
#include "bench/harness.h"
#include "bench/likelihood.h"
#include "bench/treebank.h"
#include "bench/weights.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef HIA_GXX_PROGRAM
#define HIA_GXX_PROGRAM "g++"
#endif
#define FOLDER HIA_PEERS "/models-1" /* another number when the weights change */

enum { SENTENCES = 256, QUICK_SENTENCES = 8, MAX_RUNS = 99, MAX_PATH = 512 };
enum { TAGGED = 64, TOKENS = 40, TAG_WORDS = 1000, TAGS = 300 };
enum { ROOTS = 64, DEPTH = 8 };
enum { BALANCED_DEPTH = 11 }; /* 4,095 nodes */
#define TOLERANCE      1e-5
#define MIN_SPEED_UP   1.8
#define MAX_COMPILE_MS 150
#define MAX_MEMORY     60 /* MiB */

/* ---- the models ---- */

typedef enum input { TREES, TAGGED_SENTENCES, ROOT_WORDS } input;
/* The programs that a model is compared with. STEPS is an unrolled network, step by step; FUSED one
 * that PyTorch has as a whole, nn.LSTM. */
enum { HAND, TORCH, FUSED, LIBTORCH, N_PEERS };
static const char *const peer_names[N_PEERS] = {"by hand", "PyTorch", "nn.LSTM", "libtorch"};

typedef struct model {
  const char *title, *file, *function;
  input input;
  const char *name, *size; /* of its files and of the programs: "treelstm", "150" */
  const char *torch;       /* as PyTorch's programs call it */
  double min_of[N_PEERS];  /* the targets: how many times as fast; 0: none */
  bench_weight weights[16];
} model;

#define WORDS 18278
static const model models[] = {
    {"TreeLSTM 150",
     "tree_lstm",
     "loss",
     TREES,
     "treelstm",
     "150",
     "treelstm",
     {[HAND] = 0.9, [TORCH] = 5, [LIBTORCH] = 3},
     {{"E", NULL, {WORDS, 300}, 0.1},
      {"Wx", NULL, {450, 300}, 0},
      {"bx", NULL, {450}, 0.01},
      {"U", NULL, {750, 300}, 0},
      {"bu", NULL, {750}, 0.01},
      {"Wc", NULL, {5, 150}, 0},
      {"bc", NULL, {5}, 0.01}}},
    {"TreeRNN 300",
     "tree_rnn",
     "loss",
     TREES,
     "treernn",
     "300",
     "treernn",
     {[HAND] = 0.85},
     {{"E", NULL, {WORDS, 300}, 0.1},
      {"W", NULL, {300, 600}, 0},
      {"b", NULL, {300}, 0.01},
      {"Wc", NULL, {5, 300}, 0},
      {"bc", NULL, {5}, 0.01}}},
    {"RNTN 25",
     "rntn",
     "loss",
     TREES,
     "rntn",
     "25",
     "rntn",
     {[HAND] = 1.2},
     {{"E", NULL, {WORDS, 25}, 0.1},
      {"V", NULL, {25, 50, 50}, 0.05},
      {"W", NULL, {25, 50}, 0},
      {"b", NULL, {25}, 0.01},
      {"Wc", NULL, {5, 25}, 0},
      {"bc", NULL, {5}, 0.01}}},
    {"BiLSTM 256",
     "bilstm_tagger",
     "loss",
     TAGGED_SENTENCES,
     "bilstm",
     "256",
     "bilstm_cell",
     {[TORCH] = 1.1},
     {{"E", NULL, {TAG_WORDS, 200}, 0.1},
      {"Wx1f", "Wx0f", {1024, 200}, 0},
      {"Wh1f", "Wh0f", {1024, 256}, 0},
      {"b1f", "b0f", {1024}, 0.01},
      {"Wx1b", "Wx0b", {1024, 200}, 0},
      {"Wh1b", "Wh0b", {1024, 256}, 0},
      {"b1b", "b0b", {1024}, 0.01},
      {"Wx2f", "Wx1f", {1024, 512}, 0},
      {"Wh2f", "Wh1f", {1024, 256}, 0},
      {"b2f", "b1f", {1024}, 0.01},
      {"Wx2b", "Wx1b", {1024, 512}, 0},
      {"Wh2b", "Wh1b", {1024, 256}, 0},
      {"b2b", "b1b", {1024}, 0.01},
      {"Wt", "Wc", {TAGS, 512}, 0},
      {"bt", "bc", {TAGS}, 0.01}}},
    {"top-down 150",
     "top_down_tree_lstm",
     "main",
     ROOT_WORDS,
     "topdown",
     "150",
     "topdown",
     {[TORCH] = 10},
     {{"E", NULL, {1000, 150}, 0.1},
      {"W", NULL, {4, 600, 300}, 0.1},
      {"b", NULL, {4, 600}, 0.01},
      {"Wo", NULL, {1000, 150}, 0},
      {"A", NULL, {4, 300}, 0},
      {"a", NULL, {4}, 0.01}}},
};
#define N_MODELS (sizeof models / sizeof *models)

static bench_treebank treebank;

/* How many sentences a model is measured with. */
static size_t count_of(const model *m) {
  if (bench_is_quick()) return QUICK_SENTENCES;
  return m->input == TREES ? SENTENCES : m->input == TAGGED_SENTENCES ? TAGGED : ROOTS;
}

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

static void file_of(const model *m, char path[MAX_PATH]) {
  snprintf(path, MAX_PATH, "%s/models/%s.hia", HIA_EXAMPLES, m->file);
}

/* ---- data ---- */

static FILE *create(const char *name) {
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%s/%s", FOLDER, name);
  FILE *to = fopen(path, "w");
  if (!to) fail(path);
  return to;
}

static void finish(FILE *to, const char *name) {
  if (ferror(to) || fclose(to) != 0) fail(name);
}

/* The table of a tree has its nodes after their children, as the other programs read them. A node's
 * words are its fields: word and label, or left, right and label. */
static void write_tree(FILE *to, const hia_value *tree) {
  hia_value_nodes *table;
  hia_error *error;
  bench_check(hia_value_to_nodes(tree, &table, &error), &error);
  fprintf(to, "T %zu\n", table->n_nodes);
  const int64_t *field = table->words;
  for (size_t i = 0; i < table->n_nodes; i++) {
    if (table->nodes[i].ctor == 0) {
      fprintf(to, "-1 -1 %" PRId64 " %" PRId64 "\n", field[0], field[1]);
      field += 2;
    } else {
      fprintf(to, "%" PRId64 " %" PRId64 " -1 %" PRId64 "\n", field[0], field[1], field[2]);
      field += 3;
    }
  }
  hia_value_nodes_free(table);
}

/* The first sentences of the treebank, with the numbers of their words, for the other programs. */
static void write_trees(void) {
  char path[MAX_PATH];
  file_of(&models[0], path);
  bench_options options = {.kind = HIA_ENGINE_INTERP};
  bench_program p = bench_open(path, "loss", &options);
  double ms;
  size_t n_words;
  hia_value *trees = bench_treebank_read(&treebank, p.engine,
                                         hia_function_param_type(p.function, 0), &ms, &n_words);
  FILE *to = create("sst_train.txt");
  fprintf(to, "V %d\n", WORDS);
  size_t n = count_of(&models[0]);
  for (size_t i = 0; i < n && i < hia_value_len(trees); i++) {
    hia_value *tree = hia_value_part(trees, i);
    if (!tree) bench_check(HIA_MEMORY, NULL);
    write_tree(to, tree);
    hia_value_free(tree);
  }
  finish(to, "sst_train.txt");
  hia_value_free(trees);
  bench_close(&p);
}

static uint32_t draw(uint64_t *state, uint32_t n) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((*state >> 33) % n);
}

/* Sentence i of the tagger, as text: for the other programs, or for hiaton. */
static void write_tagged(FILE *to, size_t i, bool is_for_hiaton) {
  uint32_t words[TOKENS], tags[TOKENS];
  uint64_t state = i + 1;
  for (int k = 0; k < TOKENS; k++) {
    words[k] = draw(&state, TAG_WORDS);
    tags[k] = draw(&state, TAGS);
  }
  if (!is_for_hiaton) {
    fprintf(to, "T %d\n", TOKENS);
    for (int k = 0; k < TOKENS; k++) fprintf(to, "%u %u\n", words[k], tags[k]);
    return;
  }
  fputs("[([", to);
  for (int k = 0; k < TOKENS; k++) fprintf(to, "%s%u", k ? "," : "", words[k]);
  fputs("],[", to);
  for (int k = 0; k < TOKENS; k++) fprintf(to, "%s%u", k ? "," : "", tags[k]);
  fputs("])]", to);
}

static uint32_t root_of(size_t i) { return (uint32_t)(i * 37 % 1000); }

static void write_data(const char *only) {
  if (mkdir(FOLDER, 0777) != 0 && errno != EEXIST) fail(FOLDER);
  write_trees();
  FILE *to = create("tag.txt");
  fprintf(to, "V %d\n", TAG_WORDS);
  for (size_t i = 0; i < TAGGED; i++) write_tagged(to, i, false);
  finish(to, "tag.txt");
  to = create("roots.txt");
  fprintf(to, "D %d\n", DEPTH);
  for (size_t i = 0; i < ROOTS; i++) fprintf(to, "%u\n", root_of(i));
  finish(to, "roots.txt");
  for (size_t i = 0; i < N_MODELS; i++) {
    char name[64];
    if (only && strcmp(only, models[i].name) != 0) continue;
    snprintf(name, sizeof name, "%s%s", models[i].name, models[i].size);
    bench_weights_write(FOLDER, name, models[i].weights);
  }
}

/* ---- hiaton ---- */

/* A model that is ready to run, with its sentences: each is the arguments of one call. */
typedef struct runner {
  const model *m;
  bench_program program;
  hia_value *(*args)[2];
  size_t n, n_args;
} runner;

static hia_value *parse(const runner *r, size_t i, const char *text) {
  hia_value *value;
  hia_error *error;
  bench_check(
      hia_value_parse_text(r->program.function, i, NULL, text, strlen(text), &value, &error),
      &error);
  return value;
}

static hia_value *array_of(const runner *r, hia_value *element) {
  hia_value *array;
  hia_error *error;
  const hia_type_info *type = hia_function_param_type(r->program.function, 0);
  bench_check(hia_value_array(r->program.engine, type, &element, 1, &array, &error), &error);
  hia_value_free(element);
  return array;
}

static void read_sentences(runner *r) {
  double ms;
  size_t n_words;
  hia_value *trees = NULL;
  if (r->m->input == TREES) {
    trees = bench_treebank_read(&treebank, r->program.engine,
                                hia_function_param_type(r->program.function, 0), &ms, &n_words);
    if (r->n > hia_value_len(trees)) r->n = hia_value_len(trees);
  }
  r->args = calloc(r->n, sizeof *r->args);
  if (!r->args) fail("memory");
  for (size_t i = 0; i < r->n; i++) {
    char *text = NULL;
    size_t len;
    if (trees) {
      r->args[i][0] = array_of(r, hia_value_part(trees, i));
      continue;
    }
    FILE *to = open_memstream(&text, &len);
    if (!to) fail("memory");
    if (r->m->input == TAGGED_SENTENCES)
      write_tagged(to, i, true);
    else
      fprintf(to, "[%u]", root_of(i));
    if (fclose(to) != 0) fail("memory");
    r->args[i][0] = parse(r, 0, text);
    free(text);
    if (r->m->input != ROOT_WORDS) continue;
    char depth[16];
    snprintf(depth, sizeof depth, "%d", DEPTH);
    r->args[i][1] = parse(r, 1, depth);
  }
  hia_value_free(trees);
}

static void load_weights(const model *m, const bench_program *p) {
  char path[MAX_PATH];
  hia_error *error;
  snprintf(path, sizeof path, "%s/%s%s.safetensors", FOLDER, m->name, m->size);
  bench_check(hia_module_load_params(p->module, path, &error), &error);
}

static bench_program open_model(const model *m, unsigned threads) {
  char path[MAX_PATH];
  file_of(m, path);
  bench_options options = {.kind = HIA_ENGINE_JIT, .threads = threads};
  bench_program p = bench_open(path, m->function, &options);
  load_weights(m, &p);
  return p;
}

static runner open_runner(const model *m) {
  runner r = {.m = m,
              .program = open_model(m, 1),
              .n = count_of(m),
              .n_args = m->input == ROOT_WORDS ? 2 : 1};
  read_sentences(&r);
  return r;
}

static void close_runner(runner *r) {
  for (size_t i = 0; i < r->n; i++)
    for (size_t k = 0; k < r->n_args; k++) hia_value_free(r->args[i][k]);
  free(r->args);
  bench_close(&r->program);
}

static hia_value *call(const bench_program *p, hia_value *const *args, size_t n) {
  hia_value *result;
  hia_error *error;
  bench_check(hia_call(p->function, args, n, &result, &error), &error);
  return result;
}

/* The loss of a sentence. A tree that has grown counts its nodes and their words. */
static double loss_of(const hia_value *result) {
  float x;
  if (hia_value_get_f32(result, &x) == HIA_OK) return x;
  hia_value_nodes *table;
  hia_error *error;
  hia_value *tree = hia_value_part(result, 0);
  bench_check(hia_value_to_nodes(tree, &table, &error), &error);
  double sum = 0;
  for (size_t i = 0; i < table->n_nodes; i++)
    sum += 1 + (double)table->words[4 * i]; /* word, left, right, next */
  hia_value_nodes_free(table);
  hia_value_free(tree);
  return sum;
}

static double loss(const runner *r) {
  double sum = 0;
  for (size_t i = 0; i < r->n; i++) {
    hia_value *result = call(&r->program, r->args[i], r->n_args);
    sum += loss_of(result);
    hia_value_free(result);
  }
  return sum;
}

/* Sentences a second, of whole passes that take this long in all. */
static double rate(const runner *r, double seconds) {
  size_t n = 0;
  double start = bench_now(), ms;
  do {
    for (size_t i = 0; i < r->n; i++) hia_value_free(call(&r->program, r->args[i], r->n_args));
    n += r->n;
    ms = bench_now() - start;
  } while (ms < seconds * 1e3);
  return (double)n / (ms / 1e3);
}

/* ---- the other programs ---- */

typedef struct peer {
  char program[MAX_PATH]; /* empty: there is none */
  char script[MAX_PATH];  /* the program is a Python: this is its first argument */
  bool has_model;         /* its first argument is the model */
} peer;

static const char *outside; /* HIATON_PEERS_DIR, or NULL */
static char python[64];     /* that has PyTorch, or empty */

static void find_python(void) {
  static const char *const pythons[] = {"python3", "/usr/bin/python3"};
  if (bench_is_quick()) {
    puts("PyTorch is left out: it takes seconds to start");
    return;
  }
  for (size_t i = 0; i < 2 && !python[0]; i++) {
    const char *argv[] = {pythons[i], "-c", "import numpy, torch", NULL};
    if (bench_process_works(argv)) snprintf(python, sizeof python, "%s", pythons[i]);
  }
  if (!python[0]) puts("no PyTorch: Debian's python3-torch is not installed");
}

static bool is_newer(const char *a, const char *b) {
  struct stat x, y;
  if (stat(a, &x) != 0) return false;
  return stat(b, &y) != 0 || x.st_mtime > y.st_mtime;
}

/* Compiles a program of the folder from outside, if that has changed. `flags` is what its head
 * says. */
static bool compile(const char *name, const char *const *flags, char program[MAX_PATH]) {
  char source[MAX_PATH];
  const char *argv[32] = {HIA_GXX_PROGRAM, "-O3", "-march=native", "-I" HIA_BENCH "/peers", source};
  size_t n = 5;
  snprintf(source, sizeof source, "%s/tree/%s.cc", outside, name);
  snprintf(program, MAX_PATH, "%s/%s", FOLDER, name);
  while (*flags) argv[n++] = *flags++;
  argv[n++] = "-o";
  argv[n++] = program;
  if (!is_newer(source, program) && access(program, X_OK) == 0) return true;
  if (access(source, R_OK) == 0 && bench_process_works(argv)) return true;
  program[0] = 0;
  return false;
}

static peer own_hand(void) {
  peer p = {.has_model = true};
  snprintf(p.program, sizeof p.program, "%s/peer_models", HIA_PEERS);
  if (access(p.program, X_OK) != 0) p.program[0] = 0;
  return p;
}

static peer find_hand(const model *m) {
  static const char *const tree_lstm[] = {"-mprefer-vector-width=512", "-ffast-math", "-fopenmp",
                                          "-l:libopenblas.so.0", NULL};
  static const char *const rnn[] = {"-mprefer-vector-width=512", "-ffast-math",
                                    "-l:libopenblas.so.0", NULL};
  peer p = {.has_model = true};
  if (!outside || m->input != TREES) return own_hand();
  if (strcmp(m->name, "treelstm") == 0) {
    p.has_model = false;
    compile("hand_treelstm", tree_lstm, p.program);
  } else
    compile("hand_rnn", rnn, p.program);
  return p;
}

static peer find_torch(const model *m) {
  peer p = {.has_model = true};
  if (!python[0]) return p;
  snprintf(p.program, sizeof p.program, "%s", python);
  if (outside && m->input != ROOT_WORDS)
    snprintf(p.script, sizeof p.script, "%s/tree/bench_torch.py", outside);
  else
    snprintf(p.script, sizeof p.script, "%s/peers/models.py", HIA_BENCH);
  return p;
}

static peer find_libtorch(const model *m) {
  static const char *const flags[] = {"-I/usr/include/torch/csrc/api/include", "-ltorch",
                                      "-ltorch_cpu", "-lc10", NULL};
  peer p = {.has_model = false};
  if (!bench_is_quick() && outside && strcmp(m->name, "treelstm") == 0)
    compile("bench_libtorch", flags, p.program);
  return p;
}

/* The words of a command: NULL at the end. */
static void words_of(const peer *p, const model *m, const char *name, const char *seconds,
                     const char *n, const char *argv[16]) {
  size_t at = 0;
  argv[at++] = p->program;
  if (p->script[0]) argv[at++] = p->script;
  if (p->has_model) argv[at++] = name;
  argv[at++] = m->size;
  argv[at++] = "infer";
  argv[at++] = "1";
  argv[at++] = n;
  argv[at++] = seconds;
  argv[at++] = "1";
  argv[at++] = FOLDER;
  argv[at] = NULL;
}

static double peer_figure(const peer *p, const model *m, const char *name, const char *figure) {
  char text[512], n[32];
  const char *argv[16], *at;
  double x;
  snprintf(n, sizeof n, "%zu", count_of(m));
  words_of(p, m, name, bench_is_quick() ? "0" : "0.3", n, argv);
  bench_process_text(argv, text, sizeof text);
  at = strstr(text, figure);
  if (at && sscanf(at + strlen(figure), "%lf", &x) == 1) return x;
  fprintf(stderr, "%s printed: %s\n", p->program, text);
  exit(1);
}

static double peer_rate(const peer *p, const model *m, const char *name) {
  return peer_figure(p, m, name, "med=");
}

static double peer_loss(const peer *p, const model *m, const char *name) {
  setenv("CHECK", "1", 1);
  double x = peer_figure(p, m, name, "loss0=");
  unsetenv("CHECK");
  return x;
}

/* ---- one sentence at a time ---- */

static void measure(const model *m, int runs) {
  double own[MAX_RUNS], theirs[N_PEERS][MAX_RUNS], median[N_PEERS];
  peer peers[N_PEERS];
  peers[HAND] = find_hand(m);
  peers[TORCH] = find_torch(m);
  peers[FUSED] = m->input == TAGGED_SENTENCES ? find_torch(m) : (peer){.has_model = true};
  peers[LIBTORCH] = find_libtorch(m);
  const char *names[N_PEERS] = {m->name, m->torch, "bilstm", m->name};
  runner r = open_runner(m);
  double expected = loss(&r);
  for (int k = 0; k < N_PEERS; k++) {
    if (!peers[k].program[0]) continue;
    double theirs_is = peer_loss(&peers[k], m, names[k]);
    if (!(fabs(theirs_is - expected) <= TOLERANCE * fabs(expected)))
      bench_wrong("%s, %s: a loss of %.9g instead of %.9g", m->title, peer_names[k], theirs_is,
                  expected);
  }
  double seconds = bench_is_quick() ? 0 : 0.3;
  for (int i = 0; i < runs; i++) {
    own[i] = rate(&r, seconds);
    for (int k = 0; k < N_PEERS; k++)
      if (peers[k].program[0]) theirs[k][i] = peer_rate(&peers[k], m, names[k]);
  }
  double per_second = bench_median(own, (size_t)runs);
  printf("%-14s %9.1f", m->title, per_second);
  for (int k = 0; k < N_PEERS; k++) {
    median[k] = peers[k].program[0] ? bench_median(theirs[k], (size_t)runs) : NAN;
    char column[64];
    snprintf(column, sizeof column, "hiaton/%s", peer_names[k]);
    bench_print_target(m->title, column, per_second / median[k], 2,
                       m->min_of[k] > 0 ? BENCH_AT_LEAST(m->min_of[k]) : BENCH_NO_TARGET);
  }
  for (int k = 0; k < N_PEERS; k++)
    if (peers[k].program[0])
      printf(" %10.1f", median[k]);
    else
      printf(" %10s", "-");
  printf("\n");
  fflush(stdout);
  close_runner(&r);
}

static void print_rates(const char *only, int runs) {
  printf("%-14s %9s", "sentences/s", "hiaton");
  for (int k = 0; k < N_PEERS; k++) {
    char column[64];
    snprintf(column, sizeof column, "hiaton/%s", peer_names[k]);
    bench_print_target_heading(column);
  }
  for (int k = 0; k < N_PEERS; k++) printf(" %10s", peer_names[k]);
  printf("\n");
  for (size_t i = 0; i < N_MODELS; i++)
    if (!only || strcmp(only, models[i].name) == 0) measure(&models[i], runs);
  printf("\n");
}

/* ---- two threads ---- */

static void write_balanced(FILE *to, int depth, uint32_t *word) {
  if (depth == 0) {
    *word = (*word * 31 + 7) % 997;
    fprintf(to, "Leaf(%u,%u)", *word, *word % 5);
    return;
  }
  fputs("Node(", to);
  write_balanced(to, depth - 1, word);
  fputc(',', to);
  write_balanced(to, depth - 1, word);
  fprintf(to, ",%u)", *word % 5);
}

static hia_value *balanced(const bench_program *p, int depth) {
  char *text = NULL;
  size_t len;
  uint32_t word = 1;
  hia_value *trees;
  hia_error *error;
  FILE *to = open_memstream(&text, &len);
  if (!to) fail("memory");
  fputc('[', to);
  write_balanced(to, depth, &word);
  fputc(']', to);
  if (fclose(to) != 0) fail("memory");
  bench_check(hia_value_parse_text(p->function, 0, NULL, text, len, &trees, &error), &error);
  free(text);
  return trees;
}

static hia_value *stream_of(const bench_program *p, size_t n) {
  double ms;
  size_t n_words;
  hia_error *error;
  const hia_type_info *type = hia_function_param_type(p->function, 0);
  hia_value *all = bench_treebank_read(&treebank, p->engine, type, &ms, &n_words), *trees;
  if (n > hia_value_len(all)) n = hia_value_len(all);
  hia_value **parts = calloc(n, sizeof *parts);
  if (!parts) fail("memory");
  for (size_t i = 0; i < n; i++) parts[i] = hia_value_part(all, i);
  bench_check(hia_value_array(p->engine, type, parts, n, &trees, &error), &error);
  for (size_t i = 0; i < n; i++) hia_value_free(parts[i]);
  free(parts);
  hia_value_free(all);
  return trees;
}

/* Each call computes the loss of all of them. */
static void measure_threads(const char *row, bench_program programs[2], hia_value *trees,
                            int runs) {
  double ms[2][MAX_RUNS];
  float first = 0;
  for (int i = -1; i < runs; i++) /* the first time is not counted */
    for (int k = 0; k < 2; k++) {
      double start = bench_now();
      hia_value *result = call(&programs[k], &trees, 1);
      ms[k][i < 0 ? 0 : i] = bench_now() - start;
      float x = 0;
      bench_check(hia_value_get_f32(result, &x), NULL);
      hia_value_free(result);
      if (i < 0 && k == 0) first = x;
      if (memcmp(&x, &first, sizeof x) != 0)
        bench_wrong("%s: %.9g on %d threads, %.9g on one", row, (double)x, k + 1, (double)first);
    }
  double one = bench_median(ms[0], (size_t)runs), two = bench_median(ms[1], (size_t)runs);
  printf("%-28s %10.2f %10.2f", row, one, two);
  bench_print_target(row, "one/two threads", one / two, 2, BENCH_AT_LEAST(MIN_SPEED_UP));
  printf("\n");
  fflush(stdout);
}

static void print_threads(int runs) {
  bench_pin(false);
  printf("%-28s %10s %10s", "TreeLSTM 150", "one, ms", "two, ms");
  bench_print_target_heading("one/two threads");
  printf("\n");
  bench_program programs[2] = {open_model(&models[0], 1), open_model(&models[0], 2)};
  hia_value *trees = stream_of(&programs[0], count_of(&models[0]));
  measure_threads("a stream of sentences", programs, trees, runs);
  hia_value_free(trees);
  trees = balanced(&programs[0], bench_is_quick() ? 4 : BALANCED_DEPTH);
  measure_threads("a balanced tree, 4,095 nodes", programs, trees, runs);
  hia_value_free(trees);
  for (int k = 0; k < 2; k++) bench_close(&programs[k]);
  bench_pin(true);
  printf("\n");
}

/* ---- compile time and memory ---- */

/* Processor time from text to native code; the compiler is open. */
static double compile_ms(const char *path) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  hia_error *error;
  bench_check(hia_engine_new(&options, &engine, &error), &error);
  bench_check(hia_engine_native(engine, &error), &error);
  double start = bench_cpu();
  bench_check(hia_module_load_file(engine, path, &module, &error), &error);
  bench_check(hia_module_function(module, "main", &function, &error), &error);
  bench_check(hia_function_prepare(function, &error), &error);
  double ms = bench_cpu() - start;
  hia_module_free(module);
  hia_engine_free(engine);
  return ms;
}

static void print_compile(int runs) {
  double ms[MAX_RUNS];
  char path[MAX_PATH];
  printf("%-14s", "compile time");
  bench_print_target_heading("ms");
  printf("\n");
  for (size_t i = 0; i < (bench_is_quick() ? 1 : N_MODELS); i++) {
    file_of(&models[i], path);
    for (int k = 0; k < runs; k++) ms[k] = compile_ms(path);
    printf("%-14s", models[i].title);
    bench_print_target(models[i].title, "compile time", bench_median(ms, (size_t)runs), 1,
                       i == 0 ? BENCH_AT_MOST(MAX_COMPILE_MS) : BENCH_NO_TARGET);
    printf("\n");
    fflush(stdout);
  }
  printf("\n");
}

/* A process of a program built ahead of time, which has no LLVM: it reads the sentences and prints
 * the classes. Its params, 26 MB, are part of that. */
static void print_memory(const char *folder) {
  char path[MAX_PATH], program[MAX_PATH], vocabulary[MAX_PATH], sentences[MAX_PATH],
      arg[MAX_PATH + 1];
  file_of(&models[0], path);
  snprintf(program, sizeof program, "%s/tree_lstm", folder);
  snprintf(vocabulary, sizeof vocabulary, "%s/vocabulary", folder);
  snprintf(sentences, sizeof sentences, "%s/sentences.ptb", folder);
  snprintf(arg, sizeof arg, "@%s", sentences);
  FILE *from = fopen(treebank.path, "r"), *to = fopen(sentences, "w");
  char *line = NULL;
  size_t size = 0;
  if (!from || !to) fail(sentences);
  for (size_t i = count_of(&models[0]); i > 0 && getline(&line, &size, from) > 0; i--)
    fputs(line, to);
  free(line);
  fclose(from);
  finish(to, sentences);
  const char *build[] = {HIA_PROGRAM, "build", path, "--exe", "-o", program, NULL};
  const char *run[] = {program, arg, "--build-vocab", vocabulary, NULL};
  bench_process(build);
  double peak = bench_process_peak(run);
  printf("%-14s", "peak memory");
  bench_print_target_heading("MiB");
  printf("\n%-14s", models[0].title);
  bench_print_target(models[0].title, "peak memory", peak, 1, BENCH_AT_MOST(MAX_MEMORY));
  printf("\n\n");
  unlink(program);
  unlink(vocabulary);
  unlink(sentences);
}

int main(int argc, char **argv) {
  int runs = 5;
  const char *only = NULL;
  bool is_known = true;
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
  if (!is_known || runs < 1 || runs > MAX_RUNS) {
    fprintf(stderr, "usage: %s [--quick | --check] [--runs N] [--only MODEL]\n", argv[0]);
    return 2;
  }
  if (bench_is_quick()) runs = 1;
  char folder[] = "/tmp/hiaton-bench-XXXXXX";
  if (!mkdtemp(folder)) fail(folder);
  bench_print_machine();
  treebank = bench_treebank_write(folder);
  if (!only) print_memory(folder); /* first: see bench_process_peak */
  outside = bench_is_quick() ? NULL : getenv("HIATON_PEERS_DIR");
  bench_free_blas();
  find_python();
  printf("the other programs: those of %s; BLAS: %s\n",
         outside ? "HIATON_PEERS_DIR" : "bench/peers", bench_blas_text());
  if (treebank.is_generated) puts("the treebank is generated: HIATON_SST_DIR is not set");
  puts("");
  bench_pin(true);
  write_data(only);
  bool is_likelihood = only && strcmp(only, "likelihood") == 0;
  if (!is_likelihood) print_rates(only, runs);
  if (!only || is_likelihood) bench_likelihood(FOLDER, runs);
  if (!only) {
    print_threads(runs);
    print_compile(runs);
  }
  bench_treebank_remove(&treebank);
  rmdir(folder);
  return bench_end();
}
