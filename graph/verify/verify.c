/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The verifier: checks that a graph is well formed. This file checks single nodes, and the
 * signatures of functions; the relations between nodes are checked by state, in fn.c and
 * static.c.
 *
 * A graph may come from text that a user wrote. So the verifier assumes nothing, is linear in the
 * size of the graph except for sorting, and does not recurse. It also checks passes; therefore a
 * defect names the function and shows the node. */
#include "graph/verify/verify.h"
#include "runtime/base/loc.h"
#include <inttypes.h>

void hiaG_defect(hia_verifier *v, hia_node_id node, const char *fmt, ...) {
  hia_text text;
  hiaR_text_init(&text, &v->g->comp->arena);
  va_list args;
  va_start(args, fmt);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  if (v->fn) hiaR_text_addf(&text, ", in function %s", v->fn->name);
  if (node != HIA_NONE) {
    hiaR_text_addf(&text, ", node %u: ", node);
    hiaG_print_node(v->g, v->fn, node, &text);
  }
  *v->defect = (hia_defect){v->fn ? v->fn_id : HIA_NONE, node, text.data};
  longjmp(v->stop, 1);
}

/* ---- single nodes ---- */

void hiaG_expect_type(hia_verifier *v, hia_node_id n, const char *what, uint32_t i, hia_type is,
                      hia_type wanted) {
  if (is != wanted)
    hiaG_defect(v, n, "%s %u is %s, but must be %s", what, i, hiaG_type_text(v->g->types, is),
                hiaG_type_text(v->g->types, wanted));
}

