/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Params, as hosts see and set them (hiaton/params.h). */
#include "runtime/param/param.h"
#include "runtime/run/error.h"
#include <hiaton/params.h>

static const hia_param_spec *spec_at(const hia_params *params, size_t i) {
  return params && i < params->n ? &params->specs[i] : NULL;
}

size_t hia_params_count(const hia_params *params) { return params ? params->n : 0; }

const char *hia_params_name(const hia_params *params, size_t i) {
  const hia_param_spec *spec = spec_at(params, i);
  return spec ? spec->name : "";
}

size_t hia_params_find(const hia_params *params, const char *name) {
  size_t n = hia_params_count(params), i = 0;
  while (name && i < n && strcmp(params->specs[i].name, name) != 0) i++;
  return name ? i : n;
}

hia_status hia_params_dtype(const hia_params *params, size_t i, hia_dtype *dtype) {
  const hia_param_spec *spec = spec_at(params, i);
  if (dtype) *dtype = spec ? spec->dtype : HIA_BOOL;
  return spec && dtype ? HIA_OK : HIA_ARGUMENT;
}

size_t hia_params_rank(const hia_params *params, size_t i) {
  const hia_param_spec *spec = spec_at(params, i);
  return spec ? spec->shape.rank : 0;
}

const int64_t *hia_params_dims(const hia_params *params, size_t i) {
  const hia_param_spec *spec = spec_at(params, i);
  return spec && spec->shape.rank ? spec->shape.dims : NULL;
}

size_t hia_params_size(const hia_params *params, size_t i) {
  const hia_param_spec *spec = spec_at(params, i);
  uint64_t n;
  uint32_t size = spec ? hiaR_dtype_size(spec->dtype) : 0;
  return spec && hiaR_shape_elements(&spec->shape, size, &n) ? (size_t)n * size : 0;
}

/* ---- reading and setting ---- */

static hia_status begin(const hia_params *params, hia_error **error) {
  if (error) *error = NULL;
  return params ? HIA_OK : hiaR_fail_text(&hiaR_malloc, error, HIA_ARGUMENT, NULL, "no params");
}

static hia_status begin_at(const hia_params *params, size_t i, hia_error **error) {
  hia_status status = begin(params, error);
  if (status != HIA_OK || i < params->n) return status;
  return hiaR_fail_text(hiaR_params_allocator(params), error, HIA_NOT_FOUND, NULL,
                        "there is no param %zu: the program has %u", i, params->n);
}

hia_status hia_params_get(hia_params *params, size_t i, void *elements, size_t size,
                          hia_error **error) {
  hia_status status = begin_at(params, i, error);
  if (status != HIA_OK) return status;
  size_t wanted = hia_params_size(params, i);
  if (size != wanted)
    return hiaR_fail_text(hiaR_params_allocator(params), error, HIA_ARGUMENT, NULL,
                          "the param `%s` takes %zu bytes, not %zu", params->specs[i].name, wanted,
                          size);
  if (!size) return HIA_OK;
  if (!elements)
    return hiaR_fail_text(hiaR_params_allocator(params), error, HIA_ARGUMENT, NULL,
                          "no place for the elements");
  hia_param_state *now;
  if (hiaR_params_hold(params, NULL, NULL, &now))
    return hiaR_fail_memory(hiaR_params_allocator(params), error);
  memcpy(elements, hiaR_state_elements(now, (uint32_t)i), size);
  hiaR_state_release(now);
  return HIA_OK;
}

/* Makes a state of the current one, with other elements where there are some, and makes that the
 * current one. */
static hia_status exchange(hia_params *params, const void *const *elements) {
  for (bool is_done = false; !is_done;) {
    hia_param_state *now, *next;
    if (hiaR_params_hold(params, NULL, NULL, &now)) return HIA_MEMORY;
    const hia_param_values values = {.elements = elements, .from = now};
    hia_status status =
        hiaR_state_new(params->specs, params->n, &values, hiaR_params_allocator(params), &next);
    if (status == HIA_OK) {
      is_done = hiaR_params_exchange(params, now, next);
      if (!is_done) hiaR_state_release(next);
    }
    hiaR_state_release(now);
    if (status != HIA_OK) return status;
  }
  return HIA_OK;
}

hia_status hiaR_params_put(hia_params *params, uint32_t i, const void *elements,
                           hia_error **error) {
  const hia_allocator *allocator = hiaR_params_allocator(params);
  size_t size = params->n * sizeof(void *);
  const void **all = hiaR_alloc(allocator, size);
  if (!all) return hiaR_fail_memory(hiaR_params_allocator(params), error);
  all[i] = elements;
  hia_status status = exchange(params, all);
  hiaR_free(allocator, all, size);
  return status == HIA_OK ? HIA_OK : hiaR_fail_memory(hiaR_params_allocator(params), error);
}

hia_status hia_params_set(hia_params *params, size_t i, hia_dtype dtype, size_t rank,
                          const int64_t *dims, const void *elements, hia_error **error) {
  hia_status status = begin_at(params, i, error);
  if (status != HIA_OK) return status;
  const hia_allocator *allocator = hiaR_params_allocator(params);
  const hia_param_spec *spec = &params->specs[i];
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
    char found[512], wanted[512];
    hiaR_shape_describe(spec->dtype, &spec->shape, wanted, sizeof wanted);
    hiaR_shape_describe(dtype, &shape, found, sizeof found);
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL,
                          "the param `%s` is %s, the value %s", spec->name, wanted, found);
  }
  if (!elements && hia_params_size(params, i))
    return hiaR_fail_text(allocator, error, HIA_ARGUMENT, NULL, "no elements");
  return hiaR_params_put(params, (uint32_t)i, elements ? elements : "", error);
}

hia_status hia_params_seed(hia_params *params, uint64_t seed, hia_error **error) {
  hia_status status = begin(params, error);
  if (status != HIA_OK) return status;
  if (!params->n) return HIA_OK;
  hia_param_state *next;
  const hia_param_values values = {.seed = seed};
  if (hiaR_state_new(params->specs, params->n, &values, hiaR_params_allocator(params), &next))
    return hiaR_fail_memory(hiaR_params_allocator(params), error);
  hiaR_params_set(params, next);
  return HIA_OK;
}

void hia_params_reset(hia_params *params) {
  if (params) hiaR_params_set(params, NULL);
}
