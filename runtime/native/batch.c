/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows of segments, and how they are computed (batch.h). */
#include "runtime/native/batch.h"
#include "runtime/tensor/tensor.h"

#ifdef HIA_STRESS
enum { BLOCK = 3 };
#else
enum { BLOCK = 64 }; /* rows that are computed at a time */
#endif
enum {
  CHUNK = 32 << 10,       /* bytes of rows that are allocated at a time */
  MOST_BYTES = 256 << 20, /* of rows' operands and results, that are noted before a settling */
  FIRST_DEPTHS = 16
};

typedef struct row {
  struct row *next; /* of the same segment and depth */
  hia_word words[]; /* operands, of which it has the references, and results, likewise */
} row;

typedef struct rows {
  row *first, *last;
  uint32_t n;
} rows;

typedef struct queue {
  const hia_segment *segment;
  rows *depths;
  uint32_t n, most; /* depths that have rows are below n; places */
} queue;

typedef struct chunk {
  struct chunk *next;
  size_t size;
} chunk;

typedef struct hia_batch {
  queue *queues; /* in the order in which the segments were first met */
  uint32_t n_queues, most_queues;
  uint32_t *of; /* by number of a segment: its queue, and 1; 0: it has none */
  uint32_t n_of;
  uint32_t n_rows, n_depths; /* pending */
  uint64_t bytes;
  chunk *chunks;
  char *at, *end;
  bool is_settling;
} hia_batch;

bool hiaR_batch_is_pending(const hia_context *context) {
  return context->batch && context->batch->n_rows;
}

/* ---- memory of the run ---- */

/* A larger copy of an array, whose new part is zeroed. NULL: no memory. */
static void *grow(hia_context *context, void *old, size_t old_size, size_t size) {
  char *new = hiaR_heap_alloc(&context->local, size);
  if (!new) return NULL;
  if (old_size) memcpy(new, old, old_size);
  memset(new + old_size, 0, size - old_size);
  if (old_size) hiaR_heap_release(&context->local, old, old_size);
  return new;
}

static row *row_new(hia_context *context, hia_batch *b, const hia_segment *s) {
  size_t size = sizeof(row) + ((size_t)s->n_ins + s->n_outs) * sizeof(hia_word);
  if ((size_t)(b->end - b->at) < size) {
    size_t whole = size + sizeof(chunk) > CHUNK ? size + sizeof(chunk) : CHUNK;
    chunk *c = hiaR_heap_alloc(&context->local, whole);
    if (!c) return NULL;
    *c = (chunk){b->chunks, whole};
    b->chunks = c;
    b->at = (char *)(c + 1);
    b->end = (char *)c + whole;
  }
  row *r = (row *)(void *)b->at;
  b->at += size;
  return r;
}

static void free_chunks(hia_context *context, hia_batch *b) {
  while (b->chunks) {
    chunk *c = b->chunks;
    b->chunks = c->next;
    hiaR_heap_release(&context->local, c, c->size);
  }
  b->at = b->end = NULL;
}

static queue *queue_of(hia_context *context, hia_batch *b, const hia_segment *s) {
  if (s->number >= b->n_of) {
    uint32_t n = 2 * s->number + 16;
    uint32_t *of = grow(context, b->of, b->n_of * sizeof *of, n * sizeof *of);
    if (!of) return NULL;
    b->of = of;
    b->n_of = n;
  }
  if (!b->of[s->number]) {
    if (b->n_queues == b->most_queues) {
      uint32_t n = 2 * b->n_queues + 8;
      queue *all = grow(context, b->queues, b->n_queues * sizeof *all, n * sizeof *all);
      if (!all) return NULL;
      b->queues = all;
      b->most_queues = n;
    }
    b->queues[b->n_queues++].segment = s;
    b->of[s->number] = b->n_queues;
  }
  return &b->queues[b->of[s->number] - 1];
}

static rows *rows_at(hia_context *context, queue *q, uint32_t depth) {
  if (depth >= q->most) {
    uint32_t n = depth < FIRST_DEPTHS ? FIRST_DEPTHS : 2 * depth;
    rows *depths = grow(context, q->depths, q->most * sizeof *depths, n * sizeof *depths);
    if (!depths) return NULL;
    q->depths = depths;
    q->most = n;
  }
  if (depth >= q->n) q->n = depth + 1;
  return &q->depths[depth];
}

