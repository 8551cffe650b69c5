/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* An entry of the cache: native code of a function, with all that its runs need, as bytes.
 *
 * An entry holds no address. It is a table of sections, whose rows have the types that the
 * structure below says, in the machine's byte order, each at a multiple of 8 bytes. Reading copies
 * nothing: what is read points into the bytes. All offsets, counts and indices are checked first,
 * so what is read can be used however the bytes were altered; but that the machine code is the one
 * that was stored only the checksum of the store says.
 *
 * An entry has the whole of its key, which is compared. So that its name is a hash of the key can
 * never give the code of another program. */
#ifndef HIA_ENTRY_H
#define HIA_ENTRY_H

#include "runtime/native/outline.h"
#include "runtime/native/tables.h"

/* A file whose contents the code depends on: libraries of the compiler. */
typedef struct hia_entry_file {
  uint32_t path, spare; /* in the strings */
  uint64_t size;
  int64_t seconds, nanoseconds; /* when it was modified */
} hia_entry_file;

/* Numbers of the function. */
typedef struct hia_entry_facts {
  uint32_t flags; /* HIA_ENTRY_ */
  uint32_t root;  /* its number among the functions */
  uint32_t n_fns;
  uint32_t loc;
  uint32_t n_params, n_results; /* words */
  uint32_t opt_level, spare;
  uint64_t nodes, code_bytes, max_frame;
} hia_entry_facts;
enum { HIA_ENTRY_COUNTED = 1, HIA_ENTRY_PARAMS = 2, HIA_ENTRY_SHAPES = 4, HIA_ENTRY_SEGMENTS = 8 };

/* A function that a job may call: for timelines. */
typedef struct hia_entry_callee {
  uint32_t fn, name;
} hia_entry_callee;

/* A codegen unit. Entries of forks in its tables are numbers of functions, plus 1. */
typedef struct hia_entry_unit {
  const void *laid; /* load.h */
  size_t laid_size;
  const hia_tables *tables;
  size_t tables_size;
  const hia_outline *outline;
  size_t outline_size;
  const uint32_t *cells; /* by cell: the function of another unit that it is for */
  uint32_t n_cells;
  bool calls_host; /* it has a table of host functions */
} hia_entry_unit;

typedef struct hia_entry {
  const char *key;
  size_t key_size;
  const hia_entry_file *files;
  uint32_t n_files;
  const hia_entry_facts *facts;
  const hia_type *words;        /* n_params, then n_results */
  const uint32_t *result_names; /* by result: in the strings, or HIA_NONE */
  uint32_t n_result_names;      /* 0: there are no names */
  hia_type_table types;
  const hia_image_loc *locs;
  uint32_t n_locs;
  const uint32_t *origins; /* by location: that of the graph as it was built; NULL: not known */
  const char *loc_names;   /* that locations refer to */
  size_t loc_names_size;
  const uint32_t *externs; /* by number: its name, in the strings */
  uint32_t n_externs;
  const hia_entry_callee *callees;
  uint32_t n_callees;
  const char *strings; /* each with a NUL behind it */
  size_t strings_size;
  const hia_entry_unit *units;
  uint32_t n_units;
} hia_entry;

/* Writes an entry into new memory. HIA_MEMORY; HIA_UNSUPPORTED: it is larger than entries can be.
 */
hia_status hiaJ_entry_write(const hia_entry *entry, const hia_allocator *allocator, void **bytes,
                            size_t *size);
/* Reads an entry: `bytes` is 8-aligned and outlives it. The units are in the arena, which throws.
 * False: the bytes are no entry. */
bool hiaJ_entry_read(const void *bytes, size_t size, hia_arena *arena, hia_entry *entry);

#endif
