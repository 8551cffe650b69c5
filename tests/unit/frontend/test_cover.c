/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Matches on data: missing cases and arms that cannot be reached. Random matches are compared with
 * the definition: each value up to a depth is matched with the arms one after the other. */
#include "frontend/check/cover.h"
#include "frontend/syntax/program.h"
#include "tests/unit/helpers/matches.h"
#include "tests/unit/helpers/sources.h"
#include "tests/unit/helpers/time.h"

#include <string.h>

enum { MAX_ARMS = 8 };
static hia_comp memory;

/* ---- the tree of decisions ---- */

static hia_ast_id match_of(const hia_program *p) {
  for (hia_ast_id id = 0; id < p->nodes.len; id++)
    if (hiaF_node(p, id)->kind == HIA_AST_MATCH) return id;
  cr_assert_fail("no match");
  return HIA_NONE;
}

/* The part of the value at an occurrence. Its parent holds the constructor that the occurrence is
 * of. */
static const sample *part_at(const hia_match_tree *m, uint32_t occurrence, const sample *value) {
  const hia_match_occurrence *at = &m->occurrences.data[occurrence];
  if (at->parent == HIA_NONE) return value;
  const sample *parent = part_at(m, at->parent, value);
  cr_assert_eq((uint32_t)parent->con, at->con);
  return parent->parts[at->field];
}

/* The arm that the tree finds. No occurrence is looked at twice. */
static uint32_t decide(const hia_match_tree *m, const sample *value) {
  bool seen[256] = {false};
  uint32_t id = m->root;
  while (m->nodes.data[id].occurrence != HIA_NONE) {
    const hia_match_node *n = &m->nodes.data[id];
    cr_assert(n->occurrence < 256 && !seen[n->occurrence]);
    seen[n->occurrence] = true;
    int64_t key = part_at(m, n->occurrence, value)->con;
    if (m->occurrences.data[n->occurrence].type == HIA_I32) key = sample_integers[key];
    uint32_t next = n->otherwise;
    for (uint32_t i = 0; i < n->n; i++) {
      const hia_match_case *k = &m->cases.data[n->first + i];
      cr_assert(i == 0 || k[-1].key < k->key);
      if (k->key == key) next = k->node;
    }
    cr_assert_lt(next, id);
    id = next;
  }
  return m->nodes.data[id].arm;
}

static void check_tree(compiled *c, const samples *values, sample **patterns) {
  hia_program *p = c->program;
  hia_ast_id match = match_of(p);
  const hia_decl *d = hiaF_decl(p, p->decls.len - 1);
  hia_match_tree m = hiaF_match_tree(p, p->arena, match, d->param_types[0]);
  for (size_t k = 0; k < values->len; k++) {
    uint32_t arm = 0;
    while (!sample_fits(patterns[arm], values->data[k])) arm++;
    cr_assert_eq(decide(&m, values->data[k]), arm);
  }
}

/* ---- random matches ---- */

static void compile_arms(compiled *c, char *text, int type, const char *arms) {
  sprintf(text, "%sfn f(v: %s) -> i32 = match v {\n%s}\n", sample_text, sample_types[type].name,
          arms);
  compile(c, text);
}

/* The number of errors with this code; *lines: a bit for each arm at which one is. */
static unsigned count(const compiled *c, const char *code, unsigned *lines, const char **message) {
  unsigned n = 0;
  for (uint32_t i = 0; i < c->diags.list.len; i++) {
    const hia_diag *d = &c->diags.list.data[i];
    if (strcmp(d->code, code) != 0) continue;
    n++;
    *message = d->message;
    if (d->line >= 5) *lines |= 1u << (d->line - 5);
  }
  return n;
}

/* Appends the cases that a message shows, an arm for each; returns how many. */
static unsigned add_shown(const char *message, char *arms) {
  static const char before[] = "the arms do not cover ";
  cr_assert(strncmp(message, before, sizeof before - 1) == 0, "%s", message);
  unsigned n = 0;
  int depth = 0;
  for (const char *at = message + sizeof before - 1, *from = at;; at++) {
    depth += (*at == '(') - (*at == ')');
    bool is_comma = depth == 0 && strncmp(at, ", ", 2) == 0;
    bool is_and = depth == 0 && strncmp(at, " and ", 5) == 0;
    if (*at != '\0' && !is_comma && !is_and) continue;
    if (strncmp(from, "others", 6) != 0) {
      sprintf(arms + strlen(arms), "  %.*s => 0,\n", (int)(at - from), from);
      n++;
    }
    if (*at == '\0') return n;
    from = at + (is_comma ? 2 : 5);
  }
}

