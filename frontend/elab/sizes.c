/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes in types: `f32[n, 2 * HIDDEN]` (docs/language.md, "Sizes").
 *
 * The name of a size is an i64 variable of the function. The first parameter in which it stands
 * binds it, to the size of that axis; all other sizes are expected: a node checks them when the
 * value is there. */
#include "frontend/check/constant.h"
#include "frontend/elab/elab.h"
#include "frontend/kit/pieces.h"
#include "frontend/syntax/program.h"
#include "graph/ir/build.h"

static bool is_tensor(const hia_ast *n) { return n->kind == HIA_AST_TYPE_TENSOR; }

static uint32_t words_of(const hia_program *p, hia_ast_id type) {
  const hia_ast *n = hiaF_node(p, type);
  if (n->kind != HIA_AST_TYPE_TUPLE) return 1;
  uint32_t words = 0;
  for (uint32_t i = 0; i < n->c; i++) words += words_of(p, p->extra.data[n->b + i]);
  return words;
}

/* Pushes the size that a type of this function, or a field, expects. */
static void push_size(hia_elab *e, hia_ast_id dim, hia_loc_id loc) {
  int64_t value;
  if (hiaF_constant_size(e->p, dim, &value))
    hiaR_push(e->arena, &e->words,
              hiaG_const(e->g, e->fn, e->region, HIA_I64, hiaR_from_i64(value), loc));
  else
    hiaF_elab_i64(e, dim);
}

/* Returns the parameter that has all sizes of the type: for `b` in `(a: f32[n], b: f32[n])` it
 * is `a`. A misfit shows it then, since its shape is the expected one. NONE: there is no such
 * parameter. */
static hia_ast_id same_as(const hia_elab *e, const hia_ast *n) {
  const hia_program *p = e->p;
  const hia_decl *d = hiaF_decl(p, e->decl);
  for (uint32_t k = 0; k < d->n_params; k++) {
    hia_ast_id param = p->extra.data[d->params + k], type = hiaF_node(p, param)->b;
    const hia_ast *t = type == HIA_NONE ? NULL : hiaF_node(p, type);
    if (!t || !is_tensor(t) || t == n || t->c != n->c) continue;
    bool is_same = true;
    for (uint32_t i = 0; i < n->c; i++) {
      const hia_ast *dim = hiaF_node(p, p->extra.data[n->b + i]);
      is_same &=
          dim->kind == HIA_AST_DIM_ANY || (dim->kind == HIA_AST_NAME && dim->op == HIA_REF_VAR &&
                                           dim->b == p->extra.data[t->b + i]);
    }
    if (is_same) return param;
  }
  return HIA_NONE;
}

static void expect_tensor(hia_elab *e, const hia_ast *n, uint32_t at, hia_ast_id expr) {
  hia_loc_id loc = hiaF_elab_loc(e, n->start);
  hia_operand operands[2] = {hiaF_operand(e->p, expr), {.start = n->start, .end = n->end}};
  hia_ast_id same = hiaF_node(e->p, expr)->kind == HIA_AST_PARAM ? same_as(e, n) : HIA_NONE;
  if (same != HIA_NONE) operands[1] = hiaF_operand(e->p, same);
  hia_value_id x = e->words.data[at];
  uint64_t axes = 0;
  uint32_t base = e->words.len;
  hiaR_push(e->arena, &e->words, x);
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id dim = e->p->extra.data[n->b + i];
    if (hiaF_node(e->p, dim)->kind == HIA_AST_DIM_ANY) continue;
    if (hiaF_binds_size(e->p, dim)) {
      hia_value_id size =
          hiaG_computed(e->g, e->fn, e->region, HIA_OP_DIM, &x, 1, HIA_N_DTYPES, i, loc);
      e->slots[dim - e->first] = e->vars.len;
      hiaR_push(e->arena, &e->vars, size);
      continue;
    }
    push_size(e, dim, loc);
    axes |= (uint64_t)1 << i;
  }
  if (axes)
    e->words.data[at] = hiaG_computed(e->g, e->fn, e->region, HIA_OP_EXPECT, e->words.data + base,
                                      e->words.len - base, HIA_N_DTYPES, axes,
                                      hiaF_elab_loc_of(e, n->start, operands, 2));
  e->words.len = base;
}

/* ---- within arrays: a loop over the elements ---- */

/* Checks the part of element k of an array from word *word on, which is of the type. Reads only
 * what has sizes. */
static void expect_part(hia_elab *e, hia_ast_id type, const hia_value_id *element, uint32_t *word,
                        hia_ast_id expr, hia_loc_id loc) {
  const hia_ast n = *hiaF_node(e->p, type);
  if (n.kind == HIA_AST_TYPE_TUPLE) {
    for (uint32_t i = 0; i < n.c; i++)
      expect_part(e, e->p->extra.data[n.b + i], element, word, expr, loc);
    return;
  }
  uint32_t number = (*word)++, base = e->words.len;
  if (!hiaF_has_sizes(e->p, type)) return;
  hia_type array = hiaG_type(e->fn, element[0]);
  hia_type_table types = hiaG_type_table(e->g->types);
  const hia_layout *layout = &hiaR_type_entry(&types, array)->layout;
  hia_type of_word = types.layout_words[layout->first + number].type;
  hiaR_push(e->arena, &e->words, hiaF_elab_one(e, HIA_OP_AT, element, 2, of_word, number, loc));
  hiaF_elab_sizes(e, type, base, expr);
  e->words.len = base;
}

