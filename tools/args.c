/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arguments and results as values: words of the command line, and files.
 *
 *   @FILE.ptb    trees in Penn brackets (--vocab, --labels, --build-vocab)
 *   @FILE.hiav   a saved value
 *   @FILE.npy    a tensor or a scalar, as NumPy writes it
 *   @FILE.npz    the only array of an archive of NumPy; @FILE.npz:NAME: the array of this name
 *   @FILE        a value as text */
#include "runtime/program/command_words.h"
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files that are read ---- */

typedef struct file {
  char *text;
  size_t len;
} file;

/* Reads to the end, so that pipes work too. Returns 0 or an errno. */
static int read_all(int from, file *f) {
  size_t size = 0;
  for (;;) {
    if (f->len == size) {
      size = size ? 2 * size : (size_t)64 << 10;
      char *grown = realloc(f->text, size);
      if (!grown) return ENOMEM;
      f->text = grown;
    }
    ssize_t n = read(from, f->text + f->len, size - f->len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return 0;
    f->len += (size_t)n;
  }
}

/* The caller frees f->text in any case. */
static int read_file(const char *path, file *f) {
  *f = (file){NULL, 0};
  int from = open(path, O_RDONLY | O_CLOEXEC);
  int wrong = from < 0 ? errno : read_all(from, f);
  if (from >= 0) close(from);
  if (!wrong) return EXIT_FINE;
  if (wrong == ENOMEM) return tool_fail(NULL, HIA_MEMORY);
  fprintf(stderr, "error[io]: cannot read %s: %s\n", path, strerror(wrong));
  return EXIT_USAGE;
}

/* ---- words of trees ---- */

static int read_words(const char *path, hia_vocab **words) {
  if (!path) return EXIT_FINE;
  hia_error *error;
  if (!(*words = hia_vocab_new(NULL))) return tool_fail(NULL, HIA_MEMORY);
  hia_status status = hia_vocab_load_file(*words, path, &error);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

static int open_lists(const tool_options *o, tool_arguments *a) {
  int code = read_words(o->vocab, &a->vocab);
  if (code == EXIT_FINE) code = read_words(o->labels, &a->labels);
  if (code == EXIT_FINE && o->build_vocab && !(a->vocab = hia_vocab_new(NULL)))
    code = tool_fail(NULL, HIA_MEMORY);
  return code;
}

int tool_cannot_write(const char *path, int wrong) {
  fprintf(stderr, "error[io]: cannot write %s: %s\n", path, strerror(wrong));
  return EXIT_PROGRAM;
}

static int write_vocab(const char *path, const hia_vocab *words) {
  if (!path) return EXIT_FINE;
  hia_error *error;
  hia_status status = hia_vocab_save_file(words, path, &error);
  if (status == HIA_OK) return EXIT_FINE;
  int code = tool_fail(error, status);
  return status == HIA_IO ? EXIT_PROGRAM : code;
}

/* ---- arguments ---- */

typedef struct reading {
  hia_engine *engine;
  hia_function *function;
  const tool_options *o;
  char *const *words; /* the arguments */
  bool may_stream;
  tool_arguments *args;
} reading;

static hia_bracket_options bracket_options(const reading *r) {
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = r->args->vocab;
  options.labels = r->args->labels;
  options.add_words = r->o->build_vocab != NULL;
  return options;
}

/* The word of argument i names this file, and perhaps an array in it. */
static hia_status read_value(const reading *r, size_t i, const char *path, const char *array,
                             const file *f, hia_error **error) {
  const hia_type_info *type = hia_function_param_type(r->function, i);
  hia_value **value = &r->args->values[i];
  hia_word_kind kind = hiaR_word_kind(r->words[i]);
  if (kind == HIA_WORD_FILE)
    return hia_value_parse_text(r->function, i, path, f->text, f->len, value, error);
  if (kind == HIA_WORD_SAVED)
    return hia_data_load(hia_engine_allocator(r->engine), type, path, f->text, f->len, value,
                         error);
  /* A parameter without a type has none that elements could be converted to. */
  bool converts = r->o->converts && type;
  if (kind == HIA_WORD_NPY)
    return (converts ? hia_data_convert_npy : hia_data_load_npy)(NULL, type, path, f->text, f->len,
                                                                 value, error);
  if (kind == HIA_WORD_NPZ) {
    uint64_t max_memory = r->o->engine.max_memory;
    return (converts ? hia_data_convert_npz : hia_data_load_npz)(
        NULL, type, path, f->text, f->len, array, max_memory ? max_memory : hia_memory_left(),
        value, error);
  }
  hia_bracket_options options = bracket_options(r);
  return hia_data_read_brackets(hia_engine_allocator(r->engine), type, path, f->text, f->len,
                                &options, value, error);
}

/* Makes argument i a stream if the function and the file allow it: *is_stream. */
static int open_stream(const reading *r, size_t i, bool *is_stream) {
  hia_error *error;
  hia_run_options run = HIA_RUN_OPTIONS_INIT;
  int code = tool_fuel(r->o, &run);
  if (code != EXIT_FINE) return code;
  run.streams = r->args->streams;
  hia_status status = hia_function_prepare_for(r->function, &run, &error);
  hia_bracket_options options = bracket_options(r);
  if (status == HIA_OK)
    status = hiaR_word_open_stream(r->words[i], hia_function_param_type(r->function, i), &options,
                                   &r->args->streams[i], &error);
  *is_stream = status == HIA_OK;
  if (status == HIA_OK) return EXIT_FINE;
  if (status != HIA_UNSUPPORTED) return tool_fail(error, status);
  hia_error_free(error);
  return EXIT_FINE;
}

static int read_arg(const reading *r, size_t i) {
  const char *word = r->words[i];
  hia_word_kind kind = hiaR_word_kind(word);
  hia_error *error = NULL;
  hia_status status;
  if (kind == HIA_WORD_TEXT) {
    status = hia_value_parse(r->function, i, word, &r->args->values[i], &error);
    return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
  }
  bool has_type = kind == HIA_WORD_FILE || kind == HIA_WORD_NPY || /* by its own look */
                  kind == HIA_WORD_NPZ;
  if (!has_type && !hia_function_param_type(r->function, i)) {
    fprintf(stderr,
            "error[argument]: `%s` is for a parameter with a type, and parameter %zu of `%s` has "
            "none\n",
            word, i + 1, hia_function_signature(r->function));
    return EXIT_USAGE;
  }
  if (r->may_stream && hiaR_word_is_large(word, hia_function_param_type(r->function, i))) {
    bool is_stream;
    int code = open_stream(r, i, &is_stream);
    if (code != EXIT_FINE || is_stream) return code;
  }
  const char *array;
  char *path = hiaR_word_path(word, &array);
  if (!path) return tool_fail(NULL, HIA_MEMORY);
  file f;
  int code = read_file(path, &f);
  if (code == EXIT_FINE) {
    status = read_value(r, i, path, array, &f, &error);
    if (status != HIA_OK) code = tool_fail(error, status);
  }
  free(f.text);
  free(path);
  return code;
}

/* A generic function becomes its instance. It depends on the arguments whose parameters have no
 * type, which are read first: they take no words of trees. */
static int find_instance(reading *r) {
  size_t n = r->o->n_args;
  int code = EXIT_FINE;
  const hia_type_info **types = calloc(n + 1, sizeof *types);
  if (!types) return tool_fail(NULL, HIA_MEMORY);
  for (size_t i = 0; code == EXIT_FINE && i < n; i++) {
    types[i] = hia_function_param_type(r->function, i);
    if (types[i]) continue;
    code = read_arg(r, i);
    types[i] = hia_value_type(r->args->values[i]);
  }
  hia_error *error;
  if (code == EXIT_FINE) {
    hia_status status = hia_function_instance_of(r->function, types, n, &r->function, &error);
    if (status != HIA_OK) code = tool_fail(error, status);
  }
  free(types);
  return code;
}

static int read_args(reading *r) {
  int code = open_lists(r->o, r->args);
  bool has_streams = false;
  if (code == EXIT_FINE) code = find_instance(r);
  for (size_t i = 0; code == EXIT_FINE && i < r->o->n_args; i++) {
    if (!r->args->values[i]) code = read_arg(r, i);
    has_streams |= r->args->streams[i] != NULL;
  }
  if (code == EXIT_FINE) code = write_vocab(r->o->build_vocab, r->args->vocab);
  if (has_streams) return code;
  free(r->args->streams);
  r->args->streams = NULL;
  return code;
}

int tool_args(hia_engine *engine, hia_function **function, const tool_options *options,
              bool may_stream, tool_arguments *args) {
  *args = (tool_arguments){0};
  size_t n = options->n_args, arity = hia_function_arity(*function);
  if (n != arity) {
    fprintf(stderr, "error[argument]: `%s` takes %zu argument%s, not %zu\n",
            hia_function_signature(*function), arity, arity == 1 ? "" : "s", n);
    return EXIT_USAGE;
  }
  args->values = calloc(n + 1, sizeof(hia_value *));
  args->streams = calloc(n + 1, sizeof(hia_stream *));
  if (!args->values || !args->streams) return tool_fail(NULL, HIA_MEMORY);
  reading r = {engine, *function, options, options->args, may_stream, args};
  int code = read_args(&r);
  *function = r.function;
  return code;
}

/* Reads one file of --data or --dev. */
static int read_data(reading *r, const char *path) {
  size_t size = strlen(path) + 2;
  char *word = malloc(size);
  if (!word) return tool_fail(NULL, HIA_MEMORY);
  snprintf(word, size, "@%s", path);
  r->words = &word;
  int code = read_arg(r, 0);
  free(word);
  return code;
}

int tool_data(hia_engine *engine, hia_function *loss, const tool_options *options,
              tool_arguments *args) {
  const tool_training *t = &options->training;
  *args = (tool_arguments){.values = calloc(2, sizeof(hia_value *))};
  if (!args->values) return tool_fail(NULL, HIA_MEMORY);
  int code = open_lists(options, args);
  tool_arguments one = *args;
  reading r = {engine, loss, options, NULL, false, &one};
  if (code == EXIT_FINE) code = read_data(&r, t->data);
  one.values++;
  if (code == EXIT_FINE && t->dev) code = read_data(&r, t->dev);
  return code == EXIT_FINE ? write_vocab(options->build_vocab, args->vocab) : code;
}

void tool_free_args(tool_arguments *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (args->values) hia_value_free(args->values[i]);
    if (args->streams) hia_stream_free(args->streams[i]);
  }
  free(args->values);
  free(args->streams);
  hia_vocab_free(args->vocab);
  hia_vocab_free(args->labels);
}

/* ---- results ---- */

int tool_result_begin(const char *path) {
  if (!path) return EXIT_FINE;
  int wrong = hiaR_output_check(path); /* before the run, which may take an hour */
  return wrong ? tool_cannot_write(path, wrong) : EXIT_FINE;
}

int tool_result_fits(const char *path, const hia_function *function) {
  const hia_type_info *type = hia_function_result_type(function);
  if (hiaR_word_may_hold(path, type)) return EXIT_FINE;
  char text[128];
  hia_type_info_format(type, text, sizeof text);
  fprintf(stderr, HIA_WORD_NO_TENSOR, text, path, hiaR_word_form(path));
  return EXIT_USAGE;
}

static int save_result(const char *path, const hia_function *function, const hia_value *value) {
  hia_error *error;
  const char *const *names;
  size_t n = hia_function_result_names(function, &names);
  hia_status status = hiaR_word_ends_in(path, ".npy") ? hia_value_save_npy_file(value, path, &error)
                      : hiaR_word_ends_in(path, ".npz")
                          ? hia_value_save_npz_parts(value, names, n, path, &error)
                          : hia_value_save_file(value, path, &error);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

int tool_result(const char *path, const hia_function *function, const hia_value *value) {
  if (path) return save_result(path, function, value);
  bool is_cut;
  hia_error *error;
  hia_status status = hia_value_write(value, HIA_MAX_PRINTED, tool_print, NULL, &is_cut, &error);
  if (status == HIA_IO) { /* the stream has the error, which shows when it is flushed */
    hia_error_free(error);
    return EXIT_FINE;
  }
  putchar('\n');
  if (status != HIA_OK) return tool_fail(error, status);
  if (is_cut) {
    tool_flush();
    bool is_tensor = hia_type_info_kind(hia_value_type(value)) == HIA_KIND_TENSOR;
    fputs(is_tensor ? HIA_WORD_CUT_TENSOR : HIA_WORD_CUT, stderr);
  }
  return EXIT_FINE;
}
