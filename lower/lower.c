/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* lower: makes the module, and lowers its functions one by one. It drives the emitters; nothing of
 * this file is used by them. */
#include "lower/function/function.h"
#include "lower/host/host.h"
#include "lower/ops/ops.h"
#include "runtime/native/arch/arch.h"
#include "runtime/run/error.h"
#include <llvm-c/Analysis.h>

static void open_debug_info(hia_emit *e) {
  const char *file = e->g->file && *e->g->file ? e->g->file : "-"; /* DWARF requires a name */
  e->unit.debug = LLVMCreateDIBuilder(e->module);
  e->unit.file = LLVMDIBuilderCreateFile(e->unit.debug, file, strlen(file), "", 0);
  LLVMDIBuilderCreateCompileUnit(e->unit.debug, LLVMDWARFSourceLanguageC, e->unit.file, "hiaton", 6,
                                 true, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false,
                                 false, "", 0, "", 0);
  e->unit.debug_type =
      LLVMDIBuilderCreateSubroutineType(e->unit.debug, e->unit.file, NULL, 0, LLVMDIFlagZero);
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMMetadataRef version =
      LLVMValueAsMetadata(LLVMConstInt(i32, LLVMDebugMetadataVersion(), false));
  LLVMMetadataRef dwarf = LLVMValueAsMetadata(LLVMConstInt(i32, 4, false));
  LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18, version);
  LLVMAddModuleFlag(e->module, LLVMModuleFlagBehaviorWarning, "Dwarf Version", 13, dwarf);
}

/* ---- the module ---- */

static void open_module(hia_emit *e) {
  LLVMContextRef c = e->llvm;
  e->module = LLVMModuleCreateWithNameInContext("hiaton", c);
  LLVMSetTarget(e->module, e->options->triple);
  LLVMSetDataLayout(e->module, e->options->data_layout);
  e->b = LLVMCreateBuilderInContext(c);
  e->types[HIA_BOOL] = LLVMInt1TypeInContext(c);
  e->types[HIA_I32] = LLVMInt32TypeInContext(c);
  e->types[HIA_I64] = LLVMInt64TypeInContext(c);
  e->types[HIA_F32] = LLVMFloatTypeInContext(c);
  e->types[HIA_F64] = LLVMDoubleTypeInContext(c);
  e->types[HIA_REPR_REF] = LLVMPointerTypeInContext(c, 0);
  e->void_type = LLVMVoidTypeInContext(c);
  e->ptr = LLVMPointerTypeInContext(c, 0);
  e->i8 = LLVMInt8TypeInContext(c);
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMMetadataRef weights[3] = {LLVMMDStringInContext2(c, "branch_weights", 14),
                                LLVMValueAsMetadata(LLVMConstInt(i32, 1, false)),
                                LLVMValueAsMetadata(LLVMConstInt(i32, 1u << 20, false))};
  e->unit.unlikely = LLVMMetadataAsValue(c, LLVMMDNodeInContext2(c, weights, 3));
  open_debug_info(e);
}

/* What every function begins with. */
static hia_emit_local new_local(void) {
  return (hia_emit_local){.path = {.is_bare = true},
                          .check = HIA_NONE,
                          .fuel_at = HIA_NONE,
                          .keeps_in = HIA_NONE,
                          .ended = HIA_NONE};
}

static void lower_function(hia_emit *e, hia_fn_id id) {
  hia_mark mark = hiaR_arena_mark(&e->comp->scratch);
  e->fn = hiaG_fn(e->g, id);
  e->id = id;
  e->function = e->unit.fns[id].function;
  e->context = LLVMGetParam(e->function, 0);
  e->values = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, e->fn->values.len);
  e->local = new_local();
  hiaL_open_scope(e, e->fn->name, e->fn->loc);
  e->local.check = hiaL_safepoint_region(e);
  e->local.back_run = hiaL_back_run(e);
  hiaL_at(e, hiaL_block(e, "entry"));
  if (hiaL_is_leaf(e, id)) hiaL_open_leaf(e);
  hiaL_body(e);
  if (hiaL_is_leaf(e, id)) hiaL_close_leaf(e);
  e->graph.paths[id] = e->local.path;
  if (e->unit.fns[id].entry) hiaL_entry(e, id);
  if (e->unit.fns[id].entry && e->graph.facts.is_forked[id]) hiaL_pays(e, id);
  e->local = new_local();
  hiaR_arena_release(&e->comp->scratch, mark);
}

