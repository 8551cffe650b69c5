/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What native code computes for many calls at a time: as many rows and waves as there must be, at
 * every width the bits of one at a time, and with any limit of memory these or none. */
#include "tests/unit/helpers/outcome.h"
#include <hiaton/params.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "param W: f32[24, 48] = uniform(-0.3, 0.3)\n"
    "param E: f32[30, 24] = uniform(-1.0, 1.0)\n"
    "fn encode(n: i32, k: i32) -> f32[24] = if n == 0 then E[k % 30]\n"
    "  else tanh(W @ concat(encode(n - 1, 2 * k), encode(n - 1, 2 * k + 1)))\n"
    "fn tree(n: i32) -> f32 = encode(n, 1)[3]\n"
    "fn seen(n: i32) = [{ let h = encode(2, i); (argmax(h), h[0]) } for i in 0..n]\n"
    "fn wide(n: i32) -> f32 = { let s = seen(n); sum([{ let (k, x) = s[i]; f32(k) + x } for i in "
    "0..n]) }\n"
    "fn total(n: i32) -> f32 = sum([encode(i % 3, i)[1] for i in 0..n])\n"
    /* Equal leaves, and so equal trees. */
    "fn twin(n: i32, k: i32) -> f32[24] = if n == 0 then E[k % 2 + 3]\n"
    "  else tanh(W @ concat(twin(n - 1, 2 * k), twin(n - 1, 2 * k + 1)))\n"
    "fn twins(n: i32) -> f32 = twin(n, 1)[3]\n"
    /* A leaf's number is computed at once, for each leaf. */
    "fn scored(n: i32, k: i32) -> (f32[24], f32) = if n == 0 then\n"
    "    { let h = E[k % 2 + 3]; (h, sum(h * h)) }\n"
    "  else { let (l, a) = scored(n - 1, 2 * k); let (r, b) = scored(n - 1, 2 * k + 1);\n"
    "    let h = tanh(W @ concat(l, r)); (h, a + b + h[1]) }\n"
    "fn scores(n: i32) -> f32 = scored(n, 1).1\n"
    /* A function that gets vectors of two sizes. */
    "fn cell(x: f32[?], is_half: bool, n: i32) -> f32[24] =\n"
    "  if n > 0 then tanh(cell(x, is_half, n - 1) + cell(x, is_half, n - 1))\n"
    "  else if is_half then tanh(W @ concat(concat(x, x), concat(x, x)))\n"
    "  else tanh(W @ concat(x, x))\n"
    "fn mixed(n: i32) -> f32 = (cell(E[n], false, n) + cell(E[n][0..12], true, n)\n"
    "  + cell(E[n + 1], false, n))[3]\n"
    /* Every second level has one child. */
    "fn thin_node(n: i32, k: i32) -> f32[24] = if n == 0 then E[k % 30]\n"
    "  else if n % 2 == 1 then thin_node(n - 1, k)\n"
    "  else tanh(W @ concat(thin_node(n - 1, 2 * k), thin_node(n - 1, 2 * k + 1)))\n"
    "fn thin(n: i32) -> f32 = thin_node(n, 1)[3]\n"
    "fn soft_node(n: i32, k: i32) -> f32[24] = if n == 0 then E[k % 30]\n"
    "  else if n % 2 == 1 then { let h: f32[24] = soft_node(n - 1, k); tanh(h) }\n"
    "  else tanh(W @ concat(soft_node(n - 1, 2 * k), soft_node(n - 1, 2 * k + 1)))\n"
    "fn soft(n: i32) -> f32 = soft_node(n, 1)[3]\n"
    /* Comprehensions of n children, which are stacked and summed. */
    "type Rose = Rose(word: i32, children: [Rose])\n"
    "fn grow(n: i32, k: i32, m: i32) -> Rose = Rose(k % 30, [grow(n - 1, 7 * k + i, m) for i in "
    "0..(if n == 0 then 0 else m)])\n"
    "fn rose(t: Rose) -> f32[24] = match t { Rose(w, cs) =>\n"
    "  tanh(W @ concat(E[w], sum(concat([rose(c) for c in cs], [zeros(24)], axis = 0), axis = "
    "0))) }\n"
    "fn roses(n: i32) -> f32 = sum([sum(rose(grow(n, i, 3))) for i in 0..4])\n"
    "fn broad(n: i32) -> f32 = sum([sum(rose(grow(1, i, n))) for i in 0..4])\n"
    "fn roses_slope(n: i32) -> f32 = { let (x, (w, e)) = value_and_grad(roses, wrt = (W, E))(n);\n"
    "  x + sum(w) + sum(e) }\n"
    /* A loop that keeps its states, a layer over them, and a loop over that. */
    "param S: f32[24, 24] = uniform(-0.3, 0.3)\n"
    "fn states(x: f32[k, 24]) -> f32[k, 24] = {\n"
    "  let (rows, _, _) = loop (rows = zeros(k, 24), h = E[3], t = 0i64) while t < k {\n"
    "    let h = tanh(S @ h + x[t]); (set(rows, t, h), h, t + 1) };\n"
    "  rows }\n"
    "fn layers(n: i32) -> f32 = sum([{ let y = states(E[0..4 + n % 2]) @ transpose(S);\n"
    "  sum(states(y)) + f32(i) } for i in 0..n])\n"
    "fn slope(n: i32) -> f32 = { let (x, (w, e)) = value_and_grad(total, wrt = (W, E))(n);\n"
    "  x + sum(w) + sum(e) }\n";

