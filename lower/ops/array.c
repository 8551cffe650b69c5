/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Arrays: reading, changing and making them (docs/memory.md).
 *
 * One would expect a read to load the length and the address of the elements from the array's head,
 * and LLVM to hoist these loads out of loops. It cannot: a store to an element may change the head
 * of any array, as far as it knows. But neither changes while an array lives. So both are loaded
 * where the array is defined, and passed on like the array itself: through branches and rounds as
 * phis of their own. `set` gives its result the length of its operand, which LLVM finds to be the
 * same in every round.
 *
 * `set` changes an array in place if nothing else refers to it, which its count says. In a loop
 * whose rounds hand a changed array on, only the first round has to look: what `set` returns is the
 * frame's own until it is dup'd. So a third thing is passed on: whether an array is known to be
 * that (is_own). Nothing is known of an array that some node of the function dups, under any of its
 * names (join_aliases).
 *
 * Without pass refs nothing is counted: there `set` always copies. In a graph that was read from
 * text an element may be filled that is not there, or read before it is filled. */
#include "runtime/heap/array.h"
#include "lower/ops/ops.h"
#include <stddef.h>

_Static_assert(sizeof(hia_array) == 24 && offsetof(hia_array, n) == 8 &&
                   offsetof(hia_array, data) == 16,
               "the head of an array is read here");

static const hia_type_entry *array_type(const hia_emit *e, hia_value_id v) {
  return &e->g->types->entries.data[hiaG_type(e->fn, v) - HIA_FIRST_TYPE];
}

static bool is_array(const hia_emit *e, hia_value_id v) {
  hia_type type = hiaG_type(e->fn, v);
  return !hiaG_is_scalar(type) && hiaG_type_kind(e->g->types, type) == HIA_KIND_ARRAY;
}

/* ---- the names of an array ----
 *
 * Values that nodes only pass on may be one array: they are a set. */

typedef struct hia_aliases {
  hia_value_id *of;          /* by value: another of its set, or itself */
  bool *is_read, *is_shared; /* by the value that stands for its set: its head is needed; it is
                                dup'd */
} hia_aliases;

static hia_value_id find(const hia_aliases *a, hia_value_id v) {
  while (a->of[v] != v) v = a->of[v] = a->of[a->of[v]];
  return v;
}

static void join(hia_emit *e, hia_value_id a, hia_value_id b) {
  if (is_array(e, a)) e->local.aliases->of[find(e->local.aliases, a)] = find(e->local.aliases, b);
}

static void join_aliases(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  switch (node->op) {
  case HIA_OP_SWITCH: join(e, hiaG_in(e->fn, n, 0), hiaG_out(e->fn, n, 1)); /* fall through */
  case HIA_OP_FILLED:
  case HIA_OP_ENTER:
  case HIA_OP_NEXT:
  case HIA_OP_EXIT: join(e, hiaG_in(e->fn, n, 0), hiaG_out(e->fn, n, 0)); break;
  case HIA_OP_MERGE:
  case HIA_OP_MERGE_LOOP:
    for (uint32_t i = 0; i < 2; i++) join(e, hiaG_in(e->fn, n, i), hiaG_out(e->fn, n, 0));
    break;
  default: break;
  }
}

static bool reads_head(unsigned op) {
  return op == HIA_OP_LEN || op == HIA_OP_AT || op == HIA_OP_SET || op == HIA_OP_SLICE ||
         op == HIA_OP_FILL;
}

void hiaL_open_arrays(hia_emit *e) {
  const hia_fn *fn = e->fn;
  hia_arena *arena = &e->comp->scratch;
  bool is_needed = false;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) is_needed |= reads_head(fn->nodes.data[n].op);
  if (!is_needed) return;
  hia_aliases *a = e->local.aliases = HIA_NEW(arena, hia_aliases);
  e->local.arrays = HIA_NEW_ARRAY(arena, hia_array_value, fn->values.len);
  a->of = HIA_NEW_ARRAY(arena, hia_value_id, fn->values.len);
  a->is_read = HIA_NEW_ARRAY(arena, bool, fn->values.len);
  a->is_shared = HIA_NEW_ARRAY(arena, bool, fn->values.len);
  for (hia_value_id v = 0; v < fn->values.len; v++) a->of[v] = v;
  for (hia_node_id n = 0; n < fn->nodes.len; n++) join_aliases(e, n);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    unsigned op = fn->nodes.data[n].op;
    if (reads_head(op)) a->is_read[find(a, hiaG_in(fn, n, 0))] = true;
    if (op == HIA_OP_DUP) a->is_shared[find(a, hiaG_in(fn, n, 0))] = true;
  }
}

