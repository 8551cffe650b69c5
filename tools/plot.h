/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* plot.c: curves as an SVG that needs no other file. */
#ifndef HIA_TOOL_PLOT_H
#define HIA_TOOL_PLOT_H

#include "tools/tool.h"

typedef struct plot_curve {
  const char *name, *color;
  const double *y; /* one for each x; one that is no finite number interrupts the curve */
} plot_curve;

typedef enum plot_scale {
  PLOT_LINEAR,
  PLOT_FREE, /* logarithmic if the largest value is more than 50 times the smallest, and all are
                above 0 */
  PLOT_LOG,  /* all values are above 0 */
} plot_scale;

/* A frame with curves. */
typedef struct plot_panel {
  const char *label; /* of its vertical axis */
  const plot_curve *curves;
  size_t n_curves;
  plot_scale scale;
  bool is_mark_low; /* the text of the mark is at the bottom of the frame */
} plot_panel;

/* Panels, one below the other, over the same x. */
typedef struct plot {
  const char *title, *x_label;
  const double *x; /* n of them, ascending: from 1 in steps of 1, or above 0 if is_x_log */
  size_t n;
  bool is_x_log;
  double mark;           /* the x of a line from top to bottom; NAN: there is none */
  const char *mark_text; /* beside the line */
  const plot_panel *panels;
  size_t n_panels;
} plot;

/* Writes the file. Returns an exit status. */
int plot_write(const char *path, const plot *p);

#endif
