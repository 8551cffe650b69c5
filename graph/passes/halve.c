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
 * It returns how many elements it has filled. The values from outside that the body uses are its
 * further parameters. Its calls are none of the source: they are in no backtrace, and are not
 * counted.
 *
 * A range of elements is not halved when it takes less time than a fork is worth; where an element
 * makes calls that may take long, each is worth one. One would split a range into as many parts as
 * there are workers. But elements may take different times, and the oldest fork, which a thief
 * takes, is half of what is left.
 *
 * Where elements are compared with the first (`alike`), a call for that one comes before, and its
 * result is where the others begin.
 *
 * Requires hiaG_effects, and runs it again; comes before fork. */
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

enum {
  GRAIN_CYCLES = 20000, /* 5 us; below that a job costs its owner what it saves */
  MAX_GRAIN = 4096,     /* elements; a job should not have more to copy than fits a cache */
  CALL_CYCLES = 30,     /* of a call that does not take long */
  MAX_WORDS = 64,       /* parameters: those of a fork */
};

typedef struct halving {
  hia_graph *g;
  hia_arena *scratch;
  hia_fn *fn;
  hia_subst subst;
  uint32_t n_maps;    /* of fn that were looked at */
  uint32_t *inside;   /* by region: the last of these maps that it was inside */
  hia_u32vec listed;  /* by value: the last of these maps that it was listed for */
  hia_u32vec outside; /* values from outside that the body of this map uses, but constants */
  hia_u32vec constants;
  uint64_t grain;
  hia_loc_id loc; /* of the calls: the map's, but without the calls that the map was inlined for.
                     The locations in the body have those */
} halving;

/* ---- which maps ---- */

static hia_node_id behind(const hia_fn *fn, hia_node_id map) { return hiaG_walk_over(fn, map); }

static void list_operands(halving *h, hia_node_id n) {
  for (uint32_t i = 0; i < h->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = hiaG_in(h->fn, n, i);
    const hia_node *def = hiaG_def(h->fn, v);
    while (h->listed.len <= v) hiaR_push(h->scratch, &h->listed, 0);
    if (h->inside[def->region] == h->n_maps || h->listed.data[v] == h->n_maps) continue;
    h->listed.data[v] = h->n_maps;
    hiaR_push(h->scratch, hiaG_is_constant(def->op) ? &h->constants : &h->outside, v);
  }
}

/* Returns the cycles of a node of the body without the nodes inside it; UINT64_MAX: it may take
 * long. */
static uint64_t cost_of(const halving *h, hia_node_id n) {
  const hia_node *node = &h->fn->nodes.data[n];
  if (hiaG_own_effects(h->g, h->fn, n) & HIA_E_DIVERGES) return UINT64_MAX;
  return node->op == HIA_OP_CALL ? CALL_CYCLES : hiaG_cost(h->fn, n);
}

/* Lists what the body of a map uses, and finds how many of its elements are worth a fork. False: it
 * stays a loop. */
static bool look(halving *h, hia_node_id map) {
  const hia_fn *fn = h->fn;
  hia_region_id each = fn->nodes.data[map].regions;
  uint64_t cycles = 0;
  if (hiaG_node_does(h->g, fn, map, HIA_E_IMPURE)) return false; /* in order */
  h->outside.len = h->constants.len = 0;
  h->inside[each] = ++h->n_maps;
  for (hia_node_id n = fn->regions.data[each].first, end = behind(fn, map); n != end;
       n = hiaG_walk_next(fn, n)) {
    hiaG_rewrite_ins(&h->subst, h->fn, n);
    hia_region_id inner = fn->nodes.data[n].regions;
    for (uint32_t i = 0; i < hiaG_n_regions(fn->nodes.data[n].op); i++)
      h->inside[inner + i] = h->n_maps;
    list_operands(h, n);
    uint64_t more = cost_of(h, n);
    cycles = more > UINT64_MAX - cycles ? UINT64_MAX : cycles + more;
  }
  h->grain = cycles == UINT64_MAX ? 1 : GRAIN_CYCLES / (cycles + 1) + 1;
  if (h->grain > MAX_GRAIN) h->grain = MAX_GRAIN;
  return h->outside.len + 3 <= MAX_WORDS;
}

