/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Which values are late: they are pending tensors, or may be, or scalars that depend on one. From
 * definitions to uses, again and again, through calls, branches, loops and objects, until nothing
 * changes.
 *
 * What begins it is a product with a large matrix that all activations share. What computes with
 * something late is late too, if it can be lifted; else it reads the elements, and the run waits
 * for them. A scalar is not late in an object whose type the runtime knows, or in an array that
 * hosts see. In other objects that hosts see it stays a scalar, and is *owed*: it is filled in when
 * it is computed, and what reads it waits (runtime/native/batch/owed.c). */
#include "graph/analysis/groups.h"
#include "graph/batch/batcher.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"

typedef struct looking {
  hia_batcher *b;
  hia_fn_id f;
  const hia_fn *fn;
  hia_batch_fn *of;
  bool is_changed;
} looking;

static bool is_late(const looking *l, hia_value_id v) { return l->of->is_late[v]; }

static void set_late(looking *l, bool *flag) {
  if (!*flag) l->is_changed = *flag = true;
}

/* Scalars and tensors alone are late. */
static bool can_be_late(const looking *l, hia_value_id v) {
  return hiaG_is_scalar(hiaG_type(l->fn, v)) || hiaG_is_tensor(l->b->g, l->fn, v);
}

static void pass_on(looking *l, hia_value_id v, bool *to) {
  if (is_late(l, v)) set_late(l, to);
}
static void receive(looking *l, hia_value_id v, bool from) {
  if (from && can_be_late(l, v)) set_late(l, &l->of->is_late[v]);
}

static void store(void *user, uint32_t i, hia_value_id v, uint32_t word) {
  looking *l = user;
  (void)i;
  if (l->b->may_be_late[word])
    pass_on(l, v, &l->b->late_words[word]);
  else if (l->b->may_be_owed[word])
    pass_on(l, v, &l->b->owed_words[word]);
}

static void loop(looking *l, hia_node_id n) {
  const hia_node *node = &l->fn->nodes.data[n];
  hia_node_id head = hiaG_yield_of(l->fn, node->regions),
              round = hiaG_yield_of(l->fn, node->regions + 1);
  HIA_EACH_ARG(l->fn, node->regions, arg) {
    uint32_t i = (uint32_t)l->fn->nodes.data[arg].imm;
    hia_value_id v = l->fn->nodes.data[arg].outs;
    receive(l, v, is_late(l, hiaG_in(l->fn, n, i)) || is_late(l, hiaG_in(l->fn, round, i)));
  }
  for (uint32_t i = 0; i < node->n_outs; i++)
    receive(l, node->outs + i, is_late(l, hiaG_in(l->fn, head, i + 1)));
}

static void branch(looking *l, hia_node_id n) {
  const hia_node *node = &l->fn->nodes.data[n];
  for (unsigned arm = 0; arm < 2; arm++) {
    hia_node_id yield = hiaG_yield_of(l->fn, node->regions + arm);
    for (uint32_t i = 0; i < node->n_outs; i++)
      receive(l, node->outs + i, is_late(l, hiaG_in(l->fn, yield, i)));
  }
}

static void call(looking *l, hia_node_id n) {
  const hia_node *node = &l->fn->nodes.data[n];
  hia_batch_fn *callee = &l->b->fns[hiaG_callee(node)];
  for (uint32_t i = 0; i < node->n_ins; i++)
    pass_on(l, hiaG_in(l->fn, n, i), &callee->late_params[i]);
  for (uint32_t i = 0; i < node->n_outs; i++) receive(l, node->outs + i, callee->late_results[i]);
}

static void computes(looking *l, hia_node_id n) {
  const hia_node *node = &l->fn->nodes.data[n];
  bool becomes_late = l->of->is_heavy[n];
  for (uint32_t i = 0; i < node->n_ins; i++) becomes_late |= is_late(l, hiaG_in(l->fn, n, i));
  receive(l, node->outs, becomes_late);
}

bool hiaG_batch_packs_late(const hia_batcher *b, hia_fn_id f, hia_node_id n) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  const hia_node *node = &fn->nodes.data[n];
  if (!b->owes || node->op != HIA_OP_PACK || node->n_ins != 1) return false;
  uint32_t word = hiaG_batch_word(b->g, hiaG_type(fn, hiaG_in(fn, n, 0)), 0, 0);
  bool is_of_scalars = hiaR_is_scalar(b->g->types->layout_words.data[word].type);
  return is_of_scalars && b->late_words[word] && hiaG_batch_size(b, f, node->outs, 0) < 0;
}

