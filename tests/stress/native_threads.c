/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Native code on several threads, through the public API, in the difficult cases: memory runs out,
 * threads cannot be started, runs are cancelled, several host threads use one engine, there are
 * more workers than cores, recursions are deep on every stack, batches are shared. Each run has the
 * outcome of one thread, with the same text of the error, or the status of the resource that ran
 * out. The engine is usable afterwards, nothing leaks, and idle threads take no time.
 *
 *   native_threads [SCALE]      (100: ten thousand cancels; 1000 for long runs)
 *
 * No test framework, because Criterion does not start under ThreadSanitizer. */
#include "jit/engine/engine.h"
#include "runtime/native/context.h"
#include "tests/stress/program.h"
#include "tests/stress/random.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/time.h"
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const char text[] =
    "fn fib(n: i32) -> i32 = if n <= 1 then n else fib(n - 1) + fib(n - 2)\n"
    "fn tak(x: i32, y: i32, z: i32) -> i32 = if y < x then tak(tak(x - 1, y, z), tak(y - 1, z, x), "
    "tak(z - 1, x, y)) else z\n"
    "fn takes(n: i32) -> i32 = tak(n, n * 2 / 3, n / 3)\n"
    "fn small_first(n: i32) -> i32 = if n <= 1 then 1 else { let l = n / 10; "
    "bxor(small_first(l), n) + small_first(n - 1 - l) }\n"
    "fn small_last(n: i32) -> i32 = if n <= 1 then 1 else { let l = n / 10; "
    "bxor(small_last(n - 1 - l), n) + small_last(l) }\n"
    /* Many leaves fail; the first in sequential order is somewhere in the middle. */
    "fn leaf(id: i32) -> i32 = if id % 97 == 51 then fail(id) else id\n"
    "fn tree(n: i32, id: i32) -> i32 = if n == 0 then leaf(id) else tree(n - 1, 2 * id) + "
    "tree(n - 1, 2 * id + 1)\n"
    "fn first(n: i32) -> i32 = 1 + tree(n, 1)\n"
    /* The last leaf of all divides by zero. */
    "fn down_to(n: i32, d: i32) -> i32 = if n <= 1 then 100 / d else bxor(down_to(n - 1, d + 1), "
    "3) + down_to(n - 2, d - 1)\n"
    "fn late(n: i32) -> i32 = down_to(n, n / 2)\n"
    /* Its jobs are too large to be kept for later ones. */
    "fn wide(n: i32, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64, i: i64, j: i64"
    ", k: i64, l: i64, m: i64, o: i64, p: i64, q: i64, r: i64) -> i64 =\n"
    "  if n <= 1 then a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + "
    "11 * k + 12 * l + 13 * m + 14 * o + 15 * p + 16 * q + 17 * r\n"
    "  else bxor(wide(n - 1, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, a + 1), "
    "wide(n - 2, r, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q + n_of(n)))\n"
    "fn n_of(n: i32) -> i64 = i64(n)\n"
    "fn wides(n: i32) -> i32 = i32(wide(n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, "
    "17) % 1000003)\n"
    "fn down(n: i32) -> i32 = if n == 0 then 0 else bxor(down(n - 1), n) + 1\n"
    "fn both(n: i32) -> i32 = down(n) + 3 * down(n + 1)\n"
    "fn downs(d: i32, n: i32) -> i32 = if d == 0 then down(n) else downs(d - 1, n) + "
    "3 * downs(d - 1, n + 1)\n"
    "fn eight(n: i32) -> i32 = downs(3, n)\n"
    "type Tree = Leaf(id: i32) | Node(left: Tree, right: Tree)\n"
    "fn planted(n: i32, id: i32) -> Tree = if n == 0 then Leaf(id) else "
    "Node(planted(n - 1, 2 * id), planted(n - 1, 2 * id + 1))\n"
    "fn turned(t: Tree) -> Tree = match t { Leaf(id) => Leaf(id + 1), Node(l, r) => "
    "Node(turned(r), turned(l)) }\n"
    "fn leaves(t: Tree) -> i32 = match t { Leaf(id) => id, Node(l, r) => "
    "bxor(leaves(l) * 3, leaves(r)) }\n"
    "fn trees(n: i32) -> i32 = { let t = planted(n, 1); leaves(t) + 5 * leaves(turned(t)) + "
    "leaves(t) }\n"
    /* Thieves get the only references to what they add up. Where both branches of a tree are the
     * same, they do not. */
    "fn felled(n: i32) -> i32 = leaves(planted(n, 1)) + 3 * leaves(turned(planted(n - 1, 5)))\n"
    "fn doubled(n: i32, t: Tree) -> Tree = if n == 0 then t else doubled(n - 1, Node(t, t))\n"
    "fn felled_twice(n: i32) -> i32 = leaves(doubled(n, planted(n / 2, 1)))\n"
    "fn rotten(t: Tree, id: i32) -> i32 = match t { Leaf(k) => if k == id then 1 / (k - id) else "
    "k, "
    "Node(l, r) => bxor(rotten(l, id) * 3, rotten(r, id)) }\n"
    "fn fells(n: i32, id: i32) -> i32 = rotten(planted(n, 1), id) + rotten(planted(n, 1), id + 1)\n"
    "fn early_rotten(n: i32) -> i32 = fells(n, shl(1, n) + n)\n"
    "fn late_rotten(n: i32) -> i32 = down(n) + fells(n, shl(2, n) - 1) + 1 / (n - n)\n"
    "fn crash(n: i32) -> i32 = if n == 0 then 1 / n else bxor(crash(n - 1), n) + 1\n"
    "fn second_fails(n: i32) -> i32 = down(n) + crash(n)\n"
    "fn rounds(n: i32) -> i32 = { let (_, s) = loop (i = 0, s = 1) while i < n "
    "{ (i + 1, bxor(shl(s, 3), s * 5 + i)) }; s }\n";
