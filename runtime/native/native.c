/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Running compiled code: the worker's context, the way onto its stack and back, limits, and how an
 * invocation ends.
 *
 * Safepoint polling: compiled code compares its stack pointer with context->limit at entries and
 * loop rounds, and polls (hiaR_stub_poll) when it lies below. The reasons for a poll are:
 *
 *   - The run has left the first KEEP bytes of the stack. The limit starts there, so that runs
 *     that stay above cost nothing when they end; a run that does not returns its memory to the
 *     system afterwards. From there on the limit moves down in steps, at each of which a return
 *     barrier is put into a frame (barrier.c).
 *   - The run is too deep.
 *   - Another thread has requested its end, or a job, and set the limit to its maximum
 *     (hiaR_poke).
 *   - The run has just begun and may have helpers: they are called at its first poll, unless the
 *     run is expected to be brief (team.c).
 *
 * A failure reads its backtrace off the stack where it happens, and jumps back to where the
 * invocation was entered. */
#include "runtime/base/left.h"
#include "runtime/native/batch.h"
#include "runtime/native/context.h"
#include <stdlib.h>

/* Below the limit: 64 KiB for a handler of the host's signals, which may come at any time; as much
 * for its pool's `start`; and the rest for what compiled code calls there: library functions, the
 * stubs, the reading of backtraces. Frames of compiled code below the limit need space in
 * addition: that of a function that was entered just above the limit, and that of a function
 * without a safepoint that it calls. */
#define MARGIN ((size_t)192 << 10)

/* What is reserved for a stack without a limit. */
#define MOST_ADDRESSES ((size_t)1 << 40)

