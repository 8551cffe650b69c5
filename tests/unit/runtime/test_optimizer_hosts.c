/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: runs that hold states of params, and hosts that set params, during steps. */
#include "tests/unit/helpers/optimizer.h"
#include <pthread.h>

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