/* The rest of the program: rows of trees of which thieves have some, waves of which they compute
 * blocks, sums that they collect; control that waits for tensors; and an instance that fails. */
static const char batches[] =
    "param W: f32[40, 80] = uniform(-0.3, 0.3)\n"
    "param E: f32[30, 40] = uniform(-1.0, 1.0)\n"
    "param P: f32[40, 512] = uniform(-0.1, 0.1)\n"
    "fn encode(t: Tree) -> (f32[40], f32) = match t {\n"
    "  Leaf(id) => { let h = E[abs(id) % 30]; (h, h[1]) },\n"
    "  Node(l, r) => { let (hl, a) = encode(l); let (hr, b) = encode(r);\n"
    "    let h = tanh(W @ concat(hl, hr)); (h, a + b * 0.5 + h[2]) } }\n"
    "fn sized(i: i32) -> Tree = planted(2 + i % 4, i)\n"
    "fn score(n: i32) -> f32 = sum([encode(sized(i)).1 for i in 0..n])\n"
    "fn as_number(x: f32) -> i32 = i32(x * 1000.0)\n"
    "fn scores(n: i32) -> i32 = as_number(score(n))\n"
    "fn slopes(n: i32) -> i32 = { let (v, (w, e)) = value_and_grad(score, wrt = (W, E))(n);\n"
    "  as_number(v + sum(w) * 0.01 + sum(e)) }\n"
    "fn one_tree(n: i32) -> i32 = as_number(encode(planted(n, 1)).1)\n"
    "fn walk(h: f32[40], n: i32) -> f32 = { let x = tanh(W @ concat(h, h)); if n == 0 then x[0]\n"
    "  else if x[1] > 0.0 then walk(x, n - 1) + x[3] else walk(0.0 - x, n - 1) * 0.5 }\n"
    "fn walks(n: i32) -> i32 = as_number(sum([walk(E[i % 30], 5 + i % 3) for i in 0..n]))\n"
    "fn halts(n: i32) -> i32 = as_number(sum([encode(sized(i / (n / 2 - i))).1 for i in 0..n]))\n"
    /* Large products, whose parts thieves compute, of matrices that the operation itself packs. */
    "fn rows(n: i32) -> f32[?, 512] = [P[i % 40] * f32(i % 7) for i in 0..n]\n"
    "fn products(n: i32) -> i32 = { let a = rows(n); let p = transpose(P);\n"
    "  as_number(sum(a @ p) + sum((a @ transpose(a))[n - 1])) }\n";

