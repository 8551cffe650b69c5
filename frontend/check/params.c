/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params: their sizes and initialisers, which are constant. */
#include "frontend/check/check.h"
#include "frontend/check/constant.h"
#include "frontend/check/infer.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/builtins.h"
#include "frontend/syntax/program.h"

#include <math.h>

/* The value of a constant expression of a param at a dtype. False: its error was reported. */
static bool evaluate(hia_program *p, const hia_decl *d, hia_ast_id expr, hia_dtype dtype,
                     const char *what, hia_word *word) {
  hia_fault fault = {.message = NULL};
  hia_typing t = {.p = p,
                  .types = HIA_NEW_ARRAY(p->arena, hia_itype, d->end_node - d->first_node),
                  .first = d->first_node,
                  .inst = HIA_NONE,
                  .report = true,
                  .force = HIA_FORCE_ALL};
  hia_itype type = hiaF_infer(&t, expr);
  hiaF_accept_type(&t, expr, type, dtype, what);
  if (t.failed || (hiaF_itype_has(&p->it, type) & HIA_HAS_ERROR)) return false;
  hiaF_resolve(&t, expr, dtype);
  if (t.failed) return false;
  t.fault = &fault;
  uint32_t n = 0;
  if (hiaF_eval(&t, expr, word, &n)) return true;
  if (fault.message) hiaF_error(p->diags, fault.code, fault.start, fault.end, "%s", fault.message);
  return false;
}

static bool bad_type(hia_program *p, const hia_ast *n, const char *what) {
  hiaF_error(p->diags, HIA_E0328, n->start, n->end, "%s", what);
  return false;
}

static bool find_shape(hia_program *p, const hia_decl *d, hia_param_spec *spec) {
  const hia_ast type = *hiaF_node(p, d->type);
  if (type.kind == HIA_AST_TYPE_ERROR) return false;
  bool is_tensor = type.kind == HIA_AST_TYPE_TENSOR;
  if ((!is_tensor && type.kind != HIA_AST_TYPE_DTYPE) || (type.op != HIA_F32 && type.op != HIA_F64))
    return bad_type(p, &type, "a param is a scalar or tensor of f32 or f64");
  spec->dtype = (hia_dtype)type.op;
  if (!is_tensor) return true;
  for (uint32_t i = 0; i < type.c; i++) {
    hia_ast_id dim = p->extra.data[type.b + i];
    hia_word word;
    if (hiaF_node(p, dim)->kind == HIA_AST_DIM_ANY)
      return bad_type(p, hiaF_node(p, dim), "the sizes of a param are constant");
    if (!hiaF_constant_size(p, dim, &spec->shape.dims[i])) {
      if (!evaluate(p, d, dim, HIA_I64, "the size", &word)) return false;
      spec->shape.dims[i] = hiaR_to_i64(word);
    }
    if (spec->shape.dims[i] < 0) return bad_type(p, hiaF_node(p, dim), "a size is not negative");
    spec->shape.rank = i + 1;
  }
  return hiaR_param_is_sound(spec) ||
         bad_type(p, &type, "a tensor of more elements than fit in memory");
}

static bool find_initialiser(hia_program *p, const hia_decl *d, hia_param_spec *spec) {
  const hia_ast n = *hiaF_node(p, d->body);
  const char *name = NULL;
  hia_word words[2] = {0};
  uint32_t arity;
  if (n.kind == HIA_AST_CALL && hiaF_node(p, n.a)->op == HIA_REF_BUILTIN &&
      hiaF_node(p, n.a)->b == HIA_BUILTIN_INIT)
    name = hiaF_symbol_text(p, hiaF_node(p, n.a)->a);
  if (name) {
    hiaF_initialiser(name, &spec->init, &arity);
    for (uint32_t i = 0; i < n.c && i < HIA_LEN(words); i++)
      if (!evaluate(p, d, p->extra.data[n.b + i], spec->dtype, "the argument", &words[i]))
        return false;
  } else if (!evaluate(p, d, d->body, spec->dtype, "the value", &words[0])) {
    return false;
  }
  bool is_f32 = spec->dtype == HIA_F32;
  spec->a = is_f32 ? (double)hiaR_to_f32(words[0]) : hiaR_to_f64(words[0]);
  spec->b = is_f32 ? (double)hiaR_to_f32(words[1]) : hiaR_to_f64(words[1]);
  if (name && strcmp(name, "ones") == 0) spec->a = 1;
  if (hiaR_param_is_sound(spec)) return true;
  const char *what = !isfinite(spec->a) || !isfinite(spec->b) || !isfinite(spec->b - spec->a)
                         ? "an initialiser is finite"
                     : spec->init == HIA_INIT_UNIFORM ? "uniform(lo, hi): lo is at most hi"
                                                      : "normal(mean, std): std is at least 0";
  hiaF_error(p->diags, HIA_E0329, n.start, n.end, "%s", what);
  return false;
}

const hia_param_spec *hiaF_param_specs(const hia_program *p, uint32_t *n) {
  *n = p->params.len;
  return p->params.data;
}

void hiaF_params(hia_program *p) {
  for (uint32_t i = 0; i < p->decls.len; i++) {
    hia_decl *d = hiaF_decl(p, i);
    if (d->kind != HIA_DECL_PARAM) continue;
    hia_param_spec spec = {.name = hiaF_symbol_text(p, d->symbol)};
    if (!d->broken) d->broken = !find_shape(p, d, &spec) || !find_initialiser(p, d, &spec);
    if (d->broken) continue;
    d->fn = p->params.len;
    hiaF_itype_type(&p->it, d->result);
    hiaR_push(p->arena, &p->params, spec);
  }
}
