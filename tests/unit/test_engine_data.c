/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Programs on data in all engines: random ones give the same results, at every level and number of
 * threads; builds with AddressSanitizer check every count. */
#include "helper_data_programs.h"
#include "helper_program.h"

enum { SIZE = 1 << 16 };

typedef struct outcome {
  hia_status status;
  int32_t result;
} outcome;

static outcome run(const char *text, hia_engine_kind kind, int level, unsigned threads,
                   bool always_forks, const char *disabled, int32_t n) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = kind;
  options.opt_level = level;
  options.threads = threads;
  options.always_fork = always_forks;
  options.disabled_passes = disabled;
  program p = open_program(&options, text, "main");
  hia_value *arg = hia_value_i32(p.engine, n), *result = NULL;
  hia_error *error = NULL;
  hia_run_options limits = HIA_RUN_OPTIONS_INIT;
  limits.max_depth = 64 << 20;
  outcome o = {.status = hia_run(p.function, &arg, 1, &limits, &result, &error)};
  if (o.status == HIA_OK)
    hia_value_get_i32(result, &o.result);
  else
    cr_assert_neq(o.status, HIA_REJECTED, "%s\n%s", text, hia_error_text(error));
  hia_error_free(error);
  hia_value_free(result);
  hia_value_free(arg);
  close_program(&p);
  return o;
}

static void compare(const char *text, const outcome *a, const outcome *b, const char *what) {
  if (a->status == HIA_DEPTH || b->status == HIA_DEPTH) return;
  cr_assert_eq(a->status, b->status, "%s: %d and %d\n%s", what, a->status, b->status, text);
  cr_assert_eq(a->result, b->result, "%s: %d and %d\n%s", what, a->result, b->result, text);
}

Test(engine_data, random_programs, .timeout = 600) {
  static char text[SIZE];
  unsigned n_programs = 0;
#if defined(__SANITIZE_ADDRESS__) || defined(HIA_STRESS)
  enum { N = 12 };
#else
  enum { N = 60 };
#endif
  for (uint64_t seed = 1000; n_programs < N; seed++) {
    if (!random_data_program(seed, seed % 2, text, SIZE)) continue;
    n_programs++;
    outcome interp = run(text, HIA_ENGINE_INTERP, 0, 1, false, NULL, 3);
    outcome other = run(text, HIA_ENGINE_INTERP, 0, 1, false, "all", 3);
    compare(text, &interp, &other, "without passes");
    other = run(text, HIA_ENGINE_EXPAND, 0, 1, false, NULL, 3);
    compare(text, &interp, &other, "expand");
    other = run(text, HIA_ENGINE_INTERP, 0, 3, false, NULL, 3);
    compare(text, &interp, &other, "three workers");
    if (!has_native()) continue;
    other = run(text, HIA_ENGINE_JIT, (int)(seed % 4), 1, false, NULL, 3);
    compare(text, &interp, &other, "native code");
    other = run(text, HIA_ENGINE_JIT, 3, 1, true, "unroll", 3);
    compare(text, &interp, &other, "native code with forks");
    other = run(text, HIA_ENGINE_JIT, 2, 3, false, NULL, 3);
    compare(text, &interp, &other, "native code, three workers");
  }
}
