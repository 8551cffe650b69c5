/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* expand: the papers' dynamic baseline (Jeong and others, "Improving the Expressiveness of Deep
 * Learning Frameworks with Recursion", 2018, and systems that build graphs while they run). There
 * are no tags: when a call fires, a fresh copy of its callee's graph is made and linked to the
 * call. A copy has nodes of its own, each with its count of missing tokens and pointers to the
 * nodes that take its result, and room for values.
 *
 * It exists to be compared with, in speed and in results, so it is not slowed down: a copy is one
 * block, made by copying a prepared template and adding its address to the pointers, and blocks
 * are reused. It shares the loaded image with the interpreter, and no code. A loop is a graph that
 * is copied once and whose counts are reset for each round.
 *
 * One thread. Within a copy everything but calls fires first, then the earliest call is made: this
 * is sequential order. So whatever fails while a failure is known comes before it, except in the
 * same copy, where nodes are compared; and when nothing before the failure is left in its own
 * copy, nothing before it is left at all. */
#include "runtime/base/left.h"
#include "runtime/heap/array.h"
#include "runtime/image/loaded.h"
#include "runtime/interp/elements.h"
#include "runtime/interp/run.h"

typedef struct copy copy;
typedef struct node node;

struct node {
  const hia_instr *instr;
  node **to;        /* in this copy; of a SWITCH: first those of the true side */
  uint32_t n_to[2]; /* [1]: of a SWITCH, the false side; else 0 */
  uint32_t missing;
};

struct copy {
  copy *parent; /* NULL: the root. In an unused copy: the next one */
  const hia_section *section;
  hia_word *values;
  uint64_t *pending; /* calls whose tokens have all come, as bits */
  uint32_t n_pending;
  uint32_t site;    /* in the parent */
  uint32_t waiting; /* calls that have not returned, and nodes that have failed */
  uint32_t limit;   /* nodes from here on come after a failure */
  node nodes[];
  /* pointers to nodes, values, bits of pending calls */
};

/* What a section's copies are made from: a copy at address 0. */
typedef struct template {
  size_t size, nodes_size; /* bytes; nodes_size: of the nodes alone */
  size_t to_at, values_at, pending_at;
  uint32_t n_to;
  copy *block; /* NULL: not made yet; its pointers are offsets */
  copy *unused;
}
template;

typedef struct chunk {
  struct chunk *next;
  size_t size;
} chunk;
#define CHUNK_HEADER ((sizeof(chunk) + 15) & ~(size_t)15)
enum { FIRST_CHUNK = 64 << 10, LARGEST_CHUNK = 4 << 20 };

typedef struct expansion {
  const hia_loaded *image;
  const hia_limits *limits;
  uint64_t *fuel, unlent; /* that of the limits, or `unlent` */
  const hia_allocator *allocator;
  hia_usage *usage;
  size_t depth, memory, bytes; /* limits, and the bytes taken */
  size_t granted;              /* bytes that it may take before it asks; with a heap, that asks */
  int64_t depth_code;          /* hia_failure.code of HIA_DEPTH */
  chunk *chunks;
  char *at, *end;
  size_t chunk_size;
  template *templates; /* by section */
  node **ready;        /* stack */
  hia_status status;   /* of the resource that ran out */
  copy *failed;        /* the first failure so far; its node and cause */
  uint32_t failed_node;
  hia_cause cause;
  hia_local_heap heap; /* of programs with references */
} expansion;

/* ---- making copies ---- */

static size_t up16(size_t n) { return (n + 15) & ~(size_t)15; }

static uint32_t n_edges(const hia_edges *e) { return (e->first != NULL) + e->n_more; }

static node **put_edges(node **at, const hia_section *s, const hia_edges *e) {
  for (uint32_t i = 0; i < n_edges(e); i++) {
    const hia_instr *to = !e->first ? e->more[i] : i == 0 ? e->first : e->more[i - 1];
    *at++ = (node *)(offsetof(copy, nodes) + (size_t)(to - s->instrs) * sizeof(node));
  }
  return at;
}

