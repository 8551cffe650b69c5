/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* References in a decoded image: which operands take them, and which slots must be looked at when a
 * frame goes or a round ends.
 *
 * Which operands of nodes take is written in the image (graph/flatten/take.c). From that, decoding
 * derives which moves between rounds take, what a call hands to its callee, and which slots are
 * empty in the end wherever control has gone. */
#include "runtime/image/decode.h"

const hia_move *hiaR_decode_moves(hia_decoder *d, uint32_t first, uint32_t n, uint32_t *n_scalars,
                                  uint32_t *n_refs) {
  hia_move *moves = d->moves;
  uint32_t at = 0;
  for (int refs = 0; refs < 2; refs++) {
    for (uint32_t i = 0; i < n; i += 2) {
      hia_move move = {d->words[first + i], d->words[first + i + 1]};
      if (hiaR_is_ref(d, move.to) == refs) moves[at++] = move;
    }
    if (!refs) *n_scalars = at;
  }
  *n_refs = at - *n_scalars;
  d->moves += at;
  return moves;
}

/* ---- slots that are empty in the end ----
 *
 * A slot need not be looked at when its frame goes, or its round ends, if its reference is taken
 * wherever it has been written. If the image is not as flatten makes it, an object may stay until
 * the run ends. */

static void add_use(hia_decoder *d, uint32_t *first, uint32_t slot, uint32_t region) {
  if (!hiaR_is_ref(d, slot)) return;
  d->uses.list[d->uses.n] = (hia_slot_use){region, first[slot]};
  first[slot] = d->uses.n++;
}

static void add_uses_of_moves(hia_decoder *d, uint32_t first, uint32_t n, uint32_t region) {
  const uint32_t *words = d->t.words + first;
  for (uint32_t i = 0; i < n; i += 2) {
    if (words[i] & HIA_IMAGE_TAKEN) add_use(d, d->uses.takers, hiaR_slot_of(words[i]), region);
    add_use(d, d->uses.writers, words[i + 1], region);
  }
}

/* True if values of the type with this base need no object if they are of constructor `number`. */
static bool has_no_fields(const hia_decoder *d, uint32_t base, uint64_t number) {
  const hia_type_table *t = &d->t.types;
  return number < HIA_MAX_CTORS && base + number < t->n_ctors &&
         d->shapes->list[base + number].ctor == number && t->ctors[base + number].layout.n == 0;
}
static bool has_no_objects(const hia_decoder *d, uint32_t base) {
  for (uint32_t i = 0;; i++) {
    if (i && (base + i >= d->t.types.n_ctors || d->shapes->list[base + i].ctor != i)) return true;
    if (!has_no_fields(d, base, i)) return false;
  }
}

static const hia_image_node *origin_of(const hia_decoder *d, const hia_image_section *s,
                                       uint32_t slot) {
  uint32_t node = d->uses.origin[slot];
  return node == HIA_NONE ? NULL : &d->t.nodes[s->nodes + node];
}

/* In a side of a branch where the value of a slot is known to be of a constructor without fields,
 * the slot holds nothing that must be given up, as if it had been taken. */
static void add_use_of_test(hia_decoder *d, const hia_image_section *s, uint32_t region) {
  const hia_image_region *r = &d->t.regions[s->regions + region];
  const hia_image_node *branch = &d->t.nodes[s->nodes + r->node],
                       *test = origin_of(d, s, d->t.words[branch->ins]);
  if (!test || test->kind != HIA_KIND_KERNEL) return;
  const uint32_t *ins = d->t.words + test->ins;
  const hia_image_node *ctor = origin_of(d, s, ins[0]);
  uint32_t first_const = s->n_slots - s->n_consts;
  if (!ctor || ctor->kind != HIA_KIND_CTOR || ins[1] < first_const) return;
  uint32_t data = hiaR_slot_of(d->t.words[ctor->ins]), base = d->ref_base[data];
  if (base == HIA_NONE) return;
  uint64_t number = d->t.consts[s->consts + ins[1] - first_const];
  bool is_one_of_two = number <= 1 && base + 1 < d->t.types.n_ctors &&
                       d->shapes->list[base + 1].ctor == 1 &&
                       (base + 2 >= d->t.types.n_ctors || d->shapes->list[base + 2].ctor != 2);
  if (r->side == 0 ? has_no_fields(d, base, number)
                   : is_one_of_two && has_no_fields(d, base, 1 - number))
    add_use(d, d->uses.takers, data, region);
}

