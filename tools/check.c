/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton check. docs/errors.md describes what --json prints. */
#include "tools/json.h"
#include <hiaton/inspect.h>

/* A line, a column; null where there is none. */
static json_t *json_number(uint32_t number) {
  return number ? json_integer((json_int_t)number) : json_null();
}

/* Null for "". */
static json_t *json_words(const char *text) { return *text ? tool_json_text(text) : json_null(); }

static json_t *json_note(const hia_error *error, size_t i, size_t k) {
  const char *message, *file;
  uint32_t line, col;
  hia_error_note(error, i, k, &message, &file, &line, &col);
  return json_pack("{s:o, s:o, s:o, s:o}", "file", json_words(file), "line", json_number(line),
                   "column", json_number(col), "message", tool_json_text(message));
}

static json_t *json_fix(const hia_error *error, size_t i) {
  const char *text, *file;
  uint32_t line, col, end_line, end_col;
  if (!hia_error_fix(error, i, &text, &file, &line, &col, &end_line, &end_col)) return json_null();
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "file", json_words(file), "line",
                   json_number(line), "column", json_number(col), "end_line", json_number(end_line),
                   "end_column", json_number(end_col), "text", tool_json_text(text));
}

/* A status alone. */
static json_t *json_status(hia_status status) {
  return json_pack("{s:n, s:n, s:n, s:n, s:s, s:s, s:s, s:n, s:n, s:[]}", "file", "line", "column",
                   "end_column", "severity", "error", "code", hia_status_word(status), "message",
                   hia_status_message(status), "hint", "fix", "notes");
}

/* One mistake. */
static json_t *json_diagnostic(const hia_error *error, size_t i) {
  json_t *notes = json_array();
  int failed = 0;
  for (size_t k = 0; k < hia_error_note_count(error, i); k++)
    failed |= json_array_append_new(notes, json_note(error, i, k));
  json_t *diagnostic = json_pack(
      "{s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "file",
      json_words(hia_error_file(error, i)), "line", json_number(hia_error_line(error, i)), "column",
      json_number(hia_error_col(error, i)), "end_column", json_number(hia_error_end_col(error, i)),
      "severity", "error", "code", tool_json_text(hia_error_code(error, i)), "message",
      tool_json_text(hia_error_message(error, i)), "hint", json_words(hia_error_hint(error, i)),
      "fix", json_fix(error, i), "notes", notes);
  if (!failed) return diagnostic;
  json_decref(diagnostic);
  return NULL;
}

/* Loads the program. What only its graphs show is checked too. */
static hia_status load(const tool_options *options, hia_engine *engine, hia_module **module,
                       hia_error **error) {
  hia_status status = tool_source_try(options, engine, module, error);
  hia_function *function;
  size_t n = status == HIA_OK ? hia_module_function_count(*module) : 0;
  for (size_t i = 0; i < n && status == HIA_OK; i++)
    status = hia_module_function_at(*module, i, &function, error);
  return status;
}

/* The document. Returns the exit status. */
static int report(const tool_options *options, const hia_error *error, hia_status status) {
  json_t *diagnostics = json_array();
  int failed = 0;
  if (status != HIA_OK && !error) failed |= json_array_append_new(diagnostics, json_status(status));
  for (size_t i = 0; i < hia_error_count(error); i++)
    failed |= json_array_append_new(diagnostics, json_diagnostic(error, i));
  json_t *root =
      json_pack("{s:s, s:i, s:o, s:b, s:o, s:I}", "hiaton", hia_version(), "schema", 1, "file",
                tool_json_text(tool_source_name(options)), "ok", status == HIA_OK, "diagnostics",
                diagnostics, "left_out", (json_int_t)hia_error_n_left_out(error));
  if (failed) {
    json_decref(root);
    root = NULL;
  }
  int printed = tool_json_print(root, 6);
  return printed == EXIT_FINE ? tool_exit_status(status) : printed;
}

static int check_text(const tool_options *options, hia_engine *engine, hia_module **module) {
  hia_error *error;
  hia_status status = load(options, engine, module, &error);
  return status == HIA_OK ? EXIT_FINE : tool_source_fail(options, error, status);
}

static int check_json(const tool_options *options, hia_engine *engine, hia_module **module) {
  hia_error *error;
  hia_status status = load(options, engine, module, &error);
  int code = report(options, error, status);
  hia_error_free(error);
  return code;
}

int tool_check(const tool_options *options) {
  /* The functions that the program declares `extern` may be those of another host. */
  tool_options own = *options;
  own.engine.flags &= ~(uint32_t)HIA_FLAG_PROCESS_SYMBOLS;
  own.engine.flags |= HIA_FLAG_LINK_EXTERNS;
  hia_engine *engine;
  hia_module *module = NULL;
  int code = tool_open(&own, HIA_ENGINE_INTERP, &engine);
  if (code == EXIT_FINE)
    code = options->json ? check_json(&own, engine, &module) : check_text(&own, engine, &module);
  hia_module_free(module);
  hia_engine_free(engine);
  return code;
}
