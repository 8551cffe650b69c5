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
 * behind the walk's place. No value in the set is a field of another, read directly or through
 * further fields. Then the tokens of UNPACKs are given to constructions of the same size. */
#include "graph/refs/refs.h"

typedef uint64_t *ref_set; /* of numbers of references, as bits */

typedef struct counting {
  hia_graph *g;
  hia_fn *fn;
  hia_arena *scratch;
  hia_ref_version *versions; /* by function */
  hia_fn_id id;
  bool is_trial; /* finds out which versions are wanted, and adds no nodes */

  uint32_t n, n_words;    /* references, and words of a set */
  uint32_t *ref;          /* by value: its number; NONE: it is not counted */
  hia_value_id *value;    /* by reference */
  uint32_t *parent;       /* by reference: it is a field of this one; or NONE */
  uint32_t *child, *next; /* by reference: its fields, as a list */
  bool *is_borrowed;      /* by reference: a parameter that belongs to the caller */
  uint32_t *known;        /* by reference: its constructor where the walk is; or NONE */
  uint32_t *inside;       /* by value: number of the innermost loop's walk that defines it */
  uint32_t n_walks;
  hia_u32vec replaced; /* pairs: old and new results of loops */
} counting;

/* ---- sets ---- */

static bool has(const ref_set s, uint32_t r) { return s[r / 64] >> r % 64 & 1; }
static void add(ref_set s, uint32_t r) { s[r / 64] |= (uint64_t)1 << r % 64; }
static void take_out(ref_set s, uint32_t r) { s[r / 64] &= ~((uint64_t)1 << r % 64); }

static ref_set copy_set(const counting *c, const ref_set s) {
  ref_set copy = HIA_NEW_ARRAY(c->scratch, uint64_t, c->n_words);
  memcpy(copy, s, c->n_words * sizeof *s);
  return copy;
}

/* The first member of a that b lacks and that is at least `from`; NONE: there is none. */
static uint32_t missing(const counting *c, const ref_set a, const ref_set b, uint32_t from) {
  for (uint32_t w = from / 64; w < c->n_words; w++) {
    uint64_t bits = a[w] & ~b[w];
    if (w == from / 64) bits &= ~(uint64_t)0 << from % 64;
    if (bits) return 64 * w + (uint32_t)__builtin_ctzll(bits);
  }
  return HIA_NONE;
}

/* ---- values ---- */

static bool has_ancestor(const counting *c, const ref_set s, uint32_t r) {
  for (r = c->parent[r]; r != HIA_NONE; r = c->parent[r])
    if (has(s, r)) return true;
  return false;
}

/* True if something that is live, or the caller, keeps the value. */
static bool is_alive(const counting *c, const ref_set live, uint32_t r) {
  for (; r != HIA_NONE; r = c->parent[r])
    if (has(live, r) || c->is_borrowed[r]) return true;
  return false;
}

static bool has_live_part(const counting *c, const ref_set live, uint32_t r) {
  if (has(live, r)) return true;
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k])
    if (has_live_part(c, live, k)) return true;
  return false;
}

static const hia_ctor *ctor_of(const counting *c, uint32_t r, uint32_t number) {
  hia_type type = hiaG_type(c->fn, c->value[r]);
  const hia_types *types = c->g->types;
  return &types->ctors.data[types->entries.data[type - HIA_FIRST_TYPE].first + number];
}

/* ---- nodes ---- */

static void count_node(const counting *c, hia_node_id at, unsigned op, hia_value_id v) {
  if (c->is_trial) return;
  hiaG_insert(c->g, c->fn, at, op, &v, 1, NULL, 0, 0, HIA_NONE);
}

static void unpack(const counting *c, hia_node_id at, uint32_t r, uint32_t ctor, uint32_t kept) {
  if (c->is_trial) return;
  hia_type type = hiaG_type(c->fn, c->value[r]);
  hiaG_insert(c->g, c->fn, at, HIA_OP_UNPACK, &c->value[r], 1, &type, 1, HIA_IMM(ctor, kept),
              HIA_NONE);
}

static const hia_node *definition(const counting *c, uint32_t r) {
  return hiaG_def(c->fn, c->value[r]);
}

/* Else it is an element of an array. */
static bool is_field(const counting *c, uint32_t part) {
  return definition(c, part)->op == HIA_OP_FIELD;
}

/* The bit of a field among the references of its constructor; 32 or more: it has none. */
static uint32_t bit_of(const counting *c, uint32_t field) {
  const hia_node *n = definition(c, field);
  const hia_ctor *ctor = ctor_of(c, c->parent[field], HIA_IMM_A(n->imm));
  const hia_word_place *place = &c->g->types->places.data[ctor->layout.first + HIA_IMM_B(n->imm)];
  return (place->at - (uint32_t)sizeof(hia_counted)) / (uint32_t)sizeof(hia_word);
}

