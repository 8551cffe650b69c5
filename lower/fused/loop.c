/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The loops of fused kernels: functions of the module, without context and safepoint.
 *
 * Lanes hold the same bits as scalars do: the emitters of scalar ops build them, with vectors for
 * types. Reductions take elements in the order of runtime/tensor/sum.h.
 *
 * One would have LLVM vectorise a loop of scalars. It stays at 256 bits on machines that have 512,
 * computes the rest of a loop element by element, and takes longer. */
#include "lower/fused/fused.h"
#include "runtime/tensor/sum.h"

_Static_assert(HIA_LOOP_LANES == (int)HIA_LANES, "partial sums are lanes");
_Static_assert(HIA_FUSED_COLUMNS / HIA_SUM_BLOCK <= HIA_SUM_BLOCK, "sums of blocks are a block");

enum { MAX_PARAMS = 3 + 3 * HIA_FUSED_TERMS + HIA_FUSED_RESULTS };

/* A text that is equal for loops of equal terms, whose function has the same parameters. */
static const char *key_of(hia_emit *e, const hia_fused_plan *p) {
  hia_text text;
  hiaR_text_init(&text, &e->comp->arena);
  hiaR_text_addf(&text, p->n_cols ? "rows" : "flat");
  for (uint32_t i = 0; i < p->n_terms; i++) {
    const hia_fused_term *z = &p->terms[i];
    hiaR_text_addf(&text, ";%u:%u", z->kind, z->dtype);
    if (z->kind == HIA_TERM_LOAD)
      hiaR_text_addf(&text, ":%u:%u%s", z->spread, z->by ? 1 + z->by_dtype : 0,
                     z->pitch ? ":p" : "");
    if (z->kind != HIA_TERM_APPLY && z->kind != HIA_TERM_FOLD) continue;
    const hia_node *node = hiaL_node(e, z->node);
    hiaR_text_addf(&text, ":%u:%llu", node->op, (unsigned long long)node->imm);
    for (uint32_t k = 0; k < node->n_ins; k++) hiaR_text_addf(&text, ",%u", z->ins[k]);
  }
  for (uint32_t i = 0; i < p->n; i++) hiaR_text_addf(&text, ">%u", p->term[i]);
  return text.data;
}

/* A function whose nodes are the terms, on scalars: what the emitters of ops look at. */
static hia_fn *scalar_function(hia_emit *e, const hia_fused_plan *p) {
  hia_arena *arena = &e->comp->scratch;
  hia_fn *fn = HIA_NEW_ARRAY(arena, hia_fn, 1);
  fn->name = e->fn->name;
  for (uint32_t i = 0; i < p->n_terms; i++) {
    const hia_fused_term *z = &p->terms[i];
    hia_node node = {.op = HIA_OP_CONST, .ins = fn->edges.len, .outs = i, .n_outs = 1};
    if (z->kind == HIA_TERM_APPLY) {
      node.op = hiaL_node(e, z->node)->op;
      node.imm = hiaL_node(e, z->node)->imm;
      node.n_ins = hiaL_node(e, z->node)->n_ins;
      for (uint32_t k = 0; k < node.n_ins; k++) hiaR_push(arena, &fn->edges, z->ins[k]);
    }
    hiaR_push(arena, &fn->nodes, node);
    hiaR_push(arena, &fn->values, (hia_value_info){i, z->dtype});
  }
  return fn;
}

/* ---- what is built ---- */

typedef struct fold {
  uint32_t op, of;     /* step */
  LLVMTypeRef type;    /* of an element */
  LLVMValueRef lanes;  /* variables: partial sums; the best elements; truths */
  LLVMValueRef blocks; /* sums: of blocks */
  LLVMValueRef value;  /* sums: of a block, and then of the row */
  LLVMValueRef at;     /* best elements: their columns, i32; -1: none yet */
} fold;

typedef struct loop {
  hia_emit *e;
  const hia_fused_plan *p;
  LLVMTypeRef scalars[HIA_N_REPRS]; /* what e->types is outside of the loop */
  LLVMValueRef function, begin, end, n_cols;
  LLVMValueRef from[HIA_FUSED_TERMS], by[HIA_FUSED_TERMS]; /* parameters; from: or of this row */
  LLVMValueRef pitch[HIA_FUSED_TERMS];                     /* parameters */
  LLVMValueRef to[HIA_FUSED_RESULTS];
  fold folds[HIA_FUSED_TERMS];
  bool adds; /* a reduction is a sum or a product */
} loop;

static LLVMTypeRef vector_of(LLVMTypeRef type) { return LLVMVectorType(type, HIA_LOOP_LANES); }

