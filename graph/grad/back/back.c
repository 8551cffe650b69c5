/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Builds f.back: goes through f backwards, and adds up the gradients of its values.
 *
 * What this reads of f's activation is not known before it is built. So each value of f that some
 * rule gets is stood for by an UNDEF node at the beginning of the place where it would be read;
 * those that are used in the end are kept, and become fields of the tape (kept.c).
 *
 * The order of additions is that of going backwards, and a branch or loop adds what its nodes have
 * added: it depends on the source alone. */
#include "graph/grad/grad.h"
#include "graph/ir/sums.h"
#include <stdlib.h>

/* Regions inside each other, of a graph that was read: the pass recurses. */
enum { MAX_DEPTH = 4000 };

/* A gradient, as it is in the scope around. */
typedef struct saved {
  uint32_t id;
  hia_value_id gradient;
  uint32_t scope;
} saved;

/* The gradient that a scope gives to a value from outside of it. */
typedef struct contribution {
  uint32_t id;
  hia_value_id gradient;
} contribution;
typedef HIA_VEC(contribution) contributions;

/* Gradients are numbered: by value of fn, then by param of the program. */
typedef struct reverse {
  hia_back *b;
  hia_grad *d;
  hia_graph *g;
  const hia_fn *fn;
  hia_fn *back;
  hia_value_id *gradient; /* by id, in this scope; NONE: none so far */
  uint32_t *scope_of;     /* by id: the scope of that */
  uint32_t scope, n_scopes;
  HIA_VEC(saved) saved;
  uint32_t place;       /* where f is gone through now */
  hia_region_id region; /* where the nodes of f.back go */
  hia_loc_id loc;       /* of these */
  uint32_t depth;
} reverse;

/* ---- nodes of f.back ---- */

static hia_value_id op_of(reverse *r, unsigned op, hia_value_id a, hia_value_id b) {
  return hiaG_op(r->g, r->back, r->region, op, (hia_value_id[]){a, b}, b == HIA_NONE ? 1 : 2,
                 r->loc);
}
static hia_value_id constant(reverse *r, hia_type type, hia_word word) {
  return hiaG_const(r->g, r->back, r->region, type, word, r->loc);
}
static hia_node_id node_of(reverse *r, unsigned op, const hia_value_id *ins, uint32_t n_ins,
                           const hia_type *outs, uint32_t n_outs, uint64_t imm) {
  return hiaG_add(r->g, r->back, r->region, op, ins, n_ins, outs, n_outs, imm, r->loc);
}
static hia_value_id value_of(reverse *r, unsigned op, const hia_value_id *ins, uint32_t n_ins,
                             hia_type out, uint64_t imm) {
  return hiaG_out(r->back, node_of(r, op, ins, n_ins, &out, 1, imm), 0);
}

/* ---- what is kept ---- */

static uint32_t new_place(reverse *r, hia_place_kind kind, hia_region_id forward,
                          hia_region_id region, uint32_t outer, uint32_t record) {
  hia_grad_place p = {
      .kind = kind, .forward = forward, .region = region, .outer = outer, .record = record};
  hia_type type = HIA_BOOL;
  p.tape = p.type = HIA_NONE;
  p.anchor = hiaG_add(r->g, r->back, region, HIA_OP_UNDEF, NULL, 0, &type, 1, 0, HIA_NONE);
  hiaR_push(r->d->arena, &r->b->places, p);
  return r->b->places.len - 1;
}

static uint32_t keep(reverse *r, uint32_t place, hia_grad_kept kept, hia_type type) {
  hia_grad_place *p = &r->b->places.data[place];
  hia_node_id node =
      hiaG_insert(r->g, r->back, p->anchor, HIA_OP_UNDEF, NULL, 0, &type, 1, 0, r->loc);
  kept.place = place;
  kept.stands_for = hiaG_out(r->back, node, 0);
  hiaR_push(r->d->arena, &r->b->kept, kept);
  hiaR_push(r->d->arena, &p->kept, r->b->kept.len - 1);
  return r->b->kept.len - 1;
}

/* True if a place is that of what a node of f computes. */
static bool is_home(const reverse *r, uint32_t place, hia_node_id n) {
  const hia_grad_place *p = &r->b->places.data[place];
  if (p->forward != r->fn->nodes.data[n].region) return false;
  return p->kind != HIA_PLACE_AGAIN || hiaG_grad_is_in_rerun(r->b, n, p->rerun);
}

/* What a node of f has kept itself. */
static hia_value_id record_of(reverse *r, hia_node_id n, hia_type type) {
  hia_grad_kept kept = {
      .kind = HIA_KEPT_RECORD, .node = n, .value = HIA_NONE, .next = HIA_NONE, .is_used = true};
  uint32_t i = keep(r, r->place, kept, type);
  r->b->records[n].kept = i;
  return r->b->kept.data[i].stands_for;
}

/* The value of f.back that is equal to a value of f. */
static hia_value_id read(reverse *r, hia_value_id v) {
  const hia_node *def = hiaG_def(r->fn, v);
  hia_node_id n = r->fn->values.data[v].node;
  hia_type type = hiaG_type(r->fn, v);
  if (hiaG_is_constant(def->op)) return value_of(r, def->op, NULL, 0, type, def->imm);
  /* Where to read v: in the innermost arm, as only that arm keeps it; but outside of loops, once
   * for all rounds. */
  uint32_t place = r->place;
  for (uint32_t p = place; !is_home(r, p, n); p = r->b->places.data[p].outer)
    if (r->b->places.data[p].kind != HIA_PLACE_ARM) place = r->b->places.data[p].outer;
  for (uint32_t p = place; def->op == HIA_OP_ARG; p = r->b->places.data[p].outer) {
    const hia_grad_place *is = &r->b->places.data[p];
    if (!is_home(r, p, n)) continue;
    if (is->kind == HIA_PLACE_EACH) return is->tape; /* the index of an element */
    break;
  }
  /* What was kept outside of a rerun is not computed again. */
  for (uint32_t i = r->b->first_kept[v]; i != HIA_NONE; i = r->b->kept.data[i].next)
    for (uint32_t p = place;; p = r->b->places.data[p].outer) {
      if (r->b->kept.data[i].place == p) return r->b->kept.data[i].stands_for;
      if (is_home(r, p, n) && r->b->places.data[p].kind != HIA_PLACE_AGAIN) break;
    }
  hia_grad_kept kept = {
      .kind = HIA_KEPT_VALUE, .value = v, .node = HIA_NONE, .next = r->b->first_kept[v]};
  uint32_t i = keep(r, place, kept, type);
  r->b->first_kept[v] = i;
  return r->b->kept.data[i].stands_for;
}

/* A value of f.back has the shape of a value of f, for which it is a gradient. */
static void has_shape_of(reverse *r, hia_value_id x, hia_value_id v) {
  hiaR_push(r->d->arena, &r->b->shapes, (hia_same_shape){x, v});
}

/* ---- gradients ---- */

/* The key of v's gradient. All reads of one param share a key. */
static uint32_t id_of(const reverse *r, hia_value_id v) {
  const hia_node *def = hiaG_def(r->fn, v);
  return def->op == HIA_OP_PARAM ? r->fn->values.len + (uint32_t)def->imm : v;
}
static bool is_param(const reverse *r, uint32_t id) { return id >= r->fn->values.len; }
static bool id_is_sum(const reverse *r, uint32_t id) {
  if (!is_param(r, id)) return r->b->is_sum[id];
  return r->g->params.data[id - r->fn->values.len].shape.rank > 0;
}
static hia_type type_of(const reverse *r, uint32_t id) {
  if (is_param(r, id)) return hiaG_grad_param_type(r->d, id - r->fn->values.len);
  hia_type type = hiaG_type(r->fn, id);
  if (!r->b->is_sum[id]) return hiaG_grad_type(r->d, type);
  return hiaG_sum_type(r->g->types, hiaG_dtype(r->g->types, type), hiaG_rank(r->g->types, type));
}

/* The gradient of a value, or NONE. */
static hia_value_id *gradient_of(reverse *r, uint32_t id) {
  if (r->scope_of[id] != r->scope) {
    hiaR_push(r->d->arena, &r->saved, (saved){id, r->gradient[id], r->scope_of[id]});
    r->gradient[id] = HIA_NONE;
    r->scope_of[id] = r->scope;
  }
  return &r->gradient[id];
}

static hia_grad_at here(const reverse *r) { return (hia_grad_at){r->back, r->region, r->loc}; }

