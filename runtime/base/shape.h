/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The shapes of tensors, and how those of results follow from those of operands. Pure functions,
 * for the frontend, to which a size may be known by name or not at all, and for kernels, which know
 * them all. Any thread.
 *
 * Each rule writes the shape of the result and returns whether the operands fit: always, never, or
 * only for some values of the sizes that are not known; then it is to be called again when they
 * are. A rule that returns NEVER writes no result, but the mistake.
 * hiaR_misfit_rejects says whether a program is rejected for it; other mistakes are failures of a
 * run, even where all sizes are known before. */
#ifndef HIA_SHAPE_H
#define HIA_SHAPE_H

#include "runtime/base/base.h"

/* ---- dims and shapes ---- */

/* A size: a number from 0, the name of one, or unknown. Equal names are equal sizes. */
typedef int64_t hia_dim;
#define HIA_DIM_UNKNOWN       ((hia_dim) - 1)
#define HIA_DIM_NAMED(number) (-2 - (hia_dim)(uint32_t)(number))
static inline bool hiaR_dim_is_number(hia_dim d) { return d >= 0; }
static inline bool hiaR_dim_is_named(hia_dim d) { return d < -1; }
static inline uint32_t hiaR_dim_name(hia_dim d) { return (uint32_t)(-2 - d); }

#define HIA_MAX_RANK 16

/* The shape of a tensor. (A hia_shape is that of an object in memory: heap/object.h.) */
typedef struct hia_dims {
  uint32_t rank; /* 0: a scalar */
  hia_dim dims[HIA_MAX_RANK];
} hia_dims;

/* ---- whether operands fit ---- */

typedef enum hia_fit {
  HIA_FIT_ALWAYS,
  HIA_FIT_SOMETIMES, /* it depends on sizes that are not known, as far as one dim shows */
  HIA_FIT_NEVER
} hia_fit;

typedef enum hia_misfit_kind {
  HIA_MISFIT_DIM,      /* an axis of the one shape and an axis of the other must be equal */
  HIA_MISFIT_RANK,     /* the rank of `a` must be another, or the same as that of `b` */
  HIA_MISFIT_AXIS,     /* `a` has no axis of this number */
  HIA_MISFIT_RANGE,    /* of a slice of `a`: not 0 <= from <= to <= length */
  HIA_MISFIT_COUNT,    /* a and b must have equally many elements */
  HIA_MISFIT_LARGE,    /* the result has more elements than fit in memory of 2^63 bytes */
  HIA_MISFIT_TOO_DEEP, /* the result would have a rank above HIA_MAX_RANK */
  HIA_MISFIT_NEGATIVE  /* a size that the program has computed, that of an axis, is below 0 */
} hia_misfit_kind;

/* What does not fit. Operands are numbered from 0. */
typedef struct hia_misfit {
  hia_misfit_kind kind;
  uint32_t operand_a, operand_b; /* equal: there is only one */
  uint32_t axis_a, axis_b;       /* DIM: of a and b; AXIS: of a; NEGATIVE: which size */
  int64_t from, to;              /* RANGE; NEGATIVE: from is the size */
  hia_dims a, b;                 /* LARGE, TOO_DEEP: a is the first operand; whole shapes */
} hia_misfit;

/* True for a mistake in the ranks, and for two dims that must be equal and are different numbers.
 */
static inline bool hiaR_misfit_rejects(const hia_misfit *m) {
  return m->kind == HIA_MISFIT_DIM || m->kind == HIA_MISFIT_RANK || m->kind == HIA_MISFIT_AXIS ||
         m->kind == HIA_MISFIT_TOO_DEEP;
}

/* The names of dims, for messages; `text` may be NULL: they are shown as `?`. */
typedef struct hia_dim_names {
  const char *(*text)(const void *user, uint32_t name);
  const void *user;
} hia_dim_names;
/* "f32[3, 4]", cut to the buffer; "f32" of a scalar. */
void hiaR_shape_describe(hia_dtype dtype, const hia_dims *shape, char *buf, size_t size);
void hiaR_shape_print(const hia_dims *shape, const hia_dim_names *names, hia_text *out);
/* One sentence without a point: "axis 1 of [3, 4] is 4, axis 0 of [5] is 5". */
void hiaR_misfit_print(const hia_misfit *misfit, const hia_dim_names *names, hia_text *out);

/* ---- rules ----
 * `out` may be one of the operands. `misfit` may be NULL: the caller does not need it. */

/* Elementwise: shapes are aligned at their last axes; where one is 1 or missing, the other's. Of no
 * operands: a scalar. */
