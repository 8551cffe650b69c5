/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* streams: arrays of data among the arguments of the roots may be streams, whose elements lie in a
 * file (runtime/format/stream.c).
 *
 * An element of an array is the array's: what reads it borrows it, for as long as the array lives.
 * An element of a stream must be freed when it is not needed any more, or all of the file would be
 * in memory in the end. That needs no further operation: a slice of a stream is an array of the
 * run, made of the file, which is counted and freed like any other. So each read of an element
 * becomes that of a slice of one element, in all engines:
 *
 *     %t = at 0 %a, %i           %n = len %a
 *                                %ok = 0 <= %i and %i < %n
 *                                %t = if %ok {
 *                                  %s = slice %a, %i, %i + 1
 *                                  %u = at 0 %s, 0
 *                                  yield %u
 *                                } else {
 *                                  %u = at 0 %a, %i              fails as it did
 *                                  yield %u
 *                                }
 *
 * The length is known, so the program may read elements in any order, and several times: then it
 * reads the file again. An array that is no stream is read in this way too, as a function may get
 * both.
 *
 * What else a program can do with an array would read elements in place: the arrays must not be
 * changed, joined to others, stored in objects or variables, or returned. Where they are,
 * hiaG_cannot_stream says so, and the caller reads all of the file.
 *
 * A program that is built ahead of time takes streams and arrays in memory, and reads the latter
 * without slices: hiaG_stream_version adds a second root to the graph, and copies of just the
 * functions that get its arrays.
 *
 * Requires that hiaG_cannot_stream has returned NULL; must come before passes that make branches or
 * loops of calls. Keeps the graph counted or fuelled if it was. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct streams {
  const hia_graph *g;
  bool **is_stream; /* by function, by parameter; NULL: none of the function's */
} streams;

static bool can_be_stream(const hia_graph *g, hia_type type) {
  if (hiaG_is_scalar(type) || hiaG_type_kind(g->types, type) != HIA_KIND_ARRAY) return false;
  hia_type element = g->types->entries.data[type - HIA_FIRST_TYPE].element;
  return !hiaG_is_scalar(element) && hiaG_type_kind(g->types, element) == HIA_KIND_DATA;
}

/* True if the value is a parameter that may be a stream. */
static bool is_stream(const streams *s, hia_fn_id f, hia_value_id v) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  const hia_node *node = hiaG_def(fn, v);
  return node->op == HIA_OP_ARG && fn->regions.data[node->region].kind == HIA_REGION_BODY &&
         s->is_stream[f] && s->is_stream[f][node->imm];
}

/* Notes that a parameter may be a stream. */
static void note(streams *s, hia_fn_id f, uint32_t param, bool *is_changed) {
  if (!s->is_stream[f])
    s->is_stream[f] = HIA_NEW_ARRAY(&s->g->comp->scratch, bool, hiaG_fn(s->g, f)->n_params);
  *is_changed |= !s->is_stream[f][param];
  s->is_stream[f][param] = true;
}

/* Operand i of a node is a stream. NULL: it may be. */
static const char *use(streams *s, const hia_node *node, uint32_t i, bool *is_changed) {
  switch (node->op) {
  case HIA_OP_LEN:
  case HIA_OP_AT:
  case HIA_OP_SLICE: return NULL;
  case HIA_OP_CALL: note(s, hiaG_callee(node), i, is_changed); return NULL;
  case HIA_OP_GRAD: return "it differentiates a function of the array";
  case HIA_OP_SET: return "it changes the array";
  case HIA_OP_CONCAT: return "it joins the array to others";
  case HIA_OP_DATA:
  case HIA_OP_ARRAY: return "it stores the array in another value";
  case HIA_OP_LOOP: return "the array is a variable of a loop";
  case HIA_OP_YIELD: return "the array is the result of a function, a branch or a round";
  default: return "it does more than to read elements and the length";
  }
}

