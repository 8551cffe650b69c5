/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: their equations, against the model of helpers/optimizer.h; gradients by rows;
 * options. */
#include "tests/unit/helpers/optimizer.h"

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
