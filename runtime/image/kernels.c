/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What computes each op: for engines that run any image. Linking this file links all of it; a
 * program lists what its image needs. */
#include "runtime/tensor/kernels.h"
#include "runtime/image/image.h"

#define ROW_OWN(number, NAME)       [number] = {number, 0, hiaR_k_##NAME, hiaR_e_LIFT},
#define ROW_OPERATION(number, NAME) [number] = {number, 0, NULL, hiaR_e_##NAME},
#define ROW_NONE(number, NAME)
static const hia_given_kernel all[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  ROW_##KERNEL(number, NAME)
#include "runtime/base/ops.def"
};

bool hiaR_any_kernel(unsigned op, hia_given_kernel *kernel) {
  if (op >= HIA_OP_LIMIT || (!all[op].by_dtype && !all[op].operate)) return false;
  *kernel = all[op];
  return true;
}
