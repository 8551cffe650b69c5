/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/helpers/random.h"
#include "graph/ir/build.h"
#include <stdio.h>

uint64_t random_next(random_source *r) { /* splitmix64 */
  uint64_t z = r->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
uint32_t random_below(random_source *r, uint32_t n) { return (uint32_t)(random_next(r) >> 33) % n; }
bool random_chance(random_source *r, uint32_t percent) { return random_below(r, 100) < percent; }

hia_word random_word(random_source *r, hia_dtype type) {
  static const double floats[] = {0.0, -0.0, 1.0, -1.0, 2.5, 1e30, -3.75, 0.0 / 0.0, 1.0 / 0.0};
  static const int64_t ints[] = {0,  1,   -1,        2,         3,         7,
                                 -5, 100, INT32_MAX, INT32_MIN, INT64_MIN, 1LL << 40};
  switch (type) {
  case HIA_BOOL: return random_below(r, 2);
  case HIA_I32: return hiaR_from_i32((int32_t)ints[random_below(r, random_chance(r, 80) ? 8 : 12)]);
  case HIA_I64: return hiaR_from_i64(ints[random_below(r, random_chance(r, 80) ? 8 : 12)]);
  case HIA_F32: return hiaR_from_f32((float)floats[random_below(r, 9)]);
  default: return hiaR_from_f64(floats[random_below(r, 9)]);
  }
}

enum { MAX_FNS = 6, MAX_PARAMS = 4, MAX_RESULTS = 3 };

typedef struct gen {
  random_source r;
  hia_graph *g;
  hia_fn *fn;
  hia_fn_id fn_id;
  uint32_t n_fns, line;
  hia_value_id fuel, less_fuel; /* less_fuel: NONE where no recursive call is allowed */
  uint32_t calls_left, nodes_left, depth;
  HIA_VEC(hia_value_id) scope; /* visible values */
} gen;

static uint32_t below(gen *g, uint32_t n) { return random_below(&g->r, n); }
static bool chance(gen *g, uint32_t percent) { return random_chance(&g->r, percent); }

static hia_loc_id loc(gen *g) {
  return hiaG_loc(g->g, ++g->line, 1 + below(g, 80), g->fn->source, HIA_NONE);
}

static hia_node_id add(gen *g, hia_region_id region, unsigned op, const hia_value_id *ins,
                       uint32_t n, const hia_dtype *types, uint32_t n_outs, uint64_t imm) {
  hia_node_id id = hiaG_add(g->g, g->fn, region, op, ins, n, types, n_outs, imm, loc(g));
  if (g->nodes_left) g->nodes_left--;
  return id;
}

static void see(gen *g, hia_node_id n) {
  for (uint32_t i = 0; i < g->fn->nodes.data[n].n_outs; i++)
    hiaR_push(&g->g->comp->arena, &g->scope, hiaG_out(g->fn, n, i));
}

/* A visible value of a type, or a new constant. */
static hia_value_id pick(gen *g, hia_region_id region, hia_dtype type) {
  for (int tries = 0; tries < 12 && g->scope.len && !chance(g, 12); tries++) {
    uint32_t near = g->scope.len > 8 && chance(g, 60) ? 8 : g->scope.len;
    hia_value_id v = g->scope.data[g->scope.len - 1 - below(g, near)];
    if (hiaG_type(g->fn, v) == type) return v;
  }
  hia_node_id n = add(g, region, HIA_OP_CONST, NULL, 0, &type, 1, random_word(&g->r, type));
  see(g, n);
  return hiaG_out(g->fn, n, 0);
}

static hia_dtype any_type(gen *g) {
  static const hia_dtype types[] = {HIA_I32, HIA_I32, HIA_BOOL, HIA_BOOL,
                                    HIA_I64, HIA_F32, HIA_F64};
  return types[below(g, HIA_LEN(types))];
}

static void statement(gen *g, hia_region_id region);

static void statements(gen *g, hia_region_id region, uint32_t n) {
  while (n-- && g->nodes_left) statement(g, region);
}

static void primitive(gen *g, hia_region_id region) {
  static const unsigned ops[] = {
      HIA_OP_ADD,   HIA_OP_ADD,      HIA_OP_SUB,   HIA_OP_SUB,   HIA_OP_MUL,  HIA_OP_DIV,
      HIA_OP_REM,   HIA_OP_NEG,      HIA_OP_ABS,   HIA_OP_RELU,  HIA_OP_MIN,  HIA_OP_MAX,
      HIA_OP_EQ,    HIA_OP_EQ,       HIA_OP_NE,    HIA_OP_LT,    HIA_OP_LE,   HIA_OP_GT,
      HIA_OP_GE,    HIA_OP_SELECT,   HIA_OP_BAND,  HIA_OP_BOR,   HIA_OP_BXOR, HIA_OP_BNOT,
      HIA_OP_BNOT,  HIA_OP_SHL,      HIA_OP_SHR,   HIA_OP_FLOOR, HIA_OP_SQRT, HIA_OP_CAST,
      HIA_OP_CAST,  HIA_OP_SHRU,     HIA_OP_CLZ,   HIA_OP_CTZ,   HIA_OP_FMA,  HIA_OP_FMA,
      HIA_OP_ISNAN, HIA_OP_POPCOUNT, HIA_OP_ISINF, HIA_OP_HYPOT};
  unsigned op = ops[below(g, HIA_LEN(ops))];
  hia_dtype type = any_type(g), out;
  switch ((hia_rule)hiaR_ops[op].rule) {
  case HIA_RULE_NUM:
    if (type == HIA_BOOL) type = HIA_I32;
    break;
  case HIA_RULE_INT:
  case HIA_RULE_SHIFT: type = chance(g, 70) ? HIA_I32 : HIA_I64; break;
  case HIA_RULE_BITS:
    if (type == HIA_F32 || type == HIA_F64) type = HIA_BOOL;
    break;
  case HIA_RULE_FLOAT:
  case HIA_RULE_CLASSIFY: type = chance(g, 50) ? HIA_F32 : HIA_F64; break;
  default: break;
  }
  out = hiaR_rule_result((hia_rule)hiaR_ops[op].rule, type);
  hia_value_id ins[3];
  uint64_t imm = 0;
  uint32_t n = (uint32_t)hiaR_ops[op].n_ins;
  if (op == HIA_OP_CAST) {
    hia_dtype from = any_type(g);
    ins[0] = pick(g, region, from);
    imm = from;
  } else {
    for (uint32_t i = 0; i < n; i++)
      ins[i] = pick(g, region, op == HIA_OP_SELECT && i == 0 ? HIA_BOOL : type);
    if (n >= 2 && op != HIA_OP_SELECT && chance(g, 6)) ins[1] = ins[0];
    if (hiaR_ops[op].rule == HIA_RULE_SHIFT && chance(g, 40))
      ins[1] = pick(g, region, type == HIA_I32 ? HIA_I64 : HIA_I32);
  }
  see(g, add(g, region, op, ins, n, &out, 1, imm));
}

static uint32_t result_types(gen *g, hia_dtype *types) {
  uint32_t n = below(g, 3);
  for (uint32_t i = 0; i < n; i++) types[i] = any_type(g);
  return n;
}

static void yield(gen *g, hia_region_id region, const hia_dtype *types, uint32_t n,
                  hia_value_id first) {
  hia_value_id ins[8];
  uint32_t k = 0;
  if (first != HIA_NONE) ins[k++] = first;
  for (uint32_t i = 0; i < n; i++) ins[k++] = pick(g, region, types[i]);
  hiaG_yield(g->g, g->fn, region, ins, k);
}

static void fail(gen *g, hia_region_id region) {
  hia_value_id code = pick(g, region, chance(g, 70) ? HIA_I32 : HIA_I64);
  hia_dtype types[2] = {any_type(g), any_type(g)};
  see(g, add(g, region, HIA_OP_FAIL, &code, 1, types, below(g, 3), 0));
}

static void branch(gen *g, hia_region_id region) {
  hia_value_id c = pick(g, region, HIA_BOOL);
  hia_dtype types[3];
  uint32_t n = result_types(g, types);
  hia_node_id node = add(g, region, HIA_OP_IF, &c, 1, types, n, 0);
  hia_region_id arm = g->fn->nodes.data[node].regions;
  g->depth++;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t mark = g->scope.len;
    statements(g, arm + i, below(g, 4));
    if (chance(g, 4)) fail(g, arm + i);
    yield(g, arm + i, types, n, HIA_NONE);
    g->scope.len = mark;
  }
  g->depth--;
  see(g, node);
}

