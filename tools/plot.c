/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Curves as an SVG. */
#include "tools/plot.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
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
/* Curves of few points have a dot for each. */
#define MAX_DOTS 40

/* An axis from its low end to its high one; logarithms if is_log. */
typedef struct axis {
  double low, high;
  bool is_log;
} axis;

/* The panel that is drawn. */
typedef struct frame {
  const plot_panel *panel;
  double top;
  axis y;
} frame;

typedef struct drawing {
  tool_output output;
  bool is_bad; /* a write has failed */
  const plot *plot;
  axis x;
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

static double scaled(const axis *a, double x) { return a->is_log ? log10(x) : x; }
/* The place on the axis, from 0 to 1; an axis of one point has it in the middle. */
static double place(const axis *a, double x) {
  return a->high > a->low ? (scaled(a, x) - a->low) / (a->high - a->low) : 0.5;
}

static double x_of(const drawing *d, double x) { return LEFT + place(&d->x, x) * FRAME_WIDTH; }
static double y_of(const frame *f, double y) { return f->top + HEIGHT * (1 - place(&f->y, y)); }

/* The distance of ticks, 1, 2 or 5 times a power of ten, of which about `n` lie in `range`. */
static double spacing_of(double range, double n) {
  double power = pow(10, floor(log10(range / n)));
  double share = range / n / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

/* Finds the least and the largest value of a panel; false if there is none. */
static bool find_range(const drawing *d, const plot_panel *p, double *low, double *high) {
  *low = INFINITY;
  *high = -INFINITY;
  for (size_t i = 0; i < d->plot->n; i++)
    for (size_t k = 0; k < p->n_curves; k++) {
      double y = p->curves[k].y[i];
      if (!isfinite(y)) continue;
      *low = fmin(*low, y);
      *high = fmax(*high, y);
    }
  return *low <= *high;
}

static axis x_axis(const plot *p) {
  axis a = {.is_log = p->is_x_log};
  a.low = scaled(&a, p->x[0]);
  a.high = scaled(&a, p->x[p->n - 1]);
  return a;
}

static axis y_axis(const drawing *d, const plot_panel *p) {
  double low, high;
  bool is_log = p->scale == PLOT_LOG;
  if (!find_range(d, p, &low, &high)) low = high = is_log;
  axis a = {.is_log = is_log || (p->scale == PLOT_FREE && low > 0 && high / low > 50)};
  low = scaled(&a, low);
  high = scaled(&a, high);
  /* A bit of space above and below, also where all values are equal; and a decade at least, which
   * has ticks. */
  double range = high - low;
  if (a.is_log && range < 1) {
    low = floor(low);
    high = fmax(high, low + 1);
    range = high - low;
  }
  if (!(range > 1e-9 * fmax(fabs(low), fabs(high)))) range = fmax(fabs(high), 1e-3);
  a.low = low - 0.06 * range;
  a.high = high + 0.06 * range;
  if (low >= 0 && a.low < 0 && !a.is_log) a.low = 0;
  return a;
}

/* The values at the ticks of an axis. */
static size_t find_ticks(const axis *a, double *ticks) {
  size_t n = 0;
  if (!a->is_log) {
    double spacing = spacing_of(a->high - a->low, 5);
    for (double k = ceil(a->low / spacing); k * spacing <= a->high && n < MAX_TICKS; k++)
      ticks[n++] = k * spacing;
    return n;
  }
  static const double few[] = {1, 2, 5};
  bool has_few = a->high - a->low < 3; /* decades */
  double stride = fmax(1, ceil((a->high - a->low) / 10));
  for (double k = floor(a->low); k <= a->high; k += stride)
    for (size_t i = 0; i < (has_few ? 3 : 1); i++) {
      double x = few[i] * pow(10, k), at = log10(x);
      if (at >= a->low && at <= a->high && n < MAX_TICKS) ticks[n++] = x;
    }
  return n;
}

/* The axis of what is counted from 1. */
static size_t find_counts(double last, double *ticks) {
  size_t n = 0;
  double spacing = fmax(1, spacing_of(last, 8));
  for (double k = spacing == 1 ? 1 : 0; k <= last && n < MAX_TICKS; k += spacing)
    ticks[n++] = k < 1 ? 1 : k; /* 1, 10, 20 and so on */
  return n;
}

/* ---- drawing ---- */

static void draw_x_axis(drawing *d, double bottom) {
  const plot *p = d->plot;
  double ticks[MAX_TICKS];
  size_t n = p->is_x_log ? find_ticks(&d->x, ticks) : find_counts(p->x[p->n - 1], ticks);
  for (size_t i = 0; i < n; i++) {
    double x = x_of(d, ticks[i]);
    put(d, "<path class=\"tick\" d=\"M%.2f %.2fv5\"/>\n", x, bottom);
    put(d, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"middle\">%.0f</text>\n", x, bottom + 20,
        ticks[i]);
  }
}

static void draw_axes(drawing *d, const frame *f) {
  double ticks[MAX_TICKS], bottom = f->top + HEIGHT;
  size_t n = find_ticks(&f->y, ticks);
  for (size_t i = 0; i < n; i++) {
    double y = y_of(f, ticks[i]);
    put(d, "<path class=\"grid\" d=\"M%d %.2fH%d\"/>\n", LEFT, y, WIDTH - RIGHT);
    put(d, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">%.5g</text>\n", LEFT - 10, y + 4,
        ticks[i]);
  }
  draw_x_axis(d, bottom);
  put(d, "<path class=\"axis\" d=\"M%d %.2fV%.2fH%d\"/>\n", LEFT, f->top, bottom, WIDTH - RIGHT);
  put(d, "<text class=\"label\" x=\"%d\" y=\"%.2f\" text-anchor=\"middle\">",
      LEFT + FRAME_WIDTH / 2, bottom + 40);
  put_text(d, d->plot->x_label);
  put(d, "</text>\n");
  put(d,
      "<text class=\"label\" transform=\"translate(18 %.2f) rotate(-90)\" "
      "text-anchor=\"middle\">",
      f->top + HEIGHT / 2.0);
  put_text(d, f->panel->label);
  put(d, "</text>\n");
}

static void draw_curve(drawing *d, const frame *f, const plot_curve *c) {
  const plot *p = d->plot;
  bool is_down = false; /* the pen */
  put(d, "<path class=\"curve\" stroke=\"%s\" d=\"", c->color);
  for (size_t i = 0; i < p->n; i++) {
    double y = c->y[i];
    if (isfinite(y)) put(d, "%c%.2f %.2f", is_down ? 'L' : 'M', x_of(d, p->x[i]), y_of(f, y));
    is_down = isfinite(y);
  }
  put(d, "\"/>\n");
  for (size_t i = 0; p->n <= MAX_DOTS && i < p->n; i++)
    if (isfinite(c->y[i]))
      put(d, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"2.5\" fill=\"%s\"/>\n", x_of(d, p->x[i]),
          y_of(f, c->y[i]), c->color);
}

/* Above the frame, at the right, the first name leftmost. */
static void draw_legend(drawing *d, const frame *f) {
  double right = WIDTH - RIGHT;
  for (size_t i = f->panel->n_curves; i-- > 0;) {
    const plot_curve *c = &f->panel->curves[i];
    put(d, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"end\">", right, f->top - 8);
    put_text(d, c->name);
    put(d, "</text>\n");
    right -= 6.8 * (double)strlen(c->name) + 8; /* about as wide as the text */
    put(d, "<path class=\"curve\" stroke=\"%s\" d=\"M%.2f %.2fh-20\"/>\n", c->color, right,
        f->top - 12);
    right -= 40;
  }
}

static void draw_mark(drawing *d, const frame *f) {
  if (!isfinite(d->plot->mark)) return;
  double x = x_of(d, d->plot->mark);
  bool is_right = x > WIDTH / 2.0;
  put(d, "<path class=\"best\" d=\"M%.2f %.2fv%d\"/>\n", x, f->top, HEIGHT);
  put(d, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\">", x + (is_right ? -6 : 6),
      f->panel->is_mark_low ? f->top + HEIGHT - 8 : f->top + 13, is_right ? "end" : "start");
  put_text(d, d->plot->mark_text);
  put(d, "</text>\n");
}

static void draw_panel(drawing *d, size_t i) {
  const plot_panel *p = &d->plot->panels[i];
  const frame f = {p, TOP + (double)i * (HEIGHT + GAP), y_axis(d, p)};
  draw_axes(d, &f);
  draw_mark(d, &f);
  for (size_t k = 0; k < p->n_curves; k++) draw_curve(d, &f, &p->curves[k]);
  draw_legend(d, &f);
}

static void draw(drawing *d) {
  const plot *p = d->plot;
  int height = TOP + BOTTOM + (int)p->n_panels * (HEIGHT + GAP) - GAP;
  d->x = x_axis(p);
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
  put_text(d, p->title);
  put(d, "</title>\n<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", WIDTH, height);
  put(d, "<text class=\"title\" x=\"%d\" y=\"28\">", LEFT);
  put_text(d, p->title);
  put(d, "</text>\n");
  for (size_t i = 0; i < p->n_panels; i++) draw_panel(d, i);
  put(d, "</svg>\n");
}

int plot_write(const char *path, const plot *p) {
  drawing d = {.plot = p};
  bool is_open = tool_output_open(&d.output, path);
  if (!is_open) d.output.wrong = errno;
  if (is_open) draw(&d);
  tool_output_close(&d.output, is_open && !d.is_bad);
  return d.output.wrong ? tool_cannot_write(path, d.output.wrong) : EXIT_FINE;
}
