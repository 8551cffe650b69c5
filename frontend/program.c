/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Loads a program, from its text to its checked functions: the interface in frontend.h. */
#include "frontend/syntax/program.h"
#include "frontend/check/check.h"
#include "frontend/grad/grad.h"
#include "frontend/kit/instance.h"
#include "frontend/kit/scope.h"
#include "frontend/syntax/parse.h"
#include "graph/ir/build.h"
#include "graph/ir/scc.h"

/* ---- loading ---- */

hia_program *hiaF_load(hia_comp *comp, hia_types *types, const hia_source *source,
                       hia_diags *diags) {
  hia_program *p = hiaF_program_new(comp, types, source, diags);
  uint64_t start = hiaR_now();
  hiaF_parse(p);
  p->parse_ns = hiaR_now() - start;
  if (!p->parsed) return NULL;
  hiaF_find_lines(p);
  hiaF_names(p);
  hiaF_gradients(p);
  hiaF_data(p);
  hiaF_declared_types(p);
  hiaF_consts(p);
  hiaF_define_data(p);
  hiaF_params(p);
  hia_u32vec roots = {0};
  for (uint32_t i = 0; i < p->fns.len; i++) {
    const hia_decl *d = hiaF_decl(p, p->fns.data[i]);
    if (d->broken || d->generic) continue;
    uint32_t inst =
        hiaF_instance(p, p->fns.data[i], d->param_types, HIA_IT_NONE, HIA_NONE, HIA_NONE);
    hiaF_solve(p, inst);
    hiaR_push(p->arena, &roots, inst);
  }
  for (uint32_t i = 0; i < p->externs.len; i++) {
    hiaF_own_gradient_of_extern(p, p->externs.data[i]);
    uint32_t inst = hiaF_decl(p, p->externs.data[i])->gradient_inst;
    if (inst == HIA_NONE) continue;
    hiaF_solve(p, inst);
    hiaR_push(p->arena, &roots, inst);
  }
  hiaF_check(p, roots.data, roots.len);
  hiaF_consts_unused(p);
  return p->parse_failed ? NULL : p;
}

/* ---- functions of the host ---- */

static const char *extern_text(const hia_program *p, const hia_decl *d) {
  hia_text text;
  hiaR_text_init(&text, p->arena);
  hia_type *params = HIA_NEW_ARRAY(p->arena, hia_type, d->n_params);
  for (uint32_t i = 0; i < d->n_params; i++) params[i] = hiaF_itype_made(&p->it, d->param_types[i]);
  hiaG_extern_print(p->it.types, hiaF_symbol_text(p, d->symbol), d->impure, params, d->n_params,
                    hiaF_itype_made(&p->it, d->result), &text);
  return text.data;
}

void hiaF_link(hia_program *p, const hia_host_finder *finder, hia_diags *diags) {
  p->diags = diags;
  for (uint32_t i = 0; i < p->externs.len; i++) {
    hia_decl *d = hiaF_decl(p, p->externs.data[i]);
    if (d->broken) continue;
    const char *name = hiaF_symbol_text(p, d->symbol);
    hia_host_info info = {NULL, false};
    if (!finder->find(finder->user, name, &info)) {
      hia_diag *diag = hiaF_error(diags, HIA_E0601, d->pos, d->end,
                                  "the host has no function '%s' for this", name);
      const char *similar = hiaF_similar_host(finder, name);
      if (similar != NULL) hiaF_hint(diags, diag, "did you mean '%s'?", similar);
      continue;
    }
    d->raises = info.raises;
    if (info.declaration == NULL) continue;
    const char *text = extern_text(p, d);
    if (strcmp(text, info.declaration) == 0) continue;
    hia_diag *diag =
        hiaF_error(diags, HIA_E0602, d->pos, d->end, "this is %s, but the host has registered %s",
                   text, info.declaration);
    hiaF_hint(diags, diag, "write: %s, with names for the parameters", info.declaration);
  }
}

const char *hiaF_extern_text(const hia_program *p, const char **name) {
  if (p->decls.len != 1 || p->externs.len != 1 || hiaF_decl(p, 0)->broken) return NULL;
  *name = hiaF_symbol_text(p, hiaF_decl(p, 0)->symbol);
  return extern_text(p, hiaF_decl(p, 0));
}

uint32_t hiaF_n_externs(const hia_program *p) { return p->externs.len; }

const char **hiaF_extern(const hia_program *p, uint32_t i, hia_extern *e) {
  const hia_decl *d = hiaF_decl(p, p->externs.data[i]);
  const char **names = HIA_NEW_ARRAY(p->arena, const char *, (size_t)d->n_params + 1);
  *e = (hia_extern){.name = hiaF_symbol_text(p, d->symbol),
                    .is_impure = d->impure,
                    .raises = d->raises,
                    .sig_params = HIA_NEW_ARRAY(p->arena, hia_type, (size_t)d->n_params + 1),
                    .n_sig_params = d->n_params,
                    .result = hiaF_itype_made(&p->it, d->result)};
  for (uint32_t k = 0; k < d->n_params; k++) {
    e->sig_params[k] = hiaF_itype_made(&p->it, d->param_types[k]);
    names[k] = hiaF_symbol_text(p, hiaF_node(p, p->extra.data[d->params + k])->a);
  }
  return names;
}

