/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Operations on tensors. Native code calls what the interpreter calls: the operation of the op's
 * row, through the runtime (hiaR_stub_operate). What is the same whenever the node runs is a
 * constant of the module, a hia_native_operation; the operands are words in the frame, of which the
 * first becomes the result. */
#include "lower/kit/emit.h"
#include "lower/ops/ops.h"
#include "runtime/heap/tensor.h"
#include "runtime/native/module.h"

enum { SHORT = 16 /* elements of a vector that is made inline */ };
_Static_assert(SHORT * sizeof(hia_word) < HIA_TENSOR_ALIGNED, "its elements follow its header");

static LLVMValueRef of_runtime(hia_emit *e, const char *prefix, const char *name) {
  return hiaL_of_runtime(e, hiaR_arena_printf(&e->comp->scratch, "%s%s", prefix, name));
}

static const char *const names[HIA_OP_LIMIT] = {
#define HIA_OP(number, NAME, ...) [number] = #NAME,
#include "runtime/base/ops.def"
};

LLVMValueRef hiaL_operation(hia_emit *e, hia_node_id n) {
  const hia_fn *fn = e->fn;
  const hia_node *node = hiaL_node(e, n);
  const hia_op_info *op = &hiaR_ops[node->op];
  bool is_lifted = op->shape == HIA_SHAPE_ELEMENTWISE;
  hia_dtype at = hiaG_node_dtype(e->g, fn, n);
  hia_dtype dtype = is_lifted ? hiaR_rule_result((hia_rule)op->rule, at) : at;
  uint64_t tensors = 0;
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (hiaG_type_kind(e->g->types, hiaG_type(fn, hiaG_in(fn, n, i))) == HIA_KIND_TENSOR)
      tensors |= (uint64_t)1 << (i < 63 ? i : 63);
  uint64_t takes = e->graph.is_counted && hiaG_consumes(fn, n) ? tensors : 0;
  LLVMValueRef none = LLVMConstNull(e->ptr);
  LLVMValueRef operate = of_runtime(e, "hiaR_e_", is_lifted ? "LIFT" : names[node->op]);
  LLVMValueRef kernels = is_lifted ? of_runtime(e, "hiaR_k_", names[node->op]) : none;
  LLVMValueRef fields[] = {operate,
                           hiaL_number(e, 32, node->n_ins),
                           hiaL_number(e, 64, node->imm),
                           hiaL_number(e, 32, 0),
                           none,
                           none,
                           hiaL_number(e, 32, 0),
                           hiaL_number(e, 64, tensors),
                           hiaL_number(e, 64, takes),
                           hiaL_number(e, 8, dtype),
                           hiaL_number(e, 8, at),
                           hiaL_number(e, 16, node->op),
                           kernels};
  return hiaL_variable(e, "operation", hiaL_structure(e, fields, HIA_LEN(fields)));
}

void hiaL_emit_operation(hia_emit *e, hia_node_id n) {
  hiaL_call_with_operands(e, n, HIA_ABI_hiaR_stub_operate, hiaL_operation(e, n));
}

/* ---- what is usual inline ----
 *
 * The operation is called where it fails, and says why. */

/* The builder is left where the condition holds. */
static void fail_unless(hia_emit *e, hia_node_id n, LLVMValueRef fits) {
  LLVMBasicBlockRef wrong = hiaL_block(e, "misfit"), next = hiaL_block(e, "fits");
  hiaL_unlikely(e, LLVMBuildNot(e->b, fits, ""), wrong, next);
  hiaL_at(e, wrong);
  hiaL_emit_operation(e, n);
  LLVMBuildUnreachable(e->b);
  hiaL_at(e, next);
}

/* The result is the operand, whose reference it takes. */
void hiaL_emit_EXPECT(hia_emit *e, hia_node_id n) {
  LLVMValueRef x = hiaL_in(e, n, 0), fits = hiaL_number(e, 1, 1);
  uint32_t i = 1;
  for (uint64_t axes = hiaL_node(e, n)->imm; axes; axes &= axes - 1) {
    LLVMValueRef size = hiaL_load_dim(e, x, (uint32_t)__builtin_ctzll(axes));
    LLVMValueRef is_equal = LLVMBuildICmp(e->b, LLVMIntEQ, size, hiaL_in(e, n, i++), "");
    fits = LLVMBuildAnd(e->b, fits, is_equal, "fits");
  }
  fail_unless(e, n, fits);
  hiaL_out(e, n, 0, x);
}

