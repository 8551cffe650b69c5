/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* --help: the options of a command, from their table. */
#include "tools/tool.h"
#include <ctype.h>
#include <string.h>

/* An option and its operand, as --help has them. */
static int print_left(const tool_row *row, char *text, size_t size) {
  return snprintf(text, size, "%s%s%s%s", tool_dashes(row), row->name, row->operand ? " " : "",
                  row->operand ? row->operand : "");
}

void tool_help(const tool_command *command) {
  char left[32];
  int width = 19;
  printf("usage: hiaton %s [OPTION...] %s\n\n%c%s.\n\n", command->name, command->operands,
         toupper((unsigned char)command->summary[0]), command->summary + 1);
  for (const tool_row *row = tool_rows; row->name; row++) {
    int n = print_left(row, left, sizeof left);
    if (row->commands & command->bit && n > width) width = n;
  }
  for (const tool_row *row = tool_rows; row->name; row++) {
    if (!(row->commands & command->bit)) continue;
    print_left(row, left, sizeof left);
    printf("  %-*s %s\n", width, left, row->help);
  }
  if (command->bit & BUILD)
    fputs("\nWith --exe and --shared each ARG is a word for the linker, such as other.o or -lz, "
          "which is\n"
          "called by cc or, if it is set, $CC. --static calls ar, or $AR.\n",
          stdout);
  if (tool_takes_file(command)) fputs("\nA FILE of - is standard input.\n", stdout);
  if (strstr(command->operands, "ARG"))
    fputs(
        "\nOptions and arguments may be mixed. A word that starts with - and a digit, and -inf, is "
        "an\nargument; after -- every word is.\n",
        stdout);
  if (command->bit & (RUN | BENCH | GRADIENTS | PROFILE))
    fputs(
        "An ARG of @FILE is the value that the file has as text, @FILE.hiav a saved one, @FILE.npy "
        "a\ntensor of NumPy, @FILE.npz:NAME one of its archives, and @FILE.ptb trees in "
        "brackets.\n",
        stdout);
  if (command->bit & DUMP) {
    fputs("\nThe graph passes, in order:\n", stdout);
    for (size_t i = 0; hia_pass_name(i); i++)
      printf("  %-19s %s\n", hia_pass_name(i), hia_pass_doc(i));
  }
}
