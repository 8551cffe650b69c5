/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is computed later (graph/batch/batch.h, runtime/native/batch/batch.h): rows of segments that
 * are noted, and where the code waits for elements. */
#include "lower/kit/emit.h"
#include "runtime/heap/tensor.h"
#include "runtime/native/module.h"

/* ---- segments ---- */

/* The tensor types of a segment have the axis of the rows; `scalar`: what the program has is a
 * scalar. */
static LLVMValueRef word_of(hia_emit *e, hia_type row, const hia_dims *dims, uint64_t *bytes) {
  hia_dtype dtype = hiaG_dtype(e->g->types, row);
  uint32_t rank = hiaG_rank(e->g->types, row);
  uint64_t n = 1;
  LLVMValueRef sizes[HIA_MAX_RANK];
  for (uint32_t k = 0; k < rank; k++) {
    sizes[k] = hiaL_number(e, 64, (uint64_t)dims->dims[k]);
    n *= (uint64_t)dims->dims[k];
  }
  LLVMValueRef all =
      rank ? hiaL_variable(e, "sizes", LLVMConstArray2(e->types[HIA_I64], sizes, rank))
           : LLVMConstNull(e->ptr);
  *bytes += n * hiaR_dtype_size(dtype);
  LLVMValueRef fields[] = {hiaL_number(e, 8, dtype), hiaL_number(e, 8, rank), hiaL_number(e, 16, 0),
                           hiaL_number(e, 32, n), all};
  return hiaL_structure(e, fields, HIA_LEN(fields));
}

/* A hia_native_entry of the segment, of this module's own: the segment may be in another one. Its
 * body comes last (hiaL_write_segments). */
static LLVMValueRef entry_of(hia_emit *e, hia_fn_id id) {
  LLVMTypeRef params[2] = {e->ptr, e->ptr};
  LLVMTypeRef type = LLVMFunctionType(e->void_type, params, 2, false);
  LLVMValueRef f = LLVMAddFunction(e->module, "hia_segment_entry", type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  hiaL_common_attributes(e, f);
  hiaL_attribute(e, f, 2, "swiftself", 0);
  hiaR_push(&e->comp->arena, &e->segments, (hia_segment_entry){id, f});
  return f;
}

void hiaL_write_segments(hia_emit *e) {
  for (uint32_t i = 0; i < e->segments.len; i++) {
    e->fn = hiaG_fn(e->g, e->segments.data[i].fn);
    e->id = e->segments.data[i].fn;
    hiaL_build_entry(e, e->segments.data[i].fn, e->segments.data[i].entry);
  }
}

static LLVMValueRef known_as(hia_emit *e, uint32_t n_ins) {
  if (!e->options->reuse || n_ins > HIA_SEGMENT_MOST) return LLVMConstNull(e->ptr);
  LLVMValueRef v = hiaL_variable(e, "known_as", hiaL_number(e, 64, 0));
  LLVMSetGlobalConstant(v, false);
  return v;
}

/* The hia_segment of a DEFER. */
static LLVMValueRef segment_of(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  hia_fn_id id = hiaG_callee(node);
  const hia_fn *fn = hiaG_fn(e->g, id);
  const char *name = hiaR_arena_printf(&e->comp->scratch, "hia_segment_%u", id);
  LLVMValueRef found = LLVMGetNamedGlobal(e->module, name);
  if (found) return found;
  LLVMValueRef *words =
      HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, (size_t)fn->n_params + fn->n_results);
  uint64_t bytes = 0, owns = 0;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    words[i] = word_of(e, hiaG_type(e->fn, hiaG_in(e->fn, n, i)), &fn->rows[i], &bytes);
    if (fn->owns && fn->owns[i]) owns |= (uint64_t)1 << i;
  }
  for (uint32_t i = 0; i < node->n_outs; i++)
    words[node->n_ins + i] =
        word_of(e, hiaG_type(e->fn, hiaG_out(e->fn, n, i)), &fn->rows[fn->n_params + i], &bytes);
  uint32_t n_words = fn->n_params + fn->n_results;
  LLVMValueRef list = LLVMConstArray2(LLVMTypeOf(words[0]), words, n_words);
  LLVMValueRef fields[] = {entry_of(e, id),
                           hiaL_number(e, 32, id),
                           hiaL_number(e, 16, fn->n_params),
                           hiaL_number(e, 16, fn->n_results),
                           hiaL_number(e, 64, owns),
                           hiaL_number(e, 64, bytes),
                           hiaL_variable(e, "words", list),
                           known_as(e, node->n_ins)};
  return hiaL_variable(e, name, hiaL_structure(e, fields, HIA_LEN(fields)));
}

