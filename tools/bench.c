/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton bench: compile and run times of one call, by engine and number of threads. */
#include "runtime/program/command_words.h"
#include "tools/measure.h"
#include "tools/warmup.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One engine with its threads: the module stays loaded, and each measured compilation is of a
 * module loaded anew. */
typedef struct lane {
  hia_engine_kind kind;
  unsigned threads;
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  tool_arguments args;
  tool_series compile, run;
  hia_run_stats used;
  hia_value *result;           /* of the last run */
  tool_text text;              /* the beginning of it, as it is reported */
  double speed_up, efficiency; /* over the engine's first number of threads */
  double per_second;           /* elements of the array that it is called with; or 0 */
} lane;

static uint64_t compile_time(const hia_function_stats *s) {
  return s->parse_ns + s->check_ns + s->build_ns + s->passes_ns + s->flatten_ns + s->emit_ns +
         s->optimize_ns + s->codegen_ns;
}

/* One call, which compiles the function if it is not compiled yet. */
static int call(const tool_options *options, lane *l) {
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  hia_run_stats used = HIA_RUN_STATS_INIT;
  run_options.stats = &used;
  run_options.timeout_ns = options->timeout_ns;
  int code = tool_fuel(options, &run_options);
  if (code != EXIT_FINE) return code;
  hia_value *result;
  hia_error *error;
  hia_status status =
      hia_run(l->function, l->args.values, options->n_args, &run_options, &result, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  hia_value_free(l->result);
  l->result = result;
  l->used = used;
  return EXIT_FINE;
}

/* Loads the program anew, so that everything is done again; `name` is that of an instance. */
static int measure_compile(const tool_options *options, lane *l, const char *name) {
  hia_error *error = NULL;
  hia_module *module;
  hia_function *function;
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  int code = tool_fuel(options, &run_options);
  if (code == EXIT_FINE) code = tool_source_load(options, l->engine, &module);
  if (code != EXIT_FINE) return code;
  hia_status status = hia_module_function(module, name, &function, &error);
  if (status == HIA_OK) status = hia_function_prepare_for(function, &run_options, &error);
  if (status == HIA_OK) {
    hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
    hia_function_get_stats(function, &cost);
    l->compile.ns[l->compile.n++] = compile_time(&cost);
  }
  hia_module_free(module);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

static int lane_open(lane *l, const tool_options *options) {
  if (!tool_series_init(&l->compile, options->runs) || !tool_series_init(&l->run, options->runs))
    return tool_fail(NULL, HIA_MEMORY);
  tool_options own = *options;
  own.engine.threads = l->threads;
  int code = tool_load(&own, l->kind, &l->engine, &l->module);
  if (code == EXIT_FINE) code = tool_function(options, l->module, &l->function);
  if (code == EXIT_FINE) code = tool_args(l->engine, &l->function, options, false, &l->args);
  return code;
}

static void lane_close(lane *l, const tool_options *options) {
  tool_free_args(&l->args, options->n_args);
  hia_module_free(l->module);
  hia_engine_free(l->engine);
  tool_series_free(&l->compile);
  tool_series_free(&l->run);
  hia_value_free(l->result);
  free(l->text.text);
}

/* What is measured now. The line on the terminal is made of it, on another thread. */
typedef struct stage {
  const lane *lanes;
  unsigned runs;
  _Atomic unsigned run; /* from 1; 0: warming up */
  _Atomic size_t lane;
} stage;

static void say(void *user, char *text, size_t size) {
  stage *s = user;
  const lane *l = &s->lanes[s->lane];
  unsigned run = s->run;
  int len = run ? snprintf(text, size, ", run %u of %u", run, s->runs)
                : snprintf(text, size, ", warming up");
  if (len < 0 || (size_t)len >= size) return;
  snprintf(text + len, size - (size_t)len, ": %s, %u thread%s", tool_engine_name(l->kind),
           l->threads, l->threads == 1 ? "" : "s");
}

/* One call. The engine that chooses is measured as it is once it has compiled. */
static int warm_up(const tool_options *options, lane *l) {
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  hia_error *error = NULL;
  int code = l->kind == HIA_ENGINE_AUTO ? tool_fuel(options, &run_options) : EXIT_FINE;
  if (code != EXIT_FINE) return code;
  hia_status status = l->kind == HIA_ENGINE_AUTO
                          ? hia_function_prepare_for(l->function, &run_options, &error)
                          : HIA_OK;
  return status == HIA_OK ? call(options, l) : tool_fail(error, status);
}

/* One call each to warm up, then the lanes in turn, so that a slow moment of the machine affects
 * all alike. */
static int measure_all(const tool_options *options, lane *lanes, size_t n, stage *now) {
  int code = EXIT_FINE;
  for (size_t i = 0; code == EXIT_FINE && i < n; i++) {
    now->lane = i;
    code = warm_up(options, &lanes[i]);
  }
  for (unsigned k = 0; code == EXIT_FINE && k < options->runs; k++)
    for (size_t i = 0; code == EXIT_FINE && i < n; i++) {
      lane *l = &lanes[i];
      now->run = k + 1;
      now->lane = i;
      code = measure_compile(options, l, hia_function_name(l->function));
      if (code == EXIT_FINE) code = call(options, l);
      if (code == EXIT_FINE) l->run.ns[l->run.n++] = l->used.run_ns;
    }
  return code;
}

static int measure(const tool_options *options, lane *lanes, size_t n) {
  stage now = {.lanes = lanes, .runs = options->runs};
  tool_progress_begin(lanes[0].function, say, &now);
  int code = measure_all(options, lanes, n, &now);
  tool_progress_end();
  return code;
}

/* The length of the first argument that is an array and not empty; 0: there is none. */
static size_t count_elements(const tool_options *options, const lane *l) {
  for (size_t i = 0; i < options->n_args; i++) {
    const hia_value *value = l->args.values[i];
    if (hia_type_info_kind(hia_value_type(value)) == HIA_KIND_ARRAY && hia_value_len(value) > 0)
      return hia_value_len(value);
  }
  return 0;
}

/* ---- results ---- */

/* A text, and how much of it another one has been found to have. */
typedef struct comparison {
  tool_text text;
  size_t at;
} comparison;

static bool is_next(void *user, const char *bytes, size_t n) {
  comparison *c = user;
  bool is_same = n <= c->text.len - c->at && memcmp(c->text.text + c->at, bytes, n) == 0;
  c->at += is_same ? n : 0;
  return is_same;
}

/* Compares the results to their ends, also what is not reported of them: *is_same. */
static int compare_results(const lane *lanes, size_t n, bool *is_same) {
  comparison c = {.at = 0};
  hia_error *error = NULL;
  hia_status status = HIA_OK;
  int code = tool_value_text(lanes[0].result, UINT64_MAX, &c.text);
  *is_same = true;
  for (size_t i = 1; i < n && code == EXIT_FINE && status == HIA_OK && *is_same; i++) {
    c.at = 0;
    status = hia_value_write(lanes[i].result, UINT64_MAX, is_next, &c, NULL, &error);
    *is_same = status == HIA_OK && c.at == c.text.len;
    if (status == HIA_IO) status = HIA_OK; /* is_next has found a difference */
  }
  free(c.text.text);
  hia_error_free(error);
  return status == HIA_OK ? code : tool_fail(NULL, status);
}

/* Computes medians, speed-ups and efficiencies, and whether all lanes return the same result. */
static int evaluate(const tool_options *options, lane *lanes, size_t n, bool *is_same) {
  int code = compare_results(lanes, n, is_same);
  for (size_t i = 0; i < n && code == EXIT_FINE; i++) {
    lane *l = &lanes[i];
    /* As much as run prints, or as a table has room for. */
    code = tool_value_text(l->result, options->json ? HIA_MAX_PRINTED : TOOL_MAX_SHOWN, &l->text);
    tool_series_sort(&l->compile);
    tool_series_sort(&l->run);
    const lane *first = &lanes[i - i % options->n_threads];
    l->speed_up = (double)tool_series_median(&first->run) / (double)tool_series_median(&l->run);
    /* The work a thread does, over that with the lane's first number of threads. */
    l->per_second = (double)count_elements(options, l) * 1e9 / (double)tool_series_median(&l->run);
    l->efficiency = l->speed_up * first->threads / l->threads;
  }
  return code;
}

static void print_times(const tool_series *s) {
  printf(" %10.3f  %10.3f %10.3f ", (double)tool_series_median(s) / 1e6, (double)s->sorted[0] / 1e6,
         (double)s->sorted[s->n - 1] / 1e6);
}

static void report(const tool_options *options, const lane *lanes, size_t n) {
  bool has_several = options->n_threads > 1;
  size_t elements = count_elements(options, &lanes[0]);
  printf("%s, ", hia_function_signature(lanes[0].function));
  if (elements) printf("%zu element%s, ", elements, elements == 1 ? "" : "s");
  printf("%u run%s of each engine; milliseconds\n\n", options->runs, options->runs == 1 ? "" : "s");
  printf(
      "engine  threads     compile     fastest    slowest         run     fastest    slowest %s%s"
      "  result\n",
      has_several ? " speed-up  efficiency" : "", elements ? "   elements/s" : "");
  for (size_t i = 0; i < n; i++) {
    const lane *l = &lanes[i];
    printf("%-7s %7u ", tool_engine_name(l->kind), l->threads);
    print_times(&l->compile);
    print_times(&l->run);
    if (has_several) printf(" %7.2fx  %10.3f", l->speed_up, l->efficiency);
    if (elements) printf(" %12.1f", l->per_second);
    printf("  %s\n", l->text.text);
  }
  if ((options->engine.flags & HIA_FLAG_COUNT)) {
    puts("");
    tool_count(stdout, options, &lanes[0].used);
  }
  if (!lanes[0].text.is_cut) return;
  tool_flush();
  fputs("the results are shortened: `hiaton run` shows more, and writes them whole with -o\n",
        stderr);
}

/* ---- --json; docs/bench.md describes it ---- */

/* null for a ratio to a run of no measurable length. */
static json_t *json_ratio(double x) { return isfinite(x) ? json_real(x) : json_null(); }

/* Takes `value`. Returns 0 if it is there, like Jansson. */
static int json_add(json_t *row, const char *name, json_t *value) {
  return json_object_set_new(row, name, value);
}

static json_t *json_lane(const tool_options *options, const lane *l) {
  json_t *row = json_pack(
      "{s:s, s:I, s:o, s:o, s:o*, s:I, s:I, s:o, s:o, s:o}", "engine", tool_engine_name(l->kind),
      "threads", (json_int_t)l->threads, "compile_ns", tool_series_json(&l->compile), "run_ns",
      tool_series_json(&l->run), "per_second", l->per_second > 0 ? json_ratio(l->per_second) : NULL,
      "heap_bytes", (json_int_t)l->used.heap_bytes, "system_bytes",
      (json_int_t)l->used.system_bytes, "speed_up", json_ratio(l->speed_up), "efficiency",
      json_ratio(l->efficiency), "result", tool_json_text(l->text.text));
  if (!row) return NULL;
  int failed = l->text.is_cut ? json_add(row, "result_is_cut", json_true()) : 0;
  if ((options->engine.flags & HIA_FLAG_COUNT)) {
    bool is_counted = l->used.is_counted;
    uint64_t calls = tool_calls(options, &l->used);
    failed |= json_add(row, "calls", is_counted ? json_integer((json_int_t)calls) : json_null());
    failed |= json_add(row, "rounds",
                       is_counted ? json_integer((json_int_t)l->used.rounds) : json_null());
  }
  if (!failed) return row;
  json_decref(row);
  return NULL;
}

static int report_json(const tool_options *options, const lane *lanes, size_t n, bool is_same) {
  json_t *arguments = json_array(), *rows = json_array();
  int failed = 0;
  for (size_t i = 0; i < options->n_args; i++)
    failed |= json_array_append_new(arguments, tool_json_text(options->args[i]));
  for (size_t i = 0; i < n; i++)
    failed |= json_array_append_new(rows, json_lane(options, &lanes[i]));
  size_t elements = count_elements(options, &lanes[0]);
  json_t *root = json_pack("{s:s, s:o, s:s, s:o, s:o*, s:I, s:b, s:o}", "hiaton", hia_version(),
                           "file", tool_json_text(options->file), "function",
                           hia_function_signature(lanes[0].function), "arguments", arguments,
                           "elements", elements ? json_integer((json_int_t)elements) : NULL, "runs",
                           (json_int_t)options->runs, "agree", (int)is_same, "results", rows);
  if (!failed) return tool_json_print(root, 6);
  json_decref(root);
  return tool_fail(NULL, HIA_MEMORY);
}

int tool_bench(const tool_options *options) {
  if (options->curve.is_wanted) return tool_warmup_curve(options);
  tool_options own = *options;
  if (own.n_engines == 0)
    for (unsigned kind = HIA_ENGINE_JIT; kind <= HIA_ENGINE_EXPAND; kind++)
      own.engines[own.n_engines++] = (hia_engine_kind)kind;
  size_t n = own.n_engines * own.n_threads;
  lane *lanes = calloc(n, sizeof *lanes);
  if (!lanes) return tool_fail(NULL, HIA_MEMORY);
  int code = EXIT_FINE;
  for (size_t i = 0; i < n; i++) {
    lanes[i].kind = own.engines[i / own.n_threads];
    lanes[i].threads = own.threads[i % own.n_threads];
    if (code == EXIT_FINE) code = lane_open(&lanes[i], &own);
  }
  if (code == EXIT_FINE) code = measure(&own, lanes, n);
  bool is_same = true;
  if (code == EXIT_FINE) code = evaluate(&own, lanes, n, &is_same);
  if (code == EXIT_FINE) {
    if (options->json)
      code = report_json(&own, lanes, n, is_same);
    else
      report(&own, lanes, n);
    if (!is_same) {
      fputs("error: the engines disagree\n", stderr);
      code = EXIT_PROGRAM;
    }
  }
  for (size_t i = 0; i < n; i++) lane_close(&lanes[i], &own);
  free(lanes);
  return code;
}
