/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Sizes in types: `f32[n, 2 * HIDDEN]` (docs/language.md, "Sizes").
 *
 * The name of a size is an i64 variable of the function. The first parameter in which it stands
 * binds it, to the size of that axis; all other sizes are expected: a node checks them when the
 * value is there. */
#include "frontend/ast.h"

/* ---- what a type says of sizes ---- */

static bool is_tensor(const hia_ast *n) { return n->kind == HIA_AST_TYPE_TENSOR; }

/* True if the dim, a name, binds a size: names.c has left it without a meaning. */
static bool binds(const hia_program *p, hia_ast_id dim) {
  const hia_ast *d = hiaF_node(p, dim);
  return d->kind == HIA_AST_NAME && d->op == HIA_REF_NONE;
}

bool hiaF_has_sizes(const hia_program *p, hia_ast_id type) {
  if (type == HIA_NONE) return false;
  const hia_ast *n = hiaF_node(p, type);
  bool has = false;
  for (uint32_t i = 0; is_tensor(n) && i < n->c; i++)
    has |= hiaF_node(p, p->extra.data[n->b + i])->kind != HIA_AST_DIM_ANY;
  for (uint32_t i = 0; n->kind == HIA_AST_TYPE_TUPLE && i < n->c; i++)
    has |= hiaF_has_sizes(p, p->extra.data[n->b + i]);
  return has;
}

hia_ast_id hiaF_next_value(const hia_program *p, const hia_ast *loop, uint32_t i) {
  hia_ast_id value = p->extra.data[loop->a + 1];
  const hia_ast *n = hiaF_node(p, value);
  for (; n->kind == HIA_AST_BLOCK; n = hiaF_node(p, value)) value = n->a;
  bool is_apart = loop->c > 1 && n->kind == HIA_AST_TUPLE && n->c == loop->c;
  return is_apart ? p->extra.data[n->b + i] : value;
}

/* ---- types ---- */

static void infer_size(hia_typing *t, hia_ast_id dim) {
  if (hiaF_node(t->p, dim)->kind == HIA_AST_DIM_ANY) return;
  if (binds(t->p, dim)) {
    *hiaF_type_at(t, dim) = HIA_I64;
    return;
  }
  hia_itype type = hiaF_infer(t, dim);
  if (hiaF_itype_has(&t->p->it, type) & HIA_HAS_ERROR) return;
  bool is_scalar = hiaF_is_ranked(type) && hiaF_irank(type) == 0;
  if (is_scalar && hiaF_rule_takes(HIA_RULE_INT, hiaF_leaf(type))) return;
  const hia_ast *n = hiaF_node(t->p, dim);
  hiaF_type_error(t, HIA_E0323, n->start, n->end, "a size is an i32 or i64, not %s",
                  hiaF_itype_text(&t->p->it, type));
}

typedef void each_size(hia_typing *t, hia_ast_id dim);

static void each(hia_typing *t, hia_ast_id type, each_size *visit) {
  if (type == HIA_NONE) return;
  const hia_ast n = *hiaF_node(t->p, type);
  for (uint32_t i = 0; is_tensor(&n) && i < n.c; i++) visit(t, t->p->extra.data[n.b + i]);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    each(t, t->p->extra.data[n.b + i], visit);
}

void hiaF_infer_sizes(hia_typing *t, hia_ast_id type) { each(t, type, infer_size); }

static void resolve_size(hia_typing *t, hia_ast_id dim) {
  if (hiaF_node(t->p, dim)->kind != HIA_AST_DIM_ANY && !binds(t->p, dim))
    hiaF_resolve(t, dim, HIA_I64);
}

void hiaF_resolve_sizes(hia_typing *t, hia_ast_id type) { each(t, type, resolve_size); }

/* ---- graphs ---- */

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

static void expect_tensor(hia_elab *e, const hia_ast *n, uint32_t at, hia_ast_id expr) {
  hia_loc_id loc = hiaF_elab_loc(e, n->start);
  hia_operand both[2] = {hiaF_operand(e->p, expr), {.start = n->start, .end = n->end}};
  hia_value_id x = e->words.data[at];
  uint64_t axes = 0;
  uint32_t base = e->words.len;
  hiaR_push(e->arena, &e->words, x);
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id dim = e->p->extra.data[n->b + i];
    if (hiaF_node(e->p, dim)->kind == HIA_AST_DIM_ANY) continue;
    if (binds(e->p, dim)) {
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
                                      hiaF_elab_loc_of(e, n->start, both, 2));
  e->words.len = base;
}

void hiaF_elab_sizes(hia_elab *e, hia_ast_id type, uint32_t at, hia_ast_id expr) {
  if (!hiaF_has_sizes(e->p, type)) return;
  const hia_ast *n = hiaF_node(e->p, type);
  if (is_tensor(n)) expect_tensor(e, n, at, expr);
  for (uint32_t i = 0; n->kind == HIA_AST_TYPE_TUPLE && i < n->c; i++) {
    hia_ast_id part = e->p->extra.data[n->b + i];
    const hia_ast *of = hiaF_node(e->p, expr);
    bool is_apart = of->kind == HIA_AST_TUPLE && of->c == n->c;
    hiaF_elab_sizes(e, part, at, is_apart ? e->p->extra.data[of->b + i] : expr);
    at += words_of(e->p, part);
  }
}

/* ---- results of calls in tail position ---- */

static bool are_constant(hia_program *p, hia_ast_id type) {
  const hia_ast n = *hiaF_node(p, type);
  int64_t value;
  bool are = true;
  for (uint32_t i = 0; is_tensor(&n) && i < n.c; i++) {
    hia_ast_id dim = p->extra.data[n.b + i];
    are &= hiaF_node(p, dim)->kind == HIA_AST_DIM_ANY || hiaF_constant_size(p, dim, &value);
  }
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    are &= are_constant(p, p->extra.data[n.b + i]);
  return are;
}

/* True if what is of the sizes of `a` is of those of `b`, which are constant; the types are alike.
 */
static bool implies(hia_program *p, hia_ast_id a, hia_ast_id b) {
  const hia_ast m = *hiaF_node(p, a), n = *hiaF_node(p, b);
  if (m.kind != n.kind || m.c != n.c) return !hiaF_has_sizes(p, b);
  for (uint32_t i = 0; is_tensor(&n) && i < n.c; i++) {
    hia_ast_id is = p->extra.data[m.b + i], wanted = p->extra.data[n.b + i];
    int64_t x, y;
    if (hiaF_node(p, wanted)->kind == HIA_AST_DIM_ANY) continue;
    if (hiaF_node(p, is)->kind == HIA_AST_DIM_ANY || !hiaF_constant_size(p, is, &x) ||
        !hiaF_constant_size(p, wanted, &y) || x != y)
      return false;
  }
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    if (!implies(p, p->extra.data[m.b + i], p->extra.data[n.b + i])) return false;
  return true;
}

bool hiaF_returns_sizes(hia_program *p, hia_ast_id call, hia_ast_id type) {
  const hia_ast *n = hiaF_node(p, call);
  if (n->kind != HIA_AST_CALL) return false;
  const hia_ast *callee = hiaF_node(p, n->a);
  if (callee->op != HIA_REF_FN) return false;
  const hia_decl *d = hiaF_decl(p, callee->b);
  return d->type != HIA_NONE && are_constant(p, type) && implies(p, d->type, type);
}
