/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Fused kernels: functions whose nodes are operations on the elements of tensors
 * (graph/opt_fuse.c). Their code begins with a test and a loop:
 *
 *     if all operands fit {
 *       make the results; loop over their elements, in vectors; give up operands; return
 *     }
 *     operation by operation, as everywhere
 *
 * "Fit" means that nothing of the function could fail, and that every operation has tensors of one
 * shape, or scalars. Then an element of a result depends on one element of each operand, at the
 * same place but for an offset that parts and rows add. A value in the middle is never stored. What
 * does not fit - operands that broadcast, sizes that are wrong, tensors of no elements or very many
 * - is left to the other code, which has a kernel for everything, an error for each mistake, and
 * polls.
 *
 * Lanes hold the same bits as scalars do: the emitters of scalar ops build them, with vectors for
 * types. A loop is a function of the module, shared by all kernels that have the same steps. It has
 * no context, and no safepoint.
 *
 * One would have LLVM vectorise a loop of scalars. It stays at 256 bits on machines that have 512,
 * computes the rest of a loop element by element, and takes longer. */
#include "lower/emit.h"
#include "runtime/base/elementary.h"
#include "runtime/tensor/tensor.h"
#include <stddef.h>

enum {
  LANES = 16,
  CHUNK = 1 << 15, /* elements between two safepoints: some 100 us */
  MAX_ELEMENTS = 1 << 30,
  MAX_SIZE = 1 << 15, /* that a reshape has, if it is of rank 2 or more */
  MAX_STEPS = 256,
  MAX_RESULTS = 24,
  MAX_VALUES = 512
};

/* ---- what is known of the values of the function ---- */

typedef enum kind {
  SCALAR,
  STORED,   /* a tensor that the function gets */
  SHOWN,    /* elements of another value, from `first` on */
  COMPUTED, /* by an op, from the elements of its operands at the same place */
} kind;

typedef struct known {
  kind kind;
  uint32_t rank;
  LLVMValueRef dims[HIA_FUSED_RANK]; /* i64 */
  LLVMValueRef data;                 /* STORED: the address of the elements */
  hia_value_id of;                   /* SHOWN */
  LLVMValueRef first;                /* SHOWN: NULL stands for 0 */
  hia_value_id loop; /* a value of the same shape: values that lead to the same one share a loop */
} known;

typedef struct fused {
  hia_emit *e;
  known *values; /* by value */
  LLVMValueRef fits;
} fused;

static LLVMValueRef number(fused *f, uint64_t n) { return hiaL_number(f->e, 64, n); }

static void require(fused *f, LLVMValueRef condition) {
  f->fits = LLVMBuildAnd(f->e->b, f->fits, condition, "fits");
}
static void require_equal(fused *f, LLVMValueRef a, LLVMValueRef b) {
  if (a != b) require(f, LLVMBuildICmp(f->e->b, LLVMIntEQ, a, b, ""));
}
/* Of two equal numbers the one that is a constant. */
static LLVMValueRef better(LLVMValueRef a, LLVMValueRef b) { return LLVMIsAConstantInt(a) ? a : b; }

static hia_value_id loop_of(const fused *f, hia_value_id v) {
  while (f->values[v].loop != v) v = f->values[v].loop;
  return v;
}

/* The elements of a row, or of the whole from axis 0 on. */
static LLVMValueRef count_from(fused *f, const known *x, uint32_t axis) {
  LLVMValueRef n = number(f, 1);
  for (uint32_t k = axis; k < x->rank; k++) n = LLVMBuildMul(f->e->b, n, x->dims[k], "");
  return n;
}

static void know_stored(fused *f, hia_value_id v, const hia_dims *sizes) {
  hia_emit *e = f->e;
  known *z = &f->values[v];
  LLVMValueRef tensor = e->values[v];
  z->rank = hiaG_rank(e->g->types, hiaG_type(e->fn, v));
  if (!z->rank) return;
  z->kind = STORED;
  z->data = LLVMBuildLoad2(e->b, e->ptr, hiaL_byte_at(e, tensor, offsetof(hia_tensor, data), "at"),
                           "data");
  for (uint32_t k = 0; k < z->rank; k++) {
    uint64_t at = offsetof(hia_tensor, dims) + k * sizeof(int64_t);
    z->dims[k] =
        sizes ? number(f, (uint64_t)sizes->dims[k])
              : LLVMBuildLoad2(e->b, e->types[HIA_I64], hiaL_byte_at(e, tensor, at, "at"), "size");
  }
}

