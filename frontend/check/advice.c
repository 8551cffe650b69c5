/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Hints of type errors: convert the expression, or declare the type of a name.
 *
 * A conversion, T(e), always mends the place that has the error, but it is bad advice for a name
 * whose type was settled from a literal: f64(t) of `let t = 0.1` is 0.10000000149..., and i64(s) of
 * a loop variable `s = 0` moves the error to the next value of s. In these programs the declaration
 * lacks a type.
 *
 * An error therefore begins with the conversion as its hint. Once the body has been typed, the
 * search below follows the values of the expression back to the literals that they began as. If it
 * finds any, it types the body again, silently, with the conversion and with the declaration
 * (hia_trial), and keeps the hint that leaves fewer errors. A float literal is declared in any
 * case, since only a declaration keeps its value. */
#include "frontend/check/infer.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

#define MAX_PATH    16u   /* nested tuple fields that the search follows */
#define MAX_VISITED 2000u /* nodes that the search visits for one error */

/* ---- where the type of an expression comes from ---- */

typedef enum source_kind {
  SOURCE_FIXED,   /* declared, or made of several values that would all have to change */
  SOURCE_OPEN,    /* a literal type: the place of the expression decides it */
  SOURCE_NAME,    /* settled by `node`, a LET or LVAR without a type */
  SOURCE_LITERAL, /* `node` was settled: it is an argument, or a field is taken of it */
  SOURCE_RESULT,  /* the result of `inst`, which is not declared */
  SOURCE_UNKNOWN, /* the search has not found it */
} source_kind;

typedef struct source {
  source_kind kind;
  bool is_float; /* OPEN, and what was settled from it: a float literal is part of the value */
  bool is_whole; /* as is_float: the value is that of an operation on integers */
  uint32_t inst; /* the instance that has `node` */
  hia_ast_id node;
  uint32_t path[MAX_PATH], n_path; /* NAME: the part of the value; LITERAL: of the expression */
} source;

/* The instance that the search is in, and the call through which it came there. */
typedef struct scope {
  uint32_t inst;
  const struct scope *outer; /* NULL: the instance in which the search began */
  hia_ast_id call;
} scope;

typedef struct search {
  const hia_program *p;
  uint32_t n_visited;
} search;

typedef struct path {
  uint32_t at[MAX_PATH], n; /* field numbers, the outermost FIELD node's first */
} path;

static const source fixed = {.kind = SOURCE_FIXED}, unknown = {.kind = SOURCE_UNKNOWN};

static source find(search *s, const scope *in, hia_ast_id id, const path *part);

static hia_itype slot(const search *s, const scope *in, hia_ast_id id) {
  const hia_inst *inst = hiaF_inst(s->p, in->inst);
  return inst->types[id - hiaF_decl(s->p, inst->decl)->first_node];
}

static source open_source(bool is_float) {
  return (source){.kind = SOURCE_OPEN, .is_float = is_float};
}

/* The source of the join of two values. */
static source join(source a, source b) {
  if (a.kind == SOURCE_FIXED || b.kind == SOURCE_FIXED) return fixed;
  if (a.kind == SOURCE_UNKNOWN && b.kind != SOURCE_OPEN) return b;
  if (a.kind != SOURCE_OPEN) return a;
  b.is_float |= b.kind == SOURCE_OPEN && a.is_float;
  b.is_whole |= b.kind == SOURCE_OPEN && a.is_whole;
  return b;
}

/* Settles an open source at `node`; other sources stay as they are. */
static source settle(source found, source_kind kind, const scope *in, hia_ast_id node,
                     const path *part) {
  if (found.kind != SOURCE_OPEN) return found;
  found.kind = kind;
  found.inst = in->inst;
  found.node = node;
  found.n_path = part->n;
  for (uint32_t i = 0; i < part->n; i++) found.path[i] = part->at[part->n - 1 - i];
  return found;
}

