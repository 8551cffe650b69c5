/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* json.c: what --json of several commands has in common. */
#ifndef HIA_TOOL_JSON_H
#define HIA_TOOL_JSON_H

#include "tools/tool.h"
#include <jansson.h>

/* A string; null if the text is not UTF-8, which JSON cannot hold. */
json_t *tool_json_text(const char *text);
/* Prints a document on standard output and frees it; NULL: there was no memory for it. Returns an
 * exit status. */
int tool_json_print(json_t *root);

#endif
