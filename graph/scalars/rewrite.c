/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions, with elements in the place of what is split.
 *
 * One walk in sequential order. What is split and has been met has its elements in `elements`; all
 * else that a node is computed from is found through `subst`. A tensor that is put together is kept
 * for other uses that its place dominates. */
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/scalars/scalars.h"

typedef struct rewriting {
  hia_scalars *s;
  hia_graph *g;
  hia_arena *arena;
  hia_fn_id f;
  hia_fn *fn;
  hia_subst subst;
  hia_value_id **elements; /* by value: NULL, there are none yet */
  hia_value_id *put;       /* by value: the tensor that was put together last; */
  hia_region_id *put_in;   /* in this region */
  hia_value_id *outs;      /* by node: its results before it was changed */
  hia_u32vec gone;         /* nodes that are split */
} rewriting;

static bool is_split(const rewriting *r, hia_value_id v) { return hiaG_is_split(r->s, r->f, v); }

static bool is_tensor(const rewriting *r, hia_value_id v) { return hiaG_is_tensor(r->g, r->fn, v); }

static uint32_t count_of(const rewriting *r, hia_value_id v) {
  hia_dims shape;
  hiaG_scalars_shape(r->s, r->f, v, &shape);
  return hiaG_scalars_count(&shape);
}

static hia_dtype dtype_of(const rewriting *r, hia_value_id v) {
  return hiaG_dtype(r->g->types, hiaG_type(r->fn, v));
}

static hia_scalars_place place_at(const rewriting *r, hia_node_id at, hia_loc_id loc) {
  return (hia_scalars_place){r->s, r->f, at, loc};
}

/* ---- elements of what is whole ---- */

static void read_literal(const rewriting *r, hia_value_id v, hia_node_id at, hia_value_id *out) {
  hia_scalars_place p = place_at(r, at, hiaG_def(r->fn, v)->loc);
  const hia_tensor_literal *literal = &r->g->literals.data[hiaG_def(r->fn, v)->imm];
  for (uint32_t i = 0; i < hiaG_literal_len(literal); i++)
    out[i] =
        hiaG_scalars_add(&p, HIA_OP_CONST, NULL, 0, literal->dtype, hiaG_literal_get(literal, i));
}

/* Reads the elements of a tensor where it is made. The last one is read first, so that a test of
 * its index is one of the others', too. */
static void read_tensor(rewriting *r, hia_value_id v, hia_value_id *out) {
  hia_node_id def = r->fn->values.data[v].node;
  bool is_arg = r->fn->nodes.data[def].op == HIA_OP_ARG;
  hia_node_id at =
      is_arg ? hiaG_behind_args(r->fn, r->fn->nodes.data[def].region) : r->fn->nodes.data[def].next;
  hia_scalars_place p = place_at(r, at, r->fn->nodes.data[def].loc);
  hia_dtype dtype = dtype_of(r, v);
  hia_dims shape;
  hiaG_scalars_shape(r->s, r->f, v, &shape);
  uint32_t n = hiaG_scalars_count(&shape), row = n / (uint32_t)shape.dims[0];
  hia_value_id ins[2] = {hiaG_resolve(&r->subst, v)};
  for (uint32_t i = n; i-- > 0;) {
    ins[1] = hiaG_scalars_add(&p, HIA_OP_CONST, NULL, 0, HIA_I64, i / row);
    out[i] =
        hiaG_scalars_add(&p, shape.rank > 1 ? HIA_OP_ITEM : HIA_OP_ROW, ins, 2, dtype, i % row);
  }
}

/* Returns n elements of a value that an operation at `at` reads. */
static const hia_value_id *elements_of(rewriting *r, hia_value_id v, uint32_t n, hia_node_id at) {
  if (r->elements[v]) return r->elements[v];
  hia_value_id *out = HIA_NEW_ARRAY(r->arena, hia_value_id, n + 1);
  if (hiaG_is_scalar(hiaG_type(r->fn, v))) {
    out[0] = hiaG_resolve(&r->subst, v);
  } else if (hiaG_scalars_is_unset(r->fn, v)) {
    hia_scalars_place p = place_at(r, at, hiaG_def(r->fn, v)->loc);
    for (uint32_t i = 0; i < n; i++)
      out[i] = hiaG_scalars_add(&p, HIA_OP_UNDEF, NULL, 0, dtype_of(r, v), 0);
  } else if (hiaG_def(r->fn, v)->op == HIA_OP_LITERAL) {
    read_literal(r, v, at, out);
  } else {
    read_tensor(r, v, out);
    r->elements[v] = out;
  }
  return out;
}

/* ---- whole tensors ---- */

