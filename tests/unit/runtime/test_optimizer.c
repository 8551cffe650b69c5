/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: their equations, against a model that computes element by element; states of params
 * that are recycled; hosts that set params meanwhile; memory that runs out; checkpoints. */
#include "runtime/interchange/tensor_file.h"
#include "runtime/kernel/product.h"
#include "runtime/param/random.h"
#include "runtime/tensor/packed.h"
#include "runtime/train/optimizing.h"
#include "tests/unit/helpers/memory.h"
#include <criterion/criterion.h>
#include <hiaton/params.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

static size_t count_of(uint32_t i) {
  size_t n = 1;
  for (uint32_t k = 0; k < specs[i].shape.rank; k++) n *= (size_t)specs[i].shape.dims[k];
  return n;
}
static size_t row_of(uint32_t i) {
  return count_of(i) ? count_of(i) / (size_t)specs[i].shape.dims[0] : 0;
}
static size_t size_of(uint32_t i) { return count_of(i) * (specs[i].dtype == HIA_F32 ? 4 : 8); }

/* ---- the model ---- */

/* Elements of either dtype, as doubles. */
typedef struct model {
  double w[N][MAX], a[N][MAX], b[N][MAX];
  uint64_t steps;
} model;

#define DEFINE_FOLLOW(NAME, REAL, ROOT)                                                            \
  static void NAME(const hia_trainer_options *x, uint64_t t, double scale, double gradient,        \
                   double *w_at, double *a_at, double *b_at) {                                     \
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

static double element(uint32_t i, const void *elements, size_t k) {
  return specs[i].dtype == HIA_F32 ? ((const float *)elements)[k] : ((const double *)elements)[k];
}

static void model_read(model *m, hia_params *cell) {
  hia_param_state *now;
  cr_assert_eq(hiaR_params_hold(cell, NULL, NULL, &now), HIA_OK);
  for (uint32_t i = 0; i < N; i++)
    for (size_t k = 0; k < count_of(i); k++)
      m->w[i][k] = element(i, hiaR_state_elements(now, i), k);
  hiaR_state_release(now);
}

static void model_follow(model *m, const hia_trainer_options *x, double scale, uint32_t i, size_t k,
                         double gradient) {
  (specs[i].dtype == HIA_F32 ? follow_f32 : follow_f64)(x, m->steps + 1, scale, gradient,
                                                        &m->w[i][k], &m->a[i][k], &m->b[i][k]);
}

static void model_step(model *m, const hia_trainer_options *x, const hia_param_gradient *gradients,
                       double norm) {
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

static world *world_new(const hia_trainer_options *options) {
  world *x = calloc(1, sizeof *x);
  test_heap_init(&x->heap, -1);
  test_heap_init(&x->own, -1);
  x->cell = (hia_params){.n = N, .specs = specs, .allocator = &x->heap.allocator, .seed = 4};
  x->options = *options;
  cr_assert_eq(hiaR_optimizing_new(specs, N, options, &x->own.allocator, &x->o), HIA_OK);
  model_read(&x->model, &x->cell);
  return x;
}

static void world_free(world *x) {
  hiaR_optimizing_free(x->o);
  hiaR_params_set(&x->cell, NULL);
  cr_assert(!x->heap.blocks && !x->own.blocks, "%ld, %ld blocks", (long)x->heap.blocks,
            (long)x->own.blocks);
  free(x);
}

static void check_now(world *x, const char *what, uint64_t at) {
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
static void give(world *x, uint64_t seed, uint32_t i, bool is_by_row, unsigned eighths) {
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

static void give_all(world *x, uint64_t seed) {
  for (uint32_t i = 0; i < Z; i++) give(x, seed, i, false, 0);
  x->g.of[Z] = (hia_param_gradient){.is_given = false};
}

static hia_status step_alone(world *x) {
  double norm = hiaR_gradients_norm(specs, N, x->g.of);
  return hiaR_optimizing_step(x->o, &x->cell, x->g.of, norm);
}

static void step(world *x) {
  cr_assert_eq(step_alone(x), HIA_OK);
  model_step(&x->model, &x->options, x->g.of, hiaR_gradients_norm(specs, N, x->g.of));
}

static hia_param_state *hold(world *x) {
  hia_param_state *now;
  cr_assert_eq(hiaR_params_hold(&x->cell, NULL, NULL, &now), HIA_OK);
  return now;
}

static void set_by_host(world *x, uint32_t i, uint64_t seed) {
  double elements[MAX];
  hiaR_random_uniform(seed, "host", specs[i].dtype, -1, 1, 0, count_of(i), elements);
  cr_assert_eq(hiaR_params_put(&x->cell, i, elements, NULL), HIA_OK);
  for (size_t k = 0; k < count_of(i); k++) x->model.w[i][k] = element(i, elements, k);
}

/* ---- the equations ---- */

Test(optimizer, equations) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++) {
    world *x = world_new(&kinds[kind].options);
    for (uint64_t at = 1; at <= 9; at++) {
      give_all(x, at);
      step(x);
      check_now(x, kinds[kind].name, at);
    }
    world_free(x);
  }
}

/* The first step of Adam is about the rate, whatever the gradient. */
Test(optimizer, first_step_of_adam) {
  hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
  world *x = world_new(&options);
  double before = x->model.w[T][0];
  give_all(x, 1);
  step(x);
  x->g.of[T].is_given = false;
  double moved = fabs(x->model.w[T][0] - before);
  check_now(x, "adam", 1);
  cr_assert(fabs(moved - 0.001) < 1e-8, "%g", moved);
  world_free(x);
}

Test(optimizer, power) {
  for (uint64_t n = 0; n < 3000; n += 1 + n / 7)
    for (double x = 0.1; x < 1; x += 0.17) {
      double is = hiaR_power(x, n), wanted = pow(x, (double)n);
      cr_assert(fabs(is - wanted) <= wanted * 1e-15 * (double)(n + 1), "%g^%llu: %a, not %a", x,
                (unsigned long long)n, is, wanted);
    }
  cr_assert_eq(hiaR_power(0, 0), 1);
  cr_assert_eq(hiaR_power(0, 3), 0);
  cr_assert_eq(hiaR_power(0.9, UINT64_MAX), 0);
}

/* Of any number of elements at any address, and not beyond them. */
static void compare_sets(hia_update_kind kind, bool is_f64, bool is_advanced, size_t n) {
  const hia_coefficients c = {0.75, 0.1, 0.01, 0.7, 0.9, 0.1, 0.99, 0.01, 0.3, 1e-8};
  enum { ROOM = 80 };
  double arrays[2][5][ROOM];
  uint32_t size = is_f64 ? 8 : 4;
  for (uint32_t k = 0; k < 5; k++)
    hiaR_random_uniform(k, "x", is_f64 ? HIA_F64 : HIA_F32, 0.01, 1, 0, ROOM, arrays[0][k]);
  memcpy(arrays[1], arrays[0], sizeof arrays[0]);
  for (int set = 0; set < 2; set++) {
    char *at[5];
    for (int k = 0; k < 5; k++) at[k] = (char *)arrays[set][k] + size * (unsigned)(k % 3);
    const hia_update_set *of = &hiaR_updates_plain;
#if defined(__x86_64__)
    if (set && __builtin_cpu_supports("avx2")) of = &hiaR_updates_avx2;
#endif
    of->updates[is_f64][kind][is_advanced](&c, n, at[0], at[1], (void *[]){at[2], at[3]}, at[4]);
    double sum = of->sums_of_squares[is_f64](n, at[1]);
    double wanted = hiaR_updates_plain.sums_of_squares[is_f64](n, at[1]);
    cr_assert(memcmp(&sum, &wanted, sizeof sum) == 0);
  }
  cr_assert_eq(memcmp(arrays[0], arrays[1], sizeof arrays[0]), 0, "%s, %zu elements",
               hiaR_updates[kind].name, n);
}

Test(optimizer, machines_agree) {
  for (hia_update_kind kind = 0; kind < HIA_N_UPDATES; kind++)
    for (int variant = 0; variant < 4; variant++)
      for (size_t n = 0; n < 70; n++) compare_sets(kind, variant & 1, variant >> 1, n);
}

Test(optimizer, norm) {
  world *x = world_new(&kinds[0].options);
  give_all(x, 3);
  give(x, 3, E, true, 4);
  double sum = 0;
  for (uint32_t i = 0; i < N; i++) {
    const hia_param_gradient *g = &x->g.of[i];
    size_t n = !g->is_given ? 0 : g->is_by_row ? g->n_rows * row_of(i) : count_of(i);
    double lanes[16] = {0};
    for (size_t k = 0; k < n; k++)
      lanes[k % 16] += element(i, g->elements, k) * element(i, g->elements, k);
    for (int half = 8; half; half /= 2)
      for (int l = 0; l < half; l++) lanes[l] += lanes[l + half];
    sum += lanes[0];
  }
  double is = hiaR_gradients_norm(specs, N, x->g.of), wanted = sqrt(sum);
  cr_assert(memcmp(&is, &wanted, sizeof is) == 0, "%a, not %a", is, wanted);
  cr_assert(is > 10);
  const hia_param_gradient none[N] = {{.is_given = false}};
  cr_assert_eq(hiaR_gradients_norm(specs, N, none), 0);
  world_free(x);
}

Test(optimizer, clipping) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++) {
    hia_trainer_options options = kinds[kind].options;
    for (int far = 0; far < 2; far++) {
      options.max_norm = far ? 1e6 : 0.5;
      world *x = world_new(&options);
      for (uint64_t at = 1; at <= 3; at++) {
        give_all(x, at);
        step(x);
        check_now(x, "clipped", at);
      }
      world_free(x);
    }
  }
  /* Exactly at the norm nothing is multiplied; neither of a norm that is no number. */
  hia_trainer_options options = kinds[0].options;
  options.max_norm = 3;
  const double norms[] = {3, NAN, INFINITY};
  for (size_t k = 0; k < HIA_LEN(norms); k++) {
    world *x = world_new(&options);
    give_all(x, 1);
    cr_assert_eq(hiaR_optimizing_step(x->o, &x->cell, x->g.of, norms[k]), HIA_OK);
    model_step(&x->model, &options, x->g.of, norms[k]);
    check_now(x, "special", k);
    world_free(x);
  }
}

