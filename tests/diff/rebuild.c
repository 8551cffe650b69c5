/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Hand-written programs, made again with the builder: the checked syntax tree of a program becomes
 * calls of the builder, and the outcomes of the built program must be those that the file states.
 *
 * Each instance of a generic function becomes a function; `and` and `or` become `if`s, consts their
 * values, patterns one of the three forms that an arm can begin with, sizes of a `let` what the
 * builder expects. None of that moves a call into or out of a tail position, so the functions in
 * the chain of a failure are the same. Only positions differ.
 *
 * Left out are programs whose signatures compute sizes, `f32[2 * n]`, or name that of a variable:
 * the builder's have numbers and names that they bind. And those with functions that say more of
 * their gradients than the builder can: a clause `gradient`, or `recompute`. */
#define hia_error hia_error_number /* the tag of an enum in ast.h, and of a public structure */
#include "frontend/check/constant.h"
#include "frontend/kit/instance.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"
#undef hia_error
#include "tests/diff/run.h"

#include <stdio.h>
#include <stdlib.h>

typedef hia_build_value value;

typedef struct maker {
  hia_program *p;
  hia_builder *b;
  value *vars;       /* by binder */
  hia_build_fn *fns; /* by instance; id 0: not declared yet */
  hia_build_fn *externs;
  value *weights;   /* by param */
  hia_u32vec queue; /* instances without a body yet */
  uint32_t n_arms;  /* so far: arms begin in three ways in turn */
  bool is_beyond;   /* the builder lacks something of the program */
  const hia_decl *in;
  const hia_itype *types; /* of the function: by node, from in->first_node on */
} maker;

static value make(maker *m, hia_ast_id id);

static const hia_ast *node(const maker *m, hia_ast_id id) { return hiaF_node(m->p, id); }
static hia_itype type_at(const maker *m, hia_ast_id id) { return m->types[id - m->in->first_node]; }

