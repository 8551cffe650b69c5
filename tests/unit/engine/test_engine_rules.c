/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The promises of docs/embedding.md about threads: signals, the floating-point unit, stacks that
 * other code reads. */
#include "tests/unit/helpers/program.h"

#include <dirent.h>
#include <execinfo.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const char text[] =
    "extern impure fn ask(n: i32) -> i32\n"
    "extern fn look(n: i32) -> i32\n"
    "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
    "fn deep(n: i32) -> i32 = if n == 0 then 0 else bxor(deep(n - 1), n)\n"
    "fn down(n: i32) -> i32 = if n == 0 then 1 / n else bxor(down(n - 1), n)\n"
    "fn float(n: i32) -> i32 = if n == 0 then ask(0) else i32(f64(float(n - 1)) * 1.0)\n"
    "fn asks(n: i32) -> i32 = if n == 0 then ask(0) else bxor(asks(n - 1), n)\n"
    "fn looks(n: i32) -> i32 = if n <= 1 then look(n) else looks(n - 1) + looks(n - 2)\n"
    "fn spin(n: i32) -> i32 = loop (x = n) while x != 0 { x * 3 + 1 }\n";

typedef struct world {
  hia_engine *engine;
  hia_module *module;
  hia_context *context; /* NULL: no native code */
} world;

static void (*in_ask)(void); /* what the host function does */
static int32_t ask(int32_t n) {
  if (in_ask) in_ask();
  return n;
}
static int32_t look(int32_t n) { return n; }

static void begin(world *w, hia_engine_kind kind, unsigned threads, size_t max_depth) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_error *error;
  options.kind = kind;
  options.threads = threads;
  options.max_depth = max_depth;
  options.flags |= HIA_FLAG_NO_MERGING;
  cr_assert_eq(hia_engine_new(&options, &w->engine, NULL), HIA_OK);
  hia_host_function f = HIA_HOST_FUNCTION_INIT;
  f.declaration = "extern impure fn ask(n: i32) -> i32";
  f.function = (void (*)(void))ask;
  cr_assert_eq(hia_engine_register(w->engine, &f, NULL), HIA_OK);
  f.declaration = "extern fn look(n: i32) -> i32";
  f.function = (void (*)(void))look;
  cr_assert_eq(hia_engine_register(w->engine, &f, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(w->engine, "t.hia", text, strlen(text), &w->module, &error),
               HIA_OK, "%s", hia_error_text(error));
  w->context = NULL;
  if (kind == HIA_ENGINE_JIT)
    cr_assert_eq(hia_engine_context_new(w->engine, &w->context, NULL), HIA_OK);
}

static void end(world *w) {
  hia_context_free(w->context);
  hia_module_free(w->module);
  hia_engine_free(w->engine);
}

static hia_status call(world *w, const char *name, int32_t n, int32_t *result) {
  hia_function *f;
  hia_value *arg = hia_value_i32(w->engine, n), *value = NULL;
  cr_assert_eq(hia_module_function(w->module, name, &f, NULL), HIA_OK);
  hia_status status = hia_call(f, &arg, 1, &value, NULL);
  if (status == HIA_OK) hia_value_get_i32(value, result);
  hia_value_free(value);
  hia_value_free(arg);
  return status;
}

/* The engines that there are. */
#define EACH_KIND(kind)                                                                            \
  for (hia_engine_kind kind = has_native() ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP;                   \
       kind <= HIA_ENGINE_EXPAND; kind++)

/* ---- the floating-point unit ---- */

#if defined(__x86_64__)

typedef struct controls {
  uint32_t mxcsr; /* without the flags, which record what has happened */
  uint16_t x87;
} controls;

static controls read_controls(void) {
  controls c = {.mxcsr = __builtin_ia32_stmxcsr() & ~0x3fu};
  __asm__ volatile("fnstcw %0" : "=m"(c.x87));
  return c;
}

static void set_controls(controls c) {
  __builtin_ia32_ldmxcsr(c.mxcsr);
  __asm__ volatile("fldcw %0" : : "m"(c.x87));
}

static bool same(controls a, controls b) { return a.mxcsr == b.mxcsr && a.x87 == b.x87; }

static controls expected;
static unsigned n_asked, n_different;
static void compare_controls(void) {
  n_asked++;
  n_different += !same(read_controls(), expected);
  /* A host function that changes settings and restores them has no effect. */
  set_controls((controls){0x1f80 | 0x2000, 0x037f | 0x0400});
  set_controls(expected);
}

