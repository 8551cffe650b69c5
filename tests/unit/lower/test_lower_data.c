/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: values of data types in native code: making them, asking for the constructor, reading
 * fields; lack of memory; several workers. */
#include "tests/unit/helpers/data_world.h"

/* ---- values ---- */

static void check_shapes(data_world *d, int level) {
  for (int32_t ctor = 0; ctor < 4; ctor++) {
    hia_word block[12] = {hiaR_from_i32(ctor), hiaR_from_f64(-2.5),  1,
                          hiaR_from_i32(-7),   hiaR_from_f32(1.25f), hiaR_from_i64(INT64_MIN)};
    cr_assert_eq(run_data(d, "shapes", block), HIA_OK, "level %d", level);
    const hia_word *is = block + 6, *was = block;
    cr_assert_eq(hiaR_to_i32(is[0]), ctor, "level %d", level);
    cr_assert_eq(is[1], ctor == 1 ? was[1] : 0);
    cr_assert_eq(is[2], ctor == 1 ? 1 : 0);
    cr_assert_eq(is[3], ctor == 1 ? was[3] : 0);
    cr_assert_eq(is[4], ctor == 2 ? was[4] : 0);
    cr_assert_eq(is[5], ctor == 2 ? was[5] : 0);
  }
}

static void check_values(data_world *d, int level) {
  for (int64_t n = 0; n <= 100000; n = 10 * n + 1) {
    hia_word block[2] = {(hia_word)n};
    cr_assert_eq(run_data(d, "lists", block), HIA_OK);
    cr_assert_eq((int64_t)block[1], n * (n + 1) / 2 + n, "level %d", level);
  }
  hia_word tree[2] = {hiaR_from_i32(12)};
  cr_assert_eq(run_data(d, "trees", tree), HIA_OK);
  cr_assert_eq(hiaR_to_i32(tree[1]), 4096 * 4095 / 2);
  hia_word boxes[5] = {10, 1};
  cr_assert_eq(run_data(d, "boxes", boxes), HIA_OK);
  cr_assert_eq(boxes[2], 0);
  cr_assert_eq(boxes[3], 2);
  cr_assert_eq(boxes[4], 55);
  hia_word wide[2] = {5};
  cr_assert_eq(run_data(d, "wide", wide), HIA_OK);
  cr_assert_eq(wide[1], 5 * 101);
  check_shapes(d, level);
}

Test(data, values_are_made_and_read) {
  EACH_LEVEL(d, {
    compile_data(d, graph_of(&d->w, graph_file("cells")), false, level);
    check_values(d, level);
    compile_data(d, graph_of(&d->w, graph_file("cells")), true, level);
    check_values(d, level);
  });
}

/* The passes for native code keep what it does. */
Test(data, values_after_the_passes) {
  EACH_LEVEL(d, {
    hia_graph *g = read_text(&d->w.e, graph_file("cells"));
    const hia_pass_options options = {.use = HIA_USE_NATIVE, .verify = true};
    hiaG_run_passes(g, &options);
    compile_data(d, g, false, level);
    check_values(d, level);
  });
}

/* A graph that a user wrote may read a field of a value of another constructor, or of a value that
 * was never set. */
Test(data, a_field_of_another_constructor) {
  static const char text[] = "graph functions \"wrong.hia\"\n"
                             "type Two = A(x: i64) | B(y: i64, z: i64)\n"
                             "type List = Nil | Cons(head: i64, tail: List)\n"
                             "fn a (i64) -> (i64) root (i64) -> i64 !1:4 {\n"
                             "%0:i64 = arg 0\n%1:Two = data A %0 !1:10\n"
                             "%2:i64 = field B.1 %1 !1:20\nyield %2\n}\n"
                             "fn b (i64) -> (i64) root (i64) -> i64 !2:4 {\n"
                             "%0:i64 = arg 0\n%1:List = const Nil\n"
                             "%2:i64 = field Cons.0 %1 !2:20\nyield %2\n}\n"
                             "fn c (i64) -> (i64) root (i64) -> i64 !3:4 {\n"
                             "%0:i64 = arg 0\n%1:Two = undef\n%2:i32 = ctor %1\n"
                             "%3:i64 = field A.0 %1 !3:20\nyield %3\n}\n";
  EACH_LEVEL(d, {
    compile_data(d, graph_of(&d->w, text), true, level);
    const char *names[] = {"a", "b", "c"}, *positions[] = {"1:20", "2:20", "3:20"};
    for (size_t i = 0; i < 3; i++) {
      hia_word block[2] = {7};
      cr_assert_eq(run_data(d, names[i], block), HIA_INTERNAL, "level %d: %s", level, names[i]);
      cr_assert_str_eq(chain(&d->w), positions[i]);
    }
  });
}

