/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts of references: graphs are evaluated with counts, and must give what they gave before, read
 * nothing that was freed, and leave no object but those of the results. */
#include "graph/ir/walk.h"
#include "graph/read/read.h"
#include "graph/refs/shared.h"
#include "tests/unit/helpers/counts.h"
#include "tests/unit/helpers/data_programs.h"

enum { SIZE = 1 << 16 };

Test(opt_refs, random_programs) {
  static char text[SIZE];
  enum { N = 400 / HIA_TEST_SHARE };
  unsigned n_programs = 0;
  for (uint64_t seed = 1; n_programs < N; seed++) {
    cr_assert_lt(seed, 4 * N);
    if (random_data_program(seed, seed % 3 != 0, text, SIZE)) n_programs += counts_check(text, 2);
  }
}

/* A loop (of a tail call) that ends with a part of its variable, with the variable, or with both.
 */
Test(opt_refs, parts_of_variables_leave_loops) {
  cr_assert(counts_check(
      "type L = N | C(i: i32, l: L)\n"
      "type T = E | K(i: i32, l: L) | Q(a: T, b: T)\n"
      "fn list(n: i32) -> L = if n == 0 then N else C(n, list(n - 1))\n"
      "fn tree(n: i32) -> T = if n == 0 then K(7, list(3)) else Q(tree(n - 1), E)\n"
      "fn leaf(t: T) -> L = match t { E => N, K(_, l) => l, Q(a, _) => leaf(a) }\n"
      "fn both(t: T) -> (T, L) = match t { E => (E, N), K(_, l) => (t, l), Q(a, _) => both(a) }\n"
      "fn inner(t: T) -> (L, L) =\n"
      "  match t { K(_, C(_, l)) => (l, l), Q(a, _) => inner(a), _ => (N, N) }\n"
      "fn skip(l: L, n: i32) -> L = match l { C(_, t) => if n == 0 then l else skip(t, n - 1), N "
      "=> l }\n"
      "fn sum(l: L) -> i32 = match l { N => 1, C(i, t) => 3 * sum(t) + i }\n"
      "fn size(t: T) -> i32 = match t { E => 2, K(i, l) => i + sum(l), Q(a, b) => size(a) + "
      "size(b) }\n"
      "fn main(n: i32) -> i32 = {\n"
      "  let t = tree(n);\n"
      "  let (k, l) = both(t);\n"
      "  let (x, y) = inner(tree(n + 1));\n"
      "  sum(leaf(t)) + size(k) + sum(l) + sum(x) + sum(y) + size(t) + sum(skip(list(9), n))\n"
      "}\n",
      5));
}

/* UNPACK names fields by 32 bits: a constructor with more is taken apart by dup and drop. */
Test(opt_refs, more_references_than_bits) {
  enum { N_FIELDS = 40 };
  static char text[SIZE];
  size_t len = (size_t)sprintf(text, "type W = E | W(");
  for (int i = 0; i < N_FIELDS; i++)
    len += (size_t)sprintf(text + len, "%sa%d: W", i ? ", " : "", i);
  len += (size_t)sprintf(text + len, ")\nfn turn(w: W) -> W = match w { E => E, W(");
  for (int i = 0; i < N_FIELDS; i++) len += (size_t)sprintf(text + len, "%sx%d", i ? ", " : "", i);
  len += (size_t)sprintf(text + len, ") => W(");
  for (int i = N_FIELDS; i-- > 0;) len += (size_t)sprintf(text + len, "x%d%s", i, i ? ", " : "");
  len += (size_t)sprintf(text + len, ") }\nfn last(w: W) -> W = match w { E => E, W(");
  for (int i = 0; i < N_FIELDS; i++)
    len += (size_t)sprintf(text + len, "%s%s", i ? ", " : "", i + 1 < N_FIELDS ? "_" : "x");
  len += (size_t)sprintf(text + len,
                         ") => x }\nfn make(n: i32) -> W = if n == 0 then E else W(make(n - 1)");
  for (int i = 1; i < N_FIELDS; i++)
    len += (size_t)sprintf(text + len, i % 8 == 7 ? ", make(n - 1)" : ", E");
  sprintf(text + len,
          ")\nfn depth(w: W) -> i32 = match w { E => 0, _ => 1 + depth(last(turn(w))) }\n"
          "fn main(n: i32) -> i32 = depth(last(turn(make(n))))\n");
  cr_assert(counts_check(text, 2));
}

