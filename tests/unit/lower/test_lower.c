/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: failures and their chains at every level, cancelling, and functions of unusual sizes and
 * shapes. */
#include "runtime/native/sanitizer.h"
#include "tests/unit/helpers/world.h"
#include <pthread.h>
#include <unistd.h>

/* ---- failures ---- */

Test(lower, chains_are_the_same_at_every_level) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("failing"), level);
      hia_word block[8] = {4, 7};
      cr_assert_eq(run(w, "even", block, 0), HIA_OK);
      cr_assert_eq(block[2], ((2 + 1) * 2 + 3) * 4, "%lld", (long long)block[2]);
      block[1] = 0;
      cr_assert_eq(run(w, "even", block, 0), HIA_DIV_ZERO);
      cr_assert_str_eq(chain(w), "1:50 2:20 1:70 2:20 1:70", "level %d: %s", level, chain(w));
      block[0] = 0;
      cr_assert_eq(run(w, "even", block, 0), HIA_DIV_ZERO);
      cr_assert_str_eq(chain(w), "1:50");
      block[0] = 3;
      cr_assert_eq(run(w, "sum", block, 0), HIA_OK);
      cr_assert_eq(block[1], 3);
      block[0] = 10;
      cr_assert_eq(run(w, "sum", block, 0), HIA_FAILED);
      cr_assert_eq(w->failure.code, 3);
      cr_assert_str_eq(chain(w), "4:9 3:30", "level %d: %s", level, chain(w));
      block[0] = (hia_word)INT32_MIN;
      block[1] = (hia_word)-1;
      cr_assert_eq(run(w, "over", block, 0), HIA_DIV_OVERFLOW);
      cr_assert_str_eq(chain(w), "5:11");
      block[1] = 2;
      cr_assert_eq(run(w, "over", block, 0), HIA_OK);
      cr_assert_eq(block[2], (hia_word)(INT32_MIN / 2));
      block[0] = 0; /* a tail call is not in the chain, whether or not it has a frame */
      cr_assert_eq(run(w, "tail", block, 0), HIA_DIV_ZERO);
      cr_assert_str_eq(chain(w), "1:50", "level %d: %s", level, chain(w));
    });
  });
}

Test(lower, a_chain_ten_million_deep_is_read_quickly) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    compile_text(&w, graph_file("failing"), 2);
    hia_word block[3] = {10000000, 0};
    cr_assert_eq(run(&w, "even", block, (size_t)2 << 30), HIA_DIV_ZERO);
    cr_assert_eq(w.failure.backtrace.length, 10000001);
    cr_assert_gt(w.usage.peak_bytes, 10000000u * 16);
    block[0] = 2; /* the context works again, and its memory has been returned */
    cr_assert_eq(run(&w, "even", block, 0), HIA_DIV_ZERO);
    cr_assert_str_eq(chain(&w), "1:50 2:20 1:70");
  });
  world_free(&w);
}

Test(lower, too_deep_ends_cleanly) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("down"), level);
      hia_word block[3] = {100000, hiaR_from_f64(1.0)};
      cr_assert_eq(run(w, "down", block, 0), HIA_OK);
      cr_assert_eq(block[2], 100000);
      block[0] = 1000000000;
      cr_assert_eq(run(w, "down", block, (size_t)4 << 20), HIA_DEPTH);
      cr_assert_gt(w->failure.backtrace.length, 10000);
      hia_loc_id loc = hiaR_backtrace_entry(&w->failure.backtrace, 1);
      cr_assert_eq(w->g->locs.data[loc].col, 33);
      cr_assert_leq(w->usage.peak_bytes, ((size_t)4 << 20) + ((size_t)1 << 20));
      block[0] = 10; /* the same context continues */
      cr_assert_eq(run(w, "down", block, (size_t)4 << 20), HIA_OK);
      cr_assert_eq(block[2], 10);
      block[0] = 1;
      cr_assert_eq(run(w, "down", block, 1), HIA_DEPTH); /* no room at all */
    });
  });
}

