/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: what happens to a program between its frontend and its engines.
 *
 *   text, builder ──► frontend ──► function graphs
 *                                       │
 *                                  [specialise]    versions that assume something of arguments
 *                                      grad        gradients become calls
 *                                     [trap]       only if NaN is to be found
 *                                    elements      what failures say of comprehensions
 *                               [fuel] [streams]   only in runs with fuel, with streams
 *                                  sweep effects   what functions may do, recursive groups
 *                               copy fold cse dce  scalar optimisation
 *                                     inline       small functions that are not recursive
 *                                       │
 *                                    [batch]       native code: segments for many activations
 *                                     [late]       the interpreter: what waits for no tensor
 *                                    [each]        comprehensions whose iterations wait for these
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
 *                                    scalars       native code only: small tensors are taken apart
 *                               copy fold cse dce  again
 *                               sweep effects reads
 *                                      flat        native code only: parts of gradients
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
#include "graph/assume/assume.h"
#include "graph/batch/batch.h"
#include "graph/grad/grad.h"
#include "graph/ir/graph.h"
#include "graph/passes/passes.h"
#include "graph/refs/refs.h"
#include "graph/scalars/scalars.h"
#include "graph/verify/verify.h"

const hia_pass hiaG_passes[] = {
    {.name = "specialise",
     .graph = hiaG_specialise,
     .only_for = HIA_FOR_ASSUMPTIONS,
     .doc = "what a version assumes of its arguments, in the functions that get them"},
    {.name = "grad", .graph = hiaG_grad, .is_required = true, .doc = "gradients become calls"},
    {.name = "trap",
     .graph = hiaG_trap,
     .only_for = HIA_FOR_TRAPS,
     .is_required = true,
     .doc = "operations that make NaN fail (--trap-nan)"},
    {.name = "elements",
     .graph = hiaG_elements,
     .is_required = true,
     .doc = "failures say of which element they are"},
    {.name = "fuel",
     .graph = hiaG_fuel,
     .only_for = HIA_FOR_FUEL,
     .is_required = true,
     .doc = "calls and loop rounds use up fuel (--fuel)"},
    {.name = "streams",
     .graph = hiaG_streams,
     .only_for = HIA_FOR_STREAMS,
     .is_required = true,
     .doc = "elements of arguments may lie in files"},
    {.name = "sweep", .graph = hiaG_sweep, .doc = "functions that no root reaches"},
    {.name = "effects",
     .graph = hiaG_effects,
     .is_required = true,
     .doc = "what functions may do, and their recursive groups"},
    {.name = "copy", .fn = hiaG_copy, .doc = "copies of values"},
    {.name = "fold", .fn = hiaG_fold, .doc = "constants, identities, known branches"},
    {.name = "cse", .fn = hiaG_cse, .doc = "operations that were done before"},
    {.name = "dce", .fn = hiaG_dce, .doc = "values that are not used"},
    {.name = "inline", .graph = hiaG_inline, .doc = "small functions that are not recursive"},
    {.name = "batch",
     .graph = hiaG_batch,
     .use = HIA_USE_NATIVE,
     .only_for = HIA_FOR_BATCHES,
     .doc = "tensor operations for many activations at a time (--batching)"},
    {.name = "late",
     .graph = hiaG_late,
     .only_for = HIA_FOR_FIRINGS,
     .doc =
         "scalars that depend on tensors become tensors of one element (--batching depth, agenda)"},
    {.name = "each",
     .graph = hiaG_each,
     .use = HIA_USE_NATIVE,
     .only_for = HIA_FOR_BATCHES,
     .doc = "comprehensions whose iterations may be frozen where they wait"},
    {.name = "halve",
     .graph = hiaG_halve,
     .use = HIA_USE_PARALLEL,
     .doc = "comprehensions that other workers may share"},
    {.name = "apart",
     .graph = hiaG_apart,
     .use = HIA_USE_PARALLEL,
     .doc = "sums that other workers may collect"},
    {.name = "fill",
     .graph = hiaG_fill,
     .use = HIA_USE_NATIVE,
     .is_cheap = true,
     .doc = "comprehensions become loops that fill arrays"},
    {.name = "map",
     .graph = hiaG_map,
     .is_required = true,
     .doc = "comprehensions become loops that change arrays"},
    {.name = "merge",
     .graph = hiaG_merge,
     .use = HIA_USE_NATIVE,
     .doc = "calls that were made before"},
    {.name = "sink",
     .fn = hiaG_sink,
     .use = HIA_USE_PARALLEL,
     .doc = "what follows a branch, where one arm calls"},
    {.name = "pair",
     .graph = hiaG_pair,
     .use = HIA_USE_PARALLEL,
     .doc = "loops that call make two rounds in one"},
    {.name = "fork",
     .graph = hiaG_fork,
     .use = HIA_USE_PARALLEL,
     .doc = "calls that another worker may make"},
    {.name = "cons",
     .graph = hiaG_cons,
     .use = HIA_USE_NATIVE,
     .doc = "tail recursion modulo constructors"},
    {.name = "unroll",
     .graph = hiaG_unroll,
     .use = HIA_USE_NATIVE,
     .doc = "levels of recursion into one body"},
    {.name = "tail",
     .graph = hiaG_tail,
     .is_required = true,
     .doc = "tail calls of a recursive group become loops"},
    {.name = "effects.2",
     .graph = hiaG_effects,
     .is_required = true,
     .doc = "again: groups have changed"},
    {.name = "inline.2",
     .graph = hiaG_inline_loops,
     .doc = "functions that have become loops, and have one call"},
    {.name = "scalars",
     .graph = hiaG_scalars,
     .use = HIA_USE_NATIVE,
     .doc = "tensors of a few elements become scalars"},
    {.name = "copy.2", .fn = hiaG_copy, .doc = "again, over what inlining and loops left"},
    {.name = "fold.2", .fn = hiaG_fold, .doc = "again"},
    {.name = "cse.2", .fn = hiaG_cse, .doc = "again"},
    {.name = "dce.2", .fn = hiaG_dce, .doc = "again"},
    {.name = "sweep.2", .graph = hiaG_sweep, .doc = "functions that were inlined everywhere"},
    {.name = "effects.3", .graph = hiaG_effects, .is_required = true, .doc = "for the engines"},
    {.name = "reads",
     .fn = hiaG_reads,
     .is_required = true,
     .doc = "elements are read before they are set"},
    {.name = "flat",
     .fn = hiaG_flat,
     .use = HIA_USE_NATIVE,
     .doc = "what calls add to sums of gradients, in one object each"},
    {.name = "fuse",
     .graph = hiaG_fuse,
     .use = HIA_USE_NATIVE,
     .doc = "operations on elements of tensors, in one loop"},
    /* Without counts every `set` copies its array, and nothing is freed before the run ends:
     * programs that need not more than a bit of memory would need that of all their rounds. */
    {.name = "refs",
     .graph = hiaG_refs,
     .use = HIA_USE_NATIVE,
     .is_required = true,
     .is_cheap = true,
     .doc = "counts of references to data and arrays"},
    {.name = "tag", .graph = hiaG_tag, .is_required = true, .doc = "the static graph"},
    {.name = NULL},
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
  if (pass->graph) {
    pass->graph(g);
  } else {
    HIA_EACH_FN(g, f) {
      hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
      pass->fn(g, hiaG_fn(g, f));
      hiaR_arena_release(&g->comp->scratch, mark);
      hiaR_look(g->comp);
    }
  }
  hiaR_arena_free(&g->comp->scratch);
}

