/* lower: forks and joins in native code. What is tested here is the code's side of runtime/fork.h:
 * what a fork writes down and where the newest one is told; who takes a fork, and what becomes of
 * it then, is tested with the runtime. */
#include "lower/emit.h"
#include "runtime/context.h"
#include "world.h"
#include <stdlib.h>

/* f forks `g`, fails if its first argument says so, and else makes the call itself. */
static const char all_types_text[] =
    "graph functions \"f.hia\"\n"
    "fn f (bool, i32, i64, f32, f64) -> (i64) root (bool, i32, i64, f32, f64) -> i64 !1:1 {\n"
    "%0:bool = arg 0\n%1:i32 = arg 1\n%2:i64 = arg 2\n%3:f32 = arg 3\n%4:f64 = arg 4\n"
    "fork 7 g %0, %1, %2, %3, %4 !1:20\n"
    "%5:i64 = call h %2 !1:40\n"
    "%6:bool = stolen 7\n"
    "%7:i64, %8:bool, %9:f32 = if %6 {\n"
    "%10:i64, %11:bool, %12:f32 = join 7 g !1:20\nyield %10, %11, %12\n"
    "} else {\n"
    "%13:i64, %14:bool, %15:f32 = call g %0, %1, %2, %3, %4 !1:20\nyield %13, %14, %15\n}\n"
    "%16:i64 = cast %8\n%17:i64 = cast %9\n"
    "%18:i64 = add %7, %16\n%19:i64 = add %18, %17\n%20:i64 = add %19, %5\nyield %20\n}\n"
    "fn g (bool, i32, i64, f32, f64) -> (i64, bool, f32) !2:1 {\n"
    "%0:bool = arg 0\n%1:i32 = arg 1\n%2:i64 = arg 2\n%3:f32 = arg 3\n%4:f64 = arg 4\n"
    "%5:i64 = cast %1\n%6:i64 = cast %4\n%7:i64 = add %5, %6\n"
    "%8:i64 = rem %7, %2 !2:30\nyield %8, %0, %3\n}\n"
    "fn h (i64) -> (i64) !3:1 {\n"
    "%0:i64 = arg 0\n%1:i64 = const -1\n%2:bool = eq %0, %1\n"
    "%3:i64 = if %2 {\n%4:i64 = fail %0 !3:30\nyield %4\n} else {\n"
    "%5:i64 = loop %0 {\n%6:i64 = arg 0\n%7:bool = ne %6, %6\nyield %7, %6\n} round {\n"
    "yield %6\n}\nyield %5\n}\nyield %3\n}\n";

/* Calls an entry as the runtime does, with `base` as the newest fork, and nobody who asks for work.
 */
static void call_with(world *w, hia_fork *base, hia_native_entry entry, hia_word *block) {
  const size_t depth = (size_t)1 << 20, below = (size_t)1 << 16;
  cr_assert_eq(hiaR_context_reserve(w->context, depth + below), HIA_OK);
  hiaR_context_limits(w->context, depth);
  hiaR_set_limit(w->context);
  hia_invocation invocation = {.head = base, .failure = &w->failure};
  hiaR_invoke(w->context, &invocation, entry, block);
}

/* Frames that were left are nobody's to a sanitizer. */
static HIA_UNINSTRUMENTED void read_fork(const hia_fork *fork, hia_word *words, size_t n) {
  for (size_t i = 0; i < n; i++) words[i] = ((const volatile hia_word *)fork)[i];
}