static program open_with(hia_batching batch, uint32_t flags, unsigned threads) {
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.batching = batch;
  options.flags = flags;
  options.threads = threads;
  return open_program(&options, text, "tree");
}

/* A complete tree of depth n has 2^n - 1 inner nodes, in n levels; one row is the element of the
 * root. */
Test(engine_batch, rows_and_waves_are_those_of_the_tree) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t n = 1; n < 8; n++) {
    outcome o = run(&p, "tree", n, 0), alone = run(&none, "tree", n, 0);
    cr_expect_eq(o.stats.batch_rows, 1u << n, "%d: %llu rows", n,
                 (unsigned long long)o.stats.batch_rows);
    cr_expect_eq(o.stats.batch_waves, (uint64_t)n + 1);
    cr_expect_gt(o.stats.batch_compute_ns, 0);
    cr_expect_eq(alone.stats.batch_rows + alone.stats.batch_waves, 0);
    cr_expect_eq(o.stats.batch_reused + alone.stats.batch_reused, 0);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  }
  close_program(&none);
  close_program(&p);
}

/* An arm whose result is that of a recursive call, as it is or through an operation, has the size
 * of the other arms. */
Test(engine_batch, arms_that_only_call) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
  for (uint32_t n = 1; n < 6; n++) {
    outcome o = run(&p, "thin", 2 * (int32_t)n, 0), alone = run(&none, "thin", 2 * (int32_t)n, 0);
    cr_expect_eq(o.stats.batch_rows, 1u << n);
    cr_expect_eq(o.stats.batch_waves, n + 1);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
    o = run(&p, "soft", 2 * (int32_t)n, 0), alone = run(&none, "soft", 2 * (int32_t)n, 0);
    cr_expect_eq(o.stats.batch_rows, 3 * (1u << n) - 2); /* those levels have rows, too */
    cr_expect_eq(o.stats.batch_waves, 2 * n + 1);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  }
  close_program(&none);
  close_program(&p);
}

/* What has one size in some calls and another one in others has none that is constant, and products
 * with it are left alone. */
Test(engine_batch, two_sizes) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t n = 1; n < 6; n++) {
    outcome o = run(&p, "mixed", n, 0), alone = run(&none, "mixed", n, 0);
    cr_expect_eq(o.status, HIA_OK);
    cr_expect_eq(o.stats.batch_rows, 0);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  }
  close_program(&none);
  close_program(&p);
}

/* A tree of equal leaves has one row for each level, and one is the element of the root. The row of
 * the lowest level depends on params alone: its results stay until one changes. */
