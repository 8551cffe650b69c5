/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: arrays in native code: reading, changing in place and as copies, views, what fails, lack
 * of memory, several workers. */
#include "tests/unit/helpers/data_world.h"
#include "tests/unit/helpers/sources.h"

typedef struct pair {
  int64_t a, b;
} pair;

/* ---- what the functions of tests/cli/arrays.hia give ---- */

static pair nth(int64_t i) { return (pair){(i * 7919 + 13) % 1009, i}; }

static int64_t sum(const pair *xs, int64_t n) {
  int64_t s = 0;
  for (int64_t i = 0; i < n; i++) s += xs[i].a * (i + 1);
  return s;
}

static pair *pairs(int64_t n) {
  pair *xs = malloc((size_t)(n ? n : 1) * sizeof *xs);
  for (int64_t i = 0; i < n; i++) xs[i] = nth(i);
  return xs;
}

static int64_t sieve(int64_t n) {
  char *is_composite = calloc((size_t)n, 1);
  int64_t count = 0;
  for (int64_t i = 2; i < n; i++) {
    count += !is_composite[i];
    for (int64_t k = i * i; k < n; k += i) is_composite[k] = 1;
  }
  free(is_composite);
  return count;
}

static int by_a(const void *x, const void *y) {
  int64_t a = ((const pair *)x)->a, b = ((const pair *)y)->a;
  return (a > b) - (a < b);
}

static int64_t sorted(int64_t n) {
  pair *xs = pairs(n);
  qsort(xs, (size_t)n, sizeof *xs, by_a);
  int64_t s = sum(xs, n);
  free(xs);
  return s;
}

static int64_t rows(int64_t n) {
  int64_t s = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = i / 2; j < i; j++) s += i * j;
  return s;
}

static int64_t versions(int64_t n) {
  pair *xs = pairs(n);
  int64_t s = 0;
  for (int64_t i = 0; i < n; i++) {
    s += sum(xs, n);
    xs[i] = (pair){i, -1};
  }
  free(xs);
  return s;
}

static int64_t grow(int64_t n) {
  pair *xs = malloc((size_t)1 << 20);
  int64_t len = 1;
  xs[0] = (pair){1, 1};
  for (int64_t i = 1; i < n; i++) {
    int64_t half = len / 2;
    memcpy(xs + len, xs, (size_t)half * sizeof *xs);
    len += half;
    xs[len++] = (pair){i, i};
  }
  int64_t s = sum(xs, len) + len;
  free(xs);
  return s;
}

static int64_t view(int64_t n) {
  pair *xs = pairs(n), *v = xs + n / 4;
  int64_t len = n / 2 - n / 4, of_v = sum(v, len);
  v[0] = (pair){1, 1};
  int64_t s = sum(v, len) * 1000 + of_v;
  free(xs);
  return s;
}

static int64_t split(int64_t n) {
  int64_t s = 0;
  for (int64_t i = 0; i < n; i++) s += nth(i).a * nth(i).b;
  return s;
}

static const struct {
  const char *name;
  int64_t (*c)(int64_t);
  int64_t small, large;
} programs[] = {{"sieve", sieve, 50, 100000}, {"sorted", sorted, 40, 3000},
                {"rows", rows, 12, 200},      {"versions", versions, 12, 200},
                {"grow", grow, 8, 20},        {"view", view, 40, 3000},
                {"split", split, 40, 3000}};
static const char *const one_arg[] = {"trees"};

/* ---- the program ---- */

static char *read_program(void) {
  FILE *file = fopen(HIA_TEST_DIR "/cli/arrays.hia", "r");
  cr_assert_not_null(file);
  char *text = calloc(1, 1 << 16);
  cr_assert_gt(fread(text, 1, (1 << 16) - 1, file), 0);
  fclose(file);
  return text;
}

static const char *const roots[] = {"sieve", "sorted", "rows",   "versions", "grow", "view",
                                    "trees", "index",  "change", "slice",    "far",  "split"};

typedef enum way { COUNTED, UNCOUNTED, READ } way;

static void compile_arrays(data_world *d, hia_pass_use use, way as, int level) {
  char *text = read_program();
  compiled c;
  compile_good(&c, text);
  hia_inst_id insts[HIA_LEN(roots)];
  hia_fn_id fns[HIA_LEN(roots)];
  for (size_t i = 0; i < HIA_LEN(roots); i++) insts[i] = instance(&c, roots[i], HIA_NONE);
  hia_graph *g =
      hiaF_build(c.program, &d->w.e.comp, &d->w.e.types, insts, HIA_LEN(roots), false, fns);
  for (size_t i = 0; i < HIA_LEN(roots); i++) hiaG_fn(g, fns[i])->is_root = true;
  const hia_pass_options options = {
      .use = use, .verify = true, .disabled = as == UNCOUNTED ? "all" : NULL};
  hiaG_run_passes(g, &options);
  compile_data(d, g, as == READ, level);
  discard(&c);
  free(text);
}

