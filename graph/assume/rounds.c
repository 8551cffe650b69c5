/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Rounds of loops, one behind the other; and what else versions and profiles share. */
#include "graph/assume/rounds.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum {
  MAX_ROUNDS = 16,    /* of a loop that is unrolled, and */
  MAX_UNROLLED = 256, /* nodes that all of them become */
};

void hiaG_guard(hia_graph *g, hia_fn *fn, hia_region_id region, const hia_type *types, uint32_t n,
                uint32_t number, hia_loc_id loc) {
  hia_node_id node = hiaG_add(g, fn, region, HIA_OP_GUARD, NULL, 0, types, n, number, loc);
  hiaG_yield_outs(g, fn, region, node);
}

bool hiaG_decides(const hia_fn *fn, hia_value_id v) {
  HIA_EACH_NODE(fn, n) {
    const hia_op_info *op = &hiaR_ops[fn->nodes.data[n].op];
    unsigned number = fn->nodes.data[n].op;
    bool is_faster = op->rule == HIA_RULE_COMPARE || number == HIA_OP_IF ||
                     op->traits & HIA_T_RAISES_INT || number == HIA_OP_POW ||
                     op->traits & HIA_T_ALLOCATES;
    for (uint32_t i = 0; is_faster && i < fn->nodes.data[n].n_ins; i++)
      if (hiaG_in(fn, n, i) == v) return true;
  }
  return false;
}

/* ---- loops ---- */

bool hiaG_is_short(const hia_fn *fn, hia_node_id loop, uint64_t rounds) {
  hia_node_id end = hiaG_walk_over(fn, loop);
  uint64_t n_nodes = 0;
  if (rounds > MAX_ROUNDS) return false;
  for (hia_node_id n = hiaG_walk_next(fn, loop); n != end; n = hiaG_walk_next(fn, n)) n_nodes++;
  return (rounds + 1) * n_nodes <= MAX_UNROLLED;
}

typedef struct unrolling {
  hia_graph *g;
  hia_fn *fn;
  hia_arena *scratch;
  hia_node_id loop;
  uint32_t guard;        /* or NONE */
  const hia_type *types; /* of its results */
  uint32_t n, rounds;
  hia_value_id *map; /* by value, as hiaG_copy_region has it */
  uint32_t n_map;
} unrolling;

static hia_value_id *new_values(const unrolling *u, uint32_t n) {
  return HIA_NEW_ARRAY(u->scratch, hia_value_id, (size_t)n + 1);
}

/* What a YIELD of the loop yields, of the copy. */
static hia_value_id *mapped(const unrolling *u, hia_node_id yield) {
  uint32_t n = u->fn->nodes.data[yield].n_ins;
  hia_value_id *out = new_values(u, n);
  for (uint32_t i = 0; i < n; i++) {
    hia_value_id v = hiaG_in(u->fn, yield, i);
    out[i] = v < u->n_map && u->map[v] != HIA_NONE ? u->map[v] : v;
  }
  return out;
}

static void map_variables(unrolling *u, const hia_value_id *variables) {
  hia_region_id head = u->fn->nodes.data[u->loop].regions;
  HIA_EACH_ARG(u->fn, head, arg)
    u->map[hiaG_out(u->fn, arg, 0)] = variables[HIA_IMM_A(u->fn->nodes.data[arg].imm)];
}

/* Copies the loop to the end of a region; it begins with these values. */
static hia_node_id copy_loop(unrolling *u, const hia_value_id *variables, hia_region_id region) {
  hia_graph *g = u->g;
  hia_fn *fn = u->fn;
  const hia_node old = fn->nodes.data[u->loop];
  hia_node_id loop =
      hiaG_add(g, fn, region, HIA_OP_LOOP, variables, old.n_ins, u->types, u->n, old.imm, old.loc);
  fn->nodes.data[loop].flags = old.flags;
  hia_region_id head = fn->nodes.data[loop].regions;
  HIA_EACH_ARG(fn, old.regions, arg) {
    hia_value_id v = hiaG_out(fn, arg, 0);
    hia_type type = hiaG_type(fn, v);
    hia_node_id copy = hiaG_add(g, fn, head, HIA_OP_ARG, NULL, 0, &type, 1, fn->nodes.data[arg].imm,
                                fn->nodes.data[arg].loc);
    u->map[v] = hiaG_out(fn, copy, 0);
  }
  for (uint32_t r = 0; r < 2; r++) {
    hiaG_copy_region(g, fn, head + r, HIA_NONE, fn, old.regions + r, u->map, HIA_NONE);
    hia_node_id yield = hiaG_yield_of(fn, old.regions + r);
    hiaG_yield(g, fn, head + r, mapped(u, yield), fn->nodes.data[yield].n_ins);
  }
  return loop;
}

