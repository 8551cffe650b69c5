/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* From the static graph to LLVM IR. Nothing here runs code.
 *
 * A section becomes one LLVM function. Its calling convention is swiftcc, with the worker's context
 * as the `swiftself` parameter, so that the context stays in one register (r13 on x86-64) through
 * all calls. Scalar parameters and results are passed in registers as far as there are enough;
 * several results are a struct. Every root also has an entry, a hia_native_entry
 * (runtime/native/native.h) with the name that hiaL_entry_name writes.
 *
 * One would expect the addresses of the runtime in the code, since it often runs at once. But the
 * same module becomes an object file. So it holds no addresses: it refers to functions of abi.def
 * by name, and to the context through the fields of layout.def.
 *
 * A graph is only read. All state is that of the hia_lowering, so several threads may lower at
 * once, each with a lowering and an LLVM context of its own.
 *
 * Within a codegen unit (graph/analysis/units.c) calls are direct. A call of another unit's
 * function goes through a cell: a word of the calling module's data that holds the address of the
 * callee's code. One would keep the cells in a table of the worker's context; that costs one more
 * load for each call, and buys nothing while all workers run the same code.
 *
 * The rooms build on each other in this order: kit, the state and what all emitters share; ops, an
 * emitter for each op; fused, kernels over elements; function, which walks over the nodes; object,
 * the tables of an object file; host, what hosts call; finish, what is changed after LLVM's passes.
 * No file calls one that calls it. An emitter cannot call the dispatcher, which knows them all. */
#ifndef HIA_LOWER_H
#define HIA_LOWER_H

#include "graph/analysis/analysis.h"
#include "graph/ir/graph.h"
#include "lower/kit/llvm_compat.h"
#include "lower/plan.h"
#include "runtime/host/host.h"
#include "runtime/native/units.h"
#include <hiaton/runtime.h>

typedef enum hia_instrument {
  HIA_INSTRUMENT_NONE,
  HIA_INSTRUMENT_ASAN,
  HIA_INSTRUMENT_TSAN
} hia_instrument;

typedef struct hia_lower_options {
  hia_host_side host;
  bool is_one_unit;     /* the whole graph is one codegen unit */
  bool unchecked;       /* no safepoints */
  bool is_fuelled;      /* of the host side: the last parameter and result of each root are fuel */
  bool merge_calls;     /* LLVM may merge equal calls of a function that it finds to be pure */
  bool fast_products;   /* HIA_CODE_FAST_PRODUCTS */
  bool is_parallel;     /* several workers may run the code */
  bool reuse;           /* rows with equal operands are computed once (native/batch/batch.h) */
  bool begins_again;    /* its runs may have begun in the interpreter (runtime/host/effects.h) */
  bool records_effects; /* they may begin again: each impure function is called by the runtime */
  bool counts_bytes;    /* the bytes of all objects that it makes (hia_local_heap.left) */
  hia_instrument instrument;
  /* By extern: what native code calls for it; only the flags are read. NULL: externs that raise
   * return a status, and none takes user data. */
  const hia_host_target *hosts;
  bool names_hosts; /* externs are symbols of their names; else rows of HIA_HOST_TABLE */
  const char *triple, *data_layout, *cpu, *features; /* of the target */
  bool has_fma;                                      /* the target has fused multiply-add */
  const hia_object_plan *object;                     /* NULL: code that is used at once */
  const hia_look *look; /* called during lowering, which ends with the status it throws; or NULL */
} hia_lower_options;

/* ---- lower.c ---- */

/* The lowering of a HIA_STATIC graph, which it only reads. One thread at a time. Functions that
 * fail set *error if `error` is not NULL, and return its status; after a failure of hiaL_lower only
 * hiaL_close may follow. */
typedef struct hia_lowering hia_lowering;
hia_status hiaL_open(const hia_graph *g, const hia_lower_options *options,
                     const hia_allocator *allocator, hia_lowering **out, hia_error **error);
void hiaL_close(hia_lowering *lowering); /* or NULL */
/* The codegen units, one LLVM module each. Code for this process may have several; an object, and
 * what hosts call, is one. */
