/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* An allocator that keeps what is freed for the next blocks, as the results of a training's steps
 * are: each is freed when the next one is there. malloc would give the pages of some of them back
 * to the system, and get others.
 *
 * Threads: its functions may be called by several at once. The keeper must not be moved, and
 * outlives its blocks. */
#ifndef HIA_KEEPER_H
#define HIA_KEEPER_H

#include "runtime/base/base.h"
#include <pthread.h>

typedef struct hia_keeper {
  hia_allocator allocator; /* the keeper's, as others use it */
  hia_allocator from;      /* where blocks come from */
  pthread_mutex_t lock;    /* of what follows */
  struct hia_kept_block *kept;
  size_t in_use, most; /* bytes of blocks in use, and the most that these have been */
  size_t kept_bytes;
} hia_keeper;

void hiaR_keeper_init(hia_keeper *keeper, const hia_allocator *from);
/* Frees what is kept; blocks in use stay. */
void hiaR_keeper_empty(hia_keeper *keeper);
/* No block is in use any more. */
void hiaR_keeper_free(hia_keeper *keeper);

#endif