static hia_build_type type_of(maker *m, hia_itype type) {
  const hia_itypes *it = &m->p->it;
  if (type < HIA_N_DTYPES) return type;
  if (hiaF_is_data(type)) return hia_build_read_type(m->b, hiaF_itype_text(it, type));
  if (hiaF_is_tensor(type))
    return hia_build_tensor_type(m->b, (hia_dtype)hiaF_leaf(type), hiaF_irank(type));
  if (hiaF_is_array(type)) return hia_build_array_type(m->b, type_of(m, hiaF_element(it, type)));
  uint32_t n = hiaF_ituple_len(it, type);
  hia_build_type *parts = HIA_NEW_ARRAY(m->p->arena, hia_build_type, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = type_of(m, hiaF_ituple_part(it, type, i));
  return hia_build_tuple_type(m->b, parts, n);
}

static const char *text_of(const maker *m, hia_symbol_id symbol) {
  return hiaF_symbol_text(m->p, symbol);
}

/* A size in a signature or a field, as the builder reads it. */
static void add_size(maker *m, hia_text *text, hia_ast_id dim) {
  const hia_ast *n = node(m, dim);
  int64_t number;
  bool is_name = n->kind == HIA_AST_NAME && n->op != HIA_REF_CONST;
  if (is_name && n->op == HIA_REF_VAR) is_name = node(m, n->b)->kind == HIA_AST_NAME;
  if (n->kind == HIA_AST_DIM_ANY)
    hiaR_text_addf(text, "?");
  else if (is_name)
    hiaR_text_addf(text, "%s", text_of(m, n->a));
  else if (hiaF_constant_size(m->p, dim, &number) && number >= 0)
    hiaR_text_addf(text, "%lld", (long long)number);
  else
    m->is_beyond = true, hiaR_text_addf(text, "?");
}

/* The type of a parameter, result or field, with the sizes that its declaration has. */
static hia_build_type sized_of(maker *m, hia_itype is, hia_ast_id type) {
  if (type == HIA_NONE || !hiaF_has_sizes(m->p, type)) return type_of(m, is);
  const hia_ast *n = node(m, type);
  if (n->kind == HIA_AST_TYPE_ARRAY) { /* the builder has no sizes of elements */
    m->is_beyond = true;
    return type_of(m, is);
  }
  if (n->kind == HIA_AST_TYPE_TUPLE) {
    hia_build_type *parts = HIA_NEW_ARRAY(m->p->arena, hia_build_type, n->c);
    for (uint32_t i = 0; i < n->c; i++)
      parts[i] = sized_of(m, hiaF_ituple_part(&m->p->it, is, i), m->p->extra.data[n->b + i]);
    return hia_build_tuple_type(m->b, parts, n->c);
  }
  hia_text text;
  hiaR_text_init(&text, m->p->arena);
  hiaR_text_addf(&text, "%s[", hiaG_dtype_name((hia_dtype)hiaF_leaf(is)));
  for (uint32_t i = 0; i < n->c; i++) {
    if (i) hiaR_text_addf(&text, ", ");
    add_size(m, &text, m->p->extra.data[n->b + i]);
  }
  hiaR_text_addf(&text, "]");
  return hia_build_read_type(m->b, text.data);
}

static value constant(maker *m, hia_dtype dtype, hia_word word) {
  float f32;
  double f64;
  memcpy(&f32, &word, sizeof f32);
  memcpy(&f64, &word, sizeof f64);
  switch (dtype) {
  case HIA_BOOL: return hia_build_bool(m->b, word != 0);
  case HIA_I32: return hia_build_i32(m->b, hiaR_to_i32(word));
  case HIA_I64: return hia_build_i64(m->b, hiaR_to_i64(word));
  case HIA_F32: return hia_build_f32(m->b, f32);
  default: return hia_build_f64(m->b, f64);
  }
}

static value number(maker *m, hia_ast_id id, bool is_negative) {
  hia_word word;
  hia_dtype dtype = (hia_dtype)type_at(m, id);
  hiaF_number(m->p, node(m, id), is_negative, dtype, &word);
  return constant(m, dtype, word);
}

/* Makes a binder stand for a value. */
static void bind(maker *m, hia_ast_id binder, value v) {
  const hia_ast *n = node(m, binder);
  for (uint32_t i = 0; n->kind == HIA_AST_BIND_TUPLE && i < n->c; i++)
    bind(m, m->p->extra.data[n->b + i], hia_build_part(m->b, v, i));
  m->vars[binder] = v;
  if (n->kind == HIA_AST_BIND_NAME || n->kind == HIA_AST_LVAR || n->kind == HIA_AST_PARAM)
    hia_build_name(m->b, v, text_of(m, n->a));
}

/* ---- functions ---- */

/* The name of a function without types to choose. The builder hides no built-in functions. */
static const char *root_name(const char *name, char *buf, size_t size) {
  bool hides = hiaF_builtin(name, (uint32_t)strlen(name)) != HIA_OP_LIMIT;
  snprintf(buf, size, hides ? "%s__00" : "%s", name);
  return buf;
}

/* Instances of generic functions, and of those that only fail, are f__1, f__2, ... */
static hia_build_fn function_of(maker *m, uint32_t id) {
  if (m->fns[id].id) return m->fns[id];
  const hia_inst *inst = hiaF_inst(m->p, id);
  const hia_decl *d = hiaF_decl(m->p, inst->decl);
  hia_build_type params[64];
  char name[300];
  if (d->generic || inst->want != HIA_IT_NONE)
    snprintf(name, sizeof name, "%s__%u", text_of(m, d->symbol), id);
  else
    root_name(text_of(m, d->symbol), name, sizeof name);
  for (uint32_t i = 0; i < d->n_params && i < 64; i++)
    params[i] = sized_of(m, inst->args[i], node(m, m->p->extra.data[d->params + i])->b);
  hia_build_type result = sized_of(m, inst->result, d->type);
  m->fns[id] = hia_build_declare_types(m->b, name, params, d->n_params, result);
  hiaR_push(m->p->arena, &m->queue, id);
  return m->fns[id];
}

static hia_build_fn extern_of(maker *m, uint32_t decl) {
  const hia_decl *d = hiaF_decl(m->p, decl);
  hia_build_type params[64];
  if (m->externs[decl].id) return m->externs[decl];
  for (uint32_t i = 0; i < d->n_params && i < 64; i++) params[i] = type_of(m, d->param_types[i]);
  return m->externs[decl] = hia_build_declare_extern(m->b, text_of(m, d->symbol), params,
                                                     d->n_params, type_of(m, d->result), d->impure);
}

/* The variables that the sizes of a parameter bind. */
static void bind_sizes(maker *m, hia_ast_id type, value v) {
  if (type == HIA_NONE || !hiaF_has_sizes(m->p, type)) return;
  const hia_ast *n = node(m, type);
  if (n->kind == HIA_AST_TYPE_ARRAY) return; /* left out */
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id part = m->p->extra.data[n->b + i];
    const hia_ast *dim = node(m, part);
    if (n->kind == HIA_AST_TYPE_TUPLE)
      bind_sizes(m, part, hia_build_part(m->b, v, i));
    else if (dim->kind == HIA_AST_NAME && dim->op == HIA_REF_NONE)
      m->vars[part] = hia_build_dim(m->b, v, i);
  }
}