static void know_view(fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  hia_value_id v = hiaG_out(e->fn, n, 0), of = hiaG_in(e->fn, n, 0);
  const known *x = &f->values[of];
  known *z = &f->values[v];
  *z = *x;
  z->kind = SHOWN;
  z->of = of;
  z->first = NULL;
  z->loop = v;
  switch (hiaL_node(e, n)->op) {
  case HIA_OP_PART: {
    LLVMValueRef from = hiaL_in(e, n, 1), to = hiaL_in(e, n, 2);
    require(f, LLVMBuildICmp(e->b, LLVMIntULE, from, to, ""));
    require(f, LLVMBuildICmp(e->b, LLVMIntULE, to, x->dims[0], "")); /* as unsigned: from, too */
    z->first = LLVMBuildMul(e->b, from, count_from(f, x, 1), "first");
    z->dims[0] = LLVMBuildSub(e->b, to, from, "size");
    break;
  }
  case HIA_OP_ROW: {
    LLVMValueRef i = hiaL_in(e, n, 1);
    require(f, LLVMBuildICmp(e->b, LLVMIntULT, i, x->dims[0], ""));
    z->first = LLVMBuildMul(e->b, i, count_from(f, x, 1), "first");
    z->rank--;
    for (uint32_t k = 0; k < z->rank; k++) z->dims[k] = x->dims[k + 1];
    break;
  }
  case HIA_OP_RESHAPE: {
    LLVMValueRef len = number(f, 1);
    z->rank = hiaL_node(e, n)->n_ins - 1;
    LLVMValueRef most = number(f, z->rank == 1 ? MAX_ELEMENTS : MAX_SIZE);
    for (uint32_t k = 0; k < z->rank; k++) {
      z->dims[k] = hiaL_in(e, n, 1 + k);
      /* So the product does not overflow. */
      require(f, LLVMBuildICmp(e->b, LLVMIntULE, z->dims[k], most, ""));
      len = LLVMBuildMul(e->b, len, z->dims[k], "");
    }
    _Static_assert(HIA_FUSED_RANK * 15 < 64, "the product of the sizes fits into 64 bits");
    require_equal(f, len, count_from(f, x, 0));
    break;
  }
  default: { /* EXPECT */
    uint32_t i = 1;
    z->loop = of; /* the same shape */
    for (uint64_t axes = hiaL_node(e, n)->imm; axes; axes &= axes - 1) {
      uint32_t axis = (uint32_t)__builtin_ctzll(axes);
      LLVMValueRef size = hiaL_in(e, n, i++);
      require_equal(f, x->dims[axis], size);
      z->dims[axis] = better(size, x->dims[axis]);
    }
  }
  }
  if (z->first && LLVMIsAConstantInt(z->first) && LLVMConstIntGetZExtValue(z->first) == 0)
    z->first = NULL;
}

static void know_computed(fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  hia_value_id v = hiaG_out(e->fn, n, 0);
  known *z = &f->values[v];
  z->kind = COMPUTED;
  z->loop = v;
  for (uint32_t i = 0; i < hiaL_node(e, n)->n_ins; i++) {
    hia_value_id in = hiaG_in(e->fn, n, i);
    const known *x = &f->values[in];
    if (x->kind == SCALAR) continue;
    f->values[loop_of(f, in)].loop = loop_of(f, v);
    for (uint32_t k = 0; k < x->rank; k++) {
      if (z->rank) require_equal(f, x->dims[k], z->dims[k]);
      z->dims[k] = z->rank ? better(z->dims[k], x->dims[k]) : x->dims[k];
    }
    z->rank = x->rank;
  }
}

static void know(fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  const hia_node *node = hiaL_node(e, n);
  switch (node->op) {
  case HIA_OP_DUP:
  case HIA_OP_DROP:
  case HIA_OP_YIELD: return;
  case HIA_OP_MERGE_ENTRY: {
    hia_value_id v = hiaG_out(e->fn, n, 0);
    hiaL_emit_MERGE_ENTRY(e, n);
    f->values[v].loop = v;
    know_stored(f, v, NULL);
    return;
  }
  case HIA_OP_CONST: hiaL_emit_CONST(e, n); return;
  case HIA_OP_PARAM: {
    hia_value_id v = hiaG_out(e->fn, n, 0);
    hiaL_emit_PARAM(e, n);
    f->values[v].loop = v;
    know_stored(f, v, &e->g->params.data[node->imm].shape);
    return;
  }
  case HIA_OP_LITERAL: {
    hia_value_id v = hiaG_out(e->fn, n, 0);
    hiaL_emit_LITERAL(e, n);
    f->values[v].loop = v;
    know_stored(f, v, &e->g->literals.data[node->imm].shape);
    return;
  }
  default: break;
  }
  if (hiaG_is_view_op(e->g, e->fn, n))
    know_view(f, n);
  else
    know_computed(f, n);
}

