/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Where a NaN has appeared, as text. A file of its own, since every program that can fail links it.
 */
#include "runtime/base/nan.h"

static void print_op(const hia_nan_origin *nan, hia_text *out) {
  const hia_op_info *op = &hiaR_ops[nan->op];
  if (nan->op == HIA_OP_HOST)
    hiaR_text_addf(out, "a function of the host returned it");
  else
    hiaR_text_addf(out, "`%s`", op->symbol[0] ? op->symbol : op->name);
}

static void print_type(const hia_nan_origin *nan, const hia_dims *shape, hia_text *out) {
  char text[32 * HIA_MAX_RANK];
  hiaR_shape_describe((hia_dtype)nan->dtype, shape, text, sizeof text);
  hiaR_text_addf(out, "%s", text);
}

static void print_operand(const hia_nan_origin *nan, uint32_t i, hia_text *out) {
  char text[64];
  if (nan->shapes[i].rank) {
    print_type(nan, &nan->shapes[i], out);
    return;
  }
  hiaR_print_word(text, sizeof text, (hia_dtype)nan->dtype, nan->words[i]);
  hiaR_text_addf(out, "%s", text);
}

void hiaR_nan_print(const hia_nan_origin *nan, hia_text *out) {
  hiaR_text_addf(out, nan->is_in_gradient ? " in a gradient: " : ": ");
  print_op(nan, out);
  for (uint32_t i = 0; i < nan->n_operands; i++) {
    hiaR_text_addf(out, "%s", i == 0 ? " of " : i + 1 < nan->n_operands ? ", " : " and ");
    print_operand(nan, i, out);
  }
  if (!nan->at.rank) return;
  hiaR_text_addf(out, ", at ");
  hiaR_shape_print(&nan->at, NULL, out);
  hiaR_text_addf(out, " of ");
  print_type(nan, &nan->shape, out);
}
