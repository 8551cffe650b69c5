/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A static graph as an image, which the interpreters run (runtime/image/image.h, docs/image.md). */
#ifndef HIA_FLATTEN_H
#define HIA_FLATTEN_H

#include "graph/ir/graph.h"

/* Requires a static graph that is well formed. The image is memory of the graph's arena, 8-aligned.
 */
void hiaG_flatten(hia_graph *g, void **image, size_t *size);

#endif
