/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rows of a worker and the tables in which they are found: private to this folder. */
#ifndef HIA_NATIVE_BATCH_ROWS_H
#define HIA_NATIVE_BATCH_ROWS_H

#include "runtime/heap/tensor.h"
#include "runtime/native/context.h"
#include "runtime/native/job.h"

#ifdef HIA_STRESS
enum { HIA_BLOCK_ROWS = 3 };
#else
enum { HIA_BLOCK_ROWS = 64 }; /* rows that are computed at a time, at most */
#endif

/* A note that a segment is to be computed for these operands. */
typedef struct hia_row {
  struct hia_row *older; /* the row that was noted before this one */
  struct hia_row *next;  /* the next one of the same segment and level */
  const hia_segment *segment;
  uint32_t queue;  /* the index of its segment's queue */
  uint32_t depth;  /* the longest way from a row that depends on nothing pending */
  uint32_t height; /* the longest way to a row on which none depends */
  uint32_t origin; /* while a wave is put into order: the tensor in which its operand lies */
  /* The longest way to it from the beginning of the run, along operands and along what control has
   * waited for. */
  uint32_t level;
  /* part.c: an iteration waits for it, or for a row that depends on it; it depends on a row. */
  bool is_wanted, is_blocked;
  bool is_aside;    /* aside.c */
  uint64_t pending; /* bit i: operand i is pending; bit 63 stands for all from 63 on */
  hia_word words[]; /* its operands and its results; it holds a reference to each */
} hia_row;

/* The bytes that a row takes until it is computed: its operands and results, itself, and the
 * headers of what is pending. */
static inline size_t hiaR_row_cost(const hia_segment *s) {
  size_t n_words = (size_t)s->n_ins + s->n_outs;
  return s->row_bytes + sizeof(hia_row) + n_words * sizeof(hia_word) +
         s->n_outs * (sizeof(hia_tensor) + 2 * sizeof(hia_word));
}

/* The rows of a segment that do not depend on each other: a wave, when they are computed. */
typedef struct hia_row_level {
  hia_row *first;
  uint32_t n;
} hia_row_level;

/* What is known of a segment's rows while a part of all is chosen (part.c). */
typedef struct hia_row_standing {
  uint64_t n, levels; /* rows, and the sum of their levels */
  uint32_t height;    /* the greatest of those that can be computed */
  bool is_wanted;     /* one that can be computed is wanted */
} hia_row_standing;

/* The rows of a segment. */
typedef struct hia_row_queue {
  const hia_segment *segment;
  uint32_t number;       /* the segment's, whose module may be gone when the next run begins */
  hia_row_level *levels; /* rows.n_levels of the batch, while it settles */
  hia_row_standing standing;
} hia_row_queue;

/* Rows that are computed at a time. */
typedef struct hia_row_block {
  const hia_segment *s;
  hia_row **rows;
  uint32_t n, n_wave; /* rows of the block, and of the whole wave */
} hia_row_block;

/* A level while it is computed: each of its blocks is a piece. Kept from settling to settling. */
typedef struct hia_row_phase {
  hia_phase phase; /* first */
  struct hia_row_phase *older;
  size_t size;
  hia_row **wave, **ordered; /* the rows, as they were met and as they are computed */
  hia_row_block *blocks;
  hia_phase_piece *pieces;
  uint32_t most_rows; /* for which there is room in these four, behind this */
  /* In the newest phase of a settling, whose rows a late worker may read: */
  hia_retired retired;
  struct hia_row_chunk *chunks;
} hia_row_phase;

/* A note that a word of an object is to be what a pending tensor of one element will have; or that
 * a tensor is to have the elements of all tensors of an array. It holds a reference to both. */
typedef struct hia_owed {
  struct hia_owed *older;
  hia_word object, tensor; /* or the tensor, and the array */
  uint32_t base;           /* of the object's type, or of the array's (heap/object.h) */
  uint32_t at, size;       /* of the word in the object, in bytes; a size of 0: it is a tensor */
} hia_owed;

