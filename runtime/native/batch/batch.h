/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is pending in a worker: rows of segments that compiled code has noted and that no worker has
 * computed yet (docs/batching.md).
 *
 * A `defer` makes a row: it takes the references of its operands and gives pending tensors, headers
 * without elements. Rows that depend on nothing pending have depth 0, others one more than the
 * deepest that they depend on. When elements are needed, the worker *settles*: from level to level
 * (depth, or height from the end) and from segment to segment, it gathers the operands of up to 64
 * rows, calls the segment, and makes the pending tensors of these rows views of its results. That
 * is the batching by depth of Looks and others ("Deep Learning with Dynamic Computation Graphs",
 * ICLR 2017), of whole segments.
 *
 * A worker's rows are its own. While it settles, thieves compute blocks of rows with it (crew.h).
 * It settles before it hands out a job that could not do without what is pending, before it runs
 * other jobs at a join, and before a run ends. A job that ends with few rows leaves them to its
 * owner. The rows are memory of the run's heap.
 *
 * The files of this folder, in the order in which a row meets them:
 *
 *   calls.c      what compiled code calls: defer, settle, and the end of an entry
 *   equal.c      finds the row with equal operands
 *   kept.c       finds, and keeps, results that depend on params alone
 *   once.c       computes a row at once, where waves are narrow
 *   note.c       notes a row
 *   memory.c     the memory of rows, and the tables
 *   levels.c     which rows depend on which: the waves
 *   row_order.c  the order of the rows in a wave
 *   settle.c     divides waves into blocks, which the crew computes
 *   compute.c    computes a block
 *   owed.c       objects that get scalars when these are computed
 *   part.c       computes one wave and leaves the other rows, where iterations wait
 *   jobs.c       the rows that a stolen job leaves to its owner
 *
 * rows.h has what they share. */
#ifndef HIA_NATIVE_BATCH_H
#define HIA_NATIVE_BATCH_H

#include "runtime/native/context.h"

/* Forgets what is pending: the context was attached to a heap, or the invocation that had noted the
 * rows has failed. */
void hiaR_batch_begin(hia_context *context);
/* Frees what the context has for batches. */
void hiaR_batch_free(hia_context *context);

#endif