typedef struct job {
  const char *function;
  int32_t n;
} job;

static const job jobs[] = {
    {"fib", 25},
    {"takes", 15},
    {"small_first", 80000},
    {"small_last", 80000},
    {"first", 14},
    {"late", 23},
    {"wides", 19},
    {"eight", 10000},
    {"both", 50000},
    {"rounds", 20000},
    {"fib", 2},
    {"first", 3},
    {"second_fails", 20000},
    {"crash", 100},
    {"wides", 3},
    {"trees", 13},
    {"felled", 15},
    {"felled_twice", 14},
    {"early_rotten", 12},
    {"late_rotten", 12},
    {"scores", 60},
    {"slopes", 40},
    {"one_tree", 8},
    {"walks", 40},
    {"halts", 30},
    {"products", 300},
};
static const unsigned n_threads[] = {2, 3, 8};

static int scale = 100;

static long scaled(long n) { return n * scale / 100 > 0 ? n * scale / 100 : 1; }

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* ---- engines and runs ---- */

static loaded load(unsigned threads, size_t max_depth, const hia_allocator *allocator) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = threads;
  options.batching = threads > 1 ? HIA_BATCH_ALL : HIA_BATCH_NONE;
  options.max_depth = max_depth;
  options.allocator = allocator;
  char all[sizeof text + sizeof batches];
  int n = snprintf(all, sizeof all, "%s%s", text, batches);
  return load_text(&options, "native_threads.hia", all, (size_t)n);
}

static _Atomic uint64_t n_steals;

typedef struct outcome {
  hia_status status;
  int32_t value;
  char *error; /* its text */
} outcome;

static void forget(outcome *o) {
  free(o->error);
  o->error = NULL;
}

static outcome call(loaded l, hia_function *f, int32_t n, const hia_run_options *options) {
  outcome o = {HIA_MEMORY, 0, NULL};
  hia_value *arg = hia_value_i32(l.engine, n), *value;
  if (!arg) return o;
  hia_error *error;
  hia_run_stats used = HIA_RUN_STATS_INIT;
  hia_run_options how = HIA_RUN_OPTIONS_INIT;
  if (options) how = *options;
  how.stats = &used;
  o.status = hia_run(f, &arg, 1, &how, &value, &error);
  atomic_fetch_add(&n_steals, used.steals);
  if (o.status == HIA_OK)
    hia_value_get_i32(value, &o.value);
  else
    o.error = strdup(hia_error_text(error));
  hia_value_free(value);
  hia_value_free(arg);
  hia_error_free(error);
  return o;
}

static outcome run(loaded l, const char *name, int32_t n, const hia_run_options *options) {
  return call(l, find(l, name), n, options);
}

static bool is_same(const outcome *a, const outcome *b) {
  return a->status == b->status && a->value == b->value &&
         (a->status == HIA_OK || strcmp(a->error, b->error) == 0);
}

/* The outcome on one thread. */
static outcome wanted[HIA_LEN(jobs)];

static void expect(const outcome *right, outcome got, const job *j, unsigned threads,
                   const char *where) {
  if (!is_same(right, &got))
    FAIL("%s(%d), %u threads, %s:\nwanted %d %s\ngot %d %s %s", j->function, j->n, threads, where,
         right->value, right->error ? right->error : "", got.value, hia_status_word(got.status),
         got.error ? got.error : "");
  forget(&got);
}

/* Checks that the engine still works. */
static void expect_usable(loaded l, unsigned threads, const char *where) {
  for (size_t i = 0; i < 2; i++) {
    const job *j = &jobs[i == 0 ? 0 : 4]; /* a value, and a failure */
    expect(&wanted[i == 0 ? 0 : 4], run(l, j->function, j->n, NULL), j, threads, where);
  }
}

static void expect_no_blocks(const test_heap *heap, const char *where) {
  if (heap->blocks) FAIL("%s: %ld blocks are left", where, (long)heap->blocks);
}