static source find_list(search *s, const scope *in, const hia_ast *n, uint32_t first,
                        uint32_t every, const path *part) {
  source all = open_source(false);
  for (uint32_t i = first; i < n->c && all.kind != SOURCE_FIXED; i += every)
    all = join(all, find(s, in, s->p->extra.data[n->b + i], part));
  return all;
}

static source find_lvar(search *s, const scope *in, hia_ast_id id, const path *part) {
  const hia_ast *n = hiaF_node(s->p, id);
  if (n->b != HIA_NONE) return fixed;
  return settle(find(s, in, n->c, part), SOURCE_NAME, in, id, part);
}

/* Appends the field numbers that lead from a binder down to one of its parts. False if `to` is not
 * in it. */
static bool path_to(const hia_program *p, hia_ast_id from, hia_ast_id to, path *part) {
  if (from == to) return true;
  const hia_ast *n = hiaF_node(p, from);
  for (uint32_t i = 0; n->kind == HIA_AST_BIND_TUPLE && i < n->c; i++) {
    if (!path_to(p, p->extra.data[n->b + i], to, part)) continue;
    if (part->n == MAX_PATH) return false;
    part->at[part->n++] = i;
    return true;
  }
  return false;
}

/* The source of the variable of a comprehension: an element of what it runs over. */
static source find_element(search *s, const scope *in, hia_ast_id binder, const path *part) {
  const hia_inst *inst = hiaF_inst(s->p, in->inst);
  for (hia_ast_id id = binder; id < hiaF_decl(s->p, inst->decl)->end_node; id++) {
    const hia_ast *n = hiaF_node(s->p, id);
    if (n->kind != HIA_AST_COMP || s->p->extra.data[n->b] != binder) continue;
    hia_ast_id array = s->p->extra.data[n->b + 1];
    if (n->c != 2) return fixed; /* integers of a range */
    return settle(find(s, in, array, part), SOURCE_LITERAL, in, array, part);
  }
  return fixed; /* a variable of a clause `gradient` */
}

static source find_let(search *s, const scope *in, hia_ast_id binder, const path *part) {
  hia_ast_id id = binder; /* the parser makes the LET first, then the binders */
  while (id > 0 && hiaF_node(s->p, id)->kind != HIA_AST_LET) id--;
  const hia_ast *n = hiaF_node(s->p, id);
  path whole = *part;
  if (n->kind != HIA_AST_LET || !path_to(s->p, n->a, binder, &whole))
    return find_element(s, in, binder, part);
  if (n->b != HIA_NONE) return fixed;
  return settle(find(s, in, n->c, &whole), SOURCE_NAME, in, id, &whole);
}

/* The source of a parameter. That of a generic function is the argument that the call passes. */
static source find_param(search *s, const scope *in, hia_ast_id param, const path *part) {
  const hia_inst *inst = hiaF_inst(s->p, in->inst);
  const hia_decl *d = hiaF_decl(s->p, inst->decl);
  scope caller = {.inst = inst->caller};
  const scope *outer = in->outer != NULL ? in->outer : &caller;
  hia_ast_id call = in->outer != NULL ? in->call : inst->call;
  if (hiaF_node(s->p, param)->b != HIA_NONE || call == HIA_NONE) return fixed;
  uint32_t i = 0;
  while (i < d->n_params && s->p->extra.data[d->params + i] != param) i++;
  hia_ast_id arg = s->p->extra.data[hiaF_node(s->p, call)->b + i];
  return settle(find(s, outer, arg, part), SOURCE_LITERAL, outer, arg, part);
}

static source find_name(search *s, const scope *in, const hia_ast *n, const path *part) {
  if (n->op == HIA_REF_CONST) {
    hia_itype type = hiaF_decl(s->p, n->b)->const_type;
    if (type == HIA_IT_WHOLE) return (source){.kind = SOURCE_OPEN, .is_whole = true};
    return type == HIA_IT_INT || type == HIA_IT_FLOAT ? open_source(type == HIA_IT_FLOAT) : fixed;
  }
  if (n->op != HIA_REF_VAR) return fixed;
  switch ((hia_ast_kind)hiaF_node(s->p, n->b)->kind) {
  case HIA_AST_LVAR: return find_lvar(s, in, n->b, part);
  case HIA_AST_BIND_NAME: return find_let(s, in, n->b, part);
  case HIA_AST_PARAM: return find_param(s, in, n->b, part);
  default: return fixed;
  }
}