/* Live parts of r get references of their own before node `at`, and are no longer in the set:
 * before it they are r's. */
static void dup_parts(counting *c, ref_set live, uint32_t r, hia_node_id at) {
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k]) {
    if (has(live, k)) {
      count_node(c, at, HIA_OP_DUP, c->value[k]);
      take_out(live, k);
    }
    dup_parts(c, live, k, at);
  }
}

/* Value r, which is not in the set, dies before node `at`; behind that its live parts are owned.
 * `ctor`: its constructor, if it is known, or NONE. */
static void die(counting *c, ref_set live, uint32_t r, uint32_t ctor, hia_node_id at) {
  uint32_t kept = 0;
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k])
    if (has_live_part(c, live, k) && is_field(c, k)) ctor = HIA_IMM_A(definition(c, k)->imm);
  if (ctor != HIA_NONE && !ctor_of(c, r, ctor)->n) return; /* it is no object */
  for (uint32_t k = c->child[r]; ctor != HIA_NONE && k != HIA_NONE; k = c->next[k])
    if (has_live_part(c, live, k) &&
        (!is_field(c, k) || HIA_IMM_A(definition(c, k)->imm) != ctor || bit_of(c, k) >= 32))
      ctor = HIA_NONE;
  if (ctor == HIA_NONE) {
    dup_parts(c, live, r, at);
    count_node(c, at, HIA_OP_DROP, c->value[r]);
    return;
  }
  /* The same field may have been read twice: the second value needs a reference of its own. */
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k]) {
    if (!has_live_part(c, live, k)) continue;
    if (kept >> bit_of(c, k) & 1) count_node(c, at, HIA_OP_DUP, c->value[k]);
    kept |= 1u << bit_of(c, k);
  }
  unpack(c, at, r, ctor, kept);
  for (uint32_t k = c->child[r]; k != HIA_NONE; k = c->next[k]) {
    if (!has_live_part(c, live, k)) continue;
    if (has(live, k))
      take_out(live, k);
    else
      die(c, live, k, c->known[k], at);
  }
}

/* The same at the start of a region: behind its ARGs and the join of a fork. */
hia_node_id hiaG_start_of(const hia_fn *fn, hia_region_id region) {
  hia_node_id n = fn->regions.data[region].first;
  while (fn->nodes.data[n].op == HIA_OP_ARG || fn->nodes.data[n].op == HIA_OP_JOIN)
    n = fn->nodes.data[n].next;
  return n;
}
static void die_at_start(counting *c, ref_set live, uint32_t r, hia_region_id region) {
  die(c, live, r, c->known[r], hiaG_start_of(c->fn, region));
  add(live, r);
}

/* ---- uses ---- */

/* Node n borrows the value; `ctor`: what n shows of it, or NONE. */
static void borrow(counting *c, ref_set live, hia_node_id n, hia_value_id v, uint32_t ctor) {
  uint32_t r = c->ref[v];
  if (r == HIA_NONE || is_alive(c, live, r)) return;
  die(c, live, r, ctor != HIA_NONE ? ctor : c->known[r], c->fn->nodes.data[n].next);
  add(live, r);
}

static void consume(counting *c, ref_set live, hia_node_id n, hia_value_id v) {
  uint32_t r = c->ref[v];
  if (r == HIA_NONE) return;
  if (is_alive(c, live, r)) {
    count_node(c, n, HIA_OP_DUP, v);
    return;
  }
  dup_parts(c, live, r, n);
  add(live, r);
}

/* Results that are not used are dropped at once. */
static void define_results(counting *c, ref_set live, hia_node_id n) {
  for (uint32_t i = 0; i < c->fn->nodes.data[n].n_outs; i++) {
    hia_value_id v = hiaG_out(c->fn, n, i);
    uint32_t r = c->ref[v];
    if (r == HIA_NONE || c->is_borrowed[r]) continue;
    if (!has(live, r)) {
      die(c, live, r, HIA_NONE, c->fn->nodes.data[n].next);
      continue;
    }
    take_out(live, r);
  }
}

/* ---- calls ---- */

static bool is_within_value(const counting *c, uint32_t part, uint32_t r) {
  for (; part != HIA_NONE; part = c->parent[part])
    if (part == r) return true;
  return false;
}

/* True if argument i of a call or fork dies with it: nothing that is live behind it, and no other
 * argument, is the value, a part of it, or has it as a part. */
