/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Options of earlier and later versions at the public API: they are understood as far as they ask
 * for what there is, and refused otherwise. */
#include "tests/unit/helpers/api_bad_input.h"
#include "tests/unit/helpers/text.h"

#include <sys/mman.h>
#include <unistd.h>

Test(api_bad_input, engine_options_of_other_versions) {
  LATER(hia_engine_options) later = {.now = HIA_ENGINE_OPTIONS_INIT};
  hia_engine *engine;
  later.now.size = sizeof later;
  cr_assert_eq(hia_engine_new(&later.now, &engine, &error), HIA_OK);
  hia_engine_free(engine);
  for (size_t i = 0; i < sizeof later.more; i++) {
    later.more[i] = 1;
    REFUSED(HIA_ARGUMENT, "another version", hia_engine_new, &later.now, &engine);
    cr_assert_null(engine);
    later.more[i] = 0;
  }
  /* Sizes that no version has: the bytes behind are not read. */
  for (size_t size = 0; size < sizeof later; size++) {
    if (size && size % sizeof(size_t) == 0) continue; /* others cut a field in two */
    later.now.size = size;
    REFUSED(HIA_ARGUMENT, "another version", hia_engine_new, &later.now, &engine);
  }
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  cr_assert_neq(pages, MAP_FAILED);
  cr_assert_eq(mprotect(pages + page, page, PROT_NONE), 0);
  hia_engine_options *last = (hia_engine_options *)(void *)(pages + page) - 1;
  *last = later.now;
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 40};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    last->size = sizes[i];
    REFUSED(HIA_ARGUMENT, "another version", hia_engine_new, last, &engine);
  }
  munmap(pages, 2 * page);
  /* Fields that an earlier header lacks have their defaults, whatever the bytes there are. */
  hia_engine_options earlier = HIA_ENGINE_OPTIONS_INIT;
  earlier.kind = HIA_ENGINE_JIT;
  memset((char *)&earlier + offsetof(hia_engine_options, kind), 0xee,
         sizeof earlier - offsetof(hia_engine_options, kind));
  earlier.size = offsetof(hia_engine_options, kind);
  cr_assert_eq(earlier.size % sizeof(size_t), 0);
  cr_assert_eq(hia_engine_new(&earlier, &engine, &error), HIA_OK, "%s", hia_error_text(error));
  hia_engine_free(engine);
  earlier.size = sizeof(size_t);
  cr_assert_eq(hia_engine_new(&earlier, &engine, &error), HIA_OK);
  hia_engine_free(engine);
}

Test(api_bad_input, run_options_of_other_versions) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  hia_value *result;
  LATER(hia_run_options) later = {.now = HIA_RUN_OPTIONS_INIT};
  later.now.size = sizeof later;
  cr_assert_eq(hia_run(w.fib, &w.n, 1, &later.now, &result, &error), HIA_OK);
  hia_value_free(result);
  later.more[sizeof later.more - 1] = 1;
  REFUSED(HIA_ARGUMENT, "another version", hia_run, w.fib, &w.n, 1, &later.now, &result);
  later.now.size = 3;
  REFUSED(HIA_ARGUMENT, "another version", hia_run, w.fib, &w.n, 1, &later.now, &result);
  later.now.size = SIZE_MAX;
  REFUSED(HIA_ARGUMENT, "another version", hia_run, w.fib, &w.n, 1, &later.now, &result);
  hia_run_options earlier = HIA_RUN_OPTIONS_INIT;
  memset((char *)&earlier + sizeof(size_t), 0xee, sizeof earlier - sizeof(size_t));
  earlier.size = sizeof(size_t);
  cr_assert_eq(hia_run(w.fib, &w.n, 1, &earlier, &result, &error), HIA_OK);
  hia_value_free(result);

  /* Statistics are written only as far as the structure reaches. */
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  LATER(hia_run_stats) stats = {.now = HIA_RUN_STATS_INIT};
  memset(stats.more, 0xee, sizeof stats.more);
  options.stats = &stats.now;
  stats.now.size = sizeof stats;
  cr_assert_eq(hia_run(w.fib, &w.n, 1, &options, &result, &error), HIA_OK);
  hia_value_free(result);
  cr_assert_gt(stats.now.firings, 0);
  cr_assert_eq(stats.now.size, sizeof stats);
  for (size_t i = 0; i < sizeof stats.more; i++) cr_assert_eq(stats.more[i], 0xee);
  for (size_t size = 0; size < sizeof(size_t); size++) {
    stats.now.size = size;
    REFUSED(HIA_ARGUMENT, "HIA_RUN_STATS_INIT", hia_run, w.fib, &w.n, 1, &options, &result);
  }
  static const size_t sizes[] = {sizeof(size_t), offsetof(hia_run_stats, firings)};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    stats.now.size = sizes[i];
    stats.now.firings = 12345;
    cr_assert_eq(hia_run(w.fib, &w.n, 1, &options, &result, &error), HIA_OK);
    hia_value_free(result);
    cr_assert_eq(stats.now.firings, 12345, "size %zu", sizes[i]);
    cr_assert_eq(stats.now.size, sizes[i]);
  }
  LATER(hia_function_stats) cost = {.now = HIA_FUNCTION_STATS_INIT};
  memset(cost.more, 0xee, sizeof cost.more);
  cost.now.size = sizeof cost;
  cr_assert_eq(hia_function_get_stats(w.fib, &cost.now), HIA_OK);
  cr_assert_gt(cost.now.nodes, 0);
  for (size_t i = 0; i < sizeof cost.more; i++) cr_assert_eq(cost.more[i], 0xee);
  cost.now.size = 3;
  cr_assert_eq(hia_function_get_stats(w.fib, &cost.now), HIA_ARGUMENT);
  close_world(&w);
}

