/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: forks and joins in native code, that is the contents of frames and of their tables
 * (runtime/native/fork.h). Steal requests and jobs are tested with the runtime. */
#include "lower/kit/emit.h"
#include "runtime/native/context.h"
#include "runtime/native/job.h"
#include "runtime/native/team.h"
#include "tests/unit/helpers/world.h"
#include <stdlib.h>

/* Returns 0, after as many safepoints as its argument says. */
#define DOWN_TEXT                                                                                  \
  "fn down (i64) -> (i64) !4:1 {\n"                                                                \
  "%0:i64 = arg 0\n%1:i64 = const 1\n%2:bool = lt %0, %1\n%3:i64 = if %2 {\nyield %0\n} else {\n"  \
  "%4:i64 = sub %0, %1\n%5:i64 = call down %4\nyield %5\n}\nyield %3\n}\n"

/* A thief that posts steal requests all the time, and never runs the job in its mailbox: the join
 * finds the job there, and makes the call with the arguments in the job. */
typedef struct thief {
  hia_context *victim, *self;
  _Atomic bool is_over;
  atomic_uint n_posted;
} thief;

static void *keep_posting(void *user) {
  thief *a = user;
  while (!atomic_load(&a->is_over)) {
    uintptr_t piece = atomic_load(&a->self->post.mailbox.task);
    bool posts = piece == HIA_MAILBOX_EMPTY &&
                 hia_steal_request_post(&a->victim->post.request, &a->self->post.mailbox);
    if (posts) atomic_fetch_add(&a->n_posted, 1);
    if (posts || piece == HIA_MAILBOX_REQUESTED) atomic_store(&a->victim->limit, UINTPTR_MAX);
    sched_yield();
  }
  return NULL;
}

enum { DEPTH = 1 << 20, BELOW = 1 << 16 };

/* A job that was finished: large jobs are in another list than those that are kept. */
static const hia_job *finished(const hia_context *context) {
  return context->jobs.retired ? context->jobs.retired : context->jobs.spare;
}

/* Runs fn(block) until one of its forks was promoted, or, if `max` is not 0, until that many
 * requests found none; `block` has room for n_words words. Returns the first argument of the
 * promoted fork, or -1. */
static hia_word run_until_promoted(world *w, const char *fn, hia_word *block, size_t n_words,
                                   unsigned max) {
  hia_context *context = w->context;
  cr_assert_eq(hiaR_context_reserve(context, DEPTH + BELOW), HIA_OK);
  hiaR_context_limits(context, DEPTH);
  hia_team *team = calloc(1, sizeof *team + sizeof(team->members[0]));
  thief a = {.victim = context};
  cr_assert(team && hiaR_context_new(&hiaR_malloc, &a.self) == HIA_OK);
  context->run.team = a.self->run.team = team;
  context->run.pool = (hia_pool *)(void *)team; /* only tested for NULL */
  context->run.unwinder = &w->unwinder;
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, keep_posting, &a), 0);
  hia_word *words = calloc(n_words, sizeof *words);
  cr_assert_not_null(words);
  cr_assert_null(finished(context));
  /* A thief that posts again has had a reply. */
  while (!finished(context) && (!max || atomic_load(&a.n_posted) <= max)) {
    memcpy(words, block, n_words * sizeof *words);
    context->giving.from = 0;
    w->failure.status = HIA_OK;
    w->failure.backtrace.length = 0;
    hiaR_set_limit(context);
    hia_invocation invocation = {.failure = &w->failure};
    hiaR_invoke(context, &invocation, hiaJ_backend.entry(w->code, root_of(w->g, fn)), words);
    cr_assert_null(invocation.promoted,
                   "a fork was promoted that was not open: no join removes it");
  }
  memcpy(block, words, n_words * sizeof *words);
  free(words);
  atomic_store(&a.is_over, true);
  pthread_join(thread, NULL);
  hia_word promoted = finished(context) ? finished(context)->block[0] : (hia_word)-1;
  hiaR_jobs_free(context);
  context->run.team = NULL;
  context->run.pool = NULL;
  hiaR_context_free(a.self);
  free(team);
  return promoted;
}
static void run_with_thief(world *w, const char *fn, hia_word *block, size_t n_words) {
  run_until_promoted(w, fn, block, n_words, 0);
}

