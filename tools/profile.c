/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton profile. docs/profile.md describes what it prints. */
#include "tools/profile_read.h"
#include <inttypes.h>
#include <stdlib.h>

enum { MOST_LINES = 25, TEXT_WIDTH = 60 };

/* ---- what runs do ---- */

/* A point of the program, whose texts are copies. */
typedef struct seen_point {
  hia_observed_point at;
  size_t order; /* in the program */
} seen_point;

typedef struct observed {
  seen_point *points; /* those that were seen most often come first */
  size_t n, room;
  bool is_out;     /* of memory */
  char *hindrance; /* why nothing was observed; NULL: something was */
} observed;

static const char *copy(observed *o, const char *text) {
  char *bytes = text ? strdup(text) : NULL;
  o->is_out |= text && !bytes;
  return bytes;
}

static bool see_point(void *user, const hia_observed_point *point) {
  observed *o = user;
  if (o->n == o->room) {
    size_t room = o->room ? 2 * o->room : 64;
    seen_point *points = realloc(o->points, room * sizeof *points);
    o->is_out |= !points;
    if (!points) return false;
    o->points = points;
    o->room = room;
  }
  seen_point *p = &o->points[o->n];
  *p = (seen_point){*point, o->n};
  o->n++;
  p->at.function = copy(o, point->function);
  p->at.file = copy(o, point->file);
  p->at.parameter = copy(o, point->parameter);
  p->at.type = copy(o, point->type);
  p->at.least = copy(o, point->least);
  p->at.most = copy(o, point->most);
  p->at.constructors = copy(o, point->constructors);
  return !o->is_out;
}

static void free_observed(observed *o) {
  for (size_t i = 0; i < o->n; i++) {
    const hia_observed_point *p = &o->points[i].at;
    const char *texts[] = {p->function, p->file, p->parameter,   p->type,
                           p->least,    p->most, p->constructors};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) free((void *)(uintptr_t)texts[k]);
  }
  free(o->points);
  free(o->hindrance);
}

