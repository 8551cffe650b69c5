/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types: making objects, asking for the constructor, reading fields
 * (docs/memory.md).
 *
 * A FIELD stands behind the branch that has found the constructor, so it is a load. A graph that
 * was read from text may have it elsewhere; there the code tests the constructor first. */
#include "lower/ops/ops.h"

static const hia_layout_word *layout_word_of(const hia_emit *e, const hia_ctor *ctor,
                                             uint32_t word) {
  return &e->g->types->layout_words.data[ctor->layout.first + word];
}

void hiaL_write_words(hia_emit *e, hia_node_id n, LLVMValueRef object, const hia_ctor *ctor,
                      uint32_t first, uint32_t set, bool is_in) {
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    if ((i < 32 && set >> i & 1) == is_in)
      hiaL_store_packed(e, object, layout_word_of(e, ctor, i), hiaL_in(e, n, first + i));
}

static const hia_ctor *ctor_of(const hia_emit *e, hia_node_id n) {
  return hiaL_ctor(e, hiaG_type(e->fn, hiaG_out(e->fn, n, 0)), (uint32_t)hiaL_node(e, n)->imm);
}

LLVMValueRef hiaL_begin_data(hia_emit *e, hia_node_id n) {
  LLVMValueRef object = hiaL_new_block(e, ctor_of(e, n)->layout.size, hiaL_node(e, n)->loc);
  hiaL_store_header(e, object, (uint32_t)hiaL_node(e, n)->imm);
  return object;
}

void hiaL_write_word(hia_emit *e, hia_node_id n, LLVMValueRef object, uint32_t i) {
  hiaL_store_packed(e, object, layout_word_of(e, ctor_of(e, n), i), hiaL_in(e, n, i));
}

void hiaL_emit_DATA(hia_emit *e, hia_node_id n) {
  LLVMValueRef object = hiaL_early_object(e, n);
  if (!object) {
    object = hiaL_begin_data(e, n);
    hiaL_write_words(e, n, object, ctor_of(e, n), 0, 0, false);
  }
  hiaL_out(e, n, 0, object);
}

/* The number of any value of any type. */
static LLVMValueRef ctor_by_test(hia_emit *e, LLVMValueRef ref) {
  LLVMBasicBlockRef object = hiaL_block(e, "object"), join = hiaL_block(e, "ctor"),
                    here = hiaL_here(e);
  LLVMValueRef own = LLVMBuildTrunc(e->b, hiaL_ref_word(e, ref), e->types[HIA_I32], "number");
  LLVMBuildCondBr(e->b, hiaL_is_number(e, ref), join, object);
  hiaL_at(e, object);
  LLVMValueRef read = hiaL_header_ctor(e, ref);
  LLVMBuildBr(e->b, join);
  hiaL_at(e, join);
  LLVMValueRef number = LLVMBuildPhi(e->b, e->types[HIA_I32], "ctor");
  LLVMAddIncoming(number, &own, &here, 1);
  LLVMAddIncoming(number, &read, &object, 1);
  return number;
}

/* The number of a value of a type with two constructors, of which `own` has no fields: a
 * comparison of the word. */
static LLVMValueRef ctor_of_two(hia_emit *e, LLVMValueRef ref, uint32_t own) {
  LLVMValueRef word =
      LLVMConstIntToPtr(hiaL_number(e, 64, own), e->ptr); /* null, where that is the first */
  return LLVMBuildSelect(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, ref, word, ""),
                         hiaL_number(e, 32, own), hiaL_number(e, 32, 1 - own), "ctor");
}

void hiaL_emit_CTOR(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_in(e->fn, n, 0));
  LLVMValueRef ref = hiaL_in(e, n, 0), number;
  uint32_t n_ctors = e->g->types->entries.data[type - HIA_FIRST_TYPE].n, n_bare = 0, bare = 0;
  for (uint32_t i = 0; i < n_ctors; i++) {
    if (hiaL_ctor(e, type, i)->n) continue;
    n_bare++;
    bare = i;
  }
  if (n_bare == n_ctors)
    number = LLVMBuildTrunc(e->b, hiaL_ref_word(e, ref), e->types[HIA_I32], "ctor");
  else if (n_ctors == 1)
    number = hiaL_number(e, 32, 0);
  else if (n_ctors == 2 && n_bare == 1)
    number = ctor_of_two(e, ref, bare);
  else if (n_bare == 0 && !e->g->is_read)
    number = hiaL_header_ctor(e, ref);
  else
    number = ctor_by_test(e, ref);
  hiaL_out(e, n, 0, number);
}