bool hiaL_has_array(const hia_emit *e, hia_value_id v) {
  return e->local.arrays && is_array(e, v) && e->local.aliases->is_read[find(e->local.aliases, v)];
}

/* ---- what is known of an array ---- */

LLVMTypeRef hiaL_array_part_type(const hia_emit *e, unsigned part) {
  LLVMTypeRef types[HIA_ARRAY_PARTS] = {e->types[HIA_I64], e->ptr, e->types[HIA_BOOL]};
  return types[part];
}

static LLVMValueRef *part_of(hia_array_value *array, unsigned part) {
  LLVMValueRef *parts[HIA_ARRAY_PARTS] = {&array->n, &array->data, &array->is_own};
  return parts[part];
}

static const hia_array_value *array_of(hia_emit *e, hia_value_id v) {
  if (!e->local.arrays[v].n)
    HIA_BUG(e->comp, "%s: the array %u is used before it is there", e->fn->name, v);
  return &e->local.arrays[v];
}

LLVMValueRef hiaL_array_part(hia_emit *e, hia_value_id v, unsigned part) {
  array_of(e, v);
  LLVMValueRef value = *part_of(&e->local.arrays[v], part);
  return value ? value : LLVMConstNull(hiaL_array_part_type(e, part));
}

void hiaL_set_array_part(hia_emit *e, hia_value_id v, unsigned part, LLVMValueRef value) {
  *part_of(&e->local.arrays[v], part) = value;
}

static LLVMValueRef elements_of(hia_emit *e, LLVMValueRef own) {
  return hiaL_byte_at(e, own, sizeof(hia_array), "elements");
}

/* What is known of an array that is the frame's own, or has no elements. */
static hia_array_value own_array(hia_emit *e, hia_value_id v, LLVMValueRef ref, LLVMValueRef n) {
  bool is_shared = !e->graph.is_counted || e->local.aliases->is_shared[find(e->local.aliases, v)];
  return (hia_array_value){n, elements_of(e, ref), is_shared ? NULL : hiaL_number(e, 1, 1)};
}

/* The head of an array without elements, which is no object. */
static LLVMValueRef no_array(hia_emit *e) {
  static const char name[] = "hia_no_array";
  LLVMValueRef head = LLVMGetNamedGlobal(e->module, name);
  if (head) return head;
  LLVMTypeRef words = LLVMArrayType2(e->types[HIA_I64], sizeof(hia_array) / sizeof(hia_word));
  return hiaL_variable(e, name, LLVMConstNull(words));
}

/* The array whose address a constant is, which the graph assumes (graph/assume); NULL: none. */
static const hia_array *assumed_array(LLVMValueRef constant) {
  if (!LLVMIsAConstantExpr(constant) || LLVMGetConstOpcode(constant) != LLVMIntToPtr) return NULL;
  LLVMValueRef word = LLVMGetOperand(constant, 0);
  uint64_t address = LLVMIsAConstantInt(word) ? LLVMConstIntGetZExtValue(word) : 0;
  return address >= HIA_FIRST_ADDRESS ? (const hia_array *)(uintptr_t)address : NULL;
}

/* What is known of a constant. Nodes of constants emit nothing: they may stand where no code does.
 */
static hia_array_value constant_array(hia_emit *e, LLVMValueRef ref) {
  const hia_array *array = assumed_array(ref);
  if (!array) return (hia_array_value){hiaL_number(e, 64, 0), ref, NULL};
  LLVMValueRef data =
      LLVMConstIntToPtr(hiaL_number(e, 64, (uint64_t)(uintptr_t)array->data), e->ptr);
  return (hia_array_value){hiaL_number(e, 64, array->n), data, NULL};
}

/* Any array: its head is loaded. */
static hia_array_value load_head(hia_emit *e, LLVMValueRef ref) {
  if (LLVMIsConstant(ref)) return constant_array(e, ref);
  LLVMValueRef head = LLVMBuildSelect(e->b, hiaL_is_number(e, ref), no_array(e), ref, "head");
  LLVMValueRef n = LLVMBuildLoad2(e->b, e->types[HIA_I64],
                                  hiaL_byte_at(e, head, offsetof(hia_array, n), ""), "length");
  LLVMValueRef data =
      LLVMBuildLoad2(e->b, e->ptr, hiaL_byte_at(e, head, offsetof(hia_array, data), ""), "data");
  return (hia_array_value){n, data, NULL};
}

