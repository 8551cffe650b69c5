/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Estimates for static graphs: how long code takes, in cycles of the op table, and how large it is.
 */
#include "graph/analysis/analysis.h"

#define COST_OWN(NAME) uint64_t hiaG_cost_##NAME(const hia_fn *fn, hia_node_id n);
#define COST_SHAPES(NAME)
#define COST_NONE(NAME)
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  COST_##COST(NAME)
#include "runtime/base/ops.def"
#undef COST_OWN
#undef COST_SHAPES
#undef COST_NONE

/* The remainder of floats is computed bit by bit: some thousand bits for the largest divided by
 * the smallest. */
uint64_t hiaG_cost_REM(const hia_fn *fn, hia_node_id n) {
  hia_type dtype = hiaG_type(fn, hiaG_in(fn, n, 0));
  if (dtype == HIA_F64) return HIA_MAX_UNPOLLED;
  return dtype == HIA_F32 ? HIA_MAX_UNPOLLED / 8 : hiaR_ops[HIA_OP_REM].cost;
}

/* The cost of a function of the host is unknown. */
uint64_t hiaG_cost_HOST(const hia_fn *fn, hia_node_id n) {
  (void)fn;
  (void)n;
  return HIA_MAX_UNPOLLED;
}

uint64_t hiaG_cost_ARRAY(const hia_fn *fn, hia_node_id n) {
  return hiaR_ops[HIA_OP_ARRAY].cost + (uint64_t)fn->nodes.data[n].n_ins;
}

/* These copy or clear arrays of unknown lengths. So may SET, which seldom does, and whose copy ends
 * when the run has to. */
uint64_t hiaG_cost_CONCAT(const hia_fn *fn, hia_node_id n) {
  (void)fn;
  (void)n;
  return HIA_MAX_UNPOLLED;
}
uint64_t hiaG_cost_NEW(const hia_fn *fn, hia_node_id n) { return hiaG_cost_CONCAT(fn, n); }

/* What operations on tensors cost, whose sizes are not known. The kernels ask now and then whether
 * the run must end. */
static uint64_t of_shapes(const hia_fn *fn, hia_node_id n) {
  (void)fn;
  (void)n;
  return HIA_MAX_UNPOLLED;
}

typedef uint64_t cost_fn(const hia_fn *fn, hia_node_id n);
#define COST_OWN(NAME)    hiaG_cost_##NAME
#define COST_SHAPES(NAME) of_shapes
#define COST_NONE(NAME)   NULL
static cost_fn *const costs[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, name, symbol, ins, outs, RULE, SHAPE, IMM, traits, cost, COST,        \
               GRADIENT, KERNEL, EMIT, doc)                                                        \
  [number] = COST_##COST(NAME),
#include "runtime/base/ops.def"
};

uint64_t hiaG_cost(const hia_fn *fn, hia_node_id n) {
  unsigned op = fn->nodes.data[n].op;
  if (hiaR_ops[op].shape == HIA_SHAPE_ELEMENTWISE && hiaG_is_operation(fn, n))
    return of_shapes(fn, n);
  return costs[op] ? costs[op](fn, n) : hiaR_ops[op].cost;
}

bool hiaG_polls(const hia_fn *fn) {
  if (fn->is_apart) return true;
  if (fn->nodes.len > HIA_MAX_STRAIGHT_LINE) return true;
  uint64_t cost = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) cost += hiaG_cost(fn, n);
  if (cost > HIA_MAX_UNPOLLED_FN) return true;
  for (hia_region_id r = 0; r < fn->regions.len; r++)
    if (fn->regions.data[r].kind == HIA_REGION_HEAD) return true;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_CALL_I) return true;
  return false;
}

hia_path hiaG_longer_path(hia_path a, hia_path b) {
  hia_path path = {.since = a.since > b.since ? a.since : b.since,
                   .is_bare = a.is_bare || b.is_bare,
                   .is_back = a.is_back || b.is_back};
  if (a.is_bare) path.bare = a.bare;
  if (b.is_bare && b.bare > path.bare) path.bare = b.bare;
  if (a.is_back) path.back = a.back;
  if (b.is_back && b.back > path.back) path.back = b.back;
  return path;
}

/* ---- sizes ---- */

enum {
  UNROLLED_NODES = 200,
  MANY_FUNCTIONS = 64,
  MANY_RESULTS = 32,
  MANY_REGIONS = 500,
  MANY_VARIABLES = 300,
  HUGE_RESULTS = 256
};

/* The size of a function as far as LLVM's time depends on it. A node that becomes several
 * instructions or blocks is counted that many times. */
typedef struct hia_fn_size {
  uint32_t nodes, regions; /* a branch has two regions */
  uint32_t loops, nesting; /* the depth of nested loops */
  uint32_t variables;      /* of all loops */
} hia_fn_size;
/* Up to `large` LLVM takes up to a second for a function with all passes; up to `huge` it takes
 * that long with few passes and the optimising code generator. */
static const hia_fn_size large = {4000, 1000, 100, 20, 0}, huge = {12000, 2000, 200, 40, 0};

static bool is_beyond(const hia_fn_size *size, const hia_fn_size *limit) {
  return size->nodes > limit->nodes || size->regions > limit->regions ||
         size->loops > limit->loops || size->nesting > limit->nesting;
}

/* The number of loops around a region, including the one whose head it is; at most one more than
 * huge.nesting. */
static uint32_t nesting_of(const hia_fn *fn, hia_region_id r) {
  uint32_t n = 0;
  for (; r != HIA_NONE && n <= huge.nesting; r = fn->regions.data[r].parent)
    n += fn->regions.data[r].kind == HIA_REGION_HEAD;
  return n;
}

