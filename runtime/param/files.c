/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params in files: safetensors, or .npz. A file of its own, so that a program that sets params
 * otherwise does not link it. */
#include "runtime/param/files.h"
#include "runtime/run/error.h"
#include "runtime/value/handle.h"
#include <errno.h>
#include <hiaton/params.h>
#include <stdio.h>

static hia_status wrong_file(const hia_allocator *allocator, const char *path, hia_status status,
                             const hia_value_error *wrong, hia_error **error) {
  if (status == HIA_MEMORY) return hiaR_fail_memory(allocator, error);
  return hiaR_fail_text(allocator, error, status, wrong->hint[0] ? wrong->hint : NULL, "%s: %s",
                        path, wrong->message);
}

/* ---- reading ---- */

hia_status hiaR_param_file_open(hia_param_file *f, const char *path,
                                const hia_allocator *allocator) {
  *f = (hia_param_file){.allocator = *allocator, .path = path};
  size_t len;
  int number = hiaR_read_file(allocator, path, SIZE_MAX / 4, &f->bytes, &len, &f->size);
  if (number) {
    snprintf(f->wrong.message, sizeof f->wrong.message, "%s", strerror(number));
    return number == ENOMEM ? HIA_MEMORY : HIA_IO;
  }
  hia_status status =
      hiaR_tensor_file_read(&f->file, &f->allocator, path, f->bytes, len, &f->wrong);
  f->is_read = status == HIA_OK;
  return status;
}

void hiaR_param_file_close(hia_param_file *f) {
  if (f->is_read) hiaR_tensor_file_free(&f->file);
  hiaR_free(&f->allocator, f->bytes, f->size);
}

static hia_status find(hia_param_file *f, const char *name, hia_dtype dtype, const hia_dims *shape,
                       bool converts, hia_file_tensor *tensor) {
  bool is_found;
  hia_status status =
      hiaR_tensor_file_find(&f->file, name, strlen(name), tensor, &is_found, &f->wrong);
  if (status != HIA_OK) return status;
  if (is_found)
    return converts ? hiaR_file_tensor_check_shape(tensor, dtype, shape, &f->wrong)
                    : hiaR_file_tensor_check(tensor, dtype, shape, &f->wrong);
  snprintf(f->wrong.message, sizeof f->wrong.message, "there is no tensor `%.200s`", name);
  return HIA_ARGUMENT;
}

hia_status hiaR_param_file_find(hia_param_file *f, const char *name, hia_dtype dtype,
                                const hia_dims *shape, hia_file_tensor *tensor) {
  return find(f, name, dtype, shape, false, tensor);
}

hia_status hiaR_param_file_copy(hia_param_file *f, const hia_file_tensor *tensor, void *to) {
  return hiaR_tensor_file_copy(&f->file, tensor, (hia_dtype)tensor->dtype, to, &f->wrong);
}

typedef struct filling {
  hia_param_file *file;
  const hia_param_spec *specs;
  hia_file_tensor *tensors; /* by param */
} filling;

static hia_status fill(void *user, uint32_t i, void *to) {
  const filling *f = user;
  return hiaR_tensor_file_copy(&f->file->file, &f->tensors[i], f->specs[i].dtype, to,
                               &f->file->wrong);
}

hia_status hiaR_param_file_params(hia_param_file *f, const hia_params *params,
                                  hia_param_state **out) {
  size_t size = (size_t)params->n * sizeof(hia_file_tensor) + 1;
  filling all = {f, params->specs, hiaR_alloc(&f->allocator, size)};
  if (!all.tensors) return HIA_MEMORY;
  hia_status status = HIA_OK;
  for (uint32_t i = 0; i < params->n && status == HIA_OK; i++) {
    const hia_param_spec *spec = &params->specs[i];
    status = find(f, spec->name, spec->dtype, &spec->shape, f->converts, &all.tensors[i]);
  }
  const hia_param_values values = {.fill = fill, .user = &all};
  if (status == HIA_OK)
    status = hiaR_state_new(params->specs, params->n, &values, hiaR_params_allocator(params), out);
  hiaR_free(&f->allocator, all.tensors, size);
  return status;
}

hia_status hiaR_param_file_fail(const hia_param_file *f, hia_status status, hia_error **error) {
  return wrong_file(&f->allocator, f->path, status, &f->wrong, error);
}

/* ---- writing ---- */

void hiaR_params_tensors(const hia_param_state *params, hia_file_tensor *tensors,
                         uint64_t *scalars) {
  for (uint32_t i = 0; i < hiaR_state_n(params); i++) {
    const hia_param_spec *spec = hiaR_state_spec(params, i);
    hia_word word = hiaR_state_words(params)[i];
    if (spec->shape.rank)
      hiaR_file_tensor_of(hiaR_tensor(word), &tensors[i]);
    else
      hiaR_file_tensor_of_scalar(spec->dtype, word, &scalars[i], &tensors[i]);
    tensors[i].name = spec->name;
    tensors[i].name_len = strlen(spec->name);
  }
}

hia_status hiaR_param_file_write(const hia_allocator *allocator, const char *path,
                                 const hia_file_tensor *tensors, uint32_t n, hia_error **error) {
  hia_value_error wrong = {0};
  hia_status status = hiaR_tensor_file_write(allocator, path, tensors, n, &wrong);
  return status == HIA_OK ? HIA_OK : wrong_file(allocator, path, status, &wrong, error);
}

/* ---- files of params alone ---- */

static hia_status begin(const hia_params *params, const char *path, hia_error **error) {
  if (error) *error = NULL;
  if (!params) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no params");
  if (path) return HIA_OK;
  return hiaR_fail_text(hiaR_params_allocator(params), error, HIA_ARGUMENT, NULL, "no path");
}

static hia_status load(hia_params *params, const char *path, bool converts, hia_error **error) {
  hia_status status = begin(params, path, error);
  if (status != HIA_OK) return status;
  hia_param_file f;
  hia_param_state *next;
  status = hiaR_param_file_open(&f, path, hiaR_params_allocator(params));
  f.converts = converts;
  if (status == HIA_OK) status = hiaR_param_file_params(&f, params, &next);
  if (status == HIA_OK)
    hiaR_params_set(params, next);
  else
    hiaR_param_file_fail(&f, status, error);
  hiaR_param_file_close(&f);
  return status;
}

hia_status hia_params_load(hia_params *params, const char *path, hia_error **error) {
  return load(params, path, false, error);
}

hia_status hia_params_convert(hia_params *params, const char *path, hia_error **error) {
  return load(params, path, true, error);
}

hia_status hia_params_save(hia_params *params, const char *path, hia_error **error) {
  hia_status status = begin(params, path, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = hiaR_params_allocator(params);
  hia_param_state *now;
  size_t size = params->n * (sizeof(hia_file_tensor) + sizeof(uint64_t)) + 1;
  hia_file_tensor *tensors = hiaR_alloc(allocator, size);
  if (!tensors) return hiaR_fail_memory(hiaR_params_allocator(params), error);
  if (hiaR_params_hold(params, NULL, NULL, &now)) {
    hiaR_free(allocator, tensors, size);
    return hiaR_fail_memory(hiaR_params_allocator(params), error);
  }
  hiaR_params_tensors(now, tensors, (uint64_t *)(void *)(tensors + params->n));
  status = hiaR_param_file_write(allocator, path, tensors, params->n, error);
  hiaR_state_release(now);
  hiaR_free(allocator, tensors, size);
  return status;
}
