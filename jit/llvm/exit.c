/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The end of the process while a thread compiles.
 *
 * When a process ends by exit, LLVM's global objects are destroyed; a thread that is inside LLVM
 * then crashes. So the first session registers a function that is called before that, since it was
 * registered after LLVM's. It lets no compilation begin, asks those under way to end, and waits for
 * the step of LLVM that each is in. */
#include "jit/llvm/backend.h"
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_left = PTHREAD_COND_INITIALIZER;
static unsigned n_inside;      /* protected by `lock` */
static _Atomic bool is_ending; /* written under `lock` */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void await(void) {
  pthread_mutex_lock(&lock);
  atomic_store(&is_ending, true);
  while (n_inside) pthread_cond_wait(&all_left, &lock);
  pthread_mutex_unlock(&lock);
}

static void set_up(void) { atexit(await); }

void hiaJ_exit_prepare(void) { pthread_once(&once, set_up); }

bool hiaJ_exit_is_near(void) { return atomic_load_explicit(&is_ending, memory_order_relaxed); }

bool hiaJ_exit_enter(void) {
  pthread_mutex_lock(&lock);
  bool may_enter = !atomic_load(&is_ending);
  n_inside += may_enter;
  pthread_mutex_unlock(&lock);
  return may_enter;
}

void hiaJ_exit_leave(void) {
  pthread_mutex_lock(&lock);
  if (--n_inside == 0) pthread_cond_broadcast(&all_left);
  pthread_mutex_unlock(&lock);
}
