/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The native code of a graph in this process: its codegen units, loaded (load.h), whether the
 * compiler has just made them or a cache had them.
 *
 * When all units are loaded, the cells through which one calls another receive their addresses, and
 * their frame tables become one unwinder. */
#ifndef HIA_UNITS_H
#define HIA_UNITS_H

#include "runtime/host/host.h"
#include "runtime/native/load.h"
#include "runtime/native/tables.h"

/* Symbols of a unit, by which what is in it is found. N: the number of a function. */
#define HIA_ENTRY_SYMBOL "hia_entry_" /* N: its hia_native_entry */
#define HIA_PAYS_SYMBOL  "hia_pays_"  /* N: the hia_fork_pays of its forks */
#define HIA_CODE_SYMBOL  "hia_code_"  /* N: its code, which other units call */
#define HIA_CELLS        "hia_cells"  /* words that receive the code of functions of other units */
#define HIA_HOST_TABLE   "hia_hosts"  /* a hia_host_row for each extern */
#define HIA_MODULE_NAME  "hia_module" /* the hia_code_module of code that hosts call */

/* Addresses of a function's entry, of its predicate that decides whether a fork of the function
 * pays, and of its code if other units call it; 0: it has none. In an object that is not loaded
 * they are offsets in .text, plus 1. */
typedef struct hia_entry_at {
  uint64_t entry, pays, code;
} hia_entry_at;
/* The word in which the address of a symbol is kept; NULL: the symbol is none of these. */
uint64_t *hiaR_entry_word(const char *symbol, hia_entry_at *entries, size_t n);

/* A unit that is to be loaded. */
typedef struct hia_unit_code {
  const void *laid; /* NULL: it is never called */
  size_t laid_size;
  const uint32_t *cells; /* by cell: the function of another unit that it is for */
  uint32_t n_cells;
  bool calls_host; /* it has a HIA_HOST_TABLE */
  /* Finds rows of its frames; `text` is the address at which it was loaded. */
  bool (*find)(void *user, uintptr_t text, uintptr_t return_address, hia_frame_row *row);
  void *user;
} hia_unit_code;

typedef struct hia_units hia_units;
/* Loads the units of a graph with `n_fns` functions and `n_hosts` externs, which are bound to
 * `hosts`. What `units` points to may be freed afterwards, except what `find` uses. Errors are
 * those of hiaR_code_load; HIA_INTERNAL, too, if a unit lacks what another one refers to. */
hia_status hiaR_units_load(const hia_allocator *allocator, const hia_unit_code *units, uint32_t n,
                           size_t n_fns, const hia_host_target *hosts, uint32_t n_hosts,
                           hia_units **out, hia_error **error);
void hiaR_units_release(hia_units *units); /* or NULL */
/* By function: n_fns of them. */
hia_entry_at *hiaR_units_entries(const hia_units *units);
/* The address of unit i; 0: it was not loaded. */
uintptr_t hiaR_units_text(const hia_units *units, uint32_t i);
/* hia_unwinder.find; `user` is the hia_units. */
bool hiaR_units_find(void *units, uintptr_t return_address, hia_frame_row *row);

#endif
