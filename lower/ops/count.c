/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts of references: the ops that graph/refs/refs.c adds (docs/memory.md).
 *
 * What is usual is inline: a word that is no object, a count that does not change, a count of more
 * than 1, and the memory of an object that goes from one value to the next. So is freeing an object
 * that holds no references. One with few goes to a function of the module (hiaL_write_counts),
 * others to the runtime. That function and the stubs keep the caller's registers.
 *
 * In programs that batch, functions with operations on tensors count through functions of the
 * module too: that takes a call more, and a count is a tenth as much code to compile.
 *
 * One would count by atomic operations wherever several workers may run. But until a worker has
 * handed out a job nothing is shared, and most runs of a program are short. So code that forks
 * tests a flag of its context, which is set before a run's first job is handed out. LLVM must read
 * it each time: it does not know of the safepoints of loops, which are inserted after its passes.
 * A count of 1 needs no atomic operation at all, as the only reference is the caller's.
 *
 * A graph that was read from text may count wrongly. So its counts are made anew (graph/
 * refs/forget.c). Where they are not, nothing is counted, and all that a run has made goes when it
 * ends. */
#include "lower/ops/ops.h"
#include "runtime/heap/object.h"
#include <stddef.h>

enum {
  MAX_FREED_CTORS = 8, /* of a type whose objects the module's own code frees */
  MAX_FREED_REFS = 16  /* in objects of all of them */
};

_Static_assert(offsetof(hia_counted, count) == 0 && HIA_STICKY == 0x80000000u,
               "a sticky count is negative, and comes first");

static LLVMValueRef count_number(hia_emit *e, int32_t n) { return hiaL_number(e, 32, (uint32_t)n); }

static LLVMValueRef load_count(hia_emit *e, LLVMValueRef object) {
  LLVMValueRef count = LLVMBuildLoad2(e->b, e->types[HIA_I32], object, "count");
  /* Who holds the last reference has seen what others have done with theirs. */
  if (e->graph.is_parallel) LLVMSetOrdering(count, LLVMAtomicOrderingAcquire);
  return count;
}

/* The builder is left in `plain`; in the block that is returned counts are shared. NULL: they never
 * are. */
static LLVMBasicBlockRef fork_counting(hia_emit *e) {
  if (!e->graph.is_parallel) return NULL;
  LLVMBasicBlockRef shared = hiaL_block(e, "shared"), plain = hiaL_block(e, "plain");
  LLVMValueRef flag =
      LLVMBuildLoad2(e->b, e->types[HIA_I32], hiaL_field(e, HIA_FIELD_is_shared), "is_shared");
  LLVMSetVolatile(flag, true);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, flag, count_number(e, 0), ""), shared,
                  plain);
  hiaL_at(e, plain);
  return shared;
}

static LLVMValueRef build_atomic(hia_emit *e, LLVMAtomicRMWBinOp op, LLVMValueRef object,
                                 LLVMAtomicOrdering ordering) {
  return LLVMBuildAtomicRMW(e->b, op, object, count_number(e, 1), ordering, false);
}

static void count_up(hia_emit *e, LLVMValueRef ref) {
  LLVMBasicBlockRef object = hiaL_block(e, "object"), counted = hiaL_block(e, "counted"),
                    done = hiaL_block(e, "done");
  LLVMBuildCondBr(e->b, hiaL_is_number(e, ref), done, object);
  hiaL_at(e, object);
  LLVMValueRef count = load_count(e, ref);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSGE, count, count_number(e, 0), ""), counted,
                  done);
  hiaL_at(e, counted);
  LLVMBasicBlockRef shared = fork_counting(e);
  LLVMBuildStore(e->b, LLVMBuildAdd(e->b, count, count_number(e, 1), ""), ref);
  LLVMBuildBr(e->b, done);
  if (shared) {
    hiaL_at(e, shared);
    build_atomic(e, LLVMAtomicRMWBinOpAdd, ref, LLVMAtomicOrderingMonotonic);
    LLVMBuildBr(e->b, done);
  }
  hiaL_at(e, done);
}

