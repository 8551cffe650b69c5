/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes of tensors, from definitions to uses: one rule for each shape rule of the op table.
 *
 * A variable of a loop may have other sizes in each round. Each of its axes is assumed to have the
 * size that it begins with. Where the next round's value has another one, the assumption is
 * dropped, and the function is gone through again; what is left in the end holds in every round. An
 * axis without it has a size of its own, which stands for another number in each round. So has all
 * that is computed from it; none of these sizes may be known outside of the loop. */
#include "graph/analysis/sizes.h"
#include "graph/ir/walk.h"

/* How often a function is gone through before all assumptions that could still fail are dropped. */
enum { MAX_TIMES = 16 };

typedef struct finding {
  hia_sizes *s;
  const hia_fn *fn;
  hia_value_sizes *of; /* by value */
  uint16_t *differs;   /* by value, of a loop's variable: a bit for each axis that may have another
                          size in another round */
  bool is_changed;     /* an assumption was dropped */
} finding;
_Static_assert(HIA_MAX_RANK <= 16, "finding.differs has a bit for each axis");

/* ---- numbers ---- */

static hia_size new_size(hia_sizes *s, int64_t number) {
  hiaR_push(s->arena, &s->numbers, number);
  return s->numbers.len - 1;
}

hia_size hiaG_size_of_number(hia_sizes *s, int64_t n) {
  uint32_t hash = hiaR_hash(&n, sizeof n), at = hash, i;
  while ((i = hiaR_index_next(&s->constants, hash, &at)) != HIA_NONE)
    if (s->numbers.data[i] == n) return i;
  hiaR_index_add(s->arena, &s->constants, hash, s->numbers.len);
  return new_size(s, n);
}

hia_size hiaG_size_or_new(hia_sizes *s, int64_t n) {
  return n < 0 ? new_size(s, -1) : hiaG_size_of_number(s, n);
}

hia_size hiaG_size_never(hia_sizes *s) {
  if (s->never == HIA_NONE) s->never = new_size(s, HIA_SIZE_NEVER);
  return s->never;
}

void hiaG_sizes_init(hia_sizes *s, hia_graph *g, hia_arena *arena) {
  *s = (hia_sizes){.g = g, .arena = arena, .never = HIA_NONE};
}

hia_value_sizes *hiaG_sizes_new(hia_sizes *s, const hia_fn *fn) {
  hia_value_sizes *sizes = HIA_NEW_ARRAY(s->arena, hia_value_sizes, fn->values.len + 1);
  for (uint32_t i = 0; i < fn->values.len; i++) sizes[i].integer = HIA_NONE;
  return sizes;
}

uint64_t hiaG_sizes_elements(const hia_sizes *s, const hia_value_sizes *known, uint32_t rank) {
  uint64_t n = 1;
  if (!known->axes) return UINT64_MAX;
  for (uint32_t k = 0; k < rank; k++) {
    int64_t one = hiaG_size_number(s, known->axes[k]);
    if (one < 0 || __builtin_mul_overflow(n, (uint64_t)one, &n)) return UINT64_MAX;
  }
  return n;
}

bool hiaG_sizes_equal(const hia_value_sizes *a, const hia_value_sizes *b, uint32_t rank) {
  return a->axes && b->axes && (rank == 0 || memcmp(a->axes, b->axes, rank * sizeof *a->axes) == 0);
}

/* ---- operands ---- */

static hia_value_id in(const finding *f, hia_node_id n, uint32_t i) { return hiaG_in(f->fn, n, i); }
static bool is_array(const finding *f, hia_value_id v) {
  return hiaG_type_kind(f->s->g->types, hiaG_type(f->fn, v)) == HIA_KIND_ARRAY;
}
/* An array has one axis, its length. */
static uint32_t rank_of(const finding *f, hia_value_id v) {
  return is_array(f, v) ? 1 : hiaG_rank(f->s->g->types, hiaG_type(f->fn, v));
}
static hia_size axis(const finding *f, hia_value_id v, uint32_t k) { return f->of[v].axes[k]; }

