/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* halve: maps whose elements other workers may compute. The elements of a map do not depend on each
 * other. So a function of its own computes those from one index up to another: many of them in two
 * halves, of which pass fork forks one, and few of them in a loop.
 *
 *     %a = map %n {          %new = new %n
 *       %k = arg 0           %done = call "f each" %new, 0, %n
 *       yield %x             %a = filled %new, %done
 *     }
 *                            fn "f each" (%new, %from, %to) {
 *                              if %to - %from <= grain {
 *                                for each %k from %from up to %to: fill %new, %k, %x
 *                              } else {
 *                                %mid = %from + (%to - %from) / 2
 *                                %low = call "f each" %new, %from, %mid
 *                                %low + (call "f each" %new, %mid, %to)
 *                              }
 *                            }
 *
 * ranges.c has the rest.
 *
 * A range of elements is not halved when it takes less time than a fork is worth; where an element
 * makes calls that may take long, each is worth one. One would split a range into as many parts as
 * there are workers. But elements may take different times, and the oldest fork, which a thief
 * takes, is half of what is left.
 *
 * Ranges whose iterations may be frozen (graph/batch/wait/each.c) are halved as well, but into
 * parts of many iterations, since a worker computes one part after the other if no thief comes:
 * then waves should still have as many rows as a block. Such a part is a call of the freezing
 * function:
 *
 *     %done = call "f iteration" %new, 0, %n   ->   %done = call "f iteration shared" %new, 0, %n
 *
 * Requires hiaG_effects, and runs it again; comes before fork. */
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"
#include "graph/passes/ranges.h"

enum {
  GRAIN_CYCLES = 20000, /* 5 us; below that a job costs its owner what it saves */
  MAX_GRAIN = 4096,     /* elements; a job should not have more to copy than fits a cache */
  CALL_CYCLES = 30,     /* of a call that does not take long */
  LEAST_PART = 128,     /* iterations of a part: rows of several blocks (native/batch/rows.h) */
};

/* Returns the cycles of a node of the body without the nodes inside it; UINT64_MAX: it may take
 * long. */
static uint64_t cost_of(const hia_ranges *h, hia_node_id n) {
  const hia_node *node = &h->fn->nodes.data[n];
  if (hiaG_own_effects(h->g, h->fn, n) & HIA_E_DIVERGES) return UINT64_MAX;
  return node->op == HIA_OP_CALL ? CALL_CYCLES : hiaG_cost(h->fn, n);
}

static void add_cost(hia_ranges *h, hia_node_id n) {
  uint64_t *cycles = h->user, more = cost_of(h, n);
  *cycles = more > UINT64_MAX - *cycles ? UINT64_MAX : *cycles + more;
}

/* The element at FROM, if there is one. */
static hia_value_id add_one(hia_ranges *h, hia_fn *fn, hia_region_id region, hia_node_id map) {
  hia_type i64 = HIA_I64;
  hia_value_id is_there = hiaG_range_op(h, fn, region, HIA_OP_LT, HIA_RANGE_FROM, HIA_RANGE_TO);
  hia_node_id branch = hiaG_add(h->g, fn, region, HIA_OP_IF, &is_there, 1, &i64, 1, 0, HIA_NONE);
  hia_region_id then = fn->nodes.data[branch].regions;
  hiaG_range_element(h, fn, then, map, HIA_RANGE_FROM);
  for (uint32_t k = 0; k < 2; k++) {
    hia_value_id n = hiaG_range_number(h, fn, then + k, 1 - k);
    hiaG_yield(h->g, fn, then + k, &n, 1);
  }
  return hiaG_out(fn, branch, 0);
}

/* Returns how many elements are worth a fork. */
static uint64_t grain_of(uint64_t cycles) {
  uint64_t grain = cycles == UINT64_MAX ? 1 : GRAIN_CYCLES / (cycles + 1) + 1;
  return grain > MAX_GRAIN ? MAX_GRAIN : grain;
}

/* Fills `many`, which computes a range in two halves. */
static void add_halves(hia_ranges *h, hia_fn *fn, hia_region_id many, hia_fn_id id,
                       hia_value_id n) {
  hia_value_id half = hiaG_range_op(h, fn, many, HIA_OP_SHR, n, hiaG_range_number(h, fn, many, 1));
  hia_value_id mid = hiaG_range_op(h, fn, many, HIA_OP_ADD, HIA_RANGE_FROM, half);
  hia_value_id below = hiaG_range_call(h, fn, many, id, HIA_RANGE_FROM, mid);
  hia_value_id above = hiaG_range_call(h, fn, many, id, mid, HIA_RANGE_TO);
  hia_value_id done = hiaG_range_op(h, fn, many, HIA_OP_ADD, below, above);
  hiaG_yield(h->g, fn, many, &done, 1);
}

