/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Which values are split: the choice that costs least.
 *
 * Each value that can be split is whole or split. An operation costs more if its result is whole: a
 * call of the runtime, or memory. Between an operand and a result of which one is whole and the
 * other split, elements are read, or a tensor is put together, as often as the place is reached. So
 * the costs are those of values and of edges between them. One would find the minimum, which is a
 * cut of that graph. But its parts are small, and most are split as a whole or not at all: so all
 * that can be split begins split, values become whole as long as that costs less, and then each
 * part that is connected by what is split is compared with being whole.
 *
 * Some values can only be split together: the result of a loop and what leaves it, the results of a
 * function and those of its calls. They are one *class*. */
#include "graph/ir/walk.h"
#include "graph/scalars/scalars.h"

/* Costs are in quarters of a nanosecond, roughly. */
enum {
  COST_LIFTED = 160, /* a result that is whole */
  COST_FUSED = 40,   /* of an operation in the middle of others */
  COST_PRODUCT = 240,
  COST_VIEW = 160,
  COST_CHECK = 4,
  COST_PUT = 200, /* a tensor that is put together; */
  COST_PUT_MATRIX = 320,
  COST_ELEMENT = 6, /* an element that is read */
  COST_VALUE = 1,   /* an element of a variable, or of a result of a branch */
  LOOP_ROUNDS = 8,
  MAX_DEPTH = 5,
  SWEEPS = 4,
};

typedef struct edge {
  uint32_t from, to;  /* classes: of an operand, of a result */
  uint64_t put, read; /* if the operand alone, or the result alone, is split */
} edge;

typedef struct choosing {
  hia_scalars *s;
  hia_arena *arena;
  uint32_t *class_of; /* by number: union-find */
  bool *can;          /* by class, and before classes are found by number */
  bool *is_split;     /* by class */
  bool *is_reason;    /* by class: there is an operation worth being split */
  uint64_t *whole, *split, *nodes;
  HIA_VEC(edge) edges;
  uint32_t *first; /* by class: of its edges in `order` */
  uint32_t *order;
  /* of the function that is looked at */
  hia_fn_id f;
  const hia_fn *fn;
  uint64_t *weights; /* by region: how often it runs */
  uint32_t *n_uses;  /* by value */
  uint32_t *put_in;  /* by value: the last region + 1 in which it must be whole */
} choosing;

/* ---- classes ---- */

static uint32_t class_of(choosing *c, uint32_t i) {
  while (c->class_of[i] != i) i = c->class_of[i] = c->class_of[c->class_of[i]];
  return i;
}

static void unite(choosing *c, uint32_t a, uint32_t b) {
  a = class_of(c, a);
  b = class_of(c, b);
  if (a == b) return;
  c->class_of[b] = a;
  c->can[a] = c->can[a] && c->can[b];
}

static uint32_t value_number(const choosing *c, hia_fn_id f, hia_value_id v) {
  return c->s->fns[f].values + v;
}
static uint32_t number_of(const choosing *c, hia_value_id v) { return value_number(c, c->f, v); }
static uint32_t result_number(const choosing *c, hia_fn_id f, uint32_t i) {
  return c->s->fns[f].results + i;
}

/* ---- what can be split ---- */

static bool is_small(const choosing *c, hia_value_id v, hia_dims *shape) {
  return hiaG_scalars_shape(c->s, c->f, v, shape) && shape->rank;
}

/* True if the value has the shape of the other one, whatever it is if it is undefined. */
static bool is_like(const choosing *c, hia_value_id v, const hia_dims *shape) {
  hia_dims its;
  if (hiaG_scalars_is_unset(c->fn, v)) return true;
  return is_small(c, v, &its) && its.rank == shape->rank &&
         memcmp(its.dims, shape->dims, shape->rank * sizeof *its.dims) == 0;
}

static bool can_variable(const choosing *c, hia_node_id arg, const hia_dims *shape) {
  const hia_node *node = &c->fn->nodes.data[arg];
  if (node->region == 0) return !c->s->fns[c->f].is_closed;
  const hia_region *region = &c->fn->regions.data[node->region];
  if (region->kind != HIA_REGION_HEAD) return false;
  uint32_t i = HIA_IMM_A(node->imm);
  return is_like(c, hiaG_in(c->fn, region->owner, i), shape) &&
         is_like(c, hiaG_in(c->fn, hiaG_yield_of(c->fn, node->region + 1), i), shape);
}

