/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The outline of laid-out code: its functions, for debuggers and profilers, which want to know more
 * of it than hiaton itself. Frame tables (tables.h) are of what a run can end in; an outline is of
 * all functions, also those that run on the host's stack, and says where registers are saved. Like
 * laid-out code it does not depend on addresses. The compiler makes it (jit/llvm/outline.c).
 *
 * A header, followed by rows, call frame instructions, and names, in the machine's byte order. */
#ifndef HIA_OUTLINE_H
#define HIA_OUTLINE_H

#include "runtime/base/base.h"

typedef struct hia_outline { /* 4-aligned */
  uint32_t n_functions;
  uint32_t rules_size, names_size; /* bytes */
  uint32_t code_size;              /* of the code part: functions lie in it */
  /* Followed by n_functions of hia_outline_function; the call frame instructions; names, each with
   * a NUL behind it. */
} hia_outline;

/* Sorted by `pc`; no two overlap. */
typedef struct hia_outline_function {
  uint32_t pc, end; /* offsets from the start of .text */
  uint32_t loc;     /* where the program has it, in the graph's table of locations; or HIA_NONE */
  uint32_t name;    /* its offset in the names */
  /* Call frame instructions of DWARF, where they begin and how many bytes they have; 0 bytes: they
   * are not known. Before them the frame's end is 8 bytes above the stack pointer, and the return
   * address is below it; code is counted in bytes and data in -8 bytes. */
  uint32_t rules, rules_size;
} hia_outline_function;

/* Bytes of the whole outline. */
uint64_t hiaR_outline_size(const hia_outline *outline);
const hia_outline_function *hiaR_outline_functions(const hia_outline *outline);
const unsigned char *hiaR_outline_rules(const hia_outline *outline);
const char *hiaR_outline_names(const hia_outline *outline);
/* True if these `size` bytes are an outline of code of `code_size` bytes with so many locations. */
bool hiaR_outline_check(const void *bytes, size_t size, uint32_t code_size, uint32_t n_locs);

#endif
