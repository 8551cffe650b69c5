/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Resolves names. One walk over all items binds variables, resolves names to variables,
 * declarations and built-ins, checks numbers of arguments, and reports parts of the language that
 * hiaton does not support yet. A declaration with an error is marked broken and is not typed, so
 * that one mistake does not become many. */
#include "frontend/syntax/ast.h"
#include "runtime/base/shape.h"

#include <stdlib.h>

typedef enum walk_mode {
  WALK_FN,
  WALK_CONST,
  WALK_VALUE,
  WALK_QUIET, /* inside a reported unsupported item: only unknown names are reported */
} walk_mode;

typedef struct bound {
  hia_symbol_id symbol;
  hia_ast_id var;
  uint32_t bound_at;
} bound;

typedef struct walker {
  hia_program *p;
  walk_mode mode;
  bool failed;
  bool too_deep;
  bool is_extern;      /* the signature of an extern function */
  bool is_field;       /* the fields of a constructor */
  bool is_param;       /* the sizes and the initialiser of a param; the mode is WALK_CONST */
  bool in_array;       /* a type within an array's */
  uint32_t decl;       /* the item */
  HIA_VEC(bound) undo; /* the former meanings of the bound symbols */
} walker;

static void walk(walker *w, hia_ast_id id, uint32_t depth);

static hia_symbol *symbol_of(walker *w, hia_symbol_id id) { return &w->p->symbols.list.data[id]; }

static hia_diag *fail(walker *w, enum hia_code code, uint32_t start, uint32_t end, const char *fmt,
                      ...) HIA_PRINTF(5, 6);
static hia_diag *fail(walker *w, enum hia_code code, uint32_t start, uint32_t end, const char *fmt,
                      ...) {
  w->failed = true;
  va_list args;
  va_start(args, fmt);
  hia_text text;
  hiaR_text_init(&text, w->p->arena);
  hiaR_text_vaddf(&text, fmt, args);
  va_end(args);
  return hiaF_error(w->p->diags, code, start, end, "%s", text.data);
}

/* What is being walked, in a mode of constant expressions. */
static const char *constant_text(const walker *w) {
  return w->mode == WALK_VALUE ? "a value" : w->is_param ? "an initialiser" : "a const";
}

static void unsupported(walker *w, enum hia_code code, const hia_ast *node, const char *what) {
  w->failed = true;
  if (w->mode == WALK_QUIET) return;
  hiaF_error(w->p->diags, code, node->pos, node->end, "%s not supported yet", what);
}

static void no_scalar_in_extern(walker *w, const hia_ast *type) {
  if (!w->is_extern) return;
  hia_diag *diag =
      fail(w, HIA_E0321, type->start, type->end, "an extern function has scalars and tuples only");
  hiaF_hint(w->p->diags, diag, "pass the numbers that are in it");
}

/* ---- scopes ---- */

static bool is_wild(const hia_symbol *e) { return e->len == 1 && e->text[0] == '_'; }

/* Binds a name. Its list (parameters, pattern, ...) begins at `base` of the undo stack: two equal
 * names in one list are an error. */
static void bind(walker *w, hia_symbol_id symbol, hia_ast_id var, uint32_t base) {
  if (symbol == HIA_NONE) return;
  hia_symbol *e = symbol_of(w, symbol);
  if (is_wild(e)) return;
  if (e->var != HIA_NONE && e->bound_at >= base) {
    const hia_ast *first = hiaF_node(w->p, e->var), *second = hiaF_node(w->p, var);
    hia_diag *diag = fail(w, HIA_E0206, second->start, second->start + e->len,
                          "'%s' stands twice in this list", e->text);
    hiaF_note(w->p->diags, diag, first->start, "first here");
  }
  bound saved = {symbol, e->var, e->bound_at};
  e->var = var;
  e->bound_at = w->undo.len;
  hiaR_push(w->p->arena, &w->undo, saved);
}

static void unbind(walker *w, uint32_t base) {
  while (w->undo.len > base) {
    bound saved = w->undo.data[--w->undo.len];
    hia_symbol *e = symbol_of(w, saved.symbol);
    e->var = saved.var;
    e->bound_at = saved.bound_at;
  }
}

static void bind_binder(walker *w, hia_ast_id id, uint32_t base) {
  const hia_ast *n = hiaF_node(w->p, id);
  if (n->kind == HIA_AST_BIND_NAME) bind(w, n->a, id, base);
  if (n->kind != HIA_AST_BIND_TUPLE) return;
  for (uint32_t i = 0; i < n->c; i++) bind_binder(w, w->p->extra.data[n->b + i], base);
}

/* ---- types ---- */

/* True if a size may be written so: of integers, consts and names. */
static bool is_size(const hia_program *p, hia_ast_id id) {
  const hia_ast *n = hiaF_node(p, id);
  if (n->kind == HIA_AST_INT || n->kind == HIA_AST_NAME) return true;
  if (n->kind == HIA_AST_NEG) return is_size(p, n->a);
  if (n->kind != HIA_AST_CHAIN) return false;
  bool is = is_size(p, n->a);
  for (uint32_t i = 2; i < n->c; i += 3) is &= is_size(p, p->extra.data[n->b + i]);
  return is;
}

