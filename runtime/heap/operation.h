/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations: kernels that need more than the words of some slots. They make objects, take any
 * number of operands, and say more of a failure than its status. The row of an op whose kernel is
 * one says OPERATION (base/ops.def). */
#ifndef HIA_OPERATION_H
#define HIA_OPERATION_H

#include "runtime/heap/array.h"
#include "runtime/runtime.h"

/* What an operation may use: of the worker that computes it. */
typedef struct hia_env {
  hia_local_heap *local;
  const hia_shapes *shapes;
  bool is_shared; /* the run has several workers */
} hia_env;

/* What is the same whenever a node fires. */
typedef struct hia_operation {
  uint32_t n_in;                /* operands: words */
  uint32_t base;                /* of the type of the result */
  const hia_shape *shape;       /* of the array that is made */
  const hia_word_place *places; /* of its element's words: n_words */
  uint32_t n_words;
} hia_operation;

/* What there is to say of a failure besides its status. */
typedef struct hia_misfortune {
  hia_range range; /* RANGE */
  bool is_slice;   /* RANGE: a slice was asked for */
} hia_misfortune;

/* Computes the operation: *out becomes the word of the result, a reference of the caller's. Of the
 * operands it gets the references that it *keeps*, as said at each; they are gone, whatever it
 * returns. All others are lent. Returns HIA_OK; HIA_MEMORY; or, with *why, HIA_RANGE. *out is then
 * unchanged. Threads may compute operations at the same time, in environments of their own. */
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