/* ---- steps: what is computed for one element ---- */

typedef enum step_kind { LOAD, SPLAT, APPLY } step_kind;

typedef struct step {
  step_kind kind;
  hia_type dtype;     /* of the result */
  hia_node_id node;   /* APPLY */
  uint32_t ins[3];    /* APPLY: steps */
  LLVMValueRef from;  /* LOAD: the address of element 0; SPLAT: the scalar */
  hia_value_id value; /* whose element the step computes or loads */
  LLVMValueRef first; /* how far that element is behind the loop's; NULL: it is the same */
} step;

typedef struct steps {
  step list[MAX_STEPS];
  uint32_t n;
} steps;

/* The element of the value that is `first` (NULL: 0) behind the one that the loop is at: the number
 * of its step. NONE: there would be too many. Values lead to earlier ones only. */
static uint32_t add_step(fused *f, steps *s, hia_value_id v, LLVMValueRef first) {
  hia_emit *e = f->e;
  const known *x = &f->values[v];
  while (x->kind == SHOWN) {
    if (x->first) first = first ? LLVMBuildAdd(e->b, first, x->first, "first") : x->first;
    v = x->of;
    x = &f->values[v];
  }
  if (x->kind == SCALAR) first = NULL;
  for (uint32_t i = 0; i < s->n; i++)
    if (s->list[i].value == v && s->list[i].first == first) return i;
  hia_type type = hiaG_type(e->fn, v);
  step z = {.kind = x->kind == SCALAR   ? SPLAT
                    : x->kind == STORED ? LOAD
                                        : APPLY,
            .dtype = hiaG_dtype(e->g->types, type),
            .value = v,
            .first = first};
  if (z.kind == SPLAT) {
    z.from = e->values[v];
  } else if (z.kind == LOAD) {
    LLVMValueRef size = number(f, hiaR_dtype_size((hia_dtype)z.dtype));
    LLVMValueRef at = first ? LLVMBuildMul(e->b, first, size, "at") : number(f, 0);
    z.from = LLVMBuildGEP2(e->b, e->i8, x->data, &at, 1, "elements");
  } else {
    z.node = e->fn->values.data[v].node;
    for (uint32_t i = 0; i < hiaL_node(e, z.node)->n_ins; i++) {
      z.ins[i] = add_step(f, s, hiaG_in(e->fn, z.node, i), first);
      if (z.ins[i] == HIA_NONE) return HIA_NONE;
    }
  }
  if (s->n == MAX_STEPS) return HIA_NONE;
  s->list[s->n] = z;
  return s->n++;
}

/* ---- the loop ---- */

/* A text that is equal for loops of equal steps, whose function has the same parameters. */
static const char *key_of(hia_emit *e, const steps *s, const uint32_t *results, uint32_t n) {
  hia_text text;
  hiaR_text_init(&text, &e->comp->arena);
  for (uint32_t i = 0; i < s->n; i++) {
    const step *z = &s->list[i];
    hiaR_text_addf(&text, "%u:%u", z->kind, z->dtype);
    if (z->kind == APPLY) {
      const hia_node *node = hiaL_node(e, z->node);
      hiaR_text_addf(&text, ":%u:%llu", node->op, (unsigned long long)node->imm);
      for (uint32_t k = 0; k < node->n_ins; k++) hiaR_text_addf(&text, ",%u", z->ins[k]);
    }
    hiaR_text_addf(&text, ";");
  }
  for (uint32_t i = 0; i < n; i++) hiaR_text_addf(&text, ">%u", results[i]);
  return text.data;
}