/* A bool is a byte in memory. */
static LLVMTypeRef stored_type(const loop *l, hia_type dtype) {
  return dtype == HIA_BOOL ? l->e->i8 : l->scalars[dtype];
}

static LLVMValueRef number32(const loop *l, uint32_t n) {
  return LLVMConstInt(l->scalars[HIA_I32], n, false);
}
static LLVMValueRef number64(const loop *l, uint64_t n) {
  return LLVMConstInt(l->scalars[HIA_I64], n, false);
}

static LLVMValueRef splat(const loop *l, LLVMValueRef scalar) {
  LLVMBuilderRef b = l->e->b;
  LLVMTypeRef type = vector_of(LLVMTypeOf(scalar));
  LLVMValueRef zero = LLVMConstNull(vector_of(l->scalars[HIA_I32]));
  LLVMValueRef one = LLVMBuildInsertElement(b, LLVMGetPoison(type), scalar, number32(l, 0), "");
  return LLVMBuildShuffleVector(b, one, LLVMGetPoison(type), zero, "splat");
}

/* 0, 1, ... */
static LLVMValueRef lane_numbers(const loop *l) {
  LLVMValueRef lanes[HIA_LOOP_LANES];
  for (unsigned k = 0; k < HIA_LOOP_LANES; k++) lanes[k] = number32(l, k);
  return LLVMConstVector(lanes, HIA_LOOP_LANES);
}

/* Lanes i + 0, i + 1, ... that are below n. */
static LLVMValueRef lanes_below(const loop *l, LLVMValueRef i, LLVMValueRef n) {
  LLVMBuilderRef b = l->e->b;
  LLVMValueRef left = LLVMBuildSub(b, n, i, "left");
  left = LLVMBuildTrunc(b, left, l->scalars[HIA_I32], "");
  return LLVMBuildICmp(b, LLVMIntSLT, lane_numbers(l), splat(l, left), "mask");
}

/* The vector, or where the mask (NULL: all) is false, the other one. */
static LLVMValueRef masked_by(const loop *l, LLVMValueRef mask, LLVMValueRef value,
                              LLVMValueRef other) {
  return mask ? LLVMBuildSelect(l->e->b, mask, value, other, "") : value;
}

/* ---- variables in the frame ---- */

/* The stack is aligned for words, not for vectors. */
enum { VARIABLE_ALIGN = 8 };

static LLVMValueRef new_variable(const loop *l, LLVMTypeRef type, const char *name) {
  LLVMValueRef variable = LLVMBuildAlloca(l->e->b, type, name);
  LLVMSetAlignment(variable, VARIABLE_ALIGN);
  return variable;
}
static LLVMValueRef load_variable(const loop *l, LLVMValueRef variable) {
  LLVMValueRef value = LLVMBuildLoad2(l->e->b, LLVMGetAllocatedType(variable), variable, "");
  LLVMSetAlignment(value, VARIABLE_ALIGN);
  return value;
}
static void store_variable(const loop *l, LLVMValueRef value, LLVMValueRef variable) {
  LLVMSetAlignment(LLVMBuildStore(l->e->b, value, variable), VARIABLE_ALIGN);
}

/* ---- memory ---- */

static LLVMValueRef masked(const loop *l, const char *name, LLVMTypeRef type, LLVMValueRef *args,
                           unsigned n) {
  LLVMTypeRef types[2] = {type, l->e->ptr};
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(l->e->module, id, types, 2);
  return LLVMBuildCall2(l->e->b, LLVMGlobalGetValueType(f), f, args, n, "");
}

static LLVMValueRef element_at(const loop *l, hia_type dtype, LLVMValueRef from, LLVMValueRef i) {
  return LLVMBuildGEP2(l->e->b, stored_type(l, dtype), from, &i, 1, "at");
}

static LLVMValueRef load_lanes(const loop *l, hia_type dtype, LLVMValueRef at, LLVMValueRef mask) {
  LLVMBuilderRef b = l->e->b;
  LLVMTypeRef type = vector_of(stored_type(l, dtype));
  unsigned size = hiaR_dtype_size((hia_dtype)dtype);
  LLVMValueRef args[4] = {at, number32(l, size), mask, LLVMConstNull(type)};
  LLVMValueRef lanes =
      mask ? masked(l, "llvm.masked.load", type, args, 4) : LLVMBuildLoad2(b, type, at, "lanes");
  if (!mask) LLVMSetAlignment(lanes, size);
  if (dtype != HIA_BOOL) return lanes;
  return LLVMBuildICmp(b, LLVMIntNE, lanes, LLVMConstNull(type), "");
}

