/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The names of symbols, by which other units, the runtime and hosts find what a module has, and
 * functions that get such a name. */
#include "lower/kit/emit.h"
#include <stdio.h>

void hiaL_entry_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id root) {
  snprintf(name, HIA_ENTRY_NAME_SIZE, HIA_ENTRY_SYMBOL "%u", root);
}

void hiaL_code_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id f) {
  snprintf(name, HIA_ENTRY_NAME_SIZE, HIA_CODE_SYMBOL "%u", f);
}

void hiaL_pays_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id callee) {
  snprintf(name, HIA_ENTRY_NAME_SIZE, HIA_PAYS_SYMBOL "%u", callee);
}

void hiaL_host_name(char name[HIA_ENTRY_NAME_SIZE], hia_host_side side, hia_fn_id root) {
  snprintf(name, HIA_ENTRY_NAME_SIZE, "%s%u", hiaL_host_symbol(side), root);
}

void hiaL_map_loop_name(char name[HIA_ENTRY_NAME_SIZE], hia_fn_id root) {
  snprintf(name, HIA_ENTRY_NAME_SIZE, "hia_map_loop_%u", root);
}

/* Letters, digits and _, but no dots, at which gdb cuts names. */
const char *hiaL_function_name(hia_arena *arena, const char *graph_name, hia_fn_id id) {
  hia_text text;
  hiaR_text_init(&text, arena);
  bool was_letter = false;
  for (const char *c = graph_name; *c; c++) {
    bool is_letter =
        (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
    if (is_letter)
      hiaR_text_add(&text, c, 1);
    else if (was_letter)
      hiaR_text_add(&text, "_", 1);
    was_letter = is_letter;
  }
  hiaR_text_addf(&text, "%s%u", was_letter ? "_" : "", id);
  return text.data;
}

/* ---- functions that are found by name ---- */

LLVMValueRef hiaL_add_named(hia_emit *e, const char *name, LLVMTypeRef type) {
  LLVMValueRef other = LLVMGetNamedFunction(e->module, name);
  if (other) {
    const char *new_name = hiaR_arena_printf(&e->comp->scratch, "%s_", name);
    LLVMSetValueName2(other, new_name, strlen(new_name));
  }
  return LLVMAddFunction(e->module, name, type);
}

void hiaL_serve_runtime(hia_emit *e, LLVMValueRef f) {
  if (e->options->object)
    hiaL_keep(e, f);
  else
    LLVMSetVisibility(f, LLVMProtectedVisibility);
  hiaL_common_attributes(e, f);
}

LLVMValueRef hiaL_own_entry(hia_emit *e, hia_fn_id id, const char *name) {
  LLVMTypeRef params[2] = {e->ptr, e->ptr};
  LLVMTypeRef type = LLVMFunctionType(e->void_type, params, 2, false);
  LLVMValueRef f = LLVMAddFunction(e->module, name, type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  hiaL_common_attributes(e, f);
  hiaL_attribute(e, f, 2, "swiftself", 0);
  hiaR_push(&e->comp->arena, &e->unit.own_entries, (hia_own_entry){id, f});
  return f;
}
