/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What compiled code calls, by the stubs of arch/: to note a row, to settle, and at the end of an
 * entry. */
#include "runtime/native/batch/rows.h"
#include "runtime/native/sampled.h"

#ifdef HIA_STRESS
enum { MOST_BYTES = 256 << 10, MOST_HANDED = 2 << 10 };
#else
enum {
  MOST_BYTES = 8 << 20,  /* of rows' operands and results, that are noted before a settling */
  MOST_HANDED = 1 << 20, /* of those that a job leaves to its owner */
};
#endif

/* Looks up the results of an earlier row with equal operands; false if there is none. */
static bool find_results(hia_context *context, const hia_segment *s, hia_word *words,
                         hia_word *ids) {
  hiaR_row_identify(s, words, ids);
  bool has =
      hiaR_batch_find_kept(context, s, words, ids) || hiaR_batch_find_equal(context, s, words, ids);
  context->batching.usage.reused += has;
  return has;
}

/* A join of this worker may have called the entry that ends. */
HIA_UNINSTRUMENTED void hiaR_native_finish(hia_context *context, const char *sp, uintptr_t pc) {
  const hia_invocation *invocation = context->invocation;
  if (!context->batching.settle || invocation->bridges) return;
  if (invocation->job && context->batching.batch->rows.bytes <= MOST_HANDED)
    hiaR_batch_hand_over(context, invocation->job);
  else
    hiaR_batch_settle(context, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_settle(hia_context *context, const char *sp, uintptr_t pc) {
  if (context->batching.settle) hiaR_batch_settle(context, sp, pc);
  hiaR_sampled_look(context, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_defer(hia_context *context, const hia_segment *segment,
                                          hia_word *words, uint32_t loc, const char *sp,
                                          uintptr_t pc) {
  if (HIA_UNLIKELY(!context->batching.batch)) {
    context->batching.batch = hiaR_batch_new(context);
    if (!context->batching.batch) hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  }
  hia_word ids[HIA_SEGMENT_MOST];
  if (segment->known_as && find_results(context, segment, words, ids)) return;
  if (hiaR_batch_is_once(context->batching.batch, segment, words)) {
    hiaR_batch_once(context, segment, words, loc, sp, pc);
    return;
  }
  if (HIA_UNLIKELY(!hiaR_batch_note(context, segment, words)))
    hiaR_native_fail(loc, HIA_MEMORY, 0, context, sp, pc);
  if (segment->known_as) hiaR_batch_add_equal(context, ids);
  context->batching.settle = hiaR_batch_settle;
  if (HIA_UNLIKELY(context->batching.batch->rows.bytes > MOST_BYTES))
    hiaR_batch_settle(context, sp, pc);
}