Test(fork, what_is_taken_is_the_call) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("fork_all_types"), level);
      hia_word block[6] = {1, hiaR_from_i32(-5), 10, hiaR_from_f32(-2.5f), hiaR_from_f64(100.0)};
      run_with_thief(w, "f", block, HIA_LEN(block));
      cr_assert_eq(w->failure.status, HIA_OK);
      cr_assert_eq(block[5], 5 + 1 - 2 + 10);
      block[2] = 0;
      run_with_thief(w, "f", block, HIA_LEN(block));
      cr_assert_eq(w->failure.status, HIA_DIV_ZERO);
      cr_assert_str_eq(chain(w), "2:30 1:20", "level %d: %s", level, chain(w));
      block[2] = (hia_word)-1;
      run_with_thief(w, "f", block, HIA_LEN(block));
      cr_assert_eq(w->failure.status, HIA_FAILED);
      cr_assert_str_eq(chain(w), "3:30 1:40", "level %d: %s", level, chain(w));
    });
  });
}

/* f forks two calls, of a recursion whose leaves are below 2 and above 20. */
static const char pays_text[] =
    "graph functions \"pays.hia\"\n"
    "fn f (i64, i64) -> (i64) root (i64, i64) -> i64 !1:1 {\n"
    "%0:i64 = arg 0\n%1:i64 = arg 1\n"
    "fork 0 g %0 !1:20\nfork 1 g %1 !1:30\n%2:i64 = const 5000\n%3:i64 = call down %2 !1:40\n"
    "%4:bool = stolen 1\n"
    "%5:i64 = if %4 {\n%6:i64 = join 1 g !1:30\nyield %6\n} else {\n"
    "%7:i64 = call g %1 !1:30\nyield %7\n}\n"
    "%8:bool = stolen 0\n"
    "%9:i64 = if %8 {\n%10:i64 = join 0 g !1:20\nyield %10\n} else {\n"
    "%11:i64 = call g %0 !1:20\nyield %11\n}\n"
    "%12:i64 = const 100\n%13:i64 = mul %9, %12\n%14:i64 = add %13, %5\n%15:i64 = add %14, %3\n"
    "yield %15\n}\n"
    "fn g (i64) -> (i64) !2:1 {\n"
    "%0:i64 = arg 0\n%1:i64 = const 2\n%2:bool = lt %0, %1\n"
    "%3:i64 = if %2 {\nyield %0\n} else {\n"
    "%4:i64 = const 20\n%5:bool = gt %0, %4\n"
    "%6:i64 = if %5 {\n%7:i64 = neg %0\nyield %7\n} else {\n"
    "%8:i64 = sub %0, %1\n%9:i64 = call g %8 !2:30\nyield %9\n}\n"
    "yield %6\n}\nyield %3\n}\n" DOWN_TEXT;

#ifdef HIA_STRESS
enum { PROMOTES_ALL = 1 }; /* the oldest first */
#else
enum { PROMOTES_ALL = 0 };
#endif

/* A fork of a leaf is not promoted, even if it is the oldest; other forks are. */
Test(fork, leaves_are_not_promoted) {
  static const struct {
    int64_t a, b, promoted;
  } cases[] = {{3, 5, 3},    {1, 5, 5},   {-9, 1, -1}, {4, 0, 4},
               {21, 20, 20}, {21, 1, -1}, {20, 22, 20}};
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, pays_text, level);
      for (size_t i = 0; i < HIA_LEN(cases); i++) {
        int64_t a = cases[i].a, b = cases[i].b;
        hia_word block[3] = {hiaR_from_i64(a), hiaR_from_i64(b)};
        int64_t wanted = PROMOTES_ALL ? a : cases[i].promoted;
        unsigned max = wanted == -1 ? 20 : 0;
        hia_word promoted = run_until_promoted(w, "f", block, HIA_LEN(block), max);
        cr_assert_eq(hiaR_to_i64(promoted), wanted, "case %zu: %lld", i, (long long)promoted);
        a = a > 20 ? -a : a < 2 ? a : a % 2;
        b = b > 20 ? -b : b < 2 ? b : b % 2;
        cr_assert_eq(hiaR_to_i64(block[2]), 100 * a + b, "case %zu", i);
      }
    });
  });
}

/* The same with an argument of each dtype: how f computes it, when g is a leaf, and an argument
 * with which it is. */
