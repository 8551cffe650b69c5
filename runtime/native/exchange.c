/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Calls whose words are references. A file of its own, so that a program which passes scalars alone
 * does not link the copying of results. */
#include "runtime/native/context.h"
#include "runtime/value/value.h"

static hia_status leave(hia_exchange *exchange, const hia_code_module *module, uint32_t root,
                        hia_word *block) {
  const hia_code_root *r = &module->roots[root];
  return hiaR_objects_leave(exchange->to, module->shapes, r->types + r->n_params,
                            block + r->n_params, r->n_results, &exchange->has_outside);
}

hia_status hiaR_enter_objects(hia_context *context, const hia_code_module *module, uint32_t root,
                              hia_word *block, hia_objects *to, bool *has_outside) {
  *has_outside = false;
  if (!context) return HIA_ARGUMENT;
  if (hiaR_is_in_call(context)) return HIA_BUSY;
  hia_exchange exchange = {.leave = leave, .to = to};
  context->host->exchange = module->roots[root].types ? &exchange : NULL;
  hia_status status = module->flags & HIA_CODE_WITHOUT_FUEL
                          ? hiaR_enter(context, module, root, block)
                          : hiaR_enter_fuelled(context, module, root, block);
  context->host->exchange = NULL;
  *has_outside = exchange.has_outside;
  return status;
}
