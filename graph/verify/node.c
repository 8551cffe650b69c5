/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Checks single nodes: their indices, their immediates, and the types of their operands and
 * results. */
#include "graph/ir/build.h"
#include "graph/ir/op_type.h"
#include "graph/verify/verifier.h"
#include "runtime/base/loc.h"
#include <inttypes.h>

bool hiaG_is_word(const hia_types *types, hia_type t) {
  return hiaG_type_exists(types, t) && hiaG_type_kind(types, t) != HIA_KIND_TUPLE;
}

static bool is_int(hia_type t) { return t == HIA_I32 || t == HIA_I64; }

static hia_type in_type(const hia_fn *fn, hia_node_id n, uint32_t i) {
  return hiaG_type(fn, hiaG_in(fn, n, i));
}

/* Type rules of the ops that compute. */
static void check_scalar_rule(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  hia_rule rule = (hia_rule)hiaR_ops[node->op].rule;
  hia_type out = hiaG_type(fn, hiaG_out(fn, n, 0)), type = in_type(fn, n, 0);
  if (rule == HIA_RULE_CAST) {
    if (!hiaG_is_scalar(out)) hiaG_defect(v, n, "a conversion is from a scalar to a scalar");
    if (node->imm != type)
      hiaG_defect(v, n, "the immediate must be %s, the operand's type",
                  hiaG_type_text(v->g->types, type));
    return;
  }
  uint32_t first = 0;
  if (rule == HIA_RULE_SELECT) {
    hiaG_expect_type(v, n, "operand", 0, type, HIA_BOOL);
    first = 1;
    type = in_type(fn, n, 1);
  }
  uint32_t n_same =
      rule == HIA_RULE_SHIFT ? 1 : node->n_ins; /* a shift count has a type of its own */
  for (uint32_t i = first; i < n_same; i++)
    hiaG_expect_type(v, n, "operand", i, in_type(fn, n, i), type);
  hiaG_expect_type(v, n, "result", 0, out, hiaR_rule_result(rule, type));
  if (!hiaR_rule_takes(rule, type))
    hiaG_defect(v, n, "%s does not take %s", hiaR_ops[node->op].name,
                hiaG_type_text(v->g->types, type));
  for (uint32_t i = n_same; i < node->n_ins; i++)
    if (!hiaR_rule_takes(rule, in_type(fn, n, i)))
      hiaG_defect(v, n, "operand %u, the count, is %s, but must be i32 or i64", i,
                  hiaG_type_text(v->g->types, in_type(fn, n, i)));
}

