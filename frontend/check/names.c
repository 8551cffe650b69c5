/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Resolves names. One walk over all items binds variables, resolves names to variables,
 * declarations and built-ins, checks numbers of arguments, and reports parts of the language that
 * hiaton does not support yet. A declaration with an error is marked broken and is not typed, so
 * that one mistake does not become many. */
#include "frontend/check/names.h"
#include "frontend/check/check.h"
#include "frontend/grad/grad.h"
#include "frontend/kit/scope.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

static void walk(hia_name_walk *w, hia_ast_id id, uint32_t depth);

static void no_scalar_in_extern(hia_name_walk *w, const hia_ast *type) {
  if (!w->is_extern) return;
  hia_diag *diag = hiaF_name_error(w, HIA_E0321, type->start, type->end,
                                   "an extern function has scalars and tuples only");
  hiaF_hint(w->p->diags, diag, "pass the numbers that are in it");
}

/* ---- types ---- */

/* True if a size may be written so: it is made of integers, consts and names. */
static bool is_size(const hia_program *p, hia_ast_id id) {
  const hia_ast *n = hiaF_node(p, id);
  if (n->kind == HIA_AST_INT || n->kind == HIA_AST_NAME) return true;
  if (n->kind == HIA_AST_NEG) return is_size(p, n->a);
  if (n->kind != HIA_AST_CHAIN) return false;
  bool fits = is_size(p, n->a);
  for (uint32_t i = 2; i < n->c; i += 3) fits &= is_size(p, p->extra.data[n->b + i]);
  return fits;
}

/* Walks over a size that binds no name. */
static void walk_size(hia_name_walk *w, hia_ast_id dim) {
  walk(w, dim, 0);
  const hia_ast *d = hiaF_node(w->p, dim);
  if (w->is_field && !w->failed && !hiaF_is_constant(w->p, dim))
    hiaF_name_error(w, HIA_E0201, d->start, d->end, "a size of a field is a constant or '?'");
  else if (!is_size(w->p, dim) && !hiaF_is_constant(w->p, dim))
    hiaF_unsupported(w, HIA_E0903, d, "sizes other than of constants and names are");
}

/* Walks over the sizes of a tensor's type. A name within an array is bound elsewhere, perhaps
 * further down: an array may be empty. */
static void walk_sizes(hia_name_walk *w, const hia_ast *n, bool signature) {
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id dim = w->p->extra.data[n->b + i];
    hia_ast *d = hiaF_node(w->p, dim);
    if (d->kind == HIA_AST_DIM_ANY || (w->in_array && signature)) continue;
    if (signature && d->kind == HIA_AST_NAME && hiaF_symbol(w, d->a)->decl == HIA_NONE &&
        hiaF_symbol(w, d->a)->var == HIA_NONE) {
      hiaF_bind_name(w, d->a, dim, w->undo.len);
      d->op = HIA_REF_NONE; /* it binds */
    } else {
      walk_size(w, dim);
    }
  }
}

/* Walks over the sizes within arrays in the type of a parameter, when all names are bound. */
static void walk_array_sizes(hia_name_walk *w, hia_ast_id type, bool in_array) {
  if (type == HIA_NONE) return;
  const hia_ast n = *hiaF_node(w->p, type);
  if (n.kind == HIA_AST_TYPE_ARRAY) walk_array_sizes(w, n.a, true);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    walk_array_sizes(w, w->p->extra.data[n.b + i], in_array);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TENSOR && in_array && i < n.c; i++)
    if (hiaF_node(w->p, w->p->extra.data[n.b + i])->kind != HIA_AST_DIM_ANY)
      walk_size(w, w->p->extra.data[n.b + i]);
}

/* Hints at the tensor for the type of an array of scalars or tensors. */
static void hint_tensor(const hia_name_walk *w, hia_diag *diag, const hia_ast *array) {
  const hia_ast *element = hiaF_node(w->p, array->a);
  const char *dtype = hiaG_dtype_name((hia_dtype)element->op);
  if (element->kind == HIA_AST_TYPE_DTYPE) {
    hiaF_hint(w->p->diags, diag, "write %s[?]", dtype);
    hiaF_fix(w->p->diags, diag, HIA_EDIT_TENSOR, array->start, array->end, "%s[?]", dtype);
    return;
  }
  const char *text = hiaF_quote(w->p, array->a), *sizes = text ? strchr(text, '[') : NULL;
  hiaF_hint(w->p->diags, diag,
            "if they have one shape, write %s[?, %s; else make each a part of data: type Row = "
            "Row(x: %s)",
            dtype, sizes != NULL ? sizes + 1 : "...]", text != NULL ? text : dtype);
}

