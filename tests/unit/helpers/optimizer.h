/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Optimizers, their params, and a model of both that computes element by element. */
#ifndef HELPER_OPTIMIZER_H
#define HELPER_OPTIMIZER_H

#include "runtime/param/random.h"
#include "runtime/train/optimizing.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <hiaton/params.h>
#include <math.h>
#include <stdlib.h>

static const hia_param_spec specs[] = {
    {"W", HIA_F32, HIA_INIT_GLOROT_UNIFORM, 0, 0, {2, {30, 60}}},
    {"E", HIA_F32, HIA_INIT_UNIFORM, -1, 1, {2, {40, 6}}},
    {"D", HIA_F64, HIA_INIT_UNIFORM, -1, 1, {3, {20, 3, 5}}},
    {"s", HIA_F32, HIA_INIT_NORMAL, 0, 1, {0}},
    {"t", HIA_F64, HIA_INIT_NORMAL, 0, 1, {0}},
    {"none", HIA_F32, HIA_INIT_UNIFORM, 0, 1, {2, {0, 3}}},
    {"thin", HIA_F64, HIA_INIT_UNIFORM, 0, 1, {2, {4, 0}}},
    {"z", HIA_F32, HIA_INIT_FULL, 2, 0, {1, {17}}},
};
enum { W, E, D, S, T, NONE, THIN, Z, N, MAX = 1800, MAX_ROWS = 40 };

static inline size_t count_of(uint32_t i) {
  size_t n = 1;
  for (uint32_t k = 0; k < specs[i].shape.rank; k++) n *= (size_t)specs[i].shape.dims[k];
  return n;
}
static inline size_t row_of(uint32_t i) {
  return count_of(i) ? count_of(i) / (size_t)specs[i].shape.dims[0] : 0;
}
static inline size_t size_of(uint32_t i) {
  return count_of(i) * (specs[i].dtype == HIA_F32 ? 4 : 8);
}

/* ---- the model ---- */

/* Elements of either dtype, as doubles. */
typedef struct model {
  double w[N][MAX], a[N][MAX], b[N][MAX];
  uint64_t steps;
} model;

#define DEFINE_FOLLOW(NAME, REAL, ROOT)                                                            \
  static inline void NAME(const hia_trainer_options *x, uint64_t t, double scale, double gradient, \
                          double *w_at, double *a_at, double *b_at) {                              \
    REAL w = (REAL) * w_at, a = (REAL) * a_at, b = (REAL) * b_at, g = (REAL)gradient;              \
    double left1 = 1 - hiaR_power(x->beta1, t), left2 = 1 - hiaR_power(x->beta2, t);               \
    if (scale != 1) g = g * (REAL)scale;                                                           \
    if (x->optimizer == HIA_ADAMW)                                                                 \
      w = w - (REAL)(x->rate * x->decay) * w;                                                      \
    else                                                                                           \
      g = g + (REAL)x->decay * w;                                                                  \
    switch (x->optimizer) {                                                                        \
    case HIA_SGD:                                                                                  \
      a = x->momentum > 0 ? (REAL)x->momentum * a + g : g;                                         \
      w = w - (REAL)x->rate * a;                                                                   \
      break;                                                                                       \
    case HIA_ADAGRAD:                                                                              \
      a = a + g * g;                                                                               \
      w = w - (REAL)x->rate * g / (ROOT(a) + (REAL)x->epsilon);                                    \
      break;                                                                                       \
    case HIA_ADAMW:                                                                                \
    case HIA_ADAM:                                                                                 \
      a = (REAL)x->beta1 * a + (REAL)(1 - x->beta1) * g;                                           \
      b = (REAL)x->beta2 * b + (REAL)(1 - x->beta2) * g * g;                                       \
      w = w - (REAL)(x->rate / left1) * a / (ROOT(b) / (REAL)sqrt(left2) + (REAL)x->epsilon);      \
      break;                                                                                       \
    }                                                                                              \
    *w_at = w, *a_at = a, *b_at = b;                                                               \
  }
