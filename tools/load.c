/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The engine, the module and the function of a command, and what a run of it may use. */
#include "tools/tool.h"
#include <inttypes.h>

const char *tool_engine_name(hia_engine_kind kind) {
  switch (kind) {
  case HIA_ENGINE_JIT: return "jit";
  case HIA_ENGINE_INTERP: return "interp";
  case HIA_ENGINE_EXPAND: return "expand";
  case HIA_ENGINE_AUTO: return "auto";
  }
  return "?";
}

int tool_open(const tool_options *options, hia_engine_kind kind, hia_engine **engine) {
  hia_error *error;
  hia_engine_options engine_options = options->engine;
  engine_options.kind = kind;
  if (options->command & (RUN | TRAIN | GRADIENTS | PROFILE) || tool_has(options, OPT_CACHE))
    engine_options.cache = tool_cache_folder(options);
  hia_status status = hia_engine_new(&engine_options, engine, &error);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

/* What --seed, --params and --save-params say. */
static int set_params(const tool_options *options, hia_module *module) {
  hia_error *error = NULL;
  hia_status status = HIA_OK;
  hia_params *params = hia_module_params(module);
  if (!options->has_seed && !options->params && !options->save_params) return EXIT_FINE;
  /* There --seed also chooses elements. */
  if (options->command == GRADIENTS && !options->params && !hia_params_count(params))
    return EXIT_FINE;
  if (!hia_params_count(params)) {
    fprintf(stderr, "--%s is for params: the program has none\n",
            options->params     ? "params"
            : options->has_seed ? "seed"
                                : "save-params");
    return EXIT_USAGE;
  }
  if (options->params)
    status =
        (options->converts ? hia_params_convert : hia_params_load)(params, options->params, &error);
  else if (options->has_seed && options->command != BUILD) /* what is built makes them */
    status = hia_params_seed(params, options->seed, &error);
  if (status == HIA_OK && options->save_params)
    status = hia_params_save(params, options->save_params, &error);
  return status == HIA_OK ? EXIT_FINE : tool_fail(error, status);
}

int tool_load(const tool_options *options, hia_engine_kind kind, hia_engine **engine,
              hia_module **module) {
  *module = NULL;
  int code = tool_open(options, kind, engine);
  if (code == EXIT_FINE) code = tool_source_load(options, *engine, module);
  return code == EXIT_FINE ? set_params(options, *module) : code;
}

int tool_function(const tool_options *options, hia_module *module, hia_function **function) {
  hia_error *error;
  const char *name = options->n_functions ? options->functions[0] : "main";
  hia_status status = hia_module_function(module, name, function, &error);
  if (status == HIA_OK) return EXIT_FINE;
  int code = tool_fail(error, status);
  if (status == HIA_NOT_FOUND && options->n_functions == 0)
    fputs("      = hint: --fn NAME runs another function\n", stderr);
  return code;
}

/* True if the outermost call counts as one of the program: with --fn the call NAME(ARG...) does.
 * Main and an expression are called by the system, not by the source. */
static bool is_call(const tool_options *options) {
  return options->n_functions > 0 && !options->expression &&
         strncmp(options->functions[0], "main(", 5) != 0 &&
         strcmp(options->functions[0], "main") != 0;
}

uint64_t tool_calls(const tool_options *options, const hia_run_stats *used) {
  return used->calls + is_call(options);
}

int tool_fuel(const tool_options *options, hia_run_options *run) {
  bool is_one = is_call(options);
  if (!options->has_fuel) return EXIT_FINE;
  if (options->fuel < is_one) return tool_fail(NULL, HIA_FUEL);
  run->has_fuel = true;
  run->fuel = options->fuel - is_one;
  return EXIT_FINE;
}

void tool_count(FILE *file, const tool_options *options, const hia_run_stats *used) {
  if (used->is_counted)
    fprintf(file, "%" PRIu64 " calls, %" PRIu64 " loop rounds\n", tool_calls(options, used),
            used->rounds);
  else
    fputs("calls are not known: the graph was dumped without --count\n", file);
}
