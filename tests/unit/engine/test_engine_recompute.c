/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions whose calls a gradient makes again (`recompute`): the same bits as without the mark,
 * and less memory. What takes memory are vectors of which a loop keeps several for each round. */
#include "tests/unit/helpers/text.h"
#include <criterion/criterion.h>
#include <hiaton/hiaton.h>
#include <string.h>

#define BODY                                                                                       \
  "(x: f64[?], n: i32) -> f64[?] = {\n"                                                            \
  "  let (y, i) = loop (y = x, i = 0) while i < n { (sin(y) * x + tanh(y * 0.5), i + 1) };\n"      \
  "  y\n"                                                                                          \
  "}\n"
#define CHAIN(name)                                                                                \
  "fn chain_" name "(x: f64[?], n: i32, k: i32) -> f64[?] =\n"                                     \
  "  if k == 0 then x else chain_" name "(" name "(x, n), n, k - 1)\n"                             \
  "fn loss_" name "(x: f64[?], n: i32, k: i32) = sum(chain_" name "(x, n, k))\n"                   \
  "fn of_" name "(m: i64, n: i32, k: i32) = grad(loss_" name ", wrt = x)(\n"                       \
  "  [0.1 + f64(i) / 1000 for i in 0..m], n, k)\n"
/* Small, and so no call of its own; recursive; the same with another function in between. */
#define RECURSIVE(name, other)                                                                     \
  "fn " name "(x: f64[?], n: i32) -> f64[?] =\n"                                                   \
  "  if n == 0 then x else " other "(sin(x) * x + tanh(x * 0.5), n - 1)\n"

static const char PROGRAM[] = "fn plain" BODY "recompute fn small" BODY CHAIN("plain")
    CHAIN("small") RECURSIVE("rec", "rec") "recompute " RECURSIVE("again", "inner")
        RECURSIVE("inner", "inner") RECURSIVE("mutual", "mutual2")
            RECURSIVE("mutual2", "mutual") "recompute " RECURSIVE("marked", "marked2")
                RECURSIVE("marked2", "marked3") RECURSIVE("marked3", "marked2") CHAIN("rec")
                    CHAIN("again") CHAIN("mutual") CHAIN("marked");

typedef struct outcome {
  test_text text;
  uint64_t bytes;
} outcome;

static outcome run(hia_engine *engine, hia_module *module, const char *name, int64_t m) {
  hia_function *f = NULL;
  hia_value *args[3] = {hia_value_i64(engine, m), hia_value_i32(engine, 12),
                        hia_value_i32(engine, 16)},
            *result = NULL;
  hia_run_stats stats = HIA_RUN_STATS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_error *error = NULL;
  outcome o = {.bytes = 0};
  options.stats = &stats;
  cr_assert_eq(hia_module_function(module, name, &f, &error), HIA_OK, "%s",
               error ? hia_error_text(error) : "");
  cr_assert_eq(hia_run(f, args, 3, &options, &result, &error), HIA_OK, "%s: %s", name,
               error ? hia_error_text(error) : "");
  cr_assert_eq(hia_value_write(result, 1 << 20, test_text_take, &o.text, NULL, NULL), HIA_OK);
  o.bytes = stats.heap_bytes;
  hia_value_free(result);
  for (int i = 0; i < 3; i++) hia_value_free(args[i]);
  return o;
}

/* `times`: how much less memory it takes at least; 0: that depends on which worker frees what. */
static void compare(hia_engine *engine, hia_module *module, const char *without, const char *with,
                    uint64_t times) {
  outcome few[2] = {run(engine, module, without, 5), run(engine, module, with, 5)};
  outcome many[2] = {run(engine, module, without, 512), run(engine, module, with, 512)};
  cr_expect_str_eq(few[0].text.data, few[1].text.data, "%s and %s", without, with);
  cr_expect_str_eq(many[0].text.data, many[1].text.data, "%s and %s", without, with);
  cr_expect_lt(times * many[1].bytes, many[0].bytes, "%s takes %llu bytes, %s %llu", without,
               (unsigned long long)many[0].bytes, with, (unsigned long long)many[1].bytes);
  for (int i = 0; i < 2; i++) {
    test_text_free(&few[i].text);
    test_text_free(&many[i].text);
  }
}

static void check(hia_engine_kind kind, uint32_t threads) {
  hia_engine *engine;
  hia_module *module = NULL;
  hia_error *error = NULL;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.threads = threads;
  cr_assert_eq(hia_engine_new(&options, &engine, NULL), HIA_OK);
  hia_status status =
      hia_module_load_text(engine, "recompute.hia", PROGRAM, sizeof PROGRAM - 1, &module, &error);
  cr_assert_eq(status, HIA_OK, "%s", error ? hia_error_text(error) : "");
  compare(engine, module, "of_plain", "of_small", threads > 1 ? 0 : 3);
  compare(engine, module, "of_rec", "of_again", threads > 1 ? 0 : 3);
  compare(engine, module, "of_mutual", "of_marked", threads > 1 ? 0 : 3);
  hia_module_free(module);
  hia_engine_free(engine);
}

Test(engine_recompute, takes_less_memory_interpreted) { check(HIA_ENGINE_INTERP, 1); }
Test(engine_recompute, takes_less_memory_in_expand) { check(HIA_ENGINE_EXPAND, 1); }
Test(engine_recompute, takes_less_memory_as_native_code) {
  if (HIA_TEST_SHARE <= 4) check(HIA_ENGINE_JIT, 1); /* else on threads alone */
}
Test(engine_recompute, takes_less_memory_on_threads) { check(HIA_ENGINE_JIT, 3); }
