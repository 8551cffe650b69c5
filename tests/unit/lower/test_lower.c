/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower, session, frames: native code compared with the kernels, failures and their chains at every
 * level, the machine code, and damaged objects. */
#include "graph/ir/build.h"
#include "runtime/native/sanitizer.h"
#include "tests/unit/helpers/linked.h"
#include <elf.h>
#include <llvm-c/Analysis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- ops agree with the kernels ---- */

static const hia_word edges_of[HIA_N_DTYPES][18] = {
    {0, 1},
    {0, 1, (hia_word)-1, 2, (hia_word)-2, 7, (hia_word)-7, 31, 32, 33, (hia_word)INT32_MIN,
     INT32_MAX, (hia_word)(INT32_MIN + 1), 1000000007, 100, (hia_word)-33},
    {0, 1, (hia_word)-1, 2, (hia_word)-2, 7, (hia_word)-7, 63, 64, 65, (hia_word)INT64_MIN,
     INT64_MAX, 0x80000000u, 0xffffffff80000000u, 0x123456789abcdefu, (hia_word)-65},
    {0, 0x80000000u, 0x3f800000u, 0xbf800000u, 0x7f800000u, 0xff800000u, 0x7fc00000u, 1,
     0x80000001u, 0x7f7fffffu, 0x3f000000u, 0x3fc00000u, 0x40200000u, 0xc0200000u, 0x4f000000u,
     0xcf000000u, 0x5f000000u, 0x42f6e979u},
    {0, 0x8000000000000000u, 0x3ff0000000000000u, 0xbff0000000000000u, 0x7ff0000000000000u,
     0xfff0000000000000u, 0x7ff8000000000000u, 1, 0x7fefffffffffffffu, 0x3fe0000000000000u,
     0x3ff8000000000000u, 0x4004000000000000u, 0xc004000000000000u, 0x41e0000000000000u,
     0xc1e0000000200000u, 0x43e0000000000000u, 0xc3e0000000000001u, 0x405edd3c07ee0b0bu},
};
static uint32_t n_edges_of(hia_dtype t) { return t == HIA_BOOL ? 2 : t <= HIA_I64 ? 16 : 18; }

static bool same(hia_dtype t, hia_word a, hia_word b) {
  if (a == b) return true; /* all NaNs are equal: programs cannot distinguish them */
  if (t == HIA_F32) return hiaR_to_f32(a) != hiaR_to_f32(a) && hiaR_to_f32(b) != hiaR_to_f32(b);
  if (t == HIA_F64) return hiaR_to_f64(a) != hiaR_to_f64(a) && hiaR_to_f64(b) != hiaR_to_f64(b);
  return false;
}

typedef struct op_case {
  unsigned op;
  hia_dtype in[3], out;
  uint32_t n_ins;
  uint64_t imm;
  hia_dtype kernel;
} op_case;

static uint32_t op_cases(op_case *out) {
  uint32_t n = 0;
  for (unsigned op = 0; op < 64; op++) {
    if (!hiaR_ops[op].name || hiaR_ops[op].rule == HIA_RULE_CONTROL) continue;
    for (unsigned t = 0; t < HIA_N_DTYPES; t++) {
      if (!hiaR_kernel(op, (hia_dtype)t)) continue;
      hia_dtype d = (hia_dtype)t;
      op_case c = {.op = op, .in = {d, d, d}, .out = d, .kernel = d};
      c.n_ins = (uint32_t)hiaR_ops[op].n_ins;
      c.out = hiaR_rule_result((hia_rule)hiaR_ops[op].rule, d);
      if (hiaR_ops[op].rule == HIA_RULE_SELECT) c.in[0] = HIA_BOOL;
      if (hiaR_ops[op].rule != HIA_RULE_CAST) {
        out[n++] = c;
        c.in[1] = d == HIA_I32 ? HIA_I64 : HIA_I32;
        if (hiaR_ops[op].rule == HIA_RULE_SHIFT) out[n++] = c;
        continue;
      }
      for (unsigned from = 0; from < HIA_N_DTYPES; from++) {
        c.in[0] = (hia_dtype)from;
        c.imm = from;
        out[n++] = c;
      }
    }
  }
  return n;
}