/* Elements that are no numbers are not hidden, and stay where they are. */
Test(optimizer, not_numbers) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++)
    for (int is_infinite = 0; is_infinite < 2; is_infinite++) {
      hia_trainer_options options = kinds[kind].options;
      options.max_norm = 1;
      world *x = world_new(&options);
      give_all(x, 1);
      ((float *)x->g.elements[W])[7] = is_infinite ? INFINITY : NAN;
      cr_assert_eq(step_alone(x), HIA_OK);
      hia_param_state *now = hold(x);
      for (uint32_t i = 0; i < N; i++)
        for (size_t k = 0; k < count_of(i); k++)
          cr_assert_eq(isnan(element(i, hiaR_state_elements(now, i), k)) != 0, i == W && k == 7);
      hiaR_state_release(now);
      world_free(x);
    }
}

Test(optimizer, rate) {
  world *x = world_new(&kinds[3].options);
  for (uint64_t at = 1; at <= 4; at++) {
    x->options.rate = 0.01 * (double)at;
    hiaR_optimizing_set_rate(x->o, x->options.rate);
    cr_assert_eq(hiaR_optimizing_rate(x->o), x->options.rate);
    give_all(x, at);
    step(x);
    check_now(x, "rate", at);
  }
  world_free(x);
}

/* ---- rows ---- */

