/* Running compiled code: the worker's context, the way onto its stack and back, limits, and the
 * chain of calls of a failed run.
 *
 * Compiled code compares its stack pointer with context->limit at entries and loop rounds, and
 * calls hiaR_stub_poll when it lies below. There are three reasons for that:
 *
 *   - The run has left the first KEEP bytes of the stack. The limit starts there, so that runs that
 *     stay above cost nothing when they end; one that does not gives its memory back afterwards.
 *   - The run is too deep.
 *   - Somebody has asked for its end and set the limit to its maximum (hiaR_context_cancel).
 *
 * A failure leaves everything on the engine's stack as it is and jumps to the host's, where the
 * chain is read off the frames that were left. */
#include "runtime/arch/arch.h"
#include "runtime/fork.h"
#include "runtime/sanitizer.h"
#include <stdatomic.h>

#ifdef HIA_STRESS
#define KEEP ((size_t)4 << 10)
#else
#define KEEP ((size_t)256 << 10)
#endif
/* Below the limit, for what compiled code calls there: library functions, the stubs. Frames of
 * compiled code below the limit are on top of it: that of a function that was entered just above
 * and that of one without a check, called by it. */
#define MARGIN ((size_t)64 << 10)

struct hia_context {
  /* Read by generated code and assembly: layout.def. */
  _Atomic uintptr_t limit;
  uint64_t calls, rounds;
  void *host_sp;
  uint32_t vector_state;
  hia_fork *newest;

  bool is_deep; /* has left the first KEEP bytes */
  /* Odd while a run is under way. A cancel names the run it means, so that one that comes too late
   * ends nothing. */
  _Atomic uint32_t run, cancelled_run;
  const uint32_t *cancelled; /* of the limits, or NULL */
  uintptr_t soft, hard;      /* limits: of the first KEEP bytes, of the run */

  hia_stack stack;
  size_t default_depth; /* 0: not asked for yet */
  hia_fiber fiber;      /* what the sanitizers know of the stack */
  const hia_allocator *allocator;

  /* Of a failure, until its chain is read. */
  hia_status status;
  uint32_t loc; /* of the operation; NONE: where compiled code was */
  int64_t code;
  const char *sp; /* what compiled code's stack pointer was, and where it was */
  uintptr_t pc;
};

