/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* JSON: shared by the commands that have --json. */
#include "tools/json.h"

json_t *tool_json_text(const char *text) {
  json_t *string = json_string(text);
  return string ? string : json_null();
}

int tool_json_print(json_t *root, int digits) {
  if (!root) return tool_fail(NULL, HIA_MEMORY);
  /* Errors of writing are found when the program ends. */
  json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION((size_t)digits));
  putchar('\n');
  json_decref(root);
  return EXIT_FINE;
}