static void check_operation(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_types *types = v->g->types;
  const hia_node *node = &fn->nodes.data[n];
  const char *name = hiaR_ops[node->op].name;
  hia_rule rule = (hia_rule)hiaR_ops[node->op].rule;
  hia_type out = hiaG_type(fn, node->outs);
  hia_mark start = hiaR_arena_mark(&v->g->comp->scratch);
  hia_type *ins = HIA_NEW_ARRAY(&v->g->comp->scratch, hia_type, node->n_ins + 1);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    ins[i] = hiaG_ranked_operand(types, node->op, i, in_type(fn, n, i));
    if (node->op == HIA_OP_PACK && i == 0 && ins[i] == in_type(fn, n, i))
      hiaG_defect(v, n, "operand 0 is %s, but must be an array", hiaG_type_text(types, ins[i]));
    if (hiaR_takes_sum(node->op) && i == 0 && ins[i] == in_type(fn, n, i))
      hiaG_defect(v, n, "operand 0 is %s, but must be a sum", hiaG_type_text(types, ins[i]));
    if (hiaG_dtype(types, ins[i]) == HIA_N_DTYPES)
      hiaG_defect(v, n, "operand %u is %s, but must be a scalar or a tensor", i,
                  hiaG_type_text(types, ins[i]));
  }
  if (hiaG_dtype(types, out) == HIA_N_DTYPES)
    hiaG_defect(v, n, "the result is %s, but must be a scalar or a tensor",
                hiaG_type_text(types, out));
  uint32_t decides = hiaR_rule_decides(rule);
  if (decides != HIA_NONE && decides >= node->n_ins) hiaG_defect(v, n, "%s has no operands", name);
  hia_dtype dtype = hiaG_dtype(types, decides == HIA_NONE ? out : ins[decides]);
  if (!hiaR_rule_takes(rule, dtype))
    hiaG_defect(v, n, "%s does not take %s", name, hiaG_type_text(types, dtype));
  for (uint32_t i = 0; i < node->n_ins; i++)
    if (!hiaR_rule_takes_operand(rule, dtype, i, hiaG_dtype(types, ins[i])))
      hiaG_defect(v, n, "%s of %s does not take %s as operand %u", name,
                  hiaG_type_text(types, dtype), hiaG_type_text(types, ins[i]), i);
  if (rule == HIA_RULE_CAST && node->imm != hiaG_dtype(types, ins[0]))
    hiaG_defect(v, n, "the immediate must be the dtype of %s, the operand's type",
                hiaG_type_text(types, ins[0]));
  uint32_t rank = hiaG_op_rank(types, node->op, node->imm, ins, node->n_ins);
  if (rank == HIA_NONE) hiaG_defect(v, n, "%s does not take operands of these ranks", name);
  hia_dtype of_result = hiaR_rule_result(rule, dtype);
  if (hiaG_dtype(types, out) != of_result || hiaG_rank(types, out) != rank)
    hiaG_defect(v, n, "result 0 is %s, but must be of %s and rank %u", hiaG_type_text(types, out),
                hiaG_dtype_name(of_result), rank);
  hiaR_arena_release(&v->g->comp->scratch, start);
}

static void check_param(hia_verifier *v, hia_node_id n) {
  const hia_param_spec *spec = &v->g->params.data[v->fn->nodes.data[n].imm];
  hiaG_expect_type(v, n, "result", 0, hiaG_type(v->fn, hiaG_out(v->fn, n, 0)),
                   hiaG_param_type(v->g->types, spec));
}

static void check_literal(hia_verifier *v, hia_node_id n) {
  const hia_tensor_literal *literal = &v->g->literals.data[v->fn->nodes.data[n].imm];
  hiaG_expect_type(v, n, "result", 0, hiaG_type(v->fn, hiaG_out(v->fn, n, 0)),
                   hiaG_ranked(v->g->types, literal->dtype, literal->shape.rank));
}

static void check_work(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (node->n_ins < 2 || !hiaR_work_takes(node->imm, node->n_ins - 1))
    hiaG_defect(v, n, "%" PRIu64 " is no op that costs fuel, or has other operands", node->imm);
  hiaG_expect_type(v, n, "operand", 0, in_type(fn, n, 0), HIA_I64);
  hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), HIA_I64);
  for (uint32_t i = 1; i < node->n_ins; i++)
    if (hiaG_dtype(v->g->types, in_type(fn, n, i)) == HIA_N_DTYPES)
      hiaG_defect(v, n, "operand %u is %s, but must be a scalar or a tensor", i,
                  hiaG_type_text(v->g->types, in_type(fn, n, i)));
}

static void check_alike(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_types *types = v->g->types;
  const hia_node *node = &fn->nodes.data[n];
  if (node->n_ins < 2 || node->n_ins > 3) hiaG_defect(v, n, "it has %u operands", node->n_ins);
  hiaG_expect_type(v, n, "operand", 0, in_type(fn, n, 0), HIA_I64);
  hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), HIA_I64);
  hia_type x = in_type(fn, n, 1);
  if (hiaG_type_kind(types, x) != HIA_KIND_TENSOR)
    hiaG_defect(v, n, "operand 1 is %s, but must be a tensor", hiaG_type_text(types, x));
  if (node->n_ins == 2) return;
  hia_type array = in_type(fn, n, 2);
  hia_type first =
      hiaG_type_kind(types, array) == HIA_KIND_ARRAY ? hiaG_element(types, array) : HIA_NONE;
  if (first != HIA_NONE && hiaG_type_kind(types, first) == HIA_KIND_TUPLE)
    first = hiaG_tuple_part(types, first, 0);
  if (first != x)
    hiaG_defect(v, n, "operand 2 is %s, but must be an array of %s", hiaG_type_text(types, array),
                hiaG_type_text(types, x));
}

