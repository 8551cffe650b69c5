/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Timelines: the output is well-formed and correct for any events. tests/stress/timelines.c does
 * the same with threads. */
#include "runtime/run/events.h"
#include "tests/unit/helpers/memory.h"
#include "tests/unit/helpers/random.h"
#include "tests/unit/helpers/trace.h"
#include <hiaton/hiaton.h>

#include <criterion/criterion.h>
#include <stdlib.h>

static void read_back(hia_timeline *timeline, trace_picture *p) {
  test_text text = {0};
  hia_error *error = NULL;
  cr_assert_eq(hia_timeline_write(timeline, test_text_take, &text, &error), HIA_OK, "%s",
               error ? hia_error_text(error) : "");
  cr_assert(trace_read(text.data, text.len, p), "%s in\n%.*s", p->wrong, (int)text.len, text.data);
  test_text_free(&text);
}

/* ---- possible events ---- */

/* Several rings of one thread: different workers'. The caller's comes first. */
typedef struct ringed {
  hia_timeline *timeline;
  hia_ring *caller, *one, *two;
} ringed;

static ringed begin(size_t events) {
  ringed r = {.timeline = hia_timeline_new(NULL, events)};
  r.caller = hiaR_ring_of(r.timeline, 0);
  r.one = hiaR_ring_of(r.timeline, 1);
  r.two = hiaR_ring_of(r.timeline, 2);
  cr_assert(r.caller && r.one && r.two && r.caller != r.one && r.one != r.two);
  return r;
}

Test(timeline, empty) {
  hia_timeline *timeline = hia_timeline_new(NULL, 0);
  trace_picture p;
  read_back(timeline, &p);
  cr_assert_eq(p.events, 0);
  cr_assert_eq(hia_timeline_dropped(timeline), 0);
  hia_timeline_free(timeline);
  hia_timeline_free(NULL);
  cr_assert_eq(hia_timeline_dropped(NULL), 0);
}

Test(timeline, rings_without_events) {
  ringed r = begin(8);
  trace_picture p;
  read_back(r.timeline, &p);
  cr_assert_eq(p.n_threads, 0);
  hiaR_event(r.one, HIA_EVENT_IDLE_BEGIN, 0);
  hiaR_event(r.one, HIA_EVENT_IDLE_END, 0);
  read_back(r.timeline, &p);
  cr_assert_eq(p.n_idles, 1);
  cr_assert_eq(p.n_threads, 1);
  hia_timeline_free(r.timeline);
}

Test(timeline, a_thread_has_one_ring) {
  ringed r = begin(8);
  cr_assert_eq(hiaR_ring_of(r.timeline, 1), r.one);
  cr_assert_eq(hiaR_ring_of(r.timeline, 2), r.two);
  /* A thread that begins a run inside another one writes to the ring that it already has. */
  cr_assert_eq(hiaR_ring_of(r.timeline, 0), r.two);
  cr_assert_null(hiaR_ring_of(NULL, 0));
  hia_timeline_free(r.timeline);
}