static hia_value_id sum_of(reverse *r, hia_type type, hia_value_id a, hia_value_id b) {
  return hiaG_grad_add(r->d, here(r), type, a, b);
}

/* Adds to the gradient of a value; `x` is of its type. */
static void add(reverse *r, uint32_t id, hia_value_id x) {
  hia_value_id *is = gradient_of(r, id);
  hia_value_id sum = *is == HIA_NONE ? x : sum_of(r, type_of(r, id), *is, x);
  *gradient_of(r, id) = sum;
}

/* The same of a value of f, `x` dense. */
static void add_dense(reverse *r, hia_value_id v, hia_value_id x) {
  if (!r->b->varies[v]) return;
  uint32_t id = id_of(r, v);
  if (id_is_sum(r, id)) x = value_of(r, HIA_OP_DATA, &x, 1, type_of(r, id), HIA_SUM_DENSE);
  add(r, id, x);
}

static hia_value_id zero(reverse *r, uint32_t id) {
  hia_type type = type_of(r, id);
  if (hiaG_type_kind(r->g->types, type) != HIA_KIND_TENSOR)
    return hiaG_grad_zero(r->d, here(r), type);
  return op_of(r, HIA_OP_ZEROS, read(r, id), HIA_NONE);
}

/* A gradient of a value of f, as it is added up, in the form in which it is stored; and back. */
static bool is_dense_tensor(const reverse *r, hia_value_id v) {
  bool is_tensor = hiaG_type_kind(r->g->types, hiaG_type(r->fn, v)) == HIA_KIND_TENSOR;
  return is_tensor && !id_is_sum(r, id_of(r, v));
}
static hia_value_id to_stored(reverse *r, hia_value_id v, hia_value_id x) {
  if (!is_dense_tensor(r, v)) return x;
  return value_of(r, HIA_OP_DATA, &x, 1, hiaG_grad_stored(r->d, hiaG_type(r->fn, v)),
                  HIA_SUM_DENSE);
}
static hia_value_id from_stored(reverse *r, hia_value_id v, hia_value_id x) {
  return is_dense_tensor(r, v) ? op_of(r, HIA_OP_COLLECT, x, read(r, v)) : x;
}

/* ---- scopes ---- */

static uint32_t open_scope(reverse *r, uint32_t *around) {
  *around = r->scope;
  r->scope = ++r->n_scopes;
  return r->saved.len;
}

static int by_id(const void *a, const void *b) {
  const contribution *x = a, *y = b;
  return x->id < y->id ? -1 : x->id > y->id;
}

/* Ends the newest scope; `begin`, `around` are open_scope's. What it has found for values from
 * outside, in the order of their ids. */
static contributions close_scope(reverse *r, uint32_t begin, uint32_t around) {
  contributions list = {0};
  for (uint32_t i = begin; i < r->saved.len; i++) {
    saved *s = &r->saved.data[i];
    if (r->gradient[s->id] != HIA_NONE)
      hiaR_push(r->d->arena, &list, (contribution){s->id, r->gradient[s->id]});
    r->gradient[s->id] = s->gradient;
    r->scope_of[s->id] = s->scope;
  }
  r->saved.len = begin;
  r->scope = around;
  if (list.len) qsort(list.data, list.len, sizeof *list.data, by_id);
  return list;
}

/* The gradient of a value that is complete: it is taken. NONE: there is none. */
static hia_value_id take(reverse *r, hia_value_id v) {
  if (!r->b->varies[v]) return HIA_NONE;
  hia_value_id *is = gradient_of(r, v), taken = *is;
  *is = HIA_NONE;
  return taken;
}

/* ---- nodes ---- */

/* Removes nodes that the rule has made, from `from` on with values from `first` on, and nothing
 * needs: what it found for operands that do not vary. */
static void prune(reverse *r, hia_node_id from, hia_value_id first, const hia_value_id *needed,
                  uint32_t n) {
  bool *is_needed = HIA_NEW_ARRAY(r->d->arena, bool, r->back->values.len - first + 1);
  for (uint32_t i = 0; i < n; i++)
    if (needed[i] != HIA_NONE && needed[i] >= first) is_needed[needed[i] - first] = true;
  for (hia_node_id m = r->back->nodes.len; m-- > from;) {
    const hia_node *node = &r->back->nodes.data[m];
    if (node->flags & HIA_NODE_DEAD) continue;
    bool is = node->n_outs == 0;
    for (uint32_t i = 0; i < node->n_outs; i++) is |= is_needed[node->outs + i - first];
    if (!is) {
      if (node->regions == HIA_NONE) hiaG_remove(r->back, m);
      continue;
    }
    for (uint32_t i = 0; i < node->n_ins; i++)
      if (hiaG_in(r->back, m, i) >= first) is_needed[hiaG_in(r->back, m, i) - first] = true;
  }
}

/* The gradient of the result of an op, in the form that its rule takes: a sum, if indexing hands it
 * on to a sum; else a tensor. */
static hia_value_id as_rule_takes(reverse *r, const hia_node *node, hia_value_id dy,
                                  hia_value_id out, bool wants_sum) {
  bool hands_on = wants_sum && hiaG_indexes(node->op), is_sum = r->b->is_sum[node->outs];
  if (is_sum && !hands_on) return op_of(r, HIA_OP_COLLECT, dy, out);
  bool is_tensor = hiaG_type_kind(r->g->types, hiaG_type(r->back, dy)) == HIA_KIND_TENSOR;
  if (is_sum || !hands_on || !is_tensor) return dy;
  hia_type type = hiaG_type(r->back, dy);
  type = hiaG_sum_type(r->g->types, hiaG_dtype(r->g->types, type), hiaG_rank(r->g->types, type));
  return value_of(r, HIA_OP_DATA, &dy, 1, type, HIA_SUM_DENSE);
}

static void through_op(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = node.n_outs ? take(r, node.outs) : HIA_NONE;
  if (dy == HIA_NONE) return;
  hia_arena *arena = r->d->arena;
  hia_value_id *ins = HIA_NEW_ARRAY(arena, hia_value_id, node.n_ins + 1);
  hia_value_id *gradients = HIA_NEW_ARRAY(arena, hia_value_id, node.n_ins + 1);
  bool *wants_sum = HIA_NEW_ARRAY(arena, bool, node.n_ins + 1);
  hia_value_id out = read(r, node.outs);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    ins[i] = read(r, v);
    wants_sum[i] = r->b->varies[v] && id_is_sum(r, id_of(r, v));
    gradients[i] = HIA_NONE;
  }
  hia_node_id from = r->back->nodes.len;
  hia_value_id first = r->back->values.len;
  dy = as_rule_takes(r, &node, dy, out, node.n_ins && wants_sum[0]);
  hia_gradient d = {.g = r->g,
                    .fn = r->back,
                    .region = r->region,
                    .loc = node.loc,
                    .imm = node.imm,
                    .ins = ins,
                    .n_ins = node.n_ins,
                    .outs = &out,
                    .out_gradients = &dy,
                    .wants_sum = wants_sum,
                    .in_gradients = gradients};
  if (!hiaG_gradient(&d, node.op)) hiaG_grad_lacks(r->d, r->fn, node.loc, hiaR_ops[node.op].name);
  for (uint32_t i = 0; i < node.n_ins; i++)
    if (!r->b->varies[hiaG_in(r->fn, n, i)]) gradients[i] = HIA_NONE;
  prune(r, from, first, gradients, node.n_ins);
  for (uint32_t i = 0; i < node.n_ins; i++)
    if (gradients[i] != HIA_NONE) add(r, id_of(r, hiaG_in(r->fn, n, i)), gradients[i]);
}

static hia_value_id *take_all(reverse *r, hia_node_id n, bool *is_some) {
  const hia_node *node = &r->fn->nodes.data[n];
  hia_value_id *taken = HIA_NEW_ARRAY(r->d->arena, hia_value_id, node->n_outs + 1);
  *is_some = false;
  for (uint32_t i = 0; i < node->n_outs; i++) {
    taken[i] = take(r, node->outs + i);
    *is_some |= taken[i] != HIA_NONE;
  }
  return taken;
}