Test(rules, controls_of_the_floating_point_unit) {
  /* As a program starts; denormals are zero and only 53 bits count in the x87; rounding up. */
  static const controls all[] = {
      {0x1f80, 0x037f}, {0x1f80 | 0x8040, 0x027f}, {0x1f80 | 0x4000, 0x037f | 0x0800}};
  const controls before = read_controls();
  in_ask = compare_controls;
  EACH_KIND(kind) {
    world w;
    begin(&w, kind, 1, 0);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
      expected = all[i];
      n_asked = n_different = 0;
      int32_t x;
      int32_t n = kind == HIA_ENGINE_JIT ? 100000 : 1000;
      set_controls(expected);
      hia_status statuses[] = {call(&w, "float", n, &x), call(&w, "asks", n, &x),
                               call(&w, "down", n, &x)};
      controls after = read_controls();
      set_controls(before);
      cr_expect(statuses[0] == HIA_OK && statuses[1] == HIA_OK && statuses[2] == HIA_DIV_ZERO);
      cr_expect(same(after, expected), "kind %d: %x %x", kind, after.mxcsr, after.x87);
      cr_expect(n_asked == 2 && n_different == 0, "kind %d: %u", kind, n_different);
      if (!w.context) continue;
      fn_i32 floats = entry_i32(w.module, "float"), down = entry_i32(w.module, "down");
      set_controls(expected);
      statuses[0] = floats(w.context, n, &x);
      statuses[1] = down(w.context, n, &x);
      after = read_controls();
      set_controls(before);
      cr_expect(statuses[0] == HIA_OK && statuses[1] == HIA_DIV_ZERO);
      cr_expect(same(after, expected), "%x %x", after.mxcsr, after.x87);
      cr_expect(n_asked == 3 && n_different == 0, "%u", n_different);
    }
    end(&w);
  }
  in_ask = NULL;
}

#endif

/* ---- signals ---- */

static bool same_handling(const struct sigaction *a, const struct sigaction *b) {
  bool same_mask = true; /* of a set only the bits of existing signals have a meaning */
  for (int s = 1; s < 65; s++)
    same_mask &= sigismember(&a->sa_mask, s) == sigismember(&b->sa_mask, s);
  return a->sa_handler == b->sa_handler && a->sa_flags == b->sa_flags && same_mask;
}

/* Handlers, the mask, and the alternate stack do not change from an engine's beginning to its end.
 */
Test(rules, signals_are_the_host_s) {
  struct sigaction before[65] = {0}, after;
  sigset_t mask, mask_after;
  stack_t stack, stack_after;
  for (int s = 1; s < 65; s++) sigaction(s, NULL, &before[s]);
  memset(&mask, 0, sizeof mask); /* of which only the first word is written */
  memset(&mask_after, 0, sizeof mask_after);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  sigaltstack(NULL, &stack);
  EACH_KIND(kind) {
    world w;
    begin(&w, kind, 3, 0);
    hia_run_options options = HIA_RUN_OPTIONS_INIT;
    options.timeout_ns = UINT64_C(1) << 40;
    hia_function *f;
    hia_value *arg = hia_value_i32(w.engine, 15), *value = NULL;
    cr_assert_eq(hia_module_function(w.module, "looks", &f, NULL), HIA_OK);
    cr_expect_eq(hia_run(f, &arg, 1, &options, &value, NULL), HIA_OK);
    hia_value_free(arg);
    hia_value_free(value);
    int32_t x;
    cr_expect_eq(call(&w, "down", 1000, &x), HIA_DIV_ZERO);
    if (w.context) {
      hia_context_set_timeout(w.context, UINT64_C(1) << 40);
      cr_expect_eq(entry_i32(w.module, "fib")(w.context, 20, &x), HIA_OK);
    }
    for (int s = 1; s < 65; s++)
      if (sigaction(s, NULL, &after) == 0) cr_expect(same_handling(&before[s], &after), "%d", s);
    pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
    sigaltstack(NULL, &stack_after);
    cr_expect_eq(memcmp(&mask, &mask_after, sizeof mask), 0);
    cr_expect_eq(stack.ss_sp, stack_after.ss_sp);
    end(&w);
  }
}

static _Atomic(pthread_t) handled_by;
static atomic_uint n_handled;
static void handle(int signal) {
  (void)signal;
  atomic_store(&handled_by, pthread_self());
  atomic_fetch_add(&n_handled, 1);
}

static unsigned n_threads(void) {
  unsigned n = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));) n += entry->d_name[0] != '.';
  if (tasks) closedir(tasks);
  return n;
}