static const hia_edges *edges_of(const hia_section *s, const hia_instr *in, uint32_t side) {
  static const hia_edges none = {0};
  switch (in->kind) {
  case HIA_KIND_SWITCH: return &in->u.branch->side[side].edges;
  case HIA_KIND_CALL:
  case HIA_KIND_LOOP: return side ? &none : &s->children[in->slot].edges;
  default: return side ? &none : &in->edges;
  }
}

static bool make_template(expansion *x, template *t, const hia_section *s) {
  t->n_to = n_edges(&s->start);
  for (uint32_t i = 0; i < s->n_nodes; i++)
    for (uint32_t side = 0; side < 2; side++) t->n_to += n_edges(edges_of(s, &s->instrs[i], side));
  t->nodes_size = s->n_nodes * sizeof(node);
  t->to_at = sizeof(copy) + t->nodes_size;
  t->values_at = t->to_at + t->n_to * sizeof(node *);
  t->pending_at = t->values_at + s->n_slots * sizeof(hia_word);
  t->size = up16(t->pending_at + (s->n_children + 63) / 64 * sizeof(uint64_t));
  copy *c = hiaR_alloc(x->allocator, t->size);
  if (!c) return false;
  *c = (copy){.section = s,
              .values = (hia_word *)t->values_at,
              .pending = (uint64_t *)t->pending_at,
              .limit = HIA_NONE};
  node **first = (node **)(void *)((char *)c + t->to_at), **to = put_edges(first, s, &s->start);
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    const hia_instr *in = &s->instrs[i];
    c->nodes[i] = (node){.instr = in,
                         .to = (node **)(t->to_at + (size_t)(to - first) * sizeof(node *)),
                         .missing = in->tokens};
    for (uint32_t side = 0; side < 2; side++) {
      c->nodes[i].n_to[side] = n_edges(edges_of(s, in, side));
      to = put_edges(to, s, edges_of(s, in, side));
    }
  }
  uint32_t n_consts = s->n_slots - s->preload_at / 8;
  if (n_consts)
    memcpy((char *)c + t->values_at + s->preload_at, s->preload, n_consts * sizeof(hia_word));
  t->block = c;
  return true;
}

static size_t too_deep(expansion *x, int64_t code) {
  x->depth_code = code;
  x->status = HIA_DEPTH;
  return 0;
}

/* True if the copies may have `bytes` in all, of which the machine has no more than is left. */
static bool may_have(expansion *x, size_t bytes) {
  if (bytes <= x->granted) return true;
  size_t held = x->granted - HIA_FREE_GRANT;
  x->granted = hiaR_grant(held, bytes - HIA_FREE_GRANT, false) + HIA_FREE_GRANT;
  return bytes <= x->granted;
}

/* With a heap, the heap counts all memory. As in frame.c. */
static size_t take_from_heap(expansion *x, size_t least, size_t size) {
  hia_heap *heap = x->limits->heap;
  size_t taken = hiaR_heap_take_bytes(heap, least, size);
  if (taken) return taken;
  size_t all = atomic_load_explicit(&heap->bytes, memory_order_relaxed);
  if (!x->limits->memory && x->bytes >= all / 2) return too_deep(x, HIA_NOT_LEFT);
  x->status = HIA_MEMORY;
  return 0;
}

/* Takes bytes from the limits, for a chunk of `least` or more. 0: there are no more. */
static size_t take_bytes(expansion *x, size_t least) {
  size_t most = x->depth < x->memory ? x->depth : x->memory;
  size_t left = most > x->bytes ? most - x->bytes : 0;
  if (left < least && x->memory > x->depth) return too_deep(x, (int64_t)x->depth);
  if (left < least) {
    x->status = HIA_MEMORY;
    return 0;
  }
  size_t taken = x->chunk_size > least ? x->chunk_size : least;
  if (taken > left) taken = left & ~(size_t)15;
  if (x->limits->heap) return take_from_heap(x, least, taken);
  if (!may_have(x, x->bytes + taken) && !may_have(x, x->bytes + (taken = least)))
    return too_deep(x, HIA_NOT_LEFT);
  return taken;
}

