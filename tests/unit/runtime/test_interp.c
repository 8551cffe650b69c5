/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The interpreter: results and failures against the reference evaluator, limits, frames. */
#include "graph/flatten/flatten.h"
#include "graph/pipeline/pass.h"
#include "runtime/interp/run.h"
#include "tests/unit/helpers/eval.h"
#include "tests/unit/helpers/image.h"
#include "tests/unit/helpers/random.h"
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define FIB  "fn fib(n: i32) -> i32 = if n <= 1 then 1 else fib(n - 1) + fib(n - 2)\n"
#define DOWN "fn down(n: i64) -> i64 = if n == 0 then 0 else 1 + down(n - 1)\n"

static image_outcome interp(const image_program *p, hia_word arg, unsigned threads) {
  return image_run(p, IMAGE_INTERP, &arg, threads, NULL, NULL);
}

/* ---- against the reference ---- */

static void agree(const image_program *p, const eval_outcome *e, const image_outcome *o,
                  unsigned threads, uint64_t seed) {
  char chain[sizeof e->chain], text[1000];
  image_chain(p, o, chain, sizeof chain);
  image_print(p, o, text, sizeof text);
  uint32_t n = hiaR_image_export(p->image, 0)->n_results;
  bool same = o->status == e->status;
  if (same && e->status)
    same = strncmp(chain, e->chain, strlen(chain)) == 0 && o->failure.backtrace.length > 0 &&
           (e->status != HIA_FAILED || o->failure.code == (int64_t)e->code);
  else if (same)
    same = memcmp(o->results, e->results, n * sizeof(hia_word)) == 0 &&
           (!p->graph->is_counted ||
            (o->usage.calls == e->counts[0] && o->usage.rounds == e->counts[1]));
  cr_assert(same, "seed %llu, %u threads: %s; reference: status %d, %s", (unsigned long long)seed,
            threads, text, e->status, e->chain);
}

/* Random graphs, as they are and optimised; failures with their chains, counts of calls. */
static uint32_t compare_random(uint64_t seed, bool optimise) {
  image_program p = {0};
  uint32_t n = 0;
  hiaR_comp_init(&p.comp, &hiaR_malloc);
  if (HIA_TRY(&p.comp)) {
    hiaG_types_init(&p.types, &p.comp);
    p.graph = random_graph(&p.comp, &p.types, seed);
    hiaG_run_passes(p.graph, &(hia_pass_options){.disabled = optimise ? NULL : "all"});
    hiaG_flatten(p.graph, &p.bytes, &p.size);
    cr_assert_eq(hiaR_image_load(p.bytes, p.size, hiaR_any_kernel, &hiaR_malloc, &p.image, p.error,
                                 sizeof p.error),
                 HIA_OK, "seed %llu: %s", (unsigned long long)seed, p.error);
    const hia_export *e = hiaR_image_export(p.image, 0);
    random_source r = {seed};
    for (int k = 0; k < 4; k++) {
      hia_word args[32];
      for (uint32_t i = 0; i < e->n_params && i < 32; i++)
        args[i] = i == 0 ? random_below(&r, 7) : random_word(&r, e->params[i]);
      eval_outcome reference;
      eval_graph(p.graph, e->fn, args, seed, &reference);
      if (reference.status == HIA_DEADLINE || e->n_results > IMAGE_MAX_RESULTS) continue;
      n++;
      for (unsigned threads = 1; threads <= 3; threads++) {
        image_outcome o = image_run(&p, IMAGE_INTERP, args, threads, NULL, NULL);
        agree(&p, &reference, &o, threads, seed);
      }
      image_outcome o = image_run(&p, IMAGE_EXPAND, args, 1, NULL, NULL);
      agree(&p, &reference, &o, 0, seed);
    }
  }
  cr_assert_eq(p.comp.status, HIA_OK, "seed %llu: %s", (unsigned long long)seed, p.comp.message);
  image_discard(&p);
  return n;
}

Test(interp, random_graphs) {
  uint32_t n = 0;
  for (uint64_t seed = 0; seed < 300; seed++)
    n += compare_random(seed, false) + compare_random(seed, true);
  cr_assert_gt(n, 500);
}

/* ---- the papers' programs ---- */

Test(interp, fib_with_counts_and_frames) {
  image_program p = image_of(FIB "fn main(n: i32) -> i32 = fib(n)", true, NULL);
  for (unsigned threads = 1; threads <= 4; threads++) {
    image_outcome o = interp(&p, 20, threads);
    cr_assert_eq(o.status, HIA_OK);
    cr_assert_eq(o.results[0], 10946);
    cr_assert_eq(o.usage.calls, 21891);
    cr_assert_eq(o.usage.frames, 21892); /* and main's */
    cr_assert_leq(o.usage.peak_frames, 20 * 21 * threads);
  }
  image_outcome o = interp(&p, 20, 1);
  cr_assert_leq(o.usage.peak_frames, 22); /* one thread: the chain */
  image_discard(&p);
}

/* ---- depth ---- */

