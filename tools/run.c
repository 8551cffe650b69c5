/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton run. */
#include "tools/tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much of the streams has been read. */
typedef struct reading {
  const tool_arguments *args;
  size_t n;
} reading;

static void say(void *user, char *text, size_t size) {
  const reading *r = user;
  if (size) text[0] = 0;
  for (size_t i = 0; r->args->streams && i < r->n; i++) {
    const hia_stream *stream = r->args->streams[i];
    if (!stream) continue;
    int len = snprintf(text, size, ", %" PRIu64 " of %" PRIu64, hia_stream_position(stream),
                       hia_stream_len(stream));
    if (len < 0 || (size_t)len >= size) return;
    text += len;
    size -= (size_t)len;
  }
}

/* The engine compiles nothing for runs that are as short as this. */
#define SHORT_NS 500000

static hia_engine_kind kind_of(const tool_options *options) {
  return options->n_engines ? options->engines[0] : HIA_ENGINE_AUTO;
}
static bool is_auto(const tool_options *options) { return kind_of(options) == HIA_ENGINE_AUTO; }

static const char *tier_of(const hia_run_stats *used) {
  return used->tier == HIA_TIER_NATIVE  ? "in native code"
         : used->tier == HIA_TIER_IMAGE ? "interpreted"
                                        : "";
}

/* A run, or several with the same arguments. */
typedef struct running {
  const tool_options *options;
  hia_module *module;
  hia_function *function;
  const tool_arguments *args;
  hia_run_options run;
  hia_run_stats used; /* of the last run */
  hia_value *result;  /* likewise; NULL: it has failed */
} running;

/* Runs it until it fails, and as often as it is to be run at most. */
static hia_status run_all(running *r, hia_error **error) {
  hia_status status = HIA_OK;
  r->run.stats = &r->used;
  for (uint64_t i = 0; i < r->options->repeat && status == HIA_OK; i++) {
    hia_value_free(r->result);
    status = hia_run(r->function, r->args->values, r->options->n_args, &r->run, &r->result, error);
  }
  return status;
}

/* True if a compilation may still go on: of a run that was ended by a limit, of one that was over
 * before its code was ready, or of a version for the arguments of several runs. */
static bool may_compile(const running *r, hia_status status) {
  const tool_options *o = r->options;
  if (status == HIA_DEADLINE) return true;
  bool is_long = r->used.run_ns > SHORT_NS || o->repeat > 1;
  bool is_last = r->used.tier == HIA_TIER_NATIVE && (o->repeat == 1 || r->used.version);
  return is_auto(o) && is_long && !is_last;
}

static void report(const running *r) {
  const tool_options *options = r->options;
  if (options->time) {
    hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
    hia_function_get_stats(r->function, &cost);
    tool_report_compile(&cost);
    tool_report_phase("run", r->used.run_ns, is_auto(options) ? tier_of(&r->used) : "");
    tool_report_phase("of which", r->used.interpreted_ns,
                      "interpreted, before native code was ready");
    tool_report_use(&cost, &r->used);
  }
  if ((options->engine.flags & HIA_FLAG_COUNT) && r->used.run_ns)
    tool_count(stderr, options, &r->used);
}

/* *is_compiling: see may_compile. */
static int run_function(const tool_options *options, hia_module *module, hia_function *function,
                        const tool_arguments *args, hia_timeline *timeline, bool *is_compiling) {
  running r = {.options = options,
               .module = module,
               .function = function,
               .args = args,
               .run = HIA_RUN_OPTIONS_INIT,
               .used = HIA_RUN_STATS_INIT};
  r.run.timeout_ns = options->timeout_ns;
  r.run.timeline = timeline;
  r.run.streams = args->streams;
  int code = tool_fuel(options, &r.run);
  if (code != EXIT_FINE) return code;
  hia_error *error;
  reading read = {args, options->n_args};
  tool_progress_begin(function, say, &read);
  hia_status status = run_all(&r, &error);
  tool_progress_end();
  *is_compiling = may_compile(&r, status);
  code = status == HIA_OK ? tool_result(options->output, function, r.result)
                          : tool_fail(error, status);
  tool_flush(); /* the result first, also where both outputs go to one place */
  report(&r);
  int explained = options->explains ? tool_explain_run(options, module, function) : EXIT_FINE;
  int trace = timeline ? tool_trace_end(options->trace, timeline) : EXIT_FINE;
  if (code == EXIT_FINE) code = explained != EXIT_FINE ? explained : trace;
  hia_value_free(r.result);
  return code;
}

int tool_run(const tool_options *options) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function;
  hia_timeline *timeline;
  tool_arguments args = {0};
  hia_engine_kind kind = kind_of(options);
  bool is_compiling = false;
  int code = tool_trace_begin(options->trace, &timeline);
  if (code == EXIT_FINE) code = tool_result_begin(options->output);
  if (code == EXIT_FINE) code = tool_load(options, kind, &engine, &module);
  if (code == EXIT_FINE) code = tool_function(options, module, &function);
  if (code == EXIT_FINE) code = tool_args(engine, &function, options, true, &args);
  if (code == EXIT_FINE) code = tool_result_fits(options->output, function);
  if (code == EXIT_FINE)
    code = run_function(options, module, function, &args, timeline, &is_compiling);
  if (is_compiling) { /* ends the process without waiting for that compilation */
    tool_flush();
    fflush(stderr);
    _Exit(code);
  }
  tool_free_args(&args, options->n_args);
  hia_module_free(module);
  hia_engine_free(engine);
  hia_timeline_free(timeline);
  return code;
}
