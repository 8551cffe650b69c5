/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Going through a sum: what its constructors add, and to which elements. */
#include "runtime/tensor/collect.h"

/* ---- windows on the stack ---- */

/* What comes next returns to the window that is there now. If it is the last in there, then what is
 * on top of the stack does so already: so a part of a part of a part needs no memory. */
static bool push_window(hia_collecting *c) {
  const hia_collect_pending *p = &c->pending;
  if (p->n && p->words[p->n - 1] < HIA_FIRST_ADDRESS) return true;
  const hia_collect_window *w = &c->window;
  return hiaR_collect_push(c, w->at) && hiaR_collect_push(c, (hia_word)w->rows) &&
         hiaR_collect_push(c, (hia_word)w->axis << 1 | w->is_part);
}

static void pop_window(hia_collecting *c, hia_word number) {
  hia_collect_pending *p = &c->pending;
  p->n -= 2;
  c->window = (hia_collect_window){.at = p->words[p->n],
                                   .rows = (int64_t)p->words[p->n + 1],
                                   .axis = (uint32_t)(number >> 1),
                                   .is_part = number & 1};
}

/* ---- what does not fit ---- */

static hia_status misfit(const hia_collecting *c, hia_misfit_kind kind, const hia_dims *a,
                         uint32_t axis_a, uint32_t axis_b) {
  c->why->misfit = (hia_misfit){
      .kind = kind, .operand_b = 1, .axis_a = axis_a, .axis_b = axis_b, .a = *a, .b = c->shape};
  return HIA_SHAPE;
}

hia_status hiaR_collect_wrong_rows(const hia_collecting *c, int64_t from, int64_t n) {
  c->why->misfit = (hia_misfit){.kind = HIA_MISFIT_RANGE,
                                .from = from,
                                .to = from > INT64_MAX - n ? INT64_MAX : from + n,
                                .a = c->shape};
  return HIA_SHAPE;
}

static bool has_rows(const hia_collect_window *w, int64_t n) {
  return w->is_part ? n <= w->rows : n == w->rows;
}

/* The row of the result that is row *i of the window. False: there is none. */
static bool find_row(const hia_collecting *c, int64_t *i) {
  const hia_collect_window *w = &c->window;
  if (*i < 0) return false;
  if (!c->rows || w->axis) return *i < w->rows;
  uint64_t low = 0, high = hiaR_tensor_len(c->rows);
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (hiaR_to_i64(hiaR_tensor_get(c->rows, middle)) < *i)
      low = middle + 1;
    else
      high = middle;
  }
  bool is_there =
      low < hiaR_tensor_len(c->rows) && hiaR_to_i64(hiaR_tensor_get(c->rows, low)) == *i;
  *i = (int64_t)low;
  return is_there;
}

static hia_status misfit_dim(const hia_collecting *c, const hia_tensor *x, uint32_t axis) {
  hia_dims dims = hiaR_tensor_dims(x);
  return misfit(c, HIA_MISFIT_DIM, &dims, axis, c->window.axis + axis);
}

/* A tensor that is added to the rows of the window; `has_own`: to other rows, one by one. */
static hia_status check(const hia_collecting *c, const hia_tensor *x, bool has_own) {
  const hia_collect_window *w = &c->window;
  if (!has_own && !has_rows(w, x->dims[0])) return misfit_dim(c, x, 0);
  for (uint32_t i = 1; i < hiaR_tensor_rank(x); i++)
    if (x->dims[i] != c->shape.dims[w->axis + i]) return misfit_dim(c, x, i);
  return HIA_OK;
}

/* ---- the constructors ---- */

static hia_status visit_dense(hia_collecting *c, hia_word sum) {
  const hia_tensor *x = hiaR_sum_tensor(sum, HIA_SUM_FIRST);
  hia_status status = check(c, x, false);
  if (status) return status;
  if ((status = hiaR_collect_add_gathered(c))) return status;
  bool is_first = hiaR_collect_is_empty(c) && c->window.axis == 0 && !c->window.is_part;
  if (is_first) {
    c->only = hiaR_sum_word(sum, HIA_SUM_FIRST);
    return HIA_OK;
  }
  if ((status = hiaR_collect_need_elements(c))) return status;
  bool is_done = hiaR_work_add(&c->work, c->dtype, hiaR_collect_element(c, c->window.at), x->data,
                               hiaR_tensor_len(x));
  return is_done ? HIA_OK : HIA_CANCELLED;
}

static hia_status add_first(hia_collecting *c, uint64_t most);

