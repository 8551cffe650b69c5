/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Outer products, which are noted before their sum is added. */
#include "runtime/tensor/collect.h"

/* How many are added at a time: so many that their vectors stay in the second cache, about, while
 * the product reads them again and again, but more where the result itself is much larger. */
static uint64_t most_of(const hia_collecting *c, uint64_t m, uint64_t n) {
  enum { CACHED = 1 << 20, PART = 8 };
  uint64_t each = (m + n) * c->element, part = c->len * c->element / PART;
  uint64_t most = (part > CACHED ? part : CACHED) / each;
  return most > HIA_COLLECT_OUTERS ? HIA_COLLECT_OUTERS : most ? most : 1;
}

hia_status hiaR_collect_add_product(hia_collecting *c, uint64_t at, hia_product *p) {
  bool is_first = hiaR_collect_is_empty(c) && at == 0 && p->m * p->n == c->len;
  hia_status status = is_first ? hiaR_collect_make_result(c) : hiaR_collect_need_elements(c);
  if (status) return status;
  p->dtype = c->dtype;
  p->is_added = !is_first;
  p->c = hiaR_collect_element(c, at);
  p->c_row = (ptrdiff_t)p->n;
  return hiaR_work_multiply(c->env, p, &c->work);
}

/* True if the transposed sum is to be computed, or goes on: where that fills vectors better, as of
 * a matrix with 1250 rows of 50 columns, and there are so many outer products that some have to be
 * added before the rest. */
static bool can_turn(hia_collecting *c) {
  hia_collect_gathered *g = &c->gathered;
  bool is_all = g->at == 0 && g->m * g->n == c->len;
  if (!is_all || g->turned) return is_all;
  if (!hiaR_collect_is_empty(c) || g->k < g->most ||
      !hiaR_product_is_better_turned(c->dtype, g->m, g->n))
    return false;
  g->turned = hiaR_heap_alloc(c->env->local, c->len * c->element);
  g->is_begun = false;
  return g->turned != NULL; /* without memory for it the sum is not transposed */
}

static hia_status add_turned(hia_collecting *c) {
  hia_collect_gathered *g = &c->gathered;
  hia_product p = {.dtype = c->dtype,
                   .is_added = g->is_begun,
                   .m = g->n,
                   .n = g->m,
                   .k = g->k,
                   .a_at = g->b_at,
                   .b_at = g->a_at,
                   .c = g->turned,
                   .c_row = (ptrdiff_t)g->m};
  g->k = 0;
  g->is_begun = true;
  return hiaR_work_multiply(c->env, &p, &c->work);
}

hia_status hiaR_collect_add_gathered(hia_collecting *c) {
  hia_collect_gathered *g = &c->gathered;
  if (!g->k) return HIA_OK;
  if (can_turn(c)) return add_turned(c);
  hia_product p = {.m = g->m, .n = g->n, .k = g->k, .a_at = g->a_at, .b_at = g->b_at};
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
  if (is_other) {
    g->at = c->window.at;
    g->m = m, g->n = n;
    g->most = most_of(c, m, n);
  }
  g->a_at[g->k] = a;
  g->b_at[g->k++] = b;
  return HIA_OK;
}
