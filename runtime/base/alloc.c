/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/base.h"
#include <stdlib.h>
#include <sys/mman.h>

static void *malloc_alloc(void *user, size_t size) {
  (void)user;
  return malloc(size ? size : 1);
}

static void *malloc_resize(void *user, void *block, size_t old_size, size_t size) {
  (void)user, (void)old_size;
  return realloc(block, size ? size : 1);
}

static void malloc_free(void *user, void *block, size_t size) {
  (void)user, (void)size;
  free(block);
}

const hia_allocator hiaR_malloc = {malloc_alloc, malloc_resize, malloc_free, NULL};

/* The system gives large pages to what is advised so (as NumPy advises it). Then it finds, clears
 * and takes back 512 times fewer of them, which for a block of 200 MB else takes 50 ms at first
 * use, and 5 ms at the end, in which no run can be cancelled. A block of malloc at least this large
 * is mostly a mapping of its own; what is advised of any other stays harmless after it is freed. */
enum { LARGE = 4 << 20, PAGE = 4096 };

void *hiaR_alloc_large(const hia_allocator *a, size_t size) {
  void *block = a->alloc(a->user, size);
#ifdef MADV_HUGEPAGE
  if (block && size >= LARGE && a->alloc == malloc_alloc) {
    size_t skip = -(uintptr_t)block & (PAGE - 1);
    (void)madvise((char *)block + skip, (size - skip) & ~(size_t)(PAGE - 1), MADV_HUGEPAGE);
  }
#endif
  return block;
}

void *hiaR_alloc(const hia_allocator *a, size_t size) {
  void *block = a->alloc(a->user, size);
  if (block) memset(block, 0, size);
  return block;
}

void hiaR_free(const hia_allocator *a, void *block, size_t size) {
  if (block) a->free(a->user, block, size);
}

bool hiaR_mul(size_t a, size_t b, size_t *product) {
  if (b != 0 && a > SIZE_MAX / b) return false;
  *product = a * b;
  return true;
}

bool hiaR_add(size_t a, size_t b, size_t *sum) {
  if (a > SIZE_MAX - b) return false;
  *sum = a + b;
  return true;
}
