/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/networks.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SENTENCES = 256, QUICK_SENTENCES = 8, MAX_PATH = BENCH_MAX_PATH };
enum { WORDS = 18278, TAGGED = 64, TOKENS = 40, TAG_WORDS = 1000, TAGS = 300 };
enum { ROOTS = 64, DEPTH = 8 };

/* ---- the networks ---- */

#define NO_MORE {.name = NULL}
static const bench_weight tree_lstm[] = {
    {"E", NULL, {WORDS, 300}, 0.1}, {"Wx", NULL, {450, 300}, 0},
    {"bx", NULL, {450}, 0.01},      {"U", NULL, {750, 300}, 0},
    {"bu", NULL, {750}, 0.01},      {"Wc", NULL, {5, 150}, 0},
    {"bc", NULL, {5}, 0.01},        NO_MORE,
};
static const bench_weight tree_rnn[] = {
    {"E", NULL, {WORDS, 300}, 0.1}, {"W", NULL, {300, 600}, 0}, {"b", NULL, {300}, 0.01},
    {"Wc", NULL, {5, 300}, 0},      {"bc", NULL, {5}, 0.01},    NO_MORE,
};
static const bench_weight tree_rnn_150[] = {
    {"E", NULL, {WORDS, 150}, 0.1}, {"W", NULL, {150, 300}, 0}, {"b", NULL, {150}, 0.01},
    {"Wc", NULL, {5, 150}, 0},      {"bc", NULL, {5}, 0.01},    NO_MORE,
};
static const bench_weight rntn[] = {
    {"E", NULL, {WORDS, 25}, 0.1},
    {"V", NULL, {25, 50, 50}, 0.05},
    {"W", NULL, {25, 50}, 0},
    {"b", NULL, {25}, 0.01},
    {"Wc", NULL, {5, 25}, 0},
    {"bc", NULL, {5}, 0.01},
    NO_MORE,
};
static const bench_weight bilstm[] = {
    {"E", NULL, {TAG_WORDS, 200}, 0.1}, {"Wx1f", "Wx0f", {1024, 200}, 0},
    {"Wh1f", "Wh0f", {1024, 256}, 0},   {"b1f", "b0f", {1024}, 0.01},
    {"Wx1b", "Wx0b", {1024, 200}, 0},   {"Wh1b", "Wh0b", {1024, 256}, 0},
    {"b1b", "b0b", {1024}, 0.01},       {"Wx2f", "Wx1f", {1024, 512}, 0},
    {"Wh2f", "Wh1f", {1024, 256}, 0},   {"b2f", "b1f", {1024}, 0.01},
    {"Wx2b", "Wx1b", {1024, 512}, 0},   {"Wh2b", "Wh1b", {1024, 256}, 0},
    {"b2b", "b1b", {1024}, 0.01},       {"Wt", "Wc", {TAGS, 512}, 0},
    {"bt", "bc", {TAGS}, 0.01},         NO_MORE,
};
static const bench_weight top_down[] = {
    {"E", NULL, {1000, 150}, 0.1},
    {"W", NULL, {4, 600, 300}, 0.1},
    {"b", NULL, {4, 600}, 0.01},
    {"Wo", NULL, {1000, 150}, 0},
    {"A", NULL, {4, 300}, 0},
    {"a", NULL, {4}, 0.01},
    NO_MORE,
};
static const char loop_loss[] =
    "fn loss(trees: [Tree]) -> f32 =\n"
    "  sum([{ let x = lists(t); encode(x[0], x[1], x[2], x[3]).1 } for t in trees])\n";

const bench_network bench_networks[BENCH_N_NETWORKS] = {
    [BENCH_TREE_LSTM] = {"TreeLSTM 150", "tree_lstm", "loss", NULL, BENCH_TREES, "treelstm", "150",
                         "treelstm", tree_lstm},
    [BENCH_TREE_RNN] = {"TreeRNN 300", "tree_rnn", "loss", NULL, BENCH_TREES, "treernn", "300",
                        "treernn", tree_rnn},
    [BENCH_RNTN] = {"RNTN 25", "rntn", "loss", NULL, BENCH_TREES, "rntn", "25", "rntn", rntn},
    [BENCH_BILSTM] = {"BiLSTM 256", "bilstm_tagger", "loss", NULL, BENCH_TAGGED, "bilstm", "256",
                      "bilstm_cell", bilstm},
    [BENCH_TOP_DOWN] = {"top-down 150", "top_down_tree_lstm", "main", NULL, BENCH_ROOTS, "topdown",
                        "150", "topdown", top_down},
    [BENCH_TREE_RNN_LOOP] = {"TreeRNN, a loop", "tree_rnn_iterative", "loss", loop_loss,
                             BENCH_TREES, "treernn", "300", "treernn", tree_rnn},
    [BENCH_TREE_RNN_150] = {"TreeRNN 150", "tree_rnn", "loss", NULL, BENCH_TREES, "treernn", "150",
                            "treernn", tree_rnn_150, "150"},
};

