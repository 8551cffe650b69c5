/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* pool: threads are started when there is work for them, are used again, never exceed the limit,
 * and end with the pool; runs are correct with fewer threads, or none; several runs share them.
 *
 * Compiled code is written by hand here: test_lower.c tests generated code, and
 * tests/stress/native_threads.c runs of it. The interpreter's runs: test_pool_interp.c. */
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/sanitizer.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/pool.h"
#include <criterion/criterion.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

/* ---- functions on threads ---- */

static _Atomic unsigned n_begun, n_done, may_go;

static void wait_to_go(void *arg) {
  (void)arg;
  atomic_fetch_add(&n_begun, 1);
  while (!atomic_load(&may_go)) usleep(100);
  atomic_fetch_add(&n_done, 1);
}

static void just_count(void *arg) {
  (void)arg;
  atomic_fetch_add(&n_done, 1);
}

Test(pool, starts_lazily_and_reuses) {
  size_t before = count_tasks();
  hia_pool *pool = new_pool(1);
  cr_assert_eq(count_tasks(), before);
  tasks all = {.n = 0};
  for (unsigned i = 1; i <= 1000; i++) {
    SOON(hiaR_pool_start(pool, just_count, NULL)); /* until it sleeps again */
    SOON(atomic_load(&n_done) == i);
    list_tasks(&all);
    cr_assert_eq(count_tasks(), before + 1);
  }
  cr_assert_eq(all.n, before + 1, "not the same thread each time");
  hiaR_pool_free(pool);
  expect_tasks(before);
}

Test(pool, most_threads_are_respected) {
  size_t before = count_tasks();
  hia_pool *pool = new_pool(3);
  for (int i = 0; i < 3; i++) cr_assert(hiaR_pool_start(pool, wait_to_go, NULL));
  for (int i = 0; i < 3; i++) cr_assert_not(hiaR_pool_start(pool, wait_to_go, NULL));
  SOON(atomic_load(&n_begun) == 3);
  cr_assert_eq(count_tasks(), before + 3);
  atomic_store(&may_go, 1);
  SOON(atomic_load(&n_done) == 3);
  SOON(hiaR_pool_start(pool, wait_to_go, NULL));
  SOON(atomic_load(&n_done) == 4);
  cr_assert_eq(count_tasks(), before + 3);
  hiaR_pool_free(pool);
  expect_tasks(before);
  cr_assert_eq(atomic_load(&n_begun), 4);
}

Test(pool, none_at_all) {
  hia_pool *pool = new_pool(0);
  cr_assert_not(hiaR_pool_start(pool, just_count, NULL));
  hiaR_pool_free(pool);
  hiaR_pool_free(NULL);
}

Test(pool, is_freed_while_threads_come_back) {
  size_t before = count_tasks();
  for (unsigned i = 0; i < 200; i++) {
    hia_pool *pool = new_pool(3);
    for (unsigned k = 0; k <= i % 3; k++) cr_assert(hiaR_pool_start(pool, just_count, NULL));
    if (i % 2) sched_yield();
    hiaR_pool_free(pool);
  }
  cr_assert_eq(atomic_load(&n_done), 399); /* what was started is done */
  expect_tasks(before);
}

Test(pool, threads_that_cannot_be_had) {
  size_t before = count_tasks();
  hia_pool *pool = new_pool(4);
  hiaR_pool_set_create(pool, fail_later);
  atomic_store(&creations_left, 0);
  for (int i = 0; i < 10; i++) cr_assert_not(hiaR_pool_start(pool, wait_to_go, NULL));
  atomic_store(&creations_left, 2);
  for (int i = 0; i < 10; i++)
    cr_assert_eq(hiaR_pool_start(pool, wait_to_go, NULL), i < 2, "start %d", i);
  atomic_store(&creations_left, 1000); /* and later they can */
  for (int i = 0; i < 10; i++)
    cr_assert_eq(hiaR_pool_start(pool, wait_to_go, NULL), i < 2, "start %d", i);
  cr_assert_eq(count_tasks(), before + 4);
  atomic_store(&may_go, 1);
  hiaR_pool_free(pool);
  cr_assert_eq(atomic_load(&n_done), 4);
  expect_tasks(before);
}

static _Atomic unsigned n_creating, n_created;
static int create_slowly(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *),
                         void *arg) {
  atomic_fetch_add(&n_creating, 1);
  for (int i = 0; i < 20000 && !atomic_load(&may_go); i++) usleep(100);
  atomic_fetch_add(&n_created, 1);
  return pthread_create(thread, attributes, main, arg);
}