#if !defined(HIA_ASAN) && !defined(HIA_TSAN)
Test(lower, frames_are_small) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    compile_text(&w, graph_file("down"), 2);
    cr_assert_leq(w.unwinder.max_frame, 48, "%zu", w.unwinder.max_frame);
  });
  world_free(&w);
}
#endif

/* ---- cancelling ---- */

typedef struct canceller {
  hia_context *context;
  _Atomic bool is_over;
} canceller;

/* A cancel ends a run that is under way. On a busy machine the run may begin later than the first
 * of them. */
static void *cancel_until_over(void *user) {
  canceller *c = user;
  do {
    usleep(20000);
    hiaR_context_cancel(c->context);
  } while (!c->is_over);
  return NULL;
}

static hia_status run_until_cancelled(world *w, const char *name, hia_word *block) {
  canceller c = {.context = w->context};
  pthread_t thread;
  cr_assert_eq(pthread_create(&thread, NULL, cancel_until_over, &c), 0);
  hia_status status = run(w, name, block, 0);
  c.is_over = true;
  pthread_join(thread, NULL);
  return status;
}

Test(lower, endless_runs_can_be_cancelled) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, graph_file("endless"), level);
      const char *names[2] = {"spin", "climb"};
      for (int i = 0; i < 4; i++) {
        hia_word block[2] = {0};
        hia_status status = run_until_cancelled(w, names[i % 2], block);
        cr_assert_eq(status, HIA_CANCELLED, "%s, level %d", names[i % 2], level);
      }
    });
  });
}

/* A loop that calls nothing and has more live values than there are registers: whatever LLVM does
 * with the context's register, a poll finds the context in it. */
static const char *crowded(world *w) {
  enum { N = 24 };
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hiaR_text_addf(&t, "graph functions \"crowded\"\n"
                     "fn f (i64) -> (i64) root (i64) -> i64 !1:1 {\n%%0:i64 = arg 0\n");
  for (int i = 1; i <= N; i++) hiaR_text_addf(&t, "%%%d:i64 = const %d\n", i, i * 0x1234567 + 89);
  for (int i = 1; i <= N; i++) hiaR_text_addf(&t, "%s%%%d:i64", i > 1 ? ", " : "", N + i);
  hiaR_text_addf(&t, " = loop");
  for (int i = 1; i <= N; i++) hiaR_text_addf(&t, "%s %%%d", i > 1 ? "," : "", i);
  hiaR_text_addf(&t, " {\n");
  for (int i = 1; i <= N; i++) hiaR_text_addf(&t, "%%%d:i64 = arg %d\n", 2 * N + i, i - 1);
  hiaR_text_addf(&t, "%%%d:bool = ne %%%d, %%0\nyield %%%d", 4 * N, 2 * N + 1, 4 * N);
  for (int i = 1; i <= N; i++) hiaR_text_addf(&t, ", %%%d", 2 * N + i);
  hiaR_text_addf(&t, "\n} round {\n");
  for (int i = 1; i <= N; i++) /* each from two others, which have old values and new ones */
    hiaR_text_addf(&t, "%%%d:i64 = mul %%%d, %%%d\n%%%d:i64 = bxor %%%d, %%%d\n", 5 * N + 2 * i,
                   2 * N + i, 2 * N + 1 + (i * 7) % N, 5 * N + 2 * i + 1, 5 * N + 2 * i,
                   2 * N + 1 + (i * 11 + 5) % N);
  hiaR_text_addf(&t, "yield");
  for (int i = 1; i <= N; i++) hiaR_text_addf(&t, "%s %%%d", i > 1 ? "," : "", 5 * N + 2 * i + 1);
  hiaR_text_addf(&t, "\n}\nyield %%%d\n}\n", 2 * N);
  return t.data;
}

Test(lower, a_crowded_loop_can_be_cancelled) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_text(w, crowded(w), level);
      hia_word block[2] = {0x7654321abcdef};
      hia_status status = run_until_cancelled(w, "f", block);
      cr_assert_eq(status, HIA_CANCELLED, "level %d", level);
    });
  });
}

/* ---- sizes and shapes ---- */