Test(engine_batch, equal_rows_are_computed_once) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, 0, 1), none = open_with(HIA_BATCH_NONE, 0, 1);
  for (uint64_t n = 1; n < 8; n++)
    for (int again = 0; again < 2; again++) {
      bool is_kept = n > 1 || again;
      outcome o = run(&p, "twins", (int32_t)n, 0), alone = run(&none, "twins", (int32_t)n, 0);
      cr_expect_eq(o.stats.batch_rows, n + 1 - is_kept, "%d: %llu rows", (int)n,
                   (unsigned long long)o.stats.batch_rows);
      cr_expect_eq(o.stats.batch_rows + o.stats.batch_reused, (uint64_t)1 << n);
      cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
    }
  cr_assert_eq(hia_params_seed(hia_module_params(p.module), 7, NULL), HIA_OK);
  cr_assert_eq(hia_params_seed(hia_module_params(none.module), 7, NULL), HIA_OK);
  outcome o = run(&p, "twins", 3, 0), alone = run(&none, "twins", 3, 0);
  cr_expect_eq(o.stats.batch_rows, 4);
  cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  close_program(&none);
  close_program(&p);
}

/* Numbers that equal leaves have computed at once are equal, wherever they lie. */
Test(engine_batch, equal_rows_with_numbers_of_leaves) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, 0, 1), none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t n = 1; n < 8; n++) {
    outcome o = run(&p, "scores", n, 0), alone = run(&none, "scores", n, 0);
    cr_expect_leq(o.stats.batch_rows, 2 * (uint64_t)n, "%d: %llu rows", n,
                  (unsigned long long)o.stats.batch_rows);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  }
  close_program(&none);
  close_program(&p);
}

/* Builds with small limits settle when little is pending, so they have more waves. */
#ifdef HIA_STRESS
#define EXPECT_WAVES(is_so, o) (void)(o)
#else
#define EXPECT_WAVES(is_so, o)                                                                     \
  cr_expect(is_so, "%llu waves", (unsigned long long)(o).stats.batch_waves)
#endif

/* A node is one row, and the sum of its three children's vectors another; four roots have a row of
 * their own. Sums of more than four are added by sixteens, in a row each, and one at the end. */
Test(engine_batch, sums_of_stacked_rows_wait_for_nothing) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t n = 1, inner = 1; n < 5; n++, inner = 3 * inner + 1) {
    outcome o = run(&p, "roses", n, 0), alone = run(&none, "roses", n, 0);
    uint64_t nodes = 3 * (uint64_t)inner + 1, sums = (uint64_t)inner;
    cr_expect_eq(o.stats.batch_rows, 4 * (nodes + sums + 1));
    EXPECT_WAVES(o.stats.batch_waves == 2 * (uint64_t)n + 2, o);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
    o = run(&p, "roses_slope", n, 0), alone = run(&none, "roses_slope", n, 0);
    EXPECT_WAVES(o.stats.batch_waves <= 6 * (uint64_t)n + 8, o);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  }
  for (int32_t n = 3; n < 70; n += 11) {
    outcome o = run(&p, "broad", n, 0), alone = run(&none, "broad", n, 0);
    EXPECT_WAVES(o.stats.batch_waves == (n <= 4 ? 4 : 4 + ((uint64_t)n + 15) / 16), o);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  }
  close_program(&none);
  close_program(&p);
}

/* Each round of the one loop is a wave, then the layer, then each round of the other. */
Test(engine_batch, rows_that_loops_set_wait_for_nothing) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, HIA_FLAG_NO_REUSE, 1),
          none = open_with(HIA_BATCH_NONE, 0, 1);
  for (int32_t n = 1; n < 100; n += 33) {
    outcome o = run(&p, "layers", n, 0), alone = run(&none, "layers", n, 0);
    cr_expect_eq(o.stats.batch_rows, 3 * (uint64_t)n * (4 + (uint64_t)n % 2));
    EXPECT_WAVES(o.stats.batch_waves <= 15, o);
    cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  }
  close_program(&none);
  close_program(&p);
}

/* The backward pass of a loop that has set rows reads the gradients of these, and clears them. A
 * row that is noted would hold the gradient of all, of which there would be a copy for each row: 40
 * MB of 400 x 64 elements. */