/* ---- memory ---- */

/* Whatever the limit, the run ends with the right result or for lack of memory, at the node that
 * could not have it, and nothing is lost. */
Test(data, a_limit_of_memory) {
  EACH_LEVEL(d, {
    compile_data(d, graph_of(&d->w, graph_file("cells")), false, level);
    unsigned n_failed = 0;
    for (d->max_memory = 1 << 10; d->max_memory <= 8 << 20; d->max_memory *= 2) {
      hia_word block[2] = {30000};
      hia_status status = run_data(d, "lists", block);
      n_failed += status == HIA_MEMORY;
      if (status == HIA_OK) {
        cr_assert_eq((int64_t)block[1], 30000LL * 30001 / 2 + 30000);
        cr_assert_leq(d->w.usage.peak_bytes, d->max_memory + (64 << 20));
        continue;
      }
      cr_assert_eq(status, HIA_MEMORY, "level %d, %zu bytes: %d", level, d->max_memory, status);
      const char *at = chain(&d->w);
      cr_assert(!strcmp(at, "2:30 1:10") || !strncmp(at, "4:30 4:40 ", 10) ||
                    !strcmp(at, "4:30 1:20") || !strcmp(at, "2:30"),
                "level %d, %zu bytes: %s", level, d->max_memory, at);
    }
    cr_assert_geq(n_failed, 5);
  });
}

Test(data, every_allocation_fails_once) {
  EACH_LEVEL(d, {
    compile_data(d, graph_of(&d->w, graph_file("cells")), false, level);
    hia_status status = HIA_MEMORY;
    for (long left = 0; status != HIA_OK; left++) {
      /* What a run leaves for the next would hide the allocations. */
      hiaR_heap_free(&d->heap);
      hiaR_heap_init(&d->heap, &d->memory.allocator);
      d->memory.left = left;
      hia_word block[2] = {3000};
      status = run_data(d, "lists", block);
      d->memory.left = -1;
      cr_assert(status == HIA_MEMORY || left > 2, "level %d: %ld allocations", level, left);
      cr_assert(status == HIA_OK || status == HIA_MEMORY);
    }
  });
}

Test(data, without_a_heap_a_run_is_refused) {
  EACH_LEVEL(d, {
    compile_data(d, graph_of(&d->w, graph_file("cells")), false, level);
    hia_word block[2] = {3};
    cr_assert_eq(run(&d->w, "lists", block, 1 << 20), HIA_UNSUPPORTED);
    cr_assert_eq(run_data(d, "lists", block), HIA_OK); /* whose lists the next run must not have */
    block[0] = 3;
    cr_assert_eq(run(&d->w, "lists", block, 1 << 20), HIA_UNSUPPORTED);
  });
}

/* ---- several workers ---- */

/* Of all levels: where the machine is busy a helper may come too late again and again. */
static uint64_t n_steals;
#define STEAL_NS UINT64_C(20000000000)

enum { DEPTH = HIA_TEST_SHARE > 1 ? 15 : 20, COUNTED = HIA_TEST_SHARE > 1 ? 10 : 14 };

Test(data, several_workers_make_objects) {
  EACH_LEVEL(d, {
    hia_graph *g = read_text(&d->w.e, graph_file("cells"));
    const hia_pass_options options = {.use = HIA_USE_PARALLEL, .verify = true};
    hiaG_run_passes(g, &options);
    compile_data(d, g, false, level);
    cr_assert_eq(hiaR_pool_new(&hiaR_malloc, 1, NULL, &d->pool), HIA_OK);
    uint64_t steals = 0, end = hiaR_now() + STEAL_NS; /* a busy machine may have no thief */
    for (unsigned i = 0; i < 3 || (!steals && !n_steals && hiaR_now() < end);
         i++) { /* the machine may be busy */
      hia_word block[2] = {hiaR_from_i32(DEPTH)};
      cr_assert_eq(run_data(d, "trees", block), HIA_OK);
      cr_assert_eq(hiaR_to_i32(block[1]), (int32_t)((1LL << DEPTH) * ((1LL << DEPTH) - 1) / 2));
      steals += d->w.usage.steals;
    }
    n_steals += steals;
  });
  cr_assert_gt(n_steals, 0);
}

/* ---- counts ---- */

static hia_graph *counted_graph(data_world *d) { return graph_of(&d->w, graph_file("counts")); }

