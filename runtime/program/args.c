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

int hiaR_program_cannot_write(const char *path, int wrong) {
  fprintf(stderr, "error[io]: cannot write %s: %s\n", path, strerror(wrong));
  return FAILED;
}

static int refuse(const char *word, const char *types) {
  fprintf(stderr, "error[argument]: `%s` is for functions with %s\n", word, types);
  return WRONG;
}

int hiaR_program_no_npy(const char *path, const hia_value_types *types, hia_type type) {
  (void)types, (void)type;
  bool is_numpy = hiaR_word_ends_in(path, ".npy") || hiaR_word_ends_in(path, ".npz");
  return is_numpy ? refuse(path, "tensors") : FINE;
}

static hia_status save(const hia_value *value, const char *const *names, const char *path,
                       hia_error **error) {
  (void)names;
  return hiaR_scalars_save_file(value, path, error);
}

const hia_program_kit hiaR_program_scalars_kit = {
    .load = hiaR_scalars_load_data,
    .save = save,
    .check_result = hiaR_program_no_npy,
};

/* ---- arguments ---- */

typedef struct reading {
  const hia_program_parts *parts;
  const hia_program_files *files;
  hia_bracket_options brackets;
  hia_program_args *args;
} reading;

/* The word names this file, and perhaps an array in it. */
static hia_status read_value(const reading *r, const char *word, const char *path,
                             const char *array, const hia_type_info *type,
                             const hia_program_file *f, hia_value **value, hia_error **error) {
  const hia_program_kit *kit = r->parts->kit;
  switch (hiaR_word_kind(word)) {
  case HIA_WORD_SAVED: return kit->load(NULL, type, path, f->text, f->len, value, error);
  case HIA_WORD_NPY:
  case HIA_WORD_NPZ:
    return kit->load_numpy(r->files, type, path, f->text, f->len, array, value, error);
  case HIA_WORD_BRACKETS:
    return kit->read_brackets(NULL, type, path, f->text, f->len, &r->brackets, value, error);
  default: return hia_data_read(NULL, type, path, f->text, f->len, value, error);
  }
}

static int read_file(const reading *r, const char *word, const hia_type_info *type,
                     hia_value **value) {
  const char *array;
  char *path = hiaR_word_path(word, &array);
  if (!path) return hiaR_program_fail(NULL, HIA_MEMORY);
  hia_program_file f;
  int code = hiaR_program_read_file(path, &f);
  if (code == FINE) {
    hia_error *error = NULL;
    hia_status status = read_value(r, word, path, array, type, &f, value, &error);
    if (status != HIA_OK) code = hiaR_program_fail(error, status);
  }
  hiaR_program_free_file(&f);
  free(path);
  return code;
}

static int read_arg(const reading *r, size_t i, const char *word, const hia_type_info *type) {
  hia_error *error = NULL;
  hia_status status;
  hia_value **value = &r->args->values[i];
  hia_word_kind kind = hiaR_word_kind(word);
  if (kind == HIA_WORD_TEXT) {
    char name[32];
    snprintf(name, sizeof name, "argument %zu", i + 1);
    status = hia_data_read(NULL, type, name, word, strlen(word), value, &error);
    return status == HIA_OK ? FINE : hiaR_program_fail(error, status);
  }
  const hia_program_kit *kit = r->parts->kit;
  if ((kind == HIA_WORD_NPY || kind == HIA_WORD_NPZ) && !kit->load_numpy)
    return refuse(word, "tensors");
  if (kind == HIA_WORD_BRACKETS && !hiaR_program_has_trees(kit))
    return refuse(word, "data or arrays");
  if (!r->parts->streams || !hiaR_word_is_large(word, type)) return read_file(r, word, type, value);
  status = r->parts->streams->open(word, type, &r->brackets, &r->args->streams[i], &error);
  r->args->has_streams |= status == HIA_OK;
  if (status == HIA_OK) return FINE;
  if (status != HIA_UNSUPPORTED) return hiaR_program_fail(error, status);
  hia_error_free(error);
  return read_file(r, word, type, value);
}

int hiaR_program_args(const hia_program_parts *parts, const hia_program_files *files,
                      const hia_value_types *types, const hia_type *params, char *const *words,
                      hia_program_args *args) {
  const hia_program_kit *kit = parts->kit;
  args->values = calloc(args->n + 1, sizeof(hia_value *));
  args->streams = calloc(args->n + 1, sizeof(hia_stream *));
  if (!args->values || !args->streams) return hiaR_program_fail(NULL, HIA_MEMORY);
  bool has_trees = hiaR_program_has_trees(kit);
  int code = has_trees ? kit->open_lists(files, args) : FINE;
  reading r = {parts, files, HIA_BRACKET_OPTIONS_INIT, args};
  r.brackets.words = args->vocab;
  r.brackets.labels = args->labels;
  r.brackets.add_words = files->build_vocab != NULL;
  for (size_t i = 0; code == FINE && i < args->n; i++)
    code = read_arg(&r, i, words[i], hiaR_type_info(types, params[i]));
  return code == FINE && has_trees ? kit->write_lists(files, args) : code;
}

void hiaR_program_free_args(const hia_program_parts *parts, hia_program_args *args) {
  for (size_t i = 0; i < args->n; i++) {
    if (args->values) hia_value_free(args->values[i]);
    if (args->streams && args->streams[i]) parts->streams->free(args->streams[i]);
  }
  free(args->values);
  free(args->streams);
  if (hiaR_program_has_trees(parts->kit)) parts->kit->free_lists(args);
}

/* ---- the result ---- */

static bool print(void *unused, const char *bytes, size_t n) {
  (void)unused;
  return fwrite(bytes, 1, n, stdout) == n;
}

int hiaR_program_result(const hia_program_parts *parts, const hia_program_files *files,
                        const hia_value *result) {
  hia_error *error;
  hia_status status;
  if (files->output) {
    status = parts->kit->save(result, parts->result_names, files->output, &error);
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
    bool is_tensor = hia_type_info_kind(hia_value_type(result)) == HIA_KIND_TENSOR;
    fputs(is_tensor ? HIA_WORD_CUT_TENSOR : HIA_WORD_CUT, stderr);
  }
  return FINE;
}
