/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Forks (runtime/native/fork.h): calls that another worker may make.
 *
 * One would expect a fork to allocate a task. A latent fork is known to its frame only, as in lazy
 * task creation (Mohr, Kranz, Halstead 1991; Feeley 1993). The frame of a function that forks holds
 * a hia_fork_frame: a byte for each open fork, and the values from which their arguments are
 * computed. A value is kept once, however many forks need it: n for fib(n - 1) and fib(n - 3).
 *
 * Which forks are open at a call is known when the call is compiled. The number that stands for
 * them (HIA_FORKS_) becomes the column of the call's debug location. What the numbers mean is in a
 * table in an ELF section of its own, which jit/llvm/frames.c reads from the object file. The
 * address of the hia_fork_frame is recorded by assembly that adds no instruction (HIA_ARCH_FRAME).
 * That assembly also lets the memory escape, so LLVM assumes that every call may read and change
 * it, which is true.
 *
 * The frame is written where the fork stands, even if no poll follows on that path. Writing it
 * later, in the bodies of an unrolled recursion that make calls, was faster for fib, whose bodies
 * are mostly leaves, and slower for tak, where a flag had to record whether it had been written.
 * Since then leaves have become functions of their own (leaf.c). */
#include "lower/function/function.h"
#include "runtime/native/arch/arch.h"
#include <stddef.h>

/* ---- the table ---- */

/* 32-bit words: n, then n functions of HIA_FORK_FUNCTION_WORDS; n, then n sites; n, then n
 * arguments. */

static void begin_table(const hia_emit *e, hia_u32vec *all, const hia_u32vec *part, uint32_t row) {
  hiaR_push(&e->comp->arena, all, part->len / row);
  for (uint32_t i = 0; i < part->len; i++) hiaR_push(&e->comp->arena, all, part->data[i]);
}

void hiaL_write_forks(hia_emit *e) {
  if (!e->unit.fork_functions.len) return;
  hia_u32vec all = {0};
  begin_table(e, &all, &e->unit.fork_functions, HIA_FORK_FUNCTION_WORDS);
  begin_table(e, &all, &e->unit.fork_sites, HIA_FORK_SITE_WORDS);
  begin_table(e, &all, &e->unit.fork_args, HIA_FORK_ARG_WORDS);
  LLVMTypeRef i32 = e->types[HIA_I32];
  LLVMValueRef *words = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, all.len);
  for (uint32_t i = 0; i < all.len; i++) words[i] = LLVMConstInt(i32, all.data[i], false);
  LLVMValueRef table = LLVMAddGlobal(e->module, LLVMArrayType2(i32, all.len), "hia_forks");
  LLVMSetInitializer(table, LLVMConstArray2(i32, words, all.len));
  LLVMSetGlobalConstant(table, true);
  if (e->options->object)
    hiaL_keep(e, table);
  else
    LLVMSetVisibility(table, LLVMHiddenVisibility);
  LLVMSetSection(table, HIA_FORK_SECTION);
}

/* ---- what the frame holds ---- */

static LLVMValueRef frame_at(hia_emit *e, size_t offset) {
  LLVMValueRef index = LLVMConstInt(e->types[HIA_I64], offset, false);
  return LLVMBuildInBoundsGEP2(e->b, e->i8, e->local.fork_frame, &index, 1, "kept");
}
static LLVMValueRef word_at(hia_emit *e, uint32_t word) {
  return frame_at(e, offsetof(hia_fork_frame, words) + word * sizeof(hia_word));
}

/* True if the loop calls or forks. While forks are open, such a loop has its safepoint at the start
 * of its rounds, with the number of the open forks as its column. Other loops keep that number in
 * the frame, and get their safepoint after LLVM's passes (rounds.c). */
bool hiaL_has_calls(const hia_emit *e, hia_region_id head) {
  const hia_region *region = &e->fn->regions.data[head];
  return e->local.calls_before[region->first] != e->local.calls_before[region->last];
}

static void count_calls(hia_emit *e) {
  const hia_fn *fn = e->fn;
  e->local.calls_before = HIA_NEW_ARRAY(&e->comp->scratch, uint32_t, (size_t)fn->nodes.len + 1);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    unsigned op = fn->nodes.data[n].op;
    e->local.calls_before[n + 1] =
        e->local.calls_before[n] + (op == HIA_OP_CALL_I || op == HIA_OP_FORK);
  }
}

/* True if the function has loops without calls. During those words[0] has the number of the open
 * forks. */
