/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is owned, and what is borrowed. A function owns a parameter if it consumes it, or could use
 * its memory again; a loop owns a variable unless it only walks through what something else keeps.
 * After Ullrich and de Moura, "Counting Immutable Beans" (IFL 2019). */
#include "graph/ir/walk.h"
#include "graph/refs/shared.h"

/* True if region `inner` is `outer` or inside it. */
static bool is_within(const hia_fn *fn, hia_region_id inner, hia_region_id outer) {
  for (; inner != HIA_NONE; inner = fn->regions.data[inner].parent)
    if (inner == outer) return true;
  return false;
}

/* True if the value is no object, or a part of what is kept: of a variable, or of a value from
 * outside of the loop. */
bool hiaG_is_part_of_kept(hia_walking *w, hia_value_id v) {
  const hia_node *n = hiaG_def(w->fn, v);
  if (hiaG_is_scalar(hiaG_type(w->fn, v)) || hiaG_is_constant(n->op)) return true;
  if (!w->left) return false;
  w->left--;
  if (!is_within(w->fn, n->region, w->head)) return true;
  if (n->op == HIA_OP_ARG) return n->region == w->head && w->is_kept[n->imm];
  if (hiaG_is_part(n)) return hiaG_is_part_of_kept(w, w->fn->edges.data[n->ins]);
  if (n->op != HIA_OP_IF) return false;
  for (uint32_t k = 0; k < 2; k++)
    if (!hiaG_is_part_of_kept(w, hiaG_in(w->fn, hiaG_yield_of(w->fn, n->regions + k), v - n->outs)))
      return false;
  return true;
}

/* Leaves, of the variables whose first value is kept, as is_kept says, those whose next values are
 * parts of what is kept, too. */
void hiaG_find_walking(const hia_fn *fn, hia_node_id loop, bool *is_kept) {
  hia_region_id head = fn->nodes.data[loop].regions;
  hia_node_id next = hiaG_yield_of(fn, head + 1);
  uint32_t n = fn->nodes.data[loop].n_ins;
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (uint32_t i = 0; i < n; i++) {
      hia_walking w = {fn, head, is_kept, HIA_REFS_MAX_LOOKED};
      if (!is_kept[i] ||
          (n <= HIA_REFS_MAX_WALKING && hiaG_is_part_of_kept(&w, hiaG_in(fn, next, i))))
        continue;
      is_kept[i] = false;
      is_changed = true;
    }
  }
}

/* True if the value may refer to an object: constructors without fields are none. */
bool hiaG_may_be_object(const hia_graph *g, const hia_fn *fn, hia_value_id v) {
  hia_type type = hiaG_type(fn, v);
  if (hiaG_is_scalar(type)) return false;
  const hia_type_entry *entry = &g->types->entries.data[type - HIA_FIRST_TYPE];
  bool has_fields = entry->kind != HIA_KIND_DATA;
  for (uint32_t i = 0; !has_fields && i < entry->n; i++)
    has_fields = g->types->ctors.data[entry->first + i].n != 0;
  return has_fields;
}

/* The number of the parameter, if the value is one; else NONE. */
static uint32_t param_of(const hia_fn *fn, hia_value_id v) {
  const hia_node *n = hiaG_def(fn, v);
  return n->op == HIA_OP_ARG && n->region == 0 ? (uint32_t)n->imm : HIA_NONE;
}

/* True if region `inner` is in region `outer`, or in the round of the loop that ends its head with
 * the branch that `outer` is in: there too what `outer` shows is known. */
static bool is_within_way(const hia_fn *fn, hia_region_id inner, hia_region_id outer) {
  if (is_within(fn, inner, outer)) return true;
  while (fn->regions.data[outer].kind == HIA_REGION_THEN ||
         fn->regions.data[outer].kind == HIA_REGION_ELSE)
    outer = fn->regions.data[outer].parent;
  return fn->regions.data[outer].kind == HIA_REGION_HEAD && is_within(fn, inner, outer + 1);
}

/* True if the memory of the value from which node n reads a field could be that of an object that
 * is made where the field is known. */
static bool may_reuse(const hia_graph *g, const hia_fn *fn, hia_node_id field) {
  const hia_node *node = &fn->nodes.data[field];
  uint32_t size = hiaG_object_size(g, hiaG_type(fn, hiaG_in(fn, field, 0)), HIA_IMM_A(node->imm));
  uint32_t left = HIA_REFS_REACH;
  for (hia_node_id n = field; n != HIA_NONE && left; n = hiaG_walk_next(fn, n), left--) {
    const hia_node *made = &fn->nodes.data[n];
    if (made->op == HIA_OP_DATA &&
        hiaG_object_size(g, hiaG_type(fn, made->outs), (uint32_t)made->imm) == size &&
        is_within_way(fn, made->region, node->region))
      return true;
  }
  return false;
}

/* True if the loop must own variable i: it hands something else on, or could use its memory again.
 */
static bool must_own(const hia_graph *g, const hia_fn *fn, hia_node_id loop, uint32_t i) {
  uint32_t n = fn->nodes.data[loop].n_ins;
  hia_region_id head = fn->nodes.data[loop].regions;
  bool is_kept[HIA_REFS_MAX_WALKING];
  if (n > HIA_REFS_MAX_WALKING) return true;
  for (uint32_t k = 0; k < n; k++) is_kept[k] = true;
  hiaG_find_walking(fn, loop, is_kept);
  if (!is_kept[i]) return true;
  hia_node_id end = hiaG_walk_over(fn, loop);
  for (hia_node_id m = hiaG_walk_next(fn, loop); m != end; m = hiaG_walk_next(fn, m)) {
    if (fn->nodes.data[m].op != HIA_OP_FIELD) continue;
    const hia_node *arg = hiaG_def(fn, hiaG_in(fn, m, 0));
    if (arg->op == HIA_OP_ARG && arg->region == head && arg->imm == i && may_reuse(g, fn, m))
      return true;
  }
  return false;
}

/* Marks parameters that the function consumes. Returns true if there are new ones. */
bool hiaG_find_owned(const hia_graph *g, const hia_fn *fn, const hia_ref_version *versions,
                     bool *own) {
  bool is_changed = false;
  if (fn->is_freezing) return false; /* it is called with the same arguments again and again */
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    for (uint32_t i = 0; i < node->n_ins; i++) {
      hia_value_id v = hiaG_in(fn, n, i);
      uint32_t p = hiaG_may_be_object(g, fn, v) ? param_of(fn, v) : HIA_NONE;
      if (p == HIA_NONE || own[p]) continue;
      bool is_consumed = hiaG_consumes(fn, n) || node->op == HIA_OP_YIELD ||
                         (node->op == HIA_OP_FILL && i > 0) ||
                         (node->op == HIA_OP_LOOP && must_own(g, fn, n, i)) ||
                         (node->op == HIA_OP_CALL && versions[hiaG_callee(node)].owns[i]) ||
                         (node->op == HIA_OP_FIELD && may_reuse(g, fn, n));
      own[p] |= is_consumed;
      is_changed |= is_consumed;
    }
  }
  return is_changed;
}
