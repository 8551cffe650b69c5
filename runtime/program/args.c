/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arguments and results of programs: words of the command line and files, as for `hiaton run`
 * (tools/args.c), which has the compiler in addition: here values are made of literals. */
#include "runtime/program/program.h"
#include <errno.h>
#include <stdio.h>

int hiaR_program_fail(hia_error *error, hia_status status) {
  if (error)
    fputs(hia_error_text(error), stderr);
  else
    fprintf(stderr, "error[%s]: %s\n", hia_status_word(status), hia_status_message(status));
  hia_error_free(error);
  return status == HIA_ARGUMENT ? WRONG : FAILED;
}

/* ---- files ---- */

int hiaR_program_read_file(const char *path, hia_program_file *f) {
  int wrong = hiaR_read_file(&hiaR_malloc, path, SIZE_MAX / 4, &f->text, &f->len, &f->size);
  if (!wrong) return FINE;
  if (wrong == ENOMEM) return hiaR_program_fail(NULL, HIA_MEMORY);
  fprintf(stderr, "error[io]: cannot read %s: %s\n", path, strerror(wrong));
  return WRONG;
}

void hiaR_program_free_file(hia_program_file *f) {
  if (f->text) hiaR_free(&hiaR_malloc, f->text, f->size);
}

/* ---- arguments ---- */

static hia_status read_value(const char *word, const hia_type_info *type,
                             const hia_program_lists *l, const hia_program_files *files,
                             const hia_program_file *f, hia_value **value, hia_error **error) {
  if (hiaR_word_kind(word) == HIA_WORD_FILE)
    return hia_data_read(NULL, type, word + 1, f->text, f->len, value, error);
  return files->kit->read(word, type, l, files, f, value, error);
}

static int read_arg(size_t i, const char *word, const hia_type_info *type,
                    const hia_program_lists *l, const hia_program_files *files, hia_value **value) {
  hia_error *error = NULL;
  hia_status status;
  if (hiaR_word_kind(word) == HIA_WORD_TEXT) {
    char name[32];
    snprintf(name, sizeof name, "argument %zu", i + 1);
    status = hia_data_read(NULL, type, name, word, strlen(word), value, &error);
    return status == HIA_OK ? FINE : hiaR_program_fail(error, status);
  }
  if (hiaR_word_kind(word) != HIA_WORD_FILE && !files->kit) {
    fprintf(stderr, "error[argument]: `%s` is for functions with data or arrays\n", word);
    return WRONG;
  }
  hia_program_file f;
  int code = hiaR_program_read_file(word + 1, &f);
  if (code == FINE) {
    status = read_value(word, type, l, files, &f, value, &error);
    if (status != HIA_OK) code = hiaR_program_fail(error, status);
  }
  hiaR_program_free_file(&f);
  return code;
}

int hiaR_program_args(const hia_value_types *types, const hia_type *params, char *const *words,
                      size_t n, const hia_program_files *files, hia_value **args) {
  hia_program_lists l = {NULL, NULL};
  int code = files->kit ? files->kit->open_lists(files, &l) : FINE;
  for (size_t i = 0; code == FINE && i < n; i++)
    code = read_arg(i, words[i], hiaR_type_info(types, params[i]), &l, files, &args[i]);
  if (files->kit) code = files->kit->close_lists(files, &l, code);
  return code;
}

/* ---- the result ---- */

static bool print(void *unused, const char *bytes, size_t n) {
  (void)unused;
  return fwrite(bytes, 1, n, stdout) == n;
}

int hiaR_program_result(const hia_program_files *files, const hia_value *result) {
  hia_error *error;
  hia_status status;
  if (files->output) {
    status = files->kit->save(result, files->output, &error);
    return status == HIA_OK ? FINE : hiaR_program_fail(error, status);
  }
  bool is_cut;
  status = hia_value_write(result, HIA_MAX_PRINTED, print, NULL, &is_cut, &error);
  if (status == HIA_IO) { /* the stream has the error, which shows when it is flushed */
    hia_error_free(error);
    return FINE;
  }
  putchar('\n');
  if (status != HIA_OK) return hiaR_program_fail(error, status);
  if (is_cut) {
    fflush(stdout);
    fputs(HIA_WORD_CUT, stderr);
  }
  return FINE;
}