/* Gives up a reference to an object: goes to `last` if it was the last one, else to `done`. */
static void count_down(hia_emit *e, LLVMValueRef object, LLVMBasicBlockRef last,
                       LLVMBasicBlockRef done) {
  LLVMBasicBlockRef more = hiaL_block(e, "more"), few = hiaL_block(e, "few");
  LLVMValueRef count = load_count(e, object);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntSGT, count, count_number(e, 1), ""), more, few);
  hiaL_at(e, few);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, count, count_number(e, 1), ""), last, done);
  hiaL_at(e, more);
  LLVMBasicBlockRef shared = fork_counting(e);
  LLVMBuildStore(e->b, LLVMBuildSub(e->b, count, count_number(e, 1), ""), object);
  LLVMBuildBr(e->b, done);
  if (!shared) return;
  hiaL_at(e, shared);
  LLVMValueRef old =
      build_atomic(e, LLVMAtomicRMWBinOpSub, object, LLVMAtomicOrderingAcquireRelease);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, old, count_number(e, 1), ""), last, done);
}

uint32_t hiaL_base(const hia_emit *e, hia_type reference) {
  const hia_types *types = e->g->types;
  const hia_type_entry *entry = &types->entries.data[reference - HIA_FIRST_TYPE];
  if (entry->kind == HIA_KIND_DATA) return entry->first;
  uint32_t base = types->ctors.len;
  for (uint32_t i = 0; i < reference - HIA_FIRST_TYPE; i++)
    base += types->entries.data[i].kind == HIA_KIND_ARRAY ||
            types->entries.data[i].kind == HIA_KIND_TENSOR;
  return base;
}

/* The only constructor of a type that has fields, if its objects hold no references; else NULL. */
static const hia_ctor *only_flat(const hia_emit *e, hia_type type) {
  const hia_type_entry *entry = &e->g->types->entries.data[type - HIA_FIRST_TYPE];
  const hia_ctor *found = NULL;
  if (entry->kind != HIA_KIND_DATA) return NULL;
  for (uint32_t i = 0; i < entry->n; i++) {
    const hia_ctor *ctor = hiaL_ctor(e, type, i);
    if (!ctor->n) continue;
    if (found || ctor->layout.n_refs) return NULL;
    found = ctor;
  }
  return found;
}

/* ---- through functions of the module ---- */

/* A function that gets the context, a reference and perhaps an i32, and keeps the caller's
 * registers.
 */
static LLVMValueRef new_function(hia_emit *e, const char *name, bool has_number) {
  LLVMTypeRef params[3] = {e->ptr, e->ptr, e->types[HIA_I32]};
  LLVMTypeRef type = LLVMFunctionType(e->void_type, params, has_number ? 3 : 2, false);
  LLVMValueRef f = LLVMAddFunction(e->module, name, type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  hiaL_common_attributes(e, f);
  LLVMSetFunctionCallConv(f, HIA_CC_PRESERVE_MOST);
  hiaL_attribute(e, f, 1, "swiftself", 0);
  hiaL_attribute(e, f, (unsigned)LLVMAttributeFunctionIndex, "noinline", 0);
  return f;
}

/* number: NULL if the function gets none. */
static LLVMValueRef call_function(hia_emit *e, LLVMValueRef f, LLVMValueRef ref,
                                  LLVMValueRef number) {
  LLVMValueRef args[3] = {e->context, ref, number};
  hiaL_set_debug_loc(e, HIA_NONE, false);
  LLVMValueRef call = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, args, number ? 3 : 2, "");
  LLVMSetInstructionCallConv(call, HIA_CC_PRESERVE_MOST);
  hiaL_call_attribute(e, call, 1, "swiftself", 0);
  hiaL_no_debug_loc(e);
  return call;
}

static LLVMValueRef base_of(hia_emit *e, hia_type type) {
  return hiaL_number(e, 32, hiaL_base(e, type));
}

static void free_of_base(hia_emit *e, LLVMValueRef object, LLVMValueRef base) {
  LLVMValueRef args[2] = {object, base};
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_free, args, 2);
}