/* Checks a TRAP: the result of an op and its operands are scalars and tensors of one float dtype,
 * or a sum. */
static void check_trap(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_types *types = v->g->types;
  const hia_node *node = &fn->nodes.data[n];
  if (!hiaR_trap_takes(node->imm, node->n_ins))
    hiaG_defect(v, n, "%" PRIu64 " is no op that makes NaN, or has other operands", node->imm);
  hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), HIA_I64);
  unsigned op = (unsigned)(node->imm % HIA_TRAP_GRADIENT);
  hia_dtype dtype = hiaG_dtype(types, in_type(fn, n, 0));
  if (dtype != HIA_F32 && dtype != HIA_F64)
    hiaG_defect(v, n, "operand 0 is %s, but must be of floats",
                hiaG_type_text(types, in_type(fn, n, 0)));
  for (uint32_t i = 1; i < node->n_ins; i++) {
    hia_type type = in_type(fn, n, i);
    bool is_sum = hiaR_takes_sum(op) && i == 1;
    hia_type ranked = is_sum ? hiaG_ranked_operand(types, op, 0, type) : type;
    if (hiaG_dtype(types, ranked) != dtype || is_sum != (ranked != type) ||
        (is_sum && hiaG_rank(types, ranked) != hiaG_rank(types, in_type(fn, n, 0))))
      hiaG_defect(v, n, "operand %u is %s, which this op does not take", i,
                  hiaG_type_text(types, type));
  }
}

static void check_rule(hia_verifier *v, hia_node_id n) {
  if (v->fn->nodes.data[n].op == HIA_OP_PARAM)
    check_param(v, n);
  else if (v->fn->nodes.data[n].op == HIA_OP_LITERAL)
    check_literal(v, n);
  else if (v->fn->nodes.data[n].op == HIA_OP_ALIKE)
    check_alike(v, n);
  else if (v->fn->nodes.data[n].op == HIA_OP_WORK)
    check_work(v, n);
  else if (v->fn->nodes.data[n].op == HIA_OP_TRAP)
    check_trap(v, n);
  else if (hiaG_is_operation(v->fn, n))
    check_operation(v, n);
  else if (hiaR_ops[v->fn->nodes.data[n].op].rule != HIA_RULE_CONTROL)
    check_scalar_rule(v, n);
}

/* Constructor `number` of a data type, which operand or result 0 has. */
static const hia_ctor *ctor_of(hia_verifier *v, hia_node_id n, const char *what, hia_type type,
                               uint64_t number) {
  const hia_types *types = v->g->types;
  if (hiaG_type_kind(types, type) != HIA_KIND_DATA)
    hiaG_defect(v, n, "%s 0 is %s, but must be of a data type", what, hiaG_type_text(types, type));
  const hia_type_entry *entry = &types->entries.data[type - HIA_FIRST_TYPE];
  if (number >= entry->n)
    hiaG_defect(v, n, "%s has no constructor %" PRIu64, hiaG_type_text(types, type), number);
  return &types->ctors.data[entry->first + number];
}

static bool is_reference(hia_type type) { return !hiaG_is_scalar(type); }

/* DUP, DROP, LAST, GIVE, UNPACK, FORGET, and the first operand of REUSE. */
static void check_counting(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (!node->n_ins || !is_reference(in_type(fn, n, 0)))
    hiaG_defect(v, n, "operand 0 must be a reference");
  hia_type type = in_type(fn, n, 0);
  if (node->op == HIA_OP_DUP || node->op == HIA_OP_DROP || node->op == HIA_OP_GIVE) return;
  if (node->op == HIA_OP_LAST) {
    hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), HIA_BOOL);
    return;
  }
  if (node->op == HIA_OP_REUSE) {
    ctor_of(v, n, "operand", type, 0);
    return;
  }
  const hia_ctor *ctor = ctor_of(v, n, "operand", type, HIA_IMM_A(node->imm));
  uint32_t n_refs = ctor->layout.n_refs, set = HIA_IMM_B(node->imm);
  if (!ctor->n) hiaG_defect(v, n, "the constructor has no fields");
  if (node->op == HIA_OP_FORGET ? set != 0 : n_refs < 32 && set >> n_refs)
    hiaG_defect(v, n, "the constructor has %u references", n_refs);
  if (node->op == HIA_OP_UNPACK)
    hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), type);
}

