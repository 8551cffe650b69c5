/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is known about sizes makes f.back simpler, and its tape smaller. The rules of gradients know
 * no sizes: an operand may have been broadcast, so its gradient is fitted to its shape, for which
 * the operand would have to be kept.
 *
 *   fit v, x          v, if they have one shape
 *   dim x             the number
 *   zeros x           a tensor of these numbers
 *   collect s, x      a tensor of s, if s is that and nothing else; the concatenation of its parts,
 * if these are all of it and each is there once
 *
 * Where a value is needed for its shape alone, another one that is kept and has this shape takes
 * its place. If there is none, its sizes are kept instead, as integers: else a loop that adds to a
 * tensor in each round would keep all that it has been. */
#include "graph/grad/shared.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/sums.h"
#include "graph/ir/walk.h"
#include <stdlib.h>

/* What f.back reads of something that is kept. */
typedef struct reads {
  bool elements; /* more than its shape */
  bool as_shape; /* an op takes it for its shape, */
  bool as_zeros; /* or zeros of its shape are made; or zeros do instead of it */
  uint16_t axes; /* a bit for each axis whose size is read */
} reads;
_Static_assert(HIA_MAX_RANK <= 16, "reads.axes has a bit for each axis");

/* A size that is kept as an integer. */
typedef struct kept_size {
  hia_size size;
  uint32_t grad_region;
  hia_value_id value; /* of f.back */
} kept_size;

typedef struct simplifying {
  hia_back *b;
  hia_graph *g;
  hia_fn *back;
  hia_arena *arena;
  uint32_t n;                  /* values that f.back had at first */
  HIA_VEC(hia_value_sizes) of; /* by value of f.back */
  uint32_t
      *kept_by; /* by value, of the first n: the hia_grad_kept that it stands for, and 1; or 0 */
  hia_subst subst;
  const reads *reads; /* by hia_grad_kept, of the first n_kept, once shapes are shared */
  uint32_t n_kept;
  HIA_VEC(kept_size) kept_sizes;
} simplifying;

static bool is_tensor(const simplifying *s, hia_value_id v) {
  return hiaG_is_tensor(s->g, s->back, v);
}
static uint32_t rank_of(const simplifying *s, hia_value_id v) {
  return hiaG_rank(s->g->types, hiaG_type(s->back, v));
}
static bool is_same(const simplifying *s, hia_value_id a, hia_value_id b) {
  return hiaG_type(s->back, a) == hiaG_type(s->back, b) &&
         hiaG_sizes_equal(&s->of.data[a], &s->of.data[b], rank_of(s, a));
}
/* Returns the constant size of an axis, or -1. */
static int64_t number_of(const simplifying *s, hia_value_id v, uint32_t axis) {
  const hia_size *axes = s->of.data[v].axes;
  return axes ? hiaG_size_number(&s->b->sizes, axes[axis]) : -1;
}

/* ---- finding sizes ---- */

static void give(simplifying *s, hia_value_id to, const hia_value_sizes *from) {
  if (!is_tensor(s, to) || s->of.data[to].axes) return;
  uint32_t rank = rank_of(s, to);
  s->of.data[to].axes = HIA_NEW_ARRAY(s->arena, hia_size, rank + 1);
  memcpy(s->of.data[to].axes, from->axes, rank * sizeof *from->axes);
}

void hiaG_grad_find_sizes(hia_back *b) {
  hiaG_sizes_init(&b->sizes, b->g, b->d->arena);
  b->of_fn = hiaG_sizes_new(&b->sizes, b->fn);
  hiaG_sizes_find(&b->sizes, b->fn, b->of_fn);
}

static void find_sizes(simplifying *s) {
  const hia_back *b = s->b;
  s->of.data = hiaG_sizes_new(&s->b->sizes, s->back);
  s->of.len = s->of.cap = s->n;
  for (uint32_t i = 0; i < b->kept.len; i++) {
    const hia_grad_kept *kept = &b->kept.data[i];
    if (kept->kind != HIA_KEPT_VALUE) continue;
    give(s, kept->stands_for, &b->of_fn[kept->value]);
    s->of.data[kept->stands_for].integer = b->of_fn[kept->value].integer;
  }
  for (uint32_t i = 0; i < b->shapes.len; i++)
    if (hiaG_is_tensor(s->g, b->fn, b->shapes.data[i].of))
      give(s, b->shapes.data[i].gradient, &b->of_fn[b->shapes.data[i].of]);
  hiaG_sizes_find(&s->b->sizes, s->back, s->of.data);
}

