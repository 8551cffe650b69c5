/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* fold: constants, identities, known branches.
 *
 * One walk in sequential order. Rules for changing it:
 *
 *   1. An op that fails is not folded: it fails when it runs. A node that can fail stays, unless
 *      its constant operands show that it does not fail.
 *   2. Identities are exact for every value, bit for bit except for the payload of a NaN, which no
 *      program can see. So x + 0 is x for integers, but for floats only x + -0.0 and x - 0.0 are;
 *      x == x is known for integers only; nothing is reassociated on floats.
 *   3. Nothing is computed that was not computed before, except for a few cycles where the other
 *      arm yields anything (is_cheap): a branch becomes a `select` only if both arms are empty.
 *   4. A node that turns into another keeps its position, so the order of failures stays.
 *
 * Inside an arm of `if c`, c is a known bool; inside the arm where x == k holds, x is k. These
 * facts replace operands where that may fold something: operands of primitive ops and, for c, also
 * what a branch yields. Requires and keeps nothing; leaves the operands of dead nodes to dce. */
#include "graph/analysis/effects.h"
#include "graph/ir/build.h"
#include "graph/ir/change.h"
#include "graph/ir/graph.h"
#include "graph/ir/walk.h"
#include "graph/passes/passes.h"
#include "runtime/heap/tensor.h"

typedef struct folding {
  hia_graph *g;
  hia_fn *fn;
  hia_subst subst;
  bool *is_known; /* by value: it is the constant `known` where the walk is */
  hia_word *known;
  uint32_t n_values; /* of these two */
  bool is_changed;   /* nodes were added or removed */
} folding;

static const hia_word ONES = UINT64_MAX;
enum { MAX_CHEAP = 4 }; /* cycles, after the op table */

static bool is_int(hia_dtype t) { return t == HIA_I32 || t == HIA_I64; }
static bool is_float(hia_dtype t) { return t == HIA_F32 || t == HIA_F64; }

static hia_word one_of(hia_dtype t) {
  return t == HIA_F32 ? hiaR_from_f32(1) : t == HIA_F64 ? hiaR_from_f64(1) : 1;
}
static hia_word minus_zero_of(hia_dtype t) {
  return t == HIA_F32 ? hiaR_from_f32(-0.0f) : hiaR_from_f64(-0.0);
}
static hia_word all_bits_of(hia_dtype t) { return t == HIA_BOOL ? 1 : ONES; }

/* ---- changing nodes ---- */

static unsigned op_of(const folding *f, hia_value_id v) { return hiaG_def(f->fn, v)->op; }
static hia_node_id node_of(const folding *f, hia_value_id v) { return f->fn->values.data[v].node; }
static hia_value_id in(const folding *f, hia_node_id n, uint32_t i) { return hiaG_in(f->fn, n, i); }

static hia_node_id insert(folding *f, hia_node_id at, unsigned op, const hia_value_id *ins,
                          uint32_t n_ins, hia_dtype type, hia_word imm) {
  f->is_changed = true;
  return hiaG_insert(f->g, f->fn, at, op, ins, n_ins, &type, 1, imm, f->fn->nodes.data[at].loc);
}

static void drop(folding *f, hia_node_id n) {
  f->is_changed = true;
  hiaG_remove(f->fn, n);
}

static hia_value_id const_before(folding *f, hia_node_id at, hia_dtype type, hia_word word) {
  return hiaG_out(f->fn, insert(f, at, HIA_OP_CONST, NULL, 0, type, word), 0);
}

static bool become_const(folding *f, hia_node_id n, hia_word word) {
  hia_node *node = &f->fn->nodes.data[n];
  node->op = HIA_OP_CONST;
  node->n_ins = 0;
  node->imm = word;
  return true;
}

static bool become(folding *f, hia_node_id n, hia_value_id v) {
  hiaG_replace(&f->subst, hiaG_out(f->fn, n, 0), v);
  drop(f, n);
  return true;
}

static bool become_op(folding *f, hia_node_id n, unsigned op, hia_value_id a, hia_value_id b) {
  hia_value_id ins[2] = {a, b};
  hiaG_set_ins(f->g, f->fn, n, ins, b == HIA_NONE ? 1 : 2);
  f->fn->nodes.data[n].op = (uint16_t)op;
  f->fn->nodes.data[n].imm = 0;
  return true;
}

/* ---- identities: each returns true if it has changed the node ---- */

static bool fold_constants(folding *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  hia_word words[3], result;
  if (node->n_ins == 0 || node->n_ins > HIA_LEN(words)) return false;
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (!hiaG_is_const(f->fn, in(f, n, i), &words[i])) return false;
  if (hiaR_scalar_eval(node->op, hiaG_node_dtype(f->g, f->fn, n), node->imm, words, &result) !=
      HIA_OK)
    return false;
  return become_const(f, n, result);
}

/* Returns the comparison with its operands exchanged. */
static unsigned mirrored(unsigned op) {
  switch (op) {
  case HIA_OP_LT: return HIA_OP_GT;
  case HIA_OP_GT: return HIA_OP_LT;
  case HIA_OP_LE: return HIA_OP_GE;
  case HIA_OP_GE: return HIA_OP_LE;
  default: return op; /* EQ, NE */
  }
}

