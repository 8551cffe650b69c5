/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions, and calls of them.
 *
 * Results: none, a scalar, or a struct. swiftcc returns four integers and four floats in registers;
 * LLVM returns more through memory that the caller provides. Many results are a struct of structs,
 * because LLVM's sccp takes time with the cube of a struct's width, minutes for the thousand
 * results that the language allows, and does not look into inner structs. */
#include "lower/function/function.h"
#include "runtime/native/arch/arch.h"

enum { WIDTH = 16 }; /* of a struct of results, and of the inner structs if there are more */

static LLVMTypeRef result_type(hia_emit *e, const hia_fn *fn) {
  if (fn->n_results == 0) return e->void_type;
  if (fn->n_results == 1) return hiaL_type(e, fn->results[0]);
  LLVMTypeRef *types = HIA_NEW_ARRAY(&e->comp->scratch, LLVMTypeRef, fn->n_results);
  for (uint32_t i = 0; i < fn->n_results; i++) types[i] = hiaL_type(e, fn->results[i]);
  if (fn->n_results <= WIDTH) return LLVMStructTypeInContext(e->llvm, types, fn->n_results, false);
  uint32_t n = 0; /* of inner ones, which take the place of their parts */
  for (uint32_t i = 0; i < fn->n_results; i += WIDTH) {
    uint32_t width = fn->n_results - i < WIDTH ? fn->n_results - i : WIDTH;
    types[n++] = LLVMStructTypeInContext(e->llvm, types + i, width, false);
  }
  return LLVMStructTypeInContext(e->llvm, types, n, false);
}

LLVMValueRef hiaL_result(hia_emit *e, LLVMValueRef all, uint32_t n, uint32_t i) {
  if (n == 1) return all;
  if (n > WIDTH) all = LLVMBuildExtractValue(e->b, all, i / WIDTH, "");
  return LLVMBuildExtractValue(e->b, all, n > WIDTH ? i % WIDTH : i, "");
}

/* The results of the function as one value; they are the operands of its yield. */
static LLVMValueRef results(hia_emit *e, hia_node_id yield) {
  uint32_t n = hiaL_node(e, yield)->n_ins;
  LLVMTypeRef type = LLVMGetReturnType(e->unit.fns[e->id].type);
  LLVMValueRef all = LLVMGetPoison(type), inner = all;
  for (uint32_t i = 0; i < n; i++) {
    if (n > WIDTH && i % WIDTH == 0)
      inner = LLVMGetPoison(LLVMStructGetTypeAtIndex(type, i / WIDTH));
    inner = LLVMBuildInsertValue(e->b, inner, hiaL_in(e, yield, i), n > WIDTH ? i % WIDTH : i, "");
    if (n > WIDTH && (i % WIDTH == WIDTH - 1 || i == n - 1))
      all = LLVMBuildInsertValue(e->b, all, inner, i / WIDTH, "");
  }
  return n > WIDTH ? all : inner;
}

enum { HIDDEN = 1 }; /* parameters before a function's own: the context */

static void zero_extended(hia_emit *e, hia_fn_id id, LLVMValueRef function) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (fn->params[i] == HIA_BOOL) hiaL_attribute(e, function, i + HIDDEN + 1, "zeroext", 0);
  if (fn->n_results == 1 && fn->results[0] == HIA_BOOL)
    hiaL_attribute(e, function, LLVMAttributeReturnIndex, "zeroext", 0);
}

/* Switches off features of the machine that make code generation too slow for large functions. */
static void without_costly_features(hia_emit *e, LLVMValueRef f) {
  LLVMAddTargetDependentFunctionAttr(f, "target-cpu", e->options->cpu);
  LLVMAddTargetDependentFunctionAttr(
      f, "target-features",
      hiaR_arena_printf(&e->comp->scratch, "%s," HIA_ARCH_COSTLY_FEATURES, e->options->features));
}

/* True if the recursion of a function is linear: no path through it makes more than one call of its
 * group. If such a function only adds or multiplies on its way back, LLVM would make a loop of it.
 * Then the limit of depth has no effect, and an endless recursion never ends. Where there are two
 * calls, as in fib, one call remains and counts, and the loop is welcome. */
