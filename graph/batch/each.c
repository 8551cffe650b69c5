/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* each: maps whose iterations may be frozen where they wait for tensors.
 *
 *     %a = map %n {          %new = new %n
 *       %k = arg 0           %done = call "f iteration" %new, 0, %n
 *       defer ..             %a = filled %new, %done
 *       force ..
 *       yield %x             fn "f iteration" (%new, %from, %to) freezing {
 *     }                        for each %k from %from up to %to: fill %new, %k, %x
 *                            }
 *
 * A call of that function computes the elements in order, as the map does. Code calls it through
 * the runtime (lower/function/each.c, runtime/native/driver.h), which makes a call for each
 * element, and goes on with another one where one waits for what is pending.
 *
 * That is of use where an iteration notes rows and waits for them: one that only waits finds that
 * the first has waited for all. What calls impure functions of the host stays in order, and so
 * does what counts and may fail, since iterations behind the one that fails would be counted.
 *
 * Requires hiaG_effects, and runs it again; comes behind batch. */
#include "graph/analysis/effects.h"
#include "graph/batch/batch.h"
#include "graph/ir/walk.h"
#include "graph/passes/ranges.h"

/* What an iteration does, itself or in what it calls. */
typedef struct waiting {
  bool defers, forces;
} waiting;

typedef struct eaching {
  uint32_t n;   /* functions that there were */
  waiting *fns; /* by function */
  waiting body; /* of the map that is looked at */
} eaching;

static bool add(waiting *to, waiting more) {
  waiting old = *to;
  to->defers |= more.defers;
  to->forces |= more.forces;
  return to->defers != old.defers || to->forces != old.forces;
}

static waiting of_node(const eaching *e, const hia_node *node) {
  waiting w = {node->op == HIA_OP_DEFER, node->op == HIA_OP_FORCE};
  if (node->op == HIA_OP_CALL && hiaG_callee(node) < e->n) w = e->fns[hiaG_callee(node)];
  return w;
}

static void find_waiting(eaching *e, const hia_graph *g) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    HIA_EACH_FN_BELOW(g, e->n, f) {
      const hia_fn *fn = hiaG_fn(g, f);
      HIA_EACH_NODE(fn, n) is_changed |= add(&e->fns[f], of_node(e, &fn->nodes.data[n]));
    }
  }
}

static void look_at(hia_ranges *h, hia_node_id n) {
  eaching *e = h->user;
  add(&e->body, of_node(e, &h->fn->nodes.data[n]));
}

static hia_fn_id make_iteration(hia_ranges *h, hia_node_id map) {
  eaching *e = h->user;
  e->body = (waiting){false, false};
  bool is_counted = hiaG_node_does(h->g, h->fn, map, HIA_E_COUNTS);
  if (h->fn->rows || (is_counted && hiaG_node_does(h->g, h->fn, map, HIA_E_RAISES)))
    return HIA_NONE;
  if (!hiaG_range_look(h, map, look_at) || !e->body.defers || !e->body.forces) return HIA_NONE;
  hia_fn_id id = hiaG_range_function(h, map, "iteration");
  hia_fn *fn = hiaG_fn(h->g, id);
  fn->is_freezing = true;
  hia_value_id done = hiaG_range_loop(h, fn, 0, map);
  hiaG_yield(h->g, fn, 0, &done, 1);
  return id;
}

void hiaG_each(hia_graph *g) {
  eaching e = {.n = g->fns.len};
  hia_arena *scratch = &g->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  e.fns = HIA_NEW_ARRAY(scratch, waiting, e.n + 1);
  find_waiting(&e, g);
  hiaG_ranges(g, make_iteration, &e);
  hiaR_arena_release(scratch, mark);
}