/* True if a value of a graph can have the type. */
static bool is_word(const hia_types *types, hia_type t) {
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

/* The result of an op and its operands: scalars and tensors of one float dtype, or a sum. */
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

static void check_data(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  const hia_word_place *places = v->g->types->places.data;
  hia_type out = hiaG_type(fn, node->outs);
  if (node->op == HIA_OP_CTOR) {
    ctor_of(v, n, "operand", in_type(fn, n, 0), 0);
    hiaG_expect_type(v, n, "result", 0, out, HIA_I32);
  } else if (node->op == HIA_OP_FIELD) {
    uint32_t word = HIA_IMM_B(node->imm);
    const hia_ctor *ctor = ctor_of(v, n, "operand", in_type(fn, n, 0), HIA_IMM_A(node->imm));
    if (word >= ctor->layout.n) hiaG_defect(v, n, "the constructor has no word %u", word);
    hiaG_expect_type(v, n, "result", 0, out, places[ctor->layout.first + word].type);
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
    for (uint32_t i = first; i < node->n_ins; i++)
      hiaG_expect_type(v, n, "operand", i, in_type(fn, n, i),
                       places[ctor->layout.first + i - first].type);
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
  const hia_word_place *places = v->g->types->places.data + element->first;
  uint32_t n_words = node->n_ins - first;
  if (is_one ? n_words != element->n : n_words % element->n != 0)
    hiaG_defect(v, n, "it has %u words of elements of %u each", n_words, element->n);
  for (uint32_t i = 0; i < n_words; i++)
    hiaG_expect_type(v, n, "operand", first + i, in_type(v->fn, n, first + i),
                     places[i % element->n].type);
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
  hiaG_expect_type(v, n, "result", 0, out, types->places.data[element->first + node->imm].type);
}

/* Immediates that are not checked elsewhere; ops without one must have none. */
static void check_imm(hia_verifier *v, hia_node_id n) {
  const hia_fn *fn = v->fn;
  const hia_node *node = &fn->nodes.data[n];
  switch (node->op) {
  case HIA_OP_DATA:
  case HIA_OP_REUSE:
  case HIA_OP_CTOR:
  case HIA_OP_FIELD: check_data(v, n); break;
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

/* Checks that indices are in range. Its defects come without the node's text, because the printer
 * could not look the indices up. */
static void check_indices(hia_verifier *v, hia_node_id n) {
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
    if (!is_word(v->g->types, value->type))
      hiaG_defect(v, HIA_NONE, "result %u of node %u has no type", i, n);
  }
}

static void check_node(hia_verifier *v, hia_node_id n) {
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

/* ---- functions ---- */

static void check_types(hia_verifier *v, const char *what, const hia_type *types, uint32_t n) {
  for (uint32_t i = 0; i < n; i++)
    if (!is_word(v->g->types, types[i])) hiaG_defect(v, HIA_NONE, "%s %u has no type", what, i);
}

/* Checks that the signature of a root, flattened, agrees with the function's parameters and
 * results.
 */
static void check_signature(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  const hia_types *types = v->g->types;
  if (!hiaG_type_exists(types, fn->sig_result))
    hiaG_defect(v, HIA_NONE, "a root has a result type");
  size_t n_words = 0;
  for (uint32_t i = 0; i < fn->n_sig_params; i++) {
    if (!hiaG_type_exists(types, fn->sig_params[i]))
      hiaG_defect(v, HIA_NONE, "parameter %u of the signature has no type", i);
    n_words += hiaG_type_words(types, fn->sig_params[i]);
  }
  bool agrees = n_words == fn->n_params && hiaG_type_words(types, fn->sig_result) == fn->n_results;
  if (agrees) {
    size_t largest = n_words > fn->n_results ? n_words : fn->n_results;
    hia_type *flat = HIA_NEW_ARRAY(v->scratch, hia_type, largest), *at = flat;
    for (uint32_t i = 0; i < fn->n_sig_params; i++) {
      hiaG_type_flatten(types, fn->sig_params[i], at);
      at += hiaG_type_words(types, fn->sig_params[i]);
    }
    for (uint32_t i = 0; i < fn->n_params; i++) agrees = agrees && flat[i] == fn->params[i];
    hiaG_type_flatten(types, fn->sig_result, flat);
    for (uint32_t i = 0; i < fn->n_results; i++) agrees = agrees && flat[i] == fn->results[i];
  }
  if (!agrees) hiaG_defect(v, HIA_NONE, "the signature and the parameters and results disagree");
}

/* Checks the signature of a slow path. That it returns the same cannot be checked. */
static void check_slow_path(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  bool exists = fn->slow_path < v->g->fns.len && !hiaG_fn(v->g, fn->slow_path)->is_removed;
  if (!exists) hiaG_defect(v, HIA_NONE, "its slow path does not exist");
  const hia_fn *slow = hiaG_fn(v->g, fn->slow_path);
  bool agrees = slow != fn && slow->n_params == fn->n_params && slow->n_results == fn->n_results;
  for (uint32_t i = 0; agrees && i < fn->n_params; i++) agrees = slow->params[i] == fn->params[i];
  for (uint32_t i = 0; agrees && i < fn->n_results; i++)
    agrees = slow->results[i] == fn->results[i];
  if (!agrees || slow->slow_path != HIA_NONE || slow->owning_of != HIA_NONE || slow->rows)
    hiaG_defect(v, HIA_NONE, "its slow path is not one of the same type");
}

/* Checks the signature of the function that this one is an owning version of. Only calls name an
 * owning version: where references are counted anew they call the other, and the version goes. */
static void check_owning(hia_verifier *v) {
  const hia_fn *fn = v->fn;
  bool exists = fn->owning_of < v->g->fns.len && !hiaG_fn(v->g, fn->owning_of)->is_removed;
  if (!exists) hiaG_defect(v, HIA_NONE, "the function that it is a version of does not exist");
  const hia_fn *of = hiaG_fn(v->g, fn->owning_of);
  bool agrees = of != fn && of->n_params == fn->n_params && of->n_results == fn->n_results;
  for (uint32_t i = 0; agrees && i < fn->n_params; i++) agrees = of->params[i] == fn->params[i];
  for (uint32_t i = 0; agrees && i < fn->n_results; i++) agrees = of->results[i] == fn->results[i];
  if (!agrees || of->owning_of != HIA_NONE || fn->is_root || fn->rows)
    hiaG_defect(v, HIA_NONE, "it is no owning version of a function of its type");
}

/* A parameter or result of a segment, whose row has this shape: it has one axis more. A result that
 * was a scalar is a vector, and a row of it a tensor of one element. */
static void check_row(hia_verifier *v, hia_type type, const hia_dims *row, bool is_result) {
  enum { MOST_BYTES = 1 << 30 };
  uint64_t n;
  bool is_tensor = hiaG_type_kind(v->g->types, type) == HIA_KIND_TENSOR;
  uint32_t rank = is_tensor ? hiaG_rank(v->g->types, type) : 0;
  bool is_element = is_result && rank == 1 && row->rank == 1 && row->dims[0] == 1;
  bool fits = is_tensor && (is_element || (rank == row->rank + 1 && !(is_result && !row->rank)));
  for (uint32_t k = 0; k < row->rank; k++) fits &= row->dims[k] >= 0;
  if (!fits || !hiaR_shape_elements(row, 8, &n) || n > MOST_BYTES / 8)
    hiaG_defect(v, HIA_NONE, "a segment is about tensors, which have an axis more than their rows");
}

/* The body of a segment is a list of operations. */
static void check_segment(hia_verifier *v) {
  enum { MOST_WORDS = 2000 };
  const hia_fn *fn = v->fn;
  if (fn->is_root || fn->n_params < 1 || fn->n_params > HIA_MAX_ROW_OPERANDS || fn->n_results < 1 ||
      fn->n_results > MOST_WORDS)
    hiaG_defect(v, HIA_NONE,
                "a segment is no root, and has operands and results, but not too many");
  for (uint32_t i = 0; i < fn->n_params; i++) check_row(v, fn->params[i], &fn->rows[i], false);
  for (uint32_t i = 0; i < fn->n_results; i++)
    check_row(v, fn->results[i], &fn->rows[fn->n_params + i], true);
}

/* What segments call, themselves or by their calls, defers nothing, forks nothing, and calls no
 * host: a segment runs while a worker settles. */
static void check_calls_of_segments(hia_verifier *v) {
  hia_graph *g = v->g;
  hia_u32vec todo = {0};
  bool *is_reached = HIA_NEW_ARRAY(v->scratch, bool, g->fns.len + 1);
  HIA_EACH_FN(g, f)
    if (hiaG_fn(g, f)->rows) {
      is_reached[f] = true;
      hiaR_push(v->scratch, &todo, f);
    }
  while (todo.len) {
    v->fn = hiaG_fn(g, v->fn_id = todo.data[--todo.len]);
    for (hia_node_id n = 0; n < v->fn->nodes.len; n++) {
      const hia_node *node = &v->fn->nodes.data[n];
      hia_fn_id callee = node->op == HIA_OP_CALL     ? hiaG_callee(node)
                         : node->op == HIA_OP_CALL_I ? g->sites.data[HIA_IMM_A(node->imm)].callee
                                                     : HIA_NONE;
      if (node->flags & HIA_NODE_DEAD) continue;
      if (node->op == HIA_OP_DEFER || node->op == HIA_OP_FORK || node->op == HIA_OP_HOST)
        hiaG_defect(v, n, "a segment, or what it calls, only computes");
      if (callee == HIA_NONE || is_reached[callee]) continue;
      is_reached[callee] = true;
      hiaR_push(v->scratch, &todo, callee);
    }
  }
}

/* What computes the gradient of a function, or of an extern, is there and of its type. */
static void check_own_gradient(hia_verifier *v, hia_fn_id gradient, const hia_type *params,
                               uint32_t n_params, const hia_type *results, uint32_t n_results) {
  if (gradient == HIA_NONE) return;
  if (v->g->state != HIA_FUNCTIONS)
    hiaG_defect(v, HIA_NONE, "a gradient of its own in the static graph");
  if (gradient >= v->g->fns.len || hiaG_fn(v->g, gradient)->is_removed)
    hiaG_defect(v, HIA_NONE, "what computes its gradient does not exist");
  if (!hiaG_fits_as_gradient(v->g, gradient, params, n_params, results, n_results))
    hiaG_defect(v, HIA_NONE, "what computes its gradient is not of its type");
}

static void check_header(hia_verifier *v, hia_index *names) {
  const hia_fn *fn = v->fn;
  uint32_t hash = hiaR_hash(fn->name, strlen(fn->name)), at = hash, other;
  while ((other = hiaR_index_next(names, hash, &at)) != HIA_NONE)
    if (strcmp(hiaG_fn(v->g, other)->name, fn->name) == 0)
      hiaG_defect(v, HIA_NONE, "two functions have one name");
  hiaR_index_add(v->scratch, names, hash, v->fn_id);
  if (fn->source >= v->g->names.len) hiaG_defect(v, HIA_NONE, "its name does not exist");
  if (fn->loc != HIA_NONE && fn->loc >= v->g->locs.len)
    hiaG_defect(v, HIA_NONE, "its location does not exist");
  check_types(v, "parameter", fn->params, fn->n_params);
  check_types(v, "result", fn->results, fn->n_results);
  if (fn->is_root) check_signature(v);
  if (fn->slow_path != HIA_NONE) check_slow_path(v);
  if (fn->owning_of != HIA_NONE) check_owning(v);
  if (fn->rows) check_segment(v);
  check_own_gradient(v, fn->gradient, fn->params, fn->n_params, fn->results, fn->n_results);
  if (fn->regions.len == 0) hiaG_defect(v, HIA_NONE, "there is no body");
}

static void check_locations(hia_verifier *v) {
  for (hia_loc_id l = 0; l < v->g->locs.len; l++) {
    const hia_loc *loc = &v->g->locs.data[l];
    bool has_name = loc->fn < v->g->names.len || hiaR_loc_is_mark(loc->fn);
    if (!has_name || (loc->parent != HIA_NONE && loc->parent >= l))
      hiaG_defect(v, HIA_NONE, "location %u has no function, or comes before its parent", l);
  }
}

static void check_externs(hia_verifier *v) {
  hia_index names = {0};
  for (uint32_t i = 0; i < v->g->externs.len; i++) {
    const hia_extern *e = &v->g->externs.data[i];
    uint32_t hash = hiaR_hash(e->name, strlen(e->name)), at = hash, other;
    while ((other = hiaR_index_next(&names, hash, &at)) != HIA_NONE)
      if (strcmp(v->g->externs.data[other].name, e->name) == 0)
        hiaG_defect(v, HIA_NONE, "two externs have one name");
    hiaR_index_add(v->scratch, &names, hash, i);
    check_own_gradient(v, e->gradient, e->params, e->n_params, e->results, e->n_results);
  }
}

static void check_params(hia_verifier *v) {
  hia_index names = {0};
  for (uint32_t i = 0; i < v->g->params.len; i++) {
    const hia_param_spec *spec = &v->g->params.data[i];
    uint32_t hash = hiaR_hash(spec->name, strlen(spec->name)), at = hash, other;
    while ((other = hiaR_index_next(&names, hash, &at)) != HIA_NONE)
      if (strcmp(v->g->params.data[other].name, spec->name) == 0)
        hiaG_defect(v, HIA_NONE, "two params have one name");
    hiaR_index_add(v->scratch, &names, hash, i);
    if (!hiaR_param_is_sound(spec)) hiaG_defect(v, HIA_NONE, "param %u is not sound", i);
  }
}

static void check_graph(hia_verifier *v) {
  hia_graph *g = v->g;
  hia_index names = {0};
  check_locations(v);
  check_externs(v);
  check_params(v);
  for (v->fn_id = 0; v->fn_id < g->fns.len; v->fn_id++) {
    v->fn = hiaG_fn(g, v->fn_id);
    if (v->fn->is_removed) continue;
    check_header(v, &names);
    for (hia_node_id n = 0; n < v->fn->nodes.len; n++)
      if (!(v->fn->nodes.data[n].flags & HIA_NODE_DEAD)) check_indices(v, n);
    for (hia_node_id n = 0; n < v->fn->nodes.len; n++)
      if (!(v->fn->nodes.data[n].flags & HIA_NODE_DEAD)) check_node(v, n);
  }
  v->fn = NULL;
  if (g->state == HIA_FUNCTIONS && g->gradients.len) hiaG_verify_gradients(v);
  hiaG_verify_sites(v);
  for (v->fn_id = 0; v->fn_id < g->fns.len; v->fn_id++) {
    v->fn = hiaG_fn(g, v->fn_id);
    if (v->fn->is_removed) continue;
    hia_mark mark = hiaR_arena_mark(v->scratch);
    if (g->state == HIA_STATIC)
      hiaG_verify_section(v);
    else
      hiaG_verify_function(v);
    hiaR_arena_release(v->scratch, mark);
  }
  check_calls_of_segments(v);
  v->fn = NULL;
  hiaG_verify_addresses(v);
}

bool hiaG_find_defect(hia_graph *g, hia_defect *defect) {
  hia_mark mark = hiaR_arena_mark(&g->comp->scratch);
  hia_verifier v = {.g = g, .scratch = &g->comp->scratch, .defect = defect};
  *defect = (hia_defect){HIA_NONE, HIA_NONE, NULL};
  if (setjmp(v.stop) == 0) check_graph(&v);
  hiaR_arena_release(&g->comp->scratch, mark);
  return defect->message != NULL;
}

const char *hiaG_verify(hia_graph *g) {
  hia_defect defect;
  return hiaG_find_defect(g, &defect) ? defect.message : NULL;
}
