/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The threads of a host: runs use them, work without them, and do not wait for any; all of them may
 * themselves be in runs that request more threads.
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "tests/stress/program.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static const char text[] = "fn fib(n: i32) -> i32 =\n"
                           "  if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
                           "fn bad(n: i32) -> i32 =\n"
                           "  if n <= 1 then 1 / (n - 1) else bad(n - 1) + bad(n - 2)\n";

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition) && n_failed++ < 20) printf("FAILED: line %d: %s\n", __LINE__, #condition);    \
  } while (0)

/* ---- the pool of a host: some threads and a queue ---- */

#define MAX_WORK    4096
#define MAX_THREADS 8

typedef struct host {
  pthread_mutex_t lock;
  pthread_cond_t more;
  struct {
    void (*work)(void *arg);
    void *arg;
  } queue[MAX_WORK];
  unsigned first, end, n_threads;
  bool is_ending, is_held; /* held: work stays in the queue */
  bool refuses;
  _Atomic unsigned n_begun;
  pthread_t threads[MAX_THREADS];
} host;

static bool enqueue(void *user, void (*work)(void *arg), void *arg) {
  host *h = user;
  pthread_mutex_lock(&h->lock);
  bool ok = !h->refuses && h->end < MAX_WORK;
  if (ok) {
    h->queue[h->end].work = work;
    h->queue[h->end++].arg = arg;
    pthread_cond_signal(&h->more);
  }
  pthread_mutex_unlock(&h->lock);
  return ok;
}

static void *serve(void *user) {
  host *h = user;
  pthread_mutex_lock(&h->lock);
  for (;;) {
    if (h->first < h->end && !h->is_held) {
      unsigned i = h->first++;
      pthread_mutex_unlock(&h->lock);
      atomic_fetch_add(&h->n_begun, 1);
      h->queue[i].work(h->queue[i].arg);
      pthread_mutex_lock(&h->lock);
    } else if (h->is_ending) {
      break;
    } else {
      pthread_cond_wait(&h->more, &h->lock);
    }
  }
  pthread_mutex_unlock(&h->lock);
  return NULL;
}

static host *host_new(unsigned n_threads) {
  host *h = calloc(1, sizeof *h);
  if (!h) exit(1);
  pthread_mutex_init(&h->lock, NULL);
  pthread_cond_init(&h->more, NULL);
  for (; h->n_threads < n_threads; h->n_threads++)
    if (pthread_create(&h->threads[h->n_threads], NULL, serve, h) != 0) exit(1);
  return h;
}

static void set(host *h, bool *what, bool value) {
  pthread_mutex_lock(&h->lock);
  *what = value;
  pthread_cond_broadcast(&h->more);
  pthread_mutex_unlock(&h->lock);
}

static void host_free(host *h) {
  set(h, &h->is_ending, true);
  for (unsigned i = 0; i < h->n_threads; i++) pthread_join(h->threads[i], NULL);
  pthread_cond_destroy(&h->more);
  pthread_mutex_destroy(&h->lock);
  free(h);
}

/* ---- programs on it ---- */

static const int32_t fib_of[] = {[17] = 2584, [27] = 317811};

typedef struct made {
  loaded program;
  hia_function *fib, *bad;
  int32_t n; /* small enough for sanitizers, large enough that helpers come in time */
} made;

static made make(host *h, hia_engine_kind kind, unsigned threads) {
  hia_thread_pool pool = {enqueue, h};
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  options.flags |= HIA_FLAG_NO_MERGING; /* with merging fib would take no time */
  options.pool = &pool;
  made m = {load_text(&options, "p", text, strlen(text)), NULL, NULL, 17};
  if (kind == HIA_ENGINE_JIT) m.n = 27;
  m.fib = find(m.program, "fib");
  m.bad = find(m.program, "bad");
  return m;
}

static void call(const made *m, hia_run_stats *stats) {
  hia_value *arg = hia_value_i32(m->program.engine, m->n), *result = NULL;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.stats = stats;
  int32_t x = -1;
  EXPECT(hia_run(m->fib, &arg, 1, &options, &result, NULL) == HIA_OK);
  EXPECT(hia_value_get_i32(result, &x) == HIA_OK);
  EXPECT(x == fib_of[m->n]);
  hia_value_free(result);
  hia_value_free(arg);
}

static unsigned count_tasks(void) {
  DIR *dir = opendir("/proc/self/task");
  if (!dir) return 0;
  unsigned n = 0;
  for (struct dirent *entry; (entry = readdir(dir));) n += entry->d_name[0] != '.';
  closedir(dir);
  return n;
}