static void fail(const char *what) {
  fflush(stdout);
  perror(what);
  exit(1);
}

size_t bench_network_sentences(const bench_network *m) {
  if (bench_is_quick()) return QUICK_SENTENCES;
  return m->input == BENCH_TREES ? SENTENCES : m->input == BENCH_TAGGED ? TAGGED : ROOTS;
}

void bench_network_file(const bench_network *m, char path[BENCH_MAX_PATH]) {
  snprintf(path, MAX_PATH, "%s/models/%s.hia", HIA_EXAMPLES, m->file);
}

/* ---- data ---- */

static FILE *create(const char *name) {
  char path[MAX_PATH];
  snprintf(path, sizeof path, "%s/%s", BENCH_NETWORKS_FOLDER, name);
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

/* The first sentences of the treebank, with the numbers of their words. */
static void write_trees(const bench_treebank *treebank) {
  const bench_network *network = &bench_networks[BENCH_TREE_LSTM];
  char path[MAX_PATH];
  bench_network_file(network, path);
  bench_options options = {.kind = HIA_ENGINE_INTERP};
  bench_program p = bench_open(path, network->function, &options);
  hia_value *trees = bench_network_trees(&p, treebank, 0, bench_network_sentences(network));
  FILE *to = create("sst_train.txt");
  fprintf(to, "V %d\n", WORDS);
  for (size_t i = 0; i < hia_value_len(trees); i++) {
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

/* Sentence i of the tagger, as text: for the other programs, or as a tuple for hiaton. */
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
  fputs("([", to);
  for (int k = 0; k < TOKENS; k++) fprintf(to, "%s%u", k ? "," : "", words[k]);
  fputs("],[", to);
  for (int k = 0; k < TOKENS; k++) fprintf(to, "%s%u", k ? "," : "", tags[k]);
  fputs("])", to);
}

/* Sentences of the tagger from `first` on, before `end`, for hiaton. */
static void write_all_tagged(FILE *to, size_t first, size_t end) {
  for (size_t i = first; i < end; i++) {
    fputc(i == first ? '[' : ',', to);
    write_tagged(to, i, true);
  }
  fputc(']', to);
}

static uint32_t root_of(size_t i) { return (uint32_t)(i * 37 % 1000); }

static void make_folder(void) {
  if (mkdir(BENCH_NETWORKS_FOLDER, 0777) != 0 && errno != EEXIST) fail(BENCH_NETWORKS_FOLDER);
}

void bench_networks_write_sentences(const bench_treebank *treebank) {
  make_folder();
  write_trees(treebank);
  FILE *to = create("tag.txt");
  fprintf(to, "V %d\n", TAG_WORDS);
  for (size_t i = 0; i < TAGGED; i++) write_tagged(to, i, false);
  finish(to, "tag.txt");
  to = create("roots.txt");
  fprintf(to, "D %d\n", DEPTH);
  for (size_t i = 0; i < ROOTS; i++) fprintf(to, "%u\n", root_of(i));
  finish(to, "roots.txt");
}

void bench_networks_write_weights(const char *name) {
  make_folder();
  for (size_t i = 0; i < BENCH_N_NETWORKS; i++) {
    const bench_network *network = &bench_networks[i];
    char file[64];
    if (name && strcmp(name, network->name) != 0) continue;
    snprintf(file, sizeof file, "%s%s", network->name, network->size);
    bench_weights_write(BENCH_NETWORKS_FOLDER, file, network->weights);
  }
}

/* ---- hiaton ---- */

hia_value *bench_network_trees(const bench_program *p, const bench_treebank *treebank, size_t first,
                               size_t n) {
  double ms;
  size_t n_words;
  hia_error *error;
  const hia_type_info *type = hia_function_param_type(p->function, 0);
  hia_value *all = bench_treebank_read(treebank, p->engine, type, &ms, &n_words), *trees;
  size_t len = hia_value_len(all);
  if (first > len) first = len;
  if (n > len - first) n = len - first;
  hia_value **parts = calloc(n + 1, sizeof *parts);
  if (!parts) fail("memory");
  for (size_t i = 0; i < n; i++) parts[i] = hia_value_part(all, first + i);
  bench_check(hia_value_array(p->engine, type, parts, n, &trees, &error), &error);
  for (size_t i = 0; i < n; i++) hia_value_free(parts[i]);
  free(parts);
  hia_value_free(all);
  return trees;
}

static hia_value *parse(const bench_program *p, size_t i, const char *text) {
  hia_value *value;
  hia_error *error;
  bench_check(hia_value_parse_text(p->function, i, NULL, text, strlen(text), &value, &error),
              &error);
  return value;
}

hia_value *bench_network_inputs(const bench_network *network, const bench_program *p,
                                const bench_treebank *treebank) {
  char *text = NULL;
  size_t len, n = bench_network_sentences(network);
  if (network->input == BENCH_TREES) return bench_network_trees(p, treebank, 0, n);
  FILE *to = open_memstream(&text, &len);
  if (!to) fail("memory");
  write_all_tagged(to, 0, n);
  if (fclose(to) != 0) fail("memory");
  hia_value *all = parse(p, 0, text);
  free(text);
  return all;
}

static hia_value *array_of(const bench_runner *r, hia_value *element) {
  hia_value *array;
  hia_error *error;
  const hia_type_info *type = hia_function_param_type(r->program.function, 0);
  bench_check(hia_value_array(r->program.engine, type, &element, 1, &array, &error), &error);
  hia_value_free(element);
  return array;
}

static void read_sentences(bench_runner *r, const bench_treebank *treebank) {
  hia_value *trees = NULL;
  if (r->network->input == BENCH_TREES) {
    trees = bench_network_trees(&r->program, treebank, 0, r->n);
    r->n = hia_value_len(trees);
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
    if (r->network->input == BENCH_TAGGED)
      write_all_tagged(to, i, i + 1);
    else
      fprintf(to, "[%u]", root_of(i));
    if (fclose(to) != 0) fail("memory");
    r->args[i][0] = parse(&r->program, 0, text);
    free(text);
    if (r->network->input != BENCH_ROOTS) continue;
    char depth[16];
    snprintf(depth, sizeof depth, "%d", DEPTH);
    r->args[i][1] = parse(&r->program, 1, depth);
  }
  hia_value_free(trees);
}

static void load_weights(const bench_network *m, const bench_program *p) {
  char path[MAX_PATH];
  hia_error *error;
  snprintf(path, sizeof path, "%s/%s%s.safetensors", BENCH_NETWORKS_FOLDER, m->name, m->size);
  bench_check(hia_params_load(hia_module_params(p->module), path, &error), &error);
}

bench_program bench_network_open(const bench_network *network, unsigned threads) {
  return bench_network_open_batched(network, threads, HIA_BATCH_SEGMENTS, false);
}

bench_program bench_network_open_batched(const bench_network *network, unsigned threads,
                                         hia_batching batch, bool reuse) {
  bench_options options = {
      .kind = HIA_ENGINE_JIT, .threads = threads, .batch = batch, .reuse = reuse};
  return bench_network_open_with(network, &options);
}

/* The file with another size of its states, and what is added to it; the caller frees it. */
static char *text_with(const bench_network *network, const char *path) {
  static const char constant[] = "const HIDDEN = ";
  char *text = NULL, *line = NULL;
  size_t len, size = 0;
  FILE *from = fopen(path, "r"), *to = open_memstream(&text, &len);
  if (!from || !to) fail(path);
  while (getline(&line, &size, from) > 0)
    if (strncmp(line, constant, sizeof constant - 1) == 0)
      fprintf(to, "%s%s\n", constant, network->hidden);
    else
      fputs(line, to);
  fputs(network->more ? network->more : "", to);
  free(line);
  fclose(from);
  if (fclose(to) != 0) fail("memory");
  return text;
}

bench_program bench_network_open_with(const bench_network *network, const bench_options *options) {
  char path[MAX_PATH], *text = NULL;
  bench_network_file(network, path);
  if (network->hidden) text = text_with(network, path);
  bench_program p = text ? bench_open_text(path, text, network->function, options)
                         : bench_open_with(path, network->more, network->function, options);
  free(text);
  load_weights(network, &p);
  return p;
}

static bench_runner runner_of(const bench_network *network, const bench_treebank *treebank,
                              bench_program program) {
  bench_runner r = {.network = network,
                    .program = program,
                    .n = bench_network_sentences(network),
                    .n_args = network->input == BENCH_ROOTS ? 2 : 1};
  read_sentences(&r, treebank);
  return r;
}

bench_runner bench_runner_open(const bench_network *network, const bench_treebank *treebank) {
  return runner_of(network, treebank, bench_network_open(network, 1));
}

bench_runner bench_runner_open_with(const bench_network *network, const bench_treebank *treebank,
                                    const bench_options *options) {
  return runner_of(network, treebank, bench_network_open_with(network, options));
}

void bench_runner_close(bench_runner *r) {
  for (size_t i = 0; i < r->n; i++)
    for (size_t k = 0; k < r->n_args; k++) hia_value_free(r->args[i][k]);
  free(r->args);
  bench_close(&r->program);
}

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

hia_value *bench_network_balanced(const bench_program *p, int depth) {
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