Test(interp, frames_are_small_and_limited) {
  image_program p = image_of(DOWN "fn main(n: i64) -> i64 = down(n)", false, NULL);
  image_outcome o = interp(&p, 100000, 1);
  cr_assert_eq(o.status, HIA_OK);
  cr_assert_eq(o.results[0], 100000);
  cr_assert_leq(o.usage.peak_bytes, 100002 * 256);
  for (unsigned threads = 1; threads <= 2; threads++) {
    hia_limits limits = {.depth = 1 << 20};
    hia_word n = 100000;
    o = image_run(&p, IMAGE_INTERP, &n, threads, &limits, NULL);
    cr_assert_eq(o.status, HIA_DEPTH);
    cr_assert_leq(o.usage.peak_bytes, 1 << 20);
    cr_assert_gt(o.usage.peak_bytes, 1 << 19); /* the limit can be used */
    cr_assert_geq(o.failure.backtrace.length, o.usage.peak_frames - 1);
    n = 1000;
    o = image_run(&p, IMAGE_INTERP, &n, threads, &limits, NULL);
    cr_assert_eq(o.status, HIA_OK);
  }
  image_discard(&p);
}

/* Ten million where memory is not instrumented. */
#ifdef HIA_ASAN
enum { DEEP = 1000000 };
#else
enum { DEEP = 10000000 };
#endif

Test(interp, deep_chain) {
  image_program p = image_of(DOWN "fn main(n: i64) -> i64 = down(n)", false, NULL);
  image_outcome o = interp(&p, DEEP, 1);
  cr_assert_eq(o.status, HIA_OK, "%s", hiaR_status_word(o.status));
  cr_assert_eq(o.results[0], DEEP);
  image_discard(&p);
}

Test(interp, memory_limit) {
  image_program p = image_of(DOWN "fn main(n: i64) -> i64 = down(n)", false, NULL);
  hia_limits limits = {.memory = 1 << 20, .depth = 1 << 30};
  hia_word n = 100000;
  image_outcome o = image_run(&p, IMAGE_INTERP, &n, 1, &limits, NULL);
  cr_assert_eq(o.status, HIA_MEMORY);
  image_discard(&p);
}

Test(interp, tail_calls_take_no_space) {
  image_program p = image_of("fn even(n: i64) -> bool = if n == 0 then true else odd(n - 1)\n"
                             "fn odd(n: i64) -> bool = if n == 0 then false else even(n - 1)\n"
                             "fn main(n: i64) -> bool = even(n)",
                             false, NULL);
  hia_limits limits = {.depth = 1 << 14};
  hia_word n = 300001;
  image_outcome o = image_run(&p, IMAGE_INTERP, &n, 1, &limits, NULL);
  cr_assert_eq(o.status, HIA_OK);
  cr_assert_eq(o.results[0], 0);
  image_discard(&p);
}

/* ---- failures ---- */

static void fails(const char *text, hia_word arg, hia_status status, int64_t code,
                  const char *chain) {
  image_program p = image_of(text, false, NULL);
  for (unsigned threads = 0; threads <= 4; threads++) { /* 0: expand */
    image_outcome o =
        image_run(&p, threads ? IMAGE_INTERP : IMAGE_EXPAND, &arg, threads, NULL, NULL);
    char got[1000];
    image_chain(&p, &o, got, sizeof got);
    cr_assert_eq(o.status, status, "%u threads: %s", threads, hiaR_status_word(o.status));
    cr_assert_eq(o.failure.status, status);
    cr_assert_eq(o.failure.code, code);
    cr_assert_str_eq(got, chain);
  }
  image_discard(&p);
}

Test(interp, failure_with_chain) {
  fails("fn g(n: i32) -> i32 = if n == 0 then 10 / n else 1 + g(n - 1)\n"
        "fn main(n: i32) -> i32 = 2 * g(n)",
        2, HIA_DIV_ZERO, 0, "g 1:41; g 1:54; g 1:54; main 2:30; ");
}

/* Calls in tail position are not in the chain. */
Test(interp, failure_below_a_tail_call) {
  fails("fn g(n: i32) -> i32 = if n == 0 then fail(41 + 1) else g(n - 1)\n"
        "fn main(n: i32) -> i32 = 2 * g(n)",
        5, HIA_FAILED, 42, "g 1:38; main 2:30; ");
}

/* The first failure in sequential order, although the second is found at once. */
Test(interp, first_failure_wins) {
  fails(FIB "fn slow(n: i32) -> i32 = if fib(n) > 0 then fail(1) else 0\n"
            "fn main(n: i32) -> i32 = slow(n) + 1 / (n - n) + slow(n - 1)",
        10, HIA_FAILED, 1, "slow 2:45; main 3:26; ");
}

Test(interp, operands_from_left_to_right) {
  fails("fn main(n: i32) -> i32 = (1 / n) + fail(2)", 0, HIA_DIV_ZERO, 0, "main 1:29; ");
  fails("fn main(n: i32) -> i32 = fail(2) + (1 / n)", 0, HIA_FAILED, 2, "main 1:26; ");
}

Test(interp, failures_of_values_nobody_uses) {
  fails("fn main(n: i32) -> i32 = { let _ = 1 / n; n }", 0, HIA_DIV_ZERO, 0, "main 1:38; ");
}

