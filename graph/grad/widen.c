/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The version that a call from outside of a recursion asks for. The loss of a tree comes with a
 * gradient where a program asks for it, and its state does not; but further down the recursion does
 * for both. These would be two versions of all functions of the recursion, of which the first
 * serves one activation a tree. So where the calls of a recursion among themselves have more, the
 * call from outside takes the version that serves them: what flows to its other results is zeros,
 * and nobody takes what flows to its other arguments.
 *
 * How much more they have is found by going through the functions of the recursion: forwards for
 * what varies (active.c), backwards for what comes with a gradient, until nothing is added. */
#include "graph/grad/shared.h"
#include "graph/ir/walk.h"

/* What a call has: which arguments vary, and which results come with a gradient. */
typedef struct has {
  bool *varies, *seeded;
} has;

/* A function of the recursion, and all that its calls have, together. */
typedef struct reached {
  hia_fn_id fn;
  has all;
  bool is_left;         /* to be gone through, again */
  HIA_VEC(has) entries; /* its calls of the function that is called from outside */
} reached;

typedef struct widening {
  hia_grad *d;
  uint32_t params;
  HIA_VEC(reached) reached; /* the callee from outside is the first */
  hia_index index;          /* of `reached`, by function */
} widening;

/* A function that is gone through. */
typedef struct flow {
  const hia_fn *fn;
  const bool *varies; /* by value */
  bool *gets;         /* by value: it comes with a gradient */
  bool is_changed;
} flow;

static reached *find(widening *w, hia_fn_id f) {
  uint32_t hash = hiaR_hash(&f, sizeof f), at = hash, i;
  while ((i = hiaR_index_next(&w->index, hash, &at)) != HIA_NONE)
    if (w->reached.data[i].fn == f) return &w->reached.data[i];
  return NULL;
}

static reached *reach(widening *w, hia_fn_id f) {
  reached *found = find(w, f);
  if (found) return found;
  hia_arena *arena = w->d->arena;
  const hia_fn *fn = hiaG_fn(w->d->g, f);
  reached r = {.fn = f, .is_left = true};
  r.all.varies = HIA_NEW_ARRAY(arena, bool, fn->n_params + 1);
  r.all.seeded = HIA_NEW_ARRAY(arena, bool, fn->n_results + 1);
  hiaR_index_add(arena, &w->index, hiaR_hash(&f, sizeof f), w->reached.len);
  hiaR_push(arena, &w->reached, r);
  return &w->reached.data[w->reached.len - 1];
}

static bool add(bool *to, const bool *flags, uint32_t n) {
  bool is_changed = false;
  for (uint32_t i = 0; i < n; i++) {
    is_changed |= flags[i] && !to[i];
    to[i] |= flags[i];
  }
  return is_changed;
}

/* ---- backwards through a function ---- */

static void give(flow *f, hia_value_id v) {
  if (!f->varies[v] || f->gets[v]) return;
  f->gets[v] = f->is_changed = true;
}

static bool some_out_gets(const flow *f, const hia_node *node) {
  for (uint32_t i = 0; i < node->n_outs; i++)
    if (f->gets[node->outs + i]) return true;
  return false;
}

static void give_yielded(flow *f, hia_node_id yield, const bool *seeded) {
  const hia_fn *fn = f->fn;
  const hia_node *node = &fn->nodes.data[yield];
  const hia_node *owner = &fn->nodes.data[fn->regions.data[node->region].owner];
  for (uint32_t i = 0; i < node->n_ins; i++) {
    bool does = false;
    if (node->region == 0) {
      does = seeded[i];
    } else if (owner->op == HIA_OP_IF) {
      does = f->gets[owner->outs + i];
    } else if (owner->op == HIA_OP_MAP) {
      does = f->gets[owner->outs];
    } else if (node->region == owner->regions) { /* the head; its first is the condition */
      does = i > 0 && f->gets[owner->outs + i - 1];
    } else {
      HIA_EACH_ARG(fn, owner->regions, arg)
        if (fn->nodes.data[arg].imm == i) does = f->gets[fn->nodes.data[arg].outs];
    }
    if (does) give(f, hiaG_in(fn, yield, i));
  }
}

static void give_operands(flow *f, hia_node_id n, const bool *seeded) {
  const hia_fn *fn = f->fn;
  const hia_node *node = &fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_YIELD: give_yielded(f, n, seeded); return;
  case HIA_OP_IF:
  case HIA_OP_MAP: return; /* their regions' YIELDs */
  case HIA_OP_ARG:
    if (node->region && f->gets[node->outs]) {
      hia_node_id owner = fn->regions.data[node->region].owner;
      if (fn->nodes.data[owner].op == HIA_OP_LOOP) give(f, hiaG_in(fn, owner, (uint32_t)node->imm));
    }
    return;
  default:
    if (!some_out_gets(f, node) || hiaR_ops[node->op].gradient == HIA_GRADIENT_ZERO) return;
    for (uint32_t i = 0; i < node->n_ins; i++) give(f, hiaG_in(fn, n, i));
  }
}

