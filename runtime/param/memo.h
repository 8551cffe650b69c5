/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Results that are kept with a state of params (param.h): of segments (native/batch/batch.h) that
 * depend on integers and on params alone, such as what a network makes of a word. Whoever computes
 * the same again while the state lives finds them here. These are the memo functions of Michie
 * ("Memo Functions and Machine Learning", Nature 218, 1968).
 *
 * Any threads may look for results and keep some at the same time. */
#ifndef HIA_MEMO_H
#define HIA_MEMO_H

#include "runtime/heap/tensor.h"

typedef struct hia_memo hia_memo;

/* The key of results: the segment and the identities of its operands. */
typedef struct hia_memo_key {
  uint64_t function;
  const hia_word *words; /* operands, in canonical form */
  uint32_t n;
} hia_memo_key;

/* A result that is a tensor: its shape, and where its elements are. */
typedef struct hia_memo_result {
  hia_dtype dtype;
  uint32_t rank; /* 1 or more */
  const int64_t *dims;
  const char *elements;
} hia_memo_result;

enum { HIA_MEMO_MOST = 32 << 20 }; /* bytes that are kept, about */

/* NULL: no memory. */
hia_memo *hiaR_memo_new(const hia_allocator *allocator);
/* Nobody uses its tensors any more. NULL: does nothing. */
void hiaR_memo_free(hia_memo *memo);
size_t hiaR_memo_bytes(const hia_memo *memo);

/* The results, tensors as those of literals: sticky, and there as long as the memo. NULL: none are
 * kept. */
const hia_word *hiaR_memo_find(const hia_memo *memo, const hia_memo_key *key);
/* Keeps copies of n results, if there is memory, and room. */
void hiaR_memo_keep(hia_memo *memo, const hia_memo_key *key, const hia_memo_result *results,
                    uint32_t n);

#endif