static bool is_within(const rewriting *r, hia_region_id inner, hia_region_id outer) {
  const hia_scalars_region *regions = r->s->fns[r->f].regions;
  return regions[inner].first >= regions[outer].first &&
         regions[inner].first <= regions[outer].last;
}

static hia_value_id put_together(rewriting *r, hia_value_id v, hia_node_id at) {
  hia_scalars_place p = place_at(r, at, hiaG_def(r->fn, v)->loc);
  hia_dtype dtype = dtype_of(r, v);
  hia_dims shape;
  hiaG_scalars_shape(r->s, r->f, v, &shape);
  uint32_t n = hiaG_scalars_count(&shape);
  hia_type vector = hiaG_tensor(r->g->types, dtype, 1);
  hia_value_id whole = hiaG_scalars_add(&p, HIA_OP_STACK, r->elements[v], n, vector, 0);
  if (shape.rank == 1) return whole;
  hia_value_id ins[1 + HIA_MAX_RANK] = {whole};
  for (uint32_t k = 0; k < shape.rank; k++)
    ins[1 + k] = hiaG_scalars_add(&p, HIA_OP_CONST, NULL, 0, HIA_I64, hiaR_from_i64(shape.dims[k]));
  return hiaG_scalars_add(&p, HIA_OP_RESHAPE, ins, 1 + shape.rank, hiaG_type(r->fn, v), 0);
}

/* Returns what node n is to have in the place of operand v. */
static hia_value_id whole_of(rewriting *r, hia_value_id v, hia_node_id n) {
  if (!is_tensor(r, v) || !is_split(r, v)) return hiaG_resolve(&r->subst, v);
  hia_node_id at = hiaG_scalars_place(r->s, r->f, v, n);
  hia_region_id region = r->fn->nodes.data[at].region;
  if (r->put[v] == HIA_NONE || !is_within(r, region, r->put_in[v])) {
    r->put[v] = put_together(r, v, at);
    r->put_in[v] = region;
  }
  return r->put[v];
}

/* ---- what has several values ---- */

/* Adds operand v of node n: whole, or as elements, of which there are `count`. */
static void push_operand(rewriting *r, hia_u32vec *w, hia_value_id v, hia_node_id n,
                         bool as_elements, uint32_t count) {
  if (!as_elements) {
    hiaR_push(r->arena, w, whole_of(r, v, n));
    return;
  }
  const hia_value_id *elements = elements_of(r, v, count, n);
  for (uint32_t i = 0; i < count; i++) hiaR_push(r->arena, w, elements[i]);
}

/* Gives a node results in the place of those that it has. */
static void change_outs(rewriting *r, hia_node_id n) {
  hia_value_id first = r->fn->nodes.data[n].outs;
  uint32_t n_outs = r->fn->nodes.data[n].n_outs, at = 0;
  HIA_VEC(hia_type) types = {0};
  bool is_any = false;
  for (hia_value_id v = first; v < first + n_outs; v++) {
    bool is_apart = is_tensor(r, v) && is_split(r, v);
    is_any |= is_apart;
    for (uint32_t i = is_apart ? count_of(r, v) : 1; i-- > 0;)
      hiaR_push(r->arena, &types, is_apart ? (hia_type)dtype_of(r, v) : hiaG_type(r->fn, v));
  }
  if (!is_any) return;
  hiaG_set_outs(r->g, r->fn, n, types.data, types.len);
  hia_value_id now = r->fn->nodes.data[n].outs;
  for (hia_value_id v = first; v < first + n_outs; v++) {
    if (!is_tensor(r, v) || !is_split(r, v)) {
      hiaG_replace(&r->subst, v, now + at++);
      continue;
    }
    uint32_t count = count_of(r, v);
    r->elements[v] = HIA_NEW_ARRAY(r->arena, hia_value_id, count);
    for (uint32_t i = 0; i < count; i++) r->elements[v][i] = now + at++;
  }
}

static void set_ins(rewriting *r, hia_node_id n, const hia_u32vec *w) {
  hiaG_set_ins(r->g, r->fn, n, w->data, w->len);
}

/* ---- variables ---- */

/* Puts an ARG for each element in the place of the ARGs of a region that are split, and numbers all
 * of them. */
static void change_args(rewriting *r, hia_region_id region) {
  uint32_t number = 0;
  for (hia_node_id arg = r->fn->regions.data[region].first, next;
       r->fn->nodes.data[arg].op == HIA_OP_ARG; arg = next) {
    next = r->fn->nodes.data[arg].next;
    hia_value_id v = r->fn->nodes.data[arg].outs;
    if (!is_tensor(r, v) || !is_split(r, v)) {
      r->fn->nodes.data[arg].imm = number++;
      continue;
    }
    uint32_t count = count_of(r, v);
    hia_scalars_place p = place_at(r, arg, r->fn->nodes.data[arg].loc);
    r->elements[v] = HIA_NEW_ARRAY(r->arena, hia_value_id, count);
    for (uint32_t i = 0; i < count; i++)
      r->elements[v][i] = hiaG_scalars_add(&p, HIA_OP_ARG, NULL, 0, dtype_of(r, v), number++);
    hiaR_push(r->arena, &r->gone, arg);
  }
}