static void note(hia_emit *e, hia_value_id v) {
  if (hiaL_has_array(e, v) && e->values[v] && !e->local.arrays[v].n)
    e->local.arrays[v] = load_head(e, e->values[v]);
}

static void pass_on(hia_emit *e, hia_value_id from, hia_value_id to) {
  if (hiaL_has_array(e, to)) e->local.arrays[to] = *array_of(e, from);
}

void hiaL_note_arrays(hia_emit *e, hia_node_id n) {
  if (!e->local.arrays) return;
  const hia_node *node = hiaL_node(e, n);
  switch (node->op) {
  case HIA_OP_SWITCH: pass_on(e, hiaG_in(e->fn, n, 0), hiaG_out(e->fn, n, 1)); /* fall through */
  case HIA_OP_FILLED:
  case HIA_OP_ENTER:
  case HIA_OP_NEXT:
  case HIA_OP_EXIT: pass_on(e, hiaG_in(e->fn, n, 0), hiaG_out(e->fn, n, 0)); return;
  case HIA_OP_CALL_I:
  case HIA_OP_MERGE:
  case HIA_OP_MERGE_LOOP: return; /* see RETURN_I, and control.c */
  case HIA_OP_RETURN_I: {         /* the last one has set the values of all */
    const hia_site *site = &e->g->sites.data[HIA_IMM_A(node->imm)];
    if (n + 1 != site->returns + site->n_returns) return;
    for (hia_node_id r = site->returns; r <= n; r++) note(e, hiaG_out(e->fn, r, 0));
    return;
  }
  default:
    for (uint32_t i = 0; i < node->n_outs; i++) note(e, hiaG_out(e->fn, n, i));
  }
}

/* ---- reading ---- */

void hiaL_emit_LEN(hia_emit *e, hia_node_id n) {
  bool is_noted =
      e->local.arrays != NULL; /* not in what tests whether a fork pays (function/fork_pays.c) */
  hiaL_out(e, n, 0,
           is_noted ? array_of(e, hiaG_in(e->fn, n, 0))->n : load_head(e, hiaL_in(e, n, 0)).n);
}

/* Fails unless i is the index of one of n elements. */
static void check_index(hia_emit *e, hia_loc_id loc, LLVMValueRef i, LLVMValueRef n) {
  LLVMBasicBlockRef outside = hiaL_block(e, "outside"), inside = hiaL_block(e, "inside");
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntUGE, i, n, "is_outside"), outside, inside);
  hiaL_at(e, outside);
  hiaL_fail_range(e, loc, false, i, hiaL_number(e, 64, 0), n);
  hiaL_at(e, inside);
}

static LLVMValueRef element_at(hia_emit *e, const hia_type_entry *type, LLVMValueRef elements,
                               LLVMValueRef i) {
  LLVMTypeRef element = LLVMArrayType2(e->i8, type->layout.size);
  return LLVMBuildInBoundsGEP2(e->b, element, elements, &i, 1, "element");
}

static const hia_layout_word *layout_words_of(const hia_emit *e, const hia_type_entry *type) {
  return &e->g->types->layout_words.data[type->layout.first];
}

void hiaL_emit_AT(hia_emit *e, hia_node_id n) {
  hia_value_id v = hiaG_in(e->fn, n, 0);
  const hia_array_value array = *array_of(e, v);
  const hia_type_entry *type = array_type(e, v);
  LLVMValueRef i = hiaL_in(e, n, 1);
  check_index(e, hiaL_node(e, n)->loc, i, array.n);
  LLVMValueRef element = element_at(e, type, array.data, i);
  hiaL_out(e, n, 0, hiaL_load_packed(e, element, layout_words_of(e, type) + hiaL_node(e, n)->imm));
}

/* ---- changing ---- */

/* A call of a stub that makes an array of this type. */
static LLVMValueRef call_stub(hia_emit *e, hia_node_id n, enum hia_abi stub, LLVMValueRef *args,
                              unsigned n_args, hia_type type) {
  hia_loc_id loc = hiaL_node(e, n)->loc;
  LLVMValueRef all[5];
  for (unsigned i = 0; i < n_args; i++) all[i] = args[i];
  all[n_args] = hiaL_number(e, 32, hiaL_base(e, type));
  all[n_args + 1] = hiaL_number(e, 32, loc);
  hiaL_set_debug_loc(e, loc, false);
  LLVMValueRef made = hiaL_call_abi(e, stub, all, n_args + 2);
  hiaL_no_debug_loc(e);
  return made;
}