static void make_body(maker *m, uint32_t id) {
  const hia_inst *inst = hiaF_inst(m->p, id);
  m->in = hiaF_decl(m->p, inst->decl);
  m->types = inst->types;
  hia_build_begin(m->b, m->fns[id]);
  for (uint32_t i = 0; i < m->in->n_params; i++)
    bind(m, m->p->extra.data[m->in->params + i], hia_build_param(m->b, m->fns[id], i));
  for (uint32_t i = 0; i < m->in->n_params; i++)
    bind_sizes(m, node(m, m->p->extra.data[m->in->params + i])->b,
               hia_build_param(m->b, m->fns[id], i));
  hia_build_return(m->b, make(m, m->in->body));
}

/* ---- expressions ---- */

static value one_of(maker *m, hia_dtype dtype) {
  return constant(m, dtype, dtype == HIA_F32 ? hiaR_from_f32(1) : hiaR_from_f64(1));
}

/* A built-in that only tensors have, of n arguments without names. */
static value make_tensor(maker *m, hia_ast_id id, const hia_ast *call, const value *args,
                         uint32_t n) {
  unsigned builtin = node(m, call->a)->b;
  const hia_tensor_builtin *b = hiaF_tensor_builtin(builtin);
  hia_dtype dtype = (hia_dtype)hiaF_leaf(type_at(m, id));
  uint64_t axis = hiaF_axis(m->p, call, builtin, 0);
  switch (builtin) {
  case HIA_BUILTIN_ZEROS: return hia_build_full(m->b, constant(m, dtype, 0), args, n);
  case HIA_BUILTIN_ONES: return hia_build_full(m->b, one_of(m, dtype), args, n);
  case HIA_BUILTIN_FULL: return hia_build_full(m->b, args[0], args + 1, n - 1);
  case HIA_BUILTIN_RESHAPE: return hia_build_reshape(m->b, args[0], args + 1, n - 1);
  case HIA_BUILTIN_IOTA: return hia_build_iota(m->b, args[0]);
  case HIA_BUILTIN_ONE_HOT: return hia_build_one_hot(m->b, dtype, args[0], args[1]);
  case HIA_BUILTIN_SHAPE: return hia_build_dim(m->b, args[0], (uint32_t)axis);
  default: break;
  }
  if (!b->takes_axis || axis == HIA_NONE) return hia_build_op(m->b, (hia_opcode)b->op, args, n);
  return hia_build_op_along(m->b, (hia_opcode)b->op, args, n, (uint32_t)axis);
}

static value make_concat(maker *m, hia_ast_id id, const hia_ast *call, const value *args,
                         uint32_t n) {
  hia_itype type = type_at(m, id);
  if (!hiaF_is_tensor(type)) return hia_build_concat(m->b, args, n);
  uint64_t axis = hiaF_axis(m->p, call, HIA_BUILTIN_CONCAT, hiaF_irank(type));
  return hia_build_op_along(m->b, HIA_OPCODE_CAT, args, n, (uint32_t)axis);
}

/* The parameters and params that a gradient is with respect to, as the builder takes them. */
static value make_gradient(maker *m, const hia_ast *call, const hia_ast *callee,
                           const value *args) {
  const hia_ast_grad *grad = &m->p->grads.data[callee->c];
  hia_build_fn fn = function_of(m, type_at(m, call->a));
  value *wrt = HIA_NEW_ARRAY(m->p->arena, value, grad->wrt.len);
  for (uint32_t i = 0; i < grad->wrt.len; i++) {
    const hia_wrt *is = &grad->wrt.data[i];
    wrt[i] =
        is->is_param ? m->weights[hiaF_decl(m->p, is->i)->fn] : hia_build_param(m->b, fn, is->i);
  }
  return grad->has_value ? hia_build_value_and_grad(m->b, fn, wrt, grad->wrt.len, args, call->c)
                         : hia_build_grad(m->b, fn, wrt, grad->wrt.len, args, call->c);
}