static size_t count_tasks(void) {
  DIR *dir = opendir("/proc/self/task");
  size_t n = 0;
  if (!dir) return 0;
  for (struct dirent *entry; (entry = readdir(dir));) n += entry->d_name[0] != '.';
  closedir(dir);
  return n;
}

/* The system lists a thread for a moment after it was joined. */
static void expect_tasks(size_t n, const char *where) {
  size_t now = count_tasks();
  for (int i = 0; i < 10000 && now != n; i++) {
    usleep(1000);
    now = count_tasks();
  }
  if (now != n) FAIL("%s: %zu threads instead of %zu", where, now, n);
}

/* ---- one thing at a time ---- */

static void run_plainly(unsigned threads) {
  size_t before = count_tasks();
  loaded l = load(threads, 0, NULL);
  for (long round = 0; round < scaled(20); round++)
    for (size_t i = 0; i < HIA_LEN(jobs); i++)
      expect(&wanted[i], run(l, jobs[i].function, jobs[i].n, NULL), &jobs[i], threads, "plainly");
  if (count_tasks() > before + threads - 1) FAIL("%zu threads", count_tasks());
  unload(l);
  expect_tasks(before, "after an engine is freed");
}

/* From some allocation on there is no memory: in the first run of an engine, which makes contexts,
 * threads and jobs, and in a later one. */
static void run_out_of_memory(const job *j, const outcome *right, unsigned threads, bool is_first) {
  test_heap heap;
  test_heap_init(&heap, -1);
  loaded l = {NULL, NULL};
  long most = scaled(is_first ? 25 : 200);
  for (long left = 0, successes = 0; left < most && successes < 5; left++) {
    if (!l.engine) l = load(threads, (size_t)64 << 20, &heap.allocator);
    hia_function *f = find(l, j->function);
    if (!is_first) expect_usable(l, threads, "before memory runs out");
    atomic_store(&heap.left, left);
    outcome got = call(l, f, j->n, NULL);
    successes = atomic_load(&heap.left) > 0 ? successes + 1 : 0;
    /* There may be no memory for the chain of calls, or for the whole error. */
    bool ran_out = atomic_load(&heap.left) <= 0;
    atomic_store(&heap.left, -1);
    if (got.status == HIA_MEMORY || (ran_out && got.status == right->status && got.error))
      forget(&got);
    else
      expect(right, got, j, threads, "when memory runs out");
    expect_usable(l, threads, "after memory ran out");
    if (!is_first) continue;
    unload(l);
    l.engine = NULL;
    expect_no_blocks(&heap, "out of memory");
  }
  if (l.engine) unload(l);
  expect_no_blocks(&heap, "out of memory");
}

/* ---- threads that cannot be started ---- */

static _Atomic long creations_left;
static int fail_later(pthread_t *thread, const pthread_attr_t *attributes, void *(*main)(void *),
                      void *arg) {
  if (atomic_fetch_sub(&creations_left, 1) <= 0) return 11; /* EAGAIN */
  return pthread_create(thread, attributes, main, arg);
}

static void run_with_fewer(unsigned threads) {
  for (long created = 0; created <= 2; created++) {
    size_t before = count_tasks();
    loaded l = load(threads, 0, NULL);
    hiaR_pool_set_create(l.engine->pool, fail_later);
    atomic_store(&creations_left, created);
    for (long round = 0; round < scaled(10); round++)
      for (size_t i = 0; i < 6; i++) /* each function is compiled nine times */
        expect(&wanted[i], run(l, jobs[i].function, jobs[i].n, NULL), &jobs[i], threads,
               "with fewer threads");
    if (count_tasks() > before + (size_t)created) FAIL("a thread that could not be had");
    atomic_store(&creations_left, 1000); /* now they can be started */
    expect_usable(l, threads, "when there are threads again");
    unload(l);
    expect_tasks(before, "with fewer threads");
  }
}

/* ---- cancels ---- */

typedef struct requester {
  pthread_t thread;
  pthread_barrier_t turn;
  hia_cancel *cancel;
  uint64_t after; /* nanoseconds */
  bool is_done;
} requester;