static void *take_block(expansion *x, size_t size) {
  if ((size_t)(x->end - x->at) < size) {
    size_t taken = take_bytes(x, size + CHUNK_HEADER);
    if (!taken) return NULL;
    chunk *c = x->allocator->alloc(x->allocator->user, taken);
    if (!c) {
      x->status = HIA_MEMORY;
      return NULL;
    }
    *c = (chunk){x->chunks, taken};
    x->chunks = c;
    x->bytes += taken;
    x->at = (char *)c + CHUNK_HEADER;
    x->end = (char *)c + taken;
    if (x->chunk_size < LARGEST_CHUNK) x->chunk_size *= 2;
  }
  void *block = x->at;
  x->at += size;
  x->usage->peak_frames++;
  x->usage->peak_bytes += size;
  return block;
}

static copy *instantiate(expansion *x, const hia_section *s) {
  template *t = &x->templates[s - x->image->sections];
  if (HIA_UNLIKELY(!t->block) && !make_template(x, t, s)) {
    x->status = HIA_MEMORY;
    return NULL;
  }
  copy *c = t->unused;
  if (c)
    t->unused = c->parent;
  else if (!(c = take_block(x, t->size)))
    return NULL;
  x->usage->frames++;
  x->usage->firings += s->weight_first;
  memcpy(c, t->block, t->size);
  uintptr_t base = (uintptr_t)c;
  c->values = (hia_word *)((uintptr_t)c->values + base);
  c->pending = (uint64_t *)((uintptr_t)c->pending + base);
  for (uint32_t i = 0; i < s->n_nodes; i++)
    c->nodes[i].to = (node **)((uintptr_t)c->nodes[i].to + base);
  node **to = (node **)(void *)((char *)c + t->to_at);
  for (uint32_t i = 0; i < t->n_to; i++) to[i] = (node *)((uintptr_t)to[i] + base);
  return c;
}

/* ---- references: each value that is one owns it, until its copy goes or the round ends ---- */

static void drop(expansion *x, hia_word ref, uint32_t base) {
  hiaR_drop(&x->heap, x->image->shapes, ref, base, false);
}

/* The reference of an operand: the value's own if it is taken, which leaves the value unset. */
static hia_word reference(hia_word *values, uint32_t operand) {
  if (!(operand & HIA_IMAGE_TAKEN)) {
    hiaR_dup(values[operand], false);
    return values[operand];
  }
  operand &= ~HIA_IMAGE_TAKEN;
  hia_word word = values[operand];
  values[operand] = 0;
  return word;
}

static void move_references(hia_word *values, const hia_move *moves, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    hia_word word = reference(values, moves[i].from);
    values[moves[i].to] = word;
  }
}

static void drop_values(expansion *x, hia_word *values, const hia_ref_slot *refs, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    drop(x, values[refs[i].slot], refs[i].base);
    values[refs[i].slot] = 0;
  }
}

static void next_refs(expansion *x, copy *c) {
  const hia_section *s = c->section;
  for (uint32_t i = 0; i < s->n_ref_next; i++) {
    const hia_ref_move *move = &s->ref_next[i];
    hia_word word = reference(c->values, move->from);
    drop(x, c->values[move->to], move->base);
    c->values[move->to] = word;
  }
  drop_values(x, c->values, s->round_refs, s->n_round_refs);
}

/* The copy's results have been taken, and it goes. */
static void end_refs(expansion *x, copy *c) {
  const hia_section *s = c->section;
  for (uint32_t i = 0; i < s->n_more_results; i++) hiaR_dup(c->values[s->more_results[i]], false);
  for (uint32_t i = 0; i < s->n_ref_results; i++) c->values[s->ref_results[i]] = 0;
  drop_values(x, c->values, s->end_refs, s->n_end_refs);
}