static bool can_result(const choosing *c, hia_node_id n, uint32_t i, const hia_dims *shape) {
  const hia_node *node = &c->fn->nodes.data[n];
  hia_node_id yields[2] = {hiaG_yield_of(c->fn, node->regions),
                           hiaG_yield_of(c->fn, node->regions + 1)};
  if (node->op == HIA_OP_LOOP) return is_like(c, hiaG_in(c->fn, yields[0], i + 1), shape);
  return is_like(c, hiaG_in(c->fn, yields[0], i), shape) &&
         is_like(c, hiaG_in(c->fn, yields[1], i), shape);
}

static bool can_call(const choosing *c, hia_node_id n, uint32_t i, const hia_dims *shape) {
  hia_fn_id callee = hiaG_callee(&c->fn->nodes.data[n]);
  const hia_scalars_fn *facts = &c->s->fns[callee];
  const hia_dims *given = &facts->given[i];
  return !facts->is_closed && facts->is_given[i] && given->rank == shape->rank &&
         memcmp(given->dims, shape->dims, shape->rank * sizeof *given->dims) == 0;
}

static void look_for(choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  hia_scalars_work work;
  hia_dims shape;
  for (uint32_t i = 0; i < node->n_outs; i++) {
    hia_value_id v = node->outs + i;
    bool *can = &c->can[number_of(c, v)];
    if (!is_small(c, v, &shape)) {
      *can = node->n_outs == 1 && hiaG_is_scalar(hiaG_type(c->fn, v)) &&
             hiaG_is_operation(c->fn, n) && hiaG_scalars_can(c->s, c->f, n, &work);
      continue;
    }
    switch (node->op) {
    case HIA_OP_ARG: *can = can_variable(c, n, &shape); break;
    case HIA_OP_IF:
    case HIA_OP_LOOP: *can = can_result(c, n, i, &shape); break;
    case HIA_OP_CALL:
    case HIA_OP_JOIN: *can = can_call(c, n, i, &shape); break;
    default: *can = hiaG_scalars_can(c->s, c->f, n, &work);
    }
  }
}

/* Finds the classes: what is split together or not at all. */
static void tie(choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  for (uint32_t i = 0; i < node->n_outs; i++) {
    hia_value_id v = node->outs + i;
    if (hiaG_is_scalar(hiaG_type(c->fn, v))) continue;
    if (node->op == HIA_OP_LOOP) {
      hia_value_id last = hiaG_in(c->fn, hiaG_yield_of(c->fn, node->regions), i + 1);
      unite(c, number_of(c, v), number_of(c, last));
    }
    if (node->op == HIA_OP_CALL || node->op == HIA_OP_JOIN)
      unite(c, result_number(c, hiaG_callee(node), i), number_of(c, v));
  }
}

/* A function that would have too many parameters or results keeps all of them. */
static void limit_words(choosing *c, const hia_fn *fn, hia_fn_id f) {
  uint32_t n_params = 0, n_results = 0;
  hia_dims shape;
  HIA_EACH_ARG(fn, 0, arg) {
    bool is_known = hiaG_scalars_shape(c->s, f, fn->nodes.data[arg].outs, &shape);
    n_params += is_known ? hiaG_scalars_count(&shape) : 1;
  }
  for (uint32_t i = 0; i < fn->n_results; i++)
    n_results += c->s->fns[f].is_given[i] ? hiaG_scalars_count(&c->s->fns[f].given[i]) : 1;
  if (n_params <= HIA_SCALARS_WORDS && n_results <= HIA_SCALARS_WORDS) return;
  c->s->fns[f].is_closed = true;
}

/* ---- costs ---- */