static void expect_elements(hia_elab *e, hia_ast_id element, hia_value_id array, hia_ast_id expr,
                            hia_loc_id loc) {
  hia_region_id outer = e->region;
  uint32_t word = 0;
  hia_value_id length = hiaF_elab_one(e, HIA_OP_LEN, &array, 1, HIA_I64, 0, loc);
  hia_value_id zero = hiaG_const(e->g, e->fn, outer, HIA_I64, 0, loc);
  hia_type i64 = HIA_I64;
  hia_node_id loop = hiaG_add(e->g, e->fn, outer, HIA_OP_LOOP, &zero, 1, &i64, 1, 0, loc);
  e->fn->nodes.data[loop].flags |= HIA_NODE_FREE;
  hia_region_id head = e->fn->nodes.data[loop].regions, round = head + 1;
  e->region = head;
  hia_value_id k = hiaF_elab_one(e, HIA_OP_ARG, NULL, 0, HIA_I64, 0, loc),
               operands[2] = {k, length};
  hia_value_id goes_on = hiaG_op(e->g, e->fn, head, HIA_OP_LT, operands, 2, loc);
  hiaG_yield(e->g, e->fn, head, (hia_value_id[]){goes_on, k}, 2);
  e->region = round;
  expect_part(e, element, (hia_value_id[]){array, k}, &word, expr, loc);
  operands[1] = hiaG_const(e->g, e->fn, round, HIA_I64, 1, loc);
  hia_value_id next = hiaG_op(e->g, e->fn, round, HIA_OP_ADD, operands, 2, loc);
  hiaG_yield(e->g, e->fn, round, &next, 1);
  e->region = outer;
}

void hiaF_elab_sizes(hia_elab *e, hia_ast_id type, uint32_t at, hia_ast_id expr) {
  if (!hiaF_has_sizes(e->p, type)) return;
  const hia_ast *n = hiaF_node(e->p, type);
  if (n->kind == HIA_AST_TYPE_ARRAY && e->which_sizes != HIA_SIZES_OF_TENSORS) {
    unsigned which = e->which_sizes;
    e->which_sizes = HIA_SIZES_ALL;
    expect_elements(e, n->a, e->words.data[at], expr, hiaF_elab_loc(e, n->start));
    e->which_sizes = which;
  }
  if (is_tensor(n) && e->which_sizes != HIA_SIZES_IN_ARRAYS) expect_tensor(e, n, at, expr);
  for (uint32_t i = 0; n->kind == HIA_AST_TYPE_TUPLE && i < n->c; i++) {
    hia_ast_id part = e->p->extra.data[n->b + i];
    const hia_ast *value = hiaF_node(e->p, expr);
    bool is_apart = value->kind == HIA_AST_TUPLE && value->c == n->c;
    hiaF_elab_sizes(e, part, at, is_apart ? e->p->extra.data[value->b + i] : expr);
    at += words_of(e->p, part);
  }
}

/* ---- results of calls in tail position ---- */

static bool are_constant(hia_program *p, hia_ast_id type) {
  const hia_ast n = *hiaF_node(p, type);
  int64_t value;
  bool is_constant = true;
  for (uint32_t i = 0; is_tensor(&n) && i < n.c; i++) {
    hia_ast_id dim = p->extra.data[n.b + i];
    is_constant &= hiaF_node(p, dim)->kind == HIA_AST_DIM_ANY || hiaF_constant_size(p, dim, &value);
  }
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    is_constant &= are_constant(p, p->extra.data[n.b + i]);
  return n.kind == HIA_AST_TYPE_ARRAY ? are_constant(p, n.a) : is_constant;
}

/* True if a value with the sizes of type `a` has the sizes of type `b`, which are constant. The
 * types are alike. */
static bool implies(hia_program *p, hia_ast_id a, hia_ast_id b) {
  const hia_ast m = *hiaF_node(p, a), n = *hiaF_node(p, b);
  if (m.kind != n.kind || m.c != n.c) return !hiaF_has_sizes(p, b);
  for (uint32_t i = 0; is_tensor(&n) && i < n.c; i++) {
    hia_ast_id given = p->extra.data[m.b + i], wanted = p->extra.data[n.b + i];
    int64_t x, y;
    if (hiaF_node(p, wanted)->kind == HIA_AST_DIM_ANY) continue;
    if (hiaF_node(p, given)->kind == HIA_AST_DIM_ANY || !hiaF_constant_size(p, given, &x) ||
        !hiaF_constant_size(p, wanted, &y) || x != y)
      return false;
  }
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    if (!implies(p, p->extra.data[m.b + i], p->extra.data[n.b + i])) return false;
  return n.kind != HIA_AST_TYPE_ARRAY || implies(p, m.a, n.a);
}

bool hiaF_returns_sizes(hia_program *p, hia_ast_id call, hia_ast_id type) {
  const hia_ast *n = hiaF_node(p, call);
  if (n->kind != HIA_AST_CALL) return false;
  const hia_ast *callee = hiaF_node(p, n->a);
  if (callee->op != HIA_REF_FN) return false;
  const hia_decl *d = hiaF_decl(p, callee->b);
  return d->type != HIA_NONE && are_constant(p, type) && implies(p, d->type, type);
}
