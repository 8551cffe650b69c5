/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params in files: safetensors, or .npz. A file of its own, so that a program that sets params
 * otherwise does not link it. */
#include "runtime/error.h"
#include "runtime/interchange/tensor_file.h"
#include "runtime/param/param.h"
#include "runtime/value/handle.h"
#include <errno.h>
#include <hiaton/param_cell.h>
#include <stdio.h>

static hia_status no_memory(const hia_allocator *allocator, hia_error **error) {
  return hiaR_fail_text(allocator, error, HIA_MEMORY, NULL, "out of memory");
}

static hia_status begin(const hia_param_cell *cell, const char *path, hia_error **error) {
  if (error) *error = NULL;
  if (!cell) return hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no params");
  if (path) return HIA_OK;
  return hiaR_fail_text(hiaR_cell_allocator(cell), error, HIA_ARGUMENT, NULL, "no path");
}

static hia_status wrong_file(const hia_allocator *allocator, const char *path, hia_status status,
                             const char *what, hia_error **error) {
  if (status == HIA_MEMORY) return no_memory(allocator, error);
  return hiaR_fail_text(allocator, error, status, NULL, "%s: %s", path, what);
}

/* ---- loading ---- */

typedef struct filling {
  hia_tensor_file file;
  hia_file_tensor *tensors; /* by param */
  hia_value_error wrong;
} filling;

static hia_status fill(void *user, uint32_t i, void *to) {
  filling *f = user;
  return hiaR_tensor_file_copy(&f->file, &f->tensors[i], to, &f->wrong);
}

static hia_status find_tensors(const hia_param_cell *cell, filling *f) {
  for (uint32_t i = 0; i < cell->n; i++) {
    const hia_param_spec *spec = &cell->specs[i];
    bool is_found;
    hia_status status = hiaR_tensor_file_find(&f->file, spec->name, strlen(spec->name),
                                              &f->tensors[i], &is_found, &f->wrong);
    if (status == HIA_OK && !is_found) {
      snprintf(f->wrong.message, sizeof f->wrong.message, "there is no tensor `%.200s`",
               spec->name);
      return HIA_ARGUMENT;
    }
    if (status == HIA_OK)
      status = hiaR_file_tensor_check(&f->tensors[i], spec->dtype, &spec->shape, &f->wrong);
    if (status != HIA_OK) return status;
  }
  return HIA_OK;
}

static hia_status load(hia_param_cell *cell, const char *path, const void *bytes, size_t n,
                       filling *f) {
  const hia_allocator *allocator = hiaR_cell_allocator(cell);
  hia_params *next = NULL;
  hia_status status = hiaR_tensor_file_read(&f->file, allocator, path, bytes, n, &f->wrong);
  if (status != HIA_OK) return status;
  status = find_tensors(cell, f);
  const hia_param_values values = {.fill = fill, .user = f};
  if (status == HIA_OK) status = hiaR_params_new(cell->specs, cell->n, &values, allocator, &next);
  if (status == HIA_OK) hiaR_cell_set(cell, next);
  hiaR_tensor_file_free(&f->file);
  return status;
}

hia_status hia_param_cell_load(hia_param_cell *cell, const char *path, hia_error **error) {
  hia_status status = begin(cell, path, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = hiaR_cell_allocator(cell);
  size_t len, size, n = (size_t)cell->n * sizeof(hia_file_tensor) + 1;
  char *bytes;
  int wrong = hiaR_read_file(allocator, path, SIZE_MAX / 4, &bytes, &len, &size);
  filling f = {.tensors = hiaR_alloc(allocator, n)};
  if (wrong) {
    status = wrong == ENOMEM ? HIA_MEMORY : HIA_IO;
    wrong_file(allocator, path, status, strerror(wrong), error);
  } else if (!f.tensors) {
    status = no_memory(allocator, error);
  } else {
    status = load(cell, path, bytes, len, &f);
    if (status != HIA_OK) wrong_file(allocator, path, status, f.wrong.message, error);
  }
  hiaR_free(allocator, f.tensors, n);
  hiaR_free(allocator, bytes, size);
  return status;
}

/* ---- saving ---- */

hia_status hia_param_cell_save(hia_param_cell *cell, const char *path, hia_error **error) {
  hia_status status = begin(cell, path, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = hiaR_cell_allocator(cell);
  hia_params *now;
  size_t size = cell->n * (sizeof(hia_file_tensor) + sizeof(uint64_t)) + 1;
  hia_file_tensor *tensors = hiaR_alloc(allocator, size);
  if (!tensors) return no_memory(allocator, error);
  if (hiaR_cell_hold(cell, NULL, NULL, &now)) {
    hiaR_free(allocator, tensors, size);
    return no_memory(allocator, error);
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
  status = hiaR_tensor_file_write(allocator, path, tensors, cell->n, &wrong);
  hiaR_params_release(now);
  hiaR_free(allocator, tensors, size);
  return status == HIA_OK ? HIA_OK : wrong_file(allocator, path, status, wrong.message, error);
}
