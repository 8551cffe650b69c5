/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What waits side by side, as the calls for the children of a node, becomes a map, whose iterations
 * `each` makes to be frozen:
 *
 *     %b = ..                       %a = map 2 {
 *     %x = if %b {                    %k = arg 0
 *       call f ..                     %p = eq %k, 0
 *     } else { .. }                   %y = if %p {
 *     %c = ..                           .. %b, and the first branch ..
 *     %z = if %c {            ->      } else {
 *       call f ..                       .. %c, and the second branch ..
 *     } else { .. }                   }
 *                                     yield %y
 *                                   }
 *                                   %x = at %a, 0
 *                                   %z = at %a, 1
 *
 * A *sibling* is a node of a region, a call, a branch or a loop, in which rows are noted and waited
 * for. What stands behind it goes with it, if that needs it and not the others, up to a node whose
 * results are all that others need: so `norm(encode(left)) + norm(encode(right))` has two siblings.
 * What stands between two siblings else goes with the second one, if it needs nothing of the first,
 * and nothing but the second needs it. What only computes, and what notes rows, goes before both,
 * and before what the first one waits for: so decisions of all of them are known together. The
 * order of all that can fail stays as it was. The siblings have results of the same types.
 *
 * One would fork the calls, as for several threads. But a fork is a call, and here what decides
 * whether there is one waits as well.
 *
 * A call in tail position stays where it is: it takes the place of its caller's frame. */
#include "graph/analysis/effects.h"
#include "graph/batch/wait/waiting.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"

enum { MAX_SIBLINGS = 16 };

typedef struct beside {
  hia_graph *g;
  hia_arena *scratch;
  hia_waits_fns *waiting;
  hia_fn *fn;
  hia_region_id region;
  uint32_t n_nodes;   /* of the function, before there is a map */
  uint32_t *at;       /* by node of the region: its place, from 1 on; 0: it is of another region */
  uint32_t *last_use; /* by value of such a node: the place of the node that needs it last */
  bool *is_early;     /* by node: it goes before all siblings */
  hia_node_id siblings[MAX_SIBLINGS];
  hia_node_id
      ends[MAX_SIBLINGS]; /* the last node that goes with each: its results are the sibling's */
  uint32_t n, begin, end; /* places of the first sibling and of the last end */
} beside;

/* ---- places ---- */

/* Calls `visit` for a node and all nodes inside of it. */
static void each_inside(beside *b, hia_node_id n, void (*visit)(beside *b, hia_node_id n, void *to),
                        void *to) {
  hia_node_id end = hiaG_walk_over(b->fn, n);
  for (hia_node_id in = n; in != end; in = hiaG_walk_next(b->fn, in)) {
    visit(b, in, to);
    if (in == n && b->fn->nodes.data[n].regions == HIA_NONE) break;
  }
}

static void note_uses(beside *b, hia_node_id n, void *to) {
  const uint32_t *place = to;
  for (uint32_t i = 0; i < b->fn->nodes.data[n].n_ins; i++)
    b->last_use[hiaG_in(b->fn, n, i)] = *place;
}

static void find_places(beside *b) {
  uint32_t place = 0;
  b->n_nodes = b->fn->nodes.len;
  b->at = HIA_NEW_ARRAY(b->scratch, uint32_t, b->fn->nodes.len + 1);
  b->last_use = HIA_NEW_ARRAY(b->scratch, uint32_t, b->fn->values.len + 1);
  b->is_early = HIA_NEW_ARRAY(b->scratch, bool, b->fn->nodes.len + 1);
  HIA_EACH_IN(b->fn, b->region, n) {
    b->at[n] = ++place;
    each_inside(b, n, note_uses, &place);
  }
}

/* ---- siblings ---- */

static void add_waiting(beside *b, hia_node_id n, void *to) {
  hiaG_add_waiting(b->waiting, &b->fn->nodes.data[n], to);
}

static void find_tail(beside *b, hia_node_id n, void *to) {
  bool *has_tail = to;
  const hia_node *node = &b->fn->nodes.data[n];
  *has_tail |= node->op == HIA_OP_CALL && node->flags & HIA_NODE_TAIL;
}