/* The number that an i64 is, or -1: it is not known, or below 0. */
static int64_t number_of(const finding *f, hia_value_id v) {
  hia_word word;
  if (hiaG_is_const(f->fn, v, &word)) return hiaR_to_i64(word) < 0 ? -1 : hiaR_to_i64(word);
  return f->of[v].integer == HIA_NONE ? -1 : hiaG_size_number(f->s, f->of[v].integer);
}

/* The size that an i64 is; it may be below 0, and then what it is the size of fails. */
static hia_size of_integer(const finding *f, hia_value_id v) {
  hia_word word;
  if (hiaG_is_const(f->fn, v, &word)) return hiaG_size_or_new(f->s, hiaR_to_i64(word));
  if (f->of[v].integer == HIA_NONE) f->of[v].integer = new_size(f->s, -1);
  return f->of[v].integer;
}

/* ---- rules ---- */

static bool is_one(const finding *f, hia_size s) { return hiaG_size_number(f->s, s) == 1; }
static bool is_never(const finding *f, hia_size s) {
  return hiaG_size_number(f->s, s) == HIA_SIZE_NEVER;
}

/* Returns, of two axes that are broadcast, the one that is not 1, if that is known. */
static hia_size broadcast(const finding *f, hia_size a, hia_size b) {
  if (a == b || is_one(f, b)) return a;
  if (is_never(f, a) && !is_one(f, b)) return b;
  if (is_never(f, b)) return is_one(f, a) ? b : a;
  if (is_one(f, a) || hiaG_size_number(f->s, b) >= 0) return b;
  return hiaG_size_number(f->s, a) >= 0 ? a : new_size(f->s, -1);
}

static void elementwise(const finding *f, hia_node_id n, hia_size *out, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++) out[k] = hiaG_size_of_number(f->s, 1);
  for (uint32_t i = 0; i < f->fn->nodes.data[n].n_ins; i++) {
    uint32_t own_rank = rank_of(f, in(f, n, i));
    for (uint32_t k = 0; k < own_rank; k++) {
      hia_size *at = &out[rank - own_rank + k];
      *at = broadcast(f, *at, axis(f, in(f, n, i), k));
    }
  }
}

static void copy(const finding *f, hia_size *out, hia_value_id v, uint32_t first, uint32_t n) {
  for (uint32_t k = 0; k < n; k++) out[k] = axis(f, v, first + k);
}

/* Axes from `first` on are the sizes that operands from `i` on state. */
static void stated(const finding *f, hia_node_id n, uint32_t i, hia_size *out) {
  for (; i < f->fn->nodes.data[n].n_ins; i++) *out++ = of_integer(f, in(f, n, i));
}

static void expect(const finding *f, hia_node_id n, hia_size *out, uint32_t rank) {
  uint32_t i = 1;
  copy(f, out, in(f, n, 0), 0, rank);
  for (uint32_t k = 0; k < rank; k++)
    if (f->fn->nodes.data[n].imm >> k & 1) {
      hia_size stated_size = of_integer(f, in(f, n, i++));
      if (hiaG_size_number(f->s, out[k]) < 0) out[k] = stated_size;
    }
}

/* Returns the length of from .. to, which are operands 1 and 2. */
static hia_size length(const finding *f, hia_node_id n) {
  int64_t from = number_of(f, in(f, n, 1)), to = number_of(f, in(f, n, 2));
  if (from >= 0 && to >= from) return hiaG_size_of_number(f->s, to - from);
  return from == 0 ? of_integer(f, in(f, n, 2)) : new_size(f->s, -1);
}

static void cat(const finding *f, hia_node_id n, hia_size *out, uint32_t rank) {
  const hia_node *node = &f->fn->nodes.data[n];
  int64_t sum = 0;
  copy(f, out, in(f, n, 0), 0, rank);
  if (node->n_ins == 1) return;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    int64_t one = hiaG_size_number(f->s, axis(f, in(f, n, i), (uint32_t)node->imm));
    if (one < 0 || sum < 0 || one > INT64_MAX - sum)
      sum = -1;
    else
      sum += one;
    /* All others are equal in all operands: one of them may be known. */
    for (uint32_t k = 0; k < rank; k++)
      if (hiaG_size_number(f->s, axis(f, in(f, n, i), k)) >= 0) out[k] = axis(f, in(f, n, i), k);
  }
  out[node->imm] = hiaG_size_or_new(f->s, sum);
}

