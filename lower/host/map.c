/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Map entries: a root over the rows of columns, called from C as
 *
 *   hia_status NAME(hia_context *, size_t n, const double *x, const double *y, double *result)
 *
 * That function writes its columns into a block of words (module.h) and calls hiaR_enter_map, which
 * runs the root's *loop* on the context's stack. There are two kinds of loop:
 *
 *   - The rows of a root without recursion, loops and effects are a *kernel*: a loop without a
 *     context and without a safepoint, into which LLVM inlines the root. LLVM vectorises it if the
 *     root cannot fail. The map's loop calls the kernel for a chunk of rows at a time, and has a
 *     safepoint between two chunks. A kernel has no context to fail in: it returns the row that
 *     fails. The loop then calls the native entry for that row, which fails as in any run.
 *   - For any other root the loop calls the native entry for each row, with the words of that row
 *     in the block. The root has its own safepoints, and the loop has one in each round.
 *
 * The loop keeps the number of rows that it has written in the block, from which the runtime reads
 * which row has failed.
 *
 * A root with data or arrays in its signature has no loop: the runtime calls it for each row, with
 * the values of that row (runtime/native/values.c).
 *
 * A column of results may be a column of parameters. The runtime refuses columns that overlap in
 * any other way. So no row reads what another row writes, and an access group on the kernel's loads
 * and stores says so: LLVM then vectorises without comparing addresses, however many columns there
 * are. `noalias` would claim more than is true. */
#include "lower/function/function.h"
#include "lower/host/host.h"
#include "runtime/native/module.h"
#include <llvm-c/IRReader.h>

/* ---- which kind ---- */

/* A chunk is at least one vector of the narrowest type on most machines. */
enum { MIN_CHUNK = 16, MAX_CHUNK = 4096 };

/* How long a kernel may run, in cycles of the op table. The table knows no vectors, so this is
 * beyond what other code may take between two safepoints. */
enum { CHUNK_COST = 4 * HIA_MAX_UNPOLLED };

/* The runtime leaves room for a frame of HIA_MAP_FRAME bytes. A value takes up to 64 bytes there,
 * the widest vector. */
enum { MAX_VALUES = HIA_MAP_FRAME / 64 };

/* What one row of a function takes, with all that it calls. */
struct hia_row_work {
  uint64_t cost;   /* cycles of the op table */
  uint32_t values; /* an upper bound of those that are alive at once */
};

static struct hia_row_work row_work(const hia_emit *e, const hia_fn *fn) {
  struct hia_row_work work = {1, fn->values.len};
  uint32_t most = 0;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op != HIA_OP_CALL_I) {
      work.cost += hiaG_cost(fn, n);
      continue;
    }
    hia_fn_id callee = e->g->sites.data[HIA_IMM_A(node->imm)].callee;
    work.cost += e->unit.row_work[callee].cost;
    if (e->unit.row_work[callee].values > most) most = e->unit.row_work[callee].values;
  }
  /* Calls may double what they take at each level: neither sum may wrap around. */
  if (work.cost > CHUNK_COST) work.cost = CHUNK_COST + 1;
  work.values = work.values > MAX_VALUES ? MAX_VALUES + 1 : work.values + most;
  return work;
}

static const struct hia_row_work *row_work_of(hia_emit *e, hia_fn_id id) {
  if (!e->unit.row_work) {
    e->unit.row_work = HIA_NEW_ARRAY(&e->comp->scratch, struct hia_row_work, e->g->fns.len);
    for (hia_fn_id i = 0; i < e->g->fns.len; i++) { /* callees first */
      hia_fn_id f = e->graph.facts.order[i];
      if (!hiaG_fn(e->g, f)->is_removed) e->unit.row_work[f] = row_work(e, hiaG_fn(e->g, f));
    }
  }
  return &e->unit.row_work[id];
}

bool hiaL_has_map(const hia_emit *e, hia_fn_id root) {
  const hia_object_root *planned = hiaL_planned(e, root);
  return !e->options->object || (planned && planned->map);
}

/* True if a function that can be a kernel otherwise may fail. */
static bool can_fail(hia_emit *e, hia_fn_id id) {
  uint32_t levels;
  return hiaG_not_plain(e->g, id, &e->comp->scratch, &levels) != NULL;
}

