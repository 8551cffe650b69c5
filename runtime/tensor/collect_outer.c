/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Outer products, which are gathered before their sum is added. */
#include "runtime/tensor/collect.h"

/* Rows that are a multiple of 4 KiB apart would share a set of the first cache. */
static uint64_t row_stride(uint64_t n, uint32_t element) {
  enum { LINE = 64, PAGE = 4096 };
  uint64_t bytes = (n * element + LINE - 1) / LINE * LINE;
  if (bytes % (PAGE / 4) == 0) bytes += LINE;
  return bytes / element;
}

void hiaR_collect_free_room(hia_collecting *c) {
  hia_collect_gathered *g = &c->gathered;
  if (g->block) hiaR_heap_release(c->env->local, g->block, g->size);
  *g = (hia_collect_gathered){0};
}

/* Room for vectors of the lengths m and n. */
static bool make_room(hia_collecting *c, uint64_t m, uint64_t n) {
  enum { ALIGN = 64, MOST = 240, LARGE = 1 << 20 };
  hia_collect_gathered *g = &c->gathered;
  uint64_t a_row = row_stride(m, c->element), b_row = row_stride(n, c->element);
  uint64_t each = (a_row + b_row) * c->element, eighth = c->len * c->element / 8;
  uint64_t most = (eighth > LARGE ? eighth : LARGE) / each;
  if (g->block && g->a_row == a_row && g->b_row == b_row) {
    g->m = m, g->n = n;
    return true;
  }
  hiaR_collect_free_room(c);
  if (most > MOST) most = MOST;
  if (most < 1) most = 1;
  g->size = most * each + ALIGN;
  g->block = hiaR_heap_alloc(c->env->local, g->size);
  if (!g->block) return false;
  g->a = g->block + (-(uintptr_t)g->block & (ALIGN - 1));
  g->b = g->a + most * a_row * c->element;
  g->m = m, g->n = n;
  g->a_row = a_row, g->b_row = b_row;
  g->most = most;
  return true;
}

hia_status hiaR_collect_add_product(hia_collecting *c, uint64_t at, hia_product *p) {
  bool is_first = !hiaR_collect_has_result(c) && !c->only && at == 0 && p->m * p->n == c->len;
  hia_status status = is_first ? hiaR_collect_make_result(c) : hiaR_collect_need_elements(c);
  if (status) return status;
  p->dtype = c->dtype;
  p->is_added = !is_first;
  p->c = hiaR_collect_element(c, at);
  p->c_row = (ptrdiff_t)p->n;
  return hiaR_work_multiply(c->env, p, &c->work);
}

hia_status hiaR_collect_add_gathered(hia_collecting *c) {
  hia_collect_gathered *g = &c->gathered;
  if (!g->k) return HIA_OK;
  hia_product p = {.m = g->m,
                   .n = g->n,
                   .k = g->k,
                   .a = {g->a, 1, (ptrdiff_t)g->a_row},
                   .b = {g->b, (ptrdiff_t)g->b_row, 1}};
  g->k = 0;
  return hiaR_collect_add_product(c, g->at, &p);
}

hia_status hiaR_collect_gather(hia_collecting *c, const char *a, uint64_t m, const char *b,
                               uint64_t n) {
  hia_collect_gathered *g = &c->gathered;
  bool is_other = g->m != m || g->n != n || g->at != c->window.at;
  if (g->k && (is_other || g->k == g->most)) {
    hia_status status = hiaR_collect_add_gathered(c);
    if (status) return status;
  }
  if (is_other && !make_room(c, m, n)) return HIA_MEMORY;
  g->at = c->window.at;
  char *to_a = g->a + g->k * g->a_row * c->element, *to_b = g->b + g->k * g->b_row * c->element;
  g->k++;
  bool is_done = hiaR_work_copy(&c->work, to_a, a, m * c->element) &&
                 hiaR_work_copy(&c->work, to_b, b, n * c->element);
  return is_done ? HIA_OK : HIA_CANCELLED;
}