void hiaL_emit_DEFER(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  LLVMValueRef block = hiaL_operand_block(e);
  const hia_dims *rows = hiaG_fn(e->g, hiaG_callee(node))->rows;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_type type = hiaG_type(e->fn, hiaG_in(e->fn, n, i));
    if (!hiaG_is_scalar(type)) hiaL_require_row(e, hiaL_in(e, n, i), &rows[i], node->loc);
    /* The row takes references, which the code gives up only where it counts. */
    if (!hiaG_is_scalar(type) && !e->is_counted) hiaL_share(e, hiaL_in(e, n, i));
  }
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hiaL_store_word(e, hiaL_word_at(e, block, i), hiaL_in(e, n, i),
                    hiaG_type(e->fn, hiaG_in(e->fn, n, i)));
    hiaL_stored(e, i);
  }
  LLVMValueRef args[] = {segment_of(e, n), block, hiaL_number(e, 32, node->loc)};
  hiaL_set_debug_loc(e, node->loc, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_defer, args, HIA_LEN(args));
  hiaL_no_debug_loc(e);
  for (uint32_t i = 0; i < node->n_outs; i++)
    hiaL_out(e, n, i,
             hiaL_load_word(e, hiaL_word_at(e, block, i), hiaG_type(e->fn, hiaG_out(e->fn, n, i))));
}

/* ---- waiting ---- */

static void settle(hia_emit *e, hia_loc_id loc) {
  hiaL_set_debug_loc(e, loc, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_settle, NULL, 0);
  hiaL_no_debug_loc(e);
}

/* Of a tensor the header says whether it is pending. */
void hiaL_wait_for(hia_emit *e, LLVMValueRef x, hia_type type, hia_loc_id loc) {
  if (hiaG_type_kind(e->g->types, type) != HIA_KIND_TENSOR) {
    settle(e, loc);
    return;
  }
  LLVMBasicBlockRef wait = hiaL_block(e, "wait"), next = hiaL_block(e, "there");
  LLVMValueRef kind = hiaL_header_ctor(e, x);
  LLVMValueRef pending = hiaL_number(e, 32, HIA_TENSOR_PENDING);
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntEQ, kind, pending, "is_pending"), wait, next);
  hiaL_at(e, wait);
  settle(e, loc);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
}

void hiaL_emit_FORCE(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_in(e->fn, n, 0));
  hiaL_out(e, n, 0, hiaL_in(e, n, 0));
  hiaL_wait_for(e, hiaL_in(e, n, 0), type, hiaL_node(e, n)->loc);
}

bool hiaL_defers(const hia_graph *g) {
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; !fn->is_removed && n < fn->nodes.len; n++)
      if (fn->nodes.data[n].op == HIA_OP_DEFER) return true;
  }
  return false;
}

void hiaL_finish(hia_emit *e, hia_fn_id id) {
  if (hiaG_fn(e->g, id)->rows || !hiaL_defers(e->g)) return; /* a segment defers nothing */
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_finish, NULL, 0);
}

/* ---- indices ---- */

void hiaL_emit_WITHIN(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  bool is_label = node->imm != 0;
  LLVMValueRef i = hiaL_in(e, n, 1), wide = i;
  if (hiaG_type(e->fn, hiaG_in(e->fn, n, 1)) != HIA_I64)
    wide = LLVMBuildSExt(e->b, i, e->types[HIA_I64], "");
  LLVMValueRef size = hiaL_in(e, n, 0);
  LLVMBasicBlockRef wrong = hiaL_block(e, "out_of_range"), next = hiaL_block(e, "within");
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntUGE, wide, size, ""), wrong, next);
  hiaL_at(e, wrong);
  hia_range_of of = is_label ? HIA_RANGE_OF_LABELS : HIA_RANGE_OF_VECTOR;
  hiaL_fail_range_of(e, node->loc, (uint32_t)hiaR_range_code(of, false), wide, wide, size);
  hiaL_at(e, next);
  hiaL_out(e, n, 0, i);
}