/* ---- parts that are all of a tensor ---- */

typedef struct part {
  int64_t from, to;
  hia_value_id x;
} part;
typedef HIA_VEC(part) parts;

static int by_from(const void *a, const void *b) {
  const part *x = a, *y = b;
  return x->from < y->from ? -1 : x->from > y->from;
}

static bool is_part_of_sum(const simplifying *s, hia_value_id v, hia_sum_ctor ctor) {
  const hia_node *def = hiaG_def(s->back, v);
  return def->op == HIA_OP_DATA && def->imm == (uint64_t)ctor &&
         hiaG_is_sum(s->g->types, hiaG_type(s->back, v));
}
static hia_value_id operand(const simplifying *s, hia_value_id v, uint32_t i) {
  return hiaG_in(s->back, s->back->values.data[v].node, i);
}

/* The number that an i64 is; below 0: it is not known. */
static int64_t integer_of(const simplifying *s, hia_value_id v) {
  hia_word word;
  hia_size size = s->of.data[v].integer;
  if (hiaG_is_const(s->back, v, &word)) return hiaR_to_i64(word);
  return size == HIA_NONE ? -1 : hiaG_size_number(&s->b->sizes, size);
}

/* Lists the parts of a sum. False: it has others, or they are not known. */
static bool list_parts(simplifying *s, hia_value_id sum, parts *list) {
  hia_u32vec left = {0};
  hiaR_push(s->arena, &left, sum);
  while (left.len) {
    hia_value_id v = left.data[--left.len];
    if (list->len + left.len + 2 > HIA_SUM_TILES) return false; /* as `collect`, in its order */
    if (is_part_of_sum(s, v, HIA_SUM_BOTH)) {
      hiaR_push(s->arena, &left, operand(s, v, 1));
      hiaR_push(s->arena, &left, operand(s, v, 0));
      continue;
    }
    if (!is_part_of_sum(s, v, HIA_SUM_PART) || !is_part_of_sum(s, operand(s, v, 1), HIA_SUM_DENSE))
      return false;
    hia_value_id x = operand(s, operand(s, v, 1), 0);
    int64_t n = number_of(s, x, 0), at = integer_of(s, operand(s, v, 0));
    if (n < 0 || at < 0 || n > INT64_MAX - at) return false;
    if (n > 0) hiaR_push(s->arena, list, (part){at, at + n, x});
  }
  return true;
}

/* Returns the parts of a sum that becomes a tensor like x, in the order of their indices; or none,
 * if they are not all of it, one behind the other. */
static parts tiles(simplifying *s, hia_value_id sum, hia_value_id x) {
  parts list = {0}, none = {0};
  int64_t at = 0;
  if (number_of(s, x, 0) < 0 || !list_parts(s, sum, &list)) return none;
  if (list.len) qsort(list.data, list.len, sizeof *list.data, by_from);
  for (uint32_t i = 0; i < list.len; i++) {
    if (list.data[i].from != at) return none;
    at = list.data[i].to;
  }
  return at == number_of(s, x, 0) ? list : none;
}

/* ---- nodes ---- */

static hia_value_id insert_at(simplifying *s, hia_node_id at, unsigned op, const hia_value_id *ins,
                              uint32_t n_ins, hia_type type, uint64_t imm, hia_loc_id loc) {
  hia_node_id n = hiaG_insert(s->g, s->back, at, op, ins, n_ins, &type, 1, imm, loc);
  hiaR_push(s->arena, &s->of, (hia_value_sizes){.integer = HIA_NONE});
  return hiaG_out(s->back, n, 0);
}
static hia_value_id insert(simplifying *s, hia_node_id at, unsigned op, const hia_value_id *ins,
                           uint32_t n_ins, hia_type type, uint64_t imm) {
  return insert_at(s, at, op, ins, n_ins, type, imm, s->back->nodes.data[at].loc);
}

