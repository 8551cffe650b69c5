/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Stacks of the engine's own: address space is reserved for the deepest run that is allowed; the
 * system commits memory where it is touched. */
#include "runtime/base/left.h"
#include "runtime/native/native.h"
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Nothing should reach the guard: the limit leaves room for what runs below it. Code that does
 * faults instead of writing into what lies below. */
#define GUARD ((size_t)64 << 10)

static size_t page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }

hia_status hiaR_stack_reserve(hia_stack *stack, size_t size) {
  *stack = (hia_stack){0};
  size_t page = page_size(), map_size;
  if (!hiaR_add(size, GUARD + page - 1, &map_size)) return HIA_MEMORY;
  map_size &= ~(page - 1);
  char *map = mmap(NULL, map_size, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (map == MAP_FAILED) return HIA_MEMORY;
  if (mprotect(map, GUARD, PROT_NONE)) {
    munmap(map, map_size);
    return HIA_MEMORY;
  }
  *stack = (hia_stack){.map = map, .map_size = map_size, .low = map + GUARD, .top = map + map_size};
  return HIA_OK;
}

void hiaR_stack_release(hia_stack *stack) {
  if (stack->map) munmap(stack->map, stack->map_size);
  *stack = (hia_stack){0};
}

size_t hiaR_stack_trim(hia_stack *stack, size_t keep) {
  size_t page = page_size(), size = (size_t)(stack->top - stack->low);
  keep = (keep + page - 1) & ~(page - 1);
  if (keep >= size) return size;
  /* A frame larger than a window may leave whole windows untouched: what lies below them counts as
   * unused, but is returned to the system all the same. */
  enum { WINDOW = 4096 };
  unsigned char resident[WINDOW];
  char *lowest = stack->top - keep, *at = lowest;
  for (bool any = true; any && at > stack->low;) {
    size_t pages = (size_t)(at - stack->low) / page;
    if (pages > WINDOW) pages = WINDOW;
    at -= pages * page;
    if (mincore(at, pages * page, resident)) break;
    any = false;
    for (size_t i = 0; i < pages && !any; i++) {
      if (!(resident[i] & 1)) continue;
      any = true;
      lowest = at + i * page;
    }
  }
  int error = errno; /* the host's errno must not change */
  (void)madvise(stack->low, size - keep, MADV_DONTNEED);
  errno = error;
  return (size_t)(stack->top - lowest);
}

/* ---- the default limit ---- */

size_t hiaR_default_depth(void) {
  uint64_t depth = HIA_DEFAULT_STACK, space = hiaR_space_left() / 8, least = (uint64_t)1 << 20;
  if (space < depth) depth = space; /* each worker reserves that much */
  return (size_t)(depth < least ? least : depth);
}