/* Walks over a type. `signature`: it is that of a parameter, where a name that is no const declares
 * a size variable. */
static void walk_type(hia_name_walk *w, hia_ast_id id, bool signature) {
  if (id == HIA_NONE) return;
  const hia_ast n = *hiaF_node(w->p, id);
  switch ((hia_ast_kind)n.kind) {
  case HIA_AST_TYPE_TENSOR:
    w->p->it.has_tensors = true;
    no_scalar_in_extern(w, &n);
    if (n.c > HIA_MAX_RANK) {
      hiaF_name_error(w, HIA_E0316, n.start, n.end, "a tensor of more than %d axes", HIA_MAX_RANK);
      break;
    }
    walk_sizes(w, &n, signature);
    break;
  case HIA_AST_TYPE_NAME: {
    const hia_symbol *e = hiaF_symbol(w, n.a);
    if (e->type != HIA_NONE) {
      no_scalar_in_extern(w, &n);
      break;
    }
    w->failed = true;
    if (w->p->names_unreliable) break;
    hia_diag *diag = hiaF_name_error(w, HIA_E0207, n.start, n.end, "unknown type '%s'", e->text);
    if (diag == NULL) break;
    const char *similar = hiaF_similar_name(w->p, e->text, e->len, HIA_LIKE_TYPE);
    if (similar != NULL) hiaF_hint(w->p->diags, diag, "did you mean '%s'?", similar);
    break;
  }
  case HIA_AST_TYPE_ARRAY: {
    bool is_extern = w->is_extern;
    uint8_t element = hiaF_node(w->p, n.a)->kind;
    if (element == HIA_AST_TYPE_DTYPE || element == HIA_AST_TYPE_TENSOR) {
      const char *what = element == HIA_AST_TYPE_DTYPE ? "scalars" : "tensors";
      hia_diag *diag = hiaF_name_error(w, HIA_E0325, n.start, n.end,
                                       "arrays have no %s for elements: those make a tensor", what);
      hint_tensor(w, diag, &n);
    } else
      no_scalar_in_extern(w, &n);
    w->is_extern = false; /* one report is enough */
    bool in_array = w->in_array;
    w->in_array = true;
    walk_type(w, n.a, signature);
    w->in_array = in_array;
    w->is_extern = is_extern;
    break;
  }
  case HIA_AST_TYPE_TUPLE:
    for (uint32_t i = 0; i < n.c; i++) walk_type(w, w->p->extra.data[n.b + i], signature);
    break;
  case HIA_AST_TYPE_ERROR: w->failed = true; break;
  default: break;
  }
}

/* ---- names in expressions ---- */

static void function_as_value(hia_name_walk *w, const hia_ast *n, const char *text) {
  hia_diag *diag =
      hiaF_name_error(w, HIA_E0205, n->start, n->end,
                      "'%s' is a function: functions are called, never passed or stored", text);
  hiaF_hint(w->p->diags, diag, "write %s(...)", text);
}