/* Returns zeros of a tensor whose sizes are numbers; NONE: they are not. */
static hia_value_id zeros(simplifying *s, hia_node_id n, hia_value_id x) {
  hia_value_id ins[HIA_MAX_RANK + 1];
  hia_type type = hiaG_type(s->back, x);
  uint32_t rank = rank_of(s, x);
  for (uint32_t k = 0; k < rank; k++)
    if (number_of(s, x, k) < 0) return HIA_NONE;
  ins[0] = insert(s, n, HIA_OP_CONST, NULL, 0, (hia_type)hiaG_dtype(s->g->types, type), 0);
  for (uint32_t k = 0; k < rank; k++)
    ins[k + 1] = insert(s, n, HIA_OP_CONST, NULL, 0, HIA_I64, hiaR_from_i64(number_of(s, x, k)));
  return insert(s, n, HIA_OP_FULL, ins, rank + 1, type, 0);
}

static hia_value_id collected(simplifying *s, hia_node_id n, hia_value_id sum, hia_value_id x) {
  if (is_part_of_sum(s, sum, HIA_SUM_DENSE) && is_same(s, operand(s, sum, 0), x))
    return operand(s, sum, 0);
  parts list = tiles(s, sum, x);
  if (!list.len) return HIA_NONE;
  hia_u32vec ins = {0};
  for (uint32_t i = 0; i < list.len; i++) hiaR_push(s->arena, &ins, list.data[i].x);
  return insert(s, n, HIA_OP_CAT, ins.data, ins.len, hiaG_type(s->back, x), 0);
}

/* Returns the value that a node's result is simpler as; NONE: the node stays. */
static hia_value_id simpler(simplifying *s, hia_node_id n) {
  const hia_node *node = &s->back->nodes.data[n];
  hia_value_id a = node->n_ins > 0 ? hiaG_in(s->back, n, 0) : HIA_NONE;
  hia_value_id b = node->n_ins > 1 ? hiaG_in(s->back, n, 1) : HIA_NONE;
  int64_t size;
  switch (node->op) {
  case HIA_OP_FIT: return is_same(s, a, b) ? a : HIA_NONE;
  case HIA_OP_ZEROS: return zeros(s, n, a);
  case HIA_OP_COLLECT: return collected(s, n, a, b);
  case HIA_OP_DIM:
    size = number_of(s, a, (uint32_t)node->imm);
    if (size < 0) return HIA_NONE;
    return insert(s, n, HIA_OP_CONST, NULL, 0, HIA_I64, hiaR_from_i64(size));
  default: return HIA_NONE;
  }
}

static void simplify(simplifying *s) {
  s->subst = hiaG_subst(s->g, s->back);
  for (hia_node_id n = s->back->regions.data[0].first, next; n != HIA_NONE; n = next) {
    hiaG_rewrite_ins(&s->subst, s->back, n);
    next = hiaG_walk_next(s->back, n);
    hia_value_id by = simpler(s, n);
    if (by == HIA_NONE) continue;
    hia_value_id was = s->back->nodes.data[n].outs;
    if (!s->of.data[by].axes) s->of.data[by] = s->of.data[was];
    hiaG_replace(&s->subst, was, by);
    hiaG_remove(s->back, n);
  }
}

/* Removes what nothing uses any more: operations, and parts of sums. */
static void sweep(simplifying *s) {
  hia_fn *fn = s->back;
  uint32_t *uses = HIA_NEW_ARRAY(s->arena, uint32_t, (size_t)fn->values.len + 1);
  hia_u32vec order = {0};
  HIA_EACH_NODE(fn, n) {
    hiaR_push(s->arena, &order, n);
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++) uses[hiaG_in(fn, n, i)]++;
  }
  for (uint32_t i = order.len; i-- > 0;) {
    const hia_node *node = &fn->nodes.data[order.data[i]];
    bool computes = hiaR_ops[node->op].shape != HIA_SHAPE_NONE || node->op == HIA_OP_DATA ||
                    node->op == HIA_OP_CONST || node->op == HIA_OP_CAST;
    if (!computes || node->n_outs != 1 || uses[node->outs]) continue;
    for (uint32_t k = 0; k < node->n_ins; k++) uses[hiaG_in(fn, order.data[i], k)]--;
    hiaG_remove(fn, order.data[i]);
  }
}

/* ---- shapes ---- */

/* Returns the operand of which an op uses the shape alone; or NONE. */
static uint32_t shape_operand(unsigned op) {
  switch (op) {
  case HIA_OP_ZEROS:
  case HIA_OP_SCATTER:
  case HIA_OP_DIM: return 0;
  case HIA_OP_FIT:
  case HIA_OP_COLLECT: return 1;
  default: return HIA_NONE;
  }
}

