/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The code of fused kernels (lower/fused/fused.h): the test, new tensors, calls of loops. */
#include "lower/fused/fused.h"
#include <stddef.h>

enum { MAX_VALUES = 512 };

static LLVMValueRef number(hia_emit *e, uint64_t n) { return hiaL_number(e, 64, n); }

/* ---- which functions ---- */

static hia_node_id yield_of(const hia_fn *fn) { return fn->nodes.len - 1; }

static bool is_kernel_node(const hia_emit *e, hia_node_id n) {
  switch (hiaL_node(e, n)->op) {
  case HIA_OP_MERGE_ENTRY:
  case HIA_OP_CONST:
  case HIA_OP_PARAM:
  case HIA_OP_LITERAL:
  case HIA_OP_DUP:
  case HIA_OP_DROP:
  case HIA_OP_YIELD: return true;
  default: return hiaG_fused_kind(e->g, e->fn, n) != HIA_NOT_FUSED;
  }
}

/* The op whose elements a result has, through checks of sizes, or the reduction that it is; NONE:
 * it is a tensor, or a part of one, that was there before. */
static hia_node_id computed_by(const hia_emit *e, hia_value_id v) {
  hia_node_id n = e->fn->values.data[v].node;
  if (hiaG_fused_kind(e->g, e->fn, n) == HIA_FUSED_FOLD) return n;
  while (hiaL_node(e, n)->op == HIA_OP_EXPECT) n = e->fn->values.data[hiaG_in(e->fn, n, 0)].node;
  return hiaG_fused_kind(e->g, e->fn, n) == HIA_FUSED_LANES ? n : HIA_NONE;
}

/* A lone reduction is done faster by its operation. */
static bool computes(const hia_emit *e) {
  for (hia_node_id n = 0; n < e->fn->nodes.len; n++)
    if (hiaG_fused_kind(e->g, e->fn, n) == HIA_FUSED_LANES) return true;
  return false;
}

static bool is_kernel(const hia_emit *e) {
  const hia_fn *fn = e->fn;
  if (!e->options->has_fma || hiaL_is_for_kernels(e) || fn->regions.len != 1 || !fn->n_results ||
      fn->n_results > HIA_FUSED_RESULTS || fn->values.len > MAX_VALUES || hiaL_is_leaf(e, e->id))
    return false;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (!is_kernel_node(e, n)) return false;
  hia_node_id yield = yield_of(fn);
  if (fn->nodes.data[yield].op != HIA_OP_YIELD || !hiaL_has_steps(e)) return false;
  for (uint32_t i = 0; i < fn->n_results; i++) {
    if (computed_by(e, hiaG_in(fn, yield, i)) == HIA_NONE) return false;
    for (uint32_t k = 0; k < i; k++) /* one tensor for each result */
      if (hiaG_in(fn, yield, i) == hiaG_in(fn, yield, k)) return false;
  }
  return computes(e);
}

/* ---- results ---- */