static bool make(expansion *x, hia_word *values, const hia_instr *in) {
  const hia_make *m = in->u.make;
  hia_counted *object = hiaR_heap_alloc(&x->heap, m->size);
  if (!object) return false;
  hiaR_object_begin(object, m->number);
  for (const hia_part *part = m->parts.list; part < m->parts.end; part++) {
    bool is_taken = part >= m->parts.refs && part < m->parts.taken;
    uint32_t operand = part->slot | (is_taken ? HIA_IMAGE_TAKEN : 0);
    bool is_scalar = hiaR_is_scalar(part->layout_word.type);
    hiaR_store((hia_repr)part->layout_word.repr, (char *)object + part->layout_word.at,
               is_scalar ? values[operand] : reference(values, operand));
  }
  values[in->to] = (uintptr_t)object;
  return true;
}

static bool get(expansion *x, hia_word *values, const hia_instr *in) {
  const hia_get *g = in->u.get;
  hia_word data = values[in->slot];
  if (data < HIA_FIRST_ADDRESS || hiaR_object(data)->ctor != g->ctor) return false;
  if (in->is_taken) values[in->slot] = 0;
  for (const hia_part *part = g->parts.list; part < g->parts.end; part++) {
    hia_word word = hiaR_get_word(hiaR_object(data), &part->layout_word);
    if (!hiaR_is_scalar(part->layout_word.type)) hiaR_dup(word, false);
    values[part->slot] = word;
  }
  if (in->is_taken) drop(x, data, g->base);
  return true;
}

/* ---- arrays ---- */

static void read_element(hia_word *v, const hia_instr *in, hia_cause *cause) {
  const hia_operation_instr *a = in->u.operation;
  hia_word array = v[a->ins[0]];
  int64_t index = hiaR_to_i64(v[a->ins[1]]), n = (int64_t)hiaR_array_len(array);
  if (index < 0 || index >= n) {
    *cause = (hia_cause){.status = HIA_RANGE, .range = {.first = index, .length = n}};
    return;
  }
  const hia_layout_word *layout_word = &a->o.layout_words[a->word];
  const char *at = hiaR_array_at(array, a->o.shape->size, (uint64_t)index) + layout_word->at;
  hia_word word = hiaR_load((hia_repr)layout_word->repr, at);
  if (!hiaR_is_scalar(layout_word->type)) hiaR_dup(word, false);
  v[in->to] = word;
}

static hia_status operate(expansion *x, hia_word *v, const hia_instr *in, hia_misfortune *why) {
  enum { FEW = 16 };
  hia_word few[FEW] = {0}, *operands = few;
  const hia_operation_instr *a = in->u.operation;
  const hia_env env = {&x->heap, x->image->shapes, x->limits->params, false, NULL};
  size_t size = a->o.n_in * sizeof *operands;
  if (a->o.n_in > FEW && !(operands = hiaR_alloc(x->allocator, size))) return HIA_MEMORY;
  for (uint32_t i = 0; i < a->o.n_in; i++)
    operands[i] = hiaR_keeps(a, i) ? reference(v, a->ins[i]) : v[a->ins[i] & ~HIA_IMAGE_TAKEN];
  hia_status status = HIA_INTERNAL;
  if (hiaR_has_tensors(&a->o, operands))
    status = a->operate(&env, &a->o, operands, &v[in->to], why);
  if (operands != few) hiaR_free(x->allocator, operands, size);
  return status;
}

static void compute_operation(expansion *x, hia_word *v, const hia_instr *in, hia_cause *cause) {
  hia_misfortune why;
  switch (in->kind) {
  case HIA_KIND_LEN: v[in->to] = hiaR_array_len(v[in->u.operation->ins[0]]); break;
  case HIA_KIND_AT: read_element(v, in, cause); break;
  default:
    cause->status = operate(x, v, in, &why);
    if (cause->status) *cause = hiaR_cause_of(cause->status, &why);
  }
}

static void discard(expansion *x, copy *c) {
  template *t = &x->templates[c->section - x->image->sections];
  c->parent = t->unused;
  t->unused = c;
}

/* ---- firing ---- */

static void fail(expansion *x, copy *c, uint32_t index, const hia_cause *cause) {
  if (index >= c->limit) return;
  c->limit = index;
  x->failed = c;
  x->failed_node = index;
  x->cause = *cause;
}

