/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Where counts change: nodes that take references and give them up, and how a use changes the set
 * of what is live. */
#include "graph/ir/build.h"
#include "graph/refs/counting.h"

hia_ref_set hiaG_refs_copy_set(const hia_counting *c, const hia_ref_set s) {
  hia_ref_set copy = HIA_NEW_ARRAY(c->scratch, uint64_t, c->n_words);
  memcpy(copy, s, c->n_words * sizeof *s);
  return copy;
}

uint32_t hiaG_refs_missing(const hia_counting *c, const hia_ref_set a, const hia_ref_set b,
                           uint32_t from) {
  for (uint32_t w = from / 64; w < c->n_words; w++) {
    uint64_t bits = a[w] & ~b[w];
    if (w == from / 64) bits &= ~(uint64_t)0 << from % 64;
    if (bits) return 64 * w + (uint32_t)__builtin_ctzll(bits);
  }
  return HIA_NONE;
}

bool hiaG_refs_has_ancestor(const hia_counting *c, const hia_ref_set s, uint32_t r) {
  for (r = c->parent[r]; r != HIA_NONE; r = c->parent[r])
    if (has(s, r)) return true;
  return false;
}

bool hiaG_refs_is_alive(const hia_counting *c, const hia_ref_set live, uint32_t r) {
  for (; r != HIA_NONE; r = c->parent[r])
    if (has(live, r) || c->is_borrowed[r]) return true;
  return false;
}

bool hiaG_refs_has_live_part(const hia_counting *c, const hia_ref_set live, uint32_t r) {
  if (has(live, r)) return true;
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k])
    if (hiaG_refs_has_live_part(c, live, k)) return true;
  return false;
}

const hia_ctor *hiaG_refs_ctor_of(const hia_counting *c, uint32_t r, uint32_t number) {
  hia_type type = hiaG_type(c->fn, c->value[r]);
  const hia_types *types = c->g->types;
  return &types->ctors.data[types->entries.data[type - HIA_FIRST_TYPE].first + number];
}

void hiaG_refs_count_node(const hia_counting *c, hia_node_id at, unsigned op, hia_value_id v) {
  if (c->is_trial) return;
  hiaG_insert(c->g, c->fn, at, op, &v, 1, NULL, 0, 0, HIA_NONE);
}

static void unpack(const hia_counting *c, hia_node_id at, uint32_t r, uint32_t ctor,
                   uint32_t kept) {
  if (c->is_trial) return;
  hia_type type = hiaG_type(c->fn, c->value[r]);
  hiaG_insert(c->g, c->fn, at, HIA_OP_UNPACK, &c->value[r], 1, &type, 1, HIA_IMM(ctor, kept),
              HIA_NONE);
}

const hia_node *hiaG_refs_definition(const hia_counting *c, uint32_t r) {
  return hiaG_def(c->fn, c->value[r]);
}

/* Else it is an element of an array. */
static bool is_field(const hia_counting *c, uint32_t part) {
  return hiaG_refs_definition(c, part)->op == HIA_OP_FIELD;
}

/* Returns the bit of a field among the references of its constructor; 32 or more: it has none. */
static uint32_t bit_of(const hia_counting *c, uint32_t field) {
  const hia_node *n = hiaG_refs_definition(c, field);
  const hia_ctor *ctor = hiaG_refs_ctor_of(c, c->parent[field], HIA_IMM_A(n->imm));
  const hia_layout_word *layout_word =
      &c->g->types->layout_words.data[ctor->layout.first + HIA_IMM_B(n->imm)];
  return (layout_word->at - (uint32_t)sizeof(hia_counted)) / (uint32_t)sizeof(hia_word);
}

/* Live parts of r get references of their own before node `at`, and are no longer in the set:
 * before it they are r's. */
static void dup_parts(hia_counting *c, hia_ref_set live, uint32_t r, hia_node_id at) {
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k]) {
    if (has(live, k)) {
      hiaG_refs_count_node(c, at, HIA_OP_DUP, c->value[k]);
      take_out(live, k);
    }
    dup_parts(c, live, k, at);
  }
}

/* Value r, which is not in the set, dies before node `at`; behind that its live parts are owned.
 * `ctor`: its constructor, if it is known, or NONE. */
static void die(hia_counting *c, hia_ref_set live, uint32_t r, uint32_t ctor, hia_node_id at) {
  uint32_t kept = 0;
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k])
    if (hiaG_refs_has_live_part(c, live, k) && is_field(c, k))
      ctor = HIA_IMM_A(hiaG_refs_definition(c, k)->imm);
  if (ctor != HIA_NONE && !hiaG_refs_ctor_of(c, r, ctor)->n) return; /* it is no object */
  for (uint32_t k = c->child[r]; ctor != HIA_NONE && k != HIA_NONE; k = c->next[k])
    if (hiaG_refs_has_live_part(c, live, k) &&
        (!is_field(c, k) || HIA_IMM_A(hiaG_refs_definition(c, k)->imm) != ctor ||
         bit_of(c, k) >= 32))
      ctor = HIA_NONE;
  if (ctor == HIA_NONE) {
    dup_parts(c, live, r, at);
    hiaG_refs_count_node(c, at, HIA_OP_DROP, c->value[r]);
    return;
  }
  /* A field may have been read twice: the second value needs a reference of its own. */
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k]) {
    if (!hiaG_refs_has_live_part(c, live, k)) continue;
    if (kept >> bit_of(c, k) & 1) hiaG_refs_count_node(c, at, HIA_OP_DUP, c->value[k]);
    kept |= 1u << bit_of(c, k);
  }
  unpack(c, at, r, ctor, kept);
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k]) {
    if (!hiaG_refs_has_live_part(c, live, k)) continue;
    if (has(live, k))
      take_out(live, k);
    else
      die(c, live, k, c->known[k], at);
  }
}

void hiaG_refs_die_at_start(hia_counting *c, hia_ref_set live, uint32_t r, hia_region_id region) {
  die(c, live, r, c->known[r], hiaG_start_of(c->fn, region));
  add(live, r);
}

/* ---- uses ---- */

void hiaG_refs_borrow(hia_counting *c, hia_ref_set live, hia_node_id n, hia_value_id v,
                      uint32_t ctor) {
  uint32_t r = c->ref[v];
  if (r == HIA_NONE || hiaG_refs_is_alive(c, live, r)) return;
  die(c, live, r, ctor != HIA_NONE ? ctor : c->known[r], c->fn->nodes.data[n].next);
  add(live, r);
}

void hiaG_refs_consume(hia_counting *c, hia_ref_set live, hia_node_id n, hia_value_id v) {
  uint32_t r = c->ref[v];
  if (r == HIA_NONE) return;
  if (hiaG_refs_is_alive(c, live, r)) {
    hiaG_refs_count_node(c, n, HIA_OP_DUP, v);
    return;
  }
  dup_parts(c, live, r, n);
  add(live, r);
}

void hiaG_refs_define_results(hia_counting *c, hia_ref_set live, hia_node_id n) {
  for (uint32_t i = 0; i < c->fn->nodes.data[n].n_outs; i++) {
    hia_value_id v = hiaG_out(c->fn, n, i);
    uint32_t r = c->ref[v];
    if (r == HIA_NONE || c->is_borrowed[r]) continue;
    if (!has(live, r)) {
      die(c, live, r, HIA_NONE, c->fn->nodes.data[n].next);
      continue;
    }
    take_out(live, r);
  }
}