/* Makes a call of f once more, for its tape: of the arguments, which are kept instead. */
static hia_value_id recompute(reverse *r, hia_node_id n, hia_fn_id kept) {
  const hia_node node = r->fn->nodes.data[n];
  const hia_fn *fn = hiaG_fn(r->g, kept);
  hia_u32vec args = {0};
  for (uint32_t i = 0; i < node.n_ins; i++)
    hiaR_push(r->d->arena, &args, read(r, hiaG_in(r->fn, n, i)));
  r->b->records[n].is_recomputed = true;
  if (r->g->is_counted) node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0);
  hia_node_id call = node_of(r, HIA_OP_CALL, args.data, args.len, fn->results, fn->n_results, kept);
  return hiaG_out(r->back, call, fn->n_results - 1);
}

static void through_call(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  const hia_fn *callee = hiaG_fn(r->g, hiaG_callee(&node));
  hia_arena *arena = r->d->arena;
  bool *seeded = HIA_NEW_ARRAY(arena, bool, node.n_outs + 1), is_seeded = false;
  bool *varies = HIA_NEW_ARRAY(arena, bool, node.n_ins + 1);
  hia_u32vec args = {0};
  hiaR_push(arena, &args, HIA_NONE); /* the tape */
  for (uint32_t i = 0; i < node.n_outs; i++) {
    hia_value_id dy = take(r, node.outs + i);
    if (dy == HIA_NONE) continue;
    seeded[i] = is_seeded = true;
    hiaR_push(arena, &args, dy);
  }
  if (!is_seeded) return;
  for (uint32_t i = 0; i < node.n_ins; i++) varies[i] = r->b->varies[hiaG_in(r->fn, n, i)];
  uint32_t params = r->d->versions.data[r->b->version].params;
  uint32_t v = hiaG_grad_version(r->d, hiaG_callee(&node), params, varies, seeded);
  const hia_grad_version version = r->d->versions.data[v];
  r->b->records[n].version = v;
  r->b->records[n].type = version.tape;
  args.data[0] =
      callee->is_recomputed ? recompute(r, n, version.kept) : record_of(r, n, version.tape);
  const hia_fn *back = hiaG_fn(r->g, version.back);
  if (r->g->is_counted) node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0);
  hia_node_id call =
      node_of(r, HIA_OP_CALL, args.data, args.len, back->results, back->n_results, version.back);
  uint32_t at = 0;
  for (uint32_t i = 0; i < callee->n_params; i++)
    if (varies[i]) {
      has_shape_of(r, hiaG_out(r->back, call, at), hiaG_in(r->fn, n, i));
      add_dense(r, hiaG_in(r->fn, n, i), hiaG_out(r->back, call, at++));
    }
  const bool *reads =
      r->d->params.data[params].reads + (size_t)hiaG_callee(&node) * r->g->params.len;
  for (uint32_t p = 0; p < r->g->params.len; p++)
    if (reads[p]) add(r, r->fn->values.len + p, hiaG_out(r->back, call, at++));
}

/* A gradient of its own is a call: of the arguments, of what flows to the results and, if it takes
 * them, of these. */
static void through_own(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_own own = hiaG_own_gradient(r->g, &node);
  hia_u32vec args = {0};
  bool is_some;
  hia_value_id *dy = take_all(r, n, &is_some);
  if (!is_some) return;
  for (uint32_t i = 0; i < node.n_ins; i++)
    hiaR_push(r->d->arena, &args, read(r, hiaG_in(r->fn, n, i)));
  for (uint32_t i = 0; i < node.n_outs; i++) {
    if (!hiaG_is_of_floats(r->g->types, hiaG_type(r->fn, node.outs + i))) continue;
    hiaR_push(r->d->arena, &args, dy[i] == HIA_NONE ? zero(r, node.outs + i) : dy[i]);
  }
  for (uint32_t i = 0; i < node.n_outs && own.takes_results; i++)
    hiaR_push(r->d->arena, &args, read(r, node.outs + i));
  const hia_fn *gradient = hiaG_fn(r->g, own.gradient);
  if (r->g->is_counted) node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0);
  hia_node_id call = node_of(r, HIA_OP_CALL, args.data, args.len, gradient->results,
                             gradient->n_results, own.gradient);
  uint32_t at = 0;
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!hiaG_is_of_floats(r->g->types, hiaG_type(r->fn, v))) continue;
    has_shape_of(r, hiaG_out(r->back, call, at), v);
    add_dense(r, v, hiaG_out(r->back, call, at++));
  }
}

static void through_region(reverse *r, uint32_t place);

/* Goes through the region of a place, given gradients of what it yields, by operand of its YIELD
 * (NONE: none). */
static contributions through_arm(reverse *r, uint32_t place, const hia_value_id *gradients) {
  uint32_t around, begin = open_scope(r, &around), outer = r->place;
  hia_region_id region = r->region;
  const hia_grad_place p = r->b->places.data[place];
  hia_node_id yield = hiaG_yield_of(r->fn, p.forward);
  r->place = place;
  r->region = p.region;
  for (uint32_t i = 0; i < r->fn->nodes.data[yield].n_ins; i++)
    if (gradients[i] != HIA_NONE) add_dense(r, hiaG_in(r->fn, yield, i), gradients[i]);
  through_region(r, place);
  contributions found = close_scope(r, begin, around);
  r->place = outer;
  r->region = region;
  return found;
}

/* Both, without repetitions. */
static hia_u32vec ids_of(reverse *r, contributions a, contributions b) {
  hia_u32vec ids = {0};
  for (uint32_t i = 0, k = 0; i < a.len || k < b.len;) {
    uint32_t x = i < a.len ? a.data[i].id : HIA_NONE, y = k < b.len ? b.data[k].id : HIA_NONE;
    hiaR_push(r->d->arena, &ids, x < y ? x : y);
    i += x <= y;
    k += y <= x;
  }
  return ids;
}

/* The gradients for these ids, as values that are there at the end of a place. */
static hia_u32vec gradients_for(reverse *r, uint32_t place, hia_u32vec ids, contributions found) {
  hia_u32vec list = {0};
  uint32_t outer = r->place, k = 0;
  hia_region_id region = r->region;
  r->place = place;
  r->region = r->b->places.data[place].region;
  for (uint32_t i = 0; i < ids.len; i++) {
    bool is = k < found.len && found.data[k].id == ids.data[i];
    hiaR_push(r->d->arena, &list, is ? found.data[k].gradient : zero(r, ids.data[i]));
    k += is;
  }
  r->place = outer;
  r->region = region;
  return list;
}

/* Drops what was kept for node n, and in it: its gradient turned out to be zero. */
static void forget(reverse *r, hia_node_id n) {
  hia_node_id end = hiaG_walk_over(r->fn, n);
  for (; n != end; n = hiaG_walk_next(r->fn, n)) {
    r->b->records[n].kept = HIA_NONE;
    r->b->records[n].is_recomputed = false;
  }
}

static void through_branch(reverse *r, hia_node_id n) {
  bool is_some;
  hia_value_id *gradients = take_all(r, n, &is_some);
  if (!is_some) return;
  hia_region_id forward = r->fn->nodes.data[n].regions;
  hia_value_id record = record_of(r, n, HIA_BOOL); /* its type comes with its constructors */
  hia_grad_record *is = &r->b->records[n];
  hia_type i32 = HIA_I32;
  hia_node_id ctor = node_of(r, HIA_OP_CTOR, &record, 1, &i32, 1, 0);
  hia_node_id n_then = node_of(r, HIA_OP_CONST, NULL, 0, &i32, 1, 0);
  is->n_then = n_then;
  hia_value_id cond = op_of(r, HIA_OP_LT, hiaG_out(r->back, ctor, 0), hiaG_out(r->back, n_then, 0));
  hia_node_id branch = node_of(r, HIA_OP_IF, &cond, 1, NULL, 0, 0);
  contributions found[2];
  for (uint32_t k = 0; k < 2; k++) {
    uint32_t place = new_place(r, HIA_PLACE_ARM, forward + k,
                               r->back->nodes.data[branch].regions + k, r->place, is->kept);
    is->places[k] = place;
    found[k] = through_arm(r, place, gradients);
  }
  hia_u32vec ids = ids_of(r, found[0], found[1]);
  if (!ids.len) {
    hiaG_remove(r->back, branch);
    hiaG_remove(r->back, r->back->values.data[cond].node);
    hiaG_remove(r->back, n_then);
    hiaG_remove(r->back, ctor);
    forget(r, n);
    return;
  }
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < ids.len; i++) hiaR_push(r->d->arena, &types, type_of(r, ids.data[i]));
  for (uint32_t k = 0; k < 2; k++) {
    hia_u32vec list = gradients_for(r, is->places[k], ids, found[k]);
    hiaG_yield(r->g, r->back, r->back->nodes.data[branch].regions + k, list.data, list.len);
  }
  hiaG_set_outs(r->g, r->back, branch, types.data, types.len);
  for (uint32_t i = 0; i < ids.len; i++) {
    if (!is_param(r, ids.data[i])) has_shape_of(r, hiaG_out(r->back, branch, i), ids.data[i]);
    add(r, ids.data[i], hiaG_out(r->back, branch, i));
  }
}

