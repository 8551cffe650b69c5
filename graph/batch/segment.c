/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Segments: deferred nodes of a region that are computed together.
 *
 *     %5 = product W, %3               %7, %8 = defer "f segment 1" %3
 *     %6 = add %5, b
 *     %7, %8 = ..                      fn "f segment 1" (%X) {
 *                                        %n = dim 0 %X
 *                                        %Y = product_bt %X, W
 *                                        ... the same nodes, over rows ...
 *                                        yield %7, %8
 *                                      }
 *
 * Deferred nodes are gathered until something uses one of their results; there the `defer` stands.
 * Those that depend on nothing late are a segment of their own: all of its rows, of whatever depth
 * of recursion, are there before any other segment begins.
 *
 * A node that puts something into an object, and does nothing else, does not use it: it goes behind
 * the `defer`.
 *
 * Finding segments and lifting them reads the function as it was, with scalars that are scalars;
 * then types change (types.c), and then the function. */
#include "graph/batch/batcher.h"
#include "graph/batch/put.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/walk.h"

enum {
  MAX_INPUTS = 60,
  MAX_MEMBERS = 1000,
  MAX_LOOKED = 200 /* nodes in a branch or a loop that may end a segment */
};

typedef struct hia_segment_site {
  hia_fn_id fn;   /* the segment */
  hia_node_id at; /* the `defer` stands before it */
  hia_u32vec members, inputs, outputs;
} segment;

/* A node that goes before another. */
typedef struct moving {
  hia_node_id n, at;
} moving;

typedef struct segments {
  HIA_VEC(segment) list;
  HIA_VEC(moving) moved;
} segments;

typedef struct group {
  hia_u32vec members;
  uint32_t number;
} group;

typedef struct finding {
  hia_batcher *b;
  hia_fn_id f;
  const hia_fn *fn;
  const hia_batch_fn *of;
  segments *found;
  uint32_t *uses, *inside; /* by value: in the function; in the group that is being closed */
  uint32_t *member_of;     /* by node: number of its group; 0: none */
  uint32_t n_groups;
  bool *is_waiting; /* by node: it goes behind what is closed next */
  hia_u32vec waiting;
} finding;

/* ---- one segment ---- */

static hia_type lifted_type(const finding *f, hia_value_id v) {
  hia_types *types = f->b->g->types;
  hia_type type = hiaG_type(f->fn, v);
  bool is_box = hiaG_is_scalar(type) && f->of->is_late[v];
  return hiaG_tensor(types, hiaG_dtype(types, type), hiaG_rank(types, type) + 1 + is_box);
}

static bool has(const hia_u32vec *list, uint32_t item) {
  for (uint32_t i = 0; i < list->len; i++)
    if (list->data[i] == item) return true;
  return false;
}

static void find_words(finding *f, segment *s) {
  for (uint32_t i = 0; i < s->members.len; i++)
    f->inside[f->fn->nodes.data[s->members.data[i]].outs] = 0;
  for (uint32_t i = 0; i < s->members.len; i++) {
    const hia_node *node = &f->fn->nodes.data[s->members.data[i]];
    for (uint32_t k = 0; k < node->n_ins; k++) {
      hia_value_id v = f->fn->edges.data[node->ins + k];
      hia_node_id def = f->fn->values.data[v].node;
      if (has(&s->members, def))
        f->inside[v]++;
      else if (!f->of->is_uniform[v] && !has(&s->inputs, v))
        hiaR_push(f->b->arena, &s->inputs, v);
    }
  }
  for (uint32_t i = 0; i < s->members.len; i++) {
    hia_value_id v = f->fn->nodes.data[s->members.data[i]].outs;
    if (f->uses[v] != f->inside[v]) hiaR_push(f->b->arena, &s->outputs, v);
  }
}