static hia_grad_kept *kept_of(const simplifying *s, hia_value_id v) {
  return v < s->n && s->kept_by[v] ? &s->b->kept.data[s->kept_by[v] - 1] : NULL;
}

/* True if what is kept in region `a` can be read where what is kept in region `b` can. */
static bool is_around(const simplifying *s, uint32_t a, uint32_t b) {
  while (b != a && b != HIA_NONE) b = s->b->grad_regions.data[b].outer;
  return b == a;
}

static hia_value_id find_like(const simplifying *s, const bool *is_needed, hia_value_id x) {
  const hia_grad_kept *kept = kept_of(s, x);
  for (uint32_t i = 0; i < s->b->kept.len; i++) {
    const hia_grad_kept *candidate = &s->b->kept.data[i];
    if (candidate->kind == HIA_KEPT_VALUE && is_needed[i] &&
        is_around(s, candidate->grad_region, kept->grad_region) &&
        is_same(s, candidate->stands_for, x))
      return candidate->stands_for;
  }
  return x;
}

static void share_shapes(simplifying *s) {
  bool *is_needed = HIA_NEW_ARRAY(s->arena, bool, (size_t)s->b->kept.len + 1);
  HIA_EACH_NODE(s->back, n)
    for (uint32_t i = 0; i < s->back->nodes.data[n].n_ins; i++) {
      hia_value_id v = hiaG_in(s->back, n, i);
      if (kept_of(s, v) && i != shape_operand(s->back->nodes.data[n].op))
        is_needed[s->kept_by[v] - 1] = true;
    }
  HIA_EACH_NODE(s->back, n) {
    uint32_t i = shape_operand(s->back->nodes.data[n].op);
    if (i == HIA_NONE) continue;
    hia_value_id v = hiaG_in(s->back, n, i);
    if (!kept_of(s, v) || kept_of(s, v)->kind != HIA_KEPT_VALUE) continue;
    hia_value_id like = find_like(s, is_needed, v);
    s->back->edges.data[s->back->nodes.data[n].ins + i] = like;
    is_needed[s->kept_by[like] - 1] = true;
  }
}

/* ---- sizes instead of shapes ---- */

/* Finds, by hia_grad_kept, what f.back reads of it. */
static reads *find_reads(const simplifying *s) {
  reads *found = HIA_NEW_ARRAY(s->arena, reads, (size_t)s->b->kept.len + 1);
  HIA_EACH_NODE(s->back, n) {
    const hia_node *node = &s->back->nodes.data[n];
    for (uint32_t i = 0; i < node->n_ins; i++) {
      hia_value_id v = hiaG_in(s->back, n, i);
      if (!kept_of(s, v)) continue;
      reads *read = &found[s->kept_by[v] - 1];
      read->elements |= i != shape_operand(node->op);
      if (i != shape_operand(node->op)) continue;
      read->axes |= (uint16_t)(node->op == HIA_OP_DIM ? 1u << node->imm : 0);
      read->as_shape |= node->op != HIA_OP_DIM && node->op != HIA_OP_ZEROS;
      read->as_zeros |= node->op != HIA_OP_DIM;
    }
  }
  return found;
}

static bool is_in_rounds(const simplifying *s, uint32_t grad_region) {
  for (; grad_region != HIA_NONE; grad_region = s->b->grad_regions.data[grad_region].outer)
    if (s->b->grad_regions.data[grad_region].kind == HIA_GRAD_HEAD) return true;
  return false;
}

/* Adds to f an operation that gives the size of an axis of a value, as soon as that is there: later
 * it could keep `set` from changing the value in place. */
static hia_value_id size_in_f(const simplifying *s, hia_value_id v, uint32_t axis) {
  hia_fn *fn = s->b->fn;
  hia_node_id def = fn->values.data[v].node, at = fn->nodes.data[def].next;
  hia_region_id region = fn->nodes.data[def].region;
  hia_type i64 = HIA_I64;
  if (fn->nodes.data[def].op == HIA_OP_ARG) {
    /* A loop's head is for its condition: in the round. */
    bool is_variable = region && fn->nodes.data[fn->regions.data[region].owner].op == HIA_OP_LOOP;
    at = hiaG_behind_args(fn, region + is_variable);
  }
  hia_node_id n =
      hiaG_insert(s->g, fn, at, HIA_OP_DIM, &v, 1, &i64, 1, axis, fn->nodes.data[def].loc);
  return hiaG_out(fn, n, 0);
}