/* A piece of the run's heap that holds rows. */
typedef struct hia_row_chunk {
  struct hia_row_chunk *next;
  size_t size;
} hia_row_chunk;

/* A worker's rows. They are memory of the run's heap; the tables are kept from run to run. */
typedef struct hia_batch {
  hia_row_queue *queues; /* in the order in which the segments were first met */
  uint32_t n_queues, most_queues;
  uint32_t *queue_of; /* by a segment's number: 1 and the index of its queue; 0: it has none */
  uint32_t n_queue_of;
  hia_rows rows; /* the pending ones; `bytes` counts those that are aside, too */
  /* Those that are aside (aside.c), and the rest of the newest chunk of theirs. */
  hia_rows aside;
  char *aside_at, *aside_end;
  bool wants_aside;      /* a row that is wanted depends on one that is aside */
  hia_row_level *levels; /* those of all queues */
  size_t levels_size;
  /* Rows that new ones are compared with, by their hash: a power of two slots, at least twice as
   * many as there are rows. */
  hia_row **equal;
  uint32_t n_slots, n_equal;
  char *at, *end; /* the rest of the newest chunk of rows */
  /* While it settles: the number of the next level, and what was planned so far. The worker that
   * plans a level writes these. */
  uint32_t level;
  uint64_t n_rows, n_waves;
  hia_row_phase *phases, *spare; /* newest first; those of earlier settlings */
  /* once.c: narrow waves up to now; rows that are computed at once, of so many. */
  uint32_t n_narrow, once_left, n_once;
} hia_batch;

/* The row whose result a tensor will be; NULL: the tensor has its elements, or is owed them. */
static inline hia_row *hiaR_pending_row(hia_word word) {
  hia_tensor *t = hiaR_tensor(word);
  return t->counted.ctor == HIA_TENSOR_PENDING ? (hia_row *)(uintptr_t)*hiaR_tensor_owner(t) : NULL;
}

/* True if the tensor has no elements yet. Without a pending row it is owed them (owed.c). */
static inline bool hiaR_is_pending(hia_word word) {
  return hiaR_tensor(word)->counted.ctor == HIA_TENSOR_PENDING;
}

/* The row whose result operand i of a row will be; NULL: the operand was not pending when the row
 * was noted, or has its elements. */
static inline hia_row *hiaR_operand_row(const hia_row *r, uint32_t i) {
  bool may = (r->pending >> (i < 63 ? i : 63) & 1) && r->segment->words[i].rank;
  return may ? hiaR_pending_row(r->words[i]) : NULL;
}

/* The tensor of which operand i of a row is a view, which holds the results of an earlier block;
 * NULL: it is no view. */
static inline const hia_tensor *hiaR_row_origin(const hia_row *r, uint32_t i) {
  hia_tensor *t = hiaR_tensor(r->words[i]);
  return t->counted.ctor == HIA_TENSOR_VIEW ? hiaR_tensor(*hiaR_tensor_owner(t)) : NULL;
}

/* Identifies a tensor of one element by the element's bits, as no address: bit 63 of these is 0.
 * 0: it would look like one. */
static inline hia_word hiaR_element_identity(const hia_tensor *t) {
  uint64_t bits = 0;
  uint32_t size = hiaR_dtype_size(hiaR_tensor_dtype(t));
  memcpy(&bits, t->data, size);
  if (size < sizeof bits) return bits | UINT64_C(1) << 63;
  return bits >> 48 ? bits : 0;
}

/* Identifies an operand: by the address of a tensor's elements, or of its header while it has none,
 * or by its only element, which may have been computed for each of several equal leaves; other
 * words identify themselves. */
static inline hia_word hiaR_operand_identity(const hia_segment *s, uint32_t i, hia_word word) {
  if (!s->words[i].rank) return word;
  const hia_tensor *t = hiaR_tensor(word);
  if (!t->data) return word;
  hia_word element = s->words[i].n == 1 ? hiaR_element_identity(t) : 0;
  return element ? element : (hia_word)(uintptr_t)t->data;
}