/* One root per case: `constant` puts the last operand into the graph. */
static hia_graph *op_graph(world *w, const op_case *cases, uint32_t n, const hia_word *constant) {
  hia_graph *g = hiaG_new(&w->e.comp, &w->e.types, "ops");
  for (uint32_t i = 0; i < n; i++) {
    const op_case *c = &cases[i];
    char name[16];
    snprintf(name, sizeof name, "op%u", i);
    hia_loc_id loc = hiaG_loc(g, i + 1, 1, hiaG_name(g, name), HIA_NONE);
    hia_fn_id id = hiaG_fn_new(g, name, hiaG_name(g, name), loc, c->in, c->n_ins, &c->out, 1);
    hia_fn *fn = hiaG_fn(g, id);
    fn->is_root = true;
    fn->sig_params = HIA_NEW_ARRAY(&w->e.comp.arena, hia_type, 3);
    for (uint32_t k = 0; k < c->n_ins; k++) fn->sig_params[k] = c->in[k];
    fn->n_sig_params = c->n_ins;
    fn->sig_result = c->out;
    hia_value_id ins[3];
    for (uint32_t k = 0; k < c->n_ins; k++) ins[k] = fn->nodes.data[k].outs;
    if (constant)
      ins[c->n_ins - 1] =
          hiaG_const(g, fn, 0, c->in[c->n_ins - 1], constant[c->in[c->n_ins - 1]], loc);
    hia_node_id node = hiaG_add(g, fn, 0, c->op, ins, c->n_ins, &c->out, 1, c->imm, loc);
    hia_value_id result = hiaG_out(fn, node, 0);
    hiaG_yield(g, fn, 0, &result, 1);
  }
  hiaG_effects(g);
  hiaG_tag(g);
  return g;
}

static void compare(world *w, const op_case *c, uint32_t i, const hia_word *args, int level) {
  hia_word block[4] = {args[0], c->n_ins > 1 ? args[1] : 0, c->n_ins > 2 ? args[2] : 0, 0};
  hia_word expected = 0;
  hia_status status = hiaR_scalar_eval(c->op, c->kernel, c->imm, args, &expected);
  char name[16];
  snprintf(name, sizeof name, "op%u", i);
  hia_status is = run(w, name, block, 1 << 20);
  cr_assert_eq(is, status, "%s at %s, level %d", hiaR_ops[c->op].name, hiaG_dtype_name(c->kernel),
               level);
  if (!status)
    cr_assert(same(c->out, block[c->n_ins], expected),
              "%s at %s, level %d: %llx %llx is %llx, not %llx", hiaR_ops[c->op].name,
              hiaG_dtype_name(c->kernel), level, (unsigned long long)args[0],
              (unsigned long long)args[1], (unsigned long long)block[c->n_ins],
              (unsigned long long)expected);
}

static void compare_all(world *w, const op_case *cases, uint32_t n, const hia_word *constant,
                        int level) {
  for (uint32_t i = 0; i < n; i++) {
    const op_case *c = &cases[i];
    hia_word args[3];
    hia_dtype last = c->in[c->n_ins - 1];
    uint32_t n_thirds = c->n_ins < 3 ? 1 : c->op == HIA_OP_FMA ? n_edges_of(last) : 2;
    for (uint32_t a = 0; a < n_edges_of(c->in[0]); a++)
      for (uint32_t b = 0; b < (c->n_ins > 1 ? n_edges_of(c->in[1]) : 1); b++)
        for (uint32_t d = 0; d < n_thirds; d++) {
          args[0] = edges_of[c->in[0]][a];
          args[1] = edges_of[c->in[1]][b];
          args[2] = edges_of[c->in[2]][d];
          if (constant) args[c->n_ins - 1] = constant[last];
          compare(w, c, i, args, level);
        }
  }
}

