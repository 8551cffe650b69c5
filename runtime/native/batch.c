/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows of segments, and how they are computed (batch.h). */
#include "runtime/native/batch.h"
#include "runtime/param/param.h"
#include "runtime/tensor/tensor.h"

#ifdef HIA_STRESS
enum { BLOCK = 3, FIRST = 2, LEAST = 1, MOST_BYTES = 256 << 10, MOST_HANDED = 2 << 10 };
#else
enum {
  BLOCK = 64,            /* rows that are computed at a time, */
  FIRST = 16,            /* while no thief has come yet: it waits for the end of a block */
  LEAST = 4,             /* and not fewer so that a thief has some */
  MOST_BYTES = 8 << 20,  /* of rows' operands and results, that are noted before a settling */
  MOST_HANDED = 1 << 20, /* of those that a job leaves to its owner */
};
#endif
enum { CHUNK = 32 << 10 }; /* bytes of rows that are allocated at a time */

typedef struct hia_row {
  struct hia_row *older; /* noted before this one */
  struct hia_row *next;  /* of the same segment and level */
  const hia_segment *segment;
  uint32_t queue;   /* of its segment */
  uint32_t depth;   /* the longest way from a row that depends on nothing pending */
  uint32_t height;  /* the longest way to a row on which none depends */
  hia_word words[]; /* operands, of which it has the references, and results, likewise */
} row;

typedef struct level {
  row *first;
  uint32_t n;
} level;

/* The rows of a segment. */
typedef struct queue {
  const hia_segment *segment;
  uint32_t number; /* of the segment, whose module may be gone when the next run begins */
  level *levels;   /* n_levels of the batch, while it settles */
} queue;

/* Rows that are computed at a time. */
typedef struct block {
  const hia_segment *s;
  row **rows;
  uint32_t n, n_wave; /* of the whole wave */
} block;

typedef struct hia_row_chunk {
  struct hia_row_chunk *next;
  size_t size;
} chunk;

typedef struct hia_batch {
  queue *queues; /* in the order in which the segments were first met */
  uint32_t n_queues, most_queues;
  uint32_t *of; /* by number of a segment: its queue, and 1; 0: it has none */
  uint32_t n_of;
  hia_rows rows; /* pending */
  level *levels; /* of all queues */
  size_t levels_size;
  /* Rows that equal ones are compared with, by their hash: a power of two places, at least twice as
     many as there are rows. */
  row **equal;
  uint32_t n_places, n_equal;
  row **wave, **ordered; /* the rows of a level, as they were met and as they are computed */
  block *blocks;         /* of them */
  uint32_t most_rows;    /* in these three */
  char *at, *end;        /* the rest of the newest chunk of rows */
} hia_batch;

/* ---- memory: rows are the heap's of the run, the tables are kept from run to run ---- */

/* A larger copy of an array, whose new part is zeroed. NULL: no memory. */
static void *grow(hia_context *context, void *old, size_t old_size, size_t size) {
  char *new = hiaR_alloc(context->allocator, size);
  if (!new) return NULL;
  if (old_size) memcpy(new, old, old_size);
  memset(new + old_size, 0, size - old_size);
  if (old_size) hiaR_free(context->allocator, old, old_size);
  return new;
}

static hia_batch *new_batch(const hia_context *context) {
  return hiaR_alloc(context->allocator, sizeof(hia_batch));
}

/* There are no rows any more. */
static void forget_rows(hia_batch *b) {
  if (b->n_equal) memset(b->equal, 0, b->n_places * sizeof *b->equal);
  b->n_equal = 0;
  b->rows = (hia_rows){0};
  b->at = b->end = NULL;
}

/* The segments are those of the code that is run, and the rows went, or will go, with the heap. */
void hiaR_batch_begin(hia_context *context) {
  hia_batch *b = context->batch;
  context->settle = NULL;
  if (!b) return;
  for (uint32_t i = 0; i < b->n_queues; i++) b->of[b->queues[i].number] = 0;
  b->n_queues = 0;
  forget_rows(b);
}

/* In one piece, which begins with `wave`. */
static size_t lists_size(uint32_t n) { return n * (2 * sizeof(row *) + sizeof(block)); }