/* With zeros elsewhere, where that means the same. */
Test(optimizer, rows_as_zeros) {
  for (size_t kind = 0; kind <= 2; kind += 2) {
    hia_trainer_options options = kinds[kind].options;
    options.decay = 0;
    world *x = world_new(&options), *whole = world_new(&options);
    for (uint64_t at = 1; at <= 8; at++) {
      give(x, at, E, true, 3);
      give(x, at, D, true, 3);
      for (uint32_t i = E; i <= D; i++) {
        size_t bytes = size_of(i) / (size_t)specs[i].shape.dims[0];
        hia_param_gradient *g = &whole->g.of[i];
        *g = (hia_param_gradient){.is_given = true, .elements = whole->g.elements[i]};
        memset(whole->g.elements[i], 0, sizeof whole->g.elements[i]);
        for (uint64_t k = 0; k < x->g.of[i].n_rows; k++)
          memcpy((char *)whole->g.elements[i] + (size_t)x->g.of[i].rows[k] * bytes,
                 (char *)x->g.elements[i] + k * bytes, bytes);
      }
      step(x);
      step(whole);
      whole->model = x->model;
      check_now(whole, kinds[kind].name, at);
    }
    world_free(x);
    world_free(whole);
  }
}

/* Only the rows that the last two steps have changed are written. A mark in the state before last
 * shows whether its row is. */
Test(optimizer, only_rows) {
  world *x = world_new(&kinds[3].options);
  for (uint64_t at = 1; at <= 9; at++) {
    for (uint32_t i = E; i <= D; i++) {
      give(x, at, i, true, 8);
      x->g.of[i].n_rows = at % 4; /* the first ones */
      for (int64_t row = 0; row < specs[i].shape.dims[0] && x->o->before && at > 3; row++) {
        bool is_written = row < (int64_t)(at % 4) || row < (int64_t)((at - 1) % 4);
        size_t k = (size_t)row * row_of(i);
        if (i == E)
          ((float *)hiaR_state_writable(x->o->before, i))[k] = 99;
        else
          ((double *)hiaR_state_writable(x->o->before, i))[k] = 99;
        if (!is_written) x->model.w[i][k] = 99;
      }
    }
    step(x);
    check_now(x, "rows", at);
  }
  world_free(x);
}

typedef struct held {
  hia_param_state *state;
  double w[N][MAX];
} held;

static void hold_one(world *x, held *h) {
  h->state = hold(x);
  memcpy(h->w, x->model.w, sizeof h->w);
}

/* What a run sees never changes. */
static void release_one(held *h) {
  if (!h->state) return;
  for (uint32_t i = 0; i < N; i++)
    for (size_t k = 0; k < count_of(i); k++)
      cr_assert_eq(element(i, hiaR_state_elements(h->state, i), k), h->w[i][k], "%s[%zu]",
                   specs[i].name, k);
  hiaR_state_release(h->state);
  h->state = NULL;
}

static void give_some(world *x, uint64_t seed) {
  double chances[N];
  hiaR_random_uniform(seed, "kinds", HIA_F64, 0, 1, 0, N, chances);
  for (uint32_t i = 0; i < N; i++) {
    bool has_rows = specs[i].shape.rank > 0, is_by_row = has_rows && chances[i] < 0.7;
    give(x, seed * 100 + i, i, is_by_row, (unsigned)seed % 9);
    x->g.of[i].is_given = chances[i] < 0.9;
  }
}

