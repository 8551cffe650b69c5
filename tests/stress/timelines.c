/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Timelines of runs on several threads, also several runs at once, that succeed, fail, run out of
 * depth or are cancelled: in each case the written timeline can be read back, and agrees with the
 * runs' statistics.
 *
 *   timelines [ROUNDS]      (20)
 *   timelines --check FILE  checks that FILE is a timeline, and prints its contents
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "tests/unit/helpers/random.h"
#include "tests/unit/helpers/trace.h"
#include <hiaton/hiaton.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static const char program[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn skew(n: i32) -> i32 = if n <= 1 then n else {\n"
    "  let l = n / 10;\n"
    "  let a = skew(l);\n"
    "  let b = skew(n - 1 - l);\n"
    "  max(a, b) * 3 - n }\n"
    "fn bad(n: i32) -> i32 =\n"
    "  if n <= 1 then (if n == 1 then fail(7) else 1) else bad(n - 1) + bad(n - 2)\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(fib(3) + deep(n - 1), n)\n";

static int n_failed;

static void check(bool ok, const char *what, const trace_picture *p) {
  if (ok) return;
  if (n_failed++ < 20) fprintf(stderr, "FAILED: %s: %s\n", what, p->wrong);
}

/* The runs of one thread. */
typedef struct host {
  hia_engine *engine;
  hia_module *module;
  hia_timeline *timeline;
  hia_cancel *cancel;
  random_source random;
  unsigned n_runs;
  uint64_t steals;
  atomic_bool is_over;
} host;

static void run_some(host *h) {
  static const struct {
    const char *name;
    uint32_t least, more;
  } jobs[] = {{"fib", 12, 8}, {"skew", 50, 3000}, {"bad", 8, 6}, {"deep", 100, 2000}};
  for (unsigned i = 0; i < h->n_runs; i++) {
    uint32_t k = random_below(&h->random, HIA_LEN(jobs));
    hia_run_stats stats = HIA_RUN_STATS_INIT;
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.stats = &stats;
    options.timeline = h->timeline;
    options.cancel = h->cancel;
    hia_function *function;
    hia_value *result,
        *arg = hia_value_i32(h->engine,
                             (int32_t)(jobs[k].least + random_below(&h->random, jobs[k].more)));
    if (hia_module_function(h->module, jobs[k].name, &function, NULL) != HIA_OK) abort();
    /* A run that is cancelled while its function is compiled does not begin. */
    if (hia_function_prepare(function, NULL) != HIA_OK) abort();
    hia_run(function, &arg, 1, &options, &result, NULL);
    h->steals += stats.steals;
    hia_value_free(result);
    hia_value_free(arg);
  }
  atomic_store(&h->is_over, true);
}

static void *host_main(void *user) {
  run_some(user);
  return NULL;
}

typedef struct way {
  hia_engine_kind kind;
  unsigned threads, hosts;
  size_t events;
  bool is_cancelled;
} way;