/* ---- loops ----
 *
 * f.kept makes a list with a record for each round, the last one first. f.back follows it:
 *
 *     loop list = record, gradients of the variables that vary, sums for values from outside
 *     while list is no End
 *     { the round backwards: the gradients of the variables at its begin, and the sums } */

/* The number of a loop's variable that a value is; NONE: it is none. */
static uint32_t variable_of(const reverse *r, hia_region_id head, hia_value_id v) {
  const hia_node *def = hiaG_def(r->fn, v);
  return def->op == HIA_OP_ARG && def->region == head ? (uint32_t)def->imm : HIA_NONE;
}

static void through_loop(reverse *r, hia_node_id n) {
  bool is_some;
  hia_arena *arena = r->d->arena;
  const hia_node node = r->fn->nodes.data[n];
  hia_region_id head = node.regions, round = head + 1;
  hia_value_id *gradients = take_all(r, n, &is_some);
  if (!is_some) return;
  /* The gradients at the end, by variable, of those that vary. */
  uint32_t n_vars = node.n_ins, n_varying = 0;
  hia_value_id *args = HIA_NEW_ARRAY(arena, hia_value_id, n_vars + 1); /* of f */
  hia_value_id *at_end = HIA_NEW_ARRAY(arena, hia_value_id, n_vars + 1);
  memset(args, 0xff, (n_vars + 1) * sizeof *args);
  memset(at_end, 0xff, (n_vars + 1) * sizeof *at_end);
  for (hia_node_id a = r->fn->regions.data[head].first; r->fn->nodes.data[a].op == HIA_OP_ARG;
       a = r->fn->nodes.data[a].next)
    args[r->fn->nodes.data[a].imm] = r->fn->nodes.data[a].outs;
  hia_node_id yield = hiaG_yield_of(r->fn, head);
  for (uint32_t i = 0; i < node.n_outs; i++) {
    hia_value_id v = hiaG_in(r->fn, yield, i + 1);
    uint32_t var = variable_of(r, head, v);
    if (gradients[i] == HIA_NONE || !r->b->varies[v]) continue;
    if (hiaG_def(r->fn, v)->region == head && var == HIA_NONE)
      hiaG_grad_lacks(r->d, r->fn, node.loc, "what the head of a loop computes");
    if (var == HIA_NONE)
      add_dense(r, v, gradients[i]);
    else
      at_end[var] = at_end[var] == HIA_NONE ? gradients[i]
                                            : sum_of(r, type_of(r, v), at_end[var], gradients[i]);
  }
  hia_u32vec vars = {0}, starts = {0};
  HIA_VEC(hia_type) types = {0};
  hia_type list_type = hiaG_grad_named_type(
      r->d,
      hiaR_arena_printf(arena, "%s rounds %u",
                        hiaG_type_text(r->g->types, r->d->versions.data[r->b->version].tape), n));
  hiaR_push(arena, &starts, record_of(r, n, list_type));
  hiaR_push(arena, &types, list_type);
  hia_grad_record *is = &r->b->records[n];
  is->type = list_type;
  for (uint32_t i = 0; i < n_vars; i++) {
    if (args[i] == HIA_NONE || !r->b->varies[args[i]]) continue;
    hia_type type = type_of(r, args[i]);
    if (at_end[i] == HIA_NONE) {
      hia_value_id same = HIA_NONE; /* a result of the loop that is the variable at the end */
      for (uint32_t k = 0; k < node.n_outs; k++)
        if (variable_of(r, head, hiaG_in(r->fn, yield, k + 1)) == i) same = node.outs + k;
      if (hiaG_type_kind(r->g->types, type) != HIA_KIND_TENSOR)
        at_end[i] = hiaG_grad_zero(r->d, here(r), type);
      else if (same != HIA_NONE)
        at_end[i] = op_of(r, HIA_OP_ZEROS, read(r, same), HIA_NONE);
      else
        hiaG_grad_lacks(r->d, r->fn, node.loc, "a variable of a loop that is not returned");
    }
    hiaR_push(arena, &vars, i);
    hiaR_push(arena, &starts, at_end[i]);
    hiaR_push(arena, &types, type);
  }
  n_varying = vars.len;
  hia_node_id loop = node_of(r, HIA_OP_LOOP, starts.data, starts.len, NULL, 0, 0);
  hia_region_id back_head = r->back->nodes.data[loop].regions, back_round = back_head + 1;
  hia_u32vec arg_values = {0};
  for (uint32_t i = 0; i < types.len; i++) {
    hia_node_id arg =
        hiaG_add(r->g, r->back, back_head, HIA_OP_ARG, NULL, 0, &types.data[i], 1, i, node.loc);
    hiaR_push(arena, &arg_values, hiaG_out(r->back, arg, 0));
  }
  /* The round. */
  uint32_t head_place = new_place(r, HIA_PLACE_HEAD, head, back_round, r->place, HIA_NONE);
  uint32_t place = new_place(r, HIA_PLACE_ROUND, round, back_round, head_place, HIA_NONE);
  is->places[0] = head_place;
  is->places[1] = place;
  r->b->places.data[head_place].tape = r->b->places.data[place].tape = arg_values.data[0];
  hia_node_id rest =
      hiaG_add(r->g, r->back, back_round, HIA_OP_UNDEF, NULL, 0, &list_type, 1, 0, node.loc);
  is->n_then = rest;
  hia_value_id *seeds = HIA_NEW_ARRAY(arena, hia_value_id, n_vars + 1);
  memset(seeds, 0xff, (n_vars + 1) * sizeof *seeds);
  for (uint32_t i = 0; i < n_varying; i++) {
    seeds[vars.data[i]] = arg_values.data[i + 1];
    /* What the round gives, which may have other sizes than what it begins with. */
    has_shape_of(r, arg_values.data[i + 1],
                 hiaG_in(r->fn, hiaG_yield_of(r->fn, round), vars.data[i]));
  }
  contributions of_round = through_arm(r, place, seeds);
  for (uint32_t i = 0; i < of_round.len; i++) {
    uint32_t id = of_round.data[i].id;
    if (!is_param(r, id) && hiaG_def(r->fn, id)->region == head &&
        variable_of(r, head, id) == HIA_NONE)
      hiaG_grad_lacks(r->d, r->fn, node.loc, "what the head of a loop computes");
  }
  /* Those of variables, and those of values from outside, for which the loop has variables, too. */
  hia_u32vec next = {0}, outside = {0};
  hiaR_push(arena, &next, hiaG_out(r->back, rest, 0));
  uint32_t outer = r->place;
  hia_region_id region = r->region;
  r->place = place;
  r->region = back_round;
  for (uint32_t i = 0; i < n_varying; i++) {
    hia_value_id at_begin = HIA_NONE;
    for (uint32_t k = 0; k < of_round.len; k++)
      if (of_round.data[k].id == args[vars.data[i]]) at_begin = of_round.data[k].gradient;
    hiaR_push(arena, &next, at_begin == HIA_NONE ? zero(r, args[vars.data[i]]) : at_begin);
  }
  for (uint32_t k = 0; k < of_round.len; k++) {
    uint32_t id = of_round.data[k].id;
    if (!is_param(r, id) && hiaG_def(r->fn, id)->region == head) continue;
    hia_type type = type_of(r, id);
    hia_node_id arg =
        hiaG_add(r->g, r->back, back_head, HIA_OP_ARG, NULL, 0, &type, 1, types.len, node.loc);
    hia_value_id so_far = hiaG_out(r->back, arg, 0);
    if (!is_param(r, id)) has_shape_of(r, so_far, id);
    hiaR_push(arena, &arg_values, so_far);
    hiaR_push(arena, &types, type);
    hiaR_push(arena, &outside, id);
    hiaR_push(arena, &next, sum_of(r, type, so_far, of_round.data[k].gradient));
  }
  hiaG_yield(r->g, r->back, back_round, next.data, next.len);
  r->place = outer;
  r->region = region;
  /* Zeros to begin with, before the loop. */
  for (uint32_t i = 0; i < outside.len; i++) {
    uint32_t at = r->back->nodes.len;
    hiaR_push(arena, &starts, zero(r, outside.data[i]));
    for (hia_node_id m = at; m < r->back->nodes.len; m++)
      if (r->back->nodes.data[m].region == region && r->back->nodes.data[m].op != HIA_OP_UNDEF &&
          !(r->back->nodes.data[m].flags & HIA_NODE_DEAD))
        hiaG_move(r->back, m, loop);
  }
  hiaG_set_ins(r->g, r->back, loop, starts.data, starts.len);
  hia_type i32 = HIA_I32;
  r->region = back_head;
  hia_node_id ctor = node_of(r, HIA_OP_CTOR, &arg_values.data[0], 1, &i32, 1, 0);
  hia_u32vec exits = {0};
  hiaR_push(arena, &exits,
            op_of(r, HIA_OP_NE, hiaG_out(r->back, ctor, 0), constant(r, HIA_I32, 0)));
  for (uint32_t i = 1; i < arg_values.len; i++) hiaR_push(arena, &exits, arg_values.data[i]);
  hiaG_yield(r->g, r->back, back_head, exits.data, exits.len);
  r->region = region;
  hiaG_set_outs(r->g, r->back, loop, types.data + 1, types.len - 1);
  if (r->g->is_counted) {
    hia_node_id first = r->back->regions.data[back_round].first;
    hiaG_insert(r->g, r->back, first, HIA_OP_COUNT, NULL, 0, NULL, 0, 1, node.loc);
  }
  for (uint32_t i = 0; i < n_varying; i++) {
    hia_value_id start = hiaG_in(r->fn, n, vars.data[i]);
    has_shape_of(r, hiaG_out(r->back, loop, i), start);
    add_dense(r, start, hiaG_out(r->back, loop, i));
  }
  for (uint32_t i = 0; i < outside.len; i++) {
    hia_value_id sum = hiaG_out(r->back, loop, n_varying + i);
    if (!is_param(r, outside.data[i])) has_shape_of(r, sum, outside.data[i]);
    add(r, outside.data[i], sum);
  }
}