/* Returns the comparison that is true where this one is false. */
static unsigned opposite(unsigned op) {
  switch (op) {
  case HIA_OP_EQ: return HIA_OP_NE;
  case HIA_OP_NE: return HIA_OP_EQ;
  case HIA_OP_LT: return HIA_OP_GE;
  case HIA_OP_GE: return HIA_OP_LT;
  case HIA_OP_GT: return HIA_OP_LE;
  default: return HIA_OP_GT; /* of LE */
  }
}

/* Moves a constant operand to the right. */
static bool constant_right(folding *f, hia_node_id n) {
  hia_node *node = &f->fn->nodes.data[n];
  if (node->n_ins != 2) return false;
  bool is_compare = hiaR_ops[node->op].rule == HIA_RULE_COMPARE;
  if (!is_compare && !(hiaR_ops[node->op].traits & HIA_T_COMMUTES)) return false;
  hia_value_id a = in(f, n, 0), b = in(f, n, 1);
  if (op_of(f, a) != HIA_OP_CONST || op_of(f, b) == HIA_OP_CONST) return false;
  return become_op(f, n, is_compare ? mirrored(node->op) : node->op, b, a);
}

/* Makes one op on x of (x + c1) + c2, also where there is a minus. The inner op may have other
 * uses. */
static bool gather_offset(folding *f, hia_node_id n, hia_dtype type, hia_word c2) {
  hia_node_id inner = node_of(f, in(f, n, 0));
  unsigned op = f->fn->nodes.data[n].op, inner_op = f->fn->nodes.data[inner].op;
  hia_word c1, words[2], sum;
  if (inner_op != HIA_OP_ADD && inner_op != HIA_OP_SUB) return false;
  if (!hiaG_is_const(f->fn, in(f, inner, 1), &c1)) return false;
  words[0] = c1;
  words[1] = c2;
  if (hiaR_scalar_eval(op == inner_op ? HIA_OP_ADD : HIA_OP_SUB, type, 0, words, &sum) != HIA_OK)
    return false;
  hia_value_id x = in(f, inner, 0);
  return become_op(f, n, inner_op, x, const_before(f, n, type, sum));
}

static bool fold_add_sub(folding *f, hia_node_id n, hia_dtype type) {
  unsigned op = f->fn->nodes.data[n].op;
  hia_value_id a = in(f, n, 0), b = in(f, n, 1);
  hia_word c;
  if (hiaG_is_const(f->fn, b, &c)) {
    bool is_neutral = is_int(type)       ? c == 0
                      : op == HIA_OP_ADD ? c == minus_zero_of(type)
                                         : c == 0; /* x - 0.0 is x, also for -0.0 */
    if (is_neutral) return become(f, n, a);
    return is_int(type) && gather_offset(f, n, type, c);
  }
  if (op_of(f, b) == HIA_OP_NEG) /* exact for floats too */
    return become_op(f, n, op == HIA_OP_ADD ? HIA_OP_SUB : HIA_OP_ADD, a, in(f, node_of(f, b), 0));
  if (op == HIA_OP_SUB && a == b && is_int(type)) return become_const(f, n, 0);
  return false;
}

static bool fold_mul(folding *f, hia_node_id n, hia_dtype type) {
  hia_word c;
  if (!hiaG_is_const(f->fn, in(f, n, 1), &c)) return false;
  if (c == one_of(type)) return become(f, n, in(f, n, 0));
  if (!is_int(type)) return false;
  if (c == 0) return become_const(f, n, 0);
  if (c == ONES) return become_op(f, n, HIA_OP_NEG, in(f, n, 0), HIA_NONE);
  return false;
}

static bool fold_div_rem(folding *f, hia_node_id n, hia_dtype type) {
  hia_word c;
  if (!hiaG_is_const(f->fn, in(f, n, 1), &c) || c != one_of(type)) return false;
  if (f->fn->nodes.data[n].op == HIA_OP_DIV) return become(f, n, in(f, n, 0));
  return is_int(type) && become_const(f, n, 0);
}

static bool fold_bits(folding *f, hia_node_id n, hia_dtype type) {
  unsigned op = f->fn->nodes.data[n].op;
  hia_value_id a = in(f, n, 0), b = in(f, n, 1);
  hia_word c;
  if (a == b) return op == HIA_OP_BXOR ? become_const(f, n, 0) : become(f, n, a);
  if (!hiaG_is_const(f->fn, b, &c)) return false;
  bool is_zero = c == 0, is_ones = c == all_bits_of(type);
  switch (op) {
  case HIA_OP_BAND:
    if (is_zero) return become_const(f, n, 0);
    return is_ones && become(f, n, a);
  case HIA_OP_BOR:
    if (is_ones) return become_const(f, n, c);
    return is_zero && become(f, n, a);
  default:
    if (is_zero) return become(f, n, a);
    return is_ones && become_op(f, n, HIA_OP_BNOT, a, HIA_NONE);
  }
}