static void free_by_runtime(hia_emit *e, LLVMValueRef object, hia_type type) {
  free_of_base(e, object, base_of(e, type));
}

/* True if the module has a function that frees objects of the type: few constructors, with few
 * references. */
static bool has_function(const hia_emit *e, hia_type type) {
  const hia_type_entry *entry = &e->g->types->entries.data[type - HIA_FIRST_TYPE];
  uint32_t n_refs = 0, n_ctors = 0;
  if (entry->kind != HIA_KIND_DATA) return false;
  for (uint32_t i = 0; i < entry->n; i++) {
    const hia_ctor *ctor = hiaL_ctor(e, type, i);
    n_refs += ctor->layout.n_refs;
    n_ctors += ctor->n > 0;
  }
  return n_ctors <= MAX_FREED_CTORS && n_refs <= MAX_FREED_REFS;
}

/* The function that frees objects of the type. hiaL_write_counts writes it. */
static LLVMValueRef free_function(hia_emit *e, hia_type type) {
  LLVMValueRef **functions = &e->unit.frees;
  if (!*functions)
    *functions = HIA_NEW_ARRAY(&e->comp->arena, LLVMValueRef, e->g->types->entries.len);
  LLVMValueRef *f = &(*functions)[type - HIA_FIRST_TYPE];
  if (!*f) *f = new_function(e, "hia_free", false);
  return *f;
}

/* Nothing refers to the object any more. */
static void free_object(hia_emit *e, LLVMValueRef object, hia_type type) {
  const hia_ctor *flat = only_flat(e, type);
  if (flat) {
    hiaL_free_block(e, object, flat->layout.size);
    return;
  }
  if (has_function(e, type)) {
    LLVMValueRef call = call_function(e, free_function(e, type), object, NULL);
    hiaL_call_attribute(e, call, (unsigned)LLVMAttributeFunctionIndex, "cold", 0);
    return;
  }
  hiaL_set_debug_loc(e, HIA_NONE, false);
  free_by_runtime(e, object, type);
  hiaL_no_debug_loc(e);
}

/* True if no value of the type is an object. */
static bool is_bare(const hia_emit *e, hia_type type) {
  const hia_type_entry *entry = &e->g->types->entries.data[type - HIA_FIRST_TYPE];
  if (entry->kind != HIA_KIND_DATA) return false;
  for (uint32_t i = 0; i < entry->n; i++)
    if (hiaL_ctor(e, type, i)->n) return false;
  return true;
}

/* Emits code that frees an object to which nothing refers any more. */
typedef void free_emitter(hia_emit *e, LLVMValueRef object, hia_type type);

/* Ends in the block of an object to which nothing else refers; what does not free one goes to
 * `done`. */
static void begin_drop(hia_emit *e, LLVMValueRef ref, LLVMBasicBlockRef done) {
  LLVMBasicBlockRef object = hiaL_block(e, "object"), last = hiaL_block(e, "last");
  LLVMBuildCondBr(e->b, hiaL_is_number(e, ref), done, object);
  hiaL_at(e, object);
  count_down(e, ref, last, done);
  hiaL_at(e, last);
}

/* Gives up a reference. */
static void drop(hia_emit *e, LLVMValueRef ref, hia_type type, free_emitter *free_last) {
  LLVMBasicBlockRef done = hiaL_block(e, "done");
  begin_drop(e, ref, done);
  free_last(e, ref, type);
  LLVMBuildBr(e->b, done);
  hiaL_at(e, done);
}

/* Gives up a reference by a function of the module, and the runtime frees. */
static void drop_shortly(hia_emit *e, LLVMValueRef ref, hia_type type) {
  if (!e->unit.drop) e->unit.drop = new_function(e, "hia_drop", true);
  call_function(e, e->unit.drop, ref, base_of(e, type));
}

static hia_type in_type(const hia_emit *e, hia_node_id n) {
  return hiaG_type(e->fn, hiaG_in(e->fn, n, 0));
}

