/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Several workers on one run (docs/interpreter.md, "Threads").
 *
 * A frame belongs to the worker that made it; no other worker accesses its slots and counts. What
 * moves between workers is a child that is armed but not entered: its arguments go out, its
 * results come back, as a job in an inbox. So firing needs no atomics at all.
 *
 * Workers get a thread of the pool when there is first something for them to do: a program that is
 * a single chain pays nothing for the threads it was allowed. A worker that has had nothing to do
 * for some milliseconds returns its thread to the pool; the worker stays, and may get another
 * thread later.
 *
 * Work is handed over on request, as with the private deques of Acar, Chargueraud and Rainey
 * (2013). A worker keeps its *latent* frames, those from which it has descended with other
 * children still pending, oldest first. When a worker is idle, a busy one hands out the first
 * pending child of its oldest latent frame, which is the largest task it has, once that frame has
 * been latent for a while: tiny tasks would cost more to hand over than to run. The number of idle
 * workers is one word that is read where a child is entered.
 *
 * A worker whose chain has ended, because it waits for a job that it handed out, continues with
 * another frame of its own, or is idle and sleeps. The run is over when its root is done, or when
 * all workers are idle and no job is on its way, which happens if something has failed.
 *
 * Which chain comes first: on its own chain a worker is in sequential order. A job that comes back
 * can make a frame of another chain ready to continue. Such a frame is *woken*: it represents its
 * chain, being the earliest frame of it that can continue. Where a chain ends, the worker
 * continues with the earliest of the woken frames and of the next latent frame around the end. And
 * while there are woken frames, the current chain is compared with them at growing intervals, so
 * that an endless chain cannot keep what is earlier from failing. */
#include "runtime/base/left.h"
#include "runtime/interp/elements.h"
#include "runtime/interp/interp.h"
#include "runtime/interp/later/later.h"
#include "runtime/threads/processor.h"

#ifdef HIA_STRESS
enum { GRACE = 0, BIRTH = 0, PATIENCE = 1, LOOK_NS = 100, STAY_NS = 20000 };
#else
enum {
  GRACE = 32,        /* calls that a frame is latent before work is handed out from it */
  BIRTH = 1000,      /* the same if a thread must be started for it, the first time */
  PATIENCE = 64,     /* calls until the current chain is first compared with woken frames */
  LOOK_NS = 4000,    /* how long a worker looks into its inbox before it sleeps */
  STAY_NS = 5000000, /* how long it sleeps before it returns its thread to the pool */
};
#endif

/* ---- the end ---- */

void hiaR_complete_run(hia_worker *w, hia_frame *root) {
  hia_run *run = w->run;
  hia_status settled = w->later ? run->limits->firings->settle(w) : HIA_OK;
  if (settled) {
    hiaR_end_run(w, settled, root, HIA_NONE);
    return;
  }
  pthread_mutex_lock(&run->lock);
  run->is_complete = !run->resource;
  pthread_mutex_unlock(&run->lock);
  const hia_section *s = root->section;
  for (uint32_t i = 0; i < s->n_results; i++) run->results[i] = hiaR_slots(root)[s->results[i]];
#ifdef HIA_CENSUS /* else they go with the heap */
  hiaR_frame_end_refs(w, root);
#endif
  hiaR_stop_run(run);
}

/* ---- latent frames ---- */

static bool make_room(hia_worker *w) {
  uint32_t n = 0;
  for (uint32_t i = w->latent_base; i < w->latent_top; i++) n += w->latent[i] != NULL;
  hia_frame **to = w->latent;
  uint32_t cap = w->latent_cap;
  if (n >= cap / 2) {
    const hia_allocator *a = w->run->allocator;
    if (cap > UINT32_MAX / 4) return false;
    cap = cap ? cap * 2 : 64;
    to = hiaR_alloc(a, cap * sizeof *to);
    if (!to) return false;
  }
  n = 0;
  for (uint32_t i = w->latent_base; i < w->latent_top; i++)
    if (w->latent[i]) {
      w->latent[i]->latent = n;
      to[n++] = w->latent[i];
    }
  if (to != w->latent) {
    hiaR_free(w->run->allocator, w->latent, w->latent_cap * sizeof *to);
    w->latent = to;
    w->latent_cap = cap;
  }
  w->latent_base = 0;
  w->latent_top = n;
  return true;
}