static value make_call(maker *m, hia_ast_id id, const hia_ast *n) {
  const hia_ast callee = *node(m, n->a);
  value *args = HIA_NEW_ARRAY(m->p->arena, value, (size_t)n->c + 1);
  uint32_t n_args = 0;
  /* The axis of `shape` is a constant expression, which has no types. */
  bool is_shape = callee.op == HIA_REF_BUILTIN && callee.b == HIA_BUILTIN_SHAPE;
  for (uint32_t i = 0; i < (is_shape ? 1 : n->c); i++)
    if (node(m, m->p->extra.data[n->b + i])->kind != HIA_AST_NAMED)
      args[n_args++] = make(m, m->p->extra.data[n->b + i]);
  switch ((hia_ref)callee.op) {
  case HIA_REF_FN: return hia_build_call(m->b, function_of(m, type_at(m, n->a)), args, n->c);
  case HIA_REF_GRAD: return make_gradient(m, n, &callee, args);
  case HIA_REF_EXTERN: return hia_build_call(m->b, extern_of(m, callee.b), args, n->c);
  case HIA_REF_CON:
    return hia_build_data(
        m->b, hia_build_find_ctor(m->b, text_of(m, hiaF_decl(m->p, callee.b)->symbol)), args, n->c);
  default: break;
  }
  switch (callee.b) {
  case HIA_OP_FAIL: return hia_build_fail(m->b, args[0], type_of(m, type_at(m, id)));
  case HIA_BUILTIN_LEN: return hia_build_len(m->b, args[0]);
  case HIA_BUILTIN_SET: return hia_build_set(m->b, args[0], args[1], args[2]);
  case HIA_BUILTIN_CONCAT: return make_concat(m, id, n, args, n_args);
  default: break;
  }
  if (hiaF_tensor_builtin(callee.b)) return make_tensor(m, id, n, args, n_args);
  return hia_build_op(m->b, (hia_opcode)callee.b, args, n->c);
}

static value make_name(maker *m, hia_ast_id id, const hia_ast *n) {
  if (n->op == HIA_REF_VAR) return m->vars[n->b];
  const hia_decl *d = hiaF_decl(m->p, n->b);
  if (n->op == HIA_REF_PARAM) return m->weights[d->fn];
  if (n->op == HIA_REF_CON)
    return hia_build_data(m->b, hia_build_find_ctor(m->b, text_of(m, d->symbol)), NULL, 0);
  hia_dtype dtype = (hia_dtype)type_at(m, id);
  return constant(m, dtype, hiaF_const_value(m->p, n->b, dtype)->word);
}

static value make_logic(maker *m, const hia_ast *n) {
  value v = make(m, n->a);
  for (uint32_t i = 0; i < n->c; i += 3) {
    hia_build_if(m->b, v);
    hia_build_else(m->b,
                   n->op ? hia_build_bool(m->b, true) : make(m, m->p->extra.data[n->b + i + 2]));
    v = n->op ? make(m, m->p->extra.data[n->b + i + 2]) : hia_build_bool(m->b, false);
    v = hia_build_end_if(m->b, v);
  }
  return v;
}

static value make_loop(maker *m, const hia_ast *n) {
  const uint32_t *vars = m->p->extra.data + n->b;
  value *v = HIA_NEW_ARRAY(m->p->arena, value, 2 * (size_t)n->c), *bound = v + n->c;
  for (uint32_t i = 0; i < n->c; i++) m->is_beyond |= hiaF_has_sizes(m->p, node(m, vars[i])->b);
  for (uint32_t i = 0; i < n->c; i++) v[i] = make(m, node(m, vars[i])->c);
  hia_build_loop(m->b, v, n->c, bound);
  for (uint32_t i = 0; i < n->c; i++) bind(m, vars[i], bound[i]);
  hia_build_while(m->b, make(m, m->p->extra.data[n->a]));
  value next = make(m, m->p->extra.data[n->a + 1]);
  for (uint32_t i = 0; i < n->c; i++) v[i] = n->c > 1 ? hia_build_part(m->b, next, i) : next;
  return hia_build_end_loop(m->b, v, n->c);
}

