/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* What many rooms ask of the syntax tree. */
#include "frontend/syntax/ast.h"
#include "frontend/syntax/program.h"

hia_program *hiaF_program_new(hia_comp *comp, hia_types *types, const hia_source *source,
                              hia_diags *diags) {
  hia_program *p = HIA_NEW(&comp->arena, hia_program);
  p->comp = comp;
  p->arena = &comp->arena;
  p->source = source;
  p->diags = diags;
  hiaF_symbols_init(&p->symbols, p->arena);
  hiaF_itypes_init(&p->it, p->arena, types);
  return p;
}

/* ---- operands of hints ---- */

hia_operand hiaF_operand(const hia_program *p, hia_ast_id expr) {
  const hia_ast *n = hiaF_node(p, expr);
  for (; n->kind == HIA_AST_BLOCK; n = hiaF_node(p, expr)) expr = n->a;
  return (hia_operand){expr, 0, n->start, n->end};
}

hia_operand hiaF_operands(const hia_program *p, hia_ast_id chain, uint32_t n_operands,
                          uint32_t end) {
  const hia_ast *n = hiaF_node(p, chain);
  const char *text = p->source->text;
  if (n_operands == 1) return hiaF_operand(p, n->a);
  while (end > n->start && (text[end - 1] == ' ' || text[end - 1] == '\t')) end--;
  return (hia_operand){chain, n_operands, n->start, end};
}

/* ---- text ---- */

const char *hiaF_quote(const hia_program *p, hia_ast_id expr) {
  return hiaF_quote_bytes(p, hiaF_node(p, expr)->start, hiaF_node(p, expr)->end);
}

const char *hiaF_quote_bytes(const hia_program *p, uint32_t start, uint32_t end) {
  const char *text = p->source->text + start;
  uint32_t len = end - start;
  if (len > 40 || memchr(text, '\n', len) != NULL || memchr(text, '#', len) != NULL) return NULL;
  return hiaR_arena_printf(p->arena, "%.*s", (int)len, text);
}

/* ---- expressions ---- */

bool hiaF_is_constant(const hia_program *p, hia_ast_id id) {
  const hia_ast *n = hiaF_node(p, id);
  const uint32_t *list = p->extra.data + n->b;
  bool is_constant = true;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT:
  case HIA_AST_FLOAT:
  case HIA_AST_BOOL: return true;
  case HIA_AST_NAME: return n->op == HIA_REF_CONST;
  case HIA_AST_NEG:
  case HIA_AST_NOT: return hiaF_is_constant(p, n->a);
  case HIA_AST_COMPARE: return hiaF_is_constant(p, n->a) && hiaF_is_constant(p, n->b);
  case HIA_AST_IF:
    return hiaF_is_constant(p, n->a) && hiaF_is_constant(p, n->b) && hiaF_is_constant(p, n->c);
  case HIA_AST_CHAIN:
  case HIA_AST_LOGIC:
    is_constant = hiaF_is_constant(p, n->a);
    for (uint32_t i = 2; is_constant && i < n->c; i += 3)
      is_constant = hiaF_is_constant(p, list[i]);
    return is_constant;
  case HIA_AST_CALL:
    if (hiaF_node(p, n->a)->op != HIA_REF_BUILTIN || hiaF_node(p, n->a)->b >= HIA_OP_LIMIT)
      return false;
    for (uint32_t i = 0; is_constant && i < n->c; i++) is_constant = hiaF_is_constant(p, list[i]);
    return is_constant;
  case HIA_AST_CONVERT: return hiaF_is_constant(p, list[0]);
  default: return false;
  }
}

hia_ast_id hiaF_next_value(const hia_program *p, const hia_ast *loop, uint32_t i) {
  hia_ast_id value = p->extra.data[loop->a + 1];
  const hia_ast *n = hiaF_node(p, value);
  for (; n->kind == HIA_AST_BLOCK; n = hiaF_node(p, value)) value = n->a;
  bool is_apart = loop->c > 1 && n->kind == HIA_AST_TUPLE && n->c == loop->c;
  return is_apart ? p->extra.data[n->b + i] : value;
}

enum { MAX_ARM_SIZE = 4096 };

/* The nodes of an arm follow its pattern in the order of the source, but a root may come first
 * or last. */
uint32_t hiaF_arm_size(const hia_program *p, hia_ast_id pattern, hia_ast_id expr) {
  const hia_ast *root = hiaF_node(p, expr), *end = root + 1, *last = &p->nodes.data[p->nodes.len];
  while (end < last && end - root < MAX_ARM_SIZE && end->start >= root->start &&
         end->start < root->end)
    end++;
  return expr - pattern + (uint32_t)(end - root - 1);
}

/* ---- sizes in types ---- */

bool hiaF_binds_size(const hia_program *p, hia_ast_id dim) {
  const hia_ast *d = hiaF_node(p, dim);
  return d->kind == HIA_AST_NAME && d->op == HIA_REF_NONE;
}

bool hiaF_has_sizes(const hia_program *p, hia_ast_id type) {
  if (type == HIA_NONE) return false;
  const hia_ast *n = hiaF_node(p, type);
  bool is_found = false;
  for (uint32_t i = 0; n->kind == HIA_AST_TYPE_TENSOR && i < n->c; i++)
    is_found |= hiaF_node(p, p->extra.data[n->b + i])->kind != HIA_AST_DIM_ANY;
  for (uint32_t i = 0; n->kind == HIA_AST_TYPE_TUPLE && i < n->c; i++)
    is_found |= hiaF_has_sizes(p, p->extra.data[n->b + i]);
  return n->kind == HIA_AST_TYPE_ARRAY ? hiaF_has_sizes(p, n->a) : is_found;
}