Test(engine_batch, rows_that_are_noted_hold_no_tensor) {
  static const char attending[] =
      "param S: f32[64, 64] = uniform(-0.3, 0.3)\n"
      "fn states(k: i64) -> f32[?, 64] = {\n"
      "  let (rows, _, _) = loop (rows = zeros(k, 64), h = full(0.1, 64), t = 0i64) while t < k {\n"
      "    let h = tanh(S @ h); (set(rows, t, h), h, t + 1) };\n"
      "  rows }\n"
      "fn attends(k: i32) -> f32 = { let s = states(i64(k)); sum(softmax(s @ (S @ s[2])) @ s) }\n"
      "fn main(k: i32) -> f32 = { let (x, w) = value_and_grad(attends, wrt = S)(k); x + sum(w) }\n";
  enum { ROWS = 400, MOST = 8 << 20 };
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 1;
  options.batching = HIA_BATCH_NONE;
  program none = open_program(&options, attending, "main");
  options.batching = HIA_BATCH_ALL;
  program p = open_program(&options, attending, "main");
  outcome alone = run(&none, "main", ROWS, 0), o = run(&p, "main", ROWS, 0);
  cr_expect_leq(o.stats.heap_bytes, MOST, "%llu bytes", (unsigned long long)o.stats.heap_bytes);
  cr_expect_geq(o.stats.batch_rows, 2 * ROWS);
  cr_expect_eq(memcmp(&o.value, &alone.value, sizeof o.value), 0);
  close_program(&none);
  close_program(&p);
}

/* So does a comprehension whose elements a host could see: three rows, and one of the element. */
Test(engine_batch, elements_wait_together) {
  NEEDS_NATIVE;
  program p = open_with(HIA_BATCH_ALL, HIA_FLAG_NO_REUSE, 1);
  for (int32_t n = 1; n < 200; n = 3 * n + 1) {
    outcome o = run(&p, "wide", n, 0);
    cr_expect_geq(o.stats.batch_rows, 3 * (uint64_t)n);
    cr_expect_leq(o.stats.batch_waves, 6, "%d: %llu waves", n,
                  (unsigned long long)o.stats.batch_waves);
  }
  close_program(&p);
}

static void expect_same(program *p, program *q, const char *name, int32_t n, const char *what) {
  outcome a = run(p, name, n, 0), b = run(q, name, n, 0);
  cr_assert_eq(a.status, HIA_OK);
  cr_assert_eq(b.status, HIA_OK);
  cr_expect_eq(memcmp(&a.value, &b.value, sizeof a.value), 0, "%s(%d), %s: %a and %a", name, n,
               what, (double)a.value, (double)b.value);
}

/* One more than every vector has elements, than a block has rows, and thousands. */
Test(engine_batch, every_width_gives_the_same_bits) {
  static const int32_t widths[] = {0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 63, 64, 65, 129, 3000};
  NEEDS_NATIVE;
  program alone = open_with(HIA_BATCH_NONE, 0, 1), one = open_with(HIA_BATCH_ALL, 0, 1),
          three = open_with(HIA_BATCH_ALL, 0, 3),
          apart = open_with(HIA_BATCH_ALL, HIA_FLAG_NO_REUSE, 3);
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
    static const char *const names[] = {"wide", "total", "slope"};
    for (size_t k = 0; k < 3; k++) {
      expect_same(&alone, &one, names[k], widths[i], "one thread");
      expect_same(&alone, &three, names[k], widths[i], "three threads");
      expect_same(&alone, &apart, names[k], widths[i], "three threads, without reuse");
    }
  }
  close_program(&apart);
  close_program(&three);
  close_program(&one);
  close_program(&alone);
}

Test(engine_batch, memory_runs_out_or_does_not) {
  NEEDS_NATIVE;
  for (unsigned threads = 1; threads <= 3; threads += 2) {
    program p = open_with(HIA_BATCH_ALL, 0, threads);
    run_with_little_memory(&p, "slope", 300);
    close_program(&p);
  }
}

/* Where memory is limited, fewer rows wait: batches take at most twice as much as none, and 64 KiB.
 */
Test(engine_batch, takes_little_memory_if_there_is_little) {
  NEEDS_NATIVE;
  static const char *const names[] = {"tree", "total", "twins", "thin", "slope"};
  static const int32_t sizes[] = {11, 600, 11, 16, 300};
  for (uint32_t flags = 0; flags <= HIA_FLAG_NO_REUSE; flags += HIA_FLAG_NO_REUSE) {
    program p = open_with(HIA_BATCH_ALL, flags, 1), none = open_with(HIA_BATCH_NONE, flags, 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      size_t least = least_memory(&none, names[i], sizes[i]), most = 2 * least + (64 << 10);
      outcome alone = run(&none, names[i], sizes[i], least);
      outcome tight = run(&p, names[i], sizes[i], most), wide = run(&p, names[i], sizes[i], 0);
      cr_expect_eq(tight.status, HIA_OK, "%s with %zu bytes", names[i], most);
      cr_expect_eq(memcmp(&tight.value, &alone.value, sizeof tight.value), 0);
      cr_expect_eq(memcmp(&wide.value, &alone.value, sizeof wide.value), 0);
    }
    close_program(&none);
    close_program(&p);
  }
}

