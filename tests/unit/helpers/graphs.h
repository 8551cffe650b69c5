/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The preparations of most graph tests. */
#ifndef HIA_TEST_GRAPHS_H
#define HIA_TEST_GRAPHS_H

#include "graph/ir/graph.h"
#include "graph/ir/print.h"
#include "graph/pipeline/pass.h"
#include "graph/read/read.h"
#include "graph/verify/verify.h"
#include "tests/unit/helpers/graph_files.h"
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

/* The graph of a text after these passes, verified. `passes`: names, separated by spaces. */
static inline hia_graph *graph_after(env *e, const char *text, const char *passes) {
  hia_graph *g = read_text(e, text);
  for (size_t len; passes += strspn(passes, " "), (len = strcspn(passes, " ")); passes += len) {
    const hia_pass *pass = hiaG_passes;
    while (pass->name && (strlen(pass->name) != len || memcmp(pass->name, passes, len) != 0))
      pass++;
    if (!pass->name) cr_assert_fail("there is no pass %.*s", (int)len, passes);
    hiaG_run_pass(g, pass);
  }
  const char *defect = hiaG_verify(g);
  if (defect) cr_assert_fail("%s", defect);
  return g;
}

static inline const char *text_of(env *e, const hia_graph *g) {
  hia_text out;
  hiaR_text_init(&out, &e->comp.arena);
  hiaG_print(g, &out);
  return out.data;
}

#endif
