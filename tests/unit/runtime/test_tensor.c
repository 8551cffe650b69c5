/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* tensor/tensor: tensors in memory, views and their owners, counts, the last reference; memory that
 * is not there. */
#include "tests/unit/helpers/tensor.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static uint32_t count_of(hia_word ref) { return hiaR_count(hiaR_object(ref)); }

Test(tensor, has_its_elements) {
  tensor_world w;
  uint32_t state = 1;
  world_begin(&w, &hiaR_malloc, false);
  const int64_t sizes[] = {0, 1, 2, 3, 5, 17, 33};
  for (hia_dtype dtype = HIA_BOOL; dtype < HIA_N_DTYPES; dtype++)
    for (uint32_t rank = 1; rank <= HIA_MAX_RANK; rank++)
      for (int round = 0; round < 20; round++) {
        hia_dims dims = {.rank = rank};
        for (uint32_t i = 0; i < rank; i++)
          dims.dims[i] = i < 3 ? sizes[random_to(&state, HIA_LEN(sizes))] : 1;
        model m = model_random(&state, dtype, dims);
        hia_word ref = make_tensor(&w, &m);
        cr_assert(ref);
        const hia_tensor *t = hiaR_tensor(ref);
        cr_assert_eq(hiaR_tensor_rank(t), rank);
        cr_assert_eq(hiaR_tensor_dtype(t), dtype);
        cr_assert_eq(hiaR_tensor_len(t), m.n);
        cr_assert_eq(count_of(ref), 1);
        uint64_t bytes = hiaR_tensor_bytes(t);
        uintptr_t at = (uintptr_t)t->data;
        cr_assert_eq(at % (bytes >= HIA_TENSOR_ALIGNED ? HIA_TENSOR_ALIGN : 8), 0);
        cr_assert_leq(at + bytes, ref + hiaR_tensor_size(rank, bytes));
        model now = read_tensor(ref);
        cr_assert(model_equals(&now, &m));
        hiaR_tensor_drop(&w.local, ref, false);
        model_free(&m);
        model_free(&now);
      }
  cr_assert(world_end(&w));
}

Test(tensor, views_keep_their_owner) {
  for (int is_shared = 0; is_shared < 2; is_shared++) {
    tensor_world w;
    uint32_t state = 2;
    world_begin(&w, &hiaR_malloc, is_shared);
    model m = model_random(&state, HIA_F32, dims_of(2, (int64_t)6, (int64_t)7));
    hia_word whole = make_tensor(&w, &m), view, inner;
    hia_dims of_view = dims_of(2, (int64_t)4, (int64_t)7), of_inner = dims_of(1, (int64_t)7);
    cr_assert(hiaR_tensor_view(&w.local, whole, 7, &of_view, is_shared, &view));
    cr_assert_eq(count_of(whole), 2);
    /* A view of a view has the same owner. */
    cr_assert(hiaR_tensor_view(&w.local, view, 14, &of_inner, is_shared, &inner));
    cr_assert_eq(*hiaR_tensor_owner(hiaR_tensor(inner)), whole);
    cr_assert_eq(count_of(whole), 3);
    cr_assert_eq(count_of(view), 1);
    hiaR_tensor_drop(&w.local, view, is_shared);
    hiaR_tensor_drop(&w.local, whole, is_shared);
    cr_assert_eq(count_of(whole), 1);
    for (uint64_t i = 0; i < 7; i++)
      cr_assert(word_equals(HIA_F32, hiaR_tensor_get(hiaR_tensor(inner), i), m.words[21 + i]));
    hiaR_tensor_drop(&w.local, inner, is_shared);
    model_free(&m);
    cr_assert(world_end(&w));
  }
}

Test(tensor, the_last_reference) {
  tensor_world w;
  uint32_t state = 3;
  world_begin(&w, &hiaR_malloc, false);
  model m = model_random(&state, HIA_I64, dims_of(1, (int64_t)5));
  hia_word ref = make_tensor(&w, &m), other, whole, part;
  cr_assert(hiaR_tensor_is_last(ref));
  hiaR_dup(ref, false);
  cr_assert_not(hiaR_tensor_is_last(ref));
  hiaR_tensor_drop(&w.local, ref, false);
  cr_assert(hiaR_tensor_is_last(ref));
  hia_dims dims = m.dims, fewer = dims_of(1, (int64_t)4);
  cr_assert(hiaR_tensor_view(&w.local, ref, 0, &dims, false, &whole));
  cr_assert_not(hiaR_tensor_is_last(ref));
  cr_assert_not(hiaR_tensor_is_last(whole));
  hiaR_tensor_drop(&w.local, ref, false);
  cr_assert(hiaR_tensor_is_last(whole));
  /* A view of a part never is. */
  cr_assert(hiaR_tensor_view(&w.local, whole, 1, &fewer, false, &part));
  cr_assert_not(hiaR_tensor_is_last(whole));
  hiaR_tensor_drop(&w.local, whole, false);
  cr_assert_not(hiaR_tensor_is_last(part));
  hiaR_tensor_drop(&w.local, part, false);
  /* Nor is what belongs to no run, or a view of it. */
  hia_tensor *outside = calloc(1, sizeof *outside + 8 + 40);
  atomic_store(&outside->counted.count, HIA_OUTSIDE);
  outside->counted.ctor = HIA_TENSOR_OUTSIDE;
  outside->counted.spare = hiaR_tensor_spare(HIA_I64, 1);
  outside->data = (char *)(outside + 1) + 8;
  outside->dims[0] = 5;
  cr_assert_not(hiaR_tensor_is_last((uintptr_t)outside));
  cr_assert(hiaR_tensor_view(&w.local, (uintptr_t)outside, 0, &dims, false, &other));
  cr_assert_not(hiaR_tensor_is_last(other));
  hiaR_tensor_drop(&w.local, other, false);
  free(outside);
  model_free(&m);
  cr_assert(world_end(&w));
}

Test(tensor, too_large) {
  tensor_world w;
  world_begin(&w, &hiaR_malloc, false);
  hia_word ref = 77;
  const int64_t huge = (int64_t)1 << 31;
  hia_dims large[] = {dims_of(1, INT64_MAX), dims_of(2, huge, huge), dims_of(3, huge, huge, huge),
                      dims_of(1, INT64_MAX / 8), dims_of(2, INT64_MAX / 16, (int64_t)2)};
  for (size_t i = 0; i < HIA_LEN(large); i++)
    cr_assert_not(hiaR_tensor_new(&w.local, HIA_F64, &large[i], &ref), "%zu", i);
  cr_assert_eq(ref, 77);
  cr_assert(world_end(&w));
}

static hia_status make_and_view(const hia_allocator *allocator) {
  tensor_world w;
  hia_word ref, view;
  world_begin(&w, allocator, false);
  hia_dims dims = dims_of(2, (int64_t)300, (int64_t)100), row = dims_of(1, (int64_t)100);
  hia_status status = HIA_MEMORY;
  if (hiaR_tensor_new(&w.local, HIA_F64, &dims, &ref)) {
    if (hiaR_tensor_view(&w.local, ref, 5, &row, false, &view)) {
      status = HIA_OK;
      hiaR_tensor_drop(&w.local, view, false);
    }
    hiaR_tensor_drop(&w.local, ref, false);
  }
  return world_end(&w) ? status : HIA_INTERNAL;
}
Test(tensor, without_memory) { cr_assert_geq(fail_each_allocation(make_and_view), 2); }