static const char typed_text[] =
    "graph functions \"typed.hia\"\n"
    "fn f (i64, i64) -> (i64) root (i64, i64) -> i64 !1:1 {\n"
    "%%0:i64 = arg 0\n%%1:i64 = arg 1\n%%2:i64 = const 2\n"
    "%%20:%s = %s %%0%s\n%%21:%s = %s %%1%s\n"
    "fork 0 g %%0, %%20 !1:20\nfork 1 g %%1, %%21 !1:30\n"
    "%%22:i64 = const 5000\n%%3:i64 = call down %%22 !1:40\n"
    "%%4:bool = stolen 1\n"
    "%%5:i64 = if %%4 {\n%%6:i64 = join 1 g !1:30\nyield %%6\n} else {\n"
    "%%7:i64 = call g %%1, %%21 !1:30\nyield %%7\n}\n"
    "%%8:bool = stolen 0\n"
    "%%9:i64 = if %%8 {\n%%10:i64 = join 0 g !1:20\nyield %%10\n} else {\n"
    "%%11:i64 = call g %%0, %%20 !1:20\nyield %%11\n}\n"
    "%%14:i64 = add %%9, %%5\n%%15:i64 = add %%14, %%3\nyield %%15\n}\n"
    "fn g (i64, %s) -> (i64) !2:1 {\n"
    "%%9:i64 = arg 0\n%%0:%s = arg 1\n%s"
    "%%3:i64 = if %%2 {\nyield %%9\n} else {\n"
    "%%4:%s = const %s\n%%5:i64 = call g %%9, %%4 !2:30\nyield %%5\n}\nyield %%3\n}\n%s";

Test(fork, leaves_of_each_dtype) {
  static const struct {
    const char *type, *make, *with, *test, *leaf;
  } types[] = {
      {"bool", "gt", ", %2", "%2:bool = bnot %0\n", "false"},
      {"i32", "cast", "", "%1:i32 = const 2\n%2:bool = le %0, %1\n", "-1"},
      {"i64", "cast", "", "%1:i64 = const 2\n%2:bool = le %0, %1\n", "-1"},
      {"f32", "cast", "", "%1:f32 = const 0x1p+1\n%2:bool = le %0, %1\n", "-0x1p+0"},
      {"f64", "cast", "", "%1:f64 = const 0x1p+1\n%2:bool = le %0, %1\n", "-0x1p+0"},
  };
  static const int64_t pairs[][3] = {{3, 4, 3}, {-2, 3, 3}, {2, -7, -1}, {5, 0, 5}};
  for (size_t t = 0; t < HIA_LEN(types); t++) {
    LEVELS(w, {
      NO_THROW(&w->e, {
        hia_text text;
        const char *type = types[t].type, *make = types[t].make, *with = types[t].with;
        hiaR_text_init(&text, &w->e.comp.arena);
        hiaR_text_addf(&text, typed_text, type, make, with, type, make, with, type, type,
                       types[t].test, type, types[t].leaf, DOWN_TEXT);
        compile_text(w, text.data, level);
        for (size_t i = 0; i < HIA_LEN(pairs); i++) {
          int64_t a = pairs[i][0], b = pairs[i][1], wanted = PROMOTES_ALL ? a : pairs[i][2];
          hia_word block[3] = {hiaR_from_i64(a), hiaR_from_i64(b)};
          hia_word promoted =
              run_until_promoted(w, "f", block, HIA_LEN(block), wanted == -1 ? 20 : 0);
          cr_assert_eq(hiaR_to_i64(promoted), wanted, "%s, pair %zu: %lld", type, i,
                       (long long)promoted);
          cr_assert_eq(hiaR_to_i64(block[2]), a + b);
        }
      });
    });
  }
}