Test(api_bad_input, dump_options_of_other_versions) {
  world w;
  open_world(&w, HIA_ENGINE_INTERP);
  LATER(hia_dump_options) later = {.now = HIA_DUMP_OPTIONS_INIT};
  test_text t = {0};
  later.now.size = sizeof later;
  cr_assert_eq(hia_module_dump(w.module, NULL, 0, &later.now, test_text_take, &t, &error), HIA_OK);
  cr_assert_gt(t.len, 0);
  test_text_free(&t);
  later.more[0] = 1;
  REFUSED(HIA_ARGUMENT, "another version", hia_module_dump, w.module, NULL, 0, &later.now,
          test_text_take, &t);
  later.more[0] = 0;
  later.now.stage = (hia_stage)77;
  REFUSED(HIA_ARGUMENT, "no stage", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take,
          &t);
  later.now.stage = HIA_STAGE_STATIC;
  later.now.format = (hia_format)77;
  REFUSED(HIA_ARGUMENT, "DOT", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take, &t);
  later.now.format = HIA_FORMAT_TEXT;
  later.now.stage = HIA_STAGE_GRAPH;
  later.now.after = "nosuch";
  REFUSED(HIA_ARGUMENT, "no pass", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take,
          &t);
  later.now.after = "";
  REFUSED(HIA_ARGUMENT, "no pass", hia_module_dump, w.module, NULL, 0, &later.now, test_text_take,
          &t);
  close_world(&w);
}

/* ---- profiles of builds ---- */

/* The parameter n of fib, which was always so. */
static hia_observed_point always(const char *number) {
  return (hia_observed_point){.size = sizeof(hia_observed_point),
                              .of = HIA_POINT_OF_PARAMETER,
                              .line = 1,
                              .column = 4,
                              .function = "fib",
                              .file = "t",
                              .parameter = "n",
                              .type = "i32",
                              .times = 5000,
                              .least = number,
                              .most = number};
}

/* False: this build makes no native code, and the test is skipped. */
static bool open_native(world *w) {
  open_world(w, HIA_ENGINE_JIT);
  if (hia_engine_native(w->engine, NULL) == HIA_OK) return true;
  close_world(w);
  cr_skip_test("this build makes no native code");
  return false;
}

static test_text built(const world *w, const hia_build_options *options) {
  test_text out = {0};
  cr_assert_eq(
      hia_module_build_object(w->module, &w->fib, 1, options, test_text_take, &out, &error), HIA_OK,
      "%s", hia_error_text(error));
  cr_assert_gt(out.len, 0);
  return out;
}

