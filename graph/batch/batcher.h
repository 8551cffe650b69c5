/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Batching over tags: what the files of pass `batch` share (docs/batching.md).
 *
 * The same operation under different tags can be computed as one, if nothing needs its result at
 * once. So the pass puts tensor operations of a region that follow one another into a *segment*, a
 * function of its own over *rows*: each of its tensors has one axis more, the first, and an element
 * of that axis belongs to one activation. Where the operations stood there is a `defer`, which only
 * notes the operands and gives *pending* tensors; what reads the elements of such a tensor is
 * preceded by a `force`. Control goes on meanwhile, depth first, as ever.
 *
 * A scalar that depends on a pending tensor is *late*: it becomes a tensor of one element, through
 * calls, branches, loops, and fields of types that no host sees.
 *
 *   batch.c    the pass
 *   prepare.c  brings functions into a form in which segments are large
 *   params.c   params that functions get, or read from objects
 *   simplify.c simplifies them by what is known of sizes
 *   sizes.c    constant sizes of tensors, across calls and fields: what is in a segment
 *              cannot fail
 *   late.c     which values are late
 *   rows/      rows of tensors that are stacked of pending ones (unstack.c), and sums of such rows;
 *              loops that set rows (unset.c); products with matrices that an index chooses
 *              (choose.c); sums of gradients that consist of tensors alone (collect.c), or of rows
 *              (row_sums.c)
 *   put.c      puts nodes
 *   split.c    comprehensions whose elements wait together
 *   report.c   what is batched, and why other operations are not
 *   types.c    types of which fields are late scalars
 *   returned.c arrays of scalars that roots return
 *   lift.c     an operation over rows
 *   labels.c   what flows back from a cross entropy, as one operation
 *   segment.c  segments, and what stands in their place
 *   undefer.c  the pass `late`: operations in the places of segments, for the interpreter
 *   wait/      what is computed at once in activations that wait (light.c); and a pass of its own
 *              behind this one: maps whose iterations may be frozen (each.c) */
#ifndef HIA_BATCHER_H
#define HIA_BATCHER_H

#include "graph/analysis/sizes.h"
#include "graph/ir/graph.h"

enum {
  HIA_BATCH_WORTH = 256, /* elements of a matrix whose products are computed later in a graph ... */
  HIA_BATCH_HEAVY = 2048,      /* ... that has a param of so many */
  HIA_BATCH_OWN_MATRIX = 4096, /* of a matrix that each row has for itself, at most */
  HIA_BATCH_BLAS =
      256 /* OpenBLAS computes no products that are smaller along an axis (kernel/blas.h) */
};

/* What is known of a function; all arrays are in the scratch arena. */
typedef struct hia_batch_fn {
  hia_value_sizes *sizes;           /* by value */
  bool *is_uniform;                 /* by value: the same in all activations */
  bool *can_lift;                   /* by node: it can be computed for rows, and cannot fail */
  bool *is_heavy;                   /* by node: it is reason enough to batch */
  bool *is_late;                    /* by value */
  bool *late_params, *late_results; /* by parameter, by result */
  bool *was_scalar;                 /* by value, before types changed */
  bool *packs_late;                 /* by node, likewise: hiaG_batch_packs_late */
  void *segments;                   /* segment.c's */
} hia_batch_fn;

/* A function that adds the elements of an array (add_rows.c). */
typedef struct hia_batch_sum {
  hia_type array;
  int64_t dims[HIA_MAX_RANK]; /* of an element */
  hia_fn_id fn;
} hia_batch_sum;

typedef struct hia_batcher {
  hia_graph *g;
  hia_arena *arena; /* scratch */
  hia_sizes s;
  uint32_t n; /* functions */
  hia_batch_fn *fns;
  /* By index into types->layout_words: words of constructors' fields and of arrays' elements. */
  bool *late_words, *may_be_late;
  bool *owed_words,
      *may_be_owed; /* likewise: scalars of objects that hosts see, which are filled in later */
  bool *is_outside; /* by type - HIA_FIRST_TYPE: a host sees its values */
  bool owes;        /* such scalars may be late */
  uint32_t n_segments;
  HIA_VEC(hia_batch_sum) sums; /* kept when the graph is looked at again */
} hia_batcher;

