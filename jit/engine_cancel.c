/* Ending runs from outside: by a hia_cancel, which other threads request, and by deadlines.
 *
 * A run reads one word where it polls (hia_limits.cancelled). Native code does not poll unless its
 * context tells it to, so a run in native code is found through the list of its hia_cancel, or
 * through its alarm, and told. Neither costs a run anything that has neither. */
#include "jit/engine.h"

struct hia_cancel {
  hia_allocator allocator;
  _Atomic bool is_requested; /* written under the lock */
  pthread_mutex_t lock;      /* of what follows */
  hia_watch *runs;           /* under way, in no order */
};

hia_cancel *hia_cancel_new(const hia_allocator *allocator) {
  if (!allocator) allocator = &hiaR_malloc;
  if (!hiaR_is_whole(allocator)) return NULL;
  hia_cancel *cancel = hiaR_alloc(allocator, sizeof *cancel);
  if (!cancel) return NULL;
  cancel->allocator = *allocator;
  pthread_mutex_init(&cancel->lock, NULL);
  return cancel;
}

void hia_cancel_free(hia_cancel *cancel) {
  if (!cancel) return;
  hia_allocator allocator = cancel->allocator;
  pthread_mutex_destroy(&cancel->lock);
  hiaR_free(&allocator, cancel, sizeof *cancel);
}

/* The first to come says what the run has ended by. */
static void tell(hia_watch *watch, hia_status status) {
  uint32_t none = 0;
  if (!__atomic_compare_exchange_n(&watch->ended, &none, (uint32_t)status, false, __ATOMIC_SEQ_CST,
                                   __ATOMIC_SEQ_CST))
    return;
  if (watch->context) hiaR_context_cancel(watch->context);
  pthread_mutex_lock(&watch->lock);
  for (hia_watch *w = watch->inner; w; w = w->inner_next) tell(w, status);
  pthread_mutex_unlock(&watch->lock);
}

void hia_cancel_request(hia_cancel *cancel) {
  if (!cancel) return;
  pthread_mutex_lock(&cancel->lock);
  atomic_store(&cancel->is_requested, true);
  for (hia_watch *w = cancel->runs; w; w = w->next) tell(w, HIA_CANCELLED);
  pthread_mutex_unlock(&cancel->lock);
}

bool hia_cancel_is_requested(const hia_cancel *cancel) {
  return cancel && atomic_load(&cancel->is_requested);
}

void hia_cancel_reset(hia_cancel *cancel) {
  if (!cancel) return;
  pthread_mutex_lock(&cancel->lock);
  atomic_store(&cancel->is_requested, false);
  pthread_mutex_unlock(&cancel->lock);
}

/* ---- a run that may be ended ---- */

static void past_deadline(hia_alarm *alarm) {
  tell((hia_watch *)(void *)((char *)alarm - offsetof(hia_watch, alarm)), HIA_DEADLINE);
}

hia_status hiaJ_engine_clock(hia_engine *engine, hia_clock **clock) {
  hia_status status = HIA_OK;
  pthread_mutex_lock(&engine->lock);
  if (!engine->clock) status = hiaR_clock_new(&engine->allocator, &engine->clock);
  *clock = engine->clock;
  pthread_mutex_unlock(&engine->lock);
  return status;
}

static hia_status set_alarm(hia_watch *watch, hia_engine *engine, uint64_t timeout_ns) {
  hia_clock *clock;
  hia_status status = hiaJ_engine_clock(engine, &clock);
  if (status != HIA_OK) return status;
  uint64_t now = hiaR_now(), most = UINT64_MAX - 1 - now;
  watch->alarm.at = now + (timeout_ns < most ? timeout_ns : most);
  watch->alarm.ring = past_deadline;
  status = hiaR_alarm_set(clock, &watch->alarm);
  if (status == HIA_OK) watch->clock = clock;
  return status;
}

/* ---- nested runs ---- */

static void join_outer(hia_watch *watch, hia_watch *outer) {
  watch->outer = outer;
  pthread_mutex_lock(&outer->lock);
  watch->inner_next = outer->inner;
  if (watch->inner_next) watch->inner_next->inner_prev = watch;
  outer->inner = watch;
  uint32_t ended = __atomic_load_n(&outer->ended, __ATOMIC_SEQ_CST);
  if (ended) tell(watch, (hia_status)ended);
  pthread_mutex_unlock(&outer->lock);
}

static void leave_outer(hia_watch *watch) {
  hia_watch *outer = watch->outer;
  if (!outer) return;
  pthread_mutex_lock(&outer->lock);
  if (watch->inner_next) watch->inner_next->inner_prev = watch->inner_prev;
  if (watch->inner_prev)
    watch->inner_prev->inner_next = watch->inner_next;
  else
    outer->inner = watch->inner_next;
  pthread_mutex_unlock(&outer->lock);
}

/* A run that a typed entry has begun has no watch: what is known of it is its deadline. */
static uint64_t timeout_of(const hia_run_options *options) {
  const hia_nest *nest = hiaR_nest();
  if (!nest || nest->run || !nest->deadline) return options->timeout_ns;
  uint64_t now = hiaR_now(), left = nest->deadline > now ? nest->deadline - now : 1;
  return options->timeout_ns && options->timeout_ns < left ? options->timeout_ns : left;
}

hia_status hiaJ_watch_begin(hia_watch *watch, hia_engine *engine, const hia_run_options *options,
                            hia_context *context, hia_limits *limits) {
  hia_watch *outer = hiaJ_outer();
  *watch = (hia_watch){.engine = engine, .context = context, .has_fuel = options->has_fuel};
  limits->run = watch;
  limits->fuel = &watch->fuel;
  if (outer && !outer->may_be_told) outer = NULL;
  uint64_t timeout_ns = timeout_of(options);
  if (!options->cancel && !timeout_ns && !outer) return HIA_OK;
  watch->may_be_told = true;
  pthread_mutex_init(&watch->lock, NULL);
  limits->cancelled = &watch->ended;
  if (outer) join_outer(watch, outer);
  if (timeout_ns) {
    hia_status status = set_alarm(watch, engine, timeout_ns);
    if (status != HIA_OK) {
      leave_outer(watch);
      pthread_mutex_destroy(&watch->lock);
      return status;
    }
    limits->deadline = watch->alarm.at;
  }
  hia_cancel *cancel = watch->cancel = options->cancel;
  if (!cancel) return HIA_OK;
  pthread_mutex_lock(&cancel->lock);
  watch->next = cancel->runs;
  if (watch->next) watch->next->prev = watch;
  cancel->runs = watch;
  if (atomic_load(&cancel->is_requested)) tell(watch, HIA_CANCELLED);
  pthread_mutex_unlock(&cancel->lock);
  return HIA_OK;
}

hia_status hiaJ_watch_end(hia_watch *watch, hia_status status) {
  if (!watch->may_be_told) return status;
  if (watch->clock) hiaR_alarm_clear(watch->clock, &watch->alarm);
  hia_cancel *cancel = watch->cancel;
  if (cancel) {
    pthread_mutex_lock(&cancel->lock);
    if (watch->next) watch->next->prev = watch->prev;
    if (watch->prev)
      watch->prev->next = watch->next;
    else
      cancel->runs = watch->next;
    pthread_mutex_unlock(&cancel->lock);
  }
  leave_outer(watch);
  pthread_mutex_destroy(&watch->lock); /* nobody knows it any more */
  uint32_t ended = __atomic_load_n(&watch->ended, __ATOMIC_RELAXED);
  return status == HIA_CANCELLED && ended ? (hia_status)ended : status;
}
