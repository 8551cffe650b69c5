/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Data, arrays and tensors for the graphs of fuzz_ir.c: arguments, and whether results are the
 * same. */
#ifndef HIA_FUZZ_IR_VALUES_H
#define HIA_FUZZ_IR_VALUES_H

#include "runtime/base/param.h"
#include "runtime/base/type.h"

typedef struct ir_values {
  const hia_type_table *types;
  uint32_t turn; /* values of a type differ from one use to the next */
  size_t used;
  _Alignas(16) char memory[1 << 16];
} ir_values;

/* Makes the words of n types, no tuples: small values, from outside of a run, which live as long as
 * `v`. False: a value of some type is too large. */
bool ir_values_make(ir_values *v, const hia_type *types, uint32_t n, hia_word *words);
/* Makes the values of params, behind those that ir_values_make has made. False: one is too large.
 */
bool ir_values_make_params(ir_values *v, const hia_param_spec *specs, uint32_t n, hia_word *words);
/* True if the words mean the same values, as far as a bounded comparison finds. */
bool ir_values_same(const hia_type_table *types, const hia_type *of, uint32_t n, const hia_word *a,
                    const hia_word *b);

#endif
