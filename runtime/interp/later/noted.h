/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: noted operations, their signatures, and what a run has of
 * them. */
#ifndef HIA_NOTED_H
#define HIA_NOTED_H

#include "runtime/interp/later/later.h"
#include "runtime/interp/refs.h"
#include "runtime/tensor/operands.h"

enum {
  HIA_FIRED_ROWS = 64
}; /* operations that are computed by one call, so that what they read
      and write stays in the cache */

/* How operations of one signature are computed as one, for m of them. */
typedef enum hia_way {
  HIA_WAY_NONE,    /* the operation cannot be noted */
  HIA_WAY_ALONE,   /* one after the other */
  HIA_WAY_ROWS,    /* operands and results get a first axis, of m */
  HIA_WAY_AXES,    /* likewise, and the operation's axis is one more */
  HIA_WAY_LIFT,    /* likewise, of an op on scalars: operands are broadcast, some are shared */
  HIA_WAY_VECTORS, /* W @ x with a shared W: X @ transpose(W) */
  HIA_WAY_MATRIX,  /* x @ W, x @ transpose(W): the rows of all x, one after the other */
} hia_way;

/* What way.c finds out about an operation. */
typedef struct hia_described {
  hia_way way;
  uint32_t shared; /* bit i: operand i is the same tensor in all operations of the signature */
  hia_dims dims;   /* of the result */
  hia_dtype dtype;
} hia_described;

/* A tensor that is a part of another, or has its elements in another shape, is no operation: it is
 * there when the other is. */
typedef struct hia_noted {
  const hia_instr *instr; /* NULL: a part of another one's result */
  hia_tensor *out;        /* one reference; NULL: nothing needs it, or it is computed */
  uint32_t words;         /* index of its first operand among the words; of each tensor one
                             reference */
  uint32_t of;            /* of a part: which operation's result */
  uint64_t at;            /* and at which element it begins */
  uint32_t parts;         /* the last part of its result, or NONE */
  uint32_t next;          /* of parts: the one before; of operations: plan.c's */
  uint32_t signature, depth;
  uint32_t n_waits, edges; /* plan.c's: operands that are pending; the operations that it feeds */
} hia_noted;

typedef struct hia_op_signature {
  uint64_t hash;
  uint32_t key, n_key; /* in the table of keys */
  hia_described d;     /* what is the same of all these operations */
  bool is_product;
  bool is_steady; /* an operation with this key can be noted, whatever else is known of it */
  /* plan.c's, of the operations that are noted at the moment */
  uint32_t first, last, n; /* those that are ready */
  uint64_t n_all, depths;  /* all of them, and the sum of their depths */
  uint32_t rank;           /* the place in the order in which they are chosen */
} hia_op_signature;

/* An edge: to the operation that reads a result, and the next edge of that result. */
typedef struct hia_noted_edge {
  uint32_t to, next;
} hia_noted_edge;

/* A table that grows. */
typedef struct hia_table {
  void *data;
  uint32_t len, cap;
} hia_table;

struct hia_later {
  hia_table nodes;            /* hia_noted */
  hia_table words;            /* hia_word: operands */
  hia_table signatures, keys; /* hia_op_signature, uint64_t */
  hia_table slots;            /* uint32_t: a hash table of signatures; 0: empty */
  uint32_t last[256];         /* by a number of a node: the signature that it may have again */
  hia_table levels, edges;    /* plan.c's: level, hia_noted_edge */
  hia_table order, ready;     /* plan.c's: uint32_t, uint64_t */
  size_t bytes;               /* of what is pending, with operands and results */
  size_t most;                /* that these may come to */
  uint32_t n_narrow, n_once, once_left; /* settle.c */
  hia_status failed;                    /* of a settling; the run ends */
  hia_batch_usage usage;
};

