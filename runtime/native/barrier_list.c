/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The list of a worker's return barriers (barrier.c), by which return addresses are found that
 * barriers have replaced. */
#include "runtime/native/barrier.h"
#include "runtime/native/context.h"

enum { KEPT = 1024 }; /* barriers for which there stays memory when the stack is empty */

uintptr_t hiaR_return_address(const hia_context *context, const char *word) {
  const hia_barriers *b = &context->barriers;
  uintptr_t pc = hiaR_frame_word(word);
  if (HIA_LIKELY(pc != b->stub)) return pc;
  uint32_t low = 0, high = b->n;
  while (low < high) { /* the first barrier that is not above the word */
    uint32_t middle = low + (high - low) / 2;
    if (b->list[middle].word > word)
      low = middle + 1;
    else
      high = middle;
  }
  return low < b->n && b->list[low].word == word ? b->list[low].pc : 0;
}

bool hiaR_barrier_outermost(const hia_context *context, const char **sp, uintptr_t *pc) {
  const hia_barriers *b = &context->barriers;
  if (context->invocation->outer || !b->n || b->list[0].word < *sp) return false;
  *sp = b->list[0].word + sizeof *pc;
  *pc = b->list[0].pc;
  return true;
}

void hiaR_barrier_limit_below(hia_context *context, const char *sp) {
  uintptr_t first = (uintptr_t)context->stack.top - HIA_STACK_KEEP;
  uintptr_t at = (uintptr_t)sp - HIA_BARRIER_INTERVAL;
  if (at > first) at = first;
  context->depth.soft = at > context->depth.hard ? at : context->depth.hard;
}

void hiaR_barriers_drop(hia_context *context, const char *sp) {
  hia_barriers *b = &context->barriers;
  while (b->n && b->list[b->n - 1].word < sp) b->n--;
  hiaR_barrier_limit_below(context, sp);
}

void hiaR_barriers_free(hia_context *context) {
  hia_barriers *b = &context->barriers;
  hiaR_free(context->allocator, b->list, b->most * sizeof *b->list);
  *b = (hia_barriers){0};
}

void hiaR_barriers_reset(hia_context *context) {
  hia_barriers *b = &context->barriers;
  memset(b->known, 0, sizeof b->known);
  b->n_met = 0;
  if (b->most > KEPT) hiaR_barriers_free(context);
  hiaR_barriers_drop(context, context->stack.top);
}
