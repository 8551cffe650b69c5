/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton profile. docs/profile.md describes what it prints. */
#include "tools/json.h"
#include <inttypes.h>

enum { MOST_LINES = 25, TEXT_WIDTH = 60 };

/* ---- running ---- */

typedef struct profiling {
  const tool_options *options;
  hia_profile *profile;
  hia_run_stats used; /* of the last run */
  uint64_t runs, ns;  /* of all runs */
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

/* ---- the table ---- */

static double percent(uint64_t ticks, const hia_profile_sum *sum) {
  return sum->ticks ? 100 * (double)ticks / (double)sum->ticks : 0;
}

static const char *tier_of(const profiling *p) {
  return p->used.tier == HIA_TIER_NATIVE ? "native code" : "interpreted";
}

static void print_text(const tool_options *options, const hia_profile_line *line) {
  const char *text;
  size_t len;
  if (!tool_source_line(options, line->file, line->line, &text, &len)) return;
  while (len && (*text == ' ' || *text == '\t')) text++, len--;
  printf("  %.*s", (int)(len < TEXT_WIDTH ? len : TEXT_WIDTH), text);
}

/* A row for each line, and those behind the first ones in sum. */
static int print_table(const profiling *p, const hia_profile_sum *sum) {
  hia_profile_line line = HIA_PROFILE_LINE_INIT;
  size_t width = 8;
  uint64_t n = sum->n_lines < MOST_LINES ? sum->n_lines : MOST_LINES;
  for (uint64_t i = 0; i < n && hia_profile_get_line(p->profile, i, &line) == HIA_OK; i++)
    if (strlen(line.function) > width) width = strlen(line.function);
  printf("%" PRIu64 " run%s in %.3f s, %s; %" PRIu64
         " samples, one every %.3g ms of each thread\n\n",
         p->runs, p->runs == 1 ? "" : "s", (double)p->ns / 1e9, tier_of(p), sum->ticks,
         (double)sum->tick_ns / 1e6);
  printf("%7s %7s  %-*s  line\n", "self", "total", (int)width, "function");
  for (uint64_t i = 0; i < n && hia_profile_get_line(p->profile, i, &line) == HIA_OK; i++) {
    printf("%6.1f%% %6.1f%%  %-*s  %s:%u", percent(line.self, sum), percent(line.total, sum),
           (int)width, line.function, line.file, (unsigned)line.line);
    print_text(p->options, &line);
    putchar('\n');
  }
  if (n < sum->n_lines) printf("and %" PRIu64 " more lines\n", sum->n_lines - n);
  if (sum->unknown)
    printf("%6.1f%%          before the first call of a run, or where nothing is known\n",
           percent(sum->unknown, sum));
  return EXIT_FINE;
}

/* ---- --json ---- */

static int print_json(const profiling *p, const hia_function *function,
                      const hia_profile_sum *sum) {
  json_t *lines = json_array();
  hia_profile_line line = HIA_PROFILE_LINE_INIT;
  int failed = 0;
  for (uint64_t i = 0; i < sum->n_lines; i++) {
    if (hia_profile_get_line(p->profile, i, &line) != HIA_OK) continue;
    failed |= json_array_append_new(
        lines, json_pack("{s:o, s:o, s:I, s:I, s:I}", "function", tool_json_text(line.function),
                         "file", tool_json_text(line.file), "line", (json_int_t)line.line, "self",
                         (json_int_t)line.self, "total", (json_int_t)line.total));
  }
  json_t *root =
      json_pack("{s:s, s:i, s:o, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "hiaton", hia_version(),
                "schema", 1, "file", tool_json_text(tool_source_name(p->options)), "function",
                tool_json_text(hia_function_signature(function)), "tier",
                p->used.tier == HIA_TIER_NATIVE ? "native" : "image", "runs", (json_int_t)p->runs,
                "ns", (json_int_t)p->ns, "tick_ns", (json_int_t)sum->tick_ns, "samples",
                (json_int_t)sum->ticks, "unknown", (json_int_t)sum->unknown, "lines", lines);
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
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  p.profile = hia_profile_new(NULL, 0);
  if (!p.profile) return tool_fail(NULL, HIA_MEMORY);
  int code = run_all(&p, function, args);
  if (code == EXIT_FINE) {
    hia_profile_get_sum(p.profile, &sum);
    code = options->json ? print_json(&p, function, &sum) : print_table(&p, &sum);
  }
  hia_profile_free(p.profile);
  return code;
}

int tool_profile(const tool_options *options) {
  hia_engine *engine = NULL;
  hia_module *module = NULL;
  hia_function *function;
  tool_arguments args = {0};
  hia_engine_kind kind = options->n_engines ? options->engines[0] : HIA_ENGINE_AUTO;
  int code = tool_load(options, kind, &engine, &module);
  if (code == EXIT_FINE) code = tool_function(options, module, &function);
  if (code == EXIT_FINE) code = tool_args(engine, &function, options, false, &args);
  if (code == EXIT_FINE) code = profile_function(options, function, &args);
  tool_free_args(&args, options->n_args);
  hia_module_free(module);
  hia_engine_free(engine);
  return code;
}