/* The array is being made; from element 1 on its first is there. */
void hiaL_emit_ALIKE(hia_emit *e, hia_node_id n) {
  LLVMValueRef i = hiaL_in(e, n, 0), x = hiaL_in(e, n, 1), fits = hiaL_number(e, 1, 1);
  hiaL_out(e, n, 0, i);
  if (hiaL_node(e, n)->n_ins < 3) return;
  LLVMBasicBlockRef compare = hiaL_block(e, "compare"), next = hiaL_block(e, "compared");
  LLVMValueRef is_first = LLVMBuildICmp(e->b, LLVMIntEQ, i, hiaL_number(e, 64, 0), "is_first");
  LLVMBuildCondBr(e->b, is_first, next, compare);
  hiaL_at(e, compare);
  hiaL_require_object(e, hiaL_in(e, n, 2), hiaL_node(e, n)->loc);
  LLVMValueRef at = hiaL_byte_at(e, hiaL_in(e, n, 2), offsetof(hia_array, data), "at");
  LLVMValueRef first =
      LLVMBuildLoad2(e->b, e->ptr, LLVMBuildLoad2(e->b, e->ptr, at, "elements"), "first");
  uint32_t rank = hiaG_rank(e->g->types, hiaG_type(e->fn, hiaG_in(e->fn, n, 1)));
  for (uint32_t k = 0; k < rank; k++) {
    LLVMValueRef is_equal =
        LLVMBuildICmp(e->b, LLVMIntEQ, hiaL_load_dim(e, x, k), hiaL_load_dim(e, first, k), "");
    fits = LLVMBuildAnd(e->b, fits, is_equal, "fits");
  }
  fail_unless(e, n, fits);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
}

/* True if the scalar operand i is NaN. */
static LLVMValueRef is_nan(hia_emit *e, hia_node_id n, uint32_t i) {
  LLVMValueRef x = hiaL_in(e, n, i);
  return LLVMBuildFCmp(e->b, LLVMRealUNO, x, x, "is_nan");
}

/* Builds a TRAP of scalars. The operation is called where it fails; a leaf function begins again
 * instead, and the code of rows of a map notes the row. */
static void trap_scalars(hia_emit *e, hia_node_id n) {
  LLVMBasicBlockRef look = hiaL_block(e, "nan"), fail = hiaL_block(e, "nan_made"),
                    next = hiaL_block(e, "no_nan");
  hiaL_unlikely(e, is_nan(e, n, 0), look, next);
  hiaL_at(e, look);
  LLVMValueRef had = hiaL_number(e, 1, 0);
  for (uint32_t i = 1; i < hiaL_node(e, n)->n_ins; i++)
    had = LLVMBuildOr(e->b, had, is_nan(e, n, i), "had_nan");
  LLVMBuildCondBr(e->b, had, next, fail);
  hiaL_at(e, fail);
  if (hiaL_is_leaf(e, e->id) || hiaL_is_for_kernels(e)) {
    hiaL_fail(e, hiaL_node(e, n)->loc, HIA_NAN_MADE, hiaL_number(e, 64, 0));
  } else {
    hiaL_emit_operation(e, n);
    LLVMBuildUnreachable(e->b);
  }
  hiaL_at(e, next);
}

void hiaL_emit_TRAP(hia_emit *e, hia_node_id n) {
  for (uint32_t i = 0; i < hiaL_node(e, n)->n_ins; i++) {
    if (hiaG_is_scalar(hiaG_type(e->fn, hiaG_in(e->fn, n, i)))) continue;
    hiaL_emit_operation(e, n);
    return;
  }
  trap_scalars(e, n);
  hiaL_out(e, n, 0, hiaL_number(e, 64, 0));
}

