/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Where a NaN has appeared: what a TRAP (graph/passes/trap.c) says when it fails. */
#ifndef HIA_NAN_H
#define HIA_NAN_H

#include "runtime/base/shape.h"

enum { HIA_NAN_OPERANDS = 3 };

typedef struct hia_nan_origin {
  uint16_t op; /* whose result is NaN, or has one */
  bool is_in_gradient;
  uint8_t dtype;                     /* of the result, and of its operands */
  uint32_t n_operands;               /* that are known: at most HIA_NAN_OPERANDS */
  hia_word words[HIA_NAN_OPERANDS];  /* of operands that are scalars; of an op on elements: of those
                                        that made the NaN */
  hia_dims shapes[HIA_NAN_OPERANDS]; /* of other operands; rank 0: a scalar */
  hia_dims shape, at; /* of the result, and the index of the first NaN in it; rank 0: a scalar */
} hia_nan_origin;

/* Part of a sentence: " in a gradient: `*` of 0.0 and inf", ": `log` of -1.0, at [1] of f32[3]". */
void hiaR_nan_print(const hia_nan_origin *nan, hia_text *out);

#endif
