/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The pipeline: which passes there are, and in which order they run (pass.c has a drawing). */
#ifndef HIA_PASS_H
#define HIA_PASS_H

#include "graph/ir/graph.h"

typedef enum hia_pass_use {
  HIA_USE_ALL,
  HIA_USE_NATIVE,   /* only for a graph that becomes native code */
  HIA_USE_PARALLEL, /* only for a graph that becomes native code for several workers */
} hia_pass_use;
typedef enum hia_pass_for {
  HIA_FOR_ALL,
  HIA_FOR_TRAPS,       /* only for a graph in which operations that make NaN fail */
  HIA_FOR_FUEL,        /* only for a graph that is to run with fuel */
  HIA_FOR_STREAMS,     /* only for a graph that is to run with streams */
  HIA_FOR_ASSUMPTIONS, /* only for one of a version that assumes something of arguments */
  HIA_FOR_BATCHES,     /* only for one that may compute operations later, and several at a time */
  HIA_FOR_FIRINGS,     /* only for one whose operations the interpreter may compute later */
} hia_pass_for;
typedef struct hia_pass {
  const char *name, *doc;
  /* A pass is one of these; the other is NULL. */
  void (*fn)(hia_graph *g, hia_fn *fn); /* on each function */
  void (*graph)(hia_graph *g);          /* on the graph */
  hia_pass_use use;
  hia_pass_for only_for;
  bool is_required; /* cannot be switched off */
  bool is_cheap;    /* not left out when the compilation is late */
} hia_pass;
/* The passes in pipeline order; the list ends with a NULL name. A pass that runs twice has two
 * rows, "cse" and "cse.2". */
extern const hia_pass hiaG_passes[];
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
/* True if a pass has this name. */
bool hiaG_pass_exists(const char *name, size_t len);
/* Runs one row, on all functions. */
void hiaG_run_pass(hia_graph *g, const hia_pass *pass);

#endif
