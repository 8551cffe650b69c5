/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values of data types: making objects, asking for the constructor, reading fields
 * (docs/memory.md).
 *
 * One would expect a call of an allocator for each object. Most objects are small, and their size
 * is known when the code is compiled. So the code takes the first block of the worker's free list
 * for the size, which is one load, one test and one store. If the list is empty a stub fills it. It
 * keeps the caller's registers, so that nothing is spilled on the usual path.
 *
 * AddressSanitizer sees free blocks as poisoned, their links too, and a census counts blocks
 * (heap.h). So in builds with one of these the stub makes every object.
 *
 * A FIELD stands behind the branch that has found the constructor, so it is a load. A graph that
 * was read from text may have it elsewhere; there the code tests the constructor first. */
#include "lower/kit/emit.h"
#include "runtime/heap/object.h"
#include <stddef.h>

#if defined(HIA_ASAN) || defined(HIA_CENSUS)
enum { IS_WATCHED = true };
#else
enum { IS_WATCHED = false };
#endif

const hia_ctor *hiaL_ctor(const hia_emit *e, hia_type data, uint32_t number) {
  const hia_types *types = e->g->types;
  return &types->ctors.data[types->entries.data[data - HIA_FIRST_TYPE].first + number];
}

static const hia_word_place *place_of(const hia_emit *e, const hia_ctor *ctor, uint32_t word) {
  return &e->g->types->places.data[ctor->layout.first + word];
}

/* ---- memory ---- */

LLVMValueRef hiaL_byte_at(hia_emit *e, LLVMValueRef base, uint64_t offset, const char *name) {
  LLVMValueRef index = hiaL_number(e, 64, offset);
  return LLVMBuildInBoundsGEP2(e->b, e->i8, base, &index, 1, name);
}

LLVMValueRef hiaL_load_packed(hia_emit *e, LLVMValueRef object, const hia_word_place *place) {
  LLVMValueRef at = hiaL_byte_at(e, object, place->at, "at");
  if (place->repr == HIA_REPR_BYTE || place->repr == HIA_REPR_HALF) {
    LLVMTypeRef type = LLVMIntTypeInContext(e->llvm, 8u * hiaR_reprs[place->repr].size);
    LLVMValueRef number = LLVMBuildLoad2(e->b, type, at, "number");
    number = LLVMBuildZExt(e->b, number, e->types[HIA_I64], "");
    return LLVMBuildIntToPtr(e->b, number, e->ptr, "field");
  }
  if (place->type != HIA_BOOL) return LLVMBuildLoad2(e->b, hiaL_type(e, place->type), at, "field");
  LLVMValueRef byte = LLVMBuildLoad2(e->b, e->i8, at, "field");
  return LLVMBuildICmp(e->b, LLVMIntNE, byte, LLVMConstNull(e->i8), "");
}

void hiaL_store_packed(hia_emit *e, LLVMValueRef object, const hia_word_place *place,
                       LLVMValueRef value) {
  if (place->repr == HIA_REPR_BYTE || place->repr == HIA_REPR_HALF) {
    LLVMTypeRef type = LLVMIntTypeInContext(e->llvm, 8u * hiaR_reprs[place->repr].size);
    value = LLVMBuildPtrToInt(e->b, value, type, "number");
  }
  if (place->type == HIA_BOOL) value = LLVMBuildZExt(e->b, value, e->i8, "");
  LLVMBuildStore(e->b, value, hiaL_byte_at(e, object, place->at, "at"));
}

static LLVMValueRef free_list(hia_emit *e, uint32_t size) {
  LLVMValueRef lists = hiaL_field(e, HIA_FIELD_local);
  return hiaL_byte_at(e, lists, hiaR_heap_class(size) * sizeof(void *), "list");
}

LLVMValueRef hiaL_new_block_of(hia_emit *e, LLVMValueRef size, hia_loc_id loc) {
  LLVMValueRef args[2] = {size, hiaL_number(e, 32, loc)};
  hiaL_set_debug_loc(e, loc, false);
  LLVMValueRef block = hiaL_call_abi(e, HIA_ABI_hiaR_stub_alloc, args, 2);
  hiaL_no_debug_loc(e);
  return block;
}

static bool is_listed(const hia_emit *e, uint32_t size) {
  return size <= HIA_HEAP_EXACT && !IS_WATCHED && e->options->instrument != HIA_INSTRUMENT_ASAN;
}

LLVMValueRef hiaL_new_block(hia_emit *e, uint32_t size, hia_loc_id loc) {
  if (!is_listed(e, size)) return hiaL_new_block_of(e, hiaL_number(e, 64, size), loc);
  LLVMValueRef list = free_list(e, size);
  LLVMValueRef first = LLVMBuildLoad2(e->b, e->ptr, list, "first");
  LLVMValueRef is_empty = LLVMBuildICmp(e->b, LLVMIntEQ, first, LLVMConstNull(e->ptr), "");
  LLVMBasicBlockRef empty = hiaL_block(e, "empty"), take = hiaL_block(e, "take"),
                    join = hiaL_block(e, "taken");
  hiaL_unlikely(e, is_empty, empty, take);
  hiaL_at(e, take);
  LLVMBuildStore(e->b, LLVMBuildLoad2(e->b, e->ptr, first, "next"), list);
  LLVMBuildBr(e->b, join);
  hiaL_at(e, empty);
  LLVMValueRef other = hiaL_new_block_of(e, hiaL_number(e, 64, size), loc);
  LLVMBuildBr(e->b, join);
  hiaL_at(e, join);
  LLVMValueRef block = LLVMBuildPhi(e->b, e->ptr, "object");
  LLVMAddIncoming(block, &first, &take, 1);
  LLVMAddIncoming(block, &other, &empty, 1);
  return block;
}

