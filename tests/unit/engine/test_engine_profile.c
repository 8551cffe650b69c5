/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Profiles by sampling: what they count, ticks and bytes, of runs on several threads and of several
 * engines at once; and how bad input ends. */
#include "runtime/base/base.h"
#include "tests/unit/helpers/program.h"
#include <hiaton/profile.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

static const char text[] = "fn busy(n: i32) -> i64 = {\n"
                           "  let (_, s) = loop (i = 0, s: i64 = 1) while i < n {\n"
                           "    (i + 1, bxor(s * 3, s / 7 + 1)) };\n"
                           "  s }\n"
                           "fn tree(d: i32, n: i32) -> i64 =\n"
                           "  if d == 0 then busy(n)\n"
                           "  else bxor(tree(d - 1, n), 3 * tree(d - 1, n + d))\n"
                           "fn main(d: i32) -> i64 = tree(d, 20000)\n"
                           "fn fails(d: i32) -> i64 = tree(d, 20000) / 0\n";

/* Lists that are freed and made again, of 24 bytes a cell, by lines 3 and 5 in equal parts, on
 * several threads by several tasks at a time. `double` cannot reuse the cells, which are read
 * later. Line 11 takes memory for an array, and for a tensor of its elements. */
enum { CELL = 24, CELLS = 100 };
static const char lists[] =
    "type List = Nil | Cons(h: i64, t: List)\n"
    "fn make(n: i32) -> List = loop (i = n, l = Nil) while i > 0 {\n"
    "  (i - 1, Cons(i64(i), l)) }.1\n"
    "fn double(l: List) -> List = match l { Nil => Nil, Cons(h, t) =>\n"
    "  Cons(2 * h, double(t)) }\n"
    "fn sum(l: List, s: i64) -> i64 = match l { Nil => s, Cons(h, t) => sum(t, s + h) }\n"
    "fn both(l: List) -> i64 = { let d = double(l); sum(l, 0) + sum(d, 0) }\n"
    "fn tree(k: i32, d: i32) -> i64 =\n"
    "  if d == 0 then both(make(k)) else bxor(tree(k, d - 1), 3 * tree(k, d - 1))\n"
    "fn row(n: i32) -> i64 = {\n"
    "  let a = [i64(i) + i64(n) for i in 0..1000];\n"
    "  a[n] }\n"
    "fn rows(n: i32, s: i64) -> i64 = if n == 0 then s else rows(n - 1, s + row(n % 7))\n"
    "fn main(d: i32) -> i64 = tree(100, d)\n"
    "fn arrays(n: i32) -> i64 = rows(n, 0)\n";

typedef struct runs {
  program *p;
  hia_profile *profile;
  int n;
} runs;

static hia_status run_with(const program *p, hia_profile *profile, int32_t number) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_value *arg = hia_value_i32(p->engine, number), *result = NULL;
  options.profile = profile;
  hia_status status = hia_run(p->function, &arg, 1, &options, &result, NULL);
  hia_value_free(result);
  hia_value_free(arg);
  return status;
}

static hia_status run_once(const program *p, hia_profile *profile) {
  return run_with(p, profile, 5);
}

static void *run_all(void *user) {
  const runs *r = user;
  for (int i = 0; i < r->n; i++) cr_expect_eq(run_once(r->p, r->profile), HIA_OK);
  return NULL;
}

static program open(hia_engine_kind kind, unsigned threads, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  return open_program(&options, text, name);
}

/* What holds of every profile. */
static hia_profile_sum check(hia_profile *profile) {
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  uint64_t self = 0, last = UINT64_MAX;
  for (uint64_t i = 0; i < sum.n_lines; i++) {
    hia_profile_line line = HIA_PROFILE_LINE_INIT;
    cr_assert_eq(hia_profile_get_line(profile, i, &line), HIA_OK);
    cr_assert(line.self <= line.total && line.total <= sum.ticks && line.self <= last);
    cr_assert(line.line >= 1 && line.line <= 9, "line %u", line.line);
    cr_assert_str_eq(line.file, "t.hia");
    last = line.self;
    self += line.self;
  }
  hia_profile_line none = HIA_PROFILE_LINE_INIT;
  cr_assert_eq(self + sum.unknown, sum.ticks);
  cr_assert_eq(hia_profile_get_line(profile, sum.n_lines, &none), HIA_ARGUMENT);
  return sum;
}

/* Runs until something was counted. */
static void until_counted(const program *p, hia_profile *profile) {
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  for (int i = 0; i < 20000 && sum.n_lines == 0; i++) {
    cr_assert_eq(run_once(p, profile), HIA_OK);
    cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  }
  cr_assert(sum.n_lines > 0);
}