static const char *find_in(streams *s, hia_fn_id f, bool *is_changed) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    for (uint32_t i = 0; i < node->n_ins; i++) {
      if (!is_stream(s, f, hiaG_in(fn, n, i))) continue;
      const char *why = use(s, node, i, is_changed);
      if (why) return why;
    }
  }
  for (uint32_t i = 0; fn->slow_path != HIA_NONE && i < fn->n_params; i++)
    if (s->is_stream[f][i]) note(s, fn->slow_path, i, is_changed);
  return NULL;
}

/* Finds the parameters that may be streams: what `root` has, or all roots if it is NONE, and what
 * is passed on. There is room for as many functions again. */
static const char *find(streams *s, hia_fn_id root) {
  const hia_graph *g = s->g;
  bool is_any = false;
  s->is_stream = HIA_NEW_ARRAY(&g->comp->scratch, bool *, 2 * (size_t)g->fns.len + 1);
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    bool is_wanted = root == HIA_NONE ? fn->is_root : f == root;
    for (uint32_t i = 0; is_wanted && i < fn->n_params; i++)
      if (can_be_stream(g, fn->params[i])) note(s, f, i, &is_any);
  }
  if (!is_any) return "no parameter is an array of data";
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (hia_fn_id f = 0; f < g->fns.len; f++) {
      const char *why = s->is_stream[f] ? find_in(s, f, &is_changed) : NULL;
      if (why) return why;
    }
  }
  return NULL;
}

const char *hiaG_cannot_stream(const hia_graph *g) {
  if (g->state != HIA_FUNCTIONS) return "it is a static graph";
  streams s = {.g = g};
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  const char *why = find(&s, HIA_NONE);
  hiaR_arena_release(&g->comp->scratch, mark);
  return why;
}

/* ---- reading elements ---- */

static hia_value_id append(hia_graph *g, hia_fn *fn, hia_region_id region, unsigned op,
                           const hia_value_id *ins, uint32_t n, hia_type type, uint64_t imm,
                           hia_loc_id loc) {
  return hiaG_out(fn, hiaG_add(g, fn, region, op, ins, n, &type, 1, imm, loc), 0);
}

static hia_value_id insert(hia_graph *g, hia_fn *fn, hia_node_id at, unsigned op, hia_value_id a,
                           hia_value_id b, hia_type type) {
  hia_value_id ins[] = {a, b};
  hia_loc_id loc = fn->nodes.data[at].loc;
  uint32_t n = op == HIA_OP_LEN ? 1 : 2;
  return hiaG_out(fn, hiaG_insert(g, fn, at, op, ins, n, &type, 1, 0, loc), 0);
}

/* Puts the branch in place of node n, which reads an element. */
static void read_slice(hia_graph *g, hia_fn *fn, hia_subst *subst, hia_node_id n) {
  const hia_node node = fn->nodes.data[n];
  hia_value_id array = hiaG_in(fn, n, 0), i = hiaG_in(fn, n, 1), out = hiaG_out(fn, n, 0);
  hia_type type = hiaG_type(fn, array), element = hiaG_type(fn, out), i64 = HIA_I64;
  hia_value_id zero =
      hiaG_out(fn, hiaG_insert(g, fn, n, HIA_OP_CONST, NULL, 0, &i64, 1, 0, node.loc), 0);
  hia_value_id len = insert(g, fn, n, HIA_OP_LEN, array, HIA_NONE, HIA_I64);
  hia_value_id is_above = insert(g, fn, n, HIA_OP_GE, i, zero, HIA_BOOL);
  hia_value_id is_below = insert(g, fn, n, HIA_OP_LT, i, len, HIA_BOOL);
  hia_value_id is_there = insert(g, fn, n, HIA_OP_BAND, is_above, is_below, HIA_BOOL);
  hia_node_id branch = hiaG_insert(g, fn, n, HIA_OP_IF, &is_there, 1, &element, 1, 0, node.loc);
  hia_region_id then = fn->nodes.data[branch].regions;
  hia_value_id one = hiaG_const(g, fn, then, HIA_I64, 1, node.loc);
  hia_value_id end =
      append(g, fn, then, HIA_OP_ADD, (hia_value_id[]){i, one}, 2, HIA_I64, 0, node.loc);
  hia_value_id slice =
      append(g, fn, then, HIA_OP_SLICE, (hia_value_id[]){array, i, end}, 3, type, 0, node.loc);
  hia_value_id first =
      append(g, fn, then, HIA_OP_AT, (hia_value_id[]){slice, zero}, 2, element, node.imm, node.loc);
  hiaG_yield(g, fn, then, &first, 1);
  hia_value_id wrong = append(g, fn, then + 1, HIA_OP_AT, (hia_value_id[]){array, i}, 2, element,
                              node.imm, node.loc);
  hiaG_yield(g, fn, then + 1, &wrong, 1);
  hiaG_replace(subst, out, hiaG_out(fn, branch, 0));
  hiaG_remove(fn, n);
}