static LLVMValueRef copy_of(hia_emit *e, hia_node_id n, LLVMValueRef ref, hia_type type) {
  return call_stub(e, n, HIA_ABI_hiaR_stub_own, &ref, 1, type);
}

/* The array, or a copy of it, which is the frame's own. It has elements. */
static LLVMValueRef own(hia_emit *e, hia_node_id n, hia_value_id v) {
  const hia_array_value array = *array_of(e, v);
  LLVMValueRef ref = e->values[v];
  hia_type type = hiaG_type(e->fn, v);
  if (!e->graph.is_counted) { /* no count says whether it may be changed */
    hiaL_retain(e, ref);
    return copy_of(e, n, ref, type);
  }
  LLVMBasicBlockRef here = hiaL_here(e), look = hiaL_block(e, "look"), only = hiaL_block(e, "only"),
                    copy = hiaL_block(e, "copy"), join = hiaL_block(e, "own");
  if (array.is_own)
    hiaL_set_unlikely(e, LLVMBuildCondBr(e->b, LLVMBuildNot(e->b, array.is_own, ""), look, join));
  else
    LLVMBuildBr(e->b, look);
  hiaL_at(e, look);
  hiaL_is_only(e, ref, only, copy);
  hiaL_at(e, only);
  LLVMValueRef is_view = LLVMBuildICmp(e->b, LLVMIntNE, array.data, elements_of(e, ref), "is_view");
  hiaL_unlikely(e, is_view, copy, join);
  hiaL_at(e, copy);
  LLVMValueRef copied = copy_of(e, n, ref, type);
  LLVMBasicBlockRef made = hiaL_here(e);
  LLVMBuildBr(e->b, join);
  hiaL_at(e, join);
  LLVMValueRef phi = LLVMBuildPhi(e->b, e->ptr, "own");
  if (array.is_own) LLVMAddIncoming(phi, &ref, &here, 1);
  LLVMAddIncoming(phi, &ref, &only, 1);
  LLVMAddIncoming(phi, &copied, &made, 1);
  return phi;
}

/* What the element referred to is given up behind the stores: freeing it may take long, and calls
 * the runtime. */
static void write_element(hia_emit *e, hia_node_id n, const hia_type_entry *type,
                          LLVMValueRef element) {
  const hia_layout_word *layout_words = layout_words_of(e, type);
  LLVMValueRef *old = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, type->layout.n + 1);
  for (uint32_t w = 0; w < type->layout.n; w++)
    if (!hiaG_is_scalar(layout_words[w].type))
      old[w] = hiaL_load_packed(e, element, &layout_words[w]);
  for (uint32_t w = 0; w < type->layout.n; w++)
    hiaL_store_packed(e, element, &layout_words[w], hiaL_in(e, n, 2 + w));
  for (uint32_t w = 0; w < type->layout.n; w++)
    if (old[w]) hiaL_drop(e, old[w], layout_words[w].type);
}

void hiaL_emit_SET(hia_emit *e, hia_node_id n) {
  hia_value_id v = hiaG_in(e->fn, n, 0), out = hiaG_out(e->fn, n, 0);
  const hia_type_entry *type = array_type(e, v);
  LLVMValueRef i = hiaL_in(e, n, 1), length = array_of(e, v)->n;
  check_index(e, hiaL_node(e, n)->loc, i, length);
  LLVMValueRef array = own(e, n, v);
  hia_array_value made = own_array(e, out, array, length);
  write_element(e, n, type, element_at(e, type, made.data, i));
  hiaL_out(e, n, 0, array);
  if (hiaL_has_array(e, out)) e->local.arrays[out] = made;
}

/* ---- making ---- */

static LLVMValueRef null_ref(hia_emit *e) { return LLVMConstNull(e->ptr); }

void hiaL_emit_ARRAY(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  hia_value_id out = hiaG_out(e->fn, n, 0);
  const hia_type_entry *type = array_type(e, out);
  const hia_layout_word *layout_words = layout_words_of(e, type);
  if (node->n_ins == 0) {
    hiaL_out(e, n, 0, null_ref(e));
    return;
  }
  uint32_t n_words = type->layout.n, count = node->n_ins / n_words;
  uint32_t size = (uint32_t)hiaR_array_size(type->layout.size, count);
  LLVMValueRef array = hiaL_new_block(e, size, node->loc);
  LLVMValueRef elements = elements_of(e, array), length = hiaL_number(e, 64, count);
  hiaL_store_header(e, array, 0);
  LLVMBuildStore(e->b, length, hiaL_byte_at(e, array, offsetof(hia_array, n), ""));
  LLVMBuildStore(e->b, elements, hiaL_byte_at(e, array, offsetof(hia_array, data), ""));
  for (uint32_t i = 0; i < count; i++) {
    LLVMValueRef element = hiaL_byte_at(e, elements, (uint64_t)i * type->layout.size, "element");
    for (uint32_t w = 0; w < n_words; w++)
      hiaL_store_packed(e, element, &layout_words[w], hiaL_in(e, n, i * n_words + w));
    hiaL_stored(e, i);
  }
  hiaL_out(e, n, 0, array);
  if (hiaL_has_array(e, out)) e->local.arrays[out] = own_array(e, out, array, length);
}

