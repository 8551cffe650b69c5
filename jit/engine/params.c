/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The params of a module, as hosts see and set them (hiaton/params.h). */
#include "graph/ir/build.h"
#include "jit/engine/engine.h"
#include <hiaton/params.h>

void hiaJ_keep_params(hia_module *module, const hia_param_spec *specs, uint32_t n) {
  module->params.specs = specs;
  module->params.n = n;
  module->param_types = HIA_NEW_ARRAY(&module->comp.arena, const hia_type_info *, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++)
    module->param_types[i] = hiaJ_type_info(module, hiaG_param_type(&module->types, &specs[i]));
}

hia_params *hia_module_params(hia_module *module) { return module ? &module->params : NULL; }

const hia_type_info *hia_module_param_type(const hia_module *module, size_t i) {
  return module && i < module->params.n ? module->param_types[i] : NULL;
}

/* ---- reading and setting ---- */

static hia_status begin(const hia_module *module, hia_error **error) {
  if (error) *error = NULL;
  if (module) return HIA_OK;
  return hiaJ_fail(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no module");
}

static hia_status begin_at(const hia_module *module, size_t i, hia_error **error) {
  hia_status status = begin(module, error);
  if (status != HIA_OK || i < module->params.n) return status;
  return hiaJ_fail(&module->engine->allocator, error, HIA_NOT_FOUND, NULL,
                   "there is no param %zu: the program has %u", i, module->params.n);
}

hia_value *hiaJ_param_value(const hia_module *module, size_t i, const void *elements) {
  const hia_allocator *allocator = &module->engine->allocator;
  const hia_param_spec *spec = &module->params.specs[i];
  hia_objects *objects = NULL;
  hia_value *value = NULL;
  hia_word word = 0;
  if (!spec->shape.rank) {
    word = hiaR_load((hia_repr)spec->dtype, elements);
  } else {
    objects = hiaR_objects_new(allocator, 0);
    hia_tensor *t = objects ? hiaR_new_tensor(objects, spec->dtype, &spec->shape) : NULL;
    size_t size = hia_params_size(&module->params, i);
    if (t && size) memcpy(t->data, elements, size);
    word = (uintptr_t)t;
  }
  if (!spec->shape.rank || word)
    value = hiaR_value_new(allocator, module->param_types[i], objects, &word);
  if (objects) hiaR_objects_release(objects);
  return value;
}

hia_status hia_module_param(hia_module *module, size_t i, hia_value **value, hia_error **error) {
  if (value) *value = NULL;
  hia_status status = begin_at(module, i, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = &module->engine->allocator;
  if (!value) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the value");
  hia_param_state *now;
  if (hiaR_params_hold(&module->params, NULL, NULL, &now))
    return hiaR_fail_memory(&module->engine->allocator, error);
  *value = hiaJ_param_value(module, i, hiaR_state_elements(now, (uint32_t)i));
  hiaR_state_release(now);
  return *value ? HIA_OK : hiaR_fail_memory(&module->engine->allocator, error);
}

static bool fits(const hia_param_spec *spec, const hia_value *value, const void **elements) {
  if (spec->shape.rank == 0) {
    *elements = &value->words[0];
    return value->type->type == (hia_type)spec->dtype;
  }
  if (hia_type_info_kind(value->type) != HIA_KIND_TENSOR) return false;
  const hia_tensor *t = hiaR_tensor(value->words[0]);
  *elements = t->data;
  return hiaR_tensor_dtype(t) == spec->dtype && hiaR_tensor_rank(t) == spec->shape.rank &&
         memcmp(t->dims, spec->shape.dims, spec->shape.rank * sizeof *t->dims) == 0;
}

static hia_status does_not_fit(const hia_module *module, const hia_param_spec *spec,
                               const hia_value *value, hia_error **error) {
  char found[256], wanted[256];
  hiaR_shape_describe(spec->dtype, &spec->shape, wanted, sizeof wanted);
  hia_type_info_format(value->type, found, sizeof found);
  if (hia_type_info_kind(value->type) == HIA_KIND_TENSOR) {
    const hia_tensor *t = hiaR_tensor(value->words[0]);
    hia_dims shape = hiaR_tensor_dims(t);
    hiaR_shape_describe(hiaR_tensor_dtype(t), &shape, found, sizeof found);
  }
  return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL,
                   "the param `%s` is %s, the value %s", spec->name, wanted, found);
}

hia_status hia_module_set_param(hia_module *module, size_t i, const hia_value *value,
                                hia_error **error) {
  hia_status status = begin_at(module, i, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = &module->engine->allocator;
  const hia_param_spec *spec = &module->params.specs[i];
  const void *elements = NULL;
  if (!value) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no value");
  if (!fits(spec, value, &elements)) return does_not_fit(module, spec, value, error);
  return hiaR_params_put(&module->params, (uint32_t)i, elements, error);
}
