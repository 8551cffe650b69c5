/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Profiles by sampling, of native code (run/sampler.h): a tick makes the workers of a run poll
 * (poll.c), and there they read their backtraces. Those of memory are taken where what compiled
 * code calls has made an object (objects.c). */
#ifndef HIA_NATIVE_SAMPLED_H
#define HIA_NATIVE_SAMPLED_H

#include "runtime/native/context.h"
#include "runtime/run/sampler.h"

extern const hia_native_samples hiaR_native_samples; /* sampled.c */

/* The worker begins to work on a run with this sampler, or NULL; and ends. */
static inline void hiaR_sampled_begin(hia_context *context, hia_sampler *sampler) {
  if (HIA_UNLIKELY(sampler)) sampler->native->begin(context, sampler);
}
static inline void hiaR_sampled_end(hia_context *context) {
  if (HIA_UNLIKELY(context->run.sampler)) context->run.sampler->native->end(context);
}
/* Adds where the worker is, if that is due. `sp`, `pc`: where compiled code is. */
static inline void hiaR_sampled_look(hia_context *context, const char *sp, uintptr_t pc) {
  if (HIA_UNLIKELY(context->run.sampler)) context->run.sampler->native->look(context, sp, pc);
}

/* Adds where the worker takes memory, if that is due: for the operation at `loc`, or HIA_NONE. Only
 * a worker with a sampler counts down. */
static inline void hiaR_sampled_took(hia_context *context, uint32_t loc, const char *sp,
                                     uintptr_t pc) {
  if (hiaR_local_is_due(&context->local)) context->run.sampler->native->took(context, loc, sp, pc);
}

#endif
