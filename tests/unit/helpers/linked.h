/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* LLVM modules and object files that tests make by hand, linked and loaded. */
#ifndef HIA_TEST_LINKED_H
#define HIA_TEST_LINKED_H

#include "runtime/native/load.h"
#include "tests/unit/helpers/world.h"

/* Links and loads an object file. HIA_INTERNAL, too, if it cannot be opened. */
static inline hia_status load_object_file(const hia_allocator *allocator, const void *bytes,
                                          size_t size, hia_loaded_code **out, hia_error **error) {
  hia_object object;
  if (!hiaJ_object_open(&object, bytes, size)) return HIA_INTERNAL;
  hia_comp comp;
  hiaR_comp_init(&comp, allocator);
  volatile hia_status status = HIA_OK;
  if (HIA_TRY(&comp)) {
    hia_laid_code *laid = hiaJ_link(&comp, &object, NULL);
    status = hiaR_code_load(allocator, laid, hiaR_laid_size(laid), out, error);
  } else {
    status = hiaR_fail_comp(allocator, error, &comp);
  }
  hiaR_comp_free(&comp);
  return status;
}

/* The object file of a module, which it disposes of. */
static inline LLVMMemoryBufferRef emit_module(world *w, hia_compiler *compiler,
                                              LLVMModuleRef module, int level) {
  LLVMMemoryBufferRef bytes;
  char *message = NULL;
  LLVMSetTarget(module, w->session->triple);
  LLVMSetDataLayout(module, w->session->data_layout);
  cr_assert(!LLVMTargetMachineEmitToMemoryBuffer(hiaJ_machine(w->session, compiler, level), module,
                                                 LLVMObjectFile, &message, &bytes),
            "%s", message);
  LLVMDisposeModule(module);
  return bytes;
}

static inline hia_loaded_code *load_module(world *w, hia_compiler *compiler, LLVMModuleRef module,
                                           int level) {
  LLVMMemoryBufferRef bytes = emit_module(w, compiler, module, level);
  hia_loaded_code *loaded;
  hia_status status = load_object_file(&hiaR_malloc, LLVMGetBufferStart(bytes),
                                       LLVMGetBufferSize(bytes), &loaded, &w->error);
  cr_assert_eq(status, HIA_OK, "%s", said(w->error));
  LLVMDisposeMemoryBuffer(bytes);
  return loaded;
}

#endif