static LLVMValueRef load_element(const loop *l, hia_type dtype, LLVMValueRef at) {
  LLVMTypeRef type = stored_type(l, dtype);
  LLVMValueRef value = LLVMBuildLoad2(l->e->b, type, at, "element");
  if (dtype != HIA_BOOL) return value;
  return LLVMBuildICmp(l->e->b, LLVMIntNE, value, LLVMConstNull(type), "");
}

static void store_lanes(const loop *l, hia_type dtype, LLVMValueRef at, LLVMValueRef value,
                        LLVMValueRef mask) {
  LLVMTypeRef type = vector_of(stored_type(l, dtype));
  if (dtype == HIA_BOOL) value = LLVMBuildZExt(l->e->b, value, type, "");
  unsigned size = hiaR_dtype_size((hia_dtype)dtype);
  LLVMValueRef args[4] = {value, at, number32(l, size), mask};
  if (mask)
    masked(l, "llvm.masked.store", type, args, 4);
  else
    LLVMSetAlignment(LLVMBuildStore(l->e->b, value, at), size);
}

/* ---- reductions ---- */

static bool is_adding(uint32_t op) {
  return op == HIA_OP_SUM || op == HIA_OP_MEAN || op == HIA_OP_PROD;
}
static bool is_logic(uint32_t op) { return op == HIA_OP_ANY || op == HIA_OP_ALL; }
static bool is_float(LLVMTypeRef type) { return LLVMGetTypeKind(type) != LLVMIntegerTypeKind; }

/* What partial results begin with. */
static LLVMValueRef neutral(const fold *z) {
  bool is_one = z->op == HIA_OP_PROD || z->op == HIA_OP_ALL;
  LLVMValueRef one = is_float(z->type) ? LLVMConstReal(z->type, 1) : LLVMConstInt(z->type, 1, 0);
  LLVMValueRef lanes[HIA_LOOP_LANES];
  for (unsigned k = 0; k < HIA_LOOP_LANES; k++) lanes[k] = is_one ? one : LLVMConstNull(z->type);
  return LLVMConstVector(lanes, HIA_LOOP_LANES);
}

static LLVMValueRef added(const loop *l, const fold *z, LLVMValueRef a, LLVMValueRef b) {
  LLVMOpcode op = z->op == HIA_OP_PROD ? (is_float(z->type) ? LLVMFMul : LLVMMul)
                                       : (is_float(z->type) ? LLVMFAdd : LLVMAdd);
  return LLVMBuildBinOp(l->e->b, op, a, b, "");
}

/* True in lanes where `v`, which comes later, is to be taken instead of `best`. */
static LLVMValueRef is_better(const loop *l, const fold *z, LLVMValueRef v, LLVMValueRef best) {
  LLVMBuilderRef b = l->e->b;
  bool is_max = z->op == HIA_OP_MAX_OF || z->op == HIA_OP_ARG_MAX;
  if (!is_float(z->type)) return LLVMBuildICmp(b, is_max ? LLVMIntSGT : LLVMIntSLT, v, best, "");
  LLVMValueRef beats = LLVMBuildFCmp(b, is_max ? LLVMRealOGT : LLVMRealOLT, v, best, "");
  LLVMValueRef is_nan = LLVMBuildFCmp(b, LLVMRealUNO, v, v, "");
  LLVMValueRef was_none = LLVMBuildFCmp(b, LLVMRealORD, best, best, "");
  return LLVMBuildOr(b, beats, LLVMBuildAnd(b, is_nan, was_none, ""), "is_better");
}

/* Lanes w, w + 1, ... */
static LLVMValueRef upper(const loop *l, LLVMValueRef lanes, unsigned w) {
  LLVMValueRef numbers[HIA_LOOP_LANES];
  for (unsigned k = 0; k < HIA_LOOP_LANES; k++) numbers[k] = number32(l, k < w ? k + w : k);
  return LLVMBuildShuffleVector(l->e->b, lanes, LLVMGetPoison(LLVMTypeOf(lanes)),
                                LLVMConstVector(numbers, HIA_LOOP_LANES), "");
}

static LLVMValueRef lane_0(const loop *l, LLVMValueRef lanes) {
  return LLVMBuildExtractElement(l->e->b, lanes, number32(l, 0), "");
}

static LLVMValueRef sum_of_lanes(const loop *l, const fold *z, LLVMValueRef lanes) {
  for (unsigned w = HIA_LOOP_LANES / 2; w; w /= 2) lanes = added(l, z, lanes, upper(l, lanes, w));
  return lane_0(l, lanes);
}