static bool has_tail(beside *b, hia_node_id n) {
  bool has = false;
  each_inside(b, n, find_tail, &has);
  return has;
}

/* True if the results of a node may be elements of an array. */
static bool are_elements(const beside *b, hia_node_id n) {
  const hia_node *node = &b->fn->nodes.data[n];
  if (!node->n_outs || node->n_outs > HIA_MAX_LAYOUT_WORDS) return false;
  for (uint32_t i = 0; i < node->n_outs; i++)
    if (hiaG_is_sum(b->g->types, hiaG_type(b->fn, node->outs + i))) return false;
  return true;
}

/* True if the node may be a sibling. */
static bool is_sibling(beside *b, hia_node_id n) {
  const hia_node *node = &b->fn->nodes.data[n];
  hia_waits w = {false, false};
  if (node->op != HIA_OP_CALL && node->op != HIA_OP_IF && node->op != HIA_OP_LOOP) return false;
  each_inside(b, n, add_waiting, &w);
  return w.defers && w.forces && are_elements(b, n) && !has_tail(b, n);
}

/* True if the effects of a node keep it in its place. */
static bool must_stay(const beside *b, hia_node_id n) {
  bool is_counted = hiaG_node_does(b->g, b->fn, n, HIA_E_COUNTS);
  return b->fn->nodes.data[n].op == HIA_OP_ELEMENT || b->fn->nodes.data[n].op == HIA_OP_YIELD ||
         hiaG_node_does(b->g, b->fn, n, HIA_E_IMPURE) ||
         (is_counted && hiaG_node_does(b->g, b->fn, n, HIA_E_RAISES));
}

static bool are_alike(const beside *b, hia_node_id n, hia_node_id m) {
  const hia_node *x = &b->fn->nodes.data[n], *y = &b->fn->nodes.data[m];
  if (x->n_outs != y->n_outs) return false;
  for (uint32_t i = 0; i < x->n_outs; i++)
    if (hiaG_type(b->fn, x->outs + i) != hiaG_type(b->fn, y->outs + i)) return false;
  return true;
}

typedef struct needing {
  uint32_t from, to; /* places */
  bool needs;        /* something that stays there */
} needing;

static void find_needs(beside *b, hia_node_id n, void *to) {
  needing *x = to;
  for (uint32_t i = 0; i < b->fn->nodes.data[n].n_ins; i++) {
    hia_node_id def = b->fn->values.data[hiaG_in(b->fn, n, i)].node;
    uint32_t place = b->at[def];
    x->needs |= place >= x->from && place <= x->to && !b->is_early[def];
  }
}

/* True if a node needs what stands from one place up to another. */
static bool needs(beside *b, hia_node_id n, uint32_t from, uint32_t to) {
  needing x = {from, to, false};
  each_inside(b, n, find_needs, &x);
  return x.needs;
}

static uint32_t last_use(const beside *b, hia_node_id n) {
  const hia_node *node = &b->fn->nodes.data[n];
  uint32_t last = 0;
  for (uint32_t i = 0; i < node->n_outs; i++)
    if (b->last_use[node->outs + i] > last) last = b->last_use[node->outs + i];
  return last;
}

/* Neither a segment can fail nor what makes a late scalar of one. Other nodes that take memory are
 * not computed earlier than where they stand. */
static void find_lasting(beside *b, hia_node_id n, void *to) {
  bool *is_lasting = to;
  const hia_node *node = &b->fn->nodes.data[n];
  unsigned op = node->op;
  if (op == HIA_OP_DEFER || (op == HIA_OP_STACK && node->n_ins == 1)) return;
  *is_lasting |= op == HIA_OP_FORCE || op == HIA_OP_CALL || op == HIA_OP_LOOP || op == HIA_OP_MAP ||
                 hiaG_own_effects(b->g, b->fn, n) & ~(HIA_E_READS | HIA_E_STRUCTURE);
}