/* True if an operand of a DATA_LATE is a tensor in the place of such a word. */
static bool is_late_word(const hia_verifier *v, hia_node_id n, uint32_t i, hia_type word) {
  hia_type type = in_type(v->fn, n, i);
  return v->fn->nodes.data[n].op == HIA_OP_DATA_LATE && hiaR_is_scalar(word) &&
         hiaG_type_kind(v->g->types, type) == HIA_KIND_TENSOR &&
         hiaG_tensor_dtype(v->g->types, type) == word && hiaG_rank(v->g->types, type) == 1;
}

static void check_pack_late(hia_verifier *v, hia_node_id n) {
  const hia_types *types = v->g->types;
  hia_type array = in_type(v->fn, n, 0), out = hiaG_type(v->fn, v->fn->nodes.data[n].outs);
  hia_type element =
      hiaG_type_kind(types, array) == HIA_KIND_ARRAY ? hiaG_element(types, array) : HIA_NONE;
  bool is_vector = element != HIA_NONE && hiaG_type_kind(types, element) == HIA_KIND_TENSOR &&
                   hiaG_rank(types, element) == 1;
  if (!is_vector)
    hiaG_defect(v, n, "the operand is no array of vectors");
  else
    hiaG_expect_type(v, n, "result", 0, out, element);
}

static void check_data(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  const hia_layout_word *layout_words = v->g->types->layout_words.data;
  hia_type out = hiaG_type(fn, node->outs);
  if (node->op == HIA_OP_CTOR) {
    ctor_of(v, n, "operand", in_type(fn, n, 0), 0);
    hiaG_expect_type(v, n, "result", 0, out, HIA_I32);
  } else if (node->op == HIA_OP_FIELD || node->op == HIA_OP_FIELD_LATE) {
    uint32_t word = HIA_IMM_B(node->imm);
    const hia_ctor *ctor = ctor_of(v, n, "operand", in_type(fn, n, 0), HIA_IMM_A(node->imm));
    if (word >= ctor->layout.n) hiaG_defect(v, n, "the constructor has no word %u", word);
    hiaG_expect_type(v, n, "result", 0, out, layout_words[ctor->layout.first + word].type);
  } else {
    uint32_t first = node->op == HIA_OP_REUSE, set = first ? HIA_IMM_B(node->imm) : 0;
    const hia_ctor *ctor = ctor_of(v, n, "result", out, first ? HIA_IMM_A(node->imm) : node->imm);
    if (!ctor->n) hiaG_defect(v, n, "the constructor has no fields: it is a const");
    if (first) check_counting(v, n);
    if (ctor->layout.n < 32 && set >> ctor->layout.n)
      hiaG_defect(v, n, "the constructor has %u words", ctor->layout.n);
    if (node->n_ins - first != ctor->layout.n)
      hiaG_defect(v, n, "it has %u operands, but must have %u", node->n_ins,
                  ctor->layout.n + first);
    for (uint32_t i = first; i < node->n_ins; i++) {
      hia_type word = layout_words[ctor->layout.first + i - first].type;
      if (!is_late_word(v, n, i, word))
        hiaG_expect_type(v, n, "operand", i, in_type(fn, n, i), word);
    }
  }
}

/* DEST, HOLE, HOLE_AT, PUT, TAKE. */
static void check_destination(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (node->op == HIA_OP_HOLE_AT) {
    uint32_t word = HIA_IMM_B(node->imm);
    const hia_ctor *ctor = ctor_of(v, n, "operand", in_type(fn, n, 0), HIA_IMM_A(node->imm));
    if (word >= ctor->layout.n) hiaG_defect(v, n, "the constructor has no word %u", word);
  }
  if (node->op == HIA_OP_PUT || node->op == HIA_OP_TAKE)
    hiaG_expect_type(v, n, "operand", 0, in_type(fn, n, 0), HIA_I64);
  if (node->op == HIA_OP_DEST || node->op == HIA_OP_HOLE_AT)
    hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), HIA_I64);
}

