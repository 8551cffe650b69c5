/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Cells, as hosts see and set them (hiaton/param_cell.h). */
#include "runtime/param/param.h"
#include "runtime/run/error.h"
#include <hiaton/param_cell.h>

static const hia_param_spec *spec_at(const hia_param_cell *cell, size_t i) {
  return cell && i < cell->n ? &cell->specs[i] : NULL;
}

size_t hia_param_cell_count(const hia_param_cell *cell) { return cell ? cell->n : 0; }

const char *hia_param_cell_name(const hia_param_cell *cell, size_t i) {
  const hia_param_spec *spec = spec_at(cell, i);
  return spec ? spec->name : "";
}

size_t hia_param_cell_find(const hia_param_cell *cell, const char *name) {
  size_t n = hia_param_cell_count(cell), i = 0;
  while (name && i < n && strcmp(cell->specs[i].name, name) != 0) i++;
  return name ? i : n;
}

hia_status hia_param_cell_dtype(const hia_param_cell *cell, size_t i, hia_dtype *dtype) {
  const hia_param_spec *spec = spec_at(cell, i);
  if (dtype) *dtype = spec ? spec->dtype : HIA_BOOL;
  return spec && dtype ? HIA_OK : HIA_ARGUMENT;
}

size_t hia_param_cell_rank(const hia_param_cell *cell, size_t i) {
  const hia_param_spec *spec = spec_at(cell, i);
  return spec ? spec->shape.rank : 0;
}

const int64_t *hia_param_cell_dims(const hia_param_cell *cell, size_t i) {
  const hia_param_spec *spec = spec_at(cell, i);
  return spec && spec->shape.rank ? spec->shape.dims : NULL;
}

size_t hia_param_cell_size(const hia_param_cell *cell, size_t i) {
  const hia_param_spec *spec = spec_at(cell, i);
  uint64_t n;
  uint32_t size = spec ? hiaR_dtype_size(spec->dtype) : 0;
  return spec && hiaR_shape_elements(&spec->shape, size, &n) ? (size_t)n * size : 0;
}

/* ---- reading and setting ---- */

static hia_status no_memory(const hia_param_cell *cell, hia_error **error) {
  return hiaR_fail_text(hiaR_cell_allocator(cell), error, HIA_MEMORY, NULL, "out of memory");
}

static hia_status begin(const hia_param_cell *cell, hia_error **error) {
  if (error) *error = NULL;
  return cell ? HIA_OK : hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no params");
}

static hia_status begin_at(const hia_param_cell *cell, size_t i, hia_error **error) {
  hia_status status = begin(cell, error);
  if (status != HIA_OK || i < cell->n) return status;
  return hiaR_fail_text(hiaR_cell_allocator(cell), error, HIA_NOT_FOUND, NULL,
                        "there is no param %zu: the program has %u", i, cell->n);
}

hia_status hia_param_cell_get(hia_param_cell *cell, size_t i, void *elements, size_t size,
                              hia_error **error) {
  hia_status status = begin_at(cell, i, error);
  if (status != HIA_OK) return status;
  size_t wanted = hia_param_cell_size(cell, i);
  if (size != wanted)
    return hiaR_fail_text(hiaR_cell_allocator(cell), error, HIA_ARGUMENT, NULL,
                          "the param `%s` takes %zu bytes, not %zu", cell->specs[i].name, wanted,
                          size);
  if (!size) return HIA_OK;
  if (!elements)
    return hiaR_fail_text(hiaR_cell_allocator(cell), error, HIA_ARGUMENT, NULL,
                          "no place for the elements");
  hia_params *now;
  if (hiaR_cell_hold(cell, NULL, NULL, &now)) return no_memory(cell, error);
  memcpy(elements, hiaR_params_elements(now, (uint32_t)i), size);
  hiaR_params_release(now);
  return HIA_OK;
}

/* Makes a state of the current one, with other elements where there are some, and makes that the
 * current one. */
static hia_status exchange(hia_param_cell *cell, const void *const *elements) {
  for (bool is_done = false; !is_done;) {
    hia_params *now, *next;
    if (hiaR_cell_hold(cell, NULL, NULL, &now)) return HIA_MEMORY;
    const hia_param_values values = {.elements = elements, .from = now};
    hia_status status =
        hiaR_params_new(cell->specs, cell->n, &values, hiaR_cell_allocator(cell), &next);
    if (status == HIA_OK) {
      is_done = hiaR_cell_exchange(cell, now, next);
      if (!is_done) hiaR_params_release(next);
    }
    hiaR_params_release(now);
    if (status != HIA_OK) return status;
  }
  return HIA_OK;
}

hia_status hiaR_cell_put(hia_param_cell *cell, uint32_t i, const void *elements,
                         hia_error **error) {
  const hia_allocator *allocator = hiaR_cell_allocator(cell);
  size_t size = cell->n * sizeof(void *);
  const void **all = hiaR_alloc(allocator, size);
  if (!all) return no_memory(cell, error);
  all[i] = elements;
  hia_status status = exchange(cell, all);
  hiaR_free(allocator, all, size);
  return status == HIA_OK ? HIA_OK : no_memory(cell, error);
}

hia_status hia_param_cell_set(hia_param_cell *cell, size_t i, hia_dtype dtype, size_t rank,
                              const int64_t *dims, const void *elements, hia_error **error) {
  hia_status status = begin_at(cell, i, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = hiaR_cell_allocator(cell);
  const hia_param_spec *spec = &cell->specs[i];
  if (rank && !dims) return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no dims");
  if ((unsigned)dtype >= HIA_N_DTYPES || rank > HIA_MAX_RANK)
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                          "there are no tensors of dtype %d and rank %zu", (int)dtype, rank);
  hia_dims shape = {.rank = (uint32_t)rank};
  if (rank) memcpy(shape.dims, dims, rank * sizeof *dims);
  for (size_t k = 0; k < rank; k++)
    if (dims[k] < 0)
      return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "size %zu is %lld", k,
                            (long long)dims[k]);
  if (dtype != spec->dtype || rank != spec->shape.rank ||
      memcmp(shape.dims, spec->shape.dims, rank * sizeof *dims) != 0) {
    char is[512], wanted[512];
    hiaR_shape_describe(spec->dtype, &spec->shape, wanted, sizeof wanted);
    hiaR_shape_describe(dtype, &shape, is, sizeof is);
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                          "the param `%s` is %s, the value %s", spec->name, wanted, is);
  }
  if (!elements && hia_param_cell_size(cell, i))
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no elements");
  return hiaR_cell_put(cell, (uint32_t)i, elements ? elements : "", error);
}

hia_status hia_param_cell_seed(hia_param_cell *cell, uint64_t seed, hia_error **error) {
  hia_status status = begin(cell, error);
  if (status != HIA_OK) return status;
  hia_params *next;
  const hia_param_values values = {.seed = seed};
  if (hiaR_params_new(cell->specs, cell->n, &values, hiaR_cell_allocator(cell), &next))
    return no_memory(cell, error);
  hiaR_cell_set(cell, next);
  return HIA_OK;
}

void hia_param_cell_reset(hia_param_cell *cell) {
  if (cell) hiaR_cell_set(cell, NULL);
}
