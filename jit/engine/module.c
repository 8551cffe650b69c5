/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Modules: making, keeping and freeing them. */
#include "graph/grad/grad.h"
#include "graph/read/read.h"
#include "jit/versions/speculate.h"

hia_module *hiaJ_module_new(hia_engine *engine) {
  hia_module *module = hiaR_alloc(&engine->allocator, sizeof *module);
  if (!module) return NULL;
  module->engine = engine;
  atomic_init(&module->references, 1);
  module->params.kit = &hiaR_param_kit;
  module->params.allocator = &engine->allocator;
  pthread_mutex_init(&module->lock, NULL);
  pthread_mutex_init(&module->making_lock, NULL);
  pthread_cond_init(&module->made, NULL);
  hiaR_comp_init(&module->comp, &engine->allocator);
  return module;
}

void hiaJ_module_keep(hia_module *module) {
  atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
}

void hiaJ_module_release(hia_module *module) {
  if (atomic_fetch_sub_explicit(&module->references, 1, memory_order_acq_rel) != 1) return;
  hia_engine *engine = module->engine;
  for (hia_function *f = module->functions; f; f = f->next) hiaJ_speculation_free(f);
  for (hia_function *f = module->differentiating; f; f = f->next) hiaJ_speculation_free(f);
  while (module->units) {
    hia_unit *unit = module->units;
    module->units = unit->next;
    hiaJ_unit_free(engine, unit);
  }
  hiaJ_unit_free(engine, module->read);
  hiaR_params_set(&module->params, NULL);
  hiaR_value_types_release(module->value_types);
  hiaR_comp_free(&module->comp);
  pthread_cond_destroy(&module->made);
  pthread_mutex_destroy(&module->making_lock);
  pthread_mutex_destroy(&module->lock);
  hiaR_free(&engine->allocator, module, sizeof *module);
}

void hia_module_free(hia_module *module) {
  if (module) hiaJ_module_release(module);
}