/* The first of the best: *at becomes its column. */
static LLVMValueRef best_of_lanes(const loop *l, const fold *z, LLVMValueRef *at) {
  LLVMBuilderRef b = l->e->b;
  LLVMValueRef best = load_variable(l, z->lanes),
               none = LLVMConstNull(LLVMTypeOf(*at = load_variable(l, z->at)));
  for (unsigned w = HIA_LOOP_LANES / 2; w; w /= 2) {
    LLVMValueRef other = upper(l, best, w), other_at = upper(l, *at, w);
    LLVMValueRef is_there = LLVMBuildICmp(b, LLVMIntSGE, other_at, none, "");
    LLVMValueRef is_alone = LLVMBuildICmp(b, LLVMIntSLT, *at, none, "");
    LLVMValueRef is_earlier = LLVMBuildICmp(b, LLVMIntSLT, other_at, *at, "");
    LLVMValueRef is_as_good = LLVMBuildNot(b, is_better(l, z, best, other), "");
    LLVMValueRef takes = LLVMBuildOr(b, is_better(l, z, other, best),
                                     LLVMBuildAnd(b, is_as_good, is_earlier, ""), "");
    takes = LLVMBuildAnd(b, is_there, LLVMBuildOr(b, is_alone, takes, ""), "takes");
    best = LLVMBuildSelect(b, takes, other, best, "");
    *at = LLVMBuildSelect(b, takes, other_at, *at, "");
  }
  *at = lane_0(l, *at);
  return lane_0(l, best);
}

/* Makes the variables of reduction k, in the first block of the function. */
static void make_variables(loop *l, uint32_t k) {
  hia_emit *e = l->e;
  fold *z = &l->folds[k];
  const hia_fused_term *s = &l->p->terms[k];
  z->op = hiaL_node(e, s->node)->op;
  z->of = s->ins[0];
  z->type = l->scalars[l->p->terms[z->of].dtype];
  z->lanes = new_variable(l, vector_of(z->type), "lanes");
  if (is_adding(z->op)) {
    l->adds = true;
    z->blocks = new_variable(l, vector_of(z->type), "blocks");
    z->value = new_variable(l, z->type, "sum");
  } else if (!is_logic(z->op)) {
    z->at = new_variable(l, vector_of(l->scalars[HIA_I32]), "columns");
  }
}

static void begin_row(const loop *l, const fold *z) {
  store_variable(l, neutral(z), z->blocks ? z->blocks : z->lanes);
  if (z->at) store_variable(l, LLVMConstAllOnes(vector_of(l->scalars[HIA_I32])), z->at);
}

/* Elements of columns i, i + 1, ... */
static void take_lanes(const loop *l, const fold *z, LLVMValueRef v, LLVMValueRef i,
                       LLVMValueRef mask) {
  LLVMBuilderRef b = l->e->b;
  LLVMValueRef lanes = load_variable(l, z->lanes);
  if (is_logic(z->op)) {
    v = masked_by(l, mask, v, neutral(z));
    v = z->op == HIA_OP_ANY ? LLVMBuildOr(b, lanes, v, "") : LLVMBuildAnd(b, lanes, v, "");
  } else if (is_adding(z->op)) {
    v = masked_by(l, mask, added(l, z, lanes, v), lanes);
  } else {
    LLVMValueRef at = load_variable(l, z->at);
    LLVMValueRef column = splat(l, LLVMBuildTrunc(b, i, l->scalars[HIA_I32], ""));
    column = LLVMBuildAdd(b, column, lane_numbers(l), "column");
    LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntSLT, at, LLVMConstNull(LLVMTypeOf(at)), "");
    LLVMValueRef takes = LLVMBuildOr(b, is_first, is_better(l, z, v, lanes), "takes");
    if (mask) takes = LLVMBuildAnd(b, takes, mask, "");
    store_variable(l, LLVMBuildSelect(b, takes, column, at, ""), z->at);
    v = LLVMBuildSelect(b, takes, v, lanes, "");
  }
  store_variable(l, v, z->lanes);
}

/* A block of a sum begins at column `first`. */
static void end_block(const loop *l, const fold *z, LLVMValueRef first) {
  LLVMBuilderRef b = l->e->b;
  LLVMValueRef sum = sum_of_lanes(l, z, load_variable(l, z->lanes));
  store_variable(l, sum, z->value);
  LLVMValueRef lane = LLVMBuildUDiv(b, first, number64(l, HIA_SUM_BLOCK), "");
  lane = LLVMBuildAnd(b, lane, number64(l, HIA_LOOP_LANES - 1), "");
  lane = splat(l, LLVMBuildTrunc(b, lane, l->scalars[HIA_I32], "lane"));
  LLVMValueRef is_its = LLVMBuildICmp(b, LLVMIntEQ, lane, lane_numbers(l), "");
  LLVMValueRef blocks = load_variable(l, z->blocks);
  LLVMValueRef sums = added(l, z, blocks, splat(l, sum));
  store_variable(l, LLVMBuildSelect(b, is_its, sums, blocks, ""), z->blocks);
}