/* Marks the functions that the module has: all of the unit, or for plain functions and kernels only
 * those that they call. None of these is recursive, so a walk against the order of functions meets
 * callers first. */
static void find_wanted(hia_emit *e) {
  const hia_graph *g = e->g;
  hia_host_side host = e->options->host;
  e->unit.is_wanted = HIA_NEW_ARRAY(&e->comp->scratch, bool, g->fns.len);
  for (hia_fn_id i = g->fns.len; i-- > 0;) {
    hia_fn_id f = e->graph.facts.order[i];
    const hia_fn *fn = hiaG_fn(g, f);
    if (fn->is_removed || host == HIA_HOST_TYPED) continue;
    if (e->graph.units->of[f] != e->unit.number) continue;
    e->unit.is_wanted[f] |= host == HIA_HOST_PLAIN ? hiaL_is_plain(e, f)
                            : host == HIA_HOST_MAP ? hiaL_has_kernel(e, f)
                                                   : true;
    bool is_partial = host == HIA_HOST_PLAIN || host == HIA_HOST_MAP;
    for (hia_node_id n = 0; is_partial && e->unit.is_wanted[f] && n < fn->nodes.len; n++)
      if (fn->nodes.data[n].op == HIA_OP_CALL_I)
        e->unit.is_wanted[g->sites.data[HIA_IMM_A(fn->nodes.data[n].imm)].callee] = true;
  }
}

