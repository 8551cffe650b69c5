/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* An engine of any kind with host functions, and a module that calls them. */
#ifndef HELPER_ENGINE_HOST_H
#define HELPER_ENGINE_HOST_H

#include "tests/unit/helpers/hosts.h"

#include <criterion/criterion.h>

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  hia_error *error;
} world;

static inline void end(world *w) {
  hia_error_free(w->error);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static inline hia_host_function host(const char *declaration, void (*function)(void)) {
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = declaration;
  f.function = function;
  return f;
}
#define HOST(declaration, f) host(declaration, (void (*)(void))(f))

static inline void add(world *w, hia_host_function f) {
  cr_assert_eq(hia_engine_register(w->engine, &f, &w->error), HIA_OK, "%s",
               hia_error_text(w->error));
}

static inline void load(world *w, const char *text) {
  cr_assert_eq(hia_module_load_text(w->engine, "t.hia", text, strlen(text), &w->module, &w->error),
               HIA_OK, "%s", hia_error_text(w->error));
}

static inline const char *text_of(const hia_value *value) {
  static char text[4096];
  hia_value_format(value, text, sizeof text);
  return text;
}

/* The result of main(), or its status. */
static inline const char *result_of(world *w) {
  hia_function *f;
  hia_value *result = NULL;
  static char text[4096];
  hia_error_free(w->error);
  cr_assert_eq(hia_module_function(w->module, "main", &f, &w->error), HIA_OK, "%s",
               hia_error_text(w->error));
  hia_status status = hia_call(f, NULL, 0, &result, &w->error);
  snprintf(text, sizeof text, "%s", status == HIA_OK ? text_of(result) : hia_status_word(status));
  hia_value_free(result);
  return text;
}

#define EACH_WAY(w, depth)                                                                         \
  for (size_t way = 0; way < N_HOSTS_WAYS; way++)                                                  \
    if (((w) = (world){.engine = hosts_engine(hosts_ways[way], depth)}).engine)

#endif
