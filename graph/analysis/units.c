/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Codegen units: the parts of a graph that are compiled one by one.
 *
 * One would compile each recursive group by itself. But LLVM takes 2 ms for the smallest module, as
 * long as for a small function. So a unit is as many whole groups as fit within its limits, callees
 * before callers. Most programs are one unit. A group that is larger than a unit is divided. A
 * straight line (hiaG_is_straight) is a unit of its own, which gets few of LLVM's passes. */
#include "graph/analysis/analysis.h"

/* Bounds what cannot be interrupted or is worse than linear in a module: LLVM's code generation. */
#ifdef HIA_STRESS
enum { MAX_FUNCTIONS = 2, MAX_NODES = 200 };
#else
enum { MAX_FUNCTIONS = 64, MAX_NODES = 6000 };
#endif

typedef struct filling {
  const hia_graph *g;
  hia_codegen_units *units;
  uint32_t n_functions, nodes; /* of the unit that is being filled, the last one */
} filling;

static bool fits(const filling *f, uint32_t n_functions, uint32_t nodes) {
  return f->n_functions + n_functions <= MAX_FUNCTIONS && f->nodes + nodes <= MAX_NODES;
}

static void next_unit(filling *f) {
  if (!f->n_functions) return;
  f->units->n++;
  f->n_functions = f->nodes = 0;
}

static void add(filling *f, hia_fn_id id) {
  f->units->of[id] = f->units->n;
  f->n_functions++;
  f->nodes += hiaG_fn(f->g, id)->nodes.len;
}

/* Adds a group to a unit. `ids` are its functions that are not removed. */
static void add_group(filling *f, const hia_fn_id *ids, uint32_t n) {
  uint64_t nodes = 0;
  for (uint32_t i = 0; i < n; i++) nodes += hiaG_fn(f->g, ids[i])->nodes.len;
  bool is_divided = n > MAX_FUNCTIONS || nodes > MAX_NODES;
  bool is_alone = n == 1 && hiaG_is_straight(f->g, hiaG_fn(f->g, ids[0]));
#ifdef HIA_ONE_GROUP /* to measure what calls between groups would cost */
  next_unit(f);
#endif
  if (is_divided || is_alone || !fits(f, n, (uint32_t)nodes)) next_unit(f);
  for (uint32_t i = 0; i < n; i++) {
    if (is_divided && !fits(f, 1, hiaG_fn(f->g, ids[i])->nodes.len)) next_unit(f);
    add(f, ids[i]);
  }
  if (is_alone) next_unit(f);
}

/* Marks the functions that are called from another unit than their own. */
static void find_imported(hia_arena *arena, const hia_graph *g, hia_codegen_units *units) {
  units->is_imported = HIA_NEW_ARRAY(arena, bool, g->fns.len);
  for (uint32_t s = 0; s < g->sites.len; s++) {
    const hia_site *site = &g->sites.data[s];
    if (hiaG_fn(g, site->caller)->is_removed) continue;
    units->is_imported[site->callee] |= units->of[site->caller] != units->of[site->callee];
  }
  HIA_EACH_FN(g, f) {
    hia_fn_id slow = hiaG_fn(g, f)->slow_path;
    if (slow == HIA_NONE) continue;
    units->is_imported[slow] |= units->of[f] != units->of[slow];
  }
  /* The code of segments, which the module that notes their rows enters. */
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; n < fn->nodes.len; n++) {
      if (fn->nodes.data[n].op != HIA_OP_DEFER) continue;
      hia_fn_id segment = hiaG_callee(&fn->nodes.data[n]);
      units->is_imported[segment] |= units->of[f] != units->of[segment];
    }
  }
}

hia_codegen_units hiaG_codegen_units(hia_arena *arena, const hia_graph *g, const hia_facts *facts) {
  uint32_t n = g->fns.len;
  hia_codegen_units units = {.of = HIA_NEW_ARRAY(arena, uint32_t, n)};
  hia_fn_id *group = HIA_NEW_ARRAY(arena, hia_fn_id, n);
  filling f = {.g = g, .units = &units};
  for (uint32_t i = 0; i < n;) {
    uint32_t number = facts->group[facts->order[i]], in_group = 0;
    for (; i < n && facts->group[facts->order[i]] == number; i++) {
      hia_fn_id id = facts->order[i];
      units.of[id] = HIA_NONE;
      if (!hiaG_fn(g, id)->is_removed) group[in_group++] = id;
    }
    add_group(&f, group, in_group);
  }
  next_unit(&f);
  if (!units.n) units.n = 1;
  find_imported(arena, g, &units);
  return units;
}

hia_codegen_units hiaG_one_codegen_unit(hia_arena *arena, const hia_graph *g) {
  hia_codegen_units units = {.of = HIA_NEW_ARRAY(arena, uint32_t, g->fns.len),
                             .is_imported = HIA_NEW_ARRAY(arena, bool, g->fns.len),
                             .n = 1};
  for (hia_fn_id f = 0; f < g->fns.len; f++) units.of[f] = hiaG_fn(g, f)->is_removed ? HIA_NONE : 0;
  return units;
}