static void find_origins(hia_decoder *d, const hia_image_section *s) {
  for (uint32_t i = 0; i < s->n_slots; i++) d->uses.origin[i] = HIA_NONE;
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    const hia_image_node *n = &d->t.nodes[s->nodes + i];
    bool is_test = n->kind == HIA_KIND_KERNEL && d->t.kernels[n->what].op == HIA_OP_EQ;
    if (is_test || n->kind == HIA_KIND_CTOR) d->uses.origin[d->t.words[n->outs]] = i;
  }
}

static void find_uses(hia_decoder *d, const hia_image_section *s) {
  hia_slot_uses *u = &d->uses;
  const hia_image_region *r = d->t.regions + s->regions;
  u->n = 0;
  for (uint32_t i = 0; i < s->n_slots; i++) u->takers[i] = u->writers[i] = HIA_NONE;
  for (uint32_t i = 0; i < s->n_nodes; i++) u->side[i] = 0;
  for (uint32_t i = 0; i < s->n_regions; i++) {
    u->covered[i] = 0;
    u->other[i] = HIA_NONE;
    add_uses_of_moves(d, r[i].moves, r[i].n_moves, i);
    if (!i) continue;
    uint32_t first = u->side[r[i].node];
    if (first) u->other[i] = first - 1, u->other[first - 1] = i;
    u->side[r[i].node] = i + 1;
  }
  for (uint32_t i = 0; i < s->n_params; i++) add_use(d, u->writers, i, 0);
  add_uses_of_moves(d, s->enter, s->n_enter, 0);
  for (uint32_t i = 1; i < s->n_next; i += 2) add_use(d, u->writers, d->t.words[s->next + i], 0);
  uint32_t region = 0, next = 1; /* regions stand in the order of their first nodes */
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    while (region && r[region].last <= i) region = r[region].parent;
    for (; next < s->n_regions && r[next].first <= i; next++)
      if (r[next].last > i) region = next;
    const hia_image_node *n = &d->t.nodes[s->nodes + i];
    for (uint32_t k = 0; k < n->n_ins; k++) {
      uint32_t in = d->t.words[n->ins + k];
      if (in & HIA_IMAGE_TAKEN) add_use(d, u->takers, hiaR_slot_of(in), region);
    }
    for (uint32_t k = 0; k < n->n_outs; k++)
      add_use(d, u->writers, d->t.words[n->outs + k], region);
  }
  find_origins(d, s);
  for (uint32_t i = 1; i < s->n_regions; i++) add_use_of_test(d, s, i);
}

/* Marks the regions in which the slot's reference is taken wherever control goes: by a node of the
 * region, or in both sides of a branch of it. */
static void cover(hia_decoder *d, const hia_image_section *s, uint32_t slot) {
  const hia_image_region *r = d->t.regions + s->regions;
  hia_slot_uses *u = &d->uses;
  for (uint32_t i = u->takers[slot]; i != HIA_NONE; i = u->list[i].next)
    for (uint32_t at = u->list[i].region; u->covered[at] != slot + 1; at = r[at].parent) {
      u->covered[at] = slot + 1;
      if (!at || u->other[at] == HIA_NONE || u->covered[u->other[at]] != slot + 1) break;
    }
}

/* True if the slot's reference is taken wherever it is written: in the region, or in one around it.
 */
static bool is_settled(hia_decoder *d, const hia_image_section *s, uint32_t slot) {
  enum { DEEP = 64 }; /* so that the time is proportional to the image */
  const hia_image_region *r = d->t.regions + s->regions;
  const hia_slot_uses *u = &d->uses;
  if (has_no_objects(d, d->ref_base[slot])) return true;
  cover(d, s, slot);
  for (uint32_t i = u->writers[slot]; i != HIA_NONE; i = u->list[i].next) {
    uint32_t at = u->list[i].region;
    for (uint32_t k = 0; at && u->covered[at] != slot + 1; k++, at = r[at].parent)
      if (k == DEEP) return false;
    if (u->covered[at] != slot + 1) return false;
  }
  return true;
}

/* What decode_next knows of a slot. */
enum { MARK_ROUND = 1, MARK_READ = 2, MARK_WRITTEN = 4 };

/* Marks slots that hold their references for a round at most. */
static void mark_round_slots(hia_decoder *d, const hia_section *out, uint8_t mark) {
  for (uint32_t i = 0; i < out->n_round_refs; i++) d->marks[out->round_refs[i].slot] = mark;
}

/* A move takes the reference if the slot is not read by a later move, and is written by one or
 * holds its reference only for this round. */
