/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What hosts call: the module's record (runtime/native/module.h), and for each root its typed entry
 * and, if it can be one, its plain function; map entries are in map.c.
 *
 * They follow C's calling convention for scalars: a bool is a byte, of which only bit 0 is read.
 * They run on the host's stack, before and after the code that they call. No sanitizer instruments
 * them. */
#include "lower/host/host.h"
#include "lower/function/function.h"
#include "lower/object/object.h"
#include "runtime/native/module.h"

/* ---- the record ---- */

/* hia_code_root.types. */
static LLVMValueRef word_types(hia_emit *e, const hia_fn *fn) {
  if (!hiaG_exchanges_references(fn)) return LLVMConstNull(e->ptr);
  hia_type *types =
      HIA_NEW_ARRAY(&e->comp->scratch, hia_type, (size_t)fn->n_params + fn->n_results);
  memcpy(types, fn->params, fn->n_params * sizeof *types);
  memcpy(types + fn->n_params, fn->results, fn->n_results * sizeof *types);
  return hiaL_bytes(e, "hia_word_types", types,
                    ((size_t)fn->n_params + fn->n_results) * sizeof *types, sizeof *types);
}

/* HIA_CODE_FORKS is that of the module: which thread a fork is for depends on the run. */
static uint32_t flags_of(const hia_emit *e, hia_fn_id root) {
  return (e->graph.is_parallel ? HIA_CODE_FORKS : 0u) |
         (e->graph.facts.has_objects[root] ? HIA_CODE_OBJECTS : 0u) |
         (e->options->is_fuelled ? 0u : HIA_CODE_WITHOUT_FUEL);
}

static LLVMValueRef roots_table(hia_emit *e, uint32_t n) {
  LLVMValueRef *rows = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, n);
  uint32_t i = 0;
  LLVMTypeRef type = NULL;
  for (hia_fn_id f = 0; f < e->g->fns.len; f++) {
    const hia_fn *fn = hiaG_fn(e->g, f);
    if (fn->is_removed || !fn->is_root) continue;
    const hia_object_root *planned = hiaL_planned(e, f);
    uint32_t export = planned ? planned->export : i;
    LLVMValueRef entry = e->unit.fns[f].entry ? e->unit.fns[f].entry : LLVMConstNull(e->ptr);
    LLVMValueRef row[8] = {entry,
                           hiaL_number(e, 32, flags_of(e, f)),
                           hiaL_number(e, 32, export),
                           hiaL_number(e, 32, fn->n_params),
                           hiaL_number(e, 32, fn->n_results),
                           hiaL_number(e, 32, fn->loc),
                           hiaL_number(e, 32, 0),
                           word_types(e, fn)};
    rows[i] = hiaL_structure(e, row, 8);
    type = LLVMTypeOf(rows[i++]);
  }
  LLVMValueRef table = hiaL_variable(e, "hia_roots", LLVMConstArray2(type, rows, n));
  LLVMSetGlobalConstant(table, e->options->object != NULL); /* otherwise the engine fills it in */
  return table;
}

