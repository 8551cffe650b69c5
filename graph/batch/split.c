/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Comprehensions that would wait for pending tensors element by element, such as
 *
 *     [{ let (h, loss) = encode(t); (argmax(scores(h)), loss) } for t in trees]
 *
 * whose elements a host sees, so that the scalars cannot be late there. Such a map becomes two. The
 * first computes, for each element, what the rest needs, in objects of a type of its own, in which
 * scalars are late. The second reads these. So it waits once, when all elements are noted:
 *
 *     %a = map %n {                 %parts = map %n {
 *       %k = arg 0                    %k = arg 0
 *       ...                           ...
 *       %x = ...                      %x = ...
 *       yield wait(%x)       ->       %p = data Parts %x
 *     }                               yield %p
 *                                   }
 *                                   %a = map %n {
 *                                     %k = arg 0
 *                                     %p = at 0 %parts, %k
 *                                     %x = field Parts.0 %p
 *                                     yield wait(%x)
 *                                   }
 *
 * What waits, and what depends on that, must not fail or have effects: then the first failure is
 * the one that it would be. */
#include "graph/analysis/effects.h"
#include "graph/batch/rows/rows.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum {
  STAYS = HIA_E_RAISES | HIA_E_DIVERGES | HIA_E_COUNTS | HIA_E_IMPURE | HIA_E_HOST | HIA_E_FORKS
};

typedef struct splitting {
  const hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  const hia_batch_fn *of;
  bool *is_second; /* by node: it waits, or depends on one that does */
  hia_unstacking rows;
  bool *is_crossing; /* by value: listed */
  hia_u32vec crossing;
} splitting;

/* ---- what waits ---- */

/* True if tensors, or what will be late scalars, may be reached from a value that is no tensor. */
static bool may_hold_late(const splitting *s, hia_type type) {
  const hia_types *types = s->b->g->types;
  bool *marks = HIA_NEW_ARRAY(s->b->arena, bool, types->entries.len + 1);
  hiaG_mark_parts(types, type, marks);
  for (uint32_t t = 0; t < types->entries.len; t++) {
    const hia_type_entry *entry = &types->entries.data[t];
    if (!marks[t]) continue;
    if (entry->kind == HIA_KIND_TENSOR) return true;
    uint32_t n = entry->kind == HIA_KIND_DATA ? entry->n : entry->kind == HIA_KIND_ARRAY;
    for (uint32_t c = 0; c < n; c++) {
      const hia_layout *layout = entry->kind == HIA_KIND_DATA
                                     ? &types->ctors.data[entry->first + c].layout
                                     : &entry->layout;
      for (uint32_t i = 0; i < layout->n; i++)
        if (s->b->late_words[layout->first + i] || s->b->owed_words[layout->first + i]) return true;
    }
  }
  return false;
}

static bool operand_waits(const splitting *s, hia_node_id n, uint32_t i) {
  const hia_fn *fn = s->fn;
  hia_value_id v = hiaG_in(fn, n, i);
  if (hiaG_is_deferred(s->b, s->f, n)) return false;
  if (hiaG_batch_packs_late(s->b, s->f, n)) return false;
  if (hiaG_batch_is_owed(s->b, fn, n)) return true;
  if (!hiaG_is_scalar(hiaG_type(fn, v))) {
    if (!hiaG_reads_elements(s->b->g, fn, n, i)) return false;
    return s->of->is_late[v] ||
           (!hiaG_is_tensor(s->b->g, fn, v) && may_hold_late(s, hiaG_type(fn, v)));
  }
  return s->of->is_late[v] && !hiaG_batch_passes_on(s->b, s->f, n, i);
}

bool hiaG_batch_waits(const hia_batcher *b, hia_fn_id f, hia_node_id n, uint32_t i) {
  splitting s = {.b = b, .f = f, .fn = hiaG_fn(b->g, f), .of = &b->fns[f]};
  return operand_waits(&s, n, i);
}

