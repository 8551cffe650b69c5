/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton run. */
#include "tools/tool.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* *may_compile becomes true if a compilation may still go on: of a run that was ended by a limit,
 * or of one that was over before its code was ready. */
static int run_function(const tool_options *options, hia_function *function,
                        const tool_arguments *args, hia_timeline *timeline, bool *may_compile) {
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  run_options.stats = &used;
  run_options.timeout_ns = options->timeout_ns;
  run_options.timeline = timeline;
  run_options.streams = args->streams;
  int code = tool_fuel(options, &run_options);
  if (code != EXIT_FINE) return code;
  hia_value *result;
  hia_error *error;
  reading read = {args, options->n_args};
  tool_progress_begin(function, say, &read);
  hia_status status =
      hia_run(function, args->values, options->n_args, &run_options, &result, &error);
  tool_progress_end();
  *may_compile = status == HIA_DEADLINE ||
                 (used.tier == HIA_TIER_IMAGE && used.run_ns > SHORT_NS && is_auto(options));
  code =
      status == HIA_OK ? tool_result(options->output, function, result) : tool_fail(error, status);
  tool_flush(); /* the result first, also where both outputs go to one place */
  if (options->time) {
    hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
    hia_function_get_stats(function, &cost);
    tool_report_compile(&cost);
    tool_report_phase("run", used.run_ns, is_auto(options) ? tier_of(&used) : "");
    tool_report_phase("of which", used.interpreted_ns, "interpreted, before native code was ready");
    tool_report_use(&cost, &used);
  }
  if ((options->engine.flags & HIA_FLAG_COUNT) && used.run_ns) tool_count(stderr, options, &used);
  int trace = timeline ? tool_trace_end(options->trace, timeline) : EXIT_FINE;
  if (code == EXIT_FINE) code = trace;
  hia_value_free(result);
  return code;
}

int tool_run(const tool_options *options) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function;
  hia_timeline *timeline;
  tool_arguments args = {0};
  hia_engine_kind kind = kind_of(options);
  bool may_compile = false;
  int code = tool_trace_begin(options->trace, &timeline);
  if (code == EXIT_FINE) code = tool_result_begin(options->output);
  if (code == EXIT_FINE) code = tool_load(options, kind, &engine, &module);
  if (code == EXIT_FINE) code = tool_function(options, module, &function);
  if (code == EXIT_FINE) code = tool_args(engine, &function, options, true, &args);
  if (code == EXIT_FINE) code = tool_result_fits(options->output, function);
  if (code == EXIT_FINE) code = run_function(options, function, &args, timeline, &may_compile);
  if (may_compile) { /* ends the process without waiting for that compilation */
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
