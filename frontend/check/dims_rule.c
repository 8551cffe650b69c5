/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Dims of types, and the rules by which operations give their results dims: those of
 * runtime/base/shape.h, with dims that no path has given yet. Operands that do not fit reject the
 * program. */
#include "frontend/check/dims.h"
#include "frontend/kit/instance.h"
#include "frontend/syntax/program.h"
#include "runtime/base/shape.h"

/* ---- dims ---- */

uint32_t hiaF_n_dims(const hia_itypes *it, hia_itype type) {
  uint32_t n = hiaF_irank(type);
  if (hiaF_is_array(type)) return hiaF_n_dims(it, hiaF_element(it, type));
  for (uint32_t i = 0; hiaF_is_tuple(type) && i < hiaF_ituple_len(it, type); i++)
    n += hiaF_n_dims(it, hiaF_ituple_part(it, type, i));
  return n;
}

hia_dim *hiaF_dims_of_all(hia_dim_walk *w, uint32_t n, hia_dim dim) {
  hia_dim *dims = HIA_NEW_ARRAY(w->scratch, hia_dim, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) dims[i] = dim;
  return dims;
}

hia_dim *hiaF_copy_dims(hia_dim_walk *w, const hia_dim *from, uint32_t n) {
  hia_dim *dims = hiaF_dims_of_all(w, n, HIA_DIM_UNKNOWN);
  if (n) memcpy(dims, from, n * sizeof *from);
  return dims;
}

bool hiaF_join_dims(hia_dim *to, const hia_dim *from, uint32_t n) {
  bool has_changed = false;
  for (uint32_t i = 0; i < n; i++) {
    if (to[i] == from[i] || from[i] == HIA_DIM_NONE_YET || to[i] == HIA_DIM_UNKNOWN) continue;
    to[i] = to[i] == HIA_DIM_NONE_YET ? from[i] : HIA_DIM_UNKNOWN;
    has_changed = true;
  }
  return has_changed;
}

void hiaF_load_dims(const hia_dim_operand *from, hia_dims *to) {
  to->rank = from->rank;
  if (to->rank) memcpy(to->dims, from->dims, to->rank * sizeof *to->dims);
}

/* ---- reports ---- */

static const char *shape_text(hia_dim_walk *w, const hia_dims *shape) {
  hia_text text;
  hiaR_text_init(&text, w->p->arena);
  hiaR_shape_print(shape, NULL, &text);
  return text.data;
}

void hiaF_reject_dims(hia_dim_walk *w, const hia_misfit *m, const hia_dim_operand *a,
                      const hia_dim_operand *b, uint32_t start, uint32_t end) {
  hia_program *p = w->p;
  hia_inst *inst = hiaF_inst(p, w->inst);
  hia_diags *outer = p->diags;
  if (inst->diags == NULL) {
    inst->diags = HIA_NEW(p->arena, hia_diags);
    hiaF_diags_init(inst->diags, p->comp, p->source);
  }
  hia_text text;
  hiaR_text_init(&text, p->arena);
  hiaR_misfit_print(m, NULL, &text);
  p->diags = inst->diags;
  hia_diag *diag = hiaF_error(p->diags, HIA_E0340, start, end, "%s: %s",
                              hiaR_status_message(HIA_SHAPE), text.data);
  hiaF_mark(p->diags, diag, a->start, a->end, shape_text(w, &m->a));
  hiaF_mark(p->diags, diag, b->start, b->end, shape_text(w, &m->b));
  hiaF_note_instances(p, w->inst, diag);
  p->diags = outer;
  inst->failed = true;
}

/* ---- rules ---- */

static hia_fit follow(const hia_dim_rule *op, const hia_dims *ins, uint32_t n, hia_dims *out,
                      hia_misfit *m) {
  hia_dims any = ins[0];
  switch (op->rule) {
  case HIA_DIMS_BROADCAST: return hiaR_shape_broadcast(ins, n, out, m);
  case HIA_DIMS_PRODUCT: return hiaR_shape_product(&ins[0], &ins[1], out, m);
  case HIA_DIMS_OUTER: return hiaR_shape_outer(&ins[0], &ins[1], out, m);
  case HIA_DIMS_INDEX: return hiaR_shape_index(&ins[0], &ins[1], out, m);
  case HIA_DIMS_SLICE: /* a slice that is out of range fails in the run */
    any.dims[0] = HIA_DIM_UNKNOWN;
    return hiaR_shape_slice(&any, op->from, op->to, out, m);
  case HIA_DIMS_REDUCE: return hiaR_shape_reduce(&ins[0], op->axis, out, m);
  case HIA_DIMS_TRANSPOSE: return hiaR_shape_transpose(&ins[0], out, m);
  case HIA_DIMS_LABELS: return hiaR_shape_labels(&ins[0], &ins[1], out, m);
  case HIA_DIMS_SET: return hiaR_shape_set(&ins[0], &ins[1], out, m);
  case HIA_DIMS_CONCAT: return hiaR_shape_concat(ins, n, op->axis, out, m);
  case HIA_DIMS_STACK: return hiaR_shape_stack(ins, n, op->axis, out, m);
  }
  return HIA_FIT_NEVER;
}

HIA_COLD const hia_dim *hiaF_apply_rule(hia_dim_walk *w, const hia_dim_rule *op,
                                        const hia_dim_operand *operands, uint32_t n,
                                        uint32_t rank) {
  hia_dims few[3], *ins = few, out = {0};
  hia_misfit m = {.kind = HIA_MISFIT_LARGE};
  bool waits = false; /* some hia_dim_operand has no value yet */
  if (n > HIA_LEN(few)) ins = HIA_NEW_ARRAY(w->scratch, hia_dims, n);
  for (uint32_t i = 0; i < n; i++) {
    hiaF_load_dims(&operands[i], &ins[i]);
    for (uint32_t k = 0; k < ins[i].rank; k++) waits |= ins[i].dims[k] == HIA_DIM_NONE_YET;
  }
  if (follow(op, ins, n, &out, &m) == HIA_FIT_NEVER || out.rank != rank) {
    if (w->is_last && m.kind == HIA_MISFIT_DIM)
      hiaF_reject_dims(w, &m, &operands[m.operand_a], &operands[m.operand_b], op->start, op->end);
    return hiaF_dims_of_all(w, rank, HIA_DIM_NONE_YET);
  }
  hia_dim *dims = hiaF_copy_dims(w, out.dims, rank);
  for (uint32_t i = 0; waits && i < rank; i++)
    if (dims[i] == HIA_DIM_UNKNOWN) dims[i] = HIA_DIM_NONE_YET;
  return dims;
}

uint32_t hiaF_rank_after(unsigned rule, uint32_t a, uint32_t b) {
  if (rule == HIA_DIMS_BROADCAST) return a > b ? a : b;
  uint32_t rank = hiaR_op_rank(HIA_OP_PRODUCT, 0, 2, (uint32_t[]){a, b, 0}, HIA_NONE);
  return rank == HIA_NONE ? 0 : rank;
}