bool hiaL_has_kernel(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  if (fn->is_removed || !fn->is_root || !hiaL_has_map(e, id) || hiaG_exchanges_references(fn))
    return false;
  /* With fuel what charges is called by its entry: a kernel has no fuel. */
  bool can_be =
      e->options->is_fuelled ? !can_fail(e, id) : hiaG_ends_soon(e->g, id, &e->comp->scratch);
  if (!can_be) return false;
  const struct hia_row_work *work = row_work_of(e, id);
  return work->cost <= CHUNK_COST / MIN_CHUNK && work->values <= MAX_VALUES;
}

/* How many rows a kernel runs at once, in whole vectors. */
static uint64_t chunk_of(hia_emit *e, hia_fn_id id) {
  uint64_t rows = CHUNK_COST / row_work_of(e, id)->cost;
  return rows > MAX_CHUNK ? MAX_CHUNK : rows / MIN_CHUNK * MIN_CHUNK;
}

/* ---- metadata ---- */

/* An access group is a distinct node without operands. LLVM's C API cannot make one, but its reader
 * of text can. */
static LLVMValueRef access_group(hia_emit *e, unsigned kind) {
  static const char text[] = "define i8 @f(ptr %p) {\n"
                             "  %x = load i8, ptr %p, !llvm.access.group !0\n"
                             "  ret i8 %x\n"
                             "}\n"
                             "!0 = distinct !{}\n";
  bool discards = LLVMContextShouldDiscardValueNames(e->llvm);
  LLVMContextSetDiscardValueNames(e->llvm, false); /* the reader requires names */
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRange(text, sizeof text - 1, "group", true);
  LLVMModuleRef module = NULL;
  char *message = NULL;
  LLVMBool is_wrong =
      LLVMParseIRInContext(e->llvm, buffer, &module, &message); /* owns the buffer */
  LLVMContextSetDiscardValueNames(e->llvm, discards);
  LLVMDisposeMessage(message);
  if (is_wrong) HIA_BUG(e->comp, "the text of an access group cannot be read");
  LLVMBasicBlockRef block = LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, "f"));
  LLVMValueRef group = LLVMGetMetadata(LLVMGetFirstInstruction(block), kind);
  LLVMDisposeModule(module); /* the node is the context's */
  return group;
}

/* Says of the loop that a branch closes: no access of the group depends on one of another round. */
static void set_parallel(hia_emit *e, LLVMValueRef branch, LLVMValueRef group) {
  static const char name[] = "llvm.loop.parallel_accesses";
  LLVMMetadataRef accesses[2] = {LLVMMDStringInContext2(e->llvm, name, sizeof name - 1),
                                 LLVMValueAsMetadata(group)};
  LLVMMetadataRef self = LLVMTemporaryMDNode(e->llvm, NULL, 0);
  LLVMMetadataRef parts[2] = {self, LLVMMDNodeInContext2(e->llvm, accesses, 2)};
  LLVMMetadataRef loop = LLVMMDNodeInContext2(e->llvm, parts, 2);
  LLVMMetadataReplaceAllUsesWith(self, loop); /* refers to itself, so that no two loops share it */
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->llvm, "llvm.loop", 9),
                  LLVMMetadataAsValue(e->llvm, loop));
}

/* ---- what both kinds of loop share ---- */

typedef struct columns {
  uint32_t n_params, n_results; /* without fuel */
  LLVMValueRef *at;             /* the pointers: of parameters, then of results */
} columns;

static uint32_t n_params(const hia_emit *e, const hia_fn *fn) {
  return fn->n_params - e->options->is_fuelled;
}

static uint32_t n_results(const hia_emit *e, const hia_fn *fn) {
  return fn->n_results - e->options->is_fuelled;
}

static columns load_columns(hia_emit *e, const hia_fn *fn, LLVMValueRef block) {
  columns c = {.n_params = n_params(e, fn), .n_results = n_results(e, fn)};
  uint32_t n = c.n_params + c.n_results;
  c.at = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, n);
  for (uint32_t i = 0; i < n; i++)
    c.at[i] = LLVMBuildLoad2(e->b, e->ptr, hiaL_word_at(e, block, HIA_MAP_COLUMNS + i), "column");
  return c;
}

