/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A limit of memory that is enough without batches is enough with them: by bisection, for runs,
 * steps of training, every way of batching; and what a run calls of the host's it calls once. */
#include "tests/unit/helpers/outcome.h"
#include <hiaton/training.h>

static const char text[] =
    "extern impure fn see(x: f32) -> f32\n"
    "param W: f32[24, 48] = uniform(-0.3, 0.3)\n"
    "param E: f32[30, 24] = uniform(-1.0, 1.0)\n"
    "fn encode(n: i32, k: i32) -> f32[24] = if n == 0 then E[k % 30]\n"
    "  else tanh(W @ concat(encode(n - 1, 2 * k), encode(n - 1, 2 * k + 1)))\n"
    "fn tree(n: i32) -> f32 = encode(n, 1)[3]\n"
    "fn total(n: i32) -> f32 = sum([encode(i % 3, i)[1] for i in 0..n])\n"
    "fn slope(n: i32) -> f32 = { let (x, (w, e)) = value_and_grad(total, wrt = (W, E))(n);\n"
    "  x + sum(w) + sum(e) }\n"
    "fn until(x: f32[24], n: i32) -> f32[24] = { let y = tanh(W @ concat(x, x));\n"
    "  if n == 0 or sum(y * y) < 0.01 then y else until(y, n - 1) }\n"
    "fn early(n: i32) -> f32 = sum([sum(until(E[i % 30], 4 + i % 5)) for i in 0..n])\n"
    /* The host sees each tree's number when all rows before it have been computed. */
    "fn seen(n: i32) -> f32 = {\n"
    "  let (s, _) = loop (s = 0f32, i = 0) while i < n {\n"
    "    let x = sum([encode(4, 40 * i + j)[2] for j in 0..40]); (s + see(x), i + 1) };\n"
    "  s }\n";

/* ---- what the host sees ---- */

static float sum_seen;
static unsigned n_seen;

static float see(void *user, float x) {
  (void)user;
  n_seen++;
  sum_seen += x;
  return 2 * x + (float)n_seen;
}

/* ---- engines ---- */

typedef struct way {
  const char *name;
  hia_engine_kind kind;
  hia_batching batching;
  unsigned threads;
  bool is_safe; /* the host's function */
} way;

static program open_way(const way *w) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  hia_host_function host = HIA_HOST_FUNCTION_INIT;
  options.kind = w->kind;
  options.batching = w->batching;
  options.threads = w->threads;
  host.declaration = "extern impure fn see(x: f32) -> f32";
  host.takes_user = true;
  host.is_safe = w->is_safe;
  host.function = (void (*)(void))see;
  program p = {0};
  cr_assert_eq(hia_engine_new(&options, &p.engine, NULL), HIA_OK);
  cr_assert_eq(hia_engine_register(p.engine, &host, NULL), HIA_OK);
  cr_assert_eq(hia_module_load_text(p.engine, "t.hia", text, strlen(text), &p.module, NULL),
               HIA_OK);
  return p;
}

static way without(const way *w) {
  way none = *w;
  none.batching = HIA_BATCH_NONE;
  return none;
}

/* ---- acts ---- */

/* Runs the function, or makes a step of its gradient, with this limit. */
typedef hia_status act(program *p, const char *name, int32_t n, size_t most);

static hia_status run_it(program *p, const char *name, int32_t n, size_t most) {
  return run(p, name, n, most).status;
}

static hia_status step(program *p, const char *name, int32_t n, size_t most) {
  hia_trainer_options how = HIA_TRAINER_OPTIONS_INIT;
  hia_run_options options = HIA_RUN_OPTIONS_INIT;
  hia_trainer *trainer;
  hia_value *arg = hia_value_i32(p->engine, n);
  options.max_memory = most;
  cr_assert_eq(hia_module_function(p->module, name, &p->function, NULL), HIA_OK);
  cr_assert_eq(hia_trainer_new(p->function, &how, &trainer, NULL), HIA_OK);
  hia_status status = hia_trainer_gradient(trainer, &arg, 1, &options, NULL, NULL);
  hia_value_free(arg);
  hia_trainer_free(trainer);
  return status;
}