static bool has_quiet_loops(const hia_emit *e) {
  for (hia_region_id r = 0; r < e->fn->regions.len; r++)
    if (e->fn->regions.data[r].kind == HIA_REGION_HEAD && !hiaL_has_calls(e, r)) return true;
  return false;
}

static LLVMValueRef frame_size(hia_emit *e) {
  return LLVMConstInt(e->types[HIA_I64], 1 + e->local.n_fork_words, false);
}

void hiaL_open_forks(hia_emit *e) {
  if (!hiaL_does(e, e->id, HIA_E_FORKS) || e->options->unchecked) return;
  count_calls(e);
  e->local.keeps_number = has_quiet_loops(e);
  e->local.n_fork_words = e->local.keeps_number;
  e->local.first_site = e->unit.fork_sites.len / HIA_FORK_SITE_WORDS;
  e->local.fork_frame = LLVMBuildArrayAlloca(e->b, e->types[HIA_I64], frame_size(e), "forks");
  LLVMSetAlignment(e->local.fork_frame, sizeof(hia_word));
}

/* Builds assembly with two operands, a word of the frame in memory and a number. It lets the frame
 * escape. */
static void build_asm(hia_emit *e, const char *text, LLVMValueRef word, uint32_t number) {
  static const char constraints[] = "*m,i,~{memory}", name[] = "elementtype";
  LLVMTypeRef i32 = e->types[HIA_I32], types[2] = {e->ptr, i32};
  LLVMTypeRef type = LLVMFunctionType(e->void_type, types, 2, false);
  LLVMValueRef assembly =
      LLVMGetInlineAsm(type, text, strlen(text), constraints, sizeof constraints - 1, true, false,
                       LLVMInlineAsmDialectATT, false);
  LLVMValueRef args[2] = {word, LLVMConstInt(i32, number, false)};
  LLVMValueRef call = LLVMBuildCall2(e->b, type, assembly, args, 2, "");
  unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
  LLVMAddCallSiteAttribute(call, 1, LLVMCreateTypeAttribute(e->llvm, kind, e->types[HIA_I64]));
}

void hiaL_record_forks(hia_emit *e) {
  if (!e->local.fork_frame) return;
  build_asm(e, HIA_ARCH_FRAME, e->local.fork_frame,
            e->unit.fork_functions.len / HIA_FORK_FUNCTION_WORDS);
  hiaL_keep_none(e, e->local.check);
}

void hiaL_close_forks(hia_emit *e) {
  if (!e->local.fork_frame) return;
  LLVMSetOperand(e->local.fork_frame, 0, frame_size(e));
  uint32_t n_sites = e->unit.fork_sites.len / HIA_FORK_SITE_WORDS - e->local.first_site;
  uint32_t row[HIA_FORK_FUNCTION_WORDS] = {e->local.first_site, n_sites, e->local.keeps_number};
  for (uint32_t i = 0; i < HIA_FORK_FUNCTION_WORDS; i++)
    hiaR_push(&e->comp->arena, &e->unit.fork_functions, row[i]);
  e->local.fork_frame = NULL;
}

/* The loop gets its safepoint after LLVM's passes. Until then an empty instruction shows LLVM that
 * thieves may cause the frame to be read and changed during the loop. */
void hiaL_keep_number(hia_emit *e, uint32_t number) {
  LLVMValueRef value = LLVMConstInt(e->types[HIA_I32], number, false);
  LLVMBuildStore(e->b, value, word_at(e, 0));
  build_asm(e, "", word_at(e, 0), number);
}

void hiaL_keep_none(hia_emit *e, hia_region_id r) {
  if (!e->local.fork_frame || !e->local.keeps_number || e->local.keeps_in != HIA_NONE) return;
  hiaL_keep_number(e, HIA_FORKS_NONE);
  e->local.keeps_in = r;
}

/* ---- forks ---- */

/* The word that holds a value while any fork needs it: the word where it is kept already, or the
 * first free word. */
static uint32_t keep(hia_emit *e, LLVMValueRef value) {
  uint32_t word = e->local.keeps_number;
  for (uint32_t i = 0; i < e->local.kept.len; i++) {
    if (e->local.kept.data[i].value == value) return e->local.kept.data[i].word;
    /* Kept values are in the order of their words, and are released in the opposite order. */
    word = e->local.kept.data[i].word + 1;
  }
  if (word >= e->local.n_fork_words) e->local.n_fork_words = word + 1;
  hia_fork_value kept = {value, word, e->local.forks.len};
  hiaR_push(&e->comp->scratch, &e->local.kept, kept);
  return word;
}