static void *request(void *user) {
  requester *r = user;
  (void)prctl(PR_SET_TIMERSLACK, 1000ul, 0, 0, 0);
  for (;;) {
    pthread_barrier_wait(&r->turn);
    if (r->is_done) return NULL;
    test_sleep(r->after);
    hia_cancel_request(r->cancel);
    pthread_barrier_wait(&r->turn);
  }
}

static void run_cancelled(unsigned threads, long n, unsigned long counts[2]) {
  /* The larger ones are cancelled while they run, the smaller ones sometimes too late. */
  static const job cancelled[] = {{"fib", 25},       {"takes", 15},  {"small_first", 100000},
                                  {"eight", 20000},  {"wides", 19},  {"small_last", 100000},
                                  {"first", 14},     {"late", 22},   {"both", 100000},
                                  {"scores", 100},   {"slopes", 60}, {"walks", 60},
                                  {"products", 1500}};
  loaded l = load(threads, 0, NULL), single = load(1, 0, NULL);
  outcome right[HIA_LEN(cancelled)];
  uint64_t typical[HIA_LEN(cancelled)];
  for (size_t i = 0; i < HIA_LEN(cancelled); i++) {
    right[i] = run(single, cancelled[i].function, cancelled[i].n, NULL);
    find(l, cancelled[i].function);
    typical[i] = 3000000;
    for (int k = 0; k < 3; k++) {
      uint64_t start = hiaR_now();
      expect(&right[i], run(l, cancelled[i].function, cancelled[i].n, NULL), &cancelled[i], threads,
             "before it is cancelled");
      uint64_t took = hiaR_now() - start;
      if (took < typical[i]) typical[i] = took;
    }
  }
  requester r = {.cancel = hia_cancel_new(NULL)};
  pthread_barrier_init(&r.turn, NULL, 2);
  pthread_create(&r.thread, NULL, request, &r);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.cancel = r.cancel;
  for (long i = 0; i < n; i++) {
    size_t k = (size_t)i % HIA_LEN(cancelled);
    r.after = next_random(&random_state) % typical[k];
    pthread_barrier_wait(&r.turn);
    outcome got = run(l, cancelled[k].function, cancelled[k].n, &options);
    pthread_barrier_wait(&r.turn);
    hia_cancel_reset(r.cancel);
    counts[got.status == HIA_CANCELLED]++;
    if (got.status == HIA_CANCELLED)
      forget(&got);
    else
      expect(&right[k], got, &cancelled[k], threads, "if it is not cancelled");
    if (i % 50 == 0) expect_usable(l, threads, "after a cancel");
  }
  r.is_done = true;
  pthread_barrier_wait(&r.turn);
  pthread_join(r.thread, NULL);
  pthread_barrier_destroy(&r.turn);
  hia_cancel_free(r.cancel);
  expect_usable(l, threads, "after all cancels");
  for (size_t i = 0; i < HIA_LEN(cancelled); i++) forget(&right[i]);
  unload(single);
  unload(l);
}

/* ---- several host threads ---- */

typedef struct host {
  pthread_t thread;
  loaded l;
  unsigned threads, number;
  long runs;
} host;

static void *run_host(void *user) {
  host *h = user;
  for (long i = 0; i < h->runs; i++) {
    size_t k = ((size_t)i * 7 + 3 * h->number) % HIA_LEN(jobs);
    expect(&wanted[k], run(h->l, jobs[k].function, jobs[k].n, NULL), &jobs[k], h->threads,
           "beside others");
  }
  return NULL;
}

static void run_hosts(unsigned threads) {
  size_t before = count_tasks();
  loaded l = load(threads, (size_t)64 << 20, NULL);
  host hosts[4];
  for (unsigned i = 0; i < HIA_LEN(hosts); i++) {
    hosts[i] = (host){.l = l, .threads = threads, .number = i, .runs = scaled(100)};
    pthread_create(&hosts[i].thread, NULL, run_host, &hosts[i]);
  }
  for (size_t i = 0; i < HIA_LEN(hosts); i++) pthread_join(hosts[i].thread, NULL);
  unload(l);
  expect_tasks(before, "after several hosts");
}