static void look_at(looking *l, hia_node_id n) {
  const hia_node *node = &l->fn->nodes.data[n];
  uint32_t word = hiaG_batch_read_word(l->b->g, l->fn, n);
  hiaG_batch_stores(l->b->g, l->fn, n, store, l);
  if (l->of->can_lift[n])
    computes(l, n);
  else if (word != HIA_NONE)
    receive(l, node->outs, l->b->late_words[word]);
  else if (hiaG_batch_packs_late(l->b, l->f, n))
    receive(l, node->outs, true);
  else if (node->op == HIA_OP_EXPECT)
    receive(l, node->outs, is_late(l, hiaG_in(l->fn, n, 0)));
  else if (node->op == HIA_OP_IF)
    branch(l, n);
  else if (node->op == HIA_OP_LOOP)
    loop(l, n);
  else if (node->op == HIA_OP_CALL)
    call(l, n);
  else if (node->op == HIA_OP_ARG && node->region == 0)
    receive(l, node->outs, l->of->late_params[node->imm]);
  else if (node->op == HIA_OP_YIELD && node->region == 0 && !l->fn->is_root)
    for (uint32_t i = 0; i < node->n_ins; i++)
      pass_on(l, hiaG_in(l->fn, n, i), &l->of->late_results[i]);
}

typedef struct storing {
  const hia_batcher *b;
  const hia_batch_fn *known;
  uint32_t operand;
  bool is_late;
} storing;
static void see_store(void *user, uint32_t i, hia_value_id v, uint32_t word) {
  storing *s = user;
  if (i != s->operand) return;
  bool is_tensor = !hiaR_is_scalar(s->b->g->types->layout_words.data[word].type);
  bool is_owed = s->b->owed_words[word] && s->known->is_late[v];
  s->is_late = is_tensor || s->b->late_words[word] || is_owed; /* types have changed, or not */
}

static bool is_variable_late(const hia_fn *fn, const hia_batch_fn *known, const hia_node *loop,
                             uint32_t i) {
  hia_node_id arg = fn->regions.data[loop->regions].first;
  while (fn->nodes.data[arg].imm != i) arg = fn->nodes.data[arg].next;
  return known->is_late[fn->nodes.data[arg].outs];
}

bool hiaG_batch_passes_on(const hia_batcher *b, hia_fn_id f, hia_node_id n, uint32_t i) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  const hia_batch_fn *known = &b->fns[f];
  const hia_node *node = &fn->nodes.data[n];
  if (node->op == HIA_OP_CALL) return b->fns[hiaG_callee(node)].late_params[i];
  if (node->op == HIA_OP_LOOP) return is_variable_late(fn, known, node, i);
  if (node->op == HIA_OP_YIELD) {
    if (node->region == 0) return known->late_results[i];
    const hia_region *r = &fn->regions.data[node->region];
    const hia_node *owner = &fn->nodes.data[r->owner];
    if (owner->op == HIA_OP_IF) return known->is_late[owner->outs + i];
    if (r->kind == HIA_REGION_HEAD) return i > 0 && known->is_late[owner->outs + i - 1];
    if (r->kind == HIA_REGION_ROUND) return is_variable_late(fn, known, owner, i);
  }
  storing s = {b, known, i, false};
  hiaG_batch_stores(b->g, fn, n, see_store, &s);
  return s.is_late;
}

bool hiaG_is_deferred(const hia_batcher *b, hia_fn_id f, hia_node_id n) {
  const hia_batch_fn *known = &b->fns[f];
  const hia_node *node = &hiaG_fn(b->g, f)->nodes.data[n];
  return known->can_lift[n] && known->is_late[node->outs];
}

bool hiaG_batch_is_owed(const hia_batcher *b, const hia_fn *fn, hia_node_id n) {
  uint32_t word = hiaG_batch_read_word(b->g, fn, n);
  return word != HIA_NONE && b->owed_words[word];
}