/* A function whose nodes are the steps, on scalars: what the emitters of ops look at. */
static hia_fn *scalar_function(hia_emit *e, const steps *s) {
  hia_arena *arena = &e->comp->scratch;
  hia_fn *fn = HIA_NEW_ARRAY(arena, hia_fn, 1);
  fn->name = e->fn->name;
  for (uint32_t i = 0; i < s->n; i++) {
    const step *z = &s->list[i];
    hia_node node = {.op = HIA_OP_CONST, .ins = fn->edges.len, .outs = i, .n_outs = 1};
    if (z->kind == APPLY) {
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

/* A bool is a byte in memory. */
static LLVMTypeRef stored_type(const hia_emit *e, hia_type dtype, const LLVMTypeRef *scalars) {
  return LLVMVectorType(dtype == HIA_BOOL ? e->i8 : scalars[dtype], LANES);
}

static LLVMValueRef masked(hia_emit *e, const char *name, LLVMTypeRef type, LLVMValueRef *args,
                           unsigned n) {
  LLVMTypeRef types[2] = {type, e->ptr};
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->module, id, types, 2);
  return LLVMBuildCall2(e->b, LLVMGlobalGetValueType(f), f, args, n, "");
}

typedef struct round {
  hia_emit *e;
  const steps *s;
  const LLVMTypeRef *scalars; /* what e->types was */
  const uint32_t *results;
  uint32_t n_results, first_result; /* parameter */
  LLVMValueRef function;
} round;

/* One round: LANES elements from `i` on, or those that the mask has. */
static void build_round(const round *r, LLVMValueRef *values, LLVMValueRef i, LLVMValueRef mask) {
  hia_emit *e = r->e;
  uint32_t param = 2;
  LLVMTypeRef i32 = r->scalars[HIA_I32];
  for (uint32_t k = 0; k < r->s->n; k++) {
    const step *z = &r->s->list[k];
    if (z->kind == APPLY) {
      hiaL_node_alone(e, k);
      continue;
    }
    LLVMValueRef from = LLVMGetParam(r->function, param++);
    if (z->kind == SPLAT) continue; /* before the loop */
    LLVMTypeRef type = stored_type(e, z->dtype, r->scalars);
    LLVMValueRef at = LLVMBuildGEP2(e->b, LLVMGetElementType(type), from, &i, 1, "at");
    LLVMValueRef align = LLVMConstInt(i32, hiaR_dtype_size((hia_dtype)z->dtype), false);
    LLVMValueRef args[4] = {at, align, mask, LLVMConstNull(type)};
    LLVMValueRef loaded = mask ? masked(e, "llvm.masked.load", type, args, 4)
                               : LLVMBuildLoad2(e->b, type, at, "lanes");
    if (!mask) LLVMSetAlignment(loaded, hiaR_dtype_size((hia_dtype)z->dtype));
    if (z->dtype == HIA_BOOL)
      loaded = LLVMBuildICmp(e->b, LLVMIntNE, loaded, LLVMConstNull(type), "");
    values[k] = loaded;
  }
  for (uint32_t k = 0; k < r->n_results; k++) {
    hia_type dtype = r->s->list[r->results[k]].dtype;
    LLVMTypeRef type = stored_type(e, dtype, r->scalars);
    LLVMValueRef value = values[r->results[k]];
    if (dtype == HIA_BOOL) value = LLVMBuildZExt(e->b, value, type, "");
    LLVMValueRef to = LLVMGetParam(r->function, r->first_result + k);
    LLVMValueRef at = LLVMBuildGEP2(e->b, LLVMGetElementType(type), to, &i, 1, "at");
    unsigned size = hiaR_dtype_size((hia_dtype)dtype);
    LLVMValueRef args[4] = {value, at, LLVMConstInt(i32, size, false), mask};
    if (mask)
      masked(e, "llvm.masked.store", type, args, 4);
    else
      LLVMSetAlignment(LLVMBuildStore(e->b, value, at), size);
  }
}

static LLVMValueRef splat(hia_emit *e, LLVMTypeRef i32, LLVMValueRef scalar) {
  LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), LANES);
  LLVMValueRef zero = LLVMConstNull(LLVMVectorType(i32, LANES));
  LLVMValueRef one =
      LLVMBuildInsertElement(e->b, LLVMGetPoison(type), scalar, LLVMConstInt(i32, 0, false), "");
  return LLVMBuildShuffleVector(e->b, one, LLVMGetPoison(type), zero, "splat");
}

/* Lanes i + 0, i + 1, ... that are below n. */
static LLVMValueRef lanes_below(hia_emit *e, LLVMTypeRef i32, LLVMValueRef i, LLVMValueRef n) {
  LLVMValueRef lanes[LANES];
  for (unsigned k = 0; k < LANES; k++) lanes[k] = LLVMConstInt(i32, k, false);
  LLVMValueRef left = LLVMBuildTrunc(e->b, LLVMBuildSub(e->b, n, i, "left"), i32, "");
  return LLVMBuildICmp(e->b, LLVMIntSLT, LLVMConstVector(lanes, LANES), splat(e, i32, left),
                       "mask");
}