static void runs_on_the_hosts_threads(hia_engine_kind kind) {
  host *h = host_new(3);
  unsigned before = count_tasks();
  made m = make(h, kind, 4);
  uint64_t steals = 0;
  /* On a busy machine it may take long until a thread of the host comes in time. */
  time_t end = time(NULL) + 30;
  for (int i = 0; i < 20 || (!steals && time(NULL) < end); i++) {
    hia_run_stats stats = HIA_RUN_STATS_INIT;
    call(&m, &stats);
    steals += stats.steals;
  }
  EXPECT(steals > 0);
  EXPECT(atomic_load(&h->n_begun) > 0);
  EXPECT(count_tasks() <= before);
  unload(m.program);
  host_free(h);
}

static void failures_are_the_same(hia_engine_kind kind) {
  host *h = host_new(2);
  made m = make(h, kind, 3);
  for (int i = 0; i < 50; i++) {
    hia_value *arg = hia_value_i32(m.program.engine, 12), *result = NULL;
    hia_error *error = NULL;
    EXPECT(hia_call(m.bad, &arg, 1, &result, &error) == HIA_DIV_ZERO);
    EXPECT(hia_error_chain_length(error) == 12);
    hia_error_free(error);
    hia_value_free(arg);
  }
  unload(m.program);
  host_free(h);
}

static void a_host_without_threads(hia_engine_kind kind) {
  host *h = host_new(0);
  set(h, &h->refuses, true);
  made m = make(h, kind, 4);
  for (int i = 0; i < 5; i++) call(&m, NULL);
  unload(m.program);
  host_free(h);
}

/* Work that was accepted is begun only after its run, and after other work. */
static void threads_that_come_late(hia_engine_kind kind) {
  host *h = host_new(2);
  set(h, &h->is_held, true);
  made m = make(h, kind, 4);
  for (int i = 0; i < 5; i++) call(&m, NULL);
  EXPECT(atomic_load(&h->n_begun) == 0);
  set(h, &h->is_held, false);
  for (int i = 0; i < 5; i++) call(&m, NULL);
  unload(m.program);
  EXPECT(h->first == h->end); /* hia_engine_free has waited for all of its work */
  host_free(h);
}

static void call_in_pool(void *arg) {
  made *m = arg;
  for (int i = 0; i < 10; i++) call(m, NULL);
}

static void all_its_threads_are_in_runs(hia_engine_kind kind) {
  host *h = host_new(3);
  made m = make(h, kind, 4);
  for (int i = 0; i < 12; i++) EXPECT(enqueue(h, call_in_pool, &m));
  while (atomic_load(&h->n_begun) < 12) usleep(1000);
  host_free(h); /* runs the work in the queue first */
  unload(m.program);
}

/* A context that is independent of engines uses the threads of a host in the same way. */
static void contexts_use_them(void) {
  host *h = host_new(3);
  made m = make(h, HIA_ENGINE_JIT, 4);
  hia_thread_pool pool = {enqueue, h};
  hia_context_options options = HIA_CONTEXT_OPTIONS_INIT;
  options.threads = 4;
  options.pool = &pool;
  hia_context *context = NULL;
  hia_native_fn entry = NULL;
  EXPECT(hia_context_new(&options, &context) == HIA_OK);
  EXPECT(hia_function_entry(m.fib, &entry, NULL) == HIA_OK);
  hia_status (*fib)(hia_context *, int32_t, int32_t *) =
      (hia_status(*)(hia_context *, int32_t, int32_t *))entry;
  for (int i = 0; fib && i < 2000 && (i < 20 || !atomic_load(&h->n_begun)); i++) {
    int32_t x = -1;
    EXPECT(fib(context, m.n, &x) == HIA_OK);
    EXPECT(x == fib_of[m.n]);
  }
  EXPECT(atomic_load(&h->n_begun) > 0);
  hia_context_free(context);
  EXPECT(h->first == h->end);
  unload(m.program);
  host_free(h);
}

static void bad_options(void) {
  hia_thread_pool pool = {NULL, NULL};
  hia_context_options context_options = HIA_CONTEXT_OPTIONS_INIT;
  context_options.threads = 2;
  context_options.pool = &pool;
  hia_context *context = NULL;
  EXPECT(hia_context_new(&context_options, &context) == HIA_ARGUMENT && !context);
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.pool = &pool;
  hia_engine *engine = NULL;
  hia_error *error = NULL;
  EXPECT(hia_engine_new(&options, &engine, &error) == HIA_ARGUMENT);
  EXPECT(strstr(hia_error_text(error), "start") != NULL);
  hia_error_free(error);
}

int main(void) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_JIT, HIA_ENGINE_INTERP};
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    runs_on_the_hosts_threads(kinds[k]);
    failures_are_the_same(kinds[k]);
    a_host_without_threads(kinds[k]);
    threads_that_come_late(kinds[k]);
    all_its_threads_are_in_runs(kinds[k]);
  }
  contexts_use_them();
  bad_options();
  printf("%s\n", n_failed ? "failed" : "passed");
  return n_failed != 0;
}