static LLVMValueRef element(hia_emit *e, LLVMValueRef column, LLVMValueRef row, hia_type t) {
  return LLVMBuildInBoundsGEP2(e->b, hiaL_c_type(e, t), column, &row, 1, "element");
}

/* A loop while `row`, which begins with 0, is less than the number of rows. */
typedef struct rows {
  LLVMBasicBlockRef body, head, exit;
  LLVMValueRef row;
} rows;

static rows begin_rows(hia_emit *e, LLVMValueRef n) {
  rows r = {hiaL_block(e, "rows"), hiaL_block(e, "head"), hiaL_block(e, "exit"), NULL};
  LLVMBasicBlockRef start = hiaL_here(e);
  LLVMTypeRef i64 = e->types[HIA_I64];
  LLVMValueRef zero = LLVMConstNull(i64);
  LLVMBuildBr(e->b, r.head);
  hiaL_at(e, r.head);
  r.row = LLVMBuildPhi(e->b, i64, "row");
  LLVMAddIncoming(r.row, &zero, &start, 1);
  LLVMValueRef has_more = LLVMBuildICmp(e->b, LLVMIntULT, r.row, n, "");
  LLVMBuildCondBr(e->b, has_more, r.body, r.exit);
  hiaL_at(e, r.body);
  return r;
}

/* Ends a round after `next` rows. The builder is left behind the loop. */
static void end_rows(hia_emit *e, const rows *r, LLVMValueRef next) {
  LLVMBasicBlockRef here = hiaL_here(e);
  LLVMBuildBr(e->b, r->head);
  LLVMAddIncoming(r->row, &next, &here, 1);
  hiaL_at(e, r->exit);
}

/* The address of a word of the root's call. */
static LLVMValueRef word_of(hia_emit *e, const hia_fn *fn, uint32_t i) {
  return hiaL_word_at(e, LLVMGetParam(e->function, 0),
                      HIA_MAP_COLUMNS + n_params(e, fn) + n_results(e, fn) + i);
}

/* ---- kernels ---- */

/* int64_t kernel(block, begin, end): the rows from begin to end, at least one. Returns the row that
 * fails, or end. */
static LLVMTypeRef kernel_type(const hia_emit *e) {
  LLVMTypeRef params[3] = {e->ptr, e->types[HIA_I64], e->types[HIA_I64]};
  return LLVMFunctionType(e->types[HIA_I64], params, 3, false);
}

/* What the kernel's functions have for a context: a word that says whether the row has failed. LLVM
 * finds out that it is the kernel's own, and keeps it in a register. */
static LLVMValueRef failure_word(hia_emit *e) {
  LLVMValueRef word = LLVMBuildAlloca(e->b, e->types[HIA_I64], "has_failed");
  LLVMBuildStore(e->b, LLVMConstNull(e->types[HIA_I64]), word);
  return word;
}

