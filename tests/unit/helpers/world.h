/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Compiling graphs to native code and running them, below the engine. */
#ifndef HIA_TEST_WORLD_H
#define HIA_TEST_WORLD_H

#include "graph/analysis/effects.h"
#include "graph/passes/passes.h"
#include "jit/llvm/backend.h"
#include "runtime/native/sanitizer.h"
#include "tests/unit/helpers/graphs.h"

typedef struct world {
  env e;
  hia_session *session;
  hia_context *context;
  hia_graph *g;
  hia_code *code;
  hia_unwinder unwinder;
  hia_failure failure;
  hia_usage usage;
  hia_error *error; /* of a request that was to succeed */
} world;

static inline const char *said(const hia_error *error) {
  return error ? hia_error_message(error, 0) : "nothing";
}

static inline void world_init(world *w) {
  memset(w, 0, sizeof *w);
  env_init(&w->e);
  cr_assert_eq(hiaJ_backend.open(&hiaR_malloc, &w->session, &w->error), HIA_OK, "%s",
               said(w->error));
  cr_assert_eq(hiaR_context_new(&hiaR_malloc, &w->context), HIA_OK);
}

static inline void drop_code(world *w) {
  if (w->code) hiaJ_backend.release(w->session, w->code);
  w->code = NULL;
}

static inline void world_free(world *w) {
  drop_code(w);
  hiaR_context_free(w->context);
  hiaJ_backend.close(w->session);
  hia_error_free(w->error);
  hiaR_comp_free(&w->e.comp);
}

static inline const hia_image_loc *image_locs(world *w, const hia_graph *g) {
  hia_image_loc *locs = HIA_NEW_ARRAY(&w->e.comp.arena, hia_image_loc, g->locs.len + 1);
  for (uint32_t i = 0; i < g->locs.len; i++) {
    const hia_loc *l = &g->locs.data[i];
    locs[i] = (hia_image_loc){l->line, l->col, l->fn, l->parent};
  }
  return locs;
}

/* Tags without any pass before, so that lowering gets the graph of the text. */
static inline hia_graph *graph_of(world *w, const char *text) {
  hia_graph *g = read_text(&w->e, text);
  if (g->state == HIA_FUNCTIONS) {
    hiaG_effects(g);
    hiaG_tag(g);
  }
  const char *defect = hiaG_verify(g);
  cr_assert(!defect, "%s", defect);
  return g;
}

static inline void compile_graph(world *w, hia_graph *g, int level) {
  drop_code(w);
  hia_compile_options options = {.level = level};
#if defined(HIA_ASAN) || defined(HIA_TSAN)
  options.sanitize = true;
#endif
  hia_compile_report report;
  hia_status status = hiaJ_backend.compile(w->session, g, &options, &w->code, &report, &w->error);
  cr_assert_eq(status, HIA_OK, "level %d: %s", level, said(w->error));
  cr_assert_gt(report.code_bytes, 0);
  w->g = g;
  w->unwinder = *hiaJ_backend.unwinder(w->code);
  w->unwinder.locs = image_locs(w, g);
}

static inline void compile_text(world *w, const char *text, int level) {
  compile_graph(w, graph_of(w, text), level);
}

static inline hia_fn_id root_of(const hia_graph *g, const char *source) {
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    if (hiaG_fn(g, f)->is_root && !strcmp(g->names.data[hiaG_fn(g, f)->source], source)) return f;
  cr_assert_fail("no root %s", source);
  return HIA_NONE;
}

static inline hia_status run(world *w, const char *fn, hia_word *block, size_t depth) {
  hia_native_entry entry = hiaJ_backend.entry(w->code, root_of(w->g, fn));
  cr_assert(entry != NULL);
  hia_limits limits = {.depth = depth};
  return hiaR_native_run(w->context, entry, block, &w->unwinder, &limits, &w->failure, &w->usage);
}

/* The chain as "line:col line:col ...", innermost first. */
static inline const char *chain(world *w) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  const hia_backtrace *trace = &w->failure.backtrace;
  for (uint64_t i = 0; i < trace->length && i < 2 * HIA_BACKTRACE_ENDS; i++) {
    hia_loc_id loc = hiaR_backtrace_entry(trace, i);
    hiaR_text_addf(&t, "%s%u:%u", i ? " " : "", loc == HIA_NONE ? 0 : w->g->locs.data[loc].line,
                   loc == HIA_NONE ? 0 : w->g->locs.data[loc].col);
  }
  return t.data ? t.data : "";
}

/* In slow configurations the lowest level and the highest: a compilation with instrumented code
 * takes long. */
#define LEVELS_APART (HIA_TEST_SHARE > 4 ? 4 : HIA_TEST_SHARE > 1 ? 3 : 1)

#define LEVELS(w, ...)                                                                             \
  do {                                                                                             \
    world w_;                                                                                      \
    world *w = &w_;                                                                                \
    for (int level = 0; level <= 3; level += LEVELS_APART) {                                       \
      world_init(w);                                                                               \
      __VA_ARGS__                                                                                  \
      world_free(w);                                                                               \
    }                                                                                              \
  } while (0)

#endif
