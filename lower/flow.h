/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The blocks of an LLVM function and what leads where, read off once its passes are over. */
#ifndef HIA_FLOW_H
#define HIA_FLOW_H

#include "lower/emit.h"

typedef struct hia_block {
  LLVMBasicBlockRef ref;
  struct hia_block **next; /* its successors */
  bool *is_marked;         /* by successor; what for, each user says */
  unsigned n_next, at;     /* at: the successor that the search tries next */
  bool is_checked;         /* has a comparison with the limit (rounds.c) */
  bool was_seen, is_on_path;
} hia_block;

typedef struct hia_blocks {
  hia_block *data; /* by address */
  LLVMBasicBlockRef *order;
  unsigned n;
  hia_block **path; /* of a search, from where it began */
  unsigned n_path;
} hia_blocks;

hia_blocks hiaL_read_blocks(hia_arena *arena, LLVMValueRef function);
/* In the function's order, the same in every run. */
hia_block *hiaL_block_at(const hia_blocks *f, unsigned i);
void hiaL_go_on(hia_blocks *f, hia_block *b); /* makes b the last of the path */

/* How often a block calls it. */
unsigned hiaL_block_calls(const hia_block *b, LLVMValueRef callee);

/* ---- placement.c ---- */

/* Tells LLVM's code generator where the code of a function, and of its loops, is to lie. */
void hiaL_place(hia_comp *comp, LLVMContextRef llvm, LLVMValueRef function);

#endif
