/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs whose functions have a form for what is preferred (graph/assume/prefer.h): shared by
 * test_prefer.c and test_prefer_sizes.c. */
#ifndef HELPER_PREFERRED_H
#define HELPER_PREFERRED_H

#include "graph/assume/prefer.h"
#include "graph/ir/build.h"
#include "tests/unit/helpers/assumed_graphs.h"
#include <stdio.h>
#include <stdlib.h>

/* Preferences become part of a graph, which is sound then, and reads as what it prints. */
static const char *prefer(env *e, hia_graph *g, const hia_preference *of, uint32_t n) {
  hia_point *points;
  uint32_t n_points = hiaG_points(g, &points);
  for (uint32_t i = 0; i < n; i++) cr_assert_lt(of[i].point, n_points);
  hiaG_prefer(g, points, of, n);
  const char *text = changed_text(e, g);
  cr_assert_str_eq(text_of(e, read_text(e, text)), text);
  return text;
}

static inline void begin(world *w, const char *text, const hia_preference *of, uint32_t n) {
  read_twice(w, text);
  NO_THROW(&w->e, {
    w->text = prefer(&w->e, w->after, of, n);
    cr_assert_eq(root_of(w->after), w->root);
  });
}
#define ALWAYS(...)                                                                                \
  (const hia_preference[]){__VA_ARGS__}, (uint32_t)HIA_LEN(((const hia_preference[]){__VA_ARGS__}))
#define SIZES(...)                                                                                 \
  (hia_dims) {                                                                                     \
    .rank = (uint32_t)HIA_LEN(((const int64_t[]){__VA_ARGS__})), .dims = { __VA_ARGS__ }           \
  }

static inline void expect_text(const world *w, const char *words) {
  cr_assert(strstr(w->text, words), "no '%s' in\n%s", words, w->text);
}
static inline void expect_no_text(const world *w, const char *words) {
  cr_assert_not(strstr(w->text, words), "'%s' in\n%s", words, w->text);
}

/* Nothing was of use. */
static inline void expect_unchanged(world *w) {
  NO_THROW(&w->e, { cr_assert_str_eq(w->text, text_of(&w->e, w->before)); });
}

/* The text of one function, up to the next one. */
static const char *fn_text(const world *w, const char *head) {
  static char text[8000];
  const char *at = strstr(w->text, head);
  cr_assert(at, "no '%s' in\n%s", head, w->text);
  const char *last = strstr(at, "\n}\n");
  snprintf(text, sizeof text, "%.*s", (int)(last + 3 - at), at);
  return text;
}

static inline void run_all_as_before(world *w, int64_t least, int64_t most) {
  for (int64_t a = least; a <= most; a++)
    for (int64_t b = least; b <= most; b++) run_as_before(w, a, b);
}

#endif
