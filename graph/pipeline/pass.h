/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: which passes there are, and in which order they run (pass.c has a drawing). */
#ifndef HIA_PASS_H
#define HIA_PASS_H

#include "graph/ir/graph.h"

typedef enum hia_pass_scope { HIA_PASS_FN, HIA_PASS_GRAPH } hia_pass_scope;
typedef enum hia_pass_use {
  HIA_USE_ALL,
  HIA_USE_NATIVE,   /* only for a graph that becomes native code */
  HIA_USE_PARALLEL, /* only for a graph that becomes native code for several workers */
} hia_pass_use;
typedef enum hia_pass_for {
  HIA_FOR_ALL,
  HIA_FOR_TRAPS,   /* only for a graph in which operations that make NaN fail */
  HIA_FOR_FUEL,    /* only for one that is to run with fuel, */
  HIA_FOR_STREAMS, /* or with streams */
  HIA_FOR_BATCHES, /* only for one that may compute operations later, and several at a time */
} hia_pass_for;
typedef struct hia_pass {
  const char *name, *doc;
  hia_pass_scope scope;
  union {
    void (*fn)(hia_graph *g, hia_fn *fn);
    void (*graph)(hia_graph *g);
  } run;
  bool is_required; /* cannot be switched off */
  hia_pass_use use;
  bool is_cheap;         /* not left out when the compilation is late */
  hia_pass_for versions; /* if not ALL, it cannot be switched off */
} hia_pass;
extern const hia_pass hiaG_passes[]; /* in pipeline order; ends with a NULL name; a pass that runs
                                        twice has two rows, "cse" and "cse.2" */
typedef struct hia_pass_options {
  const char *disabled;   /* names separated by commas ("cse" means cse.2 too), "all", or NULL */
  const char *stop_after; /* a name, or NULL: run them all */
  hia_pass_use use;       /* what becomes of the graph */
  hia_batching batch;     /* of operations on tensors; none with fuel or traps */
  bool trap_nan;          /* operations that make NaN fail: hiaG_cannot_trap has returned NULL */
  bool fuel;              /* it is to run with fuel: hiaG_cannot_fuel has returned NULL */
  bool streams;           /* with streams as arguments: hiaG_cannot_stream has returned NULL */
  bool verify;            /* between passes; a defect throws INTERNAL with the graph's text */
  void (*after)(void *user, const char *pass, const hia_graph *g, uint64_t nanoseconds);
  void *user;
} hia_pass_options;
/* Runs the pipeline. The last pass is tagging: the graph is then HIA_STATIC, unless stopped. A
 * static graph that was read runs through what follows optimisation: its references are counted
 * anew. */
void hiaG_run_passes(hia_graph *g, const hia_pass_options *options);
bool hiaG_pass_exists(const char *name, size_t len);
void hiaG_run_pass(hia_graph *g, const hia_pass *pass); /* one row, on all functions */

#endif