static bool dies(const counting *c, const ref_set live, hia_node_id n, uint32_t i) {
  uint32_t r = c->ref[hiaG_in(c->fn, n, i)];
  if (r == HIA_NONE || is_alive(c, live, r) || has_live_part(c, live, r)) return false;
  for (uint32_t k = 0; k < c->fn->nodes.data[n].n_ins; k++) {
    uint32_t other = k == i ? HIA_NONE : c->ref[hiaG_in(c->fn, n, k)];
    if (other != HIA_NONE && (is_within_value(c, other, r) || is_within_value(c, r, other)))
      return false;
  }
  return true;
}

/* True if all arguments that the callee would borrow die at node n, which calls or forks it:
 * some are objects, and `can_go` allows it for each. */
static bool suits_owning(const counting *c, const ref_set live, hia_node_id n,
                         bool (*can_go)(const counting *c, hia_node_id fork, uint32_t r)) {
  const hia_node *node = &c->fn->nodes.data[n];
  const hia_ref_version *callee = &c->versions[hiaG_callee(node)];
  bool has_object = false;
  if (!callee->can_own || c->versions[c->id].base_call == n) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, n, i);
    if (callee->owns[i] || hiaG_is_scalar(hiaG_type(c->fn, v)) || c->ref[v] == HIA_NONE) continue;
    if (!dies(c, live, n, i) || (can_go && !can_go(c, n, c->ref[v]))) return false;
    has_object = true;
  }
  return has_object;
}

/* From now on node n calls the owning version. */
static void use_owning(const counting *c, hia_node_id n) {
  hia_node *node = &c->fn->nodes.data[n];
  hia_ref_version *callee = &c->versions[hiaG_callee(node)];
  if (c->is_trial)
    callee->is_wanted = true;
  else
    node->imm = HIA_IMM(callee->owning, HIA_IMM_B(node->imm));
}

static bool owns_argument(const counting *c, hia_node_id n, uint32_t i, bool is_owning) {
  const hia_node *node = &c->fn->nodes.data[n];
  if (hiaG_is_scalar(hiaG_type(c->fn, hiaG_in(c->fn, n, i)))) return false;
  return is_owning || c->versions[hiaG_callee(node)].owns[i];
}

static void call(counting *c, ref_set live, hia_node_id n) {
  bool is_owning = suits_owning(c, live, n, NULL);
  if (is_owning) use_owning(c, n);
  uint32_t n_ins = c->fn->nodes.data[n].n_ins;
  for (uint32_t i = 0; i < n_ins; i++)
    if (!owns_argument(c, n, i, is_owning)) borrow(c, live, n, hiaG_in(c->fn, n, i), HIA_NONE);
  for (uint32_t i = 0; i < n_ins; i++)
    if (owns_argument(c, n, i, is_owning)) consume(c, live, n, hiaG_in(c->fn, n, i));
}

/* ---- forks ----
 *
 * A fork is latent up to the end of it, where a thief may have taken it. Until then its arguments
 * stay alive. But a thief may free them as it goes if it gets the only reference: the fork *gives*
 * an argument that dies with the call, and that nothing looks at while the fork is latent. */

static hia_node_id fork_of(const counting *c, uint32_t number) {
  for (hia_node_id n = 0; n < c->fn->nodes.len; n++) {
    const hia_node *node = &c->fn->nodes.data[n];
    if (node->op == HIA_OP_FORK && !(node->flags & HIA_NODE_DEAD) && HIA_IMM_B(node->imm) == number)
      return n;
  }
  HIA_BUG(c->g->comp, "%s: a join of no fork", c->fn->name);
}

/* True if the node ends this fork. */
static bool ends_fork(const counting *c, hia_node_id n, hia_node_id fork) {
  const hia_node *nodes = c->fn->nodes.data;
  return nodes[n].op == HIA_OP_STOLEN && HIA_IMM_B(nodes[n].imm) == HIA_IMM_B(nodes[fork].imm);
}

/* True if nothing looks at the value, at what it is a part of, or at its parts while the fork is
 * latent. */
static bool is_untouched(const counting *c, hia_node_id fork, uint32_t r) {
  for (hia_node_id n = hiaG_walk_next(c->fn, fork); !ends_fork(c, n, fork);
       n = hiaG_walk_next(c->fn, n))
    for (uint32_t i = 0; i < c->fn->nodes.data[n].n_ins; i++) {
      uint32_t other = c->ref[hiaG_in(c->fn, n, i)];
      if (other != HIA_NONE && (is_within_value(c, other, r) || is_within_value(c, r, other)))
        return false;
    }
  return true;
}