/* f forks g with n arguments, all equal to its own; for a negative number g is a leaf. */
static const char *many_args_text(world *w, int n) {
  hia_text same, types, args, t;
  hiaR_text_init(&same, &w->e.comp.arena);
  hiaR_text_init(&types, &w->e.comp.arena);
  hiaR_text_init(&args, &w->e.comp.arena);
  hiaR_text_init(&t, &w->e.comp.arena);
  for (int i = 0; i < n; i++) {
    hiaR_text_addf(&same, i ? ", %%0" : "%%0");
    hiaR_text_addf(&types, i ? ", i64" : "i64");
    hiaR_text_addf(&args, "%%%d:i64 = arg %d\n", i, i);
  }
  hiaR_text_addf(&t,
                 "graph functions \"many.hia\"\n"
                 "fn f (i64) -> (i64) root (i64) -> i64 !1:1 {\n%%0:i64 = arg 0\n"
                 "fork 0 g %s !1:20\n%%1:i64 = const 5000\n%%2:i64 = call down %%1 !1:40\n"
                 "%%3:bool = stolen 0\n%%4:i64 = if %%3 {\n%%5:i64 = join 0 g !1:20\n"
                 "yield %%5\n} else {\n%%6:i64 = call g %s !1:20\nyield %%6\n}\n"
                 "%%7:i64 = add %%4, %%2\nyield %%7\n}\n"
                 "fn g (%s) -> (i64) !2:1 {\n%s%%50:i64 = const 0\n%%51:bool = lt %%0, %%50\n"
                 "%%52:i64 = if %%51 {\nyield %%0\n} else {\n%%53:i64 = call down %%0\n"
                 "yield %%53\n}\nyield %%52\n}\n%s",
                 same.data, same.data, types.data, args.data, DOWN_TEXT);
  return t.data;
}

/* The runtime tests whether a fork pays only if it has at most 16 arguments. */
Test(fork, forks_of_many_arguments_are_not_tested) {
  for (int n = 15; n <= 18; n++) {
    LEVELS(w, {
      NO_THROW(&w->e, {
        compile_text(w, many_args_text(w, n), level);
        hia_word block[2] = {(hia_word)-5};
        bool is_promoted = n > 16 || PROMOTES_ALL;
        hia_word promoted = run_until_promoted(w, "f", block, HIA_LEN(block), is_promoted ? 0 : 20);
        cr_assert_eq(hiaR_to_i64(promoted), is_promoted ? -5 : -1, "%d", n);
        cr_assert_eq(hiaR_to_i64(block[1]), -5, "%d", n);
      });
    });
  }
}

static int64_t sums(int32_t x, int64_t y) {
  int32_t less = (int32_t)((uint32_t)x - 14);
  uint64_t more = (uint64_t)y + 3, rest = 3 - (uint64_t)y;
  uint64_t g = (((uint64_t)(int64_t)less * more) ^ rest) * 3 + 1 + 3;
  return (int64_t)(g + more + (uint64_t)(int64_t)x);
}

Test(fork, arguments_are_computed_from_what_is_there) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("fork_sums"), level);
      static const struct {
        int32_t x;
        int64_t y;
      } of[] = {{0, 0}, {100, -7}, {INT32_MIN, INT64_MAX}, {INT32_MIN + 8, INT64_MIN}};
      for (size_t i = 0; i < HIA_LEN(of); i++) {
        hia_word block[3] = {hiaR_from_i32(of[i].x), hiaR_from_i64(of[i].y)};
        run_with_thief(w, "f", block, HIA_LEN(block));
        cr_assert_eq((int64_t)block[2], sums(of[i].x, of[i].y), "level %d, %zu", level, i);
      }
    });
  });
}

/* f takes `adds` cycles more than 19982 between its fork and STOLEN, which is at the end of a
 * branch. */
static hia_graph *long_way_to_join(world *w, int adds) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hiaR_text_addf(&t, "graph functions \"f.hia\"\n"
                     "fn f (bool, i32, f32) -> (i32, f32) root (bool, i32, f32) -> (i32, f32) {\n"
                     "%%0:bool = arg 0\n%%1:i32 = arg 1\n%%2:f32 = arg 2\n"
                     "%%3:i32, %%4:f32 = if %%0 {\nfork 1 g %%1\n");
  int n = 10;
  hiaR_text_addf(&t, "%%10:f32 = rem %%2, %%2\n");
  for (int i = 1; i < 7; i++, n++) hiaR_text_addf(&t, "%%%d:f32 = rem %%%d, %%2\n", n + 1, n);
  for (int i = 0; i < 124; i++, n++) hiaR_text_addf(&t, "%%%d:f32 = div %%%d, %%2\n", n + 1, n);
  for (int i = 0; i < adds; i++, n++) hiaR_text_addf(&t, "%%%d:f32 = add %%%d, %%2\n", n + 1, n);
  hiaR_text_addf(&t,
                 "%%5:bool = stolen 1\n%%6:i32 = if %%5 {\n%%7:i32 = join 1 g\nyield %%7\n} else "
                 "{\n%%8:i32 = call g %%1\nyield %%8\n}\nyield %%6, %%%d\n"
                 "} else {\nyield %%1, %%2\n}\nyield %%3, %%4\n}\n"
                 "fn g (i32) -> (i32) {\n%%0:i32 = arg 0\n%%1:i32 = add %%0, %%0\nyield %%1\n}\n",
                 n);
  return graph_of(w, t.data);
}