/* The value of a `let` whose type has sizes. */
static value make_expected(maker *m, hia_ast_id type, value v) {
  value sizes[HIA_MAX_RANK];
  const hia_ast *n = node(m, type);
  if (n->kind != HIA_AST_TYPE_TENSOR) {
    m->is_beyond = true;
    return v;
  }
  for (uint32_t i = 0; i < n->c; i++) {
    hia_ast_id dim = m->p->extra.data[n->b + i];
    sizes[i] = node(m, dim)->kind == HIA_AST_DIM_ANY ? (value){0} : make(m, dim);
  }
  return hia_build_expect(m->b, v, sizes, n->c);
}

/* In `{ let t = f(x); t }` the call is not in tail position, but the builder, which receives the
 * call and then the result, cannot know that: another item has to come between them. */
static value make_block(maker *m, const hia_ast *n) {
  for (uint32_t i = 0; i < n->c; i++) {
    const hia_ast *let = node(m, m->p->extra.data[n->b + i]);
    value v = make(m, let->c);
    hia_build_bnot(m->b, hia_build_bool(m->b, true));
    if (hiaF_has_sizes(m->p, let->b)) v = make_expected(m, let->b, v);
    bind(m, let->a, v);
  }
  return make(m, n->a);
}

/* ---- matches ---- */

/* The names that a pattern binds, from left to right. */
static void find_names(maker *m, hia_ast_id id, hia_u32vec *names) {
  const hia_ast *n = node(m, id);
  if (n->kind == HIA_AST_PAT_NAME) hiaR_push(m->p->arena, names, id);
  for (uint32_t i = 0; n->kind == HIA_AST_PAT_CON && i < n->c; i++)
    find_names(m, m->p->extra.data[n->b + i], names);
}

static hia_build_pattern make_pattern(maker *m, hia_ast_id id) {
  const hia_ast *n = node(m, id);
  hia_word word = 0;
  hia_dtype dtype = (hia_dtype)type_at(m, id);
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_PAT_NAME: return hia_build_pattern_bind(m->b, text_of(m, n->a));
  case HIA_AST_PAT_BOOL: return hia_build_pattern_const(m->b, hia_build_bool(m->b, n->a));
  case HIA_AST_PAT_INT:
    hiaF_number(m->p, n, (n->flags & HIA_AST_NEGATIVE) != 0, dtype, &word);
    return hia_build_pattern_const(m->b, constant(m, dtype, word));
  case HIA_AST_PAT_CON: break;
  default: return hia_build_pattern_any(m->b);
  }
  hia_build_pattern *parts = HIA_NEW_ARRAY(m->p->arena, hia_build_pattern, (size_t)n->c + 1);
  for (uint32_t i = 0; i < n->c; i++) parts[i] = make_pattern(m, m->p->extra.data[n->b + i]);
  return hia_build_pattern_ctor(m->b, hia_build_find_ctor(m->b, text_of(m, n->a)), parts, n->c);
}

static bool is_flat(const maker *m, const hia_ast *n) {
  for (uint32_t i = 0; n->kind == HIA_AST_PAT_CON && i < n->c; i++)
    if (node(m, m->p->extra.data[n->b + i])->kind != HIA_AST_PAT_NAME) return false;
  return n->kind == HIA_AST_PAT_CON;
}

static void begin_arm(maker *m, hia_ast_id pattern) {
  const hia_ast *n = node(m, pattern);
  hia_u32vec names = {0};
  find_names(m, pattern, &names);
  value *bound = HIA_NEW_ARRAY(m->p->arena, value, (size_t)names.len + 1);
  switch (m->n_arms++ % 3) {
  case 0: {
    uint32_t start = n->start < n->pos ? n->start : n->pos; /* of a number, its minus sign too */
    const char *text = hiaR_arena_strndup(m->p->arena, m->p->source->text + start, n->end - start);
    if (strchr(text, '#') == NULL) { /* the builder's text has no comments */
      hia_build_arm(m->b, text, bound, names.len);
      break;
    }
  } /* fallthrough */
  case 1:
    if (is_flat(m, n)) {
      hia_build_arm_ctor(m->b, hia_build_find_ctor(m->b, text_of(m, n->a)), bound, names.len);
      break;
    } /* fallthrough */
  default: hia_build_arm_pattern(m->b, make_pattern(m, pattern), bound, names.len);
  }
  for (uint32_t i = 0; i < names.len; i++) m->vars[names.data[i]] = bound[i];
}