void hiaR_batch_free(hia_context *context) {
  hia_batch *b = context->batch;
  if (!b) return;
  const hia_allocator *a = context->allocator;
  if (b->queues) hiaR_free(a, b->queues, b->most_queues * sizeof *b->queues);
  if (b->of) hiaR_free(a, b->of, b->n_of * sizeof *b->of);
  if (b->levels) hiaR_free(a, b->levels, b->levels_size);
  if (b->equal) hiaR_free(a, b->equal, b->n_places * sizeof *b->equal);
  if (b->wave) hiaR_free(a, b->wave, lists_size(b->most_rows));
  hiaR_free(a, b, sizeof *b);
  context->batch = NULL;
}

static row *row_new(hia_context *context, hia_batch *b, const hia_segment *s) {
  size_t size = sizeof(row) + ((size_t)s->n_ins + s->n_outs) * sizeof(hia_word);
  if ((size_t)(b->end - b->at) < size) {
    size_t whole = size + sizeof(chunk) > CHUNK ? size + sizeof(chunk) : CHUNK;
    chunk *c = hiaR_heap_alloc(&context->local, whole);
    if (!c) return NULL;
    *c = (chunk){b->rows.chunks, whole};
    b->rows.chunks = c;
    b->at = (char *)(c + 1);
    b->end = (char *)c + whole;
  }
  row *r = (row *)(void *)b->at;
  b->at += size;
  return r;
}

static void free_chunks(hia_context *context, hia_batch *b) {
  while (b->rows.chunks) {
    chunk *c = b->rows.chunks;
    b->rows.chunks = c->next;
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
    b->queues[b->n_queues++] = (queue){.segment = s, .number = s->number};
    b->of[s->number] = b->n_queues;
  }
  return &b->queues[b->of[s->number] - 1];
}

/* ---- noting a row ---- */

/* The row whose result a tensor will be; NULL: it is there. */
static row *row_of(hia_word word) {
  hia_tensor *t = hiaR_tensor(word);
  return t->counted.ctor == HIA_TENSOR_PENDING ? (row *)(uintptr_t)*hiaR_tensor_owner(t) : NULL;
}

/* A header with two references: the program's, and the row's. */
static hia_word pending_new(hia_context *context, const hia_segment_word *w, row *r) {
  size_t size = sizeof(hia_tensor) + ((size_t)w->rank + 1) * sizeof(hia_word);
  hia_tensor *t = hiaR_heap_take(&context->local, (unsigned)(size / 8), size);
  if (!t) return 0;
  hiaR_object_begin(&t->counted, HIA_TENSOR_PENDING);
  atomic_store_explicit(&t->counted.count, 2, memory_order_relaxed);
  t->counted.spare = hiaR_tensor_spare((hia_dtype)w->dtype, w->rank);
  t->data = NULL;
  for (uint32_t k = 0; k < w->rank; k++) t->dims[k] = w->dims[k];
  *hiaR_tensor_owner(t) = (hia_word)(uintptr_t)r;
  return (hia_word)(uintptr_t)t;
}

/* False: no memory. What was taken is the heap's. */
static bool note(hia_context *context, const hia_segment *s, hia_word *words) {
  hia_batch *b = context->batch;
  queue *q = queue_of(context, b, s);
  row *r = q ? row_new(context, b, s) : NULL;
  if (!r) return false;
  r->segment = s;
  r->queue = (uint32_t)(q - b->queues);
  r->depth = r->height = 0;
  for (uint32_t i = 0; i < s->n_ins; i++) {
    const row *from = s->words[i].rank ? row_of(words[i]) : NULL;
    if (from && from->depth >= r->depth) r->depth = from->depth + 1;
    r->words[i] = words[i];
  }
  for (uint32_t i = 0; i < s->n_outs; i++) {
    words[i] = r->words[s->n_ins + i] = pending_new(context, &s->words[s->n_ins + i], r);
    if (!words[i]) return false;
  }
  r->older = b->rows.newest;
  if (!r->older) b->rows.oldest = r;
  b->rows.newest = r;
  b->rows.n++;
  b->rows.bytes += s->row_bytes;
  if (r->depth >= b->rows.n_levels) b->rows.n_levels = r->depth + 1;
  return true;
}

