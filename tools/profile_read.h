/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* profile_read.c: what `hiaton profile --json` has written, read again. */
#ifndef HIA_TOOL_PROFILE_READ_H
#define HIA_TOOL_PROFILE_READ_H

#include "tools/json.h"

/* How a profile writes the kinds of points, by hia_point_of. */
extern const char *const tool_point_kinds[HIA_POINT_OF_LOOP + 1];

typedef struct tool_profile_points {
  hia_observed_point *points; /* their texts are those of the document */
  size_t n;
  json_t *root;
} tool_profile_points;

/* Reads the points of a file. Returns an exit status, and has said what is wrong. The caller frees
 * them in any case. */
int tool_profile_read(const char *path, tool_profile_points *out);
void tool_profile_points_free(tool_profile_points *points);

#endif
