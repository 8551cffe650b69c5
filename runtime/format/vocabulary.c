/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/format/vocabulary.h"

enum { FIRST_SLOTS = 64 };

hia_vocab *hiaR_vocab_new(const hia_allocator *allocator) {
  hia_vocab *w = hiaR_alloc(allocator, sizeof *w);
  if (!w) return NULL;
  w->allocator = *allocator;
  if (!hiaR_block_grow(&w->slots, allocator, FIRST_SLOTS * sizeof(hia_word_slot))) {
    hiaR_vocab_free(w);
    return NULL;
  }
  memset(w->slots.data, 0, FIRST_SLOTS * sizeof(hia_word_slot));
  w->mask = FIRST_SLOTS - 1;
  return w;
}

void hiaR_vocab_free(hia_vocab *w) {
  if (!w) return;
  hia_allocator allocator = w->allocator;
  hiaR_block_free(&w->text, &allocator);
  hiaR_block_free(&w->spans, &allocator);
  hiaR_block_free(&w->slots, &allocator);
  hiaR_free(&allocator, w, sizeof *w);
}

uint32_t hiaR_vocab_find(const hia_vocab *w, const char *s, size_t n) {
  uint32_t at;
  return hiaR_word_find(w, s, n, hiaR_word_key(s, n, s + n), &at);
}

static bool rehash(hia_vocab *w) {
  hia_block old = w->slots;
  uint32_t n = w->mask + 1;
  if (n > UINT32_MAX / 4) return false;
  w->slots = (hia_block){NULL, 0};
  if (!hiaR_block_grow(&w->slots, &w->allocator, 2 * (size_t)n * sizeof(hia_word_slot))) {
    w->slots = old;
    return false;
  }
  hia_word_slot *slots = w->slots.data;
  const hia_word_slot *from = old.data;
  memset(slots, 0, 2 * (size_t)n * sizeof *slots);
  w->mask = 2 * n - 1;
  for (uint32_t i = 0; i < n; i++) {
    if (!from[i].index) continue;
    uint32_t at = hiaR_word_home(from[i].key) & w->mask;
    while (slots[at].index) at = (at + 1) & w->mask;
    slots[at] = from[i];
  }
  hiaR_block_free(&old, &w->allocator);
  return true;
}

uint32_t hiaR_word_insert(hia_vocab *w, const char *s, size_t n, uint64_t key, uint32_t at) {
  size_t size;
  if (n > UINT32_MAX || !hiaR_add(w->n_text, n, &size) ||
      !hiaR_block_grow(&w->text, &w->allocator, size + 1) ||
      !hiaR_block_grow(&w->spans, &w->allocator, ((size_t)w->n + 1) * sizeof(hia_word_text)))
    return HIA_NONE;
  if (w->n >= w->mask / 2) {
    if (!rehash(w)) return HIA_NONE;
    hiaR_word_find(w, s, n, key, &at);
  }
  memcpy((char *)w->text.data + w->n_text, s, n);
  ((hia_word_text *)w->spans.data)[w->n] = (hia_word_text){w->n_text, (uint32_t)n};
  w->n_text = size;
  ((hia_word_slot *)w->slots.data)[at] = (hia_word_slot){key, ++w->n, (uint32_t)n};
  return w->n - 1;
}

uint32_t hiaR_vocab_add(hia_vocab *w, const char *s, size_t n) {
  uint64_t key = hiaR_word_key(s, n, s + n);
  uint32_t at, index = hiaR_word_find(w, s, n, key, &at);
  return index != HIA_NONE ? index : hiaR_word_insert(w, s, n, key, at);
}

const hia_allocator *hiaR_vocab_allocator(const hia_vocab *w) { return &w->allocator; }

uint32_t hiaR_vocab_len(const hia_vocab *w) { return w->n; }

const char *hiaR_vocab_get(const hia_vocab *w, uint32_t i, size_t *n) {
  const hia_word_text *span = (const hia_word_text *)w->spans.data + i;
  *n = span->len;
  return (const char *)w->text.data + span->at;
}