static void count(gen *g, hia_region_id region, uint64_t what) {
  if (g->g->is_counted) add(g, region, HIA_OP_COUNT, NULL, 0, NULL, 0, what);
}

/* A counter decreases to 0 from a small number; other variables change at random. */
static void loop(gen *g, hia_region_id region) {
  hia_dtype types[3], exits[3], i32 = HIA_I32;
  uint32_t n = 1 + below(g, 3), n_exits = result_types(g, exits);
  hia_value_id ins[3];
  types[0] = HIA_I32;
  hia_node_id start = add(g, region, HIA_OP_CONST, NULL, 0, &i32, 1, below(g, 4));
  ins[0] = hiaG_out(g->fn, start, 0);
  for (uint32_t i = 1; i < n; i++) ins[i] = pick(g, region, types[i] = any_type(g));
  hia_node_id node = add(g, region, HIA_OP_LOOP, ins, n, exits, n_exits, 0);
  hia_region_id head = g->fn->nodes.data[node].regions;
  uint32_t mark = g->scope.len;
  hia_value_id counter = HIA_NONE;
  g->depth++;
  for (uint32_t i = 0; i < n; i++) {
    hia_node_id arg = hiaG_add(g->g, g->fn, head, HIA_OP_ARG, NULL, 0, &types[i], 1, i, HIA_NONE);
    if (i == 0) counter = hiaG_out(g->fn, arg, 0);
    see(g, arg);
  }
  statements(g, head, below(g, 3));
  hia_value_id zero = hiaG_const(g->g, g->fn, head, HIA_I32, 0, loc(g));
  hia_value_id compare[2] = {counter, zero};
  hia_value_id cond = hiaG_op(g->g, g->fn, head, HIA_OP_GT, compare, 2, loc(g));
  yield(g, head, exits, n_exits, cond);
  count(g, head + 1, 1);
  statements(g, head + 1, below(g, 4));
  hia_value_id one = hiaG_const(g->g, g->fn, head + 1, HIA_I32, 1, loc(g));
  hia_value_id sub[2] = {counter, one};
  hia_value_id next = hiaG_op(g->g, g->fn, head + 1, HIA_OP_SUB, sub, 2, loc(g));
  yield(g, head + 1, types + 1, n - 1, next);
  g->depth--;
  g->scope.len = mark;
  see(g, node);
}