static void stack(const finding *f, hia_node_id n, hia_size *out, uint32_t rank) {
  const hia_node *node = &f->fn->nodes.data[n];
  for (uint32_t k = 0, from = 0; k < rank; k++)
    out[k] = k == node->imm ? hiaG_size_of_number(f->s, node->n_ins) : axis(f, in(f, n, 0), from++);
}

static void reduce(const finding *f, hia_node_id n, hia_size *out, uint32_t rank) {
  for (uint32_t k = 0, from = 0; k < rank; k++, from++) {
    if (from == f->fn->nodes.data[n].imm) from++;
    out[k] = axis(f, in(f, n, 0), from);
  }
}

/* A comprehension may be stacked. Where it has no elements the stated sizes count. */
static void pack(const finding *f, hia_node_id n, hia_size *out, uint32_t rank) {
  const hia_node *map = hiaG_def(f->fn, in(f, n, 0));
  bool is_map = map->op == HIA_OP_MAP;
  hia_node_id yield = is_map ? hiaG_yield_of(f->fn, map->regions) : HIA_NONE;
  if (rank) out[0] = axis(f, in(f, n, 0), 0);
  for (uint32_t k = 1; k < rank; k++) {
    hia_size stated_size = of_integer(f, in(f, n, k));
    hia_size own = is_map ? axis(f, in(f, yield, 0), k - 1) : HIA_NONE;
    bool is_it = own == stated_size || (is_map && is_never(f, own)) ||
                 f->fn->nodes.data[n].flags & HIA_NODE_SIZED;
    out[k] = is_it && hiaG_size_number(f->s, stated_size) >= 0 ? stated_size : new_size(f->s, -1);
  }
}

/* Gives a product its sizes, as NumPy's matmul does. The axes that a and b have as matrices are
 * a_row, b_col from the last. */
static void product(const finding *f, hia_node_id n, hia_size *out, uint32_t rank, bool is_at,
                    bool is_bt) {
  hia_value_id a = in(f, n, 0), b = in(f, n, 1);
  uint32_t rank_a = rank_of(f, a), rank_b = rank_of(f, b), at = rank;
  if (rank_b > 1) out[--at] = axis(f, b, rank_b - (is_bt ? 2 : 1));
  if (rank_a > 1) out[--at] = axis(f, a, rank_a - (is_at ? 1 : 2));
  uint32_t lead_a = rank_a > 2 ? rank_a - 2 : 0, lead_b = rank_b > 2 ? rank_b - 2 : 0;
  for (uint32_t k = 1; k <= at; k++) {
    hia_size one = hiaG_size_of_number(f->s, 1);
    hia_size of_a = k <= lead_a ? axis(f, a, lead_a - k) : one;
    hia_size of_b = k <= lead_b ? axis(f, b, lead_b - k) : one;
    out[at - k] = broadcast(f, of_a, of_b);
  }
}

static void of_dims(const finding *f, const hia_dims *dims, hia_size *out) {
  for (uint32_t k = 0; k < dims->rank; k++) out[k] = hiaG_size_or_new(f->s, dims->dims[k]);
}

static void new_sizes(const finding *f, hia_size *out, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++) out[k] = new_size(f->s, -1);
}