/* Sums of more than one block become the sum of these. */
static void add_blocks(const loop *l) {
  hia_emit *e = l->e;
  LLVMBasicBlockRef several = hiaL_block(e, "blocks"), next = hiaL_block(e, "summed");
  LLVMValueRef is_long =
      LLVMBuildICmp(e->b, LLVMIntUGT, l->n_cols, number64(l, HIA_SUM_BLOCK), "is_long");
  hiaL_unlikely(e, is_long, several, next);
  hiaL_at(e, several);
  for (uint32_t k = 0; k < l->p->n_terms; k++) {
    const fold *z = &l->folds[k];
    if (z->blocks) store_variable(l, sum_of_lanes(l, z, load_variable(l, z->blocks)), z->value);
  }
  LLVMBuildBr(e->b, next);
  hiaL_at(e, next);
}

static LLVMValueRef end_row(const loop *l, const fold *z) {
  LLVMBuilderRef b = l->e->b;
  if (is_logic(z->op)) {
    LLVMTypeRef bits = LLVMIntTypeInContext(l->e->llvm, HIA_LOOP_LANES);
    LLVMValueRef all = LLVMBuildBitCast(b, load_variable(l, z->lanes), bits, "");
    bool is_any = z->op == HIA_OP_ANY;
    LLVMValueRef than = is_any ? LLVMConstNull(bits) : LLVMConstAllOnes(bits);
    return LLVMBuildICmp(b, is_any ? LLVMIntNE : LLVMIntEQ, all, than, "");
  }
  if (is_adding(z->op)) {
    LLVMValueRef sum = load_variable(l, z->value);
    if (z->op != HIA_OP_MEAN) return sum;
    return LLVMBuildFDiv(b, sum, LLVMBuildUIToFP(b, l->n_cols, z->type, ""), "mean");
  }
  LLVMValueRef at, best = best_of_lanes(l, z, &at);
  if (z->op == HIA_OP_MAX_OF || z->op == HIA_OP_MIN_OF) return best;
  return LLVMBuildZExt(b, at, l->scalars[HIA_I64], "");
}

/* ---- rounds ---- */

/* One round: HIA_LOOP_LANES elements from `i` on, or those that the mask has. */
static void build_round(loop *l, LLVMValueRef i, LLVMValueRef mask) {
  hia_emit *e = l->e;
  const hia_fused_plan *p = l->p;
  for (uint32_t k = 0; k < p->n_terms; k++) {
    const hia_fused_term *z = &p->terms[k];
    bool is_row_wide = z->spread == HIA_EACH || z->spread == HIA_EACH_COLUMN;
    if (z->kind == HIA_TERM_APPLY)
      hiaL_emit_node(e, k);
    else if (z->kind == HIA_TERM_FOLD)
      take_lanes(l, &l->folds[k], e->values[l->folds[k].of], i, mask);
    else if (z->kind == HIA_TERM_LOAD && is_row_wide)
      e->values[k] = load_lanes(l, z->dtype, element_at(l, z->dtype, l->from[k], i), mask);
  }
  for (uint32_t k = 0; k < p->n; k++) {
    const hia_fused_term *z = &p->terms[p->term[k]];
    if (z->kind == HIA_TERM_FOLD) continue;
    store_lanes(l, z->dtype, element_at(l, z->dtype, l->to[k], i), e->values[p->term[k]], mask);
  }
}

/* All rounds from begin to end. With AVX-512 a mask costs nothing, so the last elements are
 * computed by the same code as all others. Elsewhere only they have one. */