/* Loops as the frontend does not make them: they end with parts of their variable. `exits` are
 * three of %5, the variable, %6 and %7, its left and right parts. */
static void check_exits(const char *exits) {
  char text[4000];
  snprintf(text, sizeof text,
           "graph functions \"exits.hia\"\n"
           "type T = Leaf | Node(left: T, right: T)\n"
           "fn make (i32) -> (T) {\n"
           "  %%0:i32 = arg 0\n"
           "  %%1:i32 = const 0\n"
           "  %%2:bool = eq %%0, %%1\n"
           "  %%3:T = if %%2 {\n"
           "    %%4:T = const Leaf\n"
           "    yield %%4\n"
           "  } else {\n"
           "    %%5:i32 = const 1\n"
           "    %%6:i32 = sub %%0, %%5\n"
           "    %%7:T = call make %%6\n"
           "    %%8:T = const Leaf\n"
           "    %%9:T = data Node %%8, %%8\n"
           "    %%10:T = data Node %%7, %%9\n"
           "    yield %%10\n"
           "  }\n"
           "  yield %%3\n"
           "}\n"
           "fn size (T) -> (i32) {\n"
           "  %%0:T = arg 0\n"
           "  %%1:i32 = ctor %%0\n"
           "  %%2:i32 = const 0\n"
           "  %%3:bool = eq %%1, %%2\n"
           "  %%4:i32 = if %%3 {\n"
           "    %%5:i32 = const 1\n"
           "    yield %%5\n"
           "  } else {\n"
           "    %%6:T = field Node.0 %%0\n"
           "    %%7:T = field Node.1 %%0\n"
           "    %%8:i32 = call size %%6\n"
           "    %%9:i32 = call size %%7\n"
           "    %%10:i32 = add %%8, %%9\n"
           "    yield %%10\n"
           "  }\n"
           "  yield %%4\n"
           "}\n"
           "fn main (i32) -> (i32) root (i32) -> i32 {\n"
           "  %%0:i32 = arg 0\n"
           "  %%1:T = call make %%0\n"
           "  %%2:T, %%3:T, %%4:T = loop %%1 {\n"
           "    %%5:T = arg 0\n"
           "    %%6:T = field Node.0 %%5\n"
           "    %%7:T = field Node.1 %%5\n"
           "    %%8:i32 = ctor %%6\n"
           "    %%9:i32 = const 0\n"
           "    %%10:bool = ne %%8, %%9\n"
           "    yield %%10, %s\n"
           "  } round {\n"
           "    yield %%6\n"
           "  }\n"
           "  %%11:T = data Node %%2, %%3\n"
           "  %%12:T = data Node %%11, %%4\n"
           "  %%13:i32 = call size %%12\n"
           "  yield %%13\n"
           "}\n",
           exits);
  int32_t results[2];
  for (int counts = 0; counts < 2; counts++) {
    counts_built b;
    hiaR_comp_init(&b.comp, &hiaR_malloc);
    hia_read_error wrong = {0};
    if (HIA_TRY(&b.comp)) {
      hiaG_types_init(&b.types, &b.comp);
      b.g = hiaG_read(&b.comp, &b.types, text, strlen(text), &wrong);
      cr_assert(b.g, "%u:%u: %s", wrong.line, wrong.col, wrong.message);
      hia_pass_options options = {
          .disabled = counts ? NULL : "all", .verify = true, .use = HIA_USE_NATIVE};
      hiaG_run_passes(b.g, &options);
    }
    cr_assert_eq(b.comp.status, HIA_OK, "%s", b.comp.message);
    for (b.root = 0; !hiaG_fn(b.g, b.root)->is_root;) b.root++;
    eval_outcome o;
    hia_word arg = hiaR_from_i32(5);
    eval_graph(b.g, b.root, &arg, 1, &o);
    cr_assert_eq(o.status, HIA_OK);
    if (counts) cr_assert_eq(o.live, 0, "exits %s\n%s", exits, counts_graph(&b));
    results[counts] = hiaR_to_i32(o.results[0]);
    hiaR_comp_free(&b.comp);
    eval_free();
  }
  cr_assert_eq(results[0], results[1]);
}