static LLVMValueRef build_kernel(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  LLVMTypeRef i64 = e->types[HIA_I64];
  LLVMValueRef f = LLVMAddFunction(e->module, "hia_map_kernel", kernel_type(e));
  LLVMSetLinkage(f, LLVMInternalLinkage);
  if (e->options->object) LLVMSetSection(f, HIA_HOST_TEXT);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, f, all, "nounwind", 0);
  hiaL_attribute(e, f, all, "uwtable", 1);
  hiaL_attribute(e, f, all, "noinline", 0); /* the loop around it has a safepoint */
  LLVMAddTargetDependentFunctionAttr(f, HIA_KERNEL_ATTRIBUTE, "");
  LLVMAddTargetDependentFunctionAttr(f, "prefer-vector-width", "512");
  e->function = f;
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_no_debug_loc(e);
  bool fails = can_fail(e, id);
  e->context = fails ? failure_word(e) : hiaL_no_context(e);
  columns c = load_columns(e, fn, LLVMGetParam(f, 0));
  LLVMBasicBlockRef start = hiaL_here(e), loop = hiaL_block(e, "row"), exit = hiaL_block(e, "exit");
  LLVMBuildBr(e->b, loop);
  hiaL_at(e, loop);
  LLVMValueRef row = LLVMBuildPhi(e->b, i64, "row"), begin = LLVMGetParam(f, 1);
  LLVMAddIncoming(row, &begin, &start, 1);
  unsigned kind = LLVMGetMDKindIDInContext(e->llvm, "llvm.access.group", 17);
  LLVMValueRef group = access_group(e, kind);
  hiaL_open_args(e);
  for (uint32_t i = 0; i < c.n_params; i++) {
    hia_type t = fn->params[i];
    LLVMValueRef x = LLVMBuildLoad2(e->b, hiaL_c_type(e, t), element(e, c.at[i], row, t), "");
    LLVMSetMetadata(x, kind, group);
    hiaR_push(&e->comp->scratch, &e->local.args, hiaL_from_c(e, x, t));
  }
  /* A charge can fail, so a kernel has none and returns all fuel. */
  if (e->options->is_fuelled) hiaR_push(&e->comp->scratch, &e->local.args, LLVMConstNull(i64));
  hiaL_open_scope(e, LLVMGetValueName(f), HIA_NONE);
  hiaL_set_debug_loc(e, HIA_NONE, false);
  LLVMValueRef call = hiaL_build_call(e, id);
  /* Even if other functions of the module call it too, or without optimisation. */
  hiaL_call_attribute(e, call, all, "alwaysinline", 0);
  hiaL_no_debug_loc(e);
  LLVMValueRef stops[2] = {LLVMGetParam(f, 2), row};
  LLVMBasicBlockRef body = loop, from[2];
  if (fails) {
    LLVMValueRef word = LLVMBuildLoad2(e->b, i64, e->context, "has_failed");
    LLVMValueRef has_failed = LLVMBuildICmp(e->b, LLVMIntNE, word, LLVMConstNull(i64), "");
    body = hiaL_block(e, "results");
    from[1] = hiaL_here(e);
    hiaL_unlikely(e, has_failed, exit, body);
    hiaL_at(e, body);
  }
  for (uint32_t i = 0; i < c.n_results; i++) {
    hia_type t = fn->results[i];
    LLVMValueRef x = hiaL_to_c(e, hiaL_result(e, call, fn->n_results, i), t);
    LLVMValueRef store = LLVMBuildStore(e->b, x, element(e, c.at[c.n_params + i], row, t));
    LLVMSetMetadata(store, kind, group);
  }
  LLVMValueRef next = LLVMBuildNUWAdd(e->b, row, LLVMConstInt(i64, 1, false), "next");
  LLVMValueRef is_last = LLVMBuildICmp(e->b, LLVMIntEQ, next, LLVMGetParam(f, 2), "");
  set_parallel(e, LLVMBuildCondBr(e->b, is_last, exit, loop), group);
  LLVMAddIncoming(row, &next, &body, 1);
  from[0] = body;
  hiaL_at(e, exit);
  LLVMValueRef stop = LLVMBuildPhi(e->b, i64, "stop");
  LLVMAddIncoming(stop, stops, from, 1 + fails);
  LLVMBuildRet(e->b, stop);
  return f;
}

/* ---- loops ---- */

static LLVMTypeRef loop_type(const hia_emit *e) {
  LLVMTypeRef params[2] = {e->ptr, e->ptr};
  return LLVMFunctionType(e->void_type, params, 2, false);
}

/* The loop of a root. In an object it is defined in another module than the entry that refers to
 * it.
 */
static LLVMValueRef declare_loop(hia_emit *e, hia_fn_id id) {
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_map_loop_name(name, id);
  LLVMValueRef f = LLVMGetNamedFunction(e->module, name);
  if (f) return f;
  f = hiaL_add_named(e, name, loop_type(e));
  LLVMSetVisibility(f, LLVMHiddenVisibility);
  LLVMSetFunctionCallConv(f, HIA_CC_SWIFT);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, f, all, "nounwind", 0);
  hiaL_attribute(e, f, all, "uwtable", 1);
  hiaL_attribute(e, f, 2, "swiftself", 0);
  return f;
}

/* Calls the kernel for a chunk, or for the rows that are left. Returns the first row that is not
 * written. */
