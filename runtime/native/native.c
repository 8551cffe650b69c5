/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A run of compiled code from its begin to its end. */
#include "runtime/native/context.h"
#include "runtime/native/sampled.h"
#include "runtime/native/team.h"

void hiaR_run_end(hia_context *context, hia_usage *usage) {
  usage->peak_bytes = hiaR_context_trim(context);
  if (!context->run.team) return;
  hiaR_team_end(context->run.team, usage);
  context->run.team = NULL;
}

hia_status hiaR_native_run(hia_context *context, hia_native_entry entry, hia_word *block,
                           const hia_unwinder *unwinder, const hia_limits *limits,
                           hia_failure *failure, hia_usage *usage) {
  hiaR_failure_clear(failure);
  *usage = (hia_usage){0};
  hia_status status =
      hiaR_set_limits(context, limits ? limits->depth : 0, unwinder ? unwinder->max_frame : 0);
  if (status) return failure->status = status;
  context->calls = context->rounds = context->jobs.steals = 0;
  context->batching.usage = (hia_batch_usage){0};
  context->run.unwinder = unwinder;
  context->run.cancelled = limits ? limits->cancelled : NULL;
  context->run.deadline = limits ? limits->deadline : 0;
  context->depth.is_limited = limits && limits->depth;
  context->run.scope = limits ? limits->scope : NULL;
  context->run.effects = limits ? limits->effects : NULL;
  context->fuel = limits && limits->fuel ? limits->fuel : &context->run.unlent;
  context->run.max_workers = limits ? limits->threads : 1;
  context->run.pool = context->run.max_workers > 1 ? limits->pool : NULL;
  context->run.timeline = limits ? limits->timeline : NULL;
  context->run.ring = hiaR_ring_of(context->run.timeline, 0);
  hia_heap *heap = limits ? limits->heap : NULL;
  hiaR_context_use_heap(context, heap, limits ? limits->shapes : NULL,
                        limits ? limits->params : NULL);
  context->is_shared = 0;

  atomic_store_explicit(&context->limit, context->depth.soft, memory_order_relaxed);
  uint64_t run = atomic_load_explicit(&context->run.number, memory_order_relaxed) + 1;
  /* First the mark that a run is under way, then the reason to end: a canceller sets *cancelled
   * and then calls hiaR_context_cancel, so one of the two sees the other. */
  if (context->run.cancelled || context->run.pool) {
    atomic_store(&context->run.number, run);
    if (context->run.cancelled && __atomic_load_n(context->run.cancelled, __ATOMIC_SEQ_CST)) {
      atomic_store_explicit(&context->run.number, run + 1, memory_order_release);
      return failure->status = HIA_CANCELLED;
    }
  } else {
    /* Release is enough: a cancel that does not see the run yet precedes it. */
    atomic_store_explicit(&context->run.number, run, memory_order_release);
  }
  if (context->run.pool) hiaR_team_begin(context, entry);
  hia_invocation root = {.failure = failure};
  hiaR_sampled_begin(context, limits ? limits->sampler : NULL);
  hiaR_invoke(context, &root, entry, block);
  atomic_store_explicit(&context->run.number, run + 1, memory_order_release);
  hiaR_run_end(context, usage);
  hiaR_sampled_end(context);
  usage->calls = context->calls;
  usage->rounds = context->rounds;
  usage->steals = context->jobs.steals;
  usage->batch = context->batching.usage;
  if (heap) usage->peak_bytes += atomic_load_explicit(&heap->peak, memory_order_relaxed);
  return failure->status;
}