static hia_node_id call(gen *g, hia_region_id region, hia_fn_id callee, hia_value_id fuel) {
  const hia_fn *to = hiaG_fn(g->g, callee);
  hia_value_id ins[MAX_PARAMS];
  ins[0] = fuel;
  for (uint32_t i = 1; i < to->n_params; i++) ins[i] = pick(g, region, to->params[i]);
  count(g, region, 0);
  return add(g, region, HIA_OP_CALL, ins, to->n_params, to->results, to->n_results, callee);
}

static void some_call(gen *g, hia_region_id region) {
  if (!g->calls_left) return;
  g->calls_left--;
  if (g->less_fuel != HIA_NONE && chance(g, 50)) {
    see(g, call(g, region, below(g, g->n_fns), g->less_fuel));
  } else if (g->fn_id) {
    hia_dtype i32 = HIA_I32;
    hia_node_id n = add(g, region, HIA_OP_CONST, NULL, 0, &i32, 1, below(g, 3));
    see(g, call(g, region, below(g, g->fn_id), hiaG_out(g->fn, n, 0)));
  }
}

static void statement(gen *g, hia_region_id region) {
  uint32_t what = below(g, 100);
  if (g->depth > 3 || what < 70)
    primitive(g, region);
  else if (what < 82)
    branch(g, region);
  else if (what < 88)
    loop(g, region);
  else if (what < 99)
    some_call(g, region);
  else
    fail(g, region);
}

static bool same_results(const hia_fn *a, const hia_fn *b) {
  return a->n_results == b->n_results &&
         memcmp(a->results, b->results, a->n_results * sizeof *a->results) == 0;
}

/* A region in tail position: it ends with an exit, a tail call, or a branch of such regions. */
static void tail_region(gen *g, hia_region_id region, uint32_t depth) {
  hia_fn *fn = g->fn;
  uint32_t mark = g->scope.len;
  statements(g, region, below(g, 4));
  uint32_t what = below(g, 100);
  if (what < 40 && depth < 4) {
    hia_value_id c = pick(g, region, HIA_BOOL);
    hia_node_id node = add(g, region, HIA_OP_IF, &c, 1, fn->results, fn->n_results, 0);
    hia_region_id arm = fn->nodes.data[node].regions;
    tail_region(g, arm, depth + 1);
    tail_region(g, arm + 1, depth + 1);
    hia_value_id outs[MAX_RESULTS];
    for (uint32_t i = 0; i < fn->n_results; i++) outs[i] = hiaG_out(fn, node, i);
    hiaG_yield(g->g, fn, region, outs, fn->n_results);
  } else if (what < 75 && g->less_fuel != HIA_NONE) {
    hia_fn_id callee = below(g, g->n_fns);
    while (!same_results(hiaG_fn(g->g, callee), fn)) callee = below(g, g->n_fns);
    hia_node_id node = call(g, region, callee, g->less_fuel);
    if (chance(g, 90)) fn->nodes.data[node].flags |= HIA_NODE_TAIL;
    hia_value_id outs[MAX_RESULTS];
    for (uint32_t i = 0; i < fn->n_results; i++) outs[i] = hiaG_out(fn, node, i);
    hiaG_yield(g->g, fn, region, outs, fn->n_results);
  } else {
    yield(g, region, fn->results, fn->n_results, HIA_NONE);
  }
  g->scope.len = mark;
}