/* Steps of all kinds in any order, while runs hold states, and the host sets params. */
Test(optimizer, any_order) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++) {
    world *x = world_new(&kinds[kind].options);
    held *runs = calloc(3, sizeof *runs);
    for (uint64_t at = 1; at <= 120; at++) {
      uint32_t u[4];
      hiaR_philox((uint32_t[]){(uint32_t)kind, 9}, (uint32_t[]){(uint32_t)at, 0, 0, 0}, u);
      if (u[0] % 3 == 0) {
        release_one(&runs[u[1] % 3]);
        if (u[1] & 1 << 20) hold_one(x, &runs[u[1] % 3]);
      }
      if (u[0] % 7 == 1) set_by_host(x, u[2] % N, at);
      if (u[0] % 50 == 2) {
        hia_params_seed(&x->cell, at, NULL);
        model_read(&x->model, &x->cell);
      }
      give_some(x, at);
      step(x);
      check_now(x, kinds[kind].name, at);
    }
    for (int k = 0; k < 3; k++) release_one(&runs[k]);
    free(runs);
    world_free(x);
  }
}

/* ---- memory ---- */

/* From the second step on two states alternate, without a request for memory. */
Test(optimizer, recycling) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++) {
    world *x = world_new(&kinds[kind].options);
    const void *elements[2][N];
    for (uint64_t at = 1; at <= 12; at++) {
      give_all(x, at);
      give(x, at, E, true, (unsigned)at % 9);
      if (at == 3) x->heap.left = x->own.left = 0;
      step(x);
      check_now(x, kinds[kind].name, at);
      hia_param_state *now = hold(x);
      for (uint32_t i = 0; i < N; i++) {
        const void *p = hiaR_state_elements(now, i);
        if (at > 3) cr_assert_eq(p, elements[at & 1][i], "%s", specs[i].name);
        elements[at & 1][i] = p;
      }
      hiaR_state_release(now);
    }
    world_free(x);
  }
}

/* A run holds a state for one step: then memory is taken, and stays two states later. */
Test(optimizer, held_states) {
  world *x = world_new(&kinds[3].options);
  held *run = calloc(1, sizeof *run);
  long bytes = 0;
  for (uint64_t at = 1; at <= 12; at++) {
    if (at == 4) bytes = x->heap.bytes;
    if (at == 5) hold_one(x, run);
    if (at == 8) release_one(run);
    give_all(x, at);
    give(x, at, E, true, 3);
    step(x);
    check_now(x, "held", at);
  }
  cr_assert_eq(x->heap.bytes, bytes);
  free(run);
  world_free(x);
}

/* First values that are constants of an object are not written. */
Test(optimizer, embedded) {
  static const float w[30 * 60] = {1}, e[40 * 6] = {2}, s = 3, z[17] = {4};
  static const double d[20 * 3 * 5] = {5}, t = 6;
  static const void *const first[N] = {w, e, d, &s, &t, "", "", z};
  world *x = world_new(&kinds[3].options);
  hiaR_params_set(&x->cell, NULL);
  x->cell.embedded = first;
  model_read(&x->model, &x->cell);
  for (uint64_t at = 1; at <= 4; at++) {
    give_all(x, at);
    step(x);
    check_now(x, "embedded", at);
  }
  cr_assert(w[0] == 1 && e[0] == 2 && d[0] == 5 && s == 3 && t == 6 && z[0] == 4);
  world_free(x);
}

static bool go_on(void *user, uint64_t ns) {
  (void)user, (void)ns;
  return true;
}

/* The first use of a value is without the form, unless the value before last, in whose memory it
 * is, had one. */
static const void *packed_now(world *x, uint32_t i, hia_packing packing, bool was_packed) {
  hia_param_state *now = hold(x);
  hia_tensor *t = hiaR_tensor(hiaR_state_words(now)[i]);
  cr_assert_eq(hiaR_tensor_packed(t, t->data, packing, go_on, NULL) != NULL, was_packed);
  const void *packed = hiaR_tensor_packed(t, t->data, packing, go_on, NULL);
  size_t rows = (size_t)t->dims[0], cols = (size_t)t->dims[1];
  bool is_right = packing == HIA_PACK_RIGHT;
  size_t k = is_right ? rows : cols, n = is_right ? cols : rows;
  hia_matrix b = {t->data, is_right ? (ptrdiff_t)cols : 1, is_right ? 1 : (ptrdiff_t)cols};
  size_t size = hiaR_packed_size(HIA_F32, k, n);
  char *wanted = aligned_alloc(64, size);
  hiaR_pack(HIA_F32, k, n, b, wanted);
  cr_assert_eq(memcmp(packed, wanted, size), 0);
  free(wanted);
  hiaR_state_release(now);
  return packed;
}

