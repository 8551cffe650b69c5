/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading a graph from text (docs/ir.md). */
#ifndef HIA_GRAPH_READ_H
#define HIA_GRAPH_READ_H

#include "graph/ir/graph.h"

typedef struct hia_read_error {
  uint32_t line, col;
  const char *message; /* NULL: none */
} hia_read_error;
/* Reads a graph and verifies it. On bad input returns NULL, and sets *error. */
hia_graph *hiaG_read(hia_comp *comp, hia_types *types, const char *text, size_t len,
                     hia_read_error *error);

#endif