static void *start_counting(void *pool) {
  cr_assert(hiaR_pool_start(pool, just_count, NULL));
  return NULL;
}

Test(pool, nobody_waits_for_a_thread_to_start) {
  hia_pool *pool = new_pool(2);
  cr_assert(hiaR_pool_start(pool, wait_to_go, NULL));
  hiaR_pool_set_create(pool, create_slowly);
  pthread_t host;
  cr_assert_eq(pthread_create(&host, NULL, start_counting, pool), 0);
  SOON(atomic_load(&n_creating) == 1);
  cr_assert_not(hiaR_pool_start(pool, just_count, NULL)); /* the last thread has been given */
  cr_assert_eq(atomic_load(&n_created), 0);
  atomic_store(&may_go, 1);
  pthread_join(host, NULL);
  hiaR_pool_free(pool);
  cr_assert_eq(atomic_load(&n_done), 2);
}

/* ---- native runs ---- */

/* The worker of this thread; a thread of the pool learns it from its first job. */
static _Thread_local hia_context *worker;

/* The contents of compiled code's frames, for C functions: the stack walker goes from one to the
 * next. The address of a frame serves as its code's return address; one byte behind it, if the
 * frame is the first of an entry, because the runtime takes it that a return address stands for one
 * size of frame (barrier.c). */
typedef struct frame {
  uintptr_t pc; /* the word below what the walk takes for the stack pointer */
  struct frame *caller;
  bool is_open; /* is its fork? */
  bool is_entry;
  hia_fork_map map;
  _Alignas(8) char forks[sizeof(hia_fork_frame) + sizeof(hia_word)];
} frame;

static void fib_entry(hia_word *block);

static const char *sp_of(const frame *f) { return (const char *)&f->caller; }
static hia_fork_frame *forks_of(frame *f) { return (hia_fork_frame *)(void *)f->forks; }

/* The frame of an entry, at which the stack walker stops. */
static frame bottom(void) { return (frame){.pc = 0, .is_entry = true}; }
static uintptr_t pc_of(const frame *f) { return (uintptr_t)f + f->caller->is_entry; }

static void begin(frame *f, frame *caller) {
  static hia_fork_arg arg = {.repr = HIA_I64, .handing = HIA_FORK_LENDS};
  static hia_fork_site site = {HIA_NONE, 0, 1, 1, 0, 0, 1, 0};
  f->caller = caller;
  f->is_open = f->is_entry = false;
  f->pc = pc_of(f);
  f->map = (hia_fork_map){
      &site, &arg, (uintptr_t)fib_entry - 1, 1, (uint32_t)(sp_of(caller) - f->forks), false};
}
static bool find_frame(void *user, uintptr_t pc, hia_frame_row *row) {
  (void)user;
  const frame *f = (const frame *)(pc & ~(uintptr_t)1);
  if (!f) return false;
  uint32_t cfa = (uint32_t)(sp_of(f->caller) - sp_of(f));
  uint32_t number = f->is_open ? HIA_FORKS_OPEN : HIA_FORKS_NONE;
  *row = (hia_frame_row){.cfa = cfa, .loc = HIA_NONE, .number = number, .forks = f->map};
  return true;
}
static const hia_unwinder unwinder = {.find = find_frame};

static void fork_fib(frame *f, hia_word n) {
  forks_of(f)->words[0] = n;
  forks_of(f)->is_taken[0] = 0;
  f->is_open = true;
}
/* Ends the fork. True if a thief has taken it. */
static bool is_stolen(frame *f) {
  f->is_open = false;
  return *(const volatile uint8_t *)&forks_of(f)->is_taken[0];
}
static hia_word *join(hia_context *context, frame *f) {
  return hiaR_native_join(context, forks_of(f), 0, sp_of(f), pc_of(f));
}
static void compare(hia_context *context, frame *f) {
  if ((uintptr_t)f < atomic_load(&context->limit)) hiaR_native_poll(context, sp_of(f), pc_of(f));
}
/* Returns to the caller, through a barrier if there is one. */
static void end(hia_context *context, frame *f) {
  if (f->caller->pc == (uintptr_t)hiaR_stub_return)
    hiaR_native_return(context, (char *)&f->caller->pc);
}

