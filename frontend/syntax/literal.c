/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The value of a number literal, at the dtype of its place. */
#include "frontend/syntax/program.h"

hia_number_state hiaF_number(const hia_program *p, const hia_ast *n, bool negative, hia_dtype dtype,
                             hia_word *word) {
  const char *s = p->source->text + n->start, *end = p->source->text + n->end;
  bool is_float = n->kind == HIA_AST_FLOAT;
  if (is_float && n->a != 0) {
    *word = hiaR_infinite_word(n->a != HIA_AST_INF, negative, dtype);
    return HIA_NUMBER_OK;
  }
  if (n->op != HIA_NO_SUFFIX) end -= 3;
  bool is_hex = !is_float && end - s > 2 && s[0] == '0' && s[1] == 'x';
  return hiaR_read_word(is_hex ? s + 2 : s, end, is_hex, negative, dtype, word);
}