static void walk_name(hia_name_walk *w, hia_ast_id id) {
  hia_ast *n = hiaF_node(w->p, id);
  const hia_symbol *e = hiaF_symbol(w, n->a);
  n->op = HIA_REF_NONE;
  if (e->var != HIA_NONE) {
    n->op = HIA_REF_VAR;
    n->b = e->var;
    return;
  }
  if (e->decl == HIA_NONE) {
    if (hiaF_builtin(e->text, e->len) != HIA_OP_LIMIT)
      function_as_value(w, n, e->text);
    else
      hiaF_unknown_name(w, n, false);
    return;
  }
  const hia_decl *d = hiaF_decl(w->p, e->decl);
  switch ((hia_decl_kind)d->kind) {
  case HIA_DECL_CONST:
    n->op = HIA_REF_CONST;
    n->b = e->decl;
    break;
  case HIA_DECL_FN:
  case HIA_DECL_EXTERN: function_as_value(w, n, e->text); break;
  case HIA_DECL_CON:
    if (d->broken) {
      w->failed = true;
    } else if (w->mode == HIA_WALK_CONST) {
      hiaF_name_error(w, HIA_E0318, n->start, n->end, "%s is a scalar, not a %s",
                      hiaF_constant_text(w), hiaF_itype_text(&w->p->it, d->data));
    } else if (d->n_params > 0) {
      hia_diag *diag =
          hiaF_name_error(w, HIA_E0203, n->start, n->end,
                          "the constructor '%s' is called with all its fields", e->text);
      hiaF_note(w->p->diags, diag, d->pos, "defined here");
    } else {
      n->op = HIA_REF_CON;
      n->b = e->decl;
    }
    break;
  case HIA_DECL_PARAM:
    if (w->mode == HIA_WALK_CONST || w->mode == HIA_WALK_VALUE) {
      hiaF_name_error(w, HIA_E0211, n->start, n->end,
                      "%s cannot use the param '%s', which training changes", hiaF_constant_text(w),
                      e->text);
    } else {
      n->op = HIA_REF_PARAM;
      n->b = e->decl;
    }
    break;
  default: break;
  }
}

/* ---- calls ---- */

/* `takes_names`: the callee may have an argument named `axis`. */
static void walk_args(hia_name_walk *w, const hia_ast *call, bool takes_names, uint32_t depth) {
  for (uint32_t i = 0; i < call->c; i++) {
    hia_ast_id arg = w->p->extra.data[call->b + i];
    const hia_ast *a = hiaF_node(w->p, arg);
    if (a->kind != HIA_AST_NAMED) {
      walk(w, arg, depth);
      continue;
    }
    const hia_symbol *name = hiaF_symbol(w, a->a);
    if (!takes_names || strcmp(name->text, "axis") != 0)
      hiaF_name_error(
          w, HIA_E0210, a->start, a->end,
          "an argument with a name: only the 'axis' of a built-in, and the 'wrt' of 'grad', are "
          "written like this");
    walk(w, a->b, depth);
  }
}

static void walk_call(hia_name_walk *w, hia_ast_id id, uint32_t depth) {
  hia_program *p = w->p;
  const hia_ast call = *hiaF_node(p, id);
  if (hiaF_node(p, call.a)->kind == HIA_AST_GRAD) {
    hiaF_name_gradient(w, &call);
    walk_args(w, &call, false, depth);
    return;
  }
  hia_ast *callee = hiaF_node(p, call.a);
  const hia_symbol *e = hiaF_symbol(w, callee->a);
  callee->op = HIA_REF_NONE;
  bool takes_names = false, is_grad = false;
  if (e->var != HIA_NONE) {
    hia_diag *diag = hiaF_name_error(w, HIA_E0204, callee->start, callee->end,
                                     "'%s' is a variable and cannot be called", e->text);
    hiaF_note(p->diags, diag, hiaF_node(p, e->var)->start, "bound here");
  } else if (e->decl != HIA_NONE) {
    const hia_decl *d = hiaF_decl(p, e->decl);
    if (w->mode == HIA_WALK_CONST && d->kind == HIA_DECL_CON) {
      hiaF_name_error(w, HIA_E0318, callee->start, callee->end, "%s is a scalar, not made by '%s'",
                      hiaF_constant_text(w), e->text);
      return;
    }
    if (w->mode == HIA_WALK_CONST)
      hiaF_name_error(w, HIA_E0211, callee->start, callee->end,
                      "%s cannot call '%s': it is made of literals, %sconsts, operators, 'if' and "
                      "built-in functions of scalars",
                      hiaF_constant_text(w), e->text, w->is_param ? "" : "other ");
    else
      hiaF_name_callee_decl(w, &call, callee, e->decl);
  } else {
    unsigned op = hiaF_builtin(e->text, e->len);
    if (op == HIA_OP_LIMIT) {
      hiaF_unknown_name(w, callee, true);
    } else {
      hiaF_name_callee_builtin(w, &call, callee, op);
      const hia_tensor_builtin *b = hiaF_tensor_builtin(op);
      takes_names =
          op == HIA_BUILTIN_CONCAT || op == HIA_OP_MIN || op == HIA_OP_MAX || (b && b->takes_axis);
      is_grad = op == HIA_BUILTIN_GRAD || op == HIA_BUILTIN_VALUE_AND_GRAD;
    }
  }
  if (!is_grad) walk_args(w, &call, takes_names, depth); /* else reported: it has no value */
}