static void join(counting *c, ref_set live, hia_node_id n) {
  uint32_t number = HIA_IMM_B(c->fn->nodes.data[n].imm);
  hia_node_id fork = fork_of(c, number);
  bool is_owning = suits_owning(c, live, fork, is_untouched);
  uint32_t n_ins = c->fn->nodes.data[fork].n_ins;
  bool *is_given = HIA_NEW_ARRAY(c->scratch, bool, n_ins + 1);
  for (uint32_t i = 0; i < n_ins; i++)
    is_given[i] = owns_argument(c, fork, i, is_owning) && dies(c, live, fork, i) &&
                  is_untouched(c, fork, c->ref[hiaG_in(c->fn, fork, i)]);
  for (uint32_t i = 0; i < n_ins; i++)
    if (!is_given[i]) borrow(c, live, n, hiaG_in(c->fn, fork, i), HIA_NONE);
  for (uint32_t i = 0; i < n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, fork, i);
    if (!is_given[i]) continue;
    add(live, c->ref[v]);
    if (!c->is_trial) hiaG_insert(c->g, c->fn, fork, HIA_OP_GIVE, &v, 1, NULL, 0, number, HIA_NONE);
  }
  if (is_owning) {
    use_owning(c, fork);
    if (!c->is_trial)
      c->fn->nodes.data[n].imm = HIA_IMM(hiaG_callee(&c->fn->nodes.data[fork]), number);
  }
}

/* ---- regions ---- */

static void walk(counting *c, ref_set live, hia_node_id last);

static hia_node_id yield_of(const counting *c, hia_region_id region) {
  return c->fn->regions.data[region].last;
}

/* If the branch asks for the constructor of a value: the value, and the constructor on each side,
 * or NONE. */
static uint32_t asked(const counting *c, hia_value_id cond, uint32_t side[2]) {
  const hia_node *n = hiaG_def(c->fn, cond);
  hia_word word;
  if (n->op != HIA_OP_EQ && n->op != HIA_OP_NE) return HIA_NONE;
  hia_value_id left = c->fn->edges.data[n->ins], right = c->fn->edges.data[n->ins + 1];
  if (hiaG_is_const(c->fn, left, &word)) {
    hia_value_id other = left;
    left = right;
    right = other;
  }
  const hia_node *ctor = hiaG_def(c->fn, left);
  if (ctor->op != HIA_OP_CTOR || !hiaG_is_const(c->fn, right, &word)) return HIA_NONE;
  hia_value_id v = c->fn->edges.data[ctor->ins];
  uint32_t r = c->ref[v];
  if (r == HIA_NONE) return r;
  const hia_type_entry *type = &c->g->types->entries.data[hiaG_type(c->fn, v) - HIA_FIRST_TYPE];
  uint32_t is = (uint32_t)hiaR_to_i32(word), equal = n->op == HIA_OP_NE;
  if (is >= type->n) return HIA_NONE;
  side[equal] = is;
  side[!equal] = type->n == 2 ? 1 - is : HIA_NONE;
  return r;
}

/* A branch at the end of a loop's head that says whether the loop goes on (exits.c). */
typedef struct ways {
  uint32_t cond;    /* the result that says it */
  ref_set on, exit; /* what is live behind it if the loop goes on, and if it ends */
} ways;

static void branch(counting *c, ref_set live, hia_node_id n, const ways *w);

/* The results of the branch that the set has are now those of another one, or of the operands that
 * its arm yields: these are consumed. */
static void rename_results(const counting *c, ref_set set, hia_node_id n, hia_node_id to) {
  for (uint32_t i = 0; i < c->fn->nodes.data[n].n_outs; i++) {
    uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
    if (r == HIA_NONE || !has(set, r)) continue;
    take_out(set, r);
    add(set, c->ref[hiaG_out(c->fn, to, i)]);
  }
}

static void yield_results(counting *c, ref_set set, hia_node_id n, hia_node_id yield) {
  ref_set before = copy_set(c, set);
  uint32_t n_outs = c->fn->nodes.data[n].n_outs;
  for (uint32_t i = 0; i < n_outs; i++) {
    uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
    if (r != HIA_NONE) take_out(set, r);
  }
  for (uint32_t i = 0; i < n_outs; i++) {
    uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
    if (r != HIA_NONE && has(before, r)) consume(c, set, yield, hiaG_in(c->fn, yield, i));
  }
}

