/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Values as the command line and the API write them, read as constant expressions of a type. */
#include "frontend/check/check.h"
#include "frontend/check/constant.h"
#include "frontend/check/infer.h"
#include "frontend/kit/typing.h"
#include "frontend/syntax/parse.h"
#include "frontend/syntax/program.h"

/* Checks the expression, which is the whole text of an argument. */
static bool check_value(hia_program *p, hia_ast_id expr, hia_type want, hia_typing *t,
                        hia_itype *type) {
  hia_itype have = hiaF_infer(t, expr);
  if (t->failed || (hiaF_itype_has(&p->it, have) & HIA_HAS_ERROR)) return false;
  if (want == HIA_NONE) {
    *type = hiaF_settle(&p->it, have, HIA_FORCE_ALL);
  } else {
    *type = hiaF_itype_of(&p->it, want);
    if (hiaF_join(&p->it, have, *type) != *type) {
      const hia_ast *n = hiaF_node(p, expr);
      hiaF_error(p->diags, HIA_E0401, n->start, n->end, "expected a value of type %s, this is %s",
                 hiaF_itype_text(&p->it, *type), hiaF_itype_text(&p->it, have));
      return false;
    }
  }
  hiaF_resolve(t, expr, *type);
  return !t->failed;
}

bool hiaF_parse_value(hia_comp *comp, hia_types *types, const hia_source *source, hia_type type,
                      hia_type *type_out, hia_word **words, hia_diags *diags) {
  hia_program *p = hiaF_program_new(comp, types, source, diags);
  hia_ast_id expr = hiaF_parse_value_expr(p);
  if (expr == HIA_NONE || !hiaF_names_value(p, expr)) return false;
  hia_typing t = {.p = p,
                  .types = HIA_NEW_ARRAY(p->arena, hia_itype, p->nodes.len),
                  .inst = HIA_NONE,
                  .report = true,
                  .force = HIA_FORCE_ALL};
  hia_itype itype;
  if (!check_value(p, expr, type, &t, &itype)) return false;
  hia_fault fault = {.message = NULL};
  t.fault = &fault;
  *words = HIA_NEW_ARRAY(p->arena, hia_word, hiaF_itype_words(&p->it, itype));
  uint32_t len = 0;
  if (!hiaF_eval(&t, expr, *words, &len)) {
    hiaF_error(diags, fault.code, fault.start, fault.end, "this value cannot be evaluated: %s",
               fault.message);
    return false;
  }
  *type_out = hiaF_itype_type(&p->it, itype);
  return true;
}