static void rewrite(const streams *s, hia_graph *g, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(g, f);
  hia_subst subst = hiaG_subst(g, fn);
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_AT || !is_stream(s, f, hiaG_in(fn, n, 0))) continue;
    read_slice(g, fn, &subst, n);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(g, fn);
}

static void rewrite_all(const streams *s, hia_graph *g) {
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    if (!s->is_stream[f]) continue;
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    rewrite(s, g, f);
    hiaR_arena_release(&g->comp->scratch, mark);
  }
}

void hiaG_streams(hia_graph *g) {
  streams s = {.g = g};
  if (find(&s, HIA_NONE)) HIA_BUG(g->comp, "the graph cannot have streams");
  rewrite_all(&s, g);
}

/* ---- versions ---- */

static hia_fn_id copy_function(hia_graph *g, hia_fn_id f) {
  const hia_fn *from = hiaG_fn(g, f);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, from->name, " streams"), from->source, from->loc,
                             from->params, from->n_params, from->results, from->n_results);
  hia_fn *to = hiaG_fn(g, id);
  const char *name = to->name;
  *to = *from;
  to->name = name;
  hiaG_compact(g, to); /* nodes of its own */
  return id;
}

/* Makes the calls of a copy that pass streams those of copies. */
static void redirect(const streams *s, const hia_fn_id *versions, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(s->g, f);
  HIA_EACH_NODE(fn, n) {
    hia_node *node = &fn->nodes.data[n];
    bool has_stream = false;
    if (node->op != HIA_OP_CALL) continue;
    for (uint32_t i = 0; i < node->n_ins; i++) has_stream |= is_stream(s, f, hiaG_in(fn, n, i));
    if (has_stream) node->imm = versions[hiaG_callee(node)];
  }
  if (fn->slow_path != HIA_NONE) fn->slow_path = versions[fn->slow_path];
}

hia_fn_id hiaG_stream_version(hia_graph *g, hia_fn_id root) {
  if (g->state != HIA_FUNCTIONS) return HIA_NONE;
  streams s = {.g = g};
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  hia_fn_id version = HIA_NONE;
  if (!find(&s, root)) {
    uint32_t n = g->fns.len;
    hia_fn_id *versions = HIA_NEW_ARRAY(&g->comp->scratch, hia_fn_id, n);
    for (hia_fn_id f = 0; f < n; f++) {
      if (!s.is_stream[f]) continue;
      versions[f] = copy_function(g, f);
      hiaG_fn(g, versions[f])->is_root = f == root;
      s.is_stream[versions[f]] = s.is_stream[f];
      s.is_stream[f] = NULL;
    }
    for (hia_fn_id f = n; f < g->fns.len; f++) redirect(&s, versions, f);
    rewrite_all(&s, g);
    version = versions[root];
  }
  hiaR_arena_release(&g->comp->scratch, mark);
  return version;
}