/* Walks through an arm of branch n. Writes what is live at its start. */
static void walk_arm(counting *c, ref_set live, hia_node_id n, hia_region_id arm, const ways *w) {
  hia_node_id yield = yield_of(c, arm);
  hia_word goes_on;
  if (!w) {
    walk(c, live, yield);
  } else if (hiaG_is_const(c->fn, hiaG_in(c->fn, yield, w->cond), &goes_on)) {
    memcpy(live, goes_on ? w->on : w->exit, c->n_words * sizeof *live);
    yield_results(c, live, n, yield);
    walk(c, live, c->fn->nodes.data[yield].prev);
  } else {
    hia_node_id inner = hiaG_split_of(c->fn, arm, w->cond);
    ways inside = {w->cond, copy_set(c, w->on), copy_set(c, w->exit)};
    rename_results(c, inside.on, n, inner);
    rename_results(c, inside.exit, n, inner);
    branch(c, live, inner, &inside);
    walk(c, live, c->fn->nodes.data[inner].prev);
  }
}

/* `live`: behind the branch, unless there are two ways; on return, before it. */
static void branch(counting *c, ref_set live, hia_node_id n, const ways *w) {
  hia_region_id then = c->fn->nodes.data[n].regions;
  uint32_t side[2], r = asked(c, hiaG_in(c->fn, n, 0), side);
  uint32_t before = r == HIA_NONE ? HIA_NONE : c->known[r];
  ref_set other = copy_set(c, live);
  for (uint32_t k = 0; k < 2; k++) {
    if (r != HIA_NONE && side[k] != HIA_NONE) c->known[r] = side[k];
    walk_arm(c, k ? other : live, n, then + k, w);
    if (r != HIA_NONE) c->known[r] = before;
  }
  /* What a region does not need dies at its start, where the constructor is known. */
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (unsigned k = 0; k < 2; k++) {
      ref_set more = k ? live : other, fewer = k ? other : live;
      if (r != HIA_NONE && side[k] != HIA_NONE) c->known[r] = side[k];
      for (uint32_t m = 0; (m = missing(c, more, fewer, m)) != HIA_NONE; m++)
        if (!has_ancestor(c, fewer, m)) {
          die_at_start(c, fewer, m, then + k);
          is_changed = true;
        }
      if (r != HIA_NONE) c->known[r] = before;
    }
  }
}

/* ---- variables that loops borrow ----
 *
 * A loop that only walks through a value, as `loop (l = list) while ... { ... tail of l ... }`,
 * borrows it, if something else keeps the value until behind the loop. Then all values of the
 * variable, and branches that choose among its parts, are parts of what is kept. */

/* Marks what the loop borrows, before the walk through it. `live`: behind the loop. Returns which
 * variables are borrowed. */
static const bool *borrow_variables(counting *c, const ref_set live, hia_node_id loop) {
  const hia_node *node = &c->fn->nodes.data[loop];
  hia_region_id head = node->regions;
  bool *is_kept = HIA_NEW_ARRAY(c->scratch, bool, node->n_ins + 1);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(c->fn, loop, i);
    is_kept[i] = !hiaG_is_scalar(hiaG_type(c->fn, v)) &&
                 (c->ref[v] == HIA_NONE || is_alive(c, live, c->ref[v]));
  }
  hiaG_find_walking(c->fn, loop, is_kept);
  bool has_any = false;
  HIA_EACH_ARG(c->fn, head, arg) {
    uint32_t r = c->ref[hiaG_out(c->fn, arg, 0)];
    if (r == HIA_NONE || !is_kept[c->fn->nodes.data[arg].imm]) continue;
    c->is_borrowed[r] = has_any = true;
  }
  if (!has_any) return is_kept;
  hia_node_id end = hiaG_walk_over(c->fn, loop);
  for (hia_node_id n = hiaG_walk_next(c->fn, loop); n != end; n = hiaG_walk_next(c->fn, n)) {
    const hia_node *branch = &c->fn->nodes.data[n];
    for (uint32_t i = 0; branch->op == HIA_OP_IF && i < branch->n_outs; i++) {
      hia_walking w = {c->fn, head, is_kept, HIA_REFS_MAX_LOOKED};
      uint32_t r = c->ref[hiaG_out(c->fn, n, i)];
      if (r != HIA_NONE && hiaG_is_part_of_kept(&w, hiaG_out(c->fn, n, i)))
        c->is_borrowed[r] = true;
    }
  }
  return is_kept;
}

/* True if the loop, or the branch, borrows what operand i of the YIELD hands on. */
static bool hands_on_borrowed(const counting *c, hia_node_id yield, uint32_t i) {
  hia_region_id r = c->fn->nodes.data[yield].region;
  const hia_region *region = &c->fn->regions.data[r];
  hia_value_id to = HIA_NONE;
  if (region->kind == HIA_REGION_THEN || region->kind == HIA_REGION_ELSE)
    to = hiaG_out(c->fn, region->owner, i);
  if (region->kind == HIA_REGION_ROUND) {
    hia_node_id arg = c->fn->regions.data[r - 1].first;
    while (c->fn->nodes.data[arg].imm != i) arg = c->fn->nodes.data[arg].next;
    to = hiaG_out(c->fn, arg, 0);
  }
  return to != HIA_NONE && c->ref[to] != HIA_NONE && c->is_borrowed[c->ref[to]];
}

