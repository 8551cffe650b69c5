/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* native: entering and leaving the engine's stack, limits, cancelling. Entries here are C
 * functions; test_lower.c tests compiled code. */
#include "runtime/native/arch/arch.h"
#include "runtime/run/runtime.h"
#include <criterion/criterion.h>
#include <pthread.h>

static hia_context *new_context(void) {
  hia_context *context;
  cr_assert_eq(hiaR_context_new(&hiaR_malloc, &context), HIA_OK);
  return context;
}

static char *entry_frame;
static void add(hia_word *block) {
  char here;
  entry_frame = &here;
  block[2] = block[0] + block[1];
}

Test(native, runs_on_its_own_stack) {
  hia_context *context = new_context();
  hia_failure failure;
  hia_usage usage;
  char here;
  for (hia_word i = 0; i < 1000; i++) {
    hia_word block[3] = {i, 2 * i, 0};
    cr_assert_eq(hiaR_native_run(context, add, block, NULL, NULL, &failure, &usage), HIA_OK);
    cr_assert_eq(block[2], 3 * i);
    cr_assert_eq(failure.status, HIA_OK);
    cr_assert_eq(failure.backtrace.length, 0);
  }
  ptrdiff_t distance = entry_frame - &here;
  cr_assert(distance > 1 << 16 || distance < -(1 << 16), "%td", distance);
  hiaR_context_free(context);
}

Test(native, a_depth_that_cannot_be_had_is_refused) {
  hia_context *context = new_context();
  hia_failure failure;
  hia_usage usage;
  hia_word block[3] = {1, 2, 0};
  hia_limits limits = {.depth = SIZE_MAX - 1};
  cr_assert_eq(hiaR_native_run(context, add, block, NULL, &limits, &failure, &usage), HIA_MEMORY);
  limits.depth = SIZE_MAX / 2;
  cr_assert_eq(hiaR_native_run(context, add, block, NULL, &limits, &failure, &usage), HIA_MEMORY);
  limits.depth = 0; /* and the context still works */
  cr_assert_eq(hiaR_native_run(context, add, block, NULL, &limits, &failure, &usage), HIA_OK);
  hiaR_context_free(context);
}

Test(native, cancelled_before_it_starts) {
  hia_context *context = new_context();
  hia_failure failure;
  hia_usage usage;
  uint32_t cancelled = 1;
  hia_limits limits = {.cancelled = &cancelled};
  hia_word block[3] = {1, 2, 0};
  cr_assert_eq(hiaR_native_run(context, add, block, NULL, &limits, &failure, &usage),
               HIA_CANCELLED);
  cr_assert_eq(block[2], 0);
  cancelled = 0;
  cr_assert_eq(hiaR_native_run(context, add, block, NULL, &limits, &failure, &usage), HIA_OK);
  hiaR_context_cancel(context); /* no run: nothing to end, nor the next one */
  cr_assert_eq(hiaR_native_run(context, add, block, NULL, &limits, &failure, &usage), HIA_OK);
  hiaR_context_free(context);
}

static uint64_t sink;
static void recurse(void *arg) {
  volatile char frame[1024];
  size_t *left = arg;
  frame[0] = (char)*left;
  if ((*left)-- > 0) recurse(arg);
  sink += (uint64_t)frame[0];
}
static void *call_deep(void *arg) {
  hia_context *context = new_context();
  size_t left = 20000; /* 20 MB at least */
  *(hia_status *)arg = hiaR_context_call(context, (size_t)256 << 20, recurse, &left);
  hiaR_context_free(context);
  return NULL;
}

Test(native, deep_calls_from_a_thread_with_a_small_stack) {
  hia_status status = HIA_INTERNAL;
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, (size_t)256 << 10);
  cr_assert_eq(pthread_create(&thread, &attributes, call_deep, &status), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  cr_assert_eq(status, HIA_OK);
}

Test(native, context_and_layout_start_with_the_limit) {
  /* Generated code addresses the limit without an offset, in the shortest form. */
  static const uint32_t offsets[] = {
#define HIA_FIELD(offset, TYPE, name, doc) offset,
#include "runtime/native/layout.def"
  };
  cr_assert_eq(offsets[0], 0);
}
