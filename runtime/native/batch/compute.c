/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Computing a block: its operands are gathered into one tensor each, the segment is called, and the
 * pending tensors become views of its results. */
#include "runtime/native/batch/rows.h"

/* A block, in the hands of the worker that computes it. */
typedef struct settling {
  hia_context *context;
  const hia_row_block *b;
} settling;

static bool is_shared(const settling *x) { return x->context->is_shared != 0; }

/* ---- operands ---- */

/* Headers lie anywhere in memory: the cache gets those of all operands at a time, and not one after
 * the other. */
static void prefetch_headers(const settling *x) {
  for (uint32_t k = 0; k < x->b->n; k++)
    for (uint32_t i = 0; i < x->b->s->n_ins; i++)
      if (x->b->s->words[i].rank) __builtin_prefetch(hiaR_tensor(x->b->rows[k]->words[i]));
}

/* Where the elements of operands i are. True if they lie one after the other. */
static bool find_elements(const settling *x, uint32_t i, size_t bytes, const char **data) {
  bool are_together = true;
  for (uint32_t k = 0; k < x->b->n; k++) {
    data[k] = hiaR_tensor(x->b->rows[k]->words[i])->data;
    are_together &= data[k] == data[0] + k * bytes;
  }
  return are_together;
}

/* A view of operands i, which lie one after the other, if they are all of one tensor; 0: they are
 * not, or there is no memory. */
static hia_word view_operands(const settling *x, uint32_t i, const hia_dims *shape, size_t bytes) {
  const hia_tensor *first = hiaR_tensor(x->b->rows[0]->words[i]),
                   *owner = hiaR_row_origin(x->b->rows[0], i);
  if (!owner) return 0;
  uint64_t at = (uint64_t)(first->data - owner->data);
  if (at + x->b->n * bytes > hiaR_tensor_bytes(owner)) return 0;
  hia_word ref = (hia_word)(uintptr_t)owner, view;
  at /= hiaR_dtype_size(hiaR_tensor_dtype(first));
  return hiaR_tensor_view(&x->context->local, ref, at, shape, is_shared(x), &view) ? view : 0;
}

static void prefetch(const char *from, size_t bytes) {
  enum { LINE = 64, MOST = 1 << 10 }; /* the processor itself sees how it goes on */
  for (size_t at = 0; at < bytes && at < MOST; at += LINE) __builtin_prefetch(from + at);
}

static void copy_elements(char *to, const char *const *data, uint32_t n, size_t bytes) {
  enum { AHEAD = 3 };
  if (bytes == sizeof(uint32_t)) {
    for (uint32_t k = 0; k < n; k++) memcpy(to + k * sizeof(uint32_t), data[k], sizeof(uint32_t));
    return;
  }
  for (uint32_t k = 0; k < n && k < AHEAD; k++) prefetch(data[k], bytes);
  for (uint32_t k = 0; k < n; k++) {
    if (k + AHEAD < n) prefetch(data[k + AHEAD], bytes);
    memcpy(to + k * bytes, data[k], bytes);
  }
}

/* The operands i of the rows, as one tensor; 0: no memory. */
static hia_word gather(const settling *x, uint32_t i) {
  const hia_segment_word *w = &x->b->s->words[i];
  const char *data[HIA_BLOCK_ROWS];
  hia_dims shape;
  hia_word ref;
  size_t size = hiaR_dtype_size((hia_dtype)w->dtype), bytes = (size_t)w->n * size;
  shape.rank = w->rank + 1u;
  shape.dims[0] = x->b->n;
  for (uint32_t k = 0; k < w->rank; k++) shape.dims[k + 1] = w->dims[k];
  if (w->rank && find_elements(x, i, bytes, data) && (ref = view_operands(x, i, &shape, bytes)))
    return ref;
  if (!hiaR_tensor_new(&x->context->local, (hia_dtype)w->dtype, &shape, &ref)) return 0;
  char *to = hiaR_tensor(ref)->data;
  if (w->rank)
    copy_elements(to, data, x->b->n, bytes);
  else
    for (uint32_t k = 0; k < x->b->n; k++)
      hiaR_store((hia_repr)w->dtype, to + k * size, x->b->rows[k]->words[i]);
  return ref;
}

/* ---- results ---- */

/* The pending tensors i of the rows become views of a result, whose reference is given up. */
static void scatter(const settling *x, uint32_t i, hia_word ref) {
  const hia_segment_word *w = &x->b->s->words[x->b->s->n_ins + i];
  hia_tensor *all = hiaR_tensor(ref);
  size_t bytes = (size_t)w->n * hiaR_dtype_size((hia_dtype)w->dtype);
  hia_word owner = all->counted.ctor == HIA_TENSOR_VIEW ? *hiaR_tensor_owner(all) : ref;
  hiaR_dup_more(owner, x->b->n, is_shared(x));
  for (uint32_t k = 0; k < x->b->n; k++) {
    enum { AHEAD = 6 }; /* headers: they were made when the rows were noted */
    hia_word word = x->b->rows[k]->words[x->b->s->n_ins + i];
    if (k + AHEAD < x->b->n)
      __builtin_prefetch(hiaR_tensor(x->b->rows[k + AHEAD]->words[x->b->s->n_ins + i]), 1);
    hia_tensor *t = hiaR_tensor(word);
    t->data = all->data + k * bytes;
    *hiaR_tensor_owner(t) = owner;
    t->counted.ctor = HIA_TENSOR_VIEW;
    hiaR_tensor_drop(&x->context->local, word, is_shared(x));
  }
  hiaR_tensor_drop(&x->context->local, ref, is_shared(x));
}