/* hia_code_module, field by field. */
static LLVMValueRef module_record(hia_emit *e, uint32_t n_roots) {
  LLVMValueRef none = LLVMConstNull(e->ptr), zero = hiaL_number(e, 64, 0), locs = NULL;
  bool is_object = e->options->object != NULL;
  LLVMValueRef unwinder[4] = {none, none, none, zero};
  LLVMValueRef places[7] = {none, none, none, none, zero, zero, zero};
  LLVMValueRef rest[HIA_RECORD_REST] = {none, zero, none, zero, none, none,
                                        none, none, none, none, none};
  LLVMValueRef fields[7 + HIA_RECORD_REST] = {
      hiaL_number(e, 32, HIA_RT_ABI),
      hiaL_number(e, 32,
                  (e->graph.is_parallel ? HIA_CODE_FORKS : 0u) |
                      (is_object && (e->options->object->types || e->g->params.len)
                           ? HIA_CODE_OBJECTS
                           : 0u) |
                      (e->options->fast_products ? HIA_CODE_FAST_PRODUCTS : 0u) |
                      (e->options->is_fuelled ? 0u : HIA_CODE_WITHOUT_FUEL)),
      hiaL_number(e, 32, n_roots),
      hiaL_number(e, 32, 0),
      roots_table(e, n_roots),
      is_object ? hiaL_object_unwinder(e, &locs) : hiaL_structure(e, unwinder, 4),
      is_object ? hiaL_object_places(e, locs) : hiaL_structure(e, places, 7)};
  if (is_object) hiaL_object_rest(e, rest);
  for (unsigned i = 0; i < HIA_RECORD_REST; i++) fields[7 + i] = rest[i];
  LLVMValueRef record =
      hiaL_variable(e, HIA_MODULE_NAME, hiaL_structure(e, fields, HIA_LEN(fields)));
  if (is_object) {
    LLVMSetLinkage(record, LLVMInternalLinkage); /* jit/llvm/elf.c finds it by name */
    return record;
  }
  LLVMSetGlobalConstant(record, false); /* filled in when the code is linked */
  LLVMSetLinkage(record, LLVMExternalLinkage);
  LLVMSetVisibility(record, LLVMProtectedVisibility);
  return record;
}

/* Parameters of the C function: the context if it takes one, the function's own, and pointers to
 * the results unless they are returned. Fuel is none of them. */
static LLVMTypeRef function_type(hia_emit *e, const hia_fn *fn, LLVMTypeRef result,
                                 bool has_context, bool has_pointers) {
  uint32_t n = 0, fuel = e->options->is_fuelled;
  LLVMTypeRef *params =
      HIA_NEW_ARRAY(&e->comp->scratch, LLVMTypeRef, (size_t)fn->n_params + fn->n_results + 1);
  if (has_context) params[n++] = e->ptr;
  for (uint32_t i = 0; i < fn->n_params - fuel; i++) params[n++] = hiaL_c_type(e, fn->params[i]);
  for (uint32_t i = 0; has_pointers && i < fn->n_results - fuel; i++) params[n++] = e->ptr;
  return LLVMFunctionType(result, params, n, false);
}

/* The code built between begin_store and end_store is skipped if the pointer is NULL. The block
 * that it returns is an argument of end_store. */
static LLVMBasicBlockRef begin_store(hia_emit *e, LLVMValueRef to) {
  LLVMBasicBlockRef store = hiaL_block(e, "store"), next = hiaL_block(e, "next");
  LLVMValueRef is_null = LLVMBuildICmp(e->b, LLVMIntEQ, to, LLVMConstNull(e->ptr), "");
  hiaL_unlikely(e, is_null, next, store);
  hiaL_at(e, store);
  return next;
}

static void end_store(hia_emit *e, LLVMValueRef to, LLVMValueRef value, hia_type t,
                      LLVMBasicBlockRef next) {
  LLVMBuildStore(e->b, hiaL_to_c(e, value, t), to);
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
}

/* The words behind the block of a call with values: the arguments again (pointers to values, and to
 * views of tensors, which are not looked at here), and for each result that
 * is a reference whether the caller wants it. */
static void give_values(hia_emit *e, const hia_fn *fn, LLVMValueRef f, LLVMValueRef block,
                        uint32_t n_params, uint32_t n_results) {
  uint32_t behind = fn->n_params + fn->n_results;
  for (uint32_t i = 0; i < n_params; i++)
    if (!hiaG_is_scalar(fn->params[i]))
      LLVMBuildStore(e->b, LLVMGetParam(f, i + 1), hiaL_word_at(e, block, behind + i));
  for (uint32_t i = 0; i < n_results; i++) {
    if (hiaG_is_scalar(fn->results[i])) continue;
    LLVMValueRef is_wanted = LLVMBuildIsNotNull(e->b, LLVMGetParam(f, 1 + n_params + i), "");
    LLVMBuildStore(e->b, LLVMBuildZExt(e->b, is_wanted, e->types[HIA_I64], ""),
                   hiaL_word_at(e, block, behind + fn->n_params + i));
  }
}

