/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The stack walker, and reading a backtrace (walker.c). */
#ifndef HIA_WALKER_H
#define HIA_WALKER_H

#include "runtime/native/context.h"
#include "runtime/run/runtime.h"

/* How many of the innermost frames are read of a run that was ended from outside, in less than
 * 100 us, and for a sample of a profile. */
#ifdef HIA_STRESS
enum { HIA_ENDED_FRAMES = 100, HIA_SAMPLED_FRAMES = 80 };
#else
enum { HIA_ENDED_FRAMES = 20000, HIA_SAMPLED_FRAMES = 250 };
#endif

/* The frames of compiled code on a worker's stack, of its innermost invocation, newest first. */
typedef struct hia_stack_walker {
  const hia_context *context;
  const hia_bridge *bridge; /* the next join that has called compiled code itself */
  const char *sp;           /* the frame's stack pointer at the call ... */
  uintptr_t pc;             /* ... of the code whose return address this is */
  const hia_frame_row *row;
  size_t slot; /* of `known`, where its row is; and true if the row was not there before */
  bool is_new;
  /* Recursion returns to the same few return addresses. */
  struct {
    uintptr_t pc;
    hia_frame_row row;
  } known[64];
} hia_stack_walker;
/* Starts at the address where compiled code is, or was. */
void hiaR_stack_walker_start(hia_stack_walker *walker, const hia_context *context, const char *sp,
                             uintptr_t pc);
/* Finds the row of the next frame, at first of the innermost. False: there are no more. */
bool hiaR_stack_walker_next(hia_stack_walker *walker);
/* Reads the backtrace of the innermost invocation off the stack, from where compiled code was.
 * Then come its elements of comprehensions.
 * `is_inside`: the address is that of a call whose callee is in the backtrace already. Of a stack
 * with more frames than `most` the walker reads that many of the innermost, and goes on at the
 * outermost return barrier. */
void hiaR_read_backtrace(const hia_context *context, uint32_t loc, const char *sp, uintptr_t pc,
                         bool is_inside, uint64_t most, hia_backtrace *backtrace);

#endif