/* A size that binds no name. */
static void walk_size(walker *w, hia_ast_id dim) {
  walk(w, dim, 0);
  const hia_ast *d = hiaF_node(w->p, dim);
  if (w->is_field && !w->failed && !hiaF_is_constant(w->p, dim))
    fail(w, HIA_E0201, d->start, d->end, "a size of a field is a constant or '?'");
  else if (!is_size(w->p, dim) && !hiaF_is_constant(w->p, dim))
    unsupported(w, HIA_E0903, d, "sizes other than of constants and names are");
}

/* The sizes of a tensor's type. A name within an array is bound elsewhere, perhaps further down: an
 * array may be empty. */
static void walk_sizes(walker *w, const hia_ast *n, bool signature) {
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id dim = w->p->extra.data[n->b + i];
    hia_ast *d = hiaF_node(w->p, dim);
    if (d->kind == HIA_AST_DIM_ANY || (w->in_array && signature)) continue;
    if (signature && d->kind == HIA_AST_NAME && symbol_of(w, d->a)->decl == HIA_NONE &&
        symbol_of(w, d->a)->var == HIA_NONE) {
      bind(w, d->a, dim, w->undo.len);
      d->op = HIA_REF_NONE; /* it binds */
    } else {
      walk_size(w, dim);
    }
  }
}

/* The sizes within arrays in the type of a parameter, when all names are bound. */
static void walk_array_sizes(walker *w, hia_ast_id type, bool in_array) {
  if (type == HIA_NONE) return;
  const hia_ast n = *hiaF_node(w->p, type);
  if (n.kind == HIA_AST_TYPE_ARRAY) walk_array_sizes(w, n.a, true);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TUPLE && i < n.c; i++)
    walk_array_sizes(w, w->p->extra.data[n.b + i], in_array);
  for (uint32_t i = 0; n.kind == HIA_AST_TYPE_TENSOR && in_array && i < n.c; i++)
    if (hiaF_node(w->p, w->p->extra.data[n.b + i])->kind != HIA_AST_DIM_ANY)
      walk_size(w, w->p->extra.data[n.b + i]);
}

