/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Versions without batches, which an engine makes for functions whose waves were narrow, and
 * versions that it finds in the cache. test_engine_speculate.c tests which runs use a version, and
 * what a version assumes. */
#include "jit/cache/store.h"
#include "jit/versions/observe.h"
#include "jit/versions/speculate.h"
#include "tests/unit/helpers/versions.h"
#include <hiaton/cache.h>

#include <unistd.h>

/* ---- versions without batches ---- */

static const char narrow_text[] =
    "param A: f32[64, 64] = glorot_uniform()\n"
    "fn chain(n: i64) -> f32[64] = if n == 0 then full(0.1, 64) else tanh(A @ chain(n - 1))\n"
    "fn wide(n: i64, m: i64) -> f32 = sum([sum(chain(n)) for i in 0..m])\n"
    "fn narrow(n: i64, m: i64) -> f32 = sum(chain(n)) + f32(m)\n";

static uint32_t run_numbers(const program *p, int64_t n, int64_t m, uint64_t *rows) {
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_value *args[2] = {hia_value_i64(p->engine, n), hia_value_i64(p->engine, m)}, *result = NULL;
  options.stats = &stats;
  cr_assert_eq(hia_run(p->function, args, 2, &options, &result, NULL), HIA_OK);
  hia_value_free(result);
  for (int i = 0; i < 2; i++) hia_value_free(args[i]);
  *rows = stats.batch_rows;
  return stats.version;
}

/* Once waves are wide, runs have batches again, for good. */
Test(engine_versions, waves_of_one_row) {
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = HIA_SPECULATE_EAGER;
  options.flags = HIA_FLAG_NO_REUSE;
  program p = open_program(&options, narrow_text, "narrow");
  uint64_t rows;
  cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
  rows = 0; /* the first runs are observed, in the interpreter */
  for (int i = 0; i <= HIA_OBSERVED_RUNS && !rows; i++)
    cr_assert_eq(run_numbers(&p, 20, 1, &rows), 0);
  cr_assert_gt(rows, 0);
  unsigned n_batched = 0;
  for (int i = 0; i < 300; i++) {
    uint32_t version = run_numbers(&p, 20, 1 + i % 2, &rows);
    cr_assert(version != 0 || rows > 0);
    n_batched += rows > 0;
  }
  cr_assert(n_batched >= 2 && n_batched < 10, "%u", n_batched);
  test_text told = explained(&p, WORDS("is not assumed here"));
  cr_assert(strstr(told.data, "nothing is batched"), "%s", told.data);
  test_text_free(&told);
  close_program(&p);
  p = open_program(&options, narrow_text, "wide");
  cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
  rows = 0; /* the first one that is not observed is as narrow as the chain */
  for (int i = 0; i <= HIA_OBSERVED_RUNS && !rows; i++) run_numbers(&p, 20, 1, &rows);
  cr_assert_gt(rows, 0);
  for (int i = 0; i < 4; i++) run_numbers(&p, 20, 1, &rows);
  cr_assert_eq(rows, 0);
  unsigned n_wide = 0;
  for (int i = 0; i < 300; i++) {
    run_numbers(&p, 5, 40, &rows);
    n_wide += rows > 0;
  }
  cr_assert_gt(n_wide, 150);
  close_program(&p);
}

/* Notes runs of which computing 400 rows in ten waves took a part. */
static void look_at(const program *p, unsigned n_runs, uint64_t compute_ns) {
  const hia_fn_version *general = hiaJ_version(p->function, HIA_VERSION_NATIVE);
  hia_usage usage = {.batch = {.rows = 400, .waves = 10, .compute_ns = compute_ns}};
  for (unsigned i = 0; i < n_runs; i++)
    hiaJ_look_at_waves(p->function, general, &usage, 1000, false);
}

/* Waves are wide, but little of the time is that of their rows: then it is tried without batches.
 * One run that the system has put aside while it computed rows decides nothing. */