/* Returns where the sizes of what is kept in a region are kept: those of a loop's variables with
 * the rest of the round. */
static uint32_t region_of_sizes(const simplifying *s, uint32_t grad_region) {
  const hia_grad_region *grad_regions = s->b->grad_regions.data;
  uint32_t round = grad_region;
  if (grad_regions[grad_region].kind != HIA_GRAD_HEAD) return grad_region;
  while (grad_regions[round].kind != HIA_GRAD_ROUND || grad_regions[round].outer != grad_region)
    round++;
  return round;
}

/* Returns a size as a value of f.back that can be read in the region, if one is kept anyway; else
 * NONE. */
static hia_value_id find_size(const simplifying *s, uint32_t grad_region, hia_size size) {
  for (uint32_t i = 0; i < s->kept_sizes.len; i++)
    if (s->kept_sizes.data[i].size == size &&
        is_around(s, s->kept_sizes.data[i].grad_region, grad_region))
      return s->kept_sizes.data[i].value;
  for (uint32_t i = 0; i < s->n_kept; i++) {
    const hia_grad_kept *kept = &s->b->kept.data[i];
    if (s->reads[i].elements && s->of.data[kept->stands_for].integer == size &&
        is_around(s, kept->grad_region, grad_region))
      return kept->stands_for;
  }
  return HIA_NONE;
}

static hia_loc_id loc_of(const simplifying *s, hia_value_id v) { return hiaG_def(s->back, v)->loc; }

/* Returns the size of an axis of a kept value, as a value of f.back that can be read where that
 * can. */
static hia_value_id size_of_kept(simplifying *s, uint32_t kept, uint32_t axis) {
  const hia_grad_kept entry = s->b->kept.data[kept];
  uint32_t grad_region = region_of_sizes(s, entry.grad_region);
  hia_node_id at = s->b->grad_regions.data[grad_region].anchor;
  hia_size size = s->of.data[entry.stands_for].axes[axis];
  int64_t number = hiaG_size_number(&s->b->sizes, size);
  if (number >= 0) return insert(s, at, HIA_OP_CONST, NULL, 0, HIA_I64, hiaR_from_i64(number));
  hia_value_id found = find_size(s, grad_region, size);
  if (found != HIA_NONE) return found;
  hia_grad_kept of_size = {.kind = HIA_KEPT_VALUE,
                           .grad_region = grad_region,
                           .value = size_in_f(s, entry.value, axis),
                           .node = HIA_NONE,
                           .next = HIA_NONE};
  of_size.stands_for =
      insert_at(s, at, HIA_OP_UNDEF, NULL, 0, HIA_I64, 0, loc_of(s, entry.stands_for));
  hiaR_push(s->arena, &s->b->kept, of_size);
  hiaR_push(s->arena, &s->b->grad_regions.data[grad_region].kept, s->b->kept.len - 1);
  hiaR_push(s->arena, &s->kept_sizes, (kept_size){size, grad_region, of_size.stands_for});
  return of_size.stands_for;
}

/* Returns how many sizes would be kept for a kept value, and are not yet: those of the axes that
 * are read. */
static uint32_t n_new_sizes(const simplifying *s, uint32_t kept) {
  const hia_grad_kept *entry = &s->b->kept.data[kept];
  const hia_size *axes = s->of.data[entry->stands_for].axes;
  uint32_t n = 0, grad_region = region_of_sizes(s, entry->grad_region);
  for (uint32_t k = 0; k < rank_of(s, entry->stands_for); k++) {
    bool is_read = s->reads[kept].as_zeros || s->reads[kept].axes >> k & 1;
    n += is_read && hiaG_size_number(&s->b->sizes, axes[k]) < 0 &&
         find_size(s, grad_region, axes[k]) == HIA_NONE;
  }
  return n;
}

/* True if sizes are kept instead of a value. Each round would keep a tensor of its own: there it is
 * always worth it, also where an op takes a tensor for its shape, which has to be made. Elsewhere
 * it must not take more words. In the words of an element the value may be there anyway. */