/* The types of the parameters and results of a root that has some which are no scalars. */
static void type_function(hia_emit *e, hia_fn_id id, uint32_t root, LLVMValueRef record,
                          const char *name) {
  LLVMTypeRef i64 = e->types[HIA_I64];
  LLVMValueRef f =
      hiaL_host_function(e, hiaG_fn(e->g, id), name, LLVMFunctionType(e->ptr, &i64, 1, false));
  LLVMValueRef args[3] = {record, hiaL_number(e, 32, root), LLVMGetParam(f, 0)};
  LLVMBuildRet(e->b, hiaL_call_abi(e, HIA_ABI_hiaR_root_type, args, 3));
}

static void typed_entry(hia_emit *e, hia_fn_id id, uint32_t root, LLVMValueRef record) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  const hia_object_root *planned = hiaL_planned(e, id);
  char name[HIA_ENTRY_NAME_SIZE];
  hiaL_host_name(name, HIA_HOST_TYPED, id);
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMValueRef f = hiaL_host_function(e, fn, planned ? planned->name : name,
                                      function_type(e, fn, i32, true, true));
  bool has_values = hiaG_exchanges_references(fn);
  uint64_t n_words = (uint64_t)fn->n_params + fn->n_results;
  LLVMTypeRef words = LLVMArrayType2(e->types[HIA_I64], has_values ? 2 * n_words : n_words);
  LLVMValueRef block = LLVMBuildAlloca(e->b, words, "block");
  bool is_fuelled = e->options->is_fuelled;
  uint32_t n_params = fn->n_params - is_fuelled, n_results = fn->n_results - is_fuelled;
  for (uint32_t i = 0; i < n_params; i++)
    hiaL_store_word(e, hiaL_word_at(e, block, i),
                    hiaL_from_c(e, LLVMGetParam(f, i + 1), fn->params[i]), fn->params[i]);
  if (has_values) give_values(e, fn, f, block, n_params, n_results);
  LLVMValueRef args[4] = {LLVMGetParam(f, 0), record, hiaL_number(e, 32, root), block};
  LLVMValueRef status = hiaL_call_abi(e,
                                      has_values   ? HIA_ABI_hiaR_enter_values
                                      : is_fuelled ? HIA_ABI_hiaR_enter_fuelled
                                                   : HIA_ABI_hiaR_enter,
                                      args, 4);
  /* In this order, because the code generator places blocks as they come: the usual path falls
   * through. */
  LLVMBasicBlockRef done = hiaL_block(e, "done");
  LLVMValueRef has_failed = LLVMBuildICmp(e->b, LLVMIntNE, status, LLVMConstNull(i32), "");
  LLVMBasicBlockRef start = LLVMGetInsertBlock(e->b);
  hiaL_at(e, done);
  for (uint32_t i = 0; i < n_results; i++) {
    hia_type t = fn->results[i];
    LLVMValueRef to = LLVMGetParam(f, 1 + n_params + i);
    LLVMBasicBlockRef next = begin_store(e, to);
    LLVMValueRef word = hiaL_load_word(e, hiaL_word_at(e, block, fn->n_params + i), t);
    end_store(e, to, word, t, next);
  }
  LLVMBuildRet(e->b, LLVMConstNull(i32));
  LLVMBasicBlockRef failed = hiaL_block(e, "failed");
  hiaL_at(e, failed);
  LLVMBuildRet(e->b, status);
  hiaL_at(e, start);
  hiaL_unlikely(e, has_failed, failed, done);
}

