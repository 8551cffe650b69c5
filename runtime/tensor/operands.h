/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of tensors share: operands, results, work. */
#ifndef HIA_TENSOR_OPERANDS_H
#define HIA_TENSOR_OPERANDS_H

#include "runtime/tensor/kernels.h"
#include <math.h>

/* ---- operands ---- */

static inline bool hiaR_operand_is_tensor(const hia_operation *o, uint32_t i) {
  return o->tensors >> (i < 63 ? i : 63) & 1;
}
static inline bool hiaR_operand_is_taken(const hia_operation *o, uint32_t i) {
  return o->takes >> (i < 63 ? i : 63) & hiaR_operand_is_tensor(o, i);
}
static inline hia_dims hiaR_operand_dims(const hia_operation *o, const hia_word *in, uint32_t i) {
  return hiaR_dims_of(in[i], hiaR_operand_is_tensor(o, i));
}
static inline bool hiaR_dims_equal(const hia_dims *a, const hia_dims *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}
/* The status of a rule. */
static inline hia_status hiaR_fit_status(hia_fit fit) {
  return fit == HIA_FIT_ALWAYS ? HIA_OK : HIA_SHAPE;
}
static inline hia_status hiaR_out_of_range(hia_misfortune *why, hia_range_of of, int64_t first,
                                           int64_t length) {
  why->range = (hia_range){first, 0, length};
  why->is_slice = false;
  why->of = of;
  return HIA_RANGE;
}

/* What an index of the first axis, or a slice, is asked of. */
static inline hia_range_of hiaR_range_of(const hia_tensor *t) {
  return hiaR_tensor_rank(t) == 1 ? HIA_RANGE_OF_VECTOR : HIA_RANGE_OF_ROWS;
}

/* ---- results ----
 *
 * An operation fills in a result, which is empty at first, and ends with hiaR_result_end. */

typedef struct hia_result {
  hia_dtype dtype;
  bool is_tensor; /* else a scalar */
  hia_word word;  /* of a tensor: the reference, or 0 as long as there is none */
  char *data;     /* where the elements go; of a scalar the word below, or NULL: `word` is set */
  uint64_t scalar;
  uint32_t kept; /* the operand whose reference it has, or HIA_NONE */
} hia_result;
#define HIA_EMPTY_RESULT ((hia_result){.kept = HIA_NONE})

/* Makes a result whose elements are not set. False: no memory. */
static inline bool hiaR_result_new(const hia_env *env, hia_dtype dtype, const hia_dims *shape,
                                   hia_result *r) {
  r->dtype = dtype;
  r->is_tensor = shape->rank > 0;
  r->data = (char *)&r->scalar;
  if (!r->is_tensor) return true;
  if (!hiaR_tensor_new(env->local, dtype, shape, &r->word)) return false;
  r->data = hiaR_tensor(r->word)->data;
  return true;
}
/* Operand i is the result, or a tensor made in its place. */
static inline void hiaR_result_keep(const hia_env *env, const hia_operation *o, const hia_word *in,
                                    uint32_t i, hia_result *r) {
  hia_tensor *t = hiaR_tensor(in[i]);
  r->dtype = hiaR_tensor_dtype(t);
  r->is_tensor = true;
  r->word = in[i];
  r->data = t->data;
  if (hiaR_operand_is_taken(o, i))
    r->kept = i;
  else
    hiaR_dup(in[i], env->is_shared);
}
/* Drops the references that the operation takes and has not kept, and on failure the result. Else
 * the result becomes *out, which may be the place of an operand. */
static inline hia_status hiaR_result_end(const hia_env *env, const hia_operation *o,
                                         const hia_word *in, hia_status status, const hia_result *r,
                                         hia_word *out) {
  if (o->takes)
    for (uint32_t i = 0; i < o->n_in; i++)
      if (i != r->kept && hiaR_operand_is_taken(o, i))
        hiaR_tensor_drop(env->local, in[i], env->is_shared);
  if (status) {
    if (r->is_tensor && r->word) hiaR_tensor_drop(env->local, r->word, env->is_shared);
    return status;
  }
  bool is_computed = !r->is_tensor && r->data;
  *out = is_computed ? hiaR_load((hia_repr)r->dtype, &r->scalar) : r->word;
  return HIA_OK;
}