/* ---- loops ----
 *
 * Any other variable is owned: by the round, which hands its next value on, and by the exit, where
 * the loop's results are. Values from outside stay alive throughout the loop. Where a branch at the
 * end of the head says whether the loop goes on, what dies on one way dies in the arm. Else there
 * is no place for a node where the exit is; so what dies there becomes one more result of the loop,
 * and is dropped behind it. What is shared at the exit is dup'd behind the loop. */

/* Marks the values that are defined in the loop, then lets the loop borrow all others. */
static void borrow_from_outside(counting *c, ref_set live, hia_node_id loop) {
  uint32_t mark = ++c->n_walks;
  hia_node_id end = hiaG_walk_over(c->fn, loop);
  for (hia_node_id n = hiaG_walk_next(c->fn, loop); n != end; n = hiaG_walk_next(c->fn, n))
    for (uint32_t i = 0; i < c->fn->nodes.data[n].n_outs; i++)
      c->inside[hiaG_out(c->fn, n, i)] = mark;
  for (hia_node_id n = hiaG_walk_next(c->fn, loop); n != end; n = hiaG_walk_next(c->fn, n))
    for (uint32_t i = 0; i < c->fn->nodes.data[n].n_ins; i++) {
      hia_value_id v = hiaG_in(c->fn, n, i);
      if (c->inside[v] != mark) borrow(c, live, loop, v, HIA_NONE);
    }
}

typedef struct exits {
  hia_u32vec ins; /* of the YIELD of the head: condition, exits, and those that are added */
  HIA_VEC(bool) is_shared; /* by exit: it needs a reference of its own behind the loop */
  uint32_t n_first;        /* those that the loop had */
} exits;

static void share_parts(counting *c, ref_set at_exit, exits *x, uint32_t r) {
  for (uint32_t i = 0; i < x->n_first; i++) {
    uint32_t part = c->ref[x->ins.data[i + 1]];
    if (part == HIA_NONE || !has(at_exit, part) || x->is_shared.data[i]) continue;
    uint32_t up = part;
    while (up != HIA_NONE && up != r) up = c->parent[up];
    if (up == HIA_NONE || part == r) continue;
    x->is_shared.data[i] = true;
    take_out(at_exit, part);
  }
}

static void leave_loop(counting *c, ref_set at_exit, exits *x) {
  for (uint32_t i = 0; i < x->n_first; i++) {
    uint32_t r = c->ref[x->ins.data[i + 1]];
    hiaR_push(c->scratch, &x->is_shared, r != HIA_NONE && is_alive(c, at_exit, r));
    if (r == HIA_NONE || x->is_shared.data[i]) continue;
    share_parts(c, at_exit, x, r);
    add(at_exit, r);
  }
}

/* The loop gets the exits that were added, as results that are dropped. */
static void add_exits(counting *c, hia_node_id loop, hia_node_id yield, const exits *x) {
  hia_fn *fn = c->fn;
  uint32_t n_old = x->n_first, n = x->ins.len - 1;
  if (c->is_trial) return;
  hia_value_id old = fn->nodes.data[loop].outs;
  if (n > n_old) {
    hia_type *types = HIA_NEW_ARRAY(c->scratch, hia_type, n);
    for (uint32_t i = 0; i < n; i++) types[i] = hiaG_type(fn, x->ins.data[i + 1]);
    hiaG_set_ins(c->g, fn, yield, x->ins.data, x->ins.len);
    hiaG_set_outs(c->g, fn, loop, types, n);
    for (uint32_t i = 0; i < n_old; i++) {
      hiaR_push(c->scratch, &c->replaced, old + i);
      hiaR_push(c->scratch, &c->replaced, fn->nodes.data[loop].outs + i);
    }
  }
  hia_value_id outs = fn->nodes.data[loop].outs;
  hia_node_id behind = fn->nodes.data[loop].next;
  for (uint32_t i = 0; i < n_old; i++)
    if (x->is_shared.data[i]) count_node(c, behind, HIA_OP_DUP, outs + i);
  for (uint32_t i = n_old; i < n; i++) count_node(c, behind, HIA_OP_DROP, outs + i);
}