/* There was a safepoint behind the end of a block, for nodes that cost nothing. */
Test(fork, a_join_at_the_end_of_a_long_way) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      for (int adds = 0; adds < 40; adds++) {
        compile_graph(w, long_way_to_join(w, adds), level);
        hia_word block[5] = {1, hiaR_from_i32(21), hiaR_from_f32(1.0f)};
        cr_assert_eq(run(w, "f", block, 0), HIA_OK);
        cr_assert_eq(block[3], hiaR_from_i32(42));
        cr_assert_eq(block[4], hiaR_from_f32((float)adds));
      }
    });
  });
}

Test(fork, nobody_takes_it) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("fork_all_types"), level);
      hia_word block[6] = {1, hiaR_from_i32(-5), 10, hiaR_from_f32(-2.5f), hiaR_from_f64(100.0)};
      cr_assert_eq(run(w, "f", block, 0), HIA_OK);
      cr_assert_eq(block[5], 5 + 1 - 2 + 10);
      block[2] = 0;
      cr_assert_eq(run(w, "f", block, 0), HIA_DIV_ZERO);
      cr_assert_str_eq(chain(w), "2:30 1:20", "level %d: %s", level, chain(w));
      block[2] = (hia_word)-1;
      cr_assert_eq(run(w, "f", block, 0), HIA_FAILED);
      cr_assert_str_eq(chain(w), "3:30 1:40", "level %d: %s", level, chain(w));
    });
  });
}

Test(fork, forks_nest) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("fork_tak"), level);
      hia_word block[4] = {18, 12, 6};
      cr_assert_eq(run(w, "tak", block, 0), HIA_OK);
      cr_assert_eq(block[3], 7);
    });
  });
}

static int64_t spin(int64_t n) {
  int64_t x = 3;
  while (n > 0) x ^= --n;
  return x;
}
static int64_t loops(int64_t n) {
  if (n <= 0) return n;
  int64_t x = spin(n);
  for (int64_t i = n; i > 0;) {
    x += spin(--i);
    while (x > 1000) x = x * x % 1000;
  }
  return loops(n - 1) + x;
}

Test(fork, loops_and_calls_that_do_not_fork) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("fork_loops"), level);
      hia_word block[2] = {60};
      cr_assert_eq(run(w, "f", block, 0), HIA_OK);
      cr_assert_eq((int64_t)block[1], loops(60), "%lld", (long long)block[1]);
    });
  });
}

/* More forks open at once than a frame has room for: f n is the sum of f 0 .. f (n - 1) and 1. */
static const char *many_text(world *w, int n) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hiaR_text_addf(&t, "graph functions \"many.hia\"\n"
                     "fn f (i64) -> (i64) root (i64) -> i64 !1:1 {\n%%0:i64 = arg 0\n"
                     "%%1:i64 = const 1\n%%2:bool = lt %%0, %%1\n%%3:i64 = if %%2 {\nyield %%1\n"
                     "} else {\n");
  int next = 4;
  for (int i = 1; i <= n; i++, next += 2)
    hiaR_text_addf(&t, "%%%d:i64 = const %d\n%%%d:i64 = sub %%0, %%%d\n", next, i, next + 1, next);
  for (int i = n; i > 1; i--) hiaR_text_addf(&t, "fork %d f %%%d !1:%d\n", i, 3 + 2 * i, i);
  int sum = next;
  hiaR_text_addf(&t, "%%%d:i64 = call f %%5 !1:1\n", next++);
  for (int i = 2; i <= n; i++, next += 5) {
    hiaR_text_addf(&t,
                   "%%%d:bool = stolen %d\n%%%d:i64 = if %%%d {\n%%%d:i64 = join %d f !1:%d\n"
                   "yield %%%d\n} else {\n%%%d:i64 = call f %%%d !1:%d\nyield %%%d\n}\n",
                   next, i, next + 1, next, next + 2, i, i, next + 2, next + 3, 3 + 2 * i, i,
                   next + 3);
    hiaR_text_addf(&t, "%%%d:i64 = add %%%d, %%%d\n", next + 4, sum, next + 1);
    sum = next + 4;
  }
  hiaR_text_addf(&t, "yield %%%d\n}\nyield %%3\n}\n", sum);
  return t.data;
}
static int64_t many(int64_t n, int64_t children) {
  if (n < 1) return 1;
  int64_t sum = 0;
  for (int64_t i = 1; i <= children; i++) sum += many(n - i, children);
  return sum;
}