/* Loads element i of a tensor, in row-major order. */
static void load_element(hia_emit *e, hia_node_id n, LLVMValueRef x, LLVMValueRef i) {
  hia_type type = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  LLVMValueRef data =
      LLVMBuildLoad2(e->b, e->ptr, hiaL_byte_at(e, x, offsetof(hia_tensor, data), "at"), "data");
  LLVMTypeRef element = hiaL_c_type(e, type);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(e->b, element, data, &i, 1, "at");
  LLVMValueRef value = LLVMBuildLoad2(e->b, element, at, "element");
  if (type == HIA_BOOL) value = LLVMBuildICmp(e->b, LLVMIntNE, value, LLVMConstNull(element), "");
  hiaL_out(e, n, 0, value);
}

/* An element of a vector is a load. */
void hiaL_emit_ROW(hia_emit *e, hia_node_id n) {
  if (!hiaG_is_scalar(hiaG_type(e->fn, hiaG_out(e->fn, n, 0)))) {
    hiaL_emit_operation(e, n);
    return;
  }
  LLVMValueRef x = hiaL_in(e, n, 0), i = hiaL_in(e, n, 1);
  fail_unless(e, n, LLVMBuildICmp(e->b, LLVMIntULT, i, hiaL_load_dim(e, x, 0), "is_there"));
  load_element(e, n, x, i);
}

void hiaL_emit_ITEM(hia_emit *e, hia_node_id n) {
  LLVMValueRef x = hiaL_in(e, n, 0), i = hiaL_in(e, n, 1), row = hiaL_number(e, 64, 1);
  LLVMValueRef k = hiaL_number(e, 64, hiaL_node(e, n)->imm);
  LLVMValueRef fits = LLVMBuildICmp(e->b, LLVMIntULT, i, hiaL_load_dim(e, x, 0), "is_there");
  uint32_t rank = hiaG_rank(e->g->types, hiaG_type(e->fn, hiaG_in(e->fn, n, 0)));
  for (uint32_t axis = 1; axis < rank; axis++)
    row = LLVMBuildMul(e->b, row, hiaL_load_dim(e, x, axis), "row");
  if (e->g->is_read)
    fits = LLVMBuildAnd(e->b, fits, LLVMBuildICmp(e->b, LLVMIntULT, k, row, ""), "fits");
  fail_unless(e, n, fits);
  load_element(e, n, x, LLVMBuildAdd(e->b, LLVMBuildMul(e->b, i, row, ""), k, "item"));
}

/* True if the node sets an element of a vector of which it gets a reference. */
static bool is_set_of_vector(const hia_emit *e, hia_node_id n) {
  return e->graph.is_counted && hiaG_consumes(e->fn, n) &&
         hiaG_rank(e->g->types, hiaG_type(e->fn, hiaG_in(e->fn, n, 0))) == 1;
}

/* An element of a vector that nothing else refers to is a store. Such a vector has its elements,
 * and a count of one: all that its header says is compared at once. */
void hiaL_emit_WITH(hia_emit *e, hia_node_id n) {
  if (!is_set_of_vector(e, n)) {
    hiaL_emit_operation(e, n);
    return;
  }
  LLVMValueRef x = hiaL_in(e, n, 0), i = hiaL_in(e, n, 1);
  hia_type element = hiaG_type(e->fn, hiaG_in(e->fn, n, 2));
  uint64_t own = 1 | (uint64_t)HIA_TENSOR_OWN << 32 | (uint64_t)hiaR_tensor_spare(element, 1) << 48;
  LLVMBasicBlockRef here, set = hiaL_block(e, "set"), other = hiaL_block(e, "not_own"),
                          next = hiaL_block(e, "is_set");
  LLVMValueRef header = LLVMBuildLoad2(e->b, e->types[HIA_I64], x, "header");
  LLVMSetAlignment(header, 8);
  if (e->graph.is_parallel) LLVMSetOrdering(header, LLVMAtomicOrderingAcquire);
  LLVMValueRef is_own = LLVMBuildICmp(e->b, LLVMIntEQ, header, hiaL_number(e, 64, own), "is_own");
  LLVMValueRef is_there = LLVMBuildICmp(e->b, LLVMIntULT, i, hiaL_load_dim(e, x, 0), "is_there");
  hiaL_unlikely(e, LLVMBuildNot(e->b, LLVMBuildAnd(e->b, is_own, is_there, ""), ""), other, set);
  hiaL_at(e, other);
  hiaL_emit_operation(e, n);
  LLVMValueRef result = hiaL_phi(e, next, e->ptr, "with"), made = e->values[hiaG_out(e->fn, n, 0)];
  here = hiaL_here(e);
  LLVMAddIncoming(result, &made, &here, 1);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, set);
  LLVMValueRef data =
      LLVMBuildLoad2(e->b, e->ptr, hiaL_byte_at(e, x, offsetof(hia_tensor, data), "at"), "data");
  LLVMValueRef at = LLVMBuildInBoundsGEP2(e->b, hiaL_c_type(e, element), data, &i, 1, "at");
  LLVMBuildStore(e->b, hiaL_to_c(e, hiaL_in(e, n, 2), element), at);
  LLVMAddIncoming(result, &x, &set, 1);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
  hiaL_out(e, n, 0, result);
}

