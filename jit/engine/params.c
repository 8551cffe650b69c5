/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* The params of a module, as hosts see and set them (hiaton/params.h). */
#include "jit/engine/engine.h"
#include "runtime/interchange/interchange.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

void hiaJ_keep_params(hia_module *module, const hia_param_spec *specs, uint32_t n) {
  module->params.specs = specs;
  module->params.n = n;
  module->param_types = HIA_NEW_ARRAY(&module->comp.arena, const hia_type_info *, (size_t)n + 1);
  for (uint32_t i = 0; i < n; i++)
    module->param_types[i] = hiaJ_type_info(module, hiaG_param_type(&module->types, &specs[i]));
}

size_t hia_module_param_count(const hia_module *module) { return module ? module->params.n : 0; }

static const hia_param_spec *spec_at(const hia_module *module, size_t i) {
  return module && i < module->params.n ? &module->params.specs[i] : NULL;
}

const char *hia_module_param_name(const hia_module *module, size_t i) {
  const hia_param_spec *spec = spec_at(module, i);
  return spec ? spec->name : "";
}

size_t hia_module_param_find(const hia_module *module, const char *name) {
  size_t n = hia_module_param_count(module), i = 0;
  while (name && i < n && strcmp(module->params.specs[i].name, name) != 0) i++;
  return name ? i : n;
}

const hia_type_info *hia_module_param_type(const hia_module *module, size_t i) {
  return spec_at(module, i) ? module->param_types[i] : NULL;
}

const int64_t *hia_module_param_dims(const hia_module *module, size_t i) {
  const hia_param_spec *spec = spec_at(module, i);
  return spec && spec->shape.rank ? spec->shape.dims : NULL;
}

/* ---- reading and setting ---- */

static hia_status no_memory(const hia_module *module, hia_error **error) {
  return hiaJ_fail(&module->engine->allocator, error, HIA_MEMORY, NULL, "out of memory");
}

/* "f32[3, 4]" */
static void describe(hia_dtype dtype, const hia_dims *shape, char *out, size_t size) {
  int at = snprintf(out, size, "%s", hiaG_dtype_name(dtype));
  for (uint32_t i = 0; i < shape->rank && (size_t)at < size; i++)
    at += snprintf(out + at, size - (size_t)at, "%s%" PRId64 "%s", i ? ", " : "[", shape->dims[i],
                   i + 1 == shape->rank ? "]" : "");
}

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

