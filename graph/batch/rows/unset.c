/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors whose rows a loop sets. `set(rows, i, h)`, a `with`, reads the elements of h, so the run
 * would wait for h in each round. If the loop does nothing else with the tensor than set rows and
 * read them, it has an array of rows instead, in which they may be pending, and the rows are
 * stacked behind the loop (unstack.c reads rows and sums of them from the array):
 *
 *     %a = loop %zeros {                      %as = map %n { yield %zero }
 *       %t = arg 0                            %bs = loop %as {
 *     } round {                                 %ts = arg 0
 *       %x = row %t, %k              ->       } round {
 *       %u = with %t, %i, %h                    %x = at 0 %ts, within(%k)
 *       yield %u                                %us = set %ts, within(%i), %h
 *     }                                         yield %us
 *                                             }
 *                                             %a = pack %bs, %64
 *
 * So does a loop that reads rows for segments, as the backward pass of such a loop does: while a
 * row is noted it holds the tensor, and to set another row of that would copy all.
 *
 * A *web* consists of all values within a loop that are such a tensor: a variable of the loop, what
 * a `with`, a branch or an inner loop makes of it. A tensor that comes from elsewhere, such as the
 * one that a variable begins with, is taken apart into its rows where it enters the web. */
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/scc.h"
#include "graph/ir/walk.h"

typedef struct unsetting {
  hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  uint32_t n_values; /* of which facts are known */
  hia_buckets users; /* by value: the nodes that have it as an operand */
  const bool *has_late_rows;
  /* The web that is looked at. */
  hia_node_id loop;
  hia_row_shape shape;
  bool *is_in; /* by value; webs that were taken before, too */
  hia_u32vec web, exits;
  bool is_late;         /* a row that is set may be pending */
  bool is_set, is_held; /* rows are set; a row that is read is noted, and holds the tensor */
  bool fails;
  hia_subst subst;
  bool is_changed;
} unsetting;

static hia_value_id in(const unsetting *u, hia_node_id n, uint32_t i) {
  return hiaG_in(u->fn, n, i);
}
static const hia_node *node_of(const unsetting *u, hia_node_id n) { return &u->fn->nodes.data[n]; }

/* ---- webs ---- */

static bool is_inside(const unsetting *u, hia_node_id n) {
  for (hia_region_id r = node_of(u, n)->region; r;
       r = node_of(u, u->fn->regions.data[r].owner)->region)
    if (u->fn->regions.data[r].owner == u->loop) return true;
  return false;
}

/* The variable of a loop that a value is; NONE: it is none. */
static hia_value_id variable_of(const unsetting *u, hia_node_id loop, uint32_t i) {
  HIA_EACH_ARG(u->fn, node_of(u, loop)->regions, arg)
    if (node_of(u, arg)->imm == i) return node_of(u, arg)->outs;
  return HIA_NONE;
}

static bool has_row_shape(const unsetting *u, hia_value_id v) {
  for (uint32_t k = 0; k < u->shape.rank; k++)
    if (hiaG_batch_size(u->b, u->f, v, k + 1) != u->shape.dims[k]) return false;
  return true;
}

static void add(unsetting *u, hia_value_id v) {
  if (u->is_in[v]) return;
  u->is_in[v] = true;
  hiaR_push(u->b->arena, &u->web, v);
  u->fails |= !has_row_shape(u, v);
}

/* A value that goes where the web has one: it belongs to it, or enters it. */
static void add_source(unsetting *u, hia_value_id v) {
  if (v >= u->n_values) return; /* of a web that was taken before */
  hia_node_id def = u->fn->values.data[v].node;
  const hia_node *node = node_of(u, def);
  bool is_made = node->op == HIA_OP_WITH || node->op == HIA_OP_IF || node->op == HIA_OP_LOOP;
  bool is_variable = node->op == HIA_OP_ARG && node->region &&
                     node_of(u, u->fn->regions.data[node->region].owner)->op == HIA_OP_LOOP;
  if ((is_made || is_variable) && is_inside(u, def)) add(u, v);
}

static bool is_late(const unsetting *u, hia_value_id v) {
  return v < u->n_values && u->b->fns[u->f].is_late[v];
}

/* True if a row that is put into the tensor has its shape. */
static bool fits(const unsetting *u, hia_value_id row) {
  if (row >= u->n_values) return false;
  for (uint32_t k = 0; k < u->shape.rank; k++)
    if (hiaG_batch_size(u->b, u->f, row, k) != u->shape.dims[k]) return false;
  return true;
}