#define I32   4
#define I64   8
#define PTR   sizeof(void *)
#define LOCAL sizeof(hia_local_heap)
#define HIA_FIELD(offset, TYPE, name, doc)                                                         \
  _Static_assert(offsetof(hia_context, name) == (offset) &&                                        \
                     sizeof(((hia_context *)0)->name) == (TYPE),                                   \
                 "layout.def and the context differ: " #name);
#include "runtime/native/layout.def"
#undef I32
#undef I64
#undef PTR
#undef LOCAL
_Static_assert(offsetof(hia_local_heap, free) == 0, "generated code takes from the free lists");

hia_status hiaR_context_new(const hia_allocator *allocator, hia_context **out) {
  hia_context *context = hiaR_alloc(allocator, sizeof *context);
  *out = context;
  if (!context) return HIA_MEMORY;
  context->allocator = allocator;
  context->vector_state = hiaR_arch_vector_state();
  context->mailbox.parker = &context->parker;
  context->granted = HIA_FREE_GRANT;
  context->fuel = &context->unlent;
  context->random = (uint32_t)((uintptr_t)context >> 6) | 1;
  return HIA_OK;
}

static void end_grant(hia_context *context) {
  hiaR_grant_end(context->granted - HIA_FREE_GRANT);
  context->granted = HIA_FREE_GRANT;
}

void hiaR_context_free(hia_context *context) {
  if (!context) return;
  hiaR_team_forget(context);
  hiaR_jobs_free(context);
  hiaR_batch_free(context);
  hiaR_barriers_free(context);
  end_grant(context);
  hiaR_fiber_free(&context->fiber);
  hiaR_stack_release(&context->stack);
  hiaR_free(context->allocator, context, sizeof *context);
}

/* ---- to the engine's stack and back ---- */

hia_status hiaR_context_reserve(hia_context *context, size_t size) {
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

HIA_UNINSTRUMENTED int hiaR_cross(hia_context *context, void (*fn)(void *), void *arg) {
  hia_crossing crossing = {context, fn, arg};
  const hia_stack *stack = &context->stack;
  hiaR_fiber_enter(&context->fiber, stack->low, (size_t)(stack->top - stack->low));
  int left = hiaR_arch_enter(context, stack->top, arrive, &crossing);
  hiaR_fiber_entered(&context->fiber, left);
  return left;
}

#endif

hia_status hiaR_context_call(hia_context *context, size_t size, void (*fn)(void *arg), void *arg) {
  hia_status status = hiaR_context_reserve(context, size);
  if (status) return status;
  hiaR_cross(context, fn, arg);
  hiaR_stack_trim(&context->stack, HIA_STACK_KEEP);
  return HIA_OK;
}

size_t hiaR_context_trim(hia_context *context) {
  if (!context->is_deep) return HIA_STACK_KEEP;
  context->is_deep = false;
  hiaR_barriers_reset(context);
  size_t used = hiaR_stack_trim(&context->stack, HIA_STACK_KEEP);
  end_grant(context);
  return used;
}

/* ---- the end of an invocation ---- */

/* Notes how the innermost invocation fails: by an operation at `loc`, or where compiled code was,
 * or with `job`, which failed. */
static void note_failure(hia_context *context, hia_status status, uint32_t loc, int64_t code,
                         const char *sp, uintptr_t pc, const hia_job *job) {
  const hia_invocation *invocation = context->invocation;
  hia_failure *failure = invocation->failure;
  if (job)
    *failure = job->failure;
  else if ((uint32_t)status & HIA_STATUS_OF_HOST)
    *failure = (hia_failure){.status = hiaR_host_status((uint32_t)status & ~HIA_STATUS_OF_HOST),
                             .host = (const char *)(uintptr_t)code};
  else
    *failure = (hia_failure){.status = status,
                             .code = code,
                             .range = context->range,
                             .misfit = context->misfit,
                             .nan = context->nan};
  if (invocation->job) {
    /* It ends because an invocation below it does, or it would not be too deep on another stack. */
    bool is_over = atomic_load(&invocation->job->is_cancelled) || atomic_load(&context->team->stop);
    bool is_elsewhere = context->doomed || (failure->status == HIA_DEPTH && invocation->outer &&
                                            !invocation->job->gives);
    invocation->job->is_returned = !is_over && is_elsewhere;
    if (is_over || is_elsewhere) return; /* the backtrace will not be read */
  }
  /* The thread that ends a run waits for it, so its backtrace may not take long. */
  bool is_ended = status == HIA_CANCELLED || status == HIA_DEADLINE;
  hiaR_read_backtrace(context, loc, sp, pc, job != NULL, is_ended, &failure->backtrace);
}

/* On the engine's stack: notes the failure and leaves the invocation. Not instrumented, like all
 * functions that are left without returning. */
static _Noreturn HIA_UNINSTRUMENTED void leave(hia_context *context, hia_status status,
                                               uint32_t loc, int64_t code, const char *sp,
                                               uintptr_t pc, const hia_job *job) {
  note_failure(context, status, loc, code, sp, pc, job);
  bool is_outermost = !context->invocation->outer;
  const char *to = is_outermost ? context->stack.top : context->host_sp;
  hiaR_stack_forget(__builtin_frame_address(0), to);
  hiaR_barriers_drop(context, to);
  context->elements = context->invocation->elements;
  hiaR_follow_step(context);
  if (is_outermost) hiaR_fiber_depart(&context->fiber);
  hiaR_arch_leave(context);
}

_Noreturn HIA_UNINSTRUMENTED void hiaR_native_fail(uint32_t loc, uint32_t status, int64_t code,
                                                   hia_context *context, const char *sp,
                                                   uintptr_t pc) {
  leave(context, (hia_status)status, loc, code, sp, pc, NULL);
}

hia_status hiaR_end_status(hia_context *context) {
  hia_team *team = context->team;
  hia_status status = team ? (hia_status)atomic_load(&team->stop) : HIA_OK;
  if (!status) {
    uint64_t run = atomic_load(&context->run);
    if ((run & 1) && atomic_load(&context->cancelled_run) == run) status = HIA_CANCELLED;
    if (context->cancelled && __atomic_load_n(context->cancelled, __ATOMIC_RELAXED))
      status = HIA_CANCELLED;
    if (context->deadline && hiaR_now() >= context->deadline) status = HIA_DEADLINE;
    if (status && team) hiaR_team_stop(team, status);
  }
  if (status) return status;
  if (atomic_load(&context->has_cancelled_job)) {
    atomic_store(&context->has_cancelled_job, 0);
    for (hia_invocation *i = context->invocation; i; i = i->outer)
      if (i->job && atomic_load(&i->job->is_cancelled)) context->doomed = i;
  }
  return context->doomed ? HIA_CANCELLED : HIA_OK;
}

void hiaR_set_limit(hia_context *context) {
  uintptr_t limit = context->step;
#ifdef HIA_STRESS
  if (context->pool) limit = UINTPTR_MAX; /* every safepoint polls */
#endif
  atomic_store(&context->limit, limit);
}

void hiaR_follow_step(hia_context *context) {
  uintptr_t seen = atomic_load(&context->limit);
  while (seen != UINTPTR_MAX &&
         !atomic_compare_exchange_weak(&context->limit, &seen, context->step));
}

/* True if the machine has memory left for the stack down to `sp`. */
static bool may_reach(hia_context *context, const char *sp) {
  size_t size = (size_t)(context->stack.top - sp);
  if (HIA_LIKELY(size <= context->granted) || context->is_limited) return true;
  size_t held = context->granted - HIA_FREE_GRANT;
  context->granted = hiaR_grant(held, size - HIA_FREE_GRANT, true) + HIA_FREE_GRANT;
  return size <= context->granted;
}

/* The part of hiaR_native_poll that returns. First the limit, then the requests of other threads:
 * they write them in the opposite order, so one of the two sees the other. */
static hia_status poll(hia_context *context, const char *sp, uintptr_t pc) {
  if ((uintptr_t)sp < context->step) {
    context->is_deep = true;
    hiaR_barrier_descend(context, sp, pc);
  }
  hiaR_set_limit(context);
  hia_status status = hiaR_end_status(context);
  if (status) return status;
  if ((uintptr_t)sp < context->hard || !may_reach(context, sp)) return HIA_DEPTH;
  if (context->pool) hiaR_serve(context, sp, pc);
  return HIA_OK;
}

static _Noreturn HIA_UNINSTRUMENTED void end(hia_context *context, hia_status status,
                                             const char *sp, uintptr_t pc) {
  int64_t code = 0;
  if (status == HIA_DEPTH)
    code = (uintptr_t)sp < context->hard ? (int64_t)((uintptr_t)context->stack.top - context->hard)
                                         : HIA_NOT_LEFT;
  leave(context, status, HIA_NONE, code, sp, pc, NULL);
}

HIA_UNINSTRUMENTED void hiaR_native_poll(hia_context *context, const char *sp, uintptr_t pc) {
  hia_status status = poll(context, sp, pc);
  if (HIA_UNLIKELY(status)) end(context, status, sp, pc);
}

/* The poll of a return barrier, in the frame that is returned to. */
HIA_UNINSTRUMENTED void hiaR_native_return(hia_context *context, char *place) {
  uintptr_t pc = hiaR_barrier_ascend(context, place);
  const char *sp = place + sizeof pc;
  hia_status status = poll(context, sp, pc);
  if (HIA_UNLIKELY(status)) end(context, status, sp, pc);
}

enum { SOON_NS = 20000 }; /* how long a join waits for a thief before it settles */

HIA_UNINSTRUMENTED hia_word *hiaR_native_join(hia_context *context, hia_fork_frame *frame,
                                              uint32_t index, const char *sp, uintptr_t pc) {
  hia_job *job = context->invocation->promoted;
  while (job->frame != frame || job->index != index) job = job->older; /* it is the first */
  /* What is pending is computed before this worker runs other jobs. But the thief may be about to
   * end, and leave it more. */
  if (context->settle && !job->is_back && !hiaR_look_for_end(job, SOON_NS))
    context->settle(context, sp, pc);
  hia_status status = hiaR_join_await(context, job, sp);
  if (HIA_UNLIKELY(status)) leave(context, status, HIA_NONE, 0, sp, pc, NULL);
  if (job->is_back) {
    hia_invocation *invocation = context->invocation;
    hia_bridge bridge = {invocation->bridges, sp, pc};
    invocation->bridges = &bridge;
    hiaR_job_share(job);
    hiaR_arch_call(context, (void (*)(void *))job->entry, job->block);
    invocation->bridges = bridge.outer;
  } else if (HIA_UNLIKELY(job->failure.status)) {
    leave(context, job->failure.status, HIA_NONE, 0, sp, pc, job);
  } else if (job->adopt && HIA_UNLIKELY(!job->adopt(context, job))) {
    leave(context, HIA_MEMORY, HIA_NONE, 0, sp, pc, NULL);
  }
  return hiaR_join_end(context, job);
}

/* ---- objects ---- */

void hiaR_context_use_heap(hia_context *context, hia_heap *heap, const hia_shapes *shapes,
                           const hia_word *params) {
  context->shapes = shapes;
  context->params = params;
  hiaR_batch_begin(context);
  if (heap)
    hiaR_local_begin(&context->local, heap);
  else if (context->local.heap)
    memset(&context->local, 0, sizeof context->local);
}

/* A code that makes objects and is run without a heap finds its free lists empty, and comes here.
 */
HIA_UNINSTRUMENTED void *hiaR_native_alloc(hia_context *context, size_t size, uint32_t loc,
                                           const char *sp, uintptr_t pc) {
  if (HIA_UNLIKELY(!context->local.heap)) leave(context, HIA_UNSUPPORTED, loc, 0, sp, pc, NULL);
  void *block = hiaR_heap_alloc(&context->local, size);
  if (HIA_UNLIKELY(!block)) leave(context, HIA_MEMORY, loc, 0, sp, pc, NULL);
  return block;
}

void hiaR_native_free(hia_context *context, hia_word object, uint32_t base) {
  hiaR_object_free(&context->local, context->shapes, object, base, context->is_shared != 0);
}

void hiaR_native_unpack(hia_context *context, hia_word ref, uint32_t shape, uint32_t set) {
  const hia_counted *object = hiaR_object(ref);
  const hia_word *refs = (const hia_word *)(const void *)(object + 1);
  bool is_shared = context->is_shared != 0;
  for (; set; set &= set - 1) hiaR_dup(refs[__builtin_ctz(set)], is_shared);
  hiaR_drop(&context->local, context->shapes, ref, shape - object->ctor, is_shared);
}

void hiaR_native_release(hia_context *context, void *block, size_t size) {
  hiaR_heap_release(&context->local, block, size);
}

/* ---- arrays ---- */

/* What takes longer than a safepoint should be late ends the run that must end. */
enum { LONG = 1 << 20 }; /* bytes that are copied or cleared */

/* The array that an operation has made, if it has. */
static HIA_UNINSTRUMENTED hia_word made(hia_context *context, hia_status how, hia_word array,
                                        uint32_t base, uint32_t loc, const char *sp, uintptr_t pc) {
  if (HIA_UNLIKELY(how == HIA_CANCELLED))
    leave(context, hiaR_end_status(context), HIA_NONE, 0, sp, pc, NULL);
  if (HIA_UNLIKELY(how)) leave(context, HIA_MEMORY, loc, 0, sp, pc, NULL);
  if (hiaR_array_len(array) > LONG / (context->shapes->list[base].size + 1)) {
    hia_status status = hiaR_end_status(context);
    if (HIA_UNLIKELY(status)) leave(context, status, HIA_NONE, 0, sp, pc, NULL);
  }
  return array;
}

static HIA_UNINSTRUMENTED void need_heap(hia_context *context, uint32_t loc, const char *sp,
                                         uintptr_t pc) {
  if (HIA_UNLIKELY(!context->local.heap)) leave(context, HIA_UNSUPPORTED, loc, 0, sp, pc, NULL);
}

HIA_UNINSTRUMENTED hia_word hiaR_native_new(hia_context *context, int64_t n, uint32_t base,
                                            uint32_t loc, const char *sp, uintptr_t pc) {
  hia_word array = 0;
  need_heap(context, loc, sp, pc);
  hia_status status = hiaR_array_new(&context->local, &context->shapes->list[base], n, &array);
  return made(context, status, array, base, loc, sp, pc);
}

HIA_UNINSTRUMENTED hia_word hiaR_native_own(hia_context *context, hia_word array, uint32_t base,
                                            uint32_t loc, const char *sp, uintptr_t pc) {
  need_heap(context, loc, sp, pc);
  hia_status status =
      hiaR_array_own(&context->local, context->shapes, base, &array, context->is_shared != 0);
  return made(context, status, array, base, loc, sp, pc);
}

HIA_UNINSTRUMENTED hia_word hiaR_native_slice(hia_context *context, hia_word array, int64_t first,
                                              int64_t end, uint32_t base, uint32_t loc,
                                              const char *sp, uintptr_t pc) {
  hia_word slice = 0;
  need_heap(context, loc, sp, pc);
  if (HIA_UNLIKELY(!hiaR_array_slice(&context->local, &context->shapes->list[base], array, first,
                                     end, context->is_shared != 0, &slice))) {
    hia_status status = hiaR_end_status(context);
    if (status) leave(context, status, HIA_NONE, 0, sp, pc, NULL);
    leave(context, HIA_MEMORY, loc, 0, sp, pc, NULL);
  }
  return slice;
}

HIA_UNINSTRUMENTED hia_word hiaR_native_concat(hia_context *context, const hia_word *arrays,
                                               uint32_t n, uint32_t base, uint32_t loc,
                                               const char *sp, uintptr_t pc) {
  hia_word array = 0;
  need_heap(context, loc, sp, pc);
  hia_status status = hiaR_array_concat(&context->local, context->shapes, base, arrays, n,
                                        context->is_shared != 0, &array);
  return made(context, status, array, base, loc, sp, pc);
}

HIA_UNINSTRUMENTED void hiaR_native_operate(hia_context *context,
                                            const hia_native_operation *operation, hia_word *words,
                                            uint32_t loc, const char *sp, uintptr_t pc) {
  if (operation->o.op != HIA_OP_TRAP) need_heap(context, loc, sp, pc); /* it may be of scalars */
  hia_native_crew crew;
  bool has_crew = HIA_UNLIKELY(context->team != NULL) && hiaR_crew_join(context, sp, pc, &crew);
  const hia_env env = {&context->local, context->shapes, context->params, context->is_shared != 0,
                       has_crew ? &crew.crew : NULL};
  hia_misfortune why;
  hia_status status = operation->operate(&env, &operation->o, words, words, &why);
  if (has_crew && !status) status = hiaR_crew_leave(&crew);
  if (HIA_LIKELY(!status)) return;
  if (status == HIA_CANCELLED) leave(context, hiaR_end_status(context), HIA_NONE, 0, sp, pc, NULL);
  if (status == HIA_RANGE) context->range = why.range;
  if (status == HIA_SHAPE) context->misfit = why.misfit;
  if (status == HIA_NAN_MADE) context->nan = why.nan;
  int64_t code = status == HIA_FUEL    ? (int64_t)why.fuel_left
                 : status == HIA_RANGE ? hiaR_range_code(why.of, why.is_slice)
                                       : 0;
  leave(context, status, loc, code, sp, pc, NULL);
}

_Noreturn HIA_UNINSTRUMENTED void hiaR_native_range(uint32_t loc, uint32_t code,
                                                    const hia_range *range, hia_context *context,
                                                    const char *sp, uintptr_t pc) {
  context->range = *range;
  leave(context, HIA_RANGE, loc, code, sp, pc, NULL);
}

/* ---- host functions: on the thread's stack, below where it was left ---- */

static void *thread_sp(const hia_context *context) {
  return context->invocation->outer ? context->thread_sp : context->host_sp;
}

#ifdef HIA_FIBERS

typedef struct hia_visit {
  hia_context *context;
  hia_host_call *call;
  hia_word *block;
  uint32_t status;
} hia_visit;

static HIA_UNINSTRUMENTED uint32_t visit(void *p) {
  hia_visit *v = p;
  hiaR_fiber_visit(&v->context->fiber);
  v->status = v->call(v->block);
  const hia_stack *stack = &v->context->stack;
  hiaR_fiber_leave_visit(&v->context->fiber, stack->low, (size_t)(stack->top - stack->low));
  return 0;
}

static HIA_UNINSTRUMENTED uint32_t on_thread_stack(hia_context *context, hia_host_call *call,
                                                   hia_word *block) {
  hia_visit v = {context, call, block, 0};
  hiaR_fiber_suspend(&context->fiber);
  hiaR_arch_visit(thread_sp(context), visit, &v);
  hiaR_fiber_resume(&context->fiber);
  return v.status;
}

#else

static uint32_t on_thread_stack(hia_context *context, hia_host_call *call, hia_word *block) {
  return hiaR_arch_visit(thread_sp(context), (uint32_t (*)(void *))call, block);
}

#endif

uint32_t hiaR_native_host(hia_host_call *call, hia_word *block, hia_context *context) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  size_t left = here > context->hard ? here - context->hard : 0;
  hia_nest nest;
  uint64_t *fuel = context->fuel != &context->unlent ? context->fuel : NULL;
  size_t memory = context->local.heap ? hiaR_heap_left(context->local.heap) : SIZE_MAX;
  hiaR_nest_enter(&nest, context->scope, context->is_limited ? left : SIZE_MAX, memory, fuel);
  uint32_t status = on_thread_stack(context, call, block);
  hiaR_nest_leave(&nest);
  return status;
}

void hiaR_poke(hia_context *context) {
  atomic_store(&context->limit, UINTPTR_MAX);
  hia_parker_unpark(&context->parker);
}

void hiaR_context_cancel(hia_context *context) {
  uint64_t run = atomic_load(&context->run);
  if (!(run & 1)) return;
  atomic_store(&context->cancelled_run, run);
  hiaR_poke(context);
}

void hiaR_context_notify(void *context) { hiaR_context_cancel(context); }

void hiaR_invoke(hia_context *context, hia_invocation *invocation, hia_native_entry entry,
                 hia_word *block) {
  invocation->outer = context->invocation;
  invocation->elements = context->elements;
  context->invocation = invocation;
  bool is_shared = context->pool != NULL;
  if (is_shared) hia_steal_request_open(&context->request);
  int left;
  if (invocation->outer) {
    void *outer = context->host_sp;
    if (!invocation->outer->outer) context->thread_sp = outer;
    left = hiaR_arch_nest(context, (void (*)(void *))entry, block);
    context->host_sp = outer;
  } else {
    left = hiaR_cross(context, (void (*)(void *))entry, block);
  }
  if (is_shared) hiaR_close_steal_request(context);
  if (HIA_UNLIKELY(left)) {
    hiaR_take_all_back(context, invocation);
    hiaR_share_abandon(&context->sharing);
    hiaR_batch_begin(context); /* the invocation that waits, if any, has settled before */
  }
#ifdef HIA_STRESS
  if (invocation->promoted)
    abort(); /* a fork that was promoted while it was not open: no join has removed it */
#endif
  if (context->doomed == invocation) context->doomed = NULL;
  context->invocation = invocation->outer;
}

/* ---- a run ---- */

void hiaR_context_limits(hia_context *context, size_t depth) {
  context->hard = (uintptr_t)context->stack.top - depth;
  context->is_deep = false;
  hiaR_barriers_drop(context, context->stack.top);
}

hia_status hiaR_set_limits(hia_context *context, size_t depth, size_t max_frame) {
  size_t size, below;
  bool is_default = depth == 0, is_fixed = !is_default && depth != SIZE_MAX;
  if (is_default) {
    if (!context->default_depth) context->default_depth = hiaR_default_depth();
    depth = context->default_depth;
  } else if (!is_fixed) {
    depth = MOST_ADDRESSES;
  }
  if (!hiaR_mul(max_frame, 2, &below) || !hiaR_add(below, MARGIN, &below)) return HIA_MEMORY;
  for (;;) {
    if (!hiaR_add(depth, below, &size)) return HIA_MEMORY;
    hia_status status = hiaR_context_reserve(context, size);
    if (!status) break;
    /* Address space may be limited (RLIMIT_AS): a default depth is halved until it fits, a depth
     * set by the caller is not. */
    if (is_fixed || depth <= HIA_STACK_KEEP) return status;
    depth /= 2;
    if (is_default) context->default_depth = depth;
  }
  context->below = below;
  hiaR_context_limits(context, depth);
  return HIA_OK;
}

void hiaR_run_end(hia_context *context, hia_usage *usage) {
  usage->peak_bytes = hiaR_context_trim(context);
  if (!context->team) return;
  hiaR_team_end(context->team, usage);
  context->team = NULL;
}

hia_status hiaR_native_run(hia_context *context, hia_native_entry entry, hia_word *block,
                           const hia_unwinder *unwinder, const hia_limits *limits,
                           hia_failure *failure, hia_usage *usage) {
  hiaR_failure_clear(failure);
  *usage = (hia_usage){0};
  hia_status status =
      hiaR_set_limits(context, limits ? limits->depth : 0, unwinder ? unwinder->max_frame : 0);
  if (status) return failure->status = status;
  context->calls = context->rounds = context->steals = 0;
  context->batch_usage = (hia_batch_usage){0};
  context->unwinder = unwinder;
  context->cancelled = limits ? limits->cancelled : NULL;
  context->deadline = limits ? limits->deadline : 0;
  context->is_limited = limits && limits->depth;
  context->scope = limits ? limits->scope : NULL;
  context->fuel = limits && limits->fuel ? limits->fuel : &context->unlent;
  context->max_workers = limits ? limits->threads : 1;
  context->pool = context->max_workers > 1 ? limits->pool : NULL;
  context->timeline = limits ? limits->timeline : NULL;
  context->ring = hiaR_ring_of(context->timeline, 0);
  hia_heap *heap = limits ? limits->heap : NULL;
  hiaR_context_use_heap(context, heap, limits ? limits->shapes : NULL,
                        limits ? limits->params : NULL);
  context->is_shared = 0;

  atomic_store_explicit(&context->limit, context->step, memory_order_relaxed);
  uint64_t run = atomic_load_explicit(&context->run, memory_order_relaxed) + 1;
  /* First the mark that a run is under way, then the reason to end: a canceller sets *cancelled
   * and then calls hiaR_context_cancel, so one of the two sees the other. */
  if (context->cancelled || context->pool) {
    atomic_store(&context->run, run);
    if (context->cancelled && __atomic_load_n(context->cancelled, __ATOMIC_SEQ_CST)) {
      atomic_store_explicit(&context->run, run + 1, memory_order_release);
      return failure->status = HIA_CANCELLED;
    }
  } else {
    /* Release is enough: a cancel that does not see the run yet precedes it. */
    atomic_store_explicit(&context->run, run, memory_order_release);
  }
  if (context->pool) hiaR_team_begin(context, entry);
  hia_invocation root = {.failure = failure};
  hiaR_invoke(context, &root, entry, block);
  atomic_store_explicit(&context->run, run + 1, memory_order_release);
  hiaR_run_end(context, usage);
  usage->calls = context->calls;
  usage->rounds = context->rounds;
  usage->steals = context->steals;
  usage->batch = context->batch_usage;
  if (heap) usage->peak_bytes += atomic_load_explicit(&heap->peak, memory_order_relaxed);
  return failure->status;
}
