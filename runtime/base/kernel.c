/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* All kernels in one table: for constant folding and for engines that run any program. Linking
 * this file links every kernel; a compiled program that needs known ops only names their tables
 * instead. */
#include "runtime/base/base.h"

#define KERNEL_OWN(number, table) [number] = table,
#define KERNEL_OPERATION(number, table)
#define KERNEL_NONE(number, table)

static const hia_kernel *const tables[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  KERNEL_##KERNEL(number, hiaR_k_##NAME)
#include "runtime/base/ops.def"
};

hia_kernel hiaR_kernel(unsigned op, hia_dtype dtype) {
  if (op >= HIA_OP_LIMIT || !tables[op] || (unsigned)dtype >= HIA_N_DTYPES) return NULL;
  return tables[op][dtype];
}

hia_status hiaR_scalar_eval(unsigned op, hia_dtype dtype, uint64_t imm, const hia_word *in,
                            hia_word *out) {
  hia_kernel kernel = hiaR_kernel(op, dtype);
  if (!kernel) return HIA_INTERNAL;
  static const uint16_t at[3] = {0, 1, 2};
  hia_word slots[4] = {0};
  memcpy(slots, in, (size_t)hiaR_ops[op].n_ins * sizeof *in);
  hia_status status = kernel(slots, at, 3, imm);
  if (!status) *out = slots[3];
  return status;
}
