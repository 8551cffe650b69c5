/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What `hiaton run --explain` says of batches: the report of `hiaton dump --stage batches`, as text
 * or as a part of the JSON document.
 *
 *     encode(Tree)                                        {"function": "encode(Tree)",
 *       batched 12 operations; products with params: ..    "batched": ["12 operations; .."],
 *       waits   for a branch at 34:27, ..                  "alone": [],
 *                                                          "waits": ["for a branch at 34:27, .."]}
 */
#include "tools/json.h"
#include <stdlib.h>
#include <string.h>

typedef struct text {
  char *data;
  size_t len;
} text;

static bool take(void *user, const char *bytes, size_t len) {
  text *t = user;
  char *grown = realloc(t->data, t->len + len + 1);
  if (!grown) return false;
  memcpy(grown + t->len, bytes, len);
  t->data = grown;
  t->len += len;
  grown[t->len] = 0;
  return true;
}

static bool on_stderr(void *unused, const char *bytes, size_t len) {
  (void)unused;
  return fwrite(bytes, 1, len, stderr) == len;
}

static hia_status report(hia_module *module, hia_function *function, hia_write write, void *user,
                         hia_error **error) {
  hia_dump_options dump = HIA_DUMP_OPTIONS_INIT;
  dump.stage = HIA_STAGE_BATCHES;
  return hia_module_dump(module, &function, 1, &dump, write, user, error);
}

/* ---- text ---- */

static const char none[] = "nothing is batched: ";

static bool is_nothing(const text *t) {
  return t->len >= strlen(none) && memcmp(t->data, none, strlen(none)) == 0;
}

static hia_status explain_text(hia_module *module, hia_function *function, hia_error **error) {
  text t = {0};
  hia_status status = report(module, function, take, &t, error);
  if (status == HIA_OK && t.len && !is_nothing(&t)) on_stderr(NULL, t.data, t.len);
  free(t.data);
  return status;
}

/* ---- JSON ---- */

static json_t *new_function(const char *name) {
  return json_pack("{s:o, s:[], s:[], s:[]}", "function", tool_json_text(name), "batched", "alone",
                   "waits");
}

/* A line of a function: "  batched 12 operations". */
static void add_line(json_t *function, char *line) {
  char *kind = line + 2, *rest = kind + strcspn(kind, " ");
  if (*rest) *rest++ = 0;
  json_array_append_new(json_object_get(function, kind), tool_json_text(rest + strspn(rest, " ")));
}

/* {"nothing": why, "functions": [..]} */
static json_t *batching_of(text *t) {
  json_t *functions = json_array(), *function = NULL, *why = json_null();
  if (t->len && is_nothing(t)) {
    t->data[strcspn(t->data, "\n")] = 0;
    why = tool_json_text(t->data + strlen(none));
  } else if (t->len) {
    for (char *line = strtok(t->data, "\n"); line; line = strtok(NULL, "\n")) {
      if (strncmp(line, "  ", 2) == 0)
        add_line(function, line);
      else
        json_array_append_new(functions, function = new_function(line));
    }
  }
  return json_pack("{s:o, s:o}", "nothing", why, "functions", functions);
}

static hia_status explain_json(hia_module *module, hia_function *function, bool has_batches,
                               hia_error **error) {
  text told = {0}, batches = {0};
  hia_status status = hia_function_explain(function, true, take, &told, error);
  if (status == HIA_OK && has_batches) status = report(module, function, take, &batches, error);
  json_t *root = status == HIA_OK ? json_loads(told.data, 0, NULL) : NULL;
  if (status == HIA_OK && !root) status = HIA_MEMORY;
  if (root) {
    json_object_set_new(root, "batching", has_batches ? batching_of(&batches) : json_null());
    json_dumpf(root, stderr, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', stderr);
    json_decref(root);
  }
  free(told.data);
  free(batches.data);
  return status;
}

int tool_explain_run(const tool_options *options, hia_module *module, hia_function *function) {
  hia_error *error = NULL;
  bool has_batches = options->engine.batching != HIA_BATCH_NONE;
  hia_status status;
  if (options->json) {
    status = explain_json(module, function, has_batches, &error);
  } else {
    status = hia_function_explain(function, false, on_stderr, NULL, &error);
    if (status == HIA_OK && has_batches) status = explain_text(module, function, &error);
  }
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}