/* True if result i has as many elements as its rows have: the code may be of a graph that a user
 * wrote. */
static bool fits(const settling *x, uint32_t i, hia_word ref) {
  const hia_segment_word *w = &x->b->s->words[x->b->s->n_ins + i];
  hia_tensor *t = hiaR_tensor(ref);
  return hiaR_tensor_len(t) == (uint64_t)x->b->n * w->n;
}

/* The operands of a block are not needed any more. */
static void drop_operands(const settling *x) {
  const hia_segment *s = x->b->s;
  for (uint32_t k = 0; k < x->b->n; k++)
    for (uint32_t i = 0; i < s->n_ins; i++)
      if (s->words[i].rank)
        hiaR_tensor_drop(&x->context->local, x->b->rows[k]->words[i], is_shared(x));
}

/* ---- a block ---- */

/* Gathers all operands. False: no memory, and those that were gathered are dropped. */
static bool gather_all(const settling *x, hia_word *words) {
  prefetch_headers(x);
  for (uint32_t i = 0; i < x->b->s->n_ins; i++) {
    if ((words[i] = gather(x, i))) continue;
    while (i-- > 0) hiaR_tensor_drop(&x->context->local, words[i], is_shared(x));
    return false;
  }
  return true;
}

/* The results, behind the operands, are those of the block. */
static void write_results(const settling *x, const hia_word *words) {
  const hia_segment *s = x->b->s;
  if (s->known_as && x->context->params) hiaR_batch_keep(x->context, x->b, words + s->n_ins);
  for (uint32_t i = 0; i < s->n_outs; i++) scatter(x, i, words[s->n_ins + i]);
}

static hia_status compute(const settling *x, hia_phase *phase, uint32_t number, bool *has_claimed) {
  const hia_segment *s = x->b->s;
  hia_word words[s->n_ins + s->n_outs];
  bool has_clock = x->b->n > 1; /* reading it takes as long as a row; settle.c has the rest */
  uint64_t begin = has_clock ? hiaR_now() : 0;
  if (!gather_all(x, words)) return HIA_MEMORY;
  uint64_t gathered = has_clock ? hiaR_now() : 0;
  hiaR_arch_call(x->context, (void (*)(void *))s->entry, words);
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (!(s->owns >> i & 1)) hiaR_tensor_drop(&x->context->local, words[i], is_shared(x));
  for (uint32_t i = 0; i < s->n_outs; i++)
    if (!fits(x, i, words[s->n_ins + i])) return HIA_INTERNAL;
  if ((*has_claimed = hiaR_phase_claim(x->context, phase, number)))
    write_results(x, words);
  else
    for (uint32_t i = 0; i < s->n_outs; i++)
      hiaR_tensor_drop(&x->context->local, words[s->n_ins + i], is_shared(x));
  hia_batch_usage *usage = &x->context->batching.usage;
  usage->gather_ns += gathered - begin;
  if (has_clock) usage->compute_ns += hiaR_now() - gathered;
  return HIA_OK;
}

static const hia_row_block *block_of(const hia_phase *phase, uint32_t i) {
  return ((const hia_row_phase *)(const void *)phase)->blocks + i;
}

hia_status hiaR_batch_compute(hia_context *context, hia_phase *phase, uint32_t i,
                              bool *has_claimed) {
  const hia_row_block *b = block_of(phase, i);
  uint32_t n = b->n_wave < HIA_ROWS_MOST ? b->n_wave : HIA_ROWS_MOST;
  uint64_t rows = HIA_ROWS(b->s->number, b->n, n);
  hiaR_event(context->run.ring, HIA_EVENT_ROWS_BEGIN, rows);
  hia_status status = compute(&(settling){context, b}, phase, i, has_claimed);
  hiaR_event(context->run.ring, HIA_EVENT_ROWS_END, rows);
  return status;
}

void hiaR_batch_release(hia_context *context, hia_phase *phase, uint32_t i) {
  drop_operands(&(settling){context, block_of(phase, i)});
}

bool hiaR_batch_may_again(hia_context *context, const hia_phase *phase, uint32_t i) {
  enum { PART = 16 }; /* of what is left up to the run's limit */
  const hia_row_block *b = block_of(phase, i);
  return b->n * hiaR_row_cost(b->s) < hiaR_heap_left(context->local.heap) / PART;
}
