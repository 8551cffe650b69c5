/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Verifier: addresses, in either state. In graphs for native code results are put at addresses
 * (passes/cons.c), which are of type i64. So a wrong one would be written through like any other:
 * every word that a PUT writes to, or a TAKE reads, must be from a DEST or a HOLE_AT, and nothing
 * else may be done with such a word than to hand it on. What lies there must be of one type.
 *
 * One would follow each address from its definition to its uses. But calls, loops and branches hand
 * values on in circles, and a parameter has many callers. So values that one word may flow between
 * are put into one class (union-find), in all functions at once, and each class is looked at as a
 * whole. That refuses nothing that passes make, since no i64 is an address here and a number there.
 *
 * That a destination is taken only behind what was put there is not checked, nor that an address is
 * set: code for a graph that was read from text tests it (lower/ops/read.c). */
#include "graph/verify/verifier.h"

typedef struct classes {
  hia_verifier *v;
  uint32_t *first;       /* by function: the number of its value 0 */
  hia_value_id **params; /* by function: the values of its parameters */
  uint32_t *up;          /* by number of a value: another one of its class, or itself */
  hia_node_id *strange_at;
  hia_fn_id
      *strange_in;  /* by class: a node that is no business of an address; NONE: there is none */
  hia_type *held;   /* by class: the type of what lies there; or NONE */
  bool *is_address; /* by class */
} classes;

static uint32_t find(classes *c, uint32_t x) {
  while (c->up[x] != x) x = c->up[x] = c->up[c->up[x]];
  return x;
}

static uint32_t class_of(classes *c, hia_fn_id f, hia_value_id v) {
  return find(c, c->first[f] + v);
}

/* An UNDEF is any word: pass tail makes one for several addresses that nothing is put at on some
 * path, of words of several types. So it belongs to no class. The code of a graph that was read
 * tests that it puts at none, and takes from none (lower/ops/read.c). */
static bool is_any(const classes *c, hia_fn_id f, hia_value_id v) {
  return hiaG_def(hiaG_fn(c->v->g, f), v)->op == HIA_OP_UNDEF;
}

static void join(classes *c, hia_fn_id f, hia_value_id v, hia_fn_id g, hia_value_id w) {
  if (is_any(c, f, v) || is_any(c, g, w)) return;
  c->up[class_of(c, f, v)] = class_of(c, g, w);
}

/* ---- what flows where ---- */

/* Parameters are the first nodes of the body. */
static void find_params(classes *c, hia_fn_id f) {
  const hia_graph *g = c->v->g;
  const hia_fn *fn = hiaG_fn(g, f);
  hia_node_id n = g->state == HIA_STATIC ? 0 : fn->regions.data[0].first;
  c->params[f] = HIA_NEW_ARRAY(c->v->scratch, hia_value_id, fn->n_params + 1);
  for (uint32_t i = 0; i < fn->n_params; i++) {
    c->params[f][i] = fn->nodes.data[n].outs;
    n = g->state == HIA_STATIC ? n + 1 : fn->nodes.data[n].next;
  }
}

static void join_argument(classes *c, hia_fn_id f, hia_value_id v, hia_fn_id callee, uint32_t i) {
  join(c, f, v, callee, c->params[callee][i]);
}

static hia_node_id yield_of(const classes *c, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  return c->v->g->state == HIA_STATIC ? fn->nodes.len - 1 : fn->regions.data[0].last;
}

static void join_result(classes *c, hia_fn_id f, hia_value_id v, hia_fn_id callee, uint32_t i) {
  join(c, f, v, callee, hiaG_in(hiaG_fn(c->v->g, callee), yield_of(c, callee), i));
}

static void join_call(classes *c, hia_fn_id f, hia_node_id n) {
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  const hia_node *node = &fn->nodes.data[n];
  for (uint32_t i = 0; i < node->n_ins; i++)
    join_argument(c, f, hiaG_in(fn, n, i), hiaG_callee(node), i);
  for (uint32_t i = 0; i < node->n_outs; i++)
    join_result(c, f, node->outs + i, hiaG_callee(node), i);
}

static void join_loop(classes *c, hia_fn_id f, hia_node_id n) {
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  const hia_node *node = &fn->nodes.data[n];
  hia_node_id head = fn->regions.data[node->regions].last,
              round = fn->regions.data[node->regions + 1].last,
              arg = fn->regions.data[node->regions].first;
  for (uint32_t i = 0; i < node->n_ins; i++, arg = fn->nodes.data[arg].next) {
    join(c, f, hiaG_in(fn, n, i), f, fn->nodes.data[arg].outs);
    join(c, f, hiaG_in(fn, round, i), f, fn->nodes.data[arg].outs);
  }
  for (uint32_t i = 0; i < node->n_outs; i++)
    join(c, f, hiaG_in(fn, head, i + 1), f, node->outs + i);
}