static hia_fn_id make_each(hia_ranges *h, hia_node_id map) {
  hia_graph *g = h->g;
  hia_type i64 = HIA_I64;
  uint64_t *cycles = h->user;
  *cycles = 0;
  if (!hiaG_range_look(h, map, add_cost)) return HIA_NONE;
  uint64_t grain = grain_of(*cycles);
  hia_fn_id id = hiaG_range_function(h, map, "each");
  hia_fn *fn = hiaG_fn(g, id);
  hia_value_id n = hiaG_range_op(h, fn, 0, HIA_OP_SUB, HIA_RANGE_TO, HIA_RANGE_FROM);
  hia_value_id is_small = hiaG_range_op(h, fn, 0, HIA_OP_LE, n, hiaG_range_number(h, fn, 0, grain));
  hia_node_id branch = hiaG_add(g, fn, 0, HIA_OP_IF, &is_small, 1, &i64, 1, 0, HIA_NONE);
  hia_region_id few = fn->nodes.data[branch].regions, many = few + 1;
  hia_value_id done = grain == 1 ? add_one(h, fn, few, map) : hiaG_range_loop(h, fn, few, map);
  hiaG_yield(g, fn, few, &done, 1);
  add_halves(h, fn, many, id, n);
  done = hiaG_out(fn, branch, 0);
  hiaG_yield(g, fn, 0, &done, 1);
  return id;
}

/* ---- iterations that may be frozen ---- */

/* True if there may be enough iterations for two parts. */
static bool may_be_many(const hia_fn *fn, hia_node_id call) {
  hia_word from, to;
  return !hiaG_is_const(fn, hiaG_in(fn, call, HIA_RANGE_FROM), &from) ||
         !hiaG_is_const(fn, hiaG_in(fn, call, HIA_RANGE_TO), &to) ||
         hiaR_to_i64(to) - hiaR_to_i64(from) >= 2 * LEAST_PART;
}

/* Returns a function that calls `freezing` for parts of its range. */
static hia_fn_id make_shared(hia_ranges *h, hia_fn_id freezing) {
  hia_graph *g = h->g;
  const hia_fn *of = hiaG_fn(g, freezing);
  hia_type i64 = HIA_I64;
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, of->name, " shared"), of->source, of->loc,
                             of->params, of->n_params, &i64, 1);
  hia_fn *fn = hiaG_fn(g, id);
  fn->is_halving = true;
  hia_value_id n = hiaG_range_op(h, fn, 0, HIA_OP_SUB, HIA_RANGE_TO, HIA_RANGE_FROM);
  hia_value_id is_small =
      hiaG_range_op(h, fn, 0, HIA_OP_LT, n, hiaG_range_number(h, fn, 0, 2 * LEAST_PART));
  hia_node_id branch = hiaG_add(g, fn, 0, HIA_OP_IF, &is_small, 1, &i64, 1, 0, HIA_NONE);
  hia_region_id few = fn->nodes.data[branch].regions;
  hia_value_id done = hiaG_range_call(h, fn, few, freezing, HIA_RANGE_FROM, HIA_RANGE_TO);
  hiaG_yield(g, fn, few, &done, 1);
  add_halves(h, fn, few + 1, id, n);
  done = hiaG_out(fn, branch, 0);
  hiaG_yield(g, fn, 0, &done, 1);
  return id;
}

/* Returns true if the graph has changed. */
static bool share_iterations(hia_graph *g) {
  uint32_t n = g->fns.len;
  hia_arena *scratch = &g->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_fn_id *shared = HIA_NEW_ARRAY(scratch, hia_fn_id, n + 1);
  bool is_changed = false;
  memset(shared, 0xff, n * sizeof *shared);
  HIA_EACH_FN_BELOW(g, n, f) {
    HIA_EACH_NODE(hiaG_fn(g, f), call) {
      const hia_node *node = &hiaG_fn(g, f)->nodes.data[call];
      if (node->op != HIA_OP_CALL || hiaG_callee(node) >= n) continue;
      hia_fn_id callee = hiaG_callee(node);
      if (!hiaG_fn(g, callee)->is_freezing || !may_be_many(hiaG_fn(g, f), call)) continue;
      hia_ranges h = {.g = g, .scratch = scratch, .loc = node->loc};
      if (shared[callee] == HIA_NONE) shared[callee] = make_shared(&h, callee);
      hiaG_fn(g, f)->nodes.data[call].imm = shared[callee];
      is_changed = true;
    }
  }
  hiaR_arena_release(scratch, mark);
  return is_changed;
}

void hiaG_halve(hia_graph *g) {
  uint64_t cycles;
  bool is_changed = share_iterations(g);
  hiaG_ranges(g, make_each, &cycles);
  if (is_changed) hiaG_effects(g);
}