static void lift_inputs(hia_lifting *l, const segment *s, const finding *f) {
  hia_graph *g = f->b->g;
  for (uint32_t i = 0; i < s->inputs.len; i++) {
    hia_value_id v = s->inputs.data[i], input = i;
    if (i == 0) l->n_rows = hiaG_computed(g, l->to, 0, HIA_OP_DIM, &input, 1, HIA_I64, 0, HIA_NONE);
    bool is_box = hiaG_is_scalar(hiaG_type(f->fn, v)) && f->of->is_late[v];
    if (is_box) {
      hia_value_id ins[2] = {input, l->n_rows};
      input = hiaG_computed(g, l->to, 0, HIA_OP_RESHAPE, ins, 2, HIA_N_DTYPES, 0, HIA_NONE);
    }
    l->values[v] = (hia_lifted){input, true};
  }
}

/* Returns the shape of v in one row; a late scalar is a tensor of one element. */
static hia_dims shape_of(const finding *f, hia_value_id v) {
  hia_dims shape = {.rank = hiaG_rank(f->b->g->types, hiaG_type(f->fn, v))};
  if (!shape.rank && f->of->is_late[v]) shape = (hia_dims){.rank = 1, .dims = {1}};
  if (shape.rank && !hiaG_is_scalar(hiaG_type(f->fn, v)))
    hiaG_batch_shape(f->b, f->f, v, shape.dims);
  return shape;
}

static void find_shapes(const finding *f, segment *s) {
  hia_fn *fn = hiaG_fn(f->b->g, s->fn);
  fn->rows = HIA_NEW_ARRAY(&f->b->g->comp->arena, hia_dims, s->inputs.len + s->outputs.len);
  for (uint32_t i = 0; i < s->inputs.len; i++) fn->rows[i] = shape_of(f, s->inputs.data[i]);
  for (uint32_t i = 0; i < s->outputs.len; i++)
    fn->rows[s->inputs.len + i] = shape_of(f, s->outputs.data[i]);
}

/* Removes what nothing uses, since another operation took its place (labels.c). Nothing of a
 * segment can fail, so it need not stay for that, as it would for the pass `dce`. */
static void remove_unused(const finding *f, hia_fn *fn) {
  uint32_t *uses = HIA_NEW_ARRAY(f->b->arena, uint32_t, fn->values.len + 1);
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) uses[hiaG_in(fn, n, i)]++;
  for (hia_node_id n = fn->nodes.len; n-- > fn->n_params;) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_YIELD || uses[node->outs]) continue;
    for (uint32_t i = 0; i < node->n_ins; i++) uses[hiaG_in(fn, n, i)]--;
    hiaG_remove(fn, n);
  }
}

static void make_function(finding *f, segment *s) {
  hia_graph *g = f->b->g;
  hia_type *params = HIA_NEW_ARRAY(f->b->arena, hia_type, s->inputs.len);
  hia_type *results = HIA_NEW_ARRAY(f->b->arena, hia_type, s->outputs.len);
  for (uint32_t i = 0; i < s->inputs.len; i++) params[i] = lifted_type(f, s->inputs.data[i]);
  for (uint32_t i = 0; i < s->outputs.len; i++) {
    hia_type type = hiaG_type(f->fn, s->outputs.data[i]);
    results[i] = hiaG_tensor(g->types, hiaG_dtype(g->types, type), hiaG_rank(g->types, type) + 1);
  }
  const char *suffix = hiaR_arena_printf(f->b->arena, " segment %u", ++f->b->n_segments);
  s->fn = hiaG_fn_new(g, hiaG_new_name(g, f->fn->name, suffix), f->fn->source, f->fn->loc, params,
                      s->inputs.len, results, s->outputs.len);
  find_shapes(f, s);
  hia_lifting l = {.b = f->b, .from = f->f, .to = hiaG_fn(g, s->fn)};
  l.values = HIA_NEW_ARRAY(f->b->arena, hia_lifted, f->fn->values.len + 1);
  for (uint32_t i = 0; i < f->fn->values.len; i++) l.values[i].v = HIA_NONE;
  lift_inputs(&l, s, f);
  for (uint32_t i = 0; i < s->members.len; i++) hiaG_lift(&l, s->members.data[i]);
  hia_value_id *yields = HIA_NEW_ARRAY(f->b->arena, hia_value_id, s->outputs.len);
  for (uint32_t i = 0; i < s->outputs.len; i++) yields[i] = l.values[s->outputs.data[i]].v;
  hiaG_yield(g, l.to, 0, yields, s->outputs.len);
  remove_unused(f, l.to);
}