static void build_rounds(loop *l, LLVMValueRef begin, LLVMValueRef end) {
  hia_emit *e = l->e;
  bool has_masks = strstr(e->options->features, "+avx512vl") != NULL;
  LLVMBasicBlockRef before = hiaL_here(e), head = hiaL_block(e, "head"),
                    body = hiaL_block(e, "lanes"), rest = hiaL_block(e, "rest"),
                    tail = has_masks ? NULL : hiaL_block(e, "tail"), exit = hiaL_block(e, "exit");
  LLVMBuildBr(e->b, head);
  hiaL_at(e, head);
  LLVMValueRef i = LLVMBuildPhi(e->b, l->scalars[HIA_I64], "i");
  LLVMValueRef next = LLVMBuildAdd(e->b, i, number64(l, HIA_LOOP_LANES), "next");
  LLVMValueRef goes_on = LLVMBuildICmp(e->b, has_masks ? LLVMIntULT : LLVMIntULE,
                                       has_masks ? i : next, end, "goes_on");
  LLVMBuildCondBr(e->b, goes_on, body, rest);
  hiaL_at(e, body);
  build_round(l, i, has_masks ? lanes_below(l, i, end) : NULL);
  LLVMBasicBlockRef last = hiaL_here(e);
  LLVMBuildBr(e->b, head);
  LLVMValueRef from[2] = {begin, next};
  LLVMBasicBlockRef blocks[2] = {before, last};
  LLVMAddIncoming(i, from, blocks, 2);
  hiaL_at(e, rest);
  if (tail) {
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, i, end, ""), tail, exit);
    hiaL_at(e, tail);
    build_round(l, i, lanes_below(l, i, end));
  }
  LLVMBuildBr(e->b, exit);
  hiaL_at(e, exit);
}

/* ---- rows ---- */

/* The rounds of a row, in blocks of sums. */
static void build_blocks(loop *l) {
  hia_emit *e = l->e;
  LLVMBasicBlockRef before = hiaL_here(e), block = hiaL_block(e, "block"),
                    end = hiaL_block(e, "end_of_blocks");
  LLVMValueRef zero = number64(l, 0);
  LLVMBuildBr(e->b, block);
  hiaL_at(e, block);
  LLVMValueRef first = LLVMBuildPhi(e->b, l->scalars[HIA_I64], "first");
  LLVMValueRef next = LLVMBuildAdd(e->b, first, number64(l, HIA_SUM_BLOCK), "next");
  LLVMValueRef is_last = LLVMBuildICmp(e->b, LLVMIntULE, l->n_cols, next, "is_last");
  for (uint32_t k = 0; k < l->p->n_terms; k++)
    if (l->folds[k].blocks) store_variable(l, neutral(&l->folds[k]), l->folds[k].lanes);
  build_rounds(l, first, LLVMBuildSelect(e->b, is_last, l->n_cols, next, "to"));
  for (uint32_t k = 0; k < l->p->n_terms; k++)
    if (l->folds[k].blocks) end_block(l, &l->folds[k], first);
  LLVMBasicBlockRef last = hiaL_here(e);
  LLVMBuildCondBr(e->b, is_last, end, block);
  LLVMAddIncoming(first, &zero, &before, 1);
  LLVMAddIncoming(first, &next, &last, 1);
  hiaL_at(e, end);
  add_blocks(l);
}

/* Where the elements of a row begin; values of which a row has one. */
static void find_row(loop *l, const LLVMValueRef *from, const LLVMValueRef *to, LLVMValueRef row) {
  hia_emit *e = l->e;
  const hia_fused_plan *p = l->p;
  LLVMValueRef first = LLVMBuildMul(e->b, row, l->n_cols, "first");
  for (uint32_t k = 0; k < p->n_terms; k++) {
    const hia_fused_term *z = &p->terms[k];
    if (z->kind != HIA_TERM_LOAD) continue;
    if (z->by) {
      LLVMValueRef i = load_element(l, z->by_dtype, element_at(l, z->by_dtype, l->by[k], row));
      i = LLVMBuildSExt(e->b, i, l->scalars[HIA_I64], "");
      l->from[k] = element_at(l, z->dtype, from[k], LLVMBuildMul(e->b, i, l->n_cols, ""));
    } else if (z->spread == HIA_EACH) {
      LLVMValueRef own = z->pitch ? LLVMBuildMul(e->b, row, l->pitch[k], "") : first;
      l->from[k] = element_at(l, z->dtype, from[k], own);
    } else if (z->spread == HIA_EACH_ROW) {
      e->values[k] = splat(l, load_element(l, z->dtype, element_at(l, z->dtype, from[k], row)));
    }
  }
  for (uint32_t k = 0; k < p->n; k++) {
    const hia_fused_term *z = &p->terms[p->term[k]];
    l->to[k] = element_at(l, z->dtype, to[k], z->kind == HIA_TERM_FOLD ? row : first);
  }
}

static void store_folds(loop *l) {
  hia_emit *e = l->e;
  const hia_fused_plan *p = l->p;
  for (uint32_t k = 0; k < p->n; k++) {
    const hia_fused_term *z = &p->terms[p->term[k]];
    if (z->kind != HIA_TERM_FOLD) continue;
    LLVMValueRef value = end_row(l, &l->folds[p->term[k]]);
    if (z->dtype == HIA_BOOL) value = LLVMBuildZExt(e->b, value, e->i8, "");
    LLVMBuildStore(e->b, value, l->to[k]);
  }
}

