/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* cse: common subexpressions, by value numbering (hash-consing) in scopes. An operation that was
 * executed before on the same values is not executed again.
 *
 * "Before" means in a dominating position: earlier in the same region, or in a region around it.
 * One would expect a dominator tree. But regions nest as scopes do, so one hash table is enough,
 * from which the walk removes a region's entries when it leaves the region. Ops that can fail are
 * merged too: if the op fails, it fails the first time, and the second is never reached. So are
 * calls of pure host functions. Branches, loops and other calls stay, what has an effect, and what
 * takes memory.
 *
 * Also merged are results of one branch for which both arms yield the same pair of values, and
 * variables of one loop with the same first and next values.
 *
 * Requires and keeps nothing. */
#include "graph/analysis/effects.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"

typedef struct entry {
  uint32_t hash;
  hia_node_id node;
  uint32_t next; /* in its bucket */
} entry;

typedef struct finding {
  hia_fn *fn;
  hia_subst subst;
  uint32_t *buckets;
  uint32_t n_buckets;     /* a power of two */
  HIA_VEC(entry) entries; /* a stack: inner regions on top */
  uint32_t *start;        /* by region: where its entries begin */
  bool is_changed;
} finding;

/* Two nodes with equal keys compute the same. */
typedef struct key {
  unsigned op;
  hia_type type;
  uint64_t imm;
  uint32_t n_ins;
  hia_value_id ins[3];
} key;

/* Returns the key of a node: operands of commutative ops are sorted; > and >= become < and <=. */
static key key_of(const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  key k = {.op = node->op, .type = hiaG_type(fn, node->outs), .imm = node->imm};
  k.n_ins = node->n_ins;
  for (uint32_t i = 0; i < node->n_ins; i++) k.ins[i] = hiaG_in(fn, n, i);
  bool is_swapped = k.op == HIA_OP_GT || k.op == HIA_OP_GE;
  if (k.op == HIA_OP_GT) k.op = HIA_OP_LT;
  if (k.op == HIA_OP_GE) k.op = HIA_OP_LE;
  if (hiaR_ops[k.op].traits & HIA_T_COMMUTES) is_swapped = k.ins[0] > k.ins[1];
  if (is_swapped) {
    hia_value_id first = k.ins[0];
    k.ins[0] = k.ins[1];
    k.ins[1] = first;
  }
  return k;
}

static bool is_equal(const key *a, const key *b) {
  if (a->op != b->op || a->type != b->type || a->imm != b->imm || a->n_ins != b->n_ins)
    return false;
  return memcmp(a->ins, b->ins, a->n_ins * sizeof *a->ins) == 0;
}

static uint32_t hash_of(const key *k) {
  uint64_t h = k->op * 5u + k->type;
  h = (h ^ k->imm) * HIA_MIX;
  for (uint32_t i = 0; i < k->n_ins; i++) h = ((h >> 29) ^ h ^ k->ins[i]) * HIA_MIX;
  return (uint32_t)(h >> 32);
}

static void pop_to(finding *f, uint32_t len) {
  while (f->entries.len > len) {
    const entry *e = &f->entries.data[--f->entries.len];
    f->buckets[e->hash & (f->n_buckets - 1)] = e->next;
  }
}

static void drop(finding *f, hia_node_id n) {
  hiaG_remove(f->fn, n);
  f->is_changed = true;
}

static void visit_op(finding *f, hia_node_id n) {
  key k = key_of(f->fn, n);
  uint32_t hash = hash_of(&k), *bucket = &f->buckets[hash & (f->n_buckets - 1)];
  for (uint32_t i = *bucket; i != HIA_NONE; i = f->entries.data[i].next) {
    if (f->entries.data[i].hash != hash) continue;
    key other = key_of(f->fn, f->entries.data[i].node);
    if (!is_equal(&k, &other)) continue;
    hiaG_replace(&f->subst, hiaG_out(f->fn, n, 0), hiaG_out(f->fn, f->entries.data[i].node, 0));
    drop(f, n);
    return;
  }
  hiaR_push(f->subst.arena, &f->entries, (entry){hash, n, *bucket});
  *bucket = f->entries.len - 1;
}

/* Replaces values[i] by values[k] where an earlier pair (a[k], b[k]) equals (a[i], b[i]). */
static bool merge_pairs(finding *f, const hia_value_id *a, const hia_value_id *b, uint32_t n,
                        const hia_value_id *values) {
  if (n < 2) return false;
  bool is_merged = false;
  uint32_t size = 4;
  while (size < 2 * n) size *= 2;
  uint32_t *table = HIA_NEW_ARRAY(f->subst.arena, uint32_t, size); /* index of a pair + 1 */
  for (uint32_t i = 0; i < n; i++) {
    uint64_t h = (a[i] * HIA_MIX ^ b[i]) * HIA_MIX;
    uint32_t at = (uint32_t)(h >> 32) & (size - 1);
    while (table[at] && (a[table[at] - 1] != a[i] || b[table[at] - 1] != b[i]))
      at = (at + 1) & (size - 1);
    if (table[at]) {
      hiaG_replace(&f->subst, values[i], values[table[at] - 1]);
      is_merged = true;
    } else {
      table[at] = i + 1;
    }
  }
  return is_merged;
}