Test(fork, a_record_is_what_the_runtime_reads) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, all_types_text, level);
      hia_fork base = {0};
      hia_word block[6] = {1, hiaR_from_i32(-5), (hia_word)-1, hiaR_from_f32(-2.5f),
                           hiaR_from_f64(100.0)};
      call_with(w, &base, hiaJ_backend.entry(w->code, root_of(w->g, "f")), block);
      cr_assert_not_null(base.next);
      hia_word words[8];
      read_fork(base.next, words, HIA_LEN(words));
      cr_assert_eq(words[2], HIA_FORK_SHAPE(5, 3));
      cr_assert_arr_eq(words + 3, block, 5 * sizeof(hia_word), "level %d", level);
      /* What it names is g's entry, which answers behind its arguments. */
      cr_assert_eq(words[1] & HIA_FORK_TAKEN, 0);
      hia_word other[8] = {1, hiaR_from_i32(-5), 7, hiaR_from_f32(-2.5f), hiaR_from_f64(100.0)};
      call_with(w, &base, (hia_native_entry)words[1], other);
      cr_assert_eq(other[5], 95 % 7);
      cr_assert_eq(other[6], 1);
      cr_assert_eq(other[7], hiaR_from_f32(-2.5f));
    });
  });
}

Test(fork, nobody_takes_it) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, all_types_text, level);
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

/* Recursion with two forks that are open at once: tak, whose last argument is forked first. */
static const char tak_text[] =
    "graph functions \"tak.hia\"\n"
    "fn tak (i64, i64, i64) -> (i64) root (i64, i64, i64) -> i64 !1:1 {\n"
    "%0:i64 = arg 0\n%1:i64 = arg 1\n%2:i64 = arg 2\n%3:bool = ge %1, %0\n"
    "%4:i64 = if %3 {\nyield %2\n} else {\n"
    "%5:i64 = const 1\n%6:i64 = sub %0, %5\n%7:i64 = sub %1, %5\n%8:i64 = sub %2, %5\n"
    "fork 1 tak %8, %0, %1 !1:60\nfork 0 tak %7, %2, %0 !1:50\n"
    "%9:i64 = call tak %6, %1, %2 !1:40\n"
    "%10:bool = stolen 0\n"
    "%11:i64 = if %10 {\n%12:i64 = join 0 tak !1:50\nyield %12\n} else {\n"
    "%13:i64 = call tak %7, %2, %0 !1:50\nyield %13\n}\n"
    "%14:bool = stolen 1\n"
    "%15:i64 = if %14 {\n%16:i64 = join 1 tak !1:60\nyield %16\n} else {\n"
    "%17:i64 = call tak %8, %0, %1 !1:60\nyield %17\n}\n"
    "%18:i64 = call tak %9, %11, %15 !1:30\nyield %18\n}\nyield %4\n}\n";

Test(fork, forks_nest) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, tak_text, level);
      hia_word block[4] = {18, 12, 6};
      cr_assert_eq(run(w, "tak", block, 0), HIA_OK);
      cr_assert_eq(block[3], 7);
    });
  });
}

/* A function that forks, recurses without end and has a loop that calls, one that does not, and
 * calls of functions that do not fork. */
static const char loops_text[] =
    "graph functions \"loops.hia\"\n"
    "fn f (i64) -> (i64) root (i64) -> i64 !1:1 {\n"
    "%0:i64 = arg 0\n%1:i64 = const 1\n%2:i64 = const 0\n"
    "%3:bool = le %0, %2\n"
    "%4:i64 = if %3 {\nyield %0\n} else {\n%5:i64 = sub %0, %1\n"
    "fork 0 f %5 !1:20\n"
    "%6:i64 = call spin %0 !1:30\n"
    "%7:i64, %8:i64 = loop %0, %6 {\n%9:i64 = arg 0\n%10:i64 = arg 1\n%11:bool = gt %9, %2\n"
    "yield %11, %9, %10\n} round {\n"
    "%12:i64 = sub %9, %1\n%13:i64 = call spin %12 !1:40\n%14:i64 = add %10, %13\n"
    "%15:i64 = loop %14 {\n%16:i64 = arg 0\n%17:i64 = const 1000\n%18:bool = gt %16, %17\n"
    "yield %18, %16\n} round {\n%19:i64 = mul %16, %16\n%20:i64 = rem %19, %17 !9:9\nyield %20\n}\n"
    "yield %12, %15\n}\n"
    "%21:bool = stolen 0\n"
    "%22:i64 = if %21 {\n%23:i64 = join 0 f !1:20\nyield %23\n} else {\n"
    "%24:i64 = call f %5 !1:20\nyield %24\n}\n"
    "%25:i64 = add %22, %8\nyield %25\n}\nyield %4\n}\n"
    "fn spin (i64) -> (i64) !2:1 {\n"
    "%0:i64 = arg 0\n%1:i64 = const 3\n%2:i64, %3:i64 = loop %0, %1 {\n"
    "%4:i64 = arg 0\n%5:i64 = arg 1\n%6:i64 = const 0\n%7:bool = gt %4, %6\n"
    "yield %7, %4, %5\n} round {\n%8:i64 = const 1\n%9:i64 = sub %4, %8\n"
    "%10:i64 = bxor %5, %9\nyield %9, %10\n}\nyield %3\n}\n";

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
      compile_text(w, loops_text, level);
      hia_word block[2] = {60};
      cr_assert_eq(run(w, "f", block, 0), HIA_OK);
      cr_assert_eq((int64_t)block[1], loops(60), "%lld", (long long)block[1]);
    });
  });
}