/* Operands from `first` on are the words of elements of the array: of one, or of any number. */
static void check_elements(hia_verifier *v, hia_node_id n, const hia_layout *element,
                           uint32_t first, bool is_one) {
  const hia_node *node = &v->fn->nodes.data[n];
  const hia_layout_word *layout_words = v->g->types->layout_words.data + element->first;
  uint32_t n_words = node->n_ins - first;
  if (is_one ? n_words != element->n : n_words % element->n != 0)
    hiaG_defect(v, n, "it has %u words of elements of %u each", n_words, element->n);
  for (uint32_t i = 0; i < n_words; i++)
    hiaG_expect_type(v, n, "operand", first + i, in_type(v->fn, n, first + i),
                     layout_words[i % element->n].type);
}

static void check_array(hia_verifier *v, hia_node_id n) {
  const hia_types *types = v->g->types;
  const hia_node *node = &v->fn->nodes.data[n];
  bool is_made = node->op != HIA_OP_LEN && node->op != HIA_OP_AT && node->op != HIA_OP_FILL;
  if (!is_made && node->n_ins == 0) hiaG_defect(v, n, "it lacks operands: it has 0");
  hia_type array = is_made ? hiaG_type(v->fn, node->outs) : in_type(v->fn, n, 0);
  if (hiaG_type_kind(types, array) != HIA_KIND_ARRAY)
    hiaG_defect(v, n, "%s 0 is %s, but must be an array", is_made ? "result" : "operand",
                hiaG_type_text(types, array));
  const hia_layout *element = &types->entries.data[array - HIA_FIRST_TYPE].layout;
  uint32_t n_arrays = 1, n_numbers = 0;
  if (node->op == HIA_OP_ARRAY || node->op == HIA_OP_NEW || node->op == HIA_OP_MAP) n_arrays = 0;
  if (node->op == HIA_OP_CONCAT) n_arrays = node->n_ins;
  switch (node->op) {
  case HIA_OP_AT:
  case HIA_OP_SET:
  case HIA_OP_NEW:
  case HIA_OP_MAP:
  case HIA_OP_FILL:
  case HIA_OP_FILLED: n_numbers = 1; break;
  default: break;
  }
  if (node->op == HIA_OP_SLICE) n_numbers = 2;
  if (node->n_ins < n_arrays + n_numbers)
    hiaG_defect(v, n, "it lacks operands: it has %u", node->n_ins);
  for (uint32_t i = 0; i < n_arrays; i++)
    hiaG_expect_type(v, n, "operand", i, in_type(v->fn, n, i), array);
  for (uint32_t i = n_arrays; i < n_arrays + n_numbers; i++)
    hiaG_expect_type(v, n, "operand", i, in_type(v->fn, n, i), HIA_I64);
  if (node->op == HIA_OP_ARRAY) check_elements(v, n, element, 0, false);
  if (node->op == HIA_OP_SET || node->op == HIA_OP_FILL) check_elements(v, n, element, 2, true);
  if (node->op == HIA_OP_FILL) return;
  hia_type out = hiaG_type(v->fn, node->outs);
  if (node->op == HIA_OP_LEN) hiaG_expect_type(v, n, "result", 0, out, HIA_I64);
  if (node->op != HIA_OP_AT) return;
  if (node->imm >= element->n) hiaG_defect(v, n, "an element has no word %" PRIu64, node->imm);
  hiaG_expect_type(v, n, "result", 0, out,
                   types->layout_words.data[element->first + node->imm].type);
}

