/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The points of a profile that `hiaton profile --json` has written, for `hiaton build --profile`.
 */
#include "tools/profile_read.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { N_KINDS = sizeof tool_point_kinds / sizeof *tool_point_kinds };
const char *const tool_point_kinds[] = {[HIA_POINT_OF_PARAMETER] = "parameter",
                                        [HIA_POINT_OF_BRANCH] = "condition",
                                        [HIA_POINT_OF_LOOP] = "rounds"};

/* A number from 0 on; anything else is 0. */
static uint64_t number_of(const json_t *point, const char *name) {
  json_int_t n = json_integer_value(json_object_get(point, name));
  return n > 0 ? (uint64_t)n : 0;
}

static uint32_t position_of(const json_t *point, const char *name) {
  uint64_t n = number_of(point, name);
  return n <= UINT32_MAX ? (uint32_t)n : 0;
}

static const char *text_of(const json_t *point, const char *name) {
  return json_string_value(json_object_get(point, name));
}

/* False: it is of no kind that is known. */
static bool read_point(const json_t *from, hia_observed_point *to) {
  const char *kind = text_of(from, "kind");
  unsigned k = 0;
  while (k < N_KINDS && (!kind || strcmp(kind, tool_point_kinds[k]) != 0)) k++;
  *to = (hia_observed_point){.size = sizeof *to,
                             .of = (hia_point_of)k,
                             .line = position_of(from, "line"),
                             .column = position_of(from, "column"),
                             .function = text_of(from, "function"),
                             .file = text_of(from, "file"),
                             .parameter = text_of(from, "parameter"),
                             .type = text_of(from, "type"),
                             .times = number_of(from, "times"),
                             .changes = number_of(from, "changes"),
                             .times_true = number_of(from, "true"),
                             .least = text_of(from, "least"),
                             .most = text_of(from, "most"),
                             .constructors = text_of(from, "constructors")};
  return k < N_KINDS;
}

static int bad(const char *path, const char *what) {
  fprintf(stderr,
          "error[argument]: %s is no profile that `hiaton profile --json` has written: %s\n", path,
          what);
  return EXIT_PROGRAM;
}

int tool_profile_read(const char *path, tool_profile_points *out) {
  *out = (tool_profile_points){0};
  json_error_t wrong;
  struct stat info;
  if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) {
    fprintf(stderr, "error[io]: %s is a folder\n", path);
    return EXIT_PROGRAM;
  }
  out->root = json_load_file(path, 0, &wrong);
  if (!out->root && json_error_code(&wrong) == json_error_cannot_open_file) {
    fprintf(stderr, "error[io]: %s\n", wrong.text);
    return EXIT_PROGRAM;
  }
  if (!out->root) {
    char what[JSON_ERROR_TEXT_LENGTH + 64];
    snprintf(what, sizeof what, "line %d, column %d: %s", wrong.line, wrong.column, wrong.text);
    return bad(path, what);
  }
  const json_t *points = json_object_get(out->root, "points");
  if (json_integer_value(json_object_get(out->root, "schema")) != 1)
    return bad(path, "its schema is another one");
  if (!json_is_array(points)) return bad(path, "it has no points");
  size_t n = json_array_size(points);
  if (n == 0) return bad(path, "it knows nothing of values");
  out->points = calloc(n, sizeof *out->points);
  if (!out->points) return tool_fail(NULL, HIA_MEMORY);
  for (size_t i = 0; i < n; i++)
    out->n += read_point(json_array_get(points, i), &out->points[out->n]);
  return EXIT_FINE;
}

void tool_profile_points_free(tool_profile_points *points) {
  free(points->points);
  json_decref(points->root);
  *points = (tool_profile_points){0};
}
