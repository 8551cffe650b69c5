/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls of functions of the host.
 *
 * One would call them like any C function. But a host function may need more stack than the
 * engine's stacks have. So only those that are registered as safe are called directly. For each of
 * the others the module has a function, its hia_host_call, that reads the arguments from a block of
 * words, calls, and writes the results behind them. The runtime calls it on the thread's stack. The
 * block is in the caller's frame; all calls of a function share one block. */
#include "lower/function/function.h"
#include "runtime/image/image.h"
#include <stdio.h>

struct hia_host_emit {
  LLVMTypeRef type;    /* of the C function */
  LLVMValueRef symbol; /* of its name, or NULL */
  LLVMValueRef call;   /* the hia_host_call, once there is one */
  LLVMValueRef name;   /* its name as a string, once it is needed */
};

static const hia_extern *extern_at(const hia_emit *e, uint32_t number) {
  return &e->g->externs.data[number];
}

static hia_host_target target_of(const hia_emit *e, uint32_t number) {
  if (e->options->hosts) return e->options->hosts[number];
  return (hia_host_target){.returns_status = extern_at(e, number)->raises};
}

/* True if the extern returns its results through pointers. */
static bool by_pointer(const hia_emit *e, uint32_t number) {
  return target_of(e, number).returns_status || extern_at(e, number)->n_results != 1;
}

/* ---- values in memory, as C has them ---- */

static LLVMValueRef load_value(hia_emit *e, LLVMValueRef at, hia_type t) {
  if (t != HIA_BOOL) return LLVMBuildLoad2(e->b, hiaL_type(e, t), at, "");
  LLVMValueRef byte = LLVMBuildLoad2(e->b, e->i8, at, "");
  return LLVMBuildICmp(e->b, LLVMIntNE, byte, LLVMConstNull(e->i8), "");
}

static void store_value(hia_emit *e, LLVMValueRef at, LLVMValueRef value, hia_type t) {
  LLVMBuildStore(e->b, t == HIA_BOOL ? LLVMBuildZExt(e->b, value, e->i8, "") : value, at);
}

/* ---- the C function ---- */

static struct hia_host_emit *host_of(hia_emit *e, uint32_t number) {
  hia_arena *arena = &e->comp->scratch;
  if (!e->unit.hosts)
    e->unit.hosts = HIA_NEW_ARRAY(&e->comp->arena, struct hia_host_emit, e->g->externs.len);
  struct hia_host_emit *host = &e->unit.hosts[number];
  if (host->type) return host;
  const hia_extern *x = extern_at(e, number);
  hia_host_target target = target_of(e, number);
  LLVMTypeRef *params = HIA_NEW_ARRAY(arena, LLVMTypeRef, 1 + (size_t)x->n_params + x->n_results);
  uint32_t n = 0;
  if (target.takes_user) params[n++] = e->ptr;
  for (uint32_t i = 0; i < x->n_params; i++) params[n++] = hiaL_type(e, x->params[i]);
  for (uint32_t i = 0; by_pointer(e, number) && i < x->n_results; i++) params[n++] = e->ptr;
  LLVMTypeRef result = target.returns_status   ? e->types[HIA_I32]
                       : by_pointer(e, number) ? e->void_type
                                               : hiaL_type(e, x->results[0]);
  host->type = LLVMFunctionType(result, params, n, false);
  if (!e->options->names_hosts) return host;
  LLVMValueRef other = LLVMGetNamedFunction(e->module, x->name);
  if (!other) other = LLVMGetNamedGlobal(e->module, x->name);
  if (other) LLVMSetValueName2(other, "", 0); /* a function of the program may have any name */
  host->symbol = LLVMAddFunction(e->module, x->name, host->type);
  return host;
}

/* The name of the extern as a string, for the message of a failure. */
static LLVMValueRef name_of(hia_emit *e, uint32_t number) {
  struct hia_host_emit *host = host_of(e, number);
  if (host->name) return host->name;
  const char *text = extern_at(e, number)->name;
  LLVMValueRef value =
      LLVMConstStringInContext2(e->llvm, text, strlen(text), false /* with its NUL */);
  host->name = hiaL_variable(e, "hia_host_name", value);
  LLVMSetSection(host->name, HIA_HOST_RODATA);
  return host->name;
}

/* A word of its row in the table. */
static LLVMValueRef row_word(hia_emit *e, uint32_t number, uint32_t word) {
  LLVMTypeRef row = LLVMArrayType2(e->ptr, sizeof(hia_host_row) / sizeof(void *));
  if (!e->unit.host_table)
    e->unit.host_table = hiaL_for_loader(e, HIA_HOST_TABLE, LLVMArrayType2(row, e->g->externs.len));
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMValueRef index[2] = {LLVMConstInt(i32, number, false), LLVMConstInt(i32, word, false)};
  LLVMValueRef at = LLVMBuildInBoundsGEP2(e->b, row, e->unit.host_table, index, 2, "row");
  return LLVMBuildLoad2(e->b, e->ptr, at, word ? "user" : "function");
}

