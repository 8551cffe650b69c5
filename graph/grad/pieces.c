/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Cuts many words into several objects.
 *
 * A tape may keep any number of words, and an object cannot have that many: an offset in an object
 * is a number of 16 bits, and an image has bounds of its own. So consecutive words become *pieces*,
 * objects of a data type with one constructor, and references to these take their place; this is
 * repeated until few enough are left for the object (or the element, or the results of a call) that
 * holds the words, the *holder*. The result is a tree with the words as its leaves. A list of
 * pieces would do as well, but its types would nest as deep as it is long. */
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/walk.h"
#include <stdlib.h>

/* 512 bytes, the largest size that the heap has a size class of its own for; and the interpreter
 * reads as many fields in one node (HIA_MAX_FIELD_SET). */
#ifdef HIA_STRESS
enum { MOST_WORDS = 6 };
#else
enum { MOST_WORDS = 63 };
#endif
_Static_assert(MOST_WORDS <= HIA_MAX_LAYOUT_WORDS, "a piece is an object");

typedef HIA_VEC(hia_type) type_vec;

/* Defines the type of a piece of these words. */
static hia_type piece_type(hia_grad *d, const hia_type *words, uint32_t n, const char *name) {
  const char **names = HIA_NEW_ARRAY(d->arena, const char *, n);
  hia_type *fields = HIA_NEW_ARRAY(d->arena, hia_type, n);
  for (uint32_t i = 0; i < n; i++) names[i] = hiaR_arena_printf(d->arena, "x%u", i);
  memcpy(fields, words, n * sizeof *fields);
  hia_ctor_def def = {.name = "Piece", .field_names = names, .field_types = fields, .n_fields = n};
  hia_type type = hiaG_grad_named_type(d, name);
  hiaG_grad_define(d, type, &def, 1);
  return type;
}

/* What the types of no items point to, since NULL + 0 is undefined. */
static const hia_type no_type = 0;

const hia_pieces *hiaG_grad_pieces(hia_grad *d, const hia_type *words, uint32_t n, const char *name,
                                   uint32_t *n_named) {
  hia_pieces *p = HIA_NEW(d->arena, hia_pieces);
  type_vec types = {0};
  for (uint32_t i = 0; i < n; i++) hiaR_push(d->arena, &types, words[i]);
  p->n_words = p->n = n;
  while (p->n > MOST_WORDS) {
    uint32_t n_groups = (p->n + MOST_WORDS - 1) / MOST_WORDS, first = types.len;
    for (uint32_t g = 0; g < n_groups; g++) {
      uint32_t from = p->first + (uint32_t)((uint64_t)p->n * g / n_groups),
               to = p->first + (uint32_t)((uint64_t)p->n * (g + 1) / n_groups);
      hiaR_push(d->arena, &p->pieces, (hia_piece){from, to - from});
      hia_type type = piece_type(d, types.data + from, to - from,
                                 hiaR_arena_printf(d->arena, "%s piece %u", name, (*n_named)++));
      hiaR_push(d->arena, &types, type);
    }
    p->first = first;
    p->n = n_groups;
  }
  p->types = types.data ? types.data : &no_type;
  p->in = HIA_NEW_ARRAY(d->arena, uint32_t, types.len + 1);
  memset(p->in, 0xff, types.len * sizeof *p->in);
  for (uint32_t i = 0; i < p->pieces.len; i++)
    for (uint32_t k = 0; k < p->pieces.data[i].n; k++) p->in[p->pieces.data[i].first + k] = i;
  return p;
}

const hia_pieces *hiaG_grad_uncut(hia_grad *d, const hia_type *words, uint32_t n) {
  hia_pieces *p = HIA_NEW(d->arena, hia_pieces);
  p->n_words = p->n = n;
  p->types = words ? words : &no_type;
  p->in = HIA_NEW_ARRAY(d->arena, uint32_t, n + 1);
  memset(p->in, 0xff, n * sizeof *p->in);
  return p;
}

/* ---- making ---- */

/* A piece, and the position of the last of its words in their region; 0: all are there before. */
typedef struct due {
  uint32_t position, piece;
} due;

static int by_position(const void *a, const void *b) {
  const due *x = a, *y = b;
  if (x->position != y->position) return x->position < y->position ? -1 : 1;
  return x->piece < y->piece ? -1 : x->piece > y->piece;
}

/* Numbers the nodes of a region from 1 on: d->positions, by node. */
static void find_positions(hia_grad *d, const hia_fn *fn, hia_region_id region) {
  hiaR_reserve(d->arena, &d->positions, fn->nodes.len);
  uint32_t n = 0;
  HIA_EACH_IN(fn, region, i) d->positions.data[i] = ++n;
}

