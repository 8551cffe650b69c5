/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The preparations of most graph tests. */
#ifndef HIA_TEST_GRAPHS_H
#define HIA_TEST_GRAPHS_H

#include "graph/graph.h"
#include "helper_graphs.h"
#include <criterion/criterion.h>

typedef struct {
  hia_comp comp;
  hia_types types;
} env;

static inline void env_init(env *e) {
  hiaR_comp_init(&e->comp, &hiaR_malloc);
  hiaG_types_init(&e->types, &e->comp);
}

/* Statements that must not throw. There is no handler, so a throw aborts the test. (With setjmp
 * here, compilers would warn about the variables of every test.) */
#define NO_THROW(e, ...)                                                                           \
  do {                                                                                             \
    (e)->comp.armed = false;                                                                       \
    __VA_ARGS__                                                                                    \
  } while (0)

static inline hia_graph *read_text(env *e, const char *text) {
  hia_read_error error;
  hia_graph *g = hiaG_read(&e->comp, &e->types, text, strlen(text), &error);
  if (!g) cr_assert_fail("%u:%u: %s", error.line, error.col, error.message);
  return g;
}

static inline const char *text_of(env *e, const hia_graph *g) {
  hia_text out;
  hiaR_text_init(&out, &e->comp.arena);
  hiaG_print(g, &out);
  return out.data;
}

#endif