static size_t left_of(size_t limit, size_t used) {
  return limit == 0 || limit == SIZE_MAX ? SIZE_MAX : limit > used ? limit - used : 0;
}

/* The copy has no other node, and was made in sequential order. */
static hia_status call_host(const expansion *x, hia_word *values, const hia_host_instr *host) {
  const hia_limits *limits = x->limits;
  hia_nest nest;
  hiaR_nest_enter(&nest, limits->scope, left_of(limits->depth, x->bytes),
                  left_of(limits->memory, x->bytes), limits->fuel);
  hia_status status =
      host->caller->call(host->prepared, values, host->ins, host->outs, x->allocator);
  hiaR_nest_leave(&nest);
  return status;
}

static void make_moves(hia_word *values, const hia_move *moves, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) values[moves[i].to] = values[moves[i].from];
}

/* Computes one node. False: it has failed. */
static bool compute(expansion *x, copy *c, const hia_instr *in) {
  hia_word *v = c->values;
  hia_cause cause = {.status = HIA_OK};
  switch (in->kind) {
  case HIA_KIND_KERNEL:
    cause.status = in->kernel(v, in->in, in->out, in->u.imm);
    cause.code = hiaR_kernel_code(cause.status, v[in->in[0]]);
    break;
  case HIA_KIND_WIDE: {
    const hia_wide *wide = in->u.wide;
    hia_word operands[4];
    const uint16_t order[3] = {0, 1, 2};
    for (uint32_t i = 0; i < wide->n_in; i++) operands[i] = v[wide->in[i]];
    cause.status = wide->kernel(operands, order, 3, wide->imm);
    cause.code = hiaR_kernel_code(cause.status, operands[0]);
    if (!cause.status) v[wide->out] = operands[3];
    break;
  }
  case HIA_KIND_MOVE: v[in->to] = v[in->slot]; break;
  case HIA_KIND_SHARE:
    v[in->to] = reference(v, in->slot | (in->is_taken ? HIA_IMAGE_TAKEN : 0));
    break;
  case HIA_KIND_MAKE:
    if (make(x, v, in)) break;
    cause.status = HIA_MEMORY;
    break;
  case HIA_KIND_CTOR: v[in->to] = hiaR_from_i32((int32_t)hiaR_ctor_of(v[in->slot])); break;
  case HIA_KIND_FIELD:
    if (!get(x, v, in)) cause.status = HIA_INTERNAL;
    break;
  case HIA_KIND_OBSERVE: break;
  case HIA_KIND_LEND: *x->fuel = v[in->slot]; break;
  case HIA_KIND_REGAIN: v[in->to] = *x->fuel; break;
  case HIA_KIND_COUNT:
    if (in->u.imm)
      x->usage->rounds++;
    else
      x->usage->calls++;
    break;
  case HIA_KIND_FAIL:
    cause = (hia_cause){.status = HIA_FAILED, .code = (int64_t)v[in->slot]};
    break;
  case HIA_KIND_HOST:
    cause.status = call_host(x, v, in->u.host);
    cause.host = in->u.host->name;
    break;
  case HIA_KIND_JOIN: break;
  default: compute_operation(x, v, in, &cause);
  }
  if (!cause.status) return true;
  fail(x, c, in->index, &cause);
  return false;
}

/* Sends a token to n nodes, and fires all that have all of theirs. */
static void propagate(expansion *x, copy *c, node **to, uint32_t n) {
  node **top = x->ready;
  for (;;) {
    for (uint32_t i = 0; i < n; i++)
      if (--to[i]->missing == 0) *top++ = to[i];
    if (top == x->ready) return;
    node *at = *--top;
    const hia_instr *in = at->instr;
    to = at->to;
    n = at->n_to[0];
    if (in->kind == HIA_KIND_SWITCH) {
      const hia_side *side = &in->u.branch->side[c->values[in->slot] == 0];
      if (c->values[in->slot] == 0) to += n, n = at->n_to[1];
      x->usage->firings += side->weight;
      make_moves(c->values, side->moves, side->n_moves);
      if (side->n_ref_moves)
        move_references(c->values, side->moves + side->n_moves, side->n_ref_moves);
    } else if (in->kind == HIA_KIND_CALL || in->kind == HIA_KIND_LOOP) {
      c->pending[in->slot / 64] |= (uint64_t)1 << in->slot % 64;
      c->n_pending++;
      c->waiting++;
      n = 0;
    } else if (!compute(x, c, in)) {
      c->waiting++;
      n = 0;
    }
  }
}