/* ---- comprehensions ----
 *
 * The elements do not depend on each other, so neither do their gradients: another comprehension
 * gives what each of them adds to values from outside, and a loop adds these in their order. */

static void through_map(reverse *r, hia_node_id n) {
  hia_arena *arena = r->d->arena;
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs);
  if (dy == HIA_NONE) return;
  hia_region_id forward = node.regions;
  (void)record_of(r, n, HIA_BOOL); /* its type comes with its fields */
  hia_grad_record *is = &r->b->records[n];
  hia_type made = hiaG_type(r->fn, node.outs);
  hia_value_id len = read(r, hiaG_in(r->fn, n, 0));
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), made, dy, len);
  hia_type i64 = HIA_I64;
  hia_type placeholder = HIA_BOOL;
  hia_node_id map = node_of(r, HIA_OP_MAP, &len, 1, &placeholder, 1, 0);
  hia_region_id each = r->back->nodes.data[map].regions;
  hia_value_id k = hiaG_out(
      r->back, hiaG_add(r->g, r->back, each, HIA_OP_ARG, NULL, 0, &i64, 1, 0, node.loc), 0);
  uint32_t place = new_place(r, HIA_PLACE_EACH, forward, each, r->place, is->kept);
  is->places[0] = place;
  r->b->places.data[place].tape = k; /* the index; the array is the record */
  hia_node_id yield = hiaG_yield_of(r->fn, forward);
  uint32_t n_words = r->fn->nodes.data[yield].n_ins, around, begin = open_scope(r, &around);
  uint32_t outer_place = r->place;
  hia_region_id outer = r->region;
  r->place = place;
  r->region = each;
  for (uint32_t i = 0; i < n_words; i++) {
    hia_value_id v = hiaG_in(r->fn, yield, i);
    if (!hiaG_has_gradient(r->d, hiaG_type(r->fn, v)) || !r->b->varies[v]) continue;
    hia_value_id dv =
        value_of(r, HIA_OP_AT, (hia_value_id[]){whole, k}, 2,
                 hiaG_grad_stored(r->d, hiaG_type(r->fn, v)), hiaG_grad_word(r->d, made, i));
    add(r, id_of(r, v), from_stored(r, v, dv));
  }
  through_region(r, place);
  contributions found = close_scope(r, begin, around);
  r->place = outer_place;
  r->region = outer;
  if (!found.len) {
    hiaG_remove(r->back, map);
    forget(r, n);
    return;
  }
  hia_u32vec words = {0};
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < found.len; i++) {
    hiaR_push(arena, &words, found.data[i].gradient);
    hiaR_push(arena, &types, type_of(r, found.data[i].id));
  }
  hia_type tape = r->d->versions.data[r->b->version].tape;
  const char *name =
      hiaR_arena_printf(arena, "%s gradients %u", hiaG_type_text(r->g->types, tape), n);
  uint32_t n_named = 0;
  const hia_pieces *pieces = hiaG_grad_pieces(r->d, types.data, types.len, name, &n_named);
  hia_u32vec held =
      hiaG_grad_pack(r->d, (hia_grad_at){r->back, each, node.loc}, pieces, words.data);
  hiaG_yield(r->g, r->back, each, held.data, held.len);
  const hia_type *parts = pieces->types + pieces->first;
  hia_type tuple = held.len == 1 ? *parts : hiaG_tuple(r->g->types, parts, held.len);
  hia_type array = hiaG_array(r->g->types, tuple);
  hiaG_set_outs(r->g, r->back, map, &array, 1);
  hia_value_id all = hiaG_out(r->back, map, 0);
  /* The loop. */
  hia_u32vec starts = {0}, args = {0}, next = {0}, exits = {0};
  HIA_VEC(hia_type) loop_types = {0};
  hiaR_push(arena, &starts, constant(r, HIA_I64, 0));
  hiaR_push(arena, &loop_types, HIA_I64);
  for (uint32_t i = 0; i < found.len; i++) {
    hiaR_push(arena, &starts, zero(r, found.data[i].id));
    hiaR_push(arena, &loop_types, types.data[i]);
  }
  hia_node_id loop = node_of(r, HIA_OP_LOOP, starts.data, starts.len, types.data, types.len, 0);
  r->back->nodes.data[loop].flags |= HIA_NODE_FREE;
  hia_region_id head = r->back->nodes.data[loop].regions;
  for (uint32_t i = 0; i < loop_types.len; i++)
    hiaR_push(arena, &args,
              hiaG_out(r->back,
                       hiaG_add(r->g, r->back, head, HIA_OP_ARG, NULL, 0, &loop_types.data[i], 1, i,
                                node.loc),
                       0));
  for (uint32_t i = 0; i < found.len; i++) {
    if (is_param(r, found.data[i].id)) continue;
    has_shape_of(r, args.data[i + 1], found.data[i].id);
    has_shape_of(r, hiaG_out(r->back, loop, i), found.data[i].id);
  }
  r->region = head;
  hiaR_push(arena, &exits, op_of(r, HIA_OP_LT, args.data[0], len));
  for (uint32_t i = 1; i < args.len; i++) hiaR_push(arena, &exits, args.data[i]);
  hiaG_yield(r->g, r->back, head, exits.data, exits.len);
  r->region = head + 1;
  hiaR_push(arena, &next, op_of(r, HIA_OP_ADD, args.data[0], constant(r, HIA_I64, 1)));
  hia_unpacking u = hiaG_grad_unpack(r->d, here(r), pieces, all, args.data[0], found.len);
  for (uint32_t i = 0; i < found.len; i++) {
    hia_value_id word = hiaG_grad_unpack_word(r->d, here(r), &u, i);
    hiaR_push(arena, &next, sum_of(r, types.data[i], args.data[i + 1], word));
  }
  hiaG_yield(r->g, r->back, head + 1, next.data, next.len);
  r->region = outer;
  for (uint32_t i = 0; i < found.len; i++) add(r, found.data[i].id, hiaG_out(r->back, loop, i));
}

/* ---- data and arrays ---- */