static void count_loop(counting *c, ref_set live, hia_node_id n) {
  hia_region_id head = c->fn->nodes.data[n].regions;
  hia_node_id yield = yield_of(c, head);
  exits x = {.n_first = c->fn->nodes.data[n].n_outs};
  borrow_from_outside(c, live, n);
  const bool *is_kept = borrow_variables(c, live, n);
  ref_set at_round = copy_set(c, live), at_exit = copy_set(c, live);
  for (uint32_t i = 0; i < c->fn->nodes.data[yield].n_ins; i++)
    hiaR_push(c->scratch, &x.ins, hiaG_in(c->fn, yield, i));
  uint32_t side[2], seen = asked(c, x.ins.data[0], side);
  uint32_t before = seen == HIA_NONE ? HIA_NONE : c->known[seen];
  if (seen != HIA_NONE && side[0] != HIA_NONE) c->known[seen] = side[0];
  walk(c, at_round, yield_of(c, head + 1));
  leave_loop(c, at_exit, &x);
  hia_node_id split = hiaG_split_of(c->fn, head, 0), last = c->fn->nodes.data[yield].prev;
  if (split != HIA_NONE) {
    ways w = {hiaG_in(c->fn, yield, 0) - c->fn->nodes.data[split].outs, copy_set(c, at_round),
              at_exit};
    last = c->fn->nodes.data[split].prev;
    branch(c, at_round, split, &w);
  }
  for (bool is_changed = split == HIA_NONE; is_changed;) {
    is_changed = false;
    for (uint32_t r = 0; (r = missing(c, at_exit, at_round, r)) != HIA_NONE; r++)
      if (!has_ancestor(c, at_round, r)) {
        die_at_start(c, at_round, r, head + 1);
        is_changed = true;
      }
    for (uint32_t r = 0; (r = missing(c, at_round, at_exit, r)) != HIA_NONE; r++)
      if (!has_ancestor(c, at_exit, r)) {
        bool is_object = r != seen || side[1] == HIA_NONE || ctor_of(c, r, side[1])->n;
        share_parts(c, at_exit, &x, r);
        if (is_object) hiaR_push(c->scratch, &x.ins, c->value[r]);
        add(at_exit, r);
        is_changed = true;
      }
  }
  if (seen != HIA_NONE) c->known[seen] = before;
  add_exits(c, n, yield, &x);
  walk(c, at_round, last);
  HIA_EACH_ARG(c->fn, head, arg) {
    uint32_t r = c->ref[hiaG_out(c->fn, arg, 0)];
    if (r == HIA_NONE || c->is_borrowed[r]) continue;
    if (!has(at_round, r)) die_at_start(c, at_round, r, head);
    take_out(at_round, r);
  }
  if (missing(c, at_round, live, 0) != HIA_NONE)
    HIA_BUG(c->g->comp, "%s: a loop takes a reference from outside", c->fn->name);
  uint32_t n_ins = c->fn->nodes.data[n].n_ins;
  for (uint32_t i = 0; i < n_ins; i++)
    if (!is_kept[i]) consume(c, live, n, hiaG_in(c->fn, n, i));
}

/* ---- the walk ---- */

static void count_uses(counting *c, ref_set live, hia_node_id n) {
  const hia_node *node = &c->fn->nodes.data[n];
  uint32_t n_ins = node->n_ins;
  if (hiaG_is_part(node)) { /* its result is a part of what it borrows */
    uint32_t ctor = node->op == HIA_OP_FIELD ? HIA_IMM_A(node->imm) : HIA_NONE;
    borrow(c, live, n, hiaG_in(c->fn, n, 0), ctor);
    return;
  }
  define_results(c, live, n);
  if (hiaG_consumes(c->fn, n)) {
    for (uint32_t i = 0; i < n_ins; i++) consume(c, live, n, hiaG_in(c->fn, n, i));
    return;
  }
  switch (node->op) {
  case HIA_OP_FILL: /* the array gets the words */
    for (uint32_t i = 1; i < n_ins; i++) consume(c, live, n, hiaG_in(c->fn, n, i));
    borrow(c, live, n, hiaG_in(c->fn, n, 0), HIA_NONE);
    break;
  case HIA_OP_YIELD:
    for (uint32_t i = 0; i < n_ins; i++)
      if (!hands_on_borrowed(c, n, i)) consume(c, live, n, hiaG_in(c->fn, n, i));
    break;
  case HIA_OP_IF: branch(c, live, n, NULL); break;
  case HIA_OP_LOOP: count_loop(c, live, n); break;
  case HIA_OP_CALL: call(c, live, n); break;
  case HIA_OP_JOIN: join(c, live, n); break;
  case HIA_OP_GIVE: break;
  default: /* it looks at its operands */
    for (uint32_t i = 0; i < n_ins; i++) borrow(c, live, n, hiaG_in(c->fn, n, i), HIA_NONE);
  }
}