/* The source of all positional arguments from the first on. */
static source find_args(search *s, const scope *in, const hia_ast *call, const path *part) {
  hia_ast_id axis;
  uint32_t n = hiaF_positional(s->p, call, &axis);
  source all = open_source(false);
  for (uint32_t i = 0; i < n && all.kind != SOURCE_FIXED; i++)
    all = join(all, find(s, in, hiaF_positional_arg(s->p, call, i), part));
  return all;
}

/* The source of what the built-in functions of tensors and arrays make. */
static source find_tensor(search *s, const scope *in, const hia_ast *n, unsigned builtin,
                          const path *part) {
  source found;
  switch (builtin) {
  case HIA_BUILTIN_ZEROS:
  case HIA_BUILTIN_ONES:
  case HIA_BUILTIN_ONE_HOT: return open_source(true);
  case HIA_BUILTIN_STACK:
  case HIA_BUILTIN_CONCAT:
  case HIA_BUILTIN_OUTER: return find_args(s, in, n, part);
  case HIA_BUILTIN_SET:
    return join(find(s, in, s->p->extra.data[n->b], part),
                find(s, in, s->p->extra.data[n->b + 2], part));
  case HIA_BUILTIN_FULL:
  case HIA_BUILTIN_RESHAPE:
  case HIA_BUILTIN_TRANSPOSE:
  case HIA_BUILTIN_SUM:
  case HIA_BUILTIN_PROD:
  case HIA_BUILTIN_MAX:
  case HIA_BUILTIN_MIN: return find(s, in, hiaF_positional_arg(s->p, n, 0), part);
  case HIA_BUILTIN_SOFTMAX:
  case HIA_BUILTIN_LOG_SOFTMAX:
  case HIA_BUILTIN_CROSS_ENTROPY:
  case HIA_BUILTIN_MEAN:
    found = find(s, in, hiaF_positional_arg(s->p, n, 0), part);
    found.is_float = true;
    return found;
  default: return fixed; /* iota, len, argmax and the like have one type */
  }
}

static source find_builtin(search *s, const scope *in, const hia_ast *n, unsigned op,
                           const path *part) {
  if (op == HIA_OP_FAIL) return open_source(false);
  if (op >= HIA_OP_LIMIT) return find_tensor(s, in, n, op, part);
  unsigned rule = hiaR_ops[op].rule;
  bool is_shift = op == HIA_OP_SHL || op == HIA_OP_SHR;
  /* The others of integers (shru, clz) depend on the width: a declaration would change the value.
   */
  if (rule != HIA_RULE_NUM && rule != HIA_RULE_BITS && rule != HIA_RULE_FLOAT &&
      rule != HIA_RULE_SELECT && !is_shift)
    return fixed;
  source found = is_shift /* the count has a type of its own */
                     ? find(s, in, s->p->extra.data[n->b], part)
                     : find_list(s, in, n, rule == HIA_RULE_SELECT ? 1 : 0, 1, part);
  found.is_float |= rule == HIA_RULE_FLOAT;
  found.is_whole |= rule == HIA_RULE_BITS || is_shift;
  return found;
}

/* A gradient has the type of what it is the gradient for: a param has a declared one. That of a
 * parameter without a type may be that of a literal, which is not followed. */
static source find_gradient(const search *s, const hia_ast *callee, const path *part) {
  const hia_ast_grad *grad = &s->p->grads.data[callee->c];
  const hia_decl *d = hiaF_decl(s->p, callee->b);
  uint32_t left = part->n, i = 0;
  if (grad->has_value && left == 0) return unknown;
  if (grad->has_value && part->at[--left] == 0) return d->result != HIA_IT_NONE ? fixed : unknown;
  if (grad->wrt.len > 1 && left == 0) return unknown;
  if (grad->wrt.len > 1) i = part->at[--left];
  const hia_wrt *wrt = &grad->wrt.data[i];
  bool is_declared =
      wrt->is_param || hiaF_node(s->p, s->p->extra.data[d->params + wrt->i])->b != HIA_NONE;
  return is_declared ? fixed : unknown;
}

