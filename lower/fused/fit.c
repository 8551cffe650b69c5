/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Fused kernels: which operands fit, and what the loops compute. */
#include "lower/fused/fused.h"
#include <stddef.h>

enum { MAX_SIZE = 1 << 15 /* that a reshape has, if it is of rank 2 or more */ };

/* ---- conditions ---- */

static LLVMValueRef number(hia_fused *f, uint64_t n) { return hiaL_number(f->e, 64, n); }

static void require(hia_fused *f, LLVMValueRef condition) {
  f->fits = LLVMBuildAnd(f->e->b, f->fits, condition, "fits");
}
/* Returns the size that stands for all that must equal this one. */
static LLVMValueRef stands_for(const hia_fused *f, LLVMValueRef size) {
  for (uint32_t i = 0; i < f->equal.len; i++)
    if (f->equal.data[i].size == size) return stands_for(f, f->equal.data[i].as);
  return size;
}
/* Builds no test of what follows from others. */
static void require_equal(hia_fused *f, LLVMValueRef a, LLVMValueRef b) {
  LLVMValueRef x = stands_for(f, a), y = stands_for(f, b);
  if (x == y) return;
  require(f, LLVMBuildICmp(f->e->b, LLVMIntEQ, x, y, ""));
  hia_same_size same = LLVMIsAConstantInt(x) ? (hia_same_size){y, x} : (hia_same_size){x, y};
  if (!LLVMIsAConstantInt(same.size)) hiaR_push(&f->e->comp->scratch, &f->equal, same);
}
static void require_at_most(hia_fused *f, LLVMValueRef n, uint64_t most) {
  require(f, LLVMBuildICmp(f->e->b, LLVMIntULE, n, number(f, most), ""));
}
/* `n`, which may be 0, is one of the factors. */
static void require_multiple(hia_fused *f, LLVMValueRef product, LLVMValueRef n) {
  if (product == n) return;
  LLVMValueRef one = number(f, 1);
  LLVMValueRef is_none = LLVMBuildICmp(f->e->b, LLVMIntEQ, n, number(f, 0), "");
  LLVMValueRef factor = LLVMBuildSelect(f->e->b, is_none, one, n, "factor");
  LLVMValueRef rest = LLVMBuildURem(f->e->b, product, factor, "rest");
  require_equal(f, rest, number(f, 0));
}

/* Returns, of two equal numbers, the one that is a constant. */
static LLVMValueRef better(LLVMValueRef a, LLVMValueRef b) { return LLVMIsAConstantInt(a) ? a : b; }

static bool is_one(LLVMValueRef size) {
  return LLVMIsAConstantInt(size) && LLVMConstIntGetZExtValue(size) == 1;
}

static hia_value_id loop_of(const hia_fused *f, hia_value_id v) {
  while (f->values[v].loop != v) v = f->values[v].loop;
  return v;
}

LLVMValueRef hiaL_count_from(hia_fused *f, const hia_known *x, uint32_t axis) {
  LLVMValueRef n = number(f, 1);
  for (uint32_t k = axis; k < x->rank; k++) n = LLVMBuildMul(f->e->b, n, x->dims[k], "");
  return n;
}

/* ---- values ---- */

static void know_stored(hia_fused *f, hia_value_id v, const hia_dims *sizes) {
  hia_emit *e = f->e;
  hia_known *z = &f->values[v];
  LLVMValueRef tensor = e->values[v];
  z->rank = hiaG_rank(e->g->types, hiaG_type(e->fn, v));
  if (!z->rank) return;
  z->kind = HIA_STORED;
  z->data = LLVMBuildLoad2(e->b, e->ptr, hiaL_byte_at(e, tensor, offsetof(hia_tensor, data), "at"),
                           "data");
  for (uint32_t k = 0; k < z->rank; k++)
    z->dims[k] = sizes ? number(f, (uint64_t)sizes->dims[k]) : hiaL_load_dim(e, tensor, k);
}

