/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/matches.h"
#include <stdio.h>
#include <string.h>

const char sample_text[] = "type T = A | B(x: bool, t: T) | C(t: T, u: U)\n"
                           "type U = D | E(n: i32) | F(t: T)\n"
                           "type Q = Q(a: bool, b: bool, c: bool, u: U)\n";

enum { T = SAMPLE_T, U = SAMPLE_U, Q = SAMPLE_Q, BOOL = SAMPLE_BOOL, INT = SAMPLE_INT };

const sample_type sample_types[N_SAMPLE_TYPES] = {
    [T] = {"T", 3, {{"A", 0, {0}}, {"B", 2, {BOOL, T}}, {"C", 2, {T, U}}}},
    [U] = {"U", 3, {{"D", 0, {0}}, {"E", 1, {INT}}, {"F", 1, {T}}}},
    [Q] = {"Q", 1, {{"Q", 4, {BOOL, BOOL, BOOL, U}}}},
    [BOOL] = {"bool", 2, {{"false", 0, {0}}, {"true", 0, {0}}}},
    [INT] = {"i32",
             5,
             {{"-1", 0, {0}}, {"0", 0, {0}}, {"1", 0, {0}}, {"2", 0, {0}}, {"7", 0, {0}}}},
};
const int sample_integers[5] = {-1, 0, 1, 2, 7};

/* ---- values ---- */

static void add(hia_arena *arena, samples *list, int c, sample *const *parts) {
  sample *t = HIA_NEW(arena, sample);
  t->con = c;
  memcpy(t->parts, parts, sizeof t->parts);
  hiaR_push(arena, list, t);
}

/* Appends all values of a constructor whose first parts are chosen. */
static void add_values(hia_arena *arena, samples *list, int type, int c, int n_chosen,
                       sample **parts, const samples smaller[N_SAMPLE_TYPES]) {
  const sample_con *of = &sample_types[type].cons[c];
  if (n_chosen == of->n) {
    add(arena, list, c, parts);
    return;
  }
  const samples *choices = &smaller[of->parts[n_chosen]];
  for (size_t i = 0; i < choices->len; i++) {
    parts[n_chosen] = choices->data[i];
    add_values(arena, list, type, c, n_chosen + 1, parts, smaller);
  }
  parts[n_chosen] = NULL;
}

void sample_values(hia_arena *arena, int depth, samples values[N_SAMPLE_TYPES]) {
  samples smaller[N_SAMPLE_TYPES] = {{0}};
  if (depth > 1) sample_values(arena, depth - 1, smaller);
  for (int type = 0; type < N_SAMPLE_TYPES; type++) {
    memset(&values[type], 0, sizeof values[type]);
    sample *parts[SAMPLE_MAX_PARTS] = {0};
    const samples *from = smaller;
    samples scalars[N_SAMPLE_TYPES] = {{0}};
    if (depth == 1) { /* scalars need no depth */
      for (int s = BOOL; s <= INT; s++)
        for (int c = 0; c < sample_types[s].n; c++) add(arena, &scalars[s], c, parts);
      from = scalars;
    }
    for (int c = 0; c < sample_types[type].n; c++)
      add_values(arena, &values[type], type, c, 0, parts, from);
  }
}

bool sample_fits(const sample *pattern, const sample *value) {
  if (pattern->con < 0) return true;
  if (pattern->con != value->con) return false;
  for (int i = 0; i < SAMPLE_MAX_PARTS && pattern->parts[i] != NULL; i++)
    if (!sample_fits(pattern->parts[i], value->parts[i])) return false;
  return true;
}

/* ---- patterns ---- */

uint64_t sample_state = 88172645463325252u;
unsigned sample_below(unsigned n) {
  uint64_t s = sample_state;
  s ^= s << 13, s ^= s >> 7, s ^= s << 17;
  sample_state = s;
  return (unsigned)(s % n);
}

sample *sample_pattern(hia_arena *arena, int type, int depth) {
  sample *t = HIA_NEW(arena, sample);
  bool is_scalar = type == BOOL || type == INT;
  t->con = -1;
  if ((depth == 0 && !is_scalar) || sample_below(3) == 0) return t;
  t->con = (int)sample_below((unsigned)sample_types[type].n - (type == INT));
  const sample_con *of = &sample_types[type].cons[t->con];
  for (int i = 0; i < of->n; i++) t->parts[i] = sample_pattern(arena, of->parts[i], depth - 1);
  return t;
}

void sample_print(sample *t, int type, char *out) {
  size_t len = strlen(out);
  if (t->con < 0) {
    t->name = sample_below(2) ? 0 : len + 1;
    if (t->name)
      sprintf(out + len, "x%zu", t->name);
    else
      strcat(out, "_");
    return;
  }
  const sample_con *of = &sample_types[type].cons[t->con];
  strcat(out, of->name);
  for (int i = 0; i < of->n; i++) {
    strcat(out, i == 0 ? "(" : ", ");
    sample_print(t->parts[i], of->parts[i], out);
  }
  if (of->n > 0) strcat(out, ")");
}