/* ---- deep recursions ---- */

typedef struct diver {
  loaded l;
  unsigned threads;
  job j;
  outcome right;
} diver;

static void *dive(void *user) {
  diver *d = user;
  expect(&d->right, run(d->l, d->j.function, d->j.n, NULL), &d->j, d->threads,
         "on a thread with a small stack");
  return NULL;
}

static void on_small_stack(diver *d) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  /* Sanitizers keep data of each thread on its stack. */
  size_t size = (size_t)64 << 10;
  do pthread_attr_setstacksize(&attributes, size);
  while (pthread_create(&thread, &attributes, dive, d) != 0 && (size *= 2) < (size_t)64 << 20);
  pthread_attr_destroy(&attributes);
  if (size < (size_t)64 << 20)
    pthread_join(thread, NULL);
  else
    FAIL("no thread with a small stack");
}

static void run_deep(unsigned threads) {
  loaded l = load(threads, (size_t)4 << 30, NULL), single = load(1, (size_t)4 << 30, NULL);
  int32_t n = (int32_t)scaled(1000000);
  const job deep[] = {{"both", n}, {"second_fails", n / 4}, {"eight", n / 4}};
  for (size_t i = 0; i < HIA_LEN(deep); i++) {
    diver d = {l, threads, deep[i], run(single, deep[i].function, deep[i].n, NULL)};
    if (d.right.status == HIA_DEPTH || d.right.status == HIA_MEMORY)
      FAIL("%s(%d): %s", deep[i].function, deep[i].n, d.right.error);
    find(l, deep[i].function);
    expect(&d.right, run(l, deep[i].function, deep[i].n, NULL), &deep[i], threads, "deep");
    on_small_stack(&d);
    forget(&d.right);
  }
  unload(single);
  unload(l);
}

/* Past the depth limit; and just below it, where jobs that run on top of others have too little
 * room. */
static void run_too_deep(unsigned threads) {
  size_t limit = (size_t)2 << 20;
  loaded l = load(threads, limit, NULL), single = load(1, (size_t)1 << 30, NULL);
  /* The largest depth on one thread, with the same code. */
  int32_t low = 1, high = 1 << 20;
  while (high - low > low / 50 + 1) {
    int32_t n = low + (high - low) / 2;
    outcome o = run(l, "down", n, NULL);
    if (o.status == HIA_OK)
      low = n;
    else
      high = n;
    if (o.status != HIA_OK && o.status != HIA_DEPTH)
      FAIL("down(%d): %s", n, hia_status_word(o.status));
    forget(&o);
  }
  for (long i = 0; i < scaled(30); i++) {
    outcome o = run(l, "eight", 1 << 20, NULL);
    if (o.status != HIA_DEPTH) FAIL("too deep, %u threads: %s", threads, hia_status_word(o.status));
    forget(&o);
    const job fits = {"eight", (int32_t)(low * 0.9)};
    outcome right = run(single, fits.function, fits.n, NULL);
    expect(&right, run(l, fits.function, fits.n, NULL), &fits, threads, "just below the limit");
    forget(&right);
    if (i % 10 == 0) expect_usable(l, threads, "after it was too deep");
  }
  unload(single);
  unload(l);
}

/* ---- idle threads ---- */

static uint64_t processor_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* This does not measure speed, only that idle threads sleep: a thread that does not takes 200 ms.
 */