Test(cover, random_matches) {
  samples values[N_SAMPLE_TYPES];
  hiaR_comp_init(&memory, &hiaR_malloc);
  sample_values(&memory.arena, 4, values);
  cr_assert(values[SAMPLE_T].len > 1000 && values[SAMPLE_Q].len > 100, "%u, %u",
            values[SAMPLE_T].len, values[SAMPLE_Q].len);
  static char arms[20000], text[25000];
  unsigned n_complete = 0, n_missing = 0, n_unreachable = 0, n_others = 0;
  enum { ROUNDS = 4000 / (HIA_TEST_SHARE > 1 ? 4 : 1) };
  for (int round = 0; round < ROUNDS; round++) {
    int type = (int)sample_below(3), n_arms = 1 + (int)sample_below(MAX_ARMS);
    sample *patterns[MAX_ARMS];
    hia_mark mark = hiaR_arena_mark(&memory.arena);
    arms[0] = '\0';
    for (int i = 0; i < n_arms; i++) {
      patterns[i] = sample_pattern(&memory.arena, type, 1 + (int)sample_below(3));
      strcat(arms, "  ");
      sample_print(patterns[i], type, arms);
      sprintf(arms + strlen(arms), " => %d,\n", i);
    }
    unsigned reached = 0;
    bool is_complete = true;
    for (size_t k = 0; k < values[type].len; k++) {
      int i = 0;
      while (i < n_arms && !sample_fits(patterns[i], values[type].data[k])) i++;
      if (i < n_arms)
        reached |= 1u << i;
      else
        is_complete = false;
    }
    compiled c;
    compile_arms(&c, text, type, arms);
    unsigned at = 0, unused = 0;
    const char *message = "";
    unsigned n = count(&c, "E0311", &at, &message);
    cr_assert_eq(at, ((1u << n_arms) - 1) & ~reached, "%s\n%s", text, all_errors(&c));
    n_unreachable += n;
    n = count(&c, "E0310", &unused, &message);
    cr_assert_eq(n, !is_complete, "%s\n%s", text, all_errors(&c));
    n_complete += is_complete;
    n_missing += !is_complete;
    if (is_complete) check_tree(&c, &values[type], patterns);
    if (!is_complete) { /* the cases shown, as arms, cover what is missing, and can be reached */
      bool has_others = strstr(message, " and others") != NULL;
      n_others += has_others;
      unsigned n_shown = add_shown(message, arms);
      cr_assert(n_shown >= 1 && n_shown <= 3, "%s", message);
      compiled more;
      compile_arms(&more, text, type, arms);
      unsigned now = 0;
      count(&more, "E0311", &now, &message);
      cr_assert_eq(now, at, "%s\n%s", text, all_errors(&more));
      cr_assert_eq(count(&more, "E0310", &unused, &message), has_others, "%s\n%s", text,
                   all_errors(&more));
      discard(&more);
    }
    discard(&c);
    hiaR_arena_release(&memory.arena, mark);
  }
  hiaR_comp_free(&memory);
  enum { MANY = ROUNDS * 3 / 40 };
  cr_assert(n_complete > MANY && n_missing > MANY && n_unreachable > MANY && n_others > MANY / 3,
            "%u complete, %u not, %u unreachable, %u with others", n_complete, n_missing,
            n_unreachable, n_others);
}

/* ---- large matches ---- */

static void expect_good(const char *text) {
  compiled c;
  uint64_t start = hiaR_now();
  compile_good(&c, text);
  uint64_t ns = hiaR_now() - start;
  /* Comparing all pairs of arms would take minutes. */
  cr_expect_lt(ns, test_limit_ns(20), "%llu ns", (unsigned long long)ns);
  discard(&c);
}

static char *arena_text(size_t size) {
  char *text = malloc(size);
  cr_assert_not_null(text);
  text[0] = '\0';
  return text;
}

