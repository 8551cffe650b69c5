/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* hiaton dump. */
#include "tools/tool.h"

int tool_dump(const tool_options *options) {
  hia_engine *engine;
  hia_module *module;
  hia_function *functions[MAX_FUNCTIONS];
  /* Showing a call requires only its declaration. */
  tool_options own = *options;
  own.engine.flags &= ~(uint32_t)HIA_FLAG_PROCESS_SYMBOLS;
  own.engine.flags |= HIA_FLAG_LINK_EXTERNS;
  hia_batching batching = options->engine.batching;
  bool is_interpreted = batching == HIA_BATCH_DEPTH || batching == HIA_BATCH_AGENDA;
  hia_engine_kind kind = is_interpreted ? HIA_ENGINE_INTERP : HIA_ENGINE_JIT;
  int code = tool_load(&own, kind, &engine, &module);
  hia_error *error;
  for (size_t i = 0; code == EXIT_FINE && i < options->n_functions; i++) {
    hia_status status = hia_module_function(module, options->functions[i], &functions[i], &error);
    if (status != HIA_OK) code = tool_fail(error, status);
  }
  if (code == EXIT_FINE) {
    hia_status status = hia_module_dump(module, functions, options->n_functions, &options->dump,
                                        tool_print, NULL, &error);
    if (status == HIA_IO) { /* the reason is reported at the end */
      hia_error_free(error);
      code = EXIT_PROGRAM;
    } else if (status != HIA_OK) {
      code = tool_fail(error, status);
    }
  }
  hia_module_free(module);
  hia_engine_free(engine);
  return code;
}
