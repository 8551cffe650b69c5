/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What compiled code calls, by the stubs of arch/, to make, change and free objects and arrays. */
#include "runtime/native/context.h"
#include "runtime/native/sampled.h"

/* ---- objects ---- */

/* Code that is run without a heap finds its free lists empty, and comes here. */
HIA_UNINSTRUMENTED void *hiaR_native_alloc(hia_context *context, size_t size, uint32_t loc,
                                           const char *sp, uintptr_t pc) {
  hiaR_need_heap(context, loc, sp, pc);
  void *block = hiaR_heap_alloc(&context->local, size);
  if (HIA_UNLIKELY(!block)) hiaR_leave(context, HIA_MEMORY, loc, 0, sp, pc, NULL);
  hiaR_sampled_took(context, loc, sp, pc);
  return block;
}

void hiaR_native_free(hia_context *context, hia_word object, uint32_t base) {
  hiaR_object_free(&context->local, context->run.shapes, object, base, context->is_shared != 0);
}

void hiaR_native_unpack(hia_context *context, hia_word ref, uint32_t shape, uint32_t set) {
  const hia_counted *object = hiaR_object(ref);
  const hia_word *refs = (const hia_word *)(const void *)(object + 1);
  bool is_shared = context->is_shared != 0;
  for (; set; set &= set - 1) hiaR_dup(refs[__builtin_ctz(set)], is_shared);
  hiaR_drop(&context->local, context->run.shapes, ref, shape - object->ctor, is_shared);
}

void hiaR_native_release(hia_context *context, void *block, size_t size) {
  hiaR_heap_release(&context->local, block, size);
}

/* ---- arrays ---- */

/* What takes longer than a safepoint should be late ends the run that must end. */
enum { LONG = 1 << 20 }; /* bytes that are copied or cleared */

/* The array that an operation has made, if it has. */
static HIA_UNINSTRUMENTED hia_word made(hia_context *context, hia_status how, hia_word array,
                                        uint32_t base, uint32_t loc, const char *sp, uintptr_t pc) {
  if (HIA_UNLIKELY(how == HIA_CANCELLED))
    hiaR_leave(context, hiaR_end_status(context), HIA_NONE, 0, sp, pc, NULL);
  if (HIA_UNLIKELY(how)) hiaR_leave(context, HIA_MEMORY, loc, 0, sp, pc, NULL);
  hiaR_sampled_took(context, loc, sp, pc);
  if (hiaR_array_len(array) > LONG / (context->run.shapes->list[base].size + 1)) {
    hia_status status = hiaR_end_status(context);
    if (HIA_UNLIKELY(status)) hiaR_leave(context, status, HIA_NONE, 0, sp, pc, NULL);
  }
  return array;
}

HIA_UNINSTRUMENTED hia_word hiaR_native_new(hia_context *context, int64_t n, uint32_t base,
                                            uint32_t loc, const char *sp, uintptr_t pc) {
  hia_word array = 0;
  hiaR_need_heap(context, loc, sp, pc);
  hia_status status = hiaR_array_new(&context->local, &context->run.shapes->list[base], n, &array);
  return made(context, status, array, base, loc, sp, pc);
}

HIA_UNINSTRUMENTED hia_word hiaR_native_own(hia_context *context, hia_word array, uint32_t base,
                                            uint32_t loc, const char *sp, uintptr_t pc) {
  hiaR_need_heap(context, loc, sp, pc);
  hia_status status =
      hiaR_array_own(&context->local, context->run.shapes, base, &array, context->is_shared != 0);
  return made(context, status, array, base, loc, sp, pc);
}

HIA_UNINSTRUMENTED hia_word hiaR_native_slice(hia_context *context, hia_word array, int64_t first,
                                              int64_t end, uint32_t base, uint32_t loc,
                                              const char *sp, uintptr_t pc) {
  hia_word slice = 0;
  hiaR_need_heap(context, loc, sp, pc);
  if (HIA_UNLIKELY(!hiaR_array_slice(&context->local, &context->run.shapes->list[base], array,
                                     first, end, context->is_shared != 0, &slice))) {
    hia_status status = hiaR_end_status(context);
    if (status) hiaR_leave(context, status, HIA_NONE, 0, sp, pc, NULL);
    hiaR_leave(context, HIA_MEMORY, loc, 0, sp, pc, NULL);
  }
  hiaR_sampled_took(context, loc, sp, pc);
  return slice;
}

HIA_UNINSTRUMENTED hia_word hiaR_native_concat(hia_context *context, const hia_word *arrays,
                                               uint32_t n, uint32_t base, uint32_t loc,
                                               const char *sp, uintptr_t pc) {
  hia_word array = 0;
  hiaR_need_heap(context, loc, sp, pc);
  hia_status status = hiaR_array_concat(&context->local, context->run.shapes, base, arrays, n,
                                        context->is_shared != 0, &array);
  return made(context, status, array, base, loc, sp, pc);
}
