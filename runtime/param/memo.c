/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A table of lists that only grow: a list begins with the entry that came last. */
#include "runtime/param/memo.h"

enum { LISTS = 1 << 13 };

/* What is kept of one key, in one block: the words of the operands and of the results, then the
 * tensors. */
typedef struct entry {
  struct entry *next;
  size_t size; /* of the block */
  uint64_t function;
  uint32_t n; /* operands */
  hia_word words[];
} entry;

struct hia_memo {
  hia_allocator allocator;
  _Atomic size_t bytes;
  _Atomic(entry *) lists[LISTS];
};

hia_memo *hiaR_memo_new(const hia_allocator *allocator) {
  hia_memo *memo = hiaR_alloc(allocator, sizeof *memo);
  if (!memo) return NULL;
  memo->allocator = *allocator;
  atomic_init(&memo->bytes, sizeof *memo);
  for (uint32_t i = 0; i < LISTS; i++) atomic_init(&memo->lists[i], NULL);
  return memo;
}

void hiaR_memo_free(hia_memo *memo) {
  if (!memo) return;
  const hia_allocator allocator = memo->allocator;
  for (uint32_t i = 0; i < LISTS; i++)
    for (entry *e = atomic_load_explicit(&memo->lists[i], memory_order_relaxed), *next; e;
         e = next) {
      next = e->next;
      hiaR_free(&allocator, e, e->size);
    }
  hiaR_free(&allocator, memo, sizeof *memo);
}

size_t hiaR_memo_bytes(const hia_memo *memo) {
  return atomic_load_explicit(&memo->bytes, memory_order_relaxed);
}

static uint32_t list_of(const hia_memo_key *key) {
  uint64_t hash = key->function;
  for (uint32_t i = 0; i < key->n; i++) hash = hiaR_mix(hash, key->words[i]);
  return (uint32_t)hash % LISTS;
}

static const entry *find(const entry *e, const hia_memo_key *key) {
  size_t size = key->n * sizeof(hia_word);
  while (e && (e->function != key->function || e->n != key->n ||
               memcmp(e->words, key->words, size) != 0))
    e = e->next;
  return e;
}

const hia_word *hiaR_memo_find(const hia_memo *memo, const hia_memo_key *key) {
  const entry *e =
      find(atomic_load_explicit(&memo->lists[list_of(key)], memory_order_acquire), key);
  return e ? e->words + e->n : NULL;
}

static size_t bytes_of(const hia_memo_result *r) {
  size_t n = hiaR_dtype_size(r->dtype);
  for (uint32_t i = 0; i < r->rank; i++) n *= (size_t)r->dims[i];
  return n;
}

/* At `at`; returns where it ends. */
static char *copy(const hia_memo_result *r, char *at, hia_word *word) {
  size_t bytes = bytes_of(r);
  hia_tensor *t = (hia_tensor *)(void *)at;
  atomic_init(&t->counted.count, HIA_STICKY);
  t->counted.ctor = HIA_TENSOR_LITERAL;
  t->counted.spare = hiaR_tensor_spare(r->dtype, r->rank);
  memcpy(t->dims, r->dims, r->rank * sizeof *t->dims);
  t->data = hiaR_tensor_first_element(t, bytes);
  memcpy(t->data, r->elements, bytes);
  *word = (hia_word)(uintptr_t)t;
  return at + hiaR_tensor_size(r->rank, bytes);
}

static entry *new_entry(hia_memo *memo, const hia_memo_key *key, const hia_memo_result *results,
                        uint32_t n) {
  size_t head = sizeof(entry) + ((size_t)key->n + n) * sizeof(hia_word), size = head;
  for (uint32_t i = 0; i < n; i++) size += hiaR_tensor_size(results[i].rank, bytes_of(&results[i]));
  if (atomic_fetch_add_explicit(&memo->bytes, size, memory_order_relaxed) + size > HIA_MEMO_MOST)
    goto no_room;
  entry *e = hiaR_alloc(&memo->allocator, size);
  if (!e) goto no_room;
  e->size = size;
  e->function = key->function;
  e->n = key->n;
  memcpy(e->words, key->words, key->n * sizeof(hia_word));
  char *at = (char *)e + head;
  for (uint32_t i = 0; i < n; i++) at = copy(&results[i], at, &e->words[key->n + i]);
  return e;
no_room:
  atomic_fetch_sub_explicit(&memo->bytes, size, memory_order_relaxed);
  return NULL;
}

static void discard(hia_memo *memo, entry *e) {
  atomic_fetch_sub_explicit(&memo->bytes, e->size, memory_order_relaxed);
  hiaR_free(&memo->allocator, e, e->size);
}

void hiaR_memo_keep(hia_memo *memo, const hia_memo_key *key, const hia_memo_result *results,
                    uint32_t n) {
  _Atomic(entry *) *list = &memo->lists[list_of(key)];
  entry *first = atomic_load_explicit(list, memory_order_acquire);
  if (find(first, key)) return;
  entry *e = new_entry(memo, key, results, n);
  if (!e) return;
  do {
    e->next = first;
    if (atomic_compare_exchange_weak_explicit(list, &first, e, memory_order_release,
                                              memory_order_acquire))
      return;
  } while (!find(first, key));
  discard(memo, e); /* another thread was faster */
}