/* A new tensor of this shape; *data: where its elements go. */
static LLVMValueRef new_tensor(hia_fused *f, const hia_known *z, hia_dtype dtype, hia_loc_id loc,
                               LLVMValueRef *data) {
  hia_emit *e = f->e;
  LLVMTypeRef i64 = e->types[HIA_I64];
  uint64_t head = offsetof(hia_tensor, dims) + z->rank * sizeof(int64_t);
  LLVMValueRef n = hiaL_count_from(f, z, 0);
  LLVMValueRef bytes = LLVMBuildMul(e->b, n, number(e, hiaR_dtype_size(dtype)), "bytes");
  LLVMValueRef is_aligned =
      LLVMBuildICmp(e->b, LLVMIntUGE, bytes, number(e, HIA_TENSOR_ALIGNED), "is_aligned");
  LLVMValueRef pad =
      LLVMBuildSelect(e->b, is_aligned, number(e, HIA_TENSOR_ALIGN - 8), number(e, 0), "pad");
  LLVMValueRef size =
      LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, bytes, pad, ""), number(e, head + 7), "");
  size = LLVMBuildAnd(e->b, size, number(e, ~(uint64_t)7), "size");
  LLVMValueRef block = hiaL_new_block_of(e, size, loc);
  uint64_t header =
      1 | (uint64_t)HIA_TENSOR_OWN << 32 | (uint64_t)hiaR_tensor_spare(dtype, z->rank) << 48;
  LLVMBuildStore(e->b, number(e, header), block);
  LLVMValueRef end = LLVMBuildPtrToInt(e->b, hiaL_byte_at(e, block, head, "end"), i64, "");
  LLVMValueRef gap =
      LLVMBuildAnd(e->b, LLVMBuildNeg(e->b, end, ""), number(e, HIA_TENSOR_ALIGN - 1), "gap");
  gap = LLVMBuildSelect(e->b, is_aligned, gap, number(e, 0), "");
  LLVMValueRef at = LLVMBuildAdd(e->b, gap, number(e, head), "");
  *data = LLVMBuildInBoundsGEP2(e->b, e->i8, block, &at, 1, "elements");
  LLVMBuildStore(e->b, *data, hiaL_byte_at(e, block, offsetof(hia_tensor, data), "at"));
  for (uint32_t k = 0; k < z->rank; k++)
    LLVMBuildStore(e->b, z->dims[k],
                   hiaL_byte_at(e, block, offsetof(hia_tensor, dims) + k * sizeof(int64_t), "at"));
  return block;
}

/* Makes the tensors that a loop has an element of in each round, if there are several, or code is
 * to be short: results of one shape. */
static void new_tensors(hia_fused *f, const hia_fused_plan *p, LLVMValueRef *results,
                        LLVMValueRef *data) {
  hia_emit *e = f->e;
  hia_node_id yield = yield_of(e->fn);
  LLVMValueRef list[HIA_FUSED_RESULTS];
  uint32_t of[HIA_FUSED_RESULTS], n = 0;
  for (uint32_t i = 0; i < p->n; i++) {
    if (p->terms[p->term[i]].kind == HIA_TERM_FOLD) continue;
    hia_value_id v = hiaG_in(e->fn, yield, p->of[i]);
    hia_dtype dtype = hiaG_tensor_dtype(e->g->types, hiaG_type(e->fn, v));
    LLVMValueRef fields[] = {hiaL_number(e, 32, hiaL_node(e, computed_by(e, v))->loc),
                             hiaL_number(e, 32, dtype)};
    list[n] = hiaL_structure(e, fields, HIA_LEN(fields));
    of[n++] = p->of[i];
  }
  if (n < (e->local.is_terse ? 1 : 2)) return;
  const hia_known *shape = &f->values[p->shape];
  LLVMValueRef fields[] = {hiaL_number(e, 32, n), hiaL_number(e, 32, shape->rank),
                           LLVMConstArray2(LLVMTypeOf(list[0]), list, n)};
  LLVMValueRef what = hiaL_variable(e, "tensors", hiaL_structure(e, fields, HIA_LEN(fields)));
  LLVMTypeRef words = LLVMArrayType2(e->types[HIA_I64], HIA_FUSED_RESULTS + HIA_FUSED_RANK);
  LLVMValueRef block = hiaL_room(e, words, "tensors");
  for (uint32_t k = 0; k < shape->rank; k++)
    LLVMBuildStore(e->b, shape->dims[k], hiaL_word_at(e, block, k));
  LLVMValueRef args[] = {what, block};
  hiaL_set_debug_loc(e, hiaL_node(e, yield)->loc, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_tensors, args, HIA_LEN(args));
  hiaL_no_debug_loc(e);
  for (uint32_t i = 0; i < n; i++) {
    LLVMValueRef tensor = LLVMBuildLoad2(e->b, e->ptr, hiaL_word_at(e, block, i), "result");
    results[of[i]] = tensor;
    data[of[i]] = LLVMBuildLoad2(
        e->b, e->ptr, hiaL_byte_at(e, tensor, offsetof(hia_tensor, data), "at"), "elements");
  }
}