static source find_call(search *s, const scope *in, hia_ast_id id, const path *part) {
  const hia_ast *n = hiaF_node(s->p, id), *callee = hiaF_node(s->p, n->a);
  if (callee->op == HIA_REF_BUILTIN) return find_builtin(s, in, n, callee->b, part);
  if (callee->op == HIA_REF_GRAD) return find_gradient(s, callee, part);
  if (callee->op != HIA_REF_FN || slot(s, in, n->a) == HIA_NONE) return fixed;
  scope body = {.inst = slot(s, in, n->a), .outer = in, .call = id};
  const hia_inst *inst = hiaF_inst(s->p, body.inst);
  const hia_decl *d = hiaF_decl(s->p, inst->decl);
  if (inst->is_bottom) return open_source(false);
  if (d->result != HIA_IT_NONE) return fixed;
  for (const scope *o = in; o != NULL; o = o->outer)
    if (o->inst == body.inst) return open_source(false); /* recursion: other paths decide */
  source found = find(s, &body, d->body, part);
  return settle(found, SOURCE_RESULT, &body, d->body, part);
}

/* The source of part `part` of an expression's value. */
static source find(search *s, const scope *in, hia_ast_id id, const path *part) {
  const hia_ast *n = hiaF_node(s->p, id);
  path inner = *part;
  if (s->n_visited++ >= MAX_VISITED) return unknown;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT: return n->op == HIA_NO_SUFFIX ? open_source(false) : fixed;
  case HIA_AST_FLOAT: return n->op == HIA_NO_SUFFIX ? open_source(true) : fixed;
  case HIA_AST_NAME: return find_name(s, in, n, part);
  case HIA_AST_TUPLE:
    if (inner.n == 0) return fixed;
    return find(s, in, s->p->extra.data[n->b + inner.at[--inner.n]], &inner);
  case HIA_AST_FIELD:
    if (inner.n == MAX_PATH) return unknown;
    inner.at[inner.n++] = n->b;
    return settle(find(s, in, n->a, &inner), SOURCE_LITERAL, in, n->a, &inner);
  case HIA_AST_IF: return join(find(s, in, n->b, part), find(s, in, n->c, part));
  case HIA_AST_MATCH: return find_list(s, in, n, 1, 2, part);
  /* The paths do not name elements: all of them have the same type. */
  case HIA_AST_ARRAY: return find_list(s, in, n, 0, 1, part);
  case HIA_AST_COMP: return find(s, in, n->a, part);
  case HIA_AST_INDEX:
  case HIA_AST_SLICE: return settle(find(s, in, n->a, part), SOURCE_LITERAL, in, n->a, part);
  case HIA_AST_LOOP: {
    uint32_t i = 0;
    if (n->c > 1 && inner.n == 0) return fixed;
    if (n->c > 1) i = inner.at[--inner.n];
    return find_lvar(s, in, s->p->extra.data[n->b + i], &inner);
  }
  case HIA_AST_BLOCK: return find(s, in, n->a, part);
  case HIA_AST_CHAIN:
  case HIA_AST_MATMUL: return join(find(s, in, n->a, part), find_list(s, in, n, 2, 3, part));
  case HIA_AST_NEG: return find(s, in, n->a, part);
  case HIA_AST_CALL: return find_call(s, in, id, part);
  default: return fixed;
  }
}

/* ---- the errors that each hint would leave ---- */

static uint32_t errors_of(hia_typing *t, const hia_trial *trial) {
  hia_typing silent = {.p = t->p,
                       .types = t->scratch,
                       .first = t->first,
                       .inst = t->inst,
                       .force = HIA_FORCE_ALL,
                       .trial = trial};
  hiaF_infer_body(&silent);
  return silent.n_errors;
}

