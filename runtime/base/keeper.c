/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "runtime/base/keeper.h"

/* Smaller blocks, of which malloc returns no pages, are not kept. */
enum { LEAST = 4096 };

/* Precedes a block. */
typedef struct hia_kept_block {
  struct hia_kept_block *next; /* while it is kept */
  size_t size;                 /* with this */
} hia_kept_block;
_Static_assert(sizeof(hia_kept_block) % 16 == 0, "blocks keep their alignment");

/* Takes the smallest block out of those that are kept, of `size` bytes and up to twice as many.
 * NULL: there is none. The caller has the lock. */
static hia_kept_block *take_kept(hia_keeper *keeper, size_t size) {
  hia_kept_block **best = NULL;
  for (hia_kept_block **at = &keeper->kept; *at; at = &(*at)->next)
    if ((*at)->size >= size && (*at)->size / 2 <= size && (!best || (*at)->size < (*best)->size))
      best = at;
  hia_kept_block *block = best ? *best : NULL;
  if (!block) return NULL;
  *best = block->next;
  keeper->kept_bytes -= block->size;
  return block;
}

/* The gradient of a matrix by rows has some more of them in one step than in another: a quarter
 * more serves both. The system gives the pages now, and not in a later step. */
static hia_kept_block *new_block(hia_keeper *keeper, size_t size) {
  enum { PAGE = 4096 };
  size_t whole;
  if (!hiaR_add(size, size / 4, &whole)) return NULL;
  hia_kept_block *block = keeper->from.alloc(keeper->from.user, whole);
  if (!block) return NULL;
  for (size_t at = 0; at < whole; at += PAGE) ((volatile char *)block)[at] = 0;
  block->size = whole;
  return block;
}

static void *keeper_alloc(void *user, size_t size) {
  hia_keeper *keeper = user;
  size_t whole;
  if (size < LEAST) return keeper->from.alloc(keeper->from.user, size);
  if (!hiaR_add(size, sizeof(hia_kept_block), &whole)) return NULL;
  pthread_mutex_lock(&keeper->lock);
  hia_kept_block *block = take_kept(keeper, whole);
  if (!block) block = new_block(keeper, whole);
  if (block) keeper->in_use += block->size;
  if (keeper->in_use > keeper->most) keeper->most = keeper->in_use;
  pthread_mutex_unlock(&keeper->lock);
  return block ? block + 1 : NULL;
}

/* As much is kept as there may have been in use besides. */
static void keeper_give(void *user, void *at, size_t size) {
  hia_keeper *keeper = user;
  if (size < LEAST || !at) {
    keeper->from.free(keeper->from.user, at, size);
    return;
  }
  hia_kept_block *block = (hia_kept_block *)at - 1;
  pthread_mutex_lock(&keeper->lock);
  keeper->in_use -= block->size;
  bool is_kept = keeper->kept_bytes + block->size <= keeper->most;
  if (is_kept) {
    keeper->kept_bytes += block->size;
    block->next = keeper->kept;
    keeper->kept = block;
  }
  pthread_mutex_unlock(&keeper->lock);
  if (!is_kept) hiaR_free(&keeper->from, block, block->size);
}

static void *keeper_resize(void *user, void *at, size_t old_size, size_t size) {
  void *other = keeper_alloc(user, size);
  if (!other) return NULL;
  if (at) memcpy(other, at, old_size < size ? old_size : size);
  if (at) keeper_give(user, at, old_size);
  return other;
}

void hiaR_keeper_init(hia_keeper *keeper, const hia_allocator *from) {
  *keeper =
      (hia_keeper){.allocator = {keeper_alloc, keeper_resize, keeper_give, keeper}, .from = *from};
  pthread_mutex_init(&keeper->lock, NULL);
}

void hiaR_keeper_empty(hia_keeper *keeper) {
  pthread_mutex_lock(&keeper->lock);
  hia_kept_block *kept = keeper->kept;
  keeper->kept = NULL;
  keeper->kept_bytes = 0;
  keeper->most = keeper->in_use;
  pthread_mutex_unlock(&keeper->lock);
  while (kept) {
    hia_kept_block *next = kept->next;
    hiaR_free(&keeper->from, kept, kept->size);
    kept = next;
  }
}

void hiaR_keeper_free(hia_keeper *keeper) {
  hiaR_keeper_empty(keeper);
  pthread_mutex_destroy(&keeper->lock);
}