DEFINE_FOLLOW(follow_f32, float, sqrtf)
DEFINE_FOLLOW(follow_f64, double, sqrt)

static inline double element(uint32_t i, const void *elements, size_t k) {
  return specs[i].dtype == HIA_F32 ? ((const float *)elements)[k] : ((const double *)elements)[k];
}

static inline void model_read(model *m, hia_params *cell) {
  hia_param_state *now;
  cr_assert_eq(hiaR_params_hold(cell, NULL, NULL, &now), HIA_OK);
  for (uint32_t i = 0; i < N; i++)
    for (size_t k = 0; k < count_of(i); k++)
      m->w[i][k] = element(i, hiaR_state_elements(now, i), k);
  hiaR_state_release(now);
}

static inline void model_follow(model *m, const hia_trainer_options *x, double scale, uint32_t i,
                                size_t k, double gradient) {
  (specs[i].dtype == HIA_F32 ? follow_f32 : follow_f64)(x, m->steps + 1, scale, gradient,
                                                        &m->w[i][k], &m->a[i][k], &m->b[i][k]);
}

static inline void model_step(model *m, const hia_trainer_options *x,
                              const hia_param_gradient *gradients, double norm) {
  double scale = x->max_norm > 0 && norm > x->max_norm ? x->max_norm / norm : 1;
  for (uint32_t i = 0; i < N; i++) {
    const hia_param_gradient *g = &gradients[i];
    if (!g->is_given) continue;
    size_t n = g->is_by_row ? g->n_rows * row_of(i) : count_of(i);
    for (size_t k = 0; k < n; k++) {
      size_t at = g->is_by_row ? (size_t)g->rows[k / row_of(i)] * row_of(i) + k % row_of(i) : k;
      model_follow(m, x, scale, i, at, element(i, g->elements, k));
    }
  }
  m->steps++;
}

/* ---- worlds ---- */

typedef struct gradients {
  hia_param_gradient of[N];
  int64_t rows[N][MAX_ROWS];
  double elements[N][MAX];
} gradients;

/* Params, an optimizer, and the model of both. */
typedef struct world {
  test_heap heap, own; /* of the cell, of the optimizer */
  hia_params cell;
  hia_optimizing *o;
  hia_trainer_options options;
  model model;
  gradients g;
} world;

static const struct {
  const char *name;
  hia_trainer_options options;
} kinds[] = {
    {"sgd", {sizeof(hia_trainer_options), HIA_SGD, 0.1, 0, 0.9, 0.999, 1e-8, 0.01, 0}},
    {"momentum", {sizeof(hia_trainer_options), HIA_SGD, 0.1, 0.7, 0.9, 0.999, 1e-8, 0.01, 0}},
    {"adagrad", {sizeof(hia_trainer_options), HIA_ADAGRAD, 0.05, 0, 0.9, 0.999, 1e-8, 0.01, 0}},
    {"adam", {sizeof(hia_trainer_options), HIA_ADAM, 0.01, 0, 0.9, 0.999, 1e-8, 0.01, 0}},
    {"adamw", {sizeof(hia_trainer_options), HIA_ADAMW, 0.01, 0, 0.8, 0.99, 1e-6, 0.3, 0}},
};

static inline world *world_new(const hia_trainer_options *options) {
  world *x = calloc(1, sizeof *x);
  test_heap_init(&x->heap, -1);
  test_heap_init(&x->own, -1);
  x->cell = (hia_params){.n = N, .specs = specs, .allocator = &x->heap.allocator, .seed = 4};
  x->options = *options;
  cr_assert_eq(hiaR_optimizing_new(specs, N, options, &x->own.allocator, &x->o), HIA_OK);
  model_read(&x->model, &x->cell);
  return x;
}