/* Identifies the operands of a row, the first words of `words`. */
static inline void hiaR_row_identify(const hia_segment *s, const hia_word *words, hia_word *ids) {
  for (uint32_t i = 0; i < s->n_ins; i++) ids[i] = hiaR_operand_identity(s, i, words[i]);
}

/* ---- memory.c ---- */

/* NULL: no memory. */
hia_batch *hiaR_batch_new(const hia_context *context);
/* A larger copy of an array, whose new part is zeroed; frees the old one. NULL: no memory. */
void *hiaR_batch_grow(hia_context *context, void *old, size_t old_size, size_t size);
/* The batch has no rows any more: they were computed, or another batch has them now. */
void hiaR_batch_forget(hia_batch *b);
/* `size` bytes of memory for rows; NULL: there are none. */
void *hiaR_batch_take(hia_context *context, hia_batch *b, size_t size);
/* Frees the memory of rows. */
void hiaR_batch_free_rows(hia_context *context, hia_row_chunk **chunks);
/* The queue of a segment, which is made if it has none; NULL: no memory. */
hia_row_queue *hiaR_batch_queue(hia_context *context, hia_batch *b, const hia_segment *s);
/* A phase for so many rows, which is added to those of the settling; NULL: no memory. */
hia_row_phase *hiaR_batch_phase(const hia_context *context, hia_batch *b, uint32_t n_rows);
/* The phases of the settling are not needed any more. */
void hiaR_batch_drop_phases(hia_batch *b);
/* Frees a phase and the older ones. */
void hiaR_batch_free_phases(const hia_context *context, hia_row_phase *newest);

/* ---- note.c ---- */

/* Notes a row, and writes its results behind its operands: pending tensors. False: no memory; what
 * was taken is the heap's. */
bool hiaR_batch_note(hia_context *context, const hia_segment *s, hia_word *words);

/* ---- equal.c ---- */

/* Gives up the references of a row's operands. */
void hiaR_batch_drop_operands(hia_context *context, const hia_segment *s, const hia_word *words);
/* Gives the results of an equal row, if there is one, and takes the references of the operands,
 * which `ids` identify. */
bool hiaR_batch_find_equal(hia_context *context, const hia_segment *s, hia_word *words,
                           const hia_word *ids);
/* Enters the newest row, whose operands `ids` identify: none is equal to it. */
void hiaR_batch_add_equal(hia_context *context, const hia_word *ids);

/* ---- kept.c ---- */

/* Gives the results that an earlier row has left, if there are some, and takes the references of
 * the operands, which `ids` identify. */
bool hiaR_batch_find_kept(hia_context *context, const hia_segment *s, hia_word *words,
                          const hia_word *ids);
/* Keeps the results of a block's rows: `all` are the tensors of all rows. */
void hiaR_batch_keep(const hia_context *context, const hia_row_block *b, const hia_word *all);

/* ---- levels.c ---- */

/* Puts all rows into levels, which depend on earlier ones alone. False: no memory. */
bool hiaR_batch_find_levels(hia_context *context, hia_batch *b);

/* ---- row_order.c ---- */

/* Puts the n rows of a wave into such an order that operands i, which are results of earlier
 * blocks, lie side by side: first the rows of one run, then those of the next, and last those of
 * none. False: the last are more than half, or two rows have the same operand. */
bool hiaR_batch_order(const hia_segment *s, hia_row *const *wave, hia_row **ordered, uint32_t n,
                      uint32_t i);

/* ---- compute.c ---- */

/* Block i of a hia_row_phase is computed, released, computed again: hia_phases (native/phases.h).
 */
hia_status hiaR_batch_compute(hia_context *context, hia_phase *phase, uint32_t i,
                              bool *has_claimed);
