/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* On-the-fly batching (docs/batching.md, "On the fly"): the interpreter notes operations on tensors
 * instead of computing them, and computes those of equal signature together.
 *
 * An operation that cannot fail, whose result is a tensor, gives a *pending* tensor: a header with
 * the shape, which follows from those of the operands, and without elements. Control goes on, depth
 * first and in sequential order as without batches. What reads elements of a pending tensor
 * *settles* first: all noted operations are computed. The order in which, and what is computed
 * together, is the strategy's (plan.c). After Neubig, Goldberg, Dyer, "On-the-fly Operation
 * Batching in Dynamic Computation Graphs" (NIPS 2017), and for the depth Looks and others, "Deep
 * Learning with Dynamic Computation Graphs" (ICLR 2017).
 *
 *   way.c        how operations of a kind are computed together, and which can be noted
 *   note.c       notes an operation
 *   signature.c  which operations can be computed together
 *   plan.c       which are computed together, and when: depth, agenda
 *   fire.c       computes several operations as one
 *   settle.c     when; memory; what the interpreter calls
 *   memory.c     tables that grow, within the limit of the run
 *
 * A program that never batches in this way does not link this: the engine puts the calls among the
 * limits of a run. A run with them has one worker. */
#ifndef HIA_LATER_H
#define HIA_LATER_H

#include "runtime/interp/interp.h"

typedef struct hia_later hia_later;

/* What the interpreter calls (hiaR_firings). All but `begin` and `end` return HIA_OK, or what an
 * operation returns (heap/operation.h). */
struct hia_firings {
  bool is_agenda;
  /* What the worker has for this; NULL: no memory. */
  hia_later *(*begin)(hia_worker *w);
  void (*end)(hia_worker *w); /* frees it, if it is there; the heap of the run still is */
  /* Notes the operation of a node, or computes it: its result is then in its slot. */
  hia_status (*fire)(hia_worker *w, const hia_instr *n, hia_word *slots, hia_misfortune *why);
  /* Computes all that is noted. */
  hia_status (*settle)(hia_worker *w);
  /* True if something is noted. */
  bool (*has_pending)(const hia_later *later);
  const hia_batch_usage *(*usage)(const hia_later *later);
};

#endif
