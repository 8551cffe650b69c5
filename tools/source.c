/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The program that a command is about: a file, or standard input. */
#include "tools/tool.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The library refuses what is larger; this much is read, so that it does. */
#define MAX_TEXT (((size_t)256 << 20) + 1)

static struct input {
  bool is_read;
  char *text; /* for the life of the process */
  size_t len;
} input;

/* Standard input, to its end. Returns 0 or an errno. */
static int read_input(void) {
  size_t size = 0;
  while (input.len < MAX_TEXT) {
    if (input.len == size) {
      size = size ? 2 * size : (size_t)16 << 10;
      char *grown = realloc(input.text, size);
      if (!grown) return ENOMEM;
      input.text = grown;
    }
    ssize_t n = read(STDIN_FILENO, input.text + input.len, size - input.len);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    input.len += (size_t)n;
  }
  input.is_read = true;
  return 0;
}

static bool is_input(const tool_options *o) { return strcmp(o->file, "-") == 0; }

const char *tool_source_name(const tool_options *o) { return is_input(o) ? "<stdin>" : o->file; }

/* An error of loading, and what the user has to do with it. */
static int fail(const tool_options *o, hia_error *error, hia_status status) {
  bool lacks_extern = false;
  for (size_t i = 0; i < hia_error_count(error); i++)
    lacks_extern |= strcmp(hia_error_code(error, i), "E0601") == 0;
  if (!error && status == HIA_IO) return EXIT_USAGE; /* has been said */
  int code = tool_fail(error, status);
  if (lacks_extern && tool_has(o, OPT_NO_EXTERN))
    fputs("      = hint: with --no-extern there are no functions of C\n", stderr);
  return code;
}

hia_status tool_source_try(const tool_options *o, hia_engine *engine, hia_module **module,
                           hia_error **error) {
  *module = NULL;
  if (!is_input(o))
    return (o->from_ir ? hia_module_load_ir_file : hia_module_load_file)(engine, o->file, module,
                                                                         error);
  int wrong = input.is_read ? 0 : read_input();
  *error = NULL;
  if (wrong == ENOMEM) return HIA_MEMORY;
  if (wrong) {
    fprintf(stderr, "error[io]: cannot read standard input: %s\n", strerror(wrong));
    return HIA_IO;
  }
  return (o->from_ir ? hia_module_load_ir : hia_module_load_text)(
      engine, tool_source_name(o), input.text, input.len, module, error);
}

int tool_source_load(const tool_options *o, hia_engine *engine, hia_module **module) {
  hia_error *error;
  hia_status status = tool_source_try(o, engine, module, &error);
  return status == HIA_OK ? EXIT_FINE : fail(o, error, status);
}
