/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What hiaton makes of a module, and what it does: the stages of compilation as text or as a
 * picture, and timelines of runs. hiaton.h includes it. */
#ifndef HIATON_DUMP_H
#define HIATON_DUMP_H

#include <hiaton/engine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- dumps ---- */

typedef enum hia_stage {
  HIA_STAGE_AST = 0,            /* the syntax tree with the types found */
  HIA_STAGE_GRAPH = 1,          /* function graphs, as built or after a pass */
  HIA_STAGE_STATIC = 2,         /* the one static, tagged graph */
  HIA_STAGE_LLVM = 3,           /* LLVM IR as made from it */
  HIA_STAGE_LLVM_OPTIMIZED = 4, /* LLVM IR after LLVM's passes */
  HIA_STAGE_ASM = 5,            /* assembly */
  HIA_STAGE_TAPE = 6,    /* what gradients keep of each call, and why (docs/gradients.md). Of a
                            function that computes no gradient: of its own, for training */
  HIA_STAGE_BATCHES = 7, /* what native code computes for many calls at a time, where it waits for
                            that, and why other products are computed alone (docs/batching.md) */
} hia_stage;

typedef enum hia_format { HIA_FORMAT_TEXT = 0, HIA_FORMAT_DOT = 1 } hia_format;

typedef struct hia_dump_options {
  size_t size;
  hia_stage stage;
  hia_format format; /* DOT (Graphviz): AST, GRAPH and STATIC only */
  bool fuel;         /* show the stage for runs with fuel (hia_run_options) */
  const char *after; /* HIA_STAGE_GRAPH: the graph as this pass leaves it; NULL: as built */
} hia_dump_options;
#define HIA_DUMP_OPTIONS_INIT                                                                      \
  {sizeof(hia_dump_options), HIA_STAGE_STATIC, HIA_FORMAT_TEXT, false, NULL}

/* Writes one stage of the compilation of a module: for the given functions and all functions that
 * they call, or, if n is 0, for every function whose types are known. `options` may be NULL for the
 * defaults. The dump builds a graph of its own and frees it before it returns; other threads may
 * use the module meanwhile. HIA_ARGUMENT if a function is generic or of another module, if there is
 * no such stage or pass, or if the stage has no such format; HIA_UNSUPPORTED for LLVM's stages
 * without native compilation, and for fuel as in hia_run. */
HIA_API hia_status hia_module_dump(hia_module *module, hia_function *const *functions, size_t n,
                                   const hia_dump_options *options, hia_write write, void *user,
                                   hia_error **error);

/* ---- timelines ---- */

/* A timeline may be passed to any number of runs (hia_run_options), also to several at once. Each
 * thread that takes part records what it does: which jobs it serves to thieves, steals and joins,
 * and when it is idle. It also records compiling that happens after the timeline was made and for
 * a run that has it. Code gets no slower by it; a steal does, by at most eight events of some 40
 * ns each, on the threads that serve, steal and join.
 *
 * A timeline keeps the newest `events` of each thread (rounded up to a power of two; 0: 65536), 16
 * bytes each. `allocator` is copied; NULL: malloc. Returns NULL when out of memory. */
HIA_API hia_timeline *hia_timeline_new(const hia_allocator *allocator, size_t events);
/* No run may use it any more. Its engines and modules may have been freed before. */
HIA_API void hia_timeline_free(hia_timeline *timeline);
/* The number of events that newer ones have overwritten. */
HIA_API uint64_t hia_timeline_dropped(hia_timeline *timeline);
/* Writes it in Chrome's trace format (JSON), for ui.perfetto.dev or chrome://tracing. It may be
 * written again, and passed to more runs. HIA_ARGUMENT if a run is recording to it now, HIA_IO if
 * `write` returned false. */
HIA_API hia_status hia_timeline_write(hia_timeline *timeline, hia_write write, void *user,
                                      hia_error **error);

#ifdef __cplusplus
}
#endif

#endif