static void find_weights(choosing *c) {
  const hia_fn *fn = c->fn;
  c->weights = HIA_NEW_ARRAY(c->arena, uint64_t, fn->regions.len);
  uint32_t *depth = HIA_NEW_ARRAY(c->arena, uint32_t, fn->regions.len);
  depth[0] = fn->effects & HIA_E_RECURSIVE ? 1 : 0;
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    for (uint32_t k = 0; k < hiaG_n_regions(node->op); k++)
      depth[node->regions + k] = depth[node->region] + (node->op == HIA_OP_LOOP);
  }
  for (uint32_t r = 0; r < fn->regions.len; r++) {
    c->weights[r] = 1;
    for (uint32_t k = 0; k < depth[r] && k < MAX_DEPTH; k++) c->weights[r] *= LOOP_ROUNDS;
  }
}

hia_node_id hiaG_scalars_place(const hia_scalars *s, hia_fn_id f, hia_value_id v, hia_node_id n) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  const hia_scalars_region *regions = s->fns[f].regions;
  uint32_t home = regions[hiaG_def(fn, v)->region].depth;
  hia_node_id place = n;
  for (hia_region_id r = regions[fn->nodes.data[n].region].loop;
       r != HIA_NONE && regions[r].depth > home; r = regions[fn->regions.data[r].parent].loop)
    place = fn->regions.data[r].owner;
  return place;
}

static uint64_t cost_of_put(const choosing *c, hia_value_id v, hia_node_id n) {
  hia_node_id place = hiaG_scalars_place(c->s, c->f, v, n);
  bool is_vector = hiaG_rank(c->s->g->types, hiaG_type(c->fn, v)) == 1;
  return c->weights[c->fn->nodes.data[place].region] * (is_vector ? COST_PUT : COST_PUT_MATRIX);
}

/* Elements are read where the tensor is made. */
static uint64_t cost_of_read(const choosing *c, hia_value_id v) {
  hia_dims shape;
  if (hiaG_def(c->fn, v)->op == HIA_OP_LITERAL || hiaG_scalars_is_unset(c->fn, v)) return 0;
  if (!is_small(c, v, &shape)) return 0;
  return c->weights[hiaG_def(c->fn, v)->region] * hiaG_scalars_count(&shape) * COST_ELEMENT;
}

/* Operand v of node n goes into what has number `to`. */
static void add_edge(choosing *c, hia_value_id v, hia_node_id n, uint32_t to, bool is_read) {
  uint32_t from = class_of(c, number_of(c, v));
  to = class_of(c, to);
  uint64_t read = is_read ? cost_of_read(c, v) : 0;
  if (!c->can[from]) {
    c->split[to] += read;
    return;
  }
  if (from == to) return;
  edge e = {from, to, cost_of_put(c, v, n), read};
  hiaR_push(c->arena, &c->edges, e);
}

/* Node n needs the tensor. */
static void add_need(choosing *c, hia_value_id v, hia_node_id n) {
  uint32_t from = class_of(c, number_of(c, v));
  hia_region_id region = c->fn->nodes.data[hiaG_scalars_place(c->s, c->f, v, n)].region;
  if (!c->can[from] || c->put_in[v] == region + 1) return;
  c->put_in[v] = region + 1;
  c->split[from] += cost_of_put(c, v, n);
}

static void connect(choosing *c, hia_value_id v, hia_node_id n, uint32_t to) {
  if (!hiaG_is_tensor(c->s->g, c->fn, v)) return;
  if (c->can[class_of(c, to)])
    add_edge(c, v, n, to, true);
  else
    add_need(c, v, n);
}

/* True if an operation that comes next goes over the same elements. */
static bool is_fused(const choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  if (c->n_uses[node->outs] != 1 || node->next == HIA_NONE) return false;
  const hia_node *next = &c->fn->nodes.data[node->next];
  for (uint32_t i = 0; i < next->n_ins; i++)
    if (hiaG_in(c->fn, node->next, i) == node->outs)
      return hiaR_ops[next->op].shape == HIA_SHAPE_ELEMENTWISE;
  return false;
}

/* What a whole result of a node costs, besides what its elements do. */
static uint64_t cost_of_whole(const choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  if (hiaR_ops[node->op].shape == HIA_SHAPE_ELEMENTWISE)
    return is_fused(c, n) ? COST_FUSED : COST_LIFTED;
  switch (node->op) {
  case HIA_OP_DIM: return 1;
  case HIA_OP_EXPECT: return COST_CHECK;
  case HIA_OP_ROW: return hiaG_is_scalar(hiaG_type(c->fn, node->outs)) ? COST_CHECK : COST_VIEW;
  case HIA_OP_PART:
  case HIA_OP_RESHAPE: return COST_VIEW;
  case HIA_OP_PRODUCT:
  case HIA_OP_PRODUCT_AT:
  case HIA_OP_PRODUCT_BT: return COST_PRODUCT;
  default: return COST_LIFTED;
  }
}

