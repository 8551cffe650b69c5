/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The way from a typed entry to compiled code.
 *
 * A call through a typed entry is a run like any other, but all that a run sets up stays from one
 * call to the next: the stack, the limits, the invocation. So the usual way in is little more than
 * the change of stack. Special calls go another way. Two comparisons find most of them. In a usual
 * call
 *
 *   room    is larger than the largest frame of the module. It is not if the stack is too small
 *           for that frame, or there is a timeout, or the image is to run, or the last call has
 *           failed and its failure is to be cleared.
 *   limit   equals depth.soft. It does not if another thread has cancelled the context.
 *
 * Three more comparisons find the others: whether the code makes objects, or can fork and there are
 * workers for it (special), whether the thread is inside another run (hiaR_innermost), and whether
 * the call is to be offered to the module's chooser (offered; chooser.h).
 *
 * The comparison of the limit is enough for a cancel at any time. The canceller writes
 * `is_cancelled` and `scope.status`, and then pokes the context; the special way clears
 * `scope.status`, sets the limit, and then reads both, so one of the two sees the other. After a
 * cancel or a deadline the call leaves the limit at its maximum, so that the next call is special
 * too; no other thread changes a limit that is waiting for a run. */
#include "runtime/kernel/blas.h"
#include "runtime/native/chooser.h"
#include "runtime/native/context.h"
#include "runtime/native/host.h"
#include "runtime/native/team.h"
#include "runtime/param/param.h"

/* ---- the clock of a call ---- */

static void past_deadline(hia_alarm *alarm) {
  hia_host_context *host =
      (hia_host_context *)(void *)((char *)alarm - offsetof(hia_host_context, alarm));
  hiaR_scope_cancel(&host->scope, HIA_DEADLINE);
}

static hia_status set_alarm(hia_context *context) {
  hia_host_context *host = context->host;
  hia_status status = HIA_OK;
  if (!host->clock) {
    status = hiaR_clock_new(&host->allocator, &host->clock);
    host->owns_clock = status == HIA_OK;
  }
  if (status) return status;
  uint64_t now = hiaR_now(), max = UINT64_MAX - 1 - now;
  host->alarm.at = now + (host->timeout_ns < max ? host->timeout_ns : max);
  host->alarm.ring = past_deadline;
  context->run.deadline = host->alarm.at;
  return hiaR_alarm_set(host->clock, &host->alarm);
}

static void clear_alarm(hia_context *context) {
  hiaR_alarm_clear(context->host->clock, &context->host->alarm);
  context->run.deadline = 0;
}

/* ---- calls ---- */

/* The call fails in its code. */
static hia_status fail(hia_host_context *host, hia_status status, const hia_code_module *module,
                       uint32_t root) {
  hia_backtrace *trace = &host->failure.backtrace;
  const hia_places *places = host->image_places ? host->image_places : &module->places;
  uint64_t deadline = host->context->run.deadline;
  host->failed = places;
  /* The host may request the error after it has changed the settings. */
  host->bounds =
      (hia_bounds){.depth = host->depth,
                   .memory = host->memory,
                   .timeout_ns = deadline && hiaR_now() >= deadline ? host->timeout_ns : 0,
                   .is_native = !host->interprets};
  /* The run ended in the root itself, and at none of its operations. */
  uint32_t loc = module->roots[root].loc;
  if (trace->length == 0 && loc < places->n_locs && !host->image_places)
    hiaR_backtrace_push(trace, loc);
  return hiaR_host_note_failure(host, status);
}

/* While the context is cancelled, or its scope has a status, the next call is special too. */
static void follow_end(hia_context *context) {
  hia_host_context *host = context->host;
  if (hiaR_scope_status(&host->scope) || atomic_load(&host->is_cancelled))
    atomic_store(&context->limit, UINTPTR_MAX);
}

/* They are changed while calls are made (HIA_CODE_VERSIONS). */
static inline uint32_t flags_of(const hia_code_module *module, uint32_t root) {
  return __atomic_load_n(&module->roots[root].flags, __ATOMIC_RELAXED);
}

/* An image has a heap if any of its functions makes objects. */
static bool has_heap(const hia_host_context *host, const hia_code_module *module, uint32_t root) {
  uint32_t flags = host->interprets ? module->flags : flags_of(module, root);
  return (flags & HIA_CODE_OBJECTS) != 0;
}