/* One more reference. */
static void share(hia_emit *e, LLVMValueRef ref) {
  if (!e->local.is_terse) {
    count_up(e, ref);
    return;
  }
  if (!e->unit.share) e->unit.share = new_function(e, "hia_share", false);
  call_function(e, e->unit.share, ref, NULL);
}

/* Gives up a reference of an object that is freed. A list is freed by the runtime, which does not
 * recurse: all but its first cell. */
static void drop_inner(hia_emit *e, LLVMValueRef ref, hia_type type) {
  if (is_bare(e, type)) return;
  if (e->graph.notes_rows)
    drop_shortly(e, ref, type);
  else
    drop(e, ref, type, free_by_runtime);
}

/* ---- ops ---- */

void hiaL_emit_DUP(hia_emit *e, hia_node_id n) {
  if (e->graph.is_counted) share(e, hiaL_in(e, n, 0));
}

void hiaL_drop(hia_emit *e, LLVMValueRef ref, hia_type type) {
  if (!e->graph.is_counted || is_bare(e, type)) return;
  if (e->local.is_terse)
    drop_shortly(e, ref, type);
  else
    drop(e, ref, type, free_object);
}

void hiaL_retain(hia_emit *e, LLVMValueRef object) { share(e, object); }

void hiaL_is_only(hia_emit *e, LLVMValueRef object, LLVMBasicBlockRef last,
                  LLVMBasicBlockRef others) {
  LLVMValueRef count = load_count(e, object);
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntNE, count, count_number(e, 1), "is_shared"), others,
                last);
}

void hiaL_emit_DROP(hia_emit *e, hia_node_id n) { hiaL_drop(e, hiaL_in(e, n, 0), in_type(e, n)); }

void hiaL_emit_LAST(hia_emit *e, hia_node_id n) {
  LLVMValueRef ref = hiaL_in(e, n, 0);
  LLVMBasicBlockRef object = hiaL_block(e, "object"), join = hiaL_block(e, "last"),
                    here = hiaL_here(e);
  LLVMBuildCondBr(e->b, hiaL_is_number(e, ref), join, object);
  hiaL_at(e, object);
  LLVMValueRef is_only = !e->graph.is_counted ? hiaL_number(e, 1, 0)
                                              : LLVMBuildICmp(e->b, LLVMIntEQ, load_count(e, ref),
                                                              count_number(e, 1), "is_only");
  LLVMBuildBr(e->b, join);
  hiaL_at(e, join);
  LLVMValueRef is_last = LLVMBuildPhi(e->b, e->types[HIA_BOOL], "is_last");
  LLVMValueRef yes = hiaL_number(e, 1, 1);
  LLVMAddIncoming(is_last, &yes, &here, 1);
  LLVMAddIncoming(is_last, &is_only, &object, 1);
  hiaL_out(e, n, 0, is_last);
}

/* ---- memory that goes from one object to the next ---- */

/* The i-th reference in an object's memory, and its type. */
static LLVMValueRef load_ref(hia_emit *e, LLVMValueRef object, const hia_ctor *ctor, uint32_t i,
                             hia_type *type) {
  const hia_layout_word *layout_word = &e->g->types->layout_words.data[ctor->layout.first];
  while (layout_word->at != sizeof(hia_counted) + i * sizeof(hia_word)) layout_word++;
  *type = layout_word->type;
  return hiaL_load_packed(e, object, layout_word);
}

static bool is_in(uint32_t set, uint32_t i) { return i < 32 && set >> i & 1; }

/* Gives up the references in an object's memory that are not in `set`: of one that is freed by a
 * function of the module, or by the code itself. */
static void drop_fields(hia_emit *e, LLVMValueRef object, const hia_ctor *ctor, uint32_t set,
                        bool is_inner) {
  for (uint32_t i = 0; i < ctor->layout.n_refs; i++) {
    hia_type type;
    if (is_in(set, i)) continue;
    LLVMValueRef ref = load_ref(e, object, ctor, i, &type);
    if (is_inner)
      drop_inner(e, ref, type);
    else
      hiaL_drop(e, ref, type);
  }
}