hia_status hia_module_param(hia_module *module, size_t i, hia_value **value, hia_error **error) {
  if (value) *value = NULL;
  hia_status status = begin_at(module, i, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = &module->engine->allocator;
  if (!value) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no place for the value");
  hia_params *now;
  if (hiaR_cell_hold(&module->params, allocator, &now)) return no_memory(module, error);
  hia_word word = hiaR_params_words(now)[i];
  hia_objects *objects = NULL;
  bool is_tensor = module->params.specs[i].shape.rank > 0;
  if (is_tensor) {
    objects = hiaR_objects_new(allocator, 0);
    word = objects ? (uintptr_t)hiaR_copy_tensor(objects, hiaR_tensor(word)) : 0;
  }
  if (!is_tensor || word)
    *value = hiaR_value_new(allocator, module->param_types[i], objects, &word);
  if (objects) hiaR_objects_release(objects);
  hiaR_params_release(now);
  return *value ? HIA_OK : no_memory(module, error);
}

/* Makes a state of the current one, with other elements where there are some, and makes that the
 * current one. */
static hia_status exchange(hia_module *module, const void *const *elements, hia_error **error) {
  const hia_allocator *allocator = &module->engine->allocator;
  hia_param_cell *cell = &module->params;
  for (bool is_done = false; !is_done;) {
    hia_params *now, *next;
    if (hiaR_cell_hold(cell, allocator, &now)) return no_memory(module, error);
    const hia_param_values values = {.elements = elements, .from = now};
    hia_status status = hiaR_params_new(cell->specs, cell->n, &values, allocator, &next);
    if (status == HIA_OK) {
      is_done = hiaR_cell_exchange(cell, now, next);
      if (!is_done) hiaR_params_release(next);
    }
    hiaR_params_release(now);
    if (status != HIA_OK) return no_memory(module, error);
  }
  return HIA_OK;
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
  char is[256], wanted[256];
  describe(spec->dtype, &spec->shape, wanted, sizeof wanted);
  hia_type_info_format(value->type, is, sizeof is);
  if (hia_type_info_kind(value->type) == HIA_KIND_TENSOR) {
    const hia_tensor *t = hiaR_tensor(value->words[0]);
    hia_dims shape = hiaR_tensor_dims(t);
    describe(hiaR_tensor_dtype(t), &shape, is, sizeof is);
  }
  return hiaJ_fail(&module->engine->allocator, error, HIA_ARGUMENT, NULL,
                   "the param `%s` is %s, the value %s", spec->name, wanted, is);
}

hia_status hia_module_set_param(hia_module *module, size_t i, const hia_value *value,
                                hia_error **error) {
  hia_status status = begin_at(module, i, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = &module->engine->allocator;
  const hia_param_spec *spec = &module->params.specs[i];
  const void *own = NULL;
  if (!value) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no value");
  if (!fits(spec, value, &own)) return does_not_fit(module, spec, value, error);
  size_t size = module->params.n * sizeof(void *);
  const void **elements = hiaR_alloc(allocator, size);
  if (!elements) return no_memory(module, error);
  elements[i] = own;
  status = exchange(module, elements, error);
  hiaR_free(allocator, elements, size);
  return status;
}

hia_status hia_module_seed_params(hia_module *module, uint64_t seed, hia_error **error) {
  hia_status status = begin(module, error);
  if (status != HIA_OK || !module->params.n) return status;
  hia_params *next;
  hia_param_cell *cell = &module->params;
  const hia_param_values values = {.seed = seed};
  if (hiaR_params_new(cell->specs, cell->n, &values, &module->engine->allocator, &next))
    return no_memory(module, error);
  hiaR_cell_set(cell, next);
  return HIA_OK;
}

/* ---- files ---- */

static hia_status wrong_file(const hia_module *module, const char *path, hia_status status,
                             const char *what, hia_error **error) {
  if (status == HIA_MEMORY) return no_memory(module, error);
  return hiaJ_fail(&module->engine->allocator, error, status, NULL, "%s: %s", path, what);
}

typedef struct filling {
  const hia_file_tensor **tensors; /* by param */
  hia_value_error wrong;
} filling;

static hia_status fill(void *user, uint32_t i, void *to) {
  filling *f = user;
  return hiaR_file_tensor_copy(f->tensors[i], to, &f->wrong);
}

static hia_status find_tensors(const hia_param_cell *cell, const hia_safetensors *file,
                               filling *f) {
  for (uint32_t i = 0; i < cell->n; i++) {
    const hia_param_spec *spec = &cell->specs[i];
    const hia_file_tensor *tensor = hiaR_safetensors_find(file, spec->name, strlen(spec->name));
    if (!tensor) {
      snprintf(f->wrong.message, sizeof f->wrong.message, "there is no tensor `%.200s`",
               spec->name);
      return HIA_ARGUMENT;
    }
    hia_status status = hiaR_file_tensor_check(tensor, spec->dtype, &spec->shape, &f->wrong);
    if (status != HIA_OK) return status;
    f->tensors[i] = tensor;
  }
  return HIA_OK;
}

static hia_status load(hia_module *module, const void *bytes, size_t n, filling *f) {
  const hia_allocator *allocator = &module->engine->allocator;
  hia_param_cell *cell = &module->params;
  hia_safetensors file;
  hia_params *next = NULL;
  hia_status status = hiaR_safetensors_read(&file, allocator, bytes, n, &f->wrong);
  if (status != HIA_OK) return status;
  status = find_tensors(cell, &file, f);
  const hia_param_values values = {.fill = fill, .user = f};
  if (status == HIA_OK) status = hiaR_params_new(cell->specs, cell->n, &values, allocator, &next);
  if (status == HIA_OK) hiaR_cell_set(cell, next);
  hiaR_safetensors_free(&file);
  return status;
}

hia_status hia_module_load_params(hia_module *module, const char *path, hia_error **error) {
  hia_status status = begin(module, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = &module->engine->allocator;
  if (!path) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no path");
  size_t len, size, n = (size_t)module->params.n * sizeof(void *) + 1;
  char *bytes;
  int wrong = hiaR_read_file(allocator, path, SIZE_MAX / 4, &bytes, &len, &size);
  filling f = {.tensors = hiaR_alloc(allocator, n)};
  if (wrong) {
    status = wrong == ENOMEM ? HIA_MEMORY : HIA_IO;
    wrong_file(module, path, status, strerror(wrong), error);
  } else if (!f.tensors) {
    status = no_memory(module, error);
  } else {
    status = load(module, bytes, len, &f);
    if (status != HIA_OK) wrong_file(module, path, status, f.wrong.message, error);
  }
  hiaR_free(allocator, f.tensors, n);
  hiaR_free(allocator, bytes, size);
  return status;
}

hia_status hia_module_save_params(hia_module *module, const char *path, hia_error **error) {
  hia_status status = begin(module, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = &module->engine->allocator;
  hia_param_cell *cell = &module->params;
  if (!path) return hiaJ_fail(allocator, error, HIA_ARGUMENT, NULL, "no path");
  hia_params *now;
  size_t size = cell->n * (sizeof(hia_file_tensor) + sizeof(uint64_t)) + 1;
  hia_file_tensor *tensors = hiaR_alloc(allocator, size);
  if (!tensors) return no_memory(module, error);
  if (hiaR_cell_hold(cell, allocator, &now)) {
    hiaR_free(allocator, tensors, size);
    return no_memory(module, error);
  }
  uint64_t *scalars = (uint64_t *)(void *)(tensors + cell->n);
  for (uint32_t i = 0; i < cell->n; i++) {
    const hia_param_spec *spec = &cell->specs[i];
    hia_word word = hiaR_params_words(now)[i];
    if (spec->shape.rank)
      hiaR_file_tensor_of(hiaR_tensor(word), &tensors[i]);
    else
      hiaR_file_tensor_of_scalar(spec->dtype, word, &scalars[i], &tensors[i]);
    tensors[i].name = spec->name;
    tensors[i].name_len = strlen(spec->name);
  }
  hia_value_error wrong = {0};
  status = hiaR_safetensors_write_file(allocator, path, tensors, cell->n, NULL, 0, &wrong);
  hiaR_params_release(now);
  hiaR_free(allocator, tensors, size);
  return status == HIA_OK ? HIA_OK : wrong_file(module, path, status, wrong.message, error);
}
