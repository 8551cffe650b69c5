/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Patterns: their names and constructors; and how deep the branches of a match nest. */
#include "frontend/check/names.h"
#include "frontend/kit/scope.h"
#include "frontend/syntax/program.h"

#include <stdlib.h>

/* ---- patterns ---- */

void hiaF_name_pattern(hia_name_walk *w, hia_ast_id id, uint32_t base) {
  const hia_ast n = *hiaF_node(w->p, id);
  if (n.kind == HIA_AST_PAT_NAME) hiaF_bind_name(w, n.a, id, base);
  if (n.kind != HIA_AST_PAT_CON) return;
  const hia_symbol *e = hiaF_symbol(w, n.a);
  const hia_decl *d = hiaF_pattern_con(w->p, &n);
  if (d == NULL) {
    w->failed = true;
    if (!w->p->names_unreliable) {
      hia_diag *diag = hiaF_name_error(w, HIA_E0208, n.start, n.start + e->len,
                                       "unknown constructor '%s'", e->text);
      const char *similar =
          diag == NULL ? NULL : hiaF_similar_name(w->p, e->text, e->len, HIA_LIKE_CON);
      if (similar != NULL)
        hiaF_hint(w->p->diags, diag, "did you mean '%s'?", similar);
      else
        hiaF_hint(
            w->p->diags, diag,
            "a capital letter starts a constructor; a name that binds starts with a small one");
    }
  } else if (d->broken) {
    w->failed = true;
  } else if (d->n_params != n.c) {
    hia_diag *diag = hiaF_name_error(w, HIA_E0203, n.start, n.end, "'%s' has %u field%s, not %u",
                                     e->text, d->n_params, d->n_params == 1 ? "" : "s", n.c);
    hiaF_note(w->p->diags, diag, d->pos, "defined here");
  }
  for (uint32_t i = 0; i < n.c; i++) hiaF_name_pattern(w, w->p->extra.data[n.b + i], base);
}

/* ---- the depth of a match ---- */

static uint32_t log2_ceil(uint32_t n) {
  uint32_t k = 0;
  while (k < 31 && (1u << k) < n) k++;
  return k;
}

/* The depth of a chain of n tests, or of a tree of them. */
static uint32_t tests_of(uint32_t n) { return n <= HIA_MATCH_CHAIN ? n : 1 + log2_ceil(n); }

static int by_symbol(const void *a, const void *b) {
  const hia_ast *const *x = a, *const *y = b;
  return (*x)->a<(*y)->a ? -1 : (*x)->a>(*y)->a;
}

/* The number of tests on the longest way through patterns of one value (elab/match_data.c):
 * those of the value, and of the fields of one constructor, each at most once. Sets *is_nested
 * if fields are tested. Equal integers count as different ones. */
static uint32_t tests_of_patterns(hia_name_walk *w, const hia_ast **list, uint32_t n,
                                  bool *is_nested) {
  hia_arena *scratch = &w->p->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  /* Few are the usual: at the end of a chunk each allocation takes a new one, and gives it back. */
  const hia_ast *few[8], **parts = few;
  if (n > HIA_LEN(few)) parts = HIA_NEW_ARRAY(scratch, const hia_ast *, n);
  uint32_t n_keys = 0, most = 0;
  qsort(list, n, sizeof *list, by_symbol);
  for (uint32_t from = 0, to; from < n; from = to, n_keys++) {
    to = from + 1;
    if (list[from]->kind == HIA_AST_PAT_INT) continue;
    while (to < n && list[to]->a == list[from]->a) to++;
    if (list[from]->kind == HIA_AST_PAT_BOOL) continue;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < list[from]->c; k++) {
      uint32_t n_parts = 0;
      for (uint32_t i = from; i < to; i++) {
        if (k >= list[i]->c) continue; /* wrong, and reported */
        const hia_ast *part = hiaF_node(w->p, w->p->extra.data[list[i]->b + k]);
        if (part->kind != HIA_AST_PAT_NAME && part->kind != HIA_AST_PAT_WILD)
          parts[n_parts++] = part;
      }
      *is_nested |= n_parts > 0;
      if (n_parts > 0) sum += tests_of_patterns(w, parts, n_parts, is_nested);
    }
    if (sum > most) most = sum;
  }
  hiaR_arena_release(scratch, mark);
  return tests_of(n_keys) + most;
}

uint32_t hiaF_depth_of_match(hia_name_walk *w, const hia_ast *n) {
  hia_arena *scratch = &w->p->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t n_arms = n->c / 2, n_patterns = 0;
  const hia_ast **patterns = HIA_NEW_ARRAY(scratch, const hia_ast *, n_arms);
  for (uint32_t i = 0; i < n->c; i += 2) {
    const hia_ast *pattern = hiaF_node(w->p, w->p->extra.data[n->b + i]);
    if (pattern->kind == HIA_AST_PAT_CON) patterns[n_patterns++] = pattern;
  }
  uint32_t depth = tests_of(n_arms);
  bool is_nested = false;
  if (n_patterns > 0) depth = tests_of_patterns(w, patterns, n_patterns, &is_nested);
  if (n_patterns > HIA_MATCH_CHAIN) depth += 1 + log2_ceil(n_arms); /* a search for cuts */
  if (is_nested) depth += 32;                                       /* there may be any number */
  hiaR_arena_release(scratch, mark);
  return depth;
}