/* ---- the function ---- */

enum { ARRAY, FROM, TO, REST }; /* its parameters */

static hia_value_id of_two(halving *h, hia_fn *fn, hia_region_id region, unsigned op,
                           hia_value_id a, hia_value_id b) {
  return hiaG_op(h->g, fn, region, op, (hia_value_id[]){a, b}, 2, HIA_NONE);
}

static hia_value_id number(halving *h, hia_fn *fn, hia_region_id region, uint64_t value) {
  return hiaG_const(h->g, fn, region, HIA_I64, value, HIA_NONE);
}

static void mark_call(const halving *h, hia_fn *fn, hia_node_id call) {
  fn->nodes.data[call].flags |= HIA_NODE_TAIL;
  fn->nodes.data[call].loc = h->loc;
}

/* Adds a call of the function for other elements. */
static hia_value_id add_call(halving *h, hia_fn *fn, hia_region_id region, hia_fn_id each,
                             hia_value_id from, hia_value_id to) {
  hia_value_id args[MAX_WORDS] = {[FROM] = from, [TO] = to};
  hia_type i64 = HIA_I64;
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (i != FROM && i != TO) args[i] = i;
  hia_node_id call =
      hiaG_add(h->g, fn, region, HIA_OP_CALL, args, fn->n_params, &i64, 1, each, HIA_NONE);
  mark_call(h, fn, call);
  return hiaG_out(fn, call, 0);
}

/* True if the elements are compared with the first. */
static bool compares(const hia_fn *fn, hia_node_id map) {
  hia_node_id n = fn->regions.data[fn->nodes.data[map].regions].first;
  while (n != HIA_NONE && fn->nodes.data[n].op != HIA_OP_ALIKE) n = fn->nodes.data[n].next;
  return n != HIA_NONE;
}

/* A copy of the map's body at the end of a region: fills element k. `copies` has what stands for
 * the values from outside. */
static void add_body(halving *h, hia_fn *fn, hia_region_id region, hia_node_id map, hia_value_id k,
                     hia_value_id *copies) {
  const hia_fn *from = h->fn;
  hia_region_id body = from->nodes.data[map].regions;
  hia_node_id yield = hiaG_yield_of(from, body);
  hia_u32vec ins = {0};
  copies[hiaG_out(from, from->regions.data[body].first, 0)] = k;
  hiaG_copy_region(h->g, fn, region, HIA_NONE, from, body, copies, HIA_NONE);
  hiaG_compare_shapes(h->g, fn, region, ARRAY);
  hiaR_push(h->scratch, &ins, ARRAY);
  hiaR_push(h->scratch, &ins, k);
  for (uint32_t i = 0; i < from->nodes.data[yield].n_ins; i++)
    hiaR_push(h->scratch, &ins, copies[hiaG_in(from, yield, i)]);
  hiaG_add(h->g, fn, region, HIA_OP_FILL, ins.data, ins.len, NULL, 0, 0, from->nodes.data[map].loc);
}

/* Returns the values from outside as a region of the function has them. */
static hia_value_id *copies_of_outside(halving *h, hia_fn *fn, hia_region_id region) {
  const hia_fn *from = h->fn;
  hia_value_id *copies = HIA_NEW_ARRAY(h->scratch, hia_value_id, from->values.len);
  memset(copies, 0xff, from->values.len * sizeof *copies);
  for (uint32_t i = 0; i < h->outside.len; i++) copies[h->outside.data[i]] = REST + i;
  for (uint32_t i = 0; i < h->constants.len; i++) {
    hia_value_id v = h->constants.data[i];
    hia_type type = hiaG_type(from, v);
    const hia_node *def = hiaG_def(from, v);
    hia_node_id copy = hiaG_add(h->g, fn, region, def->op, NULL, 0, &type, 1, def->imm, def->loc);
    copies[v] = hiaG_out(fn, copy, 0);
  }
  return copies;
}