void hiaR_latent_add(hia_worker *w, hia_frame *f) {
  if (w->latent_top == w->latent_cap && !make_room(w)) {
    hiaR_end_run(w, HIA_MEMORY, f, HIA_NONE);
    return;
  }
  f->latent = w->latent_top;
  w->latent[w->latent_top++] = f;
}

void hiaR_latent_remove(hia_worker *w, hia_frame *f) {
  if (f->is_woken) {
    f->is_woken = false;
    w->n_woken--;
  }
  if (f->latent == HIA_NONE) return;
  if (f == w->oldest) w->oldest = NULL;
  w->latent[f->latent] = NULL;
  f->latent = HIA_NONE;
  while (w->latent_top > w->latent_base && !w->latent[w->latent_top - 1]) w->latent_top--;
  while (w->latent_base < w->latent_top && !w->latent[w->latent_base]) w->latent_base++;
  if (w->latent_base == w->latent_top) w->latent_base = w->latent_top = 0;
}

static void wake_frame(hia_worker *w, hia_frame *f) {
  if (f->latent == HIA_NONE) hiaR_latent_add(w, f);
  if (f->latent == HIA_NONE || f->is_woken) return;
  f->is_woken = true;
  w->n_woken++;
}

/* ---- jobs ---- */

static void post(hia_run *run, hia_worker *to, hia_stolen *job) {
  atomic_fetch_add(&run->busy, 1);
  hia_stolen *next = atomic_load_explicit(&to->inbox, memory_order_relaxed);
  do job->next = next;
  while (!atomic_compare_exchange_weak(&to->inbox, &next, job));
  hiaR_wake_up(to);
}

void hiaR_stolen_done(hia_worker *w, hia_stolen *job) {
  job->is_done = true;
  hiaR_event(w->ring, HIA_EVENT_DONE, job->number);
  post(w->run, job->owner, job);
}

static void worker_main(void *user);

static void count_thread(hia_run *run, bool is_more) {
  pthread_mutex_lock(&run->lock);
  run->n_threads += is_more ? 1u : -1u;
  if (!run->n_threads) pthread_cond_signal(&run->all_left);
  pthread_mutex_unlock(&run->lock);
}

/* The caller has claimed the worker. False: no thread can be had, now or at all. */
static bool start_thread(hia_worker *w) {
  hia_run *run = w->run;
  count_thread(run, true);
  atomic_store(&w->is_born, true); /* before it can become idle and be claimed again */
  if (hiaR_pool_start(run->limits->pool, worker_main, w)) return true;
  atomic_store(&w->is_born, false);
  count_thread(run, false);
  return false;
}

static hia_idle_set *idle_set(hia_worker *w) { return &w->run->idle[w->number / 64]; }
static uint64_t idle_bit(const hia_worker *w) { return (uint64_t)1 << w->number % 64; }

/* Claims one of the idle workers: the caller may give it a job until hia_claim_end. Workers
 * without a thread come last, and only if `may_start`. */
static hia_worker *claim_idle(hia_run *run, bool may_start) {
  for (int unborn = 0; unborn <= may_start; unborn++)
    for (unsigned i = 0; i < run->n_workers; i++) {
      hia_worker *w = run->workers[i];
      if (!(atomic_load_explicit(idle_set(w), memory_order_relaxed) & idle_bit(w)) ||
          atomic_load(&w->is_born) == unborn ||
          !hia_idle_claim(idle_set(w), idle_bit(w), &w->claims))
        continue;
      atomic_fetch_sub(&run->n_idle, 1);
      return w;
    }
  return NULL;
}

static void set_idle(hia_worker *w) {
  if (hia_idle_enter(idle_set(w), idle_bit(w))) atomic_fetch_add(&w->run->n_idle, 1);
}

/* False: another worker has claimed this one meanwhile, and its job will come. */
static bool clear_idle(hia_worker *w) {
  if (!hia_idle_exit(idle_set(w), idle_bit(w))) return false;
  atomic_fetch_sub(&w->run->n_idle, 1);
  return true;
}

/* The first pending child of f; HIA_NONE if only its next round is pending. */
static uint32_t child_to_give(hia_frame *f) {
  uint32_t site =
      f->section->set_levels == 1 ? (uint32_t)__builtin_ctzll(f->pending) : hiaR_pending_lowest(f);
  return site == f->section->n_children ? HIA_NONE : site;
}

