/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Chooses the operands that take the references of their slots (HIA_IMAGE_TAKEN): a node may take
 * the reference if all other readers of the slot come before it, or never. Then the reference moves
 * and is not counted, and a SET changes its array in place.
 *
 * One would look for the last reader in sequential order. But nodes fire as their tokens come, and
 * another order that tokens allow would make a reader find nothing. So for each node there is the
 * set of nodes that cannot fire after it, as bits: those from which its tokens come; if it is in a
 * side of a branch, all of the other side; and behind a branch, of each side what the other has in
 * common with it, or what is in that other side. (In the ancestors of token.c nodes of one
 * side only are not behind the branch.)
 *
 * A child reads its operands when it is entered, and children are entered when no other node is
 * ready. So another node comes before a child, too, if all children that it may wait for do.
 *
 * Results, and the moves between rounds, come after all nodes of the round; they take what they can
 * without a bit in the image (runtime/image/refs.c). A slot of an iterating section is only taken
 * if it is written again before the next round reads it.
 *
 * Where a section is too large for the sets, a reader comes never if it is in the other side of a
 * branch, and before a SET or a MOVE of its array by construction: flatten.c makes these wait. */
#include "graph/flatten/section.h"

enum { LARGE = 4096, MANY = 64 };

typedef struct reader {
  uint32_t slot, node, operand; /* node NONE: `operand` is the index of a move of `enter` */
} reader;

typedef struct chooser {
  hia_flat_section *s;
  hia_arena *scratch;
  uint32_t n_nodes, width;
  uint64_t *before; /* nodes that cannot fire after node i, or after control of a region has come:
                       row n_nodes + region */
  uint64_t *behind; /* in the same way: children that it may wait for */
  uint32_t *other;  /* by region: the other side of its branch, or NONE */
  bool *is_late;    /* by slot: read by moves between rounds; */
  bool *is_result;
  bool *is_fresh; /* written in each round */
} chooser;

static uint64_t *row(const chooser *c, uint64_t *rows, uint32_t i) {
  return rows + (size_t)i * c->width;
}
static void set(uint64_t *bits, uint32_t i) { bits[i / 64] |= (uint64_t)1 << i % 64; }
static bool has(const uint64_t *bits, uint32_t i) { return bits[i / 64] >> i % 64 & 1; }

static void unite(const chooser *c, uint64_t *rows, uint32_t to, uint32_t from) {
  uint64_t *t = row(c, rows, to);
  const uint64_t *f = row(c, rows, from);
  for (uint32_t i = 0; i < c->width; i++) t[i] |= f[i];
}

static bool is_child(const hia_flat_node *n) {
  return n->kind == HIA_KIND_CALL || n->kind == HIA_KIND_LOOP;
}

static bool is_side_move(const hia_flat_node *n) {
  return n->kind == HIA_KIND_MOVE && n->is_dropped;
}

static void set_range(uint64_t *bits, uint32_t first, uint32_t last) {
  for (; first < last && first % 64; first++) set(bits, first);
  for (; first + 64 <= last; first += 64) bits[first / 64] = UINT64_MAX;
  for (; first < last; first++) set(bits, first);
}

static void set_region(chooser *c, uint64_t *bits, uint32_t region) {
  if (region == HIA_NONE) return;
  set_range(bits, c->s->regions.data[region].first, c->s->regions.data[region].last);
}

static void enter_region(chooser *c, uint32_t region) {
  uint32_t control = c->n_nodes + region, branch = c->s->regions.data[region].node;
  unite(c, c->before, control, branch);
  unite(c, c->behind, control, branch);
  set(row(c, c->before, control), branch);
  set_region(c, row(c, c->before, control), c->other[region]);
}

/* What node i gets from a source. */
static void follow(chooser *c, uint32_t i, uint32_t source) {
  unite(c, c->before, i, source);
  unite(c, c->behind, i, source);
  set(row(c, c->before, i), source);
  if (is_child(&c->s->nodes.data[source])) set(row(c, c->behind, i), source);
}

static void visit_merge(chooser *c, uint32_t i, uint64_t *sides[2]) {
  const hia_flat_node *n = &c->s->nodes.data[i];
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t source = c->s->pool.data[n->sources + k];
    uint32_t region = c->s->nodes.data[source].region;
    memcpy(sides[k], row(c, c->before, source), c->width * sizeof *sides[k]);
    set(sides[k], source);
    set_region(c, sides[k], c->other[region]);
    unite(c, c->behind, i, source);
    if (is_child(&c->s->nodes.data[source])) set(row(c, c->behind, i), source);
  }
  uint64_t *merged = row(c, c->before, i);
  for (uint32_t k = 0; k < c->width; k++) merged[k] = sides[0][k] & sides[1][k];
}