/* ---- equal rows ----
 *
 * Functions are pure: of rows of a segment that have equal operands one is computed. Its results
 * are those of all. Tensors are equal here if their elements are at the same place in memory, or
 * they are the same pending tensor. So of equal trees the leaves are found to be equal, then what
 * depends on these, and so on. */

/* Identifies an operand: the address of a tensor's elements, or of its header while it has none;
 * other words identify themselves. */
static hia_word identity(const hia_segment *s, uint32_t i, hia_word word) {
  if (!s->words[i].rank) return word;
  const hia_tensor *t = hiaR_tensor(word);
  return t->data ? (hia_word)(uintptr_t)t->data : word;
}

static void identify(const hia_segment *s, const hia_word *words, hia_word *ids) {
  for (uint32_t i = 0; i < s->n_ins; i++) ids[i] = identity(s, i, words[i]);
}

static bool is_equal(const row *r, const hia_segment *s, const hia_word *ids) {
  bool is = r->segment->number == s->number;
  for (uint32_t i = 0; is && i < s->n_ins; i++) is = identity(s, i, r->words[i]) == ids[i];
  return is;
}

/* Where an equal row is, or would be. */
static row **place_of(const hia_batch *b, const hia_segment *s, const hia_word *ids) {
  uint64_t hash = s->number;
  for (uint32_t i = 0; i < s->n_ins; i++) hash = hiaR_mix(hash, ids[i]);
  uint32_t last = b->n_places - 1, at = (uint32_t)hash & last;
  while (b->equal[at] && !is_equal(b->equal[at], s, ids)) at = (at + 1) & last;
  return &b->equal[at];
}

/* Makes room for one more. False: no memory. */
static bool make_places(hia_context *context, hia_batch *b) {
  if (2 * (b->n_equal + 1) <= b->n_places) return true;
  uint32_t n_old = b->n_places, n = n_old ? 2 * n_old : 512;
  row **old = b->equal, **new = grow(context, NULL, 0, n * sizeof *new);
  if (!new) return false;
  b->equal = new;
  b->n_places = n;
  for (uint32_t i = 0; i < n_old; i++) {
    hia_word ids[HIA_SEGMENT_MOST];
    if (!old[i]) continue;
    identify(old[i]->segment, old[i]->words, ids);
    *place_of(b, old[i]->segment, ids) = old[i];
  }
  if (old) hiaR_free(context->allocator, old, n_old * sizeof *old);
  return true;
}

static void drop_operands(hia_context *context, const hia_segment *s, const hia_word *words) {
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (s->words[i].rank) hiaR_tensor_drop(&context->local, words[i], context->is_shared != 0);
}

/* Gives the results of an equal row, if there is one, and takes the references of the operands. */
static bool find_equal(hia_context *context, const hia_segment *s, hia_word *words,
                       const hia_word *ids) {
  const hia_batch *b = context->batch;
  const row *r = b->n_equal ? *place_of(b, s, ids) : NULL;
  if (!r) return false;
  drop_operands(context, s, words); /* the row has others */
  for (uint32_t i = 0; i < s->n_outs; i++) {
    words[i] = r->words[s->n_ins + i];
    hiaR_dup(words[i], context->is_shared != 0);
  }
  return true;
}

/* The newest row, whose operands these are: none is equal. */
static void add_equal(hia_context *context, const hia_word *ids) {
  hia_batch *b = context->batch;
  row *r = b->rows.newest;
  if (!make_places(context, b)) return;
  *place_of(b, r->segment, ids) = r;
  b->n_equal++;
}

/* ---- results that are kept with the params' state ---- */