static void start(expansion *x, copy *c) {
  const template *t = &x->templates[c->section - x->image->sections];
  const hia_section *s = c->section;
  propagate(x, c, (node **)(void *)((char *)c + t->to_at), n_edges(&s->start));
}

static void next_round(expansion *x, copy *c) {
  const hia_section *s = c->section;
  make_moves(c->values, s->next, s->n_next);
  if (s->n_refs) next_refs(x, c);
  for (uint32_t i = 0; i < s->n_nodes; i++) c->nodes[i].missing = s->instrs[i].tokens;
  x->usage->firings += s->weight_round;
}

/* The earliest call that can be made; NONE: there is none, or a failure comes before it. */
static uint32_t take_pending(copy *c) {
  if (!c->n_pending) return HIA_NONE;
  uint32_t word = 0;
  while (!c->pending[word]) word++;
  uint32_t site = 64 * word + (uint32_t)__builtin_ctzll(c->pending[word]);
  if (c->section->children[site].instr->index >= c->limit) return HIA_NONE;
  c->pending[word] &= c->pending[word] - 1;
  c->n_pending--;
  return site;
}

static copy *call(expansion *x, copy *from, uint32_t site) {
  const hia_child *child = &from->section->children[site];
  const hia_section *s = child->callee;
  copy *c = instantiate(x, s);
  if (!c) return NULL;
  c->parent = from;
  c->site = site;
  for (uint32_t i = 0; i < s->n_params; i++) c->values[i] = from->values[child->args[i]];
  for (uint32_t i = 0; i < child->n_shares; i++) hiaR_dup(c->values[child->shares[i]], false);
  for (uint32_t i = 0; i < child->n_takes; i++) from->values[child->takes[i]] = 0;
  make_moves(c->values, s->enter, s->n_enter);
  move_references(c->values, s->ref_enter, s->n_ref_enter);
  return c;
}

/* Returns from a call: its results become tokens of the copy that made it. */
static copy *back(expansion *x, copy *c) {
  copy *to = c->parent;
  const hia_section *s = c->section;
  const hia_child *child = &to->section->children[c->site];
  for (uint32_t i = 0; i < s->n_results; i++) to->values[child->outs[i]] = c->values[s->results[i]];
  if (s->n_refs) end_refs(x, c);
  discard(x, c);
  to->waiting--;
  node *at = &to->nodes[child->instr->index];
  propagate(x, to, at->to, at->n_to[0]);
  return to;
}

static void trace_copies(const hia_loaded *image, const copy *c, hia_backtrace *trace) {
  for (; c->parent; c = c->parent) {
    const hia_child *child = &c->parent->section->children[c->site];
    hiaR_backtrace_elements(c->parent->section, c->parent->values, child->instr->index, trace);
    if (!child->is_loop) hiaR_backtrace_push_site(trace, image->locs, child->loc, child->is_tail);
  }
}

/* Runs the root. If a resource runs out, returns its status, and where that was in *trace. */
static hia_status run(expansion *x, copy *c, hia_word *results, hia_backtrace *trace) {
  const uint32_t *cancelled = x->limits->cancelled;
  start(x, c);
  for (;;) {
    const hia_section *s = c->section;
    uint32_t site = take_pending(c);
    if (site != HIA_NONE) {
      copy *inner = call(x, c, site);
      if (!inner) {
        const hia_child *child = &s->children[site];
        if (!child->is_loop)
          hiaR_backtrace_push_site(trace, x->image->locs, child->loc, child->is_tail);
        trace_copies(x->image, c, trace);
        return x->status;
      }
      c = inner;
      start(x, c);
    } else if (c->waiting) {
      return HIA_OK; /* a node has failed */
    } else if (s->iterates && c->values[s->cond]) {
      next_round(x, c);
      start(x, c);
    } else if (c->parent) {
      c = back(x, c);
      continue;
    } else {
      for (uint32_t i = 0; i < s->n_results; i++) results[i] = c->values[s->results[i]];
#ifdef HIA_CENSUS /* else it goes with the heap */
      end_refs(x, c);
#endif
      return HIA_OK;
    }
    if (cancelled && __atomic_load_n(cancelled, __ATOMIC_RELAXED)) {
      trace_copies(x->image, c, trace);
      return HIA_CANCELLED;
    }
  }
}

