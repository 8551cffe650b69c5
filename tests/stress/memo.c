/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Several threads that keep results in one memo, and look for them: whatever one of them finds is
 * whole, and nothing is kept twice.
 *
 *   memo [KEYS]
 *
 * ThreadSanitizer runs this too. */
#include "runtime/param/memo.h"
#include "tests/unit/helpers/memory.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

typedef struct shared {
  hia_memo *memo;
  hia_word n_keys;
  atomic_uint n_wrong;
} shared;

static void *keep_all(void *arg) {
  shared *s = arg;
  static const int64_t dims[1] = {2};
  for (hia_word i = 0; i < 2 * s->n_keys; i++) {
    const hia_word words[2] = {i / 2, 7}; /* each key twice */
    const hia_memo_key key = {1, words, 2};
    const float elements[2] = {(float)(i / 2), 1};
    const hia_word *found = hiaR_memo_find(s->memo, &key);
    if (found) {
      const float *x = (const float *)(const void *)hiaR_tensor(found[0])->data;
      if (x[0] != elements[0] || x[1] != 1) atomic_fetch_add(&s->n_wrong, 1);
    }
    const hia_memo_result result = {HIA_F32, 1, dims, (const char *)elements};
    hiaR_memo_keep(s->memo, &key, &result, 1);
  }
  return NULL;
}

int main(int argc, char **argv) {
  shared many = {.n_keys = argc > 1 ? (hia_word)atoi(argv[1]) : 100000}, one = many;
  pthread_t threads[THREADS];
  many.memo = hiaR_memo_new(&hiaR_malloc);
  one.memo = hiaR_memo_new(&hiaR_malloc);
  if (!many.memo || !one.memo) return 1;
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, keep_all, &many)) return 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  keep_all(&one);
  size_t bytes = hiaR_memo_bytes(many.memo);
  bool is_right = !atomic_load(&many.n_wrong) && bytes == hiaR_memo_bytes(one.memo);
  printf("%s: %zu bytes\n", is_right ? "ok" : "FAIL", bytes);
  hiaR_memo_free(one.memo);
  hiaR_memo_free(many.memo);
  return is_right ? 0 : 1;
}
