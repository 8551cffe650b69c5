/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "bench/decisions/models.h"

/* Sentences have 5 to 35 words. */
static const char draws[] = "\n"
                            "fn mixed(n: i64) -> i64 = {\n"
                            "  let a = n * -7046029254386353131;\n"
                            "  let b = bxor(a, shru(a, 30)) * -4658895280553007687;\n"
                            "  let c = bxor(b, shru(b, 27)) * -7723592293110705685;\n"
                            "  bxor(c, shru(c, 31))\n"
                            "}\n"
                            "fn drawn(n: i64, key: i64) -> i64 = shru(mixed(key), 1) % n\n"
                            "fn many(size: i64, n: i64, key: i64) -> i32[?] = [i32(drawn(n, "
                            "mixed(key) + i)) for i in 0..size]\n"
                            "fn length(key: i64) -> i64 = 5 + drawn(31, key)\n";

static const char tagger[] =
    "fn some(from: i64, n: i64) -> [(i32[?], i32[?])] =\n"
    "  [{ let m = length(k); (many(m, WORDS, k), many(m, TAGS, -k)) } for k in from..from + n]\n"
    "fn products(sentences: [(i32[?], i32[?])]) -> f64 = {\n"
    "  let cells = 2 * 4 * HIDDEN * (EMBEDDING + HIDDEN + 3 * HIDDEN);\n"
    "  sum([f64(len(s.0)) * f64(cells + 2 * HIDDEN * TAGS) for s in sentences])\n"
    "}\n";

/* Each fourth word is spelled, in 2 to 12 characters. */
static const char characters[] =
    "fn some_word(key: i64) -> Word =\n"
    "  if drawn(4, key) > 0 then Known(i32(drawn(WORDS, key + 1))) else\n"
    "    Rare(many(2 + drawn(11, key + 2), CHARACTERS, key + 3))\n"
    "fn some(from: i64, n: i64) -> [([Word], i32[?])] =\n"
    "  [{ let m = length(k); ([some_word(1000 * k + i) for i in 0..m], many(m, TAGS, -k)) } for k "
    "in from..from + n]\n"
    "fn spelled(w: Word) -> f64 = match w { Known(_) => 0, Rare(characters) => "
    "f64(len(characters)) }\n"
    "fn products(sentences: [([Word], i32[?])]) -> f64 = {\n"
    "  let of_a_character = f64(2 * 2 * EMBEDDING * (CHARACTER + EMBEDDING / 2));\n"
    "  let of_a_word = f64(2 * 4 * HIDDEN * (EMBEDDING + HIDDEN) + FEATURES * (2 * HIDDEN + "
    "TAGS));\n"
    "  sum([sum([of_a_word + of_a_character * spelled(w) for w in s.0]) for s in sentences])\n"
    "}\n";

/* Trees are random: of the transitions that are allowed, each is as likely as the others. */
static const char parser[] =
    "fn some_transitions(n: i64, key: i64) -> i32[?] = {\n"
    "  let (all, _, _, _) = loop (all = full(0, 2 * n), depth = 0i64, next = 0i64, k = 0i64) while "
    "k < 2 * n {\n"
    "    let kinds: i64 = if depth == 0 or (depth == 1 and next == n) then 1 else if depth == 1 or "
    "next "
    "== n then 2 else 3;\n"
    "    let label = i32(drawn(LABELS, key + 2 * k));\n"
    "    let kind = drawn(kinds, key + 2 * k + 1) + (if next < n then 0 else 1);\n"
    "    if kind == 0 then (all, depth + 1, next + 1, k + 1)\n"
    "    else (set(all, k, (if kind == 1 then LEFT else RIGHT) + label), depth - 1, next, k + 1)\n"
    "  };\n"
    "  all\n"
    "}\n"
    "fn some(from: i64, n: i64) -> [(i32[?], i32[?], i32[?])] =\n"
    "  [{\n"
    "    let m = length(k);\n"
    "    (many(m, WORDS, k), many(m, TAGS, -k), some_transitions(m, mixed(k)))\n"
    "  } for k in from..from + n]\n"
    "fn decided_arcs(sentences: [(i32[?], i32[?], i32[?])]) -> f32 =\n"
    "  sum([f32(sum(parse(encode(s.0, s.1)).0)) for s in sentences])\n"
    "fn products(sentences: [(i32[?], i32[?], i32[?])]) -> f64 = {\n"
    "  let of_a_token = f64(2 * 4 * HIDDEN * (EMBEDDING + TAG_EMBEDDING + HIDDEN));\n"
    "  let of_a_transition = f64(FEATURES * (8 * HIDDEN + TRANSITIONS));\n"
    "  sum([of_a_token * f64(len(s.0) + 1) + of_a_transition * f64(2 * len(s.0)) for s in "
    "sentences])\n"
    "}\n";

