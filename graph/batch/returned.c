/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arrays of scalars that a host sees when the run returns them. In the program such an array may
 * have late scalars, like arrays that no host sees; a root makes the array that it returns of it,
 * at its end. That waits once:
 *
 *     yield %late          ->       %n = len %late
 *                                   %a = map %n {
 *                                     %k = arg 0
 *                                     %x = at 0 %late, %k
 *                                     yield wait(%x)
 *                                   }
 *                                   yield %a
 *
 * Arrays that hosts give, or that are in data which hosts see, are no such arrays: objects are
 * shared, and copies of them would not be. */
#include "graph/batch/put.h"
#include "graph/ir/build.h"

/* ---- which ---- */

static void mark_element(const hia_batcher *b, hia_type type) {
  const hia_types *types = b->g->types;
  if (hiaG_is_scalar(type)) return;
  hia_type_kind kind = hiaG_type_kind(types, type);
  if (kind == HIA_KIND_ARRAY)
    mark_element(b, hiaG_element(types, type));
  else if (kind == HIA_KIND_TUPLE)
    for (uint32_t i = 0; i < hiaG_tuple_len(types, type); i++)
      mark_element(b, hiaG_tuple_part(types, type, i));
  else
    hiaG_mark_parts(types, type, b->is_outside);
}

void hiaG_batch_mark_result(const hia_batcher *b, hia_type type) {
  bool is_array = !hiaG_is_scalar(type) && hiaG_type_kind(b->g->types, type) == HIA_KIND_ARRAY;
  if (is_array && b->owes)
    mark_element(b, type);
  else
    hiaG_mark_parts(b->g->types, type, b->is_outside);
}

/* ---- the array that is returned ---- */

static hia_type word_type(const hia_types *types, hia_type array, uint32_t word) {
  const hia_layout *layout = &types->entries.data[array - HIA_FIRST_TYPE].layout;
  return types->layout_words.data[layout->first + word].type;
}

/* The scalar of a tensor of one element, which may be pending. */
static hia_value_id put_scalar(const hia_putting *p, hia_value_id box, hia_type scalar) {
  hia_value_id there = hiaG_put(p, HIA_OP_FORCE, &box, 1, hiaG_type(p->fn, box), 0);
  return hiaG_put_2(p, HIA_OP_ROW, there, hiaG_put_number(p, 0), scalar);
}

hia_value_id hiaG_put_returned(const hia_putting *p, hia_value_id v, hia_type to) {
  const hia_types *types = p->g->types;
  hia_type from = hiaG_type(p->fn, v);
  if (from == to) return v;
  hia_value_id n = hiaG_put(p, HIA_OP_LEN, &v, 1, HIA_I64, 0);
  hia_value_id all = hiaG_put(p, HIA_OP_MAP, &n, 1, to, 0);
  hia_region_id each = hiaG_def(p->fn, all)->regions;
  hia_putting in = {p->g, p->fn, each, HIA_NONE, p->loc};
  hia_value_id element[2] = {v, hiaG_put(&in, HIA_OP_ARG, NULL, 0, HIA_I64, 0)};
  uint32_t n_words = types->entries.data[to - HIA_FIRST_TYPE].layout.n;
  hia_value_id *words = HIA_NEW_ARRAY(&p->g->comp->scratch, hia_value_id, n_words + 1);
  for (uint32_t i = 0; i < n_words; i++) {
    hia_type late = word_type(types, from, i), wanted = word_type(types, to, i);
    words[i] = hiaG_put(&in, HIA_OP_AT, element, 2, late, i);
    if (late != wanted)
      words[i] = hiaG_is_scalar(wanted) ? put_scalar(&in, words[i], wanted)
                                        : hiaG_put_returned(&in, words[i], wanted);
  }
  hiaG_yield(p->g, p->fn, each, words, n_words);
  return all;
}