/* A vector of a few scalars is memory from the list of its size, and stores. */
static bool is_short_vector(const hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  return node->n_ins && node->n_ins <= SHORT &&
         hiaG_is_scalar(hiaG_type(e->fn, hiaG_in(e->fn, n, 0)));
}

void hiaL_emit_STACK(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  if (!is_short_vector(e, n)) {
    hiaL_emit_operation(e, n);
    return;
  }
  hia_dtype dtype = hiaG_type(e->fn, hiaG_in(e->fn, n, 0));
  size_t head = offsetof(hia_tensor, dims) + sizeof(int64_t), one = hiaR_dtype_size(dtype);
  LLVMValueRef tensor =
      hiaL_new_block(e, (uint32_t)hiaR_tensor_size(1, node->n_ins * one), node->loc);
  uint64_t header =
      1 | (uint64_t)HIA_TENSOR_OWN << 32 | (uint64_t)hiaR_tensor_spare(dtype, 1) << 48;
  LLVMBuildStore(e->b, hiaL_number(e, 64, header), tensor);
  LLVMBuildStore(e->b, hiaL_byte_at(e, tensor, head, "elements"),
                 hiaL_byte_at(e, tensor, offsetof(hia_tensor, data), "at"));
  LLVMBuildStore(e->b, hiaL_number(e, 64, node->n_ins),
                 hiaL_byte_at(e, tensor, offsetof(hia_tensor, dims), "at"));
  for (uint32_t i = 0; i < node->n_ins; i++)
    LLVMBuildStore(e->b, hiaL_to_c(e, hiaL_in(e, n, i), dtype),
                   hiaL_byte_at(e, tensor, head + i * one, "at"));
  hiaL_out(e, n, 0, tensor);
}

void hiaL_emit_DIM(hia_emit *e, hia_node_id n) {
  hiaL_out(e, n, 0, hiaL_load_dim(e, hiaL_in(e, n, 0), (uint32_t)hiaL_node(e, n)->imm));
}

void hiaL_emit_WITHIN(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  LLVMValueRef i = hiaL_in(e, n, 1), wide = i;
  if (hiaG_type(e->fn, hiaG_in(e->fn, n, 1)) != HIA_I64)
    wide = LLVMBuildSExt(e->b, i, e->types[HIA_I64], "");
  LLVMValueRef size = hiaL_in(e, n, 0);
  LLVMBasicBlockRef wrong = hiaL_block(e, "out_of_range"), next = hiaL_block(e, "within");
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntUGE, wide, size, ""), wrong, next);
  hiaL_at(e, wrong);
  static const hia_range_of all[] = {HIA_RANGE_OF_VECTOR, HIA_RANGE_OF_LABELS, HIA_RANGE_OF_ROWS};
  hia_range_of of = all[node->imm < HIA_LEN(all) ? node->imm : 0];
  hiaL_fail_range_of(e, node->loc, (uint32_t)hiaR_range_code(of, false), wide, wide, size);
  hiaL_at(e, next);
  hiaL_out(e, n, 0, i);
}
