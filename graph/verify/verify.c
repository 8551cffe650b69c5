/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The verifier: checks that a graph is well formed. This file checks the graph as a whole and the
 * signatures of functions; node.c checks single nodes, and the relations between nodes are checked
 * by state, in fn.c and static.c.
 *
 * A graph may come from text that a user wrote. So the verifier assumes nothing, is linear in the
 * size of the graph except for sorting, and does not recurse. It also checks passes; therefore a
 * defect names the function and shows the node. */
#include "graph/ir/own_gradient.h"
#include "graph/verify/verifier.h"
#include "runtime/base/loc.h"
#include <inttypes.h>

/* ---- functions ---- */

static void check_types(hia_verifier *v, const char *what, const hia_type *types, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!hiaG_is_word(v->g->types, types[i]))
      hiaG_defect(v, HIA_NONE, "%s %u has no type", what, i);
}

/* Checks that the signature of a root, flattened, agrees with the function's parameters and
 * results.
 */
static void check_signature(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  const hia_types *types = v->g->types;
  if (!hiaG_type_exists(types, fn->sig_result))
    hiaG_defect(v, HIA_NONE, "a root has a result type");
  size_t n_words = 0;
  for (uint32_t i = 0; i < fn->n_sig_params; i++) {
    if (!hiaG_type_exists(types, fn->sig_params[i]))
      hiaG_defect(v, HIA_NONE, "parameter %u of the signature has no type", i);
    n_words += hiaG_type_words(types, fn->sig_params[i]);
  }
  bool agrees = n_words == fn->n_params && hiaG_type_words(types, fn->sig_result) == fn->n_results;
  if (agrees) {
    size_t largest = n_words > fn->n_results ? n_words : fn->n_results;
    hia_type *flat = HIA_NEW_ARRAY(v->scratch, hia_type, largest), *at = flat;
    for (uint32_t i = 0; i < fn->n_sig_params; i++) {
      hiaG_type_flatten(types, fn->sig_params[i], at);
      at += hiaG_type_words(types, fn->sig_params[i]);
    }
    for (uint32_t i = 0; i < fn->n_params; i++) agrees = agrees && flat[i] == fn->params[i];
    hiaG_type_flatten(types, fn->sig_result, flat);
    for (uint32_t i = 0; i < fn->n_results; i++) agrees = agrees && flat[i] == fn->results[i];
  }
  if (!agrees) hiaG_defect(v, HIA_NONE, "the signature and the parameters and results disagree");
}

/* Checks the signature of a slow path. That it returns the same cannot be checked. */
static void check_slow_path(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  bool exists = fn->slow_path < v->g->fns.len && !hiaG_fn(v->g, fn->slow_path)->is_removed;
  if (!exists) hiaG_defect(v, HIA_NONE, "its slow path does not exist");
  const hia_fn *slow = hiaG_fn(v->g, fn->slow_path);
  bool agrees = slow != fn && slow->n_params == fn->n_params && slow->n_results == fn->n_results;
  for (uint32_t i = 0; agrees && i < fn->n_params; i++) agrees = slow->params[i] == fn->params[i];
  for (uint32_t i = 0; agrees && i < fn->n_results; i++)
    agrees = slow->results[i] == fn->results[i];
  if (!agrees || slow->slow_path != HIA_NONE || slow->owning_of != HIA_NONE || slow->rows)
    hiaG_defect(v, HIA_NONE, "its slow path is not one of the same type");
}

/* Checks the signature of the function that this one is an owning version of. Only calls name an
 * owning version: where references are counted anew they call the other, and the version goes. */
static void check_owning(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  bool exists = fn->owning_of < v->g->fns.len && !hiaG_fn(v->g, fn->owning_of)->is_removed;
  if (!exists) hiaG_defect(v, HIA_NONE, "the function that it is a version of does not exist");
  const hia_fn *borrowing = hiaG_fn(v->g, fn->owning_of);
  bool agrees = borrowing != fn && borrowing->n_params == fn->n_params &&
                borrowing->n_results == fn->n_results;
  for (uint32_t i = 0; agrees && i < fn->n_params; i++)
    agrees = borrowing->params[i] == fn->params[i];
  for (uint32_t i = 0; agrees && i < fn->n_results; i++)
    agrees = borrowing->results[i] == fn->results[i];
  if (!agrees || borrowing->owning_of != HIA_NONE || fn->is_root || fn->rows)
    hiaG_defect(v, HIA_NONE, "it is no owning version of a function of its type");
}

/* The runtime writes the ends of ranges into its arguments, and reads how many elements there are.
 */
static void check_freezing(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  bool fits = !fn->is_root && fn->n_params >= HIA_RANGE_REST && fn->n_results == 1;
  if (!fits || fn->params[HIA_RANGE_FROM] != HIA_I64 || fn->params[HIA_RANGE_TO] != HIA_I64 ||
      fn->results[0] != HIA_I64)
    hiaG_defect(v, HIA_NONE, "a freezing function is about a range of two i64, and gives one");
}