Test(lower, many_parameters_and_results) {
  LEVELS(w, {
    NO_THROW(&w->e, {
      enum { N = 200 };
      static const char *const types[4] = {"i64", "f64", "bool", "i32"};
      hia_text t;
      hiaR_text_init(&t, &w->e.comp.arena);
      hiaR_text_addf(&t, "graph functions \"wide\"\n");
      for (int root = 1; root >= 0; root--) { /* f passes everything to g, which returns it */
        hiaR_text_addf(&t, "fn %s (", root ? "f" : "g");
        for (int pass = 0; pass < (root ? 4 : 2); pass++) {
          if (pass) hiaR_text_addf(&t, pass == 2 ? ") root (" : ") -> (");
          for (int i = 0; i < N; i++) hiaR_text_addf(&t, "%s%s", i ? ", " : "", types[i % 4]);
        }
        hiaR_text_addf(&t, ") {\n");
        for (int i = 0; i < N; i++) hiaR_text_addf(&t, "%%%d:%s = arg %d\n", i, types[i % 4], i);
        for (int i = 0; root && i < N; i++)
          hiaR_text_addf(&t, "%s%%%d:%s", i ? ", " : "", N + i, types[i % 4]);
        if (root) hiaR_text_addf(&t, " = call g");
        for (int i = 0; root && i < N; i++) hiaR_text_addf(&t, "%s %%%d", i ? "," : "", i);
        hiaR_text_addf(&t, "\nyield");
        for (int i = 0; i < N; i++) hiaR_text_addf(&t, "%s %%%d", i ? "," : "", root ? N + i : i);
        hiaR_text_addf(&t, "\n}\n");
      }
      compile_text(w, t.data, level);
      hia_word block[2 * N];
      for (uint32_t i = 0; i < N; i++)
        block[i] = i % 4 == 1   ? hiaR_from_f64(i)
                   : i % 4 == 2 ? (i / 4) % 2
                                : (hia_word) - (int64_t)i;
      cr_assert_eq(run(w, "f", block, 0), HIA_OK);
      for (uint32_t i = 0; i < N; i++) cr_assert_eq(block[N + i], block[i], "%u", i);
    });
  });
}

/* else-if of `n` arms: x == i gives 3 * i. */
static const char *else_ifs(world *w, int n) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hiaR_text_addf(&t, "graph functions \"chain\"\nfn f (i32) -> (i32) root (i32) -> i32 {\n"
                     "%%0:i32 = arg 0\n");
  for (int i = 0; i < n; i++)
    hiaR_text_addf(&t,
                   "%%%d:i32 = const %d\n%%%d:bool = eq %%0, %%%d\n%%%d:i32 = if %%%d {\n"
                   "%%%d:i32 = const %d\nyield %%%d\n} else {\n",
                   4 * i + 1, i, 4 * i + 2, 4 * i + 1, 4 * i + 3, 4 * i + 2, 4 * i + 4, 3 * i,
                   4 * i + 4);
  hiaR_text_addf(&t, "yield %%0\n");
  for (int i = n; i-- > 0;) hiaR_text_addf(&t, "}\nyield %%%d\n", 4 * i + 3);
  hiaR_text_addf(&t, "}\n");
  return t.data;
}

Test(lower, long_chains_of_branches) {
  static const int lengths[] = {1, 2, 3, 10, 2000};
  world w;
  for (size_t k = 0; k < HIA_LEN(lengths); k++) {
    int n = lengths[k];
    world_init(&w);
    NO_THROW(&w.e, {
      compile_text(&w, else_ifs(&w, n), 2);
      for (int x = 0; x < n; x += n > 100 ? 37 : 1) {
        hia_word block[2] = {hiaR_from_i32(x)};
        cr_assert_eq(run(&w, "f", block, 0), HIA_OK);
        cr_assert_eq(hiaR_to_i32(block[1]), 3 * x, "%d of %d", x, n);
      }
      hia_word block[2] = {hiaR_from_i32(-5)};
      cr_assert_eq(run(&w, "f", block, 0), HIA_OK);
      cr_assert_eq(hiaR_to_i32(block[1]), -5);
    });
    world_free(&w);
  }
}
