/* Forks and joins. */
#include "lower/emit.h"

void hiaL_emit_FORK(hia_emit *e, hia_node_id n) { HIA_BUG(e->comp, "node %u forks", n); }
void hiaL_emit_STOLEN(hia_emit *e, hia_node_id n) { HIA_BUG(e->comp, "node %u forks", n); }
void hiaL_emit_JOIN(hia_emit *e, hia_node_id n) { HIA_BUG(e->comp, "node %u forks", n); }