/* The least limit, within 1/16, that is enough in an engine that has run nothing yet. */
static size_t least(const way *w, act *do_it, const char *name, int32_t n) {
  program p = open_way(w);
  size_t low = 1 << 10, high = 1 << 12;
  while (do_it(&p, name, n, high) != HIA_OK) {
    cr_assert_lt(high, (size_t)64 << 20);
    low = high;
    high *= 2;
  }
  while (high - low > high / 16) {
    size_t middle = low + (high - low) / 2;
    *(do_it(&p, name, n, middle) == HIA_OK ? &high : &low) = middle;
  }
  close_program(&p);
  for (;; high += high / 16) {
    p = open_way(w);
    hia_status status = do_it(&p, name, n, high);
    close_program(&p);
    if (status == HIA_OK) return high;
  }
}

static void try_limits(const way *w, act *do_it, const char *name, int32_t n) {
  way none = without(w);
  size_t enough = least(&none, do_it, name, n);
  program p = open_way(w);
  for (size_t most = enough; most < 3 * enough; most += enough / 4)
    cr_expect_eq(do_it(&p, name, n, most), HIA_OK, "%s, %s(%d): %zu bytes, %zu are enough", w->name,
                 name, n, most, enough);
  close_program(&p);
}

static const way ways[] = {
    {"segments", HIA_ENGINE_JIT, HIA_BATCH_ALL, 1, false},
    {"segments, begun in the interpreter", HIA_ENGINE_AUTO, HIA_BATCH_ALL, 1, false},
    {"by depth", HIA_ENGINE_INTERP, HIA_BATCH_DEPTH, 1, false},
    {"by agenda", HIA_ENGINE_INTERP, HIA_BATCH_AGENDA, 1, true},
};

Test(engine_limits, runs) {
  NEEDS_NATIVE;
  static const struct {
    const char *name;
    int32_t n;
  } runs[] = {{"tree", 8}, {"total", 150}, {"slope", 60}, {"early", 40}};
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
      try_limits(&ways[w], run_it, runs[i].name, runs[i].n);
}

Test(engine_limits, steps_of_training) {
  NEEDS_NATIVE;
  try_limits(&ways[0], step, "total", 60);
  try_limits(&ways[0], step, "early", 30);
  try_limits(&ways[2], step, "total", 60);
}

/* With a limit that is enough without batches alone, the host sees what it would see then, once:
 * also if its function is one that code may call on its own stack. */
Test(engine_limits, host_functions_are_called_once) {
  enum { N = 6 };
  NEEDS_NATIVE;
  for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
    for (int is_safe = 0; is_safe < 2; is_safe++) {
      way with = ways[w];
      with.is_safe = is_safe;
      const way none = without(&with);
      unsigned n_again = 0;
      size_t enough = least(&none, run_it, "seen", N);
      program p = open_way(&none), q = open_way(&with);
      n_seen = 0, sum_seen = 0;
      outcome right = run(&p, "seen", N, 0);
      float sum = sum_seen;
      for (size_t most = enough; most < 2 * enough; most += enough / 4) {
        n_seen = 0, sum_seen = 0;
        outcome o = run(&q, "seen", N, most);
        cr_expect_eq(o.status, HIA_OK, "%s: %zu bytes, %zu are enough", with.name, most, enough);
        cr_expect_eq(n_seen, N);
        cr_expect_eq(memcmp(&sum_seen, &sum, sizeof sum), 0);
        cr_expect_eq(memcmp(&o.value, &right.value, sizeof o.value), 0);
        n_again += o.stats.n_restarts > 0 && o.stats.batch_rows == 0;
      }
      if (with.kind == HIA_ENGINE_JIT) cr_expect_gt(n_again, 0);
      close_program(&p);
      close_program(&q);
    }
  }
}
