/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Collecting a sum (base/sums.h) in a tensor, or in some rows of one. docs/tensors.md, "Gradients",
 * says in which order it adds.
 *
 * One would add contribution after contribution to the tensor. But then each outer product would
 * read and write all of it, and take as long as the memory needs: a matrix of a model has some
 * hundreds of them. So vectors are gathered as the rows of two matrices, and from time to time
 * their product is added, by the kernels of products. An element of that is one accumulator, to
 * which a product at a time is added: so the bits are those that one outer product after the other
 * would give, however many are gathered. */
#include "runtime/base/sums.h"
#include "runtime/kernel/product.h"
#include "runtime/tensor/operands.h"

/* ---- the objects of a sum ---- */

/* In memory references come first, then an i64, then a scalar (base/type.h): the fields of all
 * constructors are at these two indices. */
enum { FIRST = sizeof(hia_counted), SECOND = FIRST + sizeof(hia_word) };

static hia_word word_at(hia_word ref, uint32_t at) {
  return hiaR_load(HIA_REPR_REF, (const char *)hiaR_object(ref) + at);
}
static const hia_tensor *tensor_at(hia_word ref, uint32_t at) {
  return hiaR_tensor(word_at(ref, at));
}

/* ---- what is being collected ---- */

/* What a part of the sum is added to: rows of the tensor's axis `axis`, from an element on. */
typedef struct window {
  uint64_t at;
  int64_t rows;
  uint32_t axis;
  bool is_part; /* what is added may have fewer rows */
} window;

/* Outer products that are yet to be added. */
typedef struct gathered {
  uint64_t at;           /* the element to which they are added */
  uint64_t m, n;         /* the lengths of the vectors */
  uint64_t k, most;      /* how many; and of how many there is room */
  uint64_t a_row, b_row; /* from vector to vector, in elements */
  char *a, *b;
  char *block;
  size_t size;
} gathered;

/* What is still to be visited, a word each: a part of the sum, which is not NOTHING; or, in three
 * words, a window to which to return, of which the last is a number below HIA_FIRST_ADDRESS. */
typedef struct pending {
  hia_word few[64], *words;
  size_t n, size;
} pending;

/* What is added next: a part of the sum, and the window to which it is added. */
typedef struct coming {
  hia_word sum;
  window window;
} coming;

/* These come in the order in which they are added. Each is read AHEAD parts before that. */
enum { AHEAD = 8 };
typedef struct line {
  coming of[AHEAD]; /* part i is at i % AHEAD */
  uint64_t begin, end;
} line;

typedef struct collecting {
  const hia_env *env;
  hia_work work;
  hia_dtype dtype;
  uint32_t element;             /* bytes */
  hia_dims shape;               /* of the result */
  int64_t own_rows;             /* of the tensor of which the result has some rows, or all */
  const hia_tensor *rows;       /* their numbers, ascending; NULL: all */
  uint64_t *touched;            /* TOUCHED: a bit for each row */
  uint64_t below[HIA_MAX_RANK]; /* by axis: elements of a row */
  uint64_t len;
  window window;
  pending pending;
  line line;
  gathered gathered;
  hia_result *result;
  hia_misfortune *why;
  hia_word only; /* a tensor to which the result is equal so far, or 0 */
} collecting;

/* ---- a stack ---- */

static bool push(collecting *c, hia_word word) {
  pending *p = &c->pending;
  if (HIA_UNLIKELY(p->n == p->size)) {
    size_t bytes = p->size * sizeof *p->words;
    hia_word *words = hiaR_heap_alloc(c->env->local, 2 * bytes);
    if (!words) return false;
    memcpy(words, p->words, bytes);
    if (p->words != p->few) hiaR_heap_release(c->env->local, p->words, bytes);
    p->words = words;
    p->size *= 2;
  }
  p->words[p->n++] = word;
  return true;
}

/* What comes next returns to the window that is there now. If it is the last in there, then what is
 * on top of the stack does so already: so a part of a part of a part needs no memory. */