static void look_at_definition(unsetting *u, hia_value_id v) {
  hia_node_id def = u->fn->values.data[v].node;
  const hia_node *node = node_of(u, def);
  switch (node->op) {
  case HIA_OP_WITH:
    u->is_set = true;
    u->fails |= !fits(u, in(u, def, 2));
    u->is_late |= is_late(u, in(u, def, 2));
    add_source(u, in(u, def, 0));
    return;
  case HIA_OP_IF:
    for (unsigned arm = 0; arm < 2; arm++)
      add_source(u, in(u, hiaG_yield_of(u->fn, node->regions + arm), v - node->outs));
    return;
  case HIA_OP_LOOP:
    add_source(u, in(u, hiaG_yield_of(u->fn, node->regions), v - node->outs + 1));
    return;
  default: { /* a variable */
    hia_node_id loop = u->fn->regions.data[node->region].owner;
    if (loop != u->loop) add_source(u, in(u, loop, (uint32_t)node->imm));
    add_source(u, in(u, hiaG_yield_of(u->fn, node_of(u, loop)->regions + 1), (uint32_t)node->imm));
  }
  }
}

/* The web's value v is operand i of the YIELD of a region. */
static void look_at_yield(unsetting *u, hia_node_id n, uint32_t i) {
  hia_region_id region = node_of(u, n)->region;
  hia_node_id owner = region ? u->fn->regions.data[region].owner : HIA_NONE;
  unsigned kind = u->fn->regions.data[region].kind;
  if (kind == HIA_REGION_THEN || kind == HIA_REGION_ELSE)
    add(u, node_of(u, owner)->outs + i);
  else if (kind == HIA_REGION_HEAD && owner == u->loop)
    hiaR_push(u->b->arena, &u->exits, node_of(u, owner)->outs + i - 1);
  else if (kind == HIA_REGION_HEAD)
    add(u, node_of(u, owner)->outs + i - 1);
  else if (kind == HIA_REGION_ROUND)
    add(u, variable_of(u, owner, i));
  else
    u->fails = true;
}

/* True if rows of segments have the value as an operand. */
static bool is_noted(const unsetting *u, hia_value_id v) {
  for (uint32_t i = u->users.start[v]; v < u->n_values && i < u->users.start[v + 1]; i++)
    if (hiaG_is_deferred(u->b, u->f, u->users.items[i])) return true;
  return false;
}

static void look_at_use(unsetting *u, hia_node_id n, uint32_t i) {
  const hia_node *node = node_of(u, n);
  switch (node->op) {
  case HIA_OP_WITH:
    if (i == 0) add(u, node->outs);
    u->fails |= i != 0;
    return;
  case HIA_OP_ROW: u->is_held |= is_noted(u, node->outs); return;
  case HIA_OP_DIM: u->fails |= node->imm != 0; return;
  case HIA_OP_LOOP: add(u, variable_of(u, n, i)); return;
  case HIA_OP_YIELD: look_at_yield(u, n, i); return;
  default: u->fails = true; return;
  }
}

/* Finds the web that a variable of a loop belongs to. False: there is none, or it gains nothing to
 * have rows. */
static bool find_web(unsetting *u, hia_node_id loop, hia_value_id v) {
  uint32_t rank = hiaG_rank(u->b->g->types, hiaG_type(u->fn, v));
  uint32_t variable = (uint32_t)hiaG_def(u->fn, v)->imm;
  u->loop = loop;
  u->web.len = u->exits.len = 0;
  u->fails = u->is_set = u->is_held = false;
  hia_value_id start = in(u, loop, variable);
  u->is_late = start < u->n_values && u->has_late_rows[start];
  u->shape = (hia_row_shape){hiaG_dtype(u->b->g->types, hiaG_type(u->fn, v)), rank - 1, {0}};
  for (uint32_t k = 0; k + 1 < rank; k++)
    if ((u->shape.dims[k] = hiaG_batch_size(u->b, u->f, v, k + 1)) < 0) return false;
  add(u, v);
  for (uint32_t at = 0; at < u->web.len && !u->fails; at++) {
    hia_value_id w = u->web.data[at];
    look_at_definition(u, w);
    for (uint32_t i = u->users.start[w]; i < u->users.start[w + 1]; i++) {
      hia_node_id n = u->users.items[i];
      for (uint32_t k = 0; k < node_of(u, n)->n_ins; k++)
        if (in(u, n, k) == w) look_at_use(u, n, k);
    }
  }
  if ((u->is_late || (u->is_set && u->is_held)) && !u->fails) return true;
  for (uint32_t at = 0; at < u->web.len; at++) u->is_in[u->web.data[at]] = false;
  return false;
}