/* ---- the recursion ---- */

/* True if the functions are of one recursion. What grad has made itself is of none. */
static bool call_each_other(const hia_grad *d, hia_fn_id a, hia_fn_id b) {
  uint32_t n = d->n_looked_at;
  return a < n && b < n && d->groups[a] == d->groups[b] && d->effects[b] & HIA_E_RECURSIVE;
}

/* Adds to a callee what this call, in function i, has. */
static void add_call(widening *w, uint32_t i, const flow *f, hia_node_id n) {
  const hia_fn *fn = f->fn;
  const hia_node *node = &fn->nodes.data[n];
  hia_arena *arena = w->d->arena;
  if (node->op != HIA_OP_CALL || !some_out_gets(f, node)) return;
  hia_fn_id callee = hiaG_callee(node);
  if (!call_each_other(w->d, w->reached.data[0].fn, callee)) return;
  has own = {HIA_NEW_ARRAY(arena, bool, node->n_ins + 1),
             HIA_NEW_ARRAY(arena, bool, node->n_outs + 1)};
  for (uint32_t k = 0; k < node->n_ins; k++) own.varies[k] = f->varies[hiaG_in(fn, n, k)];
  for (uint32_t k = 0; k < node->n_outs; k++) own.seeded[k] = f->gets[node->outs + k];
  reached *r = reach(w, callee);
  bool is_more = add(r->all.varies, own.varies, node->n_ins);
  is_more |= add(r->all.seeded, own.seeded, node->n_outs);
  r->is_left |= is_more;
  if (r == w->reached.data) hiaR_push(arena, &w->reached.data[i].entries, own);
}

static void go_through(widening *w, uint32_t i) {
  reached *r = &w->reached.data[i];
  const has all = r->all;
  r->is_left = false;
  r->entries.len = 0;
  const hia_fn *fn = hiaG_grad_inlined(w->d, r->fn);
  flow f = {.fn = fn, .varies = hiaG_grad_activity(w->d, fn, w->params, all.varies)};
  f.gets = HIA_NEW_ARRAY(w->d->arena, bool, fn->values.len + 1);
  hia_u32vec order = {0};
  HIA_EACH_NODE(fn, n) hiaR_push(w->d->arena, &order, n);
  do { /* what the rounds of loops find of each other */
    f.is_changed = false;
    for (uint32_t k = order.len; k-- > 0;) give_operands(&f, order.data[k], all.seeded);
  } while (f.is_changed);
  HIA_EACH_NODE(fn, n) add_call(w, i, &f, n);
}

static void go_through_all(widening *w) {
  bool is_changed;
  do {
    is_changed = false;
    for (uint32_t i = 0; i < w->reached.len; i++)
      if (w->reached.data[i].is_left) {
        go_through(w, i);
        is_changed = true;
      }
  } while (is_changed);
}

/* True if a call in the recursion has all that was found: its version is made anyway. */
static bool is_made_anyway(const widening *w) {
  const reached *first = w->reached.data;
  const hia_fn *fn = hiaG_fn(w->d->g, first->fn);
  for (uint32_t i = 0; i < w->reached.len; i++)
    for (uint32_t k = 0; k < w->reached.data[i].entries.len; k++) {
      const has *own = &w->reached.data[i].entries.data[k];
      if (memcmp(own->varies, first->all.varies, fn->n_params * sizeof(bool)) == 0 &&
          memcmp(own->seeded, first->all.seeded, fn->n_results * sizeof(bool)) == 0)
        return true;
    }
  return false;
}

uint32_t hiaG_grad_version_from(hia_grad *d, hia_fn_id caller, hia_fn_id callee, uint32_t params,
                                const bool *varies, const bool *seeded) {
  if (call_each_other(d, caller, callee) || !call_each_other(d, callee, callee))
    return hiaG_grad_version(d, callee, params, varies, seeded);
  widening w = {.d = d, .params = params};
  const hia_fn *fn = hiaG_fn(d->g, callee);
  reached *r = reach(&w, callee);
  add(r->all.varies, varies, fn->n_params);
  add(r->all.seeded, seeded, fn->n_results);
  go_through_all(&w);
  if (is_made_anyway(&w)) {
    varies = w.reached.data[0].all.varies;
    seeded = w.reached.data[0].all.seeded;
  }
  return hiaG_grad_version(d, callee, params, varies, seeded);
}