bool hiaG_batch_may_owe(const hia_batcher *b, hia_type type) {
  const hia_types *types = b->g->types;
  bool *marks = HIA_NEW_ARRAY(b->arena, bool, types->entries.len + 1);
  hiaG_mark_parts(types, type, marks);
  for (uint32_t t = 0; t < types->entries.len; t++) {
    const hia_type_entry *entry = &types->entries.data[t];
    for (uint32_t c = 0; marks[t] && entry->kind == HIA_KIND_DATA && c < entry->n; c++) {
      const hia_layout *layout = &types->ctors.data[entry->first + c].layout;
      for (uint32_t i = 0; i < layout->n; i++)
        if (b->owed_words[layout->first + i]) return true;
    }
  }
  return false;
}

bool hiaG_reads_elements(const hia_graph *g, const hia_fn *fn, hia_node_id n, uint32_t i) {
  const hia_node *node = &fn->nodes.data[n];
  hia_type_kind kind = hiaG_type_kind(g->types, hiaG_type(fn, hiaG_in(fn, n, i)));
  switch (node->op) {
  case HIA_OP_DIM:
  case HIA_OP_EXPECT:
  case HIA_OP_ALIKE:
  case HIA_OP_WITHIN:
  case HIA_OP_FORCE:
  case HIA_OP_DEFER: return false;
  default: break;
  }
  if (!hiaG_is_operation(fn, n) && node->op != HIA_OP_PACK) return false;
  return kind != HIA_KIND_SCALAR;
}

/* The words that the runtime and hosts know are what they are; a tensor there may be pending, and
 * scalars of a data type may be filled in later. */
static void find_words(hia_batcher *b) {
  const hia_types *types = b->g->types;
  b->may_be_owed = HIA_NEW_ARRAY(b->arena, bool, types->layout_words.len + 1);
  b->owed_words = HIA_NEW_ARRAY(b->arena, bool, types->layout_words.len + 1);
  b->may_be_late = HIA_NEW_ARRAY(b->arena, bool, types->layout_words.len + 1);
  for (uint32_t i = 0; i < types->layout_words.len; i++) b->may_be_late[i] = true;
  for (uint32_t t = 0; t < types->entries.len; t++) {
    const hia_type_entry *entry = &types->entries.data[t];
    if (!b->is_outside[t] && !hiaG_is_sum(types, t + HIA_FIRST_TYPE)) continue;
    bool is_data = entry->kind == HIA_KIND_DATA;
    bool may_owe = b->owes && is_data && !hiaG_is_sum(types, t + HIA_FIRST_TYPE);
    uint32_t n = is_data ? entry->n : entry->kind == HIA_KIND_ARRAY;
    for (uint32_t c = 0; c < n; c++) {
      const hia_layout *layout =
          is_data ? &types->ctors.data[entry->first + c].layout : &entry->layout;
      for (uint32_t i = 0; i < layout->n; i++)
        if (hiaR_is_scalar(types->layout_words.data[layout->first + i].type)) {
          b->may_be_late[layout->first + i] = false;
          b->may_be_owed[layout->first + i] = may_owe;
        }
    }
  }
}

void hiaG_batch_find_late(hia_batcher *b) {
  find_words(b);
  b->late_words = HIA_NEW_ARRAY(b->arena, bool, b->g->types->layout_words.len + 1);
  for (hia_fn_id f = 0; f < b->n; f++) {
    const hia_fn *fn = hiaG_fn(b->g, f);
    b->fns[f].is_late = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
    b->fns[f].late_params = HIA_NEW_ARRAY(b->arena, bool, fn->n_params + 1);
    b->fns[f].late_results = HIA_NEW_ARRAY(b->arena, bool, fn->n_results + 1);
  }
  /* Callees first, then callers first, and so on: results are found on the one way, parameters on
   * the other. */
  const hia_fn_order order = hiaG_callees_first(b->arena, b->g);
  bool is_down = false;
  for (bool is_changed = true; is_changed; is_down = !is_down) {
    is_changed = false;
    hiaR_look(b->g->comp);
    for (uint32_t k = 0; k < order.n; k++) {
      hia_fn_id f = order.fns[is_down ? order.n - 1 - k : k];
      looking l = {b, f, hiaG_fn(b->g, f), &b->fns[f], false};
      HIA_EACH_NODE(l.fn, n) look_at(&l, n);
      is_changed |= l.is_changed;
    }
  }
}
