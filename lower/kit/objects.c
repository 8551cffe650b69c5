/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Objects of the heap as the code sees them: their memory, headers and fields; tensors
 * (docs/memory.md).
 *
 * One would expect a call of an allocator for each object. Most objects are small, and their size
 * is known when the code is compiled. So the code takes the first block of the worker's free list
 * for the size, which is one load, one test and one store. If the list is empty a stub fills it. It
 * keeps the caller's registers, so that nothing is spilled on the usual path. Where counts go
 * through functions of the module (lower/ops/count.c), another stub does all of this: three blocks
 * less to compile for each object.
 *
 * An engine for profiles of memory has code that counts the bytes of these objects, too, and calls
 * the stub when it is time for a sample of the profile, which says where they are made
 * (hia_local_heap.left).
 *
 * AddressSanitizer sees free blocks as poisoned, their links too, and a census counts blocks
 * (heap.h). So in builds with one of these the stub makes every object. */
#include "lower/kit/emit.h"
#include "runtime/heap/object.h"
#include "runtime/heap/tensor.h"
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

/* ---- memory ---- */

static LLVMValueRef free_list(hia_emit *e, uint32_t size) {
  LLVMValueRef lists = hiaL_field(e, HIA_FIELD_local);
  return hiaL_byte_at(e, lists, hiaR_heap_class(size) * sizeof(void *), "list");
}

static LLVMValueRef call_allocator(hia_emit *e, unsigned abi, LLVMValueRef size, hia_loc_id loc) {
  LLVMValueRef args[2] = {size, hiaL_number(e, 32, loc)};
  hiaL_set_debug_loc(e, loc, false);
  LLVMValueRef block = hiaL_call_abi(e, abi, args, 2);
  hiaL_no_debug_loc(e);
  return block;
}

LLVMValueRef hiaL_new_block_of(hia_emit *e, LLVMValueRef size, hia_loc_id loc) {
  return call_allocator(e, HIA_ABI_hiaR_stub_alloc, size, loc);
}

static bool is_listed(const hia_emit *e, uint32_t size) {
  return size <= HIA_HEAP_EXACT && !IS_WATCHED && e->options->instrument != HIA_INSTRUMENT_ASAN;
}

/* Where the bytes are counted that may be taken before a profile is due. */
static LLVMValueRef left_at(hia_emit *e) {
  return hiaL_byte_at(e, hiaL_field(e, HIA_FIELD_local), offsetof(hia_local_heap, left), "left");
}

/* The bytes that are left after an object of `size`; *is_empty becomes true, too, if it is due. */
static LLVMValueRef count_bytes(hia_emit *e, uint32_t size, LLVMValueRef *is_empty) {
  LLVMTypeRef i64 = e->types[HIA_I64];
  LLVMValueRef left = LLVMBuildLoad2(e->b, i64, left_at(e), "left");
  left = LLVMBuildSub(e->b, left, hiaL_number(e, 64, size), "left");
  LLVMValueRef is_due = LLVMBuildICmp(e->b, LLVMIntSLT, left, LLVMConstNull(i64), "is_due");
  *is_empty = LLVMBuildOr(e->b, *is_empty, is_due, "");
  return left;
}