static void take_next(hia_decoder *d, hia_section *out, hia_ref_move *moves) {
  mark_round_slots(d, out, MARK_ROUND);
  for (uint32_t i = out->n_ref_next; i-- > 0;) {
    uint8_t *from = &d->marks[moves[i].from];
    bool takes = !(*from & MARK_READ) && *from & (MARK_ROUND | MARK_WRITTEN);
    *from |= MARK_READ;
    d->marks[moves[i].to] |= MARK_WRITTEN;
    if (takes) moves[i].from |= HIA_IMAGE_TAKEN;
  }
  for (uint32_t i = 0; i < out->n_ref_next; i++)
    d->marks[hiaR_slot_of(moves[i].from)] = d->marks[moves[i].to] = 0;
  mark_round_slots(d, out, 0);
}

static hia_ref_move *decode_next(hia_decoder *d, const hia_image_section *s, hia_section *out) {
  uint32_t n_refs;
  out->next = hiaR_decode_moves(d, s->next, s->n_next, &out->n_next, &n_refs);
  hia_ref_move *moves = d->ref_moves;
  out->ref_next = moves;
  out->n_ref_next = n_refs;
  for (uint32_t i = 0; i < n_refs; i++) {
    const hia_move *move = &out->next[out->n_next + i];
    moves[i] = (hia_ref_move){move->from, move->to, d->ref_base[move->to]};
  }
  d->ref_moves += n_refs;
  return moves;
}

static void add_round_ref(hia_decoder *d, hia_section *out, uint32_t slot) {
  if (!hiaR_is_ref(d, slot)) return;
  *d->ref_slots++ = (hia_ref_slot){slot, d->ref_base[slot]};
  out->n_round_refs++;
}

static bool is_target(const hia_move *moves, uint32_t n, uint32_t slot) {
  for (uint32_t i = 0; i < n; i++)
    if (moves[i].to == slot) return true;
  return false;
}

/* Slots that nodes, or moves of regions, write hold their references for a round. The spare slots
 * of moves between rounds need them for less: these are the targets that are no variables. */
static void decode_round_refs(hia_decoder *d, const hia_image_section *s, hia_section *out) {
  out->round_refs = d->ref_slots;
  if (!out->iterates) return;
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    const hia_image_node *n = &d->t.nodes[s->nodes + i];
    for (uint32_t k = 0; k < n->n_outs; k++) add_round_ref(d, out, d->words[n->outs + k]);
  }
  for (uint32_t i = 0; i < s->n_regions; i++) {
    const hia_image_region *r = &d->t.regions[s->regions + i];
    for (uint32_t k = 1; k < r->n_moves; k += 2) add_round_ref(d, out, d->words[r->moves + k]);
  }
  for (uint32_t i = 0; i < out->n_ref_next; i++) {
    uint32_t to = out->ref_next[i].to;
    if (to >= s->n_params && !is_target(out->ref_enter, out->n_ref_enter, to))
      add_round_ref(d, out, to);
  }
}

/* A frame that goes gives its references to the results, each once. */
static void decode_results(hia_decoder *d, const hia_image_section *s, hia_section *out) {
  const uint32_t *results = d->words + s->results;
  out->ref_results = d->slots;
  for (uint32_t i = 0; i < s->n_results; i++) {
    if (!hiaR_is_ref(d, results[i]) || d->marks[results[i]]) continue;
    d->marks[results[i]] = 1;
    d->slots[out->n_ref_results++] = results[i];
  }
  d->slots += out->n_ref_results;
  out->more_results = d->slots;
  for (uint32_t i = 0; i < s->n_results; i++) {
    if (!hiaR_is_ref(d, results[i])) continue;
    if (!d->marks[results[i]]) d->slots[out->n_more_results++] = results[i];
    d->marks[results[i]] = 0;
  }
  d->slots += out->n_more_results;
}

/* Leaves slots out that hold nothing when they would be dropped. */
static void decode_drops(hia_decoder *d, const hia_image_section *s, hia_section *out) {
  if (!out->n_refs) return;
  find_uses(d, s);
  for (uint32_t i = 0; i < out->n_ref_next; i++)
    if (out->ref_next[i].from & HIA_IMAGE_TAKEN) d->marks[hiaR_slot_of(out->ref_next[i].from)] = 1;
  hia_ref_slot *at = d->ref_slots - out->n_round_refs;
  uint32_t n = 0;
  for (uint32_t i = 0; i < out->n_round_refs; i++)
    if (!d->marks[at[i].slot] && !is_settled(d, s, at[i].slot)) at[n++] = at[i];
  out->n_round_refs = n;
  for (uint32_t i = 0; i < out->n_ref_next; i++) d->marks[hiaR_slot_of(out->ref_next[i].from)] = 0;
  d->ref_slots = at + n;
  out->end_refs = at = d->ref_slots;
  for (uint32_t i = 0; i < out->n_ref_results; i++) d->marks[out->ref_results[i]] = 1;
  for (uint32_t i = 0; i < out->n_refs; i++)
    if (!d->marks[out->refs[i].slot] && !is_settled(d, s, out->refs[i].slot))
      at[out->n_end_refs++] = out->refs[i];
  for (uint32_t i = 0; i < out->n_ref_results; i++) d->marks[out->ref_results[i]] = 0;
  d->ref_slots += out->n_end_refs;
}