static LLVMValueRef do_chunk(hia_emit *e, hia_fn_id id, LLVMValueRef kernel, LLVMValueRef row,
                             LLVMValueRef n) {
  LLVMValueRef chunk = LLVMConstInt(e->types[HIA_I64], chunk_of(e, id), false);
  LLVMValueRef rest = LLVMBuildSub(e->b, n, row, "rest");
  LLVMValueRef is_less = LLVMBuildICmp(e->b, LLVMIntULT, rest, chunk, "");
  LLVMValueRef end =
      LLVMBuildAdd(e->b, row, LLVMBuildSelect(e->b, is_less, rest, chunk, ""), "end");
  LLVMValueRef args[3] = {LLVMGetParam(e->function, 0), row, end};
  return LLVMBuildCall2(e->b, kernel_type(e), kernel, args, 3, "stop");
}

/* Calls the native entry for a row. Returns the next row, whose fuel is what this one has left. */
static LLVMValueRef do_row(hia_emit *e, const hia_fn *fn, const columns *c, LLVMValueRef entry,
                           LLVMValueRef row) {
  for (uint32_t i = 0; i < c->n_params; i++) {
    hia_type t = fn->params[i];
    LLVMValueRef x = LLVMBuildLoad2(e->b, hiaL_c_type(e, t), element(e, c->at[i], row, t), "");
    hiaL_store_word(e, word_of(e, fn, i), hiaL_from_c(e, x, t), t);
  }
  LLVMValueRef args[2] = {word_of(e, fn, 0), LLVMGetParam(e->function, 1)};
  LLVMValueRef call = LLVMBuildCall2(e->b, loop_type(e), entry, args, 2, "");
  LLVMSetInstructionCallConv(call, HIA_CC_SWIFT);
  hiaL_call_attribute(e, call, 2, "swiftself", 0);
  for (uint32_t i = 0; i < c->n_results; i++) {
    hia_type t = fn->results[i];
    LLVMValueRef x = hiaL_load_word(e, word_of(e, fn, fn->n_params + i), t);
    LLVMBuildStore(e->b, hiaL_to_c(e, x, t), element(e, c->at[c->n_params + i], row, t));
  }
  if (e->options->is_fuelled) {
    LLVMValueRef left = hiaL_load_word(e, word_of(e, fn, fn->n_params + c->n_results), HIA_I64);
    hiaL_store_word(e, word_of(e, fn, c->n_params), left, HIA_I64);
  }
  return LLVMBuildNUWAdd(e->b, row, LLVMConstInt(e->types[HIA_I64], 1, false), "next");
}

void hiaL_map_loop(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  LLVMValueRef chunks = hiaL_has_kernel(e, id) ? build_kernel(e, id) : NULL;
  LLVMValueRef f = declare_loop(e, id), block = LLVMGetParam(f, 0);
  if (e->options->object) LLVMSetSection(f, HIA_HOST_TEXT);
  LLVMAddTargetDependentFunctionAttr(f, "no-realign-stack", "");
  e->function = f;
  e->context = LLVMGetParam(f, 1);
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_no_debug_loc(e);
  LLVMTypeRef i64 = e->types[HIA_I64];
  LLVMValueRef n = LLVMBuildLoad2(e->b, i64, hiaL_word_at(e, block, HIA_MAP_N), "n");
  LLVMValueRef row_at = hiaL_word_at(e, block, HIA_MAP_ROW), entry = NULL;
  columns c = {0};
  bool calls_entry = !chunks || can_fail(e, id);
  if (calls_entry) {
    entry = LLVMBuildLoad2(e->b, e->ptr, hiaL_word_at(e, block, HIA_MAP_ENTRY), "entry");
    c = load_columns(e, fn, block);
  }
  rows r = begin_rows(e, n);
  LLVMValueRef next = chunks ? do_chunk(e, id, chunks, r.row, n) : do_row(e, fn, &c, entry, r.row);
  if (chunks && calls_entry) { /* the kernel has written no row: this one fails */
    LLVMBasicBlockRef failing = hiaL_block(e, "failing"), written = hiaL_block(e, "written");
    LLVMBasicBlockRef from = hiaL_here(e);
    hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntEQ, next, r.row, ""), failing, written);
    hiaL_at(e, failing);
    LLVMValueRef alone = do_row(e, fn, &c, entry, r.row);
    LLVMBasicBlockRef end = hiaL_here(e);
    LLVMBuildBr(e->b, written);
    hiaL_at(e, written);
    LLVMValueRef either = LLVMBuildPhi(e->b, i64, "next");
    LLVMAddIncoming(either, &next, &from, 1);
    LLVMAddIncoming(either, &alone, &end, 1);
    next = either;
  }
  /* Volatile, because LLVM would move the store behind the loop: it cannot know of the safepoint,
   * which is inserted after its passes. */
  LLVMSetVolatile(LLVMBuildStore(e->b, next, row_at), true);
  end_rows(e, &r, next);
  LLVMBuildRetVoid(e->b);
}

