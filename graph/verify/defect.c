/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Records a defect, which ends the run of the verifier. */
#include "graph/ir/print.h"
#include "graph/verify/verifier.h"

void hiaG_defect(hia_verifier *v, hia_node_id node, const char *fmt, ...) {
  hia_text text;
  hiaR_text_init(&text, &v->g->comp->arena);
  va_list args;
  va_start(args, fmt);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  if (v->fn) hiaR_text_addf(&text, ", in function %s", v->fn->name);
  if (node != HIA_NONE) {
    hiaR_text_addf(&text, ", node %u: ", node);
    hiaG_print_node(v->g, v->fn, node, &text);
  }
  *v->defect = (hia_defect){v->fn ? v->fn_id : HIA_NONE, node, text.data};
  longjmp(v->stop, 1);
}

void hiaG_expect_type(hia_verifier *v, hia_node_id n, const char *what, uint32_t i, hia_type type,
                      hia_type wanted) {
  if (type != wanted)
    hiaG_defect(v, n, "%s %u is %s, but must be %s", what, i, hiaG_type_text(v->g->types, type),
                hiaG_type_text(v->g->types, wanted));
}
