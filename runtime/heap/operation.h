/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations: kernels that need more than the words of some slots. They make objects, take any
 * number of operands, and say more of a failure than its status. The row of an op whose kernel is
 * one says OPERATION (base/ops.def). */
#ifndef HIA_OPERATION_H
#define HIA_OPERATION_H

#include "runtime/base/nan.h"
#include "runtime/base/shape.h"
#include "runtime/heap/array.h"

/* Part i of an operation, which any worker may compute, at the same time as others; `local` is that
 * worker's. The end of the run may depend on it: HIA_CANCELLED, as from an operation; or
 * HIA_MEMORY. */
typedef hia_status hia_crew_part(hia_local_heap *local, void *arg, uint32_t i);

/* Workers that may compute parts of an operation. */
typedef struct hia_crew {
  uint32_t n;     /* how many that would be, with the one that computes the operation: 2 or more */
  uint64_t least; /* scalar operations that are worth it */
  /* Computes parts 0 .. n - 1, each once and in any order. Returns when all are done; not HIA_OK:
   * with that status the operation must end at once. */
  hia_status (*compute)(const struct hia_crew *crew, uint32_t n, hia_crew_part *part, void *arg);
} hia_crew;

/* What an operation may use: of the worker that computes it. */
typedef struct hia_env {
  hia_local_heap *local;
  const hia_shapes *shapes;
  const hia_word *params; /* the values of the program's params that the run sees; NULL: none */
  bool is_shared;         /* the run has several workers */
  const hia_crew *crew;   /* NULL: the worker computes it alone */
} hia_env;

/* What is the same whenever a node fires. */
typedef struct hia_operation {
  uint32_t n_in; /* operands: words */
  uint64_t imm;  /* of the node */
  /* These belong to an op on arrays. */
  uint32_t base;                       /* of the type of the result */
  const hia_shape *shape;              /* of the array that is made */
  const hia_layout_word *layout_words; /* of its element's words: n_words */
  uint32_t n_words;
  /* These belong to an op on tensors. */
  uint64_t tensors; /* bit i: operand i is a tensor, and else a scalar. Bit 63 stands for all
                       operands from 63 on */
  uint64_t takes;   /* bit i: the operation gets the reference of operand i; likewise */
  uint8_t dtype;    /* at which the op is; of a lifted one that of the result */
  /* These belong to an op on scalars that is lifted. */
  uint8_t at; /* the dtype at which it is */
  uint16_t op;
  const hia_kernel *kernels; /* its table, by dtype */
} hia_operation;

/* False: an operand that should be a tensor is none. Only an image that was tampered with has such
 * nodes (HIA_IMAGE_TAKEN). */
static inline bool hiaR_has_tensors(const hia_operation *o, const hia_word *in) {
  if (!o->tensors) return true;
  bool has = true;
  for (uint32_t i = 0; i < o->n_in; i++)
    has &= !(o->tensors >> (i < 63 ? i : 63) & 1) || in[i] >= HIA_FIRST_ADDRESS;
  return has;
}

/* What there is to say of a failure besides its status. */
typedef struct hia_misfortune {
  hia_range range;    /* RANGE */
  bool is_slice;      /* RANGE: a slice was asked for */
  hia_range_of of;    /* RANGE: of what */
  hia_misfit misfit;  /* SHAPE */
  hia_nan_origin nan; /* NAN_MADE */
  uint64_t fuel_left; /* FUEL */
} hia_misfortune;

/* Computes the operation: *out becomes the word of the result; a reference is the caller's. Of the
 * operands it gets the references that it *keeps*, as said at each, or *takes*; they are gone,
 * whatever it returns. All others are lent. Returns HIA_OK; HIA_MEMORY; with *why HIA_RANGE and
 * HIA_SHAPE, HIA_FUEL, HIA_NAN_MADE; HIA_EMPTY; what the op on scalars returns; or HIA_CANCELLED:
 * the run must end, for a reason that the caller knows (hia_heap.must_end). *out is then unchanged.
 * Threads may compute operations at the same time, in environments of their own. */
typedef hia_status (*hia_operate)(const hia_env *env, const hia_operation *o, const hia_word *in,
                                  hia_word *out, hia_misfortune *why);

#define HIA_OPERATION(name)                                                                        \
  hia_status hiaR_e_##name(const hia_env *env, const hia_operation *o, const hia_word *in,         \
                           hia_word *out, hia_misfortune *why)
#define HIA_KERNEL_OWN(NAME)
#define HIA_KERNEL_NONE(NAME)
#define HIA_KERNEL_OPERATION(NAME) HIA_OPERATION(NAME);
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  HIA_KERNEL_##KERNEL(NAME)
#include "runtime/base/ops.def"
#undef HIA_KERNEL_OWN
#undef HIA_KERNEL_NONE
#undef HIA_KERNEL_OPERATION

#endif
