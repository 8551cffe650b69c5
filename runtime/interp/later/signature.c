/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Signatures: operations with the same one can be computed by one call. A signature says which
 * operation it is, of which shapes, which scalars it has, and, of operands that all share, which
 * tensor. They are found in a hash table, by all of these words. */
#include "runtime/interp/later/noted.h"

enum {
  MAX_OPERANDS = 32,
  OPERAND_WORDS = 2 + HIA_MAX_RANK,
  HEAD_WORDS = 4,
  MAX_KEY = HEAD_WORDS + MAX_OPERANDS * OPERAND_WORDS,
  MOST = 4096 /* signatures that are kept from one settling to the next */
};

typedef struct building {
  uint64_t words[MAX_KEY];
  uint32_t n;
} building;

static void put(building *b, uint64_t word) { b->words[b->n++] = word; }

static void put_tensor(building *b, const hia_tensor *t, bool is_shared) {
  put(b, (uint64_t)t->counted.spare << 1 | is_shared);
  if (is_shared) put(b, (uintptr_t)t->data);
  for (uint32_t i = 0; i < hiaR_tensor_rank(t); i++) put(b, (uint64_t)t->dims[i]);
}

/* A scalar of an op that is lifted becomes an operand with rows. */
static void build(building *b, const hia_operation_instr *a, const hia_word *in,
                  const hia_described *d) {
  const hia_operation *o = &a->o;
  b->n = 0;
  put(b, (uint64_t)o->op << 32 | (uint64_t)o->at << 24 | (uint64_t)o->dtype << 16 | o->n_in);
  put(b, o->imm);
  put(b, o->tensors);
  put(b, (uint64_t)d->way << 32 | d->shared);
  for (uint32_t i = 0; i < o->n_in; i++)
    if (hiaR_operand_is_tensor(o, i))
      put_tensor(b, hiaR_tensor(in[i]), d->shared >> i & 1);
    else if (d->way != HIA_WAY_LIFT)
      put(b, in[i]);
}

static uint64_t hash_of(const building *b) {
  uint64_t hash = b->n;
  for (uint32_t i = 0; i < b->n; i++) {
    hash = (hash ^ b->words[i]) * HIA_MIX;
    hash ^= hash >> 32;
  }
  return hash;
}

static bool has_key(const hia_later *l, const hia_op_signature *s, const building *b) {
  const uint64_t *keys = l->keys.data;
  return s->n_key == b->n && memcmp(keys + s->key, b->words, b->n * sizeof *keys) == 0;
}

static bool is_equal(const hia_later *l, const hia_op_signature *s, const building *b,
                     uint64_t hash) {
  return s->hash == hash && has_key(l, s, b);
}

/* The slot of a signature, or the empty one where it belongs. */
static uint32_t *slot_of(const hia_later *l, const building *b, uint64_t hash) {
  uint32_t *slots = l->slots.data;
  for (uint32_t i = (uint32_t)hash;; i++) {
    uint32_t *slot = &slots[i & (l->slots.cap - 1)];
    if (!*slot || is_equal(l, hiaR_op_signature(l, *slot - 1), b, hash)) return slot;
  }
}

/* Half of the slots stay empty; their number is a power of two. False: no memory. */
static bool make_slots(hia_worker *w, hia_later *l) {
  if (2 * (l->signatures.len + 1) <= l->slots.cap) return true;
  hia_table old = l->slots;
  l->slots = (hia_table){0};
  if (!hiaR_table_reserve(w, &l->slots, old.cap ? 2 * old.cap : 64, sizeof(uint32_t))) {
    l->slots = old;
    return false;
  }
  uint32_t *slots = l->slots.data;
  memset(slots, 0, l->slots.cap * sizeof *slots);
  for (uint32_t k = 0; k < l->signatures.len; k++) {
    uint32_t i = (uint32_t)hiaR_op_signature(l, k)->hash;
    while (slots[i & (l->slots.cap - 1)]) i++;
    slots[i & (l->slots.cap - 1)] = k + 1;
  }
  hiaR_table_free(w, &old, sizeof(uint32_t));
  return true;
}

static uint32_t add(hia_worker *w, const hia_operation_instr *a, const hia_described *d,
                    const building *b, uint64_t hash, uint32_t *slot) {
  hia_later *l = w->later;
  if (!hiaR_table_reserve(w, &l->signatures, 1, sizeof(hia_op_signature)) ||
      !hiaR_table_reserve(w, &l->keys, b->n, sizeof(uint64_t)))
    return HIA_NONE;
  uint32_t op = a->o.op;
  *hiaR_op_signature(l, l->signatures.len) = (hia_op_signature){
      .hash = hash,
      .key = l->keys.len,
      .n_key = b->n,
      .d = *d,
      .is_product = op == HIA_OP_PRODUCT || op == HIA_OP_PRODUCT_BT || op == HIA_OP_PRODUCT_AT,
      .first = HIA_NONE,
      .last = HIA_NONE};
  memcpy((uint64_t *)l->keys.data + l->keys.len, b->words, b->n * sizeof *b->words);
  l->keys.len += b->n;
  *slot = ++l->signatures.len;
  return *slot - 1;
}

static uint32_t *last_of(hia_later *l, const hia_operation_instr *a) {
  return &l->last[(uintptr_t)a / sizeof *a % HIA_LEN(l->last)];
}

/* A node mostly has the signature that it had last, which is found without a hash, and without
 * asking how such operations are computed. */
uint32_t hiaR_op_signature_again(const hia_later *l, const hia_operation_instr *a,
                                 const hia_word *in) {
  uint32_t last = l->last[(uintptr_t)a / sizeof *a % HIA_LEN(l->last)];
  if (last >= l->signatures.len) return HIA_NONE;
  const hia_op_signature *s = hiaR_op_signature(l, last);
  if (!s->is_steady) return HIA_NONE;
  building b;
  build(&b, a, in, &s->d);
  return has_key(l, s, &b) ? last : HIA_NONE;
}

/* Labels are looked at each time; what is done alone, or with integers, is noted if something is
 * pending. */
static bool is_steady(const hia_operation *o, const hia_described *d) {
  if (d->way == HIA_WAY_LIFT) return o->at == HIA_F32 || o->at == HIA_F64;
  return d->way != HIA_WAY_ALONE && o->op != HIA_OP_CROSS_ENTROPY;
}

uint32_t hiaR_op_signature_of(hia_worker *w, const hia_operation_instr *a, const hia_word *in,
                              const hia_described *d) {
  hia_later *l = w->later;
  building b;
  build(&b, a, in, d);
  uint64_t hash = hash_of(&b);
  if (!make_slots(w, l)) return HIA_NONE;
  uint32_t *slot = slot_of(l, &b, hash);
  uint32_t found = *slot ? *slot - 1 : add(w, a, d, &b, hash, slot);
  if (found == HIA_NONE) return HIA_NONE;
  hiaR_op_signature(l, found)->is_steady = is_steady(&a->o, d);
  *last_of(l, a) = found;
  return found;
}

void hiaR_op_signatures_trim(hia_later *l) {
  if (l->signatures.len <= MOST) return;
  l->signatures.len = l->keys.len = 0;
  memset(l->slots.data, 0, l->slots.cap * sizeof(uint32_t));
}