/* The array of the gradients of the elements that were stacked. */
static void through_pack(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE || !r->b->varies[array]) return;
  hia_type type = hiaG_type(r->fn, array), element = hiaG_element(r->g->types, type), i64 = HIA_I64;
  hia_type whole = hiaG_array(r->g->types, hiaG_grad_element(r->d, type));
  hia_value_id len = value_of(r, HIA_OP_DIM, &dy, 1, HIA_I64, 0);
  hia_node_id map = node_of(r, HIA_OP_MAP, &len, 1, &whole, 1, 0);
  hia_region_id each = r->back->nodes.data[map].regions, outer = r->region;
  hia_node_id arg = hiaG_add(r->g, r->back, each, HIA_OP_ARG, NULL, 0, &i64, 1, 0, node.loc);
  hia_value_id ins[2] = {dy, hiaG_out(r->back, arg, 0)};
  r->region = each;
  hia_value_id row = value_of(r, HIA_OP_ROW, ins, 2, element, 0);
  if (!hiaG_is_scalar(element))
    row = value_of(r, HIA_OP_DATA, &row, 1, hiaG_grad_stored(r->d, element), HIA_SUM_DENSE);
  hiaG_yield(r->g, r->back, each, &row, 1);
  r->region = outer;
  add(r, array, hiaG_grad_of_whole(r->d, here(r), type, hiaG_out(r->back, map, 0)));
}

/* ---- sums, of second derivatives: what flows to a sum flows to each of its contributions ---- */

static hia_value_id of_sum(reverse *r, hia_type sum, hia_value_id tensor) {
  return value_of(r, HIA_OP_DATA, &tensor, 1, hiaG_grad_stored(r->d, sum), HIA_GRAD_OF_SUM);
}

static void through_collect(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs), sum = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE || !r->b->varies[sum]) return;
  if (r->b->is_sum[node.outs]) dy = op_of(r, HIA_OP_COLLECT, dy, read(r, node.outs));
  add(r, sum, of_sum(r, hiaG_type(r->fn, sum), dy));
}

static hia_value_id size_of(reverse *r, hia_value_id x, uint32_t axis) {
  return value_of(r, HIA_OP_DIM, &x, 1, HIA_I64, axis);
}

/* The rows of x, of axis 0, from `from` on and before `to`. */
static hia_value_id rows(reverse *r, hia_value_id x, hia_value_id from, hia_value_id to) {
  return value_of(r, HIA_OP_PART, (hia_value_id[]){x, from, to}, 3, hiaG_type(r->back, x), 0);
}

/* x as a matrix, as outer products see it: of the rows that they have, which are the first. */
static hia_value_id as_matrix(reverse *r, hia_value_id x, hia_value_id n_rows) {
  uint32_t rank = hiaG_rank(r->g->types, hiaG_type(r->back, x));
  hia_value_id ins[3] = {x, HIA_NONE, size_of(r, x, rank - 1)};
  ins[1] = size_of(r, x, 0);
  for (uint32_t i = 1; i < rank - 1; i++) ins[1] = op_of(r, HIA_OP_MUL, ins[1], size_of(r, x, i));
  hia_type matrix = hiaG_tensor(r->g->types, hiaG_dtype(r->g->types, hiaG_type(r->back, x)), 2);
  if (rank != 2) x = value_of(r, HIA_OP_RESHAPE, ins, 3, matrix, 0);
  return rows(r, x, constant(r, HIA_I64, 0), n_rows);
}

/* Returns what flows to operand i of a contribution, given that `x` flows to the sum. */
static hia_value_id to_contribution(reverse *r, hia_node_id n, uint32_t i, hia_value_id x) {
  const hia_node *node = &r->fn->nodes.data[n];
  hia_value_id v = hiaG_in(r->fn, n, i), a, b;
  hia_type type = hiaG_type(r->fn, v);
  bool is_sum = hiaG_is_sum(r->g->types, type);
  switch ((hia_sum_ctor)node->imm) {
  case HIA_SUM_DENSE: /* it may be part of more rows */
    return rows(r, x, constant(r, HIA_I64, 0), size_of(r, read(r, v), 0));
  case HIA_SUM_ROW:
    x = op_of(r, HIA_OP_ROW, x, read(r, hiaG_in(r->fn, n, 0)));
    return is_sum ? of_sum(r, type, x) : x;
  case HIA_SUM_ROWS: return op_of(r, HIA_OP_ROWS, x, read(r, hiaG_in(r->fn, n, 0)));
  case HIA_SUM_PART:
    a = read(r, hiaG_in(r->fn, n, 0));
    return of_sum(r, type, rows(r, x, a, size_of(r, x, 0)));
  default: break;
  }
  a = read(r, hiaG_in(r->fn, n, 0));
  b = read(r, hiaG_in(r->fn, n, 1));
  bool is_outer = node->imm == HIA_SUM_OUTER;
  x = as_matrix(r, x, size_of(r, a, is_outer ? 0 : 1));
  if (i == 1) return op_of(r, HIA_OP_PRODUCT, a, x);
  return is_outer ? op_of(r, HIA_OP_PRODUCT, x, b) : op_of(r, HIA_OP_PRODUCT_BT, b, x);
}

static void through_sum(reverse *r, hia_node_id n, hia_value_id dy) {
  const hia_node node = r->fn->nodes.data[n];
  hia_dtype dtype;
  uint32_t rank;
  hia_u32vec ids = {0}, yields[2] = {{0}, {0}};
  HIA_VEC(hia_type) types = {0};
  hiaG_sum_of(r->g->types, hiaG_type(r->fn, node.outs), &dtype, &rank);
  hia_type i32 = HIA_I32, tensor = hiaG_tensor(r->g->types, dtype, rank);
  hia_node_id number = node_of(r, HIA_OP_CTOR, &dy, 1, &i32, 1, 0);
  hia_value_id cond = op_of(r, HIA_OP_NE, hiaG_out(r->back, number, 0), constant(r, HIA_I32, 0));
  hia_node_id branch = node_of(r, HIA_OP_IF, &cond, 1, NULL, 0, 0);
  hia_region_id arms = r->back->nodes.data[branch].regions, outer = r->region;
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    r->region = arms;
    hia_value_id x = value_of(r, HIA_OP_FIELD, &dy, 1, tensor, HIA_IMM(HIA_GRAD_OF_SUM, 0));
    hiaR_push(r->d->arena, &yields[0], to_contribution(r, n, i, x));
    r->region = arms + 1;
    bool is_tensor = hiaG_type_kind(r->g->types, hiaG_type(r->fn, v)) == HIA_KIND_TENSOR;
    hia_value_id none =
        is_tensor ? op_of(r, HIA_OP_ZEROS, read(r, v), HIA_NONE) : zero(r, id_of(r, v));
    hiaR_push(r->d->arena, &yields[1], none);
    hiaR_push(r->d->arena, &ids, v);
    hiaR_push(r->d->arena, &types, hiaG_type(r->back, none));
  }
  r->region = outer;
  for (uint32_t k = 0; k < 2; k++)
    hiaG_yield(r->g, r->back, arms + k, yields[k].data, yields[k].len);
  hiaG_set_outs(r->g, r->back, branch, types.data, types.len);
  for (uint32_t i = 0; i < ids.len; i++) add_dense(r, ids.data[i], hiaG_out(r->back, branch, i));
}

/* What flows to the fields, if the value has a gradient. */
static void through_data(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs);
  if (dy == HIA_NONE) return;
  if (hiaG_is_sum(r->g->types, hiaG_type(r->fn, node.outs))) {
    if (node.imm != HIA_SUM_BOTH) {
      through_sum(r, n, dy);
      return;
    }
    for (uint32_t i = 0; i < 2; i++)
      if (r->b->varies[hiaG_in(r->fn, n, i)]) add(r, hiaG_in(r->fn, n, i), dy);
    return;
  }
  hia_type type = hiaG_type(r->fn, node.outs), i32 = HIA_I32;
  uint32_t ctor = (uint32_t)node.imm;
  hia_u32vec ids = {0}, yields[2] = {{0}, {0}};
  HIA_VEC(hia_type) types = {0};
  hia_node_id number = node_of(r, HIA_OP_CTOR, &dy, 1, &i32, 1, 0);
  hia_value_id cond = op_of(r, HIA_OP_NE, hiaG_out(r->back, number, 0), constant(r, HIA_I32, 0));
  hia_node_id branch = node_of(r, HIA_OP_IF, &cond, 1, NULL, 0, 0);
  hia_region_id arms = r->back->nodes.data[branch].regions, outer = r->region;
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    r->region = arms;
    hia_value_id dv = value_of(r, HIA_OP_FIELD, &dy, 1, hiaG_grad_stored(r->d, hiaG_type(r->fn, v)),
                               HIA_IMM(ctor + 1, hiaG_grad_field(r->d, type, ctor, i)));
    hiaR_push(r->d->arena, &yields[0], from_stored(r, v, dv));
    r->region = arms + 1;
    hiaR_push(r->d->arena, &yields[1], zero(r, id_of(r, v)));
    hiaR_push(r->d->arena, &ids, id_of(r, v));
    hiaR_push(r->d->arena, &types, type_of(r, id_of(r, v)));
  }
  r->region = outer;
  for (uint32_t k = 0; k < 2; k++)
    hiaG_yield(r->g, r->back, arms + k, yields[k].data, yields[k].len);
  hiaG_set_outs(r->g, r->back, branch, types.data, types.len);
  for (uint32_t i = 0; i < ids.len; i++) add(r, ids.data[i], hiaG_out(r->back, branch, i));
}

