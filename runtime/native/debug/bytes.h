/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Numbers as bytes, little-endian and in DWARF's forms, behind a text. */
#ifndef HIA_BYTES_H
#define HIA_BYTES_H

#include "runtime/base/base.h"

/* In n bytes, at most 16. */
static inline void hiaR_put(hia_text *to, uint64_t number, unsigned n) {
  char bytes[16];
  for (unsigned i = 0; i < n; i++) bytes[i] = i < 8 ? (char)(number >> (8 * i) & 0xff) : 0;
  hiaR_text_add(to, bytes, n);
}

static inline void hiaR_put_uleb(hia_text *to, uint64_t number) {
  do {
    uint64_t rest = number >> 7;
    hiaR_put(to, (number & 0x7f) | (rest ? 0x80 : 0), 1);
    number = rest;
  } while (number);
}

static inline void hiaR_put_sleb(hia_text *to, int64_t number) {
  for (bool is_last = false; !is_last;) {
    int64_t rest = (number - (number & 0x7f)) / 128, low = number & 0x7f;
    is_last = (rest == 0 && !(low & 0x40)) || (rest == -1 && low & 0x40);
    hiaR_put(to, (uint64_t)low | (is_last ? 0 : 0x80), 1);
    number = rest;
  }
}

/* With the NUL. */
static inline void hiaR_put_string(hia_text *to, const char *s) {
  hiaR_text_add(to, s, strlen(s) + 1);
}

/* Replaces four bytes. */
static inline void hiaR_put_at(hia_text *to, size_t at, uint64_t number) {
  uint32_t word = hiaR_u32(number);
  memcpy(to->data + at, &word, sizeof word);
}

/* Adds bytes up to a multiple of `align` behind `from`. */
static inline void hiaR_put_padding(hia_text *to, size_t from, size_t align) {
  while ((to->len - from) % align) hiaR_put(to, 0, 1);
}

#endif
