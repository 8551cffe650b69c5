/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* --plot FILE: losses and the metric over the epochs, as an SVG that needs no other file.
 *
 * A panel is a frame with two axes and some curves. A value that is no finite number interrupts its
 * curve. The scale of the losses is logarithmic if the largest is more than 50 times the smallest,
 * and all are above 0. */
#include "tools/train.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/* The picture, and each frame in it. */
#define WIDTH       760
#define LEFT        74
#define RIGHT       24
#define TOP         64
#define HEIGHT      260
#define GAP         66
#define BOTTOM      56
#define FRAME_WIDTH (WIDTH - LEFT - RIGHT)
#define MAX_TICKS   32
/* Curves of few epochs have a dot for each. */
#define MAX_DOTS 40

typedef struct curve {
  const char *name, *color;
  size_t offset; /* of its number in a train_epoch */
} curve;

typedef struct panel {
  const char *label;
  const curve *curves;
  size_t n_curves;
  double top;       /* of the frame */
  double low, high; /* of the axis; logarithms if is_log */
  bool is_log;
  bool is_high_good; /* the curve of the best is at the top */
} panel;

typedef struct drawing {
  tool_output output;
  bool is_bad; /* a write has failed */
  const train_state *state;
} drawing;

static void put(drawing *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(drawing *d, const char *fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (n < 0 || (size_t)n >= sizeof text || !hiaR_output_write(&d->output, text, (size_t)n))
    d->is_bad = true;
}

/* Text of the user's: what SVG cannot hold becomes a question mark. */
static void put_text(drawing *d, const char *text) {
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '<')
      put(d, "&lt;");
    else if (*at == '>')
      put(d, "&gt;");
    else if (*at == '&')
      put(d, "&amp;");
    else
      put(d, "%c", *at < 32 || *at > 126 ? '?' : *at);
  }
}

/* ---- scales ---- */

static double value_of(const train_epoch *e, const curve *c) {
  double x;
  memcpy(&x, (const char *)e + c->offset, sizeof x);
  return x;
}

static double scaled(const panel *p, double x) { return p->is_log ? log10(x) : x; }

static double x_of(const drawing *d, double epoch) {
  double n = (double)d->state->n_epochs;
  return LEFT + (n > 1 ? (epoch - 1) / (n - 1) : 0.5) * FRAME_WIDTH;
}
static double y_of(const panel *p, double x) {
  return p->top + HEIGHT * (1 - (scaled(p, x) - p->low) / (p->high - p->low));
}

/* The distance of ticks, 1, 2 or 5 times a power of ten, of which about `n` lie in `range`. */
static double spacing_of(double range, double n) {
  double power = pow(10, floor(log10(range / n)));
  double share = range / n / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

/* Finds the least and the largest value of a panel; false if there is none. */
static bool find_range(const drawing *d, const panel *p, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t i = 0; i < d->state->n_epochs; i++)
    for (size_t k = 0; k < p->n_curves; k++) {
      double x = value_of(&d->state->epochs[i], &p->curves[k]);
      if (!isfinite(x)) continue;
      *low = fmin(*low, x);
      *high = fmax(*high, x);
    }
  return *low <= *high;
}

static void set_scale(const drawing *d, panel *p, bool may_be_log) {
  double low, high;
  if (!find_range(d, p, &low, &high)) low = high = 0;
  p->is_log = may_be_log && low > 0 && high / low > 50;
  low = scaled(p, low);
  high = scaled(p, high);
  /* A bit of space above and below, also where all values are equal. */
  double range = high - low;
  if (!(range > 1e-9 * fmax(fabs(low), fabs(high)))) range = fmax(fabs(high), 1e-3);
  p->low = low - 0.06 * range;
  p->high = high + 0.06 * range;
  if (low >= 0 && p->low < 0 && !p->is_log) p->low = 0;
}

/* The values at ticks of the vertical axis. */
static size_t find_ticks(const panel *p, double *ticks) {
  size_t n = 0;
  if (!p->is_log) {
    double spacing = spacing_of(p->high - p->low, 5);
    for (double k = ceil(p->low / spacing); k * spacing <= p->high && n < MAX_TICKS; k++)
      ticks[n++] = k * spacing;
    return n;
  }
  static const double few[] = {1, 2, 5};
  bool has_few = p->high - p->low < 3; /* decades */
  double stride = ceil((p->high - p->low) / 10);
  for (double k = floor(p->low); k <= p->high; k += stride)
    for (size_t i = 0; i < (has_few ? 3 : 1); i++) {
      double x = few[i] * pow(10, k), at = log10(x);
      if (at >= p->low && at <= p->high && n < MAX_TICKS) ticks[n++] = x;
    }
  return n;
}

/* ---- drawing ---- */

static void draw_axes(drawing *d, const panel *p) {
  double ticks[MAX_TICKS], bottom = p->top + HEIGHT;
  size_t n = find_ticks(p, ticks);
  for (size_t i = 0; i < n; i++) {
    double y = y_of(p, ticks[i]);
    put(d, "<path class=\"grid\" d=\"M%d %.2fH%d\"/>\n", LEFT, y, WIDTH - RIGHT);
    put(d, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%.5g</text>\n", LEFT - 10, y + 4,
        ticks[i]);
  }
  double last = (double)d->state->n_epochs, spacing = fmax(1, spacing_of(last, 8));
  for (double k = spacing == 1 ? 1 : 0; k <= last; k += spacing) {
    double epoch = k < 1 ? 1 : k; /* 1, 10, 20 and so on */
    put(d, "<path class=\"tick\" d=\"M%.2f %.2fv5\"/>\n", x_of(d, epoch), bottom);
    put(d, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%.0f</text>\n", x_of(d, epoch),
        bottom + 20, epoch);
  }
  put(d, "<path class=\"axis\" d=\"M%d %.2fV%.2fH%d\"/>\n", LEFT, p->top, bottom, WIDTH - RIGHT);
  put(d, "<text class=\"label\" x=\"%d\" y=\"%.2f\" text-anchor=\"middle\">epoch</text>\n",
      LEFT + FRAME_WIDTH / 2, bottom + 40);
  put(d,
      "<text class=\"label\" transform=\"translate(18 %.2f) rotate(-90)\" "
      "text-anchor=\"middle\">",
      p->top + HEIGHT / 2.0);
  put_text(d, p->label);
  put(d, "</text>\n");
}