/* ---- batch.c ---- */

/* What the pass does. `choose`, or NULL, may unset can_lift of nodes that are not to be in
 * segments, though their results are late. */
void hiaG_batch_chosen(hia_graph *g, void (*choose)(hia_batcher *b));

/* ---- prepare.c ---- */

/* Gives each root that is called in the program a function for these calls. */
void hiaG_batch_separate_roots(hia_graph *g, hia_arena *arena);
/* Copies small functions that compute with tensors into their callers. Requires hiaG_effects. */
void hiaG_batch_inline_helpers(hia_graph *g);
/* Runs the passes of scalar optimisation on all functions. */
void hiaG_batch_clean(hia_graph *g);

/* ---- params.c ---- */

/* Arguments and parts of objects that always are the same param become that. True if there are
 * some. */
bool hiaG_batch_params(hia_graph *g);

/* ---- simplify.c ---- */

/* Simplifies all functions by what is known of sizes. Returns true if something has changed. */
bool hiaG_batch_simplify(hia_graph *g);

/* ---- sizes.c ---- */

/* Begins anew with a graph: finds b->fns[..].sizes, and sets b->is_outside. Requires *b to be
 * cleared, or what it was for the same graph. */
void hiaG_batch_begin(hia_batcher *b, hia_graph *g);
/* Sets b->is_outside. */
void hiaG_batch_find_outside(hia_batcher *b);
/* The functions that something else than a CALL refers to, or a host calls. */
const bool *hiaG_batch_find_open(const hia_batcher *b);
/* Returns the constant size of an axis, or -1. */
int64_t hiaG_batch_size(const hia_batcher *b, hia_fn_id f, hia_value_id v, uint32_t axis);
/* The number that an i64 is, if it is the size of something; -1: that is not known. */
int64_t hiaG_batch_integer(const hia_batcher *b, hia_fn_id f, hia_value_id v);
/* True if all sizes are constant: then dims[0 .. rank) are set. A scalar has none. */
bool hiaG_batch_shape(const hia_batcher *b, hia_fn_id f, hia_value_id v,
                      int64_t dims[HIA_MAX_RANK]);
/* Returns the layout word of word i of what a DATA, REUSE, ARRAY, SET or FILL takes, from operand
 * `first` on, or of what a FIELD or an AT gives: an index into types->layout_words. */
uint32_t hiaG_batch_word(const hia_graph *g, hia_type type, uint32_t ctor, uint32_t word);
/* Calls `visit` for each operand i, the value v, that a node stores in an object, with its word;
 * of the YIELD of a map for the words of the element. One value may be several operands, in
 * different words. */
typedef void hia_batch_store(void *user, uint32_t i, hia_value_id v, uint32_t word);
void hiaG_batch_stores(const hia_graph *g, const hia_fn *fn, hia_node_id n, hia_batch_store *visit,
                       void *user);
/* Returns the layout word that a FIELD or an AT reads; HIA_NONE: the node is neither. */
uint32_t hiaG_batch_read_word(const hia_graph *g, const hia_fn *fn, hia_node_id n);

/* ---- lift.c ---- */

/* Sets is_uniform, can_lift, is_heavy. */
void hiaG_batch_find_liftable(hia_batcher *b, hia_fn_id f);

/* A value of a function, as a segment has it. */
typedef struct hia_lifted {
  hia_value_id v; /* NONE: not there yet */
  bool is_row;    /* it has the axis of the rows */
} hia_lifted;
typedef struct hia_lifting {
  const hia_batcher *b;
  hia_fn_id from;
  hia_fn *to;
  hia_value_id n_rows; /* of the segment */
  hia_lifted *values;  /* by value of `from` */
} hia_lifting;
/* Adds what computes a node, which can be lifted, for all rows, and sets values[...] of its result.
 * Its operands are there, or uniform. */
void hiaG_lift(hia_lifting *l, hia_node_id n);

/* ---- labels.c ---- */

/* What flows back from a cross entropy: of the logits, the label, and what flows to it. */
typedef struct hia_label_gradient {
  hia_value_id x, softmax, label, dy;
} hia_label_gradient;
/* True if a node is that. */
bool hiaG_batch_is_label_gradient(const hia_fn *fn, hia_node_id n, hia_label_gradient *found);