/* The result of an op that computes, or reads a param or a literal. */
static void by_rule(const finding *f, hia_node_id n, hia_size *out, uint32_t rank) {
  const hia_node *node = &f->fn->nodes.data[n];
  const hia_graph *g = f->s->g;
  hia_value_id x = node->n_ins ? in(f, n, 0) : HIA_NONE;
  switch ((hia_shape_rule)hiaR_ops[node->op].shape) {
  case HIA_SHAPE_ELEMENTWISE: elementwise(f, n, out, rank); return;
  case HIA_SHAPE_ROW: copy(f, out, x, 1, rank); return;
  case HIA_SHAPE_PART:
    out[0] = length(f, n);
    copy(f, out + 1, x, 1, rank - 1);
    return;
  case HIA_SHAPE_CUT:
    copy(f, out, x, 0, rank);
    out[node->imm] = length(f, n);
    return;
  case HIA_SHAPE_ROWS: {
    uint32_t of_index = rank_of(f, in(f, n, 1));
    copy(f, out, in(f, n, 1), 0, of_index);
    copy(f, out + of_index, x, 1, rank - of_index);
    return;
  }
  case HIA_SHAPE_WITH:
  case HIA_SHAPE_LAST:
  case HIA_SHAPE_LABELLED:
  case HIA_SHAPE_ZEROS:
  case HIA_SHAPE_SCATTER: copy(f, out, x, 0, rank); return;
  case HIA_SHAPE_COLLECT:
  case HIA_SHAPE_FIT:
  case HIA_SHAPE_LABELS: copy(f, out, in(f, n, 1), 0, rank); return;
  case HIA_SHAPE_CAT: cat(f, n, out, rank); return;
  case HIA_SHAPE_STACK: stack(f, n, out, rank); return;
  case HIA_SHAPE_RESHAPE: stated(f, n, 1, out); return;
  case HIA_SHAPE_FULL: stated(f, n, 1, out); return;
  case HIA_SHAPE_IOTA: stated(f, n, 0, out); return;
  case HIA_SHAPE_ONE_HOT: stated(f, n, 1, out); return;
  case HIA_SHAPE_EXPECT: expect(f, n, out, rank); return;
  case HIA_SHAPE_REDUCE: reduce(f, n, out, rank); return;
  case HIA_SHAPE_PACK: pack(f, n, out, rank); return;
  case HIA_SHAPE_PRODUCT: product(f, n, out, rank, false, false); return;
  case HIA_SHAPE_PRODUCT_AT: product(f, n, out, rank, true, false); return;
  case HIA_SHAPE_PRODUCT_BT: product(f, n, out, rank, false, true); return;
  case HIA_SHAPE_OUTER:
    out[0] = axis(f, x, 0);
    out[1] = axis(f, in(f, n, 1), 0);
    return;
  case HIA_SHAPE_TRANSPOSE:
    out[0] = axis(f, x, 1);
    out[1] = axis(f, x, 0);
    return;
  case HIA_SHAPE_PARAM:
    of_dims(f,
            node->op == HIA_OP_PARAM ? &g->params.data[node->imm].shape
                                     : &g->literals.data[node->imm].shape,
            out);
    return;
  default: break;
  }
  if (node->op == HIA_OP_MAP)
    out[0] = of_integer(f, x);
  else if (node->op == HIA_OP_SET)
    copy(f, out, x, 0, rank);
  else
    new_sizes(f, out, rank);
}

/* ---- nodes ---- */

static hia_size *room(const finding *f, hia_value_id v) {
  f->of[v].axes = HIA_NEW_ARRAY(f->s->arena, hia_size, rank_of(f, v) + 1);
  return f->of[v].axes;
}

static bool has_axes(const finding *f, hia_value_id v) {
  return hiaG_is_tensor(f->s->g, f->fn, v) || is_array(f, v);
}

static hia_size join(const finding *f, hia_size a, hia_size b) {
  if (a == b || is_never(f, b)) return a;
  return is_never(f, a) ? b : new_size(f->s, -1);
}

/* An i64 has both sizes; NONE: none is known of it. */
static hia_size join_integers(const finding *f, hia_value_id a, hia_value_id b) {
  int64_t of_a = number_of(f, a), of_b = number_of(f, b);
  if (of_a == HIA_SIZE_NEVER) of_a = of_b;
  if (of_b == HIA_SIZE_NEVER) of_b = of_a;
  if (of_a == HIA_SIZE_NEVER) return hiaG_size_never(f->s);
  return of_a >= 0 && of_a == of_b ? hiaG_size_of_number(f->s, of_a) : HIA_NONE;
}

/* True for a value that is never looked at: it has any sizes. */
static bool is_unset(const finding *f, hia_value_id v) {
  unsigned op = hiaG_def(f->fn, v)->op;
  return op == HIA_OP_UNDEF || op == HIA_OP_FAIL || op == HIA_OP_GUARD;
}

