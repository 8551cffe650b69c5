/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* check_json HIATON SOURCE-DIR FOLDER-TO-WRITE-TO: reads back the output of `hiaton check --json`
 * for every wrong program of tests/errors and every example. It must be one document, with the
 * fields that docs/errors.md lists and no others, and the same messages as those of `hiaton check`.
 */
#include <glob.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char *hiaton;
static int passed, failed;

static void check(bool holds, const char *what, const char *program) {
  if (holds) {
    passed++;
    return;
  }
  failed++;
  printf("FAILED: %s: %s\n", program, what);
}

/* The output of `hiaton check WORDS`, which the caller frees. */
static char *output_of(const char *words, int *exit_status) {
  char command[2048];
  snprintf(command, sizeof command, "'%s' check %s", hiaton, words);
  FILE *pipe = popen(command, "r");
  size_t len = 0, size = 1 << 20;
  char *text = malloc(size);
  while (pipe && text && !feof(pipe) && !ferror(pipe) && len < size - 1)
    len += fread(text + len, 1, size - 1 - len, pipe);
  int status = pipe ? pclose(pipe) : -1;
  *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (text) text[len] = 0;
  return text;
}

/* The document, if the output is JSON and nothing else. */
static json_t *document_of(const char *words, int *exit_status) {
  char *text = output_of(words, exit_status);
  json_t *root = text ? json_loads(text, 0, NULL) : NULL;
  free(text);
  return root;
}

/* Moves *at behind the next occurrence of these words; false if there is none. */
static bool __attribute__((format(printf, 2, 3))) follows(const char **at, const char *fmt, ...) {
  char words[4096];
  va_list args;
  va_start(args, fmt);
  vsnprintf(words, sizeof words, fmt, args);
  va_end(args);
  const char *found = strstr(*at, words);
  if (found) *at = found + strlen(words);
  return found != NULL;
}

static bool is_text_or_null(json_t *x) { return json_is_string(x) || json_is_null(x); }
static bool is_number_or_null(json_t *x) {
  return json_is_null(x) || (json_is_integer(x) && json_integer_value(x) > 0);
}

/* "file:line:column: ", as far as these are known. */
static void write_place(char *place, size_t size, json_t *file, json_t *line, json_t *column) {
  char position[64] = "";
  if (json_is_integer(line))
    snprintf(position, sizeof position, "%lld:%lld:", (long long)json_integer_value(line),
             (long long)json_integer_value(column));
  snprintf(place, size, "%s%s%s%s", json_is_string(file) ? json_string_value(file) : "",
           json_is_string(file) ? ":" : "", position,
           json_is_string(file) || position[0] ? " " : "");
}

static bool is_note(json_t *note, const char **at) {
  json_t *file, *line, *column;
  const char *message;
  char place[1024];
  if (json_unpack_ex(note, NULL, JSON_STRICT, "{s:o, s:o, s:o, s:s}", "file", &file, "line", &line,
                     "column", &column, "message", &message) != 0 ||
      !is_text_or_null(file) || !is_number_or_null(line) || !is_number_or_null(column))
    return false;
  /* Of an operand of shapes that do not fit: the text has the shape below the operand. */
  static const char operand[] = "this is ";
  size_t len = sizeof operand - 1;
  if (strncmp(message, operand, len) == 0) return *at && strstr(*at, message + len) != NULL;
  write_place(place, sizeof place, file, line, column);
  return follows(at, "%s", place) && follows(at, "%s", message);
}

/* A change: its range ends behind its start, or there. */
static bool is_fix_or_null(json_t *fix) {
  const char *file, *text;
  int line, column, end_line, end_column;
  if (json_is_null(fix)) return true;
  if (json_unpack_ex(fix, NULL, JSON_STRICT, "{s:s, s:i, s:i, s:i, s:i, s:s}", "file", &file,
                     "line", &line, "column", &column, "end_line", &end_line, "end_column",
                     &end_column, "text", &text) != 0)
    return false;
  return line > 0 && column > 0 && end_column > 0 &&
         (end_line > line || (end_line == line && end_column >= column));
}

