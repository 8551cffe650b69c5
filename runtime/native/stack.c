/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Stacks of the engine's own: address space is reserved for the deepest run that is allowed; the
 * system commits memory where it is touched. */
#include "runtime/native/native.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/* Returns the number after `key` in a small text file of the system, or `none`. */
static uint64_t read_number(const char *path, const char *key, uint64_t none) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return none;
  char text[4096];
  ssize_t n = read(fd, text, sizeof text - 1);
  close(fd);
  if (n <= 0) return none;
  text[n] = 0;
  const char *at = strstr(text, key);
  if (!at) return none;
  at += strlen(key);
  char *end;
  errno = 0;
  uint64_t number = strtoull(at, &end, 10);
  return end == at || errno ? none : number;
}

size_t hiaR_default_depth(void) {
  int error = errno;
  uint64_t available = read_number("/proc/meminfo", "MemAvailable:", (uint64_t)1 << 20);
  available = available > UINT64_MAX >> 10 ? UINT64_MAX : available << 10;
  /* In a container the group's limit holds ("max" is not a number). */
  uint64_t most = read_number("/sys/fs/cgroup/memory.max", "", UINT64_MAX);
  uint64_t used = read_number("/sys/fs/cgroup/memory.current", "", 0);
  if (most != UINT64_MAX && most - (used < most ? used : most) < available)
    available = most - (used < most ? used : most);
  struct rlimit space;
  if (!getrlimit(RLIMIT_AS, &space) && space.rlim_cur != RLIM_INFINITY &&
      space.rlim_cur / 4 < available)
    available = space.rlim_cur / 4;
  errno = error;
  /* Half of it: beyond that the system's out-of-memory killer ends the process before the limit
   * ends the run. */
  uint64_t depth = available / 2, least = (uint64_t)1 << 20, greatest = (uint64_t)1 << 40;
  return (size_t)(depth < least ? least : depth > greatest ? greatest : depth);
}