/* True for a division that compares its divisor first. */
static bool is_checked_division(const hia_fn *fn, hia_node_id n) {
  hia_word divisor;
  if (!(hiaR_ops[fn->nodes.data[n].op].traits & HIA_T_RAISES_INT)) return false;
  hia_type type = hiaG_type(fn, hiaG_in(fn, n, 0));
  return (type == HIA_I32 || type == HIA_I64) && !hiaG_is_const(fn, hiaG_in(fn, n, 1), &divisor);
}

static hia_fn_size size_of(const hia_fn *fn) {
  hia_fn_size size = {.nodes = fn->nodes.len, .regions = fn->regions.len};
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    unsigned op = fn->nodes.data[n].op;
    /* Each operand of such a node is a store. */
    if (op == HIA_OP_ARRAY || op == HIA_OP_STACK) size.nodes += fn->nodes.data[n].n_ins;
    if (op == HIA_OP_FAIL || op == HIA_OP_GUARD || op == HIA_OP_CHARGE) {
      size.regions++;
    } else if (op == HIA_OP_AT || op == HIA_OP_SET || op == HIA_OP_SLICE) {
      size.nodes += op == HIA_OP_AT ? 3 : 10;
      size.regions += op == HIA_OP_AT ? 1 : 2;
    } else if (op == HIA_OP_MERGE_LOOP) {
      size.variables++;
    } else if (is_checked_division(fn, n)) {
      size.nodes += 8;
      size.regions += 3;
    }
  }
  for (hia_region_id r = 0; r < fn->regions.len; r++) {
    if (fn->regions.data[r].kind != HIA_REGION_HEAD) continue;
    uint32_t nesting = nesting_of(fn, r);
    if (nesting > size.nesting) size.nesting = nesting;
    size.loops++;
  }
  return size;
}

/* ---- straight lines ---- */

enum {
  STRAIGHT_NODES = 400, /* at least */
  STRAIGHT_RUN = 64,    /* nodes for each region */
  FILLED_WORDS = 16 /* of an object that is filled as its words are computed: lower/ops/early.c */
};

static bool is_of_scalars(const hia_graph *g, const hia_fn *fn, hia_value_id v) {
  hia_type type = hiaG_type(fn, v);
  if (hiaG_is_scalar(type)) return true;
  unsigned kind = g->types->entries.data[type - HIA_FIRST_TYPE].kind;
  return kind != HIA_KIND_TENSOR && kind != HIA_KIND_ARRAY;
}

bool hiaG_is_straight(const hia_graph *g, const hia_fn *fn) {
  if (fn->nodes.len < STRAIGHT_NODES) return false;
  hia_fn_size size = size_of(fn);
  if (size.loops || size.regions > fn->nodes.len / STRAIGHT_RUN) return false;
  for (hia_value_id v = 0; v < fn->values.len; v++)
    if (!is_of_scalars(g, fn, v)) return false;
  return true;
}

/* True if much of what a straight line computes is stored in objects. */
static bool is_filling(const hia_fn *fn) {
  uint32_t n_words = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op == HIA_OP_DATA && node->n_ins >= FILLED_WORDS) n_words += node->n_ins;
  }
  return n_words > fn->nodes.len / 4;
}

/* ---- of functions, and units ---- */

bool hiaG_is_large(const hia_fn *fn) {
  hia_fn_size size = size_of(fn);
  return is_beyond(&size, &large);
}

/* True if the function notes rows of segments. What it does besides takes a small part of a run. */
static bool notes_rows(const hia_fn *fn) {
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (fn->nodes.data[n].op == HIA_OP_DEFER) return true;
  return false;
}

/* Returns the size class of the functions of a unit (HIA_NONE: of all), in a graph of n functions.
 */
static hia_size_class size_class(const hia_graph *g, const uint32_t *unit_of, uint32_t unit,
                                 uint32_t n) {
  bool is_repeated = false, is_wide = false, is_large = false, is_straight = true, fills = true;
  HIA_EACH_FN(g, f) {
    const hia_fn *fn = hiaG_fn(g, f);
    if (unit != HIA_NONE && unit_of[f] != unit) continue;
    hia_fn_size size = size_of(fn);
    if (is_beyond(&size, &huge) || fn->n_results > HUGE_RESULTS) return HIA_SIZE_HUGE;
    is_large |= is_beyond(&size, &large);
    is_wide |= fn->n_results > MANY_RESULTS || size.regions > MANY_REGIONS ||
               size.variables > MANY_VARIABLES;
    is_repeated |= (g->is_unrolled && fn->nodes.len > UNROLLED_NODES) || notes_rows(fn);
    is_straight = is_straight && hiaG_is_straight(g, fn);
    fills = fills && is_straight && is_filling(fn);
  }
  if (fills) return HIA_SIZE_HUGE;
  if (is_straight) return HIA_SIZE_LARGE;
  if (is_large) return HIA_SIZE_LARGE;
  if (n > MANY_FUNCTIONS || is_wide) return HIA_SIZE_MANY;
  return is_repeated ? HIA_SIZE_ALIKE : HIA_SIZE_USUAL;
}

static uint32_t n_functions(const hia_graph *g) {
  uint32_t n = 0;
  HIA_EACH_FN(g, f) n++;
  return n;
}

hia_size_class hiaG_size_class(const hia_graph *g) {
  return size_class(g, NULL, HIA_NONE, n_functions(g));
}

hia_size_class hiaG_unit_size_class(const hia_graph *g, const hia_codegen_units *units,
                                    uint32_t unit) {
  return size_class(g, units->of, unit, n_functions(g));
}