Test(lower, ops_agree_with_the_kernels) {
  static op_case cases[256];
  uint32_t n = op_cases(cases);
  LEVELS(w, {
    NO_THROW(&w->e, {
      compile_graph(w, op_graph(w, cases, n, NULL), level);
      compare_all(w, cases, n, NULL, level);
    });
  });
}

/* LLVM folds and simplifies, with the same results. LLVM is the same in every build, so slow builds
 * test only a part of the constants. */
Test(lower, ops_with_constants_agree_with_the_kernels) {
  static op_case cases[256];
  uint32_t n = op_cases(cases);
  world w;
  for (uint32_t k = HIA_TEST_SEED % HIA_TEST_SHARE; k < 16; k += HIA_TEST_SHARE) {
    hia_word constant[HIA_N_DTYPES];
    for (unsigned t = 0; t < HIA_N_DTYPES; t++)
      constant[t] = edges_of[t][k % n_edges_of((hia_dtype)t)];
    world_init(&w);
    NO_THROW(&w.e, {
      compile_graph(&w, op_graph(&w, cases, n, constant), 2);
      compare_all(&w, cases, n, constant, 2);
    });
    world_free(&w);
  }
}

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

/* ---- the machine code ---- */

static const char *dumped_at(world *w, int level, hia_graph *g, hia_native_dump what,
                             bool unchecked) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hia_compile_options options = {.level = level, .unchecked = unchecked};
  cr_assert_eq(hiaJ_backend.dump(w->session, g, &options, what, &t, &w->error), HIA_OK, "%s",
               said(w->error));
  return t.data;
}

static const char *dumped(world *w, hia_graph *g, hia_native_dump what, bool unchecked) {
  return dumped_at(w, 2, g, what, unchecked);
}

Test(lower, checks_stand_where_they_are_needed) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *g = graph_of(&w, graph_file("fib"));
    cr_assert(strstr(dumped(&w, g, HIA_DUMP_LLVM, false), "callq hia_poll"));
    cr_assert(!strstr(dumped(&w, g, HIA_DUMP_ASM, true), "callq\thia_poll"));
    /* The base case pays nothing: the test for it comes first. */
    const char *text = dumped(&w, g, HIA_DUMP_LLVM, false);
    cr_assert_lt(strstr(text, "icmp sle"), strstr(text, "cmpq"));
    /* Neither calls nor loops: no safepoint. */
    g = graph_of(&w, graph_file("no_calls"));
    cr_assert(!strstr(dumped(&w, g, HIA_DUMP_ASM, false), "callq\thia_poll"));
    /* A loop has its safepoint, which is inserted after the passes. */
    g = graph_of(&w, graph_file("endless"));
    const char *before = dumped(&w, g, HIA_DUMP_LLVM, false);
    const char *after = dumped(&w, g, HIA_DUMP_LLVM_OPTIMIZED, false);
    const char *spin = strstr(before, "@spin"), *climb = strstr(before, "@climb");
    cr_assert(spin && climb);
    const char *first = strstr(before, "cmpq");
    cr_assert(first && first > climb, "spin has a check too early");
    cr_assert(strstr(after, "poll"));
  });
  world_free(&w);
}

Test(lower, rounds_that_call_come_without_a_jump) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (int unchecked = 0; unchecked < 2; unchecked++) {
      const char *text =
          dumped(&w, graph_of(&w, graph_file("rounds_some_call")), HIA_DUMP_ASM, unchecked);
      const char *call = strstr(text, "callq\tf_0"), *jump = strstr(text, "jmp\t.LBB0_");
      cr_assert(call && jump && call < jump, "%s", text); /* that of the rounds without one */
      /* If there is nothing to choose, loops are aligned. */
      text = dumped(&w, graph_of(&w, graph_file("rounds_all_call")), HIA_DUMP_ASM, unchecked);
      const char *loop = strstr(strstr(text, "f_0:"), ".p2align\t6");
      cr_assert(loop && loop < strstr(text, "callq\tf_0"), "%s", text);
    }
  });
  world_free(&w);
}