/* Immediates that are not checked elsewhere; ops without one must have none. */
static void check_imm(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_DATA:
  case HIA_OP_REUSE:
  case HIA_OP_CTOR:
  case HIA_OP_FIELD:
  case HIA_OP_DATA_LATE:
  case HIA_OP_FIELD_LATE: check_data(v, n); break;
  case HIA_OP_PACK_LATE: check_pack_late(v, n); break;
  case HIA_OP_DUP:
  case HIA_OP_DROP:
  case HIA_OP_LAST:
  case HIA_OP_GIVE:
  case HIA_OP_UNPACK:
  case HIA_OP_FORGET: check_counting(v, n); break;
  case HIA_OP_DEST:
  case HIA_OP_HOLE:
  case HIA_OP_HOLE_AT:
  case HIA_OP_PUT:
  case HIA_OP_TAKE: check_destination(v, n); break;
  case HIA_OP_ARRAY:
  case HIA_OP_LEN:
  case HIA_OP_AT:
  case HIA_OP_SLICE:
  case HIA_OP_SET:
  case HIA_OP_CONCAT:
  case HIA_OP_NEW:
  case HIA_OP_MAP:
  case HIA_OP_FILL:
  case HIA_OP_FILLED: check_array(v, n); break;
  case HIA_OP_CONST: {
    if (!hiaG_is_scalar(hiaG_type(fn, node->outs))) {
      if (v->g->is_assumed && node->imm >= HIA_FIRST_ADDRESS) break; /* an object */
      if (ctor_of(v, n, "result", hiaG_type(fn, node->outs), node->imm)->n)
        hiaG_defect(v, n, "the constructor has fields");
      break;
    }
    hia_word w = node->imm, canonical = w;
    switch (hiaG_type(fn, node->outs)) {
    case HIA_BOOL: canonical = w != 0; break;
    case HIA_I32: canonical = hiaR_from_i32(hiaR_to_i32(w)); break;
    case HIA_F32: canonical = (uint32_t)w; break;
    default: break;
    }
    if (w != canonical) hiaG_defect(v, n, "the word of the constant is not in canonical form");
    break;
  }
  case HIA_OP_ELEMENT: hiaG_expect_type(v, n, "operand", 0, in_type(fn, n, 0), HIA_I64); break;
  case HIA_OP_COUNT:
    if (node->imm > 1) hiaG_defect(v, n, "there is no such counter");
    if (!v->g->is_counted) hiaG_defect(v, n, "the graph is not marked as counted");
    break;
  case HIA_OP_FAIL:
    if (!is_int(in_type(fn, n, 0)))
      hiaG_defect(v, n, "operand 0 is %s, but must be i32 or i64",
                  hiaG_type_text(v->g->types, in_type(fn, n, 0)));
    break;
  case HIA_OP_CHARGE:
    hiaG_expect_type(v, n, "operand", 0, in_type(fn, n, 0), HIA_I64);
    hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), HIA_I64);
    if (node->imm < 1 || node->imm > UINT32_MAX)
      hiaG_defect(v, n, "a charge is at least 1, and at most %u", UINT32_MAX);
    break;
  case HIA_OP_LEND: hiaG_expect_type(v, n, "operand", 0, in_type(fn, n, 0), HIA_I64); break;
  case HIA_OP_REGAIN:
    hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), HIA_I64);
    break;
  default: break;
  }
  if (hiaR_ops[node->op].imm == HIA_IMM_NONE && node->imm != 0)
    hiaG_defect(v, n, "%s has no immediate", hiaR_ops[node->op].name);
}

/* The operands of a fork have the types of its callee's parameters, the results of a join those of
 * its callee's results. */
static void check_fork_types(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  uint32_t f = hiaG_callee(node);
  if (f >= v->g->fns.len || v->g->fns.data[f]->is_removed)
    hiaG_defect(v, n, "its callee does not exist");
  const hia_fn *callee = hiaG_fn(v->g, f);
  bool is_fork = node->op == HIA_OP_FORK;
  const hia_type *wanted = is_fork ? callee->params : callee->results;
  uint32_t n_wanted = is_fork ? callee->n_params : callee->n_results;
  uint32_t n_is = is_fork ? node->n_ins : node->n_outs;
  const char *what = is_fork ? "operand" : "result";
  if (n_is != n_wanted) hiaG_defect(v, n, "it has %u %ss, but must have %u", n_is, what, n_wanted);
  for (uint32_t i = 0; i < n_is; i++) {
    hia_value_id value = is_fork ? hiaG_in(fn, n, i) : hiaG_out(fn, n, i);
    hiaG_expect_type(v, n, what, i, hiaG_type(fn, value), wanted[i]);
  }
}