static hia_status run_native(hia_context *context, const hia_code_module *module, uint32_t root,
                             hia_native_entry entry, hia_word *block) {
  hia_host_context *host = context->host;
  bool is_shared = host->pool && (module->flags & HIA_CODE_FORKS);
  context->run.max_workers = is_shared ? host->threads : 1;
  context->run.pool = is_shared ? host->pool : NULL;
  context->run.unwinder = &module->unwinder;
  context->is_shared = 0;
  hiaR_context_use_heap(context, has_heap(host, module, root) ? &host->heap : NULL, module->shapes,
                        host->params);
  if (is_shared) hiaR_team_begin(context, entry);
  hiaR_invoke(context, &host->root, entry, block);
  hia_usage usage = {0};
  hiaR_run_end(context, &usage);
  context->run.pool = NULL;
  atomic_store(&context->limit,
               context->depth.soft); /* before follow_end reads the reasons to end */
  return host->failure.status;
}

static hia_status run_image(hia_context *context, const hia_code_module *module, uint32_t root,
                            const hia_map *map, hia_word *block) {
  hia_host_context *host = context->host;
  if (!module->interpret || !module->image)
    return hiaR_host_refuse(host, HIA_UNSUPPORTED, "this module holds no image to interpret");
  hia_limits limits = {.depth = host->depth,
                       .memory = host->memory,
                       .threads = host->threads,
                       .pool = host->pool,
                       .cancelled = context->run.cancelled,
                       .deadline = context->run.deadline,
                       .scope = &host->scope,
                       .heap = has_heap(host, module, root) ? &host->heap : NULL,
                       .shapes = module->shapes,
                       .params = host->params,
                       .fuel = context->fuel != &context->run.unlent ? context->fuel : NULL};
  if (map) return hiaR_map_interpret(context, module, map, block, &limits);
  return module->interpret(context, module, root, block, &limits, &host->failure);
}

/* Sets what the call may use: inside another run, what that one has left. */
static hia_status take_limits(hia_host_context *host) {
  const hia_nest *nest = hiaR_innermost;
  host->depth = host->max_depth;
  host->memory = host->max_memory;
  if (!nest) return HIA_OK;
  if (nest->level >= HIA_MAX_NESTED)
    return hiaR_host_refuse(host, HIA_DEPTH, "too many runs inside one another");
  if (!nest->depth || !nest->memory)
    return hiaR_host_refuse(host, nest->depth ? HIA_MEMORY : HIA_DEPTH, NULL);
  host->depth = hiaR_nest_least(host->depth, nest->depth);
  host->memory = hiaR_nest_least(host->memory, nest->memory);
  return HIA_OK;
}

/* Sets the stack limits for frames of this size, if code is to run there. */
static hia_status limit_stack(hia_context *context, size_t max_frame) {
  hia_host_context *host = context->host;
  bool is_limited = host->depth != host->max_depth; /* only for this call */
  if (host->interprets || (max_frame < host->covered && !is_limited)) return HIA_OK;
  host->covered = context->direct.room = 0; /* there may be no stack afterwards */
  hia_status status = hiaR_set_limits(context, host->depth, max_frame);
  if (status) return hiaR_host_refuse(host, status, "no address space for the stack");
  context->depth.is_limited = host->depth != 0;
  if (!is_limited) host->covered = max_frame + 1;
  return HIA_OK;
}

/* Sets the limits and the clock, and checks whether the call must end at once: it may be past its
 * deadline when the thread that keeps the time has been started. */