static void know_reshape(hia_fused *f, hia_node_id n, const hia_known *x, hia_known *z) {
  hia_emit *e = f->e;
  LLVMValueRef len = number(f, 1);
  z->rank = hiaL_node(e, n)->n_ins - 1;
  for (uint32_t k = 0; k < z->rank; k++) {
    z->dims[k] = hiaL_in(e, n, 1 + k);
    /* So the product does not overflow. */
    require_at_most(f, z->dims[k], z->rank == 1 ? HIA_FUSED_ELEMENTS : MAX_SIZE);
    len = LLVMBuildMul(e->b, len, z->dims[k], "");
  }
  _Static_assert(HIA_FUSED_RANK * 15 < 64, "the product of the sizes fits into 64 bits");
  require_equal(f, len, hiaL_count_from(f, x, 0));
}

static void know_expect(hia_fused *f, hia_node_id n, const hia_known *x, hia_known *z) {
  uint32_t i = 1;
  z->loop = z->of; /* the same shape */
  for (uint64_t axes = hiaL_node(f->e, n)->imm; axes; axes &= axes - 1) {
    uint32_t axis = (uint32_t)__builtin_ctzll(axes);
    LLVMValueRef size = hiaL_in(f->e, n, i++);
    require_equal(f, x->dims[axis], size);
    z->dims[axis] = better(size, x->dims[axis]);
  }
}

static void know_view(hia_fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  hia_value_id v = hiaG_out(e->fn, n, 0), of = hiaG_in(e->fn, n, 0);
  const hia_known *x = &f->values[of];
  hia_known *z = &f->values[v];
  *z = *x;
  z->kind = HIA_SHOWN;
  z->of = of;
  z->first = z->pitch = NULL;
  z->loop = v;
  bool is_in_rows = x->kind == HIA_SHOWN && x->pitch;
  uint32_t op = hiaL_node(e, n)->op;
  if (is_in_rows && (op == HIA_OP_PART || op == HIA_OP_ROW || x->is_reshaped))
    require(f, hiaL_number(e, 1, 0)); /* its elements would have other indices */
  switch (op) {
  case HIA_OP_PART: {
    LLVMValueRef from = hiaL_in(e, n, 1), to = hiaL_in(e, n, 2);
    require(f, LLVMBuildICmp(e->b, LLVMIntULE, from, to, ""));
    require(f, LLVMBuildICmp(e->b, LLVMIntULE, to, x->dims[0], "")); /* as unsigned: from, too */
    z->first = LLVMBuildMul(e->b, from, hiaL_count_from(f, x, 1), "first");
    z->dims[0] = LLVMBuildSub(e->b, to, from, "size");
    break;
  }
  case HIA_OP_CUT: {
    LLVMValueRef from = hiaL_in(e, n, 1), to = hiaL_in(e, n, 2);
    z->pitch = is_in_rows ? x->pitch : x->dims[x->rank - 1];
    require(f, LLVMBuildICmp(e->b, LLVMIntULE, from, to, ""));
    require(f, LLVMBuildICmp(e->b, LLVMIntULE, to, x->dims[x->rank - 1], ""));
    z->first = from;
    z->columns = z->dims[z->rank - 1] = LLVMBuildSub(e->b, to, from, "size");
    break;
  }
  case HIA_OP_ROW: {
    LLVMValueRef i = hiaL_in(e, n, 1);
    require(f, LLVMBuildICmp(e->b, LLVMIntULT, i, x->dims[0], ""));
    z->first = LLVMBuildMul(e->b, i, hiaL_count_from(f, x, 1), "first");
    z->rank--;
    for (uint32_t k = 0; k < z->rank; k++) z->dims[k] = x->dims[k + 1];
    break;
  }
  case HIA_OP_RESHAPE: know_reshape(f, n, x, z); break;
  default: know_expect(f, n, x, z);
  }
  if (is_in_rows && !z->pitch) z->pitch = x->pitch;
  z->is_reshaped = is_in_rows && (x->is_reshaped || op == HIA_OP_RESHAPE);
  if (z->first && LLVMIsAConstantInt(z->first) && LLVMConstIntGetZExtValue(z->first) == 0)
    z->first = NULL;
}