/* ---- returned.c ---- */

/* Sets b->is_outside of what hosts see in a result of a root; of arrays of scalars it is not set,
 * since the root returns another one. */
void hiaG_batch_mark_result(const hia_batcher *b, hia_type type);

/* ---- late.c ---- */

void hiaG_batch_find_late(hia_batcher *b);
/* True if the node is computed later. Requires hiaG_batch_find_late. */
bool hiaG_is_deferred(const hia_batcher *b, hia_fn_id f, hia_node_id n);
/* True if operand i, a scalar, goes where a late scalar is expected: as an argument, a variable of
 * a loop, a result, or into a field; of an object that hosts see only if it is late itself.
 * Requires hiaG_batch_find_late; may be asked after hiaG_batch_types, too, of the nodes that there
 * were. */
bool hiaG_batch_passes_on(const hia_batcher *b, hia_fn_id f, hia_node_id n, uint32_t i);
/* True if the node is a PACK of late scalars, whose number is not constant: the tensor is pending
 * until they are there. */
bool hiaG_batch_packs_late(const hia_batcher *b, hia_fn_id f, hia_node_id n);
/* True if the node reads a word of an object that may be filled in later. */
bool hiaG_batch_is_owed(const hia_batcher *b, const hia_fn *fn, hia_node_id n);
/* True if such words may be reached from a value of a type. */
bool hiaG_batch_may_owe(const hia_batcher *b, hia_type type);
/* True if the node reads elements of operand i, a tensor, or through an object. */
bool hiaG_reads_elements(const hia_graph *g, const hia_fn *fn, hia_node_id n, uint32_t i);

/* ---- rows/unstack.c ---- */

/* Reads rows, and sums of rows, of tensors that are stacked of pending ones without the tensor.
 * True if something has changed; then all must be found anew. Requires hiaG_batch_find_late. */
bool hiaG_batch_unstack(hia_batcher *b);

/* ---- rows/unset.c ---- */

/* Tensors whose rows loops set become arrays of rows. Returns and requires what hiaG_batch_unstack
 * does. */
bool hiaG_batch_unset(hia_batcher *b);

/* ---- rows/choose.c ---- */

/* Products with a matrix that an index chooses become a choice of products. Returns and requires
 * what hiaG_batch_unstack does. */
bool hiaG_batch_choose(hia_batcher *b);

/* ---- rows/row_sums.c ---- */

/* Sums of rows at constant indices, which may be pending, are stacked instead of collected. Returns
 * and requires what hiaG_batch_unstack does. */
bool hiaG_batch_stack_rows(hia_batcher *b);

/* ---- rows/collect.c ---- */

/* Takes the tensor of a sum that consists of it alone, which may be pending, without waiting for
 * it. Returns and requires what hiaG_batch_unstack does. */
bool hiaG_batch_collect(hia_batcher *b);

/* ---- wait/light.c ---- */

/* Unsets can_lift of operations that are computed where they stand, and finds again what is late.
 * Requires hiaG_batch_find_late. */
void hiaG_batch_light(hia_batcher *b);

/* ---- split.c ---- */

/* Splits maps that would wait at each element: one in each function. True if there were some; then
 * all must be found anew. Requires hiaG_batch_find_late. */
bool hiaG_batch_split(hia_batcher *b);

/* True if operand i of a node is needed at once, though it may be pending. Requires
 * hiaG_batch_find_late, and types as they were. */
bool hiaG_batch_waits(const hia_batcher *b, hia_fn_id f, hia_node_id n, uint32_t i);

/* ---- report.c ---- */

/* Appends what is batched, what is not, and why. Requires hiaG_batch_find_late, and types as they
 * were. */
void hiaG_batch_report(const hia_batcher *b, hia_text *out);

/* ---- types.c ---- */

/* Changes the types of values so that late scalars are tensors of one element. */
void hiaG_batch_types(hia_batcher *b);

/* ---- segment.c ---- */

/* Finds the segments of a function, and makes them. Requires hiaG_batch_find_late. */
void hiaG_batch_find_segments(hia_batcher *b, hia_fn_id f);
/* Puts them in the places of their nodes. Requires hiaG_batch_types. */
void hiaG_batch_insert_segments(hia_batcher *b, hia_fn_id f);

#endif
