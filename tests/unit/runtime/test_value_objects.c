/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* runtime/value: the memory of objects. */
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/value.h"
#include <criterion/criterion.h>

Test(value_objects, memory) {
  test_heap heap;
  test_heap_init(&heap, -1);
  hia_objects *objects = hiaR_objects_new(&heap.allocator, 0);
  char *last = NULL;
  for (size_t i = 1; i <= 2000; i++) {
    char *object = hiaR_objects_alloc(objects, i % 50 * 8);
    cr_assert(object && (uintptr_t)object % 8 == 0);
    memset(object, (int)i, i % 50 * 8); /* no two overlap: checked below, and by AddressSanitizer */
    if (last) cr_assert_eq(last[0], (char)(i - 1));
    last = i % 50 ? object : NULL;
  }
  char *large = hiaR_objects_alloc(objects, 10 << 20);
  cr_assert(large);
  memset(large, 1, 10 << 20);
  cr_assert_eq(hiaR_objects_alloc(objects, SIZE_MAX - 7), NULL);
  cr_assert_eq(hiaR_objects_hold(objects), objects);
  hiaR_objects_release(objects);
  cr_assert_gt(heap.blocks, 2);
  hiaR_objects_release(objects);
  cr_assert(heap.blocks == 0 && heap.bytes == 0);
  hiaR_objects_release(NULL);
}

Test(value_objects, limit) {
  hia_objects *objects = hiaR_objects_new(&hiaR_malloc, 10000);
  size_t n = 0;
  while (hiaR_objects_alloc(objects, 104)) n++;
  cr_assert(n > 80 && n * 104 <= 10000, "%zu", n);
  cr_assert_leq(hiaR_objects_bytes(objects), 10000);
  hiaR_objects_release(objects);
}

Test(value_objects, adopted_chunks) {
  test_heap own, foreign;
  test_heap_init(&own, -1);
  test_heap_init(&foreign, -1);
  hia_objects *objects = hiaR_objects_new(&own.allocator, 0);
  hia_object_chunk *chunks = NULL;
  for (int i = 0; i < 3; i++) {
    hia_object_chunk *chunk = foreign.allocator.alloc(foreign.allocator.user, 4096);
    *chunk = (hia_object_chunk){chunks, foreign.allocator, 4096};
    chunks = chunk;
  }
  hiaR_objects_adopt(objects, chunks);
  cr_assert_eq(hiaR_objects_bytes(objects), 3 * 4096);
  cr_assert(hiaR_objects_alloc(objects, 64));
  hiaR_objects_release(objects);
  cr_assert(own.blocks == 0 && own.bytes == 0 && foreign.blocks == 0 && foreign.bytes == 0);
}

Test(value_objects, arrays_that_are_too_large) {
  hia_objects *objects = new_objects();
  hia_layout element = {.size = 16};
  cr_assert_eq(hiaR_new_array(objects, &element, UINT64_MAX / 16 + 1), NULL);
  cr_assert_eq(hiaR_new_array(objects, &element, UINT64_MAX / 16 - 1), NULL);
  hia_array *none = hiaR_new_array(objects, &element, 0);
  cr_assert(none && none->n == 0 && none->counted.count == HIA_OUTSIDE);
  hiaR_objects_release(objects);
}