static int by_times(const void *a, const void *b) {
  const seen_point *x = a, *y = b;
  if (x->at.times != y->at.times) return x->at.times < y->at.times ? 1 : -1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* One run more, in the interpreter. False: no memory. */
static bool observe(observed *o, hia_function *function, const tool_arguments *args, size_t n) {
  enum { MOST_NS = 200000000 };
  hia_error *error = NULL;
  if (hia_function_observe(function, args->values, n, MOST_NS, see_point, o, &error) != HIA_OK) {
    o->hindrance = strdup(hia_error_message(error, 0));
    o->is_out |= !o->hindrance;
  }
  hia_error_free(error);
  if (o->n) qsort(o->points, o->n, sizeof *o->points, by_times);
  return !o->is_out;
}

/* ---- running ---- */

typedef struct profiling {
  const tool_options *options;
  hia_profile *profile;
  hia_run_stats used; /* of the last run */
  uint64_t runs, ns;  /* of all runs */
  hia_profile_sum sum;
  hia_profile_line *lines; /* as --sort says */
  uint64_t n_lines;
  observed observed;
} profiling;

static void say(void *user, char *text, size_t size) {
  const profiling *p = user;
  if (size) snprintf(text, size, ", %" PRIu64 " runs", p->runs);
}

/* Runs the function until the time is up. */
static int run_all(profiling *p, hia_function *function, const tool_arguments *args) {
  const tool_options *options = p->options;
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  run_options.stats = &p->used;
  run_options.profile = p->profile;
  hia_error *error = NULL;
  hia_status status = hia_function_prepare(function, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  uint64_t start = tool_now();
  tool_progress_begin(function, say, p);
  do {
    hia_value *result = NULL;
    status = hia_run(function, args->values, options->n_args, &run_options, &result, &error);
    hia_value_free(result);
    if (status != HIA_OK) {
      tool_progress_end();
      return tool_fail(error, status);
    }
    p->runs++;
    p->ns = tool_now() - start;
  } while (p->ns < options->curve.max_ns);
  tool_progress_end();
  return EXIT_FINE;
}

/* ---- what was counted ---- */

static int by_memory(const void *a, const void *b) {
  const hia_profile_line *x = a, *y = b;
  if (x->taken != y->taken) return x->taken < y->taken ? 1 : -1;
  if (x->total_taken != y->total_taken) return x->total_taken < y->total_taken ? 1 : -1;
  return x->self != y->self ? (x->self < y->self ? 1 : -1) : 0;
}

/* Nothing runs any more, so the order of the profile's lines stays. False: no memory. */
static bool read_lines(profiling *p) {
  p->sum = (hia_profile_sum)HIA_PROFILE_SUM_INIT;
  hia_profile_get_sum(p->profile, &p->sum);
  p->lines = calloc((size_t)p->sum.n_lines + 1, sizeof *p->lines);
  if (!p->lines) return false;
  for (; p->n_lines < p->sum.n_lines; p->n_lines++) {
    p->lines[p->n_lines] = (hia_profile_line)HIA_PROFILE_LINE_INIT;
    if (hia_profile_get_line(p->profile, p->n_lines, &p->lines[p->n_lines]) != HIA_OK) break;
  }
  if (p->options->by_memory) qsort(p->lines, (size_t)p->n_lines, sizeof *p->lines, by_memory);
  return true;
}

/* ---- the table ---- */

static double percent(uint64_t part, uint64_t all) {
  return all ? 100 * (double)part / (double)all : 0;
}

static const char *tier_of(const profiling *p) {
  return p->used.tier == HIA_TIER_NATIVE ? "native code" : "interpreted";
}

/* Bytes a run, as in `12.5 MiB`. */
static void show_bytes(const profiling *p, uint64_t bytes, char text[16]) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double n = p->runs ? (double)bytes / (double)p->runs : 0;
  unsigned unit = 0;
  for (; n >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++) n /= 1024;
  snprintf(text, 16, "%.*f %s", unit && n < 100 ? 1 : 0, n, units[unit]);
}

/* The number of samples of time and, if the program takes memory, of memory. */
static void print_head(const profiling *p) {
  const hia_profile_sum *sum = &p->sum;
  char text[16];
  printf("%" PRIu64 " run%s in %.3f s, %s; %" PRIu64 " samples, one every %.3g ms of each thread\n",
         p->runs, p->runs == 1 ? "" : "s", (double)p->ns / 1e9, tier_of(p), sum->ticks,
         (double)sum->tick_ns / 1e6);
  if (!sum->taken) return;
  show_bytes(p, sum->taken, text);
  printf("%s of memory taken a run; %" PRIu64 " samples, one every %" PRIu64 " KiB\n", text,
         sum->taken / sum->sample, sum->sample / 1024);
}

/* Above the columns; of a program that takes memory there are those of memory, too. */
static void print_titles(const profiling *p, int width) {
  bool has_memory = p->sum.taken != 0;
  putchar('\n');
  if (has_memory) printf("%7s %7s   %7s\n", "time", "", "memory");
  printf("%7s %7s", "self", "total");
  if (has_memory) printf("   %7s %7s %9s", "self", "total", "a run");
  printf("  %-*s  line\n", width, "function");
}

static void print_memory(const profiling *p, uint64_t taken, uint64_t total) {
  char text[16] = "";
  if (!p->sum.taken) return;
  if (taken) show_bytes(p, taken, text);
  printf("   %6.1f%% %6.1f%% %9s", percent(taken, p->sum.taken), percent(total, p->sum.taken),
         text);
}

static void print_text(const tool_options *options, const hia_profile_line *line) {
  const char *text;
  size_t len;
  if (!tool_source_line(options, line->file, line->line, &text, &len)) return;
  while (len && (*text == ' ' || *text == '\t')) text++, len--;
  printf("  %.*s", (int)(len < TEXT_WIDTH ? len : TEXT_WIDTH), text);
}

static void print_unknown(const profiling *p) {
  const hia_profile_sum *sum = &p->sum;
  if (!sum->unknown && !sum->unknown_taken) return;
  printf("%6.1f%% %7s", percent(sum->unknown, sum->ticks), "");
  print_memory(p, sum->unknown_taken, sum->unknown_taken);
  printf("  before the first call of a run, or where nothing is known\n");
}

/* "ev(e)", "ev 2:30". */
static void show_place(const hia_observed_point *p, char *text, size_t size) {
  if (p->of == HIA_POINT_OF_PARAMETER)
    snprintf(text, size, "%s(%s)", p->function, p->parameter ? p->parameter : "...");
  else
    snprintf(text, size, "%s", p->function);
}

static void print_what(const hia_observed_point *p) {
  if (p->of == HIA_POINT_OF_BRANCH) {
    bool is_same = p->times_true == 0 || p->times_true == p->times;
    printf("%s%s: ", p->constructors ? "is it " : "condition",
           p->constructors ? p->constructors : "");
    if (is_same)
      printf("always %s", p->times_true ? "true" : "false");
    else
      printf("true in %.1f%%", percent(p->times_true, p->times));
    return;
  }
  printf("%s: ", p->of == HIA_POINT_OF_LOOP ? "rounds" : p->type);
  if (p->constructors)
    printf("%s", p->constructors);
  else if (p->changes == 0)
    printf("always %s", p->least);
  else
    printf("%s to %s", p->least, p->most);
}

/* What came to points of the program: those to which most came first. */
static void print_points(const observed *o) {
  size_t width = 8, n = 0;
  char place[64];
  for (; n < o->n && n < MOST_LINES && o->points[n].at.times; n++) {
    show_place(&o->points[n].at, place, sizeof place);
    if (strlen(place) > width) width = strlen(place);
  }
  if (!n) {
    if (o->hindrance) printf("\nnothing is known of values: %s\n", o->hindrance);
    return;
  }
  printf("\n%9s  %-*s  line\n", "times", (int)width, "values of");
  for (size_t i = 0; i < n; i++) {
    const hia_observed_point *p = &o->points[i].at;
    show_place(p, place, sizeof place);
    printf("%9" PRIu64 "  %-*s  %s:%u:%u  ", p->times, (int)width, place, p->file,
           (unsigned)p->line, (unsigned)p->column);
    print_what(p);
    putchar('\n');
  }
}

/* A row for each line, and those behind the first ones in sum. */
static int print_table(const profiling *p) {
  const hia_profile_sum *sum = &p->sum;
  size_t width = 8;
  uint64_t n = p->n_lines < MOST_LINES ? p->n_lines : MOST_LINES;
  for (uint64_t i = 0; i < n; i++)
    if (strlen(p->lines[i].function) > width) width = strlen(p->lines[i].function);
  print_head(p);
  print_titles(p, (int)width);
  for (uint64_t i = 0; i < n; i++) {
    const hia_profile_line *line = &p->lines[i];
    printf("%6.1f%% %6.1f%%", percent(line->self, sum->ticks), percent(line->total, sum->ticks));
    print_memory(p, line->taken, line->total_taken);
    printf("  %-*s  %s:%u", (int)width, line->function, line->file, (unsigned)line->line);
    print_text(p->options, line);
    putchar('\n');
  }
  if (n < p->n_lines) printf("and %" PRIu64 " more lines\n", p->n_lines - n);
  print_unknown(p);
  print_points(&p->observed);
  return EXIT_FINE;
}

/* ---- --json ---- */

static json_t *json_of_line(const hia_profile_line *line, bool has_memory) {
  json_t *row = json_pack("{s:o, s:o, s:I, s:I, s:I}", "function", tool_json_text(line->function),
                          "file", tool_json_text(line->file), "line", (json_int_t)line->line,
                          "self", (json_int_t)line->self, "total", (json_int_t)line->total);
  if (has_memory &&
      (json_object_set_new(row, "taken", json_integer((json_int_t)line->taken)) ||
       json_object_set_new(row, "total_taken", json_integer((json_int_t)line->total_taken)))) {
    json_decref(row);
    return NULL;
  }
  return row;
}

static json_t *json_of_memory(const hia_profile_sum *sum) {
  return json_pack("{s:I, s:I, s:I}", "sample", (json_int_t)sum->sample, "taken",
                   (json_int_t)sum->taken, "unknown", (json_int_t)sum->unknown_taken);
}

static json_t *json_of_point(const hia_observed_point *p) {
  return json_pack("{s:s, s:o, s:s?, s:o, s:I, s:I, s:s, s:I, s:I, s:I, s:s?, s:s?, s:s?}", "kind",
                   tool_point_kinds[p->of], "function", tool_json_text(p->function), "parameter",
                   p->parameter, "file", tool_json_text(p->file), "line", (json_int_t)p->line,
                   "column", (json_int_t)p->column, "type", p->type, "times", (json_int_t)p->times,
                   "changes", (json_int_t)p->changes, "true", (json_int_t)p->times_true, "least",
                   p->least, "most", p->most, "constructors", p->constructors);
}

/* In the order of the program. */
static json_t *json_of_points(const observed *o) {
  json_t *points = json_array();
  int failed = 0;
  for (size_t i = 0; i < o->n; i++) failed |= json_array_append_new(points, json_null());
  for (size_t i = 0; i < o->n; i++)
    failed |= json_array_set_new(points, o->points[i].order, json_of_point(&o->points[i].at));
  if (!failed) return points;
  json_decref(points);
  return NULL;
}

/* `memory`, and the bytes of lines, are there if the program takes any. */
static int print_json(const profiling *p, const hia_function *function) {
  const hia_profile_sum *sum = &p->sum;
  json_t *lines = json_array();
  int failed = 0;
  for (uint64_t i = 0; i < p->n_lines; i++)
    failed |= json_array_append_new(lines, json_of_line(&p->lines[i], sum->taken != 0));
  json_t *root =
      json_pack("{s:s, s:i, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "hiaton", hia_version(),
                "schema", 1, "file", tool_json_text(tool_source_name(p->options)), "function",
                tool_json_text(hia_function_signature(function)), "tier",
                p->used.tier == HIA_TIER_NATIVE ? "native" : "image", "runs", (json_int_t)p->runs,
                "ns", (json_int_t)p->ns, "tick_ns", (json_int_t)sum->tick_ns, "samples",
                (json_int_t)sum->ticks, "unknown", (json_int_t)sum->unknown, "lines", lines);
  if (root) failed |= json_object_set_new(root, "points", json_of_points(&p->observed));
  if (root && sum->taken) failed |= json_object_set_new(root, "memory", json_of_memory(sum));
  if (failed) {
    json_decref(root);
    root = NULL;
  }
  return tool_json_print(root, 17);
}

/* ---- the command ---- */

static int profile_function(const tool_options *options, hia_function *function,
                            const tool_arguments *args) {
  profiling p = {.options = options, .used = HIA_RUN_STATS_INIT};
  p.profile = hia_profile_new(NULL, 0);
  if (!p.profile) return tool_fail(NULL, HIA_MEMORY);
  int code = run_all(&p, function, args);
  if (code == EXIT_FINE &&
      (!read_lines(&p) || !observe(&p.observed, function, args, options->n_args)))
    code = tool_fail(NULL, HIA_MEMORY);
  if (code == EXIT_FINE) code = options->json ? print_json(&p, function) : print_table(&p);
  free(p.lines);
  free_observed(&p.observed);
  hia_profile_free(p.profile);
  return code;
}

int tool_profile(const tool_options *options) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function;
  tool_arguments args = {0};
  hia_engine_kind kind = options->n_engines ? options->engines[0] : HIA_ENGINE_AUTO;
  tool_options own = *options;
  own.engine.flags |= HIA_FLAG_PROFILE_MEMORY;
  options = &own;
  int code = tool_load(options, kind, &engine, &module);
  if (code == EXIT_FINE) code = tool_function(options, module, &function);
  if (code == EXIT_FINE) code = tool_args(engine, &function, options, false, &args);
  if (code == EXIT_FINE) code = profile_function(options, function, &args);
  tool_free_args(&args, options->n_args);
  hia_module_free(module);
  hia_engine_free(engine);
  return code;
}