static hia_status prepare(hia_context *context, const hia_code_module *module, uint32_t root,
                          size_t max_frame) {
  hia_host_context *host = context->host;
  if (host->has_fuel && (module->flags & HIA_CODE_WITHOUT_FUEL))
    return hiaR_host_refuse(host, HIA_UNSUPPORTED,
                            "the context has fuel, and this code was not compiled for that");
  hia_status status = take_limits(host);
  if (status == HIA_OK) status = limit_stack(context, max_frame);
  if (status) return status;
  __atomic_store_n(&host->scope.status, HIA_OK, __ATOMIC_SEQ_CST);
  if (host->timeout_ns) {
    status = set_alarm(context);
    if (status) return hiaR_host_refuse(host, status, NULL);
  }
  if (hiaR_innermost) hiaR_scope_enter(&host->scope, hiaR_innermost->scope);
  bool is_special = host->timeout_ns || host->interprets || hiaR_innermost;
  context->direct.room = is_special ? 0 : host->covered;
  context->direct.special = HIA_CODE_OBJECTS | HIA_CODE_VERSIONS |
                            (host->pool ? HIA_CODE_FORKS : 0u) |
                            (host->has_fuel ? HIA_CODE_WITHOUT_FUEL : 0u);
  /* First the limit, then the reasons to end. */
  atomic_store(&context->limit, context->depth.soft);
  if (atomic_load(&host->is_cancelled)) hiaR_scope_cancel(&host->scope, HIA_CANCELLED);
  status = hiaR_scope_status(&host->scope);
  return status ? fail(host, status, module, root) : HIA_OK;
}

static hia_status run(hia_context *context, const hia_code_module *module, uint32_t root,
                      const hia_map *map, hia_word *block) {
  hia_host_context *host = context->host;
  hia_native_entry entry = map ? map->loop : module->roots[root].entry;
  bool needs_heap = has_heap(host, module, root);
  bool is_fast = host->fast_products || (module->flags & HIA_CODE_FAST_PRODUCTS);
  host->has_blas = needs_heap && is_fast && hiaR_blas_open();
  if (needs_heap) hiaR_host_heap_begin(host);
  hia_status status = host->interprets ? run_image(context, module, root, map, block)
                                       : run_native(context, module, root, entry, block);
  if (status == HIA_OK && host->exchange)
    status = host->exchange->leave(host->exchange, module, root, block);
  if (needs_heap) hiaR_host_heap_end(host);
  return status;
}

/* The run sees the state of the params that is current now. */
static hia_status run_with_params(hia_context *context, const hia_code_module *module,
                                  uint32_t root, const hia_map *map, hia_word *block) {
  hia_host_context *host = context->host;
  hia_params *params = module->params;
  hia_param_state *state = NULL;
  host->params = NULL;
  if (!params) return run(context, module, root, map, block);
  hia_status status = params->kit->hold(params, hiaR_host_must_end, &host->scope, &state);
  if (status) return hiaR_host_refuse(host, status, NULL);
  host->params = params->kit->words(state);
  status = run(context, module, root, map, block);
  params->kit->release(state);
  return status;
}

/* The way in of all special calls, and of maps; `map` is NULL for the others. */
static hia_status enter_special(hia_context *context, const hia_code_module *module, uint32_t root,
                                const hia_map *map, hia_word *block) {
  hia_host_context *host = context->host;
  hiaR_host_forget_failure(host);
  size_t max_frame = module->unwinder.max_frame;
  if (map && max_frame < HIA_MAP_FRAME) max_frame = HIA_MAP_FRAME;
  const char *why = map ? hiaR_map_wrong(map, block) : NULL;
  hia_status status =
      why ? hiaR_host_refuse(host, HIA_ARGUMENT, why) : prepare(context, module, root, max_frame);
  if (status == HIA_OK) {
    status = run_with_params(context, module, root, map, block);
    hia_status ended = hiaR_scope_status(&host->scope);
    if (status == HIA_CANCELLED && ended) status = ended;
    if (status && host->why)
      hiaR_host_note_failure(host, status); /* its code was not entered */
    else if (status)
      fail(host, status, module, root);
    host->root = (hia_invocation){.failure = &host->failure};
  }
  if (context->run.deadline) clear_alarm(context);
  hiaR_scope_leave(&host->scope);
  follow_end(context);
  return status;
}

/* The end of the usual way in, when the code was left or went deep. */
static HIA_COLD hia_status leave(hia_context *context, int left) {
  hia_host_context *host = context->host;
  context->doomed = NULL;
  hiaR_context_trim(context);
  hiaR_restore_limit(context);
  follow_end(context);
  if (!left) return HIA_OK;
  host->root = (hia_invocation){.failure = &host->failure};
  const hia_code_module *module =
      (const hia_code_module *)(const void *)((const char *)context->run.unwinder -
                                              offsetof(hia_code_module, unwinder));
  return fail(host, host->failure.status, module, host->root_called);
}

