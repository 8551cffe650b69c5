/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Declared types: the meaning of type nodes, and their limits. */
#include "frontend/check/check.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

hia_itype hiaF_declared_type(hia_program *p, hia_ast_id id) {
  const hia_ast n = *hiaF_node(p, id);
  if (n.kind == HIA_AST_TYPE_DTYPE) return n.op;
  if (n.kind == HIA_AST_TYPE_NAME) {
    uint32_t decl = p->symbols.list.data[n.a].type;
    return decl == HIA_NONE ? (hia_itype)HIA_IT_ERROR : hiaF_decl(p, decl)->data;
  }
  if (n.kind == HIA_AST_TYPE_TENSOR) return hiaF_ranked(n.op, n.c, false);
  if (n.kind == HIA_AST_TYPE_ARRAY) {
    hia_itype element = hiaF_declared_type(p, n.a);
    return element == HIA_IT_ERROR ? element : hiaF_iarray(&p->it, element);
  }
  if (n.kind != HIA_AST_TYPE_TUPLE) return HIA_IT_ERROR;
  hia_itype *parts = HIA_NEW_ARRAY(p->arena, hia_itype, n.c);
  for (uint32_t i = 0; i < n.c; i++) parts[i] = hiaF_declared_type(p, p->extra.data[n.b + i]);
  return hiaF_ituple(&p->it, parts, n.c);
}

void hiaF_declared_types(hia_program *p) {
  hia_typing t = {.p = p, .report = true};
  for (uint32_t i = 0; i < p->decls.len; i++) {
    hia_decl *d = hiaF_decl(p, i);
    if (d->kind != HIA_DECL_FN && d->kind != HIA_DECL_EXTERN) continue;
    if (d->broken) continue;
    hia_ast_id bad = d->result == HIA_IT_ERROR ? d->type : HIA_NONE;
    for (uint32_t k = 0; k < d->n_params; k++)
      if (d->param_types[k] == HIA_IT_ERROR) bad = hiaF_node(p, p->extra.data[d->params + k])->b;
    for (uint32_t k = 0; k < d->n_params; k++)
      if (hiaF_is_final(&p->it, d->param_types[k])) hiaF_itype_type(&p->it, d->param_types[k]);
    if (d->kind == HIA_DECL_EXTERN && hiaF_is_final(&p->it, d->result))
      hiaF_itype_type(&p->it, d->result);
    if (bad == HIA_NONE) continue;
    const hia_ast *n = hiaF_node(p, bad);
    hiaF_type_error(&t, HIA_E0316, n->start, n->end, "a type of more than %u parts",
                    HIA_MAX_TYPE_PARTS);
    d->broken = true;
  }
}