/* All rounds; the function ends. With AVX-512 a mask costs nothing, so the last elements are
 * computed by the same code as all others. Elsewhere only they have one. */
static void build_rounds(const round *r, LLVMBasicBlockRef entry) {
  hia_emit *e = r->e;
  LLVMTypeRef i64 = r->scalars[HIA_I64], i32 = r->scalars[HIA_I32];
  bool has_masks = strstr(e->options->features, "+avx512vl") != NULL;
  LLVMValueRef begin = LLVMGetParam(r->function, 0), n = LLVMGetParam(r->function, 1);
  LLVMValueRef lanes = LLVMConstInt(i64, LANES, false);
  LLVMBasicBlockRef head = hiaL_block(e, "head"), body = hiaL_block(e, "lanes"),
                    rest = hiaL_block(e, "rest"), tail = has_masks ? NULL : hiaL_block(e, "tail"),
                    exit = hiaL_block(e, "exit");
  LLVMBuildBr(e->b, head);
  hiaL_at(e, head);
  LLVMValueRef i = LLVMBuildPhi(e->b, i64, "i"), next = LLVMBuildAdd(e->b, i, lanes, "next");
  LLVMValueRef goes_on =
      LLVMBuildICmp(e->b, has_masks ? LLVMIntULT : LLVMIntULE, has_masks ? i : next, n, "goes_on");
  LLVMBuildCondBr(e->b, goes_on, body, rest);
  hiaL_at(e, body);
  build_round(r, e->values, i, has_masks ? lanes_below(e, i32, i, n) : NULL);
  LLVMBasicBlockRef last = hiaL_here(e);
  LLVMBuildBr(e->b, head);
  LLVMValueRef from[2] = {begin, next};
  LLVMBasicBlockRef blocks[2] = {entry, last};
  LLVMAddIncoming(i, from, blocks, 2);
  hiaL_at(e, rest);
  if (tail) {
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, i, n, ""), tail, exit);
    hiaL_at(e, tail);
    build_round(r, e->values, i, lanes_below(e, i32, i, n));
  }
  LLVMBuildBr(e->b, exit);
  hiaL_at(e, exit);
  LLVMBuildRetVoid(e->b);
}

/* void loop(begin, end, operands in the order of the steps, results): the elements from begin to
 * end, at least one. */
static LLVMValueRef build_loop(hia_emit *e, const steps *s, const uint32_t *results,
                               uint32_t n_results) {
  LLVMTypeRef params[2 + MAX_STEPS + MAX_RESULTS], scalars[HIA_N_REPRS];
  memcpy(scalars, e->types, sizeof scalars);
  LLVMTypeRef i64 = scalars[HIA_I64], i32 = scalars[HIA_I32];
  uint32_t n_params = 0;
  params[n_params++] = i64;
  params[n_params++] = i64;
  for (uint32_t i = 0; i < s->n; i++)
    if (s->list[i].kind != APPLY)
      params[n_params++] = s->list[i].kind == LOAD ? e->ptr : scalars[s->list[i].dtype];
  uint32_t first_result = n_params;
  for (uint32_t i = 0; i < n_results; i++) params[n_params++] = e->ptr;
  LLVMValueRef f = LLVMAddFunction(e->module, "hia_loop",
                                   LLVMFunctionType(e->void_type, params, n_params, false));
  unsigned all = (unsigned)LLVMAttributeFunctionIndex;
  LLVMSetLinkage(f, LLVMInternalLinkage);
  hiaL_common_attributes(e, f);
  hiaL_attribute(e, f, all, "noinline", 0);
  LLVMAddTargetDependentFunctionAttr(f, HIA_KERNEL_ATTRIBUTE, "");
  LLVMAddTargetDependentFunctionAttr(f, "prefer-vector-width", "512");
  LLVMAddTargetDependentFunctionAttr(f, "min-legal-vector-width", "512");
  for (uint32_t i = first_result; i < n_params; i++) hiaL_attribute(e, f, i + 1, "noalias", 0);

  /* The emitters build into the loop, from a function of scalars, whose types are vectors. */
  hia_emit outer = *e;
  LLVMBasicBlockRef here = hiaL_here(e);
  e->function = f;
  e->fn = scalar_function(e, s);
  e->values = HIA_NEW_ARRAY(&e->comp->scratch, LLVMValueRef, s->n);
  round r = {e, s, scalars, results, n_results, first_result, f};
  LLVMBasicBlockRef entry = hiaL_block(e, "entry");
  hiaL_at(e, entry);
  hiaL_no_debug_loc(e);
  uint32_t param = 2;
  for (uint32_t i = 0; i < s->n; i++) {
    if (s->list[i].kind == SPLAT) e->values[i] = splat(e, i32, LLVMGetParam(f, param));
    param += s->list[i].kind != APPLY;
  }
  for (unsigned t = 0; t <= HIA_F64; t++) e->types[t] = LLVMVectorType(scalars[t], LANES);
  build_rounds(&r, entry);
  memcpy(e->types, scalars, sizeof scalars);
  e->function = outer.function;
  e->fn = outer.fn;
  e->values = outer.values;
  hiaL_at(e, here);
  return f;
}