Test(opt_refs, loops_end_with_parts_of_their_variable) {
  static const char *const values[] = {"%5", "%6", "%7"};
  for (unsigned i = 0; i < 27; i++) {
    char exits[40];
    snprintf(exits, sizeof exits, "%s, %s, %s", values[i % 3], values[i / 3 % 3], values[i / 9]);
    check_exits(exits);
  }
}

/* The branch at the end of a head gets a result that says whether the loop goes on, however full
 * the graph's tables are: with some number of nodes before the loop they move just then. */
Test(opt_refs, a_head_gets_a_result_while_its_tables_move) {
  for (unsigned n_before = 0; n_before < 70; n_before++) {
    char text[8000];
    size_t len = (size_t)sprintf(text, "graph functions \"head.hia\"\n"
                                       "type T = Leaf | Node(left: T, right: T)\n"
                                       "fn main (T) -> (T) {\n"
                                       "  %%0:T = arg 0\n"
                                       "  %%1:i32 = ctor %%0\n");
    for (unsigned i = 0; i < n_before; i++)
      len += (size_t)sprintf(text + len, "  %%%u:i32 = add %%1, %%1\n", 100 + i);
    sprintf(text + len, "  %%2:T = loop %%0 {\n"
                        "    %%3:T = arg 0\n"
                        "    %%4:i32 = ctor %%3\n"
                        "    %%5:i32 = const 1\n"
                        "    %%6:bool = eq %%4, %%5\n"
                        "    %%7:T, %%8:T = if %%6 {\n"
                        "      %%9:T = field Node.0 %%3\n"
                        "      yield %%9, %%3\n"
                        "    } else {\n"
                        "      yield %%3, %%3\n"
                        "    }\n"
                        "    %%10:bool = ne %%4, %%5\n"
                        "    yield %%10, %%8\n"
                        "  } round {\n"
                        "    yield %%7\n"
                        "  }\n"
                        "  yield %%2\n"
                        "}\n");
    hia_comp comp;
    hia_types types;
    hia_graph *volatile g = NULL;
    hia_read_error wrong = {0};
    hiaR_comp_init(&comp, &hiaR_malloc);
    if (HIA_TRY(&comp)) {
      hiaG_types_init(&types, &comp);
      g = hiaG_read(&comp, &types, text, strlen(text), &wrong);
      cr_assert(g, "%u:%u: %s", wrong.line, wrong.col, wrong.message);
      hiaG_split_exits(g, hiaG_fn(g, 0));
    }
    cr_assert_eq(comp.status, HIA_OK, "%s", comp.message);
    const char *defect = hiaG_verify(g);
    cr_assert_null(defect, "%s", defect);
    const hia_fn *fn = hiaG_fn(g, 0);
    HIA_EACH_NODE(fn, n) {
      if (fn->nodes.data[n].op == HIA_OP_LOOP)
        cr_assert_neq(hiaG_split_of(fn, fn->nodes.data[n].regions, 0), HIA_NONE, "%u nodes",
                      n_before);
    }
    hiaR_comp_free(&comp);
  }
}

/* ---- arrays that are changed ---- */

#define ARRAYS                                                                                     \
  "type L = N | C(i: i32, l: L)\n"                                                                 \
  "fn ones(n: i32) = [(1, C(i, N)) for i in 0..n]\n"                                               \
  "fn swap(a: [(i32, L)], i: i32, j: i32) = set(set(a, i, a[j]), j, a[i])\n"                       \
  "fn sum(a: [(i32, L)]) -> i32 = {\n"                                                             \
  "  let (_, s) = loop (i = 0, s = 0) while i < i32(len(a)) {\n"                                   \
  "    (i + 1, 3 * s + a[i].0 + (match a[i].1 { N => 1, C(k, _) => k })) }; s }\n"

