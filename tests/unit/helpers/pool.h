/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counting the threads of the process, and pools that cannot start as many as they should. */
#ifndef HELPER_POOL_H
#define HELPER_POOL_H

#include "runtime/native/context.h"
#include "tests/unit/helpers/time.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- counting threads ---- */

#define MAX_TASKS 4096

typedef struct tasks {
  long id[MAX_TASKS];
  size_t n;
} tasks;

/* Adds the threads of the process that are not yet in the list; returns their number. */
static inline size_t list_tasks(tasks *all) {
  DIR *dir = opendir("/proc/self/task");
  cr_assert_not_null(dir);
  size_t now = 0;
  for (struct dirent *entry; (entry = readdir(dir));) {
    long id = atol(entry->d_name);
    if (id <= 0) continue;
    now++;
    size_t i = 0;
    while (all && i < all->n && all->id[i] != id) i++;
    if (!all || i < all->n) continue;
    cr_assert_lt(all->n, MAX_TASKS);
    all->id[all->n++] = id;
  }
  closedir(dir);
  return now;
}

static inline size_t count_tasks(void) { return list_tasks(NULL); }

#define SOON(condition)                                                                            \
  for (uint64_t end_ = hiaR_now() + test_limit_ns(60); !(condition); usleep(1000))                 \
  cr_assert_lt(hiaR_now(), end_, "not within a minute: " #condition)

/* The system lists a thread for a moment after it was joined. */
static inline void expect_tasks(size_t n) { SOON(count_tasks() == n); }

static inline hia_pool *new_pool(unsigned max_threads) {
  hia_pool *pool;
  cr_assert_eq(hiaR_pool_new(&hiaR_malloc, max_threads, NULL, &pool), HIA_OK);
  return pool;
}

static _Atomic long creations_left;
static inline int fail_later(pthread_t *thread, const pthread_attr_t *attributes,
                             void *(*main)(void *), void *arg) {
  if (atomic_fetch_sub(&creations_left, 1) <= 0) return EAGAIN;
  return pthread_create(thread, attributes, main, arg);
}

static inline hia_word plain_fib(hia_word n) {
  hia_word a = 0, b = 1;
  for (; n > 0; n--) {
    hia_word c = a + b;
    a = b;
    b = c;
  }
  return a;
}

#endif