static LLVMValueRef loop_for(hia_emit *e, const steps *s, const uint32_t *results, uint32_t n) {
  const char *key = key_of(e, s, results, n);
  for (uint32_t i = 0; i < e->loops.len; i++)
    if (strcmp(e->loops.data[i].key, key) == 0) return e->loops.data[i].function;
  LLVMValueRef f = build_loop(e, s, results, n);
  hiaR_push(&e->comp->arena, &e->loops, (hia_loop){key, f});
  return f;
}

/* ---- results ---- */

/* A new tensor of this shape; *data: where its elements go. */
static LLVMValueRef new_tensor(fused *f, const known *z, hia_dtype dtype, hia_loc_id loc,
                               LLVMValueRef *data) {
  hia_emit *e = f->e;
  LLVMTypeRef i64 = e->types[HIA_I64];
  uint64_t head = offsetof(hia_tensor, dims) + z->rank * sizeof(int64_t);
  LLVMValueRef n = count_from(f, z, 0);
  LLVMValueRef bytes = LLVMBuildMul(e->b, n, number(f, hiaR_dtype_size(dtype)), "bytes");
  LLVMValueRef is_aligned =
      LLVMBuildICmp(e->b, LLVMIntUGE, bytes, number(f, HIA_TENSOR_ALIGNED), "is_aligned");
  LLVMValueRef pad =
      LLVMBuildSelect(e->b, is_aligned, number(f, HIA_TENSOR_ALIGN - 8), number(f, 0), "pad");
  LLVMValueRef size =
      LLVMBuildAdd(e->b, LLVMBuildAdd(e->b, bytes, pad, ""), number(f, head + 7), "");
  size = LLVMBuildAnd(e->b, size, number(f, ~(uint64_t)7), "size");
  LLVMValueRef block = hiaL_new_block_of(e, size, loc);
  uint64_t header =
      1 | (uint64_t)HIA_TENSOR_OWN << 32 | (uint64_t)hiaR_tensor_spare(dtype, z->rank) << 48;
  LLVMBuildStore(e->b, number(f, header), block);
  LLVMValueRef end = LLVMBuildPtrToInt(e->b, hiaL_byte_at(e, block, head, "end"), i64, "");
  LLVMValueRef gap =
      LLVMBuildAnd(e->b, LLVMBuildNeg(e->b, end, ""), number(f, HIA_TENSOR_ALIGN - 1), "gap");
  gap = LLVMBuildSelect(e->b, is_aligned, gap, number(f, 0), "");
  LLVMValueRef at = LLVMBuildAdd(e->b, gap, number(f, head), "");
  *data = LLVMBuildInBoundsGEP2(e->b, e->i8, block, &at, 1, "elements");
  LLVMBuildStore(e->b, *data, hiaL_byte_at(e, block, offsetof(hia_tensor, data), "at"));
  for (uint32_t k = 0; k < z->rank; k++)
    LLVMBuildStore(e->b, z->dims[k],
                   hiaL_byte_at(e, block, offsetof(hia_tensor, dims) + k * sizeof(int64_t), "at"));
  return block;
}

/* ---- the function ---- */

