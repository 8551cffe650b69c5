/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Fused kernels: functions whose nodes are operations on the elements of tensors
 * (graph/passes/fuse.c). Their code begins with a test and loops:
 *
 *     if all operands fit {
 *       make the results; loop over their elements, in vectors; give up operands; return
 *     }
 *     operation by operation, by the runtime
 *
 * A loop goes over the elements of one shape. If all that it reads has this shape, it goes from the
 * first element to the last. Else it has *rows* and *columns*, the shape's last axes: an operand
 * may have one element for each column or for each row, or rows that a vector of indices says; and
 * a reduction gives one element for each row.
 *
 * "Fit" means that nothing of the function could fail, and that shapes are of these kinds. A
 * value in the middle is never stored. What does not fit - sizes that are 1 without the compiler
 * knowing, sizes that are wrong, tensors of no elements or very many - is left to the operations,
 * which have a kernel for everything, an error for each mistake, and polls.
 *
 * fit.c says when operands fit and what a loop computes; loop.c builds the loop; steps.c what is
 * done with operands that do not fit; kernel.c the code of the function. */
#ifndef HIA_LOWER_FUSED_H
#define HIA_LOWER_FUSED_H

#include "lower/ops/ops.h"
#include "runtime/heap/tensor.h"

enum {
  HIA_LOOP_LANES = 16,       /* elements of a vector, of any dtype */
  HIA_FUSED_CHUNK = 1 << 15, /* elements between two safepoints, at most: some 100 us */
  HIA_FUSED_ELEMENTS = 1 << 30,
  HIA_FUSED_COLUMNS = 1 << 17, /* of a loop with rows, at most: there is no safepoint in a row */
  HIA_FUSED_TERMS = 256,
  HIA_FUSED_RESULTS = 24,
};

/* ---- what is known of the values of the function ---- */

/* How the index of an operand's element follows from that of the loop. */
typedef enum hia_spread {
  HIA_EACH,        /* an element for each of the loop's */
  HIA_EACH_COLUMN, /* the same elements in each row */
  HIA_EACH_ROW,    /* one element for a row */
  HIA_ONE,         /* one element */
} hia_spread;

typedef enum hia_known_kind {
  HIA_SCALAR,
  HIA_STORED,   /* a tensor that the function gets */
  HIA_SHOWN,    /* elements of another value, from `first` on */
  HIA_GATHERED, /* rows of another value */
  HIA_COMPUTED, /* by an op, from elements of its operands */
  HIA_FOLDED,   /* by a reduction of the rows of its operand */
} hia_known_kind;

typedef struct hia_known {
  hia_known_kind kind;
  uint32_t rank;
  LLVMValueRef dims[HIA_FUSED_RANK]; /* i64 */
  LLVMValueRef data;                 /* STORED: the address of the elements */
  hia_value_id of;                   /* SHOWN, GATHERED */
  LLVMValueRef first;                /* SHOWN: NULL stands for 0 */
  LLVMValueRef pitch;   /* SHOWN: elements from a row's to the next one's; NULL: they lie one after
                           the other */
  LLVMValueRef columns; /* with a pitch: of a row, which need not be along the last axis: */
  bool is_reshaped;     /* ... the value was given another shape since */
  hia_value_id by;      /* GATHERED: the indices */
  hia_spread spread[3]; /* COMPUTED: of the operands */
  uint32_t row_axis[3]; /* EACH_ROW: the first axis of the result's that is in a row */
  hia_value_id loop; /* a value of the same shape: values that lead to the same one share a loop */
} hia_known;

/* Two sizes that are equal if operands fit. */
typedef struct hia_same_size {
  LLVMValueRef size, as;
} hia_same_size;

typedef struct hia_fused {
  hia_emit *e;
  hia_known *values;            /* by value */
  LLVMValueRef fits;            /* an i1 */
  HIA_VEC(hia_same_size) equal; /* what it says already; no size is `size` twice */
} hia_fused;

/* ---- loops ---- */

typedef enum hia_fused_term_kind {
  HIA_TERM_LOAD,
  HIA_TERM_SPLAT,
  HIA_TERM_APPLY,
  HIA_TERM_FOLD
} hia_fused_term_kind;

/* A term of the expressions that a loop computes: for one element; or, of FOLD, for one row. */
typedef struct hia_fused_term {
  hia_fused_term_kind kind;
  hia_type dtype;     /* of the result */
  hia_spread spread;  /* LOAD */
  hia_node_id node;   /* APPLY, FOLD */
  uint32_t ins[3];    /* APPLY, FOLD: terms */
  LLVMValueRef from;  /* LOAD: the address of element 0; SPLAT: the scalar */
  LLVMValueRef by;    /* LOAD of gathered rows: the address of the indices; or NULL */
  hia_type by_dtype;  /* of the indices */
  hia_value_id value; /* whose element the term computes or loads */
  LLVMValueRef first; /* how far that element is behind the loop's; NULL: it is the same */
  LLVMValueRef pitch; /* elements from one row's to the next one's; NULL: the loop's columns */
} hia_fused_term;

/* One loop, and the results that it makes. */
typedef struct hia_fused_plan {
  hia_value_id shape;  /* a value of the shape that the loop goes over */
  LLVMValueRef n_cols; /* NULL: there is nothing that goes by rows */
  hia_fused_term terms[HIA_FUSED_TERMS];
  uint32_t n_terms;
  uint32_t of[HIA_FUSED_RESULTS], term[HIA_FUSED_RESULTS]; /* positions among the results; terms */
  uint32_t n;
  struct hia_fused_plan *next;
} hia_fused_plan;

/* ---- fit.c ---- */

/* The elements of a row, or of the whole from axis 0 on. */
LLVMValueRef hiaL_count_from(hia_fused *f, const hia_known *x, uint32_t axis);
/* The elements between two safepoints of a loop: the fewer, the more an element costs. */
uint64_t hiaL_fused_chunk(const hia_emit *e, const hia_fused_plan *p);
/* Learns of all values of emit->fn, and builds what must hold into fused->fits. */
hia_fused hiaL_fused_values(hia_emit *e);
/* The loops of all results; more conditions. NULL: operands never fit. */
hia_fused_plan *hiaL_plan_loops(hia_fused *f);

/* ---- kernel.c ---- */

/* True: emit->fn is a kernel, and its code has been built. */
bool hiaL_emit_kernel(hia_emit *e);

/* ---- steps.c ---- */

/* True if the operations of emit->fn can be steps. */
bool hiaL_has_steps(const hia_emit *e);
/* Stores the tensors that emit->fn owns into the block of words that steps work on, which is
 * returned. */
LLVMValueRef hiaL_store_owned(hia_emit *e);
/* Gives them up. */
void hiaL_give_up_owned(hia_emit *e, LLVMValueRef block);
/* Builds the code of emit->fn, operation by operation. block: of hiaL_store_owned; NULL: it was not
 * called. */
void hiaL_emit_steps(hia_emit *e, LLVMValueRef block);

/* ---- loop.c ---- */

/* The function of a loop, shared by all of the same terms. The elements are taken from `begin` to
 * `end`, at least one:
 *
 *     void hia_loop(begin, end, operands, results)
 *
 * With rows these are counted:
 *
 *     void hia_loop(begin, end, n_cols, operands, results)
 *
 * Operands come in the order of the terms, gathered ones with the address of the indices behind. */
LLVMValueRef hiaL_loop_for(hia_emit *e, const hia_fused_plan *p);
/* bool hia_below(indices, n, bound): whether all indices are. */
LLVMValueRef hiaL_test_of_indices(hia_emit *e, hia_type dtype);

#endif