/* Follows views to the value whose elements they show; *first becomes the index of element 0,
 * *pitch what there is from row to row. */
static hia_value_id shown_by(hia_fused *f, hia_value_id v, LLVMValueRef *first,
                             LLVMValueRef *pitch) {
  const hia_known *x = &f->values[v];
  while (x->kind == HIA_SHOWN) {
    if (x->pitch) *pitch = x->pitch;
    if (x->first) *first = *first ? LLVMBuildAdd(f->e->b, *first, x->first, "first") : x->first;
    v = x->of;
    x = &f->values[v];
  }
  return v;
}

/* All indices must be below the number of rows, even if no result reads these. There are few, so
 * the test is quick. */
static void require_rows(hia_fused *f, const hia_known *z) {
  hia_emit *e = f->e;
  LLVMValueRef first = NULL, pitch = NULL;
  hia_value_id by = shown_by(f, z->by, &first, &pitch);
  if (f->values[by].kind != HIA_STORED || first || pitch) {
    require(f, hiaL_number(e, 1, 0));
    return;
  }
  LLVMValueRef n = z->dims[0], bound = f->values[z->of].dims[0];
  LLVMValueRef are_few = LLVMBuildICmp(e->b, LLVMIntULE, n, number(f, HIA_FUSED_COLUMNS), "");
  require(f, are_few);
  LLVMValueRef test = hiaL_test_of_indices(e, hiaG_tensor_dtype(e->g->types, hiaG_type(e->fn, by)));
  LLVMValueRef args[] = {f->values[by].data, LLVMBuildSelect(e->b, are_few, n, number(f, 0), ""),
                         bound};
  LLVMValueRef call = LLVMBuildCall2(e->b, LLVMGlobalGetValueType(test), test, args, 3, "are_rows");
  LLVMSetInstructionCallConv(call, LLVMGetFunctionCallConv(test));
  require(f, call);
}

static void know_gathered(hia_fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  hia_value_id v = hiaG_out(e->fn, n, 0);
  hia_known *z = &f->values[v];
  z->kind = HIA_GATHERED;
  z->loop = v;
  z->of = hiaG_in(e->fn, n, 0);
  z->by = hiaG_in(e->fn, n, 1);
  z->rank = 2;
  z->dims[0] = f->values[z->by].dims[0];
  z->dims[1] = f->values[z->of].dims[1];
  require_rows(f, z);
}

/* The size of an operand along an axis of the result; NULL: it lacks that axis. */
static LLVMValueRef size_at(const hia_known *x, const hia_known *z, uint32_t axis) {
  uint32_t missing = z->rank - x->rank;
  return axis < missing ? NULL : x->dims[axis - missing];
}

/* The result has, along each axis, the size of an operand that is not known to be 1. */
static void know_result_dims(hia_fused *f, hia_node_id n, hia_known *z) {
  hia_emit *e = f->e;
  uint32_t n_ins = hiaL_node(e, n)->n_ins;
  for (uint32_t i = 0; i < n_ins; i++) {
    const hia_known *x = &f->values[hiaG_in(e->fn, n, i)];
    if (x->rank > z->rank) z->rank = x->rank;
  }
  for (uint32_t axis = 0; axis < z->rank; axis++)
    for (uint32_t i = 0; i < n_ins; i++) {
      LLVMValueRef size = size_at(&f->values[hiaG_in(e->fn, n, i)], z, axis);
      if (!size) continue;
      LLVMValueRef *known = &z->dims[axis];
      *known = !*known || is_one(*known) ? size : is_one(size) ? *known : better(*known, size);
    }
}