static void join_branch(classes *c, hia_fn_id f, hia_node_id n) {
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  const hia_node *node = &fn->nodes.data[n];
  for (uint32_t arm = 0; arm < 2; arm++)
    for (uint32_t i = 0; i < node->n_outs; i++)
      join(c, f, hiaG_in(fn, fn->regions.data[node->regions + arm].last, i), f, node->outs + i);
}

/* Joins the operands of a node with its results. Returns false if the node does not hand its
 * operands on. */
static bool join_node(classes *c, hia_fn_id f, hia_node_id n) {
  const hia_graph *g = c->v->g;
  const hia_fn *fn = hiaG_fn(g, f);
  const hia_node *node = &fn->nodes.data[n];
  uint32_t a = HIA_IMM_A(node->imm), b = HIA_IMM_B(node->imm);
  switch (node->op) {
  case HIA_OP_IF: join_branch(c, f, n); break; /* its condition is no i64 */
  case HIA_OP_LOOP: join_loop(c, f, n); break;
  case HIA_OP_CALL:
  case HIA_OP_FORK:
  case HIA_OP_JOIN: join_call(c, f, n); break;
  case HIA_OP_SWITCH: join(c, f, hiaG_in(fn, n, 0), f, node->outs + 1); /* fall through */
  case HIA_OP_ENTER:
  case HIA_OP_NEXT:
  case HIA_OP_EXIT: join(c, f, hiaG_in(fn, n, 0), f, node->outs); break;
  case HIA_OP_MERGE:
  case HIA_OP_MERGE_LOOP:
    for (uint32_t i = 0; i < 2; i++) join(c, f, hiaG_in(fn, n, i), f, node->outs);
    break;
  case HIA_OP_CALL_I:
    if (node->n_ins) join_argument(c, f, hiaG_in(fn, n, 0), g->sites.data[a].callee, b);
    break;
  case HIA_OP_RETURN_I: join_result(c, f, node->outs, g->sites.data[a].callee, b); break;
  case HIA_OP_ARG:
  case HIA_OP_MERGE_ENTRY:
  case HIA_OP_UNDEF: break; /* see is_any */
  case HIA_OP_YIELD: break; /* see its owner, or its callers */
  default: return false;
  }
  return true;
}

/* A function jumps to its slow path with its own arguments. */
static void join_slow_path(classes *c, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  for (uint32_t i = 0; i < fn->n_params; i++)
    join_argument(c, f, c->params[f][i], fn->slow_path, i);
  for (uint32_t i = 0; i < fn->n_results; i++)
    join_result(c, f, hiaG_in(fn, yield_of(c, f), i), fn->slow_path, i);
}

/* ---- what an address is ---- */

static void set_strange(classes *c, hia_fn_id f, hia_value_id v, hia_node_id n) {
  if (hiaG_type(hiaG_fn(c->v->g, f), v) != HIA_I64) return;
  uint32_t class = class_of(c, f, v);
  c->strange_in[class] = f;
  c->strange_at[class] = n;
}

/* The type of what lies at an address, which is all of its class. */
static void set_held(classes *c, hia_fn_id f, hia_value_id address, hia_type type, hia_node_id n) {
  uint32_t class = class_of(c, f, address);
  c->is_address[class] = true;
  if (c->held[class] != HIA_NONE && c->held[class] != type) {
    c->v->fn = hiaG_fn(c->v->g, c->v->fn_id = f);
    hiaG_defect(c->v, n, "values of two types are put at one address");
  }
  c->held[class] = type;
}

static void set_hole(classes *c, hia_fn_id f, hia_node_id n) {
  const hia_types *types = c->v->g->types;
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  const hia_node *node = &fn->nodes.data[n];
  const hia_type_entry *data =
      &types->entries.data[hiaG_type(fn, hiaG_in(fn, n, 0)) - HIA_FIRST_TYPE];
  const hia_ctor *ctor = &types->ctors.data[data->first + HIA_IMM_A(node->imm)];
  const hia_layout_word *layout_word =
      &types->layout_words.data[ctor->layout.first + HIA_IMM_B(node->imm)];
  if ((unsigned)layout_word->repr != (unsigned)hiaR_repr(layout_word->type)) {
    c->v->fn = hiaG_fn(c->v->g, c->v->fn_id = f);
    hiaG_defect(c->v, n, "what is put into this field does not fit");
  }
  set_held(c, f, node->outs, layout_word->type, n);
}