static void draw_curve(drawing *d, const panel *p, const curve *c) {
  bool is_down = false; /* the pen */
  put(d, "<path class=\"curve\" stroke=\"%s\" d=\"", c->color);
  for (size_t i = 0; i < d->state->n_epochs; i++) {
    double x = value_of(&d->state->epochs[i], c);
    if (isfinite(x)) put(d, "%c%.2f %.2f", is_down ? 'L' : 'M', x_of(d, (double)i + 1), y_of(p, x));
    is_down = isfinite(x);
  }
  put(d, "\"/>\n");
  for (size_t i = 0; d->state->n_epochs <= MAX_DOTS && i < d->state->n_epochs; i++) {
    double x = value_of(&d->state->epochs[i], c);
    if (isfinite(x))
      put(d, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"2.5\" fill=\"%s\"/>\n", x_of(d, (double)i + 1),
          y_of(p, x), c->color);
  }
}

/* Above the frame, at the right, the first name leftmost. */
static void draw_legend(drawing *d, const panel *p) {
  double right = WIDTH - RIGHT;
  for (size_t i = p->n_curves; i-- > 0;) {
    const curve *c = &p->curves[i];
    put(d, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">", right, p->top - 8);
    put_text(d, c->name);
    put(d, "</text>\n");
    right -= 6.3 * (double)strlen(c->name) + 8; /* about as wide as the text */
    put(d, "<path class=\"curve\" stroke=\"%s\" d=\"M%.2f %.2fh-20\"/>\n", c->color, right,
        p->top - 12);
    right -= 40;
  }
}

/* A line at the epoch that is the best. */
static void draw_best(drawing *d, const panel *p) {
  const train_epoch *best = train_best(d->state);
  if (!best) return;
  size_t epoch = (size_t)(best - d->state->epochs) + 1;
  double x = x_of(d, (double)epoch);
  bool is_right = x > WIDTH / 2.0;
  put(d, "<path class=\"best\" d=\"M%.2f %.2fv%d\"/>\n", x, p->top, HEIGHT);
  put(d, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">best: %zu</text>\n",
      x + (is_right ? -6 : 6), p->is_high_good ? p->top + HEIGHT - 8 : p->top + 13,
      is_right ? "end" : "start", epoch);
}

static void draw_panel(drawing *d, panel *p, bool may_be_log) {
  set_scale(d, p, may_be_log);
  draw_axes(d, p);
  draw_best(d, p);
  for (size_t i = 0; i < p->n_curves; i++) draw_curve(d, p, &p->curves[i]);
  draw_legend(d, p);
}

static void draw(drawing *d, const char *title, const char *metric, bool has_dev) {
  const curve losses[] = {{"training", "#2f6db5", offsetof(train_epoch, loss)},
                          {"dev", "#d9772b", offsetof(train_epoch, dev_loss)}};
  const curve metrics[] = {{"dev", "#d9772b", offsetof(train_epoch, metric)}};
  panel loss = {.label = "loss", .curves = losses, .n_curves = has_dev ? 2 : 1, .top = TOP};
  panel second = {.label = metric,
                  .curves = metrics,
                  .n_curves = 1,
                  .top = TOP + HEIGHT + GAP,
                  .is_high_good = true};
  int height = TOP + HEIGHT + BOTTOM + (metric ? HEIGHT + GAP : 0);
  put(d,
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
      "viewBox=\"0 0 %d %d\">\n",
      WIDTH, height, WIDTH, height);
  put(d, "<style>\n"
         "text { font: 12px system-ui, sans-serif; fill: #444 }\n"
         ".title { font-size: 16px; font-weight: 600; fill: #222 }\n"
         ".label { font-size: 13px; fill: #222 }\n"
         ".grid { stroke: #e6e6e6 } .axis, .tick { stroke: #888; fill: none }\n"
         ".best { stroke: #aaa; stroke-dasharray: 4 4 }\n"
         ".curve { fill: none; stroke-width: 2; stroke-linejoin: round }\n"
         "</style>\n");
  put(d, "<title>");
  put_text(d, title);
  put(d, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", WIDTH, height);
  put(d, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
  put_text(d, title);
  put(d, "</text>\n");
  draw_panel(d, &loss, true);
  if (metric) draw_panel(d, &second, false);
  put(d, "</svg>\n");
}

int train_plot(const char *path, const train_state *state, const char *title, const char *metric) {
  if (!path) return EXIT_FINE;
  drawing d = {.state = state};
  bool has_dev = false;
  for (size_t i = 0; i < state->n_epochs; i++) has_dev |= !isnan(state->epochs[i].dev_loss);
  bool is_open = tool_output_open(&d.output, path);
  if (!is_open) d.output.wrong = errno;
  if (is_open) draw(&d, title, metric, has_dev);
  tool_output_close(&d.output, is_open && !d.is_bad);
  return d.output.wrong ? tool_cannot_write(path, d.output.wrong) : EXIT_FINE;
}
