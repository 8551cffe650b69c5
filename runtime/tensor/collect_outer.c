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

/* The columns of the matrices that are added. */
static uint64_t columns(const hia_collect_gathered *g) { return g->n + g->n_behind; }
static uint32_t n_parts(const hia_collect_gathered *g) { return g->n_behind ? 2 : 1; }

/* True if nothing was added yet, and these elements are all. */
static bool is_first_of(const hia_collecting *c, uint64_t at, uint64_t n) {
  return hiaR_collect_is_empty(c) && at == 0 && n == c->len;
}

hia_status hiaR_collect_add_product(hia_collecting *c, uint64_t at, hia_product *p) {
  bool is_first = is_first_of(c, at, p->m * p->n);
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
  bool is_all = g->at == 0 && g->m * columns(g) == c->len;
  if (!is_all || g->turned) return is_all;
  if (!hiaR_collect_is_empty(c) || g->k < g->most ||
      !hiaR_product_is_better_turned(c->dtype, g->m, columns(g)))
    return false;
  g->turned = hiaR_heap_alloc(c->env->local, c->len * c->element);
  g->is_begun = false;
  return g->turned != NULL; /* without memory for it the sum is not transposed */
}

/* The product of what was noted with part `i` of the second vectors; what it is added to, and how,
 * is left open. */
static hia_product product_of(const hia_collecting *c, uint32_t i) {
  const hia_collect_gathered *g = &c->gathered;
  return (hia_product){.dtype = c->dtype,
                       .m = g->m,
                       .n = i ? g->n_behind : g->n,
                       .k = g->k,
                       .a_at = g->a_at,
                       .b_at = i ? g->c_at : g->b_at};
}

static hia_status add_turned(hia_collecting *c) {
  hia_collect_gathered *g = &c->gathered;
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < n_parts(g) && !status; i++) {
    hia_product p = product_of(c, i), turned = p;
    turned.is_added = g->is_begun;
    turned.m = p.n, turned.n = p.m;
    turned.a_at = p.b_at, turned.b_at = p.a_at;
    turned.c = g->turned + (i ? g->n * g->m * c->element : 0);
    turned.c_row = (ptrdiff_t)g->m;
    status = hiaR_work_multiply(c->env, &turned, &c->work);
  }
  g->k = 0;
  g->is_begun = true;
  return status;
}

hia_status hiaR_collect_add_gathered(hia_collecting *c) {
  hia_collect_gathered *g = &c->gathered;
  if (!g->k) return HIA_OK;
  if (can_turn(c)) return add_turned(c);
  bool is_first = is_first_of(c, g->at, g->m * columns(g));
  hia_status status = is_first ? hiaR_collect_make_result(c) : hiaR_collect_need_elements(c);
  for (uint32_t i = 0; i < n_parts(g) && !status; i++) {
    hia_product p = product_of(c, i);
    p.is_added = !is_first;
    p.c = hiaR_collect_element(c, g->at + (i ? g->n : 0));
    p.c_row = (ptrdiff_t)columns(g);
    status = hiaR_work_multiply(c->env, &p, &c->work);
  }
  g->k = 0;
  return status;
}

hia_status hiaR_collect_gather(hia_collecting *c, hia_collect_vector a, hia_collect_vector b,
                               hia_collect_vector behind) {
  hia_collect_gathered *g = &c->gathered;
  bool is_other = g->m != a.n || g->n != b.n || g->n_behind != behind.n || g->at != c->window.at;
  if (g->k && (is_other || g->k == g->most)) {
    hia_status status = hiaR_collect_add_gathered(c);
    if (status) return status;
  }
  if (is_other) {
    g->at = c->window.at;
    g->m = a.n, g->n = b.n, g->n_behind = behind.n;
    g->most = most_of(c, a.n, b.n + behind.n);
  }
  g->a_at[g->k] = a.at;
  g->b_at[g->k] = b.at;
  g->c_at[g->k++] = behind.at;
  return HIA_OK;
}
