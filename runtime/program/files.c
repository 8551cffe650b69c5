/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Files of programs whose function has data or arrays. */
#include "runtime/program/program.h"

/* ---- words of trees ---- */

static int read_words(const char *path, hia_vocab **words) {
  if (!path) return FINE;
  hia_error *error;
  if (!(*words = hia_vocab_new(NULL))) return hiaR_program_fail(NULL, HIA_MEMORY);
  hia_status status = hia_vocab_load_file(*words, path, &error);
  if (status == HIA_OK) return FINE;
  int code = hiaR_program_fail(error, status);
  return status == HIA_IO ? WRONG : code;
}

int hiaR_program_open_lists(const hia_program_files *files, hia_program_args *args) {
  int code = read_words(files->vocab, &args->vocab);
  if (code == FINE) code = read_words(files->labels, &args->labels);
  if (code == FINE && files->build_vocab && !args->vocab && !(args->vocab = hia_vocab_new(NULL)))
    code = hiaR_program_fail(NULL, HIA_MEMORY);
  return code;
}

int hiaR_program_write_lists(const hia_program_files *files, const hia_program_args *args) {
  hia_error *error;
  if (!files->build_vocab) return FINE;
  hia_status status = hia_vocab_save_file(args->vocab, files->build_vocab, &error);
  return status == HIA_OK ? FINE : hiaR_program_fail(error, status);
}

void hiaR_program_free_lists(hia_program_args *args) {
  hia_vocab_free(args->vocab);
  hia_vocab_free(args->labels);
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
