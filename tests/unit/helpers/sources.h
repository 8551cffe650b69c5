/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the frontend: one compilation of a text. */
#ifndef SOURCES_H
#define SOURCES_H

#include "frontend/frontend.h"
#include "graph/ir/print.h"
#include "graph/verify/verify.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct compiled {
  hia_comp comp;
  hia_types types;
  hia_source source;
  hia_diags diags;
  hia_program *program;
} compiled;

static inline void compile_bytes(compiled *c, const char *text, size_t len) {
  hiaR_comp_init(&c->comp, &hiaR_malloc);
  c->source = (hia_source){.name = "t.hia", .text = text, .len = len};
  if (HIA_TRY(&c->comp)) {
    hiaG_types_init(&c->types, &c->comp);
    hiaF_diags_init(&c->diags, &c->comp, &c->source);
    c->program = hiaF_load(&c->comp, &c->types, &c->source, &c->diags);
  }
  cr_assert_eq(c->comp.status, HIA_OK, "%s", c->comp.message);
}

static inline void compile(compiled *c, const char *text) { compile_bytes(c, text, strlen(text)); }

static inline void discard(compiled *c) { hiaR_comp_free(&c->comp); }

static inline const char *all_errors(compiled *c) {
  hia_text out;
  hiaR_text_init(&out, &c->comp.arena);
  hiaR_text_addf(&out, "%s", "");
  for (uint32_t i = 0; i < c->diags.list.len; i++) hiaF_diag_print(&c->diags, i, &out);
  return out.data;
}

/* Compiles a text that must have no errors. */
static inline void compile_good(compiled *c, const char *text) {
  compile(c, text);
  cr_assert(c->program != NULL && c->diags.list.len == 0, "%s\n%s", text, all_errors(c));
}

static inline hia_decl_id find(compiled *c, const char *name) {
  hia_decl_id fn = hiaF_find(c->program, name, strlen(name));
  cr_assert_neq(fn, HIA_NONE, "no function %s", name);
  return fn;
}

/* The instance at the declared types, or `generic` for parameters without one. */
static inline hia_inst_id instance(compiled *c, const char *name, hia_type generic) {
  hia_decl_id fn = find(c, name);
  hia_type args[16];
  for (uint32_t i = 0; i < hiaF_arity(c->program, fn); i++) {
    args[i] = hiaF_param_type(c->program, fn, i);
    if (args[i] == HIA_NONE) args[i] = generic;
  }
  return hiaF_instantiate(c->program, fn, args, &c->diags);
}

static inline const char *type_text(compiled *c, hia_type type) {
  hia_text out;
  hiaR_text_init(&out, &c->comp.arena);
  hiaG_type_print(&c->types, type, &out);
  return out.data;
}

/* The graph of one function, verified, as text. */
static inline const char *graph_text(compiled *c, const char *name, hia_type generic,
                                     bool counted) {
  hia_inst_id inst = instance(c, name, generic);
  cr_assert_neq(inst, HIA_NONE, "%s", all_errors(c));
  hia_fn_id root;
  hia_graph *g = hiaF_build(c->program, &c->comp, &c->types, &inst, 1, counted, &root);
  const char *defect = hiaG_verify(g);
  cr_assert_null(defect, "%s", defect);
  hia_text out;
  hiaR_text_init(&out, &c->comp.arena);
  hiaG_print(g, &out);
  return out.data;
}

/* The program has this error and no other. */
static inline void expect_error(const char *text, const char *code) {
  compiled c;
  compile(&c, text);
  cr_assert_eq(c.diags.list.len, 1, "%s\n%s", text, all_errors(&c));
  cr_expect_str_eq(c.diags.list.data[0].code, code, "%s\n%s", text, all_errors(&c));
  discard(&c);
}

#endif
