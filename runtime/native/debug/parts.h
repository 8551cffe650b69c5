/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef HIA_DEBUG_PARTS_H
#define HIA_DEBUG_PARTS_H

#include "runtime/native/debug/debug.h"

/* ---- places.c ---- */

/* A position of the program. */
typedef struct hia_debug_place {
  const char *function, *file; /* never NULL */
  uint32_t line, col;          /* 0: not known */
  uint32_t outer;              /* the location of the call that it was inlined at, or HIA_NONE */
} hia_debug_place;
hia_debug_place hiaR_debug_place(const hia_places *places, uint32_t loc);
/* The name of the program's file. */
const char *hiaR_debug_file(const hia_places *places);

/* Where positions change: from `pc` on, up to the next row or the end of the function. */
typedef struct hia_debug_row {
  uint32_t pc;
  uint32_t loc; /* or HIA_NONE: not known */
} hia_debug_row;
/* The rows of a function, of which the first is at its begin. Where no position is known the row
 * has that of the function. In the arena, which throws. */
const hia_debug_row *hiaR_debug_rows(const hia_debug_code *code, const hia_outline_function *f,
                                     hia_arena *arena, uint32_t *n);

/* ---- dwarf.c ---- */

/* The sections .debug_line, .debug_abbrev, .debug_info and .debug_frame of code. All of them throw
 * to the text's arena. */
void hiaR_debug_line(const hia_debug_code *code, hia_text *out);
void hiaR_debug_abbrev(hia_text *out);
void hiaR_debug_info(const hia_debug_code *code, hia_text *out);
void hiaR_debug_frame(const hia_debug_code *code, hia_text *out);
/* .eh_frame of one function, and behind it .eh_frame_hdr, whose size is returned, for a place
 * behind the function's code, at a multiple of 8 bytes. */
size_t hiaR_debug_eh_frame(const hia_debug_code *code, const hia_outline_function *f,
                           hia_text *out);

/* ---- gdb.c ---- */

/* A symbol file of code. Throws to the text's arena. */
void hiaR_debug_symbol_file(const hia_debug_code *code, hia_text *out);
/* Registers a symbol file, of which it makes a copy. False: no memory. */
bool hiaR_debug_register(const hia_allocator *allocator, const hia_text *file,
                         hia_debug_symbols **list);

/* ---- perf.c ---- */

/* What stands in perf's files for code. Both throw to the text's arena. */
void hiaR_debug_map(const hia_debug_code *code, hia_text *out);
void hiaR_debug_dump(const hia_debug_code *code, hia_text *out);
/* Adds them to this process' files; NULL: nothing. `why` as for hiaR_debug_show. */
void hiaR_debug_write(const hia_text *map, const hia_text *dump, char why[HIA_DEBUG_WHY]);

#endif
