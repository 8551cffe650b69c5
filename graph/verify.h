/* What the three files of the verifier share. */
#ifndef HIA_VERIFY_H
#define HIA_VERIFY_H

#include "graph/graph.h"

/* One run. The first defect that is found is noted and ends it. */
typedef struct hia_verifier {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn; /* that is looked at; NULL: the graph */
  hia_fn_id fn_id;
  hia_defect *defect;
  jmp_buf stop;
} hia_verifier;

_Noreturn void hiaG_defect(hia_verifier *v, hia_node_id node, const char *fmt, ...)
    HIA_PRINTF(3, 4);

/* verify_fn.c, verify_static.c: one function in its state. Whatever the indices of nodes, values
 * and edges refer to is there (verify.c has looked); regions and their lists or ranges are to be
 * checked. */
void hiaG_verify_function(hia_verifier *v);
void hiaG_verify_section(hia_verifier *v);
void hiaG_verify_sites(hia_verifier *v); /* before the sections */

/* verify.c: dtypes of operands and results of a node whose rule is not CONTROL; and of one whose
 * results have the types of its operands one by one. */
void hiaG_expect_type(hia_verifier *v, hia_node_id node, const char *what, uint32_t i, hia_dtype is,
                      hia_dtype wanted);

#endif
