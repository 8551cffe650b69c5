/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* specialise: copies of functions for what is assumed of arguments.
 *
 * A call that hands on a param of the run, or an object that is known, becomes a call of a copy of
 * its function, which has that in place of a parameter. The copy is folded, so that the fields of a
 * known object are known in it, and its own calls are gone through in turn: a function that hands
 * its parameter on unchanged calls itself; one that walks over a known object gets a copy for each
 * part, and the walk is unrolled on the object (polyvariant specialisation; Jones, Gomard and
 * Sestoft, Partial Evaluation, 1993, chapters 4 and 5). There is one copy for each function and
 * choice of constants, and a budget of nodes, behind which calls stay as they are.
 *
 * Scalars are handed on by the root alone: a recursion over a number would be unrolled.
 *
 * Requires nothing, and keeps what the source says of calls: positions, counts, tail calls. A
 * gradient with respect to a parameter keeps the parameter. */
#include "graph/assume/assume.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum { MAX_NODES = 20000 }; /* of all copies */

/* What a copy has in place of a parameter. */
typedef struct stand_in {
  uint16_t op; /* PARAM, CONST; 0: it stays a parameter */
  uint64_t imm;
} stand_in;

typedef struct special {
  hia_fn_id of, id;
  const stand_in *given; /* by parameter */
} special;

typedef struct specialising {
  hia_graph *g;
  hia_arena *arena; /* scratch */
  HIA_VEC(special) copies;
  hia_index index; /* of copies */
  hia_u32vec todo; /* functions whose calls are to be gone through */
  uint32_t n_nodes;
  bool has_gradients; /* nothing may be folded: what adds a zero now must do so later, too */
} specialising;

static uint32_t hash_of(hia_fn_id of, const stand_in *given, uint32_t n) {
  uint64_t hash = of;
  for (uint32_t i = 0; i < n; i++) hash = hiaR_mix(hiaR_mix(hash, given[i].op), given[i].imm);
  return (uint32_t)hash;
}

static bool is_same(const stand_in *a, const stand_in *b, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (a[i].op != b[i].op || a[i].imm != b[i].imm) return false;
  return true;
}

/* Puts what is given in place of the parameters of a copy, and makes the others its ARGs. */
static hia_fn_id copy_for(specialising *s, hia_fn_id of, const stand_in *given) {
  hia_graph *g = s->g;
  const hia_fn *from = hiaG_fn(g, of);
  hia_type *params = HIA_NEW_ARRAY(&g->comp->arena, hia_type, from->n_params + 1);
  uint32_t n = 0;
  for (uint32_t i = 0; i < from->n_params; i++)
    if (!given[i].op) params[n++] = from->params[i];
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, from->name, " special"), from->source, from->loc,
                             params, n, from->results, from->n_results);
  hia_fn *fn = hiaG_fn(g, id);
  from = hiaG_fn(g, of);
  fn->is_recomputed = from->is_recomputed;
  hia_value_id *map = HIA_NEW_ARRAY(s->arena, hia_value_id, from->values.len + 1);
  memset(map, 0xff, from->values.len * sizeof *map);
  n = 0;
  HIA_EACH_ARG(from, 0, arg) {
    uint32_t i = HIA_IMM_A(from->nodes.data[arg].imm);
    hia_type type = from->params[i];
    map[hiaG_out(from, arg, 0)] =
        given[i].op
            ? hiaG_out(fn,
                       hiaG_add(g, fn, 0, given[i].op, NULL, 0, &type, 1, given[i].imm, fn->loc), 0)
            : n++; /* hiaG_fn_new has made the ARGs: value i is parameter i */
  }
  hiaG_copy_region(g, fn, 0, HIA_NONE, from, 0, map, HIA_NONE);
  hia_node_id yield = hiaG_yield_of(from, 0);
  hia_value_id *outs = HIA_NEW_ARRAY(s->arena, hia_value_id, from->n_results + 1);
  for (uint32_t i = 0; i < from->n_results; i++) outs[i] = map[hiaG_in(from, yield, i)];
  hiaG_yield(g, fn, 0, outs, from->n_results);
  s->n_nodes += fn->nodes.len;
  if (s->has_gradients) return id;
  hiaG_copy(g, fn);
  hiaG_fold(g, fn);
  return id;
}