/* The elements in order. Returns how many there are. */
static hia_value_id add_loop(halving *h, hia_fn *fn, hia_region_id region, hia_node_id map) {
  hia_graph *g = h->g;
  hia_type i64 = HIA_I64;
  hia_value_id *copies = copies_of_outside(h, fn, region), first = FROM;
  hia_loc_id loc = h->fn->nodes.data[map].loc;
  hia_node_id loop = hiaG_add(g, fn, region, HIA_OP_LOOP, &first, 1, &i64, 1, 0, loc);
  hia_region_id head = fn->nodes.data[loop].regions, round = head + 1;
  hia_value_id k = hiaG_out(fn, hiaG_add(g, fn, head, HIA_OP_ARG, NULL, 0, &i64, 1, 0, loc), 0);
  hiaG_yield(g, fn, head, (hia_value_id[]){of_two(h, fn, head, HIA_OP_LT, k, TO), k}, 2);
  add_body(h, fn, round, map, k, copies);
  hia_value_id next = of_two(h, fn, round, HIA_OP_ADD, k, number(h, fn, round, 1));
  hiaG_yield(g, fn, round, &next, 1);
  return of_two(h, fn, region, HIA_OP_SUB, hiaG_out(fn, loop, 0), FROM);
}

/* The element at FROM, if there is one. */
static hia_value_id add_one(halving *h, hia_fn *fn, hia_region_id region, hia_node_id map) {
  hia_type i64 = HIA_I64;
  hia_value_id is_there = of_two(h, fn, region, HIA_OP_LT, FROM, TO);
  hia_node_id branch = hiaG_add(h->g, fn, region, HIA_OP_IF, &is_there, 1, &i64, 1, 0, HIA_NONE);
  hia_region_id then = fn->nodes.data[branch].regions;
  add_body(h, fn, then, map, FROM, copies_of_outside(h, fn, then));
  for (uint32_t k = 0; k < 2; k++) {
    hia_value_id n = number(h, fn, then + k, 1 - k);
    hiaG_yield(h->g, fn, then + k, &n, 1);
  }
  return hiaG_out(fn, branch, 0);
}

static hia_fn_id make_each(halving *h, hia_node_id map) {
  hia_graph *g = h->g;
  uint32_t n_params = REST + h->outside.len;
  hia_type types[MAX_WORDS] = {hiaG_type(h->fn, hiaG_out(h->fn, map, 0)), HIA_I64, HIA_I64};
  hia_type i64 = HIA_I64;
  for (uint32_t i = 0; i < h->outside.len; i++)
    types[REST + i] = hiaG_type(h->fn, h->outside.data[i]);
  const char *suffix = hiaR_arena_printf(h->scratch, " each %u", h->n_maps);
  hia_fn_id id = hiaG_fn_new(g, hiaG_new_name(g, h->fn->name, suffix), h->fn->source, h->fn->loc,
                             types, n_params, &i64, 1);
  hia_fn *fn = hiaG_fn(g, id);
  fn->is_halving = true;
  hia_value_id n = of_two(h, fn, 0, HIA_OP_SUB, TO, FROM);
  hia_value_id is_small = of_two(h, fn, 0, HIA_OP_LE, n, number(h, fn, 0, h->grain));
  hia_node_id branch = hiaG_add(g, fn, 0, HIA_OP_IF, &is_small, 1, &i64, 1, 0, HIA_NONE);
  hia_region_id few = fn->nodes.data[branch].regions, many = few + 1;
  hia_value_id done = h->grain == 1 ? add_one(h, fn, few, map) : add_loop(h, fn, few, map);
  hiaG_yield(g, fn, few, &done, 1);
  hia_value_id half = of_two(h, fn, many, HIA_OP_SHR, n, number(h, fn, many, 1));
  hia_value_id mid = of_two(h, fn, many, HIA_OP_ADD, FROM, half);
  hia_value_id below = add_call(h, fn, many, id, FROM, mid);
  hia_value_id above = add_call(h, fn, many, id, mid, TO);
  done = of_two(h, fn, many, HIA_OP_ADD, below, above);
  hiaG_yield(g, fn, many, &done, 1);
  done = hiaG_out(fn, branch, 0);
  hiaG_yield(g, fn, 0, &done, 1);
  return id;
}

