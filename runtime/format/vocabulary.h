/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Vocabularies: words, numbered, in a hash table.
 *
 * Most words have 8 bytes or fewer. Such a word is its own *key*: it is found by comparing one
 * number, and no other memory than its slot is read. The key of a longer word is a hash. */
#ifndef HIA_RT_VALUE_WORDS_H
#define HIA_RT_VALUE_WORDS_H

#include "runtime/value/stack.h"

enum { HIA_MAX_SHORT_WORD = 8 };

typedef struct hia_word_slot {
  uint64_t key;
  uint32_t index; /* from 1; 0: empty */
  uint32_t len;
} hia_word_slot;
typedef struct hia_word_text {
  size_t at;
  uint32_t len;
} hia_word_text;

struct hia_vocab {
  hia_allocator allocator;
  hia_block text, spans, slots; /* bytes; hia_word_text; hia_word_slot */
  size_t n_text;
  uint32_t n, mask;
};

/* The next 8 bytes, the first one lowest. */
static inline uint64_t hiaR_load_8(const char *s) {
  uint64_t x;
  memcpy(&x, s, sizeof x);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  x = __builtin_bswap64(x);
#endif
  return x;
}

/* The key of the word s[0 .. n). Behind it the text goes on at least up to `end`. */
static inline uint64_t hiaR_word_key(const char *s, size_t n, const char *end) {
  if (n > HIA_MAX_SHORT_WORD) {
    uint64_t h = n;
    for (size_t i = 0; i < n; i += 8) { /* the last 8 bytes may overlap those before */
      h = (h ^ hiaR_load_8(s + (i + 8 <= n ? i : n - 8))) * HIA_MIX;
      h ^= h >> 32;
    }
    return h;
  }
  if (n == 0) return 0;
  if (end - s >= 8) return hiaR_load_8(s) & UINT64_MAX >> (64 - 8 * n);
  uint64_t key = 0;
  for (size_t i = n; i-- > 0;) key = key << 8 | (unsigned char)s[i];
  return key;
}

/* Where the search begins. All bits of the key reach the low bits. */
static inline uint32_t hiaR_word_home(uint64_t key) {
  key *= HIA_MIX;
  return (uint32_t)((key ^ key >> 32) * HIA_MIX >> 32);
}

/* The number of the word, or HIA_NONE; *at becomes its slot, or the one that it would have. */
static inline uint32_t hiaR_word_find(const hia_vocab *w, const char *s, size_t n, uint64_t key,
                                      uint32_t *at) {
  const hia_word_slot *slots = w->slots.data;
  for (*at = hiaR_word_home(key) & w->mask; slots[*at].index; *at = (*at + 1) & w->mask) {
    const hia_word_slot *slot = &slots[*at];
    if (slot->key != key || slot->len != n) continue;
    if (n <= HIA_MAX_SHORT_WORD) return slot->index - 1;
    const hia_word_text *span = (const hia_word_text *)w->spans.data + (slot->index - 1);
    if (memcmp((const char *)w->text.data + span->at, s, n) == 0) return slot->index - 1;
  }
  return HIA_NONE;
}

/* ---- vocabulary.c ---- */

/* Adds a word that hiaR_word_find did not find. HIA_NONE: no memory. */
uint32_t hiaR_word_insert(hia_vocab *words, const char *s, size_t n, uint64_t key, uint32_t at);

#endif