uint64_t hiaF_parse_ns(const hia_program *p) { return p->parse_ns; }

/* ---- functions ---- */

static const hia_decl *fn_decl(const hia_program *p, hia_decl_id fn) {
  return hiaF_decl(p, p->fns.data[fn]);
}

uint32_t hiaF_n_fns(const hia_program *p) { return p->fns.len; }

hia_decl_id hiaF_find(const hia_program *p, const char *name, size_t len) {
  for (uint32_t i = 0; i < p->fns.len; i++) {
    const hia_symbol *e = &p->symbols.list.data[fn_decl(p, i)->symbol];
    if (e->len == len && memcmp(e->text, name, len) == 0) return i;
  }
  return HIA_NONE;
}

const char *hiaF_similar(const hia_program *p, const char *name, size_t len) {
  if (len > UINT32_MAX) return NULL;
  const char *similar = hiaF_similar_name(p, name, (uint32_t)len, HIA_LIKE_FN);
  if (similar == NULL || hiaF_find(p, similar, strlen(similar)) == HIA_NONE) return NULL;
  return similar;
}

const char *hiaF_name(const hia_program *p, hia_decl_id fn) {
  return hiaF_symbol_text(p, fn_decl(p, fn)->symbol);
}

uint32_t hiaF_arity(const hia_program *p, hia_decl_id fn) { return fn_decl(p, fn)->n_params; }

const char *hiaF_param_name(const hia_program *p, hia_decl_id fn, uint32_t i) {
  return hiaF_symbol_text(p, hiaF_node(p, p->extra.data[fn_decl(p, fn)->params + i])->a);
}

hia_type hiaF_param_type(const hia_program *p, hia_decl_id fn, uint32_t i) {
  hia_itype type = fn_decl(p, fn)->param_types[i];
  return type == HIA_IT_UNKNOWN ? HIA_NONE : hiaF_itype_made(&p->it, type);
}

/* Finds the impure declarations. Impurity spreads along names: a declaration is taken to call
 * all that its names refer to, at any types. */
static void find_impure(hia_program *p) {
  hia_arena *scratch = &p->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  uint32_t n = p->decls.len;
  bool *marks = HIA_NEW_ARRAY(p->arena, bool, (size_t)n + 1);
  uint32_t *first = HIA_NEW_ARRAY(scratch, uint32_t, (size_t)n + 1);
  hia_u32vec callees = {0};
  for (uint32_t i = 0; i < n; i++) {
    const hia_decl *d = hiaF_decl(p, i);
    marks[i] = d->kind == HIA_DECL_EXTERN && d->impure;
    first[i] = callees.len;
    if (d->kind != HIA_DECL_FN) continue;
    for (hia_ast_id node = d->first_node; node < d->end_node; node++) {
      const hia_ast *call = hiaF_node(p, node);
      if (call->kind != HIA_AST_CALL) continue;
      const hia_ast *callee = hiaF_node(p, call->a);
      if (hiaF_is_of_instance(callee) || callee->op == HIA_REF_EXTERN)
        hiaR_push(scratch, &callees, callee->b);
    }
  }
  first[n] = callees.len;
  hiaG_spread_to_callers(scratch, n, first, callees.data, marks);
  hiaR_arena_release(scratch, mark);
  p->is_impure = marks;
}

bool hiaF_is_impure(hia_program *p, hia_decl_id fn) {
  if (!p->is_impure) find_impure(p);
  return p->is_impure[p->fns.data[fn]];
}

hia_inst_id hiaF_instantiate(hia_program *p, hia_decl_id fn, const hia_type *args,
                             hia_diags *diags) {
  p->diags = diags;
  uint32_t decl = p->fns.data[fn];
  const hia_decl *d = hiaF_decl(p, decl);
  hia_arena *scratch = &p->comp->scratch;
  hia_mark mark = hiaR_arena_mark(scratch);
  hia_itype *types = HIA_NEW_ARRAY(scratch, hia_itype, d->n_params);
  for (uint32_t i = 0; i < d->n_params; i++) {
    types[i] = hiaF_itype_of(&p->it, args[i]);
    if (types[i] == HIA_IT_ERROR) {
      hiaF_error(diags, HIA_E0316, d->pos, d->end, "an argument of '%s' has more than %u parts",
                 hiaF_symbol_text(p, d->symbol), HIA_MAX_TYPE_PARTS);
      return HIA_NONE;
    }
  }
  if (d->broken) return HIA_NONE;
  uint32_t inst = hiaF_instance(p, decl, types, HIA_IT_NONE, HIA_NONE, HIA_NONE);
  hiaR_arena_release(scratch, mark);
  if (inst == HIA_NONE) {
    hiaF_error(diags, HIA_E0315, d->pos, d->end, "'%s' has more than %u instances",
               hiaF_symbol_text(p, d->symbol), HIA_MAX_INSTANCES);
    return HIA_NONE;
  }
  hiaF_solve(p, inst);
  if (!hiaF_check(p, &inst, 1)) return HIA_NONE;
  hiaF_itype_type(&p->it, hiaF_inst(p, inst)->result);
  return inst;
}

hia_type hiaF_result(const hia_program *p, hia_inst_id inst) {
  return hiaF_itype_made(&p->it, hiaF_inst(p, inst)->result);
}
