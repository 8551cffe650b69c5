/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of host functions: on the thread's stack, below where it was left. */
#include "runtime/native/context.h"

static void *thread_sp(const hia_context *context) {
  return context->invocation->outer ? context->thread_sp : context->host_sp;
}

#ifdef HIA_FIBERS

typedef struct hia_visit {
  hia_context *context;
  hia_host_call *call;
  hia_word *block;
  uint32_t status;
} hia_visit;

static HIA_UNINSTRUMENTED uint32_t visit(void *p) {
  hia_visit *v = p;
  hiaR_fiber_visit(&v->context->fiber);
  v->status = v->call(v->block);
  const hia_stack *stack = &v->context->stack;
  hiaR_fiber_leave_visit(&v->context->fiber, stack->low, (size_t)(stack->top - stack->low));
  return 0;
}

static HIA_UNINSTRUMENTED uint32_t on_thread_stack(hia_context *context, hia_host_call *call,
                                                   hia_word *block) {
  hia_visit v = {context, call, block, 0};
  hiaR_fiber_suspend(&context->fiber);
  hiaR_arch_visit(thread_sp(context), visit, &v);
  hiaR_fiber_resume(&context->fiber);
  return v.status;
}

#else

static uint32_t on_thread_stack(hia_context *context, hia_host_call *call, hia_word *block) {
  return hiaR_arch_visit(thread_sp(context), (uint32_t (*)(void *))call, block);
}

#endif

uint32_t hiaR_native_host(hia_host_call *call, hia_word *block, hia_context *context) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  size_t left = here > context->depth.hard ? here - context->depth.hard : 0;
  hia_nest nest;
  uint64_t *fuel = context->fuel != &context->run.unlent ? context->fuel : NULL;
  size_t memory = context->local.heap ? hiaR_heap_left(context->local.heap) : SIZE_MAX;
  hiaR_nest_enter(&nest, context->run.scope, context->depth.is_limited ? left : SIZE_MAX, memory,
                  fuel);
  uint32_t status = on_thread_stack(context, call, block);
  hiaR_nest_leave(&nest);
  return status;
}

uint32_t hiaR_native_effect(hia_host_call *call, hia_word *block, uint32_t n_params,
                            uint32_t n_results, hia_context *context) {
  hia_effects *effects = context->run.effects;
  uint64_t *fuel = context->fuel != &context->run.unlent ? context->fuel : NULL;
  uint32_t status;
  if (effects && hiaR_effects_take(effects, &status, fuel, block + n_params, NULL, n_results))
    return status;
  status = hiaR_native_host(call, block, context);
  if (effects && effects->is_recorded)
    hiaR_effects_add(effects, status, fuel, block + n_params, NULL, n_results);
  return status;
}
