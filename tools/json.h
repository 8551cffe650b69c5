/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* json.c: shared by the commands that have --json. */
#ifndef HIA_TOOL_JSON_H
#define HIA_TOOL_JSON_H

#include "tools/tool.h"
#include <jansson.h>

/* A string; null if the text is not UTF-8, which JSON cannot hold. */
json_t *tool_json_text(const char *text);
/* Prints a document on standard output, numbers with as many digits, and frees it; NULL if there
 * was no memory to make it. Returns an exit status. */
int tool_json_print(json_t *root, int digits);

#endif
