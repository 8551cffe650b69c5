/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The stack walker: reads the frames of compiled code on a worker's stack, and the backtrace of a
 * failed run.
 *
 * Compiled code keeps its stack pointer fixed within a function, so a row of the frame tables,
 * found by the return address of a call, leads to the caller. Where a join has called compiled
 * code, frames of the runtime lie between: the walker goes on at that join (hia_bridge). */
#include "runtime/native/walker.h"
#include "runtime/native/barrier.h"
#include "runtime/native/context.h"

void hiaR_stack_walker_start(hia_stack_walker *walker, const hia_context *context, const char *sp,
                             uintptr_t pc) {
  walker->context = context;
  walker->bridge = context->invocation->bridges;
  walker->sp = sp;
  walker->pc = pc;
  walker->row = NULL;
  for (size_t i = 0; i < HIA_LEN(walker->known); i++) walker->known[i].pc = 0;
}

bool hiaR_stack_walker_next(hia_stack_walker *walker) {
  const hia_unwinder *unwinder = walker->context->run.unwinder;
  const char *low = walker->context->stack.low, *top = walker->context->stack.top;
  if (walker->row) {
    if (walker->row->cfa < sizeof(uintptr_t) || walker->row->cfa > (size_t)(top - walker->sp))
      return false;
    walker->sp += walker->row->cfa;
    walker->pc = hiaR_return_address(walker->context, walker->sp - sizeof(uintptr_t));
  }
  while (unwinder && walker->sp >= low && walker->sp < top) {
    size_t slot = walker->slot = (walker->pc ^ walker->pc >> 6) % HIA_LEN(walker->known);
    walker->row = &walker->known[slot].row;
    walker->is_new = !walker->pc || walker->known[slot].pc != walker->pc;
    if (!walker->is_new) return true;
    if (unwinder->find(unwinder->user, walker->pc, &walker->known[slot].row)) {
      walker->known[slot].pc = walker->pc;
      return true;
    }
    walker->known[slot].pc = 0;
    const hia_bridge *bridge = walker->bridge;
    if (!bridge) break;
    walker->sp = bridge->sp;
    walker->pc = bridge->pc;
    walker->bridge = bridge->outer;
  }
  return false;
}

/* Goes on at the outermost barrier. False: there is none that the walker has not passed. */
static bool leap(hia_stack_walker *walker) {
  if (!hiaR_barrier_outermost(walker->context, &walker->sp, &walker->pc)) return false;
  while (walker->bridge && walker->bridge->sp < walker->sp) walker->bridge = walker->bridge->outer;
  walker->row = NULL;
  return true;
}

void hiaR_read_backtrace(const hia_context *context, uint32_t loc, const char *sp, uintptr_t pc,
                         bool is_inside, uint64_t most, hia_backtrace *backtrace) {
  uint64_t left = most;
  const hia_unwinder *unwinder = context->run.unwinder;
  if (!unwinder || !unwinder->locs) return;
  hia_backtrace_writer writer = {.backtrace = backtrace, .locs = unwinder->locs};
  if (loc != HIA_NONE) hiaR_backtrace_push_site(backtrace, unwinder->locs, loc, false);
  hia_stack_walker walker;
  hia_backtrace_site sites[HIA_LEN(walker.known)];
  hiaR_stack_walker_start(&walker, context, sp, pc);
  for (bool is_first = !is_inside; hiaR_stack_walker_next(&walker); is_first = false) {
    hia_backtrace_site *site = &sites[walker.slot];
    if (walker.is_new)
      *site = hiaR_backtrace_site(unwinder->locs, walker.row->loc, walker.row->is_tail);
    if (!is_first)
      hiaR_backtrace_add(&writer, site);
    else if (loc == HIA_NONE) /* where compiled code was, even if at a call in tail position */
      hiaR_backtrace_push_site(backtrace, unwinder->locs, site->loc, false);
    if (left-- == 0 && leap(&walker)) hiaR_backtrace_cut(&writer);
  }
  hiaR_backtrace_end(&writer);
  const hia_element *outside = context->invocation->elements;
  for (const hia_element *i = context->elements; i != outside; i = i->outer)
    hiaR_backtrace_push_element(backtrace, i->index);
}
