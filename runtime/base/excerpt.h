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

/* ---- columns.c ---- */

/* What is shown in one place: a character with the marks and joined characters that are drawn onto
 * it; or an escape, of a byte that is not of UTF-8, or of a character that would not be seen. */
typedef struct hia_cluster {
  size_t len; /* bytes, at least 1 */
  uint32_t columns;
  char escape[12]; /* what is shown instead; or "" */
} hia_cluster;
/* The cluster at the beginning of a text of n bytes, n at least 1. */
hia_cluster hiaR_cluster(const char *text, size_t n);

#endif
