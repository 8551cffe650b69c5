/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Notes operations: each gives a pending tensor, and keeps references of its operands. */
#include "runtime/interp/later/noted.h"

/* NULL: no memory. */
static hia_tensor *make_pending(hia_worker *w, hia_dtype dtype, const hia_dims *dims,
                                uint32_t number) {
  size_t size = hiaR_pending_size(dims->rank);
  hia_tensor *t = hiaR_heap_take(&w->heap, (unsigned)size / 8, size);
  if (!t) return NULL;
  hiaR_object_begin(&t->counted, HIA_TENSOR_PENDING);
  t->counted.spare = hiaR_tensor_spare(dtype, dims->rank);
  t->data = NULL;
  memcpy(t->dims, dims->dims, dims->rank * sizeof *t->dims);
  *hiaR_tensor_owner(t) = number;
  return t;
}

/* The reference of operand i, which is the caller's: the slot's own, if the operation takes that.
 */
static hia_word own(hia_worker *w, hia_word *slots, const hia_operation_instr *a, uint32_t i) {
  if (hiaR_keeps(a, i)) return hiaR_take(w, slots, a->ins[i]);
  hia_word ref = slots[a->ins[i] & ~HIA_IMAGE_TAKEN];
  hiaR_retain(w, ref);
  return ref;
}

static uint64_t bytes_of(const hia_dims *dims, hia_dtype dtype) {
  uint64_t n = hiaR_dtype_size(dtype);
  for (uint32_t i = 0; i < dims->rank; i++) n *= (uint64_t)dims->dims[i];
  return n;
}

/* Adds a node with its result, to which it and the caller have a reference. */
static hia_noted *add(hia_worker *w, hia_dtype dtype, const hia_dims *dims, hia_word *out) {
  hia_later *l = w->later;
  hia_tensor *t = make_pending(w, dtype, dims, l->nodes.len);
  if (!t) return NULL;
  hia_noted *node = hiaR_noted(l, l->nodes.len++);
  *node = (hia_noted){
      .out = t, .words = l->words.len, .parts = HIA_NONE, .next = HIA_NONE, .edges = HIA_NONE};
  *out = (uintptr_t)t;
  hiaR_retain(w, *out);
  l->bytes += sizeof *node + sizeof *t + bytes_of(dims, dtype);
  return node;
}

bool hiaR_note(hia_worker *w, const hia_instr *n, uint32_t signature, hia_word *slots,
               hia_word *out) {
  hia_later *l = w->later;
  const hia_described *d = &hiaR_op_signature(l, signature)->d;
  const hia_operation_instr *a = n->u.operation;
  uint32_t n_in = a->o.n_in;
  if (!hiaR_table_reserve(w, &l->nodes, 1, sizeof(hia_noted)) ||
      !hiaR_table_reserve(w, &l->words, n_in, sizeof(hia_word)) || !hiaR_plan_reserve(w, n_in))
    return false;
  hia_word *words = (hia_word *)l->words.data + l->words.len;
  for (uint32_t i = 0; i < n_in; i++) words[i] = slots[a->ins[i] & ~HIA_IMAGE_TAKEN];
  hia_word result; /* its slot may be that of an operand */
  hia_noted *node = add(w, d->dtype, &d->dims, &result);
  if (!node) return false;
  node->instr = n;
  node->signature = signature;
  for (uint32_t i = 0; i < n_in; i++) {
    if (!hiaR_operand_is_tensor(&a->o, i)) continue;
    words[i] = own(w, slots, a, i);
    if (hiaR_is_pending(words[i])) {
      uint32_t from = hiaR_noted_of(l, words[i]), depth = hiaR_noted(l, from)->depth + 1;
      if (depth > node->depth) node->depth = depth;
      hiaR_plan_wait(w, l->nodes.len - 1, from);
    } else if (!(d->shared >> i & 1)) {
      l->bytes += hiaR_tensor_bytes(hiaR_tensor(words[i]));
    }
  }
  l->words.len += n_in;
  hiaR_plan_add(w, l->nodes.len - 1);
  *out = result;
  return true;
}

bool hiaR_note_part(hia_worker *w, const hia_instr *n, const hia_dims *dims, uint64_t at,
                    hia_word *slots, hia_word *out) {
  hia_later *l = w->later;
  const hia_operation_instr *a = n->u.operation;
  hia_tensor *x = hiaR_tensor(slots[a->ins[0] & ~HIA_IMAGE_TAKEN]);
  if (!hiaR_table_reserve(w, &l->nodes, 1, sizeof(hia_noted)) ||
      !hiaR_table_reserve(w, &l->words, 1, sizeof(hia_word)))
    return false;
  hia_word result;
  hia_noted *node = add(w, hiaR_tensor_dtype(x), dims, &result);
  if (!node) return false;
  const hia_noted *from = hiaR_noted(l, (uint32_t)*hiaR_tensor_owner(x));
  uint32_t number = (uint32_t)*hiaR_tensor_owner(hiaR_tensor(result));
  node->of = from->instr ? (uint32_t)*hiaR_tensor_owner(x) : from->of;
  node->at = at + (from->instr ? 0 : from->at);
  hia_noted *whole = hiaR_noted(l, node->of);
  node->next = whole->parts;
  node->depth = whole->depth;
  whole->parts = number;
  /* It keeps the whole, not the part that it was made of. */
  hia_word kept = own(w, slots, a, 0);
  ((hia_word *)l->words.data)[l->words.len++] = (uintptr_t)whole->out;
  hiaR_retain(w, (uintptr_t)whole->out);
  hiaR_tensor_drop(&w->heap, kept, w->is_shared);
  for (uint32_t i = 1; i < a->o.n_in; i++) /* an index */
    if (hiaR_operand_is_tensor(&a->o, i) && hiaR_keeps(a, i))
      hiaR_tensor_drop(&w->heap, hiaR_take(w, slots, a->ins[i]), w->is_shared);
  *out = result;
  return true;
}
