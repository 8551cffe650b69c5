/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* --trace FILE: the timeline of a run. */
#include "tools/tool.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int bad_file(const char *path, int wrong) {
  fprintf(stderr, "error[io]: the trace %s could not be written: %s\n", path, strerror(wrong));
  return EXIT_PROGRAM;
}

int tool_trace_begin(const char *path, hia_timeline **timeline) {
  *timeline = NULL;
  if (!path) return EXIT_FINE;
  int wrong = hiaR_output_check(path); /* before the run, which may take an hour */
  if (wrong) return bad_file(path, wrong);
  *timeline = hia_timeline_new(NULL, 0);
  return *timeline ? EXIT_FINE : tool_fail(NULL, HIA_MEMORY);
}

int tool_trace_end(const char *path, hia_timeline *timeline) {
  tool_output t;
  if (!tool_output_open(&t, path)) {
    int wrong = errno;
    tool_output_close(&t, false);
    return bad_file(path, wrong);
  }
  hia_error *error;
  hia_status status = hia_timeline_write(timeline, hiaR_output_write, &t, &error);
  bool is_io = t.wrong != 0;
  tool_output_close(&t, status == HIA_OK);
  if (status != HIA_OK && !is_io) return tool_fail(error, status);
  hia_error_free(error);
  if (t.wrong) return bad_file(path, t.wrong);
  uint64_t dropped = hia_timeline_dropped(timeline);
  if (dropped)
    fprintf(stderr, "%s lacks the oldest %llu events: those of each thread that are too many\n",
            path, (unsigned long long)dropped);
  return EXIT_FINE;
}
