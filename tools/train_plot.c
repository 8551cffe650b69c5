/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* --plot FILE: losses and the metric over the epochs. */
#include "tools/plot.h"
#include "tools/train.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Columns of numbers, one for each epoch. */
typedef struct columns {
  double *epoch, *loss, *dev_loss, *metric; /* the first has the memory of all */
  bool has_dev;
} columns;

/* Returns false if there is no memory. */
static bool columns_init(columns *c, const train_state *state) {
  size_t n = state->n_epochs;
  double *all = calloc(4 * n, sizeof *all); /* the epochs themselves are larger */
  if (!all) return false;
  *c = (columns){all, all + n, all + 2 * n, all + 3 * n, false};
  for (size_t i = 0; i < n; i++) {
    const train_epoch *e = &state->epochs[i];
    c->epoch[i] = (double)i + 1;
    c->loss[i] = e->loss;
    c->dev_loss[i] = e->dev_loss;
    c->metric[i] = e->metric;
    c->has_dev |= !isnan(e->dev_loss);
  }
  return true;
}

int train_plot(const char *path, const train_state *state, const char *title, const char *metric) {
  columns c;
  if (!path) return EXIT_FINE;
  if (!columns_init(&c, state)) return tool_fail(NULL, HIA_MEMORY);
  const plot_curve losses[] = {{"training", "#2f6db5", c.loss}, {"dev", "#d9772b", c.dev_loss}};
  const plot_curve metrics[] = {{"dev", "#d9772b", c.metric}};
  const plot_panel panels[] = {{"loss", losses, c.has_dev ? 2 : 1, PLOT_FREE, false},
                               {metric, metrics, 1, PLOT_LINEAR, true}};
  const train_epoch *best = train_best(state);
  char best_text[40] = "";
  if (best) snprintf(best_text, sizeof best_text, "best: %td", best - state->epochs + 1);
  const plot p = {.title = title,
                  .x_label = "epoch",
                  .x = c.epoch,
                  .n = state->n_epochs,
                  .mark = best ? (double)(best - state->epochs + 1) : (double)NAN,
                  .mark_text = best_text,
                  .panels = panels,
                  .n_panels = metric ? 2 : 1};
  int code = plot_write(path, &p);
  free(c.epoch);
  return code;
}