/* Leaves: no recursion. Others: `if fuel < 1 then ... else less = fuel - 1; ...`. */
static void body(gen *g) {
  hia_fn *fn = g->fn;
  g->scope.len = 0;
  g->nodes_left = 10 + below(g, 60);
  g->calls_left = 1 + below(g, 3);
  g->less_fuel = HIA_NONE;
  for (uint32_t i = 0; i < fn->n_params; i++) see(g, i);
  if (chance(g, 30)) {
    tail_region(g, 0, 0);
    return;
  }
  statements(g, 0, below(g, 3));
  hia_value_id one = hiaG_const(g->g, fn, 0, HIA_I32, 1, loc(g));
  hia_value_id compare[2] = {0, one};
  bool is_mirrored = chance(g, 50);
  hia_value_id c = hiaG_op(g->g, fn, 0, is_mirrored ? HIA_OP_GE : HIA_OP_LT, compare, 2, loc(g));
  hia_node_id node = add(g, 0, HIA_OP_IF, &c, 1, fn->results, fn->n_results, 0);
  hia_region_id arm = fn->nodes.data[node].regions;
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t mark = g->scope.len;
    g->less_fuel = HIA_NONE;
    if ((i == 0) == is_mirrored) {
      hia_value_id by = hiaG_const(g->g, fn, arm + i, HIA_I32, 1 + below(g, 2), loc(g));
      hia_value_id ins[2] = {0, by};
      g->less_fuel = hiaG_op(g->g, fn, arm + i, HIA_OP_SUB, ins, 2, loc(g));
    }
    tail_region(g, arm + i, 0);
    g->scope.len = mark;
  }
  hia_value_id outs[MAX_RESULTS];
  for (uint32_t i = 0; i < fn->n_results; i++) outs[i] = hiaG_out(fn, node, i);
  hiaG_yield(g->g, fn, 0, outs, fn->n_results);
}

hia_graph *random_graph(hia_comp *comp, hia_types *types, uint64_t seed) {
  gen g = {.r = {seed * 2654435761u + 1}, .g = hiaG_new(comp, types, "random")};
  g.n_fns = 1 + below(&g, MAX_FNS);
  g.g->is_counted = chance(&g, 40);
  hia_dtype results[2][MAX_RESULTS];
  uint32_t n_results[2];
  for (uint32_t i = 0; i < 2; i++) {
    n_results[i] = i == 0 ? 1 + below(&g, MAX_RESULTS) : below(&g, MAX_RESULTS + 1);
    for (uint32_t k = 0; k < n_results[i]; k++) results[i][k] = any_type(&g);
  }
  for (uint32_t f = 0; f < g.n_fns; f++) {
    char name[16];
    snprintf(name, sizeof name, "f%u", f);
    hia_dtype params[MAX_PARAMS] = {HIA_I32};
    uint32_t n_params = 1 + below(&g, MAX_PARAMS),
             kind = f == g.n_fns - 1 || chance(&g, 70) ? 0 : 1;
    for (uint32_t i = 1; i < n_params; i++) params[i] = any_type(&g);
    uint32_t source = hiaG_name(g.g, name);
    hia_fn_id id = hiaG_fn_new(g.g, name, source, hiaG_loc(g.g, f + 1, 1, source, HIA_NONE), params,
                               n_params, results[kind], n_results[kind]);
    hia_fn *fn = hiaG_fn(g.g, id);
    fn->is_root = fn->n_results && (f == g.n_fns - 1 || chance(&g, 40));
    if (!fn->is_root) continue;
    fn->n_sig_params = n_params;
    fn->sig_params = HIA_NEW_ARRAY(&comp->arena, hia_type, n_params);
    hia_type parts[MAX_RESULTS];
    for (uint32_t i = 0; i < n_params; i++) fn->sig_params[i] = params[i];
    for (uint32_t i = 0; i < fn->n_results; i++) parts[i] = fn->results[i];
    fn->sig_result = fn->n_results == 1 ? parts[0] : hiaG_tuple(types, parts, fn->n_results);
  }
  for (hia_fn_id f = 0; f < g.n_fns; f++) {
    g.fn = hiaG_fn(g.g, f);
    g.fn_id = f;
    g.line = 1000 * (f + 1);
    body(&g);
  }
  return g.g;
}