Test(fork, more_than_a_frame_has_room_for) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, many_text(w, 2 * HIA_MAX_OPEN_FORKS), level);
      hia_word block[2] = {12};
      cr_assert_eq(run(w, "f", block, 0), HIA_OK);
      cr_assert_eq((int64_t)block[1], many(12, 2 * HIA_MAX_OPEN_FORKS));
      run_with_thief(w, "f", block, HIA_LEN(block));
      cr_assert_eq((int64_t)block[1], many(12, 2 * HIA_MAX_OPEN_FORKS));
    });
  });
}

/* In the stress build the worker usually promotes the one fork itself, before a request comes. */
#ifdef HIA_STRESS
enum { IS_STRESS = 1, PART = 300 };
#else
enum { IS_STRESS = 0, PART = 1 };
#endif

static void expect_steals(world *w, const char *fn, hia_word n) {
  hia_pool *pool;
  cr_assert_eq(hiaR_pool_new(&hiaR_malloc, 1, NULL, &pool), HIA_OK);
  hia_native_entry entry = hiaJ_backend.entry(w->code, root_of(w->g, fn));
  hia_limits limits = {.threads = 2, .pool = pool};
  hia_word alone[2] = {n}, block[2] = {n};
  cr_assert_eq(run(w, fn, alone, 0), HIA_OK);
  int runs = 0;
  do { /* until a helper has stolen a job */
    cr_assert_eq(
        hiaR_native_run(w->context, entry, block, &w->unwinder, &limits, &w->failure, &w->usage),
        HIA_OK);
    cr_assert_eq(block[1], alone[1]);
  } while (IS_STRESS ? ++runs < 10 : w->usage.steals == 0);
  hiaR_pool_free(pool);
}

Test(fork, taken_while_loops_are_under_way) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("fork_around"), level);
      expect_steals(w, "quiet", 1000000 / PART);
      expect_steals(w, "calls", 3000000 / PART);
    });
  });
}

/* Fills the stack with words that mean, in a frame at any address, that a fork is open. */
static void fill_stack(world *w, bool is_odd) {
  cr_assert_eq(hiaR_context_reserve(w->context, DEPTH + BELOW), HIA_OK);
  hia_word *top = (hia_word *)(void *)w->context->stack.top;
  for (ptrdiff_t i = 1; i <= 512; i++) top[-i] = i % 2 == is_odd ? HIA_FORKS_OPEN : 0;
}

Test(fork, nothing_is_open_in_loops_of_leaves) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("fork_leaf_loops"), level);
      for (int is_odd = 0; is_odd < 2; is_odd++) {
        fill_stack(w, is_odd);
        hia_word block[2] = {hiaR_from_i64(-300000)};
        hia_word promoted = run_until_promoted(w, "f", block, HIA_LEN(block), 20);
        cr_assert_eq(hiaR_to_i64(promoted), -1, "%lld", (long long)hiaR_to_i64(promoted));
      }
    });
  });
}

/* ---- the machine code ---- */

static const char *asm_of(world *w, const char *text) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hia_compile_options options = {.level = 2};
  cr_assert_eq(
      hiaJ_backend.dump(w->session, graph_of(w, text), &options, HIA_DUMP_ASM, &t, &w->error),
      HIA_OK, "%s", said(w->error));
  return t.data;
}

/* The number of times that `what` occurs between `from` and the end of that function. */
static int count_in(const char *text, const char *from, const char *what) {
  const char *at = strstr(text, from), *end = at ? strstr(at, ".size") : NULL;
  cr_assert(at && end, "%s", from);
  int n = 0;
  for (at = strstr(at, what); at && at < end; at = strstr(at + 1, what)) n++;
  return n;
}