/* Forms are of the values that there are now, in the memory of older ones. */
Test(optimizer, packed) {
  world *x = world_new(&kinds[0].options);
  const void *packed[2][HIA_N_PACKINGS];
  size_t bytes = 0;
  for (uint64_t at = 1; at <= 8; at++) {
    give_all(x, at);
    give(x, at, E, true, 3);
    step(x);
    if (at == 4) x->heap.left = x->own.left = 0;
    for (int k = HIA_PACK_RIGHT; k <= HIA_PACK_LEFT; k++) {
      const void *p = packed_now(x, W, (hia_packing)k, at > 2);
      packed_now(x, E, (hia_packing)k, at > 2);
      if (at > 3) cr_assert_eq(p, packed[at & 1][k]);
      packed[at & 1][k] = p;
    }
    hia_param_state *now = hold(x);
    if (at > 3) cr_assert_eq(hiaR_state_bytes(now), bytes);
    bytes = hiaR_state_bytes(now);
    hiaR_state_release(now);
  }
  world_free(x);
}

/* The n-th request of the cell or of the optimizer fails, at the first, second or third step. */
static bool fails_at(size_t kind, uint64_t failing, long request, bool is_own) {
  world *x = world_new(&kinds[kind].options);
  test_heap *heap = is_own ? &x->own : &x->heap;
  held *run = calloc(1, sizeof *run);
  bool has_failed = false;
  for (uint64_t at = 1; at <= 5; at++) {
    give_all(x, at);
    give(x, at, E, true, 3);
    if (at == failing) {
      hold_one(x, run); /* a run: so the third step needs memory, too */
      heap->left = request;
      hia_status status = step_alone(x);
      has_failed = status == HIA_MEMORY;
      heap->left = -1;
      cr_assert(status == HIA_OK || has_failed);
      if (!has_failed)
        model_step(&x->model, &x->options, x->g.of, 0);
      else
        check_now(x, "failed", at);
    }
    step(x);
    check_now(x, "after", at);
    if (at == failing + 1) release_one(run);
  }
  release_one(run);
  free(run);
  world_free(x);
  return has_failed;
}

Test(optimizer, out_of_memory) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++)
    for (uint64_t at = 1; at <= 3; at++)
      for (int is_own = 0; is_own < 2; is_own++) {
        long request = 0;
        while (fails_at(kind, at, request, is_own)) request++;
        if (at == 1) cr_assert_gt(request, is_own ? 0 : 4);
      }
}

static hia_status make_one(const hia_allocator *allocator) {
  hia_optimizing *o;
  hia_status status = hiaR_optimizing_new(specs, N, &kinds[3].options, allocator, &o);
  if (status == HIA_OK) hiaR_optimizing_free(o);
  return status;
}

Test(optimizer, made_without_memory) {
  cr_assert_gt(fail_each_allocation(make_one), 0);
  hiaR_optimizing_free(NULL);
}

/* ---- hosts that set params at the same time ---- */

/* An allocator with which a host sets params while a step is being made: between its holding a
 * state and its showing the next one it asks for memory. */
typedef struct meddler {
  hia_allocator allocator;
  world *world;
  int at, mode;
  uint64_t seed;
} meddler;

enum { PUT_Z, PUT_ALL, RESET };

static void meddle(meddler *m) {
  world *x = m->world;
  if (m->mode == RESET) {
    hia_params_reset(&x->cell);
    x->heap.left = 0; /* nor is there memory for the first values */
    return;
  }
  for (uint32_t i = m->mode == PUT_ALL ? 0 : Z; i < N; i++) set_by_host(x, i, m->seed + i);
}

static void *meddling_alloc(void *user, size_t size) {
  meddler *m = user;
  void *block = m->world->heap.allocator.alloc(m->world->heap.allocator.user, size);
  if (m->at >= 0 && m->at-- == 0) meddle(m);
  return block;
}
static void *meddling_resize(void *user, void *block, size_t old_size, size_t size) {
  meddler *m = user;
  const hia_allocator *heap = &m->world->heap.allocator;
  return heap->resize(heap->user, block, old_size, size);
}
static void meddling_free(void *user, void *block, size_t size) {
  meddler *m = user;
  const hia_allocator *heap = &m->world->heap.allocator;
  heap->free(heap->user, block, size);
}

static world *meddled_with(meddler *m, size_t kind, int at, int mode) {
  world *x = world_new(&kinds[kind].options);
  *m = (meddler){{meddling_alloc, meddling_resize, meddling_free, m}, x, -1, mode, 77};
  hiaR_params_set(&x->cell, NULL);
  x->cell.allocator = &m->allocator;
  model_read(&x->model, &x->cell);
  m->at = at;
  return x;
}

/* The host's comes first: the step changes what the host has set, and its state only once. */
Test(optimizer, host_between) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++)
    for (int mode = PUT_Z; mode <= PUT_ALL; mode++) {
      meddler m;
      world *x = meddled_with(&m, kind, 2, mode);
      if (mode == PUT_ALL) x->options.decay = 0; /* else the gradient is of both */
      hiaR_optimizing_free(x->o);
      cr_assert_eq(hiaR_optimizing_new(specs, N, &x->options, &x->own.allocator, &x->o), HIA_OK);
      for (uint64_t at = 1; at <= 6; at++) {
        give_all(x, at);
        give(x, at, E, true, 3);
        step(x);
        cr_assert_eq(m.at, -1);
        check_now(x, kinds[kind].name, at);
      }
      world_free(x);
    }
}