/* Fails the run unless the value is of this constructor. */
static void require(hia_emit *e, LLVMValueRef ref, uint32_t number, hia_loc_id loc) {
  LLVMBasicBlockRef wrong = hiaL_block(e, "wrong"), object = hiaL_block(e, "object"),
                    right = hiaL_block(e, "right");
  hiaL_unlikely(e, hiaL_is_number(e, ref), wrong, object);
  hiaL_at(e, object);
  LLVMValueRef is_other =
      LLVMBuildICmp(e->b, LLVMIntNE, hiaL_header_ctor(e, ref), hiaL_number(e, 32, number), "");
  hiaL_unlikely(e, is_other, wrong, right);
  hiaL_at(e, wrong);
  hiaL_fail(e, loc, HIA_INTERNAL, hiaL_number(e, 64, 0));
  hiaL_at(e, right);
}

static void read_field(hia_emit *e, hia_node_id n, bool waits) {
  uint64_t imm = hiaL_node(e, n)->imm;
  LLVMValueRef ref = hiaL_in(e, n, 0);
  const hia_ctor *ctor = hiaL_ctor(e, hiaG_type(e->fn, hiaG_in(e->fn, n, 0)), HIA_IMM_A(imm));
  if (e->g->is_read) require(e, ref, HIA_IMM_A(imm), hiaL_node(e, n)->loc);
  if (waits) hiaL_wait_for_words(e, ref, hiaL_node(e, n)->loc);
  hiaL_out(e, n, 0, hiaL_load_packed(e, ref, layout_word_of(e, ctor, HIA_IMM_B(imm))));
}

void hiaL_emit_FIELD(hia_emit *e, hia_node_id n) { read_field(e, n, false); }
void hiaL_emit_FIELD_LATE(hia_emit *e, hia_node_id n) { read_field(e, n, true); }

/* ---- destinations of results (graph/passes/cons.c) ---- */

/* One word of the frame, however often the node fires: each time it is taken before the next. */
void hiaL_emit_DEST(hia_emit *e, hia_node_id n) {
  if (e->g->is_read) {
    hiaL_out(e, n, 0, hiaL_new_destination(e, hiaL_node(e, n)->loc));
    return;
  }
  LLVMBasicBlockRef here = hiaL_here(e), entry = LLVMGetEntryBasicBlock(e->function);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  if (first)
    LLVMPositionBuilderBefore(e->b, first);
  else
    hiaL_at(e, entry);
  LLVMValueRef dest = LLVMBuildAlloca(e->b, e->types[HIA_I64], "dest");
  hiaL_at(e, here);
  hiaL_out(e, n, 0, LLVMBuildPtrToInt(e->b, dest, e->types[HIA_I64], ""));
}

void hiaL_emit_HOLE(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  hiaL_out(e, n, 0, e->g->is_read ? hiaL_unset(e, type) : LLVMGetUndef(hiaL_type(e, type)));
}

void hiaL_emit_HOLE_AT(hia_emit *e, hia_node_id n) {
  uint64_t imm = hiaL_node(e, n)->imm;
  const hia_ctor *ctor = hiaL_ctor(e, hiaG_type(e->fn, hiaG_in(e->fn, n, 0)), HIA_IMM_A(imm));
  if (e->g->is_read) require(e, hiaL_in(e, n, 0), HIA_IMM_A(imm), hiaL_node(e, n)->loc);
  LLVMValueRef at =
      hiaL_byte_at(e, hiaL_in(e, n, 0), layout_word_of(e, ctor, HIA_IMM_B(imm))->at, "at");
  hiaL_out(e, n, 0, LLVMBuildPtrToInt(e->b, at, e->types[HIA_I64], "hole"));
}

/* Returns the node's first operand, an address, as a pointer. */
static LLVMValueRef pointer_of(hia_emit *e, hia_node_id n) {
  LLVMValueRef address = hiaL_in(e, n, 0);
  hiaL_require_address(e, address, hiaL_node(e, n)->loc);
  return LLVMBuildIntToPtr(e->b, address, e->ptr, "");
}

void hiaL_emit_PUT(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_in(e->fn, n, 1));
  hia_layout_word layout_word = {.type = type, .repr = (uint8_t)hiaR_repr(type)};
  hiaL_store_packed(e, pointer_of(e, n), &layout_word, hiaL_in(e, n, 1));
}

void hiaL_emit_TAKE(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  hia_layout_word layout_word = {.type = type, .repr = (uint8_t)hiaR_repr(type)};
  LLVMValueRef taken = hiaL_load_packed(e, pointer_of(e, n), &layout_word);
  if (!hiaG_is_scalar(type) && hiaG_type_kind(e->g->types, type) == HIA_KIND_TENSOR)
    hiaL_require_object(e, taken, hiaL_node(e, n)->loc);
  hiaL_out(e, n, 0, taken);
}