/* `signature`: of a parameter, where a name that is no const declares a size variable. */
/* Hints at the tensor for the type of an array of scalars or tensors. */
static void hint_tensor(const walker *w, hia_diag *diag, const hia_ast *array) {
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

static void walk_type(walker *w, hia_ast_id id, bool signature) {
  if (id == HIA_NONE) return;
  const hia_ast n = *hiaF_node(w->p, id);
  switch ((hia_ast_kind)n.kind) {
  case HIA_AST_TYPE_TENSOR:
    w->p->it.has_tensors = true;
    no_scalar_in_extern(w, &n);
    if (n.c > HIA_MAX_RANK) {
      fail(w, HIA_E0316, n.start, n.end, "a tensor of more than %d axes", HIA_MAX_RANK);
      break;
    }
    walk_sizes(w, &n, signature);
    break;
  case HIA_AST_TYPE_NAME: {
    const hia_symbol *e = symbol_of(w, n.a);
    if (e->type != HIA_NONE) {
      no_scalar_in_extern(w, &n);
      break;
    }
    w->failed = true;
    if (w->p->names_unreliable) break;
    hia_diag *diag = fail(w, HIA_E0207, n.start, n.end, "unknown type '%s'", e->text);
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
      hia_diag *diag = fail(w, HIA_E0325, n.start, n.end,
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

static const char *decl_kind_text(const hia_decl *d) {
  switch ((hia_decl_kind)d->kind) {
  case HIA_DECL_CONST: return "const";
  case HIA_DECL_PARAM: return "param";
  case HIA_DECL_CON: return "constructor";
  default: return "function";
  }
}

static void unknown_name(walker *w, const hia_ast *n, bool called) {
  const hia_symbol *e = symbol_of(w, n->a);
  w->failed = true;
  if (w->p->names_unreliable) return;
  if (w->mode == WALK_VALUE && e->text[0] >= 'A' && e->text[0] <= 'Z') {
    unsupported(w, HIA_E0901, n, "data types are");
    return;
  }
  hia_diag *diag = fail(w, HIA_E0201, n->start, n->end,
                        called ? "unknown function '%s'" : "unknown name '%s'", e->text);
  if (diag == NULL) return;
  const char *habit = hiaF_habit(w->p, e->text, called ? HIA_HABIT_CALL : HIA_HABIT_VALUE);
  const char *similar =
      hiaF_similar_name(w->p, e->text, e->len, called ? HIA_LIKE_FN : HIA_LIKE_VALUE);
  if (habit != NULL)
    hiaF_hint(w->p->diags, diag, "%s", habit);
  else if (similar != NULL)
    hiaF_hint(w->p->diags, diag, "did you mean '%s'?", similar);
}

static void function_as_value(walker *w, const hia_ast *n, const char *text) {
  hia_diag *diag = fail(w, HIA_E0205, n->start, n->end,
                        "'%s' is a function: functions are called, never passed or stored", text);
  hiaF_hint(w->p->diags, diag, "write %s(...)", text);
}

static void walk_name(walker *w, hia_ast_id id) {
  hia_ast *n = hiaF_node(w->p, id);
  const hia_symbol *e = symbol_of(w, n->a);
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
      unknown_name(w, n, false);
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
    } else if (w->mode == WALK_CONST) {
      fail(w, HIA_E0318, n->start, n->end, "%s is a scalar, not a %s", constant_text(w),
           hiaF_itype_text(&w->p->it, d->data));
    } else if (d->n_params > 0) {
      hia_diag *diag = fail(w, HIA_E0203, n->start, n->end,
                            "the constructor '%s' is called with all its fields", e->text);
      hiaF_note(w->p->diags, diag, d->pos, "defined here");
    } else {
      n->op = HIA_REF_CON;
      n->b = e->decl;
    }
    break;
  case HIA_DECL_PARAM:
    if (w->mode == WALK_CONST || w->mode == WALK_VALUE) {
      fail(w, HIA_E0211, n->start, n->end, "%s cannot use the param '%s', which training changes",
           constant_text(w), e->text);
    } else {
      n->op = HIA_REF_PARAM;
      n->b = e->decl;
    }
    break;
  default: break;
  }
}

/* ---- calls ---- */

static void gradient_in_constant(walker *w, const hia_ast *at, const char *name) {
  fail(w, HIA_E0211, at->start, at->end, "'%s' works on functions, and %s is a scalar", name,
       constant_text(w));
}

static void wrong_arity(walker *w, const hia_ast *call, const hia_ast *callee, const hia_decl *d) {
  hia_program *p = w->p;
  hia_text names;
  hiaR_text_init(&names, p->arena);
  for (uint32_t i = 0; i < d->n_params; i++) {
    hia_symbol_id symbol = hiaF_node(p, p->extra.data[d->params + i])->a;
    hiaR_text_addf(&names, "%s%s", i == 0 ? " (" : ", ",
                   symbol == HIA_NONE ? "?" : hiaF_symbol_text(p, symbol));
  }
  if (d->n_params > 0) hiaR_text_addf(&names, ")");
  hia_diag *diag =
      fail(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s%s, not %u",
           hiaF_symbol_text(p, d->symbol), d->n_params, d->n_params == 1 ? "" : "s",
           d->n_params > 0 ? names.data : "", call->c);
  hiaF_note(p->diags, diag, d->pos, "defined here");
}

static void walk_callee_decl(walker *w, const hia_ast *call, hia_ast *callee, uint32_t decl) {
  hia_program *p = w->p;
  const hia_decl *d = hiaF_decl(p, decl);
  const char *text = hiaF_symbol_text(p, d->symbol);
  switch ((hia_decl_kind)d->kind) {
  case HIA_DECL_CON:
    if (d->broken) {
      w->failed = true;
    } else if (d->n_params == 0) {
      hia_diag *diag =
          fail(w, HIA_E0209, callee->start, call->end,
               "the constructor '%s' has no fields: it is a value and is not called", text);
      hiaF_hint(p->diags, diag, "write %s", text);
    } else if (d->n_params != call->c) {
      wrong_arity(w, call, callee, d);
    } else {
      callee->op = HIA_REF_CON;
      callee->b = decl;
    }
    break;
  case HIA_DECL_EXTERN:
  case HIA_DECL_FN:
    if (d->n_params != call->c && !d->broken) {
      wrong_arity(w, call, callee, d);
    } else if (d->n_params != call->c) {
      w->failed = true;
    } else {
      callee->op = d->kind == HIA_DECL_FN ? HIA_REF_FN : HIA_REF_EXTERN;
      callee->b = decl;
    }
    break;
  default: {
    hia_diag *diag = fail(w, HIA_E0204, callee->start, callee->end,
                          "'%s' is a %s and cannot be called", text, decl_kind_text(d));
    hiaF_note(p->diags, diag, d->pos, "defined here");
  }
  }
}

static void walk_callee_of_arrays(walker *w, const hia_ast *call, hia_ast *callee, unsigned op) {
  const char *name = symbol_of(w, callee->a)->text;
  uint32_t want = op == HIA_BUILTIN_LEN ? 1 : op == HIA_BUILTIN_SET ? 3 : 2;
  bool has_names = false;
  for (uint32_t i = 0; i < call->c; i++)
    has_names |= hiaF_node(w->p, w->p->extra.data[call->b + i])->kind == HIA_AST_NAMED;
  if (w->mode == WALK_CONST || w->mode == WALK_VALUE) {
    fail(w, HIA_E0211, callee->start, callee->end, "'%s' works on arrays, and %s is a scalar", name,
         constant_text(w));
  } else if (op == HIA_BUILTIN_CONCAT ? call->c - has_names < want : call->c != want) {
    fail(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s%s, not %u", name, want,
         want == 1 ? "" : "s", op == HIA_BUILTIN_CONCAT ? " or more" : "", call->c);
  } else {
    callee->op = HIA_REF_BUILTIN;
    callee->b = op;
  }
}

static void walk_callee_of_tensors(walker *w, const hia_ast *call, hia_ast *callee, unsigned op) {
  const hia_tensor_builtin *b = hiaF_tensor_builtin(op);
  const char *name = symbol_of(w, callee->a)->text;
  hia_ast_id axis;
  uint32_t n = hiaF_positional(w->p, call, &axis);
  bool fits = n >= b->least && n <= b->most;
  if (op == HIA_BUILTIN_SHAPE && (axis != HIA_NONE) == (n == 2)) fits = false;
  if (w->mode == WALK_CONST || w->mode == WALK_VALUE) {
    fail(w, HIA_E0211, callee->start, callee->end, "'%s' works on tensors, and %s is a scalar",
         name, constant_text(w));
  } else if (!fits) {
    bool is_some = b->most > b->least && op != HIA_BUILTIN_SHAPE, is_many = n > b->most;
    uint32_t want = op == HIA_BUILTIN_SHAPE ? 2 : is_some && is_many ? b->most : b->least;
    fail(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s%s, not %u", name, want,
         want == 1 ? "" : "s",
         !is_some  ? ""
         : is_many ? " or fewer"
                   : " or more",
         n);
  } else if (call->c - n > 1) {
    fail(w, HIA_E0203, callee->start, call->end, "'%s' takes one axis", name);
  } else {
    callee->op = HIA_REF_BUILTIN;
    callee->b = op;
    w->p->it.has_tensors = true;
  }
}

/* `grad(f)` without a second pair of brackets. */
static void uncalled_gradient(walker *w, const hia_ast *call, const char *name) {
  if (w->mode == WALK_CONST || w->mode == WALK_VALUE) {
    gradient_in_constant(w, call, name);
    return;
  }
  const char *text = hiaF_quote_bytes(w->p, call->start, call->end);
  hia_diag *diag =
      fail(w, HIA_E0205, call->start, call->end,
           "'%s(...)' is a function: functions are called, never passed or stored", name);
  if (text != NULL && call->c > 0)
    hiaF_hint(w->p->diags, diag, "write %s(...)", text);
  else
    hiaF_hint(w->p->diags, diag, "write %s(f)(...)", name);
}

static void walk_callee_builtin(walker *w, const hia_ast *call, hia_ast *callee, unsigned op) {
  const char *name = symbol_of(w, callee->a)->text;
  if (op == HIA_OP_MIN || op == HIA_OP_MAX) {
    hia_ast_id axis;
    if (hiaF_positional(w->p, call, &axis) == 1)
      op = op == HIA_OP_MIN ? HIA_BUILTIN_MIN : HIA_BUILTIN_MAX;
    else if (axis != HIA_NONE)
      fail(w, HIA_E0203, callee->start, call->end, "'%s' of two takes no axis", name);
  }
  if (hiaF_tensor_builtin(op)) {
    walk_callee_of_tensors(w, call, callee, op);
    return;
  }
  if (op == HIA_BUILTIN_GRAD || op == HIA_BUILTIN_VALUE_AND_GRAD) {
    uncalled_gradient(w, call, name);
    return;
  }
  if (op == HIA_BUILTIN_INIT) {
    fail(w, HIA_E0329, callee->start, callee->end,
         "'%s' is an initialiser: it stands in the definition of a param", name);
    return;
  }
  if (op >= HIA_OP_LIMIT) {
    walk_callee_of_arrays(w, call, callee, op);
    return;
  }
  uint32_t want = (uint32_t)hiaR_ops[op].n_ins;
  if (want != call->c) {
    fail(w, HIA_E0203, callee->start, call->end, "'%s' takes %u argument%s, not %u", name, want,
         want == 1 ? "" : "s", call->c);
  } else {
    callee->op = HIA_REF_BUILTIN;
    callee->b = op;
  }
}

/* `takes_names`: the callee may have an argument named `axis`. */
static void walk_args(walker *w, const hia_ast *call, bool takes_names, uint32_t depth) {
  for (uint32_t i = 0; i < call->c; i++) {
    hia_ast_id arg = w->p->extra.data[call->b + i];
    const hia_ast *a = hiaF_node(w->p, arg);
    if (a->kind != HIA_AST_NAMED) {
      walk(w, arg, depth);
      continue;
    }
    const hia_symbol *name = symbol_of(w, a->a);
    if (!takes_names || strcmp(name->text, "axis") != 0)
      fail(w, HIA_E0210, a->start, a->end,
           "an argument with a name: only the 'axis' of a built-in, and the 'wrt' of 'grad', are "
           "written like this");
    walk(w, a->b, depth);
  }
}

/* ---- gradients ---- */

/* What is differentiated is no function of the program. */
static void no_function(walker *w, const hia_ast *at, const char *name) {
  hia_program *p = w->p;
  const char *text = at->kind == HIA_AST_NAME ? hiaF_symbol_text(p, at->a) : NULL;
  const hia_symbol *e = text != NULL ? symbol_of(w, at->a) : NULL;
  hia_diag *diag;
  if (e != NULL && e->var != HIA_NONE) {
    diag = fail(w, HIA_E0350, at->start, at->end, "'%s' is a variable, not a function", text);
    hiaF_note(p->diags, diag, hiaF_node(p, e->var)->start, "bound here");
  } else if (e != NULL && e->decl != HIA_NONE) {
    const hia_decl *d = hiaF_decl(p, e->decl);
    bool is_extern = d->kind == HIA_DECL_EXTERN;
    diag =
        fail(w, HIA_E0350, at->start, at->end,
             !is_extern                ? "'%s' is a %s, not a function"
             : d->gradient == HIA_NONE ? "'%s' is a function of the host, which has no gradient"
                                       : "'%s' is a function of the host: differentiate one that "
                                         "calls it",
             text, decl_kind_text(d));
    hiaF_note(p->diags, diag, d->pos, "defined here");
  } else if (e != NULL && hiaF_builtin(e->text, e->len) != HIA_OP_LIMIT) {
    diag = fail(w, HIA_E0350, at->start, at->end,
                "'%s' is a built-in function: '%s' takes functions of the program", text, name);
    hiaF_hint(p->diags, diag, "write a function that calls it, fn f(x: f64) = %s(x)", text);
  } else if (e != NULL) {
    unknown_name(w, at, true);
  } else {
    diag = fail(w, HIA_E0350, at->start, at->end, "'%s' takes the name of a function", name);
    const hia_ast *callee = at->kind == HIA_AST_CALL ? hiaF_node(p, at->a) : NULL;
    if (callee != NULL && callee->kind == HIA_AST_NAME && symbol_of(w, callee->a)->decl != HIA_NONE)
      hiaF_hint(p->diags, diag, "write %s(%s)(...): the arguments come in brackets of their own",
                name, hiaF_symbol_text(p, callee->a));
    else
      hiaF_hint(p->diags, diag, "write a function that computes it, and give its name");
  }
}

/* A name behind `wrt =`, of a parameter of the function or, where none has it, of a param. False:
 * reported. */
static bool find_wrt(walker *w, const hia_ast *n, const hia_decl *d, hia_wrt *wrt) {
  hia_program *p = w->p;
  w->failed |= n->kind == HIA_AST_ERROR;
  if (n->kind == HIA_AST_ERROR) return false;
  if (n->kind != HIA_AST_NAME) {
    fail(w, HIA_E0351, n->start, n->end, "'wrt' takes names of parameters and params, (a, b)");
    return false;
  }
  for (uint32_t i = 0; i < d->n_params; i++) {
    if (hiaF_node(p, p->extra.data[d->params + i])->a != n->a) continue;
    *wrt = (hia_wrt){.i = i};
    return true;
  }
  const hia_symbol *e = symbol_of(w, n->a);
  if (e->decl != HIA_NONE && hiaF_decl(p, e->decl)->kind == HIA_DECL_PARAM) {
    *wrt = (hia_wrt){.is_param = true, .i = e->decl};
    return true;
  }
  w->failed = true;
  if (p->names_unreliable) return false;
  hia_diag *diag =
      fail(w, HIA_E0351, n->start, n->end, "'%s' is no parameter of '%s', and no param", e->text,
           hiaF_symbol_text(p, d->symbol));
  hia_text names;
  hiaR_text_init(&names, p->arena);
  for (uint32_t i = 0; i < d->n_params && i < 8; i++) {
    hia_symbol_id symbol = hiaF_node(p, p->extra.data[d->params + i])->a;
    if (symbol == HIA_NONE) continue;
    hiaR_text_addf(&names, "%s%s", names.len ? ", " : "", hiaF_symbol_text(p, symbol));
  }
  if (names.len)
    hiaF_hint(p->diags, diag, "%s %s%s",
              d->n_params == 1 ? "its parameter is" : "its parameters are", names.data,
              d->n_params > 8 ? ", ..." : "");
  return false;
}

/* All names behind `wrt =`. False: reported. */
static bool find_wrts(walker *w, hia_ast_grad *grad, const hia_decl *d) {
  hia_program *p = w->p;
  const hia_ast *given = hiaF_node(p, grad->given);
  bool is_list = given->kind == HIA_AST_TUPLE;
  uint32_t n = is_list ? given->c : 1;
  if (n > HIA_MAX_TYPE_PARTS) {
    fail(w, HIA_E0316, given->start, given->end, "the gradient has more than %u parts",
         HIA_MAX_TYPE_PARTS);
    return false;
  }
  bool is_sound = true;
  for (uint32_t i = 0; i < n; i++) {
    const hia_ast *name = is_list ? hiaF_node(p, p->extra.data[given->b + i]) : given;
    hia_wrt wrt;
    if (!find_wrt(w, name, d, &wrt)) {
      is_sound = false;
      continue;
    }
    for (uint32_t k = 0; k < grad->wrt.len; k++) {
      if (grad->wrt.data[k].is_param != wrt.is_param || grad->wrt.data[k].i != wrt.i) continue;
      fail(w, HIA_E0351, name->start, name->end, "'%s' stands twice in this list",
           hiaF_symbol_text(p, name->a));
      is_sound = false;
      break;
    }
    hiaR_push(p->arena, &grad->wrt, wrt);
  }
  return is_sound;
}

/* The arguments of `grad` itself. False: reported. */
static bool read_gradient(walker *w, const hia_ast *g, const char *name, hia_ast_grad *grad) {
  hia_program *p = w->p;
  uint32_t n_functions = 0, n_wrt = 0;
  for (uint32_t i = 0; i < g->c; i++) {
    hia_ast_id arg = p->extra.data[g->b + i];
    const hia_ast *a = hiaF_node(p, arg);
    if (a->kind != HIA_AST_NAMED) {
      if (n_functions++ == 0) grad->fn = arg;
      continue;
    }
    if (strcmp(symbol_of(w, a->a)->text, "wrt") != 0 || n_wrt++ > 0) {
      hia_diag *diag =
          fail(w, HIA_E0210, a->start, a->end, "'%s' has one argument with a name, 'wrt'", name);
      hiaF_hint(p->diags, diag, "write %s(f, wrt = (a, b))", name);
      return false;
    }
    grad->given = a->b;
  }
  if (n_functions == 1) return true;
  hia_diag *diag =
      fail(w, HIA_E0203, g->start, g->end, "'%s' takes 1 function, not %u", name, n_functions);
  if (n_functions > 1)
    hiaF_hint(p->diags, diag, "parameters are written %s(f, wrt = (a, b))", name);
  return false;
}

/* The callee of `grad(f, wrt = x)(...)`. Neither f nor x is a value. */
static void walk_gradient(walker *w, const hia_ast *call) {
  hia_program *p = w->p;
  const hia_ast g = *hiaF_node(p, call->a);
  const hia_symbol *e = symbol_of(w, hiaF_node(p, g.a)->a);
  const char *name = e->text;
  if (e->var != HIA_NONE || e->decl != HIA_NONE) {
    hia_diag *diag =
        fail(w, HIA_E0104, g.start, g.end,
             "'%s' is not the built-in function here, and its value cannot be called", name);
    hiaF_note(p->diags, diag,
              e->var != HIA_NONE ? hiaF_node(p, e->var)->start : hiaF_decl(p, e->decl)->pos,
              "defined here");
    return;
  }
  if (w->mode == WALK_CONST || w->mode == WALK_VALUE) {
    gradient_in_constant(w, &g, name);
    return;
  }
  hia_ast_grad grad = {.node = call->a,
                       .fn = HIA_NONE,
                       .given = HIA_NONE,
                       .in = w->decl,
                       .has_value = strcmp(name, "grad") != 0};
  if (!read_gradient(w, &g, name, &grad)) return;
  const hia_ast *fn = hiaF_node(p, grad.fn);
  uint32_t decl = fn->kind == HIA_AST_NAME ? symbol_of(w, fn->a)->decl : HIA_NONE;
  bool is_fn = decl != HIA_NONE && symbol_of(w, fn->a)->var == HIA_NONE &&
               hiaF_decl(p, decl)->kind == HIA_DECL_FN;
  if (!is_fn) {
    if (fn->kind == HIA_AST_ERROR)
      w->failed = true;
    else
      no_function(w, fn, name);
    return;
  }
  const hia_decl *d = hiaF_decl(p, decl);
  if (d->n_params != call->c) {
    if (d->broken)
      w->failed = true;
    else
      wrong_arity(w, call, &g, d);
    return;
  }
  if (grad.given != HIA_NONE && !find_wrts(w, &grad, d)) return;
  hia_ast *node = hiaF_node(p, call->a);
  node->op = HIA_REF_GRAD;
  node->b = decl;
  node->c = p->grads.len;
  hiaR_push(p->arena, &p->grads, grad);
}

static void walk_call(walker *w, hia_ast_id id, uint32_t depth) {
  hia_program *p = w->p;
  const hia_ast call = *hiaF_node(p, id);
  if (hiaF_node(p, call.a)->kind == HIA_AST_GRAD) {
    walk_gradient(w, &call);
    walk_args(w, &call, false, depth);
    return;
  }
  hia_ast *callee = hiaF_node(p, call.a);
  const hia_symbol *e = symbol_of(w, callee->a);
  callee->op = HIA_REF_NONE;
  bool takes_names = false, is_grad = false;
  if (e->var != HIA_NONE) {
    hia_diag *diag = fail(w, HIA_E0204, callee->start, callee->end,
                          "'%s' is a variable and cannot be called", e->text);
    hiaF_note(p->diags, diag, hiaF_node(p, e->var)->start, "bound here");
  } else if (e->decl != HIA_NONE) {
    const hia_decl *d = hiaF_decl(p, e->decl);
    if (w->mode == WALK_CONST && d->kind == HIA_DECL_CON) {
      fail(w, HIA_E0318, callee->start, callee->end, "%s is a scalar, not made by '%s'",
           constant_text(w), e->text);
      return;
    }
    if (w->mode == WALK_CONST)
      fail(w, HIA_E0211, callee->start, callee->end,
           "%s cannot call '%s': it is made of literals, %sconsts, operators, 'if' and "
           "built-in functions of scalars",
           constant_text(w), e->text, w->is_param ? "" : "other ");
    else
      walk_callee_decl(w, &call, callee, e->decl);
  } else {
    unsigned op = hiaF_builtin(e->text, e->len);
    if (op == HIA_OP_LIMIT) {
      unknown_name(w, callee, true);
    } else {
      walk_callee_builtin(w, &call, callee, op);
      const hia_tensor_builtin *b = hiaF_tensor_builtin(op);
      takes_names =
          op == HIA_BUILTIN_CONCAT || op == HIA_OP_MIN || op == HIA_OP_MAX || (b && b->takes_axis);
      is_grad = op == HIA_BUILTIN_GRAD || op == HIA_BUILTIN_VALUE_AND_GRAD;
    }
  }
  if (!is_grad) walk_args(w, &call, takes_names, depth); /* else reported: it has no value */
}

/* ---- patterns and binders ---- */

static void walk_pattern(walker *w, hia_ast_id id, uint32_t base) {
  const hia_ast n = *hiaF_node(w->p, id);
  if (n.kind == HIA_AST_PAT_NAME) bind(w, n.a, id, base);
  if (n.kind != HIA_AST_PAT_CON) return;
  const hia_symbol *e = symbol_of(w, n.a);
  const hia_decl *d = hiaF_pattern_con(w->p, &n);
  if (d == NULL) {
    w->failed = true;
    if (!w->p->names_unreliable) {
      hia_diag *diag =
          fail(w, HIA_E0208, n.start, n.start + e->len, "unknown constructor '%s'", e->text);
      const char *similar =
          diag == NULL ? NULL : hiaF_similar_name(w->p, e->text, e->len, HIA_LIKE_CON);
      if (similar != NULL)
        hiaF_hint(w->p->diags, diag, "did you mean '%s'?", similar);
      else
        hiaF_hint(
            w->p->diags, diag,
            "a capital letter starts a constructor; a name that binds starts with a small one");
    }
  } else if (d->broken) {
    w->failed = true;
  } else if (d->n_params != n.c) {
    hia_diag *diag = fail(w, HIA_E0203, n.start, n.end, "'%s' has %u field%s, not %u", e->text,
                          d->n_params, d->n_params == 1 ? "" : "s", n.c);
    hiaF_note(w->p->diags, diag, d->pos, "defined here");
  }
  for (uint32_t i = 0; i < n.c; i++) walk_pattern(w, w->p->extra.data[n.b + i], base);
}

/* ---- expressions ---- */

static uint32_t log2_ceil(uint32_t n) {
  uint32_t k = 0;
  while (k < 31 && (1u << k) < n) k++;
  return k;
}

/* The depth of a chain of tests, or of a tree. */
static uint32_t tests_of(uint32_t n) { return n <= HIA_MATCH_CHAIN ? n : 1 + log2_ceil(n); }

static int by_symbol(const void *a, const void *b) {
  const hia_ast *const *x = a, *const *y = b;
  return (*x)->a<(*y)->a ? -1 : (*x)->a>(*y)->a;
}

/* Tests on the longest way through patterns of one place (elab/data.c): those of the place, and of
 * the fields of one constructor, each at most once. Sets *is_nested if fields are tested. Equal
 * integers count as different ones. */
static uint32_t tests_of_patterns(walker *w, const hia_ast **list, uint32_t n, bool *is_nested) {
  hia_arena *scratch = &w->p->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  /* Few are the usual: at the end of a chunk each allocation takes a new one, and gives it back. */
  const hia_ast *few[8], **parts = few;
  if (n > HIA_LEN(few)) parts = HIA_NEW_ARRAY(scratch, const hia_ast *, n);
  uint32_t n_keys = 0, most = 0;
  qsort(list, n, sizeof *list, by_symbol);
  for (uint32_t from = 0, to; from < n; from = to, n_keys++) {
    to = from + 1;
    if (list[from]->kind == HIA_AST_PAT_INT) continue;
    while (to < n && list[to]->a == list[from]->a) to++;
    if (list[from]->kind == HIA_AST_PAT_BOOL) continue;
    uint32_t sum = 0;
    for (uint32_t k = 0; k < list[from]->c; k++) {
      uint32_t n_parts = 0;
      for (uint32_t i = from; i < to; i++) {
        if (k >= list[i]->c) continue; /* wrong, and reported */
        const hia_ast *part = hiaF_node(w->p, w->p->extra.data[list[i]->b + k]);
        if (part->kind != HIA_AST_PAT_NAME && part->kind != HIA_AST_PAT_WILD)
          parts[n_parts++] = part;
      }
      *is_nested |= n_parts > 0;
      if (n_parts > 0) sum += tests_of_patterns(w, parts, n_parts, is_nested);
    }
    if (sum > most) most = sum;
  }
  hiaR_arena_release(scratch, mark);
  return tests_of(n_keys) + most;
}

/* The depth of branches around the arms. */
static uint32_t depth_of_match(walker *w, const hia_ast *n) {
  hia_arena *scratch = &w->p->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t n_arms = n->c / 2, n_patterns = 0;
  const hia_ast **patterns = HIA_NEW_ARRAY(scratch, const hia_ast *, n_arms);
  for (uint32_t i = 0; i < n->c; i += 2) {
    const hia_ast *pattern = hiaF_node(w->p, w->p->extra.data[n->b + i]);
    if (pattern->kind == HIA_AST_PAT_CON) patterns[n_patterns++] = pattern;
  }
  uint32_t depth = tests_of(n_arms);
  bool is_nested = false;
  if (n_patterns > 0) depth = tests_of_patterns(w, patterns, n_patterns, &is_nested);
  if (n_patterns > HIA_MATCH_CHAIN) depth += 1 + log2_ceil(n_arms); /* a search for cuts */
  if (is_nested) depth += 32;                                       /* there may be any number */
  hiaR_arena_release(scratch, mark);
  return depth;
}

static void walk_match(walker *w, const hia_ast *n, uint32_t depth) {
  walk(w, n->a, depth);
  depth += depth_of_match(w, n);
  for (uint32_t i = 0; i < n->c; i += 2) {
    uint32_t base = w->undo.len;
    walk_pattern(w, w->p->extra.data[n->b + i], base);
    walk(w, w->p->extra.data[n->b + i + 1], depth);
    unbind(w, base);
  }
}

static void walk_loop(walker *w, const hia_ast *n, uint32_t depth) {
  const hia_program *p = w->p;
  uint32_t base = w->undo.len;
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_ast *var = hiaF_node(p, p->extra.data[n->b + i]);
    walk_type(w, var->b, false);
    walk(w, hiaF_node(p, p->extra.data[n->b + i])->c, depth);
  }
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id var = p->extra.data[n->b + i];
    bind(w, hiaF_node(p, var)->a, var, base);
  }
  walk(w, p->extra.data[n->a], depth + 1);
  walk(w, p->extra.data[n->a + 1], depth + 2);
  unbind(w, base);
}

static void walk_block(walker *w, const hia_ast *n, uint32_t depth) {
  uint32_t base = w->undo.len;
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_ast let = *hiaF_node(w->p, w->p->extra.data[n->b + i]);
    walk_type(w, let.b, false);
    walk(w, let.c, depth);
    bind_binder(w, let.a, w->undo.len);
  }
  walk(w, n->a, depth);
  unbind(w, base);
}