/* Frames must be on the stack; AddressSanitizer would put them elsewhere. */
static HIA_UNINSTRUMENTED __attribute__((noinline)) hia_word fib(hia_context *context,
                                                                 frame *caller, hia_word n) {
  frame f;
  begin(&f, caller);
  compare(context, &f);
  hia_word sum = n;
  if (n >= 2) {
    fork_fib(&f, n - 2);
    sum = fib(context, &f, n - 1);
    sum += is_stolen(&f) ? *join(context, &f) : fib(context, &f, n - 2);
  }
  end(context, &f);
  return sum;
}

/* The owner of a run, and how many of its jobs the helper has begun. */
typedef struct helped {
  _Atomic(hia_context *) owner;
  _Atomic uint32_t n;
} helped;
static helped helped_runs[2];

static void note_help(const hia_context *owner) {
  for (size_t i = 0; i < HIA_LEN(helped_runs); i++)
    if (owner == atomic_load(&helped_runs[i].owner) && owner != worker)
      atomic_fetch_add(&helped_runs[i].n, 1);
}

/* The block of a job is a part of it; that of a run is not, but then the thread has its worker. */
static HIA_UNINSTRUMENTED void fib_entry(hia_word *block) {
  const hia_job *job = (hia_job *)((char *)block - offsetof(hia_job, block));
  if (!worker) worker = job->thief;
  if (atomic_load(&helped_runs[0].owner)) note_help(job->owner); /* of endless runs, only jobs */
  frame f = bottom();
  block[1] = fib(worker, &f, block[0]);
}

static void reserve_little(hia_limits *limits, hia_pool *pool, unsigned threads) {
  *limits = (hia_limits){.depth = (size_t)1 << 20, .threads = threads, .pool = pool};
}

/* Makes one run; returns its number of steals. */
static uint64_t run_fib(hia_context *context, hia_word n, const hia_limits *limits) {
  hia_word block[2] = {n, 0};
  hia_failure failure;
  hia_usage usage;
  worker = context;
  hia_status status =
      hiaR_native_run(context, fib_entry, block, &unwinder, limits, &failure, &usage);
  cr_assert_eq(status, HIA_OK);
  cr_assert_eq(block[1], plain_fib(n));
  return usage.steals;
}

static hia_context *new_context(void) {
  hia_context *context;
  cr_assert_eq(hiaR_context_new(&hiaR_malloc, &context), HIA_OK);
  return context;
}

Test(pool, helps_native_runs) {
  size_t before = count_tasks();
  hia_pool *pool = new_pool(3);
  hia_context *context = new_context();
  hia_limits limits;
  reserve_little(&limits, pool, 1);
  cr_assert_eq(run_fib(context, 20, &limits), 0);
  cr_assert_eq(count_tasks(), before, "a run alone starts no thread");
  reserve_little(&limits, pool, 4);
  SOON(run_fib(context, 25, &limits) > 0);
  tasks all = {.n = 0};
  for (int i = 0; i < 1000; i++) {
    run_fib(context, 12, &limits);
    if (i % 16 == 0) cr_assert_leq(list_tasks(&all), before + 3);
  }
  cr_assert_leq(all.n, before + 3, "not the same threads each time");
  hiaR_pool_free(pool);
  hiaR_context_free(context);
  expect_tasks(before);
}

/* A host's thread sleeps in a run without timer slack, and has its own slack again afterwards. */
Test(pool, a_thread_keeps_its_timer_slack) {
  _Atomic uint32_t word = 0;
  const int slacks[] = {1, 50000, 123456};
  for (size_t i = 0; i < HIA_LEN(slacks); i++) {
    cr_assert_eq(prctl(PR_SET_TIMERSLACK, (unsigned long)slacks[i], 0, 0, 0), 0);
    hiaR_futex_wait(&word, 0, 1000);
    hiaR_futex_wait(&word, 0, HIA_SHORT_NS + 1);
    hiaR_futex_wait(&word, 1, 0); /* which it is not */
    cr_assert_eq(prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), slacks[i]);
  }
}

Test(pool, native_runs_with_fewer_threads) {
  for (long created = 0; created <= 3; created++) {
    size_t before = count_tasks();
    hia_pool *pool = new_pool(3);
    hiaR_pool_set_create(pool, fail_later);
    atomic_store(&creations_left, created);
    hia_context *context = new_context();
    hia_limits limits;
    reserve_little(&limits, pool, 4);
    if (!created) cr_assert_eq(run_fib(context, 22, &limits), 0);
    if (created) SOON(run_fib(context, 25, &limits) > 0);
    for (int i = 0; i < 50; i++) run_fib(context, 16, &limits);
    cr_assert_leq(count_tasks(), before + (size_t)created);
    hiaR_pool_free(pool);
    hiaR_context_free(context);
    expect_tasks(before);
  }
}

