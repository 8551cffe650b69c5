/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The code of a version as typed entries enter it: a record (runtime/native/module.h) of its own,
 * and the params of its runs. */
#include "jit/versions/speculate.h"
#include "runtime/native/host.h"

static hia_special *special_of(hia_params *params) {
  return (hia_special *)(void *)((char *)params - offsetof(hia_special, joined));
}

/* The params of the program, and those of the version behind them. `asked` is the context's scope.
 */
static hia_status hold_joined(hia_params *params, bool (*must_end)(void *asked), void *asked,
                              hia_param_state **out) {
  hia_special *x = special_of(params);
  hia_param_state *program = NULL;
  hia_status status = HIA_OK;
  if (x->n_specs > x->n_bound)
    status = hiaR_params_hold(&x->function->module->params, must_end, asked, &program);
  const hia_context *context = ((const hia_cancel_scope *)asked)->arg;
  if (status == HIA_OK) status = hiaJ_assumed_params(x, NULL, context->host->words, program, out);
  hiaR_state_release(program);
  return status;
}

static const hia_param_kit joined_kit = {hold_joined, hiaR_state_release, hiaR_state_words};

void hiaJ_special_for_entries(hia_special *x, const hia_fn_version *v) {
  hia_function *f = x->function;
  const hia_unit *unit = v->unit;
  const hia_root_facts *facts = &v->facts;
  uint32_t forks = f->module->engine->options.threads > 1 ? HIA_CODE_FORKS : 0;
  uint32_t objects = unit->shapes ? HIA_CODE_OBJECTS : 0;
  hia_params *own = unit->facts.has_params ? &f->module->params : NULL;
  if (facts->n_params) memcpy(x->root_types, facts->params, facts->n_params * sizeof(hia_type));
  if (facts->n_results)
    memcpy(x->root_types + facts->n_params, facts->results, facts->n_results * sizeof(hia_type));
  x->root = (hia_code_root){.entry = v->native,
                            .flags = forks | objects | HIA_CODE_WITHOUT_FUEL,
                            .export = HIA_NONE,
                            .n_params = facts->n_params,
                            .n_results = facts->n_results,
                            .loc = facts->loc,
                            .types = f->has_references ? x->root_types : NULL};
  x->joined = (hia_params){.kit = &joined_kit};
  x->code = (hia_code_module){.abi = HIA_RT_ABI,
                              .flags = x->root.flags,
                              .n_roots = 1,
                              .roots = &x->root,
                              .unwinder = unit->unwinder,
                              .places = unit->places,
                              .shapes = unit->shapes,
                              .params = x->n_bound ? &x->joined : own};
}