/* An activation that does not call returns first, without a jump; one call makes no tree. */
Test(lower, leaves_of_trees_go_straight_on) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (int unchecked = 0; unchecked < 2; unchecked++) {
      const char *text =
          dumped(&w, graph_of(&w, graph_file("calls_twice")), HIA_DUMP_ASM, unchecked);
      cr_assert_lt(strstr(text, "\tretq"), strstr(text, "callq\tf_0"), "%s", text);
      text = dumped(&w, graph_of(&w, graph_file("calls_once")), HIA_DUMP_ASM, unchecked);
      cr_assert_gt(strstr(text, "\tretq"), strstr(text, "callq\tf_0"), "%s", text);
    }
  });
  world_free(&w);
}

/* n calls, each after its own test: if there are many, most tests are false. */
static const char *guarded(world *w, int n) {
  hia_text t;
  hiaR_text_init(&t, &w->e.comp.arena);
  hiaR_text_addf(&t,
                 "graph functions \"guarded\"\nfn f (i32) -> (i32) root (i32) -> i32 recursive {\n"
                 "%%0:i32 = arg 0\n%%1:i32 = const 7\n");
  int k = 2, sum = 0;
  for (int i = 0; i < n; i++, k += 5) {
    hiaR_text_addf(&t,
                   "%%%d:i32 = const %d\n%%%d:bool = lt %%%d, %%%d\n%%%d:i32 = if %%%d {\n"
                   "%%%d:i32 = call f %%%d\nyield %%%d\n} else {\nyield %%1\n}\n"
                   "%%%d:i32 = div %%%d, %%%d\n",
                   k, 100 + i, k + 1, sum, k, k + 2, k + 1, k + 3, k, k + 3, k + 4, sum, k + 2);
    sum = k + 4;
  }
  hiaR_text_addf(&t, "yield %%%d\n}\n", sum);
  return t.data;
}

Test(lower, calls_behind_many_guards_are_rare) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    static const char weights[] = "\"branch_weights\", i32 1, i32 8";
    const char *text = dumped(&w, graph_of(&w, guarded(&w, 6)), HIA_DUMP_LLVM_OPTIMIZED, false);
    cr_assert(strstr(text, weights), "%s", text);
    text = dumped(&w, graph_of(&w, guarded(&w, 2)), HIA_DUMP_LLVM_OPTIMIZED, false);
    cr_assert(!strstr(text, weights), "%s", text);
  });
  world_free(&w);
}

static size_t occurrences(const char *text, const char *word) {
  size_t n = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) n++;
  return n;
}

/* LLVM takes quadratic time in the size of a block. */
Test(lower, long_straight_line_runs_are_several_blocks) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_text t;
    hiaR_text_init(&t, &w.e.comp.arena);
    hiaR_text_addf(&t, "graph functions \"long\"\n"
                       "fn f (i32) -> (i32) root (i32) -> i32 {\n%%0:i32 = arg 0\n"
                       "%%1:i32 = add %%0, %%0\n");
    for (int i = 2; i < 2000; i++)
      hiaR_text_addf(&t, "%%%d:i32 = %s %%%d, %%%d\n", i, i % 3 ? "mul" : "add", i - 1, i - 2);
    hiaR_text_addf(&t, "yield %%1999\n}\n");
    for (int unchecked = 0; unchecked < 2; unchecked++) {
      const char *text = dumped(&w, graph_of(&w, t.data), HIA_DUMP_LLVM_OPTIMIZED, unchecked);
      cr_assert_geq(occurrences(text, "br i1"), 4, "%s", text);
      cr_assert_leq(occurrences(text, "br i1"), 5, "%s", text);
      cr_assert_eq(!strstr(text, "callq hia_poll"), unchecked, "%s", text);
    }
  });
  world_free(&w);
}