/* Opens a function of the module. Returns the reference. */
static LLVMValueRef open_function(hia_emit *e, LLVMValueRef f, const char *name) {
  e->function = f;
  e->context = LLVMGetParam(f, 0);
  e->local.is_terse = false;
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_open_scope(e, name, HIA_NONE);
  return LLVMGetParam(f, 1);
}

static void write_free(hia_emit *e, hia_type type, LLVMValueRef f) {
  const hia_type_entry *entry = &e->g->types->entries.data[type - HIA_FIRST_TYPE];
  LLVMValueRef object = open_function(e, f, "hia_free");
  LLVMBasicBlockRef other = hiaL_block(e, "other");
  LLVMValueRef number = hiaL_header_ctor(e, object);
  LLVMValueRef choice = LLVMBuildSwitch(e->b, number, other, entry->n);
  for (uint32_t i = 0; i < entry->n; i++) {
    const hia_ctor *ctor = hiaL_ctor(e, type, i);
    if (!ctor->n) continue;
    LLVMBasicBlockRef arm = hiaL_block(e, "ctor");
    LLVMAddCase(choice, hiaL_number(e, 32, i), arm);
    hiaL_at(e, arm);
    drop_fields(e, object, ctor, 0, true);
    hiaL_free_block(e, object, ctor->layout.size);
    LLVMBuildRetVoid(e->b);
  }
  hiaL_at(e, other);
  LLVMBuildUnreachable(e->b);
}

static void write_drop(hia_emit *e, LLVMValueRef f) {
  LLVMValueRef ref = open_function(e, f, "hia_drop");
  LLVMBasicBlockRef done = hiaL_block(e, "done");
  begin_drop(e, ref, done);
  free_of_base(e, ref, LLVMGetParam(f, 2));
  LLVMBuildBr(e->b, done);
  hiaL_at(e, done);
  LLVMBuildRetVoid(e->b);
}

/* Functions that free call the one that gives up. */
void hiaL_write_counts(hia_emit *e) {
  for (uint32_t i = 0; e->unit.frees && i < e->g->types->entries.len; i++)
    if (e->unit.frees[i]) write_free(e, HIA_FIRST_TYPE + i, e->unit.frees[i]);
  if (e->unit.drop) write_drop(e, e->unit.drop);
  if (!e->unit.share) return;
  count_up(e, open_function(e, e->unit.share, "hia_share"));
  LLVMBuildRetVoid(e->b);
}

/* Others stay: what is taken over is shared with them. */
static void unpack_shared(hia_emit *e, LLVMValueRef object, hia_type data, uint64_t imm) {
  LLVMValueRef args[3] = {object, hiaL_number(e, 32, hiaL_base(e, data) + HIA_IMM_A(imm)),
                          hiaL_number(e, 32, HIA_IMM_B(imm))};
  hiaL_set_debug_loc(e, HIA_NONE, false);
  hiaL_call_abi(e, HIA_ABI_hiaR_stub_unpack, args, 3);
  hiaL_no_debug_loc(e);
}

static bool is_used(const hia_emit *e, hia_value_id v) {
  return e->local.is_used && e->local.is_used[v];
}