/* How operand i is read. Builds what must hold of its sizes. */
static hia_spread spread_of(hia_fused *f, const hia_known *x, hia_known *z, uint32_t i) {
  uint32_t lacks = 0, has = 0; /* axes of more than one element in the result */
  for (uint32_t axis = 0; axis < z->rank; axis++) {
    LLVMValueRef size = size_at(x, z, axis);
    if (is_one(z->dims[axis])) {
      if (size) require_equal(f, size, z->dims[axis]);
    } else if (!size || is_one(size)) {
      lacks |= 1u << axis;
    } else {
      has |= 1u << axis;
      require_equal(f, size, z->dims[axis]);
    }
  }
  if (!lacks) return HIA_EACH;
  if (!has) return HIA_ONE;
  uint32_t first = (uint32_t)__builtin_ctz(lacks);
  if (lacks < (has & -has)) return HIA_EACH_COLUMN; /* it lacks axes before all that it has */
  z->row_axis[i] = first;
  if (has < (1u << first)) return HIA_EACH_ROW; /* or behind all of them */
  require(f, hiaL_number(f->e, 1, 0));
  return HIA_ONE;
}

static void know_computed(hia_fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  hia_value_id v = hiaG_out(e->fn, n, 0);
  hia_known *z = &f->values[v];
  z->kind = HIA_COMPUTED;
  z->loop = v;
  know_result_dims(f, n, z);
  for (uint32_t i = 0; i < hiaL_node(e, n)->n_ins; i++) {
    hia_value_id in = hiaG_in(e->fn, n, i);
    const hia_known *x = &f->values[in];
    if (x->kind == HIA_SCALAR) continue;
    z->spread[i] = spread_of(f, x, z, i);
    bool is_same = z->spread[i] == HIA_EACH && x->rank == z->rank;
    if (is_same) f->values[loop_of(f, in)].loop = loop_of(f, v);
  }
}

static void know_folded(hia_fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  hia_value_id v = hiaG_out(e->fn, n, 0);
  const hia_known *x = &f->values[hiaG_in(e->fn, n, 0)];
  hia_known *z = &f->values[v];
  *z = *x;
  z->kind = HIA_FOLDED;
  z->loop = v;
  z->rank = hiaG_rank(e->g->types, hiaG_type(e->fn, v));
  for (uint32_t k = 0; k < x->rank; k++) /* of no elements there may be none, even if unread */
    require(f, LLVMBuildICmp(e->b, LLVMIntNE, x->dims[k], number(f, 0), ""));
}

static void know(hia_fused *f, hia_node_id n) {
  hia_emit *e = f->e;
  const hia_node *node = hiaL_node(e, n);
  switch (node->op) {
  case HIA_OP_DUP:
  case HIA_OP_DROP:
  case HIA_OP_YIELD: return;
  case HIA_OP_MERGE_ENTRY: {
    hia_value_id v = hiaG_out(e->fn, n, 0);
    hiaL_emit_node(e, n);
    if (e->graph.tests_pending && !hiaG_is_scalar(hiaG_type(e->fn, v)))
      hiaL_wait_for(e, e->values[v], hiaG_type(e->fn, v), e->fn->loc);
    f->values[v].loop = v;
    know_stored(f, v, NULL);
    return;
  }
  case HIA_OP_CONST: hiaL_emit_node(e, n); return;
  case HIA_OP_PARAM: {
    hia_value_id v = hiaG_out(e->fn, n, 0);
    hiaL_emit_node(e, n);
    f->values[v].loop = v;
    know_stored(f, v, &e->g->params.data[node->imm].shape);
    return;
  }
  case HIA_OP_LITERAL: {
    hia_value_id v = hiaG_out(e->fn, n, 0);
    hiaL_emit_node(e, n);
    f->values[v].loop = v;
    know_stored(f, v, &e->g->literals.data[node->imm].shape);
    return;
  }
  default: break;
  }
  switch (hiaG_fused_kind(e->g, e->fn, n)) {
  case HIA_FUSED_VIEW: know_view(f, n); break;
  case HIA_FUSED_GATHER: know_gathered(f, n); break;
  case HIA_FUSED_FOLD: know_folded(f, n); break;
  default: know_computed(f, n);
  }
}

hia_fused hiaL_fused_values(hia_emit *e) {
  hia_fused f = {.e = e,
                 .values = HIA_NEW_ARRAY(&e->comp->scratch, hia_known, e->fn->values.len),
                 .fits = hiaL_number(e, 1, 1)};
  for (hia_node_id n = 0; n < e->fn->nodes.len; n++) know(&f, n);
  return f;
}

