/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The body of update_plain.c and update_avx2.c, which define SET. It includes itself for each
 * dtype: then REAL is its type in C, SQRT its square root, and NAME makes names.
 *
 * Loops are such that compilers make vectors of them: they have no branches, since the flags are
 * constants wherever these functions are inlined. Multiplications are in the order in which the
 * equations are written. */
#ifndef REAL
#include "runtime/train/update.h"
#include <math.h>

enum { LANES = 16 };

#define REAL       float
#define SQRT       sqrtf
#define NAME(name) name##_f32
#include "runtime/train/update_body.h"

#define REAL       double
#define SQRT       sqrt
#define NAME(name) name##_f64
#include "runtime/train/update_body.h"

const hia_update_set SET = {{updates_f32, updates_f64}, {sum_of_squares_f32, sum_of_squares_f64}};

#else

static inline void NAME(sgd)(const hia_coefficients *c, size_t n, const REAL *restrict w,
                             const REAL *restrict g, REAL *restrict to) {
  const REAL scale = (REAL)c->scale, rate = (REAL)c->rate, decay = (REAL)c->decay;
  for (size_t i = 0; i < n; i++) {
    REAL gradient = g[i] * scale + decay * w[i];
    to[i] = w[i] - rate * gradient;
  }
}

static inline void NAME(momentum)(bool is_advanced, const hia_coefficients *c, size_t n,
                                  const REAL *restrict w, const REAL *restrict g, REAL *restrict v,
                                  REAL *restrict to) {
  const REAL scale = (REAL)c->scale, rate = (REAL)c->rate, decay = (REAL)c->decay,
             momentum = (REAL)c->momentum;
  for (size_t i = 0; i < n; i++) {
    REAL gradient = g[i] * scale + decay * w[i];
    if (!is_advanced) v[i] = momentum * v[i] + gradient;
    to[i] = w[i] - rate * v[i];
  }
}

static inline void NAME(adagrad)(bool is_advanced, const hia_coefficients *c, size_t n,
                                 const REAL *restrict w, const REAL *restrict g, REAL *restrict s,
                                 REAL *restrict to) {
  const REAL scale = (REAL)c->scale, rate = (REAL)c->rate, decay = (REAL)c->decay,
             epsilon = (REAL)c->epsilon;
  for (size_t i = 0; i < n; i++) {
    REAL gradient = g[i] * scale + decay * w[i];
    if (!is_advanced) s[i] = s[i] + gradient * gradient;
    to[i] = w[i] - rate * gradient / (SQRT(s[i]) + epsilon);
  }
}

static inline void NAME(adam)(bool is_decoupled, bool is_advanced, const hia_coefficients *c,
                              size_t n, const REAL *restrict w, const REAL *restrict g,
                              REAL *restrict m, REAL *restrict v, REAL *restrict to) {
  const REAL scale = (REAL)c->scale, rate = (REAL)c->rate, decay = (REAL)c->decay,
             beta1 = (REAL)c->beta1, rest1 = (REAL)c->rest1, beta2 = (REAL)c->beta2,
             rest2 = (REAL)c->rest2, root2 = (REAL)c->root2, epsilon = (REAL)c->epsilon;
  for (size_t i = 0; i < n; i++) {
    REAL from = w[i], gradient = g[i] * scale;
    if (is_decoupled)
      from = from - decay * from;
    else
      gradient = gradient + decay * from;
    if (!is_advanced) {
      m[i] = beta1 * m[i] + rest1 * gradient;
      v[i] = beta2 * v[i] + rest2 * gradient * gradient;
    }
    to[i] = from - rate * m[i] / (SQRT(v[i]) / root2 + epsilon);
  }
}

#define DEFINE(name, call)                                                                         \
  static void NAME(name)(const hia_coefficients *c, size_t n, const void *w, const void *g,        \
                         void *const accumulated[HIA_MAX_ACCUMULATED], void *to) {                 \
    (void)accumulated;                                                                             \
    call;                                                                                          \
  }
DEFINE(make_sgd, NAME(sgd)(c, n, w, g, to))
DEFINE(make_momentum, NAME(momentum)(false, c, n, w, g, accumulated[0], to))
DEFINE(make_adagrad, NAME(adagrad)(false, c, n, w, g, accumulated[0], to))
DEFINE(make_adam, NAME(adam)(false, false, c, n, w, g, accumulated[0], accumulated[1], to))
DEFINE(make_adamw, NAME(adam)(true, false, c, n, w, g, accumulated[0], accumulated[1], to))
DEFINE(redo_momentum, NAME(momentum)(true, c, n, w, g, accumulated[0], to))
DEFINE(redo_adagrad, NAME(adagrad)(true, c, n, w, g, accumulated[0], to))
DEFINE(redo_adam, NAME(adam)(false, true, c, n, w, g, accumulated[0], accumulated[1], to))
DEFINE(redo_adamw, NAME(adam)(true, true, c, n, w, g, accumulated[0], accumulated[1], to))
#undef DEFINE

static hia_update *const NAME(updates)[HIA_N_UPDATES][2] = {
    [HIA_UPDATE_SGD] = {NAME(make_sgd), NAME(make_sgd)},
    [HIA_UPDATE_MOMENTUM] = {NAME(make_momentum), NAME(redo_momentum)},
    [HIA_UPDATE_ADAGRAD] = {NAME(make_adagrad), NAME(redo_adagrad)},
    [HIA_UPDATE_ADAM] = {NAME(make_adam), NAME(redo_adam)},
    [HIA_UPDATE_ADAMW] = {NAME(make_adamw), NAME(redo_adamw)},
};

static double NAME(sum_of_squares)(size_t n, const void *elements) {
  const REAL *x = elements;
  double lanes[LANES] = {0};
  size_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (size_t l = 0; l < LANES; l++) lanes[l] += (double)x[i + l] * (double)x[i + l];
  for (size_t l = 0; i < n; i++, l++) lanes[l] += (double)x[i] * (double)x[i];
  for (size_t half = LANES / 2; half; half /= 2)
    for (size_t l = 0; l < half; l++) lanes[l] += lanes[l + half];
  return lanes[0];
}

#undef REAL
#undef SQRT
#undef NAME
#endif