/* Adds to an element of a vector: what is added is a scalar. */
static hia_status add_element(hia_collecting *c, hia_word sum, int64_t i) {
  hia_status status = add_first(c, 0);
  if (!status) status = hiaR_collect_add_gathered(c);
  if (!status) status = hiaR_collect_need_elements(c);
  if (status) return status;
  const char *x = (const char *)hiaR_object(sum) + HIA_SUM_SECOND;
  bool is_done =
      hiaR_work_add(&c->work, c->dtype, hiaR_collect_element(c, c->window.at + (uint64_t)i), x, 1);
  return is_done ? HIA_OK : HIA_CANCELLED;
}

static hia_status visit_row(hia_collecting *c, hia_word sum) {
  hia_collect_window *w = &c->window;
  if (w->axis + 1 == c->shape.rank) {
    int64_t row = hiaR_to_i64(hiaR_sum_word(sum, HIA_SUM_FIRST)), at = row;
    return find_row(c, &at) ? add_element(c, sum, at) : hiaR_collect_wrong_rows(c, row, 1);
  }
  int64_t i = hiaR_to_i64(hiaR_sum_word(sum, HIA_SUM_SECOND)), at = i;
  if (!find_row(c, &at)) return hiaR_collect_wrong_rows(c, i, 1);
  hia_word x = hiaR_sum_word(sum, HIA_SUM_FIRST);
  if (x < HIA_FIRST_ADDRESS) return HIA_OK;
  if (!push_window(c)) return HIA_MEMORY;
  w->at += (uint64_t)at * c->below[w->axis];
  w->axis++;
  w->rows = c->shape.dims[w->axis];
  w->is_part = false;
  return hiaR_collect_push(c, x) ? HIA_OK : HIA_MEMORY;
}

static hia_status visit_part(hia_collecting *c, hia_word sum) {
  hia_collect_window *w = &c->window;
  int64_t i = hiaR_to_i64(hiaR_sum_word(sum, HIA_SUM_SECOND));
  if (i < 0 || i > w->rows) return hiaR_collect_wrong_rows(c, i, 0);
  hia_word x = hiaR_sum_word(sum, HIA_SUM_FIRST);
  if (x < HIA_FIRST_ADDRESS) return HIA_OK;
  if (!push_window(c)) return HIA_MEMORY;
  w->at += (uint64_t)i * c->below[w->axis];
  w->rows -= i;
  w->is_part = true;
  return hiaR_collect_push(c, x) ? HIA_OK : HIA_MEMORY;
}

static hia_status visit_rows(hia_collecting *c, hia_word sum) {
  const hia_tensor *index = hiaR_sum_tensor(sum, HIA_SUM_FIRST),
                   *x = hiaR_sum_tensor(sum, HIA_SUM_SECOND);
  const hia_collect_window *w = &c->window;
  uint64_t row = c->below[w->axis], n = hiaR_tensor_len(index);
  hia_status status = check(c, x, true);
  if (!status && x->dims[0] != index->dims[0]) {
    hia_dims of_index = hiaR_tensor_dims(index);
    status = misfit(c, HIA_MISFIT_DIM, &of_index, 0, w->axis);
  }
  if (!status) status = hiaR_collect_add_gathered(c);
  if (!status) status = hiaR_collect_need_elements(c);
  for (uint64_t k = 0; k < n && !status; k++) {
    int64_t i = hiaR_to_i64(hiaR_tensor_get(index, k)), at = i;
    if (!find_row(c, &at)) return hiaR_collect_wrong_rows(c, i, 1);
    char *to = hiaR_collect_element(c, w->at + (uint64_t)at * row);
    if (!hiaR_work_add(&c->work, c->dtype, to, x->data + k * row * c->element, row))
      status = HIA_CANCELLED;
  }
  return status;
}

/* True if a matrix of m rows and n columns is added to the rows of the window. */
static bool has_matrix(const hia_collecting *c, uint64_t m, int64_t n) {
  const hia_collect_window *w = &c->window;
  uint32_t last = c->shape.rank - 1;
  uint64_t each = 1; /* rows of a matrix that are one of the window's */
  for (uint32_t k = w->axis + 1; k < last; k++) each *= (uint64_t)c->shape.dims[k];
  uint64_t rows = (uint64_t)w->rows * each;
  bool fits = w->is_part ? m <= rows && (each ? m % each == 0 : m == 0) : m == rows;
  return fits && n == c->shape.dims[last];
}

/* The last axis of the result has not `n` elements, or the other axes are not those of a. */
static hia_status misfit_outer(const hia_collecting *c, const hia_tensor *a, int64_t n) {
  hia_dims of_a = hiaR_tensor_dims(a), of_b = {.rank = 1, .dims = {n}};
  uint32_t last = c->shape.rank - 1;
  return n != c->shape.dims[last] ? misfit(c, HIA_MISFIT_DIM, &of_b, 0, last)
                                  : misfit(c, HIA_MISFIT_DIM, &of_a, 0, last - 1);
}

