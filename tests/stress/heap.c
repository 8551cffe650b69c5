/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Workers of one run that free what others have allocated, hand over what they have freed, and run
 * into the limit; run after run.
 *
 *   heap [RUNS]
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "runtime/heap/heap.h"
#include "tests/stress/random.h"
#include "tests/unit/helpers/memory.h"
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, SLOTS = 64, TURNS = 20000 };

/* A block begins with its size in words, and each of its words holds this. */
typedef struct sharing {
  hia_heap heap;
  _Atomic(uint64_t *) slots[SLOTS];
  _Atomic uint64_t n_refused;
  uint64_t seed;
} sharing;

typedef struct worker {
  sharing *shared;
  pthread_t thread;
  uint64_t seed;
} worker;

static void wrong(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void *exchange(void *user) {
  worker *w = user;
  sharing *s = w->shared;
  hia_local_heap local;
  hiaR_local_begin(&local, &s->heap);
  for (uint64_t i = 0; i < TURNS; i++) {
    uint64_t random = next_random(&w->seed), size = 2 + random % 9;
    if (random >> 20 & 1) size = 4;
    if ((random >> 24 & 1023) == 0) size = 9000;
    uint64_t *mine = hiaR_heap_alloc(&local, size * sizeof *mine);
    for (uint64_t k = 0; mine && k < size; k++) mine[k] = size;
    if (!mine) atomic_fetch_add(&s->n_refused, 1);
    uint64_t *other = atomic_exchange(&s->slots[random >> 40 & (SLOTS - 1)], mine);
    if (other) {
      size = other[0];
      for (uint64_t k = 1; k < size; k++)
        if (other[k] != size) wrong("a block has changed");
      hiaR_heap_release(&local, other, size * sizeof *other);
    }
    if (i % 512 == 0) hiaR_local_hand_over(&local);
  }
  hiaR_local_hand_over(&local);
  return NULL;
}

int main(int argc, char **argv) {
  int runs = argc > 1 ? atoi(argv[1]) : 10;
  test_heap from;
  static sharing s;
  test_heap_init(&from, -1);
  hiaR_heap_init(&s.heap, &from.allocator);
  for (int run = 0; run < runs; run++) {
    worker workers[THREADS];
    size_t limit = run % 2 ? 40000 : (size_t)8 << 20;
    hiaR_heap_begin(&s.heap, limit);
    for (int i = 0; i < SLOTS; i++) atomic_store(&s.slots[i], NULL);
    for (int i = 0; i < THREADS; i++) {
      workers[i] = (worker){.shared = &s, .seed = (uint64_t)run * THREADS + (uint64_t)i + 1};
      if (pthread_create(&workers[i].thread, NULL, exchange, &workers[i])) wrong("no thread");
    }
    for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
    if (atomic_load(&s.heap.peak) > limit) wrong("past the limit");
    hiaR_heap_end(&s.heap);
  }
  hiaR_heap_free(&s.heap);
  if (atomic_load(&from.blocks)) wrong("memory is lost");
  if (!atomic_load(&s.n_refused)) wrong("the limit was never met");
  printf("%d runs\n", runs);
  return 0;
}
