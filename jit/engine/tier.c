/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs that begin in the interpreter, and may begin again in native code (docs/start.md).
 *
 * One would let native code take over where the run is. But image and code are two builds of a
 * program, whose functions and objects differ, and a loop that calls nothing has no place at which
 * another function could be entered. So the run ends as a run that is cancelled does, with the
 * status HIA_AGAIN, and is made again with the same arguments. All of a run but its effects is a
 * function of its arguments; effects are in a record (runtime/host/effects.h).
 *
 * If compiling takes T, and native code is s times as fast, a run of length L takes T + L / s where
 * native code alone takes as long, and the interpreter alone L: at most 1 + 1 / s times the better
 * of both. That is why a run that is mostly in kernels, where s is near 1, stays where it is.
 *
 * The engine's timekeeper looks at a run when its function has been interpreted for FIRST_NS in
 * all, has it compiled, and then looks again and again to see whether it is in a kernel. On one
 * core compiling takes the run's time. There, as in the problem of renting skis, waiting for as
 * long as compiling takes gives at most twice the better of both, and nothing that does not know L
 * can give less. Then the run ends, so that the compiler has the core to itself, and is made again
 * when code is ready, or in the interpreter if none can be made. */
#include "jit/engine/engine.h"

#define FIRST_NS UINT64_C(1000000)
#define LOOK_NS  UINT64_C(1000000)

/* What opening the compiler takes, which has to be guessed when it matters. */
#define OPEN_NS 1.4e7

/* ---- when to compile ---- */

/* What compiling the version's function is expected to take. */
static double expected_ns(const hia_fn_version *v) {
  hia_engine *engine = v->function->module->engine;
  pthread_mutex_lock(&engine->lock);
  double ns = (engine->session ? 0 : OPEN_NS) + engine->ns_per_node * hiaJ_work_of(v->unit);
  pthread_mutex_unlock(&engine->lock);
  return ns;
}

/* The interpreter's time after which a function is compiled. On one core a run is looked at some
 * times before that. */
static uint64_t first_ns(const hia_fn_version *v) {
  if (v->function->module->engine->cores > 1) return FIRST_NS;
  double ns = expected_ns(v) - (double)(HIA_TIER_LOOKS * LOOK_NS);
  return ns > (double)FIRST_NS ? (uint64_t)ns : FIRST_NS;
}

static void request(hia_tier_run *run) {
  const hia_fn_version *v = run->version;
  run->is_requested = true;
  /* Without memory or threads it is interpreted; the next run tries again. */
  hiaJ_make_later(v->function, hiaJ_exact_traits(v->traits) | HIA_VERSION_NATIVE, NULL);
}

static void note_activity(hia_tier_run *run) {
  uint64_t n = atomic_load_explicit(&run->activity.n, memory_order_relaxed);
  atomic_fetch_add_explicit(&run->n_looks, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&run->n_busy, n & 1, memory_order_relaxed);
}

/* On one core it is known first whether the run is in kernels, which it should go on with. Effects
 * are replayed to native code only, and there may be none. */
static void request_on_one_core(hia_tier_run *run) {
  if (atomic_load_explicit(&run->n_looks, memory_order_relaxed) < HIA_TIER_LOOKS) return;
  request(run);
  if (!run->version->function->is_impure && !hiaJ_tier_is_in_kernels(run))
    hiaR_scope_again(run->scope);
}

static void look(hia_alarm *alarm) {
  hia_tier_run *run = (hia_tier_run *)(void *)((char *)alarm - offsetof(hia_tier_run, alarm));
  note_activity(run);
  if (!run->is_requested && run->version->function->module->engine->cores > 1)
    request(run);
  else if (!run->is_requested)
    request_on_one_core(run);
  if (!hiaJ_lacks_native(run->version->function, run->version->traits))
    alarm->again = hiaR_now() + LOOK_NS;
}

/* ---- a run ---- */

/* Has the timekeeper look at the run, if there is one. */
static void watch(hia_engine *engine, hia_tier_run *run, uint64_t at) {
  run->alarm.at = at;
  run->alarm.ring = look;
  hia_clock *clock;
  if (hiaJ_engine_clock(engine, &clock) == HIA_OK && hiaR_alarm_set(clock, &run->alarm) == HIA_OK)
    run->clock = clock;
}

void hiaJ_tier_begin(hia_tier_run *run, const hia_fn_version *v, hia_cancel_scope *scope,
                     hia_limits *limits) {
  hia_function *f = v->function;
  hia_engine *engine = f->module->engine;
  *run = (hia_tier_run){.version = v, .scope = scope, .began_at = hiaR_now()};
  run->activity.again_at = engine->again_at;
  limits->activity = &run->activity;
  /* A core is left to the compiler. */
  if (limits->threads > 1 && limits->threads >= engine->cores) limits->threads--;
  if (engine->again_at) return;
  hiaJ_tier_enter(engine, run);
  /* It may have become ready between the choice of the version and now. */
  if (hiaJ_native_version(f, v->traits)) hiaR_scope_again(scope);
  uint64_t ns = atomic_load_explicit(&f->interpreted_ns, memory_order_relaxed), first = first_ns(v);
  if (ns >= first) request(run);
  watch(engine, run, run->began_at + (ns >= first ? LOOK_NS : first - ns));
}

const hia_fn_version *hiaJ_tier_end(hia_tier_run *run, hia_status status) {
  const hia_fn_version *v = run->version;
  hia_engine *engine = v->function->module->engine;
  if (run->clock) hiaR_alarm_clear(run->clock, &run->alarm);
  if (!engine->again_at) hiaJ_tier_leave(engine, run);
  atomic_fetch_add_explicit(&v->function->interpreted_ns, hiaR_now() - run->began_at,
                            memory_order_relaxed);
  return status == HIA_AGAIN ? hiaJ_native_version(v->function, v->traits) : NULL;
}
