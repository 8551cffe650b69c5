/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Series of times, and the texts of results: of bench and of its warm-up curve. */
#include "tools/measure.h"
#include <stdlib.h>

bool tool_series_init(tool_series *s, size_t room) {
  s->n = s->n_longer = 0;
  s->ns = calloc(room, sizeof *s->ns);
  s->sorted = calloc(room, sizeof *s->sorted);
  return s->ns && s->sorted;
}

void tool_series_free(tool_series *s) {
  free(s->ns);
  free(s->sorted);
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

void tool_series_sort(tool_series *s) {
  memcpy(s->sorted, s->ns, s->n * sizeof *s->ns);
  qsort(s->sorted, s->n, sizeof *s->sorted, compare);
}

uint64_t tool_series_median(const tool_series *s) {
  size_t n = s->n + s->n_longer;
  if (n / 2 >= s->n) return UINT64_MAX;
  uint64_t high = s->sorted[n / 2];
  return n % 2 ? high : high - (high - s->sorted[n / 2 - 1]) / 2;
}

json_t *tool_series_json(const tool_series *s) {
  json_t *samples = json_array();
  for (size_t i = 0; i < s->n; i++)
    if (json_array_append_new(samples, json_integer((json_int_t)s->ns[i])) != 0) {
      json_decref(samples);
      return NULL;
    }
  return json_pack("{s:I, s:I, s:I, s:o}", "median", (json_int_t)tool_series_median(s), "fastest",
                   (json_int_t)s->sorted[0], "slowest", (json_int_t)s->sorted[s->n - 1], "samples",
                   samples);
}

static bool append(void *file, const char *bytes, size_t n) {
  return fwrite(bytes, 1, n, file) == n;
}

int tool_value_text(const hia_value *value, uint64_t most, tool_text *text) {
  *text = (tool_text){.text = NULL};
  FILE *to = open_memstream(&text->text, &text->len);
  hia_error *error = NULL;
  if (!to) return tool_fail(NULL, HIA_MEMORY);
  hia_status status = hia_value_write(value, most, append, to, &text->is_cut, &error);
  bool is_bad = fclose(to) != 0 || status == HIA_IO; /* the stream is in memory */
  if (!is_bad && status == HIA_OK) return EXIT_FINE;
  hia_error_free(error);
  return tool_fail(NULL, HIA_MEMORY);
}
