/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/base.h"
#include <stdlib.h>

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