/* Native: a job goes to another worker, its owner waits for it; one is taken back. */
Test(timeline, jobs) {
  ringed r = begin(64);
  hiaR_event(r.caller, HIA_EVENT_RUN_BEGIN, hiaR_timeline_name(r.timeline, "fib(i64)"));
  hiaR_event(r.one, HIA_EVENT_IDLE_BEGIN, 0);
  uint64_t a = hiaR_event_promoted(r.caller), b = hiaR_event_promoted(r.caller);
  cr_assert(a != 0 && a != b);
  hiaR_event(r.one, HIA_EVENT_IDLE_END, 0);
  hiaR_event(r.one, HIA_EVENT_JOB_BEGIN, a);
  hiaR_event(r.caller, HIA_EVENT_TAKEN_BACK, b);
  hiaR_event(r.caller, HIA_EVENT_WAIT_BEGIN, a);
  uint64_t c = hiaR_event_promoted(r.one);
  hiaR_event(r.caller, HIA_EVENT_JOB_BEGIN, c);
  hiaR_event(r.caller, HIA_EVENT_JOB_END, c);
  hiaR_event(r.one, HIA_EVENT_JOB_END, a);
  hiaR_event(r.caller, HIA_EVENT_WAIT_END, a);
  hiaR_event(r.caller, HIA_EVENT_RUN_END, HIA_OK);
  trace_picture p;
  for (int i = 0; i < 2; i++) { /* writing changes nothing */
    read_back(r.timeline, &p);
    cr_assert_eq(p.n_runs, 1);
    cr_assert_eq(p.n_promoted, 3);
    cr_assert_eq(p.n_jobs, 2);
    cr_assert_eq(p.n_taken_back, 1);
    cr_assert_eq(p.n_steal_arrows, 2);
    cr_assert_eq(p.n_result_arrows, 1);
    cr_assert_eq(p.steals, 2);
    cr_assert_str_eq(p.results, "ok ");
  }
  hia_timeline_free(r.timeline);
}

/* A job has the name of the function that it calls, if that was recorded before the job began. */
Test(timeline, callees) {
  ringed r = begin(64);
  trace_picture p;
  hiaR_timeline_callee(r.timeline, 0x7f0000001000, "fib(i64)");
  hiaR_event(r.caller, HIA_EVENT_RUN_BEGIN, 0);
  for (int i = 0; i < 4; i++) {
    uint64_t a = hiaR_event_promoted(r.caller);
    hiaR_event(r.one, HIA_EVENT_JOB_BEGIN, a);
    if (i != 3) hiaR_event(r.one, HIA_EVENT_CALLEE, i == 2 ? 0x7f0000002000 : 0x7f0000001000);
    hiaR_event(r.one, HIA_EVENT_JOB_END, a);
    read_back(r.timeline, &p);
    cr_assert_str_eq(p.callee, i == 0 ? "fib(i64)" : i == 1 ? "odd \\\" name" : "job");
    if (i == 0) hiaR_timeline_callee(r.timeline, 0x7f0000001000, "odd \" name");
  }
  hia_timeline_free(r.timeline);
}

/* A failure leaves slices without their ends. */
Test(timeline, slices_that_were_left) {
  ringed r = begin(64);
  hiaR_event(r.caller, HIA_EVENT_RUN_BEGIN, 0);
  uint64_t a = hiaR_event_promoted(r.caller);
  hiaR_event(r.one, HIA_EVENT_WORK_BEGIN, 0);
  hiaR_event(r.one, HIA_EVENT_JOB_BEGIN, a);
  hiaR_event(r.one, HIA_EVENT_WAIT_BEGIN, 77);
  hiaR_event(r.one, HIA_EVENT_IDLE_BEGIN, 0);
  hiaR_event(r.one, HIA_EVENT_JOB_END, a);
  hiaR_event(r.one, HIA_EVENT_IDLE_BEGIN, 0);
  hiaR_event(r.caller, HIA_EVENT_WAIT_BEGIN, a);
  hiaR_event(r.caller, HIA_EVENT_RUN_END, HIA_FAILED);
  trace_picture p;
  read_back(r.timeline, &p);
  cr_assert_str_eq(p.results, "failed ");
  cr_assert_eq(p.n_waits, 2);
  cr_assert_eq(p.n_steal_arrows, 1);
  cr_assert_eq(p.n_result_arrows, 0);
  hia_timeline_free(r.timeline);
}