static void round_of(way w, uint64_t seed, uint64_t *all_steals) {
  enum { MOST = 3 };
  host hosts[MOST];
  pthread_t threads[MOST];
  hia_engine_options engine_options = HIA_ENGINE_OPTIONS_INIT;
  engine_options.kind = w.kind;
  engine_options.threads = w.threads;
  engine_options.max_depth = (size_t)64 << 10;
  hia_engine *engine;
  hia_module *module;
  hia_timeline *timeline = hia_timeline_new(NULL, w.events);
  if (hia_engine_new(&engine_options, &engine, NULL) != HIA_OK) abort();
  if (w.kind == HIA_ENGINE_JIT && hia_engine_native(engine, NULL) != HIA_OK) {
    hia_timeline_free(timeline);
    hia_engine_free(engine);
    return;
  }
  if (hia_module_load_text(engine, "t.hia", program, strlen(program), &module, NULL) != HIA_OK)
    abort();
  hia_cancel *cancel = w.is_cancelled ? hia_cancel_new(NULL) : NULL;
  for (unsigned i = 0; i < w.hosts; i++) {
    hosts[i] = (host){.engine = engine,
                      .module = module,
                      .timeline = timeline,
                      .cancel = cancel,
                      .random = {seed * MOST + i},
                      .n_runs = 4};
    if (pthread_create(&threads[i], NULL, host_main, &hosts[i]) != 0) abort();
  }
  for (unsigned i = 0; i < w.hosts; i++) {
    while (cancel && !atomic_load(&hosts[i].is_over)) {
      hia_cancel_request(cancel);
      hia_cancel_reset(cancel);
    }
    pthread_join(threads[i], NULL);
  }
  uint64_t steals = 0;
  for (unsigned i = 0; i < w.hosts; i++) steals += hosts[i].steals;
  test_text text = {0};
  trace_picture p;
  hia_status status = hia_timeline_write(timeline, test_text_take, &text, NULL);
  check(status == HIA_OK, "it is written", &(trace_picture){0});
  check(trace_read(text.data ? text.data : "", text.len, &p), "it reads back", &p);
  snprintf(p.wrong, sizeof p.wrong, "%s on %u threads: steals %llu, %llu by the statistics",
           w.kind == HIA_ENGINE_JIT ? "jit" : "interp", w.threads, (unsigned long long)p.steals,
           (unsigned long long)steals);
  /* The interpreter counts the jobs that it passes on; if a run ends early, no worker may take
   * them. */
  if (w.kind == HIA_ENGINE_JIT)
    check(p.steals == steals, "steals", &p);
  else
    check(p.promotions == steals && p.steals <= steals, "steals", &p);
  if (p.dropped == 0) check(p.n_runs == 4 * w.hosts, "runs", &p);
  *all_steals += p.steals;
  test_text_free(&text);
  hia_cancel_free(cancel);
  hia_timeline_free(timeline);
  hia_module_free(module);
  hia_engine_free(engine);
}

static int check_file(const char *path) {
  trace_picture p;
  if (!trace_read_file(path, &p)) {
    printf("%s: %s\n", path, p.wrong);
    return 1;
  }
  printf(
      "threads %u, runs %llu, promotions %llu, steals %llu, dropped %llu, results %s, phases %s\n",
      p.n_threads, (unsigned long long)p.n_runs, (unsigned long long)p.promotions,
      (unsigned long long)p.steals, (unsigned long long)p.dropped, p.results, p.phases);
  printf("us: run %.0f, busy %.0f, jobs %.0f, wait %.0f, idle %.0f\n", p.run_us, p.busy_us,
         p.job_us, p.wait_us, p.idle_us);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--check") == 0) return check_file(argv[2]);
  static const way ways[] = {
      {HIA_ENGINE_INTERP, 3, 1, 0, false}, {HIA_ENGINE_INTERP, 2, 3, 0, false},
      {HIA_ENGINE_INTERP, 3, 2, 64, true}, {HIA_ENGINE_JIT, 3, 1, 0, false},
      {HIA_ENGINE_JIT, 4, 3, 0, false},    {HIA_ENGINE_JIT, 3, 2, 64, false},
      {HIA_ENGINE_JIT, 3, 2, 0, true},     {HIA_ENGINE_JIT, 1, 1, 0, false},
  };
  unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20;
  for (size_t i = 0; i < HIA_LEN(ways); i++) {
    uint64_t steals = 0;
    for (unsigned round = 0; round < rounds; round++) round_of(ways[i], i * 1000 + round, &steals);
    printf("%s, %u threads, %u hosts%s: %llu steals\n",
           ways[i].kind == HIA_ENGINE_JIT ? "jit" : "interp", ways[i].threads, ways[i].hosts,
           ways[i].is_cancelled ? ", cancelled" : "", (unsigned long long)steals);
  }
  return n_failed != 0;
}
