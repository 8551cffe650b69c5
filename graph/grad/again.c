/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sections: the bodies of small marked functions in the function that is differentiated. What
 * f.back reads of a section is not kept. f.back calls a function that computes it again,
 *
 *     again(what the section uses from outside) -> what f.back reads of the section...
 *
 * which has the nodes of the section, and makes the records of branches, loops and calls in it. So
 * f's activation keeps the operands of `again` only. back.c goes through the nodes of a
 * section as through any others: gradients are added in the same order, with or without the mark.
 *
 * `again` is never inlined: what it computes would be found equal to what f.kept has computed. */
#include "graph/grad/grad.h"

static void open(hia_back *b, hia_node_id begin, uint32_t outer) {
  hia_grad_section s = {.outer = outer,
                        .begin = begin,
                        .callee = (hia_fn_id)b->fn->nodes.data[begin].imm,
                        .place = HIA_NONE};
  hiaR_push(b->d->arena, &b->sections, s);
}

bool hiaG_grad_is_in_section(const hia_back *b, hia_node_id n, uint32_t section) {
  uint32_t s = b->section_of[n];
  while (s != HIA_NONE && s != section) s = b->sections.data[s].outer;
  return s == section;
}

/* Notes a value that is used in a section, if it comes from outside; each once. */
static void use(hia_back *b, uint32_t section, hia_value_id v, uint32_t *seen_in) {
  hia_node_id def = b->fn->values.data[v].node;
  if (seen_in[v] == section + 1 || hiaG_grad_is_in_section(b, def, section)) return;
  seen_in[v] = section + 1;
  hia_grad_section *s = &b->sections.data[section];
  bool is_constant = hiaG_is_constant(b->fn->nodes.data[def].op);
  hiaR_push(b->d->arena, is_constant ? &s->constants : &s->inputs, v);
}

void hiaG_grad_find_sections(hia_back *b) {
  const hia_fn *fn = b->fn;
  uint32_t at = HIA_NONE;
  b->section_of = HIA_NEW_ARRAY(b->d->arena, uint32_t, (size_t)fn->nodes.len + 1);
  memset(b->section_of, 0xff, fn->nodes.len * sizeof *b->section_of);
  HIA_EACH_NODE(fn, n) {
    if (fn->nodes.data[n].flags & HIA_NODE_BEGIN) {
      open(b, n, at);
      at = b->sections.len - 1;
    }
    b->section_of[n] = at;
    if (!(fn->nodes.data[n].flags & HIA_NODE_END)) continue;
    b->sections.data[at].end = n;
    at = b->sections.data[at].outer;
  }
  uint32_t *seen_in = HIA_NEW_ARRAY(b->d->arena, uint32_t, (size_t)fn->values.len + 1);
  for (uint32_t s = 0; s < b->sections.len; s++) {
    hia_node_id end = b->sections.data[s].end;
    for (hia_node_id n = b->sections.data[s].begin; n != end; n = hiaG_walk_next(fn, n))
      for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) use(b, s, hiaG_in(fn, n, i), seen_in);
  }
}