Test(engine_versions, waves_that_take_little_time) {
  NEEDS_NATIVE;
  for (int is_much = 0; is_much < 2; is_much++) {
    hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
    program p = open_program(&options, narrow_text, "wide");
    cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
    hia_speculation *s = hiaJ_speculation_of(p.function);
    look_at(&p, 1, 900);
    cr_assert(!s->is_wide);
    look_at(&p, is_much ? 1 : 0, 900);
    look_at(&p, 20, 400);
    cr_assert_eq(s->is_wide, is_much == 1);
    cr_assert_eq(s->n_made, is_much ? 0 : 1);
    cr_assert(is_much || s->specials[0].is_narrow);
    close_program(&p);
  }
}

/* Makes a step on one argument; returns its loss. */
static double step(hia_trainer *trainer, hia_value *arg, hia_run_stats *stats) {
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  double loss = 0;
  options.stats = stats;
  cr_assert_eq(hia_trainer_step(trainer, &arg, 1, &options, &loss, NULL), HIA_OK);
  return loss;
}

static const char trained_text[] =
    "param A: f32[64, 64] = glorot_uniform()\n"
    "fn chain(n: i64) -> f32[64] = if n == 0 then full(0.1, 64) else tanh(A @ chain(n - 1))\n"
    "fn loss(lengths: i64[?]) -> f32 = sum([sum(chain(n)) for n in lengths])\n";

/* Steps of training on a chain have a version without batches; wide steps keep them. */
Test(engine_versions, steps_with_waves_of_one_row) {
  NEEDS_NATIVE;
  for (int is_wide = 0; is_wide < 2; is_wide++) {
    program p[2];
    hia_trainer *trainers[2];
    hia_value *args[2];
    for (int k = 0; k < 2; k++) {
      hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
      options.speculate = HIA_SPECULATE_EAGER;
      options.flags = HIA_FLAG_NO_REUSE;
      options.batching = k ? HIA_BATCH_NONE : HIA_BATCH_SEGMENTS;
      p[k] = open_program(&options, trained_text, "loss");
      cr_assert_eq(hia_function_prepare(p[k].function, NULL), HIA_OK);
      cr_assert_eq(hia_trainer_new(p[k].function, NULL, &trainers[k], NULL), HIA_OK);
      args[k] = parse(&p[k], 0, is_wide ? "[9,9,9,9,9,9,9,9,9,9,9,9]" : "[20]");
    }
    unsigned n_batched = 0, n_without = 0;
    for (int i = 0, left = 100; i < 20000 && left > 0; i++, left -= n_batched > 0) {
      hia_run_stats stats = HIA_RUN_STATS_INIT, ignored = HIA_RUN_STATS_INIT;
      if (!n_batched) usleep(500); /* the steps are being compiled */
      double loss = step(trainers[0], args[0], &stats);
      cr_assert_eq(loss, step(trainers[1], args[1], &ignored));
      n_batched += stats.batch_rows > 0;
      n_without += stats.version != 0 && stats.batch_rows == 0;
    }
    cr_assert(is_wide ? !n_without : n_without > 0, "%u, %u", n_without, n_batched);
    cr_assert_gt(n_batched, 0);
    for (int k = 0; k < 2; k++) {
      hia_value_free(args[k]);
      hia_trainer_free(trainers[k]);
      close_program(&p[k]);
    }
  }
}

/* ---- versions in the cache ---- */

/* What is instrumented is not cached: with sanitizers there is nothing to test. */
#if !defined(HIA_ASAN) && !defined(HIA_TSAN)

static program open_cached(hia_speculate mode, const char *folder, const char *name) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.speculate = mode;
  options.cache = folder;
  return open_program(&options, versions_text, name);
}