/* ---- groups ---- */

static void close_members(finding *f, const uint32_t *members, uint32_t n, hia_node_id at) {
  segment s = {.at = at};
  for (uint32_t i = 0; i < n; i++) hiaR_push(f->b->arena, &s.members, members[i]);
  find_words(f, &s);
  if (s.inputs.len > MAX_INPUTS && n > 1) {
    close_members(f, members, n / 2, at);
    close_members(f, members + n / 2, n - n / 2, at);
    return;
  }
  if (s.outputs.len) make_function(f, &s); /* else nothing needs it */
  hiaR_push(f->b->arena, &f->found->list, s);
}

static void close(finding *f, group *x, hia_node_id at) {
  if (x->members.len) close_members(f, x->members.data, x->members.len, at);
  memset(x, 0, sizeof *x);
}

static void close_both(finding *f, group *ready, group *late, hia_node_id at) {
  close(f, ready, at);
  close(f, late, at);
  for (uint32_t i = 0; i < f->waiting.len; i++) {
    f->is_waiting[f->waiting.data[i]] = false;
    hiaR_push(f->b->arena, &f->found->moved, ((moving){f->waiting.data[i], at}));
  }
  f->waiting.len = 0;
}

static bool is_open(const finding *f, hia_value_id v, const group *ready, const group *late) {
  hia_node_id def = f->fn->values.data[v].node;
  uint32_t number = f->member_of[def];
  return f->is_waiting[def] || (number && (number == ready->number || number == late->number));
}

/* True if the node, or one in it, has as an operand what is in a group, or what waits; or if there
 * are too many nodes in it to look at. */
static bool uses_open(const finding *f, hia_node_id n, const group *ready, const group *late) {
  if (!ready->members.len && !late->members.len) return false;
  bool has_regions = f->fn->nodes.data[n].regions != HIA_NONE;
  hia_node_id end = has_regions ? hiaG_walk_over(f->fn, n) : HIA_NONE;
  uint32_t left = MAX_LOOKED;
  for (hia_node_id at = n; at == n || at != end; at = hiaG_walk_next(f->fn, at)) {
    for (uint32_t i = 0; i < f->fn->nodes.data[at].n_ins; i++)
      if (is_open(f, hiaG_in(f->fn, at, i), ready, late)) return true;
    if (!has_regions) break;
    if (!left--) return true;
  }
  return false;
}

static bool may_wait(const finding *f, hia_node_id n) {
  unsigned op = f->fn->nodes.data[n].op;
  return op == HIA_OP_DATA || op == HIA_OP_ARRAY;
}

/* Returns, of the two groups that are open, the one that the node belongs to. */
static group *group_of(finding *f, hia_node_id n, group *ready, group *late) {
  for (uint32_t i = 0; i < f->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = hiaG_in(f->fn, n, i);
    uint32_t number = f->member_of[f->fn->values.data[v].node];
    if (f->of->is_late[v] && (!ready->members.len || number != ready->number)) return late;
  }
  return ready;
}

static void add(finding *f, group *x, hia_node_id n) {
  if (!x->members.len) x->number = ++f->n_groups;
  f->member_of[n] = x->number;
  hiaR_push(f->b->arena, &x->members, n);
}

/* A region that is being walked through: its groups, and what waits. Regions nest as deep as the
 * program's branches, so the walk keeps a stack of them. */
typedef struct open_region {
  hia_node_id next;
  hia_region_id left, end; /* regions of the last node that come next */
  group ready, late;
  hia_u32vec waiting;
} open_region;

