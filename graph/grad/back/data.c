/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through data and their fields. */
#include "graph/grad/back/back.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"

/* A gradient of the value flows to its fields, if it is there. */
void hiaG_back_data(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs);
  if (dy == HIA_NONE) return;
  if (hiaG_is_sum(r->g->types, hiaG_type(r->fn, node.outs))) {
    hiaG_back_sum(r, n, dy);
    return;
  }
  hia_type type = hiaG_type(r->fn, node.outs);
  uint32_t ctor = (uint32_t)node.imm;
  hia_given given = hiaG_back_begin_given(r, dy);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    hia_value_id dv = value_of(r, HIA_OP_FIELD, &dy, 1, hiaG_grad_stored(r->d, hiaG_type(r->fn, v)),
                               HIA_IMM(ctor + 1, hiaG_grad_field(r->d, type, ctor, i)));
    dv = hiaG_back_from_stored(r, v, dv);
    hiaG_back_not_given(r, &given);
    hiaG_back_give(r, &given, hiaG_back_id(r, v), dv, hiaG_back_zero(r, hiaG_back_id(r, v)));
  }
  hiaG_back_end_given(r, &given);
  for (uint32_t i = 0; i < given.ids.len; i++)
    hiaG_back_add(r, given.ids.data[i], hiaG_out(r->back, given.branch, i));
}

/* What flows to a field becomes a gradient of the constructor that has the field. What flows to
 * several fields of a value becomes one such gradient. */
void hiaG_back_field(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs), v = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, v), gradient = hiaG_grad_type(r->d, type);
  uint32_t ctor = HIA_IMM_A(node.imm), n_fields = hiaG_grad_fields(r->d, type, ctor);
  uint32_t field = hiaG_grad_field(r->d, type, ctor, HIA_IMM_B(node.imm));
  hia_value_id *fields = HIA_NEW_ARRAY(r->d->arena, hia_value_id, n_fields + 1);
  hia_value_id so_far = *hiaG_back_gradient(r, v);
  hia_node_id def = so_far == HIA_NONE ? HIA_NONE : r->back->values.data[so_far].node;
  bool joins = def != HIA_NONE && r->back->nodes.data[def].op == HIA_OP_DATA &&
               r->back->nodes.data[def].imm == ctor + 1 &&
               r->back->nodes.data[def].region == r->region;
  const hia_ctor *made = hiaR_ctor(
      &(hia_type_table){.types = r->g->types->entries.data, .ctors = r->g->types->ctors.data},
      gradient, ctor + 1);
  hia_type *types = HIA_NEW_ARRAY(r->d->arena, hia_type, n_fields + 1);
  for (uint32_t i = 0; i < n_fields; i++) types[i] = r->g->types->fields.data[made->first + i].type;
  for (uint32_t i = 0; i < n_fields; i++) {
    fields[i] = joins ? hiaG_in(r->back, def, i) : HIA_NONE;
    if (i != field && fields[i] == HIA_NONE) fields[i] = hiaG_grad_zero(r->d, here(r), types[i]);
  }
  dy = hiaG_back_to_stored(r, node.outs, dy);
  hia_word word = 1;
  bool is_zero =
      fields[field] == HIA_NONE || (hiaG_is_const(r->back, fields[field], &word) && !word);
  fields[field] = is_zero ? dy : hiaG_back_plus(r, types[field], fields[field], dy);
  hia_value_id whole = value_of(r, HIA_OP_DATA, fields, n_fields, gradient, ctor + 1);
  if (joins) {
    hiaG_remove(r->back, def);
    *hiaG_back_gradient(r, v) = whole;
  } else {
    hiaG_back_add(r, v, whole);
  }
}