/* A structure as a result is made part by part, and LLVM processes all parts for each: it took
 * minutes for nine functions of 200 results that call each other. */
Test(lower, functions_of_many_results_are_not_looked_at_together) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (int n = 32; n <= 33; n++) {
      hia_text t;
      hiaR_text_init(&t, &w.e.comp.arena);
      hiaR_text_addf(&t, "graph functions \"wide\"\nfn f (i32) -> (i32");
      for (int i = 1; i < n; i++) hiaR_text_addf(&t, ", i32");
      hiaR_text_addf(&t, ") root (i32) -> (i32");
      for (int i = 1; i < n; i++) hiaR_text_addf(&t, ", i32");
      hiaR_text_addf(&t, ") {\n%%0:i32 = arg 0\nyield %%0");
      for (int i = 1; i < n; i++) hiaR_text_addf(&t, ", %%0");
      hiaR_text_addf(&t, "\n}\n");
      cr_assert_eq(hiaG_size_class(graph_of(&w, t.data)), n > 32 ? HIA_SIZE_MANY : HIA_SIZE_USUAL);
    }
  });
  world_free(&w);
}

/* The size class follows from one function: its nodes and regions, including those of divisions. */
Test(lower, size_classes) {
  static const struct {
    const char *op;
    unsigned n;
    hia_size_class size;
  } rows[] = {
      {"add", 3900, HIA_SIZE_USUAL}, {"add", 4100, HIA_SIZE_LARGE}, {"add", 12100, HIA_SIZE_HUGE},
      {"div", 150, HIA_SIZE_USUAL},  {"div", 300, HIA_SIZE_MANY},   {"div", 400, HIA_SIZE_LARGE},
      {"div", 700, HIA_SIZE_HUGE},
  };
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    for (size_t k = 0; k < HIA_LEN(rows); k++) {
      hia_text t;
      hiaR_text_init(&t, &w.e.comp.arena);
      hiaR_text_addf(&t, "graph functions \"line\"\nfn f (i32, i32) -> (i32) root (i32, i32) -> "
                         "i32 {\n%%0:i32 = arg 0\n%%1:i32 = arg 1\n");
      for (unsigned i = 0; i < rows[k].n; i++)
        hiaR_text_addf(&t, "%%%u:i32 = %s %%%u, %%1\n", i + 2, rows[k].op, i ? i + 1 : 0);
      hiaR_text_addf(&t, "yield %%%u\n}\n", rows[k].n + 1);
      cr_assert_eq(hiaG_size_class(graph_of(&w, t.data)), rows[k].size, "%s %u", rows[k].op,
                   rows[k].n);
    }
  });
  world_free(&w);
}

/* Level 1 took exponential time for the loops of graphs that are unrolled twice. */
Test(lower, loops_are_closed_at_level_1) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *g = graph_of(&w, graph_file("closed_loop"));
    cr_assert(strstr(dumped_at(&w, 1, g, HIA_DUMP_LLVM_OPTIMIZED, false), ".lcssa = phi"));
  });
  world_free(&w);
}

Test(lower, symbols_have_no_dots) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *g = graph_of(&w, graph_file("fib"));
    const char *text = dumped(&w, g, HIA_DUMP_LLVM_OPTIMIZED, false);
    for (const char *at = strstr(text, "define"); at; at = strstr(at + 1, "define")) {
      const char *name = strchr(at, '@');
      cr_assert(name != NULL);
      cr_assert_null(memchr(name, '.', strcspn(name, "(")), "%.40s", name);
    }
  });
  world_free(&w);
}