Test(fork, costs_what_it_must) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    /* A byte, the argument, a test. No call, no lock, nothing in the context. */
    const char *text = asm_of(&w, graph_file("fork_fib"));
    cr_assert_eq(count_in(text, "\nfib_0:", "lock"), 0);
    cr_assert_eq(count_in(text, "\nfib_0:", "cmpb\t$0, "), 1, "%s", text);
    cr_assert_eq(count_in(text, "\nfib_0:", "callq\tfib_0"), 2);
    cr_assert_eq(count_in(text, "\nfib_0:", "(%r13)"), 1, "the safepoint");
    cr_assert_eq(count_in(text, "\nfib_0:", "GOT"), 0);
    cr_assert_eq(count_in(text, "\nfib_0:", "%rbp, %rsp"), 0, "no frame pointer");
  });
  world_free(&w);
}

/* fib, with %s for the nodes before its branch, which define the condition %%2. */
static const char pays_of_text[] =
    "graph functions \"fib.hia\"\n"
    "fn fib (i32, f64) -> (i32) root (i32, f64) -> i32 !1:1 {\n"
    "%%0:i32 = arg 0\n%%90:f64 = arg 1\n%%1:i32 = const 1\n%s"
    "%%3:i32 = if %%2 {\nyield %%0\n} else {\n"
    "%%4:i32 = sub %%0, %%1\n%%5:i32 = const 2\n%%6:i32 = sub %%0, %%5\n"
    "fork 0 fib %%6, %%90 !3:2\n%%7:i32 = call fib %%4, %%90 !3:1\n%%8:bool = stolen 0\n"
    "%%9:i32 = if %%8 {\n%%10:i32 = join 0 fib !3:2\nyield %%10\n} else {\n"
    "%%11:i32 = call fib %%6, %%90 !3:2\nyield %%11\n}\n"
    "%%12:i32 = add %%7, %%9\nyield %%12\n}\nyield %%3\n}\n%s";

/* Cheap operations that cannot fail decide whether a fork pays; no others are tested. */
Test(fork, conditions_that_are_tested) {
  static const struct {
    const char *condition;
    bool is_tested;
  } cases[] = {
      {"%2:bool = le %0, %1\n", true},
      {"%20:i32 = mul %0, %0\n%2:bool = le %20, %1\n", true},
      {"%20:f64 = cast %0\n%2:bool = lt %20, %90\n", true},
      {"%20:bool = lt %0, %1\n%21:f64 = if %20 {\n%22:f64 = mul %90, %90\nyield %22\n"
       "} else {\nyield %90\n}\n%2:bool = le %0, %1\n",
       true},
      {"%20:bool = lt %0, %1\n%21:f64 = if %20 {\n%22:f64 = rem %90, %90\nyield %22\n"
       "} else {\nyield %90\n}\n%2:bool = le %0, %1\n",
       false},
      {"%20:i32 = div %1, %0 !4:1\n%2:bool = le %20, %1\n", false},
      {"%20:f64 = rem %90, %90\n%2:bool = lt %20, %90\n", false},
      {"%20:i64 = cast %0\n%21:i64 = call down %20 !4:2\n%2:bool = le %0, %1\n", false},
      {"%20:bool = lt %0, %1\n%21:i32 = if %20 {\nyield %1\n} else {\nyield %0\n}\n"
       "%2:bool = le %21, %1\n",
       false},
      {"%20:i32 = loop %0 {\n%21:i32 = arg 0\n%22:bool = gt %21, %1\nyield %22, %21\n} round {\n"
       "%23:i32 = sub %21, %1\nyield %23\n}\n%2:bool = le %20, %1\n",
       false},
  };
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (size_t i = 0; i < HIA_LEN(cases); i++) {
      hia_text t;
      hiaR_text_init(&t, &w.e.comp.arena);
      hiaR_text_addf(&t, pays_of_text, cases[i].condition, DOWN_TEXT);
      const char *text = asm_of(&w, t.data);
      bool is_tested = strstr(text, "\nhia_pays_0:");
      cr_assert_eq(is_tested, cases[i].is_tested, "%s", cases[i].condition);
      if (!is_tested) continue;
      cr_assert_eq(count_in(text, "\nhia_pays_0:", "call"), 0);
      cr_assert_eq(count_in(text, "\nhia_pays_0:", "\tj"), 0, "%s", text);
    }
  });
  world_free(&w);
}
