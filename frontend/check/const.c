/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Consts: their order (cycles are errors), types and values.
 *
 * A const without a type stands for its expression in brackets wherever it is used, so it may have
 * several values: one for each dtype that its literal type can take. They are computed here, once,
 * in order of dependence. The error of a dtype is kept, and reported at a use at this dtype. */
#include "frontend/syntax/ast.h"

enum { FRESH, OPEN, CLOSED };

typedef struct frame {
  uint32_t decl;
  uint32_t next, end; /* its uses that are left, in the vector of uses */
} frame;

/* Appends the consts that an expression uses. */
static void uses(hia_program *p, const hia_decl *d, hia_u32vec *out) {
  for (hia_ast_id id = d->first_node; id < d->end_node; id++) {
    const hia_ast *n = hiaF_node(p, id);
    if (n->kind == HIA_AST_NAME && n->op == HIA_REF_CONST && n->b != HIA_NONE)
      hiaR_push(p->arena, out, n->b);
  }
}

static void report_cycle(hia_program *p, const frame *frames, uint32_t n, uint32_t decl) {
  uint32_t first = 0;
  while (frames[first].decl != decl) first++;
  hia_text text;
  hiaR_text_init(&text, p->arena);
  for (uint32_t i = first; i < n; i++) {
    hia_decl *d = hiaF_decl(p, frames[i].decl);
    d->broken = true;
    if (i - first < 5) hiaR_text_addf(&text, "'%s' uses ", hiaF_symbol_text(p, d->symbol));
    if (i - first == 5) hiaR_text_addf(&text, "... uses ");
  }
  const hia_decl *d = hiaF_decl(p, decl);
  hiaF_error(p->diags, HIA_E0212, d->pos, d->end, "a const is defined by itself: %s'%s'", text.data,
             hiaF_symbol_text(p, d->symbol));
}

/* ---- one const, after those that it uses ---- */

static void value_at(hia_decl *d, hia_typing *t, hia_dtype dtype) {
  hia_const_value *v = &d->values[dtype];
  v->state = HIA_CONST_BAD;
  hia_fault found = {.message = NULL};
  t->fault = &found;
  t->failed = false;
  hiaF_infer(t, d->body); /* fresh slots: resolving changes them */
  hiaF_resolve(t, d->body, dtype);
  uint32_t len = 0;
  if (!t->failed && hiaF_eval(t, d->body, &v->word, &len)) v->state = HIA_CONST_OK;
  v->fault = found;
  t->fault = NULL;
}

/* Reports the error of a const at a dtype, once. */
static void report_fault(hia_program *p, hia_decl *d, hia_dtype dtype) {
  hia_const_value *v = &d->values[dtype];
  if (v->state != HIA_CONST_BAD || v->fault.message == NULL) return;
  hiaF_error(p->diags, v->fault.code, v->fault.start, v->fault.end, "the const '%s': %s",
             hiaF_symbol_text(p, d->symbol), v->fault.message);
  v->fault.message = NULL;
}