static bool fold_shift(folding *f, hia_node_id n, hia_dtype type) {
  hia_word c;
  if (hiaG_is_const(f->fn, in(f, n, 1), &c))
    return (c & (type == HIA_I32 ? 31 : 63)) == 0 && become(f, n, in(f, n, 0));
  if (!hiaG_is_const(f->fn, in(f, n, 0), &c)) return false;
  bool stays = c == 0 || (c == ONES && f->fn->nodes.data[n].op == HIA_OP_SHR);
  return stays && become_const(f, n, c);
}

/* fma with a factor 1, whose product is exact, is an addition. With addend -0.0, which keeps the
 * sign of a zero, it is a multiplication. */
static bool fold_fma(folding *f, hia_node_id n, hia_dtype type) {
  hia_value_id a = in(f, n, 0), b = in(f, n, 1), c = in(f, n, 2);
  hia_word k;
  if (hiaG_is_const(f->fn, b, &k) && k == one_of(type)) return become_op(f, n, HIA_OP_ADD, a, c);
  if (hiaG_is_const(f->fn, a, &k) && k == one_of(type)) return become_op(f, n, HIA_OP_ADD, b, c);
  if (hiaG_is_const(f->fn, c, &k) && k == minus_zero_of(type))
    return become_op(f, n, HIA_OP_MUL, a, b);
  return false;
}

static bool fold_compare(folding *f, hia_node_id n, hia_dtype type) {
  unsigned op = f->fn->nodes.data[n].op;
  hia_value_id a = in(f, n, 0), b = in(f, n, 1);
  if (a == b) {
    if (op == HIA_OP_LT || op == HIA_OP_GT) return become_const(f, n, 0); /* of NaN too */
    if (!is_float(type)) return become_const(f, n, op != HIA_OP_NE);
  }
  hia_word c;
  if (type != HIA_BOOL || !hiaG_is_const(f->fn, b, &c)) return false;
  if (op == HIA_OP_EQ || op == HIA_OP_NE)
    return (op == HIA_OP_EQ) == (c == 1) ? become(f, n, a)
                                         : become_op(f, n, HIA_OP_BNOT, a, HIA_NONE);
  return false;
}

static bool fold_select(folding *f, hia_node_id n, hia_dtype type) {
  hia_value_id c = in(f, n, 0), a = in(f, n, 1), b = in(f, n, 2);
  hia_word known, x, y;
  if (hiaG_is_const(f->fn, c, &known)) return become(f, n, known ? a : b);
  if (a == b) return become(f, n, a);
  if (op_of(f, c) == HIA_OP_BNOT) {
    hia_value_id ins[3] = {in(f, node_of(f, c), 0), b, a};
    hiaG_set_ins(f->g, f->fn, n, ins, 3);
    return true;
  }
  if (type != HIA_BOOL) return false;
  bool a_const = hiaG_is_const(f->fn, a, &x), b_const = hiaG_is_const(f->fn, b, &y);
  if (a_const && b_const) /* not equal, or they would be one node after cse; either way exact */
    return x == y ? become(f, n, a)
           : x    ? become(f, n, c)
                  : become_op(f, n, HIA_OP_BNOT, c, HIA_NONE);
  if (a_const && x) return become_op(f, n, HIA_OP_BOR, c, b);
  if (b_const && !y) return become_op(f, n, HIA_OP_BAND, c, a);
  return false;
}

/* Folds op(op(x)) and the like. */
static bool fold_unary(folding *f, hia_node_id n, hia_dtype type) {
  unsigned op = f->fn->nodes.data[n].op;
  hia_node_id inner = node_of(f, in(f, n, 0));
  unsigned inner_op = f->fn->nodes.data[inner].op;
  switch (op) {
  case HIA_OP_NEG: return inner_op == HIA_OP_NEG && become(f, n, in(f, inner, 0));
  case HIA_OP_BNOT:
    if (inner_op == HIA_OP_BNOT) return become(f, n, in(f, inner, 0));
    if (type == HIA_BOOL && hiaR_ops[inner_op].rule == HIA_RULE_COMPARE) {
      bool is_exact = inner_op == HIA_OP_EQ || inner_op == HIA_OP_NE ||
                      !is_float(hiaG_node_dtype(f->g, f->fn, inner)); /* NaN is neither < nor >= */
      hia_value_id a = in(f, inner, 0), b = in(f, inner, 1);
      return is_exact && become_op(f, n, opposite(inner_op), a, b);
    }
    return false;
  case HIA_OP_ABS:
    if (inner_op == HIA_OP_NEG) return become_op(f, n, HIA_OP_ABS, in(f, inner, 0), HIA_NONE);
    return inner_op == HIA_OP_ABS && become(f, n, in(f, n, 0));
  case HIA_OP_RELU:
  case HIA_OP_FLOOR:
  case HIA_OP_CEIL:
  case HIA_OP_ROUND: return inner_op == op && become(f, n, in(f, n, 0));
  default: return false;
  }
}