/* True if the results depend on integers and on params alone, such as a row of a matrix of them. */
static bool is_of_params(const hia_segment *s, const hia_word *words) {
  for (uint32_t i = 0; i < s->n_ins; i++) {
    const hia_segment_word *w = &s->words[i];
    if (!w->rank && (w->dtype == HIA_F32 || w->dtype == HIA_F64)) return false;
    if (!w->rank) continue;
    hia_tensor *t = hiaR_tensor(words[i]);
    if (t->counted.ctor == HIA_TENSOR_VIEW) t = hiaR_tensor(*hiaR_tensor_owner(t));
    if (t->counted.ctor != HIA_TENSOR_PARAM) return false;
  }
  return true;
}

static hia_memo_key key_of(const hia_segment *s, const hia_word *ids) {
  static _Atomic uint64_t n;
  uint64_t known_as = atomic_load_explicit(s->known_as, memory_order_relaxed);
  if (!known_as) {
    uint64_t new = atomic_fetch_add(&n, 1) + 1;
    if (atomic_compare_exchange_strong(s->known_as, &known_as, new)) known_as = new;
  }
  return (hia_memo_key){known_as, ids, s->n_ins};
}

/* Gives the results that an earlier row has left, and takes the references of the operands. */
static bool find_kept(hia_context *context, const hia_segment *s, hia_word *words,
                      const hia_word *ids) {
  const hia_memo *memo = context->params ? hiaR_state_kept(context->params) : NULL;
  if (!memo || !is_of_params(s, words)) return false;
  hia_memo_key key = key_of(s, ids);
  const hia_word *found = hiaR_memo_find(memo, &key);
  if (!found) return false;
  drop_operands(context, s, words);
  memcpy(words, found, s->n_outs * sizeof *words);
  return true;
}

/* ---- levels ---- */

/* One array of levels for all queues, zeroed. */
static bool make_levels(hia_context *context, hia_batch *b) {
  size_t size = (size_t)b->n_queues * b->rows.n_levels * sizeof *b->levels;
  if (size > b->levels_size) {
    if (b->levels) hiaR_free(context->allocator, b->levels, b->levels_size);
    b->levels_size = 2 * size;
    b->levels = hiaR_alloc(context->allocator, b->levels_size);
    if (!b->levels) return b->levels_size = 0, false;
  }
  memset(b->levels, 0, size);
  for (uint32_t i = 0; i < b->n_queues; i++)
    b->queues[i].levels = b->levels + (size_t)i * b->rows.n_levels;
  return true;
}

/* From the newest row to the oldest: so what depends on a row comes before it. */
static void find_heights(const hia_batch *b) {
  for (row *r = b->rows.newest; r; r = r->older) {
    const hia_segment *s = r->segment;
    for (uint32_t i = 0; i < s->n_ins; i++) {
      row *from = s->words[i].rank ? row_of(r->words[i]) : NULL;
      if (from && from->height <= r->height) from->height = r->height + 1;
    }
  }
}

static uint32_t level_of(const hia_batch *b, const row *r, bool is_late) {
  return is_late ? b->rows.n_levels - 1 - r->height : r->depth;
}

/* How many waves there are if rows are computed as early as they can be, or as late. */
static uint32_t count_waves(const hia_batch *b, bool is_late) {
  uint32_t n = 0;
  for (const row *r = b->rows.newest; r; r = r->older)
    n += b->queues[r->queue].levels[level_of(b, r, is_late)].n++ == 0;
  memset(b->levels, 0, (size_t)b->n_queues * b->rows.n_levels * sizeof *b->levels);
  return n;
}

/* Fewer waves are larger ones. Leaves of trees come all at once if rows are computed as early as
 * they can be; in a backward pass, if as late. */
static void find_levels(const hia_batch *b) {
  find_heights(b);
  bool is_late = count_waves(b, true) < count_waves(b, false);
  for (row *r = b->rows.newest; r; r = r->older) {
    level *l = &b->queues[r->queue].levels[level_of(b, r, is_late)];
    r->next = l->first;
    l->first = r;
    l->n++;
  }
}

/* ---- the order of a wave ---- */

/* Where the rows' first tensors that are rows of others begin: so that what an earlier wave has
 * computed is read as it lies there. */
typedef struct origin {
  const hia_tensor *owner;
  uint32_t first, n; /* places in the order */
} origin;