static void zero_extend(hia_emit *e, LLVMValueRef call, unsigned index, hia_type t) {
  if (t == HIA_BOOL) hiaL_call_attribute(e, call, index, "zeroext", 0);
}

/* Builds the call of the C function with `args`, and returns its value. Results that it returns
 * through pointers are stored in words of `block` behind the arguments. */
static LLVMValueRef call_c(hia_emit *e, uint32_t number, LLVMValueRef *args, LLVMValueRef block) {
  const hia_extern *x = extern_at(e, number);
  hia_host_target target = target_of(e, number);
  const struct hia_host_emit *host = host_of(e, number);
  LLVMValueRef *all =
      HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, 1 + (size_t)x->n_params + x->n_results);
  uint32_t n = 0, first;
  if (target.takes_user)
    all[n++] = e->options->names_hosts ? LLVMConstNull(e->ptr) : row_word(e, number, 1);
  first = n;
  for (uint32_t i = 0; i < x->n_params; i++) all[n++] = args[i];
  for (uint32_t i = 0; by_pointer(e, number) && i < x->n_results; i++)
    all[n++] = hiaL_word_at(e, block, x->n_params + i);
  LLVMValueRef callee = host->symbol ? host->symbol : row_word(e, number, 0);
  LLVMValueRef call = LLVMBuildCall2(e->b, host->type, callee, all, n, "");
  hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
  for (uint32_t i = 0; i < x->n_params; i++) zero_extend(e, call, first + i + 1, x->params[i]);
  if (!by_pointer(e, number)) zero_extend(e, call, LLVMAttributeReturnIndex, x->results[0]);
  return call;
}

/* ---- the hia_host_call ---- */

static void build_host_call(hia_emit *e, uint32_t number, LLVMValueRef f) {
  const hia_extern *x = extern_at(e, number);
  LLVMValueRef block = LLVMGetParam(f, 0);
  LLVMValueRef *args = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, x->n_params);
  hiaL_at(e, LLVMAppendBasicBlockInContext(e->llvm, f, "entry"));
  for (uint32_t i = 0; i < x->n_params; i++)
    args[i] = load_value(e, hiaL_word_at(e, block, i), x->params[i]);
  LLVMValueRef answer = call_c(e, number, args, block);
  if (!by_pointer(e, number))
    store_value(e, hiaL_word_at(e, block, x->n_params), answer, x->results[0]);
  LLVMBuildRet(e->b,
               target_of(e, number).returns_status ? answer : LLVMConstNull(e->types[HIA_I32]));
}

static LLVMValueRef host_call(hia_emit *e, uint32_t number) {
  struct hia_host_emit *host = host_of(e, number);
  if (host->call) return host->call;
  LLVMBasicBlockRef here = hiaL_here(e);
  char name[32];
  snprintf(name, sizeof name, HIA_HOST_CALL_SYMBOL "%u", number);
  LLVMTypeRef type = LLVMFunctionType(e->types[HIA_I32], &e->ptr, 1, false);
  host->call = LLVMAddFunction(e->module, name, type);
  LLVMSetLinkage(host->call, LLVMInternalLinkage);
  LLVMSetSection(host->call, HIA_HOST_TEXT);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  hiaL_attribute(e, host->call, all, "nounwind", 0);
  hiaL_attribute(e, host->call, all, "uwtable", 1);
  LLVMAddTargetDependentFunctionAttr(host->call, "no-realign-stack", "");
  build_host_call(e, number, host->call);
  hiaL_at(e, here);
  return host->call;
}

/* ---- the call ---- */

/* True if code calls the function directly, on its own stack. */
static bool is_near(const hia_emit *e, uint32_t number) {
  bool is_recorded = e->options->records_effects && extern_at(e, number)->is_impure;
  return target_of(e, number).is_safe && !is_recorded;
}

/* The number of words of the block that a call needs: for all arguments and results, or, of a
 * function that is called directly, for the results that it returns through pointers. */
static uint32_t words_of(const hia_emit *e, uint32_t number) {
  const hia_extern *x = extern_at(e, number);
  if (is_near(e, number) && !by_pointer(e, number)) return 0;
  return x->n_params + x->n_results;
}

void hiaL_open_hosts(hia_emit *e) {
  uint32_t most = 0;
  for (hia_node_id n = 0; n < e->fn->nodes.len; n++) {
    const hia_node *node = hiaL_node(e, n);
    if (node->op != HIA_OP_HOST) continue;
    uint32_t words = words_of(e, (uint32_t)node->imm);
    if (words > most) most = words;
  }
  if (!most) return;
  LLVMValueRef size = LLVMConstInt(e->types[HIA_I64], most, false);
  e->local.host_block = LLVMBuildArrayAlloca(e->b, e->types[HIA_I64], size, "host");
  LLVMSetAlignment(e->local.host_block, sizeof(hia_word));
}

