/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The facts of each op, from ops.def. No kernels here: a linked program takes only those it uses.
 */
#include "runtime/base/base.h"

/* A number used twice is caught here: initialising an element again is an error in our builds. */
const hia_op_info hiaR_ops[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, ins, outs, RULE, traits, cost, KERNEL, EMIT, doc)               \
  [number] = {name, ins, outs, HIA_RULE_##RULE, cost, traits, doc},
#include "runtime/base/ops.def"
};

unsigned hiaR_op_by_name(const char *name, size_t len) {
  if (len == 0) return HIA_OP_LIMIT;
  for (unsigned op = 0; op < HIA_OP_LIMIT; op++) {
    const char *other = hiaR_ops[op].name;
    if (other && other[0] == name[0] && strncmp(other, name, len) == 0 && !other[len]) return op;
  }
  return HIA_OP_LIMIT;
}