/* The copies that `set` makes after the passes; main is called with 6. */
static uint64_t copies(const char *text) {
  compiled c;
  compile_good(&c, text);
  hia_inst_id inst = instance(&c, "main", HIA_NONE);
  cr_assert_neq(inst, HIA_NONE, "%s\n%s", text, all_errors(&c));
  eval_outcome plain = counts_run(&c, inst, HIA_USE_ALL, "all", "effects", EVAL_STEAL_NONE, 6);
  eval_outcome o = counts_run(&c, inst, HIA_USE_NATIVE, NULL, NULL, EVAL_STEAL_NONE, 6);
  cr_assert_eq(plain.status, HIA_OK);
  cr_assert(o.status == HIA_OK && o.results[0] == plain.results[0], "%s", text);
  discard(&c);
  return o.copies;
}

Test(opt_refs, arrays_are_changed_in_place) {
  static const char *const in_place[] = {
      /* a loop; a tail call; a swap; a call that hands its array back, not in tail position */
      "fn main(n: i32) -> i32 = { let (a, _) = loop (a = ones(n), i = 0) while i < n {\n"
      "  (set(a, i, (a[i].0 + i, N)), i + 1) }; sum(a) }\n",
      "fn f(a: [(i32, L)], i: i32) -> [(i32, L)] =\n"
      "  if i32(len(a)) == i then a else f(set(a, i, (i, C(i, a[i].1))), i + 1)\n"
      "fn main(n: i32) -> i32 = sum(f(ones(n), 0))\n",
      "fn main(n: i32) -> i32 = { let (a, _) = loop (a = ones(n), i = 0) while i < n / 2 {\n"
      "  (swap(a, i, n - 1 - i), i + 1) }; sum(a) }\n",
      "fn f(a: [(i32, L)], lo: i32, hi: i32) -> [(i32, L)] =\n"
      "  if hi <= lo then a else { let m = (lo + hi) / 2;\n"
      "    f(set(f(a, lo, m), m, (hi, N)), m + 1, hi) }\n"
      "fn main(n: i32) -> i32 = sum(f(ones(n), 0, n))\n",
      /* in one branch of two; the length is that of a later array; a new field of data */
      "fn main(n: i32) -> i32 = { let (a, _) = loop (a = ones(n), i = 0) while i < n {\n"
      "  (if i % 2 == 0 then a else set(a, i, (i, N)), i + 1) }; sum(a) }\n",
      "fn main(n: i32) -> i32 = { let (a, _) = loop (a = ones(n), i = 0) while i < n {\n"
      "  { let b = set(a, i, (i, N)); (set(b, i32(len(b)) - 1, (7, N)), i + 1) } }; sum(a) }\n",
      "type G = G(cells: [(i32, L)], n: i32)\n"
      "fn f(g: G, i: i32) -> G = match g { G(c, n) =>\n"
      "  if i >= n then G(c, n) else f(G(set(c, i, (i, N)), n), i + 1) }\n"
      "fn main(n: i32) -> i32 = match f(G(ones(n), n), 0) { G(c, _) => sum(c) }\n",
  };
  static const char *const copied[] = {
      "fn main(n: i32) -> i32 = { let a = ones(n); sum(set(a, 0, (9, N))) + sum(a) }\n",
      "fn f(a: [(i32, L)]) -> i32 = sum(set(a, 1, (9, N)))\n"
      "fn main(n: i32) -> i32 = { let a = ones(n); f(a) + f(a) + sum(a) }\n",
  };
  char text[2000];
  for (size_t i = 0; i < HIA_LEN(in_place); i++) {
    snprintf(text, sizeof text, ARRAYS "%s", in_place[i]);
    cr_assert_eq(copies(text), 0, "%s", text);
  }
  for (size_t i = 0; i < HIA_LEN(copied); i++) {
    snprintf(text, sizeof text, ARRAYS "%s", copied[i]);
    cr_assert_eq(copies(text), i + 1, "%s", text);
  }
}

/* ---- owning versions ---- */

