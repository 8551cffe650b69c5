/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Contexts: making, freeing, and attaching them to the heap of a run. */
#include "runtime/native/context.h"
#include "runtime/base/left.h"
#include "runtime/native/barrier.h"
#include "runtime/native/batch/batch.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"

#define I32   4
#define I64   8
#define PTR   sizeof(void *)
#define LOCAL sizeof(hia_local_heap)
#define HIA_FIELD(offset, TYPE, name, doc)                                                         \
  _Static_assert(offsetof(hia_context, name) == (offset) &&                                        \
                     sizeof(((hia_context *)0)->name) == (TYPE),                                   \
                 "layout.def and the context differ: " #name);
#include "runtime/native/layout.def"
#undef I32
#undef I64
#undef PTR
#undef LOCAL
_Static_assert(offsetof(hia_local_heap, free) == 0, "generated code takes from the free lists");

hia_status hiaR_context_new(const hia_allocator *allocator, hia_context **out) {
  hia_context *context = hiaR_alloc(allocator, sizeof *context);
  *out = context;
  if (!context) return HIA_MEMORY;
  context->allocator = allocator;
  context->vector_state = hiaR_arch_vector_state();
  context->post.mailbox.parker = &context->post.parker;
  context->depth.granted = HIA_FREE_GRANT;
  context->fuel = &context->run.unlent;
  context->random = (uint32_t)((uintptr_t)context >> 6) | 1;
  return HIA_OK;
}

void hiaR_context_free(hia_context *context) {
  if (!context) return;
  hiaR_team_forget(context);
  hiaR_jobs_free(context);
  hiaR_batch_free(context);
  hiaR_barriers_free(context);
  hiaR_context_end_grant(context);
  hiaR_fiber_free(&context->fiber);
  hiaR_stack_release(&context->stack);
  hiaR_free(context->allocator, context, sizeof *context);
}

void hiaR_context_use_heap(hia_context *context, hia_heap *heap, const hia_shapes *shapes,
                           const hia_word *params) {
  context->run.shapes = shapes;
  context->params = params;
  hiaR_batch_begin(context);
  if (heap)
    hiaR_local_begin(&context->local, heap);
  else if (context->local.heap)
    memset(&context->local, 0, sizeof context->local);
}