/* ---- terms ---- */

static void need_columns(hia_fused *f, hia_fused_plan *p, LLVMValueRef n) {
  if (p->n_cols)
    require_equal(f, p->n_cols, n);
  else
    p->n_cols = n;
}

static LLVMValueRef address_of(hia_fused *f, hia_value_id v, LLVMValueRef first) {
  hia_emit *e = f->e;
  const hia_known *x = &f->values[v];
  if (!first) return x->data;
  uint64_t size = hiaR_dtype_size(hiaG_tensor_dtype(e->g->types, hiaG_type(e->fn, v)));
  LLVMValueRef at = LLVMBuildMul(e->b, first, number(f, size), "at");
  return LLVMBuildGEP2(e->b, e->i8, x->data, &at, 1, "elements");
}

static bool add_gathered(hia_fused *f, hia_fused_plan *p, hia_fused_term *z) {
  hia_emit *e = f->e;
  const hia_known *x = &f->values[z->value];
  LLVMValueRef first = NULL, none = NULL, pitch = NULL;
  hia_value_id of = shown_by(f, x->of, &first, &pitch), by = shown_by(f, x->by, &none, &pitch);
  if (f->values[of].kind != HIA_STORED || f->values[by].kind != HIA_STORED || none || z->first ||
      pitch || z->pitch)
    return false;
  need_columns(f, p, x->dims[1]);
  z->from = address_of(f, of, first);
  z->by = f->values[by].data;
  z->by_dtype = hiaG_tensor_dtype(e->g->types, hiaG_type(e->fn, by));
  return true;
}

static uint32_t add_term(hia_fused *f, hia_fused_plan *p, hia_value_id v, LLVMValueRef first,
                         LLVMValueRef pitch, hia_spread spread);

/* Adds the term of operand i, `v`, of `z`, which is COMPUTED. The loop takes a part of each row of
 * `z`, which has `pitch` columns: those from `first` on. */
static uint32_t add_part(hia_fused *f, hia_fused_plan *p, const hia_known *z, uint32_t i,
                         hia_value_id v, LLVMValueRef first, LLVMValueRef pitch) {
  const hia_known *x = &f->values[v];
  hia_spread spread = z->spread[i];
  require_equal(f, z->dims[z->rank - 1], pitch);
  if (x->kind == HIA_SCALAR || spread == HIA_EACH) return add_term(f, p, v, first, pitch, HIA_EACH);
  if (spread == HIA_ONE) return add_term(f, p, v, NULL, NULL, spread);
  if (spread == HIA_EACH_ROW)
    return z->row_axis[i] == z->rank - 1 ? add_term(f, p, v, NULL, NULL, spread) : HIA_NONE;
  require_equal(f, hiaL_count_from(f, x, 0), pitch);
  return x->kind == HIA_STORED ? add_term(f, p, v, first, NULL, spread) : HIA_NONE;
}

/* Adds the term of operand i, `v`, of `z`, which is COMPUTED. The operand's elements are `first`
 * behind those of the loop. */
static uint32_t add_operand(hia_fused *f, hia_fused_plan *p, const hia_known *z, uint32_t i,
                            hia_value_id v, LLVMValueRef first) {
  const hia_known *x = &f->values[v];
  hia_spread spread = z->spread[i];
  if (x->kind == HIA_SCALAR || spread == HIA_EACH) return add_term(f, p, v, first, NULL, HIA_EACH);
  if (spread == HIA_EACH_ROW) need_columns(f, p, hiaL_count_from(f, z, z->row_axis[i]));
  if (spread == HIA_EACH_COLUMN) need_columns(f, p, hiaL_count_from(f, x, 0));
  if (first && spread == HIA_EACH_ROW) return HIA_NONE;
  if (first && spread == HIA_EACH_COLUMN) require_multiple(f, first, p->n_cols);
  return add_term(f, p, v, NULL, NULL, spread);
}

