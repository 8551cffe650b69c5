/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What --warmup-curve shows: a table, and what follows from it; JSON; a picture. */
#include "tools/plot.h"
#include "tools/warmup.h"
#include <math.h>

/* ---- what follows from the curves ---- */

/* The time of auto, and the better one of interp and jit, at a point; NAN: not known. */
typedef struct point_cost {
  double best, auto_ms, ratio;
} point_cost;

static point_cost cost_at(const warmup_result *r, size_t k) {
  const warmup_curve *c = r->curves;
  double best = fmin(c[WARMUP_INTERP].ms[k], c[WARMUP_JIT].ms[k]); /* a NAN does not count */
  double auto_ms = c[WARMUP_AUTO].ms[k];
  return (point_cost){best, auto_ms, auto_ms / best};
}

/* Where the curves of interp and jit cross. */
typedef enum payment {
  PAYS_FIRST,   /* jit is faster from the first call on */
  PAYS_LATER,   /* ... from `calls` on */
  PAYS_BEYOND,  /* nowhere, and if both go on so, from `calls` on; NAN: not even then */
  PAYS_UNKNOWN, /* no call of jit has ended */
} payment;
typedef struct crossing {
  payment payment;
  double calls, ms;
} crossing;

/* Milliseconds of a call between two points. */
static double slope(const warmup_result *r, warmup_column column, size_t from, size_t to) {
  const double *ms = r->curves[column].ms;
  return (ms[to] - ms[from]) / ((double)r->calls[to] - (double)r->calls[from]);
}

/* What a call of interp takes at a point, and perhaps beyond it. */
static double interp_slope(const warmup_result *r, size_t k) {
  if (k + 1 < r->n && !isnan(r->curves[WARMUP_INTERP].ms[k + 1]))
    return slope(r, WARMUP_INTERP, k, k + 1);
  return k > 0 ? slope(r, WARMUP_INTERP, k - 1, k)
               : r->curves[WARMUP_INTERP].ms[k] / (double)r->calls[k];
}

/* The curves cross between point k and the next one. */
static crossing cross(const warmup_result *r, size_t k) {
  const double *interp = r->curves[WARMUP_INTERP].ms, *jit = r->curves[WARMUP_JIT].ms;
  double native = slope(r, WARMUP_JIT, k, k + 1), gain = interp_slope(r, k) - native;
  double most = (double)r->calls[k + 1] - (double)r->calls[k];
  double calls = gain > 0 ? fmin((jit[k] - interp[k]) / gain, most) : most;
  return (crossing){PAYS_LATER, (double)r->calls[k] + calls, jit[k] + calls * native};
}

/* They do not cross up to point k, the last one that both have. */
static crossing extrapolate(const warmup_result *r, size_t k) {
  const double *interp = r->curves[WARMUP_INTERP].ms, *jit = r->curves[WARMUP_JIT].ms;
  crossing c = {PAYS_BEYOND, (double)NAN, (double)NAN};
  if (k == 0) return c;
  double native = slope(r, WARMUP_JIT, k - 1, k);
  double gain = slope(r, WARMUP_INTERP, k - 1, k) - native;
  if (!(gain > 0)) return c;
  double calls = (jit[k] - interp[k]) / gain;
  c.calls = (double)r->calls[k] + calls;
  c.ms = jit[k] + calls * native;
  return c;
}

static crossing find_crossing(const warmup_result *r) {
  const double *interp = r->curves[WARMUP_INTERP].ms, *jit = r->curves[WARMUP_JIT].ms;
  size_t n = 0;
  while (n < r->n && !isnan(jit[n])) n++;
  if (n == 0) return (crossing){PAYS_UNKNOWN, (double)NAN, (double)NAN};
  size_t k = n;
  while (k > 0 && !(interp[k - 1] <= jit[k - 1])) k--; /* an interp that is NAN took longer */
  if (k == 0) return (crossing){PAYS_FIRST, 1, jit[0]};
  return k < n ? cross(r, k - 1) : extrapolate(r, n - 1);
}

/* Where a ratio is largest. Ratios are compared, not differences: those are largest where the times
 * are, and there they are chance. */
typedef struct extreme {
  double ratio; /* 0: there is none */
  size_t at;
} extreme;
static void note(extreme *e, double ratio, size_t at) {
  if (ratio > e->ratio) *e = (extreme){ratio, at}; /* not if it is NAN */
}

/* ---- the table ---- */

