/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of optimizers over arrays (include/hiaton/training.h has the equations).
 *
 * The bits are the same on all machines: each operation rounds by itself to the dtype, and all of
 * them are such that IEEE 754 defines the result. */
#ifndef HIA_PARAM_UPDATE_H
#define HIA_PARAM_UPDATE_H

#include "runtime/base/base.h"

/* The numbers are in checkpoints: new ones come behind these. */
typedef enum hia_update_kind {
  HIA_UPDATE_SGD,
  HIA_UPDATE_MOMENTUM, /* SGD with momentum */
  HIA_UPDATE_ADAGRAD,
  HIA_UPDATE_ADAM,
  HIA_UPDATE_ADAMW,
} hia_update_kind;
#define HIA_N_UPDATES       5
#define HIA_MAX_ACCUMULATED 2

typedef struct hia_update_info {
  const char *name;
  uint32_t n_accumulated;                       /* arrays of the state, as large as the param */
  const char *accumulated[HIA_MAX_ACCUMULATED]; /* their names */
} hia_update_info;
extern const hia_update_info hiaR_updates[HIA_N_UPDATES];

/* Each is rounded once, to the dtype. */
typedef struct hia_coefficients {
  double scale; /* of gradients, before all else */
  double rate;  /* of ADAM and ADAMW divided by 1 - beta1^t */
  double decay; /* of ADAMW times the rate */
  double momentum;
  double beta1, rest1, beta2, rest2; /* rest: 1 - beta */
  double root2;                      /* sqrt(1 - beta2^t) */
  double epsilon;
} hia_coefficients;

/* x^n, by multiplications in an order that n defines. */
double hiaR_power(double x, uint64_t n);

/* to[i] becomes the next value of w[i], for i < n: of the gradient g, and of the state, which is
 * advanced. No two of the arrays overlap. Any thread. */
typedef void hia_update(const hia_coefficients *c, size_t n, const void *w, const void *g,
                        void *const accumulated[HIA_MAX_ACCUMULATED], void *to);
/* is_advanced: the function leaves the state as it is, since it has been advanced by g already. */
hia_update *hiaR_update(hia_update_kind kind, hia_dtype dtype, bool is_advanced);

/* The sum of the squares of n elements, f32 or f64, in f64. Element i is added to partial sum i mod
 * 16, in the order of i; then sum l + 8 is added to sum l, for l < 8; then l + 4 to l, for l < 4;
 * l + 2; l + 1. */
double hiaR_sum_of_squares(hia_dtype dtype, size_t n, const void *x);

/* What update_plain.c and update_avx2.c define: the latter is compiled for such machines. */
typedef struct hia_update_set {
  hia_update *const (*updates[2])[2]; /* is it f64; kind; is_advanced */
  double (*sums_of_squares[2])(size_t n, const void *x);
} hia_update_set;
extern const hia_update_set hiaR_updates_plain, hiaR_updates_avx2;

#endif
