/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Consts: their order (cycles are errors), types and values.
 *
 * A const without a type stands for its expression in brackets wherever it is used, so it may have
 * several values: one for each dtype that its literal type can take. They are computed here, once,
 * in order of dependence. The error of a dtype is kept, and reported at a use at this dtype. */
#include "frontend/check/check.h"
#include "frontend/check/constant.h"
#include "frontend/check/infer.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/program.h"

enum { FRESH, OPEN, CLOSED };

typedef struct frame {
  uint32_t decl;
  uint32_t next, end; /* the uses that are left, in the vector of uses */
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
        uint32_t used_const = used.data[f->next++];
        if (hiaF_decl(p, used_const)->mark == OPEN)
          report_cycle(p, stack.data, stack.len, used_const);
        else if (hiaF_decl(p, used_const)->mark == FRESH)
          next = used_const;
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