static uint32_t position_of(const hia_grad *d, hia_grad_at at, hia_value_id v) {
  const hia_node *def = hiaG_def(at.fn, v);
  bool is_there = def->region != at.region || def->op == HIA_OP_ARG;
  return is_there ? 0 : d->positions.data[at.fn->values.data[v].node];
}

/* Returns the node behind a position; NONE: the region ends there. Positions grow from call to
 * call. */
static hia_node_id node_behind(const hia_grad *d, hia_grad_at at, hia_node_id from,
                               uint32_t position) {
  const hia_node *nodes = at.fn->nodes.data;
  while (from != HIA_NONE && (nodes[from].op == HIA_OP_ARG || d->positions.data[from] <= position))
    from = nodes[from].next;
  return from;
}

hia_u32vec hiaG_grad_pack(hia_grad *d, hia_grad_at at, const hia_pieces *p,
                          const hia_value_id *words) {
  hia_u32vec held = {0};
  uint32_t n_pieces = p->pieces.len, n_items = p->n_words + n_pieces;
  hia_value_id *values = HIA_NEW_ARRAY(d->arena, hia_value_id, n_items + 1);
  uint32_t *positions = HIA_NEW_ARRAY(d->arena, uint32_t, n_items + 1);
  due *order = HIA_NEW_ARRAY(d->arena, due, n_pieces + 1);
  if (n_pieces) find_positions(d, at.fn, at.region);
  for (uint32_t i = 0; i < p->n_words; i++) {
    values[i] = words[i];
    if (n_pieces) positions[i] = position_of(d, at, words[i]);
  }
  for (uint32_t i = 0; i < n_pieces; i++) {
    const hia_piece *piece = &p->pieces.data[i];
    uint32_t last = 0;
    for (uint32_t k = 0; k < piece->n; k++)
      if (positions[piece->first + k] > last) last = positions[piece->first + k];
    positions[p->n_words + i] = last;
    order[i] = (due){last, i};
  }
  if (n_pieces) qsort(order, n_pieces, sizeof *order, by_position);
  hia_node_id before = at.fn->regions.data[at.region].first;
  for (uint32_t i = 0; i < n_pieces; i++) {
    uint32_t item = p->n_words + order[i].piece;
    const hia_piece *piece = &p->pieces.data[order[i].piece];
    const hia_value_id *ins = values + piece->first;
    before = node_behind(d, at, before, order[i].position);
    hia_node_id made = before == HIA_NONE ? hiaG_add(d->g, at.fn, at.region, HIA_OP_DATA, ins,
                                                     piece->n, &p->types[item], 1, 0, at.loc)
                                          : hiaG_insert(d->g, at.fn, before, HIA_OP_DATA, ins,
                                                        piece->n, &p->types[item], 1, 0, at.loc);
    values[item] = hiaG_out(at.fn, made, 0);
  }
  for (uint32_t i = 0; i < p->n; i++) hiaR_push(d->arena, &held, values[p->first + i]);
  return held;
}

/* ---- reading ---- */

/* Reads an item; the piece that has it has been read. */
hia_value_id hiaG_grad_unpack_word(hia_grad *d, hia_grad_at at, const hia_unpacking *u,
                                   uint32_t item) {
  const hia_pieces *p = u->pieces;
  bool is_held = p->in[item] == HIA_NONE;
  uint32_t field = hiaG_piece_field(p, item);
  hia_value_id from[2] = {is_held ? u->array : u->values[p->n_words + p->in[item]], u->index};
  hia_node_id read =
      hiaG_add(d->g, at.fn, at.region, is_held ? HIA_OP_AT : HIA_OP_FIELD, from, is_held ? 2 : 1,
               &p->types[item], 1, is_held ? field : HIA_IMM(0, field), at.loc);
  return u->values[item] = hiaG_out(at.fn, read, 0);
}

hia_unpacking hiaG_grad_unpack(hia_grad *d, hia_grad_at at, const hia_pieces *p, hia_value_id array,
                               hia_value_id index, uint32_t n) {
  uint32_t n_items = p->n_words + p->pieces.len;
  hia_unpacking u = {p, array, index, HIA_NEW_ARRAY(d->arena, hia_value_id, n_items + 1)};
  bool *is_needed = HIA_NEW_ARRAY(d->arena, bool, n_items + 1);
  for (uint32_t i = 0; i < n_items; i++) {
    is_needed[i] |= i < n;
    if (is_needed[i] && p->in[i] != HIA_NONE) is_needed[p->n_words + p->in[i]] = true;
  }
  for (uint32_t i = n_items; i-- > p->n_words;)
    if (is_needed[i]) (void)hiaG_grad_unpack_word(d, at, &u, i);
  return u;
}