/* False for what shows a part of a tensor, or reads one without computing with others. */
static bool is_reason(const choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_DIM:
  case HIA_OP_EXPECT:
  case HIA_OP_ROW:
  case HIA_OP_PART:
  case HIA_OP_RESHAPE: return false;
  case HIA_OP_PRODUCT: return true;
  default: return !hiaG_is_scalar(hiaG_type(c->fn, node->outs));
  }
}

static void cost_operation(choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  uint32_t own = class_of(c, number_of(c, node->outs));
  hia_scalars_work work;
  if (!c->can[own] || !hiaG_scalars_can(c->s, c->f, n, &work)) {
    for (uint32_t i = 0; i < node->n_ins; i++)
      if (hiaG_is_tensor(c->s->g, c->fn, hiaG_in(c->fn, n, i)))
        add_need(c, hiaG_in(c->fn, n, i), n);
    return;
  }
  uint64_t weight = c->weights[node->region];
  c->whole[own] += weight * cost_of_whole(c, n);
  if (hiaR_ops[node->op].shape != HIA_SHAPE_ELEMENTWISE) c->split[own] += weight * work.cycles / 2;
  c->nodes[own] += work.nodes;
  c->is_reason[own] |= is_reason(c, n);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, n, i);
    if (!hiaG_is_tensor(c->s->g, c->fn, v)) continue;
    if (hiaG_scalars_reads_whole(c->s, c->f, n, i))
      add_need(c, v, n);
    else
      add_edge(c, v, n, number_of(c, node->outs), !hiaG_scalars_reads_shape(c->fn, n, i));
  }
}

/* What a region hands on. */
static void cost_yield(choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  const hia_region *region = &c->fn->regions.data[node->region];
  hia_node_id owner = region->owner;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, n, i);
    if (!hiaG_is_tensor(c->s->g, c->fn, v)) continue;
    uint32_t to = HIA_NONE;
    switch ((hia_region_kind)region->kind) {
    case HIA_REGION_BODY: to = result_number(c, c->f, i); break;
    case HIA_REGION_THEN:
    case HIA_REGION_ELSE: to = number_of(c, hiaG_out(c->fn, owner, i)); break;
    case HIA_REGION_HEAD: to = number_of(c, hiaG_out(c->fn, owner, i - 1)); break;
    case HIA_REGION_ROUND:
      HIA_EACH_ARG(c->fn, node->region - 1, arg)
        if (HIA_IMM_A(c->fn->nodes.data[arg].imm) == i)
          to = number_of(c, c->fn->nodes.data[arg].outs);
      break;
    case HIA_REGION_EACH: break;
    }
    if (to == HIA_NONE)
      add_need(c, v, n);
    else
      connect(c, v, n, to);
  }
}

static void cost_node(choosing *c, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_YIELD: cost_yield(c, n); return;
  case HIA_OP_IF: return;
  case HIA_OP_LOOP:
    HIA_EACH_ARG(c->fn, node->regions, arg)
      connect(c, hiaG_in(c->fn, n, HIA_IMM_A(c->fn->nodes.data[arg].imm)), n,
              number_of(c, c->fn->nodes.data[arg].outs));
    return;
  case HIA_OP_CALL:
  case HIA_OP_FORK:
  case HIA_OP_JOIN: {
    hia_fn_id callee = hiaG_callee(node);
    const hia_fn *to = hiaG_fn(c->s->g, callee);
    HIA_EACH_ARG(to, 0, arg)
      if (HIA_IMM_A(to->nodes.data[arg].imm) < node->n_ins)
        connect(c, hiaG_in(c->fn, n, HIA_IMM_A(to->nodes.data[arg].imm)), n,
                value_number(c, callee, to->nodes.data[arg].outs));
    return;
  }
  default: break;
  }
  if (node->n_outs == 1) {
    cost_operation(c, n);
    return;
  }
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (hiaG_is_tensor(c->s->g, c->fn, hiaG_in(c->fn, n, i))) add_need(c, hiaG_in(c->fn, n, i), n);
}