static LLVMValueRef call_far(hia_emit *e, hia_node_id n, uint32_t number) {
  const hia_extern *x = extern_at(e, number);
  for (uint32_t i = 0; i < x->n_params; i++)
    store_value(e, hiaL_word_at(e, e->local.host_block, i), hiaL_in(e, n, i), x->params[i]);
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMValueRef args[4] = {host_call(e, number), e->local.host_block,
                          LLVMConstInt(i32, x->n_params, false),
                          LLVMConstInt(i32, x->n_results, false)};
  bool is_effect = e->options->begins_again && x->is_impure;
  return is_effect ? hiaL_call_abi(e, HIA_ABI_hiaR_stub_effect, args, 4)
                   : hiaL_call_abi(e, HIA_ABI_hiaR_stub_host, args, 2);
}

static LLVMValueRef call_near(hia_emit *e, hia_node_id n, uint32_t number) {
  const hia_extern *x = extern_at(e, number);
  LLVMValueRef *args = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, x->n_params);
  for (uint32_t i = 0; i < x->n_params; i++) args[i] = hiaL_in(e, n, i);
  return call_c(e, number, args, e->local.host_block);
}

static void fail_unless_ok(hia_emit *e, hia_node_id n, uint32_t number, LLVMValueRef status) {
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMValueRef failed = LLVMBuildICmp(e->b, LLVMIntNE, status, LLVMConstNull(i32), "");
  LLVMBasicBlockRef rare = hiaL_block(e, "host_failed"), usual = hiaL_block(e, "host_ok");
  hiaL_unlikely(e, failed, rare, usual);
  hiaL_at(e, rare);
  LLVMValueRef of_host = LLVMConstInt(i32, HIA_STATUS_OF_HOST, false);
  /* A value that has the bit already is no valid status, and is passed on like other such values.
   */
  LLVMValueRef none = LLVMConstInt(i32, ~HIA_STATUS_OF_HOST, false);
  LLVMValueRef is_none = LLVMBuildICmp(e->b, LLVMIntUGT, status, none, "");
  status = LLVMBuildSelect(e->b, is_none, none, status, "");
  hiaL_fail_with(e, hiaL_node(e, n)->loc, LLVMBuildOr(e->b, status, of_host, ""),
                 LLVMBuildPtrToInt(e->b, name_of(e, number), e->types[HIA_I64], ""));
  hiaL_at(e, usual);
}

void hiaL_emit_HOST(hia_emit *e, hia_node_id n) {
  uint32_t number = (uint32_t)hiaL_node(e, n)->imm;
  const hia_extern *x = extern_at(e, number);
  hia_host_target target = target_of(e, number);
  hiaL_set_debug_loc(e, hiaL_node(e, n)->loc, false); /* for debuggers */
  LLVMValueRef answer = is_near(e, number) ? call_near(e, n, number) : call_far(e, n, number);
  hiaL_no_debug_loc(e);
  if (target.returns_status) fail_unless_ok(e, n, number, answer);
  if (is_near(e, number) && !by_pointer(e, number)) {
    hiaL_out(e, n, 0, answer);
    return;
  }
  for (uint32_t i = 0; i < x->n_results; i++)
    hiaL_out(e, n, i,
             load_value(e, hiaL_word_at(e, e->local.host_block, x->n_params + i), x->results[i]));
}

/* ---- the externs, for the image in an object ---- */

_Static_assert(sizeof(hia_given_host) == 32 && offsetof(hia_given_host, target) == 8 &&
                   offsetof(hia_host_target, takes_user) == 16 &&
                   offsetof(hia_host_target, returns_status) == 17 &&
                   offsetof(hia_host_target, is_safe) == 18 &&
                   offsetof(hia_image_hosts, find) == 8 && offsetof(hia_image_hosts, user) == 16,
               "what is written here is not what the runtime reads");

/* hia_given_host */
static LLVMValueRef given_row(hia_emit *e, uint32_t number) {
  hia_host_target target = target_of(e, number);
  LLVMValueRef fields[5] = {host_of(e, number)->symbol, LLVMConstNull(e->ptr),
                            LLVMConstInt(e->i8, target.takes_user, false),
                            LLVMConstInt(e->i8, target.returns_status, false),
                            LLVMConstInt(e->i8, target.is_safe, false)};
  LLVMValueRef row[2] = {name_of(e, number), hiaL_structure(e, fields, 5)};
  return hiaL_structure(e, row, 2);
}

LLVMValueRef hiaL_image_hosts(hia_emit *e) {
  uint32_t n = e->g->externs.len;
  if (!n) return LLVMConstNull(e->ptr);
  if (!e->options->names_hosts) HIA_BUG(e->comp, "externs of an object have no names");
  LLVMValueRef *rows = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) rows[i] = given_row(e, i);
  LLVMTypeRef type = LLVMTypeOf(rows[0]);
  rows[n] = LLVMConstNull(type);
  LLVMTypeRef nothing = LLVMFunctionType(e->void_type, NULL, 0, false);
  LLVMValueRef fields[3] = {
      LLVMAddGlobal(e->module, e->ptr, "hiaR_ffi"),
      LLVMAddFunction(e->module, "hiaR_given_host", nothing),
      hiaL_variable(e, "hia_given_hosts", LLVMConstArray2(type, rows, n + 1))};
  return hiaL_variable(e, "hia_image_hosts", hiaL_structure(e, fields, 3));
}