/* ---- noting a row ---- */

static uint32_t depth_of(const hia_segment *s, const hia_word *ins) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < s->n_ins; i++) {
    if (!s->words[i].rank) continue;
    hia_tensor *x = hiaR_tensor(ins[i]);
    if (x->counted.ctor != HIA_TENSOR_PENDING) continue;
    uint32_t own = (uint32_t)*hiaR_tensor_owner(x) + 1;
    if (own > depth) depth = own;
  }
  return depth;
}

/* A header with two references: the program's, and the row's. */
static hia_word pending_new(hia_context *context, const hia_segment_word *w, uint32_t depth) {
  size_t size = sizeof(hia_tensor) + ((size_t)w->rank + 1) * sizeof(hia_word);
  hia_tensor *t = hiaR_heap_take(&context->local, (unsigned)(size / 8), size);
  if (!t) return 0;
  hiaR_object_begin(&t->counted, HIA_TENSOR_PENDING);
  atomic_store_explicit(&t->counted.count, 2, memory_order_relaxed);
  t->counted.spare = hiaR_tensor_spare((hia_dtype)w->dtype, w->rank);
  t->data = NULL;
  for (uint32_t k = 0; k < w->rank; k++) t->dims[k] = w->dims[k];
  *hiaR_tensor_owner(t) = depth;
  return (hia_word)(uintptr_t)t;
}

/* False: no memory. What was taken is the heap's. */
static bool note(hia_context *context, const hia_segment *s, hia_word *words) {
  hia_batch *b = context->batch;
  queue *q = queue_of(context, b, s);
  uint32_t depth = depth_of(s, words);
  rows *list = q ? rows_at(context, q, depth) : NULL;
  row *r = list ? row_new(context, b, s) : NULL;
  if (!r) return false;
  memcpy(r->words, words, s->n_ins * sizeof *words);
  for (uint32_t i = 0; i < s->n_outs; i++) {
    words[i] = r->words[s->n_ins + i] = pending_new(context, &s->words[s->n_ins + i], depth);
    if (!words[i]) return false;
  }
  r->next = NULL;
  if (list->last)
    list->last->next = r;
  else
    list->first = r;
  list->last = r;
  list->n++;
  b->n_rows++;
  b->bytes += s->row_bytes;
  if (depth >= b->n_depths) b->n_depths = depth + 1;
  return true;
}

/* ---- computing rows ---- */

typedef struct settling {
  hia_context *context;
  hia_batch *b;
  const hia_segment *s;
  row *rows[BLOCK];
  uint32_t n;
} settling;

/* The operands i of the rows, as one tensor: 0: no memory. */
static hia_word gather(const settling *x, uint32_t i) {
  const hia_segment_word *w = &x->s->words[i];
  hia_dims shape = {.rank = w->rank + 1u};
  shape.dims[0] = x->n;
  for (uint32_t k = 0; k < w->rank; k++) shape.dims[k + 1] = w->dims[k];
  hia_word ref;
  if (!hiaR_tensor_new(&x->context->local, (hia_dtype)w->dtype, &shape, &ref)) return 0;
  hia_tensor *t = hiaR_tensor(ref);
  size_t bytes = (size_t)w->n * hiaR_dtype_size((hia_dtype)w->dtype);
  for (uint32_t k = 0; k < x->n; k++) {
    hia_word word = x->rows[k]->words[i];
    if (w->rank)
      memcpy(t->data + k * bytes, hiaR_tensor(word)->data, bytes);
    else
      hiaR_store((hia_repr)w->dtype, t->data + k * bytes, word);
  }
  return ref;
}