static void compute_rows(chooser *c) {
  const hia_flat_section *s = c->s;
  uint32_t n_rows = s->nodes.len + s->regions.len;
  if (n_rows > LARGE) return;
  c->width = (n_rows + 63) / 64;
  c->before = HIA_NEW_ARRAY(c->scratch, uint64_t, (size_t)n_rows * c->width);
  c->behind = HIA_NEW_ARRAY(c->scratch, uint64_t, (size_t)n_rows * c->width);
  uint64_t *sides[2] = {HIA_NEW_ARRAY(c->scratch, uint64_t, c->width),
                        HIA_NEW_ARRAY(c->scratch, uint64_t, c->width)};
  /* Moves of a side are made when control comes. */
  for (uint32_t i = 0; i < s->nodes.len; i++)
    if (is_side_move(&s->nodes.data[i]))
      set(row(c, c->before, c->n_nodes + s->nodes.data[i].region), i);
  uint32_t region = 1;
  for (uint32_t i = 0; i < s->nodes.len; i++) {
    for (; region < s->regions.len && s->regions.data[region].first <= i; region++)
      enter_region(c, region);
    const hia_flat_node *n = &s->nodes.data[i];
    if (n->is_merge)
      visit_merge(c, i, sides);
    else
      for (uint32_t k = 0; k < n->n_sources; k++) follow(c, i, s->pool.data[n->sources + k]);
    unite(c, c->before, i, c->n_nodes + n->region);
    unite(c, c->behind, i, c->n_nodes + n->region);
  }
}

/* True if the nodes are in the two sides of one branch. */
static bool are_apart(const chooser *c, const hia_flat_node *m, const hia_flat_node *n) {
  const hia_flat_region *regions = c->s->regions.data;
  uint32_t a = m->region, b = n->region, last_a = HIA_NONE, last_b = HIA_NONE;
  while (a != b) /* a region has a higher number than those around it */
    if (a > b)
      last_a = a, a = regions[a].parent;
    else
      last_b = b, b = regions[b].parent;
  return last_a != HIA_NONE && last_b != HIA_NONE && c->other[last_a] == last_b;
}

/* True if all that reads the slot before in the program comes before the node (flatten.c). */
static bool waits_for_reads(const chooser *c, const hia_flat_node *node, const reader *r) {
  return (node->is_set && r->operand == 0) ||
         (node->kind == HIA_KIND_MOVE && c->s->slots.data[r->slot].is_set);
}

/* True if `m`, which reads the same slot, has fired when `n` reads it, or will never fire. */
static bool is_before(const chooser *c, const reader *m, const reader *n) {
  const hia_flat_node *nodes = c->s->nodes.data, *of_m = &nodes[m->node], *of_n = &nodes[n->node];
  if (m->node == n->node) return m->operand < n->operand;
  if (!c->width)
    return are_apart(c, of_m, of_n) || (waits_for_reads(c, of_n, n) && m->node < n->node);
  if (is_side_move(of_m) && is_side_move(of_n) && of_m->region == of_n->region)
    return m->node < n->node;
  const uint64_t *before = row(c, c->before, n->node);
  if (has(before, m->node)) return true;
  if (!is_child(of_n) || is_child(of_m)) return false;
  const uint64_t *behind = row(c, c->behind, m->node);
  for (uint32_t i = 0; i < c->width; i++)
    if (behind[i] & ~before[i]) return false;
  return true;
}

static bool can_take(const hia_flat_node *node, uint32_t operand) {
  unsigned kind = node->kind;
  if (kind == HIA_KIND_OPERATION) return !node->is_lent && operand < HIA_MAX_TAKING;
  return kind == HIA_KIND_MOVE || kind == HIA_KIND_CALL || kind == HIA_KIND_LOOP ||
         kind == HIA_KIND_MAKE || kind == HIA_KIND_FIELD || kind == HIA_KIND_ELEMENTS ||
         kind == HIA_KIND_SET;
}

static bool is_in_round(const chooser *c, uint32_t region) {
  while (region && region != c->s->round) region = c->s->regions.data[region].parent;
  return region != 0;
}

static bool takes(const chooser *c, const reader *readers, uint32_t n, uint32_t i) {
  const reader *r = &readers[i];
  uint32_t slot = r->slot;
  if (c->is_late[slot]) return false;
  if (r->node == HIA_NONE) return n == 1 && !c->is_result[slot];
  const hia_flat_node *node = &c->s->nodes.data[r->node];
  if (!can_take(node, r->operand) || !c->is_fresh[slot]) return false;
  if (c->is_result[slot] && !is_in_round(c, node->region)) return false;
  for (uint32_t k = n; k-- > 0;)
    if (k != i && readers[k].node != HIA_NONE && !is_before(c, &readers[k], r)) return false;
  return true;
}