/* Makes a variable for the scalar that a reduction gives. */
static LLVMValueRef new_variable(hia_emit *e, hia_type type) {
  return hiaL_room(e, hiaL_c_type(e, type), "folded");
}

static LLVMValueRef load_variable(hia_emit *e, LLVMValueRef variable, hia_type type) {
  LLVMValueRef value = LLVMBuildLoad2(e->b, LLVMGetAllocatedType(variable), variable, "");
  return hiaL_from_c(e, value, type);
}

/* ---- calls of loops ---- */

/* Writes all arguments of a loop but the first two, begin and end. Returns their number. */
static uint32_t loop_args(const hia_fused_plan *p, const LLVMValueRef *data, LLVMValueRef *args) {
  uint32_t n = 2;
  if (p->n_cols) args[n++] = p->n_cols;
  for (uint32_t k = 0; k < p->n_terms; k++) {
    const hia_fused_term *z = &p->terms[k];
    if (z->kind == HIA_TERM_LOAD || z->kind == HIA_TERM_SPLAT) args[n++] = z->from;
    if (z->by) args[n++] = z->by;
    if (z->kind == HIA_TERM_LOAD && z->pitch) args[n++] = z->pitch;
  }
  for (uint32_t k = 0; k < p->n; k++) args[n++] = data[p->of[k]];
  return n;
}

/* Elements, or rows, that are computed without a safepoint. */
static LLVMValueRef chunk_of(hia_emit *e, const hia_fused_plan *p) {
  LLVMValueRef all = number(e, hiaL_fused_chunk(e, p)), one = number(e, 1);
  if (!p->n_cols) return all;
  LLVMValueRef rows = LLVMBuildUDiv(e->b, all, p->n_cols, "");
  LLVMValueRef is_none = LLVMBuildICmp(e->b, LLVMIntEQ, rows, number(e, 0), "");
  return LLVMBuildSelect(e->b, is_none, one, rows, "chunk");
}

/* A loop over many elements has a safepoint between chunks. The new tensors are the heap's if the
 * run ends there. */
static void call_loop(hia_fused *f, const hia_fused_plan *p, const LLVMValueRef *data) {
  hia_emit *e = f->e;
  LLVMValueRef args[3 + 3 * HIA_FUSED_TERMS + HIA_FUSED_RESULTS];
  LLVMValueRef n = hiaL_count_from(f, &f->values[p->shape], 0);
  bool is_short = LLVMIsAConstantInt(n) && LLVMConstIntGetZExtValue(n) <= hiaL_fused_chunk(e, p);
  if (p->n_cols) n = n == p->n_cols ? number(e, 1) : LLVMBuildUDiv(e->b, n, p->n_cols, "rows");
  is_short |= n == number(e, 1);
  uint32_t n_args = loop_args(p, data, args);
  LLVMValueRef loop = hiaL_loop_for(e, p);
  LLVMBasicBlockRef before, chunk = NULL, poll = NULL, next = NULL;
  args[0] = number(e, 0);
  args[1] = n;
  if (!is_short) {
    LLVMValueRef length = chunk_of(e, p);
    before = hiaL_here(e);
    chunk = hiaL_block(e, "chunk");
    poll = hiaL_block(e, "poll");
    next = hiaL_block(e, "looped");
    LLVMBuildBr(e->b, chunk);
    hiaL_at(e, chunk);
    LLVMValueRef begin = LLVMBuildPhi(e->b, e->types[HIA_I64], "begin");
    LLVMAddIncoming(begin, &args[0], &before, 1);
    LLVMValueRef end = LLVMBuildAdd(e->b, begin, length, "");
    LLVMValueRef is_last = LLVMBuildICmp(e->b, LLVMIntULT, n, end, "is_last");
    args[0] = begin;
    args[1] = LLVMBuildSelect(e->b, is_last, n, end, "end");
  }
  LLVMValueRef call = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(loop), loop, args, n_args, "");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(loop));
  if (is_short) return;
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntULT, args[1], n, "goes_on"), poll, next);
  hiaL_at(e, poll);
  hia_path path = e->local.path;
  if (!e->options->unchecked) hiaL_safepoint(e);
  e->local.path = path; /* the code for other operands has not polled */
  LLVMBasicBlockRef last = hiaL_here(e);
  LLVMBuildBr(e->b, chunk);
  LLVMAddIncoming(args[0], &args[1], &last, 1);
  hiaL_at(e, next);
}