/* ---- the function of C ---- */

/* The hia_map. */
static LLVMValueRef description(hia_emit *e, hia_fn_id id, uint32_t root) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  uint32_t n_in = n_params(e, fn), n_out = n_results(e, fn);
  char *dtypes = HIA_NEW_ARRAY(&e->comp->scratch, char, (size_t)n_in + n_out);
  for (uint32_t i = 0; i < n_in; i++) dtypes[i] = (char)hiaR_repr(fn->params[i]);
  for (uint32_t i = 0; i < n_out; i++) dtypes[n_in + i] = (char)hiaR_repr(fn->results[i]);
  LLVMValueRef list = hiaL_variable(e, "hia_map_dtypes",
                                    LLVMConstStringInContext2(e->llvm, dtypes, n_in + n_out, true));
  LLVMSetSection(list, HIA_HOST_RODATA);
  bool has_values = hiaG_exchanges_references(fn);
  LLVMValueRef fields[6] = {has_values ? LLVMConstNull(e->ptr) : declare_loop(e, id),
                            hiaL_number(e, 32, root),
                            hiaL_number(e, 32, n_in),
                            hiaL_number(e, 32, n_out),
                            hiaL_number(e, 32, 0),
                            list};
  return hiaL_variable(e, "hia_map", hiaL_structure(e, fields, 6));
}

_Static_assert(offsetof(hia_map, root) == 8 && offsetof(hia_map, n_params) == 12 &&
                   offsetof(hia_map, n_results) == 16 && offsetof(hia_map, dtypes) == 24 &&
                   sizeof(hia_map) == 32,
               "what is written here is not what the runtime reads");

void hiaL_map_entry(hia_emit *e, hia_fn_id id, uint32_t root, LLVMValueRef record) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  const hia_object_root *planned = hiaL_planned(e, id);
  LLVMTypeRef i64 = e->types[HIA_I64];
  uint32_t n = n_params(e, fn) + n_results(e, fn);
  LLVMTypeRef *types = HIA_NEW_ARRAY(&e->comp->scratch, LLVMTypeRef, (size_t)n + 2);
  types[0] = e->ptr;
  types[1] = i64;
  for (uint32_t i = 0; i < n; i++) types[2 + i] = e->ptr;
  char own[HIA_ENTRY_NAME_SIZE];
  hiaL_host_name(own, HIA_HOST_MAP, id);
  LLVMTypeRef type = LLVMFunctionType(e->types[HIA_I32], types, n + 2, false);
  LLVMValueRef f = hiaL_host_function(e, fn, planned ? planned->map : own, type);
  bool has_values = hiaG_exchanges_references(fn); /* a call has twice as many words then */
  uint64_t n_words = ((uint64_t)fn->n_params + fn->n_results) * (has_values ? 2 : 1);
  LLVMTypeRef words = LLVMArrayType2(i64, HIA_MAP_COLUMNS + n + n_words);
  LLVMValueRef block = LLVMBuildAlloca(e->b, words, "block");
  LLVMBuildStore(e->b, LLVMGetParam(f, 1), hiaL_word_at(e, block, HIA_MAP_N));
  for (uint32_t i = 0; i < n; i++)
    LLVMBuildStore(e->b, LLVMGetParam(f, 2 + i), hiaL_word_at(e, block, HIA_MAP_COLUMNS + i));
  LLVMValueRef args[4] = {LLVMGetParam(f, 0), record, description(e, id, root), block};
  LLVMBuildRet(e->b,
               hiaL_call_abi(e, has_values ? HIA_ABI_hiaR_enter_map_values : HIA_ABI_hiaR_enter_map,
                             args, 4));
}