/* ---- what the code looks like ---- */

static const char fib_fork_text[] =
    "graph functions \"fib.hia\"\n"
    "fn fib (i32) -> (i32) root (i32) -> i32 !1:1 {\n"
    "%0:i32 = arg 0\n%1:i32 = const 1\n%2:bool = le %0, %1\n"
    "%3:i32 = if %2 {\nyield %0\n} else {\n"
    "%4:i32 = sub %0, %1\n%5:i32 = const 2\n%6:i32 = sub %0, %5\n"
    "fork 0 fib %6 !3:2\n%7:i32 = call fib %4 !3:1\n%8:bool = stolen 0\n"
    "%9:i32 = if %8 {\n%10:i32 = join 0 fib !3:2\nyield %10\n} else {\n"
    "%11:i32 = call fib %6 !3:2\nyield %11\n}\n"
    "%12:i32 = add %7, %9\nyield %12\n}\nyield %3\n}\n";

static const char *asm_of(world *w, const char *text) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hia_compile_options options = {.level = 2};
  cr_assert_eq(hiaJ_backend.dump(w->session, graph_of(w, text), &options, HIA_DUMP_ASM, &t,
                                 w->error, sizeof w->error),
               HIA_OK, "%s", w->error);
  return t.data;
}

/* Times that `what` stands in the text between `from` and the end of that function. */
static int count_in(const char *text, const char *from, const char *what) {
  const char *at = strstr(text, from), *end = at ? strstr(at, ".size") : NULL;
  cr_assert(at && end, "%s", from);
  int n = 0;
  for (at = strstr(at, what); at && at < end; at = strstr(at + 1, what)) n++;
  return n;
}

Test(fork, the_newest_is_told_where_code_polls) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    const char *text = asm_of(&w, loops_text);
    /* Both stand where the limit is compared: at the entry and in the loop that calls. */
    cr_assert_geq(count_in(text, "\nf_0:", "(%r13)\n\tja"), 2);
    /* Before spin, twice, unless it was inlined; before the loop that calls nothing. */
    cr_assert_geq(count_in(text, "\nf_0:", ", 40(%r13)"), 4, "%s", text);
    /* What does not fork knows nothing of it. */
    text = asm_of(&w, fib_text);
    cr_assert_null(strstr(text, "40(%r13)"));
    /* One fork: the link, the entry, the shape, the argument. No call, no lock, one test. */
    text = asm_of(&w, fib_fork_text);
    cr_assert_eq(count_in(text, "\nfib_0:", "lock"), 0);
    cr_assert_eq(count_in(text, "\nfib_0:", "testb\t$1, "), 1, "%s", text);
    cr_assert_eq(count_in(text, "\nfib_0:", "callq\tfib_0"), 2);
    cr_assert_eq(count_in(text, "\nfib_0:", "GOT"), 0);
  });
  world_free(&w);
}