Test(lower, a_broken_module_is_refused) {
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMModuleRef module = LLVMModuleCreateWithNameInContext("broken", llvm);
  LLVMTypeRef type = LLVMFunctionType(LLVMInt32TypeInContext(llvm), NULL, 0, false);
  LLVMValueRef f = LLVMAddFunction(module, "f", type);
  hia_error *error = NULL;
  cr_assert_eq(hiaL_verify(module, &hiaR_malloc, &error), HIA_OK, "%s", said(error));
  LLVMAppendBasicBlockInContext(llvm, f, "entry"); /* without an end */
  cr_assert_eq(hiaL_verify(module, &hiaR_malloc, &error), HIA_INTERNAL);
  cr_assert_eq(hia_error_status(error), HIA_INTERNAL);
  cr_assert(strstr(said(error), "LLVM's verifier: "), "%s", said(error));
  hia_error_free(error);
  LLVMDisposeModule(module);
  LLVMContextDispose(llvm);
}

/* ---- sessions ---- */

Test(session, many_programs_over_its_life) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    hia_graph *fib = graph_of(&w, graph_file("fib")), *down = graph_of(&w, graph_file("down"));
    for (int i = 0; i < 150; i++) {
      hia_word block[3] = {20};
      compile_graph(&w, i % 2 ? fib : down, 1);
      if (i % 2) {
        cr_assert_eq(run(&w, "fib", block, 0), HIA_OK);
        cr_assert_eq(hiaR_to_i32(block[1]), 6765);
      }
    }
    cr_assert(w.session->compilers && !w.session->compilers->next);
  });
  world_free(&w);
}

static void *compile_some(void *arg) {
  hia_session *session = arg;
  world w;
  memset(&w, 0, sizeof w);
  env_init(&w.e);
  w.session = session;
  if (hiaR_context_new(&hiaR_malloc, &w.context)) return NULL;
  bool ok = true;
  for (int i = 0; i < 10 && ok; i++) {
    hia_word block[3] = {15};
    compile_text(&w, graph_file("fib"), i % 4);
    ok = run(&w, "fib", block, 0) == HIA_OK && hiaR_to_i32(block[1]) == 610;
  }
  drop_code(&w);
  hiaR_context_free(w.context);
  hiaR_comp_free(&w.e.comp);
  return ok ? arg : NULL;
}

Test(session, threads_share_it) {
  world w;
  world_init(&w);
  pthread_t threads[4];
  for (size_t i = 0; i < HIA_LEN(threads); i++)
    cr_assert_eq(pthread_create(&threads[i], NULL, compile_some, w.session), 0);
  for (size_t i = 0; i < HIA_LEN(threads); i++) {
    void *ok;
    pthread_join(threads[i], &ok);
    cr_assert_not_null(ok);
  }
  world_free(&w);
}

Test(session, an_error_has_its_cause) {
  world w;
  world_init(&w);
  LLVMErrorRef err = LLVMCreateStringError("no pass of that name");
  cr_assert_eq(hiaJ_take_error(w.session, err, &w.error), HIA_INTERNAL);
  cr_assert_str_eq(said(w.error), "no pass of that name");
  cr_assert_eq(hiaJ_take_error(w.session, LLVMCreateStringError("unheard"), NULL), HIA_INTERNAL);
  world_free(&w);
}

/* ---- object files that are damaged ---- */

static LLVMMemoryBufferRef object_of(world *w, const char *text) {
  hia_compiler *compiler = hiaJ_compiler_take(w->session);
  hia_lower_options options = {.is_one_unit = true,
                               .triple = w->session->triple,
                               .data_layout = w->session->data_layout,
                               .cpu = w->session->cpu,
                               .features = w->session->features};
  hia_lowering *lowering;
  LLVMModuleRef module;
  cr_assert_eq(hiaL_open(graph_of(w, text), &options, &hiaR_malloc, &lowering, &w->error), HIA_OK,
               "%s", said(w->error));
  cr_assert_eq(hiaL_lower(lowering, 0, compiler->llvm, &module, &w->error), HIA_OK, "%s",
               said(w->error));
  hiaL_close(lowering);
  LLVMMemoryBufferRef bytes;
  char *message = NULL;
  cr_assert(!LLVMTargetMachineEmitToMemoryBuffer(hiaJ_machine(w->session, compiler, 1), module,
                                                 LLVMObjectFile, &message, &bytes));
  LLVMDisposeModule(module);
  hiaJ_compiler_put(w->session, compiler);
  return bytes;
}