/* Walks from node `last` back to the start of its region. */
static void walk(counting *c, ref_set live, hia_node_id last) {
  for (hia_node_id n = last, prev; n != HIA_NONE; n = prev) {
    prev = c->fn->nodes.data[n].prev; /* nodes that are added stand behind it */
    if (c->fn->nodes.data[n].op != HIA_OP_ARG) count_uses(c, live, n);
  }
}

/* ---- functions ---- */

static void number_references(counting *c) {
  hia_fn *fn = c->fn;
  c->ref = HIA_NEW_ARRAY(c->scratch, uint32_t, fn->values.len);
  c->inside = HIA_NEW_ARRAY(c->scratch, uint32_t, fn->values.len);
  c->value = HIA_NEW_ARRAY(c->scratch, hia_value_id, fn->values.len);
  for (hia_value_id v = 0; v < fn->values.len; v++) c->ref[v] = HIA_NONE;
  HIA_EACH_NODE(fn, n) {
    const hia_node *node = &fn->nodes.data[n];
    if (hiaG_is_constant(node->op) || node->op == HIA_OP_HOLE) continue;
    for (uint32_t i = 0; i < node->n_outs; i++) {
      hia_value_id v = hiaG_out(fn, n, i);
      if (!hiaG_may_be_object(c->g, fn, v)) continue;
      if (hiaG_is_part(node) && c->ref[hiaG_in(fn, n, 0)] == HIA_NONE) continue;
      c->ref[v] = c->n;
      c->value[c->n++] = v;
    }
  }
  c->n_words = c->n / 64 + 1;
  uint32_t *all[] = {c->parent, c->child, c->next, c->known};
  for (unsigned k = 0; k < HIA_LEN(all); k++) {
    all[k] = HIA_NEW_ARRAY(c->scratch, uint32_t, c->n + 1);
    memset(all[k], 0xff, (c->n + 1) * sizeof *all[k]);
  }
  c->parent = all[0], c->child = all[1], c->next = all[2], c->known = all[3];
  c->is_borrowed = HIA_NEW_ARRAY(c->scratch, bool, c->n + 1);
  for (uint32_t r = c->n; r-- > 0;) {
    const hia_node *node = definition(c, r);
    if (!hiaG_is_part(node)) continue;
    uint32_t parent = c->ref[fn->edges.data[node->ins]];
    c->parent[r] = parent;
    c->next[r] = c->child[parent];
    c->child[parent] = r;
  }
}

/* Walks over the function. False: it has no references. */
static bool walk_function(counting *c) {
  hia_fn *fn = c->fn;
  number_references(c);
  if (!c->n) return false;
  ref_set live = HIA_NEW_ARRAY(c->scratch, uint64_t, c->n_words);
  HIA_EACH_ARG(fn, 0, arg) {
    uint32_t r = c->ref[hiaG_out(fn, arg, 0)];
    if (r != HIA_NONE) c->is_borrowed[r] = !c->versions[c->id].owns[fn->nodes.data[arg].imm];
  }
  walk(c, live, yield_of(c, 0));
  HIA_EACH_ARG(fn, 0, arg) {
    uint32_t r = c->ref[hiaG_out(fn, arg, 0)];
    if (r == HIA_NONE || c->is_borrowed[r]) continue;
    if (!has(live, r)) die_at_start(c, live, r, 0);
    take_out(live, r);
  }
  for (uint32_t r = 0; r < c->n; r++)
    if (has(live, r)) HIA_BUG(c->g->comp, "%s: a reference without an owner", fn->name);
  return true;
}

static void count_function(hia_graph *g, hia_fn_id id, hia_ref_version *versions) {
  hia_fn *fn = hiaG_fn(g, id);
  counting c = {.g = g, .fn = fn, .id = id, .scratch = &g->comp->scratch, .versions = versions};
  if (!walk_function(&c)) return;
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
  counting c = {.g = g,
                .fn = hiaG_fn(g, f),
                .id = f,
                .scratch = &g->comp->scratch,
                .versions = versions,
                .is_trial = true};
  walk_function(&c);
  hiaR_arena_release(&g->comp->scratch, mark);
  hiaR_look(g->comp);
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
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    HIA_EACH_FN(g, f) is_changed |= hiaG_find_owned(g, hiaG_fn(g, f), versions, versions[f].owns);
  }
  HIA_EACH_FN(g, f) {
    for (uint32_t i = 0; i < hiaG_fn(g, f)->n_params; i++)
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
