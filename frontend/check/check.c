/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Types every instance once more, now with messages: types of bodies, final types, ranges of
 * literals. Then checks that every function can end. */
#include "frontend/check/check.h"
#include "frontend/check/infer.h"
#include "frontend/grad/grad.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

#include <stdlib.h>

/* ---- one instance ---- */

/* Collects the instances to which its calls were resolved. */
static void collect_callees(hia_program *p, uint32_t id) {
  hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  inst->callees.len = 0;
  for (hia_ast_id k = d->first_node; k < d->end_node; k++) {
    const hia_ast *n = hiaF_node(p, k);
    if (n->kind != HIA_AST_CALL || !hiaF_is_of_instance(hiaF_node(p, n->a))) continue;
    hia_itype callee = inst->types[n->a - d->first_node];
    if (callee != HIA_NONE) hiaR_push(p->arena, &inst->callees, callee);
  }
}

static void check_once(hia_program *p, uint32_t id) {
  hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  hia_typing t = {.p = p,
                  .types = inst->types,
                  .first = d->first_node,
                  .inst = id,
                  .report = true,
                  .force = HIA_FORCE_ALL};
  hia_itype type = hiaF_infer_body(&t), result = hiaF_inst(p, id)->result;
  const hia_ast *body = hiaF_node(p, d->body);
  if (hiaF_is_final(&p->it, result) && !(hiaF_itype_has(&p->it, type) & HIA_HAS_ERROR) &&
      hiaF_join(&p->it, type, result) != result) {
    hia_diag *diag = hiaF_type_error(&t, HIA_E0302, body->start, body->end,
                                     "the body of '%s' is %s, but its calls take it as %s",
                                     hiaF_symbol_text(p, d->symbol), hiaF_itype_text(&p->it, type),
                                     hiaF_itype_text(&p->it, result));
    hiaF_hint(p->diags, diag, "declare the result");
  }
  hiaF_advise(&t);
  for (uint32_t i = 0; i < d->n_params; i++)
    hiaF_resolve_sizes(&t, hiaF_node(p, p->extra.data[d->params + i])->b);
  hiaF_resolve_sizes(&t, d->type);
  hiaF_resolve(&t, d->body, result);
  hiaF_inst(p, id)->failed = t.failed || t.uses_broken;
  collect_callees(p, id);
}

static void check_instance(hia_program *p, uint32_t id) {
  hia_diags *outer = p->diags, *collected = HIA_NEW(p->arena, hia_diags);
  bool again = true;
  while (again) {
    again = false;
    hiaF_diags_init(collected, p->comp, p->source);
    p->diags = collected;
    check_once(p, id);
    hiaF_own_gradient(p, id);
    p->diags = outer;
    for (uint32_t i = 0; i < hiaF_inst(p, id)->callees.len; i++) {
      uint32_t callee = hiaF_inst(p, id)->callees.data[i];
      if (hiaF_inst(p, callee)->state == HIA_INST_DONE) continue;
      hiaF_solve(p, callee); /* instances at types that were known only in the last round */
      again = true;
    }
  }
  for (uint32_t i = 0; i < collected->list.len; i++)
    hiaF_note_instances(p, id, &collected->list.data[i]);
  hiaF_inst(p, id)->diags = collected->list.len > 0 ? collected : NULL;
  hiaF_inst(p, id)->checked = true;
}

/* ---- no base case ---- */

static bool is_sound(const hia_inst *inst) { return inst->ends && !inst->no_base; }

/* Reports that the component reached[from .. to) does not end, at its first function in the source.
 * Reports nothing if the component has another error, or if it only depends on one that does not
 * end. */
