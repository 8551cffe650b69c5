/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Makes f.back read the tape, where so far UNDEF nodes stand. f.back reads a piece before the first
 * node that uses one of its words, and each of its words where that is used first. */
#include "graph/grad/keeping.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

/* Finds the first use of each value. What comprehensions and arms read of a record is its use, too.
 */
static void find_uses(hia_keeping *k) {
  hia_arena *arena = k->d->arena;
  uint32_t n = 0;
  if (k->order) return;
  k->order = HIA_NEW_ARRAY(arena, uint32_t, k->back->nodes.len + 1);
  k->first_use = HIA_NEW_ARRAY(arena, hia_node_id, k->back->values.len + 1);
  memset(k->first_use, 0xff, k->back->values.len * sizeof *k->first_use);
  HIA_EACH_NODE(k->back, at) {
    k->order[at] = ++n;
    for (uint32_t i = 0; i < k->back->nodes.data[at].n_ins; i++) {
      hia_node_id *first = &k->first_use[hiaG_in(k->back, at, i)];
      if (*first == HIA_NONE) *first = at;
    }
  }
  for (uint32_t i = 0; i < k->b->grad_regions.len; i++) {
    const hia_grad_region *p = grad_region_of(k, i);
    if (p->record == HIA_NONE) continue;
    hia_node_id *first = &k->first_use[kept_of(k, p->record)->stands_for];
    hia_node_id owner = k->back->regions.data[p->region].owner;
    bool is_there = k->order[owner] != 0;
    if (is_there && (*first == HIA_NONE || k->order[owner] < k->order[*first])) *first = owner;
  }
}

/* Returns the first node of the region that uses the result of `reader`, itself or in its regions;
 * or NONE. */
static hia_node_id first_use_in(const hia_keeping *k, hia_region_id region, hia_node_id reader) {
  hia_node_id n = k->first_use[k->back->nodes.data[reader].outs];
  while (n != HIA_NONE && k->back->nodes.data[n].region != region)
    n = k->back->regions.data[k->back->nodes.data[n].region].owner;
  return n;
}

/* Returns, by piece, the node of f.back before which it is read. */
static hia_node_id *find_ends(hia_keeping *k, const hia_holder *h) {
  const hia_pieces *p = h->pieces;
  const hia_grad_region *grad_region = grad_region_of(k, h->grad_region);
  hia_node_id *ends = HIA_NEW_ARRAY(k->d->arena, hia_node_id, p->pieces.len + 1);
  find_uses(k);
  for (uint32_t i = 0; i < p->pieces.len; i++) {
    const hia_piece *piece = &p->pieces.data[i];
    ends[i] = HIA_NONE;
    for (uint32_t item = piece->first; item < piece->first + piece->n; item++) {
      hia_node_id at = item >= p->n_words ? ends[item - p->n_words] : HIA_NONE;
      if (item < p->n_words && h->readers[item] != HIA_NONE)
        at = first_use_in(k, grad_region->region, h->readers[item]);
      if (at != HIA_NONE && (ends[i] == HIA_NONE || k->order[at] < k->order[ends[i]])) ends[i] = at;
    }
  }
  return ends;
}

/* How an item is read that the holder itself has; or of a piece that is `piece`. */
typedef struct reading {
  unsigned op;
  hia_value_id ins[2];
  uint32_t n_ins;
  uint64_t imm;
} reading;

static reading read_item(const hia_keeping *k, const hia_holder *h, uint32_t item,
                         hia_value_id piece) {
  const hia_grad_region *p = grad_region_of(k, h->grad_region);
  uint32_t field = hiaG_piece_field(h->pieces, item);
  if (piece != HIA_NONE) return (reading){HIA_OP_FIELD, {piece}, 1, HIA_IMM(0, field)};
  if (p->kind != HIA_GRAD_EACH)
    return (reading){HIA_OP_FIELD, {p->tape}, 1, HIA_IMM(p->ctor, field)};
  return (reading){HIA_OP_AT, {kept_of(k, p->record)->stands_for, p->tape}, 2, field};
}