static bool add_operands(hia_fused *f, hia_fused_plan *p, hia_fused_term *z) {
  hia_emit *e = f->e;
  const hia_known *known = &f->values[z->value];
  z->node = e->fn->values.data[z->value].node;
  for (uint32_t i = 0; i < hiaL_node(e, z->node)->n_ins; i++) {
    hia_value_id in = hiaG_in(e->fn, z->node, i);
    z->ins[i] = z->pitch ? add_part(f, p, known, i, in, z->first, z->pitch)
                         : add_operand(f, p, known, i, in, z->first);
    if (z->ins[i] == HIA_NONE) return false;
  }
  return true;
}

static uint32_t push_term(hia_fused_plan *p, const hia_fused_term *z) {
  if (p->n_terms == HIA_FUSED_TERMS) return HIA_NONE;
  p->terms[p->n_terms] = *z;
  return p->n_terms++;
}

/* The element of the value that is `first` (NULL: 0) behind the one that the loop is at: the number
 * of its term. NONE: there would be too many, or this loop cannot have it. Values lead to earlier
 * ones only. */
static uint32_t add_term(hia_fused *f, hia_fused_plan *p, hia_value_id v, LLVMValueRef first,
                         LLVMValueRef pitch, hia_spread spread) {
  hia_emit *e = f->e;
  if (f->values[v].kind == HIA_SHOWN && f->values[v].pitch && spread == HIA_EACH && !pitch)
    need_columns(f, p, f->values[v].columns);
  else if (f->values[v].kind == HIA_SHOWN && pitch)
    return HIA_NONE; /* a part of a part, of which each has rows of its own */
  v = shown_by(f, v, &first, &pitch);
  const hia_known *x = &f->values[v];
  if (pitch && spread != HIA_EACH) return HIA_NONE;
  if (x->kind == HIA_SCALAR) first = pitch = NULL;
  for (uint32_t i = 0; i < p->n_terms; i++) {
    const hia_fused_term *s = &p->terms[i];
    if (s->value == v && s->first == first && s->pitch == pitch && s->spread == spread &&
        s->kind != HIA_TERM_FOLD)
      return i;
  }
  hia_fused_term z = {.kind = HIA_TERM_LOAD,
                      .dtype = hiaG_dtype(e->g->types, hiaG_type(e->fn, v)),
                      .spread = spread,
                      .value = v,
                      .first = first,
                      .pitch = pitch};
  switch (x->kind) {
  case HIA_SCALAR:
    z.kind = HIA_TERM_SPLAT;
    z.from = e->values[v];
    break;
  case HIA_STORED: z.from = address_of(f, v, first); break;
  case HIA_GATHERED:
    if (spread != HIA_EACH || !add_gathered(f, p, &z)) return HIA_NONE;
    break;
  default:
    z.kind = HIA_TERM_APPLY;
    if (x->kind != HIA_COMPUTED || spread != HIA_EACH || !add_operands(f, p, &z)) return HIA_NONE;
  }
  return push_term(p, &z);
}

static uint32_t add_fold(hia_fused *f, hia_fused_plan *p, hia_value_id v) {
  hia_emit *e = f->e;
  hia_node_id n = e->fn->values.data[v].node;
  hia_value_id of = hiaG_in(e->fn, n, 0);
  const hia_known *x = &f->values[of];
  bool is_all = hiaL_node(e, n)->imm == HIA_NONE;
  need_columns(f, p, is_all ? hiaL_count_from(f, x, 0) : x->dims[x->rank - 1]);
  hia_fused_term z = {.kind = HIA_TERM_FOLD,
                      .dtype = hiaG_dtype(e->g->types, hiaG_type(e->fn, v)),
                      .node = n,
                      .value = v};
  z.ins[0] = add_term(f, p, of, NULL, NULL, HIA_EACH);
  return z.ins[0] == HIA_NONE ? HIA_NONE : push_term(p, &z);
}

/* ---- plans ---- */

/* What an element costs, in quarters of a cycle: mostly what is read and written, which comes from
 * memory, and is written to pages that the system has to find first. */
