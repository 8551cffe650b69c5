/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files of values that programs read and write: those whose function has data or arrays. */
#include "runtime/program/program.h"
#include <errno.h>
#include <stdio.h>

/* ---- words of trees ---- */

static int read_words(const char *path, hia_words **words) {
  hia_program_file f;
  int code = hiaR_program_read_file(path, &f);
  if (code == FINE && !(*words = hia_words_new(NULL))) code = hiaR_program_fail(NULL, HIA_MEMORY);
  hia_error *error = NULL;
  if (code == FINE) {
    hia_status status = hia_words_read(*words, path, f.text, f.len, &error);
    if (status != HIA_OK) code = hiaR_program_fail(error, status);
  }
  hiaR_program_free_file(&f);
  return code;
}

static int open_lists(const hia_program_files *files, hia_program_lists *l) {
  int code = files->vocab ? read_words(files->vocab, &l->vocab) : FINE;
  if (code == FINE && files->labels) code = read_words(files->labels, &l->labels);
  if (code == FINE && files->build_vocab && !l->vocab && !(l->vocab = hia_words_new(NULL)))
    code = hiaR_program_fail(NULL, HIA_MEMORY);
  return code;
}

static int cannot_write(const char *path, int wrong) {
  fprintf(stderr, "error[io]: cannot write %s: %s\n", path, strerror(wrong));
  return FAILED;
}

static int write_vocab(const char *path, const hia_words *words) {
  hia_file_output to;
  int wrong = hiaR_output_open(&to, path);
  if (wrong) return cannot_write(path, wrong);
  bool is_fine = true;
  for (size_t i = 0; is_fine && i < hia_words_len(words); i++) {
    size_t len;
    const char *word = hia_words_get(words, i, &len);
    is_fine = hiaR_output_write(&to, word, len) && hiaR_output_write(&to, "\n", 1);
  }
  wrong = hiaR_output_close(&to, is_fine);
  return wrong ? cannot_write(path, wrong) : FINE;
}

/* Before the run, which may take an hour. */
static int check_output(const char *path) {
  int wrong = hiaR_output_check(path);
  return wrong ? cannot_write(path, wrong) : FINE;
}

static hia_status read_value(const char *word, const hia_type_info *type,
                             const hia_program_lists *l, const hia_program_files *files,
                             const hia_program_file *f, hia_value **value, hia_error **error) {
  if (hiaR_word_kind(word) == HIA_WORD_SAVED)
    return hia_data_load(NULL, type, word + 1, f->text, f->len, value, error);
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = l->vocab;
  options.labels = l->labels;
  options.add_words = files->build_vocab != NULL;
  return hia_data_read_brackets(NULL, type, word + 1, f->text, f->len, &options, value, error);
}

static int close_lists(const hia_program_files *files, hia_program_lists *l, int code) {
  if (code == FINE && files->build_vocab) code = write_vocab(files->build_vocab, l->vocab);
  hia_words_free(l->vocab);
  hia_words_free(l->labels);
  return code;
}

const hia_program_kit hiaR_program_kit = {open_lists, close_lists, read_value, check_output,
                                          hia_value_save_file};
