/* unroll: levels of recursion into one body. */
#include "graph/graph.h"

void hiaG_unroll(hia_graph *g) { (void)g; }
