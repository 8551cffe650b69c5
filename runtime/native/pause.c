/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* How often a worker hands out jobs. That costs it and the thief time, however little work a job
 * is; so it pauses from one job to the next, and longer while jobs are brief. */
#include "runtime/native/context.h"
#include "runtime/native/job.h"

#ifdef HIA_STRESS
enum { BRIEF_NS = 0, MANY_BRIEF = 1, MAX_GIVE_NS = 1 };
#else
enum {
  BRIEF_NS = 5000,     /* of a job that gains its owner nothing */
  MANY_BRIEF = 16,     /* such jobs, and none that took longer, after which the pause doubles with
                          each further one. Fewer say little: in tak small forks come before large
                          ones */
  MAX_GIVE_NS = 80000, /* the longest pause */
};
#endif

void hiaR_pause_begin(hia_context *context) {
  context->giving.pause = HIA_GIVE_NS;
  context->giving.n_brief = 0;
}

void hiaR_pause_adapt(hia_context *context, uint64_t ns) {
  if (ns > BRIEF_NS)
    hiaR_pause_begin(context);
  else if (++context->giving.n_brief > MANY_BRIEF && context->giving.pause < MAX_GIVE_NS)
    context->giving.pause *= 2;
}
