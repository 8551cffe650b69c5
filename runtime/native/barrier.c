/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Return barriers: safepoints for code that returns from a deep recursion.
 *
 * Frames that return one after the other pass no safepoint; one behind every call cost fib a
 * sixth. So the limit moves down the stack by intervals. When code goes below it, the return
 * address of its frame is replaced by that of hiaR_stub_return, and the limit moves one interval
 * further. When the frame returns, the stub polls, restores the address and jumps to it. The two
 * cost about 250 ns together, once in an interval of 64 KB of stack.
 *
 * A frame that went below the limit may return soon after, while those further out stay: in a
 * recursion that calls a helper in each of its frames, the helper is always the one that crosses
 * first. And code may go up and down around the frame of a barrier. So
 *
 *   - a barrier that is met is gone, and the limit lies one interval below it: nothing is
 *     paid for moving in between;
 *   - but the limit is never further than two and a half intervals from the next barrier above.
 *     When that distance is nearly reached, code that goes up and down might cross the limit any
 *     number of times. Then another barrier is put a quarter of an interval further up: the frames
 *     are read to get there. If that one is met too, it was not far enough; the next is put only
 *     after some more barriers have been met.
 *
 * So there are never more than two and a half intervals and a frame between two barriers. Code that
 * moves by a quarter of an interval or less crosses seldom; code that moves by more pays for two
 * crossings each time, at worst.
 *
 * Barriers form a stack, as frames do; those of an invocation lie below those of the invocation
 * that it is stacked on. Code that reads a return address of compiled code must do so by
 * hiaR_return_address. Shadow stacks (CET) do not allow a return address to be changed; they are
 * never enabled for the engine's stacks. */
#include "runtime/native/barrier.h"
#include "runtime/native/context.h"

#define INTERVAL HIA_BARRIER_INTERVAL

enum {
  FEW = 64,   /* barriers for which there is memory at first */
  AGAIN = 32, /* of so many barriers met below another, one leads to a new one further up */
};

static HIA_UNINSTRUMENTED void set_word(char *word, uintptr_t value) { *(uintptr_t *)word = value; }

/* Where the frame whose code is at `pc` and whose stack pointer is `sp` keeps its return address.
 * NULL: it is not a frame of compiled code. */
static char *word_of(hia_context *context, const char *sp, uintptr_t pc) {
  hia_barriers *b = &context->barriers;
  hia_frame_known *known = &b->known[(pc ^ pc >> 5) % HIA_LEN(b->known)];
  if (known->pc != pc) {
    hia_frame_row row;
    const hia_unwinder *unwinder = context->run.unwinder;
    if (!unwinder || !unwinder->find(unwinder->user, pc, &row)) return NULL;
    *known = (hia_frame_known){pc, row.cfa};
  }
  size_t cfa = known->cfa;
  if (cfa < sizeof(uintptr_t) || sp >= context->stack.top ||
      cfa > (size_t)(context->stack.top - sp))
    return NULL;
  return (char *)sp + cfa - sizeof(uintptr_t);
}

static bool has_room(hia_context *context) {
  hia_barriers *b = &context->barriers;
  if (b->n < b->most) return true;
  size_t most = b->most ? (size_t)b->most * 2 : FEW;
  const hia_allocator *a = context->allocator;
  hia_barrier *list = a->resize(a->user, b->list, b->most * sizeof *list, most * sizeof *list);
  if (!list) return false;
  b->list = list;
  b->most = (uint32_t)most;
  return true;
}

/* Makes the frame that keeps its return address in `word` return through the stub. It may do so
 * already: a function that was called in tail position has taken the place of its caller's frame.
 * Without memory it does not. */
static void put(hia_context *context, char *word, bool is_moved) {
  uintptr_t pc = hiaR_frame_word(word);
  if (pc == (uintptr_t)hiaR_stub_return) return;
  if (!word_of(context, word + sizeof pc, pc)) return; /* the frame returns to the runtime */
  if (!has_room(context)) return;
  hia_barriers *b = &context->barriers;
  b->stub = (uintptr_t)hiaR_stub_return;
  b->list[b->n++] = (hia_barrier){word, pc, 0, is_moved};
  set_word(word, (uintptr_t)hiaR_stub_return);
}

void hiaR_barrier_descend(hia_context *context, const char *sp, uintptr_t pc) {
  char *word = word_of(context, sp, pc);
  if (word) put(context, word, false);
  hiaR_barrier_limit_below(context, sp);
}

/* Returns the bytes from `word` up to the next barrier, or to the part of the stack that needs
 * none. */
static size_t gap_above(const hia_context *context, const char *word) {
  const hia_barriers *b = &context->barriers;
  const char *above = b->n ? b->list[b->n - 1].word : context->stack.top - HIA_STACK_KEEP;
  return above > word ? (size_t)(above - word) : 0;
}

/* Puts a barrier `reach` bytes above `word`, where a frame has just returned to `pc`. */
static void move_up(hia_context *context, const char *word, uintptr_t pc, size_t reach) {
  for (const char *at = word; pc != (uintptr_t)hiaR_stub_return; pc = hiaR_frame_word(at)) {
    char *next = word_of(context, at + sizeof pc, pc);
    if (!next) return;
    at = next;
    if ((size_t)(at - word) < reach) continue;
    put(context, next, true);
    return;
  }
}

uintptr_t hiaR_barrier_ascend(hia_context *context, char *word) {
  hia_barriers *b = &context->barriers;
  hia_barrier met = b->list[--b->n];
  set_word(word, met.pc);
  hiaR_barrier_limit_below(context, word);
  size_t gap = gap_above(context, word);
  if (gap < INTERVAL + INTERVAL / 2) return met.pc;
  uint32_t *n_met = b->n ? &b->list[b->n - 1].n_met : &b->n_met;
  if (!met.is_moved && (*n_met)++ % AGAIN == 0) {
    move_up(context, word, met.pc, INTERVAL / 4);
    gap = gap_above(context, word);
  }
  /* A large frame, or code with few safepoints, may have gone below already. */
  size_t longest = 2 * INTERVAL + INTERVAL / 2;
  uintptr_t lowest = (uintptr_t)word + gap - longest;
  if (gap < longest + INTERVAL / 2 && context->depth.soft < lowest) context->depth.soft = lowest;
  return met.pc;
}

void hiaR_barriers_lift(hia_context *context, const char *sp) {
  hia_barriers *b = &context->barriers;
  if (!b->n || b->list[b->n - 1].word >= sp) return;
  for (; b->n && b->list[b->n - 1].word < sp; b->n--)
    set_word(b->list[b->n - 1].word, b->list[b->n - 1].pc);
  hiaR_barrier_limit_below(context, sp);
  hiaR_restore_limit(context);
}