static bool is_kernel_node(const hia_emit *e, hia_node_id n) {
  switch (hiaL_node(e, n)->op) {
  case HIA_OP_MERGE_ENTRY:
  case HIA_OP_CONST:
  case HIA_OP_PARAM:
  case HIA_OP_LITERAL:
  case HIA_OP_DUP:
  case HIA_OP_DROP:
  case HIA_OP_YIELD: return true;
  default: return hiaG_is_lane_op(e->g, e->fn, n) || hiaG_is_view_op(e->g, e->fn, n);
  }
}

static hia_node_id yield_of(const hia_fn *fn) { return fn->nodes.len - 1; }

/* The op whose elements a result has, through checks of sizes; NONE: it is a tensor, or a part of
 * one, that was there before. */
static hia_node_id computed_by(const hia_emit *e, hia_value_id v) {
  hia_node_id n = e->fn->values.data[v].node;
  while (hiaL_node(e, n)->op == HIA_OP_EXPECT) n = e->fn->values.data[hiaG_in(e->fn, n, 0)].node;
  bool is_op = hiaR_ops[hiaL_node(e, n)->op].shape == HIA_SHAPE_ELEMENTWISE;
  return is_op && hiaG_is_lane_op(e->g, e->fn, n) ? n : HIA_NONE;
}

static bool is_kernel(const hia_emit *e) {
  const hia_fn *fn = e->fn;
  if (!e->options->has_fma || hiaL_is_for_kernels(e) || fn->regions.len != 1 || !fn->n_results ||
      fn->n_results > MAX_RESULTS || fn->values.len > MAX_VALUES || hiaL_is_leaf(e, e->id))
    return false;
  for (hia_node_id n = 0; n < fn->nodes.len; n++)
    if (!is_kernel_node(e, n)) return false;
  hia_node_id yield = yield_of(fn);
  if (fn->nodes.data[yield].op != HIA_OP_YIELD) return false;
  for (uint32_t i = 0; i < fn->n_results; i++) {
    if (computed_by(e, hiaG_in(fn, yield, i)) == HIA_NONE) return false;
    for (uint32_t k = 0; k < i; k++) /* one tensor for each result */
      if (hiaG_in(fn, yield, i) == hiaG_in(fn, yield, k)) return false;
  }
  return true;
}

/* One loop, and the results that it makes: those of one shape. */
typedef struct plan {
  steps steps;
  uint32_t n, of[MAX_RESULTS], step[MAX_RESULTS]; /* results, by their places; and their steps */
  struct plan *next;
} plan;

/* The loops of all results; NULL: one would have too many steps. */
static plan *plan_loops(fused *f) {
  hia_emit *e = f->e;
  hia_node_id yield = yield_of(e->fn);
  plan *plans = NULL;
  for (uint32_t i = 0; i < hiaL_node(e, yield)->n_ins; i++) {
    hia_value_id v = hiaG_in(e->fn, yield, i);
    plan *p = plans;
    while (p && loop_of(f, hiaG_in(e->fn, yield, p->of[0])) != loop_of(f, v)) p = p->next;
    if (!p) {
      p = HIA_NEW_ARRAY(&e->comp->scratch, plan, 1);
      p->next = plans;
      plans = p;
    }
    p->of[p->n] = i;
    p->step[p->n] = add_step(f, &p->steps, v, NULL);
    if (p->step[p->n++] == HIA_NONE) return NULL;
  }
  return plans;
}

/* A loop over many elements has a safepoint between chunks. The new tensors are the heap's if the
 * run ends there. */
