/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The rows that a sum touches. */
#include "runtime/tensor/collect.h"

static bool touch(hia_collecting *c, int64_t i) {
  if (i < 0 || i >= c->own_rows) return false;
  c->touched[i / 64] |= (uint64_t)1 << i % 64;
  return true;
}

static hia_status touch_visited(hia_collecting *c, hia_word sum, bool *are_all) {
  if (!hiaR_sum_is_sound(sum)) return HIA_INTERNAL;
  switch ((hia_sum_ctor)hiaR_object(sum)->ctor) {
  case HIA_SUM_BOTH: return hiaR_collect_visit_both(c, sum, HIA_SUM_FIRST);
  case HIA_SUM_ROW: {
    int64_t i =
        hiaR_to_i64(hiaR_sum_word(sum, c->shape.rank == 1 ? HIA_SUM_FIRST : HIA_SUM_SECOND));
    return touch(c, i) ? HIA_OK : hiaR_collect_wrong_rows(c, i, 1);
  }
  case HIA_SUM_ROWS: {
    const hia_tensor *index = hiaR_sum_tensor(sum, HIA_SUM_FIRST);
    for (uint64_t k = 0, n = hiaR_tensor_len(index); k < n; k++) {
      int64_t i = hiaR_to_i64(hiaR_tensor_get(index, k));
      if (!hiaR_work_on(&c->work, 2)) return HIA_CANCELLED;
      if (!touch(c, i)) return hiaR_collect_wrong_rows(c, i, 1);
    }
    return HIA_OK;
  }
  default: *are_all = true; return HIA_OK;
  }
}

static hia_status touch_all(hia_collecting *c, hia_word sum, bool *are_all) {
  hia_status status = HIA_OK;
  if (sum >= HIA_FIRST_ADDRESS && !hiaR_collect_push(c, sum)) return HIA_MEMORY;
  while (!status && !*are_all && c->pending.n) {
    if (!hiaR_work_on(&c->work, 10)) return HIA_CANCELLED;
    status = touch_visited(c, c->pending.words[--c->pending.n], are_all);
  }
  return status;
}

/* The numbers of the rows that have a bit, or of all. */
static hia_status list_touched(hia_collecting *c, bool are_all) {
  uint64_t n = are_all ? (uint64_t)c->own_rows : 0, n_words = ((uint64_t)c->own_rows + 63) / 64;
  for (uint64_t w = 0; w < n_words && !are_all; w++)
    n += (uint64_t)__builtin_popcountll(c->touched[w]);
  hia_dims dims = {.rank = 1, .dims = {(int64_t)n}};
  if (!hiaR_result_new(c->env, HIA_I64, &dims, c->result)) return HIA_MEMORY;
  int64_t *to = (int64_t *)(void *)c->result->data;
  for (uint64_t i = 0; i < n && are_all; i++) to[i] = (int64_t)i;
  for (uint64_t w = 0; w < n_words && !are_all; w++)
    for (uint64_t bits = c->touched[w]; bits; bits &= bits - 1)
      *to++ = (int64_t)(64 * w + (uint64_t)__builtin_ctzll(bits));
  return hiaR_work_on(&c->work, n + n_words) ? HIA_OK : HIA_CANCELLED;
}

hia_status hiaR_collect_touched(hia_collecting *c, hia_word sum) {
  bool are_all = false;
  hia_status status = touch_all(c, sum, &are_all);
  return status ? status : list_touched(c, are_all);
}
