/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the interpreter calls: operations are noted, or computed at once, and at times all that is
 * noted is computed.
 *
 * A run settles when something reads elements that are pending, when what is noted takes much
 * memory, and before it ends. If that happens again and again with little to compute together, the
 * next operations are computed at once, as without batches: to note an operation, and to wait for
 * it, takes longer. */
#include "runtime/interp/later/noted.h"

#ifdef HIA_STRESS
enum { MOST_BYTES = 8 << 10, NARROW = 4, FIRST = 3, MOST = 12 };
#else
enum {
  MOST_BYTES = 4 << 20, /* of what is pending, so that it is in the cache when it is read */
  NARROW = 32, /* firings, one settling after the other, of hardly more than one operation */
  FIRST = 64,  /* operations that are computed at once then; */
  MOST = 1024, /* after further ones twice as many, up to so many */
};
#endif
enum {
  PART = 8,            /* what is pending has 1 / PART of what the run has left */
  FEW = 16,            /* room for so many results, and no more, is too little */
  MOST_NOTED = 1 << 18 /* operations and parts */
};

/* ---- settling ---- */

/* Determines how long operations are computed at once. */
static void note_widths(hia_later *l, uint64_t rows, uint64_t waves) {
  if (4 * rows >= 5 * waves) { /* two share the elements of a matrix that they read */
    l->n_narrow = l->n_once = 0;
    return;
  }
  l->n_narrow += waves < NARROW ? (uint32_t)waves : NARROW;
  if (l->n_narrow < NARROW) return;
  l->n_once = l->n_once ? 2 * l->n_once : FIRST;
  if (l->n_once > MOST) l->n_once = MOST;
  l->once_left = l->n_once;
  l->n_narrow = 0;
}

static hia_status settle(hia_worker *w) {
  hia_later *l = w->later;
  if (!l->nodes.len || l->failed) return l->failed;
  const hia_batch_usage before = l->usage;
  uint64_t begin = hiaR_now();
  bool is_agenda = w->run->limits->firings->is_agenda;
  hia_status status = is_agenda ? hiaR_plan_by_agenda(w) : hiaR_plan_by_depth(w);
  uint64_t all = hiaR_now() - begin, gathered = l->usage.gather_ns - before.gather_ns,
           computed = l->usage.compute_ns - before.compute_ns;
  l->usage.plan_ns += all - gathered - computed;
  if (status) return l->failed = status;
  note_widths(l, l->usage.rows - before.rows, l->usage.waves - before.waves);
  l->nodes.len = l->words.len = 0;
  l->bytes = 0;
  hiaR_op_signatures_trim(l);
  return HIA_OK;
}

/* ---- an operation ---- */

/* What is noted next may take so many bytes. */
static void find_most(hia_worker *w, hia_later *l) {
  size_t left = hiaR_heap_left(w->heap.heap);
  l->most = left == SIZE_MAX || left / PART > MOST_BYTES ? MOST_BYTES : left / PART;
}

/* True if it reads tensors in arrays, or in sums. */
static bool reads_objects(const hia_operation *o) {
  return o->op == HIA_OP_PACK || hiaR_takes_sum(o->op);
}

static bool reads_pending(const hia_later *l, const hia_operation *o, const hia_word *in) {
  if (reads_objects(o)) return l->nodes.len > 0;
  for (uint32_t i = 0; i < o->n_in; i++)
    if (hiaR_operand_is_tensor(o, i) && hiaR_is_pending(in[i])) return true;
  return false;
}

static hia_status compute(hia_worker *w, const hia_instr *n, hia_word *slots, const hia_word *in,
                          hia_misfortune *why) {
  const hia_operation_instr *a = n->u.operation;
  if (!hiaR_reads_none(a, in) && reads_pending(w->later, &a->o, in)) {
    hia_status status = settle(w);
    if (status) return status;
  }
  return hiaR_operate(w, slots, a, &slots[n->to], why);
}

static uint64_t bytes_of(const hia_described *d) {
  uint64_t n = hiaR_dtype_size(d->dtype);
  for (uint32_t i = 0; i < d->dims.rank; i++) n *= (uint64_t)d->dims.dims[i];
  return n;
}