static hia_collect_vector vector_of(const hia_tensor *t) {
  return (hia_collect_vector){t->data, (uint64_t)t->dims[0]};
}

/* An OUTER, or a PAIR. */
static hia_status visit_outer(hia_collecting *c, hia_word sum, bool is_pair) {
  const hia_tensor *a = hiaR_sum_tensor(sum, HIA_SUM_FIRST);
  hia_collect_vector of_a = vector_of(a), b = vector_of(hiaR_sum_tensor(sum, HIA_SUM_SECOND));
  hia_collect_vector behind = {NULL, 0};
  if (is_pair) behind = vector_of(hiaR_sum_tensor(sum, HIA_SUM_THIRD));
  int64_t n = (int64_t)(b.n + behind.n);
  if (!has_matrix(c, of_a.n, n)) return misfit_outer(c, a, n);
  if (!b.n) {
    b = behind;
    behind.n = 0;
  }
  return of_a.n && n ? hiaR_collect_gather(c, of_a, b, behind) : HIA_OK;
}

static hia_status visit_products(hia_collecting *c, hia_word sum) {
  enum { FEW = 16 }; /* outer products that are gathered with others */
  const hia_tensor *a = hiaR_sum_tensor(sum, HIA_SUM_FIRST),
                   *b = hiaR_sum_tensor(sum, HIA_SUM_SECOND);
  hia_dims of_a = hiaR_tensor_dims(a), of_b = hiaR_tensor_dims(b);
  uint64_t k = (uint64_t)of_a.dims[0], m = (uint64_t)of_a.dims[1], n = (uint64_t)of_b.dims[1];
  uint32_t last = c->shape.rank - 1;
  if (!has_matrix(c, m, of_b.dims[1]))
    return of_b.dims[1] != c->shape.dims[last] ? misfit(c, HIA_MISFIT_DIM, &of_b, 1, last)
                                               : misfit(c, HIA_MISFIT_DIM, &of_a, 1, last - 1);
  if (of_b.dims[0] != of_a.dims[0]) return misfit(c, HIA_MISFIT_DIM, &of_b, 0, last - 1);
  if (m == 0 || n == 0 || k == 0) return HIA_OK;
  hia_status status = HIA_OK;
  for (uint64_t p = 0; k <= FEW && p < k && !status; p++)
    status = hiaR_collect_gather(c, (hia_collect_vector){a->data + p * m * c->element, m},
                                 (hia_collect_vector){b->data + p * n * c->element, n},
                                 (hia_collect_vector){NULL, 0});
  if (k <= FEW) return status;
  if ((status = hiaR_collect_add_gathered(c))) return status;
  hia_product p = {
      .m = m, .n = n, .k = k, .a = {a->data, 1, (ptrdiff_t)m}, .b = {b->data, (ptrdiff_t)n, 1}};
  return hiaR_collect_add_product(c, c->window.at, &p);
}

hia_status hiaR_collect_visit_both(hia_collecting *c, hia_word sum, uint32_t first) {
  hia_word a = hiaR_sum_word(sum, first),
           b = hiaR_sum_word(sum, first + (uint32_t)sizeof(hia_word));
  __builtin_prefetch(hiaR_object(a));
  __builtin_prefetch(hiaR_object(b));
  if (b >= HIA_FIRST_ADDRESS && !hiaR_collect_push(c, b)) return HIA_MEMORY;
  if (a >= HIA_FIRST_ADDRESS && !hiaR_collect_push(c, a)) return HIA_MEMORY;
  return HIA_OK;
}

/* True if it may add to any row. */
static bool is_of_all_rows(const hia_collecting *c, hia_word sum) {
  hia_sum_ctor ctor = (hia_sum_ctor)hiaR_object(sum)->ctor;
  return c->window.axis == 0 && ctor != HIA_SUM_BOTH && ctor != HIA_SUM_ROW && ctor != HIA_SUM_ROWS;
}

/* ---- what is added next ----
 *
 * A part of the sum, its tensors' headers and their elements are each read from an address that the
 * one before has. One after the other, they would be waited for three times. So parts wait in a
 * line, and meanwhile the cache gets what comes next. */

static void prefetch_elements(const hia_collecting *c, const hia_tensor *t) {
  enum { LINE = 64, MOST = 1 << 10 }; /* the processor itself sees how it goes on */
  uint64_t n = hiaR_tensor_rank(t) ? (uint64_t)t->dims[0] * c->element : 0;
  for (uint64_t at = 0; at < n && at < MOST; at += LINE) __builtin_prefetch(t->data + at);
}

