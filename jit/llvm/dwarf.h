/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* dwarf.c: reading what LLVM wrote into an object file for debuggers and unwinders: bytes, numbers,
 * and .eh_frame, function by function. */
#ifndef HIA_DWARF_H
#define HIA_DWARF_H

#include "jit/llvm/backend.h"

/* A cursor over bytes. Reading past the end gives zeros and sets `bad`. */
typedef struct hia_cursor {
  const unsigned char *at, *end;
  bool bad;
} hia_cursor;
hia_cursor hiaJ_cursor(const hia_elf_section *section);
uint64_t hiaJ_fixed(hia_cursor *c, unsigned n); /* of n bytes */
uint64_t hiaJ_uleb(hia_cursor *c);
int64_t hiaJ_sleb(hia_cursor *c);
void hiaJ_skip(hia_cursor *c, uint64_t n);
/* The next n bytes as a cursor of their own. */
hia_cursor hiaJ_slice(hia_cursor *c, uint64_t n);

/* What the functions behind it have in common. */
typedef struct hia_cie {
  uint64_t code_align;
  int64_t data_align;
  uint64_t return_register;
  bool has_augmentation;
  hia_cursor initial; /* call frame instructions */
} hia_cie;

/* A function. */
typedef struct hia_fde {
  hia_cie cie;
  uint32_t section;  /* number of the ELF section that it is in */
  uint64_t pc, size; /* its begin in that section; bytes */
  hia_cursor rules;  /* call frame instructions, behind those of the CIE */
} hia_fde;

/* A reader of .eh_frame. */
typedef struct hia_eh_frame {
  const hia_object *object;
  hia_cursor c;
  hia_cie cie;
  bool has_cie;
  const unsigned char *cie_at;
  uint64_t relocation; /* the next */
  bool is_bad;         /* a part of it was not understood, and left out */
} hia_eh_frame;
hia_eh_frame hiaJ_eh_frame(const hia_object *object);
/* False: there are no more. */
bool hiaJ_eh_frame_next(hia_eh_frame *reader, hia_fde *fde);

#endif