static bool is_for(const hia_pass *pass, const hia_graph *g, const hia_pass_options *options) {
  switch (pass->only_for) {
  case HIA_FOR_ALL: return true;
  case HIA_FOR_TRAPS: return options->trap_nan;
  case HIA_FOR_FUEL: return options->fuel;
  case HIA_FOR_STREAMS: return options->streams;
  case HIA_FOR_ASSUMPTIONS: return g->is_assumed;
  case HIA_FOR_BATCHES: /* what fails between operations on tensors would end every segment */
    return (options->batch == HIA_BATCH_SEGMENTS || options->batch == HIA_BATCH_ALL) &&
           !options->fuel && !options->trap_nan;
  case HIA_FOR_FIRINGS:
    return hiaR_is_by_firings(options->batch) && !options->fuel && !options->trap_nan;
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
    while (first->graph != hiaG_refs) first++;
  }
  hiaG_effects(g);
  hiaG_forget_counts(g);
  hiaG_effects(g);
  return first;
}

void hiaG_run_passes(hia_graph *g, const hia_pass_options *options) {
  g->batches_all = options->batch == HIA_BATCH_ALL || hiaR_is_by_firings(options->batch);
  for (const hia_pass *pass = first_of(g, options); pass->name; pass++) {
    hiaR_look(g->comp);
    bool has_time = pass->is_cheap || !hiaR_is_late(g->comp);
    bool is_wanted = pass->is_required || (has_time && !is_listed(options->disabled, pass->name));
    if (is_wanted && pass->use <= options->use && is_for(pass, g, options)) {
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