/* Makes the UNDEF this node. */
static void becomes(hia_keeping *k, hia_node_id n, hia_type type, reading r) {
  k->back->values.data[k->back->nodes.data[n].outs].type = type;
  k->back->nodes.data[n].op = (uint16_t)r.op;
  k->back->nodes.data[n].imm = r.imm;
  hiaG_set_ins(k->g, k->back, n, r.ins, r.n_ins);
}

static void read_holder(hia_keeping *k, const hia_holder *h) {
  const hia_pieces *p = h->pieces;
  hia_region_id region = grad_region_of(k, h->grad_region)->region;
  hia_value_id *values = HIA_NEW_ARRAY(k->d->arena, hia_value_id, p->pieces.len + 1);
  hia_node_id *ends = p->pieces.len ? find_ends(k, h) : NULL;
  hia_node_id anchor = grad_region_of(k, h->grad_region)->anchor;
  for (uint32_t i = p->pieces.len; i-- > 0;) {
    uint32_t item = p->n_words + i, in = p->in[item];
    if (ends[i] == HIA_NONE) continue;
    if (in == HIA_NONE && h->call != HIA_NONE) {
      values[i] = hiaG_out(k->back, h->call, hiaG_piece_field(p, item));
      continue;
    }
    reading r = read_item(k, h, item, in == HIA_NONE ? HIA_NONE : values[in]);
    /* What was simplified by sizes may use them before the anchor. */
    bool is_early = in == HIA_NONE && k->order[ends[i]] < k->order[anchor];
    hia_node_id at = in != HIA_NONE ? ends[in] : is_early ? ends[i] : anchor;
    hia_loc_id loc = k->back->nodes.data[ends[i]].loc;
    hia_node_id n =
        hiaG_insert(k->g, k->back, at, r.op, r.ins, r.n_ins, &p->types[item], 1, r.imm, loc);
    values[i] = hiaG_out(k->back, n, 0);
  }
  for (uint32_t i = 0; i < p->n_words; i++) {
    hia_node_id n = h->readers[i];
    uint32_t in = p->in[i];
    bool is_unused = in != HIA_NONE && ends[in] == HIA_NONE; /* so its piece is not read either */
    if (n == HIA_NONE || is_unused) continue;
    if (in == HIA_NONE && h->call != HIA_NONE) {
      k->aliases.data[k->back->nodes.data[n].outs] =
          hiaG_out(k->back, h->call, hiaG_piece_field(p, i));
      continue;
    }
    becomes(k, n, p->types[i], read_item(k, h, i, in == HIA_NONE ? HIA_NONE : values[in]));
    if (in == HIA_NONE) continue;
    hia_node_id use = first_use_in(k, region, n);
    hiaG_move(k->back, n, use == HIA_NONE ? ends[in] : use);
  }
}

void hiaG_keep_read_tapes(hia_keeping *k) {
  for (uint32_t i = 0; i < k->b->kept.len; i++) {
    const hia_grad_kept *entry = kept_of(k, i);
    bool is_kept =
        entry->kind == HIA_KEPT_RECORD ? k->b->records[entry->node].kept == i : entry->is_used;
    if (!is_kept) hiaG_remove(k->back, k->back->values.data[entry->stands_for].node);
  }
  for (uint32_t i = 0; i < k->holders.len; i++) read_holder(k, &k->holders.data[i]);
  no_more_aliases(k);
  hiaG_substitute(k->back, k->aliases.data);
  for (uint32_t i = 0; i < k->b->kept.len; i++) {
    const hia_grad_kept *entry = kept_of(k, i);
    if (k->aliases.data[entry->stands_for] != HIA_NONE)
      hiaG_remove(k->back, k->back->values.data[entry->stands_for].node);
  }
  for (uint32_t i = 0; i < k->b->grad_regions.len; i++)
    if (!(k->back->nodes.data[grad_region_of(k, i)->anchor].flags & HIA_NODE_DEAD))
      hiaG_remove(k->back, grad_region_of(k, i)->anchor);
}