static inline hia_noted *hiaR_noted(const hia_later *l, uint32_t i) {
  return &((hia_noted *)l->nodes.data)[i];
}
static inline hia_word *hiaR_noted_words(const hia_later *l, const hia_noted *n) {
  return &((hia_word *)l->words.data)[n->words];
}
static inline hia_op_signature *hiaR_op_signature(const hia_later *l, uint32_t i) {
  return &((hia_op_signature *)l->signatures.data)[i];
}
/* The header of a pending tensor is as large as that of the view that it becomes. */
static inline size_t hiaR_pending_size(uint32_t rank) {
  return sizeof(hia_tensor) + rank * sizeof(int64_t) + sizeof(hia_word);
}
static inline bool hiaR_is_pending(hia_word ref) {
  return hiaR_tensor(ref)->counted.ctor == HIA_TENSOR_PENDING;
}
/* Which operation gives a pending tensor: itself, or the one whose result it is a part of. */
static inline uint32_t hiaR_noted_of(const hia_later *l, hia_word pending) {
  uint32_t i = (uint32_t)*hiaR_tensor_owner(hiaR_tensor(pending));
  const hia_noted *n = hiaR_noted(l, i);
  return n->instr ? i : n->of;
}
static inline hia_env hiaR_later_env(hia_worker *w) {
  return (hia_env){&w->heap, w->run->image->shapes, w->run->limits->params, w->is_shared, NULL};
}

/* ---- memory.c ---- */

/* Makes room for n more elements of this size. False: no memory. */
bool hiaR_table_grow(hia_worker *w, hia_table *t, uint32_t n, size_t size);
static inline bool hiaR_table_reserve(hia_worker *w, hia_table *t, uint32_t n, size_t size) {
  return HIA_LIKELY(n <= t->cap - t->len) || hiaR_table_grow(w, t, n, size);
}
void hiaR_table_free(hia_worker *w, hia_table *t, size_t size);

/* ---- way.c ---- */

/* How the operation is computed later with these operands: d->way is NONE if it must be computed at
 * once. Operands may be pending. `is_fast`: OpenBLAS computes the products that it takes. */
void hiaR_describe(const hia_operation_instr *a, const hia_word *in, bool is_fast,
                   hia_described *d);
/* True if the operation gives x, of operand 0, or reads no elements: it is computed though operands
 * are pending. */
bool hiaR_reads_none(const hia_operation_instr *a, const hia_word *in);
/* True if the result is a part of operand 0, a tensor that is pending, from element *at on, or has
 * its elements in another shape. */
bool hiaR_is_part(const hia_operation_instr *a, const hia_word *in, hia_dims *dims, uint64_t *at);

/* ---- signature.c ---- */

/* Returns the signature that an operation of the same node had before, if that is certain to be
 * this one's, too; else HIA_NONE. */
uint32_t hiaR_op_signature_again(const hia_later *l, const hia_operation_instr *a,
                                 const hia_word *in);
/* Finds the signature of an operation, or adds it. HIA_NONE: no memory. */
uint32_t hiaR_op_signature_of(hia_worker *w, const hia_operation_instr *a, const hia_word *in,
                              const hia_described *d);
/* Forgets all, if they are many; nothing is noted. */
void hiaR_op_signatures_trim(hia_later *l);

/* ---- note.c ---- */

/* Notes an operation of this signature: *out becomes its pending result. It takes the references of
 * the operands that it would take if it were computed, as hiaR_operate does. False: no memory; then
 * nothing has changed. */
bool hiaR_note(hia_worker *w, const hia_instr *n, uint32_t signature, hia_word *slots,
               hia_word *out);
/* Notes a part of a pending tensor. */
bool hiaR_note_part(hia_worker *w, const hia_instr *n, const hia_dims *dims, uint64_t at,
                    hia_word *slots, hia_word *out);

/* ---- plan.c ---- */

/* Makes room for an operation with so many operands. False: no memory. */
bool hiaR_plan_reserve(hia_worker *w, uint32_t n_in);
/* Operation i waits for operation `from`. */
void hiaR_plan_wait(hia_worker *w, uint32_t i, uint32_t from);
/* Operation i is noted. */
void hiaR_plan_add(hia_worker *w, uint32_t i);
/* These compute all that is noted and needed, in the order of the strategy. HIA_CANCELLED: the run
 * must end. */
hia_status hiaR_plan_by_depth(hia_worker *w);
hia_status hiaR_plan_by_agenda(hia_worker *w);

/* ---- fire.c ---- */

/* Computes n operations of one signature, a list by `next`, from node `first` on; those that
 * nothing refers to are dropped. */
hia_status hiaR_fire(hia_worker *w, uint32_t signature, uint32_t first, uint32_t n);

#endif