/* What waits only seldom may stay in the first map. */
static bool node_waits(const splitting *s, hia_node_id n) {
  if (s->fn->nodes.data[n].flags & HIA_NODE_WAITS) return false;
  for (uint32_t i = 0; i < s->fn->nodes.data[n].n_ins; i++)
    if (operand_waits(s, n, i)) return true;
  return false;
}

/* Calls `visit` for a node and all in its regions; stops where it returns true. */
static bool any_inside(const splitting *s, hia_node_id n,
                       bool (*visit)(const splitting *s, hia_node_id n)) {
  if (visit(s, n)) return true;
  if (s->fn->nodes.data[n].regions == HIA_NONE) return false;
  hia_node_id end = hiaG_walk_over(s->fn, n);
  for (hia_node_id in = hiaG_walk_next(s->fn, n); in != end; in = hiaG_walk_next(s->fn, in))
    if (visit(s, in)) return true;
  return false;
}

static bool uses_second(const splitting *s, hia_node_id n) {
  for (uint32_t i = 0; i < s->fn->nodes.data[n].n_ins; i++)
    if (s->is_second[s->fn->values.data[hiaG_in(s->fn, n, i)].node]) return true;
  return false;
}

/* True if a node notes rows, or calls what may. */
static bool defers(const splitting *s, hia_node_id n) {
  const hia_node *node = &s->fn->nodes.data[n];
  bool may = hiaG_is_deferred(s->b, s->f, n);
  for (uint32_t i = 0; node->op == HIA_OP_CALL && i < node->n_outs; i++)
    may |= s->of->is_late[node->outs + i] || may_hold_late(s, hiaG_type(s->fn, node->outs + i));
  return may;
}

/* True if the node cannot fail, though its effects say that it may: more is known of sizes here. */
static bool is_sure(const splitting *s, hia_node_id n) {
  const hia_node *node = &s->fn->nodes.data[n];
  if (s->of->can_lift[n] || node->flags & HIA_NODE_SIZED) return true;
  if (node->op == HIA_OP_PART || node->op == HIA_OP_FULL || node->n_outs != 1) return false;
  return s->rows.has_rows[node->outs] && !hiaG_needs_guard(&s->rows, n);
}

/* True if the node must stay where it is. */
static bool stays(const splitting *s, hia_node_id n) {
  return hiaG_node_does(s->b->g, s->fn, n, is_sure(s, n) ? STAYS & ~HIA_E_RAISES : STAYS);
}

/* Marks the nodes of the second map. False: there is nothing to gain, or they cannot be moved. */
static bool find_second(splitting *s, hia_region_id each) {
  const hia_fn *fn = s->fn;
  bool waits = false, has_rows = false;
  HIA_EACH_IN(fn, each, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_ALIKE || (node->op == HIA_OP_MAP && any_inside(s, n, node_waits)))
      return false;
    if (node->op == HIA_OP_YIELD) {
      waits |= node_waits(s, n);
      continue;
    }
    s->is_second[n] = any_inside(s, n, node_waits) || any_inside(s, n, uses_second);
    if (!s->is_second[n]) {
      has_rows |= any_inside(s, n, defers);
      continue;
    }
    waits = true;
    if (stays(s, n)) return false;
  }
  return waits && has_rows;
}

/* ---- what the second map gets ---- */

static bool is_inside(const splitting *s, hia_value_id v, hia_region_id each) {
  const hia_node *def = hiaG_def(s->fn, v);
  return def->region == each && def->op != HIA_OP_ARG;
}

/* Constants are made anew. */
static void list_operands(splitting *s, hia_node_id n, hia_region_id each) {
  for (uint32_t i = 0; i < s->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = hiaG_in(s->fn, n, i);
    hia_node_id def = s->fn->values.data[v].node;
    if (!is_inside(s, v, each) || s->is_second[def] || s->is_crossing[v]) continue;
    s->is_crossing[v] = true;
    hiaR_push(s->b->arena, &s->crossing, v);
  }
}

/* Lists the values that the second map needs of the first. Returns false if they are more than an
 * object has. */