static HIA_COLD hia_status special(hia_context *context, const hia_code_module *module,
                                   uint32_t root, hia_word *block) {
  uint64_t run = atomic_load_explicit(&context->run.number, memory_order_relaxed);
  atomic_store(&context->run.number, run + 1); /* as hiaR_team_begin needs it */
  hia_status status = enter_special(context, module, root, NULL, block);
  atomic_store_explicit(&context->run.number, run + 2, memory_order_relaxed);
  return status;
}

/* The usual way in. Only the context is used after the call: every register that is preserved
 * costs. */
static inline hia_status direct(hia_context *context, const hia_code_module *module, uint32_t root,
                                hia_word *block, uint64_t run) {
  atomic_store_explicit(&context->run.number, run + 1, memory_order_relaxed);
  context->run.unwinder = &module->unwinder;
  hia_host_context *host = context->host;
  host->root_called = root;
  context->invocation = &host->root;
  int left = hiaR_cross(context, (void (*)(void *))module->roots[root].entry, block);
  context->invocation = NULL;
  hia_status status = HIA_OK;
  if (HIA_UNLIKELY(left | context->depth.is_deep)) status = leave(context, left);
  run = atomic_load_explicit(&context->run.number, memory_order_relaxed);
  atomic_store_explicit(&context->run.number, run + 1, memory_order_relaxed);
  return status;
}

static inline bool is_special(const hia_context *context, const hia_code_module *module,
                              uint32_t root, uint32_t flags) {
  return module->unwinder.max_frame >= context->direct.room || (flags_of(module, root) & flags) ||
         hiaR_innermost ||
         atomic_load_explicit(&context->limit, memory_order_relaxed) != context->depth.soft;
}

/* Calls this code, whatever versions there are. */
static hia_status call(hia_context *context, const hia_code_module *module, uint32_t root,
                       hia_word *block) {
  if (is_special(context, module, root, context->direct.special & ~(uint32_t)HIA_CODE_VERSIONS))
    return special(context, module, root, block);
  uint64_t run = atomic_load_explicit(&context->run.number, memory_order_relaxed);
  return direct(context, module, root, block, run);
}

/* ---- calls that are offered to a chooser ---- */

enum { SELDOM = 64 };

/* A guard has failed: the call has the rest of its time. */
static hia_status call_again(hia_context *context, const hia_offer *offer, hia_word *block,
                             uint64_t start) {
  hia_host_context *host = context->host;
  uint64_t timeout_ns = host->timeout_ns;
  uint64_t taken = timeout_ns ? hiaR_now() - start : 0;
  if (timeout_ns) host->timeout_ns = taken < timeout_ns ? timeout_ns - taken : 1;
  hia_status status = call(context, offer->module, offer->root, block);
  host->timeout_ns = timeout_ns;
  if (host->bounds.timeout_ns) host->bounds.timeout_ns = timeout_ns;
  return status;
}

static hia_status call_offered(hia_context *context, hia_offer *offer, hia_word *block) {
  hia_host_context *host = context->host;
  const hia_chooser *chooser = offer->module->chooser;
  host->words = block;
  chooser->begin(offer);
  bool has_clock = offer->is_timed || (offer->chosen && host->timeout_ns);
  uint64_t start = has_clock ? hiaR_now() : 0;
  hia_status status = offer->chosen ? call(context, offer->chosen, offer->chosen_root, block)
                                    : call(context, offer->module, offer->root, block);
  if (offer->chosen && status == HIA_AGAIN) {
    chooser->again(offer, (uint64_t)host->failure.code);
    status = call_again(context, offer, block, start);
  } else if (offer->chosen && status && host->failed) {
    hia_context_error(context); /* is made now: what was chosen may not be there later */
    host->failed = NULL;
  }
  uint64_t ns = offer->is_timed ? hiaR_now() - start : 0;
  chooser->end(offer, status, ns);
  return status;
}

static HIA_COLD hia_status unusual(hia_context *context, const hia_code_module *module,
                                   uint32_t root, hia_word *block) {
  const hia_host_context *host = context->host;
  uint64_t run = atomic_load_explicit(&context->run.number, memory_order_relaxed);
  if (run & 1) return HIA_BUSY;
  bool has_versions = flags_of(module, root) & HIA_CODE_VERSIONS;
  bool is_next = run >= context->direct.offered;
  if (is_next) context->direct.offered = run + 2 * SELDOM;
  if ((!is_next && !has_versions) || !module->chooser || hiaR_innermost || host->interprets ||
      host->has_fuel)
    return call(context, module, root, block);
  hia_offer offer = {.module = module,
                     .root = root,
                     .n = has_versions || !context->direct.is_seldom ? 1 : SELDOM,
                     .block = block};
  hia_status status = call_offered(context, &offer, block);
  if (has_versions) return status;
  context->direct.is_seldom = offer.is_seldom;
  if (!offer.is_seldom) context->direct.offered = 0;
  return status;
}