/* The pending tensors i of the rows become views of a result. */
static void scatter(const settling *x, uint32_t i, hia_word ref) {
  const hia_segment_word *w = &x->s->words[x->s->n_ins + i];
  bool is_shared = x->context->is_shared != 0;
  hia_tensor *all = hiaR_tensor(ref);
  size_t bytes = (size_t)w->n * hiaR_dtype_size((hia_dtype)w->dtype);
  hia_word owner = all->counted.ctor == HIA_TENSOR_VIEW ? *hiaR_tensor_owner(all) : ref;
  for (uint32_t k = 0; k < x->n; k++) {
    hia_word word = x->rows[k]->words[x->s->n_ins + i];
    hia_tensor *t = hiaR_tensor(word);
    hiaR_dup(owner, is_shared);
    t->data = all->data + k * bytes;
    *hiaR_tensor_owner(t) = owner;
    t->counted.ctor = HIA_TENSOR_VIEW;
    hiaR_tensor_drop(&x->context->local, word, is_shared);
  }
  hiaR_tensor_drop(&x->context->local, ref, is_shared);
}

/* Computes up to BLOCK rows, which are in x->rows. False: no memory. */
static bool compute(const settling *x) {
  const hia_segment *s = x->s;
  bool is_shared = x->context->is_shared != 0;
  hia_word block[s->n_ins + s->n_outs];
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (!(block[i] = gather(x, i))) return false;
  hiaR_arch_call(x->context, (void (*)(void *))s->entry, block);
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (!(s->owns >> i & 1)) hiaR_tensor_drop(&x->context->local, block[i], is_shared);
  for (uint32_t i = 0; i < s->n_outs; i++) scatter(x, i, block[s->n_ins + i]);
  for (uint32_t k = 0; k < x->n; k++)
    for (uint32_t i = 0; i < s->n_ins; i++)
      if (s->words[i].rank) hiaR_tensor_drop(&x->context->local, x->rows[k]->words[i], is_shared);
  return true;
}

static bool compute_all(hia_context *context, hia_batch *b, queue *q, uint32_t depth) {
  settling x = {.context = context, .b = b, .s = q->segment};
  row *r = q->depths[depth].first;
  while (r) {
    for (x.n = 0; r && x.n < BLOCK; r = r->next) x.rows[x.n++] = r;
    if (!compute(&x)) return false;
  }
  q->depths[depth] = (rows){0};
  return true;
}

static bool settle(hia_context *context) {
  hia_batch *b = context->batch;
  if (!b || !b->n_rows || b->is_settling) return true;
  b->is_settling = true;
  for (uint32_t depth = 0; depth < b->n_depths; depth++)
    for (uint32_t i = 0; i < b->n_queues; i++)
      if (depth < b->queues[i].n && b->queues[i].depths[depth].n)
        if (!compute_all(context, b, &b->queues[i], depth)) return false;
  b->n_rows = b->n_depths = 0;
  b->bytes = 0;
  for (uint32_t i = 0; i < b->n_queues; i++) b->queues[i].n = 0;
  free_chunks(context, b);
  b->is_settling = false;
  return true;
}

/* ---- what compiled code calls ---- */

/* The frames of the runtime lie between the code that waits and that of segments. */
static bool settle_from(hia_context *context, const char *sp, uintptr_t pc) {
  hia_invocation *invocation = context->invocation;
  hia_bridge bridge = {invocation->bridges, sp, pc};
  invocation->bridges = &bridge;
  bool has_memory = settle(context);
  invocation->bridges = bridge.outer;
  return has_memory;
}

HIA_UNINSTRUMENTED void hiaR_native_settle(hia_context *context, const char *sp, uintptr_t pc) {
  if (!hiaR_batch_is_pending(context)) return;
  if (HIA_UNLIKELY(!settle_from(context, sp, pc)))
    hiaR_native_fail(HIA_NONE, HIA_MEMORY, 0, context, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_defer(hia_context *context, const hia_segment *segment,
                                          hia_word *words, uint32_t loc, const char *sp,
                                          uintptr_t pc) {
  if (HIA_UNLIKELY(!context->batch)) {
    context->batch = grow(context, NULL, 0, sizeof *context->batch);
    if (!context->batch) hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  }
  if (HIA_UNLIKELY(!note(context, segment, words)))
    hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  if (HIA_UNLIKELY(context->batch->bytes > MOST_BYTES)) hiaR_native_settle(context, sp, pc);
}