const char *warmup_process_time(const warmup_result *r) {
  static char text[32];
  double seconds = (double)r->max_ns / 1e9;
  snprintf(text, sizeof text, seconds < 10 ? "%.2g s" : "%.0f s", seconds);
  return text;
}

static void print_ms(double ms) {
  if (isnan(ms))
    printf(" %12s", "-");
  else
    printf(" %12.3f", ms);
}

static void print_table(const warmup_result *r) {
  printf("%s, %ju process%s of %s for each column; milliseconds from nothing to the end of so many "
         "calls\n\n",
         r->signature, (uintmax_t)r->runs, r->runs == 1 ? "" : "es", warmup_process_time(r));
  printf("%10s", "calls");
  for (int column = 0; column < N_WARMUP_COLUMNS; column++)
    printf(" %12s", warmup_name((warmup_column)column));
  printf("  auto/best\n");
  for (size_t k = 0; k < r->n; k++) {
    printf("%10ju", (uintmax_t)r->calls[k]);
    for (size_t column = 0; column < N_WARMUP_COLUMNS; column++) print_ms(r->curves[column].ms[k]);
    double ratio = cost_at(r, k).ratio;
    if (isnan(ratio))
      printf(" %10s\n", "-");
    else
      printf(" %10.2f\n", ratio);
  }
}

/* A number of calls that is computed, with two digits. */
static double rounded(double calls) {
  double unit = pow(10, fmax(0, floor(log10(calls)) - 1));
  return round(calls / unit) * unit;
}

/* The text is valid until the next call. */
static const char *calls_text(const warmup_result *r, size_t k) {
  static char text[40];
  uintmax_t calls = (uintmax_t)r->calls[k];
  snprintf(text, sizeof text, "%ju call%s", calls, calls == 1 ? "" : "s");
  return text;
}

static void print_crossing(const warmup_result *r) {
  crossing c = find_crossing(r);
  const char *last = calls_text(r, r->n - 1);
  if (c.payment == PAYS_FIRST)
    puts("native code pays from the first call on: jit is faster than interp");
  else if (c.payment == PAYS_LATER)
    printf("native code pays from about %.0f calls on (%.1f ms): there jit overtakes interp\n",
           rounded(c.calls), c.ms);
  else if (c.payment == PAYS_UNKNOWN)
    printf("jit has ended no call within %s, the time of a process: --max-time gives more\n",
           warmup_process_time(r));
  else if (isnan(c.calls))
    printf("native code does not pay within %s: interp is faster than jit\n", last);
  else
    printf("native code does not pay within %s: at this pace jit overtakes interp at about "
           "%.0f\n",
           last, rounded(c.calls));
}

/* What a call takes in the end, in milliseconds; NAN: a single one has ended. */
static double last_slope(const warmup_result *r, warmup_column column) {
  size_t n = 0;
  while (n < r->n && !isnan(r->curves[column].ms[n])) n++;
  return n > 1 ? slope(r, column, n - 2, n - 1) : (double)NAN;
}

static void print_calls(const warmup_result *r) {
  double interp = last_slope(r, WARMUP_INTERP), native = last_slope(r, WARMUP_JIT);
  if (interp > 0 && native > 0)
    printf("a call takes %.3g ms interpreted, and %.3g ms in native code\n", interp, native);
}

static void print_cost(const warmup_result *r) {
  extreme cost = {0, 0};
  for (size_t k = 0; k < r->n; k++) note(&cost, cost_at(r, k).ratio, k);
  point_cost c = cost_at(r, cost.at);
  if (cost.ratio > 1)
    printf("auto costs most at %s: %.2f ms in place of %.2f ms, the better of interp and jit\n",
           calls_text(r, cost.at), c.auto_ms, c.best);
  else if (cost.ratio > 0)
    puts("auto is never slower than the better of interp and jit");
}

static void print_saving(const warmup_result *r) {
  const double *cold = r->curves[WARMUP_AUTO].ms, *warm = r->curves[WARMUP_CACHED].ms;
  extreme saving = {0, 0};
  for (size_t k = 0; k < r->n; k++) note(&saving, cold[k] / warm[k], k);
  if (!r->is_loaded)
    puts("the cache had no native code of this function: `cached` is auto once more");
  else if (saving.ratio > 1)
    printf("a warm cache saves most at %s: %.2f ms of auto become %.2f ms\n",
           calls_text(r, saving.at), cold[saving.at], warm[saving.at]);
  else
    puts("a warm cache saves nothing");
}