Test(engine_profile, lines_of_every_engine) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_JIT, HIA_ENGINE_AUTO};
  for (unsigned i = 0; i < 3; i++)
    for (unsigned threads = 1; threads <= 3; threads += 2) {
      if (kinds[i] == HIA_ENGINE_JIT && !has_native()) continue;
      hia_profile *profile = hia_profile_new(NULL, 100000);
      program p = open(kinds[i], threads, "main");
      until_counted(&p, profile);
      hia_profile_sum sum = check(profile);
      cr_assert_eq(sum.tick_ns, 100000);
      close_program(&p);
      check(profile); /* it does not need the engine */
      hia_profile_free(profile);
    }
}

Test(engine_profile, several_engines_at_once) {
  hia_profile *profile = hia_profile_new(NULL, 50000);
  program p[2] = {open(HIA_ENGINE_AUTO, 2, "main"), open(HIA_ENGINE_INTERP, 2, "main")};
  runs r[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    r[i] = (runs){&p[i % 2], profile, 10};
    cr_assert_eq(pthread_create(&threads[i], NULL, run_all, &r[i]), 0);
  }
  for (int i = 0; i < 20; i++) check(profile);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  check(profile);
  for (int i = 0; i < 2; i++) close_program(&p[i]);
  hia_profile_free(profile);
}

/* A run that fails is counted, too. */
Test(engine_profile, failures) {
  hia_profile *profile = hia_profile_new(NULL, 20000);
  program p = open(HIA_ENGINE_AUTO, 1, "fails");
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  for (int i = 0; i < 20000 && sum.ticks == 0; i++) {
    cr_assert_eq(run_once(&p, profile), HIA_DIV_ZERO);
    cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  }
  cr_assert(sum.ticks > 0);
  check(profile);
  close_program(&p);
  hia_profile_free(profile);
}

/* ---- memory ---- */

static program open_lists(hia_engine_kind kind, unsigned threads, uint32_t flags,
                          const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  /* The two calls of `tree` are equal ones, which may not be made once. */
  options.flags = flags | HIA_FLAG_NO_MERGING;
  options.disabled_passes = "cse";
  return open_program(&options, lists, name);
}

static uint64_t taken_at(hia_profile *profile, uint32_t number, uint64_t *total) {
  uint64_t taken = 0;
  hia_profile_line line = HIA_PROFILE_LINE_INIT;
  *total = 0;
  for (uint64_t i = 0; hia_profile_get_line(profile, i, &line) == HIA_OK; i++) {
    cr_assert(line.taken <= line.total_taken);
    if (line.line == number) taken += line.taken, *total += line.total_taken;
  }
  return taken;
}

static bool is_near(uint64_t a, uint64_t b, double share) {
  return (double)a > (1 - share) * (double)b && (double)a < (1 + share) * (double)b;
}

static void check_lists(hia_profile *profile, uint64_t expected) {
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  uint64_t total, made = taken_at(profile, 3, &total), doubled = taken_at(profile, 5, &total);
  cr_expect(is_near(sum.taken, expected, 0.2), "%" PRIu64 " bytes, not about %" PRIu64, sum.taken,
            expected);
  cr_expect(is_near(made, sum.taken / 2, 0.3), "%" PRIu64 " of %" PRIu64, made, sum.taken);
  cr_expect_eq(made + doubled + sum.unknown_taken, sum.taken);
  taken_at(profile, 9, &total);
  cr_expect(is_near(total, sum.taken, 0.05), "%" PRIu64 " of %" PRIu64, total, sum.taken);
}

/* A profile counts the same number of bytes for one long run as for many short ones that take the
 * same together, each less than lies between two samples. (A run of HIA_ENGINE_AUTO may begin
 * again, and then takes more.) */
Test(engine_profile, bytes_of_lists) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_JIT};
  enum { ALL = 13, FEW = 5 };
  for (unsigned i = 0; i < 2; i++)
    for (unsigned threads = 1; threads <= 3; threads += 2)
      for (int depth = FEW; depth <= ALL; depth += ALL - FEW) {
        if (kinds[i] == HIA_ENGINE_JIT && !has_native()) continue;
        hia_profile *profile = hia_profile_new(NULL, 0);
        program p = open_lists(kinds[i], threads, HIA_FLAG_PROFILE_MEMORY, "main");
        for (int run = 0; run < 1 << (ALL + 1 - depth); run++)
          cr_assert_eq(run_with(&p, profile, depth), HIA_OK);
        check_lists(profile, (uint64_t)2 * CELL * CELLS << (ALL + 1));
        close_program(&p);
        hia_profile_free(profile);
      }
}

