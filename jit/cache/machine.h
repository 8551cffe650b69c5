/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What compiled code depends on besides the program: the processor, this build of hiaton, and the
 * libraries of the compiler. */
#ifndef HIA_MACHINE_H
#define HIA_MACHINE_H

#include "jit/cache/entry.h"

/* Describes the processor: all that its kind and its features are read from, by LLVM too, and
 * nothing that differs from one core to the next. False: it cannot be described. */
bool hiaJ_machine_describe(hia_text *text);
/* Describes this build of hiaton. False: it was linked without an identification. */
bool hiaJ_build_describe(hia_text *text);

/* The libraries of the compiler in this process, in the arena of `strings`, which receives their
 * paths. False: one of them cannot be looked at. */
bool hiaJ_compiler_files(hia_text *strings, const hia_entry_file **files, uint32_t *n);
/* True if the files are as they were then. */
bool hiaJ_files_are_same(const hia_entry *entry);

#endif
