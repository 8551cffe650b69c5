/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Notifies the sanitizers of changes of stack. Without a sanitizer none of this is compiled. A
 * crossing to the engine's stack goes
 *
 *   enter (host's stack), arrive (engine's), depart (engine's), entered (host's).
 *
 * and a visit to the host's stack in between
 *
 *   suspend (engine's), visit (host's), leave_visit (host's), resume (engine's).
 *
 * HIA_UNINSTRUMENTED: for functions that begin on one stack and end on the other, or do not
 * return. */
#ifndef HIA_SANITIZER_H
#define HIA_SANITIZER_H

#include "runtime/base/base.h"

#if defined(HIA_ASAN)

#define HIA_FIBERS         1
#define HIA_UNINSTRUMENTED __attribute__((no_sanitize_address))
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

typedef struct hia_fiber {
  void *host_fake_stack, *own_fake_stack;
  const void *host_bottom;
  size_t host_size;
} hia_fiber;
static inline HIA_UNINSTRUMENTED void hiaR_fiber_new(hia_fiber *fiber) { (void)fiber; }
static inline HIA_UNINSTRUMENTED void hiaR_fiber_free(hia_fiber *fiber) { (void)fiber; }
static inline HIA_UNINSTRUMENTED void hiaR_fiber_enter(hia_fiber *fiber, const void *bottom,
                                                       size_t size) {
  __sanitizer_start_switch_fiber(&fiber->host_fake_stack, bottom, size);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_arrive(hia_fiber *fiber) {
  __sanitizer_finish_switch_fiber(NULL, &fiber->host_bottom, &fiber->host_size);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_depart(hia_fiber *fiber) {
  __sanitizer_start_switch_fiber(NULL, fiber->host_bottom, fiber->host_size);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_entered(hia_fiber *fiber, int left) {
  (void)left;
  __sanitizer_finish_switch_fiber(fiber->host_fake_stack, NULL, NULL);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_suspend(hia_fiber *fiber) {
  __sanitizer_start_switch_fiber(&fiber->own_fake_stack, fiber->host_bottom, fiber->host_size);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_visit(hia_fiber *fiber) {
  __sanitizer_finish_switch_fiber(fiber->host_fake_stack, NULL, NULL);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_leave_visit(hia_fiber *fiber, const void *bottom,
                                                             size_t size) {
  __sanitizer_start_switch_fiber(&fiber->host_fake_stack, bottom, size);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_resume(hia_fiber *fiber) {
  __sanitizer_finish_switch_fiber(fiber->own_fake_stack, &fiber->host_bottom, &fiber->host_size);
}
#elif defined(HIA_TSAN)

#define HIA_FIBERS 1
#if defined(__clang__) /* clang's no_sanitize("thread") still records calls */
#define HIA_UNINSTRUMENTED __attribute__((disable_sanitizer_instrumentation))
#else
#define HIA_UNINSTRUMENTED __attribute__((no_sanitize_thread))
#endif
#include <sanitizer/tsan_interface.h>

typedef struct hia_fiber {
  void *own, *host;
} hia_fiber;
static inline HIA_UNINSTRUMENTED void hiaR_fiber_new(hia_fiber *fiber) {
  fiber->own = __tsan_create_fiber(0);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_free(hia_fiber *fiber) {
  if (fiber->own) __tsan_destroy_fiber(fiber->own);
  fiber->own = NULL;
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_enter(hia_fiber *fiber, const void *bottom,
                                                       size_t size) {
  (void)bottom;
  (void)size;
  fiber->host = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber->own, 0);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_arrive(hia_fiber *fiber) { (void)fiber; }
static inline HIA_UNINSTRUMENTED void hiaR_fiber_depart(hia_fiber *fiber) {
  __tsan_switch_to_fiber(fiber->host, 0);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_suspend(hia_fiber *fiber) {
  __tsan_switch_to_fiber(fiber->host, 0);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_visit(hia_fiber *fiber) { (void)fiber; }
static inline HIA_UNINSTRUMENTED void hiaR_fiber_leave_visit(hia_fiber *fiber, const void *bottom,
                                                             size_t size) {
  (void)bottom;
  (void)size;
  __tsan_switch_to_fiber(fiber->own, 0);
}
static inline HIA_UNINSTRUMENTED void hiaR_fiber_resume(hia_fiber *fiber) { (void)fiber; }
/* Frames that were left are still in the fiber's own record of calls: it is made anew. */
static inline HIA_UNINSTRUMENTED void hiaR_fiber_entered(hia_fiber *fiber, int left) {
  if (!left) return;
  hiaR_fiber_free(fiber);
  hiaR_fiber_new(fiber);
}

#else

#define HIA_UNINSTRUMENTED
typedef struct hia_fiber {
  char none; /* C has no empty structs */
} hia_fiber;
static inline HIA_UNINSTRUMENTED void hiaR_fiber_new(hia_fiber *fiber) { (void)fiber; }
static inline HIA_UNINSTRUMENTED void hiaR_fiber_free(hia_fiber *fiber) { (void)fiber; }
static inline HIA_UNINSTRUMENTED void hiaR_fiber_depart(hia_fiber *fiber) { (void)fiber; }

#endif

/* Frames between the two addresses are left: the red zones around their variables become ordinary
 * stack again. */
static inline HIA_UNINSTRUMENTED void hiaR_stack_forget(const void *low, const void *high) {
#if defined(HIA_ASAN)
  __asan_unpoison_memory_region(low, (size_t)((const char *)high - (const char *)low));
#else
  (void)low, (void)high;
#endif
}

#endif