/* ---- the function ---- */

/* words: of hiaL_store_owned, or NULL. */
static void give_up_operands(hia_emit *e, LLVMValueRef words) {
  const hia_fn *fn = e->fn;
  if (words) {
    hiaL_give_up_owned(e, words);
    return;
  }
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = hiaL_node(e, n);
    if (node->op != HIA_OP_MERGE_ENTRY || !fn->owns || !fn->owns[HIA_IMM_A(node->imm)]) continue;
    hia_value_id v = hiaG_out(fn, n, 0);
    if (!hiaG_is_scalar(hiaG_type(fn, v))) hiaL_drop(e, e->values[v], hiaG_type(fn, v));
  }
}

/* Builds what is done with operands that fit. */
static void build_loops(hia_fused *f, const hia_fused_plan *plans, LLVMValueRef words) {
  hia_emit *e = f->e;
  const hia_fn *fn = e->fn;
  hia_node_id yield = yield_of(fn);
  LLVMValueRef data[HIA_FUSED_RESULTS], results[HIA_FUSED_RESULTS] = {NULL};
  for (const hia_fused_plan *p = plans; p; p = p->next) new_tensors(f, p, results, data);
  for (uint32_t i = 0; i < fn->n_results; i++) {
    if (results[i]) continue;
    hia_value_id v = hiaG_in(fn, yield, i);
    hia_type type = hiaG_type(fn, v);
    hia_loc_id loc = hiaL_node(e, computed_by(e, v))->loc;
    if (hiaG_is_scalar(type))
      data[i] = new_variable(e, type);
    else
      results[i] =
          new_tensor(f, &f->values[v], hiaG_tensor_dtype(e->g->types, type), loc, &data[i]);
  }
  for (const hia_fused_plan *p = plans; p; p = p->next) call_loop(f, p, data);
  for (uint32_t i = 0; i < fn->n_results; i++)
    if (!results[i]) results[i] = load_variable(e, data[i], hiaG_type(fn, hiaG_in(fn, yield, i)));
  give_up_operands(e, words);
  for (uint32_t i = 0; i < fn->n_results; i++) e->values[hiaG_in(fn, yield, i)] = results[i];
  hiaL_emit_node(e, yield);
}

bool hiaL_emit_kernel(hia_emit *e) {
  if (!is_kernel(e)) return false;
  hia_fused f = hiaL_fused_values(e);
  const hia_fused_plan *plans = hiaL_plan_loops(&f);
  bool is_short = plans && e->local.is_terse && e->graph.is_counted;
  LLVMValueRef words = is_short ? hiaL_store_owned(e) : NULL;
  if (plans) {
    LLVMBasicBlockRef fast = hiaL_block(e, "fused"), slow = hiaL_block(e, "one_by_one");
    hiaL_unlikely(e, LLVMBuildNot(e->b, f.fits, ""), slow, fast);
    hiaL_at(e, fast);
    build_loops(&f, plans, words);
    hiaL_at(e, slow);
  }
  memset(e->values, 0, e->fn->values.len * sizeof *e->values);
  hiaL_emit_steps(e, words);
  return true;
}