static void lower(hia_emit *e) {
  static const char poll[] = HIA_ARCH_POLL;
  const hia_graph *g = e->g;
  open_module(e);
  LLVMAppendModuleInlineAsm(e->module, poll, sizeof poll - 1);
  find_wanted(e);
  e->unit.fns = HIA_NEW_ARRAY(&e->comp->scratch, hia_declared, g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    if (e->unit.is_wanted[f]) hiaL_declare(e, f);
  hiaL_declare_cells(e);
  for (hia_fn_id i = 0; i < g->fns.len; i++)
    if (e->unit.is_wanted[e->graph.facts.order[i]]) {
      hiaR_look(e->comp);
      lower_function(e, e->graph.facts.order[i]);
    }
  hiaL_write_own_entries(e);
  hiaL_write_counts(e);
  hiaL_write_forks(e);
  hiaL_host_side(e);
  hiaL_write_kept(e);
  LLVMDIBuilderFinalize(e->unit.debug);
}

/* ---- a lowering ---- */

struct hia_lowering {
  const hia_allocator *allocator;
  hia_comp comp;
  hia_lower_options options;
  hia_codegen_units units;
  hia_emit shared; /* what all units begin with */
  hia_mark arena, scratch;
  hia_u32vec cells; /* of the unit that was lowered last */
};

/* True if pass refs has run, or the graph has counts. Those of a text that a user wrote may be
 * wrong. */
static bool is_counted(const hia_graph *g) {
  if (g->is_read) return g->has_refs;
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    if (!hiaG_fn(g, f)->is_removed && hiaG_fn(g, f)->owns) return true;
  return hiaG_has_op(g, HIA_OP_DUP, HIA_OP_GIVE);
}

/* Marks, by type - HIA_FIRST_TYPE, the data types with objects that are filled in later. */
static bool *find_owing(hia_arena *arena, const hia_graph *g) {
  bool *owes = HIA_NEW_ARRAY(arena, bool, g->types->entries.len + 1);
  for (hia_fn_id f = 0; f < g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(g, f);
    for (hia_node_id n = 0; n < fn->nodes.len; n++)
      if (fn->nodes.data[n].op == HIA_OP_DATA_LATE)
        owes[hiaG_type(fn, fn->nodes.data[n].outs) - HIA_FIRST_TYPE] = true;
  }
  return owes;
}

static void analyse(hia_lowering *l) {
  hia_emit *e = &l->shared;
  const hia_graph *g = e->g;
  if (g->state != HIA_STATIC) HIA_BUG(e->comp, "only static graphs are lowered");
  e->graph.facts = hiaG_facts(&e->comp->scratch, g);
  e->graph.paths = HIA_NEW_ARRAY(&e->comp->scratch, hia_path, g->fns.len);
  for (hia_fn_id f = 0; f < g->fns.len; f++)
    e->graph.paths[f] = (hia_path){.bare = HIA_MAX_UNPOLLED_FN, .is_bare = true};
  for (hia_fn_id f = 0; f < g->fns.len; f++) e->graph.is_parallel |= hiaL_does(e, f, HIA_E_FORKS);
  e->graph.is_counted = is_counted(g);
  e->graph.notes_rows = hiaG_has_op(g, HIA_OP_DEFER, HIA_OP_DEFER);
  e->graph.is_parallel |= e->graph.notes_rows && l->options.is_parallel;
  e->graph.tests_addresses = g->is_read && hiaG_has_destinations(g);
  e->graph.owes = find_owing(&e->comp->scratch, g);
  e->graph.tests_pending = g->is_read && e->graph.notes_rows;
  l->units = l->options.is_one_unit ? hiaG_one_codegen_unit(&e->comp->scratch, g)
                                    : hiaG_codegen_units(&e->comp->scratch, g, &e->graph.facts);
  e->graph.units = &l->units;
  l->arena = hiaR_arena_mark(&e->comp->arena);
  l->scratch = hiaR_arena_mark(&e->comp->scratch);
}

/* A frame of its own for the handler: what it writes through pointers is as it was after a throw.
 */
static void try_analyse(hia_lowering *l) {
  if (HIA_TRY(&l->comp)) analyse(l);
}
static void try_lower(hia_emit *e) {
  if (HIA_TRY(e->comp)) lower(e);
}

hia_status hiaL_open(const hia_graph *g, const hia_lower_options *options,
                     const hia_allocator *allocator, hia_lowering **out, hia_error **error) {
  hia_lowering *l = *out = hiaR_alloc(allocator, sizeof *l);
  if (!l) return hiaR_fail_memory(allocator, error);
  l->allocator = allocator;
  l->options = *options;
  hiaR_comp_init(&l->comp, allocator);
  l->comp.look = options->look;
  l->shared = (hia_emit){.g = g, .options = &l->options, .comp = &l->comp};
  try_analyse(l);
  hia_status status = l->comp.status;
  if (!status) return HIA_OK;
  hiaR_fail_comp(allocator, error, &l->comp);
  hiaL_close(l);
  *out = NULL;
  return status;
}

void hiaL_close(hia_lowering *l) {
  if (!l) return;
  hiaR_comp_free(&l->comp);
  hiaR_free(l->allocator, l, sizeof *l);
}

const hia_codegen_units *hiaL_units(const hia_lowering *l) { return &l->units; }

const hia_u32vec *hiaL_cells(const hia_lowering *l) { return &l->cells; }

hia_status hiaL_lower(hia_lowering *l, uint32_t unit, LLVMContextRef llvm, LLVMModuleRef *out,
                      hia_error **error) {
  hiaR_arena_release(&l->comp.arena, l->arena);
  hiaR_arena_release(&l->comp.scratch, l->scratch);
  hia_emit e = l->shared;
  e.llvm = llvm;
  e.unit.number = unit;
  try_lower(&e);
  hia_status status = l->comp.status;
  if (e.b) LLVMDisposeBuilder(e.b);
  if (e.unit.debug) LLVMDisposeDIBuilder(e.unit.debug);
  if (status) {
    hiaR_fail_comp(l->allocator, error, &l->comp);
    if (e.module) LLVMDisposeModule(e.module);
    e.module = NULL;
  }
  *out = e.module;
  l->cells = e.unit.cells;
  return status;
}

hia_status hiaL_verify(LLVMModuleRef module, const hia_allocator *allocator, hia_error **error) {
  char *message = NULL;
  hia_status status = HIA_OK;
  if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
    status = hiaR_fail_text(allocator, error, HIA_INTERNAL, NULL, "LLVM's verifier: %s",
                            message ? message : "");
  LLVMDisposeMessage(message);
  return status;
}