/* True if the node only computes, or notes rows: it may go before the first sibling if its operands
 * do. */
static bool can_be_early(beside *b, hia_node_id n, uint32_t place) {
  bool is_lasting = false;
  if (needs(b, n, b->begin, place)) return false;
  each_inside(b, n, find_lasting, &is_lasting);
  return !is_lasting;
}

/* Says why a node that waits is no sibling of the last one, unless it needs that. */
static bool refuse(beside *b, hia_node_id sibling, const char *why) {
  hiaG_report_no_siblings(b->waiting, b->g, b->fn, b->siblings[b->n - 1], sibling, why);
  return false;
}

/* True if what stands between the last end and a sibling can go with that, or before all. */
static bool fits_between(beside *b, hia_node_id sibling) {
  uint32_t place = b->at[sibling];
  hia_node_id n = b->fn->nodes.data[b->ends[b->n - 1]].next;
  for (; n != b->fn->nodes.data[sibling].next; n = b->fn->nodes.data[n].next) {
    if (must_stay(b, n)) return refuse(b, sibling, "what stands between them has effects");
    if (n != sibling && can_be_early(b, n, place))
      b->is_early[n] = true;
    else if (needs(b, n, b->begin, b->end) || (n != sibling && last_use(b, n) > place))
      return false;
  }
  return true;
}

static void set_end(beside *b, hia_node_id n) {
  b->ends[b->n - 1] = n;
  b->end = b->at[n];
}

/* Lets what stands behind the last end, before a place, go with the last sibling, as far as
 * possible: what needs it and no other one, up to a node whose results are all that is needed
 * behind that. */
static void grow(beside *b, uint32_t before) {
  hia_node_id end = b->ends[b->n - 1], n = b->fn->nodes.data[end].next;
  uint32_t begin = b->at[b->siblings[b->n - 1]], others = b->n > 1 ? b->at[b->ends[b->n - 2]] : 0;
  uint32_t last = last_use(b, end); /* of all results up to a node: `end` has used earlier ones */
  for (; n != HIA_NONE && b->at[n] < before; n = b->fn->nodes.data[n].next) {
    uint32_t place = b->at[n];
    if (must_stay(b, n)) break;
    if (can_be_early(b, n, place)) {
      b->is_early[n] = true;
      continue;
    }
    bool is_apart = !needs(b, n, begin, place) || (others && needs(b, n, b->begin, others));
    if (is_apart || has_tail(b, n)) break;
    bool is_like = b->n == 1 || are_alike(b, b->ends[0], n);
    if (last <= place && is_like && are_elements(b, n)) end = n;
    if (last_use(b, n) > last) last = last_use(b, n);
  }
  set_end(b, end);
}

/* Adds a sibling that needs nothing of the others. */
static bool add(beside *b, hia_node_id sibling) {
  bool has_grown = b->ends[0] != b->siblings[0];
  uint32_t end = b->end;
  b->siblings[b->n++] = sibling;
  set_end(b, sibling);
  if (has_grown) grow(b, UINT32_MAX);
  if (are_alike(b, b->ends[0], b->ends[b->n - 1])) return true;
  b->n--;
  b->end = end;
  return refuse(b, sibling, "their results have different types");
}

/* True if `sibling` is the next one, with all that stands between the last one and it; or goes with
 * the last one. */
static bool may_join(beside *b, hia_node_id sibling) {
  uint32_t place = b->at[sibling];
  hia_node_id end = b->ends[b->n - 1];
  if (place <= b->end) return true;
  if (needs(b, sibling, b->begin, b->end)) {
    grow(b, place + 1);
    if (b->end == place) return true;
    set_end(b, end);
    return false;
  }
  if (b->n == MAX_SIBLINGS) return false;
  if (fits_between(b, sibling)) return add(b, sibling);
  grow(b, place);
  if (b->ends[b->n - 1] != end && fits_between(b, sibling) && add(b, sibling)) return true;
  set_end(b, end);
  return false;
}

/* ---- the map ---- */