static void run_idle(unsigned threads) {
  loaded l = load(threads, 0, NULL);
  uint64_t least = UINT64_MAX;
  expect_usable(l, threads, "idle");
  for (int i = 0; i < 5 && least > 5000000; i++) {
    usleep(10000);
    uint64_t start = processor_ns();
    usleep(200000);
    uint64_t used = processor_ns() - start;
    if (used < least) least = used;
  }
  if (least > 20000000) FAIL("%u idle threads take %.1f ms of 200", threads, (double)least / 1e6);
  printf("idle, %u threads: %.2f ms of 200 ms\n", threads, (double)least / 1e6);
  /* In a run that has no work for them. */
  find(l, "rounds");
  double most = 0, ratio = 100;
  for (int i = 0; i < 5 && ratio > 1.1; i++) {
    uint64_t start = processor_ns(), begin = hiaR_now();
    outcome o = run(l, "rounds", 100000000, NULL);
    forget(&o);
    double r = (double)(processor_ns() - start) / (double)(hiaR_now() - begin);
    if (r < ratio) ratio = r;
    if (r > most) most = r;
  }
  if (ratio > 1.3) FAIL("%u threads in a run of one: %.2f processors", threads, ratio);
  printf("idle in a run, %u threads: %.2f to %.2f processors\n", threads, ratio, most);
  unload(l);
}

/* ---- */

static void timed(const char *what, uint64_t *start) {
  uint64_t now = hiaR_now();
  printf("%-16s %6.2f s\n", what, (double)(now - *start) / 1e9);
  *start = now;
}

static void *nothing(void *user) { return user; }

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc > 1) scale = atoi(argv[1]);
  if (scale < 1) scale = 1;
  loaded single = load(1, 0, NULL);
  hia_error *error;
  if (hia_engine_native(single.engine, &error) != HIA_OK) {
    printf("skipped: %s0 passed, 0 failed, 1 skipped\n", hia_error_text(error));
    hia_error_free(error);
    unload(single);
    return 0;
  }
  for (size_t i = 0; i < HIA_LEN(jobs); i++)
    wanted[i] = run(single, jobs[i].function, jobs[i].n, NULL);
  unload(single);
  /* ThreadSanitizer starts a thread of its own together with the first one. */
  pthread_t first;
  if (pthread_create(&first, NULL, nothing, NULL) == 0) pthread_join(first, NULL);
  usleep(10000);
  size_t before = count_tasks();
  uint64_t start = hiaR_now();
  unsigned long counts[2] = {0, 0};
  for (size_t t = 0; t < HIA_LEN(n_threads); t++) run_plainly(n_threads[t]);
  /* On a busy machine helpers may come too late for every run. */
  for (uint64_t end = hiaR_now() + test_limit_ns(60); !atomic_load(&n_steals) && hiaR_now() < end;)
    run_plainly(2);
  timed("plainly", &start);
  printf("%llu jobs were taken\n", (unsigned long long)atomic_load(&n_steals));
  if (atomic_load(&n_steals) == 0) FAIL("of so many forks nobody took one");
  for (size_t t = 0; t < HIA_LEN(n_threads); t++) run_hosts(n_threads[t]);
  timed("several hosts", &start);
  for (size_t t = 0; t < HIA_LEN(n_threads); t++) run_with_fewer(n_threads[t]);
  timed("fewer threads", &start);
  static const size_t hungry[] = {0, 4, 6, 8, 20, 21, 25};
  for (size_t i = 0; i < HIA_LEN(hungry); i++)
    for (size_t t = 0; t < HIA_LEN(n_threads); t++) {
      const job *j = &jobs[hungry[i]];
      run_out_of_memory(j, &wanted[hungry[i]], n_threads[t], false);
      if (t == i % 3) run_out_of_memory(j, &wanted[hungry[i]], n_threads[t], true);
    }
  timed("out of memory", &start);
  for (size_t t = 0; t < HIA_LEN(n_threads); t++) run_cancelled(n_threads[t], scaled(3334), counts);
  printf("%lu runs were cancelled, %lu came first\n", counts[1], counts[0]);
  timed("cancels", &start);
  for (size_t t = 0; t < HIA_LEN(n_threads); t++) run_deep(n_threads[t]);
  timed("deep", &start);
  for (size_t t = 0; t < HIA_LEN(n_threads); t++) run_too_deep(n_threads[t]);
  timed("too deep", &start);
  run_idle(8);
  timed("idle", &start);
  expect_tasks(before, "in the end");
  for (size_t i = 0; i < HIA_LEN(jobs); i++) forget(&wanted[i]);
  printf("%s\n", n_failed ? "failed" : "passed");
  return n_failed != 0;
}