/* Strips additions of constants off an integer: returns the rest, and the sum of the constants. */
static LLVMValueRef without_addend(LLVMValueRef value, hia_type t, int64_t *addend) {
  *addend = 0;
  if (t != HIA_I32 && t != HIA_I64) return value;
  uint64_t sum = 0;
  for (;;) {
    LLVMValueRef add = LLVMIsABinaryOperator(value);
    LLVMOpcode op = add ? LLVMGetInstructionOpcode(add) : LLVMRet;
    if (op != LLVMAdd && op != LLVMSub) break;
    LLVMValueRef constant = LLVMIsAConstantInt(LLVMGetOperand(add, 1));
    if (!constant) break;
    uint64_t c = (uint64_t)LLVMConstIntGetSExtValue(constant);
    sum = op == LLVMAdd ? sum + c : sum - c;
    value = LLVMGetOperand(add, 0);
  }
  *addend = t == HIA_I32 ? (int32_t)(uint32_t)sum : (int64_t)sum;
  return value;
}

static hia_fork_handing handing_of(const hia_emit *e, const hia_fn *callee, uint32_t param,
                                   hia_value_id v) {
  if (!callee->owns || !callee->owns[param] || !e->graph.is_counted) return HIA_FORK_LENDS;
  for (uint32_t i = 0; i < e->local.given.len; i++)
    if (e->local.given.data[i] == v) return HIA_FORK_GIVES;
  return HIA_FORK_SHARES;
}

static bool may_hold_pending(const hia_emit *e, hia_type type) {
  const hia_types *types = e->g->types;
  bool *marks = HIA_NEW_ARRAY(&e->comp->scratch, bool, types->entries.len + 1);
  hiaG_mark_parts(types, type, marks);
  for (uint32_t t = 0; t < types->entries.len; t++)
    if (marks[t] && (types->entries.data[t].kind == HIA_KIND_TENSOR || e->graph.owes[t]))
      return true;
  return false;
}

/* The array that a comprehension fills has what this worker has put there, which the other does not
 * look at. */
static hia_fork_holding holding_of(const hia_emit *e, const hia_fn *callee, uint32_t param) {
  hia_type t = callee->params[param];
  if (callee->is_halving && param == 0) return HIA_FORK_HOLDS_NOTHING;
  if (hiaG_type_kind(e->g->types, t) == HIA_KIND_TENSOR) return HIA_FORK_HOLDS_TENSOR;
  return may_hold_pending(e, t) ? HIA_FORK_HOLDS_TENSORS : HIA_FORK_HOLDS_NOTHING;
}

void hiaL_emit_GIVE(hia_emit *e, hia_node_id n) {
  hiaR_push(&e->comp->scratch, &e->local.given, hiaG_in(e->fn, n, 0));
}

static void add_arg(hia_emit *e, const hia_fn *callee, uint32_t param, LLVMValueRef value,
                    hia_fork_handing handing) {
  hia_type t = callee->params[param];
  int64_t addend;
  value = without_addend(value, t, &addend);
  uint32_t word = HIA_NONE;
  if (LLVMIsAConstantInt(value)) { /* no constant was stripped: LLVM would have folded the sum */
    addend = t == HIA_BOOL ? (int64_t)LLVMConstIntGetZExtValue(value)
                           : (int64_t)LLVMConstIntGetSExtValue(value);
  } else {
    word = keep(e, value);
  }
  uint32_t how = (uint32_t)hiaR_repr(t) | (uint32_t)handing << 16;
  how |= (uint32_t)holding_of(e, callee, param) << 24;
  uint32_t row[HIA_FORK_ARG_WORDS] = {word, how, (uint32_t)(uint64_t)addend,
                                      (uint32_t)((uint64_t)addend >> 32)};
  for (uint32_t i = 0; i < HIA_FORK_ARG_WORDS; i++)
    hiaR_push(&e->comp->arena, &e->unit.fork_args, row[i]);
}