/* A full ring keeps the newest events; its totals include all events. */
Test(timeline, full_rings) {
  ringed r = begin(7); /* 8 */
  hiaR_event(r.caller, HIA_EVENT_RUN_BEGIN, 0);
  hiaR_event(r.one, HIA_EVENT_WORK_BEGIN, 0);
  for (int i = 0; i < 100; i++) {
    uint64_t job = hiaR_event_promoted(r.caller);
    hiaR_event(r.one, HIA_EVENT_JOB_BEGIN, job);
    hiaR_event(r.one, HIA_EVENT_JOB_END, job);
    hiaR_event(r.caller, HIA_EVENT_WAIT_BEGIN, job);
    hiaR_event(r.caller, HIA_EVENT_WAIT_END, job);
  }
  hiaR_event(r.one, HIA_EVENT_WORK_END, 0);
  hiaR_event(r.caller, HIA_EVENT_RUN_END, HIA_OK);
  cr_assert_eq(hia_timeline_dropped(r.timeline), 302 - 8 + 202 - 8);
  trace_picture p;
  read_back(r.timeline, &p);
  cr_assert_eq(p.events, 504);
  cr_assert_eq(p.dropped, 488);
  cr_assert_eq(p.promotions, 100);
  cr_assert_eq(p.steals, 100);
  cr_assert_eq(p.n_runs, 1); /* from the oldest event kept */
  cr_assert(p.n_steal_arrows >= 1 && p.n_steal_arrows <= 4);
  hia_timeline_free(r.timeline);
}

/* Slices at random, nested as they may be, in rings that are large enough and in some that are not;
 * some are left without an end. */
typedef struct random_track {
  hia_ring *ring;
  uint64_t open[32];
  hia_event_kind kind[32];
  int n;
} random_track;

static void random_event(random_source *random, random_track *t, uint64_t *jobs, uint32_t *n_jobs) {
  uint64_t job = *n_jobs ? jobs[random_below(random, *n_jobs)] : 0;
  hia_event_kind top = t->n ? t->kind[t->n - 1] : HIA_EVENT_WORK_BEGIN, kind;
  switch (random_below(random, 8)) {
  case 0:
    if (*n_jobs == 64) *n_jobs = 0;
    jobs[(*n_jobs)++] = hiaR_event_promoted(t->ring);
    return;
  case 1:
  case 2: kind = HIA_EVENT_JOB_BEGIN; break;
  case 3: kind = HIA_EVENT_WAIT_BEGIN; break;
  case 4: kind = HIA_EVENT_IDLE_BEGIN; break;
  case 5: /* left */
    if (t->n > 1 && t->kind[t->n - 1] != HIA_EVENT_JOB_BEGIN) t->n--;
    /* fall through */
  default:
    if (t->n == 0) return;
    t->n--;
    hiaR_event(t->ring, t->kind[t->n] + 1, t->open[t->n]);
    return;
  }
  if (top == HIA_EVENT_IDLE_BEGIN || t->n == 32) return;
  if (kind == HIA_EVENT_WAIT_BEGIN && (top == kind || top == HIA_EVENT_WORK_BEGIN)) return;
  if (kind == HIA_EVENT_JOB_BEGIN && HIA_JOB_OWNER(job) == t->ring->number) return;
  if (kind == HIA_EVENT_IDLE_BEGIN) job = 0;
  t->kind[t->n] = kind;
  t->open[t->n++] = job;
  hiaR_event(t->ring, kind, job);
}

Test(timeline, random_events) {
  random_source random = {20251};
  for (int round = 0; round < 400; round++) {
    ringed r = begin((size_t)1 << random_below(&random, 10));
    random_track tracks[] = {{.ring = r.caller}, {.ring = r.one}, {.ring = r.two}};
    uint64_t jobs[64];
    uint32_t n_jobs = 0, n = random_below(&random, 600);
    for (int k = 0; k < 3; k++)
      hiaR_event(tracks[k].ring, k ? HIA_EVENT_WORK_BEGIN : HIA_EVENT_RUN_BEGIN, 0);
    for (uint32_t i = 0; i < n; i++)
      random_event(&random, &tracks[random_below(&random, 3)], jobs, &n_jobs);
    for (int k = 3; k-- > 0;) {
      for (random_track *t = &tracks[k]; t->n-- > 0;)
        hiaR_event(t->ring, t->kind[t->n] + 1, t->open[t->n]);
      hiaR_event(tracks[k].ring, k ? HIA_EVENT_WORK_END : HIA_EVENT_RUN_END, 0);
    }
    trace_picture p;
    read_back(r.timeline, &p);
    uint64_t steals = 0;
    for (int k = 0; k < 3; k++) steals += tracks[k].ring->totals[HIA_EVENT_JOB_BEGIN];
    cr_assert_eq(p.steals, steals);
    hia_timeline_free(r.timeline);
  }
}