/* ---- expressions ---- */

static void walk_match(hia_name_walk *w, const hia_ast *n, uint32_t depth) {
  walk(w, n->a, depth);
  depth += hiaF_depth_of_match(w, n);
  for (uint32_t i = 0; i < n->c; i += 2) {
    uint32_t base = w->undo.len;
    hiaF_name_pattern(w, w->p->extra.data[n->b + i], base);
    walk(w, w->p->extra.data[n->b + i + 1], depth);
    hiaF_unbind_names(w, base);
  }
}

static void walk_loop(hia_name_walk *w, const hia_ast *n, uint32_t depth) {
  const hia_program *p = w->p;
  uint32_t base = w->undo.len;
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_ast *var = hiaF_node(p, p->extra.data[n->b + i]);
    walk_type(w, var->b, false);
    walk(w, hiaF_node(p, p->extra.data[n->b + i])->c, depth);
  }
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id var = p->extra.data[n->b + i];
    hiaF_bind_name(w, hiaF_node(p, var)->a, var, base);
  }
  walk(w, p->extra.data[n->a], depth + 1);
  walk(w, p->extra.data[n->a + 1], depth + 2);
  hiaF_unbind_names(w, base);
}

static void walk_block(hia_name_walk *w, const hia_ast *n, uint32_t depth) {
  uint32_t base = w->undo.len;
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_ast let = *hiaF_node(w->p, w->p->extra.data[n->b + i]);
    walk_type(w, let.b, false);
    walk(w, let.c, depth);
    hiaF_bind_binder(w, let.a, w->undo.len);
  }
  walk(w, n->a, depth);
  hiaF_unbind_names(w, base);
}

static void walk_comprehension(hia_name_walk *w, const hia_ast *n, uint32_t depth) {
  uint32_t base = w->undo.len;
  for (uint32_t i = 1; i < n->c; i++) walk(w, w->p->extra.data[n->b + i], depth);
  hiaF_bind_binder(w, w->p->extra.data[n->b], base);
  walk(w, n->a, depth + 2);
  hiaF_unbind_names(w, base);
}

static bool is_constant_kind(hia_walk_mode mode, hia_ast_kind kind) {
  switch (kind) {
  case HIA_AST_BLOCK:
  case HIA_AST_MATCH:
  case HIA_AST_LOOP:
  case HIA_AST_COMP:
  case HIA_AST_MATMUL:
  case HIA_AST_INDEX:
  case HIA_AST_SLICE: return false;
  case HIA_AST_ARRAY:
  case HIA_AST_TUPLE:
  case HIA_AST_FIELD: return mode == HIA_WALK_VALUE;
  default: return true;
  }
}

static void walk_list(hia_name_walk *w, const hia_ast *n, uint32_t first, uint32_t every,
                      uint32_t depth) {
  for (uint32_t i = first; i < n->c; i += every) walk(w, w->p->extra.data[n->b + i], depth);
}