static void look_at(finding *f, open_region *r, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  if (hiaG_is_deferred(f->b, f->f, n)) {
    group *x = group_of(f, n, &r->ready, &r->late);
    if (x->members.len == MAX_MEMBERS) close_both(f, &r->ready, &r->late, n);
    add(f, x, n);
    return;
  }
  bool is_used = uses_open(f, n, &r->ready, &r->late);
  if (is_used && may_wait(f, n)) {
    f->is_waiting[n] = true;
    hiaR_push(f->b->arena, &f->waiting, n);
    return;
  }
  if (is_used || node->op == HIA_OP_YIELD) close_both(f, &r->ready, &r->late, n);
  r->left = node->regions;
  r->end = node->regions + hiaG_n_regions(node->op);
}

static void find_segments(finding *f) {
  HIA_VEC(open_region) stack = {0};
  hiaR_push(f->b->arena, &stack, (open_region){.next = f->fn->regions.data[0].first});
  while (stack.len) {
    open_region *r = &stack.data[stack.len - 1];
    if (r->left < r->end) {
      open_region inner = {.next = f->fn->regions.data[r->left++].first};
      r->waiting = f->waiting;
      memset(&f->waiting, 0, sizeof f->waiting);
      hiaR_push(f->b->arena, &stack, inner);
    } else if (r->next == HIA_NONE) {
      stack.len--;
      if (stack.len) f->waiting = stack.data[stack.len - 1].waiting;
    } else {
      hia_node_id n = r->next;
      r->next = f->fn->nodes.data[n].next;
      r->left = r->end = 0;
      look_at(f, r, n);
    }
  }
}

/* ---- the function afterwards ---- */

typedef struct rewriting {
  hia_batcher *b;
  hia_fn_id f;
  hia_fn *fn;
  const hia_batch_fn *of;
  uint32_t n_values, n_nodes; /* that there were */
  hia_subst subst;
  bool *was_scalar; /* by value */
  bool *is_gone;    /* by node */
  bool *packs_late; /* by node: it is a PACK that waits for nothing */
} rewriting;

static hia_value_id insert(rewriting *w, hia_node_id at, unsigned op, const hia_value_id *ins,
                           uint32_t n, hia_type type, uint64_t imm) {
  hia_loc_id loc = w->fn->nodes.data[at].loc;
  return hiaG_out(w->fn, hiaG_insert(w->b->g, w->fn, at, op, ins, n, &type, 1, imm, loc), 0);
}

static bool is_late(const rewriting *w, hia_value_id v) {
  return v < w->n_values && w->of->is_late[v];
}

static hia_value_id forced(rewriting *w, hia_node_id at, hia_value_id v) {
  return insert(w, at, HIA_OP_FORCE, &v, 1, hiaG_type(w->fn, v), 0);
}

/* Adds what gives the scalar of a tensor of one element. */
static hia_value_id unboxed(rewriting *w, hia_node_id at, hia_value_id box) {
  hia_type scalar = (hia_type)hiaG_tensor_dtype(w->b->g->types, hiaG_type(w->fn, box));
  hia_value_id ins[2] = {forced(w, at, box), insert(w, at, HIA_OP_CONST, NULL, 0, HIA_I64, 0)};
  return insert(w, at, HIA_OP_ROW, ins, 2, scalar, 0);
}

static hia_value_id boxed(rewriting *w, hia_node_id at, hia_value_id v) {
  hia_type type = hiaG_tensor(w->b->g->types, (hia_dtype)hiaG_type(w->fn, v), 1);
  return insert(w, at, HIA_OP_STACK, &v, 1, type, 0);
}