/* isnan and isinf of operations that keep both, and of values that are never either. */
static bool fold_classify(folding *f, hia_node_id n) {
  hia_node_id inner = node_of(f, in(f, n, 0));
  unsigned op = f->fn->nodes.data[n].op;
  switch (f->fn->nodes.data[inner].op) {
  case HIA_OP_NEG:
  case HIA_OP_ABS: return become_op(f, n, op, in(f, inner, 0), HIA_NONE);
  case HIA_OP_CAST: {
    hia_value_id x = in(f, inner, 0);
    if (!is_float(hiaG_type(f->fn, x))) return become_const(f, n, 0); /* 2^63 is finite in f32 */
    /* A number too large for f32 becomes an infinity. */
    bool keeps = op == HIA_OP_ISNAN || hiaG_type(f->fn, x) == HIA_F32;
    return keeps && become_op(f, n, op, x, HIA_NONE);
  }
  default: return false;
  }
}

/* Conversions there and back through a dtype that holds every value of the first. */
static bool fold_cast(folding *f, hia_node_id n) {
  hia_dtype from = hiaG_type(f->fn, in(f, n, 0)), to = hiaG_type(f->fn, hiaG_out(f->fn, n, 0));
  if (from == to) return become(f, n, in(f, n, 0));
  hia_node_id inner = node_of(f, in(f, n, 0));
  if (f->fn->nodes.data[inner].op != HIA_OP_CAST) return false;
  hia_value_id x = in(f, inner, 0);
  if (hiaG_type(f->fn, x) != to) return false;
  bool is_wider = to == HIA_BOOL || (to == HIA_I32 && (from == HIA_I64 || from == HIA_F64)) ||
                  (to == HIA_F32 && from == HIA_F64);
  return is_wider && become(f, n, x);
}

/* The object that a value is; NULL: it is none that is known. */
static const void *object_of(const folding *f, hia_value_id v) {
  const hia_node *def = hiaG_def(f->fn, v);
  bool is_object = f->g->is_assumed && def->op == HIA_OP_CONST && def->imm >= HIA_FIRST_ADDRESS;
  return is_object && !hiaG_is_scalar(hiaG_type(f->fn, v)) ? (const void *)(uintptr_t)def->imm
                                                           : NULL;
}

/* The param that stands for a tensor of a known object. */
static uint32_t argument_of(hia_graph *g, hia_word word) {
  const hia_tensor *t = hiaR_tensor(word);
  hia_dims shape = hiaR_tensor_dims(t);
  for (uint32_t i = 0; i < g->arguments.len; i++)
    if (g->arguments.data[i].word == HIA_NONE && g->arguments.data[i].tensor == word)
      return g->first_argument + i;
  return hiaG_argument_new(g, hiaR_tensor_dtype(t), &shape,
                           &(hia_argument){.word = HIA_NONE, .tensor = word, .shape = shape});
}

static void become_param(folding *f, hia_node_id n, hia_word word) {
  hia_node *node = &f->fn->nodes.data[n];
  if (word < HIA_FIRST_ADDRESS || !hiaR_tensor_lies_as_param(hiaR_tensor(word))) return;
  node->op = HIA_OP_PARAM;
  node->n_ins = 0;
  node->imm = argument_of(f->g, word);
}

/* A read becomes the word that stands at `at`; a tensor becomes a param. */
static void become_word(folding *f, hia_node_id n, const hia_layout_word *at, const char *base) {
  hia_type type = hiaG_type(f->fn, hiaG_out(f->fn, n, 0));
  hia_word word = hiaR_load((hia_repr)at->repr, base + at->at);
  if (!hiaG_is_scalar(type) && hiaG_type_kind(f->g->types, type) == HIA_KIND_TENSOR) {
    become_param(f, n, word);
    return;
  }
  hia_type_kind kind = hiaG_is_scalar(type) ? HIA_KIND_DATA : hiaG_type_kind(f->g->types, type);
  if (kind == HIA_KIND_DATA || (kind == HIA_KIND_ARRAY && word >= HIA_FIRST_ADDRESS))
    become_const(f, n, word);
}

static void fold_field(folding *f, hia_node_id n, const hia_counted *object) {
  const hia_node *node = &f->fn->nodes.data[n];
  hia_type_table types = hiaG_type_table(f->g->types);
  const hia_ctor *ctor = hiaR_ctor(&types, hiaG_type(f->fn, in(f, n, 0)), HIA_IMM_A(node->imm));
  const hia_layout_word *at = &types.layout_words[ctor->layout.first + HIA_IMM_B(node->imm)];
  if (object->ctor == HIA_IMM_A(node->imm)) become_word(f, n, at, (const char *)object);
}

/* Reads of a value that is made in sight, or is known. An arm that will turn out not to be taken
 * may hold reads of the wrong constructor, which stay. */
static void fold_data(folding *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n], *value = hiaG_def(f->fn, in(f, n, 0));
  const hia_counted *object = object_of(f, in(f, n, 0));
  if (value->op != HIA_OP_CONST && value->op != HIA_OP_DATA) return;
  if (node->op == HIA_OP_CTOR)
    become_const(f, n, object ? object->ctor : value->imm);
  else if (object)
    fold_field(f, n, object);
  else if (value->op == HIA_OP_DATA && value->imm == HIA_IMM_A(node->imm))
    become(f, n, f->fn->edges.data[value->ins + HIA_IMM_B(node->imm)]);
}