Test(engine_profile, bytes_of_arrays) {
  static const hia_engine_kind kinds[] = {HIA_ENGINE_INTERP, HIA_ENGINE_JIT};
  enum { ROWS = 4000, ROW = 2 * (8 * 1000 + 24) };
  for (unsigned i = 0; i < 2; i++) {
    if (kinds[i] == HIA_ENGINE_JIT && !has_native()) continue;
    hia_profile *profile = hia_profile_new(NULL, 0);
    program p = open_lists(kinds[i], 1, HIA_FLAG_PROFILE_MEMORY, "arrays");
    uint64_t total;
    cr_assert_eq(run_with(&p, profile, ROWS), HIA_OK);
    uint64_t taken = taken_at(profile, 11, &total);
    cr_expect(is_near(taken, ROWS * ROW, 0.12), "%" PRIu64, taken);
    close_program(&p);
    hia_profile_free(profile);
  }
}

/* Without the flag nothing is counted, and with it nothing without a profile. */
Test(engine_profile, no_bytes) {
  hia_profile *profile = hia_profile_new(NULL, 0);
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  program plain = open_lists(HIA_ENGINE_AUTO, 1, 0, "main"),
          flagged = open_lists(HIA_ENGINE_AUTO, 1, HIA_FLAG_PROFILE_MEMORY, "main");
  cr_assert_eq(run_with(&plain, profile, 12), HIA_OK);
  cr_assert_eq(run_with(&flagged, NULL, 12), HIA_OK);
  cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  cr_assert(sum.taken == 0 && sum.sample == 0 && sum.unknown_taken == 0);
  close_program(&plain);
  close_program(&flagged);
  hia_profile_free(profile);
}

Test(engine_profile, bytes_of_several_engines_at_once) {
  hia_profile *profile = hia_profile_new(NULL, 0);
  hia_engine_kind native = has_native() ? HIA_ENGINE_JIT : HIA_ENGINE_INTERP;
  program p[2] = {open_lists(native, 2, HIA_FLAG_PROFILE_MEMORY, "main"),
                  open_lists(HIA_ENGINE_INTERP, 2, HIA_FLAG_PROFILE_MEMORY, "main")};
  runs r[4];
  pthread_t threads[4];
  enum { RUNS = 100, DEPTH = 5 };
  for (int i = 0; i < 4; i++) {
    r[i] = (runs){&p[i % 2], profile, RUNS};
    cr_assert_eq(pthread_create(&threads[i], NULL, run_all, &r[i]), 0);
  }
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  uint64_t expected = (uint64_t)4 * RUNS * 2 * CELL * CELLS << DEPTH;
  cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  cr_expect(is_near(sum.taken, expected, 0.25), "%" PRIu64 ", not about %" PRIu64, sum.taken,
            expected);
  for (int i = 0; i < 2; i++) close_program(&p[i]);
  hia_profile_free(profile);
}

/* Structures of the first header, which ended before these fields. */
Test(engine_profile, older_callers) {
  hia_profile *profile = hia_profile_new(NULL, 20000);
  program p = open(HIA_ENGINE_AUTO, 1, "main");
  until_counted(&p, profile);
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  hia_profile_line line = HIA_PROFILE_LINE_INIT;
  sum.size = offsetof(hia_profile_sum, sample);
  line.size = offsetof(hia_profile_line, taken);
  sum.taken = line.taken = 77;
  cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  cr_assert_eq(hia_profile_get_line(profile, 0, &line), HIA_OK);
  cr_assert(sum.n_lines > 0 && sum.taken == 77 && line.line > 0 && line.taken == 77);
  cr_assert(sum.size == offsetof(hia_profile_sum, sample));
  close_program(&p);
  hia_profile_free(profile);
}

static void *refuse(void *user, size_t size) {
  (void)user, (void)size;
  return NULL;
}

Test(engine_profile, bad_input) {
  hia_allocator none = {.alloc = refuse}, half = none;
  hia_profile *profile = hia_profile_new(NULL, 0);
  hia_profile_sum sum = HIA_PROFILE_SUM_INIT;
  hia_profile_line line = HIA_PROFILE_LINE_INIT;
  none.resize = hiaR_malloc.resize;
  none.free = hiaR_malloc.free;
  cr_assert_null(hia_profile_new(&none, 0));
  cr_assert_null(hia_profile_new(&half, 0));
  cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_OK);
  cr_assert(sum.ticks == 0 && sum.n_lines == 0 && sum.tick_ns == 1000000);
  cr_assert_eq(hia_profile_get_line(profile, 0, &line), HIA_ARGUMENT);
  sum.size = line.size = 0;
  cr_assert_eq(hia_profile_get_sum(profile, &sum), HIA_ARGUMENT);
  cr_assert_eq(hia_profile_get_line(profile, 0, &line), HIA_ARGUMENT);
  cr_assert_eq(hia_profile_get_sum(NULL, &sum), HIA_ARGUMENT);
  cr_assert_eq(hia_profile_get_line(NULL, 0, &line), HIA_ARGUMENT);
  hia_profile_free(profile);
  hia_profile_free(NULL);
}