/* ---- changing a web ---- */

static hia_putting before(const unsetting *u, hia_node_id n) {
  return (hia_putting){u->b->g, u->fn, HIA_NONE, n, node_of(u, n)->loc};
}

/* Puts the array of the rows of a tensor. */
static hia_value_id put_array(const unsetting *u, hia_node_id at, hia_value_id tensor) {
  hia_putting p = before(u, at);
  const hia_node def = *hiaG_def(u->fn, tensor);
  hia_type row = hiaG_row_type(&p, &u->shape), type = hiaG_array(p.g->types, row);
  bool is_full = def.op == HIA_OP_FULL;
  hia_value_id zero = is_full ? hiaG_put_full(&p, &u->shape, u->fn->edges.data[def.ins]) : HIA_NONE;
  hia_value_id rows = hiaG_put(&p, HIA_OP_DIM, &tensor, 1, HIA_I64, 0);
  hia_value_id array = hiaG_put(&p, HIA_OP_MAP, &rows, 1, type, 0);
  hia_putting each = {p.g, p.fn, hiaG_def(u->fn, array)->regions, HIA_NONE, p.loc};
  hia_value_id ins[2] = {tensor, hiaG_put(&each, HIA_OP_ARG, NULL, 0, HIA_I64, 0)};
  hiaG_put_yield(&each, is_full ? zero : hiaG_put(&each, HIA_OP_ROW, ins, 2, row, 0));
  return array;
}

/* Operand i of a node becomes an array. */
static void enter(const unsetting *u, hia_node_id n, uint32_t i) {
  hia_value_id v = in(u, n, i);
  if (v < u->n_values && u->is_in[v]) return;
  hia_value_id array = put_array(u, n, v);
  u->fn->edges.data[node_of(u, n)->ins + i] = array;
}

static void enter_definition(const unsetting *u, hia_value_id v) {
  hia_node_id def = u->fn->values.data[v].node;
  const hia_node node = *node_of(u, def);
  switch (node.op) {
  case HIA_OP_WITH: enter(u, def, 0); return;
  case HIA_OP_IF:
    for (unsigned arm = 0; arm < 2; arm++)
      enter(u, hiaG_yield_of(u->fn, node.regions + arm), v - node.outs);
    return;
  case HIA_OP_LOOP: enter(u, hiaG_yield_of(u->fn, node.regions), v - node.outs + 1); return;
  default: {
    hia_node_id loop = u->fn->regions.data[node.region].owner;
    enter(u, loop, (uint32_t)node.imm);
    enter(u, hiaG_yield_of(u->fn, node_of(u, loop)->regions + 1), (uint32_t)node.imm);
  }
  }
}

/* The index of a row, checked. */
static hia_value_id put_index(const unsetting *u, const hia_putting *p, hia_node_id n) {
  hia_value_id array = in(u, n, 0);
  hia_value_id ins[2] = {hiaG_put(p, HIA_OP_LEN, &array, 1, HIA_I64, 0), in(u, n, 1)};
  return hiaG_put(p, HIA_OP_WITHIN, ins, 2, HIA_I64, u->shape.rank ? 2 : 0);
}

static void change_with(unsetting *u, hia_node_id n) {
  hia_putting p = before(u, n);
  hia_value_id ins[3] = {in(u, n, 0), put_index(u, &p, n), in(u, n, 2)};
  hiaG_set_ins(p.g, u->fn, n, ins, 3);
  u->fn->nodes.data[n].op = HIA_OP_SET;
}

static void change_use(unsetting *u, hia_node_id n) {
  hia_putting p = before(u, n);
  hia_value_id array = in(u, n, 0), v;
  if (node_of(u, n)->op == HIA_OP_ROW)
    v = hiaG_put_at(&p, &u->shape, array, put_index(u, &p, n));
  else if (node_of(u, n)->op == HIA_OP_DIM)
    v = hiaG_put(&p, HIA_OP_LEN, &array, 1, HIA_I64, 0);
  else
    return;
  hiaG_replace(&u->subst, node_of(u, n)->outs, v);
  hiaG_remove(u->fn, n);
}

