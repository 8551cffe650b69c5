/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Profiles by sampling: what they count, of runs on several threads and of several engines at once;
 * and how bad input ends. */
#include "runtime/base/base.h"
#include "tests/unit/helpers/program.h"
#include <hiaton/profile.h>

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

typedef struct runs {
  program *p;
  hia_profile *profile;
  int n;
} runs;

static hia_status run_once(const program *p, hia_profile *profile) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_value *arg = hia_value_i32(p->engine, 5), *result = NULL;
  options.profile = profile;
  hia_status status = hia_run(p->function, &arg, 1, &options, &result, NULL);
  hia_value_free(result);
  hia_value_free(arg);
  return status;
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