Test(pool, fewer_workers_than_threads) {
  size_t before = count_tasks();
  hia_pool *pool = new_pool(7);
  hia_context *context = new_context();
  hia_limits limits;
  reserve_little(&limits, pool, 2);
  SOON(run_fib(context, 25, &limits) > 0);
  for (int i = 0; i < 100; i++) run_fib(context, 18, &limits);
  /* One at a time; the thread before may be about to sleep. */
  cr_assert_leq(count_tasks(), before + 7);
  hiaR_pool_free(pool);
  hiaR_context_free(context);
  expect_tasks(before);
}

/* Without memory a run continues alone. */
Test(pool, out_of_memory) {
  for (long left = 0; left < 40; left++) {
    test_heap heap, own;
    test_heap_init(&heap, left);
    test_heap_init(&own, left);
    hia_pool *pool;
    if (hiaR_pool_new(&heap.allocator, 2, NULL, &pool) != HIA_OK) {
      cr_assert_eq(heap.blocks, 0);
      continue;
    }
    hia_context *context;
    hia_limits limits;
    reserve_little(&limits, pool, 3);
    if (hiaR_context_new(&own.allocator, &context) == HIA_OK)
      for (int i = 0; i < 5; i++) run_fib(context, 20, &limits);
    hiaR_pool_free(pool);
    hiaR_context_free(context);
    cr_assert_eq(heap.blocks, 0);
    cr_assert_eq(own.blocks, 0);
  }
}

/* ---- brief runs ---- */

static bool is_hurried; /* the first safepoint of the last run of measured_entry was to poll */

/* fib(block[0]); or, if that is 0, ends when another thread lets it poll. */
static void measured_entry(hia_word *block) {
  hia_context *context = worker;
  uint64_t end = hiaR_now() + test_limit_ns(60);
  is_hurried = atomic_load(&context->limit) == UINTPTR_MAX;
  if (block[0]) {
    fib_entry(block);
    return;
  }
  while (atomic_load(&context->limit) != UINTPTR_MAX && hiaR_now() < end) HIA_PAUSE();
  block[1] = atomic_load(&context->limit) == UINTPTR_MAX;
}

static hia_word run_measured(hia_context *context, hia_word n, const hia_limits *limits,
                             uint64_t *steals) {
  hia_word block[2] = {n, 0};
  hia_failure failure;
  hia_usage usage;
  worker = context;
  cr_assert_eq(hiaR_native_run(context, measured_entry, block, &unwinder, limits, &failure, &usage),
               HIA_OK);
  *steals = usage.steals;
  return block[1];
}

/* Runs until one begins without a call for a helper. */
static void become_brief(hia_context *context, const hia_limits *limits) {
  uint64_t steals, end = hiaR_now() + test_limit_ns(60);
  do {
    cr_assert_lt(hiaR_now(), end, "all runs call a helper");
    cr_assert_eq(run_measured(context, 2, limits, &steals), 1);
  } while (is_hurried);
}

Test(pool, brief_runs_call_no_helper) {
  hia_pool *pool = new_pool(2);
  hia_context *context = new_context();
  hia_limits limits;
  uint64_t steals;
  reserve_little(&limits, pool, 3);
  run_measured(context, 2, &limits, &steals);
  cr_assert(is_hurried, "the first one calls");
  become_brief(context, &limits);
  run_fib(context, 2, &limits);
  cr_assert(!context->watch.brief || context->watch.brief == fib_entry, "another entry calls");
  become_brief(context, &limits);
  SOON(!atomic_load(&pool->is_watching));
  run_measured(context, 2, &limits, &steals);
  cr_assert(is_hurried, "without a watcher it calls");
  hiaR_pool_free(pool);
  hiaR_context_free(context);
}

/* A run that is not brief, though the last one was, gets its helper a little later. */
Test(pool, a_long_run_after_brief_ones_is_helped) {
  hia_pool *pool = new_pool(1);
  hia_context *context = new_context();
  hia_limits limits;
  uint64_t steals = 0, end = hiaR_now() + test_limit_ns(60);
  reserve_little(&limits, pool, 2);
  while (!steals) {
    cr_assert_lt(hiaR_now(), end);
    become_brief(context, &limits);
    cr_assert_eq(run_measured(context, 27, &limits, &steals), plain_fib(27));
    if (is_hurried) steals = 0;
  }
  hiaR_pool_free(pool);
  hiaR_context_free(context);
}

