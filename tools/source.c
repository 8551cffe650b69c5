/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The program that a command is about: a file, standard input, an expression, or a file or standard
 * input with an expression behind it. */
#include "tools/tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* One byte more than the library accepts, so that the library refuses a larger text. */
#define MAX_TEXT (((size_t)256 << 20) + 1)

/* The text, which is read only once: standard input cannot be read again. */
static struct input {
  bool is_read;
  char *text; /* for the life of the process */
  size_t len;
} input;

static bool is_stdin(const tool_options *o) { return o->file && strcmp(o->file, "-") == 0; }

const char *tool_source_name(const tool_options *o) {
  if (!o->file) return HIA_EXPRESSION;
  return is_stdin(o) ? "<stdin>" : o->file;
}

/* Reads to the end of the file, so that pipes work too. Returns 0 or an errno. */
static int read_text(int file) {
  size_t size = 0;
  while (input.len < MAX_TEXT) {
    if (input.len == size) {
      size = size ? 2 * size : (size_t)16 << 10;
      char *grown = realloc(input.text, size);
      if (!grown) return ENOMEM;
      input.text = grown;
    }
    ssize_t n = read(file, input.text + input.len, size - input.len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    input.len += (size_t)n;
  }
  return 0;
}

/* Fills `input`; without FILE it stays empty. */
static hia_status read_input(const tool_options *o) {
  if (input.is_read) return HIA_OK;
  int wrong = 0;
  if (o->file) {
    int file = is_stdin(o) ? STDIN_FILENO : open(o->file, O_RDONLY | O_CLOEXEC);
    wrong = file < 0 ? errno : read_text(file);
    if (file > STDIN_FILENO) close(file);
  }
  if (wrong == ENOMEM) return HIA_MEMORY;
  input.is_read = !wrong;
  if (!wrong) return HIA_OK;
  fprintf(stderr, "error[io]: cannot read %s: %s\n", is_stdin(o) ? "standard input" : o->file,
          strerror(wrong));
  return HIA_IO;
}

int tool_source_fail(const tool_options *o, hia_error *error, hia_status status) {
  bool lacks_extern = false;
  for (size_t i = 0; i < hia_error_count(error); i++)
    lacks_extern |= strcmp(hia_error_code(error, i), "E0601") == 0;
  if (!error && status == HIA_IO) return EXIT_USAGE; /* reported already */
  int code = tool_fail(error, status);
  if (lacks_extern && tool_has(o, OPT_NO_EXTERN))
    fputs("      = hint: with --no-extern there are no functions of C\n", stderr);
  return code;
}

hia_status tool_source_try(const tool_options *o, hia_engine *engine, hia_module **module,
                           hia_error **error) {
  *module = NULL;
  *error = NULL;
  if (!o->expression && !is_stdin(o))
    return (o->from_ir ? hia_module_load_ir_file : hia_module_load_file)(engine, o->file, module,
                                                                         error);
  hia_status status = read_input(o);
  if (status != HIA_OK) return status;
  const char *name = tool_source_name(o);
  if (o->expression)
    return hia_module_load_expression(engine, name, input.text, input.len, o->expression, module,
                                      error);
  return (o->from_ir ? hia_module_load_ir : hia_module_load_text)(engine, name, input.text,
                                                                  input.len, module, error);
}

int tool_source_load(const tool_options *o, hia_engine *engine, hia_module **module) {
  hia_error *error;
  hia_status status = tool_source_try(o, engine, module, &error);
  return status == HIA_OK ? EXIT_FINE : tool_source_fail(o, error, status);
}

bool tool_source_line(const tool_options *o, const char *file, uint32_t line, const char **text,
                      size_t *len) {
  const char *at = NULL, *end = NULL;
  if (strcmp(file, HIA_EXPRESSION) == 0 && o->expression) {
    at = o->expression;
    end = at + strlen(at);
  } else if (strcmp(file, tool_source_name(o)) == 0 && read_input(o) == HIA_OK && input.text) {
    at = input.text;
    end = at + input.len;
  }
  for (; at && line > 1; line--) {
    at = memchr(at, '\n', (size_t)(end - at));
    if (at) at++;
  }
  if (!at || !line) return false;
  const char *newline = memchr(at, '\n', (size_t)(end - at));
  *text = at;
  *len = (size_t)((newline ? newline : end) - at);
  return true;
}