static void give_child(hia_worker *w, hia_frame *f, uint32_t site, hia_worker *to) {
  hia_run *run = w->run;
  if (!atomic_load(&to->is_born)) {
    if (!start_thread(to)) {
      /* The job is not passed on. Another run may return a thread later, so the worker requests one
       * again, but less and less often. */
      if (w->reluctance < UINT32_MAX / 4) w->reluctance = 2 * w->reluctance + BIRTH + 1;
      set_idle(to);
      return;
    }
    /* A thread that may never come gets no job: when it comes, it enters itself as idle. */
    if (!hiaR_pool_is_prompt(run->limits->pool)) return;
  }
  const hia_child *child = &f->section->children[site];
  const hia_section *s = child->callee;
  uint32_t n = s->n_params > s->n_results ? s->n_params : s->n_results;
  size_t size = sizeof(hia_stolen) + n * sizeof(hia_word);
  hia_stolen *job = hiaR_alloc(run->allocator, size);
  if (!job) { /* the child stays with this worker */
    set_idle(to);
    return;
  }
  *job = (hia_stolen){.frame = f, .owner = w, .size = size, .site = site, .older = w->handed_out};
  hiaR_pass_args(f, child, job->words, true);
  if (w->handed_out) w->handed_out->newer = job;
  w->handed_out = job;
  hiaR_pending_remove(f, site);
  if (!f->pending) hiaR_latent_remove(w, f);
  w->steals++;
  job->number = hiaR_event_promoted(w->ring);
  post(run, to, job);
}

void hiaR_serve_workers(hia_worker *w) {
  hia_run *run = w->run;
  hia_frame *f = w->latent[w->latent_base];
  if (f != w->oldest) {
    w->oldest = f;
    w->age = 0;
  }
  if (++w->age <= GRACE) return;
  uint32_t site = child_to_give(f);
  for (uint32_t i = w->latent_base + 1; site == HIA_NONE && i < w->latent_top; i++)
    if ((f = w->latent[i])) site = child_to_give(f);
  if (site == HIA_NONE) return;
  if (atomic_load_explicit(&run->epoch, memory_order_relaxed) && hiaR_is_too_late(run, f)) {
    hiaR_latent_remove(w, f);
    return;
  }
  hia_worker *to = claim_idle(run, w->age > BIRTH + w->reluctance);
  if (!to) return;
  w->age = 0;
  give_child(w, f, site, to);
  hia_claim_end(&to->claims);
}

/* Takes a job out of the inbox. Returns a frame that can continue now, or NULL. */
static hia_frame *take_job(hia_worker *w, hia_stolen *job) {
  hiaR_event(w->ring, job->is_done ? HIA_EVENT_BACK : HIA_EVENT_TAKEN, job->number);
  if (!job->is_done) {
    hia_status status = HIA_OK;
    hia_frame *f = hiaR_stolen_enter(w, job, &status);
    if (status) hiaR_end_run(w, status, job->frame, job->site);
    return f;
  }
  if (job->newer)
    job->newer->older = job->older;
  else
    w->handed_out = job->older;
  if (job->older) job->older->newer = job->newer;
  hia_frame *f = hiaR_stolen_back(w, job);
  hiaR_free(w->run->allocator, job, job->size);
  return f;
}

/* Takes all jobs in the inbox. `current` is a frame with pending children that the worker is at,
 * or NULL. */
static void take_jobs(hia_worker *w, const hia_frame *current) {
  hia_stolen *job = atomic_exchange(&w->inbox, NULL), *oldest_first = NULL;
  while (job) {
    hia_stolen *next = job->next;
    job->next = oldest_first;
    oldest_first = job;
    job = next;
  }
  while (oldest_first) {
    job = oldest_first;
    oldest_first = job->next;
    hia_frame *f = take_job(w, job);
    atomic_fetch_sub(&w->run->busy, 1);
    if (f && f != current) wake_frame(w, f);
  }
}

/* ---- what to do next ---- */

/* After a new first failure: removes the latent frames that come later than it. */
static void drop_late(hia_worker *w) {
  for (uint32_t i = w->latent_top; i-- > w->latent_base;) {
    if (i >= w->latent_top) continue; /* removing a frame may have lowered the top */
    hia_frame *f = w->latent[i];
    if (f && hiaR_is_too_late(w->run, f)) hiaR_latent_remove(w, f);
  }
}

