/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton explain: explains the code of an error. */
#include "tools/tool.h"
#include <ctype.h>
#include <string.h>

static void list(void) {
  const char *code;
  for (size_t i = 0; (code = hia_error_explained_code(i)); i++) {
    const char *text = hia_error_explain(code);
    printf("%.*s\n", (int)strcspn(text, "\n"), text);
  }
}

int tool_explain(const tool_options *options) {
  if (options->n_args == 0) {
    list();
    return EXIT_FINE;
  }
  const char *code = options->args[0];
  const char *text = hia_error_explain(code);
  char capital[8] = ""; /* e0301 */
  if (!text && strlen(code) < sizeof capital) {
    for (size_t i = 0; code[i]; i++) capital[i] = (char)toupper((unsigned char)code[i]);
    text = hia_error_explain(capital);
  }
  if (!text) {
    fprintf(stderr, "hiaton explain: there is no code `%s`\n`hiaton explain` lists all of them\n",
            code);
    return EXIT_USAGE;
  }
  fputs(text, stdout);
  return EXIT_FINE;
}