void hiaL_emit_NEW(hia_emit *e, hia_node_id n) {
  hia_value_id out = hiaG_out(e->fn, n, 0);
  LLVMValueRef length = hiaL_in(e, n, 0);
  LLVMValueRef array = call_stub(e, n, HIA_ABI_hiaR_stub_new, &length, 1, hiaG_type(e->fn, out));
  hiaL_unset_elements(e, elements_of(e, array), length, hiaG_type(e->fn, out));
  hiaL_out(e, n, 0, array);
  if (hiaL_has_array(e, out)) e->local.arrays[out] = own_array(e, out, array, length);
}

/* The array is not full yet: no element is there before, and the index is right
 * (graph/passes/map.c). */
void hiaL_emit_FILL(hia_emit *e, hia_node_id n) {
  hia_value_id v = hiaG_in(e->fn, n, 0);
  const hia_type_entry *type = array_type(e, v);
  const hia_layout_word *layout_words = layout_words_of(e, type);
  if (e->g->is_read) check_index(e, hiaL_node(e, n)->loc, hiaL_in(e, n, 1), array_of(e, v)->n);
  LLVMValueRef element = element_at(e, type, array_of(e, v)->data, hiaL_in(e, n, 1));
  for (uint32_t w = 0; w < type->layout.n; w++)
    hiaL_store_packed(e, element, &layout_words[w], hiaL_in(e, n, 2 + w));
}

void hiaL_emit_FILLED(hia_emit *e, hia_node_id n) { hiaL_out(e, n, 0, hiaL_in(e, n, 0)); }

void hiaL_emit_SLICE(hia_emit *e, hia_node_id n) {
  hia_value_id v = hiaG_in(e->fn, n, 0);
  hia_type type = hiaG_type(e->fn, v);
  LLVMValueRef args[3] = {hiaL_in(e, n, 0), hiaL_in(e, n, 1), hiaL_in(e, n, 2)};
  LLVMValueRef length = array_of(e, v)->n;
  LLVMBasicBlockRef outside = hiaL_block(e, "outside"), inside = hiaL_block(e, "inside");
  /* As unsigned: no length is 2^63 or more, so neither is an end inside, nor what begins before it.
   */
  LLVMValueRef is_outside = LLVMBuildOr(e->b, LLVMBuildICmp(e->b, LLVMIntUGT, args[2], length, ""),
                                        LLVMBuildICmp(e->b, LLVMIntUGT, args[1], args[2], ""), "");
  hiaL_unlikely(e, is_outside, outside, inside);
  hiaL_at(e, outside);
  hiaL_fail_range(e, hiaL_node(e, n)->loc, true, args[1], args[2], length);
  hiaL_at(e, inside);
  hiaL_out(e, n, 0, call_stub(e, n, HIA_ABI_hiaR_stub_slice, args, 3, type));
  hiaL_drop(e, args[0], type); /* the view has one of its own */
}

void hiaL_emit_CONCAT(hia_emit *e, hia_node_id n) {
  uint32_t n_ins = hiaL_node(e, n)->n_ins;
  hia_type type = hiaG_type(e->fn, hiaG_out(e->fn, n, 0));
  LLVMValueRef words = hiaL_room(e, LLVMArrayType2(e->ptr, n_ins ? n_ins : 1), "arrays");
  for (uint32_t i = 0; i < n_ins; i++)
    LLVMBuildStore(e->b, hiaL_in(e, n, i), hiaL_word_at(e, words, i));
  LLVMValueRef args[2] = {words, hiaL_number(e, 32, n_ins)};
  hiaL_out(e, n, 0, call_stub(e, n, HIA_ABI_hiaR_stub_concat, args, 2, type));
  for (uint32_t i = 0; i < n_ins; i++) hiaL_drop(e, hiaL_in(e, n, i), type);
}
