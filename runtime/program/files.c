/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files of programs whose function has data or arrays. */
#include "runtime/program/program.h"
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

int hiaR_program_open_lists(const hia_program_files *files, hia_program_args *args) {
  int code = files->vocab ? read_words(files->vocab, &args->vocab) : FINE;
  if (code == FINE && files->labels) code = read_words(files->labels, &args->labels);
  if (code == FINE && files->build_vocab && !args->vocab && !(args->vocab = hia_words_new(NULL)))
    code = hiaR_program_fail(NULL, HIA_MEMORY);
  return code;
}

int hiaR_program_write_lists(const hia_program_files *files, const hia_program_args *args) {
  const char *path = files->build_vocab;
  const hia_words *words = args->vocab;
  hia_file_output to;
  if (!path) return FINE;
  int wrong = hiaR_output_open(&to, path);
  if (wrong) return hiaR_program_cannot_write(path, wrong);
  bool is_fine = true;
  for (size_t i = 0; is_fine && i < hia_words_len(words); i++) {
    size_t len;
    const char *word = hia_words_get(words, i, &len);
    is_fine = hiaR_output_write(&to, word, len) && hiaR_output_write(&to, "\n", 1);
  }
  wrong = hiaR_output_close(&to, is_fine);
  return wrong ? hiaR_program_cannot_write(path, wrong) : FINE;
}

void hiaR_program_free_lists(hia_program_args *args) {
  hia_words_free(args->vocab);
  hia_words_free(args->labels);
}

static hia_status save(const hia_value *value, const char *const *names, const char *path,
                       hia_error **error) {
  (void)names;
  return hia_value_save_file(value, path, error);
}

const hia_program_kit hiaR_program_kit = {
    .load = hia_data_load,
    .save = save,
    .check_result = hiaR_program_no_npy,
    .help = HIA_HELP_TREES,
    .open_lists = hiaR_program_open_lists,
    .write_lists = hiaR_program_write_lists,
    .free_lists = hiaR_program_free_lists,
    .read_brackets = hia_data_read_brackets,
};
