/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The stack of a worker: its memory, its limits, and the way onto it and back. */
#include "runtime/base/left.h"
#include "runtime/native/barrier.h"
#include "runtime/native/context.h"

/* Below the limit: 64 KiB for a handler of the host's signals, which may come at any time; as much
 * for its pool's `start`; and the rest for what compiled code calls there: library functions, the
 * stubs, the reading of backtraces. Frames of compiled code below the limit need space in
 * addition: that of a function that was entered just above the limit, and that of a function
 * without a safepoint that it calls. */
#define MARGIN ((size_t)192 << 10)

/* What is reserved for a stack without a limit. */
#define MOST_ADDRESSES ((size_t)1 << 40)

/* ---- memory ---- */

void hiaR_context_end_grant(hia_context *context) {
  hiaR_grant_end(context->depth.granted - HIA_FREE_GRANT);
  context->depth.granted = HIA_FREE_GRANT;
}

hia_status hiaR_context_reserve(hia_context *context, size_t size) {
  if (context->stack.map && (size_t)(context->stack.top - context->stack.low) >= size)
    return HIA_OK;
  hiaR_fiber_free(&context->fiber);
  hiaR_stack_release(&context->stack);
  hia_status status = hiaR_stack_reserve(&context->stack, size);
  if (!status) hiaR_fiber_new(&context->fiber);
  return status;
}

size_t hiaR_context_trim(hia_context *context) {
  if (!context->depth.is_deep) return HIA_STACK_KEEP;
  context->depth.is_deep = false;
  hiaR_barriers_reset(context);
  size_t used = hiaR_stack_trim(&context->stack, HIA_STACK_KEEP);
  hiaR_context_end_grant(context);
  return used;
}

/* ---- limits ---- */

void hiaR_context_limits(hia_context *context, size_t depth) {
  context->depth.hard = (uintptr_t)context->stack.top - depth;
  context->depth.is_deep = false;
  hiaR_barriers_drop(context, context->stack.top);
}

hia_status hiaR_set_limits(hia_context *context, size_t depth, size_t max_frame) {
  size_t size, below;
  bool is_default = depth == 0, is_fixed = !is_default && depth != SIZE_MAX;
  if (is_default) {
    if (!context->depth.usual) context->depth.usual = hiaR_default_depth();
    depth = context->depth.usual;
  } else if (!is_fixed) {
    depth = MOST_ADDRESSES;
  }
  if (!hiaR_mul(max_frame, 2, &below) || !hiaR_add(below, MARGIN, &below)) return HIA_MEMORY;
  for (;;) {
    if (!hiaR_add(depth, below, &size)) return HIA_MEMORY;
    hia_status status = hiaR_context_reserve(context, size);
    if (!status) break;
    /* Address space may be limited (RLIMIT_AS): a default depth is halved until it fits, a depth
     * set by the caller is not. */
    if (is_fixed || depth <= HIA_STACK_KEEP) return status;
    depth /= 2;
    if (is_default) context->depth.usual = depth;
  }
  context->depth.below = below;
  hiaR_context_limits(context, depth);
  return HIA_OK;
}

/* ---- to the engine's stack and back ---- */

#ifdef HIA_FIBERS

typedef struct hia_crossing {
  hia_context *context;
  void (*fn)(void *);
  void *arg;
} hia_crossing;

static HIA_UNINSTRUMENTED void arrive(void *p) {
  hia_crossing *crossing = p;
  hia_context *context = crossing->context;
  hiaR_fiber_arrive(&context->fiber);
  hiaR_arch_call(context, crossing->fn, crossing->arg);
  hiaR_fiber_depart(&context->fiber);
}

HIA_UNINSTRUMENTED int hiaR_cross(hia_context *context, void (*fn)(void *), void *arg) {
  hia_crossing crossing = {context, fn, arg};
  const hia_stack *stack = &context->stack;
  hiaR_fiber_enter(&context->fiber, stack->low, (size_t)(stack->top - stack->low));
  int left = hiaR_arch_enter(context, stack->top, arrive, &crossing);
  hiaR_fiber_entered(&context->fiber, left);
  return left;
}

#endif

hia_status hiaR_context_call(hia_context *context, size_t size, void (*fn)(void *arg), void *arg) {
  hia_status status = hiaR_context_reserve(context, size);
  if (status) return status;
  hiaR_cross(context, fn, arg);
  hiaR_stack_trim(&context->stack, HIA_STACK_KEEP);
  return HIA_OK;
}
