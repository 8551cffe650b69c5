/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The control flow graph of an LLVM function, read after LLVM's passes: the C API has no analyses.
 */
#ifndef HIA_FLOW_H
#define HIA_FLOW_H

#include "lower/kit/emit.h"

typedef struct hia_flow_block {
  LLVMBasicBlockRef ref;
  struct hia_flow_block **next; /* its successors */
  bool *is_marked;              /* by successor; each user defines what the mark means */
  unsigned n_next, at;          /* at: the successor that the search tries next */
  bool is_checked;              /* has a safepoint (rounds.c) */
  bool was_seen, is_on_path;
} hia_flow_block;

typedef struct hia_blocks {
  hia_flow_block *data; /* by address */
  LLVMBasicBlockRef *order;
  unsigned n;
  hia_flow_block **path; /* of a search, from where it began */
  unsigned n_path;
} hia_blocks;

hia_blocks hiaL_read_blocks(hia_arena *arena, LLVMValueRef function);
/* Block i in the function's order. (The order of addresses differs from run to run.) */
hia_flow_block *hiaL_block_at(const hia_blocks *f, unsigned i);
void hiaL_go_on(hia_blocks *f, hia_flow_block *b); /* makes b the last of the path */

/* How many calls of `callee` a block has. */
unsigned hiaL_block_calls(const hia_flow_block *b, LLVMValueRef callee);

/* ---- placement.c ---- */

/* Sets alignment and branch weights, by which LLVM's code generator places blocks. */
void hiaL_hint_placement(hia_comp *comp, LLVMContextRef llvm, LLVMValueRef function);

#endif
