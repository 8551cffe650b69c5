/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Laid-out code: what an object file has for this process, linked as far as that is possible
 * without the addresses of the process. The compiler makes it (jit/llvm/link.c); load.c brings it
 * into a process, and knows no compiler.
 *
 * One would have the system's linker, or LLVM's, load the object file. But then a process that has
 * the file from elsewhere needs that linker too, and what is the same in every process is done
 * again in each.
 *
 * Loaded code has two parts, one mapping of memory:
 *
 *   code   machine code, .text first; the stubs through which it calls what is imported; constants.
 *          It is executed, and not written.
 *   data   from the next page on: constants that hold addresses, slots, variables. It is written. A
 *          slot is a word with an address that code needs.
 *
 * All offsets count from the start of .text. Code refers to either part
 * by distances, which are in its bytes. Addresses are in the data part alone: for each the laid-out
 * code has a row. So it is the same bytes wherever it is loaded, and loading writes into no page of
 * code.
 *
 * Laid-out code is a header, followed by rows, the bytes of names, and the bytes of the parts; in
 * the machine's byte order. The block has any alignment. */
#ifndef HIA_LOAD_H
#define HIA_LOAD_H

#include "runtime/run/error.h"

#define HIA_LAID_MAGIC "hia\x1c"
enum {
  HIA_LAID_VERSION = 1,
  HIA_LAID_PAGE = 4096, /* a multiple of the system's pages */
};

typedef struct hia_laid_code {
  char magic[4];
  uint16_t version, machine; /* HIA_ARCH_MACHINE */
  uint32_t abi;              /* HIA_RT_ABI */
  uint32_t text_size;        /* bytes of .text, the first of the code part */
  uint32_t code_size;        /* bytes of the code part */
  uint32_t data_size;        /* bytes of the data part when it is loaded */
  uint32_t data_given;       /* so many of them are here; the others are 0 */
  uint32_t n_relocations, n_imports, n_symbols;
  uint32_t names_size;
  uint32_t spare; /* 0 */
  /* Followed by the rows below, in the order of the counts; names, each with a NUL behind it; the
   * code part; the data part. */
} hia_laid_code;

/* A word of the data part that receives an address. */
typedef struct hia_laid_relocation {
  uint32_t at;     /* offset in the data part */
  uint32_t import; /* its number, or HIA_NONE */
  int64_t addend;  /* to the address of the import; of HIA_NONE: an offset in the loaded code */
} hia_laid_relocation;

/* A symbol of the runtime, or of the process. */
typedef struct hia_laid_import {
  uint32_t name;  /* offset in the names */
  uint32_t flags; /* HIA_IMPORT_ */
} hia_laid_import;
enum { HIA_IMPORT_OPTIONAL = 1 }; /* its address is 0 if there is no such symbol */

/* What the code offers. Sorted by name, each name once. */
typedef struct hia_laid_symbol {
  uint32_t name; /* offset in the names */
  uint32_t at;   /* offset in the loaded code */
} hia_laid_symbol;

/* The offset of the data part. */
static inline uint64_t hiaR_laid_data_at(const hia_laid_code *laid) {
  return ((uint64_t)laid->code_size + HIA_LAID_PAGE - 1) & ~(uint64_t)(HIA_LAID_PAGE - 1);
}
/* Bytes of the whole block. */
uint64_t hiaR_laid_size(const hia_laid_code *laid);

/* HIA_OK if the `size` bytes are laid-out code that can be loaded; else HIA_BAD_IMAGE. It is
 * checked that loading stays within the block and the mapping, not that the code is sound. */
hia_status hiaR_code_check(const void *bytes, size_t size);

/* ---- load.c ---- */

typedef struct hia_loaded_code hia_loaded_code;
/* Checks and loads laid-out code, which may then be freed. On failure sets *error if `error` is not
 * NULL: HIA_INTERNAL if the block is refused, or a symbol that it imports is not known, which the
 * error names; HIA_UNSUPPORTED if the system does not allow memory to be made executable;
 * HIA_MEMORY. Any thread. The allocator must outlive the code. */
hia_status hiaR_code_load(const hia_allocator *allocator, const void *bytes, size_t size,
                          hia_loaded_code **out, hia_error **error);
void hiaR_code_release(hia_loaded_code *code); /* or NULL */
/* The address of .text. */
uintptr_t hiaR_code_text(const hia_loaded_code *code);
/* The address of a symbol. False: the code has none of this name. */
bool hiaR_code_symbol(const hia_loaded_code *code, const char *name, uintptr_t *address);
/* True if these `size` bytes are all in the part that is written. */
bool hiaR_code_has(const hia_loaded_code *code, uintptr_t address, size_t size);
/* The i-th symbol. False: there are fewer. */
bool hiaR_code_symbol_at(const hia_loaded_code *code, uint32_t i, const char **name,
                         uintptr_t *address);

/* ---- symbols.c ---- */

/* The address of what generated code may refer to by this name: a row of abi.def, or what a row of
 * ops.def stands for. False: there is no such thing. Any thread. */
bool hiaR_runtime_symbol(const char *name, uintptr_t *address);

#endif