/* One diagnostic, which is in the text from *at on. */
static bool is_diagnostic(json_t *d, const char **at) {
  json_t *file, *line, *column, *end, *hint, *fix, *notes, *note;
  const char *severity, *code, *message;
  char place[1024];
  size_t i;
  if (json_unpack_ex(d, NULL, JSON_STRICT, "{s:o, s:o, s:o, s:o, s:s, s:s, s:s, s:o, s:o, s:o}",
                     "file", &file, "line", &line, "column", &column, "end_column", &end,
                     "severity", &severity, "code", &code, "message", &message, "hint", &hint,
                     "fix", &fix, "notes", &notes) != 0 ||
      !is_text_or_null(file) || !is_number_or_null(line) || !is_number_or_null(column) ||
      !is_number_or_null(end) || !is_text_or_null(hint) || !is_fix_or_null(fix) ||
      (json_is_object(fix) && !json_is_string(hint)) || !json_is_array(notes) ||
      strcmp(severity, "error") != 0)
    return false;
  if (json_is_integer(line) != json_is_integer(column)) return false;
  if (json_is_integer(end) && json_integer_value(end) <= json_integer_value(column)) return false;
  write_place(place, sizeof place, file, line, column);
  if (!follows(at, "%serror[%s]: %s\n", place, code, message)) return false;
  if (json_is_string(hint) && !follows(at, "= hint: %s\n", json_string_value(hint))) return false;
  json_array_foreach(notes, i, note) {
    if (!is_note(note, at)) return false;
  }
  return true;
}

/* Compares the document for the program that `words` name with the text for people. */
static void agrees(const char *words, const char *name, bool is_wrong) {
  char with_json[1024], as_text[1024];
  snprintf(with_json, sizeof with_json, "--json %s", words);
  snprintf(as_text, sizeof as_text, "%s 2>&1", words);
  int status, text_status;
  json_t *root = document_of(with_json, &status), *diagnostics = NULL, *d;
  char *text = output_of(as_text, &text_status);
  const char *version, *file, *at = text;
  json_int_t left_out;
  int schema, is_ok;
  size_t i;
  bool fits = json_unpack_ex(root, NULL, JSON_STRICT, "{s:s, s:i, s:s, s:b, s:o, s:I}", "hiaton",
                             &version, "schema", &schema, "file", &file, "ok", &is_ok,
                             "diagnostics", &diagnostics, "left_out", &left_out) == 0;
  check(fits, "the fields of the document", words);
  if (fits) {
    check(schema == 1 && strcmp(file, name) == 0, "schema, file", words);
    check(status == text_status && is_ok == (status == 0), "exit status", words);
    check(is_ok == !is_wrong && (json_array_size(diagnostics) > 0) == is_wrong, "ok", words);
    bool is_there = true;
    json_array_foreach(diagnostics, i, d) is_there = is_there && is_diagnostic(d, &at);
    check(is_there, "a diagnostic", words);
    check(at && strstr(at, ": error[") == NULL, "all diagnostics", words);
    check(left_out == 0 || follows(&at, "and %lld more errors\n", (long long)left_out), "left out",
          words);
  }
  json_decref(root);
  free(text);
}

static void all_of(const char *sources, const char *pattern, bool is_wrong) {
  char path[1024];
  glob_t found;
  snprintf(path, sizeof path, "%s/%s", sources, pattern);
  if (glob(path, 0, NULL, &found) != 0) {
    check(false, "no such files", path);
    return;
  }
  for (size_t i = 0; i < found.gl_pathc; i++) {
    snprintf(path, sizeof path, "'%s'", found.gl_pathv[i]);
    agrees(path, found.gl_pathv[i], is_wrong);
  }
  globfree(&found);
}

/* Every field for a program with two errors, written by hand. */
static void by_hand(const char *folder) {
  char path[512], words[600];
  snprintf(path, sizeof path, "%s/check_json.hia", folder);
  FILE *file = fopen(path, "w");
  check(file != NULL, "cannot be written", path);
  if (!file) return;
  fputs("fn f(x: i32) = xyz + 1 # \xc3\xa9\nfn g(num: i32,\n  num: i32) = 1\n", file);
  fclose(file);
  snprintf(words, sizeof words, "--json '%s'", path);
  int status;
  json_t *root = document_of(words, &status);
  json_t *expected = json_pack(
      "{s:s, s:i, s:s, s:b, s:[{s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:n, s:n, s:[]},"
      "{s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:n, s:n, s:[{s:s, s:i, s:i, s:s}]}], s:i}",
      "hiaton", json_string_value(json_object_get(root, "hiaton")), "schema", 1, "file", path, "ok",
      0, "diagnostics", "file", path, "line", 1, "column", 16, "end_column", 19, "severity",
      "error", "code", "E0201", "message", "unknown name 'xyz'", "hint", "fix", "notes", "file",
      path, "line", 3, "column", 3, "end_column", 6, "severity", "error", "code", "E0206",
      "message", "'num' stands twice in this list", "hint", "fix", "notes", "file", path, "line", 2,
      "column", 6, "message", "first here", "left_out", 0);
  check(expected && json_equal(root, expected) && status == 1, "every field", path);
  json_decref(expected);
  json_decref(root);
  remove(path);
}