/* Defines an operation by a function that fills in its result. */
#define HIA_DEFINE_OPERATION(NAME, compute)                                                        \
  HIA_OPERATION(NAME) {                                                                            \
    hia_result r = HIA_EMPTY_RESULT;                                                               \
    hia_status status = compute(env, o, in, &r, why);                                              \
    return hiaR_result_end(env, o, in, status, &r, out);                                           \
  }
#define HIA_COMPUTE                                                                                \
  const hia_env *env, const hia_operation *o, const hia_word *in, hia_result *r, hia_misfortune *why

/* ---- work ----
 *
 * What takes long asks now and then whether the run must end. Work is counted in nanoseconds,
 * roughly. */

#ifdef HIA_STRESS
enum { HIA_WORK = 100 };
#else
enum { HIA_WORK = 100000 };
#endif

typedef struct hia_work {
  hia_heap *heap;
  uint64_t left; /* until the next question */
  bool is_over;  /* the run must end */
} hia_work;

static inline hia_work hiaR_work(const hia_env *env) {
  return (hia_work){.heap = env->local->heap, .left = HIA_WORK};
}
/* Before work that takes n: false if the run must end, which stays so. */
static inline bool hiaR_work_on(hia_work *work, uint64_t n) {
  if (HIA_LIKELY(n < work->left)) {
    work->left -= n;
    return true;
  }
  work->left = HIA_WORK;
  if (!work->is_over && hiaR_heap_must_end(work->heap)) work->is_over = true;
  if (work->is_over) work->left = 0;
  return !work->is_over;
}
/* The end of the piece of n elements that begins at i: what takes some nanoseconds an element can
 * end after each piece. */
static inline uint64_t hiaR_piece_end(uint64_t i, uint64_t n) {
  enum { PIECE = 4096 };
  return n - i < PIECE ? n : i + PIECE;
}
/* Sets to 0; in pieces, so that it can end. False: it must. */
static inline bool hiaR_work_clear(hia_work *work, char *to, uint64_t bytes) {
  enum { PIECE = 1 << 18 };
  while (bytes) {
    uint64_t n = bytes < PIECE ? bytes : PIECE;
    if (!hiaR_work_on(work, 1 + n / 8)) return false;
    memset(to, 0, n);
    to += n;
    bytes -= n;
  }
  return true;
}
/* part.c: writes n x m elements of `size` bytes as m x n; in the same way. */
bool hiaR_work_transpose(hia_work *work, uint32_t size, const void *from, void *to, uint64_t n,
                         uint64_t m);
/* Copies; in the same way. */
static inline bool hiaR_work_copy(hia_work *work, char *to, const char *from, uint64_t bytes) {
  enum { PIECE = 1 << 18 };
  while (bytes) {
    uint64_t n = bytes < PIECE ? bytes : PIECE;
    if (!hiaR_work_on(work, 1 + n / 8)) return false;
    memcpy(to, from, n);
    to += n;
    from += n;
    bytes -= n;
  }
  return true;
}

/* ---- of several files ---- */

/* fit.c: adds n elements to others, of a dtype that is not bool. False: the run must end. */
bool hiaR_work_add(hia_work *work, hia_dtype dtype, char *to, const char *from, uint64_t n);
/* True if the word of a float is NaN. */
static inline bool hiaR_is_nan(hia_dtype dtype, hia_word word) {
  return dtype == HIA_F32 ? isnan(hiaR_to_f32(word)) : isnan(hiaR_to_f64(word));
}
/* look.c: *at becomes the first element, from *at on, of a tensor of floats that is NaN; the number
 * of elements if there is none. False: the run must end. */
bool hiaR_work_find_nan(hia_work *work, const hia_tensor *t, uint64_t *at);
/* collect.c: *has: something that a sum consists of is NaN, or has one. HIA_MEMORY, HIA_CANCELLED.
 */
hia_status hiaR_sum_has_nan(const hia_env *env, hia_dtype dtype, uint32_t rank, hia_word sum,
                            bool *has);
/* reduce.c: the sums of x[a, i, c] over i, n of them; a goes to `before`, c to `behind`. False: the
 * run must end. */
bool hiaR_work_sum(hia_work *work, hia_dtype dtype, const char *x, uint64_t before, uint64_t n,
                   uint64_t behind, char *out);
/* product.c: a product, in the memory of the run; as large ones are computed in this run. `p->b` is
 * not packed. */
struct hia_product;
hia_status hiaR_work_multiply(const hia_env *env, struct hia_product *p, hia_work *work);

#endif
