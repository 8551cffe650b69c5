/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs as text (print.c; docs/ir.md) and as pictures (dot.c).
 *
 * Reading what was printed (graph/read) and printing it again gives the same bytes, in both states.
 * hiaG_print numbers values in the order of the text, hiaG_print_node shows indices; in a compact
 * graph these are the same. `out` must not be in the compilation's scratch arena. */
#ifndef HIA_GRAPH_PRINT_H
#define HIA_GRAPH_PRINT_H

#include "graph/ir/graph.h"

void hiaG_print(const hia_graph *g, hia_text *out);
/* Without what the source says of positions, the names of their functions excepted: two graphs
 * print as the same text if they are equal but for their lines and columns. It cannot be read back.
 */
void hiaG_print_unplaced(const hia_graph *g, hia_text *out);
void hiaG_print_node(const hia_graph *g, const hia_fn *fn, hia_node_id n, hia_text *out);
void hiaG_dot(const hia_graph *g, hia_text *out);
/* Adds text to `out`, escaped for double quotes in DOT. */
void hiaG_dot_escape(const char *text, hia_text *out);

#endif