/* ---- the change ---- */

/* Calls the function before the map. */
static hia_value_id insert_call(halving *h, hia_node_id map, const hia_value_id *args,
                                hia_fn_id each) {
  hia_type i64 = HIA_I64;
  hia_node_id call = hiaG_insert(h->g, h->fn, map, HIA_OP_CALL, args, REST + h->outside.len, &i64,
                                 1, each, HIA_NONE);
  mark_call(h, h->fn, call);
  return hiaG_out(h->fn, call, 0);
}

/* Puts a call of the function in place of the map, and returns the node behind it. */
static hia_node_id replace(halving *h, hia_node_id map) {
  hia_graph *g = h->g;
  hia_fn *fn = h->fn;
  hia_loc_id loc = fn->nodes.data[map].loc;
  const hia_loc at = loc == HIA_NONE ? (hia_loc){0} : g->locs.data[loc];
  h->loc = loc == HIA_NONE ? HIA_NONE : hiaG_loc(g, at.line, at.col, at.fn, HIA_NONE);
  hia_fn_id each = make_each(h, map);
  hia_node_id next = behind(fn, map);
  hia_value_id n = hiaG_in(fn, map, 0), args[MAX_WORDS];
  hia_type type = hiaG_type(fn, hiaG_out(fn, map, 0)), i64 = HIA_I64;
  args[ARRAY] = hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_NEW, &n, 1, &type, 1, 0, loc), 0);
  args[FROM] = hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_CONST, NULL, 0, &i64, 1, 0, loc), 0);
  args[TO] = n;
  for (uint32_t i = 0; i < h->outside.len; i++) args[REST + i] = h->outside.data[i];
  bool is_compared = compares(fn, map);
  if (is_compared) { /* the others begin when the first is there */
    hia_node_id one = hiaG_insert(g, fn, map, HIA_OP_CONST, NULL, 0, &i64, 1, 1, loc);
    hia_value_id least[2] = {n, hiaG_out(fn, one, 0)};
    args[TO] = hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_MIN, least, 2, &i64, 1, 0, loc), 0);
    args[FROM] = insert_call(h, map, args, each);
    args[TO] = n;
  }
  hia_value_id done = insert_call(h, map, args, each);
  if (is_compared) {
    hia_value_id all[2] = {args[FROM], done};
    done = hiaG_out(fn, hiaG_insert(g, fn, map, HIA_OP_ADD, all, 2, &i64, 1, 0, loc), 0);
  }
  hia_value_id ins[] = {args[ARRAY], done};
  hia_node_id filled = hiaG_insert(g, fn, map, HIA_OP_FILLED, ins, 2, &type, 1, 0, loc);
  hiaG_replace(&h->subst, hiaG_out(fn, map, 0), hiaG_out(fn, filled, 0));
  hiaG_remove(fn, map);
  return next;
}

static bool halve_function(hia_graph *g, hia_fn *fn) {
  halving h = {.g = g, .scratch = &g->comp->scratch, .fn = fn, .subst = hiaG_subst(g, fn)};
  h.inside = HIA_NEW_ARRAY(h.scratch, uint32_t, fn->regions.len);
  bool is_changed = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&h.subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (fn->nodes.data[n].op != HIA_OP_MAP || !look(&h, n)) continue;
    next = replace(&h, n);
    is_changed = true;
  }
  if (is_changed) hiaG_compact(g, fn);
  return is_changed;
}

/* Maps in the body of a map are met again in the function that this has become. */
void hiaG_halve(hia_graph *g) {
  bool is_changed = false;
  HIA_EACH_FN(g, f) {
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    is_changed |= halve_function(g, hiaG_fn(g, f));
    hiaR_arena_release(&g->comp->scratch, mark);
  }
  if (is_changed) hiaG_effects(g);
}