/* Folds what is read of an array whose length or elements are known. What would fail stays. */
static void fold_array(folding *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n], *array = hiaG_def(f->fn, in(f, n, 0));
  hia_type type = hiaG_type(f->fn, in(f, n, 0));
  const hia_layout *layout = &f->g->types->entries.data[type - HIA_FIRST_TYPE].layout;
  uint32_t n_words = layout->n;
  hia_word index;
  const hia_array *known = object_of(f, in(f, n, 0));
  if (known) {
    if (node->op == HIA_OP_LEN)
      become_const(f, n, known->n);
    else if (hiaG_is_const(f->fn, in(f, n, 1), &index) && index < known->n)
      become_word(f, n, &f->g->types->layout_words.data[layout->first + node->imm],
                  known->data + index * layout->size);
    return;
  }
  /* As long as the array before. The length of that one is not asked for instead: it would have to
   * stay alive, and `set` could not change it in place. */
  while (node->op == HIA_OP_LEN && (array->op == HIA_OP_SET || array->op == HIA_OP_FILLED))
    array = hiaG_def(f->fn, f->fn->edges.data[array->ins]);
  if (node->op == HIA_OP_LEN && (array->op == HIA_OP_NEW || array->op == HIA_OP_MAP)) {
    become(f, n, f->fn->edges.data[array->ins]);
  } else if (array->op != HIA_OP_ARRAY) {
    return;
  } else if (node->op == HIA_OP_LEN) {
    become_const(f, n, array->n_ins / n_words);
  } else if (hiaG_is_const(f->fn, in(f, n, 1), &index) && index < array->n_ins / n_words) {
    become(f, n, f->fn->edges.data[array->ins + index * n_words + node->imm]);
  }
}

/* The literal that a value is; NULL: it is none. */
static const hia_tensor_literal *literal_of(const folding *f, hia_value_id v) {
  const hia_node *def = hiaG_def(f->fn, v);
  return def->op == HIA_OP_LITERAL ? &f->g->literals.data[def->imm] : NULL;
}

/* A literal of literals, which have one shape: one behind the other. */
static void fold_stack(folding *f, hia_node_id n) {
  const hia_node node = f->fn->nodes.data[n];
  const hia_tensor_literal *first = literal_of(f, in(f, n, 0));
  if (!first || node.imm != 0) return;
  for (uint32_t i = 1; i < node.n_ins; i++) {
    const hia_tensor_literal *other = literal_of(f, in(f, n, i));
    if (!other || memcmp(&other->shape, &first->shape, sizeof first->shape) != 0) return;
  }
  hia_dims shape = first->shape;
  memmove(shape.dims + 1, shape.dims, shape.rank++ * sizeof *shape.dims);
  shape.dims[0] = node.n_ins;
  uint32_t number = hiaG_literal_new(f->g, first->dtype, &shape);
  if (number == HIA_NONE) return;
  char *to = f->g->literals.data[number].elements;
  for (uint32_t i = 0; i < node.n_ins; i++) {
    const hia_tensor_literal *row = literal_of(f, in(f, n, i));
    if (row->size) memcpy(to + i * row->size, row->elements, row->size);
  }
  f->fn->nodes.data[n].op = HIA_OP_LITERAL;
  f->fn->nodes.data[n].n_ins = 0;
  f->fn->nodes.data[n].imm = number;
}

/* The size of an axis of a tensor, where it is known: of a literal or a param, and of a field that
 * declares it: whoever makes data checks that. A graph of text may make data otherwise.
 * HIA_DIM_UNKNOWN. */
static hia_dim size_of(const folding *f, hia_value_id v, uint32_t axis) {
  const hia_tensor_literal *literal = literal_of(f, v);
  const hia_node *def = hiaG_def(f->fn, v);
  if (literal) return literal->shape.dims[axis];
  if (def->op == HIA_OP_PARAM) return f->g->params.data[def->imm].shape.dims[axis];
  if (def->op != HIA_OP_FIELD || f->g->is_read) return HIA_DIM_UNKNOWN;
  hia_type_table types = hiaG_type_table(f->g->types);
  hia_type data = hiaG_type(f->fn, f->fn->edges.data[def->ins]);
  const hia_ctor *ctor = hiaR_ctor(&types, data, HIA_IMM_A(def->imm));
  uint32_t at = ctor->sizes + axis;
  if (!ctor->n_sizes) return HIA_DIM_UNKNOWN;
  for (uint32_t i = 0; i < HIA_IMM_B(def->imm); i++)
    at += hiaR_type_sizes(&types, types.layout_words[ctor->layout.first + i].type);
  return types.parts[at] == HIA_NONE ? HIA_DIM_UNKNOWN : types.parts[at];
}

/* A check of sizes that are known to be right. */
static void fold_expect(folding *f, hia_node_id n) {
  uint64_t axes = f->fn->nodes.data[n].imm;
  hia_word wanted;
  for (uint32_t i = 1; axes; axes &= axes - 1, i++) {
    hia_dim size = size_of(f, in(f, n, 0), (uint32_t)__builtin_ctzll(axes));
    if (size < 0 || !hiaG_is_const(f->fn, in(f, n, i), &wanted) || size != hiaR_to_i64(wanted))
      return;
  }
  become(f, n, in(f, n, 0));
}

