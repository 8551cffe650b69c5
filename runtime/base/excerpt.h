/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines of a source with more than one place underlined. (hiaR_excerpt, for one place, is in
 * base.h.) */
#ifndef HIA_EXCERPT_H
#define HIA_EXCERPT_H

#include "runtime/base/base.h"

/* Bytes of a text: `len` of a line, from a column on, both counted from 1. */
typedef struct hia_stretch {
  uint32_t line, col, len;
  const char *label; /* what is written below it; or NULL */
} hia_stretch;

/* Adds the line of `at` and a line with a caret below its first byte; then the lines of the other
 * stretches that are on other lines. All are underlined. Long lines are cut. */
void hiaR_excerpt_all(const char *text, size_t text_len, const hia_stretch *at,
                      const hia_stretch *others, uint32_t n, hia_text *out);

#endif
