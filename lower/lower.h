/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* From the static graph to LLVM IR. Nothing here runs code.
 *
 * A section becomes one LLVM function. Calling convention: swiftcc, with the worker's context as
 * the `swiftself` parameter, so that it stays in one register (r13 on x86-64) through all calls;
 * scalar parameters and results travel in registers as far as they go, several results as a struct.
 * Every root has an entry besides, hia_native_entry of runtime.h, under the name hiaL_entry_name
 * gives.
 *
 * The module holds no addresses: it refers to functions of abi.def by name, and to the context
 * through the fields of layout.def. */
#ifndef HIA_LOWER_H
#define HIA_LOWER_H

#include "graph/analysis.h"
#include "graph/graph.h"
#include "lower/llvm_compat.h"
#include "lower/plan.h"
#include "runtime/host.h"

typedef enum hia_instrument {
  HIA_INSTRUMENT_NONE,
  HIA_INSTRUMENT_ASAN,
  HIA_INSTRUMENT_TSAN
} hia_instrument;

/* What is made besides, or instead, for a host to come in by. */
typedef enum hia_host_side {
  HIA_HOST_NONE,
  HIA_HOST_TYPED,  /* alone: the record and typed entries, addresses to be filled in */
  HIA_HOST_PLAIN,  /* alone: plain functions, and what they call */
  HIA_HOST_OBJECT, /* besides: the record, typed entries, `main` */
} hia_host_side;

typedef struct hia_lower_options {
  hia_host_side host;
  bool unchecked;   /* no comparisons with the limit */
  bool merge_calls; /* LLVM may make equal calls of a function that it finds to be pure once */
  hia_instrument instrument;
  /* By extern: what native code calls for it; of each the flags count, and nothing else. NULL: what
   * an extern that raises answers a status, and nothing takes user data. */
  const hia_host_target *hosts;
  bool names_hosts; /* externs are symbols of their names; else rows of HIA_HOST_TABLE */
  const char *triple, *data_layout, *cpu, *features; /* of the target */
  const hia_object_plan *object;                     /* NULL: code that is used at once */
  const hia_look *look; /* may end it, with the status that it returns; or NULL */
} hia_lower_options;

/* ---- lower.c ---- */

/* Lowers a HIA_STATIC graph. On failure there is no module, and a message in `error`. */
hia_status hiaL_lower(const hia_graph *g, const hia_lower_options *options,
                      const hia_allocator *allocator, LLVMContextRef llvm, LLVMModuleRef *out,
                      char *error, size_t error_size);
/* LLVM's verifier; false and a message if the module is broken. */
bool hiaL_verify(LLVMModuleRef module, char *error, size_t error_size);

/* ---- rounds.c ---- */

/* After the passes: puts comparisons with the limit into loops, and aligns them. */
hia_status hiaL_finish_loops(LLVMModuleRef module, bool unchecked, const hia_allocator *allocator,
                             char *error, size_t error_size);

/* An array of hia_host_row, one for each extern of the graph, that whoever loads the code fills in.
 */
#define HIA_HOST_TABLE "hia_hosts"

#define HIA_ENTRY_NAME_SIZE 32
void hiaL_entry_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id root);
/* The hia_fork_pays of a function that is forked, if it has one. */
void hiaL_pays_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id callee);
/* A root's typed entry; its plain function, if it can be one (hiaG_not_plain). */
void hiaL_typed_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id root);
void hiaL_plain_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id root);
#define HIA_MODULE_NAME "hia_module" /* the hia_code_module, of modules that have roots */
/* Functions that run on the host's stack, and constants that are not of the program's code, stand
 * in sections of their own: what C calls and reads of an object, and in any module what calls the
 * host. The program's own are .text and .rodata, the same bytes for the JIT and for a file. No
 * frame tables are needed of the others. */
#define HIA_HOST_TEXT   ".text.hia_host_context"
#define HIA_HOST_RODATA ".rodata.hia_host_context"

/* Calls carry the position they stand for as their line number, and which forks are open there
 * (HIA_FORKS_) as their column, in LLVM's debug locations: that is how a return address becomes a
 * row of the frame tables. Line 0 stands for no call of the source. */
static inline uint32_t hiaL_line(hia_loc_id loc, bool is_tail) {
  return loc < UINT32_MAX / 2 ? loc * 2 + is_tail + 1 : 0;
}
static inline hia_loc_id hiaL_line_loc(uint32_t line) { return line ? (line - 1) / 2 : HIA_NONE; }
static inline bool hiaL_line_is_tail(uint32_t line) { return line && (line - 1) % 2; }

/* The forks of a module, in a section of its own: 32-bit words of the machine. Three tables, each
 * with the number of its rows before it:
 *   functions   the first of its sites, their number, keeps_number; a function's index here is
 *               what its HIA_ARCH_FRAME is numbered with
 *   sites       around, index, n_params, n_results, the callee, the first of its arguments
 *   arguments   word, dtype, the lower half of the addend, the upper one
 * as in runtime/native/fork.h. */
#define HIA_FORK_SECTION ".hia_forks"
enum { HIA_FORK_FUNCTION_WORDS = 3, HIA_FORK_SITE_WORDS = 6, HIA_FORK_ARG_WORDS = 4 };

#endif
