/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Optimizers: states of params, and their packed forms, that are recycled; memory that runs out. */
#include "runtime/kernel/product.h"
#include "runtime/tensor/packed.h"
#include "tests/unit/helpers/optimizer.h"

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
 * is, had one. That of a right operand takes many uses of each value. */
static const void *packed_now(world *x, uint32_t i, hia_packing packing, bool was_packed) {
  hia_param_state *now = hold(x);
  hia_tensor *t = hiaR_tensor(hiaR_state_words(now)[i]);
  for (int left = packing == HIA_PACK_RIGHT ? HIA_PACK_RIGHT_USES : 1; left; left--)
    cr_assert_eq(hiaR_tensor_packed(t, t->data, packing, go_on, NULL) != NULL,
                 was_packed && packing == HIA_PACK_LEFT);
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