/* A reset comes after the step if there is no memory for the first values. */
Test(optimizer, reset_between) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++) {
    meddler m;
    world *x = meddled_with(&m, kind, 5, RESET);
    give_all(x, 1);
    step(x);
    x->heap.left = -1;
    cr_assert_null(x->cell.now);
    model_read(&x->model, &x->cell);
    check_now(x, "reset", 1);
    for (uint64_t at = 2; at <= 5; at++) {
      give_all(x, at);
      step(x);
      check_now(x, kinds[kind].name, at);
    }
    world_free(x);
  }
}

static _Atomic bool is_over;

static void *set_again_and_again(void *user) {
  world *x = user;
  float z[17] = {0};
  while (!is_over) {
    z[0]++;
    hia_params_set(&x->cell, Z, HIA_F32, 1, (int64_t[]){17}, z, NULL);
    hia_param_state *p = hold(x);
    for (int i = 1; i < 17; i++) cr_assert_eq(((const float *)hiaR_state_elements(p, Z))[i], 0);
    hiaR_state_release(p);
  }
  return NULL;
}

Test(optimizer, threads) {
  world *x = world_new(&kinds[3].options);
  pthread_t host;
  set_by_host(x, Z, 0);
  pthread_create(&host, NULL, set_again_and_again, x);
  for (uint64_t at = 1; at <= 300; at++) {
    give_all(x, at);
    give(x, at, E, true, 3);
    step(x);
  }
  is_over = true;
  pthread_join(host, NULL);
  float z[17];
  cr_assert_eq(hia_params_get(&x->cell, Z, z, sizeof z, NULL), HIA_OK);
  for (int i = 0; i < 17; i++) x->model.w[Z][i] = z[i];
  check_now(x, "threads", 300);
  world_free(x);
}

/* ---- checkpoints ---- */

static void path_of(char *path, size_t size, const char *end) {
  snprintf(path, size, "/tmp/hia-optimizer-%ld%s", (long)getpid(), end);
}

/* Going on from a file is as never having stopped. */
static void check_going_on(size_t kind, const char *end) {
  char path[100];
  path_of(path, sizeof path, end);
  world *x = world_new(&kinds[kind].options), *y = world_new(&kinds[kind].options);
  for (uint64_t at = 1; at <= 3; at++) {
    give_all(x, at);
    give(x, at, E, true, 3);
    step(x);
    give_all(y, 100 + at); /* something else, which is lost */
    give(y, 100 + at, E, true, 3);
    step(y);
  }
  unsigned char bytes[21];
  for (size_t k = 0; k < sizeof bytes; k++) bytes[k] = (unsigned char)(200 + 7 * k);
  size_t n_extra = kind * 5;
  void *extra;
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, bytes, n_extra, NULL), HIA_OK);
  cr_assert_eq(hiaR_optimizing_load(y->o, &y->cell, path, &extra, &n_extra, NULL), HIA_OK);
  cr_assert_eq(n_extra, kind * 5);
  cr_assert((extra != NULL) == (n_extra > 0));
  if (extra) cr_assert_eq(memcmp(extra, bytes, n_extra), 0);
  hiaR_free(&y->own.allocator, extra, n_extra);
  y->model = x->model;
  check_now(y, "loaded", 3);
  for (uint64_t at = 4; at <= 7; at++) {
    give_all(x, at);
    give(x, at, E, true, 3);
    step(x);
    y->g = x->g;
    for (uint32_t i = 0; i < N; i++)
      y->g.of[i].rows = y->g.rows[i], y->g.of[i].elements = y->g.elements[i];
    step(y);
    check_now(x, "never stopped", at);
    check_now(y, "went on", at);
  }
  /* It is a file of params, too. */
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, NULL, 9, NULL), HIA_OK);
  cr_assert_eq(hia_params_seed(&y->cell, 9, NULL), HIA_OK);
  cr_assert_eq(hia_params_load(&y->cell, path, NULL), HIA_OK);
  check_now(y, "params", 7);
  cr_assert_eq(hiaR_optimizing_load(y->o, &y->cell, path, NULL, NULL, NULL), HIA_OK);
  cr_assert_eq(hiaR_optimizing_load(y->o, &y->cell, path, &extra, &n_extra, NULL), HIA_OK);
  cr_assert(!extra && !n_extra);
  unlink(path);
  world_free(x);
  world_free(y);
}

Test(optimizer, checkpoints) {
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++) check_going_on(kind, ".safetensors");
}
Test(optimizer, checkpoints_of_numpy) { check_going_on(3, ".npz"); }

/* Before the first step, too, and by steps by which not all params have changed. */
Test(optimizer, early_checkpoint) {
  char path[100];
  path_of(path, sizeof path, ".early");
  world *x = world_new(&kinds[3].options);
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, NULL, 0, NULL), HIA_OK);
  give_all(x, 1);
  cr_assert_eq(step_alone(x), HIA_OK);
  cr_assert_eq(hiaR_optimizing_load(x->o, &x->cell, path, NULL, NULL, NULL), HIA_OK);
  check_now(x, "loaded", 0);
  step(x);
  check_now(x, "loaded", 1);
  unlink(path);
  world_free(x);
}

