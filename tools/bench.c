/* hiaton bench: compile and run time of one call, engines and numbers of threads side by side. */
#include "tools/tool.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct series {
  double *ms; /* `runs` of them */
  size_t n;
} series;

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static bool series_init(series *s, unsigned runs) {
  s->n = 0;
  s->ms = calloc(runs, sizeof *s->ms);
  return s->ms != NULL;
}

/* Prints the median, the fastest and the slowest; answers the median. */
static double series_print(series *s) {
  qsort(s->ms, s->n, sizeof *s->ms, compare);
  double median = s->n % 2 ? s->ms[s->n / 2] : (s->ms[s->n / 2 - 1] + s->ms[s->n / 2]) / 2;
  printf(" %10.3f  %10.3f %10.3f ", median, s->ms[0], s->ms[s->n - 1]);
  return median;
}

/* One engine with its threads: the module stays loaded, and each measured compilation is of a
 * module loaded anew. */
typedef struct lane {
  hia_engine_kind kind;
  unsigned threads;
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
  hia_value **args;
  series compile, run;
  hia_run_stats used;
  char result[64];
} lane;

static uint64_t compile_time(const hia_function_stats *s) {
  return s->parse_ns + s->check_ns + s->build_ns + s->passes_ns + s->flatten_ns + s->emit_ns +
         s->optimize_ns + s->codegen_ns;
}

/* A call, which compiles if nothing has yet. */
static int call(lane *l, size_t n_args) {
  hia_run_options run_options = HIA_RUN_OPTIONS_INIT;
  hia_run_stats used = HIA_RUN_STATS_INIT;
  run_options.stats = &used;
  hia_value *result;
  hia_error *error;
  hia_status status = hia_run(l->function, l->args, n_args, &run_options, &result, &error);
  if (status != HIA_OK) return tool_fail(error, status);
  hia_value_format(result, l->result, sizeof l->result);
  hia_value_free(result);
  l->used = used;
  return EXIT_FINE;
}

static hia_status load(const tool_options *options, hia_engine *engine, hia_module **module,
                       hia_error **error) {
  return options->from_ir ? hia_module_load_ir_file(engine, options->file, module, error)
                          : hia_module_load_file(engine, options->file, module, error);
}

/* Loads the file anew, so that everything is done again; `name` is that of an instance. */
static int measure_compile(const tool_options *options, lane *l, const char *name) {
  hia_error *error = NULL;
  hia_module *module;
  hia_function *function;
  hia_status status = load(options, l->engine, &module, &error);
  if (status == HIA_OK) status = hia_module_function(module, name, &function, &error);
  if (status == HIA_OK) status = hia_function_prepare(function, &error);
  if (status == HIA_OK) {
    hia_function_stats cost = HIA_FUNCTION_STATS_INIT;
    hia_function_get_stats(function, &cost);
    l->compile.ms[l->compile.n++] = (double)compile_time(&cost) / 1e6;
  }
  hia_module_free(module);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

static int lane_open(lane *l, const tool_options *options) {
  if (!series_init(&l->compile, options->runs) || !series_init(&l->run, options->runs))
    return tool_fail(NULL, HIA_MEMORY);
  tool_options own = *options;
  own.engine.threads = l->threads;
  int code = tool_load(&own, l->kind, &l->engine, &l->module);
  if (code == EXIT_FINE) code = tool_function(options, l->module, &l->function);
  if (code == EXIT_FINE) code = tool_args(l->function, options, &l->args);
  if (code == EXIT_FINE) code = tool_instance(&l->function, l->args, options->n_args);
  return code;
}

static void lane_close(lane *l, const tool_options *options) {
  tool_free_args(l->args, options->n_args);
  hia_module_free(l->module);
  hia_engine_free(l->engine);
  free(l->compile.ms);
  free(l->run.ms);
}

/* One call to warm up, then the engines in turn, so that a slower moment of the machine meets all.
 */
static int measure(const tool_options *options, lane *lanes, size_t n) {
  int code = EXIT_FINE;
  for (size_t i = 0; code == EXIT_FINE && i < n; i++) code = call(&lanes[i], options->n_args);
  for (unsigned k = 0; code == EXIT_FINE && k < options->runs; k++)
    for (size_t i = 0; code == EXIT_FINE && i < n; i++) {
      lane *l = &lanes[i];
      code = measure_compile(options, l, hia_function_name(l->function));
      if (code == EXIT_FINE) code = call(l, options->n_args);
      if (code == EXIT_FINE) l->run.ms[l->run.n++] = (double)l->used.run_ns / 1e6;
    }
  return code;
}

static int report(const tool_options *options, lane *lanes, size_t n) {
  bool has_several = options->n_threads > 1;
  printf("%s, %u run%s of each engine; milliseconds\n\n", hia_function_signature(lanes[0].function),
         options->runs, options->runs == 1 ? "" : "s");
  printf("engine  threads     compile     fastest    slowest         run     fastest    slowest %s"
         "  result\n",
         has_several ? " speed-up  efficiency" : "");
  bool is_same = true;
  double first = 0; /* the median of the engine's first number of threads */
  for (size_t i = 0; i < n; i++) {
    lane *l = &lanes[i];
    printf("%-7s %7u ", tool_engine_name(l->kind), l->threads);
    series_print(&l->compile);
    double run = series_print(&l->run);
    if (i % options->n_threads == 0) first = run;
    /* The efficiency is what each thread does, of what each did with the first number of them. */
    if (has_several)
      printf(" %7.2fx  %10.3f", first / run, first / run * options->threads[0] / l->threads);
    printf("  %s\n", l->result);
    is_same &= strcmp(l->result, lanes[0].result) == 0;
  }
  if (options->engine.count) {
    puts("");
    tool_count(stdout, options, &lanes[0].used);
  }
  if (is_same) return EXIT_FINE;
  fputs("error: the engines disagree\n", stderr);
  return EXIT_PROGRAM;
}

int tool_bench(const tool_options *options) {
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
  if (code == EXIT_FINE) code = report(&own, lanes, n);
  for (size_t i = 0; i < n; i++) lane_close(&lanes[i], &own);
  free(lanes);
  return code;
}
