/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the program says on standard output and standard error, and with which status it ends. */
#include "tools/tool.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

int tool_exit_status(hia_status status) {
  if (status == HIA_OK) return EXIT_FINE;
  bool is_usage = status == HIA_ARGUMENT || status == HIA_NOT_FOUND || status == HIA_IO;
  return is_usage ? EXIT_USAGE : EXIT_PROGRAM;
}

int tool_fail(hia_error *error, hia_status status) {
  tool_progress_end();
  if (error)
    fputs(hia_error_text(error), stderr);
  else
    fprintf(stderr, "error[%s]: %s\n", hia_status_word(status), hia_status_message(status));
  hia_error_free(error);
  return tool_exit_status(status);
}

int tool_usage(const tool_command *command, const char *fmt, ...) {
  fprintf(stderr, "hiaton%s%s: ", command ? " " : "", command ? command->name : "");
  va_list args;
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fprintf(stderr, "\n`hiaton%s%s --help` says how it is used\n", command ? " " : "",
          command ? command->name : "");
  return EXIT_USAGE;
}

/* ---- standard output ---- */

static int output_wrong; /* errno of the first failure */

void tool_flush(void) {
  errno = 0;
  if ((fflush(stdout) != 0 || ferror(stdout)) && !output_wrong) output_wrong = errno;
}

bool tool_print(void *unused, const char *bytes, size_t len) {
  (void)unused;
  if (fwrite(bytes, 1, len, stdout) == len) return true;
  if (!output_wrong) output_wrong = errno;
  return false;
}

int tool_end(int code) {
  tool_flush();
  bool is_bad = ferror(stdout);
  /* A standard output that was closed from the start is no failure if nothing was printed. */
  if (fclose(stdout) != 0 && !is_bad && errno != EBADF) {
    is_bad = true;
    output_wrong = errno;
  }
  if (!is_bad) return code;
  fprintf(stderr, "error[io]: the output could not be written: %s\n",
          output_wrong ? strerror(output_wrong) : "unknown reason");
  return code == EXIT_FINE ? EXIT_PROGRAM : code;
}