/* The text of main's graph, of a function or of all. */
static char *counted_text(compiled *c, hia_pass_use use, const char *text) {
  static char copy[SIZE];
  compile_good(c, text);
  counts_built b;
  counts_build(&b, c, instance(c, "main", HIA_NONE), use, NULL, "refs");
  snprintf(copy, sizeof copy, "%s", counts_graph(&b));
  hiaR_comp_free(&b.comp);
  return copy;
}

#define TREES                                                                                      \
  "type T = E | Q(a: T, b: T)\n"                                                                   \
  "fn make(n: i32) -> T = if n <= 0 then E else Q(make(n - 1), make(n - 2))\n"                     \
  "fn size(t: T) -> i32 = match t { E => 1, Q(a, b) => size(a) + size(b) }\n"

Test(opt_refs, what_dies_in_a_call_is_freed_there) {
  compiled c;
  const char *g =
      counted_text(&c, HIA_USE_NATIVE, TREES "fn main(n: i32) -> i32 = size(make(n))\n");
  cr_assert(strstr(g, "call \"size(T) owning\" %"), "%s", g);
  const char *end = strstr(g, "\n}\n"), *drop = strstr(g, "drop");
  cr_assert(!drop || drop > end, "main keeps it: %s", g);
  discard(&c);
}

Test(opt_refs, what_lives_on_is_borrowed) {
  compiled c;
  const char *g =
      counted_text(&c, HIA_USE_NATIVE,
                   TREES "fn main(n: i32) -> i32 = { let t = make(n); size(t) - size(t) / 2 }\n");
  const char *main_at = strstr(g, "fn \"main(i32)\"");
  cr_assert_not_null(main_at);
  const char *borrowed = strstr(main_at, "call \"size(T)\" %");
  cr_assert_not_null(borrowed, "%s", g);
  discard(&c);
}

/* A thief gets the reference if nothing looks at the value while the fork is latent. */
Test(opt_refs, forks_give) {
  compiled c;
  const char *g =
      counted_text(&c, HIA_USE_PARALLEL, TREES "fn main(n: i32) -> i32 = size(make(n))\n");
  cr_assert(strstr(g, "give 0 %"), "%s", g);
  discard(&c);
  g = counted_text(&c, HIA_USE_PARALLEL,
                   TREES "fn both(t: T) -> i32 = size(t) + 2 * size(t)\n"
                         "fn main(n: i32) -> i32 = both(make(n))\n");
  const char *both = strstr(g, "fn \"main(i32)\"");
  both = strstr(both, "fork 0 \"size(T)\" %");
  cr_assert_not_null(both, "%s", g);
  discard(&c);
}

Test(opt_refs, shared_and_owned_trees) {
  cr_assert(counts_check(
      TREES "fn twice(n: i32, t: T) -> T = if n == 0 then t else twice(n - 1, Q(t, t))\n"
            "fn main(n: i32) -> i32 = size(twice(n, make(n))) + size(Q(make(n), "
            "twice(2, make(2)))) + { let t = make(n); size(t) + size(Q(t, t)) }\n",
      3));
}

/* ---- variables that loops borrow ---- */

#define LISTS                                                                                      \
  "type L = N | C(i: i32, l: L)\n"                                                                 \
  "type T = E | Q(a: T, x: L, b: T)\n"                                                             \
  "fn list(n: i32) -> L = if n <= 0 then N else C(n, list(n - 1))\n"                               \
  "fn tree(n: i32) -> T = if n <= 0 then E else Q(tree(n - 1), list(n), tree(n - 2))\n"            \
  "fn sum(l: L, s: i32) -> i32 = match l { N => s, C(i, t) => sum(t, 3 * s + i) }\n"

static unsigned count_words(const char *text, const char *word) {
  unsigned n = 0;
  for (; (text = strstr(text, word)); text += strlen(word)) n++;
  return n;
}

