/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Return barriers (barrier.c), and the list of them (barrier_list.c). */
#ifndef HIA_BARRIER_H
#define HIA_BARRIER_H

#include "runtime/native/native.h"
#include "runtime/native/sanitizer.h"

/* A return barrier: a return address that was replaced in its frame (barrier.c). */
typedef struct hia_barrier {
  char *word; /* the word of the frame, which now holds the address of hiaR_stub_return */
  uintptr_t pc;
  uint32_t n_met; /* barriers met below this one, far from it */
  bool is_moved;  /* put here instead of a barrier that was met */
} hia_barrier;

typedef struct hia_frame_known {
  uintptr_t pc;
  size_t cfa;
} hia_frame_known;

typedef struct hia_barriers {
  hia_barrier *list; /* by address, the outermost (highest) first */
  uint32_t n, most;
  uint32_t n_met;            /* barriers met with no other above them */
  uintptr_t stub;            /* what stands in their frames: hiaR_stub_return; 0: none was put */
  hia_frame_known known[32]; /* frames of the run's code, by return address */
} hia_barriers;

/* ---- barrier.c ---- */

/* Compiled code at `pc` has polled with the stack pointer `sp`, which is below context->depth.soft:
 * puts a barrier into its frame and moves that down. */
void hiaR_barrier_descend(hia_context *context, const char *sp, uintptr_t pc);
/* The frames below `sp` are taken off the stack: restores the return addresses in them. */
void hiaR_barriers_lift(hia_context *context, const char *sp);
/* The frame whose return address was in `word` returns: restores that address and returns it. */
uintptr_t hiaR_barrier_ascend(hia_context *context, char *word);

/* ---- barrier_list.c ---- */

/* The word of a frame that holds its return address. Sanitizers must not see the access. */
static inline HIA_UNINSTRUMENTED uintptr_t hiaR_frame_word(const char *word) {
  return *(const uintptr_t *)word;
}
/* Sets the soft limit an interval below `sp`. */
void hiaR_barrier_limit_below(hia_context *context, const char *sp);
/* The return address of the frame of compiled code that keeps it in `word`, whether a barrier has
 * replaced it or not. */
uintptr_t hiaR_return_address(const hia_context *context, const char *word);
/* The outermost barrier: the stack pointer and the return address from which the walker can read
 * the outermost frames of the run. False: none is further out than `sp`. */
bool hiaR_barrier_outermost(const hia_context *context, const char **sp, uintptr_t *pc);
/* The frames below `sp` were left: forgets their barriers. */
void hiaR_barriers_drop(hia_context *context, const char *sp);
/* The stack is empty: forgets all barriers and what was learnt of the run's code. */
void hiaR_barriers_reset(hia_context *context);
void hiaR_barriers_free(hia_context *context);

#endif
