/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native runs as the rest of hiaton sees them: stacks, the rows of frame tables, and running
 * compiled code. */
#ifndef HIA_NATIVE_H
#define HIA_NATIVE_H

#include "runtime/native/fork.h"
#include "runtime/run/runtime.h"

/* ---- stack.c: the engine's own stacks ---- */

/* Reserved address space, committed as it is touched. From low to high addresses: a guard that
 * cannot be accessed, then `low` up to `top`. */
typedef struct hia_stack {
  char *map; /* NULL: nothing reserved */
  size_t map_size;
  char *low, *top;
} hia_stack;
hia_status hiaR_stack_reserve(hia_stack *stack,
                              size_t size); /* size of [low, top); may return HIA_MEMORY */
void hiaR_stack_release(hia_stack *stack);
/* Returns the memory of a deep run to the system, all but the last `keep` bytes below `top`.
 * Returns how many bytes below `top` were in use. */
size_t hiaR_stack_trim(hia_stack *stack, size_t keep);

/* ---- native.c, arch/: running compiled code ---- */

/* A worker's context. Generated code holds it in its own register and reads the fields that
 * layout.def names; everything else is native.c's. One thread at a time. */
typedef struct hia_context hia_context;

/* What a call in compiled code stands for, found by its return address. */
typedef struct hia_frame_row {
  uint32_t cfa; /* bytes from the stack pointer after the call returns to the frame's end (the
                   caller's stack pointer after *its* call returns); the return address lies
                   8 bytes below that end */
  uint32_t
      loc; /* of the call, in the graph's table of locations; HIA_NONE: of no call of the source */
  bool is_tail;
  uint32_t number;    /* of forks that are open there: HIA_FORKS_ */
  hia_fork_map forks; /* of the function */
} hia_frame_row;
/* Finds the row of a return address. False: the address is not in code that it knows, and the walk
 * ends there. Called after a failure and when a fork is to be promoted; may be slow the first
 * time. Thread-safe. */
typedef struct hia_unwinder {
  bool (*find)(void *user, uintptr_t return_address, hia_frame_row *row);
  void *user;
  const hia_image_loc *locs;
  size_t max_frame; /* bytes of the largest frame in that code */
} hia_unwinder;

/* The common entry of every native function (design, decision 10): reads its arguments, flattened
 * to words, from the block and writes its results behind them. Called on the engine's stack only.
 */
typedef void (*hia_native_entry)(hia_word *block); /* the context is in its register */

hia_status hiaR_context_new(const hia_allocator *allocator, hia_context **out);
void hiaR_context_free(hia_context *context);
/* Runs entry(block) on the context's own stack. The stack is reserved on first use, as large as
 * the depth limit requires. limits->cancelled is read when the run starts and when it polls for
 * another reason; use hiaR_context_cancel to end a run that is under way. */
hia_status hiaR_native_run(hia_context *context, hia_native_entry entry, hia_word *block,
                           const hia_unwinder *unwinder, const hia_limits *limits,
                           hia_failure *failure, hia_usage *usage);
/* Any thread: ends the context's run (with HIA_CANCELLED), if there is one. */
void hiaR_context_cancel(hia_context *context);
void hiaR_context_notify(void *context); /* the same, as hia_cancel_scope.notify */
/* Calls fn(arg) on the context's stack, of at least `size` bytes: for deep recursions of a
 * library, whatever the size of the thread's stack. The context must not be in a run. HIA_MEMORY
 * if no such stack can be reserved; fn was not called then. */
hia_status hiaR_context_call(hia_context *context, size_t size, void (*fn)(void *arg), void *arg);

#endif