static const hia_tensor *origin_of(const row *r, uint32_t i) {
  hia_tensor *t = hiaR_tensor(r->words[i]);
  return t->counted.ctor == HIA_TENSOR_VIEW ? hiaR_tensor(*hiaR_tensor_owner(t)) : NULL;
}

/* Puts rows that come from one tensor side by side, in the order in which they lie there. False:
 * they come from too many. */
static bool order_by(const hia_segment *s, row *const *wave, row **ordered, uint32_t n,
                     uint32_t i) {
  enum { MOST = 64 };
  origin origins[MOST];
  uint32_t n_origins = 0, last = 0, most = n / BLOCK + 4;
  size_t bytes = (size_t)s->words[i].n * hiaR_dtype_size((hia_dtype)s->words[i].dtype);
  if (!bytes) return false;
  for (uint32_t k = 0; k < n; k++) {
    const hia_tensor *owner = origin_of(wave[k], i);
    if (!owner) return false;
    if (!n_origins || origins[last].owner != owner) {
      for (last = 0; last < n_origins && origins[last].owner != owner;) last++;
      if (last == n_origins) {
        if (n_origins == MOST || n_origins == most) return false;
        origins[n_origins++] = (origin){owner, 0, 0};
      }
    }
    origins[last].n++;
  }
  for (uint32_t k = 0, first = 0; k < n_origins; first += origins[k++].n) origins[k].first = first;
  for (uint32_t k = 0; k < n; k++) ordered[k] = NULL;
  for (uint32_t k = 0; k < n; k++) {
    const hia_tensor *owner = origin_of(wave[k], i);
    if (origins[last].owner != owner)
      for (last = 0; origins[last].owner != owner;) last++;
    const origin *o = &origins[last];
    uint64_t place = (uint64_t)(hiaR_tensor(wave[k]->words[i])->data - owner->data) / bytes;
    if (place >= o->n || ordered[o->first + place])
      return false; /* not all of its rows, or twice */
    ordered[o->first + place] = wave[k];
  }
  return true;
}

/* ---- computing rows ---- */

/* A block, in the hands of the worker that computes it. */
typedef struct settling {
  hia_context *context;
  const block *b;
} settling;

static bool is_shared(const settling *x) { return x->context->is_shared != 0; }

/* A view, if the rows lie one after the other already; 0: they do not, or there is no memory. */
static hia_word lie_together(const settling *x, uint32_t i, const hia_dims *shape, size_t bytes) {
  const hia_tensor *first = hiaR_tensor(x->b->rows[0]->words[i]),
                   *owner = origin_of(x->b->rows[0], i);
  hia_word view;
  if (!owner) return 0;
  for (uint32_t k = 1; k < x->b->n; k++)
    if (hiaR_tensor(x->b->rows[k]->words[i])->data != first->data + k * bytes ||
        origin_of(x->b->rows[k], i) != owner)
      return 0;
  hia_word ref = (hia_word)(uintptr_t)owner;
  uint64_t at = (uint64_t)(first->data - owner->data) / hiaR_dtype_size(hiaR_tensor_dtype(first));
  return hiaR_tensor_view(&x->context->local, ref, at, shape, is_shared(x), &view) ? view : 0;
}

/* The operands i of the rows, as one tensor; 0: no memory. */
static hia_word gather(const settling *x, uint32_t i) {
  const hia_segment_word *w = &x->b->s->words[i];
  hia_dims shape;
  hia_word ref;
  size_t bytes = (size_t)w->n * hiaR_dtype_size((hia_dtype)w->dtype);
  shape.rank = w->rank + 1u;
  shape.dims[0] = x->b->n;
  for (uint32_t k = 0; k < w->rank; k++) shape.dims[k + 1] = w->dims[k];
  if (w->rank && (ref = lie_together(x, i, &shape, bytes))) return ref;
  if (!hiaR_tensor_new(&x->context->local, (hia_dtype)w->dtype, &shape, &ref)) return 0;
  char *to = hiaR_tensor(ref)->data;
  for (uint32_t k = 0; k < x->b->n; k++, to += bytes) {
    hia_word word = x->b->rows[k]->words[i];
    if (w->rank)
      memcpy(to, hiaR_tensor(word)->data, bytes);
    else
      hiaR_store((hia_repr)w->dtype, to, word);
  }
  return ref;
}