/* What the loop gives is stacked behind it. */
static void leave(unsetting *u, hia_value_id v, hia_type tensor, hia_type array) {
  hia_putting p = before(u, node_of(u, u->loop)->next);
  p.loc = node_of(u, u->loop)->loc;
  hia_value_id ins[1 + HIA_MAX_RANK] = {v};
  for (uint32_t k = 0; k < u->shape.rank; k++) ins[1 + k] = hiaG_put_number(&p, u->shape.dims[k]);
  hia_value_id pack = hiaG_put(&p, HIA_OP_PACK, ins, 1 + u->shape.rank, tensor, 0);
  hiaG_def(u->fn, pack)->flags |= HIA_NODE_SIZED;
  u->fn->values.data[v].type = array;
  for (uint32_t i = u->users.start[v]; i < u->users.start[v + 1]; i++) {
    hia_node_id n = u->users.items[i];
    for (uint32_t k = 0; k < node_of(u, n)->n_ins; k++)
      if (in(u, n, k) == v) u->fn->edges.data[node_of(u, n)->ins + k] = pack;
  }
}

static void change_web(unsetting *u) {
  hia_putting p = before(u, u->loop);
  hia_type tensor = hiaG_type(u->fn, u->web.data[0]);
  hia_type array = hiaG_array(u->b->g->types, hiaG_row_type(&p, &u->shape));
  for (uint32_t at = 0; at < u->web.len; at++) enter_definition(u, u->web.data[at]);
  for (uint32_t at = 0; at < u->web.len; at++) u->fn->values.data[u->web.data[at]].type = array;
  for (uint32_t at = 0; at < u->web.len; at++) {
    hia_value_id v = u->web.data[at];
    if (hiaG_def(u->fn, v)->op == HIA_OP_WITH) change_with(u, u->fn->values.data[v].node);
    for (uint32_t i = u->users.start[v]; i < u->users.start[v + 1]; i++) {
      hia_node_id n = u->users.items[i];
      if (!(node_of(u, n)->flags & HIA_NODE_DEAD) && in(u, n, 0) == v) change_use(u, n);
    }
  }
  for (uint32_t at = 0; at < u->exits.len; at++)
    if (hiaG_type(u->fn, u->exits.data[at]) == tensor) leave(u, u->exits.data[at], tensor, array);
  u->is_changed = true;
}

/* ---- all functions ---- */

static hia_buckets find_users(const unsetting *u) {
  hia_u32vec values = {0}, nodes = {0};
  HIA_EACH_NODE(u->fn, n)
    for (uint32_t i = 0; i < node_of(u, n)->n_ins; i++) {
      bool is_again = false;
      for (uint32_t k = 0; k < i; k++) is_again |= in(u, n, k) == in(u, n, i);
      if (is_again) continue;
      hiaR_push(u->b->arena, &values, in(u, n, i));
      hiaR_push(u->b->arena, &nodes, n);
    }
  return hiaG_buckets(u->b->arena, u->n_values, values.len, values.data, nodes.data);
}

static bool has_with(const hia_fn *fn) {
  HIA_EACH_NODE(fn, n)
    if (fn->nodes.data[n].op == HIA_OP_WITH) return true;
  return false;
}

static bool unset(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  if (!has_with(fn)) return false;
  unsetting u = {.b = b, .f = f, .fn = fn, .n_values = fn->values.len};
  u.subst = hiaG_subst(b->g, fn);
  u.users = find_users(&u);
  u.has_late_rows = hiaG_find_rows(b, f).is_late;
  u.is_in = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  hia_u32vec loops = {0};
  HIA_EACH_NODE(fn, n)
    if (fn->nodes.data[n].op == HIA_OP_LOOP) hiaR_push(b->arena, &loops, n);
  for (uint32_t at = 0; at < loops.len; at++) {
    hia_node_id loop = loops.data[at];
    hia_u32vec variables = {0};
    HIA_EACH_ARG(fn, fn->nodes.data[loop].regions, arg)
      hiaR_push(b->arena, &variables, fn->nodes.data[arg].outs);
    for (uint32_t i = 0; i < variables.len; i++) {
      hia_value_id v = variables.data[i];
      if (!u.is_in[v] && hiaG_is_tensor(b->g, fn, v) && find_web(&u, loop, v)) change_web(&u);
    }
  }
  if (!u.is_changed) return false;
  HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&u.subst, fn, n);
  hiaG_compact(b->g, fn);
  return true;
}

bool hiaG_batch_unset(hia_batcher *b) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= unset(b, f);
  return is_changed;
}