Test(interp, failure_in_a_later_round) {
  fails("fn main(n: i32) -> i32 = { let (_, s) = loop (i = n, s = 0) while true { (i - 1, s + 10 / "
        "i) };"
        " s }",
        3, HIA_DIV_ZERO, 0, "main 1:89; ");
}

Test(interp, long_chains_keep_both_ends) {
  image_program p = image_of("fn g(n: i32) -> i32 = if n == 0 then fail(1) else 1 + g(n - 1)\n"
                             "fn main(n: i32) -> i32 = 2 * g(n)",
                             false, NULL);
  image_outcome o = interp(&p, 1000, 1);
  const hia_backtrace *t = &o.failure.backtrace;
  cr_assert_eq(t->length, 1002);
  const hia_image_loc *locs = hiaR_image_locs(p.image, NULL);
  cr_assert_eq(locs[hiaR_backtrace_entry(t, 0)].col, 38);
  cr_assert_eq(locs[hiaR_backtrace_entry(t, 1)].col, 55);
  cr_assert_eq(hiaR_backtrace_entry(t, HIA_BACKTRACE_ENDS), HIA_NONE);
  cr_assert_eq(locs[hiaR_backtrace_entry(t, 1001)].line, 2);
  cr_assert_eq(locs[hiaR_backtrace_entry(t, 1000)].line, 1);
  cr_assert_eq(hiaR_backtrace_entry(t, 1002), HIA_NONE);
  image_discard(&p);
}

/* Failures and limits end a run while an endless call is under way elsewhere. */
Test(interp, endless_calls_do_not_hide_a_failure) {
  fails(FIB "fn busy(n: i32) -> i32 = loop (x = n) while true { x + fib(4) }\n"
            "fn slow(n: i32) -> i32 = if fib(n) > 0 then fail(1) else 0\n"
            "fn main(n: i32) -> i32 = slow(n) + busy(n)",
        18, HIA_FAILED, 1, "slow 3:45; main 4:26; ");
}

/* ---- resources ---- */

static void *cancel_soon(void *user) {
  usleep(5000);
  __atomic_store_n((uint32_t *)user, 1, __ATOMIC_RELAXED);
  return NULL;
}

/* In calls, and in rounds that call nothing. */
Test(interp, cancelled) {
  static const char *const texts[] = {
      FIB "fn main(n: i32) -> i32 = loop (x = n) while true { x + fib(4) }",
      "fn main(n: i32) -> i32 = loop (x = n) while true { x + 1 }"};
  for (size_t i = 0; i < HIA_LEN(texts); i++) {
    image_program p = image_of(texts[i], false, NULL);
    for (unsigned threads = 0; threads <= 2; threads++) {
      uint32_t cancelled = 0;
      hia_word n = 0;
      pthread_t thread;
      cr_assert_eq(pthread_create(&thread, NULL, cancel_soon, &cancelled), 0);
      image_outcome o = image_run(&p, threads ? IMAGE_INTERP : IMAGE_EXPAND, &n, threads,
                                  &(hia_limits){.cancelled = &cancelled}, NULL);
      pthread_join(thread, NULL);
      cr_assert_eq(o.status, HIA_CANCELLED);
    }
    image_discard(&p);
  }
}

Test(interp, out_of_memory) {
  image_program p = image_of(FIB "fn main(n: i32) -> i32 = fib(n)", false, NULL);
  for (unsigned threads = 1; threads <= 3; threads++)
    for (long left = 0;; left++) {
      test_heap heap;
      hia_word n = 14;
      test_heap_init(&heap, left);
      image_outcome o = image_run(&p, IMAGE_INTERP, &n, threads, NULL, &heap.allocator);
      cr_assert_eq(heap.blocks, 0);
      if (!o.status) {
        cr_assert_eq(o.results[0], 610);
        break;
      }
      cr_assert_eq(o.status, HIA_MEMORY);
      cr_assert_lt(left, 1000);
    }
  image_discard(&p);
}

Test(interp, no_such_entry) {
  image_program p = image_of(FIB "fn main(n: i32) -> i32 = fib(n)", false, NULL);
  hia_word n = 1, results[1];
  hia_failure failure;
  hia_usage usage;
  cr_assert_eq(
      hiaR_interp_run(p.image, 1, &n, results, &(hia_limits){0}, &hiaR_malloc, &failure, &usage),
      HIA_ARGUMENT);
  cr_assert_eq(failure.status, HIA_ARGUMENT);
  image_discard(&p);
}

/* Any number of runs of one image at once. */
static void *run_fib(void *user) {
  image_outcome o = interp(user, 16, 2);
  return o.status == HIA_OK && o.results[0] == 1597 ? user : NULL;
}

Test(interp, runs_at_once) {
  image_program p = image_of(FIB "fn main(n: i32) -> i32 = fib(n)", false, NULL);
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, run_fib, &p), 0);
  for (int i = 0; i < 4; i++) {
    void *ok;
    pthread_join(threads[i], &ok);
    cr_assert_not_null(ok);
  }
  image_discard(&p);
}