#define I32 4
#define I64 8
#define PTR sizeof(void *)
#define HIA_FIELD(offset, TYPE, name, doc)                                                         \
  _Static_assert(offsetof(hia_context, name) == (offset) &&                                        \
                     sizeof(((hia_context *)0)->name) == (TYPE),                                   \
                 "layout.def and the context differ: " #name);
#include "runtime/layout.def"
#undef I32
#undef I64
#undef PTR

hia_status hiaR_context_new(const hia_allocator *allocator, hia_context **out) {
  hia_context *context = hiaR_alloc(allocator, sizeof *context);
  *out = context;
  if (!context) return HIA_MEMORY;
  context->allocator = allocator;
  context->vector_state = hiaR_arch_vector_state();
  return HIA_OK;
}

void hiaR_context_free(hia_context *context) {
  if (!context) return;
  hiaR_fiber_free(&context->fiber);
  hiaR_stack_release(&context->stack);
  hiaR_free(context->allocator, context, sizeof *context);
}

/* ---- to the engine's stack and back ---- */

/* Makes the stack at least `size` bytes large; a run must not be under way. */
static hia_status reserve(hia_context *context, size_t size) {
  if (context->stack.map && (size_t)(context->stack.top - context->stack.low) >= size)
    return HIA_OK;
  hiaR_fiber_free(&context->fiber);
  hiaR_stack_release(&context->stack);
  hia_status status = hiaR_stack_reserve(&context->stack, size);
  if (!status) hiaR_fiber_new(&context->fiber);
  return status;
}

#ifdef HIA_FIBERS

typedef struct hia_crossing {
  hia_context *context;
  void (*fn)(void *);
  void *arg;
} hia_crossing;

static HIA_UNINSTRUMENTED void arrive(void *p) {
  hia_crossing *crossing = p;
  hia_context *context = crossing->context;
  hiaR_fiber_arrive(&context->fiber);
  hiaR_arch_call(context, crossing->fn, crossing->arg);
  hiaR_fiber_depart(&context->fiber);
}

static HIA_UNINSTRUMENTED int enter(hia_context *context, void (*fn)(void *), void *arg) {
  hia_crossing crossing = {context, fn, arg};
  const hia_stack *stack = &context->stack;
  hiaR_fiber_enter(&context->fiber, stack->low, (size_t)(stack->top - stack->low));
  int left = hiaR_arch_enter(context, stack->top, arrive, &crossing);
  hiaR_fiber_entered(&context->fiber, left);
  return left;
}

#else

static int enter(hia_context *context, void (*fn)(void *), void *arg) {
  return hiaR_arch_enter(context, context->stack.top, fn, arg);
}

#endif

hia_status hiaR_context_call(hia_context *context, size_t size, void (*fn)(void *arg), void *arg) {
  hia_status status = reserve(context, size);
  if (status) return status;
  enter(context, fn, arg);
  hiaR_stack_trim(&context->stack, KEEP);
  return HIA_OK;
}

/* ---- the end of a run ---- */

/* On the engine's stack: notes the failure and leaves. Not instrumented, like all that is left
 * without returning: there is nothing on this stack that a sanitizer would have to tidy up. */
static _Noreturn HIA_UNINSTRUMENTED void leave(hia_context *context, hia_status status,
                                               const char *sp, uintptr_t pc) {
  context->status = status;
  context->sp = sp;
  context->pc = pc;
  hiaR_fiber_depart(&context->fiber);
  hiaR_arch_leave(context);
}

_Noreturn HIA_UNINSTRUMENTED void hiaR_native_fail(uint32_t loc, uint32_t status, int64_t code,
                                                   hia_context *context, const char *sp,
                                                   uintptr_t pc) {
  context->loc = loc;
  context->code = code;
  leave(context, (hia_status)status, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_poll(hia_context *context, const char *sp, uintptr_t pc) {
  uintptr_t at = (uintptr_t)sp;
  if (at < context->soft) context->is_deep = true;
  /* First the limit, then who asked for the end: hiaR_context_cancel writes them the other way
   * round, so one of the two sees the other. */
  atomic_store(&context->limit, context->is_deep ? context->hard : context->soft);
  if (atomic_load(&context->cancelled_run) == atomic_load(&context->run))
    leave(context, HIA_CANCELLED, sp, pc);
  if (context->cancelled && __atomic_load_n(context->cancelled, __ATOMIC_RELAXED))
    leave(context, HIA_CANCELLED, sp, pc);
  if (at < context->hard) leave(context, HIA_DEPTH, sp, pc);
}

void hiaR_context_cancel(hia_context *context) {
  uint32_t run = atomic_load(&context->run);
  if (!(run & 1)) return;
  atomic_store(&context->cancelled_run, run);
  atomic_store(&context->limit, UINTPTR_MAX);
}

/* A word of the engine's stack, which holds frames that were left. */
static HIA_UNINSTRUMENTED uintptr_t stack_word(const char *at) { return *(const uintptr_t *)at; }

/* Reads the chain of calls off the stack. Compiled code keeps its stack pointer fixed within a
 * function, so a row of its tables, found by the place of a call, leads to the caller. */
static void walk(const hia_context *context, const hia_unwinder *unwinder, hia_trace *trace) {
  if (!unwinder || !unwinder->locs) return;
  const char *sp = context->sp, *top = context->stack.top;
  uintptr_t pc = context->pc;
  uint32_t loc = context->loc;
  if (loc != HIA_NONE) hiaR_trace_push_site(trace, unwinder->locs, loc, false);
  /* Recursion comes back to the same few return addresses. */
  struct {
    uintptr_t pc;
    hia_frame_row row;
  } known[64] = {0};
  for (bool is_first = true; sp >= context->stack.low && sp < top; is_first = false) {
    size_t slot = (pc ^ pc >> 6) % HIA_LEN(known);
    if (known[slot].pc != pc && !unwinder->find(unwinder->user, pc, &known[slot].row)) break;
    known[slot].pc = pc;
    const hia_frame_row *row = &known[slot].row;
    if (row->loc != HIA_NONE && (!is_first || loc == HIA_NONE))
      hiaR_trace_push_site(trace, unwinder->locs, row->loc, row->is_tail && !is_first);
    if (row->cfa < sizeof(uintptr_t) || row->cfa > (size_t)(top - sp)) break;
    sp += row->cfa;
    pc = stack_word(sp - sizeof(uintptr_t));
  }
}

/* ---- a run ---- */

/* Reserves the stack and sets the limits. */
static hia_status set_limits(hia_context *context, const hia_unwinder *unwinder,
                             const hia_limits *limits) {
  size_t depth = limits ? limits->depth : 0, size;
  bool is_default = depth == 0;
  if (is_default) {
    if (!context->default_depth) context->default_depth = hiaR_default_depth();
    depth = context->default_depth;
  }
  size_t max_frame = unwinder ? unwinder->max_frame : 0, below;
  if (!hiaR_mul(max_frame, 2, &below) || !hiaR_add(below, MARGIN, &below)) return HIA_MEMORY;
  for (;;) {
    if (!hiaR_add(depth, below, &size)) return HIA_MEMORY;
    hia_status status = reserve(context, size);
    if (!status) break;
    /* Address space may be rationed: a default gives way, a wish does not. */
    if (!is_default || depth <= KEEP) return status;
    context->default_depth = depth /= 2;
  }
  uintptr_t top = (uintptr_t)context->stack.top;
  context->hard = top - depth;
  context->soft = depth < KEEP ? context->hard : top - KEEP;
  return HIA_OK;
}

hia_status hiaR_native_run(hia_context *context, hia_native_entry entry, hia_word *block,
                           const hia_unwinder *unwinder, const hia_limits *limits,
                           hia_failure *failure, hia_usage *usage) {
  failure->status = HIA_OK;
  failure->code = 0;
  failure->trace.length = 0;
  *usage = (hia_usage){0};
  hia_status status = set_limits(context, unwinder, limits);
  if (status) return failure->status = status;
  context->calls = context->rounds = 0;
  context->loc = HIA_NONE;
  context->code = 0;
  context->is_deep = false;
  context->cancelled = limits ? limits->cancelled : NULL;

  atomic_store_explicit(&context->limit, context->soft, memory_order_relaxed);
  uint32_t run = atomic_load_explicit(&context->run, memory_order_relaxed) + 1;
  /* First that there is a run, then whether it is wanted: who ends it sets *cancelled and then
   * calls hiaR_context_cancel, so one of the two sees the other. */
  if (context->cancelled) {
    atomic_store(&context->run, run);
    if (__atomic_load_n(context->cancelled, __ATOMIC_SEQ_CST)) {
      atomic_store_explicit(&context->run, run + 1, memory_order_release);
      return failure->status = HIA_CANCELLED;
    }
  } else {
    /* Release is enough: a cancel that does not see the run yet comes before it. */
    atomic_store_explicit(&context->run, run, memory_order_release);
  }
  int left = enter(context, (void (*)(void *))entry, block);
  atomic_store_explicit(&context->run, run + 1, memory_order_release);

  if (HIA_UNLIKELY(left)) {
    failure->status = context->status;
    failure->code = context->code;
    walk(context, unwinder, &failure->trace);
  }
  usage->calls = context->calls;
  usage->rounds = context->rounds;
  usage->peak_bytes = context->is_deep ? hiaR_stack_trim(&context->stack, KEEP) : KEEP;
  return failure->status;
}