/* The pending tensors i of the rows become views of a result. */
static void scatter(const settling *x, uint32_t i, hia_word ref) {
  const hia_segment_word *w = &x->b->s->words[x->b->s->n_ins + i];
  hia_tensor *all = hiaR_tensor(ref);
  size_t bytes = (size_t)w->n * hiaR_dtype_size((hia_dtype)w->dtype);
  hia_word owner = all->counted.ctor == HIA_TENSOR_VIEW ? *hiaR_tensor_owner(all) : ref;
  for (uint32_t k = 0; k < x->b->n; k++) {
    hia_word word = x->b->rows[k]->words[x->b->s->n_ins + i];
    hia_tensor *t = hiaR_tensor(word);
    hiaR_dup(owner, is_shared(x));
    t->data = all->data + k * bytes;
    *hiaR_tensor_owner(t) = owner;
    t->counted.ctor = HIA_TENSOR_VIEW;
    hiaR_tensor_drop(&x->context->local, word, is_shared(x));
  }
  hiaR_tensor_drop(&x->context->local, ref, is_shared(x));
}

/* Keeps the results of row k, which are side by side with those of others. */
static void keep_row(const settling *x, hia_memo *memo, uint32_t k, const hia_word *all) {
  const hia_segment *s = x->b->s;
  hia_word ids[HIA_SEGMENT_MOST];
  hia_memo_result results[s->n_outs];
  for (uint32_t i = 0; i < s->n_outs; i++) {
    const hia_segment_word *w = &s->words[s->n_ins + i];
    size_t bytes = (size_t)w->n * hiaR_dtype_size((hia_dtype)w->dtype);
    results[i] = (hia_memo_result){(hia_dtype)w->dtype, w->rank, w->dims,
                                   hiaR_tensor(all[i])->data + k * bytes};
  }
  identify(s, x->b->rows[k]->words, ids);
  hia_memo_key key = key_of(s, ids);
  hiaR_memo_keep(memo, &key, results, s->n_outs);
}

static void keep(const settling *x, const hia_word *all) {
  const hia_context *context = x->context;
  for (uint32_t k = 0; k < x->b->n; k++) {
    if (!is_of_params(x->b->s, x->b->rows[k]->words)) continue;
    hia_memo *memo = hiaR_state_keep(context->params, context->local.heap->run);
    if (!memo) return;
    keep_row(x, memo, k, all);
  }
}

/* True if result i has as many elements as its rows have: the code may be of a graph that a user
 * wrote. */
static bool fits(const settling *x, uint32_t i, hia_word ref) {
  const hia_segment_word *w = &x->b->s->words[x->b->s->n_ins + i];
  hia_tensor *t = hiaR_tensor(ref);
  return hiaR_tensor_len(t) == (uint64_t)x->b->n * w->n;
}

static hia_status compute(const settling *x) {
  const hia_segment *s = x->b->s;
  hia_word words[s->n_ins + s->n_outs];
  uint64_t begin = hiaR_now();
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (!(words[i] = gather(x, i))) return HIA_MEMORY;
  uint64_t gathered = hiaR_now();
  hiaR_arch_call(x->context, (void (*)(void *))s->entry, words);
  for (uint32_t i = 0; i < s->n_ins; i++)
    if (!(s->owns >> i & 1)) hiaR_tensor_drop(&x->context->local, words[i], is_shared(x));
  for (uint32_t i = 0; i < s->n_outs; i++)
    if (!fits(x, i, words[s->n_ins + i])) return HIA_INTERNAL;
  if (s->known_as && x->context->params) keep(x, words + s->n_ins);
  for (uint32_t i = 0; i < s->n_outs; i++) scatter(x, i, words[s->n_ins + i]);
  for (uint32_t k = 0; k < x->b->n; k++)
    for (uint32_t i = 0; i < s->n_ins; i++)
      if (s->words[i].rank)
        hiaR_tensor_drop(&x->context->local, x->b->rows[k]->words[i], is_shared(x));
  hia_batch_usage *usage = &x->context->batch_usage;
  usage->gather_ns += gathered - begin;
  usage->compute_ns += hiaR_now() - gathered;
  return HIA_OK;
}

