/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What the files that collect a sum share: collect.c says what they do. */
#ifndef HIA_COLLECT_H
#define HIA_COLLECT_H

#include "runtime/base/sums.h"
#include "runtime/kernel/product.h"
#include "runtime/tensor/operands.h"

/* ---- the objects of a sum ---- */

/* In memory references come first, then an i64, then a scalar (base/type.h): the fields of all
 * constructors are at these indices, and what the greatest ones have more is behind them. */
enum {
  HIA_SUM_FIRST = sizeof(hia_counted),
  HIA_SUM_SECOND = HIA_SUM_FIRST + sizeof(hia_word),
  HIA_SUM_THIRD = HIA_SUM_SECOND + sizeof(hia_word),
};

static inline hia_word hiaR_sum_word(hia_word ref, uint32_t at) {
  return hiaR_load(HIA_REPR_REF, (const char *)hiaR_object(ref) + at);
}
static inline const hia_tensor *hiaR_sum_tensor(hia_word ref, uint32_t at) {
  return hiaR_tensor(hiaR_sum_word(ref, at));
}

/* The number of tensors that a constructor has, which are its first fields. */
static inline uint32_t hiaR_sum_n_tensors(hia_sum_ctor ctor) {
  switch (ctor) {
  case HIA_SUM_DENSE:
  case HIA_SUM_DENSE_THEN: return 1;
  case HIA_SUM_ROWS:
  case HIA_SUM_OUTER:
  case HIA_SUM_PRODUCTS:
  case HIA_SUM_OUTER_THEN: return 2;
  case HIA_SUM_PAIR:
  case HIA_SUM_PAIR_THEN: return 3;
  default: return 0;
  }
}
static inline uint32_t hiaR_sum_field(uint32_t i) {
  return HIA_SUM_FIRST + i * (uint32_t)sizeof(hia_word);
}
/* Behind the tensors, the first of the two sums that come behind the part; 0: the constructor has
 * none. */
static inline uint32_t hiaR_sum_then(hia_sum_ctor ctor) {
  bool has_then =
      ctor == HIA_SUM_DENSE_THEN || ctor == HIA_SUM_OUTER_THEN || ctor == HIA_SUM_PAIR_THEN;
  return has_then ? hiaR_sum_field(hiaR_sum_n_tensors(ctor)) : 0;
}

/* False: a tensor is missing. Only an image that was tampered with has such sums. */
static inline bool hiaR_sum_is_sound(hia_word sum) {
  bool is_sound = true;
  for (uint32_t i = hiaR_sum_n_tensors((hia_sum_ctor)hiaR_object(sum)->ctor); i-- > 0;)
    is_sound &= hiaR_sum_word(sum, hiaR_sum_field(i)) >= HIA_FIRST_ADDRESS;
  return is_sound;
}

/* ---- what is being collected ---- */

/* What a part of the sum is added to: rows of the tensor's axis `axis`, from an element on. */
typedef struct hia_collect_window {
  uint64_t at;
  int64_t rows;
  uint32_t axis;
  bool is_part; /* what is added may have fewer rows */
} hia_collect_window;

/* Outer products that are yet to be added. Their vectors are where the sum has them. */
enum { HIA_COLLECT_OUTERS = 240 };
typedef struct hia_collect_gathered {
  uint64_t at; /* the element to which they are added */
  /* The lengths of the vectors. Those of the second operand may be in two parts, of which the one
   * behind has n_behind elements, or 0. */
  uint64_t m, n, n_behind;
  uint64_t k, most;                  /* how many; and how many are added at a time */
  const char **a_at, **b_at, **c_at; /* HIA_COLLECT_OUTERS each; c_at: what is behind b_at */
  /* The sum of those that were added, transposed, n x m, instead of the result; NULL: there is none
   */
  char *turned;
  bool is_begun; /* it has some */
} hia_collect_gathered;

/* What is still to be visited, a word each: a part of the sum, which is not NOTHING; or, in three
 * words, a window to which to return, of which the last is a number below HIA_FIRST_ADDRESS. */