static void build_rows(loop *l) {
  hia_emit *e = l->e;
  LLVMValueRef from[HIA_FUSED_TERMS], to[HIA_FUSED_RESULTS];
  memcpy(from, l->from, sizeof from);
  memcpy(to, l->to, sizeof to);
  LLVMBasicBlockRef before = hiaL_here(e), row = hiaL_block(e, "row"), exit = hiaL_block(e, "rows");
  LLVMBuildBr(e->b, row);
  hiaL_at(e, row);
  LLVMValueRef i = LLVMBuildPhi(e->b, l->scalars[HIA_I64], "row");
  LLVMValueRef next = LLVMBuildAdd(e->b, i, number64(l, 1), "next_row");
  find_row(l, from, to, i);
  for (uint32_t k = 0; k < l->p->n_terms; k++)
    if (l->folds[k].op) begin_row(l, &l->folds[k]);
  if (l->adds)
    build_blocks(l);
  else
    build_rounds(l, number64(l, 0), l->n_cols);
  store_folds(l);
  LLVMBasicBlockRef last = hiaL_here(e);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, l->end, "goes_on"), row, exit);
  LLVMAddIncoming(i, &l->begin, &before, 1);
  LLVMAddIncoming(i, &next, &last, 1);
  hiaL_at(e, exit);
}

/* ---- the function ---- */

static LLVMValueRef new_function(hia_emit *e, const char *name, LLVMTypeRef type) {
  LLVMValueRef f = LLVMAddFunction(e->module, name, type);
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  LLVMSetLinkage(f, LLVMInternalLinkage);
  hiaL_common_attributes(e, f);
  hiaL_attribute(e, f, all, "noinline", 0);
  LLVMAddTargetDependentFunctionAttr(f, HIA_KERNEL_ATTRIBUTE, "");
  return f;
}

static LLVMValueRef declare(hia_emit *e, const hia_fused_plan *p) {
  LLVMTypeRef params[MAX_PARAMS], i64 = e->types[HIA_I64];
  uint32_t n = 0;
  params[n++] = i64;
  params[n++] = i64;
  if (p->n_cols) params[n++] = i64;
  for (uint32_t k = 0; k < p->n_terms; k++) {
    const hia_fused_term *z = &p->terms[k];
    if (z->kind == HIA_TERM_SPLAT) params[n++] = e->types[z->dtype];
    if (z->kind == HIA_TERM_LOAD) params[n++] = e->ptr;
    if (z->by) params[n++] = e->ptr;
    if (z->kind == HIA_TERM_LOAD && z->pitch) params[n++] = i64;
  }
  uint32_t first_result = n;
  for (uint32_t k = 0; k < p->n; k++) params[n++] = e->ptr;
  LLVMValueRef f = new_function(e, "hia_loop", LLVMFunctionType(e->void_type, params, n, false));
  LLVMAddTargetDependentFunctionAttr(f, "prefer-vector-width", "512");
  LLVMAddTargetDependentFunctionAttr(f, "min-legal-vector-width", "512");
  for (uint32_t i = first_result; i < n; i++) hiaL_attribute(e, f, i + 1, "noalias", 0);
  return f;
}

/* The parameters; values that are the same in all rounds. */
static void take_parameters(loop *l) {
  hia_emit *e = l->e;
  const hia_fused_plan *p = l->p;
  uint32_t n = 0;
  l->begin = LLVMGetParam(l->function, n++);
  l->end = LLVMGetParam(l->function, n++);
  if (p->n_cols) l->n_cols = LLVMGetParam(l->function, n++);
  for (uint32_t k = 0; k < p->n_terms; k++) {
    const hia_fused_term *z = &p->terms[k];
    if (z->kind == HIA_TERM_SPLAT) e->values[k] = splat(l, LLVMGetParam(l->function, n++));
    if (z->kind == HIA_TERM_LOAD) l->from[k] = LLVMGetParam(l->function, n++);
    if (z->by) l->by[k] = LLVMGetParam(l->function, n++);
    if (z->kind == HIA_TERM_LOAD && z->pitch) l->pitch[k] = LLVMGetParam(l->function, n++);
    if (z->kind == HIA_TERM_LOAD && z->spread == HIA_ONE)
      e->values[k] = splat(l, load_element(l, z->dtype, l->from[k]));
    if (z->kind == HIA_TERM_FOLD) make_variables(l, k);
  }
  for (uint32_t k = 0; k < p->n; k++) l->to[k] = LLVMGetParam(l->function, n++);
}