/* A limit that is enough without batches and lies far below what wide waves would take. The first
 * products with a matrix, before it is packed, would pack a part of it as large as the limit. */
Test(engine_batch, products_with_large_matrices_in_little_memory) {
  static const char large[] =
      "param W: f32[512, 512] = uniform(-0.1, 0.1)\n"
      "param E: f32[30, 512] = uniform(-1.0, 1.0)\n"
      "fn encode(n: i32, k: i32) -> f32[512] = if n == 0 then tanh(W @ E[k % 30])\n"
      "  else tanh(W @ (encode(n - 1, 2 * k) + encode(n - 1, 2 * k + 1)))\n"
      "fn main(n: i32) -> f32 = encode(n, 1)[3]\n";
  NEEDS_NATIVE;
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 1;
  options.batching = HIA_BATCH_NONE;
  program none = open_program(&options, large, "main");
  outcome right = run(&none, "main", 6, 0);
  options.batching = HIA_BATCH_SEGMENTS;
  for (size_t most = 1 << 17; most <= 1 << 22; most += most / 2) {
    program p = open_program(&options, large, "main"); /* in which nothing is packed yet */
    outcome o = run(&p, "main", 6, most), alone = run(&none, "main", 6, most);
    cr_expect_eq(alone.status, HIA_OK);
    cr_expect_eq(o.status, HIA_OK, "%zu bytes", most);
    cr_expect_eq(memcmp(&o.value, &right.value, sizeof o.value), 0);
    close_program(&p);
  }
  close_program(&none);
}

/* A recursion gets its matrices as arguments, its tape keeps them, and the gates are rows of a
 * matrix: all steps of all instances are batched, forward and backward. */
Test(engine_batch, params_that_functions_get) {
  static const char recurrent[] =
      "param W: f32[64, 16] = uniform(-0.3, 0.3)\n"
      "param U: f32[64, 16] = uniform(-0.3, 0.3)\n"
      "param E: f32[30, 16] = uniform(-1.0, 1.0)\n"
      "fn cell(x: f32[16], h: f32[16], A: f32[64, 16], B: f32[64, 16]) -> f32[16] = {\n"
      "  let g = reshape(A @ x + B @ h, 4, 16); tanh(g[2]) * sigmoid(g[0]) + sigmoid(g[3]) * g[1] "
      "}\n"
      "fn run(n: i32, h: f32[16], A: f32[64, 16], B: f32[64, 16]) -> f32[16] =\n"
      "  if n == 0 then h else cell(E[n], run(n - 1, h, A, B), A, B)\n"
      "fn total(n: i32) -> f32 = sum([sum(run(1 + i % 9, E[i % 30], W, U)) for i in 0..n])\n"
      "fn main(n: i32) -> f32 = { let (x, (w, u)) = value_and_grad(total, wrt = (W, U))(n); x + "
      "sum(w) + sum(u) }\n";
  NEEDS_NATIVE;
  enum { N = 27, ROWS = N * 5 };
  hia_engine_options options = HIA_ENGINE_OPTIONS_INIT;
  options.kind = HIA_ENGINE_JIT;
  options.threads = 1;
  options.flags = HIA_FLAG_NO_REUSE;
  options.batching = HIA_BATCH_ALL;
  program p = open_program(&options, recurrent, "main");
  options.batching = HIA_BATCH_NONE;
  program none = open_program(&options, recurrent, "main");
  expect_same(&p, &none, "main", N, "a recurrent network");
  outcome o = run(&p, "main", N, 0);
  cr_expect_geq(o.stats.batch_rows, 2 * ROWS);
#ifndef HIA_STRESS
  cr_expect_leq(o.stats.batch_waves, 48, "%llu rows in %llu waves",
                (unsigned long long)o.stats.batch_rows, (unsigned long long)o.stats.batch_waves);
#endif
  close_program(&none);
  close_program(&p);
}