hia_status hiaR_enter(hia_context *context, const hia_code_module *module, uint32_t root,
                      hia_word *block) {
  if (HIA_UNLIKELY(!context)) return HIA_ARGUMENT;
  uint64_t run = atomic_load_explicit(&context->run.number, memory_order_relaxed);
  if (HIA_UNLIKELY((run & 1) || run >= context->direct.offered ||
                   is_special(context, module, root, context->direct.special)))
    return unusual(context, module, root, block);
  return direct(context, module, root, block, run);
}

/* The fuel that a call with fuel begins with. */
typedef struct spending {
  uint64_t *outer; /* the fuel of the run with fuel around it, or NULL */
  uint64_t fuel;
} spending;

/* Inside another run with fuel, the call has no more than that run has left. */
static spending begin_spending(hia_context *context) {
  hia_host_context *host = context->host;
  spending s = {HIA_UNLIKELY(hiaR_innermost != NULL) ? hiaR_innermost->fuel : NULL,
                host->has_fuel ? host->fuel : UINT64_MAX};
  if (s.outer && *s.outer < s.fuel) s.fuel = *s.outer;
  context->fuel = &host->lent;
  return s;
}

/* What is left after a call that has failed. */
static uint64_t left_after(const hia_host_context *host, hia_status status, uint64_t fuel) {
  if (host->why) return fuel; /* it never came to the code */
  return status == HIA_FUEL && !host->failure.host ? (uint64_t)host->failure.code : 0;
}

static void end_spending(hia_context *context, const spending *s, hia_status status,
                         uint64_t left) {
  hia_host_context *host = context->host;
  context->fuel = &context->run.unlent;
  if (HIA_UNLIKELY(status)) left = left_after(host, status, s->fuel);
  if (host->has_fuel) host->fuel -= s->fuel - left;
  if (s->outer) *s->outer -= s->fuel - left;
}

hia_status hiaR_enter_fuelled(hia_context *context, const hia_code_module *module, uint32_t root,
                              hia_word *block) {
  if (HIA_UNLIKELY(!context)) return HIA_ARGUMENT;
  if (HIA_UNLIKELY(hiaR_is_in_call(context))) return HIA_BUSY;
  const hia_code_root *r = &module->roots[root];
  spending s = begin_spending(context);
  block[r->n_params - 1] = s.fuel;
  hia_status status = hiaR_enter(context, module, root, block);
  end_spending(context, &s, status, block[r->n_params + r->n_results - 1]);
  return status;
}

hia_status hiaR_enter_map(hia_context *context, const hia_code_module *module, const hia_map *map,
                          hia_word *block) {
  if (!context) return HIA_ARGUMENT;
  if (hiaR_is_in_call(context)) return HIA_BUSY;
  hia_host_context *host = context->host;
  const hia_code_root *r = &module->roots[map->root];
  bool is_fuelled = r->n_params > map->n_params;
  hia_word *words = hiaR_map_words(map, block), *left = &words[r->n_params + map->n_results];
  block[HIA_MAP_ROW] = 0;
  block[HIA_MAP_ENTRY] = (uintptr_t)r->entry;
  spending s = {NULL, 0};
  if (is_fuelled) {
    s = begin_spending(context);
    words[map->n_params] = *left = s.fuel; /* a kernel leaves both as they are */
  }
  uint64_t run = atomic_load_explicit(&context->run.number, memory_order_relaxed);
  atomic_store(&context->run.number, run + 1); /* as hiaR_team_begin needs it */
  hia_status status = enter_special(context, module, map->root, map, block);
  atomic_store_explicit(&context->run.number, run + 2, memory_order_relaxed);
  if (is_fuelled) end_spending(context, &s, status, *left);
  host->rows = status && host->why ? 0 : block[HIA_MAP_ROW];
  host->bounds.row = host->rows;
  host->bounds.has_row = true;
  return status;
}