static void release(expansion *x) {
  for (chunk *c = x->chunks; c;) {
    chunk *next = c->next;
    hiaR_free(x->allocator, c, c->size);
    c = next;
  }
  for (uint32_t i = 0; x->templates && i < x->image->n_sections; i++)
    hiaR_free(x->allocator, x->templates[i].block, x->templates[i].size);
  hiaR_free(x->allocator, x->templates, x->image->n_sections * sizeof(template));
  hiaR_free(x->allocator, x->ready, ((size_t)x->image->max_nodes + 1) * sizeof(node *));
}

hia_status hiaR_expand_run(const hia_loaded *image, uint32_t entry, const hia_word *args,
                           hia_word *results, const hia_limits *limits,
                           const hia_allocator *allocator, hia_failure *failure, hia_usage *usage) {
  *failure = (hia_failure){0};
  *usage = (hia_usage){0};
  if (entry >= image->n_exports) return failure->status = HIA_ARGUMENT;
  if (image->shapes && !limits->heap) return failure->status = HIA_UNSUPPORTED;
  expansion x = {.image = image,
                 .limits = limits,
                 .allocator = allocator,
                 .usage = usage,
                 .depth = limits->depth ? limits->depth : HIA_DEFAULT_COPIES,
                 .memory = limits->memory ? limits->memory : SIZE_MAX,
                 .granted = limits->memory ? SIZE_MAX : HIA_FREE_GRANT,
                 .chunk_size = FIRST_CHUNK};
  hia_status status = HIA_MEMORY;
  x.fuel = limits->fuel ? limits->fuel : &x.unlent;
  if (image->shapes) hiaR_local_begin(&x.heap, limits->heap);
  x.templates = hiaR_alloc(allocator, image->n_sections * sizeof(template));
  x.ready = hiaR_alloc(allocator, ((size_t)image->max_nodes + 1) * sizeof(node *));
  copy *root = NULL;
  const hia_section *s = &image->sections[image->exports[entry].section];
  if (x.templates && x.ready) {
    root = instantiate(&x, s);
    status = root ? HIA_OK : x.status;
  }
  if (root) {
    root->parent = NULL;
    if (s->n_params) memcpy(root->values, args, s->n_params * sizeof(hia_word));
    make_moves(root->values, s->enter, s->n_enter);
    /* The references of the arguments are borrowed. */
    for (uint32_t i = 0; i < s->n_ref_params; i++) hiaR_dup(root->values[s->refs[i].slot], false);
    move_references(root->values, s->ref_enter, s->n_ref_enter);
    status = run(&x, root, results, &failure->backtrace);
    if (!status && x.failed) {
      status = x.cause.status;
      failure->code = x.cause.code;
      failure->range = x.cause.range;
      failure->misfit = x.cause.misfit;
      failure->nan = x.cause.nan;
      failure->host = x.cause.host;
      uint32_t loc = x.failed->section->locs[x.failed_node];
      hiaR_backtrace_push_site(&failure->backtrace, image->locs, loc, false);
      hiaR_backtrace_elements(x.failed->section, x.failed->values, x.failed_node,
                              &failure->backtrace);
      trace_copies(image, x.failed, &failure->backtrace);
    }
  }
  release(&x);
  if (status == HIA_DEPTH) failure->code = x.depth_code;
  if (!limits->memory) hiaR_grant_end(x.granted - HIA_FREE_GRANT);
  return failure->status = status;
}