/* Ends an arm that is not taken if there are as many rounds as was said. */
static void end_early(unrolling *u, hia_region_id arm, const hia_value_id *exits) {
  if (u->guard == HIA_NONE)
    hiaG_yield(u->g, u->fn, arm, exits, u->n);
  else
    hiaG_guard(u->g, u->fn, arm, u->types, u->n, u->guard, u->fn->nodes.data[u->loop].loc);
}

/* Writes the head, with these values of the variables, and what follows: before node `at`, or at
 * the end of the region. Returns the node whose results are those of the loop. */
static hia_node_id unroll(unrolling *u, const hia_value_id *variables, uint32_t round,
                          hia_region_id region, hia_node_id at) {
  hia_graph *g = u->g;
  hia_fn *fn = u->fn;
  hia_region_id head = fn->nodes.data[u->loop].regions;
  hia_loc_id loc = fn->nodes.data[u->loop].loc;
  if (round == u->rounds && u->guard == HIA_NONE) return copy_loop(u, variables, region);
  map_variables(u, variables);
  hiaG_copy_region(g, fn, region, at, fn, head, u->map, HIA_NONE);
  const hia_value_id *exits = mapped(u, hiaG_yield_of(fn, head));
  hia_node_id branch = at != HIA_NONE
                           ? hiaG_insert(g, fn, at, HIA_OP_IF, exits, 1, u->types, u->n, 0, loc)
                           : hiaG_add(g, fn, region, HIA_OP_IF, exits, 1, u->types, u->n, 0, loc);
  hia_region_id then = fn->nodes.data[branch].regions;
  if (round == u->rounds) {
    hiaG_guard(g, fn, then, u->types, u->n, u->guard, loc);
    hiaG_yield(g, fn, then + 1, exits + 1, u->n);
    return branch;
  }
  hiaG_copy_region(g, fn, then, HIA_NONE, fn, head + 1, u->map, HIA_NONE);
  const hia_value_id *next = mapped(u, hiaG_yield_of(fn, head + 1));
  hia_node_id inner = unroll(u, next, round + 1, then, HIA_NONE);
  hiaG_yield_outs(g, fn, then, inner);
  end_early(u, then + 1, exits + 1);
  return branch;
}

void hiaG_unroll_rounds(hia_graph *g, hia_fn *fn, hia_node_id loop, uint32_t rounds,
                        uint32_t guard) {
  if (!rounds && guard == HIA_NONE) return;
  hia_arena *scratch = &g->comp->scratch;
  const hia_node node = fn->nodes.data[loop];
  hia_type *types = HIA_NEW_ARRAY(scratch, hia_type, node.n_outs + 1);
  for (uint32_t i = 0; i < node.n_outs; i++) types[i] = hiaG_type(fn, node.outs + i);
  unrolling u = {.g = g,
                 .fn = fn,
                 .scratch = scratch,
                 .loop = loop,
                 .guard = guard,
                 .types = types,
                 .n = node.n_outs,
                 .rounds = rounds,
                 .map = HIA_NEW_ARRAY(scratch, hia_value_id, fn->values.len),
                 .n_map = fn->values.len};
  memset(u.map, 0xff, u.n_map * sizeof *u.map);
  hia_value_id *first = new_values(&u, node.n_ins);
  for (uint32_t i = 0; i < node.n_ins; i++) first[i] = hiaG_in(fn, loop, i);
  hia_node_id branch = unroll(&u, first, 0, node.region, loop);
  hia_value_id *map = HIA_NEW_ARRAY(scratch, hia_value_id, fn->values.len);
  memset(map, 0xff, fn->values.len * sizeof *map);
  for (uint32_t i = 0; i < node.n_outs; i++) map[node.outs + i] = hiaG_out(fn, branch, i);
  hiaG_substitute(fn, map);
  hiaG_remove(fn, loop);
}