static void begin_function(choosing *c, hia_fn_id f) {
  c->f = f;
  c->fn = hiaG_fn(c->s->g, f);
}

static void cost_function(choosing *c, hia_fn_id f) {
  begin_function(c, f);
  find_weights(c);
  c->n_uses = HIA_NEW_ARRAY(c->arena, uint32_t, c->fn->values.len + 1);
  c->put_in = HIA_NEW_ARRAY(c->arena, uint32_t, c->fn->values.len + 1);
  HIA_EACH_NODE(c->fn, n)
    for (uint32_t i = 0; i < c->fn->nodes.data[n].n_ins; i++) c->n_uses[hiaG_in(c->fn, n, i)]++;
  HIA_EACH_NODE(c->fn, n) cost_node(c, n);
}

/* ---- the choice ---- */

static void sort_edges(choosing *c) {
  uint32_t n = c->s->n_values, total = 0;
  c->first = HIA_NEW_ARRAY(c->arena, uint32_t, n + 2);
  c->order = HIA_NEW_ARRAY(c->arena, uint32_t, 2 * (size_t)c->edges.len + 1);
  for (uint32_t i = 0; i < c->edges.len; i++) {
    c->first[c->edges.data[i].from + 1]++;
    c->first[c->edges.data[i].to + 1]++;
  }
  for (uint32_t i = 0; i <= n; i++) {
    total += c->first[i];
    c->first[i] = total;
  }
  uint32_t *at = HIA_NEW_ARRAY(c->arena, uint32_t, n + 1);
  memcpy(at, c->first, n * sizeof *at);
  for (uint32_t i = 0; i < c->edges.len; i++) {
    c->order[at[c->edges.data[i].from]++] = i;
    c->order[at[c->edges.data[i].to]++] = i;
  }
}

static uint64_t cost_of_edge(const choosing *c, const edge *e) {
  bool from = c->is_split[e->from], to = c->is_split[e->to];
  return from == to ? 0 : from ? e->put : e->read;
}

static uint64_t cost_of(const choosing *c, uint32_t class) {
  uint64_t cost = c->is_split[class] ? c->split[class] : c->whole[class];
  for (uint32_t k = c->first[class]; k < c->first[class + 1]; k++)
    cost += cost_of_edge(c, &c->edges.data[c->order[k]]);
  return cost;
}

/* Values become whole where that costs no more. */
static bool sweep(choosing *c) {
  bool is_changed = false;
  for (uint32_t i = c->s->n_values; i-- > 0;) {
    if (!c->is_split[i]) continue;
    uint64_t split = cost_of(c, i);
    c->is_split[i] = false;
    if (cost_of(c, i) <= split)
      is_changed = true;
    else
      c->is_split[i] = true;
  }
  return is_changed;
}

/* Compares each part that is connected by edges between split values with being whole. One that
 * only reads tensors stays whole: what looks at the result of a network, say. */
static void compare_parts(choosing *c) {
  uint32_t n = c->s->n_values;
  bool *is_seen = HIA_NEW_ARRAY(c->arena, bool, n + 1);
  for (uint32_t start = 0; start < n; start++) {
    if (!c->is_split[start] || is_seen[start]) continue;
    hia_u32vec part = {0};
    uint64_t split = 0, whole = 0;
    bool has_reason = false;
    hiaR_push(c->arena, &part, start);
    is_seen[start] = true;
    for (uint32_t i = 0; i < part.len; i++) {
      uint32_t class = part.data[i];
      split += cost_of(c, class);
      whole += c->whole[class];
      has_reason |= c->is_reason[class];
      for (uint32_t k = c->first[class]; k < c->first[class + 1]; k++) {
        const edge *e = &c->edges.data[c->order[k]];
        uint32_t other = e->from == class ? e->to : e->from;
        if (!c->is_split[other] || is_seen[other]) continue;
        is_seen[other] = true;
        hiaR_push(c->arena, &part, other);
      }
    }
    if (has_reason && split < whole) continue;
    for (uint32_t i = 0; i < part.len; i++) c->is_split[part.data[i]] = false;
  }
}

