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