/* The results of a branch, once both arms have been seen. */
static void branch_results(const finding *f, hia_node_id branch) {
  const hia_node *node = &f->fn->nodes.data[branch];
  hia_node_id yields[2] = {hiaG_yield_of(f->fn, node->regions),
                           hiaG_yield_of(f->fn, node->regions + 1)};
  for (uint32_t i = 0; i < node->n_outs; i++) {
    hia_value_id v = node->outs + i, a = in(f, yields[0], i), b = in(f, yields[1], i);
    if (hiaG_type(f->fn, v) == HIA_I64 && f->of[v].integer == HIA_NONE)
      f->of[v].integer = join_integers(f, a, b);
    if (!has_axes(f, v) || f->of[v].axes) continue;
    uint32_t rank = rank_of(f, v);
    hia_size *out = room(f, v);
    if (is_unset(f, a)) a = b;
    if (is_unset(f, b)) b = a;
    copy(f, out, a, 0, rank);
    for (uint32_t k = 0; k < rank; k++) out[k] = join(f, out[k], axis(f, b, k));
  }
}

/* A variable of a loop, at the begin of a round. */
static void variable(const finding *f, hia_node_id arg, hia_node_id loop) {
  hia_value_id v = f->fn->nodes.data[arg].outs;
  if (!has_axes(f, v) || f->of[v].axes) return;
  hia_value_id start = in(f, loop, (uint32_t)f->fn->nodes.data[arg].imm);
  uint32_t rank = rank_of(f, v);
  hia_size *out = room(f, v);
  for (uint32_t k = 0; k < rank; k++)
    out[k] = f->differs[v] >> k & 1 ? new_size(f->s, -1) : axis(f, start, k);
}

/* The results of a loop, once its head has been seen: values from outside, and variables at their
 * end, which have those sizes that they have in all rounds. */
static void loop_results(const finding *f, hia_node_id loop) {
  const hia_node *node = &f->fn->nodes.data[loop];
  hia_node_id yield = hiaG_yield_of(f->fn, node->regions);
  for (uint32_t i = 0; i < node->n_outs; i++) {
    hia_value_id v = node->outs + i, last = in(f, yield, i + 1);
    if (!has_axes(f, v) || f->of[v].axes) continue;
    const hia_node *def = hiaG_def(f->fn, last);
    bool is_inside = def->region == node->regions, is_variable = def->op == HIA_OP_ARG;
    uint32_t rank = rank_of(f, v);
    hia_size *out = room(f, v);
    for (uint32_t k = 0; k < rank; k++) {
      bool holds = !is_inside || (is_variable && !(f->differs[last] >> k & 1));
      hia_size size = axis(f, last, k);
      bool is_known = hiaG_size_number(f->s, size) != -1;
      out[k] = holds || is_known ? size : new_size(f->s, -1);
    }
  }
}

/* Compares the variables of the next round with what is assumed of them. */
static void compare_round(finding *f, hia_node_id loop, hia_node_id yield) {
  const hia_node *node = &f->fn->nodes.data[loop];
  HIA_EACH_ARG(f->fn, node->regions, arg) {
    hia_value_id v = f->fn->nodes.data[arg].outs;
    hia_value_id next = in(f, yield, (uint32_t)f->fn->nodes.data[arg].imm);
    for (uint32_t k = has_axes(f, v) ? rank_of(f, v) : 0; k-- > 0;) {
      hia_size now = axis(f, v, k), then = axis(f, next, k);
      if (f->differs[v] >> k & 1 || now == then || is_never(f, now) || is_never(f, then)) continue;
      f->differs[v] |= (uint16_t)(1u << k);
      f->is_changed = true;
    }
  }
}

/* Bounds of parts are computed from sizes. */
static void compute_integer(const finding *f, hia_node_id n) {
  hia_value_id v = f->fn->nodes.data[n].outs;
  if (hiaG_type(f->fn, v) != HIA_I64 || f->of[v].integer != HIA_NONE) return;
  int64_t a = number_of(f, in(f, n, 0)), b = number_of(f, in(f, n, 1));
  if (a == HIA_SIZE_NEVER || b == HIA_SIZE_NEVER) f->of[v].integer = hiaG_size_never(f->s);
  hia_word words[3] = {hiaR_from_i64(a), hiaR_from_i64(b)}, word;
  if (a < 0 || b < 0) return;
  if (hiaR_scalar_eval(f->fn->nodes.data[n].op, HIA_I64, 0, words, &word) != HIA_OK) return;
  if (hiaR_to_i64(word) >= 0) f->of[v].integer = hiaG_size_of_number(f->s, hiaR_to_i64(word));
}