static bool push_window(collecting *c) {
  const pending *p = &c->pending;
  if (p->n && p->words[p->n - 1] < HIA_FIRST_ADDRESS) return true;
  const window *w = &c->window;
  return push(c, w->at) && push(c, (hia_word)w->rows) &&
         push(c, (hia_word)w->axis << 1 | w->is_part);
}

static void pop_window(collecting *c, hia_word number) {
  pending *p = &c->pending;
  p->n -= 2;
  c->window = (window){.at = p->words[p->n],
                       .rows = (int64_t)p->words[p->n + 1],
                       .axis = (uint32_t)(number >> 1),
                       .is_part = number & 1};
}

/* ---- the result ---- */

static char *element_at(const collecting *c, uint64_t at) {
  return c->result->data + at * c->element;
}

static bool has_result(const collecting *c) { return c->result->word != 0; }

static hia_status make_result(collecting *c) {
  return hiaR_result_new(c->env, c->dtype, &c->shape, c->result) ? HIA_OK : HIA_MEMORY;
}

/* Before something is added to a part of the result: its elements are there. */
static hia_status need_elements(collecting *c) {
  if (has_result(c)) return HIA_OK;
  hia_status status = make_result(c);
  if (status) return status;
  uint64_t bytes = c->len * c->element;
  bool is_done = c->only
                     ? hiaR_work_copy(&c->work, c->result->data, hiaR_tensor(c->only)->data, bytes)
                     : hiaR_work_clear(&c->work, c->result->data, bytes);
  c->only = 0;
  return is_done ? HIA_OK : HIA_CANCELLED;
}

/* ---- outer products ---- */

/* Rows that are a multiple of 4 KiB apart would share a set of the first cache. */
static uint64_t row_stride(uint64_t n, uint32_t element) {
  enum { LINE = 64, PAGE = 4096 };
  uint64_t bytes = (n * element + LINE - 1) / LINE * LINE;
  if (bytes % (PAGE / 4) == 0) bytes += LINE;
  return bytes / element;
}

static void free_room(collecting *c) {
  gathered *g = &c->gathered;
  if (g->block) hiaR_heap_release(c->env->local, g->block, g->size);
  *g = (gathered){0};
}