/* Nor is a run overlooked that begins while the watcher gives up. */
Test(pool, no_run_is_overlooked) {
  hia_pool *pool = new_pool(1);
  hia_context *context = new_context(), *other = new_context();
  hia_limits limits;
  uint64_t steals;
  reserve_little(&limits, pool, 2);
  for (unsigned i = 0; i < 60; i++) {
    become_brief(context, &limits);
    become_brief(other, &limits);
    usleep(i % 2 ? 20000 + i * 20 : i * 40);
    cr_assert_eq(run_measured(context, 0, &limits, &steals), 1, "the run was never made to poll");
  }
  hiaR_context_free(other);
  for (unsigned i = 0; i < 20; i++) {
    become_brief(context, &limits);
    hiaR_context_free(context);
    context = new_context();
  }
  hiaR_context_free(context);
  hiaR_pool_free(pool);
}

/* ---- several runs at once ---- */

typedef struct host {
  pthread_t thread;
  hia_pool *pool;
  unsigned workers;
  hia_word n;
  int runs;
  _Atomic uint64_t steals;
  _Atomic uint32_t is_done, is_cancelled;
} host;

static void *run_host(void *user) {
  host *h = user;
  hia_context *context = new_context();
  hia_limits limits;
  reserve_little(&limits, h->pool, h->workers);
  for (int i = 0; i < h->runs; i++)
    atomic_fetch_add(&h->steals, run_fib(context, h->n + (hia_word)i % 3, &limits));
  hiaR_context_free(context);
  atomic_store(&h->is_done, 1);
  return NULL;
}

Test(pool, several_runs_at_once) {
  size_t before = count_tasks();
  for (unsigned threads = 1; threads <= 5; threads += 2) {
    hia_pool *pool = new_pool(threads);
    host hosts[4];
    for (unsigned i = 0; i < 4; i++) {
      hosts[i] = (host){.pool = pool, .workers = 2 + i, .n = 14 + 2 * i, .runs = 60};
      cr_assert_eq(pthread_create(&hosts[i].thread, NULL, run_host, &hosts[i]), 0);
    }
    while (!atomic_load(&hosts[3].is_done)) {
      cr_assert_leq(count_tasks(), before + threads + 4);
      usleep(2000);
    }
    for (int i = 0; i < 4; i++) pthread_join(hosts[i].thread, NULL);
    hiaR_pool_free(pool);
    expect_tasks(before);
  }
}

static HIA_UNINSTRUMENTED void endless_entry(hia_word *block) {
  frame f = bottom();
  for (;;) fib(worker, &f, 14 + block[0]); /* until a cancel */
}

static void *run_endless(void *user) {
  host *h = user;
  hia_context *context = new_context();
  hia_limits limits;
  reserve_little(&limits, h->pool, h->workers);
  hia_word block[1] = {h->n};
  hia_failure failure;
  hia_usage usage;
  worker = context;
  atomic_store(&helped_runs[h->n].owner, context);
  /* With helpers it polls all the time, so the flag is enough to end it. */
  limits.cancelled = (const uint32_t *)&h->is_cancelled;
  cr_assert_eq(hiaR_native_run(context, endless_entry, block, &unwinder, &limits, &failure, &usage),
               HIA_CANCELLED);
  hiaR_context_free(context);
  return NULL;
}

static void expect_help(int run) {
  uint32_t n = atomic_load(&helped_runs[run].n);
  SOON(atomic_load(&helped_runs[run].n) > n + 2);
}

/* The one helper changes between the runs while there are two, and comes back when there is one. */
Test(pool, runs_take_turns) {
  hia_pool *pool = new_pool(1);
  host hosts[2];
  for (unsigned i = 0; i < 2; i++) hosts[i] = (host){.pool = pool, .workers = 2, .n = i};
  cr_assert_eq(pthread_create(&hosts[0].thread, NULL, run_endless, &hosts[0]), 0);
  expect_help(0);
  for (int round = 0; round < 3; round++) {
    cr_assert_eq(pthread_create(&hosts[1].thread, NULL, run_endless, &hosts[1]), 0);
    expect_help(1);
    expect_help(0);
    expect_help(1);
    atomic_store(&hosts[1].is_cancelled, 1);
    pthread_join(hosts[1].thread, NULL);
    atomic_store(&hosts[1].is_cancelled, 0);
    expect_help(0);
  }
  atomic_store(&hosts[0].is_cancelled, 1);
  pthread_join(hosts[0].thread, NULL);
  hiaR_pool_free(pool);
}