/* Returns the earliest of `first` (or NULL) and the woken frames. */
static hia_frame *earliest(hia_worker *w, hia_frame *first) {
  for (uint32_t i = w->latent_base; w->n_woken && i < w->latent_top; i++) {
    hia_frame *f = w->latent[i];
    if (f && f != first && f->is_woken && (!first || hiaR_is_earlier(f, first))) first = f;
  }
  return first;
}

static hia_frame *take_woken(hia_worker *w, hia_frame *f) {
  if (f && f->is_woken) {
    f->is_woken = false;
    w->n_woken--;
  }
  return f;
}

/* While there are woken frames, the current chain is compared with them from time to time. A
 * comparison takes as many actions as the frames are deep, so they are at least that many calls
 * apart. */
static void watch(hia_worker *w, const hia_frame *f) {
  if (!w->n_woken) return;
  w->patience = w->due = (uint64_t)PATIENCE + f->level;
  atomic_store_explicit(&w->poll, 1, memory_order_relaxed);
}

/* For tests: the run itself asks, at a poll that was chosen, to begin again. */
static void count_polls(hia_worker *w) {
  hia_activity *activity = w->run->limits->activity;
  if (w->number || HIA_LIKELY(!activity || !activity->again_at)) return; /* others do not count */
  if (--activity->again_at)
    atomic_store_explicit(&w->poll, 1, memory_order_relaxed);
  else
    hiaR_scope_again(w->run->limits->scope);
}

/* True if the run was cancelled, or is to begin again. */
static bool must_end(const hia_limits *limits) {
  if (!limits->cancelled) return false;
  uint32_t status = __atomic_load_n(limits->cancelled, __ATOMIC_RELAXED);
  if (status != HIA_AGAIN) return status != HIA_OK;
  if (!atomic_load_explicit(&limits->effects->is_stuck, memory_order_relaxed)) return true;
  return !hiaR_scope_not_again(limits->scope);
}

hia_frame *hiaR_poll(hia_worker *w, hia_frame *f) {
  hia_run *run = w->run;
  atomic_exchange(&w->poll, 0);
  count_polls(w);
  hiaR_samples_look(w, f);
  if (must_end(run->limits)) hiaR_end_run(w, HIA_CANCELLED, f, HIA_NONE);
  if (hiaR_is_over(run)) return NULL;
  if (atomic_load(&w->inbox)) {
    take_jobs(w, f);
    if (hiaR_is_over(run)) return NULL;
    watch(w, f);
  }
  uint32_t epoch = atomic_load(&run->epoch);
  if (epoch) {
    /* From now on every call polls: frames around the failure have children on both sides of it. */
    atomic_store_explicit(&w->poll, 1, memory_order_relaxed);
    if (epoch != w->epoch) drop_late(w);
    if ((epoch != w->epoch || atomic_load_explicit(&f->limit, memory_order_relaxed) != HIA_NONE) &&
        hiaR_is_too_late(run, f)) {
      hiaR_latent_remove(w, f);
      f = NULL;
    }
    w->epoch = epoch;
    if (!f) return NULL;
  }
  if (w->n_woken) {
    atomic_store_explicit(&w->poll, 1, memory_order_relaxed);
    if (--w->due == 0) {
      w->due = w->patience *= 2;
      hia_frame *first = earliest(w, f);
      if (first != f) wake_frame(w, f);
      f = take_woken(w, first);
    }
  }
  return f;
}

static bool has_news(hia_worker *w) { return atomic_load(&w->inbox) || hiaR_is_over(w->run); }

static bool look_for_news(hia_worker *w) {
  uint64_t start = hiaR_now();
  do {
    for (unsigned i = 0; i < 16; i++) {
      if (has_news(w)) return true;
      HIA_PAUSE();
    }
  } while (hiaR_now() - start < LOOK_NS);
  return false;
}

/* Removes the worker from the idle set for good, unless another worker has claimed it; a slow
 * claim from an earlier time when it was idle counts, too. */
static bool may_leave(hia_worker *w) {
  if (!clear_idle(w)) return false;
  if (hia_is_unclaimed(&w->claims) && !has_news(w)) return true;
  set_idle(w);
  return false;
}

/* Sleeps until a job comes or the run ends (true), or for so long that the worker's thread should
 * go elsewhere (false). A worker that waits for jobs it has handed out stays. */
