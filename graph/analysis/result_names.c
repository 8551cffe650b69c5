/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Names for the parts of a result in files: a gradient with respect to a param has the param's, and
 * the value of `value_and_grad` is `value`.
 *
 * They follow from where the words of the result come from. Before any pass that shows in the
 * graph: tuples and variables are taken apart, so a word comes from a GRAD, or from a call, a
 * branch or a check of its shape that leads there. */
#include "graph/analysis/result_names.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"

/* What it takes to find the names is bounded: beyond this there are none. */
enum { MAX_VISITED = 100000, MAX_DEPTH = 200 };

typedef struct finder {
  const hia_graph *g;
  uint32_t n_visited, depth;
} finder;

/* A call that is being followed already says nothing: the other branches decide. */
static const char any[] = "";

static const char *join(const char *a, const char *b) {
  if (a == any || !b) return a == any ? b : NULL;
  if (b == any || !a) return a;
  return strcmp(a, b) == 0 ? a : NULL;
}

static const char *name_of(finder *f, const hia_fn *fn, hia_value_id v);

static const char *name_of_yield(finder *f, const hia_fn *fn, hia_region_id region, uint32_t i) {
  return name_of(f, fn, hiaG_in(fn, hiaG_yield_of(fn, region), i));
}

static const char *name_of_gradient(const finder *f, const hia_node *node, uint32_t i) {
  const hia_gradient_of *gradient = hiaG_gradient_of(f->g, node);
  if (gradient->has_value && i == 0) {
    for (uint32_t k = 0; k < f->g->params.len; k++)
      if (strcmp(f->g->params.data[k].name, "value") == 0) return NULL;
    return "value";
  }
  const hia_wrt *wrt = &gradient->wrt[i - gradient->has_value];
  return wrt->is_param ? f->g->params.data[wrt->i].name : NULL;
}

static const char *name_of(finder *f, const hia_fn *fn, hia_value_id v) {
  const hia_node *node = hiaG_def(fn, v);
  const char *name = NULL;
  uint32_t i = v - node->outs;
  if (++f->n_visited > MAX_VISITED || f->depth == MAX_DEPTH) return NULL;
  f->depth++;
  switch (node->op) {
  case HIA_OP_GRAD: name = name_of_gradient(f, node, i); break;
  case HIA_OP_IF:
    name = name_of_yield(f, fn, node->regions, i);
    if (name) name = join(name, name_of_yield(f, fn, node->regions + 1, i));
    break;
  case HIA_OP_CALL: {
    const hia_fn *callee = hiaG_fn(f->g, hiaG_callee(node));
    name = callee == fn ? any : name_of_yield(f, callee, 0, i);
    break;
  }
  case HIA_OP_EXPECT: name = name_of(f, fn, fn->edges.data[node->ins]); break;
  default: break;
  }
  f->depth--;
  return name;
}

const char *const *hiaG_result_names(const hia_graph *g, hia_fn_id root, hia_arena *arena) {
  const hia_fn *fn = hiaG_fn(g, root);
  const char **names = HIA_NEW_ARRAY(arena, const char *, (size_t)fn->n_results + 1);
  for (uint32_t i = 0; g->state == HIA_FUNCTIONS && i < fn->n_results; i++) {
    finder f = {.g = g};
    const char *name = name_of_yield(&f, fn, 0, i);
    names[i] = name == any ? NULL : name;
  }
  return names;
}