/* Adds the operands of n that become the variables of a region, from operand `first` on. */
static void push_variables(rewriting *r, hia_u32vec *w, hia_node_id n,
                           const hia_u32vec *variables) {
  for (uint32_t i = 0; i < variables->len; i++) {
    hia_value_id v = variables->data[i];
    bool is_apart = is_tensor(r, v) && is_split(r, v);
    push_operand(r, w, hiaG_in(r->fn, n, i), n, is_apart, is_apart ? count_of(r, v) : 1);
  }
}

/* The variables of a loop, in the order of their numbers. */
static hia_u32vec variables_of(rewriting *r, hia_region_id head, uint32_t n) {
  hia_u32vec variables = {0};
  for (uint32_t i = 0; i < n; i++) hiaR_push(r->arena, &variables, HIA_NONE);
  HIA_EACH_ARG(r->fn, head, arg)
    variables.data[HIA_IMM_A(r->fn->nodes.data[arg].imm)] = r->fn->nodes.data[arg].outs;
  return variables;
}

/* ---- nodes ---- */

static void change_loop(rewriting *r, hia_node_id n, hia_u32vec *variables) {
  hia_region_id head = r->fn->nodes.data[n].regions;
  hia_u32vec w = {0};
  variables[head] = variables_of(r, head, r->fn->nodes.data[n].n_ins);
  push_variables(r, &w, n, &variables[head]);
  set_ins(r, n, &w);
  change_args(r, head);
  change_outs(r, n);
}

static void change_call(rewriting *r, hia_node_id n) {
  const hia_scalars_fn *callee = &r->s->fns[hiaG_callee(&r->fn->nodes.data[n])];
  hia_u32vec w = {0};
  uint32_t n_ins = r->fn->nodes.data[n].n_ins;
  for (uint32_t i = 0; i < n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    push_operand(r, &w, v, n, callee->splits[i], callee->counts[i]);
  }
  set_ins(r, n, &w);
  change_outs(r, n);
}

static void change_yield(rewriting *r, hia_node_id n, const hia_u32vec *variables) {
  hia_region_id region = r->fn->nodes.data[n].region;
  const hia_region at = r->fn->regions.data[region];
  hia_u32vec w = {0};
  if (at.kind == HIA_REGION_ROUND) {
    push_variables(r, &w, n, &variables[region - 1]);
    set_ins(r, n, &w);
    return;
  }
  for (uint32_t i = 0; i < r->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    bool is_apart = false;
    uint32_t count = 1;
    if (is_tensor(r, v) && at.kind == HIA_REGION_BODY) {
      is_apart = hiaG_is_split_result(r->s, r->f, i);
      if (is_apart) count = hiaG_scalars_count(&r->s->fns[r->f].given[i]);
    } else if (is_tensor(r, v) && at.kind != HIA_REGION_EACH) {
      hia_value_id result = r->outs[at.owner] + i - (at.kind == HIA_REGION_HEAD);
      is_apart = is_split(r, result);
      if (is_apart) count = count_of(r, result);
    }
    push_operand(r, &w, v, n, is_apart, count);
  }
  set_ins(r, n, &w);
}

static void split_node(rewriting *r, hia_node_id n) {
  hia_node node = r->fn->nodes.data[n];
  hia_scalars_place p = place_at(r, n, node.loc);
  uint32_t count = count_of(r, node.outs);
  const hia_value_id **ins = HIA_NEW_ARRAY(r->arena, const hia_value_id *, node.n_ins + 1);
  hia_value_id *out = HIA_NEW_ARRAY(r->arena, hia_value_id, count + 1);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (hiaG_scalars_reads_whole(r->s, r->f, n, i)) {
      hia_value_id *whole = HIA_NEW(r->arena, hia_value_id);
      *whole = whole_of(r, v, n);
      ins[i] = whole;
    } else if (!hiaG_scalars_reads_shape(r->fn, n, i)) {
      ins[i] = elements_of(r, v, count_of(r, v), n);
    }
  }
  hiaG_scalars_compute(&p, n, ins, out);
  if (hiaG_is_scalar(hiaG_type(r->fn, node.outs)))
    hiaG_replace(&r->subst, node.outs, out[0]);
  else
    r->elements[node.outs] = out;
  hiaR_push(r->arena, &r->gone, n);
}