void hiaL_emit_UNPACK(hia_emit *e, hia_node_id n) {
  uint64_t imm = hiaL_node(e, n)->imm;
  hia_type type = in_type(e, n);
  const hia_ctor *ctor = hiaL_ctor(e, type, HIA_IMM_A(imm));
  LLVMValueRef object = hiaL_in(e, n, 0), none = LLVMConstNull(e->ptr);
  hiaL_out(e, n, 0, none);
  if (!e->graph.is_counted) return;
  LLVMBasicBlockRef unique = hiaL_block(e, "unique"), shared = hiaL_block(e, "shared"),
                    join = hiaL_block(e, "unpacked"), from[2];
  LLVMValueRef is_only =
      LLVMBuildICmp(e->b, LLVMIntEQ, load_count(e, object), count_number(e, 1), "is_only");
  LLVMBuildCondBr(e->b, is_only, unique, shared);
  hiaL_at(e, unique);
  /* The only reference goes: the references that are not taken over go with it. */
  drop_fields(e, object, ctor, HIA_IMM_B(imm), false);
  if (!is_used(e, hiaG_out(e->fn, n, 0))) hiaL_free_block(e, object, ctor->layout.size);
  from[0] = hiaL_here(e);
  LLVMBuildBr(e->b, join);
  hiaL_at(e, shared);
  unpack_shared(e, object, type, imm);
  from[1] = hiaL_here(e);
  LLVMBuildBr(e->b, join);
  hiaL_at(e, join);
  LLVMValueRef token = LLVMBuildPhi(e->b, e->ptr, "token");
  LLVMAddIncoming(token, &object, &from[0], 1);
  LLVMAddIncoming(token, &none, &from[1], 1);
  hiaL_out(e, n, 0, token);
}

/* What the memory has already is written only where it is new. */
void hiaL_emit_REUSE(hia_emit *e, hia_node_id n) {
  uint32_t number = HIA_IMM_A(hiaL_node(e, n)->imm), same = HIA_IMM_B(hiaL_node(e, n)->imm);
  const hia_ctor *ctor = hiaL_ctor(e, hiaG_type(e->fn, hiaG_out(e->fn, n, 0)), number);
  LLVMValueRef token = e->graph.is_counted ? hiaL_in(e, n, 0) : LLVMConstNull(e->ptr);
  LLVMBasicBlockRef none = hiaL_block(e, "none"), join = hiaL_block(e, "object"),
                    here = hiaL_here(e);
  LLVMValueRef is_unset = LLVMBuildICmp(e->b, LLVMIntEQ, token, LLVMConstNull(e->ptr), "");
  LLVMBuildCondBr(e->b, is_unset, none, join);
  hiaL_at(e, none);
  LLVMValueRef block = hiaL_new_block(e, ctor->layout.size, hiaL_node(e, n)->loc);
  if (same) hiaL_store_header(e, block, number);
  hiaL_write_words(e, n, block, ctor, 1, same, true);
  LLVMBasicBlockRef made = hiaL_here(e);
  LLVMBuildBr(e->b, join);
  hiaL_at(e, join);
  LLVMValueRef object = LLVMBuildPhi(e->b, e->ptr, "object");
  LLVMAddIncoming(object, &token, &here, 1);
  LLVMAddIncoming(object, &block, &made, 1);
  if (!same) hiaL_store_header(e, object, number);
  hiaL_write_words(e, n, object, ctor, 1, same, false);
  hiaL_out(e, n, 0, object);
}

void hiaL_emit_FORGET(hia_emit *e, hia_node_id n) {
  if (!e->graph.is_counted) return;
  const hia_ctor *ctor = hiaL_ctor(e, in_type(e, n), HIA_IMM_A(hiaL_node(e, n)->imm));
  LLVMValueRef token = hiaL_in(e, n, 0);
  LLVMBasicBlockRef is_set = hiaL_block(e, "set"), done = hiaL_block(e, "done");
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, token, LLVMConstNull(e->ptr), ""), done,
                  is_set);
  hiaL_at(e, is_set);
  hiaL_free_block(e, token, ctor->layout.size);
  LLVMBuildBr(e->b, done);
  hiaL_at(e, done);
}

void hiaL_open_counts(hia_emit *e) {
  const hia_fn *fn = e->fn;
  e->local.is_terse = e->graph.notes_rows && hiaL_has_blocks(e->g, fn);
  bool has_unpack = false;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    has_unpack |= fn->nodes.data[n].op == HIA_OP_UNPACK;
  if (!has_unpack) return;
  e->local.is_used = HIA_NEW_ARRAY(&e->comp->scratch, bool, fn->values.len);
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    for (uint32_t i = 0; i < fn->nodes.data[n].n_ins; i++)
      e->local.is_used[hiaG_in(fn, n, i)] = true;
}