/* A hia_share_part (share.h) of a list of blocks. */
static hia_status compute_block(hia_context *context, void *blocks, uint32_t i) {
  const block *b = (const block *)blocks + i;
  uint32_t n = b->n_wave < HIA_ROWS_MOST ? b->n_wave : HIA_ROWS_MOST;
  uint64_t rows = HIA_ROWS(b->s->number, b->n, n);
  hiaR_event(context->ring, HIA_EVENT_ROWS_BEGIN, rows);
  hia_status status = compute(&(settling){context, b});
  hiaR_event(context->ring, HIA_EVENT_ROWS_END, rows);
  return status;
}

/* ---- settling ---- */

static bool make_room(hia_context *context, hia_batch *b, uint32_t n) {
  if (n <= b->most_rows) return true;
  uint32_t most = 2 * n;
  char *lists = hiaR_alloc(context->allocator, lists_size(most));
  if (!lists) return false;
  if (b->wave) hiaR_free(context->allocator, b->wave, lists_size(b->most_rows));
  b->wave = (row **)(void *)lists;
  b->ordered = b->wave + most;
  b->blocks = (block *)(void *)(b->ordered + most);
  b->most_rows = most;
  return true;
}

/* Rows of a block, such that all workers get the same number of blocks: from LEAST to BLOCK, or
 * FIRST while one works alone in a team. */
static uint32_t block_size(const hia_context *context, uint32_t n) {
  uint32_t n_workers = hiaR_share_workers(context);
  uint32_t whole = context->team && n_workers == 1 ? FIRST : BLOCK;
  uint32_t n_blocks = (n + whole - 1) / whole;
  n_blocks = (n_blocks + n_workers - 1) / n_workers * n_workers;
  uint32_t size = (n + n_blocks - 1) / n_blocks, most = n < whole ? n : whole;
  return size >= LEAST ? size : LEAST < most ? LEAST : most;
}

/* Adds the blocks of a wave, whose rows are put into the lists from place `at` on. Returns how many
 * these are. */
static uint32_t divide(const hia_context *context, const hia_segment *s, const level *l,
                       uint32_t at, uint32_t *n_blocks) {
  hia_batch *b = context->batch;
  row **rows = b->wave + at;
  uint32_t n = 0, size = block_size(context, l->n);
  for (row *r = l->first; r; r = r->next) rows[n++] = r;
  for (uint32_t i = 0; i < s->n_ins && rows == b->wave + at; i++)
    if (s->words[i].rank && order_by(s, rows, b->ordered + at, n, i)) rows = b->ordered + at;
  for (uint32_t k = 0; k < n; k += size)
    b->blocks[(*n_blocks)++] = (block){s, rows + k, n - k < size ? n - k : size, n};
  return n;
}

/* The waves of a level depend on earlier ones alone. */
static hia_status compute_level(hia_context *context, hia_batch *b, uint32_t number) {
  uint32_t n_rows = 0, at = 0, n_blocks = 0;
  uint64_t begin = hiaR_now();
  for (uint32_t i = 0; i < b->n_queues; i++) n_rows += b->queues[i].levels[number].n;
  if (!make_room(context, b, n_rows)) return HIA_MEMORY;
  for (uint32_t i = 0; i < b->n_queues; i++) {
    const level *l = &b->queues[i].levels[number];
    if (!l->n) continue;
    at += divide(context, b->queues[i].segment, l, at, &n_blocks);
    context->batch_usage.waves++;
  }
  context->batch_usage.rows += n_rows;
  context->batch_usage.plan_ns += hiaR_now() - begin;
  return hiaR_share(context, n_blocks, compute_block, b->blocks);
}

