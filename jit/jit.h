/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The engine's interface to native code.
 *
 * jit/engine implements the public header and does not depend on LLVM. Native compilation is in a
 * library of its own, libhiaton_llvm. It exports one symbol, the table hiaJ_backend. The engine
 * opens it when the first function is compiled, from the directory of its own library; it must be
 * of the same version. */
#ifndef HIA_JIT_H
#define HIA_JIT_H

#include "graph/ir/graph.h"
#include "jit/cache/entry.h"
#include "lower/plan.h"
#include "runtime/native/module.h"
#include "runtime/native/units.h"
#include <hiaton/runtime.h>

typedef struct hia_session hia_session; /* an LLVM JIT: many programs over its life; thread-safe */
typedef struct hia_code hia_code;       /* one compiled graph */

typedef struct hia_compile_options {
  int level;            /* 0 .. 3 */
  bool unchecked;       /* leave out the check at function entry (for measurement only) */
  bool merge_calls;     /* equal calls of a function may be made once */
  bool fast_products;   /* HIA_CODE_FAST_PRODUCTS */
  bool is_parallel;     /* several workers may run the code */
  bool reuse;           /* rows with equal operands are computed once */
  bool begins_again;    /* its runs may have begun in the interpreter, or with batches */
  bool records_effects; /* they may begin again without batches */
  bool counts_bytes;    /* of the objects that it makes, for profiles; an object file never does */
  bool
      is_fuelled; /* roots take fuel, and give what is left: what a host comes in by sees to that */
  bool sanitize;  /* instrument for the sanitizer the library itself is built with */
  const hia_host_target *hosts; /* the host functions that the graph's externs are bound to; may be
                                   NULL if it has none */
  const hia_look *look; /* for compile, or NULL: it may end compiling before code generation, with
                           the status that it returns; once it is late, LLVM optimises no more */
} hia_compile_options;

typedef struct hia_compile_report {
  uint64_t emit_ns, optimize_ns,
      codegen_ns; /* lowering to IR, IR passes, machine code and linking */
  uint64_t code_bytes;
  uint32_t n_units; /* codegen units, graph/analysis/units.c */
  int level;        /* of code generation */
  bool is_cut;      /* the budget ended: less was optimised than `level` of the options says */
} hia_compile_report;

typedef enum hia_native_dump {
  HIA_DUMP_LLVM,           /* IR as lowered */
  HIA_DUMP_LLVM_OPTIMIZED, /* IR after the passes */
  HIA_DUMP_ASM,
} hia_native_dump;

/* Functions that fail set *error if `error` is not NULL, and return its status. */
typedef struct hia_backend {
  const char *version; /* must equal the engine's */
  hia_status (*open)(const hia_allocator *allocator, hia_session **out, hia_error **error);
  void (*close)(hia_session *session); /* all its code must have been released */
  /* Compiles a HIA_STATIC graph. The code refers to nothing of the graph afterwards. */
  hia_status (*compile)(hia_session *session, const hia_graph *g,
                        const hia_compile_options *options, hia_code **out,
                        hia_compile_report *report, hia_error **error);
  /* Returns the entry of a root, or of a function that is forked; else NULL. */
  hia_native_entry (*entry)(const hia_code *code, hia_fn_id f);
  /* Compiles what hosts call of a graph, of one side, to what a cache has of it, in the arena of
   * `comp`. It refers to nothing of this process but the runtime; whoever loads it fills in its
   * record (runtime/native/module.h). Plain functions are those of the roots that can
   * be ones (hiaG_not_plain). */
  hia_status (*host_side)(hia_session *session, const hia_graph *g,
                          const hia_compile_options *options, hia_host_side side, hia_comp *comp,
                          hia_entry_unit *out, hia_error **error);
  const hia_unwinder *(*unwinder)(const hia_code *code); /* without locs */
  /* The object file of one of the codegen units, as long as the code lives: relocatable, with
   * nothing of this process in it. NULL: there are fewer units. What hosts call has objects of its
   * own. */
  const void *(*object)(const hia_code *code, uint32_t unit, size_t *size);
  /* For a cache and for debuggers: what code of this graph consists of, in the arena of `comp`, to
   * which it may throw; where a fork calls a function the tables have its number, plus 1. False: it
   * cannot be taken apart. */
  bool (*units)(const hia_code *code, const hia_graph *g, hia_comp *comp,
                const hia_entry_unit **units, uint32_t *n);
  const hia_units *(*loaded)(const hia_code *code);
  void (*release)(hia_session *session, hia_code *code);
  /* Compiles a HIA_STATIC graph to an object file, of the session's allocator. ARGUMENT if there is
   * no such CPU. */
  hia_status (*build)(hia_session *session, const hia_graph *g, const hia_compile_options *options,
                      const hia_object_plan *plan, void **bytes, size_t *size, hia_error **error);
  hia_status (*dump)(hia_session *session, const hia_graph *g, const hia_compile_options *options,
                     hia_native_dump what, hia_text *out, hia_error **error);
} hia_backend;
extern const hia_backend hiaJ_backend;

#endif