/* A signal for the process that the host's thread does not take now waits for it. */
Test(rules, hiaton_s_threads_take_no_signals) {
  world w;
  begin(&w, has_native() ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP, 3, 0);
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  options.timeout_ns = UINT64_C(1) << 40;
  hia_function *f;
  hia_value *arg = hia_value_i32(w.engine, 20);
  unsigned before = n_threads();
  cr_assert_eq(hia_module_function(w.module, "looks", &f, NULL), HIA_OK);
  for (int i = 0; i < 100 && n_threads() < before + 2; i++) {
    hia_value *value = NULL;
    cr_expect_eq(hia_run(f, &arg, 1, &options, &value, NULL), HIA_OK);
    hia_value_free(value);
  }
  cr_expect_geq(n_threads(), before + 2, "they are there");
  struct sigaction action = {.sa_handler = handle};
  sigset_t usr1, old;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  sigaction(SIGUSR1, &action, NULL);
  pthread_sigmask(SIG_BLOCK, &usr1, &old);
  kill(getpid(), SIGUSR1);
  nanosleep(&(struct timespec){0, 20000000}, NULL);
  cr_expect_eq(atomic_load(&n_handled), 0);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  cr_expect_eq(atomic_load(&n_handled), 1);
  cr_expect(pthread_equal(atomic_load(&handled_by), pthread_self()));
  hia_value_free(arg);
  end(&w);
}

/* Handlers that run on the current stack, of which they use nearly 64 KiB. */
static void handle_greedily(int signal) {
  volatile char room[60 << 10];
  for (size_t i = 0; i < sizeof room; i += 256) room[i] = (char)signal;
  atomic_fetch_add(&n_handled, (unsigned)(room[0] == (char)signal));
}

static void ring_every(long us) {
  struct itimerval often = {{0, us}, {0, us}};
  setitimer(ITIMER_REAL, &often, NULL);
}

static bool is_soon(const struct timespec *since) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000 < 400;
}

static void check_under_signals(int flags) {
  NEEDS_NATIVE;
  world w;
  begin(&w, HIA_ENGINE_JIT, 1, (size_t)1 << 20); /* so it is often at its end */
  fn_i32 deep = entry_i32(w.module, "deep"), down = entry_i32(w.module, "down"),
         asks = entry_i32(w.module, "asks");
  struct sigaction action = {.sa_handler = handle_greedily, .sa_flags = SA_RESTART | flags};
  sigaction(SIGALRM, &action, NULL);
  atomic_store(&n_handled, 0);
  struct timespec start;
  clock_gettime(CLOCK_MONOTONIC, &start);
  ring_every(150);
  unsigned n_wrong = 0;
  while (is_soon(&start)) {
    int32_t x = 0;
    n_wrong += deep(w.context, 10000000, &x) != HIA_DEPTH;
    n_wrong += deep(w.context, 1023, &x) != HIA_OK || x != 0;
    n_wrong += down(w.context, 1000, &x) != HIA_DIV_ZERO ||
               hia_error_chain_length(hia_context_error(w.context)) != 1001;
    n_wrong += asks(w.context, 1023, &x) != HIA_OK || x != 0;
    n_wrong += call(&w, "deep", 10000000, &x) != HIA_DEPTH;
  }
  ring_every(0);
  cr_expect_eq(n_wrong, 0);
  cr_expect_gt(atomic_load(&n_handled), 20);
  end(&w);
}

Test(rules, handlers_on_hiaton_s_stack) { check_under_signals(0); }

Test(rules, handlers_on_a_stack_of_their_own) {
  stack_t own = {.ss_sp = malloc(128 << 10), .ss_size = 128 << 10}, old;
  sigaltstack(&own, &old);
  check_under_signals(SA_ONSTACK);
  sigaltstack(&old, NULL);
  free(own.ss_sp);
}

/* ---- the stack, as other code sees it ---- */

static int n_frames;
static void look_back(void) {
  void *frames[256];
  n_frames = backtrace(frames, 256);
}

/* Profilers and crash handlers that read the stack of a host reach its end. */
Test(rules, a_walk_outward_from_a_host_function) {
  in_ask = look_back;
  EACH_KIND(kind) {
    world w;
    begin(&w, kind, 1, 0);
    int32_t x;
    for (int32_t n = 10; n <= (kind == HIA_ENGINE_JIT ? 100000 : 1000); n *= 10) {
      n_frames = 0;
      cr_expect_eq(call(&w, "asks", n, &x), HIA_OK);
      cr_expect_geq(n_frames, 2);
      if (!w.context) continue;
      n_frames = 0;
      cr_expect_eq(entry_i32(w.module, "asks")(w.context, n, &x), HIA_OK);
      cr_expect_geq(n_frames, 2);
    }
    end(&w);
  }
  in_ask = NULL;
}