/* Returns `type` with the scalars, or the elements of the tensor, at path `at` replaced by `to`.
 * Paths do not name elements of arrays. */
static hia_itype with_part(hia_itypes *it, hia_itype type, const uint32_t *at, uint32_t n,
                           hia_itype to) {
  if (hiaF_is_array(type)) {
    hia_itype element = with_part(it, hiaF_element(it, type), at, n, to);
    return element == HIA_IT_ERROR ? element : hiaF_iarray(it, element);
  }
  if (n == 0) return hiaF_is_ranked(type) ? hiaF_ranked(to, hiaF_irank(type), false) : to;
  if (!hiaF_is_tuple(type) || at[0] >= hiaF_ituple_len(it, type)) return HIA_IT_ERROR;
  uint32_t len = hiaF_ituple_len(it, type);
  hia_itype *parts = HIA_NEW_ARRAY(it->arena, hia_itype, len);
  for (uint32_t i = 0; i < len; i++) parts[i] = hiaF_ituple_part(it, type, i);
  parts[at[0]] = with_part(it, parts[at[0]], at + 1, n - 1, to);
  return hiaF_ituple(it, parts, len);
}

/* ---- writing hints ---- */

typedef struct writer {
  hia_typing *t;
  hia_diag *diag;
  hia_itype to;
} writer;

static const char *quote_or_dots(const hia_program *p, hia_ast_id id) {
  const char *text = hiaF_quote(p, id);
  return text != NULL ? text : "...";
}

/* "in 'main', " if the change is in another function than the error; else "". */
static const char *where(const hia_typing *t, uint32_t inst) {
  const hia_program *p = t->p;
  uint32_t decl = hiaF_inst(p, inst)->decl;
  if (decl == hiaF_inst(p, t->inst)->decl) return "";
  return hiaR_arena_printf(p->arena, "in '%s', ", hiaF_symbol_text(p, hiaF_decl(p, decl)->symbol));
}

/* The type to declare for the name. The slots of names hold settled types whether or not the body
 * has been resolved. */
static hia_itype declared_part(const writer *w, const source *s) {
  const hia_inst *inst = hiaF_inst(w->t->p, s->inst);
  hia_itype type = inst->types[s->node - hiaF_decl(w->t->p, inst->decl)->first_node];
  return with_part(&w->t->p->it, type, s->path, s->n_path, w->to);
}

static void write_declaration(const writer *w, const source *s) {
  hia_program *p = w->t->p;
  const hia_ast *n = hiaF_node(p, s->node);
  const char *type = hiaF_itype_text(&p->it, declared_part(w, s));
  bool is_let = n->kind == HIA_AST_LET;
  const char *name = is_let ? quote_or_dots(p, n->a) : hiaF_symbol_text(p, n->a);
  uint32_t end = is_let ? hiaF_node(p, n->a)->end : n->start + (uint32_t)strlen(name);
  hiaF_hint(p->diags, w->diag, "%sdeclare the type: %s%s: %s = %s", where(w->t, s->inst),
            is_let ? "let " : "", name, type, quote_or_dots(p, n->c));
  hiaF_fix(p->diags, w->diag, is_let ? HIA_EDIT_LET : HIA_EDIT_LVAR, end, end, "%s",
           hiaR_arena_printf(p->arena, ": %s", type));
}

/* Writes a literal with its suffix, 0.1f64, and an expression of literals as f64(...): the
 * literals adapt to the conversion. */
static const char *typed_literal(const hia_program *p, hia_ast_id id, hia_dtype to) {
  const hia_ast *n = hiaF_node(p, id);
  const char *text = hiaF_quote(p, id), *dtype = hiaG_dtype_name(to);
  if (text == NULL) return NULL;
  bool is_hex = n->kind == HIA_AST_INT && text[0] == '0' && text[1] == 'x';
  bool is_number = n->kind == HIA_AST_INT || n->kind == HIA_AST_FLOAT;
  bool has_suffix = is_number && (!is_hex || to <= HIA_I64);
  return hiaR_arena_printf(p->arena, has_suffix ? "%s%s" : "%s(%s)", has_suffix ? text : dtype,
                           has_suffix ? dtype : text);
}