/* What is noted of one activation, `word`, lacks the axis of the rows. It has the shape `row`. */
static void check_row_type(hia_verifier *v, hia_node_id n, hia_type word, hia_type rows,
                           const hia_dims *row) {
  const hia_types *types = v->g->types;
  hia_type_kind kind = hiaG_type_kind(types, word);
  if ((kind != HIA_KIND_SCALAR && kind != HIA_KIND_TENSOR) ||
      hiaG_dtype(types, word) != hiaG_dtype(types, rows) || hiaG_rank(types, word) != row->rank)
    hiaG_defect(v, n, "its segment is about other types");
}

static void check_defer_types(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  uint32_t f = hiaG_callee(node);
  if (f >= v->g->fns.len || v->g->fns.data[f]->is_removed)
    hiaG_defect(v, n, "its segment does not exist");
  const hia_fn *segment = hiaG_fn(v->g, f);
  if (!segment->rows) hiaG_defect(v, n, "its callee is no segment: it states no rows");
  if (v->fn->rows) hiaG_defect(v, n, "a segment defers nothing");
  if (node->n_ins != segment->n_params || node->n_outs != segment->n_results)
    hiaG_defect(v, n, "it has %u operands and %u results, but must have %u and %u", node->n_ins,
                node->n_outs, segment->n_params, segment->n_results);
  for (uint32_t i = 0; i < node->n_ins; i++)
    check_row_type(v, n, in_type(fn, n, i), segment->params[i], &segment->rows[i]);
  for (uint32_t i = 0; i < node->n_outs; i++)
    check_row_type(v, n, hiaG_type(fn, hiaG_out(fn, n, i)), segment->results[i],
                   &segment->rows[node->n_ins + i]);
}

static void check_within(hia_verifier *v, hia_node_id n) {
  hia_type i = in_type(v->fn, n, 1);
  if (v->fn->nodes.data[n].imm > 2) hiaG_defect(v, n, "it is an index of vectors, labels or rows");
  hiaG_expect_type(v, n, "operand", 0, in_type(v->fn, n, 0), HIA_I64);
  if (i != HIA_I32 && i != HIA_I64) hiaG_defect(v, n, "its index is no integer");
  hiaG_expect_type(v, n, "result", 0, hiaG_type(v->fn, v->fn->nodes.data[n].outs), i);
}

static void check_host_types(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  const hia_extern *e = &v->g->externs.data[node->imm];
  if (node->n_ins != e->n_params || node->n_outs != e->n_results)
    hiaG_defect(v, n, "it has %u operands and %u results, but must have %u and %u", node->n_ins,
                node->n_outs, e->n_params, e->n_results);
  for (uint32_t i = 0; i < node->n_ins; i++)
    hiaG_expect_type(v, n, "operand", i, in_type(fn, n, i), e->params[i]);
  for (uint32_t i = 0; i < node->n_outs; i++)
    hiaG_expect_type(v, n, "result", i, hiaG_type(fn, hiaG_out(fn, n, i)), e->results[i]);
}