/* ---- JSON ---- */

Test(timeline, names_of_all_bytes) {
  char name[260];
  for (int c = 1; c < 256; c++) name[c - 1] = (char)c;
  memcpy(name + 255, "\xf0\x9f", 3); /* a character that is cut off */
  hia_timeline *timeline = hia_timeline_new(NULL, 0);
  hia_ring *ring = hiaR_ring_of(timeline, 0);
  static const char *const names[] = {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xed\xa0\x80",
                                      "\xc0\x80\xf4\x90\x80\x80", "\"\\", ""};
  for (size_t i = 0; i < HIA_LEN(names); i++) {
    hiaR_event(ring, HIA_EVENT_RUN_BEGIN, hiaR_timeline_name(timeline, names[i]));
    hiaR_event(ring, HIA_EVENT_RUN_END, HIA_OK);
  }
  hiaR_event(ring, HIA_EVENT_RUN_BEGIN, hiaR_timeline_name(timeline, name));
  hiaR_event(ring, HIA_EVENT_RUN_END, HIA_OK);
  uint64_t now = hiaR_now();
  hiaR_timeline_span(timeline,
                     &(hia_span){"parse", hiaR_timeline_name(timeline, name), now, now + 5});
  trace_picture p;
  read_back(timeline, &p);
  cr_assert_eq(p.n_runs, 6);
  test_text text = {0};
  cr_assert_eq(hia_timeline_write(timeline, test_text_take, &text, NULL), HIA_OK);
  test_text_take(&text, "", 1);
  cr_assert_not_null(strstr(text.data, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""));
  cr_assert_not_null(strstr(text.data, "\"\\ufffd\\ufffd\\ufffd\""));
  cr_assert_not_null(strstr(text.data, "\"\\\"\\\\\""));
  test_text_free(&text);
  hia_timeline_free(timeline);
}

/* Phases of several threads at the same time are on several tracks. */
Test(timeline, phases_at_once) {
  hia_timeline *timeline = hia_timeline_new(NULL, 0);
  uint64_t t = hiaR_now();
  const hia_span spans[] = {{"parse", HIA_NONE, t + 50, t + 100}, {"check", 0, t + 100, t + 200},
                            {"parse", 0, t + 60, t + 170},        {"build", 0, t, t + 1},
                            {"passes", 0, t + 170, t + 180},      {"build", 0, t + 5, t + 5},
                            {"check", 0, t + 100, t + 200}};
  for (size_t i = 0; i < HIA_LEN(spans); i++) hiaR_timeline_span(timeline, &spans[i]);
  trace_picture p;
  read_back(timeline, &p);
  cr_assert_eq(p.n_compilers, 2);
  cr_assert_eq(p.n_phases, 5);
  cr_assert_str_eq(p.phases, "build parse parse check passes ");
  hia_timeline_free(timeline);
}

/* ---- the API ---- */

static bool write_some(void *left, const char *bytes, size_t len) {
  (void)bytes, (void)len;
  size_t *n = left;
  return (*n)-- > 0;
}