static int64_t run_one(data_world *d, int level, const char *fn, int64_t n) {
  return run_counted(d, level, fn, n, 0);
}

static void check_programs(data_world *d, int level, bool is_large) {
  for (size_t i = 0; i < HIA_LEN(programs); i++) {
    int64_t n = is_large ? programs[i].large : programs[i].small;
    cr_assert_eq(run_one(d, level, programs[i].name, n), programs[i].c(n), "level %d: %s", level,
                 programs[i].name);
  }
  cr_assert_eq(run_one(d, level, one_arg[0], is_large ? 12 : 4), is_large ? 4096 : 16);
}

Test(array, values) {
  EACH_LEVEL(d, {
    compile_arrays(d, HIA_USE_NATIVE, COUNTED, level);
    check_programs(d, level, false);
    check_programs(d, level, true);
  });
}

/* Where no count says that nothing else refers to an array, every change is one of a copy. */
Test(array, values_without_counts) {
  EACH_LEVEL(d, {
    d->keeps_all = true;
    compile_arrays(d, HIA_USE_NATIVE, UNCOUNTED, level);
    check_programs(d, level, false);
    compile_arrays(d, HIA_USE_NATIVE, READ, level);
    check_programs(d, level, false);
  });
}

/* ---- in place ---- */

/* An array of more than 512 KiB is one request, and so would each copy of it be. */
Test(array, nothing_is_copied_that_nothing_else_refers_to) {
  static const struct {
    const char *name;
    int64_t n;
    long most;
  } runs[] = {{"sieve", 1000000, 1}, {"sorted", 80000, 1}};
  EACH_LEVEL(d, {
    compile_arrays(d, HIA_USE_NATIVE, COUNTED, level);
    for (size_t i = 0; i < HIA_LEN(runs); i++) {
      run_one(d, level, runs[i].name, 100);
      long given = 1000000;
      d->memory.left = given;
      run_one(d, level, runs[i].name, runs[i].n);
      given -= d->memory.left;
      d->memory.left = -1;
      cr_assert_leq(given, runs[i].most, "level %d: %s: %ld requests", level, runs[i].name, given);
    }
  });
}

/* ---- what fails ---- */

static void check_range(data_world *d, const char *fn, size_t n_args, const int64_t args[3],
                        const char *at) {
  hia_word block[4];
  for (size_t i = 0; i < n_args; i++) block[i] = (hia_word)args[i];
  cr_assert_eq(run_data(d, fn, block), HIA_RANGE, "%s", fn);
  const hia_failure *f = &d->w.failure;
  cr_assert_eq(f->range.length, args[0]);
  cr_assert_eq(f->range.first, args[1]);
  cr_assert_eq(f->code, n_args == 3);
  if (n_args == 3) cr_assert_eq(f->range.end, args[2]);
  cr_assert_str_eq(chain(&d->w), at);
}

Test(array, what_is_not_there) {
  static const int64_t wrong[] = {
      -1, 5, 6, INT64_MIN, INT64_MAX, (int64_t)1 << 32, (int64_t)1 << 60};
  static const int64_t ends[][2] = {{-1, 2},        {3, 2},         {0, 6},
                                    {6, 6},         {5, INT64_MIN}, {INT64_MIN, 3},
                                    {INT64_MAX, 3}, {0, INT64_MAX}, {-2, -1}};
  EACH_LEVEL(d, {
    compile_arrays(d, HIA_USE_NATIVE, COUNTED, level);
    for (size_t i = 0; i < HIA_LEN(wrong); i++) {
      check_range(d, "index", 2, (int64_t[]){5, wrong[i], 0}, "81:43");
      check_range(d, "change", 2, (int64_t[]){5, wrong[i], 0}, "82:40");
    }
    check_range(d, "index", 2, (int64_t[]){0, 0, 0}, "81:43");
    check_range(d, "change", 2, (int64_t[]){0, 0, 0}, "82:40");
    for (size_t i = 0; i < HIA_LEN(ends); i++)
      check_range(d, "slice", 3, (int64_t[]){5, ends[i][0], ends[i][1]}, "83:55");
    for (int64_t i = 0; i <= 5; i++)
      for (int64_t j = i; j <= 5; j++) {
        hia_word block[4] = {5, (hia_word)i, (hia_word)j};
        cr_assert_eq(run_data(d, "slice", block), HIA_OK);
        pair xs[5];
        for (int64_t k = i; k < j; k++) xs[k - i] = nth(k);
        cr_assert_eq((int64_t)block[3], sum(xs, j - i));
      }
    hia_word block[3] = {(hia_word)-3, (hia_word)INT64_MAX};
    cr_assert_eq(run_data(d, "far", block), HIA_MEMORY);
    cr_assert_str_eq(chain(&d->w), "84:37");
    block[0] = 0;
    cr_assert_eq(run_data(d, "far", block), HIA_MEMORY);
    block[0] = 9, block[1] = 9;
    cr_assert_eq(run_data(d, "far", block), HIA_OK);
    cr_assert_eq(block[2], 0);
  });
}

