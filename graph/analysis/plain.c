/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* plain: which functions of a static graph can be plain functions, called from C without a context.
 *
 * These are the functions that, with all that they call, always end soon: they do not fail, recurse
 * or loop, and do nothing that requires a worker's context. So they need no limit, no status and no
 * stack but the caller's. They are found by a walk over the calls, because a graph that was read
 * may lack traits. */
#include "graph/analysis/analysis.h"
#include "graph/analysis/effects.h"
#include "graph/ir/graph.h"

enum { MAX_LEVELS = 32 };

typedef struct walk {
  const hia_graph *g;
  bool may_fail; /* failures do not matter */
  uint8_t
      *levels; /* by function: most frames, its own included; 0: unknown, IS_OPEN: on the path */
} walk;
enum { IS_OPEN = 255 };

static const char *look(walk *w, hia_fn_id f, uint32_t depth);

/* Returns why a node cannot be in a plain function, or NULL. */
static const char *look_at(walk *w, const hia_fn *fn, hia_node_id n, uint32_t depth,
                           uint8_t *levels) {
  const hia_node *node = &fn->nodes.data[n];
  if (node->op == HIA_OP_CALL_I) {
    hia_fn_id callee = w->g->sites.data[HIA_IMM_A(node->imm)].callee;
    const char *why = look(w, callee, depth + 1);
    if (!why && w->levels[callee] >= *levels) *levels = w->levels[callee] + 1;
    return why;
  }
  if (node->op == HIA_OP_PARAM) return "it reads params";
  unsigned effects = hiaG_node_effects(w->g, fn, n);
  if (effects & HIA_E_COUNTS) return "it counts calls";
  if (effects & (HIA_E_ONCE | HIA_E_HOST)) return "it does more than compute a result";
  return !w->may_fail && effects & HIA_E_RAISES ? "it may fail" : NULL;
}

static const char *look(walk *w, hia_fn_id f, uint32_t depth) {
  const hia_fn *fn = hiaG_fn(w->g, f);
  if (w->levels[f] == IS_OPEN || fn->slow_path != HIA_NONE) return "it is recursive";
  if (w->levels[f]) return NULL;
  for (hia_value_id v = 0; v < fn->values.len; v++)
    if (!hiaG_is_scalar(hiaG_type(fn, v))) return "it works on values in memory";
  if (depth >= MAX_LEVELS) return "its calls go too deep";
  for (hia_region_id r = 0; r < fn->regions.len; r++)
    if (fn->regions.data[r].kind == HIA_REGION_HEAD) return "it has a loop";
  uint8_t levels = 1;
  w->levels[f] = IS_OPEN;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const char *why = look_at(w, fn, n, depth, &levels);
    if (why) return why;
  }
  w->levels[f] = levels;
  return NULL;
}

const char *hiaG_not_plain(const hia_graph *g, hia_fn_id f, hia_arena *scratch, uint32_t *levels) {
  hia_mark mark = hiaR_arena_mark(scratch);
  walk w = {g, false, HIA_NEW_ARRAY(scratch, uint8_t, g->fns.len)};
  const char *why = look(&w, f, 0);
  *levels = w.levels[f];
  hiaR_arena_release(scratch, mark);
  return why;
}

bool hiaG_ends_soon(const hia_graph *g, hia_fn_id f, hia_arena *scratch) {
  hia_mark mark = hiaR_arena_mark(scratch);
  walk w = {g, true, HIA_NEW_ARRAY(scratch, uint8_t, g->fns.len)};
  bool ends = look(&w, f, 0) == NULL;
  hiaR_arena_release(scratch, mark);
  return ends;
}