static void do_const(hia_program *p, uint32_t id) {
  hia_decl *d = hiaF_decl(p, id);
  d->const_type = HIA_IT_ERROR;
  if (d->type != HIA_NONE && hiaF_node(p, d->type)->kind != HIA_AST_TYPE_DTYPE &&
      hiaF_node(p, d->type)->kind != HIA_AST_TYPE_ERROR) {
    const hia_ast *type = hiaF_node(p, d->type);
    if (!d->broken) hiaF_error(p->diags, HIA_E0318, type->start, type->end, "a const is a scalar");
    d->broken = true;
  }
  if (d->broken) {
    if (d->result < HIA_N_DTYPES) d->const_type = d->result;
    return;
  }
  d->values = HIA_NEW_ARRAY(p->arena, hia_const_value, HIA_N_DTYPES);
  hia_typing t = {.p = p,
                  .types = HIA_NEW_ARRAY(p->arena, hia_itype, d->end_node - d->first_node),
                  .first = d->first_node,
                  .inst = HIA_NONE,
                  .report = true,
                  .force = HIA_FORCE_ALL};
  hia_itype type = hiaF_infer(&t, d->body);
  if (d->result != HIA_IT_NONE) {
    hiaF_accept_type(&t, d->body, type, d->result,
                     hiaR_arena_printf(p->arena, "'%s'", hiaF_symbol_text(p, d->symbol)));
    type = d->result;
  }
  d->const_type = type;
  if (t.failed || (hiaF_itype_has(&p->it, type) & HIA_HAS_ERROR)) {
    d->broken = true;
    return;
  }
  t.report = false;
  for (unsigned dtype = 0; dtype < HIA_N_DTYPES; dtype++)
    if (hiaF_join(&p->it, type, dtype) == dtype) value_at(d, &t, (hia_dtype)dtype);
  if (type < HIA_N_DTYPES) report_fault(p, d, (hia_dtype)type);
}

void hiaF_consts(hia_program *p) {
  HIA_VEC(frame) stack = {0};
  hia_u32vec used = {0};
  for (uint32_t i = 0; i < p->decls.len; i++) {
    if (hiaF_decl(p, i)->kind != HIA_DECL_CONST || hiaF_decl(p, i)->mark != FRESH) continue;
    uint32_t next = i;
    for (;;) {
      if (next != HIA_NONE) {
        frame f = {.decl = next, .next = used.len};
        hiaF_decl(p, next)->mark = OPEN;
        uses(p, hiaF_decl(p, next), &used);
        f.end = used.len;
        hiaR_push(p->arena, &stack, f);
        next = HIA_NONE;
      }
      frame *f = &stack.data[stack.len - 1];
      if (f->next < f->end) {
        uint32_t other = used.data[f->next++];
        if (hiaF_decl(p, other)->mark == OPEN)
          report_cycle(p, stack.data, stack.len, other);
        else if (hiaF_decl(p, other)->mark == FRESH)
          next = other;
        continue;
      }
      do_const(p, f->decl);
      hiaF_decl(p, f->decl)->mark = CLOSED;
      if (--stack.len == 0) break;
      used.len = stack.data[stack.len - 1].end;
    }
    used.len = 0;
  }
}

const hia_const_value *hiaF_const_value(const hia_program *p, uint32_t decl, hia_dtype dtype) {
  static const hia_const_value reported = {.state = HIA_CONST_BAD};
  const hia_decl *d = hiaF_decl(p, decl);
  if (d->values == NULL || d->values[dtype].state == HIA_CONST_NEW) return &reported;
  return &d->values[dtype];
}

/* ---- constant expressions ---- */

bool hiaF_is_constant(const hia_program *p, hia_ast_id id) {
  const hia_ast *n = hiaF_node(p, id);
  const uint32_t *list = p->extra.data + n->b;
  bool is = true;
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
    is = hiaF_is_constant(p, n->a);
    for (uint32_t i = 2; is && i < n->c; i += 3) is = hiaF_is_constant(p, list[i]);
    return is;
  case HIA_AST_CALL:
    if (hiaF_node(p, n->a)->op != HIA_REF_BUILTIN || hiaF_node(p, n->a)->b >= HIA_OP_LIMIT)
      return false;
    for (uint32_t i = 0; is && i < n->c; i++) is = hiaF_is_constant(p, list[i]);
    return is;
  case HIA_AST_CONVERT: return hiaF_is_constant(p, list[0]);
  default: return false;
  }
}