/* A parameter or result of a segment, whose row has this shape: it has one axis more. A result that
 * was a scalar is a vector, and a row of it a tensor of one element. */
static void check_row(hia_verifier *v, hia_type type, const hia_dims *row, bool is_result) {
  enum { MOST_BYTES = 1 << 30 };
  uint64_t n;
  bool is_tensor = hiaG_type_kind(v->g->types, type) == HIA_KIND_TENSOR;
  uint32_t rank = is_tensor ? hiaG_rank(v->g->types, type) : 0;
  bool is_element = is_result && rank == 1 && row->rank == 1 && row->dims[0] == 1;
  bool fits = is_tensor && (is_element || (rank == row->rank + 1 && !(is_result && !row->rank)));
  for (uint32_t k = 0; k < row->rank; k++) fits &= row->dims[k] >= 0;
  if (!fits || !hiaR_shape_elements(row, 8, &n) || n > MOST_BYTES / 8)
    hiaG_defect(v, HIA_NONE, "a segment is about tensors, which have an axis more than their rows");
}

/* The body of a segment is a list of operations. */
static void check_segment(hia_verifier *v) {
  enum { MOST_WORDS = 2000 };
  const hia_fn *fn = v->fn;
  if (fn->is_root || fn->n_params < 1 || fn->n_params > HIA_MAX_ROW_OPERANDS || fn->n_results < 1 ||
      fn->n_results > MOST_WORDS)
    hiaG_defect(v, HIA_NONE,
                "a segment is no root, and has operands and results, but not too many");
  for (uint32_t i = 0; i < fn->n_params; i++) check_row(v, fn->params[i], &fn->rows[i], false);
  for (uint32_t i = 0; i < fn->n_results; i++)
    check_row(v, fn->results[i], &fn->rows[fn->n_params + i], true);
}

/* What segments call, themselves or by their calls, defers nothing, forks nothing, and calls no
 * host: a segment runs while a worker settles. */
static void check_calls_of_segments(hia_verifier *v) {
  hia_graph *g = v->g;
  hia_u32vec todo = {0};
  bool *is_reached = HIA_NEW_ARRAY(v->scratch, bool, g->fns.len + 1);
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->rows) {
      is_reached[f] = true;
      hiaR_push(v->scratch, &todo, f);
    }
  while (todo.len) {
    v->fn = hiaG_fn(g, v->fn_id = todo.data[--todo.len]);
    for (hia_node_id n = 0; n < v->fn->nodes.len; n++) {
      const hia_node *node = &v->fn->nodes.data[n];
      hia_fn_id callee = node->op == HIA_OP_CALL     ? hiaG_callee(node)
                         : node->op == HIA_OP_CALL_I ? g->sites.data[HIA_IMM_A(node->imm)].callee
                                                     : HIA_NONE;
      if (node->flags & HIA_NODE_DEAD) continue;
      if (node->op == HIA_OP_DEFER || node->op == HIA_OP_FORK || node->op == HIA_OP_HOST)
        hiaG_defect(v, n, "a segment, or what it calls, only computes");
      if (callee == HIA_NONE || is_reached[callee]) continue;
      is_reached[callee] = true;
      hiaR_push(v->scratch, &todo, callee);
    }
  }
}

/* What computes the gradient of a function, or of an extern, is there and of its type. */
static void check_own_gradient(hia_verifier *v, hia_fn_id gradient, const hia_type *params,
                               uint32_t n_params, const hia_type *results, uint32_t n_results) {
  if (gradient == HIA_NONE) return;
  if (v->g->state != HIA_FUNCTIONS)
    hiaG_defect(v, HIA_NONE, "a gradient of its own in the static graph");
  if (gradient >= v->g->fns.len || hiaG_fn(v->g, gradient)->is_removed)
    hiaG_defect(v, HIA_NONE, "what computes its gradient does not exist");
  if (!hiaG_fits_as_gradient(v->g, gradient, params, n_params, results, n_results))
    hiaG_defect(v, HIA_NONE, "what computes its gradient is not of its type");
}