static void look_at(classes *c, hia_fn_id f, hia_node_id n) {
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  const hia_node *node = &fn->nodes.data[n];
  uint32_t first = 0; /* of the operands that are no addresses */
  switch (node->op) {
  case HIA_OP_DEST: c->is_address[class_of(c, f, node->outs)] = true; return;
  case HIA_OP_HOLE_AT: set_hole(c, f, n); return;
  case HIA_OP_PUT:
    set_held(c, f, hiaG_in(fn, n, 0), hiaG_type(fn, hiaG_in(fn, n, 1)), n);
    first = 1;
    break;
  case HIA_OP_TAKE:
    set_held(c, f, hiaG_in(fn, n, 0), hiaG_type(fn, node->outs), n);
    first = 1;
    break;
  default: break;
  }
  for (uint32_t i = first; i < node->n_ins; i++) set_strange(c, f, hiaG_in(fn, n, i), n);
  for (uint32_t i = 0; i < node->n_outs; i++) set_strange(c, f, node->outs + i, n);
}

/* What a host gives to a root, and gets from it. */
static void look_at_root(classes *c, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(c->v->g, f);
  hia_node_id yield = yield_of(c, f);
  for (uint32_t i = 0; i < fn->n_params; i++)
    set_strange(c, f, c->params[f][i], fn->values.data[c->params[f][i]].node);
  for (uint32_t i = 0; i < fn->n_results; i++) set_strange(c, f, hiaG_in(fn, yield, i), yield);
}

static bool is_live(const hia_fn *fn, hia_node_id n) {
  return !(fn->nodes.data[n].flags & HIA_NODE_DEAD);
}

/* The YIELD of a map stores what it yields. */
static bool stores(const hia_fn *fn, hia_node_id n) {
  return fn->nodes.data[n].op == HIA_OP_YIELD &&
         fn->regions.data[fn->nodes.data[n].region].kind == HIA_REGION_EACH;
}

void hiaG_verify_addresses(hia_verifier *v) {
  hia_graph *g = v->g;
  uint32_t n = 0;
  if (!hiaG_has_destinations(g)) return;
  hia_mark mark = hiaR_arena_mark(v->scratch);
  classes c = {.v = v, .first = HIA_NEW_ARRAY(v->scratch, uint32_t, g->fns.len + 1)};
  for (hia_fn_id f = 0; f < g->fns.len; n += hiaG_fn(g, f++)->values.len) c.first[f] = n;
  c.up = HIA_NEW_ARRAY(v->scratch, uint32_t, n + 1);
  c.strange_at = HIA_NEW_ARRAY(v->scratch, hia_node_id, n + 1);
  c.strange_in = HIA_NEW_ARRAY(v->scratch, hia_fn_id, n + 1);
  c.held = HIA_NEW_ARRAY(v->scratch, hia_type, n + 1);
  c.is_address = HIA_NEW_ARRAY(v->scratch, bool, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    c.up[i] = i;
    c.strange_in[i] = c.held[i] = HIA_NONE;
  }
  c.params = HIA_NEW_ARRAY(v->scratch, hia_value_id *, g->fns.len + 1);
  HIA_EACH_FN(g, f) find_params(&c, f);
  hia_u32vec others = {0}; /* functions and nodes that hand nothing on */
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id at = 0; at < fn->nodes.len; at++) {
      if (!is_live(fn, at) || (join_node(&c, f, at) && !stores(fn, at))) continue;
      hiaR_push(v->scratch, &others, f);
      hiaR_push(v->scratch, &others, at);
    }
    if (fn->slow_path != HIA_NONE) join_slow_path(&c, f);
  }
  for (uint32_t i = 0; i < others.len; i += 2) look_at(&c, others.data[i], others.data[i + 1]);
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->is_root) look_at_root(&c, f);
  for (uint32_t i = 0; i < n; i++) {
    if (c.up[i] != i || !c.is_address[i] || c.strange_in[i] == HIA_NONE) continue;
    v->fn = hiaG_fn(g, v->fn_id = c.strange_in[i]);
    hiaG_defect(v, c.strange_at[i],
                "an address is from dest or hole.at, and only put at or taken "
                "from");
  }
  v->fn = NULL;
  hiaR_arena_release(v->scratch, mark);
}
