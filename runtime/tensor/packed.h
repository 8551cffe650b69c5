/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Packed forms of the matrices in params' tensors (kernel/product.h), which products make when they
 * need them. They lie right before the tensor, and go with it.
 *
 * A tensor of rank 2 or more is a list of matrices: its last two axes. The packed form of all of
 * them, one after the other, is for products in which they are right operands. That for products
 * with vectors, in which they are left ones, is of all their rows as one matrix, transposed. One
 * matrix of several has, as a left operand, the form that holds each of them by itself. */

#ifndef HIA_PACKED_H
#define HIA_PACKED_H

#include "runtime/heap/tensor.h"

typedef enum hia_packing { HIA_PACK_RIGHT, HIA_PACK_LEFT, HIA_PACK_LEFT_EACH } hia_packing;
enum { HIA_N_PACKINGS = 3, HIA_PACK_RIGHT_USES = 32 /* as a right operand before it is packed */ };

typedef struct hia_packed_form {
  _Atomic uint32_t uses;  /* while it is not packed; the largest number: a thread is at it */
  _Atomic(char *) packed; /* in the block, aligned */
  _Atomic(char *) block;  /* stays when the elements become others; NULL: it was never needed */
  size_t size;            /* of the block, which is the same at all times */
} hia_packed_form;

/* What a tensor of kind HIA_TENSOR_PARAM has right before it: zeros at first, but for the
 * allocator.
 */
typedef struct hia_packed_forms {
  hia_allocator allocator;
  hia_packed_form list[HIA_N_PACKINGS];
} hia_packed_forms;

void hiaR_packed_free(const hia_packed_forms *forms);
/* The bytes of their blocks. */
size_t hiaR_packed_bytes(const hia_packed_forms *forms);
/* The tensor's elements will be others: the forms are made again, in the blocks that they have. A
 * form that is worth its cost from the first uses on is made at the first one, if it was there. */
void hiaR_packed_forget(hia_packed_forms *forms);

/* The packed form of the matrix that begins at `data` and is one of `tensor`, if it is a whole
 * matrix of a param: the tensor is the param's, or a view. LEFT of one matrix of several is
 * LEFT_EACH. NULL: it is none; or the form is not there, and is not worth its cost yet, could not
 * be made, or is being made by another thread. Polls by `must_go_on`, with an estimate of
 * nanoseconds, and returns NULL if that returns false.
 */
const void *hiaR_tensor_packed(hia_tensor *tensor, const char *data, hia_packing packing,
                               bool (*must_go_on)(void *user, uint64_t ns), void *user);

#endif