/* At the end of a region. */
static void end_of(finding *f, hia_node_id yield) {
  hia_region_id region = f->fn->nodes.data[yield].region;
  if (region == 0) return;
  hia_node_id owner = f->fn->regions.data[region].owner;
  bool is_second = region != f->fn->nodes.data[owner].regions;
  switch (f->fn->nodes.data[owner].op) {
  case HIA_OP_IF:
    if (is_second) branch_results(f, owner);
    return;
  case HIA_OP_LOOP:
    if (is_second)
      compare_round(f, owner, yield);
    else
      loop_results(f, owner);
    return;
  default: return; /* the results of a comprehension are arrays */
  }
}

/* True if an operand is one that no run has had: nor has a run had the result then. */
static bool has_never(const finding *f, hia_node_id n) {
  for (uint32_t i = 0; i < f->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = in(f, n, i);
    if (hiaG_type(f->fn, v) == HIA_I64 && f->of[v].integer != HIA_NONE &&
        is_never(f, f->of[v].integer))
      return true;
    for (uint32_t k = has_axes(f, v) ? rank_of(f, v) : 0; k-- > 0;)
      if (is_never(f, axis(f, v, k))) return true;
  }
  return false;
}

static void look_at(finding *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_YIELD: end_of(f, n); return;
  case HIA_OP_LEN: f->of[node->outs].integer = axis(f, in(f, n, 0), 0); return;
  case HIA_OP_DIM: f->of[node->outs].integer = axis(f, in(f, n, 0), (uint32_t)node->imm); return;
  case HIA_OP_ADD:
  case HIA_OP_SUB:
  case HIA_OP_MUL:
  case HIA_OP_DIV: compute_integer(f, n); break;
  case HIA_OP_IF:
  case HIA_OP_LOOP: return; /* when their regions were seen */
  case HIA_OP_ARG: {
    hia_node_id owner = node->region ? f->fn->regions.data[node->region].owner : HIA_NONE;
    if (owner == HIA_NONE || f->fn->nodes.data[owner].op != HIA_OP_LOOP) break;
    variable(f, n, owner);
    return;
  }
  default: break;
  }
  bool is_of_never = f->s->never != HIA_NONE && has_never(f, n);
  for (uint32_t i = 0; i < node->n_outs; i++) {
    hia_value_id v = node->outs + i;
    if (!has_axes(f, v) || f->of[v].axes) continue;
    uint32_t rank = rank_of(f, v);
    hia_size *out = room(f, v);
    if (node->n_outs == 1)
      by_rule(f, n, out, rank);
    else
      new_sizes(f, out, rank);
    for (uint32_t k = 0; is_of_never && k < rank; k++)
      if (hiaG_size_number(f->s, out[k]) < 0) out[k] = hiaG_size_never(f->s);
  }
}

/* Nothing is assumed of variables whose sizes the caller knows, or of any. */
static void assume_nothing(finding *f, bool of_any) {
  for (uint32_t v = 0; v < f->fn->values.len; v++)
    if (of_any || f->of[v].axes) f->differs[v] = UINT16_MAX;
}

void hiaG_sizes_find(hia_sizes *s, const hia_fn *fn, hia_value_sizes *known) {
  finding f = {.s = s, .fn = fn, .of = known};
  size_t n = (size_t)fn->values.len + 1;
  hia_value_sizes *given = HIA_NEW_ARRAY(s->arena, hia_value_sizes, n);
  f.differs = HIA_NEW_ARRAY(s->arena, uint16_t, n);
  memcpy(given, known, fn->values.len * sizeof *known);
  assume_nothing(&f, false);
  for (unsigned times = 1;; times++) {
    f.is_changed = false;
    HIA_EACH_NODE(fn, at) look_at(&f, at);
    if (!f.is_changed) return;
    memcpy(known, given, fn->values.len * sizeof *known);
    if (times == MAX_TIMES) assume_nothing(&f, true);
  }
}