static value make_match(maker *m, const hia_ast *n) {
  hia_build_match(m->b, make(m, n->a));
  for (uint32_t i = 0; i < n->c; i += 2) {
    begin_arm(m, m->p->extra.data[n->b + i]);
    hia_build_end_arm(m->b, make(m, m->p->extra.data[n->b + i + 1]));
  }
  return hia_build_end_match(m->b);
}

/* ---- all ---- */

static value make_comprehension(maker *m, const hia_ast *n) {
  const uint32_t *list = m->p->extra.data + n->b;
  value from = make(m, list[1]);
  value x = n->c == 2 ? hia_build_for_each(m->b, from)
                      : hia_build_for_range(m->b, from, make(m, list[2]));
  bind(m, list[0], x);
  return hia_build_end_for(m->b, make(m, n->a));
}

static value make_list(maker *m, const hia_ast *n) {
  value *parts = HIA_NEW_ARRAY(m->p->arena, value, n->c);
  for (uint32_t i = 0; i < n->c; i++) parts[i] = make(m, m->p->extra.data[n->b + i]);
  return n->kind == HIA_AST_TUPLE ? hia_build_tuple(m->b, parts, n->c)
                                  : hia_build_array(m->b, parts, n->c);
}

static value make(maker *m, hia_ast_id id) {
  const hia_ast *n = node(m, id), *a;
  value v, w;
  switch ((hia_ast_kind)n->kind) {
  case HIA_AST_INT:
  case HIA_AST_FLOAT: return number(m, id, false);
  case HIA_AST_BOOL: return hia_build_bool(m->b, n->a);
  case HIA_AST_NAME: return make_name(m, id, n);
  case HIA_AST_TUPLE:
  case HIA_AST_ARRAY: return make_list(m, n);
  case HIA_AST_COMP: return make_comprehension(m, n);
  case HIA_AST_INDEX: v = make(m, n->a); return hia_build_at(m->b, v, make(m, n->b));
  case HIA_AST_SLICE:
    v = make(m, n->a);
    w = make(m, n->b);
    return hia_build_slice(m->b, v, w, make(m, n->c));
  case HIA_AST_IF:
    hia_build_if(m->b, make(m, n->a));
    hia_build_else(m->b, make(m, n->b));
    return hia_build_end_if(m->b, make(m, n->c));
  case HIA_AST_MATCH: return make_match(m, n);
  case HIA_AST_LOOP: return make_loop(m, n);
  case HIA_AST_BLOCK: return make_block(m, n);
  case HIA_AST_CHAIN:
    v = make(m, n->a);
    for (uint32_t i = 0; i < n->c; i += 3) {
      const value ins[2] = {v, make(m, m->p->extra.data[n->b + i + 2])};
      v = hia_build_op(m->b, (hia_opcode)m->p->extra.data[n->b + i], ins, 2);
    }
    return v;
  case HIA_AST_MATMUL:
    v = make(m, n->a);
    for (uint32_t i = 0; i < n->c; i += 3)
      v = hia_build_product(m->b, v, make(m, m->p->extra.data[n->b + i + 2]));
    return v;
  case HIA_AST_LOGIC: return make_logic(m, n);
  case HIA_AST_COMPARE: {
    v = make(m, n->a);
    const value ins[2] = {v, make(m, n->b)};
    return hia_build_op(m->b, (hia_opcode)n->op, ins, 2);
  }
  case HIA_AST_NOT: return hia_build_bnot(m->b, make(m, n->a));
  case HIA_AST_NEG:
    a = node(m, n->a);
    if ((a->kind == HIA_AST_INT || a->kind == HIA_AST_FLOAT) && !(a->flags & HIA_AST_PAREN))
      return number(m, n->a, true);
    return hia_build_neg(m->b, make(m, n->a));
  case HIA_AST_CALL: return make_call(m, id, n);
  case HIA_AST_CONVERT:
    v = make(m, m->p->extra.data[n->b]);
    return hiaF_leaf(type_at(m, m->p->extra.data[n->b])) == n->op
               ? v
               : hia_build_convert(m->b, (hia_dtype)n->op, v);
  case HIA_AST_FIELD: return hia_build_part(m->b, make(m, n->a), n->b);
  default: abort();
  }
}