hia_fit hiaR_shape_broadcast(const hia_dims *ins, uint32_t n, hia_dims *out, hia_misfit *misfit);
/* The shape of an op on scalars that is lifted. NEVER without a misfit being written for any other;
 * hiaR_ops says which. */
hia_fit hiaR_shape_of_op(unsigned op, const hia_dims *ins, hia_dims *out, hia_misfit *misfit);

/* x[i] with an index of this shape: a scalar selects along the first axis, others gather. */
hia_fit hiaR_shape_index(const hia_dims *x, const hia_dims *index, hia_dims *out,
                         hia_misfit *misfit);
/* x[from..to]; an end that is not known is negative: HIA_DIM_UNKNOWN. */
hia_fit hiaR_shape_slice(const hia_dims *x, int64_t from, int64_t to, hia_dims *out,
                         hia_misfit *misfit);
/* Along one axis, which the result lacks; HIA_ALL_AXES: a scalar. That a maximum of no elements
 * fails is no matter of shapes. */
#define HIA_ALL_AXES UINT32_MAX
hia_fit hiaR_shape_reduce(const hia_dims *x, uint32_t axis, hia_dims *out, hia_misfit *misfit);
/* x @ y as NumPy's matmul: vectors on either side, and leading axes that broadcast. */
hia_fit hiaR_shape_product(const hia_dims *x, const hia_dims *y, hia_dims *out, hia_misfit *misfit);
hia_fit hiaR_shape_outer(const hia_dims *x, const hia_dims *y, hia_dims *out, hia_misfit *misfit);
/* Join n >= 1 shapes: one after the other along an axis; or along a new one. */
hia_fit hiaR_shape_concat(const hia_dims *ins, uint32_t n, uint32_t axis, hia_dims *out,
                          hia_misfit *misfit);
hia_fit hiaR_shape_stack(const hia_dims *ins, uint32_t n, uint32_t axis, hia_dims *out,
                         hia_misfit *misfit);
hia_fit hiaR_shape_transpose(const hia_dims *x, hia_dims *out, hia_misfit *misfit);
/* To a shape with as many elements. */
hia_fit hiaR_shape_reshape(const hia_dims *x, const hia_dims *to, hia_dims *out,
                           hia_misfit *misfit);
/* The shape of n sizes that the program has computed, n <= HIA_MAX_RANK: numbers all. */
hia_fit hiaR_shape_of_sizes(const int64_t *sizes, uint32_t n, hia_dims *out, hia_misfit *misfit);
/* x, whose dims must be those of `wanted` where these are known. */
hia_fit hiaR_shape_expect(const hia_dims *x, const hia_dims *wanted, hia_dims *out,
                          hia_misfit *misfit);
/* An element of each row along the last axis of x: the shape of x without that axis, which the
 * labels must have. */
hia_fit hiaR_shape_labels(const hia_dims *x, const hia_dims *labels, hia_dims *out,
                          hia_misfit *misfit);
/* x with v in the place of x[i]. */
hia_fit hiaR_shape_set(const hia_dims *x, const hia_dims *v, hia_dims *out, hia_misfit *misfit);

/* What branches, arms, rounds and elements have together: a dim in which they differ is unknown.
 * False: the ranks differ. */
bool hiaR_shape_join(const hia_dims *a, const hia_dims *b, hia_dims *out);

/* What was asked of an array, or of the first axis of a tensor, that does not have it. */
typedef struct hia_range {
  int64_t first;  /* the index; or the beginning of a slice */
  int64_t end;    /* of a slice; of an element 0 */
  int64_t length; /* of the array */
} hia_range;

/* What it was asked of. */
typedef enum hia_range_of {
  HIA_RANGE_OF_ARRAY,
  HIA_RANGE_OF_VECTOR, /* a tensor of rank 1 */
  HIA_RANGE_OF_ROWS,   /* a tensor of a higher rank */
  HIA_RANGE_OF_RESULT, /* the index of the 1 of a one_hot */
  HIA_RANGE_OF_LABELS, /* the logits that a label chooses from */
} hia_range_of;
/* The code of the failure: of hia_failure. */
static inline uint32_t hiaR_range_code(hia_range_of of, bool is_slice) {
  return (uint32_t)of << 1 | is_slice;
}

/* ---- sizes of memory ---- */

/* The number of elements of a shape of numbers: 1 for a scalar, 0 if any dim is. False: the product
 * of the dims that are not 0, times `size`, is above INT64_MAX (so that of any part of the axes
 * fits too), or a dim is no number. */
bool hiaR_shape_elements(const hia_dims *shape, uint64_t size, uint64_t *n);

#endif
