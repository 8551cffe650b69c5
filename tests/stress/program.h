/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the programs of tests/stress: a program's text in an engine, and mistakes. */
#ifndef STRESS_PROGRAM_H
#define STRESS_PROGRAM_H

#include <hiaton/hiaton.h>
#include <stdio.h>
#include <stdlib.h>

/* Reports a mistake; the program goes on, and ends with status 1. */
static int n_failed __attribute__((unused));
#define FAIL(...)                                                                                  \
  do {                                                                                             \
    printf("FAIL " __VA_ARGS__);                                                                   \
    printf("\n");                                                                                  \
    n_failed++;                                                                                    \
  } while (0)

typedef struct loaded {
  hia_engine *engine;
  hia_module *module;
} loaded;

static inline void stop_with(const hia_error *error) {
  printf("%s", hia_error_text(error));
  exit(1);
}

static inline loaded load_text(const hia_engine_options *options, const char *name,
                               const char *text, size_t size) {
  loaded l = {NULL, NULL};
  hia_error *error = NULL;
  if (hia_engine_new(options, &l.engine, &error) != HIA_OK ||
      hia_module_load_text(l.engine, name, text, size, &l.module, &error) != HIA_OK)
    stop_with(error);
  return l;
}

static inline void unload(loaded l) {
  hia_module_free(l.module);
  hia_engine_free(l.engine);
}

/* Finds a function and makes it ready to run, while the allocator still has memory. */
static inline hia_function *find(loaded l, const char *name) {
  hia_function *f = NULL;
  hia_error *error = NULL;
  if (hia_module_function(l.module, name, &f, &error) != HIA_OK ||
      hia_function_prepare(f, &error) != HIA_OK)
    stop_with(error);
  return f;
}

#endif
