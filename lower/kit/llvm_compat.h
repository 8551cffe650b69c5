/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The LLVM that hiaton is built with. No other file may test its version: differences between
 * versions are hidden here. The oldest supported is 19. */
#ifndef HIA_LLVM_COMPAT_H
#define HIA_LLVM_COMPAT_H

#include <llvm-c/Core.h>
#include <llvm/Config/llvm-config.h>

#if LLVM_VERSION_MAJOR < 19
#error "hiaton needs LLVM 19 or later"
#endif

/* A calling convention, by its number in LLVM's IR. */
#define HIA_CC_SWIFT         ((unsigned)LLVMSwiftCallConv)
#define HIA_CC_PRESERVE_MOST ((unsigned)LLVMPreserveMostCallConv)

#endif