/* True if the operation is noted. */
static bool note(hia_worker *w, const hia_instr *n, hia_word *slots, const hia_word *in) {
  hia_later *l = w->later;
  hia_described d;
  uint64_t at;
  const hia_operation_instr *a = n->u.operation;
  if (hiaR_is_part(a, in, &d.dims, &at))
    return hiaR_note_part(w, n, &d.dims, at, slots, &slots[n->to]);
  if (l->once_left) {
    l->once_left--;
    if (!reads_pending(l, &a->o, in)) return false;
  }
  uint32_t signature = hiaR_op_signature_again(l, a, in);
  if (signature == HIA_NONE) {
    hiaR_describe(a, in, w->heap.heap->fast_products, &d);
    if (d.way == HIA_WAY_NONE) return false;
    signature = hiaR_op_signature_of(w, a, in, &d);
  }
  if (signature == HIA_NONE || bytes_of(&hiaR_op_signature(l, signature)->d) * FEW > l->most)
    return false;
  return hiaR_note(w, n, signature, slots, &slots[n->to]);
}

static hia_status fire(hia_worker *w, const hia_instr *n, hia_word *slots, hia_misfortune *why) {
  enum { MOST_OPERANDS = 32 };
  hia_later *l = w->later;
  const hia_operation_instr *a = n->u.operation;
  hia_word in[MOST_OPERANDS];
  if (n->kind != HIA_KIND_OPERATION) return hiaR_operate(w, slots, a, &slots[n->to], why);
  if (l->failed) return l->failed;
  if (!a->o.tensors && !reads_objects(&a->o)) return hiaR_operate(w, slots, a, &slots[n->to], why);
  if (a->o.n_in > MOST_OPERANDS) {
    hia_status status = settle(w);
    return status ? status : hiaR_operate(w, slots, a, &slots[n->to], why);
  }
  for (uint32_t i = 0; i < a->o.n_in; i++) in[i] = slots[a->ins[i] & ~HIA_IMAGE_TAKEN];
  if (!hiaR_has_tensors(&a->o, in)) return HIA_INTERNAL;
  if (!l->nodes.len) find_most(w, l);
  if (hiaR_reads_none(a, in) || !note(w, n, slots, in)) return compute(w, n, slots, in, why);
  return l->bytes < l->most && l->nodes.len < MOST_NOTED ? HIA_OK : settle(w);
}

/* ---- a run ---- */

static hia_later *begin(hia_worker *w) { return hiaR_alloc(w->run->allocator, sizeof(hia_later)); }

static void end(hia_worker *w) {
  hia_later *l = w->later;
  if (!l) return;
  hiaR_table_free(w, &l->nodes, sizeof(hia_noted));
  hiaR_table_free(w, &l->words, sizeof(hia_word));
  hiaR_table_free(w, &l->signatures, sizeof(hia_op_signature));
  hiaR_table_free(w, &l->keys, sizeof(uint64_t));
  hiaR_table_free(w, &l->slots, sizeof(uint32_t));
  hiaR_table_free(w, &l->levels, sizeof(hia_noted_edge));
  hiaR_table_free(w, &l->order, sizeof(uint32_t));
  hiaR_table_free(w, &l->edges, sizeof(hia_noted_edge));
  hiaR_table_free(w, &l->ready, sizeof(uint64_t));
  hiaR_free(w->run->allocator, l, sizeof *l);
}

static bool has_pending(const hia_later *l) { return l->nodes.len > 0; }
static const hia_batch_usage *usage(const hia_later *l) { return &l->usage; }

const hia_firings *hiaR_firings(hia_batching batching) {
  static const hia_firings by_depth = {false, begin, end, fire, settle, has_pending, usage};
  static const hia_firings by_agenda = {true, begin, end, fire, settle, has_pending, usage};
  return batching == HIA_BATCH_DEPTH ? &by_depth : batching == HIA_BATCH_AGENDA ? &by_agenda : NULL;
}
