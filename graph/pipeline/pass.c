/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: what happens to a program between its frontend and its engines.
 *
 *   text, builder ──► frontend ──► function graphs
 *                                       │
 *                                      grad        gradients become calls
 *                                     [trap]       only if NaN is to be found
 *                                    elements      what failures say of comprehensions
 *                               [fuel] [streams]   only in runs with fuel, with streams
 *                                  sweep effects   what functions may do, recursive groups
 *                               copy fold cse dce  scalar optimisation
 *                                     inline       small functions that are not recursive
 *                                       │
 *                                    [batch]       native code: segments for many activations
 *                                    [halve]       comprehensions that threads share
 *                                   fill, map      comprehensions become loops
 *                                       │          native code only:
 *                                     merge        equal calls are made once
 *                             [sink] [pair] [fork] loops that call; calls: latent forks
 *                                      cons        tail recursion modulo constructors
 *                                     unroll       recursive inlining
 *                                       │
 *                                      tail        tail calls of a group become loops
 *                                 effects inline   functions with one call, now loops
 *                               copy fold cse dce  again
 *                               sweep effects reads
 *                                      fuse        native code only: fused kernels
 *                                      refs        native code only: counts of references
 *                                      tag         Call, Return, Merge, Switch
 *                                       ▼
 *                                  static graph
 *                         ┌─────────────┴──────────────┐
 *                      flatten                       lower ──► LLVM at -O0 to -O3
 *                         ▼                            ▼
 *                       image                  native code, object files
 *                    ┌────┴────┐               ┌───────┴────────┐
 *                 interp    expand            jit          ahead of time
 *
 * The level of -O is LLVM's alone: the passes of this table are the same at all levels. --no-pass
 * switches a pass off, dump --after shows the graph as it leaves it, and debug builds verify the
 * graph after each pass. All of that, and --help, reads the table below. */
#include "graph/pipeline/pass.h"
#include "graph/analysis/effects.h"
#include "graph/batch/batch.h"
#include "graph/grad/grad.h"
#include "graph/ir/graph.h"
#include "graph/passes/passes.h"
#include "graph/refs/refs.h"
#include "graph/verify/verify.h"

#define FN(name, run_fn, doc)                                                                      \
  {name, doc, HIA_PASS_FN, {.fn = run_fn}, false, HIA_USE_ALL, false, HIA_FOR_ALL}
#define GRAPH(name, run_graph, is_required, doc)                                                   \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, is_required, HIA_USE_ALL, false, HIA_FOR_ALL}
#define NATIVE(name, run_graph, use, doc)                                                          \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, false, use, false, HIA_FOR_ALL}
#define MAPS(name, run_graph, use, doc)                                                            \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, false, use, true, HIA_FOR_ALL}
/* Without counts every `set` copies its array, and nothing is freed before the run ends: programs
 * that need not more than a bit of memory would need that of all their rounds. */
#define COUNTS(name, run_graph, doc)                                                               \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, true, HIA_USE_NATIVE, true, HIA_FOR_ALL}
#define FUEL(name, run_graph, doc)                                                                 \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, true, HIA_USE_ALL, false, HIA_FOR_FUEL}
#define STREAM(name, run_graph, doc)                                                               \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, true, HIA_USE_ALL, false, HIA_FOR_STREAMS}
#define BATCH(name, run_graph, doc)                                                                \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, false, HIA_USE_NATIVE, false, HIA_FOR_BATCHES}
#define TRAP(name, run_graph, doc)                                                                 \
  {name, doc, HIA_PASS_GRAPH, {.graph = run_graph}, true, HIA_USE_ALL, false, HIA_FOR_TRAPS}

