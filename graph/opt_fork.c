/* fork: calls that another worker may make while this one does what comes before them. */
#include "graph/graph.h"

void hiaG_fork(hia_graph *g) { (void)g; }