/* A part that has been in the line for some time. */
static void prefetch_part(const hia_collecting *c, hia_word sum) {
  hia_sum_ctor ctor = (hia_sum_ctor)hiaR_object(sum)->ctor;
  if (ctor == HIA_SUM_ROWS || ctor == HIA_SUM_PRODUCTS) return; /* matrices */
  for (uint32_t i = 0; i < hiaR_sum_n_tensors(ctor); i++)
    prefetch_elements(c, hiaR_sum_tensor(sum, hiaR_sum_field(i)));
}

static hia_status add_part(hia_collecting *c, hia_word sum) {
  switch ((hia_sum_ctor)hiaR_object(sum)->ctor) {
  case HIA_SUM_DENSE:
  case HIA_SUM_DENSE_THEN: return visit_dense(c, sum);
  case HIA_SUM_ROWS: return visit_rows(c, sum);
  case HIA_SUM_OUTER:
  case HIA_SUM_OUTER_THEN: return visit_outer(c, sum, false);
  case HIA_SUM_PAIR:
  case HIA_SUM_PAIR_THEN: return visit_outer(c, sum, true);
  case HIA_SUM_PRODUCTS: return visit_products(c, sum);
  default: return HIA_INTERNAL;
  }
}

/* Adds the first parts of the line, until it has `most` of them. */
static hia_status add_first(hia_collecting *c, uint64_t most) {
  hia_collect_line *l = &c->line;
  hia_collect_window here = c->window;
  hia_status status = HIA_OK;
  while (!status && l->end - l->begin > most) {
    const hia_collect_coming *first = &l->of[l->begin++ % HIA_COLLECT_AHEAD];
    c->window = first->window;
    status = add_part(c, first->sum);
  }
  c->window = here;
  return status;
}

static hia_status add_last(hia_collecting *c, hia_word sum) {
  hia_collect_line *l = &c->line;
  hia_status status = add_first(c, HIA_COLLECT_AHEAD - 1);
  if (status) return status;
  l->of[l->end++ % HIA_COLLECT_AHEAD] = (hia_collect_coming){sum, c->window};
  for (uint32_t i = hiaR_sum_n_tensors((hia_sum_ctor)hiaR_object(sum)->ctor); i-- > 0;)
    __builtin_prefetch(hiaR_object(hiaR_sum_word(sum, hiaR_sum_field(i))));
  if (l->end - l->begin > HIA_COLLECT_AHEAD / 2)
    prefetch_part(c, l->of[(l->end - HIA_COLLECT_AHEAD / 2) % HIA_COLLECT_AHEAD].sum);
  return HIA_OK;
}

/* ---- walking through a sum ---- */

/* ---- walking through a sum ---- */

static hia_status visit(hia_collecting *c, hia_word sum) {
  if (sum < HIA_FIRST_ADDRESS) return HIA_OK; /* NOTHING */
  if (!hiaR_sum_is_sound(sum)) return HIA_INTERNAL;
  if (c->rows && is_of_all_rows(c, sum)) return hiaR_collect_wrong_rows(c, 0, c->own_rows);
  uint32_t then = hiaR_sum_then((hia_sum_ctor)hiaR_object(sum)->ctor);
  hia_status status = then ? hiaR_collect_visit_both(c, sum, then) : HIA_OK; /* later */
  if (status) return status;
  switch ((hia_sum_ctor)hiaR_object(sum)->ctor) {
  case HIA_SUM_BOTH: return hiaR_collect_visit_both(c, sum, HIA_SUM_FIRST);
  case HIA_SUM_ROW: return visit_row(c, sum);
  case HIA_SUM_PART: return visit_part(c, sum);
  default: return add_last(c, sum);
  }
}

static hia_status visit_all(hia_collecting *c, hia_word sum) {
  hia_status status = visit(c, sum);
  while (!status && c->pending.n) {
    hia_word next = c->pending.words[--c->pending.n];
    if (!hiaR_work_on(&c->work, 20)) return HIA_CANCELLED;
    if (next < HIA_FIRST_ADDRESS)
      pop_window(c, next);
    else
      status = visit(c, next);
  }
  return status;
}

hia_status hiaR_collect_walk(hia_collecting *c, hia_word sum) {
  hia_status last = visit_all(c, sum);
  if (last == HIA_CANCELLED) return last;
  hia_status status = add_first(c, 0); /* what is in the line came, and fails, before */
  if (!status) status = last;
  if (!status) status = hiaR_collect_add_gathered(c);
  if (status || c->only) return status;
  return hiaR_collect_need_elements(c);
}