void hiaL_free_block(hia_emit *e, LLVMValueRef block, uint32_t size) {
  if (is_listed(e, size)) {
    LLVMValueRef list = free_list(e, size);
    LLVMBuildStore(e->b, LLVMBuildLoad2(e->b, e->ptr, list, "first"), block);
    LLVMBuildStore(e->b, block, list);
    return;
  }
  LLVMValueRef args[2] = {block, hiaL_number(e, 64, size)};
  hiaL_set_debug_loc(e, HIA_NONE, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_release, args, 2);
  hiaL_no_debug_loc(e);
}

/* ---- ops ---- */

/* The header of an object to which there is one reference, as hiaR_object_begin writes it. */
void hiaL_store_header(hia_emit *e, LLVMValueRef object, uint32_t ctor) {
  _Static_assert(offsetof(hia_counted, count) == 0 && offsetof(hia_counted, ctor) == 4 &&
                     sizeof(hia_counted) == 8,
                 "the header is written as one word");
  LLVMBuildStore(e->b, hiaL_number(e, 64, 1 | (uint64_t)ctor << 32), object);
}

void hiaL_write_words(hia_emit *e, hia_node_id n, LLVMValueRef object, const hia_ctor *ctor,
                      uint32_t first, uint32_t set, bool is_in) {
  for (uint32_t i = 0; i < ctor->layout.n; i++)
    if ((i < 32 && set >> i & 1) == is_in)
      hiaL_store_packed(e, object, place_of(e, ctor, i), hiaL_in(e, n, first + i));
}

void hiaL_emit_DATA(hia_emit *e, hia_node_id n) {
  uint32_t number = (uint32_t)hiaL_node(e, n)->imm;
  const hia_ctor *ctor = hiaL_ctor(e, hiaG_type(e->fn, hiaG_out(e->fn, n, 0)), number);
  LLVMValueRef object = hiaL_new_block(e, ctor->layout.size, hiaL_node(e, n)->loc);
  hiaL_store_header(e, object, number);
  hiaL_write_words(e, n, object, ctor, 0, 0, false);
  hiaL_out(e, n, 0, object);
}

static LLVMValueRef word_of(hia_emit *e, LLVMValueRef ref) {
  return LLVMBuildPtrToInt(e->b, ref, e->types[HIA_I64], "word");
}

LLVMValueRef hiaL_is_number(hia_emit *e, LLVMValueRef ref) {
  LLVMValueRef limit = hiaL_number(e, 64, HIA_FIRST_ADDRESS);
  return LLVMBuildICmp(e->b, LLVMIntULT, word_of(e, ref), limit, "is_number");
}

LLVMValueRef hiaL_header_ctor(hia_emit *e, LLVMValueRef object) {
  LLVMTypeRef half = LLVMInt16TypeInContext(e->llvm);
  LLVMValueRef at = hiaL_byte_at(e, object, offsetof(hia_counted, ctor), "at");
  return LLVMBuildZExt(e->b, LLVMBuildLoad2(e->b, half, at, "ctor"), e->types[HIA_I32], "");
}

/* The number of any value of any type. */
static LLVMValueRef ctor_by_test(hia_emit *e, LLVMValueRef ref) {
  LLVMBasicBlockRef object = hiaL_block(e, "object"), join = hiaL_block(e, "ctor"),
                    here = hiaL_here(e);
  LLVMValueRef own = LLVMBuildTrunc(e->b, word_of(e, ref), e->types[HIA_I32], "number");
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
    number = LLVMBuildTrunc(e->b, word_of(e, ref), e->types[HIA_I32], "ctor");
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

void hiaL_emit_FIELD(hia_emit *e, hia_node_id n) {
  uint64_t imm = hiaL_node(e, n)->imm;
  LLVMValueRef ref = hiaL_in(e, n, 0);
  const hia_ctor *ctor = hiaL_ctor(e, hiaG_type(e->fn, hiaG_in(e->fn, n, 0)), HIA_IMM_A(imm));
  if (e->g->is_read) require(e, ref, HIA_IMM_A(imm), hiaL_node(e, n)->loc);
  hiaL_out(e, n, 0, hiaL_load_packed(e, ref, place_of(e, ctor, HIA_IMM_B(imm))));
}

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
  LLVMValueRef at = hiaL_byte_at(e, hiaL_in(e, n, 0), place_of(e, ctor, HIA_IMM_B(imm))->at, "at");
  hiaL_out(e, n, 0, LLVMBuildPtrToInt(e->b, at, e->types[HIA_I64], "hole"));
}

/* The place at the address that is the node's first operand. */
static LLVMValueRef place_at(hia_emit *e, hia_node_id n) {
  LLVMValueRef address = hiaL_in(e, n, 0);
  hiaL_require_address(e, address, hiaL_node(e, n)->loc);
  return LLVMBuildIntToPtr(e->b, address, e->ptr, "");
}

void hiaL_emit_PUT(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_in(e->fn, n, 1));
  hia_word_place place = {.type = type, .repr = (uint8_t)hiaR_repr(type)};
  hiaL_store_packed(e, place_at(e, n), &place, hiaL_in(e, n, 1));
}

void hiaL_emit_TAKE(hia_emit *e, hia_node_id n) {
  hia_type type = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  hia_word_place place = {.type = type, .repr = (uint8_t)hiaR_repr(type)};
  LLVMValueRef taken = hiaL_load_packed(e, place_at(e, n), &place);
  if (!hiaG_is_scalar(type) && hiaG_type_kind(e->g->types, type) == HIA_KIND_TENSOR)
    hiaL_require_object(e, taken, hiaL_node(e, n)->loc);
  hiaL_out(e, n, 0, taken);
}