/* Types by their names first, then their constructors. */
static void declare_data(maker *m) {
  const hia_program *p = m->p;
  for (uint32_t i = 0; i < p->decls.len; i++)
    if (hiaF_decl(p, i)->kind == HIA_DECL_TYPE)
      hia_build_declare_type(m->b, text_of(m, hiaF_decl(p, i)->symbol));
  for (uint32_t i = 0; i < p->decls.len; i++) {
    const hia_decl *d = hiaF_decl(p, i);
    if (d->kind != HIA_DECL_CON) continue;
    hia_build_field *fields = HIA_NEW_ARRAY(p->arena, hia_build_field, (size_t)d->n_params + 1);
    for (uint32_t k = 0; k < d->n_params; k++) {
      const hia_ast *field = node(m, p->extra.data[d->params + k]);
      const char *name = text_of(m, field->a);
      fields[k].name = strcmp(name, "_") ? name : NULL;
      fields[k].type = sized_of(m, d->param_types[k], field->b);
    }
    hia_build_add_ctor(m->b, type_of(m, d->data), text_of(m, d->symbol), fields, d->n_params);
  }
}

static void declare_params(maker *m) {
  uint32_t n;
  const hia_param_spec *specs = hiaF_param_specs(m->p, &n);
  m->weights = HIA_NEW_ARRAY(m->p->arena, value, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++) {
    const hia_param_spec *s = &specs[i];
    hia_text text;
    hiaR_text_init(&text, m->p->arena);
    hiaR_text_addf(&text, "param %s: %s", s->name, hiaG_dtype_name(s->dtype));
    for (uint32_t k = 0; k < s->shape.rank; k++)
      hiaR_text_addf(&text, "%s%lld", k ? ", " : "[", (long long)s->shape.dims[k]);
    hiaR_text_addf(&text, s->shape.rank ? "] = " : " = ");
    if (s->init == HIA_INIT_FULL)
      hiaR_text_addf(&text, "%.17g", s->a);
    else if (hiaR_init_arity(s->init) == 2)
      hiaR_text_addf(&text, "%s(%.17g, %.17g)", hiaR_init_name(s->init), s->a, s->b);
    else
      hiaR_text_addf(&text, "%s()", hiaR_init_name(s->init));
    m->weights[i] = hia_build_declare_param(m->b, text.data);
  }
}

static void make_program(maker *m) {
  hia_program *p = m->p;
  declare_data(m);
  declare_params(m);
  for (uint32_t i = 0; i < p->fns.len; i++) {
    const hia_decl *d = hiaF_decl(p, p->fns.data[i]);
    m->is_beyond |= d->gradient != HIA_NONE || d->recompute;
    if (!d->generic)
      function_of(m, hiaF_known_instance(p, p->fns.data[i], d->param_types, HIA_IT_NONE));
  }
  for (uint32_t i = 0; i < m->queue.len; i++) make_body(m, m->queue.data[i]);
}

/* ---- the test ---- */

typedef struct rebuilding {
  diff_way *ways;
  uint32_t n_ways, in_turn, first; /* as of diff_corpus */
  hia_engine *engine;              /* of the builder */
  diff_counts *counts;
  char *source;  /* of the program that `text` was made of */
  gen_text text; /* empty: the builder cannot have it */
  uint32_t n_programs, n_left_out, n_generic;
} rebuilding;

static void rebuild_in(rebuilding *r, hia_comp *comp, const diff_case *c) {
  hia_types types;
  hia_diags diags;
  const hia_source source = {.name = "rebuilt", .text = c->source, .len = strlen(c->source)};
  hiaG_types_init(&types, comp);
  hiaF_diags_init(&diags, comp, &source);
  hia_program *p = hiaF_load(comp, &types, &source, &diags);
  if (!p || diags.list.len) return;
  maker m = {.p = p};
  m.vars = HIA_NEW_ARRAY(p->arena, value, (size_t)p->nodes.len + 1);
  m.fns = HIA_NEW_ARRAY(p->arena, hia_build_fn, (size_t)p->insts.len + 1);
  m.externs = HIA_NEW_ARRAY(p->arena, hia_build_fn, (size_t)p->decls.len + 1);
  if (hia_builder_new(r->engine, "rebuilt", &m.b, NULL) != HIA_OK) exit(2);
  make_program(&m);
  if (m.is_beyond) {
    ; /* left out */
  } else if (hia_builder_status(m.b) == HIA_OK) {
    hia_builder_print(m.b, gen_text_take, &r->text, NULL);
  } else {
    fprintf(stderr, "FAIL %s:%u: %s", c->path, c->line, hia_error_text(hia_builder_error(m.b)));
    r->counts->failed++;
  }
  hia_builder_free(m.b);
}