static void fold_dim(folding *f, hia_node_id n) {
  hia_dim size = size_of(f, in(f, n, 0), (uint32_t)f->fn->nodes.data[n].imm);
  if (size >= 0) become_const(f, n, hiaR_from_i64(size));
}

static bool fold_op(folding *f, hia_node_id n) {
  if (fold_constants(f, n) || constant_right(f, n)) return true;
  hia_type type = hiaG_node_dtype(f->g, f->fn, n);
  switch (f->fn->nodes.data[n].op) {
  case HIA_OP_ADD:
  case HIA_OP_SUB: return fold_add_sub(f, n, type);
  case HIA_OP_MUL: return fold_mul(f, n, type);
  case HIA_OP_DIV:
  case HIA_OP_REM: return fold_div_rem(f, n, type);
  case HIA_OP_MIN:
  case HIA_OP_MAX: return in(f, n, 0) == in(f, n, 1) && become(f, n, in(f, n, 0));
  case HIA_OP_BAND:
  case HIA_OP_BOR:
  case HIA_OP_BXOR: return fold_bits(f, n, type);
  case HIA_OP_SHL:
  case HIA_OP_SHR:
  case HIA_OP_SHRU: return fold_shift(f, n, type);
  case HIA_OP_FMA: return fold_fma(f, n, type);
  case HIA_OP_EQ:
  case HIA_OP_NE:
  case HIA_OP_LT:
  case HIA_OP_LE:
  case HIA_OP_GT:
  case HIA_OP_GE: return fold_compare(f, n, type);
  case HIA_OP_SELECT: return fold_select(f, n, type);
  case HIA_OP_CAST: return fold_cast(f, n);
  case HIA_OP_ISNAN:
  case HIA_OP_ISINF: return fold_classify(f, n);
  default: return f->fn->nodes.data[n].n_ins == 1 && fold_unary(f, n, type);
  }
}

/* ---- facts ---- */

static void learn(folding *f, hia_value_id v, bool is_known, hia_word word) {
  if (v >= f->n_values) return; /* made by this pass: it has few uses, and growing costs memory */
  f->is_known[v] = is_known;
  f->known[v] = word;
}

/* Records the facts that hold in an arm; or, when the walk leaves the arm, removes them. */
static void learn_arm(folding *f, hia_node_id n, bool is_then, bool is_entered) {
  hia_value_id c = in(f, n, 0), x;
  hia_word k;
  if (op_of(f, c) == HIA_OP_CONST) return;
  learn(f, c, is_entered, is_then);
  hia_node_id compare = node_of(f, c);
  unsigned op = f->fn->nodes.data[compare].op;
  if (op != (is_then ? HIA_OP_EQ : HIA_OP_NE)) return;
  x = in(f, compare, 0);
  if (!is_float(hiaG_type(f->fn, x)) && op_of(f, x) != HIA_OP_CONST &&
      hiaG_is_const(f->fn, in(f, compare, 1), &k))
    learn(f, x, is_entered, k);
}

static void use_facts(folding *f, hia_node_id n) {
  const hia_node *node = &f->fn->nodes.data[n];
  bool is_primitive = hiaG_is_scalar_op(f->fn, n);
  bool takes_bool = node->op == HIA_OP_IF || node->op == HIA_OP_YIELD;
  if (!is_primitive && !takes_bool) return;
  for (uint32_t i = 0; i < f->fn->nodes.data[n].n_ins; i++) {
    hia_value_id v = in(f, n, i);
    hia_type type = hiaG_type(f->fn, v);
    if (v >= f->n_values || !f->is_known[v] || (takes_bool && type != HIA_BOOL)) continue;
    hia_value_id c = const_before(f, n, type, f->known[v]);
    f->fn->edges.data[f->fn->nodes.data[n].ins + i] = c;
  }
}

/* ---- branches and loops ---- */

/* True if the arm computes an element of a comprehension: what follows the branch does not. */
static bool is_of_element(const folding *f, hia_node_id n, bool is_true) {
  const hia_fn *fn = f->fn;
  hia_region_id arm = fn->nodes.data[n].regions + (is_true ? 0 : 1);
  for (n = fn->regions.data[arm].first; n != HIA_NONE; n = fn->nodes.data[n].next)
    if (fn->nodes.data[n].op == HIA_OP_ELEMENT) return true;
  return false;
}

/* Replaces the IF by its taken arm. Returns the node to go on with. */
static hia_node_id take_arm(folding *f, hia_node_id n, bool is_true) {
  hia_fn *fn = f->fn;
  hia_region_id arm = fn->nodes.data[n].regions + (is_true ? 0 : 1);
  hia_node_id yield = hiaG_yield_of(fn, arm);
  hia_node_id first = hiaG_splice(fn, arm, fn->nodes.data[n].region, n);
  hia_node_id next = first != n ? first : hiaG_walk_over(fn, n);
  for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++)
    hiaG_replace(&f->subst, hiaG_out(fn, n, i), in(f, yield, i));
  drop(f, n);
  return next;
}

/* True if the condition of a loop is false in its first round, as far as this is known: if it is a
 * constant, or an op on constants and on variables that begin with a constant. */