static bool is_linear(hia_emit *e, const hia_fn *fn) {
  if (!(fn->effects & HIA_E_RECURSIVE)) return false;
  enum { MANY = 2 };
  hia_mark mark = hiaR_arena_mark(&e->comp->scratch);
  uint8_t *calls = HIA_NEW_ARRAY(&e->comp->scratch, uint8_t, fn->regions.len);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = &fn->nodes.data[n];
    if (node->op != HIA_OP_CALL_I || HIA_IMM_B(node->imm) != 0) continue;
    hia_fn_id callee = e->g->sites.data[HIA_IMM_A(node->imm)].callee;
    if (hiaG_fn(e->g, callee)->group == fn->group && calls[node->region] < MANY)
      calls[node->region]++;
  }
  for (hia_region_id r = fn->regions.len - 1; r > 0; r--) {
    const hia_region *region = &fn->regions.data[r];
    uint8_t more = calls[r];
    switch ((hia_region_kind)region->kind) {
    case HIA_REGION_THEN: more = calls[r] > calls[r + 1] ? calls[r] : calls[r + 1]; break;
    case HIA_REGION_ELSE: more = 0; break; /* with its THEN */
    case HIA_REGION_HEAD: more = more ? MANY : 0; break;
    case HIA_REGION_ROUND:
    case HIA_REGION_BODY:
    case HIA_REGION_EACH: break; /* the latter: not in a static graph */
    }
    uint8_t *parent = &calls[region->parent];
    *parent = *parent + more < MANY ? (uint8_t)(*parent + more) : MANY;
  }
  bool is_one = calls[0] < MANY;
  hiaR_arena_release(&e->comp->scratch, mark);
  return is_one;
}

/* hia_native_entry. */
static LLVMValueRef declare_entry(hia_emit *e, hia_fn_id id) {
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_entry_name(name, id);
  LLVMTypeRef params[2] = {e->ptr, e->ptr};
  LLVMValueRef f = hiaL_add_named(e, name, LLVMFunctionType(e->void_type, params, 2, false));
  hiaL_serve_runtime(e, f);
  hiaL_attribute(e, f, 2, "swiftself", 0);
  return f;
}

static LLVMTypeRef type_of(hia_emit *e, const hia_fn *fn) {
  LLVMTypeRef *params =
      HIA_NEW_ARRAY(&e->comp->scratch, LLVMTypeRef, (size_t)fn->n_params + HIDDEN);
  params[0] = e->ptr;
  for (uint32_t i = 0; i < fn->n_params; i++) params[i + HIDDEN] = hiaL_type(e, fn->params[i]);
  return LLVMFunctionType(result_type(e, fn), params, fn->n_params + HIDDEN, false);
}

/* Other units find the code by a name that depends on the function's number only. */
static void export_code(hia_emit *e, hia_fn_id id, LLVMTypeRef type, LLVMValueRef f) {
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_code_name(name, id);
  LLVMValueRef alias = LLVMAddAlias2(e->module, type, 0, f, name);
  LLVMSetVisibility(alias, LLVMProtectedVisibility);
}