static void call_loop(fused *f, const plan *p, const LLVMValueRef *data) {
  hia_emit *e = f->e;
  LLVMValueRef args[2 + MAX_STEPS + MAX_RESULTS];
  LLVMValueRef n = count_from(f, &f->values[hiaG_in(e->fn, yield_of(e->fn), p->of[0])], 0);
  uint32_t n_args = 2;
  for (uint32_t k = 0; k < p->steps.n; k++)
    if (p->steps.list[k].kind != APPLY) args[n_args++] = p->steps.list[k].from;
  for (uint32_t k = 0; k < p->n; k++) args[n_args++] = data[p->of[k]];
  LLVMValueRef loop = loop_for(e, &p->steps, p->step, p->n);
  bool is_short = LLVMIsAConstantInt(n) && LLVMConstIntGetZExtValue(n) <= CHUNK;
  LLVMBasicBlockRef before = hiaL_here(e), chunk = NULL, poll = NULL, next = NULL;
  args[0] = number(f, 0);
  args[1] = n;
  if (!is_short) {
    chunk = hiaL_block(e, "chunk");
    poll = hiaL_block(e, "poll");
    next = hiaL_block(e, "looped");
    LLVMBuildBr(e->b, chunk);
    hiaL_at(e, chunk);
    LLVMValueRef begin = LLVMBuildPhi(e->b, e->types[HIA_I64], "begin");
    LLVMAddIncoming(begin, &args[0], &before, 1);
    LLVMValueRef end = LLVMBuildAdd(e->b, begin, number(f, CHUNK), "");
    LLVMValueRef is_last = LLVMBuildICmp(e->b, LLVMIntULT, n, end, "is_last");
    args[0] = begin;
    args[1] = LLVMBuildSelect(e->b, is_last, n, end, "end");
  }
  LLVMValueRef call = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(loop), loop, args, n_args, "");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(loop));
  if (is_short) return;
  hiaL_unlikely(e, LLVMBuildICmp(e->b, LLVMIntULT, args[1], n, "goes_on"), poll, next);
  hiaL_at(e, poll);
  hia_path path = e->path;
  if (!e->options->unchecked) hiaL_safepoint(e);
  e->path = path; /* the code for other operands has not polled */
  LLVMBasicBlockRef last = hiaL_here(e);
  LLVMBuildBr(e->b, chunk);
  LLVMAddIncoming(args[0], &args[1], &last, 1);
  hiaL_at(e, next);
}

void hiaL_open_kernel(hia_emit *e) {
  if (!is_kernel(e)) return;
  const hia_fn *fn = e->fn;
  hia_arena *arena = &e->comp->scratch;
  fused f = {.e = e, .values = HIA_NEW_ARRAY(arena, known, fn->values.len)};
  f.fits = hiaL_number(e, 1, 1);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) know(&f, n);
  hia_node_id yield = yield_of(fn);
  uint32_t n_results = fn->n_results;
  for (uint32_t i = 0; i < n_results; i++) {
    const known *z = &f.values[hiaG_in(fn, yield, i)];
    for (uint32_t k = 0; k < z->rank; k++)
      require(&f, LLVMBuildICmp(e->b, LLVMIntULE, z->dims[k], number(&f, MAX_ELEMENTS), ""));
    LLVMValueRef n = LLVMBuildSub(e->b, count_from(&f, z, 0), number(&f, 1), ""); /* 0: none */
    require(&f, LLVMBuildICmp(e->b, LLVMIntULT, n, number(&f, MAX_ELEMENTS), ""));
  }
  bool never_fits = LLVMIsAConstantInt(f.fits) && !LLVMConstIntGetZExtValue(f.fits);
  const plan *plans = never_fits ? NULL : plan_loops(&f);
  if (!plans) {
    memset(e->values, 0, fn->values.len * sizeof *e->values);
    return;
  }
  LLVMBasicBlockRef fast = hiaL_block(e, "fused"), slow = hiaL_block(e, "one_by_one");
  hiaL_unlikely(e, LLVMBuildNot(e->b, f.fits, ""), slow, fast);
  hiaL_at(e, fast);
  LLVMValueRef *data = HIA_NEW_ARRAY(arena, LLVMValueRef, n_results);
  LLVMValueRef *tensors = HIA_NEW_ARRAY(arena, LLVMValueRef, n_results);
  for (uint32_t i = 0; i < n_results; i++) {
    hia_value_id v = hiaG_in(fn, yield, i);
    hia_dtype dtype = hiaG_tensor_dtype(e->g->types, hiaG_type(fn, v));
    hia_loc_id loc = hiaL_node(e, computed_by(e, v))->loc;
    tensors[i] = new_tensor(&f, &f.values[v], dtype, loc, &data[i]);
  }
  for (const plan *p = plans; p; p = p->next) call_loop(&f, p, data);
  for (hia_node_id n = 0; n < fn->nodes.len; n++) {
    const hia_node *node = hiaL_node(e, n);
    if (node->op != HIA_OP_MERGE_ENTRY || !fn->owns || !fn->owns[HIA_IMM_A(node->imm)]) continue;
    hia_value_id v = hiaG_out(fn, n, 0);
    if (!hiaG_is_scalar(hiaG_type(fn, v))) hiaL_drop(e, e->values[v], hiaG_type(fn, v));
  }
  for (uint32_t i = 0; i < n_results; i++) e->values[hiaG_in(fn, yield, i)] = tensors[i];
  hiaL_emit_YIELD(e, yield);
  memset(e->values, 0, fn->values.len * sizeof *e->values);
  hiaL_at(e, slow);
}