static bool list_crossing(splitting *s, hia_region_id each) {
  const hia_fn *fn = s->fn;
  s->crossing.len = 0;
  HIA_EACH_IN(fn, each, n) {
    if (!s->is_second[n] && fn->nodes.data[n].op != HIA_OP_YIELD) continue;
    list_operands(s, n, each);
    if (fn->nodes.data[n].regions == HIA_NONE) continue;
    hia_node_id end = hiaG_walk_over(fn, n);
    for (hia_node_id in = hiaG_walk_next(fn, n); in != end; in = hiaG_walk_next(fn, in))
      list_operands(s, in, each);
  }
  return s->crossing.len <= HIA_MAX_LAYOUT_WORDS;
}

/* ---- the maps ---- */

static hia_type make_type(const splitting *s) {
  hia_types *types = s->b->g->types;
  hia_arena *arena = s->b->arena;
  uint32_t n = s->crossing.len;
  const char **names = HIA_NEW_ARRAY(arena, const char *, n + 1);
  hia_type *fields = HIA_NEW_ARRAY(arena, hia_type, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    names[i] = hiaR_arena_printf(arena, "x%u", i);
    fields[i] = hiaG_type(s->fn, s->crossing.data[i]);
  }
  hia_type type = hiaG_new_data(types, "Parts", arena);
  hia_ctor_def ctor = {"Parts", names, fields, n};
  hiaG_data_define(types, type, &ctor, 1);
  return type;
}

static hia_value_id append(splitting *s, hia_region_id r, unsigned op, const hia_value_id *ins,
                           uint32_t n, hia_type type, uint64_t imm, hia_loc_id loc) {
  return hiaG_out(s->fn, hiaG_add(s->b->g, s->fn, r, op, ins, n, &type, 1, imm, loc), 0);
}

/* Fills the region of the second map: with a copy of the first's, of which what the first computes
 * is removed. */
static void fill_second(splitting *s, hia_region_id from, hia_region_id to, hia_value_id parts,
                        hia_type type, hia_loc_id loc) {
  hia_graph *g = s->b->g;
  hia_fn *fn = s->fn;
  uint32_t n_nodes = fn->nodes.len;
  hia_value_id *copies = HIA_NEW_ARRAY(s->b->arena, hia_value_id, fn->values.len + 1);
  memset(copies, 0xff, (fn->values.len + 1) * sizeof *copies);
  hia_value_id k = append(s, to, HIA_OP_ARG, NULL, 0, HIA_I64, 0, loc);
  hia_value_id element[2] = {parts, k};
  hia_value_id part = append(s, to, HIA_OP_AT, element, 2, type, 0, loc);
  hia_value_id *fields = HIA_NEW_ARRAY(s->b->arena, hia_value_id, s->crossing.len + 1);
  for (uint32_t i = 0; i < s->crossing.len; i++)
    fields[i] = append(s, to, HIA_OP_FIELD, &part, 1, hiaG_type(fn, s->crossing.data[i]),
                       HIA_IMM(0, i), loc);
  copies[hiaG_out(fn, fn->regions.data[from].first, 0)] = k;
  hia_node_id last = fn->regions.data[to].last;
  hiaG_copy_region(g, fn, to, HIA_NONE, fn, from, copies, HIA_NONE);
  hia_subst subst = hiaG_subst(g, fn);
  for (uint32_t i = 0; i < s->crossing.len; i++)
    hiaG_replace(&subst, copies[s->crossing.data[i]], fields[i]);
  hia_node_id yield = hiaG_yield_of(fn, from);
  uint32_t n_words = fn->nodes.data[yield].n_ins;
  hia_value_id *words = HIA_NEW_ARRAY(s->b->arena, hia_value_id, n_words + 1);
  for (uint32_t i = 0; i < n_words; i++) {
    hia_value_id v = hiaG_in(fn, yield, i), copy = copies[v];
    words[i] = hiaG_resolve(&subst, copy == HIA_NONE ? v : copy);
  }
  hiaG_yield(g, fn, to, words, n_words);
  hia_node_id copy = fn->nodes.data[last].next;
  for (hia_node_id n = fn->regions.data[from].first; n != yield && n < n_nodes;) {
    hia_node_id next = fn->nodes.data[n].next;
    if (fn->nodes.data[n].op != HIA_OP_ARG) {
      hia_node_id next_copy = fn->nodes.data[copy].next;
      if (!s->is_second[n]) hiaG_remove(fn, copy);
      copy = next_copy;
    }
    n = next;
  }
  hia_node_id end = fn->regions.data[to].owner;
  for (hia_node_id n = hiaG_walk_next(fn, end), over = hiaG_walk_over(fn, end); n != over;
       n = hiaG_walk_next(fn, n))
    hiaG_rewrite_ins(&subst, fn, n);
}