LLVMValueRef hiaL_new_block(hia_emit *e, uint32_t size, hia_loc_id loc) {
  if (!is_listed(e, size)) return hiaL_new_block_of(e, hiaL_number(e, 64, size), loc);
  if (e->local.is_terse && !e->options->counts_bytes)
    return call_allocator(e, HIA_ABI_hiaR_stub_take, hiaL_number(e, 64, size), loc);
  LLVMValueRef list = free_list(e, size), left = NULL;
  LLVMValueRef first = LLVMBuildLoad2(e->b, e->ptr, list, "first");
  LLVMValueRef is_empty = LLVMBuildICmp(e->b, LLVMIntEQ, first, LLVMConstNull(e->ptr), "");
  if (e->options->counts_bytes) left = count_bytes(e, size, &is_empty);
  LLVMBasicBlockRef empty = hiaL_block(e, "empty"), take = hiaL_block(e, "take"),
                    join = hiaL_block(e, "taken");
  hiaL_unlikely(e, is_empty, empty, take);
  hiaL_at(e, take);
  if (left) LLVMBuildStore(e->b, left, left_at(e));
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

/* ---- headers and fields ---- */

LLVMValueRef hiaL_byte_at(hia_emit *e, LLVMValueRef base, uint64_t offset, const char *name) {
  LLVMValueRef index = hiaL_number(e, 64, offset);
  return LLVMBuildInBoundsGEP2(e->b, e->i8, base, &index, 1, name);
}

LLVMValueRef hiaL_load_packed(hia_emit *e, LLVMValueRef object,
                              const hia_layout_word *layout_word) {
  LLVMValueRef at = hiaL_byte_at(e, object, layout_word->at, "at");
  if (layout_word->repr == HIA_REPR_BYTE || layout_word->repr == HIA_REPR_HALF) {
    LLVMTypeRef type = LLVMIntTypeInContext(e->llvm, 8u * hiaR_reprs[layout_word->repr].size);
    LLVMValueRef number = LLVMBuildLoad2(e->b, type, at, "number");
    number = LLVMBuildZExt(e->b, number, e->types[HIA_I64], "");
    return LLVMBuildIntToPtr(e->b, number, e->ptr, "field");
  }
  if (layout_word->type != HIA_BOOL)
    return LLVMBuildLoad2(e->b, hiaL_type(e, layout_word->type), at, "field");
  LLVMValueRef byte = LLVMBuildLoad2(e->b, e->i8, at, "field");
  return LLVMBuildICmp(e->b, LLVMIntNE, byte, LLVMConstNull(e->i8), "");
}

void hiaL_store_packed(hia_emit *e, LLVMValueRef object, const hia_layout_word *layout_word,
                       LLVMValueRef value) {
  if (layout_word->repr == HIA_REPR_BYTE || layout_word->repr == HIA_REPR_HALF) {
    LLVMTypeRef type = LLVMIntTypeInContext(e->llvm, 8u * hiaR_reprs[layout_word->repr].size);
    value = LLVMBuildPtrToInt(e->b, value, type, "number");
  }
  if (layout_word->type == HIA_BOOL) value = LLVMBuildZExt(e->b, value, e->i8, "");
  LLVMBuildStore(e->b, value, hiaL_byte_at(e, object, layout_word->at, "at"));
}

/* The header of an object to which there is one reference, as hiaR_object_begin writes it. */
void hiaL_store_header(hia_emit *e, LLVMValueRef object, uint32_t ctor) {
  _Static_assert(offsetof(hia_counted, count) == 0 && offsetof(hia_counted, ctor) == 4 &&
                     sizeof(hia_counted) == 8,
                 "the header is written as one word");
  LLVMBuildStore(e->b, hiaL_number(e, 64, 1 | (uint64_t)ctor << 32), object);
}

LLVMValueRef hiaL_ref_word(hia_emit *e, LLVMValueRef ref) {
  return LLVMBuildPtrToInt(e->b, ref, e->types[HIA_I64], "word");
}

LLVMValueRef hiaL_is_number(hia_emit *e, LLVMValueRef ref) {
  LLVMValueRef limit = hiaL_number(e, 64, HIA_FIRST_ADDRESS);
  return LLVMBuildICmp(e->b, LLVMIntULT, hiaL_ref_word(e, ref), limit, "is_number");
}

LLVMValueRef hiaL_header_ctor(hia_emit *e, LLVMValueRef object) {
  LLVMTypeRef half = LLVMInt16TypeInContext(e->llvm);
  LLVMValueRef at = hiaL_byte_at(e, object, offsetof(hia_counted, ctor), "at");
  return LLVMBuildZExt(e->b, LLVMBuildLoad2(e->b, half, at, "ctor"), e->types[HIA_I32], "");
}

/* ---- tensors ---- */

LLVMValueRef hiaL_load_dim(hia_emit *e, LLVMValueRef tensor, uint32_t axis) {
  uint64_t at = offsetof(hia_tensor, dims) + axis * sizeof(int64_t);
  LLVMValueRef address = hiaL_byte_at(e, tensor, at, "dim");
  return LLVMBuildLoad2(e->b, e->types[HIA_I64], address, "size");
}

LLVMValueRef hiaL_constant_tensor(hia_emit *e, const char *name, hia_dtype dtype,
                                  const hia_dims *shape, LLVMValueRef elements) {
  LLVMValueRef dims[HIA_MAX_RANK];
  for (uint32_t i = 0; i < shape->rank; i++) dims[i] = hiaL_number(e, 64, (uint64_t)shape->dims[i]);
  LLVMValueRef fields[] = {hiaL_number(e, 32, HIA_STICKY), hiaL_number(e, 16, HIA_TENSOR_LITERAL),
                           hiaL_number(e, 16, hiaR_tensor_spare(dtype, shape->rank)),
                           hiaL_variable(e, "elements", elements),
                           LLVMConstArray2(e->types[HIA_I64], dims, shape->rank)};
  return hiaL_variable(e, name, hiaL_structure(e, fields, HIA_LEN(fields)));
}