static bool are_sizes_enough(const simplifying *s, uint32_t kept) {
  const hia_grad_kept *entry = &s->b->kept.data[kept];
  reads read = s->reads[kept];
  if (entry->kind != HIA_KEPT_VALUE || !is_tensor(s, entry->stands_for)) return false;
  if (read.elements || !(read.axes || read.as_zeros) || !s->of.data[entry->stands_for].axes)
    return false;
  if (s->b->grad_regions.data[entry->grad_region].kind == HIA_GRAD_EACH) return false;
  return is_in_rounds(s, entry->grad_region) || (!read.as_shape && n_new_sizes(s, kept) <= 1);
}

/* Returns a tensor of zeros, of the shape of a kept value. */
static hia_value_id zeros_of_kept(simplifying *s, uint32_t kept) {
  const hia_grad_kept entry = s->b->kept.data[kept];
  hia_type type = hiaG_type(s->back, entry.stands_for);
  uint32_t rank = rank_of(s, entry.stands_for);
  hia_node_id at = s->b->grad_regions.data[region_of_sizes(s, entry.grad_region)].anchor;
  hia_loc_id loc = loc_of(s, entry.stands_for);
  hia_value_id ins[HIA_MAX_RANK + 1];
  ins[0] = insert(s, at, HIA_OP_CONST, NULL, 0, (hia_type)hiaG_dtype(s->g->types, type), 0);
  for (uint32_t k = 0; k < rank; k++) ins[k + 1] = size_of_kept(s, kept, k);
  return insert_at(s, at, HIA_OP_FULL, ins, rank + 1, type, 0, loc);
}

/* Keeps sizes where they are enough. What was kept instead is not read any more. */
static void keep_sizes(simplifying *s) {
  s->n_kept = s->b->kept.len;
  s->reads = find_reads(s);
  hia_value_id *shapes = HIA_NEW_ARRAY(s->arena, hia_value_id, (size_t)s->n_kept + 1);
  for (uint32_t i = 0; i < s->n_kept; i++) {
    bool is_enough = are_sizes_enough(s, i);
    shapes[i] = is_enough && s->reads[i].as_zeros ? zeros_of_kept(s, i) : HIA_NONE;
    if (!is_enough) s->kept_by[s->b->kept.data[i].stands_for] = 0;
  }
  s->subst = hiaG_subst(s->g, s->back);
  for (hia_node_id at = s->back->regions.data[0].first, next; at != HIA_NONE; at = next) {
    hiaG_rewrite_ins(&s->subst, s->back, at);
    next = hiaG_walk_next(s->back, at);
    const hia_node *node = &s->back->nodes.data[at];
    uint32_t i = shape_operand(node->op);
    hia_value_id v = i < node->n_ins ? hiaG_in(s->back, at, i) : HIA_NONE;
    if (v == HIA_NONE || !kept_of(s, v)) continue;
    uint32_t kept = s->kept_by[v] - 1;
    if (node->op != HIA_OP_DIM && node->op != HIA_OP_ZEROS) {
      s->back->edges.data[node->ins + i] = shapes[kept];
      continue;
    }
    hia_value_id was = node->outs;
    hia_value_id by =
        node->op == HIA_OP_DIM ? size_of_kept(s, kept, (uint32_t)node->imm) : shapes[kept];
    hiaG_replace(&s->subst, was, by);
    hiaG_remove(s->back, at);
  }
}

void hiaG_grad_sizes(hia_back *b) {
  simplifying s = {.b = b, .g = b->g, .back = b->back, .arena = b->d->arena};
  b->n_nodes = b->fn->nodes.len;
  b->n_values = b->fn->values.len;
  b->n_edges = b->fn->edges.len;
  s.n = b->back->values.len;
  s.kept_by = HIA_NEW_ARRAY(s.arena, uint32_t, (size_t)s.n + 1);
  for (uint32_t i = 0; i < b->kept.len; i++) s.kept_by[b->kept.data[i].stands_for] = i + 1;
  find_sizes(&s);
  simplify(&s);
  sweep(&s);
  share_shapes(&s);
  keep_sizes(&s);
}

void hiaG_grad_remove_sizes(hia_back *b) {
  for (hia_node_id n = b->n_nodes; n < b->fn->nodes.len; n++) hiaG_remove(b->fn, n);
  b->fn->nodes.len = b->n_nodes;
  b->fn->values.len = b->n_values;
  b->fn->edges.len = b->n_edges;
}