static uint64_t cost_of(const hia_emit *e, const hia_fused_plan *p) {
  enum { READ = 8, WRITTEN = 16 };
  uint64_t cost = (uint64_t)p->n * WRITTEN;
  for (uint32_t i = 0; i < p->n_terms; i++) {
    const hia_fused_term *s = &p->terms[i];
    uint32_t words = (hiaR_dtype_size((hia_dtype)s->dtype) + 3) / 4;
    uint64_t each = 0;
    if (s->kind == HIA_TERM_LOAD) each = READ;
    if (s->kind == HIA_TERM_APPLY) each = hiaR_ops[hiaL_node(e, s->node)->op].cost;
    if (s->kind == HIA_TERM_FOLD) each = 1;
    cost += each * words;
  }
  return cost;
}

uint64_t hiaL_fused_chunk(const hia_emit *e, const hia_fused_plan *p) {
  enum { COST = 1 << 22 }; /* of a chunk: below a millisecond */
  uint64_t n = COST / cost_of(e, p) / HIA_LOOP_LANES * HIA_LOOP_LANES;
  return n > HIA_FUSED_CHUNK ? HIA_FUSED_CHUNK : n ? n : HIA_LOOP_LANES;
}

/* The loop is of a number of elements that can be counted, and not of none. */
static void require_size(hia_fused *f, const hia_fused_plan *p) {
  const hia_known *z = &f->values[p->shape];
  LLVMValueRef before = number(f, 1), last = z->dims[z->rank - 1];
  for (uint32_t k = 0; k < z->rank; k++) require_at_most(f, z->dims[k], HIA_FUSED_ELEMENTS);
  /* The axes before the last one are those of one operand, so their product does not overflow. */
  for (uint32_t k = 0; k + 1 < z->rank; k++) before = LLVMBuildMul(f->e->b, before, z->dims[k], "");
  require_at_most(f, before, HIA_FUSED_ELEMENTS);
  LLVMValueRef all = LLVMBuildMul(f->e->b, before, last, "");
  LLVMValueRef others = LLVMBuildSub(f->e->b, all, number(f, 1), ""); /* of none: very many */
  require(f, LLVMBuildICmp(f->e->b, LLVMIntULT, others, number(f, HIA_FUSED_ELEMENTS), ""));
  if (!p->n_cols) return;
  if (p->n_cols != last) require_multiple(f, all, p->n_cols);
  uint64_t most = hiaL_fused_chunk(f->e, p) * (HIA_FUSED_COLUMNS / HIA_FUSED_CHUNK);
  require_at_most(f, p->n_cols, most);
}

hia_fused_plan *hiaL_plan_loops(hia_fused *f) {
  hia_emit *e = f->e;
  hia_node_id yield = e->fn->nodes.len - 1;
  hia_fused_plan *plans = NULL;
  for (uint32_t i = 0; i < hiaL_node(e, yield)->n_ins; i++) {
    hia_value_id v = hiaG_in(e->fn, yield, i), shape = v;
    bool is_folded = f->values[v].kind == HIA_FOLDED;
    if (is_folded) shape = hiaG_in(e->fn, e->fn->values.data[v].node, 0);
    hia_fused_plan *p = plans;
    while (p && loop_of(f, p->shape) != loop_of(f, shape)) p = p->next;
    if (!p) {
      p = HIA_NEW_ARRAY(&e->comp->scratch, hia_fused_plan, 1);
      p->shape = shape;
      p->next = plans;
      plans = p;
    }
    p->of[p->n] = i;
    p->term[p->n] = is_folded ? add_fold(f, p, v) : add_term(f, p, v, NULL, NULL, HIA_EACH);
    if (p->term[p->n++] == HIA_NONE) return NULL;
  }
  for (const hia_fused_plan *p = plans; p; p = p->next) require_size(f, p);
  bool never_fits = LLVMIsAConstantInt(f->fits) && !LLVMConstIntGetZExtValue(f->fits);
  return never_fits ? NULL : plans;
}