static void walk_comprehension(walker *w, const hia_ast *n, uint32_t depth) {
  uint32_t base = w->undo.len;
  for (uint32_t i = 1; i < n->c; i++) walk(w, w->p->extra.data[n->b + i], depth);
  bind_binder(w, w->p->extra.data[n->b], base);
  walk(w, n->a, depth + 2);
  unbind(w, base);
}

static bool is_constant_kind(walk_mode mode, hia_ast_kind kind) {
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
  case HIA_AST_FIELD: return mode == WALK_VALUE;
  default: return true;
  }
}

static void walk_list(walker *w, const hia_ast *n, uint32_t first, uint32_t step, uint32_t depth) {
  for (uint32_t i = first; i < n->c; i += step) walk(w, w->p->extra.data[n->b + i], depth);
}

static void walk(walker *w, hia_ast_id id, uint32_t depth) {
  const hia_ast n = *hiaF_node(w->p, id);
  if (depth > HIA_MAX_REGIONS) {
    if (!w->too_deep)
      fail(w, HIA_E0006, n.start, n.end, "nested too deeply: more than %u branches and loops",
           HIA_MAX_REGIONS);
    w->too_deep = true;
    return;
  }
  if ((w->mode == WALK_CONST || w->mode == WALK_VALUE) &&
      !is_constant_kind(w->mode, (hia_ast_kind)n.kind)) {
    bool is_no_scalar = n.kind == HIA_AST_TUPLE || n.kind == HIA_AST_ARRAY;
    if (is_no_scalar)
      fail(w, HIA_E0318, n.start, n.end, "%s is a scalar", constant_text(w));
    else
      fail(w, HIA_E0211, n.start, n.end,
           "%s is %s literals, %soperators, 'if' and built-in functions of scalars",
           constant_text(w), w->mode == WALK_CONST ? "made of" : "a constant expression:",
           w->mode != WALK_CONST ? ""
           : w->is_param         ? "consts, "
                                 : "other consts, ");
    return;
  }
  switch ((hia_ast_kind)n.kind) {
  case HIA_AST_ERROR: w->failed = true; break;
  case HIA_AST_NAME: walk_name(w, id); break;
  case HIA_AST_TUPLE: walk_list(w, &n, 0, 1, depth); break;
  case HIA_AST_ARRAY:
    if (w->mode == WALK_VALUE) {
      fail(w, HIA_E0401, n.start, n.end, "expected a scalar, this is a list");
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
      fail(w, HIA_E0203, n.start, n.end, "'%s' takes 1 argument, not %u",
           hiaG_dtype_name((hia_dtype)n.op), n.c);
    for (uint32_t i = 0; i < n.c; i++) {
      const hia_ast *a = hiaF_node(w->p, w->p->extra.data[n.b + i]);
      if (a->kind == HIA_AST_NAMED)
        fail(w, HIA_E0210, a->start, a->end, "a conversion takes no named argument");
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
  if (is_wild(e)) return;                 /* reported */
  if (d->gradient_of != HIA_NONE) return; /* programs cannot name it */
  if (d->kind == HIA_DECL_TYPE && e->type == HIA_NONE) d->data = hiaF_idata(&p->it, e->text, id);
  /* Its type stands before it. Constructors of a type with an error are not relied on. */
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

/* The initialiser of a param: a built-in of its own, or the value of all elements. */
static void walk_initialiser(walker *w, hia_ast_id body) {
  const hia_ast call = *hiaF_node(w->p, body);
  hia_init init;
  uint32_t arity;
  const hia_symbol *e = call.kind == HIA_AST_CALL ? symbol_of(w, hiaF_node(w->p, call.a)->a) : NULL;
  if (!e || e->decl != HIA_NONE || !hiaF_initialiser(e->text, &init, &arity)) {
    walk(w, body, 0);
    return;
  }
  hia_ast *callee = hiaF_node(w->p, call.a);
  callee->op = HIA_REF_BUILTIN;
  callee->b = HIA_BUILTIN_INIT;
  if (call.c != arity)
    fail(w, HIA_E0203, callee->start, call.end, "'%s' takes %u argument%s here, not %u", e->text,
         arity, arity == 1 ? "" : "s", call.c);
  for (uint32_t i = 0; i < call.c; i++) {
    hia_ast_id arg = w->p->extra.data[call.b + i];
    const hia_ast *a = hiaF_node(w->p, arg);
    if (a->kind == HIA_AST_NAMED)
      fail(w, HIA_E0210, a->start, a->end, "'%s' takes no named argument", e->text);
    else
      walk(w, arg, 0);
  }
}

static void walk_item(hia_program *p, uint32_t id) {
  hia_decl *d = hiaF_decl(p, id);
  walker w = {.p = p, .mode = WALK_FN, .decl = id};
  switch ((hia_decl_kind)d->kind) {
  case HIA_DECL_PARAM:
    w.mode = WALK_CONST;
    w.is_param = true;
    break;
  case HIA_DECL_CONST: w.mode = WALK_CONST; break;
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
    bind(&w, n->a, param, 0);
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
  unbind(&w, 0);
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
  /* Whether a constructor is broken matters to the functions that use it. */
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (is_of_types(hiaF_decl(p, i))) walk_item(p, i);
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (!is_of_types(hiaF_decl(p, i))) walk_item(p, i);
}

bool hiaF_names_value(hia_program *p, hia_ast_id expr) {
  walker w = {.p = p, .mode = WALK_VALUE};
  walk(&w, expr, 0);
  return !w.failed;
}
