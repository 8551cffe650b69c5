/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* measure.c: what bench and its warm-up curve (warmup.h) have in common. */
#ifndef HIA_TOOL_MEASURE_H
#define HIA_TOOL_MEASURE_H

#include "tools/json.h"

/* ---- times ---- */

/* Times of the same work, in nanoseconds. */
typedef struct tool_series {
  uint64_t *ns;     /* n of them, in the order in which they were measured */
  uint64_t *sorted; /* after tool_series_sort */
  size_t n;
  size_t n_longer; /* measurements that were ended, and would have been longer than these */
} tool_series;

/* Makes an empty series with room for so many times. Returns false if there is no memory; the
 * caller frees it in any case. */
bool tool_series_init(tool_series *s, size_t room);
void tool_series_free(tool_series *s);
void tool_series_sort(tool_series *s);
/* The median of a sorted series; UINT64_MAX if half of the measurements and more were ended. */
uint64_t tool_series_median(const tool_series *s);
/* A sorted series as JSON: median, fastest, slowest, samples. NULL if there is no memory. */
json_t *tool_series_json(const tool_series *s);

/* ---- results ---- */

/* A column of a table has room for the beginning of a result. */
#define TOOL_MAX_SHOWN 60

/* A value as it is printed. */
typedef struct tool_text {
  char *text; /* the caller frees it */
  size_t len;
  bool is_cut; /* there is more of it */
} tool_text;
/* Makes the text of a value, of about `most` bytes if it is longer. Returns an exit status;
 * text->text is to be freed in any case. */
int tool_value_text(const hia_value *value, uint64_t most, tool_text *text);

#endif
