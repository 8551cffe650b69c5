/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs made by the builder, for its tests: a builder with its engine, its text, and runs of the
 * module that it makes. */
#ifndef HIA_HELPER_BUILDER_H
#define HIA_HELPER_BUILDER_H

#include "tests/unit/helpers/text.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

typedef hia_build_value value;

typedef struct world {
  hia_engine *engine;
  hia_builder *b;
  hia_module *module;
  test_text text;
} world;

static inline world open_world_of(hia_engine_kind kind) {
  world w = {0};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  cr_assert_eq(hia_engine_new(&options, &w.engine, NULL), HIA_OK);
  cr_assert_eq(hia_builder_new(w.engine, "built.hia", &w.b, NULL), HIA_OK);
  return w;
}

static inline world open_world(void) { return open_world_of(HIA_ENGINE_INTERP); }

static inline void close_world(world *w) {
  test_text_free(&w->text);
  hia_module_free(w->module);
  hia_builder_free(w->b);
  hia_engine_free(w->engine);
}

static inline const char *print(world *w) {
  hia_error *error;
  w->text.len = 0;
  test_text_take(&w->text, "", 0);
  hia_status status = hia_builder_print(w->b, test_text_take, &w->text, &error);
  cr_assert_eq(status, HIA_OK, "%s", hia_error_text(error));
  return w->text.data;
}

static inline void expect_text(world *w, const char *expected) {
  const char *text = print(w);
  cr_assert_str_eq(text, expected, "printed:\n%s\nexpected:\n%s", text, expected);
}

static inline void finish(world *w) {
  hia_error *error;
  hia_module_free(w->module);
  hia_status status = hia_builder_finish(w->b, &w->module, &error);
  cr_assert_eq(status, HIA_OK, "%s\n%.3000s", hia_error_text(error), print(w));
}

/* Calls a function of the module with one argument, or none if it is NULL; prints the result. */
static inline const char *run(world *w, const char *name, hia_value *arg) {
  static char result[512];
  hia_function *function;
  hia_value *out;
  hia_error *error;
  cr_assert_eq(hia_module_function(w->module, name, &function, NULL), HIA_OK);
  hia_status status = hia_call(function, &arg, arg != NULL, &out, &error);
  if (status == HIA_OK)
    hia_value_format(out, result, sizeof result);
  else
    snprintf(result, sizeof result, "%s", hia_error_text(error));
  hia_value_free(out);
  hia_value_free(arg);
  hia_error_free(error);
  return result;
}

/* The program of the header. */
static inline void build_fact(hia_builder *b) {
  hia_build_fn fact = hia_build_declare(b, "fact(n: i64) -> i64");
  hia_build_begin(b, fact);
  value n = hia_build_param(b, fact, 0), one = hia_build_i64(b, 1);
  hia_build_if(b, hia_build_le(b, n, one));
  hia_build_else(b, one);
  value less = hia_build_sub(b, n, one);
  value rest = hia_build_call(b, fact, &less, 1);
  hia_build_return(b, hia_build_end_if(b, hia_build_mul(b, n, rest)));
}

static inline uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

#endif