/* Runs `net` in an engine of its own, and returns the version that the first run used. */
static uint32_t start_with(const char *folder, hia_speculate mode, const char *w, const char *b,
                           const char *expected) {
  program p = open_cached(mode, folder, "net");
  hia_value *args[3] = {parse(&p, 0, "3"), parse(&p, 1, w), parse(&p, 2, b)};
  char out[64];
  if (mode == HIA_SPECULATE_EAGER) cr_assert_eq(hia_function_prepare(p.function, NULL), HIA_OK);
  uint32_t version = run(&p, args, 3, out, sizeof out);
  cr_assert_str_eq(out, expected);
  for (int i = 0; i < 3; i++) hia_value_free(args[i]);
  close_program(&p);
  return version;
}

typedef struct list_file {
  hia_store *store;
  char name[HIA_STORE_NAME + 1];
  char bytes[20000];
  size_t size, body; /* where the list begins */
} list_file;

static void find_list(void *user, const hia_store_file *file) {
  list_file *l = user;
  size_t size;
  char *bytes = hiaJ_store_read(l->store, file->name, &size);
  static const char word[] = "\nversions\n";
  char *at = bytes ? memmem(bytes, size, word, sizeof word - 1) : NULL;
  if (at && size < sizeof l->bytes) {
    memcpy(l->name, file->name, sizeof l->name);
    memcpy(l->bytes, bytes, size);
    l->size = size;
    l->body = (size_t)(at - bytes) + sizeof word - 1;
  }
  if (bytes) hiaJ_store_free(l->store, bytes, size);
}

Test(engine_versions, versions_in_the_cache) {
  NEEDS_NATIVE;
  char folder[] = "/tmp/hia_speculate-XXXXXX";
  cr_assert_not_null(mkdtemp(folder));
  static const char other[] = "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]";
  program q = open(HIA_SPECULATE_OFF, "net");
  hia_value *args[3] = {parse(&q, 0, "3"), parse(&q, 1, W[0]), parse(&q, 2, "[1, 2]")};
  char expected[64], expected_other[64];
  run(&q, args, 3, expected, sizeof expected);
  for (int i = 1; i < 3; i++) hia_value_free(args[i]);
  args[1] = parse(&q, 1, other);
  args[2] = parse(&q, 2, "[1, 2, 3]");
  run(&q, args, 3, expected_other, sizeof expected_other);
  for (int i = 0; i < 3; i++) hia_value_free(args[i]);
  close_program(&q);

  cr_assert_eq(start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected), 0);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_EAGER, W[0], "[1, 2]", expected), 0);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected), 1);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_OFF, W[0], "[1, 2]", expected), 0);
  cr_assert_eq(start_with(folder, HIA_SPECULATE_ON, other, "[1, 2, 3]", expected_other), 0);

  /* The list cut short, and with other numbers: versions of other assumptions are not there. */
  static list_file l;
  cr_assert_eq(hiaJ_store_open(&hiaR_malloc, folder, 1 << 30, &l.store, NULL), HIA_OK);
  cr_assert_eq(hiaJ_store_each(l.store, false, find_list, &l), HIA_OK);
  cr_assert_gt(l.body, 0);
  static char changed[sizeof l.bytes];
  unsigned n_special = 0;
  for (size_t i = l.body; i < l.size; i++) {
    cr_assert(hiaJ_store_write(l.store, l.name, l.bytes, i));
    n_special += start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected) != 0;
    for (const char *c = "9 -x"; *c; c++) {
      memcpy(changed, l.bytes, l.size);
      changed[i] = *c;
      cr_assert(hiaJ_store_write(l.store, l.name, changed, l.size));
      n_special += start_with(folder, HIA_SPECULATE_ON, W[0], "[1, 2]", expected) != 0;
    }
  }
  cr_assert_lt(n_special, 3 * (l.size - l.body)); /* a change of what is not assumed is none */
  hiaJ_store_close(l.store);
  hia_cache_clear(folder, false, NULL);
  rmdir(folder);
}

#endif