static hia_type element_of(const beside *b) {
  const hia_node *node = &b->fn->nodes.data[b->ends[0]];
  hia_type *parts = HIA_NEW_ARRAY(b->scratch, hia_type, node->n_outs);
  for (uint32_t i = 0; i < node->n_outs; i++) parts[i] = hiaG_type(b->fn, node->outs + i);
  return node->n_outs == 1 ? parts[0] : hiaG_tuple(b->g->types, parts, node->n_outs);
}

static hia_value_id number(beside *b, hia_node_id at, uint64_t word) {
  hia_type i64 = HIA_I64;
  return hiaG_out(b->fn,
                  hiaG_insert(b->g, b->fn, at, HIA_OP_CONST, NULL, 0, &i64, 1, word, HIA_NONE), 0);
}

static void find_last_operand(beside *b, hia_node_id n, void *to) {
  hia_node_id *last = to;
  for (uint32_t i = 0; i < b->fn->nodes.data[n].n_ins; i++) {
    hia_node_id def = b->fn->values.data[hiaG_in(b->fn, n, i)].node;
    if (b->fn->nodes.data[def].region == b->region &&
        (*last == HIA_NONE || b->at[def] > b->at[*last]))
      *last = def;
  }
}

/* Moves what is early to where its operands are there: so what notes rows stands before the first
 * node that waits. */
static void move_early(beside *b) {
  for (hia_node_id n = b->siblings[0], next; n != b->ends[b->n - 1]; n = next) {
    hia_node_id last = HIA_NONE;
    next = b->fn->nodes.data[n].next;
    if (!b->is_early[n]) continue;
    each_inside(b, n, find_last_operand, &last);
    hia_node_id at = last == HIA_NONE ? b->siblings[0] : b->fn->nodes.data[last].next;
    while (b->fn->nodes.data[at].op == HIA_OP_ARG) at = b->fn->nodes.data[at].next;
    if (last != HIA_NONE) b->at[n] = b->at[last];
    hiaG_move(b->fn, n, at);
  }
}

/* The first of the nodes that go with a sibling. What went with earlier ones is gone. */
static hia_node_id first_of(const beside *b, uint32_t i) {
  hia_node_id n = b->siblings[i];
  for (;;) {
    hia_node_id before = b->fn->nodes.data[n].prev;
    if (i == 0 || before >= b->n_nodes || b->at[before] < b->begin) return n;
    n = before;
  }
}

/* Moves the siblings into a region, the index of which is k. */
static void fill_region(beside *b, hia_region_id to, hia_value_id k) {
  hia_graph *g = b->g;
  hia_fn *fn = b->fn;
  uint32_t n_outs = fn->nodes.data[b->ends[0]].n_outs;
  hia_type *types = HIA_NEW_ARRAY(b->scratch, hia_type, n_outs);
  for (uint32_t i = 0; i < n_outs; i++) types[i] = hiaG_type(fn, hiaG_out(fn, b->ends[0], i));
  for (uint32_t i = 0; i < b->n; i++) {
    hia_region_id home = to, other = HIA_NONE;
    hia_node_id branch = HIA_NONE;
    if (i + 1 < b->n) {
      hia_value_id is_this[2] = {k, hiaG_const(g, fn, to, HIA_I64, i, HIA_NONE)};
      hia_value_id is = hiaG_op(g, fn, to, HIA_OP_EQ, is_this, 2, HIA_NONE);
      branch = hiaG_add(g, fn, to, HIA_OP_IF, &is, 1, types, n_outs, 0, HIA_NONE);
      home = fn->nodes.data[branch].regions;
      other = home + 1;
    }
    hiaG_move_range(fn, first_of(b, i), b->ends[i], home, HIA_NONE);
    hiaG_yield_outs(g, fn, home, b->ends[i]);
    if (branch != HIA_NONE) hiaG_yield_outs(g, fn, to, branch);
    to = other;
  }
}

