/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What fused kernels consist of: ops on the elements of tensors, and ops that say where elements
 * lie. */
#include "graph/analysis/analysis.h"
#include "runtime/base/elementary.h"

/* Ops that lowering builds for vectors as it does for scalars, at these dtypes. */
enum {
  BOOL = 1 << HIA_BOOL,
  INTS = 1 << HIA_I32 | 1 << HIA_I64,
  FLOATS = 1 << HIA_F32 | 1 << HIA_F64
};
static const uint8_t lane_dtypes[64] = {
    [HIA_OP_ADD] = INTS | FLOATS,
    [HIA_OP_SUB] = INTS | FLOATS,
    [HIA_OP_MUL] = INTS | FLOATS,
    [HIA_OP_DIV] = FLOATS,
    [HIA_OP_NEG] = INTS | FLOATS,
    [HIA_OP_ABS] = FLOATS,
    [HIA_OP_RELU] = INTS | FLOATS,
    [HIA_OP_MIN] = INTS | FLOATS,
    [HIA_OP_MAX] = INTS | FLOATS,
    [HIA_OP_EQ] = BOOL | INTS | FLOATS,
    [HIA_OP_NE] = BOOL | INTS | FLOATS,
    [HIA_OP_LT] = BOOL | INTS | FLOATS,
    [HIA_OP_LE] = BOOL | INTS | FLOATS,
    [HIA_OP_GT] = BOOL | INTS | FLOATS,
    [HIA_OP_GE] = BOOL | INTS | FLOATS,
    [HIA_OP_SELECT] = BOOL | INTS | FLOATS,
    [HIA_OP_BAND] = BOOL | INTS,
    [HIA_OP_BOR] = BOOL | INTS,
    [HIA_OP_BXOR] = BOOL | INTS,
    [HIA_OP_BNOT] = BOOL | INTS,
    [HIA_OP_FLOOR] = FLOATS,
    [HIA_OP_CEIL] = FLOATS,
    [HIA_OP_ROUND] = FLOATS,
    [HIA_OP_SQRT] = FLOATS,
    [HIA_OP_FMA] = FLOATS,
    [HIA_OP_ISNAN] = FLOATS,
    [HIA_OP_ISINF] = FLOATS,
    [HIA_OP_CAST] = BOOL | INTS | FLOATS,
};

static bool has_lanes(unsigned op, hia_dtype dtype) {
  static const char *const elementary[] = {
#define NAME(name) #name,
      HIA_ELEMENTARY_LIST_1(NAME) HIA_ELEMENTARY_LIST_2(NAME)
#undef NAME
  };
  if (op < HIA_LEN(lane_dtypes) && lane_dtypes[op] >> dtype & 1) return true;
  if (!(hiaR_ops[op].traits & HIA_T_LIBRARY) || !(FLOATS >> dtype & 1)) return false;
  for (size_t i = 0; i < HIA_LEN(elementary); i++)
    if (strcmp(elementary[i], hiaR_ops[op].name) == 0) return true;
  return false;
}

static uint32_t rank_of(const hia_graph *g, const hia_fn *fn, hia_value_id v) {
  return hiaG_rank(g->types, hiaG_type(fn, v));
}

static bool is_lanes(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  const hia_node *node = &fn->nodes.data[n];
  return hiaR_ops[node->op].shape == HIA_SHAPE_ELEMENTWISE && hiaG_is_operation(fn, n) &&
         rank_of(g, fn, hiaG_out(fn, n, 0)) <= HIA_FUSED_RANK &&
         has_lanes(node->op, hiaG_node_dtype(g, fn, n));
}

static bool is_view(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  uint32_t to = rank_of(g, fn, hiaG_out(fn, n, 0));
  return rank_of(g, fn, hiaG_in(fn, n, 0)) <= HIA_FUSED_RANK && to && to <= HIA_FUSED_RANK;
}

static bool is_gather(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  return rank_of(g, fn, hiaG_in(fn, n, 0)) == 2 && rank_of(g, fn, hiaG_in(fn, n, 1)) == 1;
}

static bool is_fold(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  uint32_t rank = rank_of(g, fn, hiaG_in(fn, n, 0));
  uint64_t axis = fn->nodes.data[n].imm;
  return rank && rank <= HIA_FUSED_RANK && (axis == HIA_NONE || axis == rank - 1);
}

hia_fused_kind hiaG_fused_kind(const hia_graph *g, const hia_fn *fn, hia_node_id n) {
  switch (fn->nodes.data[n].op) {
  case HIA_OP_CUT:
    return is_view(g, fn, n) && fn->nodes.data[n].imm + 1 == rank_of(g, fn, hiaG_in(fn, n, 0))
               ? HIA_FUSED_VIEW
               : HIA_NOT_FUSED;
  case HIA_OP_PART:
  case HIA_OP_ROW:
  case HIA_OP_RESHAPE:
  case HIA_OP_EXPECT: return is_view(g, fn, n) ? HIA_FUSED_VIEW : HIA_NOT_FUSED;
  case HIA_OP_ROWS: return is_gather(g, fn, n) ? HIA_FUSED_GATHER : HIA_NOT_FUSED;
  case HIA_OP_SUM:
  case HIA_OP_PROD:
  case HIA_OP_MEAN:
  case HIA_OP_MAX_OF:
  case HIA_OP_MIN_OF:
  case HIA_OP_ARG_MAX:
  case HIA_OP_ARG_MIN:
  case HIA_OP_ANY:
  case HIA_OP_ALL: return is_fold(g, fn, n) ? HIA_FUSED_FOLD : HIA_NOT_FUSED;
  default: return is_lanes(g, fn, n) ? HIA_FUSED_LANES : HIA_NOT_FUSED;
  }
}
