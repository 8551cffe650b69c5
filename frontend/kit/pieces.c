/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The pieces of which graph functions are made. */
#include "frontend/kit/pieces.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"
#include "runtime/base/loc.h"

/* ---- types ---- */

/* The graph's type for one of the program, which is copied once. */
static hia_type copy(hia_elab *e, hia_type type) {
  if (hiaG_is_scalar(type)) return type;
  uint32_t i = type - HIA_FIRST_TYPE;
  while (e->copied.len <= i) hiaR_push(e->arena, &e->copied, HIA_NONE);
  hia_type *copy = &e->copied.data[i];
  if (*copy == HIA_NONE) *copy = hiaG_type_copy(e->g->types, e->p->it.types, type);
  return *copy;
}

hia_type hiaF_elab_type(hia_elab *e, hia_itype type) {
  return copy(e, hiaF_itype_type(&e->p->it, type));
}

void hiaF_elab_flatten(hia_elab *e, hia_itype type, hia_flat_type *out) {
  hia_type t = hiaF_itype_type(&e->p->it, type);
  out->n = hiaG_type_words(e->p->it.types, t);
  hia_type *data =
      out->n <= HIA_LEN(out->few) ? out->few : HIA_NEW_ARRAY(e->arena, hia_type, out->n);
  hiaG_type_flatten(e->p->it.types, t, data);
  for (uint32_t i = 0; i < out->n; i++) data[i] = copy(e, data[i]);
  out->data = data;
}

/* ---- locations ---- */

hia_loc_id hiaF_elab_loc(hia_elab *e, uint32_t pos) {
  uint32_t line, col;
  hiaF_position(e->p, pos, &line, &col);
  return hiaG_loc(e->g, line, col, e->source, HIA_NONE);
}

hia_loc_id hiaF_elab_loc_of(hia_elab *e, uint32_t pos, const hia_operand *operands, uint32_t n) {
  hia_loc_id loc = HIA_NONE;
  uint32_t line, col;
  for (uint32_t i = n < HIA_LOC_MAX_OPERANDS ? n : HIA_LOC_MAX_OPERANDS; i-- > 0;) {
    uint32_t start = operands[i].start, len = operands[i].end - start;
    const char *text = e->p->source->text + start, *nl = memchr(text, '\n', len);
    hiaF_position(e->p, start, &line, &col);
    if (nl != NULL) len = (uint32_t)(nl - text);
    loc = hiaG_loc(e->g, line, col, hiaR_loc_of_operand(i, len), loc);
  }
  hiaF_position(e->p, pos, &line, &col);
  return hiaG_loc(e->g, line, col, e->source, loc);
}

/* ---- values ---- */

void hiaF_elab_constant(hia_elab *e, hia_type type, hia_word word, hia_loc_id loc) {
  hiaF_elab_push(e, hiaG_const(e->g, e->fn, e->region, type, word, loc));
}

hia_value_id hiaF_elab_one(hia_elab *e, unsigned opcode, const hia_value_id *ins, uint32_t n,
                           hia_type type, uint64_t imm, hia_loc_id loc) {
  hia_node_id node = hiaG_add(e->g, e->fn, e->region, opcode, ins, n, &type, 1, imm, loc);
  return hiaG_out(e->fn, node, 0);
}

void hiaF_elab_bind(hia_elab *e, hia_ast_id binder, hia_itype type, uint32_t base) {
  const hia_ast *n = hiaF_node(e->p, binder);
  const hia_itypes *it = &e->p->it;
  if (n->kind == HIA_AST_BIND_TUPLE) {
    for (uint32_t i = 0; i < n->c; i++) {
      hia_itype part = hiaF_ituple_part(it, type, i);
      hiaF_elab_bind(e, e->p->extra.data[n->b + i], part, base);
      base += hiaF_itype_words(it, part);
    }
    return;
  }
  if (n->kind == HIA_AST_BIND_WILD || n->kind == HIA_AST_PAT_WILD) return;
  e->slots[binder - e->first] = e->vars.len;
  for (uint32_t i = 0; i < hiaF_itype_words(it, type); i++)
    hiaR_push(e->arena, &e->vars, e->words.data[base + i]);
}

/* ---- branches ---- */

hia_node_id hiaF_elab_if(hia_elab *e, hia_value_id cond, hia_itype type, hia_loc_id loc) {
  hia_flat_type outs;
  hiaF_elab_flatten(e, type, &outs);
  return hiaG_add(e->g, e->fn, e->region, HIA_OP_IF, &cond, 1, outs.data, outs.n, 0, loc);
}

void hiaF_elab_yield(hia_elab *e, hia_region_id region, uint32_t base) {
  hiaG_yield(e->g, e->fn, region, e->words.data + base, e->words.len - base);
  e->words.len = base;
}

uint32_t hiaF_elab_results(hia_elab *e, hia_node_id node) {
  uint32_t base = e->words.len;
  for (uint32_t i = 0; i < e->fn->nodes.data[node].n_outs; i++)
    hiaF_elab_push(e, hiaG_out(e->fn, node, i));
  return base;
}