/* Makes the site of a fork; NONE: no thief can take it. */
static uint32_t new_site(hia_emit *e, hia_node_id n) {
  hia_fn_id callee = HIA_IMM_A(hiaL_node(e, n)->imm);
  const hia_fn *fn = hiaG_fn(e->g, callee);
  uint32_t index = e->local.forks.len,
           site = e->unit.fork_sites.len / HIA_FORK_SITE_WORDS - e->local.first_site;
  if (!e->local.fork_frame || index >= HIA_MAX_OPEN_FORKS ||
      site + HIA_FORKS_OPEN >= HIA_FORKS_LIMIT)
    return HIA_NONE;
  uint32_t around = index ? e->local.forks.data[index - 1].site : HIA_NONE;
  uint32_t row[HIA_FORK_SITE_WORDS] = {around,       index,
                                       fn->n_params, fn->n_results,
                                       callee,       e->unit.fork_args.len / HIA_FORK_ARG_WORDS};
  for (uint32_t i = 0; i < HIA_FORK_SITE_WORDS; i++)
    hiaR_push(&e->comp->arena, &e->unit.fork_sites, row[i]);
  for (uint32_t i = 0; i < fn->n_params; i++)
    add_arg(e, fn, i, hiaL_in(e, n, i), handing_of(e, fn, i, hiaG_in(e->fn, n, i)));
  return site;
}

void hiaL_emit_FORK(hia_emit *e, hia_node_id n) {
  hia_latent fork = {n, new_site(e, n)};
  e->local.given.len = 0;
  uint32_t index = e->local.forks.len;
  hiaR_push(&e->comp->scratch, &e->local.forks, fork);
  if (fork.site == HIA_NONE) return;
  for (uint32_t k = 0; k < e->local.kept.len; k++)
    if (e->local.kept.data[k].fork == index)
      LLVMBuildStore(e->b, e->local.kept.data[k].value, word_at(e, e->local.kept.data[k].word));
  LLVMBuildStore(e->b, LLVMConstInt(e->i8, 0, false), frame_at(e, index));
}

/* Computes arguments of a fork of the form `value + constant` anew for the owner's call, so that
 * LLVM need not keep the sums while the fork is open. Only for sums of the fork's own region:
 * others may have uses that this point does not dominate. */
static void compute_again(hia_emit *e, hia_node_id fork) {
  const hia_node *node = hiaL_node(e, fork);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_in(e->fn, fork, i);
    if (hiaL_node(e, e->fn->values.data[v].node)->region != node->region) continue;
    int64_t addend;
    LLVMValueRef value = e->values[v];
    LLVMValueRef base = without_addend(value, hiaG_type(e->fn, v), &addend);
    if (base == value) continue;
    LLVMValueRef constant = LLVMConstInt(LLVMTypeOf(base), (uint64_t)addend, true);
    e->values[v] = LLVMBuildAdd(e->b, base, constant, "");
  }
}

void hiaL_emit_STOLEN(hia_emit *e, hia_node_id n) {
  uint32_t index = --e->local.forks.len;
  hia_latent fork = e->local.forks.data[index];
  while (e->local.kept.len && e->local.kept.data[e->local.kept.len - 1].fork == index)
    e->local.kept.len--;
  e->local.ended = index;
  compute_again(e, fork.node);
  if (fork.site == HIA_NONE) {
    hiaL_out(e, n, 0, LLVMConstInt(e->types[HIA_BOOL], 0, false));
    return;
  }
  LLVMValueRef byte = LLVMBuildLoad2(e->b, e->i8, frame_at(e, index), "is_taken");
  LLVMValueRef none = LLVMConstInt(e->i8, 0, false);
  hiaL_out(e, n, 0, LLVMBuildICmp(e->b, LLVMIntNE, byte, none, "is_taken"));
}

void hiaL_emit_JOIN(hia_emit *e, hia_node_id n) {
  const hia_node *node = hiaL_node(e, n);
  const hia_fn *fn = hiaG_fn(e->g, hiaG_callee(node));
  LLVMValueRef args[2] = {e->local.fork_frame ? e->local.fork_frame : LLVMConstNull(e->ptr),
                          LLVMConstInt(e->types[HIA_I32], e->local.ended, false)};
  hiaL_set_debug_loc(e, node->loc, node->flags & HIA_NODE_TAIL);
  LLVMValueRef words = hiaL_call_abi(e, HIA_ABI_hiaR_stub_join, args, 2);
  hiaL_no_debug_loc(e);
  hiaL_call_attribute(e, words, (unsigned)LLVMAttributeFunctionIndex, "nomerge", 0);
  e->local.ended = HIA_NONE;
  for (uint32_t i = 0; i < node->n_outs; i++)
    hiaL_out(e, n, i, hiaL_load_word(e, hiaL_word_at(e, words, i), fn->results[i]));
}