void hiaR_batch_release(hia_context *context, hia_phase *phase, uint32_t i);
bool hiaR_batch_may_again(hia_context *context, const hia_phase *phase, uint32_t i);

/* ---- owed.c ---- */

/* Notes that a word of an object, of a type with this base, is to be the element of a pending
 * tensor; takes the reference to that. False: no memory. */
bool hiaR_batch_owe(hia_context *context, uint32_t base, const hia_late_word *w, hia_word object,
                    hia_word tensor);
/* Writes the element of a tensor that has it; takes the reference to the tensor. */
void hiaR_batch_fill(hia_context *context, const hia_late_word *w, hia_word object,
                     hia_word tensor);
/* Notes that a tensor, whose elements are not set, is to have those of the tensors of an array of a
 * type with this base; takes the reference to the array. False: no memory. */
bool hiaR_batch_owe_elements(hia_context *context, uint32_t base, hia_word tensor, hia_word array);
/* Writes the elements, which are there; takes the reference to the array. */
void hiaR_batch_fill_elements(hia_context *context, uint32_t base, hia_word tensor, hia_word array);
/* Writes what objects are owed: all rows are computed. */
void hiaR_batch_pay(hia_context *context, hia_batch *b);

/* ---- settle.c ---- */

/* Computes what is pending. `sp` and `pc`: where compiled code is, whose invocation ends if that
 * fails. */
void hiaR_batch_settle(hia_context *context, const char *sp, uintptr_t pc);

/* ---- part.c ---- */

/* True if few enough rows are pending, and few enough iterations wait, for a part to be chosen; and
 * if it may not be all. */
bool hiaR_batch_has_parts(const hia_batch *b, uint32_t n_waiting);
/* Says that an iteration waits for a pending tensor. False: its row is aside, so all that is
 * pending must be computed. */
bool hiaR_batch_want(hia_word tensor);
/* Computes one wave of what was wanted, with all rows of its segment that can be computed. So many
 * iterations wait. */
void hiaR_batch_settle_part(hia_context *context, uint32_t n_waiting, const char *sp, uintptr_t pc);

/* ---- aside.c ---- */

/* Appends a row to a list, as its newest. */
void hiaR_rows_append(hia_rows *to, hia_row *r);
/* Sets the `next` of each row to the one that was noted after it. Returns the oldest. */
hia_row *hiaR_rows_from_oldest(const hia_rows *rows);
/* Copies a row into new memory; its results refer to the copy. NULL: no memory. */
hia_row *hiaR_row_copied(hia_context *context, hia_batch *b, const hia_row *r);
/* Finds the depth of a row from those of its operands. */
void hiaR_row_find_depth(hia_row *r);
/* True if a row is computed with the part of this queue. Requires what part.c marks. */
bool hiaR_row_is_chosen(const hia_row *r, uint32_t queue);
/* Before the part of a queue is computed: sets aside all rows that are not wanted, and depend on no
 * others. False: no memory. Requires what part.c marks. */
bool hiaR_batch_set_aside(hia_context *context, hia_batch *b, uint32_t queue);
/* Those that are aside are among the others again. */
void hiaR_batch_join_aside(hia_batch *b);

/* ---- once.c ---- */

/* So many rows were computed in so many waves, in one settling. */
void hiaR_batch_note_waves(hia_batch *b, uint64_t rows, uint64_t waves);
/* True if the row is to be computed at once. */
bool hiaR_batch_is_once(hia_batch *b, const hia_segment *s, const hia_word *words);
/* Computes it: its results take the place of its operands, whose references are given up. `loc`,
 * `sp` and `pc`: where compiled code is, for a failure. */
void hiaR_batch_once(hia_context *context, const hia_segment *s, hia_word *words, uint32_t loc,
                     const char *sp, uintptr_t pc);

/* ---- jobs.c ---- */

/* Gives the rows of a finished stolen job to its owner, which computes them together with its own.
 */
void hiaR_batch_hand_over(hia_context *context, hia_job *job);

#endif