/* A gradient of the constructor that the field is of. What flows to several fields of a value
 * becomes one of these. */
static void through_field(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs), v = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, v), gradient = hiaG_grad_type(r->d, type);
  uint32_t ctor = HIA_IMM_A(node.imm), n_fields = hiaG_grad_fields(r->d, type, ctor);
  uint32_t field = hiaG_grad_field(r->d, type, ctor, HIA_IMM_B(node.imm));
  hia_value_id *fields = HIA_NEW_ARRAY(r->d->arena, hia_value_id, n_fields + 1);
  hia_value_id so_far = *gradient_of(r, v);
  hia_node_id def = so_far == HIA_NONE ? HIA_NONE : r->back->values.data[so_far].node;
  bool joins = def != HIA_NONE && r->back->nodes.data[def].op == HIA_OP_DATA &&
               r->back->nodes.data[def].imm == ctor + 1 &&
               r->back->nodes.data[def].region == r->region;
  const hia_ctor *made = hiaR_ctor(
      &(hia_type_table){.types = r->g->types->entries.data, .ctors = r->g->types->ctors.data},
      gradient, ctor + 1);
  hia_type *types = HIA_NEW_ARRAY(r->d->arena, hia_type, n_fields + 1);
  for (uint32_t i = 0; i < n_fields; i++) types[i] = r->g->types->fields.data[made->first + i].type;
  for (uint32_t i = 0; i < n_fields; i++) {
    fields[i] = joins ? hiaG_in(r->back, def, i) : HIA_NONE;
    if (i != field && fields[i] == HIA_NONE) fields[i] = hiaG_grad_zero(r->d, here(r), types[i]);
  }
  dy = to_stored(r, node.outs, dy);
  hia_word word = 1;
  bool is_zero =
      fields[field] == HIA_NONE || (hiaG_is_const(r->back, fields[field], &word) && !word);
  fields[field] = is_zero ? dy : sum_of(r, types[field], fields[field], dy);
  hia_value_id whole = value_of(r, HIA_OP_DATA, fields, n_fields, gradient, ctor + 1);
  if (joins) {
    hiaG_remove(r->back, def);
    *gradient_of(r, v) = whole;
  } else {
    add(r, v, whole);
  }
}

static void through_array(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, node.outs);
  uint32_t n_words = hiaG_type_words(r->g->types, hiaG_element(r->g->types, type));
  hia_value_id len = constant(r, HIA_I64, node.n_ins / n_words);
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), type, dy, len);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    hia_value_id ins[2] = {whole, constant(r, HIA_I64, i / n_words)};
    hia_value_id dv = value_of(r, HIA_OP_AT, ins, 2, hiaG_grad_stored(r->d, hiaG_type(r->fn, v)),
                               hiaG_grad_word(r->d, type, i % n_words));
    add(r, id_of(r, v), from_stored(r, v, dv));
  }
}

static void through_at(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, array);
  uint32_t word = hiaG_grad_word(r->d, type, (uint32_t)node.imm);
  hia_value_id i = read(r, hiaG_in(r->fn, n, 1));
  add(r, array, hiaG_grad_of_element(r->d, here(r), type, i, word, to_stored(r, node.outs, dy)));
}

static void through_slice(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_value_id from = read(r, hiaG_in(r->fn, n, 1));
  add(r, array, hiaG_grad_of_part(r->d, here(r), hiaG_type(r->fn, array), from, dy));
}

static void through_set(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs), array = hiaG_in(r->fn, n, 0);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, array), element = hiaG_grad_element(r->d, type);
  hia_value_id from = read(r, array), len = value_of(r, HIA_OP_LEN, &from, 1, HIA_I64, 0);
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), type, dy, len);
  hia_value_id i = read(r, hiaG_in(r->fn, n, 1));
  for (uint32_t k = 2; k < node.n_ins; k++) {
    hia_value_id v = hiaG_in(r->fn, n, k);
    if (!r->b->varies[v]) continue;
    hia_value_id dv =
        value_of(r, HIA_OP_AT, (hia_value_id[]){whole, i}, 2,
                 hiaG_grad_stored(r->d, hiaG_type(r->fn, v)), hiaG_grad_word(r->d, type, k - 2));
    add(r, id_of(r, v), from_stored(r, v, dv));
  }
  if (!r->b->varies[array]) return;
  uint32_t n_words = hiaG_type_words(r->g->types, element);
  hia_type *words = HIA_NEW_ARRAY(r->d->arena, hia_type, n_words + 1);
  hiaG_type_flatten(r->g->types, element, words);
  hia_u32vec ins = {0};
  hiaR_push(r->d->arena, &ins, whole);
  hiaR_push(r->d->arena, &ins, i);
  for (uint32_t k = 0; k < n_words; k++)
    hiaR_push(r->d->arena, &ins, hiaG_grad_zero(r->d, here(r), words[k]));
  hia_value_id rest = value_of(r, HIA_OP_SET, ins.data, ins.len, hiaG_type(r->back, whole), 0);
  add(r, array, hiaG_grad_of_whole(r->d, here(r), type, rest));
}

static void through_concat(reverse *r, hia_node_id n) {
  const hia_node node = r->fn->nodes.data[n];
  hia_value_id dy = take(r, node.outs);
  if (dy == HIA_NONE) return;
  hia_type type = hiaG_type(r->fn, node.outs);
  hia_value_id all = constant(r, HIA_I64, 0);
  hia_u32vec ends = {0};
  hiaR_push(r->d->arena, &ends, all);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id from = read(r, hiaG_in(r->fn, n, i));
    all = op_of(r, HIA_OP_ADD, all, value_of(r, HIA_OP_LEN, &from, 1, HIA_I64, 0));
    hiaR_push(r->d->arena, &ends, all);
  }
  hia_value_id whole = hiaG_grad_whole(r->d, here(r), type, dy, all);
  for (uint32_t i = 0; i < node.n_ins; i++) {
    hia_value_id v = hiaG_in(r->fn, n, i);
    if (!r->b->varies[v]) continue;
    hia_value_id ins[3] = {whole, ends.data[i], ends.data[i + 1]};
    hia_value_id part = value_of(r, HIA_OP_SLICE, ins, 3, hiaG_type(r->back, whole), 0);
    add(r, v, hiaG_grad_of_whole(r->d, here(r), type, part));
  }
}

/* ---- reruns (again.c) ---- */

/* Enters a rerun from its end: inserts the call that computes it again; reads inside take that
 * call's results. */
static void enter_rerun(reverse *r, hia_node_id n) {
  uint32_t number = r->b->rerun_of[n];
  hia_grad_rerun *s = &r->b->reruns.data[number];
  const hia_fn *callee = hiaG_fn(r->g, s->callee);
  hia_u32vec ins = {0};
  HIA_VEC(hia_type) types = {0};
  for (uint32_t i = 0; i < s->inputs.len; i++) {
    hiaR_push(r->d->arena, &ins, read(r, s->inputs.data[i]));
    hiaR_push(r->d->arena, &types, hiaG_type(r->fn, s->inputs.data[i]));
  }
  s->again = hiaG_fn_new(r->g, hiaG_new_name(r->g, callee->name, ".again"), callee->source,
                         callee->loc, types.data, types.len, NULL, 0);
  hiaG_fn(r->g, s->again)->is_recomputed = true;
  s->count = r->g->is_counted ? node_of(r, HIA_OP_COUNT, NULL, 0, NULL, 0, 0) : HIA_NONE;
  s->call = node_of(r, HIA_OP_CALL, ins.data, ins.len, NULL, 0, s->again);
  s->place =
      new_place(r, HIA_PLACE_AGAIN, r->fn->nodes.data[n].region, r->region, r->place, HIA_NONE);
  r->b->places.data[s->place].rerun = number;
  r->place = s->place;
}

