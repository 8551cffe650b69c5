/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What is computed later (graph/batch/batch.h): the code notes rows of segments for the runtime. */
#include "lower/ops/ops.h"
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

static LLVMValueRef known_as(hia_emit *e, uint32_t n_ins) {
  if (!e->options->reuse || n_ins > HIA_SEGMENT_MOST) return LLVMConstNull(e->ptr);
  LLVMValueRef v = hiaL_variable(e, "known_as", hiaL_number(e, 64, 0));
  LLVMSetGlobalConstant(v, false);
  return v;
}

static bool is_light(const hia_fn *segment) {
  for (hia_node_id n = 0; n < segment->nodes.len; n++) {
    unsigned op = segment->nodes.data[n].op;
    if (op == HIA_OP_PRODUCT || op == HIA_OP_PRODUCT_AT || op == HIA_OP_PRODUCT_BT) return false;
  }
  return true;
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
  LLVMValueRef fields[] = {hiaL_own_entry(e, id, "hia_segment_entry"),
                           hiaL_number(e, 32, id),
                           hiaL_number(e, 16, fn->n_params),
                           hiaL_number(e, 16, fn->n_results),
                           hiaL_number(e, 64, owns),
                           hiaL_number(e, 64, bytes),
                           hiaL_variable(e, "words", list),
                           known_as(e, node->n_ins),
                           hiaL_number(e, 64, is_light(fn))};
  return hiaL_variable(e, name, hiaL_structure(e, fields, HIA_LEN(fields)));
}

void hiaL_emit_DEFER(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  const hia_dims *rows = hiaG_fn(e->g, hiaG_callee(node))->rows;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_type type = hiaG_type(e->fn, hiaG_in(e->fn, n, i));
    if (!hiaG_is_scalar(type)) hiaL_require_row(e, hiaL_in(e, n, i), &rows[i], node->loc);
    /* The row takes references, which the code gives up only where it counts. */
    if (!hiaG_is_scalar(type) && !e->graph.is_counted) hiaL_retain(e, hiaL_in(e, n, i));
  }
  hiaL_call_with_operands(e, n, HIA_ABI_hiaR_stub_defer, segment_of(e, n));
}

/* ---- objects that are filled in later ---- */

/* True if operand i of a DATA_LATE is a tensor in the place of a scalar. */
static bool is_late(const hia_emit *e, hia_node_id n, uint32_t i, const hia_layout_word *word) {
  return hiaR_is_scalar(word->type) && !hiaG_is_scalar(hiaG_type(e->fn, hiaG_in(e->fn, n, i)));
}

/* The hia_late_data of an object with so many late words. */
static LLVMValueRef late_data(hia_emit *e, hia_type type, const hia_layout_word *const *late,
                              uint32_t n) {
  LLVMValueRef *words = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, n);
  for (uint32_t i = 0; i < n; i++) {
    LLVMValueRef fields[] = {hiaL_number(e, 32, late[i]->at),
                             hiaL_number(e, 32, hiaR_dtype_size((hia_dtype)late[i]->type))};
    words[i] = hiaL_structure(e, fields, HIA_LEN(fields));
  }
  LLVMValueRef list = LLVMConstArray2(LLVMTypeOf(words[0]), words, n);
  LLVMValueRef fields[] = {hiaL_number(e, 32, hiaL_base(e, type)), hiaL_number(e, 32, n),
                           hiaL_variable(e, "late_words", list)};
  return hiaL_variable(e, "late_data", hiaL_structure(e, fields, HIA_LEN(fields)));
}

void hiaL_emit_DATA_LATE(hia_emit *e, hia_node_id n) {
  static const hia_dims box = {.rank = 1, .dims = {1}};
  const hia_node *node = hiaL_node(e, n);
  hia_type type = hiaG_type(e->fn, node->outs);
  const hia_ctor *ctor = hiaL_ctor(e, type, (uint32_t)node->imm);
  const hia_layout_word *words = &e->g->types->layout_words.data[ctor->layout.first];
  const hia_layout_word **late =
      HIA_NEW_ARRAY(&e->comp->scratch, const hia_layout_word *, node->n_ins + 1);
  uint32_t n_late = 0;
  LLVMValueRef block = hiaL_operand_block(e), object = hiaL_begin_data(e, n);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    if (!is_late(e, n, i, &words[i])) {
      hiaL_write_word(e, n, object, i);
      continue;
    }
    LLVMValueRef tensor = hiaL_in(e, n, i);
    hiaL_require_row(e, tensor, &box, node->loc);
    if (!e->graph.is_counted) hiaL_retain(e, tensor); /* as the rows of a DEFER */
    hiaL_store_packed(e, object, &words[i], LLVMConstNull(hiaL_type(e, words[i].type)));
    late[n_late++] = &words[i];
    hiaL_store_word(e, hiaL_word_at(e, block, n_late), tensor,
                    hiaG_type(e->fn, hiaG_in(e->fn, n, i)));
  }
  if (n_late) {
    hiaL_store_word(e, hiaL_word_at(e, block, 0), object, type);
    LLVMValueRef args[] = {late_data(e, type, late, n_late), block, hiaL_number(e, 32, node->loc)};
    hiaL_set_debug_loc(e, node->loc, false);
    hiaL_call_abi(e, HIA_ABI_hiaR_stub_owe, args, HIA_LEN(args));
    hiaL_no_debug_loc(e);
  }
  hiaL_out(e, n, 0, object);
}

/* A tensor that is made of an array of late scalars. */
void hiaL_emit_PACK_LATE(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  hia_type array = hiaG_type(e->fn, hiaG_in(e->fn, n, 0)), type = hiaG_type(e->fn, node->outs);
  LLVMValueRef block = hiaL_operand_block(e), all = hiaL_in(e, n, 0);
  if (!e->graph.is_counted) hiaL_retain(e, all); /* as the rows of a DEFER */
  LLVMValueRef word[] = {hiaL_number(e, 32, hiaG_tensor_dtype(e->g->types, type)),
                         hiaL_number(e, 32, 0)};
  LLVMValueRef fields[] = {hiaL_number(e, 32, hiaL_base(e, array)), hiaL_number(e, 32, 0),
                           hiaL_variable(e, "late_words", hiaL_structure(e, word, HIA_LEN(word)))};
  hiaL_store_word(e, hiaL_word_at(e, block, 1), all, array);
  LLVMValueRef args[] = {hiaL_variable(e, "late_data", hiaL_structure(e, fields, HIA_LEN(fields))),
                         block, hiaL_number(e, 32, node->loc)};
  hiaL_set_debug_loc(e, node->loc, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_owe, args, HIA_LEN(args));
  hiaL_no_debug_loc(e);
  hiaL_out(e, n, 0, hiaL_load_word(e, hiaL_word_at(e, block, 0), type));
}
