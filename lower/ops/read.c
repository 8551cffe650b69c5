/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* A graph that was read from text: what its code tests, because the passes that made such a graph
 * guarantee it, and whoever changed the text may not have kept it.
 *
 *   field, hole.at   the value is of the constructor (data.c)
 *   fill             the index is that of an element (array.c)
 *   alike            the array has an element to compare with (operation.c)
 *   defer            the tensors of a row have the shapes that the segment states
 *   operations       the elements of an operand are there: else the code waits, as for a force
 *   undef, hole, new a tensor that nobody has set is one without elements
 *   take             something was put at the destination
 *   put, take        the address is no undef, which one word may be of words of several types
 *
 * An address that is none of those that `dest` and `hole.at` give is found by the verifier
 * (graph/verify/address.c). A test that fails ends the run with INTERNAL. */
#include "lower/kit/emit.h"
#include "lower/ops/ops.h"
#include "runtime/heap/tensor.h"
#include <stddef.h>

static bool is_tensor(const hia_emit *e, hia_type type) {
  return hiaG_type_kind(e->g->types, type) == HIA_KIND_TENSOR;
}

/* A tensor whose axes have the size 0: a constant of the module. */
static LLVMValueRef empty_tensor(hia_emit *e, hia_type type) {
  hia_dtype dtype = hiaG_tensor_dtype(e->g->types, type);
  uint32_t rank = hiaG_rank(e->g->types, type);
  const char *name = hiaR_arena_printf(&e->comp->scratch, "empty_%u_%u", (unsigned)dtype, rank);
  LLVMValueRef found = LLVMGetNamedGlobal(e->module, name);
  if (found) return found;
  const hia_dims shape = {.rank = rank};
  return hiaL_constant_tensor(e, name, dtype, &shape, LLVMConstNull(e->types[HIA_I64]));
}

LLVMValueRef hiaL_unset(hia_emit *e, hia_type type) {
  bool has_header = e->g->is_read && is_tensor(e, type);
  return has_header ? empty_tensor(e, type) : LLVMConstNull(hiaL_type(e, type));
}

/* Fails the run unless the condition holds. */
static void require(hia_emit *e, LLVMValueRef holds, hia_loc_id loc) {
  LLVMBasicBlockRef wrong = hiaL_block(e, "wrong"), right = hiaL_block(e, "right");
  hiaL_unlikely(e, LLVMBuildNot(e->b, holds, ""), wrong, right);
  hiaL_at(e, wrong);
  hiaL_fail(e, loc, HIA_INTERNAL, hiaL_number(e, 64, 0));
  hiaL_at(e, right);
}

void hiaL_require_object(hia_emit *e, LLVMValueRef ref, hia_loc_id loc) {
  if (e->g->is_read) require(e, LLVMBuildNot(e->b, hiaL_is_number(e, ref), ""), loc);
}

void hiaL_require_address(hia_emit *e, LLVMValueRef address, hia_loc_id loc) {
  LLVMValueRef unset = hiaL_number(e, 64, 0); /* as hiaL_emit_UNDEF makes it */
  if (e->graph.tests_addresses) require(e, LLVMBuildICmp(e->b, LLVMIntNE, address, unset, ""), loc);
}

void hiaL_require_row(hia_emit *e, LLVMValueRef tensor, const hia_dims *shape, hia_loc_id loc) {
  LLVMValueRef fits = hiaL_number(e, 1, 1);
  if (!e->g->is_read) return;
  for (uint32_t k = 0; k < shape->rank; k++) {
    LLVMValueRef size = hiaL_load_dim(e, tensor, k);
    LLVMValueRef wanted = hiaL_number(e, 64, (uint64_t)shape->dims[k]);
    fits = LLVMBuildAnd(e->b, fits, LLVMBuildICmp(e->b, LLVMIntEQ, size, wanted, ""), "fits");
  }
  require(e, fits, loc);
}

/* The operands whose elements the node reads. */
void hiaL_wait_for_operands(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  bool is_read = hiaG_is_operation(e->fn, n) || node->op == HIA_OP_PACK || node->op == HIA_OP_HOST;
  if (!e->graph.tests_pending || !is_read) return;
  switch (node->op) {
  case HIA_OP_DIM:
  case HIA_OP_EXPECT:
  case HIA_OP_ALIKE:
  case HIA_OP_WITHIN: return;
  default: break;
  }
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(e->fn, n, i);
    if (!hiaG_is_scalar(hiaG_type(e->fn, v)) && !hiaG_is_constant(hiaG_def(e->fn, v)->op))
      hiaL_wait_for(e, hiaL_in(e, n, i), hiaG_type(e->fn, v), node->loc);
  }
}

/* All words of a new array are 0. Those that are to be tensors become some. */
void hiaL_unset_elements(hia_emit *e, LLVMValueRef elements, LLVMValueRef n, hia_type array) {
  const hia_type_entry *type = &e->g->types->entries.data[array - HIA_FIRST_TYPE];
  const hia_layout_word *layout_words = &e->g->types->layout_words.data[type->layout.first];
  bool has_tensors = false;
  for (uint32_t w = 0; w < type->layout.n; w++) has_tensors |= is_tensor(e, layout_words[w].type);
  if (!e->g->is_read || !has_tensors) return;
  LLVMBasicBlockRef before = hiaL_here(e), head = hiaL_block(e, "unset"),
                    round = hiaL_block(e, "unset_one"), next = hiaL_block(e, "all_unset");
  LLVMValueRef zero = hiaL_number(e, 64, 0);
  LLVMBuildBr(e->b, head);
  hiaL_at(e, head);
  LLVMValueRef i = LLVMBuildPhi(e->b, e->types[HIA_I64], "i");
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, i, n, ""), round, next);
  hiaL_at(e, round);
  LLVMTypeRef element = LLVMArrayType2(e->i8, type->layout.size);
  LLVMValueRef at = LLVMBuildInBoundsGEP2(e->b, element, elements, &i, 1, "element");
  for (uint32_t w = 0; w < type->layout.n; w++)
    if (is_tensor(e, layout_words[w].type))
      hiaL_store_packed(e, at, &layout_words[w], hiaL_unset(e, layout_words[w].type));
  LLVMValueRef more = LLVMBuildAdd(e->b, i, hiaL_number(e, 64, 1), "");
  LLVMBuildBr(e->b, head);
  LLVMValueRef values[2] = {zero, more};
  LLVMBasicBlockRef from[2] = {before, round};
  LLVMAddIncoming(i, values, from, 2);
  hiaL_at(e, next);
}

/* A word for a destination that outlives the frame: in such a graph nothing is freed. */
LLVMValueRef hiaL_new_destination(hia_emit *e, hia_loc_id loc) {
  LLVMValueRef word = hiaL_new_block(e, sizeof(hia_word), loc);
  LLVMBuildStore(e->b, hiaL_number(e, 64, 0), word);
  return LLVMBuildPtrToInt(e->b, word, e->types[HIA_I64], "dest");
}