/* The nodes of a constant expression: from *low to *high. */
static void nodes_of(const hia_program *p, hia_ast_id id, hia_ast_id *low, hia_ast_id *high) {
  const hia_ast *n = hiaF_node(p, id);
  const uint32_t *list = p->extra.data + n->b;
  if (id < *low) *low = id;
  if (id > *high) *high = id;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_IF: nodes_of(p, n->c, low, high);      /* fall through */
  case HIA_AST_COMPARE: nodes_of(p, n->b, low, high); /* fall through */
  case HIA_AST_NEG:
  case HIA_AST_NOT: nodes_of(p, n->a, low, high); break;
  case HIA_AST_CHAIN:
  case HIA_AST_LOGIC:
    nodes_of(p, n->a, low, high);
    for (uint32_t i = 2; i < n->c; i += 3) nodes_of(p, list[i], low, high);
    break;
  case HIA_AST_CALL:
    nodes_of(p, n->a, low, high);
    for (uint32_t i = 0; i < n->c; i++) nodes_of(p, list[i], low, high);
    break;
  case HIA_AST_CONVERT: nodes_of(p, list[0], low, high); break;
  default: break;
  }
}

/* The same for any constant expression, which is typed here by itself. */
static bool evaluate_size(hia_program *p, hia_ast_id id, int64_t *value) {
  hia_ast_id low = id, high = id;
  nodes_of(p, id, &low, &high);
  hia_fault fault = {.message = NULL};
  hia_typing t = {.p = p,
                  .types = HIA_NEW_ARRAY(p->arena, hia_itype, high - low + 1),
                  .first = low,
                  .inst = HIA_NONE,
                  .force = HIA_FORCE_ALL,
                  .fault = &fault};
  hia_itype type = hiaF_infer(&t, id);
  if (t.failed || hiaF_itype_has(&p->it, type) & HIA_HAS_ERROR) return false;
  if (type == HIA_IT_INT) type = HIA_I64;
  if (type != HIA_I32 && type != HIA_I64) return false;
  hiaF_resolve(&t, id, type);
  hia_word word;
  uint32_t n = 0;
  if (t.failed || !hiaF_eval(&t, id, &word, &n)) return false;
  *value = type == HIA_I32 ? hiaR_to_i32(word) : hiaR_to_i64(word);
  return true;
}

bool hiaF_constant_size(hia_program *p, hia_ast_id id, int64_t *value) {
  const hia_ast *n = hiaF_node(p, id);
  hia_word word;
  if (n->kind == HIA_AST_INT) {
    if (n->op == HIA_F32 || n->op == HIA_F64) return false;
    if (hiaF_number(p, n, false, HIA_I64, &word) != HIA_NUMBER_OK) return false;
    *value = hiaR_to_i64(word);
    return true;
  }
  if (n->kind != HIA_AST_NAME) return hiaF_is_constant(p, id) && evaluate_size(p, id, value);
  if (n->op != HIA_REF_CONST) return false;
  hia_decl *d = hiaF_decl(p, n->b);
  hia_itype type = d->const_type;
  if (d->broken || !(type == HIA_I32 || type == HIA_I64 || type == HIA_IT_INT)) return false;
  d->used = true;
  const hia_const_value *v = hiaF_const_value(p, n->b, type == HIA_I32 ? HIA_I32 : HIA_I64);
  if (v->state != HIA_CONST_OK) return false;
  *value = hiaR_to_i64(v->word);
  return true;
}

/* A const that nothing uses must still have a value. An untyped integer may have it as i64 only. */
void hiaF_consts_unused(hia_program *p) {
  for (uint32_t i = 0; i < p->decls.len; i++) {
    hia_decl *d = hiaF_decl(p, i);
    if (d->kind != HIA_DECL_CONST || d->used || d->broken || d->values == NULL) continue;
    hia_itype type = hiaF_settle(&p->it, d->const_type, HIA_FORCE_ALL);
    if (type >= HIA_N_DTYPES) continue;
    if (type == HIA_I32 && d->const_type == HIA_IT_INT &&
        d->values[HIA_I32].fault.message != NULL && d->values[HIA_I32].fault.code == HIA_E0312)
      type = HIA_I64;
    report_fault(p, d, (hia_dtype)type);
  }
}