static hia_value_id operand(rewriting *w, hia_node_id n, uint32_t i) {
  hia_value_id v = hiaG_in(w->fn, n, i), now = hiaG_resolve(&w->subst, v);
  if (v < w->n_values && w->was_scalar[v]) {
    bool wants = hiaG_batch_passes_on(w->b, w->f, n, i);
    if (wants == is_late(w, v)) return now;
    return wants ? boxed(w, n, now) : unboxed(w, n, now);
  }
  bool is_object = !hiaG_is_tensor(w->b->g, w->fn, now);
  bool may_be_pending =
      is_late(w, v) ||
      (is_object && (hiaG_holds_tensors(w->b->g->types, hiaG_type(w->fn, now), w->b->arena) ||
                     hiaG_batch_may_owe(w->b, hiaG_type(w->fn, now))));
  if (may_be_pending && !w->packs_late[n] && hiaG_reads_elements(w->b->g, w->fn, n, i))
    return forced(w, n, now);
  const hia_node *node = &w->fn->nodes.data[n];
  if (w->fn->is_root && node->op == HIA_OP_YIELD && node->region == 0) {
    const hia_putting at = hiaG_before(w->b->g, w->fn, n);
    return hiaG_put_returned(&at, now, w->fn->results[i]);
  }
  return now;
}

/* Elements that are late are tensors of one element: a pack of them has one axis too many. */
static void narrow(rewriting *w, hia_node_id n) {
  if (w->packs_late[n]) {
    w->fn->nodes.data[n].op = HIA_OP_PACK_LATE;
    return;
  }
  hia_graph *g = w->b->g;
  hia_fn *fn = w->fn;
  hia_type element = hiaG_element(g->types, hiaG_type(fn, hiaG_in(fn, n, 0)));
  hia_value_id old = fn->nodes.data[n].outs;
  hia_type type = hiaG_type(fn, old);
  if (hiaG_type_kind(g->types, element) != HIA_KIND_TENSOR || fn->nodes.data[n].n_ins != 1) return;
  hia_value_id ins[2] = {hiaG_in(fn, n, 0), insert(w, n, HIA_OP_CONST, NULL, 0, HIA_I64, 1)};
  hia_type wide = hiaG_tensor(g->types, hiaG_tensor_dtype(g->types, type), 2);
  hia_value_id all = insert(w, n, HIA_OP_PACK, ins, 2, wide, 0);
  hia_value_id shape[2] = {all, insert(w, n, HIA_OP_DIM, &all, 1, HIA_I64, 0)};
  hiaG_replace(&w->subst, old, insert(w, n, HIA_OP_RESHAPE, shape, 2, type, 0));
  w->is_gone[n] = true;
}

typedef struct filling {
  const rewriting *w;
  bool is_late; /* an operand is a tensor where the object has a scalar */
} filling;
static void see_word(void *user, uint32_t i, hia_value_id v, uint32_t word) {
  filling *x = user;
  (void)i;
  x->is_late |= hiaR_is_scalar(x->w->b->g->types->layout_words.data[word].type) &&
                !hiaG_is_scalar(hiaG_type(x->w->fn, v));
}

/* Objects that hosts see get late scalars when these are computed. */
static void fill_later(rewriting *w, hia_node_id n) {
  hia_node *node = &w->fn->nodes.data[n];
  filling x = {w, false};
  if (node->op == HIA_OP_FIELD && hiaG_batch_is_owed(w->b, w->fn, n)) node->op = HIA_OP_FIELD_LATE;
  if (node->op == HIA_OP_DATA) hiaG_batch_stores(w->b->g, w->fn, n, see_word, &x);
  if (x.is_late) node->op = HIA_OP_DATA_LATE;
}

static void rewrite_node(rewriting *w, hia_node_id n) {
  if (n >= w->n_nodes) hiaG_rewrite_ins(&w->subst, w->fn, n); /* a `defer` */
  if (n >= w->n_nodes || w->is_gone[n]) return;
  uint32_t n_ins = w->fn->nodes.data[n].n_ins;
  hia_value_id *ins = HIA_NEW_ARRAY(w->b->arena, hia_value_id, n_ins);
  for (uint32_t i = 0; i < n_ins; i++) ins[i] = operand(w, n, i);
  hiaG_set_ins(w->b->g, w->fn, n, ins, n_ins);
  fill_later(w, n);
  if (w->fn->nodes.data[n].op == HIA_OP_PACK) narrow(w, n);
}

