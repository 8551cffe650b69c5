/* Copyright the hiaton authors. SPDX-License-Identifier: Apache-2.0 */
/* Columns of maps: what is wrong with them, and rows that are interpreted. Compiled loops are
 * emitted by lower/function/map.c; entry.c runs both. */
#include "runtime/native/context.h"
#include "runtime/native/host.h"

static uint32_t n_columns(const hia_map *map) { return map->n_params + map->n_results; }

hia_word *hiaR_map_words(const hia_map *map, hia_word *block) {
  return block + HIA_MAP_COLUMNS + n_columns(map);
}

/* ---- what is wrong with columns ---- */

static size_t size_of(uint8_t dtype) { return hiaR_reprs[dtype].size; }

/* True if a byte belongs to both columns of n rows. Neither is larger than memory. */
static bool do_overlap(uintptr_t a, size_t size_a, uintptr_t b, size_t size_b, uint64_t n) {
  return a < b + n * size_b && b < a + n * size_a;
}

const char *hiaR_map_wrong(const hia_map *map, const hia_word *block) {
  uint64_t n = block[HIA_MAP_N];
  const hia_word *at = block + HIA_MAP_COLUMNS;
  if (n == 0) return NULL;
  for (uint32_t i = 0; i < n_columns(map); i++) {
    if (!at[i]) return "a column is NULL";
    if (n > (UINTPTR_MAX - at[i]) / size_of(map->dtypes[i]))
      return "there are more rows than memory can hold";
  }
  for (uint32_t i = map->n_params; i < n_columns(map); i++)
    for (uint32_t k = 0; k < i; k++) {
      size_t size = size_of(map->dtypes[i]), size_k = size_of(map->dtypes[k]);
      /* The caller would have no more what it has to free, if values were replaced. */
      bool is_same = k < map->n_params && at[i] == at[k] && size == size_k &&
                     map->dtypes[i] != HIA_REPR_REF && map->dtypes[k] != HIA_REPR_REF;
      if (!is_same && do_overlap(at[i], size, at[k], size_k, n))
        return "a column of results overlaps another column";
    }
  return NULL;
}

/* ---- interpreted rows ---- */

void *hiaR_map_element(const hia_map *map, const hia_word *block, uint32_t i) {
  char *column = (char *)(uintptr_t)block[HIA_MAP_COLUMNS + i];
  return column + block[HIA_MAP_ROW] * size_of(map->dtypes[i]);
}

/* The fuel that a row leaves is the next row's. */
static hia_status interpret_row(hia_context *context, const hia_code_module *module,
                                const hia_map *map, hia_word *block, const hia_limits *limits) {
  hia_host_context *host = context->host;
  hia_word *words = hiaR_map_words(map, block);
  hia_word *results = words + module->roots[map->root].n_params;
  bool is_fuelled = results > words + map->n_params;
  for (uint32_t i = 0; i < map->n_params; i++)
    words[i] = hiaR_load((hia_repr)map->dtypes[i], hiaR_map_element(map, block, i));
  hia_status status = module->interpret(context, module, map->root, words, limits, &host->failure);
  if (status) return status;
  for (uint32_t i = 0, k = map->n_params; i < map->n_results; i++, k++)
    hiaR_store((hia_repr)map->dtypes[k], hiaR_map_element(map, block, k), results[i]);
  if (is_fuelled) words[map->n_params] = results[map->n_results];
  return HIA_OK;
}

hia_status hiaR_map_interpret(hia_context *context, const hia_code_module *module,
                              const hia_map *map, hia_word *block, const hia_limits *limits) {
  hia_host_context *host = context->host;
  for (; block[HIA_MAP_ROW] < block[HIA_MAP_N]; block[HIA_MAP_ROW]++) {
    /* The run of a short row may end before it polls. */
    hia_status status = hiaR_scope_status(&host->scope);
    if (status) return host->failure.status = status;
    /* The interpreter leaves free blocks behind, which only the end of the heap takes back. */
    if (limits->heap) hiaR_host_heap_begin(host);
    status = interpret_row(context, module, map, block, limits);
    if (limits->heap) hiaR_host_heap_end(host);
    if (status) return status;
  }
  return HIA_OK;
}
