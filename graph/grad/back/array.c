/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through the ops of arrays. */
#include "graph/grad/back/back.h"
#include "graph/ir/sums.h"

/* Makes the array of the gradients of the elements that were stacked. */
void hiaG_back_pack(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE || !r->b->varies[array]) return;
  hia_type type = hiaG_type(r->fn, array), element = hiaG_element(r->g->types, type), i64 = HIA_I64;
  hia_type whole = hiaG_array(r->g->types, hiaG_grad_element(r->d, type));
  hia_value_id len = value_of(r, HIA_OP_DIM, &dy, 1, HIA_I64, 0);
  hia_node_id map = node_of(r, HIA_OP_MAP, &len, 1, &whole, 1, 0);
  hia_region_id each = r->back->nodes.data[map].regions, outer = r->region;
  hia_node_id arg = hiaG_add(r->g, r->back, each, HIA_OP_ARG, NULL, 0, &i64, 1, 0, node.loc);
  hia_value_id ins[2] = {dy, hiaG_out(r->back, arg, 0)};
  r->region = each;
  hia_value_id row = value_of(r, HIA_OP_ROW, ins, 2, element, 0);
  if (!hiaG_is_scalar(element))
    row = value_of(r, HIA_OP_DATA, &row, 1, hiaG_grad_stored(r->d, element), HIA_SUM_DENSE);
  hiaG_yield(r->g, r->back, each, &row, 1);
  r->region = outer;
  hiaG_back_add(r, array, hiaG_grad_of_whole(r->d, here(r), type, hiaG_out(r->back, map, 0)));
}

void hiaG_back_array(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, node.outs);
  uint32_t n_words = hiaG_type_words(r->g->types, hiaG_element(r->g->types, type));
  hia_value_id len = constant(r, HIA_I64, node.n_ins / n_words);
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), type, dy, len);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    hia_value_id ins[2] = {whole, constant(r, HIA_I64, i / n_words)};
    hia_value_id dv = value_of(r, HIA_OP_AT, ins, 2, hiaG_grad_stored(r->d, hiaG_type(r->fn, v)),
                               hiaG_grad_word(r->d, type, i % n_words));
    hiaG_back_add(r, hiaG_back_id(r, v), hiaG_back_from_stored(r, v, dv));
  }
}

void hiaG_back_at(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, array);
  uint32_t word = hiaG_grad_word(r->d, type, (uint32_t)node.imm);
  hia_value_id i = hiaG_back_read(r, hiaG_in(r->fn, n, 1));
  hiaG_back_add(
      r, array,
      hiaG_grad_of_element(r->d, here(r), type, i, word, hiaG_back_to_stored(r, node.outs, dy)));
}

void hiaG_back_slice(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_value_id from = hiaG_back_read(r, hiaG_in(r->fn, n, 1));
  hiaG_back_add(r, array, hiaG_grad_of_part(r->d, here(r), hiaG_type(r->fn, array), from, dy));
}

void hiaG_back_set(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, array), element = hiaG_grad_element(r->d, type);
  hia_value_id from = hiaG_back_read(r, array), len = value_of(r, HIA_OP_LEN, &from, 1, HIA_I64, 0);
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), type, dy, len);
  hia_value_id i = hiaG_back_read(r, hiaG_in(r->fn, n, 1));
  for (uint32_t k = 2; k < node.n_ins; k++) {
    hia_value_id v = hiaG_in(r->fn, n, k);
    if (!r->b->varies[v]) continue;
    hia_value_id dv =
        value_of(r, HIA_OP_AT, (hia_value_id[]){whole, i}, 2,
                 hiaG_grad_stored(r->d, hiaG_type(r->fn, v)), hiaG_grad_word(r->d, type, k - 2));
    hiaG_back_add(r, hiaG_back_id(r, v), hiaG_back_from_stored(r, v, dv));
  }
  if (!r->b->varies[array]) return;
  uint32_t n_words = hiaG_type_words(r->g->types, element);
  hia_type *words = HIA_NEW_ARRAY(r->d->arena, hia_type, n_words + 1);
  hiaG_type_flatten(r->g->types, element, words);
  hia_u32vec ins = {0};
  hiaR_push(r->d->arena, &ins, whole);
  hiaR_push(r->d->arena, &ins, i);
  for (uint32_t k = 0; k < n_words; k++)
    hiaR_push(r->d->arena, &ins, hiaG_grad_zero(r->d, here(r), words[k]));
  hia_value_id rest = value_of(r, HIA_OP_SET, ins.data, ins.len, hiaG_type(r->back, whole), 0);
  hiaG_back_add(r, array, hiaG_grad_of_whole(r->d, here(r), type, rest));
}

void hiaG_back_concat(hia_reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = hiaG_back_take(r, node.outs);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, node.outs);
  hia_value_id all = constant(r, HIA_I64, 0);
  hia_u32vec ends = {0};
  hiaR_push(r->d->arena, &ends, all);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id from = hiaG_back_read(r, hiaG_in(r->fn, n, i));
    all = op_of(r, HIA_OP_ADD, all, value_of(r, HIA_OP_LEN, &from, 1, HIA_I64, 0));
    hiaR_push(r->d->arena, &ends, all);
  }
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), type, dy, all);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    hia_value_id ins[3] = {whole, ends.data[i], ends.data[i + 1]};
    hia_value_id part = value_of(r, HIA_OP_SLICE, ins, 3, hiaG_type(r->back, whole), 0);
    hiaG_back_add(r, v, hiaG_grad_of_whole(r->d, here(r), type, part));
  }
}