void hiaG_verify_indices(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  if (node->op >= HIA_OP_LIMIT || !hiaR_ops[node->op].name)
    hiaG_defect(v, HIA_NONE, "node %u has the unknown op %u", n, node->op);
  if (node->op == HIA_OP_HOST && node->imm >= v->g->externs.len)
    hiaG_defect(v, HIA_NONE, "node %u calls an extern that does not exist", n);
  if (node->op == HIA_OP_PARAM && node->imm >= v->g->params.len)
    hiaG_defect(v, HIA_NONE, "node %u reads a param that does not exist", n);
  if (node->op == HIA_OP_GRAD && node->imm >= v->g->gradients.len)
    hiaG_defect(v, HIA_NONE, "node %u is a gradient that does not exist", n);
  if (node->op == HIA_OP_LITERAL && node->imm >= v->g->literals.len)
    hiaG_defect(v, HIA_NONE, "node %u is a literal that does not exist", n);
  if (node->ins > fn->edges.len || node->n_ins > fn->edges.len - node->ins)
    hiaG_defect(v, HIA_NONE, "the operands of node %u lie outside", n);
  if (node->outs > fn->values.len || node->n_outs > fn->values.len - node->outs)
    hiaG_defect(v, HIA_NONE, "the results of node %u lie outside", n);
  for (uint32_t i = 0; i < node->n_outs; i++) {
    const hia_value_info *value = &fn->values.data[node->outs + i];
    if (value->node != n)
      hiaG_defect(v, HIA_NONE, "result %u of node %u belongs to another node", i, n);
    if (!hiaG_is_word(v->g->types, value->type))
      hiaG_defect(v, HIA_NONE, "result %u of node %u has no type", i, n);
  }
}

void hiaG_verify_node(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  const hia_op_info *op = &hiaR_ops[node->op];
  if (node->region >= fn->regions.len) hiaG_defect(v, n, "its region does not exist");
  if (node->loc != HIA_NONE && node->loc >= v->g->locs.len)
    hiaG_defect(v, n, "its location does not exist");
  if (op->traits & (v->g->state == HIA_STATIC ? HIA_T_FUNCTION : HIA_T_STATIC))
    hiaG_defect(v, n, "%s does not belong in a graph of this state", op->name);
  int flags = node->op == HIA_OP_CALL || node->op == HIA_OP_JOIN ? HIA_NODE_TAIL
              : node->op == HIA_OP_LOOP                          ? HIA_NODE_FREE
                                                                 : 0;
  if (node->flags & ~flags) hiaG_defect(v, n, "it has flags that %s cannot have", op->name);
  uint32_t n_regions = hiaG_n_regions(node->op);
  bool has_regions = n_regions > 0;
  if (has_regions ? node->regions == HIA_NONE : node->regions != HIA_NONE)
    hiaG_defect(v, n, has_regions ? "it lacks its regions" : "%s has no regions", op->name);
  if (has_regions &&
      (node->regions >= fn->regions.len || fn->regions.len - node->regions < n_regions))
    hiaG_defect(v, n, "its regions do not exist");
  /* A Call_i of a callee without parameters has no operand. */
  bool is_right_arity = op->n_ins < 0 || node->n_ins == (uint32_t)op->n_ins ||
                        (node->op == HIA_OP_CALL_I && node->n_ins == 0);
  if (!is_right_arity)
    hiaG_defect(v, n, "%s takes %d operands, not %u", op->name, op->n_ins, node->n_ins);
  if (op->n_outs >= 0 && node->n_outs != (uint32_t)op->n_outs)
    hiaG_defect(v, n, "%s has %d results, not %u", op->name, op->n_outs, node->n_outs);
  for (uint32_t i = 0; i < node->n_ins; i++) {
    hia_value_id value = hiaG_in(fn, n, i);
    if (value >= fn->values.len) hiaG_defect(v, n, "operand %u does not exist", i);
    hia_node_id def = fn->values.data[value].node;
    if (def >= fn->nodes.len || value < fn->nodes.data[def].outs ||
        value - fn->nodes.data[def].outs >= fn->nodes.data[def].n_outs)
      hiaG_defect(v, n, "operand %u is not the result of any node", i);
    if (fn->nodes.data[def].flags & HIA_NODE_DEAD) hiaG_defect(v, n, "operand %u was removed", i);
  }
  check_rule(v, n);
  check_imm(v, n);
  if (node->op == HIA_OP_FORK || node->op == HIA_OP_JOIN) check_fork_types(v, n);
  if (node->op == HIA_OP_DEFER) check_defer_types(v, n);
  if (node->op == HIA_OP_WITHIN) check_within(v, n);
  if (node->op == HIA_OP_FORCE)
    hiaG_expect_type(v, n, "result", 0, hiaG_type(fn, node->outs), in_type(fn, n, 0));
  if (node->op == HIA_OP_HOST) check_host_types(v, n);
}