static void change_operands(rewriting *r, hia_node_id n) {
  for (uint32_t i = 0; i < r->fn->nodes.data[n].n_ins; i++) {
    hia_value_id whole = whole_of(r, hiaG_in(r->fn, n, i), n);
    r->fn->edges.data[r->fn->nodes.data[n].ins + i] = whole;
  }
}

static void change_node(rewriting *r, hia_node_id n, hia_u32vec *variables) {
  const hia_node *node = &r->fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_ARG: return;
  case HIA_OP_YIELD: change_yield(r, n, variables); return;
  case HIA_OP_LOOP: change_loop(r, n, variables); return;
  case HIA_OP_IF:
    change_operands(r, n);
    change_outs(r, n);
    return;
  case HIA_OP_CALL:
  case HIA_OP_FORK:
  case HIA_OP_JOIN: change_call(r, n); return;
  default:
    if (node->n_outs == 1 && is_split(r, node->outs))
      split_node(r, n);
    else
      change_operands(r, n);
  }
}

/* ---- the function ---- */

/* Returns types, of which those that are split are one for each element. */
static hia_u32vec types_of(rewriting *r, const hia_type *types, uint32_t n, const bool *is_apart,
                           const uint32_t *counts) {
  hia_u32vec now = {0};
  for (uint32_t i = 0; i < n; i++) {
    hia_type type = is_apart[i] ? (hia_type)hiaG_dtype(r->g->types, types[i]) : types[i];
    for (uint32_t k = is_apart[i] ? counts[i] : 1; k-- > 0;)
      hiaR_push(&r->g->comp->arena, &now, type);
  }
  return now;
}

static void change_signature(rewriting *r) {
  const hia_scalars_fn *facts = &r->s->fns[r->f];
  if (facts->is_closed) return;
  uint32_t *counts = HIA_NEW_ARRAY(r->arena, uint32_t, r->fn->n_results + 1);
  bool *is_apart = HIA_NEW_ARRAY(r->arena, bool, r->fn->n_results + 1);
  for (uint32_t i = 0; i < r->fn->n_results; i++) {
    is_apart[i] = hiaG_is_split_result(r->s, r->f, i);
    if (is_apart[i]) counts[i] = hiaG_scalars_count(&facts->given[i]);
  }
  hia_u32vec params = types_of(r, r->fn->params, r->fn->n_params, facts->splits, facts->counts);
  hia_u32vec results = types_of(r, r->fn->results, r->fn->n_results, is_apart, counts);
  r->fn->params = params.data;
  r->fn->n_params = params.len;
  r->fn->results = results.data;
  r->fn->n_results = results.len;
}

/* True if something in a function is split. (A split result of a call is a value of its own.) */
static bool is_touched(const hia_scalars *s, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  for (hia_value_id v = 0; v < fn->values.len; v++)
    if (hiaG_is_split(s, f, v)) return true;
  for (uint32_t i = 0; i < fn->n_results; i++)
    if (hiaG_is_split_result(s, f, i)) return true;
  HIA_EACH_NODE(fn, n)
    if (hiaG_scalars_calls(fn->nodes.data[n].op) &&
        s->fns[hiaG_callee(&fn->nodes.data[n])].splits_any)
      return true;
  return false;
}

void hiaG_scalars_rewrite(hia_scalars *s, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(s->g, f);
  uint32_t n_values = fn->values.len, n_nodes = fn->nodes.len, n_regions = fn->regions.len;
  rewriting r = {.s = s, .g = s->g, .arena = s->arena, .f = f, .fn = fn};
  if (!is_touched(s, f)) return;
  r.subst = hiaG_subst(s->g, fn);
  r.elements = HIA_NEW_ARRAY(r.arena, hia_value_id *, n_values + 1);
  r.put = HIA_NEW_ARRAY(r.arena, hia_value_id, n_values + 1);
  r.put_in = HIA_NEW_ARRAY(r.arena, hia_region_id, n_values + 1);
  r.outs = HIA_NEW_ARRAY(r.arena, hia_value_id, n_nodes + 1);
  hia_u32vec *variables = HIA_NEW_ARRAY(r.arena, hia_u32vec, n_regions + 1);
  for (uint32_t i = 0; i < n_values; i++) r.put[i] = HIA_NONE;
  for (uint32_t i = 0; i < n_nodes; i++) r.outs[i] = fn->nodes.data[i].outs;
  change_args(&r, 0);
  HIA_EACH_NODE(fn, n) change_node(&r, n, variables);
  change_signature(&r);
  for (uint32_t i = 0; i < r.gone.len; i++) hiaG_remove(fn, r.gone.data[i]);
  hiaG_compact(s->g, fn);
}
