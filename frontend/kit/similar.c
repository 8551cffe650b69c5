/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the known name that differs least from an unknown one. */
#include "frontend/kit/scope.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

#define MAX_LENGTH 64u

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* The optimal string alignment distance, ignoring case: insertions, deletions, replacements and
 * swaps of neighbours. At most `limit` + 1. */
static uint32_t distance(const char *a, uint32_t n, const char *b, uint32_t m, uint32_t limit) {
  if ((n > m ? n - m : m - n) > limit || n > MAX_LENGTH || m > MAX_LENGTH) return limit + 1;
  uint32_t rows[3][MAX_LENGTH + 1];
  uint32_t *before = rows[0], *last = rows[1], *now = rows[2];
  for (uint32_t j = 0; j <= m; j++) last[j] = j, before[j] = 0;
  for (uint32_t i = 1; i <= n; i++) {
    now[0] = i;
    uint32_t least = i;
    for (uint32_t j = 1; j <= m; j++) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      uint32_t d = last[j - 1] + !same;
      if (last[j] + 1 < d) d = last[j] + 1;
      if (now[j - 1] + 1 < d) d = now[j - 1] + 1;
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]) && before[j - 2] + 1 < d)
        d = before[j - 2] + 1;
      now[j] = d;
      if (d < least) least = d;
    }
    if (least > limit) return limit + 1;
    uint32_t *free_row = before;
    before = last, last = now, now = free_row;
  }
  return last[m];
}

static bool is_like(const hia_program *p, const hia_symbol *e, unsigned like) {
  if ((like & HIA_LIKE_TYPE) && e->type != HIA_NONE) return true;
  if ((like & HIA_LIKE_VALUE) && e->var != HIA_NONE) return true;
  if (e->decl == HIA_NONE || strcmp(e->text, HIA_EXPRESSION) == 0) return false;
  switch ((hia_decl_kind)hiaF_decl(p, e->decl)->kind) {
  case HIA_DECL_FN:
  case HIA_DECL_EXTERN: return (like & HIA_LIKE_FN) != 0;
  case HIA_DECL_CON: return (like & (HIA_LIKE_FN | HIA_LIKE_VALUE | HIA_LIKE_CON)) != 0;
  case HIA_DECL_CONST:
  case HIA_DECL_PARAM: return (like & HIA_LIKE_VALUE) != 0;
  case HIA_DECL_TYPE: return false;
  }
  return false;
}

static uint32_t limit_for(uint32_t len) { return len <= 5 ? 1 : len <= 8 ? 2 : 3; }

const char *hiaF_similar_host(const hia_host_finder *finder, const char *name) {
  size_t len = strlen(name);
  if (len < 2 || len > MAX_LENGTH) return NULL;
  uint32_t limit = limit_for((uint32_t)len);
  const char *best = NULL, *known;
  for (size_t i = 0; (known = finder->name(finder->user, i)) != NULL; i++) {
    size_t n = strlen(known);
    uint32_t d =
        n > MAX_LENGTH ? limit + 1 : distance(name, (uint32_t)len, known, (uint32_t)n, limit);
    if (d > limit) continue;
    best = known;
    if (d == 0) return best;
    limit = d - 1;
  }
  return best;
}

const char *hiaF_similar_name(const hia_program *p, const char *name, uint32_t len, unsigned like) {
  if (len < 2 || len > MAX_LENGTH) return NULL;
  uint32_t limit = limit_for(len);
  const char *best = NULL;
  for (uint32_t i = HIA_N_KEYWORDS; i < p->symbols.list.len; i++) {
    const hia_symbol *e = &p->symbols.list.data[i];
    if (!is_like(p, e, like) || (e->len == len && memcmp(e->text, name, len) == 0)) continue;
    uint32_t d = distance(name, len, e->text, e->len, limit);
    if (d > limit) continue;
    best = e->text;
    if (d == 0) return best;
    limit = d - 1;
  }
  for (uint32_t i = 0; (like & HIA_LIKE_FN) && hiaF_builtin_name(i) != NULL; i++) {
    const char *text = hiaF_builtin_name(i);
    uint32_t d = distance(name, len, text, (uint32_t)strlen(text), limit);
    if (d > limit) continue;
    best = text;
    if (d == 0) return best;
    limit = d - 1;
  }
  return best;
}
