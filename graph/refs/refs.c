/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* refs: counts of references, for native code: where values of data types are shared, given up and
 * used again. After Reinking, Xie, de Moura and Leijen, "Perceus: Garbage Free Reference Counting
 * with Reuse" (PLDI 2021), and for the parameters Ullrich and de Moura, "Counting Immutable Beans"
 * (IFL 2019). docs/memory.md, "Counts", tells what holds.
 *
 * A value that refers to an object is *owned* where it is live: its last use gives the reference up
 * or hands it on. Uses that store or return a value *consume* it; those that look at it borrow. A
 * field or element that was read from a value is the value's as long as that is alive; when the
 * value dies, fields that are used later are taken out of it (UNPACK). A function owns a parameter
 * if it consumes it, or could use its memory again; else it borrows the parameter from its caller.
 *
 * A function that borrows has an *owning version* too, if there are calls whose arguments die there
 * (`sum(make(n))`). It frees each object when it has read it: while that is in the cache, and on
 * the worker that does the rest. But where a value is shared it calls the function that borrows: in
 * what is shared no count changes.
 *
 * One walk over each function, against sequential order, with the set of owned values that are live
 * behind the node that the walk is at. No value in the set is a field of another, read directly or
 * through further fields. Then the tokens of UNPACKs are given to constructions of the same size.
 */
#include "graph/refs/refs.h"
#include "graph/analysis/effects.h"
#include "graph/ir/change.h"
#include "graph/refs/counting.h"

static void count_function(hia_graph *g, hia_fn_id id, hia_ref_version *versions) {
  hia_fn *fn = hiaG_fn(g, id);
  hia_counting c = {.g = g, .fn = fn, .id = id, .scratch = &g->comp->scratch, .versions = versions};
  if (!hiaG_refs_walk_function(&c)) return;
  /* A leaf function may restart in its slow path, with arguments that it must not have given up. */
  fn->slow_path = HIA_NONE;
  if (c.replaced.len) {
    hia_value_id *map = HIA_NEW_ARRAY(c.scratch, hia_value_id, fn->values.len);
    memset(map, 0xff, fn->values.len * sizeof *map);
    for (uint32_t i = 0; i < c.replaced.len; i += 2)
      map[c.replaced.data[i]] = c.replaced.data[i + 1];
    hiaG_substitute(fn, map);
  }
  hiaG_give_tokens(g, fn);
}

static void try_function(hia_graph *g, hia_fn_id f, hia_ref_version *versions) {
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  hia_counting c = {.g = g,
                    .fn = hiaG_fn(g, f),
                    .id = f,
                    .scratch = &g->comp->scratch,
                    .versions = versions,
                    .is_trial = true};
  hiaG_refs_walk_function(&c);
  hiaR_arena_release(&g->comp->scratch, mark);
  hiaR_look(g->comp);
}

/* A tape dies where it is read: functions own those that they get, so there is one version of them.
 */
static void own_tapes(hia_graph *g, hia_ref_version *versions) {
  bool *is_tape = HIA_NEW_ARRAY(&g->comp->arena, bool, g->types->entries.len + 1);
  for (uint32_t i = 0; i < g->tape_types.len; i++)
    is_tape[g->tape_types.data[i] - HIA_FIRST_TYPE] = true;
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (uint32_t i = 0; i < fn->n_params && !fn->is_freezing; i++)
      versions[f].owns[i] =
          !hiaG_is_scalar(fn->params[i]) && is_tape[fn->params[i] - HIA_FIRST_TYPE];
  }
}

/* Makes the owning versions that are wanted by functions, also by owning versions. `versions` has
 * room for one of each function. */
static void make_versions(hia_graph *g, hia_ref_version *versions) {
  uint32_t n_tried = 0, n_first = g->fns.len;
  while (n_tried < g->fns.len) {
    for (; n_tried < g->fns.len; n_tried++)
      if (!hiaG_fn(g, n_tried)->is_removed) try_function(g, n_tried, versions);
    for (hia_fn_id f = 0; f < n_first; f++) {
      if (!versions[f].is_wanted || versions[f].owning != HIA_NONE) continue;
      hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
      versions[f].owning = hiaG_make_owning(g, f, &versions[g->fns.len], &versions[f]);
      hiaR_arena_release(&g->comp->scratch, mark);
    }
  }
}

/* In a text an object with a hole may die before the hole is filled: there nothing is counted. */
void hiaG_refs(hia_graph *g) {
  if (!hiaG_has_references(g) || (g->is_read && hiaG_has_destinations(g))) return;
  HIA_EACH_FN(g, f) hiaG_split_exits(g, hiaG_fn(g, f));
  hia_ref_version *versions = HIA_NEW_ARRAY(&g->comp->arena, hia_ref_version, 2 * g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    versions[f] =
        (hia_ref_version){.owns = HIA_NEW_ARRAY(&g->comp->arena, bool, hiaG_fn(g, f)->n_params + 1),
                          .owning = HIA_NONE,
                          .base_call = HIA_NONE};
  own_tapes(g, versions);
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    HIA_EACH_FN(g, f) is_changed |= hiaG_find_owned(g, hiaG_fn(g, f), versions, versions[f].owns);
  }
  HIA_EACH_FN(g, f) {
    for (uint32_t i = 0; i < hiaG_fn(g, f)->n_params && !hiaG_fn(g, f)->is_freezing; i++)
      versions[f].can_own |= !hiaG_is_scalar(hiaG_fn(g, f)->params[i]) && !versions[f].owns[i];
  }
  make_versions(g, versions);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    hia_fn *fn = hiaG_fn(g, f);
    fn->owns = versions[f].owns;
    if (fn->is_removed) continue;
    hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
    count_function(g, f, versions);
    hiaR_arena_release(&g->comp->scratch, mark);
    hiaG_compact(g, fn);
    hiaR_look(g->comp);
  }
  hiaG_effects(g); /* the groups of owning versions */
  g->has_refs = true;
}