static void check_group(hia_program *p, const hia_u32vec *reached, uint32_t from, uint32_t to) {
  uint32_t worst = HIA_NONE;
  bool other_reason = false;
  for (uint32_t i = from; i < to; i++) {
    const hia_inst *inst = hiaF_inst(p, reached->data[i]);
    other_reason |= inst->failed;
    for (uint32_t k = 0; k < inst->callees.len; k++) {
      const hia_inst *callee = hiaF_inst(p, inst->callees.data[k]);
      if (callee->group != inst->group && (callee->failed || !is_sound(callee)))
        other_reason = true;
    }
    if (!is_sound(inst) &&
        (worst == HIA_NONE || hiaF_decl(p, inst->decl)->pos <
                                  hiaF_decl(p, hiaF_inst(p, reached->data[worst])->decl)->pos))
      worst = i;
  }
  if (worst == HIA_NONE) return;
  for (uint32_t i = from; i < to; i++) {
    hia_inst *inst = hiaF_inst(p, reached->data[i]);
    if (!is_sound(inst)) inst->failed = true;
  }
  if (other_reason) return;
  uint32_t id = reached->data[worst];
  hia_inst *inst = hiaF_inst(p, id);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  hia_diags *outer = p->diags;
  inst->diags = HIA_NEW(p->arena, hia_diags);
  hiaF_diags_init(inst->diags, p->comp, p->source);
  p->diags = inst->diags;
  hia_diag *diag = hiaF_error(p->diags, HIA_E0314, d->pos, d->end, "'%s' has no base case%s",
                              hiaF_symbol_text(p, d->symbol),
                              d->result == HIA_IT_NONE ? "; declare the result" : "");
  hiaF_hint(p->diags, diag,
            inst->ends ? "the type of its result cannot be found: write -> and a type"
                       : "every path through it makes a call that cannot end");
  hiaF_note_instances(p, id, diag);
  p->diags = outer;
}

/* ---- all ---- */

typedef struct ordered {
  uint32_t order, inst;
} ordered;

static int by_order(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  return x->order < y->order ? -1 : x->order > y->order;
}

static void sort_by_order(hia_program *p, hia_u32vec *reached) {
  ordered *list = HIA_NEW_ARRAY(p->arena, ordered, reached->len);
  for (uint32_t i = 0; i < reached->len; i++)
    list[i] = (ordered){hiaF_inst(p, reached->data[i])->order, reached->data[i]};
  qsort(list, reached->len, sizeof *list, by_order);
  for (uint32_t i = 0; i < reached->len; i++) reached->data[i] = list[i].inst;
}

/* Appends the instance and all that it calls. Leaves out those that an earlier check found sound:
 * otherwise checking the functions of a program one by one would be quadratic. */
static void reach(hia_program *p, hia_u32vec *reached, uint32_t id) {
  hia_inst *inst = hiaF_inst(p, id);
  if (inst->stamp == p->stamp || inst->sound) return;
  inst->stamp = p->stamp;
  hiaR_push(p->arena, reached, id);
}

bool hiaF_check(hia_program *p, const uint32_t *insts, uint32_t n) {
  hia_u32vec reached = {0};
  bool sound = true, fresh = false;
  p->stamp++;
  for (uint32_t i = 0; i < n; i++) reach(p, &reached, insts[i]);
  for (uint32_t i = 0; i < reached.len; i++) {
    if (!hiaF_inst(p, reached.data[i])->checked) check_instance(p, reached.data[i]);
    if (!hiaF_inst(p, reached.data[i])->judged) fresh = true;
    for (uint32_t k = 0; k < hiaF_inst(p, reached.data[i])->callees.len; k++)
      reach(p, &reached, hiaF_inst(p, reached.data[i])->callees.data[k]);
  }
  if (fresh) {
    sort_by_order(p, &reached);
    hiaF_find_ending(p, &reached);
    for (uint32_t from = 0, to; from < reached.len; from = to) {
      uint32_t group = hiaF_inst(p, reached.data[from])->group;
      for (to = from; to < reached.len && hiaF_inst(p, reached.data[to])->group == group;) to++;
      check_group(p, &reached, from, to);
    }
    hiaF_check_own_gradients(p, &reached);
    for (uint32_t i = 0; i < reached.len; i++) hiaF_inst(p, reached.data[i])->judged = true;
    if (p->it.has_tensors) hiaF_dims(p, reached.data, reached.len);
  }
  for (uint32_t i = 0; i < reached.len; i++) {
    const hia_inst *inst = hiaF_inst(p, reached.data[i]);
    if (inst->failed) sound = false;
    for (uint32_t k = 0; inst->diags != NULL && k < inst->diags->list.len; k++)
      hiaF_diag_add(p->diags, &inst->diags->list.data[k]);
    if (inst->diags != NULL) p->diags->suppressed += inst->diags->suppressed;
  }
  for (uint32_t i = 0; i < reached.len && sound; i++) hiaF_inst(p, reached.data[i])->sound = true;
  return sound;
}
