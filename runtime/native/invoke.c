/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Entering compiled code: an invocation, on the empty stack of a worker or stacked on another one.
 */
#include "runtime/native/batch/batch.h"
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include <stdlib.h>

void hiaR_invoke(hia_context *context, hia_invocation *invocation, hia_native_entry entry,
                 hia_word *block) {
  invocation->outer = context->invocation;
  invocation->elements = context->elements;
  context->invocation = invocation;
  bool is_shared = context->run.pool != NULL;
  if (is_shared) hia_steal_request_open(&context->post.request);
  int left;
  if (invocation->outer) {
    void *outer = context->host_sp;
    if (!invocation->outer->outer) context->thread_sp = outer;
    left = hiaR_arch_nest(context, (void (*)(void *))entry, block);
    context->host_sp = outer;
  } else {
    left = hiaR_cross(context, (void (*)(void *))entry, block);
  }
  if (is_shared) hiaR_close_steal_request(context);
  if (HIA_UNLIKELY(left)) {
    hiaR_take_all_back(context, invocation);
    hiaR_crew_abandon(&context->crew);
    hiaR_batch_begin(context); /* the invocation that waits, if any, has settled before */
  }
#ifdef HIA_STRESS
  if (invocation->promoted)
    abort(); /* a fork that was promoted while it was not open: no join has removed it */
#endif
  if (context->doomed == invocation) context->doomed = NULL;
  context->invocation = invocation->outer;
  if (!invocation->outer) hiaR_crew_end(context, &context->crew);
}
