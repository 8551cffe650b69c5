/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Results that are kept with the params' state (param/memo.h): those of rows that depend on
 * integers and on params alone. */
#include "runtime/native/batch/rows.h"
#include "runtime/param/param.h"

/* True if the results depend on integers and on params alone, such as a row of a matrix of them. */
static bool is_of_params(const hia_segment *s, const hia_word *words) {
  for (uint32_t i = 0; i < s->n_ins; i++) {
    const hia_segment_word *w = &s->words[i];
    if (!w->rank && (w->dtype == HIA_F32 || w->dtype == HIA_F64)) return false;
    if (!w->rank) continue;
    hia_tensor *t = hiaR_tensor(words[i]);
    if (t->counted.ctor == HIA_TENSOR_VIEW) t = hiaR_tensor(*hiaR_tensor_owner(t));
    if (t->counted.ctor != HIA_TENSOR_PARAM) return false;
  }
  return true;
}

static hia_memo_key key_of(const hia_segment *s, const hia_word *ids) {
  static _Atomic uint64_t n;
  uint64_t known_as = atomic_load_explicit(s->known_as, memory_order_relaxed);
  if (!known_as) {
    uint64_t new = atomic_fetch_add(&n, 1) + 1;
    if (atomic_compare_exchange_strong(s->known_as, &known_as, new)) known_as = new;
  }
  return (hia_memo_key){known_as, ids, s->n_ins};
}

bool hiaR_batch_find_kept(hia_context *context, const hia_segment *s, hia_word *words,
                          const hia_word *ids) {
  const hia_memo *memo = context->params ? hiaR_state_kept(context->params) : NULL;
  if (!memo || !is_of_params(s, words)) return false;
  hia_memo_key key = key_of(s, ids);
  const hia_word *found = hiaR_memo_find(memo, &key);
  if (!found) return false;
  hiaR_batch_drop_operands(context, s, words);
  memcpy(words, found, s->n_outs * sizeof *words);
  return true;
}

/* Keeps the results of row k, which are side by side with those of others. */
static void keep_row(const hia_row_block *b, hia_memo *memo, uint32_t k, const hia_word *all) {
  const hia_segment *s = b->s;
  hia_word ids[HIA_SEGMENT_MOST];
  hia_memo_result results[s->n_outs];
  for (uint32_t i = 0; i < s->n_outs; i++) {
    const hia_segment_word *w = &s->words[s->n_ins + i];
    size_t bytes = (size_t)w->n * hiaR_dtype_size((hia_dtype)w->dtype);
    results[i] = (hia_memo_result){(hia_dtype)w->dtype, w->rank, w->dims,
                                   hiaR_tensor(all[i])->data + k * bytes};
  }
  hiaR_row_identify(s, b->rows[k]->words, ids);
  hia_memo_key key = key_of(s, ids);
  hiaR_memo_keep(memo, &key, results, s->n_outs);
}

void hiaR_batch_keep(const hia_context *context, const hia_row_block *b, const hia_word *all) {
  for (uint32_t k = 0; k < b->n; k++) {
    if (!is_of_params(b->s, b->rows[k]->words)) continue;
    hia_memo *memo = hiaR_state_keep(context->params, context->local.heap->run);
    if (!memo) return;
    keep_row(b, memo, k, all);
  }
}