static void rebuild(rebuilding *r, const diff_case *c) {
  hia_comp comp;
  free(r->source);
  gen_text_free(&r->text);
  r->text = (gen_text){0};
  r->source = strdup(c->source);
  r->n_programs++;
  hiaR_comp_init(&comp, &hiaR_malloc);
  if (HIA_TRY(&comp))
    rebuild_in(r, &comp, c);
  else
    fprintf(stderr, "%s:%u: %s\n", c->path, c->line, comp.message);
  comp.armed = false;
  hiaR_comp_free(&comp);
  if (r->text.len == 0) printf("%s:%u is not made\n", c->path, c->line);
  r->n_left_out += r->text.len == 0;
}

/* Leaves out positions, and the numbers of instances. */
static void strip(const char *from, gen_text *to) {
  gen_text_add(to, "%s", "");
  while (*from) {
    if (from[0] == '@')
      from += 1 + strspn(from + 1, "0123456789:");
    else if (from[0] == '_' && from[1] == '_' && from[2] >= '0' && from[2] <= '9')
      from += 2 + strspn(from + 2, "0123456789");
    else
      gen_text_add(to, "%c", *from++);
  }
}

static bool is_outcome(const char *expected, const char *got) {
  size_t n = strlen(expected);
  bool is_cut = n >= 3 && strcmp(expected + n - 3, "...") == 0;
  return is_cut ? strncmp(expected, got, n - 3) == 0 : strcmp(expected, got) == 0;
}

static void visit(void *user, const diff_case *c) {
  rebuilding *r = user;
  if (c->is_rejected || c->is_large || c->fuel || c->traps) return;
  if (!r->source || strcmp(r->source, c->source) != 0) rebuild(r, c);
  if (r->text.len == 0) return;
  gen_text expected = {0};
  strip(c->expected, &expected);
  for (uint32_t i = 0; i < r->n_ways; i++) {
    if (i && (i + r->first + r->n_programs) % r->in_turn) continue;
    char what[512], fn[300];
    snprintf(what, sizeof what, "%s:%u (%s)", c->path, c->line, r->ways[i].name);
    diff_watch(what);
    diff_result result;
    gen_text got = {0};
    diff_run(&r->ways[i], c->path, r->text.data, root_name(c->fn, fn, sizeof fn), c->args,
             c->n_args, NULL, 1, &result);
    strip(result.text.data, &got);
    bool is_beyond = r->ways[i].map || r->ways[i].interpreted || r->ways[i].through_text;
    if (is_outcome(expected.data, got.data))
      r->counts->passed++;
    else if (is_beyond && strcmp(got.data, "error unsupported") == 0)
      ; /* neither passed nor failed */
    else if (strcmp(got.data, "error not-found") == 0)
      r->n_generic += i == 0; /* a generic function has become several */
    else if (r->counts->failed++ < 50)
      fprintf(stderr, "FAIL %s:%u: %s, %s\n  expected %s\n  got      %s\n%s\n%s", c->path, c->line,
              c->fn, r->ways[i].name, expected.data, got.data,
              result.messages ? result.messages : "", r->text.data);
    diff_result_free(&result);
    gen_text_free(&got);
  }
  gen_text_free(&expected);
}

void diff_rebuild(const char *const *paths, uint32_t n_paths, diff_way *ways, uint32_t n_ways,
                  uint32_t in_turn, uint32_t first, diff_counts *counts) {
  hia_engine_options o = HIA_ENGINE_OPTIONS_INIT;
  rebuilding r = {
      .ways = ways, .n_ways = n_ways, .in_turn = in_turn, .first = first, .counts = counts};
  o.kind = HIA_ENGINE_INTERP;
  if (hia_engine_new(&o, &r.engine, NULL) != HIA_OK) exit(2);
  if (diff_add_hosts(r.engine, NULL) != HIA_OK) exit(2);
  for (uint32_t i = 0; i < n_paths; i++) diff_cases(paths[i], visit, &r, counts);
  printf(
      "%u programs, %u of them not made by the builder; %u calls of generic functions left out\n",
      r.n_programs, r.n_left_out, r.n_generic);
  free(r.source);
  gen_text_free(&r.text);
  hia_engine_free(r.engine);
}