static const char program[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn bad(n: i32) -> i32 = if n == 0 then fail(3) else 1 + bad(n - 1)\n";

static hia_engine *new_engine(hia_engine_kind kind, unsigned threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  hia_engine *engine;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  return engine;
}

static hia_module *load(hia_engine *engine) {
  hia_module *module;
  cr_assert_eq(
      hia_module_load_text(engine, "a \"b\"\n.hia", program, strlen(program), &module, NULL),
      HIA_OK);
  return module;
}

static hia_status run(hia_engine *engine, hia_module *module, const char *name, int32_t n,
                      hia_timeline *timeline, hia_run_stats *stats) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeline = timeline;
  options.stats = stats;
  hia_function *function;
  hia_value *arg = hia_value_i32(engine, n), *result;
  cr_assert_eq(hia_module_function(module, name, &function, NULL), HIA_OK);
  hia_status status = hia_run(function, &arg, 1, &options, &result, NULL);
  hia_value_free(result);
  hia_value_free(arg);
  return status;
}

Test(timeline, bad_arguments) {
  hia_timeline *timeline = hia_timeline_new(NULL, 0);
  hia_error *error;
  cr_assert_eq(hia_timeline_write(NULL, test_text_take, NULL, &error), HIA_ARGUMENT);
  hia_error_free(error);
  cr_assert_eq(hia_timeline_write(timeline, NULL, NULL, &error), HIA_ARGUMENT);
  hia_error_free(error);
  cr_assert_null(hia_timeline_new(&(hia_allocator){0}, 0));
  hia_timeline_free(timeline);
}

Test(timeline, writing_may_be_stopped) {
  ringed r = begin(1024);
  for (int i = 0; i < 1000; i++) hiaR_event_promoted(r.one);
  bool is_whole = false;
  for (size_t n = 0; !is_whole; n++) {
    size_t left = n;
    hia_error *error;
    hia_status status = hia_timeline_write(r.timeline, write_some, &left, &error);
    is_whole = status == HIA_OK;
    cr_assert(is_whole || status == HIA_IO);
    cr_assert(is_whole == !error);
    hia_error_free(error);
    cr_assert(n < 1000);
  }
  hia_timeline_free(r.timeline);
}

/* A timeline cannot be written during a run. */
typedef struct meeting {
  hia_engine *engine;
  hia_module *module;
  hia_timeline *timeline;
  int n;
} meeting;

static bool meet(void *user, const char *bytes, size_t len) {
  (void)bytes, (void)len;
  meeting *m = user;
  cr_assert_eq(run(m->engine, m->module, "fib", 3, m->timeline, NULL), HIA_ARGUMENT);
  hia_error *error;
  cr_assert_eq(hia_timeline_write(m->timeline, meet, m, &error), HIA_ARGUMENT);
  hia_error_free(error);
  m->n++;
  return true;
}

Test(timeline, runs_and_readers) {
  meeting m = {.engine = new_engine(HIA_ENGINE_INTERP, 1)};
  m.timeline = hia_timeline_new(NULL, 0);
  m.module = load(m.engine);
  cr_assert_eq(run(m.engine, m.module, "fib", 3, m.timeline, NULL), HIA_OK);
  cr_assert_eq(hia_timeline_write(m.timeline, meet, &m, NULL), HIA_OK);
  cr_assert_gt(m.n, 0);
  cr_assert(hiaR_timeline_open(m.timeline, false));
  cr_assert_eq(hia_timeline_write(m.timeline, test_text_take, NULL, NULL), HIA_ARGUMENT);
  hiaR_timeline_close(m.timeline, false);
  cr_assert_eq(run(m.engine, m.module, "fib", 3, m.timeline, NULL), HIA_OK);
  hia_module_free(m.module);
  hia_engine_free(m.engine);
  trace_picture p;
  read_back(m.timeline, &p); /* it outlives the engine and the module */
  cr_assert_str_eq(p.results, "ok ok ");
  cr_assert_str_eq(p.phases, "parse check build passes flatten ");
  hia_timeline_free(m.timeline);
}