static LLVMValueRef build_loop(hia_emit *e, const hia_fused_plan *p) {
  /* The emitters build into the loop, from a function of scalars, whose types are vectors. */
  hia_emit outer = *e;
  LLVMBasicBlockRef here = hiaL_here(e);
  loop *l = HIA_NEW_ARRAY(&e->comp->scratch, loop, 1);
  l->e = e;
  l->p = p;
  memcpy(l->scalars, e->types, sizeof l->scalars);
  l->function = declare(e, p);
  e->function = l->function;
  hiaL_at(e, hiaL_block(e, "entry"));
  hiaL_no_debug_loc(e);
  e->values = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, p->n_terms);
  take_parameters(l);
  e->fn = scalar_function(e, p);
  for (unsigned t = 0; t <= HIA_F64; t++) e->types[t] = vector_of(l->scalars[t]);
  if (p->n_cols)
    build_rows(l);
  else
    build_rounds(l, l->begin, l->end);
  LLVMBuildRetVoid(e->b);
  memcpy(e->types, l->scalars, sizeof l->scalars);
  e->function = outer.function;
  e->fn = outer.fn;
  e->values = outer.values;
  hiaL_at(e, here);
  return l->function;
}

static LLVMValueRef find_loop(const hia_emit *e, const char *key) {
  for (uint32_t i = 0; i < e->unit.loops.len; i++)
    if (strcmp(e->unit.loops.data[i].key, key) == 0) return e->unit.loops.data[i].function;
  return NULL;
}

LLVMValueRef hiaL_loop_for(hia_emit *e, const hia_fused_plan *p) {
  const char *key = key_of(e, p);
  LLVMValueRef f = find_loop(e, key);
  if (f) return f;
  f = build_loop(e, p);
  hiaR_push(&e->comp->arena, &e->unit.loops, (hia_loop){key, f});
  return f;
}

/* ---- indices ---- */

/* for (i = 0; i < n; i++) if (indices[i] >= bound, as unsigned) return false; return true; */
static void build_test(hia_emit *e, LLVMValueRef f, hia_type dtype) {
  LLVMTypeRef i64 = e->types[HIA_I64];
  LLVMValueRef indices = LLVMGetParam(f, 0), n = LLVMGetParam(f, 1), bound = LLVMGetParam(f, 2);
  LLVMBasicBlockRef entry = hiaL_block(e, "entry"), head = hiaL_block(e, "head"),
                    body = hiaL_block(e, "index"), all = hiaL_block(e, "all"),
                    wrong = hiaL_block(e, "wrong");
  hiaL_at(e, entry);
  hiaL_no_debug_loc(e);
  LLVMBuildBr(e->b, head);
  hiaL_at(e, head);
  LLVMValueRef i = LLVMBuildPhi(e->b, i64, "i"), zero = LLVMConstInt(i64, 0, false);
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, i, n, ""), body, all);
  hiaL_at(e, body);
  LLVMValueRef at = LLVMBuildGEP2(e->b, e->types[dtype], indices, &i, 1, "at");
  LLVMValueRef index = LLVMBuildLoad2(e->b, e->types[dtype], at, "index");
  index = LLVMBuildSExt(e->b, index, i64, "");
  LLVMValueRef next = LLVMBuildAdd(e->b, i, LLVMConstInt(i64, 1, false), "next");
  LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, index, bound, ""), head, wrong);
  LLVMAddIncoming(i, &zero, &entry, 1);
  LLVMAddIncoming(i, &next, &body, 1);
  hiaL_at(e, all);
  LLVMBuildRet(e->b, LLVMConstInt(LLVMInt1TypeInContext(e->llvm), 1, false));
  hiaL_at(e, wrong);
  LLVMBuildRet(e->b, LLVMConstInt(LLVMInt1TypeInContext(e->llvm), 0, false));
}

LLVMValueRef hiaL_test_of_indices(hia_emit *e, hia_type dtype) {
  const char *key = dtype == HIA_I32 ? "below: i32" : "below: i64";
  LLVMValueRef f = find_loop(e, key), outer = e->function;
  if (f) return f;
  LLVMBasicBlockRef here = hiaL_here(e);
  LLVMTypeRef params[] = {e->ptr, e->types[HIA_I64], e->types[HIA_I64]};
  LLVMTypeRef result = LLVMInt1TypeInContext(e->llvm);
  f = e->function = new_function(e, "hia_below", LLVMFunctionType(result, params, 3, false));
  build_test(e, f, dtype);
  e->function = outer;
  hiaL_at(e, here);
  hiaR_push(&e->comp->arena, &e->unit.loops, (hia_loop){key, f});
  return f;
}