static void check_wrong(world *x, const char *path, hia_status status, const char *words) {
  hia_error *error;
  void *extra = x;
  size_t n = 1;
  cr_assert_eq(hiaR_optimizing_load(x->o, &x->cell, path, &extra, &n, &error), status, "%s", words);
  cr_assert(strstr(hia_error_message(error, 0), words), "%s", hia_error_message(error, 0));
  cr_assert(!extra && !n);
  hia_error_free(error);
  check_now(x, "nothing has changed", 2);
}

static void copy_part(const char *from, const char *to, long left_out) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  cr_assert(in && out);
  fseek(in, 0, SEEK_END);
  long n = ftell(in) - left_out;
  rewind(in);
  for (long i = 0; i < n; i++) putc(getc(in), out);
  fclose(in);
  fclose(out);
}

static void write_words(const char *path, const char *names[], const int64_t *words, uint32_t n) {
  hia_file_tensor tensors[4];
  for (uint32_t i = 0; i < n; i++)
    tensors[i] = (hia_file_tensor){.name = names[i],
                                   .name_len = strlen(names[i]),
                                   .dtype = HIA_I64,
                                   .shape = {1, {1}},
                                   .data = &words[i],
                                   .size = 8};
  hia_value_error wrong;
  cr_assert_eq(hiaR_tensor_file_write(&hiaR_malloc, path, tensors, n, &wrong), HIA_OK);
}

/* The same params, but E has another shape. */
static void save_other(const char *path) {
  hia_param_spec others[N];
  memcpy(others, specs, sizeof others);
  others[E].shape.dims[0] = 41;
  hia_params cell = {.n = N, .specs = others};
  hia_optimizing *o;
  cr_assert_eq(hiaR_optimizing_new(others, N, &kinds[3].options, &hiaR_malloc, &o), HIA_OK);
  cr_assert_eq(hiaR_optimizing_save(o, &cell, path, NULL, 0, NULL), HIA_OK);
  hiaR_optimizing_free(o);
  hiaR_params_set(&cell, NULL);
}

Test(optimizer, wrong_checkpoints) {
  char path[100], other[100];
  path_of(path, sizeof path, ".right");
  path_of(other, sizeof other, ".wrong");
  world *x = world_new(&kinds[3].options), *sgd = world_new(&kinds[0].options);
  for (uint64_t at = 1; at <= 2; at++) {
    give_all(x, at);
    step(x);
  }
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, path, "extra", 5, NULL), HIA_OK);
  check_wrong(x, "/nowhere/x", HIA_IO, "/nowhere/x: ");
  check_wrong(x, NULL, HIA_ARGUMENT, "no path");
  for (long left_out = 1; left_out < 5000; left_out += 777) {
    copy_part(path, other, left_out);
    check_wrong(x, other, HIA_ARGUMENT, "damaged");
  }
  cr_assert_eq(hia_params_save(&x->cell, other, NULL), HIA_OK);
  check_wrong(x, other, HIA_ARGUMENT,
              "this is no checkpoint of a trainer: there is no tensor `hiaton.steps`");
  cr_assert_eq(hiaR_optimizing_save(sgd->o, &sgd->cell, other, NULL, 0, NULL), HIA_OK);
  check_wrong(x, other, HIA_ARGUMENT, "the checkpoint is of sgd, the trainer's optimizer is adam");
  save_other(other);
  check_wrong(x, other, HIA_ARGUMENT, "expected f32[40, 6], the tensor 'E.mean' is f32[41, 6]");
  const char *names[] = {"hiaton.steps", "hiaton.optimizer"};
  write_words(other, names, (int64_t[]){3, 3}, 2);
  check_wrong(x, other, HIA_ARGUMENT, "there is no tensor `W.mean`");
  write_words(other, names, (int64_t[]){3, 9}, 2);
  check_wrong(x, other, HIA_ARGUMENT, "is of an optimizer that this hiaton does not have");
  write_words(other, names, (int64_t[]){-3, 3}, 2);
  check_wrong(x, other, HIA_ARGUMENT, "`hiaton.steps` is below 0");
  write_words(other, names, (int64_t[]){3}, 1);
  check_wrong(x, other, HIA_ARGUMENT, "there is no tensor `hiaton.optimizer`");
  hia_error *error;
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, "/nowhere/x", NULL, 0, &error), HIA_IO);
  hia_error_free(error);
  cr_assert_eq(hiaR_optimizing_save(x->o, &x->cell, NULL, NULL, 0, &error), HIA_ARGUMENT);
  hia_error_free(error);
  unlink(path);
  unlink(other);
  world_free(x);
  world_free(sgd);
}

