/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* placement: blocks made by hand, as LLVM's passes may leave them. */
#include "lower/finish/flow.h"
#include "lower/lower.h"

#include <criterion/criterion.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/IRReader.h>

static void hint(const char *text) {
  LLVMContextRef llvm = LLVMContextCreate();
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "place");
  LLVMModuleRef module;
  char *message = NULL;
  hia_error *error = NULL;
  cr_assert(!LLVMParseIRInContext(llvm, buffer, &module, &message), "%s", message);
  cr_assert_eq(hiaL_finish_loops(module, true, &hiaR_malloc, &error), HIA_OK, "%s",
               error ? hia_error_message(error, 0) : "nothing");
  cr_assert(!LLVMVerifyModule(module, LLVMReturnStatusAction, &message), "%s", message);
  LLVMDisposeMessage(message);
  LLVMDisposeModule(module);
  LLVMContextDispose(llvm);
}

/* h and x form a cycle that does not lead to the function's end, and it can be entered at `a` and
 * at `h`: jump threading may leave such a cycle. */
Test(placement, a_cycle_with_two_entries) {
  hint("define i32 @f(i1 %p, i1 %q, i1 %r, i1 %s) {\n"
       "entry: br i1 %p, label %a, label %h\n"
       "a:     br i1 %q, label %end, label %h\n"
       "h:     br i1 %r, label %a, label %x\n"
       "x:     br i1 %s, label %h, label %a\n"
       "end:   ret i32 0\n"
       "}\n");
}