static hia_status settle(hia_context *context) {
  hia_batch *b = context->batch;
  hia_status status;
  context->settle = NULL;
  uint64_t begin = hiaR_now();
  if (!make_levels(context, b)) return HIA_MEMORY;
  find_levels(b);
  context->batch_usage.plan_ns += hiaR_now() - begin;
  hiaR_share_begin(context, NULL, 0);
  for (uint32_t i = 0; i < b->rows.n_levels; i++)
    if ((status = compute_level(context, b, i))) return status;
  if ((status = hiaR_share_end(context))) return status;
  free_chunks(context, b);
  forget_rows(b);
  return HIA_OK;
}

/* The frames of the runtime lie between the code that waits and that of segments. */
static hia_status settle_from(hia_context *context, const char *sp, uintptr_t pc) {
  hia_invocation *invocation = context->invocation;
  hia_bridge bridge = {invocation->bridges, sp, pc};
  invocation->bridges = &bridge;
  hia_status status = settle(context);
  invocation->bridges = bridge.outer;
  return status;
}

static HIA_UNINSTRUMENTED void settle_at(hia_context *context, const char *sp, uintptr_t pc) {
  hia_status status = settle_from(context, sp, pc);
  if (HIA_UNLIKELY(status)) hiaR_native_fail(HIA_NONE, status, 0, context, sp, pc);
}

/* ---- jobs ---- */

/* hia_job.adopt: none of its rows depends on one of the owner's. */
static bool adopt(hia_context *context, hia_job *job) {
  hia_batch *b = context->batch = context->batch ? context->batch : new_batch(context);
  hia_rows *new = &job->rows, *all = &b->rows;
  if (!b) return false;
  for (row *r = new->newest; r; r = r->older) {
    const queue *q = queue_of(context, b, r->segment);
    if (!q) return false;
    r->queue = (uint32_t)(q - b->queues);
  }
  new->oldest->older = all->newest;
  if (!all->newest) all->oldest = new->oldest;
  all->newest = new->newest;
  all->n += new->n;
  all->bytes += new->bytes;
  if (new->n_levels > all->n_levels) all->n_levels = new->n_levels;
  chunk **end = &new->chunks; /* the one that is being filled stays first */
  while (*end) end = &(*end)->next;
  if (all->chunks) {
    *end = all->chunks->next;
    all->chunks->next = new->chunks;
  } else {
    all->chunks = new->chunks;
  }
  context->settle = settle_at;
  return true;
}

/* Gives the rows of a finished stolen job to its owner, which computes them together with its own.
 */
static void hand_over(hia_context *context, hia_job *job) {
  hia_batch *b = context->batch;
  job->rows = b->rows;
  job->adopt = adopt;
  forget_rows(b);
  context->settle = NULL;
}

/* ---- what compiled code calls ---- */

/* Looks up the results of an earlier row with equal operands; false if there is none. */
static bool find_results(hia_context *context, const hia_segment *s, hia_word *words,
                         hia_word *ids) {
  identify(s, words, ids);
  bool has = find_kept(context, s, words, ids) || find_equal(context, s, words, ids);
  context->batch_usage.shared += has;
  return has;
}

/* At the end of an entry, which a join of this worker may have called. */
HIA_UNINSTRUMENTED void hiaR_native_finish(hia_context *context, const char *sp, uintptr_t pc) {
  const hia_invocation *invocation = context->invocation;
  if (!context->settle || invocation->bridges) return;
  if (invocation->job && context->batch->rows.bytes <= MOST_HANDED)
    hand_over(context, invocation->job);
  else
    settle_at(context, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_settle(hia_context *context, const char *sp, uintptr_t pc) {
  if (context->settle) settle_at(context, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_defer(hia_context *context, const hia_segment *segment,
                                          hia_word *words, uint32_t loc, const char *sp,
                                          uintptr_t pc) {
  if (HIA_UNLIKELY(!context->batch)) {
    context->batch = new_batch(context);
    if (!context->batch) hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  }
  hia_word ids[HIA_SEGMENT_MOST];
  if (segment->known_as && find_results(context, segment, words, ids)) return;
  if (HIA_UNLIKELY(!note(context, segment, words)))
    hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  if (segment->known_as) add_equal(context, ids);
  context->settle = settle_at;
  if (HIA_UNLIKELY(context->batch->rows.bytes > MOST_BYTES)) settle_at(context, sp, pc);
}