/* Further bytes that say that there are more of them. */
Test(optimizer, wrong_extra) {
  char path[100];
  path_of(path, sizeof path, ".extra");
  const hia_param_spec none[1] = {{"x", HIA_F32, HIA_INIT_FULL, 0, 0, {0}}};
  hia_params cell = {.n = 0, .specs = none};
  hia_optimizing *o;
  void *extra;
  size_t n;
  hia_error *error;
  cr_assert_eq(hiaR_optimizing_new(none, 0, &kinds[3].options, &hiaR_malloc, &o), HIA_OK);
  const char *names[] = {"hiaton.steps", "hiaton.optimizer", "hiaton.extra"};
  write_words(path, names, (int64_t[]){3, 3, 0}, 3);
  cr_assert_eq(hiaR_optimizing_load(o, &cell, path, &extra, &n, &error), HIA_OK);
  cr_assert_eq(hiaR_optimizing_steps(o), 3);
  for (int64_t wrong = -1; wrong <= 1; wrong += 2) {
    write_words(path, names, (int64_t[]){4, 3, wrong}, 3);
    cr_assert_eq(hiaR_optimizing_load(o, &cell, path, &extra, &n, &error), HIA_ARGUMENT);
    cr_assert(strstr(hia_error_message(error, 0), "fewer bytes than it says"));
    hia_error_free(error);
  }
  cr_assert_eq(hiaR_optimizing_steps(o), 3);
  unlink(path);
  hiaR_optimizing_free(o);
  hiaR_params_set(&cell, NULL);
}

/* Each request fails once, of saving, then of loading. */
Test(optimizer, checkpoints_without_memory) {
  char path[100];
  path_of(path, sizeof path, ".memory");
  world *x = world_new(&kinds[3].options);
  for (uint64_t at = 1; at <= 2; at++) {
    give_all(x, at);
    step(x);
  }
  for (int is_loading = 0; is_loading < 2; is_loading++)
    for (int is_own = 0; is_own < 2; is_own++) {
      hia_status status = HIA_MEMORY;
      long n = 0;
      for (; status == HIA_MEMORY; n++) {
        test_heap *heap = is_own ? &x->own : &x->heap;
        void *extra = NULL;
        size_t n_extra = 0;
        heap->fails_once = true;
        heap->left = n;
        status = is_loading ? hiaR_optimizing_load(x->o, &x->cell, path, &extra, &n_extra, NULL)
                            : hiaR_optimizing_save(x->o, &x->cell, path, "extra", 5, NULL);
        heap->left = -1;
        hiaR_free(&x->own.allocator, extra, n_extra);
        check_now(x, "as before", 2);
      }
      cr_assert_eq(status, HIA_OK);
      if (is_own) cr_assert_gt(n, 2);
    }
  unlink(path);
  world_free(x);
}

/* ---- options ---- */

Test(optimizer, options) {
  const hia_trainer_options fine = HIA_TRAINER_OPTIONS_INIT;
  cr_assert_null(hiaR_optimizer_check(&fine));
  for (size_t kind = 0; kind < HIA_LEN(kinds); kind++)
    cr_assert_null(hiaR_optimizer_check(&kinds[kind].options));
  const double nan = NAN, inf = INFINITY;
  struct {
    size_t at; /* of the field */
    double wrong[5];
    double right[2];
    const char *words;
  } cases[] = {
      {offsetof(hia_trainer_options, rate), {0, -1, nan, inf, -inf}, {5e-324, 1e9}, "rate must"},
      {offsetof(hia_trainer_options, momentum), {-0.1, 1, nan, inf, -inf}, {0, 0.99}, "momentum"},
      {offsetof(hia_trainer_options, beta1), {-0.1, 1, nan, inf, -inf}, {0, 0.99}, "beta1 must"},
      {offsetof(hia_trainer_options, beta2), {-0.1, 1, nan, inf, -inf}, {0, 0.99}, "beta2 must"},
      {offsetof(hia_trainer_options, epsilon), {-1, -1e-9, nan, inf, -inf}, {0, 2}, "epsilon must"},
      {offsetof(hia_trainer_options, decay), {-1, -1e-9, nan, inf, -inf}, {0, 2}, "decay must"},
      {offsetof(hia_trainer_options, max_norm), {-1, -1e-9, nan, nan, -inf}, {2, inf}, "norm must"},
  };
  for (size_t i = 0; i < HIA_LEN(cases); i++)
    for (int k = 0; k < 7; k++) {
      hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
      double *field = (double *)((char *)&options + cases[i].at);
      *field = k < 5 ? cases[i].wrong[k] : cases[i].right[k - 5];
      const char *is = hiaR_optimizer_check(&options);
      cr_assert((is != NULL) == (k < 5), "%s, %g", cases[i].words, *field);
      cr_assert(!is || strstr(is, cases[i].words), "%s", is);
    }
  for (int wrong = -1; wrong <= HIA_N_OPTIMIZERS; wrong += HIA_N_OPTIMIZERS + 1) {
    hia_trainer_options options = HIA_TRAINER_OPTIONS_INIT;
    options.optimizer = (hia_optimizer)wrong;
    cr_assert_str_eq(hiaR_optimizer_check(&options), "there is no such optimizer");
  }
}