static void plain_function(hia_emit *e, hia_fn_id id) {
  const hia_fn *fn = hiaG_fn(e->g, id);
  bool returns = fn->n_results == 1;
  const hia_object_root *planned = hiaL_planned(e, id);
  char own[HIA_ENTRY_NAME_SIZE];
  hiaL_host_name(own, HIA_HOST_PLAIN, id);
  const char *name = planned ? planned->plain : own;
  LLVMTypeRef result = returns ? hiaL_c_type(e, fn->results[0]) : e->void_type;
  LLVMValueRef f = hiaL_host_function(e, fn, name, function_type(e, fn, result, false, !returns));
  if (returns && fn->results[0] == HIA_BOOL)
    hiaL_attribute(e, f, LLVMAttributeReturnIndex, "zeroext", 0);
  e->context = hiaL_no_context(e);
  hiaL_open_args(e);
  for (uint32_t i = 0; i < fn->n_params; i++)
    hiaR_push(&e->comp->scratch, &e->local.args, hiaL_from_c(e, LLVMGetParam(f, i), fn->params[i]));
  hiaL_open_scope(e, name, HIA_NONE);
  hiaL_set_debug_loc(e, HIA_NONE, false);
  LLVMValueRef call = hiaL_build_call(e, id);
  if (returns) {
    LLVMBuildRet(e->b, hiaL_to_c(e, call, fn->results[0]));
  } else {
    for (uint32_t i = 0; i < fn->n_results; i++) {
      LLVMValueRef to = LLVMGetParam(f, fn->n_params + i);
      LLVMBasicBlockRef next = begin_store(e, to);
      end_store(e, to, hiaL_result(e, call, fn->n_results, i), fn->results[i], next);
    }
    LLVMBuildRetVoid(e->b);
  }
  hiaL_no_debug_loc(e);
}

bool hiaL_is_plain(hia_emit *e, hia_fn_id root) {
  uint32_t levels;
  if (hiaG_fn(e->g, root)->is_removed || !hiaG_fn(e->g, root)->is_root) return false;
  const hia_object_root *planned = hiaL_planned(e, root);
  if (planned) return planned->plain != NULL;
  return !hiaG_not_plain(e->g, root, &e->comp->scratch, &levels);
}

static bool is_root(const hia_emit *e, hia_fn_id f) {
  return !hiaG_fn(e->g, f)->is_removed && hiaG_fn(e->g, f)->is_root;
}

/* The record, and what passes it to the runtime: the entries and `main`. */
static void entries(hia_emit *e, uint32_t n_roots) {
  LLVMValueRef record = module_record(e, n_roots);
  bool is_map = e->options->host == HIA_HOST_MAP;
  for (hia_fn_id f = 0, root = 0; f < e->g->fns.len; f++) {
    if (!is_root(e, f)) continue;
    const hia_object_root *planned = hiaL_planned(e, f);
    if (!is_map && (!planned || planned->name)) typed_entry(e, f, root, record);
    if (planned && planned->type) type_function(e, f, root, record, planned->type);
    if (is_map || (e->options->object && hiaL_has_map(e, f))) hiaL_map_entry(e, f, root, record);
    root++;
  }
  const hia_object_plan *plan = e->options->object;
  if (plan && plan->program != HIA_NONE) hiaL_object_main(e, record);
}

static void plain_functions(hia_emit *e) {
  for (hia_fn_id f = 0; f < e->g->fns.len; f++)
    if (hiaL_is_plain(e, f)) plain_function(e, f);
}

static void map_loops(hia_emit *e) {
  for (hia_fn_id f = 0; f < e->g->fns.len; f++)
    if (is_root(e, f) && hiaL_has_map(e, f) && !hiaG_exchanges_references(hiaG_fn(e->g, f)))
      hiaL_map_loop(e, f);
}

void hiaL_host_side(hia_emit *e) {
  hia_host_side side = e->options->host;
  uint32_t n_roots = 0;
  for (hia_fn_id f = 0; f < e->g->fns.len; f++) n_roots += is_root(e, f);
  if (side == HIA_HOST_NONE || n_roots == 0) return;
  /* An object's map entries are in the module with its record. */
  bool has_entries = side != HIA_HOST_PLAIN && (side != HIA_HOST_MAP || !e->options->object);
  if (has_entries) entries(e, n_roots);
  if (side == HIA_HOST_PLAIN) plain_functions(e);
  if (side == HIA_HOST_MAP) map_loops(e);
}