void hiaL_declare(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  LLVMTypeRef type = type_of(e, fn);
  LLVMValueRef f = LLVMAddFunction(
      e->module, hiaL_function_name(&e->comp->scratch, hiaG_fn(e->g, id)->name, id), type);
  e->unit.fns[id] = (hia_declared){type, f, NULL};
  /* What plain functions and kernels call: the runtime never enters it. */
  bool is_on_the_side = e->options->host == HIA_HOST_PLAIN || hiaL_is_for_kernels(e);
  if (!is_on_the_side && (fn->is_root || e->graph.facts.is_forked[id]))
    e->unit.fns[id].entry = declare_entry(e, id);
  if (is_on_the_side && e->options->object) LLVMSetSection(f, HIA_HOST_TEXT);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  if (e->graph.units->is_imported[id]) export_code(e, id, type, f);
  hiaL_common_attributes(e, f);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, f, 1, "swiftself", 0);
  zero_extended(e, id, f);
  if (hiaL_does(e, id, HIA_E_FORKS))
    hiaL_attribute(e, f, all, "noinline", 0); /* the numbers of its forks are its own */
  if (hiaL_does(e, id, HIA_E_FORKS | HIA_E_HOST) || hiaL_has_blocks(e->g, fn)) {
    /* AddressSanitizer would move what they keep in their frames, and the frame tables would be
     * wrong. */
    LLVMRemoveEnumAttributeAtIndex(f, all, LLVMGetEnumAttributeKindForName("sanitize_address", 16));
  }
  if (hiaG_is_large(fn)) without_costly_features(e, f);
  if (e->graph.facts.is_version[id])
    hiaL_attribute(e, f, all, "noinline", 0); /* the other version must not grow */
  if (hiaL_is_leaf(e, id)) return;
  if (hiaL_does(e, id, HIA_E_RAISES)) { /* backtraces need its frame */
    hiaL_attribute(e, f, all, "noinline", 0);
    LLVMAddTargetDependentFunctionAttr(f, "disable-tail-calls", "true");
  } else if (is_linear(e, fn)) {
    LLVMAddTargetDependentFunctionAttr(f, "disable-tail-calls", "true");
  }
}

/* ---- functions of other units ---- */

static void add_cell(hia_emit *e, hia_fn_id callee) {
  if (e->unit.is_wanted[callee] || e->unit.cell_of[callee]) return;
  hiaR_push(&e->comp->arena, &e->unit.cells, callee);
  e->unit.cell_of[callee] = e->unit.cells.len;
  e->unit.fns[callee].type = type_of(e, hiaG_fn(e->g, callee));
}

void hiaL_declare_cells(hia_emit *e) {
  e->unit.cell_of = HIA_NEW_ARRAY(&e->comp->scratch, uint32_t, e->g->fns.len);
  for (hia_fn_id f = 0; f < e->g->fns.len; f++) {
    if (!e->unit.is_wanted[f]) continue;
    const hia_fn *fn = hiaG_fn(e->g, f);
    if (hiaL_is_leaf(e, f)) {
      add_cell(e, fn->slow_path);
      continue;
    }
    for (hia_node_id n = 0; n < fn->nodes.len; n++) {
      const hia_node *node = &fn->nodes.data[n];
      if (node->op == HIA_OP_CALL_I) add_cell(e, e->g->sites.data[HIA_IMM_A(node->imm)].callee);
      if (node->op == HIA_OP_DEFER) add_cell(e, hiaG_callee(node));
    }
  }
  if (!e->unit.cells.len) return;
  e->unit.cell_table = hiaL_for_loader(e, HIA_CELLS, LLVMArrayType2(e->ptr, e->unit.cells.len));
}

/* The code of a function, to call it. */
static LLVMValueRef code_of(hia_emit *e, hia_fn_id callee) {
  LLVMValueRef function = e->unit.fns[callee].function;
  if (function) return function;
  LLVMValueRef index = hiaL_number(e, 64, e->unit.cell_of[callee] - 1);
  LLVMValueRef cell = LLVMBuildInBoundsGEP2(e->b, e->ptr, e->unit.cell_table, &index, 1, "cell");
  return LLVMBuildLoad2(e->b, e->ptr, cell, "code");
}

void hiaL_emit_MERGE_ENTRY(hia_emit *e, hia_node_id n) {
  uint32_t i = HIA_IMM_A(hiaL_node(e, n)->imm);
  hiaL_out(e, n, 0, LLVMGetParam(e->function, i + HIDDEN));
}

/* ---- calls ---- */

void hiaL_open_args(hia_emit *e) {
  e->local.args.len = 0;
  hiaR_push(&e->comp->scratch, &e->local.args, e->context);
}

LLVMValueRef hiaL_build_call(hia_emit *e, hia_fn_id callee) {
  const hia_fn *fn = hiaG_fn(e->g, callee);
  LLVMValueRef call = LLVMBuildCall2(e->b, e->unit.fns[callee].type, code_of(e, callee),
                                     e->local.args.data, e->local.args.len, "");
  LLVMSetInstructionCallConv(call, HIA_CC_SWIFT);
  hiaL_call_attribute(e, call, 1, "swiftself", 0);
  for (uint32_t i = 0; i < fn->n_params; i++)
    if (fn->params[i] == HIA_BOOL) hiaL_call_attribute(e, call, i + HIDDEN + 1, "zeroext", 0);
  if (fn->n_results == 1 && fn->results[0] == HIA_BOOL)
    hiaL_call_attribute(e, call, LLVMAttributeReturnIndex, "zeroext", 0);
  return call;
}