const hia_pass hiaG_passes[] = {
    GRAPH("grad", hiaG_grad, true, "gradients become calls"),
    TRAP("trap", hiaG_trap, "operations that make NaN fail (--trap-nan)"),
    GRAPH("elements", hiaG_elements, true, "failures say of which element they are"),
    FUEL("fuel", hiaG_fuel, "calls and loop rounds use up fuel (--fuel)"),
    STREAM("streams", hiaG_streams, "elements of arguments may lie in files"),
    GRAPH("sweep", hiaG_sweep, false, "functions that no root reaches"),
    GRAPH("effects", hiaG_effects, true, "what functions may do, and their recursive groups"),
    FN("copy", hiaG_copy, "copies of values"),
    FN("fold", hiaG_fold, "constants, identities, known branches"),
    FN("cse", hiaG_cse, "operations that were done before"),
    FN("dce", hiaG_dce, "values that are not used"),
    GRAPH("inline", hiaG_inline, false, "small functions that are not recursive"),
    BATCH("batch", hiaG_batch, "tensor operations for many activations at a time (--batching)"),
    NATIVE("halve", hiaG_halve, HIA_USE_PARALLEL, "comprehensions that other workers may share"),
    NATIVE("apart", hiaG_apart, HIA_USE_PARALLEL, "sums that other workers may collect"),
    MAPS("fill", hiaG_fill, HIA_USE_NATIVE, "comprehensions become loops that fill arrays"),
    GRAPH("map", hiaG_map, true, "comprehensions become loops that change arrays"),
    NATIVE("merge", hiaG_merge, HIA_USE_NATIVE, "calls that were made before"),
    {"sink",
     "what follows a branch, where one arm calls",
     HIA_PASS_FN,
     {.fn = hiaG_sink},
     false,
     HIA_USE_PARALLEL,
     false,
     HIA_FOR_ALL},
    NATIVE("pair", hiaG_pair, HIA_USE_PARALLEL, "loops that call make two rounds in one"),
    NATIVE("fork", hiaG_fork, HIA_USE_PARALLEL, "calls that another worker may make"),
    NATIVE("cons", hiaG_cons, HIA_USE_NATIVE, "tail recursion modulo constructors"),
    NATIVE("unroll", hiaG_unroll, HIA_USE_NATIVE, "levels of recursion into one body"),
    GRAPH("tail", hiaG_tail, true, "tail calls of a recursive group become loops"),
    GRAPH("effects.2", hiaG_effects, true, "again: groups have changed"),
    GRAPH("inline.2", hiaG_inline_loops, false,
          "functions that have become loops, and have one call"),
    FN("copy.2", hiaG_copy, "again, over what inlining and loops left"),
    FN("fold.2", hiaG_fold, "again"),
    FN("cse.2", hiaG_cse, "again"),
    FN("dce.2", hiaG_dce, "again"),
    GRAPH("sweep.2", hiaG_sweep, false, "functions that were inlined everywhere"),
    GRAPH("effects.3", hiaG_effects, true, "for the engines"),
    {"reads",
     "elements are read before they are set",
     HIA_PASS_FN,
     {.fn = hiaG_reads},
     true,
     HIA_USE_ALL,
     false,
     HIA_FOR_ALL},
    NATIVE("fuse", hiaG_fuse, HIA_USE_NATIVE, "operations on elements of tensors, in one loop"),
    COUNTS("refs", hiaG_refs, "counts of references to data and arrays"),
    GRAPH("tag", hiaG_tag, true, "the static graph"),
    {NULL, NULL, HIA_PASS_GRAPH, {NULL}, false, HIA_USE_ALL, false, HIA_FOR_ALL},
};

enum { N_PASSES = sizeof hiaG_passes / sizeof *hiaG_passes - 1 };

/* True if `name` (of a pass) is in the list. A word without a number stands for all of its
 * repetitions. */
static bool is_listed(const char *list, const char *name) {
  if (!list) return false;
  if (strcmp(list, "all") == 0) return true;
  size_t base = strcspn(name, "."), whole = strlen(name);
  for (const char *word = list; *word;) {
    size_t len = strcspn(word, ",");
    if ((len == base || len == whole) && memcmp(word, name, len) == 0) return true;
    word += len;
    if (*word) word++;
  }
  return false;
}

bool hiaG_pass_exists(const char *name, size_t len) {
  for (const hia_pass *p = hiaG_passes; p->name; p++)
    if (strlen(p->name) == len && memcmp(p->name, name, len) == 0) return true;
  return false;
}

void hiaG_run_pass(hia_graph *g, const hia_pass *pass) {
  if (pass->scope == HIA_PASS_GRAPH) {
    pass->run.graph(g);
  } else {
    HIA_EACH_FN(g, f) {
      hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
      pass->run.fn(g, hiaG_fn(g, f));
      hiaR_arena_release(&g->comp->scratch, mark);
      hiaR_look(g->comp);
    }
  }
  hiaR_arena_free(&g->comp->scratch);
}

static bool is_for(const hia_pass *pass, const hia_pass_options *options) {
  switch (pass->versions) {
  case HIA_FOR_ALL: return true;
  case HIA_FOR_TRAPS: return options->trap_nan;
  case HIA_FOR_FUEL: return options->fuel;
  case HIA_FOR_STREAMS: return options->streams;
  case HIA_FOR_BATCHES: /* what fails between operations on tensors would end every segment */
    return options->batch != HIA_BATCH_NONE && !options->fuel && !options->trap_nan;
  }
  return false;
}

/* Where a graph enters the pipeline: one that was read and is static has been optimised, but its
 * references are counted anew, or not at all. */
static const hia_pass *first_of(hia_graph *g, const hia_pass_options *options) {
  const hia_pass *first = hiaG_passes;
  if (!g->is_read) return first;
  if (g->state == HIA_STATIC) {
    if (options->use == HIA_USE_ALL && !hiaG_has_counts(g)) return first + N_PASSES;
    hiaG_untag(g);
    while (first->scope != HIA_PASS_GRAPH || first->run.graph != hiaG_refs) first++;
  }
  hiaG_effects(g);
  hiaG_forget_counts(g);
  hiaG_effects(g);
  return first;
}

void hiaG_run_passes(hia_graph *g, const hia_pass_options *options) {
  g->batches_all = options->batch == HIA_BATCH_ALL;
  for (const hia_pass *pass = first_of(g, options); pass->name; pass++) {
    hiaR_look(g->comp);
    bool has_time = pass->is_cheap || !hiaR_is_late(g->comp);
    bool is_wanted = pass->is_required || (has_time && !is_listed(options->disabled, pass->name));
    if (is_wanted && pass->use <= options->use && is_for(pass, options)) {
      uint64_t start = options->after ? hiaR_now() : 0;
      hiaG_run_pass(g, pass);
      uint64_t taken = options->after ? hiaR_now() - start : 0;
      if (options->verify) {
        const char *defect = hiaG_verify(g);
        if (defect) HIA_BUG(g->comp, "after pass %s: %s", pass->name, defect);
      }
      if (options->after) options->after(options->user, pass->name, g, taken);
    }
    if (options->stop_after && strcmp(options->stop_after, pass->name) == 0) return;
  }
}