static bool write_literal(const writer *w, const source *s) {
  hia_program *p = w->t->p;
  hia_ast_id id = s->node;
  for (uint32_t i = 0; i < s->n_path; i++) {
    const hia_ast *n = hiaF_node(p, id);
    if (n->kind != HIA_AST_TUPLE) return false;
    id = p->extra.data[n->b + s->path[i]];
  }
  const char *text = typed_literal(p, id, (hia_dtype)w->to);
  if (text == NULL) { /* too long to quote: the hint would have the settled value */
    hiaF_hint(p->diags, w->diag, "%sgive the literals the type %s", where(w->t, s->inst),
              hiaG_dtype_name((hia_dtype)w->to));
    return true;
  }
  const hia_ast *n = hiaF_node(p, id);
  hiaF_hint(p->diags, w->diag, "%swrite %s instead of %s", where(w->t, s->inst), text,
            hiaF_quote(p, id));
  hiaF_fix(p->diags, w->diag, HIA_EDIT_LITERAL, n->start, n->end, "%s", text);
  return true;
}

static bool write_result(const writer *w, const source *s) {
  hia_program *p = w->t->p;
  const hia_inst *inst = hiaF_inst(p, s->inst);
  const hia_decl *d = hiaF_decl(p, inst->decl);
  hia_itype type = with_part(&p->it, inst->result, s->path, s->n_path, w->to);
  if (!hiaF_is_final(&p->it, type)) return false;
  const char *text = hiaF_itype_text(&p->it, type);
  hiaF_hint(p->diags, w->diag, "declare the result: fn %s(%s) -> %s",
            hiaF_symbol_text(p, d->symbol), d->n_params > 0 ? "..." : "", text);
  hiaF_fix(p->diags, w->diag, HIA_EDIT_RESULT, d->head_end, d->head_end, " -> %s", text);
  return true;
}

/* ---- improving the hint of one error ---- */

static hia_diag *find_diag(const hia_diags *diags, const hia_advice *a) {
  for (uint32_t i = 0; i < diags->list.len; i++) {
    hia_diag *d = &diags->list.data[i];
    if (d->line == a->line && d->col == a->col && d->code == a->code) return d;
  }
  return NULL;
}

/* The source of an operand: of the first `n_operands` of a chain, or of the whole expression. */
static source find_operand(search *s, const scope *in, const hia_operand *o) {
  const hia_ast *n = hiaF_node(s->p, o->expr);
  path none = {.n = 0};
  if (o->n_operands == 0) return find(s, in, o->expr, &none);
  source found = find(s, in, n->a, &none);
  for (uint32_t i = 1; i < o->n_operands; i++)
    found = join(found, find(s, in, s->p->extra.data[n->b + 3 * i - 1], &none));
  return found;
}

static bool takes_literal(hia_itype to, const source *s) {
  return to >= (s->is_float ? HIA_F32 : HIA_I32) && to <= (s->is_whole ? HIA_I64 : HIA_F64);
}

/* True if the operand is the name of a `let`, without a type, whose value is made of literals
 * alone: names in it might mean something else at the operand. */
static bool stands_for(const hia_program *p, const hia_advice *a, const source *s) {
  const hia_ast *let = hiaF_node(p, s->node);
  if (let->kind != HIA_AST_LET || a->operand.n_operands != 0 || a->operand.expr == HIA_NONE)
    return false;
  const hia_ast *operand = hiaF_node(p, a->operand.expr);
  if (operand->kind != HIA_AST_NAME || operand->op != HIA_REF_VAR || operand->b != let->a)
    return false;
  const hia_ast *value = hiaF_node(p, let->c);
  for (hia_ast_id id = let->a + 1; id < a->operand.expr; id++) {
    const hia_ast *n = hiaF_node(p, id);
    if (n->start >= value->end) break;
    bool is_name = n->start >= value->start && n->kind == HIA_AST_NAME;
    if (is_name && n->op != HIA_REF_BUILTIN) return false;
  }
  return true;
}