static void insert_segment(rewriting *w, const segment *s) {
  for (uint32_t i = 0; i < s->members.len; i++) w->is_gone[s->members.data[i]] = true;
  if (!s->outputs.len) return;
  hia_type *outs = HIA_NEW_ARRAY(w->b->arena, hia_type, s->outputs.len);
  hia_value_id *ins = HIA_NEW_ARRAY(w->b->arena, hia_value_id, s->inputs.len);
  for (uint32_t i = 0; i < s->outputs.len; i++) outs[i] = hiaG_type(w->fn, s->outputs.data[i]);
  for (uint32_t i = 0; i < s->inputs.len; i++) ins[i] = hiaG_resolve(&w->subst, s->inputs.data[i]);
  hia_loc_id loc = w->fn->nodes.data[s->members.data[0]].loc;
  hia_node_id n = hiaG_insert(w->b->g, w->fn, s->at, HIA_OP_DEFER, ins, s->inputs.len, outs,
                              s->outputs.len, s->fn, loc);
  for (uint32_t i = 0; i < s->outputs.len; i++)
    hiaG_replace(&w->subst, s->outputs.data[i], hiaG_out(w->fn, n, i));
}

void hiaG_batch_find_segments(hia_batcher *b, hia_fn_id f) {
  const hia_fn *fn = hiaG_fn(b->g, f);
  hia_batch_fn *known = &b->fns[f];
  segments *found = HIA_NEW(b->arena, segments);
  finding x = {.b = b, .f = f, .fn = fn, .of = known, .found = found};
  x.uses = HIA_NEW_ARRAY(b->arena, uint32_t, fn->values.len + 1);
  x.inside = HIA_NEW_ARRAY(b->arena, uint32_t, fn->values.len + 1);
  x.member_of = HIA_NEW_ARRAY(b->arena, uint32_t, fn->nodes.len + 1);
  x.is_waiting = HIA_NEW_ARRAY(b->arena, bool, fn->nodes.len + 1);
  known->was_scalar = HIA_NEW_ARRAY(b->arena, bool, fn->values.len + 1);
  for (hia_value_id v = 0; v < fn->values.len; v++)
    known->was_scalar[v] = hiaG_is_scalar(hiaG_type(fn, v));
  HIA_EACH_NODE(fn, n)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) x.uses[hiaG_in(fn, n, i)]++;
  known->packs_late = HIA_NEW_ARRAY(b->arena, bool, fn->nodes.len + 1);
  HIA_EACH_NODE(fn, n) known->packs_late[n] = hiaG_batch_packs_late(b, f, n);
  find_segments(&x);
  known->segments = found;
}

void hiaG_batch_insert_segments(hia_batcher *b, hia_fn_id f) {
  hia_fn *fn = hiaG_fn(b->g, f);
  hia_batch_fn *known = &b->fns[f];
  const segments *found = known->segments;
  rewriting w = {b,
                 f,
                 fn,
                 known,
                 fn->values.len,
                 fn->nodes.len,
                 hiaG_subst(b->g, fn),
                 known->was_scalar,
                 HIA_NEW_ARRAY(b->arena, bool, fn->nodes.len + 1),
                 known->packs_late};
  for (uint32_t i = 0; i < found->list.len; i++) insert_segment(&w, &found->list.data[i]);
  for (uint32_t i = 0; i < found->moved.len; i++)
    hiaG_move(fn, found->moved.data[i].n, found->moved.data[i].at);
  for (hia_node_id n = fn->regions.data[0].first, next; n != HIA_NONE; n = next) {
    rewrite_node(&w, n);
    next = hiaG_walk_next(fn, n);
  }
  for (hia_node_id n = 0; n < w.n_nodes; n++)
    if (w.is_gone[n]) hiaG_remove(fn, n);
  hiaG_compact(b->g, fn);
}