static void walk(hia_name_walk *w, hia_ast_id id, uint32_t depth) {
  const hia_ast n = *hiaF_node(w->p, id);
  if (depth > HIA_MAX_REGIONS) {
    if (!w->too_deep)
      hiaF_name_error(w, HIA_E0006, n.start, n.end,
                      "nested too deeply: more than %u branches and loops", HIA_MAX_REGIONS);
    w->too_deep = true;
    return;
  }
  if ((w->mode == HIA_WALK_CONST || w->mode == HIA_WALK_VALUE) &&
      !is_constant_kind(w->mode, (hia_ast_kind)n.kind)) {
    bool is_no_scalar = n.kind == HIA_AST_TUPLE || n.kind == HIA_AST_ARRAY;
    if (is_no_scalar)
      hiaF_name_error(w, HIA_E0318, n.start, n.end, "%s is a scalar", hiaF_constant_text(w));
    else
      hiaF_name_error(w, HIA_E0211, n.start, n.end,
                      "%s is %s literals, %soperators, 'if' and built-in functions of scalars",
                      hiaF_constant_text(w),
                      w->mode == HIA_WALK_CONST ? "made of" : "a constant expression:",
                      w->mode != HIA_WALK_CONST ? ""
                      : w->is_param             ? "consts, "
                                                : "other consts, ");
    return;
  }
  switch ((hia_ast_kind)n.kind) {
  case HIA_AST_ERROR: w->failed = true; break;
  case HIA_AST_NAME: walk_name(w, id); break;
  case HIA_AST_TUPLE: walk_list(w, &n, 0, 1, depth); break;
  case HIA_AST_ARRAY:
    if (w->mode == HIA_WALK_VALUE) {
      hiaF_name_error(w, HIA_E0401, n.start, n.end, "expected a scalar, this is a list");
      return;
    }
    w->p->it.has_tensors = true;
    walk_list(w, &n, 0, 1, depth);
    break;
  case HIA_AST_COMP:
    w->p->it.has_tensors = true;
    walk_comprehension(w, &n, depth);
    break;
  case HIA_AST_IF:
    walk(w, n.a, depth);
    walk(w, n.b, depth + 1);
    walk(w, n.c, depth + 1);
    break;
  case HIA_AST_MATCH: walk_match(w, &n, depth); break;
  case HIA_AST_LOOP: walk_loop(w, &n, depth); break;
  case HIA_AST_BLOCK: walk_block(w, &n, depth); break;
  case HIA_AST_MATMUL: w->p->it.has_tensors = true; /* fall through */
  case HIA_AST_CHAIN:
  case HIA_AST_LOGIC:
    walk(w, n.a, depth);
    walk_list(w, &n, 2, 3, depth + (n.kind == HIA_AST_LOGIC));
    break;
  case HIA_AST_COMPARE:
    walk(w, n.a, depth);
    walk(w, n.b, depth);
    break;
  case HIA_AST_NOT:
  case HIA_AST_NEG:
  case HIA_AST_FIELD: walk(w, n.a, depth); break;
  case HIA_AST_CALL: walk_call(w, id, depth); break;
  case HIA_AST_CONVERT:
    if (n.c != 1)
      hiaF_name_error(w, HIA_E0203, n.start, n.end, "'%s' takes 1 argument, not %u",
                      hiaG_dtype_name((hia_dtype)n.op), n.c);
    for (uint32_t i = 0; i < n.c; i++) {
      const hia_ast *a = hiaF_node(w->p, w->p->extra.data[n.b + i]);
      if (a->kind == HIA_AST_NAMED)
        hiaF_name_error(w, HIA_E0210, a->start, a->end, "a conversion takes no named argument");
      else
        walk(w, w->p->extra.data[n.b + i], depth);
    }
    break;
  case HIA_AST_INDEX:
  case HIA_AST_SLICE:
    walk(w, n.a, depth);
    walk(w, n.b, depth);
    if (n.kind == HIA_AST_SLICE) walk(w, n.c, depth);
    break;
  default: break;
  }
}

/* ---- items ---- */

static void declare(hia_program *p, uint32_t id) {
  hia_decl *d = hiaF_decl(p, id);
  hia_symbol *e = &p->symbols.list.data[d->symbol];
  d->data = HIA_IT_ERROR;
  if (hiaF_is_wild_symbol(e)) return;     /* reported */
  if (d->gradient_of != HIA_NONE) return; /* programs cannot name it */
  if (d->kind == HIA_DECL_TYPE && e->type == HIA_NONE) d->data = hiaF_idata(&p->it, e->text, id);
  /* The type of a constructor stands before it. Constructors of a type with an error are not relied
   * on. */
  if (d->kind == HIA_DECL_CON) {
    const hia_decl *type = hiaF_decl(p, id - d->number - 1);
    d->data = type->data;
    d->broken |= type->broken;
  }
  uint32_t *slot = d->kind == HIA_DECL_TYPE ? &e->type : &e->decl;
  if (*slot == HIA_NONE) {
    *slot = id;
    return;
  }
  hia_diag *diag =
      hiaF_error(p->diags, HIA_E0202, d->pos, d->end, "'%s' is defined twice", e->text);
  hiaF_note(p->diags, diag, hiaF_decl(p, *slot)->pos, "first defined here");
  d->broken = true;
}