static bool is_same(const world *w, const hia_build_options *options, const test_text *as) {
  test_text out = built(w, options);
  bool is = out.len == as->len && memcmp(out.data, as->data, as->len) == 0;
  test_text_free(&out);
  return is;
}

/* What makes no sense in a point is passed over: the object is that without a profile. */
Test(api_bad_input, points_of_builds) {
  world w;
  if (!open_native(&w)) return;
  hia_build_options options = HIA_BUILD_OPTIONS_INIT;
  test_text without = built(&w, &options);
  hia_observed_point points[2] = {always("4"), always("4")};
  options.points = points;
  cr_assert(is_same(&w, &options, &without), "there are no points");
  options.n_points = 1;
  cr_assert_not(is_same(&w, &options, &without), "the point is of use");
  test_text with = built(&w, &options);
  cr_assert(is_same(&w, &options, &with));
  options.n_points = 2;
  cr_assert(is_same(&w, &options, &without), "it is there twice");
  static const size_t sizes[] = {0, 1, sizeof(size_t), sizeof(hia_observed_point) - 1};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    options.n_points = 1;
    points[0].size = sizes[i];
    cr_assert(is_same(&w, &options, &without), "size %zu", sizes[i]);
    options.n_points = 2;
    cr_assert(is_same(&w, &options, &with), "size %zu, and another point", sizes[i]);
  }
  options.n_points = 1;
  for (int i = 0; i < 12; i++) {
    points[0] = always("4");
    switch (i) {
    case 0: points[0].of = (hia_point_of)77; break;
    case 1: points[0].of = (hia_point_of)-1; break;
    case 2: points[0].function = NULL; break;
    case 3: points[0].parameter = NULL; break;
    case 4: points[0].type = NULL; break;
    case 5: points[0].least = NULL; break;
    case 6: points[0].most = NULL; break;
    case 7: points[0].least = points[0].most = NULL; break;
    case 8: points[0].most = "5"; break;
    case 9: points[0].changes = 1; break;
    case 10: points[0].times = 0; break;
    case 11: memset(&points[0], 0, sizeof points[0]); break;
    }
    cr_assert(is_same(&w, &options, &without), "mistake %d", i);
  }
  /* The file and the constructors are not looked at. */
  points[0] = always("4");
  points[0].file = NULL;
  points[0].constructors = "None";
  points[0].size = SIZE_MAX;
  cr_assert(is_same(&w, &options, &with));
  test_text_free(&with);
  test_text_free(&without);
  close_world(&w);
}

Test(api_bad_input, builds_with_points) {
  static const char graph[] = "graph functions \"g.hia\"\n\n"
                              "fn f (i32) -> (i32) root (i32) -> i32 {\n"
                              "  %0:i32 = arg 0\n"
                              "  yield %0\n"
                              "}\n";
  world w;
  if (!open_native(&w)) return;
  hia_build_options options = HIA_BUILD_OPTIONS_INIT;
  const hia_observed_point point = always("4");
  test_text out = {0};
  options.n_points = 1;
  REFUSED(HIA_ARGUMENT, "no points", hia_module_build_object, w.module, &w.fib, 1, &options,
          test_text_take, &out);
  options.n_points = SIZE_MAX;
  REFUSED(HIA_ARGUMENT, "no points", hia_module_build_object, w.module, &w.fib, 1, &options,
          test_text_take, &out);
  options.points = &point;
  options.n_points = 1;
  options.flags = HIA_BUILD_FUEL;
  REFUSED(HIA_UNSUPPORTED, "code with fuel", hia_module_build_object, w.module, &w.fib, 1, &options,
          test_text_take, &out);
  options.flags = 0;
  hia_module *module;
  cr_assert_eq(hia_module_load_ir(w.engine, "g", graph, strlen(graph), &module, &error), HIA_OK);
  REFUSED(HIA_UNSUPPORTED, "graph that was read", hia_module_build_object, module, NULL, 0,
          &options, test_text_take, &out);
  hia_module_free(module);
  cr_assert_eq(out.len, 0);
  /* An earlier header has no points. */
  test_text without = built(&w, NULL);
  options.points = (const hia_observed_point *)(uintptr_t)8;
  options.size = offsetof(hia_build_options, points);
  cr_assert(is_same(&w, &options, &without));
  test_text_free(&without);
  close_world(&w);
}
