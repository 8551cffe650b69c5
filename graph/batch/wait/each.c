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
#include "graph/batch/wait/waiting.h"
#include "graph/ir/walk.h"
#include "graph/passes/ranges.h"

typedef struct eaching {
  hia_waits_fns *fns;
  hia_waits body; /* of the map that is looked at */
} eaching;

bool hiaG_add_waiting(const hia_waits_fns *w, const hia_node *node, hia_waits *to) {
  hia_waits old = *to;
  to->defers |= node->op == HIA_OP_DEFER;
  to->forces |= node->op == HIA_OP_FORCE || node->op == HIA_OP_FIELD_LATE;
  if (node->op == HIA_OP_CALL && hiaG_callee(node) < w->n) {
    to->defers |= w->fns[hiaG_callee(node)].defers;
    to->forces |= w->fns[hiaG_callee(node)].forces;
  }
  return to->defers != old.defers || to->forces != old.forces;
}

static void find_waiting(const hia_waits_fns *w, const hia_graph *g) {
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    HIA_EACH_FN_BELOW(g, w->n, f) {
      const hia_fn *fn = hiaG_fn(g, f);
      HIA_EACH_NODE(fn, n) is_changed |= hiaG_add_waiting(w, &fn->nodes.data[n], &w->fns[f]);
    }
  }
}

static void look_at(hia_ranges *h, hia_node_id n) {
  eaching *e = h->user;
  hiaG_add_waiting(e->fns, &h->fn->nodes.data[n], &e->body);
}

/* Why iterations of a map that wait must stay in order; NULL: they need not. */
static const char *why_not(const hia_ranges *h, hia_node_id map, bool has_room) {
  bool is_counted = hiaG_node_does(h->g, h->fn, map, HIA_E_COUNTS);
  if (hiaG_node_does(h->g, h->fn, map, HIA_E_IMPURE))
    return "they call impure functions of the host";
  if (is_counted && hiaG_node_does(h->g, h->fn, map, HIA_E_RAISES))
    return "calls are counted, and they may fail";
  return has_room ? NULL : "they use too many values from outside";
}

static hia_fn_id make_iteration(hia_ranges *h, hia_node_id map) {
  eaching *e = h->user;
  e->body = (hia_waits){false, false};
  if (h->fn->rows) return HIA_NONE;
  bool has_room = hiaG_range_look(h, map, look_at);
  const char *why = why_not(h, map, has_room);
  if (!e->body.defers || !e->body.forces) return HIA_NONE;
  hiaG_report_iterations(e->fns, h->g, h->fn, map, why);
  if (why) return HIA_NONE;
  hia_fn_id id = hiaG_range_function(h, map, "iteration");
  hia_fn *fn = hiaG_fn(h->g, id);
  fn->is_freezing = true;
  hia_value_id done = hiaG_range_loop(h, fn, 0, map);
  hiaG_yield(h->g, fn, 0, &done, 1);
  return id;
}

void hiaG_each(hia_graph *g) {
  hia_arena *scratch = &g->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_waits_fns w = {.n = g->fns.len, .fns = HIA_NEW_ARRAY(scratch, hia_waits, g->fns.len + 1)};
  find_waiting(&w, g);
  hiaG_batch_siblings(g, &w);
  eaching e = {.fns = &w};
  hiaG_ranges(g, make_iteration, &e);
  hiaR_arena_release(scratch, mark);
}
