/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The memory that collecting takes: for its stack, and for the result. */
#include "runtime/tensor/collect.h"

bool hiaR_collect_grow(hia_collecting *c) {
  hia_collect_pending *p = &c->pending;
  size_t bytes = p->size * sizeof *p->words;
  hia_word *words = hiaR_heap_alloc(c->env->local, 2 * bytes);
  if (!words) return false;
  memcpy(words, p->words, bytes);
  if (p->words != p->few) hiaR_heap_release(c->env->local, p->words, bytes);
  p->words = words;
  p->size *= 2;
  return true;
}

hia_status hiaR_collect_make_result(hia_collecting *c) {
  return hiaR_result_new(c->env, c->dtype, &c->shape, c->result) ? HIA_OK : HIA_MEMORY;
}

void hiaR_collect_free_turned(hia_collecting *c) {
  if (c->gathered.turned) hiaR_heap_release(c->env->local, c->gathered.turned, c->len * c->element);
  c->gathered.turned = NULL;
}

/* The transposed sum becomes the result. */
static hia_status turn_back(hia_collecting *c) {
  uint64_t n = (uint64_t)c->shape.dims[c->shape.rank - 1];
  hia_status status = hiaR_collect_make_result(c);
  if (status) return status;
  bool is_done =
      hiaR_work_transpose(&c->work, c->element, c->gathered.turned, c->result->data, n, c->len / n);
  hiaR_collect_free_turned(c);
  return is_done ? HIA_OK : HIA_CANCELLED;
}

hia_status hiaR_collect_need_elements(hia_collecting *c) {
  if (c->gathered.turned) return turn_back(c);
  if (hiaR_collect_has_result(c)) return HIA_OK;
  hia_status status = hiaR_collect_make_result(c);
  if (status) return status;
  uint64_t bytes = c->len * c->element;
  bool is_done = c->only
                     ? hiaR_work_copy(&c->work, c->result->data, hiaR_tensor(c->only)->data, bytes)
                     : hiaR_work_clear(&c->work, c->result->data, bytes);
  c->only = 0;
  return is_done ? HIA_OK : HIA_CANCELLED;
}