static const hia_value_id *outs_of(finding *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  hia_value_id *outs = HIA_NEW_ARRAY(f->subst.arena, hia_value_id, node->n_outs);
  for (uint32_t i = 0; i < node->n_outs; i++) outs[i] = node->outs + i;
  return outs;
}

static const hia_value_id *ins_of(const hia_fn *fn, hia_node_id n) {
  return fn->edges.data + fn->nodes.data[n].ins;
}

static void leave_if(finding *f, hia_node_id n) {
  const hia_fn *fn = f->fn;
  hia_region_id arm = fn->nodes.data[n].regions;
  merge_pairs(f, ins_of(fn, hiaG_yield_of(fn, arm)), ins_of(fn, hiaG_yield_of(fn, arm + 1)),
              fn->nodes.data[n].n_outs, outs_of(f, n));
}

/* True if variables were merged: the walk has already passed their uses. */
static bool leave_loop(finding *f, hia_node_id n) {
  hia_fn *fn = f->fn;
  const hia_node *node = &fn->nodes.data[n];
  hia_region_id head = node->regions;
  hia_value_id *variables = HIA_NEW_ARRAY(f->subst.arena, hia_value_id, node->n_ins);
  HIA_EACH_ARG(fn, head, arg) variables[HIA_IMM_A(fn->nodes.data[arg].imm)] = hiaG_out(fn, arg, 0);
  bool is_merged = merge_pairs(f, ins_of(fn, n), ins_of(fn, hiaG_yield_of(fn, head + 1)),
                               node->n_ins, variables);
  hiaG_rewrite_ins(&f->subst, fn, hiaG_yield_of(fn, head));
  const hia_value_id *exits = ins_of(fn, hiaG_yield_of(fn, head)) + 1;
  merge_pairs(f, exits, exits, node->n_outs, outs_of(f, n));
  return is_merged;
}

static bool may_merge(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  if (node->n_ins > 3 || node->n_outs != 1) return false;
  unsigned keeps = HIA_E_IMPURE | HIA_E_ONCE | HIA_E_STRUCTURE;
  if (!hiaG_is_operation(fn, n)) keeps |= HIA_E_ALLOCATES; /* tensors are costly */
  return !hiaG_node_does(g, fn, n, keeps);
}

void hiaG_cse(hia_graph *g, hia_fn *fn) {
  hia_arena *scratch = &g->comp->scratch;
  finding f = {.fn = fn, .subst = hiaG_subst(g, fn), .n_buckets = 16};
  while (f.n_buckets < fn->nodes.len) f.n_buckets *= 2;
  f.buckets = HIA_NEW_ARRAY(scratch, uint32_t, f.n_buckets);
  memset(f.buckets, 0xff, f.n_buckets * sizeof *f.buckets);
  f.start = HIA_NEW_ARRAY(scratch, uint32_t, fn->regions.len);
  bool has_variables = false;
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    const hia_node *node = &fn->nodes.data[n];
    hiaG_rewrite_ins(&f.subst, fn, n);
    next = hiaG_walk_next(fn, n);
    if (node->regions != HIA_NONE) f.start[node->regions] = f.entries.len;
    if (node->op == HIA_OP_YIELD) {
      hia_region_id r = node->region;
      hia_node_id owner = fn->regions.data[r].owner;
      switch ((hia_region_kind)fn->regions.data[r].kind) {
      case HIA_REGION_BODY: break;
      case HIA_REGION_THEN: pop_to(&f, f.start[r]); break;
      case HIA_REGION_ELSE:
        pop_to(&f, f.start[r - 1]);
        leave_if(&f, owner);
        break;
      case HIA_REGION_EACH: pop_to(&f, f.start[r]); break;
      case HIA_REGION_HEAD: break; /* its values are visible in the ROUND */
      case HIA_REGION_ROUND:
        pop_to(&f, f.start[r - 1]);
        has_variables |= leave_loop(&f, owner);
        break;
      }
    } else if (may_merge(g, fn, n)) {
      visit_op(&f, n);
    }
  }
  if (has_variables)
    HIA_EACH_NODE(fn, n) hiaG_rewrite_ins(&f.subst, fn, n);
  if (f.is_changed) hiaG_compact(g, fn);
}