/* In time that is no square of the number of arms. */
Test(cover, many_integers) {
  enum { N = 200000 };
  char *text = arena_text(N * 24 + 100), *at = text;
  at += sprintf(at, "fn f(n: i32) = match n {");
  for (int i = 0; i < N; i++) at += sprintf(at, "%d => %d, ", 7 * i - N, i);
  sprintf(at, "_ => 0 }\n");
  expect_good(text);
  free(text);
}

Test(cover, many_constructors) {
  enum { N = 60000 };
  char *text = arena_text(N * 60 + 100), *at = text;
  at += sprintf(at, "type T = Z");
  for (int i = 0; i < N; i++) at += sprintf(at, " | C%d(n: i32, t: T)", i);
  at += sprintf(at, "\nfn f(t: T) = match t { Z => 0");
  for (int i = 0; i < N; i++) at += sprintf(at, ", C%d(_, C%d(n, _)) => n", i, N - 1 - i);
  sprintf(at, ", _ => 1 }\n");
  expect_good(text);
  free(text);
}

/* A tree of decisions that is not shared has 2^30 nodes here; this one has two for each pair, and
 * one for each arm. */
Test(cover, pairs_of_fields) {
  enum { N = 60 };
  char *text = arena_text(N * N * 4), *at = text;
  at += sprintf(at, "type B = A | C\ntype P = P(");
  for (int i = 0; i < N; i++) at += sprintf(at, "%sx%d: B", i == 0 ? "" : ", ", i);
  at += sprintf(at, ")\nfn f(p: P) = match p {\n");
  for (int k = 0; k < N / 2; k++) {
    at += sprintf(at, "P(");
    for (int i = 0; i < N; i++)
      at += sprintf(at, "%s%s", i == 0 ? "" : ", ", i / 2 == k ? "A" : "_");
    at += sprintf(at, ") => %d,\n", k);
  }
  sprintf(at, "_ => 0 }\n");
  compiled c;
  compile_good(&c, text);
  hia_match_tree m =
      hiaF_match_tree(c.program, c.program->arena, match_of(c.program),
                      hiaF_decl(c.program, c.program->decls.len - 1)->param_types[0]);
  cr_expect_eq(m.nodes.len, 1 + N + N / 2 + 1, "%u nodes", m.nodes.len);
  discard(&c);
  free(text);
}

/* As deep as patterns may be, in the arms and in what is missing. */
Test(cover, deep_patterns) {
  enum { N = 900 };
  char *text = arena_text(N * 20 + 200), *at = text;
  at += sprintf(at, "type N = Z | S(n: N)\nfn f(n: N) = match n { ");
  for (int i = 0; i < N; i++) at += sprintf(at, "S(");
  at += sprintf(at, "_");
  for (int i = 0; i < N; i++) at += sprintf(at, ")");
  sprintf(at, " => 1 }\n");
  compiled c;
  compile(&c, text);
  cr_assert_eq(c.diags.list.len, 1);
  cr_expect_str_eq(c.diags.list.data[0].message,
                   "the arms do not cover Z, S(Z), S(S(Z)) and others", "%s",
                   c.diags.list.data[0].message);
  discard(&c);
  free(text);
}

/* The problem is NP-hard: this one takes too long, and ends. */
Test(cover, gives_up) {
  enum { N = 40, ARMS = 300 };
  char *text = arena_text(ARMS * (N * 3 + 20) + N * 20), *at = text;
  at += sprintf(at, "type B = A | C\ntype P = P(");
  for (int i = 0; i < N; i++) at += sprintf(at, "%sx%d: B", i == 0 ? "" : ", ", i);
  at += sprintf(at, ")\nfn f(p: P) = match p {\n");
  sample_state = 88172645463325252u;
  for (int k = 0; k < ARMS; k++) {
    at += sprintf(at, "P(");
    for (int i = 0; i < N; i++)
      at += sprintf(at, "%s%c", i == 0 ? "" : ", ", "AC__________"[sample_below(12)]);
    at += sprintf(at, ") => %d,\n", k);
  }
  sprintf(at, "_ => 0 }\n");
  compiled c;
  compile(&c, text);
  cr_assert_eq(c.diags.list.len, 1, "%s", all_errors(&c));
  cr_expect_str_eq(c.diags.list.data[0].code, "E0324");
  discard(&c);
  free(text);
}
