/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loaded code, as debuggers and profilers see it: GDB, by its interface for code that was made at
 * run time, and perf, by its map of symbols or its dump of code. What they are told is made of
 * outlines, frame tables and positions, so it is the same for code that was just compiled and for
 * code from a cache, and needs no compiler.
 *
 * One would let LLVM write its debug information, and hand that on. But it has numbers of locations
 * in the place of lines (lower/lower.h), and a cache would have to keep it.
 *
 *   debug.c     who is told what
 *   places.c    the rows of positions of a function
 *   dwarf.c     lines, functions and frames as DWARF
 *   gdb.c       symbol files in memory, and their registration
 *   perf.c      the two files of perf
 *   bytes.h     numbers in texts of bytes
 *   parts.h     what these files call of each other */
#ifndef HIA_DEBUG_H
#define HIA_DEBUG_H

#include "runtime/native/outline.h"
#include "runtime/native/tables.h"
#include "runtime/run/runtime.h"

/* Who is told: flags. */
enum {
  HIA_DEBUG_GDB = 1,      /* debuggers with GDB's interface */
  HIA_DEBUG_PERF_MAP = 2, /* /tmp/perf-PID.map */
  HIA_DEBUG_JITDUMP = 4,  /* jit-PID.dump */
};

/* Loaded code. All of it is read at once, and may be freed before the code. */
typedef struct hia_debug_code {
  uintptr_t text; /* the address of .text */
  const hia_outline *outline;
  const hia_tables *tables; /* NULL: no positions within functions are known */
  const hia_places *places;
} hia_debug_code;

/* Symbol files that are registered: a list, NULL if there are none. */
typedef struct hia_debug_symbols hia_debug_symbols;

enum { HIA_DEBUG_WHY = 512 };
/* Tells of code that was loaded. What has to go before the code goes is added to the list. Where a
 * part of it fails, such as creating a file, `why` says so, the first time; else it is "". Any
 * thread; the list is the caller's. The allocator must outlive the list. errno stays as it is. */
void hiaR_debug_show(const hia_allocator *allocator, const hia_debug_code *code, unsigned readers,
                     hia_debug_symbols **list, char why[HIA_DEBUG_WHY]);
/* Unregisters what is in the list, and empties it. Called before the code is released. */
void hiaR_debug_hide(hia_debug_symbols **list);

#endif