/* Room for vectors of the lengths m and n. */
static bool make_room(collecting *c, uint64_t m, uint64_t n) {
  enum { ALIGN = 64, MOST = 240, LARGE = 1 << 20 };
  gathered *g = &c->gathered;
  uint64_t a_row = row_stride(m, c->element), b_row = row_stride(n, c->element);
  uint64_t each = (a_row + b_row) * c->element, eighth = c->len * c->element / 8;
  uint64_t most = (eighth > LARGE ? eighth : LARGE) / each;
  if (g->block && g->a_row == a_row && g->b_row == b_row) {
    g->m = m, g->n = n;
    return true;
  }
  free_room(c);
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

/* Adds transpose(a) @ b at an element; `is_all`: it is added to all elements of the tensor. */
static hia_status add_product(collecting *c, uint64_t at, hia_product *p) {
  bool is_first = !has_result(c) && !c->only && at == 0 && p->m * p->n == c->len;
  hia_status status = is_first ? make_result(c) : need_elements(c);
  if (status) return status;
  p->dtype = c->dtype;
  p->is_added = !is_first;
  p->c = element_at(c, at);
  p->c_row = (ptrdiff_t)p->n;
  return hiaR_work_multiply(c->env, p, &c->work);
}

static hia_status add_gathered(collecting *c) {
  gathered *g = &c->gathered;
  if (!g->k) return HIA_OK;
  hia_product p = {.m = g->m,
                   .n = g->n,
                   .k = g->k,
                   .a = {g->a, 1, (ptrdiff_t)g->a_row},
                   .b = {g->b, (ptrdiff_t)g->b_row, 1}};
  g->k = 0;
  return add_product(c, g->at, &p);
}

static hia_status gather(collecting *c, const char *a, uint64_t m, const char *b, uint64_t n) {
  gathered *g = &c->gathered;
  bool is_other = g->m != m || g->n != n || g->at != c->window.at;
  if (g->k && (is_other || g->k == g->most)) {
    hia_status status = add_gathered(c);
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

/* ---- what does not fit ---- */

static hia_status misfit(const collecting *c, hia_misfit_kind kind, const hia_dims *a,
                         uint32_t axis_a, uint32_t axis_b) {
  c->why->misfit = (hia_misfit){
      .kind = kind, .operand_b = 1, .axis_a = axis_a, .axis_b = axis_b, .a = *a, .b = c->shape};
  return HIA_SHAPE;
}

static hia_status wrong_rows(const collecting *c, int64_t from, int64_t n) {
  c->why->misfit = (hia_misfit){.kind = HIA_MISFIT_RANGE,
                                .from = from,
                                .to = from > INT64_MAX - n ? INT64_MAX : from + n,
                                .a = c->shape};
  return HIA_SHAPE;
}

static bool has_rows(const window *w, int64_t n) {
  return w->is_part ? n <= w->rows : n == w->rows;
}

/* The row of the result that is row *i of the window. False: there is none. */
static bool find_row(const collecting *c, int64_t *i) {
  const window *w = &c->window;
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

static hia_status misfit_dim(const collecting *c, const hia_tensor *x, uint32_t axis) {
  hia_dims dims = hiaR_tensor_dims(x);
  return misfit(c, HIA_MISFIT_DIM, &dims, axis, c->window.axis + axis);
}

/* A tensor that is added to the rows of the window; `has_own`: to other rows, one by one. */
static hia_status check(const collecting *c, const hia_tensor *x, bool has_own) {
  const window *w = &c->window;
  if (!has_own && !has_rows(w, x->dims[0])) return misfit_dim(c, x, 0);
  for (uint32_t i = 1; i < hiaR_tensor_rank(x); i++)
    if (x->dims[i] != c->shape.dims[w->axis + i]) return misfit_dim(c, x, i);
  return HIA_OK;
}

/* ---- the constructors ---- */

static hia_status visit_dense(collecting *c, hia_word sum) {
  const hia_tensor *x = tensor_at(sum, FIRST);
  hia_status status = check(c, x, false);
  if (status) return status;
  if ((status = add_gathered(c))) return status;
  bool is_first = !has_result(c) && !c->only && c->window.axis == 0 && !c->window.is_part;
  if (is_first) {
    c->only = word_at(sum, FIRST);
    return HIA_OK;
  }
  if ((status = need_elements(c))) return status;
  bool is_done =
      hiaR_work_add(&c->work, c->dtype, element_at(c, c->window.at), x->data, hiaR_tensor_len(x));
  return is_done ? HIA_OK : HIA_CANCELLED;
}

static hia_status add_first(collecting *c, uint64_t most);

/* Adds to an element of a vector: what is added is a scalar. */
static hia_status add_element(collecting *c, hia_word sum, int64_t i) {
  hia_status status = add_first(c, 0);
  if (!status) status = add_gathered(c);
  if (!status) status = need_elements(c);
  if (status) return status;
  const char *x = (const char *)hiaR_object(sum) + SECOND;
  bool is_done = hiaR_work_add(&c->work, c->dtype, element_at(c, c->window.at + (uint64_t)i), x, 1);
  return is_done ? HIA_OK : HIA_CANCELLED;
}

static hia_status visit_row(collecting *c, hia_word sum) {
  window *w = &c->window;
  if (w->axis + 1 == c->shape.rank) {
    int64_t row = hiaR_to_i64(word_at(sum, FIRST)), at = row;
    return find_row(c, &at) ? add_element(c, sum, at) : wrong_rows(c, row, 1);
  }
  int64_t i = hiaR_to_i64(word_at(sum, SECOND)), at = i;
  if (!find_row(c, &at)) return wrong_rows(c, i, 1);
  hia_word x = word_at(sum, FIRST);
  if (x < HIA_FIRST_ADDRESS) return HIA_OK;
  if (!push_window(c)) return HIA_MEMORY;
  w->at += (uint64_t)at * c->below[w->axis];
  w->axis++;
  w->rows = c->shape.dims[w->axis];
  w->is_part = false;
  return push(c, x) ? HIA_OK : HIA_MEMORY;
}

static hia_status visit_part(collecting *c, hia_word sum) {
  window *w = &c->window;
  int64_t i = hiaR_to_i64(word_at(sum, SECOND));
  if (i < 0 || i > w->rows) return wrong_rows(c, i, 0);
  hia_word x = word_at(sum, FIRST);
  if (x < HIA_FIRST_ADDRESS) return HIA_OK;
  if (!push_window(c)) return HIA_MEMORY;
  w->at += (uint64_t)i * c->below[w->axis];
  w->rows -= i;
  w->is_part = true;
  return push(c, x) ? HIA_OK : HIA_MEMORY;
}

static hia_status visit_rows(collecting *c, hia_word sum) {
  const hia_tensor *index = tensor_at(sum, FIRST), *x = tensor_at(sum, SECOND);
  const window *w = &c->window;
  uint64_t row = c->below[w->axis], n = hiaR_tensor_len(index);
  hia_status status = check(c, x, true);
  if (!status && x->dims[0] != index->dims[0]) {
    hia_dims of_index = hiaR_tensor_dims(index);
    status = misfit(c, HIA_MISFIT_DIM, &of_index, 0, w->axis);
  }
  if (!status) status = add_gathered(c);
  if (!status) status = need_elements(c);
  for (uint64_t k = 0; k < n && !status; k++) {
    int64_t i = hiaR_to_i64(hiaR_tensor_get(index, k)), at = i;
    if (!find_row(c, &at)) return wrong_rows(c, i, 1);
    char *to = element_at(c, w->at + (uint64_t)at * row);
    if (!hiaR_work_add(&c->work, c->dtype, to, x->data + k * row * c->element, row))
      status = HIA_CANCELLED;
  }
  return status;
}

/* True if a matrix of m rows and n columns is added to the rows of the window. */
static bool has_matrix(const collecting *c, uint64_t m, int64_t n) {
  const window *w = &c->window;
  uint32_t last = c->shape.rank - 1;
  uint64_t each = 1; /* rows of a matrix that are one of the window's */
  for (uint32_t k = w->axis + 1; k < last; k++) each *= (uint64_t)c->shape.dims[k];
  uint64_t rows = (uint64_t)w->rows * each;
  bool fits = w->is_part ? m <= rows && (each ? m % each == 0 : m == 0) : m == rows;
  return fits && n == c->shape.dims[last];
}

/* The last axis of the result is not that of b, or the other axes are not those of a. */
static hia_status misfit_outer(const collecting *c, const hia_tensor *a, const hia_tensor *b) {
  hia_dims of_a = hiaR_tensor_dims(a), of_b = hiaR_tensor_dims(b);
  uint32_t last = c->shape.rank - 1;
  return of_b.dims[0] != c->shape.dims[last] ? misfit(c, HIA_MISFIT_DIM, &of_b, 0, last)
                                             : misfit(c, HIA_MISFIT_DIM, &of_a, 0, last - 1);
}

static hia_status visit_outer(collecting *c, hia_word sum) {
  const hia_tensor *a = tensor_at(sum, FIRST), *b = tensor_at(sum, SECOND);
  uint64_t m = (uint64_t)a->dims[0], n = (uint64_t)b->dims[0];
  if (!has_matrix(c, m, b->dims[0])) return misfit_outer(c, a, b);
  return m && n ? gather(c, a->data, m, b->data, n) : HIA_OK;
}

static hia_status visit_products(collecting *c, hia_word sum) {
  enum { FEW = 16 }; /* outer products that are gathered with others */
  const hia_tensor *a = tensor_at(sum, FIRST), *b = tensor_at(sum, SECOND);
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
    status = gather(c, a->data + p * m * c->element, m, b->data + p * n * c->element, n);
  if (k <= FEW) return status;
  if ((status = add_gathered(c))) return status;
  hia_product p = {
      .m = m, .n = n, .k = k, .a = {a->data, 1, (ptrdiff_t)m}, .b = {b->data, (ptrdiff_t)n, 1}};
  return add_product(c, c->window.at, &p);
}

static hia_status visit_both(collecting *c, hia_word sum) {
  hia_word a = word_at(sum, FIRST), b = word_at(sum, SECOND);
  __builtin_prefetch(hiaR_object(a));
  __builtin_prefetch(hiaR_object(b));
  if (b >= HIA_FIRST_ADDRESS && !push(c, b)) return HIA_MEMORY;
  if (a >= HIA_FIRST_ADDRESS && !push(c, a)) return HIA_MEMORY;
  return HIA_OK;
}

/* False: a tensor is missing. Only an image that was tampered with has such sums. */
static bool is_sound(hia_word sum) {
  uint32_t number = hiaR_object(sum)->ctor;
  bool is_one = number == HIA_SUM_DENSE,
       are_two = number == HIA_SUM_ROWS || number >= HIA_SUM_OUTER;
  return !(is_one || are_two) || (word_at(sum, FIRST) >= HIA_FIRST_ADDRESS &&
                                  (is_one || word_at(sum, SECOND) >= HIA_FIRST_ADDRESS));
}

/* True if it may add to any row. */
static bool is_of_all_rows(const collecting *c, hia_word sum) {
  hia_sum_ctor ctor = (hia_sum_ctor)hiaR_object(sum)->ctor;
  return c->window.axis == 0 && ctor != HIA_SUM_BOTH && ctor != HIA_SUM_ROW && ctor != HIA_SUM_ROWS;
}

/* ---- what is added next ----
 *
 * A part of the sum, its tensors' headers and their elements are each read from an address that the
 * one before has. One after the other, they would be waited for three times. So parts wait in a
 * line, and meanwhile the cache gets what comes next. */

static void prefetch_elements(const collecting *c, const hia_tensor *t) {
  enum { LINE = 64, MOST = 1 << 10 }; /* the processor itself sees how it goes on */
  uint64_t n = hiaR_tensor_rank(t) ? (uint64_t)t->dims[0] * c->element : 0;
  for (uint64_t at = 0; at < n && at < MOST; at += LINE) __builtin_prefetch(t->data + at);
}

/* A part that has been in the line for some time. */
static void prefetch_part(const collecting *c, hia_word sum) {
  hia_sum_ctor ctor = (hia_sum_ctor)hiaR_object(sum)->ctor;
  if (ctor != HIA_SUM_DENSE && ctor != HIA_SUM_OUTER) return;
  prefetch_elements(c, tensor_at(sum, FIRST));
  if (ctor == HIA_SUM_OUTER) prefetch_elements(c, tensor_at(sum, SECOND));
}

static hia_status add_part(collecting *c, hia_word sum) {
  switch ((hia_sum_ctor)hiaR_object(sum)->ctor) {
  case HIA_SUM_DENSE: return visit_dense(c, sum);
  case HIA_SUM_ROWS: return visit_rows(c, sum);
  case HIA_SUM_OUTER: return visit_outer(c, sum);
  case HIA_SUM_PRODUCTS: return visit_products(c, sum);
  default: return HIA_INTERNAL;
  }
}

/* Adds the first parts of the line, until it has `most` of them. */
static hia_status add_first(collecting *c, uint64_t most) {
  line *l = &c->line;
  window here = c->window;
  hia_status status = HIA_OK;
  while (!status && l->end - l->begin > most) {
    const coming *first = &l->of[l->begin++ % AHEAD];
    c->window = first->window;
    status = add_part(c, first->sum);
  }
  c->window = here;
  return status;
}

static hia_status add_last(collecting *c, hia_word sum) {
  line *l = &c->line;
  hia_status status = add_first(c, AHEAD - 1);
  if (status) return status;
  l->of[l->end++ % AHEAD] = (coming){sum, c->window};
  __builtin_prefetch(hiaR_object(word_at(sum, FIRST)));
  if (hiaR_object(sum)->ctor != HIA_SUM_DENSE)
    __builtin_prefetch(hiaR_object(word_at(sum, SECOND)));
  if (l->end - l->begin > AHEAD / 2) prefetch_part(c, l->of[(l->end - AHEAD / 2) % AHEAD].sum);
  return HIA_OK;
}

/* ---- walking through a sum ---- */

static hia_status visit(collecting *c, hia_word sum) {
  if (sum < HIA_FIRST_ADDRESS) return HIA_OK; /* NOTHING */
  if (!is_sound(sum)) return HIA_INTERNAL;
  if (c->rows && is_of_all_rows(c, sum)) return wrong_rows(c, 0, c->own_rows);
  switch ((hia_sum_ctor)hiaR_object(sum)->ctor) {
  case HIA_SUM_BOTH: return visit_both(c, sum);
  case HIA_SUM_ROW: return visit_row(c, sum);
  case HIA_SUM_PART: return visit_part(c, sum);
  default: return add_last(c, sum);
  }
}

static hia_status visit_all(collecting *c, hia_word sum) {
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

static hia_status walk(collecting *c, hia_word sum) {
  hia_status last = visit_all(c, sum);
  if (last == HIA_CANCELLED) return last;
  hia_status status = add_first(c, 0); /* what is in the line came, and fails, before */
  if (!status) status = last;
  if (!status) status = add_gathered(c);
  if (status || c->only) return status;
  return need_elements(c);
}

/* ---- parts that are all of the tensor ---- */

/* A tensor at rows from .. to of axis 0. */
typedef struct tile {
  int64_t from, to;
  const hia_tensor *x;
} tile;

static tile tile_of(const collecting *c, hia_word sum) {
  tile none = {-1, -1, NULL};
  hia_word x = word_at(sum, FIRST);
  int64_t from = hiaR_to_i64(word_at(sum, SECOND));
  if (x < HIA_FIRST_ADDRESS || hiaR_object(x)->ctor != HIA_SUM_DENSE || !is_sound(x)) return none;
  const hia_tensor *t = tensor_at(x, FIRST);
  if (from < 0 || from > c->own_rows || t->dims[0] > c->own_rows - from) return none;
  for (uint32_t i = 1; i < c->shape.rank; i++)
    if (t->dims[i] != c->shape.dims[i]) return none;
  return (tile){from, from + t->dims[0], t};
}

/* Puts a tile among n others, which are in the order of their rows; one without rows is none. */
static uint32_t put_tile(tile *tiles, uint32_t n, tile t) {
  if (t.from == t.to) return n;
  uint32_t at = n;
  for (; at && tiles[at - 1].from > t.from; at--) tiles[at] = tiles[at - 1];
  tiles[at] = t;
  return n + 1;
}

/* Returns how many parts the sum consists of, if it consists of parts that are tensors, and these
 * are all of the result, one behind the other; else 0. */
static uint32_t find_tiles(const collecting *c, hia_word sum, tile tiles[HIA_SUM_TILES]) {
  hia_word left[HIA_SUM_TILES];
  uint32_t n_left = 0, n = 0;
  left[n_left++] = sum;
  while (n_left) {
    hia_word next = left[--n_left];
    if (next < HIA_FIRST_ADDRESS) return 0;
    unsigned ctor = hiaR_object(next)->ctor;
    if (ctor != HIA_SUM_BOTH && ctor != HIA_SUM_PART) return 0;
    if (n + n_left + 2 > HIA_SUM_TILES) return 0;
    if (ctor == HIA_SUM_BOTH) {
      left[n_left++] = word_at(next, SECOND);
      left[n_left++] = word_at(next, FIRST);
      continue;
    }
    tile t = tile_of(c, next);
    if (!t.x) return 0;
    n = put_tile(tiles, n, t);
  }
  int64_t at = 0;
  for (uint32_t i = 0; i < n; at = tiles[i++].to)
    if (tiles[i].from != at) return 0;
  return at == c->own_rows ? n : 0;
}

static hia_status put_tiles(collecting *c, const tile *tiles, uint32_t n) {
  hia_status status = make_result(c);
  for (uint32_t i = 0; i < n && !status; i++) {
    char *to = element_at(c, (uint64_t)tiles[i].from * c->below[0]);
    bool is_done = hiaR_work_copy(&c->work, to, tiles[i].x->data, hiaR_tensor_bytes(tiles[i].x));
    if (!is_done) status = HIA_CANCELLED;
  }
  return status;
}

/* ---- the rows that a sum touches ---- */

static bool touch(collecting *c, int64_t i) {
  if (i < 0 || i >= c->own_rows) return false;
  c->touched[i / 64] |= (uint64_t)1 << i % 64;
  return true;
}

static hia_status touch_visited(collecting *c, hia_word sum, bool *are_all) {
  if (!is_sound(sum)) return HIA_INTERNAL;
  switch ((hia_sum_ctor)hiaR_object(sum)->ctor) {
  case HIA_SUM_BOTH: return visit_both(c, sum);
  case HIA_SUM_ROW: {
    int64_t i = hiaR_to_i64(word_at(sum, c->shape.rank == 1 ? FIRST : SECOND));
    return touch(c, i) ? HIA_OK : wrong_rows(c, i, 1);
  }
  case HIA_SUM_ROWS: {
    const hia_tensor *index = tensor_at(sum, FIRST);
    for (uint64_t k = 0, n = hiaR_tensor_len(index); k < n; k++) {
      int64_t i = hiaR_to_i64(hiaR_tensor_get(index, k));
      if (!hiaR_work_on(&c->work, 2)) return HIA_CANCELLED;
      if (!touch(c, i)) return wrong_rows(c, i, 1);
    }
    return HIA_OK;
  }
  default: *are_all = true; return HIA_OK;
  }
}

static hia_status touch_all(collecting *c, hia_word sum, bool *are_all) {
  hia_status status = HIA_OK;
  if (sum >= HIA_FIRST_ADDRESS && !push(c, sum)) return HIA_MEMORY;
  while (!status && !*are_all && c->pending.n) {
    if (!hiaR_work_on(&c->work, 10)) return HIA_CANCELLED;
    status = touch_visited(c, c->pending.words[--c->pending.n], are_all);
  }
  return status;
}

/* The numbers of the rows that have a bit, or of all. */
static hia_status list_touched(collecting *c, bool are_all) {
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

/* ---- NaNs ---- */

/* A part of a sum of this rank is to be looked through; NOTHING has no NaN. */
static bool push_ranked(collecting *c, hia_word sum, uint32_t rank) {
  return sum < HIA_FIRST_ADDRESS || (push(c, rank) && push(c, sum));
}

/* What a constructor itself has: from the field `first` to the field `last`, tensors. */
static hia_status look_at_tensors(collecting *c, hia_word sum, uint32_t first, uint32_t last,
                                  bool *has) {
  for (uint32_t field = first; field <= last && !*has; field += SECOND - FIRST) {
    const hia_tensor *x = tensor_at(sum, field);
    uint64_t at = 0;
    if (!hiaR_work_find_nan(&c->work, x, &at)) return HIA_CANCELLED;
    *has = at < hiaR_tensor_len(x);
  }
  return HIA_OK;
}

static hia_status look_for_nan(collecting *c, hia_word sum, uint32_t rank, bool *has) {
  bool is_done = true;
  if (!is_sound(sum)) return HIA_INTERNAL;
  switch ((hia_sum_ctor)hiaR_object(sum)->ctor) {
  case HIA_SUM_BOTH:
    is_done =
        push_ranked(c, word_at(sum, SECOND), rank) && push_ranked(c, word_at(sum, FIRST), rank);
    break;
  case HIA_SUM_ROW:
    if (rank == 1)
      *has = hiaR_is_nan(c->dtype,
                         hiaR_load((hia_repr)c->dtype, (const char *)hiaR_object(sum) + SECOND));
    else
      is_done = push_ranked(c, word_at(sum, FIRST), rank - 1);
    break;
  case HIA_SUM_PART: is_done = push_ranked(c, word_at(sum, FIRST), rank); break;
  case HIA_SUM_DENSE: return look_at_tensors(c, sum, FIRST, FIRST, has);
  case HIA_SUM_ROWS: return look_at_tensors(c, sum, SECOND, SECOND, has);
  default: return look_at_tensors(c, sum, FIRST, SECOND, has);
  }
  return is_done ? HIA_OK : HIA_MEMORY;
}

/* ---- the operations ---- */

/* `x` is a tensor of the shape of all. */
static collecting begin(const hia_env *env, hia_word x, hia_result *r, hia_misfortune *why) {
  const hia_tensor *t = hiaR_tensor(x);
  collecting c = {.env = env,
                  .work = hiaR_work(env),
                  .dtype = hiaR_tensor_dtype(t),
                  .shape = hiaR_tensor_dims(t),
                  .result = r,
                  .why = why};
  c.element = hiaR_dtype_size(c.dtype);
  c.own_rows = c.shape.dims[0];
  return c;
}

static void end(collecting *c) {
  if (c->pending.words != c->pending.few)
    hiaR_heap_release(c->env->local, c->pending.words, c->pending.size * sizeof *c->pending.words);
}

static void use_few(pending *p) {
  p->words = p->few;
  p->size = HIA_LEN(p->few);
}

hia_status hiaR_sum_has_nan(const hia_env *env, hia_dtype dtype, uint32_t rank, hia_word sum,
                            bool *has) {
  collecting c = {.env = env, .work = hiaR_work(env), .dtype = dtype};
  use_few(&c.pending);
  *has = false;
  hia_status status = push_ranked(&c, sum, rank) ? HIA_OK : HIA_MEMORY;
  while (!status && !*has && c.pending.n) {
    hia_word next = c.pending.words[--c.pending.n];
    uint32_t its = (uint32_t)c.pending.words[--c.pending.n];
    status = hiaR_work_on(&c.work, 10) ? look_for_nan(&c, next, its, has) : HIA_CANCELLED;
  }
  end(&c);
  return status;
}

static hia_status collect_in(collecting *c, hia_word sum) {
  use_few(&c->pending);
  uint64_t below = 1;
  for (uint32_t i = c->shape.rank; i--; below *= (uint64_t)c->shape.dims[i]) c->below[i] = below;
  c->len = below;
  c->window.rows = c->shape.dims[0];
  tile tiles[HIA_SUM_TILES];
  uint32_t n_tiles = c->rows ? 0 : find_tiles(c, sum, tiles);
  hia_status status = n_tiles ? put_tiles(c, tiles, n_tiles) : walk(c, sum);
  if (!status && c->only) { /* its reference is the sum's */
    hiaR_dup(c->only, c->env->is_shared);
    c->result->is_tensor = true;
    c->result->word = c->only;
  }
  free_room(c);
  end(c);
  return status;
}

static hia_status collect(HIA_COMPUTE) {
  collecting c = begin(env, in[1], r, why);
  (void)o;
  return collect_in(&c, in[0]);
}
HIA_DEFINE_OPERATION(COLLECT, collect)

static hia_status collect_rows(HIA_COMPUTE) {
  collecting c = begin(env, in[2], r, why);
  const hia_tensor *rows = hiaR_tensor(in[1]);
  (void)o;
  if (rows->dims[0] < c.own_rows) c.rows = rows;
  if (rows->dims[0] > c.own_rows) return wrong_rows(&c, 0, rows->dims[0]);
  c.shape.dims[0] = rows->dims[0];
  return collect_in(&c, in[0]);
}
HIA_DEFINE_OPERATION(COLLECT_ROWS, collect_rows)

static hia_status touched(HIA_COMPUTE) {
  collecting c = begin(env, in[1], r, why);
  (void)o;
  size_t bytes = ((size_t)c.own_rows + 63) / 64 * sizeof *c.touched;
  bool are_all = false;
  use_few(&c.pending);
  if (bytes && !(c.touched = hiaR_heap_alloc(env->local, bytes))) return HIA_MEMORY;
  if (bytes) memset(c.touched, 0, bytes);
  hia_status status = touch_all(&c, in[0], &are_all);
  if (!status) status = list_touched(&c, are_all);
  if (bytes) hiaR_heap_release(env->local, c.touched, bytes);
  end(&c);
  return status;
}
HIA_DEFINE_OPERATION(TOUCHED, touched)