void hiaR_decode_refs(hia_decoder *d, const hia_image_section *s, hia_section *out) {
  hia_ref_slot *refs = d->ref_slots;
  for (uint32_t i = 0; i < s->n_slots; i++) d->ref_base[i] = HIA_NONE;
  out->refs = refs;
  out->n_refs = s->n_refs / 2;
  for (uint32_t i = 0; i < out->n_refs; i++) {
    uint32_t slot = d->words[s->refs + 2 * i];
    refs[i] = (hia_ref_slot){slot, hiaR_shape_base(d->shapes, d->words[s->refs + 2 * i + 1])};
    d->ref_base[slot] = refs[i].base;
    out->n_ref_params += slot < s->n_params;
  }
  d->ref_slots += out->n_refs;
  decode_results(d, s, out);
  out->enter = hiaR_decode_moves(d, s->enter, s->n_enter, &out->n_enter, &out->n_ref_enter);
  out->ref_enter = out->enter + out->n_enter;
  hia_ref_move *next = decode_next(d, s, out);
  decode_round_refs(d, s, out);
  take_next(d, out, next);
  decode_drops(d, s, out);
  out->has_end = out->n_ref_results || out->n_more_results || out->n_end_refs;
  out->has_one_end = s->n_results == 1 && out->n_ref_results == 1 && !out->n_end_refs;
}

/* ---- calls ---- */

/* A slot that is taken twice can only move once. */
void hiaR_decode_args(hia_decoder *d, const hia_image_node *n, hia_child *child) {
  const hia_image_section *callee = &d->t.sections[n->what];
  const uint32_t *refs = d->t.words + callee->refs;
  uint32_t *args = d->words + n->ins;
  child->takes = d->slots;
  for (uint32_t i = 0; i < n->n_ins; i++) {
    if (!(args[i] & HIA_IMAGE_TAKEN)) continue;
    uint32_t slot = hiaR_slot_of(args[i]);
    if (d->marks[slot]) {
      args[i] = slot;
      continue;
    }
    d->marks[slot] = 1;
    d->slots[child->n_takes++] = slot;
  }
  d->slots += child->n_takes;
  child->shares = d->slots;
  for (uint32_t i = 0; i < callee->n_refs && refs[i] < n->n_ins; i += 2)
    if (!(args[refs[i]] & HIA_IMAGE_TAKEN)) d->slots[child->n_shares++] = refs[i];
  d->slots += child->n_shares;
  child->has_refs = child->n_takes || child->n_shares;
  for (uint32_t i = 0; i < n->n_ins; i++) {
    args[i] = hiaR_slot_of(args[i]);
    d->marks[args[i]] = 0;
  }
}

/* ---- scratch memory ---- */

/* Each use is one of a word, or of a parameter, or of the test of a branch. */
static size_t max_uses(const hia_image_header *h, uint32_t max_slots, uint32_t max_regions) {
  return (size_t)h->words.n + max_slots + max_regions;
}
size_t hiaR_room_of_uses(const hia_image_header *h, uint32_t max_slots, uint32_t max_nodes,
                         uint32_t max_regions) {
  return hiaR_room(max_uses(h, max_slots, max_regions), sizeof(hia_slot_use)) +
         3 * hiaR_room(max_slots, sizeof(uint32_t)) + 2 * hiaR_room(max_regions, sizeof(uint32_t)) +
         hiaR_room(max_nodes, sizeof(uint32_t));
}
void hiaR_lay_out_uses(hia_slot_uses *u, char *at, const hia_image_header *h, uint32_t max_slots,
                       uint32_t max_regions) {
  u->list = (hia_slot_use *)(void *)at;
  u->takers = (uint32_t *)(void *)(at += hiaR_room(max_uses(h, max_slots, max_regions),
                                                   sizeof(hia_slot_use)));
  u->writers = (uint32_t *)(void *)(at += hiaR_room(max_slots, sizeof(uint32_t)));
  u->origin = (uint32_t *)(void *)(at += hiaR_room(max_slots, sizeof(uint32_t)));
  u->covered = (uint32_t *)(void *)(at += hiaR_room(max_slots, sizeof(uint32_t)));
  u->other = (uint32_t *)(void *)(at += hiaR_room(max_regions, sizeof(uint32_t)));
  u->side = (uint32_t *)(void *)(at + hiaR_room(max_regions, sizeof(uint32_t)));
}