static bool is_never_entered(folding *f, hia_node_id n) {
  const hia_fn *fn = f->fn;
  hia_value_id c = in(f, hiaG_yield_of(fn, fn->nodes.data[n].regions), 0);
  hia_node_id cond = node_of(f, c);
  const hia_node *node = &fn->nodes.data[cond];
  hia_word words[3], result;
  if (hiaG_is_const(fn, c, &result)) return !result;
  if (!hiaG_is_scalar_op(fn, cond) || node->n_ins > HIA_LEN(words)) return false;
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id v = hiaG_resolve(&f->subst, in(f, cond, i));
    const hia_node *def = hiaG_def(fn, v);
    if (def->op == HIA_OP_ARG && def->region == fn->nodes.data[n].regions)
      v = in(f, n, HIA_IMM_A(def->imm));
    if (!hiaG_is_const(fn, v, &words[i])) return false;
  }
  return hiaR_scalar_eval(node->op, hiaG_node_dtype(f->g, fn, cond), node->imm, words, &result) ==
             HIA_OK &&
         !result;
}

/* Replaces a loop that is never entered by its head, which runs once with the first values. */
static hia_node_id take_head(folding *f, hia_node_id n) {
  hia_fn *fn = f->fn;
  hia_region_id head = fn->nodes.data[n].regions;
  hia_node_id yield = hiaG_yield_of(fn, head);
  HIA_EACH_ARG(fn, head, arg)
    hiaG_replace(&f->subst, hiaG_out(fn, arg, 0), in(f, n, HIA_IMM_A(fn->nodes.data[arg].imm)));
  hia_node_id first = hiaG_splice(fn, head, fn->nodes.data[n].region, n);
  hia_node_id next = first != n ? first : hiaG_walk_over(fn, n);
  for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++)
    hiaG_replace(&f->subst, hiaG_out(fn, n, i), in(f, yield, 1 + i));
  drop(f, n);
  return next;
}

static bool is_anything(const folding *f, hia_value_id v) {
  unsigned op = op_of(f, v);
  return op == HIA_OP_UNDEF || op == HIA_OP_FAIL || op == HIA_OP_GUARD;
}

/* Replaces results that are constant, or equal to the condition, whatever else the arms do. */
static void fold_results(folding *f, hia_node_id n) {
  hia_fn *fn = f->fn;
  hia_region_id then_region = fn->nodes.data[n].regions;
  hia_node_id a = hiaG_yield_of(fn, then_region), b = hiaG_yield_of(fn, then_region + 1);
  hia_value_id not_c = HIA_NONE;
  for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++) {
    hia_value_id v = in(f, a, i), w = in(f, b, i), out = hiaG_out(fn, n, i), by;
    hia_word x = 0, y = 0;
    bool v_const = hiaG_is_const(fn, v, &x), w_const = hiaG_is_const(fn, w, &y);
    hia_type type = hiaG_type(fn, out);
    if (v_const && is_anything(f, w)) {
      by = const_before(f, n, type, x);
    } else if (w_const && is_anything(f, v)) {
      by = const_before(f, n, type, y);
    } else if (!v_const || !w_const) {
      continue;
    } else if (x == y) {
      by = const_before(f, n, type, x);
    } else if (type != HIA_BOOL) {
      continue;
    } else if (x) {
      by = in(f, n, 0);
    } else {
      if (not_c == HIA_NONE) {
        hia_value_id c = in(f, n, 0);
        hia_node_id bnot = insert(f, n, HIA_OP_BNOT, &c, 1, type, 0);
        not_c = hiaG_out(fn, bnot, 0);
        if (fold_op(f, bnot)) not_c = hiaG_resolve(&f->subst, not_c);
      }
      by = not_c;
    }
    hiaG_replace(&f->subst, out, by);
  }
}

/* True if the arm has only a few cheap computations, and yields their values only where `other`
 * yields anything (undef). Computing them in any case is cheaper than a branch around them. */
static bool is_cheap(const folding *f, hia_region_id arm, hia_region_id other) {
  const hia_fn *fn = f->fn;
  uint32_t cost = 0;
  for (hia_node_id n = fn->regions.data[arm].first; fn->nodes.data[n].op != HIA_OP_YIELD;
       n = fn->nodes.data[n].next) {
    const hia_node *node = &fn->nodes.data[n];
    if (!hiaG_node_movable(f->g, fn, n)) return false;
    cost += hiaR_ops[node->op].cost;
    if (cost > MAX_CHEAP) return false;
  }
  hia_node_id mine = hiaG_yield_of(fn, arm), its = hiaG_yield_of(fn, other);
  for (uint32_t i = 0; i < fn->nodes.data[mine].n_ins; i++) {
    const hia_node *def = hiaG_def(fn, in(f, mine, i));
    bool is_computed = def->region == arm && !hiaG_is_constant(def->op);
    if (is_computed && !is_anything(f, in(f, its, i))) return false;
  }
  return true;
}

/* True if the results can be selected: `select` takes scalars. */
static bool are_selectable(const folding *f, hia_node_id n) {
  const hia_fn *fn = f->fn;
  hia_region_id then_region = fn->nodes.data[n].regions;
  hia_node_id a = hiaG_yield_of(fn, then_region), b = hiaG_yield_of(fn, then_region + 1);
  for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++)
    if (!hiaG_is_scalar(hiaG_type(fn, hiaG_out(fn, n, i))) && in(f, a, i) != in(f, b, i))
      return false;
  return true;
}

