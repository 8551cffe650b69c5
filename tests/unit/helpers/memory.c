/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/memory.h"
#include <stdlib.h>
#include <string.h>

static bool may_allocate(test_heap *heap) {
  if (heap->left < 0 || atomic_fetch_sub(&heap->left, 1) > 0) return true;
  if (heap->fails_once)
    atomic_store(&heap->left, -1);
  else
    atomic_fetch_add(&heap->left, 1);
  return false;
}

static void *heap_alloc(void *user, size_t size) {
  test_heap *heap = user;
  if (!may_allocate(heap)) return NULL;
  void *block = malloc(size ? size : 1);
  if (!block) return NULL;
  memset(block, 0xa5, size); /* no caller may rely on zeros from an allocator */
  atomic_fetch_add(&heap->blocks, 1);
  atomic_fetch_add(&heap->bytes, (long)size);
  return block;
}

static void *heap_resize(void *user, void *block, size_t old_size, size_t size) {
  test_heap *heap = user;
  if (!may_allocate(heap)) return NULL;
  void *resized = realloc(block, size ? size : 1);
  if (!resized) return NULL;
  if (!block) atomic_fetch_add(&heap->blocks, 1);
  atomic_fetch_add(&heap->bytes, (long)size - (long)old_size);
  return resized;
}

static void heap_free(void *user, void *block, size_t size) {
  test_heap *heap = user;
  if (block) atomic_fetch_sub(&heap->blocks, 1);
  atomic_fetch_sub(&heap->bytes, (long)size);
  free(block);
}

void test_heap_init(test_heap *heap, long left) {
  heap->allocator = (hia_allocator){heap_alloc, heap_resize, heap_free, heap};
  atomic_init(&heap->left, left);
  atomic_init(&heap->blocks, 0);
  atomic_init(&heap->bytes, 0);
  heap->fails_once = false;
}

/* In the stress build an arena requests ten times as many blocks. With AddressSanitizer a run takes
 * several times as long, and every seed begins elsewhere. */
#ifdef HIA_STRESS
enum { APART = HIA_TEST_SHARE > 4 ? 12 : 4 };
#else
enum { APART = 1 };
#endif

size_t fail_each_allocation(hia_status (*attempt)(const hia_allocator *allocator)) {
  for (long at = HIA_TEST_SEED % APART;; at += APART) {
    test_heap heap;
    test_heap_init(&heap, at);
    heap.fails_once = true;
    hia_status status = attempt(&heap.allocator);
    if (heap.blocks || heap.bytes || (status && status != HIA_MEMORY)) return 0;
    if (!status) return (size_t)at;
  }
}