static inline void world_free(world *x) {
  hiaR_optimizing_free(x->o);
  hiaR_params_set(&x->cell, NULL);
  cr_assert(!x->heap.blocks && !x->own.blocks, "%ld, %ld blocks", (long)x->heap.blocks,
            (long)x->own.blocks);
  free(x);
}

static inline void check_now(world *x, const char *what, uint64_t at) {
  hia_param_state *now;
  cr_assert_eq(hiaR_params_hold(&x->cell, NULL, NULL, &now), HIA_OK);
  for (uint32_t i = 0; i < N; i++)
    for (size_t k = 0; k < count_of(i); k++) {
      double is = element(i, hiaR_state_elements(now, i), k), wanted = x->model.w[i][k];
      cr_assert(memcmp(&is, &wanted, sizeof is) == 0, "%s, step %llu: %s[%zu] is %a, not %a", what,
                (unsigned long long)at, specs[i].name, k, is, wanted);
    }
  cr_assert_eq(hiaR_state_words(now)[S] >> 32, 0);
  cr_assert_eq(hiaR_optimizing_steps(x->o), x->model.steps);
  hiaR_state_release(now);
}

/* Gives a gradient of all, or of each row with a probability of `eighths` / 8. */
static inline void give(world *x, uint64_t seed, uint32_t i, bool is_by_row, unsigned eighths) {
  gradients *g = &x->g;
  hia_param_gradient *of = &g->of[i];
  *of = (hia_param_gradient){.is_given = true, .is_by_row = is_by_row, .elements = g->elements[i]};
  hiaR_random_uniform(seed, specs[i].name, specs[i].dtype, -1, 1, 0, count_of(i), g->elements[i]);
  if (!is_by_row) return;
  double chances[MAX_ROWS];
  hiaR_random_uniform(seed, "rows", HIA_F64, 0, 8, 0, MAX_ROWS, chances);
  of->rows = g->rows[i];
  for (int64_t row = 0; row < specs[i].shape.dims[0]; row++)
    if (chances[row] < eighths) g->rows[i][of->n_rows++] = row;
}

static inline void give_all(world *x, uint64_t seed) {
  for (uint32_t i = 0; i < Z; i++) give(x, seed, i, false, 0);
  x->g.of[Z] = (hia_param_gradient){.is_given = false};
}

static inline hia_status step_alone(world *x) {
  double norm = hiaR_gradients_norm(specs, N, x->g.of);
  return hiaR_optimizing_step(x->o, &x->cell, x->g.of, norm);
}

static inline void step(world *x) {
  cr_assert_eq(step_alone(x), HIA_OK);
  model_step(&x->model, &x->options, x->g.of, hiaR_gradients_norm(specs, N, x->g.of));
}

static inline hia_param_state *hold(world *x) {
  hia_param_state *now;
  cr_assert_eq(hiaR_params_hold(&x->cell, NULL, NULL, &now), HIA_OK);
  return now;
}

static inline void set_by_host(world *x, uint32_t i, uint64_t seed) {
  double elements[MAX];
  hiaR_random_uniform(seed, "host", specs[i].dtype, -1, 1, 0, count_of(i), elements);
  cr_assert_eq(hiaR_params_put(&x->cell, i, elements, NULL), HIA_OK);
  for (size_t k = 0; k < count_of(i); k++) x->model.w[i][k] = element(i, elements, k);
}

/* ---- runs ---- */

typedef struct held {
  hia_param_state *state;
  double w[N][MAX];
} held;

static inline void hold_one(world *x, held *h) {
  h->state = hold(x);
  memcpy(h->w, x->model.w, sizeof h->w);
}

/* What a run sees never changes. */
static inline void release_one(held *h) {
  if (!h->state) return;
  for (uint32_t i = 0; i < N; i++)
    for (size_t k = 0; k < count_of(i); k++)
      cr_assert_eq(element(i, hiaR_state_elements(h->state, i), k), h->w[i][k], "%s[%zu]",
                   specs[i].name, k);
  hiaR_state_release(h->state);
  h->state = NULL;
}

#endif
