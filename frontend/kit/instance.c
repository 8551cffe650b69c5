/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Instances of functions: the table of them, their calls, and the notes that lead to a generic one.
 */
#include "frontend/kit/instance.h"
#include "frontend/syntax/program.h"

#define CHAIN_END 3u /* notes shown at either end of a chain of instances */

/* ---- the table ---- */

static uint32_t hash_inst(const hia_program *p, uint32_t decl, const hia_itype *args,
                          hia_itype want) {
  uint32_t h = decl * 2654435761u ^ want * 40503u;
  for (uint32_t i = 0; i < hiaF_decl(p, decl)->n_params; i++) {
    h = (h ^ args[i]) * 16777619u;
    h ^= h >> 15;
  }
  return h;
}

static void rehash(hia_program *p, uint32_t size) {
  p->inst_table.data = HIA_NEW_ARRAY(p->arena, uint32_t, size);
  p->inst_table.len = p->inst_table.cap = size;
  for (uint32_t i = 0; i < size; i++) p->inst_table.data[i] = HIA_NONE;
  for (uint32_t i = 0; i < p->insts.len; i++) {
    const hia_inst *e = hiaF_inst(p, i);
    uint32_t k = hash_inst(p, e->decl, e->args, e->want) & (size - 1);
    while (p->inst_table.data[k] != HIA_NONE) k = (k + 1) & (size - 1);
    p->inst_table.data[k] = i;
  }
}

/* Returns the slot of the instance in the table, or the free slot where it would be. */
static uint32_t find_slot(const hia_program *p, uint32_t decl, const hia_itype *args,
                          hia_itype want) {
  uint32_t n = hiaF_decl(p, decl)->n_params;
  uint32_t mask = p->inst_table.len - 1, k = hash_inst(p, decl, args, want) & mask;
  for (; p->inst_table.data[k] != HIA_NONE; k = (k + 1) & mask) {
    const hia_inst *e = hiaF_inst(p, p->inst_table.data[k]);
    if (e->decl == decl && e->want == want &&
        (n == 0 || memcmp(e->args, args, n * sizeof *args) == 0))
      break;
  }
  return k;
}

uint32_t hiaF_known_instance(const hia_program *p, uint32_t decl, const hia_itype *args,
                             hia_itype want) {
  return p->inst_table.len > 0 ? p->inst_table.data[find_slot(p, decl, args, want)] : HIA_NONE;
}

uint32_t hiaF_instance(hia_program *p, uint32_t decl, const hia_itype *args, hia_itype want,
                       uint32_t caller, hia_ast_id call) {
  if (p->insts.len * 2 >= p->inst_table.len)
    rehash(p, p->inst_table.len > 0 ? p->inst_table.len * 2 : 64);
  hia_decl *d = hiaF_decl(p, decl);
  uint32_t k = find_slot(p, decl, args, want);
  if (p->inst_table.data[k] != HIA_NONE) return p->inst_table.data[k];
  if (want == HIA_IT_NONE && d->n_insts >= HIA_MAX_INSTANCES) return HIA_NONE;
  hia_itype declared =
      d->gradient_of == HIA_NONE
          ? d->result
          : hiaF_gradient_of_all(&p->it, args, hiaF_decl(p, d->gradient_of)->n_params);
  hia_itype *copy = HIA_NEW_ARRAY(p->arena, hia_itype, d->n_params);
  if (d->n_params > 0) memcpy(copy, args, d->n_params * sizeof *args);
  hia_inst inst = {.decl = decl,
                   .args = copy,
                   .want = want,
                   .declared = declared,
                   .gradient = HIA_NONE,
                   .result = want != HIA_IT_NONE       ? want
                             : declared != HIA_IT_NONE ? declared
                                                       : (hia_itype)HIA_IT_UNKNOWN,
                   .caller = caller,
                   .call = call,
                   .last_caller = HIA_NONE,
                   .group = HIA_NONE,
                   .types = HIA_NEW_ARRAY(p->arena, hia_itype, d->end_node - d->first_node)};
  if (want != HIA_IT_NONE) { /* its body has been typed already, for another result type */
    inst.state = HIA_INST_DONE;
    inst.order = p->n_done++;
    inst.group = p->n_groups++;
  }
  uint32_t id = p->insts.len;
  hiaR_push(p->arena, &p->insts, inst);
  p->inst_table.data[k] = id;
  d->n_insts += want == HIA_IT_NONE;
  return id;
}

void hiaF_add_call(hia_program *p, uint32_t caller, uint32_t callee) {
  hia_inst *c = hiaF_inst(p, callee);
  if (c->last_caller == caller) return;
  hiaR_push(p->arena, &c->callers, caller);
  hiaR_push(p->arena, &hiaF_inst(p, caller)->callees, callee);
  c->last_caller = caller;
}

/* ---- messages ---- */

const char *hiaF_inst_name(const hia_program *p, uint32_t id, hia_arena *arena) {
  const hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  hia_text text;
  hiaR_text_init(&text, arena);
  hiaR_text_addf(&text, "%s(", hiaF_symbol_text(p, d->symbol));
  for (uint32_t i = 0; i < d->n_params; i++) {
    if (i > 0) hiaR_text_addf(&text, ", ");
    hiaF_itype_print(&p->it, inst->args[i], &text);
  }
  hiaR_text_addf(&text, ")");
  if (inst->want != HIA_IT_NONE) {
    hiaR_text_addf(&text, " ");
    hiaF_itype_print(&p->it, inst->want, &text);
  }
  return text.data;
}

/* The instance whose call made this generic one, and gave it its types; else NONE. */
static uint32_t origin(const hia_program *p, uint32_t id) {
  const hia_inst *inst = hiaF_inst(p, id);
  return hiaF_decl(p, inst->decl)->generic ? inst->caller : HIA_NONE;
}

/* Notes the calls that gave a generic instance its types, from the innermost one out to the call in
 * a function whose types are declared. The middle of a long chain is left out. */
void hiaF_note_instances(hia_program *p, uint32_t id, hia_diag *diag) {
  uint32_t length = 0;
  for (uint32_t k = id; origin(p, k) != HIA_NONE; k = origin(p, k)) length++;
  uint32_t hidden = length > 2 * CHAIN_END ? length - 2 * CHAIN_END : 0;
  for (uint32_t i = 0; origin(p, id) != HIA_NONE; id = origin(p, id), i++) {
    if (hidden > 0 && i == CHAIN_END)
      hiaF_note(p->diags, diag, HIA_NONE, "%u more calls lead there", hidden);
    if (hidden > 0 && i >= CHAIN_END && i < CHAIN_END + hidden) continue;
    const hia_ast *callee = hiaF_node(p, hiaF_node(p, hiaF_inst(p, id)->call)->a);
    hiaF_note(p->diags, diag, callee->start, "in the instance %s, called here",
              hiaF_inst_name(p, id, p->arena));
  }
}