typedef struct hia_collect_pending {
  hia_word few[64], *words;
  size_t n, size;
} hia_collect_pending;

/* What is added next: a part of the sum, and the window to which it is added. */
typedef struct hia_collect_coming {
  hia_word sum;
  hia_collect_window window;
} hia_collect_coming;

/* These come in the order in which they are added. Each is read so many parts before that. */
enum { HIA_COLLECT_AHEAD = 8 };
typedef struct hia_collect_line {
  hia_collect_coming of[HIA_COLLECT_AHEAD]; /* part i is at i % HIA_COLLECT_AHEAD */
  uint64_t begin, end;
} hia_collect_line;

typedef struct hia_collecting {
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
  hia_collect_window window;
  hia_collect_pending pending;
  hia_collect_line line;
  hia_collect_gathered gathered;
  hia_result *result;
  hia_misfortune *why;
  hia_word only; /* a tensor to which the result is equal so far, or 0 */
} hia_collecting;

static inline char *hiaR_collect_element(const hia_collecting *c, uint64_t at) {
  return c->result->data + at * c->element;
}

static inline bool hiaR_collect_has_result(const hia_collecting *c) { return c->result->word != 0; }
/* Nothing was added yet. */
static inline bool hiaR_collect_is_empty(const hia_collecting *c) {
  return !hiaR_collect_has_result(c) && !c->only && !c->gathered.turned;
}

/* collect_result.c: makes room for one more word on the stack. False: no memory. */
bool hiaR_collect_grow(hia_collecting *c);
/* Later this part of the sum is visited, or what else the word stands for. False: no memory. */
static inline bool hiaR_collect_push(hia_collecting *c, hia_word word) {
  if (HIA_UNLIKELY(c->pending.n == c->pending.size) && !hiaR_collect_grow(c)) return false;
  c->pending.words[c->pending.n++] = word;
  return true;
}

/* ---- collect_result.c ---- */

/* Makes the result, without its elements. */
hia_status hiaR_collect_make_result(hia_collecting *c);
/* Before something is added to a part of the result: its elements are there. */
hia_status hiaR_collect_need_elements(hia_collecting *c);
/* Frees the transposed sum, if there is one. */
void hiaR_collect_free_turned(hia_collecting *c);

/* ---- collect_outer.c ---- */

/* Adds what was noted. */
hia_status hiaR_collect_add_gathered(hia_collecting *c);
/* A vector of some elements, which may be none. */
typedef struct hia_collect_vector {
  const char *at;
  uint64_t n;
} hia_collect_vector;
/* Notes the outer product of two vectors, of which the second one is b and what is `behind` it, for
 * the elements at the window. None but `behind` is empty. */
hia_status hiaR_collect_gather(hia_collecting *c, hia_collect_vector a, hia_collect_vector b,
                               hia_collect_vector behind);
/* Adds a product at an element. */
hia_status hiaR_collect_add_product(hia_collecting *c, uint64_t at, hia_product *p);

/* ---- collect_visit.c ---- */

/* HIA_SHAPE: rows from .. from + n are not all there. */
hia_status hiaR_collect_wrong_rows(const hia_collecting *c, int64_t from, int64_t n);
/* The two sums that a part has at a field and the next one are visited next. */
hia_status hiaR_collect_visit_both(hia_collecting *c, hia_word sum, uint32_t first);
/* Adds all of a sum. */
hia_status hiaR_collect_walk(hia_collecting *c, hia_word sum);

/* ---- collect_tiles.c ---- */

/* If the sum consists of parts that are tensors, and these are all of the result, one behind the
 * other, it is made of them, and *is_done is true. */
hia_status hiaR_collect_tiles(hia_collecting *c, hia_word sum, bool *is_done);

/* ---- collect_touched.c ---- */

/* The result becomes the numbers of the rows that the sum touches. `touched` is zeroed. */
hia_status hiaR_collect_touched(hia_collecting *c, hia_word sum);

#endif
