/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The types that ops take, and what they give. */
#ifndef HIA_OP_TYPE_H
#define HIA_OP_TYPE_H

#include "graph/ir/types.h"

/* Returns the type of the result of an op that computes, on n operands of these types. `result`:
 * of CAST and ONE_HOT the dtype of the result; else it is not looked at. HIA_NONE: the op does not
 * take such operands. hiaG_op_rank is the rank alone, of scalars and tensors. */
hia_type hiaG_op_type(hia_types *types, unsigned op, uint64_t imm, const hia_type *ins, uint32_t n,
                      hia_dtype result);
uint32_t hiaG_op_rank(const hia_types *types, unsigned op, uint64_t imm, const hia_type *ins,
                      uint32_t n);
/* Returns the type that dtype and rank of operand i are taken from: that of the elements of the
 * array that PACK takes, of the tensor that a sum of COLLECT becomes; else its own. */
hia_type hiaG_ranked_operand(const hia_types *types, unsigned op, uint32_t i, hia_type type);

#endif
