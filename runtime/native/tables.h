/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Frame tables: what native code's return addresses stand for, in a form that does not depend on
 * where the code is loaded. The compiler makes them (jit/llvm/frames.c): in memory for code that
 * it has just compiled, as an ELF section of an object file.
 *
 * A header, followed by rows, in the machine's byte order. Every address in the code is an offset
 * from the start of .text. Rows are sorted by that offset; a row holds from there up to the next
 * row's. */
#ifndef HIA_TABLES_H
#define HIA_TABLES_H

#include "runtime/native/native.h"

typedef struct hia_tables { /* 8-aligned */
  uint32_t text_size;
  uint32_t max_frame; /* bytes of the largest frame */
  uint32_t anchor;    /* in an object: where hia_linked_tables.anchor is */
  uint32_t n_args, n_sites, n_maps, n_functions, n_frames, n_lines;
  uint32_t pad;
  /* Followed by hia_fork_arg, hia_fork_site, then the rows below, in the order of the counts. */
} hia_tables;

/* The forks of a function. */
typedef struct hia_table_map {
  uint32_t first_site, n_sites;
  uint32_t below, keeps_number; /* hia_fork_map */
} hia_table_map;

/* A function that forks. */
typedef struct hia_table_function {
  uint32_t pc, end;
  uint32_t map;
} hia_table_function;

typedef struct hia_table_frame {
  uint32_t pc;
  uint32_t size; /* bytes from the stack pointer to the frame's end, or HIA_NO_FRAME */
} hia_table_frame;
#define HIA_NO_FRAME UINT32_MAX

/* What a call at `pc` stands for. */
typedef struct hia_table_line {
  uint32_t pc;
  uint32_t loc;    /* location * 2, plus 1 for a tail call; or HIA_NONE */
  uint32_t number; /* of forks that are open: HIA_FORKS_ */
} hia_table_line;

size_t hiaR_tables_size(const hia_tables *tables);
hia_fork_site *hiaR_tables_sites(hia_tables *tables); /* n_sites of them */
/* True if these are tables of `size` bytes that can be read, of code with so many locations. The
 * entries of their sites are numbers of functions below n_fns, plus 1; or 0. */
bool hiaR_tables_check(const void *bytes, size_t size, uint32_t n_fns, uint32_t n_locs);
/* Finds the row of a return address of code whose .text lies at `text`. False: there is none. */
bool hiaR_tables_find(const hia_tables *tables, uintptr_t text, uintptr_t return_address,
                      hia_frame_row *row);

/* The rows of calls from offset `pc` on, *n of them. */
const hia_table_line *hiaR_tables_lines(const hia_tables *tables, uint32_t pc, uint32_t *n);

/* The tables of an object that was linked, and one address in its code. */
typedef struct hia_linked_tables {
  const hia_tables *tables;
  hia_native_entry anchor;
} hia_linked_tables;
/* hia_unwinder.find for them. */
bool hiaR_tables_unwind(void *linked_tables, uintptr_t return_address, hia_frame_row *row);

#endif