static void split(splitting *s, hia_node_id map) {
  hia_graph *g = s->b->g;
  hia_fn *fn = s->fn;
  hia_region_id each = fn->nodes.data[map].regions;
  hia_loc_id loc = fn->nodes.data[map].loc;
  hia_type type = make_type(s), array = hiaG_array(g->types, type);
  hia_type whole = hiaG_type(fn, hiaG_out(fn, map, 0));
  hia_value_id n = hiaG_in(fn, map, 0), old = hiaG_out(fn, map, 0);
  hia_node_id first = hiaG_insert(g, fn, map, HIA_OP_MAP, &n, 1, &array, 1, 0, loc);
  hia_node_id second = hiaG_insert(g, fn, map, HIA_OP_MAP, &n, 1, &whole, 1, 0, loc);
  /* The new maps' regions come from the old one, which goes. */
  fill_second(s, each, fn->nodes.data[second].regions, hiaG_out(fn, first, 0), type, loc);
  hia_region_id to = fn->nodes.data[first].regions;
  hia_value_id *copies = HIA_NEW_ARRAY(s->b->arena, hia_value_id, fn->values.len + 1);
  memset(copies, 0xff, (fn->values.len + 1) * sizeof *copies);
  copies[hiaG_out(fn, fn->regions.data[each].first, 0)] =
      append(s, to, HIA_OP_ARG, NULL, 0, HIA_I64, 0, loc);
  for (hia_node_id k = fn->regions.data[each].first, next; k != HIA_NONE; k = next) {
    next = fn->nodes.data[k].next;
    if (s->is_second[k]) hiaG_remove(fn, k);
  }
  hiaG_copy_region(g, fn, to, HIA_NONE, fn, each, copies, HIA_NONE);
  hia_value_id *words = HIA_NEW_ARRAY(s->b->arena, hia_value_id, s->crossing.len + 1);
  for (uint32_t i = 0; i < s->crossing.len; i++) words[i] = copies[s->crossing.data[i]];
  hia_value_id part = append(s, to, HIA_OP_DATA, words, s->crossing.len, type, 0, loc);
  hiaG_yield(g, fn, to, &part, 1);
  hia_subst subst = hiaG_subst(g, fn);
  hiaG_replace(&subst, old, hiaG_out(fn, second, 0));
  hiaG_remove(fn, map);
  HIA_EACH_NODE(fn, m) hiaG_rewrite_ins(&subst, fn, m);
}

/* True if a map was split. */
static bool split_one(const hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  splitting s = {.b = b, .f = f, .fn = fn, .of = &b->fns[f]};
  s.is_second = HIA_NEW_ARRAY(b->arena, bool, fn->nodes.len + 1);
  s.rows = hiaG_find_rows((hia_batcher *)b, f);
  s.is_crossing = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  HIA_EACH_NODE(fn, n) {
    hia_region_id each = fn->nodes.data[n].regions;
    if (fn->nodes.data[n].op != HIA_OP_MAP || !find_second(&s, each) || !list_crossing(&s, each))
      continue;
    split(&s, n);
    hiaG_compact(b->g, fn);
    return true;
  }
  return false;
}

bool hiaG_batch_split(hia_batcher *b) {
  bool is_changed = false;
  HIA_EACH_FN_BELOW(b->g, b->n, f) is_changed |= split_one(b, f);
  return is_changed;
}
