/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A program in an engine of its own, for tests of the public API. */
#ifndef HIA_HELPER_PROGRAM_H
#define HIA_HELPER_PROGRAM_H

#include <hiaton/hiaton.h>

#include <criterion/criterion.h>

typedef struct program {
  hia_engine *engine;
  hia_module *module;
  hia_function *function;
} program;

static inline bool has_native(void) {
  hia_engine *engine = NULL;
  bool has =
      hia_engine_new(NULL, &engine, NULL) == HIA_OK && hia_engine_native(engine, NULL) == HIA_OK;
  hia_engine_free(engine);
  return has;
}

/* The function `name` of a text, which must be correct. */
static inline program open_program(const hia_engine_options *options, const char *text,
                                   const char *name) {
  program p;
  hia_error *error;
  cr_assert_eq(hia_engine_new(options, &p.engine, &error), HIA_OK);
  cr_assert_eq(hia_module_load_text(p.engine, "t.hia", text, strlen(text), &p.module, &error),
               HIA_OK, "%s", hia_error_text(error));
  cr_assert_eq(hia_module_function(p.module, name, &p.function, &error), HIA_OK);
  return p;
}

static inline void close_program(program *p) {
  hia_module_free(p->module);
  hia_engine_free(p->engine);
}

#endif