/* ---- memory ---- */

Test(array, a_limit_of_memory) {
  EACH_LEVEL(d, {
    compile_arrays(d, HIA_USE_NATIVE, COUNTED, level);
    for (size_t i = 0; i < HIA_LEN(programs); i++) {
      unsigned n_failed = 0;
      int64_t wanted = programs[i].c(programs[i].large);
      for (d->max_memory = 1 << 10; d->max_memory <= 64 << 20; d->max_memory *= 2) {
        hia_word block[2] = {(hia_word)programs[i].large};
        hia_status status = run_data(d, programs[i].name, block);
        n_failed += status == HIA_MEMORY;
        cr_assert(status == HIA_MEMORY || status == HIA_OK, "%s: %d", programs[i].name, status);
        if (status == HIA_OK) cr_assert_eq((int64_t)block[1], wanted);
      }
      cr_assert(n_failed >= 3 && n_failed < 17, "%s: %u", programs[i].name, n_failed);
    }
  });
}

Test(array, every_allocation_fails_once) {
  EACH_LEVEL(d, {
    compile_arrays(d, HIA_USE_NATIVE, COUNTED, level);
    for (size_t i = 0; i < HIA_LEN(programs); i++) {
      hia_status status = HIA_MEMORY;
      for (long left = 0; status != HIA_OK; left++) {
        hiaR_heap_free(&d->heap); /* what a run leaves for the next would hide the allocations */
        hiaR_heap_init(&d->heap, &d->memory.allocator);
        d->memory.left = left;
        hia_word block[2] = {(hia_word)(programs[i].small * 20)};
        if (!strcmp(programs[i].name, "grow")) block[0] = (hia_word)programs[i].large;
        int64_t wanted = programs[i].c((int64_t)block[0]);
        status = run_data(d, programs[i].name, block);
        d->memory.left = -1;
        cr_assert(status == HIA_OK || status == HIA_MEMORY);
        cr_assert(status == HIA_MEMORY || left > 0, "%s", programs[i].name);
        if (status == HIA_OK) cr_assert_eq((int64_t)block[1], wanted);
      }
    }
  });
}

Test(array, without_a_heap_a_run_is_refused) {
  EACH_LEVEL(d, {
    compile_arrays(d, HIA_USE_NATIVE, COUNTED, level);
    for (size_t i = 0; i < HIA_LEN(programs); i++) {
      hia_word block[2] = {20};
      cr_assert_eq(run(&d->w, programs[i].name, block, 1 << 20), HIA_UNSUPPORTED);
    }
  });
}

/* ---- several workers ---- */

/* Of all levels: where the machine is busy a helper may come too late again and again. */
static uint64_t n_steals;
#define STEAL_NS UINT64_C(20000000000)

Test(array, several_workers_share_arrays) {
  EACH_LEVEL(d, {
    compile_arrays(d, HIA_USE_PARALLEL, COUNTED, level);
    cr_assert_eq(hiaR_pool_new(&hiaR_malloc, 1, NULL, &d->pool), HIA_OK);
    uint64_t steals = 0, end = hiaR_now() + STEAL_NS; /* a busy machine may have no thief */
    for (unsigned i = 0; i < 3 || (!steals && !n_steals && hiaR_now() < end); i++) {
      cr_assert_eq(run_one(d, level, "trees", 16), 65536);
      steals += d->w.usage.steals;
      cr_assert_eq(run_one(d, level, "split", 200000), split(200000));
      steals += d->w.usage.steals;
    }
    n_steals += steals;
    check_programs(d, level, true);
  });
  cr_assert_gt(n_steals, 0);
}