static const char spinn[] =
    "fn some_brackets(n: i64, key: i64) -> i32[?] = {\n"
    "  let (all, _, _, _) = loop (all = full(SHIFT, 2 * n - 1), depth = 0i64, next = 0i64, k = "
    "0i64) while k < 2 * n - 1 {\n"
    "    if depth > 1 and (next == n or drawn(2, key + k) == 0) then (set(all, k, REDUCE), depth - "
    "1, next, k + 1)\n"
    "    else (all, depth + 1, next + 1, k + 1)\n"
    "  };\n"
    "  all\n"
    "}\n"
    "fn some(from: i64, n: i64) -> [(i32[?], i32[?], i32)] =\n"
    "  [{\n"
    "    let m = length(k);\n"
    "    (many(m, WORDS, k), some_brackets(m, mixed(k)), i32(drawn(CLASSES, k)))\n"
    "  } for k in from..from + n]\n"
    "fn decided_class(sentences: [(i32[?], i32[?], i32)]) -> f32 =\n"
    "  sum([f32(argmax(scores(parse(embed(s.0)).0))) for s in sentences])\n"
    "fn products(sentences: [(i32[?], i32[?], i32)]) -> f64 = {\n"
    "  let of_a_word = f64(2 * HIDDEN * EMBEDDING);\n"
    "  let of_a_step = f64(4 * TRACKER * (3 * HIDDEN + TRACKER) + 2 * TRACKER);\n"
    "  let of_a_phrase = f64(5 * HIDDEN * (2 * HIDDEN + TRACKER));\n"
    "  sum([{\n"
    "    let n = f64(len(s.0));\n"
    "    of_a_word * n + of_a_step * (2 * n - 1) + of_a_phrase * (n - 1) + f64(CLASSES * HIDDEN)\n"
    "  } for s in sentences])\n"
    "}\n";

/* Translations have 5 to 35 words, too. */
static const char translator[] =
    "fn some(from: i64, n: i64) -> [(i32[?], i32[?])] =\n"
    "  [(many(length(k), WORDS, k), many(length(-k), WORDS, -k)) for k in from..from + n]\n"
    "fn products(sentences: [(i32[?], i32[?])]) -> f64 = {\n"
    "  let of_a_word = f64(4 * HIDDEN * (EMBEDDING + HIDDEN));\n"
    "  let of_a_step = f64(4 * HIDDEN * (EMBEDDING + 2 * HIDDEN) + HIDDEN * (3 * HIDDEN + "
    "WORDS));\n"
    "  sum([{\n"
    "    let (n, m) = (f64(len(s.0)), f64(len(s.1) + 1));\n"
    "    of_a_word * n + (of_a_step + f64(2 * HIDDEN) * n) * m\n"
    "  } for s in sentences])\n"
    "}\n";

/* Inputs are the numbers of chains, of 10 draws each. One at a time they reach 0.4 of what products
 * allow, so together they can be 2.5 times as fast. The product with L and that of the gradient
 * are made once for each step, and for each draw. */
static const char nuts[] =
    "\n"
    "fn some(from: i64, n: i64) -> i64[?] = [k for k in from..from + n]\n"
    "fn drawn(chains: i64[?]) -> f64 = sum([f64(chain(k, 10, 0.04, 1).1) for k in chains])\n"
    "fn products(chains: i64[?]) -> f64 = f64(2 * DIM * DIM) * (drawn(chains) + 10 * "
    "f64(len(chains)))\n";

const bench_deciding bench_deciding_models[BENCH_N_DECIDING] = {
    {"tagger",
     "BiLSTM, 5 to 35 words",
     "bilstm_tagger",
     "loss",
     true,
     {draws, tagger},
     0.7,
     false,
     0},
    {"characters",
     "BiLSTM, characters",
     "character_tagger",
     "loss",
     true,
     {draws, characters},
     0.7,
     false,
     0},
    {"parser", "arc-hybrid", "arc_hybrid_parser", "loss", true, {draws, parser}, 0.4, false, 0},
    {"parser",
     "arc-hybrid, decides",
     "arc_hybrid_parser",
     "decided_arcs",
     false,
     {draws, parser},
     0.4,
     false,
     0},
    {"parser",
     "arc-hybrid, explores",
     "arc_hybrid_parser",
     "explored",
     true,
     {draws, parser},
     0.4,
     false,
     0},
    {"spinn", "SPINN 150", "spinn", "loss", true, {draws, spinn}, 0.7, false, 0},
    {"spinn", "SPINN 150, decides", "spinn", "decided_class", false, {draws, spinn}, 0.7, false, 0},
    {"attention", "translator", "attention", "loss", true, {draws, translator}, 0.7, false, 1.7},
    {"nuts", "NUTS 250", "nuts", "drawn", false, {nuts, ""}, 0.7, true, 2},
};
