#include "tests/unit/helper_memory.h"
#include <criterion/criterion.h>
#include <stdlib.h>

static void *counting_alloc(void *user, size_t size) {
  counting *c = user;
  if (++c->calls == c->fail_at) return NULL;
  void *block = malloc(size ? size : 1);
  if (block) memset(block, 0xa5, size); /* nobody may rely on zeros from an allocator */
  c->live += size;
  return block;
}

static void *counting_resize(void *user, void *block, size_t old_size, size_t size) {
  counting *c = user;
  if (++c->calls == c->fail_at) return NULL;
  c->live += size - old_size;
  return realloc(block, size ? size : 1);
}

static void counting_free(void *user, void *block, size_t size) {
  ((counting *)user)->live -= size;
  free(block);
}

hia_allocator counting_allocator(counting *c) {
  return (hia_allocator){counting_alloc, counting_resize, counting_free, c};
}

void fail_each_allocation(hia_status (*attempt)(const hia_allocator *allocator)) {
  for (size_t fail_at = 1;; fail_at++) {
    counting c = {.fail_at = fail_at};
    hia_allocator a = counting_allocator(&c);
    hia_status status = attempt(&a);
    cr_assert_eq(c.live, 0);
    if (!status) {
      cr_assert_gt(fail_at, 5);
      break;
    }
    cr_assert_eq(status, HIA_MEMORY);
  }
}