static bool sleep_on_it(hia_worker *w) {
  uint64_t ns = w->number && !w->handed_out ? STAY_NS : 0, start = ns ? hiaR_now() : 0;
  while (!has_news(w)) {
    if (ns && hiaR_now() - start >= ns && may_leave(w)) return false;
    hia_parker_arm(&w->parker);
    if (!has_news(w)) hia_parker_park(&w->parker, ns);
    hia_parker_disarm(&w->parker);
  }
  return true;
}

/* The worker is idle. False: it has no thread from now on. */
static bool rest(hia_worker *w) {
  hia_run *run = w->run;
  set_idle(w);
  if (atomic_fetch_sub(&run->busy, 1) == 1) {
    hiaR_stop_run(run);
    return true;
  }
  hiaR_event(w->ring, HIA_EVENT_IDLE_BEGIN, 0);
  w->is_leaving = !look_for_news(w) && !sleep_on_it(w);
  hiaR_event(w->ring, HIA_EVENT_IDLE_END, 0);
  if (w->is_leaving) return false;
  atomic_fetch_add(&run->busy, 1);
  clear_idle(w);
  return true;
}

hia_frame *hiaR_find_work(hia_worker *w, hia_frame *f) {
  hia_run *run = w->run;
  /* The next frame of this chain that can continue. */
  while (f && f->latent == HIA_NONE) f = f->child ? f->up.parent : NULL;
  for (;;) {
    if (hiaR_is_over(run)) return NULL;
    uint32_t epoch = atomic_load(&run->epoch);
    if (epoch != w->epoch) {
      w->epoch = epoch;
      drop_late(w);
      if (f && f->latent == HIA_NONE) f = NULL;
    }
    hia_frame *first = earliest(w, f);
    if (f && first != f) wake_frame(w, f);
    take_woken(w, first);
    if (first && epoch && hiaR_is_too_late(run, first)) {
      hiaR_latent_remove(w, first);
      if (first == f) f = NULL;
      continue;
    }
    if (first) {
      watch(w, first);
      return first;
    }
    if (!atomic_load(&w->inbox) && !rest(w)) return NULL;
    take_jobs(w, NULL);
  }
}

/* ---- a run ---- */

static void worker_main(void *user) {
  hia_worker *w = user;
  hia_run *run = w->run;
  w->ring = hiaR_ring_of(run->limits->timeline, w->number);
  hiaR_event(w->ring, HIA_EVENT_WORK_BEGIN, 0);
  atomic_fetch_add(&run->busy, 1);
  hia_frame *f = hiaR_find_work(w, NULL);
  hiaR_samples_begin(w);
  if (f) hiaR_work_shared(w, f, hiaR_no_actions);
  hiaR_samples_end(w);
  hiaR_event(w->ring, HIA_EVENT_WORK_END, 0);
  if (w->is_leaving) { /* other workers may start it again, on another thread */
    w->is_leaving = false;
    atomic_store(&w->is_born, false);
    set_idle(w);
  }
  count_thread(run, false);
}

/* Only a running worker starts threads for others, so none is started when all have left. */
static void await_threads(hia_run *run) {
  hia_pool *pool = run->limits->pool;
  for (unsigned i = 1; i < run->n_workers && !hiaR_pool_is_prompt(pool); i++)
    if (hiaR_pool_take_back(pool, run->workers[i])) count_thread(run, false);
  pthread_mutex_lock(&run->lock);
  while (run->n_threads) pthread_cond_wait(&run->all_left, &run->lock);
  pthread_mutex_unlock(&run->lock);
}

static hia_status run_all(hia_run *run, const hia_section *s, const hia_word *args) {
  hia_worker *w = run->workers[0];
  w->ring = hiaR_ring_of(run->limits->timeline, 0);
  if (run->limits->activity && run->limits->activity->again_at) atomic_init(&w->poll, 1);
  hia_status status = HIA_OK;
  hia_frame *root = hiaR_root_enter(w, s, args, &status);
  if (!root) return status;
  hiaR_samples_begin(w);
  if (run->n_workers == 1) {
    hiaR_work_alone(w, root, s->actions);
    hiaR_samples_end(w);
    return HIA_OK;
  }
  atomic_init(&w->is_born, true);
  for (unsigned i = 1; i < run->n_workers; i++) set_idle(run->workers[i]);
  hiaR_work_shared(w, root, s->actions);
  hiaR_samples_end(w);
  await_threads(run);
  return HIA_OK;
}