static void check_header(hia_verifier *v, hia_index *names) {
  const hia_fn *fn = v->fn;
  uint32_t hash = hiaR_hash(fn->name, strlen(fn->name)), at = hash, other;
  while ((other = hiaR_index_next(names, hash, &at)) != HIA_NONE)
    if (strcmp(hiaG_fn(v->g, other)->name, fn->name) == 0)
      hiaG_defect(v, HIA_NONE, "two functions have one name");
  hiaR_index_add(v->scratch, names, hash, v->fn_id);
  if (fn->source >= v->g->names.len) hiaG_defect(v, HIA_NONE, "its name does not exist");
  if (fn->loc != HIA_NONE && fn->loc >= v->g->locs.len)
    hiaG_defect(v, HIA_NONE, "its location does not exist");
  check_types(v, "parameter", fn->params, fn->n_params);
  check_types(v, "result", fn->results, fn->n_results);
  if (fn->is_root) check_signature(v);
  if (fn->slow_path != HIA_NONE) check_slow_path(v);
  if (fn->owning_of != HIA_NONE) check_owning(v);
  if (fn->rows) check_segment(v);
  if (fn->is_freezing) check_freezing(v);
  check_own_gradient(v, fn->gradient, fn->params, fn->n_params, fn->results, fn->n_results);
  if (fn->regions.len == 0) hiaG_defect(v, HIA_NONE, "there is no body");
}

static void check_locations(hia_verifier *v) {
  for (hia_loc_id l = 0; l < v->g->locs.len; l++) {
    const hia_loc *loc = &v->g->locs.data[l];
    bool has_name = loc->fn < v->g->names.len || hiaR_loc_is_mark(loc->fn);
    if (!has_name || (loc->parent != HIA_NONE && loc->parent >= l))
      hiaG_defect(v, HIA_NONE, "location %u has no function, or comes before its parent", l);
  }
}

static void check_externs(hia_verifier *v) {
  hia_index names = {0};
  for (uint32_t i = 0; i < v->g->externs.len; i++) {
    const hia_extern *e = &v->g->externs.data[i];
    uint32_t hash = hiaR_hash(e->name, strlen(e->name)), at = hash, other;
    while ((other = hiaR_index_next(&names, hash, &at)) != HIA_NONE)
      if (strcmp(v->g->externs.data[other].name, e->name) == 0)
        hiaG_defect(v, HIA_NONE, "two externs have one name");
    hiaR_index_add(v->scratch, &names, hash, i);
    check_own_gradient(v, e->gradient, e->params, e->n_params, e->results, e->n_results);
  }
}

static void check_params(hia_verifier *v) {
  hia_index names = {0};
  for (uint32_t i = 0; i < v->g->params.len; i++) {
    const hia_param_spec *spec = &v->g->params.data[i];
    uint32_t hash = hiaR_hash(spec->name, strlen(spec->name)), at = hash, other;
    while ((other = hiaR_index_next(&names, hash, &at)) != HIA_NONE)
      if (strcmp(v->g->params.data[other].name, spec->name) == 0)
        hiaG_defect(v, HIA_NONE, "two params have one name");
    hiaR_index_add(v->scratch, &names, hash, i);
    if (!hiaR_param_is_sound(spec)) hiaG_defect(v, HIA_NONE, "param %u is not sound", i);
  }
}

static void check_graph(hia_verifier *v) {
  hia_graph *g = v->g;
  hia_index names = {0};
  check_locations(v);
  check_externs(v);
  check_params(v);
  for (v->fn_id = 0; v->fn_id < g->fns.len; v->fn_id++) {
    v->fn = hiaG_fn(g, v->fn_id);
    if (v->fn->is_removed) continue;
    check_header(v, &names);
    for (hia_node_id n = 0; n < v->fn->nodes.len; n++)
      if (!(v->fn->nodes.data[n].flags & HIA_NODE_DEAD)) hiaG_verify_indices(v, n);
    for (hia_node_id n = 0; n < v->fn->nodes.len; n++)
      if (!(v->fn->nodes.data[n].flags & HIA_NODE_DEAD)) hiaG_verify_node(v, n);
  }
  v->fn = NULL;
  if (g->state == HIA_FUNCTIONS && g->gradients.len) hiaG_verify_gradients(v);
  hiaG_verify_sites(v);
  for (v->fn_id = 0; v->fn_id < g->fns.len; v->fn_id++) {
    v->fn = hiaG_fn(g, v->fn_id);
    if (v->fn->is_removed) continue;
    hia_mark mark = hiaR_arena_mark(v->scratch);
    if (g->state == HIA_STATIC)
      hiaG_verify_section(v);
    else
      hiaG_verify_function(v);
    hiaR_arena_release(v->scratch, mark);
  }
  check_calls_of_segments(v);
  v->fn = NULL;
  hiaG_verify_addresses(v);
}

bool hiaG_find_defect(hia_graph *g, hia_defect *defect) {
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  hia_verifier v = {.g = g, .scratch = &g->comp->scratch, .defect = defect};
  *defect = (hia_defect){HIA_NONE, HIA_NONE, NULL};
  if (setjmp(v.stop) == 0) check_graph(&v);
  hiaR_arena_release(&g->comp->scratch, mark);
  return defect->message != NULL;
}

const char *hiaG_verify(hia_graph *g) {
  hia_defect defect;
  return hiaG_find_defect(g, &defect) ? defect.message : NULL;
}
