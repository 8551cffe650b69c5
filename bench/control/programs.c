/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/control/programs.h"
#include <stddef.h>

/* Each instance goes on until its own value is small. */
static const char exits[] =
    "param W: f32[256, 256] = glorot_uniform()\n"
    "fn steps(x: f32[256], n: i32, least: f32) -> (f32[256], i32) = { let y = tanh(W @ x);\n"
    "  if n == 0 or sum(y * y) < least then (y, n) else steps(y, n - 1, least) }\n"
    "fn left(i: i32) -> i32 = steps(full(f32(i + 1), 256), 30, 0.5 + 3 * f32(i % 7)).1\n"
    "fn result(n: i32) -> i32 = sum([left(i) for i in 0..n])\n"
    "fn rows_of(i: i32) -> i32[?] = i32(8 * iota(31 - i64(left(i))))\n";

/* Four hypotheses for each instance, until the best of them is a bad one. */
static const char beams[] =
    "type Start = Start(h: f32[256])\n"
    "param W: f32[256, 256] = glorot_uniform()\n"
    "param V: f32[64, 256] = glorot_uniform()\n"
    "param E: f32[64, 256] = uniform(-1.0, 1.0)\n"
    "fn search(all: [Start], n: i32) -> i32 = if n == 0 then 0 else {\n"
    "  let found = [match s { Start(h) => { let y = tanh(W @ h); let z = V @ y; (argmax(z), "
    "max(z), "
    "y) } } for s in all];\n"
    "  let (best, _) = loop (at = 0i64, j = 1i64) while j < len(found) {\n"
    "    (if found[j].1 > found[at].1 then j else at, j + 1) };\n"
    "  if found[best].1 < 1.3 then 1\n"
    "  else 1 + search([Start(found[best].2 + E[f.0]) for f in found], n - 1)\n"
    "}\n"
    "fn length(i: i32) -> i32 = search([Start(E[(7 * i + j) % 64]) for j in 0..4], 20)\n"
    "fn result(n: i32) -> i32 = sum([length(i) for i in 0..n])\n"
    "fn rows_of(i: i32) -> i32[?] = { let n = i64(length(i)); i32(8 * (iota(4 * n) / 4)) }\n";

/* What leads to a node, a cell of the kind of its edge, and its word; and what that decides. */
static const char grown[] =
    "fn result(n: i32) -> i32 =\n"
    "  i32(sum([size(t) for t in main([i64(i) * 7 % 1000 for i in 0..n], 6)]))\n"
    "fn within_tree(t: Tree, edge: i32, next: i32, d: i32) -> i32[?] = match t {\n"
    "  None => full(0, 0),\n"
    "  Word(_, l, r, b) => concat([8 * d + edge, 8 * d + 13, 8 * d + 20],\n"
    "    concat(within_tree(l, LEFT, NX_LEFT, d + 3), within_tree(r, RIGHT, NX_RIGHT, d + 3)),\n"
    "    within_tree(b, next, next, d + 3)) }\n"
    "fn rows_of(i: i32) -> i32[?] = match main([i64(i) * 7 % 1000], 6)[0] {\n"
    "  None => full(0, 0),\n"
    "  Word(_, l, r, _) =>\n"
    "    concat([4], within_tree(l, LEFT, NX_LEFT, 1), within_tree(r, RIGHT, NX_RIGHT, 1)) }\n";

/* The start of a draw, and its steps. */
static const char chains[] =
    "fn result(n: i32) -> i32 = i32(sum([chain(i64(k), 4, 0.04, 1).1 for k in 0..n]))\n"
    "fn rows_of(k: i32) -> i32[?] = {\n"
    "  let key = split(1, i64(k));\n"
    "  let (_, all, _) = loop (q = normals(split(key, 0)), all = full(0, 0), i = 1i64) while i <= "
    "4 "
    "{\n"
    "    let (q, more) = draw(q, 0.04, split(key, i));\n"
    "    let at = i32(len(all));\n"
    "    (q, concat(all, [8 * at], 8 * i32(iota(more)) + 8 * at + 9), i + 1)\n"
    "  };\n"
    "  all\n"
    "}\n";

/* A row of the tracker for each transition, and one for each phrase. */
static const char phrases[] =
    "fn result(n: i32) -> i32 =\n"
    "  i32(sum([sum(i64(parse(embed(s.0)).1) * (iota(max(2 * len(s.0) - 1, 0)) + 1)) for s in "
    "some(0, "
    "i64(n))]))\n"
    "fn rows_of(i: i32) -> i32[?] = {\n"
    "  let (_, transitions) = parse(embed(some(i64(i), 1)[0].0));\n"
    "  let (all, _) = loop (all = full(0, 0), k = 0i64) while k < len(transitions) {\n"
    "    let d = i32(len(all));\n"
    "    (if transitions[k] == SHIFT then concat(all, [8 * d]) else concat(all, [8 * d, 8 * d + "
    "9]), k + 1)\n"
    "  };\n"
    "  all\n"
    "}\n";

/* The states in both directions, and behind those of one the transitions. */
static const char arcs[] = "fn result(n: i32) -> i32 =\n"
                           "  i32(sum([sum(parse(encode(s.0, s.1)).0) for s in some(0, i64(n))]))\n"
                           "fn rows_of(i: i32) -> i32[?] = {\n"
                           "  let n = len(some(i64(i), 1)[0].0);\n"
                           "  concat(8 * i32(iota(n + 1)) + 1, 8 * i32(iota(2 * n)) + 8 * i32(n + "
                           "1) + 2, 8 * i32(iota(n + "
                           "1)))\n"
                           "}\n";

/* The states of a sentence; two rows for each word of its translation, of which the first is what
 * attends; three of the backward pass for each, and one for each state. */
static const char attending[] =
    "fn result(n: i32) -> i32 = i32(1000.0 * sum(grad(loss)(some(0, i64(n))).6))\n"
    "fn rows_of(i: i32) -> i32[?] = {\n"
    "  let s = some(i64(i), 1)[0];\n"
    "  let (n, m) = (len(s.0), len(s.1) + 1);\n"
    "  let (two, three) = (iota(2 * m), iota(3 * m));\n"
    "  i32(concat(concat(8 * iota(n), 8 * (n + two) + two % 2 + 1),\n"
    "    concat(8 * (n + 2 * m + three) + three % 3 + 3, 8 * (n + 5 * m + iota(n)) + 6)))\n"
    "}\n";

enum { PARSER = 3, SPINN = 6, TRANSLATOR = 7 }; /* of bench_deciding_models */

const bench_controlled bench_controlled_programs[BENCH_N_CONTROLLED + 1] = {
    {"early exits", NULL, NULL, exits, 1.4},
    {"beam search", NULL, NULL, beams, 1.4},
    {"top-down TreeLSTM 150", "top_down_tree_lstm", NULL, grown, 1},
    {"SPINN 150", "spinn", &bench_deciding_models[SPINN], phrases, 1},
    {"arc-hybrid parser", "arc_hybrid_parser", &bench_deciding_models[PARSER], arcs, 1},
    {"translator, gradient", "attention", &bench_deciding_models[TRANSLATOR], attending, 1.3},
    {"NUTS 250", "nuts", NULL, chains, 1.5},
    {NULL, NULL, NULL, NULL, 0},
};