/* Chooses, for one slot, the operand that takes its reference. `readers` are all that read it. */
static void choose(chooser *c, const reader *readers, uint32_t n) {
  if (!c->width && n > MANY) return;
  for (uint32_t i = 0; i < n; i++) {
    if (!takes(c, readers, n, i)) continue;
    const reader *r = &readers[i];
    if (r->node == HIA_NONE)
      c->s->enter.data[r->operand] |= HIA_IMAGE_TAKEN;
    else
      c->s->pool.data[c->s->nodes.data[r->node].ins + r->operand] |= HIA_IMAGE_TAKEN;
  }
}

/* ---- what the section says of slots ---- */

typedef HIA_VEC(reader) readers;

static void add_reader(chooser *c, readers *all, uint32_t slot, uint32_t node, uint32_t operand) {
  slot = hiaG_flat_slot(c->s, slot);
  if (!hiaG_flat_is_ref(&c->s->slots.data[slot])) return;
  hiaR_push(c->scratch, all, (reader){slot, node, operand});
}

static void mark(chooser *c, bool *marks, const hia_u32vec *slots, uint32_t first, uint32_t every) {
  for (uint32_t i = first; i < slots->len; i += every)
    marks[hiaG_flat_slot(c->s, slots->data[i])] = true;
}

static void look(chooser *c, readers *all) {
  hia_flat_section *s = c->s;
  uint32_t n = s->slots.len;
  c->is_late = HIA_NEW_ARRAY(c->scratch, bool, n);
  c->is_result = HIA_NEW_ARRAY(c->scratch, bool, n);
  c->is_fresh = HIA_NEW_ARRAY(c->scratch, bool, n);
  mark(c, c->is_late, &s->next, 0, 2);
  mark(c, c->is_fresh, &s->next, 1, 2);
  mark(c, c->is_result, &s->results, 0, 1);
  for (uint32_t i = 0; i < s->enter.len; i += 2) add_reader(c, all, s->enter.data[i], HIA_NONE, i);
  for (uint32_t i = 0; i < s->nodes.len; i++) {
    const hia_flat_node *node = &s->nodes.data[i];
    for (uint32_t k = 0; k < node->n_ins; k++)
      add_reader(c, all, s->pool.data[node->ins + k], i, k);
    for (uint32_t k = 0; k < node->n_outs; k++)
      c->is_fresh[hiaG_flat_slot(s, s->pool.data[node->outs + k])] = true;
  }
  bool iterates = s->flags & HIA_SECTION_ITERATES;
  for (uint32_t i = 0; i < n && !iterates; i++) c->is_fresh[i] = true;
  c->other = HIA_NEW_ARRAY(c->scratch, uint32_t, s->regions.len);
  uint32_t *side = HIA_NEW_ARRAY(c->scratch, uint32_t, s->nodes.len + 1); /* region + 1 */
  for (uint32_t i = 0; i < s->regions.len; i++) {
    c->other[i] = HIA_NONE;
    if (!i) continue;
    uint32_t *first = &side[s->regions.data[i].node];
    if (*first) {
      c->other[i] = *first - 1;
      c->other[*first - 1] = i;
    }
    *first = i + 1;
  }
}

void hiaG_flatten_takes(hia_flat_image *image, hia_flat_section *s) {
  if (!hiaG_has_references(image->g)) return;
  hia_mark start = hiaR_arena_mark(image->scratch);
  chooser c = {.s = s, .scratch = image->scratch, .n_nodes = s->nodes.len};
  readers all = {0};
  look(&c, &all);
  if (all.len) {
    compute_rows(&c);
    /* By slot: first the ends of their parts of `sorted`, then the beginnings. */
    uint32_t *at = HIA_NEW_ARRAY(image->scratch, uint32_t, s->slots.len + 1);
    reader *sorted = HIA_NEW_ARRAY(image->scratch, reader, all.len);
    for (uint32_t i = 0; i < all.len; i++) at[all.data[i].slot]++;
    for (uint32_t i = 1; i <= s->slots.len; i++) at[i] += at[i - 1];
    for (uint32_t i = all.len; i-- > 0;) sorted[--at[all.data[i].slot]] = all.data[i];
    for (uint32_t i = 0; i < s->slots.len; i++) choose(&c, sorted + at[i], at[i + 1] - at[i]);
  }
  hiaR_arena_release(image->scratch, start);
}
