/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native runs as the rest of hiaton sees them: stacks, the rows of frame tables, and running
 * compiled code.
 *
 * The files of this folder, from the bottom to the top; context.h has the struct that they share:
 *
 *   stack.c, worker_stack.c      stacks of the engine's own; the stack of a worker, and its limits
 *   barrier_list.c, walker.c     the frames of compiled code on a stack, read
 *   ending.c, failure.c          how a worker is told to end; how an invocation fails
 *   job.c, promote.c, pause.c    jobs; latent forks become jobs (fork.h); how often
 *   invoke.c, steal.c, join.c    entering compiled code; running stolen jobs; waiting for jobs
 *   crew.c, batch/               parts of a worker's work, computed with thieves; batches
 *   freeze/                      iterations that wait for batches (driver.h)
 *   watch.c, context.c, team.c   runs that may be brief; contexts; the workers of a run
 *   serve.c, poll.c, barrier.c   serving thieves; safepoints; return barriers
 *   objects.c, visit.c           what else compiled code calls: objects, arrays, operations; hosts
 *   native.c                     a run
 *   host.c, entry.c, map.c       contexts of hosts; typed entries; rows of maps
 *   values.c, exchange.c         arguments and results that are values
 *   tables.c, abi.c              frame tables; the version of the ABI
 *   load.c, symbols.c            laid-out code, loaded; what it may refer to
 *   outline.c, debug/            its functions; what debuggers and profilers are told of them
 *   arch/                        the change of stack, and the stubs, for each kind of processor
 *
 * Two circles are left among them, since the recursion is real. A poll puts a return barrier into a
 * frame, whose return polls again: poll.c, barrier.c, arch/NAME_return.S. And a help is entered by
 * a stub, which calls the crew that made it: crew.c, arch/NAME_help.S. Compiled code closes larger
 * ones when it runs: it polls, and the worker then runs other compiled code. */
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

/* ---- running compiled code ---- */

/* A worker's context. Generated code holds it in its own register and reads the fields that
 * layout.def names; everything else is context.h's. One thread at a time. */
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