static void print_results(const warmup_result *r) {
  const warmup_outcome *interp = &r->trials[0], *native = &r->trials[1];
  if (!warmup_agree(r))
    printf("results: %s interpreted, %s in native code\n", interp->text, native->text);
  else if (interp->has_result || native->has_result)
    printf("result: %s\n", interp->has_result ? interp->text : native->text);
}

/* ---- --json; docs/bench.md describes it ---- */

static json_t *json_real_or_null(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *json_curve(const warmup_result *r, size_t column) {
  const warmup_curve *c = &r->curves[column];
  json_t *points = json_array();
  int failed = 0;
  for (size_t k = 0; k < r->n && !isnan(c->ms[k]); k++)
    failed |=
        json_array_append_new(points, json_pack("{s:I, s:o}", "calls", (json_int_t)r->calls[k],
                                                "total_ns", tool_series_json(&c->points[k])));
  if (!failed)
    return json_pack("{s:s, s:o}", "column", warmup_name((warmup_column)column), "points", points);
  json_decref(points);
  return NULL;
}

static json_t *json_result(const warmup_outcome *trial) {
  return trial->has_result ? tool_json_text(trial->text) : json_null();
}

static int report_json(const tool_options *options, const warmup_result *r) {
  json_t *arguments = json_array(), *curves = json_array();
  int failed = 0;
  for (size_t i = 0; i < options->n_args; i++)
    failed |= json_array_append_new(arguments, tool_json_text(options->args[i]));
  for (size_t column = 0; column < N_WARMUP_COLUMNS; column++)
    failed |= json_array_append_new(curves, json_curve(r, column));
  crossing c = find_crossing(r);
  json_t *root = json_pack(
      "{s:s, s:o, s:s, s:o, s:I, s:I, s:o, s:o, s:b, s:b, s:b, s:o, s:o}", "hiaton", hia_version(),
      "file", tool_json_text(options->file), "function", r->signature, "arguments", arguments,
      "runs", (json_int_t)r->runs, "threads", (json_int_t)options->threads[0], "pays_from_calls",
      json_real_or_null(c.calls), "pays_from_ms", json_real_or_null(c.ms), "pays_is_extrapolated",
      (int)(c.payment == PAYS_BEYOND), "cache_is_used", (int)r->is_loaded, "agree",
      (int)warmup_agree(r), "result", json_result(&r->trials[r->trials[0].has_result ? 0 : 1]),
      "curves", curves);
  if (!failed) return tool_json_print(root, 6);
  json_decref(root);
  return tool_fail(NULL, HIA_MEMORY);
}

int warmup_report(const tool_options *options, const warmup_result *r) {
  if (options->json) return report_json(options, r);
  print_table(r);
  puts("");
  print_calls(r);
  print_crossing(r);
  print_cost(r);
  print_saving(r);
  print_results(r);
  return EXIT_FINE;
}

/* ---- --plot ---- */

int warmup_plot(const tool_options *options, const warmup_result *r) {
  if (!options->curve.plot) return EXIT_FINE;
  static const char *const colors[N_WARMUP_COLUMNS] = {"#d9772b", "#2f6db5", "#3a9a5b", "#8a5aa8"};
  double x[WARMUP_MAX_POINTS];
  char title[512], mark[64];
  plot_curve curves[N_WARMUP_COLUMNS];
  for (size_t column = 0; column < N_WARMUP_COLUMNS; column++)
    curves[column] =
        (plot_curve){warmup_name((warmup_column)column), colors[column], r->curves[column].ms};
  for (size_t k = 0; k < r->n; k++) x[k] = (double)r->calls[k];
  const plot_panel panel = {"milliseconds from nothing", curves, N_WARMUP_COLUMNS, PLOT_LOG, false};
  crossing c = find_crossing(r);
  snprintf(title, sizeof title, "%s: %s", tool_source_name(options), r->signature);
  snprintf(mark, sizeof mark, "native code pays from about %.0f calls on", rounded(c.calls));
  return plot_write(options->curve.plot,
                    &(plot){.title = title,
                            .x_label = "calls",
                            .x = x,
                            .n = r->n,
                            .is_x_log = true,
                            .mark = c.payment == PAYS_LATER ? c.calls : (double)NAN,
                            .mark_text = mark,
                            .panels = &panel,
                            .n_panels = 1});
}