/* A leaf function begins again instead of the call. The values of the call must exist. */
static void restart_instead(hia_emit *e, const hia_site *site) {
  hiaL_restart(e);
  if (site->n_returns)
    hiaL_out(e, site->returns, 0, LLVMGetPoison(result_type(e, hiaG_fn(e->g, site->callee))));
}

LLVMValueRef hiaL_call_site(hia_emit *e, const hia_site *site) {
  bool polls = hiaG_polls(hiaG_fn(e->g, site->callee));
  hiaL_set_debug_loc(e, site->loc, site->is_tail);
  LLVMValueRef call = hiaL_build_call(e, site->callee);
  hiaL_no_debug_loc(e);
  /* Two merged calls would have one return address for two positions. */
  hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "nomerge", 0);
  /* If the callee were inlined, its calls would not say which forks of ours are open. */
  if (e->local.fork_frame && polls)
    hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  /* LLVM may make it a tail call, unless the callee has the address of something in our frame. */
  if (!hiaL_does(e, e->id, HIA_E_RAISES | HIA_E_FORKS))
    LLVMSetTailCallKind(call, LLVMTailCallKindTail);
  return call;
}

/* The last Call_i builds the call. Its value is put at the first Return_i, where the others find
 * it.
 */
void hiaL_emit_CALL_I(hia_emit *e, hia_node_id n) {
  const hia_site *site = &e->g->sites.data[HIA_IMM_A(hiaL_node(e, n)->imm)];
  if (hiaL_is_leaf(e, e->id)) {
    if (n + 1 == site->calls + site->n_calls) restart_instead(e, site);
    return;
  }
  hia_arena *arena = &e->comp->scratch;
  if (n == site->calls) hiaL_open_args(e);
  if (hiaL_node(e, n)->n_ins) hiaR_push(arena, &e->local.args, hiaL_in(e, n, 0));
  if (n + 1 != site->calls + site->n_calls) return;
  if (e->local.args.len != hiaG_fn(e->g, site->callee)->n_params + HIDDEN)
    HIA_BUG(e->comp, "%s: node %u calls with %u values", e->fn->name, n, e->local.args.len);
  /* Plain functions and kernels have no context. */
  bool has_runtime = e->options->host != HIA_HOST_PLAIN && !hiaL_is_for_kernels(e);
  bool is_each = hiaG_fn(e->g, site->callee)->is_freezing && e->id != site->callee && has_runtime;
  LLVMValueRef call = is_each ? hiaL_call_each(e, site) : hiaL_call_site(e, site);
  if (site->n_returns) hiaL_out(e, site->returns, 0, call);
}

void hiaL_emit_RETURN_I(hia_emit *e, hia_node_id n) {
  uint64_t imm = hiaL_node(e, n)->imm;
  const hia_site *site = &e->g->sites.data[HIA_IMM_A(imm)];
  if (site->n_returns == 1) return; /* the value is the call itself */
  /* The first Return_i holds the struct until the last result has been extracted. */
  LLVMValueRef call = e->values[hiaG_out(e->fn, site->returns, 0)];
  if (n == site->returns) return;
  hiaL_out(e, n, 0, hiaL_result(e, call, site->n_returns, HIA_IMM_B(imm)));
  if (n + 1 == site->returns + site->n_returns)
    hiaL_out(e, site->returns, 0, hiaL_result(e, call, site->n_returns, 0));
}

void hiaL_emit_YIELD(hia_emit *e, hia_node_id n) {
  uint32_t n_ins = hiaL_node(e, n)->n_ins;
  if (n_ins == 0)
    LLVMBuildRetVoid(e->b);
  else
    LLVMBuildRet(e->b, n_ins == 1 ? hiaL_in(e, n, 0) : results(e, n));
}
