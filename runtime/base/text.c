/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/base.h"
#include <stdio.h>

void hiaR_text_init(hia_text *text, hia_arena *arena) { *text = (hia_text){.arena = arena}; }

/* Makes room for `more` bytes and a NUL. */
static void reserve(hia_text *text, size_t more) {
  size_t need;
  if (!hiaR_add(text->len, more, &need) || !hiaR_add(need, 1, &need))
    hiaR_throw(text->arena->comp, HIA_MEMORY, "out of memory: text too long");
  if (need <= text->cap) return;
  size_t cap = text->cap ? text->cap : 64;
  while (cap < need) cap = cap > SIZE_MAX / 2 ? need : cap * 2;
  text->data = hiaR_arena_grow(text->arena, text->data, text->cap, cap);
  text->cap = cap;
}

void hiaR_text_add(hia_text *text, const char *bytes, size_t len) {
  reserve(text, len);
  if (len) memcpy(text->data + text->len, bytes, len);
  text->len += len;
  text->data[text->len] = 0;
}

void hiaR_text_vaddf(hia_text *text, const char *fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  size_t room = text->cap - text->len;
  int len = vsnprintf(room ? text->data + text->len : NULL, room, fmt, args);
  if (len < 0) len = 0; /* not possible with the formats used here */
  if ((size_t)len >= room) {
    reserve(text, (size_t)len);
    vsnprintf(text->data + text->len, (size_t)len + 1, fmt, again);
  }
  text->len += (size_t)len;
  va_end(again);
}

void hiaR_text_addf(hia_text *text, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  hiaR_text_vaddf(text, fmt, args);
  va_end(args);
}

size_t hiaR_find_invalid_utf8(const char *text, size_t n) {
  const unsigned char *s = (const unsigned char *)text;
  size_t i = 0;
  while (i < n) {
    unsigned char c = s[i];
    uint64_t eight;
    if (n - i >= sizeof eight) {
      memcpy(&eight, s + i, sizeof eight);
      if (!(eight & 0x8080808080808080u)) {
        i += sizeof eight;
        continue;
      }
    }
    if (c < 0x80) {
      i++;
      continue;
    }
    size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    if (c < 0xc2 || c > 0xf4 || len > n - i) return i;
    unsigned char low = 0x80, high = 0xbf;
    if (c == 0xe0) low = 0xa0;
    if (c == 0xed) high = 0x9f;
    if (c == 0xf0) low = 0x90;
    if (c == 0xf4) high = 0x8f;
    if (s[i + 1] < low || s[i + 1] > high) return i;
    for (size_t k = 2; k < len; k++)
      if ((s[i + k] & 0xc0) != 0x80) return i;
    i += len;
  }
  return n;
}
