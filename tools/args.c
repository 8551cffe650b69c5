/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arguments and results as values: words of the command line, and files.
 *
 *   @FILE.ptb    trees in Penn brackets (--vocab, --labels, --build-vocab)
 *   @FILE.hiav   a saved value
 *   @FILE        a value as text
 *
 * @FILE.npy is left to the library, which does not support it yet and says so. */
#include "runtime/program/words.h"
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

/* What all trees of a command line have in common. */
typedef struct lists {
  hia_words *vocab, *labels; /* or NULL */
} lists;

static int read_words(const char *path, hia_words **words) {
  if (!path) return EXIT_FINE;
  file f;
  int code = read_file(path, &f);
  if (code == EXIT_FINE && !(*words = hia_words_new(NULL))) code = tool_fail(NULL, HIA_MEMORY);
  hia_error *error = NULL;
  if (code == EXIT_FINE) {
    hia_status status = hia_words_read(*words, path, f.text, f.len, &error);
    if (status != HIA_OK) code = tool_fail(error, status);
  }
  free(f.text);
  return code;
}

static int open_lists(const tool_options *o, lists *l) {
  *l = (lists){NULL, NULL};
  int code = read_words(o->vocab, &l->vocab);
  if (code == EXIT_FINE) code = read_words(o->labels, &l->labels);
  if (code == EXIT_FINE && o->build_vocab && !(l->vocab = hia_words_new(NULL)))
    code = tool_fail(NULL, HIA_MEMORY);
  return code;
}

static void close_lists(lists *l) {
  hia_words_free(l->vocab);
  hia_words_free(l->labels);
}

static int cannot_write(const char *path, int wrong) {
  fprintf(stderr, "error[io]: cannot write %s: %s\n", path, strerror(wrong));
  return EXIT_PROGRAM;
}

static bool write_words(tool_output *t, const hia_words *words) {
  for (size_t i = 0; i < hia_words_len(words); i++) {
    size_t len;
    const char *word = hia_words_get(words, i, &len);
    if (!tool_output_write(t, word, len) || !tool_output_write(t, "\n", 1)) return false;
  }
  return true;
}

static int write_vocab(const char *path, const hia_words *words) {
  tool_output t;
  if (!path) return EXIT_FINE;
  bool is_open = tool_output_open(&t, path);
  if (!is_open) t.wrong = errno;
  tool_output_close(&t, is_open && write_words(&t, words));
  return t.wrong ? cannot_write(path, t.wrong) : EXIT_FINE;
}

/* ---- arguments ---- */

static hia_status read_value(hia_engine *engine, hia_function *function, size_t i,
                             const tool_options *o, const lists *l, const char *path, const file *f,
                             hia_value **value, hia_error **error) {
  const hia_type_info *type = hia_function_param_type(function, i);
  if (hiaR_word_kind(o->args[i]) == HIA_WORD_FILE)
    return hia_value_parse_text(function, i, path, f->text, f->len, value, error);
  if (hiaR_word_kind(o->args[i]) == HIA_WORD_SAVED)
    return hia_value_load(engine, type, path, f->text, f->len, value, error);
  hia_bracket_options options = HIA_BRACKET_OPTIONS_INIT;
  options.words = l->vocab;
  options.labels = l->labels;
  options.add_words = o->build_vocab != NULL;
  return hia_value_read_brackets(engine, type, path, f->text, f->len, &options, value, error);
}

static int read_arg(hia_engine *engine, hia_function *function, size_t i, const tool_options *o,
                    const lists *l, hia_value **value) {
  const char *word = o->args[i];
  hia_word_kind kind = hiaR_word_kind(word);
  hia_error *error = NULL;
  hia_status status;
  if (kind == HIA_WORD_TEXT) {
    status = hia_value_parse(function, i, word, value, &error);
    return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
  }
  if (kind != HIA_WORD_FILE && !hia_function_param_type(function, i)) {
    fprintf(stderr,
            "error[argument]: `%s` is for a parameter with a type, and parameter %zu of `%s` has "
            "none\n",
            word, i + 1, hia_function_signature(function));
    return EXIT_USAGE;
  }
  file f;
  int code = read_file(word + 1, &f);
  if (code == EXIT_FINE) {
    status = read_value(engine, function, i, o, l, word + 1, &f, value, &error);
    if (status != HIA_OK) code = tool_fail(error, status);
  }
  free(f.text);
  return code;
}

static int read_args(hia_engine *engine, hia_function *function, const tool_options *o,
                     hia_value **values) {
  lists l;
  int code = open_lists(o, &l);
  for (size_t i = 0; code == EXIT_FINE && i < o->n_args; i++)
    code = read_arg(engine, function, i, o, &l, &values[i]);
  if (code == EXIT_FINE) code = write_vocab(o->build_vocab, l.vocab);
  close_lists(&l);
  return code;
}

int tool_args(hia_engine *engine, hia_function *function, const tool_options *options,
              hia_value ***values) {
  *values = NULL;
  size_t n = options->n_args, arity = hia_function_arity(function);
  if (n != arity) {
    fprintf(stderr, "error[argument]: `%s` takes %zu argument%s, not %zu\n",
            hia_function_signature(function), arity, arity == 1 ? "" : "s", n);
    return EXIT_USAGE;
  }
  hia_value **list = calloc(n + 1, sizeof(hia_value *));
  if (!list) return tool_fail(NULL, HIA_MEMORY);
  int code = read_args(engine, function, options, list);
  if (code == EXIT_FINE)
    *values = list;
  else
    tool_free_args(list, n);
  return code;
}

void tool_free_args(hia_value **values, size_t n) {
  if (!values) return;
  for (size_t i = 0; i < n; i++) hia_value_free(values[i]);
  free(values);
}

/* ---- results ---- */

int tool_result_begin(const char *path) {
  if (!path) return EXIT_FINE;
  /* Tries to open the file before the run, which may take an hour. */
  tool_output t;
  bool can = tool_output_open(&t, path);
  int wrong = errno;
  tool_output_close(&t, false);
  return can ? EXIT_FINE : cannot_write(path, wrong);
}

static int save_result(const char *path, const hia_value *value) {
  tool_output t;
  hia_status status = HIA_IO;
  hia_error *error = NULL;
  bool is_open = tool_output_open(&t, path);
  if (!is_open)
    t.wrong = errno;
  else
    status = hia_value_save(value, tool_output_write, &t, &error);
  tool_output_close(&t, status == HIA_OK);
  if (status != HIA_OK && !t.wrong) return tool_fail(error, status);
  hia_error_free(error);
  return t.wrong ? cannot_write(path, t.wrong) : EXIT_FINE;
}

int tool_result(const char *path, const hia_value *value) {
  if (path) return save_result(path, value);
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
    fputs(HIA_WORD_CUT, stderr);
  }
  return EXIT_FINE;
}