Test(opt_refs, a_walk_through_what_lives_on_counts_nothing) {
  compiled c;
  const char *g =
      counted_text(&c, HIA_USE_NATIVE,
                   LISTS "fn main(n: i32) -> i32 = { let l = list(n); sum(l, 0) - sum(l, n) }\n");
  const char *fn = strstr(g, "fn \"sum(L, i32)\"");
  cr_assert_not_null(fn, "%s", g);
  char body[4000];
  snprintf(body, sizeof body, "%.*s", (int)(strstr(fn, "\n}\n") - fn), fn);
  cr_assert_eq(count_words(body, "unpack") + count_words(body, "dup") + count_words(body, "drop"),
               0, "%s", body);
  discard(&c);
}

Test(opt_refs, walks) {
  static const char *const programs[] = {
      /* they end with a part, with the variable, or with what a branch has chosen */
      "fn after(l: L, n: i32) -> L = match l { N => N, C(_, t) => if n == 0 then l else after(t, n "
      "- "
      "1) }\n"
      "fn main(n: i32) -> i32 = { let l = list(n); sum(after(l, 2), 0) + sum(l, 1) + sum(after(l, "
      "9), 2) }\n",
      "fn leaf(t: T, n: i32) -> L = match t { E => N, Q(a, x, b) =>\n"
      "  if n == 0 then x else leaf(if n % 2 == 0 then a else b, n - 1) }\n"
      "fn main(n: i32) -> i32 = { let t = tree(n); sum(leaf(t, 1), 0) + sum(leaf(t, 0), 1) +\n"
      "  (match t { E => 0, Q(_, x, _) => sum(x, 5) }) }\n",
      /* two that change their places; one that is kept and one that is not */
      "fn zip(a: L, b: L, s: i32) -> i32 = match a { N => s, C(i, t) => zip(b, t, 3 * s + i) }\n"
      "fn main(n: i32) -> i32 = { let a = list(n); let b = list(n + 1); zip(a, b, 0) + sum(a, 1) + "
      "zip(list(3), b, 2) }\n",
      "fn back(a: L, b: L) -> L = match a { N => b, C(i, t) => back(t, C(i + 1, b)) }\n"
      "fn main(n: i32) -> i32 = { let a = list(n); sum(back(a, a), 0) + sum(back(a, N), 1) }\n",
      /* a walk in a walk, over a part of what the outer one walks through */
      "fn main(n: i32) -> i32 = {\n"
      "  let t = tree(n);\n"
      "  let (_, s) = loop (u = t, s = 0) while (match u { E => false, _ => true }) {\n"
      "    { let x = match u { E => N, Q(_, x, _) => x };\n"
      "      let (_, k) = loop (l = x, k = s) while (match l { N => false, _ => true }) {\n"
      "        match l { N => (N, k), C(i, r) => (if i == 2 then N else r, 3 * k + i) } };\n"
      "      ((match u { E => E, Q(a, _, _) => a }), k) } };\n"
      "  s + (match t { E => 1, Q(_, x, _) => sum(x, 7) }) }\n",
      /* a variable that gets a value from outside, or a new one */
      "fn main(n: i32) -> i32 = {\n"
      "  let a = list(n); let b = list(n + 2);\n"
      "  let (u, v, i) = loop (u = a, v = a, i = 0) while i < n {\n"
      "    ((match u { N => b, C(_, t) => t }), (match v { N => C(i, b), C(_, t) => t }), i + 1) "
      "};\n"
      "  sum(u, 0) + 5 * sum(v, 1) + sum(a, 2) + sum(b, 3) }\n",
      /* the elements of an array */
      "fn main(n: i32) -> i32 = {\n"
      "  let a = [(list(i), i) for i in 0..n + 1];\n"
      "  let (l, s, _i) = loop (l = a[n].0, s = 0, i = n) while i > 0 {\n"
      "    ((match l { N => a[i - 1].0, C(_, t) => t }), 3 * s + sum(l, i), i - 1) };\n"
      "  s + sum(l, 1) + sum(a[1].0, 0) }\n",
  };
  char text[4000];
  for (size_t i = 0; i < HIA_LEN(programs); i++) {
    snprintf(text, sizeof text, LISTS "%s", programs[i]);
    for (int32_t n = 1; n < 6; n++) cr_assert(counts_check(text, n), "%s", text);
  }
}