/* Replaces the results of an IF with empty arms by selections. Returns the node to go on with. */
static hia_node_id to_selects(folding *f, hia_node_id n, hia_node_id next) {
  hia_fn *fn = f->fn;
  hia_region_id then_region = fn->nodes.data[n].regions;
  hia_node_id a = hiaG_yield_of(fn, then_region), b = hiaG_yield_of(fn, then_region + 1);
  hia_node_id first = HIA_NONE;
  for (uint32_t i = 0; i < fn->nodes.data[n].n_outs; i++) {
    hia_value_id out = hiaG_out(fn, n, i), v = in(f, a, i), w = in(f, b, i);
    if (hiaG_resolve(&f->subst, out) != out) continue; /* by fold_results */
    hia_type type = hiaG_type(fn, out);
    if (is_anything(f, v) && is_anything(f, w)) {
      hia_node_id undef = insert(f, n, HIA_OP_UNDEF, NULL, 0, type, 0);
      hiaG_replace(&f->subst, out, hiaG_out(fn, undef, 0));
      continue;
    }
    if (is_anything(f, v)) v = w;
    if (is_anything(f, w)) w = v;
    hia_value_id ins[3] = {in(f, n, 0), v, w};
    if (v == w) {
      hiaG_replace(&f->subst, out, v);
      continue;
    }
    hia_node_id select = insert(f, n, HIA_OP_SELECT, ins, 3, type, 0);
    if (first == HIA_NONE) first = select;
    hiaG_replace(&f->subst, out, hiaG_out(fn, select, 0));
  }
  drop(f, n);
  return first == HIA_NONE ? next : first;
}

/* ---- the walk ---- */

static hia_node_id leave_if(folding *f, hia_node_id n) {
  hia_node_id next = hiaG_walk_over(f->fn, n);
  hia_region_id then_region = f->fn->nodes.data[n].regions;
  learn_arm(f, n, false, false);
  fold_results(f, n);
  if (are_selectable(f, n) && is_cheap(f, then_region, then_region + 1) &&
      is_cheap(f, then_region + 1, then_region)) {
    hiaG_splice(f->fn, then_region, f->fn->nodes.data[n].region, n);
    hiaG_splice(f->fn, then_region + 1, f->fn->nodes.data[n].region, n);
    return to_selects(f, n, next);
  }
  return next;
}

/* Folds node n and returns the node to go on with. */
static hia_node_id visit(folding *f, hia_node_id n) {
  hia_fn *fn = f->fn;
  hia_word c;
  use_facts(f, n);
  switch (fn->nodes.data[n].op) {
  case HIA_OP_IF:
    if (hiaG_is_const(fn, in(f, n, 0), &c) && !is_of_element(f, n, c != 0))
      return take_arm(f, n, c != 0);
    learn_arm(f, n, true, true);
    break;
  case HIA_OP_LOOP:
    if (is_never_entered(f, n)) return take_head(f, n);
    break;
  case HIA_OP_YIELD: {
    const hia_region *region = &fn->regions.data[fn->nodes.data[n].region];
    if (region->kind == HIA_REGION_ELSE) return leave_if(f, region->owner);
    if (region->kind == HIA_REGION_THEN) {
      learn_arm(f, region->owner, true, false);
      learn_arm(f, region->owner, false, true);
    }
    break;
  }
  case HIA_OP_CTOR:
  case HIA_OP_FIELD: {
    hia_node_id next = fn->nodes.data[n].next;
    fold_data(f, n);
    return next;
  }
  case HIA_OP_STACK: fold_stack(f, n); break;
  case HIA_OP_DIM: fold_dim(f, n); break;
  case HIA_OP_EXPECT: {
    hia_node_id next = fn->nodes.data[n].next;
    fold_expect(f, n);
    return next;
  }
  case HIA_OP_LEN:
  case HIA_OP_AT: {
    hia_node_id next = fn->nodes.data[n].next;
    fold_array(f, n);
    return next;
  }
  default:
    if (!hiaG_is_scalar_op(fn, n)) break;
    hia_node_id next = fn->nodes.data[n].next; /* never NONE: its region's YIELD is behind it */
    while (fold_op(f, n) && hiaG_is_scalar_op(fn, n) &&
           !(fn->nodes.data[n].flags & HIA_NODE_DEAD)) {
    }
    return next;
  }
  return hiaG_walk_next(fn, n);
}

void hiaG_fold(hia_graph *g, hia_fn *fn) {
  folding f = {.g = g, .fn = fn, .subst = hiaG_subst(g, fn), .n_values = fn->values.len};
  f.is_known = HIA_NEW_ARRAY(&g->comp->scratch, bool, f.n_values);
  f.known = HIA_NEW_ARRAY(&g->comp->scratch, hia_word, f.n_values);
  for (hia_node_id n = fn->regions.data[0].first; n != HIA_NONE;) {
    hiaG_rewrite_ins(&f.subst, fn, n);
    n = visit(&f, n);
  }
  if (f.is_changed) hiaG_compact(g, fn);
}