static hia_fn_id find(specialising *s, hia_fn_id of, const stand_in *given) {
  uint32_t n = hiaG_fn(s->g, of)->n_params, hash = hash_of(of, given, n), at = hash, i;
  while ((i = hiaR_index_next(&s->index, hash, &at)) != HIA_NONE)
    if (s->copies.data[i].of == of && is_same(s->copies.data[i].given, given, n))
      return s->copies.data[i].id;
  if (s->n_nodes > MAX_NODES && !s->has_gradients) return HIA_NONE;
  hia_fn_id id = copy_for(s, of, given);
  hiaR_index_add(s->arena, &s->index, hash, s->copies.len);
  hiaR_push(s->arena, &s->copies, (special){of, id, given});
  hiaR_push(s->arena, &s->todo, id);
  return id;
}

/* What a value is, if it may be handed on. `is_root`: scalars, too. */
static stand_in stand_in_of(const specialising *s, const hia_fn *fn, hia_value_id v, bool is_root) {
  const hia_node *def = hiaG_def(fn, v);
  hia_type type = hiaG_type(fn, v);
  bool is_argument = def->op == HIA_OP_PARAM && def->imm >= s->g->first_argument;
  bool is_object =
      def->op == HIA_OP_CONST && !hiaR_is_scalar(type) && def->imm >= HIA_FIRST_ADDRESS;
  bool is_scalar = is_root && def->op == HIA_OP_CONST;
  return is_argument || is_object || is_scalar ? (stand_in){def->op, def->imm} : (stand_in){0};
}

static bool is_wrt(const hia_gradient_of *of, uint32_t i) {
  for (uint32_t k = 0; k < of->n; k++)
    if (!of->wrt[k].is_param && of->wrt[k].i == i) return true;
  return false;
}

/* The gradient that GRAD number `imm` computes, of a copy of its function. */
static uint64_t gradient_of(hia_graph *g, uint64_t imm, hia_fn_id copy, const stand_in *given) {
  const hia_gradient_of of = g->gradients.data[imm];
  hia_wrt *wrt = HIA_NEW_ARRAY(&g->comp->scratch, hia_wrt, of.n);
  for (uint32_t k = 0; k < of.n; k++) {
    wrt[k] = of.wrt[k];
    for (uint32_t i = 0; !wrt[k].is_param && i < of.wrt[k].i; i++) wrt[k].i -= given[i].op != 0;
  }
  return hiaG_gradient_new(g, copy, of.has_value, wrt, of.n);
}

static void specialise_call(specialising *s, hia_fn *fn, hia_node_id n, bool is_root) {
  hia_graph *g = s->g;
  const hia_node node = fn->nodes.data[n];
  if (node.op != HIA_OP_CALL && node.op != HIA_OP_GRAD) return;
  hia_fn_id called = hiaG_called(g, &node);
  const hia_fn *callee = hiaG_fn(g, called);
  if (callee->gradient != HIA_NONE) return;
  stand_in *given = HIA_NEW_ARRAY(s->arena, stand_in, node.n_ins + 1);
  hia_value_id *ins = HIA_NEW_ARRAY(s->arena, hia_value_id, node.n_ins + 1);
  uint32_t n_ins = 0;
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(fn, n, i);
    bool stays = node.op == HIA_OP_GRAD && is_wrt(hiaG_gradient_of(g, &node), i);
    given[i] = stays ? (stand_in){0} : stand_in_of(s, fn, v, is_root);
    if (!given[i].op) ins[n_ins++] = v;
  }
  if (n_ins == node.n_ins) return;
  hia_fn_id copy = find(s, called, given);
  if (copy == HIA_NONE) return;
  uint64_t imm = node.op == HIA_OP_GRAD ? gradient_of(g, node.imm, copy, given)
                                        : HIA_IMM(copy, HIA_IMM_B(node.imm));
  hiaG_set_ins(g, fn, n, ins, n_ins);
  fn->nodes.data[n].imm = imm;
}

static void specialise(hia_graph *g, bool only_roots) {
  specialising s = {.g = g, .arena = &g->comp->scratch, .has_gradients = hiaG_has_gradients(g)};
  HIA_EACH_FN(g, f)
    if (!only_roots || hiaG_fn(g, f)->is_root) hiaR_push(s.arena, &s.todo, f);
  for (uint32_t i = 0; i < s.todo.len; i++) {
    hia_fn *fn = hiaG_fn(g, s.todo.data[i]);
    HIA_EACH_NODE(fn, n) specialise_call(&s, fn, n, only_roots && fn->is_root);
    hiaR_look(g->comp);
  }
}

void hiaG_specialise(hia_graph *g) { specialise(g, true); }

void hiaG_specialise_gradients(hia_graph *g) { specialise(g, false); }
