/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Nodes that take longer than a call. */
#include "runtime/interp/later/later.h"
#include "runtime/interp/refs.h"
#include "runtime/run/observer.h"

void hiaR_free_value(hia_worker *w, hia_word ref, uint32_t base) {
  hiaR_object_free(&w->heap, w->run->image->shapes, ref, base, w->is_shared);
}

static hia_status fire_wide(hia_word *slots, const hia_wide *wide) {
  hia_word block[4];
  static const uint16_t in[3] = {0, 1, 2};
  for (uint32_t i = 0; i < wide->n_in; i++) block[i] = slots[wide->in[i]];
  hia_status status = wide->kernel(block, in, 3, wide->imm);
  if (!status) slots[wide->out] = block[3];
  return status;
}

/* ---- operations ---- */

static void get_operands(hia_worker *w, hia_word *slots, const hia_operation_instr *a,
                         hia_word *in) {
  for (uint32_t i = 0; i < a->o.n_in; i++)
    in[i] = hiaR_keeps(a, i) ? hiaR_take(w, slots, a->ins[i]) : slots[a->ins[i] & ~HIA_IMAGE_TAKEN];
}

hia_status hiaR_operate(hia_worker *w, hia_word *slots, const hia_operation_instr *a, hia_word *out,
                        hia_misfortune *why) {
  enum { FEW = 16 };
  hia_word few[FEW] = {0}, *in = few;
  const hia_allocator *allocator = w->run->allocator;
  const hia_env env = {&w->heap, w->run->image->shapes, w->run->limits->params, w->is_shared, NULL};
  if (a->o.n_in > FEW && !(in = hiaR_alloc(allocator, a->o.n_in * sizeof *in))) return HIA_MEMORY;
  get_operands(w, slots, a, in);
  hia_status status = HIA_INTERNAL;
  if (HIA_LIKELY(hiaR_has_tensors(&a->o, in))) status = a->operate(&env, &a->o, in, out, why);
  if (in != few) hiaR_free(allocator, in, a->o.n_in * sizeof *in);
  return status;
}

static void fail(hia_worker *w, hia_frame *f, uint32_t node, hia_status status, int64_t code) {
  hiaR_fail(w, f, node, &(hia_cause){.status = status, .code = code});
}

/* The first worker's operations are counted, if a thread watches the run. */
static void count_operation(const hia_worker *w) {
  hia_activity *activity = w->run->limits->activity;
  if (!activity || w->number) return;
  uint64_t n = atomic_load_explicit(&activity->n, memory_order_relaxed);
  atomic_store_explicit(&activity->n, n + 1, memory_order_relaxed);
}

/* False: the node has failed, or there is no memory. */
static bool fire_operation(hia_worker *w, hia_frame *f, const hia_instr *n) {
  hia_word *slots = hiaR_slots(f);
  hia_misfortune why;
  count_operation(w);
  hia_status status = w->later ? w->run->limits->firings->fire(w, n, slots, &why)
                               : hiaR_operate(w, slots, n->u.operation, &slots[n->to], &why);
  count_operation(w);
  if (hiaR_local_is_due(&w->heap)) hiaR_samples_took(w, f, n->index);
  if (status == HIA_MEMORY) {
    hiaR_end_at(w, HIA_MEMORY, f, n->index);
  } else if (status) {
    hia_cause cause = hiaR_cause_of(status, &why);
    hiaR_fail(w, f, n->index, &cause);
  }
  return !status;
}

static size_t left_of(size_t limit, size_t used) {
  return limit == 0 || limit == SIZE_MAX ? SIZE_MAX : limit > used ? limit - used : 0;
}

/* The frame's section has no other node, and was entered in sequential order as a call. */
static hia_status call_host(hia_run *run, hia_word *slots, const hia_host_instr *host) {
  const hia_limits *limits = run->limits;
  size_t bytes = atomic_load_explicit(&run->bytes, memory_order_relaxed);
  hia_effects *effects = host->is_impure ? limits->effects : NULL;
  hia_nest nest;
  uint32_t known;
  if (effects && hiaR_effects_take(effects, &known, limits->fuel ? run->fuel : NULL, slots,
                                   host->outs, host->n_outs))
    return (hia_status)known;
  hiaR_nest_enter(&nest, limits->scope, left_of(limits->depth, bytes),
                  left_of(limits->memory, bytes), limits->fuel);
  hia_status status =
      host->caller->call(host->prepared, slots, host->ins, host->outs, run->allocator);
  hiaR_nest_leave(&nest);
  if (!effects || !effects->is_recorded) return status;
  /* Native code calls a safe function without the runtime, which could not take it from there. */
  if (host->is_safe && limits->activity)
    atomic_store_explicit(&effects->is_stuck, true, memory_order_relaxed);
  hiaR_effects_add(effects, status, limits->fuel ? run->fuel : NULL, slots, host->outs,
                   host->n_outs);
  return status;
}

/* False: the run ends, since it has observed enough. */
static bool observe(hia_worker *w, hia_frame *f, const hia_instr *n) {
  hia_observer *observer = w->run->limits->observer;
  if (!observer || hiaR_observe(observer, n->u.imm, hiaR_slots(f)[n->slot])) return true;
  hiaR_end_at(w, HIA_AGAIN, f, n->index);
  return false;
}

bool hiaR_fire_node(hia_worker *w, hia_frame *f, const hia_instr *n) {
  hia_word *slots = hiaR_slots(f);
  hia_status status;
  switch (n->kind) {
  case HIA_KIND_COUNT: w->counts[n->u.imm]++; return true;
  case HIA_KIND_OBSERVE: return observe(w, f, n);
  case HIA_KIND_LEND: *w->run->fuel = slots[n->slot]; return true;
  case HIA_KIND_REGAIN: slots[n->to] = *w->run->fuel; return true;
  case HIA_KIND_FAIL: fail(w, f, n->index, HIA_FAILED, (int64_t)slots[n->slot]); return false;
  case HIA_KIND_HOST:
    status = call_host(w->run, slots, n->u.host);
    if (status) hiaR_fail(w, f, n->index, &(hia_cause){.status = status, .host = n->u.host->name});
    return !status;
  case HIA_KIND_WIDE:
    status = fire_wide(slots, n->u.wide);
    if (status) fail(w, f, n->index, status, hiaR_kernel_code(status, slots[n->u.wide->in[0]]));
    return !status;
  default: return fire_operation(w, f, n);
  }
}