/* A function that would grow by too many nodes keeps what it computes. */
static void limit_growth(choosing *c) {
  HIA_EACH_FN_BELOW(c->s->g, c->s->n, f) {
    const hia_fn *fn = hiaG_fn(c->s->g, f);
    uint64_t n = 0;
    for (hia_value_id v = 0; v < fn->values.len; v++) {
      uint32_t number = value_number(c, f, v);
      if (c->class_of[number] == number && c->is_split[number]) n += c->nodes[number];
    }
    for (hia_value_id v = 0; n > HIA_SCALARS_GROWTH && v < fn->values.len; v++)
      c->is_split[class_of(c, value_number(c, f, v))] = false;
  }
}

static void find_candidates(choosing *c) {
  hia_scalars *s = c->s;
  HIA_EACH_FN_BELOW(s->g, s->n, f) limit_words(c, hiaG_fn(s->g, f), f);
  HIA_EACH_FN_BELOW(s->g, s->n, f) {
    begin_function(c, f);
    for (uint32_t i = 0; i < c->fn->n_results; i++)
      c->can[result_number(c, f, i)] = !s->fns[f].is_closed && s->fns[f].is_given[i];
    if (s->fns[f].is_left) continue;
    HIA_EACH_NODE(c->fn, n) look_for(c, n);
  }
  HIA_EACH_FN_BELOW(s->g, s->n, f) {
    begin_function(c, f);
    HIA_EACH_NODE(c->fn, n) tie(c, n);
  }
}

/* The parameters that are split: rewriting a function gives its values other numbers. */
static void keep_params(const hia_scalars *s, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(s->g, f);
  hia_scalars_fn *facts = &s->fns[f];
  facts->splits = HIA_NEW_ARRAY(s->arena, bool, fn->n_params + 1);
  facts->counts = HIA_NEW_ARRAY(s->arena, uint32_t, fn->n_params + 1);
  HIA_EACH_ARG(fn, 0, arg) {
    hia_value_id v = fn->nodes.data[arg].outs;
    hia_dims shape;
    if (!hiaG_is_split(s, f, v) || !hiaG_scalars_shape(s, f, v, &shape)) continue;
    facts->splits[fn->nodes.data[arg].imm] = facts->splits_any = true;
    facts->counts[fn->nodes.data[arg].imm] = hiaG_scalars_count(&shape);
  }
}

bool hiaG_scalars_choose(hia_scalars *s) {
  choosing c = {.s = s, .arena = s->arena};
  bool is_any = false;
  c.class_of = HIA_NEW_ARRAY(c.arena, uint32_t, s->n_values + 1);
  c.can = HIA_NEW_ARRAY(c.arena, bool, s->n_values + 1);
  c.is_split = HIA_NEW_ARRAY(c.arena, bool, s->n_values + 1);
  c.is_reason = HIA_NEW_ARRAY(c.arena, bool, s->n_values + 1);
  c.whole = HIA_NEW_ARRAY(c.arena, uint64_t, s->n_values + 1);
  c.split = HIA_NEW_ARRAY(c.arena, uint64_t, s->n_values + 1);
  c.nodes = HIA_NEW_ARRAY(c.arena, uint64_t, s->n_values + 1);
  for (uint32_t i = 0; i < s->n_values; i++) c.class_of[i] = i;
  find_candidates(&c);
  for (uint32_t i = 0; i < s->n_values; i++) {
    c.is_split[i] = class_of(&c, i) == i && c.can[i];
    is_any |= c.is_split[i];
  }
  if (!is_any) return false;
  HIA_EACH_FN_BELOW(s->g, s->n, f) {
    if (!s->fns[f].is_left) cost_function(&c, f);
  }
  sort_edges(&c);
  for (unsigned i = 0; i < SWEEPS && sweep(&c); i++) {
  }
  compare_parts(&c);
  limit_growth(&c);
  s->is_split = HIA_NEW_ARRAY(s->arena, bool, s->n_values + 1);
  is_any = false;
  for (uint32_t i = 0; i < s->n_values; i++) is_any |= s->is_split[i] = c.is_split[class_of(&c, i)];
  HIA_EACH_FN_BELOW(s->g, s->n, f) keep_params(s, f);
  return is_any;
}