/* Puts the map in the place of the siblings. Returns the node behind it. */
static hia_node_id make_map(beside *b, hia_subst *subst) {
  hia_graph *g = b->g;
  hia_fn *fn = b->fn;
  hia_loc_id loc = fn->nodes.data[b->siblings[0]].loc;
  hia_type i64 = HIA_I64, array = hiaG_array(g->types, element_of(b));
  move_early(b);
  hia_value_id n = number(b, b->siblings[0], b->n);
  hia_node_id map = hiaG_insert(g, fn, b->siblings[0], HIA_OP_MAP, &n, 1, &array, 1, 0, loc);
  hia_region_id each = fn->nodes.data[map].regions;
  hia_value_id k = hiaG_out(fn, hiaG_add(g, fn, each, HIA_OP_ARG, NULL, 0, &i64, 1, 0, loc), 0);
  hia_node_id behind = fn->nodes.data[b->ends[b->n - 1]].next;
  fill_region(b, each, k);
  for (uint32_t i = 0; i < b->n; i++) {
    hia_value_id ins[2] = {hiaG_out(fn, map, 0), number(b, behind, i)};
    for (uint32_t w = 0; w < fn->nodes.data[b->ends[i]].n_outs; w++) {
      hia_value_id v = hiaG_out(fn, b->ends[i], w);
      hia_type type = hiaG_type(fn, v);
      hia_node_id at = hiaG_insert(g, fn, behind, HIA_OP_AT, ins, 2, &type, 1, w, loc);
      hiaG_replace(subst, v, hiaG_out(fn, at, 0));
    }
  }
  return behind;
}

/* ---- regions ---- */

/* Replaces the results of the siblings behind the map. Inside of it their yields need them. */
static void rewrite_from(beside *b, hia_node_id behind, hia_subst *subst) {
  for (hia_node_id n = behind; n != HIA_NONE; n = hiaG_walk_next(b->fn, n))
    hiaG_rewrite_ins(subst, b->fn, n);
}

/* Makes a map of the first siblings that there are. Returns false if there are none. */
static bool change_region(beside *b) {
  hia_node_id staying = HIA_NONE; /* the last one that waits and has effects */
  find_places(b);
  b->n = 0;
  HIA_EACH_IN(b->fn, b->region, n) {
    if (!is_sibling(b, n)) continue;
    if (must_stay(b, n)) {
      if (staying != HIA_NONE && !needs(b, n, b->at[staying], b->at[staying]))
        hiaG_report_no_siblings(b->waiting, b->g, b->fn, staying, n, "they have effects");
      staying = n;
      continue;
    }
    if (b->n && may_join(b, n)) continue;
    if (b->n > 1) break;
    b->siblings[0] = n;
    b->n = 1;
    b->begin = b->at[n];
    set_end(b, n);
  }
  if (b->n < 2) return false;
  hiaG_report_siblings(b->waiting, b->g, b->fn, b->siblings, b->n);
  hiaR_push(&b->g->comp->arena, &b->waiting->maps, b->fn->nodes.data[b->siblings[0]].loc);
  hia_subst subst = hiaG_subst(b->g, b->fn);
  rewrite_from(b, make_map(b, &subst), &subst);
  return true;
}

static bool change_function(hia_graph *g, hia_waits_fns *w, hia_fn *fn) {
  bool is_changed = false;
  for (hia_region_id r = 0; r < fn->regions.len; r++) {
    const hia_region *region = &fn->regions.data[r];
    if (region->owner != HIA_NONE && fn->nodes.data[region->owner].flags & HIA_NODE_DEAD) continue;
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    beside b = {.g = g, .scratch = &g->comp->scratch, .waiting = w, .fn = fn, .region = r};
    if (change_region(&b)) {
      is_changed = true;
      r--; /* there may be more */
    }
    hiaR_arena_release(&g->comp->scratch, mark);
  }
  if (is_changed) hiaG_compact(g, fn);
  return is_changed;
}

void hiaG_batch_siblings(hia_graph *g, hia_waits_fns *w) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(g, w->n, f)
    if (w->fns[f].defers && w->fns[f].forces) is_changed |= change_function(g, w, hiaG_fn(g, f));
  if (is_changed) hiaG_effects(g);
}