Test(timeline, every_engine) {
  static const struct {
    hia_engine_kind kind;
    unsigned threads;
  } ways[] = {{HIA_ENGINE_JIT, 1},
              {HIA_ENGINE_JIT, 3},
              {HIA_ENGINE_INTERP, 1},
              {HIA_ENGINE_INTERP, 3},
              {HIA_ENGINE_EXPAND, 1}};
  for (size_t i = 0; i < HIA_LEN(ways); i++) {
    hia_engine *engine = new_engine(ways[i].kind, ways[i].threads);
    hia_module *module = load(engine);
    if (ways[i].kind == HIA_ENGINE_JIT && hia_engine_native(engine, NULL) != HIA_OK) {
      hia_module_free(module);
      hia_engine_free(engine);
      continue;
    }
    /* Made after the module was loaded, so it has no parsing. The compiler was opened before, too.
     */
    hia_timeline *timeline = hia_timeline_new(NULL, 0);
    hia_run_stats stats = HIA_RUN_STATS_INIT;
    cr_assert_eq(run(engine, module, "fib", 22, timeline, &stats), HIA_OK);
    uint64_t steals = stats.steals;
    cr_assert_eq(run(engine, module, "fib", 18, timeline, &stats), HIA_OK);
    steals += stats.steals;
    cr_assert_eq(run(engine, module, "bad", 5, timeline, NULL), HIA_FAILED);
    trace_picture p;
    read_back(timeline, &p);
    cr_assert_eq(p.n_runs, 3);
    cr_assert_str_eq(p.results, "ok ok failed ");
    cr_assert_eq(p.dropped, 0);
    cr_assert_eq(p.steals, steals);
    cr_assert(p.n_threads == 1 || ways[i].threads > 1);
    cr_assert_eq(p.n_compilers, 1);
    cr_assert(p.busy_us <= p.run_us * ways[i].threads);
    static const char native[] = "build passes set up emit optimize codegen ";
    static const char other[] = "build passes flatten ";
    const char *phases = ways[i].kind == HIA_ENGINE_JIT ? native : other;
    size_t len = strlen(phases); /* of both functions */
    cr_assert_eq(strlen(p.phases), 2 * len, "%s", p.phases);
    cr_assert(memcmp(p.phases, phases, len) == 0 && strcmp(p.phases + len, phases) == 0);
    uint64_t n_phases = p.n_phases;
    timeline->made_at++; /* as another one: nothing new is compiled */
    cr_assert_eq(run(engine, module, "fib", 5, timeline, NULL), HIA_OK);
    read_back(timeline, &p);
    cr_assert_eq(p.n_phases, n_phases);
    hia_timeline_free(timeline);
    hia_module_free(module);
    hia_engine_free(engine);
  }
}

/* ---- out of memory ---- */

/* Without memory a timeline has fewer events, or cannot be written; the run is not affected. */
Test(timeline, out_of_memory) {
  hia_engine *engine = new_engine(HIA_ENGINE_INTERP, 2);
  hia_module *module = load(engine);
  bool is_whole = false;
  for (long n = 0; !is_whole; n++) {
    test_heap heap;
    test_heap_init(&heap, n);
    hia_timeline *timeline = hia_timeline_new(&heap.allocator, 64);
    cr_assert_eq(timeline != NULL, n > 0);
    if (!timeline) continue;
    cr_assert_eq(run(engine, module, "fib", 12, timeline, NULL), HIA_OK);
    test_text text = {0};
    hia_error *error;
    hia_status status = hia_timeline_write(timeline, test_text_take, &text, &error);
    cr_assert(status == HIA_OK || status == HIA_MEMORY);
    trace_picture p = {0};
    if (status == HIA_OK) {
      cr_assert(trace_read(text.data, text.len, &p), "%s", p.wrong);
      is_whole = heap.left > 0;
    }
    hia_error_free(error);
    test_text_free(&text);
    hia_timeline_free(timeline);
    cr_assert_eq(heap.bytes, 0);
    cr_assert_lt(n, 1000);
  }
  hia_module_free(module);
  hia_engine_free(engine);
}