static void check_counted(data_world *d, int level) {
  enum { N = 1000, S = N * (N + 1) / 2, EVENS = N / 2 * (N / 2 + 1) };
  cr_assert_eq(run_counted(d, level, "sums", N, 100), 100 * S);
  cr_assert_eq(run_counted(d, level, "incs", N, 10), EVENS + N / 2 * 10);
  int64_t million = 1000000;
  cr_assert_eq(run_counted(d, level, "shared", N, 0),
               ((int64_t)S * million + S + N) * million + EVENS);
  /* The leaves of round r are r << 6 and the 63 that follow. */
  int64_t sum = 0;
  for (int64_t r = 1; r <= 20; r++) sum += 63 + 64 * (r << 6) + 64 * 63 / 2;
  cr_assert_eq(run_counted(d, level, "trees", 6, 20), sum);
  cr_assert_eq(run_counted(d, level, "boxes", 10, 0), 20);
  cr_assert_eq(run_counted(d, level, "long", N, 0), N);
  cr_assert_eq(run_counted(d, level, "both", 6, 10), 2 * 10 * (64 * 63 / 2 - 63));
}

Test(data, what_is_counted_is_freed) {
  EACH_LEVEL(d, {
    compile_data(d, counted_graph(d), false, level);
    check_counted(d, level);
  });
}

/* A text may count wrongly, so what it says is not done. */
Test(data, counts_of_a_graph_that_was_read_are_ignored) {
  EACH_LEVEL(d, {
    compile_data(d, counted_graph(d), true, level);
    check_counted(d, level);
    static const char text[] = "graph functions \"wrong.hia\"\n"
                               "type List = Nil | Cons(head: i64, tail: List)\n"
                               "fn f (i64) -> (i64) root (i64) -> i64 !1:4 {\n"
                               "%0:i64 = arg 0\n%1:List = const Nil\n"
                               "%2:List = data Cons %0, %1 !1:10\n"
                               "drop %2\ndrop %2\n%3:List = unpack Cons.0 %2\n"
                               "forget Cons.0 %2\n%4:List = reuse Cons.0 %1, %0, %2\n"
                               "%6:i64 = const 9\n%7:List = reuse Cons.0 %2, %6, %1\n"
                               "%8:List = reuse Cons.3 %2, %6, %1\n"
                               "%5:i64 = field Cons.0 %2\nyield %5\n}\n";
    compile_data(d, graph_of(&d->w, text), true, level);
    hia_word block[2] = {7};
    cr_assert_eq(run_data(d, "f", block), HIA_OK);
    cr_assert_eq(block[1], 7);
  });
}

/* Memory that was freed is used again, and what is changed in place takes none. */
Test(data, the_heap_does_not_grow) {
  EACH_LEVEL(d, {
    compile_data(d, counted_graph(d), false, level);
    run_counted(d, level, "sums", 100, 1000);
    cr_assert_lt(d->heap.peak, 64 << 10, "level %d", level);
    run_counted(d, level, "incs", 100, 1000);
    cr_assert_lt(d->heap.peak, 64 << 10, "level %d", level);
    run_counted(d, level, "trees", 6, 1000);
    cr_assert_lt(d->heap.peak, 64 << 10, "level %d", level);
    run_counted(d, level, "both", 6, 1000);
    cr_assert_lt(d->heap.peak, 64 << 10, "level %d", level);
  });
}

Test(data, a_list_of_ten_million_is_freed) {
  data_world d_;
  data_world *d = &d_;
  open_world(d);
  NO_THROW(&d->w.e, {
    compile_data(d, counted_graph(d), false, 3);
    enum { LONG = 10000000 / HIA_TEST_SHARE };
    cr_assert_eq(run_counted(d, 3, "long", LONG, 0), LONG);
    cr_assert_eq(run_counted(d, 3, "incs", 200000, 4), 100000LL * 100001 + 100000 * 4);
  });
  close_world(d);
}

Test(data, several_workers_count) {
  EACH_LEVEL(d, {
    compile_data(d, counted_graph(d), false, level);
    cr_assert_eq(hiaR_pool_new(&hiaR_malloc, 1, NULL, &d->pool), HIA_OK);
    uint64_t steals = 0, end = hiaR_now() + STEAL_NS; /* a busy machine may have no thief */
    for (unsigned i = 0; i < 3 || (!steals && !n_steals && hiaR_now() < end); i++) {
      /* Jobs that a thief has time to begin before the owner takes them back. */
      int64_t n = 1 << COUNTED, wanted = 2 * 40 * (n * (n - 1) / 2 - (n - 1));
      cr_assert_eq(run_counted(d, level, "both", COUNTED, 40), wanted);
      steals += d->w.usage.steals;
    }
    n_steals += steals;
  });
  cr_assert_gt(n_steals, 0);
}