static void add_usage(hia_usage *usage, const hia_worker *w) {
  usage->calls += w->counts[0];
  usage->rounds += w->counts[1];
  usage->firings += w->firings;
  usage->frames += w->frames;
  usage->peak_frames += w->carved_frames;
  usage->peak_bytes += w->carved_bytes;
  usage->steals += w->steals;
}

hia_status hiaR_interp_run(const hia_loaded *image, uint32_t entry, const hia_word *args,
                           hia_word *results, const hia_limits *limits,
                           const hia_allocator *allocator, hia_failure *failure, hia_usage *usage) {
  *failure = (hia_failure){0};
  *usage = (hia_usage){0};
  if (entry >= image->n_exports) return failure->status = HIA_ARGUMENT;
  if (image->shapes && !limits->heap) return failure->status = HIA_UNSUPPORTED;
  hia_run run = {.image = image,
                 .limits = limits,
                 .allocator = allocator,
                 .results = results,
                 .depth = limits->depth ? limits->depth : HIA_DEFAULT_FRAMES,
                 .memory = limits->memory ? limits->memory : SIZE_MAX,
                 .asks = !limits->memory && !limits->heap,
                 .granted = HIA_FREE_GRANT};
  run.fuel = limits->fuel ? limits->fuel : &run.unlent;
  /* A single worker enters calls in sequential order, which is the order of effects. */
  unsigned n = limits->threads && limits->pool && !image->is_impure ? limits->threads : 1;
  bool is_later = limits->firings && image->shapes;
  if (is_later) n = 1; /* its worker has all that is noted */
  if (n > 1 && !HIA_HELPS_ON_ONE && hiaR_processors() == 1) n = 1; /* workers would take turns */
  if (n > HIA_MAX_WORKERS) n = HIA_MAX_WORKERS;
  for (; run.n_workers < n; run.n_workers++) {
    hia_worker *w = hiaR_worker_new(&run, run.n_workers);
    if (!w) break;
    w->is_shared = n > 1;
    if (image->shapes) hiaR_local_begin(&w->heap, limits->heap);
    run.workers[run.n_workers] = w;
  }
  hia_worker *first = run.n_workers ? run.workers[0] : NULL;
  bool has_memory =
      run.n_workers == n && (!is_later || (first->later = limits->firings->begin(first)));
  hia_status status = HIA_MEMORY;
  pthread_mutex_init(&run.lock, NULL);
  pthread_cond_init(&run.all_left, NULL);
  if (has_memory) {
    atomic_init(&run.busy, 1);
    status = run_all(&run, &image->sections[image->exports[entry].section], args);
  }
  if (!status && !run.is_complete) {
    if (run.resource) {
      status = run.resource;
      failure->backtrace = run.resource_trace;
      if (status == HIA_DEPTH) failure->code = atomic_load(&run.depth_code);
    } else if (run.failed) {
      status = run.failed_cause.status;
      failure->code = run.failed_cause.code;
      failure->range = run.failed_cause.range;
      failure->misfit = run.failed_cause.misfit;
      failure->nan = run.failed_cause.nan;
      failure->host = run.failed_cause.host;
      uint32_t loc = run.failed->section->locs[run.failed_node];
      hiaR_backtrace_push_site(&failure->backtrace, image->locs, loc, false);
      hiaR_backtrace_elements(run.failed->section, hiaR_slots(run.failed), run.failed_node,
                              &failure->backtrace);
      hiaR_backtrace_frames(image, run.failed, UINT64_MAX, &failure->backtrace);
    } else
      status =
          HIA_INTERNAL; /* tokens are missing: the check of the image should have rejected it */
  }
  for (unsigned i = 0; i < run.n_workers; i++) add_usage(usage, run.workers[i]);
  if (first && first->later) {
    usage->batch = *limits->firings->usage(first->later);
    limits->firings->end(first);
  }
  for (unsigned i = 0; i < run.n_workers; i++) hiaR_worker_free(run.workers[i]);
  hiaR_grant_end(atomic_load(&run.granted) - HIA_FREE_GRANT);
  pthread_cond_destroy(&run.all_left);
  pthread_mutex_destroy(&run.lock);
  return failure->status = status;
}
