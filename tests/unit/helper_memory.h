/* An allocator over malloc that counts, and fails once. */
#ifndef HELPER_MEMORY_H
#define HELPER_MEMORY_H

#include "runtime/base/base.h"

typedef struct counting {
  size_t live;    /* bytes */
  size_t calls;   /* allocations so far */
  size_t fail_at; /* which of them fails, from 1; 0: none */
} counting;

hia_allocator counting_allocator(counting *c);

/* Attempts something with each of its allocations failing once, until there is one less: it must
 * answer MEMORY, or OK without the failing one, and leave nothing behind. */
void fail_each_allocation(hia_status (*attempt)(const hia_allocator *allocator));

#endif
