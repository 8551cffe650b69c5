/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on tensors, for many activations at a time (docs/batching.md). */
#ifndef HIA_BATCH_H
#define HIA_BATCH_H

#include "graph/ir/graph.h"

/* The pass `batch` (batch.c). */
void hiaG_batch(hia_graph *g);
/* The pass `late` (undefer.c), in place of `batch` for the interpreter. */
void hiaG_late(hia_graph *g);
/* The pass `each` (each.c). */
void hiaG_each(hia_graph *g);

#endif