static void read_object(const void *bytes, size_t size) {
  hia_object object;
  if (!hiaJ_object_open(&object, bytes, size)) return;
  size_t largest;
  uint64_t offset;
  (void)hiaJ_frames_largest(&hiaR_malloc, &object, &largest);
  const char *name;
  for (uint64_t i = 0; hiaJ_object_function(&object, i, &name, &offset); i++)
    cr_assert(!*name || offset < object.text.size);
  hia_frames *frames;
  cr_assert_eq(hiaJ_frames_new(&hiaR_malloc, &object, 0x1000, (hia_entries){0}, &frames), HIA_OK);
  for (uintptr_t at = 0; at < object.text.size && at < 4096; at += 3) {
    hia_frame_row row;
    (void)hiaJ_frames_find(frames, 0x1000 + at, &row);
  }
  hiaJ_frames_free(frames);
  hia_loaded_code *loaded;
  if (load_object_file(&hiaR_malloc, bytes, size, &loaded, NULL) == HIA_OK)
    hiaR_code_release(loaded);
}

/* The section with the names claims to have no bytes, and to be far behind the end. */
Test(frames, a_section_without_bytes_is_not_read) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    LLVMMemoryBufferRef buffer = object_of(&w, graph_file("failing"));
    size_t size = LLVMGetBufferSize(buffer);
    char *copy = malloc(size);
    cr_assert_not_null(copy);
    memcpy(copy, LLVMGetBufferStart(buffer), size);
    Elf64_Ehdr header;
    Elf64_Shdr names;
    memcpy(&header, copy, sizeof header);
    size_t at = header.e_shoff + header.e_shstrndx * sizeof names;
    memcpy(&names, copy + at, sizeof names);
    names.sh_type = SHT_NOBITS;
    names.sh_offset = (uint64_t)1 << 40;
    memcpy(copy + at, &names, sizeof names);
    hia_object object;
    cr_assert(!hiaJ_object_open(&object, copy, size));
    memcpy(copy, LLVMGetBufferStart(buffer), size);
    copy[EI_DATA] = ELFDATA2LSB + ELFDATA2MSB - copy[EI_DATA];
    cr_assert(!hiaJ_object_open(&object, copy, size));
    free(copy);
    LLVMDisposeMemoryBuffer(buffer);
  });
  world_free(&w);
}

Test(frames, damaged_objects_do_no_harm) {
  world w;
  world_init(&w);
  NO_THROW(&w.e, {
    LLVMMemoryBufferRef buffer = object_of(&w, graph_file("failing"));
    size_t size = LLVMGetBufferSize(buffer);
    read_object(LLVMGetBufferStart(buffer), size);
    char *copy = malloc(size);
    cr_assert_not_null(copy);
    for (size_t cut = 0; cut < size; cut += 1 + size / 300) {
      /* A block of exactly that size, so that a sanitizer sees what lies behind it. */
      char *part = malloc(cut + 1);
      cr_assert_not_null(part);
      memcpy(part, LLVMGetBufferStart(buffer), cut);
      read_object(part, cut);
      free(part);
    }
    uint32_t random = 12345;
    for (int i = 0; i < 3000; i++) {
      memcpy(copy, LLVMGetBufferStart(buffer), size);
      for (int k = 0; k < 4; k++) {
        random = random * 1664525 + 1013904223;
        copy[random % size] = (char)(random >> 24);
      }
      read_object(copy, size);
    }
    free(copy);
    LLVMDisposeMemoryBuffer(buffer);
  });
  world_free(&w);
}
