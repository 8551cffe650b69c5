/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A network over trees that was compiled ahead of time, ../models/tree_lstm.hia: the class of each
 * tree, and the scores of all classes.
 *
 *   ./trees                                      of a tree that is made here
 *   ./trees dev.ptb words.txt                    of the trees in a file, whose words are numbered
 *   ./trees dev.ptb words.txt model.safetensors  with these params */
#include "tree_lstm.h"
#include <stdio.h>
#include <stdlib.h>

static int fail(hia_status status, hia_error *error) {
  fputs(error ? hia_error_text(error) : hia_status_message(status), stderr);
  hia_error_free(error);
  return 1;
}

/* Calls two functions of the program: the vector of the tree's root, which the first one returns,
 * is an argument of the second. */
static hia_status show(hia_context *context, const hia_value *tree) {
  hia_value *h, *scores;
  hia_f32_1 vector, all;
  hia_status status = tree_lstm_classify(context, tree, &h, NULL, NULL);
  if (status != HIA_OK) return status;
  hia_f32_1_of(h, &vector); /* the elements where they are: nothing is copied */
  status = tree_lstm_scores(context, &vector, &scores);
  hia_value_free(h);
  if (status != HIA_OK) return status;
  hia_f32_1_of(scores, &all);
  int64_t best = 0;
  for (int64_t i = 1; i < all.dims[0]; i++)
    if (all.elements[i] > all.elements[best]) best = i;
  printf("class %d:", (int)best);
  for (int64_t i = 0; i < all.dims[0]; i++) printf(" %.4f", (double)all.elements[i]);
  printf("\n");
  hia_value_free(scores);
  return HIA_OK;
}

/* ((3 1) 4): trees are made without a call for each node. */
static int make_tree(hia_value **tree) {
  hia_error *error = NULL;
  hia_maker *maker = hia_maker_new(NULL);
  tree_lstm_Tree left = tree_lstm_Tree_Leaf_make(maker, 3, 0),
                 right = tree_lstm_Tree_Leaf_make(maker, 1, 0),
                 last = tree_lstm_Tree_Leaf_make(maker, 4, 0);
  tree_lstm_Tree inner = tree_lstm_Tree_Node_make(maker, left, right, 0);
  tree_lstm_Tree root = tree_lstm_Tree_Node_make(maker, inner, last, 0);
  hia_status status = hia_maker_value(maker, tree_lstm_Tree_type(), root.word, tree, &error);
  hia_maker_free(maker); /* the value holds what was made */
  return status == HIA_OK ? 0 : fail(status, error);
}

/* The bytes of a file, which the caller frees; NULL, with a message, if they cannot be read. */
static char *read_file(const char *path, size_t *len) {
  FILE *file = fopen(path, "rb");
  char *text = NULL;
  long size = -1;
  if (file && fseek(file, 0, SEEK_END) == 0) size = ftell(file);
  if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) text = malloc((size_t)size + 1);
  if (text) *len = fread(text, 1, (size_t)size, file);
  if (!text) perror(path);
  if (file) fclose(file);
  return text;
}

/* Reads trees in Penn brackets; a word that is not in the list is its word <unk>. */
static int read_trees(const char *path, const char *words_path, hia_value **trees) {
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  hia_error *error = NULL;
  size_t len, words_len;
  char *text = read_file(path, &len), *words = read_file(words_path, &words_len);
  options.words = hia_vocab_new(NULL);
  int code = text && words ? 0 : 1;
  if (code == 0) {
    hia_status status = hia_vocab_read(options.words, words_path, words, words_len, &error);
    if (status == HIA_OK)
      status = hia_data_read_brackets(NULL, tree_lstm_main_type(0), path, text, len, &options,
                                      trees, &error);
    if (status != HIA_OK) code = fail(status, error);
  }
  hia_vocab_free(options.words);
  free(text);
  free(words);
  return code;
}

int main(int argc, char **argv) {
  if (argc == 2 || argc > 4) {
    fprintf(stderr, "usage: %s [TREES.ptb WORDS [PARAMS.safetensors]]\n", argv[0]);
    return 2;
  }
  hia_error *error = NULL;
  hia_context *context; /* one for each thread, for any number of calls */
  hia_value *trees = NULL;
  hia_status status = HIA_OK;
  if (argc > 3) status = hia_params_load(tree_lstm_params(), argv[3], &error);
  if (status != HIA_OK) return fail(status, error);
  int code = argc > 2 ? read_trees(argv[1], argv[2], &trees) : make_tree(&trees);
  if (code != 0) return code;
  if (hia_context_new(NULL, &context) != HIA_OK) return 1;
  if (argc > 2) {
    for (size_t i = 0; status == HIA_OK && i < hia_value_len(trees); i++) {
      hia_value *tree = hia_value_part(trees, i);
      status = tree ? show(context, tree) : HIA_MEMORY;
      hia_value_free(tree);
    }
  } else {
    status = show(context, trees);
  }
  if (status != HIA_OK) fputs(hia_error_text(hia_context_error(context)), stderr);
  hia_context_free(context);
  hia_value_free(trees);
  return status == HIA_OK ? 0 : 1;
}