static void leave_rerun(reverse *r) { r->place = r->b->places.data[r->place].outer; }

/* ---- all of f ---- */

static void through_node(reverse *r, hia_node_id n) {
  const hia_node *node = &r->fn->nodes.data[n];
  r->loc = node->loc;
  if (hiaG_has_own_gradient(r->g, node)) {
    through_own(r, n);
    return;
  }
  if (node->flags & HIA_NODE_END) enter_rerun(r, n);
  if (node->flags & HIA_NODE_BEGIN) leave_rerun(r);
  switch (node->op) {
  case HIA_OP_ARG:
  case HIA_OP_PARAM: return; /* what comes from here has its gradient */
  case HIA_OP_IF: through_branch(r, n); return;
  case HIA_OP_LOOP: through_loop(r, n); return;
  case HIA_OP_MAP: through_map(r, n); return;
  case HIA_OP_CALL: through_call(r, n); return;
  case HIA_OP_PACK: through_pack(r, n); return;
  case HIA_OP_DATA: through_data(r, n); return;
  case HIA_OP_COLLECT: through_collect(r, n); return;
  case HIA_OP_FIELD: through_field(r, n); return;
  case HIA_OP_ARRAY: through_array(r, n); return;
  case HIA_OP_AT: through_at(r, n); return;
  case HIA_OP_SLICE: through_slice(r, n); return;
  case HIA_OP_SET: through_set(r, n); return;
  case HIA_OP_CONCAT: through_concat(r, n); return;
  case HIA_OP_ALIKE: return; /* an index */
  case HIA_OP_FAIL:
    for (uint32_t i = 0; i < node->n_outs; i++) (void)take(r, node->outs + i);
    return; /* these results are never there */
  default: through_op(r, n); return;
  }
}

static void through_region(reverse *r, uint32_t place) {
  hia_region_id forward = r->b->places.data[place].forward;
  if (++r->depth > MAX_DEPTH)
    hiaG_grad_lacks(r->d, r->fn, r->loc, "branches and loops nested this deep");
  hia_node_id n = r->fn->nodes.data[hiaG_yield_of(r->fn, forward)].prev;
  for (; n != HIA_NONE; n = r->fn->nodes.data[n].prev) through_node(r, n);
  r->depth--;
}

/* True if an op that computes has made the value: then its gradient may have any form. */
static bool is_computed(const hia_fn *fn, hia_value_id v) {
  const hia_op_info *op = &hiaR_ops[hiaG_def(fn, v)->op];
  return op->gradient == HIA_GRADIENT_OWN && op->shape != HIA_SHAPE_NONE;
}

static bool is_small(const reverse *r, hia_value_id v) {
  enum { SMALL = 64 };
  hia_type type = hiaG_type(r->fn, v);
  return hiaG_type_kind(r->g->types, type) == HIA_KIND_TENSOR &&
         hiaG_sizes_elements(&r->b->sizes, &r->b->of_fn[v], hiaG_rank(r->g->types, type)) <= SMALL;
}

/* By value: it is used in rounds of a loop that it is not computed in, so that a sum would grow
 * from round to round: as a whole, by a tensor; or by index, and the tensor is so small that adding
 * to all of it takes no more than the part of a sum. */
static bool *find_used_in_rounds(const reverse *r) {
  const hia_fn *fn = r->fn;
  bool *is_used = HIA_NEW_ARRAY(r->d->arena, bool, fn->values.len + 1);
  uint32_t *n_loops = HIA_NEW_ARRAY(r->d->arena, uint32_t, fn->regions.len + 1);
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    for (uint32_t k = 0; k < hiaG_n_regions(node->op); k++)
      n_loops[node->regions + k] = n_loops[node->region] + (node->op == HIA_OP_LOOP);
    for (uint32_t i = 0; i < node->n_ins; i++) {
      hia_value_id v = hiaG_in(fn, n, i);
      bool is_indexed = hiaG_indexes(node->op) && i == 0;
      if (n_loops[node->region] > n_loops[hiaG_def(fn, v)->region])
        is_used[v] |= !is_indexed || is_small(r, v);
    }
  }
  return is_used;
}

/* Of which values the gradient is a Sum: of what rows or parts are taken from, and of what indexing
 * takes from a param. Elsewhere gradients are tensors, which elementwise ops can add up. */
static void find_sums(reverse *r) {
  const bool *is_used_in_rounds = find_used_in_rounds(r);
  bool *of_param = HIA_NEW_ARRAY(r->d->arena, bool, r->fn->values.len + 1);
  r->b->is_sum = HIA_NEW_ARRAY(r->d->arena, bool, r->fn->values.len + 1);
  HIA_EACH_NODE(r->fn, n) {
    const hia_node *node = &r->fn->nodes.data[n];
    if (node->op == HIA_OP_PARAM)
      of_param[node->outs] = r->b->varies[node->outs] && id_is_sum(r, id_of(r, node->outs));
    if (!hiaG_indexes(node->op) || !r->b->varies[node->outs]) continue;
    hia_value_id base = hiaG_in(r->fn, n, 0);
    if (!hiaG_is_scalar(hiaG_type(r->fn, node->outs))) of_param[node->outs] = of_param[base];
    if (node->op != HIA_OP_EXPECT && is_computed(r->fn, base) && !is_used_in_rounds[base])
      r->b->is_sum[base] = true;
  }
  for (uint32_t i = 0; i < r->fn->values.len; i++) r->b->is_sum[i] |= of_param[i];
}

void hiaG_grad_back(hia_back *b) {
  reverse r = {.b = b, .d = b->d, .g = b->g, .fn = b->fn, .back = b->back};
  hia_arena *arena = b->d->arena;
  uint32_t n_ids = b->fn->values.len + b->g->params.len;
  const hia_grad_version version = b->d->versions.data[b->version];
  r.gradient = HIA_NEW_ARRAY(arena, hia_value_id, n_ids + 1);
  r.scope_of = HIA_NEW_ARRAY(arena, uint32_t, n_ids + 1);
  memset(r.gradient, 0xff, (n_ids + 1) * sizeof *r.gradient);
  b->first_kept = HIA_NEW_ARRAY(arena, uint32_t, b->fn->values.len + 1);
  memset(b->first_kept, 0xff, (b->fn->values.len + 1) * sizeof *b->first_kept);
  b->records = HIA_NEW_ARRAY(arena, hia_grad_record, b->fn->nodes.len + 1);
  for (uint32_t i = 0; i < b->fn->nodes.len; i++)
    b->records[i] = (hia_grad_record){.kept = HIA_NONE};
  find_sums(&r);
  uint32_t body = new_place(&r, HIA_PLACE_BODY, 0, 0, HIA_NONE, HIA_NONE);
  b->places.data[body].tape = 0; /* the first parameter */
  hia_value_id *seeds = HIA_NEW_ARRAY(arena, hia_value_id, b->fn->n_results + 1);
  uint32_t at = 1;
  for (uint32_t i = 0; i < b->fn->n_results; i++) {
    seeds[i] = version.seeded[i] ? at++ : HIA_NONE;
    if (seeds[i] != HIA_NONE)
      has_shape_of(&r, seeds[i], hiaG_in(b->fn, hiaG_yield_of(b->fn, 0), i));
  }
  r.place = body;
  contributions found = through_arm(&r, body, seeds);
  /* The gradients of parameters, then those of params. */
  hia_u32vec results = {0};
  r.loc = b->fn->loc;
  for (uint32_t i = 0; i < b->fn->n_params; i++) {
    if (!version.varies[i]) continue;
    hia_value_id is = HIA_NONE;
    for (uint32_t k = 0; k < found.len; k++)
      if (found.data[k].id == i) is = found.data[k].gradient;
    hiaR_push(arena, &results, is == HIA_NONE ? zero(&r, i) : is);
  }
  const bool *reads =
      b->d->params.data[version.params].reads + (size_t)version.fn * b->g->params.len;
  for (uint32_t p = 0; p < b->g->params.len; p++) {
    if (!reads[p]) continue;
    hia_value_id is = HIA_NONE;
    for (uint32_t k = 0; k < found.len; k++)
      if (found.data[k].id == b->fn->values.len + p) is = found.data[k].gradient;
    hiaR_push(arena, &results, is == HIA_NONE ? zero(&r, b->fn->values.len + p) : is);
  }
  hiaG_yield(b->g, b->back, 0, results.data, results.len);
}