/* Does to a file what `fix` says, as an editor would. */
static void fixes(const char *folder) {
  static const struct {
    const char *text, *fixed;
  } rows[] = {
      {"fn f(n: i64, m: i32) =\n  n + m\n", "fn f(n: i64, m: i32) =\n  n + i64(m)\n"},
      {"fn f(x: f64) = {\n  let t = 0.1; t * x }\n",
       "fn f(x: f64) = {\n  let t: f64 = 0.1; t * x }\n"},
  };
  char path[512], words[600];
  snprintf(path, sizeof path, "%s/check_json.hia", folder);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    FILE *file = fopen(path, "w");
    check(file != NULL, "cannot be written", path);
    if (!file) return;
    fputs(rows[i].text, file);
    fclose(file);
    snprintf(words, sizeof words, "--json '%s'", path);
    int status, line = 0, column = 0, end_line = 0, end_column = 0;
    const char *in = "", *text = "", *at = rows[i].text;
    json_t *root = document_of(words, &status);
    check(json_unpack(root, "{s:[{s:{s:s, s:i, s:i, s:i, s:i, s:s}}]}", "diagnostics", "fix",
                      "file", &in, "line", &line, "column", &column, "end_line", &end_line,
                      "end_column", &end_column, "text", &text) == 0,
          "a fix", path);
    check(strcmp(in, path) == 0 && line == end_line, "where the fix is", path);
    for (int k = 1; k < line; k++) at = strchr(at, '\n') + 1;
    char fixed[256];
    snprintf(fixed, sizeof fixed, "%.*s%s%s", (int)(at - rows[i].text) + column - 1, rows[i].text,
             text, at + end_column - 1);
    check(strcmp(fixed, rows[i].fixed) == 0, fixed, path);
    json_decref(root);
  }
  remove(path);
}

/* More errors than are listed. */
static void many(const char *folder) {
  char path[512], words[600];
  snprintf(path, sizeof path, "%s/check_json.hia", folder);
  FILE *file = fopen(path, "w");
  check(file != NULL, "cannot be written", path);
  if (!file) return;
  for (int i = 0; i < 60; i++) fprintf(file, "fn q%d() = x%d\n", i, i);
  fclose(file);
  snprintf(words, sizeof words, "--json '%s'", path);
  int status;
  json_t *root = document_of(words, &status);
  check(json_integer_value(json_object_get(root, "left_out")) == 10, "left out", path);
  check(json_array_size(json_object_get(root, "diagnostics")) == 50, "the first 50", path);
  json_decref(root);
  snprintf(words, sizeof words, "'%s'", path);
  agrees(words, path, true);
  remove(path);
}

/* A file that cannot be read is an entry without a place; the exit status is that of a wrong
 * command line. */
static void unreadable(const char *words, const char *name) {
  int status;
  json_t *root = document_of(words, &status), *diagnostics = json_object_get(root, "diagnostics");
  const char *code = json_string_value(json_object_get(json_array_get(diagnostics, 0), "code"));
  const char *file = json_string_value(json_object_get(root, "file"));
  check(status == 2 && code && strcmp(code, "io") == 0 && file && strcmp(file, name) == 0,
        "an unreadable file", words);
  json_decref(root);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  hiaton = argv[1];
  all_of(argv[2], "tests/errors/*.hia", true);
  all_of(argv[2], "examples/*.hia", false);
  by_hand(argv[3]);
  fixes(argv[3]);
  many(argv[3]);
  agrees("- <'/dev/null'", "<stdin>", true);
  unreadable("--json /no/such.hia", "/no/such.hia");
  unreadable("--json - <&- 2>/dev/null", "<stdin>");
  printf("%d passed, %d failed\n", passed, failed);
  return failed != 0;
}