/* Walks over the initialiser of a param: a built-in of its own, or the value of all elements. */
static void walk_initialiser(hia_name_walk *w, hia_ast_id body) {
  const hia_ast call = *hiaF_node(w->p, body);
  hia_init init;
  uint32_t arity;
  const hia_symbol *e =
      call.kind == HIA_AST_CALL ? hiaF_symbol(w, hiaF_node(w->p, call.a)->a) : NULL;
  if (!e || e->decl != HIA_NONE || !hiaF_initialiser(e->text, &init, &arity)) {
    walk(w, body, 0);
    return;
  }
  hia_ast *callee = hiaF_node(w->p, call.a);
  callee->op = HIA_REF_BUILTIN;
  callee->b = HIA_BUILTIN_INIT;
  if (call.c != arity)
    hiaF_name_error(w, HIA_E0203, callee->start, call.end, "'%s' takes %u argument%s here, not %u",
                    e->text, arity, arity == 1 ? "" : "s", call.c);
  for (uint32_t i = 0; i < call.c; i++) {
    hia_ast_id arg = w->p->extra.data[call.b + i];
    const hia_ast *a = hiaF_node(w->p, arg);
    if (a->kind == HIA_AST_NAMED)
      hiaF_name_error(w, HIA_E0210, a->start, a->end, "'%s' takes no named argument", e->text);
    else
      walk(w, arg, 0);
  }
}

static void walk_item(hia_program *p, uint32_t id) {
  hia_decl *d = hiaF_decl(p, id);
  hia_name_walk w = {.p = p, .mode = HIA_WALK_FN, .decl = id};
  switch ((hia_decl_kind)d->kind) {
  case HIA_DECL_PARAM:
    w.mode = HIA_WALK_CONST;
    w.is_param = true;
    break;
  case HIA_DECL_CONST: w.mode = HIA_WALK_CONST; break;
  case HIA_DECL_EXTERN: w.is_extern = true; break;
  case HIA_DECL_CON: w.is_field = true; break;
  case HIA_DECL_TYPE:
  case HIA_DECL_FN: break;
  }
  if (d->broken) return;
  d->param_types = HIA_NEW_ARRAY(p->arena, hia_itype, d->n_params);
  for (uint32_t i = 0; i < d->n_params; i++) {
    hia_ast_id param = p->extra.data[d->params + i];
    const hia_ast *n = hiaF_node(p, param);
    hiaF_bind_name(&w, n->a, param, 0);
    if (n->b == HIA_NONE) d->generic = true;
  }
  for (uint32_t i = 0; i < d->n_params; i++)
    walk_type(&w, hiaF_node(p, p->extra.data[d->params + i])->b, d->kind != HIA_DECL_CON);
  for (uint32_t i = 0; i < d->n_params && d->kind != HIA_DECL_CON; i++)
    walk_array_sizes(&w, hiaF_node(p, p->extra.data[d->params + i])->b, false);
  walk_type(&w, d->type, false);
  if (d->body != HIA_NONE && d->kind == HIA_DECL_PARAM)
    walk_initialiser(&w, d->body);
  else if (d->body != HIA_NONE)
    walk(&w, d->body, 0);
  hiaF_unbind_names(&w, 0);
  d->broken = w.failed;
  for (uint32_t i = 0; i < d->n_params; i++) {
    hia_ast_id type = hiaF_node(p, p->extra.data[d->params + i])->b;
    d->param_types[i] = type == HIA_NONE ? (hia_itype)HIA_IT_UNKNOWN : hiaF_declared_type(p, type);
  }
  if (d->type != HIA_NONE) d->result = hiaF_declared_type(p, d->type);
}

static bool is_of_types(const hia_decl *d) {
  return d->kind == HIA_DECL_TYPE || d->kind == HIA_DECL_CON;
}

void hiaF_names(hia_program *p) {
  for (uint32_t i = 0; i < p->decls.len; i++) declare(p, i);
  /* Types and constructors come first: functions that use a broken one are not typed. */
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (is_of_types(hiaF_decl(p, i))) walk_item(p, i);
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (!is_of_types(hiaF_decl(p, i))) walk_item(p, i);
}

bool hiaF_names_value(hia_program *p, hia_ast_id expr) {
  hia_name_walk w = {.p = p, .mode = HIA_WALK_VALUE};
  walk(&w, expr, 0);
  return !w.failed;
}
