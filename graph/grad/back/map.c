/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Goes through comprehensions backwards. The elements do not depend on each other, so neither do
 * their gradients: another comprehension gives what each of them adds to values from outside, and a
 * loop adds these in their order. */
#include "graph/grad/back/back.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* A comprehension of f, and what goes through it. */
typedef struct mapping {
  hia_reverse *r;
  hia_node_id n;
  hia_node node;
  hia_value_id dy;  /* the gradient of the array */
  hia_value_id len; /* the number of elements */
  hia_node_id map;  /* the comprehension of f.back */
  hia_region_id each;
  hia_contributions found; /* what an element adds to values from outside */
  HIA_VEC(hia_type) types; /* of these */
  const hia_pieces *pieces;
} mapping;

/* Makes the comprehension of f.back, and goes through the region of f's in it. */
static void through_elements(mapping *m) {
  hia_reverse *r = m->r;
  hia_type made = hiaG_type(r->fn, m->node.outs), placeholder = HIA_BOOL;
  hia_grad_record *record = &r->b->records[m->n];
  m->len = hiaG_back_read(r, hiaG_in(r->fn, m->n, 0));
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), made, m->dy, m->len);
  m->map = node_of(r, HIA_OP_MAP, &m->len, 1, &placeholder, 1, 0);
  m->each = r->back->nodes.data[m->map].regions;
  hia_value_id k = arg_of(r, m->each, HIA_I64, 0, m->node.loc);
  uint32_t grad_region = hiaG_back_add_region(r, HIA_GRAD_EACH, m->node.regions, m->each,
                                              r->grad_region, record->kept);
  record->grad_regions[0] = grad_region;
  r->b->grad_regions.data[grad_region].tape = k; /* the index; the array is the record */
  hia_node_id yield = hiaG_yield_of(r->fn, m->node.regions);
  uint32_t n_words = r->fn->nodes.data[yield].n_ins, around, begin = hiaG_back_open(r, &around);
  uint32_t outer_region = r->grad_region;
  hia_region_id outer = r->region;
  r->grad_region = grad_region;
  r->region = m->each;
  for (uint32_t i = 0; i < n_words; i++) {
    hia_value_id v = hiaG_in(r->fn, yield, i);
    if (!hiaG_has_gradient(r->d, hiaG_type(r->fn, v)) || !r->b->varies[v]) continue;
    hia_value_id dv =
        value_of(r, HIA_OP_AT, (hia_value_id[]){whole, k}, 2,
                 hiaG_grad_stored(r->d, hiaG_type(r->fn, v)), hiaG_grad_word(r->d, made, i));
    hiaG_back_add(r, hiaG_back_id(r, v), hiaG_back_from_stored(r, v, dv));
  }
  hiaG_back_region(r, grad_region);
  m->found = hiaG_back_close(r, begin, around);
  r->grad_region = outer_region;
  r->region = outer;
}

/* Ends the comprehension of f.back: an element is what is added to values from outside, cut into
 * pieces. Returns the array. */
static hia_value_id end_elements(mapping *m) {
  hia_reverse *r = m->r;
  hia_arena *arena = r->d->arena;
  hia_u32vec words = {0};
  for (uint32_t i = 0; i < m->found.len; i++) {
    hiaR_push(arena, &words, m->found.data[i].gradient);
    hiaR_push(arena, &m->types, hiaG_back_type(r, m->found.data[i].id));
  }
  hia_type tape = r->d->versions.data[r->b->version].tape;
  const char *name =
      hiaR_arena_printf(arena, "%s gradients %u", hiaG_type_text(r->g->types, tape), m->n);
  uint32_t n_named = 0;
  m->pieces = hiaG_grad_pieces(r->d, m->types.data, m->types.len, name, &n_named);
  hia_u32vec held =
      hiaG_grad_pack(r->d, (hia_grad_at){r->back, m->each, m->node.loc}, m->pieces, words.data);
  hiaG_yield(r->g, r->back, m->each, held.data, held.len);
  const hia_type *parts = m->pieces->types + m->pieces->first;
  hia_type tuple = held.len == 1 ? *parts : hiaG_tuple(r->g->types, parts, held.len);
  hia_type array = hiaG_array(r->g->types, tuple);
  hiaG_set_outs(r->g, r->back, m->map, &array, 1);
  return hiaG_out(r->back, m->map, 0);
}

/* Makes the loop that adds up the elements of the array. */
static void add_elements(mapping *m, hia_value_id array) {
  hia_reverse *r = m->r;
  hia_arena *arena = r->d->arena;
  const hia_contributions found = m->found;
  hia_u32vec starts = {0}, args = {0}, next = {0}, exits = {0};
  HIA_VEC(hia_type) loop_types = {0};
  hia_region_id outer = r->region;
  hiaR_push(arena, &starts, constant(r, HIA_I64, 0));
  hiaR_push(arena, &loop_types, HIA_I64);
  for (uint32_t i = 0; i < found.len; i++) {
    hiaR_push(arena, &starts, hiaG_back_zero(r, found.data[i].id));
    hiaR_push(arena, &loop_types, m->types.data[i]);
  }
  hia_node_id loop =
      node_of(r, HIA_OP_LOOP, starts.data, starts.len, m->types.data, m->types.len, 0);
  r->back->nodes.data[loop].flags |= HIA_NODE_FREE;
  hia_region_id head = r->back->nodes.data[loop].regions;
  for (uint32_t i = 0; i < loop_types.len; i++)
    hiaR_push(arena, &args, arg_of(r, head, loop_types.data[i], i, m->node.loc));
  for (uint32_t i = 0; i < found.len; i++) {
    if (hiaG_back_is_param(r, found.data[i].id)) continue;
    hiaG_back_same_shape(r, args.data[i + 1], found.data[i].id);
    hiaG_back_same_shape(r, hiaG_out(r->back, loop, i), found.data[i].id);
  }
  r->region = head;
  hiaR_push(arena, &exits, op_of(r, HIA_OP_LT, args.data[0], m->len));
  for (uint32_t i = 1; i < args.len; i++) hiaR_push(arena, &exits, args.data[i]);
  hiaG_yield(r->g, r->back, head, exits.data, exits.len);
  r->region = head + 1;
  hiaR_push(arena, &next, op_of(r, HIA_OP_ADD, args.data[0], constant(r, HIA_I64, 1)));
  hia_unpacking u = hiaG_grad_unpack(r->d, here(r), m->pieces, array, args.data[0], found.len);
  for (uint32_t i = 0; i < found.len; i++) {
    hia_value_id word = hiaG_grad_unpack_word(r->d, here(r), &u, i);
    hiaR_push(arena, &next, hiaG_back_plus(r, m->types.data[i], args.data[i + 1], word));
  }
  hiaG_yield(r->g, r->back, head + 1, next.data, next.len);
  r->region = outer;
  for (uint32_t i = 0; i < found.len; i++)
    hiaG_back_add(r, found.data[i].id, hiaG_out(r->back, loop, i));
}

void hiaG_back_map(hia_reverse *r, hia_node_id n) {
  mapping m = {.r = r, .n = n, .node = r->fn->nodes.data[n]};
  m.dy = hiaG_back_take(r, m.node.outs);
  if (m.dy == HIA_NONE) return;
  (void)hiaG_back_record(r, n, HIA_BOOL); /* its type comes with its fields */
  through_elements(&m);
  if (!m.found.len) {
    hiaG_remove(r->back, m.map);
    hiaG_back_forget(r, n);
    return;
  }
  add_elements(&m, end_elements(&m));
}