static void advise_name(const writer *w, const hia_advice *a, const source *s) {
  hia_typing *t = w->t;
  if (s->inst != t->inst) {
    write_declaration(w, s);
    return;
  }
  hia_itype type = declared_part(w, s);
  if (!hiaF_is_final(&t->p->it, type)) return;
  hia_trial as_it_is = {HIA_NONE, HIA_NONE, HIA_IT_NONE};
  hia_trial declared = {s->node, HIA_NONE, type};
  hia_trial converted = {HIA_NONE, HIA_NONE, HIA_IT_NONE};
  if (a->operand.n_operands == 0 && a->operand.expr != HIA_NONE) {
    hia_itype operand_type = *hiaF_type_at(t, a->operand.expr);
    converted.converted = a->operand.expr;
    converted.type =
        hiaF_ranked(a->to, hiaF_is_ranked(operand_type) ? hiaF_irank(operand_type) : 0, false);
  }
  uint32_t now = errors_of(t, &as_it_is), with_declaration = errors_of(t, &declared);
  const hia_ast *n = hiaF_node(t->p, s->node);
  if (with_declaration < now && (s->is_float || with_declaration <= errors_of(t, &converted))) {
    write_declaration(w, s);
  } else if (s->is_float) {
    /* Other uses need the type that it has. A name that stands for a literal can be replaced by
     * the literal here. */
    const char *text = stands_for(t->p, a, s) ? typed_literal(t->p, n->c, (hia_dtype)w->to) : NULL;
    if (text == NULL) {
      write_declaration(w, s);
      return;
    }
    hiaF_hint(t->p->diags, w->diag, "write %s instead of %s", text,
              hiaF_quote(t->p, a->operand.expr));
    hiaF_fix(t->p->diags, w->diag, HIA_EDIT_NAME, a->operand.start, a->operand.end, "%s", text);
  }
}

/* Replaces the hint to convert where a conversion would perhaps keep the rounding of literals. */
static void withdraw(const writer *w, const hia_advice *a) {
  hia_program *p = w->t->p;
  const char *text =
      a->operand.expr == HIA_NONE ? NULL : hiaF_quote_bytes(p, a->operand.start, a->operand.end);
  hiaF_hint(p->diags, w->diag,
            "literals without a type are f32: give those that %s is made of the type f64",
            text != NULL ? text : "this");
}

static void advise(hia_typing *t, const hia_advice *a) {
  hia_program *p = t->p;
  writer w = {.t = t, .diag = find_diag(p->diags, a), .to = a->to};
  if (w.diag == NULL) return;
  search s = {.p = p};
  scope in = {.inst = t->inst};
  path none = {.n = 0};
  source found;
  if (a->variable != HIA_NONE) { /* a loop variable that should take its next value's type */
    found = find_lvar(&s, &in, a->variable, &none);
    w.to = a->variable_type;
  } else {
    found = find_operand(&s, &in, &a->operand);
  }
  bool may_round = a->from == HIA_F32 && w.to == HIA_F64;
  if (found.kind == SOURCE_UNKNOWN) {
    if (may_round) withdraw(&w, a);
    return;
  }
  if (!takes_literal(w.to, &found)) return;
  bool is_written = true;
  switch (found.kind) {
  case SOURCE_NAME: advise_name(&w, a, &found); break;
  case SOURCE_LITERAL: is_written = write_literal(&w, &found); break;
  case SOURCE_RESULT: /* an i32 is converted without loss */
    if (found.is_float) is_written = write_result(&w, &found);
    break;
  default: break;
  }
  if (!is_written && may_round) withdraw(&w, a);
}

void hiaF_advise(hia_typing *t) {
  if (t->advice.len == 0) return;
  const hia_decl *d = hiaF_decl(t->p, hiaF_inst(t->p, t->inst)->decl);
  t->scratch = HIA_NEW_ARRAY(t->p->arena, hia_itype, d->end_node - d->first_node);
  for (uint32_t i = 0; i < t->advice.len; i++) advise(t, &t->advice.data[i]);
}