const hia_codegen_units *hiaL_units(const hia_lowering *lowering);
/* Lowers a unit. Units are lowered in the order of their numbers, because callers depend on how
 * long their callees run without a poll. The module is the caller's. On failure *out is NULL. */
hia_status hiaL_lower(hia_lowering *lowering, uint32_t unit, LLVMContextRef llvm,
                      LLVMModuleRef *out, hia_error **error);
/* What the unit that was lowered last calls in other units: the loader puts the address of each
 * function's code (hiaL_code_name) into the word of HIA_CELLS that has its index here. Valid until
 * the next unit is lowered. */
const hia_u32vec *hiaL_cells(const hia_lowering *lowering);
/* Runs LLVM's verifier. Returns HIA_INTERNAL if the module is broken. */
hia_status hiaL_verify(LLVMModuleRef module, const hia_allocator *allocator, hia_error **error);

/* ---- finish/rounds.c ---- */

/* Runs after LLVM's passes: puts safepoints into loops, and aligns the loops. */
hia_status hiaL_finish_loops(LLVMModuleRef module, bool unchecked, const hia_allocator *allocator,
                             hia_error **error);

/* ---- kit/symbols.c: names that the loader of the code looks for ---- */

#define HIA_ENTRY_NAME_SIZE 32
/* Writes the name of the entry of a root, or of a function that is forked. */
void hiaL_entry_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id root);
/* Writes the name of the code of a function that other units call. */
void hiaL_code_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id f);
/* Writes the name of the hia_fork_pays of a function that is forked. */
void hiaL_pays_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id callee);
/* Writes the name of what a host calls for a root: its function of this side. */
void hiaL_host_name(char name[HIA_ENTRY_NAME_SIZE], hia_host_side side, hia_fn_id root);
/* Writes the name of the loop that a root's map entry runs. */
void hiaL_map_loop_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id root);
/* The name of a function of the graph, in the arena. The number makes it unique. */
const char *hiaL_function_name(hia_arena *arena, const char *graph_name, hia_fn_id id);
#define HIA_HOST_CALL_SYMBOL "hia_host_call_" /* N: calls host function N */
/* An attribute of functions without a context and with short loops: these get no safepoint. */
#define HIA_KERNEL_ATTRIBUTE "hia-kernel"
/* Functions that run on the host's stack, and constants that are not the program's, are in ELF
 * sections of their own: what C calls and reads in an object, and in any module the functions that
 * call the host. The program's own code and constants are in .text and .rodata, the same bytes for
 * the JIT and for a file. Only they need frame tables. */
#define HIA_HOST_TEXT   ".text.hia_host_context"
#define HIA_HOST_RODATA ".rodata.hia_host_context"

/* ---- function/: debug locations of calls, and the table of forks ---- */

/* LLVM's debug location of a call has the call's hia_loc_id as its line number, and the forks that
 * are open there (HIA_FORKS_) as its column. From it the frame tables get their row for the return
 * address. Line 0: no call of the source. */
static inline uint32_t hiaL_line(hia_loc_id loc, bool is_tail) {
  return loc < UINT32_MAX / 2 ? loc * 2 + is_tail + 1 : 0;
}
static inline hia_loc_id hiaL_line_loc(uint32_t line) { return line ? (line - 1) / 2 : HIA_NONE; }
static inline bool hiaL_line_is_tail(uint32_t line) { return line && (line - 1) % 2; }

/* The table of a module's forks, in an ELF section of its own: 32-bit words in the machine's byte
 * order. It has three parts, each preceded by the number of its rows: functions   the first of its
 * sites, their number, keeps_number; HIA_ARCH_FRAME refers to a function by its row here sites
 * around, index, n_params, n_results, the callee, the first of its arguments arguments   word,
 * hia_repr and hia_fork_handing (in the upper half), the lower half of the addend, the upper one as
 * in runtime/native/fork.h. */
#define HIA_FORK_SECTION ".hia_forks"
enum { HIA_FORK_FUNCTION_WORDS = 3, HIA_FORK_SITE_WORDS = 6, HIA_FORK_ARG_WORDS = 4 };

#endif
